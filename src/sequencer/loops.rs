//! Nests of loops that are built from the inside out, and made as long as a block of positions is.

use super::config::{DERIVED_ENTRIES, Entry};
use crate::list::List;

/// Loops, innermost first.
pub(super) type Loops = List<Entry, DERIVED_ENTRIES>;

/// Appends loops that are given innermost first to a list that is outermost first.
pub(super) const fn append_reversed(outer: &mut Loops, inner: &Loops) {
    let mut k = inner.len();
    while k > 0 {
        k -= 1;
        outer.push(inner.at(k));
    }
}

/// Makes the loops from `first` on `positions` in all: the outermost loops that make one run become as long as that
/// takes. What is cut off or added is padding, or is not asked for.
pub(super) const fn fit(loops: &mut Loops, first: usize, positions: usize) -> bool {
    if loops.overflowed() {
        return false;
    }
    let mut inside = 1;
    let mut k = first;
    while k < loops.len() {
        inside *= loops.at(k).size;
        k += 1;
    }
    if inside == positions {
        return true;
    }
    let mut run: Option<Entry> = None;
    while loops.len() > first {
        let outer = loops.at(loops.len() - 1);
        inside /= outer.size;
        if let Some(run) = run
            && !run.continues(&outer)
        {
            return false;
        }
        loops.truncate(loops.len() - 1);
        let size = positions / inside;
        if positions.is_multiple_of(inside) {
            if size > 1 {
                loops.push(Entry { size, stride: outer.stride });
            }
            return true;
        }
        // With less than one turn, everything that is asked for lies inside.
        run = if size == 0 { None } else { Some(outer) };
    }
    // No loop at all.
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loops, innermost first, after [`fit`] to `positions`.
    fn fitted(list: &[(usize, isize)], first: usize, positions: usize) -> Option<Vec<(usize, isize)>> {
        let mut loops = List::new(Entry { size: 1, stride: 0 });
        list.iter().for_each(|&(size, stride)| loops.push(Entry { size, stride }));
        let fits = fit(&mut loops, first, positions);
        fits.then(|| loops.iter().map(|entry| (entry.size, entry.stride)).collect())
    }

    #[test]
    fn the_outermost_loop_is_as_long_as_it_takes() {
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 12), Some(vec![(4, 1), (3, 8)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 20), Some(vec![(4, 1), (5, 8)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 8), Some(vec![(4, 1), (2, 8)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 4), Some(vec![(4, 1)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 2), Some(vec![(2, 1)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 1), Some(vec![]));
        assert_eq!(fitted(&[], 0, 1), Some(vec![]));
        assert_eq!(fitted(&[], 0, 4), None);
    }

    #[test]
    fn a_list_that_is_full_is_no_nest() {
        // All of them repeat: one run, which could be cut to any length.
        let all = [(2, 0); DERIVED_ENTRIES + 1];
        assert_eq!(fitted(&all[..DERIVED_ENTRIES], 0, 3), Some(vec![(3, 0)]));
        assert_eq!(fitted(&all, 0, 3), None);
        assert_eq!(fitted(&all, 0, 1 << DERIVED_ENTRIES), None);
    }

    #[test]
    fn a_run_is_cut_anywhere_and_others_are_not() {
        assert_eq!(fitted(&[(4, 1), (3, 8)], 0, 10), None);
        assert_eq!(fitted(&[(4, 1), (3, 4)], 0, 10), Some(vec![(10, 1)]));
        assert_eq!(fitted(&[(2, 9), (4, 1), (3, 4)], 0, 14), Some(vec![(2, 9), (7, 1)]));
        assert_eq!(fitted(&[(2, 9), (4, 1), (3, 4)], 0, 15), None);
        // What is before the first loop stays.
        assert_eq!(fitted(&[(2, 9), (4, 1), (3, 4)], 1, 15), Some(vec![(2, 9), (15, 1)]));
        // Repeating is a run as well.
        assert_eq!(fitted(&[(4, 0), (3, 0)], 0, 7), Some(vec![(7, 0)]));
    }
}
