//! draft
use furiosa_visa_std::prelude::*;
use safetensors::SafeTensors;
use std::error::Error;

axes![G = 64, I = 8, T = 8, U = 8, S = 18, O = 32, D = 32];

type Cluster = m![G / 32];
type Slice = m![G % 32, I];
/// Outputs of a product: flits of 8, and their halves.
type Steps = m![T, O / 8];
type Lanes = m![O % 8];
type HalfSteps = m![T, O / 4];
type Half = m![O % 4];

type Images = HbmTensor<bf16, m![1], m![G, I, T, D]>;
type Sheets = HbmTensor<bf16, m![1], m![S, O, D]>;
type Scores = HbmTensor<f32, m![1], m![G, I, O]>;

type Dm<E, Element> = DmTensor<E, m![1], Cluster, Slice, Element>;
type Weights<Sheets> = TrfTensor<bf16, m![1], Cluster, Slice, m![O % 8], m![{ Sheets }, O / 8, D]>;
type Vrf<Element> = VrfTensor<f32, m![1], Cluster, Slice, Element>;

/// Where weights come from.
trait Source {
    fn load<Own: M, const COUNT: usize>(&self, ctx: &mut Context, first: usize, half: TrfAddress) -> Weights<Own>;
}

/// Every slice has all of them.
struct Everywhere(Dm<bf16, m![S, O, D]>);

