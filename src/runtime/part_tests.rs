use crate::command::ContextKind;
use crate::prelude::*;
use crate::runtime::Placement;

axes![A = 256, B = 8];
type X = HbmTensor<i32, m![1], m![A, B]>;

/// Loads and stores in two layers; the last load is in no part of them.
#[device(chip = 1)]
fn layers(ctx: &mut Context, x: &X) {
    for layer in 0..2 {
        ctx.part(&format!("layer {layer}/load"));
        let x = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
        ctx.part(&format!("layer {layer}/add"));
        let more: DmTensor<i32, m![1], m![1 # 2], m![A], m![B]> =
            (ctx.main.begin(x.view()).fetch::<i32, m![1], m![B]>())
                .collect::<m![1], m![B]>()
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_clip(ClipBinaryOpI32::AddFxp, 100)
                .vector_final()
                .commit(AUTO);
        let _: X = more.to_hbm(&mut ctx.tdma, AUTO);
    }
    ctx.part("");
    x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
}

/// A kernel that names no part, behind one whose last part was not ended.
#[device(chip = 1)]
fn plain(ctx: &mut Context, x: &X) {
    x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
}

#[device(chip = 1)]
fn open(ctx: &mut Context, x: &X) {
    ctx.part("open");
    x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
}

#[test]
fn parts_have_the_operations_behind_their_names() {
    for placement in [Placement::Liveness, Placement::Handles] {
        let mut ctx = Context::with(SimOptions { placement, ..SimOptions::default() });
        pollster::block_on(async {
            let x: X = HostTensor::<i32, m![A, B]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
            launch(layers, (&mut *ctx, &x)).await;
            launch(open, (&mut *ctx, &x)).await;
            launch(plain, (&mut *ctx, &x)).await;
        });
        let report = ctx.report();
        let parts: Vec<_> =
            report.parts.iter().map(|part| (&*part.name, part.operations, part.hbm_bytes)).collect();
        let bytes = 4 * 256 * 8;
        let expected = [
            ("", 2, 2 * bytes),
            ("layer 0/load", 1, bytes),
            ("layer 0/add", 2, bytes),
            ("layer 1/load", 1, bytes),
            ("layer 1/add", 2, bytes),
            ("open", 1, bytes),
        ];
        assert_eq!(parts, expected, "{placement:?}");
        // Passes and what they wait for are the time of the kernel up to the last pass.
        let last = report.records.iter().rfind(|record| record.context == ContextKind::Main);
        let end = last.expect("a pass").end - report.kernels[0].start;
        assert_eq!(report.parts.iter().map(|part| part.main_cycles()).sum::<u64>(), end);
        let (text, json) = (report.full().to_string(), report.to_json());
        for words in ["cycles by part, up to the `/` of its name", "| layer 1 |", "| load ", "| no part |"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(json.contains(r#""name":"layer 1""#), "{json}");
    }
}
