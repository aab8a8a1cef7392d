//! The chips' network as a [`Model`].

use super::int4::Quantised;
use super::kind::Kind;
use super::layout::*;
use super::pipeline::Pipeline;
use super::rounded::Rounded;
use super::stage::{BlockVectors, Cycles, Left, Stage, TokenVector, shares};
use super::vocabulary;
use crate::config::{GATE, HEAD, HEADS, HIDDEN, KEY_VALUE, VOCABULARY};
use crate::model::{Model, Next, Want, Work};
use crate::options::{Settings, WeightType};
use crate::refusal::Refusal;
use crate::weights::Weights;
use furiosa_visa_rules::spec::{CLUSTERS, MAC_BYTES, SLICES, TRF_BANK_ROWS};
use furiosa_visa_std::clock::bound::hbm_cycles;
use furiosa_visa_std::clock::{Model as ClockModel, Report};
use furiosa_visa_std::prelude::*;

/// The fewest tokens that are worth a block: see `prefill`.
const LEAST: usize = 16;

/// The network on simulated chips in a row, each of which has some of the layers, with the pages of its tokens.
///
/// A token passes all of them, so that several chips do not answer sooner. But tokens that are known beforehand, those of a prompt or
/// of a text that is scored, follow each other, and each chip works on another one.
pub struct ChipModel<Stored = Rounded> {
    chips: Vec<Stage<Stored>>,
    position: usize,
    /// Tokens of the last page, if it has room for more.
    tail: Vec<u32>,
    /// When each chip and each link is free, as it is and as it would be if each launch took its least cycles, and links none.
    pipelines: [Pipeline; 2],
    /// Cycles up to the end of the last launch.
    work: Work,
    clock: ClockModel,
}

impl ChipModel {
    /// Loads weights into the HBM of chips, as the command's options say.
    ///
    /// # Errors
    ///
    /// If there are more tokens than positions, or as [`ChipModel::new`].
    pub fn open(weights: &Weights, settings: Settings) -> Result<Box<dyn Model>, Refusal> {
        served(settings)?;
        let Settings { chips, shapes_only, .. } = settings;
        Ok(match settings.weights {
            WeightType::Bf16 => Box::new(ChipModel::<Rounded>::new(weights, chips, shapes_only)?),
            WeightType::Int4 => Box::new(ChipModel::<Quantised>::new(weights, chips, shapes_only)?),
        })
    }
}

impl<Stored: Kind> ChipModel<Stored> {
    /// Loads weights into the HBM of chips, those of layers as their kind says.
    ///
    /// # Errors
    ///
    /// If there is no chip, if chips get no layer, or if a matrix is of another kind of blocks than the kernels decode: with its name.
    pub fn new(weights: &Weights, chips: usize, shapes_only: bool) -> Result<Self, Refusal> {
        let all = weights.layers.len();
        let most = all.div_ceil(2);
        let Some(shares) = shares(all, chips) else {
            return Err(format!(
                "--chips: {chips} are given for {all} layers, which come to chips two by two; give {most} at most"
            )
            .into());
        };
        let chips = shares.into_iter().map(|layers| Stage::new(weights, layers, shapes_only));
        let chips = chips.collect::<Result<Vec<_>, _>>()?;
        let (pipeline, clock) = (Pipeline::new(Cycles::default().len() * chips.len()), chips[0].clock());
        Ok(Self {
            chips,
            position: 0,
            tail: Vec::new(),
            pipelines: [pipeline.clone(), pipeline],
            work: Work::default(),
            clock,
        })
    }

    /// The report of everything that each chip did.
    pub fn reports(&self) -> Vec<Report> {
        self.chips.iter().map(Stage::report).collect()
    }

    /// Begins a page if all are full.
    fn page(&mut self) {
        if self.tail.is_empty() {
            self.chips.iter_mut().for_each(Stage::page);
        }
    }

    /// Appends a token that is known from `ready` on.
    fn append(&mut self, token: u32, want: Want, ready: Work) -> Next {
        assert!(self.position < self.capacity(), "{} tokens; there is room for no more", self.position);
        self.page();
        let position = self.position;
        let bytes =
            |chip: &Stage<Stored>| needed_bytes::<Stored>(chip.layers(), position, want, chip.is_last());
        let clock = self.clock;
        self.passed(&[token], ready, |chip, vector: Option<TokenVector>| {
            (chip.token((token, position), vector, want), hbm_cycles(bytes(chip).into(), clock))
        })
    }

