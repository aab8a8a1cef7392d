//! Rows by an index: an embedding lookup, and the paged cache of two sequences.
//!
//! ```text
//!   ids     5 0 5 2          table in HBM           DM
//!                              0 ▒▒▒▒▒▒▒▒             slice 0  row 5
//!   dma_gather_rows            1 ········   ─────▶    slice 1  row 0
//!                              …                      slice 2  row 5
//!                              5 ▓▓▓▓▓▓▓▓             slice 3  row 2
//! ```
//!
//! The cache holds the keys of all tokens of two sequences. Its slots are given out page by page, 16 slots each, as the
//! sequences grow, so that the pages of one are anywhere:
//!
//! * **dma_scatter** writes the keys of new tokens to their slots. The axis `R` of the cache, its slots, is indexed.
//! * **dma_gather_rows** reads a sequence back by its pages. `R / 16`, the pages, is indexed; a row holds `R % 16`.
//!
//! The engines make one packet run per row. What rows cost is seen by the cycles of short and of long ones.
//!
//! Run it: `cargo run --release --example 09_gather`

use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};

axes![V = 32000, H = 128, S = 512, R = 1024, N = 2, T = 16, L = 20];

type Chip = m![1];

/// `out[s, h] = table[ids[s], h]`: each slice of both clusters gets the row of one token.
#[device(chip = 1)]
fn embed(
    ctx: &mut Context,
    table: &HbmTensor<bf16, Chip, m![V, H]>,
    ids: &HbmTensor<i32, Chip, m![S]>,
) -> HbmTensor<bf16, Chip, m![S, H]> {
    let rows = table.dma_gather_rows::<m![S / 256], m![S % 256], m![H], _>(&mut ctx.tdma, ids, 0);
    rows.to_hbm(&mut ctx.tdma, 4 << 30)
}

/// The same from byte offsets of rows: 256 bytes each.
#[device(chip = 1)]
fn embed_by_offset(
    ctx: &mut Context,
    table: &HbmTensor<bf16, Chip, m![V, H]>,
    offsets: &HbmTensor<i32, Chip, m![S]>,
) -> HbmTensor<bf16, Chip, m![S, H]> {
    let rows = table.dma_gather::<m![S / 256], m![S % 256], m![H], _>(offsets, 0);
    rows.to_hbm(&mut ctx.tdma, 4 << 30)
}

/// All keys of all sequences. A page is 16 slots.
type Cache = HbmTensor<bf16, Chip, m![R, H]>;
/// 16 tokens of both sequences.
type Tokens = HbmTensor<bf16, Chip, m![N, T, H]>;

