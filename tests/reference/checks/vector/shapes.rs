use reference::mapping::Map;
use reference::vector::rules::{Broken, Rule};
use reference::vector::shapes::*;

const AXES: &[(&str, usize)] = &[("W", 40), ("L", 8), ("V", 3), ("I", 2), ("X", 4)];

fn map(text: &str) -> Map {
    Map::parse(text, AXES)
}

fn rule(result: Result<(), Broken>) -> Option<Rule> {
    result.err().map(|(rule, _)| rule)
}

#[test]
fn split_and_concat_of_the_page() {
    let check = |from: [&str; 2], to: [&str; 2]| {
        let (from, to) = (from.map(map), to.map(map));
        rule(split([&from[0], &from[1]], [&to[0], &to[1]]))
    };
    assert_eq!(check(["W", "L"], ["W, L / 4", "L % 4"]), None);
    assert_eq!(check(["W", "L % 2 # 8"], ["W, 1 # 2", "L % 2 # 4"]), None);
    assert_eq!(check(["W", "V # 8"], ["W, 1 # 2", "V # 4"]), None);
    assert_eq!(check(["W", "L"], ["L / 4, W", "L % 4"]), Some(Rule::SplitTime));
    assert_eq!(check(["W", "L"], ["W", "L % 4"]), Some(Rule::SplitTime));
    assert_eq!(check(["W", "L"], ["W, L / 4", "X"]), Some(Rule::SplitPacket));
    assert_eq!(check(["W", "L"], ["W, L / 4", "L"]), Some(Rule::SplitSize));
    assert_eq!(check(["W", "L % 4"], ["W", "L % 4"]), Some(Rule::SplitSize));
    let check = |from: [&str; 2], to: [&str; 2]| {
        let (from, to) = (from.map(map), to.map(map));
        rule(concat([&from[0], &from[1]], [&to[0], &to[1]]))
    };
    assert_eq!(check(["W, L / 4", "L % 4"], ["W", "L"]), None);
    assert_eq!(check(["W, 1 # 2", "L % 2 # 4"], ["W", "L % 2 # 8"]), None);
    assert_eq!(check(["L / 4", "L % 4"], ["1", "L"]), None);
    assert_eq!(check(["W", "X"], ["W / 2", "W % 2, X"]), None);
    assert_eq!(check(["V", "X"], ["V", "X # 8"]), Some(Rule::ConcatTime));
    assert_eq!(check(["W, L / 4", "L % 4"], ["W, L / 4", "L"]), Some(Rule::ConcatTime));
    assert_eq!(check(["W, L / 4", "L % 4"], ["W", "L % 4 # 8"]), Some(Rule::ConcatPacket));
    assert_eq!(check(["W, L / 4", "L % 4"], ["W", "L % 4"]), Some(Rule::ConcatSize));
    assert_eq!(check(["W", "L"], ["W", "L"]), Some(Rule::ConcatSize));
}

#[test]
fn trim_and_pad_of_the_page() {
    for (from, to, expected) in [
        ("L % 2 # 8", "L % 2 # 4", None),
        ("1 # 8", "1 # 4", None),
        ("V # 8", "V # 4", None),
        ("L % 4 # 8", "L % 4", None),
        ("V # 8", "V", Some(Rule::TrimSize)),
        ("L % 4", "L % 4", Some(Rule::TrimSize)),
        ("L", "L % 4", Some(Rule::TrimBack)),
        ("V # 8", "L % 4", Some(Rule::TrimPacket)),
    ] {
        assert_eq!(rule(trim(&map(from), &map(to))), expected, "{from} {to}");
    }
    for (from, to, expected) in [
        ("L % 4", "L % 4 # 8", None),
        ("V # 4", "V # 8", None),
        ("1 # 4", "1 # 8", None),
        ("L % 4", "L", Some(Rule::PadPacket)),
        ("L % 4", "L % 4", Some(Rule::PadSize)),
        ("L", "L", Some(Rule::PadSize)),
    ] {
        assert_eq!(rule(pad(&map(from), &map(to))), expected, "{from} {to}");
    }
}

#[test]
fn unzip_wherever_the_axis_is() {
    let check = |time: &str, tile: &str, split: &str| {
        let outside = [&Map::One, &map("L")];
        unzip(("I", 2), outside, &map(time), &map(tile), &map(split)).map_err(|(rule, _)| rule)
    };
    assert_eq!(check("W, I", "W, 1 # 2", "W"), Ok(1));
    assert_eq!(check("I, W", "1 # 2, W", "W"), Ok(40));
    assert_eq!(check("V, I, X", "V, 1 # 2, X", "V, X"), Ok(4));
    assert_eq!(check("I", "1 # 2", "1"), Ok(1));
    assert_eq!(check("V # 4, I", "V # 4, 1 # 2", "V # 4"), Ok(1));
    assert_eq!(check("W", "W", "W"), Err(Rule::UnzipAxis));
    assert_eq!(check("W, I", "W, I", "W"), Err(Rule::UnzipTile));
    assert_eq!(check("W, I", "1 # 2, W", "W"), Err(Rule::UnzipTile));
    assert_eq!(check("W, I", "W, 1 # 2", "W, 1 # 2"), Err(Rule::UnzipSplit));
    assert_eq!(check("V, I", "V, 1 # 2", "X"), Err(Rule::UnzipSplit));
    let wide = unzip(("X", 4), [&Map::One, &map("L")], &map("X"), &map("1 # 4"), &map("1"));
    assert_eq!(wide.map_err(|(rule, _)| rule), Err(Rule::UnzipAxis));
}
