//! The vendor's functions that use the fetch adapter (guide: fetch), with 2 clusters and 256 slices, executed with the
//! documented values; sums over masked padding; and what goes wrong.

use crate::{Cluster, assert_same, block_on, code, init, panic_message};
use furiosa_visa_std::prelude::*;

axes![S = 5, A = 8, I = 2];
type Slice = m![S # 256];

/// `first`, `first + 1`, … in every slice, as documented.
async fn counted(ctx: &mut Context, address: u64) -> HbmTensor<i8, m![1], m![S, A]> {
    let values: Vec<i8> = (0..5).flat_map(|_| 0..8).collect();
    HostTensor::<i8, m![S, A]>::from_buf(init(&values)).to_hbm(&mut ctx.pdma, address).await
}

/// Five times the same.
fn five<D: Scalar>(slice: impl IntoIterator<Item = D>) -> Vec<D> {
    let slice: Vec<D> = slice.into_iter().collect();
    slice.iter().copied().cycle().take(5 * slice.len()).collect()
}

mod table {
    use super::*;

    fn fetch_with_table<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], Cluster, Slice, m![1], m![A]>,
        table: &LookupTable<i8, i8>,
    ) -> FetchTensor<'l, T, i8, m![1], Cluster, Slice, m![1], m![A]> {
        input.fetch_with_table(table)
    }

    #[device(chip = 1)]
    fn doubled(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) -> HbmTensor<i8, m![1], m![S, A]> {
        let x = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        let table = LookupTable::from_fn(|x: i8| x.wrapping_mul(2));
        let y = fetch_with_table(ctx.main.begin(x.view()), &table).collect::<m![1], m![A # 32]>();
        y.commit::<m![A]>(64).to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn every_element_is_an_index() {
        let found = block_on(async {
            let mut ctx = Context::acquire();
            let x = counted(&mut ctx, 0).await;
            let y = launch(doubled, (&mut ctx, &x)).await;
            y.to_host::<m![S, A]>(&mut ctx.pdma).await.to_buf()
        });
        assert_same(&found, &five([0i8, 2, 4, 6, 8, 10, 12, 14]));
    }
}

/// MXFP4: one sign, two exponent bits, one mantissa bit. Decoded to f8e4m3, which holds all values, and widened.
mod mxfp4 {
    use super::*;

    axes![K = 64];
    const MAGNITUDES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

    fn decoded(code: usize) -> f32 {
        if code < 8 { MAGNITUDES[code] } else { -MAGNITUDES[code - 8] }
    }

    #[device(chip = 1)]
    fn decode(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![S, K]>) -> HbmTensor<f32, m![1], m![S, K]> {
        let x = x.to_dm::<Cluster, Slice, m![K]>(&mut ctx.tdma, 0);
        let entries: Vec<f8e4m3> = (0..16).map(|code| f8e4m3::from_f32(decoded(code))).collect();
        let table = LookupTable::<i4, f8e4m3>::new(entries);
        let y = (ctx.main.begin(x.view()))
            .fetch_with_table::<f32, m![K / 16], m![K % 16]>(&table)
            .collect::<m![K / 8], m![K % 8]>()
            .commit::<m![K]>(1024);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn every_code() {
        let codes: Vec<usize> = (0..5 * 64).map(|k| code(7, k) as usize % 16).collect();
        let found = block_on(async {
            let mut ctx = Context::acquire();
            let x: Vec<i4> = codes.iter().map(|&code| i4::from_bits(code as u32)).collect();
            let x = HostTensor::<i4, m![S, K]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, 0).await;
            let y = launch(decode, (&mut ctx, &x)).await;
            y.to_host::<m![S, K]>(&mut ctx.pdma).await.to_buf()
        });
        assert_same(&found, &codes.into_iter().map(decoded).collect::<Vec<_>>());
    }
}

mod zero_point {
    use super::*;

    fn fetch_with_zero_point<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], Cluster, Slice, m![1], m![A]>,
        zero_point: i8,
    ) -> FetchTensor<'l, T, i32, m![1], Cluster, Slice, m![1], m![A]> {
        input.fetch_with_zero_point(zero_point)
    }

    fn fetch_interleaved_with_zero_points<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], Cluster, Slice, m![I], m![A]>,
        zero_points: [i8; 2],
    ) -> FetchTensor<'l, T, i32, m![1], Cluster, Slice, m![I], m![A]> {
        input.fetch_with_zero_points(zero_points)
    }

    /// Both contexts, one after the other.
    #[device(chip = 1)]
    fn shifted(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) -> HbmTensor<i32, m![1], m![I, S, A]> {
        let x = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        #[allow(unsafe_code)] // Both halves are written by the next two lines.
        let mut y = unsafe { HbmTensor::<i32, m![1], m![I, S, A]>::from_addr(1 << 30) };
        let first = fetch_with_zero_point(ctx.main.begin(x.view()), 10).collect::<m![1], m![A]>();
        let first = first.commit::<m![A]>(64);
        let second = fetch_with_zero_point(ctx.sub.begin(x.view()), -128).collect::<m![1], m![A]>();
        let second = second.commit::<m![A]>(128);
        let both = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(first.view(), second.view()))
            .fetch::<i32, m![I], m![A]>()
            .collect::<m![I], m![A]>()
            .commit::<m![I, A]>(256);
        both.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
        y
    }

    #[test]
    fn is_subtracted_in_both_contexts() {
        let found = block_on(async {
            let mut ctx = Context::acquire();
            let x = counted(&mut ctx, 0).await;
            let y = launch(shifted, (&mut ctx, &x)).await;
            y.to_host::<m![I, S, A]>(&mut ctx.pdma).await.to_buf()
        });
        let expected = [five([-10, -9, -8, -7, -6, -5, -4, -3]), five(128..136)].concat();
        assert_same(&found, &expected);
    }

    #[device(chip = 1)]
    fn pair(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) -> HbmTensor<i32, m![1], m![S, I, A]> {
        let lhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        let rhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 336);
        let begin = ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view());
        let y = fetch_interleaved_with_zero_points(begin, [100, -100]).collect::<m![I], m![A]>();
        y.commit::<m![I, A]>(1024).to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn each_tensor_has_its_own() {
        let found = block_on(async {
            let mut ctx = Context::acquire();
            let x = counted(&mut ctx, 0).await;
            let y = launch(pair, (&mut ctx, &x)).await;
            y.to_host::<m![S, I, A]>(&mut ctx.pdma).await.to_buf()
        });
        assert_same(&found, &five((-100..-92).chain(100..108)));
    }
}

