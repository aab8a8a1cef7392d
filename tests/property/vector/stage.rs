//! A chain on the chip: streams come from data memory position by position, so that nothing but the Vector Engine is tested.

use super::program::{bits, element, program, units};
use crate::bridge::expr;
use crate::machine::{Cell, Machine, region, shape, unpack};
use crate::program::guard;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::Number;
use crate::reference::random::Random;
use crate::reference::vector::chain::{Chain, Data, Shape};
use crate::reference::vector::elements::{VRF_BYTES, to_vrf};
use crate::reference::vector::operators::is_made_nan;
use crate::reference::vector::reduce::Lane;
use crate::reference::vector::run::Snapshot;
use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::{
    Collect, Fetch, FillId, Inspection, Memory, Place, Region, Sink, Step, TensorUnit, Transfer,
    TransferLoop, Vector,
};
use furiosa_visa_std::engine::commit::{CommitRequest, derive_commit};
use furiosa_visa_std::engine::commit_stages::CommitStages;
use furiosa_visa_std::engine::fetch::{FetchRequest, derive_fetch};
use furiosa_visa_std::engine::vector_register_file::{VrfLoadRequest, derive_vrf_load};
use furiosa_visa_std::lower::commit_sink;
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::scalar::ElementType;
use std::panic::Location;

/// Slices of a cluster.
const SLICES: usize = 256;
/// Where in data memory things are.
const STREAM: u64 = 64 * 1024;
const TENSORS: u64 = 128 * 1024;
const RESULT: u64 = 256 * 1024;
/// What lies in the place of a result before it is written.
const BEFORE: u32 = 0xdead_beef;

/// A chain in all slices of a cluster, and where its tensors in the VRF are.
pub struct Prepared {
    wide: Chain,
    regions: Vec<Region>,
    /// What the calls make.
    pub program: Vector,
}

impl Prepared {
    /// Asks all rules.
    ///
    /// # Errors
    /// The first refusal.
    pub fn new(chain: &Chain) -> Result<Prepared, PlanError> {
        Prepared::on_slices(chain, SLICES)
    }

    /// Asks all rules, on so many slices at least. Slices that hold nothing follow those of the chain, which makes some
    /// illegal chains legal.
    ///
    /// # Errors
    /// The first refusal.
    pub fn on_slices(chain: &Chain, slices: usize) -> Result<Prepared, PlanError> {
        let wide = chain.on_slices(slices);
        let [chip, cluster] = units();
        let mut address = 0;
        let mut place = |number: usize| {
            let tensor = &wide.vrf[number];
            let own =
                shape(Memory::Vrf, element(tensor.kind), &[&chip, &cluster, &tensor.slice, &tensor.element]);
            let own = region(&own, address, FillId(100 + number as u64));
            address += 4 * tensor.element.size() as u64;
            own
        };
        let regions: Vec<Region> = (0..wide.vrf.len()).map(&mut place).collect();
        let program = program(&wide, &regions)?;
        Ok(Prepared { wide, regions, program })
    }
}

/// A list of so many positions as one axis.
fn line(positions: usize) -> Map {
    Map::axis("POSITION", positions)
}

/// Reads a list from data memory, a flit at a time.
fn fetch(source: Region, positions: usize) -> Result<Fetch, String> {
    let list = line(positions);
    let own = source.footprint.element;
    let request = FetchRequest::new(own, own, expr(&list), expr(&list.stride(8)), expr(&list.modulo(8)));
    let plan = derive_fetch(&request).map_err(|error| error.to_string())?;
    Ok(Fetch::new(source, plan.config, plan.time, plan.packet, own))
}

/// The places of a run on a machine.
struct Stage {
    machine: Machine,
    /// Slices that are looked at.
    slices: usize,
}

