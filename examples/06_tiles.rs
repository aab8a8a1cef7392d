//! Tiles: blocks of a tensor go through the two halves of one buffer, so that a block is loaded while another one is used.
//!
//! ```text
//!   one half      load 0 │ use 0 │ load 1 │ use 1 │ load 2 │ …
//!   two halves    load 0 │ use 0 │ use 1  │ use 2 │ …
//!                        │ load 1│ load 2 │ load 3│ …
//! ```
//!
//! The halves are tiles of one tensor. What the kernel does to them is ordered by the bytes that they share: nothing here
//! names an address twice.

use furiosa_visa_std::prelude::*;
use rand::{SeedableRng, rngs::SmallRng};

axes![T = 8, S = 256, E = 2048];

type Cluster = m![1 # 2];
/// Blocks `T` of a row for each slice.
type X = HbmTensor<i8, m![1], m![T, S, E]>;
/// Two of them in DM.
type Buffer = DmTensor<i8, m![1], Cluster, m![S], m![T = 2, E]>;

/// `max(x, 0)`, block after block, with the first halves of the buffer.
fn blocks(ctx: &mut Context, x: &X, y: &mut X, halves: usize) {
    let positive = LookupTable::from_fn(|x: i8| x.max(0));
    let first = x.view().tile::<m![T], 2, m![T = 2 # 8, S, E]>(0);
    let mut buffer: Buffer = first.to_dm(&mut ctx.tdma, 0);
    for (block, out) in y.view_mut().split_tiles_mut::<m![T], 1, m![1 # 8, S, E]>().enumerate() {
        let half = block % halves;
        let own = buffer.view().tile::<m![T = 2], 1, m![1 # 2, E]>(half);
        let used = (ctx.main.begin(own))
            .fetch_with_table::<i8, m![E / 32], m![E % 32]>(&positive)
            .collect::<m![E / 32], m![E % 32]>()
            .commit::<m![E]>((64 << 10) + 4096 * half as u64);
        if block + halves < T::SIZE {
            let next = x.view().tile::<m![T], 1, m![1 # 8, S, E]>(block + halves);
            next.to_dm_view(&mut ctx.tdma, buffer.view_mut().tile::<m![T = 2], 1, m![1 # 2, E]>(half));
        }
        used.view().to_hbm_view(&mut ctx.tdma, out);
    }
}

#[device(chip = 1)]
fn one_half(ctx: &mut Context, x: &X, y: &mut X) {
    blocks(ctx, x, y, 1);
}

#[device(chip = 1)]
fn two_halves(ctx: &mut Context, x: &X, y: &mut X) {
    blocks(ctx, x, y, 2);
}

#[allow(dead_code, reason = "tests may include the file")]
/// Runs both kernels, checks them and prints their cycles.
pub fn main() {
    let host = HostTensor::<i8, m![T, S, E]>::rand(&mut SmallRng::seed_from_u64(6));
    let expected: Vec<Opt<i8>> = host.to_buf().into_iter().map(|x| x.map(|x: i8| x.max(0))).collect();
    let mut cycles = Vec::new();
    for halves in [1, 2] {
        pollster::block_on(async {
            let mut ctx = Context::acquire();
            let x: X = host.to_hbm(&mut ctx.pdma, 0).await;
            let mut y: X = HostTensor::<i8, m![T, S, E]>::zero().to_hbm(&mut ctx.pdma, 1 << 24).await;
            match halves {
                1 => launch(one_half, (&mut ctx, &x, &mut y)).await,
                _ => launch(two_halves, (&mut ctx, &x, &mut y)).await,
            }
            assert_eq!(y.to_host::<m![T, S, E]>(&mut ctx.pdma).await.to_buf(), expected);
            cycles.push(ctx.report().kernels[0].makespan());
        });
    }
    println!("{} cycles with one half, {} with two", cycles[0], cycles[1]);
    assert!(cycles[1] < cycles[0], "overlapping must help");
}
