//! The valid-count generator: it selects the elements of a padded axis that a reduce takes.
//!
//! It tags each flit with the number of its leading lanes that count, from 0 to 8. It uses a count over packets, which
//! depends on time, and gates that open a slice up to some time step.
//!
//! ```text
//!   R of 20, 8 slices of 3 time steps       slice   0  1  2  3  4  5  6  7
//!   m![R # 24 / 3], m![R # 24 % 3]          steps   3  3  3  3  3  3  2  0      one threshold: slice 6, step 2
//! ```
//!
//! | the padded axis is in | rule |
//! |---|---|
//! | packet | it fills the leading lanes alone |
//! | time | any order |
//! | slice | digits in order |
//! | slice outside, time inside | one threshold |
//! | slice inside, time outside | one threshold, where time has no step more than needed |
//! | time and packet | the inner digits are the packet |
//! | slice and packet | only where all packets are full, or one holds all |

use super::reduce::ReduceRequest;
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{
    Atom, Factor, Factors, Ident, Pool, factors_of, modulo, product, size_of_factors, stride,
};

const OPERATION: &str = "vector_intra_slice_reduce";

/// A digit of the axis in one of the mappings.
#[derive(Clone, Copy)]
struct Digit {
    stride: usize,
    /// Number of values, with the padding that belongs to the digit.
    size: usize,
    /// Number of positions inside the digit.
    base: usize,
}

/// The digits of the axis in one mapping.
#[derive(Clone, Copy)]
struct AxisDigits {
    digits: List<Digit, 8>,
    /// True if a digit has padding of its own.
    padded: bool,
    /// The size of the axis.
    axis_size: usize,
    /// The greatest index that the digits reach.
    reach: usize,
    /// True if the mapping holds other axes.
    others: bool,
    /// True if a composite holds the axis.
    composite: bool,
}

const fn digits_of_axis(pool: &Pool, factors: &Factors, axis: &Ident) -> AxisDigits {
    let mut part = AxisDigits {
        digits: List::new(Digit { stride: 1, size: 1, base: 1 }),
        padded: false,
        axis_size: 0,
        reach: 0,
        others: false,
        composite: false,
    };
    let all = factors.as_slice();
    each!(k < all.len(), {
        if let Factor::Term { term, resize } = all[k] {
            match term.atom {
                Atom::Symbol(symbol) if symbol.name.is(axis) => {
                    let base = size_of_factors(all.split_at(k).0);
                    let mut size = resize;
                    // Padding behind the end of the axis belongs to the digit. Padding of a digit in the middle of the
                    // axis does not count.
                    if term.stride * term.modulo >= symbol.size
                        && k + 1 < all.len()
                        && let Factor::Padding { size: padded } = all[k + 1]
                    {
                        size = padded.div_ceil(base);
                        part.padded = true;
                    }
                    part.axis_size = symbol.size;
                    part.reach += (size - 1) * term.stride;
                    part.digits.push(Digit { stride: term.stride, size, base });
                }
                Atom::Symbol(_) => part.others = true,
                Atom::Composite(composite) => {
                    let content = pool.content(composite);
                    each!(j < content.len(), {
                        part.composite |= crate::mapping::mentions_axis(pool, &content[j], axis);
                    });
                    part.others = true;
                }
            }
        }
    });
    part
}

impl AxisDigits {
    const fn is_here(&self) -> bool {
        !self.digits.is_empty()
    }

    /// The least and the greatest stride.
    const fn strides(&self) -> (usize, usize) {
        let (mut least, mut most) = (usize::MAX, 0);
        each!(k < self.digits.len(), {
            let stride = self.digits.at(k).stride;
            least = if stride < least { stride } else { least };
            most = if stride > most { stride } else { most };
        });
        (least, most)
    }

    /// Number of values of all digits together.
    const fn values(&self) -> usize {
        let mut values = 1;
        each!(k < self.digits.len(), {
            values *= self.digits.at(k).size;
        });
        values
    }

    /// True if strides grow from the inside to the outside, at powers of two, so that a mask of the slice's number cuts
    /// out the digits.
    const fn is_masked(&self) -> bool {
        each!(k < self.digits.len(), {
            let digit = self.digits.at(k);
            let grows = k == 0 || digit.stride > self.digits.at(k - 1).stride;
            if !grows || !digit.base.is_power_of_two() || !digit.size.is_power_of_two() {
                return false;
            }
        });
        true
    }
}

