//! Random chains on random values tell operators, modes and readings apart: a library that confuses two of them
//! is found.

use reference::random::Random;
use reference::vector::chain::{BinaryMode, Chain, Data, Operands, Step, TernaryMode};
use reference::vector::generate::random_chain;
use reference::vector::operators::{Binary, ClipF32, ClipI32, Fxp, IntraOp, LogicI32, Reading, ZeroOrder};
use reference::vector::reduce::{Lane, fold};
use reference::vector::run::{Snapshot, run};
use reference::vector::values::{random_data, random_number};
use std::collections::BTreeMap;

/// Chains per test. They are always the same ones.
const CHAINS: u64 = 900;

/// The groups of two snapshots differ in a lane that is not open.
fn differ(a: &Snapshot, b: &Snapshot) -> bool {
    let lanes = |snapshot: &Snapshot| snapshot.groups.concat();
    lanes(a).iter().zip(&lanes(b)).any(|(a, b)| a != b && *a != Lane::Open && *b != Lane::Open)
}

/// Operators of the same unit: they can stand for each other in every chain.
fn siblings(op: Binary) -> Vec<Binary> {
    use {ClipF32 as F, ClipI32 as I, LogicI32 as L};
    let fxp = |list: &[Fxp]| list.iter().map(|op| Binary::Fxp(*op)).collect();
    match op {
        Binary::Fxp(op) => match op {
            Fxp::AddFxp | Fxp::AddFxpSat | Fxp::SubFxp | Fxp::SubFxpSat => {
                fxp(&[Fxp::AddFxp, Fxp::AddFxpSat, Fxp::SubFxp, Fxp::SubFxpSat])
            }
            Fxp::LeftShift | Fxp::LeftShiftSat => fxp(&[Fxp::LeftShift, Fxp::LeftShiftSat]),
            Fxp::MulFxp | Fxp::MulInt => fxp(&[Fxp::MulFxp, Fxp::MulInt]),
            _ => fxp(&[Fxp::LogicRightShift, Fxp::ArithRightShift, Fxp::ArithRightShiftRound]),
        },
        Binary::LogicI32(L::LogicRightShift | L::ArithRightShift) => {
            [L::LogicRightShift, L::ArithRightShift].map(Binary::LogicI32).to_vec()
        }
        Binary::ClipI32(I::Min | I::AbsMin) => [I::Min, I::AbsMin].map(Binary::ClipI32).to_vec(),
        Binary::ClipI32(I::Max | I::AbsMax) => [I::Max, I::AbsMax].map(Binary::ClipI32).to_vec(),
        Binary::ClipI32(_) => [I::AddFxp, I::AddFxpSat].map(Binary::ClipI32).to_vec(),
        Binary::ClipF32(F::Min | F::AbsMin) => [F::Min, F::AbsMin].map(Binary::ClipF32).to_vec(),
        Binary::ClipF32(F::Max | F::AbsMax) => [F::Max, F::AbsMax].map(Binary::ClipF32).to_vec(),
        _ => vec![],
    }
}

fn for_chains(mut check: impl FnMut(&Chain, &Data, &[Snapshot])) {
    for seed in 0..CHAINS {
        let mut random = Random::new(seed);
        let chain = random_chain(&mut random);
        let data = random_data(&mut random, &chain, 2);
        let snapshots = run(&chain, &data, &Reading::default()).expect("a legal chain");
        check(&chain, &data, &snapshots);
    }
}

/// Whether the stream after a step, which is replaced, differs.
fn shows(chain: &Chain, data: &Data, snapshots: &[Snapshot], place: usize, step: Step) -> bool {
    let mut other = chain.clone();
    other.steps[place] = step;
    let found = run(&other, data, &Reading::default()).expect("a chain that is as legal");
    differ(&found[place], &snapshots[place])
}

#[test]
fn operators_of_one_unit_are_told_apart() {
    let mut found: BTreeMap<[Binary; 2], usize> = BTreeMap::new();
    for_chains(|chain, data, snapshots| {
        for (place, step) in chain.steps.iter().enumerate() {
            let Step::Binary { op, mode, operands } = step else { continue };
            for sibling in siblings(*op).into_iter().filter(|sibling| sibling != op) {
                let step = Step::Binary { op: sibling, mode: *mode, operands: operands.clone() };
                let times = found.entry([*op, sibling]).or_default();
                *times += usize::from(shows(chain, data, snapshots, place, step));
            }
        }
    });
    assert!(found.len() >= 32 && found.values().all(|times| *times >= 3), "{found:#?}");
}

