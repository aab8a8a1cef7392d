//! The choices of a mapping: where the digits of each axis are, and how operands reach the slices that share them.

use crate::problem::{Problem, Role};
use crate::windows::Window;
use furiosa_visa_rules::command::Transpose;
use furiosa_visa_rules::spec;

/// Levels of an axis, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Tiles of HBM, one after another.
    Loops,
    /// Clusters.
    Cluster,
    /// Slices.
    Slice,
    /// Blocks of weights, one after another. Those of a summed axis are the parts of a sum.
    Blocks,
    /// Positions in a slice.
    Local,
}

/// Number of levels.
pub const LEVELS: usize = 5;

/// Extents of an axis at its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Split {
    /// Number of positions with padding: the product of all extents.
    pub padded: usize,
    /// Extent at each level.
    pub extents: [usize; LEVELS],
}

impl Split {
    /// Extent at a level.
    pub fn at(&self, level: Level) -> usize {
        self.extents[level as usize]
    }

    /// Positions of the axis per position of a level.
    pub fn stride(&self, level: Level) -> usize {
        self.extents[level as usize + 1..].iter().product()
    }
}

/// A digit of an operand that slices share: each of them loads a part, and the Switch Engine hands it to the others. More slices
/// than share the operand may load parts: those that pad the digit of slices then compute nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spread {
    /// The axis, of which the outermost local digit is spread.
    pub axis: usize,
    /// Number of slices.
    pub count: usize,
}

/// Place of the sums of slices that have parts of a summed axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sums {
    /// Each slice has all of the summed axes.
    Whole,
    /// Each slice of a team keeps some positions of this axis.
    Shared(usize),
    /// One slice of a team keeps all of them.
    First,
}

/// An exchange of sums between neighbouring slices behind the products: each of `count` slices gives rows of weights that it
/// has away for the positions of `axis` that it keeps, so that what it stores is longer in HBM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gather {
    /// The streamed axis, of which each slice keeps a part.
    pub axis: usize,
    /// Number of slices.
    pub count: usize,
}

/// Two pieces of a slice's part of the stream, of unequal size. Products of the first one run while the second one comes, which
/// is short, so that little is left to do behind the last byte. Sums of both lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pieces {
    /// The streamed axis, of which the local digit is cut.
    pub axis: usize,
    /// Positions of both pieces.
    pub sizes: [usize; 2],
}

/// An operand that a pass turns in DM, because its innermost axis in HBM is not the one in packets of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turned {
    /// The innermost axis in HBM.
    pub axis: usize,
    /// Positions of it in a packet of the pass.
    pub columns: usize,
}

/// Positions of the stream's innermost axis that are side by side in a packet of products. The contraction leaves them apart, as
/// columns, and the sum is over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The axis.
    pub axis: usize,
    /// Positions of it in a packet.
    pub count: usize,
    /// Columns with padding, a power of two.
    pub padded: usize,
}

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choice {
    /// The operand in the tensor register file. The other one is streamed.
    pub weights: usize,
    /// The split of each axis.
    pub splits: Vec<Split>,
    /// True if slices that share weights are neighbours, and not those that share the stream.
    pub weights_inside: bool,
    /// Way of the stream to slices that share it. `None`: copies by DMA.
    pub stream_spread: Option<Spread>,
    /// Way of weights to slices that share them. `None`: copies by DMA.
    pub weights_spread: Option<Spread>,
    /// Where sums are.
    pub sums: Sums,
    /// Exchange by which slices gather whole units of HBM. `None`: each one stores its own sums.
    pub gather: Option<Gather>,
    /// True if packets of products have positions of the stream's innermost axis, and not of the summed one.
    pub in_columns: bool,
    /// True if a pass behind the products puts the stream's axis inside, which is innermost in the result: weights have few rows.
    pub turns_sums: bool,
    /// The pieces in which the only tile of the stream comes. `None`: it comes whole.
    pub pieces: Option<Pieces>,
}

impl Choice {
    /// A choice of splits in which DMA copies what slices share, each slice has whole sums, and stores its own.
    pub fn plain(weights: usize, splits: Vec<Split>) -> Self {
        Self {
            weights,
            splits,
            weights_inside: false,
            stream_spread: None,
            weights_spread: None,
            sums: Sums::Whole,
            gather: None,
            in_columns: false,
            turns_sums: false,
            pieces: None,
        }
    }

    /// The axis of the stream that a pass behind the products puts inside. `None`: sums are stored as products leave them.
    pub fn turned_sums(&self, problem: &Problem) -> Option<usize> {
        let (axis, _) = problem.run(2).filter(|_| self.turns_sums)?;
        Some(axis)
    }

