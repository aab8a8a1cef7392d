//! The Fetch Engine: the sequencer, and the stages of its adapter.

use super::region::Region;
use super::table::Table;
use crate::list::List;
use crate::mapping::gcd;
use crate::scalar::ElementType;
use crate::sequencer::{Config, accessed_run};
use crate::spec;
use core::fmt;
use core::ops::Range;

/// Per-index valid counts that the mask of the fetch adapter holds, in the third case of padding (see
/// `guide::fetch`, "Padding and masks").
pub const MASK_COUNTS: usize = 8;

/// The Fetch Engine: reads elements in sequencer order and adapts them.
///
/// ```text
///   DM ──sequencer──▶ mask ──▶ table ──▶ cast ──▶ − zero point ──▶ packets
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// The tensor in DM.
    pub source: Region,
    /// The second tensor, if two are interleaved.
    pub interleave: Option<Interleave>,
    /// The sequencer. Strides in elements of the stored type. Its positions are those of `[Time, Packet]`, in order,
    /// even if entries were merged.
    pub config: Config,
    /// Time steps.
    pub time: usize,
    /// Elements per packet.
    pub packet: usize,
    /// Bytes of one fetch. It divides packets and contiguous runs.
    pub fetch_size: usize,
    /// The elements that are replaced as they are read. Main context only.
    pub mask: Option<MaskConfig>,
    /// The table that the elements index. Main context only.
    pub table: Option<Table>,
    /// The numbers subtracted after the cast: from the tensor, and from the second one of an interleaved fetch.
    pub zero_points: Option<[i32; 2]>,
    /// The type in the stream.
    pub output: ElementType,
}

impl Fetch {
    /// A fetch that reads and casts, in the main context. Each fetch takes as many bytes as packets and contiguous runs
    /// of the sequencer allow; the field may be set to fewer bytes.
    pub const fn new(
        source: Region,
        config: Config,
        time: usize,
        packet: usize,
        output: ElementType,
    ) -> Self {
        let (interleave, mask, table, zero_points) = (None, None, None, None);
        let bits = source.footprint.element.bits();
        let common = gcd(packet * bits, accessed_run(&config) * bits) / 8;
        let mut k = 0;
        while k + 1 < spec::FETCH_SIZES.len() && !common.is_multiple_of(spec::FETCH_SIZES[k]) {
            k += 1;
        }
        let fetch_size = spec::FETCH_SIZES[k];
        Self { source, interleave, config, time, packet, fetch_size, mask, table, zero_points, output }
    }
}

/// The second tensor of an interleaved fetch (see `guide::fetch`, "Two tensors at once").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleave {
    /// The tensor in DM: of the same type as the first one, read with the same sequencer.
    pub source: Region,
    /// Number of time steps in a turn: step `t` reads the first tensor if `t / period` is even, this one if it is odd.
    pub period: usize,
}

/// The turns of two tensors: each time step reads one of them.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Time steps of a turn. `None` if there is no other tensor.
    period: Option<usize>,
}

impl Turns {
    /// The turns of a fetch.
    pub fn new(fetch: &Fetch) -> Self {
        Self { period: fetch.interleave.map(|interleave| interleave.period.max(1)) }
    }

    /// Two tensors that take turns of `period` steps.
    #[cfg(any(test, feature = "testing"))]
    pub fn every(period: usize) -> Self {
        Self { period: Some(period) }
    }

    /// True if there is no other tensor.
    pub fn is_single(self) -> bool {
        self.period.is_none()
    }

    /// The tensor of a time step: 0 or 1.
    pub fn tensor(self, step: usize) -> usize {
        self.period.map_or(0, |period| step / period % 2)
    }

    /// Number of last iterations of a loop that contain the last turn of each tensor at every place of an iteration.
    /// The loop has `size` iterations of `inner` steps.
    pub fn rounds(self, size: usize, inner: usize) -> usize {
        let Some(period) = self.period else { return size.min(1) };
        let (length, both) = (size.saturating_mul(inner), period.saturating_mul(2));
        if length > 0 && period.is_multiple_of(length) {
            // The whole loop lies in one turn.
            return 1;
        }
        size.min(both / gcd(both, inner))
    }