    /// Passes tokens that are known from `ready` on through all chips. `launch` returns what a chip leaves with its cycles, and the
    /// least that it can take. The answer is that of the last chip.
    fn passed<Vectors: M>(
        &mut self,
        tokens: &[u32],
        ready: Work,
        launch: impl Fn(&mut Stage<Stored>, Option<HostTensor<f32, Vectors>>) -> ((Left<Vectors>, Cycles), u64),
    ) -> Next {
        let (mut vectors, mut answer) = (None, Next::Nothing);
        let (mut cycles, mut least) = (Vec::new(), Vec::new());
        for chip in &mut self.chips {
            let ((left, taken), least_taken) = launch(chip, vectors.take());
            cycles.extend(taken);
            least.extend([0, least_taken, 0]);
            match left {
                Left::Answer(next) => answer = next,
                Left::Vectors(next) => vectors = Some(next),
            }
        }
        let [real, bound] = &mut self.pipelines;
        let cycles = real.pass(ready.cycles, &cycles);
        self.work = Work { cycles, bound_cycles: bound.pass(ready.bound_cycles, &least) };
        self.position += tokens.len();
        self.tail.extend(tokens);
        if self.position.is_multiple_of(S::SIZE) {
            self.tail.clear();
        }
        answer
    }

    /// Appends tokens to the last page, or to a new one, as a block. Tokens that the page has already are computed again.
    ///
    /// # Panics
    /// If the page has no room for them, or the model has none.
    fn append_block(&mut self, tokens: &[u32], want: Want, ready: Work) -> Next {
        let first = self.position - self.tail.len();
        assert!(first < self.capacity(), "{first} tokens; there is room for no more");
        let all = [&self.tail[..], tokens].concat();
        assert!(all.len() <= S::SIZE, "{} tokens in a page", all.len());
        self.page();
        let (place, clock) = ((self.position, tokens.len()), self.clock);
        let needed =
            |chip: &Stage<Stored>| Needed::of_block::<Stored>(chip.layers(), place, want, chip.is_last());
        self.passed(tokens, ready, |chip, vectors: Option<BlockVectors>| {
            (chip.block(&all, vectors, want), needed(chip).cycles(clock))
        })
    }
}

/// The least work of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needed {
    /// Bytes of HBM.
    bytes: u64,
    /// Products of two bf16.
    products: u64,
}

impl Needed {
    /// For a block of so many tokens, `position` tokens behind the first one: all weights once; and for each token the
    /// products of all weights, and those of the keys and values that it sees. Only the last token has logits.
    fn of_block<Stored: Kind>(
        layers: usize,
        (position, tokens): (usize, usize),
        want: Want,
        is_last: bool,
    ) -> Self {
        let bytes = needed_bytes::<Stored>(layers, position, want, is_last);
        let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
        let seen: usize = (position + 1..=position + tokens).sum();
        let vocabulary = if is_last && want != Want::Nothing { VOCABULARY * HIDDEN } else { 0 };
        let products = layers * (tokens * weights + 2 * HEADS * HEAD * seen) + vocabulary;
        Self { bytes, products: products as u64 }
    }

    fn cycles(self, model: ClockModel) -> u64 {
        let products_per_cycle = CLUSTERS * SLICES * TRF_BANK_ROWS * MAC_BYTES / size_of::<bf16>();
        hbm_cycles(self.bytes.into(), model).max(self.products / products_per_cycle as u64)
    }
}

/// Refuses settings that no kernel is made for.
pub(crate) fn served(settings: Settings) -> Result<(), Refusal> {
    let (tokens, most) = (settings.capacity, R::SIZE);
    if tokens > most {
        return Err(format!(
            "the text would have {tokens} tokens; the chip has room for {most}; give fewer by --tokens, a shorter text, or \
             `--reference`"
        )
        .into());
    }
    Ok(())
}

/// Bytes of HBM that a token needs on a chip: all weights, and the keys and values of the tokens before it.
fn needed_bytes<Stored: Kind>(layers: usize, position: usize, want: Want, is_last: bool) -> u64 {
    let weights = HIDDEN * (2 * HIDDEN + 2 * KEY_VALUE + 3 * GATE);
    let layer = Stored::layer_bytes(weights) + 4 * 2 * KEY_VALUE * position;
    let has_logits = is_last && want != Want::Nothing;
    let vocabulary = if has_logits { vocabulary::bytes(VOCABULARY * HIDDEN) } else { 0 };
    (layers * layer + vocabulary) as u64
}

impl<Stored: Kind> Model for ChipModel<Stored> {
    fn position(&self) -> usize {
        self.position
    }

    fn capacity(&self) -> usize {
        R::SIZE
    }