/// The way in which packets of 4 lanes were made of flits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrowing {
    /// By `vector_split`: the innermost two time steps are the halves of a flit.
    Split,
    /// By `vector_trim_way4`: each packet is the lower half of a flit.
    Trim,
}

/// Refuses a reduce along a padded axis whose padding the valid-count generator cannot tell from elements. The
/// generator tags flits where they enter, before they are cut in halves.
///
/// # Errors
/// If the axis is padded in a way that is not in the table of this module.
pub const fn derive_valid_count(request: &ReduceRequest, narrowing: Narrowing) -> Result<(), PlanError> {
    let mut pool = Pool::new();
    let slice = attempt!(factors_of(OPERATION, &mut pool, request.units[2]));
    let mut time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let mut packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    if matches!(narrowing, Narrowing::Split) && time.size().is_multiple_of(2) {
        let half = modulo(&mut pool, &time, 2);
        time = stride(&mut pool, &time, 2);
        packet = product(&pool, &half, &packet);
    }
    let slice = digits_of_axis(&pool, &slice, &request.axis);
    let time = digits_of_axis(&pool, &time, &request.axis);
    let packet = digits_of_axis(&pool, &packet, &request.axis);
    let mut size = slice.axis_size;
    size = if time.axis_size > size { time.axis_size } else { size };
    size = if packet.axis_size > size { packet.axis_size } else { size };
    let reach = slice.reach + time.reach + packet.reach;
    let padded = slice.padded || time.padded || packet.padded || (size > 0 && reach >= size);
    let composite = slice.composite || time.composite || packet.composite;
    if !padded && !composite {
        return Ok(());
    }
    let problem = if composite {
        "is part of a product that is cut across its axes, which no counter follows"
    } else {
        match misplaced(size, &slice, &time, &packet) {
            None => return Ok(()),
            Some(problem) => problem,
        }
    };
    refuse!(
        "valid count",
        "vector_intra_slice_reduce: the axis {} of {} is padded, in slice {}, time {} and packet {}, but {}; the \
         valid-count generator cannot tell its padding from elements; help: pad it in time alone, or spread it over slices \
         outside of time",
        (request.axis.as_str(), size, request.units[2], request.time, request.packet, problem),
    )
}

