//! The Fetch Engine reads elements in sequencer order and adapts them. The Collect Engine pads packets to flits.

use super::adapter::Adapter;
use super::mask::MaskPlan;
use super::packets::Packets;
use crate::memory::Block;
use crate::memory::row::{Line, Row};
use core::ops::Range;
use furiosa_visa_rules::command::{Collect, Fetch, Turns};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::walk::Walk;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// Bytes of a block of packets: small enough for the second cache, and large enough that the cost per block does not
/// matter.
const BLOCK_BYTES: usize = 32 * 1024;

/// The part of a fetch that is the same in all slices.
#[derive(Debug)]
pub(crate) struct FetchPlan {
    /// The address of each tensor.
    addresses: [u64; 2],
    /// The order in which the tensors take turns.
    turns: Turns,
    stored: ElementType,
    output: ElementType,
    walk: Walk,
    mask: Option<MaskPlan>,
    adapter: Adapter,
    time: usize,
    packet: usize,
    /// Elements per packet with the padding of collect.
    padded: usize,
    /// Packets per block: an even number.
    block: usize,
}

impl FetchPlan {
    /// Prepares a fetch and the padding of its packets by collect.
    pub(crate) fn new(fetch: &Fetch, collect: Option<&Collect>) -> Self {
        let per_flit = FLIT_BYTES * 8 / fetch.output.bits();
        let padded = collect.map_or(fetch.packet, |collect| collect.flits * per_flit);
        let packet_bytes = (padded * fetch.output.container_bits()).div_ceil(8).max(1);
        let address = fetch.source.address;
        Self {
            addresses: [address, fetch.interleave.map_or(address, |second| second.source.address)],
            turns: Turns::new(fetch),
            stored: fetch.source.footprint.element,
            output: fetch.output,
            walk: Walk::new(&fetch.config),
            mask: fetch.mask.as_ref().map(|mask| MaskPlan::new(mask, &fetch.config)),
            adapter: Adapter::new(fetch),
            time: fetch.time,
            packet: fetch.packet,
            padded,
            block: (BLOCK_BYTES / packet_bytes / 2 * 2).max(2),
        }
    }

    /// The same fetch, with blocks that hold whole groups of `packets` packets.
    pub(crate) fn in_groups(mut self, packets: usize) -> Self {
        // Interleaved tensors take turns in pairs.
        let group = if packets.is_multiple_of(2) { packets } else { 2 * packets };
        self.block = self.block.next_multiple_of(group);
        self
    }

    /// The time steps of each block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (time, block) = (self.time, self.block);
        (0..time).step_by(block).map(move |start| start..(start + block).min(time))
    }

    /// Elements per packet after collect.
    pub(crate) fn padded(&self) -> usize {
        self.padded
    }

    /// Bytes per packet after collect.
    pub(crate) fn packet_bytes(&self) -> usize {
        self.padded * self.output.container_bits() / 8
    }

    /// Tells if elements change on their way into the stream.
    pub(crate) fn converts(&self) -> bool {
        !self.adapter.changes_nothing()
    }

    /// Tells if the mask covers an element of a packet.
    pub(crate) fn is_masked(&self, step: usize, element: usize) -> bool {
        let Some(mask) = &self.mask else { return false };
        let len = self.packet;
        let mut row = Row::new(self.stored);
        row.push(&vec![0; (len * self.stored.bits()).div_ceil(8)], len, Some(&vec![false; len]));
        mask.run(step..step + 1, (self.turns, len), &mut row);
        row.flags().is_some_and(|flags| flags[element])
    }

    /// The type in the stream.
    pub(crate) fn output(&self) -> ElementType {
        self.output
    }

    /// Pieces of `bytes` bytes in the order of the stream, if the stream consists of bytes of DM only.
    pub(super) fn packets(&self, bytes: usize) -> Option<Packets> {
        if self.padded == self.packet { self.pieces(bytes) } else { None }
    }

    /// Tells if elements of a single tensor enter the stream unchanged.
    fn is_plain(&self) -> bool {
        self.adapter.changes_nothing() && self.mask.is_none() && self.turns.is_single()
    }

    /// Number of leading bytes of each flit that are not padding. `flits`: flits per packet. `None`: flits differ, or
    /// the elements end inside a byte.
    pub(super) fn live_bytes(&self, flits: usize) -> Option<usize> {
        let bits = match self.padded == self.packet {
            true => self.packet * self.output.bits() / flits,
            false if flits == 1 => self.packet * self.output.bits(),
            false => return None,
        };
        (bits > 0 && bits.is_multiple_of(8)).then_some(bits / 8)
    }

    /// Smallest number of contiguous bytes that are read.
    pub(super) fn run_bytes(&self) -> usize {
        self.walk.neighbours() * self.stored.bits() / 8
    }

    /// Pieces of `bytes` bytes that make up the packets, if fetch only reads them.
    pub(super) fn pieces(&self, bytes: usize) -> Option<Packets> {
        if !self.is_plain() {
            return None;
        }
        let count = self.time * self.packet;
        Packets::of(self.walk.addresses(count, bytes, self.addresses[0], self.stored.bits())?, bytes)
    }

    /// Reads the packets of some time steps into `stream`. `buffers` is scratch.
    pub(crate) fn run(&self, dm: &Block, time: Range<usize>, buffers: &mut FetchBuffers, stream: &mut Row) {
        let whole = self.padded == self.packet;
        let FetchBuffers { stored, packets } = buffers;
        let steps = time.len();
        match (self.adapter.changes_nothing(), whole) {
            (true, true) => self.read(dm, time, stream),
            (true, false) => {
                self.read(dm, time, packets);
                self.pad(packets, steps, stream);
            }
            (false, true) => {
                self.read(dm, time.clone(), stored);
                self.adapter.run(stored, time, (self.turns, self.packet), stream);
            }
            (false, false) => {
                self.read(dm, time.clone(), stored);
                self.adapter.run(stored, time, (self.turns, self.packet), packets);
                self.pad(packets, steps, stream);
            }
        }
    }

    /// Reads and masks the stored elements of some time steps.
    fn read(&self, dm: &Block, time: Range<usize>, row: &mut Row) {
        row.clear(self.stored);
        let mut cursor = self.walk.cursor(time.start * self.packet);
        self.turns.for_each(time.clone(), |tensor, steps| {
            cursor.advance(steps.len() * self.packet, |run| {
                let address = self.addresses[tensor];
                let line =
                    Line { unit: 0, address, position: run.position, stride: run.stride, len: run.len };
                row.read(dm, line);
            });
        });
        if let Some(mask) = &self.mask {
            mask.run(time, (self.turns, self.packet), row);
        }
    }

    /// Pads every packet to whole flits.
    fn pad(&self, packets: &Row, steps: usize, stream: &mut Row) {
        let bits = self.output.container_bits();
        repack(
            packets,
            (self.packet, self.packet * bits / 8),
            (self.padded, self.padded * bits / 8),
            steps,
            stream,
        );
    }
}

