//! A list of values of a call, of limited length.

use crate::error::PlanError;
use crate::runtime::late::planned_check;
use crate::text::Text;
use core::ops::{Deref, DerefMut};

const TOO_MANY: &str = "ArrayVec: the array has more items than the list; help: give fewer";

/// A list of at most `CAP` items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayVec<T, const CAP: usize> {
    items: Vec<T>,
}

impl<T, const CAP: usize> ArrayVec<T, CAP> {
    /// The items of an array. Refused while compiling: more than `CAP` items.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn new<const N: usize>(items: [T; N]) -> Self {
        planned_check!(if N <= CAP {
            Ok(())
        } else {
            Err(PlanError::new("items", Text::new().str(TOO_MANY)))
        });
        Self { items: Vec::from(items) }
    }

    /// A list of items that the caller has counted.
    pub(super) fn of(items: Vec<T>) -> Self {
        Self { items }
    }

    /// A list without items.
    pub const fn empty() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T, const CAP: usize> Default for ArrayVec<T, CAP> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T, const CAP: usize> Deref for ArrayVec<T, CAP> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T, const CAP: usize> DerefMut for ArrayVec<T, CAP> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T, const CAP: usize> IntoIterator for ArrayVec<T, CAP> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T, const CAP: usize> IntoIterator for &'a ArrayVec<T, CAP> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, T, const CAP: usize> IntoIterator for &'a mut ArrayVec<T, CAP> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_its_items() {
        let mut list = ArrayVec::<i32, 5>::new([1, 2, 3]);
        list.iter_mut().for_each(|item| *item *= 2);
        for item in &mut list {
            *item += 1;
        }
        assert_eq!((&list).into_iter().copied().collect::<Vec<_>>(), [3, 5, 7]);
        assert_eq!(list.clone().into_iter().sum::<i32>(), 15);
        assert_eq!(list.len(), 3);
        assert!(ArrayVec::<i32, 0>::default().is_empty() && ArrayVec::<i32, 5>::new([0; 5]).len() == 5);
    }
}
