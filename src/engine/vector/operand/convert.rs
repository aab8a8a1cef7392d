//! Arguments that calls take as operands: the traits of the arguments, and the types that implement them.

use super::derive::OperandPlan;
use super::{
    OPERATION, Operands, Stash, TernaryOperand, TernaryOperands, VeBranchOperand, VeRhs, check_always,
};
use crate::command::{GroupId, TagGuard, ValidBranchIds};
use crate::engine::vector::array_vec::ArrayVec;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::when_late;
use crate::scalar::VeScalar;
use crate::spec::VECTOR_BRANCHES;
use crate::tensor::VrfTensor;

when_late! {
    use crate::error::PlanError;
    use crate::runtime::late::Refusable;
    use crate::text::Text;
}

/// One operand without a condition: a number, [`Stash`], `&VrfTensor` or a [`VeRhs`].
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand of a stream of `{D}`",
    note = "operands are numbers of type `{D}`, `Stash`, `&VrfTensor`, and `VeRhs`; float literals of `f32` are written `1.0`"
)]
pub trait IntoRhs<D: VeScalar, TargetMapping: M> {
    /// Evaluating it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operand.
    fn into_rhs(self) -> VeRhs<D, TargetMapping>;
}

/// Operands of a binary operator: one, with or without a condition, or a list of at most five.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand of a stream of `{D}`",
    note = "operands are numbers of type `{D}`, `Stash`, `&VrfTensor`, `VeRhs`, `VeBranchOperand`, `(operand, GroupId)`, and \
            arrays of up to five `VeBranchOperand`"
)]
pub trait IntoOperands<D: VeScalar, TargetMapping: M> {
    /// Evaluating it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operands in order.
    fn into_operands(self) -> ArrayVec<VeBranchOperand<D, TargetMapping>, 5>;
}

/// The operand of one of two groups, or `()` to leave the group as it is.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand of a group of `{D}`",
    note = "operands are `()`, which leaves the group as it is, numbers of type `{D}`, `&VrfTensor`, `VeRhs`, and \
            `VeBranchOperand`; a group takes one operand"
)]
pub trait IntoGroupOperand<D: VeScalar, TargetMapping: M> {
    /// Evaluating it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operand, if the group has one.
    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>>;
}

/// Operands of a ternary operator: a pair, with or without a condition, or a list of at most five.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` are no operands of a ternary operator",
    note = "operands are `(operand, f32)`, `((operand, f32), GroupId)`, `TernaryOperand`, and arrays of up to five of them"
)]
pub trait IntoTernaryOperands<TargetMapping: M> {
    /// Evaluating it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operands in order.
    fn into_ternary_operands(self) -> ArrayVec<TernaryOperand<TargetMapping>, 5>;
}

/// The operands of one of two groups, or `()` to leave the group as it is.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` are no operands of a group of a ternary operator",
    note = "operands are `()`, which leaves the group as it is, `(operand, f32)`, and `TernaryOperand`"
)]
pub trait IntoGroupTernaryOperand<TargetMapping: M> {
    /// Evaluating it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operands, if the group has them.
    fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>>;
}

/// [`IntoGroupOperand`] by another name.
pub use IntoGroupOperand as GroupOperand;
/// [`IntoGroupTernaryOperand`] by another name.
pub use IntoGroupTernaryOperand as GroupTernaryOperand;

/// Implements one operand in every place that takes one. There is no blanket implementation: literals get their type
/// from the one implementation that fits.
macro_rules! rhs {
    ($([$($generics:tt)*] $operand:ty, $d:ty, $value:ident => $rhs:expr, $check:expr;)*) => { $(
        impl<TargetMapping: M, $($generics)*> IntoRhs<$d, TargetMapping> for $operand {
            const CHECK: () = $check;

            #[track_caller]
            #[inline]
            fn into_rhs(self) -> VeRhs<$d, TargetMapping> {
                let $value = self;
                $rhs
            }
        }

        impl<TargetMapping: M, $($generics)*> From<$operand> for VeBranchOperand<$d, TargetMapping> {
            #[track_caller]
            fn from(operand: $operand) -> Self {
                Self::always(operand.into_rhs())
            }
        }

        impl<TargetMapping: M, $($generics)*> IntoOperands<$d, TargetMapping> for $operand {
            const CHECK: () = $check;

            #[track_caller]
            fn into_operands(self) -> Operands<$d, TargetMapping> {
                ArrayVec::new([VeBranchOperand::always(self.into_rhs())])
            }
        }

        impl<TargetMapping: M, $($generics)*> IntoGroupOperand<$d, TargetMapping> for $operand {
            const CHECK: () = $check;

            #[track_caller]
            fn into_group_operand(self) -> Option<VeBranchOperand<$d, TargetMapping>> {
                Some(VeBranchOperand::always(self.into_rhs()))
            }
        }
    )* };
}

