//! The commands of a kernel, in their order, and the cycles that they take.
//!
//! ```text
//!   tdma   w0 x0 w1 w2 y0 w3 y1 …       a block of weights comes two steps ahead
//!   sub       w0    w1    w2    …       and goes to the half of the register file that no product reads
//!   main            y0    y1    …
//! ```
//!
//! An operand that comes in another order than products read it is turned by a pass of the main context: a tile before its
//! first product, and a block before it is loaded. What is brought meanwhile goes to a buffer of its own.
//!
//! A block that takes more than a half is loaded between the products. Where a sum has parts, each step leaves one of them
//! in DM, and a pass behind the last one adds them. The same pass lets slices exchange sums, so that longer runs are stored.
//! Steps behind the sums are at the end of the last pass of a step; a bias is in the vector register file before the first one.
//!
//! A stream of one tile may come in two pieces. The products of the first one run while the second one comes, and the pass behind
//! the products takes the sums of both.

mod first;

pub use first::{First, first_commands};

use crate::choice::Choice;
use crate::epilogue::{Program, apply, bring_bias, load_bias};
use crate::layout::{Cut, Finish, Layout, Path, Piece, Room, Stored, Turn};
use crate::problem::Problem;
use crate::schedule::Schedule;
use core::panic::Location;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::{Clock, KernelCall, KernelTime};
use furiosa_visa_rules::command::{Command, FillId, Operation, ReduceOperator};
use furiosa_visa_rules::engine::vector::BranchMode;
use furiosa_visa_rules::error::{PlanError, refuse};
use furiosa_visa_rules::lower::{Call, End, Made, Stream, Tensor, Weights, to_dm, to_view};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::tensor::Shape;

/// The commands of a kernel, with what they read and write of HBM.
#[derive(Clone, Debug)]
pub struct Commands {
    /// Both operands and the result.
    pub tensors: [Tensor; 3],
    /// The bias, if there is one.
    pub bias: Option<Tensor>,
    /// The commands.
    pub operations: Vec<Operation>,
}

/// Derives commands one after another.
struct Kernel<'a> {
    problem: &'a Problem,
    choice: &'a Choice,
    layout: &'a Layout,
    schedule: &'a Schedule,
    /// Both operands and the result: in HBM, but for those that are kept in DM.
    tensors: [Tensor; 3],
    /// Steps behind the sums, in the pass that makes what is stored.
    program: Program,
    /// The bias in HBM.
    bias: Option<Tensor>,
    /// The parts of the bias in the vector register file.
    loaded_bias: Vec<Tensor>,
    /// Sums that wait for a pass behind the products.
    waiting: Option<Tensor>,
    fills: u64,
    operations: Vec<Operation>,
}

const ONE: &Expr = &Expr::Identity;

impl<'a> Kernel<'a> {
    fn new(
        problem: &'a Problem,
        choice: &'a Choice,
        layout: &'a Layout,
        schedule: &'a Schedule,
    ) -> Result<Self, PlanError> {
        let stored = |tensor: usize| {
            let element = layout.stored[tensor].element.expr;
            let shape = Shape::hbm(problem.element_of(tensor), layout.chip.expr, element);
            Tensor::new(shape, schedule.hbm[tensor], FillId(1 + tensor as u64))
        };
        Self::between(problem, choice, layout, schedule, ([stored(0)?, stored(1)?, stored(2)?], 3))
    }

    /// A kernel between tensors. `fills`: the number of the last tensor that has a name.
    fn between(
        problem: &'a Problem,
        choice: &'a Choice,
        layout: &'a Layout,
        schedule: &'a Schedule,
        (tensors, fills): ([Tensor; 3], u64),
    ) -> Result<Self, PlanError> {
        let mut kernel = Self {
            problem,
            choice,
            layout,
            schedule,
            tensors,
            program: Program::new(problem, layout.parts().is_some() && schedule.whole.is_none())?,
            bias: None,
            loaded_bias: Vec::new(),
            waiting: None,
            fills,
            operations: Vec::new(),
        };
        if let (Some(bias), Some(place), Some(element)) =
            (&layout.bias, schedule.bias, problem.bias_element())
        {
            let fill = kernel.fill();
            let shape = Shape::hbm(element, layout.chip.expr, bias.stored.expr);
            kernel.bias = Some(Tensor::new(shape, place.hbm, fill)?);
        }
        if let Some(finish) = &layout.finish {
            let fill = kernel.fill();
            let shape = Shape::dm(
                problem.sum(),
                layout.chip.expr,
                layout.cluster.expr,
                layout.sums_slice().expr,
                finish.element.expr,
            );
            kernel.waiting = Some(Tensor::new(shape, schedule.dm[3], fill)?);
        }
        Ok(kernel)
    }

