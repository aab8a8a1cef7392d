//! Pieces of a stream where they lie in DM: before they are fetched, or after they were committed.

use core::ops::Range;

/// Pieces of the stream that an engine takes from DM, or leaves there.
#[derive(Debug)]
pub(super) struct Packets {
    /// The address of each.
    pub(super) starts: Vec<u32>,
    /// All bytes of all pieces, and what lies between them.
    pub(super) range: Range<usize>,
    /// They lie one behind the other.
    pub(super) is_even: bool,
}

impl Packets {
    /// Pieces of so many bytes at these addresses.
    pub(super) fn of(starts: Vec<u32>, bytes: usize) -> Option<Self> {
        let range = *starts.iter().min()? as usize..*starts.iter().max()? as usize + bytes;
        let is_even = starts.windows(2).all(|pair| pair[1] as usize == pair[0] as usize + bytes);
        Some(Self { starts, range, is_even })
    }

    /// The bytes of all pieces in order, neighbours joined. `None`: two pieces have a byte in common.
    pub(super) fn joined(&self, bytes: usize) -> Option<Vec<Range<usize>>> {
        if self.is_even {
            return Some(vec![self.range.clone()]);
        }
        let mut starts = self.starts.clone();
        starts.sort_unstable();
        let mut all: Vec<Range<usize>> = Vec::new();
        for start in starts.into_iter().map(|start| start as usize) {
            match all.last_mut() {
                Some(last) if start < last.end => return None,
                Some(last) if start == last.end => last.end += bytes,
                _ => all.push(start..start + bytes),
            }
        }
        Some(all)
    }

    /// The pieces counted from an address on.
    pub(super) fn behind(&self, address: usize) -> Vec<u32> {
        self.starts.iter().map(|&start| start - address as u32).collect()
    }
}

/// An address between bytes that are read and bytes that are written, so that the one can be done during the other.
///
/// ```text
///   DM    0 … │ what is read │ … cut … │ what is written │ …        or the other way round
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    at: usize,
    reads_first: bool,
}

impl Cut {
    /// `None`: the two have a byte in common, or one lies in the other.
    pub(super) fn between(read: &Range<usize>, written: &Range<usize>) -> Option<Self> {
        if read.end <= written.start {
            Some(Self { at: written.start, reads_first: true })
        } else if written.end <= read.start {
            Some(Self { at: read.start, reads_first: false })
        } else {
            None
        }
    }

    /// The addresses from which the two sides count.
    pub(super) fn starts(self) -> (usize, usize) {
        if self.reads_first { (0, self.at) } else { (self.at, 0) }
    }

    /// The side that is read, and the one that is written.
    pub(super) fn sides(self, bytes: &mut [u8]) -> (&[u8], &mut [u8]) {
        let (low, high) = bytes.split_at_mut(self.at.min(bytes.len()));
        if self.reads_first { (low, high) } else { (high, low) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_with_a_common_byte_are_not_joined() {
        let of = |starts: &[u32]| Packets::of(starts.to_vec(), 32).expect("some pieces").joined(32);
        assert_eq!(of(&[64, 96, 128]).as_deref(), Some(&[Range { start: 64, end: 160 }][..]));
        assert_eq!(of(&[128, 0, 96, 32]), Some(vec![0..64, 96..160]));
        assert_eq!(of(&[128, 0, 97, 32]), None);
        assert_eq!(of(&[64, 64]), None);
    }

    #[test]
    fn a_cut_lies_between_what_is_read_and_what_is_written() {
        let sides = |read: Range<usize>, written: Range<usize>| {
            let cut = Cut::between(&read, &written)?;
            let mut bytes: Vec<u8> = (0..32).collect();
            let (from, to) = cut.starts();
            let (input, output) = cut.sides(&mut bytes);
            let first = |side: &[u8], at: usize| side[at];
            Some((first(input, read.start - from), first(output, written.start - to)))
        };
        assert_eq!(sides(2..8, 8..20), Some((2, 8)));
        assert_eq!(sides(20..32, 3..9), Some((20, 3)));
        assert_eq!(sides(2..9, 8..20), None);
        assert_eq!(sides(10..12, 8..20), None);
    }
}