rhs! {
    [] i32, i32, v => VeRhs::Const { v }, ();
    [] f32, f32, v => VeRhs::Const { v }, ();
    [D: VeScalar] Stash, D, _stash => VeRhs::Stash, ();
    [D: VeScalar] VeRhs<D, TargetMapping>, D, rhs => rhs, ();
    [D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M] &VrfTensor<D, Chip, Cluster, Slice, Element>, D,
        vrf => VeRhs::vrf(vrf),
        { let _ = OperandPlan::<Chip, Cluster, Slice, Element, TargetMapping>::TRANSFER; };
}

impl<TargetMapping: M> From<i32> for VeRhs<i32, TargetMapping> {
    fn from(v: i32) -> Self {
        VeRhs::Const { v }
    }
}

impl<TargetMapping: M> From<f32> for VeRhs<f32, TargetMapping> {
    fn from(v: f32) -> Self {
        VeRhs::Const { v }
    }
}

impl<D: VeScalar, TargetMapping: M> From<Stash> for VeRhs<D, TargetMapping> {
    fn from(_: Stash) -> Self {
        VeRhs::Stash
    }
}

impl<D: VeScalar, TargetMapping: M, Chip: M, Cluster: M, Slice: M, Element: M>
    From<&VrfTensor<D, Chip, Cluster, Slice, Element>> for VeRhs<D, TargetMapping>
{
    #[track_caller]
    fn from(vrf: &VrfTensor<D, Chip, Cluster, Slice, Element>) -> Self {
        VeRhs::vrf(vrf)
    }
}

impl<D: VeScalar, TargetMapping: M, R: IntoRhs<D, TargetMapping>, B: Into<ValidBranchIds>> From<(R, B)>
    for VeBranchOperand<D, TargetMapping>
{
    #[track_caller]
    fn from((rhs, ids): (R, B)) -> Self {
        Self { operand: rhs.into_rhs(), valid_branch_ids: ids.into() }
    }
}

impl<D: VeScalar, TargetMapping: M, R: IntoRhs<D, TargetMapping>, B: Into<ValidBranchIds>>
    IntoOperands<D, TargetMapping> for (R, B)
{
    const CHECK: () = R::CHECK;

    #[track_caller]
    fn into_operands(self) -> Operands<D, TargetMapping> {
        ArrayVec::new([self.into()])
    }
}

impl<D: VeScalar, TargetMapping: M> IntoOperands<D, TargetMapping> for VeBranchOperand<D, TargetMapping> {
    const CHECK: () = ();

    fn into_operands(self) -> Operands<D, TargetMapping> {
        ArrayVec::new([self])
    }
}

impl<D: VeScalar, TargetMapping: M> IntoOperands<D, TargetMapping> for Operands<D, TargetMapping> {
    const CHECK: () = ();

    fn into_operands(self) -> Operands<D, TargetMapping> {
        self
    }
}

impl<D: VeScalar, TargetMapping: M, const N: usize> IntoOperands<D, TargetMapping>
    for [VeBranchOperand<D, TargetMapping>; N]
{
    const CHECK: () = assert!(N <= VECTOR_BRANCHES, "{}", TOO_MANY);

    #[track_caller]
    fn into_operands(self) -> Operands<D, TargetMapping> {
        when_late! { accept(OPERATION, at_most(N)); }
        accept(OPERATION, check_always(self.iter().map(|operand| operand.valid_branch_ids)));
        ArrayVec::of(self.into())
    }
}

const TOO_MANY: &str = "vector operand: an operator takes at most five operands; help: use an operator of another unit for the rest";

when_late! {
    /// Refuses a longer list.
    const fn at_most(operands: usize) -> Refusable<()> {
        if operands <= VECTOR_BRANCHES { Ok(()) } else { Err(PlanError::new("operands", Text::new().str(TOO_MANY))) }
    }
}

impl<D: VeScalar, TargetMapping: M> IntoGroupOperand<D, TargetMapping> for () {
    const CHECK: () = ();

    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>> {
        None
    }
}

