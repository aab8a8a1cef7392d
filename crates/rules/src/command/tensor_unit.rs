//! One pass through the Tensor Unit: from DM through the engines into DM or a register file.

use super::fetch::Fetch;
use super::region::{Region, TrfRegion};
use super::switch::Switch;
use super::transfer::Transfer;
use super::vector::Vector;
use crate::mapping::guard::Guard;
use crate::scalar::ElementType;
use crate::sequencer::Config;
use crate::spec::{
    BEAT_LANES, FLIT_BYTES, TRANSPOSE_BUFFER_COLUMNS, TRANSPOSE_PACKET_ELEMENTS,
    TRANSPOSE_PACKET_ELEMENTS_4_BIT,
};

/// Order in which results leave the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccumulationKind {
    /// One column of all eight rows per beat.
    Interleaved,
    /// Eight columns of one row per beat.
    Sequential,
}

impl core::fmt::Display for AccumulationKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            AccumulationKind::Interleaved => "Interleaved",
            AccumulationKind::Sequential => "Sequential",
        })
    }
}

/// The Collect Engine: cuts packets into 32-byte flits, the last one padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collect {
    /// Flits per packet.
    pub flits: usize,
}

/// Aligner and Reducer: `align`, `contract` and `accumulate` together.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    /// The weights.
    pub trf: TrfRegion,
    /// Condition for stream positions that hold an element. Variables: chip, cluster, slice, time, packet (of the
    /// collected stream).
    pub stream_guard: Guard,
    /// Flits per 64-byte packet: 1 (the upper half is zero) or 2.
    pub collect_flits: usize,
    /// Number of times in a row that each packet is used.
    pub tile: usize,
    /// The TRF sequencer: entries over the steps, strides in bytes, same address in every row.
    /// `packet_size` is the elements of one read (`reg_read_size` in elements).
    pub trf_config: Config,
    /// Steps: `|OutTime|` of `align`.
    pub steps: usize,
    /// Condition for positions of the computation that are not its padding. Variables: step, position in the packet of
    /// 64 bytes. A step without such a position adds nothing, no matter what was read for it.
    pub step_guard: Guard,
    /// Number of levels of the adder tree in use: `2^depth` neighbouring products make one column.
    pub depth: usize,
    /// Columns per row that leave the tree, without the padding of the packet.
    pub columns: usize,
    /// The accumulator slot of each step: entries over the steps, stride 0 for a summed one.
    pub slots: Config,
    /// Accumulator slots: `|Time'|`.
    pub slot_count: usize,
    /// Order in which the slots leave.
    pub kind: AccumulationKind,
    /// The type of the sums: i32 or f32.
    pub output: ElementType,
}

impl Contraction {
    /// True if products of this type can be summed exactly as on the chip.
    pub const fn supports(element: ElementType, output: ElementType) -> bool {
        use ElementType::{Bf16, F8e4m3, F8e5m2, F16, F32, I4, I5, I8, I9, I32, U8};
        match output {
            // The sum of a packet of these types is below 2^24, which f32 holds exactly.
            I32 => matches!(element, I4 | I5 | I8 | I9 | U8),
            F32 => matches!(element, Bf16 | F8e4m3 | F8e5m2 | F16 | F32),
            _ => false,
        }
    }

    /// True if weights of a type meet a stream of another one: the multipliers take `i4` as `i5`, and `i8` as `i9`.
    pub const fn meets(stream: ElementType, weights: ElementType) -> bool {
        use ElementType::{I4, I5, I8, I9};
        matches!((stream, weights), (I4 | I5, I4 | I5) | (I8 | I9, I8 | I9))
            || stream as usize == weights as usize
    }

    /// Time steps in which a slot of the accumulator leaves: one per column, or per row and eight columns.
    pub fn beats(&self) -> usize {
        match self.kind {
            AccumulationKind::Interleaved => self.columns,
            AccumulationKind::Sequential => self.trf.rows.saturating_mul(self.columns.div_ceil(BEAT_LANES)),
        }
    }
}

/// The Cast Engine: one flit in, one flit out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The type before.
    pub input: ElementType,
    /// The type after. The extra lanes of the narrower flit are padding.
    pub output: ElementType,
}

/// The Transpose Engine: blocks of time steps become lanes, and lanes become time steps.
///
/// ```text
///   in_rows = 3, in_cols = 8, out_rows = 5: one matrix, one packet per row
///
///   time step   lanes of the packet                time step   lanes
///       0       a0 a1 a2 a3 a4 ·  ·  · │ ·            0        a0 b0 c0 │ ·  ·
///       1       b0 b1 b2 b3 b4 ·  ·  · │ ·   ──▶      1        a1 b1 c1 │ ·  ·
///       2       c0 c1 c2 c3 c4 ·  ·  · │ ·            …
///               └── 8 are taken ─────┘                4        a4 b4 c4 │ ·  ·
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transpose {
    /// The type of an element.
    pub element: ElementType,
    /// Rows of a matrix: the leading lanes of the outgoing packets.
    pub in_rows: usize,
    /// Columns of a matrix: the elements taken from all packets of a row.
    pub in_cols: usize,
    /// Outgoing packets per matrix: its columns, without the trimmed ones.
    pub out_rows: usize,
    /// Matrices, one after another.
    pub iterations: usize,
}

