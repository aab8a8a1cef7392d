//! Separate bytes for every tensor: the values of a program when addresses do not matter.
//!
//! ```text
//!   given     DM   0 ├── tensor 1 ──┤ 64
//!                       40 ├── tensor 2 ──┤ 104
//!
//!   separate  DM  64 ├── tensor 1 ──┤  …  ├── tensor 2 ──┤          each handle finds what it wrote
//! ```
//!
//! A tensor is identified by its fill id; a handle from a bare address is one more tensor. Values move in the given
//! memories, at other addresses and without a limit. Each tensor in the TRF has a register file to itself. Bounds,
//! alignment, time and the map stay those of the given addresses.

use super::row::{Line, Row};
use super::{Hbm, SpaceMut, Unit};
use core::ops::Range;
use furiosa_visa_rules::command::{
    Address, Dma, FillId, IndexedDma, Memory, Memset, Place, Region, TensorUnit, TrfAddress, TrfRegion,
    UnitCopy,
};
use furiosa_visa_rules::scalar::ElementType;
use std::collections::HashMap;

/// Bytes of a memory without a limit for tensors: more than any host has.
pub(crate) const ENDLESS_BYTES: u64 = {
    let addressable = usize::MAX as u64 / 64;
    if addressable < 1 << 46 { addressable } else { 1 << 46 }
};

/// Bytes between two tensors, because reads may run past the ends of a tensor.
const GAP_BYTES: u64 = 64;

/// Bytes that are copied at a time when a tensor grows.
const STEP_BYTES: u64 = 1 << 20;

/// Identity of a tensor: its fill, or its address for commands that were built by hand, because these share one fill.
type Key<A> = (FillId, Option<A>);

fn key<A>(fill: FillId, address: A) -> Key<A> {
    (fill, (fill == FillId::ANY).then_some(address))
}

/// Tells if two tensors of one memory have the same separate bytes.
pub(crate) fn shares(a: &Region, b: &Region) -> bool {
    key(a.fill, a.base()) == key(b.fill, b.base())
}

/// Hint for a fault that addresses may cause. `apart`: every tensor has separate bytes already.
pub(crate) fn advice(apart: bool) -> &'static str {
    if apart { "" } else { "; `VISA_ADDRESSES=separate` shows whether addresses are the cause" }
}

/// The bytes of a tensor.
#[derive(Clone, Debug)]
struct Window {
    /// The given addresses.
    given: Range<u64>,
    /// The separate address of the first byte.
    start: u64,
}

/// The tensors of one memory.
#[derive(Debug, Default)]
struct Windows {
    known: HashMap<Key<Address>, Window>,
    end: u64,
}

/// Bytes that move to another address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moved {
    from: u64,
    to: u64,
    bytes: u64,
}

impl Windows {
    /// Address of a tensor's separate bytes. If the tensor is larger than it was known to be, its bytes move.
    fn place(&mut self, region: &Region) -> (u64, Option<Moved>) {
        let bytes = region.footprint.bytes().max(1) as u64;
        let given = region.base()..region.base().saturating_add(bytes);
        let key = key(region.fill, region.base());
        let old = self.known.get(&key).cloned();
        if let Some(old) = old.as_ref().filter(|w| w.given.start <= given.start && given.end <= w.given.end) {
            return (old.start + (given.start - old.given.start), None);
        }
        let all = old
            .as_ref()
            .map_or(given.clone(), |old| old.given.start.min(given.start)..old.given.end.max(given.end));
        // Keeps the alignment that elements have at the given address.
        let start = (self.end + GAP_BYTES).next_multiple_of(GAP_BYTES) + all.start % GAP_BYTES;
        self.end = start + (all.end - all.start);
        let separate = |address: u64| start + (address - all.start);
        let moved = old.map(|old| Moved {
            from: old.start,
            to: separate(old.given.start),
            bytes: old.given.end - old.given.start,
        });
        let address = separate(given.start);
        self.known.insert(key, Window { given: all, start });
        (address, moved)
    }
}

/// Copies the written bytes of a tensor to their new addresses.
fn follow(memory: &mut impl SpaceMut, units: usize, moved: Moved) {
    let mut row = Row::new(ElementType::I8);
    for unit in 0..units {
        for at in (0..moved.bytes).step_by(STEP_BYTES as usize) {
            let len = STEP_BYTES.min(moved.bytes - at) as usize;
            let is_empty = |address| memory.piece(unit, address).is_none_or(|piece| piece.block.is_none());
            if is_empty(moved.from + at) && is_empty(moved.from + at + len as u64 - 1) {
                continue;
            }
            let line = |address: u64| Line { unit, address: address + at, position: 0, stride: 1, len };
            row.clear(ElementType::I8);
            row.read(memory, line(moved.from));
            // Copies only the runs of written bytes: unwritten bytes stay unwritten.
            let flags = row.flags().map(<[bool]>::to_vec);
            let mut copy = |first: usize, len: usize| {
                let to = Line { position: first as i64, len, ..line(moved.to) };
                row.write(first, memory, to, moved.to + at + (first + len) as u64);
            };
            let Some(flags) = flags else {
                copy(0, len);
                continue;
            };
            let mut first = 0;
            for run in flags.chunk_by(|a, b| a == b) {
                if run[0] {
                    copy(first, run.len());
                }
                first += run.len();
            }
        }
    }
}

