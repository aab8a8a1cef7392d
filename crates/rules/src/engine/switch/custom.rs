//! `CustomBroadcast`: the digits that stay, move or are new, the ring that they need, and the sets that follow.

use super::{Mappings, Reason, same};
use crate::command::{Switch, SwitchVariant};
use crate::error::attempt;
use crate::list::List;
use crate::mapping::{
    Atom, CutRule, Factor, Factors, Matched, PIECES, Pieces, Pool, Term, greatest, matched, mentions, modulo,
    overlap, stride,
};

/// The level of the digits that are innermost in time. `OUT_SLICE` is the level of the slices that receive.
const MOVED: usize = 0;
const OUT_SLICE: usize = 1;

/// A digit that becomes time.
#[derive(Clone, Copy)]
struct Move {
    /// Number of time steps, including those of padding.
    size: usize,
    /// Slices per value, before the switch.
    weight: usize,
    /// Number of slices of the digit, including padding, in values of the digit.
    room: usize,
    /// Its piece before the switch. `None` for padding alone.
    piece: Option<usize>,
}

/// All digits of a custom switch, before and after it.
struct Digits {
    matched: Matched,
    /// The digits that become time, innermost first.
    moves: List<Move, PIECES>,
}

/// Checks the mappings against `CustomBroadcast`. A `ring_size` of `None` takes the ring that they need.
pub const fn derive_custom(
    pool: &mut Pool,
    mappings: &Mappings,
    ring_size: Option<usize>,
) -> Result<Switch, Reason> {
    if let Some(ring) = ring_size
        && !ring.is_power_of_two()
    {
        broken!(
            "switch ring power of two",
            "the mappings decide the ring: it is 1, 2, 4, 8, 16, 32, 64, 128 or 256",
            "the ring size must be a power of 2, but it is {}",
            ring,
        );
    }
    let (in_time, out_time) = (mappings.in_time.size(), mappings.out_time.size());
    let divides = out_time.is_multiple_of(in_time);
    let inner = if divides { modulo(pool, &mappings.out_time, out_time / in_time) } else { Factors::ONE };
    let sides = (Pieces::new(&[&mappings.in_slice]), Pieces::new(&[&inner, &mappings.out_slice]));
    let matched = matched(pool, sides.0, sides.1, [CutRule::Exact; 2]);
    attempt!(check_tiles(pool, mappings, &matched));
    if !divides {
        broken!(
            "switch custom time division",
            "append the digits that leave the slices to `InTime`, and nothing else",
            "`InTime::SIZE`, {} of {}, does not divide `OutTime::SIZE`, {} of {}",
            (in_time, mappings.request.in_time, out_time, mappings.request.out_time),
        );
    }
    let outer = stride(pool, &mappings.out_time, out_time / in_time);
    if !same(&outer, &mappings.in_time) {
        broken!(
            "switch moved innermost",
            "write `InTime` first, and the digits that leave the slices after it",
            "axes that move from slice to time must be innermost in `OutTime` {}: its outer part has to be `InTime` {}, but is {}",
            (mappings.request.out_time, mappings.request.in_time, factors(pool, &outer)),
        );
    }
    let moves = attempt!(moves(pool, mappings, &matched, &inner));
    let digits = Digits { matched, moves };
    attempt!(check_order(pool, mappings, &digits));
    attempt!(check_dropped(pool, mappings, &digits));
    let expected = ring(mappings, &digits);
    if let Some(given) = ring_size
        && given != expected
    {
        broken!(
            "switch ring size",
            "use the expected ring size",
            "the ring of `InSlice` {} and `OutSlice` {} has {}, but the ring size is {}",
            (mappings.request.in_slice, mappings.request.out_slice, count(expected, "slice"), given),
        );
    }
    Ok(routes(mappings, &digits, expected))
}

