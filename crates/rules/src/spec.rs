//! Every number of the hardware, once, with its class and its chapter of the `guide`.
//!
//! "Documented": the vendor's public documentation of the Virtual ISA states it. "Derived": it follows by arithmetic
//! from documented numbers. "Reported": it follows from measurements by users of chips, and only the detailed clock
//! uses it; the chapter `guide::clock` has the figures. "Assumed": without a public statement this model
//! chose it, inside the documented range if there is one. Each chapter lists its numbers under "Numbers".
//!
//! # Where the vendor's pages went
//!
//! The documented numbers were read on these pages, which are not part of this library. Everything else in the library
//! names the chapter.
//!
//! | the vendor's page | chapter |
//! |---|---|
//! | those of mappings and of element types | `guide::mappings`, `guide::fetch` |
//! | *Memory and Stream* | `guide::chip`, `guide::memories_and_dma` |
//! | *DMA Engine* | `guide::memories_and_dma`, `guide::clock` |
//! | *Sequencer* | `guide::sequencers` |
//! | *Fetch Engine* | `guide::fetch` |
//! | *Switch Engine* | `guide::switch` |
//! | *Stream Adapter* | `guide::contraction` |
//! | *TRF Sequencer* | `guide::contraction` |
//! | those of collect, contraction and accumulation | `guide::contraction` |
//! | *Vector Engine* | `guide::vector` |
//! | *Cast Engine* | `guide::cast_transpose_commit` |
//! | *Transpose Engine* | `guide::cast_transpose_commit` |
//! | *Commit Engine* | `guide::cast_transpose_commit` |
//! | *Memory Performance* | `guide::clock` |

/// A kind of chip: they differ in the conversions of fetch (see `guide::fetch`). The numbers below are
/// those of RNGD; no statement says that RNGD-S differs in them.
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

    /// True if programs for `other` run: those for RNGD run on both kinds.
    pub const fn runs(self, other: ChipKind) -> bool {
        matches!((self, other), (ChipKind::RngdS, _) | (_, ChipKind::Rngd))
    }
}

display_name!(ChipKind);

