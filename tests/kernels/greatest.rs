//! The helpers `argmax` and `top_k`, against sorted rows of the host.

use crate::{Cluster, block_on, code};
use furiosa_visa_std::kernels::{Greatest, argmax, load_operand, top_k};
use furiosa_visa_std::prelude::*;

axes![R = 768, K = 40, C = 13, P = 5];

/// Numbers with many equal ones, both zeros, neighbours in their bits, subnormal and infinite ones.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    const SPECIAL: [f32; 8] =
        [0.0, -0.0, 1e-45, -1e-45, 1.0, f32::from_bits(0x3f80_0001), -1e30, f32::MIN_POSITIVE];
    let number = |k: usize| {
        let code = code(seed, k);
        match code % 4 {
            0 => SPECIAL[code as usize / 4 % SPECIAL.len()],
            1 => (code / 4 % 7) as f32 - 3.0,
            _ => (code as f32 / u32::MAX as f32 - 0.5) * 1e4,
        }
    };
    (0..count).map(number).collect()
}

/// The columns of a row from the greatest one down, equal ones in their order.
fn sorted(row: &[f32]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..row.len()).collect();
    places.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
    places
}

type PerRow<D> = HbmTensor<D, m![1], m![R, 1 # 2]>;

fn stored<Slice: M, Rows: M>(
    ctx: &mut Context,
    found: Greatest<m![1], Cluster, Slice, Rows>,
) -> (PerRow<f32>, PerRow<i32>) {
    (found.number.to_hbm(&mut ctx.tdma, AUTO), found.place.to_hbm(&mut ctx.tdma, AUTO))
}

/// Three rows of 13 columns and padding per slice.
#[device(chip = 1)]
fn greatest_of_ragged_rows(
    ctx: &mut Context,
    x: &HbmTensor<f32, m![1], m![R, C # 16]>,
    places: &HbmTensor<f32, m![1], m![C # 16]>,
) -> (PerRow<f32>, PerRow<i32>) {
    let x = x.to_dm::<Cluster, m![R / 3], m![R % 3, C # 16]>(&mut ctx.tdma, AUTO);
    let places = places.to_dm::<Cluster, m![R / 3], m![C # 16]>(&mut ctx.tdma, AUTO);
    let places = load_operand(ctx, &places);
    let found = argmax(ctx, &x, &places);
    stored(ctx, found)
}

#[test]
fn the_first_of_the_greatest() {
    let x = numbers(1, 768 * 13);
    // Places of a part of a longer row.
    let places: Vec<f32> = (0..13).map(|c| (2_000_000 + 7 * c) as f32).collect();
    let (number, place) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![R, C]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
        let places = HostTensor::<f32, m![C]>::from_slice(&places).to_hbm(&mut ctx.pdma, AUTO).await;
        let (number, place) = launch(greatest_of_ragged_rows, (&mut *ctx, &x, &places)).await;
        let number = number.to_host::<m![R]>(&mut ctx.pdma).await.to_vec();
        (number, place.to_host::<m![R]>(&mut ctx.pdma).await.to_vec())
    });
    for (row, (number, place)) in x.chunks(13).zip(number.iter().zip(&place)) {
        let first = sorted(row)[0];
        assert_eq!(
            (*number, *place),
            (row[first], 2_000_000 + 7 * i32::try_from(first).expect("small")),
            "{row:?}"
        );
    }
}

/// Rows in both clusters, in bf16.
#[device(chip = 1)]
fn five(
    ctx: &mut Context,
    x: &HbmTensor<bf16, m![1], m![R, K]>,
    places: &HbmTensor<bf16, m![1], m![K]>,
) -> [(PerRow<f32>, PerRow<i32>); 5] {
    type Both = m![R / 384];
    type Slice = m![R / 3 % 128 # 256];
    let x = x.to_dm::<Both, Slice, m![R % 3, K]>(&mut ctx.tdma, AUTO);
    let places = places.to_dm::<Both, Slice, m![K]>(&mut ctx.tdma, AUTO);
    let places = load_operand(ctx, &places);
    let found: [_; 5] = top_k(ctx, &x, &places);
    found.map(|found| (found.number.to_hbm(&mut ctx.tdma, AUTO), found.place.to_hbm(&mut ctx.tdma, AUTO)))
}

#[test]
fn the_five_greatest() {
    let x: Vec<bf16> = numbers(2, 768 * 40).into_iter().map(bf16::from_f32).collect();
    let places: Vec<bf16> = (0..40).map(|k| bf16::from_f32(k as f32)).collect();
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![R, K]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
        let places = HostTensor::<bf16, m![K]>::from_slice(&places).to_hbm(&mut ctx.pdma, AUTO).await;
        let mut found = Vec::new();
        for (number, place) in launch(five, (&mut *ctx, &x, &places)).await {
            let number = number.to_host::<m![R]>(&mut ctx.pdma).await.to_vec();
            found.push((number, place.to_host::<m![R]>(&mut ctx.pdma).await.to_vec()));
        }
        found
    });
    let x: Vec<f32> = x.into_iter().map(f32::from).collect();
    for (r, row) in x.chunks(40).enumerate() {
        for (round, expected) in sorted(row).into_iter().take(5).enumerate() {
            let (number, place) = &found[round];
            assert_eq!(
                (number[r], place[r] as usize),
                (row[expected], expected),
                "row {r}, round {round}: {row:?}"
            );
        }
    }
}

/// All columns of a row, one row per slice: the most that `top_k` finds.
#[device(chip = 1)]
fn all_five(
    ctx: &mut Context,
    x: &HbmTensor<f32, m![1], m![R % 256, P # 8]>,
    places: &HbmTensor<f32, m![1], m![P # 8]>,
) -> [HbmTensor<i32, m![1], m![R % 256, 1 # 2]>; 5] {
    let x = x.to_dm::<Cluster, m![R % 256], m![1, P # 8]>(&mut ctx.tdma, AUTO);
    let places = places.to_dm::<Cluster, m![R % 256], m![P # 8]>(&mut ctx.tdma, AUTO);
    let places = load_operand(ctx, &places);
    let found: [_; 5] = top_k(ctx, &x, &places);
    found.map(|found| found.place.to_hbm(&mut ctx.tdma, AUTO))
}

#[test]
fn a_row_is_sorted() {
    let x = numbers(3, 256 * 5);
    let places: Vec<f32> = (0..5).map(|p| p as f32).collect();
    let (found, passes) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![R % 256, P]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
        let places = HostTensor::<f32, m![P]>::from_slice(&places).to_hbm(&mut ctx.pdma, AUTO).await;
        let mut found = Vec::new();
        for place in launch(all_five, (&mut *ctx, &x, &places)).await {
            found.push(place.to_host::<m![R % 256]>(&mut ctx.pdma).await.to_vec());
        }
        let main = furiosa_visa_std::command::ContextKind::Main;
        (found, ctx.report().records.iter().filter(|own| own.context == main).count())
    });
    for (r, row) in x.chunks(5).enumerate() {
        let order: Vec<usize> = found.iter().map(|place| place[r] as usize).collect();
        assert_eq!(order, sorted(row), "{row:?}");
    }
    // Two passes for each column, and two between them.
    assert_eq!(passes, 2 * 5 + 2 * 4);
}
