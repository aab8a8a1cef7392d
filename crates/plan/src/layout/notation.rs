//! Mappings as text and as values.

use crate::problem::Problem;
use furiosa_visa_rules::mapping::parse::{Axes, ParseError, parse_mapping};
use furiosa_visa_rules::mapping::{Axis, Expr, Ident};
use furiosa_visa_rules::sequencer::Window;
use std::cell::RefCell;
use std::collections::HashMap;

/// A mapping: what stands between the brackets of `m![…]`, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The text.
    pub text: String,
    /// The value.
    pub expr: &'static Expr,
}

impl core::fmt::Display for Mapping {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "m![{}]", self.text)
    }
}

/// Mappings of a problem. Each text is read once: its value lives as long as the program.
#[derive(Debug)]
pub struct Notation {
    axes: Axes,
    known: RefCell<HashMap<String, Option<&'static Expr>>>,
    windows: RefCell<Vec<&'static [Window]>>,
}

impl Notation {
    /// Mappings over the axes of a problem.
    pub fn new(problem: &Problem) -> Self {
        let axes = Axes::parse(&problem.declared(problem.windows.first())).unwrap_or_default();
        Self { axes, known: RefCell::default(), windows: RefCell::new(vec![&[]]) }
    }

    /// The axis with a name, and its size.
    pub(crate) fn symbol(&self, name: &str) -> Option<Axis> {
        self.axes.as_slice().iter().copied().find(|axis| axis.name.as_str() == name)
    }

    /// The axis with a name.
    pub(super) fn axis(&self, name: &str) -> Option<Ident> {
        self.symbol(name).map(|axis| axis.name)
    }

    /// Reads a mapping that somebody has written.
    pub(crate) fn read(&self, text: &str) -> Result<&'static Expr, ParseError> {
        parse_mapping(text, &self.axes)
    }

    /// A list of digits. `None`: no mapping has so many.
    pub(crate) fn list(&self, digits: &[String]) -> Option<Mapping> {
        let text = if digits.is_empty() { "1".to_string() } else { digits.join(", ") };
        let mut known = self.known.borrow_mut();
        if let Some(expr) = known.get(&text) {
            return Some(Mapping { text, expr: (*expr)? });
        }
        let expr = parse_mapping(&text, &self.axes).ok();
        known.insert(text.clone(), expr);
        Some(Mapping { text, expr: expr? })
    }

    /// The windows of a fetch. Each list is made once, and lives as long as the program.
    pub(super) fn windows(&self, list: Vec<Window>) -> &'static [Window] {
        let mut known = self.windows.borrow_mut();
        if let Some(same) = known.iter().find(|same| ***same == *list) {
            return same;
        }
        let list: &'static [Window] = list.leak();
        known.push(list);
        list
    }

    /// A list of digits in a dimension with `size` positions.
    pub(super) fn filled(&self, digits: &[String], used: usize, size: usize) -> Option<Mapping> {
        if used == size {
            return self.list(digits);
        }
        let padded = match digits {
            [] => format!("1 # {size}"),
            [one] => format!("{one} # {size}"),
            several => format!("[{}] # {size}", several.join(", ")),
        };
        self.list(&[padded])
    }
}
