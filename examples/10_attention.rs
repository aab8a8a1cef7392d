//! Attention of many heads over a cache of keys and values that grows by a token per step.
//!
//! ```text
//!   B = 64 sequences of H = 8 heads: a head per slice, in both clusters.  S = 64 places in the cache, D = 64
//!
//!   token      q, k, v     bf16, a row of D each           a step appends k and v at its place of the cache,
//!   keys       S x D       places from the token on are    and attends over what is there:
//!   values     S x D       masked
//!
//!   scores     Σ q · keys + mask                           kernels::linear: the keys are weights, the mask is a bias
//!   chances    e^(scores / 8 - …) / Σ e^(…)                kernels::softmax, to bf16
//!   output     Σ chances · values                          the values are the stream, the chances are weights: each is
//!                                                          repeated for 32 columns, which are kept
//! ```
//!
//! The first kernel keeps the cache in HBM: each step writes rows of 128 bytes there, and reads all of it. Its report
//! says that these moves are nearly all of its time. The second kernel keeps the cache in DM for all steps, appends by
//! passes of the Tensor Unit, and stores it at the end. 16 tokens of a prompt are in the cache from the start.
//!
//! The heads of one token are a chain of two contractions with a mask and a softmax between them, for which `visa plan` finds a kernel,
//! too: `10_attention/planned.rs`. Both load caches and mask, and store the output:
//!
//! | heads of a token | cycles | products with values |
//! |---|---|---|
//! | by hand | 20 097 | a packet of values has 32 columns, and each of them is a sum over time |
//! | planned | 19 741 | the same; the mask and the queries come behind the keys, whose load to the register file they hide |
//!
//! The DMA engines are busy for 97 % of both: with copies of the mask to 512 slices, with outputs in short runs, and with the
//! caches.
//!
//! Run it: `cargo run --release --example 10_attention`, or with `-- --small` for fewer steps.

use furiosa_visa_std::kernels::{Plain, linear, load_operand, load_weights, softmax};
use furiosa_visa_std::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::ops::Range;

#[path = "10_attention/planned.rs"]
mod planned;

// `P`: the place of a token, whose row of the mask lets it see the places up to its own. `W`: query, key, value.
axes![B = 64, H = 8, S = 64, D = 64, P = 64, W = 3];

type Cluster = m![B / 32];
type Slice = m![B % 32, H];

/// What comes in each step, by its place.
type Tokens = HbmTensor<bf16, m![1], m![S, B, H, W, D]>;
type Cache = HbmTensor<bf16, m![1], m![B, H, S, D]>;
type Mask = HbmTensor<bf16, m![1], m![P, S]>;
type Outputs = HbmTensor<bf16, m![1], m![S, B, H, D]>;
/// A row of a token, and a cache, in each slice.
type Row = DmTensor<bf16, m![1], Cluster, Slice, m![1, D]>;
type DmCache = DmTensor<bf16, m![1], Cluster, Slice, m![S, D]>;
type Masked = VrfTensor<f32, m![1], Cluster, Slice, m![S]>;

/// Tokens of the prompt.
const PROMPT: usize = 16;

