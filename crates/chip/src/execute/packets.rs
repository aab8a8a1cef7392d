//! Pieces of a stream in place in DM: before they are fetched, or after they were committed.

use core::ops::Range;

/// Pieces of the stream that an engine reads from DM or writes there.
#[derive(Debug)]
pub(super) struct Packets {
    /// The address of each piece.
    pub(super) starts: Vec<u32>,
    /// The range from the first to the last byte of all pieces.
    pub(super) range: Range<usize>,
    /// True if each piece follows the one before it without a gap.
    pub(super) is_even: bool,
}

impl Packets {
    /// Pieces of `bytes` bytes at the addresses `starts`.
    pub(super) fn of(starts: Vec<u32>, bytes: usize) -> Option<Self> {
        let range = *starts.iter().min()? as usize..*starts.iter().max()? as usize + bytes;
        let is_even = starts.windows(2).all(|pair| pair[1] as usize == pair[0] as usize + bytes);
        Some(Self { starts, range, is_even })
    }

    /// The ranges of all pieces in order, with neighbours joined. `None`: two pieces share a byte.
    pub(super) fn joined(&self, bytes: usize) -> Option<Vec<Range<usize>>> {
        if self.is_even {
            return Some(vec![self.range.clone()]);
        }
        let mut starts: Vec<usize> = self.starts.iter().map(|&start| start as usize).collect();
        starts.sort_unstable();
        let mut all: Vec<Range<usize>> = Vec::new();
        for start in starts {
            match all.last_mut() {
                Some(last) if start < last.end => return None,
                Some(last) if start == last.end => last.end += bytes,
                _ => all.push(start..start + bytes),
            }
        }
        Some(all)
    }

    /// The addresses of the pieces, counted from `address`.
    pub(super) fn behind(&self, address: usize) -> Vec<u32> {
        self.starts.iter().map(|&start| start - address as u32).collect()
    }
}

/// An address between the bytes that are read and the bytes that are written, so that both can be borrowed at once.
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
    /// Finds the address. `None`: the two ranges share a byte, or one lies in the other.
    pub(super) fn between(read: &Range<usize>, written: &Range<usize>) -> Option<Self> {
        if read.end <= written.start {
            Some(Self { at: written.start, reads_first: true })
        } else if written.end <= read.start {
            Some(Self { at: read.start, reads_first: false })
        } else {
            None
        }
    }

    /// The addresses from which the read side and the written side count.
    pub(super) fn starts(self) -> (usize, usize) {
        if self.reads_first { (0, self.at) } else { (self.at, 0) }
    }

    /// The side that is read, and the side that is written.
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
