//! The whole network of a file, where `VISA_MODEL` names one:
//!
//! ```sh
//! VISA_MODEL=$(models/fetch.sh) cargo test --release -p furiosa-visa-models --test whole
//! ```
//!
//! Expected texts and scores were computed once with numpy from the same file, by a program that has nothing in common with this
//! one.

use furiosa_visa_models::chip::int4::Quantised;
use furiosa_visa_models::chip::kind::Kind;
use furiosa_visa_models::chip::network::ChipModel;
use furiosa_visa_models::chip::rounded::Rounded;
use furiosa_visa_models::generate::{Sampler, Text, log_probability};
use furiosa_visa_models::gguf::Gguf;
use furiosa_visa_models::model::{Model, Next, Want, largest};
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

/// A chip with weights of a kind.
fn chip<Stored: Kind>(weights: &Weights) -> ChipModel<Stored> {
    ChipModel::new(weights, 1, false).unwrap_or_else(|refusal| panic!("{}", refusal.0))
}

/// The continuation of a prompt.
fn continued(model: &mut dyn Model, tokenizer: &Tokenizer, prompt: &str) -> String {
    model.clear();
    let mut out = Vec::new();
    let mut text = Text::new(model, tokenizer, Sampler::new(0.0, 0));
    text.extend(&tokenizer.encode(prompt).unwrap(), TOKENS, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Log-probabilities of the tokens of a text but the first.
fn scores(model: &mut dyn Model, tokens: &[u32]) -> Vec<f64> {
    let (mut scores, mut nexts) = (Vec::new(), tokens[1..].iter());
    model.score(&tokens[..tokens.len() - 1], &mut |logits| {
        scores.push(log_probability(logits, *nexts.next().unwrap()));
    });
    scores
}

/// The mean and the greatest difference of scores.
fn apart(found: &[f64], expected: &[f64]) -> (f64, f64) {
    assert_eq!(found.len(), expected.len());
    let differences = || found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    (differences().sum::<f64>() / found.len() as f64, differences().fold(0.0, f64::max))
}

#[test]
fn continuations_are_those_of_numpy() {
    let Some((weights, tokenizer)) = file() else { return };
    let mut model = Reference::new(&weights);
    for (prompt, expected) in CONTINUATIONS {
        assert_eq!(continued(&mut model, &tokenizer, prompt), expected, "{prompt}");
    }
}

#[test]
fn scores_are_those_of_numpy() {
    let Some((weights, tokenizer)) = file() else { return };
    let tokens = tokenizer.encode(SCORED).unwrap();
    assert_eq!(tokens.len(), 201);
    let mut model = Reference::new(&weights);
    let scores = scores(&mut model, &tokens);
    assert_eq!((scores.len(), model.position()), (200, 200));
    let sum: f64 = scores.iter().sum();
    assert!((sum - SUM).abs() < 0.01, "{sum}");
    for (score, expected) in scores.iter().zip(FIRST) {
        assert!((score - expected).abs() < 1e-3, "{score} in the place of {expected}");
    }
}

/// Compares a chip's continuations with numpy's, and its scores with the host's: the mean and the greatest difference.
fn continues_and_scores<Stored: Kind>((weights, tokenizer): &(Weights, Tokenizer), most: (f64, f64)) {
    let mut chip = chip::<Stored>(weights);
    for (prompt, expected) in CONTINUATIONS {
        assert_eq!(continued(&mut chip, tokenizer, prompt), expected, "{prompt}");
    }
    chip.clear();
    let tokens = tokenizer.encode(SCORED).unwrap();
    let found = scores(&mut chip, &tokens);
    let apart = apart(&found, &scores(&mut Reference::new(weights), &tokens));
    assert!(apart.0 <= most.0 && apart.1 <= most.1, "{apart:?} in the mean and at most");
    assert_eq!(chip.reports()[0].notes, [], "what users report to go wrong on chips");
}

#[test]
fn the_chip_continues_as_numpy_and_scores_as_the_host() {
    let Some(file) = file() else { return };
    // Measured: 0.007 and 0.034.
    continues_and_scores::<Rounded>(&file, (0.015, 0.07));
}

#[test]
fn weights_of_4_bits_continue_as_numpy_and_score_as_the_host() {
    let Some(file) = file() else { return };
    continues_and_scores::<Quantised>(&file, (0.001, 0.01));
}

#[test]
fn two_chips_continue_as_numpy() {
    let Some((weights, tokenizer)) = file() else { return };
    let chips = ChipModel::<Quantised>::new(&weights, 2, false);
    let mut chips = chips.unwrap_or_else(|refusal| panic!("{}", refusal.0));
    let (prompt, expected) = CONTINUATIONS[0];
    assert_eq!(continued(&mut chips, &tokenizer, prompt), expected, "{prompt}");
}

/// Texts longer than a page of the cache, and than two: other kernels read them.
#[test]
fn the_chip_reads_all_pages() {
    let Some((mut weights, tokenizer)) = file() else { return };
    weights.layers.truncate(1);
    let tokens = tokenizer.encode(&SCORED.repeat(3)).unwrap();
    assert!(tokens.len() > 520);
    let expected = scores(&mut Reference::new(&weights), &tokens[..520]);
    let rounded = scores(&mut chip::<Rounded>(&weights), &tokens[..520]);
    let exact = scores(&mut chip::<Quantised>(&weights), &tokens[..520]);
    for part in [0..250, 250..262, 262..506, 506..519] {
        for (found, most) in [(&rounded, (0.05, 0.5)), (&exact, (0.001, 0.01))] {
            let apart = apart(&found[part.clone()], &expected[part.clone()]);
            assert!(apart.0 <= most.0 && apart.1 <= most.1, "{part:?}: {apart:?} in the mean and at most");
        }
    }
}

/// Compares a prompt of one page and a part of another one, in two blocks, and what follows it. A full block has at least
/// `least` of its bound.
fn prefills<Stored: Kind>((weights, tokenizer): &(Weights, Tokenizer), least: f64) {
    let mut chip = chip::<Stored>(weights);
    let tokens = tokenizer.encode(&SCORED.repeat(2)).unwrap();
    let mut host = Reference::new(weights);
    let mut differences = Vec::new();
    for part in [&tokens[..256], &tokens[256..300]] {
        let before = chip.work().unwrap();
        let (found, expected) = (chip.prefill(part, Want::Logits), host.prefill(part, Want::Logits));
        let (Next::Logits(found), Next::Logits(expected)) = (found, expected) else { panic!("no logits") };
        let work = chip.work().unwrap() - before;
        let share = work.bound_cycles as f64 / work.cycles as f64;
        eprintln!("{} tokens: {work:?}, {:.1} % of the bound", part.len(), 100.0 * share);
        assert!(part.len() < 256 || share > least, "{share}");
        // Of the most probable token, and of the one that the text has.
        let tokens = [largest(&expected), tokens[host.position()]];
        differences.extend(
            tokens.map(|token| (log_probability(&found, token) - log_probability(&expected, token)).abs()),
        );
    }
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    assert!(mean <= 0.05 && differences.iter().all(|one| *one <= 0.5), "{differences:?}");
    // Greedy, token by token.
    let mut last = tokens[300];
    for number in 0..TOKENS {
        let expected = host.decode(last, Want::Token);
        assert_eq!(chip.decode(last, Want::Token), expected, "token {number}");
        let Next::Token(token) = expected else { panic!("no token") };
        last = token;
    }
    assert_eq!(chip.reports()[0].notes, [], "what users report to go wrong on chips");
}

#[test]
fn the_chip_prefills_in_blocks_as_the_host() {
    let Some(file) = file() else { return };
    prefills::<Rounded>(&file, 0.3);
}

#[test]
fn weights_of_4_bits_prefill_in_blocks_as_the_host() {
    let Some(file) = file() else { return };
    prefills::<Quantised>(&file, 0.25);
}
