//! Spans of HBM channels: one per channel and transfer, from its first busy cycle to its last one.
//!
//! ```text
//!   tdma             │ 500 cycles of start │  data moves                        │
//!   HBM                                    │ all channels together              │
//!   HBM channel 0.0                        │  ████ ████ ██ █████ ███            │   one span, `busy ticks` of it
//!   HBM channel 0.1                        │    ██ ████ ████ █████ ██           │
//! ```

use crate::clock::dma::DmaTime;
use crate::clock::hazards::OperationNumber;
use crate::clock::hbm::{ChannelUse, HbmServed};
use crate::clock::record::Record;
use crate::spec::{CORE_CYCLE_TICKS, DMA_STARTUP_CYCLES, HBM_STACK_CHANNELS};
use serde_json::{Value, json};

/// Spans of channels that a trace has, at most. A transfer over all channels of a chip has 32 of them. From the first
/// transfer on whose spans would be too many, the sums of each transfer are in the span of `HBM` alone.
pub const CHANNEL_SPANS: usize = 1 << 16;

/// How many spans are written, and whose are not.
#[derive(Debug, Default)]
pub(super) struct ChannelSpans {
    written: usize,
    left_out: u64,
    first: Option<OperationNumber>,
}

impl ChannelSpans {
    /// Whether the spans of a transfer are written.
    pub fn take(&mut self, number: OperationNumber, time: &DmaTime) -> bool {
        let spans: usize = time.hbm.iter().map(|(_, served)| served.channels().count()).sum();
        if self.first.is_none() && self.written + spans <= CHANNEL_SPANS {
            self.written += spans;
            return true;
        }
        if spans > 0 {
            self.first.get_or_insert(number);
            self.left_out += 1;
        }
        false
    }

    /// What is left out, in words.
    pub fn words(&self) -> Option<String> {
        let first = self.first?;
        Some(format!(
            "spans of HBM channels of {} transfers from #{first} on: a trace has at most {CHANNEL_SPANS}; sums are in the \
             spans of HBM",
            self.left_out
        ))
    }
}

/// Stack and channel, as the tracks are called: `HBM channel 1.15`.
pub(super) fn channel_name(channel: usize) -> String {
    format!("HBM channel {}.{}", channel / HBM_STACK_CHANNELS, channel % HBM_STACK_CHANNELS)
}

/// The first and the last cycle of an operation in which HBM can answer: engines ask when they have started.
pub(super) fn answers(record: &Record) -> (u64, u64) {
    ((record.start + DMA_STARTUP_CYCLES).min(record.end), record.end)
}

/// First busy cycle and cycles until the end of the last one.
pub(super) fn span(record: &Record, channel: &ChannelUse) -> (u64, u64) {
    let (from, to) = answers(record);
    let start = (from + channel.start_ticks / CORE_CYCLE_TICKS).min(to);
    let end = (from + channel.end_ticks.div_ceil(CORE_CYCLE_TICKS)).min(to);
    (start, end - start)
}

/// Of a chip: its number, the cycles of the slowest channel, busy ticks and bytes of all channels, channels in use.
pub(super) fn summary(chip: usize, served: &HbmServed) -> Value {
    let (bytes, busy) = served.total();
    json!([chip, served.ticks.div_ceil(CORE_CYCLE_TICKS), busy, bytes, served.channels().count()])
}
