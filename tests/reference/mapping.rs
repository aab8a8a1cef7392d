//! Mapping expressions as a tree, and what a position of them means.
//!
//! The meaning is computed by pushing offsets down the tree. `X / n` at position `p` is the offset `p * n` into
//! the node `X`, `X % n` is the offset `p`. Offsets that several dimensions send into the same node are added
//! first and decoded afterwards, highest node first: see [`Union`]. So `[A, B] / 2` together with `[A, B] % 2` is `[A, B]`, also
//! when the cut runs through `B`.

pub use super::coordinates::{Coordinates, Name};
use super::union::Union;
use std::collections::BTreeMap;
use std::fmt;

/// A mapping expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Map {
    /// `1`: one position, no axis.
    One,
    /// A named axis.
    Axis {
        /// Name of the axis.
        name: Name,
        /// Number of coordinates.
        size: usize,
    },
    /// `inner / n`: every n-th position.
    Stride(Box<Map>, usize),
    /// `inner % n`: the first n positions of a period.
    Modulo(Box<Map>, usize),
    /// `inner = n`: the first n positions, or padding beyond the inner ones.
    Resize(Box<Map>, usize),
    /// `inner # n`: padded to n positions.
    Padding(Box<Map>, usize),
    /// `# before + inner + # after`: positions without an element on both sides.
    Margin(usize, Box<Map>, usize),
    /// `left, right`: left is the outer part.
    Pair(Box<Map>, Box<Map>),
}

impl Map {
    /// An axis.
    pub fn axis(name: &str, size: usize) -> Map {
        Map::Axis { name: name.into(), size }
    }

    /// `self / n`.
    pub fn stride(&self, n: usize) -> Map {
        Map::Stride(Box::new(self.clone()), n)
    }

    /// `self % n`.
    pub fn modulo(&self, n: usize) -> Map {
        Map::Modulo(Box::new(self.clone()), n)
    }

    /// `self = n`.
    pub fn resize(&self, n: usize) -> Map {
        Map::Resize(Box::new(self.clone()), n)
    }

    /// `self # n`.
    pub fn pad(&self, n: usize) -> Map {
        Map::Padding(Box::new(self.clone()), n)
    }

    /// `# before + self + # after`.
    pub fn margin(&self, before: usize, after: usize) -> Map {
        Map::Margin(before, Box::new(self.clone()), after)
    }

    /// All parts as one mapping, the first is the outermost. Parts `1` are left out; no parts give `1`.
    pub fn sequence(parts: &[Map]) -> Map {
        let mut parts = parts.iter().rev().filter(|part| **part != Map::One);
        let innermost = parts.next().cloned().unwrap_or(Map::One);
        parts.fold(innermost, |inner, part| Map::Pair(Box::new(part.clone()), Box::new(inner)))
    }

    /// Number of positions.
    pub fn size(&self) -> usize {
        match self {
            Map::One => 1,
            Map::Axis { size, .. } => *size,
            Map::Stride(inner, n) => inner.size() / n,
            Map::Modulo(_, n) | Map::Resize(_, n) | Map::Padding(_, n) => *n,
            Map::Margin(before, inner, after) => before + inner.size() + after,
            Map::Pair(left, right) => left.size() * right.size(),
        }
    }

    /// The first rule of the constructors that this expression breaks, if any.
    pub fn validity(&self) -> Result<(), String> {
        match self {
            Map::One => Ok(()),
            Map::Axis { name, size } if *size == 0 => Err(format!("axis {name} has size 0")),
            Map::Axis { .. } => Ok(()),
            Map::Stride(inner, n) | Map::Modulo(inner, n) => {
                inner.validity()?;
                if *n == 0 || !inner.size().is_multiple_of(*n) {
                    return Err(format!("{self}: {n} does not divide {}", inner.size()));
                }
                Ok(())
            }
            Map::Resize(inner, n) => {
                inner.validity()?;
                if *n == 0 { Err(format!("{self}: resize to 0")) } else { Ok(()) }
            }
            Map::Padding(inner, n) => {
                inner.validity()?;
                if *n < inner.size() {
                    return Err(format!("{self}: padding to {n} is below {}", inner.size()));
                }
                Ok(())
            }
            Map::Margin(_, inner, _) => inner.validity(),
            Map::Pair(left, right) => {
                left.validity()?;
                right.validity()
            }
        }
    }

    /// Names and sizes of all axes that occur.
    pub fn axes(&self) -> BTreeMap<Name, usize> {
        match self {
            Map::One => BTreeMap::new(),
            Map::Axis { name, size } => BTreeMap::from([(name.clone(), *size)]),
            Map::Stride(inner, _) | Map::Modulo(inner, _) => inner.axes(),
            Map::Resize(inner, _) | Map::Padding(inner, _) | Map::Margin(_, inner, _) => inner.axes(),
            Map::Pair(left, right) => {
                let mut axes = left.axes();
                axes.extend(right.axes());
                axes
            }
        }
    }

