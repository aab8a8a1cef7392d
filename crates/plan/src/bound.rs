//! Cycles that no kernel of a choice goes below.
//!
//! Each resource does its work one after another, so the sum of what it has to do is a bound. The clock adds waits,
//! latencies and conflicts to it, and takes nothing away.

use crate::choice::{Choice, Level, Pieces, ROWS, Spread, Sums, together};
use crate::commands::First;
use crate::problem::{Problem, Role};
use crate::schedule::Schedule;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::dma::{
    self, CLUSTER_DMNS, DmaOptions, DmaRates, HbmStream, PairedSequencer, Traffic,
};
use furiosa_visa_clock::tensor_unit::tensor_unit_time;
use furiosa_visa_clock::{Channels, Model, Number, Profile};
use furiosa_visa_rules::command::Operation;
use furiosa_visa_rules::spec::{self, CORE_CYCLE_TICKS};

/// Bytes that a Data Memory Network moves at a time.
const DMN_ACCESS_BYTES: u64 = spec::DMN_BYTES_PER_CYCLE as u64;

/// Work of a kernel, in cycles of the resource that does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Products, and passes that turn operands: the main context.
    pub main: u64,
    /// Loads of the register file: the sub context.
    pub sub: u64,
    /// Moves between HBM and DM; and what is between the last load and the store, if the stream comes in two pieces.
    pub dma: u64,
    /// Moves and loads before the first product, and the store behind the last one.
    pub ends: u64,
    /// The part of `dma` in which nothing moves: between the last load and the store, if the stream comes in two pieces.
    pub behind: u64,
}

impl Work {
    /// The bound: the main context works between the first move and the last store.
    pub fn cycles(&self) -> u64 {
        (self.main + self.ends).max(self.sub).max(self.dma)
    }

    /// The resource that holds the bound.
    pub fn resource(&self) -> &'static str {
        match self {
            Work { main, ends, .. } if main + ends == self.cycles() => "main context",
            Work { sub, .. } if *sub == self.cycles() => "sub context",
            _ => "DMA",
        }
    }
}

/// Numbers of a profile that bounds use.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    model: Model,
    dma: DmaRates,
    /// Cycles between the command of a pass and its first fetch.
    issue: u64,
}

impl Rates {
    /// The numbers of a profile.
    pub fn new(profile: Profile) -> Self {
        let model = Model::new(profile);
        Self { model, dma: DmaRates::of(model), issue: model.cost(Number::PassIssue, 1).cycles }
    }

    /// Cycles of the networks of a cluster for `bytes` in each of `slices`. `copies`: slices get the same.
    fn networks(&self, slices: u64, bytes: u64, copies: bool) -> u64 {
        let accesses = bytes.div_ceil(DMN_ACCESS_BYTES);
        match self.dma.copy_ticks.filter(|_| copies) {
            Some(copy) => slices * (copy + accesses * self.dma.dmn_access_ticks) / CORE_CYCLE_TICKS,
            None => {
                slices * bytes / DMN_ACCESS_BYTES / CLUSTER_DMNS as u64 * self.dma.dmn_access_ticks
                    / CORE_CYCLE_TICKS
            }
        }
    }
}

/// Cycles of the products of a choice, from its extents alone. Nothing that brings operands or adds sums is in it.
pub fn of_extents(problem: &Problem, choice: &Choice) -> u64 {
    let local = |role| choice.extent(problem, role, Level::Local) as u64;
    let summed_bytes = local(Role::Summed) * problem.element.bits() as u64 / 8;
    let (stream, groups) = (local(Role::Of(choice.stream())), groups(problem, choice));
    let packets = match problem.axis_of_columns(choice.stream()) {
        None => stream * summed_bytes.div_ceil(spec::MAC_BYTES as u64) * groups,
        // Packets may be of the stream's own axis.
        Some(_) => (stream * summed_bytes).div_ceil(spec::MAC_BYTES as u64) * groups,
    };
    (choice.steps(problem) as u64) * packets
}

/// Groups of rows of weights in a slice.
fn groups(problem: &Problem, choice: &Choice) -> u64 {
    (choice.extent(problem, Role::Of(choice.weights), Level::Local) / ROWS).max(1) as u64
}