/// Checks the digits of `OutSlice` that the slices did not have before: they are new, each axis occurs once, and they
/// are not padded.
const fn check_tiles(pool: &Pool, mappings: &Mappings, matched: &Matched) -> Result<(), Reason> {
    each_back!(k < matched.divisor.list.len(), {
        let piece = matched.divisor.list.get(k);
        let Some((term, resize)) = matched.divisor.digit(k) else { continue };
        if piece.level != OUT_SLICE || resize == 1 {
            continue;
        }
        if piece.matched {
            attempt!(check_kept_whole(pool, mappings, matched, k));
            continue;
        }
        if overlaps(pool, &term, &mappings.in_slice) || overlaps(pool, &term, &mappings.in_time) {
            broken!(
                "switch custom new axes",
                "declare an axis for the copies; a digit of time becomes a slice digit in `InterTranspose` only",
                "the tile {} of `OutSlice` {} must be new with respect to `InSlice` {} and `InTime` {}",
                term(pool, &term, resize),
                mappings.request.out_slice,
                mappings.request.in_slice,
                mappings.request.in_time,
            );
        }
        if uses(pool, &mappings.out_slice, &term) > 1 {
            broken!(
                "switch tile once",
                "declare an axis for each place in which copies lie",
                "the axis of the tile {} must have exactly one use in `OutSlice` {}",
                (term(pool, &term, resize), mappings.request.out_slice),
            );
        }
        if k + 1 < matched.divisor.list.len()
            && matched.divisor.list.get(k + 1).level == OUT_SLICE
            && matched.divisor.digit(k + 1).is_none()
        {
            broken!(
                "switch tile padded",
                "give the axis of the copies its full size",
                "the tile {} must not be padded, but `OutSlice` {} pads it",
                (term(pool, &term, resize), mappings.request.out_slice),
            );
        }
        attempt!(check_elsewhere(pool, mappings, &term, resize));
    });
    Ok(())
}

/// Checks that chips, clusters and the packet do not have the digit of the copies. They may have other digits of its
/// axis.
const fn check_elsewhere(pool: &Pool, mappings: &Mappings, tile: &Term, resize: usize) -> Result<(), Reason> {
    const NAMES: [&str; 3] = ["Chip", "Cluster", "Packet"];
    each!(k < NAMES.len(), {
        if overlaps(pool, tile, &mappings.others[k]) {
            broken!(
                "switch custom new axes",
                "declare an axis for the copies, or take a digit that stands nowhere else",
                "the tile {} of `OutSlice` {} must be new, but `{}` {} has coordinates of it already",
                (term(pool, tile, resize), mappings.request.out_slice, NAMES[k], mappings.request.others[k]),
            );
        }
    });
    Ok(())
}

/// Checks that a digit that stays among the slices keeps its values.
const fn check_kept_whole(
    pool: &Pool,
    mappings: &Mappings,
    matched: &Matched,
    k: usize,
) -> Result<(), Reason> {
    let (Some((term, resize)), Some(partner)) = (matched.divisor.digit(k), matched.partner_of_divisor(k))
    else {
        return Ok(());
    };
    let values = matched.dividend.list.get(partner).factor.values();
    if values == resize {
        return Ok(());
    }
    broken!(
        "switch kept whole",
        "keep all of it, or move it to time, where `= n` cuts it",
        "`OutSlice` {} keeps {} of the {} values of {}",
        (mappings.request.out_slice, resize, values, term(pool, &term, values)),
    )
}

/// True if a digit has coordinates in common with a digit of a mapping.
const fn overlaps(pool: &Pool, term: &Term, factors: &Factors) -> bool {
    let list = factors.as_slice();
    each!(k < list.len(), {
        if let Factor::Term { term: other, .. } = &list[k]
            && overlap(pool, term, other)
        {
            return true;
        }
    });
    false
}

/// Number of digits of a mapping in which the axis of a digit occurs. If the digit has several axes, the greatest
/// number counts.
const fn uses(pool: &Pool, factors: &Factors, term: &Term) -> usize {
    if let Atom::Composite(composite) = term.atom {
        let (content, mut most) = (pool.content(composite), 0);
        each!(k < content.len(), {
            if let Factor::Term { term, .. } = &content[k] {
                let count = uses(pool, factors, term);
                most = if count > most { count } else { most };
            }
        });
        return most;
    }
    let list = factors.as_slice();
    let mut count = 0;
    each!(k < list.len(), {
        if mentions(pool, &list[k], &term.atom) {
            count += 1;
        }
    });
    count
}

