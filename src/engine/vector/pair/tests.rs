//! Tests of the axis of the groups, and of the elements that operands are for.

use super::super::operand::VeRhs;
use super::*;
use crate::command::{GroupId, OperandSource};
use crate::prelude::{axes, m};

axes![W = 5, I = 2, L = 8, H = 3, K = 4, R = 2];

#[track_caller]
fn step<X: AxisName, Time: M, Tile: M, Split: M>() -> Result<usize, &'static str> {
    derive_unzip(&UnzipPlan::<X, Time, Tile, Split, m![L]>::REQUEST).map_err(|error| {
        assert!(error.message().contains("; help: "), "{error}");
        error.rule()
    })
}

#[test]
fn the_axis_is_anywhere_in_time() {
    assert_eq!(step::<I, m![W, I], m![W, 1 # 2], m![W]>(), Ok(8));
    assert_eq!(step::<I, m![I, W], m![1 # 2, W], m![W]>(), Ok(40));
    assert_eq!(step::<I, m![R, I], m![R, 1 # 2], m![R]>(), Ok(8), "another axis of 2 is outside");
    assert_eq!(step::<I, m![I, R], m![1 # 2, R], m![R]>(), Ok(16), "or inside");
    assert_eq!(step::<I, m![W, I, K], m![W, 1 # 2, K], m![W, K]>(), Ok(32));
    assert_eq!(step::<I, m![W # 6, I, H # 4], m![W # 6, 1 # 2, H # 4], m![W # 6, H # 4]>(), Ok(32));
    assert_eq!(step::<I, m![W, I], m![W, 1 # 2], m![W, 1 # 2]>(), Err("unzip time"));
    assert_eq!(step::<I, m![W, I], m![W], m![W]>(), Err("unzip time"));
    assert_eq!(step::<I, m![W, K], m![W, K], m![W]>(), Err("unzip axis"));
    assert_eq!(step::<K, m![W, K], m![W, 1 # 4], m![W]>(), Err("unzip size"));
    assert_eq!(step::<I, m![I # 4], m![1 # 4], m![1 # 2]>(), Ok(8));
    assert_eq!(step::<I, m![I # 3], m![1 # 2], m![1]>(), Err("unzip padding"));
    let narrow = derive_unzip(&UnzipPlan::<I, m![W, I], m![W, 1 # 2], m![W], m![L % 4]>::REQUEST);
    assert_eq!(narrow.map_err(|error| error.rule()), Err("vector packet"));
    let error = derive_unzip(&UnzipPlan::<I, m![I # 3], m![1 # 2], m![1], m![L]>::REQUEST);
    assert_eq!(
        error.expect_err("it is refused").message(),
        "vector_intra_slice_unzip: time `m![I # 3]` has 3 steps, which are no whole pairs along the axis I; \
         help: pad what is outside of I, not the axis itself"
    );
}

/// An operand for one group of elements does nothing in the other one.
#[test]
fn operands_are_for_their_group() {
    use ValidBranchIds::{ValidAlways, ValidGroup};
    let [zero, one] = [GroupId::Zero, GroupId::One].map(|id| ValidGroup { id });
    assert_eq!([0, 1].map(of_group), [zero, one]);
    let ids = |group| [ValidAlways, zero, one].map(|ids| ids_in_group(group, ids));
    assert_eq!(ids(0), [Some(zero), Some(zero), None]);
    assert_eq!(ids(1), [Some(one), None, Some(one)]);
    type Operand = VeBranchOperand<f32, m![1]>;
    let inputs = |operands| -> Vec<(ValidBranchIds, OperandSource)> {
        let all = group_inputs::<f32, m![1]>(operands, &mut Vec::new()).expect("constants need no stash");
        all.into_iter().map(|input| (input.ids, input.source)).collect()
    };
    let constant = |v: f32| OperandSource::Constant(v.to_bits());
    let always = |v| Some(Operand::always(VeRhs::constant(v)));
    assert_eq!(inputs([always(1.0), always(2.0)]), [(zero, constant(1.0)), (one, constant(2.0))]);
    assert_eq!(inputs([None, always(2.0)]), [(one, constant(2.0))]);
    let group = |v, id| Some(Operand::group(VeRhs::constant(v), id));
    assert_eq!(inputs([group(1.0, GroupId::One), group(2.0, GroupId::One)]), [(one, constant(2.0))]);
    let error = group_inputs([Some(Operand::stash_always()), None], &mut Vec::new())
        .expect_err("groups have no stash");
    assert_eq!(error.rule(), "stash missing");
}

#[test]
fn functions_are_for_their_groups() {
    use ValidBranchIds::{ValidAlways, ValidGroup};
    let op = FpUnaryOp::Tanh;
    let unary = |ids| Some(VectorStep::Unary { op, ids });
    assert_eq!(group_unary(op, [true, true]), unary(ValidAlways));
    assert_eq!(group_unary(op, [true, false]), unary(ValidGroup { id: GroupId::Zero }));
    assert_eq!(group_unary(op, [false, true]), unary(ValidGroup { id: GroupId::One }));
    assert_eq!(group_unary(op, [false, false]), None);
}
