//! Faults: what a command may not do, said before it does it.

use super::{MemoryKind, SdkReports};
use crate::mapping::Guard;
use core::fmt;
use core::ops::Range;
use core::panic::Location;
use std::borrow::Cow;

macro_rules! checks {
    ($($(#[doc = $doc:literal])* $variant:ident $field:ident;)*) => {
        /// A rule that can be turned off: see [`CheckOptions`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Check {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Check {
            /// All rules.
            pub const ALL: &[Check] = &[$(Check::$variant),*];

            /// The name in [`CheckOptions`] and in `VISA_CHECKS`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Check::$variant => stringify!($field),)*
                }
            }
        }

        /// The rules that the chip checks. All of them by default.
        ///
        /// The report of a check is a [`Fault`] of the kinds that its field names. No valid program breaks a rule: each
        /// is about what would give other values on the chip, or what the chip cannot be told. Rules without a switch
        /// are about commands that have no meaning: types without arithmetic, values that no register holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct CheckOptions {
            $($(#[doc = $doc])* pub $field: bool,)*
            /// The treatment of commands that compile with the vendor's SDK and, as users report, go wrong on the chip:
            /// [`SdkReport`](crate::command::SdkReport). They break no rule, and are noted unless said otherwise.
            pub sdk: SdkReports,
        }

        impl CheckOptions {
            /// Every rule. What users report is noted.
            pub const ALL: CheckOptions = CheckOptions { $($field: true,)* sdk: SdkReports::Note };
            /// No rule, and no note.
            pub const NONE: CheckOptions = CheckOptions { $($field: false,)* sdk: SdkReports::Off };

            /// The options with one rule turned on or off.
            pub const fn with(mut self, check: Check, on: bool) -> Self {
                match check {
                    $(Check::$variant => self.$field = on,)*
                }
                self
            }

            /// True if a rule is checked.
            pub const fn has(&self, check: Check) -> bool {
                match check {
                    $(Check::$variant => self.$field,)*
                }
            }
        }
    };
}

checks! {
    /// Nothing is computed from, or committed as an element, that nobody wrote: [`FaultKind::Uninitialised`].
    ///
    /// | where a live element that nobody wrote goes | reported |
    /// |---|---|
    /// | DMA, host transfer | no: it arrives as uninitialised |
    /// | fetch without a conversion, collect, then commit, `to_trf` or `to_vrf` | no: a copy, it arrives as uninitialised |
    /// | fetch with a conversion, a table or a zero point | yes |
    /// | cast | yes |
    /// | contraction: stream and weights | yes |
    /// | commit of a lane that no element of the stream is in (the padding of collect or cast) | yes |
    /// | replaced by the mask of the fetch adapter | no: the pad value takes its place |
    /// | padding of a mapping; lanes that commit cuts off | no |
    /// | download to the host | no: it is `Opt::Uninit` |
    /// | index of a gather or scatter | yes; with the check off, its row does not move |
    ///
    /// With the check off, such an element has the value of `FreshMemory`, and what is computed
    /// from it counts as uninitialised.
    Uninitialised uninitialised;
    /// No padding is summed together with elements, unless its product is zero: [`FaultKind::PaddingSummed`].
    ///
    /// The chip multiplies and adds what it finds in the padding of streams and weights. Zero are: what the mask of the
    /// fetch adapter covers, with the pad value that it has by itself; what collect and the stream adapter add; zeros that
    /// were written. Sums of padding alone concern nobody. See `PaddingRule`.
    ///
    /// With the check off, such padding is computed with as it lies in memory.
    Padding padding;
    /// A tensor is not read where another tensor has been written since: [`FaultKind::StaleRead`].
    StaleReads stale_reads;
    /// Tensors lie inside their memory, on chips that there are, and no fetch reads past the end of DM:
    /// [`FaultKind::OutOfBounds`], [`FaultKind::Capacity`].
    /// The index of a gather or scatter names rows of its table, and by their first byte if it holds byte offsets
    /// ([`FaultKind::OutOfBounds`], [`FaultKind::Misaligned`]).
    /// When this is off, what lies outside reads as uninitialised and is not written, and rows that are not there do not move.
    Bounds bounds;
    /// A commit does not write what its own stream still has to fetch: [`FaultKind::Overwrite`].
    Overwrites overwrites;
    /// A DMA, a shuffle or a parallel copy does not write bytes that it also reads, but each with itself, and a gather or
    /// scatter not its index: [`FaultKind::Overwrite`]. Up to eight engines, or all slices, read and write side by side, so that a byte may be
    /// written before it is read.
    DmaOverwrites dma_overwrites;
    /// Nothing is written outside of the tensor that is written to: [`FaultKind::OutsideView`]. Reads may run past the
    /// end of a tensor.
    Views views;
    /// One operation writes no place twice: [`FaultKind::OverlappingWrites`]. A scatter may write a row twice with the same content.
    /// When this is off, the last row in the order of its index wins.
    OverlappingWrites overlapping_writes;
    /// Two contexts do not touch the same bytes, one of them writing, without an order between them:
    /// [`FaultKind::Unordered`].
    ///
    /// The operations of a context are done in the order of the program. Operations of different contexts wait for each other
    /// where the scheduler sees that their tensors share bytes, which it does for tensors whose handles it made. A handle
    /// that was made from a bare address gives it nothing to see, but for other uses of the same handle. The end of a
    /// launch and a transfer with the host order everything.
    Order order;
    /// No context loads a part of the TRF or VRF that another one may still read: as for `order`, but for the reuse of
    /// register files: [`FaultKind::RegisterReuse`].
    RegisterReuse register_reuse;
    /// Addresses and strides are multiples of what the engine accesses at once: [`FaultKind::Misaligned`].
    Alignment alignment;
    /// A context uses the engines that it has: [`FaultKind::Unsupported`].
    Contexts contexts;
    /// A kernel ends each stream that it begins: [`FaultKind::DroppedStream`].
    DroppedStreams dropped_streams;
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self::ALL
    }
}

