//! Sorting that is compiled once, and not for each type and each key.
//!
//! A sort of the standard library is some 1600 lines of intermediate code for each type and key. That is worth it where
//! many elements are sorted often; the lists of a command or a report are short.

use core::cmp::Ordering;

/// Sorts `items` in ascending order. Equal elements keep their order.
///
/// ```
/// use furiosa_visa_rules::sorting;
/// let mut names = ["m", "k", "n"];
/// sorting::ascending(&mut names);
/// assert_eq!(names, ["k", "m", "n"]);
/// ```
pub fn ascending<T: Ord>(items: &mut [T]) {
    by(items, T::cmp);
}

/// Sorts `items` by a key of each, which is asked for at every comparison. Elements of one key keep their order.
pub fn by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts `items` by `compare`. Equal elements keep their order.
pub fn by<T, F: Fn(&T, &T) -> Ordering>(items: &mut [T], compare: F) {
    sort(items.len(), &mut By { items, compare });
}

/// Elements by their places.
trait Items {
    fn compare(&self, a: usize, b: usize) -> Ordering;
    fn swap(&mut self, a: usize, b: usize);
}

struct By<'a, T, F> {
    items: &'a mut [T],
    compare: F,
}

impl<T, F: Fn(&T, &T) -> Ordering> Items for By<'_, T, F> {
    fn compare(&self, a: usize, b: usize) -> Ordering {
        (self.compare)(&self.items[a], &self.items[b])
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.items.swap(a, b);
    }
}

/// The elements of a list that is sorted in place, without an allocation.
const SHORT: usize = 20;

fn sort(count: usize, items: &mut dyn Items) {
    if count <= SHORT {
        for unsorted in 1..count {
            for k in (1..=unsorted).rev() {
                if items.compare(k - 1, k).is_le() {
                    break;
                }
                items.swap(k - 1, k);
            }
        }
        return;
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| items.compare(a, b));
    // Each cycle of the permutation moves by swaps: the element that began at `first` goes along, and ends in the last place.
    for first in 0..count {
        let mut at = first;
        loop {
            let from = core::mem::replace(&mut order[at], at);
            if from == first {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn elements_are_in_the_order_of_the_standard_sort() {
        let mut rng = SmallRng::seed_from_u64(0x5047);
        for count in (0..70).chain([SHORT, SHORT + 1, 500]) {
            for keys in [1, 2, count as u32 / 2 + 1, 1000] {
                let items: Vec<(u32, usize)> = (0..count).map(|k| (rng.random_range(0..keys), k)).collect();
                let (mut ours, mut theirs) = (items.clone(), items.clone());
                by_key(&mut ours, |&(key, _)| key);
                theirs.sort_by_key(|&(key, _)| key);
                assert_eq!(ours, theirs, "by key, {items:?}");
                by(&mut ours, |a, b| b.cmp(a));
                theirs.sort_by(|a, b| b.cmp(a));
                assert_eq!(ours, theirs, "descending, {items:?}");
                ascending(&mut ours);
                theirs.sort();
                assert_eq!(ours, theirs, "ascending, {items:?}");
            }
        }
    }
}
