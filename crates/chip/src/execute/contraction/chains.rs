//! An order of steps in which one load of a tile serves several steps.
//!
//! The steps that add to one result are a *chain*. They keep their order, so that sums of floats give the same bits.
//! Chains that use the same tiles, one after the other, make a *group*. A kernel sums some chains of a group side by
//! side: a *block*. Groups with the same packets, one after the other, make a *family*.
//!
//! All tables are stored in the order in which a kernel reads them. For a group of three chains, with two of them
//! summed side by side:
//!
//! ```text
//!   tiles     of step 0, 1, 2, …
//!   packets   chain 0, step 0 | chain 1, step 0 | chain 0, step 1 | chain 1, step 1 | … | chain 2, step 0 | …
//!   results   of chain 0, 1, 2
//! ```

use super::job::Step;
use furiosa_visa_rules::sorting;

/// All steps, group after group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chains {
    /// The tiles of each group.
    tiles: Vec<u32>,
    /// The bytes at which the packets start.
    packets: Vec<u32>,
    /// The first result of each chain.
    results: Vec<u32>,
    groups: Vec<Size>,
    /// Chains per block.
    side: usize,
    /// Zeros, as many as the longest chain has steps.
    zeros: Vec<u32>,
}

/// Chains with the same tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    /// Steps per chain, at least one.
    len: usize,
    /// The number of chains, at least one.
    count: usize,
    /// True if the previous group has the same packets.
    repeats: bool,
}

/// Chains with the same tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<'a> {
    pub(super) tiles: &'a [u32],
    /// The packets of the group, followed by all later ones.
    packets: &'a [u32],
    /// The first result of each chain.
    pub(super) results: &'a [u32],
    side: usize,
    zeros: &'a [u32],
}

/// Groups with the same packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family<'a> {
    /// The tiles of each group.
    tiles: &'a [u32],
    /// The packets of the first group, followed by all later ones.
    packets: &'a [u32],
    /// The first result of each chain of each group.
    results: &'a [u32],
    /// Steps per chain.
    len: usize,
    /// Chains per group.
    count: usize,
    side: usize,
}

/// A block of each group of a family.
#[derive(Clone, Copy, Debug)]
pub(super) struct FamilyBlock<'a> {
    family: Family<'a>,
    /// The number of its first chain in each group.
    first: usize,
    /// Number of its chains in each group.
    pub(super) side: usize,
    /// Starts of the packets of each step, one per chain, followed by the packets of all later blocks.
    pub(super) packets: &'a [u32],
}

/// Chains of a group that are summed side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    /// The tile of each step.
    pub(super) tiles: &'a [u32],
    /// Starts of the packets of each step, one per chain, followed by the packets of all later blocks.
    pub(super) packets: &'a [u32],
    /// The first result of each chain.
    pub(super) results: &'a [u32],
}

impl Chains {
    /// Sorts steps that add to `results` results, for blocks of `side` chains. `start`: the byte at which a packet
    /// starts.
    pub(super) fn sorted(steps: &[Step], results: usize, side: usize, start: impl Fn(u32) -> u32) -> Self {
        // First counts the steps with earlier results, then holds the place of the next step of each result.
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
        sorting::by(&mut chains, |a, b| tiles(a).cmp(tiles(b)));
        let mut all = Self { side, ..Self::default() };
        chains.chunk_by(|a, b| tiles(a).eq(tiles(b))).for_each(|group| all.push(group, &start));
        all.find_families();
        all
    }

    /// Finds the groups that have the same packets as the group before.
    fn find_families(&mut self) {
        let (mut packets, mut before) = (&self.packets[..], None);
        for size in &mut self.groups {
            let (first, behind) = packets.split_at(size.len * size.count);
            size.repeats = before == Some((size.len, first));
            (before, packets) = (Some((size.len, first)), behind);
        }
    }

    /// Replaces all steps by `steps`, in their order. Each chain makes a group.
    pub(super) fn replace(&mut self, steps: &[Step], start: impl Fn(u32) -> u32) {
        self.tiles.clear();
        self.packets.clear();
        self.results.clear();
        self.groups.clear();
        self.side = 1;
        steps.chunk_by(|a, b| a.result == b.result).for_each(|chain| self.push(&[chain], &start));
    }

