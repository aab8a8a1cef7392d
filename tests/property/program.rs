//! A contraction pipeline as the library sees it: all configurations derived, all commands built by hand from them,
//! and executed over memories full of values that mean nothing.

use crate::bridge::expr;
use crate::machine::{Cell, Machine, library_type, region, shape};
use crate::moves::fill_padding;
use crate::padding::sums_padding;
use crate::reference::contraction::Kind;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::ElementType as Reference;
use crate::reference::pipelines::Pipeline;
use crate::reference::random::Random;
use crate::reference::tensor::{MathTensor, place};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::chip::{Addresses, ComputePath};
use furiosa_visa_std::command::{
    AccumulationKind, Collect, Fetch, FillId, Memory, Operation, Region, Sink, TensorUnit, Transpose,
    TrfAddress, TrfRegion,
};
use furiosa_visa_std::engine::cast::{CastRequest, derive_cast};
use furiosa_visa_std::engine::collect::{CollectConfig, CollectRequest, derive_collect};
use furiosa_visa_std::engine::commit::{CommitConfig, CommitRequest, derive_commit};
use furiosa_visa_std::engine::commit_stages::CommitStages;
use furiosa_visa_std::engine::contraction::{
    AccumulateConfig, AccumulateRequest, AlignConfig, AlignRequest, ContractConfig, ContractRequest,
    derive_accumulate, derive_align, derive_contract,
};
use furiosa_visa_std::engine::fetch::{FetchConfig, FetchRequest, check_packet, check_units, derive_fetch};
use furiosa_visa_std::engine::register_file::{
    TrfLoadConfig, TrfLoadRequest, check_capacity, derive_trf_load,
};
use furiosa_visa_std::engine::transpose::{TransposeRequest, derive_transpose};
use furiosa_visa_std::lower::{Aligned, Pass, Stream, Tensor, commit_sink};
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::mapping::{Factors, Pool, factorize, liveness};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::{Config, Entry};
use furiosa_visa_std::tensor::Shape;

/// Addresses in data memory.
const DATA: u64 = 8;
const WEIGHTS: u64 = 128 * 1024;
const RESULT: u64 = 256 * 1024;
/// Elements after a tensor that also hold garbage.
const BEYOND: usize = 128;

/// Reads a tensor as a stream of flits.
pub struct Input {
    /// The Fetch Engine.
    pub fetch: FetchConfig,
    /// The Collect Engine.
    pub collect: CollectConfig,
}

/// Everything that is derived for a pipeline.
pub struct Plan {
    /// Reads the stream.
    pub data: Input,
    weights: Input,
    load: TrfLoadConfig,
    /// The Aligner.
    pub align: AlignConfig,
    /// The adder tree.
    pub contract: ContractConfig,
    /// The accumulator.
    pub accumulate: AccumulateConfig,
    transpose: Option<Transpose>,
    commit: CommitConfig,
}

/// Derives what reads a tensor: fetch without a cast, and collect.
pub fn derive_input(
    element: ElementType,
    memory: &Map,
    [time, packet]: [&Map; 2],
    [out_time, out_packet]: [&Map; 2],
) -> Result<Input, PlanError> {
    let request = FetchRequest::new(element, element, expr(memory), expr(time), expr(packet));
    check_packet(&request)?;
    let fetch = derive_fetch(&request)?;
    let collect = derive_collect(&CollectRequest {
        element,
        time: expr(time),
        packet: expr(packet),
        out_time: expr(out_time),
        out_packet: expr(out_packet),
    })?;
    Ok(Input { fetch, collect })
}

/// The kind as the library names it.
fn kind(kind: Kind) -> AccumulationKind {
    match kind {
        Kind::Interleaved => AccumulationKind::Interleaved,
        Kind::Sequential => AccumulationKind::Sequential,
    }
}

