//! The parts: tokens, mappings as texts, differences. Whole files are in `tests/cli/port`.

use super::calls::Calls;
use super::edits::{Edit, applied, difference};
use super::mapping::{Contraction, kept_packet, kept_time, members, padded};
use super::names::Names;
use super::source::{Kind, Source, position};
use super::values::Context;
use super::{Spelling, ported};

/// The words of a text, by their bytes.
fn words(text: &str) -> Vec<&str> {
    let source = Source::new(text).expect("is Rust");
    (0..source.tokens.len()).filter_map(|token| source.word(token)).collect()
}

#[test]
fn tokens_have_their_bytes() {
    // More bytes than characters before, a byte order mark, ends of lines of Windows, comments of all kinds.
    let text = "\u{feff}//! Größe → a\r\nfn größe(ä: &str) /* é */ {\r\n    /// x\r\n    let s = \"日本\\r\\n\"; // ü\r\n    f(s)\r\n}\r\n";
    assert_eq!(words(text), ["fn", "größe", "ä", "str", "let", "s", "f", "s"]);
    assert_eq!(words("#!/usr/bin/env run\nfn f() {}"), ["fn", "f"]);
    assert_eq!(words("#![allow(x)]\nfn r#type() {}"), ["allow", "x", "fn", "r#type"]);
    assert_eq!(words("/** a */ fn f() { /*! b */ }"), ["fn", "f"]);
}

#[test]
fn ends_of_groups_know_each_other() {
    let source = Source::new("f([{()}], (a))").expect("is Rust");
    for (token, own) in source.tokens.iter().enumerate() {
        let other = source.tokens[own.mate];
        assert_eq!(other.mate, token);
        if let Kind::Open(character) = own.kind {
            assert_eq!(other.kind, Kind::Close(character));
        }
    }
    // As deep as a generator may go: no stack is used.
    let deep = format!("{}x{}", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(words(&deep), ["x"]);
}

#[test]
fn no_rust_is_refused_at_its_place() {
    for (text, place) in [("fn f( {", "1:"), ("a\n  ü \"b", "2:"), ("x\n}", "2:1:"), ("'", "1:1:")] {
        let error = Source::new(text).expect_err("is no Rust");
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains("it is no Rust that can be read"), "{error}");
    }
    assert_eq!(position("ab\nüx", 5), (2, 2));
    assert_eq!(position("", 0), (1, 1));
}

#[test]
fn operands_and_chains() {
    for (text, operand) in [
        ("let a = ctx.main.begin(x).", "ctx.main.begin(x)"),
        ("return (a.b()).c::<D, m![x]>(d).", "(a.b()).c::<D, m![x]>(d)"),
        ("x + &y.z?.w[3].", "y.z?.w[3]"),
        ("= HostTensor::<D, m![A < 3]>::zero().", "HostTensor::<D, m![A < 3]>::zero()"),
        ("if a < b { c.", "c"),
        ("= unsafe { x.y() }.", "unsafe { x.y() }"),
        ("=> $name.f().", "$name.f()"),
        ("f(|x| x.y().", "x.y()"),
        ("0..n.", "n"),
    ] {
        let open = |c: char, d: char| text.matches(c).count() - text.matches(d).count();
        let (braces, parentheses) = (open('{', '}'), open('(', ')'));
        let whole = format!("{text}end(){}{}", ")".repeat(parentheses), "}".repeat(braces));
        let source = Source::new(&whole).expect("is Rust");
        let end =
            (0..source.tokens.len()).find(|&token| source.word(token) == Some("end")).expect("is there");
        let first = source.start_of_operand(end - 2);
        assert_eq!(source.of(&(first..end - 1)), operand, "{text}");
    }
}

/// Declarations in the file of a test.
const DECLARED: &str = "axes![A = 64, B = 7, R = 8]; type Lanes = m![A % 8]; type Flit = m![A % 8 # 16];\n\
                        type Twice = m![1]; fn f() { type Twice = m![2]; } fn g<Slice: M>() {}";

fn packet(time: &str, packet: &str, element: &str, is_view: bool) -> Result<String, String> {
    let source = Source::new(DECLARED).expect("is Rust");
    kept_packet(&source, &Names::new(&source), [Some(time), Some(packet), Some(element)], is_view)
}

