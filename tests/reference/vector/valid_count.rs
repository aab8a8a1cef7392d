//! The Valid Count Generator: can it say which lanes hold elements of the reduced axis?
//!
//! It tags every flit of 8 lanes that enters with a count: lane p is valid if p is below it. The count is a packet
//! count, a function of time alone, times a gate that is 0 or 1, a threshold over some bits of the slice number and
//! over time. [`check`] asks of every slice, time step and lane whether the axis is in range, and then tries every packet
//! count and every gate.
//!
//! Positions that hold nothing because of *another* axis may have any count, since nobody uses their result.

use super::chain::Shape;
use super::rules::{Broken, Count, Rule, demand};
use crate::digits::{Digit, digits};
use crate::mapping::Map;

/// The digits of a dimension with the values that they have at a position.
pub struct Spelled {
    /// Outermost first.
    pub digits: Vec<Digit>,
}

impl Spelled {
    /// The digits of a mapping, where they are digits of single axes and padding.
    ///
    /// # Errors
    /// When they are not digits of single axes.
    pub fn of(map: &Map) -> Result<Spelled, Broken> {
        let mut digits = digits(map);
        // A digit with one live value says nothing about its axis: it is padding.
        for digit in digits.iter_mut().filter(|digit| digit.valid == 1) {
            *digit = Digit { node: Map::One, weight: 1, modulus: 1, ..digit.clone() };
        }
        let plain = digits.iter().all(|digit| matches!(digit.node, Map::One | Map::Axis { .. }));
        let size: usize = digits.iter().map(|digit| digit.extent).product();
        demand(plain && size == map.size(), Rule::NoDigits, || map.to_string())?;
        Ok(Spelled { digits })
    }

    /// Number of positions inside a digit.
    pub fn inside(&self, number: usize) -> usize {
        self.digits[number + 1..].iter().map(|digit| digit.extent).product()
    }

    /// The value of each digit at a position.
    pub fn values(&self, position: usize) -> Vec<usize> {
        let value = |(number, digit): (usize, &Digit)| position / self.inside(number) % digit.extent;
        self.digits.iter().enumerate().map(value).collect()
    }
}

/// Whether a digit belongs to an axis.
pub fn is_of(digit: &Digit, axis: &str) -> bool {
    matches!(&digit.node, Map::Axis { name, .. } if name == axis)
}

/// The counts that a flit may have: from the last valid lane to the first invalid one.
type Interval = [usize; 2];

/// What a gate must do at a slice and a time step. `None`: anything.
type Gate = Option<bool>;

/// A gate: the bits of the slice number it looks at, and the offset of each time step.
struct Threshold<'a> {
    mask: usize,
    /// Offset into the axis, by time step.
    offsets: &'a [usize],
}

impl Threshold<'_> {
    /// Whether one number of steps serves all rows.
    fn serves<'a>(&self, rows: impl Iterator<Item = &'a Vec<Gate>>) -> bool {
        // Steps whose offset is below some number are open.
        let (mut last_open, mut first_shut) = (None, None);
        for row in rows {
            for (gate, offset) in row.iter().zip(self.offsets) {
                match gate {
                    Some(true) => last_open = last_open.max(Some(*offset)),
                    Some(false) => {
                        first_shut = Some(first_shut.map_or(*offset, |first: usize| first.min(*offset)))
                    }
                    None => {}
                }
            }
        }
        last_open.is_none() || first_shut.is_none() || last_open < first_shut
    }

    /// Whether some match value makes the gate, in the standard or the transposed form.
    fn makes(&self, gates: &[Vec<Gate>]) -> bool {
        let masked = |slice: usize| slice & self.mask;
        let mut candidates: Vec<usize> = (0..gates.len()).map(masked).collect();
        candidates.extend([self.mask + 1, 0]);
        candidates.sort_unstable();
        candidates.dedup();
        candidates.iter().any(|value| {
            let rows = |test: &dyn Fn(usize) -> bool| {
                (0..gates.len())
                    .filter(|slice| test(masked(*slice)))
                    .map(|slice| &gates[slice])
                    .collect::<Vec<_>>()
            };
            let all = |rows: &[&Vec<Gate>], open: bool| {
                rows.iter().all(|row| row.iter().all(|gate| gate.is_none_or(|gate| gate == open)))
            };
            let (below, at, above) = (rows(&|s| s < *value), rows(&|s| s == *value), rows(&|s| s > *value));
            let standard = all(&above, false) && self.serves(at.iter().copied());
            let transposed = self.serves(at.iter().chain(&above).copied());
            all(&below, true) && (standard || transposed)
        })
    }
}

