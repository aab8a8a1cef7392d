//! Calls by which a stream enters the engine, and by which its elements get their execution ids.

use super::operand::NoTensor;
use super::rules::derive_way8;
use super::stage;
use super::tensor::{VectorTensor, add};
use crate::command::VectorStep;
use crate::engine::layout::{StreamLayout, exprs};
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{Enterable, PositionVectorInit};
use crate::mapping::M as _;
use crate::runtime::Tu;
use crate::runtime::fault::accept;
use crate::runtime::late::{planned, planned_check};
use crate::scalar::{Scalar, VeScalar};
pub(crate) use furiosa_visa_rules::engine::vector::enter::BRANCH;
pub use furiosa_visa_rules::engine::vector::enter::{BranchMode, derive_branch, derive_toggle};
pub use furiosa_visa_rules::engine::vector::tag::{Cmp, TagMode};

impl<'l, const T: Tu, P: Enterable, D: Scalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
    /// Enters the Vector Engine: `.vector_intra_slice_branch(BranchMode::Unconditional)` comes next. See
    /// [vector](crate::guide::vector).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 8];
    /// type X = DmTensor<i32, m![1], m![1 # 2], m![S], m![L]>;
    /// /// `y = min(max(3 x - 7, 10), 200)`
    /// fn limited(ctx: &mut Context, x: &X) -> X {
    ///     (ctx.main.begin(x.view()).fetch::<i32, m![1], m![L]>().collect::<m![1], m![L]>())
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Unconditional)
    ///         .vector_fxp(FxpBinaryOp::MulInt, 3)
    ///         .vector_fxp(FxpBinaryOp::SubFxp, 7)
    ///         .vector_clip(ClipBinaryOpI32::Max, 10)
    ///         .vector_clip(ClipBinaryOpI32::Min, 200)
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<i32, m![S, L]>::from_slice(&[50; 2048]);
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = limited(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of 50:
    /// assert_eq!(y[0], 143);
    /// ```
    #[track_caller]
    pub fn vector_init(self) -> StreamTensor<'l, T, PositionVectorInit, D, L>
    where
        D: VeScalar,
    {
        let mut pass = self.pass;
        pass.unit.enter_vector(D::ELEMENT_TYPE, planned!(GUARD of Self));
        StreamTensor::new(self.context, pass)
    }
}

impl<'l, const T: Tu, D: VeScalar, L: StreamLayout> StreamTensor<'l, T, PositionVectorInit, D, L> {
    /// Gives every element its execution id. Operators come next. See [vector](crate::guide::vector), "Groups".
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, L = 8];
    /// type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;
    /// /// `-x` where `x < 0`, `x + 1` elsewhere: the last comparison is the group.
    /// fn folded(ctx: &mut Context, x: &X) -> X {
    ///     let never = InputCmp::F32(InputCmpF32::False);
    ///     let negative = InputCmp::F32(InputCmpF32::Less { boundary: 0.0 });
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Comparison([never, never, never, negative]))
    ///         .vector_logic(LogicBinaryOpF32::BitXor, (-0.0, GroupId::One))
    ///         .vector_clip(ClipBinaryOpF32::Add, (1.0, GroupId::Zero))
    ///         .vector_final()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<f32, m![S, L]>::from_slice(&[2.0, -2.0].repeat(1024));
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = folded(&mut ctx, &x).to_hbm::<m![S, L]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![S, L]>(&mut ctx.pdma)).to_vec();
    /// // Of 2 and -2:
    /// assert_eq!(y[..2], [3.0, 2.0]);
    /// ```
    ///
    /// Refused while compiling: packets that do not have 8 elements.
    ///
    /// # Panics
    /// If a comparison is of another type; if the stream lacks the axis of a toggle; with modes that are not
    /// documented.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn vector_intra_slice_branch(
        self,
        branch: BranchMode,
    ) -> VectorTensor<'l, T, stage::Branch, D, L, D, NoTensor, 0> {
        planned_check!(derive_way8(BRANCH, L::Packet::EXPR));
        self.branch_as(branch)
    }

    /// Gives every element of 8 lanes its execution id.
    #[doc(hidden)]
    #[track_caller]
    pub fn branch_as(self, branch: BranchMode) -> VectorTensor<'l, T, stage::Branch, D, L, D, NoTensor, 0> {
        let branch = accept(BRANCH, derive_branch(branch, D::KIND, exprs::<L>()));
        let mut pass = self.pass;
        add(&mut pass, BRANCH, VectorStep::Branch(branch));
        VectorTensor::new(self.context, pass)
    }

    /// Reads the 32 bits of each element as the other type, as
    /// [`VectorTensor::vector_reinterpret`](VectorTensor::vector_reinterpret) does, which has an example.
    pub fn vector_reinterpret<D2: VeScalar>(self) -> StreamTensor<'l, T, PositionVectorInit, D2, L> {
        let mut pass = self.pass;
        if D::KIND != D2::KIND {
            add(&mut pass, "vector_reinterpret", VectorStep::Reinterpret);
        }
        StreamTensor::new(self.context, pass)
    }

    /// Gives every element its execution id, as [`vector_intra_slice_branch`](Self::vector_intra_slice_branch) does, with
    /// boundaries of the type of the stream. [`Branched`](crate::engine::vector::Branched) has an example.
    ///
    /// # Panics
    /// If the stream lacks the axis of a toggle.
    #[track_caller]
    #[inline(never)]
    pub fn vector_intra_slice_tag(
        self,
        tag: TagMode<D>,
    ) -> VectorTensor<'l, T, stage::Branch, D, L, D, NoTensor, 0> {
        self.vector_intra_slice_branch(tag.into())
    }
}

