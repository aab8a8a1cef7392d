//! Whether a pipeline sums padding together with elements: looked up position by position in what the memories hold.

use crate::fetch::masked;
use crate::machine::{Cell, unpack};
use crate::program::{Plan, Stage};
use crate::reference::mapping::joint_table;
use crate::reference::numbers::{ElementType, Number};
use crate::reference::pipelines::Pipeline;
use furiosa_visa_std::command::{
    FillId, Inspection, Memory, Place, Region, Step, Transfer, TransferLoop, TrfRegion,
};
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::sequencer::Config;
use std::collections::BTreeSet;
use std::panic::Location;

/// The positions of a sequencer, by definition.
fn positions(config: &Config) -> Vec<isize> {
    config.entries.iter().fold(vec![config.base], |all, entry| {
        let steps = |at: isize| (0..entry.size as isize).map(move |k| at + k * entry.stride);
        all.into_iter().flat_map(steps).collect()
    })
}

/// The collected stream of each live slice, position by position.
fn stream(stage: &mut Stage, case: &Pipeline, plan: &Plan, data: &Region) -> Vec<Vec<Cell>> {
    let bits = data.footprint.element.bits();
    let (input, visited) = (&plan.data, positions(&plan.data.fetch.config));
    let (first, last) = (*visited.iter().min().expect("one"), *visited.iter().max().expect("one"));
    let before = first.min(0).unsigned_abs().next_multiple_of(8 / bits.min(8));
    let lead = before * bits / 8;
    assert_eq!(data.memory, Memory::Dm);
    let region = Region { address: data.address - lead as u64, ..*data };
    let held = before + data.footprint.elements.max(last.max(0) as usize + 1);
    let part = stage.part(&region, held);
    let cells = stage.machine.read(&part);
    let masked = masked(&input.fetch);
    let (per_flit, packet) = (case.contraction.element.per_flit(), input.fetch.packet);
    let one = |slice: &[Cell]| {
        let element = |k: usize| match masked[k] {
            true => Some(0),
            false => slice[visited[k].wrapping_add_unsigned(before) as usize],
        };
        let lanes = |time: usize| (0..input.collect.flits * per_flit).map(move |lane| (time, lane));
        // What collect adds is zero.
        (0..input.fetch.time)
            .flat_map(lanes)
            .map(|(time, lane)| if lane < packet { element(time * packet + lane) } else { Some(0) })
            .collect()
    };
    cells.chunks(held).map(one).collect()
}

/// What each row of the register file holds in each live slice, as far as its part goes.
fn weights(stage: &mut Stage, trf: &TrfRegion) -> Result<Vec<Vec<Cell>>, String> {
    let held = trf.address.capacity() / trf.rows * 8 / trf.element.bits();
    let source = TrfRegion { row_elements: held, guard: Guard::always(5), fill: FillId::ANY, ..*trf };
    let slices = stage.slices();
    let mut transfer = Transfer { guard: Guard::always(3), ..Transfer::new() };
    let step = |units, elements| Step { units, elements };
    for (size, units, elements) in [(slices, 8, 0), (trf.rows, 1, 0), (held, 0, 1)] {
        let stride = [trf.rows * held, held, 1][transfer.loops.len()];
        transfer.loops.push(TransferLoop {
            size,
            source: step(units, elements),
            destination: step(0, stride),
        });
    }
    let host_elements = slices * trf.rows * held;
    let inspection = Inspection { source: Place::Trf(source), transfer, host_elements };
    let seen = stage.machine.system.inspect(&inspection, Location::caller());
    let cells = unpack(trf.element, &seen.map_err(|fault| fault.to_string())?, host_elements);
    Ok(cells.chunks(held).map(<[Cell]>::to_vec).collect())
}

/// Whether a product is zero: of two operands that are known, or of zero and what nobody wrote.
fn is_zero(element: ElementType, operands: [Cell; 2]) -> bool {
    let zero = |cell: Option<u32>| match cell.map(|code| element.decode(code)) {
        Some(Number::Integer(value)) => value == 0,
        Some(Number::Real(value)) => value == 0.0,
        None => false,
    };
    let finite = |cell: Option<u32>| match cell.map(|code| element.decode(code)) {
        Some(Number::Real(value)) => value.is_finite(),
        _ => true,
    };
    let [x, w] = operands;
    (zero(x) && finite(w)) || (zero(w) && finite(x))
}

/// Whether padding is summed together with elements where its product is not zero. The register file has been loaded.
pub fn sums_padding(
    stage: &mut Stage,
    case: &Pipeline,
    plan: &Plan,
    (data, trf): (&Region, &TrfRegion),
) -> Result<bool, String> {
    let c = &case.contraction;
    let (stream, weights) = (stream(stage, case, plan, data), weights(stage, trf)?);
    let live = joint_table(&[&c.prefix[0], &c.row, &c.out_time, &c.out_packet]);
    let (rows, steps, packet) = (c.row.size(), c.out_time.size(), c.out_packet.size());
    let adapter = &plan.align.stream_adapter;
    let cells = adapter.collect_flits * c.element.per_flit();
    let reads = positions(&plan.align.trf_sequencer.config);
    let slots = positions(&plan.accumulate.slots);
    let read = plan.align.trf_sequencer.config.packet_size;
    let (mut sums, mut harmed) = (BTreeSet::new(), BTreeSet::new());
    for slice in 0..stream.len() {
        for (row, step) in (0..rows).flat_map(|row| (0..steps).map(move |step| (row, step))) {
            for cell in (0..cells).filter(|cell| cell >> plan.contract.depth < plan.accumulate.columns) {
                let sum = (slice, row, slots[step], cell >> plan.contract.depth);
                if live[((slice * rows + row) * steps + step) * packet + cell].is_some() {
                    sums.insert(sum);
                    continue;
                }
                let x = stream[slice].get(step / adapter.tile * cells + cell).copied().flatten();
                let element = reads[step] as usize * 8 / trf.element.bits() + cell % read;
                let w = weights[slice * trf.rows + row].get(element).copied().flatten();
                if !is_zero(c.element, [x, w]) {
                    harmed.insert(sum);
                }
            }
        }
    }
    Ok(!sums.is_disjoint(&harmed))
}