    /// Whether there are dead positions before a part of it.
    pub fn has_lead(&self) -> bool {
        match self {
            Map::One | Map::Axis { .. } => false,
            Map::Margin(before, inner, _) => *before > 0 || inner.has_lead(),
            Map::Stride(inner, _) | Map::Modulo(inner, _) => inner.has_lead(),
            Map::Resize(inner, _) | Map::Padding(inner, _) => inner.has_lead(),
            Map::Pair(left, right) => left.has_lead() || right.has_lead(),
        }
    }

    /// Whether there are neither axes nor cuts.
    pub(crate) fn is_bare(&self) -> bool {
        match self {
            Map::One => true,
            Map::Axis { .. } | Map::Stride(..) | Map::Modulo(..) => false,
            Map::Resize(inner, _) | Map::Padding(inner, _) | Map::Margin(_, inner, _) => inner.is_bare(),
            Map::Pair(left, right) => left.is_bare() && right.is_bare(),
        }
    }

    /// Height of the tree. A node is always higher than the nodes it sends offsets to.
    pub fn height(&self) -> usize {
        match self {
            Map::One | Map::Axis { .. } => 0,
            Map::Stride(inner, _) | Map::Modulo(inner, _) => 1 + inner.height(),
            Map::Resize(inner, _) | Map::Padding(inner, _) | Map::Margin(_, inner, _) => 1 + inner.height(),
            Map::Pair(left, right) => 1 + left.height().max(right.height()),
        }
    }

    /// Whether a block with dead positions before it is cut somewhere.
    pub fn cuts_a_block(&self) -> bool {
        match self {
            Map::One | Map::Axis { .. } => false,
            Map::Stride(inner, _) | Map::Modulo(inner, _) | Map::Resize(inner, _) => inner.has_lead(),
            Map::Padding(inner, _) | Map::Margin(_, inner, _) => inner.cuts_a_block(),
            Map::Pair(left, right) => left.cuts_a_block() || right.cuts_a_block(),
        }
    }

    /// The tensor index at one position, `None` for padding.
    pub fn eval(&self, position: usize) -> Option<Coordinates> {
        union(&[(self, position)])
    }

    /// The number of positions that hold an element.
    pub fn elements(&self) -> usize {
        self.table().iter().flatten().count()
    }

    /// The tensor index of every position.
    pub fn table(&self) -> Vec<Option<Coordinates>> {
        joint_table(&[self])
    }

    /// Same size and the same cell at every position.
    pub fn equivalent(&self, other: &Map) -> bool {
        let (mut own, mut others) = (Union::new(&[self]), Union::new(&[other]));
        self.size() == other.size() && (0..self.size()).all(|p| own.at(&[p]) == others.at(&[p]))
    }

    /// Reads the grammar of `m![]`, with or without the macro name around it. `{ }` groups like `( )` and `[ ]`.
    ///
    /// # Errors
    /// Names the token that does not fit, or the rule of the constructors that is broken.
    pub fn try_parse(text: &str, axes: &[(&str, usize)]) -> Result<Map, String> {
        let text = text.trim();
        let text = match text.strip_prefix("m![") {
            Some(rest) => rest.strip_suffix(']').ok_or_else(|| format!("`{text}`: missing `]`"))?,
            None => text,
        };
        let mut parser = Parser { tokens: tokens(text)?, next: 0, axes };
        let map = parser.mapping()?;
        match parser.peek() {
            Some(token) => Err(format!("`{text}`: unexpected `{token}`")),
            None => map.validity().map(|()| map),
        }
    }

    /// As [`Map::try_parse`], for tests that know their text.
    ///
    /// # Panics
    /// With the error text of `try_parse`.
    pub fn parse(text: &str, axes: &[(&str, usize)]) -> Map {
        match Map::try_parse(text, axes) {
            Ok(map) => map,
            Err(error) => panic!("{error}"),
        }
    }

    fn text(&self, nested: bool) -> String {
        let text = match self {
            Map::One => return "1".to_string(),
            Map::Axis { name, .. } => return name.to_string(),
            Map::Stride(inner, n) => return format!("{} / {n}", inner.text(true)),
            Map::Modulo(inner, n) => return format!("{} % {n}", inner.text(true)),
            Map::Resize(inner, n) => return format!("{} = {n}", inner.text(true)),
            Map::Padding(inner, n) => return format!("{} # {n}", inner.text(true)),
            Map::Margin(before, inner, after) => {
                let mut text = inner.text(true);
                if *before > 0 {
                    text = format!("# {before} + {text}");
                }
                if *after > 0 { format!("{text} + # {after}") } else { text }
            }
            Map::Pair(left, right) => format!("{}, {}", left.text(true), right.text(false)),
        };
        if nested { format!("[{text}]") } else { text }
    }
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m![{}]", self.text(false))
    }
}

