//! Text that can be built in const evaluation: the compiler builds the text of a refusal where it finds the refusal.
//!
//! `text!` fills a template with strings, numbers, mappings and other texts. A number with its noun, a mapping in normal
//! form and a digit are written as calls of `count`, `factors` and `term`:
//!
//! ```text
//! text!("fetch: a packet {} of {} holds {}", (packet, name, count(bytes, "byte")))
//! text!("{} in {}", (term(pool, &term, size), factors(pool, &factors)))
//! ```

use crate::mapping::{Expr, Factors, Pool, Term, compare, write_term};
use core::cmp::Ordering;

/// The longest text in bytes. Longer text ends in `…`.
pub const CAPACITY: usize = 1536;
const ELLIPSIS: &[u8] = "…".as_bytes();

/// The most letters of a mistyped name that [`distance`] compares.
const MOST_LETTERS: usize = 40;

/// A text of at most [`CAPACITY`] bytes.
#[derive(Clone, Copy)]
pub struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
    full: bool,
}

impl Text {
    /// The empty text.
    pub const fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0, full: false }
    }

    /// The text with `part` after it.
    pub const fn str(mut self, part: &str) -> Self {
        if self.full {
            return self;
        }
        let part = part.as_bytes();
        if self.len + part.len() > CAPACITY - ELLIPSIS.len() {
            self.full = true;
            return self.raw(ELLIPSIS);
        }
        self.raw(part)
    }

    const fn raw(mut self, part: &[u8]) -> Self {
        let (target, _) = self.bytes.split_at_mut(self.len).1.split_at_mut(part.len());
        target.copy_from_slice(part);
        self.len += part.len();
        self
    }

    /// The text with a decimal number after it.
    pub const fn number(self, number: usize) -> Self {
        let mut digits = [0u8; 20];
        let mut start = digits.len();
        let mut rest = number;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        match core::str::from_utf8(digits.split_at(start).1) {
            Ok(text) => self.str(text),
            Err(_) => self,
        }
    }

    /// The text with a number of things after it: `1 byte`, `2 bytes`.
    pub const fn count(self, number: usize, thing: &str) -> Self {
        let text = self.number(number).str(" ").str(thing);
        if number == 1 { text } else { text.str("s") }
    }

    /// The text with a decimal number, which may be negative, after it.
    pub const fn signed(self, number: isize) -> Self {
        if number < 0 {
            self.str("-").number(number.unsigned_abs())
        } else {
            self.number(number.unsigned_abs())
        }
    }

    /// The text with a mapping after it, as `` `m![…]` ``.
    pub const fn mapping(self, expr: &Expr) -> Self {
        expr.notation(self.str("`m![")).str("]`")
    }

    /// The text with a mapping in normal form after it, as `` `m![…]` ``.
    pub const fn factors(self, pool: &Pool, factors: &Factors) -> Self {
        factors.notation(pool, self.str("`m![")).str("]`")
    }

    /// The text with a template after it, in which each part replaces a `{}`.
    pub const fn filled(mut self, template: &str, parts: &[TextPart<'_>]) -> Self {
        let (mut rest, mut k) = (template, 0);
        while k < parts.len()
            && let Some(place) = placeholder(rest)
        {
            let (before, after) = rest.split_at(place);
            self = parts[k].write(self.str(before));
            rest = after.split_at(PLACEHOLDER).1;
            k += 1;
        }
        self.str(rest)
    }

    /// The text as a string.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "text is not UTF-8",
        }
    }
}

