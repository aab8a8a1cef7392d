//! The intra-slice reduce: one element for all elements along an axis, in each slice.
//!
//! ```text
//!   Time m![W], Packet m![L]  ──reduce W──▶  Time m![1], Packet m![L]      sums per lane, over time
//!   Time m![W], Packet m![L % 4]  ──reduce L──▶  Time m![W], Packet m![1 # 4]      sums over the lanes of a packet
//! ```
//!
//! Elements are taken in the order of their index, from the first one on; padding is left out. On the chip the
//! valid-count generator finds the padding: [`super::valid_count`] refuses padding that it cannot express.

use super::operand::TensorState;
use super::stage::{self, CanTransitionTo, Stage, VeOrder, VeTensorContext};
use super::tensor::VectorTensor;
use super::valid_count::{Narrowing, derive_valid_count};
use crate::command::{IntraSliceReduceOpF32, IntraSliceReduceOpI32, VectorStep};
use crate::engine::layout::StreamLayout;
use crate::error::{PlanError, attempt};
use crate::mapping::{AxisName, M};
use crate::runtime::Tu;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::VeScalar;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::vector::reduce::{OPERATION, step};
pub use furiosa_visa_rules::engine::vector::reduce::{ReduceConfig, ReduceRequest, derive_reduce};

/// The plan of an intra-slice reduce, as types.
pub struct ReducePlan<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>(
    PhantomData<(Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket)>,
);

impl<Axis: AxisName, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    ReducePlan<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>
{
    pub(crate) const REQUEST: ReduceRequest = ReduceRequest {
        axis: Axis::NAME,
        units: [Chip::EXPR, Cluster::EXPR, Slice::EXPR],
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    };

    /// The derived configuration. Evaluating it refuses mappings that the engine cannot reduce.
    pub const CONFIG: ReduceConfig = match Late::<Self>::CONFIG {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
    /// The check that padding can be told from elements, after a split.
    pub(super) const SPLIT: Result<(), PlanError> = derive_valid_count(&Self::REQUEST, Narrowing::Split);
    /// The check that padding can be told from elements, after a trim.
    pub(super) const TRIMMED: Result<(), PlanError> = derive_valid_count(&Self::REQUEST, Narrowing::Trim);
}

impl<Axis: AxisName, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    Late<ReducePlan<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<ReduceConfig> = Self::checked();

    const fn checked() -> Refusable<ReduceConfig> {
        type Plan<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket> =
            ReducePlan<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>;
        let config = attempt!(derive_reduce(
            &Plan::<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>::REQUEST
        ));
        if Plan::<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>::TRIMMED.is_err() {
            attempt!(Plan::<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>::SPLIT);
        }
        Ok(config)
    }
}

/// The plan for a stream in the layout `L`.
type PlanOf<Axis, L, OutTime, OutPacket> = ReducePlan<
    Axis,
    <L as StreamLayout>::Chip,
    <L as StreamLayout>::Cluster,
    <L as StreamLayout>::Slice,
    <L as StreamLayout>::Time,
    <L as StreamLayout>::Packet,
    OutTime,
    OutPacket,
>;

macro_rules! reduce {
    ($($d:ty, $op:ty, $example:literal;)*) => { $(
        impl<
            'l,
            const T: Tu,
            S: Stage,
            L: StreamLayout,
            StashD: VeScalar,
            Stash: TensorState<StashD>,
            const VE_ORDER: VeOrder,
            FS: VeTensorContext,
        > VectorTensor<'l, T, S, $d, L, StashD, Stash, VE_ORDER, FS, 4>
        {
            /// Reduces all elements along an axis to one, as far as time and packet have the axis, in the order of its
            /// index. `OTime` and `OPacket` are the mappings of the result; `OPacket` is `Packet`, or `m![1 # 4]` if
            /// lanes are reduced.
            ///
            /// Padding is left out. A part of the axis in `Slice` stays there. See [vector](crate::guide::vector), "Reduces".
            ///
            #[doc = $example]
            ///
            /// Refused while compiling: results that lack anything else; more than 8 sums at once; padding that the
            /// valid-count generator cannot tell from elements.
            ///
            /// # Panics
            /// If the arithmetic unit is in use; if the valid-count generator could tell padding from elements only
            /// after a trim, but flits were split, or the other way round.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn vector_intra_slice_reduce<Reduce: AxisName, OTime: M, OPacket: M>(
                self,
                op: $op,
            ) -> VectorTensor<
                'l, T, stage::IntraSliceReduce, $d, L::With<OTime, OPacket>, StashD, Stash, VE_ORDER, FS, 4,
            >
            where
                S: CanTransitionTo<stage::IntraSliceReduce>,
            {
                self.reduce_as::<Reduce, OTime, OPacket>(op, planned!(const CONFIG of PlanOf<Reduce, L, OTime, OPacket>))
            }

            /// Reduces the elements along an axis, as a plan says.
            #[doc(hidden)]
            #[track_caller]
            pub fn reduce_as<Reduce: AxisName, OTime: M, OPacket: M>(
                self,
                op: $op,
                plan: &ReduceConfig,
            ) -> VectorTensor<
                'l, T, stage::IntraSliceReduce, $d, L::With<OTime, OPacket>, StashD, Stash, VE_ORDER, FS, 4,
            > {
                let trimmed = self.pass.unit.vector().is_some_and(|vector| vector.steps.contains(&VectorStep::Trim));
                accept(OPERATION, const {
                    [PlanOf::<Reduce, L, OTime, OPacket>::SPLIT, PlanOf::<Reduce, L, OTime, OPacket>::TRIMMED]
                }[usize::from(trimmed)]);
                self.then(OPERATION, step(op.into(), plan))
            }
        }
    )* };
}