/// Clusters per chip. Documented. See `guide::chip`.
pub const CLUSTERS: usize = 2;
/// Slices per cluster. Documented. See `guide::chip`.
pub const SLICES: usize = 256;
/// The most chips in a simulated system: the documentation shows 8. Documented. See `guide::chip`.
pub const MAX_CHIPS: usize = 8;
/// Data memory per slice in bytes. Documented. See `guide::chip`.
pub const DM_BYTES: usize = 512 * 1024;
/// High-bandwidth memory per chip in bytes. Documented. See `guide::chip`.
pub const HBM_BYTES: u64 = 48 << 30;
/// Tensor register file per slice in bytes. Documented. See `guide::chip`.
pub const TRF_BYTES: usize = 64 * 1024;
/// Bank rows of the TRF. Documented. See `guide::contraction`.
pub const TRF_BANK_ROWS: usize = 8;
/// Bytes per bank row of the TRF: 2 columns of 128 rows of 32 bytes. Derived. See
/// `guide::contraction`.
pub const TRF_BANK_ROW_BYTES: usize = TRF_BYTES / TRF_BANK_ROWS;
/// Bank columns of the TRF. Documented. See `guide::contraction`.
pub const TRF_COLUMNS: usize = 2;
/// Rows of a TRF bank. Documented. See `guide::contraction`.
pub const TRF_BANK_DEPTH: usize = 128;
/// Bytes of elements in a row of a TRF bank, a line. Documented. See `guide::contraction`.
pub const TRF_LINE_BYTES: usize = 32;
/// Places of an element, 5 bits each, in a row of a TRF bank. Documented. See `guide::contraction`.
pub const TRF_LINE_SLOTS: usize = 64;
/// Rows of the TRF that the read cache holds, in both columns. Documented. See
/// `guide::contraction`.
pub const TRF_CACHE_ROWS: usize = 4;
/// Vector register file per slice in bytes. Documented. See `guide::chip`.
pub const VRF_BYTES: usize = 8 * 1024;
/// Rows that a TRF tensor may have. Documented. See `guide::contraction`.
pub const TRF_ROWS: [usize; 4] = [1, 2, 4, 8];
/// Bytes that each row multiplies per cycle, `mac_width`. Documented. See `guide::chip`.
pub const MAC_BYTES: usize = 64;
/// Bytes of a flit. Documented. See `guide::chip`.
pub const FLIT_BYTES: usize = 32;
/// Loops of a sequencer. Documented. See `guide::sequencers`.
pub const SEQUENCER_ENTRIES: usize = 8;
/// Iterations of one sequencer loop. Documented. See `guide::sequencers`.
pub const SEQUENCER_ITERATIONS: usize = 65_536;
/// Alignment of the size of a fetched packet in bytes. Documented. See `guide::fetch`.
pub const FETCH_ALIGN_BYTES: usize = 8;
/// Sizes of one main-context fetch in bytes, largest first. Documented. See `guide::fetch`.
pub const FETCH_SIZES: [usize; 6] = [32, 16, 8, 4, 2, 1];
/// Sizes of one commit write in bytes. Documented. See `guide::cast_transpose_commit`.
pub const COMMIT_SIZES: [usize; 4] = [8, 16, 24, 32];
/// Alignment of a commit address in bytes. Documented. See
/// `guide::cast_transpose_commit`.
pub const COMMIT_ALIGN_BYTES: usize = 8;
/// Alignment of the contiguous bytes of an HBM to DM transfer. Documented. See
/// `guide::memories_and_dma`.
pub const DMA_HBM_TO_DM_BYTES: usize = 8;
/// The most bytes of the rows that the Transpose Engine turns into lanes. Documented. See
/// `guide::cast_transpose_commit`.
pub const TRANSPOSE_ROW_BYTES: usize = 8;
/// Elements that the Transpose Engine takes from each packet. Documented. See
/// `guide::cast_transpose_commit`.
pub const TRANSPOSE_PACKET_ELEMENTS: usize = 8;
/// The same for elements of 4 bits: 16. Documented. See `guide::cast_transpose_commit`.
pub const TRANSPOSE_PACKET_ELEMENTS_4_BIT: usize = 16;
/// Columns of a matrix of the Transpose Engine. Documented. See
/// `guide::cast_transpose_commit`.
pub const TRANSPOSE_COLUMNS: [usize; 3] = [8, 16, 32];
/// Columns of each of the two buffers of the Transpose Engine. A wider matrix takes both. Documented. See
/// `guide::cast_transpose_commit`.
pub const TRANSPOSE_BUFFER_COLUMNS: usize = 16;
/// Columns of the accumulator. Documented. See `guide::contraction`.
pub const ACCUMULATOR_COLUMNS: usize = 32;
/// Cells of 32 bits of the accumulator: 8 rows of 32 columns, four times. Documented. See
/// `guide::contraction`.
pub const ACCUMULATOR_CELLS: usize = 1024;
/// Result columns that an interleaved accumulation can hold. Documented. See `guide::contraction`.
pub const ACCUMULATOR_INTERLEAVED: usize = 128;
/// Row sets that a sequential accumulation can hold. Documented. See `guide::contraction`.
pub const ACCUMULATOR_SEQUENTIAL: usize = 32;
/// 32-bit lanes of a beat. Documented. See `guide::chip`.
pub const BEAT_LANES: usize = 8;
/// Lanes of the packets of the float cluster. Documented. See `guide::vector`.
pub const VECTOR_NARROW_LANES: usize = 4;
/// Places of the accumulator of an intra-slice reduce. Documented. See `guide::vector`.
pub const VECTOR_REDUCE_SLOTS: usize = 8;
/// Operands of one operator. Documented. See `guide::vector`.
pub const VECTOR_BRANCHES: usize = 5;
/// Cycles by which an arithmetic unit of the Vector Engine delays a stream. Documented. See
/// `guide::vector`.
pub const VECTOR_ALU_LATENCY_CYCLES: u64 = 1;
/// Bytes of one fetch of the sub context. Documented. See `guide::fetch`.
pub const SUB_FETCH_BYTES: usize = 8;
/// Bytes of one fetch of the sub context that converts `i4` to `i32`. Documented. See `guide::fetch`.
pub const SUB_FETCH_BYTES_I4_I32: usize = 4;
/// Cycles by which a cast delays a fetched stream. Documented as 1 to 2, taken as 1. See `guide::fetch`.
pub const FETCH_CAST_LATENCY: usize = 1;
/// Cycles by which a table delays a fetched stream. Assumed. See `guide::fetch`.
pub const FETCH_TABLE_LATENCY: usize = 1;
/// The greatest valid count of the fetch adapter's mask, in units of 4 bits. Documented. See
/// `guide::fetch`.
pub const FETCH_MASK_NIBBLES: usize = 255;
/// Sizes of one TRF read in bytes, `reg_read_size`, largest first. Documented. See
/// `guide::contraction`.
pub const REGISTER_READ_SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];
/// Bytes of f32 that the Commit Engine narrows to bf16 at a time: the packet holds a multiple of them. Documented. See
/// `guide::cast_transpose_commit`.
pub const COMMIT_CAST_BYTES: usize = 16;
/// Bytes of one commit write of the sub context. Documented. See
/// `guide::cast_transpose_commit`.
pub const SUB_COMMIT_BYTES: usize = 8;

