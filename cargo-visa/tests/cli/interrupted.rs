//! Programs that are interrupted: this one, which runs itself again.

use crate::run;
use furiosa_visa_std::clock::trace::Run;
use furiosa_visa_std::prelude::*;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Names the work of the program when it runs again. No variable of the library.
const PART: &str = "CLI_INTERRUPTED_PART";

axes![A = 256, B = 64];
type X = HbmTensor<i8, m![1], m![A, B]>;

/// Goes on for so long that somebody stops it.
#[device(chip = 1)]
fn long(ctx: &mut Context, x: &X, part: &str) {
    let mut load = || drop(x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0));
    (0..100).for_each(|_| load());
    // Longer than launches are quiet on a terminal.
    std::thread::sleep(Duration::from_millis(if part == "quiet" { 2300 } else { 0 }));
    // Nobody else writes there then: the report has to wait.
    let _lock = (part == "blocked").then(|| std::io::stderr().lock());
    println!("ready");
    (0..3_000_000).for_each(|_| load());
}

#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else { return };
    if part == "handled" {
        ctrlc::set_handler(|| std::process::exit(7)).expect("there is none yet");
    }
    let mut ctx = Context::acquire();
    let x: X = pollster::block_on(HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0));
    pollster::block_on(launch(long, (&mut *ctx, &x, part.as_str())));
    panic!("nobody interrupted it");
}

/// A program that is interrupted with its report on, and that has begun its long part.
struct Program {
    child: Child,
    trace: PathBuf,
    page: PathBuf,
}

impl Program {
    fn start(part: &str) -> Self {
        let file = |end: &str| std::env::temp_dir().join(format!("visa-{}-{part}.{end}", std::process::id()));
        let (trace, page) = (file("json"), file("html"));
        let program = std::env::current_exe().expect("a test has a file");
        let child = Command::new(program)
            .args(["--exact", "interrupted::child", "--nocapture"])
            .envs([(PART, part), ("VISA_REPORT", "1")])
            .envs([("VISA_TRACE", &trace), ("VISA_HTML", &page)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("it starts");
        let mut lines = BufReader::new(child.stdout.as_mut().expect("a pipe")).lines();
        assert!(lines.any(|line| line.expect("it is text").ends_with("ready")), "it has ended");
        Self { child, trace, page }
    }

    fn interrupt(&self) {
        let command = format!("kill -INT {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.expect("there is a shell").success());
    }

    /// The code that it ends with, and what it wrote to the standard error stream.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut text).expect("it is text");
        (self.child.wait().expect("it ends").code(), text)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // After a failed test, the program still runs.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for path in [&self.trace, &self.page] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Tells if the tests were started with signals ignored, as by `nohup`: then no handler is installed.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP, SIGINT, SIGTERM.
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).expect("a number") & 0x4003 != 0)
}

/// The tool's answer for files that must be right.
fn tool(command: &str, paths: &[&Path]) -> String {
    let paths = paths.iter().map(|path| path.to_string_lossy().into_owned());
    let output = run(&[command.to_string()].into_iter().chain(paths).collect::<Vec<_>>());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    output.file.map_or(output.stdout, |(_, page)| page)
}

/// Report, trace and page are those of the commands until then. Nothing else is written to a stream that is no terminal,
/// however long the launch lasts.
#[test]
fn what_was_asked_for_is_written() {
    if is_ignored() {
        return eprintln!("skipped: signals are ignored");
    }
    let mut program = Program::start("quiet");
    program.interrupt();
    let (code, text) = program.end();
    assert_eq!(code, Some(130), "{text}");
    let mut lines = text.lines();
    let first = lines.next().expect("a report");
    let cycles = first.strip_prefix("interrupted after ").and_then(|rest| rest.split_once(" cycles: "));
    let cycles = cycles.expect(first).0;
    assert!(lines.next().is_some_and(|line| line.starts_with("system ")), "{text}");
    assert!(
        lines.next().is_some_and(|line| line.starts_with(&format!("total     {cycles} cycles, "))),
        "{text}"
    );

    let trace = std::fs::read_to_string(&program.trace).expect("a trace was written");
    let trace = Run::parse(&trace).expect("it is whole");
    assert_eq!(trace.summary["interrupted"], true);
    let [kernel] = trace.kernels.as_slice() else { panic!("{:?}", trace.kernels) };
    assert_eq!(kernel.makespan().to_string(), cycles.replace(' ', ""));
    let loads: Vec<u64> = trace
        .operations
        .iter()
        .filter(|operation| operation.operation == "to_dm")
        .map(|operation| operation.cycles)
        .collect();
    assert!(loads.len() >= 100 && loads.iter().sum::<u64>() == kernel.makespan(), "{} loads", loads.len());

    let page = std::fs::read_to_string(&program.page).expect("a page was written");
    assert!(page.starts_with("<!doctype html>") && page.contains("\"interrupted\":true"));
    // The page that is gathered while operations end is that of the trace.
    assert!(
        tool("html", &[&program.trace]) == page,
        "{} and {}",
        program.trace.display(),
        program.page.display()
    );
    let compared = tool("diff", &[&program.trace, &program.trace]);
    let end = trace.cycles;
    for name in ["before", "after"] {
        let line = format!("the run {name} was interrupted after {end} cycles");
        assert!(compared.lines().any(|other| other == line), "{compared}");
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    if is_ignored() {
        return eprintln!("skipped: signals are ignored");
    }
    let mut program = Program::start("blocked");
    program.interrupt();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(program.child.try_wait().expect("it is a child"), None, "it waits for the stream");
    // Signals that come too soon after each other are one.
    while program.child.try_wait().expect("it is a child").is_none() {
        program.interrupt();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(program.end(), (Some(130), String::new()));
}

#[test]
fn a_handler_of_the_program_stays() {
    if is_ignored() {
        return eprintln!("skipped: signals are ignored");
    }
    let mut program = Program::start("handled");
    program.interrupt();
    assert_eq!(program.end(), (Some(7), String::new()));
}
