//! The command of a DMA engine: one loop nest with a stride on either side.

use super::walk::{Packets, Requests};
use core::fmt;
pub use furiosa_visa_rules::command::moves::Side;
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::text::Text;

/// Memory that a DMA engine reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Medium {
    /// The HBM of a chip. Addresses are bytes in it.
    Hbm {
        /// The chip.
        chip: usize,
    },
    /// The data memory of a cluster. Addresses are in its window: slice `s` starts at
    /// `s *` [`spec::DMA_SLICE_STRIDE`].
    Dm {
        /// The chip.
        chip: usize,
        /// The cluster of the chip.
        cluster: usize,
    },
    /// The SPM of a Data Memory Network. Addresses are bytes in it. No tensor lies there: only commands that are made
    /// by hand name it.
    Spm {
        /// The chip.
        chip: usize,
        /// The cluster of the chip.
        cluster: usize,
        /// The Data Memory Network of the cluster.
        dmn: usize,
    },
}

impl Medium {
    /// The chip.
    pub const fn chip(&self) -> usize {
        match self {
            Medium::Hbm { chip } | Medium::Dm { chip, .. } | Medium::Spm { chip, .. } => *chip,
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Medium::Hbm { .. } => "HBM",
            Medium::Dm { .. } => "DM",
            Medium::Spm { .. } => "SPM",
        }
    }

    const fn is_dm(&self) -> bool {
        matches!(self, Medium::Dm { .. })
    }
}

/// `HBM(0)`, `DM(0, 1)`, `SPM(0, 1, 7)`: chip, cluster, Data Memory Network.
impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Medium::Hbm { chip } => write!(f, "{name}({chip})"),
            Medium::Dm { chip, cluster } => write!(f, "{name}({chip}, {cluster})"),
            Medium::Spm { chip, cluster, dmn } => write!(f, "{name}({chip}, {cluster}, {dmn})"),
        }
    }
}

/// One loop of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairedEntry {
    /// Number of iterations.
    pub limit: usize,
    /// Bytes between two iterations on the source side. 0: a broadcast.
    pub source_stride: u64,
    /// Bytes between two iterations on the destination side.
    pub destination_stride: u64,
}

impl PairedEntry {
    /// Bytes between two iterations on a side.
    pub const fn stride(&self, side: Side) -> u64 {
        match side {
            Side::Source => self.source_stride,
            Side::Destination => self.destination_stride,
        }
    }
}

/// A command of a DMA engine: for every tuple of loop indices, `stride0` bytes go from the source to the destination.
///
/// The packet is the innermost entry of the hardware, one byte on either side; it is `stride0` here and counts as an
/// entry. Printed as both sequencers, outermost entry first:
///
/// ```text
/// [8 : 2048, 8 : 256, 256 : 1] : 256 @ HBM(0) 0x0 -> [8 : 256, 8 : 2048, 256 : 1] : 256 @ HBM(0) 0x4000
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PairedSequencer {
    /// The loops, outermost first, without the packet.
    pub entries: Vec<PairedEntry>,
    /// The first byte that is read.
    pub source_base: u64,
    /// The first byte that is written.
    pub destination_base: u64,
    /// Bytes of a packet.
    pub stride0: usize,
    /// Medium that is read.
    pub source_medium: Medium,
    /// Medium that is written.
    pub destination_medium: Medium,
}

impl PairedSequencer {
    /// A command of one packet.
    pub const fn new(source: (Medium, u64), destination: (Medium, u64), stride0: usize) -> Self {
        Self {
            entries: Vec::new(),
            source_base: source.1,
            destination_base: destination.1,
            stride0,
            source_medium: source.0,
            destination_medium: destination.0,
        }
    }

    /// The same command with loops of `(limit, source stride, destination stride)`, outermost first.
    pub fn with_entries(mut self, entries: &[(usize, u64, u64)]) -> Self {
        let entry = |&(limit, source_stride, destination_stride): &(usize, u64, u64)| PairedEntry {
            limit,
            source_stride,
            destination_stride,
        };
        self.entries = entries.iter().map(entry).collect();
        self
    }

    /// The medium of a side.
    pub const fn medium(&self, side: Side) -> Medium {
        match side {
            Side::Source => self.source_medium,
            Side::Destination => self.destination_medium,
        }
    }

    /// The first byte of a side.
    pub const fn base(&self, side: Side) -> u64 {
        match side {
            Side::Source => self.source_base,
            Side::Destination => self.destination_base,
        }
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.entries.iter().map(|entry| entry.limit as u64).product()
    }

