//! A value in all elements of a tensor in DM, by the sub context.
//!
//! The Commit Engine writes an immediate of 32 bits to an address, without a stream. The command is a loop over the words
//! that hold elements; a word has the value as often as it fits:
//!
//! ```text
//!   i8 m![A, B # 8], A = 2, B = 5      ██████████░░░░░░██████████░░░░░░
//!   words                              └──────┘└──────┘└──────┘└──────┘      [2 : 8, 2 : 4] : 4
//! ```
//!
//! Positions of a word that are no elements of the destination stay as they are.

use super::region::Region;
use super::transfer::{Transfer, TransferLoop};
use super::uses::{Place, Use};
use crate::mapping::gcd;
use crate::sequencer::transfer::contiguous_elements;
use crate::sequencer::{Config, Entry};
use crate::spec::IMMEDIATE_BYTES;
use core::fmt;

/// Bits of an immediate.
const WORD: usize = 8 * IMMEDIATE_BYTES;

/// A value in all elements of a tensor, or of a tile of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Memset {
    /// The tensor that is written.
    pub destination: Region,
    /// The immediate: the code of the value, as often as it fits.
    pub immediate: u32,
    /// The loops over the elements of the destination. Nothing is read: both sides are those of the destination.
    pub moves: Transfer,
}

impl Memset {
    /// The name of the call.
    pub const CALL: &'static str = "memset";

    /// The immediate of a code of `bits` bits: the code as often as it fits.
    pub const fn immediate(code: u32, bits: usize) -> u32 {
        let (mut word, mut filled) = (0, 0);
        while filled < WORD {
            word |= (code as u64 & ((1 << bits) - 1)) << filled;
            filled += bits;
        }
        word as u32
    }

    /// The tensor that it writes.
    pub fn writes(&self) -> Use {
        Use::write(Place::Region(self.destination), Self::CALL)
    }

    /// The loops over the words in a slice, in elements. A word is a packet.
    ///
    /// ```text
    ///   bf16 m![A, B # 4], A = 2, B = 3      [2 : 4, 2 : 2] : 2       words 0, 1, 2, 3; the second one is half of it
    /// ```
    ///
    /// All runs of neighbouring elements have as many words as the one that starts latest in a word: that is the number of
    /// turns of the inner loop. Loops over padding have their turns, too.
    pub fn words(&self) -> Config {
        let Self { destination, moves, .. } = self;
        let bits = destination.footprint.element.bits();
        let run = contiguous_elements(moves);
        let outside = |step: &&TransferLoop| {
            step.size != 1 && step.destination.units == 0 && step.destination.elements >= run
        };
        let outer = || moves.loops.iter().filter(outside);
        let start = moves.destination_start.elements;
        let first = (destination.address as i128 * 8 + start as i128 * bits as i128).rem_euclid(WORD as i128);
        let apart = outer().fold(WORD, |apart, step| gcd(apart, step.destination.elements * bits % WORD));
        let latest = WORD - apart + first as usize % apart;
        let words = (latest + run * bits).div_ceil(WORD);
        let per_word = WORD / bits;
        let mut config = Config { base: start - (first as usize / bits) as isize, ..Config::new(per_word) };
        for step in outer() {
            let stride = step.destination.elements as isize;
            config.entries.push(Entry { size: step.size, stride });
        }
        config.entries.push(Entry { size: words, stride: per_word as isize });
        config
    }
}

