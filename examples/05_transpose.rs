//! A matrix changes its layout across slices, in three ways, with their cycles side by side.
//!
//! Before, slice `r` holds row `r`. After, slice `c / 8` holds eight columns, each of them contiguous:
//!
//! ```text
//!   before: slice m![R], element m![C]             after: slice m![C / 8], element m![C % 8, R]
//!
//!   slice 0    x(0,0) x(0,1) x(0,2) …              slice 0    x(0,0) x(1,0) x(2,0) … x(0,1) x(1,1) …
//!   slice 1    x(1,0) x(1,1) x(1,2) …              slice 1    x(0,8) x(1,8) x(2,8) … x(0,9) x(1,9) …
//! ```
//!
//! * **DMA alone** writes every element by itself: no two neighbours stay neighbours.
//! * **DMA and Transpose Engine**: the DMA engines move runs of 8 bytes to their slices; a pass through the Tensor Unit
//!   then exchanges 8 rows with 8 columns, block by block, inside of each slice.
//! * **Switch and Transpose Engine**: one pass. The Switch Engine sends packets of 8 bytes around the ring of 256 slices,
//!   and the Transpose Engine exchanges rows and columns of what arrives.
//!
//! Here the ring is the longest there is, and each packet fills a quarter of a flit: 256 cycles for 8 bytes per slice. The
//! DMA engines are quicker. The switch pays where rings are short: its time is ring size × packets × flits.
//!
//! Run it: `cargo run --release --example 05_transpose`

use furiosa_visa_std::clock::Report;
use furiosa_visa_std::command::MemoryKind;
use furiosa_visa_std::prelude::*;
use rand::{SeedableRng, rngs::SmallRng};

axes![R = 256, C = 2048];

/// One cluster works; the other one has nothing.
type Cluster = m![1 # 2];
type Rows = DmTensor<i8, m![1], Cluster, m![R], m![C]>;
type Columns = DmTensor<i8, m![1], Cluster, m![C / 8], m![C % 8, R]>;
type Input = HbmTensor<i8, m![1], m![R, C]>;
type Output = HbmTensor<i8, m![1], m![C, R]>;

/// Where results live in the DM of each slice, and in HBM.
const COLUMNS: u64 = 64 << 10;
const BLOCKS: u64 = 128 << 10;
const OUTPUT: u64 = 1 << 30;

/// Each element is a run of its own.
fn by_dma(ctx: &mut Context, rows: &Rows) -> Columns {
    rows.to_dm(&mut ctx.tdma, COLUMNS)
}

/// Rows of 8 elements become the elements of packets: `[R / 8, R % 8]` and `C % 8` become `[R / 8, C % 8]` and `R % 8`.
fn by_dma_and_transpose(ctx: &mut Context, rows: &Rows) -> Columns {
    let blocks = rows.to_dm::<m![C / 8], m![R, C % 8]>(&mut ctx.tdma, BLOCKS);
    (ctx.main.begin(blocks.view()))
        .fetch::<i8, m![R], m![C % 8]>()
        .collect::<m![R], m![C % 8 # 32]>()
        .transpose::<m![R / 8, C % 8], m![R % 8 # 32]>()
        .commit(COLUMNS)
}

/// The slice digit `R` and the time digit `C / 8` trade places; then rows and columns of a slice do.
fn by_switch_and_transpose(ctx: &mut Context, rows: &Rows) -> Columns {
    (ctx.main.begin(rows.view()))
        .fetch::<i8, m![C / 8], m![C % 8]>()
        .switch::<m![C / 8], m![R]>(SwitchConfig::InterTranspose { slice1: 256, slice0: 1, time0: 1 })
        .collect::<m![R], m![C % 8 # 32]>()
        .transpose::<m![R / 8, C % 8], m![R % 8 # 32]>()
        .commit(COLUMNS)
}

/// A kernel around each way: the same transfers from HBM and back.
macro_rules! kernel {
    ($kernel:ident: $way:ident) => {
        #[device(chip = 1)]
        fn $kernel(ctx: &mut Context, x: &Input) -> Output {
            let rows: Rows = x.to_dm(&mut ctx.tdma, 0);
            $way(ctx, &rows).to_hbm(&mut ctx.tdma, OUTPUT)
        }
    };
}

kernel!(dma: by_dma);
kernel!(dma_and_transpose: by_dma_and_transpose);
kernel!(switch_and_transpose: by_switch_and_transpose);

/// The operations between the transfers from and to HBM.
fn print(report: &Report) {
    let kernel = &report.kernels[0];
    let in_dm: Vec<_> = (report.records.iter())
        .filter(|record| record.kernel == kernel.call)
        .filter(|record| ![record.memories.0, record.memories.1].contains(&Some(MemoryKind::Hbm)))
        .collect();
    let cycles = in_dm.last().map_or(0, |last| last.end - in_dm[0].start);
    println!("{:22} {cycles:>8} cycles", kernel.call.name);
    for record in in_dm {
        println!("    {:18} {:>8}", record.operation, record.end - record.start);
    }
}

fn main() {
    let mut rng = SmallRng::seed_from_u64(5);
    let x = HostTensor::<i8, m![R, C]>::rand(&mut rng);
    let values = x.to_buf();
    let columns = (0..C::SIZE).flat_map(|c| (0..R::SIZE).map(move |r| r * C::SIZE + c));
    let expected: Vec<_> = columns.map(|position| values[position]).collect();
    for way in 0..3 {
        let mut ctx = Context::acquire();
        let found = pollster::block_on(async {
            let x: Input = x.to_hbm(&mut ctx.pdma, 0).await;
            let y = match way {
                0 => launch(dma, (&mut ctx, &x)).await,
                1 => launch(dma_and_transpose, (&mut ctx, &x)).await,
                _ => launch(switch_and_transpose, (&mut ctx, &x)).await,
            };
            y.to_host::<m![C, R]>(&mut ctx.pdma).await.to_buf()
        });
        assert!(found == expected, "all three give the columns");
        print(&ctx.report());
    }
}