/// Value for a `{}` of a template.
#[derive(Clone, Copy)]
pub enum TextPart<'a> {
    /// A string.
    Str(&'a str),
    /// A decimal number.
    Number(usize),
    /// A decimal number, which may be negative.
    Signed(isize),
    /// A number of things: `1 byte`, `2 bytes`.
    Count(usize, &'a str),
    /// A mapping, as `` `m![…]` ``.
    Mapping(&'a Expr),
    /// A mapping in normal form, as `` `m![…]` ``.
    Factors(&'a Pool, &'a Factors),
    /// A digit with its size, as `` `m![…]` ``.
    Term(&'a Pool, &'a Term, usize),
    /// Another text.
    Text(&'a Text),
}

impl TextPart<'_> {
    const fn write(&self, text: Text) -> Text {
        match *self {
            TextPart::Str(part) => text.str(part),
            TextPart::Number(number) => text.number(number),
            TextPart::Signed(number) => text.signed(number),
            TextPart::Count(number, thing) => text.count(number, thing),
            TextPart::Mapping(expr) => text.mapping(expr),
            TextPart::Factors(pool, factors) => text.factors(pool, factors),
            TextPart::Term(pool, term, size) => write_term(text.str("`m!["), pool, term, size).str("]`"),
            TextPart::Text(part) => text.str(part.as_str()),
        }
    }
}

/// A value that `text!` turns into a [`TextPart`] by its type. Each type has a method of its own, because const code
/// has no traits.
pub struct Shown<T>(pub T);

macro_rules! shown {
    ($($type:ty => $part:ident),*) => { $(
        impl<'a> Shown<$type> {
            /// The value as a part of a text.
            pub const fn part(self) -> TextPart<'a> {
                TextPart::$part(self.0)
            }
        }
    )* };
}
shown!(&'a str => Str, usize => Number, isize => Signed, &'a Expr => Mapping, &'a Text => Text);

const PLACEHOLDER: usize = "{}".len();

/// Position of the first `{}` of a template.
const fn placeholder(template: &str) -> Option<usize> {
    let bytes = template.as_bytes();
    each!((k = 1) < bytes.len(), {
        if bytes[k] == b'}' && bytes[k - 1] == b'{' {
            return Some(k - 1);
        }
    });
    None
}

/// True if a template has exactly `parts` places `{}`.
pub const fn takes(template: &str, parts: usize) -> bool {
    let (mut rest, mut k) = (template, 0);
    while let Some(place) = placeholder(rest) {
        rest = rest.split_at(place + PLACEHOLDER).1;
        k += 1;
    }
    k == parts
}

/// A [`Text`] from a template and its values, which may stand in parentheses; works in const code. The template is
/// parsed when the text is made, because most texts are never made. The number of its places is checked when the tests
/// are compiled.
#[doc(hidden)]
#[macro_export]
macro_rules! text {
    // The parts so far, and the values that follow.
    (@ $template:literal [$($part:expr;)*]) => {{
        #[cfg(test)]
        const _: () = assert!(
            $crate::text::takes($template, <[&str]>::len(&[$(stringify!($part)),*])),
            "a template has a place for each part"
        );
        $crate::text::Text::new().filled($template, &[$($part),*])
    }};
    (@ $template:literal [$($done:tt)*] count($($value:expr),+) $(, $($rest:tt)*)?) => {
        $crate::text::text!(@ $template [$($done)* $crate::text::TextPart::Count($($value),+);] $($($rest)*)?)
    };
    (@ $template:literal [$($done:tt)*] factors($($value:expr),+) $(, $($rest:tt)*)?) => {
        $crate::text::text!(@ $template [$($done)* $crate::text::TextPart::Factors($($value),+);] $($($rest)*)?)
    };
    (@ $template:literal [$($done:tt)*] term($($value:expr),+) $(, $($rest:tt)*)?) => {
        $crate::text::text!(@ $template [$($done)* $crate::text::TextPart::Term($($value),+);] $($($rest)*)?)
    };
    (@ $template:literal [$($done:tt)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::text::text!(@ $template [$($done)* $crate::text::Shown($value).part();] $($($rest)*)?)
    };
    ($template:literal, ($($values:tt)*) $(,)?) => { $crate::text::text!(@ $template [] $($values)*) };
    ($template:literal $(, $($values:tt)*)?) => { $crate::text::text!(@ $template [] $($($values)*)?) };
}
#[doc(hidden)]
pub use text;

/// Implements `Display` by the method `name`.
macro_rules! display_name {
    ($type:ident) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// True if two strings are equal, in const code.
pub const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let len = a.len();
    if len != b.len() {
        return false;
    }
    each!(k < len, {
        if a[k] != b[k] {
            return false;
        }
    });
    true
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two names: the distance of a mistyped
/// name from a known one. A wrong case counts half a step; the sum is rounded down. Only the first 40 letters of `a`,
/// which is user input, count.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(MOST_LETTERS).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).map(|j| 2 * j).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![2 * i];
        for j in 1..=b.len() {
            let replace = match (a[i - 1], b[j - 1]) {
                (x, y) if x == y => 0,
                (x, y) if x.eq_ignore_ascii_case(&y) => 1,
                _ => 2,
            };
            let mut steps = (rows[i - 1][j - 1] + replace).min(rows[i - 1][j] + 2).min(row[j - 1] + 2);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                steps = steps.min(rows[i - 2][j - 2] + 2);
            }
            row.push(steps);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()] / 2
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Display for Text {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

impl core::fmt::Debug for Text {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

/// Compares two strings, in const code.
pub const fn order(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut k = 0;
    while k < a.len() && k < b.len() {
        if a[k] != b[k] {
            return compare(a[k] as usize, b[k] as usize);
        }
        k += 1;
    }
    compare(a.len(), b.len())
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words() {
        let text = Text::new().str("got ").number(0).str(", ").number(usize::MAX).str(", ").signed(-7);
        assert_eq!(text.as_str(), format!("got 0, {}, -7", usize::MAX));
    }

    #[test]
    fn a_template_takes_its_parts_in_order() {
        const SIZE: usize = 3;
        const FILLED: Text = text!(
            "{}: {} of {{}, {}{}; {}",
            ("fetch", count(1, "byte"), &Expr::Identity, -7isize, SIZE, &text!("no placeholder"))
        );
        assert_eq!(FILLED.as_str(), "fetch: 1 byte of {`m![1]`, -73; no placeholder");
        assert_eq!(text!("").as_str(), "");
        assert_eq!(text!("{}", "{}").as_str(), "{}");
    }

    #[test]
    fn strings_in_order() {
        let names = ["", "A", "A0", "AB", "B", "\u{ff}"];
        for (i, a) in names.iter().enumerate() {
            assert!(names.iter().enumerate().all(|(j, b)| order(a, b) == i.cmp(&j)), "{a}");
        }
    }

    #[test]
    fn distances_of_names() {
        for (a, b, steps) in [
            ("VISA_SEED", "VISA_SEED", 0),
            ("", "VISA", 4),
            ("VISA", "", 4),
            ("VISA_CHEKS", "VISA_CHECKS", 1),
            ("VISA_SEAD", "VISA_SEED", 1),
            ("VISA_TRACE", "VISA_TARCE", 1),
            ("KH", "Kh", 0),
            ("kh", "KH", 1),
            ("in_w", "OUT_W", 3),
            ("Ä", "A", 1),
        ] {
            assert_eq!(distance(a, b), steps, "{a} and {b}");
        }
        let long = "N".repeat(MOST_LETTERS);
        assert_eq!(distance(&format!("{long}NNN"), &long), 0);
    }

    #[test]
    fn a_text_that_is_too_long_ends_in_an_ellipsis() {
        let mut text = Text::new();
        for _ in 0..CAPACITY {
            text = text.str("ab");
        }
        assert!(text.as_str().ends_with("ab…"));
        assert!(text.as_str().len() <= CAPACITY);
    }
}
