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