mod interleaved {
    use super::*;

    axes![A = 512, B = 32];
    type Dm = DmTensor<i8, m![1], Cluster, Slice, m![A, B]>;
    type Hbm = HbmTensor<i8, m![1], m![S, A, B]>;

    fn fetch_interleaved<'l>(
        ctx: &'l mut Context,
        lhs: &'l Dm,
        rhs: &'l Dm,
    ) -> FetchTensor<'l, { Tu::Main }, i8, m![1], Cluster, Slice, m![A, I], m![B]> {
        ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()).fetch()
    }

    #[device(chip = 1)]
    fn alternate(ctx: &mut Context, lhs: &Hbm, rhs: &Hbm) -> HbmTensor<i8, m![1], m![S, A, I, B]> {
        let lhs: Dm = lhs.to_dm(&mut ctx.tdma, 0);
        let rhs: Dm = rhs.to_dm(&mut ctx.tdma, 100_008);
        let y = fetch_interleaved(ctx, &lhs, &rhs).collect::<m![A, I], m![B]>();
        y.commit::<m![A, I, B]>(1 << 18).to_hbm(&mut ctx.tdma, 1 << 30)
    }

    /// Blocks of four rows.
    #[device(chip = 1)]
    fn blocks(ctx: &mut Context, lhs: &Hbm, rhs: &Hbm) -> HbmTensor<i8, m![1], m![S, A / 4, I, A % 4, B]> {
        let lhs: Dm = lhs.to_dm(&mut ctx.tdma, 0);
        let rhs: Dm = rhs.to_dm(&mut ctx.tdma, 100_008);
        let y = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()))
            .fetch::<i8, m![A / 4, I, A % 4], m![B]>()
            .collect::<m![A / 4, I, A % 4], m![B]>();
        y.commit::<m![A / 4, I, A % 4, B]>(1 << 18).to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn rows_of_both_tensors_take_turns() {
        let value = |tensor: usize, k: usize| code(tensor as u32, k) as i8;
        let all = |tensor| (0..5 * 512 * 32).map(|k| value(tensor, k)).collect::<Vec<_>>();
        let (found, found_blocks) = block_on(async {
            let mut ctx = Context::acquire();
            let [lhs, rhs] = [0, 1].map(|tensor| HostTensor::<i8, m![S, A, B]>::from_buf(init(&all(tensor))));
            let (lhs, rhs) = (lhs.to_hbm(&mut ctx.pdma, 0).await, rhs.to_hbm(&mut ctx.pdma, 1 << 20).await);
            let y = launch(alternate, (&mut ctx, &lhs, &rhs)).await;
            let y = y.to_host::<m![S, A, I, B]>(&mut ctx.pdma).await.to_buf();
            let z = launch(blocks, (&mut ctx, &lhs, &rhs)).await;
            (y, z.to_host::<m![S, A / 4, I, A % 4, B]>(&mut ctx.pdma).await.to_buf())
        });
        let rows = |rows: usize| -> Vec<i8> {
            let turns = (0..5 * 512 / rows).flat_map(|block| [(0, block), (1, block)]);
            let size = rows * 32;
            turns
                .flat_map(|(tensor, block)| (0..size).map(move |k| value(tensor, block * size + k)))
                .collect()
        };
        assert_same(&found, &rows(1));
        assert_same(&found_blocks, &rows(4));
    }
}

