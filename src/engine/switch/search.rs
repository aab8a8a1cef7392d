//! The cheapest configuration: the smallest ring. Time and flits are the same for all configurations.
//!
//! Few sizes can be meant. What time grows by is the product of the digits that become time; from where the outer slices
//! stay what they are on, the ring may end; and `time0` ends where a digit of time does.

use super::{
    Mappings, OPERATION, Reason, SwitchConfig, SwitchDerivation, SwitchRequest, SwitchVariant, custom,
    derive, modulo, regular, same, stride,
};
use crate::command::Switch;
use crate::error::{PlanError, attempt};
use crate::list::List;
use crate::mapping::{Factor, Factors, Pool, Problem};
use crate::text::text;

/// Powers of two up to 256 slices.
const RINGS: usize = 9;
/// Places in time at which `time0` may end.
const PLACES: usize = 40;

/// Which parts of the slices stay what they are.
struct Kept {
    /// All but the innermost `2^k` slices.
    outer: [bool; RINGS],
    /// The innermost `2^k` slices.
    inner: [bool; RINGS],
}

impl Kept {
    const fn of(pool: &Pool, own: &Mappings) -> Self {
        let (mut outer, mut inner) = ([false; RINGS], [false; RINGS]);
        let mut k = 0;
        while k < RINGS && own.in_slice.size().is_multiple_of(1 << k) {
            // A cut may leave products in the pool: each starts with its own.
            let mut pool = *pool;
            let parts = (stride(&mut pool, &own.in_slice, 1 << k), stride(&mut pool, &own.out_slice, 1 << k));
            outer[k] = same(&parts.0, &parts.1);
            let parts = (modulo(&mut pool, &own.in_slice, 1 << k), modulo(&mut pool, &own.out_slice, 1 << k));
            inner[k] = same(&parts.0, &parts.1);
            k += 1;
        }
        Self { outer, inner }
    }

    /// The least ring, as a power of two, outside of which the slices stay what they are.
    const fn least_ring(&self) -> usize {
        let mut k = 0;
        while k + 1 < RINGS && !self.outer[k] {
            k += 1;
        }
        k
    }
}

/// Adds the places at which digits of time end, in steps of `unit`, and the same without `less` values outside.
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
            // Padding also ends where it would without the digit outside.
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
    let mut k = 0;
    while k < places.len() {
        if places.at(k) == place {
            return;
        }
        k += 1;
    }
    places.push(place);
}

/// The values of `time0` that a configuration with a digit of `slice1` values may have.
const fn places(own: &Mappings, inside: usize, slice1: usize) -> List<usize, PLACES> {
    let mut places = List::new(1);
    add_places(&mut places, &own.out_time, inside, slice1);
    add_places(&mut places, &own.in_time, 1, slice1);
    places
}

const fn attempted(pool: &Pool, own: &Mappings, config: SwitchConfig) -> Option<SwitchDerivation> {
    let mut pool = *pool;
    match derive(&mut pool, own, &config) {
        Ok(switch) if !pool.factors.overflowed() => Some(SwitchDerivation { config, switch }),
        _ => None,
    }
}

/// The regular configurations with this ring and this outer digit.
const fn regular_with(
    pool: &Pool,
    own: &Mappings,
    kept: &Kept,
    (ring, slice1): (usize, usize),
) -> Option<SwitchDerivation> {
    let slice0 = ring / slice1;
    let (before, after) = (own.in_time.size(), own.out_time.size());
    if !after.is_multiple_of(before) {
        return None;
    }
    let growth = after / before;
    let inner = slice0.trailing_zeros() as usize;
    if growth == slice1 && kept.inner[inner] {
        let found = attempted(pool, own, SwitchConfig::Broadcast1 { slice1, slice0 });
        if found.is_some() {
            return found;
        }
    }
    if growth == 1 && ring > 1 {
        let found = attempted(pool, own, SwitchConfig::Transpose { slice1, slice0 });
        if found.is_some() {
            return found;
        }
    }
    if growth == slice0 && ring > 1 {
        let found = attempted(pool, own, SwitchConfig::TransposedBroadcast1 { slice1, slice0 });
        if found.is_some() {
            return found;
        }
    }
    let turns = growth == ring && slice1 > 1;
    let trades = growth == 1 && slice1 > 1 && kept.inner[inner];
    if !turns && !trades {
        return None;
    }
    let places = places(own, if turns { slice0 } else { slice1 }, slice1);
    let mut k = 0;
    while k < places.len() {
        let time0 = places.at(k);
        let config = if turns {
            SwitchConfig::Broadcast01 { slice1, slice0, time0 }
        } else {
            SwitchConfig::InterTranspose { slice1, slice0, time0 }
        };
        if before.is_multiple_of(time0) {
            let found = attempted(pool, own, config);
            if found.is_some() {
                return found;
            }
        }
        k += 1;
    }
    None
}

