//! Launches, contexts, faults, views.

use crate::{Cluster, assert_same, block_on, init, numbers, panic_message};
use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use std::thread;

axes![A = 4, B = 64, N = 8, R = 3];
type Slice = m![A # 256];
type X = HbmTensor<i8, m![1], m![A, B]>;

/// Negates nothing, moves everything: HBM, DM, stream, DM, HBM.
#[device(chip = 1)]
fn copy(ctx: &mut Context, x: &X) -> X {
    let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
    let y: DmTensor<i8, m![1], Cluster, Slice, m![B]> = (ctx.main.begin(dm.view()))
        .fetch::<i8, m![1], m![B]>()
        .collect::<m![B / 32], m![B % 32]>()
        .commit(1 << 10);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Reads `x` at a place that was overwritten.
#[device(chip = 1)]
fn stale(ctx: &mut Context, x: &X) -> X {
    let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0); // mark: written first
    x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 40); // mark: written over it
    dm.to_hbm(&mut ctx.tdma, 1 << 20) // mark: read
}

fn sample(seed: u32) -> Vec<i8> {
    numbers(seed, 256)
}

async fn upload(ctx: &mut Context, values: &[i8]) -> X {
    let host = HostTensor::<i8, m![A, B]>::from_buf(init(values));
    host.to_hbm(&mut ctx.pdma, 0).await
}

async fn download(ctx: &mut Context, tensor: &X) -> Vec<Opt<i8>> {
    tensor.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf()
}

/// The text of the line of this file that a fault names.
fn source_line(location: &std::panic::Location<'_>) -> &'static str {
    assert!(location.file().ends_with("runtime.rs"), "{location}");
    let line = location.line() as usize - 1;
    include_str!("runtime.rs").lines().nth(line).expect("the line exists")
}

#[test]
fn both_spellings_of_the_context() {
    let values = sample(1);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = upload(&mut ctx, &values).await;
        let y = launch(copy, (&mut ctx, &x)).await;
        let z = launch(copy, (&mut *ctx, &y)).await;
        assert_same(&download(&mut ctx, &z).await, &values);
        let z = try_launch(copy, (&mut ctx, &x)).await.expect("nothing is wrong");
        let z = try_launch(copy, (&mut *ctx, &z)).await.expect("nothing is wrong");
        assert_same(&download(&mut ctx, &z).await, &values);
    });
}

#[test]
fn a_stale_read_names_both_lines_and_leaves_the_context_usable() {
    let values = sample(2);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = upload(&mut ctx, &values).await;
        let fault: Fault = try_launch(stale, (&mut ctx, &x)).await.expect_err("it is stale");
        let text = fault.to_string();
        assert_eq!(fault.kind, FaultKind::StaleRead, "{text}");
        assert!(source_line(fault.location).contains("// mark: read"), "{text}");
        assert_eq!(fault.places.len(), 2, "{text}");
        assert!(source_line(fault.places[0].location).contains("// mark: written first"), "{text}");
        assert!(source_line(fault.places[1].location).contains("// mark: written over it"), "{text}");
        let extent = fault.extent.as_ref().expect("it is in memory");
        assert_eq!((extent.bytes.start, extent.unit), (40, 0), "{text}");
        for place in [fault.location, fault.places[0].location, fault.places[1].location] {
            assert!(text.contains(&place.to_string()), "{text}");
        }

        let y = launch(copy, (&mut ctx, &x)).await;
        assert_same(&download(&mut ctx, &y).await, &values);
    });
}

#[test]
fn launch_panics_with_the_message_of_the_fault_and_leaves_the_context_usable() {
    let values = sample(3);
    let mut ctx = Context::acquire();
    let x = block_on(upload(&mut ctx, &values));
    let message = panic_message(|| block_on(launch(stale, (&mut ctx, &x))));
    assert!(message.contains("stale read") && message.contains("help: "), "{message}");

    // Panics of the kernel's own pass through both.
    #[device(chip = 1)]
    fn broken(ctx: &mut Context, x: &X) {
        x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
        panic!("a panic of the kernel");
    }
    let message = panic_message(|| block_on(launch(broken, (&mut ctx, &x))));
    assert_eq!(message, "a panic of the kernel");
    let message = panic_message(|| block_on(try_launch(broken, (&mut ctx, &x))));
    assert_eq!(message, "a panic of the kernel");

    let y = block_on(launch(copy, (&mut ctx, &x)));
    assert_same(&block_on(download(&mut ctx, &y)), &values);
}

