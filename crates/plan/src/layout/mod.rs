//! The mappings of all calls of a kernel, as text and as values.

pub(crate) mod bias;
mod columns;
mod digits;
mod finish;
mod notation;
mod pieces;
mod turn;
mod windows;

pub use bias::{Bias, BiasTile};
pub use notation::{Mapping, Notation};
pub use pieces::Piece;
pub use turn::Turn;
pub use windows::{Cut, Room};

use crate::choice::{Choice, Level, ROWS, ROWS_FILL_FLITS, Spread, Sums};
use crate::epilogue::Ends;
use crate::problem::{Problem, Role};
use columns::{InColumns, Products};
use digits::Digits;
use finish::Behind;
use furiosa_visa_rules::command::AccumulationKind;
use furiosa_visa_rules::mapping::Ident;
use furiosa_visa_rules::sequencer::Window;
use furiosa_visa_rules::spec;
use pieces::OfTile;
use turn::Brought;

/// A counter of a kernel: the value is `step / inner % count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Steps per value.
    pub inner: usize,
    /// Number of values.
    pub count: usize,
}

impl Counter {
    /// The value at a step.
    pub fn at(&self, step: usize) -> usize {
        step / self.inner % self.count
    }
}

/// A tile of a tensor in HBM: the value of a counter in the place of an axis digit, or some positions of an axis in windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The digit.
    pub index: Mapping,
    /// Values of it in the tile.
    pub len: usize,
    /// Values of it between a tile and the next one.
    pub step: usize,
    /// Elements of the tensor that are left.
    pub element: Mapping,
    /// The number of the tile.
    pub counter: Counter,
}

/// A tensor in HBM, and the tile of it that a step uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// All elements.
    pub element: Mapping,
    /// Tiles of tiles.
    pub tiles: Vec<Tile>,
}

/// Way of an operand from DM to a collect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Slice in DM.
    pub slice: Mapping,
    /// Element in DM, as it is fetched to the collect.
    pub element: Mapping,
    /// The pass before that, if it comes from HBM in another order.
    pub turn: Option<Turn>,
    /// The windows in which it is fetched.
    pub windows: &'static [Window],
    /// True if the fetch makes whole flits of what is none: the main context does.
    pub is_filled: bool,
    /// Time and packet of the fetch.
    pub fetch: [Mapping; 2],
    /// Time behind the switch, if there is one.
    pub switch_time: Option<Mapping>,
    /// Time and packet of the collect.
    pub collect: [Mapping; 2],
}

impl Path {
    /// Element in DM, as it is brought.
    pub fn brought(&self) -> &Mapping {
        self.turn.as_ref().map_or(&self.element, |turn| &turn.brought)
    }
}

/// The sum over slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// Slice of the sums.
    pub slice: Mapping,
    /// Time of the sums.
    pub time: Mapping,
}

/// Parts of sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The summed axis that has parts.
    pub axis: Ident,
    /// The digit that counts them.
    pub index: Mapping,
    /// The stream in DM, without that digit: what a step reads.
    pub of_stream: Mapping,
    /// Sums in DM, without that digit: what a step writes.
    pub of_sums: Mapping,
    /// Time and packet of halves of a flit.
    pub split: [Mapping; 2],
    /// Time of the sums, in halves of a flit.
    pub added: Mapping,
    /// Time of the sums.
    pub time: Mapping,
}

/// The pass behind the products, which adds parts of sums, and gathers what is stored, or turns sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Elements of the sums in DM, with all parts, as products leave them.
    pub element: Mapping,
    /// Time of the fetch.
    pub fetch: Mapping,
    /// Packet of the pass, of whole flits.
    pub packet: Mapping,
    /// Slice and time behind the switch, if slices gather.
    pub switch: Option<[Mapping; 2]>,
    /// Parts of sums, if there are several.
    pub parts: Option<Parts>,
}

