use reference::mapping::Map;
use reference::sequencer::*;

type Golden = (&'static str, &'static [(&'static str, usize)], [&'static str; 3], &'static [(usize, isize)]);

const GOLDENS: &[Golden] = &[
    ("strided", &[("A", 8), ("B", 512)], ["A, B", "A, B / 32", "B % 32"], &[(8, 512), (16, 32), (32, 1)]),
    (
        "reorder",
        &[("N", 4), ("C", 3), ("H", 8), ("W", 8)],
        ["N, C, H, W", "W, H, C, N", "1"],
        &[(8, 1), (8, 8), (3, 64), (4, 192)],
    ),
    (
        "rearrange",
        &[("A", 8), ("B", 8), ("C", 8)],
        ["A, B, C # 32", "B, A", "C # 16"],
        &[(8, 32), (8, 256), (16, 1)],
    ),
    (
        "split",
        &[("A", 8), ("B", 8), ("C", 4)],
        ["A, B, C # 8", "A % 2, B % 4, A / 2, B / 4", "C # 32"],
        &[(2, 64), (4, 8), (4, 128), (2, 32), (32, 1)],
    ),
    (
        "slice",
        &[("A", 16), ("B", 8), ("C", 8)],
        ["A, B, C", "A / 4, A % 4 = 3, B / 4, B % 4 = 2", "C"],
        &[(4, 256), (3, 64), (2, 32), (2, 8), (8, 1)],
    ),
    ("broadcast", &[("A", 16), ("T", 4), ("P", 4)], ["A", "T, A", "P"], &[(4, 0), (16, 1), (4, 0)]),
    (
        "contiguous",
        &[("N", 4), ("C", 3), ("H", 4), ("W", 8)],
        ["N, C, H, W", "N, C, H", "W"],
        &[(4, 96), (3, 32), (4, 8), (8, 1)],
    ),
    (
        "not contiguous",
        &[("N", 4), ("C", 3), ("H", 4), ("W", 8)],
        ["N, C, H, W", "C, N, H", "W"],
        &[(3, 32), (4, 96), (4, 8), (8, 1)],
    ),
    ("pad group", &[("A", 3), ("B", 5), ("C", 2)], ["A, B, C", "A", "[B, C] # 16"], &[(3, 10), (16, 1)]),
    ("pad all", &[("A", 3), ("B", 5), ("C", 2)], ["A, B, C", "1", "[A, B, C] # 32"], &[(32, 1)]),
];

fn maps(golden: &Golden) -> [Map; 3] {
    golden.2.map(|text| Map::parse(text, golden.1))
}

#[test]
fn documented_reads() {
    for golden in GOLDENS {
        let [buf, time, packet] = maps(golden);
        assert_eq!(check_read(&buf, &time, &packet, golden.3), Ok(()), "{}", golden.0);
        assert_eq!(dropped_digits(&buf, &time, &packet), [], "{}", golden.0);
        let mut wrong = golden.3.to_vec();
        wrong[0].1 += 1;
        assert!(check_read(&buf, &time, &packet, &wrong).is_err(), "{}", golden.0);
    }
}

#[test]
fn merged_golden() {
    // N2 C4 H8 W32 keeps the pattern of the documented example and is smaller.
    let axes = &[("N", 2), ("C", 4), ("H", 8), ("W", 32)];
    let buf = Map::parse("N, C, H, W", axes);
    let time = Map::parse("W / 16, H % 2, H / 2, C / 2, C % 2, N, W / 8 % 2", axes);
    let packet = Map::parse("W % 8", axes);
    let before = &[(2, 16), (2, 32), (4, 64), (2, 512), (2, 256), (2, 1024), (2, 8), (8, 1)];
    let after = &[(2, 16), (2, 32), (4, 64), (4, 256), (2, 1024), (16, 1)];
    assert_eq!(check_read(&buf, &time, &packet, before), Ok(()));
    assert_eq!(check_read(&buf, &time, &packet, after), Ok(()));
}

#[test]
fn documented_refusals() {
    let axes = &[("N", 2048), ("A", 15)];
    let map = |text| Map::parse(text, axes);
    assert!(wanted(&map("N % 512"), &map("N / 512"), &map("N % 512")).is_err());
    let (buf, packet) = (map("A % 5, A / 5"), map("A % 3, A / 3"));
    assert!(wanted(&buf, &Map::One, &packet).is_ok());
    assert!(!exists_configuration(&buf, &Map::One, &packet));
}

#[test]
fn search_finds_what_exists() {
    for golden in GOLDENS.iter().filter(|golden| {
        let [_, time, packet] = maps(golden);
        time.size() * packet.size() <= 512
    }) {
        let [buf, time, packet] = maps(golden);
        assert!(exists_configuration(&buf, &time, &packet), "{}", golden.0);
    }
    let axes = &[("A", 15), ("B", 4), ("C", 3)];
    let exists = |buf, time| exists_configuration(&Map::parse(buf, axes), &Map::parse(time, axes), &Map::One);
    assert!(exists("A / 5, A % 5", "A # 20"));
    assert!(!exists("A / 5, 1 # 3, A % 5", "A # 16"));
    assert!(exists("A / 5, 1 # 3, A % 5", "A # 20"));
    assert!(!exists("B, C # 4", "[B, C] # 14"));
    assert!(exists("C, B", "B, C, A"));
}

/// A packet is whole loops, and a loop steps from an element to the next one.
#[test]
fn search_keeps_to_loops_over_digits() {
    let exists = |axes: &[(&str, usize)], maps: [&str; 3]| {
        let [buf, time, packet] = maps.map(|text| Map::parse(text, axes));
        exists_configuration(&buf, &time, &packet)
    };
    // [8 : 1, 3 : 8] reads the 24 positions, but packets of 2 begin inside of a loop of 3.
    let axes = &[("A", 8), ("B", 3)];
    assert!(!exists(axes, ["B, A", "[A, B] / 2", "[A, B] % 2"]));
    assert!(exists(axes, ["B, A", "[A, B] / 3", "[A, B] % 3"]));
    assert!(exists(axes, ["A, B", "[A, B] / 2", "[A, B] % 2"]));
    // Positions 0, 1, 4 and 5 of 6 are elements: [2 : 1, 3 : 1] reads them, but steps from 0 to padding at 3.
    let axes = &[("A", 2), ("B", 2)];
    assert!(!exists(axes, ["A, B", "[A, B # 4] = 6", "1"]));
    assert!(exists(axes, ["A, B", "A, B # 4", "1"]));
}

#[test]
fn a_dropped_axis_is_named() {
    let axes = &[("A", 4), ("B", 6)];
    let map = |text| Map::parse(text, axes);
    let dropped = dropped_digits(&map("A, B"), &map("B"), &map("1"));
    assert_eq!(dropped.iter().map(|digit| digit.node.to_string()).collect::<Vec<_>>(), ["m![A]"]);
    assert_eq!(dropped_digits(&map("A, B"), &map("B = 2"), &map("A")), []);
    let dropped = dropped_digits(&map("A, B"), &map("A"), &map("B / 3"));
    assert_eq!(dropped, [], "a digit counts as read when any part of it is");
}
