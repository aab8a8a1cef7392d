//! What the channels of a chip did for a load: what reports add up and timelines show.

use super::channel::ChannelReport;
use furiosa_visa_rules::spec::HBM_CHANNELS;
use std::sync::Arc;

/// What a channel did for a load. Times in ticks of 1/3 cycle from the beginning of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChannelUse {
    /// Bytes that were asked for. A channel moves units of 256 bytes, whatever is asked for of them.
    pub bytes: u64,
    /// Ticks in which it moved data or was held by a partial write.
    pub busy_ticks: u64,
    /// The first of these ticks. The estimate of `book`, which knows sums alone, begins with 0.
    pub start_ticks: u64,
    /// The end of the last of them.
    pub end_ticks: u64,
}

impl ChannelUse {
    /// Of the detailed model.
    pub(super) const fn of(report: &ChannelReport) -> Self {
        let ChannelReport { bytes, busy_ticks, start_ticks, finish_ticks, .. } = *report;
        Self { bytes, busy_ticks, start_ticks, end_ticks: finish_ticks }
    }
}

/// What all channels of a chip did for a load.
#[derive(Clone, Debug)]
pub struct HbmServed {
    /// Ticks of 1/3 cycle until all of it was served.
    pub ticks: u64,
    /// Loads that are the same but for the names of channels share this.
    channels: Option<Arc<[ChannelUse; HBM_CHANNELS]>>,
    /// What channel numbers are XORed with.
    renaming: usize,
}

impl HbmServed {
    /// Words of 8 bytes that the channels take.
    pub(crate) const WORDS: usize = size_of::<[ChannelUse; HBM_CHANNELS]>() / 8;

    /// With what each channel did.
    pub fn new(ticks: u64, channels: [ChannelUse; HBM_CHANNELS]) -> Self {
        Self { ticks, channels: Some(Arc::new(channels)), renaming: 0 }
    }

    /// Of a model that knows nothing of channels.
    pub const fn without_channels(ticks: u64) -> Self {
        Self { ticks, channels: None, renaming: 0 }
    }

    /// The channels that were asked for something, by number. Stack 0 comes first.
    pub fn channels(&self) -> impl Iterator<Item = (usize, ChannelUse)> + '_ {
        let all = self.channels.iter().flat_map(|all| (0..HBM_CHANNELS).map(|k| (k, all[k ^ self.renaming])));
        all.filter(|(_, own)| own.bytes > 0)
    }

    /// Bytes and busy ticks of all channels together.
    pub fn total(&self) -> (u64, u64) {
        self.channels().fold((0, 0), |(bytes, busy), (_, own)| (bytes + own.bytes, busy + own.busy_ticks))
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
