//! Text, token by token, and the time that it took.

use crate::model::{Model, Next, Want, Work, largest};
use crate::tokenizer::{Decoder, Tokenizer};
use furiosa_visa_rules::text::grouped;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The choice of the next token.
#[derive(Debug)]
pub struct Sampler {
    temperature: f32,
    random: SmallRng,
}

impl Sampler {
    /// A choice of the most probable token if `temperature` is 0, and otherwise of draws.
    pub fn new(temperature: f32, seed: u64) -> Self {
        Self { temperature, random: SmallRng::seed_from_u64(seed) }
    }

    /// The question that the choice needs an answer to.
    pub fn want(&self) -> Want {
        if self.temperature == 0.0 { Want::Token } else { Want::Logits }
    }

    /// The token. `None` if no values are computed.
    pub fn choose(&mut self, next: &Next) -> Option<u32> {
        match next {
            Next::Nothing => None,
            Next::Token(token) => Some(*token),
            Next::Logits(logits) if self.temperature == 0.0 => Some(largest(logits)),
            Next::Logits(logits) => Some(self.draw(logits)),
        }
    }

    fn draw(&mut self, logits: &[f32]) -> u32 {
        let most = logits[largest(logits) as usize];
        let power = |logit: &f32| (f64::from(logit - most) / f64::from(self.temperature)).exp();
        let mut left = self.random.random_range(0.0..1.0) * logits.iter().map(power).sum::<f64>();
        for (token, logit) in (0..).zip(logits) {
            left -= power(logit);
            if left < 0.0 {
                return token;
            }
        }
        // Sums are rounded, so that a little may be left.
        largest(logits)
    }
}

/// The natural logarithm of a token's probability.
pub fn log_probability(logits: &[f32], token: u32) -> f64 {
    let most = f64::from(logits[largest(logits) as usize]);
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - most).exp()).sum();
    f64::from(logits[token as usize]) - most - sum.ln()
}

/// Tokens of a kind, and the work and the time of the host that they took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Tokens that were appended.
    pub tokens: usize,
    /// Work of the chip.
    pub work: Option<Work>,
    /// Time on the host.
    pub time: Duration,
}

impl Part {
    /// Runs `call`, which appends `tokens` tokens.
    pub fn run<T>(
        &mut self,
        model: &mut dyn Model,
        tokens: usize,
        call: impl FnOnce(&mut dyn Model) -> T,
    ) -> T {
        let (before, start) = (model.work(), Instant::now());
        let result = call(model);
        self.time += start.elapsed();
        self.tokens += tokens;
        if let (Some(after), Some(before)) = (model.work(), before) {
            let (more, sum) = (after - before, self.work.unwrap_or_default());
            let bound_cycles = sum.bound_cycles + more.bound_cycles;
            self.work = Some(Work { cycles: sum.cycles + more.cycles, bound_cycles });
        }
        result
    }
}

/// A text that a network continues.
pub struct Text<'a> {
    model: &'a mut dyn Model,
    tokenizer: &'a Tokenizer,
    sampler: Sampler,
    /// Tokens that are part of the text, and that the network was not given yet.
    pending: Vec<u32>,
    /// Tokens that were chosen.
    chosen: usize,
    prefill: Part,
    decode: Part,
}

impl<'a> Text<'a> {
    /// An empty text.
    pub fn new(model: &'a mut dyn Model, tokenizer: &'a Tokenizer, sampler: Sampler) -> Self {
        let (prefill, decode) = (Part::default(), Part::default());
        Self { model, tokenizer, sampler, pending: Vec::new(), chosen: 0, prefill, decode }
    }

    /// Number of tokens of the text.
    pub fn tokens(&self) -> usize {
        self.model.position() + self.pending.len()
    }

    /// Appends `prompt`, chooses at most `limit` tokens that follow, and writes their text as it comes. A special token ends it, and
    /// is no part of it.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn extend(&mut self, prompt: &[u32], limit: usize, out: &mut dyn Write) -> io::Result<()> {
        self.pending.extend(prompt);
        let want = self.sampler.want();
        let prompt = std::mem::take(&mut self.pending);
        let mut next = self.prefill.run(self.model, prompt.len(), |model| model.prefill(&prompt, want));
        let mut decoder = Decoder::default();
        for left in (0..limit).rev() {
            let chosen = self.sampler.choose(&next);
            if let Some(token) = chosen {
                let bytes = self.tokenizer.bytes(token);
                if bytes.is_empty() {
                    break;
                }
                out.write_all(decoder.push(bytes).as_bytes())?;
                out.flush()?;
            }
            self.chosen += 1;
            // Without values, one token is as good as another.
            let token = chosen.unwrap_or(0);
            if left == 0 {
                self.pending.push(token);
            } else {
                next = self.decode.run(self.model, 1, |model| model.decode(token, want));
            }
        }
        out.write_all(decoder.end().as_bytes())?;
        out.flush()
    }

    /// Tokens, cycles and rates, a line each.
    pub fn report(&self) -> String {
        let (prompt, chosen) = (self.prefill.tokens, self.chosen);
        report(
            &format!("{prompt} of the prompt, {chosen} chosen"),
            &[("prefill", self.prefill), ("decode", self.decode)],
        )
    }
}