display_name!(Check);

/// The rule that a command broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A tensor is read where another tensor has been written since.
    StaleRead,
    /// A live element was used that nobody wrote.
    Uninitialised,
    /// Padding that is not zero is summed together with elements.
    PaddingSummed,
    /// A tensor leaves its memory, or the system has no such chip.
    OutOfBounds,
    /// A tensor is larger than the register file region that it was given.
    Capacity,
    /// An address or a stride that the engine cannot access.
    Misaligned,
    /// A commit writes what its own stream still has to fetch, or a DMA what it reads itself.
    Overwrite,
    /// An operation writes outside of its tensor.
    OutsideView,
    /// An operation writes one place twice.
    OverlappingWrites,
    /// Two contexts use the same bytes, one of them writing, and nothing orders them.
    Unordered,
    /// A context loads a register file that another one may still read.
    RegisterReuse,
    /// Element types that the engine has no arithmetic for, a memory that it does not reach, or an engine that the
    /// context does not have.
    Unsupported,
    /// A stream was begun and not ended.
    DroppedStream,
    /// A tensor of one context is used with another one, or a kernel uses two contexts.
    OtherContext,
    /// The banks of DM did not answer a DMA request in time. The clock finds it: see `Report::faults`.
    NocTimeout,
    /// The values of a pass take more memory than the simulator keeps.
    TooLarge,
    /// A value of the call, an address or a kind, that the engine cannot do with these mappings.
    Refused,
    /// It compiles with the vendor's SDK, and users report that it goes wrong on the chip: with [`SdkReports::Fault`].
    Reported,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FaultKind::StaleRead => "stale read",
            FaultKind::Uninitialised => "uninitialised element",
            FaultKind::PaddingSummed => "padding summed",
            FaultKind::OutOfBounds => "out of bounds",
            FaultKind::Capacity => "capacity exceeded",
            FaultKind::Misaligned => "misaligned address",
            FaultKind::Overwrite => "source overwritten",
            FaultKind::OutsideView => "write outside of the tensor",
            FaultKind::OverlappingWrites => "overlapping writes",
            FaultKind::Unordered => "unordered access",
            FaultKind::RegisterReuse => "register file reused",
            FaultKind::Unsupported => "unsupported",
            FaultKind::DroppedStream => "dropped stream",
            FaultKind::OtherContext => "another context",
            FaultKind::NocTimeout => "NoC timeout",
            FaultKind::TooLarge => "too large to simulate",
            FaultKind::Refused => "refused",
            FaultKind::Reported => "reported of the SDK",
        })
    }
}

/// The bytes at which a fault was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultExtent {
    /// The memory.
    pub memory: MemoryKind,
    /// The first bad unit: a chip, or `(chip * 2 + cluster) * 256 + slice`.
    pub unit: usize,
    /// Bytes inside the unit. The first one is the first bad byte.
    pub bytes: Range<u64>,
    /// The first bad element in the axes of its tensor, where the command knows them: see [`Guard::element`].
    pub element: Option<String>,
}

