//! Random values for chains: often those where operators change their behaviour.

use super::chain::{Chain, Data};
use super::operators::Kind;
use crate::numbers::Number;
use crate::random::Random;

/// A number for constants and streams: often one where operators change their behaviour.
pub fn random_number(random: &mut Random, kind: Kind) -> Number {
    let bits = (random.bits() >> 32) as u32;
    match kind {
        Kind::I32 => Number::Integer(match random.below(5) {
            0 => random.pick(&[
                0,
                1,
                -1,
                i32::MAX,
                i32::MIN,
                i32::MAX - 1,
                i32::MIN + 1,
                1 << 30,
                (1 << 24) + 1,
            ]),
            1 => random.below(40) as i32 - 3,
            2 => bits as i32,
            3 => bits as i32 >> random.below(31),
            _ => random.below(200) as i32 - 100,
        }),
        Kind::F32 => Number::Real(match random.below(6) {
            0 => random.pick(&[
                0.0,
                -0.0,
                1.0,
                -1.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::MAX,
                f32::MIN_POSITIVE,
                f32::from_bits(1),
                f32::from_bits(0x7fc0_0001),
                f32::from_bits(0xffc0_0002),
                0.5,
                -1.5,
                16_777_217.0,
            ]),
            1 => f32::from_bits(bits),
            2 => (random.below(64) as f32 - 32.0) / 4.0,
            _ => (random.below(1 << 24) as f32 / 8_388_608.0 - 1.0) * random.pick(&[1.0, 4.0, 20.0, 1000.0]),
        }),
    }
}

/// Values for a chain. `missing`: of 100 elements, so many were never written.
pub fn random_data(random: &mut Random, chain: &Chain, missing: usize) -> Data {
    // Two zeros seldom meet among random numbers, and only then does it show which of them is the greater one.
    let zeros = if random.chance(20) { 40 } else { 0 };
    let number = |random: &mut Random, kind: Kind| match kind {
        Kind::F32 if random.chance(zeros) => Number::Real(random.pick(&[0.0, -0.0])),
        _ => random_number(random, kind),
    };
    let mut list = |kind: Kind, count: usize| -> Vec<Option<Number>> {
        (0..count).map(|_| (!random.chance(missing)).then(|| number(random, kind))).collect()
    };
    Data {
        stream: list(chain.kind, chain.shape.positions()),
        vrf: chain.vrf.iter().map(|vrf| list(vrf.kind, vrf.slice.size() * vrf.element.size())).collect(),
    }
}
