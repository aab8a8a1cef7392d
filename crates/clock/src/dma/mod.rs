//! DMA operations as paired sequencers: the commands of each engine, their requests and their time.
//!
//! ```text
//!   command::Dma ── parts ── run, packet ── order, merge ── engines ── DmaOperation ── traffic ── DmaTime
//!   loops, guard    no       contiguous                                commands of     requests
//!                   guard    on both sides                             every engine    cycles
//! ```
//!
//! Nothing is counted packet by packet: totals follow from the loops. Only the time of HBM needs addresses, and gets
//! them one by one, from [`PairedSequencer::iter_requests`].

mod derive;
mod hbm_models;
mod operation;
mod packet;
mod parts;
mod rates;
mod sequencer;
mod time;
mod traffic;
mod walk;

pub use derive::{DmaOptions, derive};
pub use hbm_models::{BookHbm, Refreshed, Remembered};
pub use operation::{Coverage, DmaOperation, Engine, EngineQueue, EngineSplit};
pub use packet::{PacketRun, packet_runs, whole_run};
pub use rates::DmaRates;
pub use sequencer::{Medium, PairedEntry, PairedSequencer, Side};
pub use time::{
    Bound, DmaTime, EngineTime, Figure, HbmStream, HbmTime, SameMedium, SideTime, host_cycles, time,
};
pub use traffic::{CLUSTER_DMNS, Traffic};
pub use walk::{Packets, Requests};

#[cfg(test)]
mod derive_tests;
#[cfg(test)]
mod reported_tests;
#[cfg(test)]
#[path = "worked_examples_tests.rs"]
mod worked_examples;