    fn fill(&mut self) -> FillId {
        self.fills += 1;
        FillId(self.fills)
    }

    /// The tile of a tensor that a step uses.
    fn tile(&self, tensor: usize, step: usize) -> Result<Tensor, PlanError> {
        self.tile_ahead(tensor, step, 0)
    }

    /// The tile that a step uses, so many positions further on in the last of its digits.
    fn tile_ahead(&self, tensor: usize, step: usize, ahead: usize) -> Result<Tensor, PlanError> {
        let Stored { tiles, .. } = &self.layout.stored[tensor];
        let last = tiles.len().wrapping_sub(1);
        tiles.iter().enumerate().try_fold(self.tensors[tensor], |whole, (number, tile)| {
            let start = tile.start(step) + if number == last { ahead } else { 0 };
            whole.tile_of(tile.index.expr, tile.len, tile.element.expr, start)
        })
    }

    /// Tells if all tiles of each tensor start at the same place of a unit of HBM. Refuses tiles of operands that DMA does not
    /// start at.
    fn tiles_are_aligned(&self) -> Result<bool, PlanError> {
        let mut are_aligned = true;
        for tensor in 0..3 {
            let first = self.tile(tensor, 0)?.region.address;
            for tile in &self.layout.stored[tensor].tiles {
                let second = self.tile(tensor, tile.counter.inner)?.region.address;
                let (bytes, unit) = (second - first, spec::DMA_HBM_TO_DM_BYTES);
                are_aligned &= bytes.is_multiple_of(spec::HBM_UNIT_BYTES as u64);
                if tensor < 2 && !bytes.is_multiple_of(unit as u64) {
                    refuse!(
                        "DMA tile",
                        "DMA: tiles of {} along {} are {} bytes apart, but a transfer from HBM to DM starts at multiples of {}; \
                         help: pad the innermost axis of the tensor in HBM",
                        (self.layout.stored[tensor].element.expr, tile.index.expr, bytes as usize, unit),
                    );
                }
            }
        }
        Ok(are_aligned)
    }

    fn bring(&mut self, tensor: usize, path: &Path, step: usize, address: u64) -> Result<Tensor, PlanError> {
        if self.schedule.kept.operand == Some(tensor) {
            return Ok(self.tensors[tensor]);
        }
        let units = [self.layout.chip.expr, self.layout.cluster.expr, path.slice.expr, path.brought().expr];
        let (tile, fill) = (self.tile(tensor, step)?, self.fill());
        let (operation, made) = to_dm(&tile, units, address, fill)?;
        self.operations.push(operation);
        Ok(made)
    }

    /// Brings the tile of the stream with this number.
    fn bring_stream(&mut self, tile: usize) -> Result<Tensor, PlanError> {
        let address = self.schedule.buffer(self.schedule.brought(0), tile);
        let (stream, step) = (self.choice.stream(), tile * self.schedule.steps_per_tile());
        match &self.layout.room {
            Some(room) => self.bring_to_room(room, step, address),
            None => self.bring(stream, &self.layout.stream, step, address),
        }
    }

    /// Brings a piece of the stream.
    fn bring_piece(&mut self, piece: &Piece, number: usize) -> Result<Tensor, PlanError> {
        let (Piece { index, start, len, stored, stream, .. }, fill) = (piece, self.fill());
        let units = [&self.layout.chip, &self.layout.cluster, &stream.slice, &stream.element];
        let address = self.schedule.piece(number);
        let whole = self.tensors[self.choice.stream()];
        let tile = whole.tile_of(index.expr, *len, stored.expr, *start)?;
        let (operation, made) = to_dm(&tile, units.map(|mapping| mapping.expr), address, fill)?;
        self.operations.push(operation);
        Ok(made)
    }

