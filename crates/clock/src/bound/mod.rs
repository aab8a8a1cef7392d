//! Lower bounds on cycles: of a kernel whose commands are known, and of a problem before it has a mapping.
//!
//! | bound | holds for |
//! |---|---|
//! | [`KernelBounds`], [`Bounds`] of a [`KernelTime`] | these commands in any order, with any buffers and addresses |
//! | [`problem()`] | any kernel that computes this product |
//! | [`CommandClock`](super::command_time::CommandClock) | one command, exactly |
//!
//! Every [`Limit`] gives a number of cycles, and the greatest one is the bound. A bound is that of the profile in
//! force. [`Ledger`](super::ledger::Ledger) compares it with the cycles of each kernel when the kernel has ended.

mod kernel;
mod problem;

pub use kernel::KernelBounds;
pub use problem::{ON_CHIP_BYTES, Product, ProductAxis, hbm_cycles, problem};

use super::ledger::KernelTime;
use super::named::named;
use core::fmt;

named! {
    /// Reason for which a kernel cannot be shorter. Of equal ones the first counts: a chain tells more than the context that
    /// one of its commands is alone in.
    pub enum Limit {
        /// Multiplications, at the peak rate of the chips that multiply.
        Multipliers = "multipliers",
        /// Units of HBM, each channel with its share of them and all rows open.
        Hbm = "HBM",
        /// The DMA engine with the most cycles: its commands with their starts, one after another.
        DmaEngine = "DMA engine",
        /// Operations of the DMA engines, which run one after another.
        DmaQueue = "DMA queue",
        /// The longest chain of commands, each of which reads bytes that the one before it wrote.
        Dependences = "dependences",
        /// Passes of the main context.
        Main = "main context",
        /// Passes and loads of the sub context.
        Sub = "sub context",
        /// Passes of both contexts that hold the compute engines.
        Compute = "compute engines",
    }
}

/// Lower bounds on the cycles of a kernel, one for each [`Limit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    cycles: [u64; Limit::ALL.len()],
}

impl Bounds {
    /// The bound of one limit, in cycles.
    pub const fn of(&self, limit: Limit) -> u64 {
        self.cycles[limit as usize]
    }

    /// The bound: the greatest number of cycles.
    pub fn cycles(&self) -> u64 {
        self.of(self.held_by())
    }

    /// The limit with the greatest number of cycles; of equal ones the first.
    pub fn held_by(&self) -> Limit {
        let earlier_first = Limit::ALL.into_iter().rev();
        earlier_first.max_by_key(|limit| self.of(*limit)).unwrap_or(Limit::Multipliers)
    }

    /// Limits with their cycles, without those of 0 cycles.
    pub fn iter(&self) -> impl Iterator<Item = (Limit, u64)> {
        let Self { cycles } = *self;
        Limit::ALL.into_iter().map(move |limit| (limit, cycles[limit as usize])).filter(|(_, own)| *own > 0)
    }

    /// The bounds with one of them replaced.
    #[must_use]
    pub const fn with(mut self, limit: Limit, cycles: u64) -> Self {
        self.cycles[limit as usize] = cycles;
        self
    }

    /// The greater bound of each limit.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { cycles: core::array::from_fn(|k| self.cycles[k].max(other.cycles[k])) }
    }
}

/// The bound of several kernels, which run one after another: the sum of their bounds, and the limit that holds most of
/// it. `None` if there are none.
pub fn of_all(kernels: &[KernelTime]) -> Option<(u64, Limit)> {
    let mut held = Bounds::default();
    for KernelTime { bounds, .. } in kernels {
        let limit = bounds.held_by();
        held = held.with(limit, held.of(limit) + bounds.cycles());
    }
    let cycles = held.iter().map(|(_, cycles)| cycles).sum();
    (!kernels.is_empty()).then(|| (cycles, held.held_by()))
}

/// A bound that is above the cycles of its kernel: an error of this model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Limit with the bound.
    pub limit: Limit,
    /// The bound, in cycles.
    pub bound: u64,
    /// Cycles that the kernel took.
    pub makespan: u64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, bound, makespan } = self;
        write!(f, "a lower bound is wrong: {limit} gives {bound} cycles, but the kernel took {makespan}")
    }
}

/// Compares each bound of a kernel that has ended with its cycles.
///
/// # Errors
/// The greatest bound that is above the cycles of the kernel.
pub fn check(kernel: &KernelTime) -> Result<(), Excess> {
    let (limit, bound, makespan) = (kernel.bounds.held_by(), kernel.bounds.cycles(), kernel.makespan());
    if bound > makespan { Err(Excess { limit, bound, makespan }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
