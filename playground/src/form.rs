//! Typed input: texts of fields, and their values.

use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::scalar::ElementType;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The names of the fields, in the order of the page.
pub const FIELDS: [&str; 18] = [
    "axes",
    "type",
    "hbm",
    "cluster",
    "slice",
    "element",
    "context",
    "to",
    "time",
    "packet",
    "switch_slice",
    "switch_time",
    "collect_time",
    "collect_packet",
    "transpose_time",
    "transpose_packet",
    "commit",
    "draw",
];

/// The fields that are mappings.
const MAPPINGS: [&str; 13] = [
    "hbm",
    "cluster",
    "slice",
    "element",
    "time",
    "packet",
    "switch_slice",
    "switch_time",
    "collect_time",
    "collect_packet",
    "transpose_time",
    "transpose_packet",
    "commit",
];

/// The most positions of a mapping. The page computes with 32 bits, and multiplies sizes.
const MAX_POSITIONS: usize = 1 << 26;

/// The texts of a form.
pub struct Typed(Map<String, Value>);

impl Typed {
    /// The texts of an object. Other values count as empty.
    pub fn new(texts: Map<String, Value>) -> Self {
        Self(texts)
    }

    /// The text of a field, without spaces around it. Empty if it is missing.
    pub fn text(&self, field: &str) -> &str {
        self.0.get(field).and_then(Value::as_str).unwrap_or_default().trim()
    }
}

/// The values of a form, as far as they can be read.
pub struct Form {
    /// The message of each field that cannot be read.
    pub errors: BTreeMap<&'static str, String>,
    /// The type in memory.
    pub stored: Option<ElementType>,
    /// The type in the stream.
    pub streamed: Option<ElementType>,
    /// True if the sub context fetches and commits.
    pub sub_context: bool,
    mappings: BTreeMap<&'static str, &'static Expr>,
}

impl Form {
    /// Reads all fields.
    pub fn read(typed: &Typed) -> Self {
        let mut errors = BTreeMap::new();
        let mut mappings = BTreeMap::new();
        match Axes::parse(typed.text("axes")) {
            Err(error) => drop(errors.insert("axes", error.to_string())),
            Ok(axes) => {
                for field in MAPPINGS {
                    match mapping(typed.text(field), &axes) {
                        Ok(None) => {}
                        Ok(Some(expr)) => drop(mappings.insert(field, expr)),
                        Err(message) => drop(errors.insert(field, message)),
                    }
                }
            }
        }
        let mut element_type = |field: &'static str, is_stored: bool| {
            let found = element_type(typed.text(field), is_stored);
            found.map_err(|message| errors.insert(field, message)).ok().flatten()
        };
        let stored = element_type("type", true);
        let to = element_type("to", false);
        let streamed = if typed.text("to").is_empty() { stored } else { to };
        let sub_context = match typed.text("context") {
            "" | "main" => false,
            "sub" => true,
            other => {
                errors.insert("context", format!("`{other}` is no context; the contexts are main and sub"));
                false
            }
        };
        Self { errors, stored, streamed, sub_context, mappings }
    }

    /// The mapping in a field. `None`: it is empty, or cannot be read.
    pub fn mapping(&self, field: &str) -> Option<&'static Expr> {
        self.mappings.get(field).copied()
    }
}

/// Reads a mapping, with or without `m![` and `]` around it. `None`: the text is empty.
fn mapping(text: &str, axes: &Axes) -> Result<Option<&'static Expr>, String> {
    let inside = text.strip_prefix("m![").and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if inside.trim().is_empty() {
        return Ok(None);
    }
    let expr = parse_mapping(inside, axes).map_err(|error| error.to_string())?;
    let positions = expr.checked_size().map_err(|problem| problem.to_string())?;
    if positions > MAX_POSITIONS {
        return Err(format!(
            "{positions} positions are too many for this page; it takes at most {MAX_POSITIONS}: use `visa explain`"
        ));
    }
    Ok(Some(expr))
}

/// Reads an element type. `None`: the text is empty.
fn element_type(text: &str, is_stored: bool) -> Result<Option<ElementType>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut offered = ElementType::ALL.into_iter().filter(|element| !is_stored || element.is_stored());
    let names = offered.clone().map(|element| element.name()).collect::<Vec<_>>().join(", ");
    let found = offered.find(|element| element.name() == text);
    found.map(Some).ok_or(format!("`{text}` is not an element type; the types are {names}"))
}
