//! The chapters of the guide, whose texts are those of the library's documentation.

/// A chapter of the guide.
#[derive(Clone, Copy, Debug)]
pub struct Chapter {
    /// The name: the topic of `visa help`.
    pub name: &'static str,
    /// What the chapter is about, in a few words.
    pub title: &'static str,
    /// The text, in Markdown.
    pub text: &'static str,
}

/// Makes the table of all chapters.
macro_rules! chapters {
    ($($name:ident, $title:literal, $file:literal;)*) => {
        /// All chapters, in the order in which they are to be read.
        pub const CHAPTERS: &[Chapter] =
            &[$(Chapter { name: stringify!($name), title: $title, text: include_str!($file) }),*];
    };
}

include!("../guide/chapters.rs");
