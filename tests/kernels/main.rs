//! Kernels as a user writes them, executed and compared with plain loops.

#![allow(clippy::type_complexity)] // A mapping is a nested type, however short it is written.

mod accumulation_kinds;
mod all_engines;
mod as_data;
mod bounds;
mod clock;
mod commit_stages;
mod copies;
mod dma_over_source;
mod empty_tensors;
mod gemm;
mod greatest;
mod hints;
mod hints_layouts;
mod host;
mod inspect;
mod limits;
mod margins;
mod meetings;
mod memory_and_stream;
mod memset;
mod numerics;
mod nvfp4;
mod other_context;
mod output;
mod overwrite;
mod page;
mod parts;
mod places;
mod register_files;
mod rows;
mod runtime;
mod switch;
mod threads;
mod tiles;
mod transposes;
mod vector;
mod vector_operands;
mod vector_patterns;
mod vector_slots;
mod vendor_compile;
mod vendor_contraction;
mod vendor_fetch;
mod vendor_fetch_adapter;
mod windows;

#[path = "../browser/mod.rs"]
mod browser;
#[path = "../replay/mod.rs"]
mod replay;

use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::ContextGuard;

/// One cluster of two works.
pub type Cluster = m![1 # 2];

/// A context for kernels that look through bare addresses at what other contexts have written: nothing orders the two.
pub fn unordered() -> ContextGuard {
    let checks = CheckOptions { order: false, ..CheckOptions::ALL };
    Context::with(SimOptions { checks, ..SimOptions::default() })
}

/// Runs a host program.
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}

/// Repeatable codes that look random.
pub fn code(seed: u32, position: usize) -> u32 {
    let mut x = (position as u32).wrapping_mul(0x9e37_79b9).wrapping_add(seed.wrapping_mul(0x85eb_ca6b));
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// Element types of the multipliers, with the type of their sums.
pub trait Number: Scalar + PartialEq {
    /// What products and sums are computed in.
    type Wide: Scalar;
    /// A finite value from a code.
    fn sample(code: u32) -> Self;
    /// The same value, wider.
    fn wide(self) -> Self::Wide;
}

macro_rules! floats {
    ($($type:ident),*) => { $(
        impl Number for $type {
            type Wide = f32;
            fn sample(code: u32) -> Self {
                // Between -8 and 8, of very different sizes, so that sums are rounded.
                let mantissa = 1.0 + (code >> 8 & 0xff) as f32 / 256.0;
                let sign = if code & 1 == 0 { 1.0 } else { -1.0 };
                $type::from_f32(sign * mantissa * 2f32.powi((code >> 16) as i32 % 11 - 8))
            }
            fn wide(self) -> f32 {
                self.to_f32()
            }
        }
    )* };
}
floats!(bf16, f8e4m3, f8e5m2);

impl Number for i4 {
    type Wide = i32;
    fn sample(code: u32) -> Self {
        i4::from_bits(code % 16)
    }
    fn wide(self) -> i32 {
        self.to_i32()
    }
}

impl Number for i8 {
    type Wide = i32;
    fn sample(code: u32) -> Self {
        code as u8 as i8
    }
    fn wide(self) -> i32 {
        i32::from(self)
    }
}

/// `count` values.
pub fn numbers<D: Number>(seed: u32, count: usize) -> Vec<D> {
    (0..count).map(|k| D::sample(code(seed, k))).collect()
}

/// The values as elements.
pub fn init<D: Scalar>(values: &[D]) -> Vec<Opt<D>> {
    values.iter().copied().map(Opt::Init).collect()
}

/// The sum of an adder tree: neighbours first. The number of values is a power of two.
pub fn tree<W: Scalar>(mut values: Vec<W>) -> W {
    assert!(values.len().is_power_of_two());
    while values.len() > 1 {
        values = values.chunks(2).map(|pair| pair[0].add_wrapping(pair[1])).collect();
    }
    values[0]
}

/// A dot product in the order of the chip: chunks through the tree, then one after the other.
pub fn dot<D: Number>(x: &[D], w: &[D], chunk: usize) -> D::Wide {
    let product = |(x, w): (&D, &D)| x.wide().mul_wrapping(w.wide());
    let sums =
        x.chunks(chunk).zip(w.chunks(chunk)).map(|(x, w)| tree(x.iter().zip(w).map(product).collect()));
    sums.reduce(|sum, next| sum.add_wrapping(next)).expect("there is at least one chunk")
}

/// Compares encodings, so that -0 and 0 differ, and asks for something other than zeros.
#[track_caller]
pub fn assert_same<D: Scalar>(found: &[Opt<D>], expected: &[D]) {
    assert_eq!(found.len(), expected.len());
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let Opt::Init(value) = found else {
            panic!("element {k} is not initialised");
        };
        assert!(
            Scalar::to_bits(*value) == Scalar::to_bits(*expected),
            "element {k} is {value:?}, expected {expected:?}"
        );
    }
    let different = (expected.iter()).filter(|value| Scalar::to_bits(**value) != 0).count();
    assert!(different * 2 > expected.len(), "the test would pass with a chip that writes zeros");
}

/// The message of a panic.
pub fn panic_message<T>(work: impl FnOnce() -> T) -> String {
    let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) else {
        panic!("it should panic");
    };
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(other) => {
            (other.downcast::<&str>()).map_or_else(|_| "not a text".into(), |text| text.to_string())
        }
    }
}
