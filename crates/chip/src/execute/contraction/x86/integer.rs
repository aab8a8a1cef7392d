//! Kernels for integers with AVX2 and AVX-VNNI.
//!
//! AVX2 sums two products of 16 bits, exact for every pair of bytes. VNNI sums four products of an unsigned and a
//! signed byte, so the stream is made unsigned.

use super::super::integer::{Dots, WORDS, integer};
use super::super::job::IntegerJob;
use super::super::shape::Layout;
use super::super::weights::Vector;
use crate::execute::path::{Avx2, Avx2Vnni};
use crate::execute::prefetch;
use core::arch::x86_64::*;

impl Avx2 {
    /// Adds the sums of the steps, wrapping.
    pub(in super::super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { integer_avx2(self, job) }
    }
}

impl Avx2Vnni {
    /// Adds the sums of the steps, wrapping.
    pub(in super::super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs AVX2 and AVX-VNNI, which the machine has, as `self` exists.
        unsafe { integer_avx2_vnni(self, job) }
    }
}

// Not inlined into the functions that call it for columns of two bytes: compiling it takes long.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn integer_avx2(machine: Avx2, job: IntegerJob<'_>) {
    integer::<_, 4, 4, 2>(machine, job);
}

#[target_feature(enable = "avx2,avxvnni")]
fn integer_avx2_vnni(machine: Avx2Vnni, job: IntegerJob<'_>) {
    match job.layout {
        Avx2::LAYOUT => machine.avx2().integer(job),
        _ => integer::<_, 4, 2, 1>(machine, job),
    }
}

impl Dots for Avx2 {
    const LAYOUT: Layout = Layout { take: 16, is_wide: true, is_unsigned: false };
    const WORD: usize = 2;
    const IS_UNSIGNED: bool = false;
    type Stream = __m256i;
    type Sums = __m256i;

    #[inline(always)]
    fn prefetch(self, bytes: &[u8], start: u32) {
        prefetch::far(bytes, start as usize);
    }

    #[inline(always)]
    fn zero(self) -> __m256i {
        // SAFETY: the machine has AVX2, as `self` exists.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> __m256i {
        let packet: &[u8; 16] = packet.first_chunk().expect("packets are made of vectors");
        // SAFETY: the machine has AVX2, as `self` exists; the reference is valid for reads of its 16 bytes, and the
        // load needs no alignment.
        unsafe {
            let words = _mm256_cvtepi8_epi16(_mm_loadu_si128(packet.as_ptr().cast()));
            match (PLANES, plane) {
                (1, _) => words,
                (_, 0) => _mm256_srai_epi16::<12>(_mm256_slli_epi16::<12>(words)),
                _ => _mm256_srai_epi16::<4>(words),
            }
        }
    }

    #[inline(always)]
    fn add(self, sums: __m256i, stream: __m256i, weights: &[Vector], row: usize) -> __m256i {
        // SAFETY: the machine has AVX2, as `self` exists.
        unsafe { _mm256_add_epi32(sums, _mm256_madd_epi16(stream, half_of(weights, row))) }
    }

    #[inline(always)]
    fn words(self, rows: [__m256i; 4]) -> [[i32; 4]; WORDS] {
        let mut words = [[0; 4]; WORDS];
        // SAFETY: the machine has AVX2, as `self` exists.
        unsafe {
            for (k, both) in transpose_256(rows).into_iter().enumerate() {
                store(_mm256_castsi256_si128(both), &mut words[k]);
                store(_mm256_extracti128_si256::<1>(both), &mut words[k + 4]);
            }
        }
        words
    }

    #[inline(always)]
    fn total(self, rows: [__m256i; 4]) -> [i32; 4] {
        // SAFETY: the machine has AVX2, as `self` exists.
        unsafe {
            let [a, b, c, d] = rows;
            let ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            let cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
            add_halves(_mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd)))
        }
    }
}

impl Dots for Avx2Vnni {
    const LAYOUT: Layout = Layout { take: 32, is_wide: false, is_unsigned: false };
    const WORD: usize = 4;
    const IS_UNSIGNED: bool = true;
    type Stream = __m256i;
    type Sums = __m256i;

    #[inline(always)]
    fn prefetch(self, bytes: &[u8], start: u32) {
        prefetch::far(bytes, start as usize);
    }

    #[inline(always)]
    fn zero(self) -> __m256i {
        self.avx2().zero()
    }

    #[inline(always)]
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> __m256i {
        // SAFETY: the machine has AVX2, as `self` exists.
        unsafe { unsigned_256::<PLANES>(packet, plane) }
    }

    #[inline(always)]
    fn add(self, sums: __m256i, stream: __m256i, weights: &[Vector], row: usize) -> __m256i {
        // SAFETY: the machine has AVX2 and AVX-VNNI, as `self` exists.
        unsafe { _mm256_dpbusd_avx_epi32(sums, stream, half_of(weights, row)) }
    }

    #[inline(always)]
    fn words(self, rows: [__m256i; 4]) -> [[i32; 4]; WORDS] {
        self.avx2().words(rows)
    }

    #[inline(always)]
    fn total(self, rows: [__m256i; 4]) -> [i32; 4] {
        self.avx2().total(rows)
    }
}

/// The weights of a row, if two rows share a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn half_of(weights: &[Vector], row: usize) -> __m256i {
    let half: &[u8; 32] = &weights[row / 2].0.as_chunks().0[row % 2];
    // SAFETY: the reference is valid for reads of its 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
}

/// 32 bytes of a packet with half of the range added to each element.
#[inline]
#[target_feature(enable = "avx2")]
fn unsigned_256<const PLANES: usize>(packet: &[u8], plane: usize) -> __m256i {
    let packet: &[u8; 32] = packet.first_chunk().expect("packets are made of vectors");
    // SAFETY: the reference is valid for reads of its 32 bytes; the load needs no alignment.
    let codes = unsafe { _mm256_loadu_si256(packet.as_ptr().cast()) };
    let low = _mm256_set1_epi8(15);
    // Adding half of the range flips the sign bit.
    match (PLANES, plane) {
        (1, _) => _mm256_xor_si256(codes, _mm256_set1_epi8(-128)),
        (_, 0) => _mm256_xor_si256(_mm256_and_si256(codes, low), _mm256_set1_epi8(8)),
        _ => {
            let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), low);
            _mm256_xor_si256(upper, _mm256_set1_epi8(8))
        }
    }
}

/// Word `k` of each half of four vectors side by side, for each `k`.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_256([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab, cd),
        _mm256_unpackhi_epi64(ab, cd),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// The sums of the words of both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn add_halves(words: __m256i) -> [i32; 4] {
    let mut sums = [0; 4];
    let (low, high) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
    store(_mm_add_epi32(low, high), &mut sums);
    sums
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(words: __m128i, to: &mut [i32; 4]) {
    // SAFETY: the exclusive reference is valid for writes of its 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), words) }
}