impl Plan {
    /// Derives every stage, in order.
    pub fn derive(case: &Pipeline) -> Result<Plan, PlanError> {
        let computation = &case.contraction;
        let element = library_type(computation.element);
        check_units(expr(&Map::One.pad(2)), expr(&case.slice))?;
        let [time, packet] = &case.data_fetch;
        let stream = [&computation.stream_time, &computation.stream_packet];
        let data = derive_input(element, &case.data_element, [time, packet], stream)?;
        let ([time, packet], [out_time, out_packet]) = (&case.weight_fetch, &case.weight_collect);
        let weights = derive_input(element, &case.weight_element, [time, packet], [out_time, out_packet])?;
        let (row, trf_element) = (expr(&computation.row), expr(&computation.trf_element));
        let load = derive_trf_load(&TrfLoadRequest {
            element,
            time: expr(out_time),
            packet: expr(out_packet),
            row,
            row_element: trf_element,
        })?;
        check_capacity("to_trf", &load, TrfAddress::FirstHalf)?;
        let (time, packet) = (expr(&computation.out_time), expr(&computation.out_packet));
        let align = derive_align(&AlignRequest {
            element,
            time: expr(stream[0]),
            packet: expr(stream[1]),
            row,
            trf_element,
            out_time: time,
            out_packet: packet,
        })?;
        let columns = expr(&computation.tree_packet);
        let contract = derive_contract(&ContractRequest { element, packet, out_packet: columns })?;
        let (out_time, out_packet) = computation.output();
        let accumulate = derive_accumulate(&AccumulateRequest {
            kind: kind(computation.kind),
            row,
            time,
            packet: columns,
            out_time: expr(&out_time),
            out_packet: expr(&out_packet),
        })?;
        if case.stored != case.sum {
            derive_cast(&CastRequest {
                input: library_type(case.sum),
                output: library_type(case.stored),
                packet: expr(&out_packet),
                out_packet: expr(&case.stored_packet),
            })?;
        }
        let [time, packet] = &case.leaving();
        let transpose = match case.transposed {
            None => None,
            Some(_) => Some(derive_transpose(&TransposeRequest {
                element: library_type(case.stored),
                time: expr(&out_time),
                packet: expr(&case.stored_packet),
                out_time: expr(time),
                out_packet: expr(packet),
            })?),
        };
        let commit = derive_commit(&CommitRequest {
            sub_context: false,
            element: library_type(case.stored),
            time: expr(time),
            packet: expr(packet),
            destination: expr(&case.result_element),
            stages: CommitStages::NONE,
        })?;
        Ok(Plan { data, weights, load, align, contract, accumulate, transpose, commit })
    }

    /// Breaks the plan in one place.
    pub fn disturb(&mut self, random: &mut Random) {
        let lists =
            [&mut self.data.fetch.config, &mut self.align.trf_sequencer.config, &mut self.commit.config];
        let config = lists.into_iter().nth(random.below(3)).expect("one of three");
        if config.entries.is_empty() {
            return;
        }
        let place = random.below(config.entries.len());
        let entry = config.entries.at(place);
        config.entries.set(place, Entry { stride: entry.stride + 64, ..entry });
    }
}

/// Which positions of these dimensions hold an element.
pub fn guard(dims: &[&Map]) -> Guard {
    let mut pool = Pool::new();
    let factors: Vec<Factors> = dims.iter().map(|map| factorize(&mut pool, expr(map))).collect();
    liveness(&pool, &factors.iter().collect::<Vec<_>>()).expect("a guard has room for them")
}

/// A pass that fetches and collects.
fn pass(source: Region, input: &Input) -> Result<Pass, String> {
    let mut pass = Pass::begin(source);
    let output = source.footprint.element;
    pass.fetch(&input.fetch, None, None, output).map_err(|error| error.to_string())?;
    pass.collect(&input.collect);
    Ok(pass)
}

