//! Chains: several contractions one after another as one kernel, in which a result goes through HBM or stays in DM.
//!
//! ```text
//!   Chain ──▶ search of each contraction ──▶ plans by the layouts of what arrives and leaves ──▶ join ──▶ Clock
//!                                                     └──────── ways between two layouts ────────┘
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`boundary`] | layouts of what arrives and of what leaves, and ways between them |
//! | [`rows`] | softmax and norms between contractions, and around them |
//! | [`pair`] | a sum or a product with another tensor behind a contraction |
//! | [`kernel`] | one list of commands, with addresses that do not collide |
//! | [`join`] | the plans that are best together |
//! | [`source`] | the kernel as text |
//!
//! A result stays in DM if the contraction behind it is the only one that uses it, if all of it fits DM at once, and if that
//! contraction has the operand in one tile, or in one block of weights. It is brought to the layout of the operand by one of
//! the [ways](crate::route) between them: by nothing at all, if both are equal. What follows sums is in the pass that makes
//! them. Functions of rows, and sums and products with another tensor, have passes of their own on the way, in a layout that fits
//! them.
//!
//! The proof: each contraction's plans are those of its search. The join is the best over these sets by the sum of the
//! parts, and the clock runs the best few of them: another plan of a contraction, which is slow alone, may be better in a
//! chain. The gap is that to [`Chain::bounds`].
//!
//! ```
//! use furiosa_visa_plan::chain::{Chain, plan_chain};
//! use furiosa_visa_plan::Search;
//! use furiosa_visa_rules::scalar::ElementType::Bf16;
//! let chain = Chain::new("mk,fk->mf; mf,nf->mn", "M=16,K=64,F=32,N=16", Bf16, Some(Bf16))?;
//! let outcome = plan_chain(&chain, &Search::default());
//! let best = &outcome.kernels[0];
//! assert!(outcome.apart.is_some_and(|apart| best.cycles <= apart));
//! # Ok::<(), furiosa_visa_plan::ProblemError>(())
//! ```

pub mod boundary;
pub mod join;
pub mod kernel;
pub mod pair;
mod parse;
pub mod rows;
pub mod source;

use crate::problem::{Problem, ProblemError};
use furiosa_visa_clock::bound::{self, Bounds, Limit, Product, ProductAxis};
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
pub use join::{ChainOutcome, plan_chain};
pub use kernel::ChainKernel;
pub use pair::Pair;
use pair::PairOp;
use parse::Stage;
use rows::RowKind;
pub use rows::Rows;
use rows::passes::MADE;

/// The most contractions of a chain.
pub const MOST: usize = 8;

/// Several contractions, of which each but the first one takes an earlier result.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The contractions.
    pub problems: Vec<Problem>,
    /// The contraction whose result each operand is. `None`: it is a tensor in HBM of its own.
    pub sources: Vec<[Option<usize>; 2]>,
    /// The function of rows in front of each contraction: of the result of the one before, which has its letters behind it,
    /// or of the first operand of the first contraction. And that behind the last contraction.
    pub rows: Vec<Option<Rows>>,
    /// The sum or the product with another tensor in front of each function of rows, or where that would be. As many.
    pub pairs: Vec<Option<Pair>>,
    /// All axes.
    pub axes: Axes,
}