/// The output of a query.
fn attend(ctx: &mut Context, query: &Row, keys: &DmCache, values: &DmCache, mask: &Masked) -> Row {
    let weights = load_weights(ctx, keys, TrfAddress::FirstHalf);
    let scores: DmTensor<f32, _, _, _, m![1, S]> = linear(ctx, query, &weights, Some(mask), Plain);
    let chances: DmTensor<bf16, _, _, _, _> = softmax(ctx, &scores, 0.125);
    let chances = (ctx.sub.begin(chances.view()).fetch::<bf16, m![1], m![S]>())
        .collect::<m![S / 16], m![S % 16]>()
        .to_trf::<m![1], m![S]>(TrfAddress::SecondHalf);
    (ctx.main.begin(values.view()).fetch::<bf16, m![S], m![D]>())
        .collect::<m![S, D / 16], m![D % 16]>()
        .align::<m![S, D / 32], m![D % 32], _, _>(&chances)
        .contract::<m![D % 32]>()
        .accumulate::<m![D / 8], m![D % 8]>(AccumulationKind::Sequential)
        .cast::<bf16, m![D % 8 # 16]>()
        .commit(AUTO)
}

/// One step, with the cache in HBM.
#[device(chip = 1)]
fn step(
    ctx: &mut Context,
    tokens: &Tokens,
    mask: &Mask,
    (keys, values): (&mut Cache, &mut Cache),
    outputs: &mut Outputs,
    place: usize,
) {
    let token = tokens.view().tile::<m![S], 1, m![1 # 64, B, H, W, D]>(place);
    let [query, key, value] = [0, 1, 2].map(|own| -> Row {
        token.tile::<m![W], 1, m![1 # 64, B, H, 1 # 3, D]>(own).to_dm(&mut ctx.tdma, AUTO)
    });
    for (row, cache) in [(&key, &mut *keys), (&value, &mut *values)] {
        let at = cache.view_mut().tile::<m![S], 1, m![B, H, 1 # 64, D]>(place);
        row.view().to_hbm_view(&mut ctx.tdma, at);
    }
    let mask = mask.view().tile::<m![P], 1, m![1 # 64, S]>(place);
    let mask = mask.to_dm::<Cluster, Slice, m![S]>(&mut ctx.tdma, AUTO);
    let mask = load_operand(ctx, &mask);
    let [keys, values]: [DmCache; 2] = [keys, values].map(|cache| cache.to_dm(&mut ctx.tdma, AUTO));
    let output = attend(ctx, &query, &keys, &values, &mask);
    let at = outputs.view_mut().tile::<m![S], 1, m![1 # 64, B, H, D]>(place);
    output.view().to_hbm_view(&mut ctx.tdma, at);
}

/// A row per head, of a token.
type Heads = HbmTensor<bf16, m![1], m![B, H, D]>;

/// The heads of a token, with the cache in HBM: what the planned kernel computes, as `step` does it.
#[device(chip = 1)]
fn heads_of_token(
    ctx: &mut Context,
    queries: &Heads,
    keys: &Cache,
    mask: &HbmTensor<f32, m![1], m![S]>,
    values: &Cache,
    outputs: &mut Heads,
) {
    let query: Row = queries.to_dm(&mut ctx.tdma, AUTO);
    let mask = mask.to_dm::<Cluster, Slice, m![S]>(&mut ctx.tdma, AUTO);
    let mask = load_operand(ctx, &mask);
    let [keys, values]: [DmCache; 2] = [keys, values].map(|cache| cache.to_dm(&mut ctx.tdma, AUTO));
    let output = attend(ctx, &query, &keys, &values, &mask);
    output.view().to_hbm_view(&mut ctx.tdma, outputs.view_mut());
}

/// All steps, with the cache in DM.
#[device(chip = 1)]
fn steps(
    ctx: &mut Context,
    tokens: &Tokens,
    mask: &Mask,
    (keys, values): (&mut Cache, &mut Cache),
    outputs: &mut Outputs,
    end: usize,
) {
    let mut caches: [DmCache; 2] = [&*keys, &*values].map(|cache| cache.to_dm(&mut ctx.tdma, AUTO));
    let mask = mask.to_dm::<Cluster, Slice, m![P, S]>(&mut ctx.tdma, AUTO);
    for place in PROMPT..end {
        let token = tokens.view().tile::<m![S], 1, m![1 # 64, B, H, W, D]>(place);
        let token = token.to_dm::<Cluster, Slice, m![W, D]>(&mut ctx.tdma, AUTO);
        let query: Row = row(ctx, &token, 0).commit(AUTO);
        for (own, cache) in caches.iter_mut().enumerate() {
            let at = cache.view_mut().tile::<m![S], 1, m![1 # 64, D]>(place);
            row(ctx, &token, 1 + own).commit_view(at);
        }
        let mask = load_operand(ctx, mask.view().tile::<m![P], 1, m![1 # 64, S]>(place));
        let output = attend(ctx, &query, &caches[0], &caches[1], &mask);
        let at = outputs.view_mut().tile::<m![S], 1, m![1 # 64, B, H, D]>(place);
        output.view().to_hbm_view(&mut ctx.tdma, at);
    }
    let [own_keys, own_values] = &caches;
    own_keys.view().to_hbm_view(&mut ctx.tdma, keys.view_mut());
    own_values.view().to_hbm_view(&mut ctx.tdma, values.view_mut());
}

type Token = DmTensor<bf16, m![1], Cluster, Slice, m![W, D]>;
type Flits<'l> = CollectTensor<'l, { Tu::Main }, bf16, m![1], Cluster, Slice, m![D / 16], m![D % 16]>;

/// A row of a token as a stream.
fn row<'l>(ctx: &'l mut Context, token: &'l Token, own: usize) -> Flits<'l> {
    let row = token.view().tile::<m![W], 1, m![1 # 3, D]>(own);
    ctx.main.begin(row).fetch::<bf16, m![1], m![D]>().collect::<m![D / 16], m![D % 16]>()
}

/// The outputs, the caches afterwards, and the report.
type Run = (Vec<bf16>, [Vec<bf16>; 2], Report);

/// Runs the steps from the prompt to the place `end`.
fn run(tokens: &[bf16], caches: &[Vec<bf16>; 2], end: usize, in_dm: bool) -> Run {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let tokens = HostTensor::<bf16, m![S, B, H, W, D]>::from_slice(tokens);
        let tokens: Tokens = tokens.to_hbm(&mut ctx.pdma, AUTO).await;
        let far = bf16::from_f32(-1e30);
        let mask: Vec<bf16> = (0..P::SIZE * S::SIZE)
            .map(|at| if at % S::SIZE <= at / S::SIZE { bf16::from_f32(0.0) } else { far })
            .collect();
        let mask: Mask = HostTensor::<bf16, m![P, S]>::from_slice(&mask).to_hbm(&mut ctx.pdma, AUTO).await;
        let keys = HostTensor::<bf16, m![B, H, S, D]>::from_slice(&caches[0]);
        let mut keys: Cache = keys.to_hbm(&mut ctx.pdma, AUTO).await;
        let values = HostTensor::<bf16, m![B, H, S, D]>::from_slice(&caches[1]);
        let mut values: Cache = values.to_hbm(&mut ctx.pdma, AUTO).await;
        let mut outputs: Outputs =
            HostTensor::<bf16, m![S, B, H, D]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        if in_dm {
            launch(steps, (&mut ctx, &tokens, &mask, (&mut keys, &mut values), &mut outputs, end)).await;
        } else {
            for place in PROMPT..end {
                launch(step, (&mut ctx, &tokens, &mask, (&mut keys, &mut values), &mut outputs, place)).await;
            }
        }
        let outputs = outputs.to_host::<m![S, B, H, D]>(&mut ctx.pdma).await.to_vec();
        let keys = keys.to_host::<m![B, H, S, D]>(&mut ctx.pdma).await.to_vec();
        let values = values.to_host::<m![B, H, S, D]>(&mut ctx.pdma).await.to_vec();
        (outputs, [keys, values], ctx.report())
    })
}

/// The outputs of the token at a place, and the report: by hand, or planned.
fn run_heads(
    tokens: &[bf16],
    caches: &[Vec<bf16>; 2],
    place: usize,
    is_planned: bool,
) -> (Vec<bf16>, Report) {
    let rows = tokens[place * B::SIZE * H::SIZE * 192..][..B::SIZE * H::SIZE * 192].chunks(192);
    let queries: Vec<bf16> = rows.flat_map(|row| row[..D::SIZE].to_vec()).collect();
    let mask: Vec<f32> = (0..S::SIZE).map(|at| if at <= place { 0.0 } else { -1e30 }).collect();
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        // Where the plan has them: channels of HBM depend on addresses.
        let queries = HostTensor::<bf16, m![B, H, D]>::from_slice(&queries);
        let queries: Heads = queries.to_hbm(&mut ctx.pdma, 0).await;
        let keys = HostTensor::<bf16, m![B, H, S, D]>::from_slice(&caches[0]);
        let keys: Cache = keys.to_hbm(&mut ctx.pdma, 1 << 20).await;
        let values = HostTensor::<bf16, m![B, H, S, D]>::from_slice(&caches[1]);
        let values: Cache = values.to_hbm(&mut ctx.pdma, 5 << 20).await;
        let mask = HostTensor::<f32, m![S]>::from_slice(&mask);
        let mask: HbmTensor<f32, m![1], m![S]> = mask.to_hbm(&mut ctx.pdma, 10 << 20).await;
        let mut outputs: Heads = HostTensor::<bf16, m![B, H, D]>::zero().to_hbm(&mut ctx.pdma, 9 << 20).await;
        if is_planned {
            launch(planned::chain, (&mut ctx, &queries, &keys, &mask, &values, &mut outputs)).await;
        } else {
            launch(heads_of_token, (&mut ctx, &queries, &keys, &mask, &values, &mut outputs)).await;
        }
        (outputs.to_host::<m![B, H, D]>(&mut ctx.pdma).await.to_vec(), ctx.report())
    })
}

/// The distance between two bf16 at a number.
fn unit(x: f64) -> f64 {
    2f64.powi(x.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32 - 7)
}

/// Compares every output with f64, from the same bf16.
fn check(tokens: &[bf16], [keys, values]: &[Vec<bf16>; 2], outputs: &[bf16], places: Range<usize>) {
    let wide = |values: &[bf16]| values.iter().map(|x| f64::from(x.to_f32())).collect::<Vec<_>>();
    let (mut worst, mut count) = (0f64, 0);
    for head in 0..B::SIZE * H::SIZE {
        let (keys, values) = (wide(&keys[head * 4096..][..4096]), wide(&values[head * 4096..][..4096]));
        for place in places.clone() {
            let query = wide(&tokens[(place * 512 + head) * 192..][..64]);
            let scores: Vec<f64> = (keys.chunks(64).take(place + 1))
                .map(|key| key.iter().zip(&query).map(|(k, q)| k * q).sum::<f64>() / 8.0)
                .collect();
            let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
            let powers: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
            let sum: f64 = powers.iter().sum();
            let found = wide(&outputs[(place * 512 + head) * 64..][..64]);
            for (d, found) in found.iter().enumerate() {
                let parts = powers.iter().enumerate().map(|(at, power)| power / sum * values[at * 64 + d]);
                let (exact, size) = parts.fold((0.0, 0.0), |(sum, size), own| (sum + own, size + own.abs()));
                // Each chance is rounded to bf16, by 2^-8 of itself at most, then the output. What f32 rounds is far
                // less.
                let bound = size / 256.0 * 1.02 + exact.abs() / 256.0;
                let error = (found - exact).abs();
                assert!(error <= bound, "place {place}, head {head}, {d}: {found}, exactly {exact}");
                worst = worst.max(error / unit(size));
                count += 1;
            }
        }
    }
    println!(
        "{count} outputs agree with f64: largest error {worst:.3} units in the last place of bf16 at Σ |chance · value|"
    );
}

/// Prints what a report says of its kernels, and gives their cycles.
fn summary(name: &str, report: &Report) -> u64 {
    let cycles: u64 = report.kernels.iter().map(|kernel| kernel.makespan()).sum();
    println!("{name}: {cycles} cycles in {} launches", report.kernels.len());
    let (passes, moves) = (report.totals.busy[0] + report.totals.busy[1], report.totals.busy[2]);
    let share = |busy: u64| 100.0 * busy as f64 / cycles as f64;
    println!("  main and sub busy {:.1} % of the time, DMA engines {:.1} %", share(passes), share(moves));
    let path = report.critical_path(report.kernels.last().expect("a kernel ran"));
    let slowest = path.iter().max_by_key(|record| record.cycles()).expect("a kernel has operations");
    let (operation, bound) = (slowest.operation, slowest.timing.bottleneck());
    println!("  longest on the critical path: {operation}, {} cycles, bound by {bound}", slowest.cycles());
    cycles
}

/// Runs the example.
pub fn main() {
    let end = if std::env::args().any(|argument| argument == "--small") { PROMPT + 3 } else { S::SIZE };
    let mut random = SmallRng::seed_from_u64(10);
    let mut numbers = |count: usize| -> Vec<bf16> {
        (0..count).map(|_| bf16::from_f32(random.random_range(-2.0..2.0))).collect()
    };
    let tokens = numbers(S::SIZE * B::SIZE * H::SIZE * W::SIZE * D::SIZE);
    // The prompt is in the cache, and zeros behind it: what is masked must be a number.
    let caches = [1, 2].map(|own| -> Vec<bf16> {
        let of = |at: usize| {
            let (head, place, d) = (at / 4096, at / 64 % 64, at % 64);
            let token = tokens[((place * 512 + head) * 3 + own) * 64 + d];
            if place < PROMPT { token } else { bf16::from_f32(0.0) }
        };
        (0..B::SIZE * H::SIZE * S::SIZE * D::SIZE).map(of).collect()
    });

    let (first, first_caches, before) = run(&tokens, &caches, end, false);
    let (second, second_caches, after) = run(&tokens, &caches, end, true);
    check(&tokens, &first_caches, &first, PROMPT..end);
    assert!(first == second && first_caches == second_caches, "both ways compute the same");
    let count = (end - PROMPT) as u64;
    let (before, after) = (summary("cache in HBM", &before), summary("cache in DM", &after));
    println!(
        "{} and {} cycles per step: {:.2} times as fast",
        before / count,
        after / count,
        before as f64 / after as f64
    );
    assert!(after < before, "the second kernel should be faster");

    // The heads of the last token, beside those that were planned.
    let place = end - 1;
    let [(by_hand, hand), (found, planned)] =
        [false, true].map(|is_planned| run_heads(&tokens, &first_caches, place, is_planned));
    let own = place * B::SIZE * H::SIZE * D::SIZE..end * B::SIZE * H::SIZE * D::SIZE;
    assert!(by_hand == first[own.clone()], "the heads alone compute what the step does");
    let mut outputs = first;
    outputs[own].copy_from_slice(&found);
    check(&tokens, &first_caches, &outputs, place..end);
    let [hand, planned] =
        [("heads by hand", &hand), ("heads planned", &planned)].map(|(name, report)| summary(name, report));
    println!("planned heads take {:.2} times as long", planned as f64 / hand as f64);
    assert!(planned <= hand, "the plan should not be slower than what was written by hand");
}
