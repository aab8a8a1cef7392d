//! w
mod address; mod context; mod dma; mod nest; mod occupancy; mod report; mod run; mod timeline;
#[cfg(test)] mod plain_tests;
pub use address::{ALL_BANKS, BankAddress, BankMask, footprint};
pub use context::{CommitLoad, CommitRate, ContextLoad};
pub use dma::DmaRequest;
pub use nest::AccessNest;
pub use occupancy::Occupancy;
pub use report::{CycleRun, DmaReport, EngineReport, NocTimeout, Requester, RequesterReport, Starvation};
pub use run::{BankRun, longest_bank_run};
