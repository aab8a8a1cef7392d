//! Masking: the padding of a stream that the adapter replaces.
//!
//! The mask knows sequencer entries, not axes ([`MaskConfig`]). Padding of the innermost axis becomes one of three cases
//! (see `guide::fetch`, "Padding and masks"):
//!
//! ```text
//! axes![A = 32, B = 90]                          axes![A = 32, B = 97]
//! 1  Time m![A, B # 96 / 32]                     3  Time m![A, B # 128 / 16]
//!    Packet m![B # 96 % 32]                         Packet m![B # 128 % 16]
//!    [32 : 96, 3 : 32, 32 : 1]                      [32 : 128, 8 : 16, 1 : 0, 16 : 1]
//!    last_dim 1, counts [26]                        last_dim 2, count dim 1, counts [16, 16, 16, 16, 16, 16, 1, 0]
//! 2  Time m![B # 96 / 32, A]
//!    [3 : 32, 32 : 96, 32 : 1]
//!    last_dim 0, counts [26]
//! ```
//!
//! Padding positions before the axis are the first elements at index 0 of `last_dim`. Both the sequencer and the mask
//! begin with them:
//!
//! ```text
//! axes![A = 32, B = 90], B' = # 2 + B + # 4
//! 1  Time m![A, B' / 32], Packet m![B' % 32]     [32 : 96, 3 : 32, 32 : 1] @ base -2     last_dim 1, left_pad 2, counts [28]
//! 2  Time m![B' / 32, A], Packet m![B' % 32]     [3 : 32, 32 : 96, 32 : 1] @ base -2     last_dim 0, left_pad 2, counts [28]
//! ```
//!
//! In cases 1 and 2 only the last index of one entry is cut. In case 3 an entry has at most 8 indices, each with a
//! count of its own. The dimension `1 : 0` makes every index a last one. Case 3 also serves an axis that has no outer
//! part.
//!
//! Other padding is not masked, and stays without meaning: padding of other axes, padding whose packets differ in more
//! than one entry, more than 8 counts, counts of more than 255 units of 4 bits, padding positions before an axis that
//! are more than one packet or meet case 3, everything in the sub context.

use super::plan::FetchRequest;
use crate::command::{MASK_COUNTS, MaskConfig};
use crate::list::List;
use crate::mapping::{
    Atom, Factor, Factors, Guard, GuardDigit, GuardSum, Pool, factorize, liveness_of, size_of_factors,
};
use crate::sequencer::{Config, DERIVED_ENTRIES, Entry};
use crate::spec;

/// A mask, and the sequencer that it refers to.
pub struct Masking {
    /// The mask, if the stream has padding that the hardware masks.
    pub mask: Option<MaskConfig>,
    /// The sequencer.
    pub config: Config,
    /// True if the stream has padding that is not masked.
    pub unmasked_padding: bool,
}

/// A term of a sum: `weight` times the index of an entry.
#[derive(Clone, Copy)]
struct EntryPart {
    entry: usize,
    weight: usize,
}

/// A sum of entry indices, with the condition `start <= sum < end`.
#[derive(Clone, Copy)]
struct EntrySum {
    parts: List<EntryPart, { spec::SEQUENCER_ENTRIES }>,
    start: usize,
    end: usize,
}

/// Derives the mask of a fetch with this sequencer.
pub const fn derive_mask(request: &FetchRequest, pool: &mut Pool, config: Config) -> Masking {
    let guard = liveness_of(&[request.time, request.packet]);
    if let Some(guard) = &guard
        && guard.is_always()
    {
        return Masking { mask: None, config, unmasked_padding: false };
    }
    let none = Masking { mask: None, config, unmasked_padding: true };
    let Some(guard) = guard else { return none };
    if request.sub_context || config.entries.is_empty() {
        return none;
    }
    let (time, packet) = (factorize(pool, request.time), factorize(pool, request.packet));
    let outer = outer_parts(&config, &time, &packet);
    let Some((sums, others)) = innermost_sums(&guard, &config, &packet, outer) else { return none };
    match mask_of(&sums, &config, request.input.bits()) {
        Some((mask, config)) => Masking { mask: Some(mask), config, unmasked_padding: others },
        None => none,
    }
}

/// Number of positions inside an entry.
const fn inside(config: &Config, entry: usize) -> usize {
    let mut positions = 1;
    let mut k = config.entries.len();
    while k > entry + 1 {
        k -= 1;
        positions *= config.entries.get(k).size;
    }
    positions
}

