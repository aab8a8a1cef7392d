//! The simulated chip: memories with real addresses and real bytes, and what commands do to them.
//!
//! ```text
//!   Command ── rules: see CheckOptions ── execute ── memory
//!                 └─ Fault: nothing was done   └─ what was read and written is noted for later rules
//! ```
//!
//! The chip knows nothing of kernels and their types, nor of time. A command can be built by hand.

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

pub(crate) mod checks;
mod commands;
mod execute;
mod host;
pub(crate) mod memory;
mod order;
pub(crate) mod systems;

pub use checks::other_context::with_origin;
pub use execute::path::ComputePath;
pub use furiosa_visa_rules::command::{
    Addresses, Check, CheckOptions, Fault, FaultExtent, FaultKind, FaultPlace, RegisterType, SdkNote,
    SdkReport, SdkReports, TrfCell, TrfLayout,
};
pub use memory::fresh::FreshMemory;

use checks::sdk::Copies;
use core::panic::Location;
use execute::Switched;
use execute::path::Path;
use furiosa_visa_rules::command::{FillId, MemoryKind};
use furiosa_visa_rules::spec::{CLUSTERS, ChipKind, DM_BYTES, HBM_BYTES, MAX_CHIPS, SLICES, VRF_BYTES};
use memory::fills::FillLog;
use memory::separate::{ENDLESS_BYTES, Separate};
use memory::{Fresh, Hbm, Unit};
use order::OrderLog;
pub use order::waits_for;
use systems::SystemNumber;

/// The chips of a system, and the rules that they check. The fields are those of `SimOptions` that are not about time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChipOptions {
    /// The number of chips, 1 to 8. `None`: as many as the program uses.
    pub chips: Option<usize>,
    /// The kind of the chips. RNGD unless said otherwise.
    pub chip_kind: ChipKind,
    /// The rules that are checked.
    pub checks: CheckOptions,
    /// The products of padding that the check `padding` takes to be zero.
    pub padding: PaddingRule,
    /// The results of a simulation: values and time, or time only.
    pub compute: Compute,
    /// The instructions of the host that are used. `None`: the fastest that it has. Results do not depend on it.
    pub path: Option<ComputePath>,
    /// The addresses of tensors: those of the program, or bytes of its own for each.
    pub addresses: Addresses,
    /// The value that an unwritten element reads as.
    pub fresh_memory: FreshMemory,
    /// Selects the values of [`FreshMemory::Random`].
    pub seed: u64,
}

/// The products of padding that are zero, so that sums may take it in.
///
/// Zero times a number is zero. The rule is about zero times what nobody wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingRule {
    /// Zero times anything is zero. Assumed: a multiplier might give NaN for zero times a NaN that happens to lie there.
    #[default]
    ZeroWins,
    /// For floats, zero times what nobody wrote may be NaN: it is refused.
    Strict,
}

/// Results of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compute {
    /// Values and time.
    #[default]
    Values,
    /// Time only: memories are not written, and what comes back from the chip is uninitialised. Data that was never
    /// written is no fault then.
    ShapesOnly,
}

/// The chips of a system: their memories, and the rules that commands keep. Fresh memory is uninitialised and reads as
/// [`ChipOptions::fresh_memory`] says.
pub struct Chips {
    options: ChipOptions,
    path: Path,
    number: SystemNumber,
    fills: u64,
    /// The newest tensor that was written.
    newest: FillId,
    hbm: Vec<Hbm>,
    units: Vec<Unit>,
    /// Packets of the last switch between slices.
    switched: Switched,
    /// Writes and their calls, per memory.
    logs: [FillLog; MemoryKind::ALL.len()],
    order: OrderLog,
    /// With [`Addresses::Separate`], which bytes are whose.
    separate: Option<Separate>,
    /// The tensors that hold the same in both clusters.
    copies: Copies,
    notes: Vec<SdkNote>,
}

impl core::fmt::Debug for Chips {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Chips")
            .field("count", &self.count())
            .field("fills", &self.fills)
            .finish_non_exhaustive()
    }
}

impl Chips {
    /// Fresh chips.
    ///
    /// # Panics
    /// If this machine does not have the instructions that `path` asks for.
    #[track_caller]
    pub fn new(options: ChipOptions) -> Self {
        let mut chips = Self {
            options,
            path: Path::chosen(options.path),
            number: SystemNumber::new(Location::caller()),
            fills: 0,
            newest: FillId(0),
            hbm: Vec::new(),
            units: Vec::new(),
            switched: Switched::default(),
            logs: Default::default(),
            order: OrderLog::default(),
            separate: (options.addresses == Addresses::Separate).then(Separate::default),
            copies: Copies::default(),
            notes: Vec::new(),
        };
        chips.grow(options.chips.unwrap_or(1));
        chips
    }

    /// The number of chips. Without a fixed number there is one at first.
    pub fn count(&self) -> usize {
        self.hbm.len()
    }

    /// The options.
    pub fn options(&self) -> &ChipOptions {
        &self.options
    }

    /// A number that no other system of the process has: 1, 2, …
    pub fn number(&self) -> u64 {
        self.number.get()
    }

    /// A name for a tensor of this system that is about to be made. Other systems refuse it.
    pub fn next_fill(&mut self) -> FillId {
        self.fills += 1;
        FillId::of_system(self.number.get(), self.fills)
    }

    /// Has everything that was given before end before what is given later begins.
    pub fn barrier(&mut self) {
        self.order.barrier();
    }

    /// Notes so far, in the order in which their first commands were given.
    pub fn notes(&self) -> &[SdkNote] {
        &self.notes
    }

    /// Entries that are kept of the operations so far. They do not grow with a program that repeats itself.
    pub fn kept(&self) -> Kept {
        let logs = || self.logs.iter().map(FillLog::len);
        let writes = logs().map(|(writes, _)| writes).sum();
        let fillings = logs().map(|(_, fillings)| fillings).max().unwrap_or(0);
        Kept { accesses: self.order.len(), writes, fillings }
    }

    /// The number of chips that commands may use.
    fn limit(&self) -> usize {
        self.options.chips.unwrap_or(MAX_CHIPS)
    }

    fn grow(&mut self, chips: usize) {
        let chips = chips.min(self.limit()).max(self.hbm.len());
        let fresh = Fresh::new(self.options.fresh_memory, self.options.seed);
        let (hbm, dm, vrf) = match &self.separate {
            None => (HBM_BYTES, DM_BYTES, VRF_BYTES),
            Some(_) => (ENDLESS_BYTES, ENDLESS_BYTES as usize, ENDLESS_BYTES as usize),
        };
        for chip in self.hbm.len()..chips {
            self.hbm.push(Hbm::holding(fresh.part(chip as u64), hbm));
            let slices = chip * CLUSTERS * SLICES..(chip + 1) * CLUSTERS * SLICES;
            let unit = |slice| Unit::holding(fresh.part((1 << 32) + slice as u64), dm, vrf);
            self.units.extend(slices.map(unit));
        }
    }
}

/// Numbers of entries that [`Chips`] keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Accesses, for the order between contexts.
    pub accesses: usize,
    /// Writes, for stale reads.
    pub writes: usize,
    /// Fillings that are known, in the memory with the most of them.
    pub fillings: usize,
}

impl Kept {
    /// The most tensors that are known although they were overwritten, in each memory.
    pub const OVERWRITTEN: usize = memory::fills::OVERWRITTEN;
}
