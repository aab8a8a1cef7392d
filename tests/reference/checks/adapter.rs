use reference::adapter::*;
use reference::mapping::Map;
use reference::numbers::{ElementType, Number};

#[test]
fn the_three_cases_of_padding() {
    // "# 2 + B + # 4" of 96, in packets of 32: 28 of the last one are live.
    let one = Mask { last_dim: 1, left_pad: 2, counts: vec![28], count_dim: None };
    let masked = one.positions(&[2, 3, 32]);
    let expected = |k: usize| k % 96 < 2 || k % 96 >= 92;
    assert!((0..192).all(|k| masked[k] == expected(k)));
    let two = Mask { last_dim: 0, ..one };
    let masked = two.positions(&[3, 2, 32]);
    assert!((0..192).all(|k| masked[k] == expected(k / 64 * 32 + k % 32)));
    let counts = vec![16, 16, 16, 16, 16, 16, 1, 0];
    let three = Mask { last_dim: 2, left_pad: 0, counts, count_dim: Some(1) };
    let masked = three.positions(&[2, 8, 1, 16]);
    assert!((0..256).all(|k| masked[k] == (k % 128 >= 97)));
}

#[test]
fn stages_follow_each_other() {
    let codes: Vec<u32> = (0..256).map(|code| code * 2 % 256).collect();
    let stages = Stages {
        stored: ElementType::I8,
        table: Some((ElementType::I8, codes)),
        streamed: ElementType::I32,
        zero_points: Some([10, -10]),
    };
    assert_eq!(stages.element(7, 0), Number::Integer(4));
    assert_eq!(stages.element(7, 1), Number::Integer(24));
    assert_eq!(stages.element(0xff, 0), Number::Integer(-12));
}

#[test]
fn wrong_accesses_are_found() {
    let axes = &[("A", 3), ("B", 4)];
    let (memory, stream) = (Map::parse("A, B", axes), Map::parse("B, A # 4", axes));
    let access = |byte| Access { tensor: 0, byte, bytes: 1, repeat: 1 };
    let mut accesses: Vec<Access> = (0..16).map(|k| access(k / 4 + k % 4 * 4)).collect();
    let check = |accesses: &[Access]| check_accesses(&memory, &stream.table(), 4, 8, None, accesses);
    assert_eq!(check(&accesses), Ok(()));
    assert!(check(&accesses[..15]).is_err());
    accesses[5].byte += 1;
    assert!(check(&accesses).is_err());
}