    /// Brings what slices have of a tile, and then what they need of the next slice.
    fn bring_to_room(&mut self, room: &Room, step: usize, address: u64) -> Result<Tensor, PlanError> {
        let (stream, path, fill) = (self.choice.stream(), &self.layout.stream, self.fill());
        let units = [&room.cluster, &room.slice, &room.element].map(|mapping| mapping.expr);
        let [cluster, slice, element] = units;
        let whole =
            Tensor::new(Shape::dm(self.problem.element, ONE, cluster, slice, element), address, fill)?;
        let cut = |of: Tensor, cut: &Cut| of.tile_of(cut.index.expr, cut.len, cut.element.expr, cut.start);
        let own = to_view(&self.tile(stream, step)?, &cut(whole, &room.own)?)?;
        let source = self.tile_ahead(stream, step, room.ahead)?;
        let source = room.reached.iter().try_fold(source, &cut)?;
        let next = to_view(&source, &room.next.iter().try_fold(whole, &cut)?)?;
        self.operations.extend([own, next]);
        let shape = Shape { cluster: self.layout.cluster.expr, slice: path.slice.expr, ..whole.shape };
        Ok(Tensor { shape: Shape { element: path.element.expr, ..shape }, ..whole })
    }

    /// Brings the block of weights of a step.
    fn bring_weights(&mut self, step: usize) -> Result<Tensor, PlanError> {
        let address = self.schedule.buffer(self.schedule.brought(1), step);
        self.bring(self.choice.weights, &self.layout.weights, step, address)
    }

    /// An operand as products read it. `kind`: 0 of the stream, 1 of weights.
    fn turned(
        &mut self,
        brought: Tensor,
        path: &Path,
        kind: usize,
        number: usize,
    ) -> Result<Tensor, PlanError> {
        let Some(Turn { fetch: [time, packet], flit, turned: [turned, row], .. }) = &path.turn else {
            return Ok(brought);
        };
        let stream = Stream::begin(&brought, false)?
            .fetch(self.problem.element, time.expr, packet.expr)?
            .collect(time.expr, flit.expr)?
            .transpose(turned.expr, row.expr)?;
        let (address, fill) = (self.schedule.buffer(kind, number), self.fill());
        let (operation, made) = stream.commit(path.element.expr, address, fill)?;
        self.operations.push(operation);
        Ok(made)
    }

    /// A tile of the stream as products read it.
    fn turned_stream(&mut self, brought: Tensor, tile: usize) -> Result<Tensor, PlanError> {
        self.turned(brought, &self.layout.stream, 0, tile)
    }

    /// The block of weights of a step as loads read it.
    fn turned_weights(&mut self, brought: Tensor, step: usize) -> Result<Tensor, PlanError> {
        self.turned(brought, &self.layout.weights, 1, step)
    }

    /// A stream from DM to its flits.
    fn collected(&self, tensor: &Tensor, path: &Path, sub_context: bool) -> Result<Stream, PlanError> {
        let [time, packet] = &path.fetch;
        let fetched = Stream::begin(tensor, sub_context)?.windows(path.windows)?.fetch(
            self.problem.element,
            time.expr,
            packet.expr,
        )?;
        let there = match &path.switch_time {
            Some(time) => fetched.call(&Call::Switch {
                config: None,
                slice: self.layout.slice.expr,
                time: time.expr,
            })?,
            None => fetched,
        };
        let [time, packet] = &path.collect;
        there.collect(time.expr, packet.expr)
    }

    /// Loads a block of weights to the register file.
    fn load(&mut self, weights: &Tensor, step: usize) -> Result<Weights, PlanError> {
        let stream = self.collected(weights, &self.layout.weights, !self.layout.weights.is_filled)?;
        let [row, element] = &self.layout.file;
        let end = End::ToTrf { row: row.expr, element: element.expr, address: self.schedule.file(step) };
        let fill = self.fill();
        let (operation, made) = stream.end(end, fill)?;
        self.operations.push(operation);
        match made {
            Made::Weights(weights) => Ok(weights),
            Made::Tensor(_) => unreachable!("`to_trf` makes weights"),
        }
    }

