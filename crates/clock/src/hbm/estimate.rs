//! The closed rules of the `book` profile.

use super::address::{CHANNEL_BANKS, CHIP_BANKS};
use super::{ChannelUse, HbmMap, HbmServed, Request};
use furiosa_visa_rules::spec::{
    HBM_CHANNELS, HBM_ESTIMATE_ROW_SWITCH_TICKS, HBM_PARTIAL_WRITE_TICKS, HBM_UNIT_TICKS,
};

/// Row of a closed bank.
const CLOSED: u16 = u16::MAX;

/// Time of request streams, as the sum of the costs of the requests for each channel:
///
/// | request | core cycles |
/// |---|---|
/// | a unit of 256 bytes, or a read of a part of it | 16/3 |
/// | the same, if this engine last had another row of the bank open | 40 |
/// | a write of a part of a unit | 50 x 16/3 |
///
/// Every engine has its own view of the banks, one for reads and one for writes. The slowest channel decides. Banks do
/// not overlap, so this is an upper estimate for streams that hop between rows.
#[derive(Clone, Debug)]
pub struct Estimate {
    map: HbmMap,
    /// The row that each engine has open in each bank, for reads and for writes.
    rows: Vec<[[u16; CHIP_BANKS]; 2]>,
    /// The ticks of reads and of writes in each channel.
    ticks: [[u64; 2]; HBM_CHANNELS],
    bytes: [u64; HBM_CHANNELS],
    row_switches: u64,
}

impl Estimate {
    /// An estimate without requests. All rows are closed.
    pub fn new(map: HbmMap) -> Self {
        Self {
            map,
            rows: Vec::new(),
            ticks: [[0; 2]; HBM_CHANNELS],
            bytes: [0; HBM_CHANNELS],
            row_switches: 0,
        }
    }

    /// Adds requests of an engine, in its order.
    ///
    /// # Panics
    ///
    /// If a request leaves HBM, or has no bytes or more than 256.
    #[track_caller]
    pub fn add(&mut self, engine: usize, requests: impl IntoIterator<Item = Request>) {
        if self.rows.len() <= engine {
            self.rows.resize(engine + 1, [[CLOSED; CHIP_BANKS]; 2]);
        }
        let rows = &mut self.rows[engine];
        for request in requests {
            let (first, mut second) = request.transfers();
            let side = usize::from(request.write);
            let mut next = Some(first);
            while let Some(transfer) = next {
                next = second.take();
                let place = self.map.place(transfer.address);
                let channel = usize::from(place.channel);
                let open = &mut rows[side][channel * CHANNEL_BANKS + usize::from(place.bank)];
                let switches = *open != CLOSED && *open != place.row;
                *open = place.row;
                self.row_switches += u64::from(switches);
                self.bytes[channel] += u64::from(transfer.bytes);
                self.ticks[channel][side] += match (transfer.partial_write, switches) {
                    (true, _) => HBM_PARTIAL_WRITE_TICKS,
                    (false, true) => HBM_ESTIMATE_ROW_SWITCH_TICKS,
                    (false, false) => HBM_UNIT_TICKS,
                };
            }
        }
    }

    /// Ticks of all requests: reads and writes share the channels.
    pub fn ticks(&self) -> u64 {
        self.ticks.iter().map(|[reads, writes]| reads + writes).max().unwrap_or(0)
    }

    /// Work of each channel: its requests one after another.
    pub fn served(&self) -> HbmServed {
        let channel = |k: usize| {
            let busy_ticks = self.ticks[k].iter().sum();
            ChannelUse { bytes: self.bytes[k], busy_ticks, start_ticks: 0, end_ticks: busy_ticks }
        };
        HbmServed::new(self.ticks(), core::array::from_fn(channel))
    }

    /// Ticks of the reads alone.
    pub fn read_ticks(&self) -> u64 {
        self.ticks.iter().map(|[reads, _]| *reads).max().unwrap_or(0)
    }

    /// Ticks of the writes alone.
    pub fn write_ticks(&self) -> u64 {
        self.ticks.iter().map(|[_, writes]| *writes).max().unwrap_or(0)
    }

    /// Number of requests that switched a row.
    pub fn row_switches(&self) -> u64 {
        self.row_switches
    }
}