    /// Bytes that the command moves.
    pub fn bytes(&self) -> u64 {
        self.packets() * self.stride0 as u64
    }

    /// Number of requests of at most [`spec::DMA_REQUEST_BYTES`], which cut packets.
    pub fn requests(&self) -> u64 {
        self.packets() * self.stride0.div_ceil(spec::DMA_REQUEST_BYTES) as u64
    }

    /// Bytes from the first to the last one of a side, both included.
    pub fn extent(&self, side: Side) -> u64 {
        let steps = self.entries.iter().map(|e| e.stride(side) * (e.limit as u64).saturating_sub(1));
        steps.sum::<u64>() + self.stride0 as u64
    }

    /// The start of every packet on the source and the destination side, in order.
    pub fn iter_packets(&self) -> Packets<'_> {
        Packets::new(self)
    }

    /// Address and bytes of every request on a side, in order. A request can straddle units of HBM.
    pub fn iter_requests(&self, side: Side) -> Requests<'_> {
        Requests::new(self, side)
    }

    /// Joins neighbouring loops that continue evenly on both sides, as long as the limit allows: `(n1, r1, w1)` and
    /// `(n2, r2, w2)` if `r1 == n2 * r2 && w1 == n2 * w2`. Loops of one iteration are removed.
    pub fn merge(&mut self) {
        let mut merged: Vec<PairedEntry> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..).filter(|entry| entry.limit != 1) {
            let n = entry.limit as u64;
            match merged.last_mut() {
                Some(outer)
                    if outer.source_stride == n * entry.source_stride
                        && outer.destination_stride == n * entry.destination_stride
                        && outer.limit.saturating_mul(entry.limit) <= spec::SEQUENCER_ITERATIONS =>
                {
                    *outer = PairedEntry { limit: outer.limit * entry.limit, ..entry };
                }
                _ => merged.push(entry),
            }
        }
        self.entries = merged;
    }

    /// Checks the rules of a single command.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), PlanError> {
        self.check_form()?;
        if self.destination_medium.is_dm() {
            self.check_alignment(Side::Destination, "DMA alignment")?;
            if matches!(self.source_medium, Medium::Hbm { .. }) {
                self.check_alignment(Side::Source, "DMA source alignment")?;
            }
        }
        Ok(())
    }

    /// Checks that the command writes inside the bytes of a tensor, given per unit. A read may go past the end.
    ///
    /// # Errors
    /// The rule, if a byte outside is written.
    pub fn check_destination(&self, tensor: core::ops::Range<u64>) -> Result<(), PlanError> {
        let (first, past) = self.span_in_unit(Side::Destination);
        if first >= tensor.start && past <= tensor.end {
            return Ok(());
        }
        let text = self.text().str(" writes bytes ").number(first as usize).str(" to ");
        let text = text.number(past as usize).str(", and the tensor spans ").number(tensor.start as usize);
        let text = text.str(" to ").number(tensor.end as usize);
        Err(PlanError::new("write past tensor end", text.str("; help: shorten the outermost loop")))
    }

    /// Checks all rules but alignment, which costs time in derived commands.
    pub(super) fn check_form(&self) -> Result<(), PlanError> {
        let entries = self.entries.len() + 1;
        if entries > spec::DMA_ENTRIES {
            let text = self.text().str(" needs ").number(entries).str(" entries with its packet, and takes ");
            let text = text.number(spec::DMA_ENTRIES);
            let help =
                "; help: order the axes alike on both sides so that neighbours merge, or use several moves";
            return Err(PlanError::new("sequencer entry limit", text.str(help)));
        }
        if self.stride0 == 0 || self.stride0 > spec::DMA_PACKET_BYTES {
            let text =
                self.text().str(" has packets of ").count(self.stride0, "byte").str(", and takes 1 to ");
            let text = text.number(spec::DMA_PACKET_BYTES).str("; help: split the packet into a loop");
            return Err(PlanError::new("DMA packet", text));
        }
        for entry in &self.entries {
            if entry.limit == 0 || entry.limit > spec::SEQUENCER_ITERATIONS {
                let text = self.text().str(" has a loop of ").count(entry.limit, "iteration");
                let text = text.str(", and takes 1 to ").number(spec::SEQUENCER_ITERATIONS);
                return Err(PlanError::new("sequencer iteration limit", text.str("; help: split it in two")));
            }
            if entry.limit > 1 && entry.destination_stride == 0 {
                let text = self.text().str(" writes the same bytes ").number(entry.limit).str(" times");
                let text = text.str(": a loop has destination stride 0; help: remove the loop");
                return Err(PlanError::new("broadcast write", text));
            }
        }
        self.check_capacity(Side::Source)?;
        self.check_capacity(Side::Destination)?;
        let spm = |medium| matches!(medium, Medium::Spm { .. });
        let (from, to) = (self.source_medium, self.destination_medium);
        if (spm(from) || spm(to)) && from.chip() != to.chip() {
            let text = self.text().str(" crosses from chip ").number(from.chip()).str(" to chip ");
            let text = text.number(to.chip()).str(", but SPM transfers stay in a chip");
            return Err(PlanError::new("SPM across chips", text.str("; help: go through HBM or DM")));
        }
        Ok(())
    }

    /// Checks that no bytes and no slices lie past the end of a memory.
    pub(crate) fn check_capacity(&self, side: Side) -> Result<(), PlanError> {
        let (_, past) = self.span_in_unit(side);
        let capacity = match self.medium(side) {
            Medium::Hbm { .. } => spec::HBM_BYTES,
            Medium::Dm { .. } => spec::DM_BYTES as u64,
            Medium::Spm { .. } => spec::SPM_BYTES,
        };
        let slices = self.last_slice(side) + 1;
        let text = || match side {
            Side::Source => self.text().str(" reads up to "),
            Side::Destination => self.text().str(" writes up to "),
        };
        if past > capacity {
            let text = text().str("byte ").number(past as usize).str(" of ").str(self.medium(side).name());
            let text = text.str(", which holds ").number(capacity as usize);
            return Err(PlanError::new("capacity", text.str("; help: choose a lower address")));
        }
        if self.medium(side).is_dm() && slices > spec::SLICES as u64 {
            let text = text().str("slice ").number(slices as usize - 1).str(" of a cluster of ");
            let text = text.number(spec::SLICES).str("; help: one command reaches one cluster");
            return Err(PlanError::new("capacity", text));
        }
        Ok(())
    }

    fn check_alignment(&self, side: Side, rule: &'static str) -> Result<(), PlanError> {
        let unit = spec::DMA_DM_WRITE_BYTES as u64;
        let strides = self.entries.iter().filter(|e| e.limit > 1).map(|entry| entry.stride(side));
        let odd = core::iter::once((self.stride0 as u64, "packets of "))
            .chain(core::iter::once((self.base(side), "at address ")))
            .chain(strides.map(|stride| (stride, "in steps of ")))
            .find(|(bytes, _)| !bytes.is_multiple_of(unit));
        let Some((bytes, what)) = odd else { return Ok(()) };
        let text = match side {
            Side::Source => self.text().str(" reads for DM "),
            Side::Destination => self.text().str(" writes DM "),
        };
        let text =
            text.str(what).number(bytes as usize).str(if what == "at address " { "" } else { " bytes" });
        let text = text.str(", which is no multiple of ").number(unit as usize);
        let text = text.str("; help: pad the innermost axis to a multiple of ").number(unit as usize);
        Err(PlanError::new(rule, text.str(" bytes on both sides")))
    }

    /// The first byte that a side touches in a unit, and the one behind the last. A unit is a chip's HBM, a slice, an
    /// SPM.
    fn span_in_unit(&self, side: Side) -> (u64, u64) {
        if !self.medium(side).is_dm() {
            return (self.base(side), self.base(side) + self.extent(side));
        }
        let inside = |address: u64| address % spec::DMA_SLICE_STRIDE;
        let steps = self.entries.iter().map(|e| inside(e.stride(side)) * (e.limit as u64).saturating_sub(1));
        let first = inside(self.base(side));
        (first, first + steps.sum::<u64>() + self.stride0 as u64)
    }

    /// The last slice of the cluster that a side touches.
    fn last_slice(&self, side: Side) -> u64 {
        let slice = |address: u64| address / spec::DMA_SLICE_STRIDE;
        let steps = self.entries.iter().map(|e| slice(e.stride(side)) * (e.limit as u64).saturating_sub(1));
        slice(self.base(side)) + steps.sum::<u64>()
    }

    const fn text(&self) -> Text {
        let text = Text::new().str("DMA command: a move from ").str(self.source_medium.name());
        text.str(" to ").str(self.destination_medium.name())
    }

    /// Both sequencers without media and bases.
    pub fn loops(&self) -> String {
        format!("{} -> {}", self.side(Side::Source), self.side(Side::Destination))
    }

    /// `[limit : stride, …, packet : 1] : packet`.
    fn side(&self, side: Side) -> String {
        let entries = self.entries.iter().map(|entry| format!("{} : {}, ", entry.limit, entry.stride(side)));
        format!("[{}{} : 1] : {}", entries.collect::<String>(), self.stride0, self.stride0)
    }
}

