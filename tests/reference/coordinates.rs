//! The place of an element in its tensor: a coordinate for each axis.
//!
//! References make and compare millions of them. So a name is a number's worth of memory, and the coordinates of an
//! element are a list, which is quicker than a tree for the few axes that there are.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Mutex;

/// Name of an axis. All copies of a name are one text, at one address.
#[derive(Clone, Eq)]
pub struct Name(&'static str);

/// The order of two texts, which often are one.
fn order(one: &str, other: &str) -> Ordering {
    if std::ptr::eq(one, other) { Ordering::Equal } else { one.cmp(other) }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        order(self.0, other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock().expect("nothing panics with the lock");
        let name = known.get(text).copied().unwrap_or_else(|| Box::leak(text.into()));
        known.insert(name);
        Name(name)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, text: &str) -> bool {
        self.0 == text
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

/// Axis name to coordinate, without the axes whose coordinate is 0. Sorted by name.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Coordinates(Vec<(Name, usize)>);

impl Ord for Coordinates {
    fn cmp(&self, other: &Self) -> Ordering {
        for ((name, coordinate), (others, of_other)) in self.0.iter().zip(&other.0) {
            let order = order(name.0, others.0);
            if order.is_ne() {
                return order;
            }
            if coordinate != of_other {
                return coordinate.cmp(of_other);
            }
        }
        self.len().cmp(&other.len())
    }
}

impl PartialOrd for Coordinates {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Coordinates {
    /// The first element: all coordinates are 0.
    pub fn new() -> Self {
        Self::default()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| order(known.0, name))
    }

    /// The coordinate of an axis, if there is one.
    pub fn get(&self, name: &str) -> Option<&usize> {
        Some(&self.0[self.find(name).ok()?].1)
    }

    /// Number of axes whose coordinate is not 0.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if all coordinates are 0.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if there is a coordinate of the axis.
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Sets the coordinate of an axis, and returns the one that was there.
    pub fn insert(&mut self, name: impl Into<Name>, coordinate: usize) -> Option<usize> {
        let name = name.into();
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            self.0.push((name, coordinate));
            return None;
        }
        match self.find(&name) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, coordinate)),
            Err(place) => {
                self.0.insert(place, (name, coordinate));
                None
            }
        }
    }

    /// Takes out the coordinate of an axis.
    pub fn remove(&mut self, name: &str) -> Option<usize> {
        Some(self.0.remove(self.find(name).ok()?).1)
    }

    /// Keeps the coordinates for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Name, &mut usize) -> bool) {
        self.0.retain_mut(|(name, coordinate)| keep(name, coordinate));
    }

    /// Names and coordinates, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &usize)> {
        self.into_iter()
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Name> {
        self.iter().map(|(name, _)| name)
    }

    /// The names alone.
    pub fn into_keys(self) -> impl Iterator<Item = Name> {
        self.0.into_iter().map(|(name, _)| name)
    }

    /// The coordinates, by name.
    pub fn values(&self) -> impl Iterator<Item = &usize> {
        self.iter().map(|(_, coordinate)| coordinate)
    }
}

impl fmt::Debug for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a Coordinates {
    type Item = (&'a Name, &'a usize);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (Name, usize)>, fn(&'a (Name, usize)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, coordinate)| (name, coordinate))
    }
}

impl IntoIterator for Coordinates {
    type Item = (Name, usize);
    type IntoIter = std::vec::IntoIter<(Name, usize)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<Name>> Extend<(K, usize)> for Coordinates {
    fn extend<I: IntoIterator<Item = (K, usize)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(name, coordinate)| {
            self.insert(name.into(), coordinate);
        });
    }
}

impl<K: Into<Name>> FromIterator<(K, usize)> for Coordinates {
    fn from_iter<I: IntoIterator<Item = (K, usize)>>(entries: I) -> Self {
        let mut coordinates = Self::new();
        coordinates.extend(entries);
        coordinates
    }
}

impl<K: Into<Name>, const N: usize> From<[(K, usize); N]> for Coordinates {
    fn from(entries: [(K, usize); N]) -> Self {
        entries.into_iter().collect()
    }
}
