//! Text that can be built in const evaluation: what a refusal says is made where it is found, by the compiler.

use crate::mapping::{Expr, Factors, Pool, compare};
use core::cmp::Ordering;

/// The longest text in bytes. What does not fit ends in `…`.
pub const CAPACITY: usize = 1536;
const ELLIPSIS: &[u8] = "…".as_bytes();

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

    /// The text as a string.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "text is not UTF-8",
        }
    }
}

/// Whether two strings are equal, in const code.
pub const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut k = 0;
    while k < a.len() {
        if a[k] != b[k] {
            return false;
        }
        k += 1;
    }
    true
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

/// Which of two strings comes first, in const code.
pub(crate) const fn order(a: &str, b: &str) -> Ordering {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words() {
        let text = Text::new().str("got ").number(0).str(", ").number(usize::MAX).str(", ").signed(-7);
        assert_eq!(text.as_str(), format!("got 0, {}, -7", usize::MAX));
    }

    #[test]
    fn strings_in_order() {
        let names = ["", "A", "A0", "AB", "B", "\u{ff}"];
        for (i, a) in names.iter().enumerate() {
            assert!(names.iter().enumerate().all(|(j, b)| order(a, b) == i.cmp(&j)), "{a}");
        }
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