/// The command of the pipeline as a kernel that is written as data has it, at these addresses. Tensors have no names.
pub fn as_data(case: &Pipeline) -> Result<[Operation; 2], PlanError> {
    let computation = &case.contraction;
    let element = library_type(computation.element);
    let (one, two, slice) = (expr(&Map::One), expr(&Map::One.pad(2)), expr(&case.slice));
    let tensor = |memory: &Map, address| {
        Tensor::new(Shape::dm(element, one, two, slice, expr(memory)), address, FillId::ANY)
    };
    let data = tensor(&case.data_element, DATA)?;
    let [time, packet] = &case.data_fetch;
    let stream = Stream::begin(&data, false)?.fetch(element, expr(time), expr(packet))?;
    let stream = stream.collect(expr(&computation.stream_time), expr(&computation.stream_packet))?;
    let weights = tensor(&case.weight_element, WEIGHTS)?;
    let ([time, packet], [out_time, out_packet]) = (&case.weight_fetch, &case.weight_collect);
    let load = Stream::begin(&weights, false)?.fetch(element, expr(time), expr(packet))?;
    let load = load.collect(expr(out_time), expr(out_packet))?;
    let (row, trf_element) = (expr(&computation.row), expr(&computation.trf_element));
    let (load, weights) = load.to_trf(row, trf_element, TrfAddress::FirstHalf, FillId::ANY)?;
    let (out_time, out_packet) = computation.output();
    let stream = stream
        .align(&weights, expr(&computation.out_time), expr(&computation.out_packet))?
        .contract(expr(&computation.tree_packet))?
        .accumulate(kind(computation.kind), expr(&out_time), expr(&out_packet))?;
    let stream = match case.stored == case.sum {
        true => stream,
        false => stream.cast(library_type(case.stored), expr(&case.stored_packet))?,
    };
    let stream = match case.transposed {
        None => stream,
        Some(_) => {
            let [time, packet] = &case.leaving();
            stream.transpose(expr(time), expr(packet))?
        }
    };
    let (pass, _) = stream.commit(expr(&case.result_element), RESULT, FillId::ANY)?;
    Ok([load, pass])
}

/// The tensors of a pipeline.
pub struct Places<'a> {
    data: Region,
    weights: Region,
    trf: TrfRegion,
    target: Region,
    /// Chip, cluster and slice.
    units: [&'a Map; 3],
    /// The sub context loads the weights.
    sub_context: bool,
}

impl Plan {
    /// The commands of the configurations: the load of the weights, and the contraction.
    pub fn commands(&self, case: &Pipeline, places: &Places<'_>) -> Result<[Operation; 2], String> {
        let computation = &case.contraction;
        let dims = |inner: [&Map; 2]| guard(&[&places.units[..], &inner].concat());
        let [time, packet] = &case.weight_collect;
        let sink = Sink::Trf { destination: places.trf, guard: dims([time, packet]) };
        let load = pass(places.weights, &self.weights)?.end(places.sub_context, sink);
        let mut unit = pass(places.data, &self.data)?;
        let aligned = Aligned {
            weights: places.trf,
            stream_guard: &dims([&computation.stream_time, &computation.stream_packet]),
            step_guard: &guard(&[&computation.out_time, &computation.out_packet]),
            align: &self.align,
        };
        let sum = library_type(case.sum);
        unit.contract(aligned, &self.contract, &self.accumulate, self.accumulate.kind, sum);
        if case.stored != case.sum {
            unit.cast(sum, library_type(case.stored));
        }
        if let Some(transpose) = self.transpose {
            unit.transpose(transpose);
        }
        let [time, packet] = &case.leaving();
        let sink = commit_sink(places.target, &self.commit, &dims([time, packet]));
        Ok([load, unit.end(false, sink)])
    }

    /// The register file tensor of the weights.
    fn trf(&self, case: &Pipeline, units: [&Map; 3], address: TrfAddress, fill: FillId) -> TrfRegion {
        let computation = &case.contraction;
        TrfRegion {
            address,
            fill,
            element: library_type(computation.element),
            rows: self.load.rows,
            row_elements: self.load.row_elements,
            guard: guard(&[&units[..], &[&computation.row, &computation.trf_element]].concat()),
        }
    }

    /// The commands of [`as_data`] from the configurations of the plan.
    pub fn as_data(&self, case: &Pipeline) -> Result<[Operation; 2], String> {
        let element = library_type(case.contraction.element);
        let two = Map::One.pad(2);
        let units = [&Map::One, &two, &case.slice];
        let tensor = |element, memory: &Map, address| {
            region(&shape(Memory::Dm, element, &[&units[..], &[memory]].concat()), address, FillId::ANY)
        };
        let places = Places {
            data: tensor(element, &case.data_element, DATA),
            weights: tensor(element, &case.weight_element, WEIGHTS),
            trf: self.trf(case, units, TrfAddress::FirstHalf, FillId::ANY),
            target: tensor(library_type(case.stored), &case.result_element, RESULT),
            units,
            sub_context: false,
        };
        self.commands(case, &places)
    }
}