/// The tensor index at a tuple of positions, one per dimension: see [`Union::at`].
pub fn union(parts: &[(&Map, usize)]) -> Option<Coordinates> {
    let (dims, positions): (Vec<&Map>, Vec<usize>) = parts.iter().copied().unzip();
    Union::new(&dims).at(&positions)
}

/// Calls `visit` with every tuple of positions, row-major: the first dimension is the slowest.
pub fn for_each_position(dims: &[&Map], mut visit: impl FnMut(&[usize])) {
    let sizes: Vec<usize> = dims.iter().map(|dim| dim.size()).collect();
    let mut tuple = vec![0; dims.len()];
    for linear in 0..sizes.iter().product() {
        let mut rest = linear;
        for (slot, size) in tuple.iter_mut().zip(&sizes).rev() {
            *slot = rest % size;
            rest /= size;
        }
        visit(&tuple);
    }
}

/// The tensor index of every tuple of positions, row-major.
pub fn joint_table(dims: &[&Map]) -> Vec<Option<Coordinates>> {
    let (mut union, mut table) = (Union::new(dims), Vec::new());
    for_each_position(dims, |tuple| table.push(union.at(tuple)));
    table
}

/// Whether no tensor index appears at two tuples of positions.
pub fn is_injective(dims: &[&Map]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    joint_table(dims).into_iter().flatten().all(|coordinates| seen.insert(coordinates))
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut continues = false;
    for character in text.chars() {
        let word = character.is_ascii_alphanumeric() || character == '_';
        if character.is_whitespace() {
            continues = false;
            continue;
        }
        if !word && !"/%=#+,()[]{}".contains(character) {
            return Err(format!("`{text}`: unexpected `{character}`"));
        }
        if word && continues {
            tokens.last_mut().expect("a word that continues has begun").push(character);
        } else {
            tokens.push(character.to_string());
        }
        continues = word;
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<String>,
    next: usize,
    axes: &'a [(&'a str, usize)],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.next).map(String::as_str)
    }

    fn take(&mut self) -> Result<String, String> {
        let token = self.tokens.get(self.next).cloned().ok_or("the expression ends too early")?;
        self.next += 1;
        Ok(token)
    }

    fn mapping(&mut self) -> Result<Map, String> {
        let left = self.member()?;
        if self.peek() != Some(",") {
            return Ok(left);
        }
        self.next += 1;
        Ok(Map::Pair(Box::new(left), Box::new(self.mapping()?)))
    }

    /// `# n + postfix + # n`, where both amounts may be left out.
    fn member(&mut self) -> Result<Map, String> {
        let before = match self.peek() {
            Some("#") => {
                let amount = self.amount()?;
                if self.take()? != "+" {
                    return Err("`# n` is followed by `+`".to_string());
                }
                amount
            }
            _ => 0,
        };
        let inner = self.postfix()?;
        let after = match self.peek() {
            Some("+") => {
                self.next += 1;
                self.amount()?
            }
            _ => 0,
        };
        Ok(if before + after > 0 { inner.margin(before, after) } else { inner })
    }

    fn amount(&mut self) -> Result<usize, String> {
        let hash = self.take()?;
        if hash != "#" {
            return Err(format!("expected `#`, found `{hash}`"));
        }
        let number = self.take()?;
        number.parse().map_err(|_| format!("`{number}` is no plain number"))
    }

    fn postfix(&mut self) -> Result<Map, String> {
        let mut map = self.atom()?;
        while let Some(operator @ ("/" | "%" | "=" | "#")) = self.peek() {
            let operator = operator.to_string();
            self.next += 1;
            let number = self.take()?;
            let n: usize = number.parse().map_err(|_| format!("`{number}` is no plain number"))?;
            map = match operator.as_str() {
                "/" => map.stride(n),
                "%" => map.modulo(n),
                "=" => map.resize(n),
                _ => map.pad(n),
            };
        }
        Ok(map)
    }

    fn atom(&mut self) -> Result<Map, String> {
        let token = self.take()?;
        let close = match token.as_str() {
            "1" => return Ok(Map::One),
            "(" => ")",
            "[" => "]",
            "{" => "}",
            name => {
                let found = self.axes.iter().find(|(axis, _)| *axis == name);
                let (_, size) = found.ok_or_else(|| format!("`{name}` is no declared axis"))?;
                return Ok(Map::axis(name, *size));
            }
        };
        let map = self.mapping()?;
        let token = self.take()?;
        if token == close { Ok(map) } else { Err(format!("expected `{close}`, found `{token}`")) }
    }
}
