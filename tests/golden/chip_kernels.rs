//! Two kernels of the shape that teams describe, beside what their own took on a chip.
//!
//! What a kernel takes depends on how it is written, so that the ratios say less than those of single operations: they are
//! printed, and stay in a wide band.

use crate::chip::report;
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::kernels::rms_norm_over_slices;
use furiosa_visa_std::prelude::*;

axes![O = 3840, I = 4096, K = 3840, N = 8192];

/// Columns of the output projection in a slice, and its rows.
type Columns = m![I % 256];
type Slice = m![O / 120 % 16, I / 256];

/// Loads rows of the weights, from one on.
macro_rules! load_rows {
    ($ctx:ident, $w:ident, $rows:literal from $start:literal) => {
        $w.view()
            .tile::<m![O % 120], $rows, m![O / 120, O % 120 = $rows # 120, I]>($start)
            .to_dm::<m![O / 1920], Slice, m![O % 120 = $rows, { Columns }]>(&mut $ctx.tdma, AUTO)
    };
}

/// Their products, added between the 16 slices that have the columns, and stored.
macro_rules! multiply_rows {
    ($ctx:ident, $w:ident, $x:ident, $y:ident, $table:ident, $rows:literal from $start:literal) => {{
        let sums = ($ctx.main.begin($w.view()))
            .fetch_with_table::<bf16, m![O % 120 = $rows, { Columns } / 16], m![I % 16]>($table)
            .collect::<m![O % 120 = $rows, { Columns } / 16], m![I % 16]>()
            .align::<m![O % 120 = $rows, { Columns } / 32], m![I % 32], _, _>(&$x)
            .contract::<m![1]>()
            .accumulate::<m![O % 120 = $rows], m![1 # 8]>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_inter_slice_reduce::<m![O / 120 % 16, 1 # 16], m![O % 120 = $rows]>(
                InterSliceReduceOpF32::Add,
            )
            .vector_final()
            .commit::<m![O % 120 = $rows, 1 # 8]>(AUTO);
        // Eight sums to a packet.
        type Rows = m![O % 120 = $rows];
        let packed: DmTensor<f32, _, _, _, Rows> = ($ctx.main.begin(sums.view()))
            .fetch::<f32, m![{ Rows } / 8], m![{ Rows } % 8]>()
            .collect::<m![{ Rows } / 8], m![{ Rows } % 8]>()
            .commit(AUTO);
        let there = $y.view_mut().tile::<m![O % 120], $rows, m![O / 120, O % 120 = $rows # 120]>($start);
        packed.view().to_hbm_view(&mut $ctx.tdma, there);
    }};
}

/// `norm(w · x)` of one token: weights in `f8` through a table, in tiles of 104 and 16 rows; 120 x 256 of them in each slice.
#[device(chip = 1)]
fn attention_output(
    ctx: &mut Context,
    w: &HbmTensor<f8e4m3, m![1], m![O, I]>,
    x: &HbmTensor<bf16, m![1], m![I]>,
    table: &LookupTable<f8e4m3, bf16>,
) -> HbmTensor<bf16, m![1], m![O]> {
    let x = x.to_dm::<m![O / 1920], Slice, Columns>(&mut ctx.tdma, AUTO);
    let (first, last) = (load_rows!(ctx, w, 104 from 0), load_rows!(ctx, w, 16 from 104));
    let x = (ctx.sub.begin(x.view()).fetch::<bf16, m![{ Columns } / 32], m![I % 32]>())
        .collect::<m![{ Columns } / 16], m![I % 16]>()
        .to_trf::<m![1], Columns>(TrfAddress::Full);
    let mut y: HbmTensor<f32, m![1], m![O]> = HbmTensor::new(ctx);
    multiply_rows!(ctx, first, x, y, table, 104 from 0);
    multiply_rows!(ctx, last, x, y, table, 16 from 104);
    // The norm is of all rows: 16 slices have 240 each.
    let y = y.to_dm::<m![1 # 2], m![1 # 16, O / 240], m![1, O % 240]>(&mut ctx.tdma, AUTO);
    let y: DmTensor<bf16, _, _, _, _> = rms_norm_over_slices(ctx, &y, None, 1e-6);
    y.to_hbm(&mut ctx.tdma, AUTO)
}

/// Eight rows of the weights in each slice.
macro_rules! load_products {
    ($ctx:ident, $w:ident, $half:literal) => {
        $w.view()
            .tile::<m![N / 8 % 2], 1, m![N / 16, 1 # 2, N % 8, K]>($half)
            .to_dm::<m![N / 4096], m![N / 512 % 8, N / 16 % 32], m![N % 8, K]>(&mut $ctx.tdma, AUTO)
    };
}

macro_rules! multiply_products {
    ($ctx:ident, $w:ident, $x:ident, $table:ident) => {{
        let sums = ($ctx.main.begin($w.view()))
            .fetch_with_table::<bf16, m![N % 8, K / 16], m![K % 16]>($table)
            .collect::<m![N % 8, K / 16], m![K % 16]>()
            .align::<m![N % 8, K / 32], m![K % 32], _, _>(&$x)
            .contract::<m![1]>()
            .accumulate::<m![N % 8], m![1 # 8]>(AccumulationKind::Interleaved)
            .commit::<m![N % 8, 1 # 8]>(AUTO);
        // Eight sums to a packet.
        let packed: DmTensor<bf16, _, _, _, m![N % 8]> = ($ctx.main.begin(sums.view()))
            .fetch::<f32, m![1], m![N % 8]>()
            .collect::<m![1], m![N % 8]>()
            .cast::<bf16, m![N % 8 # 16]>()
            .commit(AUTO);
        packed
    }};
}

/// Query, key and value of one token: 8192 x 3840 weights in `f8` through a table, 16 rows in each slice. One slice of each ring
/// of 32 loads the token, and the ring passes it on.
#[device(chip = 1)]
fn products(
    ctx: &mut Context,
    w: &HbmTensor<f8e4m3, m![1], m![N, K]>,
    x: &HbmTensor<bf16, m![1], m![K]>,
    table: &LookupTable<f8e4m3, bf16>,
) -> HbmTensor<bf16, m![1], m![N]> {
    let x = x.to_dm::<m![N / 4096], m![N / 512 % 8, 1 # 32], m![K]>(&mut ctx.tdma, AUTO);
    let x = (ctx.main.begin(x.view()).fetch::<bf16, m![K / 16], m![K % 16]>())
        .switch::<m![N / 512 % 8, N / 16 % 32], m![K / 16]>(SwitchConfig::CustomBroadcast { ring_size: 32 })
        .collect::<m![K / 16], m![K % 16]>()
        .commit::<m![K]>(AUTO);
    // The routers are set by the DMA engines, so that loads come after it.
    let (first, last) = (load_products!(ctx, w, 0), load_products!(ctx, w, 1));
    let x = (ctx.sub.begin(x.view()).fetch::<bf16, m![K / 32], m![K % 32]>())
        .collect::<m![K / 16], m![K % 16]>()
        .to_trf::<m![1], m![K]>(TrfAddress::Full);
    let first = multiply_products!(ctx, first, x, table);
    let last = multiply_products!(ctx, last, x, table);
    let mut y: HbmTensor<bf16, m![1], m![N]> = HbmTensor::new(ctx);
    first
        .view()
        .to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![N / 8 % 2], 1, m![N / 16, 1 # 2, N % 8]>(0));
    last.view()
        .to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![N / 8 % 2], 1, m![N / 16, 1 # 2, N % 8]>(1));
    y
}

/// What a kernel takes here, beside what that of a team took on a chip.
fn beside(name: &str, report: &Report, chip: u64) {
    let cycles = report.headline().cycles;
    let ratio = cycles as f64 / chip as f64;
    println!("{name}: {cycles} cycles, {chip} on a chip, {ratio:.2}");
    assert!((0.7..=1.4).contains(&ratio), "{}", report.full());
}

#[test]
fn attention_output_of_one_token() {
    let report = report(async |ctx| {
        let (w, x) = (hbm!(m![O, I], f8e4m3), hbm!(m![I], bf16; 1 << 30));
        let table = LookupTable::<f8e4m3, bf16>::from_fn(|_| Default::default());
        launch(attention_output, (&mut *ctx, &w, &x, &table)).await;
    });
    // Of the team with the same tiles.
    beside("attention output", &report, 22_405);
}

#[test]
fn products_of_one_token() {
    let report = report(async |ctx| {
        let (w, x) = (hbm!(m![N, K], f8e4m3), hbm!(m![K], bf16; 1 << 30));
        let table = LookupTable::<f8e4m3, bf16>::from_fn(|_| Default::default());
        launch(products, (&mut *ctx, &w, &x, &table)).await;
    });
    // Of the fastest that is told, which also has norms and rotary embeddings.
    beside("products", &report, 45_095);
}
