//! Tensors at rest: tiles, other names, moves, gathers, tensors on the host.

#![allow(unsafe_code)] // `reshape` has a contract about the memory of the chip.

use furiosa_opt_std::prelude::*;

axes![A = 256, N = 4, B = 64, V = 100, H = 64, I = 4, Z = 16];

/// Blocks in the opposite order, and a copy of the whole under other names.
#[device]
fn turned(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![N, A, B]>,
    copy: &mut HbmTensor<i8, m![1], m![A, N, B]>,
) -> HbmTensor<i8, m![1], m![N, A, B]> {
    let mut all = DmTensor::<i8, m![1], m![1 # 2], m![A], m![N, B]>::new();
    for n in 0..4 {
        let block = x.view().tile::<m![N], 1, m![1 # 4, A, B]>(3 - n);
        block.to_dm_view(&mut ctx.tdma, all.view_mut().tile::<m![N], 1, m![1 #{!} 4, B]>(n));
    }
    all.view().to_hbm_view(&mut ctx.tdma, copy.view_mut());
    let copied: DmTensor<i8, m![1], m![1 # 2], m![A], m![N, B]> = all.to_dm_pcopy(&mut ctx.sub);
    // SAFETY: both mappings name the same bytes.
    let flat = unsafe { copied.reshape::<m![1], m![1 # 2], m![A], m![Z, N, B % 4]>() };
    // SAFETY: as above.
    let back = unsafe { flat.view().reshape::<m![1], m![1 # 2], m![A], m![N, B]>() };
    let mut result = HbmTensor::<i8, m![1], m![N, A, B]>::new();
    back.to_hbm_view(&mut ctx.tdma, result.view_mut());
    result
}

#[test]
fn tiles_are_parts() {
    let mut ctx = Context::acquire();
    let x: Vec<i8> = (0..4 * 256 * 64).map(|k| (k % 127) as i8).collect();
    let (y, copy) = pollster::block_on(async {
        let x = HostTensor::<i8, m![N, A, B]>::from_vec(x.clone()).to_hbm(&mut ctx.pdma).await;
        let mut copy = HbmTensor::<i8, m![1], m![A, N, B]>::new();
        let y = launch(turned, (&mut *ctx, &x, &mut copy)).await;
        assert_eq!(HbmTensor::<i8, m![1], m![A, N, B]>::size(), 65_536);
        (y.into_vec(), copy.into_vec())
    });
    assert_eq!(y.len(), 4 * 256 * 64);
    for (k, &y) in y.iter().enumerate() {
        let (n, a, b) = (k / 16_384, k / 64 % 256, k % 64);
        let expected = x[((3 - n) * 256 + a) * 64 + b];
        assert_eq!((y, copy[(a * 4 + n) * 64 + b]), (expected, expected), "{n} {a} {b}");
    }
}

/// A border of a value that the host gives, around rows of another one.
#[device]
fn bordered(ctx: &mut Context, border: i8) -> HbmTensor<i8, m![1], m![A, N, B]> {
    let mut all = DmTensor::<i8, m![1], m![1 # 2], m![A], m![N, B]>::new();
    all.view_mut().memset(border, &mut ctx.sub);
    let mut inside = all.view_mut().tile::<m![N], 2, m![N = 2 #{!} 4, B]>(1);
    inside.memset(const { 7 }, &mut ctx.sub);
    all.to_hbm(&mut ctx.tdma)
}

/// A memset is a first use of a tensor and a command of the sub context; who reads the tensor waits for it.
#[test]
fn values_are_set() {
    let mut ctx = Context::acquire();
    let all = pollster::block_on(async { launch(bordered, (&mut *ctx, -5)).await.into_vec() });
    let expected = (0..256 * 4 * 64).map(|k| if (1..3).contains(&(k / 64 % 4)) { 7 } else { -5 });
    assert!(all.into_iter().eq(expected));
    let report = ctx.report();
    let sets: Vec<_> = report.records.iter().filter(|own| own.operation == "memset").collect();
    // 64 and 32 words of 4 bytes, one after the other, 258 cycles after the command and one after the first.
    let cycles: Vec<u64> = sets.iter().map(|own| own.timing.cycles()).collect();
    assert_eq!((cycles, sets[1].start), (vec![258 + 1 + 64, 258 + 1 + 32], sets[0].end));
    let store = report.records.iter().find(|own| own.operation == "to_hbm").expect("it ran");
    assert!(store.start >= sets[1].end, "{report}");
    // The tile is noted: the compiler for the chip takes whole tensors.
    assert_eq!(report.notes.len(), 1, "{report}");
}

/// Rows of a table by byte offsets, and back into another one.
#[device]
fn moved(
    ctx: &mut Context,
    table: &HbmTensor<i8, m![1], m![V, H]>,
    from: &HbmTensor<i32, m![1], m![I]>,
    to: &HbmTensor<i32, m![1], m![I]>,
    output: &mut HbmTensor<i8, m![1], m![V, H]>,
) {
    let rows: DmTensor<i8, m![1], m![1 # 2], m![I # 256], m![H]> = table.dma_gather_scaled(from);
    let rows: DmTensor<i8, m![1], m![1 # 2], m![I # 256], m![H]> = rows.to_dm(&mut ctx.tdma);
    rows.dma_scatter::<m![I], _, _>(to, output);
}

#[test]
fn rows_are_gathered_and_scattered() {
    let mut ctx = Context::acquire();
    let table: Vec<i8> = (0..6400).map(|k| (k / 64) as i8).collect();
    let output = pollster::block_on(async {
        let table = HostTensor::<i8, m![V, H]>::from_vec(table).to_hbm(&mut ctx.pdma).await;
        let offsets = |rows: [i32; 4]| HostTensor::<i32, m![I]>::from_vec(rows.map(|row| 64 * row));
        let from = offsets([7, 99, 0, 50]).to_hbm(&mut ctx.pdma).await;
        let to = offsets([1, 2, 98, 4]).to_hbm(&mut ctx.pdma).await;
        let mut output = HostTensor::<i8, m![V, H]>::zero().to_hbm(&mut ctx.pdma).await;
        launch(moved, (&mut *ctx, &table, &from, &to, &mut output)).await;
        output.into_vec()
    });
    for (row, expected) in [(0, 0), (1, 7), (2, 99), (98, 0), (4, 50), (99, 0)] {
        assert_eq!(output[64 * row..64 * row + 64], [expected; 64], "row {row}");
    }
}

#[test]
fn tensors_on_the_host_count_padding() {
    let values: Vec<i8> = (0..4 * 8).collect();
    let tensor = HostTensor::<i8, m![N, I # 8]>::from_vec(values);
    let kept: Vec<i8> = (0..32).map(|k| if k % 8 < 4 { k } else { 0 }).collect();
    assert_eq!(tensor.clone().into_vec(), kept);
    assert_eq!(HostTensor::<i8, m![N, I # 8]>::from_buf(kept.iter().map(|&k| k as u8).collect()), tensor);
    let codes = HostTensor::<i4, m![I]>::from_buf(vec![0x21, 0xf3]).into_vec();
    assert_eq!(codes, [1, 2, 3, -1].map(i4::from_i32));
    let floats = HostTensor::<bf16, m![I]>::from_buf(vec![0x80, 0x3f, 0, 0x40, 0, 0, 0, 0]).into_vec();
    assert_eq!(floats, [1.0, 2.0, 0.0, 0.0].map(bf16::from_f32));
}

#[test]
#[should_panic(expected = "from_vec: got 31 values, but `m![N, I # 8]` has 32 positions (padding counted)")]
fn one_value_too_few() {
    let _ = HostTensor::<i8, m![N, I # 8]>::from_vec((0..31).collect::<Vec<i8>>());
}

#[test]
#[should_panic(expected = "from_buf: got 3 bytes, but `m![I]` of `i4` takes 2 (padding counted)")]
fn one_byte_too_many() {
    let _ = HostTensor::<i4, m![I]>::from_buf(vec![0; 3]);
}

#[test]
fn bytes_come_back() {
    let mut ctx = Context::acquire();
    let x = pollster::block_on(async {
        HostTensor::<i16, m![I]>::from_vec([1, -2, 300, 4]).to_hbm::<m![1], m![I]>(&mut ctx.pdma).await
    });
    assert_eq!(x.to_buf(), [1, 0, 0xfe, 0xff, 0x2c, 1, 4, 0]);
    assert_eq!(x.view().to_vec(), [1, -2, 300, 4]);
    let tail = x.view().tile::<m![I], 2, m![I = 2 # 4]>(2);
    assert_eq!(tail.into_vec(), [300, 4, 0, 0]);
}

#[derive(Clone, Copy, DeviceSend)]
struct Layer<'a> {
    weights: &'a HbmTensor<i8, m![1], m![V, H]>,
    rounds: usize,
}

/// A struct of tensors is an argument.
#[device]
fn counted(_ctx: &mut Context, layer: Layer<'_>) -> f32 {
    (HbmTensor::<i8, m![1], m![V, H]>::size() * layer.rounds) as f32
}

#[test]
fn structs_are_arguments() {
    let mut ctx = Context::acquire();
    let size = pollster::block_on(async {
        let weights = HostTensor::<i8, m![V, H]>::zero().to_hbm(&mut ctx.pdma).await;
        launch(counted, (&mut *ctx, Layer { weights: &weights, rounds: 2 })).await
    });
    assert_eq!(size, 12_800.0);
}
