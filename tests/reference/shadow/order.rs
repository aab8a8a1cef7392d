//! The order between contexts: what certainly has happened before.

use super::{Memory, Rule, Shadow, Tensor};
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) struct Used {
    pub(super) memory: Memory,
    pub(super) fill: u64,
    pub(super) writes: bool,
    /// Bytes in each unit, padding included.
    pub(super) spans: Vec<Range<u64>>,
    pub(super) bytes: BTreeSet<u64>,
    pub(super) units: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) context: usize,
    pub(super) uses: Vec<Used>,
    /// What certainly has happened before.
    pub(super) before: BTreeSet<usize>,
}

impl Shadow {
    /// Whether everything that shares bytes with it has happened before.
    pub(super) fn in_order(&mut self, context: usize, uses: Vec<Used>) -> Result<(), BTreeSet<Rule>> {
        let mut before = BTreeSet::new();
        let conflict = |a: &Used, b: &Used| {
            let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
            (a.writes || b.writes)
                && a.memory == b.memory
                && a.spans.iter().any(|a| b.spans.iter().any(|b| meet(a, b)))
        };
        for (k, old) in self.done.iter().enumerate() {
            let related = |a: &Used, b: &Used| conflict(a, b) && a.fill != 0 && b.fill != 0;
            if old.context == context || uses.iter().any(|new| old.uses.iter().any(|old| related(new, old))) {
                before.insert(k);
                before.extend(&old.before);
            }
        }
        for (_, old) in self.done.iter().enumerate().filter(|(k, _)| !before.contains(k)) {
            let shares = |a: &Used, b: &Used| {
                conflict(a, b) && !a.bytes.is_disjoint(&b.bytes) && !a.units.is_disjoint(&b.units)
            };
            if uses.iter().any(|new| old.uses.iter().any(|old| shares(new, old))) {
                return Err(BTreeSet::from([Rule::Unordered]));
            }
        }
        self.done.push(Done { context, uses, before });
        Ok(())
    }
}

pub(super) fn used(tensor: &Tensor, writes: bool) -> Used {
    let end = tensor.address + tensor.bytes() as u64;
    Used {
        memory: tensor.memory,
        fill: tensor.fill,
        writes,
        spans: core::iter::once(tensor.address..end).collect(),
        bytes: tensor.live_bytes().into_iter().collect(),
        units: tensor.units().into_iter().collect(),
    }
}