/// Packets of products and flits of the stream, per pass.
fn packets_and_flits(problem: &Problem, choice: &Choice) -> [u64; 2] {
    let local = |role| choice.extent(problem, role, Level::Local) as u64;
    let (stream, summed) = (local(Role::Of(choice.stream())), local(Role::Summed));
    let (bits, groups) = (problem.element.bits() as u64, groups(problem, choice));
    match choice.columns(problem) {
        None => {
            let bytes = summed * bits / 8;
            let packets = bytes.div_ceil(spec::MAC_BYTES as u64) * groups;
            [stream * packets, stream * bytes / spec::FLIT_BYTES as u64]
        }
        Some(columns) => {
            let packets = stream / columns.count as u64 * summed;
            let flits = (columns.padded as u64 * bits / 8).div_ceil(spec::FLIT_BYTES as u64);
            [packets * groups, packets * flits]
        }
    }
}

/// Bound from extents and ways. It takes a few operations.
pub fn of_choice(problem: &Problem, choice: &Choice, schedule: &Schedule, rates: &Rates) -> Work {
    let local = |role| choice.extent(problem, role, Level::Local) as u64;
    let slices = |role| choice.extent(problem, role, Level::Slice) as u64;
    let (of_stream, of_weights) = (Role::Of(choice.stream()), Role::Of(choice.weights));
    let (stream, weights) = (local(of_stream), local(of_weights));
    let summed_bytes = local(Role::Summed) * problem.element.bits() as u64 / 8;
    let groups = groups(problem, choice);
    let [packets, flits] = packets_and_flits(problem, choice);
    // Slices between two neighbours that hand something round: those of what stands further inside.
    let team = slices(Role::Summed);
    let (between_weights, between_stream) = match choice.weights_inside {
        true => (team, team * slices(of_weights)),
        false => (team * slices(of_stream), team),
    };
    let stream_switch = choice.stream_spread.map_or(0, |spread| exchange(spread, between_weights, flits));
    let sums = if choice.in_columns { 0 } else { stream * groups };
    let products = packets.max(flits).max(sums).max(stream_switch);
    let block_bytes = weights * summed_bytes;
    let block_flits = block_bytes / spec::FLIT_BYTES as u64;
    let is_filled = choice.filled_axis(problem).is_some();
    let load = rates.issue
        + match choice.weights_spread {
            None if is_filled => block_flits,
            None => block_bytes / spec::SUB_FETCH_BYTES as u64,
            Some(spread) => exchange(spread, between_stream, block_flits).max(block_flits),
        };

    let (tiles, loads, steps) = counts(schedule);
    let (parts, sums) = (schedule.parts as u64, tiles * schedule.blocks as u64);
    // A flit of parts is added as two halves, and goes round the slices that gather it.
    let kept = match choice.sums {
        Sums::Shared(_) => team,
        _ => 1,
    };
    let gathered = choice.gather.map_or(1, |gather| gather.count as u64 * team);
    let finish = match (parts, choice.gather) {
        (1, None) if choice.turns_sums => rates.issue + stream / spec::BEAT_LANES as u64,
        (1, None) => 0,
        (1, _) => rates.issue + gathered * stream * groups / kept,
        _ => rates.issue + gathered.max(2) * parts * stream * groups / kept,
    };

    // Moves: what goes through the networks of a cluster, and all bytes through HBM.
    let used: u64 = [Role::Batch, of_stream, of_weights, Role::Summed].map(slices).iter().product();
    let moved = |bytes: u64, spread: Option<Spread>, sharing: u64| {
        let part = spread.map_or(bytes, |spread| bytes / spread.count as u64);
        let count = spread.map_or(1, |spread| spread.count as u64);
        // More slices than share the operand may load parts of it.
        let cycles = rates.networks(used / sharing * sharing.max(count), part, sharing > count);
        live(problem, choice, cycles, |_| true)
    };
    let stream_bytes = (choice.brought(problem) * problem.element.bits()) as u64 / 8;
    let bring_stream = moved(parts * stream_bytes, choice.stream_spread, slices(of_weights));
    let bring_weights = moved(block_bytes, choice.weights_spread, slices(of_stream));
    let rounds = rounds(problem, choice, schedule);
    let units_of_loads = copies(problem, choice, choice.stream())
        * units_of_runs(problem, choice, choice.stream())
        + copies(problem, choice, choice.weights) * rounds * units_of_runs(problem, choice, choice.weights);
    let units = units_of_loads + units_of_runs(problem, choice, 2);
    let start = spec::DMA_STARTUP_CYCLES;
    let [load, in_main] = if is_filled { [0, load] } else { [load, 0] };
    let by_networks = tiles * bring_stream + loads * bring_weights;
    let data = by_networks.max(cycles_of_units(units));
    // Behind the last byte of two pieces: the products of the second one, the pass that takes all sums, and the store.
    let (pieces, behind) = match choice.pieces {
        None => (1, 0),
        Some(Pieces { axis, sizes: [_, second] }) => {
            let own = products * second as u64 / choice.splits[axis].at(Level::Local) as u64;
            let loads_of_data = by_networks.max(cycles_of_units(units_of_loads));
            (2, loads_of_data + rates.issue + own + finish)
        }
    };
    // A pass that turns an operand writes one flit of a few bytes after another.
    let turn = |operand: usize, bytes: u64| match choice.turned(problem, operand) {
        Some(_) => {
            let part = choice.spread(operand).map_or(bytes, |spread| bytes / spread.count as u64);
            rates.issue + part / spec::TRANSPOSE_ROW_BYTES as u64
        }
        None => 0,
    };
    let others = Others {
        stream: turn(choice.stream(), parts * stream * summed_bytes),
        weights: turn(choice.weights, block_bytes) + in_main,
        finish,
    };
    Work {
        main: steps * (pieces * rates.issue + products) + others.main(schedule, load, rates),
        sub: loads * load,
        dma: (pieces * tiles + loads + sums) * start + data.max(behind),
        ends: 2 * start + bring_weights + others.ends(schedule, load, 0, rates),
        behind: 0,
    }
}