impl Source for Everywhere {
    fn load<Own: M, const COUNT: usize>(&self, ctx: &mut Context, first: usize, half: TrfAddress) -> Weights<Own> {
        let sheets = self.0.view().tile::<m![S], COUNT, m![{ Own } # 18, O, D]>(first);
        (ctx.sub.begin(sheets).fetch::<bf16, m![O % 8, { Own }, O / 8], m![D]>())
            .collect::<m![O % 8, { Own }, O / 8, D / 16], m![D % 16]>()
            .to_trf(half)
    }
}

/// Eight slices share them.
type Shared = DmTensor<bf16, m![1], Cluster, m![G % 32, O / 8, D / 16], m![S, O % 8, D % 16]>;
struct Handed(Shared);

impl Source for Handed {
    fn load<Own: M, const COUNT: usize>(&self, ctx: &mut Context, first: usize, half: TrfAddress) -> Weights<Own> {
        let sheets = self.0.view().tile::<m![S], COUNT, m![{ Own } # 18, O % 8, D % 16]>(first);
        (ctx.sub.begin(sheets).fetch::<bf16, m![O % 8, { Own }], m![D % 16]>())
            .switch_to::<Slice, m![O % 8, { Own }, O / 8, D / 16]>()
            .collect::<m![O % 8, { Own }, O / 8, D / 16], m![D % 16]>()
            .to_trf(half)
    }
}

fn norm(ctx: &mut Context, x: &Dm<f32, m![T, O]>) -> Dm<bf16, m![T, D]> {
    let mean: Dm<f32, m![T, 1 # 2]> = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
        .vector_intra_slice_reduce::<O, m![T], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), 32.0)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit(AUTO);
    let size = (ctx.main.begin(mean.view()).fetch::<f32, m![T], m![1 # 2]>().collect::<m![T], m![1 # 8]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![1 # 4]>()
        .vector_fp_binary(FpBinaryOp::AddF, 1e-5)
        .vector_fp_unary(FpUnaryOp::Sqrt)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<m![T]>(2048);
    let normed = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &size)
        .vector_concat::<Steps, Lanes>()
        .vector_final()
        .cast::<bf16, m![O % 8 # 16]>()
        .commit::<m![T, O]>(AUTO);
    normed.relabel::<m![1], Cluster, Slice, m![T, D]>()
}

type Product<'l, Time> = AccumulationTensor<'l, { Tu::Main }, f32, m![1], Cluster, Slice, Time, Lanes>;

fn product<'l, Own: M>(ctx: &'l mut Context, x: &'l Dm<bf16, m![T, D]>, weights: &Weights<Own>)
    -> Product<'l, m![T, { Own }, O / 8]> {
    (ctx.main.begin(x.view()).fetch::<bf16, m![T], m![D]>().collect::<m![T, D / 16], m![D % 16]>())
        .align::<m![T, { Own }, O / 8], m![D], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![T, { Own }, O / 8], Lanes>(AccumulationKind::Interleaved)
}

fn residual(ctx: &mut Context, x: &Dm<f32, m![T, O]>, address: Address) -> Vrf<m![T, O]> {
    (ctx.sub.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>()).to_vrf(address)
}

fn attention(ctx: &mut Context, q: &Dm<bf16, m![T, O]>, kv: &Dm<bf16, m![S = 2, U, O]>, [first, second]: [TrfAddress; 2]) -> Dm<bf16, m![T, D]> {
    let k = kv.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(0);
    let k = (ctx.sub.begin(k).fetch::<bf16, m![U], m![O]>().collect::<m![U, O / 16], m![O % 16]>())
        .to_trf::<m![U], m![O]>(first);
    let scores = (ctx.main.begin(q.view()).fetch::<bf16, m![T], m![O]>().collect::<m![T, O / 16], m![O % 16]>())
        .align::<m![T], m![O], _, _>(&k)
        .contract::<m![O / 8]>()
        .accumulate::<m![T, O / 8], m![U]>(AccumulationKind::Interleaved)
        .commit::<m![T, O / 8, U]>(AUTO);
    let v = kv.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(1);
    let v = (ctx.main.begin(v).fetch::<bf16, m![O / 8, U], Lanes>().collect::<m![O / 8, U], m![O % 8 # 16]>())
        .transpose::<m![O / 8, U / 4, O % 8], m![U % 4 # 16]>()
        .commit::<m![O % 8, O / 8, U]>(AUTO);
    let v = (ctx.sub.begin(v.view()).fetch::<bf16, m![O % 8], m![O / 8, U]>())
        .collect::<m![O % 8, O / 16], m![O / 8 % 2, U]>()
        .to_trf::<m![O % 8], m![O / 8, U]>(second);

    let greatest = (ctx.main.begin(scores.view()).fetch::<f32, Steps, m![U]>().collect::<Steps, m![U]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![T, O / 8, U / 4], m![U % 4]>()
        .vector_intra_slice_reduce::<U, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Steps>(2560);
    let sum = (ctx.main.begin(scores.view()).fetch::<f32, Steps, m![U]>().collect::<Steps, m![U]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![T, O / 8, U / 4], m![U % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_intra_slice_reduce::<U, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Steps>(2816);
    let shares = (ctx.main.begin(scores.view()).fetch::<f32, Steps, m![U]>().collect::<Steps, m![U]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![T, O / 8, U / 4], m![U % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
        .vector_concat::<Steps, m![U]>()
        .vector_final()
        .cast::<bf16, m![U # 16]>()
        .commit::<m![T, O / 8, U]>(AUTO);
    let heads = (ctx.main.begin(shares.view()).fetch::<bf16, m![T], m![O / 8, U]>())
        .collect::<m![T, O / 16], m![O / 8 % 2, U]>()
        .align::<m![T], m![O / 8, U], _, _>(&v)
        .contract::<m![O / 8]>()
        .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved)
        .cast::<bf16, m![O % 8 # 16]>()
        .commit::<m![T, O]>(AUTO);
    heads.relabel::<m![1], Cluster, Slice, m![T, D]>()
}

fn scores(ctx: &mut Context, images: &Images, weights: &impl Source) -> Dm<f32, m![O]> {
    use TrfAddress::{FirstHalf, SecondHalf};
    let images = images.to_dm::<Cluster, Slice, m![T, D]>(&mut ctx.tdma, AUTO);
    let embed = weights.load::<m![S = 1], 1>(ctx, 0, SecondHalf);
    let mut x: Dm<f32, m![T, O]> = product(ctx, &images, &embed).commit(AUTO);
    for block in 0..2 {
        let halves = if block == 0 { [FirstHalf, SecondHalf] } else { [SecondHalf, FirstHalf] };
        let sheet = 1 + 8 * block;
        let query = weights.load::<m![S = 1], 1>(ctx, sheet, halves[0]);
        let key_value = weights.load::<m![S = 2], 2>(ctx, sheet + 1, halves[1]);
        let before = residual(ctx, &x, 0);
        let normed = norm(ctx, &x);
        let q = product(ctx, &normed, &query).cast::<bf16, m![O % 8 # 16]>().commit::<m![T, O]>(AUTO);
        let kv = product(ctx, &normed, &key_value).cast::<bf16, m![O % 8 # 16]>().commit::<m![S = 2, T, O]>(AUTO);
        let kv = kv.relabel::<m![1], Cluster, Slice, m![S = 2, U, O]>();
        let heads = attention(ctx, &q, &kv, halves);
        let output = weights.load::<m![S = 1], 1>(ctx, sheet + 3, halves[0]);
        let up = weights.load::<m![S = 2], 2>(ctx, sheet + 4, halves[1]);
        x = product(ctx, &heads, &output)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, &before)
            .vector_final()
            .commit::<m![T, O]>(AUTO);
        let down = weights.load::<m![S = 2], 2>(ctx, sheet + 6, halves[0]);
        let before = residual(ctx, &x, 1024);
        let normed = norm(ctx, &x);
        let hidden = product(ctx, &normed, &up)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Max, 0.0)
            .vector_final()
            .cast::<bf16, m![O % 8 # 16]>()
            .commit::<m![T, S = 2, O]>(AUTO);
        let hidden = hidden.relabel::<m![1], Cluster, Slice, m![T, S = 2, D]>();
        x = (ctx.main.begin(hidden.view()).fetch::<bf16, m![T, S = 2], m![D]>())
            .collect::<m![T, S = 2, D / 16], m![D % 16]>()
            .align::<m![T, S = 2, O / 8], m![D], _, _>(&down)
            .contract::<m![1]>()
            .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, &before)
            .vector_final()
            .commit::<m![T, O]>(AUTO);
    }
    let head = weights.load::<m![S = 1], 1>(ctx, 17, FirstHalf);
    let normed = norm(ctx, &x);
    (ctx.main.begin(normed.view()).fetch::<bf16, m![T], m![D]>().collect::<m![T, D / 16], m![D % 16]>())
        .align::<m![T, O / 8], m![D], _, _>(&head)
        .contract::<m![1]>()
        .accumulate::<m![O / 8], Lanes>(AccumulationKind::Interleaved)
        .commit(AUTO)
}

#[device(chip = 1)]
fn from_hbm(ctx: &mut Context, images: &Images, sheets: &Sheets) -> Scores {
    let weights = Everywhere(sheets.to_dm(&mut ctx.tdma, 0x10000));
    scores(ctx, images, &weights).to_hbm(&mut ctx.tdma, 1 << 30)
}

#[device(chip = 1)]
fn by_switch(ctx: &mut Context, images: &Images, sheets: &Sheets) -> Scores {
    let weights = Handed(sheets.to_dm(&mut ctx.tdma, 0x10000));
    scores(ctx, images, &weights).to_hbm(&mut ctx.tdma, 1 << 30)
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let digits = std::fs::read(format!("{folder}/digits.safetensors"))?;
    let digits = SafeTensors::deserialize(&digits)?;
    let labels: Vec<i32> = digits.tensor("labels")?.data().chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
    let pixels: Vec<bf16> = digits.tensor("images")?.data().chunks(2).map(|b| bf16::from_bits(u16::from_le_bytes([b[0], b[1]]))).collect();
    let mut tokens = vec![bf16::from_f32(0.0); 512 * 8 * 32];
    for n in 0..512 { for t in 0..8 {
        let own = &mut tokens[(n * 8 + t) * 32..][..32];
        own[..8].copy_from_slice(&pixels[n * 65 + t * 8..][..8]);
        own[8 + t] = bf16::from_f32(1.0);
    } }
    let file = std::fs::read(format!("{folder}/transformer.safetensors"))?;
    let file = SafeTensors::deserialize(&file)?;
    let sheets = HostTensor::<bf16, m![S, O, D]>::from_safetensors(&file.tensor("sheets")?)?;
    let images = HostTensor::<bf16, m![G, I, T, D]>::from_slice(&tokens);
    for way in 0..2 {
        let start = std::time::Instant::now();
        let mut ctx = Context::acquire();
        let scores = pollster::block_on(async {
            let images = images.to_hbm(&mut ctx.pdma, 0).await;
            let sheets = sheets.to_hbm(&mut ctx.pdma, 1 << 20).await;
            let scores = if way == 0 { launch(from_hbm, (&mut *ctx, &images, &sheets)).await } else { launch(by_switch, (&mut *ctx, &images, &sheets)).await };
            scores.to_host::<m![G, I, O]>(&mut ctx.pdma).await.to_vec()
        });
        let right = (0..512).filter(|n| {
            let row = &scores[n * 32..][..10];
            let best = (1..10).fold(0, |b, c| if row[c] > row[b] { c } else { b });
            best as i32 == labels[*n]
        }).count();
        println!("{right} right, {} cycles, {:?}", ctx.report().kernels[0].makespan(), start.elapsed());
        println!("{}", ctx.report());
    }
    Ok(())
}
