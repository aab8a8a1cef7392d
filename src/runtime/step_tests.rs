use super::*;
use crate::clock::Channels;
use crate::runtime::output::Output;
use crate::runtime::{Placement, SimOptions, SystemHandle, try_launch};
use furiosa_visa_macros::{axes, device, m};
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use crate::prelude::*;

axes![A = 256, B = 8];
type X = HbmTensor<i32, m![1], m![A, B]>;

/// Four commands.
#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &X) -> X {
    let x = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    let more = (ctx.main.begin(x.view()).fetch::<i32, m![1], m![B]>())
        .collect::<m![1], m![B]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpI32::AddFxp, 100)
        .vector_final()
        .commit::<m![B]>(32);
    let back: X = more.to_hbm(&mut ctx.tdma, 1 << 20);
    let _again = back.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 64);
    back
}

/// The text of a terminal.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The text of a kernel for somebody who types these lines.
fn typed(lines: &str, placement: Placement) -> String {
    let screen = Screen::default();
    let system = System::new(SimOptions::default());
    let handle = SystemHandle::new(system, Output::default(), placement);
    let input = Box::new(Cursor::new(lines.to_string()));
    handle.step(Stepper::new(input, Box::new(screen.clone()), SimOptions::default().times()));
    let mut ctx = Context::on(&handle);
    pollster::block_on(async {
        let numbers: Vec<i32> = (0..2048).collect();
        let x: X = HostTensor::<i32, m![A, B]>::from_slice(&numbers).to_hbm(&mut ctx.pdma, 0).await;
        let y = try_launch(kernel, (&mut ctx, &x)).await.expect("no fault");
        let expected: Vec<i32> = (100..2148).collect();
        assert_eq!(y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_vec(), expected);
    });
    String::from_utf8(screen.0.lock().expect("one thread").clone()).expect("it is text")
}

/// The numbers of the commands at which it stopped.
fn stops(lines: &str) -> Vec<String> {
    let shown = typed(lines, Placement::Handles);
    let numbers =
        shown.lines().map(|line| line.trim_start_matches("step> ")).filter(|line| line.starts_with('#'));
    numbers.map(|line| line[1..2].to_string()).collect()
}

#[test]
fn each_command_shows_what_it_changes() {
    for placement in [Placement::Handles, Placement::Liveness] {
        let shown = typed("\n\nc\n", placement);
        let lines: Vec<&str> = shown.lines().collect();
        let heads = [
            "#1 to_dm  step_tests.rs:17:",
            "step> #2 commit  step_tests.rs:24:",
            "step> #3 to_hbm  step_tests.rs:25:",
        ];
        for (head, line) in heads.iter().zip(lines.iter().step_by(4)) {
            assert!(
                line.starts_with(head) && line.contains("  kernel  ") && line.ends_with(" cycles alone"),
                "{line}"
            );
        }
        assert!(lines[0].contains("  tdma  ") && lines[4].contains("  main  "), "{shown}");
        assert_eq!(lines[1], "   writes DM 0..32 of i32, from the first unit on");
        assert_eq!(lines[2], "   before  -  -  -  -  -  -  -  -");
        assert_eq!(lines[3], "   after   0  1  2  3  4  5  6  7");
        assert_eq!(lines[5], "   writes DM 32..64 of i32, from the first unit on");
        assert_eq!(lines[7], "   after   100  101  102  103  104  105  106  107");
        assert_eq!((lines.len(), lines[12]), (13, "step> "));
    }
}

