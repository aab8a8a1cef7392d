//! A convolution of 3 x 3 over real images, without a copy of a pixel: windows are loops of the fetch.
//!
//! ```text
//!   images   N = 512 of H = W = 8 pixels       2 images per slice
//!   filters  F = 8, KH = KW = 3                in the 8 rows of the TRF
//!   result   N, OH = OW = 6, F
//!
//!   out[n, oh, ow, f] = Σ image[n, oh + kh, ow + kw] · filter[f, kh, kw]
//!
//!   a packet m![OW # 8]: a row of places, of which all meet the same tap of a filter. The nine of the first row:
//!
//!   kh = 0, kw = 0   ▣▣▣▣▣▣··     kw = 1   ·▣▣▣▣▣▣·     kw = 2   ··▣▣▣▣▣▣     kh = 1, kw = 0   ········
//!                    ········              ········              ········                      ▣▣▣▣▣▣··    …
//!                    ········              ········              ········                      ········
//! ```
//!
//! Each step reads the row a pixel further, and the accumulator adds the nine taps. The same sums from a tensor that
//! holds the nine pixels of every place side by side (im2col) need that tensor first: a pass that copies the windows. The
//! example runs both, in int8 and in bf16, compares every sum with the host, bit for bit, and prints the cycles.
//!
//! `visa plan` finds the windows, too, and packets of places: `08_convolution/planned.rs`. Nearly all of the time by hand goes to
//! copies of the filters, one for each of 256 slices. The plan takes 4 images to a slice, so that half as many slices of each
//! cluster need one.
//!
//! | int8 | cycles |
//! |---|---|
//! | by hand, with windows | 28 806 |
//! | planned | 5 135 |
//!
//! Images and credit: `data/README.md`. Run it: `cargo run --release --example 08_convolution`

use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use std::error::Error;

#[path = "08_convolution/planned.rs"]
mod planned;

axes![N = 512, P = 65, H = 8, W = 8, OH = 6, OW = 6, KH = 3, KW = 3, F = 8];

