//! Spans of HBM channels: one per channel and transfer, from its first busy cycle to its last one.
//!
//! ```text
//!   tdma             │ 500 cycles of start │  data moves                        │
//!   HBM                                    │ all channels together              │
//!   HBM channel 0.0                        │  ████ ████ ██ █████ ███            │   one span, `busy ticks` of it
//!   HBM channel 0.1                        │    ██ ████ ████ █████ ██           │
//! ```

use super::RunChannel;
use furiosa_visa_clock::dma::DmaTime;
use furiosa_visa_clock::hazards::OperationNumber;
use furiosa_visa_clock::hbm::{ChannelUse, HbmServed};
use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::spec::{CORE_CYCLE_TICKS, DMA_STARTUP_CYCLES, HBM_STACK_CHANNELS};
use serde_json::{Value, json};

/// Maximum number of spans of channels in a trace. A transfer over all channels of a chip has 32 of them. Transfers beyond
/// the limit have sums in the span of `HBM` alone.
pub const CHANNEL_SPANS: usize = 1 << 16;

/// Number of spans that are written, and the transfers whose spans are not.
#[derive(Debug, Default)]
pub(super) struct ChannelSpans {
    written: usize,
    left_out: u64,
    first: Option<OperationNumber>,
}

impl ChannelSpans {
    /// Tells if the spans of a transfer are written, and counts them.
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

    /// Text about the transfers that are left out.
    pub fn words(&self) -> Option<String> {
        let first = self.first?;
        Some(format!(
            "spans of HBM channels of {} transfers from #{first} on: a trace has at most {CHANNEL_SPANS}; sums are in \
             the spans of HBM",
            self.left_out
        ))
    }
}

/// Name of the track of a channel, by stack and channel: `HBM channel 1.15`.
pub(super) fn channel_name(channel: usize) -> String {
    format!("HBM channel {}.{}", channel / HBM_STACK_CHANNELS, channel % HBM_STACK_CHANNELS)
}

/// The first and the last cycle of an operation in which HBM can answer: engines ask when they have started.
pub(super) fn answers(record: &Record) -> (u64, u64) {
    ((record.start + DMA_STARTUP_CYCLES).min(record.end), record.end)
}

/// First busy cycle and cycles until the end of the last one.
fn span(record: &Record, channel: &ChannelUse) -> (u64, u64) {
    let (from, to) = answers(record);
    let start = (from + channel.start_ticks / CORE_CYCLE_TICKS).min(to);
    let end = (from + channel.end_ticks.div_ceil(CORE_CYCLE_TICKS)).min(to);
    (start, end - start)
}

/// Work of the channels of a chip for an operation.
pub(crate) fn channels_of(
    record: &Record,
    chip: usize,
    served: &HbmServed,
) -> impl Iterator<Item = RunChannel> {
    served.channels().map(move |(channel, used)| {
        let (start, cycles) = span(record, &used);
        let (operation, chip, channel) = (record.number, chip as u64, channel as u64);
        RunChannel { operation, chip, channel, start, cycles, busy_ticks: used.busy_ticks, bytes: used.bytes }
    })
}

/// Summary of a chip: its number, the cycles of the slowest channel, busy ticks and bytes of all channels, channels in
/// use.
pub(super) fn summary(chip: usize, served: &HbmServed) -> Value {
    let (bytes, busy) = served.total();
    json!([chip, served.ticks.div_ceil(CORE_CYCLE_TICKS), busy, bytes, served.channels().count()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_clock::dma::{Bound, Coverage, SameMedium};
    use furiosa_visa_rules::spec::HBM_CHANNELS;

    /// A transfer over `channels` channels.
    fn over(channels: usize) -> DmaTime {
        let bytes = |k| if k < channels { 256 } else { 0 };
        let used = core::array::from_fn(|k| ChannelUse { bytes: bytes(k), ..ChannelUse::default() });
        DmaTime {
            ticks: 0,
            bound: Bound::Hbm,
            slowest: None,
            engines: Vec::new(),
            hbm: vec![(0, HbmServed::new(16, used))],
            pcie_ticks: 0,
            rates: SameMedium::Sum.into(),
            coverage: Coverage::Exact,
            same_medium: None,
        }
    }

    /// The maximum number of spans is written, and not one more. From there on none is, so that a timeline has all of
    /// them or none.
    #[test]
    fn spans_end_where_there_would_be_too_many() {
        let mut spans = ChannelSpans::default();
        for number in 0..(CHANNEL_SPANS / HBM_CHANNELS) as u64 {
            assert!(spans.take(number, &over(HBM_CHANNELS)), "{number}");
        }
        assert_eq!((spans.written, spans.words()), (CHANNEL_SPANS, None));
        assert!(spans.take(2048, &over(0)), "nothing is nothing");
        assert!(!spans.take(2049, &over(1)) && !spans.take(2050, &over(0)) && !spans.take(2051, &over(32)));
        let words = spans.words().expect("some are left out");
        assert!(
            words
                .starts_with("spans of HBM channels of 2 transfers from #2049 on: a trace has at most 65536")
        );
        // One too many of 32 leaves out all of them, and those behind it, which would find room.
        let mut spans = ChannelSpans { written: CHANNEL_SPANS - 31, ..ChannelSpans::default() };
        assert!(!spans.take(7, &over(32)) && !spans.take(8, &over(1)));
        assert_eq!((spans.written, spans.left_out, spans.first), (CHANNEL_SPANS - 31, 2, Some(7)));
    }
}