    /// Brings the bias, and loads all of its parts to the vector register file.
    fn load_bias(&mut self) -> Result<(), PlanError> {
        let (Some(bias), Some(place), Some(source)) = (&self.layout.bias, self.schedule.bias, self.bias)
        else {
            return Ok(());
        };
        let (units, fill) = ([&self.layout.cluster, self.layout.result_slice()], self.fill());
        let (operation, there) = bring_bias(bias, units, &source, place.dm, fill)?;
        self.operations.push(operation);
        for number in 0..place.tiles {
            let fill = self.fill();
            let (operation, part) = load_bias(bias, &there, number, place.file(number), fill)?;
            self.operations.push(operation);
            self.loaded_bias.push(part);
        }
        Ok(())
    }

    /// Adds what follows the sums of a step to a stream inside the Vector Engine.
    fn epilogue(&self, stream: Stream, program: &Program, step: usize) -> Result<Stream, PlanError> {
        let Some(ends) = &self.layout.ends else { return Ok(stream) };
        let tile = self.layout.bias.as_ref().and_then(|bias| bias.tile.as_ref());
        let part = tile.map_or(0, |tile| step / tile.inner % self.loaded_bias.len());
        apply(stream, program, ends, self.loaded_bias.get(part))
    }

    /// The products of a step with the stream, or with a piece of it. Returns their sums, or leaves them to a pass behind the
    /// products.
    fn multiply(
        &mut self,
        stream: &Tensor,
        piece: Option<&Piece>,
        weights: &Weights,
        step: usize,
    ) -> Result<Option<Tensor>, PlanError> {
        let part = step % self.schedule.parts;
        let stream = match self.layout.parts() {
            Some(parts) => &stream.tile(parts.index.expr, parts.of_stream.expr, part)?,
            None => stream,
        };
        let Layout { align: [time, packet], columns, kind, accumulate, reduce, cast, .. } = self.layout;
        let path = piece.map_or(&self.layout.stream, |piece| &piece.stream);
        let (time, accumulate) = piece.map_or((time, accumulate), |piece| (&piece.time, &piece.accumulate));
        let mut sums = self
            .collected(stream, path, false)?
            .align(weights, time.expr, packet.expr)?
            .contract(columns.expr)?
            .accumulate(*kind, accumulate.expr, self.layout.packet.expr)?;
        let has_epilogue = self.waiting.is_none() && !self.program.is_empty();
        if reduce.is_some() || has_epilogue {
            sums = sums.vector_init()?;
            if let Some(reduce) = reduce {
                let op = match self.problem.sum() {
                    ElementType::I32 => ReduceOperator::AddI32,
                    _ => ReduceOperator::AddF32,
                };
                let time = piece.and_then(|piece| piece.reduce.as_ref()).unwrap_or(&reduce.time);
                sums = sums.inter_slice_reduce(op, reduce.slice.expr, time.expr)?;
            }
            if has_epilogue {
                sums = self.epilogue(sums.branch(BranchMode::Unconditional)?, &self.program, step)?;
            }
            sums = sums.vector_final()?;
        }
        if let Some(whole) = self.waiting {
            let view = match (self.layout.parts(), piece) {
                (Some(parts), _) => whole.tile(parts.index.expr, parts.of_sums.expr, part)?,
                (None, Some(Piece { index, start, len, of_sums, .. })) => {
                    whole.tile_of(index.expr, *len, of_sums.expr, *start)?
                }
                (None, None) => whole,
            };
            self.operations.push(sums.commit_view(&whole, &view)?);
            return Ok(None);
        }
        if let Some(packet) = cast {
            sums = sums.cast(self.problem.output, packet.expr)?;
        }
        self.commit(sums, step).map(Some)
    }