#[test]
fn contexts_in_threads_do_not_meet() {
    let work = |seed: u32| {
        move || {
            let values = sample(seed);
            let mut ctx = Context::acquire();
            for _ in 0..20 {
                let y = block_on(async {
                    let x = upload(&mut ctx, &values).await;
                    let y = launch(copy, (&mut ctx, &x)).await;
                    download(&mut ctx, &y).await
                });
                assert_same(&y, &values);
            }
        }
    };
    let threads = [thread::spawn(work(4)), thread::spawn(work(5))];
    for thread in threads {
        thread.join().expect("the thread is done");
    }
}

#[test]
fn contexts_of_one_thread_do_not_meet() {
    let (first, second) = (sample(6), sample(7));
    block_on(async {
        let (mut one, mut two) = (Context::acquire(), Context::acquire());
        let x = upload(&mut one, &first).await;
        let y = upload(&mut two, &second).await;
        let x = launch(copy, (&mut one, &x)).await;
        let y = launch(copy, (&mut two, &y)).await;
        assert_same(&download(&mut one, &x).await, &first);
        assert_same(&download(&mut two, &y).await, &second);
    });
}

#[device(chip = 1)]
fn write_into(ctx: &mut Context, x: &X, y: &mut X) {
    let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
    dm.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
}

#[test]
#[allow(unsafe_code)] // An output that the kernel writes before it is read.
fn launch_is_lazy() {
    let values = sample(8);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = upload(&mut ctx, &values).await;
        let mut y = unsafe { X::from_addr(0x3000) };
        assert_eq!(y.address(), 0x3000);
        drop(launch(write_into, (&mut ctx, &x, &mut y)));
        assert!(download(&mut ctx, &y).await.iter().all(|value| *value == Opt::Uninit));
        drop(try_launch(write_into, (&mut ctx, &x, &mut y)));
        assert!(download(&mut ctx, &y).await.iter().all(|value| *value == Opt::Uninit));
        launch(write_into, (&mut ctx, &x, &mut y)).await;
        assert_same(&download(&mut ctx, &y).await, &values);
    });
}

#[test]
fn all_kinds_of_views() {
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, x: HbmTensorView<'_, i8, m![1], m![A, B]>, y: &mut X, z: &mut X) {
        // A helper takes views, too.
        fn load<'l>(
            ctx: &mut Context,
            x: HbmTensorView<'l, i8, m![1], m![A, B]>,
            y: DmTensorViewMut<'l, i8, m![1], Cluster, Slice, m![B]>,
        ) {
            x.to_dm_view(&mut ctx.tdma, y);
        }
        #[allow(unsafe_code)] // Both are written before they are read.
        let (mut d, mut e) = unsafe {
            let d = DmTensor::<i8, m![1], Cluster, Slice, m![B]>::from_addr(0);
            (d, DmTensor::<i8, m![1], Cluster, m![A % 2, A / 2 # 128], m![B]>::from_addr(256))
        };
        load(ctx, x, d.view_mut());
        d.view().to_dm_view(&mut ctx.tdma, e.view_mut());
        #[allow(unsafe_code)] // The commit makes it.
        let mut f = unsafe { DmTensor::<i8, m![1], Cluster, m![A % 2, A / 2 # 128], m![B]>::from_addr(512) };
        (ctx.main.begin(e.view()).fetch::<i8, m![1], m![B]>())
            .collect::<m![B / 32], m![B % 32]>()
            .commit_view(f.view_mut());
        f.view().to_hbm_view(&mut ctx.tdma, y.view_mut());
        y.view().to_hbm_view(&mut ctx.tdma, z.view_mut());
        let read_again: HbmTensorView<'_, _, _, _> = z.view_mut().into();
        assert_eq!(read_again.address(), 0x5000);
    }
    let values = sample(9);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = upload(&mut ctx, &values).await;
        #[allow(unsafe_code)] // The kernel writes them.
        let (mut y, mut z) = unsafe { (X::from_addr(0x4000), X::from_addr(0x5000)) };
        launch(kernel, (&mut ctx, x.view(), &mut y, &mut z)).await;
        assert_same(&download(&mut ctx, &y).await, &values);
        assert_same(&download(&mut ctx, &z).await, &values);
    });
}