impl<'l, const T: Tu, D: VeScalar, L: StreamLayout, StashD: VeScalar>
    VectorTensor<'l, T, stage::InterSliceReduce, D, L, StashD, NoTensor, 1>
{
    /// Gives every element its execution id, as [`vector_intra_slice_branch`](StreamTensor::vector_intra_slice_branch) does. Operators come next;
    /// all arithmetic units are free.
    ///
    /// # Panics
    /// As for a stream that enters the engine.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn vector_intra_slice_branch(
        mut self,
        branch: BranchMode,
    ) -> VectorTensor<'l, T, stage::Branch, D, L, D, NoTensor, 1> {
        let branch = accept(BRANCH, derive_branch(branch, D::KIND, exprs::<L>()));
        add(&mut self.pass, BRANCH, VectorStep::Branch(branch));
        VectorTensor::new(self.context, self.pass)
    }

    /// Gives every element its execution id, with boundaries of the type of the stream.
    /// [`Branched`](crate::engine::vector::Branched) has an example.
    ///
    /// # Panics
    /// As for a stream that enters the engine.
    #[track_caller]
    #[inline(never)]
    pub fn vector_intra_slice_tag(
        self,
        tag: TagMode<D>,
    ) -> VectorTensor<'l, T, stage::Branch, D, L, D, NoTensor, 1> {
        self.vector_intra_slice_branch(tag.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Branch, InputCmp, InputCmpF32, InputCmpI32};
    use crate::mapping::{Expr, GuardDigit, Ident};
    use crate::prelude::{axes, m};
    use crate::scalar::VeScalarKind;
    use furiosa_visa_rules::engine::vector::enter::check_comparisons;

    axes![A = 6, B = 8, C = 15, D = 1, Q = 2, R = 2];

    #[test]
    fn an_index_is_the_sum_of_its_digits() {
        let one = <m![1]>::EXPR;
        let stream = [one, one, <m![A / 2 # 4]>::EXPR, <m![B, A % 2]>::EXPR, <m![1 # 8]>::EXPR];
        let digits = derive_toggle(Ident::new("A"), stream).expect("the axis is there");
        let index = |at: [usize; 5]| -> usize {
            digits.iter().map(|d| at[d.variable] / d.base % d.extent * d.weight).sum()
        };
        for (slice, time) in (0..3).flat_map(|s| (0..16).map(move |t| (s, t))) {
            assert_eq!(index([0, 0, slice, time, 0]), 2 * slice + time % 2);
        }
        let error = derive_toggle(Ident::new("C"), stream).expect_err("the axis is not there");
        assert!(error.message().contains("no axis C"), "{error}");
        let alone = [one, one, one, <m![B]>::EXPR, <m![D # 8]>::EXPR];
        let digits = derive_toggle(Ident::new("D"), alone).expect("an axis of one element is there");
        assert!(digits.is_empty());
        // A product that is cut across its axes hides those axes, but no others.
        let cut = [one, one, one, <m![[A, C] / 2, B]>::EXPR, <m![[A, C] % 2 # 8]>::EXPR];
        let derived = |axis| derive_toggle(Ident::new(axis), cut).map_err(|error| error.rule());
        assert_eq!(
            (derived("A").err(), derived("C").err()),
            (Some("toggle product"), Some("toggle product"))
        );
        assert_eq!(derived("D").err(), Some("toggle axis"));
        let digits = derived("B").expect("the product is of other axes");
        assert_eq!(digits.as_slice(), [GuardDigit { variable: 3, base: 1, extent: 8, weight: 1 }]);
    }

    /// Digits in chips, clusters and slices are counted like those in time and lanes.
    #[test]
    fn an_axis_lies_anywhere() {
        let one = <m![1]>::EXPR;
        for variable in 0..5 {
            let mut stream = [one; 5];
            stream[variable] = <m![Q, B]>::EXPR;
            let digits = derive_toggle(Ident::new("Q"), stream).expect("the axis is there");
            assert_eq!(digits.as_slice(), [GuardDigit { variable, base: 8, extent: 2, weight: 1 }]);
        }
    }

    /// Padding inside other digits is counted, too.
    #[test]
    fn an_index_goes_around_its_padding() {
        let one = <m![1]>::EXPR;
        let digits = derive_toggle(Ident::new("A"), [one, one, one, <m![B, A % 2 # 3]>::EXPR, one]);
        let digits = digits.expect("the axis is there");
        let [digit] = digits.as_slice() else { panic!("it has one digit") };
        for (time, index) in (0..24).map(|time| (time, time % 3)).filter(|(_, index)| *index < 2) {
            assert_eq!(time / digit.base % digit.extent * digit.weight, index, "time {time}");
        }
    }

    /// A digit with others inside it starts again behind its padding. A counter follows it if the period is a multiple
    /// of the positions inside, or if there is only one period.
    #[test]
    fn an_index_starts_again_behind_its_padding() {
        let one = <m![1]>::EXPR;
        let derived = |time| derive_toggle(Ident::new("Q"), [one, one, one, time, one]);
        let index = |time: &'static Expr, period: usize| {
            let digits = derived(time).expect("the axis is there");
            let [digit] = digits.as_slice() else { panic!("it has one digit") };
            for at in (0..time.checked_size().expect("it has a size")).filter(|at| at % period < 4) {
                assert_eq!(at / digit.base % digit.extent * digit.weight, at % period / 2, "{time} at {at}");
            }
        };
        index(<m![B, [Q, R] # 6]>::EXPR, 6);
        index(<m![[Q, R] # 5]>::EXPR, 5);
        let error =
            derived(<m![B, [Q, R] # 5]>::EXPR).expect_err("position 5 is the first one of the second round");
        assert_eq!(
            (error.rule(), error.message()),
            (
                "toggle padding",
                "vector_intra_slice_branch: in `m![B, [Q, R] # 5]` the axis Q starts again after 5 positions, which is no \
                 multiple of the 2 inside of it, so that no counter follows it; help: pad to a multiple of 2"
            )
        );
    }

    #[test]
    fn words_of_refusals() {
        #[track_caller]
        fn refused(axis: &'static str, time: &'static Expr) -> (&'static str, String) {
            let one = <m![1]>::EXPR;
            let error =
                derive_toggle(Ident::new(axis), [one, one, one, time, one]).expect_err("it is refused");
            (error.rule(), error.message().to_string())
        }
        let text = "vector_intra_slice_branch: the stream has no axis C, whose index would make the groups; \
                    help: name an axis of Time or Packet";
        assert_eq!(refused("C", <m![A, B]>::EXPR), ("toggle axis", text.to_string()));
        let text = "vector_intra_slice_branch: `m![[A, C] / 2]` cuts a product across its digits, so that no counter \
                    follows the axis A; help: cut the product at its axes";
        assert_eq!(refused("A", <m![[A, C] / 2]>::EXPR), ("toggle product", text.to_string()));
    }

    /// A command has at most eight digits of an axis.
    #[test]
    fn eight_digits_make_an_index() {
        use crate::engine::vector::many_digits::{AXIS, digits_of_two};
        let one = <m![1]>::EXPR;
        let derived = |count| {
            let stream = [one, one, one, digits_of_two(0, count), one];
            derive_toggle(Ident::new(AXIS), stream).map(|digits| digits.len()).map_err(|error| error.rule())
        };
        assert_eq!((derived(8), derived(9)), (Ok(8), Err("too many factors")));
    }

    #[test]
    fn comparisons_are_of_the_type_of_the_stream() {
        let ints = [InputCmp::I32(InputCmpI32::True); 4];
        let mut mixed = ints;
        mixed[2] = InputCmp::F32(InputCmpF32::False);
        assert!(check_comparisons(VeScalarKind::I32, &ints).is_ok());
        let text = check_comparisons(VeScalarKind::I32, &mixed).expect_err("one is of floats").to_string();
        assert!(text.contains("Type mismatch: InputCmp::F32 used with i32 data"), "{text}");
        let text = check_comparisons(VeScalarKind::F32, &ints).expect_err("all are of integers").to_string();
        assert!(text.contains("Type mismatch: InputCmp::I32 used with f32 data"), "{text}");
    }

    #[test]
    fn modes_become_branches() {
        let one = <m![1]>::EXPR;
        let stream = [one, one, one, <m![A]>::EXPR, <m![B]>::EXPR];
        let derived = |mode| derive_branch(mode, VeScalarKind::I32, stream).map_err(|error| error.rule());
        assert_eq!(derived(BranchMode::Unconditional), Ok(Branch::Unconditional));
        let [ints, floats] = [InputCmp::I32(InputCmpI32::True), InputCmp::F32(InputCmpF32::True)];
        assert_eq!(derived(BranchMode::Comparison([ints; 4])), Ok(Branch::Comparison([ints; 4])));
        for place in 0..4 {
            let mut all = [ints; 4];
            all[place] = floats;
            assert_eq!(derived(BranchMode::Comparison(all)), Err("comparison type"), "{place}");
        }
        let toggle = |name| BranchMode::AxisToggle { axis: Ident::new(name) };
        let Ok(Branch::AxisToggle { digits }) = derived(toggle("A")) else { panic!("the axis is there") };
        assert_eq!(digits.as_slice(), [GuardDigit { variable: 3, base: 1, extent: 6, weight: 1 }]);
        assert_eq!(derived(toggle("C")), Err("toggle axis"));
        let modes = [BranchMode::Unconditional, toggle("A"), BranchMode::Comparison([ints; 4])];
        assert_eq!(modes.map(|mode| mode.to_string()), ["Unconditional", "AxisToggle along A", "Comparison"]);
        let modes = [BranchMode::ValidCount, BranchMode::Vrf, BranchMode::default()];
        assert_eq!(modes.map(|mode| mode.to_string()), ["ValidCount", "Vrf", "Unconditional"]);
    }

    /// An axis of one element has no digit, wherever it is named.
    #[test]
    fn an_axis_of_one_element_is_named_anywhere() {
        let one = <m![1]>::EXPR;
        for time in [
            <m![D, B]>::EXPR,
            <m![B, D]>::EXPR,
            <m![D # 8]>::EXPR,
            <m![D = 1]>::EXPR,
            <m![D / 1]>::EXPR,
            <m![D % 1]>::EXPR,
        ] {
            let digits = derive_toggle(Ident::new("D"), [one, one, one, time, one]);
            assert!(digits.is_ok_and(|digits| digits.is_empty()), "{time}");
            let other = derive_toggle(Ident::new("C"), [one, one, one, time, one]);
            assert_eq!(other.map_err(|error| error.rule()).err(), Some("toggle axis"), "{time}");
        }
    }

    #[test]
    fn modes_without_a_meaning() {
        for mode in [BranchMode::ValidCount, BranchMode::Vrf] {
            let error = derive_branch(mode, VeScalarKind::I32, [<m![1]>::EXPR; 5]).expect_err("undocumented");
            let (rule, text) = (error.rule(), error.message());
            assert!(rule == "branch mode" && text.contains(&format!("BranchMode::{mode} ")), "{error}");
        }
    }
}