    /// Cuts time steps into ranges that read the same tensor.
    pub fn for_each(self, steps: Range<usize>, mut visit: impl FnMut(usize, Range<usize>)) {
        let Some(period) = self.period else {
            visit(0, steps);
            return;
        };
        let mut start = steps.start;
        while start < steps.end {
            let end = (start / period + 1).saturating_mul(period).min(steps.end);
            visit(start / period % 2, start..end);
            start = end;
        }
    }
}

/// The elements that the fetch adapter replaces (see `guide::fetch`, "Padding and masks").
///
/// Dimensions are entries of the sequencer, numbered from the outermost one, which is 0. The innermost entry is cut at
/// both ends:
///
/// ```text
///   index of `last_dim`      innermost entry
///   0                        ░░██████      the first `left_pad` elements are replaced
///   …                        ████████
///   last                     █████░░░      the count says how many elements are kept
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskConfig {
    /// The entry whose first and last index decide. An entry `1 : 0`, whose only index is both, masks always.
    pub last_dim: usize,
    /// Elements that are replaced at the start if the index of `last_dim` is 0.
    pub left_pad: usize,
    /// Elements that are kept if the index of `last_dim` is the last one: a single count, or one per index of
    /// `rightmost_valid_count_dim`.
    pub last_dim_rightmost_valid_count: List<usize, MASK_COUNTS>,
    /// The entry that selects the count. `None`: the first count.
    pub rightmost_valid_count_dim: Option<usize>,
    /// Replacement of masked elements, as a code of the stored type: in the tensor, and in the second one of an
    /// interleaved fetch.
    pub pad_value: [u32; 2],
}

impl fmt::Display for MaskConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "last_dim {}, left_pad {}", self.last_dim, self.left_pad)?;
        let counts = self.last_dim_rightmost_valid_count.as_slice();
        write!(f, ", last_dim_rightmost_valid_count {counts:?}")?;
        if let Some(dim) = self.rightmost_valid_count_dim {
            write!(f, ", rightmost_valid_count_dim {dim}")?;
        }
        match self.pad_value {
            [one, other] if one == other => write!(f, ", pad_value {one:#x}"),
            [one, other] => write!(f, ", pad_value {one:#x} and {other:#x}"),
        }
    }
}

/// A stage of the fetch adapter.
///
/// | stage | call | main | sub | latency |
/// |---|---|---|---|---|
/// | masking | follows from the mappings | yes | no | 0 |
/// | table indexing | `fetch_with_table` | yes | no | 1 (assumed) |
/// | type casting | follows from the types | yes | yes | 1 (1 to 2 documented) |
/// | zero-point subtraction | `fetch_with_zero_point`, `fetch_with_zero_points` | yes | yes | 0 |
/// | batching | follows from the mappings | yes | yes | 0 |
///
/// See `guide::fetch`. For the sub context only zero points are documented, and a fetch size for its
/// casts. Packets of more than one fetch are taken to be part of every context (assumed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterStage {
    /// Replaces padding by a value.
    Masking,
    /// Replaces each element by the entry of a table.
    Table,
    /// Converts to the type of the stream.
    Cast,
    /// Subtracts the zero point of a quantised tensor.
    ZeroPoint,
    /// Makes packets from several fetches.
    Batching,
}

impl AdapterStage {
    /// All stages, in the order in which elements pass them.
    pub const ALL: [AdapterStage; 5] = [
        AdapterStage::Masking,
        AdapterStage::Table,
        AdapterStage::Cast,
        AdapterStage::ZeroPoint,
        AdapterStage::Batching,
    ];

    /// The documented name.
    pub const fn name(self) -> &'static str {
        match self {
            AdapterStage::Masking => "masking",
            AdapterStage::Table => "table indexing",
            AdapterStage::Cast => "type casting",
            AdapterStage::ZeroPoint => "zero-point subtraction",
            AdapterStage::Batching => "batching",
        }
    }

    /// True if the adapter of the sub context has the stage. The main context has all stages.
    pub const fn in_sub_context(self) -> bool {
        !matches!(self, AdapterStage::Masking | AdapterStage::Table)
    }

    /// Cycles by which the stage delays the stream. It takes one fetch per cycle.
    pub const fn latency(self) -> usize {
        match self {
            AdapterStage::Table => spec::FETCH_TABLE_LATENCY,
            AdapterStage::Cast => spec::FETCH_CAST_LATENCY,
            AdapterStage::Masking | AdapterStage::ZeroPoint | AdapterStage::Batching => 0,
        }
    }
}

display_name!(AdapterStage);