    /// Appends chains with the same tiles.
    fn push(&mut self, chains: &[&[Step]], start: impl Fn(u32) -> u32) {
        let len = chains[0].len();
        self.groups.push(Size { len, count: chains.len(), repeats: false });
        self.tiles.extend(chains[0].iter().map(|step| step.tile));
        self.results.extend(chains.iter().map(|chain| chain[0].result));
        for block in chains.chunks(self.side) {
            for step in 0..len {
                self.packets.extend(block.iter().map(|chain| start(chain[step].packet)));
            }
        }
        if len > self.zeros.len() {
            self.zeros.resize(len, 0);
        }
    }

    /// Moves every packet. `to`: the new start of a packet, from its old start.
    pub(super) fn move_packets(&mut self, to: impl Fn(u32) -> u32) {
        self.packets.iter_mut().for_each(|start| *start = to(*start));
        self.find_families();
    }

    /// The packets of the first block.
    pub(super) fn first(&self) -> &[u32] {
        let count = self.groups.first().map_or(0, |size| size.len * size.count.min(self.side));
        &self.packets[..count]
    }

    /// The chains with the same tiles.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let (mut tiles, mut packets, mut results) = (&self.tiles[..], &self.packets[..], &self.results[..]);
        self.groups.iter().map(move |&Size { len, count, .. }| {
            let group = Group {
                tiles: &tiles[..len],
                packets,
                results: &results[..count],
                side: self.side,
                zeros: &self.zeros,
            };
            (tiles, packets, results) = (&tiles[len..], &packets[len * count..], &results[count..]);
            group
        })
    }

    /// The groups with the same packets, as families.
    pub(super) fn families(&self) -> impl Iterator<Item = Family<'_>> {
        let (mut tiles, mut packets, mut results) = (&self.tiles[..], &self.packets[..], &self.results[..]);
        self.groups.chunk_by(|_, next| next.repeats).map(move |groups| {
            let Size { len, count, .. } = groups[0];
            let mut family = Family { tiles, packets, results, len, count, side: self.side };
            (family.tiles, tiles) = tiles.split_at(len * groups.len());
            (family.results, results) = results.split_at(count * groups.len());
            packets = &packets[len * count * groups.len()..];
            family
        })
    }
}

impl<'a> Family<'a> {
    /// The blocks of all groups. The last one may have fewer chains.
    pub(super) fn blocks(self) -> impl Iterator<Item = FamilyBlock<'a>> {
        (0..self.count).step_by(self.side).map(move |first| FamilyBlock {
            family: self,
            first,
            side: self.side.min(self.count - first),
            packets: &self.packets[first * self.len..],
        })
    }
}

impl<'a> FamilyBlock<'a> {
    /// For each group: the tile of each step, and the first result of each chain.
    pub(super) fn groups(self) -> impl ExactSizeIterator<Item = (&'a [u32], &'a [u32])> {
        let Self { family: Family { tiles, results, len, count, .. }, first, side, .. } = self;
        let results = results.chunks_exact(count).map(move |results| &results[first..][..side]);
        tiles.chunks_exact(len).zip(results)
    }

    /// The packets of all later blocks.
    pub(super) fn behind(self) -> &'a [u32] {
        &self.packets[self.family.len * self.side..]
    }
}

