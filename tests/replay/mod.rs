//! The commands of a kernel, given again in other orders that the chip may take.

mod orders;

pub use orders::Order;
use orders::reordered;

use furiosa_visa_std::clock::KernelCall;
use furiosa_visa_std::command::{Command, Operation};
use furiosa_visa_std::prelude::Context;
use std::collections::BTreeSet;

/// Keeps the commands that `kernel` gives.
pub fn kept<T>(ctx: &mut Context, kernel: impl FnOnce(&mut Context) -> T) -> (T, Vec<Command>) {
    ctx.with_system(|system| system.keep_commands());
    let result = kernel(ctx);
    (result, ctx.with_system(|system| system.keep_commands()))
}

/// Has the result of a kernel looked at. Then gives its commands again, in other orders, and has each result looked at.
/// Tells how many of these orders differ.
pub fn in_other_orders(
    ctx: &mut Context,
    commands: &[Command],
    mut look: impl FnMut(&mut Context, Order),
) -> usize {
    let operations: Vec<&Operation> = commands.iter().map(|command| &command.operation).collect();
    let orders = [Order::EarlyDma, Order::LateDma].into_iter().chain((0..4).map(Order::Random));
    let mut sequences = BTreeSet::new();
    look(ctx, Order::Program);
    for (number, order) in orders.enumerate() {
        let sequence = reordered(&operations, order);
        ctx.with_system(|system| {
            // A launch of its own: nothing of it overlaps what was given before.
            system.enter_kernel(KernelCall { number: 1_000_000 + number as u64, name: "replay" });
            for &at in &sequence {
                system.execute(&commands[at]).unwrap_or_else(|fault| panic!("{order:?}: {fault}"));
            }
        });
        sequences.insert(sequence);
        look(ctx, order);
    }
    sequences.len()
}