/// Writes the keys of new tokens to their slots.
#[device(chip = 1)]
fn append(ctx: &mut Context, keys: &Tokens, slots: &HbmTensor<i32, Chip, m![N, T]>, cache: &mut Cache) {
    let keys = keys.to_dm::<m![1 # 2], m![N, T # 128], m![H]>(&mut ctx.tdma, 0);
    keys.dma_scatter::<m![N, T], _, _>(slots, cache, false);
}

/// The keys of one sequence, page by page, in the order of its tokens.
#[device(chip = 1)]
fn read(
    ctx: &mut Context,
    cache: &Cache,
    pages: &HbmTensor<i32, Chip, m![L]>,
) -> HbmTensor<bf16, Chip, m![L, R % 16, H]> {
    let own = cache.dma_gather_rows::<m![1 # 2], m![L # 256], m![R % 16, H], _>(&mut ctx.tdma, pages, 0);
    own.to_hbm(&mut ctx.tdma, 6 << 30)
}

/// The cycles of the moves by an index.
fn print(report: &Report, what: &str) {
    for record in report.records.iter().filter(|record| record.operation.starts_with("dma_")) {
        let cycles = record.end - record.start;
        println!(
            "{what:34} {:16} {cycles:>6} cycles for {:>7} bytes",
            record.operation, record.amount.written_bytes
        );
    }
}

fn ints<E: M + 'static>(values: &[usize]) -> HostTensor<i32, E> {
    HostTensor::from_buf(values.iter().map(|&value| Opt::Init(value as i32)).collect())
}

/// The rows of an array.
fn rows(values: &[Opt<bf16>], order: &[usize]) -> Vec<Opt<bf16>> {
    order.iter().flat_map(|&row| values[row * H::SIZE..(row + 1) * H::SIZE].to_vec()).collect()
}

fn embedding(rng: &mut SmallRng) {
    let table = HostTensor::<bf16, m![V, H]>::rand(rng);
    let values = table.to_buf();
    let random: Vec<usize> = (0..S::SIZE).map(|_| rng.random_range(0..V::SIZE)).collect();
    let neighbours: Vec<usize> = (0..S::SIZE).map(|k| 1000 + k).collect();
    for (what, ids) in [("random tokens", random), ("neighbours", neighbours)] {
        for by_offset in [false, true] {
            let mut ctx = Context::acquire();
            let found = pollster::block_on(async {
                let table = table.to_hbm(&mut ctx.pdma, 0).await;
                let y = if by_offset {
                    let offsets: Vec<usize> = ids.iter().map(|id| id * H::SIZE * 2).collect();
                    let offsets = ints::<m![S]>(&offsets).to_hbm(&mut ctx.pdma, 1 << 30).await;
                    launch(embed_by_offset, (&mut *ctx, &table, &offsets)).await
                } else {
                    let ids = ints::<m![S]>(&ids).to_hbm(&mut ctx.pdma, 1 << 30).await;
                    launch(embed, (&mut *ctx, &table, &ids)).await
                };
                y.to_host::<m![S, H]>(&mut ctx.pdma).await.to_buf()
            });
            assert!(found == rows(&values, &ids), "every token has its row");
            print(&ctx.report(), &format!("{what}, rows of 256 bytes"));
        }
    }
}

fn paged_cache(rng: &mut SmallRng) {
    let mut ctx = Context::acquire();
    // Free pages, in any order: sequences take the next one when they need it.
    let mut free: Vec<usize> = (0..R::SIZE / 16).collect();
    (0..free.len()).for_each(|k| free.swap(k, rng.random_range(0..=k)));
    let mut pages: [Vec<usize>; 2] = Default::default();
    // What each sequence has seen.
    let mut seen: [Vec<Opt<bf16>>; 2] = Default::default();
    pollster::block_on(async {
        let mut cache = HostTensor::<bf16, m![R, H]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        // 16 tokens at a time.
        for _ in 0..L::SIZE {
            let new = HostTensor::<bf16, m![N, T, H]>::rand(rng);
            let values = new.to_buf();
            let mut slots = Vec::new();
            for sequence in 0..N::SIZE {
                let page = free.pop().expect("there are enough pages");
                pages[sequence].push(page);
                slots.extend((0..T::SIZE).map(|token| page * 16 + token));
                seen[sequence]
                    .extend_from_slice(&values[sequence * T::SIZE * H::SIZE..][..T::SIZE * H::SIZE]);
            }
            let new: Tokens = new.to_hbm(&mut ctx.pdma, 1 << 30).await;
            let slots = ints::<m![N, T]>(&slots).to_hbm(&mut ctx.pdma, 2 << 30).await;
            launch(append, (&mut *ctx, &new, &slots, &mut cache)).await;
        }
        for sequence in 0..N::SIZE {
            let pages = ints::<m![L]>(&pages[sequence]).to_hbm(&mut ctx.pdma, 3 << 30).await;
            let found = launch(read, (&mut *ctx, &cache, &pages)).await;
            let found = found.to_host::<m![L, R % 16, H]>(&mut ctx.pdma).await.to_buf();
            assert!(found == seen[sequence], "sequence {sequence} is what it was given");
        }
    });
    let mut report = ctx.report();
    report.records.drain(..report.records.len() - 8);
    print(&report, "paged cache, pages of 4096 bytes");
}

fn main() {
    let mut rng = SmallRng::seed_from_u64(9);
    embedding(&mut rng);
    paged_cache(&mut rng);
}
