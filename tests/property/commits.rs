//! Trims and conversions of the Commit Engine: which are accepted, and what is in memory afterwards.

use crate::bridge::expr;
use crate::machine::library_type;
use crate::moves::random_codes;
use crate::program::Stage;
use crate::reference::cases::for_cases;
use crate::reference::commits::{keeps_the_beginning, narrowed};
use crate::reference::digits::{content, repad, strip};
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::ElementType;
use crate::reference::random::{Axes, Random, random_axes};
use crate::reference::tensor::place;
use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::{CommitNarrowing, FillId, Operation, Region, Sink};
use furiosa_visa_std::lower::{Stream, Tensor};
use furiosa_visa_std::tensor::Shape;
use std::cell::Cell;

/// Places of the tensors.
const SOURCE: u64 = 64 * 1024;
const TARGET: u64 = 256 * 1024;

/// A copy from data memory to data memory through the Commit Engine's stages.
struct Case {
    axes: Axes,
    slice: Map,
    element: ElementType,
    time: Map,
    packet: Map,
    trim: Option<Map>,
    narrowing: Option<CommitNarrowing>,
    destination: Map,
    sub_context: bool,
}

/// f32 codes that the engine has rules for.
const SPECIAL: [u32; 12] = [
    0x8000_0000,
    0,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x3f80_8000,
    0xbf81_8000,
    0x7f80_0001,
    0xffc0_0000,
    0xff80_0000,
];

impl Case {
    fn random(random: &mut Random) -> Case {
        let count = random.between(1, 3);
        let mut axes = random_axes(random, count);
        let narrows = random.chance(50);
        let element = if narrows && random.chance(95) {
            ElementType::F32
        } else {
            random.pick(&[ElementType::I8, ElementType::Bf16, ElementType::I32, ElementType::F32])
        };
        let lanes = element.per_flit();
        let mut factors: Vec<Map> = axes.iter().map(|(name, size)| Map::axis(name, *size)).collect();
        random.shuffle(&mut factors);
        let time = Map::sequence(&factors);
        axes.push(("W".to_string(), random.between(1, lanes)));
        let packet = repad(&Map::axis("W", axes[count].1), lanes);
        let slice = if random.chance(60) { Map::One } else { Map::axis("S", random.between(2, 3)) };
        if let Map::Axis { .. } = &slice {
            axes.push(("S".to_string(), slice.size()));
        }
        let kept = match random.below(12) {
            0 => packet.clone(),
            1 => strip(&packet),
            2 => Map::axis("W", axes[count].1).stride(1).pad(random.between(1, lanes).max(axes[count].1)),
            // Elements of another axis.
            3 if axes[0].1 > 1 => repad(&Map::axis(&axes[0].0, axes[0].1), lanes),
            _ => Case::beginning(&packet, random.pick(&[8, 16, 24, 32]) * 8 / element.bits()),
        };
        // A commit without a trim keeps what its tensor has a place for.
        let window = match random.below(10) {
            0 => Case::beginning(&packet, random.pick(&[8, 16, 24, 32]) * 8 / element.bits()),
            _ => kept.clone(),
        };
        random.shuffle(&mut factors);
        factors.push(window);
        Case {
            axes,
            slice,
            element,
            time,
            packet,
            trim: random.chance(75).then_some(kept),
            narrowing: narrows.then(|| CommitNarrowing { relu: random.chance(50) }),
            destination: Map::sequence(&factors),
            sub_context: random.chance(10),
        }
    }

    /// The leading lanes of a packet.
    fn beginning(packet: &Map, lanes: usize) -> Map {
        if lanes < content(packet) { strip(packet).resize(lanes) } else { repad(packet, lanes) }
    }

    /// The part of the destination that a time step fills.
    fn window(&self) -> Map {
        self.destination.modulo(self.destination.size() / self.time.size())
    }

    /// Whether the definition allows it.
    fn is_legal(&self) -> bool {
        let window = self.window();
        let trims = self.trim.as_ref().is_none_or(|kept| {
            keeps_the_beginning(self.element, &self.packet, kept) && window.size() == kept.size()
        });
        let narrows = self.narrowing.is_none_or(|_| {
            self.element == ElementType::F32 && !self.sub_context && window.size().is_multiple_of(4)
        });
        trims && narrows && keeps_the_beginning(self.element, &self.packet, &window)
    }

    /// The type in memory afterwards.
    fn stored(&self) -> ElementType {
        if self.narrowing.is_some() { ElementType::Bf16 } else { self.element }
    }

