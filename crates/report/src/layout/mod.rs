//! A mapping as a picture: the coordinates at each position, as text or as a drawing.
//!
//! ```
//! use furiosa_visa_report::layout::Layout;
//! use furiosa_visa_std::mapping::M;
//! use furiosa_visa_std::prelude::*;
//! axes![A = 3];
//! let layout = Layout::new(<m![A # 4]>::EXPR, None)?;
//! assert!(layout.grid().ends_with("       0 |  0  1  2  ·\n"), "{}", layout.grid());
//! assert!(layout.svg(800).expect("4 cells").starts_with("<svg"));
//! # Ok::<(), String>(())
//! ```

mod grid;
mod svg;

use furiosa_visa_rules::mapping::{Axis, Expr, Index};

/// A mapping with the data that both drawings need.
#[derive(Debug)]
pub struct Layout {
    /// The mapping.
    pub expr: &'static Expr,
    /// Positions, padding included.
    pub size: usize,
    /// The axes in the order of their first use.
    pub axes: Vec<Axis>,
    /// The members with their sizes, outermost first.
    pub members: Vec<(&'static Expr, usize)>,
    /// Cells per row, if the reader has a wish.
    asked: Option<usize>,
}

impl Layout {
    /// The layout of a mapping. `asked`: cells per row, if the reader has a wish.
    ///
    /// # Errors
    /// The problem of a mapping whose size is not defined.
    pub fn new(expr: &'static Expr, asked: Option<usize>) -> Result<Self, String> {
        let size = expr.checked_size().map_err(|problem| problem.to_string())?;
        let mut axes = Vec::new();
        collect_axes(expr, &mut axes);
        Ok(Self { expr, size, axes, members: expr.members(), asked })
    }

    /// The layout as text, a row of cells per line.
    pub fn grid(&self) -> String {
        grid::draw(self)
    }

    /// The layout as a drawing: cells coloured by the outermost digit. `width`: pixels that a row may take, more or less.
    ///
    /// # Errors
    /// A refusal of more cells than can be seen.
    pub fn svg(&self, width: usize) -> Result<String, String> {
        svg::draw(self, width)
    }

    /// The coordinates at a position, or `None` for padding.
    pub fn label(&self, position: usize) -> Option<String> {
        let index = Index::at(self.expr, position)?;
        let value = |axis: &Axis| index.ident_value(axis.name).ok().map(|value| value.to_string());
        let values: Option<Vec<String>> = self.axes.iter().map(value).collect();
        Some(if self.axes.is_empty() { "x".to_string() } else { values?.join(",") })
    }

    /// Characters of the longest possible label.
    pub fn label_width(&self) -> usize {
        let digits = |axis: &Axis| (axis.size - 1).to_string().len();
        (self.axes.iter().map(digits).sum::<usize>() + self.axes.len().saturating_sub(1)).max(1)
    }

    /// The content of the cells, in words.
    pub fn cells(&self) -> String {
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        if names.is_empty() {
            "x is an element".to_string()
        } else {
            format!("cells hold {}", names.join(","))
        }
    }

    /// Number of values of the innermost member that has several.
    pub fn innermost(&self) -> usize {
        self.members.iter().rev().map(|(_, size)| *size).find(|size| *size > 1).unwrap_or(1)
    }

    /// Cells per row if at most `most` fit: the innermost member, or a divisor of it. A narrow member is joined with
    /// the next ones while there are many more rows than columns.
    pub fn columns(&self, most: usize) -> usize {
        if let Some(asked) = self.asked {
            return asked;
        }
        let most = most.max(4);
        let mut columns = 1;
        for (_, member) in self.members.iter().rev() {
            if columns > 1 && self.size / columns <= 4 * columns {
                break;
            }
            let room = most / columns;
            let part = largest_divisor(*member, room);
            columns *= if columns == 1 && part < 4 && *member > most { most.min(*member) } else { part };
            if part < *member {
                break;
            }
        }
        columns
    }
}

fn largest_divisor(number: usize, most: usize) -> usize {
    (1..=most.min(number)).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}

fn collect_axes(expr: &Expr, found: &mut Vec<Axis>) {
    match expr {
        Expr::Identity => {}
        Expr::Symbol(axis) => {
            if !found.contains(axis) {
                found.push(*axis);
            }
        }
        Expr::Stride(inner, _)
        | Expr::Modulo(inner, _)
        | Expr::Resize(inner, _)
        | Expr::Padding(inner, _)
        | Expr::Margin(inner, ..) => {
            collect_axes(inner, found);
        }
        Expr::Pair(left, right) => {
            collect_axes(left, found);
            collect_axes(right, found);
        }
    }
}
