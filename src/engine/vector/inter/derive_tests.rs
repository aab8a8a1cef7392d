//! Reduces between slices: the loops that follow from the mappings.

use super::InterSlicePlan;
use crate::command::{RepeatedLoop, SliceLoop, Step};
use crate::engine::vector::many_digits::{digits_of_two, padded_digits, pair, whole_and_cut};
use crate::mapping::M;
use crate::prelude::{axes, m};
use furiosa_visa_rules::engine::vector::inter::derive::*;

axes![G = 32, J = 8, A = 3, B = 8, X = 8, L = 8, C = 5, K = 4, E = 6];

#[track_caller]
fn derived<Slice: M, Time: M, Slice2: M, Time2: M>() -> Result<InterSliceConfig, &'static str> {
    type Plan<S, T, S2, T2> = InterSlicePlan<m![1], m![1 # 2], S, T, m![L], S2, T2>;
    derive_inter_slice(&Plan::<Slice, Time, Slice2, Time2>::REQUEST).map_err(|error| {
        assert!(error.message().contains("; help: "), "{error}");
        error.rule()
    })
}

#[test]
fn three_forms() {
    type Slice = m![G, J];
    type Time = m![A, B];
    for plan in [
        derived::<Slice, Time, m![G, 1 # 8], Time>(),
        derived::<Slice, Time, m![G, X], Time>(),
        derived::<Slice, Time, m![G, B], m![A]>(),
    ] {
        let plan = plan.expect("a form that is offered");
        assert_eq!(plan.group, 8);
        assert_eq!(
            plan.reduced.iter().map(|slices| (slices.size, slices.units)).collect::<Vec<_>>(),
            [(8, 1)]
        );
    }
    // The eight lanes stay, and so do the groups of 8 slices and the steps of A; those of B go to slices.
    let plan = derived::<Slice, Time, m![G, B], m![A]>().expect("a form that is offered");
    let step = |units, elements| Step { units, elements };
    let mut kept: Vec<_> = plan.kept.iter().map(|moved| (moved.size, moved.input, moved.output)).collect();
    kept.sort_by_key(|moved| moved.0);
    assert_eq!(
        kept,
        [
            (3, step(0, 64), step(0, 8)),
            (8, step(0, 1), step(0, 1)),
            (8, step(0, 8), step(1, 0)),
            (32, step(8, 0), step(8, 0))
        ]
    );
    let plan = derived::<Slice, m![1], m![G, X], m![1]>().expect("all slices of a group get the sum");
    assert_eq!(plan.repeated.as_slice(), [RepeatedLoop { size: 8, units: 1 }]);
    // Both at once: half of the group repeats, the other half is promoted.
    assert!(derived::<Slice, m![A, K], m![G, K, 1 # 2], m![A]>().is_ok());
    assert_eq!(derived::<m![J # 256], Time, m![1 # 256], Time>().map(|plan| plan.group), Ok(8));
    assert_eq!(derived::<m![G, C # 8], Time, m![G, 1 # 8], Time>().map(|plan| plan.group), Ok(8));
    // If no digit stays outside, the new digits may need more slices than those that go.
    assert_eq!(derived::<m![C # 256], Time, m![X # 256], Time>().map(|plan| plan.group), Ok(8));
    // A digit in the place of outer padding gets the sum of the slices inside.
    let plan = derived::<m![1 # 8, G], Time, m![X, 1 # 32], Time>().expect("all slices are a group");
    assert_eq!((plan.group, plan.repeated.as_slice()), (256, &[RepeatedLoop { size: 8, units: 32 }][..]));
    assert_eq!(plan.reduced.as_slice(), [SliceLoop { size: 32, units: 1, axis: 0 }]);
    // A group ends where the innermost digit that stays begins.
    assert_eq!(derived::<m![K, X, J], Time, m![K, X, 1 # 8], Time>().map(|plan| plan.group), Ok(8));
    // The place of the digits that go may be larger than those digits.
    let plan = derived::<m![E # 256], Time, m![[K, 1 # 2] # 256], Time>().expect("nothing stays outside");
    assert_eq!(plan.group, 8);
    // Digits may be in any order: the greatest one is outside.
    let plan = derived::<m![G, J % 2, J / 2], Time, m![G, 1 # 8], Time>().expect("one axis");
    let digits = |slices: &SliceLoop| (slices.size, slices.units, slices.axis);
    assert_eq!(plan.reduced.iter().map(digits).collect::<Vec<_>>(), [(4, 1, 0), (2, 4, 0)]);
    // There are two axes: the last name is inside.
    let plan = derived::<m![J, K, B], m![1], m![J, 1 # 32], m![1]>().expect("two axes");
    assert_eq!(
        plan.reduced.iter().map(|slices| (slices.units, slices.axis)).collect::<Vec<_>>(),
        [(1, 0), (8, 1)]
    );
}

/// Sums are sorted by the name of the axis, and within an axis the greatest digit comes first, wherever it is.
#[test]
fn sums_have_an_order() {
    #[track_caller]
    fn order<Slice: M, Slice2: M>(expected: &[(usize, usize, usize)]) {
        let plan = derived::<Slice, m![1], Slice2, m![1]>().expect("all of it goes");
        let loops = |slices: &SliceLoop| (slices.size, slices.units, slices.axis);
        assert_eq!(plan.reduced.iter().map(loops).collect::<Vec<_>>(), expected);
    }
    order::<m![J % 2, J / 2 % 2, J / 4], m![1 # 8]>(&[(2, 1, 0), (2, 2, 0), (2, 4, 0)]);
    order::<m![J / 2 % 2, J / 4, J % 2], m![1 # 8]>(&[(2, 2, 0), (2, 4, 0), (2, 1, 0)]);
    order::<m![J / 4, J % 2, J / 2 % 2], m![1 # 8]>(&[(2, 4, 0), (2, 1, 0), (2, 2, 0)]);
    order::<m![J / 2, K, J % 2], m![1 # 32]>(&[(4, 8, 0), (2, 1, 0), (4, 2, 1)]);
    order::<m![K / 2, J, K % 2], m![1 # 32]>(&[(8, 2, 0), (2, 16, 1), (2, 1, 1)]);
    order::<m![J % 2, B, J / 2], m![1 # 64]>(&[(8, 4, 0), (4, 1, 1), (2, 32, 1)]);
    order::<m![B, J, K], m![1 # 256]>(&[(8, 32, 0), (8, 4, 1), (4, 1, 2)]);
    order::<m![K, J, B], m![1 # 256]>(&[(8, 1, 0), (8, 8, 1), (4, 64, 2)]);
    order::<m![J, K, B], m![1 # 256]>(&[(8, 1, 0), (8, 32, 1), (4, 8, 2)]);
}

/// The guard tells by chip, cluster, slice, time and lane if a position holds an element.
#[test]
fn guards_are_of_the_stream_before() {
    type Own = InterSlicePlan<
        m![1 # 2],
        m![A # 4],
        m![G # 33, C # 8],
        m![E # 9],
        m![K # 8],
        m![G # 33, 1 # 8],
        m![E # 9],
    >;
    let request = InterSliceRequest { packet: <m![L % 4 # 8]>::EXPR, ..Own::REQUEST };
    let plan = derive_inter_slice(&request).expect("the innermost axis goes");
    assert_eq!(plan.time, 9);
    let last = [0, 2, 31 * 8 + 4, 5, 3];
    assert!(plan.guard.holds(&last));
    for (variable, next) in [1, 3, 31 * 8 + 5, 6, 4].into_iter().enumerate() {
        let mut at = last;
        at[variable] = next;
        assert!(!plan.guard.holds(&at), "{variable}");
    }
}

#[test]
fn other_forms_are_refused() {
    type Slice = m![G, J];
    type Time = m![A, B];
    assert_eq!(derived::<Slice, Time, m![G], Time>(), Err("inter-slice size"));
    type Narrow = InterSlicePlan<m![1], m![1 # 2], Slice, Time, m![L % 4], m![G, 1 # 8], Time>;
    assert_eq!(derive_inter_slice(&Narrow::REQUEST).map_err(|error| error.rule()), Err("vector packet"));
    assert_eq!(derived::<Slice, Time, Slice, Time>(), Err("inter-slice nothing"));
    assert_eq!(derived::<Slice, Time, m![1 # 32, J], Time>(), Err("inter-slice order"));
    assert_eq!(derived::<Slice, Time, m![X, G], Time>(), Err("inter-slice moved"));
    assert_eq!(derived::<Slice, m![1], m![X, G], m![1]>(), Err("inter-slice moved"));
    assert_eq!(derived::<Slice, Time, m![G, 1 # 8], m![A]>(), Err("inter-slice dropped"));
    assert_eq!(derived::<Slice, Time, m![G, 1 # 8], m![B, A]>(), Err("inter-slice time"));
    assert_eq!(derived::<Slice, Time, m![G, 1 # 8], m![A, B, C]>(), Err("inter-slice time"));
    assert_eq!(derived::<Slice, Time, m![G, B], Time>(), Err("inter-slice time"));
    assert_eq!(derived::<m![G, J % 4, 1 # 2], m![J / 4], m![G, 1 # 8], m![J / 4]>(), Err("inter-slice part"));
    // The rest of the axis may be in the packet, too.
    type Left = InterSlicePlan<m![1], m![1 # 2], m![G, J / 4], m![A], m![J % 4 # 8], m![G, 1 # 2], m![A]>;
    let left = derive_inter_slice(&Left::REQUEST).map_err(|error| error.rule());
    assert_eq!(left, Err("inter-slice part"));
    assert_eq!(derived::<m![1 # 8, K, J], Time, m![X, K, 1 # 8], Time>(), Err("inter-slice group"));
    assert_eq!(
        derived::<m![G, J / 2, 1 # 2], Time, m![G, J % 2, 1 # 4], Time>(),
        Err("inter-slice new axis")
    );
    // The packet is L: half of it is no new axis.
    assert_eq!(derived::<Slice, Time, m![G, L / 4, 1 # 4], Time>(), Err("inter-slice new axis"));
}

#[track_caller]
fn message<Slice: M, Slice2: M, Time: M>() -> String {
    type Plan<S, T, S2> = InterSlicePlan<m![1], m![1 # 2], S, T, m![L], S2, T>;
    let error = derive_inter_slice(&Plan::<Slice, Time, Slice2>::REQUEST).expect_err("it is refused");
    error.message().to_string()
}

/// Tests the messages of the rules that no program of `tests/ui` breaks.
#[test]
fn words_of_refusals() {
    assert_eq!(
        message::<m![G, J / 2, 1 # 2], m![G, J % 2, 1 # 4], m![A, B]>(),
        "vector_inter_slice_reduce: Slice2 `m![G, J % 2, 1 # 4]` has `m![J % 2]`, of an axis of which Slice \
         `m![G, J / 2, 1 # 2]`, Time `m![A, B]` or Packet `m![L]` has other parts; help: use a new axis, or a part \
         that Time has"
    );
    assert_eq!(
        message::<m![G, J % 4, 1 # 2], m![G, 1 # 8], m![J / 4]>(),
        "vector_inter_slice_reduce: `m![J % 4]` of Slice `m![G, J % 4, 1 # 2]` goes, but another part of its axis \
         stays; help: reduce all of the axis: what is in Time or Packet with `vector_intra_slice_reduce`"
    );
    assert_eq!(
        message::<m![1 # 8, K, J], m![X, K, 1 # 8], m![A, B]>(),
        "vector_inter_slice_reduce: `m![X]` of Slice2 `m![X, K, 1 # 8]` does not fit into the 8 slices of a group; \
         help: put it in the place of what is reduced"
    );
    assert_eq!(
        message::<m![G, [A, C] % 3], m![G, 1 # 3], m![B]>(),
        "vector_inter_slice_reduce: `m![[A, C] % 3]` of Slice `m![G, [A, C] % 3]` is part of a product that is cut \
         across its axes, so that it has no index; help: cut the product at its axes"
    );
    // A product that is cut at its axes counts as two axes.
    assert!(derived::<m![G, [J, C] / 5], m![B], m![G, 1 # 8], m![B]>().is_ok());
}

#[test]
fn too_many_digits() {
    let [whole, halves] = whole_and_cut();
    let rule = |time, out_time| {
        type Own = InterSlicePlan<m![1], m![1 # 2], m![G, J], m![1], m![L], m![G, 1 # 8], m![1]>;
        derive_inter_slice(&InterSliceRequest { time, out_time, ..Own::REQUEST })
            .map(|_| ())
            .map_err(|error| error.rule())
    };
    assert_eq!(rule(whole, halves), Err("too many factors"));
    assert_eq!(rule(whole, whole), Ok(()));
    // With the lanes and the groups, 24 loops stay.
    let [most, more] = [22, 23].map(|count| digits_of_two(0, count));
    assert_eq!((rule(most, most), rule(more, more)), (Ok(()), Err("too many factors")));
}

/// A guard holds 16 digits with padding: those here, and the cluster.
#[test]
fn too_much_padding() {
    let rule = |in_time: usize| {
        type Own = InterSlicePlan<m![1], m![1 # 2], m![J], m![1], m![L], m![1 # 8], m![1]>;
        let [outer, time] = [padded_digits(0, 8), padded_digits(8, in_time)];
        let [slice, out_slice] =
            [Own::REQUEST.slice, Own::REQUEST.out_slice].map(|mapping| pair(outer, mapping));
        derive_inter_slice(&InterSliceRequest { slice, out_slice, time, out_time: time, ..Own::REQUEST })
            .map(|_| ())
            .map_err(|error| error.rule())
    };
    assert_eq!((rule(7), rule(8)), (Ok(()), Err("too many factors")));
}
