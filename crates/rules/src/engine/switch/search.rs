//! The cheapest configuration: the smallest ring. Time and flits are the same for all of them.
//!
//! Only a few sizes are possible. The growth of time is the product of the digits that become time. The ring may end
//! only where all slices outside it keep their places. And `time0` ends at the end of a digit of time.

use super::{
    Mappings, OPERATION, Reason, SwitchConfig, SwitchDerivation, SwitchRequest, custom, derive, regular, same,
};
use crate::command::{Switch, SwitchVariant};
use crate::error::{PlanError, attempt};
use crate::list::List;
use crate::mapping::{Factor, Factors, Pool, Problem, modulo, stride};

/// Number of powers of two up to 256 slices.
const RINGS: usize = 9;
/// The most places in time at which `time0` may end.
const PLACES: usize = 40;

/// The parts of the slices that do not change.
struct Kept {
    /// True at `k` if all slices but the innermost `2^k` do not change.
    outer: [bool; RINGS],
    /// True at `k` if the innermost `2^k` slices do not change.
    inner: [bool; RINGS],
}

impl Kept {
    const fn of(pool: &Pool, mappings: &Mappings) -> Self {
        let (mut outer, mut inner) = ([false; RINGS], [false; RINGS]);
        let mut k = 0;
        while k < RINGS && mappings.in_slice.size().is_multiple_of(1 << k) {
            // A cut may leave composites in the pool, so each cut starts with a pool of its own.
            let mut pool = *pool;
            let parts = (
                stride(&mut pool, &mappings.in_slice, 1 << k),
                stride(&mut pool, &mappings.out_slice, 1 << k),
            );
            outer[k] = same(&parts.0, &parts.1);
            let parts = (
                modulo(&mut pool, &mappings.in_slice, 1 << k),
                modulo(&mut pool, &mappings.out_slice, 1 << k),
            );
            inner[k] = same(&parts.0, &parts.1);
            k += 1;
        }
        Self { outer, inner }
    }

    /// The exponent of the least ring outside which the slices do not change.
    const fn least_ring(&self) -> usize {
        let mut k = 0;
        while k + 1 < RINGS && !self.outer[k] {
            k += 1;
        }
        k
    }
}

/// Adds the places at which digits of time end, in steps of `unit`, and the same places without a digit of `less`
/// values outside.
const fn add_places(places: &mut List<usize, PLACES>, time: &Factors, unit: usize, less: usize) {
    let list = time.as_slice();
    let mut size = 1;
    let mut k = 0;
    while k <= list.len() {
        add_place(places, size, unit);
        if size.is_multiple_of(less) {
            add_place(places, size / less, unit);
        }
        if k < list.len() {
            // Padding also ends at its place without the digit outside.
            if let Factor::Padding { size: padded } = list[k]
                && padded.is_multiple_of(less)
            {
                add_place(places, padded / less, unit);
            }
            size = list[k].size_over(size);
        }
        k += 1;
    }
}

const fn add_place(places: &mut List<usize, PLACES>, size: usize, unit: usize) {
    if size == 0 || !size.is_multiple_of(unit) || places.len() == PLACES {
        return;
    }
    let place = size / unit;
    each!(k < places.len(), {
        if places.at(k) == place {
            return;
        }
    });
    places.push(place);
}

/// The values that `time0` may have in a configuration with a digit of `slice1` values.
const fn places(mappings: &Mappings, inside: usize, slice1: usize) -> List<usize, PLACES> {
    let mut places = List::new(1);
    add_places(&mut places, &mappings.out_time, inside, slice1);
    add_places(&mut places, &mappings.in_time, 1, slice1);
    places
}

const fn attempted(pool: &Pool, mappings: &Mappings, config: SwitchConfig) -> Option<SwitchDerivation> {
    let mut pool = *pool;
    match derive(&mut pool, mappings, &config) {
        Ok(switch) if !pool.factors.overflowed() => Some(SwitchDerivation { config, switch }),
        _ => None,
    }
}

/// Tries the regular configurations with this ring and this outer digit.
const fn regular_with(
    pool: &Pool,
    mappings: &Mappings,
    kept: &Kept,
    (ring, slice1): (usize, usize),
) -> Option<SwitchDerivation> {
    let slice0 = ring / slice1;
    let (before, after) = (mappings.in_time.size(), mappings.out_time.size());
    if !after.is_multiple_of(before) {
        return None;
    }
    let growth = after / before;
    let inner = slice0.trailing_zeros() as usize;
    if growth == slice1 && kept.inner[inner] {
        let found = attempted(pool, mappings, SwitchConfig::Broadcast1 { slice1, slice0 });
        if found.is_some() {
            return found;
        }
    }
    if growth == 1 && ring > 1 {
        let found = attempted(pool, mappings, SwitchConfig::Transpose { slice1, slice0 });
        if found.is_some() {
            return found;
        }
    }
    if growth == slice0 && ring > 1 {
        let found = attempted(pool, mappings, SwitchConfig::TransposedBroadcast1 { slice1, slice0 });
        if found.is_some() {
            return found;
        }
    }
    let turns = growth == ring && slice1 > 1;
    let trades = growth == 1 && slice1 > 1 && kept.inner[inner];
    if !turns && !trades {
        return None;
    }
    let places = places(mappings, if turns { slice0 } else { slice1 }, slice1);
    each!(k < places.len(), {
        let time0 = places.at(k);
        let config = if turns {
            SwitchConfig::Broadcast01 { slice1, slice0, time0 }
        } else {
            SwitchConfig::InterTranspose { slice1, slice0, time0 }
        };
        if before.is_multiple_of(time0) {
            let found = attempted(pool, mappings, config);
            if found.is_some() {
                return found;
            }
        }
    });
    None
}