/// Number of slices after piece `k` up to the next digit, in values of the piece.
const fn room(mappings: &Mappings, pieces: &Pieces, k: usize) -> usize {
    let base = pieces.list.get(k).base;
    let end = if k + 1 == pieces.list.len() {
        mappings.in_slice.size()
    } else {
        let next = pieces.list.get(k + 1);
        match next.factor {
            Factor::Padding { size } => size,
            Factor::Term { .. } => next.base,
        }
    };
    end / base
}

/// The digits that are innermost in `OutTime`. Each comes from a digit of the slices, or from their padding.
const fn moves(
    pool: &Pool,
    mappings: &Mappings,
    matched: &Matched,
    inner: &Factors,
) -> Result<List<Move, PIECES>, Reason> {
    let mut moves = List::new(Move { size: 1, weight: 0, room: 1, piece: None });
    let mut size = 1;
    let mut k = 0;
    while k < matched.divisor.list.len() && matched.divisor.list.get(k).level == MOVED {
        let piece = matched.divisor.list.at(k);
        match piece.factor {
            Factor::Term { resize, .. } => {
                let Some(partner) = matched.partner_of_divisor(k) else {
                    broken!(
                        "switch moved from slice",
                        "take them from digits that `OutSlice` does not keep",
                        "the innermost digits of `OutTime` must come from the input slice and not stay there, but {} of {} \
                         are no digits of `InSlice` {} that `OutSlice` {} leaves",
                        factors(pool, inner),
                        mappings.request.out_time,
                        mappings.request.in_slice,
                        mappings.request.out_slice,
                    );
                };
                let weight = matched.dividend.list.get(partner).base;
                let room = room(mappings, &matched.dividend, partner);
                moves.push(Move { size: resize, weight, room, piece: Some(partner) });
                size = piece.base * resize;
            }
            Factor::Padding { size: padded } => {
                let found = match moves.last() {
                    Some(last)
                        if padded.is_multiple_of(size / last.size)
                            && padded / (size / last.size) <= last.room =>
                    {
                        moves.pop();
                        Some(Move { size: padded / (size / last.size), ..last })
                    }
                    Some(last) if padded.is_multiple_of(size) => {
                        hole(&matched.dividend, padded / size, last.weight * last.size)
                    }
                    Some(_) => None,
                    None => hole(&matched.dividend, padded, 1),
                };
                let Some(own_move) = found else {
                    broken!(
                        "switch moved padding",
                        "cut the padding off: a digit that leaves the slices may be trimmed with `= n`",
                        "the innermost digits of `OutTime`, {} of {}, have padding for which `InSlice` {} has no slices",
                        (factors(pool, inner), mappings.request.out_time, mappings.request.in_slice),
                    );
                };
                moves.push(own_move);
                size = padded;
            }
        }
        k += 1;
    }
    Ok(moves)
}

/// Finds padding of the slices that can become `values` time steps of padding, with at least `least` slices inside.
const fn hole(pieces: &Pieces, values: usize, least: usize) -> Option<Move> {
    let mut inside = 1usize;
    each!(k < pieces.list.len(), {
        let piece = pieces.list.get(k);
        if let Factor::Padding { size } = piece.factor {
            // The digits inside may be padded to a power of two first.
            let weight = inside.next_power_of_two();
            if weight >= least && size.is_multiple_of(weight) && values <= size / weight {
                return Some(Move { size: values, weight, room: size / weight, piece: None });
            }
        }
        inside = piece.factor.size_over(inside);
    });
    None
}

/// Checks that the sources of one time step are delivered in ascending order.
const fn check_order(pool: &Pool, mappings: &Mappings, digits: &Digits) -> Result<(), Reason> {
    each!((k = 1) < digits.moves.len(), {
        let (inner, outer) = (digits.moves.at(k - 1), digits.moves.at(k));
        if outer.weight < inner.weight * inner.size {
            let (Some(a), Some(b)) = (outer.piece, inner.piece) else {
                broken!(
                    "switch moved padding",
                    "cut the padding off",
                    "padding that moves from slice to time keeps its place, but `OutTime` {} has it elsewhere than `InSlice` {}",
                    (mappings.request.out_time, mappings.request.in_slice),
                );
            };
            let pieces = &digits.matched.dividend;
            if let (Some((first, n)), Some((second, m))) = (pieces.digit(a), pieces.digit(b)) {
                broken!(
                    "switch moved order",
                    "swap the two in `OutTime`, and reorder in `.commit()`",
                    "axes that move from slice to time keep their relative order: {} is outside of {} in `OutTime` {}, but {} is \
                     the outer one in `InSlice` {}",
                    term(pool, &first, n),
                    term(pool, &second, m),
                    mappings.request.out_time,
                    term(pool, &second, m),
                    mappings.request.in_slice,
                );
            }
        }
    });
    Ok(())
}