/// The regular configuration with the smallest ring.
const fn cheapest_regular(pool: &Pool, own: &Mappings, kept: &Kept) -> Option<SwitchDerivation> {
    let mut k = kept.least_ring();
    while k < RINGS {
        if kept.outer[k] {
            let mut zero = 0;
            while zero <= k {
                let found = regular_with(pool, own, kept, (1 << k, 1 << (k - zero)));
                if found.is_some() {
                    return found;
                }
                zero += 1;
            }
        }
        k += 1;
    }
    None
}

/// Derives the legal configuration that takes the fewest cycles: of those with the smallest ring a regular one, which needs
/// no bitmap.
///
/// # Errors
/// Where there is none, what keeps each variant from it.
pub const fn derive_switch_to(request: &SwitchRequest) -> Result<SwitchDerivation, PlanError> {
    let mut pool = Pool::new();
    let own = attempt!(Mappings::of(&mut pool, request));
    if pool.factors.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    if let Err(Reason { rule, text, help, .. }) = own.check_slices() {
        return Err(PlanError::new(rule, text!("switch: {}; help: {}", text(&text), str(help))));
    }
    let kept = Kept::of(&pool, &own);
    let regular = cheapest_regular(&pool, &own, &kept);
    let mut scratch = pool;
    let custom = custom::derive_custom(&mut scratch, &own, None);
    match (regular, custom) {
        (Some(found), Ok(switch)) if switch.ring_size < found.switch.ring_size => Ok(of_custom(switch)),
        (Some(found), _) => Ok(found),
        (None, Ok(switch)) => Ok(of_custom(switch)),
        (None, Err(reason)) => Err(refusal(&pool, &own, &kept, &reason)),
    }
}

const fn of_custom(switch: Switch) -> SwitchDerivation {
    SwitchDerivation { config: SwitchConfig::CustomBroadcast { ring_size: switch.ring_size }, switch }
}

/// The sizes with which a variant comes closest: those that time and the outer slices leave.
const fn closest(own: &Mappings, kept: &Kept, variant: SwitchVariant) -> SwitchConfig {
    let ring = 1usize << kept.least_ring();
    let growth = own.out_time.size() / own.in_time.size();
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
        SwitchVariant::Transpose | SwitchVariant::CustomBroadcast => {
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
    let mut k = 0;
    while k < WORDS.len() {
        if crate::text::same(WORDS[k].0, rule) {
            return WORDS[k].1;
        }
        k += 1;
    }
    "`OutTime` does not keep `InTime`"
}

/// What keeps each variant from the mappings.
const fn refusal(pool: &Pool, own: &Mappings, kept: &Kept, custom: &Reason) -> PlanError {
    let mut text = text!(
        "switch: no configuration turns `Slice` {} and `Time` {} into {} and {}",
        mapping(own.request.in_slice),
        mapping(own.request.in_time),
        mapping(own.request.out_slice),
        mapping(own.request.out_time),
    );
    let mut k = 0;
    while k < SwitchVariant::ALL.len() {
        let variant = SwitchVariant::ALL[k];
        k += 1;
        if matches!(variant, SwitchVariant::CustomBroadcast) {
            continue;
        }
        let config = closest(own, kept, variant);
        let mut scratch = *pool;
        if let Err(reason) = regular::derive_regular(&mut scratch, own, &config) {
            text = config.sizes(text.str("; ")).str(": ").str(brief(reason.rule));
        }
    }
    text = text.str("; CustomBroadcast: ").str(custom.text.as_str()).str("; help: ").str(custom.help);
    PlanError::new(custom.rule, text)
}