    /// The columns of a packet of products. `None`: packets are of the summed axis.
    pub fn columns(&self, problem: &Problem) -> Option<Columns> {
        let axis = problem.axis_of_columns(self.stream()).filter(|_| self.in_columns)?;
        let spread = self.stream_spread.filter(|spread| spread.axis == axis);
        let local = self.splits[axis].at(Level::Local) / spread.map_or(1, |spread| spread.count);
        let most = spec::ACCUMULATOR_COLUMNS.min(spec::MAC_BYTES * 8 / problem.element.bits());
        if local <= most {
            let least = spec::FETCH_ALIGN_BYTES * 8 / problem.element.bits();
            return Some(Columns { axis, count: local, padded: local.next_power_of_two().max(least) });
        }
        let count = 1 << local.trailing_zeros().min(most.ilog2());
        Some(Columns { axis, count, padded: count })
    }

    /// The innermost summed axis, if it is no whole flits, and all of it is in a slice: the fetch fills the last flit up with
    /// zeros.
    pub fn filled_axis(&self, problem: &Problem) -> Option<usize> {
        let last = problem.axes.iter().rposition(|axis| axis.role == Role::Summed)?;
        let (size, flit) = (problem.axes[last].size, spec::FLIT_BYTES * 8 / problem.element.bits());
        (!size.is_multiple_of(flit) && self.splits[last].at(Level::Local) == size).then_some(last)
    }

    /// The choice with whole flits of a summed axis that is none: what packets have.
    pub fn filled(&self, problem: &Problem) -> Option<Self> {
        let axis = self.filled_axis(problem)?;
        let rows = (0..2).filter_map(|operand| problem.padded_rows(operand)).map(|(_, size)| size).max();
        let flit = spec::FLIT_BYTES * 8 / problem.element.bits();
        let size = problem.axes[axis].size.next_multiple_of(flit);
        let size = rows.filter(|rows| *rows >= size && rows.is_multiple_of(flit)).unwrap_or(size);
        let mut filled = self.clone();
        filled.splits[axis].padded = size;
        filled.splits[axis].extents[Level::Local as usize] = size;
        Some(filled)
    }

    /// The streamed operand.
    pub fn stream(&self) -> usize {
        1 - self.weights
    }

    /// Way of an operand to slices that share it. `None`: copies by DMA.
    pub fn spread(&self, operand: usize) -> Option<Spread> {
        if operand == self.weights { self.weights_spread } else { self.stream_spread }
    }

    /// Slices of a role with padding, and without, if more slices load parts of the other operand than share it.
    pub fn padded_slices(&self, problem: &Problem, role: Role) -> Option<[usize; 2]> {
        let operand = (0..2).find(|operand| role == Role::Of(1 - operand))?;
        let own = self.extent(problem, role, Level::Slice);
        let spread = self.spread(operand).filter(|spread| spread.count > own)?;
        Some([spread.count, own])
    }

    /// Number of slices that are in use, with those that pad a digit.
    pub fn used_slices(&self, problem: &Problem) -> usize {
        let roles = [Role::Batch, Role::Of(0), Role::Of(1), Role::Summed];
        let own = |role| match self.padded_slices(problem, role) {
            Some([padded, _]) => padded,
            None => self.extent(problem, role, Level::Slice),
        };
        roles.into_iter().map(own).product()
    }

    /// Axis along which an operand is turned in DM. `None`: it lies in HBM as products read it, or a slice has no whole packets of its
    /// innermost axis there.
    pub fn turned(&self, problem: &Problem, operand: usize) -> Option<Turned> {
        if problem.windowed() == Some(operand) {
            // Its innermost axis is summed over, or has the columns.
            return None;
        }
        if self.in_columns && operand == self.stream() {
            return None;
        }
        let axis = problem.innermost(operand)?;
        let last = problem.axes.iter().rposition(|axis| axis.role == Role::Summed);
        if Some(axis) == last {
            return None;
        }
        let spread = self.spread(operand).filter(|spread| spread.axis == axis);
        let local = self.splits[axis].at(Level::Local) / spread.map_or(1, |spread| spread.count);
        let is_packet = |columns: &usize| {
            local.is_multiple_of(*columns)
                && (columns * problem.element.bits()).is_multiple_of(8 * spec::FETCH_ALIGN_BYTES)
        };
        let columns = (1..=Transpose::packet_elements(problem.element)).rev().find(is_packet)?;
        Some(Turned { axis, columns })
    }

    /// Product of the extents of the axes with a role, at a level.
    pub fn extent(&self, problem: &Problem, role: Role, level: Level) -> usize {
        let own = problem.axes.iter().zip(&self.splits).filter(|(axis, _)| axis.role == role);
        own.map(|(_, split)| split.at(level)).product()
    }

    /// Number of blocks of weights per tile of the stream.
    pub fn blocks(&self, problem: &Problem) -> usize {
        self.extent(problem, Role::Of(self.weights), Level::Blocks)
    }

    /// Number of tiles of the stream.
    pub fn tiles(&self, problem: &Problem) -> usize {
        self.extent(problem, Role::Batch, Level::Loops)
            * self.extent(problem, Role::Of(self.stream()), Level::Loops)
    }

    /// Number of passes with the products of a sum. Several ones leave parts of sums in DM, which a pass adds at last.
    pub fn parts(&self, problem: &Problem) -> usize {
        self.extent(problem, Role::Summed, Level::Blocks)
    }