#[test]
fn packets_that_commits_keep() {
    for (time, own, element, kept) in [
        // All of it, as it is spelled.
        ("m![A / 8]", "m![A % 8]", "m![A]", "m![A % 8]"),
        ("m![A / 8]", "Lanes", "m![A]", "Lanes"),
        ("m![1]", "m![B # 16]", "m![B # 16]", "m![B # 16]"),
        // Without padding, with less of it, and less than is live.
        ("m![A / 8]", "Flit", "m![A]", "m![A % 8]"),
        ("m![1]", "m![B # 16]", "m![B # 8]", "m![B # 8]"),
        ("m![1]", "m![B # 16]", "m![B]", "m![B]"),
        ("m![1]", "m![[B, R] # 64]", "m![B, R]", "m![B, R]"),
        ("m![1]", "m![[B, R] # 64]", "m![[B, R] # 60]", "m![[B, R] # 60]"),
        ("m![1]", "m![A % 16]", "m![A % 16 = 8]", "m![A % 16 = 8]"),
        // Names of other files: the texts decide.
        ("Time", "m![X # 32]", "m![{ Rows }, X]", "m![X]"),
        ("Time", "m![X % 8 # 16]", "m![{ Rows }, X]", "m![X % 8]"),
        ("Time", "m![X % 8 # 16]", "m![{ Rows }, X % 64]", "m![X % 8]"),
        ("Time", "m![X # 16]", "m![{ Rows }, X # 8]", "m![X # 8]"),
        ("Time", "m![$a # 16]", "m![$b, $a]", "m![$a]"),
    ] {
        assert_eq!(packet(time, own, element, false).as_deref(), Ok(kept), "{own} into {element}");
    }
    // Holes of a tile are no part of the packet.
    assert_eq!(packet("m![1]", "m![A # 256]", "m![1 # 4, A]", true).as_deref(), Ok("m![A]"));
    for (own, element) in [
        ("m![X % 8 # 16]", "m![X % 12]"),
        ("m![X, Y]", "m![Y, X]"),
        ("m![X / 8 # 16]", "m![X]"),
        ("Twice", "m![A]"),
        ("Slice", "m![A]"),
        ("_", "m![A]"),
    ] {
        let error = packet("Time", own, element, false).expect_err(own);
        assert!(error.contains('`'), "{error}");
    }
    let source = Source::new(DECLARED).expect("is Rust");
    let error = kept_packet(&source, &Names::new(&source), [None, Some("m![A]"), None], false);
    assert!(error.expect_err("no destination").contains("the Element of the destination is not spelled"));
}

fn time(
    is_interleaved: bool,
    time: &str,
    columns: &str,
    [out_time, out_packet]: [&str; 2],
) -> Result<String, String> {
    let source = Source::new(DECLARED).expect("is Rust");
    let own = Contraction { is_interleaved, time: Some(time), columns, out_time, out_packet };
    kept_time(&source, &Names::new(&source), &own)
}

