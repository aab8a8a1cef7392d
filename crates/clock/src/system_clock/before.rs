//! Work before an operation: the routers of a switch are set, clusters meet.

use super::Clock;
use crate::command_time::Alone;
use crate::contention::BankLoad;
use crate::numbers::Number;
use crate::record::{Amount, Record, Timing};
use crate::schedule::Resources;
use core::ops::Range;
use furiosa_visa_rules::command::{ContextKind, MemoryKind, Switch, TensorUnit};
use furiosa_visa_rules::spec::CLUSTERS;
use std::sync::Arc;

/// Maximum number of stores to HBM that are kept separate until both clusters meet.
const STORES: usize = 64;

impl Clock {
    /// Operation that writes the bitmap of a custom switch to the routers before its pass: by the DMA engines, through
    /// the sub context. Both are idle until then.
    pub(super) fn bitmap(&mut self, unit: &TensorUnit, switch: &Switch, given: Record) -> Record {
        let context = unit.context();
        let Alone { timing, resources, .. } = self.times.bitmap(unit);
        Record {
            operation: "switch bitmap",
            context,
            resources,
            timing,
            amount: Amount { slices: self.slices_of(&unit.fetch.source), ..Amount::default() },
            configuration: format!("snoop[s'] = {}", switch.snoop).into(),
            ..given
        }
    }

    /// Lets both clusters meet before they load data that the kernel has stored to HBM. DMA is idle until then.
    pub(super) fn meet_before(&mut self, given: &Record) {
        if given.context != ContextKind::TensorDma {
            return;
        }
        let in_hbm = |write: bool| {
            let hbm = given
                .accesses
                .iter()
                .filter(move |access| access.memory == MemoryKind::Hbm && access.write == write);
            hbm.map(|access| access.bytes.clone())
        };
        let slices = &given.amount.slices;
        let meets = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        let stored_before = in_hbm(false).any(|read| self.stored.iter().any(|stored| meets(stored, &read)));
        if stored_before && (0..CLUSTERS).all(|cluster| slices.has_cluster(cluster)) {
            let accesses = given.accesses.iter().filter(|access| !access.write).cloned().collect();
            let meeting = Record {
                operation: "clusters meet",
                timing: Timing::Meeting(self.model().cost(Number::Synchronisation, 1)),
                amount: Amount { slices: slices.clone(), ..Amount::default() },
                memories: (None, None),
                accesses,
                configuration: "stored to HBM, loaded by both".into(),
                resources: Resources::of(given.context),
                load: Arc::new(BankLoad::Nothing),
                ..given.clone()
            };
            self.stored.clear();
            self.give(meeting);
        }
        let stores: Vec<Range<u64>> = in_hbm(true).collect();
        for store in stores {
            let is_full = self.stored.len() >= STORES;
            match self.stored.last_mut() {
                // There are more stores than are kept separate: one range has all bytes from the first to the last.
                Some(last) if is_full => {
                    *last = last.start.min(store.start)..last.end.max(store.end);
                }
                _ => self.stored.push(store),
            }
        }
    }
}