/// Cycles are those of the report, in both uses of the switch channels.
#[test]
fn cycles_are_those_of_the_options() {
    axes![T = 128, N = 8, L = 64];
    type X = HbmTensor<i8, m![1], m![T, L]>;
    type W = HbmTensor<i8, m![1], m![N, L]>;
    /// A product whose main pass fetches more than it commits.
    #[device(chip = 1)]
    fn product(ctx: &mut Context, x: &X, w: &W) {
        let x = x.to_dm::<m![1 # 2], m![1 # 256], m![T, L]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<m![1 # 2], m![1 # 256], m![N, L]>(&mut ctx.tdma, AUTO);
        let w = (ctx.sub.begin(w.view()).fetch::<i8, m![N], m![L]>())
            .collect::<m![N, L / 32], m![L % 32]>()
            .to_trf::<m![N], m![L]>(TrfAddress::Full);
        (ctx.main.begin(x.view()).fetch::<i8, m![T], m![L]>())
            .collect::<m![T, L / 32], m![L % 32]>()
            .align::<m![T], m![L], _, _>(&w)
            .contract::<m![1]>()
            .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![T, N]>(AUTO);
    }
    let of = |channels| {
        let options = SimOptions { channels, ..SimOptions::default() };
        let screen = Screen::default();
        let handle = SystemHandle::new(System::new(options), Output::default(), Placement::Handles);
        let input = Box::new(Cursor::new("l 4\nc\n"));
        handle.step(Stepper::new(input, Box::new(screen.clone()), options.times()));
        let mut ctx = Context::on(&handle);
        pollster::block_on(async {
            let x = HostTensor::<i8, m![T, L]>::zero().to_hbm(&mut ctx.pdma, 0).await;
            let w = HostTensor::<i8, m![N, L]>::zero().to_hbm(&mut ctx.pdma, 1 << 20).await;
            try_launch(product, (&mut ctx, &x, &w)).await.expect("no fault");
        });
        let last = ctx.report().records.last().cloned();
        // Nothing runs beside it.
        let cycles = last.map(|last| last.end - last.start).expect("it ran");
        let shown = String::from_utf8(screen.0.lock().expect("one thread").clone()).expect("it is text");
        assert!(shown.contains(&format!("  main  {} cycles alone", grouped(cycles))), "{cycles} in {shown}");
        cycles
    };
    let [single, dual] = [Channels::Single, Channels::Dual].map(of);
    assert!(dual < single, "{dual} {single}");
}

#[test]
fn keys_choose_the_next_stop() {
    let path = file!();
    assert_eq!(stops("\n\n\n\n"), ["1", "2", "3", "4"]);
    assert_eq!(stops("c\n"), ["1"]);
    assert_eq!(stops(""), ["1"], "the end of the input is `c`");
    assert_eq!(stops("n 1\nn 2\n"), ["1", "2", "4"]);
    assert_eq!(stops("n 4\n"), ["1"]);
    assert_eq!(stops("l 3\nc\n"), ["1", "3"]);
    assert_eq!(stops("l step_tests.rs:26\n"), ["1", "4"]);
    assert_eq!(stops(&format!("l {path}:24\nc\n")), ["1", "2"]);
    assert_eq!(stops("l tests.rs:24\n"), ["1"], "names of files are whole");
}

#[test]
fn a_wrong_key_is_answered_with_the_keys() {
    for (key, words) in [
        ("x", "`x` is no key. "),
        ("c 2", "`c 2` is no key. "),
        ("n 0", "`n` takes a number of commands, 1 or more. "),
        ("n", "`n` takes a number of commands, 1 or more. "),
        ("l", "`l` takes FILE:LINE, or the number of a command. "),
        ("l kernel.rs:", "`l` takes FILE:LINE, or the number of a command. "),
        ("l 1", "command 1 is over: this is 1. "),
        ("?", ""),
    ] {
        let shown = typed(&format!("{key}\nc\n"), Placement::Handles);
        assert!(shown.contains(&format!("step> {words}{KEYS}\nstep> ")), "{shown}");
    }
}

#[test]
fn quitting_is_said_and_not_done_here() {
    let screen = Screen::default();
    let input = Box::new(Cursor::new("q\n"));
    let mut stepper = Stepper::new(input, Box::new(screen), SimOptions::default().times());
    assert_eq!((stepper.ask("#1"), stepper.ask("#2")), (Next::Quit, Next::GoOn));
}
