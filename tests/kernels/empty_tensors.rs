//! Tensors that begin without elements: where they lie, what fills them, when their bytes are free again.

use crate::replay::{in_other_orders, kept};
use crate::{Cluster, assert_same, block_on, init};
use furiosa_visa_std::chip::{Addresses, FaultKind};
use furiosa_visa_std::prelude::*;

axes![S = 256, N = 4, B = 64, H = 8192];

type Rows = HbmTensor<i8, m![1], m![S, N, B]>;
type DmRows = DmTensor<i8, m![1], Cluster, m![S], m![N, B]>;

fn values() -> Vec<i8> {
    (0..256 * 4 * 64).map(|k| (k * 7 + k / 256) as i8).collect()
}

/// Rows in another order: by DMA the even ones, through the Tensor Unit the odd ones.
#[device(chip = 1)]
fn turned(ctx: &mut Context, x: &Rows) -> Rows {
    let source = x.to_dm::<Cluster, m![S], m![N, B]>(&mut ctx.tdma, AUTO);
    let mut all = DmRows::new(ctx);
    for n in 0..4 {
        let there = all.view_mut().tile::<m![N], 1, m![1 # 4, B]>(3 - n);
        let row = source.view().tile::<m![N], 1, m![1 # 4, B]>(n);
        if n % 2 == 0 {
            row.to_dm_view(&mut ctx.tdma, there);
        } else {
            let stream = ctx.main.begin(row).fetch::<i8, m![1], m![B]>();
            stream.collect::<m![B / 32], m![B % 32]>().commit_view(there);
        }
    }
    let mut result = HbmTensor::new(ctx);
    all.view().to_hbm_view(&mut ctx.tdma, result.view_mut());
    result
}

#[test]
fn tiles_fill_a_tensor() {
    let values = values();
    for addresses in [Addresses::AsGiven, Addresses::Separate] {
        let mut ctx = Context::with(SimOptions { addresses, ..SimOptions::default() });
        let x = HostTensor::<i8, m![S, N, B]>::from_buf(init(&values));
        let x = block_on(x.to_hbm::<m![1], m![S, N, B]>(&mut ctx.pdma, AUTO));
        let (y, commands) = kept(&mut ctx, |ctx| block_on(launch(turned, (ctx, &x))));
        let expected: Vec<i8> =
            (0..values.len()).map(|k| values[k / 256 * 256 + (3 - k / 64 % 4) * 64 + k % 64]).collect();
        in_other_orders(&mut ctx, &commands, |ctx, _| {
            assert_same(&block_on(y.to_host::<m![S, N, B]>(&mut ctx.pdma)).to_buf(), &expected);
        });
    }
}

/// What nobody wrote is uninitialised, although the bytes held elements.
#[test]
fn what_is_not_filled_is_uninitialised() {
    let mut ctx = Context::acquire();
    let values = values();
    let x = HostTensor::<i8, m![S, N, B]>::from_buf(init(&values));
    let x: Rows = block_on(x.to_hbm(&mut ctx.pdma, AUTO));
    let first = block_on(async {
        let host = HostTensor::<i8, m![S, N, B]>::from_buf(init(&values));
        host.to_hbm::<m![1], m![S, N, B]>(&mut ctx.pdma, AUTO).await.address()
    });
    let mut y = Rows::new(&mut ctx);
    assert_eq!(y.address(), first, "the bytes of the handle that ended");
    let tile = x.view().tile::<m![N], 1, m![S, 1 # 4, B]>(2);
    tile.to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![N], 1, m![S, 1 # 4, B]>(1));
    let found = block_on(y.to_host::<m![S, N, B]>(&mut ctx.pdma)).to_buf();
    for (k, found) in found.into_iter().enumerate() {
        let from = k / 256 * 256 + 2 * 64 + k % 64;
        let expected = if k / 64 % 4 == 1 { Opt::Init(values[from]) } else { Opt::Uninit };
        assert_eq!(found, expected, "element {k}");
    }
    // The handle ends, and the next one has its bytes.
    let address = y.address();
    drop(y);
    assert_eq!(Rows::new(&mut ctx).address(), address);
}

/// The last tensor that fits, and one more.
#[test]
fn a_full_memory_is_refused() {
    type Half = DmTensor<i8, m![1], Cluster, m![S], m![N, B, H / 8]>;
    let mut ctx = Context::acquire();
    let fault = block_on(try_launch(too_many, (&mut *ctx, 1))).map(|()| None);
    assert_eq!(fault.unwrap_or_else(Some), None);
    let fault = block_on(try_launch(too_many, (&mut *ctx, 2))).expect_err("DM is full");
    assert_eq!(fault.kind, FaultKind::Capacity);
    let text = "fault: DmTensor::new: capacity exceeded: 262144 bytes do not fit";
    assert!(fault.to_string().starts_with(text), "{fault}");

    #[device(chip = 1)]
    fn too_many(ctx: &mut Context, count: usize) {
        let all: Vec<Half> = (0..count).map(|_| DmTensor::new(ctx)).collect();
        assert_eq!(all.len(), count);
    }
}