type Cluster = m![1 # 2];
type Slice = m![N / 2];
/// A row of places.
type Places = m![OW # 8];
/// The taps of a filter, or the pixels that it meets at a place.
type Patch = m![KH, KW # 8];
/// The same in whole flits of either type.
type Flits = m![[KH, KW # 8] # 32];

type Images<D> = HbmTensor<D, m![1], m![N, H, W]>;
type Filters<D> = HbmTensor<D, m![1], m![F, [KH, KW] # 16]>;
type Sums<S> = HbmTensor<S, m![1], m![N, OH, OW, F]>;

/// The kernels of one type. `flit`: its elements in 32 bytes; `packet`: in 64.
macro_rules! kernels {
    ($name:ident: $d:ty => $s:ty, flit $flit:literal, packet $packet:literal) => {
        mod $name {
            use super::*;

            /// The filters, one per row of the TRF.
            fn rows(
                ctx: &mut Context,
                filters: &Filters<$d>,
            ) -> TrfTensor<$d, m![1], Cluster, Slice, m![F], Flits> {
                let filters = filters.to_dm::<Cluster, Slice, m![F, [KH, KW] # 16]>(&mut ctx.tdma, 1 << 12);
                // In the main context, which masks: the padding of each row of taps is zero.
                (ctx.main.begin(filters.view()).fetch::<$d, m![F], Patch>())
                    .collect::<m![F, { Flits } / $flit], m![{ Flits } % $flit]>()
                    .to_trf(TrfAddress::Full)
            }

            /// By windows: a step per tap and row of places.
            #[device(chip = 1)]
            pub fn windows(ctx: &mut Context, images: &Images<$d>, filters: &Filters<$d>) -> Sums<$s> {
                let filters = rows(ctx, filters);
                let images = images.to_dm::<Cluster, Slice, m![N % 2, H, W]>(&mut ctx.tdma, 0);
                let view = images.view();
                let view = view.windows::<m![H], m![OH], m![KH], 1, 1>().windows::<m![W], m![OW], m![KW], 1, 1>();
                let sums = (ctx.main.begin(view).fetch::<$d, m![N % 2, OH, KH, KW], Places>())
                    .collect::<m![N % 2, OH, KH, KW], m![{ Places } # $flit]>()
                    .align::<m![N % 2, OH, KH, KW], m![{ Places } # $packet], _, _>(&filters)
                    .contract::<Places>()
                    .accumulate::<m![N % 2, OH, OW], m![F]>(AccumulationKind::Interleaved)
                    .commit::<m![N % 2, OH, OW, F]>(1 << 14);
                sums.to_hbm(&mut ctx.tdma, 1 << 26)
            }

            /// By im2col: a pass copies the windows, and a step per place adds what is side by side then.
            #[device(chip = 1)]
            pub fn im2col(ctx: &mut Context, images: &Images<$d>, filters: &Filters<$d>) -> Sums<$s> {
                let filters = rows(ctx, filters);
                let images = images.to_dm::<Cluster, Slice, m![N % 2, H, W]>(&mut ctx.tdma, 0);
                let view = images.view();
                let view = view.windows::<m![H], m![OH], m![KH], 1, 1>().windows::<m![W], m![OW], m![KW], 1, 1>();
                let patches = (ctx.main.begin(view).fetch::<$d, m![N % 2, OH, OW, KH], m![KW # 8]>())
                    .collect::<m![N % 2, OH, OW, KH], m![KW # $flit]>()
                    .commit::<m![N % 2, OH, OW, { Patch }]>(1 << 15);
                let sums = (ctx.main.begin(patches.view()).fetch::<$d, m![N % 2, OH, OW], Patch>())
                    .collect::<m![N % 2, OH, OW, { Flits } / $flit], m![{ Flits } % $flit]>()
                    .align::<m![N % 2, OH, OW], m![{ Flits } # $packet], _, _>(&filters)
                    .contract::<m![1]>()
                    .accumulate::<m![N % 2, OH, OW], m![F]>(AccumulationKind::Interleaved)
                    .commit::<m![N % 2, OH, OW, F]>(1 << 14);
                sums.to_hbm(&mut ctx.tdma, 1 << 26)
            }

            /// The sums of both kernels, and their reports.
            pub fn run(images: &[$d], filters: &[$d]) -> [(Vec<$s>, Report); 2] {
                let (images, filters) = (init(images), init(filters));
                macro_rules! launched {
                    ($kernel:ident) => {
                        pollster::block_on(async {
                            let mut ctx = Context::acquire();
                            let images = HostTensor::<$d, m![N, H, W]>::from_buf(images.clone());
                            let filters = HostTensor::<$d, m![F, KH, KW]>::from_buf(filters.clone());
                            let images = images.to_hbm(&mut ctx.pdma, 0).await;
                            let filters = filters.to_hbm(&mut ctx.pdma, 1 << 20).await;
                            let sums = launch($kernel, (&mut ctx, &images, &filters)).await;
                            let sums = sums.to_host::<m![N, OH, OW, F]>(&mut ctx.pdma).await;
                            (sums.to_buf().iter().map(|sum| sum.unwrap()).collect(), ctx.report())
                        })
                    };
                }
                [launched!(windows), launched!(im2col)]
            }
        }
    };
}
kernels!(int8: i8 => i32, flit 32, packet 64);
kernels!(brain: bf16 => f32, flit 16, packet 32);

/// The sums of the planned kernel, and its report.
fn run_planned(images: &[i8], filters: &[i8]) -> (Vec<i32>, Report) {
    use planned::{F, H, HbmW, HbmX, HbmY, InH, InW, N, W, X, Y};
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let images = HostTensor::<i8, m![N, InH, InW]>::from_slice(images);
        let filters = HostTensor::<i8, m![F, Y, X]>::from_slice(filters);
        let images: HbmX = images.to_hbm(&mut ctx.pdma, 0).await;
        let filters: HbmW = filters.to_hbm(&mut ctx.pdma, 1 << 20).await;
        let mut sums: HbmY = HostTensor::<i32, m![N, H, W, F]>::zero().to_hbm(&mut ctx.pdma, 2 << 20).await;
        launch(planned::contraction, (&mut ctx, &images, &filters, &mut sums)).await;
        (sums.to_host::<m![N, H, W, F]>(&mut ctx.pdma).await.to_vec(), ctx.report())
    })
}

fn init<D: Scalar>(values: &[D]) -> Vec<Opt<D>> {
    values.iter().copied().map(Opt::Init).collect()
}

/// Edges in four directions, corners, and smoothing.
const FILTERS: [[i8; 9]; 8] = [
    [-1, 0, 1, -2, 0, 2, -1, 0, 1],
    [-1, -2, -1, 0, 0, 0, 1, 2, 1],
    [0, 1, 2, -1, 0, 1, -2, -1, 0],
    [-2, -1, 0, -1, 0, 1, 0, 1, 2],
    [0, 1, 0, 1, -4, 1, 0, 1, 0],
    [-1, -1, -1, -1, 8, -1, -1, -1, -1],
    [1, 2, 1, 2, 4, 2, 1, 2, 1],
    [0, -1, 0, -1, 5, -1, 0, -1, 0],
];

/// The sums as loops make them.
fn convolved(images: &[i8]) -> Vec<i32> {
    let mut sums = Vec::new();
    for image in images.chunks_exact(64) {
        for (oh, ow) in (0..6).flat_map(|oh| (0..6).map(move |ow| (oh, ow))) {
            for filter in FILTERS {
                let product =
                    |k: usize| i32::from(filter[k]) * i32::from(image[(oh + k / 3) * 8 + ow + k % 3]);
                sums.push((0..9).map(product).sum());
            }
        }
    }
    sums
}

/// What the passes over the images take, without the ways from HBM and back.
fn cycles_in_passes(report: &Report) -> u64 {
    let passes: Vec<_> = report.records.iter().filter(|record| record.operation == "commit").collect();
    passes.iter().map(|pass| pass.end - pass.start).sum()
}

fn print(name: &str, [windows, im2col]: [&Report; 2]) {
    let passes = [windows, im2col].map(cycles_in_passes);
    let all = [windows, im2col].map(|report| report.kernels[0].makespan());
    println!("{name}   windows {:>7} cycles in passes, {:>7} in all", passes[0], all[0]);
    println!("       im2col  {:>7} cycles in passes, {:>7} in all", passes[1], all[1]);
    assert!(passes[0] < passes[1] && all[0] < all[1], "windows should be faster");
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.safetensors");
    let file = std::fs::read(path)?;
    let file = safetensors::SafeTensors::deserialize(&file)?;
    let images = HostTensor::<bf16, m![N, P]>::from_safetensors(&file.tensor("images")?)?;
    // Without the constant behind the pixels, which are sixteenths from 0 to 1.
    let pixels: Vec<f32> =
        images.to_buf().chunks_exact(65).flat_map(|row| &row[..64]).map(|x| f32::from(x.unwrap())).collect();
    let codes: Vec<i8> = pixels.iter().map(|x| (x * 16.0) as i8).collect();
    let expected = convolved(&codes);

    let filters = FILTERS.as_flattened();
    let [(windows, by_windows), (im2col, by_im2col)] = int8::run(&codes, filters);
    assert!(windows == expected && im2col == expected, "the sums of int8 are those of the host");
    print("int8", [&by_windows, &by_im2col]);
    let (sums, report) = run_planned(&codes, filters);
    assert!(sums == expected, "the sums of the plan are those of the host");
    let [hand, planned] = [&by_windows, &report].map(|report| report.kernels[0].makespan());
    println!("       planned {:>7} cycles in passes, {planned:>7} in all", cycles_in_passes(&report));
    assert!(planned <= hand, "the plan should not be slower than what was written by hand");

    let numbers: Vec<bf16> = pixels.iter().map(|x| bf16::from_f32(*x)).collect();
    let wide: Vec<bf16> = filters.iter().map(|tap| bf16::from_f32(f32::from(*tap))).collect();
    let [(windows, by_windows), (im2col, by_im2col)] = brain::run(&numbers, &wide);
    // Sixteenths: no sum is rounded, in whatever order it is added.
    let same = |sums: &[f32]| sums.iter().zip(&expected).all(|(sum, own)| *sum == *own as f32 / 16.0);
    assert!(
        windows.len() == expected.len() && same(&windows) && same(&im2col),
        "the sums of bf16 are those of the host"
    );
    print("bf16", [&by_windows, &by_im2col]);

    println!("\nall {} sums of both types are those of the host, bit for bit\n", expected.len());
    let shades =
        |value: i32, most: i32| [' ', '.', ':', 'o', '#'][(value.clamp(0, most) * 4 / most) as usize];
    println!("the first image, and its edges (filter 5)");
    for h in 0..8 {
        let image: String = (0..8).map(|w| shades(codes[h * 8 + w].into(), 16)).collect();
        let places = |ow: usize| shades(expected[(((h - 1) * 6) + ow) * 8 + 5], 64);
        let edges: String = if (1..7).contains(&h) { (0..6).map(places).collect() } else { String::new() };
        println!("  {image}    {edges}");
    }
    Ok(())
}