/// Marks the entries with outer parts of the packet's innermost axis: those inside its padded positions, and those of its other
/// digits.
const fn outer_parts(config: &Config, time: &Factors, packet: &Factors) -> [bool; DERIVED_ENTRIES] {
    let mut outer = [false; DERIVED_ENTRIES];
    let mut atom: Option<Atom> = None;
    let parts = [packet, time];
    let mut before = 1;
    each!(p < 2, {
        let factors = parts[p].as_slice();
        each!(k < factors.len(), {
            if let Factor::Term { term, .. } = factors[k] {
                let start = before * size_of_factors(factors.split_at(k).0);
                let same = match &atom {
                    Some(atom) => atom.is(&term.atom),
                    None => true,
                };
                if same {
                    atom = Some(term.atom);
                    // The padding of a digit belongs to it.
                    let mut end = before * size_of_factors(factors.split_at(k + 1).0);
                    if k + 1 < factors.len()
                        && let Factor::Padding { size, .. } = factors[k + 1]
                    {
                        end = before * size;
                    }
                    mark(config, start, end, &mut outer);
                }
            }
        });
        before *= parts[p].size();
    });
    outer
}

/// Marks the entries whose positions lie between `start` and `end`.
const fn mark(config: &Config, start: usize, end: usize, entries: &mut [bool; DERIVED_ENTRIES]) {
    let mut inside = 1;
    each_back!(k < config.entries.len(), {
        let size = config.entries.get(k).size;
        if inside >= start && inside * size <= end {
            entries[k] = true;
        }
        inside *= size;
    });
}

type Sums = List<EntrySum, 8>;

/// The conditions on the innermost axis, and a flag that is true if there are others. `None` if a condition cannot be
/// expressed by entries.
const fn innermost_sums(
    guard: &Guard,
    config: &Config,
    packet: &Factors,
    outer: [bool; DERIVED_ENTRIES],
) -> Option<(Sums, bool)> {
    let innermost = config.entries.len() - 1;
    let mut sums =
        List::new(EntrySum { parts: List::new(EntryPart { entry: 0, weight: 0 }), start: 0, end: 0 });
    let mut others = false;
    each!(k < guard.sums.len(), {
        let condition = guard.sums.get(k);
        if condition.limit == usize::MAX {
            continue;
        }
        let Some(mut sum) = entry_sum(guard, condition, config, packet.size()) else {
            others = true;
            continue;
        };
        reduce(&mut sum, config);
        let about_innermost = holds(&sum, innermost) || sum.parts.len() == 1 && outer[sum.parts.get(0).entry];
        if about_innermost {
            sums.push(sum);
        } else {
            others = true;
        }
    });
    if sums.is_empty() || sums.overflowed() { None } else { Some((sums, others)) }
}

const fn holds(sum: &EntrySum, entry: usize) -> bool {
    each!(k < sum.parts.len(), {
        if sum.parts.get(k).entry == entry {
            return true;
        }
    });
    false
}

/// Translates a condition on time and packet positions to one on entry indices. `None` if a digit starts or ends inside
/// an entry.
const fn entry_sum(guard: &Guard, condition: &GuardSum, config: &Config, packet: usize) -> Option<EntrySum> {
    let mut parts = List::new(EntryPart { entry: 0, weight: 0 });
    let (mut from, mut to) = (condition.start, condition.end());
    each!((d = condition.first) < condition.first + condition.len, {
        let mut digit = guard.digits.at(d);
        // A digit alone is a range of positions: `2 <= v / 3` is `6 <= v`.
        if condition.len == 1
            && digit.weight > 0
            && let Some(extent) = digit.extent.checked_mul(digit.base)
        {
            from = from.div_ceil(digit.weight) * digit.base;
            to = to.div_ceil(digit.weight) * digit.base;
            digit = GuardDigit { variable: digit.variable, base: 1, extent, weight: 1 };
        }
        if digit.variable >= guard.variables {
            return None;
        }
        let scale = if digit.variable == 0 { packet } else { 1 };
        let (Some(start), total) = (digit.base.checked_mul(scale), config.positions()) else { return None };
        let end = match start.checked_mul(digit.extent) {
            Some(end) if end < total => end,
            _ => total,
        };
        let mut reached = start;
        each_back!(k < config.entries.len(), {
            let (base, size) = (inside(config, k), config.entries.get(k).size);
            if size == 1 || base * size <= start || base >= end {
                continue;
            }
            if base != reached || !end.is_multiple_of(base * size) {
                return None;
            }
            parts.push(EntryPart { entry: k, weight: digit.weight * (base / start) });
            reached = base * size;
        });
    });
    if parts.overflowed() { None } else { Some(EntrySum { parts, start: from, end: to }) }
}

