//! Floats with AVX-512: two chains per vector. Lane `2 r + c` belongs to row `r` of chain `c`.
//!
//! A number of each of two packets, which lie side by side, fills a vector of the stream; a vector of weights has each row
//! twice. The loops are those of the portable kernel.

use super::super::job::{FloatJob, Step};
use super::super::shape::{BLOCK, CELLS};
use super::super::tree::Lanes;
use super::prefetch;
use crate::scalar::ElementType;
use core::arch::x86_64::*;

/// Pairs of chains that are summed side by side.
const PAIRS: usize = 4;

/// The most cells of a packet of floats.
const FLOATS: usize = CELLS / 2;

/// Steps ahead of the packets that are asked for.
const AHEAD: usize = 6;

/// The most columns of a step.
const COLUMNS: usize = 32;

/// Eight rows of two chains.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Sixteen([f32; 16]);

/// Two chains beside others.
#[derive(Clone, Copy)]
struct Pair {
    /// The cells of both packets: two numbers as one of twice the size, as they are loaded together.
    cells: [f64; FLOATS],
    /// Sums of blocks that wait for as many more.
    waiting: [Sixteen; (FLOATS / BLOCK).ilog2() as usize],
    /// The results of a step, with what was added so far.
    totals: [Sixteen; COLUMNS],
}

/// Adds the sums of chains in the order of the tree.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn float(mut job: FloatJob<'_>) {
    let zero = Sixteen([0.0; 16]);
    let mut pairs = [Pair { cells: [0.0; _], waiting: [zero; _], totals: [zero; _] }; PAIRS];
    let steps = job.steps;
    let Some(chains) = job.chains else {
        steps
            .chunk_by(|a, b| a.result == b.result)
            .for_each(|chain| group(&mut job, chain, chain.len(), &mut pairs));
        return;
    };
    let mut steps = &chains.steps[..];
    for chains in &chains.groups {
        let (own, rest) = steps.split_at(chains.len * chains.count);
        group(&mut job, own, chains.len, &mut pairs);
        steps = rest;
    }
}

/// Chains of so many steps with the same tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn group(job: &mut FloatJob<'_>, steps: &[Step], len: usize, pairs: &mut [Pair; PAIRS]) {
    for chains in steps.chunks(len * 2 * PAIRS) {
        let pairs = &mut pairs[..(chains.len() / len).div_ceil(2)];
        // Blocks of as many cells as registers hold weights of.
        if job.shape.part > BLOCK {
            side_by_side::<{ 2 * BLOCK }>(job, chains, len, pairs);
        } else {
            side_by_side::<BLOCK>(job, chains, len, pairs);
        }
    }
}

/// The same in blocks of so many cells.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn side_by_side<const HELD: usize>(job: &mut FloatJob<'_>, chains: &[Step], len: usize, pairs: &mut [Pair]) {
    let FloatJob { shape, packets, weights, sums, .. } = job;
    let (tile, columns, blocks) = (shape.tile(), shape.columns, shape.part / HELD);
    let last = chains.len() / len - 1;
    // A chain without a second one is its own; its sums are taken from the first half.
    let both = |pair: usize| [2 * pair, (2 * pair + 1).min(last)].map(|chain| &chains[chain * len..][..len]);
    for (number, pair) in pairs.iter_mut().enumerate() {
        for (side, chain) in both(number).into_iter().enumerate() {
            let sums = &sums[chain[0].result as usize..][..columns];
            for (total, sum) in pair.totals.iter_mut().zip(sums) {
                sum.iter().enumerate().for_each(|(row, &sum)| total.0[2 * row + side] = sum);
            }
        }
    }
    for step in 0..len {
        for (number, pair) in pairs.iter_mut().enumerate() {
            let packets = both(number).map(|chain| packets.get(chain[step].packet));
            spread(shape.element, packets, &mut pair.cells[..shape.cells]);
        }
        if step + AHEAD < len {
            let soon = chains[step + AHEAD..].iter().step_by(len);
            soon.for_each(|step| packets.get(step.packet).first().into_iter().for_each(prefetch));
        }
        let weights = &weights[chains[step].tile as usize * tile..][..tile];
        for block in 0..columns * blocks {
            let (column, number) = (block / blocks, block % blocks + 1);
            let cells = block * HELD..(block + 1) * HELD;
            // Those of a tile repeat.
            let mut held = [_mm512_setzero_ps(); HELD];
            for (k, held) in held.iter_mut().enumerate() {
                *held = twice(&weights[(block * HELD + k) & (tile - 1)]);
            }
            // How many sums of earlier blocks this one completes.
            let levels = number.trailing_zeros() as usize;
            for pair in pairs.iter_mut() {
                let x: &[f64; HELD] = pair.cells[cells.clone()].first_chunk().expect("a block of cells");
                let mut sum = tree(x, &held);
                for waiting in &pair.waiting[..levels] {
                    sum = _mm512_add_ps(load16(waiting), sum);
                }
                if number < blocks {
                    store16(&mut pair.waiting[levels], sum);
                    continue;
                }
                if shape.absent {
                    sum = _mm512_add_ps(sum, _mm512_setzero_ps());
                }
                let total = &mut pair.totals[column];
                store16(total, _mm512_add_ps(load16(total), sum));
            }
        }
    }
    for (number, pair) in pairs.iter().enumerate() {
        // The second chain first: where both are the same one, its sums are taken from the first half.
        for (side, chain) in both(number).into_iter().enumerate().rev() {
            let sums = &mut sums[chain[0].result as usize..][..columns];
            for (total, sum) in pair.totals.iter().zip(sums) {
                sum.iter_mut().enumerate().for_each(|(row, sum)| *sum = total.0[2 * row + side]);
            }
        }
    }
}

