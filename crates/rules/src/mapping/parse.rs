//! Mappings from text, for tools: the grammar of `m![…]` and a table of axes, at run time.
//!
//! The parser of `m!` reads the text, so it is refused with the same words. Two checks that the macro leaves to the
//! compiler are made here: axes must exist, and sizes must be defined.
//!
//! ```
//! use furiosa_visa_std::mapping::parse::{Axes, parse_mapping};
//! let axes = Axes::parse("N=4, C=3")?;
//! let mapping = parse_mapping("[N, C] # 16", &axes)?;
//! assert_eq!(mapping.checked_size(), Ok(16));
//!
//! let error = parse_mapping("N, Q", &axes).unwrap_err();
//! assert_eq!(error.to_string(), "no axis is called `Q`; the axes are `N`, `C`\n\n  N, Q\n     ^");
//! # Ok::<(), furiosa_visa_std::mapping::parse::ParseError>(())
//! ```

use super::expr::Expr;
use super::index::Index;
use super::normal::factorize;
use super::term::{Axis, Ident, Pool};
use crate::error::PlanError;
use crate::text::distance;
use furiosa_visa_grammar::{Mapping, Number, Operator, parse_str};
use std::fmt;
use std::ops::Range;

/// The most positions of a mapping, and of every part of it. Strides of a sequencer are signed 32-bit numbers, and
/// products of two sizes stay far below 64 bits.
pub const MAX_POSITIONS: usize = 1 << 31;
/// The most operands of a mapping. A mapping has at most [`FACTORS`](super::FACTORS) digits; operands beyond them have
/// one position, or are digits that complete each other.
pub const MAX_OPERANDS: usize = 64;
/// The most axes of a table.
pub const MAX_AXES: usize = 64;
/// The most bytes of a name.
const MAX_NAME: usize = 40;

/// Reason for a refusal of a text, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Text of the message: the problem, the allowed values and a correction.
    pub message: String,
    /// The text that was read.
    pub text: String,
    /// The offending bytes of the text.
    pub place: Range<usize>,
}

impl ParseError {
    fn new(message: impl Into<String>, text: &str, place: Range<usize>) -> Self {
        Self { message: printable(&message.into()), text: text.to_string(), place }
    }
}

/// Makes a message that quotes a user's text printable: without control characters, and cut in the middle if it is
/// long.
fn printable(message: &str) -> String {
    const ENDS: [usize; 2] = [200, 400];
    let characters: Vec<char> =
        message.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if characters.len() <= ENDS[0] + ENDS[1] {
        return characters.into_iter().collect();
    }
    let (head, tail) = (&characters[..ENDS[0]], &characters[characters.len() - ENDS[1]..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Characters of the text shown before and after the start of the offending place.
const SHOWN: usize = 44;

/// The message, then the line of the text with carets under the offending place. Long lines are cut.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let start = self.text.char_indices().filter(|(at, _)| *at < self.place.start).count();
        let length = self.text.char_indices().filter(|(at, _)| self.place.contains(at)).count().max(1);
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let from = start.saturating_sub(SHOWN);
        let line: String = self.text.chars().skip(from).take(start - from + SHOWN).map(visible).collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if self.text.chars().nth(start + SHOWN).is_some() { "…" } else { "" };
        let column = start - from + before.chars().count();
        write!(f, "\n\n  {before}{line}{after}\n  {:column$}{}", "", "^".repeat(length.min(SHOWN)))
    }
}

impl std::error::Error for ParseError {}

/// The axes that mappings may name.
///
/// Names live as long as the program: a table is made once, from the arguments of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    axes: Vec<Axis>,
}

impl Axes {
    /// Reads `N=4, C=3`. An empty text is a table without axes.
    ///
    /// # Errors
    ///
    /// Refuses text other than names and sizes, names that `axes!` refuses, a name twice, a size of 0 or of more than
    /// [`MAX_POSITIONS`], and more than [`MAX_AXES`] axes.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut axes: Vec<Axis> = Vec::new();
        if text.trim().is_empty() {
            return Ok(Self { axes });
        }
        let mut start = 0;
        for item in text.split(',') {
            let place = start..start + item.len();
            start += item.len() + 1;
            if axes.len() == MAX_AXES {
                let message =
                    format!("there are more than {MAX_AXES} axes; name only those that the mappings use");
                return Err(ParseError::new(message, text, place));
            }
            let axis = parse_axis(text, place.clone())?;
            if axes.iter().any(|other| other.name == axis.name) {
                let message = format!("the axis `{}` has two sizes; give it one", axis.name);
                return Err(ParseError::new(message, text, trimmed(text, place)));
            }
            axes.push(axis);
        }
        Ok(Self { axes })
    }

    /// The axes, in the order in which they were written.
    pub fn as_slice(&self) -> &[Axis] {
        &self.axes
    }

    fn find(&self, name: &str) -> Option<Axis> {
        self.axes.iter().find(|axis| axis.name.as_str() == name).copied()
    }

    /// The message for a name that is not in the table.
    fn unknown(&self, name: &str) -> String {
        let near = self.axes.iter().map(|axis| (distance(name, axis.name.as_str()), axis.name)).min();
        let name: String = name.chars().take(MAX_NAME).collect();
        if self.axes.is_empty() {
            return format!("no axis is called `{name}`; there are no axes, declare it: `--axes {name}=4`");
        }
        if let Some((steps, near)) = near
            && steps <= 1 + name.chars().count() / 4
            && steps < name.chars().count()
        {
            return format!("no axis is called `{name}`; did you mean `{near}`?");
        }
        let names: Vec<String> = self.axes.iter().map(|axis| format!("`{}`", axis.name)).collect();
        format!("no axis is called `{name}`; the axes are {}", names.join(", "))
    }
}

fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let item = &text[place.clone()];
    let start = place.start + (item.len() - item.trim_start().len());
    let end = start + item.trim().len();
    start..end
}

fn parse_axis(text: &str, place: Range<usize>) -> Result<Axis, ParseError> {
    let item = &text[place.clone()];
    let refuse =
        |message: String, place: Range<usize>| Err(ParseError::new(message, text, trimmed(text, place)));
    if item.trim().is_empty() {
        return refuse("an axis is missing; write a name and a size, for example `A=8`".to_string(), place);
    }
    let Some(equals) = item.find('=') else {
        return refuse("an axis is a name and a size; write for example `A=8`".to_string(), place);
    };
    let (name_place, size_place) = (place.start..place.start + equals, place.start + equals + 1..place.end);
    let (name, size) = (item[..equals].trim(), item[equals + 1..].trim());
    let starts = name.starts_with(|c: char| c.is_ascii_uppercase());
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let message =
            "an axis name starts with an upper-case letter and goes on with letters, digits and `_` (ASCII)";
        return refuse(format!("{message}; write for example `A=8`"), name_place);
    }
    if name.len() > MAX_NAME {
        return refuse(
            format!("an axis name has at most {MAX_NAME} letters; choose a shorter one"),
            name_place,
        );
    }
    let digits: String = size.chars().filter(|&c| c != '_').collect();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("the size of `{name}` must be a plain number; write for example `{name}=8`");
        return refuse(message, if size.is_empty() { place } else { size_place });
    }
    match digits.parse::<usize>() {
        Ok(0) => refuse(format!("the size of `{name}` is 0; an axis has at least one position"), size_place),
        Ok(size) if size <= MAX_POSITIONS => {
            let name: &'static str = String::leak(name.to_string());
            Ok(Axis { name: Ident::new(name), size })
        }
        _ => refuse(
            format!("the size of `{name}` is too large; an axis has at most {MAX_POSITIONS} positions"),
            size_place,
        ),
    }
}

/// Reads a mapping, without the `m![` and `]` around it.
///
/// The expression lives as long as the program: a tool reads a handful of mappings from its arguments.
///
/// # Errors
///
/// Refuses text that the grammar refuses, names that are not axes, `{…}`, sizes that are not defined, more than
/// [`MAX_POSITIONS`] positions in any part, and more than [`MAX_OPERANDS`] operands or [`FACTORS`](super::FACTORS)
/// digits.
pub fn parse_mapping(text: &str, axes: &Axes) -> Result<&'static Expr, ParseError> {
    let tree = parse_str(text).map_err(|error| ParseError::new(error.message, text, error.span))?;
    let mut reader = Reader { text, axes, operands: 0 };
    let (expr, _) = reader.expr(&tree)?;
    let mut pool = Pool::new();
    let factors = factorize(&mut pool, expr);
    if let Some(problem) = factors.problem() {
        let error = PlanError::mapping("m![…]", problem);
        return Err(ParseError::new(error.message(), text, 0..text.len()));
    }
    Ok(expr)
}

/// The coordinates at a position of a mapping, or `None` for padding and past the end: [`M::map`](super::M::map) of an
/// expression.
pub fn index_at(expr: &'static Expr, position: usize) -> Option<Index> {
    Index::at(expr, position)
}

type Tree = Mapping<Range<usize>, String>;

/// Builds an expression with known sizes from the tree of the grammar.
struct Reader<'a> {
    text: &'a str,
    axes: &'a Axes,
    operands: usize,
}