    /// The pass behind the products: adds parts of sums, and gathers what is stored. Where it cannot do what follows the sums,
    /// one more pass does.
    fn finish(&mut self, finish: &Finish, step: usize) -> Result<Tensor, PlanError> {
        let whole = self.waiting.unwrap_or_else(|| unreachable!("products have left sums"));
        let packet = finish.packet.expr;
        let mut sums = Stream::begin(&whole, false)?.fetch(self.problem.sum(), finish.fetch.expr, packet)?;
        let mut time = finish.fetch.expr;
        if let Some([slice, switched]) = &finish.switch {
            sums = sums.call(&Call::Switch { config: None, slice: slice.expr, time: switched.expr })?;
            time = switched.expr;
        }
        sums = sums.collect(time, packet)?;
        if finish.parts.is_some() || !self.program.is_empty() {
            sums = sums.vector_init()?.branch(BranchMode::Unconditional)?;
        }
        if let Some(parts) = &finish.parts {
            let op = match self.problem.sum() {
                ElementType::I32 => ReduceOperator::AddSatI32,
                _ => ReduceOperator::AddF32,
            };
            let [split, half] = &parts.split;
            sums = sums.call(&Call::Split { time: split.expr, packet: half.expr })?.intra_slice_reduce(
                parts.axis,
                op,
                parts.added.expr,
                half.expr,
            )?;
        }
        if finish.parts.is_some() || !self.program.is_empty() {
            let program = match self.schedule.whole {
                Some(_) => &Program::of_parts(),
                None => &self.program,
            };
            sums = self.epilogue(sums, program, step)?.vector_final()?;
        }
        if let (Some([address, _]), Some(ends)) = (self.schedule.whole, &self.layout.ends) {
            let fill = self.fill();
            let (operation, whole) = sums.commit(self.layout.result.expr, address, fill)?;
            self.operations.push(operation);
            let [time, packet] = [&ends.flits[0], &ends.flits[1]].map(|mapping| mapping.expr);
            let stream = Stream::begin(&whole, false)?
                .fetch(self.problem.sum(), time, packet)?
                .collect(time, packet)?
                .vector_init()?
                .branch(BranchMode::Unconditional)?;
            sums = self.epilogue(stream, &self.program, step)?.vector_final()?;
        }
        if let Some(packet) = &self.layout.cast {
            sums = sums.cast(self.problem.output, packet.expr)?;
        }
        self.commit(sums, step)
    }

    /// Writes the sums of a step to DM.
    fn commit(&mut self, sums: Stream, step: usize) -> Result<Tensor, PlanError> {
        if self.schedule.kept.result {
            let (whole, view) = (self.tensors[2], self.tile(2, step)?);
            self.operations.push(sums.commit_view(&whole, &view)?);
            return Ok(view);
        }
        let (address, fill) = (self.schedule.buffer(2, step / self.schedule.parts), self.fill());
        let (operation, made) = sums.commit(self.layout.result.expr, address, fill)?;
        self.operations.push(operation);
        Ok(made)
    }

    fn store(&mut self, sums: &Tensor, step: usize) -> Result<(), PlanError> {
        if self.schedule.kept.result {
            return Ok(());
        }
        let operation = to_view(sums, &self.tile(2, step)?)?;
        self.operations.push(operation);
        Ok(())
    }

    /// Calls `each` with each tile of the stream and its number. With a buffer for it, the next tile comes before that.
    fn over_tiles(
        &mut self,
        first: Tensor,
        mut each: impl FnMut(&mut Self, &Tensor, usize) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        let (tiles, is_ahead) = (self.schedule.tiles, self.schedule.is_ahead());
        let mut next = Some(first);
        for tile in 0..tiles {
            let own = match next.take() {
                Some(own) => own,
                None => self.bring_stream(tile)?,
            };
            let own = self.turned_stream(own, tile)?;
            if is_ahead && tile + 1 < tiles {
                next = Some(self.bring_stream(tile + 1)?);
            }
            each(self, &own, tile)?;
        }
        Ok(())
    }

    /// The products of a step, to HBM.
    fn step(&mut self, stream: &Tensor, weights: &Weights, step: usize) -> Result<(), PlanError> {
        let sums = match (self.multiply(stream, None, weights, step)?, &self.layout.finish) {
            (Some(sums), _) => sums,
            (None, Some(finish)) if (step + 1).is_multiple_of(self.schedule.parts) => {
                self.finish(finish, step)?
            }
            (None, _) => return Ok(()),
        };
        self.store(&sums, step)
    }

    fn derived(mut self) -> Result<(Commands, u64), PlanError> {
        if self.schedule.is_resident {
            self.resident()?
        } else {
            self.streamed()?
        }
        let commands = Commands { tensors: self.tensors, bias: self.bias, operations: self.operations };
        Ok((commands, self.fills))
    }

