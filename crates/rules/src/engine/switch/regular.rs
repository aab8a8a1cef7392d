//! The rules of the regular variants, each in the order in which it is reported.

use super::{Mappings, Reason, SwitchConfig, same, shared_axis};
use crate::command::{Emission, Switch, SwitchVariant, TimeGate};
use crate::error::attempt;
use crate::mapping::{Factors, Pool, modulo, product, stride, strip};
use crate::spec::SLICES;

/// The sizes of a regular variant. `time0` is 1 if the variant has none.
#[derive(Clone, Copy)]
struct Sizes {
    slice1: usize,
    slice0: usize,
    time0: usize,
}

impl Sizes {
    const fn of(config: &SwitchConfig) -> Self {
        match *config {
            SwitchConfig::Broadcast01 { slice1, slice0, time0 }
            | SwitchConfig::InterTranspose { slice1, slice0, time0 } => Self { slice1, slice0, time0 },
            SwitchConfig::Broadcast1 { slice1, slice0 }
            | SwitchConfig::Transpose { slice1, slice0 }
            | SwitchConfig::TransposedBroadcast1 { slice1, slice0 } => Self { slice1, slice0, time0: 1 },
            // These variants have rules of their own.
            SwitchConfig::CustomBroadcast { .. } | SwitchConfig::Forwarding => {
                Self { slice1: 1, slice0: 1, time0: 1 }
            }
        }
    }
}

/// The parts `[slice2, slice1, slice0]` of a mapping of slices.
struct Parts {
    slice2: Factors,
    slice1: Factors,
    slice0: Factors,
}

impl Parts {
    const fn of(pool: &mut Pool, slices: &Factors, slice1: usize, slice0: usize) -> Self {
        let outer = stride(pool, slices, slice0);
        Self {
            slice2: stride(pool, slices, slice1 * slice0),
            slice1: modulo(pool, &outer, slice1),
            slice0: modulo(pool, slices, slice0),
        }
    }
}

/// Checks the mappings against a regular variant. The four mappings must have sizes, and the same number of slices
/// before and after.
pub const fn derive_regular(
    pool: &mut Pool,
    mappings: &Mappings,
    config: &SwitchConfig,
) -> Result<Switch, Reason> {
    let sizes = Sizes::of(config);
    attempt!(check_sizes(mappings, config.variant(), &sizes));
    let Sizes { slice1, slice0, .. } = sizes;
    let before = Parts::of(pool, &mappings.in_slice, slice1, slice0);
    match config.variant() {
        SwitchVariant::Broadcast01 => attempt!(check_broadcast01(pool, mappings, &before, &sizes)),
        SwitchVariant::Broadcast1 => {
            let (kept, moved) = (("slice0", &before.slice0), ("`[time0, slice1]`", &before.slice1));
            attempt!(check_one_moved(pool, mappings, &before.slice2, (slice1, slice0), kept, moved));
        }
        SwitchVariant::Transpose => attempt!(check_transpose(pool, mappings, &before)),
        SwitchVariant::InterTranspose => attempt!(check_inter_transpose(pool, mappings, &before, &sizes)),
        SwitchVariant::TransposedBroadcast1 => {
            // The outer digit takes the place of the inner one.
            let (kept, moved) = (("slice1", &before.slice1), ("`[time0, slice0]`", &before.slice0));
            attempt!(check_one_moved(pool, mappings, &before.slice2, (slice0, slice1), kept, moved));
        }
        SwitchVariant::CustomBroadcast | SwitchVariant::Forwarding => {}
    }
    Ok(routes(config.variant(), mappings.in_slice.size(), mappings.in_time.size(), &sizes))
}