#[test]
fn times_that_contractions_keep() {
    for (is_interleaved, own, columns, out, kept) in [
        // One column: the time of the result, whatever it is.
        (true, "_", "m![1]", ["Rows", "_"], "Rows"),
        (true, "m![$t]", "m![ 1 ]", ["m![$a, $b]", "m![$c]"], "m![$a, $b]"),
        // Sums over A, and over nothing.
        (true, "m![B, A / 8]", "m![R]", ["m![B, R]", "m![1 # 8]"], "m![B]"),
        (true, "m![A / 8]", "m![R]", ["m![R]", "m![B # 8]"], "m![1]"),
        (true, "m![B, A / 8]", "m![R]", ["m![B, A / 8, R]", "m![1 # 8]"], "m![B, A / 8]"),
        (false, "m![A]", "m![B # 8]", ["m![R]", "m![B # 8]"], "m![1]"),
        // Between two that stay.
        (false, "m![B, A, R]", "Lanes", ["m![B, R, 1 # 2]", "m![1 # 8]"], "m![B, R]"),
        // Two digits have become one.
        (false, "m![B, A / 32]", "m![A % 32]", ["m![A / 8]", "m![A % 8]"], "m![A / 32]"),
        (true, "m![B, A / 32]", "m![A % 32]", ["m![A]", "m![1 # 8]"], "m![A / 32]"),
    ] {
        assert_eq!(time(is_interleaved, own, columns, out).as_deref(), Ok(kept), "{own}, {columns}");
    }
    for (is_interleaved, own, columns, out) in [
        // The padding of the columns is gone, columns in another order, a time in another order, a digit of a sum.
        (true, "m![A]", "m![B # 8]", ["m![B]", "m![1 # 8]"]),
        (true, "m![A]", "m![B, R]", ["m![R, B]", "m![1 # 8]"]),
        (true, "m![A, B]", "m![R]", ["m![B, A, R]", "m![1 # 8]"]),
        (false, "m![A / 8]", "m![R]", ["m![A / 16]", "m![R]"]),
        (false, "m![A]", "m![B # 16]", ["m![R]", "m![B # 8]"]),
        // Nothing is known of the weights' lanes.
        (false, "m![A]", "m![R]", ["m![A]", "m![R % 8]"]),
        // A name that may hold any axis.
        (true, "m![{ Rows }, A]", "m![R]", ["m![R]", "m![1 # 8]"]),
        (true, "Slice", "m![R]", ["m![R]", "m![1 # 8]"]),
        (true, "m![A]", "m![1]", ["_", "m![R]"]),
    ] {
        let kept = time(is_interleaved, own, columns, out);
        if (own, columns) == ("m![A]", "m![R]") {
            // One lane: all of it is known to be kept.
            assert_eq!(kept.as_deref(), Ok("m![A]"));
        } else {
            kept.expect_err(own);
        }
    }
}

#[test]
fn members_and_padding() {
    assert_eq!(members("A / 2, [B, C] # 8, { D }"), ["A / 2", "[B, C] # 8", "{ D }"]);
    assert_eq!(members(""), [""; 0]);
    for (text, expected) in [
        ("A # 8", Some(("A", 8))),
        ("[A, B] # 1_6", Some(("A, B", 16))),
        ("[A # 4] / 2 # 8", Some(("[A # 4] / 2", 8))),
        ("1 # 2", Some(("1", 2))),
        ("A, B # 8", None),
        ("A", None),
        ("[A # 8]", None),
        ("A # $n", None),
        ("A #{!} 8", None),
        ("# 4 + A", None),
        ("A + # 4", None),
    ] {
        let expected = expected.map(|(kept, size)| (kept.to_string(), size));
        assert_eq!(padded(text), expected, "{text}");
    }
}

#[test]
fn types_of_elements() {
    let text = "type Row<S, D> = DmTensor<D, m![1], C, S, m![1]>;
        fn f<'l>(a: &'l mut DmTensorView<'l, bf16, C, K, S, E>, b: &Row<m![A], i8>, c: &Other<i8>) {
            let d = b.view().tile::<m![A], 1, m![1]>(0);
            let e: DmTensor<_, m![1], C, S, E> = ctx.main.begin(d).fetch::<i32, T, P>().commit(0);
            let g = ctx.main.begin(a.clone()).collect::<T, P>();
            let b = unknown(b);
            let _ = (move |d| d, b);
            for e in 0..3 { e; }
            match 3 { d => d, _ => 0 };
            a; c; d; e; g; b;
        }";
    let source = Source::new(text).expect("is Rust");
    let (calls, names) = (Calls::new(&source), Names::new(&source));
    let context = Context { source: &source, calls: &calls, names: &names };
    let of = |name: &str, place: usize| {
        let all: Vec<usize> =
            (0..source.tokens.len()).filter(|&token| source.word(token) == Some(name)).collect();
        let token = all[all.len() - place];
        context.value(&(token..token + 1)).scalar
    };
    assert_eq!(of("a", 1).as_deref(), Some("bf16"));
    assert_eq!(of("c", 1), None);
    assert_eq!(of("e", 1).as_deref(), Some("i32"));
    // In the loop it is a number.
    assert_eq!(of("e", 2), None);
    assert_eq!(of("g", 1), None);
    // Shadowed.
    assert_eq!(of("b", 1), None);
    assert_eq!(of("b", 4).as_deref(), Some("i8"));
    // The arm and the closure end in their groups.
    assert_eq!(of("d", 2), None);
    assert_eq!(of("d", 1).as_deref(), Some("i8"));
}

