//! Steps in an order in which a tile is loaded once for several of them.
//!
//! The steps that add to one result are a *chain*. They keep their order, so that sums of floats are the same bits. Chains
//! that use the same tiles, one after the other, are summed side by side.

use super::job::Step;

/// All steps, chain after chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chains {
    /// The steps of the first group's first chain, those of its second one, and so on.
    pub(super) steps: Vec<Step>,
    /// The chains with the same tiles.
    pub(super) groups: Vec<Group>,
}

/// Chains with the same tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Steps per chain, at least one.
    pub(super) len: usize,
    /// The number of chains.
    pub(super) count: usize,
}

impl Chains {
    /// Sorts steps that add to `results` results.
    pub(super) fn new(steps: &[Step], results: usize) -> Self {
        // How many steps have results before a given one; then, where the next step of a result goes.
        let mut places = vec![0; results + 1];
        steps.iter().for_each(|step| places[step.result as usize + 1] += 1);
        (0..results).for_each(|result| places[result + 1] += places[result]);
        let mut sorted = steps.to_vec();
        for step in steps {
            let place = &mut places[step.result as usize];
            sorted[*place] = *step;
            *place += 1;
        }
        let mut chains: Vec<&[Step]> = sorted.chunk_by(|a, b| a.result == b.result).collect();
        fn tiles(chain: &[Step]) -> impl Iterator<Item = u32> {
            chain.iter().map(|step| step.tile)
        }
        chains.sort_by(|a, b| tiles(a).cmp(tiles(b)));
        let groups = chains.chunk_by(|a, b| tiles(a).eq(tiles(b)));
        let groups = groups.map(|group| Group { len: group[0].len(), count: group.len() }).collect();
        Self { steps: chains.concat(), groups }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_with_the_same_tiles_are_neighbours() {
        let step = |(tile, result, packet)| Step { tile, result, packet };
        let steps = [(0, 0, 0), (2, 3, 0), (0, 6, 1), (2, 9, 1), (1, 0, 2), (3, 3, 2), (1, 6, 3), (2, 9, 3)];
        let chains = Chains::new(&steps.map(step), 12);
        let group = |len, count| Group { len, count };
        assert_eq!(chains.groups, [group(2, 2), group(2, 1), group(2, 1)]);
        let sorted = [(0, 0, 0), (1, 0, 2), (0, 6, 1), (1, 6, 3), (2, 9, 1), (2, 9, 3), (2, 3, 0), (3, 3, 2)];
        assert_eq!(chains.steps, sorted.map(step));
        // The sum of everything, and nothing.
        let one = Chains::new(&[step((5, 1, 0)), step((4, 1, 1))], 2);
        assert_eq!(one.groups, [group(2, 1)]);
        assert_eq!(one.steps, [step((5, 1, 0)), step((4, 1, 1))]);
        assert_eq!(Chains::new(&[], 0), Chains { steps: vec![], groups: vec![] });
    }
}
