//! Tensors, and what the host asks of the chip, as far as bytes tell.

use super::Exchange;
use super::pass::position;
use super::rows::Indexed;
use crate::transpose::Matrices;
use std::collections::BTreeSet;

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    /// One per chip.
    Hbm,
    /// One per slice.
    Dm,
    /// Registers of the contraction, one file per slice. Addresses are of this model: see [`super::Shadow::trf_byte`].
    Trf,
    /// Registers of 32 bits, one file per slice.
    Vrf,
}

impl Memory {
    /// Bytes per unit.
    pub(super) fn capacity(self) -> u128 {
        match self {
            Memory::Hbm => 48 << 30,
            Memory::Dm => 512 << 10,
            Memory::Vrf => 8 << 10,
            Memory::Trf => 1 << 20,
        }
    }
}

/// An element type, as far as bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 1 byte.
    I8,
    /// 2 bytes.
    I16,
    /// 2 bytes.
    Bf16,
    /// 4 bytes.
    I32,
    /// 4 bytes.
    F32,
}

impl Kind {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Kind::I8 => 1,
            Kind::I16 | Kind::Bf16 => 2,
            Kind::I32 | Kind::F32 => 4,
        }
    }
}

/// Chips, clusters and slices of the simulated system.
pub const UNITS: [usize; 3] = [1, 2, 256];
/// Bytes of a flit.
pub(super) const FLIT: usize = 32;

/// A tensor in a memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub memory: Memory,
    pub address: u64,
    /// The filling. 0: made from a bare address.
    pub fill: u64,
    pub kind: Kind,
    pub clusters: usize,
    pub slices: usize,
    pub elements: usize,
    /// Of every `period` elements, the first `live` are live.
    pub period: usize,
    pub live: usize,
    /// Only a part of it, which starts at the address.
    pub tile: Option<Tile>,
}

/// A part of a tensor: so many elements of the tensor come before it, and so many are in it.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    pub before: usize,
    pub kept: usize,
}

impl Tensor {
    pub(super) fn bytes(&self) -> u128 {
        (self.elements * self.kind.bytes()) as u128
    }

    /// Elements of the tensor before the part.
    pub(super) fn before(&self) -> usize {
        self.tile.map_or(0, |tile| tile.before)
    }

    /// Elements of the part.
    pub fn held(&self) -> usize {
        self.tile.map_or(self.elements, |tile| tile.kept)
    }

    /// Bytes of the part. A tile ends with its last element, a tensor with its padding.
    pub(super) fn span(&self) -> u128 {
        (self.held() * self.kind.bytes()) as u128
    }

    /// The first byte of the tensor.
    fn base(&self) -> u128 {
        u128::from(self.address).saturating_sub((self.before() * self.kind.bytes()) as u128)
    }

    pub(super) fn capacity(&self) -> u128 {
        self.memory.capacity()
    }

    /// The units that it spans, padding included.
    pub(super) fn units(&self) -> Vec<usize> {
        match self.memory {
            Memory::Hbm => (0..UNITS[0]).collect(),
            _ => (0..self.clusters).flat_map(|c| (0..self.slices).map(move |s| c * 256 + s)).collect(),
        }
    }

    pub(super) fn is_live(&self, element: usize) -> bool {
        element % self.period < self.live && element < self.held()
    }

    /// The bytes of its live elements, in each unit.
    pub(super) fn live_bytes(&self) -> Vec<u64> {
        let size = self.kind.bytes();
        let live = (0..self.elements).filter(|&element| self.is_live(element));
        live.flat_map(|e| (0..size).map(move |k| self.address.saturating_add((e * size + k) as u64)))
            .collect()
    }

    /// The bytes of cells of so many bytes that hold a byte of a live element. Cells start where the tensor does.
    pub(super) fn in_cells(&self, bytes: u64) -> Vec<u64> {
        let cells: BTreeSet<u64> =
            (self.live_bytes().into_iter()).map(|byte| (byte - self.address) / bytes).collect();
        cells.into_iter().flat_map(|cell| (0..bytes).map(move |k| self.address + cell * bytes + k)).collect()
    }

    pub(super) fn leaves_memory(&self) -> bool {
        let end = |element: usize| u128::from(self.address) + ((element + 1) * self.kind.bytes()) as u128;
        // An address that 64 bits do not hold is none, whatever lies there.
        self.base() + self.bytes() > u128::from(u64::MAX)
            || (0..self.elements).any(|element| self.is_live(element) && end(element) > self.capacity())
            || self.clusters > UNITS[1]
            || self.slices > UNITS[2]
    }
}

/// One loop of a move: iterations, and steps in units and elements on either side.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    pub size: usize,
    pub from: (usize, usize),
    pub to: (usize, usize),
}

