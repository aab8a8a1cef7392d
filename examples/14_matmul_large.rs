//! Large matrix products, in int8: four ways by hand to share the sum over `K`, what each of them costs, and the way that
//! `visa plan` finds.
//!
//! ```text
//!   one slice          each slice has all of K, for some rows and some columns
//!
//!   between slices     each slice of a team has a part of K; the Vector Engine adds what they have,
//!                      and each of them keeps some of the rows
//!
//!   between clusters   each cluster has a half of K, and its slices parts of that; it sends the other cluster its sums
//!                      for one half of the columns, and adds what it gets to those for the other half
//!
//!   between chips      the same for two chips
//! ```
//!
//! | sum over `K` | cycles, 4096 | share of peak | cycles, 16384 | share of peak |
//! |---|---|---|---|---|
//! | one slice | 7 255 220 | 3.6 % | the rows do not fit | |
//! | slices | 5 928 782 | 4.4 % | 48 952 744 | 34.3 % |
//! | clusters | 3 166 494 | 8.3 % | 26 106 992 | 64.3 % |
//! | chips (2) | 4 120 232 | 3.2 % | 42 688 934 | 19.7 % |
//!
//! | planned | 303 958 | 86.2 % | | |
//!
//! The load of weights decides those by hand: slices that share columns get copies of the same weights, and slices of a cluster get
//! copies one after another. A slice with all of `K` has room for 8 columns in a half of its register file, and uses them for few
//! rows. Its writes, 2 KiB apart, also stay at one bank of DM and keep the DMA engines out. With half of `K` in each cluster, both
//! load copies at the same time. Sums between slices cost nothing beside the product, and those between clusters hide behind it.
//! Two chips have twice the peak, but the link between them takes longer than the product; they are for what the memory
//! of one chip does not hold.
//!
//! The planned one loads weights to one slice each, where they stay in the register file. Slices that share rows of `x` load a
//! part of them each, and the Switch Engine hands the parts round while they are multiplied.
//!
//! In each turn of the ways by hand a block of columns of `w` goes to one half of the register file while the other half multiplies:
//!
//! ```text
//!   DMA    w0 w1 w2 w3 y0 w4 y1 …
//!   sub       w0 w1 w2    w3    …
//!   main         y0 y1    y2    …
//! ```
//!
//! The load of a block is given before the store that waits for a product: a store in front of it would hold it up.
//!
//! Tiles of `x` and `w` are read where they lie in HBM, and those of `y` are written where they belong.
//!
//! Run it: `cargo run --release --example 14_matmul_large` makes a table for 4096 x 4096 x 4096. Other sizes are 2048
//! (or `--small`), 8192 and 16384; a second argument such as `slices` names one way. `VISA_COMPUTE=shapes_only` computes
//! the time alone.

use furiosa_visa_std::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::time::Instant;

/// Elements of `x` that a chip multiplies per cycle: 8 rows of 64 in each of 512 slices.
const PRODUCTS_PER_CYCLE: usize = 512 * 512;

/// Where things live in the DM of each slice.
const X_ADDRESS: u64 = 0;
const W_ADDRESS: u64 = 256 << 10;
const Y_ADDRESS: u64 = 320 << 10;
/// Of a block of weights; a block of sums has no more.
const BLOCK_BYTES: u64 = 32 << 10;

/// The place of a block in a buffer for two.
fn half_of(buffer: u64, block: usize) -> u64 {
    buffer + block as u64 % 2 * BLOCK_BYTES
}

/// The half of the register file for a block.
fn half_of_trf(block: usize) -> TrfAddress {
    if block.is_multiple_of(2) { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf }
}

