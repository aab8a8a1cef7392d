//! Fetch, collect, cast and commit without a contraction: what the derived configurations read and write, against the
//! reference engines.

use crate::bridge::expr;
use crate::machine::{encode, library_type, same};
use crate::moves::random_codes;
use crate::program::{Stage, guard};
use crate::reference::adapter::{Access, check_accesses};
use crate::reference::cases::for_cases;
use crate::reference::digits::{content, repad, strip};
use crate::reference::engines::{cast, cast_packet, collect, commit, fetch, flits};
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::{ElementType, Number};
use crate::reference::random::{Axes, Margins, Random, random_axes, random_move};
use crate::reference::sequencer::exists_configuration;
use crate::reference::tensor::{MathTensor, place};
use furiosa_visa_std::command::{Cast, Collect, Fetch, TensorUnit};
use furiosa_visa_std::engine::cast::{CastRequest, derive_cast};
use furiosa_visa_std::engine::collect::{CollectRequest, derive_collect};
use furiosa_visa_std::engine::commit::{CommitRequest, derive_commit};
use furiosa_visa_std::engine::commit_stages::CommitStages;
use furiosa_visa_std::engine::fetch::{FetchRequest, check_packet, derive_fetch};
use furiosa_visa_std::lower::commit_sink;
use std::cell::Cell;

/// A pass from data memory to data memory.
struct Pass {
    axes: Axes,
    slice: Map,
    memory: Map,
    stored: ElementType,
    /// The type in the stream, which the Fetch Engine makes.
    streamed: ElementType,
    /// The type that the Cast Engine makes.
    committed: ElementType,
    fetched: [Map; 2],
    collected: [Map; 2],
    cast_packet: Map,
    destination: Map,
    sub_context: bool,
}

/// Types that the Fetch Engine converts.
const FETCH_CASTS: [[ElementType; 2]; 13] = {
    use ElementType::{Bf16, F8E4M3, F8E5M2, F32, I4, I8, I32};
    [
        [I4, I4],
        [I8, I8],
        [Bf16, Bf16],
        [F8E4M3, F8E4M3],
        [F32, F32],
        [I32, I32],
        [I4, I32],
        [I8, I32],
        [F8E4M3, F32],
        [F8E5M2, F32],
        [Bf16, F32],
        [F32, Bf16],
        [F8E5M2, F8E5M2],
    ]
};

enum Outcome {
    Ran,
    /// Refused by this rule.
    Refused(&'static str, String),
}

impl Pass {
    fn numbers(&self, codes: &MathTensor<u32>) -> MathTensor<Number> {
        let cells = codes.cells.iter().map(|(index, code)| (index.clone(), self.stored.decode(*code)));
        MathTensor { axes: codes.axes.clone(), cells: cells.collect() }
    }

    /// What the destination must hold: the definition of placement (guide: memories_and_dma), and the casts.
    fn expected(&self, tensor: &MathTensor<Number>) -> Vec<Option<Number>> {
        let values = place(tensor, &[&self.slice, &self.destination]);
        let narrow = |number: Number| self.committed.round(self.streamed.round(number));
        values.into_iter().map(|value| value.map(narrow)).collect()
    }

    /// What the reference engines say that the destination holds.
    fn reference(&self, tensor: &MathTensor<Number>) -> Result<Vec<Option<Number>>, String> {
        let prefix = [&self.slice];
        let values = place(tensor, &[&self.slice, &self.memory]);
        let [time, packet] = &self.fetched;
        let values =
            fetch(&prefix, &self.memory, &values, time, packet, |number| self.streamed.round(number))?;
        let [out_time, out_packet] = &self.collected;
        let values = collect(self.streamed, &prefix, [time, packet], [out_time, out_packet], &values)?;
        let values = match self.committed == self.streamed {
            true => values,
            false => {
                let packets = [out_packet, &self.cast_packet];
                cast([self.streamed, self.committed], &prefix, out_time, packets, &values)?
            }
        };
        commit(self.committed, &prefix, [out_time, &self.cast_packet], &self.destination, &values)
    }