/// Cycles of the passes of the main context that make no products. 0: there is none.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// Turns a tile of the stream.
    stream: u64,
    /// Turns a block of weights, or loads it.
    weights: u64,
    /// The pass behind the products.
    finish: u64,
}

impl Others {
    /// Cycles of the main context for all of them, and while it waits for a register file that is loaded between products:
    /// it finishes sums and turns what comes next meanwhile.
    fn main(self, schedule: &Schedule, load: u64, rates: &Rates) -> u64 {
        let (tiles, loads, _) = counts(schedule);
        let sums = tiles * schedule.blocks as u64;
        let wait = |others: u64| load.saturating_sub(2 * rates.issue + others);
        let waits = match schedule.is_full && !schedule.is_resident {
            true => {
                let (of_part, of_sum) = (self.weights, self.weights + self.finish);
                (loads - sums) * wait(of_part)
                    + (sums - tiles) * wait(of_sum)
                    + (tiles - 1) * wait(of_sum + self.stream)
            }
            false => 0,
        };
        tiles * self.stream + loads * self.weights + sums * self.finish + waits
    }

    /// Cycles between the move of the first block and the first product that the main context does not spend on turning
    /// operands. `stream`: those of the move of the first tile.
    fn ends(self, schedule: &Schedule, load: u64, stream: u64, rates: &Rates) -> u64 {
        let loads = schedule.steps_per_tile() as u64;
        let before = if schedule.is_resident { loads } else { (schedule.steps() as u64).min(2) };
        let of_block =
            (self.weights + load).saturating_sub(if self.weights > 0 { 2 * rates.issue } else { 0 });
        of_block.max(stream + self.stream).saturating_sub(before * self.weights + self.stream)
    }
}

/// Cycles in which a ring hands round a spread operand that has `flits` in each slice then: one turn of the ring for each
/// flit of a slice. The ring reaches from the first slice that shares the operand to the last one.
fn exchange(spread: Spread, between: u64, flits: u64) -> u64 {
    let count = spread.count as u64;
    ((count - 1) * between + 1) * (flits / count)
}

/// Number of times that weights come from HBM.
fn rounds(problem: &Problem, choice: &Choice, schedule: &Schedule) -> u64 {
    if schedule.is_resident {
        1
    } else {
        choice.extent(problem, Role::Of(choice.stream()), Level::Loops) as u64
    }
}

/// Number of slices and clusters to which DMA brings the same elements of an operand: HBM is read for each of them.
fn copies(problem: &Problem, choice: &Choice, operand: usize) -> u64 {
    let (spread, sharing) = match operand == choice.weights {
        true => (choice.weights_spread, Role::Of(choice.stream())),
        false => (choice.stream_spread, Role::Of(choice.weights)),
    };
    let slices =
        choice.extent(problem, sharing, Level::Slice).div_ceil(spread.map_or(1, |spread| spread.count));
    let units = (slices * choice.extent(problem, sharing, Level::Cluster)) as u64;
    live(problem, choice, units, |role| role == sharing).max(1)
}

