//! Reports of users about the vendor's SDK: the kinds, and notes of commands that they are about.

use super::FaultKind;
use core::fmt;
use core::panic::Location;

/// The treatment of a command that users report to go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SdkReports {
    /// Nothing.
    Off,
    /// A note in the report of the run, and a warning on the standard error stream, once for each line of a program.
    #[default]
    Note,
    /// It is refused: [`FaultKind::Reported`].
    Fault,
}

/// A report of users about the vendor's SDK 0.6.0: a command compiles, and goes wrong on the chip. None is a rule of the
/// chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SdkReport {
    /// A store from DM to HBM replicates along an axis that only the destination has: one copy is written.
    ReplicatingStore,
    /// A switch over two clusters that hold copies of the same: only cluster 0 is filled.
    SwitchOfCopies,
    /// `to_vrf` from a pass of the main context through the Vector Engine: the chip hangs.
    VectorToVrf,
    /// `to_trf` from a pass of the main context through the Switch Engine: wrong values.
    SwitchToTrf,
    /// A memset of a tile: it does not compile for the chip.
    MemsetOfTile,
}

impl SdkReport {
    /// All of them.
    pub const ALL: [SdkReport; 5] = [
        SdkReport::ReplicatingStore,
        SdkReport::SwitchOfCopies,
        SdkReport::VectorToVrf,
        SdkReport::SwitchToTrf,
        SdkReport::MemsetOfTile,
    ];

    /// The cause, without the numbers of a command.
    pub const fn cause(self) -> &'static str {
        match self {
            SdkReport::ReplicatingStore => "the store replicates",
            SdkReport::SwitchOfCopies => "both clusters of the switched stream hold the same",
            SdkReport::VectorToVrf => "a pass of `main` goes through the Vector Engine and ends in the VRF",
            SdkReport::SwitchToTrf => "a pass of `main` goes through the Switch Engine and ends in the TRF",
            SdkReport::MemsetOfTile => "a tile is set, and no whole tensor",
        }
    }

    /// The outcome that users see.
    pub const fn outcome(self) -> &'static str {
        match self {
            SdkReport::ReplicatingStore => "that one copy is written",
            SdkReport::SwitchOfCopies => "that only cluster 0 is filled",
            SdkReport::VectorToVrf => "that the chip hangs, with PXI-601",
            SdkReport::SwitchToTrf => "wrong values",
            SdkReport::MemsetOfTile => "that it does not compile for the chip",
        }
    }

    /// The edit that avoids it.
    pub const fn help(self) -> &'static str {
        match self {
            SdkReport::ReplicatingStore => {
                "store once for each copy, with `.to_hbm_view(…)`, or replicate where the tensor is read"
            }
            SdkReport::SwitchOfCopies => {
                "replicate with `.to_dm(…)` from HBM: to all slices, without a switch, or what one cluster, `m![1 # 2]`, has \
                 switched and stored"
            }
            SdkReport::VectorToVrf => "commit it, and load the VRF from DM in `ctx.sub`",
            SdkReport::SwitchToTrf => "commit it, and load the TRF from DM in `ctx.sub`",
            SdkReport::MemsetOfTile => {
                "set the whole tensor before its tiles are written, or a tensor of the tile's size"
            }
        }
    }
}

/// A line whose commands users report to go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdkNote {
    /// The report.
    pub report: SdkReport,
    /// The operation, for example `to_vrf`.
    pub operation: &'static str,
    /// The call.
    pub location: &'static Location<'static>,
    /// Number of commands of the call.
    pub commands: u64,
    /// The first command, and the report.
    pub message: String,
}

/// As a note of the run.
impl fmt::Display for SdkNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, location, commands, message, .. } = self;
        let times = if *commands > 1 { format!(", {commands} times") } else { String::new() };
        write!(f, "note: {operation}{times}: {}: {message}\n  --> {location}", FaultKind::Reported)
    }
}

impl SdkNote {
    /// As a warning at its line, with what to change.
    pub fn warning(&self) -> String {
        let Self { report, operation, location, message, .. } = self;
        let (kind, help) = (FaultKind::Reported, report.help());
        format!(
            "warning: {operation}: {kind}: {message}\n  --> {location}\nhelp: {help}; `VISA_CHECKS=-sdk` turns such \
             reports off"
        )
    }
}
