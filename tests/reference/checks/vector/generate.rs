//! What random chains meet.

use reference::cases::for_cases;
use reference::vector::chain::{BranchMode, Chain, Condition, Source, Step};
use reference::vector::generate::*;
use reference::vector::operators::Kind;
use reference::vector::operators::Reading;
use reference::vector::reduce::Lane;
use reference::vector::run::run;
use reference::vector::valid_count::{Spelled, is_of};
use reference::vector::values::random_data;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Every chain is legal, and together they meet every operator, mode, stage, operand and placement.
#[test]
fn random_chains_are_legal_and_cover_the_engine() {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut lanes = [0usize; 3];
    let count = for_cases(2500, |random| {
        let chain = random_chain(random);
        let data = random_data(random, &chain, random.seed as usize % 4);
        let snapshots =
            run(&chain, &data, &Reading::default()).map_err(|refusal| format!("{chain}\n{refusal}"))?;
        for lane in &snapshots.last().expect("a step").groups[0] {
            lanes[match lane {
                Lane::Absent => 0,
                Lane::Is(_) => 1,
                Lane::Open => 2,
            }] += 1;
        }
        features(&chain).into_iter().for_each(|feature| *met.entry(feature).or_default() += 1);
        Ok(())
    });
    if count < 2500 {
        return;
    }
    assert!(2 * lanes[1] > lanes[0] && lanes[1] > 10 * lanes[2], "{lanes:?}");
    let rare: Vec<_> = met.iter().filter(|(_, times)| **times < 3).collect();
    assert!(rare.is_empty() && met.len() >= 160, "{} features: {met:#?}", met.len());
}

/// Names of what a chain has.
fn features(chain: &Chain) -> BTreeSet<String> {
    let mut met = BTreeSet::new();
    let mut add = |text: String| _ = met.insert(text);
    let (mut pair, mut order) = (false, Vec::new());
    for step in &chain.steps {
        let text = step.to_string();
        let method = text.split(['(', ':']).next().unwrap_or("").to_string();
        order.push(method.clone());
        pair = (pair || matches!(step, Step::Unzip { .. })) && !matches!(step, Step::Zip { .. });
        let context = if pair { "pair" } else { "single" };
        add(format!("{context} {method}"));
        match step {
            Step::Branch(BranchMode::Comparison(list)) => {
                list.iter().for_each(|one| add(format!("{:?} of {:?}", one.compare, Kind::of(one.boundary))));
            }
            Step::Branch(mode) => add(mode.to_string().split('(').next().unwrap_or("").to_string()),
            Step::Binary { op, mode, operands } => {
                add(format!("{op:?}"));
                add(format!("{mode:?}"));
                for operand in operands.list() {
                    let source = match operand.source {
                        Source::Constant(_) => "constant",
                        Source::Vrf(_) => "register file",
                        Source::Stash => "stash",
                    };
                    let condition = match operand.condition {
                        Condition::Tags { negated, .. } => format!("tags, negated: {negated}"),
                        other => format!("{other:?}"),
                    };
                    add(format!("{context} {source} {condition}"));
                }
            }
            Step::Unary { op, condition, .. } => {
                add(format!("{op:?}"));
                add(format!("function of all: {}", *condition == Condition::Always));
            }
            Step::Ternary { mode, .. } => add(format!("{mode:?}")),
            Step::Zip { op, .. } => add(format!("zip in {:?}", op.cluster())),
            Step::IntraReduce { op, axis, packet, .. } => {
                add(format!("{op:?}"));
                let dims = chain.shape.dims();
                let inside = dims.map(|dim| u8::from(dim.axes().contains_key(axis.as_str())));
                add(format!("reduce of slice, time, packet {inside:?}"));
                add(format!("reduce to {} lanes", packet.elements().min(2)));
                let spelled = dims.map(|dim| Spelled::of(dim).expect("digits of single axes"));
                let own =
                    spelled.iter().flat_map(|spelled| &spelled.digits).filter(|digit| is_of(digit, axis));
                let positions: usize = own.map(|digit| digit.extent).product();
                let size = chain.axes.iter().find(|(name, _)| name == axis).expect("it is an axis").1;
                add(format!("reduce of {inside:?}, padded: {}", positions > size));
            }
            Step::InterReduce { op, .. } => add(format!("{op:?}")),
            _ => {}
        }
    }
    let between = order.iter().position(|method| method == ".vector_inter_slice_reduce");
    add(match between {
        None => "within slices".to_string(),
        Some(0) if order.len() == 1 => "between slices".to_string(),
        Some(0) => "between slices first".to_string(),
        Some(_) => "between slices last".to_string(),
    });
    met
}