    /// Derives, executes and compares.
    fn check(&self, random: &mut Random) -> Result<Outcome, String> {
        let codes = random_codes(random, library_type(self.stored), &self.axes);
        let expected = self.expected(&self.numbers(&codes));
        let [time, packet] = self.fetched.each_ref().map(expr);
        let [out_time, out_packet] = self.collected.each_ref().map(expr);
        let [input, streamed, committed] = [self.stored, self.streamed, self.committed].map(library_type);
        let request = FetchRequest {
            sub_context: self.sub_context,
            ..FetchRequest::new(input, streamed, expr(&self.memory), time, packet)
        };
        macro_rules! accepted {
            ($plan:expr) => {
                match $plan {
                    Ok(plan) => plan,
                    Err(error) => return Ok(Outcome::Refused(error.rule(), error.to_string())),
                }
            };
        }
        accepted!(check_packet(&request));
        let plan = accepted!(derive_fetch(&request));
        let accesses: Vec<Access> = plan
            .addresses()
            .map(|fetch| Access {
                tensor: fetch.tensor,
                byte: fetch.byte,
                bytes: fetch.bytes,
                repeat: fetch.repeat,
            })
            .collect();
        let stream = joint_table(&[&self.fetched[0], &self.fetched[1]]);
        check_accesses(&self.memory, &stream, plan.packet, self.stored.bits(), None, &accesses)?;
        let collect = accepted!(derive_collect(&CollectRequest {
            element: streamed,
            time,
            packet,
            out_time,
            out_packet
        }));
        let cast_packet = expr(&self.cast_packet);
        let narrow =
            CastRequest { input: streamed, output: committed, packet: out_packet, out_packet: cast_packet };
        if self.committed != self.streamed {
            accepted!(derive_cast(&narrow));
        }
        let write = accepted!(derive_commit(&CommitRequest {
            sub_context: self.sub_context,
            element: committed,
            time: out_time,
            packet: cast_packet,
            destination: expr(&self.destination),
            stages: CommitStages::NONE,
        }));
        // A copy may have holes; what is converted must all be there.
        let copies = self.stored == self.streamed && self.streamed == self.committed;
        let complete = codes.cells.len() == self.axes.iter().map(|(_, size)| size).product::<usize>();
        let mut stage = Stage::new(copies || complete, &self.slice);
        // Dead positions before the tensor are read as well.
        let source = stage.put(random, self.stored, &self.memory, 64 * 1024 + 24, &codes);
        let target = stage.target(self.committed, &self.destination, 256 * 1024);
        let live = guard(&stage.dims(&[&self.collected[0], &self.cast_packet]));
        let fetch =
            Fetch { mask: plan.mask, ..Fetch::new(source, plan.config, plan.time, plan.packet, streamed) };
        let unit = TensorUnit {
            sub_context: self.sub_context,
            collect: Some(Collect { flits: collect.flits }),
            cast: (self.committed != self.streamed).then_some(Cast { input: streamed, output: committed }),
            ..TensorUnit::new(fetch, commit_sink(target, &write, &live))
        };
        stage.machine.pass(unit)?;
        let found = stage.result(self.committed, &target)?;
        let expected = encode(self.committed, &expected);
        for (k, index) in joint_table(&[&self.slice, &self.destination]).into_iter().enumerate() {
            let unknown = self.committed.bits() == 4 && expected[k].is_none();
            if index.is_some() && !unknown && !same(self.committed, found[k], expected[k]) {
                let (found, expected) = (found[k], expected[k]);
                return Err(format!("position {k}, {index:?}: {found:x?} instead of {expected:x?}"));
            }
        }
        Ok(Outcome::Ran)
    }

