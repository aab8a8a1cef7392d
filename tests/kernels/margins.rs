//! Dead positions before an axis, `m![# 2 + B + # 4]`, in every engine that meets them.

use crate::{Cluster, assert_same, block_on, code, init};
use furiosa_visa_std::engine::fetch::FetchPlan;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![S = 5];
type Slice = m![S # 256];

fn byte(k: usize) -> i8 {
    code(1, k) as u8 as i8
}

/// The first two cases of padding (guide: fetch, "Padding and masks"), executed.
mod cases_of_padding {
    use super::*;

    axes![A = 32, B = 90];
    type Padded = m![# 2 + B + # 4];

    #[device(chip = 1)]
    fn rows(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![S, A, B # 96]>,
    ) -> HbmTensor<i8, m![1], m![S, A, { Padded }]> {
        let x = x.to_dm::<Cluster, Slice, m![A, B # 96]>(&mut ctx.tdma, 8);
        let y = (ctx.main.begin(x.view()))
            .pad_value(77)
            .fetch::<i8, m![A, { Padded } / 32], m![{ Padded } % 32]>()
            .collect::<m![A, { Padded } / 32], m![{ Padded } % 32]>()
            .commit::<m![A, { Padded }]>(1 << 16);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[device(chip = 1)]
    fn columns(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![S, A, B # 96]>,
    ) -> HbmTensor<i8, m![1], m![S, A, B]> {
        let x = x.to_dm::<Cluster, Slice, m![A, B # 96]>(&mut ctx.tdma, 8);
        let y = (ctx.main.begin(x.view()))
            .fetch::<i8, m![{ Padded } / 32, A], m![{ Padded } % 32]>()
            .collect::<m![{ Padded } / 32, A], m![{ Padded } % 32]>()
            .commit::<m![A, { Padded }]>(1 << 16);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn every_element_arrives() {
        type One = FetchPlan<i8, i8, m![A, B # 96], m![A, { Padded } / 32], m![{ Padded } % 32]>;
        assert_eq!(One::CONFIG.config.base, -2);
        let stored: Vec<i8> = (0..5 * 32 * 90).map(byte).collect();
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![S, A, B]>::from_buf(init(&stored));
            let x = x.to_hbm::<m![1], m![S, A, B # 96]>(&mut ctx.pdma, 64).await;
            let y = launch(rows, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![S, A, B]>(&mut ctx.pdma).await.to_buf(), &stored);
            // A host tensor packs its elements, whatever is before them.
            assert_same(&y.to_host::<m![S, A, # 7 + B + # 1]>(&mut ctx.pdma).await.to_buf(), &stored);
            let y = launch(columns, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![S, A, B]>(&mut ctx.pdma).await.to_buf(), &stored);
        });
    }
}

/// Sums over 60 of 64, with NaN in the memory before and behind the 60.
mod masked_sums {
    use super::*;

    axes![N = 8, K = 60, L = 64];
    type Padded = m![# 2 + K + # 2];

    #[device(chip = 1)]
    fn sum(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![S, L]>,
        w: &HbmTensor<bf16, m![1], m![N, L]>,
    ) -> HbmTensor<f32, m![1], m![S, N]> {
        let _x = x.to_dm::<Cluster, Slice, m![L]>(&mut ctx.tdma, 0);
        let _w = w.to_dm::<Cluster, Slice, m![N, L]>(&mut ctx.tdma, 1024);
        // The same bytes: a tensor of 60 that starts after the dead ones, and rows that hold them.
        #[allow(unsafe_code)] // They were written by the lines above.
        let (x, w) = unsafe {
            (
                DmTensor::<bf16, m![1], Cluster, Slice, m![K]>::from_addr(4),
                DmTensor::<bf16, m![1], Cluster, Slice, m![N, { Padded }]>::from_addr(1024),
            )
        };
        let weights = (ctx.main.begin(w.view()))
            .fetch::<bf16, m![N], Padded>()
            .collect::<m![N, { Padded } / 16], m![{ Padded } % 16]>()
            .to_trf::<m![N], Padded>(TrfAddress::Full);
        let y = (ctx.main.begin(x.view()))
            .fetch::<bf16, m![1], Padded>()
            .collect::<m![{ Padded } / 16], m![{ Padded } % 16]>()
            .align::<m![{ Padded } / 32], m![{ Padded } % 32], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![N]>(4096);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn dead_positions_contribute_nothing() {
        // Small integers: every order of additions gives the same sum.
        let value = |seed: u32, row: usize, k: usize| (code(seed, row * 64 + k) % 15) as f32 - 7.0;
        let live = 2..62;
        let row = |seed, row| {
            let live = live.clone();
            (0..64).map(move |k| if live.contains(&k) { value(seed, row, k) } else { f32::NAN })
        };
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
        let dot = |s: usize, n: usize| live.clone().map(|k| value(1, s, k) * value(2, n, k)).sum::<f32>();
        let expected: Vec<f32> = (0..5).flat_map(|s| (0..8).map(move |n| dot(s, n))).collect();
        assert_same(&found, &expected);
    }
}

/// Moves into and out of rows that begin with dead positions.
mod transfers {
    use super::*;

    axes![A = 6, B = 24];
    // 8 bytes before, 16 in all behind.
    type Padded = m![# 8 + B + # 8];

    #[device(chip = 1)]
    fn round_trip(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![S, A, B]>,
    ) -> HbmTensor<i8, m![1], m![A, S, # 3 + B]> {
        let x = x.to_dm::<Cluster, Slice, m![A, { Padded }]>(&mut ctx.tdma, 64);
        // Without the dead positions, which lie before the first row, too.
        let y = (ctx.main.begin(x.view()))
            .fetch::<i8, m![A], m![B]>()
            .collect::<m![A], m![B # 32]>()
            .commit::<m![A, B]>(1 << 12);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    /// An axis whose dead positions and elements lie over the slices.
    #[device(chip = 1)]
    fn over_slices(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) -> HbmTensor<i8, m![1], m![A, B]> {
        let x = x.to_dm::<Cluster, m![# 3 + A + # 247], m![B]>(&mut ctx.tdma, 64);
        let x = x.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
        let x =
            x.to_dm::<Cluster, m![[# 1 + A + # 505] / 2], m![[# 1 + A + # 505] % 2, B]>(&mut ctx.tdma, 512);
        x.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn elements_keep_their_index() {
        let stored: Vec<i8> = (0..5 * 6 * 24).map(byte).collect();
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![S, A, B]>::from_buf(init(&stored));
            let x = x.to_hbm::<m![1], m![S, A, B]>(&mut ctx.pdma, 64).await;
            let y = launch(round_trip, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![S, A, B]>(&mut ctx.pdma).await.to_buf(), &stored);
            let x = HostTensor::<i8, m![A, B]>::from_buf(init(&stored[..6 * 24]));
            let x = x.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 64).await;
            let y = launch(over_slices, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf(), &stored[..6 * 24]);
        });
    }
}

/// No address is negative: the dead positions before the first row have to be in the memory.
mod addresses {
    use super::*;

    axes![A = 8, B = 30];
    type Padded = m![# 2 + B];

    fn kernel_at<const ADDRESS: u64>(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A, B # 32]>) {
        let x = x.to_dm::<Cluster, Slice, m![A, B # 32]>(&mut ctx.tdma, 8);
        let _ = x;
        #[allow(unsafe_code)] // What is read means nothing.
        let x = unsafe { DmTensor::<i8, m![1], Cluster, Slice, m![A, B # 32]>::from_addr(ADDRESS) };
        let _ = (ctx.main.begin(x.view()))
            .fetch::<i8, m![A], Padded>()
            .collect::<m![A], m![{ Padded } # 32]>()
            .commit::<m![A, { Padded }]>(1 << 16);
    }

    #[device(chip = 1)]
    fn at_two(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A, B # 32]>) {
        kernel_at::<2>(ctx, x);
    }

    #[device(chip = 1)]
    fn at_one(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, A, B # 32]>) {
        kernel_at::<1>(ctx, x);
    }

    #[test]
    fn the_first_address_is_0() {
        block_on(async {
            let mut ctx = crate::unordered();
            let x = HostTensor::<i8, m![S, A, B]>::from_buf(init(&vec![1; 5 * 8 * 30]));
            let x = x.to_hbm::<m![1], m![S, A, B # 32]>(&mut ctx.pdma, 64).await;
            try_launch(at_two, (&mut ctx, &x)).await.unwrap_or_else(|fault| panic!("{fault}"));
            let fault = try_launch(at_one, (&mut ctx, &x)).await.expect_err("there is no address -1");
            let text = fault.to_string();
            assert!(text.starts_with("fault: fetch: out of bounds"), "{text}");
            assert!(
                text.contains("2 bytes before the tensor at DM address 1, at -1, but the first address is 0")
                    && text.contains("the tensor can be at 2 or above"),
                "{text}"
            );
        });
    }
}

/// Plain buffers (guide: sequencers).
#[test]
fn buffers_are_read_and_written_with_dead_positions() {
    axes![A = 3, B = 5];
    let buf = BufTensor::<i32, m![A, B # 6]>::from_fn(|position| position as i32);
    let stream: StreamTensor<i32, m![A], m![# 2 + B + # 1]> = buf.read();
    assert_eq!(stream.config().to_string(), "[3 : 6, 8 : 1] : 8 @ base -2");
    let live = |packet: &[Opt<i32>]| packet.iter().map(|x| x.into_option()).collect::<Vec<_>>();
    let row = |first: i32| {
        let elements = (0..5).map(|k| Some(first + k));
        [None, None].into_iter().chain(elements).chain([None]).collect::<Vec<_>>()
    };
    let found: Vec<_> = stream.packets().map(live).collect();
    assert_eq!(found, [row(0), row(6), row(12)]);
    let mut copy = BufTensor::<i32, m![A, B]>::zeroed();
    copy.write(stream);
    let expected: Vec<_> = (0..15).map(|k| Opt::Init(k / 5 * 6 + k % 5)).collect();
    assert_eq!(copy.as_slice(), expected);
    // A buffer that holds them.
    let buf = BufTensor::<i32, m![# 1 + A, # 2 + B]>::from_fn(|position| position as i32);
    let stream: StreamTensor<i32, m![B, A], m![1]> = buf.read();
    assert_eq!(stream.config().to_string(), "[5 : 1, 3 : 7] : 1 @ base 9");
    let found: Vec<_> = stream.packets().flat_map(live).take(4).collect();
    assert_eq!(found, [9, 16, 23, 10].map(Some));
}

/// Tensors on the host store their elements alone.
#[test]
fn host_tensors_pack_what_is_live() {
    axes![A = 3, B = 5];
    let values: Vec<Opt<i32>> = (0..15).map(Opt::Init).collect();
    let plain = Tensor::<i32, m![A, B]>::from_buf(values.clone());
    let margins = Tensor::<i32, m![# 2 + A, # 1 + B + # 3]>::from_buf(values.clone());
    assert_eq!(margins.to_buf(), values);
    assert_eq!(margins.reduce_add::<m![A, B]>().to_buf(), plain.to_buf());
    assert_eq!(margins.reduce_add::<m![# 4 + B]>().to_buf(), plain.reduce_add::<m![B]>().to_buf());
    // Parts of the block are dead together: a buffer of them lists all combinations.
    type Parts = m![[# 2 + B + # 1] % 4, A, [# 2 + B + # 1] / 4];
    let at = |k: usize| k / 6 + k % 2 * 4;
    let listed = (0..24).map(|k| match at(k).checked_sub(2).filter(|b| *b < 5) {
        Some(b) => values[k / 2 % 3 * 5 + b],
        None => Opt::Uninit,
    });
    let parts = Tensor::<i32, Parts>::from_buf(listed.clone().collect());
    assert_eq!(parts.to_buf(), listed.collect::<Vec<_>>());
    // They are no digits of `B`, which a sum would keep or drop.
    let message = crate::panic_message(|| {
        let _ = plain.reduce_add::<Parts>();
    });
    assert!(
        message.contains("of which there are other values in `m![A, B]`; help: keep the same"),
        "{message}"
    );
    let message = crate::panic_message(|| {
        let _ = plain.reduce_then_broadcast::<Parts>();
    });
    assert!(message.contains("help: keep the same values of the axis on both sides"), "{message}");
    // A move takes them apart and puts them together.
    let moved = plain.transpose::<Parts>(false);
    assert_eq!(moved.to_buf(), parts.to_buf());
    let back = moved.transpose::<m![# 1 + B, A]>(false);
    assert_eq!(back.transpose::<m![A, B]>(false).to_buf(), values);
}

/// Dead positions around a single one: in a tensor of one chip, cluster and slice, and around axes of one coordinate.
mod single_elements {
    use super::*;

    axes![A = 1, B = 1, U = 1, V = 1, W = 1, K = 64];
    type Chip = m![# 1 + U + # 2];
    type LastCluster = m![# 1 + V];
    type OneSlice = m![# 1 + W + # 254];
    /// Both blocks have one live position, and the same dead ones.
    type Parts = m![# 2 + B + # 1, # 2 + A + # 1, K];

    #[device(chip = 4)]
    fn round_trip(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![K]>) -> HbmTensor<i8, Chip, m![K]> {
        let x = x.to_dm::<LastCluster, OneSlice, m![K]>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(x.view()))
            .fetch::<i8, m![1], m![K]>()
            .collect::<m![K / 32], m![K % 32]>()
            .commit::<m![K]>(1 << 16);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[device(chip = 4)]
    fn cut(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![K]>) -> HbmTensor<i8, Chip, m![K]> {
        let x = x.to_dm::<LastCluster, OneSlice, Parts>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(x.view()))
            .fetch::<i8, m![# 1 + A + # 1, # 1 + B + # 1], m![K]>()
            .collect::<m![# 1 + A + # 1, # 1 + B + # 1, K / 32], m![K % 32]>()
            .commit::<m![# 1 + A + # 1, # 1 + B + # 1, K]>(1 << 16);
        y.to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn arrive_where_they_are() {
        let stored: Vec<i8> = (0..64).map(byte).collect();
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![K]>::from_buf(init(&stored));
            let x = x.to_hbm::<Chip, m![K]>(&mut ctx.pdma, 64).await;
            let y = launch(round_trip, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![K]>(&mut ctx.pdma).await.to_buf(), &stored);
            let y = launch(cut, (&mut ctx, &x)).await;
            assert_same(&y.to_host::<m![K]>(&mut ctx.pdma).await.to_buf(), &stored);
        });
    }
}