/// The lines of a report. `tokens` tells their numbers; the rates are those of the last part that has tokens.
pub fn report(tokens: &str, parts: &[(&str, Part)]) -> String {
    let mut text = format!("tokens: {tokens}\n");
    let parts: Vec<_> = parts.iter().filter(|(_, part)| part.tokens > 0).collect();
    for (name, part) in &parts {
        let Some(work) = part.work else { continue };
        let cycles = grouped(work.cycles.div_ceil(part.tokens as u64));
        let share = 100.0 * ratio(work.bound_cycles as f64, work.cycles as f64);
        text += &format!("{name}: {cycles} cycles per token; the lower bound is {share:.1} % of them\n");
    }
    let Some((_, last)) = parts.last() else { return text };
    let all: Duration = parts.iter().map(|(_, part)| part.time).sum();
    let rate = ratio(last.tokens as f64, last.time.as_secs_f64());
    if let Some(work) = last.work {
        let chip = ratio(last.tokens as f64, work.cycles as f64 / 1e9);
        text += &format!("chip: {chip:.1} tokens per second at 1 GHz\n");
        let cycles: u64 = parts.iter().filter_map(|(_, part)| part.work).map(|work| work.cycles).sum();
        let simulated = ratio(cycles as f64 / 1e9, all.as_secs_f64());
        text += &format!(
            "simulation: {rate:.2} tokens per second, {simulated:.3e} simulated seconds per second\n"
        );
    } else {
        text += &format!("host: {rate:.2} tokens per second\n");
    }
    text
}

