//! Convolutions: values and cycles of random choices, the search against all of them, and problems that are refused.

use crate::choices;
use crate::search::is_the_best;
use crate::values::compare;
use furiosa_visa_plan::{Plan, Problem};
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F8e4m3, I4, I8};
use furiosa_visa_std::clock::Profile;
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
    let mut letters: Vec<char> = einsum.chars().filter(char::is_ascii_lowercase).collect();
    letters.sort_unstable();
    letters.dedup();
    let axes: Vec<String> =
        letters.iter().map(|&axis| format!("{}={}", axis.to_ascii_uppercase(), size(axis, random))).collect();
    Problem::with_windows(einsum, windows, &axes.join(","), element, output, "")
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
    refused(
        einsum,
        "H+Y, H+X",
        "windows: `H` is in two places of `H+Y, H+X`; each window has two axes of its own",
    );
}

#[test]
fn dbg_units() {
    use std::collections::BTreeMap;
    let mut map: BTreeMap<String, usize> = BTreeMap::new();
    for_cases(40, |random| {
        let problem = random_convolution(random, &[1, 2, 3, 4, 8]);
        let mut all = choices(&problem);
        all.retain(|c| {
            let i = problem.windows[0].output;
            let e = c.splits[i].extents;
            e[1] * e[2] > 1
        });
        if all.is_empty() {
            return Ok(());
        }
        for _ in 0..20 {
            let c = random.pick(&all);
            let key = match Plan::of(&problem, c, Profile::default()) {
                Ok(p) => {
                    compare(random, &p)?;
                    "ok".to_string()
                }
                Err(e) => e.chars().take(300).collect(),
            };
            *map.entry(key).or_default() += 1;
        }
        Ok(())
    });
    for (k, v) in map {
        println!("{v} {k}");
    }
}

#[test]
fn dbg_tile() {
    use furiosa_visa_rules::command::FillId;
    use furiosa_visa_rules::lower::Tensor;
    use furiosa_visa_rules::mapping::Expr;
    use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
    use furiosa_visa_rules::tensor::Shape;
    let axes = Axes::parse("N=3,InH=11,C=32,P=12").unwrap();
    let m = |t: &str| parse_mapping(t, &axes).unwrap();
    for from in [
        "N, InH = 10 # 11, C",
        "N, [InH = 10 / 2, InH = 10 % 2] # 11, C",
        "N, InH = 10, C",
        "N, InH, C",
        "N, P, C",
        "N, P = 10 # 12, C",
        "N, InH = 10 / 2, InH = 10 % 2, C",
    ] {
        for index in ["InH = 10 % 2", "InH % 2", "P % 2", "P = 10 % 2", "InH = 10"] {
            let t = match parse_mapping(from, &axes)
                .ok()
                .and_then(|f| Tensor::new(Shape::hbm(I8, &Expr::Identity, f), 0, FillId(1)).ok())
            {
                Some(t) => t,
                None => {
                    println!("{from} | no tensor");
                    continue;
                }
            };
            let Ok(i) = parse_mapping(index, &axes) else {
                println!("{index} | no index");
                continue;
            };
            let r = t.tile_of(i, 1, m("N, C"), 1);
            println!("{from} | {index} | {}", r.err().map_or("ok".into(), |e| e.to_string()));
        }
    }
}
