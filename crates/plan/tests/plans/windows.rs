//! Convolutions: values and cycles of random choices, the search against all of them, and problems that are refused.

use crate::search::is_the_best;
use crate::values::compare;
use crate::{axes_of, choices};
use furiosa_visa_plan::choice::{Choice, Level};
use furiosa_visa_plan::schedule::Schedule;
use furiosa_visa_plan::{Plan, Problem, Search, search};
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F8e4m3, I4, I8};
use furiosa_visa_rules::spec;
use furiosa_visa_std::clock::Profile;
use furiosa_visa_std::clock::bound::Limit;
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::Cell;

/// A convolution of a random form. `sizes`: those that axes outside of windows may have.
fn random_convolution(random: &mut Random, sizes: &[usize]) -> Problem {
    let (einsum, windows) = random.pick(&[
        ("hwc,fyxc->hwf", "H+Y, W+X"),
        ("nhwc,fyxc->nhwf", "H+Y, W+X"),
        ("nhwc,fyxc->nhwf", "H*2+Y, W*2+X"),
        ("nhwc,fyxc->fnhw", "W+X, H*3+Y"),
        ("nhwc,yxcf->nhwf", "H+Y, W+X"),
        ("fyc,nhc->nhf", "H+Y"),
        ("bnhwc,bfyc->bnhwf", "H*2+Y"),
        ("nhc,fyxc->nhxf", "H+Y"),
    ]);
    let element = random.pick(&[I8, Bf16, I4, F8e4m3]);
    let output = (element == Bf16 && random.chance(50)).then_some(Bf16);
    let flit = 256 / element.bits();
    let size = |axis: char, random: &mut Random| match axis {
        'c' => flit * random.between(1, 3),
        'f' => random.pick(&[8, 16]),
        'h' | 'w' => random.between(1, 6),
        'y' | 'x' => random.between(1, 3),
        _ => random.pick(sizes),
    };
    let axes = axes_of(einsum, |axis| size(axis, random));
    Problem::with_windows(einsum, windows, &axes, element, output, "")
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn random_choices_compute_the_convolution() {
    let legal = Cell::new(0);
    let count = for_cases(40, |random| {
        let problem = random_convolution(random, &[1, 2, 3, 4, 8]);
        let all = choices(&problem);
        let legal_one = (0..40).find_map(|_| Plan::of(&problem, random.pick(&all), Profile::default()).ok());
        let Some(plan) = legal_one else { return Ok(()) };
        legal.set(legal.get() + 1);
        compare(random, &plan)
    });
    assert!(4 * legal.get() >= 3 * count, "{} of {count} choices are legal", legal.get());
}

#[test]
fn the_best_of_all_convolutions_is_found() {
    for_cases(6, |random| is_the_best(random, |random| random_convolution(random, &[1, 2, 4])));
}

#[track_caller]
fn refused(einsum: &str, windows: &str, message: &str) {
    let error =
        Problem::with_windows(einsum, windows, "H=4,W=4,Y=3,X=3,C=32,F=8,N=2", ElementType::I8, None, "");
    assert_eq!(error.expect_err("it is wrong").to_string(), message);
}

#[test]
fn what_is_no_convolution_is_refused() {
    let einsum = "nhwc,fyxc->nhwf";
    for text in ["H", "h+y", "H*0+Y", "H+Y*2", "HH+Y", "2*H+Y"] {
        refused(
            einsum,
            text,
            &format!(
                "windows: `{text}` is no window; write an axis of the result and one of the filter: `H+Y`, or `H*2+Y` for every \
                 second position; taps that are further apart are not planned"
            ),
        );
    }
    for stride in ["4294967295", "18446744073709551615"] {
        refused(
            einsum,
            &format!("H*{stride}+Y, W+X"),
            &format!(
                "windows: 4 windows at every {stride}th position reach more than 2147483648 positions, which is what an axis has at \
                 most; take a smaller stride"
            ),
        );
    }
    refused(
        einsum,
        "H+Y, H+X",
        "windows: `H` is in two places of `H+Y, H+X`; each window has two axes of its own",
    );
    refused(einsum, "H+Y, W+X, P+Q", "windows: `nhwc,fyxc->nhwf` has no axis `P`; name those of the einsum");
    refused(
        einsum,
        "C+Y, W+X",
        "windows: `c` of `nhwc,fyxc->nhwf` is not in one operand and the result, as an axis of places is",
    );
    refused(
        "nhwyc,fyxc->nhwf",
        "H+Y, W+X",
        "windows: `y` of `nhwyc,fyxc->nhwf` is not in the filter alone: the operand without `h`, which sums over it",
    );
    refused(
        "chwn,fcyx->nhwf",
        "H+Y, W+X",
        "windows: the innermost axis of the operand that `chwn,fcyx->nhwf` reads in windows is neither summed over nor in \
         windows; store channels or places innermost, as in `nhwc,fyxc->nhwf` or `nchw,fcyx->nhwf`",
    );
    refused(
        "nhyc,fwxc->nhfw",
        "H+X, W+Y",
        "windows: `w` of `nhyc,fwxc->nhfw` is in the other operand; only one of them is read in windows",
    );
}

/// Positions of neighbours: a slice takes them from the next one alone, up to all of its own.
#[test]
fn slices_have_parts_of_rows() {
    let has_rows = |windows: &str, sizes: &str, local: usize| {
        let problem = Problem::with_windows("hc,fyc->hf", windows, sizes, I8, None, "")
            .unwrap_or_else(|error| panic!("{error}"));
        let all = choices(&problem);
        let mut splits = all.iter().map(|choice| &choice.splits[problem.windows[0].output]);
        splits.any(|split| split.at(Level::Slice) > 1 && split.at(Level::Local) == local)
    };
    // Two positions of the next slice, which has 2 and 1.
    assert!(has_rows("H+Y", "H=8,Y=3,F=8,C=32", 2) && !has_rows("H+Y", "H=8,Y=3,F=8,C=32", 1));
    // One, with strides of 2; and none, so that one slice has them all.
    assert!(has_rows("H*2+Y", "H=8,Y=3,F=8,C=32", 1) && !has_rows("H*2+Y", "H=8,Y=2,F=8,C=32", 1));
}

/// Buffers of choices that leave little of DM, none of which meets another one. The tiles of a stream whose rows are in several
/// slices are at the end of DM.
#[test]
fn buffers_do_not_meet() {
    let (mut most, mut seen) = (0, 0);
    for rows in [4, 6, 7, 8] {
        let sizes = format!("H={},Y=3,F=128,C={}", rows * 128, 512 - 32 * (rows % 2));
        let problem = Problem::with_windows("hc,fyc->hf", "H+Y", &sizes, Bf16, Some(Bf16), "")
            .unwrap_or_else(|error| panic!("{error}"));
        for choice in choices(&problem) {
            let is_in_slices = choice.splits[problem.windows[0].output].at(Level::Slice) > 1;
            let Some(schedule) = is_in_slices.then(|| Schedule::new(&problem, &choice)).flatten() else {
                continue;
            };
            let bytes = |kind: usize| match kind {
                0 => {
                    let parts = choice.stream_spread.map_or(1, |spread| spread.count);
                    (schedule.parts * choice.local(&problem)[0] / parts * problem.element.bits() / 8) as u64
                }
                _ => schedule.bytes[kind],
            };
            let buffers =
                (0..6).flat_map(|kind| (0..schedule.buffers[kind]).map(move |number| (kind, number)));
            let mut used: Vec<(u64, u64)> = buffers
                .map(|(kind, number)| (schedule.buffer(kind, number), bytes(kind)))
                .map(|(start, bytes)| (start, start + bytes))
                .collect();
            used.sort_unstable();
            assert!(used.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{choice:?}: {used:?}");
            most = most.max(schedule.dm_bytes());
            seen += 1;
        }
    }
    let dm = spec::DM_BYTES as u64;
    assert!(seen > 100 && most > dm / 10 * 9, "{seen} schedules, of at most {most} of {dm} bytes");
}

/// Slices with fewer positions of the next one than they have themselves, in tiles.
#[test]
fn slices_take_a_part_of_their_neighbours() {
    let problem =
        Problem::with_windows("hwc,fyxc->hwf", "H+Y, W+X", "H=24,W=2,Y=3,X=2,F=8,C=32", I8, None, "")
            .unwrap_or_else(|error| panic!("{error}"));
    let is_cut = |choice: &Choice| {
        let split = &choice.splits[problem.windows[0].output];
        (split.at(Level::Loops), split.at(Level::Slice), split.at(Level::Local)) == (2, 3, 4)
    };
    let plan = (choices(&problem).into_iter().filter(is_cut))
        .find_map(|choice| Plan::of(&problem, choice, Profile::default()).ok());
    let plan = plan.expect("one is legal");
    assert!(plan.layout.room.as_ref().is_some_and(|room| room.reached.is_some()));
    compare(&mut Random::new(1), &plan).unwrap_or_else(|difference| panic!("{difference}"));
}

/// Channels that are no whole flit are filled up; a single one leaves places innermost, which are columns. DMA moves whole
/// accesses.
#[test]
fn few_channels_are_filled_up() {
    let of = |sizes: &str| {
        let problem = Problem::with_windows("hwc,fyxc->hwf", "H+Y, W+X", sizes, I8, None, "")
            .unwrap_or_else(|error| panic!("{error}"));
        search(&problem, &Search::default())
    };
    for (channels, is_filled, in_columns) in [(32, false, false), (24, true, false), (1, true, true)] {
        let sizes = format!("H=6,W=6,Y=3,X=3,F=8,C={channels}");
        let plan = of(&sizes).plans.remove(0);
        let own = (plan.choice.filled_axis(&plan.problem).is_some(), plan.choice.in_columns);
        assert_eq!(own, (is_filled, in_columns), "{channels} channels");
        compare(&mut Random::new(1), &plan).unwrap_or_else(|difference| panic!("{difference}"));
    }
    let outcome = of("H=4,W=5,Y=3,X=3,F=8,C=31");
    assert!(outcome.plans.is_empty() && outcome.space.refused.contains_key("DMA run"), "{:?}", outcome.space);
}

/// Bounds by hand: multipliers as for any product, and each position of an operand once.
#[test]
fn bounds_of_convolutions() {
    let cycles = |windows: &str, limit: Limit| {
        let sizes = "N=64,H=28,W=28,C=128,F=128,Y=3,X=3";
        let problem = Problem::with_windows("nhwc,fyxc->nhwf", windows, sizes, Bf16, Some(Bf16), "")
            .unwrap_or_else(|error| panic!("{error}"));
        problem.bounds(Profile::Book).of(limit)
    };
    let moved = |rows: u64| 1000 + 2 * (64 * rows * rows * 128 + 128 * 128 * 9 + 64 * 28 * 28 * 128) / 1536;
    assert_eq!(cycles("H+Y, W+X", Limit::Multipliers), 1000 + 64 * 28 * 28 * 128 * 128 * 9 / (512 * 8 * 32));
    assert_eq!(cycles("H+Y, W+X", Limit::Hbm), moved(30));
    assert_eq!(cycles("H*2+Y, W*2+X", Limit::Hbm), moved(57));
}
