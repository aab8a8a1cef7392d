//! Handwritten digits again, with asymmetric int8 weights and activations.
//!
//! Asymmetric quantisation stores a number `x` as the i8 `q = round(x / scale) + zero_point`, so that the 256 codes cover
//! exactly the range that occurs. `x` is about `scale * (q - zero_point)`: before the product, the fetch adapter
//! subtracts the zero points. Differences of two i8 need nine bits; the stream is i9, and the sums are i32:
//!
//! ```text
//!   DM i8 ──fetch──▶ i8 → i9 ──▶ − zero point ──▶ collect ──▶ align ──▶ contract i9 · i9 → i32 ──▶ commit
//! ```
//!
//! The images hold pixels from 0 to 1 and a constant 1, so their zero point is -128 and no code is wasted on negative
//! numbers; a symmetric int8 would use 128 of its codes.
//!
//! A bf16 kernel as in `01_digits` runs beside it for comparison. Images, weights and credit: `data/README.md`.
//!
//! Run it: `cargo run --release --example 02_quantized_fetch`

use furiosa_visa_std::engine::fetch::FetchPlan;
use furiosa_visa_std::prelude::*;
use std::error::Error;

axes![N = 512, P = 65, C = 10];

type Cluster = m![1 # 2];
type Slice = m![N / 2];
/// A row of pixels in whole packets of 64 bytes: of bf16, and of i9, which the stream carries in 8 bits.
type Pixels = m![P # 128];
/// Classes: 8 in the rows of the TRF, two groups of them after each other.
type Row = m![C # 16 % 8];
type Group = m![C # 16 / 8];

type Images<D> = HbmTensor<D, m![1], m![N, { Pixels }]>;
type Weights<D> = HbmTensor<D, m![1], m![C, { Pixels }]>;
type Scores<D> = HbmTensor<D, m![1], m![N, C # 16]>;

/// `scores[n, c] = Σ (images[n, p] - image_zero) · (weights[c, p] - weight_zero)`.
#[device(chip = 1)]
fn classify_i8(
    ctx: &mut Context,
    images: &Images<i8>,
    weights: &Weights<i8>,
    image_zero: i8,
    weight_zero: i8,
) -> Scores<i32> {
    let images = images.to_dm::<Cluster, Slice, m![N % 2, { Pixels }]>(&mut ctx.tdma, 0);
    let weights = weights.to_dm::<Cluster, Slice, m![C # 16, { Pixels }]>(&mut ctx.tdma, 1 << 12);

    let weights = (ctx.sub.begin(weights.view()))
        .fetch_with_zero_point::<i9, m![{ Row }, { Group }], m![{ Pixels }]>(weight_zero)
        .collect::<m![{ Row }, { Group }, { Pixels } / 32], m![{ Pixels } % 32]>()
        .to_trf::<Row, m![{ Group }, { Pixels }]>(TrfAddress::FirstHalf);

    let scores = (ctx.main.begin(images.view()))
        // The 63 pixels of padding are masked: they are 0 in the stream, whatever the zero point is.
        .fetch_with_zero_point::<i9, m![N % 2], m![{ Pixels }]>(image_zero)
        .collect::<m![N % 2, { Pixels } / 32], m![{ Pixels } % 32]>()
        .align::<m![N % 2, { Pixels } / 64, { Group }], m![{ Pixels } % 64], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![N % 2, { Group }], m![{ Row }]>(AccumulationKind::Interleaved)
        .commit::<m![N % 2, C # 16]>(1 << 16);
    scores.to_hbm(&mut ctx.tdma, 1 << 24)
}

/// The same in bf16, as in `01_digits`.
#[device(chip = 1)]
fn classify_bf16(ctx: &mut Context, images: &Images<bf16>, weights: &Weights<bf16>) -> Scores<f32> {
    let images = images.to_dm::<Cluster, Slice, m![N % 2, { Pixels }]>(&mut ctx.tdma, 0);
    let weights = weights.to_dm::<Cluster, Slice, m![C # 16, { Pixels }]>(&mut ctx.tdma, 1 << 12);

    let weights = (ctx.sub.begin(weights.view()))
        .fetch::<bf16, m![{ Row }, { Group }], m![{ Pixels }]>()
        .collect::<m![{ Row }, { Group }, { Pixels } / 16], m![{ Pixels } % 16]>()
        .to_trf::<Row, m![{ Group }, { Pixels }]>(TrfAddress::FirstHalf);

    let scores = (ctx.main.begin(images.view()))
        // In packets of 64 bytes: 65 values of 2 bytes are more than a mask counts in one packet.
        .fetch::<bf16, m![N % 2, { Pixels } / 32], m![{ Pixels } % 32]>()
        .collect::<m![N % 2, { Pixels } / 16], m![{ Pixels } % 16]>()
        .align::<m![N % 2, { Pixels } / 32, { Group }], m![{ Pixels } % 32], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![N % 2, { Group }], m![{ Row }]>(AccumulationKind::Interleaved)
        .commit::<m![N % 2, C # 16]>(1 << 16);
    scores.to_hbm(&mut ctx.tdma, 1 << 24)
}

/// How numbers of a range are stored as i8.
#[derive(Clone, Copy, Debug)]
struct Quantization {
    scale: f32,
    zero_point: i8,
}

impl Quantization {
    /// The smallest scale whose 256 codes cover the numbers and 0, which must have a code of its own.
    fn of(numbers: &[f32]) -> Self {
        let (low, high) = numbers.iter().fold((0.0f32, 0.0f32), |(low, high), x| (low.min(*x), high.max(*x)));
        let scale = (high - low) / 255.0;
        Self { scale, zero_point: (-128.0 - low / scale).round() as i8 }
    }

    fn code(self, number: f32) -> i8 {
        let code = (number / self.scale).round() + f32::from(self.zero_point);
        code.clamp(-128.0, 127.0) as i8
    }
}

fn numbers<M2: M>(tensor: &HostTensor<bf16, M2>) -> Vec<f32> {
    tensor.to_buf().iter().map(|x| f32::from(x.unwrap())).collect()
}

fn quantized<M2: M>(numbers: &[f32], quantization: Quantization) -> HostTensor<i8, M2> {
    HostTensor::from_buf(numbers.iter().map(|x| Opt::Init(quantization.code(*x))).collect())
}

/// The class with the highest score; of equal scores the first.
fn best<T: PartialOrd>(scores: &[T]) -> usize {
    (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best })
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.safetensors");
    let file = std::fs::read(path)?;
    let file = safetensors::SafeTensors::deserialize(&file)?;
    let images = HostTensor::<bf16, m![N, P]>::from_safetensors(&file.tensor("images")?)?;
    let weights = HostTensor::<bf16, m![C, P]>::from_safetensors(&file.tensor("weights")?)?;
    let labels = HostTensor::<i32, m![N]>::from_safetensors(&file.tensor("labels")?)?;
    let labels: Vec<usize> = labels.to_buf().iter().map(|x| x.unwrap() as usize).collect();

    let (pixels, factors) = (numbers(&images), numbers(&weights));
    let (image_code, weight_code) = (Quantization::of(&pixels), Quantization::of(&factors));
    println!("images   {image_code:?}");
    println!("weights  {weight_code:?}");
    let (image_zero, weight_zero) = (image_code.zero_point, weight_code.zero_point);
    let image_codes: HostTensor<i8, m![N, P]> = quantized(&pixels, image_code);
    let weight_codes: HostTensor<i8, m![C, P]> = quantized(&factors, weight_code);

    let fetch = FetchPlan::<i8, i9, m![N % 2, { Pixels }], m![N % 2], Pixels>::CONFIG;
    println!("fetch    {fetch}");

    let (scores, exact) = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let codes = image_codes.to_hbm::<m![1], m![N, { Pixels }]>(&mut ctx.pdma, 0).await;
        let weight_codes = weight_codes.to_hbm::<m![1], m![C, { Pixels }]>(&mut ctx.pdma, 1 << 20).await;
        let scores = launch(classify_i8, (&mut ctx, &codes, &weight_codes, image_zero, weight_zero)).await;
        let scores = scores.to_host::<m![N, C]>(&mut ctx.pdma).await;

        let images = images.to_hbm::<m![1], m![N, { Pixels }]>(&mut ctx.pdma, 0).await;
        let weights = weights.to_hbm::<m![1], m![C, { Pixels }]>(&mut ctx.pdma, 1 << 20).await;
        let exact = launch(classify_bf16, (&mut ctx, &images, &weights)).await;
        (scores, exact.to_host::<m![N, C]>(&mut ctx.pdma).await)
    });
    let scores: Vec<i32> = scores.to_buf().iter().map(|x| x.unwrap()).collect();
    let exact: Vec<f32> = exact.to_buf().iter().map(|x| x.unwrap()).collect();

    // Integer sums have no rounding: every score is the host's.
    let difference = |x: i8, zero_point: i8| i32::from(x) - i32::from(zero_point);
    let (images, weights) = (image_codes.to_buf(), weight_codes.to_buf());
    for (k, score) in scores.iter().enumerate() {
        let (image, class) = (&images[k / 10 * 65..][..65], &weights[k % 10 * 65..][..65]);
        let products = image
            .iter()
            .zip(class)
            .map(|(x, w)| difference(x.unwrap(), image_zero) * difference(w.unwrap(), weight_zero));
        assert_eq!(*score, products.sum::<i32>(), "image {}, class {}", k / 10, k % 10);
    }
    println!("\nall {} sums are those of the host, bit for bit", scores.len());

    let scale = image_code.scale * weight_code.scale;
    let errors = scores.iter().zip(&exact).map(|(score, exact)| (*score as f32 * scale - exact).abs());
    println!("largest difference to a bf16 score {:.3}", errors.fold(0.0f32, f32::max));

    let answers: Vec<usize> = scores.chunks_exact(10).map(best).collect();
    let bf16_answers: Vec<usize> = exact.chunks_exact(10).map(best).collect();
    let right =
        |answers: &[usize]| answers.iter().zip(&labels).filter(|(answer, label)| answer == label).count();
    let same = answers.iter().zip(&bf16_answers).filter(|(a, b)| a == b).count();
    for (name, bytes, right) in [("bf16", 2, right(&bf16_answers)), ("int8", 1, right(&answers))] {
        let percent = 100.0 * right as f64 / labels.len() as f64;
        println!(
            "{name}  {:6} bytes of weights and images  {right} of {} right, {percent:.2} %",
            bytes * (pixels.len() + factors.len()),
            labels.len()
        );
    }
    println!("int8 and bf16 give the same answer for {same} images");
    assert!(right(&answers) + 5 >= right(&bf16_answers), "int8 should lose at most 1 %");
    Ok(())
}
