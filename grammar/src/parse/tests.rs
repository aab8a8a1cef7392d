use super::*;

type Plain = Mapping<(), String>;

fn plain(text: &str) -> Plain {
    match parse_str(text) {
        Ok(mapping) => mapping.map_spans(&mut |_| ()),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn axis(name: &str) -> Plain {
    Mapping::Axis { name: name.into(), span: () }
}

fn one() -> Plain {
    Mapping::One { span: () }
}

fn escape(content: &str) -> Plain {
    Mapping::Escape { content: content.into(), span: () }
}

fn operation(inner: Plain, symbol: char, n: usize) -> Plain {
    let operator = Operator::from_symbol(symbol).unwrap();
    Mapping::Operation { operator, inner: Box::new(inner), n: Number::Plain(n), span: (), n_span: () }
}

fn pair(items: impl Into<Vec<Plain>>) -> Plain {
    Mapping::Pair { items: items.into() }
}

#[track_caller]
fn rejects(text: &str, part: &str, span: Range<usize>) {
    let error = parse_str(text).expect_err(text);
    assert!(error.message.contains(part), "{text}: {error}");
    assert_eq!(error.span, span, "{text}: {error}");
}

#[test]
fn atoms() {
    assert_eq!(plain("1"), one());
    assert_eq!(plain("S_dec2"), axis("S_dec2"));
    assert_eq!(plain("{ Vec<T, { 4 }> }"), escape("Vec<T, { 4 }>"));
    assert_eq!(plain("(A)"), axis("A"));
    assert_eq!(plain("[([A])]"), axis("A"));
}

#[test]
fn operators_are_one_level_and_left_associative() {
    let expected = [('#', 16), ('/', 2), ('%', 4), ('=', 3), ('#', 8)]
        .into_iter()
        .fold(axis("P"), |inner, (symbol, n)| operation(inner, symbol, n));
    assert_eq!(plain("(P # 16 / 2) % 4 = 3 # 8"), expected);
    assert_eq!(plain("P#16/2%4=3#8"), expected);
    assert_eq!(plain("A / 1_024"), operation(axis("A"), '/', 1024));
    assert_eq!(plain("A = 18446744073709551615"), operation(axis("A"), '=', usize::MAX));
}

#[test]
fn comma_binds_loosest() {
    let half = operation(axis("B"), '/', 2);
    assert_eq!(plain("A, B / 2, 1"), pair([axis("A"), half, one()]));
    assert_eq!(plain("[A, B] / 2"), operation(pair([axis("A"), axis("B")]), '/', 2));
    assert_eq!(plain("A, (B, 1)"), pair([axis("A"), pair([axis("B"), one()])]));
    assert_eq!(plain("{ T } # 4, 1 # 8"), pair([operation(escape("T"), '#', 4), operation(one(), '#', 8)]));
}

/// As [`operation`], with a constant in braces.
fn braced(inner: Plain, symbol: char, n: &str) -> Plain {
    let operator = Operator::from_symbol(symbol).unwrap();
    let n = Number::Braced(n.to_string());
    Mapping::Operation { operator, inner: Box::new(inner), n, span: (), n_span: () }
}

#[test]
fn a_list_may_end_in_a_comma() {
    assert_eq!(plain("A,"), axis("A"));
    assert_eq!(plain("A, B / 2,"), plain("A, B / 2"));
    assert_eq!(plain("[A, (B,),] # 64, # 2 + A + # 4,"), plain("[A, B] # 64, # 2 + A + # 4"));
}

#[test]
fn constants_in_braces_are_numbers() {
    assert_eq!(plain("A / { N }"), braced(axis("A"), '/', "N"));
    assert_eq!(plain("A %{N * 2}"), braced(axis("A"), '%', "N * 2"));
    assert_eq!(plain("A = { N } # 64"), operation(braced(axis("A"), '=', "N"), '#', 64));
    assert_eq!(plain("{ T } # { N }, { T }"), pair([braced(escape("T"), '#', "N"), escape("T")]));
    let dead = |n: &str| Number::Braced(n.to_string());
    let expected =
        Mapping::Margin { lead: dead("L"), inner: Box::new(axis("A")), trail: dead("R"), span: () };
    assert_eq!(plain("# { L } + A + # { R }"), expected);
    // Digits need no braces.
    assert_eq!(plain("A / { 1_0 }"), operation(axis("A"), '/', 10));
    assert_eq!(plain("# {2} + A + # { 4 }"), margin(2, axis("A"), 4));
    rejects("A / { 0 }", "stride: `/ 0`", 4..9);
    rejects("A # { 0 }", "padding: `# 0`", 4..9);
    rejects("A # { 0x4 }", "`0x4` is not a plain decimal number", 4..11);
    rejects("# { 0 } + A", "`# 0` adds no position", 2..7);
    rejects("A / { N } { M }", "`{…}` follows `{…}` with nothing between", 10..15);
}

#[test]
fn kinds_of_padding() {
    assert_eq!(plain("A #{*} 8"), operation(axis("A"), '#', 8));
    assert_eq!(plain("A # { ! } 8 / 2"), operation(operation(axis("A"), '#', 8), '/', 2));
    assert_eq!(plain("1 #{!} { N }, A"), pair([braced(one(), '#', "N"), axis("A")]));
    assert_eq!(plain("#{*} 2 + A + #{!} 4"), margin(2, axis("A"), 4));
    rejects("A #{0} 8", "`#{0}` promises zeros, and no mapping here carries such a promise; write `#`", 3..6);
    rejects("A #{0} { N }", "`#{0}` promises zeros", 3..6);
    rejects("A #{?} 8", "`#{?}` is no kind of padding; the kinds are `#{*}` (", 3..6);
    rejects("A #{?} 8", "`#{!}` (no access, here the same as `#`) and `#{0}` (known to be 0)", 3..6);
    rejects("A #{Top} { N }", "`#{Top}` is no kind of padding", 3..8);
    rejects("#{Top} 4 + A", "`#{Top}` is no kind of padding", 1..6);
    rejects("A + #{0} 4", "`#{0}` promises zeros", 5..8);
    rejects("A #{!}", "no number follows `#{!}`; write the size after padding, for example `#{!} 8`", 3..6);
    rejects("A #{*}, B", "no number follows `#{*}`", 3..6);
    // Only padding has kinds.
    assert!(plain("A / {*}") == braced(axis("A"), '/', "*"));
    rejects("A /{*} 8", "an operator is missing between `{…}` and `8`", 7..8);
}

fn margin(lead: usize, inner: Plain, trail: usize) -> Plain {
    let [lead, trail] = [lead, trail].map(Number::Plain);
    Mapping::Margin { lead, inner: Box::new(inner), trail, span: () }
}

#[test]
fn margins() {
    assert_eq!(plain("# 2 + B + # 4"), margin(2, axis("B"), 4));
    assert_eq!(plain("#2+B"), margin(2, axis("B"), 0));
    assert_eq!(plain("B + # 4"), margin(0, axis("B"), 4));
    // Looser than the operators, tighter than the comma.
    let half = operation(axis("B"), '/', 2);
    assert_eq!(plain("A, # 1_0 + B / 2 + # 4, 1"), pair([axis("A"), margin(10, half.clone(), 4), one()]));
    assert_eq!(plain("B / 2 + # 4"), margin(0, half, 4));
    assert_eq!(plain("[# 2 + B + # 4] / 32"), operation(margin(2, axis("B"), 4), '/', 32));
    assert_eq!(plain("# 2 + [# 1 + B]"), margin(2, margin(1, axis("B"), 0), 0));
    assert_eq!(plain("# 2 + [A, B]"), margin(2, pair([axis("A"), axis("B")]), 0));
    assert_eq!(plain("(# 1 + { T }, B)"), pair([margin(1, escape("T"), 0), axis("B")]));
    let Mapping::Margin { span, .. } = parse_str("A # 8 + # 4").unwrap() else { panic!("not a margin") };
    assert_eq!(span, 6..7);
    let Mapping::Margin { span, .. } = parse_str(" # 2 + A").unwrap() else { panic!("not a margin") };
    assert_eq!(span, 1..2);
}

#[test]
fn margins_that_are_not_complete() {
    const HOW: &str = "dead positions are written `# 2 + A + # 4`, before or after an operand";
    rejects("# + B", "the number of dead positions must be a plain number, found `+`", 2..3);
    rejects("# + B", HOW, 2..3);
    rejects("# 2 B", "a `+` is missing between `# 2` and `B`", 4..5);
    rejects("# 2, B", "a `+` is missing between `# 2` and `,`", 2..3);
    rejects("# 2", "`# 2` stands alone; dead positions", 2..3);
    rejects("#", "`#` has nothing on its right", 0..1);
    rejects("# B", "must be a plain number, found `B`", 2..3);
    rejects("# 2 +", "nothing follows `# 2 +`", 4..5);
    rejects("# 2 +, B", "nothing follows `# 2 +`", 4..5);
    rejects("# 2 + # 3 + B", "`# 2 +` is followed by more dead positions; add them up", 6..7);
    rejects("# 2 + / 3", "`/` has nothing on its left", 6..7);
    rejects("# 0 + B", "`# 0` adds no position; leave it out", 2..3);
    rejects("B + # 0", "`# 0` adds no position; leave it out", 6..7);
    rejects("B +", "nothing follows `+`", 2..3);
    rejects("B +, A", "nothing follows `+`", 2..3);
    rejects("B + #", "`+ #` has nothing on its right", 4..5);
    rejects("B + 4", "`+` adds dead positions, and `4` is none", 4..5);
    rejects("A + B", "`+` adds dead positions, and `B` is none", 4..5);
    rejects("B + # A", "must be a plain number, found `A`", 6..7);
    rejects("B + # 4u8", "`4u8` has the suffix `u8`", 6..9);
    rejects("B + # 4 + # 5", "`+` follows dead positions; add them up", 8..9);
    rejects("# 2 + B + # 4 / 32", "put brackets around them, for example `[# 2 + A + # 4] / 8`", 14..15);
    rejects("B + # 4 A", "`A` follows dead positions with nothing between", 8..9);
    rejects("+ B", "`+` has nothing on its left; dead positions", 0..1);
    rejects("A, + # 3", "`+` has nothing on its left", 3..4);
}

#[test]
fn spans_of_the_tree() {
    let Mapping::Operation { inner, span, n_span, .. } = parse_str("Ab  /  12").unwrap() else {
        panic!("not an operation")
    };
    assert_eq!((span, n_span), (4..5, 7..9));
    assert_eq!(*inner, Mapping::Axis { name: "Ab".into(), span: 0..2 });
}

#[test]
fn empty_and_missing_operands() {
    rejects("", "the mapping is empty", 0..0);
    rejects("  ", "the mapping is empty", 0..2);
    rejects("A, ()", "the mapping is empty", 3..5);
    rejects("A,,", "an operand is missing before `,`", 2..3);
    rejects("[A, B,,]", "an operand is missing before `,`", 6..7);
    rejects(",", "an operand is missing before `,`", 0..1);
    rejects("A,, B", "an operand is missing before `,`", 2..3);
    rejects("A /", "nothing follows `/`; write a number after it, for example `/ 4`", 2..3);
    rejects("/ 2", "`/` has nothing on its left", 0..1);
    rejects("A B", "`B` follows `A` with nothing between; separate operands with `,`", 2..3);
    rejects("A / 4 (B)", "`(…)` follows `4` with nothing between", 6..9);
    rejects("A 4", "an operator is missing between `A` and `4`", 2..3);
}

#[test]
fn right_side_is_a_plain_number() {
    rejects("A / B", "the right side of `/` must be a plain number, found `B`", 4..5);
    rejects("A % (4)", "the right side of `%` must be a plain number, found `(…)`", 4..7);
    rejects("A == 4", "`==` is not a mapping operator; to truncate write one `=`, for example `A = 4`", 3..4);
    rejects("A /= 4", "the right side of `/` must be a plain number, found `=`", 3..4);
    rejects("A / -4", "`-` makes it negative", 4..5);
    rejects("A / \"4\"", "must be a plain number, found `\"4\"`", 4..7);
    rejects("A / 0x10", "`0x10` is not a plain decimal number; write it without a radix prefix", 4..8);
    rejects("A / 8usize", "`8usize` has the suffix `usize`; write the number without it: `8`", 4..10);
    rejects("A / 1_0u8", "write the number without it: `10`", 4..9);
    rejects("A / 1.5", "`1.5` is not an integer", 4..7);
    rejects("A / 1e3", "`1e3` is not an integer", 4..7);
    rejects("A / 8f32", "`8f32` is not an integer", 4..8);
}

#[test]
fn numbers_have_limits() {
    rejects("A / 0", "stride: `/ 0`", 4..5);
    rejects("A % 0", "modulo: `% 0`", 4..5);
    rejects("A = 0", "resize: `= 0`", 4..5);
    rejects("A # 0", "padding: `# 0`", 4..5);
    for symbol in ['/', '%', '=', '#'] {
        assert_eq!(plain(&format!("A {symbol} 1")), operation(axis("A"), symbol, 1));
    }
    rejects("A # 18446744073709551616", "is too large; a size is at most 18446744073709551615", 4..24);
}

#[test]
fn bare_numbers_are_no_operands() {
    rejects(
        "2",
        "Broadcast not supported: `2` is a number without an axis; declare an axis with `axes![X = 2]`",
        0..1,
    );
    rejects("A, 8 # 16", "Broadcast not supported", 3..4);
    rejects("0", "Broadcast not supported: `0` is a number without an axis", 0..1);
    rejects("1u8", "`1u8` has the suffix `u8`", 0..3);
}

#[test]
fn other_punctuation() {
    rejects(
        "A * 4",
        "`*` is not a mapping operator; the operators are `/` (stride), `%` (modulo), `=` (resize) and `#` (padding)",
        2..3,
    );
    rejects("A; B", "`;` is not a mapping operator; separate operands with `,`", 1..2);
    rejects("A: 4", "a position is given in `i![axis: position]`", 1..2);
    rejects("dims::A", "`::` is not part of a mapping", 4..5);
    rejects("-A", "`-` cannot start a mapping; an operand is an axis", 0..1);
    rejects("\"A\"", "`\"A\"` cannot start a mapping", 0..3);
    rejects("A 'b'", "`'b'` is not part of a mapping", 2..5);
    rejects("_ / 2", "`_` is not an axis", 0..1);
    rejects("m![A], B", "`m!` is a macro, not an axis; put it in braces: `{ m![…] }`", 0..1);
    rejects("A<B>", "`<` is not a mapping operator", 1..2);
}

#[test]
fn term_limit() {
    let mut text = "A,".repeat(MAX_TERMS - 1) + "A";
    assert!(matches!(parse_str(&text), Ok(Mapping::Pair { items }) if items.len() == MAX_TERMS));
    text += ",B";
    rejects(&text, "more than 10000 operands", text.len() - 1..text.len());
}

#[test]
fn depth_limit() {
    let groups = |depth: usize| format!("{}A{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(plain(&groups(MAX_DEPTH)), axis("A"));

    let chain = |length: usize| format!("A{}", " / 1".repeat(length));
    assert_eq!(plain(&chain(MAX_DEPTH)).to_string(), chain(MAX_DEPTH));
    let text = chain(MAX_DEPTH + 1);
    rejects(&text, "nests more than 128 levels deep", text.len() - 3..text.len() - 2);
    assert!(parse_str(&chain(1_000_000)).is_err());

    // Groups and operators add up.
    assert!(parse_str(&format!("[{}]", chain(MAX_DEPTH - 1))).is_ok());
    assert!(parse_str(&format!("[{}]", chain(MAX_DEPTH))).is_err());
    // A list is one level.
    assert!(parse_str(&format!("{}, B", chain(MAX_DEPTH - 1))).is_ok());
    assert!(parse_str(&format!("{}, B", chain(MAX_DEPTH))).is_err());

    // Tokens made by hand do not pass through the limit of `tokenize`.
    let mut tokens = vec![Token::new(TokenKind::Ident("A".into()), ())];
    for _ in 0..=MAX_DEPTH {
        let group = TokenKind::Group { delimiter: crate::Delimiter::Bracket, tokens };
        tokens = vec![Token::<(), String>::new(group, ())];
    }
    assert!(parse(&tokens, ()).is_err());
}

/// A small generator of numbers (Knuth's 64-bit linear congruential one), so that failures repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 40).expect("24 bits fit") % limit
    }

    fn mapping(&mut self, depth: usize) -> Plain {
        match if depth == 0 { self.below(3) } else { self.below(7) } {
            0 => one(),
            1 => axis(["A", "Batch", "S_dec", "M", "x9"][self.below(5)]),
            2 => escape(["T", "Vec<{ 3 }>", "m![A, B / 2]"][self.below(3)]),
            3 | 4 => {
                let symbol = ['/', '%', '=', '#'][self.below(4)];
                let inner = self.mapping(depth - 1);
                match self.below(4) {
                    0 => braced(inner, symbol, ["N", "N * 2", "Self::ROWS"][self.below(3)]),
                    _ => operation(inner, symbol, 1 + self.below(5000)),
                }
            }
            5 => {
                let lead = self.below(3);
                let inner = self.mapping(depth - 1);
                let trail = if lead == 0 { 1 + self.below(9) } else { self.below(3) };
                margin(lead, inner, trail)
            }
            _ => {
                let length = 2 + self.below(3);
                let items: Vec<_> = (0..length).map(|_| self.mapping(depth - 1)).collect();
                pair(items)
            }
        }
    }
}

#[test]
fn printed_mappings_parse_to_themselves() {
    let mut random = Random(7);
    for _ in 0..5000 {
        let mapping = random.mapping(5);
        assert_eq!(plain(&mapping.to_string()), mapping, "{mapping}");
    }
}

#[test]
fn random_text_never_panics() {
    let mut random = Random(11);
    let pieces = [
        "A", "1", "0", "7", "/", "%", "=", "#", "#", "+", ",", "(", ")", "[", "]", "{", "}", " ", "*", "!",
        ":", "_", "é", "\"", ".",
    ];
    for _ in 0..20_000 {
        let length = random.below(12);
        let text: String = (0..length).map(|_| pieces[random.below(pieces.len())]).collect();
        if let Err(error) = parse_str(&text) {
            assert!(
                text.get(error.span.clone()).is_some(),
                "{text}: {:?} is not a range of the text",
                error.span
            );
        }
    }
}
