//! A small vision transformer that reads handwritten digits: everything from pixels to scores on the chip.
//!
//! ```text
//!   image    T = 8 tokens, a row of 8 pixels each; x: 32 numbers per token
//!
//!   twice    n = norm(x)     q, k, v = n · sheets       scores  q · k  of 4 heads     ┐
//!                            softmax over the 8 keys    heads   Σ shares · v          │ attention
//!                            x += heads · sheet                                       ┘
//!            n = norm(x)     x += max(0, n · 2 sheets) · 2 sheets                       hidden layer of 64
//!   scores   mean over tokens of norm(x) · sheet
//! ```
//!
//! A slice has an image, so 512 images are classified by one launch. The sizes fit the engines: a token is a packet of
//! 32 bf16; 8 keys are the 8 rows of the register file; a packet of 4 heads of 8 is cut into 4 columns, so that one
//! step gives the scores of all heads. Every matrix is made of sheets of 32 x 32. The hidden layer has ReLU, which the
//! clip stage computes at 8 lanes; a GELU would take 4 lanes, half the rate. The norm divides by the root of the mean
//! square; one that subtracts the mean, too, would take another pass.
//!
//! The two kernels differ in the ways of weights and results:
//!
//! ```text
//!   copied   each of 512 slices reads all sheets from HBM; rows of 128 bytes go back
//!   shared   8 slices share a copy, and the Switch Engine hands it round, straight into their register files;
//!            two slices join their rows to 256 bytes before they go back
//! ```
//!
//! The report of the first one asks for that: both moves are bound by HBM, and take most of its time.
//!
//! The weights were trained by `data/train_transformer.py` on other images than these. See `data/README.md` for credit
//! and licence.
//!
//! Run it: `cargo run --release --example 12_transformer`

use furiosa_visa_std::clock::Report;
use furiosa_visa_std::kernels::{load_operand, load_weights, rms_norm, softmax};
use furiosa_visa_std::prelude::*;
use safetensors::SafeTensors;
use std::error::Error;
use std::time::Instant;

axes![N = 512, G = 64, I = 8, T = 8, U = 8, S = 18, O = 32, D = 32, FILE = 65];

type Cluster = m![G / 32];
/// An image per slice. The images of a group `G` stand side by side.
type Slice = m![G % 32, I];

/// The 32 outputs `O` of a product in flits of 8. A flit is also a head of attention.
type Steps = m![T, O / 8];
type Lanes = m![O % 8];

/// Inputs `D` of a token: 8 pixels, then a one at the place that says which row it is; the rest is 0.
type Images = HbmTensor<bf16, m![1], m![G, I, T, D]>;
/// `S = 18` sheets of weights, as they lie in HBM: one copy for all slices, or a copy for each group of eight.
type Sheets = HbmTensor<bf16, m![1], m![S, O, D]>;
type SheetsToShare = HbmTensor<bf16, m![1], m![G, O / 8, D / 16, S, O % 8, D % 16]>;
/// Ten scores; the other 22 are 0.
type Scores = HbmTensor<f32, m![1], m![G, I, O]>;

type Dm<E, Element> = DmTensor<E, m![1], Cluster, Slice, Element>;
type Vrf<Element> = VrfTensor<f32, m![1], Cluster, Slice, Element>;
/// One or more sheets in the register file: 8 outputs side by side, 4 groups of them after each other.
type Weights<Own> = TrfTensor<bf16, m![1], Cluster, Slice, m![O % 8], m![{ Own }, O / 8, D]>;
type Stream<'l, Time, Packet> =
    AccumulationTensor<'l, { Tu::Main }, f32, m![1], Cluster, Slice, Time, Packet>;

/// Where weights are in DM, and how they get into the register file of every slice.
trait Source {
    /// `COUNT` sheets from `first` on; `Own` is `m![S = COUNT]`.
    fn load<Own: M, const COUNT: usize>(
        &self,
        ctx: &mut Context,
        first: usize,
        half: TrfAddress,
    ) -> Weights<Own>;
}

/// Every slice has all sheets.
struct InEverySlice(Dm<bf16, m![S, O, D]>);

