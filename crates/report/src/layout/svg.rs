//! A layout as a drawing: cells coloured by the outermost digit.

use super::Layout;
use furiosa_visa_rules::mapping::Expr;
use std::fmt::Write;

/// The most cells that are drawn. More cells are too small to see, and slow down viewers.
const MAX_CELLS: usize = 16_384;
const CELL_HEIGHT: usize = 24;
const MARGIN: usize = 28;
/// Pixels between groups.
const GAP: usize = 8;
/// Pixels per character of a label.
const CHARACTER: usize = 7;
/// The most colours that the legend names one by one.
const NAMED_COLOURS: usize = 16;

const STYLE: &str = "\
text { font: 11px 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2933; }
.title { font-size: 17px; font-weight: bold; }
.note { font-size: 12px; fill: #52606d; }
.scale { font-size: 10px; fill: #7b8794; }
.cell { text-anchor: middle; }
.end { text-anchor: end; }
.light { fill: #ffffff; }
.pad { fill: #9aa5b1; }
";

/// Draws the layout.
///
/// All text in the drawing is digits, names of axes and `m![…]` notation, without characters that are special in XML.
pub fn draw(layout: &Layout, row_pixels: usize) -> Result<String, String> {
    if layout.size > MAX_CELLS {
        return Err(format!(
            "{} positions are too many to draw; at most {MAX_CELLS} are; cut a part out with `= n`, `/ n` or `% n`",
            layout.size
        ));
    }
    let labels: Vec<Option<String>> = (0..layout.size).map(|position| layout.label(position)).collect();
    let cell_width = (layout.label_width() * CHARACTER + 10).max(28);
    let columns = layout.columns(row_pixels / cell_width).min(layout.size);
    let rows = layout.size.div_ceil(columns);
    let digit = outermost(layout.expr);
    let inner = layout.innermost();
    let column_group = if inner > 1 && inner < columns { inner } else { columns };
    let row_group =
        if digit.inside > columns && digit.inside.is_multiple_of(columns) && digit.inside < layout.size {
            digit.inside / columns
        } else {
            rows
        };

    let position_width = (layout.size - 1).to_string().len() * CHARACTER + 10;
    let (left, top) = (MARGIN + position_width, MARGIN + 74);
    let x = |column: usize| left + column * cell_width + column / column_group * GAP;
    let y = |row: usize| top + row * CELL_HEIGHT + row / row_group * GAP;

    let mut body = String::new();
    let padded = labels.iter().any(Option::is_none);
    for column in 0..columns {
        let middle = x(column) + cell_width / 2;
        let _ =
            writeln!(body, "<text class=\"scale cell\" x=\"{middle}\" y=\"{}\">+{column}</text>", top - 7);
    }
    for row in 0..rows {
        let (right, base) = (left - 8, y(row) + 16);
        let _ =
            writeln!(body, "<text class=\"scale end\" x=\"{right}\" y=\"{base}\">{}</text>", row * columns);
    }
    for (position, label) in labels.iter().enumerate() {
        let (cell_x, cell_y) = (x(position % columns), y(position / columns));
        let value = position / digit.inside;
        let (fill, class) = match label {
            Some(_) => colour(value, digit.values),
            None => ("url(#padding)".to_string(), "pad"),
        };
        let (width, height) = (cell_width - 2, CELL_HEIGHT - 2);
        let _ = writeln!(
            body,
            "<rect class=\"cell\" x=\"{cell_x}\" y=\"{cell_y}\" width=\"{width}\" height=\"{height}\" rx=\"3\" fill=\"{fill}\"/>\
             <text class=\"cell {class}\" x=\"{}\" y=\"{}\">{}</text>",
            cell_x + width / 2,
            cell_y + 15,
            label.as_deref().unwrap_or("·"),
        );
    }
    let grid_width = x(columns - 1) + cell_width - left;
    let legend_top = y(rows - 1) + CELL_HEIGHT + 30;
    let held =
        |value: &usize| labels.iter().skip(value * digit.inside).take(digit.inside).any(Option::is_some);
    let mut values: Vec<usize> = (0..digit.values).filter(held).collect();
    if values.len() > NAMED_COLOURS {
        values = values.iter().copied().step_by(values.len().div_ceil(NAMED_COLOURS)).collect();
    }
    let padded = padded.then_some("padding");
    let chips = (values.iter().map(|&value| (colour(value, digit.values).0, value.to_string())))
        .chain(padded.map(|label| ("url(#padding)".to_string(), label.to_string())));
    let (legend, legend_width, legend_height) = legend(layout, &digit, chips, left, legend_top, grid_width);
    let title = format!("m![{}]", layout.expr);
    let note = format!("{} positions, {}", layout.size, layout.cells());
    let text_width = (title.chars().count() * 11).max(note.chars().count() * 8);
    let width = left + grid_width.max(legend_width).max(text_width) + MARGIN;
    let height = legend_top + legend_height + MARGIN;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>\n{STYLE}</style>\n\
         <defs><pattern id=\"padding\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f1f4f7\"/>\
         <rect width=\"2\" height=\"6\" fill=\"#e1e7ec\"/></pattern></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text class=\"title\" x=\"{left}\" y=\"{}\">{title}</text>\n\
         <text class=\"note\" x=\"{left}\" y=\"{}\">{note}</text>\n{body}{legend}</svg>\n",
        MARGIN + 14,
        MARGIN + 36,
    ))
}

/// The axes and the colours of the cells, as fills and labels. Returns also the width and height in pixels.
fn legend(
    layout: &Layout,
    digit: &Outermost,
    chips: impl Iterator<Item = (String, String)>,
    left: usize,
    top: usize,
    grid_width: usize,
) -> (String, usize, usize) {
    let sizes: Vec<String> =
        layout.axes.iter().map(|axis| format!("{} = {}", axis.name, axis.size)).collect();
    let axes = if sizes.is_empty() { "no axes".to_string() } else { format!("axes: {}", sizes.join(", ")) };
    let mut text = format!("<text class=\"note\" x=\"{left}\" y=\"{top}\">{axes}</text>\n");
    let heading = format!("colour: {}", digit.expr);
    let line = top + 22;
    let _ = writeln!(text, "<text class=\"note\" x=\"{left}\" y=\"{line}\">{heading}</text>");
    let mut width = axes.chars().count().max(heading.chars().count()) * 8;
    let most = grid_width.max(480);
    let (mut x, mut y) = (left, line + 12);
    for (fill, label) in chips {
        let chip = 18 + 6 + label.chars().count() * CHARACTER + 16;
        if x > left && x + chip > left + most {
            (x, y) = (left, y + 24);
        }
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"18\" height=\"16\" rx=\"3\" fill=\"{fill}\"/>\
             <text x=\"{}\" y=\"{}\">{label}</text>",
            x + 24,
            y + 12
        );
        x += chip;
        width = width.max(x - left);
    }
    (text, width, y + 18 - top)
}

/// The outermost digit of a mapping.
#[derive(Debug)]
struct Outermost {
    /// The digit.
    expr: &'static Expr,
    /// Positions per value.
    inside: usize,
    /// Values, padding included.
    values: usize,
}

fn outermost(expr: &'static Expr) -> Outermost {
    let size = expr.checked_size().unwrap_or(1);
    match expr {
        Expr::Pair(left, right) => {
            if left.checked_size() == Ok(1) {
                return outermost(right);
            }
            let inside = right.checked_size().unwrap_or(1);
            let digit = outermost(left);
            Outermost { inside: digit.inside * inside, ..digit }
        }
        // In a padded or cut group the outermost digit is inside, and continues to the end.
        Expr::Padding(inner, _) | Expr::Resize(inner, _) if matches!(inner, Expr::Pair(..)) => {
            let digit = outermost(inner);
            Outermost { values: size.div_ceil(digit.inside), ..digit }
        }
        _ => Outermost { expr, inside: 1, values: size },
    }
}

/// The fill of a cell and the class of its label. Few values have light, distinct hues, many a scale from dark to
/// bright.
fn colour(value: usize, values: usize) -> (String, &'static str) {
    const FEW: [&str; 10] = [
        "#a6cee3", "#fdd49e", "#b8e0b0", "#f4b6c2", "#cbbfe8", "#f7e59b", "#9fdcd3", "#f2bd9a", "#c9d6df",
        "#d8e08f",
    ];
    const SCALE: [(u8, u8, u8); 6] =
        [(68, 58, 131), (49, 104, 142), (33, 145, 140), (53, 183, 121), (144, 215, 67), (253, 231, 37)];
    if values <= FEW.len() {
        return (FEW[value % FEW.len()].to_string(), "");
    }
    // The place on the scale, in 1/256 of the way from one step to the next.
    let place = value.min(values - 1) * (SCALE.len() - 1) * 256 / (values - 1);
    let (step, part) = ((place / 256).min(SCALE.len() - 2), place - (place / 256).min(SCALE.len() - 2) * 256);
    let (from, to) = (SCALE[step], SCALE[step + 1]);
    let mix = |a: u8, b: u8| (usize::from(a) * (256 - part) + usize::from(b) * part) / 256;
    let (red, green, blue) = (mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2));
    let bright = 299 * red + 587 * green + 114 * blue > 125_000;
    (format!("#{red:02x}{green:02x}{blue:02x}"), if bright { "" } else { "light" })
}
