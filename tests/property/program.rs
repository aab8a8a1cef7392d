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
    AccumulationKind, Cast, Collect, Contraction, Fetch, FillId, Memory, Region, Sink, TensorUnit, Transpose,
    TrfAddress, TrfRegion,
};
use furiosa_visa_std::engine::cast::{CastRequest, derive_cast};
use furiosa_visa_std::engine::collect::{CollectConfig, CollectRequest, derive_collect};
use furiosa_visa_std::engine::commit::{CommitConfig, CommitRequest, derive_commit};
use furiosa_visa_std::engine::contraction::{
    AccumulateConfig, AccumulateRequest, AlignConfig, AlignRequest, ContractConfig, ContractRequest,
    derive_accumulate, derive_align, derive_contract,
};
use furiosa_visa_std::engine::fetch::{FetchConfig, FetchRequest, check_packet, check_units, derive_fetch};
use furiosa_visa_std::engine::register_file::{
    TrfLoadConfig, TrfLoadRequest, check_capacity, derive_trf_load,
};
use furiosa_visa_std::engine::transpose::{TransposeRequest, derive_transpose};
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::mapping::{Factors, Pool, factorize, liveness};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::{Config, Entry};

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

fn fetch(source: Region, plan: &FetchConfig) -> Fetch {
    let output = source.footprint.element;
    Fetch { mask: plan.mask, ..Fetch::new(source, plan.config, plan.time, plan.packet, output) }
}

fn pass(fetch: Fetch, collect: usize, sink: Sink) -> TensorUnit {
    let collect = Some(Collect { flits: collect });
    TensorUnit { collect, ..TensorUnit::new(fetch, sink) }
}

/// The sink that a commit plan describes.
pub fn commit_sink(plan: &CommitConfig, destination: Region, guard: Guard) -> Sink {
    // Merging may have enlarged the packet entry; what is written per step has not changed.
    let config = Config { packet_size: plan.window, ..plan.config };
    Sink::Commit { destination, config, commit_size: plan.commit_size, guard }
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
    pub fn new(strict: bool, seed: u64, live: &Map) -> Stage {
        Stage::with(Machine::new(strict, seed), live)
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
        self.machine.system.flush().map_err(|fault| fault.to_string())?;
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
    let mut stage =
        Stage::with(Machine::with(strict, random.seed, addresses, Some(path)), &computation.prefix[0]);
    // Where addresses do not matter, all tensors are given the same one.
    let [data_at, weights_at, result_at] = match addresses {
        Addresses::AsGiven => [DATA, WEIGHTS, RESULT],
        Addresses::Separate => [DATA; 3],
    };
    let data = stage.put(random, element, &case.data_element, data_at, data);
    let weights = stage.put(random, element, &case.weight_element, weights_at, weights);
    let target = stage.target(case.stored, &case.result_element, result_at);

    let address = random.pick(&[TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full]);
    let trf = TrfRegion {
        address,
        fill: stage.machine.system.next_fill(),
        element: library_type(element),
        rows: plan.load.rows,
        row_elements: plan.load.row_elements,
        guard: guard(&stage.dims(&[&computation.row, &computation.trf_element])),
    };
    let code = if random.chance(50) { 0 } else { poison(element) };
    stage.fill_trf(element, code, &trf)?;
    let [time, packet] = &case.weight_collect;
    let sink = Sink::Trf { destination: trf, guard: guard(&stage.dims(&[time, packet])) };
    let load = pass(fetch(weights, &plan.weights.fetch), plan.weights.collect.flits, sink);
    let sub_context = load.fetch.mask.is_none() && random.chance(50);
    stage.machine.pass(TensorUnit { sub_context, ..load })?;

    let [out_time, out_packet] = &case.leaving();
    let live = guard(&stage.dims(&[out_time, out_packet]));
    let sink = commit_sink(&plan.commit, target, live);
    let mut unit = pass(fetch(data, &plan.data.fetch), plan.data.collect.flits, sink);
    let stream = [&computation.stream_time, &computation.stream_packet];
    unit.contraction = Some(Contraction {
        trf,
        stream_guard: guard(&stage.dims(&stream)),
        collect_flits: plan.align.stream_adapter.collect_flits,
        tile: plan.align.stream_adapter.tile,
        trf_config: plan.align.trf_sequencer.config,
        steps: plan.align.steps,
        step_guard: guard(&[&computation.out_time, &computation.out_packet]),
        depth: plan.contract.depth,
        columns: plan.accumulate.columns,
        slots: plan.accumulate.slots,
        slot_count: plan.accumulate.slot_count,
        kind: plan.accumulate.kind,
        output: library_type(case.sum),
    });
    unit.cast = (case.stored != case.sum)
        .then_some(Cast { input: library_type(case.sum), output: library_type(case.stored) });
    unit.transpose = plan.transpose;
    // Where tensors lie apart, what lies behind one is not known.
    let refused = match addresses {
        Addresses::AsGiven => Some(sums_padding(&mut stage, case, plan, (&data, &trf))?),
        Addresses::Separate => None,
    };
    let given = stage
        .machine
        .pass(unit)
        .and_then(|()| stage.machine.system.flush().map_err(|fault| fault.to_string()));
    match (given, refused) {
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
        self.machine.pass(pass(fetch, 1, Sink::Trf { destination, guard: Guard::always(5) }))
    }
}
