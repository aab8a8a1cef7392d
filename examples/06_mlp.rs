//! Handwritten digits, classified by a network with a hidden layer: everything from pixels to probabilities on the chip.
//!
//! ```text
//!   images   N = 512, P = 64 pixels       2 images per slice
//!
//!   hidden   H = 128     max(0, Σ images · weights + bias)     contraction, then two units of the Vector Engine; bf16
//!   scores   C = 10      Σ hidden · weights + bias             contraction, then one unit
//!   chances  C           e^(score - greatest) / Σ e^(…)        three passes: greatest, sum, quotient
//! ```
//!
//! Biases, greatest scores and sums lie in the VRF: an axis that they lack is broadcast. The weights were trained by
//! `data/train_mlp.py` on other images than these. See `data/README.md` for credit and licence.
//!
//! Run it: `cargo run --release --example 06_mlp`

use furiosa_visa_std::prelude::*;
use safetensors::SafeTensors;
use std::error::Error;

axes![N = 512, P = 64, H = 128, C = 10, FILE = 65];

type Cluster = m![1 # 2];
type Slice = m![N / 2];
/// Scores of an image: two packets of 8, and the halves of those. 6 of the 16 are padding.
type Steps = m![N % 2, C # 16 / 8];
type Lanes = m![C # 16 % 8];
type HalfSteps = m![N % 2, C # 16 / 4];
type Half = m![C # 16 % 4];

type Images = HbmTensor<bf16, m![1], m![N, P]>;
type HiddenWeights = HbmTensor<bf16, m![1], m![H, P]>;
type HiddenBias = HbmTensor<bf16, m![1], m![H]>;
type Weights = HbmTensor<bf16, m![1], m![C, H]>;
type Bias = HbmTensor<bf16, m![1], m![C # 16]>;
type Chances = HbmTensor<f32, m![1], m![N, C # 16]>;

/// The chances of each digit, for each image.
#[device(chip = 1)]
fn network(
    ctx: &mut Context,
    images: &Images,
    hidden_weights: &HiddenWeights,
    hidden_bias: &HiddenBias,
    weights: &Weights,
    bias: &Bias,
) -> Chances {
    let images = images.to_dm::<Cluster, Slice, m![N % 2, P]>(&mut ctx.tdma, 0);
    // An axis that the source lacks is broadcast: every slice gets all weights.
    let hidden_weights = hidden_weights.to_dm::<Cluster, Slice, m![H, P]>(&mut ctx.tdma, 0x1000);
    let hidden_bias = hidden_bias.to_dm::<Cluster, Slice, m![H]>(&mut ctx.tdma, 0x5000);
    let weights = weights.to_dm::<Cluster, Slice, m![C # 16, H]>(&mut ctx.tdma, 0x6000);
    let bias = bias.to_dm::<Cluster, Slice, m![C # 16]>(&mut ctx.tdma, 0x7000);

    let hidden_weights = (ctx.sub.begin(hidden_weights.view()))
        .fetch::<bf16, m![H % 8, H / 8], m![P]>()
        .collect::<m![H % 8, H / 8, P / 16], m![P % 16]>()
        .to_trf::<m![H % 8], m![H / 8, P]>(TrfAddress::FirstHalf);
    let weights = (ctx.sub.begin(weights.view()))
        .fetch::<bf16, m![C # 16 % 8, C # 16 / 8], m![H]>()
        .collect::<m![C # 16 % 8, C # 16 / 8, H / 16], m![H % 16]>()
        .to_trf::<m![C # 16 % 8], m![C # 16 / 8, H]>(TrfAddress::SecondHalf);
    // The fetch makes f32 of bf16.
    let hidden_bias = (ctx.sub.begin(hidden_bias.view()).fetch::<f32, m![H / 8], m![H % 8]>())
        .collect::<m![H / 8], m![H % 8]>()
        .to_vrf::<m![H]>(0);
    let bias = (ctx.sub.begin(bias.view()).fetch::<f32, m![C # 16 / 8], Lanes>())
        .collect::<m![C # 16 / 8], Lanes>()
        .to_vrf::<m![C # 16]>(1024);

    let hidden = (ctx.main.begin(images.view()))
        .fetch::<bf16, m![N % 2, P / 32], m![P % 32]>()
        .collect::<m![N % 2, P / 16], m![P % 16]>()
        .align::<m![N % 2, P / 32, H / 8], m![P % 32], _, _>(&hidden_weights)
        .contract::<m![1]>()
        .accumulate::<m![N % 2, H / 8], m![H % 8]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Add, &hidden_bias)
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .cast::<bf16, m![H % 8 # 16]>()
        .commit::<m![N % 2, H]>(0x8000);

    let scores = (ctx.main.begin(hidden.view()))
        .fetch::<bf16, m![N % 2, H / 32], m![H % 32]>()
        .collect::<m![N % 2, H / 16], m![H % 16]>()
        .align::<m![N % 2, H / 32, C # 16 / 8], m![H % 32], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Add, &bias)
        .vector_final()
        .commit::<m![N % 2, C # 16]>(0x9000);

    let greatest = (ctx.main.begin(scores.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_intra_slice_reduce::<C, m![N % 2], m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<m![N % 2]>(2048);
    let sum = (ctx.main.begin(scores.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_intra_slice_reduce::<C, m![N % 2], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<m![N % 2]>(2112);
    let chances = (ctx.main.begin(scores.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
        .vector_concat::<Steps, Lanes>()
        .vector_final()
        .commit::<m![N % 2, C # 16]>(0xa000);
    chances.to_hbm(&mut ctx.tdma, 1 << 24)
}

/// Weights and biases on the host.
struct Parameters {
    hidden_weights: HostTensor<bf16, m![H, P]>,
    hidden_bias: HostTensor<bf16, m![H]>,
    weights: HostTensor<bf16, m![C, H]>,
    bias: HostTensor<bf16, m![C]>,
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let digits = std::fs::read(format!("{folder}/digits.safetensors"))?;
    let digits = SafeTensors::deserialize(&digits)?;
    let labels = HostTensor::<i32, m![N]>::from_safetensors(&digits.tensor("labels")?)?;
    // Each image of the file ends in a constant, which is no pixel.
    let images = HostTensor::<bf16, m![N, FILE]>::from_safetensors(&digits.tensor("images")?)?.to_buf();
    let pixels = images.chunks(FILE::SIZE).flat_map(|image| &image[..P::SIZE]);
    let images = HostTensor::<bf16, m![N, P]>::from_buf(pixels.copied().collect());
    let file = std::fs::read(format!("{folder}/mlp.safetensors"))?;
    let file = SafeTensors::deserialize(&file)?;
    let own = Parameters {
        hidden_weights: HostTensor::from_safetensors(&file.tensor("hidden_weights")?)?,
        hidden_bias: HostTensor::from_safetensors(&file.tensor("hidden_bias")?)?,
        weights: HostTensor::from_safetensors(&file.tensor("weights")?)?,
        bias: HostTensor::from_safetensors(&file.tensor("bias")?)?,
    };

    let (chances, report) = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let images = images.to_hbm::<m![1], m![N, P]>(&mut ctx.pdma, 0).await;
        let hidden_weights = own.hidden_weights.to_hbm::<m![1], m![H, P]>(&mut ctx.pdma, 1 << 20).await;
        let hidden_bias = own.hidden_bias.to_hbm::<m![1], m![H]>(&mut ctx.pdma, 2 << 20).await;
        let weights = own.weights.to_hbm::<m![1], m![C, H]>(&mut ctx.pdma, 3 << 20).await;
        let bias = own.bias.to_hbm::<m![1], m![C # 16]>(&mut ctx.pdma, 4 << 20).await;
        let chances =
            launch(network, (&mut ctx, &images, &hidden_weights, &hidden_bias, &weights, &bias)).await;
        (chances.to_host::<m![N, C]>(&mut ctx.pdma).await, ctx.report())
    });

    let chances: Vec<f32> = chances.to_buf().iter().map(|x| x.unwrap()).collect();
    check_against_host(&chances, &images, &own);
    let labels: Vec<usize> = labels.to_buf().iter().map(|x| x.unwrap() as usize).collect();
    let best = |row: &[f32]| (1..C::SIZE).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    let rows: Vec<(&[f32], usize)> = chances.chunks(C::SIZE).zip(labels).collect();
    println!("\npercent that the chip gives to each digit; first images, and all that it gets wrong");
    println!("  digit  says {}", (0..C::SIZE).map(|c| format!("{c:6}")).collect::<String>());
    for (k, (row, label)) in rows.iter().enumerate() {
        let says = best(row);
        if k < 10 || says != *label {
            let cells: String = row.iter().map(|x| format!("{:6.1}", 100.0 * x)).collect();
            println!("  {label:5}  {says:4} {cells}{}", if says == *label { "" } else { "   wrong" });
        }
    }
    let right = rows.iter().filter(|(row, label)| best(row) == *label).count();
    let share = 100.0 * right as f64 / rows.len() as f64;
    let cycles = report.kernels.last().expect("a kernel ran").makespan();
    println!("\n{right} of {} images right: {share:.2} %, {cycles} cycles", rows.len());
    assert!(share >= 98.0, "the network should get 98 % right");
    Ok(())
}

/// Every chance against f64 on the host.
///
/// The chip keeps hidden units in bf16, off by at most 2^-8 of themselves. That, and sums in f32, move a score by at most
/// `slack`, and a chance by at most a factor of `e^(2 slack)`.
fn check_against_host(chances: &[f32], images: &HostTensor<bf16, m![N, P]>, own: &Parameters) {
    let plain = |buffer: Vec<Opt<bf16>>| -> Vec<f64> {
        buffer.iter().map(|x| f64::from(f32::from(x.unwrap()))).collect()
    };
    let (hidden_weights, hidden_bias) = (plain(own.hidden_weights.to_buf()), plain(own.hidden_bias.to_buf()));
    let (weights, bias) = (plain(own.weights.to_buf()), plain(own.bias.to_buf()));
    let dot = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
    let mut worst = 0.0f64;
    for (image, found) in plain(images.to_buf()).chunks(P::SIZE).zip(chances.chunks(C::SIZE)) {
        let hidden: Vec<f64> = (hidden_weights.chunks(P::SIZE).zip(&hidden_bias))
            .map(|(row, bias)| (dot(image, row) + bias).max(0.0))
            .collect();
        let scores: Vec<f64> =
            weights.chunks(H::SIZE).zip(&bias).map(|(row, bias)| dot(&hidden, row) + bias).collect();
        let sizes = weights
            .chunks(H::SIZE)
            .map(|row| hidden.iter().zip(row).map(|(h, w)| (h * w).abs()).sum::<f64>() + 1.0);
        let slack = sizes.fold(0.0, f64::max) * (2f64.powi(-8) + 1e-5);
        let sum: f64 = scores.iter().map(|score| score.exp()).sum();
        for (score, found) in scores.iter().zip(found) {
            let exact = score.exp() / sum;
            let (difference, found) = ((f64::from(*found) - exact).abs(), *found);
            assert!(difference <= exact * (2.0 * slack).exp_m1(), "{found}, host {exact}");
            worst = worst.max(difference);
        }
        let total: f64 = found.iter().map(|x| f64::from(*x)).sum();
        assert!((total - 1.0).abs() < 1e-5, "the chances of an image sum to {total}");
    }
    println!("all {} chances agree with the host, largest difference {worst:.1e}", chances.len());
}
