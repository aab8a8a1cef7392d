//! Slices on several threads.
//!
//! The thread pool gets its work as a trait object, so that its own code is compiled once and not for each kind of work.

#[cfg(feature = "parallel")]
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Smallest number of slices that a thread takes.
pub(super) const LEAST_SLICES: usize = 4;

/// Number of threads.
pub(super) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Does the work of shares by their numbers, on all threads. The order is not defined. The caller does a single share by
/// itself: handing it to the thread pool takes longer than many a pass.
fn share(shares: usize, work: &(dyn Fn(usize) + Sync)) {
    #[cfg(feature = "parallel")]
    if shares > 1 {
        return (0..shares).into_par_iter().for_each(work);
    }
    (0..shares).for_each(work);
}

/// Number of items in a share: `least`, or as many as there are if there is one thread.
fn items_per_share(items: usize, least: usize) -> usize {
    if threads() == 1 { items.max(1) } else { least }
}

/// Locks what a share alone uses, or what is used for a moment. The panic of another share is passed on by the pool.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Buffers that a share leaves for the next one.
struct Spare<B>(Mutex<Vec<B>>);

impl<B: Default> Spare<B> {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn with<R>(&self, work: impl FnOnce(&mut B) -> R) -> R {
        let known = locked(&self.0).pop();
        let mut buffers = known.unwrap_or_default();
        let result = work(&mut buffers);
        locked(&self.0).push(buffers);
        result
    }
}

/// Does some work with all items and their numbers. Each thread takes `least` items at a time, and has buffers.
pub(super) fn each<T: Send, B: Default + Send>(
    items: &mut [T],
    least: usize,
    work: impl Fn(&mut B, usize, &mut T) + Sync,
) {
    let count = items_per_share(items.len(), least);
    let shares: Vec<Mutex<&mut [T]>> = items.chunks_mut(count).map(Mutex::new).collect();
    let spare = Spare::new();
    share(shares.len(), &|share| {
        spare.with(|buffers| {
            let mut items = locked(&shares[share]);
            (share * count..).zip(items.iter_mut()).for_each(|(number, item)| work(buffers, number, item));
        });
    });
}

/// The result of the first item that has one. Threads take items as in [`each`].
pub(super) fn first<T: Sync, B: Default + Send, R: Send>(
    items: &[T],
    least: usize,
    find: impl Fn(&mut B, usize, &T) -> Option<R> + Sync,
) -> Option<R> {
    let count = items_per_share(items.len(), least);
    let shares: Vec<&[T]> = items.chunks(count).collect();
    let spare = Spare::new();
    // The result of the first share that has one so far, and its number.
    let found = Mutex::new(None);
    share(shares.len(), &|share| {
        let is_first = |found: &Option<(usize, R)>| found.as_ref().is_none_or(|(number, _)| share < *number);
        if !is_first(&locked(&found)) {
            return;
        }
        let mut numbered = (share * count..).zip(shares[share]);
        let result = spare.with(|buffers| numbered.find_map(|(number, item)| find(buffers, number, item)));
        let mut found = locked(&found);
        if result.is_some() && is_first(&found) {
            *found = result.map(|result| (share, result));
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, result)| result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a test on one thread and on three, however many the machine has.
    fn on_threads(test: impl Fn() + Sync) {
        #[cfg(feature = "parallel")]
        for count in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads start");
            pool.install(|| {
                assert_eq!(threads(), count);
                test();
            });
        }
        #[cfg(not(feature = "parallel"))]
        test();
    }

    #[test]
    fn every_item_has_its_turn_under_its_number() {
        on_threads(|| {
            for count in [0, 1, 4, 5, 63, 256] {
                for least in [1, 4, 7] {
                    let mut items: Vec<(usize, usize)> = (0..count).map(|k| (k, 0)).collect();
                    each(&mut items, least, |(): &mut (), number, item| {
                        assert_eq!(number, item.0);
                        item.1 += 1;
                    });
                    assert!(items.iter().all(|(_, turns)| *turns == 1), "{count}, {least}: {items:?}");
                }
            }
        });
    }

    /// Buffers go from share to share: there are never more than threads.
    #[test]
    fn a_thread_has_buffers() {
        on_threads(|| {
            let made = Mutex::new(0);
            each(&mut [0; 256], 4, |turns: &mut usize, _, _| {
                *locked(&made) += usize::from(*turns == 0);
                *turns += 1;
            });
            let made = *locked(&made);
            assert!((1..=threads()).contains(&made), "{made} of {} threads", threads());
        });
    }

    #[test]
    fn the_first_result_is_found() {
        let items: Vec<usize> = (0..256).collect();
        on_threads(|| {
            for from in [0, 1, 3, 4, 100, 255, 256] {
                let found = first(&items, 4, |(): &mut (), number, item| {
                    assert_eq!(number, *item);
                    (number >= from).then_some(number)
                });
                assert_eq!(found, (from < 256).then_some(from));
            }
        });
    }

    #[test]
    fn a_panic_is_passed_on() {
        on_threads(|| {
            let work =
                || each(&mut [0; 100], 4, |(): &mut (), number, _| assert!(number != 77, "item {number}"));
            let panic = std::panic::catch_unwind(work).expect_err("one item panics");
            assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("item 77"));
        });
    }
}
