//! A list of fixed capacity, and loops, that work in const evaluation.
//!
//! Plans are computed by the compiler, which cannot allocate. The same lists are plain data at run time, inside
//! commands.

/// Loop over `k` for const code, which has no `for`: `each!(k < list.len, { … })` from 0 on, `each!((k = 1) < list.len,
/// { … })` from another number. The limit is evaluated once: a list that grows in its loop needs `while`.
macro_rules! each {
    ($k:ident < $($rest:tt)*) => { each!(($k = 0) < $($rest)*) };
    (($k:ident = $start:expr) < $limit:expr, { $($body:tt)* }) => {{
        let mut next = $start;
        let limit = $limit;
        while next < limit {
            let $k = next;
            next += 1;
            $($body)*
        }
    }};
}

/// Loop as [`each`], from the last `k` below the limit down to 0.
macro_rules! each_back {
    ($k:ident < $limit:expr, { $($body:tt)* }) => {{
        let mut rest = $limit;
        while rest > 0 {
            rest -= 1;
            let $k = rest;
            $($body)*
        }
    }};
}

/// A reference to a value that a constant makes: `const X: &'static T = kept!(make())`. With `&make()` the value would be a
/// constant of its own, and the compiler would validate it once more.
#[doc(hidden)]
#[macro_export]
macro_rules! kept {
    ($value:expr) => {
        &{
            let value = $value;
            value
        }
    };
}
#[doc(hidden)]
pub use kept;

/// A list of at most `CAPACITY` items, in order.
///
/// Loops of derivations read the fields directly: in const evaluation a call costs as much as ten statements, and a
/// slice as much as thirty calls.
#[derive(Clone, Copy)]
pub struct List<T: Copy, const CAPACITY: usize> {
    /// The items, followed by blanks.
    pub items: [T; CAPACITY],
    /// The number of items.
    pub len: usize,
    /// True if an item was left out.
    pub overflowed: bool,
}

impl<T: Copy, const CAPACITY: usize> List<T, CAPACITY> {
    /// An empty list. `blank` fills the unused places and is never read.
    pub const fn new(blank: T) -> Self {
        Self { items: [blank; CAPACITY], len: 0, overflowed: false }
    }

    /// The number of items.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if there are no items.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if an item was left out because the list was full. Code that fills a list checks this at the end.
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The item at `position`.
    #[track_caller]
    pub const fn at(&self, position: usize) -> T {
        assert!(position < self.len, "list position past its end");
        self.items[position]
    }

    /// A reference to the item at `position`. Cheaper than [`Self::at`] in const code, where copies cost time.
    #[track_caller]
    pub const fn get(&self, position: usize) -> &T {
        assert!(position < self.len, "list position past its end");
        &self.items[position]
    }

    /// The last item.
    pub const fn last(&self) -> Option<T> {
        if self.len == 0 { None } else { Some(self.items[self.len - 1]) }
    }

    /// Appends an item. A full list stays as it is and records the overflow.
    pub const fn push(&mut self, item: T) {
        if self.len == CAPACITY {
            self.overflowed = true;
        } else {
            self.items[self.len] = item;
            self.len += 1;
        }
    }

    /// Removes and returns the last item.
    pub const fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        Some(self.items[self.len])
    }

    /// Replaces the item at `position`.
    #[track_caller]
    pub const fn set(&mut self, position: usize, item: T) {
        assert!(position < self.len, "list position past its end");
        self.items[position] = item;
    }

    /// Inserts an item before `position`.
    #[track_caller]
    pub const fn insert(&mut self, position: usize, item: T) {
        assert!(position <= self.len, "list position past its end");
        self.push(item);
        if self.overflowed {
            return;
        }
        let mut k = self.len - 1;
        while k > position {
            self.items[k] = self.items[k - 1];
            k -= 1;
        }
        self.items[position] = item;
    }

    /// Removes the item at `position`.
    #[track_caller]
    pub const fn remove(&mut self, position: usize) -> T {
        assert!(position < self.len, "list position past its end");
        let item = self.items[position];
        let mut k = position + 1;
        while k < self.len {
            self.items[k - 1] = self.items[k];
            k += 1;
        }
        self.len -= 1;
        item
    }

    /// Keeps the first `len` items.
    pub const fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
        }
    }

    /// The items.
    pub const fn as_slice(&self) -> &[T] {
        self.items.split_at(self.len).0
    }

    /// The items, mutable.
    pub const fn as_mut_slice(&mut self) -> &mut [T] {
        self.items.split_at_mut(self.len).0
    }

    /// Iterates over the items.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.as_slice().iter()
    }
}

impl<T: Copy + core::fmt::Debug, const CAPACITY: usize> core::fmt::Debug for List<T, CAPACITY> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Copy + PartialEq, const CAPACITY: usize> PartialEq for List<T, CAPACITY> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + Eq, const CAPACITY: usize> Eq for List<T, CAPACITY> {}

impl<'a, T: Copy, const CAPACITY: usize> IntoIterator for &'a List<T, CAPACITY> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn full_list_takes_its_capacity_and_reports_one_more() {
        let mut list = List::<u8, 2>::new(0);
        list.push(1);
        list.push(2);
        assert!(!list.overflowed());
        list.push(3);
        assert!(list.overflowed());
        assert_eq!(list.as_slice(), [1, 2]);
    }

    #[test]
    fn insert_and_remove_keep_the_order() {
        let mut list = List::<u8, 4>::new(0);
        list.push(1);
        list.push(3);
        list.insert(1, 2);
        list.insert(0, 0);
        assert_eq!(list.as_slice(), [0, 1, 2, 3]);
        assert_eq!(list.remove(1), 1);
        assert_eq!(list.as_slice(), [0, 2, 3]);
        assert_eq!(list.pop(), Some(3));
    }
}
