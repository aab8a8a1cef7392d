//! Mappings as lists of digits, and the values of their texts.

use furiosa_visa_rules::mapping::Expr;
pub use furiosa_visa_rules::mapping::digits::*;
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use std::cell::RefCell;
use std::collections::HashMap;

/// Values of mappings over some axes. Each text is read once: its value lives as long as the program.
#[derive(Debug)]
pub struct Values {
    axes: Axes,
    known: RefCell<HashMap<String, Option<&'static Expr>>>,
}

impl Values {
    /// Mappings over these axes.
    pub fn new(axes: &Axes) -> Self {
        Self { axes: axes.clone(), known: RefCell::default() }
    }

    /// The value of a text. `None`: a mapping has not so many digits or positions.
    pub fn of(&self, text: &str) -> Option<&'static Expr> {
        let mut known = self.known.borrow_mut();
        if let Some(expr) = known.get(text) {
            return *expr;
        }
        let expr = parse_mapping(text, &self.axes).ok();
        known.insert(text.to_string(), expr);
        expr
    }

    /// The value of a list.
    pub fn of_parts(&self, parts: &[Part]) -> Option<&'static Expr> {
        self.of(&text_of(parts))
    }
}