impl fmt::Display for FaultExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::spec::{CLUSTERS, SLICES};
        let Range { start, end } = self.bytes;
        write!(f, "{}, bytes {start}..{end} of ", self.memory)?;
        match self.memory {
            MemoryKind::Hbm => write!(f, "chip {}", self.unit),
            MemoryKind::Dm | MemoryKind::Trf | MemoryKind::Vrf => {
                let (chip, rest) = (self.unit / (CLUSTERS * SLICES), self.unit % (CLUSTERS * SLICES));
                write!(f, "chip {chip}, cluster {}, slice {}", rest / SLICES, rest % SLICES)
            }
        }
    }
}

/// A place in the kernel that has to do with a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlace {
    /// The event there.
    pub label: Cow<'static, str>,
    /// The call.
    pub location: &'static Location<'static>,
}

/// A command that was refused. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub kind: FaultKind,
    /// The operation, for example `fetch`.
    pub operation: &'static str,
    /// The cause, with its numbers.
    pub message: String,
    /// The call that was refused.
    pub location: &'static Location<'static>,
    /// Earlier calls that matter, in the order in which they happened.
    pub places: Vec<FaultPlace>,
    /// The bytes, if they are known.
    pub extent: Option<Box<FaultExtent>>,
    /// The edit that avoids it.
    pub help: Cow<'static, str>,
}

impl Fault {
    /// A fault without earlier places and without a memory.
    pub fn new(
        kind: FaultKind,
        operation: &'static str,
        location: &'static Location<'static>,
        message: String,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { kind, operation, message, location, places: Vec::new(), extent: None, help: help.into() }
    }

    /// The fault with the memory that it was found in.
    pub fn at(mut self, memory: impl Into<MemoryKind>, unit: usize, bytes: Range<u64>) -> Self {
        self.extent = Some(Box::new(FaultExtent { memory: memory.into(), unit, bytes, element: None }));
        self
    }

    /// The fault with the first bad element, by its position in the tensor. It is in a memory.
    pub fn of_element(mut self, guard: &Guard, position: &[usize]) -> Self {
        if let Some(extent) = &mut self.extent {
            extent.element = guard.element(position);
        }
        self
    }

    /// The fault with an earlier call.
    pub fn after(
        mut self,
        label: impl Into<Cow<'static, str>>,
        location: &'static Location<'static>,
    ) -> Self {
        self.places.push(FaultPlace { label: label.into(), location });
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "fault: {}: {}: {}", self.operation, self.kind, self.message)?;
        write!(f, "  --> {}", self.location)?;
        for place in &self.places {
            write!(f, "\nnote: {}\n  --> {}", place.label, place.location)?;
        }
        if let Some(extent) = &self.extent {
            write!(f, "\n   = memory: {extent}")?;
            if let Some(element) = &extent.element {
                write!(f, "\n   = element: {element}")?;
            }
        }
        if self.help.is_empty() { Ok(()) } else { write!(f, "\nhelp: {}", self.help) }
    }
}

impl core::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Axis, Expr, Ident, liveness_of};

    #[test]
    fn a_fault_reads_like_a_compiler_error() {
        let here = Location::caller();
        let fault = Fault::new(
            FaultKind::StaleRead,
            "fetch",
            here,
            "the tensor at DM address 64 was overwritten".into(),
            "move it",
        )
        .at(MemoryKind::Dm, 2 * 512 + 256 + 3, 70..80)
        .after("the tensor was written here", here);
        let text = fault.to_string();
        let expected = format!(
            "fault: fetch: stale read: the tensor at DM address 64 was overwritten\n  --> {here}\n\
             note: the tensor was written here\n  --> {here}\n   \
             = memory: DM, bytes 70..80 of chip 2, cluster 1, slice 3\nhelp: move it"
        );
        assert_eq!(text, expected);
        let element = Expr::Pair(&Expr::Symbol(B), &Expr::Padding(&Expr::Symbol(A), 5));
        const A: Axis = Axis { name: Ident::new("A"), size: 3 };
        const B: Axis = Axis { name: Ident::new("B"), size: 4 };
        let element: &'static Expr = Box::leak(Box::new(element));
        let guard = liveness_of(&[element]).expect("it is simple");
        let text = fault.of_element(&guard, &[12]).to_string();
        assert!(
            text.contains("slice 3\n   = element: i![B: 2, A: 2], position 12 of m![B, A # 5]\n"),
            "{text}"
        );
    }

    #[test]
    fn every_check_has_its_switch() {
        for &check in Check::ALL {
            let one = CheckOptions::NONE.with(check, true);
            let rest = CheckOptions::ALL.with(check, false);
            for &other in Check::ALL {
                assert_eq!((one.has(other), rest.has(other)), (other == check, other != check), "{check}");
            }
        }
        assert_eq!(CheckOptions::default(), CheckOptions::ALL);
    }
}