impl Chain {
    /// Reads a chain: `mk,fk->mf; silu; mf,nf->mn` with the sizes `M=128, K=1024, F=4096, N=1024`. An operand with the letters
    /// of an earlier result is that result; of several ones, the last. Between two contractions may be what follows the sums of
    /// the first one, and then a [function of rows](Rows): `scale=0.125, softmax:k`. In front of the first contraction, a
    /// function of rows is of its first operand. `add` or `mul` in front of a function of rows, or alone, takes another tensor, see
    /// [`Pair`]. Both may be behind the last contraction. `output` is the type of the last result. `None`: the type of the sums. Other results have the type of operands,
    /// but for those that a function of rows takes: they stay sums. What a part behind the last contraction makes is of bf16.
    ///
    /// # Errors
    /// Refuses what is no contraction and no such part, a contraction that takes no earlier result, a result that nobody takes,
    /// letters of a result in another order, and types whose sums are no operands. And what [`Problem::with_epilogue`] and
    /// [`Rows::new`] refuse.
    pub fn new(
        text: &str,
        sizes: &str,
        element: ElementType,
        output: Option<ElementType>,
    ) -> Result<Self, ProblemError> {
        let refuse = |text: String| Err(ProblemError(text));
        let (stages, behind) = parse::stages(text)?;
        let has_end = behind.rows.is_some() || behind.pair.is_some();
        if let Some(other) = output.filter(|output| has_end && *output != MADE) {
            return refuse(format!(
                "out: what is behind the last contraction makes {MADE}, and not {other}; write `--out {MADE}`"
            ));
        }
        let axes = Axes::parse(sizes).map_err(|error| ProblemError(format!("axes: {error}")))?;
        let own_letters = |part: &str| -> String { part.to_ascii_uppercase() };
        let has = |stage: &Stage, name: &str| own_letters(stage.einsum).contains(name);
        let unused =
            axes.as_slice().iter().find(|axis| !stages.iter().any(|stage| has(stage, axis.name.as_str())));
        if let Some(unused) = unused {
            return refuse(format!(
                "axes: no contraction of `{text}` has an axis `{}`; leave its size out",
                unused.name
            ));
        }
        let mut problems: Vec<Problem> = Vec::new();
        let mut sources: Vec<[Option<usize>; 2]> = Vec::new();
        let (mut rows, mut pairs): (Vec<Option<Rows>>, Vec<Option<Pair>>) = (Vec::new(), Vec::new());
        for (number, stage) in stages.iter().enumerate() {
            let part = stage.einsum;
            let own = axes.as_slice().iter().filter(|axis| has(stage, axis.name.as_str()));
            let sizes: Vec<String> = own.map(|axis| format!("{}={}", axis.name, axis.size)).collect();
            let next = stages.get(number + 1);
            let read = |element, output, steps: &str| {
                Problem::with_epilogue(part, &sizes.join(","), element, output, steps)
            };
            // The type of sums is refused here first, with the reason of the chain.
            let plain = read(element, None, "")?;
            let sum = plain.sum();
            let is_operand = next.is_some() || stage.rows.is_some() || has_end;
            if is_operand && (sum, element) != (ElementType::F32, ElementType::Bf16) {
                return refuse(match stage.rows {
                    Some(word) => format!(
                        "dtype: `{word}` makes bf16, which `{part}` does not multiply with {element}; take bf16"
                    ),
                    None => format!(
                        "dtype: sums of {element} are {sum}, which are not stored as {element}, so that `{part}` makes no \
                         operand of what follows; take bf16"
                    ),
                });
            }
            let tensor = problems.last().map_or_else(|| names_of(&plain, 0), |before| names_of(before, 2));
            rows.push(rows_of(stage.rows, stage.scale, &tensor, &axes)?);
            pairs.push(stage.pair.map(|op| pair_of(op, &problems)));
            let after = next.map_or((behind.pair, behind.rows), |next| (next.pair, next.rows));
            let stored = match after {
                (None, None) if next.is_none() => output,
                (None, Some(_)) => Some(ElementType::F32),
                _ => Some(element),
            };
            let problem = read(element, stored, &stage.steps)?;
            sources.push(of_operands(&problem, &problems)?);
            problems.push(problem);
        }
        let last = problems.last().map_or_else(Vec::new, |last| names_of(last, 2));
        rows.push(rows_of(behind.rows, behind.scale, &last, &axes)?);
        pairs.push(behind.pair.map(|op| pair_of(op, &problems)));
        let chain = Self { problems, sources, rows, pairs, axes };
        for (number, problem) in chain.problems.iter().enumerate() {
            let is_paired = chain.pairs.get(number + 1).and_then(Option::as_ref).and_then(|pair| pair.source);
            if number > 0 && chain.sources[number] == [None, None] && is_paired.is_none() {
                return refuse(format!(
                    "chain: no operand of `{}` is the result of a contraction before it; give an operand the letters of one: {}",
                    problem.einsum,
                    chain.results(number)
                ));
            }
        }
        for (number, problem) in chain.problems.iter().enumerate() {
            if number + 1 < chain.problems.len() && chain.uses(number) == 0 {
                return refuse(format!(
                    "chain: no contraction behind `{}` takes its result `{}`; leave it out, or plan it alone",
                    problem.einsum,
                    letters_of(problem, 2)
                ));
            }
        }
        Ok(chain)
    }

