//! The stages of the fetch adapter against the reference: masks, tables, casts, zero points, interleaving, addresses.

use crate::bridge::expr;
use crate::machine::{encode, library_type, same};
use crate::moves::random_codes;
use crate::program::{Stage, guard};
use crate::reference::adapter::{Access, Mask, Stages, check_accesses};
use crate::reference::cases::for_cases;
use crate::reference::engines::flits;
use crate::reference::mapping::{Coordinates, Map, joint_table};
use crate::reference::numbers::{ElementType, Number};
use crate::reference::random::{Axes, Random, borrowed};
use crate::reference::tensor::MathTensor;
use furiosa_visa_std::command::{Collect, Fetch, Interleave, MaskConfig, Sink, Table, TensorUnit};
use furiosa_visa_std::engine::collect::{CollectRequest, derive_collect};
use furiosa_visa_std::engine::fetch::{FetchConfig, FetchRequest, check_packet, derive_fetch};
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::sequencer::{Config, Entry};
use std::cell::Cell;

/// Most elements that a test streams.
const LARGEST: usize = 4096;

/// A stream whose innermost axis is padded, in packets of `inner` elements.
struct Case {
    axes: Axes,
    memory: Map,
    time: Map,
    packet: Map,
    stages: Stages,
    /// Elements of the padded axis, dead ones before it included, its packets, and elements of each.
    padded: [usize; 3],
    /// Dead elements before it.
    lead: usize,
    /// Whether another axis of the packet is padded. Then all that lies together is one entry, which has one count.
    padded_beside: bool,
    interleaved: bool,
    sub_context: bool,
}

fn random_stages(random: &mut Random, sub_context: bool) -> Stages {
    use ElementType::{Bf16, F4E2M1, F8E4M3, F8E5M2, F32, I4, I8, I32};
    let casts = |from: ElementType| -> &[ElementType] {
        match from {
            I4 => &[I4, I32],
            F4E2M1 => &[F4E2M1],
            I8 => &[I8, I32],
            F8E4M3 => &[F8E4M3, F32],
            F8E5M2 => &[F8E5M2, F32],
            Bf16 => &[Bf16, F32],
            F32 => &[F32, Bf16],
            _ => &[I32],
        }
    };
    match random.below(3) {
        0 if !sub_context => {
            let (stored, entries) = (
                random.pick(&[I4, F4E2M1, I8, F8E4M3]),
                random.pick(&[I4, I8, Bf16, F32, F8E4M3, F8E5M2, I32]),
            );
            let codes = (0..1u32 << stored.bits())
                .map(|_| (random.bits() >> 32) as u32 & (u32::MAX >> (32 - entries.bits())));
            let table = Some((entries, codes.collect()));
            Stages { stored, table, streamed: random.pick(casts(entries)), zero_points: None }
        }
        1 => {
            let stored = random.pick(&[I4, I8]);
            let half = 1 << (stored.bits() - 1);
            let mut zero_point = || random.below(2 * half as usize) as i32 - half;
            let zero_points = Some([zero_point(), zero_point()]);
            Stages { stored, table: None, streamed: I32, zero_points }
        }
        _ => {
            let stored = random.pick(&[I4, F4E2M1, I8, F8E4M3, Bf16, F32, I32]);
            Stages { stored, table: None, streamed: random.pick(casts(stored)), zero_points: None }
        }
    }
}

fn random_case(random: &mut Random) -> Case {
    loop {
        let sub_context = random.chance(15);
        let stages = random_stages(random, sub_context);
        let narrow = stages.stored.bits().min(stages.streamed.bits());
        let unit = 64 / narrow;
        let (inner, packets) = (unit * random.between(1, 3), random.between(1, 10));
        let size = random.between((inner * packets).saturating_sub(2 * inner).max(1), inner * packets);
        let mut axes: Axes = vec![("B".to_string(), size)];
        let most = (inner * packets - size).min(inner + 1);
        let lead = if most > 0 && random.chance(40) {
            random.pick(&[1, 2, most, most.div_ceil(2)]).min(most)
        } else {
            0
        };
        let axis = Map::axis("B", size);
        let whole = match lead {
            0 => axis.pad(inner * packets),
            _ => axis.margin(lead, inner * packets - size - lead),
        };
        let mut time = vec![];
        let mut inside = vec![];
        let mut memory = vec![];
        let mut padded_beside = false;
        for name in ["A", "C", "E"] {
            if random.chance(50) {
                let extent = random.between(2, 4);
                axes.push((name.to_string(), extent));
                let axis = Map::axis(name, extent);
                memory.push(axis.clone());
                let padded = if random.chance(15) { axis.pad(extent + 1) } else { axis };
                let (is_padded, in_time) = (padded.size() > extent, random.chance(80));
                padded_beside |= is_padded && !in_time;
                if in_time { time.push(padded) } else { inside.push(padded) }
            }
        }
        // The outer part of the padded axis stands in time, or outermost in the packet.
        if packets > 1 {
            if random.chance(85) { time.push(whole.stride(inner)) } else { inside.push(whole.stride(inner)) }
        }
        random.shuffle(&mut memory);
        memory.push(if random.chance(60) { whole.clone() } else { Map::axis("B", size) });
        let interleaved = random.chance(40);
        if interleaved {
            axes.push(("I".to_string(), 2));
            time.push(Map::axis("I", 2));
        }
        random.shuffle(&mut time);
        inside.push(if packets > 1 { whole.modulo(inner) } else { whole });
        let (time, packet) = (Map::sequence(&time), Map::sequence(&inside));
        if time.size() * packet.size() > LARGEST {
            continue;
        }
        let memory = Map::sequence(&memory);
        let padded = [lead + size, packets, inner];
        return Case {
            axes,
            memory,
            time,
            packet,
            stages,
            padded,
            lead,
            padded_beside,
            interleaved,
            sub_context,
        };
    }
}

