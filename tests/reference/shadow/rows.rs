//! Gathers and scatters: rows of a table in HBM, which an index names.

use super::order::used;
use super::{Element, Memory, Move, Outcome, Rule, Shadow, Spot, Tensor};
use std::collections::{BTreeMap, BTreeSet};

/// A gather or a scatter.
#[derive(Clone, Debug)]
pub struct Indexed {
    /// From the table to the other side, or back.
    pub gathers: bool,
    pub table: Tensor,
    pub index: Tensor,
    pub side: Tensor,
    /// From the elements of the index to where their rows start on the other side.
    pub rows: Move,
    /// From the first row of the table to the first row of the other side.
    pub payload: Move,
    pub count: usize,
    /// Elements of the table from row to row.
    pub stride: usize,
    /// What the index counts per row.
    pub scale: usize,
    /// The last one wins where a row is named twice.
    pub last_wins: bool,
}

impl Indexed {
    /// What is read, and what is written.
    pub(super) fn ends(&self) -> (&Tensor, &Tensor) {
        if self.gathers { (&self.table, &self.side) } else { (&self.side, &self.table) }
    }

    /// The spots of a row in the table and on the other side, for an element of the index.
    fn row(&self, row: usize, side: Spot) -> Vec<(Spot, Spot)> {
        let moved = |(a, b): (Spot, Spot)| ((a.0, a.1 + row * self.stride), (side.0 + b.0, side.1 + b.1));
        self.payload.pairs().into_iter().map(moved).collect()
    }

    /// Every spot of the table that may be used, and every one of the other side that is.
    fn spots(&self) -> (Vec<Spot>, Vec<Spot>) {
        let table = (0..self.count).flat_map(|row| self.row(row, (0, 0))).map(|(a, _)| a).collect();
        let side =
            self.rows.pairs().into_iter().flat_map(|(_, side)| self.row(0, side)).map(|(_, b)| b).collect();
        (table, side)
    }

    /// Whether it uses places that are no elements of its tensors.
    pub(super) fn strays(&self) -> bool {
        let outside = |tensor: &Tensor, spots: Vec<Spot>| {
            spots.into_iter().any(|spot| spot.1 >= tensor.elements || !tensor.is_live(spot.1))
        };
        let (table, side) = self.spots();
        let index = self.rows.pairs().into_iter().map(|(a, _)| a).collect();
        outside(&self.table, table) || outside(&self.side, side) || outside(&self.index, index)
    }
}

impl Shadow {
    pub(super) fn rows(&mut self, own: &Indexed) -> Outcome {
        let mut broken = BTreeSet::new();
        let (from, to) = own.ends();
        let reached: [(&Tensor, &[Memory]); 3] = [
            (&own.table, &[Memory::Hbm]),
            (&own.side, &[Memory::Dm]),
            (&own.index, &[Memory::Hbm, Memory::Dm]),
        ];
        for (tensor, reached) in reached {
            if !reached.contains(&tensor.memory) {
                broken.insert(Rule::Unsupported);
            }
            if tensor.address < (tensor.before() * tensor.kind.bytes()) as u64 {
                broken.insert(Rule::Form);
            }
            if tensor.leaves_memory() {
                broken.insert(Rule::Bounds);
            }
            if !tensor.address.is_multiple_of(tensor.kind.bytes() as u64) {
                broken.insert(Rule::Misaligned);
            }
            self.reads_well(tensor, &mut broken);
        }
        // What a gather writes may have been anything before.
        if own.gathers {
            broken.remove(&Rule::Stale);
            self.reads_well(from, &mut broken);
            self.reads_well(&own.index, &mut broken);
        }
        if own.gathers && [from, to].iter().any(|tensor| !tensor.address.is_multiple_of(8)) {
            broken.insert(Rule::Misaligned);
        }
        let (table, side) = own.spots();
        self.spots_well(to, if own.gathers { side } else { table }.into_iter(), &mut broken);
        let (mine, theirs) = (used(&own.index, false), used(to, true));
        if mine.memory == theirs.memory
            && !mine.bytes.is_disjoint(&theirs.bytes)
            && !mine.units.is_disjoint(&theirs.units)
        {
            broken.insert(Rule::Overwrite);
        }
        if !broken.is_empty() {
            return Err(broken);
        }
        // In the order of the index.
        let mut keys = own.rows.pairs();
        keys.sort_unstable();
        let mut list = Vec::new();
        for (spot, side) in keys {
            let Some(bytes) = self.element(&own.index, spot.0, spot.1 as isize) else {
                broken.insert(Rule::Uninitialised);
                continue;
            };
            let number = i64::from(i32::from_le_bytes(bytes.try_into().expect("an i32")));
            let scale = own.scale as i64;
            if !(0..own.count as i64).contains(&number.div_euclid(scale)) {
                broken.insert(Rule::Bounds);
            } else if number % scale != 0 {
                broken.insert(Rule::Misaligned);
            } else {
                list.push(((number / scale) as usize, side));
            }
        }
        if !broken.is_empty() {
            return Err(broken);
        }
        let mut values: Vec<(Spot, Element)> = Vec::new();
        let mut named: BTreeMap<usize, Vec<Element>> = BTreeMap::new();
        for (row, side) in list {
            let (mut spots, mut content) = (Vec::new(), Vec::new());
            for (a, b) in own.row(row, side) {
                let (read, written) = if own.gathers { (a, b) } else { (b, a) };
                spots.push(written);
                content.push(self.element(from, read.0, read.1 as isize));
            }
            values.extend(spots.into_iter().zip(content.iter().cloned()));
            if !own.gathers
                && !own.last_wins
                && named.insert(row, content.clone()).is_some_and(|old| old != content)
            {
                broken.insert(Rule::Twice);
            }
        }
        if !broken.is_empty() {
            return Err(broken);
        }
        self.in_order(2, vec![used(from, false), used(&own.index, false), used(to, true)])?;
        self.begin(to);
        for (spot, value) in values {
            self.put(to, spot, value.as_deref());
        }
        self.note(to);
        Ok(Vec::new())
    }
}