/// Gives what the pass writes the condition of `other`, if both hold at the same positions. The condition that a test makes of
/// written mappings may test what always holds, where a call knows the axes of the stream.
pub fn with_condition_of(pass: &mut Operation, other: &Operation, case: &Pipeline) {
    let (Operation::TensorUnit(pass), Operation::TensorUnit(other)) = (pass, other) else { return };
    let (Sink::Commit { guard, .. }, Sink::Commit { guard: other, .. }) = (&mut pass.sink, &other.sink)
    else {
        return;
    };
    let [time, packet] = case.leaving().map(|map| map.size());
    let same_lanes = |unit: [usize; 2], time| {
        (0..packet).all(|lane| {
            let variables = [0, unit[0], unit[1], time, lane];
            guard.holds(&variables) == other.holds(&variables)
        })
    };
    let same_times = |cluster, slice| (0..time).all(|time| same_lanes([cluster, slice], time));
    let same = (0..2).all(|cluster| (0..case.slice.size()).all(|slice| same_times(cluster, slice)));
    if same {
        *guard = *other;
    }
}

/// A code that is as harmful as possible: NaN, or -1.
pub fn poison(element: Reference) -> u32 {
    u32::MAX >> (32 - element.bits())
}

/// The machine with data and weights in place, as `[live slice, element]` in data memory.
pub struct Stage {
    /// The machine.
    pub machine: Machine,
    chip: Map,
    cluster: Map,
    slice: Map,
    live: Map,
}

impl Stage {
    /// Slices are the positions of `live`, padded to 256. For the rest see [`Machine::new`].
    pub fn new(strict: bool, live: &Map) -> Stage {
        Stage::with(Machine::new(strict), live)
    }

    /// A stage with a machine.
    pub fn with(machine: Machine, live: &Map) -> Stage {
        Stage { machine, chip: Map::One, cluster: Map::One.pad(2), slice: live.pad(256), live: live.clone() }
    }

