//! Configurations as text, in the order in which the guide has them.

use super::collect::CollectConfig;
use super::commit::CommitConfig;
use super::contraction::{
    AccumulateConfig, AlignConfig, ContractConfig, StreamAdapterConfig, TrfSequencerConfig,
};
use super::dma::IndexedConfig;
use super::register_file::TrfLoadConfig;
use crate::text::Text;
use core::fmt;

impl fmt::Display for CollectConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per packet", Text::new().count(self.flits, "flit"))
    }
}

impl fmt::Display for StreamAdapterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { collect_flits, zero_bytes, packets, tile, rows } = self;
        write!(
            f,
            "collect_flits {collect_flits}, zeros {zero_bytes} B, packets {packets}, tile {tile}, rows {rows}"
        )
    }
}

impl fmt::Display for TrfSequencerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "reg_read_size {} B, fill {}, entries (bytes) {}",
            self.reg_read_size, self.fill, self.config
        )
    }
}

impl fmt::Display for AlignConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "stream adapter: {}; TRF sequencer: {}; steps {}",
            self.stream_adapter, self.trf_sequencer, self.steps
        )
    }
}

impl fmt::Display for ContractConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tree depth {}, {}", self.depth, Text::new().count(self.columns, "column"))
    }
}

impl fmt::Display for AccumulateConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, columns, slots) = (
            self.kind,
            Text::new().count(self.columns, "column"),
            Text::new().count(self.slot_count, "slot"),
        );
        write!(f, "{kind}, {columns}, {slots} {}, buffer {}", self.slots, self.buffer)
    }
}

/// The loop over the rows, from the index to the start of a row in DM, and the loops of a row.
impl fmt::Display for IndexedConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loops = &self.loops;
        let apart = Text::new().count(loops.stride, "element");
        writeln!(f, "{}: a table of {}, {apart} apart", self.call, Text::new().count(loops.count, "row"))?;
        match self.row_bytes() {
            Ok(bytes) => writeln!(f, "byte offsets of rows are multiples of {bytes}")?,
            Err(_) => writeln!(f, "byte offsets do not name its rows: they are padded, or not outermost")?,
        }
        writeln!(
            f,
            "\nrows: source is the index, destination is in DM; in the table, each is where the index says"
        )?;
        writeln!(f, "{}", loops.rows)?;
        write!(f, "\neach row\n{}", loops.payload)
    }
}

impl fmt::Display for TrfLoadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {} elements, {} bytes", self.rows, self.row_elements, self.bytes)
    }
}

impl fmt::Display for CommitConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, commit_in_size {} B, commit_size {} B, {} cycles",
            self.derived, self.commit_in_size, self.commit_size, self.cycles
        )
    }
}
