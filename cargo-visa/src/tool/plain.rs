//! Markdown as plain text, for a terminal.
//!
//! Links keep only their words, code keeps only its visible lines. Prose is filled anew, and tables are aligned.

/// Indentation of code.
const INDENT: &str = "    ";
/// Maximum number of letters of a line of prose. Only a longer word exceeds it.
const WIDTH: usize = 100;

/// The text of a chapter without marks that only a browser needs.
pub fn plain(markdown: &str) -> String {
    let mut out = String::new();
    let mut prose = String::new();
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        // Code in an item of a list is indented like the item.
        let inner = line.trim_start();
        let Some(language) = inner.strip_prefix("```") else {
            if !is_target(line) && !is_markup(line) {
                prose.push_str(line);
                prose.push('\n');
            }
            continue;
        };
        out.push_str(&paragraphs(&prose));
        prose.clear();
        let is_rust = language.starts_with("rust");
        let indent = " ".repeat(line.len() - inner.len());
        for code in lines.by_ref().take_while(|code| !code.trim_start().starts_with("```")) {
            let code = code.strip_prefix(indent.as_str()).unwrap_or(code);
            match if is_rust { visible(code) } else { Some(code) } {
                Some("") => out.push('\n'),
                Some(code) => out.push_str(&format!("{INDENT}{code}\n")),
                None => {}
            }
        }
    }
    out.push_str(&paragraphs(&prose));
    out
}

/// True if a line is the target of a link: `[words]: target`.
fn is_target(line: &str) -> bool {
    line.starts_with('[') && closing(line, '[', ']').is_some_and(|end| line[end + 1..].starts_with(": "))
}

/// True if a line is markup of a browser, as those of a drawing are.
fn is_markup(line: &str) -> bool {
    line.starts_with('<')
}

/// A line of code as the documentation shows it. `None` if it is hidden.
fn visible(code: &str) -> Option<&str> {
    let rest = code.trim_start();
    match rest {
        "#" => None,
        _ if rest.starts_with("# ") => None,
        _ if rest.starts_with("##") => Some(&rest[1..]),
        _ => Some(code),
    }
}

/// Text between blocks of code.
fn paragraphs(prose: &str) -> String {
    let words = without_marks(prose);
    let mut out = String::new();
    let mut lines = words.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(|row| row.starts_with('|')) {
                rows.push(cells(row));
            }
            out.push_str(&table(&rows));
        } else if let Some(heading) = line.strip_prefix('#') {
            let title = heading.trim_start_matches('#').trim();
            let mark = if heading.starts_with('#') { "." } else { "-" };
            out.push_str(&format!("{title}\n{}\n", mark.repeat(title.chars().count())));
        } else if line.trim().is_empty() {
            out.push('\n');
        } else {
            let mut all: Vec<&str> = line.split_whitespace().collect();
            while let Some(more) = lines.next_if(|next| goes_on(next)) {
                all.extend(more.split_whitespace());
            }
            out.push_str(&filled(&all, hanging(line)));
        }
    }
    out
}

/// True if a line continues the paragraph of the line before it.
fn goes_on(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with(['|', '#']) && hanging(line) == 0
}

/// Number of letters before the first word of an item of a list: the indentation of its other lines. 0 if the line starts
/// no item.
fn hanging(line: &str) -> usize {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    match digits {
        0 if line.starts_with("* ") || line.starts_with("- ") => 2,
        1.. if line[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    }
}

/// Words in lines of at most [`WIDTH`] letters. All lines except the first one are indented.
fn filled(words: &[&str], indent: usize) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for (k, word) in words.iter().enumerate() {
        let letters = word.chars().count();
        if k > 0 && width + 1 + letters > WIDTH {
            out.push_str(&format!("\n{:indent$}", ""));
            width = indent;
        } else if k > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += letters;
    }
    out.push('\n');
    out
}

