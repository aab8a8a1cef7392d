//! Orders of execution: the commands of a kernel are kept, and given again in other orders that the chip may take.
//!
//! ```text
//!   program          tdma: a → 0      main: b → 512     tdma: c → 1024      sub: reads 1024
//!   early DMA        tdma: a → 0      tdma: c → 1024    main: b → 512       sub: reads 1024
//!   late DMA         main: b → 512    tdma: a → 0       tdma: c → 1024      sub: reads 1024
//! ```
//!
//! A kernel that the check of the order accepts has the same values in all of them. One that it refuses has not:
//!
//! ```text
//!   tdma   x.to_dm(…, 0) ─────────────────────── writes 0..64
//!   main            begin(bare(0)).….commit(1024) ── reads 0..64: nothing orders the two
//! ```
#![allow(unsafe_code)] // Bare addresses are the question.

use crate::{A, B, DmX, X, block_on};
use furiosa_visa_std::chip::{CheckOptions, FaultKind, waits_for};
use furiosa_visa_std::clock::KernelCall;
use furiosa_visa_std::command::{Command, ContextKind};
use furiosa_visa_std::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

type Y = HbmTensor<i8, m![1], m![A, B]>;

const UNORDERED: CheckOptions = CheckOptions { order: false, register_reuse: false, ..CheckOptions::ALL };

/// An order that the chip may take.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// DMA as early as it may be.
    EarlyDma,
    /// DMA as late as it may be.
    LateDma,
    /// Any.
    Random(u64),
}

/// The numbers of the commands in an order.
fn reordered(commands: &[Command], order: Order) -> Vec<usize> {
    let waits =
        |later: usize, earlier: usize| waits_for(&commands[later].operation, &commands[earlier].operation);
    let mut rng = SmallRng::seed_from_u64(match order {
        Order::Random(seed) => seed,
        _ => 0,
    });
    let mut left: Vec<usize> = (0..commands.len()).collect();
    let mut done = Vec::new();
    while !left.is_empty() {
        // The earliest command that `at` waits for, and for which that one waits, …
        let begun = |mut at: usize| {
            while let Some(&before) = left.iter().find(|&&before| before < at && waits(at, before)) {
                at = before;
            }
            at
        };
        let towards = |is_wanted: &dyn Fn(ContextKind) -> bool| {
            let wanted = left.iter().find(|&&at| is_wanted(commands[at].operation.context()));
            begun(*wanted.unwrap_or(&left[0]))
        };
        let next = match order {
            Order::EarlyDma => towards(&ContextKind::is_dma),
            Order::LateDma => towards(&|context| !context.is_dma()),
            Order::Random(_) => begun(left[rng.random_range(0..left.len())]),
        };
        left.retain(|&at| at != next);
        done.push(next);
    }
    done
}

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
    ctx.with_system(|system| system.keep_commands());
    let out = block_on(launch(kernel, (&mut *ctx, &x, &y)));
    let commands = ctx.with_system(|system| system.keep_commands());
    let read = |ctx: &mut Context| -> Vec<i8> {
        let values = block_on(out.to_host::<m![A, B]>(&mut ctx.pdma)).to_buf();
        let written = |value| match value {
            Opt::Init(value) => value,
            Opt::Uninit => panic!("nobody wrote it"),
        };
        values.into_iter().map(written).collect()
    };
    let expected = read(&mut ctx);
    let orders = [Order::EarlyDma, Order::LateDma].into_iter().chain((0..16).map(Order::Random));
    let mut sequences = Vec::new();
    let found = orders.enumerate().map(|(number, order)| {
        let sequence = reordered(&commands, order);
        ctx.with_system(|system| {
            // A launch of its own: nothing of it overlaps what was given before.
            system.enter_kernel(KernelCall { number: 1000 + number as u64, name: "replay" });
            for &at in &sequence {
                system.execute(&commands[at]).unwrap_or_else(|fault| panic!("{order:?}: {fault}"));
            }
        });
        sequences.push(sequence);
        read(&mut ctx)
    });
    let found = found.collect();
    sequences.sort();
    sequences.dedup();
    (expected, found, sequences.len())
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
    assert!(orders > 5, "{orders}");
    assert!(program == expected && found.iter().all(|found| *found == expected), "{found:?}");
}
