//! Configuration of a sequencer: nested loops over an address.

use crate::list::List;

/// The most entries that a derivation may hold before merging. The hardware takes [`crate::spec::SEQUENCER_ENTRIES`].
pub const DERIVED_ENTRIES: usize = 24;

/// One loop of a sequencer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Iterations of this loop.
    pub size: usize,
    /// Address distance between two iterations: elements, or bytes for the TRF sequencer.
    pub stride: isize,
}

impl Entry {
    /// True if this loop continues at the end of `inner`, the loop inside it: both are one loop with the stride of
    /// `inner`.
    pub const fn continues(&self, inner: &Entry) -> bool {
        // A product beyond every address is the stride of no loop.
        match inner.stride.checked_mul(inner.size as isize) {
            Some(end) => self.stride == end,
            None => false,
        }
    }
}

/// Nested loops, outermost first, and the number of elements in a packet.
///
/// Printed as `[size : stride, …] : packet_size`, followed by ` @ base n` if the base is not 0: see
/// `guide::sequencers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The loops, outermost first.
    pub entries: List<Entry, DERIVED_ENTRIES>,
    /// Elements per packet.
    pub packet_size: usize,
    /// Start of the loops, counted from the first position of the buffer in the unit of the strides. Negative if
    /// padding positions of the stream come first: `m![# 2 + B]` over `m![B]` starts at -2.
    pub base: isize,
}

impl Config {
    /// No loops: one position.
    pub const fn new(packet_size: usize) -> Self {
        const NO_ENTRIES: List<Entry, DERIVED_ENTRIES> = List::new(Entry { size: 1, stride: 0 });
        Self { entries: NO_ENTRIES, packet_size, base: 0 }
    }

    /// The number of positions that the loops visit.
    pub const fn positions(&self) -> usize {
        let mut positions = 1;
        each!(k < self.entries.len, {
            positions *= self.entries.items[k].size;
        });
        positions
    }

    /// The position with a number, in the order in which the loops visit them.
    ///
    /// # Panics
    /// If the loops visit no position with this number.
    pub fn position(&self, number: usize) -> isize {
        let (mut rest, mut position) = (number, self.base);
        for entry in self.entries.iter().rev() {
            position += (rest % entry.size) as isize * entry.stride;
            rest /= entry.size;
        }
        assert_eq!(
            rest,
            0,
            "the loops visit {} positions, and none has the number {number}",
            self.positions()
        );
        position
    }

    /// The least position that the loops visit.
    pub const fn first(&self) -> isize {
        self.extreme(false)
    }

    /// The greatest position that the loops visit. A packet continues from there.
    pub const fn last(&self) -> isize {
        self.extreme(true)
    }

    /// The end of all loops that ascend, or of all that do not.
    const fn extreme(&self, ascending: bool) -> isize {
        let mut position = self.base;
        each!(k < self.entries.len, {
            let entry = &self.entries.items[k];
            if (entry.stride > 0) == ascending {
                position += (entry.size as isize - 1) * entry.stride;
            }
        });
        position
    }
}

impl core::fmt::Display for Config {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("[")?;
        for (k, entry) in self.entries.iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            write!(f, "{comma}{} : {}", entry.size, entry.stride)?;
        }
        write!(f, "] : {}", self.packet_size)?;
        if self.base != 0 { write!(f, " @ base {}", self.base) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_in_the_order_of_nested_loops() {
        let mut config = Config { base: -3, ..Config::new(2) };
        for (size, stride) in [(3, -4), (2, 5), (4, 1)] {
            config.entries.push(Entry { size, stride });
        }
        let mut expected = Vec::new();
        for outer in 0..3 {
            for middle in 0..2 {
                expected.extend((0..4).map(|inner| -3 - 4 * outer + 5 * middle + inner));
            }
        }
        let found: Vec<isize> = (0..config.positions()).map(|number| config.position(number)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    #[should_panic(expected = "the loops visit 24 positions, and none has the number 24")]
    fn there_is_no_position_behind_the_last_one() {
        let mut config = Config::new(1);
        for (size, stride) in [(3, 8), (8, 1)] {
            config.entries.push(Entry { size, stride });
        }
        config.position(24);
    }

    #[test]
    fn the_loops_reach_from_where_all_descending_ones_end_to_where_all_ascending_ones_do() {
        let reach = |base: isize, entries: &[(usize, isize)]| {
            let mut config = Config::new(1);
            config.base = base;
            entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
            (config.first(), config.last())
        };
        assert_eq!(reach(7, &[(3, -4), (2, 5), (4, -1)]), (-4, 12));
        assert_eq!(reach(-3, &[(3, 4), (5, 0), (1, -9), (2, 7)]), (-3, 12));
        assert_eq!(reach(0, &[(3, -4)]), (-8, 0));
        assert_eq!(reach(5, &[]), (5, 5));
    }
}
