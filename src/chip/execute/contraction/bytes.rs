//! Integers with AVX-512 VNNI, which sums four products of bytes.
//!
//! A packet stays as it lies in memory; a vector of it meets a vector of each row, and each word of the sums belongs to
//! four neighbouring bytes. Only where a chain ends are the words of a column added up:
//!
//! ```text
//!   packet              row 0 of each tile            sums of row 0
//!   x0 x1 x2 x3 | x4 …  w0 w1 w2 w3 | w4 …     x0 w0 + … + x3 w3 | x4 w4 + … | … 16 words
//! ```
//!
//! The instruction multiplies unsigned by signed bytes. The stream is made unsigned by adding half of the range of its
//! elements. What that adds to a result depends only on the tiles of its chain, and is taken back once.

#![allow(unsafe_code)]

use super::job::{IntegerJob, Packets, Step};
use super::portable;
use super::shape::Shape;
use super::weights::Vector;
use core::arch::x86_64::*;

/// Steps ahead of a packet that is asked for: about what a memory takes to answer.
const AHEAD: usize = 16;

/// The most columns that vectors have: one per word.
const COLUMNS: usize = 16;

/// The sums of [`portable::integer`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn integer(job: IntegerJob<'_>) {
    match (job.shape.vectors, job.shape.packet_bytes(), job.shape.planes()) {
        (false, ..) => portable::integer(job),
        (true, 64, 1) => all::<8, 1>(job),
        (true, 64, _) => all::<8, 2>(job),
        (true, _, 1) => all::<4, 1>(job),
        (true, ..) => all::<4, 2>(job),
    }
}

/// `VECTORS` of weights meet a vector of the stream: one per row, or per two rows if packets are half a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn all<const VECTORS: usize, const PLANES: usize>(job: IntegerJob<'_>) {
    let IntegerJob { shape, steps, chains, packets, vectors, sums, .. } = job;
    let operands = (shape, vectors, packets);
    let Some(chains) = chains else {
        for chain in steps.chunk_by(|a, b| a.result == b.result) {
            group::<VECTORS, PLANES>(&operands, chain, chain.len(), sums);
        }
        return;
    };
    let mut steps = &chains.steps[..];
    for chains in &chains.groups {
        let (own, rest) = steps.split_at(chains.len * chains.count);
        group::<VECTORS, PLANES>(&operands, own, chains.len, sums);
        steps = rest;
    }
}

/// Chains of so many steps with the same tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn group<const VECTORS: usize, const PLANES: usize>(
    operands: &(Shape, &[Vector], Packets<'_>),
    steps: &[Step],
    len: usize,
    sums: &mut [[i32; 8]],
) {
    let (shape, vectors, packets) = operands;
    let bias = bias::<VECTORS, PLANES>(vectors, &steps[..len]);
    let bias = columns(rows::<VECTORS>(bias), shape.column_words());
    let mut steps = steps;
    while !steps.is_empty() {
        let (first, rest) = steps.split_at(len);
        let two = rest.split_at_checked(len);
        let totals = match two {
            Some((second, rest)) => multiply::<2, VECTORS, PLANES>(vectors, packets, [first, second], rest),
            None => multiply::<1, VECTORS, PLANES>(vectors, packets, [first, first], rest),
        };
        for (chain, vectors) in [Some(first), two.map(|(second, _)| second)].into_iter().flatten().zip(totals)
        {
            let sums = &mut sums[chain[0].result as usize..][..shape.columns];
            let columns = columns(rows::<VECTORS>(vectors), shape.column_words());
            for ((sum, column), bias) in sums.iter_mut().zip(&columns).zip(&bias) {
                let more = _mm256_sub_epi32(load_words(column), load_words(bias));
                let added = _mm256_add_epi32(load_words(sum), more);
                store_words(sum, added);
            }
        }
        steps = two.map_or(rest, |(_, rest)| rest);
    }
}