    /// Appends tokens in blocks, if a page gets at least 16 of them, and one by one otherwise.
    ///
    /// A block in the first page takes the chip as long as 2 tokens one by one, or 2.5 with weights of 4 bits, however many tokens it has; each page before it
    /// adds about 6 thousand cycles to a layer. The simulation computes 256 tokens, which takes as long as about 7 one by
    /// one. But activations of a block are rounded to bf16, and those of a token alone are not: short prompts are worth their
    /// time.
    fn prefill(&mut self, tokens: &[u32], want: Want) -> Next {
        assert!(!tokens.is_empty(), "there is no token to append");
        let ready = self.work;
        let mut rest = tokens;
        let mut next = Next::Nothing;
        while !rest.is_empty() {
            let room = S::SIZE - self.position % S::SIZE;
            let (page, behind) = rest.split_at(rest.len().min(room));
            let want = if behind.is_empty() { want } else { Want::Nothing };
            if page.len() < LEAST {
                let last = page.len() - 1;
                for (number, token) in page.iter().enumerate() {
                    next = self.append(*token, if number == last { want } else { Want::Nothing }, ready);
                }
            } else {
                next = self.append_block(page, want, ready);
            }
            rest = behind;
        }
        next
    }

    fn decode(&mut self, token: u32, want: Want) -> Next {
        self.append(token, want, self.work)
    }

    fn score(&mut self, tokens: &[u32], each: &mut dyn FnMut(&[f32])) {
        let ready = self.work;
        for &token in tokens {
            if let Next::Logits(logits) = self.append(token, Want::Logits, ready) {
                each(&logits);
            }
        }
    }

    fn clear(&mut self) {
        self.chips.iter_mut().for_each(Stage::clear);
        self.tail.clear();
        self.position = 0;
    }

    fn parts(&self) -> String {
        let reports = self.reports();
        let parts = |report: &Report| report.by_part().to_string();
        if let [one] = &reports[..] {
            return parts(one);
        }
        let all = reports.iter().enumerate();
        all.map(|(number, report)| format!("\nchip {number} of {}\n{}", reports.len(), parts(report)))
            .collect()
    }

    fn work(&self) -> Option<Work> {
        Some(self.work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_std::clock::Profile;

    #[test]
    fn the_last_position_is_served_and_the_next_one_is_not() {
        let settings =
            |capacity| Settings { weights: WeightType::Bf16, chips: 1, shapes_only: true, capacity };
        assert_eq!(served(settings(2048)), Ok(()));
        assert!(served(settings(2049)).is_err_and(|refusal| refusal.0.contains("2049 tokens")));
    }

    #[test]
    fn a_block_needs_products_of_each_token_and_each_weight_once() {
        // 9 heads of 64 see 1 + 2 + 3 keys, and as many values.
        let one = Needed::of_block::<Rounded>(1, (0, 3), Want::Nothing, true);
        assert_eq!(one, Needed { bytes: 2 * 3_538_944, products: 3 * 3_538_944 + 2 * 9 * 64 * (1 + 2 + 3) });
        let full = Needed::of_block::<Rounded>(30, (0, 256), Want::Token, true);
        let seen = 256 * 257 / 2;
        let products = 30 * (256 * 3_538_944 + 2 * 576 * seen) + 49_152 * 576;
        assert_eq!(full.products, products);
        // 131 072 in a cycle: longer than HBM needs for the weights.
        assert_eq!(full.cycles(ClockModel::new(Profile::Detailed)), products / 131_072);
        let few = Needed::of_block::<Rounded>(30, (0, 8), Want::Token, true);
        assert!(few.cycles(ClockModel::new(Profile::Detailed)) > few.products / 131_072);
    }

    #[test]
    fn a_token_needs_each_weight_once() {
        // 49 152 rows of 576: of 32 weights, 32 bytes of codes and a scale.
        let vocabulary = 49_152 * 18 * (32 + 2);
        // 30 layers of 3 538 944 weights.
        assert_eq!(needed_bytes::<Rounded>(30, 0, Want::Token, true), 30 * 2 * 3_538_944 + vocabulary);
        // Another chip has the vocabulary.
        assert_eq!(needed_bytes::<Rounded>(14, 0, Want::Token, false), 14 * 2 * 3_538_944);
        let block = Needed::of_block::<Rounded>(1, (0, 3), Want::Token, false);
        assert_eq!(block, Needed::of_block::<Rounded>(1, (0, 3), Want::Nothing, true));
        // Of 32 of them, 16 bytes of codes, a scale and a minimum.
        assert_eq!(needed_bytes::<Quantised>(30, 0, Want::Token, true), 30 * 110_592 * (16 + 4) + vocabulary);
        // Ten tokens before it: keys and values of 192 f32 in each layer.
        assert_eq!(
            needed_bytes::<Rounded>(30, 10, Want::Nothing, true),
            2 * 30 * 3_538_944 + 10 * 30 * 2 * 192 * 4
        );
    }
}