/// Bytes of the immediate that the Commit Engine writes to an address without a stream. Documented. See
/// `guide::cast_transpose_commit`.
pub const IMMEDIATE_BYTES: usize = 4;

// Clock. Latencies that are not documented are reported or assumed, and used in the detailed profile only.

/// Core cycles until a read of DM delivers. Assumed. See `guide::clock`.
pub const DM_READ_LATENCY_CYCLES: u64 = 4;
/// Core cycles by which the Cast Engine delays a stream. Assumed. See
/// `guide::cast_transpose_commit`.
pub const CAST_LATENCY_CYCLES: u64 = 1;
/// Core cycles until the first immediate of a memset is written. Assumed. See
/// `guide::cast_transpose_commit`.
pub const IMMEDIATE_LATENCY_CYCLES: u64 = 1;
/// Core cycles of a packet from a router of the Switch Engine to the next one, beside those in which the ring passes it
/// on. Reported: none. See `guide::switch`.
pub const SWITCH_HOP_CYCLES: u64 = 0;
/// Core cycles that a write of the bitmap of a custom switch to the routers takes. Reported. See
/// `guide::switch`.
pub const SWITCH_BITMAP_CYCLES: u64 = 719;
/// Core cycles between a command of the Tensor Unit and its first fetch. Reported. See `guide::clock`.
pub const TENSOR_UNIT_ISSUE_CYCLES: u64 = 258;
/// Core cycles of a lookup of 32 bytes in a table of the Fetch Engine. Reported. See `guide::clock`.
pub const FETCH_TABLE_CYCLES: u64 = 5;
/// Core cycles that both clusters take to meet before they load data that was stored to HBM. Reported. See
/// `guide::clock`.
pub const SYNCHRONISATION_CYCLES: u64 = 600;
/// DMA engines of a chip, one per PE. Derived. See `guide::chip`.
pub const DMA_ENGINES: usize = CLUSTERS * CLUSTER_PES;

// HBM timing, in ticks of 1/3 ns, so that all clocks are whole numbers.

