//! Random legal pipelines fetch, collect, load, align, contract, accumulate, cast, transpose, commit, as mappings only, and their
//! values by the engines of this folder.

use super::contraction::{Cell, Contraction, Kind, buffer_fits, tree_depth};
use super::digits::{content, repad, strip};
use super::engines::{cast, cast_packet, collect, commit, fetch, to_trf};
use super::mapping::{Coordinates, Map, joint_table};
use super::numbers::{ElementType, Number};
use super::packets::{Factor, Names, maps, memory_axes, packet_plan, pad_to_flits, random_factors};
use super::random::{Axes, Random};
use super::tensor::{MathTensor, place};
use super::transpose::{matrices, transpose};
use std::collections::BTreeMap;

/// All mappings of one pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Number that the generator was made from.
    pub seed: u64,
    /// All axes.
    pub axes: Axes,
    /// The part of `axes` that the data tensor has.
    pub data_axes: Axes,
    /// The part of `axes` that the weight tensor has.
    pub weight_axes: Axes,
    /// Slices of both tensors, padded to 256. The reference runs over `contraction.prefix`, its live part.
    pub slice: Map,
    /// Data per slice in data memory.
    pub data_element: Map,
    /// Weights per slice in data memory.
    pub weight_element: Map,
    /// Time and packet of the fetched data.
    pub data_fetch: [Map; 2],
    /// Time and packet of the fetched weights.
    pub weight_fetch: [Map; 2],
    /// Time and packet of the collected weights.
    pub weight_collect: [Map; 2],
    /// Collect of the data, register file, align, contract and accumulate.
    pub contraction: Contraction,
    /// Type of the sums: `I32` or `F32`.
    pub sum: ElementType,
    /// Type of the committed values. Equal to `sum` when there is no cast.
    pub stored: ElementType,
    /// Packet that is committed.
    pub stored_packet: Map,
    /// Time and packet that are committed, where time steps and elements change places.
    pub transposed: Option<[Map; 2]>,
    /// Result per slice in data memory.
    pub result_element: Map,
}

/// The values of a pipeline after each engine, row-major over the live slices and the mappings of the stage.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Over `data_fetch`.
    pub data_fetched: Vec<Option<Number>>,
    /// Over `stream_time` and `stream_packet`.
    pub data_collected: Vec<Option<Number>>,
    /// Over `row` and `trf_element`.
    pub weights: Vec<Option<Number>>,
    /// Over `row`, `out_time` and `tree_packet`.
    pub contracted: Vec<Option<Number>>,
    /// Over `Contraction::output`.
    pub accumulated: Vec<Option<Number>>,
    /// Over the same time and `stored_packet`.
    pub narrowed: Vec<Option<Number>>,
    /// Over [`Pipeline::leaving`].
    pub transposed: Vec<Option<Number>>,
    /// Over `result_element`.
    pub committed: Vec<Option<Number>>,
}

/// Bytes of the part of the register file that the weights of a pipeline fit into (`FirstHalf`).
pub const HALF: usize = 32_768;

