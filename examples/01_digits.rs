//! Handwritten digits, classified on the simulated chip.
//!
//! The images are the UCI handwritten digits, 8 x 8 pixels; the weights were trained on other images of the same set by
//! `data/train_digits.py`. See `data/README.md` for credit and licence.
//!
//! ```text
//!   images   N = 512, P = 65 (64 pixels and a constant 1)    2 images per slice
//!   weights  C = 10 classes, P = 65 (the last one the bias)  8 classes in the rows of the TRF, 2 groups of them
//!   scores   N, C
//! ```
//!
//! Run it: `cargo run --release --example 01_digits`

use furiosa_visa_std::engine::commit::CommitPlan;
use furiosa_visa_std::engine::contraction::AlignPlan;
use furiosa_visa_std::engine::fetch::FetchPlan;
use furiosa_visa_std::prelude::*;
use std::error::Error;

axes![N = 512, P = 65, C = 10];

type Cluster = m![1 # 2];
type Slice = m![N / 2];
/// A row of pixels in whole packets of 64 bytes.
type Pixels = m![P # 96];
/// Classes: 8 in the rows of the TRF, two groups of them after each other.
type Row = m![C # 16 % 8];
type Group = m![C # 16 / 8];

type Images = HbmTensor<bf16, m![1], m![N, { Pixels }]>;
type Weights = HbmTensor<bf16, m![1], m![C, { Pixels }]>;
type Scores = HbmTensor<f32, m![1], m![N, C # 16]>;

/// `scores[n, c] = Σ images[n, p] · weights[c, p]`.
#[device(chip = 1)]
fn classify(ctx: &mut Context, images: &Images, weights: &Weights) -> Scores {
    let images = images.to_dm::<Cluster, Slice, m![N % 2, { Pixels }]>(&mut ctx.tdma, 0);
    // An axis that the source lacks is broadcast: every slice gets all weights.
    let weights = weights.to_dm::<Cluster, Slice, m![C # 16, { Pixels }]>(&mut ctx.tdma, 1 << 12);

    let weights = (ctx.sub.begin(weights.view()))
        .fetch::<bf16, m![{ Row }, { Group }], m![{ Pixels }]>()
        .collect::<m![{ Row }, { Group }, { Pixels } / 16], m![{ Pixels } % 16]>()
        .to_trf::<Row, m![{ Group }, { Pixels }]>(TrfAddress::FirstHalf);

    let scores = (ctx.main.begin(images.view()))
        // In packets of 64 bytes: 65 values of 2 bytes are more than a mask counts in one packet.
        .fetch::<bf16, m![N % 2, { Pixels } / 32], m![{ Pixels } % 32]>()
        .collect::<m![N % 2, { Pixels } / 16], m![{ Pixels } % 16]>()
        // Each packet of 32 pixels meets both groups of classes before the next one comes.
        .align::<m![N % 2, { Pixels } / 32, { Group }], m![{ Pixels } % 32], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![N % 2, { Group }], m![{ Row }]>(AccumulationKind::Interleaved)
        .commit::<m![N % 2, C # 16]>(1 << 16);
    scores.to_hbm(&mut ctx.tdma, 1 << 24)
}

fn print_configurations() {
    let fetch = FetchPlan::<
        bf16,
        bf16,
        m![N % 2, { Pixels }],
        m![N % 2, { Pixels } / 32],
        m![{ Pixels } % 32],
    >::CONFIG;
    let align = AlignPlan::<
        bf16,
        m![N % 2, { Pixels } / 16],
        m![{ Pixels } % 16],
        Row,
        m![{ Group }, { Pixels }],
        m![N % 2, { Pixels } / 32, { Group }],
        m![{ Pixels } % 32],
    >::CONFIG;
    let commit = CommitPlan::<f32, m![N % 2, { Group }], Row, m![N % 2, C # 16]>::CONFIG;
    println!("derived configurations, per slice");
    println!("  fetch   {fetch}");
    println!(
        "  align   {} flits per packet, each used {} times; TRF reads {} B, entries (bytes) {}",
        align.stream_adapter.collect_flits,
        align.stream_adapter.tile,
        align.trf_sequencer.reg_read_size,
        align.trf_sequencer.config
    );
    println!("  commit  {}, {} B per write, {} cycles", commit.config, commit.commit_size, commit.cycles);
}

/// The class with the highest score; of equal scores the first.
fn best(scores: &[f32]) -> usize {
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
    print_configurations();

    let scores = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let images = images.to_hbm::<m![1], m![N, { Pixels }]>(&mut ctx.pdma, 0).await;
        let weights = weights.to_hbm::<m![1], m![C, { Pixels }]>(&mut ctx.pdma, 1 << 20).await;
        let scores = launch(classify, (&mut ctx, &images, &weights)).await;
        scores.to_host::<m![N, C]>(&mut ctx.pdma).await
    });

    check_against_host(&scores, &images, &weights);
    let scores: Vec<f32> = scores.to_buf().iter().map(|x| x.unwrap()).collect();
    let labels: Vec<usize> = labels.to_buf().iter().map(|x| x.unwrap() as usize).collect();
    let mut confusion = [[0usize; 10]; 10];
    for (row, label) in scores.chunks_exact(10).zip(&labels) {
        confusion[*label][best(row)] += 1;
    }
    println!("\nrows: the digit, columns: what the chip says");
    println!("      {}", (0..10).map(|c| format!("{c:4}")).collect::<String>());
    for (digit, row) in confusion.iter().enumerate() {
        println!("  {digit:2}  {}", row.iter().map(|n| format!("{n:4}")).collect::<String>());
    }
    let right: usize = (0..10).map(|digit| confusion[digit][digit]).sum();
    let accuracy = 100.0 * right as f64 / labels.len() as f64;
    println!("\n{right} of {} images right: {accuracy:.2} %", labels.len());
    assert!(accuracy >= 90.0, "the classifier should get 90 % right");
    Ok(())
}

/// Every score against a plain f64 sum on the host.
fn check_against_host(
    scores: &HostTensor<f32, m![N, C]>,
    images: &HostTensor<bf16, m![N, P]>,
    weights: &HostTensor<bf16, m![C, P]>,
) {
    let plain =
        |tensor: Vec<Opt<bf16>>| tensor.iter().map(|x| f64::from(f32::from(x.unwrap()))).collect::<Vec<_>>();
    let (images, weights) = (plain(images.to_buf()), plain(weights.to_buf()));
    let mut worst = 0.0f64;
    for (k, score) in scores.to_buf().iter().enumerate() {
        let (image, class) = (&images[k / 10 * 65..][..65], &weights[k % 10 * 65..][..65]);
        let exact: f64 = image.iter().zip(class).map(|(x, w)| x * w).sum();
        let scale: f64 = image.iter().zip(class).map(|(x, w)| (x * w).abs()).sum();
        let difference = (f64::from(score.unwrap()) - exact).abs();
        assert!(difference <= 1e-5 * scale, "image {}, class {}: {score:?}, host {exact}", k / 10, k % 10);
        worst = worst.max(difference);
    }
    println!("\nall {} scores agree with the host, largest difference {worst:.1e}", scores.to_buf().len());
}