/// A command whose regions lie at their separate addresses, with its register files.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) unit: std::borrow::Cow<'a, TensorUnit>,
    pub(crate) files: Files,
}

/// Register files of a pass. Number 0 is the file of [`Addresses::AsGiven`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// The file that the contraction reads.
    pub(crate) read: usize,
    /// The file that `to_trf` loads.
    pub(crate) written: usize,
}

impl<'a> Placed<'a> {
    /// The pass at its given addresses.
    pub(crate) fn as_given(unit: &'a TensorUnit) -> Self {
        Self { unit: std::borrow::Cow::Borrowed(unit), files: Files::default() }
    }
}

/// Separate bytes of all tensors.
#[derive(Debug, Default)]
pub(crate) struct Separate {
    hbm: Windows,
    dm: Windows,
    vrf: Windows,
    files: HashMap<Key<TrfAddress>, usize>,
}

impl Separate {
    /// A region at its separate address.
    pub(crate) fn region(&mut self, region: &Region, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) -> Region {
        let windows = match region.memory {
            Memory::Hbm => &mut self.hbm,
            Memory::Dm => &mut self.dm,
            Memory::Vrf => &mut self.vrf,
        };
        let (base, moved) = windows.place(region);
        if let Some(moved) = moved {
            match region.memory {
                Memory::Hbm => follow(hbm, hbm.len(), moved),
                Memory::Dm => follow(units, units.len(), moved),
                Memory::Vrf => units.iter_mut().for_each(|unit| follow(&mut unit.vrf, 1, moved)),
            }
        }
        // A part of a tensor keeps its offset in the tensor.
        Region { address: base.saturating_add(region.address - region.base()), ..*region }
    }

    /// The register file of a tensor.
    pub(crate) fn file(&mut self, region: &TrfRegion, units: &mut [Unit]) -> usize {
        let next = self.files.len() + 1;
        let file = *self.files.entry(key(region.fill, region.address)).or_insert(next);
        units.iter_mut().for_each(|unit| unit.make_file(file));
        file
    }

    /// A transfer between separate addresses.
    pub(crate) fn dma(&mut self, dma: &Dma, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) -> Dma {
        let [source, destination] = self.both([&dma.source, &dma.destination], hbm, units);
        Dma { source, destination, ..dma.clone() }
    }

    /// A copy between separate addresses.
    pub(crate) fn unit_copy(
        &mut self,
        copy: &UnitCopy,
        hbm: &mut Vec<Hbm>,
        units: &mut Vec<Unit>,
    ) -> UnitCopy {
        let [source, destination] = self.both([&copy.source, &copy.destination], hbm, units);
        UnitCopy { source, destination, ..copy.clone() }
    }

    /// A memset at a separate address.
    pub(crate) fn memset(&mut self, memset: &Memset, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) -> Memset {
        Memset { destination: self.region(&memset.destination, hbm, units), ..memset.clone() }
    }

    /// A gather or scatter between separate addresses.
    pub(crate) fn indexed(
        &mut self,
        dma: &IndexedDma,
        hbm: &mut Vec<Hbm>,
        units: &mut Vec<Unit>,
    ) -> IndexedDma {
        // Twice, because one of them may be a longer view of another.
        self.region(&dma.index, hbm, units);
        self.both([&dma.source, &dma.destination], hbm, units);
        let index = self.region(&dma.index, hbm, units);
        let [source, destination] = self.both([&dma.source, &dma.destination], hbm, units);
        IndexedDma { source, destination, index, ..dma.clone() }
    }

    /// Two regions at their separate addresses.
    fn both(&mut self, regions: [&Region; 2], hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) -> [Region; 2] {
        // Both first, because the second one may be a longer view of the first.
        for region in regions {
            self.region(region, hbm, units);
        }
        regions.map(|region| self.region(region, hbm, units))
    }

    /// A pass between separate addresses.
    pub(crate) fn pass(
        &mut self,
        unit: &TensorUnit,
        hbm: &mut Vec<Hbm>,
        units: &mut Vec<Unit>,
    ) -> Placed<'static> {
        let (mut placed, mut files) = (unit.clone(), Files::default());
        // Twice, because a later region may be a longer view of an earlier one.
        placed.regions_mut().for_each(|region| {
            self.region(region, hbm, units);
        });
        placed.regions_mut().for_each(|region| *region = self.region(region, hbm, units));
        for used in unit.reads().chain([unit.writes()]) {
            if let Place::Trf(region) = used.place {
                let file = if used.writes { &mut files.written } else { &mut files.read };
                *file = self.file(&region, units);
            }
        }
        Placed { unit: std::borrow::Cow::Owned(placed), files }
    }
}