#[test]
fn modes_are_told_apart() {
    let (mut binary, mut ternary) = (BTreeMap::new(), BTreeMap::new());
    let reads_stash = |operands: &Operands| {
        operands.list().iter().any(|operand| operand.source == reference::vector::chain::Source::Stash)
    };
    for_chains(|chain, data, snapshots| {
        for (place, step) in chain.steps.iter().enumerate() {
            match step {
                Step::Binary { op, mode, operands } if !reads_stash(operands) => {
                    for other in BinaryMode::ALL.into_iter().filter(|other| other != mode) {
                        let step = Step::Binary { op: *op, mode: other, operands: operands.clone() };
                        *binary.entry([*mode, other]).or_insert(0) +=
                            usize::from(shows(chain, data, snapshots, place, step));
                    }
                }
                Step::Ternary { op, mode, operands } if !reads_stash(operands) => {
                    for other in TernaryMode::ALL.into_iter().filter(|other| other != mode) {
                        let step = Step::Ternary { op: *op, mode: other, operands: operands.clone() };
                        *ternary.entry([*mode, other]).or_insert(0) +=
                            usize::from(shows(chain, data, snapshots, place, step));
                    }
                }
                _ => {}
            }
        }
    });
    assert!(binary.len() == 12 && binary.values().all(|times| *times >= 20), "{binary:#?}");
    // A product has its arguments in either order: two pairs of modes are the same.
    let same = [[TernaryMode::Mode012, TernaryMode::Mode102], [TernaryMode::Mode021, TernaryMode::Mode120]];
    for (pair, times) in &ternary {
        let [a, b] = *pair;
        let arguments = |mode: TernaryMode| {
            let [x, y, z] = mode.arguments();
            [x.min(y), x.max(y), z]
        };
        let equal = arguments(a) == arguments(b);
        assert_eq!(*times == 0, equal, "{pair:?}: {times}");
        assert!(!equal || same.contains(pair) || same.contains(&[b, a]), "{pair:?}");
    }
    assert_eq!(ternary.len(), 42);
}

#[test]
fn readings_are_told_apart() {
    let plain = Reading::default();
    let mut found = [0; 4];
    for_chains(|chain, data, snapshots| {
        let readings = [
            Reading { first_match: false, ..plain },
            Reading { zeros: ZeroOrder::Second, ..plain },
            Reading { zeros: ZeroOrder::First, ..plain },
            Reading { skips_unwritten: false, ..plain },
        ];
        for (reading, times) in readings.iter().zip(&mut found) {
            let other = run(chain, data, reading).expect("a legal chain");
            *times += usize::from(other.iter().zip(snapshots).any(|(a, b)| differ(a, b)));
        }
    });
    assert!(found.iter().all(|times| *times >= 5), "{found:?}");
}

/// Sums in another order are other sums.
#[test]
fn orders_of_sums_are_told_apart() {
    let mut random = Random::new(7);
    let mut found = [[0; 2]; 2];
    for _ in 0..500 {
        for (op, found) in [IntraOp::I32AddSat, IntraOp::F32Add].into_iter().zip(&mut found) {
            let kind = op.binary().kind();
            let numbers: Vec<Lane> = (0..6).map(|_| Lane::Is(random_number(&mut random, kind))).collect();
            let sum = |numbers: &[Lane]| fold(op.binary(), numbers, Reading::default());
            let expected = sum(&numbers);
            let reversed: Vec<Lane> = numbers.iter().rev().copied().collect();
            let tree: Vec<Lane> = numbers.chunks(2).map(sum).collect();
            // The tree of four lanes, then the rest.
            let tree = sum(&[sum(&tree[..2]), tree[2]]);
            found[0] += usize::from(sum(&reversed) != expected);
            found[1] += usize::from(tree != expected);
        }
    }
    assert!(found.iter().all(|times| times[0] > 20 && times[1] > 20), "{found:?}");
}
