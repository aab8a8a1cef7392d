//! Time of HBM: the channel, bank and row of an address, and the ticks in which requests are done.
//!
//! ```text
//!   engines ──at most one request per core cycle each──▶ 32 channels, each:
//!
//!     queue of 64 units ──column commands of 64 bytes, tCCD apart──▶ data, 64 bytes per 4 ticks
//!            │                        ▲
//!            └── row switches ──▶ 48 banks: 3 slices x 4 bank groups x 4 banks, one open row each
//! ```
//!
//! | part | content |
//! |---|---|
//! | [`HbmMap`], [`HbmAddress`] | place of an address |
//! | [`Request`], [`Strided`], [`InTurn`] | requests in their order, as plain data: a stream of 10^8 requests needs no memory |
//! | [`Estimate`] | time by the closed rules of the `book` profile |
//! | [`Detailed`] | time with queues, banks and command slots, in the `detailed` profile |
//! | [`HbmServed`] | work of each channel, and its times |
//!
//! Times are ticks of 1/3 ns: a core cycle has 3, a command cycle 2, a controller cycle 4. [`core_cycles`] rounds up.
//!
//! # Facts and choices
//!
//! | fact | class, source |
//! |---|---|
//! | geometry, address bits, channel hash | documented |
//! | bit 17 is a part of the hash; three slices fold into two address bits | assumed; a switch of [`HbmMap`] |
//! | a unit is 256 bytes; a piece of it costs as much; a request across a boundary of 256 bytes is two units | documented |
//! | tCCD 2, 3, 4 command cycles; 64 queue entries; FR-FCFS; one open row per bank; all closed at first | documented |
//! | an entry of the queue is a unit of 256 bytes | assumed |
//! | row switch 40 to 50 ns | documented; 40 in the estimate, 44 in the detailed model are assumed |
//! | opening a row of a closed bank takes 20 ns | assumed |
//! | a row that was just opened serves its first command in the order of arrival, see [`Detailed`] | assumed |
//! | a partial write holds its channel for 50 units of 256 bytes | documented as a factor; that nothing else runs is assumed |
//! | no turnaround between reads and writes; refresh is added to the time of all requests, by [`Refreshed`](crate::dma::Refreshed) | assumed; refresh is reported |

mod address;
mod bank;
mod channel;
mod detailed;
mod estimate;
mod period;
mod served;
mod stream;

#[cfg(test)]
mod plain_tests;

pub use address::{HbmAddress, HbmMap};
pub use channel::ChannelReport;
pub use detailed::{Detailed, HbmReport};
pub use estimate::Estimate;
pub use served::{ChannelUse, HbmServed};
pub use stream::{InTurn, Request, Strided, StridedLoop};

use furiosa_visa_rules::spec::CORE_CYCLE_TICKS;

/// Core cycles in which `ticks` ticks of 1/3 ns end.
pub const fn core_cycles(ticks: u64) -> u64 {
    ticks.div_ceil(CORE_CYCLE_TICKS)
}
