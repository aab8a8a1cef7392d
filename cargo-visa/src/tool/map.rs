//! `visa map`: the coordinates at each position of a mapping.

use super::arguments::Once;
use super::{MAP_HELP, Output, Refusal, grid, svg};
use furiosa_visa_rules::mapping::parse::{index_at, members};
use furiosa_visa_rules::mapping::{Axis, Expr};
use std::path::PathBuf;

/// The most cells per row that a user may request.
const MAX_COLUMNS: usize = 1024;

/// Runs the command. `parser` is placed after its name.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut mapping, mut axes) = (Once::new("MAPPING"), Once::new("--axes"));
    let (mut file, mut columns) = (Once::new("--svg"), Once::new("--columns"));
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(MAP_HELP)),
            Long("axes") => axes.set(parser.value()?)?,
            Long("svg") => file.set(parser.value()?)?,
            Long("columns") => columns.set(parser.value()?)?,
            Value(value) => mapping.set(value)?,
            other => return Err(other.unexpected().into()),
        }
    }
    let axes = axes.axes()?;
    let layout = Layout::new(mapping.mapping(&axes)?, columns.number(MAX_COLUMNS)?)?;
    let mut output = Output::text(grid::draw(&layout));
    if let Some(path) = file.raw() {
        if path.is_empty() {
            return Err("--svg: the name of the file is empty".into());
        }
        let path = PathBuf::from(path);
        let drawing = svg::draw(&layout)?;
        output.stdout.push_str(&format!("\nwrote {}\n", path.display()));
        output.file = Some((path, drawing));
    }
    Ok(output)
}

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
    /// Cells per row, if the user requested a number.
    asked: Option<usize>,
}

impl Layout {
    fn new(expr: &'static Expr, asked: Option<usize>) -> Result<Self, Refusal> {
        let size = expr.checked_size()?;
        let mut axes = Vec::new();
        collect_axes(expr, &mut axes);
        Ok(Self { expr, size, axes, members: members(expr), asked })
    }

    /// The coordinates at a position, or `None` for padding.
    pub fn label(&self, position: usize) -> Option<String> {
        let index = index_at(self.expr, position)?;
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