    /// The command.
    fn lowered(&self, source: FillId, result: FillId) -> Result<(Operation, Tensor), PlanError> {
        let units = [&Map::One, &Map::One.pad(2), &self.slice.pad(256)].map(expr);
        let [time, packet] = [&self.time, &self.packet].map(expr);
        let memory = expr(&Map::sequence(&[self.time.clone(), self.packet.clone()]));
        let element = library_type(self.element);
        let shape = Shape::dm(element, units[0], units[1], units[2], memory);
        let mut stream = Stream::begin(&Tensor::new(shape, SOURCE, source)?, self.sub_context)?
            .fetch(element, time, packet)?
            .collect(time, packet)?;
        if let Some(kept) = &self.trim {
            stream = stream.commit_trim(expr(kept))?;
        }
        if let Some(narrowing) = self.narrowing {
            stream = stream.commit_cast(narrowing, library_type(ElementType::Bf16))?;
        }
        stream.commit(expr(&self.destination), TARGET, result)
    }

    /// Runs it and compares each element with the definition of placement. Gives the rule that refuses it.
    fn check(&self, random: &mut Random) -> Result<Option<&'static str>, String> {
        if let Err(error) = self.lowered(FillId::ANY, FillId::ANY) {
            return match self.is_legal() {
                true => Err(format!("refused by `{}`: {error}", error.rule())),
                false => Ok(Some(error.rule())),
            };
        }
        if !self.is_legal() {
            return Err("accepted, but the definition does not allow it".to_string());
        }
        let mut codes = random_codes(random, library_type(self.element), &self.axes);
        if self.element == ElementType::F32 {
            codes.cells.values_mut().for_each(|code| {
                if random.chance(40) {
                    *code = random.pick(&SPECIAL);
                }
            });
        }
        let complete = codes.cells.len() == self.axes.iter().map(|(_, size)| size).product::<usize>();
        // A copy may have holes; what is converted must all be there.
        let mut stage = Stage::new(self.narrowing.is_none() || complete, &self.slice);
        let memory = Map::sequence(&[self.time.clone(), self.packet.clone()]);
        let source = stage.put(random, self.element, &memory, SOURCE, &codes);
        let target = stage.target(self.stored(), &self.destination, TARGET);
        let (operation, tensor) =
            self.lowered(source.fill, target.fill).map_err(|error| error.to_string())?;
        self.check_command(&operation, [&tensor.region, &target])?;
        stage.machine.give(operation)?;
        let found = stage.result(self.stored(), &target)?;
        let expected = place(&codes, &[&self.slice, &self.destination]);
        for (k, index) in joint_table(&[&self.slice, &self.destination]).into_iter().enumerate() {
            let expected = expected[k].map(|code| match self.narrowing {
                Some(narrowing) => narrowed(code, narrowing.relu),
                None => code,
            });
            if index.is_some() && found[k] != expected {
                let (found, expected) = (found[k], expected);
                return Err(format!("position {k}, {index:?}: {found:x?} instead of {expected:x?}"));
            }
        }
        Ok(None)
    }

    /// Each step takes one write in the main context, whatever is converted.
    fn check_command(&self, operation: &Operation, [made, target]: [&Region; 2]) -> Result<(), String> {
        let Operation::TensorUnit(unit) = operation else { return Err("no pass".to_string()) };
        let Sink::Commit { config, commit_size, .. } = &unit.sink else {
            return Err("no commit".to_string());
        };
        let bytes = self.window().size() * self.stored().bits() / 8;
        let size = if self.sub_context { 8 } else { bytes };
        if (made, unit.cast, unit.narrowing) != (target, None, self.narrowing) {
            return Err(format!("another command: {unit}"));
        }
        if (config.packet_size * self.stored().bits() / 8, *commit_size) != (bytes, size) {
            return Err(format!("{bytes} bytes per step, but {unit}"));
        }
        Ok(())
    }

    fn text(&self) -> String {
        let trim = self.trim.as_ref().map(Map::to_string);
        format!(
            "{:?}, {:?}, sub {}, {:?}: slices {}, time {}, packet {}, trim {trim:?}, commit {}",
            self.element,
            self.narrowing,
            self.sub_context,
            self.axes,
            self.slice,
            self.time,
            self.packet,
            self.destination
        )
    }
}

#[test]
fn trims_and_conversions_follow_the_definition() {
    let [ran, narrowed] = [const { Cell::new(0) }; 2];
    let rules = std::cell::RefCell::new(std::collections::BTreeSet::new());
    for_cases(300, |random| {
        let case = Case::random(random);
        match case.check(random) {
            Ok(None) => {
                ran.set(ran.get() + 1);
                narrowed.set(narrowed.get() + usize::from(case.narrowing.is_some()));
                Ok(())
            }
            Ok(Some(rule)) => {
                rules.borrow_mut().insert(rule);
                Ok(())
            }
            Err(text) => Err(format!("{}\n{text}", case.text())),
        }
    });
    if std::env::var("VISA_CASES").is_err() {
        assert!(ran.get() > 125 && narrowed.get() > 40, "{} ran, {} narrowed", ran.get(), narrowed.get());
        let all = [
            "commit cast type",
            "commit cast width",
            "commit trim packet",
            "commit trim width",
            "commit trimmed packet",
            "commit width",
            "sub commit cast",
        ];
        let rules = rules.borrow();
        assert!(all.iter().all(|rule| rules.contains(rule)), "{rules:?}");
    }
}