impl Transpose {
    /// Elements that the engine takes from each packet: 16 of 4 bits, 8 of all other types.
    pub const fn packet_elements(element: ElementType) -> usize {
        if element.bits() == 4 { TRANSPOSE_PACKET_ELEMENTS_4_BIT } else { TRANSPOSE_PACKET_ELEMENTS }
    }

    /// Packets that make up a row.
    pub const fn packets_per_col(&self) -> usize {
        self.in_cols / Self::packet_elements(self.element)
    }

    /// Elements that are kept of each packet. The others are padding.
    pub const fn kept_elements(&self) -> usize {
        match self.out_rows.checked_div(self.packets_per_col()) {
            Some(kept) => kept,
            None => 0,
        }
    }

    /// Incoming packets per matrix.
    pub const fn in_flits(&self) -> usize {
        self.in_rows.saturating_mul(self.packets_per_col())
    }

    /// Outgoing packets: time steps.
    pub const fn out_time(&self) -> usize {
        self.iterations.saturating_mul(self.out_rows)
    }
}

/// The conversion of the Commit Engine: the f32 of a packet become bf16 on their way to DM.
///
/// Elements keep their lanes, so half as many bytes are written. The Cast Engine has no part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitNarrowing {
    /// True if values with a sign become +0.0 first.
    pub relu: bool,
}

impl CommitNarrowing {
    /// The type before the conversion.
    pub const INPUT: ElementType = ElementType::F32;
    /// The type after the conversion.
    pub const OUTPUT: ElementType = ElementType::Bf16;

    /// The call, as a kernel writes it.
    pub const fn name(self) -> &'static str {
        if self.relu { "commit_cast_relu" } else { "commit_cast" }
    }
}

/// The end of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Sink {
    /// The Commit Engine writes to DM.
    Commit {
        /// The tensor in DM.
        destination: Region,
        /// The sequencer: entries over time, outermost first, then the packet entry `window : 1`. Strides in elements.
        config: Config,
        /// Bytes of one write. It divides the packet entry and contiguous runs.
        commit_size: usize,
        /// Condition for lanes that hold an element. Variables: chip, cluster, slice, time, packet.
        guard: Guard,
    },
    /// The stream, in order, fills the rows of a TRF region.
    Trf {
        /// The region.
        destination: TrfRegion,
        /// Condition for lanes that hold an element. Variables: chip, cluster, slice, time, packet.
        guard: Guard,
    },
    /// Each element of the stream goes to its place in the VRF.
    Vrf {
        /// The tensor in the VRF.
        destination: Region,
        /// Moves from positions of the stream, `time * lanes + lane`, to elements, all inside one slice.
        transfer: Transfer,
        /// Condition for lanes that hold an element. Variables: chip, cluster, slice, time, packet.
        guard: Guard,
    },
}

/// One pass through the Tensor Unit, the same in every slice.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorUnit {
    /// True if the sub context runs it.
    pub sub_context: bool,
    /// The Fetch Engine.
    pub fetch: Fetch,
    /// The Switch Engine. `None`: each slice keeps its packets.
    pub switch: Option<Switch>,
    /// The Collect Engine.
    pub collect: Option<Collect>,
    /// The Contraction Engine.
    pub contraction: Option<Contraction>,
    /// The Vector Engine.
    pub vector: Option<Vector>,
    /// The Cast Engine.
    pub cast: Option<Cast>,
    /// The Transpose Engine.
    pub transpose: Option<Transpose>,
    /// The conversion of the Commit Engine. Only a commit has one.
    pub narrowing: Option<CommitNarrowing>,
    /// The end of the stream.
    pub sink: Sink,
}

impl TensorUnit {
    /// A pass of the main context that collects the fetched stream, in as many flits per packet as needed, and
    /// otherwise leaves it unchanged up to its sink. More can be set in the fields:
    /// `TensorUnit { sub_context: true, ..TensorUnit::new(fetch, sink) }`.
    pub fn new(fetch: Fetch, sink: Sink) -> Self {
        let flits = (fetch.packet * fetch.output.bits()).div_ceil(8 * FLIT_BYTES);
        Self {
            sub_context: false,
            fetch,
            switch: None,
            collect: Some(Collect { flits }),
            contraction: None,
            vector: None,
            cast: None,
            transpose: None,
            narrowing: None,
            sink,
        }
    }
}

/// Cycles of the Transpose Engine. Matrices of up to 16 columns go through two buffers in turns: one is filled while
/// the other is emptied. A wider matrix takes both.
pub const fn transpose_cycles(transpose: &Transpose) -> u64 {
    let (in_flits, out_rows) = (transpose.in_flits() as u64, transpose.out_rows as u64);
    let both = in_flits.saturating_add(out_rows);
    let iterations = transpose.iterations as u64;
    if transpose.in_cols > TRANSPOSE_BUFFER_COLUMNS || iterations == 0 {
        return iterations.saturating_mul(both);
    }
    let slower = if in_flits > out_rows { in_flits } else { out_rows };
    both.saturating_add((iterations - 1).saturating_mul(slower))
}
