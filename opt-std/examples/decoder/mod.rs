//! Shared by the kernels of a decoder layer, whose shapes are those of Gemma 3 12B: synthetic values, the comparison with the
//! host, and what the report says.

#![allow(dead_code)] // Each example uses a part.

use furiosa_opt_std::prelude::*;
use furiosa_opt_std::visa::spec;
use std::time::Instant;

/// Seeded numbers: the sequence splitmix64.
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from -`size` to `size`.
    pub fn within(&mut self, size: f64) -> f64 {
        size * (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - size
    }

    /// Numbers from -`size` to `size`, in `bf16`.
    pub fn numbers(&mut self, count: usize, size: f64) -> Vec<bf16> {
        (0..count).map(|_| bf16::from_f32(self.within(size) as f32)).collect()
    }
}

/// The product of a matrix, rows after each other, with a vector, in `f64`.
pub fn product(matrix: &[bf16], x: &[f64]) -> Vec<f64> {
    let dot = |row: &[bf16]| row.iter().zip(x).map(|(w, x)| f64::from(w.to_f32()) * x).sum();
    matrix.chunks_exact(x.len()).map(dot).collect()
}

/// Values in `f64`.
pub fn exact(values: &[bf16]) -> Vec<f64> {
    values.iter().map(|x| f64::from(x.to_f32())).collect()
}

/// Asserts that each value is the reference's, but for a part `tolerance` of the reference's root mean square.
pub fn compare(name: &str, found: &[bf16], reference: &[f64], tolerance: f64) {
    assert_eq!(found.len(), reference.len());
    let size = (reference.iter().map(|y| y * y).sum::<f64>() / reference.len() as f64).sqrt();
    assert!(size > 0.0, "a reference of zeros checks nothing");
    let errors = found.iter().zip(reference).map(|(found, y)| (f64::from(found.to_f32()) - y).abs() / size);
    let (largest, place) =
        errors.zip(0..).fold((0.0, 0), |most, own| if own.0 > most.0 { own } else { most });
    println!(
        "    largest error {largest:.5} of the root mean square {size:.3}, at {place}; {tolerance} is allowed"
    );
    assert!(largest <= tolerance, "{name}: the result differs from the reference");
}

/// What a kernel has to do at least.
pub struct Work {
    /// Bytes of weights, which come from HBM once.
    pub bytes: usize,
    /// Products.
    pub products: usize,
    /// Products of a lane of a slice per cycle: 32 of `bf16`, 64 of `f8`.
    pub per_lane: usize,
}

impl Work {
    /// Cycles in which HBM delivers the bytes, all channels at their full rate.
    fn memory(&self) -> f64 {
        let unit_cycles = spec::HBM_UNIT_TICKS as f64 / spec::CORE_CYCLE_TICKS as f64;
        self.bytes as f64 / (spec::HBM_CHANNELS * spec::HBM_UNIT_BYTES) as f64 * unit_cycles
    }

    /// Cycles in which all lanes of all slices multiply.
    fn multipliers(&self) -> f64 {
        self.products as f64 / (spec::CLUSTERS * spec::SLICES * 8 * self.per_lane) as f64
    }

    /// Cycles that no kernel can be below.
    pub fn bound(&self) -> f64 {
        self.memory().max(self.multipliers())
    }

    /// Prints the bounds.
    pub fn print(&self) {
        println!(
            "    at least {:.0} cycles: {} bytes from HBM; and {:.0}: {} products",
            self.memory(),
            self.bytes,
            self.multipliers(),
            self.products
        );
    }
}

/// Prints what the report says of the kernel that ran since `start`, and returns its cycles. `--report` prints all of it.
pub fn report(name: &str, ctx: &mut Context, work: &Work, start: Instant) -> u64 {
    let (report, seconds) = (ctx.report(), start.elapsed().as_secs_f64());
    let kernel = report.kernels.last().expect("a kernel ran");
    let cycles = kernel.makespan();
    println!(
        "{name}: {cycles} cycles, {:.1} % of the bound; simulated in {seconds:.2} s",
        100.0 * work.bound() / cycles as f64
    );
    let mut slowest = report.critical_path(kernel);
    slowest.sort_by_key(|record| std::cmp::Reverse(record.cycles()));
    for record in slowest.iter().take(4) {
        let (operation, cycles) = (&record.operation, record.cycles());
        println!("    {operation:9} {cycles:7} cycles, bound by {}", record.timing.bottleneck());
    }
    if flag("--report") {
        println!("{}", report.full());
    }
    cycles
}

/// True if an argument was given.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

/// Asserts that the tuned version is at least two times as fast.
pub fn twice(plain: u64, tuned: u64) {
    println!("tuned is {:.2} times as fast", plain as f64 / tuned as f64);
    // Small sizes are the start of commands.
    assert!(flag("--small") || 2 * tuned <= plain, "tuned should be two times as fast");
}