/// Sums products of up to two vectors of the stream with each vector of weights. Every sum is a variable of its own, as
/// the compiler does not keep arrays of them in registers.
macro_rules! multiply {
    ($chains:expr, $vectors:expr, $tile:expr, [$x:expr, $y:expr], $($v:literal: $a:ident $b:ident),*) => {
        let (tile, x, y) = (&$tile[..$vectors], $x, $y);
        $(if $v < $vectors {
            let weights = load(&tile[$v]);
            $a = _mm512_dpbusd_epi32($a, x, weights);
            if $chains > 1 {
                $b = _mm512_dpbusd_epi32($b, y, weights);
            }
        })*
    };
}

/// The sums of one or two chains with the same tiles, word by word. `next`: the steps after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn multiply<const CHAINS: usize, const VECTORS: usize, const PLANES: usize>(
    vectors: &[Vector],
    packets: &Packets<'_>,
    [first, second]: [&[Step]; 2],
    next: &[Step],
) -> [[__m512i; 8]; 2] {
    let [mut a0, mut a1, mut a2, mut a3, mut a4, mut a5, mut a6, mut a7] = [_mm512_setzero_si512(); 8];
    let [mut b0, mut b1, mut b2, mut b3, mut b4, mut b5, mut b6, mut b7] = [_mm512_setzero_si512(); 8];
    let len = first.len();
    for (k, (step, other)) in first.iter().zip(second).enumerate() {
        let tile = &vectors[step.tile as usize * VECTORS * PLANES..][..VECTORS * PLANES];
        let x = unsigned::<VECTORS, PLANES>(packets.get(step.packet));
        let y = if CHAINS > 1 { unsigned::<VECTORS, PLANES>(packets.get(other.packet)) } else { x };
        let soon = k + AHEAD;
        prefetch(packets, if soon < len { first.get(soon) } else { next.get(soon - len) });
        if CHAINS > 1 {
            prefetch(packets, if soon < len { second.get(soon) } else { next.get(soon) });
        }
        multiply!(
            CHAINS, VECTORS, tile, [x[0], y[0]],
            0: a0 b0, 1: a1 b1, 2: a2 b2, 3: a3 b3, 4: a4 b4, 5: a5 b5, 6: a6 b6, 7: a7 b7
        );
        if PLANES > 1 {
            multiply!(
                CHAINS, VECTORS, tile[VECTORS..], [x[PLANES - 1], y[PLANES - 1]],
                0: a0 b0, 1: a1 b1, 2: a2 b2, 3: a3 b3, 4: a4 b4, 5: a5 b5, 6: a6 b6, 7: a7 b7
            );
        }
    }
    [[a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7]]
}

/// What [`unsigned`] adds to the sums of a chain.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn bias<const VECTORS: usize, const PLANES: usize>(vectors: &[Vector], chain: &[Step]) -> [__m512i; 8] {
    let half = half(PLANES);
    let [mut a0, mut a1, mut a2, mut a3, mut a4, mut a5, mut a6, mut a7] = [_mm512_setzero_si512(); 8];
    for step in chain {
        let tile = &vectors[step.tile as usize * VECTORS * PLANES..][..VECTORS * PLANES];
        for tile in tile.chunks_exact(VECTORS) {
            multiply!(
                1, VECTORS, tile, [half, half],
                0: a0 a0, 1: a1 a1, 2: a2 a2, 3: a3 a3, 4: a4 a4, 5: a5 a5, 6: a6 a6, 7: a7 a7
            );
        }
    }
    [a0, a1, a2, a3, a4, a5, a6, a7]
}

/// Asks for the packet of a step.
#[inline(always)]
fn prefetch(packets: &Packets<'_>, step: Option<&Step>) {
    let start = step.and_then(|step| packets.starts.get((step.packet - packets.first) as usize));
    if let Some(byte) = start.and_then(|&start| packets.bytes.get(start as usize)) {
        // SAFETY: the instruction is part of SSE, which AVX-512 implies, and no address makes it fail.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(byte).cast()) };
    }
}

/// Half of the range of an element, in each byte.
#[inline]
#[target_feature(enable = "avx512f")]
fn half(planes: usize) -> __m512i {
    _mm512_set1_epi8(if planes == 1 { -128 } else { 8 })
}