impl Stage {
    /// The place of a list in all slices.
    fn place(&mut self, own: ElementType, slice: &Map, positions: usize, address: u64) -> Region {
        let [chip, cluster] = units();
        let fill = self.machine.system.next_fill();
        region(&shape(Memory::Dm, own, &[&chip, &cluster, slice, &line(positions)]), address, fill)
    }

    /// The part of a place that lies in the slices that are looked at.
    fn part(&self, mut whole: Region) -> Region {
        (whole.footprint.clusters, whole.footprint.slices) = (1, self.slices);
        whole
    }

    fn write(&mut self, whole: Region, cells: &[Cell]) {
        self.machine.write(&self.part(whole), whole.fill, cells);
    }

    /// Fills a tensor in the VRF, position by position.
    fn load(&mut self, tensor: &Region, cells: &[Option<Number>]) -> Result<(), String> {
        let elements = tensor.footprint.elements;
        let padded = elements.next_multiple_of(8);
        let mut all: Vec<Cell> = Vec::new();
        for slice in cells.chunks(elements) {
            all.extend(slice.iter().map(|number| number.map(bits)));
            all.resize(all.len().next_multiple_of(padded), Some(BEFORE));
        }
        let slice = Map::axis("SLICE", self.slices).pad(SLICES);
        let source = self.place(tensor.footprint.element, &slice, padded, TENSORS);
        self.write(source, &all);
        let (list, own) = (line(elements), source.footprint.element);
        let stream = if elements == padded { list.clone() } else { list.pad(padded) };
        let (time, packet) = (stream.stride(8), stream.modulo(8));
        let plan = derive_vrf_load(&VrfLoadRequest {
            element: own,
            time: expr(&time),
            packet: expr(&packet),
            vrf_element: expr(&list),
        })
        .map_err(|error| error.to_string())?;
        let [chip, cluster] = units();
        let dims = [&chip, &cluster, &slice];
        let destination = shape(Memory::Vrf, own, &[&dims[..], &[&list]].concat());
        let sink = Sink::Vrf {
            destination: region(&destination, tensor.address, tensor.fill),
            transfer: plan.transfer,
            guard: guard(&[&dims[..], &[&time, &packet]].concat()),
        };
        self.machine.pass(TensorUnit::new(fetch(source, padded)?, sink))
    }
}