impl Case {
    fn request(&self) -> FetchRequest {
        let stages = &self.stages;
        let interleave = expr(&Map::axis("I", 2));
        let plain = FetchRequest::new(
            library_type(stages.stored),
            library_type(stages.streamed),
            expr(&self.memory),
            expr(&self.time),
            expr(&self.packet),
        );
        FetchRequest {
            sub_context: self.sub_context,
            table: stages.table.as_ref().map(|(entries, _)| library_type(*entries)),
            zero_point: stages.zero_points.is_some(),
            begin: if self.interleaved { interleave } else { plain.begin },
            ..plain
        }
    }

    /// What the mask is told of the padded axis alone (guide: fetch): the counts of its packets, and whether the registers
    /// hold them.
    fn counts(&self) -> (Vec<usize>, bool) {
        let [size, packets, inner] = self.padded;
        let counts: Vec<usize> = (0..packets).map(|k| size.saturating_sub(k * inner).min(inner)).collect();
        let last_only = packets > 1 && counts[packets - 2] == inner;
        let held = if last_only { &counts[packets - 1..] } else { &counts[..] };
        let fits = held.iter().chain([&self.lead]).all(|count| count * self.stages.stored.bits() / 4 <= 255);
        // Where every packet is a last one, every packet is a first one, too.
        let left = self.lead == 0 || self.lead <= inner && (last_only || packets == 1);
        (counts.clone(), fits && left && (last_only || packets <= 8))
    }

    /// Whether all of the padded axis is innermost in the packet, one entry, and one count in units of 4 bits holds it.
    fn fits_in_one_entry(&self) -> bool {
        let [size, packets, inner] = self.padded;
        let all = packets * inner;
        let fits = |count: usize| count * self.stages.stored.bits() / 4 <= 255;
        self.packet.size().is_multiple_of(all)
            && (self.packet.modulo(all).table().iter().enumerate())
                .all(|(k, index)| index.is_some() == (self.lead..size).contains(&k))
            && fits(size)
            && fits(self.lead)
    }

    fn text(&self) -> String {
        format!(
            "{:?}, sub {}, interleaved {}, {:?}\n memory {}, time {}, packet {}",
            self.stages, self.sub_context, self.interleaved, self.axes, self.memory, self.time, self.packet
        )
    }

    /// The elements of the stream.
    fn stream(&self) -> Vec<Option<Coordinates>> {
        joint_table(&[&self.time, &self.packet])
    }
}

/// The positions that the derived mask replaces.
pub fn masked(plan: &FetchConfig) -> Vec<bool> {
    let Some(mask) = &plan.mask else { return vec![false; plan.time * plan.packet] };
    let registers = Mask {
        last_dim: mask.last_dim,
        left_pad: mask.left_pad,
        counts: mask.last_dim_rightmost_valid_count.as_slice().to_vec(),
        count_dim: mask.rightmost_valid_count_dim,
    };
    let sizes: Vec<usize> = plan.config.entries.iter().map(|entry| entry.size).collect();
    registers.positions(&sizes)
}