    /// Chip, cluster, slice and the given dimensions.
    pub fn dims<'a>(&'a self, inner: &[&'a Map]) -> Vec<&'a Map> {
        [&[&self.chip, &self.cluster, &self.slice], inner].concat()
    }

    fn region(&self, element: ElementType, memory: &Map, address: u64, fill: FillId) -> Region {
        region(&shape(Memory::Dm, element, &self.dims(&[memory])), address, fill)
    }

    /// The part of a region that lies in live slices, so many elements long.
    pub fn part(&self, whole: &Region, elements: usize) -> Region {
        let mut part = *whole;
        part.footprint.clusters = 1;
        part.footprint.slices = self.live.size();
        part.footprint.elements = elements;
        part
    }

    /// The number of live slices.
    pub fn slices(&self) -> usize {
        self.live.size()
    }

    /// Fills the place of a tensor, and what follows it, with a code. The filling.
    fn fill(&mut self, code: u32, region: &Region) -> FillId {
        let elements = region.footprint.elements + BEYOND;
        let fill = self.machine.system.next_fill();
        let cells = vec![Some(code); self.live.size() * elements];
        let part = self.part(region, elements);
        self.machine.write(&part, fill, &cells);
        fill
    }

    /// Puts a tensor into data memory. Its padding is poison or zero, or nobody wrote it.
    pub fn put(
        &mut self,
        random: &mut Random,
        element: Reference,
        memory: &Map,
        address: u64,
        tensor: &MathTensor<u32>,
    ) -> Region {
        let fill = self.machine.system.next_fill();
        let region = self.region(library_type(element), memory, address, fill);
        let dims = [&self.live.clone(), memory];
        let mut cells = place(tensor, &dims);
        if random.chance(80) {
            let zeros = random.chance(40);
            let code = if zeros { 0 } else { poison(element) };
            self.fill(code, &region);
            let live = joint_table(&dims);
            cells = match element.is_integer() && !zeros {
                true => fill_padding(random, library_type(element), &dims, &cells),
                false => {
                    let choose = |k: usize| if live[k].is_some() { cells[k] } else { Some(code) };
                    (0..cells.len()).map(choose).collect()
                }
            };
        }
        let part = self.part(&region, memory.size());
        self.machine.write(&part, fill, &cells);
        region
    }

    /// A place for a result, full of poison.
    pub fn target(&mut self, element: Reference, memory: &Map, address: u64) -> Region {
        let fill = self.machine.system.next_fill();
        let region = self.region(library_type(element), memory, address, fill);
        self.fill(poison(element), &region);
        region
    }

    /// What the live slices of a result hold, if nothing after it has changed.
    pub fn result(&mut self, element: Reference, region: &Region) -> Result<Vec<Cell>, String> {
        let elements = region.footprint.elements;
        let part = self.part(region, elements + BEYOND);
        let cells = self.machine.read(&part);
        let mut result = Vec::new();
        for slice in cells.chunks(elements + BEYOND) {
            // Writes come in units of 8 bytes.
            let end = (elements * element.bits()).next_multiple_of(64) / element.bits();
            // Tensors that lie apart leave no trace in each other.
            let beyond = if self.machine.apart { None } else { Some(poison(element)) };
            if slice[end..].iter().any(|cell| *cell != beyond) {
                return Err("the commit wrote past the end of its tensor".to_string());
            }
            result.extend_from_slice(&slice[..elements]);
        }
        Ok(result)
    }
}

/// Runs a pipeline and returns what the result holds in each live slice, or nothing if it was refused because it sums
/// padding, which it does.
pub fn run(
    random: &mut Random,
    case: &Pipeline,
    plan: &Plan,
    data: &MathTensor<u32>,
    weights: &MathTensor<u32>,
    strict: bool,
    (addresses, path): (Addresses, ComputePath),
) -> Result<Option<Vec<Cell>>, String> {
    let computation = &case.contraction;
    let element = computation.element;
    let mut stage = Stage::with(Machine::with(strict, addresses, Some(path)), &computation.prefix[0]);
    // Where addresses do not matter, all tensors are given the same one.
    let [data_at, weights_at, result_at] = match addresses {
        Addresses::AsGiven => [DATA, WEIGHTS, RESULT],
        Addresses::Separate => [DATA; 3],
    };
    let data = stage.put(random, element, &case.data_element, data_at, data);
    let weights = stage.put(random, element, &case.weight_element, weights_at, weights);
    let target = stage.target(case.stored, &case.result_element, result_at);

    let address = random.pick(&[TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full]);
    let (chip, cluster, slice) = (stage.chip.clone(), stage.cluster.clone(), stage.slice.clone());
    let units = [&chip, &cluster, &slice];
    let trf = plan.trf(case, units, address, stage.machine.system.next_fill());
    let code = if random.chance(50) { 0 } else { poison(element) };
    stage.fill_trf(element, code, &trf)?;
    let sub_context = plan.weights.fetch.mask.is_none() && random.chance(50);
    let [load, unit] = plan.commands(case, &Places { data, weights, trf, target, units, sub_context })?;
    stage.machine.give(load)?;
    // Where tensors lie apart, what lies behind one is not known.
    let refused = match addresses {
        Addresses::AsGiven => Some(sums_padding(&mut stage, case, plan, (&data, &trf))?),
        Addresses::Separate => None,
    };
    match (stage.machine.give(unit), refused) {
        (Err(text), Some(true) | None) if text.contains("contraction: padding summed: ") => Ok(None),
        (Err(text), _) => Err(text),
        (Ok(()), Some(true)) => Err("it sums padding, but is not refused".to_string()),
        (Ok(()), _) => stage.result(case.stored, &target).map(Some),
    }
}

impl Stage {
    /// Fills a region of the register file with a code, under another name.
    fn fill_trf(&mut self, element: Reference, code: u32, trf: &TrfRegion) -> Result<(), String> {
        let (elements, per_flit) = (trf.rows * trf.row_elements, element.per_flit());
        let memory = Map::axis("Z", elements);
        let address = 384 * 1024;
        let source = self.region(library_type(element), &memory, address, FillId::ANY);
        let source = Region { fill: self.fill(code, &source), ..source };
        let mut config = Config::new(per_flit);
        config.entries.push(Entry { size: elements, stride: 1 });
        let fetch = Fetch::new(source, config, elements / per_flit, per_flit, library_type(element));
        let destination =
            TrfRegion { fill: self.machine.system.next_fill(), guard: Guard::always(5), ..*trf };
        let sink = Sink::Trf { destination, guard: Guard::always(5) };
        self.machine.pass(TensorUnit { collect: Some(Collect { flits: 1 }), ..TensorUnit::new(fetch, sink) })
    }
}