/// A function that runs a kernel on random numbers, checks the result and returns the kernel's cycles.
macro_rules! run {
    ($size:tt, $chips:tt, $kernel:path) => {
        pub fn run() -> u64 {
            let mut rng = SmallRng::seed_from_u64(14);
            let is_time_only = is_time_only();
            // The time does not depend on values: none are made where it is all that is asked for.
            let count = if is_time_only { 0 } else { $size * $size };
            let mut random = || -> Vec<i8> { (0..count).map(|_| rng.random()).collect() };
            let (x, w) = (random(), random());
            let (y, cycles) = pollster::block_on(async {
                let mut ctx = Context::with(SimOptions { chips: Some($chips), ..SimOptions::default() });
                let hx = if is_time_only {
                    HostTensor::zero()
                } else {
                    HostTensor::<i8, m![M, K]>::from_slice(&x)
                };
                let dx: X = hx.to_hbm(&mut ctx.pdma, 0).await;
                let hw = if is_time_only {
                    HostTensor::zero()
                } else {
                    HostTensor::<i8, m![N, K]>::from_slice(&w)
                };
                let dw: W = hw.to_hbm(&mut ctx.pdma, 1 << 30).await;
                let hy = HostTensor::<i32, m![M, N]>::zero();
                let mut y: Y = hy.to_hbm(&mut ctx.pdma, 2 << 30).await;
                drop((hx, hw, hy));
                launch($kernel, (&mut ctx, &dx, &dw, &mut y)).await;
                let y = y.to_host::<m![M, N]>(&mut ctx.pdma).await;
                ((!is_time_only).then(|| y.to_vec()), ctx.report().kernels[0].makespan())
            });
            if let Some(y) = y {
                check($size, &x, &w, &y, &mut rng);
            }
            cycles
        }
    };
}

