//! Memory of the simulator that a program of many layers takes: as much as one of few layers.

use super::system::Kept;
use crate::chip::Compute;
use crate::clock::ledger::KEPT;
use crate::clock::repeats::KEPT_ALIKE;
use crate::prelude::*;
use std::sync::Mutex;

axes![L = 4, M = 512, N = 8, K = 64];
type X = HbmTensor<i8, m![1], m![M, K]>;
type W = HbmTensor<i8, m![1], m![L, N, K]>;
type DmX = DmTensor<i8, m![1], m![1 # 2], m![M / 2], m![M % 2, K]>;

/// Steps of a layer: each loads weights, from one of several places, and multiplies by them.
const STEPS: usize = 24;
/// Commands of a step.
const COMMANDS: u64 = 4;

/// State that is kept at the end of a kernel, before the kernel is awaited.
static SEEN: Mutex<Option<Kept>> = Mutex::new(None);

#[device(chip = 1)]
fn layers(ctx: &mut Context, x: &X, w: &W, count: usize) {
    let x: DmX = x.to_dm(&mut ctx.tdma, 0);
    for step in 0..count * STEPS {
        let half = step as u64 % 2;
        let w = w.view().tile::<m![L], 1, m![1 # 4, N, K]>(step % 4);
        let w = w.to_dm::<m![1 # 2], m![M / 2], m![N, K]>(&mut ctx.tdma, 1024 + 512 * half);
        let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![N], m![K]>())
            .collect::<m![N, K / 32], m![K % 32]>()
            .to_trf::<m![N], m![K]>(if half == 0 { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf });
        let y = (ctx.main.begin(x.view()).fetch::<i8, m![M % 2], m![K]>())
            .collect::<m![M % 2, K / 32], m![K % 32]>()
            .align::<m![M % 2], m![K], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![M % 2], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![M % 2, N]>(2048 + 64 * (step as u64 % 8));
        let _: HbmTensor<i32, m![1], m![M, N]> =
            y.to_hbm(&mut ctx.tdma, (1 << 20) + ((step as u64 % 16) << 14));
    }
    *SEEN.lock().expect("nobody panics") = Some(ctx.kept());
}

/// Runs `launches` launches of `layers_each` layers. Returns the state that is kept in the end.
fn run(launches: usize, layers_each: usize) -> Kept {
    let mut ctx = Context::with(SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() });
    let (x, w) = (HostTensor::<i8, m![M, K]>::zero(), HostTensor::<i8, m![L, N, K]>::zero());
    let mut kept = None;
    pollster::block_on(async {
        let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
        let w: W = w.to_hbm(&mut ctx.pdma, 1 << 18).await;
        for _ in 0..launches {
            launch(layers, (&mut ctx, &x, &w, layers_each)).await;
            kept = SEEN.lock().expect("nobody panics").take();
        }
        let (report, map) = (ctx.report(), ctx.memory_map());
        let turns = (launches * layers_each * STEPS) as u64;
        // Two transfers of the host, and one of each kernel, come on top.
        assert_eq!(report.totals.operations, 2 + launches as u64 + turns * COMMANDS);
        let counted: u64 = report.repeats.iter().map(|repeat| repeat.count).sum();
        assert_eq!(report.records.len() as u64 + counted, report.totals.operations, "none is lost");
        assert_eq!((report.totals.left_out, map.left_out), (0, 0));
    });
    kept.expect("it was launched")
}

/// In one kernel, and in one after another: 10 and 100 layers.
#[test]
fn a_hundred_layers_keep_no_more_than_ten() {
    let few = run(1, 10);
    for (launches, layers_each) in [(1, 100), (100, 1)] {
        let many = run(launches, layers_each);
        let place = format!("{launches} launches of {layers_each} layers: {few:?}, {many:?}");
        assert_eq!(many.accesses, few.accesses, "{place}");
        assert_eq!(many.writes, few.writes, "{place}");
        assert!(many.pieces <= 2048, "{place}");
        // 4 lines of the loop, one before it, and 2 of the host.
        assert!(many.records <= 7 * KEPT_ALIKE && many.repeats <= 7, "{place}");
        assert!(many.touches <= KEPT, "{place}");
        // Commands are kept with records, at most 256 of each line of the loop instead of 240.
        assert!(0 < few.commands && many.commands < 2 * few.commands, "{place}");
        // Each step makes two tensors in DM: more than are known in the end.
        let most = crate::chip::Kept::OVERWRITTEN + many.writes;
        assert!(2 * 100 * STEPS > most && many.fillings <= most, "{place}");
    }
}