/// Sums over 63 of 64, with NaN in the memory behind the 63.
mod masked_sums {
    use super::*;

    axes![N = 8, K = 63, L = 64];

    #[device(chip = 1)]
    fn sum(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, L]>,
        w: &HbmTensor<bf16, m![1], m![N, L]>,
    ) -> HbmTensor<f32, m![1], m![S, N]> {
        let _x = x.to_dm::<Cluster, Slice, m![L]>(&mut ctx.tdma, 0);
        let _w = w.to_dm::<Cluster, Slice, m![N, L]>(&mut ctx.tdma, 1024);
        // The same bytes as tensors of 63.
        #[allow(unsafe_code)] // They were written by the lines above.
        let (x, w) = unsafe {
            (
                DmTensor::<bf16, m![1], Cluster, Slice, m![K]>::from_addr(0),
                DmTensor::<bf16, m![1], Cluster, Slice, m![N, K # 64]>::from_addr(1024),
            )
        };
        let weights = (ctx.main.begin(w.view()))
            .fetch::<bf16, m![N], m![K # 64]>()
            .collect::<m![N, K # 64 / 16], m![K # 64 % 16]>()
            .to_trf::<m![N], m![K # 64]>(TrfAddress::Full);
        let y = (ctx.main.begin(x.view()))
            .fetch::<bf16, m![1], m![K # 64]>()
            .collect::<m![K # 64 / 16], m![K # 64 % 16]>()
            .align::<m![K # 64 / 32], m![K # 64 % 32], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![N]>(4096);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn padding_contributes_nothing() {
        // Small integers: every order of additions gives the same sum.
        let value = |seed: u32, row: usize, k: usize| (code(seed, row * 64 + k) % 15) as f32 - 7.0;
        let row = |seed, row| (0..64).map(move |k| if k < 63 { value(seed, row, k) } else { f32::NAN });
        let tensor = |seed, rows: usize| -> Vec<bf16> {
            (0..rows).flat_map(|r| row(seed, r).map(bf16::from_f32)).collect()
        };
        let found = block_on(async {
            let mut ctx = crate::unordered();
            let x = HostTensor::<bf16, m![S, L]>::from_buf(init(&tensor(1, 5)));
            let w = HostTensor::<bf16, m![N, L]>::from_buf(init(&tensor(2, 8)));
            let (x, w) = (x.to_hbm(&mut ctx.pdma, 0).await, w.to_hbm(&mut ctx.pdma, 1 << 20).await);
            let y = launch(sum, (&mut ctx, &x, &w)).await;
            y.to_host::<m![S, N]>(&mut ctx.pdma).await.to_buf()
        });
        let dot = |s: usize, n: usize| (0..63).map(|k| value(1, s, k) * value(2, n, k)).sum::<f32>();
        let expected: Vec<f32> = (0..5).flat_map(|s| (0..8).map(move |n| dot(s, n))).collect();
        assert_same(&found, &expected);
    }
}

mod refusals {
    use super::*;

    axes![K = 63, L = 7];

    #[allow(unsafe_code)] // Nothing is read.
    fn tensor<Element: M>(address: u64) -> DmTensor<i8, m![1], Cluster, Slice, Element> {
        unsafe { DmTensor::from_addr(address) }
    }

    #[test]
    fn a_pad_value_needs_a_mask() {
        let mut ctx = Context::acquire();
        let x = tensor::<m![K # 64]>(0);
        // Three digits of the axis: two indices would decide what is padding.
        let line = line!() + 4;
        let message = panic_message(|| {
            let begin = ctx.main.begin(x.view()).pad_value(-128);
            // Three digits of the axis.
            let _ = begin.fetch::<i8, m![K # 64 / 8 % 4, K # 64 / 32], m![K # 64 % 8]>();
        });
        assert!(
            message.starts_with("fault: fetch: refused: pad_value: the padding of this stream is not masked"),
            "{message}"
        );
        assert!(message.contains(&format!("vendor_fetch_adapter.rs:{line}")), "{message}");
        let message = panic_message(|| {
            let _ = ctx.sub.begin(x.view()).pad_value(-128).fetch::<i8, m![1], m![K # 64]>();
        });
        assert!(message.contains("help: pad the innermost axis alone, in the main context"), "{message}");
        // Neighbours: padding that is masked, and none.
        let _ = ctx.main.begin(x.view()).pad_value(-128).fetch::<i8, m![1], m![K # 64]>();
        let y = tensor::<m![A]>(0);
        let _ = ctx.sub.begin(y.view()).pad_value(-128).fetch::<i8, m![1], m![A]>();
    }

    /// The second tensor is checked like the first.
    #[device(chip = 1)]
    fn overwritten(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) {
        let lhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        let rhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 64);
        let _ = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 64);
        let _ = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()))
            .fetch::<i8, m![I], m![A]>()
            .collect::<m![I], m![A # 32]>()
            .commit::<m![I, A]>(1024);
    }

    /// The commit of the first packet lies over the second tensor.
    #[device(chip = 1)]
    fn over_its_source(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) {
        let lhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        let rhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 64);
        let _ = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()))
            .fetch::<i8, m![I], m![A]>()
            .collect::<m![I], m![A # 32]>()
            .commit::<m![I, A]>(64);
    }

    /// The second packet lies over the first tensor, which was read by then.
    #[device(chip = 1)]
    fn over_what_was_read(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) {
        let lhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 64);
        let rhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        let _ = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()))
            .fetch::<i8, m![I], m![A]>()
            .collect::<m![I], m![A # 32]>()
            .commit::<m![I, A]>(64);
    }

    /// The second tensor leaves the memory of its slice.
    #[device(chip = 1)]
    fn out_of_bounds(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A]>) {
        let lhs = x.to_dm::<Cluster, Slice, m![A]>(&mut ctx.tdma, 0);
        let rhs = tensor::<m![A]>(512 * 1024 - 7);
        let _ = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()))
            .fetch::<i8, m![I], m![A]>()
            .collect::<m![I], m![A # 32]>()
            .commit::<m![I, A]>(64);
    }

    #[test]
    fn the_second_tensor_is_checked_like_the_first() {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = counted(&mut ctx, 0).await;
            let fault = try_launch(overwritten, (&mut ctx, &x)).await.expect_err("the second tensor is gone");
            assert!(fault.to_string().starts_with("fault: fetch: stale read"), "{fault}");
            let fault = try_launch(over_its_source, (&mut ctx, &x)).await.expect_err("it is fetched next");
            assert!(fault.to_string().starts_with("fault: commit: source overwritten"), "{fault}");
            let fault = try_launch(out_of_bounds, (&mut ctx, &x)).await.expect_err("one byte too far");
            assert!(fault.to_string().starts_with("fault: fetch: out of bounds"), "{fault}");
            try_launch(over_what_was_read, (&mut ctx, &x)).await.unwrap_or_else(|fault| panic!("{fault}"));
        });
    }
}