/// Nothing live is masked; where the plan says so, all padding is. The mask exists where the guide says so.
fn check_mask(case: &Case, plan: &FetchConfig) -> Result<Vec<bool>, String> {
    let (stream, masked) = (case.stream(), masked(plan));
    if plan.config.entries.len() > 8 || masked.len() != stream.len() {
        return Err(format!("{} does not walk over {} elements", plan.config, stream.len()));
    }
    if let Some(k) = (0..stream.len()).find(|&k| masked[k] && stream[k].is_some()) {
        return Err(format!("position {k}, {:?}, is masked", stream[k]));
    }
    let unmasked = (0..stream.len()).any(|k| !masked[k] && stream[k].is_none());
    if unmasked != plan.unmasked_padding {
        return Err(format!("unmasked padding: {unmasked}, but the plan says {}", plan.unmasked_padding));
    }
    let (counts, fits) = case.counts();
    let cut = case.lead > 0 || counts.iter().any(|count| *count < case.padded[2]);
    let entries = plan.derived.entries.len();
    // With all entries taken there may be no place for `1 : 0`.
    // An axis that fits into one packet has no outer part: `B # 12 / 4` is `1 # 3` where `B` is 4.
    let whole = case.padded[0] > case.padded[2] || case.padded[1] == 1;
    let fits = fits || case.fits_in_one_entry();
    let expected = cut && fits && !case.sub_context;
    let [_, packets, inner] = case.padded;
    let innermost = plan.config.entries.iter().last().map_or(1, |entry| entry.size);
    let is_known = entries < 8 && whole && !(case.padded_beside && innermost > packets * inner);
    if plan.mask.is_some() != expected && is_known {
        return Err(format!("counts {counts:?}, but the mask of {} is {:?}", plan.config, plan.mask));
    }
    Ok(masked)
}

fn accesses(plan: &FetchConfig) -> Vec<Access> {
    let accesses = plan.addresses();
    accesses
        .map(|fetch| Access {
            tensor: fetch.tensor,
            byte: fetch.byte,
            bytes: fetch.bytes,
            repeat: fetch.repeat,
        })
        .collect()
}

/// Executes a case and compares every element of the stream.
///
/// `strict`: all checks are on, every element was written, and only elements are committed: nothing may be reported. If
/// not, elements may be missing, and every lane is committed, masked padding included.
fn execute(
    case: &Case,
    random: &mut Random,
    plan: &FetchConfig,
    masked: &[bool],
    strict: bool,
) -> Result<(), String> {
    let stages = &case.stages;
    let streamed = library_type(stages.streamed);
    let (outer, flit) = flits(stages.streamed, &case.packet)?;
    let out_time = Map::sequence(&[case.time.clone(), outer]);
    // Every flit of the stream gets a place of its own, also where it is padding alone.
    let destination = Map::axis("Z", out_time.size() * flit.size());
    let collect = derive_collect(&CollectRequest {
        element: streamed,
        time: expr(&case.time),
        packet: expr(&case.packet),
        out_time: expr(&out_time),
        out_packet: expr(&flit),
    });
    let collect = collect.map_err(|error| error.to_string())?;
    let mut write = Config::new(flit.size());
    for (size, stride) in [(out_time.size(), flit.size() as isize), (flit.size(), 1)] {
        write.entries.push(Entry { size, stride });
    }
    let own: Axes = case.axes.iter().filter(|(name, _)| name != "I").cloned().collect();
    let mut stage = Stage::new(strict, &Map::One);
    let bits = u32::MAX >> (32 - stages.stored.bits());
    let element_bytes = stages.stored.bits().div_ceil(8);
    let addresses = [4096 + 24, (128 * 1024 + random.below(9) * element_bytes) as u64];
    let tensors: Vec<MathTensor<u32>> = (0..if case.interleaved { 2 } else { 1 })
        .map(|_| match strict {
            true => MathTensor::from_fn(&borrowed(&own), |_, _| (random.bits() >> 32) as u32 & bits),
            false => random_codes(random, library_type(stages.stored), &own),
        })
        .collect();
    let sources: Vec<_> = tensors
        .iter()
        .zip(addresses)
        .map(|(tensor, address)| stage.put(random, stages.stored, &case.memory, address, tensor))
        .collect();
    let target = stage.target(stages.streamed, &destination, 256 * 1024);
    let pad_value = [0, 1].map(|_| (random.bits() >> 32) as u32 & bits);
    let fetch = Fetch {
        interleave: plan
            .interleave_period
            .zip(sources.get(1))
            .map(|(period, source)| Interleave { source: *source, period }),
        mask: plan.mask.map(|mask| MaskConfig { pad_value, ..mask }),
        table: stages.table.as_ref().map(|(entries, codes)| Table {
            input: library_type(stages.stored),
            output: library_type(*entries),
            codes: codes.clone().into(),
        }),
        zero_points: stages.zero_points,
        ..Fetch::new(sources[0], plan.config, plan.time, plan.packet, streamed)
    };
    let sink = Sink::Commit {
        destination: target,
        config: write,
        commit_size: 8,
        guard: if strict { guard(&stage.dims(&[&out_time, &flit])) } else { Guard::always(5) },
    };
    let collect = Some(Collect { flits: collect.flits });
    let unit = TensorUnit { sub_context: case.sub_context, collect, ..TensorUnit::new(fetch, sink) };
    stage.machine.pass(unit)?;
    let found = stage.result(stages.streamed, &target)?;
    let lanes = found.len() / case.time.size();
    for (k, index) in case.stream().iter().enumerate() {
        let tensor = match index {
            Some(index) => index.get("I").copied().unwrap_or(0),
            None => plan.interleave_period.map_or(0, |period| k / plan.packet / period % 2),
        };
        let code = match index {
            Some(index) => tensors[tensor].get(index),
            None if masked[k] && !strict => Some(pad_value[tensor]),
            None => continue,
        };
        // Two elements of 4 bits share the mark that they were written.
        if code.is_none() && stages.stored.bits().min(stages.streamed.bits()) == 4 {
            continue;
        }
        // What stays as it is stored keeps its code, of which a number may have two.
        let stays = stages.table.is_none() && stages.stored == stages.streamed;
        let number: Option<Number> = code.map(|code| stages.element(code, tensor));
        let expected = if stays { code } else { encode(stages.streamed, &[number])[0] };
        let at = k / plan.packet * lanes + k % plan.packet;
        if !same(stages.streamed, found[at], expected) {
            let found = found[at];
            return Err(format!(
                "element {k}, {index:?}: {found:x?} instead of {expected:x?}, code {code:x?}, mask {:?}",
                plan.mask
            ));
        }
    }
    Ok(())
}

