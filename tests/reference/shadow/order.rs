//! The order between contexts: what certainly has happened before.

use super::{Memory, Rule, Shadow, Tensor};
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) struct Used {
    pub(super) memory: Memory,
    pub(super) fill: u64,
    pub(super) writes: bool,
    /// Bytes in each unit, padding included, but of a tile up to its last element.
    pub(super) spans: Vec<Range<u64>>,
    pub(super) bytes: BTreeSet<u64>,
    pub(super) units: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Done {
    context: usize,
    uses: Vec<Used>,
    /// What certainly has happened before.
    before: BTreeSet<usize>,
}

impl Used {
    /// Whether one of the two writes what the other one spans.
    fn conflicts(&self, other: &Used) -> bool {
        let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        (self.writes || other.writes)
            && self.memory == other.memory
            && self.spans.iter().any(|a| other.spans.iter().any(|b| meet(a, b)))
    }

    /// Whether handles say so: those that the system made, or the same one made from a bare address.
    fn is_known_to(&self, other: &Used) -> bool {
        let known = |fill: u64| fill != 0 && fill < BARE;
        known(self.fill) && known(other.fill) || self.fill == other.fill && self.fill != 0
    }

    /// The rule that two conflicting uses break where nothing orders them.
    fn broken_after(&self, old: &Used) -> Rule {
        let registers = matches!(self.memory, Memory::Trf | Memory::Vrf);
        if registers && self.writes && !old.writes { Rule::Reuse } else { Rule::Unordered }
    }
}

impl Done {
    /// Later uses that conflict with one of its own.
    fn conflicts<'a>(&'a self, later: &'a [Used]) -> impl Iterator<Item = (&'a Used, &'a Used)> {
        let pairs = later.iter().flat_map(|new| self.uses.iter().map(move |old| (new, old)));
        pairs.filter(|(new, old)| new.conflicts(old))
    }
}

/// Fillings from this one on belong to other systems.
pub const FOREIGN: u64 = 1 << 62;

/// Fillings from this one on are handles from bare addresses.
pub const BARE: u64 = 1 << 63;

impl Shadow {
    /// Whether everything that shares bytes with it has happened before.
    pub(super) fn in_order(&mut self, context: usize, uses: Vec<Used>) -> Result<(), BTreeSet<Rule>> {
        let mut before = BTreeSet::new();
        for (k, old) in self.done.iter().enumerate() {
            if old.context == context || old.conflicts(&uses).any(|(new, old)| new.is_known_to(old)) {
                before.insert(k);
                before.extend(&old.before);
            }
        }
        let mut broken = BTreeSet::new();
        for (_, old) in self.done.iter().enumerate().filter(|(k, _)| !before.contains(k)) {
            for (new, old) in old.conflicts(&uses) {
                if !new.bytes.is_disjoint(&old.bytes) && !new.units.is_disjoint(&old.units) {
                    broken.insert(new.broken_after(old));
                }
            }
        }
        if !broken.is_empty() {
            return Err(broken);
        }
        self.done.push(Done { context, uses, before });
        Ok(())
    }
}

pub(super) fn used(tensor: &Tensor, writes: bool) -> Used {
    let end = tensor.address.saturating_add(tensor.span() as u64);
    Used {
        memory: tensor.memory,
        fill: tensor.fill,
        writes,
        spans: core::iter::once(tensor.address..end).collect(),
        bytes: tensor.live_bytes().into_iter().collect(),
        units: tensor.units().into_iter().collect(),
    }
}
