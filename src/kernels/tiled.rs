//! A product whose weights do not fit the register file: tiles of the weights go through its two halves.
//!
//! ```text
//!   DMA    w0 w1 w2 w3 …      HBM to one of two buffers in DM, two tiles ahead: not behind what `each` stores of y0
//!   sub       w0 w1 w2 w3 …   DM to FirstHalf, SecondHalf, FirstHalf, …
//!   main         y0 y1 y2 …   tile t is used while the sub context fills the other half with tile t + 1
//! ```

use super::layout::{Multiplied, StoredFrom, accepted, check_rows, planned_rules};
use super::linear::{Weights, check_product, load_weights, product};
use crate::command::TrfAddress;
use crate::error::{PlanError, refuse};
use crate::mapping::{M, Pair};
use crate::runtime::{AUTO, Context};
use crate::scalar::{ContractionCast, FetchCast};
use crate::spec;
use crate::tensor::{DmTensor, HbmTensorView};

const OPERATION: &str = "tiled_product";
const HALVES: [TrfAddress; 2] = [TrfAddress::FirstHalf, TrfAddress::SecondHalf];

/// Refuses tiles that do not fit half of the register file.
pub(super) const fn check_half<D: Multiplied, N: M, K: M>() -> Result<(), PlanError> {
    let bytes = N::SIZE * K::SIZE * D::ELEMENT_TYPE.bits() / 8;
    if bytes > spec::TRF_BYTES / 2 {
        refuse!(
            "tiles in halves",
            "{}: a tile of weights {} of {} {} takes {} bytes, but half of the register file of a slice holds {}; \
             help: take smaller tiles",
            OPERATION,
            Pair::<N, K>::EXPR,
            N::SIZE * K::SIZE,
            D::ELEMENT_TYPE.name(),
            bytes,
            spec::TRF_BYTES / 2,
        );
    }
    Ok(())
}