    /// The results of the first contractions, for messages.
    fn results(&self, count: usize) -> String {
        let names: Vec<String> =
            self.problems[..count].iter().map(|problem| format!("`{}`", letters_of(problem, 2))).collect();
        names.join(", ")
    }

    /// Number of operands that are the result of a contraction, and of sums and products with it.
    fn uses(&self, number: usize) -> usize {
        let pairs = self.pairs.iter().flatten().filter(|pair| pair.source == Some(number)).count();
        pairs + self.sources.iter().flatten().filter(|source| **source == Some(number)).count()
    }

    /// Tells if something is between a contraction and the result that it takes.
    pub fn has_function(&self, number: usize) -> bool {
        self.rows[number].is_some() || self.pairs[number].is_some()
    }

    /// Tells if something is behind the last contraction.
    pub fn has_end(&self) -> bool {
        self.has_function(self.problems.len())
    }

    /// Element type of the last result.
    pub fn output(&self) -> Option<ElementType> {
        self.problems.last().map(|last| if self.has_end() { MADE } else { last.output })
    }

    /// Parts between a contraction and the result that it takes, as they are given.
    pub fn function(&self, number: usize) -> String {
        let pair = self.pairs[number].as_ref().map(|pair| pair.name().to_string());
        let parts: Vec<String> = pair.into_iter().chain(self.rows[number].as_ref().map(Rows::text)).collect();
        parts.join(", ")
    }

    /// The operand of a contraction that may arrive in DM: the result of the one before, which nobody else uses, or what a
    /// function of rows makes for the first contraction.
    pub fn arriving(&self, number: usize) -> Option<usize> {
        let Some(before) = number.checked_sub(1) else { return self.rows[number].as_ref().map(|_| 0) };
        let operand = self.sources[number].iter().position(|source| *source == Some(before))?;
        (self.uses(before) == 1).then_some(operand)
    }

    /// Tells if the result of a contraction may stay in DM: until a function of rows, or the next contraction.
    pub fn may_stay(&self, number: usize) -> bool {
        let next = number + 1;
        self.has_function(next) || next < self.problems.len() && self.arriving(next).is_some()
    }

    /// Source of a function of rows in front of a contraction, or the result of the one before: the contraction and its
    /// tensor.
    pub fn before(&self, number: usize) -> (usize, usize) {
        number.checked_sub(1).map_or((0, 0), |before| (before, 2))
    }

    /// The letters of a tensor of a contraction.
    pub fn letters(&self, number: usize, tensor: usize) -> String {
        letters_of(&self.problems[number], tensor)
    }