impl Source for InEverySlice {
    fn load<Own: M, const COUNT: usize>(
        &self,
        ctx: &mut Context,
        first: usize,
        half: TrfAddress,
    ) -> Weights<Own> {
        let sheets = self.0.view().tile::<m![S], COUNT, m![{ Own } # 18, O, D]>(first);
        (ctx.sub.begin(sheets).fetch::<bf16, m![O % 8, { Own }, O / 8], m![D]>())
            .collect::<m![O % 8, { Own }, O / 8, D / 16], m![D % 16]>()
            .to_trf(half)
    }
}

/// Each of eight slices has an eighth: of every row that goes to one row of the register file, one flit.
struct InEightSlices(DmTensor<bf16, m![1], Cluster, m![G % 32, O / 8, D / 16], m![S, O % 8, D % 16]>);

impl Source for InEightSlices {
    fn load<Own: M, const COUNT: usize>(
        &self,
        ctx: &mut Context,
        first: usize,
        half: TrfAddress,
    ) -> Weights<Own> {
        let sheets = self.0.view().tile::<m![S], COUNT, m![{ Own } # 18, O % 8, D % 16]>(first);
        (ctx.sub.begin(sheets).fetch::<bf16, m![O % 8, { Own }], m![D % 16]>())
            // The flits of the eight slices of a ring, one after the other, come to all of them.
            .switch_to::<Slice, m![O % 8, { Own }, O / 8, D / 16]>()
            .collect::<m![O % 8, { Own }, O / 8, D / 16], m![D % 16]>()
            .to_trf(half)
    }
}

/// `y[t, o] = Σ x[t, d] · w[o, d]`, for the outputs of one or two sheets.
fn product<'l, Own: M>(
    ctx: &'l mut Context,
    x: &'l Dm<bf16, m![T, D]>,
    weights: &Weights<Own>,
) -> Stream<'l, m![T, { Own }, O / 8], Lanes> {
    (ctx.main.begin(x.view()).fetch::<bf16, m![T], m![D]>().collect::<m![T, D / 16], m![D % 16]>())
        .align::<m![T, { Own }, O / 8], m![D], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![T, { Own }, O / 8], Lanes>(AccumulationKind::Interleaved)
}

/// A sum of products and of what was there before.
fn added<Time: M>(sums: Stream<'_, Time, Lanes>, before: &Vrf<m![T, O]>) -> Dm<f32, m![T, O]> {
    sums.vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Add, before)
        .vector_final()
        .commit(AUTO)
}

/// Each token divided by the root of its mean square.
fn norm(ctx: &mut Context, x: &Dm<f32, m![T, O]>) -> Dm<bf16, m![T, D]> {
    let normed: Dm<bf16, m![T, O]> = rms_norm(ctx, x, None, EPSILON);
    // Outputs of one part are inputs of the next one.
    normed.relabel()
}

