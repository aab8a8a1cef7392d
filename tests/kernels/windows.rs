//! Convolutions out of windows, in kernels as a user writes them: strides, dilations, channels, outputs in slices, copies.

use crate::{Cluster, assert_same, block_on, init, numbers};
use furiosa_visa_std::engine::fetch::FetchPlan;
use furiosa_visa_std::engine::fetch::stages::Plain;
use furiosa_visa_std::mapping::Identity;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::tensor::{NoWindows, Windowed};

axes![N = 16];
type Slice = m![N # 256];

/// Every window of a picture as a tensor of its own (im2col): rows by 3 with one between them, columns side by side.
mod copied {
    use super::*;

    axes![H = 14, W = 20, OH = 4, OW = 16, KH = 3, KW = 5];
    type Out = m![OH, KH, KW, OW];

    #[device(chip = 1)]
    fn in_main(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![N, H, W # 24]>,
    ) -> HbmTensor<i8, m![1], m![N, { Out }]> {
        let x = x.to_dm::<Cluster, Slice, m![H, W # 24]>(&mut ctx.tdma, 0);
        let view = x.view().windows::<m![H], m![OH], m![KH], 3, 2>().windows::<m![W], m![OW], m![KW], 1, 1>();
        let y = (ctx.main.begin(view).fetch::<i8, m![OH, KH, KW], m![OW]>())
            .collect::<m![OH, KH, KW], m![OW # 32]>()
            .commit::<Out>(1 << 12);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[device(chip = 1)]
    fn in_sub(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![N, H, W # 24]>,
    ) -> HbmTensor<i8, m![1], m![N, { Out }]> {
        let x = x.to_dm::<Cluster, Slice, m![H, W # 24]>(&mut ctx.tdma, 0);
        let view = x.view().windows::<m![W], m![OW], m![KW], 1, 1>().windows::<m![H], m![OH], m![KH], 3, 2>();
        let y = (ctx.sub.begin(view).fetch::<i8, m![KW, OH, KH], m![OW]>())
            .collect::<m![KW, OH, KH], m![OW # 32]>()
            .commit::<Out>(1 << 12);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn each_window_is_there() {
        let pixels = numbers::<i8>(41, 16 * 14 * 20);
        let mut expected = Vec::new();
        for n in 0..16 {
            for (oh, kh) in (0..4).flat_map(|oh| (0..3).map(move |kh| (oh, kh))) {
                for (kw, ow) in (0..5).flat_map(|kw| (0..16).map(move |ow| (kw, ow))) {
                    expected.push(pixels[(n * 14 + oh * 3 + kh * 2) * 20 + ow + kw]);
                }
            }
        }
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![N, H, W]>::from_buf(init(&pixels));
            let x = x.to_hbm::<m![1], m![N, H, W # 24]>(&mut ctx.pdma, 0).await;
            let y = launch(in_main, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![N, { Out }]>(&mut ctx.pdma).await.to_buf(), &expected);
            let y = launch(in_sub, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![N, { Out }]>(&mut ctx.pdma).await.to_buf(), &expected);
        });
    }

    #[test]
    fn the_plan_of_windows() {
        type Rows = Windowed<NoWindows, m![H], m![OH], m![KH], 3, 2>;
        type Both = Windowed<Rows, m![W], m![OW], m![KW], 1, 1>;
        type Plan = FetchPlan<i8, i8, m![H, W # 24], m![OH, KH, KW], m![OW], false, Identity, Plain, Both>;
        assert_eq!(Plan::CONFIG.config.to_string(), "[4 : 72, 3 : 48, 5 : 1, 16 : 1] : 16");
        assert_eq!((Plan::CONFIG.fetch_size, Plan::CONFIG.cycles), (16, 60));
        let text = Plan::explain().to_string();
        let head = "fetch m![H, W # 24], in windows m![H] = m![OH] * 3 + m![KH] * 2, in windows m![W] = m![OW] + m![KW]: \
                    Time m![OH, KH, KW], Packet m![OW]";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("m![W # 24]::SIZE * 3 (windows of m![H])"), "{text}");
    }
}

/// A convolution over channels: sums over channels, rows and columns of a window, for 8 filters at once.
mod over_channels {
    use super::*;

    axes![C = 2, H = 6, W = 12, OH = 4, OW = 8, KH = 3, KW = 3, F = 8];
    type Taps = m![[C, KH, KW] # 32];

    #[device(chip = 1)]
    fn convolved(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![N, C, H, W # 16]>,
        w: &HbmTensor<i8, m![1], m![F, { Taps }]>,
    ) -> HbmTensor<i32, m![1], m![N, OH, OW, F]> {
        let x = x.to_dm::<Cluster, Slice, m![C, H, W # 16]>(&mut ctx.tdma, 0);
        let w = w.to_dm::<Cluster, Slice, m![F, { Taps }]>(&mut ctx.tdma, 1 << 12);
        let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![F], Taps>())
            .collect::<m![F], Taps>()
            .to_trf::<m![F], Taps>(TrfAddress::Full);
        let view = x.view().windows::<m![H], m![OH], m![KH], 1, 1>().windows::<m![W], m![OW], m![KW], 1, 1>();
        let y = (ctx.main.begin(view).fetch::<i8, m![OH, C, KH, KW], m![OW]>())
            .collect::<m![OH, C, KH, KW], m![OW # 32]>()
            .align::<m![OH, C, KH, KW], m![OW # 64], _, _>(&weights)
            .contract::<m![OW]>()
            .accumulate::<m![OH, OW], m![F]>(AccumulationKind::Interleaved)
            .commit::<m![OH, OW, F]>(1 << 14);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn as_loops_say() {
        let (pixels, taps) = (numbers::<i8>(42, 16 * 2 * 6 * 12), numbers::<i8>(43, 8 * 18));
        let mut expected = Vec::new();
        for n in 0..16 {
            for (oh, ow) in (0..4).flat_map(|oh| (0..8).map(move |ow| (oh, ow))) {
                for filter in taps.chunks(18) {
                    let product = |(k, tap): (usize, &i8)| {
                        let (c, kh, kw) = (k / 9, k / 3 % 3, k % 3);
                        i32::from(*tap) * i32::from(pixels[((n * 2 + c) * 6 + oh + kh) * 12 + ow + kw])
                    };
                    expected.push(filter.iter().enumerate().map(product).sum::<i32>());
                }
            }
        }
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![N, C, H, W]>::from_buf(init(&pixels));
            let w = HostTensor::<i8, m![F, C, KH, KW]>::from_buf(init(&taps));
            let x = x.to_hbm::<m![1], m![N, C, H, W # 16]>(&mut ctx.pdma, 0).await;
            let w = w.to_hbm::<m![1], m![F, { Taps }]>(&mut ctx.pdma, 1 << 20).await;
            let y = launch(convolved, (&mut ctx, &x, &w)).await;
            assert_same(&y.to_host::<m![N, OH, OW, F]>(&mut ctx.pdma).await.to_buf(), &expected);
        });
    }
}

/// A slice makes two of the rows, out of four: the neighbours' rows are in both slices.
mod outputs_in_slices {
    use super::*;

    axes![T = 4, W = 8, OH = 32, KH = 3];
    type Parts = m![OH / 2 # 256];

    #[device(chip = 1)]
    fn rows(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![OH / 2, T, W]>,
    ) -> HbmTensor<i8, m![1], m![OH, KH, W]> {
        let x = x.to_dm::<Cluster, Parts, m![T, W]>(&mut ctx.tdma, 0);
        let view = x.view().windows::<m![T], m![OH % 2], m![KH], 1, 1>();
        let y = (ctx.main.begin(view).fetch::<i8, m![OH % 2, KH], m![W]>())
            .collect::<m![OH % 2, KH], m![W # 32]>()
            .commit::<m![OH % 2, KH, W]>(1 << 12);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn rows_of_neighbours_are_read() {
        let rows_of = numbers::<i8>(44, 34 * 8);
        let row = |h: usize| &rows_of[h * 8..][..8];
        let tiles: Vec<i8> =
            (0..16).flat_map(|s| (0..4).flat_map(move |t| row(2 * s + t))).copied().collect();
        let expected: Vec<i8> = (0..32).flat_map(|o| (0..3).flat_map(move |k| row(o + k))).copied().collect();
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![OH / 2, T, W]>::from_buf(init(&tiles));
            let x = x.to_hbm::<m![1], m![OH / 2, T, W]>(&mut ctx.pdma, 0).await;
            let y = launch(rows, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![OH, KH, W]>(&mut ctx.pdma).await.to_buf(), &expected);
        });
    }
}