    fn resident(&mut self) -> Result<(), PlanError> {
        let blocks = self.schedule.steps_per_tile();
        let mut weights = Vec::new();
        for block in 0..blocks {
            let own = self.bring_weights(block)?;
            let own = self.turned_weights(own, block)?;
            weights.push(self.load(&own, block)?);
        }
        if let (Some(pieces), Some(finish), [weights]) =
            (&self.layout.pieces, &self.layout.finish, &weights[..])
        {
            return self.in_pieces(pieces, finish, weights);
        }
        self.load_bias()?;
        let first = self.bring_stream(0)?;
        self.over_tiles(first, |kernel, stream, tile| {
            let mut steps = weights.iter().zip(tile * blocks..);
            steps.try_for_each(|(weights, step)| kernel.step(stream, weights, step))
        })
    }

    /// The only step, with a stream in two pieces. What follows the sums comes behind both, and so does its bias.
    fn in_pieces(
        &mut self,
        pieces: &[Piece; 2],
        finish: &Finish,
        weights: &Weights,
    ) -> Result<(), PlanError> {
        let [first, second] = pieces;
        let brought = [self.bring_piece(first, 0)?, self.bring_piece(second, 1)?];
        self.load_bias()?;
        for (stream, piece) in brought.iter().zip(pieces) {
            self.multiply(stream, Some(piece), weights, 0)?;
        }
        let sums = self.finish(finish, 0)?;
        self.store(&sums, 0)
    }

    fn streamed(&mut self) -> Result<(), PlanError> {
        let (blocks, steps) = (self.schedule.steps_per_tile(), self.schedule.steps());
        let is_full = self.schedule.is_full;
        let own = self.bring_weights(0)?;
        let own = self.turned_weights(own, 0)?;
        let mut weights = self.load(&own, 0)?;
        self.load_bias()?;
        let first = self.bring_stream(0)?;
        let mut waiting = if steps > 1 { Some(self.bring_weights(1)?) } else { None };
        self.over_tiles(first, |kernel, stream, tile| {
            for step in tile * blocks..(tile + 1) * blocks {
                // A load that takes the whole register file waits for the products.
                let own = waiting.take().map(|own| kernel.turned_weights(own, step + 1)).transpose()?;
                let ahead = own.filter(|_| !is_full).map(|own| kernel.load(&own, step + 1)).transpose()?;
                if step + 2 < steps {
                    waiting = Some(kernel.bring_weights(step + 2)?);
                }
                kernel.step(stream, &weights, step)?;
                let behind = own.filter(|_| is_full).map(|own| kernel.load(&own, step + 1)).transpose()?;
                weights = ahead.or(behind).unwrap_or(weights);
            }
            Ok(())
        })
    }
}

/// Derives the commands of a kernel.
///
/// # Errors
/// The refusal of the first call that has one.
pub fn commands(
    problem: &Problem,
    choice: &Choice,
    layout: &Layout,
    schedule: &Schedule,
) -> Result<Commands, PlanError> {
    Kernel::new(problem, choice, layout, schedule)?.derived().map(|(commands, _)| commands)
}

/// Derives the commands of a kernel of a chain, between tensors that are there. `fills`: the number of the last tensor that
/// has a name. Returns that of the last one behind the commands, too.
///
/// # Errors
/// The refusal of the first call that has one.
pub fn commands_between(
    problem: &Problem,
    choice: &Choice,
    layout: &Layout,
    schedule: &Schedule,
    (tensors, fills): ([Tensor; 3], u64),
) -> Result<(Commands, u64), PlanError> {
    Kernel::between(problem, choice, layout, schedule, (tensors, fills))?.derived()
}

/// Cycles of commands as a kernel, from the start of the first one to the end of the last one. `times` remember what HBM
/// served before.
pub fn cycles(operations: Vec<Operation>, times: CommandClock) -> u64 {
    let (mut clock, location) = (Clock::of_times(times), Location::caller());
    let kernel = KernelCall { number: 1, name: "plan" };
    for operation in operations {
        clock.command(kernel, &Command { operation, location });
    }
    clock.ledger().kernels.first().map_or(0, KernelTime::makespan)
}