/// All mappings of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Both operands and the result in HBM.
    pub stored: [Stored; 3],
    /// Chips of all tensors.
    pub chip: Mapping,
    /// Clusters of all tensors in DM.
    pub cluster: Mapping,
    /// Slices of the products.
    pub slice: Mapping,
    /// The streamed operand.
    pub stream: Path,
    /// Way of the stream to DM, if slices have parts of an axis in windows.
    pub room: Option<Room>,
    /// The operand in the register file.
    pub weights: Path,
    /// Columns that products leave of a packet.
    pub columns: Mapping,
    /// The order in which sums leave.
    pub kind: AccumulationKind,
    /// Packet of the sums: rows or columns, in the lanes of a flit.
    pub packet: Mapping,
    /// Row and element of the register file.
    pub file: [Mapping; 2],
    /// Time and packet of the products.
    pub align: [Mapping; 2],
    /// Time of the sums in a slice.
    pub accumulate: Mapping,
    /// The sum over slices, if they share a summed axis.
    pub reduce: Option<Reduce>,
    /// The pass behind the products, if there is one.
    pub finish: Option<Finish>,
    /// Mappings of the sums in the pass that ends with an epilogue, or that adds parts.
    pub ends: Option<Ends>,
    /// The bias, if there is one.
    pub bias: Option<Bias>,
    /// Packet of sums that are narrowed, if they are.
    pub cast: Option<Mapping>,
    /// Elements of the result in DM.
    pub result: Mapping,
    /// The pieces of the stream, if its tile comes in two.
    pub pieces: Option<[Piece; 2]>,
}

impl Layout {
    /// Slices of the sums behind the products.
    pub fn sums_slice(&self) -> &Mapping {
        self.reduce.as_ref().map_or(&self.slice, |reduce| &reduce.slice)
    }

    /// Slices of what is stored.
    pub fn result_slice(&self) -> &Mapping {
        let switch = self.finish.as_ref().and_then(|finish| finish.switch.as_ref());
        switch.map_or(self.sums_slice(), |[slice, _]| slice)
    }

    /// Parts of sums, if there are several.
    pub fn parts(&self) -> Option<&Parts> {
        self.finish.as_ref()?.parts.as_ref()
    }
}

