//! Mappings as lists of digits, and as text.

use furiosa_visa_plan::route::digits::*;
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::mapping::{Pool, factorize};

fn values() -> Values {
    let axes = Axes::parse("M=100,K=64,B=3").unwrap_or_else(|error| panic!("{error}"));
    Values::new(&axes)
}

fn parts(text: &str) -> Parts {
    let expr = values().of(text).unwrap_or_else(|| panic!("{text} is a mapping"));
    parts_of(expr).unwrap_or_else(|| panic!("{text} has digits"))
}

/// A list is written as a mapping that has the same normal form.
#[test]
fn lists_are_written_as_they_are_read() {
    for text in [
        "M, K",
        "K / 8, M, K % 8",
        "M # 128 / 8, K % 16 # 32, B # 4",
        "1 # 2",
        "1 # 4, K / 8 % 2",
        "M # 104 / 8, B, M # 104 % 8",
        "1",
        "K % 4 # 8",
        "M / 4 % 5 # 8, B",
        "M # 104, K",
    ] {
        let expr = values().of(text).unwrap_or_else(|| panic!("{text}"));
        let written = text_of(&parts(text));
        let again = values().of(&written).unwrap_or_else(|| panic!("{written}"));
        let [one, two] = [expr, again].map(|expr| factorize(&mut Pool::new(), expr));
        assert!(one.is(&two), "{text}: {written}");
    }
    for text in ["[K, B] / 2", "M = 3", "[K, B] # 200"] {
        let expr = values().of(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(parts_of(expr), None, "{text}");
    }
    let padded = values().of("[K, B] # 200").and_then(units_of);
    assert_eq!(padded, Some(parts("K, B")));
}

#[test]
fn lists_are_cut_alike() {
    let mut lists = [parts("M / 4, K"), parts("K / 8 % 4, M / 20, B, M % 20")];
    refine(&mut lists).unwrap_or_else(|| panic!("4 divides 20"));
    let texts =
        lists.each_ref().map(|list| list.iter().map(|part| text_of(&[*part])).collect::<Vec<_>>().join("; "));
    assert_eq!(
        texts,
        ["M / 20; M / 4 % 5; K / 32; K / 8 % 4; K % 8", "K / 8 % 4; M / 20; B; M / 4 % 5; M % 4"]
    );
    let mut lists = [parts("M / 4, B, M % 4"), parts("M / 10, B, M % 10")];
    assert_eq!(refine(&mut lists), None, "4 does not divide 10");
}

#[test]
fn the_innermost_positions() {
    let cut = |text: &str, positions| {
        innermost(&parts(text), positions).map(|both| both.map(|list| text_of(&list)))
    };
    let texts = |outer: &str, inner: &str| Some([outer.to_string(), inner.to_string()]);
    assert_eq!(cut("M, K", 16), texts("M, K / 16", "K % 16"));
    assert_eq!(cut("M, K / 16", 8), texts("M / 2", "M % 2, K / 16"));
    assert_eq!(cut("K, M # 128", 32), texts("K, M # 128 / 32", "M # 128 % 32"));
    assert_eq!(cut("M, K / 8, B", 8), None);
    assert_eq!(cut("K % 4", 8), None);
    assert_eq!(padded_text(&parts("M % 2, K % 8"), 32), "[M % 2, K % 8] # 32");
}
