//! Bytes of its own for every tensor: what a program computes when addresses do not matter.
//!
//! ```text
//!   given     DM   0 ├── tensor 1 ──┤ 64
//!                       40 ├── tensor 2 ──┤ 104
//!
//!   own       DM  64 ├── tensor 1 ──┤  …  ├── tensor 2 ──┤          each handle finds what it wrote
//! ```
//!
//! A tensor is told by its fill; a handle that was made from a bare address is one more tensor. Values move inside the
//! given memories with other addresses and no end; each tensor in the TRF has a register file of its own. Bounds,
//! alignment, time and the map stay those of the given addresses.

use super::row::{Line, Row};
use super::{Hbm, SpaceMut, Unit};
use core::ops::Range;
use furiosa_visa_rules::command::{
    Address, Dma, FillId, IndexedDma, Memory, Place, Region, TensorUnit, TrfAddress, TrfRegion, UnitCopy,
};
use furiosa_visa_rules::scalar::ElementType;
use std::collections::HashMap;

/// Bytes of a memory whose tensors do not have to fit: more than any host has.
pub(crate) const ENDLESS_BYTES: u64 = {
    let addressable = usize::MAX as u64 / 64;
    if addressable < 1 << 46 { addressable } else { 1 << 46 }
};

/// Bytes between two tensors: reads may run past the ends of one.
const GAP_BYTES: u64 = 64;

/// Bytes that are moved at a time when a tensor grows.
const STEP_BYTES: u64 = 1 << 20;

/// What tells tensors apart. The fill of commands that were built by hand does not: there the address does.
type Key<A> = (FillId, Option<A>);

fn key<A>(fill: FillId, address: A) -> Key<A> {
    (fill, (fill == FillId::ANY).then_some(address))
}

/// Whether two tensors of one memory have the same bytes of their own.
pub(crate) fn shares(a: &Region, b: &Region) -> bool {
    key(a.fill, a.base()) == key(b.fill, b.base())
}

/// What to try where a fault may come from addresses. `apart`: every tensor has bytes of its own already.
pub(crate) fn advice(apart: bool) -> &'static str {
    if apart { "" } else { "; `VISA_ADDRESSES=separate` shows whether addresses are the cause" }
}

/// The bytes of a tensor.
#[derive(Clone, Debug)]
struct Window {
    /// The given addresses.
    given: Range<u64>,
    /// The own address of the first one.
    start: u64,
}

/// The tensors of one memory.
#[derive(Debug, Default)]
struct Windows {
    known: HashMap<Key<Address>, Window>,
    end: u64,
}

/// Bytes that have another address from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moved {
    from: u64,
    to: u64,
    bytes: u64,
}

impl Windows {
    /// The address of a tensor's own bytes. What it held moves along where it is larger than anybody knew.
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
        // Elements lie as they would at the given address.
        let start = (self.end + GAP_BYTES).next_multiple_of(GAP_BYTES) + all.start % GAP_BYTES;
        self.end = start + (all.end - all.start);
        let own = |address: u64| start + (address - all.start);
        let moved = old.map(|old| Moved {
            from: old.start,
            to: own(old.given.start),
            bytes: old.given.end - old.given.start,
        });
        let address = own(given.start);
        self.known.insert(key, Window { given: all, start });
        (address, moved)
    }
}

/// Copies the written bytes of a tensor to its new place.
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
            // What nobody wrote stays so: only the runs of written bytes are copied.
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

/// A command's regions at the addresses of their own bytes, and its register files.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) unit: std::borrow::Cow<'a, TensorUnit>,
    pub(crate) files: Files,
}

/// The register files of a pass: the one of [`Addresses::AsGiven`] is number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// The one that the contraction reads.
    pub(crate) read: usize,
    /// The one that `to_trf` loads.
    pub(crate) written: usize,
}

impl<'a> Placed<'a> {
    /// Everything where the command says.
    pub(crate) fn as_given(unit: &'a TensorUnit) -> Self {
        Self { unit: std::borrow::Cow::Borrowed(unit), files: Files::default() }
    }
}

/// Which bytes are whose.
#[derive(Debug, Default)]
pub(crate) struct Separate {
    hbm: Windows,
    dm: Windows,
    vrf: Windows,
    files: HashMap<Key<TrfAddress>, usize>,
}

impl Separate {
    /// A region at its own bytes.
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
        // Parts of a tensor lie where they would in it.
        Region { address: base.saturating_add(region.address - region.base()), ..*region }
    }

    /// The register file of a tensor.
    pub(crate) fn file(&mut self, region: &TrfRegion, units: &mut [Unit]) -> usize {
        let next = self.files.len() + 1;
        let file = *self.files.entry(key(region.fill, region.address)).or_insert(next);
        units.iter_mut().for_each(|unit| unit.make_file(file));
        file
    }

    /// A transfer between own bytes.
    pub(crate) fn dma(&mut self, dma: &Dma, hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) -> Dma {
        let [source, destination] = self.both([&dma.source, &dma.destination], hbm, units);
        Dma { source, destination, ..dma.clone() }
    }

    /// A copy between own bytes.
    pub(crate) fn unit_copy(
        &mut self,
        copy: &UnitCopy,
        hbm: &mut Vec<Hbm>,
        units: &mut Vec<Unit>,
    ) -> UnitCopy {
        let [source, destination] = self.both([&copy.source, &copy.destination], hbm, units);
        UnitCopy { source, destination, ..copy.clone() }
    }

    /// A gather or scatter between own bytes.
    pub(crate) fn indexed(
        &mut self,
        own: &IndexedDma,
        hbm: &mut Vec<Hbm>,
        units: &mut Vec<Unit>,
    ) -> IndexedDma {
        // Twice: one of them may be a longer view of another.
        self.region(&own.index, hbm, units);
        self.both([&own.source, &own.destination], hbm, units);
        let index = self.region(&own.index, hbm, units);
        let [source, destination] = self.both([&own.source, &own.destination], hbm, units);
        IndexedDma { source, destination, index, ..own.clone() }
    }

    /// Two regions at their own bytes.
    fn both(&mut self, regions: [&Region; 2], hbm: &mut Vec<Hbm>, units: &mut Vec<Unit>) -> [Region; 2] {
        // Both first: the second one may be a longer view of the first.
        for region in regions {
            self.region(region, hbm, units);
        }
        regions.map(|region| self.region(region, hbm, units))
    }

    /// A pass between own bytes.
    pub(crate) fn pass(
        &mut self,
        unit: &TensorUnit,
        hbm: &mut Vec<Hbm>,
        units: &mut Vec<Unit>,
    ) -> Placed<'static> {
        let (mut own, mut files) = (unit.clone(), Files::default());
        // Twice: a later region may be a longer view of an earlier one.
        own.regions_mut().for_each(|region| {
            self.region(region, hbm, units);
        });
        own.regions_mut().for_each(|region| *region = self.region(region, hbm, units));
        for used in unit.reads().chain([unit.writes()]) {
            if let Place::Trf(region) = used.place {
                let file = if used.writes { &mut files.written } else { &mut files.read };
                *file = self.file(&region, units);
            }
        }
        Placed { unit: std::borrow::Cow::Owned(own), files }
    }
}