    fn text(&self) -> String {
        let ([time, packet], [out_time, flit]) = (&self.fetched, &self.collected);
        format!(
            "{:?} {:?} {:?}, sub {}, {:?}\n slices {}, memory {}, fetch {time} {packet}, collect {out_time} {flit}, \
             cast {}, commit {}",
            self.stored,
            self.streamed,
            self.committed,
            self.sub_context,
            self.axes,
            self.slice,
            self.memory,
            self.cast_packet,
            self.destination
        )
    }
}

/// A packet of a whole number of 8 bytes.
fn padded_packet(element: ElementType, packet: &Map) -> Map {
    packet.pad((packet.size() * element.bits()).next_multiple_of(64) / element.bits())
}

fn slices(random: &mut Random, axes: &mut Axes) -> Map {
    if random.chance(60) {
        return Map::One;
    }
    let size = random.between(2, 3);
    axes.push(("S".to_string(), size));
    Map::axis("S", size)
}

/// Any order, cut, padding and broadcast of a tensor as a stream, written as it comes.
fn random_fetch(random: &mut Random) -> Pass {
    loop {
        let margins = random.pick(&Margins::MIXED);
        let case = random_move(random, [1, 2], true, false, margins);
        let mut axes: Axes = case.axes[..case.tensor_axes].to_vec();
        let slice = slices(random, &mut axes);
        let [stored, streamed] = random.pick(&FETCH_CASTS);
        let packet = padded_packet(streamed, &case.destination[1]);
        let time = case.destination[0].clone();
        let Ok((outer, flit)) = flits(streamed, &packet) else { continue };
        let out_time = Map::sequence(&[time.clone(), outer]);
        if out_time.size() * flit.size() > 4096 {
            continue;
        }
        return Pass {
            axes,
            slice,
            memory: case.source[0].clone(),
            stored,
            streamed,
            committed: streamed,
            cast_packet: flit.clone(),
            destination: Map::sequence(&[out_time.clone(), flit.clone()]),
            fetched: [time, packet],
            collected: [out_time, flit],
            sub_context: random.chance(30),
        };
    }
}

/// Rules that a random order of elements may break: the granularity of the engines. All others are asked of the search.
const ALLOWED: [&str; 3] = ["whole bytes", "sub-context fetch size", "entry limit"];

fn ran(
    counter: &Cell<usize>,
    pass: &Pass,
    outcome: Result<Outcome, String>,
    rules: &[&str],
) -> Result<(), String> {
    let text = match outcome {
        Ok(Outcome::Ran) => {
            counter.set(counter.get() + 1);
            return Ok(());
        }
        Ok(Outcome::Refused(rule, _)) if rules.contains(&rule) => return Ok(()),
        // A block with dead positions before it is one unit: where it is cut, its axes are no loops, though few live
        // positions may happen to lie on a line.
        Ok(Outcome::Refused("not factorizable", _))
            if [&pass.memory, &pass.fetched[0], &pass.fetched[1]].iter().any(|map| map.cuts_a_block()) =>
        {
            return Ok(());
        }
        Ok(Outcome::Refused(..))
            if !exists_configuration(&pass.memory, &pass.fetched[0], &pass.fetched[1]) =>
        {
            return Ok(());
        }
        Ok(Outcome::Refused(rule, text)) => format!("refused by `{rule}`: {text}"),
        Err(text) => text,
    };
    Err(format!("{}\n{text}", pass.text()))
}

fn enough(counter: &Cell<usize>, least: usize) {
    assert!(counter.get() > least || std::env::var("VISA_CASES").is_ok(), "{} ran", counter.get());
}

#[test]
fn fetched_streams_hold_the_tensor() {
    let counter = Cell::new(0);
    for_cases(300, |random| {
        let pass = random_fetch(random);
        let outcome = pass.check(random);
        ran(&counter, &pass, outcome, &ALLOWED)
    });
    enough(&counter, 150);
}

/// A stream in the order of memory, whose time is permuted and whose packet is cut by the commit.
fn random_commit(random: &mut Random, casts: bool) -> Pass {
    loop {
        let count = random.between(1, 3);
        let mut axes = random_axes(random, count);
        let [streamed, committed] = match casts {
            true => random.pick(&[
                [ElementType::I32, ElementType::I8],
                [ElementType::I32, ElementType::I4],
                [ElementType::F32, ElementType::Bf16],
                [ElementType::F32, ElementType::F8E4M3],
            ]),
            false => [random.pick(&FETCH_CASTS)[0]; 2],
        };
        let lanes = streamed.per_flit();
        let mut factors = Vec::new();
        for (name, size) in &axes {
            let axis = Map::axis(name, *size);
            let divisors: Vec<usize> = (1..=*size).filter(|n| size.is_multiple_of(*n)).collect();
            let cut = random.pick(&divisors);
            let outer = axis.stride(cut);
            let padding = if random.chance(20) { random.between(1, 2) } else { 0 };
            factors.push(if padding > 0 { outer.pad(outer.size() + padding) } else { outer });
            factors.push(axis.modulo(cut));
        }
        random.shuffle(&mut factors);
        axes.push(("W".to_string(), random.between(1, lanes)));
        let inside = Map::axis("W", axes[count].1);
        let slice = slices(random, &mut axes);
        let (time, packet) = (Map::sequence(&factors), repad(&inside, lanes));
        let out_packet = if casts { cast_packet(&packet, committed) } else { packet.clone() };
        let width = random.pick(&[8, 16, 24, 32]) * 8 / committed.bits();
        let window = if width < content(&out_packet) {
            strip(&out_packet).resize(width)
        } else {
            repad(&out_packet, width)
        };
        random.shuffle(&mut factors);
        factors.push(window);
        let destination = Map::sequence(&factors);
        if time.size() > 200 {
            continue;
        }
        return Pass {
            axes,
            slice,
            memory: Map::sequence(&[time.clone(), packet.clone()]),
            stored: streamed,
            streamed,
            committed,
            fetched: [time.clone(), packet.clone()],
            collected: [time, packet],
            cast_packet: out_packet,
            destination,
            sub_context: random.chance(30),
        };
    }
}

#[test]
fn commits_permute_time_and_cut_packets() {
    let counter = Cell::new(0);
    for_cases(150, |random| {
        let pass = random_commit(random, false);
        let numbers = pass.numbers(&random_codes(random, library_type(pass.stored), &pass.axes));
        let alike = pass.reference(&numbers)?.iter().zip(pass.expected(&numbers)).all(|(a, b)| *a == b);
        if !alike {
            return Err(format!(
                "{}\nthe engines of the reference disagree with the definition",
                pass.text()
            ));
        }
        let outcome = pass.check(random);
        ran(&counter, &pass, outcome, &["entry limit"])
    });
    enough(&counter, 125);
}

#[test]
fn casts_narrow_every_lane() {
    let counter = Cell::new(0);
    for_cases(200, |random| {
        let pass = random_commit(random, true);
        let outcome = pass.check(random);
        ran(&counter, &pass, outcome, &["entry limit"])
    });
    enough(&counter, 150);
}

/// A destination that does not fit is refused where the reference refuses it.
#[test]
fn wrong_commits_are_refused() {
    let refused = Cell::new(0);
    for_cases(150, |random| {
        let mut pass = random_commit(random, false);
        let size = pass.destination.size();
        pass.destination = match random.below(4) {
            0 => pass.destination.pad(size + pass.collected[0].size()),
            1 if size > 1 => pass.destination.resize(size - 1),
            2 => {
                let other = random_commit(random, false).destination;
                Map::sequence(&[other, Map::One])
            }
            _ => match pass.destination.clone() {
                Map::Pair(left, right) => Map::Pair(right, left),
                other => other,
            },
        };
        let empty = MathTensor { axes: Default::default(), cells: Default::default() };
        let Err(reason) = pass.reference(&empty) else { return Ok(()) };
        let plan = derive_commit(&CommitRequest {
            sub_context: false,
            element: library_type(pass.committed),
            time: expr(&pass.collected[0]),
            packet: expr(&pass.cast_packet),
            destination: expr(&pass.destination),
            stages: CommitStages::NONE,
        });
        if plan.is_ok() {
            return Err(format!("{}\naccepted, but {reason}", pass.text()));
        }
        refused.set(refused.get() + 1);
        Ok(())
    });
    enough(&refused, 50);
}