/// Checks that sizes are at least 1 and divide the mappings that they cut.
const fn check_sizes(mappings: &Mappings, variant: SwitchVariant, sizes: &Sizes) -> Result<(), Reason> {
    let Sizes { slice1, slice0, time0 } = *sizes;
    if slice1 == 0 || slice0 == 0 || time0 == 0 {
        broken!(
            "switch dimensions",
            "use 1 for a digit that is not there",
            "All dimensions must be greater than 0",
        );
    }
    let slices = mappings.in_slice.size();
    let ring = match slice1.checked_mul(slice0) {
        Some(ring) => ring,
        None => usize::MAX,
    };
    if !slices.is_multiple_of(ring) {
        broken!(
            "switch slice division",
            "use sizes whose product divides the number of slices",
            "InSlice::SIZE must be divisible by (slice1 * slice0), but {} of {} is not by {} * {}",
            (slices, mappings.request.in_slice, slice1, slice0),
        );
    }
    if matches!(variant, SwitchVariant::Transpose) {
        let (before, after) = (mappings.in_time.size(), mappings.out_time.size());
        if before != after {
            broken!(
                "switch time size",
                "change time in `.fetch()` or `.commit()`, or use a variant that moves slices to time",
                "input and output time must have the same size, but {} has {} steps and {} has {}",
                (mappings.request.in_time, before, mappings.request.out_time, after),
            );
        }
    }
    let time = mappings.in_time.size();
    match variant {
        SwitchVariant::Broadcast01 if !time.is_multiple_of(time0) => {
            broken!(
                "switch time division",
                "cut time where one of its digits ends",
                "`InTime::SIZE`, {} of {}, is not divisible by `time0`, {}",
                (time, mappings.request.in_time, time0),
            );
        }
        SwitchVariant::InterTranspose => {
            let cut = match slice1.checked_mul(time0) {
                Some(cut) => cut,
                None => usize::MAX,
            };
            if !time.is_multiple_of(cut) {
                broken!(
                    "switch time division",
                    "the digit that leaves time has `slice1` values and `time0` steps inside",
                    "`InTime::SIZE`, {} of {}, is not divisible by `(slice1 * time0)`, {} * {}",
                    (time, mappings.request.in_time, slice1, time0),
                );
            }
            if slices != SLICES {
                broken!(
                    "switch slice count",
                    "pad the slices with `# 256`",
                    "the three slice dimensions must multiply to {}, but {} has {} slices",
                    (SLICES, mappings.request.in_slice, slices),
                );
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks that the outer slices do not change.
const fn check_slice2(
    pool: &Pool,
    mappings: &Mappings,
    before: &Factors,
    after: &Factors,
) -> Result<(), Reason> {
    if same(before, after) {
        return Ok(());
    }
    broken!(
        "switch slice2",
        "keep the outer digits of the slices, or choose sizes that reach further out",
        "OutSlice must preserve slice2 from InSlice, but it is {} in {} and {} in {}",
        (factors(pool, before), mappings.request.in_slice, factors(pool, after), mappings.request.out_slice),
    )
}

/// Checks that the slices inside the moved digits do not change.
const fn check_kept(
    pool: &Pool,
    mappings: &Mappings,
    (name, before): (&'static str, &Factors),
    after: &Factors,
) -> Result<(), Reason> {
    if same(before, after) {
        return Ok(());
    }
    broken!(
        "switch kept digit",
        "keep this digit where the variant has it, or use other sizes",
        "`OutSlice` must preserve `{}` of `InSlice`, but it is {} in {} and {} in {}",
        name,
        factors(pool, before),
        mappings.request.in_slice,
        factors(pool, after),
        mappings.request.out_slice,
    )
}

/// Checks that the axes that number the copies are new: no other mapping has them.
const fn check_new(pool: &Pool, mappings: &Mappings, tile: &Factors) -> Result<(), Reason> {
    if let Some(axis) = shared_axis(pool, tile, &[&mappings.in_slice, &mappings.in_time]) {
        broken!(
            "switch new axes",
            "declare an axis for the copies, or pad with `1 # n`",
            "`OutSlice` broadcast axes must be new axes, but `{}` of {} is in `InSlice` {} or `InTime` {} already",
            (axis.name.as_str(), factors(pool, tile), mappings.request.in_slice, mappings.request.in_time),
        );
    }
    mappings.check_unused(pool, tile)
}

/// Checks that the outgoing time is the one that the variant gives.
const fn check_time(
    pool: &Pool,
    mappings: &Mappings,
    digits: &'static str,
    expected: &Factors,
) -> Result<(), Reason> {
    if same(expected, &mappings.out_time) {
        return Ok(());
    }
    broken!(
        "switch output time",
        "use the expected mapping",
        "OutTime does not match expected layout: it is {}, but {} is {} for `InSlice` {} and `InTime` {}",
        mappings.request.out_time,
        digits,
        factors(pool, expected),
        mappings.request.in_slice,
        mappings.request.in_time,
    )
}

const fn check_broadcast01(
    pool: &mut Pool,
    mappings: &Mappings,
    before: &Parts,
    sizes: &Sizes,
) -> Result<(), Reason> {
    let Sizes { slice1, slice0, time0 } = *sizes;
    let after = stride(pool, &mappings.out_slice, slice1 * slice0);
    attempt!(check_slice2(pool, mappings, &before.slice2, &after));
    let tile = modulo(pool, &mappings.out_slice, slice1 * slice0);
    attempt!(check_new(pool, mappings, &tile));
    let (outer, inner) = (stride(pool, &mappings.in_time, time0), modulo(pool, &mappings.in_time, time0));
    let mut expected = product(pool, &inner, &before.slice0);
    expected = product(pool, &before.slice1, &expected);
    expected = product(pool, &outer, &expected);
    check_time(pool, mappings, "`[time1, slice1, time0, slice0]`", &expected)
}

/// Checks that one digit of the slices becomes time, and that the other one stays. `kept` and `moved` are the digits with
/// their names, `inner` the number of slices inside the copies.
const fn check_one_moved(
    pool: &mut Pool,
    mappings: &Mappings,
    slice2: &Factors,
    (copies, inner): (usize, usize),
    kept: (&'static str, &Factors),
    moved: (&'static str, &Factors),
) -> Result<(), Reason> {
    let after = Parts::of(pool, &mappings.out_slice, copies, inner);
    attempt!(check_slice2(pool, mappings, slice2, &after.slice2));
    attempt!(check_new(pool, mappings, &after.slice1));
    attempt!(check_kept(pool, mappings, kept, &after.slice0));
    let expected = product(pool, &mappings.in_time, moved.1);
    check_time(pool, mappings, moved.0, &expected)
}

const fn check_transpose(pool: &mut Pool, mappings: &Mappings, before: &Parts) -> Result<(), Reason> {
    let request = &mappings.request;
    if !strip(&mappings.in_time).is(&strip(&mappings.out_time)) {
        broken!(
            "switch time layout",
            "keep time, or change it in `.fetch()` or `.commit()`",
            "input and output time must match excluding padding, but `InTime` is {} and `OutTime` is {}",
            (request.in_time, request.out_time),
        );
    }
    let inner = product(pool, &before.slice0, &before.slice1);
    let expected = product(pool, &before.slice2, &inner);
    if !same(&expected, &mappings.out_slice) {
        broken!(
            "switch transposed slices",
            "swap the two digits of the innermost `slice1 * slice0` slices, and nothing else",
            "`OutSlice` {} does not match `[slice2, slice0, slice1]`, which is {} for `InSlice` {}",
            (request.out_slice, factors(pool, &expected), request.in_slice),
        );
    }
    Ok(())
}

const fn check_inter_transpose(
    pool: &mut Pool,
    mappings: &Mappings,
    before: &Parts,
    sizes: &Sizes,
) -> Result<(), Reason> {
    let Sizes { slice1, slice0, time0 } = *sizes;
    let request = &mappings.request;
    let after = Parts::of(pool, &mappings.out_slice, slice1, slice0);
    attempt!(check_slice2(pool, mappings, &before.slice2, &after.slice2));
    attempt!(check_kept(pool, mappings, ("slice0", &before.slice0), &after.slice0));
    let time = Parts::of(pool, &mappings.in_time, slice1, time0);
    if !same(&after.slice1, &time.slice1) {
        broken!(
            "switch inserted time",
            "put the time digit of `slice1` values and `time0` steps inside there",
            "`time1` of `OutSlice` has to come from `InTime`: it is {} in {}, but {} in {}",
            (factors(pool, &after.slice1), request.out_slice, factors(pool, &time.slice1), request.in_time),
        );
    }
    // The slice digit is innermost, and the part inside the time digit comes next.
    if mappings.out_time.size() != mappings.in_time.size() {
        broken!(
            "switch time2",
            "keep the number of time steps: two digits of the same size trade places",
            "`OutTime` must preserve `time2` from `InTime`, but `InTime` {} has {} steps and `OutTime` {} has {}",
            (request.in_time, mappings.in_time.size(), request.out_time, mappings.out_time.size()),
        );
    }
    let end = Parts::of(pool, &mappings.out_time, time0, slice1);
    let pairs = [
        ("time2", "InTime", request.in_time, &time.slice2, &end.slice2),
        ("time0", "InTime", request.in_time, &time.slice0, &end.slice1),
        ("slice1", "InSlice", request.in_slice, &before.slice1, &end.slice0),
    ];
    each!(k < pairs.len(), {
        let (name, from, given, expected, found) = pairs[k];
        if !same(expected, found) {
            broken!(
                "switch kept time",
                "write `OutTime` as `[time2, time0, slice1]`",
                "`OutTime` must preserve `{}` from `{}`: it is {} in {}, but {} in `OutTime` {}",
                (name, from, factors(pool, expected), given, factors(pool, found), request.out_time),
            );
        }
    });
    Ok(())
}

/// The settings of the routers, and the packets that arrive.
const fn routes(variant: SwitchVariant, slices: usize, in_time: usize, sizes: &Sizes) -> Switch {
    let Sizes { slice1, slice0, time0 } = *sizes;
    let ring = slice1 * slice0;
    let mut switch = Switch::blank(variant, ring, in_time);
    switch.push_digit(ring, slices / ring, ring);
    match variant {
        SwitchVariant::Broadcast01 => {
            switch.push_digit(1, ring, 0);
            switch.push_offsets(ring, 1);
            switch.push_time(in_time / time0, 0, time0);
            switch.push_time(slice1, slice0, 0);
            switch.push_time(time0, 0, 1);
            switch.push_time(slice0, 1, 0);
            switch.emission = Emission::Nested { slice0, time0 };
        }
        SwitchVariant::Broadcast1 => {
            switch.push_digit(slice0, slice1, 0);
            switch.push_digit(1, slice0, 1);
            switch.push_offsets(slice1, slice0);
            switch.push_time(in_time, 0, 1);
            switch.push_time(slice1, slice0, 0);
        }
        SwitchVariant::Transpose => {
            switch.push_digit(slice1, slice0, 1);
            switch.push_digit(1, slice1, slice0);
            switch.push_time(in_time, 0, 1);
        }
        SwitchVariant::InterTranspose => {
            switch.push_digit(slice0, slice1, 0);
            switch.push_digit(1, slice0, 1);
            switch.push_offsets(slice1, slice0);
            switch.push_time(in_time / (slice1 * time0), 0, slice1 * time0);
            switch.push_time(time0, 0, 1);
            switch.push_time(slice1, slice0, 0);
            if slice1 > 1 {
                switch.gate = Some(TimeGate { period: time0, size: slice1, slices: slice0 });
            }
        }
        SwitchVariant::TransposedBroadcast1 => {
            switch.push_digit(slice1, slice0, 0);
            switch.push_digit(1, slice1, slice0);
            switch.push_offsets(slice0, 1);
            switch.push_time(in_time, 0, 1);
            switch.push_time(slice0, 1, 0);
        }
        // These variants have routes of their own.
        SwitchVariant::CustomBroadcast | SwitchVariant::Forwarding => {}
    }
    switch
}