/// Runs a chain, and compares what leaves it with what the reference says.
///
/// # Errors
/// What the chip refuses, and the first position that differs.
pub fn run_and_compare(
    random: &mut Random,
    chain: &Chain,
    prepared: &Prepared,
    data: &Data,
    end: &Snapshot,
) -> Result<(), String> {
    let whole = data.stream.iter().chain(data.vrf.iter().flatten()).all(Option::is_some);
    let mut stage = Stage { machine: Machine::new(whole), slices: chain.shape.slice.size() };
    for (region, cells) in prepared.regions.iter().zip(&data.vrf) {
        stage.load(region, cells)?;
    }
    let Shape { slice, time, packet } = &prepared.wide.shape;
    let positions = time.size() * packet.size();
    let source = stage.place(element(chain.kind), slice, positions, STREAM);
    stage.write(source, &data.stream.iter().map(|number| number.map(bits)).collect::<Vec<_>>());
    let fetch = fetch(source, positions)?;
    let sub_context = random.chance(20);
    let unit = |sink: Sink| TensorUnit {
        sub_context,
        collect: Some(Collect { flits: 1 }),
        vector: Some(prepared.program.clone()),
        ..TensorUnit::new(fetch.clone(), sink)
    };
    let [chip, cluster] = units();
    let wide_end =
        if end.shape.slice.size() < SLICES { end.shape.slice.pad(SLICES) } else { end.shape.slice.clone() };
    let dims = [&chip, &cluster, &wide_end];
    let out = element(end.kind);
    let live = guard(&[&dims[..], &[&end.shape.time, &end.shape.packet]].concat());
    // Behind the tensors that operands are read from.
    let behind =
        prepared.regions.iter().map(|own| own.address as usize + own.footprint.bytes()).max().unwrap_or(0);
    if random.chance(20) && behind + 4 * end.shape.positions() / stage.slices <= VRF_BYTES {
        let parts = [end.shape.time.clone(), end.shape.packet.clone()];
        let tensor =
            Map::sequence(&if random.chance(50) { parts } else { [parts[1].clone(), parts[0].clone()] });
        let load = derive_vrf_load(&VrfLoadRequest {
            element: out,
            time: expr(&end.shape.time),
            packet: expr(&end.shape.packet),
            vrf_element: expr(&tensor),
        })
        .map_err(|error| error.to_string())?;
        let target =
            region(&shape(Memory::Vrf, out, &[&dims[..], &[&tensor]].concat()), behind as u64, FillId(99));
        stage.machine.pass(unit(Sink::Vrf { destination: target, transfer: load.transfer, guard: live }))?;
        let expected = to_vrf(&end.shape, &end.groups[0], &tensor).map_err(|(_, text)| text)?;
        let table = joint_table(&[&end.shape.slice, &tensor]);
        let elements = tensor.size();
        let mut transfer = Transfer { guard: Guard::always(2), ..Transfer::new() };
        let step = |units, elements| Step { units, elements };
        for (size, source, stride) in [(stage.slices, step(1, 0), elements), (elements, step(0, 1), 1)] {
            transfer.loops.push(TransferLoop { size, source, destination: step(0, stride) });
        }
        let host_elements = stage.slices * elements;
        let inspection = Inspection { source: Place::Region(target), transfer, host_elements };
        let seen = stage.machine.system.inspect(&inspection, Location::caller());
        let found = unpack(out, &seen.map_err(|fault| fault.to_string())?, host_elements);
        let mut live = (0..host_elements).filter(|k| table[*k].is_some());
        return live.try_for_each(|k| same(found[k], expected[k], k, elements));
    }
    let positions = end.shape.time.size() * end.shape.packet.size();
    let target = stage.place(out, &wide_end, positions, RESULT);
    let filled = random.chance(30);
    if filled {
        stage.write(target, &vec![Some(BEFORE); positions * stage.slices]);
    }
    let list = line(positions);
    let plan = derive_commit(&CommitRequest {
        sub_context,
        element: out,
        time: expr(&list.stride(8)),
        packet: expr(&list.modulo(8)),
        destination: expr(&list),
        stages: CommitStages::NONE,
    })
    .map_err(|error| error.to_string())?;
    stage.machine.pass(unit(commit_sink(target, &plan, &live)))?;
    let found = stage.machine.read(&stage.part(target));
    let table = joint_table(&end.shape.dims());
    for (k, index) in table.iter().enumerate() {
        if index.is_some() {
            same(found[k], end.groups[0][k], k, positions)?;
        }
    }
    Ok(())
}

/// Whether a position holds what the reference says, bit for bit.
pub fn same(found: Cell, expected: Lane, position: usize, per_slice: usize) -> Result<(), String> {
    let is = match (found, expected) {
        (_, Lane::Open) => true,
        (None, Lane::Absent) => true,
        (Some(found), Lane::Is(Number::Integer(value))) => found as i32 == value,
        (Some(found), Lane::Is(Number::Real(value))) => {
            // A NaN that came along keeps its bits; which one arithmetic makes, the specification leaves open.
            found == value.to_bits() || is_made_nan(Number::Real(value)) && f32::from_bits(found).is_nan()
        }
        _ => false,
    };
    let (slice, place) = (position / per_slice, position % per_slice);
    let text = match found {
        Some(bits) => format!("{bits:#010x} ({}, {:e})", bits as i32, f32::from_bits(bits)),
        None => "nothing".to_string(),
    };
    if is {
        Ok(())
    } else {
        Err(format!("slice {slice}, position {place} holds {text} instead of {expected:x?}"))
    }
}