/// Part of an amount that is no padding of the axes with some roles: padding does not move.
fn live(problem: &Problem, choice: &Choice, amount: u64, roles: impl Fn(Role) -> bool) -> u64 {
    let axes = problem.axes.iter().zip(&choice.splits).filter(|(axis, _)| roles(axis.role));
    axes.fold(amount, |amount, (axis, split)| amount * axis.size as u64 / split.padded as u64)
}

/// Bytes that go through HBM, copies for slices and clusters included.
pub fn hbm_bytes(problem: &Problem, choice: &Choice, schedule: &Schedule) -> u64 {
    let moved = |operand| copies(problem, choice, operand) * problem.bytes(operand);
    let own =
        moved(choice.stream()) + rounds(problem, choice, schedule) * moved(choice.weights) + problem.bytes(2);
    own + bias_bytes(problem, choice)
}

/// Bytes of the copies of a bias, one for each slice that has sums.
fn bias_bytes(problem: &Problem, choice: &Choice) -> u64 {
    let Some(axis) = problem.bias_axis() else { return 0 };
    let split = &choice.splits[axis];
    let at = |level| {
        let axes = problem.axes.iter().zip(&choice.splits);
        axes.filter(|(axis, _)| axis.role != Role::Summed)
            .map(|(_, split)| split.at(level))
            .product::<usize>()
    };
    let copies = at(Level::Cluster) * at(Level::Slice) / split.at(Level::Cluster) / split.at(Level::Slice);
    copies as u64 * problem.bias_bytes()
}

/// Cycles in which all channels of HBM serve units.
fn cycles_of_units(units: u64) -> u64 {
    units * spec::HBM_UNIT_TICKS / spec::HBM_CHANNELS as u64 / CORE_CYCLE_TICKS
}

/// Units of HBM for all of a tensor, if each run of it starts a unit. A write of a part of a unit counts as many as it
/// takes time.
fn units_of_runs(problem: &Problem, choice: &Choice, tensor: usize) -> u64 {
    let (bytes, unit) = (problem.bytes(tensor), spec::HBM_UNIT_BYTES as u64);
    let whole = bytes / unit;
    let Some((axis, positions)) = problem.run(tensor) else { return whole };
    let parts = choice.splits[axis].at(Level::Blocks);
    let is_whole = tensor == choice.stream() && choice.stream_spread.is_none_or(|spread| spread.axis != axis);
    let local = choice.splits[axis].at(Level::Local) * if is_whole { parts } else { 1 };
    // Rows of weights are innermost in DM, so that an element of another axis is a run by itself.
    let is_apart = tensor == 2
        && positions > 1
        && problem.axes[axis].role != Role::Of(choice.weights)
        && choice.columns(problem).is_none_or(|columns| columns.axis != axis)
        && choice.turned_sums(problem).is_none();
    if local >= positions && !is_apart {
        // The run may go on in the next axis.
        return whole;
    }
    let spread = match tensor {
        2 => None,
        _ if tensor == choice.weights => choice.weights_spread,
        _ => choice.stream_spread,
    };
    let elements = match (choice.sums, choice.gather) {
        _ if is_apart => 1,
        (Sums::Shared(shared), _) if tensor == 2 && shared == axis => together(problem, choice.weights, axis),
        (_, Some(gather)) if tensor == 2 => local * gather.count,
        _ => local / spread.filter(|spread| spread.axis == axis).map_or(1, |spread| spread.count),
    };
    if problem.hbm[tensor].is_some() && !positions.is_multiple_of(elements) {
        // A run that ends with the digit is shorter than others.
        return whole;
    }
    let run = ((elements * problem.element_of(tensor).bits()).div_ceil(8) as u64).max(1);
    let runs = bytes / run;
    let is_partial = tensor == 2 && !run.is_multiple_of(unit);
    let part = if is_partial { spec::HBM_PARTIAL_WRITE_UNITS } else { 0 };
    runs * (if is_partial { run / unit } else { run.div_ceil(unit) } + part)
}

/// Number of moves of the stream, of loads of weights, and of passes with products.
fn counts(schedule: &Schedule) -> (u64, u64, u64) {
    let steps = schedule.steps() as u64;
    let loads = if schedule.is_resident { schedule.steps_per_tile() as u64 } else { steps };
    (schedule.tiles as u64, loads, steps)
}

