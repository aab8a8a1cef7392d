//! The playground: one page on which mappings are typed, and everything that the library derives from them is shown.
//!
//! ```text
//!   form ──JSON──▶ answer ──JSON──▶ picture, stages
//!                    │ rules, clock and pictures of the library: the page computes nothing by itself
//! ```
//!
//! | module | content |
//! |---|---|
//! | `form` | what is typed: axes, types, mappings |
//! | `stages` | a load, a fetch, a switch, a collect, a transpose and a commit, each derived or refused |
//! | `page` | the page around the module |
//! | `exports` | the functions of the WebAssembly module |
//!
//! `visa playground` builds the module and writes the page. It needs no network, no server and no other file.
//!
//! ```
//! let form = r#"{ "axes": "A=8", "draw": "element", "element": "A # 16", "type": "i8" }"#;
//! let answer: serde_json::Value = serde_json::from_str(&furiosa_visa_playground::answer(form)).expect("JSON");
//! assert!(answer["picture"]["svg"].as_str().expect("a drawing").starts_with("<svg"));
//! ```

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

#[cfg(target_family = "wasm")]
mod exports;
mod form;
mod page;
mod stages;

pub use form::FIELDS;
pub use page::{EXAMPLES, page};

use form::{Form, Typed};
use furiosa_visa_report::layout::Layout;
use serde_json::{Value, json};

/// Answers a form: an object of texts, with the names of [`FIELDS`]. Names that are missing are empty.
///
/// The answer is an object: `errors` has a message for each field that cannot be read, `stages` what is derived, and
/// `picture` the layout of the mapping in the field that `draw` names, in rows of at most `width` pixels, more or less.
pub fn answer(form: &str) -> String {
    let typed = match serde_json::from_str::<Value>(form) {
        Ok(Value::Object(texts)) => Typed::new(texts),
        _ => return json!({ "errors": { "axes": "the form is no object of texts" } }).to_string(),
    };
    let form = Form::read(&typed);
    let stages = stages::derive(&form);
    json!({ "errors": form.errors, "stages": stages, "picture": picture(&form, &typed) }).to_string()
}

/// The layout of the mapping that is asked for. Null: it is empty, or cannot be read.
fn picture(form: &Form, typed: &Typed) -> Value {
    const WIDTH: usize = 960;
    let Some(expr) = form.mapping(typed.text("draw")) else { return Value::Null };
    let width = typed.text("width").parse().unwrap_or(WIDTH);
    let drawn = Layout::new(expr, None).and_then(|layout| layout.svg(width));
    match drawn {
        Ok(svg) => json!({ "svg": svg }),
        Err(message) => json!({ "error": message }),
    }
}
