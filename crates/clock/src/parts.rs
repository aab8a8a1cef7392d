//! Sums over the parts of a program that it names, for example the layers of a network.

use crate::record::Record;
use furiosa_visa_rules::command::{CONTEXTS, ContextKind};
use litemap::LiteMap;
use std::sync::Arc;

/// Maximum number of parts that are told apart. Operations of all later ones are in one sum, which has no name.
pub const MOST_PARTS: usize = 1024;

/// Sums over the operations of a part, in all launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartSum {
    /// The name. Empty: operations of kernels that name no part.
    pub name: Arc<str>,
    /// Operations.
    pub operations: u64,
    /// Cycles for which each of [`ContextKind::ALL`] worked.
    pub busy: [u64; CONTEXTS],
    /// Cycles for which the main context was idle before operations of the part. With its busy cycles, and those of the
    /// other parts, they are all cycles up to the end of its last operation.
    pub main_idle: u64,
    /// Bytes read from HBM and written to it.
    pub hbm_bytes: u64,
}

impl PartSum {
    /// Adds the sums of another part.
    pub fn extend(&mut self, other: &PartSum) {
        self.operations += other.operations;
        self.busy.iter_mut().zip(other.busy).for_each(|(busy, other)| *busy += other);
        self.main_idle += other.main_idle;
        self.hbm_bytes += other.hbm_bytes;
    }

    /// Cycles of the main context: busy, and idle before.
    pub fn main_cycles(&self) -> u64 {
        self.busy[ContextKind::Main as usize] + self.main_idle
    }
}

/// Number of a part. 0: none.
pub(crate) type PartNumber = usize;

/// All parts of a program.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The first one has no name.
    sums: Vec<PartSum>,
    numbers: LiteMap<Arc<str>, PartNumber>,
}

impl Default for Parts {
    fn default() -> Self {
        Self { sums: vec![PartSum::default()], numbers: LiteMap::new() }
    }
}

impl Parts {
    /// The number of a part.
    pub(crate) fn number(&mut self, name: &str) -> PartNumber {
        if name.is_empty() {
            return 0;
        }
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        if self.numbers.len() >= MOST_PARTS {
            return 0;
        }
        let (name, number) = (Arc::<str>::from(name), self.sums.len());
        self.sums.push(PartSum { name: name.clone(), ..PartSum::default() });
        self.numbers.insert(name, number);
        number
    }

    /// Adds an operation of a kernel that has ended. `start`: the first cycle of the kernel.
    pub(crate) fn add(&mut self, record: &Record, start: u64) {
        let sum = &mut self.sums[record.part];
        sum.operations += 1;
        sum.busy[record.context as usize] += record.cycles();
        if record.context == ContextKind::Main {
            sum.main_idle += record.idle.min(record.start - start);
        }
        sum.hbm_bytes += record.hbm_bytes();
    }

    /// The parts with operations, in the order in which they were first named. Empty if no part has a name.
    pub fn named(&self) -> Vec<PartSum> {
        if self.numbers.is_empty() {
            return Vec::new();
        }
        self.sums.iter().filter(|sum| sum.operations > 0).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart_up_to_their_limit() {
        let mut parts = Parts::default();
        assert_eq!((parts.number(""), parts.number("a"), parts.number("b"), parts.number("a")), (0, 1, 2, 1));
        for number in 3..=MOST_PARTS {
            assert_eq!(parts.number(&number.to_string()), number);
        }
        assert_eq!((parts.number("one more"), parts.number("b")), (0, 2));
        assert_eq!(parts.named(), []);
    }
}