/// A packet with half of the range added to each element: in one plane, or the even and the odd elements. Packets of
/// half a vector are repeated.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn unsigned<const VECTORS: usize, const PLANES: usize>(packet: &[u8]) -> [__m512i; PLANES] {
    let codes = if VECTORS == 8 {
        load_packet(packet.first_chunk().expect("a packet of two flits"))
    } else {
        load_flit(packet.first_chunk().expect("a packet of one flit"))
    };
    let mut planes = [codes; PLANES];
    if PLANES > 1 {
        let mask = _mm512_set1_epi8(15);
        planes[0] = _mm512_and_si512(codes, mask);
        planes[1] = _mm512_and_si512(_mm512_srli_epi16::<4>(codes), mask);
    }
    // Adding half of the range flips the sign bit.
    for plane in &mut planes {
        *plane = _mm512_xor_si512(*plane, half(PLANES));
    }
    planes
}

/// The sums of each row.
#[inline]
#[target_feature(enable = "avx512f")]
fn rows<const VECTORS: usize>(sums: [__m512i; 8]) -> [__m512i; 8] {
    if VECTORS == 8 {
        return sums;
    }
    let mut rows = [_mm512_setzero_si512(); 8];
    for k in 0..4 {
        rows[k] = _mm512_zextsi256_si512(_mm512_castsi512_si256(sums[k]));
        rows[k + 4] = _mm512_zextsi256_si512(_mm512_extracti64x4_epi64::<1>(sums[k]));
    }
    rows
}

/// Adds up each column's words of the sums of eight rows.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn columns(rows: [__m512i; 8], words: usize) -> [[i32; 8]; COLUMNS] {
    let mut columns = [[0; 8]; COLUMNS];
    // In each quarter of a vector: word `k` of four rows in `low[k]` and `high[k]`.
    let [a, b, c, d, e, f, g, h] = rows;
    let (low, high) = (transpose(a, b, c, d), transpose(e, f, g, h));
    if words < 4 {
        for first in (0..4).step_by(words) {
            let (mut a, mut b) = (low[first], high[first]);
            if words == 2 {
                a = _mm512_add_epi32(a, low[first + 1]);
                b = _mm512_add_epi32(b, high[first + 1]);
            }
            for (k, quarter) in quarters(a, b).into_iter().enumerate() {
                store_words(&mut columns[(4 * k + first) / words], quarter);
            }
        }
        return columns;
    }
    let [a, b, c, d] = quarters(add(low), add(high));
    let (ab, cd) = (_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
    match words {
        4 => {
            for (column, quarter) in columns.iter_mut().zip([a, b, c, d]) {
                store_words(column, quarter);
            }
        }
        8 => {
            store_words(&mut columns[0], ab);
            store_words(&mut columns[1], cd);
        }
        _ => store_words(&mut columns[0], _mm256_add_epi32(ab, cd)),
    }
    columns
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add([a, b, c, d]: [__m512i; 4]) -> __m512i {
    _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d))
}

/// Transposes the words of each quarter of four vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// The quarters of two vectors side by side.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarters(low: __m512i, high: __m512i) -> [__m256i; 4] {
    let ab = _mm512_shuffle_i64x2::<0b01_00_01_00>(low, high);
    let cd = _mm512_shuffle_i64x2::<0b11_10_11_10>(low, high);
    let (ab, cd) =
        (_mm512_shuffle_i64x2::<0b11_01_10_00>(ab, ab), _mm512_shuffle_i64x2::<0b11_01_10_00>(cd, cd));
    [
        _mm512_castsi512_si256(ab),
        _mm512_extracti64x4_epi64::<1>(ab),
        _mm512_castsi512_si256(cd),
        _mm512_extracti64x4_epi64::<1>(cd),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &Vector) -> __m512i {
    load_packet(&from.0)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_packet(from: &[u8; 64]) -> __m512i {
    // SAFETY: the reference is valid for reads of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// A flit in both halves of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_flit(from: &[u8; 32]) -> __m512i {
    // SAFETY: the reference is valid for reads of its 32 bytes; the instruction needs no alignment.
    let half = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
    _mm512_broadcast_i64x4(half)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_words(from: &[i32; 8]) -> __m256i {
    // SAFETY: the reference is valid for reads of its 32 bytes; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_words(to: &mut [i32; 8], value: __m256i) {
    // SAFETY: the exclusive reference is valid for writes of its 32 bytes; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
}
