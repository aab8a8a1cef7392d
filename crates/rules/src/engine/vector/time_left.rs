//! The time that a reduce leaves: its remaining digits, in the same order and with the same padding.

use crate::mapping::{Factor, Factors, Matched, Pool};

/// Time behind a reduce: the expected mapping, and the given one.
pub struct TimeLeft {
    /// The digits of time that stay.
    pub expected: Factors,
    /// The mapping behind the reduce.
    pub given: Factors,
    /// Steps of the digits that stay inside the outermost digit that goes. 1 if none goes.
    pub inside: usize,
}

/// Compares time on both sides of a reduce. `level` is the level of time among the pieces. A digit goes if it has no
/// partner there; padding behind it goes with it.
pub const fn time_left(pool: &Pool, cut: &Matched, level: usize) -> TimeLeft {
    let (mut expected, mut given) = (Factors::ONE, Factors::ONE);
    // `ratio`: positions of time per position of the digits that stay. `gone`: true if the last digit goes.
    let (mut ratio, mut gone, mut inside) = (1, false, 1);
    each!(k < cut.dividend.list.len(), {
        let piece = cut.dividend.list.at(k);
        match piece.factor {
            _ if piece.level != level => {}
            Factor::Term { term, resize } => {
                ratio = piece.base / expected.size();
                gone = match cut.partner(k) {
                    Some(other) => cut.divisor.list.at(other).level != level,
                    None => true,
                };
                if gone {
                    inside = expected.size();
                } else {
                    expected.push_term(pool, term, resize);
                }
            }
            Factor::Padding { size } if !gone && size / ratio >= expected.size() => {
                expected.push_padding(size / ratio);
            }
            Factor::Padding { .. } => {}
        }
    });
    each!(k < cut.divisor.list.len(), {
        let piece = cut.divisor.list.at(k);
        match piece.factor {
            _ if piece.level != level => {}
            Factor::Term { term, resize } => given.push_term(pool, term, resize),
            Factor::Padding { size } => given.push_padding(size),
        }
    });
    TimeLeft { expected, given, inside }
}
