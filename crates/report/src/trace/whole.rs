//! Facts about a whole run, for a trace and a page.

use super::channels::ChannelSpans;
use super::layout::Layouts;
use super::operation;
use crate::hints::Hint;
use crate::map::{Allocations, MemoryMap};
use furiosa_visa_clock::dma::DmaTime;
use furiosa_visa_clock::hazards::OperationNumber;
use furiosa_visa_clock::ledger::Ledger;
use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::command::Addresses;
use serde_json::Value;

/// Facts that are gathered while operations end.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    layouts: Layouts,
    channels: ChannelSpans,
}

impl Whole {
    /// Adds an operation that has ended.
    pub fn ended(&mut self, record: &Record) {
        self.layouts.add(record);
    }

    /// Tells if the channels of a transfer are shown one by one. Called once for each transfer.
    pub fn takes_channels(&mut self, number: OperationNumber, time: &DmaTime) -> bool {
        self.channels.take(number, time)
    }

    /// Summary of the run, when nothing follows.
    pub fn summary(&mut self, ledger: &Ledger, hints: &[Hint]) -> Value {
        let map = MemoryMap::new(ledger, [Allocations::default(); 3], Addresses::AsGiven);
        let left_out: Vec<String> = self.channels.words().into_iter().collect();
        operation::summary(ledger, hints, &map, core::mem::take(&mut self.layouts), &left_out)
    }
}