/// Scratch of a fetch.
#[derive(Debug)]
pub(crate) struct FetchBuffers {
    stored: Row,
    packets: Row,
}

impl Default for FetchBuffers {
    fn default() -> Self {
        Self { stored: Row::new(ElementType::I8), packets: Row::new(ElementType::I8) }
    }
}

/// Copies packets of some size, in elements and bytes, into larger ones. Added lanes are zero and uninitialised.
pub(crate) fn repack(
    from: &Row,
    (elements, bytes): (usize, usize),
    (to_elements, to_bytes): (usize, usize),
    packets: usize,
    output: &mut Row,
) {
    output.clear(from.element());
    let (copies, flags) = output.push_blank(packets * to_elements, Some(&[]));
    if to_bytes > 0 && bytes > 0 {
        for (copy, packet) in copies.chunks_exact_mut(to_bytes).zip(from.bytes().chunks_exact(bytes)) {
            copy[..bytes].copy_from_slice(packet);
        }
    }
    for (k, copy) in flags.chunks_exact_mut(to_elements.max(1)).enumerate() {
        match from.flags() {
            Some(flags) => copy[..elements].copy_from_slice(&flags[k * elements..(k + 1) * elements]),
            None => copy[..elements].fill(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::{FillId, Footprint, Memory, Region};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::testing::{config, walked_by_definition};

    pub(crate) fn fetch(
        element: ElementType,
        output: ElementType,
        entries: &[(usize, isize)],
        time: usize,
        packet: usize,
    ) -> Fetch {
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 4096, guard };
        let source = Region::whole(Memory::Dm, 8, FillId(1), footprint);
        Fetch::new(source, config(entries, packet), time, packet, output)
    }

    #[test]
    fn elements_come_in_sequencer_order() {
        let mut dm = Block::new(512 * 1024);
        dm.write(8, &(0..4096).map(|k| (k * 7 % 251) as u8).collect::<Vec<_>>());
        let fetch = fetch(ElementType::I8, ElementType::I8, &[(4, 0), (300, 3), (8, 70)], 1200, 8);
        let plan = FetchPlan::new(&fetch, Some(&Collect { flits: 1 }));
        let (mut stream, mut buffers) = (Row::new(ElementType::I8), FetchBuffers::default());
        let expected = walked_by_definition(&fetch.config);
        for block in plan.blocks() {
            plan.run(&dm, block.clone(), &mut buffers, &mut stream);
            for (k, t) in block.enumerate() {
                let packet: Vec<u8> =
                    expected[t * 8..t * 8 + 8].iter().map(|p| (p * 7 % 251) as u8).collect();
                assert_eq!(stream.bytes()[k * 32..k * 32 + 8], packet);
                assert_eq!(stream.bytes()[k * 32 + 8..k * 32 + 32], [0; 24]);
                let flags = stream.flags().expect("collect pads");
                assert!((0..32).all(|lane| flags[k * 32 + lane] == (lane < 8)));
            }
        }
    }

    #[test]
    fn nibbles_are_widened_and_reads_run_past_the_end() {
        let mut dm = Block::new(512 * 1024);
        dm.write(8, &[0x21, 0x43, 0xf5]);
        let fetch = fetch(ElementType::I4, ElementType::I32, &[(2, 3), (4, 1)], 2, 4);
        let plan = FetchPlan::new(&fetch, None);
        let (mut stream, mut buffers) = (Row::new(ElementType::I8), FetchBuffers::default());
        plan.run(&dm, 0..2, &mut buffers, &mut stream);
        let values: Vec<i32> =
            stream.bytes().as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect();
        assert_eq!(values, [1, 2, 3, 4, 4, 5, -1, -8], "poison is the least number");
        assert_eq!(stream.flags(), Some(&[true, true, true, true, true, true, true, false][..]));
    }
}