/// Each slice has all of `K`: `$rows` rows of `x`, and `$columns` of `w` in `$blocks` blocks of `$block`, which have
/// `$groups` groups of 8. A row has `$flits` flits in `$pairs` pairs. `$half` rows are in each cluster.
macro_rules! in_one_slice {
    (
        $name:ident: $size:tt, half $half:tt, rows $rows:tt, columns $columns:tt, flits $flits:tt, pairs $pairs:tt,
        block $block:tt, groups $groups:tt, blocks $blocks:tt
    ) => {
        mod $name {
            use super::*;

            axes![M = $size, N = $size, K = $size];

            type Cluster = m![M / $half];
            type Slice = m![M / $rows % 32, N / $columns];
            type Row = m![N % 8];
            type Group = m![N / 8 % $groups];

            type X = HbmTensor<i8, m![1], m![M, K]>;
            type W = HbmTensor<i8, m![1], m![N, K]>;
            type Y = HbmTensor<i32, m![1], m![M, N]>;
            type DmX = DmTensor<i8, m![1], Cluster, Slice, m![M % $rows, K]>;
            type DmW = DmTensor<i8, m![1], Cluster, Slice, m![N % $block, K]>;
            type Weights = TrfTensor<i8, m![1], Cluster, Slice, Row, m![{ Group }, K]>;
            type DmY = DmTensor<i32, m![1], Cluster, Slice, m![M % $rows, N % $columns]>;
            type OfBlock = m![M % $rows, 1 # $blocks, N % $block];
            type Block<'l> = DmTensorViewMut<'l, i32, m![1], Cluster, Slice, OfBlock>;

            /// Brings a block of weights to one half of the register file.
            fn load(ctx: &mut Context, w: &W, block: usize) -> Weights {
                let w = w.view();
                let w = w.tile::<m![N / $block % $blocks], 1, m![N / $columns, 1 # $blocks, N % $block, K]>(block);
                let w: DmW = w.to_dm(&mut ctx.tdma, half_of(W_ADDRESS, block));
                (ctx.sub.begin(w.view()))
                    .fetch::<i8, m![{ Row }, { Group }], m![K]>()
                    .collect::<m![{ Row }, { Group }, K / 32 % $flits], m![K % 32]>()
                    .to_trf(half_of_trf(block))
            }

            /// `y[m, n] = Σ x[m, k] · w[n, k]` for the rows in DM and the columns of one block.
            fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, y: Block<'_>) {
                (ctx.main.begin(x.view()).fetch::<i8, m![M % $rows], m![K]>())
                    .collect::<m![M % $rows, K / 32 % $flits], m![K % 32]>()
                    .align::<m![M % $rows, K / 64 % $pairs, { Group }], m![K % 64], _, _>(weights)
                    .contract::<m![1]>()
                    .accumulate::<m![M % $rows, { Group }], Row>(AccumulationKind::Interleaved)
                    .commit_view(y)
            }

            #[device(chip = 1)]
            fn product(ctx: &mut Context, x: &X, w: &W, y: &mut Y) {
                let x: DmX = x.to_dm(&mut ctx.tdma, X_ADDRESS);
                // A row of a block has few bytes: whole rows go to HBM when all blocks are done. A load makes their
                // place.
                let mut sums: DmY = y.view().to_dm(&mut ctx.tdma, Y_ADDRESS);
                let mut next = Some(load(ctx, w, 0));
                for block in 0..$blocks {
                    let following = (block + 1 < $blocks).then(|| load(ctx, w, block + 1));
                    let weights = std::mem::replace(&mut next, following).expect("one load for each block");
                    let own = sums.view_mut().tile::<m![N / $block % $blocks], 1, OfBlock>(block);
                    multiply(ctx, &x, &weights, own);
                }
                sums.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
            }

            run!($size, 1, product);
        }
    };
}

/// Adds the sums that clusters or chips have for different parts of `K`, or leaves them as they are.
macro_rules! add_parts {
    (slices, $ctx:ident, $sums:ident) => {
        $sums
    };
    (clusters, $ctx:ident, $sums:ident) => {
        add_parts!(@ $ctx, $sums, parallel_copy_cluster_slice, dm_cluster_shuffle, m![1], Halves)
    };
    (chips, $ctx:ident, $sums:ident) => {
        add_parts!(@ $ctx, $sums, parallel_copy_chip_slice, dm_chip_shuffle, Halves, Cluster)
    };
    // Each unit keeps a half of the columns and sends the other half.
    (@ $ctx:ident, $sums:ident, $copy:ident, $shuffle:ident, $chip:ty, $cluster:ty) => {{
        let kept: Half = $ctx.sub.$copy::<2, Halves, Others, _, _, _, _, _, _>($sums.view(), &[0, 1]);
        let sent: Half = $ctx.sub.$copy::<2, Halves, Others, _, _, _, _, _, _>($sums.view(), &[1, 0]);
        let sent = $ctx.tdma.$shuffle::<_, 2, _, _, _, _>(sent.view(), &[1, 0]);
        add(&mut $ctx.main, &kept, &sent).relabel::<$chip, $cluster, Shared, Kept>()
    }};
}

/// Each slice has a part of `K`.
///
/// `$chip` and `$cluster` say what chips and clusters share, `$own` the `K` of a chip. `$teams` of `$ways` slices are a
/// cluster. `$half`: of `M`, which is multiplied by all of `w` before the other half is. `$rows`: of `M`, of a team,
/// which are `$steps` for each of its slices. `$part`: of `K`, of a slice, in so many `$flits` and `$pairs` of them.
/// `$block`: the columns whose `$part` is 32 KiB, in `$groups` of 8, or two times `$kept` columns; there are `$blocks`.
/// `$sums` is the layout of a block of sums in `$steps` rows, and `$stored` what HBM has of it.
macro_rules! between {
    (
        $parts:ident, $name:ident: $size:tt, chips $chips:tt $chip:tt, clusters $cluster:tt, own $own:tt,
        teams $teams:tt, ways $ways:tt, half $half:tt, rows $rows:tt, steps $steps:tt,
        part $part:tt, flits $flits:tt, pairs $pairs:tt,
        block $block:tt, groups $groups:tt, blocks $blocks:tt, kept $kept:tt,
        sums $sums:tt, y $y_chip:tt $stored:tt
    ) => {
        mod $name {
            use super::*;

            axes![M = $size, N = $size, K = $size];

            type Chip = m!$chip;
            type Cluster = m!$cluster;
            type Slice = m![M / $rows % $teams, K / $part % $ways];
            /// 8 weights in the rows of the TRF, groups of them after each other.
            type Row = m![N % 8];
            type Group = m![N / 8 % $groups];

            /// The part of `K` in the HBM of a chip.
            type Own = m!$own;
            type X = HbmTensor<i8, Chip, m![M, { Own }]>;
            type W = HbmTensor<i8, Chip, m![N, { Own }]>;
            type DmX = DmTensor<i8, Chip, Cluster, Slice, m![M % $rows, K % $part]>;
            type DmW = DmTensor<i8, Chip, Cluster, Slice, m![N % $block, K % $part]>;
            type Weights = TrfTensor<i8, Chip, Cluster, Slice, Row, m![{ Group }, K % $part]>;
            /// The slices of a team share the rows of their sums.
            type Shared = m![M / $rows % $teams, M % $ways];
            type Steps = m![M / $ways % $steps];
            type Sums = DmTensor<i32, Chip, Cluster, Shared, m!$sums>;
            /// A block of `y` in HBM.
            type Stored = m!$stored;
            type Y = HbmTensor<i32, m!$y_chip, m![M, N / $block, { Stored }]>;

            /// Brings a block of weights to DM.
            fn bring(ctx: &mut Context, w: &W, block: usize) -> DmW {
                let w = w.view().tile::<m![N / $block], 1, m![1 # $blocks, N % $block, { Own }]>(block);
                w.to_dm(&mut ctx.tdma, half_of(W_ADDRESS, block))
            }

            /// Brings it to one half of the register file.
            fn load(ctx: &mut Context, w: &DmW, block: usize) -> Weights {
                (ctx.sub.begin(w.view()))
                    .fetch::<i8, m![{ Row }, { Group }], m![K % $part]>()
                    .collect::<m![{ Row }, { Group }, K / 32 % $flits], m![K % 32]>()
                    .to_trf(half_of_trf(block))
            }

            /// `y[m, n] = Σ x[m, k] · w[n, k]` for the rows in DM, the columns of one block, and the `K` of a team.
            fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, block: usize) -> Sums {
                (ctx.main.begin(x.view()).fetch::<i8, m![M % $rows], m![K % $part]>())
                    .collect::<m![M % $rows, K / 32 % $flits], m![K % 32]>()
                    // Each packet of 64 products meets all groups of weights before the next one comes.
                    .align::<m![M % $rows, K / 64 % $pairs, { Group }], m![K % 64], _, _>(weights)
                    .contract::<m![1]>()
                    .accumulate::<m![M % $rows, { Group }], Row>(AccumulationKind::Interleaved)
                    .vector_init()
                    .vector_inter_slice_reduce::<Shared, m![{ Steps }, { Group }]>(InterSliceReduceOpI32::Add)
                    .vector_final()
                    .commit(half_of(Y_ADDRESS, block))
            }

            between!(@$parts, $ways, $steps, $kept);

            #[device(chip = $chips)]
            fn product(ctx: &mut Context, x: &X, w: &W, y: &mut Y) {
                type OfHalf = m![1 # 2, M % $half, N / $block, { Stored }];
                for (half, mut y) in y.view_mut().split_tiles_mut::<m![M / $half], 1, OfHalf>().enumerate() {
                    let x = x.view().tile::<m![M / $half], 1, m![1 # 2, M % $half, { Own }]>(half);
                    let x: DmX = x.to_dm(&mut ctx.tdma, X_ADDRESS);
                    let first = bring(ctx, w, 0);
                    let mut next = Some(load(ctx, &first, 0));
                    let mut in_dm = Some(bring(ctx, w, 1));
                    for block in 0..$blocks {
                        // Order the weights of the next block before the product that runs meanwhile, and those of the
                        // block after it before the store that waits for the product.
                        let following = in_dm.take().map(|own| load(ctx, &own, block + 1));
                        in_dm = (block + 2 < $blocks).then(|| bring(ctx, w, block + 2));
                        let weights = std::mem::replace(&mut next, following).expect("one load for each block");
                        let sums = multiply(ctx, &x, &weights, block);
                        let sums = add_parts!($parts, ctx, sums);
                        let y = y.tile::<m![N / $block], 1, m![1 # 2, M % $half, 1 # $blocks, { Stored }]>(block);
                        sums.view().to_hbm_view(&mut ctx.tdma, y);
                    }
                }
            }

            run!($size, $chips, product);
        }
    };
    (@slices, $ways:tt, $steps:tt, $kept:tt) => {};
    (@$parts:ident, $ways:tt, $steps:tt, $kept:tt) => {
        /// The halves of a block, if clusters or chips keep one each.
        type Halves = m![N / $kept % 2];
        type Others = m![1 # 2, M / $ways % $steps, N % $kept];
        type Kept = m![M / $ways % $steps, N % $kept];
        type Half = DmTensor<i32, Chip, Cluster, Shared, Kept>;
        /// The sums of a half. Which one it is depends on the cluster or chip, so its columns have no number yet.
        type Added = DmTensor<i32, Chip, Cluster, Shared, m![{ Steps }, J]>;

        axes![I = 2, J = $kept];

        /// Adds two tensors, an element of each in turns.
        fn add(main: &mut TuContext<{ Tu::Main }>, a: &Half, b: &Half) -> Added {
            (main.begin_interleaved::<I, _, _, _, _, _>(a.view(), b.view()))
                .fetch::<i32, m![{ Steps }, N % $kept / 8, I], m![N % 8]>()
                .collect::<m![{ Steps }, N % $kept / 8, I], m![N % 8]>()
                .vector_init()
                .vector_intra_slice_unzip::<I, m![{ Steps }, N % $kept / 8, 1 # 2], m![{ Steps }, N % $kept / 8]>()
                .vector_clip_zip(ClipBinaryOpI32::AddFxp)
                .vector_final()
                .commit::<Kept>(AUTO)
                .relabel::<Chip, Cluster, Shared, m![{ Steps }, J]>()
        }
    };
}

in_one_slice!(
    one_slice_2048: 2048, half 1024, rows 32, columns 256, flits 64, pairs 32, block 16, groups 2, blocks 16
);
in_one_slice!(
    one_slice_4096: 4096, half 2048, rows 64, columns 512, flits 128, pairs 64, block 8, groups 1, blocks 64
);

between!(
    slices, slices_2048: 2048, chips 1 [1], clusters [M / 512 % 2], own [K],
    teams 16, ways 16, half 1024, rows 32, steps 2, part 128, flits 4, pairs 2,
    block 256, groups 32, blocks 8, kept 128, sums [M / 16 % 2, N % 256], y [1] [N % 256]
);
between!(
    slices, slices_4096: 4096, chips 1 [1], clusters [M / 1024 % 2], own [K],
    teams 16, ways 16, half 2048, rows 64, steps 4, part 256, flits 8, pairs 4,
    block 128, groups 16, blocks 32, kept 64, sums [M / 16 % 4, N % 128], y [1] [N % 128]
);
between!(
    slices, slices_8192: 8192, chips 1 [1], clusters [M / 2048 % 2], own [K],
    teams 16, ways 16, half 4096, rows 128, steps 8, part 512, flits 16, pairs 8,
    block 64, groups 8, blocks 128, kept 32, sums [M / 16 % 8, N % 64], y [1] [N % 64]
);
between!(
    slices, slices_16384: 16384, chips 1 [1], clusters [M / 4096 % 2], own [K],
    teams 8, ways 32, half 8192, rows 512, steps 16, part 512, flits 16, pairs 8,
    block 64, groups 8, blocks 256, kept 32, sums [M / 32 % 16, N % 64], y [1] [N % 64]
);

between!(
    clusters, clusters_2048: 2048, chips 1 [1], clusters [K / 1024], own [K],
    teams 16, ways 16, half 1024, rows 64, steps 4, part 64, flits 2, pairs 1,
    block 512, groups 64, blocks 4, kept 256, sums [N / 256 % 2, M / 16 % 4, N % 256], y [1] [N % 512]
);
between!(
    clusters, clusters_4096: 4096, chips 1 [1], clusters [K / 2048], own [K],
    teams 16, ways 16, half 2048, rows 128, steps 8, part 128, flits 4, pairs 2,
    block 256, groups 32, blocks 16, kept 128, sums [N / 128 % 2, M / 16 % 8, N % 128], y [1] [N % 256]
);
between!(
    clusters, clusters_16384: 16384, chips 1 [1], clusters [K / 8192], own [K],
    teams 8, ways 32, half 8192, rows 1024, steps 32, part 256, flits 8, pairs 4,
    block 128, groups 16, blocks 128, kept 64, sums [N / 64 % 2, M / 32 % 32, N % 64], y [1] [N % 128]
);

between!(
    chips, chips_2048: 2048, chips 2 [K / 1024], clusters [M / 512 % 2], own [K % 1024],
    teams 16, ways 16, half 1024, rows 32, steps 2, part 64, flits 2, pairs 1,
    block 512, groups 64, blocks 4, kept 256, sums [N / 256 % 2, M / 16 % 2, N % 256], y [N / 256 % 2] [N % 256]
);
between!(
    chips, chips_4096: 4096, chips 2 [K / 2048], clusters [M / 1024 % 2], own [K % 2048],
    teams 16, ways 16, half 2048, rows 64, steps 4, part 128, flits 4, pairs 2,
    block 256, groups 32, blocks 16, kept 128, sums [N / 128 % 2, M / 16 % 4, N % 128], y [N / 128 % 2] [N % 128]
);
between!(
    chips, chips_16384: 16384, chips 2 [K / 8192], clusters [M / 4096 % 2], own [K % 8192],
    teams 8, ways 32, half 8192, rows 512, steps 16, part 256, flits 8, pairs 4,
    block 128, groups 16, blocks 128, kept 64, sums [N / 64 % 2, M / 32 % 16, N % 64], y [N / 64 % 2] [N % 64]
);

/// The mapping that `visa plan --einsum mk,nk->mn` finds: all weights are in the register files of a cluster, `$columns` and
/// `$part` of `K` in each slice, and the clusters share the rows of `x`. A tile of 256 rows comes at a time, 4 to each of 32
/// slices, which hand them round; there are `$tiles`. 8 slices have parts of each sum.
macro_rules! planned {
    (
        $name:ident: $size:tt, columns $columns:tt, groups $groups:tt, part $part:tt, flits $flits:tt, pairs $pairs:tt,
        tiles $tiles:tt
    ) => {
        mod $name {
            use super::*;

            axes![M = $size, N = $size, K = $size];

            type Cluster = m![M / 128 % 2];
            type Slice = m![N / $columns, K / $part];
            type Group = m![N / 8 % $groups];
            type Rows = m![M % 4, M / 4 % 32];

            type X = HbmTensor<i8, m![1], m![M, K]>;
            type W = HbmTensor<i8, m![1], m![N, K]>;
            type Y = HbmTensor<i32, m![1], m![M, N]>;
            type DmX = DmTensor<i8, m![1], Cluster, m![M / 4 % 32, K / $part], m![M % 4, K % $part]>;
            type DmW = DmTensor<i8, m![1], Cluster, Slice, m![N % $columns, K % $part]>;
            type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![N % 8], m![{ Group }, K % $part]>;
            /// One slice of 8 has the sums.
            type Summed = m![N / $columns, 1 # 8];
            type Sums = DmTensor<i32, m![1], Cluster, Summed, m![M % 128, N % $columns]>;

            /// Brings a tile of rows, a part to each slice.
            fn bring(ctx: &mut Context, x: &X, tile: usize) -> DmX {
                let x = x.view().tile::<m![M / 256], 1, m![1 # $tiles, M % 256, K]>(tile);
                x.to_dm(&mut ctx.tdma, half_of(X_ADDRESS, tile))
            }

            /// Multiplies a tile with all weights.
            fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, tile: usize) -> Sums {
                (ctx.main.begin(x.view()).fetch::<i8, m![M % 4], m![K % $part]>())
                    .switch_to::<Slice, Rows>()
                    .collect::<m![{ Rows }, K / 32 % $flits], m![K % 32]>()
                    .align::<m![{ Rows }, K / 64 % $pairs, { Group }], m![K % 64], _, _>(weights)
                    .contract::<m![1]>()
                    .accumulate::<m![{ Rows }, { Group }], m![N % 8]>(AccumulationKind::Interleaved)
                    .vector_init()
                    .vector_inter_slice_reduce::<Summed, m![{ Rows }, { Group }]>(InterSliceReduceOpI32::Add)
                    .vector_final()
                    .commit(Y_ADDRESS + tile as u64 % 2 * (64 << 10))
            }

            #[device(chip = 1)]
            fn product(ctx: &mut Context, x: &X, w: &W, y: &mut Y) {
                let w: DmW = w.to_dm(&mut ctx.tdma, W_ADDRESS);
                let weights: Weights = (ctx.sub.begin(w.view()))
                    .fetch::<i8, m![N % 8, { Group }], m![K % $part]>()
                    .collect::<m![N % 8, { Group }, K / 32 % $flits], m![K % 32]>()
                    .to_trf(TrfAddress::Full);
                let mut next = Some(bring(ctx, x, 0));
                for (tile, y) in y.view_mut().split_tiles_mut::<m![M / 256], 1, m![1 # $tiles, M % 256, N]>().enumerate() {
                    let following = (tile + 1 < $tiles).then(|| bring(ctx, x, tile + 1));
                    let x = std::mem::replace(&mut next, following).expect("one tile for each turn");
                    let sums = multiply(ctx, &x, &weights, tile);
                    sums.view().to_hbm_view(&mut ctx.tdma, y);
                }
            }

            run!($size, 1, product);
        }
    };
}

planned!(planned_2048: 2048, columns 64, groups 8, part 256, flits 8, pairs 4, tiles 8);
planned!(planned_4096: 4096, columns 128, groups 16, part 512, flits 16, pairs 8, tiles 16);

/// A way to share the sum, and the kernels for it.
struct Way {
    name: &'static str,
    chips: usize,
    /// By size.
    kernels: &'static [(usize, fn() -> u64)],
}

const WAYS: &[Way] = &[
    Way { name: "one-slice", chips: 1, kernels: &[(2048, one_slice_2048::run), (4096, one_slice_4096::run)] },
    Way {
        name: "slices",
        chips: 1,
        kernels: &[
            (2048, slices_2048::run),
            (4096, slices_4096::run),
            (8192, slices_8192::run),
            (16384, slices_16384::run),
        ],
    },
    Way {
        name: "clusters",
        chips: 1,
        kernels: &[(2048, clusters_2048::run), (4096, clusters_4096::run), (16384, clusters_16384::run)],
    },
    Way { name: "planned", chips: 1, kernels: &[(2048, planned_2048::run), (4096, planned_4096::run)] },
    Way {
        name: "chips",
        chips: 2,
        kernels: &[(2048, chips_2048::run), (4096, chips_4096::run), (16384, chips_16384::run)],
    },
];

/// Whether the environment asks for no values.
fn is_time_only() -> bool {
    std::env::var("VISA_COMPUTE").is_ok_and(|what| what == "shapes_only")
}

/// Compares `y` with the product of `x` and the transpose of `w`: both times a random vector, which a wrong element
/// changes, and some elements one by one.
fn check(size: usize, x: &[i8], w: &[i8], y: &[i32], rng: &mut SmallRng) {
    let v: Vec<i64> = (0..size).map(|_| rng.random_range(-1 << 20..1 << 20)).collect();
    let mut by_k = vec![0i64; size];
    for (row, &v) in w.chunks_exact(size).zip(&v) {
        by_k.iter_mut().zip(row).for_each(|(sum, &w)| *sum += i64::from(w) * v);
    }
    for (m, (x, y)) in x.chunks_exact(size).zip(y.chunks_exact(size)).enumerate() {
        let expected: i64 =
            x.iter().zip(&by_k).map(|(&x, &sum)| i64::from(x).wrapping_mul(sum)).fold(0, i64::wrapping_add);
        let found: i64 = y.iter().zip(&v).map(|(&y, &v)| i64::from(y) * v).fold(0, i64::wrapping_add);
        assert_eq!(found, expected, "row {m} times a vector");
    }
    for _ in 0..100 {
        let [m, n] = [0; 2].map(|_: usize| rng.random_range(0..size));
        let products = x[m * size..].iter().zip(&w[n * size..]).take(size);
        let expected: i32 = products.map(|(&x, &w)| i32::from(x) * i32::from(w)).sum();
        assert_eq!(y[m * size + n], expected, "row {m}, column {n}");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let size = match arguments.next().as_deref() {
        None => 4096,
        Some("--small") => 2048,
        Some(size) => size.parse().expect("a size: 2048 (or --small), 4096, 8192 or 16384"),
    };
    let only = arguments.next();
    let own = |way: &&Way| only.as_ref().is_none_or(|only| only == way.name);
    println!("{size} x {size} x {size}");
    println!("| sum over K | chips | cycles | share of peak | wall time |");
    println!("|------------|-------|--------|---------------|-----------|");
    for way in WAYS.iter().filter(own) {
        let Some((_, run)) = way.kernels.iter().find(|(own, _)| *own == size) else { continue };
        let start = Instant::now();
        let cycles = run();
        let least = (size * size * size / (PRODUCTS_PER_CYCLE * way.chips)) as u64;
        assert!(cycles > least, "no kernel beats the peak");
        let share = 100.0 * least as f64 / cycles as f64;
        let wall = start.elapsed().as_secs_f64();
        println!("| {:10} | {:5} | {cycles:6} | {share:11.1} % | {wall:7.2} s |", way.name, way.chips);
    }
}
