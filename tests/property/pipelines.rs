//! Whole pipelines, from data memory to data memory, bit for bit against the reference.

use crate::machine::{encode, same};
use crate::mutations::{is_invalid, mutant};
use crate::program::{Plan, as_data, run, with_condition_of};
use crate::reference::cases::for_cases;
use crate::reference::contraction::{Kind, tree_depth};
use crate::reference::digits::content;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::numbers::ElementType;
use crate::reference::pipelines::{Pipeline, random_contraction};
use crate::reference::random::{Axes, Random, borrowed, random_tensor};
use crate::reference::tensor::MathTensor;
use furiosa_visa_std::chip::{Addresses, ComputePath};
use std::cell::Cell;
use std::sync::OnceLock;

/// Types of operands.
pub const TYPES: [ElementType; 5] =
    [ElementType::I4, ElementType::I8, ElementType::F8E4M3, ElementType::F8E5M2, ElementType::Bf16];

/// What the values of a tensor are like.
#[derive(Clone, Copy)]
pub enum Values {
    /// Ordinary numbers.
    Plain,
    /// Ordinary numbers, and some zeros of either sign, infinities, NaN, subnormals and extremes.
    Special,
    /// Any code.
    Any,
    /// Zeros of either sign.
    Zeros,
    /// Ordinary numbers, and some elements that nobody wrote.
    Missing,
}

fn special(random: &mut Random, element: ElementType) -> u32 {
    let sign = 1 << (element.bits() - 1);
    let code = match element {
        ElementType::F8E4M3 => random.pick(&[0, 0, 1, 7, 8, 0x7e, 0x7f]),
        ElementType::F8E5M2 => random.pick(&[0, 0, 1, 3, 4, 0x7b, 0x7c, 0x7d]),
        ElementType::Bf16 => random.pick(&[0, 0, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0x7fc1]),
        _ => random.pick(&[0, 1, sign - 1]),
    };
    code | if random.chance(50) { sign } else { 0 }
}

fn codes(random: &mut Random, element: ElementType, axes: &Axes, values: Values) -> MathTensor<u32> {
    let plain = random_tensor(random, element, axes);
    let mut tensor = MathTensor::from_fn(&borrowed(axes), |index, _| {
        let code = plain.get(index).map_or(0, |number| element.encode(number));
        match values {
            Values::Special if random.chance(10) => special(random, element),
            Values::Any => (random.bits() >> 32) as u32 & (u32::MAX >> (32 - element.bits())),
            Values::Zeros if random.chance(50) => 0,
            Values::Zeros => 1 << (element.bits() - 1),
            _ => code,
        }
    });
    // Two elements of 4 bits share the mark that they were written.
    if matches!(values, Values::Missing) && element.bits() > 4 {
        tensor.cells.retain(|_, _| random.chance(97));
    }
    tensor
}

fn numbers(element: ElementType, codes: &MathTensor<u32>) -> MathTensor<crate::reference::numbers::Number> {
    let cells = codes.cells.iter().map(|(index, code)| (index.clone(), element.decode(*code)));
    MathTensor { axes: codes.axes.clone(), cells: cells.collect() }
}

/// All mappings of a pipeline.
pub fn describe(case: &Pipeline) -> String {
    let c = &case.contraction;
    let [dt, dp] = &case.data_fetch;
    let [wt, wp] = &case.weight_fetch;
    let [ct, cp] = &case.weight_collect;
    let (out_time, out_packet) = c.output();
    format!(
        "{:?}, {:?}, axes {:?}\n data {} in slices {}, fetch {dt} {dp}, collect {} {}\n weights {}, fetch {wt} {wp}, \
         collect {ct} {cp}, row {} element {}\n align {} {}, contract {}, accumulate {out_time} {out_packet}, \
         cast {:?} {}, transpose {}, commit {}",
        c.element,
        c.kind,
        case.axes,
        case.data_element,
        case.slice,
        c.stream_time,
        c.stream_packet,
        case.weight_element,
        c.row,
        c.trf_element,
        c.out_time,
        c.out_packet,
        c.tree_packet,
        case.stored,
        case.stored_packet,
        case.transposed.as_ref().map_or("no".to_string(), |[time, packet]| format!("{time} {packet}")),
        case.result_element
    )
}