/// Loops. Where `cut` is a loop and a limit, only iterations below the limit move something.
#[derive(Clone, Debug, Default)]
pub struct Move {
    pub loops: Vec<Loop>,
    pub cut: Option<(usize, usize)>,
}

/// A unit and an element.
pub type Spot = (usize, usize);

impl Move {
    /// What moves where, in any order.
    pub(super) fn pairs(&self) -> Vec<(Spot, Spot)> {
        let mut pairs = vec![((0, 0), (0, 0))];
        for (k, own) in self.loops.iter().enumerate() {
            let limit =
                self.cut.filter(|&(at, _)| at == k).map_or(own.size, |(_, limit)| own.size.min(limit));
            let step = |at: Spot, by: (usize, usize), i: usize| (at.0 + by.0 * i, at.1 + by.1 * i);
            pairs = (pairs.iter())
                .flat_map(|&(a, b)| (0..limit).map(move |i| (step(a, own.from, i), step(b, own.to, i))))
                .collect();
        }
        pairs
    }
}

/// Where a stream ends.
#[derive(Clone, Debug)]
pub enum Sink {
    /// Loops over the elements of the tensor, `window` lanes at a time.
    Commit { to: Tensor, loops: Vec<(usize, isize)>, window: usize },
    /// In order, from the first row on.
    Trf { to: Registers },
    /// One loop: from the lane with this number on, so many, each so far from the last.
    Vrf { to: Tensor, moved: Move },
}

/// A tensor in the register file of the contraction. Parts: its halves 0 and 1; 2 is the whole file.
#[derive(Clone, Debug)]
pub struct Registers {
    pub part: usize,
    pub fill: u64,
    pub kind: Kind,
    pub rows: usize,
    pub row_elements: usize,
    /// Of every `period` elements of a row, the first `live` are live.
    pub period: usize,
    pub live: usize,
}

impl Registers {
    pub(super) fn is_live(&self, element: usize) -> bool {
        element % self.period < self.live
    }
}

/// Products of a stream with registers, summed.
#[derive(Clone, Debug)]
pub struct Sums {
    pub weights: Registers,
    /// Flits of the stream per packet: 1 or 2.
    pub flits: usize,
    /// How many times in a row a packet is used.
    pub tile: usize,
    pub steps: usize,
    /// The byte of a row that a step reads from: the first one, and loops over the steps.
    pub first_read: usize,
    pub reads: Vec<(usize, isize)>,
    /// Elements of a read. Cells behind them use them again.
    pub read: usize,
    /// Lanes and flits of the stream from these on are padding.
    pub live_lanes: usize,
    pub live_flits: usize,
    /// Steps from this one on are padding.
    pub computed: usize,
    /// `2^depth` neighbouring products make a column.
    pub depth: usize,
    pub columns: usize,
    /// Where the columns of a step are added: loops over the steps.
    pub slots: Vec<(usize, isize)>,
    pub slot_count: usize,
    /// Whether columns leave side by side, or else rows.
    pub sequential: bool,
}

impl Sums {
    /// What the sums of a stream are.
    pub fn output(stream: Kind) -> Kind {
        if stream == Kind::I8 { Kind::I32 } else { Kind::F32 }
    }
}

/// A pass through the Tensor Unit.
#[derive(Clone, Debug)]
pub struct Pass {
    pub sub: bool,
    pub from: Tensor,
    pub base: isize,
    pub loops: Vec<(usize, isize)>,
    pub time: usize,
    pub packet: usize,
    pub output: Kind,
    pub exchange: Option<Exchange>,
    pub flits: usize,
    pub sums: Option<Sums>,
    pub transpose: Option<Matrices>,
    pub sink: Sink,
    /// Of what the sink gets: lanes and time steps from these on are padding.
    pub lanes: usize,
    pub steps: usize,
}

/// An element on the host: its bytes, or nothing.
pub type Element = Option<Vec<u8>>;

/// What the host asks of the chip.
#[derive(Clone, Debug)]
pub enum Operation {
    Upload {
        to: Tensor,
        moved: Move,
        array: Vec<Element>,
    },
    Download {
        from: Tensor,
        moved: Move,
        elements: usize,
    },
    Dma {
        from: Tensor,
        to: Tensor,
        moved: Move,
        pcie: bool,
    },
    /// Moves side by side, each from a spot on either side on.
    Copy {
        call: Copied,
        from: Tensor,
        to: Tensor,
        moves: Vec<(Spot, Spot, Move)>,
    },
    Indexed(Indexed),
    /// A value to what is moved, which has no source. `value`: the bytes of an element.
    Set {
        to: Tensor,
        value: Vec<u8>,
        moved: Move,
    },
    Pass(Pass),
    InspectTrf {
        from: Registers,
        moved: Move,
        elements: usize,
    },
    Inspect {
        from: Tensor,
        moved: Move,
        elements: usize,
    },
    /// Another launch.
    Launch,
}

