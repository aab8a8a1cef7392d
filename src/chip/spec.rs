//! Every number of the hardware, once, with its source.
//!
//! Sources: the seed pages *Memory and Stream*, *Sequencer*, *Fetch Engine*, *TRF Sequencer*, *Stream Adapter*, and
//! the specification pages 20 to 50.

/// A kind of chip (*Fetch Engine*, type casting). The numbers below are those of RNGD; nothing says that RNGD-S differs in
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChipKind {
    /// RNGD.
    #[default]
    Rngd,
    /// RNGD-S: fetch has more conversions.
    RngdS,
}

impl ChipKind {
    /// The name of the product.
    pub const fn name(self) -> &'static str {
        match self {
            ChipKind::Rngd => "RNGD",
            ChipKind::RngdS => "RNGD-S",
        }
    }

    /// Whether programs for `other` run: those for RNGD run on both kinds.
    pub const fn runs(self, other: ChipKind) -> bool {
        matches!((self, other), (ChipKind::RngdS, _) | (_, ChipKind::Rngd))
    }
}

impl core::fmt::Display for ChipKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// Clusters per chip (*Memory and Stream*, size constraint).
pub const CLUSTERS: usize = 2;
/// Slices per cluster (*Memory and Stream*, size constraint).
pub const SLICES: usize = 256;
/// The most chips in a simulated system (*Memory and Stream*: an 8-chip system).
pub const MAX_CHIPS: usize = 8;
/// Data memory per slice in bytes (*Memory and Stream*, size constraint).
pub const DM_BYTES: usize = 512 * 1024;
/// High-bandwidth memory per chip in bytes (spec page 30 §3.1).
pub const HBM_BYTES: u64 = 48 << 30;
/// Tensor register file per slice in bytes (spec page 40 §2.1).
pub const TRF_BYTES: usize = 64 * 1024;
/// Bank rows of the TRF (*TRF Sequencer*, memory layout).
pub const TRF_BANK_ROWS: usize = 8;
/// Bytes per bank row of the TRF: 2 columns of 128 rows of 32 bytes.
pub const TRF_BANK_ROW_BYTES: usize = TRF_BYTES / TRF_BANK_ROWS;
/// Bank columns of the TRF (*TRF Sequencer*, memory layout).
pub const TRF_COLUMNS: usize = 2;
/// Rows of a TRF bank (*TRF Sequencer*, memory layout).
pub const TRF_BANK_DEPTH: usize = 128;
/// Bytes of elements in a row of a TRF bank, a line (*TRF Sequencer*, memory layout).
pub const TRF_LINE_BYTES: usize = 32;
/// Places of an element, 5 bits each, in a row of a TRF bank (*TRF Sequencer*, memory layout).
pub const TRF_LINE_SLOTS: usize = 64;
/// Rows of the TRF that the read cache holds, in both columns (*TRF Sequencer*, TRF cache).
pub const TRF_CACHE_ROWS: usize = 4;
/// Vector register file per slice in bytes (*Memory and Stream*, size table).
pub const VRF_BYTES: usize = 8 * 1024;
/// Rows that a TRF tensor may have (*TRF Sequencer*, rows).
pub const TRF_ROWS: [usize; 4] = [1, 2, 4, 8];
/// Bytes that each row multiplies per cycle, `mac_width` (*TRF Sequencer*, read mechanism).
pub const MAC_BYTES: usize = 64;
/// Bytes of a flit (*Fetch Engine*, interaction with the Switch Engine).
pub const FLIT_BYTES: usize = 32;
/// Loops of a sequencer (*Sequencer*, configuration failures).
pub const SEQUENCER_ENTRIES: usize = 8;
/// Iterations of one sequencer loop (*Sequencer*, configuration failures).
pub const SEQUENCER_ITERATIONS: usize = 65_536;
/// What a fetched packet must be a multiple of, in bytes (*Fetch Engine*, interface).
pub const FETCH_ALIGN_BYTES: usize = 8;
/// Sizes of one main-context fetch in bytes, largest first (*Fetch Engine*, constraints).
pub const FETCH_SIZES: [usize; 6] = [32, 16, 8, 4, 2, 1];
/// Sizes of one commit write in bytes (spec page 50 §6.1).
pub const COMMIT_SIZES: [usize; 4] = [8, 16, 24, 32];
/// What a commit address must be a multiple of, in bytes (spec page 50 §6.1).
pub const COMMIT_ALIGN_BYTES: usize = 8;
/// Contiguous bytes of an HBM to DM transfer must be a multiple of this (spec page 30 §7).
pub const DMA_HBM_TO_DM_BYTES: usize = 8;
/// Columns of the accumulator (spec page 40 §4.1).
pub const ACCUMULATOR_COLUMNS: usize = 32;
/// Cells of 32 bits of the accumulator: 8 rows of 32 columns, four times (spec page 40 §4.2).
pub const ACCUMULATOR_CELLS: usize = 1024;
/// Result columns that an interleaved accumulation can hold (spec page 40 §4.2).
pub const ACCUMULATOR_INTERLEAVED: usize = 128;
/// Row sets that a sequential accumulation can hold (spec page 40 §4.2).
pub const ACCUMULATOR_SEQUENTIAL: usize = 32;
/// 32-bit lanes of a beat.
pub const BEAT_LANES: usize = 8;
/// Bytes of one fetch of the sub context (*Fetch Engine*, constraints).
pub const SUB_FETCH_BYTES: usize = 8;
/// Bytes of one fetch of the sub context that converts `i4` to `i32` (*Fetch Engine*, constraints).
pub const SUB_FETCH_BYTES_I4_I32: usize = 4;
/// Cycles that a cast delays a fetched stream by: 1 to 2 (*Fetch Engine*, adapter overhead), taken as 1 (spec page 70 §4).
pub const FETCH_CAST_LATENCY: usize = 1;
/// Cycles that a table delays a fetched stream by: not documented, assumed (spec page 70 §4).
pub const FETCH_TABLE_LATENCY: usize = 1;
/// The greatest valid count of the fetch adapter's mask, in units of 4 bits (*Fetch Engine*, masking configuration).
pub const FETCH_MASK_NIBBLES: usize = 255;
/// Sizes of one TRF read in bytes, `reg_read_size`, largest first (*TRF Sequencer*, read mechanism).
pub const REGISTER_READ_SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];
/// Bytes of one commit write of the sub context (spec page 50 §6.2).
pub const SUB_COMMIT_BYTES: usize = 8;

