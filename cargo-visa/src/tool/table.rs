//! Tables in Markdown, and texts that a terminal only shows.

/// Makes a text of another program safe for a terminal: control characters, including line breaks, become escapes.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

/// Rows of cells under their heads, in columns. Cells with numbers are right-aligned.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let is_number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, width)| match is_number(cell) {
            true => format!("| {cell:>width$} "),
            false => format!("| {cell:width$} "),
        });
        cells.collect::<String>() + "|\n"
    };
    let mut text = line(&mut heads.iter().copied());
    text += &(widths.iter().map(|width| format!("|{}", "-".repeat(width + 2))).collect::<String>() + "|\n");
    for row in &rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}