impl<D: VeScalar, TargetMapping: M> IntoGroupOperand<D, TargetMapping> for VeBranchOperand<D, TargetMapping> {
    const CHECK: () = ();

    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>> {
        Some(self)
    }
}

impl<D: VeScalar, TargetMapping: M> IntoGroupOperand<D, TargetMapping>
    for Option<VeBranchOperand<D, TargetMapping>>
{
    const CHECK: () = ();

    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>> {
        self
    }
}

/// A group, or several, beside a pair of operands.
pub trait BranchIds: Into<ValidBranchIds> {}

impl BranchIds for ValidBranchIds {}
impl BranchIds for GroupId {}
impl BranchIds for TagGuard {}

impl<TargetMapping: M, R: IntoRhs<f32, TargetMapping>> From<(R, f32)> for TernaryOperand<TargetMapping> {
    #[track_caller]
    fn from((rhs, constant): (R, f32)) -> Self {
        Self::always(rhs.into_rhs(), constant)
    }
}

impl<TargetMapping: M, R: IntoRhs<f32, TargetMapping>, B: BranchIds> From<((R, f32), B)>
    for TernaryOperand<TargetMapping>
{
    #[track_caller]
    fn from(((rhs, operand1), ids): ((R, f32), B)) -> Self {
        Self { operand0: rhs.into_rhs(), operand1, valid_branch_ids: ids.into() }
    }
}

macro_rules! ternary {
    ($([$($generics:tt)*] $operand:ty, $check:expr;)*) => { $(
        impl<TargetMapping: M, $($generics)*> IntoTernaryOperands<TargetMapping> for $operand {
            const CHECK: () = $check;

            #[track_caller]
            fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
                ArrayVec::new([self.into()])
            }
        }

        impl<TargetMapping: M, $($generics)*> IntoGroupTernaryOperand<TargetMapping> for $operand {
            const CHECK: () = $check;

            #[track_caller]
            fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>> {
                Some(self.into())
            }
        }
    )* };
}

ternary! {
    [R: IntoRhs<f32, TargetMapping>] (R, f32), R::CHECK;
    [R: IntoRhs<f32, TargetMapping>, B: BranchIds] ((R, f32), B), R::CHECK;
    [] TernaryOperand<TargetMapping>, ();
}

impl<TargetMapping: M> IntoTernaryOperands<TargetMapping> for TernaryOperands<TargetMapping> {
    const CHECK: () = ();

    fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
        self
    }
}

impl<TargetMapping: M, const N: usize> IntoTernaryOperands<TargetMapping>
    for [TernaryOperand<TargetMapping>; N]
{
    const CHECK: () = assert!(N <= VECTOR_BRANCHES, "{}", TOO_MANY);

    #[track_caller]
    fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
        when_late! { accept(OPERATION, at_most(N)); }
        accept(OPERATION, check_always(self.iter().map(|operand| operand.valid_branch_ids)));
        ArrayVec::of(self.into())
    }
}

impl<TargetMapping: M> IntoGroupTernaryOperand<TargetMapping> for () {
    const CHECK: () = ();

    fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>> {
        None
    }
}

impl<TargetMapping: M> IntoGroupTernaryOperand<TargetMapping> for Option<TernaryOperand<TargetMapping>> {
    const CHECK: () = ();

    fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::GroupId;
    use crate::prelude::m;

    fn list(ids: [ValidBranchIds; 2]) -> usize {
        let operand = |valid_branch_ids| TernaryOperand::<m![1]> { valid_branch_ids, ..(1.0, 2.0).into() };
        ids.map(operand).into_ternary_operands().len()
    }

    #[test]
    #[should_panic(expected = "Multiple ValidAlways operands are not allowed (found 2)")]
    fn one_pair_is_for_all() {
        let zero = ValidBranchIds::from(GroupId::Zero);
        assert_eq!(list([zero, ValidBranchIds::ValidAlways]), 2);
        list([ValidBranchIds::ValidAlways; 2]);
    }

