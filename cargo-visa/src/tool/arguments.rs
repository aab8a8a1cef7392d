//! Options and mappings of a command.

use super::Refusal;
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::scalar::ElementType;
use std::ffi::{OsStr, OsString};

/// The most bytes of an argument: far more than an acceptable mapping needs, but few enough to read at once.
const MAX_BYTES: usize = 1 << 20;

/// An option that may be given once.
#[derive(Debug)]
pub struct Once {
    name: &'static str,
    value: Option<OsString>,
}

impl Once {
    /// An option that has not been given. `name` is its name in messages.
    pub fn new(name: &'static str) -> Self {
        Self { name, value: None }
    }

    /// Takes the value.
    pub fn set(&mut self, value: OsString) -> Result<(), Refusal> {
        if self.value.is_some() {
            return Err(format!("{} is given twice; give it once", self.quoted()).into());
        }
        if value.len() > MAX_BYTES {
            return Err(format!("{} has more than {MAX_BYTES} bytes; write less", self.quoted()).into());
        }
        self.value = Some(value);
        Ok(())
    }

    /// Tells if there is a value.
    pub fn is_given(&self) -> bool {
        self.value.is_some()
    }

    /// The value as it was given.
    pub fn raw(self) -> Option<OsString> {
        self.value
    }

    /// The value as text, if it was given.
    pub fn text(&self) -> Result<Option<&str>, Refusal> {
        match &self.value {
            None => Ok(None),
            Some(value) => match value.to_str() {
                Some(text) => Ok(Some(text)),
                None => Err(format!("{} is not UTF-8 text", self.quoted()).into()),
            },
        }
    }

    /// The value as a mapping.
    pub fn mapping(&self, axes: &Axes) -> Result<&'static Expr, Refusal> {
        let Some(text) = self.text()? else {
            let option = if self.name.starts_with("--") { self.name } else { "visa map" };
            return Err(
                format!("{} is missing; write for example {option} 'A / 32, B # 8'", self.quoted()).into()
            );
        };
        if let Some(inside) = without_macro(text) {
            let (name, inside) = (self.quoted(), shown(OsStr::new(inside.trim())));
            return Err(
                format!("{name}: drop `m![` and `]`, and write what is between them: '{inside}'").into()
            );
        }
        let name = if self.name.starts_with("--") { self.name.to_string() } else { self.quoted() };
        parse_mapping(text, axes).map_err(|error| Refusal(format!("{name}: {error}")))
    }

    /// The name in messages: an option as it is typed, another argument as a word.
    fn quoted(&self) -> String {
        if self.name.starts_with("--") {
            format!("`{}`", self.name)
        } else {
            format!("the {}", self.name.to_lowercase())
        }
    }

    /// The value as a table of axes. Without a value the table is empty.
    pub fn axes(&self) -> Result<Axes, Refusal> {
        Axes::parse(self.text()?.unwrap_or("")).map_err(|error| Refusal(format!("{}: {error}", self.name)))
    }

    /// The value as an element type. `stored`: messages offer only types that a memory holds.
    pub fn element_type(&self, stored: bool) -> Result<Option<ElementType>, Refusal> {
        let Some(text) = self.text()? else { return Ok(None) };
        let found = ElementType::ALL.into_iter().find(|dtype| dtype.name() == text.trim());
        match found {
            Some(dtype) => Ok(Some(dtype)),
            None => {
                let offered = ElementType::ALL.iter().filter(|dtype| !stored || dtype.is_stored());
                let names: Vec<&str> = offered.map(|dtype| dtype.name()).collect();
                let (given, names) = (shown(OsStr::new(text)), names.join(", "));
                Err(format!("{}: `{given}` is not an element type; the types are {names}", self.name).into())
            }
        }
    }

    /// The value as a number from 1 to `most`.
    pub fn number(&self, most: usize) -> Result<Option<usize>, Refusal> {
        let Some(text) = self.text()? else { return Ok(None) };
        match text.trim().parse::<usize>() {
            Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let given = shown(OsStr::new(text));
                Err(format!("{}: `{given}` is not a number from 1 to {most}", self.name).into())
            }
        }
    }
}

/// The text without `m![` and its closing bracket, in all places. `None` if there is no `m![`.
fn without_macro(text: &str) -> Option<String> {
    let (mut left, mut rest) = (String::new(), text);
    // Per open bracket, true if it belongs to an `m![`.
    let mut open = Vec::new();
    let mut found = false;
    while let Some(next) = rest.chars().next() {
        let starts = !left.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        if let Some(inside) = rest.strip_prefix("m![").filter(|_| starts) {
            open.push(true);
            found = true;
            rest = inside;
            continue;
        }
        let is_kept = match next {
            '[' => {
                open.push(false);
                true
            }
            ']' => open.pop() != Some(true),
            _ => true,
        };
        if is_kept {
            left.push(next);
        }
        rest = &rest[next.len_utf8()..];
    }
    found.then_some(left)
}

/// An argument for quotation in messages: on one line, and not longer than one.
pub fn shown(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(60).map(visible).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}
