//! Transposition of words of several elements: moves of short elements handle eight bytes at a time.

/// Transposes `SIDE` words of `SIDE` elements: element `e` of word `k` becomes element `k` of word `e`.
///
/// Words are read in place: an array of them would be stored, and then loaded in pairs before the stores are done.
#[inline(always)]
pub(crate) fn transpose<const BYTES: usize, const SIDE: usize>(words: [&[u8; 8]; SIDE]) -> [u64; SIDE] {
    const { assert!(BYTES * SIDE == 8 && BYTES < 8, "words are square") };
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: the function needs SSE2, which every x86-64 machine has.
    unsafe {
        x86::transpose::<BYTES, SIDE>(words)
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::transpose::<BYTES, SIDE>(words)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    /// Swaps halves of words, then halves of the halves.
    #[inline(always)]
    pub fn transpose<const BYTES: usize, const SIDE: usize>(words: [&[u8; 8]; SIDE]) -> [u64; SIDE] {
        let halves = [(4, 0x0000_0000_ffff_ffff), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ffu64)];
        let mut words = words.map(|&word| u64::from_le_bytes(word));
        for (bytes, mask) in halves.into_iter().filter(|&(bytes, _)| bytes >= BYTES) {
            let apart = bytes / BYTES;
            for k in (0..SIDE).filter(|k| k & apart == 0) {
                let change = (words[k] >> (8 * bytes) ^ words[k + apart]) & mask;
                words[k + apart] ^= change;
                words[k] ^= change << (8 * bytes);
            }
        }
        words
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    /// Interleaves the elements of two words, then pairs of elements of two such vectors, until each vector holds two
    /// words of the result.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn transpose<const BYTES: usize, const SIDE: usize>(given: [&[u8; 8]; SIDE]) -> [u64; SIDE] {
        let bytes = |k| _mm_unpacklo_epi8(load(given[k]), load(given[k + 1]));
        let halves = |k| _mm_unpacklo_epi16(load(given[k]), load(given[k + 1]));
        let mut words = [0; SIDE];
        match BYTES {
            1 => {
                let [a, b, c, d] = [bytes(0), bytes(2), bytes(4), bytes(6)];
                let (low, low_rest) = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d));
                let (high, high_rest) = (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(c, d));
                put(&mut words, 0, _mm_unpacklo_epi32(low, low_rest));
                put(&mut words, 2, _mm_unpackhi_epi32(low, low_rest));
                put(&mut words, 4, _mm_unpacklo_epi32(high, high_rest));
                put(&mut words, 6, _mm_unpackhi_epi32(high, high_rest));
            }
            2 => {
                let (a, b) = (halves(0), halves(2));
                put(&mut words, 0, _mm_unpacklo_epi32(a, b));
                put(&mut words, 2, _mm_unpackhi_epi32(a, b));
            }
            _ => put(&mut words, 0, _mm_unpacklo_epi32(load(given[0]), load(given[1]))),
        }
        words
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(word: &[u8; 8]) -> __m128i {
        _mm_cvtsi64_si128(i64::from_le_bytes(*word))
    }

    /// Stores the two words of a vector as words `k` and `k + 1`.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn put(words: &mut [u64], k: usize, both: __m128i) {
        words[k] = _mm_cvtsi128_si64(both) as u64;
        words[k + 1] = _mm_cvtsi128_si64(_mm_unpackhi_epi64(both, both)) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Element `e` of word `k` becomes element `k` of word `e`.
    fn check<const BYTES: usize, const SIDE: usize>() {
        let all: Vec<u8> = (0..64).map(|k| k * 3 + 5).collect();
        let given = core::array::from_fn(|k| &all.as_chunks().0[k]);
        let words = transpose::<BYTES, SIDE>(given);
        assert_eq!(words, portable::transpose::<BYTES, SIDE>(given));
        for (k, e) in (0..SIDE).flat_map(|k| (0..SIDE).map(move |e| (k, e))) {
            let found = &words[e].to_le_bytes()[k * BYTES..][..BYTES];
            assert_eq!(found, &all[k * 8 + e * BYTES..][..BYTES], "{BYTES} bytes: word {k}, element {e}");
        }
    }

    #[test]
    fn words_are_transposed() {
        check::<1, 8>();
        check::<2, 4>();
        check::<4, 2>();
    }
}
