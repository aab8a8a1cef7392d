//! The whole network of a file, where `VISA_MODEL` names one:
//!
//! ```sh
//! VISA_MODEL=$(models/fetch.sh) cargo test --release -p furiosa-visa-models --test whole
//! ```
//!
//! Expected texts and scores were computed once with numpy from the same file, by a program that has nothing in common with this
//! one.

use furiosa_visa_models::generate::{Sampler, Text, log_probability};
use furiosa_visa_models::gguf::Gguf;
use furiosa_visa_models::model::Model;
use furiosa_visa_models::reference::Reference;
use furiosa_visa_models::tokenizer::{Tokenizer, Vocabulary};
use furiosa_visa_models::weights::Weights;
use std::path::Path;

/// Tokens of each continuation.
const TOKENS: usize = 16;

/// Prompts and their most probable continuations.
const CONTINUATIONS: [(&str, &str); 5] = [
    ("The capital of France is", " Paris.\n\nThe answer is: 2018-01"),
    (
        "Once upon a time",
        ", the city of Nova Haven was a thriving metropolis, with towering skyscrapers and bustling",
    ),
    ("def fibonacci(n):", "\n    if n == 0:\n        return 1\n    return n * fib"),
    ("Water boils at", " 100°C, which is a perfect Celsius.\n\nThe"),
    ("In 1969, humans", " have been able to create a machine that can create a machine.\n\nThe"),
];

/// A text of 201 tokens.
const SCORED: &str = include_str!("harbour.txt");

/// The sum of the log-probabilities of its tokens but the first, and the first five of them.
const SUM: f64 = -725.360_677;
const FIRST: [f64; 5] = [-15.656_940, -3.963_787, -1.408_212, -8.197_767, -0.025_137];

/// The file, if there is one.
fn file() -> Option<(Weights, Tokenizer)> {
    let Some(path) = std::env::var_os("VISA_MODEL") else {
        eprintln!("VISA_MODEL names no file: skipped");
        return None;
    };
    let mut file = Gguf::open(Path::new(&path)).unwrap_or_else(|refusal| panic!("{}", refusal.0));
    let vocabulary = Vocabulary::of(&file).unwrap();
    Some((file.weights(file.layers()).unwrap(), Tokenizer::new(vocabulary).unwrap()))
}

#[test]
fn continuations_are_those_of_numpy() {
    let Some((weights, tokenizer)) = file() else { return };
    for (prompt, expected) in CONTINUATIONS {
        let mut model = Reference::new(&weights);
        let mut out = Vec::new();
        let mut text = Text::new(&mut model, &tokenizer, Sampler::new(0.0, 0));
        text.extend(&tokenizer.encode(prompt).unwrap(), TOKENS, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{prompt}");
    }
}

#[test]
fn scores_are_those_of_numpy() {
    let Some((weights, tokenizer)) = file() else { return };
    let tokens = tokenizer.encode(SCORED).unwrap();
    assert_eq!(tokens.len(), 201);
    let (mut scores, mut nexts) = (Vec::new(), tokens[1..].iter());
    let mut model = Reference::new(&weights);
    model.score(&tokens[..200], &mut |logits| scores.push(log_probability(logits, *nexts.next().unwrap())));
    assert_eq!((scores.len(), model.position()), (200, 200));
    let sum: f64 = scores.iter().sum();
    assert!((sum - SUM).abs() < 0.01, "{sum}");
    for (score, expected) in scores.iter().zip(FIRST) {
        assert!((score - expected).abs() < 1e-3, "{score} in the place of {expected}");
    }
}
