//! No input makes the tool `visa` panic. `VISA_CASES` sets the number of cases.

use crate::run::{check, explain, run};
use furiosa_visa_std::explain::explain_read;
use furiosa_visa_std::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::Explanation;
use proptest::prelude::*;

fn cases() -> u32 {
    std::env::var("VISA_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

/// A size: mostly small, sometimes at the edge of a number.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 1usize..20,
        3 => (0u32..34).prop_map(|bits| 1usize << bits),
        1 => (0u32..64, 0usize..3).prop_map(|(bits, step)| (1usize << bits).wrapping_add(step).wrapping_sub(1)),
        1 => Just(usize::MAX),
    ]
}

fn axes() -> impl Strategy<Value = String> {
    let small = prop::sample::select(vec![1usize, 2, 3, 4, 5, 6, 8, 12, 15, 16, 24]);
    let one = prop_oneof![12 => small, 1 => size()];
    prop::collection::vec(one, 4).prop_map(|sizes| {
        let names = ["A", "B", "C", "D"].iter().zip(sizes);
        names.map(|(name, size)| format!("{name}={size}")).collect::<Vec<_>>().join(",")
    })
}

/// Text that mostly follows the grammar.
fn mapping() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        10 => prop::sample::select(vec!["A", "B", "C", "D"]).prop_map(String::from),
        1 => Just("1".to_string()),
    ];
    leaf.prop_recursive(5, 12, 3, |inner| {
        let number = prop_oneof![
            8 => prop::sample::select(vec![1usize, 2, 3, 4, 5, 6, 8, 12, 15, 16, 24, 32, 48, 64, 128]),
            1 => size(),
        ];
        prop_oneof![
            3 => (inner.clone(), prop::sample::select(vec!["/", "%", "=", "#"]), number)
                .prop_map(|(inner, operator, n)| format!("{inner} {operator} {n}")),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|items| items.join(", ")),
            1 => (inner.clone(), 0usize..4, 0usize..4).prop_map(|(inner, before, after)| {
                let before = if before > 0 { format!("# {before} + ") } else { String::new() };
                let after = if after > 0 { format!(" + # {after}") } else { String::new() };
                format!("[{before}[{inner}]{after}]")
            }),
            1 => inner.prop_map(|inner| format!("[{inner}]")),
        ]
    })
}

/// A stream that reads what the axes offer, so that derivations often succeed.
fn friendly() -> impl Strategy<Value = (String, String, String)> {
    let parts = vec![
        "# 1 + B + # 1",
        "[# 2 + C] # 8",
        "A / 2",
        "A % 2",
        "B / 4",
        "B % 4",
        "B",
        "C",
        "C # 8",
        "C # 16",
        "D",
        "D # 6 / 3",
        "D # 6 % 3",
    ];
    let buf = prop::sample::select(vec![
        "A, B, C, D",
        "D, C # 8, B, A",
        "A % 2, B, C, A / 2, D # 6",
        "[A, B] # 40, C, D",
        "B % 4, B / 4, A, C, D = 3",
        "[C, D] # 32, A, B",
        "A, # 3 + B, [# 2 + C] # 8 / 4, [# 2 + C] # 8 % 4, D",
        "A # 8, 1 # 3, B, C, D # 6 % 3, D # 6 / 3",
    ]);
    let list = |most| {
        prop::sample::subsequence(parts.clone(), 0..most).prop_shuffle().prop_map(|parts| match parts.len() {
            0 => "1".to_string(),
            _ => parts.join(", "),
        })
    };
    (buf.prop_map(String::from), list(8), list(4))
}

/// Characters of the grammar in any order.
fn noise() -> impl Strategy<Value = String> {
    prop_oneof!["[ABC1-4,/%=#+\\[\\](){} _.:!'\"-]{0,24}", "\\PC{0,12}", any::<String>()]
}

fn sane(arguments: &[String]) {
    check(arguments, &run(arguments));
}