impl Pipeline {
    /// Runs the whole pipeline.
    ///
    /// # Errors
    /// Of the first engine that refuses; a generated pipeline has none.
    pub fn run(&self, data: &MathTensor<Number>, weights: &MathTensor<Number>) -> Result<Stages, String> {
        let case = &self.contraction;
        case.check_align()?;
        let prefix: Vec<&Map> = case.prefix.iter().collect();
        let (element, [time, packet]) = (case.element, &self.data_fetch);
        let placed = place(data, &[&prefix[..], &[&self.data_element]].concat());
        let data_fetched = fetch(&prefix, &self.data_element, &placed, time, packet, |number| number)?;
        let stream = [&case.stream_time, &case.stream_packet];
        let data_collected = collect(element, &prefix, [time, packet], stream, &data_fetched)?;

        let [time, packet] = &self.weight_fetch;
        let placed = place(weights, &[&prefix[..], &[&self.weight_element]].concat());
        let fetched = fetch(&prefix, &self.weight_element, &placed, time, packet, |number| number)?;
        let flits = [&self.weight_collect[0], &self.weight_collect[1]];
        let collected = collect(element, &prefix, [time, packet], flits, &fetched)?;
        let weights = to_trf(element, &prefix, flits, [&case.row, &case.trf_element], HALF, &collected)?;

        let sums = case.contract(&case.align(&data_collected, &weights)?)?;
        let accumulated: Vec<_> = case.accumulate(&sums)?.into_iter().map(Cell::value).collect();
        let (time, packet) = case.output();
        let narrowed = if self.stored == self.sum {
            accumulated.clone()
        } else {
            cast([self.sum, self.stored], &prefix, &time, [&packet, &self.stored_packet], &accumulated)?
        };
        let transposed = match &self.transposed {
            None => narrowed.clone(),
            Some([out_time, out_packet]) => {
                let legal = matrices(self.stored, [&time, &self.stored_packet], [out_time, out_packet]);
                let own = legal.map_err(|rules| format!("{rules:?}"))?[0];
                let slices = narrowed.chunks(time.size() * self.stored_packet.size());
                slices.flat_map(|slice| transpose(self.stored, &own, slice)).collect()
            }
        };
        let [time, packet] = self.leaving();
        let committed = commit(self.stored, &prefix, [&time, &packet], &self.result_element, &transposed)?;
        let contracted = sums.into_iter().map(Cell::value).collect();
        Ok(Stages {
            data_fetched,
            data_collected,
            weights,
            contracted,
            accumulated,
            narrowed,
            transposed,
            committed,
        })
    }

    /// Time and packet of what is committed.
    pub fn leaving(&self) -> [Map; 2] {
        self.transposed.clone().unwrap_or_else(|| [self.contraction.output().0, self.stored_packet.clone()])
    }
}

fn used(map: &[&Map], axes: &Axes) -> Axes {
    axes.iter()
        .filter(|(name, _)| map.iter().any(|map| map.axes().contains_key(name.as_str())))
        .cloned()
        .collect()
}

/// Whether a pair of 4-bit elements of the stream does not share a byte of memory (fetches start
/// at whole bytes).
fn starts_at_half_bytes(memory: &Map, [time, packet]: &[Map; 2]) -> bool {
    let own = memory.axes();
    let cells = memory.table().into_iter().enumerate().filter_map(|(at, cell)| Some((cell?, at)));
    let places: BTreeMap<Coordinates, usize> = cells.collect();
    let stream = joint_table(&[time, packet]);
    stream.chunks(2).any(|pair| {
        let place = |cell: &Option<Coordinates>| {
            let index = cell.as_ref()?.iter().filter(|(name, _)| own.contains_key(*name));
            places.get(&index.map(|(name, value)| (name.clone(), *value)).collect::<Coordinates>()).copied()
        };
        place(&pair[0]).is_some_and(|at| !at.is_multiple_of(2))
    })
}

/// A random pipeline that keeps all rules of the aligner and of contraction, small enough to run in milliseconds.
pub fn random_contraction(random: &mut Random, element: ElementType) -> Pipeline {
    loop {
        if let Some(pipeline) = try_contraction(random, element) {
            return pipeline;
        }
    }
}

