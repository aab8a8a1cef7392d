use reference::numbers::*;

fn real(value: f32) -> Number {
    Number::Real(value)
}

#[test]
fn known_codes() {
    assert_eq!(ElementType::F8E4M3.decode(0x7e), real(448.0));
    assert_eq!(ElementType::F8E4M3.decode(0x01), real(2f32.powi(-9)));
    assert_eq!(ElementType::F8E4M3.decode(0x80), real(-0.0));
    assert_eq!(ElementType::F8E4M3.decode(0x38), real(1.0));
    assert_eq!(ElementType::F8E5M2.decode(0x7b), real(57344.0));
    assert_eq!(ElementType::F8E5M2.decode(0xfc), real(f32::NEG_INFINITY));
    assert_eq!(ElementType::F8E5M2.decode(0x01), real(2f32.powi(-16)));
    assert_eq!(ElementType::I4.decode(0xf), Number::Integer(-1));
    assert_eq!(ElementType::I8.decode(0x80), Number::Integer(-128));
    assert_eq!(ElementType::I5.decode(0x10), Number::Integer(-16));
    assert_eq!(ElementType::I9.decode(0xff), Number::Integer(255));
    assert_eq!(ElementType::F16.decode(0x3555), real(0.333_251_95));
    assert_eq!(ElementType::F16.decode(0x0001), real(2f32.powi(-24)));
}

#[test]
fn every_code_returns() {
    use ElementType::*;
    for element in [I4, I5, I8, I9, I16, F8E4M3, F8E5M2, Bf16, F16] {
        let codes = 1 << element.code_bits();
        for code in 0..codes {
            let number = element.decode(code);
            let is_nan = matches!(number, Number::Real(value) if value.is_nan());
            assert!(is_nan || element.encode(number) == code, "{element:?} {code:#x}");
        }
    }
}

#[test]
fn bf16_is_the_upper_half_of_f32() {
    for code in 0..65536u32 {
        assert_eq!(ElementType::Bf16.decode(code), real(f32::from_bits(code << 16)));
    }
}

#[test]
fn rounding_to_nearest_even() {
    for (value, code) in [(0.9375f32, 0x37), (17.0, 0x58), (19.0, 0x5a), (1e9, 0x7e), (-1e-9, 0x80)] {
        assert_eq!(ElementType::F8E4M3.encode(real(value)), code, "{value}");
    }
    assert_eq!(ElementType::F8E4M3.encode(real(f32::NEG_INFINITY)), 0xfe);
    assert_eq!(ElementType::F8E4M3.encode(real(-f32::NAN)), 0x7f);
    assert_eq!(ElementType::F8E5M2.encode(real(61439.0)), 0x7b);
    assert_eq!(ElementType::F8E5M2.encode(real(61440.0)), 0x7c);
    assert_eq!(ElementType::Bf16.encode(real(f32::from_bits(0x3f80_8000))), 0x3f80);
    assert_eq!(ElementType::Bf16.encode(real(f32::from_bits(0x3f81_8000))), 0x3f82);
    assert_eq!(ElementType::Bf16.encode(real(f32::MAX)), 0x7f80);
    assert_eq!(ElementType::I8.encode(Number::Integer(300)), 44);
    assert_eq!(ElementType::I4.round(Number::Integer(9)), Number::Integer(-7));
}