/// Checks digits that neither stay nor move: such a digit is left at coordinate 0, and a part of a composite has no such
/// coordinate of its own.
const fn check_dropped(pool: &Pool, mappings: &Mappings, digits: &Digits) -> Result<(), Reason> {
    let pieces = &digits.matched.dividend;
    each!(k < pieces.list.len(), {
        if let Some((term, resize)) = pieces.digit(k)
            && !pieces.list.get(k).matched
            && let Atom::Composite(_) = term.atom
        {
            broken!(
                "switch dropped block",
                "keep it in `OutSlice`, or append it to `OutTime`",
                "{} of `InSlice` {} is neither in `OutSlice` {} nor in `OutTime` {}, and has no coordinate 0 by itself",
                term(pool, &term, resize),
                mappings.request.in_slice,
                mappings.request.out_slice,
                mappings.request.out_time,
            );
        }
    });
    Ok(())
}

/// The ring that the digits need.
///
/// The *span* is the greatest distance that a packet can travel: by digits that change their place, before and after
/// the switch, and by copies. The ring is the least power of two, from the span on, at which a digit stays in place, or
/// else all slices. (The vendor's rule counts only the places before. So it gives rings that a digit leaves if padding
/// lets it jump outwards, or if copies lie on former padding.)
const fn ring(mappings: &Mappings, digits: &Digits) -> usize {
    let (before, after) = (&digits.matched.dividend, &digits.matched.divisor);
    let mut span = 0;
    each!(k < before.list.len(), {
        let (piece, values) = (before.list.get(k), before.list.get(k).factor.values());
        if before.digit(k).is_some() {
            match digits.matched.partner(k) {
                Some(other) if after.list.get(other).level == OUT_SLICE => {
                    let base = after.list.get(other).base;
                    if base != piece.base {
                        span = greatest(span, values * greatest(base, piece.base));
                    }
                }
                _ => span = greatest(span, values * piece.base),
            }
        }
    });
    each!(k < after.list.len(), {
        let piece = after.list.get(k);
        if piece.level == OUT_SLICE && !piece.matched && after.digit(k).is_some() {
            span = greatest(span, piece.base * piece.factor.values());
        }
    });
    each!(k < digits.moves.len(), {
        let moved = digits.moves.get(k);
        span = greatest(span, moved.weight * moved.size);
    });
    let mut expected = mappings.in_slice.size().next_power_of_two();
    each!(k < before.list.len(), {
        let base = before.list.get(k).base;
        if is_direct(digits, k)
            && base >= span
            && base.is_power_of_two()
            && base < expected
            && cuts_all(digits, base)
        {
            expected = base;
        }
    });
    expected
}

/// True if a digit is among the same slices as before.
const fn is_direct(digits: &Digits, k: usize) -> bool {
    let after = &digits.matched.divisor;
    match digits.matched.partner(k) {
        Some(other) if digits.matched.dividend.digit(k).is_some() => {
            let other = after.list.get(other);
            other.level == OUT_SLICE && other.base == digits.matched.dividend.list.get(k).base
        }
        _ => false,
    }
}

/// True if digits outside a sub-ring lead from sub-ring to sub-ring.
const fn cuts_all(digits: &Digits, ring: usize) -> bool {
    let before = &digits.matched.dividend;
    each!(k < before.list.len(), {
        let base = before.list.get(k).base;
        if is_direct(digits, k) && base >= ring && !base.is_multiple_of(ring) {
            return false;
        }
    });
    true
}