/// `memset, 0x3f803f80 to 64 words of each slice: [64 : 2] : 2`.
impl fmt::Display for Memset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words();
        let (count, name) = (words.positions(), Self::CALL);
        let noun = if count == 1 { "word" } else { "words" };
        write!(f, "{name}, {:#010x} to {count} {noun} of each slice: {words}", self.immediate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{ContextKind, FillId, Footprint, Memory, Operation};
    use crate::mapping::Guard;
    use crate::scalar::ElementType::{self, Bf16, F32, I4, I8};
    use crate::testing::transfer;

    /// A memset at an address, of loops of a size and a distance in elements.
    fn set(element: ElementType, address: u64, code: u32, loops: &[(usize, usize)]) -> Memset {
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 4096, guard };
        let inside = loops.iter().map(|&(size, step)| (size, 0, step, 0, step));
        let moves: Vec<_> = [(256, 1, 0, 1, 0)].into_iter().chain(inside).collect();
        Memset {
            destination: Region::whole(Memory::Dm, address, FillId(7), footprint),
            immediate: Memset::immediate(code, element.bits()),
            moves: transfer(&moves),
        }
    }

    #[track_caller]
    fn loops(memset: &Memset, expected: &str) {
        assert_eq!(memset.words().to_string(), expected);
    }

    #[test]
    fn an_immediate_is_full_of_the_code() {
        assert_eq!(Memset::immediate(0x7, 4), 0x7777_7777);
        assert_eq!(Memset::immediate(0xffff_fff8, 4), 0x8888_8888, "higher bits are ignored");
        assert_eq!(Memset::immediate(0x5c, 8), 0x5c5c_5c5c);
        assert_eq!(Memset::immediate(0x3f80, 16), 0x3f80_3f80);
        assert_eq!(Memset::immediate(0x8000_0001, 32), 0x8000_0001);
    }

    /// Rows of bytes: each has as many words as the bytes need from its start on.
    #[test]
    fn words_are_counted_from_where_runs_start() {
        loops(&set(I8, 64, 0, &[(64, 1)]), "[16 : 4] : 4");
        loops(&set(I8, 64, 0, &[(5, 1)]), "[2 : 4] : 4");
        loops(&set(I8, 64, 0, &[(2, 8), (5, 1)]), "[2 : 8, 2 : 4] : 4");
        // From byte 3 of a word on: 1 byte, then 4.
        loops(&set(I8, 67, 0, &[(5, 1)]), "[2 : 4] : 4 @ base -3");
        loops(&set(I8, 67, 0, &[(6, 1)]), "[3 : 4] : 4 @ base -3");
        // Every 6th byte is byte 0 or 2 of a word: 3 bytes from byte 2 on lie in 2 words, and 2 bytes in one.
        loops(&set(I8, 64, 0, &[(4, 6), (3, 1)]), "[4 : 6, 2 : 4] : 4");
        loops(&set(I8, 64, 0, &[(4, 6), (2, 1)]), "[4 : 6, 1 : 4] : 4");
        // Every 5th byte is any byte of a word, and in words that start at byte 1, each 4th one is byte 1.
        loops(&set(I8, 64, 0, &[(4, 5), (2, 1)]), "[4 : 5, 2 : 4] : 4");
        loops(&set(I8, 65, 0, &[(4, 8), (3, 1)]), "[4 : 8, 1 : 4] : 4 @ base -1");
        // One element of each row of 8 halves of a byte, 2 bytes and 4 bytes.
        loops(&set(I4, 64, 0, &[(16, 8)]), "[16 : 8, 1 : 8] : 8");
        loops(&set(Bf16, 64, 0, &[(16, 4), (3, 1)]), "[16 : 4, 2 : 2] : 2");
        loops(&set(F32, 64, 0, &[(16, 1)]), "[16 : 1] : 1");
        // A single element, and none.
        loops(&set(Bf16, 64, 0, &[]), "[1 : 2] : 2");
        assert_eq!(set(F32, 64, 0, &[(0, 8), (4, 1)]).words().positions(), 0);
    }

    #[test]
    fn it_writes_its_tensor_and_reads_nothing() {
        let memset = set(Bf16, 64, 0x3f80, &[(64, 1)]);
        assert_eq!(memset.to_string(), "memset, 0x3f803f80 to 32 words of each slice: [32 : 2] : 2");
        assert_eq!(
            set(I8, 64, 0, &[(3, 1)]).to_string(),
            "memset, 0x00000000 to 1 word of each slice: [1 : 4] : 4"
        );
        let operation = Operation::Memset(Box::new(memset));
        assert_eq!((operation.name(), operation.context()), ("memset", ContextKind::Sub));
        let [only] = &operation.uses()[..] else { panic!("one tensor") };
        assert_eq!((only.place.fill(), only.writes, only.operation), (FillId(7), true, "memset"));
    }
}
