//! The commands of a kernel, in their order, and the cycles that they take.
//!
//! ```text
//!   tdma   w0 x0 w1 w2 y0 w3 y1 …       a block of weights comes two steps ahead
//!   sub       w0    w1    w2    …       and goes to the half of the register file that no product reads
//!   main            y0    y1    …
//! ```
//!
//! A block that takes more than a half is loaded between the products. Where a sum has parts, each step leaves one of them
//! in DM, and a pass behind the last one adds them. The same pass lets slices exchange sums, so that longer runs are stored. What follows the sums
//! is at the end of the last pass of a step; a bias is in the vector register file before the first one.

use crate::choice::{Choice, Level, Spread, Sums};
use crate::epilogue::{Program, apply, bring_bias, load_bias};
use crate::layout::{Finish, Layout, Path, Stored, bias};
use crate::problem::{Problem, Role};
use core::panic::Location;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::{Clock, KernelCall, KernelTime};
use furiosa_visa_rules::command::{AccumulationKind, Command, FillId, Operation, ReduceOperator, TrfAddress};
use furiosa_visa_rules::engine::vector::BranchMode;
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::{Call, End, Made, Stream, Tensor, Weights, to_dm, to_view};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::tensor::{DM_LAST_BYTES, Shape, automatic_address};

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
    /// Addresses in DM of the first buffer for the stream, for weights, for sums, and for sums that wait for a pass behind
    /// the products.
    pub dm: [u64; 4],
    /// Bytes of a buffer for each of them.
    pub bytes: [u64; 4],
    /// Number of buffers for each of them.
    pub buffers: [usize; 4],
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
    /// Whether the weights are loaded once.
    pub is_resident: bool,
    /// Whether a block of weights takes more than half of the register file.
    pub is_full: bool,
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
        let bytes = [
            aligned(parts * stream / spread(choice.stream_spread), bits),
            aligned(weights / spread(choice.weights_spread), bits),
            aligned(sums / team, problem.output.bits()),
            aligned(parts * sums / team, problem.sum().bits()),
        ];
        let has_finish = parts > 1 || choice.gather.is_some();
        let mut buffers =
            [tiles.min(2), (tiles * loads).min(2), (tiles * blocks).min(2), usize::from(has_finish)];
        if is_resident {
            buffers[1] = loads;
        }
        let mut bias = BiasPlace::new(problem, choice)?;
        let mut whole =
            (parts > 1 && problem.has_own_pass).then(|| [0, aligned(sums / team, problem.sum().bits())]);
        let more = bias.map_or(0, |bias| bias.bytes) + whole.map_or(0, |[_, bytes]| bytes);
        let total = |buffers: [usize; 4]| more + (0..4).map(|k| bytes[k] * buffers[k] as u64).sum::<u64>();
        // `DmTensor::new` takes the last bytes of DM, but for those that it leaves.
        let room = spec::DM_BYTES as u64 - if has_finish { DM_LAST_BYTES } else { 0 };
        if total(buffers) > room {
            buffers[0] = 1;
        }
        if total(buffers) > room {
            return None;
        }
        let mut hbm = [0; 3];
        for tensor in 1..3 {
            hbm[tensor] = (hbm[tensor - 1] + problem.bytes(tensor - 1)).next_multiple_of(HBM_ALIGN_BYTES);
        }
        let mut end = hbm[2] + problem.bytes(2);
        if let (Some(place), Some(axis)) = (&mut bias, problem.bias_axis()) {
            place.hbm = end.next_multiple_of(HBM_ALIGN_BYTES);
            end = place.hbm + problem.axes[axis].size as u64 * (spec::FLIT_BYTES / spec::BEAT_LANES) as u64;
        }
        if end > spec::HBM_BYTES {
            return None;
        }
        let mut dm = [0; 4];
        for kind in 1..3 {
            dm[kind] = dm[kind - 1] + bytes[kind - 1] * buffers[kind - 1] as u64;
        }
        // Behind all buffers but those of sums that wait, which are at the end of DM.
        let ends =
            (0..dm.len()).filter(|kind| *kind != 3).map(|kind| dm[kind] + bytes[kind] * buffers[kind] as u64);
        let mut behind = ends.max().unwrap_or(0);
        if let Some(place) = &mut bias {
            place.dm = behind;
            behind += place.bytes;
        }
        if let Some([address, _]) = &mut whole {
            *address = behind;
        }
        let exact = (parts * sums / team * problem.sum().bits() / 8) as u64;
        dm[3] = automatic_address(exact);
        Some(Self { hbm, dm, bytes, buffers, tiles, blocks, parts, bias, whole, is_resident, is_full })
    }

    /// Number of passes with products per tile of the stream.
    pub fn steps_per_tile(&self) -> usize {
        self.blocks * self.parts
    }

    /// Number of passes with products.
    pub fn steps(&self) -> usize {
        self.tiles * self.steps_per_tile()
    }

    /// The address of a buffer in DM. `kind`: 0 of the stream, 1 of weights, 2 of sums, 3 of those that wait.
    pub fn buffer(&self, kind: usize, number: usize) -> u64 {
        self.dm[kind] + self.bytes[kind] * (number % self.buffers[kind]) as u64
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
        more + (0..4).map(|kind| self.bytes[kind] * self.buffers[kind] as u64).sum::<u64>()
    }
}

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
    tensors: [Tensor; 3],
    /// What follows the sums, in the pass that makes what is stored.
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
            let shape = Shape::hbm(problem.element_of(tensor), ONE, layout.stored[tensor].element.expr);
            Tensor::new(shape, schedule.hbm[tensor], FillId(1 + tensor as u64))
        };
        let tensors = [stored(0)?, stored(1)?, stored(2)?];
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
            fills: 3,
            operations: Vec::new(),
        };
        if let (Some(bias), Some(place), Some(element)) =
            (&layout.bias, schedule.bias, problem.bias_element())
        {
            let fill = kernel.fill();
            kernel.bias = Some(Tensor::new(Shape::hbm(element, ONE, bias.stored.expr), place.hbm, fill)?);
        }
        if let Some(finish) = &layout.finish {
            let fill = kernel.fill();
            let shape = Shape::dm(
                problem.sum(),
                ONE,
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
        let Stored { tiles, .. } = &self.layout.stored[tensor];
        tiles.iter().try_fold(self.tensors[tensor], |whole, tile| {
            whole.tile(tile.index.expr, tile.element.expr, tile.counter.at(step))
        })
    }

    /// Tells if all tiles of each tensor start at the same place of a unit of HBM.
    fn tiles_are_aligned(&self) -> Result<bool, PlanError> {
        for tensor in 0..3 {
            let first = self.tile(tensor, 0)?.region.address;
            for tile in &self.layout.stored[tensor].tiles {
                let second = self.tile(tensor, tile.counter.inner)?.region.address;
                if !(second - first).is_multiple_of(spec::HBM_UNIT_BYTES as u64) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn bring(&mut self, tensor: usize, path: &Path, step: usize, address: u64) -> Result<Tensor, PlanError> {
        let units = [ONE, self.layout.cluster.expr, path.slice.expr, path.element.expr];
        let (tile, fill) = (self.tile(tensor, step)?, self.fill());
        let (operation, made) = to_dm(&tile, units, address, fill)?;
        self.operations.push(operation);
        Ok(made)
    }

    /// Brings the tile of the stream with this number.
    fn bring_stream(&mut self, tile: usize) -> Result<Tensor, PlanError> {
        let address = self.schedule.buffer(0, tile);
        self.bring(self.choice.stream(), &self.layout.stream, tile * self.schedule.steps_per_tile(), address)
    }

    /// Brings the block of weights of a step.
    fn bring_weights(&mut self, step: usize) -> Result<Tensor, PlanError> {
        let address = self.schedule.buffer(1, step);
        self.bring(self.choice.weights, &self.layout.weights, step, address)
    }

    /// A stream from DM to its flits.
    fn collected(&self, tensor: &Tensor, path: &Path, sub_context: bool) -> Result<Stream, PlanError> {
        let [time, packet] = &path.fetch;
        let fetched =
            Stream::begin(tensor, sub_context)?.fetch(self.problem.element, time.expr, packet.expr)?;
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
        let stream = self.collected(weights, &self.layout.weights, true)?;
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

    /// The products of a step. Returns their sums, or leaves them to a pass behind the products.
    fn multiply(
        &mut self,
        stream: &Tensor,
        weights: &Weights,
        step: usize,
    ) -> Result<Option<Tensor>, PlanError> {
        let part = step % self.schedule.parts;
        let stream = match self.layout.parts() {
            Some(parts) => &stream.tile(parts.index.expr, parts.of_stream.expr, part)?,
            None => stream,
        };
        let Layout { align: [time, packet], accumulate, file: [row, _], reduce, cast, .. } = self.layout;
        let mut sums = self
            .collected(stream, &self.layout.stream, false)?
            .align(weights, time.expr, packet.expr)?
            .contract(ONE)?
            .accumulate(AccumulationKind::Interleaved, accumulate.expr, row.expr)?;
        let has_epilogue = self.waiting.is_none() && !self.program.is_empty();
        if reduce.is_some() || has_epilogue {
            sums = sums.vector_init()?;
            if let Some(reduce) = reduce {
                let op = match self.problem.sum() {
                    ElementType::I32 => ReduceOperator::AddI32,
                    _ => ReduceOperator::AddF32,
                };
                sums = sums.inter_slice_reduce(op, reduce.slice.expr, reduce.time.expr)?;
            }
            if has_epilogue {
                sums = self.epilogue(sums.branch(BranchMode::Unconditional)?, &self.program, step)?;
            }
            sums = sums.vector_final()?;
        }
        if let Some(whole) = self.waiting {
            let view = match self.layout.parts() {
                Some(parts) => whole.tile(parts.index.expr, parts.of_sums.expr, part)?,
                None => whole,
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
        let packet = self.layout.file[0].expr;
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
        let (address, fill) = (self.schedule.buffer(2, step / self.schedule.parts), self.fill());
        let (operation, made) = sums.commit(self.layout.result.expr, address, fill)?;
        self.operations.push(operation);
        Ok(made)
    }

    fn store(&mut self, sums: &Tensor, step: usize) -> Result<(), PlanError> {
        let operation = to_view(sums, &self.tile(2, step)?)?;
        self.operations.push(operation);
        Ok(())
    }

    /// Calls `each` with each tile of the stream and its number. With two buffers, the next tile comes before that.
    fn over_tiles(
        &mut self,
        first: Tensor,
        mut each: impl FnMut(&mut Self, &Tensor, usize) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        let Schedule { tiles, buffers, .. } = *self.schedule;
        let mut next = Some(first);
        for tile in 0..tiles {
            let own = match next.take() {
                Some(own) => own,
                None => self.bring_stream(tile)?,
            };
            if buffers[0] > 1 && tile + 1 < tiles {
                next = Some(self.bring_stream(tile + 1)?);
            }
            each(self, &own, tile)?;
        }
        Ok(())
    }

    /// The products of a step, to HBM.
    fn step(&mut self, stream: &Tensor, weights: &Weights, step: usize) -> Result<(), PlanError> {
        let sums = match (self.multiply(stream, weights, step)?, &self.layout.finish) {
            (Some(sums), _) => sums,
            (None, Some(finish)) if (step + 1).is_multiple_of(self.schedule.parts) => {
                self.finish(finish, step)?
            }
            (None, _) => return Ok(()),
        };
        self.store(&sums, step)
    }

    fn resident(&mut self) -> Result<(), PlanError> {
        let blocks = self.schedule.steps_per_tile();
        let mut weights = Vec::new();
        for block in 0..blocks {
            let own = self.bring_weights(block)?;
            weights.push(self.load(&own, block)?);
        }
        self.load_bias()?;
        let first = self.bring_stream(0)?;
        self.over_tiles(first, |kernel, stream, tile| {
            let mut steps = weights.iter().zip(tile * blocks..);
            steps.try_for_each(|(weights, step)| kernel.step(stream, weights, step))
        })
    }

    fn streamed(&mut self) -> Result<(), PlanError> {
        let (blocks, steps) = (self.schedule.steps_per_tile(), self.schedule.steps());
        let is_full = self.schedule.is_full;
        let own = self.bring_weights(0)?;
        let mut weights = self.load(&own, 0)?;
        self.load_bias()?;
        let first = self.bring_stream(0)?;
        let mut waiting = if steps > 1 { Some(self.bring_weights(1)?) } else { None };
        self.over_tiles(first, |kernel, stream, tile| {
            for step in tile * blocks..(tile + 1) * blocks {
                // A load that takes the whole register file waits for the products.
                let own = waiting.take();
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
    let mut kernel = Kernel::new(problem, choice, layout, schedule)?;
    if schedule.is_resident {
        kernel.resident()?
    } else {
        kernel.streamed()?
    }
    Ok(Commands { tensors: kernel.tensors, bias: kernel.bias, operations: kernel.operations })
}

/// One command of each kind.
#[derive(Clone, Debug)]
pub struct First {
    /// Brings a tile of the stream.
    pub stream: Operation,
    /// Brings a block of weights.
    pub weights: Operation,
    /// Loads it to the register file.
    pub load: Operation,
    /// Brings the bias, and loads its parts, if there is one.
    pub bias: Vec<Operation>,
    /// Multiplies.
    pub products: Operation,
    /// The passes behind the products.
    pub finish: Vec<Operation>,
    /// Stores the sums.
    pub store: Operation,
    /// Whether all tiles of a tensor in HBM start at the same place of a unit.
    pub is_aligned: bool,
}

/// Derives one command of each kind. Those of later steps have the same mappings.
///
/// # Errors
/// The refusal of the first call that has one.
pub fn first_commands(
    problem: &Problem,
    choice: &Choice,
    layout: &Layout,
    schedule: &Schedule,
) -> Result<First, PlanError> {
    let mut kernel = Kernel::new(problem, choice, layout, schedule)?;
    let own = kernel.bring_stream(0)?;
    let weights = kernel.bring_weights(0)?;
    let loaded = kernel.load(&weights, 0)?;
    kernel.load_bias()?;
    let sums = match (kernel.multiply(&own, &loaded, 0)?, &layout.finish) {
        (None, Some(finish)) => Some(kernel.finish(finish, 0)?),
        (sums, _) => sums,
    };
    let sums = sums.unwrap_or_else(|| unreachable!("a pass behind the products makes sums"));
    kernel.store(&sums, 0)?;
    let is_aligned = kernel.tiles_are_aligned()?;
    let mut operations = kernel.operations.into_iter();
    let mut next = || operations.next().unwrap_or_else(|| unreachable!("each call gave a command"));
    Ok(First {
        stream: next(),
        weights: next(),
        load: next(),
        bias: (0..schedule.bias.map_or(0, |bias| 1 + bias.tiles)).map(|_| next()).collect(),
        products: next(),
        finish: layout.finish.iter().map(|_| ()).chain(schedule.whole.map(|_| ())).map(|()| next()).collect(),
        store: next(),
        is_aligned,
    })
}

/// Cycles of commands as a kernel, from the start of the first one to the end of the last one. `times` remember what HBM
/// served before.
pub fn cycles(operations: Vec<Operation>, times: CommandClock) -> (u64, CommandClock) {
    let (mut clock, location) = (Clock::of_times(times), Location::caller());
    let kernel = KernelCall { number: 1, name: "plan" };
    for operation in operations {
        clock.command(kernel, &Command { operation, location });
    }
    let cycles = clock.ledger().kernels.first().map_or(0, KernelTime::makespan);
    (cycles, clock.into_times())
}