/// The reason why padding in these places cannot be told from elements.
const fn misplaced(
    size: usize,
    slice: &AxisDigits,
    time: &AxisDigits,
    packet: &AxisDigits,
) -> Option<&'static str> {
    if packet.is_here() {
        let inner = packet.digits.at(0);
        let fills = packet.digits.len() == 1 && inner.base == 1 && !packet.others;
        // Packets that are always full need no count: the span of their digit divides the axis without a rest.
        let always_full = size.is_multiple_of(inner.stride * inner.size) && !packet.padded;
        if !fills && !always_full {
            return Some("the packet holds something beside it, so that what counts is no prefix");
        }
        if inner.stride != 1 && !always_full {
            return Some("the packet does not hold its inner digit");
        }
        if slice.is_here() && !always_full && size > inner.size {
            return Some("a packet of a slice would end where that of another goes on");
        }
    }
    if slice.is_here() {
        if !slice.is_masked() {
            return Some("its digits in slices are not in order, at powers of two");
        }
        if time.is_here() {
            let ((slice_least, slice_most), (time_least, time_most)) = (slice.strides(), time.strides());
            if slice_least > time_most {
                return None;
            }
            if slice_most > time_least {
                return Some("its digits in slices lie between those in time");
            }
            let per_slice = size.div_ceil(slice.values() * slice_least);
            if time.values() != per_slice {
                return Some("it is inside of slices, and time has more steps than it needs");
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::M;
    use crate::prelude::{axes, m};

    axes![R = 20, S = 11, N = 21, A = 4, L = 8, X = 24, V = 3, Y = 48];

    /// Derives the valid count for packets of 4 lanes that are the lower halves of flits.
    fn outcome<Slice: M, Time: M, Packet: M>(axis: &'static str) -> Result<(), String> {
        narrowed::<Slice, Time, Packet>(axis, Narrowing::Trim)
    }

    fn narrowed<Slice: M, Time: M, Packet: M>(
        axis: &'static str,
        narrowing: Narrowing,
    ) -> Result<(), String> {
        let one = <m![1]>::EXPR;
        let request = ReduceRequest {
            axis: Ident::new(axis),
            units: [one, <m![1 # 2]>::EXPR, Slice::EXPR],
            time: Time::EXPR,
            packet: Packet::EXPR,
            out_time: one,
            out_packet: one,
        };
        derive_valid_count(&request, narrowing).map_err(|error| {
            assert_eq!(error.rule(), "valid count");
            error.to_string()
        })
    }

    #[track_caller]
    fn refused(result: Result<(), String>, part: &str) {
        let text = result.expect_err("the padding cannot be told from elements");
        assert!(text.contains(part), "{text}");
    }

    #[test]
    fn placements_of_the_table() {
        type Dummy = m![1 # 256];
        type Lane = m![1 # 4];
        assert_eq!(outcome::<Dummy, m![1], m![A]>("A"), Ok(()), "nothing is padded");
        assert_eq!(outcome::<Dummy, m![1], m![A % 2 # 4]>("A"), Ok(()));
        assert_eq!(outcome::<Dummy, m![R # 24], Lane>("R"), Ok(()));
        assert_eq!(outcome::<Dummy, m![R # 24 % 3, A, R # 24 / 3], Lane>("R"), Ok(()), "time in any order");
        assert_eq!(outcome::<m![R # 256], m![A], Lane>("R"), Ok(()));
        assert_eq!(outcome::<Dummy, m![N # 24 / 4], m![N # 24 % 4]>("N"), Ok(()));
        // Two worked examples: 20 over 8 slices and 3 steps; 11 over 4 slices inside 3 steps, not 4.
        assert_eq!(outcome::<m![R # 24 / 3 # 256], m![R # 24 % 3], Lane>("R"), Ok(()));
        assert_eq!(outcome::<m![S # 12 % 4 # 256], m![S # 12 / 4], Lane>("S"), Ok(()));
        assert_eq!(outcome::<m![A, R # 24 / 3], m![R # 24 % 3], Lane>("R"), Ok(()), "other axes are free");
        refused(outcome::<m![S # 16 % 4 # 256], m![S # 16 / 4], Lane>("S"), "more steps than it needs");
        refused(outcome::<m![R # 32 / 4 % 4 # 256], m![R # 32 / 16, R # 32 % 4], Lane>("R"), "lie between");
        refused(outcome::<m![N # 32 / 4 # 256], m![1], m![N # 32 % 4]>("N"), "a packet of a slice");
        assert_eq!(
            outcome::<m![R # 32 / 4 # 256], m![1], m![R # 32 % 4]>("R"),
            Ok(()),
            "all packets are full"
        );
        refused(outcome::<Dummy, m![N # 24 / 2], m![A % 2, N # 24 % 2]>("N"), "no prefix");
        refused(outcome::<Dummy, m![N # 24 % 6], m![N # 24 / 6]>("N"), "does not hold its inner digit");
        refused(outcome::<m![R # 24 % 3 # 8, R # 24 / 3 # 32], m![1], Lane>("R"), "not in order");
        refused(outcome::<Dummy, m![[R, S] / 2], m![[R, S] % 2 # 4]>("R"), "a product");
        // Each clause is broken alone: digits around those in time, out of order, at no power of two, and a padded
        // outer digit.
        refused(outcome::<m![R # 32 / 16, R # 32 % 4], m![R # 32 / 4 % 4], Lane>("R"), "lie between");
        refused(outcome::<m![R # 32 % 4, R # 32 / 4 # 64], m![1], Lane>("R"), "not in order");
        refused(outcome::<m![R # 32, 1 # 3], m![1], Lane>("R"), "at powers of two");
        assert_eq!(outcome::<m![R # 32, 1 # 4], m![1], Lane>("R"), Ok(()));
        refused(outcome::<Dummy, m![X % 12], m![X / 12 # 4]>("X"), "does not hold its inner digit");
        refused(outcome::<m![N # 24 / 8], m![N # 24 % 8], Lane>("N"), "at powers of two");
        refused(outcome::<Dummy, m![S # 12 / 2 % 3], m![S # 12 / 6, S # 12 % 2]>("S"), "no prefix");
        // A composite of other axes counts as other axes beside the axis.
        refused(outcome::<Dummy, m![N # 22 / 2], m![[A, S] % 2, N # 22 % 2]>("N"), "no prefix");
        // One index too many is padding.
        refused(outcome::<Dummy, m![S # 12 % 3], m![S # 12 / 3]>("S"), "does not hold its inner digit");
    }

    /// A composite hides each of its axes, wherever it is.
    #[test]
    fn products_have_no_counter() {
        type Dummy = m![1 # 256];
        type Lane = m![1 # 4];
        for axis in ["R", "S"] {
            refused(outcome::<m![[R, S] / 2 # 256], m![1], Lane>(axis), "is part of a product");
            refused(outcome::<Dummy, m![[R, S] / 2], Lane>(axis), "is part of a product");
            refused(outcome::<Dummy, m![1], m![[R, S] % 2 # 4]>(axis), "is part of a product");
            assert_eq!(outcome::<Dummy, m![[A, V] / 2], Lane>(axis), Ok(()), "others are none of its own");
        }
    }

    /// Each condition on packets and slices decides alone.
    #[test]
    fn packets_that_need_no_count() {
        type Dummy = m![1 # 256];
        // All packets are full, with other lanes beside the axis, and with digits that are not the inner ones.
        assert_eq!(outcome::<Dummy, m![R # 24 / 2], m![A % 2, R # 24 % 2]>("R"), Ok(()));
        assert_eq!(outcome::<m![R # 40 / 10], m![R # 40 % 5], m![A % 2, R # 40 % 10 / 5]>("R"), Ok(()));
        // 20 is five times four lanes, but lanes with a stride of 6 are full only in two steps of six.
        refused(outcome::<Dummy, m![R # 24 % 6], m![R # 24 / 6]>("R"), "does not hold its inner digit");
        // One packet holds all elements.
        assert_eq!(outcome::<m![V # 8 / 4 # 256], m![1], m![V # 8 % 4]>("V"), Ok(()));
        // Two lanes of each element are no prefix.
        refused(outcome::<Dummy, m![N # 22 / 2], m![N # 22 % 2, 1 # 2]>("N"), "no prefix");
        // The digits in slices have other axes between them.
        type Lane = m![1 # 4];
        assert_eq!(outcome::<m![R # 32 / 8, A, R # 32 % 8], m![1], Lane>("R"), Ok(()));
        assert_eq!(outcome::<m![R # 32 / 16, A, R # 32 / 4 % 4], m![R # 32 % 4], Lane>("R"), Ok(()));
    }

    /// The generator counts flits: full halves do not make full flits.
    #[test]
    fn halves_belong_to_their_flit() {
        type Halves = m![R # 32 % 8 / 4];
        type Half = m![R # 32 % 8 % 4];
        let slices = |narrowing| narrowed::<m![R # 32 / 8 # 256], Halves, Half>("R", narrowing);
        assert_eq!(slices(Narrowing::Trim), Ok(()), "20 are five whole packets");
        refused(slices(Narrowing::Split), "a packet of a slice");
        // 24 elements are three whole flits.
        assert_eq!(
            narrowed::<m![X # 32 / 8 # 256], m![X # 32 % 8 / 4], m![X # 32 % 8 % 4]>("X", Narrowing::Split),
            Ok(())
        );
        // Six flits over four slices take two steps, however they are cut: no step is too many.
        type Slice = m![Y # 64 / 8 % 4 # 256];
        assert_eq!(
            narrowed::<Slice, m![Y # 64 / 32, Y # 64 % 8 / 4], m![Y # 64 % 8 % 4]>("Y", Narrowing::Split),
            Ok(())
        );
        refused(
            narrowed::<Slice, m![Y # 96 / 32, Y # 96 % 8 / 4], m![Y # 96 % 8 % 4]>("Y", Narrowing::Split),
            "more steps than it needs",
        );
        // In time, a half of 4 lanes is part of a flit of 8 that is counted.
        assert_eq!(
            narrowed::<m![1 # 256], m![R # 24 / 8, R # 24 % 8 / 4], Half>("R", Narrowing::Split),
            Ok(())
        );
    }

    /// A part of the axis in clusters does not make up for a step too many: 20 over 2 slices, 2 clusters and 6 steps of 5.
    #[test]
    fn clusters_have_other_parts() {
        let one = <m![1]>::EXPR;
        let request = ReduceRequest {
            axis: Ident::new("R"),
            units: [one, <m![R # 24 / 2 % 2]>::EXPR, <m![R # 24 % 2]>::EXPR],
            time: <m![R # 24 / 4]>::EXPR,
            packet: <m![1 # 4]>::EXPR,
            out_time: one,
            out_packet: one,
        };
        let derived = |request: &ReduceRequest| {
            derive_valid_count(request, Narrowing::Trim).map_err(|error| error.to_string())
        };
        refused(derived(&request), "more steps than it needs");
        let units = [one, <m![R / 2 % 2]>::EXPR, <m![R % 2]>::EXPR];
        assert_eq!(derived(&ReduceRequest { units, time: <m![R / 4]>::EXPR, ..request }), Ok(()));
    }
}
