//! Random input: the parser answers with a mapping or a message, never with a panic, and what it prints parses again.
//!
//! Runs a second by default. `VISA_FUZZ_SECONDS=3600 cargo test --release -p furiosa-visa-grammar --test fuzz` runs an
//! hour; `VISA_SEED` repeats a run.

use furiosa_visa_grammar::parse_str;
use std::time::{Duration, Instant};

/// Inputs that are or were interesting. New findings go here.
const CORPUS: &str = include_str!("corpus.txt");

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const PIECES: [&str; 34] = [
    "A",
    "B",
    "S_dec",
    "m",
    "1",
    "2",
    "0",
    "16",
    "1_024",
    "0x10",
    "8usize",
    "18446744073709551615",
    "18446744073709551616",
    "1.5",
    "/",
    "%",
    "=",
    "#",
    "==",
    ",",
    ",,",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    " ",
    "\n",
    "\"x\"",
    "'",
    "é",
    "\u{0}",
    "*",
];

fn generated(random: &mut Random, corpus: &[&str]) -> String {
    let mut text = match random.below(3) {
        0 => String::new(),
        _ => random.pick(corpus).to_string(),
    };
    for _ in 0..random.below(24) {
        let at = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).nth(random.below(text.len() + 1));
        match (random.below(4), at) {
            (0, Some(at)) => text.truncate(at),
            (1, Some(at)) if at < text.len() => drop(text.remove(at)),
            (_, Some(at)) => text.insert_str(at, random.pick(&PIECES)),
            (_, None) => text.push_str(random.pick(&PIECES)),
        }
    }
    text
}

fn check(text: &str) {
    if let Ok(mapping) = parse_str(text) {
        let printed = mapping.to_string();
        let again = parse_str(&printed).unwrap_or_else(|error| panic!("{printed:?} of {text:?}: {error:?}"));
        assert_eq!(again.to_string(), printed, "{text:?}");
    }
}

#[test]
fn corpus() {
    CORPUS.lines().for_each(check);
    assert!(CORPUS.lines().filter(|text| parse_str(text).is_ok()).count() >= 10);
    assert!(CORPUS.lines().filter(|text| parse_str(text).is_err()).count() >= 10);
}

#[test]
fn random_input() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, got {text:?}")),
        Err(_) => default,
    };
    let seconds = number("VISA_FUZZ_SECONDS", 1);
    let mut seed = number("VISA_SEED", 0x5eed);
    let corpus: Vec<&str> = CORPUS.lines().collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut inputs = 0u64;
    while Instant::now() < end {
        for _ in 0..1000 {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let text = generated(&mut random, &corpus);
            let result = std::panic::catch_unwind(|| check(&text));
            assert!(result.is_ok(), "VISA_SEED={seed}: {text:?}");
            seed += 1;
            inputs += 1;
        }
    }
    println!("{inputs} inputs");
}
