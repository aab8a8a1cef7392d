use reference::mapping::{Coordinates, Map, Name, joint_table};
use reference::numbers::Number;
use reference::vector::chain::Shape;
use reference::vector::operators::{InterOp, Reading};
use reference::vector::reduce::*;
use reference::vector::rules::Rule;

const AXES: &[(&str, usize)] =
    &[("W", 5), ("L", 8), ("V", 3), ("R", 12), ("T", 9), ("G", 2), ("J", 4), ("K", 2), ("X", 4), ("Y", 2)];

fn map(text: &str) -> Map {
    Map::parse(text, AXES)
}

fn intra_rule(time: &str, packet: &str, axis: &str, time2: &str, packet2: &str) -> Option<Rule> {
    let shape = Shape { slice: Map::One, time: map(time), packet: map(packet) };
    intra(&shape, axis, &map(time2), &map(packet2)).err().map(|(rule, _)| rule)
}

#[test]
fn outputs_of_a_reduce_within_a_slice() {
    assert_eq!(intra_rule("W, L / 4", "L % 4", "W", "L / 4", "L % 4"), None);
    assert_eq!(intra_rule("W, L / 4", "L % 4", "L", "W", "1 # 4"), None);
    assert_eq!(intra_rule("R / 4, W", "R % 4", "R", "W", "1 # 4"), None);
    assert_eq!(intra_rule("W, 1 # 2", "V # 4", "V", "W, 1 # 2", "1 # 4"), None);
    assert_eq!(intra_rule("W # 8, R / 4 % 3", "L % 4", "R", "W # 8", "L % 4"), None);
    assert_eq!(intra_rule("W, L / 4", "L % 4", "W", "L / 4, G", "L % 4"), Some(Rule::ReduceDivide));
    assert_eq!(intra_rule("W, G", "L % 4", "W", "1", "L % 4"), Some(Rule::ReduceOtherAxis));
    assert_eq!(intra_rule("W, L / 4", "L % 4", "W", "1", "L % 4"), Some(Rule::ReduceOtherAxis));
    assert_eq!(intra_rule("W, L / 4", "L % 4", "W", "L / 4", "1 # 4"), Some(Rule::ReduceOtherAxis));
    assert_eq!(intra_rule("W, L / 4", "L % 4", "W", "L / 4", "L % 4 # 8"), Some(Rule::ReducePacket));
    assert_eq!(intra_rule("W, G", "X", "W", "G", "1 # 4"), Some(Rule::ReduceOtherAxis));
    assert_eq!(intra_rule("R / 4", "R % 4", "R", "R / 4", "1 # 4"), Some(Rule::ReduceNotFull));
    assert_eq!(intra_rule("R / 4", "R % 4", "R", "1", "R % 4"), Some(Rule::ReduceNotFull));
    assert_eq!(intra_rule("R / 4", "R % 4", "R", "1", "1"), Some(Rule::ReducePacket));
    assert_eq!(intra_rule("W", "X", "G", "W", "X"), Some(Rule::ReduceUnclear));
    assert_eq!(intra_rule("G, W, V", "X", "W", "V, G", "X"), Some(Rule::ReduceUnclear));
}

#[test]
fn eight_accumulators() {
    assert_eq!(intra_rule("W, L", "X", "W", "L", "X"), None);
    assert_eq!(intra_rule("W, T", "X", "W", "T", "X"), Some(Rule::ReduceSlots));
    assert_eq!(intra_rule("T, W", "X", "W", "T", "X"), None);
    assert_eq!(intra_rule("W, J, 1 # 2", "X", "W", "J, 1 # 2", "X"), None);
    assert_eq!(intra_rule("W, L, 1 # 2", "X", "W", "L, 1 # 2", "X"), Some(Rule::ReduceSlots));
    assert_eq!(intra_rule("R / 4, T, R % 4", "X", "R", "T", "X"), Some(Rule::ReduceSlots));
    assert_eq!(intra_rule("T", "X", "X", "T", "1 # 4"), None);
}

fn inter_rule(slice: &str, time: &str, slice2: &str, time2: &str) -> Result<Vec<Name>, Rule> {
    let shape = Shape { slice: map(slice), time: map(time), packet: map("L") };
    inter(&shape, &map(slice2), &map(time2)).map_err(|(rule, _)| rule)
}