/// Attention of the tokens `T` to the tokens `U` of the same image.
///
/// Both products multiply two activations, so that one of them goes to the register file of its slice: the keys, a row
/// for each `U`, and the values, a row for each number of a head. A packet has all four heads; its four columns are
/// their sums.
fn attention(
    ctx: &mut Context,
    query: &Dm<bf16, m![T, O]>,
    key_value: &Dm<bf16, m![S = 2, U, O]>,
    [first, second]: [TrfAddress; 2],
) -> Dm<bf16, m![T, D]> {
    let keys = key_value.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(0);
    let keys = load_weights::<_, m![U], m![O]>(ctx, keys, first);
    let scores =
        (ctx.main.begin(query.view()).fetch::<bf16, m![T], m![O]>().collect::<m![T, O / 16], m![O % 16]>())
            .align::<m![T], m![O], _, _>(&keys)
            .contract::<m![O / 8]>()
            .accumulate::<Steps, m![U]>(AccumulationKind::Interleaved)
            .commit::<m![{ Steps }, U]>(AUTO);
    // Sums over `U` want it innermost: blocks of 4 tokens and 8 numbers change places.
    let values = key_value.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(1);
    let values = (ctx.main.begin(values).fetch::<bf16, m![O / 8, U], Lanes>())
        .collect::<m![O / 8, U], m![O % 8 # 16]>()
        .transpose::<m![O / 8, U / 4, O % 8], m![U % 4 # 16]>()
        .commit::<m![O % 8, O / 8, U]>(AUTO);
    let values = (ctx.sub.begin(values.view()).fetch::<bf16, m![O % 8], m![O / 8, U]>())
        .collect::<m![O % 8, O / 16], m![O / 8 % 2, U]>()
        .to_trf::<m![O % 8], m![O / 8, U]>(second);

    let shares: Dm<bf16, m![{ Steps }, U]> = softmax(ctx, &scores, 1.0);
    (ctx.main.begin(shares.view()).fetch::<bf16, m![T], m![O / 8, U]>())
        .collect::<m![T, O / 16], m![O / 8 % 2, U]>()
        .align::<m![T], m![O / 8, U], _, _>(&values)
        .contract::<m![O / 8]>()
        .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved)
        .cast::<bf16, m![O % 8 # 16]>()
        .commit::<m![T, O]>(AUTO)
        .relabel::<m![1], Cluster, Slice, m![T, D]>()
}

/// One of the two blocks. Weights are loaded into the halves of the register file in turns, each while the other half
/// is used.
fn block(ctx: &mut Context, x: &Dm<f32, m![T, O]>, weights: &impl Source, block: usize) -> Dm<f32, m![T, O]> {
    let halves = match block {
        0 => [TrfAddress::FirstHalf, TrfAddress::SecondHalf],
        _ => [TrfAddress::SecondHalf, TrfAddress::FirstHalf],
    };
    let sheet = 1 + 8 * block;
    let query = weights.load::<m![S = 1], 1>(ctx, sheet, halves[0]);
    let key_value = weights.load::<m![S = 2], 2>(ctx, sheet + 1, halves[1]);
    // A copy of `x` in the VRF, to be added to what a part of the block makes of `x`.
    let before = load_operand(ctx, x);
    let normed = norm(ctx, x);
    let query = product(ctx, &normed, &query).cast::<bf16, m![O % 8 # 16]>().commit(AUTO);
    let key_value = (product(ctx, &normed, &key_value).cast::<bf16, m![O % 8 # 16]>())
        .commit::<m![S = 2, T, O]>(AUTO)
        .relabel::<m![1], Cluster, Slice, m![S = 2, U, O]>();
    let heads = attention(ctx, &query, &key_value, halves);
    let output = weights.load::<m![S = 1], 1>(ctx, sheet + 3, halves[0]);
    let up = weights.load::<m![S = 2], 2>(ctx, sheet + 4, halves[1]);
    let x = added(product(ctx, &heads, &output), &before);

    let down = weights.load::<m![S = 2], 2>(ctx, sheet + 6, halves[0]);
    let before = load_operand(ctx, &x);
    let normed = norm(ctx, &x);
    let hidden = product(ctx, &normed, &up)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .cast::<bf16, m![O % 8 # 16]>()
        .commit::<m![T, S = 2, O]>(AUTO)
        .relabel::<m![1], Cluster, Slice, m![T, S = 2, D]>();
    let sums = (ctx.main.begin(hidden.view()).fetch::<bf16, m![T, S = 2], m![D]>())
        .collect::<m![T, S = 2, D / 16], m![D % 16]>()
        .align::<m![T, S = 2, O / 8], m![D], _, _>(&down)
        .contract::<m![1]>()
        .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved);
    added(sums, &before)
}

/// The scores of the image of each slice.
fn network(ctx: &mut Context, images: &Images, weights: &impl Source) -> Dm<f32, m![O]> {
    let images = images.to_dm::<Cluster, Slice, m![T, D]>(&mut ctx.tdma, AUTO);
    let embed = weights.load::<m![S = 1], 1>(ctx, 0, TrfAddress::SecondHalf);
    let mut x: Dm<f32, m![T, O]> = product(ctx, &images, &embed).commit(AUTO);
    for number in 0..2 {
        x = block(ctx, &x, weights, number);
    }
    let head = weights.load::<m![S = 1], 1>(ctx, 17, TrfAddress::FirstHalf);
    let normed = norm(ctx, &x);
    // The accumulator adds the tokens, too; the division of their mean is in the weights.
    (ctx.main.begin(normed.view()).fetch::<bf16, m![T], m![D]>().collect::<m![T, D / 16], m![D % 16]>())
        .align::<m![T, O / 8], m![D], _, _>(&head)
        .contract::<m![1]>()
        .accumulate::<m![O / 8], Lanes>(AccumulationKind::Interleaved)
        .commit(AUTO)
}

/// Weights and results as they come.
#[device(chip = 1)]
fn copied(ctx: &mut Context, images: &Images, sheets: &Sheets) -> Scores {
    let weights = InEverySlice(sheets.to_dm(&mut ctx.tdma, AUTO));
    network(ctx, images, &weights).to_hbm(&mut ctx.tdma, AUTO)
}

/// What is moved from and to HBM is shared by slices.
#[device(chip = 1)]
fn shared(ctx: &mut Context, images: &Images, sheets: &SheetsToShare) -> Scores {
    let weights = InEightSlices(sheets.to_dm(&mut ctx.tdma, AUTO));
    let scores = network(ctx, images, &weights);
    let pairs = (ctx.main.begin(scores.view()).fetch::<f32, m![O / 8], Lanes>())
        .switch_to::<m![G % 32, I / 2, 1 # 2], m![O / 8, I % 2]>()
        .collect::<m![O / 8, I % 2], Lanes>()
        .commit::<m![I % 2, O]>(AUTO);
    pairs.to_hbm(&mut ctx.tdma, AUTO)
}

/// Added to mean squares.
const EPSILON: f32 = 1e-5;

/// The network on the host, in f64, with the order of additions of the chip.
///
/// `single` is applied wherever the chip has an f32, and `half` wherever it has a bf16. A result in f64 rounded to f32
/// is that of an f32 operation; so with both roundings every bit is the chip's, and without them it is the exact
/// network.
struct Reference {
    sheets: Vec<f64>,
    single: fn(f64) -> f64,
    half: fn(f64) -> f64,
}

impl Reference {
    /// A sum of products: neighbours in a tree, packet after packet.
    fn dot(&self, x: &[f64], w: &[f64]) -> f64 {
        let packets = x.chunks(D::SIZE).zip(w.chunks(D::SIZE)).map(|(x, w)| {
            let mut parts: Vec<f64> = x.iter().zip(w).map(|(x, w)| (self.single)(x * w)).collect();
            while parts.len() > 1 {
                parts = parts.chunks(2).map(|pair| (self.single)(pair[0] + pair[1])).collect();
            }
            parts[0]
        });
        self.sum(packets)
    }

    /// A sum in the order of arrival.
    fn sum(&self, parts: impl Iterator<Item = f64>) -> f64 {
        parts.fold(0.0, |sum, part| (self.single)(sum + part))
    }

    /// Tokens times the outputs of sheets.
    fn linear(&self, tokens: &[Vec<f64>], sheets: std::ops::Range<usize>) -> Vec<Vec<f64>> {
        let rows = &self.sheets[sheets.start * 1024..sheets.end * 1024];
        tokens.iter().map(|x| rows.chunks(D::SIZE).map(|w| self.dot(x, w)).collect()).collect()
    }

    fn norm(&self, tokens: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let Self { single, half, .. } = self;
        let normed = |x: &Vec<f64>| {
            let mean = single(self.sum(x.iter().map(|x| single(x * x))) / 32.0);
            let size = single(single(mean + f64::from(EPSILON)).sqrt());
            x.iter().map(|x| half(single(x / size))).collect()
        };
        tokens.iter().map(normed).collect()
    }

    fn attention(&self, query: &[Vec<f64>], key: &[Vec<f64>], value: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let Self { single, half, .. } = self;
        let head = |query: &[f64], o: usize| -> Vec<f64> {
            let scores: Vec<f64> = key.iter().map(|key| self.dot(query, &key[o..][..8])).collect();
            let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
            let parts: Vec<f64> = scores.iter().map(|s| single(single(s - greatest).exp())).collect();
            let sum = self.sum(parts.iter().copied());
            let shares: Vec<f64> = parts.iter().map(|part| half(single(part / sum))).collect();
            let column = |e: usize| value.iter().map(|value| value[o + e]).collect::<Vec<_>>();
            (0..8).map(|e| half(self.dot(&shares, &column(e)))).collect()
        };
        query
            .iter()
            .map(|query| (0..O::SIZE).step_by(8).flat_map(|o| head(&query[o..][..8], o)).collect())
            .collect()
    }

    /// The scores of an image of 8 tokens.
    fn scores(&self, image: &[f64]) -> Vec<f64> {
        let each = |tokens: Vec<Vec<f64>>, function: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            tokens.into_iter().map(|token| token.into_iter().map(function).collect()).collect()
        };
        let add = |x: Vec<Vec<f64>>, y: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let rows = x.iter().zip(&y);
            rows.map(|(x, y)| x.iter().zip(y).map(|(x, y)| (self.single)(x + y)).collect()).collect()
        };
        let tokens: Vec<Vec<f64>> = image.chunks(D::SIZE).map(<[f64]>::to_vec).collect();
        let mut x = self.linear(&tokens, 0..1);
        for sheet in [1, 9] {
            let normed = self.norm(&x);
            let [q, k, v] =
                [0, 1, 2].map(|own| each(self.linear(&normed, sheet + own..sheet + own + 1), &self.half));
            let heads = self.attention(&q, &k, &v);
            x = add(x, self.linear(&heads, sheet + 3..sheet + 4));
            let hidden = self.linear(&self.norm(&x), sheet + 4..sheet + 6);
            let hidden = each(hidden, &|x| (self.half)(x.max(0.0)));
            // Row `o` of the two sheets behind each other.
            let down =
                |o: usize| [6, 7].map(|own| &self.sheets[(sheet + own) * 1024 + o * 32..][..32]).concat();
            let rows: Vec<Vec<f64>> = (0..O::SIZE).map(down).collect();
            let sums = hidden.iter().map(|x| rows.iter().map(|w| self.dot(x, w)).collect()).collect();
            x = add(x, sums);
        }
        let parts = self.linear(&self.norm(&x), 17..18);
        (0..O::SIZE).map(|o| self.sum(parts.iter().map(|token| token[o]))).collect()
    }
}

fn as_f32(x: f64) -> f64 {
    f64::from(x as f32)
}

fn as_bf16(x: f64) -> f64 {
    f64::from(f32::from(bf16::from_f32(x as f32)))
}

/// Compares the scores of the first images with those of the host, in both precisions.
fn check_against_host(scores: &[f32], images: &[bf16], sheets: &[bf16], count: usize) {
    let plain = |numbers: &[bf16]| -> Vec<f64> { numbers.iter().map(|x| f64::from(f32::from(*x))).collect() };
    let chip = Reference { sheets: plain(sheets), single: as_f32, half: as_bf16 };
    let exact = Reference { sheets: plain(sheets), single: |x| x, half: |x| x };
    let (mut units, mut difference) = (0.0f64, 0.0f64);
    for (image, found) in images.chunks(T::SIZE * D::SIZE).zip(scores.chunks(O::SIZE)).take(count) {
        let image = plain(image);
        for ((found, same), exact) in found.iter().zip(chip.scores(&image)).zip(exact.scores(&image)) {
            let found = f64::from(*found);
            // The distance between two f32 at that score.
            let unit = 2f64.powi(same.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32 - 23);
            units = units.max((found - same).abs() / unit);
            difference = difference.max((found - exact).abs());
        }
    }
    println!("{} scores of {count} images against the host:", count * O::SIZE);
    println!("    with the roundings of the chip: largest error {units:.2} units in the last place of f32");
    println!("    without any rounding:           largest difference {difference:.4}");
    assert!(units == 0.0, "every bit should be the host's");
    assert!(difference < 0.1, "activations in bf16 should move a score by less");
}

/// What the report says of a kernel.
fn print(name: &str, report: &Report, seconds: f64) -> u64 {
    let kernel = report.kernels.last().expect("a kernel ran");
    let records = || report.records.iter().filter(|record| record.kernel == kernel.call);
    let products: u64 = records().filter_map(|record| Some(record.amount.products.as_ref()?.count)).sum();
    // 512 slices multiply 8 rows of 32 pairs in each cycle.
    let use_of = 100.0 * products as f64 / (kernel.makespan() * 512 * 8 * 32) as f64;
    println!(
        "\n{name}: {} cycles for {} images, {use_of:.2} % of the multipliers; simulated in {:.1} ms per image",
        kernel.makespan(),
        N::SIZE,
        1e3 * seconds / N::SIZE as f64
    );
    let mut slowest: Vec<_> = report.critical_path(kernel);
    slowest.sort_by_key(|record| std::cmp::Reverse(record.cycles()));
    for record in slowest.iter().take(4) {
        println!(
            "    {:7} {:6} cycles, bound by {}",
            record.operation,
            record.cycles(),
            record.timing.bottleneck()
        );
    }
    kernel.makespan()
}

/// Runs the example. With `--small` the host computes fewer images.
pub fn main() -> Result<(), Box<dyn Error>> {
    let small = std::env::args().any(|argument| argument == "--small");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let digits = std::fs::read(format!("{folder}/digits.safetensors"))?;
    let digits = SafeTensors::deserialize(&digits)?;
    let labels = HostTensor::<i32, m![N]>::from_safetensors(&digits.tensor("labels")?)?.to_vec();
    let pixels = HostTensor::<bf16, m![N, FILE]>::from_safetensors(&digits.tensor("images")?)?.to_vec();
    let file = std::fs::read(format!("{folder}/transformer.safetensors"))?;
    let file = SafeTensors::deserialize(&file)?;
    let sheets = HostTensor::<bf16, m![S, O, D]>::from_safetensors(&file.tensor("sheets")?)?;

    // Tokens: 8 pixels, and a one that says which row they are. The constant at the end of each image is left out.
    let mut tokens = vec![bf16::from_f32(0.0); N::SIZE * T::SIZE * D::SIZE];
    for (image, tokens) in pixels.chunks(FILE::SIZE).zip(tokens.chunks_mut(T::SIZE * D::SIZE)) {
        for (t, (row, token)) in image.chunks_exact(8).zip(tokens.chunks_mut(D::SIZE)).enumerate() {
            token[..8].copy_from_slice(row);
            token[8 + t] = bf16::from_f32(1.0);
        }
    }
    let images = HostTensor::<bf16, m![G, I, T, D]>::from_slice(&tokens);

    let mut ctx = Context::acquire();
    macro_rules! run {
        ($kernel:ident, $sheets:ty) => {
            pollster::block_on(async {
                let images: Images = images.to_hbm(&mut ctx.pdma, AUTO).await;
                let sheets: $sheets = sheets.to_hbm(&mut ctx.pdma, AUTO).await;
                let start = Instant::now();
                let scores = launch($kernel, (&mut *ctx, &images, &sheets)).await;
                let scores = scores.to_host::<m![G, I, O]>(&mut ctx.pdma).await.to_vec();
                (scores, print(stringify!($kernel), &ctx.report(), start.elapsed().as_secs_f64()))
            })
        };
    }
    let (first, cycles) = run!(copied, Sheets);
    let (scores, cycles_shared) = run!(shared, SheetsToShare);
    println!("\nshared is {:.1} times as fast, with the same scores", cycles as f64 / cycles_shared as f64);
    assert_eq!(first, scores, "both kernels compute the same");
    assert!(4 * cycles_shared < cycles, "sharing should save three quarters of the time");

    check_against_host(&scores, &tokens, &sheets.to_vec(), if small { 16 } else { N::SIZE });
    let best = |row: &[f32]| (1..10).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    let right =
        scores.chunks(O::SIZE).zip(&labels).filter(|(row, label)| best(row) == **label as usize).count();
    println!("{right} of {} images right: {:.2} %", N::SIZE, 100.0 * right as f64 / N::SIZE as f64);
    assert!(right * 100 >= N::SIZE * 97, "the network should get 97 % right");
    Ok(())
}