impl Reader<'_> {
    fn refuse<T>(&self, message: impl Into<String>, place: &Range<usize>) -> Result<T, ParseError> {
        Err(ParseError::new(message, self.text, place.clone()))
    }

    /// The expression and the number of its positions.
    fn expr(&mut self, tree: &Tree) -> Result<(&'static Expr, usize), ParseError> {
        match tree {
            Mapping::One { span } => {
                self.operand(span)?;
                Ok((&Expr::Identity, 1))
            }
            Mapping::Axis { name, span } => {
                self.operand(span)?;
                match self.axes.find(name) {
                    Some(axis) => Ok((leaked(Expr::Symbol(axis)), axis.size)),
                    None => self.refuse(self.axes.unknown(name), span),
                }
            }
            Mapping::Escape { span, .. } => self.refuse(
                "a type in braces exists only while compiling; write the mapping itself in its place, in `[…]`",
                span,
            ),
            Mapping::Operation { operator, inner, n, span, n_span } => {
                let (inner, size) = self.expr(inner)?;
                let n = self.number(n, n_span)?;
                let expr = match operator {
                    Operator::Stride => Expr::Stride(inner, n),
                    Operator::Modulo => Expr::Modulo(inner, n),
                    Operator::Resize => Expr::Resize(inner, n),
                    Operator::Padding => Expr::Padding(inner, n),
                };
                match expr.checked_step(size, n) {
                    Ok(size) => {
                        self.limit(size, &(span.start..n_span.end))?;
                        Ok((leaked(expr), size))
                    }
                    Err(problem) => self.refuse(problem.as_str(), &(span.start..n_span.end)),
                }
            }
            Mapping::Margin { lead, inner, trail, span } => {
                let (inner, size) = self.expr(inner)?;
                let (lead, trail) = (self.number(lead, span)?, self.number(trail, span)?);
                let expr = Expr::Margin(inner, lead, trail);
                let place = place_of(tree);
                match expr.checked_margin(size, lead, trail) {
                    Ok(size) => {
                        self.limit(size, &place)?;
                        Ok((leaked(expr), size))
                    }
                    Err(problem) => self.refuse(problem.as_str(), span),
                }
            }
            Mapping::Pair { items } => {
                let mut found: Option<(&'static Expr, usize)> = None;
                // Members are read in the order of the text, so that the first mistake is reported.
                let read: Vec<_> = items.iter().map(|item| self.expr(item)).collect::<Result<_, _>>()?;
                for ((left, left_size), item) in read.into_iter().zip(items).rev() {
                    found = Some(match found {
                        None => (left, left_size),
                        Some((right, right_size)) => {
                            let expr = Expr::Pair(left, right);
                            let place = place_of(item);
                            match expr.checked_pair(left_size, right_size) {
                                Ok(size) => {
                                    self.limit(size, &place)?;
                                    (leaked(expr), size)
                                }
                                Err(problem) => return self.refuse(problem.as_str(), &place),
                            }
                        }
                    });
                }
                Ok(found.unwrap_or((&Expr::Identity, 1)))
            }
        }
    }

    fn number(&self, number: &Number<String>, place: &Range<usize>) -> Result<usize, ParseError> {
        match number {
            Number::Plain(n) => Ok(*n),
            Number::Braced(content) => self.refuse(
                format!("the constant `{{ {content} }}` has a value only while compiling; write the number in its place"),
                place,
            ),
        }
    }

    fn operand(&mut self, place: &Range<usize>) -> Result<(), ParseError> {
        self.operands += 1;
        if self.operands > MAX_OPERANDS {
            let message = format!(
                "the mapping has more than {MAX_OPERANDS} operands; a tensor needs a handful, write fewer"
            );
            return self.refuse(message, place);
        }
        Ok(())
    }

    fn limit(&self, size: usize, place: &Range<usize>) -> Result<(), ParseError> {
        if size > MAX_POSITIONS {
            let message = format!(
                "{size} positions are too many; a mapping has at most {MAX_POSITIONS}, because strides are 32-bit numbers"
            );
            return self.refuse(message, place);
        }
        Ok(())
    }
}

fn leaked(expr: Expr) -> &'static Expr {
    Box::leak(Box::new(expr))
}

