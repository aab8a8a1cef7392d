//! Addresses and steps of a kernel: which buffers there are, where they are, and in which steps they change.

use crate::choice::{Choice, Level, Pieces, Spread, Sums};
use crate::layout::bias;
use crate::problem::{Problem, Role};
use furiosa_visa_rules::command::TrfAddress;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::tensor::{DM_LAST_BYTES, automatic_address};

/// Alignment of tensors in HBM, in bytes.
const HBM_ALIGN_BYTES: u64 = 1 << 20;
/// Alignment of tensors in DM, in bytes.
const DM_ALIGN_BYTES: u64 = 256;

/// Where a bias is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiasPlace {
    /// Address in HBM.
    pub hbm: u64,
    /// Address in DM.
    pub dm: u64,
    /// Bytes in DM.
    pub bytes: u64,
    /// Number of parts. Each one is for other tiles or blocks.
    pub tiles: usize,
    /// Bytes of a part in the vector register file.
    pub part_bytes: u64,
}

impl BiasPlace {
    /// Places the bias of a choice, if there is one. `None`: it does not fit the vector register file.
    fn new(problem: &Problem, choice: &Choice) -> Option<Option<Self>> {
        let Some(axis) = problem.bias_axis() else { return Some(None) };
        let tiles = bias::tiles(choice, axis);
        let part_bytes = (bias::flits(problem, choice, axis) * spec::FLIT_BYTES) as u64;
        let all = part_bytes * tiles as u64;
        let bytes = all.next_multiple_of(DM_ALIGN_BYTES);
        (all <= spec::VRF_BYTES as u64).then_some(Some(Self { hbm: 0, dm: 0, bytes, tiles, part_bytes }))
    }

    /// The address of a part in the vector register file.
    pub fn file(&self, number: usize) -> u64 {
        number as u64 * self.part_bytes
    }
}

/// Where tensors are, and in which steps they change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Addresses of both operands and of the result in HBM.
    pub hbm: [u64; 3],
    /// Addresses in DM of the first buffer for the stream, for weights, for sums, for sums that wait for a pass behind the
    /// products, and for the stream and weights as they are brought, if they are turned then.
    pub dm: [u64; 6],
    /// Bytes of a buffer for each of them.
    pub bytes: [u64; 6],
    /// Number of buffers for each of them.
    pub buffers: [usize; 6],
    /// Number of tiles of the stream.
    pub tiles: usize,
    /// Number of blocks of weights per tile.
    pub blocks: usize,
    /// Number of parts of each sum. The weights of a block come in as many pieces.
    pub parts: usize,
    /// The bias, if there is one.
    pub bias: Option<BiasPlace>,
    /// Address and bytes of sums without parts in DM, if what follows them is a pass of its own.
    pub whole: Option<[u64; 2]>,
    /// True if the weights are loaded once.
    pub is_resident: bool,
    /// True if a block of weights takes more than half of the register file.
    pub is_full: bool,
    /// Addresses of the buffers for the stream, if they are at the end of DM: the kernel fills them in two moves.
    pub ends: Option<[u64; 2]>,
    /// Bytes in front of each piece of the stream, if its tile comes in two.
    pub pieces: Option<[u64; 2]>,
    /// Tensors that stay in DM, because the kernel is one of a chain.
    pub kept: Kept,
}

/// Tensors that do not go through HBM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The operand that is in DM as the kernel reads it.
    pub operand: Option<usize>,
    /// True if the result stays in DM.
    pub result: bool,
}