/// The settings of the routers, and the packets that arrive.
const fn routes(mappings: &Mappings, digits: &Digits, ring: usize) -> Switch {
    let mut switch = Switch::blank(SwitchVariant::CustomBroadcast, ring, mappings.in_time.size());
    let (before, after) = (&digits.matched.dividend, &digits.matched.divisor);
    each_back!(k < after.list.len(), {
        let piece = after.list.get(k);
        if piece.level == OUT_SLICE && after.digit(k).is_some() {
            let weight = match digits.matched.partner_of_divisor(k) {
                Some(partner) => before.list.get(partner).base,
                None => 0,
            };
            switch.push_digit(piece.base, piece.factor.values(), weight);
        }
    });
    switch.push_time(mappings.in_time.size(), 0, 1);
    each_back!(k < digits.moves.len(), {
        let Move { size, weight, .. } = digits.moves.at(k);
        switch.push_time(size, weight, 0);
        switch.push_offsets(size, weight);
    });
    switch
}

#[cfg(test)]
mod tests {
    use super::super::{SwitchConfig, SwitchRequest, derive_switch};
    use crate::mapping::M;
    use crate::prelude::{axes, m};

    axes![Z = 128, Y = 2, P = 8, Q = 3, T = 4, X = 16];

    /// Chips, clusters or packets may have other digits of the axis that the digit of the copies is from.
    #[test]
    fn copies_of_a_digit_whose_axis_is_elsewhere() {
        fn copied<Tile: M>(others: [&'static crate::mapping::Expr; 3]) -> Result<(), (&'static str, String)> {
            let (time, after) = (<m![T]>::EXPR, <m![T, Y]>::EXPR);
            let out = <m![Z, { Tile }]>::EXPR;
            let plain = SwitchRequest::new(<m![Z, Y]>::EXPR, time, out, after);
            let request = SwitchRequest { others, ..plain };
            let derived = derive_switch(&request, &SwitchConfig::CustomBroadcast { ring_size: 2 });
            derived.map(|_| ()).map_err(|error| (error.rule(), error.to_string()))
        }
        let (one, high, low) = (<m![1]>::EXPR, <m![X / 8]>::EXPR, <m![X % 4]>::EXPR);
        assert_eq!(copied::<m![X / 4 % 2]>([one, high, one]), Ok(()));
        assert_eq!(copied::<m![X / 4 % 2]>([high, one, low]), Ok(()));
        let (rule, text) = copied::<m![X / 8]>([one, high, one]).expect_err("clusters have this digit");
        assert_eq!(rule, "switch custom new axes");
        assert!(
            text.contains(
                "the tile `m![X / 8]` of `OutSlice` `m![Z, X / 8]` must be new, but `Cluster` `m![X / 8]` has coordinates of it \
                 already; help: declare an axis for the copies, or take a digit that stands nowhere else"
            ),
            "{text}"
        );
        let whole = copied::<m![X % 2]>([one, one, <m![X]>::EXPR]);
        assert!(whole.is_err_and(|(_, text)| text.contains("`Packet` `m![X]` has coordinates of it")));
        let chips = copied::<m![X / 2 % 2]>([low, one, one]);
        assert!(chips.is_err_and(|(_, text)| text.contains("`Chip` `m![X % 4]` has coordinates of it")));
    }

    /// A dropped axis is left at coordinate 0. A part of a composite has no such coordinate.
    #[test]
    fn a_part_of_a_block_is_not_dropped() {
        fn dropped<InSlice: M>() -> Result<(), (&'static str, String)> {
            let time = <m![T]>::EXPR;
            let request = SwitchRequest::new(InSlice::EXPR, time, <m![Z, 1 # 2]>::EXPR, time);
            let derived = derive_switch(&request, &SwitchConfig::CustomBroadcast { ring_size: 2 });
            derived.map(|_| ()).map_err(|error| (error.rule(), error.to_string()))
        }
        assert_eq!(dropped::<m![Z, Y]>(), Ok(()));
        let (rule, text) = dropped::<m![Z, [P, Q] % 2]>().expect_err("it has no coordinate 0");
        assert_eq!(rule, "switch dropped block");
        assert!(
            text.contains("`m![[P, Q] % 2]` of `InSlice` `m![Z, [P, Q] % 2]` is neither in `OutSlice`"),
            "{text}"
        );
    }
}