/// The bytes of a tree, without the brackets around it.
fn place_of(tree: &Tree) -> Range<usize> {
    match tree {
        Mapping::One { span } | Mapping::Axis { span, .. } | Mapping::Escape { span, .. } => span.clone(),
        Mapping::Operation { inner, n_span, .. } => place_of(inner).start..n_span.end,
        Mapping::Margin { lead, inner, span, .. } => {
            let inner = place_of(inner);
            if lead.is_none() { inner.start..span.end } else { span.start..inner.end }
        }
        Mapping::Pair { items } => match (items.first(), items.last()) {
            (Some(first), Some(last)) => place_of(first).start..place_of(last).end,
            _ => 0..0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Axes {
        Axes::parse("N=4, C=3, Height = 1_024, W=8").expect("is a table")
    }

    #[test]
    fn the_same_expression_as_the_macro() {
        use crate::mapping::M;
        use crate::prelude::{axes, m};
        axes![N = 4, C = 3, W = 8];
        let read = |text| parse_mapping(text, &self::axes()).expect("is a mapping");
        assert_eq!(read("N, [C, W / 2] # 16 = 3"), <m![N, [C, W / 2] # 16 = 3]>::EXPR);
        assert_eq!(read("N #{!} 8, C #{*} { 4 },"), <m![N # 8, C # 4]>::EXPR);
        assert_eq!(read("1"), <m![1]>::EXPR);
        assert_eq!(read("[N, C], W"), <m![[N, C], W]>::EXPR);
        assert_eq!(index_at(read("W / 4, W % 4"), 5).map(|index| index.to_string()), Some("i![W: 5]".into()));
        let sizes: Vec<usize> = read("N, [C, W / 2]").members().iter().map(|(_, size)| *size).collect();
        assert_eq!(sizes, [4, 3, 4]);
    }

    #[track_caller]
    fn refused(text: &str, message: &str, place: Range<usize>) {
        let error = parse_mapping(text, &axes()).expect_err("is refused");
        assert!(error.message.contains(message), "{error}");
        assert_eq!(error.place, place, "{error}");
    }

    #[test]
    fn refusals() {
        refused("N, Heigth", "no axis is called `Heigth`; did you mean `Height`?", 3..9);
        refused("n", "did you mean `N`?", 0..1);
        refused("N, X", "no axis is called `X`; the axes are `N`, `C`, `Height`, `W`", 3..4);
        refused("N / 0", "`/ 0` would take", 4..5);
        refused("N * 2", "`*` is not a mapping operator", 2..3);
        refused("W, N / 3", "3 does not divide 4", 5..8);
        refused("{ Other }", "exists only while compiling", 0..9);
        refused(
            "N # { ROWS }, C",
            "the constant `{ ROWS }` has a value only while compiling; write the number",
            4..12,
        );
        refused("C + # { ROWS }", "has a value only while compiling", 2..3);
        refused("N # 18446744073709551616", "is too large", 4..24);
        refused("1 # 4294967296", "4294967296 positions are too many", 2..14);
        refused("C, N # 18446744073709551615", "positions are too many", 5..27);
        // Dead positions with their operand: from the first `#` on, or up to the `+`.
        refused("# 4294967296 + N, C", "4294967300 positions are too many", 0..16);
        refused("C, N + # 4294967296", "4294967300 positions are too many", 3..6);
        refused("N # 2147483648, N # 2147483648", "4611686018427387904 positions are too many", 0..14);
        refused(&vec!["N"; 10_000].join(","), "more than 64 operands", 128..129);
        refused(&vec!["N"; 10_001].join(","), "more than 10000 operands", 20_000..20_001);
        refused(&vec!["N % 2 # 3"; 14].join(", "), "more than 24 digits", 0..152);
    }

    #[test]
    fn axes_that_are_refused() {
        for (text, message, place) in [
            ("A", "an axis is a name and a size", 0..1),
            ("A=4,,B=2", "an axis is missing", 4..4),
            ("A=4, b=2", "starts with an upper-case letter", 5..6),
            ("A=0", "the size of `A` is 0", 2..3),
            ("A=", "must be a plain number", 0..2),
            ("A=-1", "must be a plain number", 2..4),
            ("A=4,A=5", "has two sizes", 4..7),
            ("A=2147483649", "is too large", 2..12),
            ("A=99999999999999999999", "is too large", 2..22),
            ("Ä=4", "starts with an upper-case letter", 0..2),
        ] {
            let error = Axes::parse(text).expect_err("is refused");
            assert!(error.message.contains(message), "{error}");
            assert_eq!(error.place, place, "{text}");
        }
        assert_eq!(Axes::parse(" ").expect("is empty").as_slice(), []);
        let many: Vec<String> = (0..65).map(|k| format!("A{k}=2")).collect();
        assert!(Axes::parse(&many.join(",")).is_err());
    }

    #[test]
    fn messages_stay_printable() {
        let error = parse_mapping(&format!("N / {}", "9".repeat(10_000)), &axes()).expect_err("is refused");
        assert!(error.message.ends_with("is too large; a size is at most 18446744073709551615"), "{error}");
        assert!(error.to_string().chars().count() < 800);
        let error = parse_mapping("N \u{0} 2", &axes()).expect_err("is refused");
        assert!(error.message.starts_with("`\u{fffd}` is not a mapping operator"), "{error}");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}, Q", vec!["N"; 50].join(", "));
        let error = parse_mapping(&text, &axes()).expect_err("is refused").to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[2].chars().count(), 2 + 1 + SHOWN + 1);
        assert_eq!(lines[2].chars().position(|c| c == 'Q'), lines[3].chars().position(|c| c == '^'));
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod edge_tests;