fn try_contraction(random: &mut Random, element: ElementType) -> Option<Pipeline> {
    let mut names = Names { axes: Axes::new() };
    let per_flit = element.per_flit();
    let live_slice = if random.chance(30) { names.fresh(random.between(2, 3)) } else { Map::One };
    let row_size = random.pick(&[1, 2, 3, 4, 5, 8, 8]);
    let row_axis = if row_size == 1 { Map::One } else { names.fresh(row_size) };
    let row = if [3, 5].contains(&row_size) {
        row_axis.pad(row_size.next_power_of_two())
    } else {
        row_axis.clone()
    };

    let plan = packet_plan(random, &mut names, element);
    let count = random.below(3);
    let mut stream = random_factors(random, &mut names, count);
    if let Some(map) = &plan.time {
        let place = random.between(0, stream.len());
        stream.insert(place, Factor { map: map.clone(), axis: plan.memory.clone() });
    } else {
        random.shuffle(&mut stream);
    }
    let tile_count = random.pick(&[0, 0, 0, 1, 1, 2]);
    let mut tile = random_factors(random, &mut names, tile_count);
    random.shuffle(&mut tile);

    // The register file: all tiles, some of the stream, in any order, around the block.
    let mut held = tile.clone();
    for factor in &mut held {
        // Steps of padding that the register file lacks read on there.
        if random.chance(50) && factor.map.size() > factor.axis.size() {
            factor.map = factor.axis.clone();
        }
    }
    for factor in &stream {
        let of_packet = plan.time.as_ref() == Some(&factor.map);
        let of_split = stream.iter().filter(|other| other.axis == factor.axis).count() > 1;
        if (of_packet && plan.block != Map::One) || (!of_packet && !of_split && random.chance(40)) {
            held.push(factor.clone());
        }
    }
    random.shuffle(&mut held);
    let mut trf_factors = maps(&held);
    let trf_element = pad_to_flits(&mut trf_factors, &plan.block, per_flit);

    let out_factors: Vec<Factor> = [&stream[..], &tile[..]].concat();
    let out_time = Map::sequence(&maps(&out_factors));
    let collected: Vec<Map> = plan.stream_only.iter().cloned().collect();
    let stream_maps = [maps(&stream), collected].concat();
    let stream_time = Map::sequence(&stream_maps);
    if out_time.size() > 64 || row.size() * trf_element.size() * element.bits() / 8 > HALF {
        return None;
    }

    // The tree.
    let deepest = plan.out.size().trailing_zeros() as usize;
    let depth = random.between(0, deepest);
    let columns = strip(&if depth == 0 { plan.out.clone() } else { plan.out.stride(1 << depth) });
    let width = columns.size().next_power_of_two();
    if width > 32 {
        return None;
    }
    let tree_packet = repad(&columns, width);
    tree_depth(&plan.out, &tree_packet).ok()?;

    // Accumulation.
    let keep: Vec<bool> = out_factors.iter().map(|_| random.chance(60)).collect();
    let kept: Vec<Map> = out_factors
        .iter()
        .zip(&keep)
        .filter(|(_, keep)| **keep)
        .map(|(factor, _)| factor.map.clone())
        .collect();
    let inner: usize = match keep.iter().position(|keep| !keep) {
        None => 1,
        Some(first) => {
            let inside = out_factors.iter().zip(&keep).skip(first);
            inside.filter(|(_, keep)| **keep).map(|(factor, _)| factor.map.size()).product()
        }
    };
    let kind = random.pick(&[Kind::Interleaved, Kind::Sequential]);
    if !buffer_fits(inner, &row, &tree_packet, kind) {
        return None;
    }
    let contraction = Contraction {
        element,
        prefix: vec![live_slice.clone()],
        stream_time,
        stream_packet: plan.flit.clone(),
        row: row.clone(),
        trf_element,
        out_time,
        out_packet: plan.out.clone(),
        tree_packet,
        kept_time: Map::sequence(&kept),
        kind,
    };

    // What leaves, and how it is stored: time factors in any order, the packet cut to a legal width.
    let sum = if element.is_integer() { ElementType::I32 } else { ElementType::F32 };
    let stored = match sum {
        _ if random.chance(50) => sum,
        ElementType::I32 => random.pick(&[ElementType::I8, ElementType::I4]),
        _ => random.pick(&[ElementType::Bf16, ElementType::F8E4M3]),
    };
    let (_, packet) = contraction.output();
    let stored_packet = if stored == sum { packet.clone() } else { cast_packet(&packet, stored) };
    let width = random.pick(&[8, 16, 24, 32]) * 8 / stored.bits();
    let window = match content(&stored_packet) {
        live if width < live => strip(&stored_packet).resize(width),
        _ => repad(&stored_packet, width),
    };
    let mut time_factors = kept;
    match kind {
        Kind::Interleaved => time_factors.push(columns),
        Kind::Sequential => {
            time_factors.push(row.clone());
            if columns.size() > 8 {
                time_factors.push(repad(&columns, columns.size().next_multiple_of(8)).stride(8));
            }
        }
    }
    random.shuffle(&mut time_factors);
    time_factors.push(window);
    let result_element = Map::sequence(&time_factors);

    // Data memory holds whole axes; fetch spells what collect needs.
    let data_element = {
        let mut axes = memory_axes(&stream);
        axes.retain(|axis| *axis != plan.memory);
        random.shuffle(&mut axes);
        axes.push(plan.memory.clone());
        Map::sequence(&axes)
    };
    let weight_element = {
        let mut axes = memory_axes(&held);
        axes.retain(|axis| *axis != plan.block_memory);
        Map::sequence(&[row_axis, Map::sequence(&axes), plan.block_memory.clone()])
    };
    let stripped = strip(&plan.flit);
    let last = stream_maps.last().filter(|last| content(last) == last.size() && last.size() > 1);
    let data_fetch = match last {
        Some(last) if random.chance(40) => {
            let time = Map::sequence(&stream_maps[..stream_maps.len() - 1]);
            [time, Map::sequence(&[last.clone(), plan.flit.clone()])]
        }
        _ if (stripped.size() * element.bits()).is_multiple_of(64) && random.chance(50) => {
            [contraction.stream_time.clone(), stripped]
        }
        _ => [contraction.stream_time.clone(), plan.flit.clone()],
    };
    let trf = contraction.trf_element.clone();
    if element == ElementType::I4 && starts_at_half_bytes(&data_element, &data_fetch) {
        return None;
    }
    let flits = trf.size() / per_flit;
    let (outer, flit) =
        if flits == 1 { (Map::One, trf.clone()) } else { (trf.stride(per_flit), trf.modulo(per_flit)) };
    let weight_collect = [Map::sequence(&[row.clone(), outer]), flit];
    let whole = content(&trf).div_ceil(per_flit) == flits && random.chance(50);
    let weight_fetch = if whole { [row, trf] } else { weight_collect.clone() };

    if element == ElementType::I4 && starts_at_half_bytes(&weight_element, &weight_fetch) {
        return None;
    }

    let transposed = if random.chance(30) {
        random_transpose(random, stored, [&contraction.output().0, &stored_packet])
    } else {
        None
    };
    let result_element = match &transposed {
        None => result_element,
        Some([time, packet]) => Map::sequence(&[time.clone(), repad(&strip(packet), 64 / stored.bits())]),
    };
    let slice = live_slice.pad(256);
    let both = |element: &Map| used(&[&live_slice, element], &names.axes);
    Some(Pipeline {
        seed: random.seed,
        data_axes: both(&data_element),
        weight_axes: both(&weight_element),
        axes: names.axes.clone(),
        slice,
        data_element,
        weight_element,
        data_fetch,
        weight_fetch,
        weight_collect,
        contraction,
        sum,
        stored,
        stored_packet,
        transposed,
        result_element,
    })
}

/// The innermost time steps become the packet, as many as fit. `None`: they cannot.
fn random_transpose(
    random: &mut Random,
    element: ElementType,
    [time, packet]: [&Map; 2],
) -> Option<[Map; 2]> {
    let rows: Vec<usize> = (1..=64 / element.bits())
        .filter(|rows| time.size().is_multiple_of(*rows) && (rows * element.bits()).is_multiple_of(8))
        .collect();
    let most = random.chance(60).then(|| rows.last().copied()).flatten();
    let rows = most.or_else(|| (!rows.is_empty()).then(|| random.pick(&rows)))?;
    let (outer, inner) = (time.stride(rows), time.modulo(rows));
    let elements = strip(packet);
    let out = [Map::sequence(&[outer, elements]), repad(&inner, element.per_flit())];
    let valid = out.iter().all(|map| map.validity().is_ok());
    (valid && matrices(element, [time, packet], [&out[0], &out[1]]).is_ok()).then_some(out)
}