    /// Every spelling gives the same operand for the same elements.
    #[test]
    fn spellings_of_operands() {
        type Own = VeBranchOperand<f32, m![1]>;
        let [zero, one] = [GroupId::Zero, GroupId::One].map(ValidBranchIds::from);
        let always = ValidBranchIds::ValidAlways;
        let read = |operand: &Own| match &operand.operand {
            VeRhs::Const { v } => (Some(*v), operand.valid_branch_ids),
            VeRhs::Stash => (None, operand.valid_branch_ids),
            VeRhs::Vrf { .. } => panic!("there is no tensor"),
        };
        let all = |operands: Operands<f32, m![1]>| operands.iter().map(read).collect::<Vec<_>>();
        let of = || VeRhs::constant(2.0);
        assert_eq!(all(1.5.into_operands()), [(Some(1.5), always)]);
        assert_eq!(all(Stash.into_operands()), [(None, always)]);
        assert_eq!(all(of().into_operands()), [(Some(2.0), always)]);
        assert_eq!(all((1.5, GroupId::Zero).into_operands()), [(Some(1.5), zero)]);
        assert_eq!(all((Stash, GroupId::One).into_operands()), [(None, one)]);
        assert_eq!(all((of(), always).into_operands()), [(Some(2.0), always)]);
        assert_eq!(all(Own::group(of(), GroupId::One).into_operands()), [(Some(2.0), one)]);
        assert_eq!(all(Own::stash_group(GroupId::Zero).into_operands()), [(None, zero)]);
        assert_eq!(all(Own::stash_always().into_operands()), [(None, always)]);
        let list = || [Own::from(1.5), (2.5, GroupId::One).into(), Own::from((Stash, GroupId::Zero))];
        let expected = [(Some(1.5), always), (Some(2.5), one), (None, zero)];
        assert_eq!(all(list().into_operands()), expected);
        assert_eq!(all(ArrayVec::new(list()).into_operands()), expected);
        assert_eq!(list().map(|operand| operand.is_stash()), [false, false, true]);
        assert_eq!(list().map(|operand| *operand.valid_branch_ids()), [always, one, zero]);
        let rhs: [VeRhs<f32, m![1]>; 2] = [3.0.into(), Stash.into()];
        assert_eq!(rhs.map(|rhs| read(&Own::always(rhs))), [(Some(3.0), always), (None, always)]);
        let integers: [VeRhs<i32, m![1]>; 2] = [3.into(), 4.into_rhs()];
        assert!(matches!(integers, [VeRhs::Const { v: 3 }, VeRhs::Const { v: 4 }]));

        // One of two groups takes one operand, or none.
        let group = |operand: Option<Own>| operand.as_ref().map(read);
        let none: Option<Own> = ().into_group_operand();
        assert_eq!(group(none), None);
        assert_eq!(group(1.5.into_group_operand()), Some((Some(1.5), always)));
        assert_eq!(group(of().into_group_operand()), Some((Some(2.0), always)));
        assert_eq!(group(Own::group(of(), GroupId::One).into_group_operand()), Some((Some(2.0), one)));
        assert_eq!(group(Some(Own::stash_always()).into_group_operand()), Some((None, always)));
    }

    #[test]
    fn spellings_of_pairs_of_operands() {
        type Own = TernaryOperand<m![1]>;
        let one = ValidBranchIds::from(GroupId::One);
        let always = ValidBranchIds::ValidAlways;
        let read = |operand: &Own| {
            let VeRhs::Const { v } = operand.operand0 else { panic!("it is a number") };
            ((v, operand.operand1), operand.valid_branch_ids)
        };
        let all = |operands: TernaryOperands<m![1]>| operands.iter().map(read).collect::<Vec<_>>();
        assert_eq!(all((1.0, 2.0).into_ternary_operands()), [((1.0, 2.0), always)]);
        assert_eq!(all(((1.0, 2.0), GroupId::One).into_ternary_operands()), [((1.0, 2.0), one)]);
        let list = || [Own::group(3.0.into(), 4.0, GroupId::One), Own::always(1.0.into(), 2.0)];
        let expected = [((3.0, 4.0), one), ((1.0, 2.0), always)];
        assert_eq!(all(list().into_ternary_operands()), expected);
        assert_eq!(all(ArrayVec::new(list()).into_ternary_operands()), expected);
        let group = |operand: Option<Own>| operand.as_ref().map(read);
        assert_eq!(group(().into_group_ternary_operand()), None);
        assert_eq!(group((1.0, 2.0).into_group_ternary_operand()), Some(expected[1]));
        assert_eq!(group(((3.0, 4.0), GroupId::One).into_group_ternary_operand()), Some(expected[0]));
        assert_eq!(group(Some(Own::always(1.0.into(), 2.0)).into_group_ternary_operand()), Some(expected[1]));
    }
}