/// Prose without targets of links and without emphasis. Code in it is unchanged.
fn without_marks(prose: &str) -> String {
    let mut out = String::new();
    let mut rest = prose;
    while let Some(next) = rest.chars().next() {
        match next {
            '`' => {
                let (code, after) = code_span(rest);
                out.push_str(&code);
                rest = after;
            }
            '[' => match link(rest) {
                Some((words, after)) => {
                    out.push_str(&without_marks(words));
                    rest = after;
                }
                None => {
                    out.push('[');
                    rest = &rest[1..];
                }
            },
            '*' => {
                let stars = rest.len() - rest.trim_start_matches('*').len();
                let is_open = rest[stars..].starts_with(|c: char| !c.is_whitespace());
                let is_close = out.ends_with(|c: char| !c.is_whitespace());
                if !is_open && !is_close {
                    out.push_str(&rest[..stars]);
                }
                rest = &rest[stars..];
            }
            _ => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

/// The code at the start of a text, with one mark on each side, and the text after it. Code that contains such marks
/// gets no marks around it.
fn code_span(text: &str) -> (String, &str) {
    let marks = text.len() - text.trim_start_matches('`').len();
    let (fence, inside) = text.split_at(marks);
    // The end has exactly as many marks.
    let mut from = 0;
    while let Some(found) = inside[from..].find(fence) {
        let (start, end) = (from + found, from + found + marks);
        let longer = inside[end..].len() - inside[end..].trim_start_matches('`').len();
        if longer == 0 {
            let code = &inside[..start];
            let code = if marks == 1 { format!("`{code}`") } else { code.trim().to_string() };
            return (code, &inside[end..]);
        }
        from = end + longer;
    }
    (fence.to_string(), inside)
}

/// The words of a link at the start of a text, and the text after it. `None` if it is no link. Code alone in brackets
/// is a link, too: the documentation finds its target.
fn link(text: &str) -> Option<(&str, &str)> {
    let end = closing(text, '[', ']')?;
    let (words, after) = (&text[1..end], &text[end + 1..]);
    if after.starts_with('(') {
        return Some((words, &after[closing(after, '(', ')')? + 1..]));
    }
    (words.starts_with('`') && words.ends_with('`')).then_some((words, after))
}

/// Position of the bracket that closes the one at the start of a text. Brackets in code do not count.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let (mut depth, mut in_code) = (0, false);
    for (place, c) in text.char_indices() {
        match c {
            '`' => in_code = !in_code,
            _ if in_code => {}
            _ if c == open => depth += 1,
            _ if c == close && depth == 1 => return Some(place),
            _ if c == close => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The cells of a row. `\|` is part of a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|');
    let mut cells = vec![String::new()];
    let mut letters = row.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\\' if letters.next_if_eq(&'|').is_some() => {
                cells.last_mut().into_iter().for_each(|cell| cell.push('|'))
            }
            '|' => cells.push(String::new()),
            _ => cells.last_mut().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    // Nothing follows the last border.
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// Rows with aligned columns. The second row is the line below the heads.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is_line = |row: &[String]| {
        row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| c == '-' || c == ':'))
    };
    let width = |column: usize| {
        let words = rows.iter().filter(|row| !is_line(row)).filter_map(|row| row.get(column));
        words.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cell = |column: usize| match row.get(column) {
            _ if is_line(row) => "-".repeat(widths[column]),
            Some(cell) => format!("{cell:0$}", widths[column]),
            None => String::new(),
        };
        let line: Vec<String> = (0..columns).map(cell).collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn marks_are_taken_out() {
        let markdown = "\
# A heading

See [the\nchip](crate::guide::chip) and [`fetch`](crate::engine::fetch), or [`Report`].
**Runs** of *8* bytes, 2 * 3; `m![A](x)` and `**` stay. `` `+` adds `` a mark.
Not a link: [a, b].

[`Report`]: crate::clock::Report
## Smaller

* one
* [two](x)
  goes on
12. twelve
";
        let expected = "\
A heading
---------

See the chip and `fetch`, or `Report`. Runs of 8 bytes, 2 * 3; `m![A](x)` and `**` stay. `+` adds a
mark. Not a link: [a, b].

Smaller
.......

* one
* two goes on
12. twelve
";
        assert_eq!(plain(markdown), expected);
    }

    #[test]
    fn code_is_shown_as_in_the_documentation() {
        let markdown = "\
Before.

```rust
# use hidden;
#[device(chip = 1)]
fn kernel() {
#     hidden();
    ## shown
}
#
```

```text
# no comment
[a](b) **c**
```
";
        let expected = "\
Before.

    #[device(chip = 1)]
    fn kernel() {
    # shown
    }

    # no comment
    [a](b) **c**
";
        assert_eq!(plain(markdown), expected);
    }

    #[test]
    fn code_of_an_item_keeps_its_lines() {
        let markdown = "* One, and\n  more:\n  ```text\n  error: two\n    three\n  ```\n* Four.\n";
        let expected = "* One, and more:\n    error: two\n      three\n* Four.\n";
        assert_eq!(plain(markdown), expected);
    }

    #[test]
    fn drawings_are_left_out() {
        let markdown = "Before.\n\n<svg width=\"1\">\n<text>unit</text>\n</svg>\n\nBehind, `<` too.\n";
        assert_eq!(plain(markdown), "Before.\n\n\nBehind, `<` too.\n");
    }

    #[test]
    fn tables_are_lined_up() {
        let markdown = "\
| a | [long](x) |
|---|---|
| `x \\| y` | 2 |
";
        let expected = "\
a        long
-------  ----
`x | y`  2
";
        assert_eq!(plain(markdown), expected);
    }
}