/// `y[a, n] = Σ x[a, b] · w[n, b]`, from DM.
#[device(chip = 1)]
fn contract(
    ctx: &mut Context,
    x: &X,
    w: &HbmTensor<i8, m![1], m![N, B]>,
    load_x: bool,
    load_w: bool,
) -> HbmTensor<i32, m![1], m![A, N]> {
    #[allow(unsafe_code)] // What happens to what nobody wrote is the question.
    let (mut dm, mut weights) = unsafe {
        let dm = DmTensor::<i8, m![1], Cluster, Slice, m![B]>::from_addr(0);
        (dm, DmTensor::<i8, m![1], Cluster, Slice, m![N, B]>::from_addr(1024))
    };
    if load_x {
        x.view().to_dm_view(&mut ctx.tdma, dm.view_mut());
    }
    if load_w {
        w.view().to_dm_view(&mut ctx.tdma, weights.view_mut());
    }
    let w = (ctx.sub.begin(weights.view()).fetch::<i8, m![N], m![B]>())
        .collect::<m![N, B / 32], m![B % 32]>()
        .to_trf::<m![N], m![B]>(TrfAddress::Full);
    (ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .align::<m![1], m![B], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(1 << 14)
        .to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn a_contraction_takes_nothing_that_nobody_wrote() {
    let (values, weights) = (sample(10), numbers::<i8>(11, 512));
    let run = |values: Vec<Opt<i8>>, weights: Vec<Opt<i8>>, load_x, load_w| {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = HostTensor::<i8, m![A, B]>::from_buf(values);
            let x = x.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
            let w = HostTensor::<i8, m![N, B]>::from_buf(weights);
            let w = w.to_hbm::<m![1], m![N, B]>(&mut ctx.pdma, 4096).await;
            let y = try_launch(contract, (&mut ctx, &x, &w, load_x, load_w)).await?;
            Ok::<_, Fault>(y.to_host::<m![A, N]>(&mut ctx.pdma).await.to_buf())
        })
    };
    let found = run(init(&values), init(&weights), true, true).expect("all is written");
    let mut expected = Vec::new();
    for x in values.chunks(64) {
        for w in weights.chunks(64) {
            expected.push((x.iter().zip(w)).map(|(x, w)| i32::from(*x) * i32::from(*w)).sum::<i32>());
        }
    }
    assert_same(&found, &expected);

    for (load_x, load_w) in [(false, true), (true, false), (false, false)] {
        let fault = run(init(&values), init(&weights), load_x, load_w).expect_err("nobody wrote it");
        assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    }
    // One element is enough, on either side.
    let mut holed = init(&values);
    holed[100] = Opt::Uninit;
    let fault = run(holed, init(&weights), true, true).expect_err("one is missing");
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    let mut holed = init(&weights);
    holed[500] = Opt::Uninit;
    let fault = run(init(&values), holed, true, true).expect_err("one is missing");
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
}

#[test]
fn copied_holes_stay_holes() {
    let mut holed = init(&sample(12));
    for at in [0, 7, 63, 64, 130, 131, 255] {
        holed[at] = Opt::Uninit;
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, B]>::from_buf(holed.clone());
        let x = x.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
        let y = launch(copy, (&mut ctx, &x)).await;
        assert_eq!(download(&mut ctx, &y).await, holed);
        let x = HostTensor::<i8, m![A, B]>::uninit();
        let x = x.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
        let y = launch(copy, (&mut ctx, &x)).await;
        assert_eq!(download(&mut ctx, &y).await, vec![Opt::Uninit; 256]);
    });
}