/// What copies between units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The DMA engines, clusters in another order.
    Shuffle,
    /// The sub context, in each cluster.
    Parallel,
    /// The sub context, a part per cluster.
    Parts,
}

/// What moves where, in any order.
pub(super) fn all_pairs(moves: &[(Spot, Spot, Move)]) -> Vec<(Spot, Spot)> {
    let from = |start: &Spot, spot: Spot| (start.0 + spot.0, start.1 + spot.1);
    let moved = |(a, b, own): &(Spot, Spot, Move)| -> Vec<_> {
        own.pairs().into_iter().map(|(x, y)| (from(a, x), from(b, y))).collect()
    };
    moves.iter().flat_map(moved).collect()
}

/// A rule that an operation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Stale,
    Uninitialised,
    Padding,
    Bounds,
    Capacity,
    Misaligned,
    Overwrite,
    View,
    Twice,
    Unordered,
    Reuse,
    Unsupported,
    /// A tile before the first byte of its memory.
    Form,
    Foreign,
}

impl Rule {
    /// All rules but [`Rule::Form`], which sequences seldom break.
    pub const ALL: [Rule; 13] = [
        Rule::Stale,
        Rule::Uninitialised,
        Rule::Padding,
        Rule::Bounds,
        Rule::Capacity,
        Rule::Misaligned,
        Rule::Overwrite,
        Rule::View,
        Rule::Twice,
        Rule::Unordered,
        Rule::Reuse,
        Rule::Unsupported,
        Rule::Foreign,
    ];
}

impl Operation {
    /// The address and the filling of each tensor. Registers have no address.
    pub(super) fn handles(&self) -> Vec<(u64, u64)> {
        let of = |tensor: &Tensor| (tensor.address, tensor.fill);
        match self {
            Operation::Upload { to, .. } | Operation::Set { to, .. } => vec![of(to)],
            Operation::Download { from, .. } | Operation::Inspect { from, .. } => vec![of(from)],
            Operation::InspectTrf { from, .. } => vec![(0, from.fill)],
            Operation::Dma { from, to, .. } | Operation::Copy { from, to, .. } => vec![of(from), of(to)],
            Operation::Indexed(own) => [&own.table, &own.index, &own.side].map(of).to_vec(),
            Operation::Pass(pass) => {
                let end = match &pass.sink {
                    Sink::Commit { to, .. } | Sink::Vrf { to, .. } => of(to),
                    Sink::Trf { to } => (0, to.fill),
                };
                let weights = pass.sums.iter().map(|sums| (0, sums.weights.fill));
                [of(&pass.from), end].into_iter().chain(weights).collect()
            }
            Operation::Launch => Vec::new(),
        }
    }

    /// Whether it reads or writes places that are no elements of its tensors: behind them, or their padding. Commands that
    /// follow from types do so for padding only; handles say nothing of such places, so that nothing orders who else uses
    /// them.
    pub fn strays(&self) -> bool {
        let holds = |tensor: &Tensor, at: isize| {
            usize::try_from(at).is_ok_and(|at| at < tensor.elements && tensor.is_live(at))
        };
        match self {
            Operation::Dma { from, to, moved, .. } => {
                let holds = |tensor, spot: Spot| holds(tensor, spot.1 as isize);
                moved.pairs().into_iter().any(|(a, b)| !holds(from, a) || !holds(to, b))
            }
            Operation::Copy { from, to, moves, .. } => {
                let holds = |tensor, spot: Spot| holds(tensor, spot.1 as isize);
                all_pairs(moves).into_iter().any(|(a, b)| !holds(from, a) || !holds(to, b))
            }
            Operation::Set { to, moved, .. } => {
                moved.pairs().into_iter().any(|(_, spot)| !holds(to, spot.1 as isize))
            }
            Operation::Indexed(own) => own.strays(),
            Operation::Pass(pass) => {
                let visits = |tensor, base, loops: &[(usize, isize)]| {
                    let count = loops.iter().map(|own| own.0).product();
                    (0..count).any(|number| !holds(tensor, position(base, loops, number)))
                };
                let writes = match &pass.sink {
                    Sink::Commit { to, loops, .. } => visits(to, 0, loops),
                    Sink::Vrf { to, moved } => {
                        moved.pairs().into_iter().any(|(_, spot)| !holds(to, spot.1 as isize))
                    }
                    Sink::Trf { .. } => false,
                };
                let weights = pass.sums.as_ref().is_some_and(|sums| {
                    sums.weights.live < sums.weights.period
                        || sums.reach(pass.output) > sums.weights.row_elements
                });
                writes || weights || visits(&pass.from, pass.base, &pass.loops)
            }
            // The host waits for everything.
            _ => false,
        }
    }
}
