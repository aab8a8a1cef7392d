//! Work of the channels of a chip for a load: reports add it up, and timelines show it.

use super::channel::ChannelReport;
use furiosa_visa_rules::spec::HBM_CHANNELS;
use std::sync::Arc;

/// Work of a channel for a load. Times in ticks of 1/3 cycle from the beginning of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChannelUse {
    /// Bytes that were requested. A channel moves whole units of 256 bytes, even if less of them is requested.
    pub bytes: u64,
    /// Ticks in which it moved data or was held by a partial write.
    pub busy_ticks: u64,
    /// The first of these ticks. 0 in the estimate of `book`, which has sums alone.
    pub start_ticks: u64,
    /// The end of the last of them.
    pub end_ticks: u64,
}

impl ChannelUse {
    /// Use of a channel in the detailed model.
    pub(super) const fn of(report: &ChannelReport) -> Self {
        let ChannelReport { bytes, busy_ticks, start_ticks, finish_ticks, .. } = *report;
        Self { bytes, busy_ticks, start_ticks, end_ticks: finish_ticks }
    }
}

/// Work of all channels of a chip for a load.
#[derive(Clone, Debug)]
pub struct HbmServed {
    /// Ticks of 1/3 cycle until the whole load was served.
    pub ticks: u64,
    /// Work of the channels. Loads that are equal apart from the names of channels share it.
    channels: Option<Arc<[ChannelUse; HBM_CHANNELS]>>,
    /// Number that channel numbers are XORed with.
    renaming: usize,
}

impl HbmServed {
    /// Words of 8 bytes that the channels take.
    pub(crate) const WORDS: usize = size_of::<[ChannelUse; HBM_CHANNELS]>() / 8;

    /// Result with the work of each channel.
    pub fn new(ticks: u64, channels: [ChannelUse; HBM_CHANNELS]) -> Self {
        Self { ticks, channels: Some(Arc::new(channels)), renaming: 0 }
    }

    /// Result of a model without channels.
    pub const fn without_channels(ticks: u64) -> Self {
        Self { ticks, channels: None, renaming: 0 }
    }

    /// The channels that got requests, by number. Stack 0 comes first.
    pub fn channels(&self) -> impl Iterator<Item = (usize, ChannelUse)> + '_ {
        let all = self.channels.iter().flat_map(|all| (0..HBM_CHANNELS).map(|k| (k, all[k ^ self.renaming])));
        all.filter(|(_, channel_use)| channel_use.bytes > 0)
    }

    /// Bytes and busy ticks of all channels together.
    pub fn total(&self) -> (u64, u64) {
        self.channels().fold((0, 0), |(bytes, busy), (_, channel_use)| {
            (bytes + channel_use.bytes, busy + channel_use.busy_ticks)
        })
    }

    /// The same load at other addresses, which lie in channels whose numbers differ by an XOR with `flips`.
    pub(crate) fn renamed(self, flips: usize) -> Self {
        Self { renaming: self.renaming ^ flips, ..self }
    }
}

impl PartialEq for HbmServed {
    fn eq(&self, other: &Self) -> bool {
        self.ticks == other.ticks && self.channels().eq(other.channels())
    }
}

impl Eq for HbmServed {}