#[test]
fn kernels_return_nothing_numbers_tensors_and_tuples() {
    #[device(chip = 1)]
    fn several(ctx: &mut Context, x: &X, scale: i32) -> (X, X, i32) {
        let dm = x.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 0);
        let first = dm.to_hbm(&mut ctx.tdma, 1 << 20);
        (first, dm.to_hbm(&mut ctx.tdma, 1 << 21), scale * 2)
    }
    let values = sample(13);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = upload(&mut ctx, &values).await;
        let (y, z, number) = launch(several, (&mut ctx, &x, 21)).await;
        assert_same(&download(&mut ctx, &y).await, &values);
        assert_same(&download(&mut ctx, &z).await, &values);
        assert_eq!(number, 42);
        assert!(z.address() == 1 << 21 && X::size() == 256);
    });
}

mod chips {
    use super::*;
    axes![G = 4];

    #[device(chip = 4)]
    fn spread(ctx: &mut Context, x: &HbmTensor<i8, m![G], m![B]>) -> HbmTensor<i8, m![G], m![B]> {
        let dm = x.to_dm::<Cluster, m![1 # 256], m![B]>(&mut ctx.tdma, 0);
        dm.to_hbm(&mut ctx.tdma, 4096)
    }

    fn context(chips: Option<usize>) -> impl std::ops::DerefMut<Target = Context> {
        Context::with(SimOptions { chips, ..SimOptions::default() })
    }

    #[test]
    fn enough_chips() {
        let values = sample(14);
        for chips in [None, Some(4), Some(8)] {
            let found = block_on(async {
                let mut ctx = context(chips);
                let host = HostTensor::<i8, m![G, B]>::from_buf(init(&values));
                let x = host.to_hbm::<m![G], m![B]>(&mut ctx.pdma, 0).await;
                let y = launch(spread, (&mut ctx, &x)).await;
                assert_eq!(ctx.chips(), chips.unwrap_or(4));
                y.to_host::<m![G, B]>(&mut ctx.pdma).await.to_buf()
            });
            assert_same(&found, &values);
        }
    }

    #[test]
    #[allow(unsafe_code)] // Nobody wrote it, but the chips are missed first.
    fn too_few_chips() {
        for chips in 1..4 {
            let mut ctx = context(Some(chips));
            let x = unsafe { HbmTensor::<i8, m![G], m![B]>::from_addr(0) };
            let fault = block_on(try_launch(spread, (&mut ctx, &x))).expect_err("there are too few");
            let text = fault.to_string();
            assert_eq!(fault.kind, FaultKind::Refused, "{text}");
            let part = format!("`spread` is for 4 chips, but the system of the context has {chips}");
            assert!(text.contains(&part) && text.contains("chips: Some(4)"), "{text}");
        }
    }

    #[test]
    fn an_upload_needs_its_chips() {
        let message = panic_message(|| {
            let mut ctx = context(Some(2));
            let host = HostTensor::<i8, m![G, B]>::zero();
            block_on(host.to_hbm::<m![G], m![B]>(&mut ctx.pdma, 0))
        });
        assert!(message.contains("needs chip 2, but the system has 2 chips"), "{message}");
    }
}

#[test]
fn systems_have_1_to_8_chips() {
    for chips in 1..=8 {
        let ctx = Context::with(SimOptions { chips: Some(chips), ..SimOptions::default() });
        assert_eq!(ctx.chips(), chips);
    }
    for chips in [0, 9] {
        let message = panic_message(|| {
            drop(Context::with(SimOptions { chips: Some(chips), ..SimOptions::default() }));
        });
        assert!(message.contains(&format!("{chips} chips")) && message.contains("1 to 8"), "{message}");
    }
}