/// A quotient, or 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tokenizer::Vocabulary;

    /// A network that says the tokens of a script, and counts what it is given.
    pub(crate) struct Script {
        script: Vec<u32>,
        pub given: Vec<Vec<u32>>,
        wants: Vec<Want>,
        values: bool,
    }

    impl Script {
        pub fn new(script: &[u32]) -> Self {
            Self { script: script.to_vec(), given: Vec::new(), wants: Vec::new(), values: true }
        }
    }

    impl Model for Script {
        fn position(&self) -> usize {
            self.given.iter().map(Vec::len).sum()
        }

        fn capacity(&self) -> usize {
            100
        }

        fn prefill(&mut self, tokens: &[u32], want: Want) -> Next {
            self.given.push(tokens.to_vec());
            self.wants.push(want);
            if !self.values {
                return Next::Nothing;
            }
            Next::Token(self.script.remove(0))
        }

        fn decode(&mut self, token: u32, want: Want) -> Next {
            self.prefill(&[token], want)
        }

        fn clear(&mut self) {
            self.given.clear();
        }

        fn parts(&self) -> String {
            "the parts\n".into()
        }

        fn work(&self) -> Option<Work> {
            // 1000 cycles for each token, and 500 more for each call.
            let cycles = (self.position() * 1000 + self.given.len() * 500) as u64;
            Some(Work { cycles, bound_cycles: self.position() as u64 * 600 })
        }
    }

    /// Token 0 is special, 1 to 3 are `a` to `c`, and 4 and 5 are the bytes of `ä`.
    fn tokenizer() -> Tokenizer {
        let tokens = ["<|end|>", "a", "b", "c", "Ã", "¤"].map(str::to_string).to_vec();
        let special = [true, false, false, false, false, false].to_vec();
        Tokenizer::new(Vocabulary { tokens, special, merges: Vec::new() }).unwrap()
    }

    #[test]
    fn text_comes_up_to_the_limit_and_goes_on() {
        let (mut model, tokenizer) = (Script::new(&[3, 2, 4, 5, 1]), tokenizer());
        let mut text = Text::new(&mut model, &tokenizer, Sampler::new(0.0, 0));
        let mut out = Vec::new();
        text.extend(&[1, 1, 1], 4, &mut out).unwrap();
        assert_eq!((String::from_utf8_lossy(&out), text.tokens()), ("cbä".into(), 7));
        // The last token is given with the next prompt.
        text.extend(&[2], 1, &mut out).unwrap();
        assert_eq!((String::from_utf8_lossy(&out), text.tokens()), ("cbäa".into(), 9));
        assert_eq!((text.chosen, text.prefill.tokens, text.decode.tokens), (5, 5, 3));
        assert_eq!(model.given, [vec![1, 1, 1], vec![3], vec![2], vec![4], vec![5, 2]]);
        assert_eq!(model.wants, [Want::Token; 5]);
    }

    #[test]
    fn a_special_token_ends_a_text() {
        let (mut model, tokenizer) = (Script::new(&[1, 4, 0]), tokenizer());
        let mut text = Text::new(&mut model, &tokenizer, Sampler::new(0.0, 0));
        let mut out = Vec::new();
        text.extend(&[1], 9, &mut out).unwrap();
        // Half of a character was chosen.
        assert_eq!((String::from_utf8_lossy(&out), text.tokens(), text.chosen), ("a\u{fffd}".into(), 3, 2));
    }

    #[test]
    fn without_values_there_is_no_text_but_all_the_work() {
        let (mut model, tokenizer) = (Script { values: false, ..Script::new(&[]) }, tokenizer());
        let mut text = Text::new(&mut model, &tokenizer, Sampler::new(0.0, 0));
        let mut out = Vec::new();
        text.extend(&[1, 1], 5, &mut out).unwrap();
        assert_eq!((out.len(), text.chosen, text.decode.tokens), (0, 5, 4));
        let report = text.report();
        let (head, tail) = report.split_once("simulation: ").unwrap();
        assert_eq!(
            head,
            "tokens: 2 of the prompt, 5 chosen\n\
             prefill: 1 250 cycles per token; the lower bound is 48.0 % of them\n\
             decode: 1 500 cycles per token; the lower bound is 40.0 % of them\n\
             chip: 666666.7 tokens per second at 1 GHz\n"
        );
        assert!(tail.ends_with(" simulated seconds per second\n"), "{tail}");
    }

    #[test]
    fn reports_are_of_what_has_run() {
        let part = |tokens, millis| Part { tokens, work: None, time: Duration::from_millis(millis) };
        assert_eq!(
            report("3", &[("prefill", part(3, 100)), ("decode", part(4, 2000))]),
            "tokens: 3\nhost: 2.00 tokens per second\n"
        );
        assert_eq!(
            report("3", &[("prefill", part(3, 1500)), ("decode", part(0, 0))]),
            "tokens: 3\nhost: 2.00 tokens per second\n"
        );
        let work = Some(Work { cycles: 4_000_000, bound_cycles: 1_000_000 });
        assert_eq!(
            report("2", &[("score", Part { work, ..part(2, 500) })]),
            "tokens: 2\nscore: 2 000 000 cycles per token; the lower bound is 25.0 % of them\n\
             chip: 500.0 tokens per second at 1 GHz\n\
             simulation: 4.00 tokens per second, 8.000e-3 simulated seconds per second\n"
        );
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let logits = [0.0, 2_f32.ln(), f32::NEG_INFINITY, 5_f32.ln()];
        for (temperature, shares) in [(1.0, [1.0, 2.0, 0.0, 5.0]), (0.5, [1.0, 4.0, 0.0, 25.0])] {
            let mut sampler = Sampler::new(temperature, 3);
            assert_eq!(sampler.want(), Want::Logits);
            let (draws, mut counts) = (20_000, [0_u32; 4]);
            let next = Next::Logits(logits.to_vec());
            (0..draws).for_each(|_| counts[sampler.choose(&next).unwrap() as usize] += 1);
            let sum: f64 = shares.iter().sum();
            for (token, (count, share)) in counts.iter().zip(shares).enumerate() {
                let (expected, count) = (f64::from(draws) * share / sum, f64::from(*count));
                // Five standard deviations.
                assert!(
                    (count - expected).abs() <= 5.0 * expected.sqrt(),
                    "seed 3, token {token}: {count} of {expected}"
                );
            }
        }
        let draws = |seed| {
            let mut sampler = Sampler::new(1.0, seed);
            (0..64).map(|_| sampler.draw(&logits)).collect::<Vec<_>>()
        };
        assert!(draws(1) == draws(1) && draws(1) != draws(2));
        assert_eq!(Sampler::new(0.0, 0).choose(&Next::Logits(logits.to_vec())), Some(3));
        assert_eq!(Sampler::new(1e-6, 0).choose(&Next::Logits(logits.to_vec())), Some(3));
    }

    #[test]
    fn probabilities_of_all_tokens_are_one() {
        let logits = [1000.0, 999.0, -1000.0];
        let all: f64 = (0..3).map(|token| log_probability(&logits, token).exp()).sum();
        assert!((all - 1.0).abs() < 1e-12);
        assert!((log_probability(&logits, 1) - (-1.0 - (1.0 + (-1_f64).exp()).ln())).abs() < 1e-12);
        assert!((log_probability(&logits, 2) + 2000.0).abs() < 1.0);
    }
}