/// Ticks of a core cycle of 1 GHz. Derived. See `guide::clock`.
pub const CORE_CYCLE_TICKS: u64 = 3;
/// Ticks of an HBM command cycle of 1.5 GHz: column commands are issued at multiples of it. Derived. See
/// `guide::clock`.
pub const HBM_COMMAND_CYCLE_TICKS: u64 = 2;
/// Ticks of an HBM controller cycle of 0.75 GHz, in which a channel moves 64 bytes. Derived. See
/// `guide::clock`.
pub const HBM_CONTROLLER_CYCLE_TICKS: u64 = 4;
/// HBM stacks of a chip. Documented. See `guide::clock`.
pub const HBM_STACKS: usize = 2;
/// Channels of an HBM stack. Documented. See `guide::clock`.
pub const HBM_STACK_CHANNELS: usize = 16;
/// Channels of a chip. Derived. See `guide::clock`.
pub const HBM_CHANNELS: usize = HBM_STACKS * HBM_STACK_CHANNELS;
/// Slices of an HBM channel. Documented. See `guide::clock`.
pub const HBM_SLICES: usize = 3;
/// Bank groups of an HBM slice. Documented. See `guide::clock`.
pub const HBM_BANK_GROUPS: usize = 4;
/// Banks of an HBM bank group. Documented. See `guide::clock`.
pub const HBM_BANKS: usize = 4;
/// Rows of an HBM bank. Documented. See `guide::clock`.
pub const HBM_ROWS: usize = 16_384;
/// Bytes of an HBM row. Documented. See `guide::clock`.
pub const HBM_ROW_BYTES: usize = 2048;
/// Bytes that HBM moves as a whole. Documented. See `guide::memories_and_dma`.
pub const HBM_UNIT_BYTES: usize = 256;
/// Bytes of one HBM column command. Documented. See `guide::clock`.
pub const HBM_COMMAND_BYTES: usize = 64;
/// Column commands of a unit of 256 bytes. Derived. See `guide::clock`.
pub const HBM_UNIT_COMMANDS: usize = HBM_UNIT_BYTES / HBM_COMMAND_BYTES;
/// Ticks for which a unit of 256 bytes holds its channel: 16/3 core cycles. Derived. See `guide::clock`.
pub const HBM_UNIT_TICKS: u64 = HBM_UNIT_COMMANDS as u64 * HBM_CONTROLLER_CYCLE_TICKS;
/// Units of 256 bytes that wait in the queue of a channel. Documented as 64 entries, taken as units. See
/// `guide::clock`.
pub const HBM_QUEUE_UNITS: usize = 64;
/// tCCD in ticks from one command to the next in another bank group of the same slice: 2 command cycles. Documented.
/// See `guide::clock`.
pub const HBM_TCCD_OTHER_GROUP_TICKS: u64 = 2 * HBM_COMMAND_CYCLE_TICKS;
/// tCCD in ticks from one command to the next in another slice: 3 command cycles. Documented. See
/// `guide::clock`.
pub const HBM_TCCD_OTHER_SLICE_TICKS: u64 = 3 * HBM_COMMAND_CYCLE_TICKS;
/// tCCD in ticks from one command to the next in the same bank group: 4 command cycles. Documented. See
/// `guide::clock`.
pub const HBM_TCCD_SAME_GROUP_TICKS: u64 = 4 * HBM_COMMAND_CYCLE_TICKS;
/// Ticks in which a closed bank opens a row: 20 ns. Assumed. See `guide::clock`.
pub const HBM_ACTIVATION_TICKS: u64 = 60;
/// Ticks in which a bank closes its row and opens another: 44 ns. Assumed inside the documented 40 to 50 ns: with this
/// value, conflicts in one bank and in four agree with the results of simulators of HBM3. See
/// `guide::clock`.
pub const HBM_ROW_SWITCH_TICKS: u64 = 132;
/// Ticks of a request that switches a row, in the estimate: 40 ns. Assumed inside the documented 40 to 50 ns: the
/// worked examples are computed with it. See `guide::clock`.
pub const HBM_ESTIMATE_ROW_SWITCH_TICKS: u64 = 120;
/// Ticks of refresh per 1000 ticks of HBM use. Reported. See `guide::clock`.
pub const HBM_REFRESH_PER_MILLE: u64 = 71;
/// Time of a write of a part of a unit, as a multiple of that of a whole unit: it reads, changes and writes the unit.
/// Documented as about 50. See `guide::clock`.
pub const HBM_PARTIAL_WRITE_UNITS: u64 = 50;
/// Ticks for which a write of a part of a unit holds its channel: 267 core cycles. Derived. See
/// `guide::clock`.
pub const HBM_PARTIAL_WRITE_TICKS: u64 = HBM_PARTIAL_WRITE_UNITS * HBM_UNIT_TICKS;

// DMA.

