//! Tensors as tables, limited in size: rows of all digits but the last one of the mapping, columns of the last one.

use super::storage::{Layout, axes_of};
use super::{HostTensor, Tensor};
use crate::mapping::{Expr, M, Pool, Term, write_term};
use crate::scalar::{ElementType, Opt, Scalar};
use crate::text::{Text, grouped};
use core::fmt;

/// The most rows and columns of a table. A longer one shows its first ones and the last.
const MOST: [usize; 2] = [12, 8];

/// A digit of a tensor as `A / 4 % 2`, without the number of its values.
pub(super) fn digit(pool: &Pool, term: &Term) -> String {
    write_term(Text::new(), pool, term, term.modulo).to_string()
}

/// A number as a table and a message show it: the shortest text that is read as the same value of its type.
pub(crate) fn number(element: ElementType, code: u32) -> String {
    let value = element.number(code);
    if !element.is_float() {
        return format!("{value}");
    }
    // All float types are parts of `f32`.
    let (value, size) = (value as f32, value.abs());
    if size != 0.0 && size.is_finite() && !(1e-4..1e7).contains(&size) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

/// An element as a table shows it.
pub(super) fn shown<D: Scalar>(element: Opt<D>) -> String {
    match element {
        Opt::Init(value) => number(D::ELEMENT_TYPE, value.to_bits()),
        Opt::Uninit => "-".to_string(),
    }
}

/// The places that are shown of so many, with a gap (`None`) before the last one where some are left out.
fn places(count: usize, most: usize) -> Vec<Option<usize>> {
    if count <= most {
        return (0..count).map(Some).collect();
    }
    (0..most - 1).map(Some).chain([None, Some(count - 1)]).collect()
}

/// The coordinates of a row, as `3, 1`.
fn coordinates(mut row: usize, sizes: &[usize]) -> String {
    let mut all: Vec<String> = Vec::new();
    for size in sizes.iter().rev() {
        all.push((row % size).to_string());
        row /= size;
    }
    all.reverse();
    all.join(", ")
}

/// Writes elements that are listed in the order of a mapping as a table.
fn write_table<D: Scalar>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    expr: &'static Expr,
    all: &[Opt<D>],
) -> fmt::Result {
    let mut pool = Pool::new();
    let layout = Layout::new("table", &mut pool, expr);
    let mut digits: Vec<(String, usize)> =
        axes_of(&layout.digits).map(|(term, size)| (digit(&pool, &term), size)).collect();
    let (column, columns) = digits.pop().unwrap_or_default();
    let columns = columns.max(1);
    let sizes: Vec<usize> = digits.iter().map(|(_, size)| *size).collect();
    let names: Vec<String> = digits.into_iter().map(|(name, _)| name).collect();
    let noun = if all.len() == 1 { "element" } else { "elements" };
    writeln!(f, "{name}<{}, m![{expr}]>, {} {noun}", D::ELEMENT_TYPE, grouped(all.len() as u64))?;
    let (shown_rows, shown_columns) = (places(all.len() / columns, MOST[0]), places(columns, MOST[1]));
    let heading = |place: &Option<usize>| place.map_or("…".to_string(), |place| place.to_string());
    let mut lines =
        vec![[vec![names.join(", "), column], shown_columns.iter().map(heading).collect()].concat()];
    for row in shown_rows {
        let label = row.map_or("…".to_string(), |row| coordinates(row, &sizes));
        let cell = |column: &Option<usize>| match (row, column) {
            (Some(row), Some(column)) => shown(all[row * columns + column]),
            _ => "…".to_string(),
        };
        lines.push([vec![label, String::new()], shown_columns.iter().map(cell).collect()].concat());
    }
    let width = |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    for (k, line) in lines.iter().enumerate() {
        let mut text = String::new();
        for (place, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            // The names of the digits are on the left, like text; numbers end below each other.
            match place {
                0 => text.push_str(&format!("{cell:width$}")),
                1 => text.push_str(&format!(" | {cell:width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        if k > 0 {
            writeln!(f)?;
        }
        f.write_str(text.trim_end())?;
    }
    Ok(())
}

/// A table: rows are the outer axes of the mapping, columns the innermost one, of which long ones are cut. An element that
/// has no value is `-`.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 2, B = 3];
/// let tensor = Tensor::<f32, m![A, B]>::from_buf((0..6).map(|k| Opt::Init(k as f32 / 2.0)).collect());
/// let text = "\
/// Tensor<f32, m![A, B]>, 6 elements
/// A | B    0    1    2
/// 0 |      0  0.5    1
/// 1 |    1.5    2  2.5";
/// assert_eq!(tensor.to_string(), text);
/// ```
impl<D: Scalar, Mapping: M> fmt::Display for Tensor<D, Mapping> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_table(f, "Tensor", Mapping::EXPR, &self.to_buf())
    }
}

/// A table: see [`Tensor`].
impl<D: Scalar, Element: M> fmt::Display for HostTensor<D, Element> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_table(f, "HostTensor", Element::EXPR, &self.to_buf())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{bf16, i4};
    use furiosa_visa_macros::{axes, m};

    axes![A = 40, B = 3, C = 20];

    #[test]
    fn long_tables_are_cut_and_padding_is_left_out() {
        let elements = (0..2400).map(|k| if k == 1 { Opt::Uninit } else { Opt::Init(k) });
        let tensor = HostTensor::<i32, m![A, B # 4, C]>::from_buf(elements.collect());
        let text = tensor.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "HostTensor<i32, m![A, B # 4, C]>, 2 400 elements");
        assert_eq!(lines[1], "A, B  | C     0     1     2     3     4     5     6  …    19");
        assert_eq!(lines[2], "0, 0  |       0     -     2     3     4     5     6  …    19");
        assert_eq!(lines[6], "1, 1  |      80    81    82    83    84    85    86  …    99");
        assert_eq!(lines[13], "…     |       …     …     …     …     …     …     …  …     …");
        assert_eq!(lines[14], "39, 2 |    2380  2381  2382  2383  2384  2385  2386  …  2399");
        assert_eq!(lines.len(), 15);
        // One row and one column more than fit whole.
        assert_eq!(places(12, 12).len(), 12);
        assert_eq!(places(13, 12)[10..], [Some(10), None, Some(12)]);
    }

    #[test]
    fn numbers_are_short_and_exact() {
        let of = |value: f32| number(ElementType::F32, value.to_bits());
        assert_eq!(
            [0.1, -0.0, 1e-5, 3e8, f32::NAN, f32::INFINITY].map(of),
            ["0.1", "-0", "1e-5", "3e8", "NaN", "inf"]
        );
        let tensor = Tensor::<bf16, m![1]>::from_buf(vec![Opt::Init(bf16::from_f32(0.1))]);
        assert_eq!(tensor.to_string(), "Tensor<bf16, m![1]>, 1 element\n |             0\n |   0.100097656");
        let tensor = Tensor::<i4, m![B]>::from_buf([7, -8, 0].map(|k| Opt::Init(i4::from_i32(k))).to_vec());
        assert_eq!(tensor.to_string(), "Tensor<i4, m![B]>, 3 elements\n | B  0   1  2\n |    7  -8  0");
    }
}