// Data memory timing. Each number says its class: documented, derived or assumed.

/// Banks of the data memory of a slice (documented: spec page 30 §1, §2.1).
pub const DM_BANKS: usize = 16;
/// Bytes of one access to a bank, and of a word of it (documented: spec page 30 §2.1).
pub const DM_BANK_WORD_BYTES: usize = 8;
/// Rows of a bank (documented: spec page 30 §2.1).
pub const DM_BANK_ROWS: usize = 4096;
/// Bytes after which the banks repeat (derived: 16 banks of 8 bytes).
pub const DM_ROW_BYTES: usize = DM_BANKS * DM_BANK_WORD_BYTES;
/// Bytes of one access in dual-channel mode, the widest that there is (documented: spec page 70 §12).
pub const DUAL_CHANNEL_ACCESS_BYTES: usize = 64;
/// Slices that share the path of a DMN (documented: spec page 30 §1).
pub const DMN_SLICES: usize = 32;
/// Bytes that the path of a DMN moves per cycle (documented: spec page 70 §6).
pub const DMN_BYTES_PER_CYCLE: usize = 128;
/// DMNs that a DMA engine serves: those of its PE (documented: spec page 30 §1, erratum E07).
pub const DMA_ENGINE_DMNS: usize = 2;
/// Slices that a DMA engine serves (derived: 2 DMNs of 32 slices).
pub const DMA_ENGINE_SLICES: usize = DMA_ENGINE_DMNS * DMN_SLICES;
/// The most bytes of a DMA request (documented: spec page 70 §4).
pub const DMA_REQUEST_BYTES: usize = 256;
/// Requests of a DMA engine per cycle (documented: spec page 70 §4).
pub const DMA_REQUESTS_PER_CYCLE: usize = 1;
/// DMA requests that wait in a slice (documented: spec page 30 §2.2).
pub const SLICE_DMA_QUEUE_REQUESTS: usize = 2;
/// Cycles that a DMA request may stay unanswered (documented: spec page 70 §7).
pub const NOC_TIMEOUT_CYCLES: u64 = 4096;
/// Consecutive accesses to one bank that are safe beside DMA (derived: the greatest `N` with
/// `(256 / 128) * N * 32 < 4096`, spec page 70 §7; fails at 64, erratum E15).
pub const DM_BANK_RUN_ACCESSES: u64 =
    (NOC_TIMEOUT_CYCLES - 1) / (DMA_REQUEST_BYTES / DMN_BYTES_PER_CYCLE * DMN_SLICES) as u64;