/// Bound from the exact times of the passes, and from those of the moves with an HBM that never waits.
pub fn of_commands(quick: Work, schedule: &Schedule, first: &First, rates: &Rates) -> Work {
    let pass = |operation: &Operation| match operation {
        Operation::TensorUnit(unit) => tensor_unit_time(unit, rates.model, Channels::Single).cycles(),
        _ => 0,
    };
    let moved = |operation: &Operation| least_of_move(operation, first.is_aligned, rates);
    let (load, products) = (pass(&first.load), pass(&first.products));
    let last = first.second.as_ref().map(|[bring, products]| [moved(bring), pass(products)]);
    let [load, in_main] = if first.is_filled { [0, load] } else { [load, 0] };
    let (bias, bias_loads) = match first.bias.split_first() {
        Some((bring, loads)) => (moved(bring), loads.iter().map(pass).sum()),
        None => (0, 0),
    };
    let [stream, weights, store] = [&first.stream, &first.weights, &first.store].map(moved);
    let stream = stream + first.stream_next.as_ref().map_or(0, moved);
    let others = Others {
        stream: first.turn_stream.as_ref().map_or(0, pass),
        weights: first.turn_weights.as_ref().map_or(0, pass) + in_main,
        finish: first.finish.iter().map(pass).sum(),
    };
    let (tiles, loads, steps) = counts(schedule);
    let sums = tiles * schedule.blocks as u64;
    let [second, products_of_second] = last.unwrap_or_default();
    // The bias of two pieces comes behind them, while the second one is multiplied.
    let (before, behind) = match last {
        Some(_) => (0, products_of_second.max(bias + bias_loads) + others.finish),
        None => (bias, bias),
    };
    let work = Work {
        main: steps * products + products_of_second + others.main(schedule, load, rates),
        sub: loads * load + bias_loads,
        dma: tiles * stream + second + loads * weights + sums * store + behind,
        ends: weights + others.ends(schedule, load, before + stream, rates) + store,
        // A bias moves there.
        behind: if last.is_some() && bias == 0 { products_of_second + others.finish } else { 0 },
    };
    Work {
        main: work.main.max(quick.main),
        sub: work.sub.max(quick.sub),
        dma: work.dma.max(quick.dma),
        ends: work.ends.max(quick.ends),
        ..work
    }
}

/// Cycles of a move with an HBM that never waits. `is_aligned`: all tiles of its tensor start at the same place of a unit, so that
/// it stands for all of them.
fn least_of_move(operation: &Operation, is_aligned: bool, rates: &Rates) -> u64 {
    let mut without_waits = |streams: &[HbmStream<'_>]| -> u64 {
        let work = |stream: &HbmStream<'_>| -> u64 {
            let ticks = |command: &PairedSequencer| match Traffic::of(command, stream.side) {
                Traffic::Hbm { transfers, partial_writes } if is_aligned => {
                    (transfers - partial_writes) * spec::HBM_UNIT_TICKS
                        + partial_writes * spec::HBM_PARTIAL_WRITE_TICKS
                }
                _ => command.bytes() * spec::HBM_UNIT_TICKS / spec::HBM_UNIT_BYTES as u64,
            };
            stream.commands.iter().map(ticks).sum()
        };
        // Each chip has an HBM of its own.
        let of_chip = |chip| streams.iter().filter(|own| own.chip == chip).map(work).sum::<u64>();
        let chips = streams.iter().map(|stream| stream.chip);
        chips.map(of_chip).max().unwrap_or(0) / spec::HBM_CHANNELS as u64
    };
    match operation {
        Operation::Dma(dma) => match dma::derive(dma, &DmaOptions::default()) {
            Ok(operation) => dma::time(&operation, rates.dma, &mut without_waits).cycles(),
            Err(_) => 0,
        },
        _ => 0,
    }
}

/// Bound from the exact times of the moves of a kernel, which follow each other. It ends as soon as the bound is `limit`: what is
/// left counts with an HBM that never waits.
pub fn of_moves(
    work: &Work,
    operations: &[Operation],
    rates: &Rates,
    times: &mut CommandClock,
    limit: u64,
) -> u64 {
    let moves = || operations.iter().filter(|operation| matches!(operation, Operation::Dma(_)));
    let least: Vec<u64> = moves().map(|operation| least_of_move(operation, true, rates)).collect();
    let (mut dma, mut bound) = (least.iter().sum::<u64>() + work.behind, work.cycles());
    for (operation, least) in moves().zip(least) {
        bound = bound.max(dma);
        if bound >= limit {
            break;
        }
        dma = dma - least + times.time(operation).cycles();
    }
    bound.max(dma)
}
