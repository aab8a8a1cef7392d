//! Error type of the grammar.

use std::fmt;

use crate::MAX_DEPTH;

/// Reason why a text is not a mapping, with its place.
///
/// The message is complete: it names what was found, what is allowed and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error<S> {
    /// The text for the reader.
    pub message: String,
    /// The offending token; for a missing token, the token before it.
    pub span: S,
}

impl<S> Error<S> {
    /// An error at a place.
    pub fn new(message: impl Into<String>, span: S) -> Self {
        Self { message: message.into(), span }
    }

    /// The error for a mapping that nests deeper than [`MAX_DEPTH`].
    pub fn too_deep(span: S) -> Self {
        let message = format!(
            "the mapping nests more than {MAX_DEPTH} levels deep (groups, operators and lists each count one); \
             write a part of it as a type alias and use it as `{{ Alias }}`"
        );
        Self::new(message, span)
    }
}

impl<S> fmt::Display for Error<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<S: fmt::Debug> std::error::Error for Error<S> {}