/// The tree over a block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn tree<const HELD: usize>(x: &[f64; HELD], weights: &[__m512; HELD]) -> __m512 {
    let product = |k: usize| _mm512_mul_ps(_mm512_castpd_ps(_mm512_set1_pd(x[k])), weights[k]);
    let two = |k: usize| _mm512_add_ps(product(k), product(k + 1));
    let four = |k: usize| _mm512_add_ps(two(k), two(k + 2));
    let eight = |k: usize| _mm512_add_ps(four(k), four(k + 4));
    if HELD == BLOCK { eight(0) } else { _mm512_add_ps(eight(0), eight(BLOCK)) }
}

/// Each row twice.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn twice(rows: &Lanes) -> __m512 {
    // SAFETY: the reference is valid for reads of its 32 bytes; the load needs no alignment.
    let rows = unsafe { _mm256_loadu_ps(rows.as_ptr()) };
    let order = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    _mm512_permutexvar_ps(order, _mm512_castps256_ps512(rows))
}

/// Widens two packets: each pair of `cells` is a cell of both.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn spread(element: ElementType, packets: [&[u8]; 2], cells: &mut [f64]) {
    let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    for (sixteen, cells) in cells.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (a, b) = (widen16(element, packets[0], sixteen), widen16(element, packets[1], sixteen));
        let (low, high) = (_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b));
        let cells = cells.as_mut_ptr();
        // SAFETY: the exclusive reference is valid for writes of its 128 bytes; stores need no alignment.
        unsafe {
            _mm512_storeu_ps(cells.cast(), low);
            _mm512_storeu_ps(cells.add(8).cast(), high);
        }
    }
}

/// Widens the cells of a packet with a number, sixteen of them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn widen16(element: ElementType, packet: &[u8], number: usize) -> __m512 {
    if element == ElementType::Bf16 {
        let codes: &[u8; 32] = &packet.as_chunks().0[number];
        // SAFETY: the reference is valid for reads of its 32 bytes; the load needs no alignment.
        let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
        return _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(codes)));
    }
    let codes: &[u8; 16] = &packet.as_chunks().0[number];
    // SAFETY: the reference is valid for reads of its 16 bytes; the load needs no alignment.
    let codes = unsafe { _mm_loadu_si128(codes.as_ptr().cast()) };
    widen_bytes(element, _mm512_cvtepu8_epi32(codes))
}

/// Widens the lowest byte of each lane, `f8e4m3` or `f8e5m2`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn widen_bytes(element: ElementType, code: __m512i) -> __m512 {
    let magnitude = _mm512_and_si512(code, _mm512_set1_epi32(0x7f));
    let sign = _mm512_slli_epi32::<24>(_mm512_and_si512(code, _mm512_set1_epi32(0x80)));
    let (finite, special) = if element == ElementType::F8e4m3 {
        // See `widen`: another bias, and one code for NaN.
        let finite = _mm512_castsi512_ps(_mm512_slli_epi32::<20>(magnitude));
        let finite = _mm512_mul_ps(finite, _mm512_set1_ps(f32::from_bits((120 + 127) << 23)));
        let special = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x7f));
        (finite, (special, _mm512_set1_epi32(f32::NAN.to_bits() as i32)))
    } else {
        let wide = _mm512_slli_epi32::<21>(magnitude);
        let finite = _mm512_castsi512_ps(wide);
        let finite = _mm512_mul_ps(finite, _mm512_set1_ps(f32::from_bits((112 + 127) << 23)));
        let special = _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(0x7c));
        // A signalling NaN may stay one: the multiplication makes it quiet.
        (finite, (special, _mm512_or_si512(wide, _mm512_set1_epi32(f32::INFINITY.to_bits() as i32))))
    };
    let value = _mm512_mask_mov_epi32(_mm512_castps_si512(finite), special.0, special.1);
    _mm512_castsi512_ps(_mm512_or_si512(value, sign))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load16(from: &Sixteen) -> __m512 {
    // SAFETY: the reference is valid for reads of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_loadu_ps(from.0.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store16(to: &mut Sixteen, value: __m512) {
    // SAFETY: the exclusive reference is valid for writes of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_storeu_ps(to.0.as_mut_ptr(), value) }
}
