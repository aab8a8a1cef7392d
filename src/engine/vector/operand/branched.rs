//! Operands in slots: an element takes the first slot whose guard admits its execution id.

use super::{
    IntoOperands, IntoRhs, IntoTernaryOperands, OPERATION, Operands, Stash, TernaryOperand, TernaryOperands,
    VeBranchOperand, VeRhs,
};
use crate::command::TagGuard;
use crate::engine::vector::array_vec::ArrayVec;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::scalar::VeScalar;
use crate::tensor::VrfTensor;
use core::marker::PhantomData;
use furiosa_visa_rules::engine::vector::operand::check_slots;

/// Operands with guards: up to three constants, then at most one tensor of the VRF or the stash.
///
/// Slots are tried in the order in which they are written. An element takes the first one whose guard admits its execution
/// id, once; an element without a slot stays as it is. `TagGuard::all()` in the last slot takes the rest.
///
/// ```
/// # use furiosa_visa_std::prelude::*;
/// axes![S = 256, L = 8];
/// type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;
/// /// `x + 1` below 0, `x + 10` from 100 on, and `x + 5` between.
/// fn raised(ctx: &mut Context, x: &X) -> X {
///     use BitReq::{Ignore, One};
///     let low = TagGuard::matches([One, Ignore, Ignore, Ignore]);
///     let high = TagGuard::matches([Ignore, One, Ignore, Ignore]);
///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
///         .vector_init()
///         .vector_intra_slice_tag(TagMode::Comparison([Cmp::Less(0.0), Cmp::Greater(99.0), Cmp::False, Cmp::False]))
///         .vector_clip(ClipBinaryOpF32::Add, Branched::imm(low, 1.0).imm(high, 10.0).imm(TagGuard::all(), 5.0))
///         .vector_final()
///         .commit(AUTO)
/// }
/// # let mut ctx = Context::acquire();
/// # let x = HostTensor::<f32, m![S, L]>::from_slice(&[-2.0, 2.0, 200.0, 0.0].repeat(512));
/// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
/// # let x = x.to_dm(&mut ctx.tdma, AUTO);
/// # let y = raised(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
/// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
/// // Of -2, 2, 200 and 0:
/// assert_eq!(y[..4], [-1.0, 7.0, 210.0, 5.0]);
/// ```
///
/// # Panics
/// A call that takes the slots panics if a guard admits nothing, and if a slot follows one that takes all elements.
#[derive(Clone, Copy, Debug)]
pub struct Branched;

impl Branched {
    /// A first slot with a constant: a number, or two of them for an operator of three arguments.
    pub fn imm<V>(guard: TagGuard, value: V) -> Slots<V, slots::One, slots::Open> {
        Slots { constants: vec![(guard, value)], register_file: slots::Open, count: PhantomData }
    }

    /// A slot with a tensor of the VRF or the stash, and with a number beside it for an operator of three arguments.
    pub fn rf<A>(guard: TagGuard, operand: A) -> Slots<slots::NoConstant, slots::Three, slots::Last<A>> {
        Slots { constants: Vec::new(), register_file: slots::Last(guard, operand), count: PhantomData }
    }
}

/// The slots of [`Branched`]: `Count` constants of type `V`, and what `Rf` says.
#[derive(Clone, Debug)]
pub struct Slots<V, Count, Rf> {
    constants: Vec<(TagGuard, V)>,
    register_file: Rf,
    count: PhantomData<Count>,
}

impl<V, Count, Rf: slots::IsOpen> Slots<V, Count, Rf> {
    /// The next slot, with a constant. Refused while compiling: a fourth one, and one behind `rf`.
    pub fn imm(mut self, guard: TagGuard, value: V) -> Slots<V, Count::More, Rf>
    where
        Count: slots::HasRoom,
    {
        self.constants.push((guard, value));
        Slots { constants: self.constants, register_file: self.register_file, count: PhantomData }
    }

    /// The last slot, with a tensor of the VRF or the stash. Refused while compiling: a second one.
    pub fn rf<A>(self, guard: TagGuard, operand: A) -> Slots<V, Count, slots::Last<A>> {
        Slots { constants: self.constants, register_file: slots::Last(guard, operand), count: PhantomData }
    }
}

/// The states of [`Slots`].
pub mod slots {
    use super::*;

    /// One constant.
    #[derive(Clone, Copy, Debug)]
    pub struct One;
    /// Two constants.
    #[derive(Clone, Copy, Debug)]
    pub struct Two;
    /// Three constants.
    #[derive(Clone, Copy, Debug)]
    pub struct Three;