/// The regular configuration with the smallest ring.
const fn cheapest_regular(pool: &Pool, mappings: &Mappings, kept: &Kept) -> Option<SwitchDerivation> {
    each!((k = kept.least_ring()) < RINGS, {
        if kept.outer[k] {
            let mut zero = 0;
            while zero <= k {
                let found = regular_with(pool, mappings, kept, (1 << k, 1 << (k - zero)));
                if found.is_some() {
                    return found;
                }
                zero += 1;
            }
        }
    });
    None
}

/// Derives the legal configuration that takes the fewest cycles. A regular configuration, which needs no bitmap, comes
/// before a custom one with the same ring.
///
/// # Errors
/// If there is none: the reason for each variant.
pub const fn derive_switch_to(request: &SwitchRequest) -> Result<SwitchDerivation, PlanError> {
    let mut pool = Pool::new();
    let mappings = attempt!(Mappings::of(&mut pool, request));
    if pool.factors.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    if let Err(Reason { rule, text, help, .. }) = mappings.check_slices() {
        return Err(PlanError::new(rule, text!("switch: {}; help: {}", (&text, help))));
    }
    let kept = Kept::of(&pool, &mappings);
    let regular = cheapest_regular(&pool, &mappings, &kept);
    let mut scratch = pool;
    let custom = custom::derive_custom(&mut scratch, &mappings, None);
    match (regular, custom) {
        (Some(found), Ok(switch)) if switch.ring_size < found.switch.ring_size => Ok(of_custom(switch)),
        (Some(found), _) => Ok(found),
        (None, Ok(switch)) => Ok(of_custom(switch)),
        (None, Err(reason)) => Err(refusal(&pool, &mappings, &kept, &reason)),
    }
}

const fn of_custom(switch: Switch) -> SwitchDerivation {
    SwitchDerivation { config: SwitchConfig::CustomBroadcast { ring_size: switch.ring_size }, switch }
}

/// The sizes with which a variant comes closest: those that time and the outer slices allow.
const fn closest(mappings: &Mappings, kept: &Kept, variant: SwitchVariant) -> SwitchConfig {
    let ring = 1usize << kept.least_ring();
    let growth = mappings.out_time.size() / mappings.in_time.size();
    let moved = if growth > 0 && ring.is_multiple_of(growth) { growth } else { ring };
    let mut slice0 = 1;
    while slice0 * 2 < ring && kept.inner[(slice0 * 2usize).trailing_zeros() as usize] {
        slice0 *= 2;
    }
    match variant {
        SwitchVariant::Broadcast01 => {
            SwitchConfig::Broadcast01 { slice1: moved, slice0: ring / moved, time0: 1 }
        }
        SwitchVariant::Broadcast1 => SwitchConfig::Broadcast1 { slice1: moved, slice0: ring / moved },
        SwitchVariant::TransposedBroadcast1 => {
            SwitchConfig::TransposedBroadcast1 { slice1: ring / moved, slice0: moved }
        }
        SwitchVariant::InterTranspose => {
            SwitchConfig::InterTranspose { slice1: ring / slice0, slice0, time0: 1 }
        }
        SwitchVariant::Transpose | SwitchVariant::CustomBroadcast | SwitchVariant::Forwarding => {
            let slice1 = if ring > 1 { 2 } else { 1 };
            SwitchConfig::Transpose { slice1, slice0: ring / slice1 }
        }
    }
}

/// The rule of a regular variant in few words.
const fn brief(rule: &'static str) -> &'static str {
    const WORDS: [(&str, &str); 12] = [
        ("switch dimensions", "a size is 0"),
        ("switch slice division", "the sizes do not divide the slices"),
        ("switch time division", "the sizes do not divide `InTime`"),
        ("switch slice count", "there are not 256 slices"),
        ("switch time size", "`OutTime` has another size than `InTime`"),
        ("switch time layout", "`OutTime` is not `InTime`"),
        ("switch slice2", "the outer slices change"),
        ("switch new axes", "the axis of the copies is not new"),
        ("switch kept digit", "the slices that stay change"),
        ("switch output time", "`OutTime` is another one"),
        ("switch transposed slices", "the slices are not swapped"),
        ("switch inserted time", "no digit of `InTime` takes the place in `OutSlice`"),
    ];
    each!(k < WORDS.len(), {
        if crate::text::same(WORDS[k].0, rule) {
            return WORDS[k].1;
        }
    });
    "`OutTime` does not keep `InTime`"
}

/// The refusal of mappings that no variant connects, with the reason for each variant.
const fn refusal(pool: &Pool, mappings: &Mappings, kept: &Kept, custom: &Reason) -> PlanError {
    let mut text = text!(
        "switch: no configuration turns `Slice` {} and `Time` {} into {} and {}",
        mappings.request.in_slice,
        mappings.request.in_time,
        mappings.request.out_slice,
        mappings.request.out_time,
    );
    each!(k < SwitchVariant::ALL.len(), {
        let variant = SwitchVariant::ALL[k];
        if matches!(variant, SwitchVariant::CustomBroadcast | SwitchVariant::Forwarding) {
            continue;
        }
        let config = closest(mappings, kept, variant);
        let mut scratch = *pool;
        if let Err(reason) = regular::derive_regular(&mut scratch, mappings, &config) {
            text = config.sizes(text.str("; ")).str(": ").str(brief(reason.rule));
        }
    });
    text = text.str("; CustomBroadcast: ").str(custom.text.as_str()).str("; help: ").str(custom.help);
    PlanError::new(custom.rule, text)
}
