//! A layout as text: a row of cells per line, preceded by the position of the first one.

use super::Layout;
use std::fmt::Write;

/// The most cells that are printed. More cells would be unreadable.
const MAX_CELLS: usize = 4096;
/// Approximate number of characters per line.
const WIDTH: usize = 104;

/// Draws the layout.
pub fn draw(layout: &Layout) -> String {
    let columns = layout.columns(WIDTH / (layout.label_width() + 1));
    let shown = if layout.size <= MAX_CELLS { layout.size } else { (MAX_CELLS / columns).max(1) * columns };
    let labels: Vec<Option<String>> =
        (0..shown.min(layout.size)).map(|position| layout.label(position)).collect();
    let padded = labels.iter().any(Option::is_none);
    let headers = (0..columns.min(labels.len())).map(|column| column.to_string().len() + 1);
    let width = labels.iter().flatten().map(String::len).chain(headers).max().unwrap_or(1);
    let position_width = (shown - 1).to_string().len().max("position".len());
    let group = layout.innermost();
    // A wider gap shows each new start of the innermost digit.
    let gap =
        |column: usize| if column > 0 && group > 1 && column.is_multiple_of(group) { "  " } else { " " };

    let mut text = format!(
        "m![{}]: {} position{}, {}{}\n\n",
        layout.expr,
        layout.size,
        if layout.size == 1 { "" } else { "s" },
        layout.cells(),
        if padded { "; · is padding" } else { "" },
    );
    let mut line = format!("{:>position_width$} |", "position");
    for column in 0..columns.min(labels.len()) {
        let _ = write!(line, "{}{:>width$}", gap(column), format!("+{column}"));
    }
    let _ = writeln!(text, "{line}");
    let _ = writeln!(text, "{}-+{}", "-".repeat(position_width), "-".repeat(line.len() - position_width - 2));
    for (row, cells) in labels.chunks(columns).enumerate() {
        let _ = write!(text, "{:>position_width$} |", row * columns);
        for (column, cell) in cells.iter().enumerate() {
            let _ = write!(text, "{}{:>width$}", gap(column), cell.as_deref().unwrap_or("·"));
        }
        text.push('\n');
    }
    if labels.len() < layout.size {
        let _ = writeln!(
            text,
            "\n… and {} more positions: at most {MAX_CELLS} are printed; cut a part out with `= n`, `/ n` or `% n`",
            layout.size - labels.len()
        );
    }
    text
}
