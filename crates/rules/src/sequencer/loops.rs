//! Nests of loops that are built from the inside out, and resized to a number of positions.

use super::config::{DERIVED_ENTRIES, Entry};
use crate::list::List;

/// Loops, innermost first.
pub(super) type Loops = List<Entry, DERIVED_ENTRIES>;

pub(super) const NO_LOOPS: Loops = List::new(Entry { size: 1, stride: 0 });

/// Positions that the loops walk over.
pub(super) const fn positions(loops: &Loops) -> usize {
    let mut positions = 1;
    each!(k < loops.len, {
        positions *= loops.items[k].size;
    });
    positions
}

/// Resizes the loops to `wanted` positions: the outermost loops, if they make one run, become one loop of the length
/// that this takes. Positions cut off or added are padding. False if no loops walk over as many positions.
pub(super) const fn fit(loops: &mut Loops, wanted: usize) -> bool {
    if loops.overflowed {
        return false;
    }
    let mut inside = positions(loops);
    if inside == wanted {
        return true;
    }
    let mut run: Option<Entry> = None;
    while loops.len > 0 {
        let outer = loops.items[loops.len - 1];
        inside /= outer.size;
        if let Some(run) = run
            && !run.continues(&outer)
        {
            return false;
        }
        loops.truncate(loops.len - 1);
        if wanted.is_multiple_of(inside) {
            if wanted > inside {
                loops.push(Entry { size: wanted / inside, stride: outer.stride });
            }
            return true;
        }
        // With less than one turn of this loop, all wanted positions lie inside it.
        run = if wanted < inside { None } else { Some(outer) };
    }
    false
}

/// Joins all loops to one, if they are one run.
pub(super) const fn join(loops: &mut Loops) {
    let mut k = 1;
    while k < loops.len {
        if !loops.items[k].continues(&loops.items[k - 1]) {
            return;
        }
        k += 1;
    }
    if loops.len > 0 {
        let run = Entry { size: positions(loops), stride: loops.items[0].stride };
        loops.truncate(0);
        loops.push(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(list: &[(usize, isize)]) -> Loops {
        let mut loops = NO_LOOPS;
        list.iter().for_each(|&(size, stride)| loops.push(Entry { size, stride }));
        loops
    }

    fn shown(loops: &Loops) -> Vec<(usize, isize)> {
        loops.iter().map(|entry| (entry.size, entry.stride)).collect()
    }

    /// The loops, innermost first, after [`fit`] to `positions`.
    fn fitted(list: &[(usize, isize)], positions: usize) -> Option<Vec<(usize, isize)>> {
        let mut loops = loops(list);
        fit(&mut loops, positions).then(|| shown(&loops))
    }

    #[test]
    fn the_outermost_loop_is_as_long_as_it_takes() {
        assert_eq!(fitted(&[(4, 1), (3, 8)], 12), Some(vec![(4, 1), (3, 8)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 20), Some(vec![(4, 1), (5, 8)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 8), Some(vec![(4, 1), (2, 8)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 4), Some(vec![(4, 1)]));
        assert_eq!(fitted(&[(4, 1), (3, 8)], 2), Some(vec![(2, 1)]));
        assert_eq!(fitted(&[], 1), Some(vec![]));
        assert_eq!(fitted(&[], 4), None);
    }

    #[test]
    fn a_list_that_is_full_is_no_nest() {
        // All entries repeat one position: one run, which could be cut to any length.
        let all = [(2, 0); DERIVED_ENTRIES + 1];
        assert_eq!(fitted(&all[..DERIVED_ENTRIES], 3), Some(vec![(3, 0)]));
        assert_eq!(fitted(&all, 3), None);
        assert_eq!(fitted(&all, 1 << DERIVED_ENTRIES), None);
    }

    #[test]
    fn a_run_is_cut_anywhere_and_others_are_not() {
        assert_eq!(fitted(&[(4, 1), (3, 8)], 10), None);
        assert_eq!(fitted(&[(4, 1), (3, 4)], 10), Some(vec![(10, 1)]));
        assert_eq!(fitted(&[(2, 9), (4, 1), (3, 4)], 14), Some(vec![(2, 9), (7, 1)]));
        assert_eq!(fitted(&[(2, 9), (4, 1), (3, 4)], 15), None);
        // Loops of stride 0 are a run as well.
        assert_eq!(fitted(&[(4, 0), (3, 0)], 7), Some(vec![(7, 0)]));
    }

    #[test]
    fn runs_are_one_loop() {
        let joined = |list: &[(usize, isize)]| {
            let mut loops = loops(list);
            join(&mut loops);
            shown(&loops)
        };
        assert_eq!(joined(&[(2, 3), (5, 6), (3, 30)]), [(30, 3)]);
        assert_eq!(joined(&[(2, 3), (5, 6), (3, 31)]), [(2, 3), (5, 6), (3, 31)]);
        assert_eq!(joined(&[]), []);
    }
}