/// The result of the library against the reference, and whether there is one: a pipeline that sums padding is refused.
/// `strict`: elements that nobody wrote are refused.
pub fn check_values(
    random: &mut Random,
    case: &Pipeline,
    plan: &Plan,
    values: Values,
    strict: bool,
) -> Result<bool, String> {
    check_values_at(random, case, plan, values, (strict, Addresses::AsGiven))
}

fn check_values_at(
    random: &mut Random,
    case: &Pipeline,
    plan: &Plan,
    values: Values,
    (strict, addresses): (bool, Addresses),
) -> Result<bool, String> {
    let element = case.contraction.element;
    let data = codes(random, element, &case.data_axes, values);
    let weights = codes(random, element, &case.weight_axes, values);
    let stages = case.run(&numbers(element, &data), &numbers(element, &weights))?;
    let expected = encode(case.stored, &stages.committed);
    // All instructions of this machine give the same bits.
    let (mut found, start) = (None, random.clone());
    for path in ComputePath::available() {
        *random = start.clone();
        let own = run(random, case, plan, &data, &weights, strict, (addresses, path))?;
        if *found.get_or_insert_with(|| own.clone()) != own {
            return Err(format!("`{path}` gives other bits: {own:x?} instead of {found:x?}"));
        }
    }
    let Some(Some(found)) = found else { return Ok(false) };
    let dims: [&Map; 2] = [&case.contraction.prefix[0], &case.result_element];
    for (k, index) in joint_table(&dims).into_iter().enumerate() {
        // Two results of 4 bits share the mark that they were written.
        let unknown = case.stored.bits() == 4 && expected[k].is_none();
        if index.is_some() && !unknown && !same(case.stored, found[k], expected[k]) {
            return Err(format!(
                "position {k}, {index:?}: {:x?} instead of {:x?}, which is {:?}",
                found[k], expected[k], stages.committed[k]
            ));
        }
    }
    Ok(true)
}

/// One of the pipelines of a test. Tests differ in `test`, so that equal seeds give each another pipeline.
fn pipeline(random: &mut Random, test: usize) -> Pipeline {
    (0..test).for_each(|_| _ = random.bits());
    let element = random.pick(&TYPES);
    random_contraction(random, element)
}

/// A test below, and how many pipelines it is given.
#[derive(Clone, Copy)]
enum Run {
    Ordinary,
    Special,
    Missing,
}

impl Run {
    const ALL: [Self; 3] = [Self::Ordinary, Self::Special, Self::Missing];

    fn cases(self) -> u64 {
        match self {
            Self::Ordinary => 45,
            Self::Special | Self::Missing => 33,
        }
    }

    /// The pipelines that ran. Those that are refused because they sum padding are left out. More than half must run.
    fn pipelines(self) -> &'static [Pipeline] {
        static RAN: [OnceLock<Vec<Pipeline>>; 3] = [const { OnceLock::new() }; 3];
        RAN[self as usize].get_or_init(|| {
            most_run(self.cases(), |random| {
                let (values, strict) = match self {
                    Self::Ordinary => (Values::Plain, true),
                    Self::Special => {
                        ([Values::Special, Values::Any, Values::Zeros][random.seed as usize % 3], true)
                    }
                    Self::Missing => (Values::Missing, false),
                };
                let case = pipeline(random, self as usize);
                Ok((check(random, &case, values, (strict, Addresses::AsGiven))?, case))
            })
        })
    }
}

/// Whether the pipeline ran.
fn check(
    random: &mut Random,
    case: &Pipeline,
    values: Values,
    how: (bool, Addresses),
) -> Result<bool, String> {
    let outcome = match Plan::derive(case) {
        Ok(plan) => check_values_at(random, case, &plan, values, how),
        Err(error) => Err(format!("refused by `{}`: {error}", error.rule())),
    };
    outcome.map_err(|text| format!("{}\n{text}", describe(case)))
}

