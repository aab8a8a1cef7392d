//! Limits of the reader at and past their last value, suggestions, and the picture of a mistake.

use super::*;

fn axes(text: &str) -> Axes {
    Axes::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn steps_between_names() {
    let table = [
        ("", "", 0),
        ("", "AB", 2),
        ("AB", "", 2),
        ("Height", "Height", 0),
        ("Heigth", "Height", 1),
        ("CAB", "CBA", 1),
        ("ABCD", "BADC", 2),
        ("ABC", "CBA", 2),
        ("Hight", "Height", 1),
        ("Heeight", "Height", 1),
        ("Keight", "Height", 1),
        ("kitten", "sitting", 3),
        // A wrong case counts half a step; a single half is rounded to 0.
        ("height", "Height", 0),
        ("hEight", "Height", 1),
        ("hEIght", "Height", 1),
        ("hEIGht", "Height", 2),
        ("ABCDEF", "UVWXYZ", 6),
    ];
    for (a, b, steps) in table {
        assert_eq!((distance(a, b), distance(b, a)), (steps, steps), "{a} {b}");
    }
}

#[test]
fn a_near_name_is_suggested() {
    let table = axes("N=4, Height=3, Channels=2");
    let near = |name: &str| {
        let message = table.unknown(name);
        message.split_once("did you mean `").map(|(_, rest)| rest.trim_end_matches("`?").to_string())
    };
    // One step is allowed, and one more for every four letters, but fewer steps than letters.
    assert_eq!(near("Heit").as_deref(), Some("Height"));
    assert_eq!(near("Hei"), None);
    assert_eq!(near("Hight").as_deref(), Some("Height"));
    assert_eq!(near("Nx").as_deref(), Some("N"));
    assert_eq!(near("X"), None);
    assert_eq!(near("Chnls"), None);
    assert_eq!(near("Chanels").as_deref(), Some("Channels"));
    assert_eq!(near("Chaels").as_deref(), Some("Channels"));
    assert_eq!(table.unknown("X"), "no axis is called `X`; the axes are `N`, `Height`, `Channels`");
    assert_eq!(axes("").unknown("X"), "no axis is called `X`; there are no axes, declare it: `--axes X=4`");
}

#[test]
fn the_last_value_that_is_allowed() {
    let names = |count: usize| (0..count).map(|k| format!("A{k}=2")).collect::<Vec<_>>().join(",");
    assert_eq!(axes(&names(MAX_AXES)).as_slice().len(), MAX_AXES);
    let error = Axes::parse(&names(MAX_AXES + 1)).expect_err("one too many");
    assert!(error.message.contains("more than 64 axes"), "{error}");
    let all = names(MAX_AXES).len();
    assert_eq!(error.place, all + 1..all + 6);

    let name = |length: usize| format!(" {}=8", "N".repeat(length));
    assert_eq!(axes(&name(MAX_NAME)).as_slice()[0].size, 8);
    assert_eq!(Axes::parse(&name(MAX_NAME + 1)).expect_err("too long").place, 1..42);

    assert_eq!(axes("A = 2_147_483_648").as_slice()[0].size, MAX_POSITIONS);
    assert_eq!(axes("A_1=0_9, B2=1").as_slice().len(), 2);
    assert_eq!(Axes::parse("A=_").expect_err("no digit").place, 2..3);
    assert_eq!(Axes::parse("A=4, B =  5, A  = 6 ").expect_err("twice").place, 13..19);

    let table = axes("A=2");
    assert!(parse_mapping("1 # 2147483648", &table).is_ok());
    assert_eq!(parse_mapping("1 # 2147483649", &table).expect_err("too many").place, 2..14);
    assert!(parse_mapping("1 # 1073741824, A", &table).is_ok());
    assert!(parse_mapping("1 # 1073741825, A", &table).is_err());
    let list = "[1 # 65536, 1 # 32768], A";
    assert_eq!(parse_mapping(list, &table).expect_err("too many").place, 1..21);
    assert!(parse_mapping(&vec!["1"; MAX_OPERANDS].join(","), &table).is_ok());
    let error = parse_mapping(&vec!["1"; MAX_OPERANDS + 1].join(","), &table).expect_err("one too many");
    assert_eq!((error.message.contains("more than 64 operands"), error.place), (true, 128..129));
}

/// Two composites of 13 axes: 26 digits of composites, and 2 of the mapping.
#[test]
fn products_share_a_limit() {
    let names = |prefix: char| (0..13).map(|k| format!("{prefix}{k}")).collect::<Vec<_>>();
    let both = [names('A'), names('B')].concat();
    let table = axes(&both.iter().map(|name| format!("{name}=2")).collect::<Vec<_>>().join(","));
    let product = |prefix| format!("[{}] = 4097", names(prefix).join(","));
    assert!(parse_mapping(&product('A'), &table).is_ok());
    let error = parse_mapping(&format!("{}, {}", product('A'), product('B')), &table).expect_err("too many");
    assert!(error.message.contains("more than 24 digits"), "{error}");
}

#[test]
fn long_messages_are_cut_in_the_middle() {
    let whole: String = ('a'..='z').cycle().take(600).collect();
    assert_eq!(printable(&whole), whole);
    let longer: String = ('a'..='z').cycle().take(601).collect();
    assert_eq!(printable(&longer), format!("{}…{}", &longer[..200], &longer[201..]));
    assert_eq!(printable("a\tb\u{7f}"), "a\u{fffd}b\u{fffd}");
}

/// The line and the carets under it.
fn picture(text: &str, place: Range<usize>) -> [String; 2] {
    let shown = ParseError::new("wrong", text, place).to_string();
    let lines: Vec<&str> = shown.split('\n').collect();
    assert_eq!((lines.len(), &lines[..2]), (4, &["wrong", ""][..]));
    [lines[2].to_string(), lines[3].to_string()]
}

#[test]
fn carets_are_under_the_place() {
    assert_eq!(picture("N / 0", 4..5), ["  N / 0", "      ^"]);
    assert_eq!(picture("N, Heigth", 3..9), ["  N, Heigth", "     ^^^^^^"]);
    assert_eq!(picture("", 0..0), ["  ", "  ^"]);
    // Columns count letters, not bytes. A character that cannot be printed becomes a blank.
    assert_eq!(picture("Ä=4, Öl=2", 6..9), ["  Ä=4, Öl=2", "       ^^"]);
    assert_eq!(picture("A\n/ 0", 4..5), ["  A / 0", "      ^"]);
}

#[test]
fn long_lines_show_their_place() {
    let text: String = ('a'..='z').cycle().take(100).collect();
    let carets = |column: usize, count: usize| format!("{}{}", " ".repeat(2 + column), "^".repeat(count));
    // The whole text from its start: 44 letters before the place and 44 from there on.
    assert_eq!(picture(&text[..88], 44..45), [format!("  {}", &text[..88]), carets(44, 1)]);
    assert_eq!(picture(&text[..89], 44..45), [format!("  {}…", &text[..88]), carets(44, 1)]);
    assert_eq!(picture(&text[..89], 45..46), [format!("  …{}", &text[1..89]), carets(45, 1)]);
    assert_eq!(picture(&text, 50..52), [format!("  …{}…", &text[6..94]), carets(45, 2)]);
    // No more carets than letters.
    assert_eq!(picture(&text, 0..44), [format!("  {}…", &text[..44]), carets(0, 44)]);
    assert_eq!(picture(&text, 0..100), [format!("  {}…", &text[..44]), carets(0, 44)]);
}