/// Whether the generator can describe the padding of `axis` in a stream of flits that enters the engine.
/// `trimmed`: the back four lanes go, so that counts are 4 at most.
///
/// # Errors
/// [`Rule::ValidCount`] and why, or [`Rule::NoDigits`].
pub fn check(shape: &Shape, axis: &str, size: usize, trimmed: bool) -> Result<(), Broken> {
    let refused = |why: Count| (Rule::ValidCount(why), format!("{axis} = {size} in {shape}"));
    let dims = shape.dims().map(Spelled::of);
    let [slice, time, packet] = dims;
    let dims = [slice?, time?, packet?];
    let values = |dim: usize| -> Vec<Vec<usize>> {
        (0..shape.dims()[dim].size()).map(|position| dims[dim].values(position)).collect()
    };
    let values = [values(0), values(1), values(2)];
    // `None`: nothing is there because of another axis.
    let state = |at: [usize; 3]| -> Option<bool> {
        let mut offsets: Vec<(&Map, usize)> = Vec::new();
        let mut own = true;
        for (dim, position) in at.into_iter().enumerate() {
            for (digit, value) in dims[dim].digits.iter().zip(&values[dim][position]) {
                if *value >= digit.valid {
                    if !is_of(digit, axis) {
                        return None;
                    }
                    own = false;
                }
                match offsets.iter_mut().find(|(node, _)| *node == &digit.node) {
                    Some((_, sum)) => *sum += value * digit.weight,
                    None => offsets.push((&digit.node, value * digit.weight)),
                }
            }
        }
        for (node, offset) in offsets {
            if let Map::Axis { name, size } = node
                && offset >= *size
            {
                if name != axis {
                    return None;
                }
                own = false;
            }
        }
        Some(own)
    };
    let (slices, steps, lanes) = (values[0].len(), values[1].len(), values[2].len());
    let mut intervals: Vec<Vec<Interval>> = Vec::new();
    let mut padded = false;
    for s in 0..slices {
        let mut row = Vec::new();
        for t in 0..steps {
            let states: Vec<Option<bool>> = (0..lanes).map(|p| state([s, t, p])).collect();
            let valid = states.iter().rposition(|state| *state == Some(true)).map_or(0, |lane| lane + 1);
            let invalid = states.iter().position(|state| *state == Some(false)).unwrap_or(lanes);
            padded |= invalid < lanes;
            if valid > invalid {
                return Err(refused(Count::Prefix));
            }
            row.push([valid, invalid]);
        }
        intervals.push(row);
    }
    if !padded {
        return Ok(());
    }
    let mut in_slices = dims[0].digits.iter().enumerate().filter(|(_, digit)| is_of(digit, axis));
    let powers = |(number, digit): (usize, &Digit)| {
        digit.extent.is_power_of_two() && dims[0].inside(number).is_power_of_two()
    };
    if !in_slices.all(powers) {
        return Err(refused(Count::Powers));
    }
    let masks: Vec<usize> = (dims[0].digits.iter().enumerate())
        .filter(|(_, digit)| is_of(digit, axis))
        .map(|(number, digit)| (digit.extent - 1) * dims[0].inside(number))
        .collect();
    let offsets: Vec<usize> = (values[1].iter())
        .map(|values| {
            let own = dims[1].digits.iter().zip(values).filter(|(digit, _)| is_of(digit, axis));
            own.map(|(digit, value)| digit.weight * value).sum()
        })
        .collect();
    let packet_count = |counts: &[usize]| -> bool {
        if trimmed && counts.iter().any(|count| *count > 4) {
            return false;
        }
        let gates: Option<Vec<Vec<Gate>>> = (intervals.iter())
            .map(|row| {
                (row.iter().zip(counts))
                    .map(|([low, high], count)| {
                        let (open, shut) = ((*low..=*high).contains(count), *low == 0);
                        match (open, shut) {
                            (true, true) => Some(None),
                            (false, false) => None,
                            _ => Some(Some(open)),
                        }
                    })
                    .collect()
            })
            .collect();
        let Some(gates) = gates else { return false };
        (0..1usize << masks.len()).any(|subset| {
            let mask = (0..masks.len()).filter(|k| subset >> k & 1 == 1).map(|k| masks[k]).sum();
            Threshold { mask, offsets: &offsets }.makes(&gates)
        })
    };
    // The same count at all times, or one that falls with the offset of the axis.
    let mut counts: Vec<Vec<usize>> = (1..=lanes).map(|count| vec![count; steps]).collect();
    let own: Vec<usize> = (0..dims[2].digits.len()).filter(|k| is_of(&dims[2].digits[*k], axis)).collect();
    if let [number] = own[..]
        && dims[2].digits[number].weight == 1
    {
        let unit = dims[2].inside(number);
        let stride = dims[2].digits[number].valid * unit;
        counts.push(
            offsets.iter().map(|offset| stride.min((size * unit).saturating_sub(offset * unit))).collect(),
        );
    }
    if counts.iter().any(|counts| packet_count(counts)) { Ok(()) } else { Err(refused(Count::Pattern)) }
}

/// Where the table of placements and the formulas of the specification disagree, or neither is clear: the reason.
/// [`check`] answers by the formulas there; a library that goes by the table is not wrong.
pub fn unclear(shape: &Shape, axis: &str, size: usize) -> Option<&'static str> {
    let spelled = shape.dims().map(Spelled::of);
    let [Ok(slice), Ok(time), Ok(packet)] = spelled else {
        return Some("mappings that are no digits of single axes");
    };
    let of = |spelled: &Spelled| -> Vec<Digit> {
        spelled.digits.iter().filter(|digit| is_of(digit, axis)).cloned().collect()
    };
    let (in_slice, in_time, in_packet) = (of(&slice), of(&time), of(&packet));
    let foreign = |digit: &Digit| digit.node != Map::One && !is_of(digit, axis);
    if !in_packet.is_empty() && packet.digits.iter().any(foreign) {
        return Some("another axis in the packet: forbidden by the rules, counted by the formula");
    }
    if in_packet.iter().any(|digit| digit.weight > 1) {
        return Some("a packet of higher digits: forbidden by the rules, at times counted by the formula");
    }
    let lowest = |digits: &[Digit]| digits.iter().map(|digit| digit.weight).min();
    let transposed = !in_slice.is_empty() && !in_time.is_empty() && lowest(&in_slice) < lowest(&in_time);
    let below: usize = in_slice.iter().map(|digit| digit.extent).product();
    if transposed && size.is_multiple_of(below) {
        return Some(
            "slices inside that are all full: time alone decides, but the table wants no step too many",
        );
    }
    let placements = [&in_slice, &in_time, &in_packet].map(|digits| !digits.is_empty());
    if placements == [true; 3] || in_slice.len() > 1 {
        return Some(
            "slices, time and packet, or several slice digits: the table has no row that says all of it",
        );
    }
    None
}