impl fmt::Display for PairedSequencer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side| format!("{} @ {} {:#x}", self.side(side), self.medium(side), self.base(side));
        write!(f, "{} -> {}", side(Side::Source), side(Side::Destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HBM: Medium = Medium::Hbm { chip: 0 };
    const DM: Medium = Medium::Dm { chip: 0, cluster: 0 };

    fn refusal(command: &PairedSequencer) -> (&'static str, String) {
        let error = command.check().expect_err("refused");
        (error.rule(), error.to_string())
    }

    #[test]
    fn printed_as_both_sequencers() {
        let command =
            PairedSequencer::new((HBM, 0), (DM, 0x100), 256).with_entries(&[(8, 2048, 256), (8, 256, 2048)]);
        let text = "[8 : 2048, 8 : 256, 256 : 1] : 256 @ HBM(0) 0x0 -> \
                    [8 : 256, 8 : 2048, 256 : 1] : 256 @ DM(0, 0) 0x100";
        assert_eq!(command.to_string(), text);
        assert_eq!(Medium::Spm { chip: 1, cluster: 0, dmn: 7 }.to_string(), "SPM(1, 0, 7)");
    }

    #[test]
    fn neighbours_merge_when_both_sides_go_on() {
        let command = PairedSequencer::new((HBM, 0), (HBM, 0), 8);
        let merged = |entries: &[(usize, u64, u64)]| {
            let mut command = command.clone().with_entries(entries);
            command.merge();
            command
                .entries
                .iter()
                .map(|e| (e.limit, e.source_stride, e.destination_stride))
                .collect::<Vec<_>>()
        };
        assert_eq!(merged(&[(4, 80, 160), (1, 9, 9), (5, 16, 32)]), [(20, 16, 32)]);
        assert_eq!(merged(&[(4, 80, 160), (5, 16, 40)]), [(4, 80, 160), (5, 16, 40)]);
        assert_eq!(merged(&[(256, 2048, 2048), (256, 8, 8)]), [(65536, 8, 8)]);
        assert_eq!(merged(&[(256, 2056, 2056), (257, 8, 8)]), [(256, 2056, 2056), (257, 8, 8)]);
    }

    #[test]
    fn at_most_eight_entries() {
        let entries: Vec<_> = (0..8).map(|k| (2, 8 << (2 * k), 16 << (2 * k))).collect();
        let command = PairedSequencer::new((HBM, 0), (HBM, 0), 8);
        assert_eq!(command.clone().with_entries(&entries[..7]).check(), Ok(()));
        let (rule, text) = refusal(&command.with_entries(&entries));
        assert_eq!(rule, "sequencer entry limit");
        assert!(text.contains("needs 9 entries with its packet, and takes 8"), "{text}");
    }

    #[test]
    fn at_most_65536_iterations() {
        let command = PairedSequencer::new((HBM, 0), (HBM, 0), 8);
        assert_eq!(command.clone().with_entries(&[(65536, 8, 8)]).check(), Ok(()));
        let (rule, text) = refusal(&command.clone().with_entries(&[(65537, 8, 8)]));
        assert_eq!(rule, "sequencer iteration limit");
        assert!(text.contains("a loop of 65537 iterations, and takes 1 to 65536"), "{text}");
        assert_eq!(refusal(&command.with_entries(&[(0, 8, 8)])).0, "sequencer iteration limit");
    }

    #[test]
    fn packets_of_1_to_4096_bytes() {
        for stride0 in [1, 4096] {
            assert_eq!(PairedSequencer::new((HBM, 0), (HBM, 0), stride0).check(), Ok(()));
        }
        for stride0 in [0, 4097] {
            let (rule, text) = refusal(&PairedSequencer::new((HBM, 0), (HBM, 0), stride0));
            assert_eq!(rule, "DMA packet");
            assert!(text.contains(&format!("packets of {stride0} bytes, and takes 1 to 4096")), "{text}");
        }
    }

    #[test]
    fn dm_is_written_in_multiples_of_8() {
        let command = |base, stride, stride0| {
            PairedSequencer::new((DM, 1), (DM, base), stride0).with_entries(&[(2, 24, stride)])
        };
        assert_eq!(command(8, 24, 24).check(), Ok(()));
        for (broken, text) in [
            (command(4, 24, 24), "writes DM at address 4, which is no multiple of 8"),
            (command(8, 12, 8), "writes DM in steps of 12 bytes, which"),
            (command(8, 24, 12), "writes DM packets of 12 bytes, which"),
        ] {
            let (rule, found) = refusal(&broken);
            assert_eq!(rule, "DMA alignment");
            assert!(found.contains(text), "{found}");
        }
        // A loop of one iteration has no step.
        let once = PairedSequencer::new((HBM, 0), (DM, 0), 8).with_entries(&[(1, 3, 3)]);
        assert_eq!(once.check(), Ok(()));
    }

    #[test]
    fn hbm_is_read_for_dm_in_multiples_of_8() {
        let command =
            |base, stride| PairedSequencer::new((HBM, base), (DM, 0), 8).with_entries(&[(2, stride, 8)]);
        assert_eq!(command(16, 40).check(), Ok(()));
        for broken in [command(12, 40), command(16, 44)] {
            let (rule, text) = refusal(&broken);
            assert_eq!(rule, "DMA source alignment");
            assert!(text.contains("reads for DM"), "{text}");
        }
        // Between HBM and HBM, and out of DM, single bytes can move.
        assert_eq!(PairedSequencer::new((HBM, 3), (HBM, 5), 7).check(), Ok(()));
        assert_eq!(PairedSequencer::new((DM, 3), (HBM, 5), 7).check(), Ok(()));
    }

    #[test]
    fn inside_the_memories() {
        let dm = |base| PairedSequencer::new((HBM, 0), (DM, base), 8);
        assert_eq!(dm(spec::DM_BYTES as u64 - 8).check(), Ok(()));
        let (rule, text) = refusal(&dm(spec::DM_BYTES as u64));
        assert_eq!(rule, "capacity");
        assert!(text.contains("writes up to byte 524296 of DM, which holds 524288"), "{text}");
        let slices = |n| dm(0).with_entries(&[(n, 8, spec::DMA_SLICE_STRIDE)]);
        assert_eq!(slices(256).check(), Ok(()));
        assert!(refusal(&slices(257)).1.contains("slice 256 of a cluster of 256"));
        let hbm = |base| PairedSequencer::new((HBM, base), (HBM, 0), 8);
        assert_eq!(hbm(spec::HBM_BYTES - 8).check(), Ok(()));
        assert_eq!(refusal(&hbm(spec::HBM_BYTES - 7)).0, "capacity");
        let spm =
            |base| PairedSequencer::new((Medium::Spm { chip: 0, cluster: 0, dmn: 0 }, base), (HBM, 0), 8);
        assert_eq!(spm(spec::SPM_BYTES - 8).check(), Ok(()));
        assert_eq!(refusal(&spm(spec::SPM_BYTES)).0, "capacity");
    }

    #[test]
    fn spm_stays_in_its_chip() {
        let spm = |chip| Medium::Spm { chip, cluster: 0, dmn: 3 };
        assert_eq!(PairedSequencer::new((spm(0), 0), (HBM, 0), 8).check(), Ok(()));
        let (rule, text) = refusal(&PairedSequencer::new((HBM, 0), (spm(1), 0), 8));
        assert_eq!(rule, "SPM across chips");
        assert!(text.contains("crosses from chip 0 to chip 1"), "{text}");
    }

    #[test]
    fn bytes_are_written_once() {
        let command = PairedSequencer::new((HBM, 0), (HBM, 0), 8);
        assert_eq!(command.clone().with_entries(&[(2, 0, 8)]).check(), Ok(()));
        let (rule, text) = refusal(&command.with_entries(&[(2, 8, 0)]));
        assert_eq!(rule, "broadcast write");
        assert!(text.contains("writes the same bytes 2 times"), "{text}");
    }

    #[test]
    fn writes_stay_in_the_tensor() {
        let command = PairedSequencer::new((HBM, 0), (DM, spec::DMA_SLICE_STRIDE + 64), 8)
            .with_entries(&[(4, 8, spec::DMA_SLICE_STRIDE), (3, 32, 16)]);
        assert_eq!(command.check_destination(64..104), Ok(()));
        for tensor in [64..103, 65..104] {
            let error = command.check_destination(tensor).expect_err("outside");
            assert_eq!(error.rule(), "write past tensor end");
            assert!(error.to_string().contains("writes bytes 64 to 104, and the tensor spans"), "{error}");
        }
    }
}