    /// A number of constants below the limit.
    #[diagnostic::on_unimplemented(
        message = "vector operand: `Branched` has at most three slots with constants",
        note = "an operator takes three constants and one operand of the VRF or the stash; use an operator of another unit for the rest"
    )]
    pub trait HasRoom {
        /// One more.
        type More;
    }

    impl HasRoom for One {
        type More = Two;
    }

    impl HasRoom for Two {
        type More = Three;
    }

    /// No slot of the VRF or the stash yet.
    #[derive(Clone, Copy, Debug)]
    pub struct Open;
    /// A slot of the VRF or the stash.
    #[derive(Clone, Copy, Debug)]
    pub struct Last<A>(pub(super) TagGuard, pub(super) A);

    /// Slots that go on.
    #[diagnostic::on_unimplemented(
        message = "vector operand: no slot of `Branched` follows `.rf(…)`",
        note = "an operator has one operand of the VRF or the stash, and it is the last slot: write the constants before it"
    )]
    pub trait IsOpen {}

    impl IsOpen for Open {}

    /// The type of constants where there are none.
    #[derive(Clone, Copy, Debug)]
    pub enum NoConstant {}

    /// A constant of a stream of `D`.
    #[diagnostic::on_unimplemented(
        message = "vector operand: `{Self}` is no constant of a stream of `{D}`",
        note = "slots with `imm` hold numbers of the type of the stream; a tensor in the VRF and the stash are for `rf`"
    )]
    pub trait Constant<D: VeScalar> {
        /// The number.
        #[doc(hidden)]
        fn number(self) -> D;
    }

    impl Constant<i32> for i32 {
        fn number(self) -> i32 {
            self
        }
    }

    impl Constant<f32> for f32 {
        fn number(self) -> f32 {
            self
        }
    }

    impl<D: VeScalar> Constant<D> for NoConstant {
        fn number(self) -> D {
            match self {}
        }
    }

    /// Constants of an operator of three arguments.
    #[diagnostic::on_unimplemented(
        message = "vector operand: `{Self}` are no constants of an operator of three arguments",
        note = "slots with `imm` hold two numbers: `(1.0, 2.0)`"
    )]
    pub trait TwoConstants {
        /// The numbers.
        #[doc(hidden)]
        fn numbers(self) -> (f32, f32);
    }

    impl TwoConstants for (f32, f32) {
        fn numbers(self) -> (f32, f32) {
            self
        }
    }

    impl TwoConstants for NoConstant {
        fn numbers(self) -> (f32, f32) {
            match self {}
        }
    }

    /// An operand beside the constants: a tensor in the VRF, or the stash.
    #[diagnostic::on_unimplemented(
        message = "vector operand: `{Self}` does not lie in a register file",
        note = "a slot with `rf` holds `&VrfTensor` or `Stash`; numbers are for `imm`"
    )]
    pub trait InRegisters {}

    impl InRegisters for Stash {}
    impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> InRegisters
        for &VrfTensor<D, Chip, Cluster, Slice, Element>
    {
    }

    /// The last slot of a stream of `D`.
    pub trait LastSlot<D: VeScalar, TargetMapping: M> {
        #[doc(hidden)]
        const CHECK: ();
        /// The guard and the operand.
        #[doc(hidden)]
        fn last(self) -> Option<(TagGuard, VeRhs<D, TargetMapping>)>;
    }

    impl<D: VeScalar, TargetMapping: M> LastSlot<D, TargetMapping> for Open {
        const CHECK: () = ();

        fn last(self) -> Option<(TagGuard, VeRhs<D, TargetMapping>)> {
            None
        }
    }

    impl<D: VeScalar, TargetMapping: M, A: IntoRhs<D, TargetMapping> + InRegisters> LastSlot<D, TargetMapping>
        for Last<A>
    {
        const CHECK: () = A::CHECK;

        #[track_caller]
        fn last(self) -> Option<(TagGuard, VeRhs<D, TargetMapping>)> {
            Some((self.0, self.1.into_rhs()))
        }
    }

    /// The last slot of an operator of three arguments.
    pub trait LastTernarySlot<TargetMapping: M> {
        #[doc(hidden)]
        const CHECK: ();
        /// The guard and the operands.
        #[doc(hidden)]
        fn last(self) -> Option<(TagGuard, VeRhs<f32, TargetMapping>, f32)>;
    }

    impl<TargetMapping: M> LastTernarySlot<TargetMapping> for Open {
        const CHECK: () = ();

        fn last(self) -> Option<(TagGuard, VeRhs<f32, TargetMapping>, f32)> {
            None
        }
    }

    impl<TargetMapping: M, A: IntoRhs<f32, TargetMapping> + InRegisters> LastTernarySlot<TargetMapping>
        for Last<(A, f32)>
    {
        const CHECK: () = A::CHECK;

        #[track_caller]
        fn last(self) -> Option<(TagGuard, VeRhs<f32, TargetMapping>, f32)> {
            let (operand, constant) = self.1;
            Some((self.0, operand.into_rhs(), constant))
        }
    }
}

impl<D: VeScalar, TargetMapping: M, V: slots::Constant<D>, Count, Rf: slots::LastSlot<D, TargetMapping>>
    IntoOperands<D, TargetMapping> for Slots<V, Count, Rf>
{
    const CHECK: () = Rf::CHECK;

    #[track_caller]
    fn into_operands(self) -> Operands<D, TargetMapping> {
        let constants = self.constants.into_iter().map(|(guard, v)| (guard, VeRhs::Const { v: v.number() }));
        let slots: Vec<_> = constants.chain(self.register_file.last()).collect();
        accept(OPERATION, check_slots(slots.iter().map(|(guard, _)| *guard)));
        let operand =
            |(guard, operand): (TagGuard, _)| VeBranchOperand { operand, valid_branch_ids: guard.into() };
        ArrayVec::of(slots.into_iter().map(operand).collect())
    }
}

impl<TargetMapping: M, V: slots::TwoConstants, Count, Rf: slots::LastTernarySlot<TargetMapping>>
    IntoTernaryOperands<TargetMapping> for Slots<V, Count, Rf>
{
    const CHECK: () = Rf::CHECK;

    #[track_caller]
    fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
        let constants = self.constants.into_iter().map(|(guard, values)| {
            let (v, operand1) = values.numbers();
            (guard, VeRhs::Const { v }, operand1)
        });
        let slots: Vec<_> = constants.chain(self.register_file.last()).collect();
        accept(OPERATION, check_slots(slots.iter().map(|(guard, ..)| *guard)));
        let operand = |(guard, operand0, operand1): (TagGuard, _, f32)| TernaryOperand {
            operand0,
            operand1,
            valid_branch_ids: guard.into(),
        };
        ArrayVec::of(slots.into_iter().map(operand).collect())
    }
}
