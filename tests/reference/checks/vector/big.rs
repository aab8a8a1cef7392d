use reference::random::Random;
use reference::vector::big::*;

fn wide(value: u128) -> Big {
    Big::from((value >> 64) as u64).shl(64).add(&Big::from(value as u64))
}

#[test]
fn arithmetic_equals_that_of_the_machine() {
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let number = |random: &mut Random| random.bits() >> random.below(64);
        let (a, b) = (number(&mut random), number(&mut random));
        let places = random.below(60);
        let (x, y) = (u128::from(a), u128::from(b));
        assert_eq!(Big::from(a).add(&Big::from(b)), wide(x + y));
        assert_eq!(Big::from(a.max(b)).sub(&Big::from(a.min(b))), Big::from(a.max(b) - a.min(b)));
        assert_eq!(Big::from(a).mul(&Big::from(b)), wide(x * y));
        assert_eq!(Big::from(a).shl(places), wide(x << places));
        assert_eq!(wide(x * y).shr(places), wide((x * y) >> places));
        let divisor = b.max(1);
        let (quotient, rest) = wide(x * y).div_rem(&Big::from(divisor));
        assert_eq!(quotient, wide(x * y / u128::from(divisor)));
        assert_eq!(rest, wide(x * y % u128::from(divisor)));
        let small = (b as u32).max(1);
        assert_eq!(wide(x * y).div_small(small), wide(x * y / u128::from(small)));
        let root = Big::from(a).sqrt().low();
        assert!(u128::from(root) * u128::from(root) <= x);
        assert!(u128::from(root + 1) * u128::from(root + 1) > x);
    }
}

#[test]
fn rounding_equals_that_of_the_machine() {
    let mut random = Random::new(2);
    for _ in 0..5000 {
        let count = random.bits() >> random.between(11, 63);
        let exponent = random.between(0, 400) as i32 - 200;
        let machine = (count as f64 * 2f64.powi(exponent)) as f32;
        assert_eq!(Big::from(count).to_f32(exponent).to_bits(), machine.to_bits(), "{count} {exponent}");
    }
    assert_eq!(Big::from(0x1ff_ffff).to_f32(0), 33_554_432.0);
    assert_eq!(Big::from(3).to_f32(-150).to_bits(), 2);
    assert_eq!(Big::from(1).to_f32(-150).to_bits(), 0);
    assert_eq!(Big::from(0x1ff_ffff).to_f32(103), f32::INFINITY);
    assert_eq!(Big::from(0xff_ffff).to_f32(104), f32::MAX);
}
