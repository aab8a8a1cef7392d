//! A mapping expression as a value.

use super::term::Axis;
use crate::text::Text;

/// A mapping expression: the content of `m![…]` as plain data that const code can walk.
///
/// `M::EXPR` of a mapping type is such a value. Printed in `m![…]` notation, without the `m!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `1`: one position, no coordinates.
    Identity,
    /// `A`: every position of an axis.
    Symbol(Axis),
    /// `e / n`: every n-th position.
    Stride(&'static Expr, usize),
    /// `e % n`: the first n positions of a period.
    Modulo(&'static Expr, usize),
    /// `e = n`: the first n positions.
    Resize(&'static Expr, usize),
    /// `e # n`: n positions, those after the end of `e` without an element.
    Padding(&'static Expr, usize),
    /// `# l + e + # r`: `l` positions without an element, those of `e`, and `r` without an element.
    Margin(&'static Expr, usize, usize),
    /// `a, b`: every position of `a`, and for each of them every position of `b`.
    Pair(&'static Expr, &'static Expr),
}

/// Name of the expression of a mapping type where no `M` is meant.
pub type Mapping = Expr;

impl Expr {
    /// The number of positions, padding included, or the problem of the expression.
    pub const fn checked_size(&self) -> Result<usize, Text> {
        match self.size() {
            0 => self.problem_or_size(),
            size => Ok(size),
        }
    }

    /// The number of positions of an expression without a problem, otherwise 0.
    pub const fn size(&self) -> usize {
        match self {
            Expr::Identity => 1,
            Expr::Symbol(axis) => axis.size,
            Expr::Stride(inner, _)
            | Expr::Modulo(inner, _)
            | Expr::Resize(inner, _)
            | Expr::Padding(inner, _)
            | Expr::Margin(inner, ..) => self.size_over(inner.size(), 1),
            Expr::Pair(left, right) => self.size_over(left.size(), right.size()),
        }
    }

    /// [`Self::size`] with the sizes of the operands, 0 for one with a problem. Of one operand, the second is 1.
    pub(super) const fn size_over(&self, left: usize, right: usize) -> usize {
        match self {
            _ if left == 0 || right == 0 => 0,
            Expr::Identity => 1,
            Expr::Symbol(axis) => axis.size,
            Expr::Stride(_, 0) | Expr::Modulo(_, 0) => 0,
            Expr::Stride(_, n) if left.is_multiple_of(*n) => left / *n,
            Expr::Modulo(_, n) if left.is_multiple_of(*n) => *n,
            Expr::Stride(..) | Expr::Modulo(..) => 0,
            Expr::Padding(_, n) if *n < left => 0,
            Expr::Resize(_, n) | Expr::Padding(_, n) => *n,
            Expr::Margin(_, lead, trail) => match left.checked_add(*lead) {
                Some(size) => match size.checked_add(*trail) {
                    Some(size) => size,
                    None => 0,
                },
                None => 0,
            },
            Expr::Pair(..) if right <= usize::MAX / left => left * right,
            Expr::Pair(..) => 0,
        }
    }

    /// As [`Self::checked_size`], with a text at every step, which is slow in const code.
    const fn problem_or_size(&self) -> Result<usize, Text> {
        match self {
            Expr::Identity => Ok(1),
            Expr::Symbol(axis) => {
                if axis.size == 0 {
                    return Err(self.refusal(&text!("an axis needs at least one position")));
                }
                Ok(axis.size)
            }
            Expr::Stride(inner, n)
            | Expr::Modulo(inner, n)
            | Expr::Resize(inner, n)
            | Expr::Padding(inner, n) => match inner.checked_size() {
                Err(problem) => Err(problem),
                Ok(size) => self.checked_step(size, *n),
            },
            Expr::Margin(inner, lead, trail) => match inner.checked_size() {
                Err(problem) => Err(problem),
                Ok(size) => self.checked_margin(size, *lead, *trail),
            },
            Expr::Pair(left, right) => match (left.checked_size(), right.checked_size()) {
                (Ok(left), Ok(right)) => self.checked_pair(left, right),
                (Err(problem), _) | (_, Err(problem)) => Err(problem),
            },
        }
    }

    /// The size of this operator over an operand of `size` positions.
    pub const fn checked_step(&self, size: usize, n: usize) -> Result<usize, Text> {
        let problem = match self {
            _ if n == 0 => text!("the number after the operator must be at least 1"),
            Expr::Stride(..) | Expr::Modulo(..) if !size.is_multiple_of(n) => text!(
                "{} size must divide the original size, but {} does not divide {}; help: pad the operand with `#` first",
                (if let Expr::Stride(..) = self { "Stride" } else { "Modulo" }, n, size),
            ),
            Expr::Padding(..) if n < size => text!(
                "padding is the size after padding, and {} is less than the {} positions that are there; help: `= n` cuts",
                (n, size),
            ),
            Expr::Stride(..) => return Ok(size / n),
            _ => return Ok(n),
        };
        Err(self.refusal(&problem))
    }

    /// The size of `size` positions with `lead` before and `trail` after them.
    pub const fn checked_margin(&self, size: usize, lead: usize, trail: usize) -> Result<usize, Text> {
        if let Some(size) = size.checked_add(lead)
            && let Some(size) = size.checked_add(trail)
        {
            return Ok(size);
        }
        let problem = text!(
            "{} plus {} plus {} positions do not fit into 64 bits; help: use less padding",
            (lead, size, trail),
        );
        Err(self.refusal(&problem))
    }

    /// The size of a pair of operands of these sizes.
    pub const fn checked_pair(&self, left: usize, right: usize) -> Result<usize, Text> {
        if let Some(size) = left.checked_mul(right) {
            return Ok(size);
        }
        let problem = text!(
            "{} times {} positions do not fit into 64 bits; help: use a smaller axis or padding",
            (left, right),
        );
        Err(self.refusal(&problem))
    }

    const fn refusal(&self, problem: &Text) -> Text {
        text!("mapping {}: {}", (self, problem))
    }

    /// True if the expression names the axis.
    pub const fn mentions(&self, axis: &Axis) -> bool {
        match self {
            Expr::Identity => false,
            Expr::Symbol(symbol) => symbol.is(axis),
            Expr::Stride(inner, _)
            | Expr::Modulo(inner, _)
            | Expr::Resize(inner, _)
            | Expr::Padding(inner, _)
            | Expr::Margin(inner, ..) => inner.mentions(axis),
            Expr::Pair(left, right) => left.mentions(axis) || right.mentions(axis),
        }
    }

    /// The members of a list, outermost first, with their sizes. Another expression is a list of itself.
    pub fn members(&'static self) -> Vec<(&'static Expr, usize)> {
        match self {
            Expr::Pair(left, right) => [left.members(), right.members()].concat(),
            _ => vec![(self, self.checked_size().unwrap_or(1))],
        }
    }

    /// Writes the expression after `text` in `m![…]` notation, without the `m![` and `]`.
    pub const fn notation(&self, text: Text) -> Text {
        match self {
            Expr::Identity => text.str("1"),
            Expr::Symbol(axis) => text.str(axis.name.as_str()),
            Expr::Stride(inner, n) => inner.operand(text).str(" / ").number(*n),
            Expr::Modulo(inner, n) => inner.operand(text).str(" % ").number(*n),
            Expr::Resize(inner, n) => inner.operand(text).str(" = ").number(*n),
            Expr::Padding(inner, n) => inner.operand(text).str(" # ").number(*n),
            Expr::Margin(inner, lead, trail) => {
                let text = if *lead > 0 { text.str("# ").number(*lead).str(" + ") } else { text };
                let text = inner.operand(text);
                if *trail > 0 { text.str(" + # ").number(*trail) } else { text }
            }
            Expr::Pair(left, right) => {
                let text = if let Expr::Pair(..) = left { left.operand(text) } else { left.notation(text) };
                right.notation(text.str(", "))
            }
        }
    }

    const fn operand(&self, text: Text) -> Text {
        match self {
            Expr::Pair(..) | Expr::Margin(..) => self.notation(text.str("[")).str("]"),
            _ => self.notation(text),
        }
    }
}

impl core::fmt::Display for Expr {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.notation(Text::new()).as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Ident;

    const A: &Expr = &Expr::Symbol(Axis { name: Ident::new("A"), size: 12 });

    fn problem(expr: &Expr) -> String {
        expr.checked_size().expect_err("is refused").to_string()
    }

    #[test]
    fn sizes() {
        assert_eq!(Expr::Stride(A, 4).checked_size(), Ok(3));
        assert_eq!(Expr::Modulo(A, 4).checked_size(), Ok(4));
        assert_eq!(Expr::Padding(A, 12).checked_size(), Ok(12));
        assert_eq!(Expr::Resize(A, 13).checked_size(), Ok(13));
        assert_eq!(Expr::Pair(A, &Expr::Stride(A, 6)).checked_size(), Ok(24));
        assert_eq!(Expr::Margin(A, 2, 4).checked_size(), Ok(18));
        assert_eq!(Expr::Margin(A, 0, 0).checked_size(), Ok(12));
    }

    #[test]
    fn margins_are_written_as_they_are_read() {
        const MARGIN: &Expr = &Expr::Margin(A, 2, 4);
        const PAIR: &Expr = &Expr::Pair(MARGIN, &Expr::Margin(&Expr::Pair(A, A), 1, 0));
        assert_eq!(PAIR.to_string(), "# 2 + A + # 4, # 1 + [A, A]");
        assert_eq!(Expr::Stride(MARGIN, 6).to_string(), "[# 2 + A + # 4] / 6");
        assert_eq!(Expr::Margin(MARGIN, 0, 3).to_string(), "[# 2 + A + # 4] + # 3");
        assert_eq!(Expr::Margin(&Expr::Stride(A, 6), 0, 0).to_string(), "A / 6");
    }

    #[test]
    fn refusals() {
        let stride = problem(&Expr::Stride(A, 5));
        assert!(
            stride.contains("`m![A / 5]`: Stride size must divide the original size, but 5 does not"),
            "{stride}"
        );
        let modulo = problem(&Expr::Modulo(A, 5));
        assert!(
            modulo.contains("`m![A % 5]`: Modulo size must divide the original size, but 5 does not"),
            "{modulo}"
        );
        let padding = problem(&Expr::Padding(A, 11));
        assert!(padding.contains("11 is less than the 12 positions"), "{padding}");
        for zero in [Expr::Stride(A, 0), Expr::Modulo(A, 0), Expr::Resize(A, 0), Expr::Padding(A, 0)] {
            assert!(problem(&zero).contains("must be at least 1"));
        }
        let huge = Expr::Padding(A, 1 << 62);
        let huge: &'static Expr = Box::leak(Box::new(huge));
        let product = problem(&Expr::Pair(A, huge));
        assert!(product.contains("12 times 4611686018427387904 positions do not fit"), "{product}");
        let margin = problem(&Expr::Margin(A, 1, usize::MAX - 12));
        assert!(margin.contains("1 plus 12 plus 18446744073709551603 positions do not fit"), "{margin}");
        assert!(problem(&Expr::Margin(huge, usize::MAX, 0)).contains("do not fit"));
        assert!(problem(&Expr::Margin(&Expr::Stride(A, 5), 1, 1)).contains("`m![A / 5]`"));
        let inside: &'static Expr = Box::leak(Box::new(Expr::Stride(A, 5)));
        assert!(problem(&Expr::Pair(inside, A)).contains("`m![A / 5]`"));
        let empty = Expr::Symbol(Axis { name: Ident::new("A"), size: 0 });
        assert!(problem(&empty).contains("at least one position"));
    }
}