/// Checks pipelines and returns those that ran. More than half must.
fn most_run(cases: u64, check: impl Fn(&mut Random) -> Result<(bool, Pipeline), String>) -> Vec<Pipeline> {
    let mut ran = Vec::new();
    let count = for_cases(cases, |random| {
        let (has_run, case) = check(random)?;
        ran.extend(has_run.then_some(case));
        Ok(())
    });
    let enough = 2 * ran.len() as u64 > count;
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{} of {count} ran", ran.len());
    ran
}

#[test]
fn pipelines_of_ordinary_numbers() {
    Run::Ordinary.pipelines();
}

#[test]
fn pipelines_of_special_numbers() {
    Run::Special.pipelines();
}

/// Sums of an element that nobody wrote are marked as not written.
#[test]
fn pipelines_of_missing_elements() {
    Run::Missing.pipelines();
}

/// With bytes of their own, tensors that are all given the same address leave each other alone.
#[test]
fn pipelines_of_tensors_that_lie_apart() {
    most_run(40, |random| {
        let case = pipeline(random, 3);
        Ok((check(random, &case, Values::Plain, (true, Addresses::Separate))?, case))
    });
}

/// Enough pipelines sum padding and are refused, and enough are not.
#[test]
fn pipelines_are_refused_for_their_padding() {
    let (ran, refused) = (Cell::new(0), Cell::new(0));
    for_cases(35, |random| {
        let case = pipeline(random, 4);
        let plan = Plan::derive(&case).map_err(|error| error.to_string())?;
        let count = match check_values(random, &case, &plan, Values::Plain, true)? {
            true => &ran,
            false => &refused,
        };
        count.set(count.get() + 1);
        Ok(())
    });
    let counts = (ran.get(), refused.get());
    assert!(counts.0 > 17 && counts.1 > 2 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// The pipelines of the three tests that ran meet every feature of the aligner, and differ.
#[test]
fn pipelines_cover_all_features() {
    if std::env::var("VISA_CASES").is_ok() {
        return;
    }
    let cases: Vec<&Pipeline> = Run::ALL.iter().flat_map(|run| run.pipelines()).collect();
    let different: std::collections::BTreeSet<String> = cases.iter().map(|case| describe(case)).collect();
    assert!(different.len() >= 93, "{} of {}", different.len(), cases.len());
    let flits = |case: &Pipeline| {
        let c = &case.contraction;
        if content(&c.out_packet) > c.element.per_flit() { 2 } else { 1 }
    };
    let tile = |case: &Pipeline| {
        case.contraction.out_time.size() * flits(case) / case.contraction.stream_time.size()
    };
    let columns = |case: &Pipeline| content(&case.contraction.tree_packet);
    let depth = |case: &Pipeline| {
        let c = &case.contraction;
        tree_depth(&c.out_packet, &c.tree_packet).expect("a legal tree")
    };
    let levels = |case: &Pipeline| case.contraction.out_packet.size().ilog2() as usize;
    // A tile whose digits stand in the TRF in another order than in time.
    let tile_digits = |case: &Pipeline| {
        let (time, trf) = (case.contraction.out_time.to_string(), case.contraction.trf_element.to_string());
        let cut = |name: &char| {
            let (outer, inner) = (format!("{name} / 2"), format!("{name} % 2"));
            let place = |text: &str, part: &str| text.find(part);
            !case.contraction.stream_time.axes().contains_key(name.to_string().as_str())
                && place(&time, &outer) < place(&time, &inner)
                && place(&trf, &inner) < place(&trf, &outer)
                && place(&trf, &inner).is_some()
        };
        ('A'..='Z').any(|name| cut(&name))
    };
    let padded_time = |case: &Pipeline| {
        let c = &case.contraction;
        joint_table(&[&c.out_time]).iter().any(Option::is_none)
    };
    // Padding in time that the TRF does not have: its steps read on.
    let reads_on = |case: &Pipeline| padded_time(case) && tile(case) > 1;
    let share = |name: &str, least: usize, test: &dyn Fn(&Pipeline) -> bool| {
        let found = cases.iter().filter(|case| test(case)).count();
        assert!(found >= least, "{name}: {found} of {}", cases.len());
    };
    for element in TYPES {
        share(&format!("{element:?}"), 12, &|case| case.contraction.element == element);
        share(&format!("{element:?}, two flits"), 4, &|case| {
            case.contraction.element == element && flits(case) == 2
        });
    }
    for rows in [1, 2, 4, 8] {
        share(&format!("{rows} rows"), 6, &|case| case.contraction.row.size() == rows);
    }
    share("one flit", 19, &|case| flits(case) == 1);
    share("two flits", 19, &|case| flits(case) == 2);
    share("tiling", 15, &|case| tile(case) > 1);
    share("tiling with two flits", 6, &|case| tile(case) > 1 && flits(case) == 2);
    share("digits of a tile in another order", 1, &tile_digits);
    share("padding in a packet", 15, &|case| {
        content(&case.contraction.stream_packet) < case.contraction.element.per_flit()
    });
    share("padding in time", 8, &padded_time);
    share("padding in a tile", 2, &reads_on);
    share("padded rows", 6, &|case| content(&case.contraction.row) < case.contraction.row.size());
    share("a tree of no depth", 4, &|case| depth(case) == 0);
    share("a tree of some depth", 19, &|case| depth(case) > 0 && depth(case) < levels(case));
    share("a tree of full depth", 2, &|case| depth(case) == levels(case));
    share("many columns", 8, &|case| columns(case) > 8);
    for kind in [Kind::Interleaved, Kind::Sequential] {
        share(&format!("{kind:?}"), 28, &|case| case.contraction.kind == kind);
        share(&format!("{kind:?}, summed over time"), 12, &|case| {
            case.contraction.kind == kind
                && case.contraction.kept_time.size() < case.contraction.out_time.size()
        });
    }
    share("slices", 15, &|case| case.contraction.prefix[0].size() > 1);
    share("a cast", 28, &|case| case.stored != case.sum);
    share("a transpose of sums", 4, &|case| case.transposed.is_some() && case.stored == case.sum);
    share("a transpose of what was cast", 4, &|case| case.transposed.is_some() && case.stored != case.sum);
}

#[test]
fn a_wrong_plan_is_found() {
    let found = Cell::new(0);
    for_cases(40, |random| {
        let case = random_contraction(random, ElementType::Bf16);
        let Ok(mut plan) = Plan::derive(&case) else { return Ok(()) };
        plan.disturb(random);
        let wrong = check_values(random, &case, &plan, Values::Plain, false).is_err();
        found.set(found.get() + usize::from(wrong));
        Ok(())
    });
    assert!(found.get() > 10 || std::env::var("VISA_CASES").is_ok(), "{} found", found.get());
}

/// A kernel that is written as data gives the commands of the plans, and their refusals. Wrong pipelines are refused in the
/// same words.
#[test]
fn pipelines_as_data_are_those_of_the_plans() {
    let (same, refused) = (Cell::new(0), Cell::new(0));
    for_cases(150, |random| {
        let mut case = if random.chance(50) { pipeline(random, 4) } else { mutant(random).0 };
        let outcome = match (Plan::derive(&case), as_data(&case)) {
            (Ok(plan), Ok(found)) => {
                same.set(same.get() + 1);
                let mut expected = plan.as_data(&case)?;
                if expected[1] != found[1] {
                    with_condition_of(&mut expected[1], &found[1], &case);
                }
                if expected == found { Ok(()) } else { Err(format!("{found:?}")) }
            }
            (Err(expected), Err(found)) => {
                refused.set(refused.get() + 1);
                // A tensor of a wrong mapping is refused before a stream begins.
                let is_same = expected.message() == found.message() || is_invalid(&mut case);
                if is_same { Ok(()) } else { Err(format!("{expected}\n{found}")) }
            }
            (plan, found) => Err(format!("{:?}\n{:?}", plan.err(), found.err())),
        };
        outcome.map_err(|text| format!("{}\n{text}", describe(&case)))
    });
    let counts = (same.get(), refused.get());
    assert!(counts.0 > 60 && counts.1 > 20 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}
