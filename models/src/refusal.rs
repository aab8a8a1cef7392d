//! Messages about input that cannot be used.

/// The message of a refusal, without `error: `: what was given, what is allowed, what to edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl<T: std::fmt::Display> From<T> for Refusal {
    fn from(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A given text for quotation in a message: on one line, and not longer than one.
pub fn shown(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(60).map(visible).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}