    /// The chain as text.
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (number, problem) in self.problems.iter().enumerate() {
            let steps =
                number.checked_sub(1).map_or(String::new(), |before| self.problems[before].epilogue_text());
            let steps = (!steps.is_empty()).then(|| steps.replace(',', ", "));
            let function = Some(self.function(number)).filter(|function| !function.is_empty());
            let between: Vec<String> = steps.into_iter().chain(function).collect();
            if !between.is_empty() {
                parts.push(between.join(", "));
            }
            parts.push(problem.einsum.clone());
        }
        let last = self.problems.last().map_or(String::new(), Problem::epilogue_text);
        let end = [last.replace(',', ", "), self.function(self.problems.len())];
        let end: Vec<String> = end.into_iter().filter(|part| !part.is_empty()).collect();
        if !end.is_empty() {
            parts.push(end.join(", "));
        }
        parts.join("; ")
    }

    /// The axes as `axes!` has them.
    pub fn axes_text(&self) -> String {
        let axes: Vec<String> =
            self.axes.as_slice().iter().map(|axis| format!("{} = {}", axis.name, axis.size)).collect();
        axes.join(", ")
    }

    /// Cycles that no kernel for the chain goes below, by limit: all products, and the bytes of the tensors that are in HBM
    /// before and behind the kernel. Results between contractions take nothing.
    pub fn bounds(&self, profile: Profile) -> Bounds {
        let starts = 2 * spec::DMA_STARTUP_CYCLES;
        let products =
            self.problems.iter().map(|problem| problem.bounds(profile).of(Limit::Multipliers) - starts);
        let bits = self.output().map_or(0, ElementType::bits) as u64;
        let mut bytes = self.problems.last().map_or(0, |problem| problem.elements(2) as u64 * bits / 8);
        bytes += self.problems.iter().map(Problem::bias_bytes).sum::<u64>();
        let others = self
            .pairs
            .iter()
            .enumerate()
            .filter(|(_, pair)| pair.as_ref().is_some_and(|pair| pair.source.is_none()));
        bytes += others.map(|(number, _)| self.problems[number - 1].bytes(2)).sum::<u64>();
        for (problem, sources) in self.problems.iter().zip(&self.sources) {
            bytes += (0..2).filter(|&k| sources[k].is_none()).map(|k| problem.bytes(k)).sum::<u64>();
        }
        // A product that moves as many bytes, and multiplies next to nothing.
        let [first, second, result] = [ElementType::I8; 3];
        let moved = Product { axes: vec![ProductAxis::batch(bytes / 3)], first, second, result, chips: 1 };
        bound::problem(&moved, Model::new(profile)).with(Limit::Multipliers, starts + products.sum::<u64>())
    }
}

/// A function of rows of a tensor. The passes of a softmax have a multiplier of their own.
fn rows_of(
    word: Option<&str>,
    scale: Option<f32>,
    tensor: &[String],
    axes: &Axes,
) -> Result<Option<Rows>, ProblemError> {
    let Some(word) = word else { return Ok(None) };
    let own = Rows::new(word, tensor, axes)?;
    Ok(Some(match scale {
        Some(scale) => Rows { kind: RowKind::Softmax { scale }, ..own },
        None => own,
    }))
}

/// A sum or a product of the last result with an earlier one that has its letters, or with a tensor in HBM.
fn pair_of(op: PairOp, problems: &[Problem]) -> Pair {
    let tensor = problems.last().map_or_else(Vec::new, |before| names_of(before, 2));
    let earlier = &problems[..problems.len().saturating_sub(1)];
    Pair { op, source: earlier.iter().rposition(|own| names_of(own, 2) == tensor), tensor }
}

/// The names of the axes of a tensor, outermost first.
fn names_of(problem: &Problem, tensor: usize) -> Vec<String> {
    problem.tensors[tensor].iter().map(|&axis| problem.axes[axis].name.clone()).collect()
}

/// The letters of a tensor.
fn letters_of(problem: &Problem, tensor: usize) -> String {
    problem.tensors[tensor].iter().map(|&axis| problem.axes[axis].name.to_lowercase()).collect()
}

/// The earlier contractions whose results the operands of a problem are.
fn of_operands(problem: &Problem, before: &[Problem]) -> Result<[Option<usize>; 2], ProblemError> {
    let mut found = [None; 2];
    for (operand, source) in found.iter_mut().enumerate() {
        let own = letters_of(problem, operand);
        let sorted = |text: &str| {
            let mut letters: Vec<char> = text.chars().collect();
            letters.sort_unstable();
            letters
        };
        *source = before.iter().rposition(|other| letters_of(other, 2) == own);
        let other =
            before.iter().map(|other| letters_of(other, 2)).find(|other| sorted(other) == sorted(&own));
        if let (None, Some(other)) = (&source, other) {
            return Err(ProblemError(format!(
                "chain: the operand `{own}` of `{}` has the letters of the result `{other}` in another order; write `{other}` \
                 in both, or give the operand a letter of its own",
                problem.einsum
            )));
        }
    }
    Ok(found)
}