impl<'a> Group<'a> {
    /// The chains that are summed side by side. The last block may have fewer of them.
    pub(super) fn blocks(self) -> impl Iterator<Item = Block<'a>> {
        let Self { tiles, mut packets, results, side, .. } = self;
        results.chunks(side).map(move |results| {
            let block = Block { tiles, packets, results };
            packets = &packets[tiles.len() * results.len()..];
            block
        })
    }

    /// A chain that has one packet, at byte 0, in all steps.
    pub(super) fn of_one_packet(self) -> Block<'a> {
        Block { tiles: self.tiles, packets: &self.zeros[..self.tiles.len()], results: &[0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Per family and block: the packets, and the tiles and results of each group.
    fn families(chains: &Chains) -> Vec<Vec<(Vec<u32>, Vec<(Vec<u32>, Vec<u32>)>)>> {
        let block = |block: FamilyBlock<'_>| {
            let first = block.packets.len() - block.behind().len();
            let groups = block.groups().map(|(tiles, results)| (tiles.to_vec(), results.to_vec()));
            (block.packets[..first].to_vec(), groups.collect())
        };
        chains.families().map(|family| family.blocks().map(block).collect()).collect()
    }

    /// Tiles, packets and results of each block.
    fn blocks(chains: &Chains) -> Vec<(Vec<u32>, Vec<u32>, Vec<u32>)> {
        let blocks = chains.groups().flat_map(Group::blocks).map(|Block { tiles, packets, results }| {
            (tiles.to_vec(), packets[..tiles.len() * results.len()].to_vec(), results.to_vec())
        });
        blocks.collect()
    }

    #[test]
    fn chains_with_the_same_tiles_are_side_by_side() {
        let step = |(tile, result, packet)| Step { tile, result, packet };
        let steps = [(0, 0, 0), (2, 3, 0), (0, 6, 1), (2, 9, 1), (1, 0, 2), (3, 3, 2), (1, 6, 3), (2, 9, 3)];
        let mut chains = Chains::sorted(&steps.map(step), 12, 2, |packet| packet * 32);
        let mut expected = [
            (vec![0, 1], vec![0, 32, 64, 96], vec![0, 6]),
            (vec![2, 2], vec![32, 96], vec![9]),
            (vec![2, 3], vec![0, 64], vec![3]),
        ];
        assert_eq!(blocks(&chains), expected);
        let zeros = chains.groups().last().expect("some groups").of_one_packet();
        assert_eq!((zeros.tiles, zeros.packets, zeros.results), (&[2, 3][..], &[0, 0][..], &[0][..]));
        chains.move_packets(|start| start + 5);
        expected.iter_mut().flat_map(|(_, packets, _)| packets).for_each(|start| *start += 5);
        assert_eq!(blocks(&chains), expected);
        // Five chains of one group in blocks of two.
        let steps: Vec<Step> = (0..10).map(|k| step((k % 2, k / 2, k))).collect();
        let five = Chains::sorted(&steps, 5, 2, |packet| packet);
        let block = |packets: &[u32], results: &[u32]| (vec![0, 1], packets.to_vec(), results.to_vec());
        assert_eq!(
            blocks(&five),
            [block(&[0, 2, 1, 3], &[0, 1]), block(&[4, 6, 5, 7], &[2, 3]), block(&[8, 9], &[4])]
        );
        // A single sum, and no steps.
        let one = Chains::sorted(&[step((5, 1, 0)), step((4, 1, 1))], 2, 2, |packet| packet);
        assert_eq!(blocks(&one), [(vec![5, 4], vec![0, 1], vec![1])]);
        assert_eq!(blocks(&Chains::sorted(&[], 0, 2, |packet| packet)), []);
    }

    #[test]
    fn groups_with_the_same_packets_are_a_family() {
        // Three rows of two packets meet the tiles 0 and 1, then 2 and 3, and are fetched again. Then one of them meets
        // the tiles 4 and 5.
        let step = |tile, result, packet| Step { tile, result, packet };
        let group = |group: u32, rows: u32| {
            let row = move |row: u32| {
                (0..2).map(move |k| step(2 * group + k, 10 * group + row, 6 * group + 2 * row + k))
            };
            (0..rows).flat_map(row)
        };
        let steps: Vec<Step> = group(0, 3).chain(group(1, 3)).chain(group(2, 1)).collect();
        let mut chains = Chains::sorted(&steps, 40, 2, |packet| packet);
        assert_eq!(chains.families().count(), 3, "they are told from one another");
        assert_eq!(chains.first(), [0, 2, 1, 3]);
        chains.move_packets(|packet| packet % 6);
        let of = |tiles: [u32; 2], results: &[u32]| (tiles.to_vec(), results.to_vec());
        let first = vec![
            (vec![0, 2, 1, 3], vec![of([0, 1], &[0, 1]), of([2, 3], &[10, 11])]),
            (vec![4, 5], vec![of([0, 1], &[2]), of([2, 3], &[12])]),
        ];
        assert_eq!(families(&chains), [first, vec![(vec![0, 1], vec![of([4, 5], &[20])])]]);
        // Each chain makes a group if the order is kept.
        chains.replace(&steps, |packet| packet % 6);
        assert_eq!(chains.families().count(), 7);
        chains.replace(&[], |packet| packet);
        assert_eq!((chains.families().count(), chains.first().len()), (0, 0));
    }

    #[test]
    fn chains_keep_their_order_where_asked() {
        let step = |(tile, result, packet)| Step { tile, result, packet };
        let steps = [(0, 0, 0), (1, 0, 1), (0, 3, 2), (0, 0, 3)];
        let mut chains = Chains::default();
        for _ in 0..2 {
            chains.replace(&steps.map(step), |packet| packet * 64);
            let expected = [
                (vec![0, 1], vec![0, 64], vec![0]),
                (vec![0], vec![128], vec![3]),
                (vec![0], vec![192], vec![0]),
            ];
            assert_eq!(blocks(&chains), expected);
        }
    }
}
