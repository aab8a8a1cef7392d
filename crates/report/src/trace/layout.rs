//! The first elements of every layout that a run uses, so that a page can draw it.

use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::mapping::{Expr, Index};
use serde_json::{Map, Value, json};

/// Maximum number of layouts that are kept. A program has as many as its source names.
const KEPT: usize = 256;
/// Number of rows, and of columns, of a drawing.
const ROWS: usize = 16;
const COLUMNS: usize = 32;

/// Layouts by their text.
#[derive(Debug, Default)]
pub(super) struct Layouts(Map<String, Value>);

impl Layouts {
    /// Adds the layouts of an operation.
    pub(super) fn add(&mut self, record: &Record) {
        for access in record.accesses.iter() {
            if self.0.len() >= KEPT {
                return;
            }
            let mappings = &access.tensor.mappings;
            let Some(text) = mappings.text(0).filter(|text| !self.0.contains_key(text)) else { continue };
            if let Some(drawing) = draw(&mappings.known()) {
                self.0.insert(text, drawing);
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// Coordinates in the first rows of a tensor. A row is a slice, or a row of the register file, or 32 elements if all
/// lie in one unit. Padding is `null`.
fn draw(mappings: &[&'static Expr]) -> Option<Value> {
    let (innermost, outer) = mappings.split_last()?;
    let sizes = mappings.iter().map(|mapping| mapping.checked_size().ok()).collect::<Option<Vec<usize>>>()?;
    let (elements, outer_sizes) = sizes.split_last()?;
    let units: usize = outer_sizes.iter().product();
    let names = axes(mappings);
    let cell = |mut unit: usize, element: usize| -> Option<String> {
        let mut index = Index::new();
        for (mapping, size) in outer.iter().zip(outer_sizes).rev() {
            index = index.union(&Index::at(mapping, unit % size.max(&1))?);
            unit /= size.max(&1);
        }
        let index = index.union(&Index::at(innermost, element)?);
        let values = names.iter().map(|name| index.ident_value(*name).ok().map(|value| value.to_string()));
        Some(values.collect::<Option<Vec<_>>>()?.join(","))
    };
    // One unit alone is shown in lines.
    let is_one = units == 1;
    let (rows, columns) = (if is_one { elements.div_ceil(COLUMNS) } else { units }, (*elements).min(COLUMNS));
    let row = |row: usize| -> Value {
        let at = |column: usize| match is_one {
            true => cell(0, row * COLUMNS + column),
            false => cell(row, column),
        };
        (0..columns).map(|column| at(column).map_or(Value::Null, Value::from)).collect()
    };
    Some(json!({
        "axes": names.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "units": units,
        "elements": elements,
        "wrapped": is_one,
        "rows": (0..rows.min(ROWS)).map(row).collect::<Value>(),
    }))
}

/// The axes of all mappings, outermost first, each once.
fn axes(mappings: &[&'static Expr]) -> Vec<furiosa_visa_rules::mapping::Ident> {
    let mut names = Vec::new();
    mappings.iter().for_each(|mapping| furiosa_visa_rules::mapping::guard::axes(mapping, &mut names));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::mapping::M;
    use furiosa_visa_std::prelude::{axes, m};

    #[test]
    fn a_layout_is_drawn_by_its_coordinates() {
        axes![A = 3, B = 5];
        let drawing =
            draw(&[<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![A # 4]>::EXPR, <m![B # 8]>::EXPR]).expect("small");
        assert_eq!((&drawing["axes"], &drawing["units"]), (&json!(["A", "B"]), &json!(8)));
        let row = |a: usize| -> Value {
            (0..8).map(|b| if a < 3 && b < 5 { json!(format!("{a},{b}")) } else { Value::Null }).collect()
        };
        let expected: Vec<Value> = (0..8).map(row).collect();
        assert_eq!(drawing["rows"], json!(expected));
        // In one unit, 32 elements to a line.
        axes![C = 40];
        let line = draw(&[<m![1]>::EXPR, <m![C]>::EXPR]).expect("small");
        assert_eq!((&line["wrapped"], line["rows"].as_array().map(Vec::len)), (&json!(true), Some(2)));
        assert_eq!((&line["rows"][1][7], &line["rows"][1][8]), (&json!("39"), &Value::Null));
    }
}