#[test]
fn outputs_of_a_reduce_between_slices() {
    let j = Ok(vec![Name::from("J")]);
    assert_eq!(inter_rule("G, J", "V, W", "G, 1 # 4", "V, W"), j);
    assert_eq!(inter_rule("G, J", "V, W", "G, X", "V, W"), j);
    assert_eq!(inter_rule("G, J", "X, W", "G, X", "W"), j);
    assert_eq!(inter_rule("G, J", "V, K", "G, Y, K", "V"), j);
    assert_eq!(inter_rule("X, J", "V, K", "X / 2, X % 2, 1 # 4", "V, K"), j);
    assert_eq!(inter_rule("G, J", "X / 2, X % 2, V", "G, X", "V"), j);
    assert_eq!(inter_rule("G, J", "X, V", "G, X / 2, 1 # 2", "X % 2, V"), j);
    assert_eq!(inter_rule("G, J", "V, K", "G, K, 1 # 2", "V"), j);
    assert_eq!(inter_rule("G, K, Y", "W", "G, 1 # 4", "W"), Ok(vec![Name::from("K"), Name::from("Y")]));
    assert_eq!(inter_rule("G, J", "W", "G", "W"), Err(Rule::InterSize));
    assert_eq!(inter_rule("G, J", "V, W", "G, X", "V"), Err(Rule::InterTime));
    assert_eq!(inter_rule("G, J", "V, W", "G, X", "W, V"), Err(Rule::InterTime));
    assert_eq!(inter_rule("J, G", "W", "1 # 4, G", "W"), Err(Rule::InterOrder));
    assert_eq!(inter_rule("G, J, K", "W", "G, K, 1 # 4", "W"), Err(Rule::InterNotInnermost));
    assert_eq!(inter_rule("G, K, J", "W", "K, G, X", "W"), Err(Rule::InterOrder));
    assert_eq!(inter_rule("G, J", "X, W", "G, X", "X, W"), Err(Rule::InterFactor));
    assert_eq!(inter_rule("G, J", "W", "G, J", "W"), Err(Rule::InterUnclear));
}

#[test]
fn results_of_a_reduce_between_slices() {
    let (from, to) = ([map("G, J"), map("K"), Map::One], [map("G, Y, K"), Map::One, Map::One]);
    let (from, to) = (from.each_ref(), to.each_ref());
    let (from, to) = (joint_table(&from), joint_table(&to));
    let lanes: Vec<Lane> = (0..16).map(|k| Lane::Is(Number::Integer(k))).collect();
    let sums = inter_values(InterOp::I32Add, &[Name::from("J")], (&from, &lanes), &to, Reading::default());
    // Slice g, j, step k holds 8g + 2j + k: the sum over j is 32g + 12 + 4k, and Y repeats it.
    let expected = [12, 16, 12, 16, 44, 48, 44, 48].map(|value| Lane::Is(Number::Integer(value)));
    assert_eq!(sums, expected);
}

/// Of two axes the last is folded first: saturation shows it.
#[test]
fn several_axes_are_nested() {
    let from = joint_table(&[&map("Y, K")]);
    let lanes = [i32::MAX, 1, -1, -1].map(|value| Lane::Is(Number::Integer(value)));
    let names = [Name::from("K"), Name::from("Y")];
    let op = InterOp::I32AddSat;
    let sum = inter_values(op, &names, (&from, &lanes), &[Some(Coordinates::new())], Reading::default());
    // For each K over Y: MAX - 1, and 1 - 1.
    assert_eq!(sum, [Lane::Is(Number::Integer(i32::MAX - 1))]);
}

#[test]
fn folds_begin_with_the_first_element() {
    let lanes =
        |values: &[i32]| values.iter().map(|value| Lane::Is(Number::Integer(*value))).collect::<Vec<_>>();
    let sum = |values: &[i32]| fold(InterOp::I32AddSat.binary(), &lanes(values), Reading::default());
    assert_eq!(sum(&[i32::MAX, 1, -1]), Lane::Is(Number::Integer(i32::MAX - 1)));
    assert_eq!(sum(&[1, -1, i32::MAX]), Lane::Is(Number::Integer(i32::MAX)));
    assert_eq!(sum(&[]), Lane::Absent);
    // Nothing is added before the first element: a sum of negative zeros keeps its sign.
    let zero = Lane::Is(Number::Real(-0.0));
    assert_eq!(fold(InterOp::F32Add.binary(), &[zero, Lane::Absent, zero], Reading::default()), zero);
}