impl Schedule {
    /// Places the buffers of a choice. `None`: they do not fit DM, or weights or a bias do not fit their register files.
    pub fn new(problem: &Problem, choice: &Choice) -> Option<Self> {
        let (tiles, blocks, parts) = (choice.tiles(problem), choice.blocks(problem), choice.parts(problem));
        let loads = blocks * parts;
        let [stream, weights, sums] = choice.local(problem);
        let spread = |spread: Option<Spread>| spread.map_or(1, |spread| spread.count);
        let bits = problem.element.bits();
        let file = choice.file_bytes(problem);
        if file > spec::TRF_BYTES {
            return None;
        }
        let is_full = 2 * file > spec::TRF_BYTES;
        let places = if is_full { 1 } else { 2 };
        let is_resident = loads <= places && choice.extent(problem, Role::Batch, Level::Loops) == 1;
        let team = match choice.sums {
            Sums::Shared(_) => choice.extent(problem, Role::Summed, Level::Slice),
            _ => 1,
        };
        let aligned = |elements: usize, bits: usize| {
            ((elements * bits).div_ceil(8) as u64).next_multiple_of(DM_ALIGN_BYTES)
        };
        let (stream_bytes, weights_bytes) = (
            aligned(parts * stream / spread(choice.stream_spread), bits),
            aligned(weights / spread(choice.weights_spread), bits),
        );
        // Pieces of the stream lie one behind the other.
        let pieces = choice.pieces.map(|Pieces { axis, sizes }| {
            let local = choice.splits[axis].at(Level::Local);
            sizes.map(|size| aligned(stream / local * size / spread(choice.stream_spread), bits))
        });
        let stream_bytes = pieces.map_or(stream_bytes, |[first, second]| first + second);
        let bytes = [
            stream_bytes,
            weights_bytes,
            aligned(sums / team, problem.output.bits()),
            aligned(parts * sums / team, problem.sum().bits()),
            stream_bytes,
            weights_bytes,
        ];
        let has_finish = parts > 1 || choice.gather.is_some() || choice.turns_sums;
        let of_weights = if is_resident { loads } else { (tiles * loads).min(2) };
        let mut buffers = [tiles.min(2), of_weights, (tiles * blocks).min(2), usize::from(has_finish), 0, 0];
        // The main context turns a tile when no product reads the one before any more.
        if choice.turned(problem, choice.stream()).is_some() {
            (buffers[0], buffers[4]) = (1, tiles.min(2));
        }
        if choice.turned(problem, choice.weights).is_some() {
            buffers[5] = of_weights.min(2);
        }
        let mut bias = BiasPlace::new(problem, choice)?;
        let mut whole =
            (parts > 1 && problem.has_own_pass).then(|| [0, aligned(sums / team, problem.sum().bits())]);
        let more = bias.map_or(0, |bias| bias.bytes) + whole.map_or(0, |[_, bytes]| bytes);
        let total = |buffers: [usize; 6]| more + (0..6).map(|k| bytes[k] * buffers[k] as u64).sum::<u64>();
        // `DmTensor::new` takes the last bytes of DM, but for those that it leaves.
        let is_at_end = problem.in_units(choice).is_some();
        let room = spec::DM_BYTES as u64 - if has_finish || is_at_end { DM_LAST_BYTES } else { 0 };
        if total(buffers) > room {
            [buffers[4], buffers[5]] = [buffers[4], buffers[5]].map(|count| count.min(1));
        }
        if total(buffers) > room {
            buffers[0] = 1;
        }
        if total(buffers) > room {
            return None;
        }
        let mut hbm = [0; 3];
        for tensor in 1..3 {
            hbm[tensor] = (hbm[tensor - 1] + problem.hbm_bytes(tensor - 1)).next_multiple_of(HBM_ALIGN_BYTES);
        }
        let mut end = hbm[2] + problem.hbm_bytes(2);
        if let Some(place) = &mut bias {
            place.hbm = end.next_multiple_of(HBM_ALIGN_BYTES);
            end = place.hbm + problem.bias_bytes();
        }
        if end > spec::HBM_BYTES {
            return None;
        }
        let mut dm = [0; 6];
        if !is_at_end {
            dm[1] = bytes[0] * buffers[0] as u64;
        }
        for [before, kind] in [[1, 2], [2, 4], [4, 5]] {
            dm[kind] = dm[before] + bytes[before] * buffers[before] as u64;
        }
        // Behind all buffers but those at the end of DM: sums that wait, and a stream that the kernel fills in two moves.
        let mut behind = dm[5] + bytes[5] * buffers[5] as u64;
        if let Some(place) = &mut bias {
            place.dm = behind;
            behind += place.bytes;
        }
        if let Some([address, bytes]) = &mut whole {
            *address = behind;
            behind += *bytes;
        }
        let exact = (parts * sums / team * problem.sum().bits() / 8) as u64;
        dm[3] = automatic_address(exact);
        let ends = is_at_end.then(|| {
            let own = (parts * stream / spread(choice.stream_spread) * bits).div_ceil(8) as u64;
            let waiting = if has_finish { spec::DM_BYTES as u64 - DM_LAST_BYTES - dm[3] } else { 0 };
            let first = automatic_address(waiting + own);
            [first, automatic_address(spec::DM_BYTES as u64 - DM_LAST_BYTES - first + own)]
        });
        let lowest = match ends {
            Some(ends) => ends[buffers[0] - 1],
            None if has_finish => dm[3],
            None => spec::DM_BYTES as u64,
        };
        if behind > lowest {
            return None;
        }
        let kept = Kept::default();
        Some(Self {
            ends,
            hbm,
            dm,
            bytes,
            buffers,
            tiles,
            blocks,
            parts,
            bias,
            whole,
            is_resident,
            is_full,
            pieces: pieces.map(|[first, _]| [0, first]),
            kept,
        })
    }

    /// Number of passes with products per tile of the stream.
    pub fn steps_per_tile(&self) -> usize {
        self.blocks * self.parts
    }

    /// Number of passes with products.
    pub fn steps(&self) -> usize {
        self.tiles * self.steps_per_tile()
    }

    /// Tells if a tile of the stream comes while products read the one before.
    pub fn is_ahead(&self) -> bool {
        self.buffers[0] > 1 || self.buffers[4] > 0
    }

    /// The kind of buffers to which an operand comes: 0 is the stream, 1 are weights.
    pub fn brought(&self, kind: usize) -> usize {
        if self.buffers[4 + kind] > 0 { 4 + kind } else { kind }
    }

    /// The address of a buffer in DM. `kind`: 0 of the stream, 1 of weights, 2 of sums, 3 of those that wait, 4 and 5 of
    /// the stream and weights as they are brought.
    pub fn buffer(&self, kind: usize, number: usize) -> u64 {
        if let Some(ends) = self.ends.filter(|_| kind == 0) {
            return ends[number % self.buffers[0]];
        }
        // What is kept has no buffer here.
        self.dm[kind] + self.bytes[kind] * (number % self.buffers[kind].max(1)) as u64
    }

    /// The address of a piece of the stream in DM.
    pub fn piece(&self, number: usize) -> u64 {
        self.buffer(0, 0) + self.pieces.map_or(0, |before| before[number])
    }

    /// The part of the register file for a block.
    pub fn file(&self, number: usize) -> TrfAddress {
        match (self.is_full, number % 2) {
            (true, _) => TrfAddress::Full,
            (false, 0) => TrfAddress::FirstHalf,
            (false, _) => TrfAddress::SecondHalf,
        }
    }

    /// Bytes of DM that are used in each slice.
    pub fn dm_bytes(&self) -> u64 {
        let more = self.bias.map_or(0, |bias| bias.bytes) + self.whole.map_or(0, |[_, bytes]| bytes);
        more + (0..6).map(|kind| self.bytes[kind] * self.buffers[kind] as u64).sum::<u64>()
    }
}
