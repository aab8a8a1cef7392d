//! The banks of the data memory: the requester that gets each bank in each cycle, and the cycles left for DMA.
//!
//! ```text
//!   main fetch   ──┐
//!   main commit  ──┤                       ┌─ bank 0 ┐
//!   sub fetch    ──┼─▶ arbiter of a slice ─┼─   …    ├─ 8 bytes per cycle each
//!   sub commit   ──┤    (by priority)      └─ bank 15┘
//!   DMA, queue 2 ──┘
//!        ▲ 128 B per cycle for 32 slices
//!   path of the DMN ◀── DMA engine, one for two DMNs
//! ```
//!
//! [`Occupancy::of`] runs both contexts of the Tensor Unit; [`Occupancy::serve_dma`] then serves DMA beside them. This
//! order is exact, because DMA has the lowest priority and takes nothing from the Tensor Unit. All slices work in
//! lockstep on the same addresses, so one slice stands for all of them; DMA sees its own slices. [`longest_bank_run`]
//! tells, before anything runs, if an operation may run beside DMA.
//!
//! | fact | class |
//! |---|---|
//! | 16 banks, each one access of 8 bytes per cycle; priority main fetch, main commit, sub fetch, sub commit, DMA | documented |
//! | an access of the main context takes the banks of its bytes, one of the sub context one bank, a DMA beat all 16 | documented |
//! | a requester that loses tries again in the next cycle | documented |
//! | fetch and commit get all of their banks or none; a beat gets each bank when it is free | assumed |
//! | a beat of less than 128 bytes takes all banks as well | assumed |
//! | a slice serves one beat after the other | assumed |
//! | a stalled commit holds back the fetch of its context | documented |
//! | it does so from the next cycle on, and while a second access of the commit is due | assumed |
//! | a commit access is due in the cycle after the last fetch access that it needs ([`CommitRate`]); later stages add latency, not conflicts | assumed |
//! | if the ring of a switch, or a table, takes longer for a packet than its accesses, a packet is fetched only after it has taken the one before ([`FetchPace`]) | derived |
//! | a request holds the path of its DMN for a cycle per 128 bytes; 2 requests wait in a slice; a full queue blocks the engine | documented |
//! | an engine issues one request per cycle, in order; the first beat is at the banks in the cycle of the issue | derived |
//! | a place in the queue is free in the cycle after the last beat | assumed |
//! | fewer than 64 accesses in a row to one bank while DMA is active, all requesters together | documented |
//! | DMA is active from its first issue to its last grant; an access of DMA ends a run | assumed |
//! | a request unanswered for more than 4096 cycles after its issue is a fault | documented |
//!
//! Not modelled: DMA writes that do not start at a multiple of 8 bytes and take three times as long. Legal programs
//! have none.
//!
//! # Example
//!
//! ```
//! use furiosa_visa_std::clock::banks::{AccessNest, ContextLoad, DmaRequest, Occupancy, Requester};
//! use furiosa_visa_std::sequencer::Entry;
//!
//! // 16 rows of 4096 bytes, in 32-byte accesses, and a result of 32 bytes for every 8 of them.
//! let rows = [Entry { size: 16, stride: 4096 }, Entry { size: 128, stride: 32 }];
//! let fetch = AccessNest::main(&rows, 0, 32)?;
//! let commit = AccessNest::main(&[Entry { size: 256, stride: 32 }], 128 << 10, 32)?;
//! let occupancy = Occupancy::of(&ContextLoad::new(fetch, commit), &ContextLoad::default());
//! assert_eq!(occupancy.requester(Requester::MainFetch).accesses, 2048);
//!
//! // DMA fills slice 5 of the PE at the same time: a beat waits a cycle for the banks of the fetch.
//! let requests = [DmaRequest::new(0, 5, 256)?, DmaRequest::new(0, 5, 256)?];
//! let dma = occupancy.serve_dma(&[requests]);
//! assert_eq!(dma.engines[0].bank_stall_cycles[Requester::MainFetch as usize], 4);
//! assert_eq!(dma.end_cycle(), 8);
//! # Ok::<(), furiosa_visa_std::PlanError>(())
//! ```

mod address;
mod context;
mod dma;
mod nest;
mod occupancy;
mod report;
mod run;
mod timeline;

#[cfg(test)]
mod plain_tests;
#[cfg(test)]
mod timing_tests;

pub use address::{ALL_BANKS, BankAddress, BankMask, footprint};
pub use context::{CommitLoad, CommitRate, ContextLoad, FetchPace};
pub use dma::DmaRequest;
pub use nest::AccessNest;
pub use occupancy::Occupancy;
pub use report::{CycleRun, DmaReport, EngineReport, NocTimeout, Requester, RequesterReport, Starvation};
pub use run::{BankRun, longest_bank_run};