/// Applies a unified difference as `patch` does, without any freedom.
fn patched(old: &str, difference: &str) -> String {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut result, mut at) = (String::new(), 0);
    let mut rest = difference.split_inclusive('\n').peekable();
    assert!(rest.next().is_some_and(|line| line.starts_with("--- ")));
    assert!(rest.next().is_some_and(|line| line.starts_with("+++ ")));
    let (mut left, mut written) = ((0, 0), 0);
    while let Some(line) = rest.next() {
        if let Some(header) = line.strip_prefix("@@ -") {
            assert_eq!(left, (0, 0), "the counts of the hunk before");
            let numbers: Vec<usize> =
                header.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok()).collect();
            let [start, old_count, new_start, new_count] = numbers[..] else { panic!("{line}") };
            let start = if old_count == 0 { start } else { start - 1 };
            for line in &lines[at..start] {
                result.push_str(line);
                written += 1;
            }
            at = start;
            assert_eq!(new_start, if new_count == 0 { written } else { written + 1 });
            left = (old_count, new_count);
            continue;
        }
        let has_no_end = rest.peek().is_some_and(|next| next.starts_with('\\'));
        let own = if has_no_end { &line[1..line.len() - 1] } else { &line[1..] };
        if has_no_end {
            rest.next();
        }
        if !line.starts_with('+') {
            assert_eq!(lines[at], own);
            at += 1;
            left.0 -= 1;
        }
        if !line.starts_with('-') {
            result.push_str(own);
            written += 1;
            left.1 -= 1;
        }
    }
    assert_eq!(left, (0, 0));
    result.extend(lines[at..].iter().copied());
    result
}

#[test]
fn differences_are_patches() {
    let mut state = 1u64;
    let mut random = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for _ in 0..2000 {
        let count = 1 + random(40);
        let mut old: String =
            (0..count).map(|k| format!("l{}{}", k % 7, ["\n", "\r\n"][random(2)])).collect();
        if random(3) == 0 {
            old.pop();
        }
        let (mut edits, mut at) = (Vec::new(), 0);
        for _ in 0..random(6) {
            let start = at + random(old.len() - at + 1);
            let end = start + random((old.len() - start).min(9) + 1);
            let text = ["", "x", "\n", "new\nlines\n", "y\n"][random(5)].to_string();
            edits.push(Edit { bytes: start..end, text });
            at = end;
        }
        let new = applied(&old, &edits);
        let difference = difference("f", &old, &edits);
        if difference.is_empty() {
            assert_eq!(old, new);
        } else {
            assert_eq!(patched(&old, &difference), new, "{old:?} with {edits:?}:\n{difference}");
        }
    }
}

/// Whatever a file has, reading it ends, and what is written is Rust of as many groups.
#[test]
fn cut_texts_are_read_or_refused() {
    let texts = [
        include_str!("../../tests/port/seed/vector.rs"),
        include_str!("../../tests/port/later/vector.rs"),
        include_str!("../../tests/port/seed/memory.rs"),
        include_str!("../../tests/port/later/host.rs"),
    ];
    let mut read = 0;
    let all = texts.iter().flat_map(|text| [(text, Spelling::Later), (text, Spelling::Seed)]);
    for (k, (text, to)) in all.enumerate() {
        let source = Source::new(text).expect("is Rust");
        for cut in (k..source.tokens.len()).step_by(29) {
            // Without one token, or one group.
            let own = source.tokens[cut];
            let mate = source.tokens[own.mate];
            let without = format!("{}{}", &text[..own.start.min(mate.start)], &text[own.end.max(mate.end)..]);
            let ported = ported(&without, Some(to)).expect("is Rust");
            let new = ported.text(&without);
            assert!(Source::new(&new).is_ok(), "is Rust: {without}\nis none: {new}");
            read += 1;
            // Up to a token: an end is missing.
            let _ = super::ported(&text[..own.start], Some(to));
        }
    }
    assert!(read > 100, "{read}");
}