/// Slices of a Data Memory Network, which share one data path. Documented. See `guide::chip`.
pub const DMN_SLICES: usize = 32;
/// Slices of a PE: two Data Memory Networks with one DMA engine. Derived. See `guide::chip`.
pub const PE_SLICES: usize = 2 * DMN_SLICES;
/// PEs of a cluster, and so DMA engines. Derived. See `guide::chip`.
pub const CLUSTER_PES: usize = SLICES / PE_SLICES;
/// Bytes between the slices of a cluster in the window through which DMA commands see DM: `slice_stride`. Documented.
/// See `guide::memories_and_dma`.
pub const DMA_SLICE_STRIDE: u64 = 4 << 20;
/// Bytes between the Data Memory Networks of a cluster in that window: `DMN_stride`. Derived. See
/// `guide::memories_and_dma`.
pub const DMA_DMN_STRIDE: u64 = DMN_SLICES as u64 * DMA_SLICE_STRIDE;
/// Entries of a DMA command, the packet among them. Documented. See `guide::memories_and_dma`.
pub const DMA_ENTRIES: usize = SEQUENCER_ENTRIES;
/// The longest packet of a DMA command in bytes: 256 AXI beats of 16 bytes. Documented. See
/// `guide::memories_and_dma`.
pub const DMA_PACKET_BYTES: usize = 4096;
/// The longest request of a DMA engine in bytes. Documented. See `guide::memories_and_dma`.
pub const DMA_REQUEST_BYTES: usize = 256;
/// DM is written in units of this many bytes. Documented. See `guide::memories_and_dma`.
pub const DMA_DM_WRITE_BYTES: usize = 8;
/// Accesses to DM of a request that writes a part of a unit of 8 bytes: read, change, write. Documented. See
/// `guide::clock`.
pub const DMA_DM_PARTIAL_WRITE: usize = 3;
/// Cycles that a DMA command takes to start. Documented. See `guide::clock`.
pub const DMA_STARTUP_CYCLES: u64 = 500;
/// Bytes per cycle of the data path of a Data Memory Network. Documented for whole units of 128 bytes. A shorter
/// request is assumed to take a whole cycle. See `guide::clock`.
pub const DMN_BYTES_PER_CYCLE: usize = 128;
/// Ticks in which the data path of a Data Memory Network moves 128 bytes for DMA: a cycle of the HBM controller.
/// Reported. See `guide::clock`.
pub const DMN_ACCESS_TICKS: u64 = HBM_CONTROLLER_CYCLE_TICKS;
/// Core cycles from the copy of a tensor for one slice to the copy for the next slice of the cluster, beside its bytes.
/// Reported. See `guide::clock`.
pub const DMA_COPY_CYCLES: u64 = 10;
/// Core cycles in which a gather or scatter fetches its index before it moves rows. Reported. See
/// `guide::clock`.
pub const DMA_INDEX_CYCLES: u64 = 400;
/// Bytes per cycle of the SPM of a Data Memory Network. Assumed: the documentation has 128 per network and 128 per
/// cluster. See `guide::clock`.
pub const SPM_BYTES_PER_CYCLE: usize = 128;
/// Bytes of the SPM of a Data Memory Network. Assumed. See `guide::clock`.
pub const SPM_BYTES: u64 = 1 << 20;
/// Bytes per cycle over PCIe, in each direction. Documented. See `guide::clock`.
pub const PCIE_BYTES_PER_CYCLE: u64 = 30;
/// Cycles that a transfer over PCIe takes to start. Assumed. See `guide::clock`.
pub const PCIE_STARTUP_CYCLES: u64 = 500;

// Data memory timing.

/// Banks of the data memory of a slice. Documented. See `guide::chip`.
pub const DM_BANKS: usize = 16;
/// Bytes of one access to a bank, and of a word of it. Documented. See `guide::chip`.
pub const DM_BANK_WORD_BYTES: usize = 8;
/// Rows of a bank. Documented. See `guide::chip`.
pub const DM_BANK_ROWS: usize = 4096;
/// Bytes after which the banks repeat: 16 banks of 8 bytes. Derived. See `guide::chip`.
pub const DM_ROW_BYTES: usize = DM_BANKS * DM_BANK_WORD_BYTES;
/// Bytes of one access in dual-channel mode, the widest access. Documented. See `guide::fetch`.
pub const DUAL_CHANNEL_ACCESS_BYTES: usize = 64;
/// DMNs that a DMA engine serves: those of its PE. Documented. See `guide::clock`.
pub const DMA_ENGINE_DMNS: usize = 2;
/// Requests of a DMA engine per cycle. Documented. See `guide::clock`.
pub const DMA_REQUESTS_PER_CYCLE: usize = 1;
/// DMA requests that wait in a slice. Documented. See `guide::clock`.
pub const SLICE_DMA_QUEUE_REQUESTS: usize = 2;
/// Cycles that a DMA request may stay unanswered. Documented. See `guide::clock`.
pub const NOC_TIMEOUT_CYCLES: u64 = 4096;
/// Consecutive accesses to one bank that are safe beside DMA. Derived: the greatest `N` with `(256 / 128) * N * 32 <
/// 4096`; it fails at 64. See `guide::clock`.
pub const DM_BANK_RUN_ACCESSES: u64 =
    (NOC_TIMEOUT_CYCLES - 1) / (DMA_REQUEST_BYTES / DMN_BYTES_PER_CYCLE * DMN_SLICES) as u64;