    /// The summed axis that has parts.
    pub fn axis_of_parts(&self, problem: &Problem) -> Option<usize> {
        let axes = problem.axes.iter().zip(&self.splits);
        axes.into_iter().position(|(axis, split)| axis.role == Role::Summed && split.at(Level::Blocks) > 1)
    }

    /// Number of passes with products.
    pub fn steps(&self, problem: &Problem) -> usize {
        self.blocks(problem) * self.tiles(problem) * self.parts(problem)
    }

    /// Bytes of a block of weights in the register file of a slice.
    pub fn file_bytes(&self, problem: &Problem) -> usize {
        let local = |role| self.extent(problem, role, Level::Local);
        local(Role::Of(self.weights)) * local(Role::Summed) * problem.element.bits() / 8
    }

    /// Elements of a slice's part of a tile of the stream, of a block of weights, and of the sums of both.
    pub fn local(&self, problem: &Problem) -> [usize; 3] {
        let local = |role| self.extent(problem, role, Level::Local);
        let (stream, weights, summed) =
            (local(Role::Of(self.stream())), local(Role::Of(self.weights)), local(Role::Summed));
        let rows = |window: &Window, split: &Split| window.room(split, &problem.axes);
        [self.stream_elements(problem, rows), weights * summed, stream * weights]
    }

    /// Elements of a slice's part of a tile of the stream, as they are brought.
    pub fn brought(&self, problem: &Problem) -> usize {
        self.stream_elements(problem, |window, split| window.positions(split.at(Level::Local), &problem.axes))
    }

    fn stream_elements(&self, problem: &Problem, rows: impl Fn(&Window, &Split) -> usize) -> usize {
        let of_stream = Role::Of(self.stream());
        let own = problem.axes.iter().zip(&self.splits).enumerate();
        let elements = own.map(|(axis, (own, split))| match problem.window(self.stream(), axis) {
            Some(window) => rows(window, split),
            None if problem.is_tap(axis) => 1,
            None if own.role == of_stream || own.role == Role::Summed => split.at(Level::Local),
            None => 1,
        });
        elements.product()
    }
}

/// Rows of the register file: its weights are used that many at a time.
pub const ROWS: usize = spec::TRF_ROWS[spec::TRF_ROWS.len() - 1];

/// True if rows fill the lanes of a flit. A pass behind the products takes whole flits.
pub const ROWS_FILL_FLITS: bool = ROWS == spec::BEAT_LANES;

/// Positions of an axis that stay together in a slice: those in the rows of the register file.
pub fn together(problem: &Problem, weights: usize, axis: usize) -> usize {
    let last = problem.axes.iter().rposition(|axis| axis.role == Role::Of(weights));
    if last == Some(axis) { ROWS } else { 1 }
}

/// Divisors of a number, ascending.
pub fn divisors(n: usize) -> Vec<usize> {
    (1..=n).filter(|d| n.is_multiple_of(*d)).collect()
}

/// The sizes that an axis may be padded to: its own, whole rows of the register file, and multiples of 8, 16, … if less than
/// a quarter is added.
fn padded_sizes(size: usize, role: Role, weights: usize) -> Vec<usize> {
    let mut sizes = vec![size];
    if !matches!(role, Role::Of(_)) {
        return sizes;
    }
    let least = if role == Role::Of(weights) { ROWS } else { 1 };
    for bits in 3..=8 {
        let padded = size.next_multiple_of(1 << bits);
        if padded > size && (4 * padded <= 5 * size || padded == size.next_multiple_of(least)) {
            sizes.push(padded);
        }
    }
    sizes.dedup();
    sizes
}

/// All splits of an axis for a role, if `weights` is the operand in the register file.
pub fn splits(size: usize, role: Role, weights: usize, innermost: bool) -> Vec<Split> {
    let mut found = Vec::new();
    for padded in padded_sizes(size, role, weights) {
        let is_whole = padded == size;
        // A tile of HBM has no padding.
        let outer = |allowed: bool| if allowed && is_whole { divisors(padded) } else { vec![1] };
        let of_stream = matches!(role, Role::Of(operand) if operand != weights);
        let of_weights = role == Role::Of(weights);
        for loops in outer(of_stream || role == Role::Batch) {
            let rest = padded / loops;
            let clusters = if role == Role::Summed { 1 } else { spec::CLUSTERS };
            for cluster in divisors(rest).into_iter().filter(|n| *n <= clusters) {
                for slice in divisors(rest / cluster).into_iter().filter(|n| *n <= spec::SLICES) {
                    let rest = rest / cluster / slice;
                    let several = (of_weights || role == Role::Summed) && is_whole;
                    let blocks = if several { divisors(rest) } else { vec![1] };
                    for blocks in blocks {
                        let local = rest / blocks;
                        let rows = if of_weights && innermost { ROWS } else { 1 };
                        if !local.is_multiple_of(rows) || role == Role::Batch && local > 1 {
                            continue;
                        }
                        found.push(Split { padded, extents: [loops, cluster, slice, blocks, local] });
                    }
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