/// Derives the mappings of a kernel. `None`: a choice that these kernels do not have.
pub fn layout(problem: &Problem, choice: &Choice, notation: &Notation) -> Option<Layout> {
    let digits = Digits { problem, choice };
    let (of_stream, of_weights) = (Role::Of(choice.stream()), Role::Of(choice.weights));
    let roles = match choice.weights_inside {
        true => [Role::Batch, of_stream, of_weights, Role::Summed],
        false => [Role::Batch, of_weights, of_stream, Role::Summed],
    };

    // Units.
    let clusters: Vec<String> = roles.iter().flat_map(|role| digits.level(*role, Level::Cluster)).collect();
    let used_clusters: usize =
        roles.iter().map(|role| choice.extent(problem, *role, Level::Cluster)).product();
    let cluster = notation.filled(&clusters, used_clusters, spec::CLUSTERS)?;
    let used = choice.used_slices(problem);
    // The slices, with something else in the place of those of some roles.
    let slices = |replaced: &[(Role, Vec<String>)]| {
        let of = |role: &Role| match replaced.iter().find(|(other, _)| other == role) {
            Some((_, digits)) => digits.clone(),
            _ => digits.level(*role, Level::Slice),
        };
        notation.filled(&roles.iter().flat_map(of).collect::<Vec<_>>(), used, spec::SLICES)
    };
    let slice = slices(&[])?;

    // Packets of products: one flit or two of the innermost summed axis.
    let last = digits.axes(Role::Summed).last()?;
    let bits = problem.element.bits();
    let flit = spec::FLIT_BYTES * 8 / bits;
    let own = |spread: Option<Spread>| match spread {
        Some(spread) if spread.axis == last => choice.splits[last].at(Level::Local) / spread.count,
        _ => choice.splits[last].at(Level::Local),
    };
    let in_columns = choice.columns(problem).map(|columns| InColumns { digits: &digits, notation, columns });
    let both = match in_columns {
        None => [own(choice.stream_spread), own(choice.weights_spread)],
        Some(_) => [own(choice.weights_spread); 2],
    };
    // Whole flits with zeros, where all of the axis is none.
    let filled = choice.filled(problem);
    let both = match &filled {
        Some(filled) => [filled.splits[last].at(Level::Local); 2],
        None => both,
    };
    if both.iter().any(|elements| !elements.is_multiple_of(flit)) {
        return None;
    }
    let of_packets = Digits { problem, choice: filled.as_ref().unwrap_or(choice) };
    let pair = if both.iter().all(|elements| elements.is_multiple_of(2 * flit)) { 2 * flit } else { flit };
    let packet = of_packets.digit(last, 1, pair)?;
    let packet = if pair == flit { format!("{packet} # {}", 2 * flit) } else { packet };

    // The parts of a sum: all of the stream is in DM, and weights of one part.
    let axis_of_parts = choice.axis_of_parts(problem);
    let parts: Vec<String> = axis_of_parts
        .and_then(|axis| {
            let split = &choice.splits[axis];
            digits.digit(axis, split.stride(Level::Blocks), split.at(Level::Blocks))
        })
        .into_iter()
        .collect();

    // An operand from DM to a collect. `ahead` are its own digits in time, behind which a spread digit arrives.
    let slice_of = |operand: usize, copied: Role| match choice.spread(operand) {
        Some(spread) => slices(&[(copied, digits.partly_spread(copied, spread)?)]),
        None => Some(slice.clone()),
    };
    let path = |operand: usize, copied: Role, parts: &[String], ahead: &[String]| {
        let (own, spread) = (Role::Of(operand), choice.spread(operand));
        let element = [digits.positions(operand, spread), parts.to_vec()].concat();
        let turn = match choice.turned(problem, operand) {
            Some(turned) => {
                Some(Brought { digits: &digits, notation, own, spread, parts, last }.turn(turned)?)
            }
            None => None,
        };
        if filled.is_some() && (turn.is_some() || spread.is_some()) {
            return None;
        }
        let summed = |low: usize| of_packets.local(Role::Summed, spread, &[(last, low)], true);
        let channels = digits.summed_of(operand, spread);
        let arrived: Vec<String> = spread.and_then(|spread| digits.spread(spread)).into_iter().collect();
        let switched: Vec<String> = ahead.iter().chain(&arrived).cloned().collect();
        let flits: Vec<String> = switched.iter().cloned().chain(summed(flit)).collect();
        Some(Path {
            slice: slice_of(operand, copied)?,
            element: notation.list(&element.into_iter().chain(channels).collect::<Vec<_>>())?,
            turn,
            windows: digits.windows(notation, operand)?,
            is_filled: filled.is_some(),
            fetch: match filled {
                None => [notation.list(ahead)?, notation.list(&summed(1))?],
                // A mask cuts the last turn of a loop.
                Some(_) => [notation.list(&flits)?, notation.list(&[of_packets.digit(last, 1, flit)?])?],
            },
            switch_time: if spread.is_some() { Some(notation.list(&switched)?) } else { None },
            collect: [notation.list(&flits)?, notation.list(&[of_packets.digit(last, 1, flit)?])?],
        })
    };

    // Rows of the register file: the innermost positions of the innermost axis of the weights.
    let rows = digits.axes(of_weights).last();
    let row = match rows {
        Some(axis) => notation.list(&[digits.digit(axis, 1, ROWS)?])?,
        // One row, for columns.
        None if in_columns.is_some() => notation.list(&[])?,
        None => return None,
    };
    let own_row = rows.map(|_| row.text.clone());
    let packet_of_sums = match ROWS_FILL_FLITS {
        true => row.clone(),
        false => notation.list(&[format!("{} # {}", row.text, spec::BEAT_LANES)])?,
    };
    let lows: Vec<(usize, usize)> = rows.map(|axis| (axis, ROWS)).into_iter().collect();

    let in_stream = choice.stream_spread.filter(|spread| problem.axes[spread.axis].role == of_stream);
    let in_weights = choice.weights_spread.filter(|spread| problem.axes[spread.axis].role == of_weights);
    let stream_time = digits.local(of_stream, in_stream, &[], true);
    let groups = digits.local(of_weights, in_weights, &lows, true);
    let stream = match &in_columns {
        Some(own) => own.path(slice_of(choice.stream(), of_weights)?)?,
        None => path(choice.stream(), of_weights, &parts, &stream_time)?,
    };
    let rows_and_groups: Vec<String> = own_row.clone().into_iter().chain(groups.clone()).collect();
    let weights = path(choice.weights, of_stream, &[], &rows_and_groups)?;

    // What arrives by a switch comes behind the digits that were in time.
    let with = |list: Vec<String>, spread: Option<Spread>| -> Vec<String> {
        list.into_iter().chain(spread.and_then(|spread| digits.spread(spread))).collect()
    };
    let by_summed =
        |spread: Option<Spread>| spread.filter(|spread| problem.axes[spread.axis].role == Role::Summed);
    let all_groups = with(groups, in_weights);
    let file_summed = with(Vec::new(), by_summed(choice.weights_spread)).into_iter().chain(of_packets.local(
        Role::Summed,
        by_summed(choice.weights_spread),
        &[],
        true,
    ));
    let file = notation.list(&all_groups.iter().cloned().chain(file_summed).collect::<Vec<_>>())?;
    let pairs = with(Vec::new(), by_summed(choice.stream_spread)).into_iter().chain(of_packets.local(
        Role::Summed,
        by_summed(choice.stream_spread),
        &[(last, pair)],
        true,
    ));
    let stream_all = with(stream_time.clone(), in_stream);
    let mut result = digits.local(of_stream, None, &[], false);
    match choice.sums {
        // The shared digit lies between groups and rows.
        Sums::Shared(axis) if rows == Some(axis) => {
            result.extend(digits.local(of_weights, None, &lows, false));
            result.push(row.text.clone());
        }
        _ => result.extend(digits.local(of_weights, None, &[], false)),
    }
    let products = match &in_columns {
        Some(own) => own.products(&all_groups, own_row.as_ref(), &packet_of_sums)?,
        None => {
            let time: Vec<String> =
                stream_all.iter().cloned().chain(pairs).chain(all_groups.clone()).collect();
            Products {
                align: [notation.list(&time)?, notation.list(&[packet])?],
                columns: notation.list(&[])?,
                kind: AccumulationKind::Interleaved,
                time: stream_all.into_iter().chain(all_groups).collect(),
                packet: packet_of_sums,
                result,
            }
        }
    };
    let accumulate = notation.list(&products.time)?;

    // Sums over slices.
    let team = digits.team();
    let mut replaced = Vec::new();
    let reduce = match choice.sums {
        Sums::Whole => None,
        sums => {
            let kept = match sums {
                Sums::Shared(axis) => {
                    let low =
                        if problem.axes[axis].role == of_weights && rows == Some(axis) { ROWS } else { 1 };
                    digits.digit(axis, low, team)?
                }
                _ => format!("1 # {team}"),
            };
            let time = with(digits.local(of_stream, in_stream, &[], false), in_stream)
                .into_iter()
                .chain(with(digits.local(of_weights, in_weights, &lows, false), in_weights));
            let time = match in_columns {
                Some(_) => accumulate.clone(),
                None => notation.list(&time.collect::<Vec<_>>())?,
            };
            replaced.push((Role::Summed, vec![kept]));
            Some(Reduce { slice: slices(&replaced)?, time })
        }
    };
    let turned_sums = choice.turned_sums(problem);
    let lanes = spec::FLIT_BYTES * 8 / problem.output.bits();
    let cast = match problem.output == problem.before_cast() {
        true => None,
        false => {
            let of_row = match turned_sums {
                Some(axis) => digits.digit(axis, 1, spec::BEAT_LANES)?,
                None if in_columns.is_some() => products.packet.text.clone(),
                None => row.text.clone(),
            };
            Some(notation.list(&[format!("{of_row} # {lanes}")])?)
        }
    };

    let own = notation.list(&products.result)?;
    let (finish, result) = if let Some(axis) = turned_sums {
        let (finish, result) = digits.turned_sums(notation, axis, own)?;
        (Some(finish), result)
    } else if axis_of_parts.is_none() && choice.gather.is_none() {
        (None, own)
    } else {
        let behind = Behind { digits: &digits, notation, rows: rows?, parts: &parts, own };
        let (finish, result) = behind.finish(&slices, replaced)?;
        (Some(finish), result)
    };

    // Where the sums leave the last pass, in flits and in halves of them.
    let ends = if problem.epilogue.is_empty() && axis_of_parts.is_none() {
        None
    } else {
        let last = finish.as_ref().map(|finish| match (&finish.parts, &finish.switch) {
            (Some(parts), _) => &parts.time,
            (None, Some([_, time])) => time,
            (None, None) => &finish.fetch,
        });
        let time = match (last, &reduce) {
            (Some(time), _) => time.clone(),
            (None, Some(reduce)) => reduce.time.clone(),
            (None, None) => accumulate.clone(),
        };
        let whole = if time.text == "1" { Vec::new() } else { vec![time.text.clone()] };
        let half = spec::BEAT_LANES / 2;
        let [outer, inner] = match (in_columns, turned_sums.or(rows)) {
            (None, Some(axis)) => [digits.digit(axis, half, 2)?, digits.digit(axis, 1, half)?],
            _ => ["/", "%"].map(|part| format!("{} {part} {half}", products.packet.text)),
        };
        let halves = [notation.list(&[whole, vec![outer]].concat())?, notation.list(&[inner])?];
        let packet = finish.as_ref().map_or(&products.packet, |finish| &finish.packet);
        Some(Ends { flits: [time, packet.clone()], halves })
    };

    // Steps, outermost first.
    let mut counters: Vec<(usize, Counter)> = Vec::new();
    for (role, level) in [
        (Role::Batch, Level::Loops),
        (of_stream, Level::Loops),
        (of_weights, Level::Blocks),
        (Role::Summed, Level::Blocks),
    ] {
        for axis in digits.axes(role) {
            let count = choice.splits[axis].at(level);
            if count > 1 {
                counters.push((axis, Counter { inner: 1, count }));
            }
        }
    }
    let mut inner = 1;
    for (_, counter) in counters.iter_mut().rev() {
        counter.inner = inner;
        inner *= counter.count;
    }
    let bias = match problem.bias_axis() {
        Some(axis) => {
            let counter = counters.iter().find(|(own, _)| *own == axis);
            Some(digits.bias(notation, axis, counter.map_or(1, |(_, counter)| counter.inner))?)
        }
        None => None,
    };
    let stored = |tensor| digits.stored(notation, tensor, &counters);
    let [first, second, (third, _)] = [stored(0)?, stored(1)?, stored(2)?];
    let (stored, left) = ([first.0, second.0, third], [first.1, second.1]);
    let room = match problem.in_units(choice) {
        None => None,
        Some(_) => {
            let of = |role: &Role| match *role == of_stream {
                true => digits.level_in_room(Level::Cluster),
                false => digits.level(*role, Level::Cluster),
            };
            let clusters: Vec<String> = roles.iter().flat_map(of).collect();
            let cluster = notation.filled(&clusters, used_clusters, spec::CLUSTERS)?;
            let mut replaced = vec![(of_stream, digits.level_in_room(Level::Slice))];
            if let Some(spread) = choice.stream_spread {
                replaced.push((of_weights, digits.partly_spread(of_weights, spread)?));
            }
            let behind = [parts.clone(), digits.summed_of(choice.stream(), choice.stream_spread)].concat();
            let (left, units) = (&left[choice.stream()], [cluster, slices(&replaced)?]);
            Some(digits.room(notation, left, units, choice.stream_spread, &behind)?)
        }
    };
    let pieces = match (choice.pieces, &finish) {
        (None, _) => None,
        // Sums of both pieces wait for the pass behind the products.
        (Some(_), None) => return None,
        (Some(pieces), Some(finish)) => {
            let (time, reduce) = (&products.align[0], reduce.as_ref().map(|reduce| &reduce.time));
            let tile = OfTile { stream: &stream, time, accumulate: &accumulate, reduce, finish };
            Some(digits.pieces(notation, pieces, &tile)?)
        }
    };
    Some(Layout {
        stored,
        room,
        pieces,
        chip: notation.list(&problem.chip_axes())?,
        cluster,
        slice,
        stream,
        weights,
        align: products.align,
        accumulate,
        columns: products.columns,
        kind: products.kind,
        packet: products.packet,
        file: [row, file],
        reduce,
        finish,
        ends,
        bias,
        cast,
        result,
    })
}