/// Removes parts that cannot change the result: all other weights and both bounds are multiples of a number that is
/// greater than the sum of the removed parts.
const fn reduce(sum: &mut EntrySum, config: &Config) {
    let mut dropped = 0;
    loop {
        let mut least = 0;
        each!((k = 1) < sum.parts.len(), {
            if sum.parts.get(k).weight < sum.parts.get(least).weight {
                least = k;
            }
        });
        if sum.parts.len() < 2 {
            return;
        }
        let mut common = crate::mapping::gcd(sum.start, sum.end);
        each!(k < sum.parts.len(), {
            if k != least {
                common = crate::mapping::gcd(common, sum.parts.get(k).weight);
            }
        });
        let part = sum.parts.at(least);
        dropped += part.weight * (config.entries.get(part.entry).size - 1);
        if dropped >= common {
            return;
        }
        sum.parts.remove(least);
    }
}

/// Number of elements of the innermost entry up to the last live one, and number of padding positions before the first
/// one, at an index of the outer entry.
const fn live_part(sums: &Sums, innermost: usize, size: usize, index: usize) -> (usize, usize) {
    let (mut count, mut left) = (size, 0);
    each!(k < sums.len(), {
        let sum = sums.get(k);
        let (mut weight, mut outside) = (0, 0);
        each!(p < sum.parts.len(), {
            let part = sum.parts.get(p);
            if part.entry == innermost {
                weight += part.weight;
            } else {
                outside += part.weight * index;
            }
        });
        let live = elements_below(sum.end, outside, weight, size);
        let before = elements_below(sum.start, outside, weight, size);
        count = if live < count { live } else { count };
        left = if before > left { before } else { left };
    });
    (count, left)
}

/// Number of elements, of `size`, for which `outside + weight * element` is below a bound.
const fn elements_below(bound: usize, outside: usize, weight: usize, size: usize) -> usize {
    let below = match (bound.checked_sub(outside), weight) {
        (None | Some(0), _) => 0,
        (Some(_), 0) => size,
        (Some(rest), weight) => rest.div_ceil(weight),
    };
    if below < size { below } else { size }
}

/// The mask of these conditions. `None` if the hardware has no such mask.
const fn mask_of(sums: &Sums, config: &Config, bits: usize) -> Option<(MaskConfig, Config)> {
    let innermost = config.entries.len() - 1;
    let mut outer: Option<usize> = None;
    each!(k < sums.len(), {
        let sum = sums.get(k);
        each!(p < sum.parts.len(), {
            let entry = sum.parts.get(p).entry;
            match outer {
                _ if entry == innermost => {}
                Some(other) if other != entry => return None,
                _ => outer = Some(entry),
            }
        });
    });
    let size = config.entries.get(innermost).size;
    let indices = match outer {
        Some(entry) => config.entries.get(entry).size,
        None => 1,
    };
    let mut mask = MaskConfig {
        last_dim: innermost,
        left_pad: 0,
        last_dim_rightmost_valid_count: List::new(0),
        rightmost_valid_count_dim: None,
        pad_value: [0; 2],
    };
    let mut config = *config;
    let last_only = indices > 1 && live_part(sums, innermost, size, indices - 2).0 == size;
    mask.left_pad = live_part(sums, innermost, size, 0).1;
    match outer {
        Some(entry) if last_only => {
            mask.last_dim = entry;
            mask.last_dim_rightmost_valid_count.push(live_part(sums, innermost, size, indices - 1).0);
        }
        _ => {
            let too_many = indices > MASK_COUNTS || config.entries.len() == spec::SEQUENCER_ENTRIES;
            // Every index of `1 : 0` is a first one, so left padding would repeat at each index.
            if too_many || mask.left_pad > 0 && indices > 1 {
                return None;
            }
            config.entries.insert(innermost, Entry { size: 1, stride: 0 });
            mask.rightmost_valid_count_dim = outer;
            each!(index < indices, {
                mask.last_dim_rightmost_valid_count.push(live_part(sums, innermost, size, index).0);
            });
        }
    }
    if indices > 1 && live_part(sums, innermost, size, 1).1 > 0
        || mask.left_pad * bits > spec::FETCH_MASK_NIBBLES * 4
    {
        return None;
    }
    let counts = mask.last_dim_rightmost_valid_count.as_slice();
    each!(k < counts.len(), {
        if counts[k] * bits > spec::FETCH_MASK_NIBBLES * 4 {
            return None;
        }
    });
    Some((mask, config))
}
