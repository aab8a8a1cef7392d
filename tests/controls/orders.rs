//! Orders of execution: the commands of a kernel are kept, and given again in other orders that the chip may take.
//!
//! A kernel that the check of the order accepts has the same values in all of them. One that it refuses has not:
//!
//! ```text
//!   tdma   x.to_dm(…, 0) ─────────────────────── writes 0..64
//!   main            begin(bare(0)).….commit(1024) ── reads 0..64: nothing orders the two
//! ```
#![allow(unsafe_code)] // Bare addresses are the question.

use crate::replay::{in_other_orders, kept};
use crate::{A, B, DmX, X, block_on};
use furiosa_visa_std::chip::{CheckOptions, FaultKind};
use furiosa_visa_std::prelude::*;

type Y = HbmTensor<i8, m![1], m![A, B]>;

const UNORDERED: CheckOptions = CheckOptions { order: false, register_reuse: false, ..CheckOptions::ALL };

/// What a kernel gives: in the order of the program, and in others. Also the number of different orders.
fn results<K>(checks: CheckOptions, kernel: K) -> (Vec<i8>, Vec<Vec<i8>>, usize)
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a X), Output = Y>,
{
    let [first, second] = [0, 100].map(|more| (0..256).map(|k| value(k + more)).collect::<Vec<_>>());
    let host = |values: &[i8]| {
        HostTensor::<i8, m![A, B]>::from_buf(values.iter().map(|&value| Opt::Init(value)).collect())
    };
    let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
    let x: X = block_on(host(&first).to_hbm(&mut ctx.pdma, 0));
    let y: X = block_on(host(&second).to_hbm(&mut ctx.pdma, 4096));
    let (out, commands) = kept(&mut ctx, |ctx| block_on(launch(kernel, (ctx, &x, &y))));
    let read = |ctx: &mut Context| -> Vec<i8> {
        let values = block_on(out.to_host::<m![A, B]>(&mut ctx.pdma)).to_buf();
        let written = |value| match value {
            Opt::Init(value) => value,
            Opt::Uninit => panic!("nobody wrote it"),
        };
        values.into_iter().map(written).collect()
    };
    let mut found = Vec::new();
    let orders = in_other_orders(&mut ctx, &commands, |ctx, _| found.push(read(ctx)));
    (found.remove(0), found, orders)
}

fn value(k: usize) -> i8 {
    (k % 251) as u8 as i8
}

macro_rules! copied {
    ($context:expr, $from:expr, $to:expr) => {{
        let stream = $context.begin($from.view()).fetch::<i8, m![1], m![B]>();
        stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>($to)
    }};
}

/// `main` copies what `tdma` has written, or what was there before.
#[device(chip = 1)]
fn races(ctx: &mut Context, x: &X, y: &X) -> Y {
    let _: DmX = y.to_dm(&mut ctx.tdma, 0);
    let before = unsafe { DmX::from_addr(0) };
    let copy: DmX = copied!(ctx.main, before, 1024);
    let kept = copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    kept
}

/// The same through the handle.
#[device(chip = 1)]
fn ordered(ctx: &mut Context, x: &X, y: &X) -> Y {
    let dm: DmX = y.to_dm(&mut ctx.tdma, 0);
    let copy: DmX = copied!(ctx.main, dm, 1024);
    let kept = copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    kept
}

/// Loads go into one half while the other half is fetched and committed, by both contexts of the Tensor Unit.
#[device(chip = 1)]
fn halves(ctx: &mut Context, x: &X, y: &X) -> Y {
    let mut half: DmX = x.to_dm(&mut ctx.tdma, 0);
    let mut kept = None;
    for (k, next) in [y, x, y, x, y].into_iter().enumerate() {
        let other: DmX = next.to_dm(&mut ctx.tdma, [64, 0][k % 2]);
        let copy: DmX = match k % 2 {
            0 => copied!(ctx.main, half, 1024),
            _ => copied!(ctx.sub, half, 2048),
        };
        kept = Some(copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20));
        half = other;
    }
    drop(kept);
    copied!(ctx.main, half, 1024).to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20)
}

#[test]
fn a_result_that_depends_on_the_order() {
    // It is refused, and has other values in another order.
    let mut ctx = crate::context(CheckOptions::ALL);
    let x: X = block_on(HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0));
    let fault = block_on(try_launch(races, (&mut *ctx, &x, &x))).expect_err("nothing orders it");
    assert_eq!(fault.kind, FaultKind::Unordered, "{fault}");
    let text = fault.to_string();
    assert!(text.contains("`main` reads DM 0..64 while `tdma` may not have finished the DMA"), "{text}");
    let (expected, found, orders) = results(UNORDERED, races);
    assert_eq!(expected, (0..256).map(|k| value(k + 100)).collect::<Vec<_>>());
    assert!(orders > 1 && found.iter().any(|found| *found != expected) && found.contains(&expected));
}

#[test]
fn results_that_do_not() {
    let expected: Vec<i8> = (0..256).map(|k| value(k + 100)).collect();
    let (program, found, _) = results(CheckOptions::ALL, ordered);
    assert!(program == expected && found.iter().all(|found| *found == expected), "{found:?}");
    let (program, found, orders) = results(CheckOptions::ALL, halves);
    assert!(orders > 3, "{orders}");
    assert!(program == expected && found.iter().all(|found| *found == expected), "{found:?}");
}