/// `y[r, n] = Σ x[r, k] · w[n, k]` for weights in HBM, one tile of their rows after the other.
///
/// `tiles` are views of the weights, each `m![N, K]` in some layout: `w.view().tiles::<…>()`. Every slice gets all of
/// each tile, or the part that `Cluster` and `Slice` say. `each` takes the product of a tile, with the number of the
/// tile; the type of its argument gives `N` and the type that is stored. Elements and sums are those of [`product`].
///
/// A tile is loaded to one of two buffers in DM while the last but one before it is multiplied. From there it is loaded
/// to one half of the register file, while the one before it is multiplied. Two tiles and two products are in DM at a
/// time; their addresses are found. The time of a tile is the largest of three: its product,
/// `Rows · packets · max(2, N / 8)` cycles; its load by the sub context, `N · K · bytes / 8` cycles; its DMA together
/// with the moves of `each`. The first load comes before all that.
///
/// Refused while compiling: tiles of more than 32 KiB; everything that [`load_weights`] and [`product`] refuse.
///
/// ```
/// use furiosa_visa_std::kernels::tiled_product;
/// use furiosa_visa_std::prelude::*;
/// axes![R = 256, N = 128, K = 64];
///
/// #[device(chip = 1)]
/// fn all(
///     ctx: &mut Context,
///     x: &HbmTensor<bf16, m![1], m![R, K]>,
///     w: &HbmTensor<bf16, m![1], m![N, K]>,
///     y: &mut HbmTensor<f32, m![1], m![R, N]>,
/// ) {
///     let x = x.to_dm::<m![1 # 2], m![R], m![1, K]>(&mut ctx.tdma, AUTO);
///     let tiles = w.view().tiles::<m![N / 32], 1, m![1 # 4, N % 32, K]>();
///     tiled_product(ctx, &x, tiles, |ctx, tile, product: &DmTensor<f32, _, _, _, m![1, N % 32]>| {
///         let y = y.view_mut().tile::<m![N / 32], 1, m![R, 1 # 4, N % 32]>(tile);
///         product.view().to_hbm_view(&mut ctx.tdma, y);
///     });
/// }
///
/// # let x: Vec<bf16> = (0..256 * 64).map(|j| bf16::from_f32((j % 5) as f32)).collect();
/// # let w: Vec<bf16> = (0..128 * 64).map(|j| bf16::from_f32((j % 3) as f32 - 1.0)).collect();
/// # let y = pollster::block_on(async {
/// #     let mut ctx = Context::acquire();
/// #     let x = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let w = HostTensor::<bf16, m![N, K]>::from_slice(&w).to_hbm(&mut ctx.pdma, AUTO).await;
/// #     let mut y = HostTensor::<f32, m![R, N]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
/// #     launch(all, (&mut *ctx, &x, &w, &mut y)).await;
/// #     y.to_host::<m![R, N]>(&mut ctx.pdma).await.to_vec()
/// # });
/// // … launched, with small whole numbers: every sum is exact.
/// for (j, y) in y.iter().enumerate() {
///     let (r, n) = (j / 128, j % 128);
///     assert_eq!(*y, (0..64).map(|k| x[64 * r + k].to_f32() * w[64 * n + k].to_f32()).sum::<f32>());
/// }
/// ```
#[track_caller]
#[inline(never)] // The compiler names the line of a call that it did not inline.
pub fn tiled_product<'w, D, Out, Chip: M + 'w, Cluster: M, Slice: M, Rows: M, Tile: M + 'w, N: M, K: M>(
    ctx: &mut Context,
    x: &DmTensor<D, Chip, Cluster, Slice, Pair<Rows, K>>,
    tiles: impl IntoIterator<Item = HbmTensorView<'w, D, Chip, Tile>>,
    mut each: impl FnMut(&mut Context, usize, &DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, N>>),
) where
    D: Multiplied + FetchCast<D> + 'w,
    Out: StoredFrom<<D as ContractionCast>::Output>,
{
    planned_rules!(accepted(&[
        check_product::<D, Cluster, Slice, N, K>(OPERATION),
        check_half::<D, N, K>(),
        check_rows::<Cluster, Slice, Rows, N>(OPERATION),
    ]));
    let mut tiles = tiles.into_iter().fuse();
    let mut buffers: [Option<DmTensor<D, Chip, Cluster, Slice, Pair<N, K>>>; 2] = [None, None];
    let mut results: [Option<DmTensor<Out, Chip, Cluster, Slice, Pair<Rows, N>>>; 2] = [None, None];
    bring(ctx, tiles.next(), &mut buffers[0]);
    let mut next = load(ctx, &buffers[0], HALVES[0]);
    bring(ctx, tiles.next(), &mut buffers[1]);
    let mut number = 0;
    while let Some(weights) = next {
        let (current, other) = (number % 2, (number + 1) % 2);
        // Order the load of the next tile before the product that runs meanwhile, and the DMA of the one behind it
        // before the moves of `each`, which wait for the product.
        next = load(ctx, &buffers[other], HALVES[other]);
        bring(ctx, tiles.next(), &mut buffers[current]);
        // The bytes of the product before the last one are free for this one.
        results[current] = None;
        let y = product(ctx, x, &weights);
        each(ctx, number, results[current].insert(y));
        number += 1;
    }
}

/// Brings a tile of weights, if there is one, to DM, to the bytes of the last but one before it.
#[track_caller]
fn bring<D, Chip: M, Cluster: M, Slice: M, Tile: M, N: M, K: M>(
    ctx: &mut Context,
    tile: Option<HbmTensorView<'_, D, Chip, Tile>>,
    buffer: &mut Option<DmTensor<D, Chip, Cluster, Slice, Pair<N, K>>>,
) where
    D: Multiplied,
{
    *buffer = None;
    if let Some(tile) = tile {
        *buffer = Some(tile.to_dm(&mut ctx.tdma, AUTO));
    }
}

/// Loads a tile, if there is one, to a half of the register file.
#[allow(clippy::manual_map)] // A closure would hide the line of the caller.
#[track_caller]
fn load<D, Chip: M, Cluster: M, Slice: M, N: M, K: M>(
    ctx: &mut Context,
    tile: &Option<DmTensor<D, Chip, Cluster, Slice, Pair<N, K>>>,
    half: TrfAddress,
) -> Option<Weights<D, Chip, Cluster, Slice, N, K>>
where
    D: Multiplied + FetchCast<D>,
{
    match tile {
        Some(tile) => Some(load_weights(ctx, tile, half)),
        None => None,
    }
}