reduce! {
    i32, IntraSliceReduceOpI32, "The stream of `f32` has an example.";
    f32, IntraSliceReduceOpF32, "
```
# use furiosa_visa_std::prelude::*;
axes![R = 32, K = 1024];
type X = DmTensor<f32, m![1], m![1 # 2], m![R, K / 128], m![K % 128]>;
type Sums = DmTensor<f32, m![1], m![1 # 2], m![R, 1 # 8], m![1 # 2]>;
/// `s[r] = Σ x[r, k]`: in each slice, then between the 8 slices of a row. The first one of them has the sum.
fn sums(ctx: &mut Context, x: &X) -> Sums {
    (ctx.main.begin(x.view()).fetch::<f32, m![K / 8 % 16], m![K % 8]>())
        .collect::<m![K / 8 % 16], m![K % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![K / 4 % 32], m![K % 4]>()
        .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<m![R, 1 # 8], m![1]>(InterSliceReduceOpF32::Add)
        .vector_final()
        .commit(AUTO)
}
# let mut ctx = Context::acquire();
# let x = HostTensor::<f32, m![R, K]>::from_slice(&vec![1.0; 32 * 1024]);
# let x = pollster::block_on(x.to_hbm::<m![1], m![R, K]>(&mut ctx.pdma, AUTO));
# let x = x.to_dm(&mut ctx.tdma, AUTO);
# let y = sums(&mut ctx, &x).to_hbm::<m![R]>(&mut ctx.tdma, AUTO);
# let y = pollster::block_on(y.to_host::<m![R]>(&mut ctx.pdma)).to_vec();
// Of 1:
assert_eq!(y[0], 1024.0);
```";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::vector::many_digits::{AXIS, digits_of_two, padded_digits, pair, whole_and_cut};
    use crate::mapping::Ident;
    use crate::prelude::{axes, m};

    axes![W = 40, L = 8, A = 2, B = 8, C = 3, R = 20, Q = 256];

    type Plan<X, Time, Packet, OutTime, OutPacket> =
        ReducePlan<X, m![1], m![1 # 2], m![Q], Time, Packet, OutTime, OutPacket>;

    #[track_caller]
    fn derived<X: AxisName, Time: M, Packet: M, OutTime: M, OutPacket: M>()
    -> Result<ReduceConfig, &'static str> {
        derive_reduce(&Plan::<X, Time, Packet, OutTime, OutPacket>::REQUEST).map_err(|error| {
            assert!(error.message().contains("; help: "), "{error}");
            error.rule()
        })
    }

    #[test]
    fn axes_go_from_time_and_packet() {
        type Half = m![L % 4];
        let plan = derived::<W, m![W, L / 4], Half, m![L / 4], Half>().expect("two sums per lane");
        assert_eq!((plan.slots, plan.time), (2, 2));
        let loops: Vec<_> = plan.reduced.iter().map(|reduced| (reduced.size, reduced.input)).collect();
        assert_eq!(loops, [(40, 8)]);
        let plan = derived::<L, m![W, L / 4], Half, m![W], m![1 # 4]>().expect("a sum per time step");
        assert_eq!((plan.slots, plan.time), (1, 40));
        let loops: Vec<_> = plan.reduced.iter().map(|reduced| (reduced.size, reduced.input)).collect();
        assert_eq!(loops, [(2, 4), (4, 1)], "the greater digit is outside");
        let plan = derived::<L, m![W], Half, m![W], m![1 # 4]>().expect("a sum per packet");
        assert_eq!((plan.slots, plan.time), (1, 40));
        // Digits may be in any order: the greatest one is outside.
        let plan = derived::<W, m![W % 5, A, W / 5], Half, m![A], Half>().expect("one axis");
        let loops: Vec<_> = plan.reduced.iter().map(|reduced| (reduced.size, reduced.input)).collect();
        assert_eq!((loops, plan.slots), (vec![(8, 4), (5, 64)], 2));
        let plan = derived::<W, m![W / 8, A, W % 2, W / 2 % 4], Half, m![A], Half>().expect("three digits");
        let loops: Vec<_> = plan.reduced.iter().map(|reduced| (reduced.size, reduced.input)).collect();
        assert_eq!(loops, [(5, 64), (4, 4), (2, 16)]);
        let plan =
            derived::<W, m![W / 2 % 4, A, W % 2, W / 8], Half, m![A], Half>().expect("in another order");
        let loops: Vec<_> = plan.reduced.iter().map(|reduced| (reduced.size, reduced.input)).collect();
        assert_eq!(loops, [(5, 4), (4, 80), (2, 20)]);
        let plan = derived::<W, m![W / 8, A, W % 2, W / 2 % 4], Half, m![A], Half>().expect("three digits");
        // Positions that stay move together: four lanes, and steps that were 8 apart.
        let kept: Vec<_> = plan.kept.iter().map(|kept| (kept.size, kept.input, kept.output)).collect();
        assert_eq!(kept, [(4, 1, 1), (2, 32, 4)]);
        // Padding goes with its axis, or stays.
        assert!(derived::<R, m![A, R # 24], Half, m![A], Half>().is_ok());
        assert!(derived::<R, m![C # 4, R], Half, m![C # 4], Half>().is_ok());
        assert!(derived::<R, m![R, 1 # 2], m![1 # 4], m![1 # 2], m![1 # 4]>().is_ok());
        assert_eq!(derived::<R, m![R, C # 4], Half, m![C], Half>(), Err("reduce time"));
        assert_eq!(derived::<R, m![A, R], Half, m![A # 3], Half>(), Err("reduce time"));
    }

    /// The guard tells by chip, cluster, slice, time and lane if a position holds an element.
    #[test]
    fn guards_are_of_the_stream_before() {
        type Own = ReducePlan<R, m![1 # 2], m![C # 4], m![L # 9], m![R # 24], m![A # 4], m![1], m![A # 4]>;
        let plan = derive_reduce(&Own::REQUEST).expect("the axis of time goes");
        let last = [0, 2, 7, 19, 1];
        assert!(plan.guard.holds(&last));
        for variable in 0..5 {
            let mut at = last;
            at[variable] += 1;
            assert!(!plan.guard.holds(&at), "{variable}");
        }
    }

    /// The rows of the table: 8 sums may be open, 12 are too many.
    #[test]
    fn eight_sums_are_open_at_once() {
        type One = m![1 # 4];
        let slots = |result: Result<ReduceConfig, _>| result.map(|plan| plan.slots);
        assert_eq!(slots(derived::<W, m![W, B % 4, A], One, m![B % 4, A], One>()), Ok(8));
        assert_eq!(slots(derived::<W, m![W, B % 4, C], One, m![B % 4, C], One>()), Err("reduce slots"));
        assert_eq!(
            slots(derived::<W, m![C, W, B], One, m![C, B], One>()),
            Ok(8),
            "what is outside does not count"
        );
        assert_eq!(
            slots(derived::<W, m![W, C # 9], One, m![C # 9], One>()),
            Err("reduce slots"),
            "padding counts"
        );
        assert_eq!(slots(derived::<W, m![W / 5, B, C, W % 5], One, m![B, C], One>()), Err("reduce slots"));
        assert_eq!(slots(derived::<W, m![W / 5, B, W % 5, A], One, m![B, A], One>()), Err("reduce slots"));
    }

    #[test]
    fn only_the_axis_goes() {
        type Half = m![L % 4];
        assert_eq!(derived::<W, m![A, W], Half, m![1], Half>(), Err("reduce axis"));
        assert_eq!(derived::<W, m![A, W], Half, m![A, B], Half>(), Err("reduce divide"));
        assert_eq!(derived::<W, m![A, W], Half, m![A, W / 5], Half>(), Err("reduce whole axis"));
        // A product that is cut across its axes holds parts of them.
        type Rest = m![[W % 10, C] % 2, A, [W % 10, C] / 2];
        assert_eq!(derived::<W, m![W / 10, { Rest }], Half, Rest, Half>(), Err("reduce whole axis"));
        assert_eq!(derived::<W, m![A, B, W], Half, m![B, A], Half>(), Err("reduce time"));
        assert_eq!(derived::<L, m![A], m![L % 4], m![A], m![L % 2 # 4]>(), Err("reduce output packet"));
        assert_eq!(derived::<W, m![A, W], m![L], m![A], m![L]>(), Err("reduce packet"));
        assert_eq!(derived::<W, m![A, W], Half, m![A], m![1 # 4]>(), Err("reduce axis"));
        assert_eq!(derived::<W, m![[A, C] % 2, W], Half, m![1], Half>(), Err("reduce axis"), "nor a product");
        assert_eq!(derived::<L, m![A], Half, m![A], m![1 # 8]>(), Err("reduce output packet"));
        assert_eq!(derived::<W, m![A, W], Half, m![A, L % 4], m![1 # 4]>(), Err("reduce order"));
    }

    #[track_caller]
    fn message<X: AxisName, Time: M, Packet: M, OutTime: M, OutPacket: M>() -> String {
        let error = derive_reduce(&Plan::<X, Time, Packet, OutTime, OutPacket>::REQUEST);
        error.expect_err("it is refused").message().to_string()
    }

    /// Tests the messages of the rules that no program of `tests/ui` breaks.
    #[test]
    fn words_of_refusals() {
        assert_eq!(
            message::<W, m![A, W], m![L % 4], m![A, L % 4], m![1 # 4]>(),
            "vector_intra_slice_reduce: the output has `m![L % 4]` in another place than time `m![A, W]` and packet \
             `m![L % 4]`; help: lanes stay lanes, and time stays time"
        );
        assert_eq!(
            message::<W, m![A, W], m![L], m![A], m![L]>(),
            "vector_intra_slice_reduce: the packet `m![L]` has 8 elements, but must have 4; help: `vector_split` or \
             `vector_trim_way4` comes first"
        );
    }

    #[test]
    fn too_many_digits() {
        let [whole, halves] = whole_and_cut();
        let rule = |time, out_time| {
            type Own = Plan<W, m![1], m![1 # 4], m![1], m![1 # 4]>;
            derive_reduce(&ReduceRequest { time, out_time, ..Own::REQUEST })
                .map(|_| ())
                .map_err(|error| error.rule())
        };
        assert_eq!(rule(whole, halves), Err("too many factors"));
        assert_eq!(rule(whole, whole), Ok(()), "there is nothing to reduce, but the digits are few enough");
        // With the lanes, 24 loops stay.
        let rule = |time| {
            type Own = Plan<W, m![1], m![L % 4], m![1], m![L % 4]>;
            derive_reduce(&ReduceRequest { time, out_time: time, ..Own::REQUEST })
                .map(|plan| plan.kept.len())
                .map_err(|error| error.rule())
        };
        assert_eq!([23, 24].map(|count| rule(digits_of_two(0, count))), [Ok(24), Err("too many factors")]);
        // As many loops may be reduced.
        let rule = |time| {
            type Own = Plan<W, m![1], m![1 # 4], m![1], m![1 # 4]>;
            let packet = digits_of_two(0, 2);
            derive_reduce(&ReduceRequest { axis: Ident::new(AXIS), time, packet, ..Own::REQUEST })
                .map(|plan| plan.reduced.len())
                .map_err(|error| error.rule())
        };
        assert_eq!([22, 23].map(|count| rule(digits_of_two(2, count))), [Ok(24), Err("too many factors")]);
    }

    /// A guard holds 16 digits with padding: those here, the cluster and the packet.
    #[test]
    fn too_much_padding() {
        let rule = |in_time: usize| {
            type Own = Plan<W, m![W], m![1 # 4], m![1], m![1 # 4]>;
            let [chip, cluster, _] = Own::REQUEST.units;
            let out_time = padded_digits(8, in_time);
            let (units, time) = ([chip, cluster, padded_digits(0, 8)], pair(out_time, Own::REQUEST.time));
            derive_reduce(&ReduceRequest { units, time, out_time, ..Own::REQUEST })
                .map(|_| ())
                .map_err(|error| error.rule())
        };
        assert_eq!((rule(6), rule(7)), (Ok(()), Err("too many factors")));
    }
}
