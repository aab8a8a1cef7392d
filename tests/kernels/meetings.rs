//! Both clusters meet before they load what the kernel has stored to HBM.

use crate::block_on;
use furiosa_visa_std::chip::{CheckOptions, Compute};
use furiosa_visa_std::clock::{Number, Numbers, Profile, Report};
use furiosa_visa_std::prelude::*;

axes![A = 512, B = 256];

type X = HbmTensor<i8, m![1], m![A, B]>;
type One = m![1 # 2];

/// Both clusters load what one of them has stored.
#[device(chip = 1)]
fn stored_and_loaded(ctx: &mut Context, x: &X) {
    let x = x.to_dm::<One, m![A / 2], m![A % 2, B]>(&mut ctx.tdma, AUTO);
    let stored = x.to_hbm::<m![A, B]>(&mut ctx.tdma, AUTO);
    let both = stored.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
    // They have met, and nothing was stored since.
    let again = stored.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
    let stored = both.to_hbm::<m![A, B]>(&mut ctx.tdma, AUTO);
    let _ = stored.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
    drop(again);
}

/// One cluster loads, or both load something else.
#[device(chip = 1)]
fn nothing_shared(ctx: &mut Context, x: &X) {
    let dm = x.to_dm::<One, m![A / 2], m![A % 2, B]>(&mut ctx.tdma, AUTO);
    let stored = dm.to_hbm::<m![A, B]>(&mut ctx.tdma, AUTO);
    let _ = stored.to_dm::<One, m![A / 2], m![A % 2, B]>(&mut ctx.tdma, AUTO);
    let _ = x.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
}

/// A launch ends for both clusters.
#[device(chip = 1)]
fn store_all(ctx: &mut Context, x: &X) -> X {
    let dm = x.to_dm::<One, m![A / 2], m![A % 2, B]>(&mut ctx.tdma, AUTO);
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, AUTO)
}

#[device(chip = 1)]
fn load_all(ctx: &mut Context, x: &X) {
    let _ = x.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
}

fn run(options: SimOptions, run: impl AsyncFnOnce(&mut Context, &X)) -> Report {
    block_on(async {
        let mut ctx = Context::with(options);
        let x: X = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        run(&mut ctx, &x).await;
        ctx.report()
    })
}

/// Start and cycles of each meeting.
fn meetings(report: &Report) -> Vec<(u64, u64)> {
    let own = report.records.iter().filter(|record| record.operation == "clusters meet");
    own.map(|record| (record.start, record.cycles())).collect()
}

#[test]
fn clusters_meet_once_after_each_store() {
    let options = SimOptions::default();
    let report = run(options, async |ctx, x| launch(stored_and_loaded, (&mut *ctx, x)).await);
    let found = meetings(&report);
    let moves: Vec<_> =
        report.records.iter().filter(|own| ["to_dm", "to_hbm"].contains(&own.operation)).collect();
    assert_eq!(found, [(moves[1].end, 600), (moves[4].end, 600)], "{}", report.full());
    assert_eq!((moves[2].start, moves[5].start), (moves[1].end + 600, moves[4].end + 600));
    assert_eq!((report.totals.meetings, moves[3].start), (2, moves[2].end));
    let line = "reported: both clusters met 2 times before they loaded what was stored to HBM. That is";
    assert!(report.to_string().contains(line), "{report}");
    let line = "reported: both clusters loaded together 3 times. On chips, cluster 1 loads at half";
    assert!(report.to_string().contains(line), "{report}");
    assert!(report.to_json().contains("\"meetings\":2") && report.to_json().contains("\"joint_loads\":3"));

    let numbers = Numbers::default().with(Number::Synchronisation, 7500);
    let longer = run(SimOptions { numbers, ..options }, async |ctx, x| {
        launch(stored_and_loaded, (&mut *ctx, x)).await
    });
    assert_eq!(longer.headline().cycles, report.headline().cycles + 2 * (7500 - 600));
    assert!(longer.to_string().contains("profile detailed with 1 of its numbers set"), "{longer}");

    let book = SimOptions { profile: Profile::Book, ..options };
    let book = run(book, async |ctx, x| launch(stored_and_loaded, (&mut *ctx, x)).await);
    assert!(meetings(&book).is_empty() && !book.to_string().contains("reported: "), "{book}");
}

/// Of very many stores the last ones are one, from the first byte to the last: a load between them meets, once.
#[device(chip = 1)]
fn many_stores(ctx: &mut Context, x: &X, (stores, loaded): (u64, u64)) {
    let both = x.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
    for k in 0..stores {
        both.to_hbm::<m![A, B]>(&mut ctx.tdma, (1 << 30) + ((2 * k) << 20));
    }
    // SAFETY: no memory of the host is at risk.
    #[allow(unsafe_code)]
    let there = unsafe { X::from_addr((1 << 30) + (loaded << 20)) };
    let _ = there.to_dm::<m![A / 256], m![A % 256], m![B]>(&mut ctx.tdma, AUTO);
}

/// 64 stores are told apart. From the 65th on, what lies between is taken to be stored as well.
#[test]
fn stores_are_told_apart_up_to_a_limit() {
    let checks = CheckOptions::NONE;
    let options = SimOptions { compute: Compute::ShapesOnly, checks, ..SimOptions::default() };
    for (stores, loaded, expected) in
        [(64, 126, 1), (64, 125, 0), (66, 127, 1), (66, 125, 0), (66, 129, 1), (66, 0, 1)]
    {
        let report = run(options, async |ctx, x| launch(many_stores, (&mut *ctx, x, (stores, loaded))).await);
        assert_eq!(meetings(&report).len(), expected, "{stores} {loaded}");
    }
}

#[test]
fn nobody_meets_for_nothing() {
    let report = run(SimOptions::default(), async |ctx, x| {
        launch(nothing_shared, (&mut *ctx, x)).await;
        let y = launch(store_all, (&mut *ctx, x)).await;
        launch(load_all, (&mut *ctx, &y)).await;
    });
    assert!(meetings(&report).is_empty() && !report.to_string().contains("met "), "{report}");
    assert_eq!(report.totals.joint_loads, 2, "{report}");
}
