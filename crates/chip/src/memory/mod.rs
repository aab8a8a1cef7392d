//! The memories of the simulated system: bytes in the encoding of their elements, and which of them were written.
//!
//! Two 4-bit elements share a byte and its mark. The byte counts as written as soon as one of them is.

mod bits;
mod block;
pub(crate) mod by_bytes;
pub(crate) mod copy;
pub(crate) mod fills;
pub(crate) mod fresh;
mod hbm;
pub(crate) mod parts;
pub(crate) mod patch;
pub(crate) mod planes;
pub(crate) mod row;
pub(crate) mod runs;
pub(crate) mod separate;
mod stale;
pub(crate) mod trf;
pub(crate) mod vrf;
pub(crate) mod words;

pub(crate) use block::Block;
pub(crate) use fresh::Fresh;
pub(crate) use hbm::Hbm;

use core::ops::Range;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{Memory, Place, Region};
use furiosa_visa_rules::spec::{DM_BYTES, TRF_BYTES, VRF_BYTES};

/// Neighbouring bytes of a memory, for reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// The block. `None`: nothing has been written there.
    pub(crate) block: Option<&'a Block>,
    /// Index of the first byte in the block.
    pub(crate) start: usize,
    /// Number of bytes.
    pub(crate) len: usize,
}

/// Neighbouring bytes of a memory, for writing.
#[derive(Debug)]
pub(crate) struct PieceMut<'a> {
    /// The block.
    pub(crate) block: &'a mut Block,
    /// Index of the first byte in the block.
    pub(crate) start: usize,
    /// Number of bytes.
    pub(crate) len: usize,
}

/// A memory with units and byte addresses.
pub(crate) trait Space {
    /// The bytes from an address on. `None` where there is no memory.
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>>;

    /// Value that an unwritten element of a unit reads as.
    fn fresh(&self, unit: usize) -> Fresh;
}

/// A memory that can be written.
pub(crate) trait SpaceMut: Space {
    /// The bytes from an address on, for writes below `end`. `None` where there is no memory.
    fn piece_mut(&mut self, unit: usize, address: u64, end: u64) -> Option<PieceMut<'_>>;
}

/// Makes the elements of a new tensor uninitialised, whatever their bytes held. Its padding positions keep their bytes.
pub(crate) fn forget_elements(space: &mut impl SpaceMut, region: &Region) {
    let place = Place::Region(*region);
    let Coordinates { chip: chips, cluster: clusters, slice: slices } = place.extents();
    let in_dm = region.memory != Memory::Hbm;
    let runs = place.unit_runs();
    let units = (0..chips).flat_map(|chip| (0..clusters).map(move |cluster| (chip, cluster)));
    for (chip, cluster) in units {
        for at in (0..slices).map(|slice| Coordinates { chip, cluster, slice }) {
            let unit = if in_dm { at.slice_number() } else { chip };
            let mut forget = |bytes: &Range<u64>| {
                runs::forget(space, unit, bytes.start, (bytes.end - bytes.start) as usize);
            };
            match &runs {
                Some(runs) => runs.of(at).iter().for_each(forget),
                None => place.live_bytes(at, &region.bytes(), |bytes| forget(&bytes)),
            }
        }
    }
}

/// One slice.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Data memory.
    pub(crate) dm: Block,
    /// Tensor register files, by physical address: see [`trf`]. The first one exists on the chip; a system with
    /// separate addresses has more.
    files: Vec<Block>,
    /// The vector register file.
    pub(crate) vrf: Block,
}

impl Unit {
    /// An unwritten slice.
    pub(crate) fn new(fresh: Fresh) -> Self {
        Self::holding(fresh, DM_BYTES, VRF_BYTES)
    }

    /// An unwritten slice with the given sizes of DM and VRF in bytes.
    pub(crate) fn holding(fresh: Fresh, dm: usize, vrf: usize) -> Self {
        let block = |part, capacity| Block::holding(capacity, fresh.part(part));
        // Two planes of the register file: see [`planes`].
        Self { dm: block(0, dm), files: vec![block(1, 2 * TRF_BYTES)], vrf: block(2, vrf) }
    }

    /// A tensor register file.
    pub(crate) fn trf(&self, file: usize) -> &Block {
        &self.files[file]
    }

    /// A tensor register file, for writing.
    pub(crate) fn trf_mut(&mut self, file: usize) -> &mut Block {
        &mut self.files[file]
    }

    /// The data memory for reading, and a tensor register file for writing.
    pub(crate) fn dm_and_trf_mut(&mut self, file: usize) -> (&Block, &mut Block) {
        (&self.dm, &mut self.files[file])
    }

    /// Makes register files up to number `file`.
    pub(crate) fn make_file(&mut self, file: usize) {
        while self.files.len() <= file {
            let fresh = self.files[0].fresh();
            self.files.push(Block::holding(2 * TRF_BYTES, fresh));
        }
    }
}

impl Default for Unit {
    fn default() -> Self {
        Self::new(Fresh::default())
    }
}

impl Space for Vec<Hbm> {
    #[inline]
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>> {
        self.get(unit)?.piece(address)
    }

    fn fresh(&self, unit: usize) -> Fresh {
        self.get(unit).map_or(Fresh::default(), Hbm::fresh)
    }
}

impl SpaceMut for Vec<Hbm> {
    #[inline]
    fn piece_mut(&mut self, unit: usize, address: u64, end: u64) -> Option<PieceMut<'_>> {
        self.get_mut(unit)?.piece_mut(address, end)
    }
}

impl Space for Vec<Unit> {
    #[inline]
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>> {
        self.get(unit)?.dm.piece(address)
    }

    fn fresh(&self, unit: usize) -> Fresh {
        self.get(unit).map_or(Fresh::default(), |unit| unit.dm.fresh())
    }
}

impl SpaceMut for Vec<Unit> {
    #[inline]
    fn piece_mut(&mut self, unit: usize, address: u64, end: u64) -> Option<PieceMut<'_>> {
        self.get_mut(unit)?.dm.piece_mut(address, end)
    }
}

/// A single block, whatever the unit.
impl Space for Block {
    #[inline]
    fn piece(&self, _: usize, address: u64) -> Option<Piece<'_>> {
        self.piece(address)
    }

    fn fresh(&self, _: usize) -> Fresh {
        self.fresh()
    }
}

impl SpaceMut for Block {
    #[inline]
    fn piece_mut(&mut self, _: usize, address: u64, end: u64) -> Option<PieceMut<'_>> {
        self.piece_mut(address, end)
    }
}

impl Block {
    /// The bytes from an address on. `None` past the end.
    pub(crate) fn piece(&self, address: u64) -> Option<Piece<'_>> {
        let start = usize::try_from(address).ok().filter(|&start| start < self.capacity())?;
        Some(Piece { block: Some(self), start, len: self.capacity() - start })
    }

    /// The bytes from an address on, for writes below `end`. `None` past the end.
    pub(crate) fn piece_mut(&mut self, address: u64, end: u64) -> Option<PieceMut<'_>> {
        let start = usize::try_from(address).ok().filter(|&start| start < self.capacity())?;
        let len = self.capacity() - start;
        self.grow(usize::try_from(end).map_or(self.capacity(), |end| end.clamp(start + 1, self.capacity())));
        Some(PieceMut { block: self, start, len })
    }
}