/// Rules that a case may break by its granularity.
const ALLOWED: [&str; 4] = ["whole bytes", "sub-context fetch size", "entry limit", "commit limit"];

#[test]
fn adapted_streams_hold_what_the_reference_says() {
    let (ran, masks, pairs) = (Cell::new(0), Cell::new(0), Cell::new(0));
    for_cases(300, |random| {
        let case = random_case(random);
        let request = case.request();
        let with = |text: String| format!("{}\n{text}", case.text());
        let plan = match check_packet(&request).and_then(|()| derive_fetch(&request)) {
            Ok(plan) => plan,
            Err(error) if ALLOWED.contains(&error.rule()) => return Ok(()),
            // A packet over memory that is padded elsewhere.
            Err(error) if case.memory.size() < LARGEST && error.rule() == "incompatible shapes" => {
                return Ok(());
            }
            Err(error) => return Err(with(format!("refused by `{}`: {error}", error.rule()))),
        };
        let masked = check_mask(&case, &plan).map_err(&with)?;
        let bits = case.stages.stored.bits();
        let axis = case.interleaved.then_some("I");
        check_accesses(&case.memory, &case.stream(), plan.packet, bits, axis, &accesses(&plan))
            .map_err(&with)?;
        for strict in [false, true] {
            execute(&case, random, &plan, &masked, strict).map_err(&with)?;
        }
        ran.set(ran.get() + 1);
        masks.set(masks.get() + usize::from(plan.mask.is_some()));
        pairs.set(pairs.get() + usize::from(case.interleaved));
        Ok(())
    });
    let counted = [ran.get(), masks.get(), pairs.get()];
    let enough = counted.iter().zip([180, 70, 60]).all(|(count, least)| *count > least);
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{counted:?}");
}

/// A mask or an interleaving that is off by one is found.
#[test]
fn wrong_registers_are_found() {
    let found = Cell::new(0);
    for_cases(60, |random| {
        let case = random_case(random);
        let Ok(mut plan) = derive_fetch(&case.request()) else { return Ok(()) };
        if check_packet(&case.request()).is_err() {
            return Ok(());
        }
        let Ok(masked) = check_mask(&case, &plan) else { return Ok(()) };
        if let Some(period) = &mut plan.interleave_period
            && random.chance(50)
        {
            *period += 1;
        } else if let Some(mask) = &mut plan.mask {
            let counts = &mut mask.last_dim_rightmost_valid_count;
            let last = counts.len() - 1;
            let count = counts.at(last);
            counts.set(last, if count > 0 { count - 1 } else { 1 });
        } else {
            return Ok(());
        }
        let outcome = execute(&case, random, &plan, &masked, false);
        found.set(found.get() + usize::from(outcome.is_err()));
        Ok(())
    });
    assert!(found.get() > 10 || std::env::var("VISA_CASES").is_ok(), "{} found", found.get());
}
