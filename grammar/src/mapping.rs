//! The tree of a mapping expression.

use std::fmt;

/// A mapping expression, as written.
///
/// `S` is the type of a place, `E` what a `{…}` escape carries. Grouping leaves no node of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapping<S, E> {
    /// `1`: one position, no axis.
    One {
        /// The place of the `1`.
        span: S,
    },
    /// The name of an axis.
    Axis {
        /// The name, as written.
        name: String,
        /// The place of the name.
        span: S,
    },
    /// `{…}`: a type that is itself a mapping.
    Escape {
        /// The content that the token carried.
        content: E,
        /// The place of the braces.
        span: S,
    },
    /// One of the four operators with its number.
    Operation {
        /// The operator.
        operator: Operator,
        /// The left side.
        inner: Box<Mapping<S, E>>,
        /// The right side. A plain number is at least 1.
        n: Number<E>,
        /// The place of the operator.
        span: S,
        /// The place of the number.
        n_span: S,
    },
    /// `# l + e + # r`: dead positions before and after a mapping. At least one of the two is there.
    Margin {
        /// Dead positions before `inner`. A plain 0 where there are none.
        lead: Number<E>,
        /// The mapping between them.
        inner: Box<Mapping<S, E>>,
        /// Dead positions after `inner`. A plain 0 where there are none.
        trail: Number<E>,
        /// The place of the first `#` or, where nothing leads, of the `+`.
        span: S,
    },
    /// `a, b, c`: at least two mappings, the first one outermost.
    ///
    /// The list stands for nested pairs, `Pair<a, Pair<b, c>>`. It is flat here so that a long list is not a deep
    /// tree. Groups are kept as written: `a, [b, c]` is a list of two although it denotes the same.
    Pair {
        /// The members, outermost first.
        items: Vec<Mapping<S, E>>,
    },
}

/// A number of positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Number<E> {
    /// Digits.
    Plain(usize),
    /// `{ N }`: a constant. It carries the content of the braces.
    Braced(E),
}

impl<E> Number<E> {
    /// True for a plain 0, which stands for no dead positions.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Plain(0))
    }
}

impl<E: fmt::Display> fmt::Display for Number<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(n) => write!(f, "{n}"),
            Self::Braced(content) => write!(f, "{{ {content} }}"),
        }
    }
}

/// The operators of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `/ n`: every n-th position.
    Stride,
    /// `% n`: the first n positions of a period.
    Modulo,
    /// `= n`: truncation to n positions.
    Resize,
    /// `# n`: padding to n positions.
    Padding,
}

impl Operator {
    /// All operators, in the order messages list them.
    pub const ALL: [Self; 4] = [Self::Stride, Self::Modulo, Self::Resize, Self::Padding];

    /// The operator written with this character.
    pub fn from_symbol(symbol: char) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.symbol() == symbol)
    }

    /// The character of the operator.
    pub fn symbol(self) -> char {
        match self {
            Self::Stride => '/',
            Self::Modulo => '%',
            Self::Resize => '=',
            Self::Padding => '#',
        }
    }

    /// The word for the operator in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stride => "stride",
            Self::Modulo => "modulo",
            Self::Resize => "resize",
            Self::Padding => "padding",
        }
    }
}

impl<S, E> Mapping<S, E> {
    /// The same tree with other places, for example with none, to compare two mappings by what they say.
    pub fn map_spans<T>(self, change: &mut impl FnMut(S) -> T) -> Mapping<T, E> {
        match self {
            Self::One { span } => Mapping::One { span: change(span) },
            Self::Axis { name, span } => Mapping::Axis { name, span: change(span) },
            Self::Escape { content, span } => Mapping::Escape { content, span: change(span) },
            Self::Operation { operator, inner, n, span, n_span } => Mapping::Operation {
                operator,
                inner: Box::new(inner.map_spans(change)),
                n,
                span: change(span),
                n_span: change(n_span),
            },
            Self::Margin { lead, inner, trail, span } => {
                let span = change(span);
                Mapping::Margin { lead, inner: Box::new(inner.map_spans(change)), trail, span }
            }
            Self::Pair { items } => {
                Mapping::Pair { items: items.into_iter().map(|item| item.map_spans(change)).collect() }
            }
        }
    }

    fn write_grouped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
    where
        E: fmt::Display,
    {
        match self {
            Self::Pair { .. } | Self::Margin { .. } => write!(f, "[{self}]"),
            _ => write!(f, "{self}"),
        }
    }

    /// A member of a list: only a list needs brackets.
    fn write_member(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
    where
        E: fmt::Display,
    {
        if let Self::Pair { .. } = self { self.write_grouped(f) } else { write!(f, "{self}") }
    }
}

/// The notation of `m![…]`, without the macro around it. Parsing it gives the same tree.
impl<S, E: fmt::Display> fmt::Display for Mapping<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One { .. } => f.write_str("1"),
            Self::Axis { name, .. } => f.write_str(name),
            Self::Escape { content, .. } => write!(f, "{{ {content} }}"),
            Self::Operation { operator, inner, n, .. } => {
                inner.write_grouped(f)?;
                write!(f, " {} {n}", operator.symbol())
            }
            Self::Margin { lead, inner, trail, .. } => {
                if !lead.is_none() {
                    write!(f, "# {lead} + ")?;
                }
                inner.write_grouped(f)?;
                if trail.is_none() { Ok(()) } else { write!(f, " + # {trail}") }
            }
            Self::Pair { items } => {
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        f.write_str(", ")?;
                    }
                    item.write_member(f)?;
                }
                Ok(())
            }
        }
    }
}
