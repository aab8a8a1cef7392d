//! The functions of one element, against the correctly rounded values that the reference finds by series of as many bits
//! as it takes.
//!
//! The normal run takes arguments that are spread over all of them, and those whose values are known to lie next to the
//! middle of two numbers. `VISA_ALL_ARGUMENTS=1` takes all 2^32 of every function, `VISA_ALL_ARGUMENTS=Tanh` those of
//! one: minutes for each, in as many threads as there are cores.

use crate::reference::vector::exact::{Function, correctly_rounded};
use furiosa_visa_std::scalar::vector as library;
use std::thread;

/// A function as the chip has it.
fn computed(function: Function) -> fn(f32) -> f32 {
    match function {
        Function::Exp => library::exponential,
        Function::NegExp => library::negative_exponential,
        Function::Sqrt => library::square_root,
        Function::Tanh => library::tangent_h,
        Function::Sigmoid => library::sigmoid,
        Function::Erf => library::error_function,
        Function::Log => library::logarithm,
        Function::Sin => library::sine,
        Function::Cos => library::cosine,
    }
}

/// The arguments among some whose values are not those of the reference.
fn wrong(function: Function, arguments: impl Iterator<Item = u32>) -> Vec<u32> {
    let own = computed(function);
    let differs = |bits: &u32| {
        let x = f32::from_bits(*bits);
        let (found, expected) = (own(x), correctly_rounded(function, x));
        // There is one NaN.
        let expected = if expected.is_nan() { library::CANONICAL_NAN } else { expected.to_bits() };
        found.to_bits() != expected
    };
    arguments.filter(differs).collect()
}

fn report(function: Function, wrong: &[u32]) -> String {
    let line = |bits: &u32| {
        let x = f32::from_bits(*bits);
        let (found, expected) = (computed(function)(x), correctly_rounded(function, x));
        format!(
            "{function:?}({x:e}), {bits:#010x}: {:#010x} instead of {:#010x}\n",
            found.to_bits(),
            expected.to_bits()
        )
    };
    wrong.iter().take(64).map(line).collect()
}

#[test]
fn values_are_correctly_rounded() {
    let all = std::env::var("VISA_ALL_ARGUMENTS").ok();
    let mut text = String::new();
    for function in Function::ALL {
        let name = format!("{function:?}");
        let found = match &all {
            None => wrong(function, spread()),
            Some(own) if *own == "1" || *own == name => wrong_of_all(function),
            Some(_) => continue,
        };
        println!("{name}: {} are wrong", found.len());
        text += &report(function, &found);
    }
    assert!(text.is_empty(), "{text}");
}

/// 2^21 arguments without a pattern, of every sign and exponent; 2^16 with few bits, whose values are often next to a
/// middle; and the known ones with their neighbours.
fn spread() -> impl Iterator<Item = u32> {
    let any = (0..1u32 << 21).map(|k| (k << 11) | (k.wrapping_mul(0x9e37_79b9) >> 21));
    let short = (0..1u32 << 16).map(|k| k << 16);
    let hard = HARD.into_iter().flat_map(|bits| [bits - 1, bits, bits + 1, bits ^ 1 << 31]);
    any.chain(short).chain(hard)
}

/// All of them, in threads.
fn wrong_of_all(function: Function) -> Vec<u32> {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u32;
    let mut all: Vec<u32> = thread::scope(|scope| {
        let part = |k: u32| scope.spawn(move || wrong(function, (k..=u32::MAX).step_by(threads as usize)));
        let parts: Vec<_> = (0..threads).map(part).collect();
        parts.into_iter().flat_map(|part| part.join().expect("the functions return")).collect()
    });
    all.sort_unstable();
    all
}

/// Arguments whose values lie next to the middle of two numbers, or next to a number.
const HARD: [u32; 14] = [
    // A sine.
    0x4619_9998,
    // Logarithms.
    0x3c41_3d3a,
    0x4117_8feb,
    0x4c5d_65a5,
    0x65d8_90d3,
    0x6f31_a8ec,
    // Sigmoids: 1/2 + x/4 is the middle, and the next term decides.
    0x369c_0000,
    0xb69c_0000,
    0x3400_0000,
    0x3580_0000,
    0x3700_0001,
    0x3760_0000,
    0x3980_0000,
    0xba92_8601,
];
