//! A kernel has one thread: commands of others have no order. How many the simulating machine has decides nothing.

use crate::{Cluster, block_on, init, numbers};
use furiosa_visa_std::chip::{CheckOptions, Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

axes![A = 256, B = 64];
type X = HbmTensor<i8, m![1], m![A, B]>;
type D = DmTensor<i8, m![1], Cluster, m![A], m![B]>;

/// What `tdma` writes in one thread is read in another one, through a bare address: nothing orders the two.
#[device(chip = 1)]
fn in_threads(ctx: &mut Context, x: &X) -> X {
    let Context { main, tdma, .. } = ctx;
    thread::scope(|scope| {
        let moved = scope.spawn(|| x.to_dm::<Cluster, m![A], m![B]>(tdma, 0)); // mark: first
        let _ = moved.join();
    });
    #[allow(unsafe_code)] // The order check is what is tested.
    let d = unsafe { D::from_addr(0) };
    let y: D =
        (main.begin(d.view()).fetch::<i8, m![1], m![B]>()).collect::<m![B / 32], m![B % 32]>().commit(1024); // mark: second
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// The end of the scope panics: its thread was refused.
#[device(chip = 1)]
fn unjoined(ctx: &mut Context, x: &X) {
    thread::scope(|scope| {
        scope.spawn(|| {
            x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0); // mark: first
        });
    });
}

#[device(chip = 1)]
fn in_its_thread(ctx: &mut Context, x: &X) {
    x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0);
    thread::scope(|scope| {
        // What does not talk to the chip may be anywhere.
        scope.spawn(|| numbers::<i8>(1, 10));
    });
}

fn run<K, T>(kernel: K, checks: CheckOptions) -> Result<(), Fault>
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X), Output = T>,
{
    block_on(async {
        let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::from_buf(init(&numbers(1, 256 * 64)));
        let x: X = x.to_hbm(&mut ctx.pdma, 4096).await;
        let outcome = try_launch(kernel, (&mut *ctx, &x)).await.map(|_| ());
        // The context stays usable, from any thread.
        thread::scope(|scope| {
            scope.spawn(|| block_on(launch(in_its_thread, (&mut *ctx, &x)))).join().unwrap()
        });
        outcome
    })
}

#[test]
fn commands_of_other_threads_are_refused() {
    for fault in [
        run(in_threads, CheckOptions::ALL).expect_err("the first thread is refused"),
        run(unjoined, CheckOptions::ALL).expect_err("its thread is refused"),
    ] {
        let text = fault.to_string();
        assert_eq!(fault.kind, FaultKind::Unordered, "{text}");
        let line = include_str!("threads.rs")
            .lines()
            .nth(fault.location.line() as usize - 1)
            .expect("the line exists");
        assert!(line.ends_with("// mark: first"), "{text}");
        assert!(
            text.contains("fault: DMA: unordered access: the command comes from another thread"),
            "{text}"
        );
        assert!(text.contains("`in_threads`") || text.contains("`unjoined`"), "{text}");
    }
    run(in_its_thread, CheckOptions::ALL).expect("it has one thread");
}

/// A launch that waits twice for another thread: until it may go on, and until it has gone on.
static MEETING: Barrier = Barrier::new(2);

#[device(chip = 1)]
fn waits(main: &mut TuContext<{ Tu::Main }>) {
    let _ = main;
    MEETING.wait();
    MEETING.wait();
}

/// What becomes of a launch on a part of the context, and of transfers of the host that another part does meanwhile.
fn beside_a_launch(checks: CheckOptions) -> (Result<(), Fault>, [Option<String>; 2]) {
    let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
    let host = HostTensor::<i8, m![A, B]>::from_buf(init(&numbers(1, 256 * 64)));
    let x: X = block_on(host.to_hbm(&mut ctx.pdma, 4096));
    let Context { main, pdma, .. } = &mut *ctx;
    let panicked = |work: &mut dyn FnMut()| {
        let result = catch_unwind(AssertUnwindSafe(work));
        result.err().map(|payload| *payload.downcast::<String>().expect("a message"))
    };
    let outcome = thread::scope(|scope| {
        let transfers = scope.spawn(|| {
            MEETING.wait();
            let up = panicked(&mut || {
                let _: X = block_on(host.to_hbm(pdma, 1 << 20)); // mark: up
            });
            let down = panicked(&mut || drop(block_on(x.to_host::<m![A, B]>(pdma)))); // mark: down
            MEETING.wait();
            [up, down]
        });
        let launched = block_on(try_launch(waits, main));
        (launched, transfers.join().expect("panics were caught"))
    });
    // Nothing is left of it.
    let y: X = block_on(host.to_hbm(&mut ctx.pdma, 1 << 20));
    block_on(y.to_host::<m![A, B]>(&mut ctx.pdma));
    block_on(launch(in_its_thread, (&mut *ctx, &y)));
    outcome
}

/// The host has the parts of a context that a launch was not given: it waits for the end of the launch, too.
#[test]
fn transfers_of_the_host_wait_for_a_launch() {
    let (launched, transfers) = beside_a_launch(CheckOptions::ALL);
    let fault = launched.expect_err("the launch reports what was given beside it");
    assert_eq!(fault.kind, FaultKind::Unordered, "{fault}");
    for (transfer, operation) in transfers.into_iter().zip(["to_hbm", "to_host"]) {
        let text = transfer.expect("it is refused");
        let start = format!(
            "fault: {operation}: unordered access: the command comes from another thread than that of the"
        );
        assert!(text.starts_with(&start) && text.contains("kernel `waits`"), "{text}");
        assert!(text.contains("threads.rs") && text.contains("wait for the end of the launch"), "{text}");
    }
    let unchecked = CheckOptions { order: false, ..CheckOptions::ALL };
    assert_eq!(beside_a_launch(unchecked), (Ok(()), [None, None]));
}

