//! The text of a chain: contractions, what follows their sums, and functions of rows between them.

use super::MOST;
use super::pair::{Pair, PairOp};
use super::rows::Rows;
use crate::epilogue::Step;
use crate::problem::ProblemError;

/// A contraction with what is around it.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    /// The contraction.
    pub einsum: &'a str,
    /// The function of rows in front of it.
    pub rows: Option<&'a str>,
    /// The sum or the product in front of that.
    pub pair: Option<PairOp>,
    /// The factor of that function, if it is a softmax with one.
    pub scale: Option<f32>,
    /// Steps behind the sums.
    pub steps: String,
}

/// A sum or a product, and a function of rows, behind the last contraction.
#[derive(Debug)]
pub(super) struct End<'a> {
    /// The function of rows.
    pub rows: Option<&'a str>,
    /// The sum or the product in front of it.
    pub pair: Option<PairOp>,
    /// The factor of that function, if it is a softmax with one.
    pub scale: Option<f32>,
}

/// Words between two contractions.
#[derive(Debug, Default)]
struct Between<'a> {
    steps: Vec<&'a str>,
    pair: Option<(&'a str, PairOp)>,
    rows: Option<&'a str>,
}

impl<'a> Between<'a> {
    fn add(&mut self, word: &'a str) -> Result<(), ProblemError> {
        let refuse = |text: String| Err(ProblemError(text));
        let (is_of_rows, pair) = (Rows::is_named(word), Pair::op(word));
        match self.rows.or(self.pair.filter(|_| !is_of_rows).map(|(word, _)| word)) {
            Some(before) if is_of_rows || pair.is_some() => refuse(format!(
                "chain: `{word}` follows `{before}` without a contraction between them; leave one of them out"
            )),
            Some(before) => refuse(format!(
                "chain: `{word}` follows `{before}`, but what follows sums is in the pass that makes them; put it in front of \
                 `{before}`, or behind the next contraction"
            )),
            None if is_of_rows => {
                self.rows = Some(word);
                Ok(())
            }
            None if pair.is_some() => {
                self.pair = pair.map(|op| (word, op));
                Ok(())
            }
            None if Step::is_named(word) => {
                self.steps.push(word);
                Ok(())
            }
            None => refuse(format!(
                "chain: `{word}` is no part; parts are contractions of two operands, as `mk,fk->mf`, steps behind them (bias, \
                 relu, silu, gelu, sigmoid, tanh, exp, scale=0.125), add and mul of two tensors, and softmax, rmsnorm and layernorm in \
                 front of one"
            )),
        }
    }

    /// Takes the factor of a softmax out of the steps.
    fn scale(&mut self) -> Option<f32> {
        let is_softmax = self.rows.is_some_and(|word| word.starts_with("softmax"));
        let factor =
            self.steps.last().filter(|_| is_softmax && self.pair.is_none())?.strip_prefix("scale=")?;
        let factor = factor.parse().ok().filter(|factor: &f32| factor.is_finite() && *factor > 0.0)?;
        self.steps.pop();
        Some(factor)
    }
}

/// Reads the contractions of a chain, and what is behind the last one.
pub(super) fn stages(text: &str) -> Result<(Vec<Stage<'_>>, End<'_>), ProblemError> {
    let refuse = |text: String| Err(ProblemError(text));
    let mut stages: Vec<Stage<'_>> = Vec::new();
    let mut between = Between::default();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        if !part.contains("->") {
            part.split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .try_for_each(|word| between.add(word))?;
            continue;
        }
        let scale = between.scale();
        let Between { steps, pair, rows } = core::mem::take(&mut between);
        let pair_word = pair.map(|(word, _)| word);
        match (stages.last_mut(), steps.first().copied().or(pair_word)) {
            (Some(before), _) => before.steps = steps.join(","),
            (None, Some(step)) => {
                return refuse(format!(
                    "chain: `{step}` is in front of the first contraction, but follows sums; put it behind a contraction"
                ));
            }
            (None, None) => {}
        }
        let pair = pair.map(|(_, op)| op);
        stages.push(Stage { einsum: part, rows, pair, scale, steps: String::new() });
    }
    let scale = between.scale();
    let Between { steps, pair, rows } = between;
    let end = End { rows, pair: pair.map(|(_, op)| op), scale };
    let count = stages.len();
    let of_rows = stages.iter().filter(|stage| stage.rows.is_some()).count();
    let functions = of_rows + usize::from(end.rows.is_some() || end.pair.is_some());
    if count == 0 || count > MOST || count + functions < 2 {
        return refuse(format!(
            "chain: `{text}` has {count} contraction{}{}, and a chain has 2 to {MOST}, or one with a norm in front or a part behind \
             it; write for example `mk,fk->mf; mf,nf->mn`",
            if count == 1 { "" } else { "s" },
            if count == 1 { " and no part around it" } else { "" },
        ));
    }
    if let Some(last) = stages.last_mut() {
        last.steps = steps.join(",");
    }
    Ok((stages, end))
}