fn map(axes: &str, mapping: &str) {
    // `--` keeps a mapping that begins with `-` from being an option.
    let arguments = ["map", "--axes", axes, "--svg", "x.svg", "--", mapping];
    sane(&arguments.map(String::from));
}

/// What an explanation prints must be true: read back by the parser, the mappings in its cells have the sizes that the
/// entries state.
fn check_cells(axes: &str, buf: &str, time: &str, packet: &str) -> Option<Explanation> {
    let axes = Axes::parse(axes).ok()?;
    let read = |text: &str| parse_mapping(text, &axes).ok();
    let (buf, time, packet) = (read(buf)?, read(time)?, read(packet)?);
    let elements = time.checked_size().ok()?.checked_mul(packet.checked_size().ok()?)?;
    if elements > 1 << 40 {
        return None;
    }
    let explanation = explain_read(buf, time, packet, ElementType::I8).ok()?;
    let bare =
        |text: &str| text.strip_prefix("m![").and_then(|text| text.strip_suffix("]")).map(String::from);
    for row in &explanation.rows {
        if let Some(inside) = row.source.split_once("::SIZE").and_then(|(mapping, _)| bare(mapping)) {
            let size = read(&inside).unwrap_or_else(|| panic!("{inside} in\n{explanation}")).checked_size();
            assert_eq!(size, Ok(row.entry.stride as usize), "{inside} in\n{explanation}");
        }
        let after = bare(&row.after).unwrap_or_else(|| row.after.clone());
        let left = read(&after).unwrap_or_else(|| panic!("{after} in\n{explanation}")).checked_size();
        assert_eq!(left, buf.checked_size(), "{after} in\n{explanation}");
    }
    let last = explanation.rows.last().map_or("1", |row| row.after.as_str());
    assert!(!last.starts_with("m!["), "something is left in\n{explanation}");
    let entries: Vec<_> = explanation.rows.iter().map(|row| row.entry).collect();
    assert_eq!(entries, explanation.derived.entries.as_slice(), "{explanation}");
    if let Ok(config) = &explanation.limited {
        let merged: Vec<_> = explanation.merged.iter().map(|row| row.entry).collect();
        assert_eq!(merged, config.entries.as_slice(), "{explanation}");
    }
    Some(explanation)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mappings((axes, text) in (axes(), mapping())) {
        map(&axes, &text);
    }

    #[test]
    fn derivations((axes, buf, time, packet) in (axes(), mapping(), mapping(), mapping())) {
        sane(&explain(&axes, &buf, &time, &packet, &["--dtype", "i4"]));
        check_cells(&axes, &buf, &time, &packet);
        check_cells(&axes, &buf, "1", &buf);
        check_cells(&axes, &buf, &time, &buf);
    }

    #[test]
    fn derivations_that_often_succeed((buf, time, packet) in friendly()) {
        let axes = "A=4,B=8,C=5,D=6";
        sane(&explain(axes, &buf, &time, &packet, &["--dtype", "bf16"]));
        check_cells(axes, &buf, &time, &packet);
        check_cells(axes, &buf, &format!("{time}, {packet}"), "A, B, C, D");
    }

    #[test]
    fn text((axes, text) in (noise(), noise())) {
        map(&axes, "A");
        map("A=8,B=3,C=2", &text);
        sane(&explain("A=8,B=3,C=2", &text, "A", "1", &[]));
    }

    #[test]
    fn arguments(arguments in prop::collection::vec(
        prop_oneof![
            prop::sample::select(vec![
                "map", "explain", "help", "--axes", "--buf", "--time", "--packet", "--svg", "--dtype", "--to", "--sub",
                "A=8", "A", "--", "-h", "--columns", "3", "i4", "--axes=A=8", "--columns=2",
            ])
            .prop_map(String::from),
            noise(),
        ],
        0..10,
    )) {
        let output = run(&arguments);
        prop_assert!(matches!(output.code, 0 | 2));
    }
}
