//! Commands in other orders that the chip may take.
//!
//! ```text
//!   program          tdma: a → 0      main: b → 512     tdma: c → 1024      sub: reads 1024
//!   early DMA        tdma: a → 0      tdma: c → 1024    main: b → 512       sub: reads 1024
//!   late DMA         main: b → 512    tdma: a → 0       tdma: c → 1024      sub: reads 1024
//! ```

use furiosa_visa_std::chip::waits_for;
use furiosa_visa_std::command::{ContextKind, Operation};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// An order that the chip may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the program.
    Program,
    /// DMA as early as it may be.
    EarlyDma,
    /// DMA as late as it may be.
    LateDma,
    /// Any, selected by a seed.
    Random(u64),
}

/// The numbers of the operations in an order.
pub fn reordered(operations: &[&Operation], order: Order) -> Vec<usize> {
    let mut rng = SmallRng::seed_from_u64(match order {
        Order::Random(seed) => seed,
        _ => 0,
    });
    let mut left: Vec<usize> = (0..operations.len()).collect();
    let mut done = Vec::new();
    while let Some(&first) = left.first() {
        // The earliest operation that has to be done for `at`.
        let begun = |mut at: usize| {
            let waits =
                |at: usize, before: usize| before < at && waits_for(operations[at], operations[before]);
            while let Some(&before) = left.iter().find(|&&before| waits(at, before)) {
                at = before;
            }
            at
        };
        let towards = |is_wanted: &dyn Fn(ContextKind) -> bool| {
            let wanted = left.iter().find(|&&at| is_wanted(operations[at].context()));
            begun(*wanted.unwrap_or(&first))
        };
        let next = match order {
            Order::Program => first,
            Order::EarlyDma => towards(&ContextKind::is_dma),
            Order::LateDma => towards(&|context| !context.is_dma()),
            Order::Random(_) => begun(left[rng.random_range(0..left.len())]),
        };
        left.retain(|&at| at != next);
        done.push(next);
    }
    done
}