/// Without the check, the commands are those of the kernel.
#[test]
fn unchecked_threads_belong_to_the_kernel() {
    run(in_threads, CheckOptions { order: false, ..CheckOptions::ALL }).expect("the order is not checked");
    run(unjoined, CheckOptions { order: false, ..CheckOptions::ALL }).expect("the order is not checked");
}

/// The simulating machine has threads of its own, which share large moves.
#[cfg(feature = "parallel")]
mod of_the_simulation {
    use crate::{block_on, init, numbers};
    use furiosa_visa_std::chip::FaultKind;
    use furiosa_visa_std::prelude::*;

    axes![C = 2, S = 256, R = 64, L = 48];
    type Stored<D> = HbmTensor<D, m![1], m![S, R, C, L]>;
    type Turned<D> = HbmTensor<D, m![1], m![R, C, S, L]>;

    /// Where 30 of the blocks of 24 KiB of `Turned<i8>` lie before the start of a page of the simulated HBM, which has 1 MiB.
    const TURNED: u64 = (5 << 20) - 30 * 24_576;

    macro_rules! turns {
        ($($name:ident: $d:ty, $row:tt);*) => { $(
            #[device(chip = 1)]
            fn $name(ctx: &mut Context, x: &Stored<$d>) -> Turned<$d> {
                let d = x.to_dm::<m![C], m![S], m! $row>(&mut ctx.tdma, 128);
                d.to_hbm(&mut ctx.tdma, TURNED)
            }
        )* };
    }
    turns!(turn: i8, [R, L]; turn_padded: i8, [R, L # 64]; turn_half_bytes: i4, [R, L # 64]);

    /// All slices get the same, which lies in HBM as often then.
    #[device(chip = 1)]
    fn spread(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![R, L]>) -> HbmTensor<i8, m![1], m![C, S, R, L]> {
        let d = x.to_dm::<m![C], m![S], m![R, L]>(&mut ctx.tdma, 8192);
        d.to_hbm(&mut ctx.tdma, TURNED)
    }

    #[device(chip = 1)]
    fn past_the_end(ctx: &mut Context, x: &Stored<i8>) {
        x.to_dm::<m![C], m![S], m![R, L # 64]>(&mut ctx.tdma, 510 * 1024);
    }

    fn turned<D: Copy>(values: &[D]) -> Vec<D> {
        let places = (0..64).flat_map(|r| (0..2).flat_map(move |c| (0..256).map(move |s| (r, c, s))));
        places.flat_map(|(r, c, s)| values[((s * 64 + r) * 2 + c) * 48..][..48].iter().copied()).collect()
    }

    /// The time of all commands and the text of the fault, with so many threads.
    fn run(threads: usize) -> (Vec<(&'static str, u64, u64)>, String) {
        let bytes: Vec<i8> = numbers(1, 2 * 256 * 64 * 48);
        let half_bytes: Vec<i4> = numbers(2, 2 * 256 * 64 * 48);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        pool.install(|| {
            block_on(async {
                let mut ctx = Context::with(SimOptions::default());
                let host = HostTensor::<i8, m![S, R, C, L]>::from_buf(init(&bytes));
                let x: Stored<i8> = host.to_hbm(&mut ctx.pdma, 0).await;
                let y = launch(turn, (&mut *ctx, &x)).await;
                let found = y.to_host::<m![R, C, S, L]>(&mut ctx.pdma).await.to_vec();
                assert!(found == turned(&bytes), "i8, {threads} threads");
                let y = launch(turn_padded, (&mut *ctx, &x)).await;
                let found = y.to_host::<m![R, C, S, L]>(&mut ctx.pdma).await.to_vec();
                assert!(found == turned(&bytes), "padded i8, {threads} threads");
                let fault = try_launch(past_the_end, (&mut *ctx, &x)).await.expect_err("DM ends before it");
                assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");

                let host = HostTensor::<i4, m![S, R, C, L]>::from_buf(init(&half_bytes));
                let x: Stored<i4> = host.to_hbm(&mut ctx.pdma, 0).await;
                let y = launch(turn_half_bytes, (&mut *ctx, &x)).await;
                let found = y.to_host::<m![R, C, S, L]>(&mut ctx.pdma).await.to_vec();
                assert!(found == turned(&half_bytes), "i4, {threads} threads");

                let host = HostTensor::<i8, m![R, L]>::from_buf(init(&bytes[..64 * 48]));
                let x: HbmTensor<i8, m![1], m![R, L]> = host.to_hbm(&mut ctx.pdma, 0).await;
                let y = launch(spread, (&mut *ctx, &x)).await;
                let found = y.to_host::<m![C, S, R, L]>(&mut ctx.pdma).await.to_vec();
                assert!(found == bytes[..64 * 48].repeat(512), "a slice's, {threads} threads");

                let records = ctx.report().records;
                let times = records.iter().map(|record| (record.operation, record.start, record.end));
                (times.collect(), fault.to_string())
            })
        })
    }

    #[test]
    fn large_moves_do_not_depend_on_threads() {
        assert_eq!(run(1), run(2));
    }
}
