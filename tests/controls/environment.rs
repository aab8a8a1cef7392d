//! Options from the environment, for this program as it is: it runs itself again with a variable set.

use crate::{A, B, DmX, X, Z, block_on, launched};
use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::command::*;
use furiosa_visa_std::prelude::*;
use std::process::Command;

#[device(chip = 1)]
fn stale(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 40);
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
}

/// What the program does, in one line. Alone, it passes whatever the outcome is.
#[test]
fn child() {
    match launched(CheckOptions::ALL, stale) {
        Ok(()) => println!("outcome: fine"),
        Err(fault) => println!("outcome: {}", fault.kind),
    }
}

/// Everything that the program prints, and whether it passes.
fn run(variable: &str, value: &str) -> (String, bool) {
    let program = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new(program);
    command.args(["--exact", "environment::child", "--nocapture"]).env(variable, value);
    let output = command.output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.success())
}

#[test]
fn a_program_as_it_is() {
    for (value, outcome) in [
        ("", "stale read"),
        ("all", "stale read"),
        ("none", "fine"),
        ("-stale_reads", "fine"),
        ("bounds", "fine"),
    ] {
        let (text, passed) = run("VISA_CHECKS", value);
        assert!(passed && text.contains(&format!("outcome: {outcome}\n")), "{value}: {text}");
    }
    let (text, passed) = run("VISA_CHECKS", "stale");
    assert!(
        !passed && text.contains("VISA_CHECKS=stale: `stale` is no check; help: set it to `all`"),
        "{text}"
    );
    let (text, passed) = run("VISA_MEMORY", "dirty");
    assert!(
        !passed && text.contains("VISA_MEMORY=dirty: `dirty` is nothing that memory is made of"),
        "{text}"
    );
}

/// Where tensors lie, what is told at the end, and files: of a program as it is.
#[test]
fn addresses_and_outputs() {
    let (text, passed) = run("VISA_ADDRESSES", "separate");
    assert!(passed && text.contains("outcome: fine\n"), "no two tensors share a byte: {text}");
    let (text, passed) = run("VISA_ADDRESSES", "as_given");
    assert!(passed && text.contains("outcome: stale read\n"), "{text}");
    let (text, passed) = run("VISA_MAP", "1");
    let map = "\nDM, 524288 bytes per slice: 2 tensors, at most 64 bytes needed at a time, at #2\n";
    assert!(passed && text.contains("memory map: ") && text.contains(map), "{text}");
    assert!(text.contains("| 40..104 | i8 m![B] | #3 to_dm environment.rs:"), "{text}");
    let (text, passed) = run("VISA_MAP", "0");
    assert!(passed && !text.contains("memory map: "), "{text}");
    let (text, passed) = run("VISA_REPORT", "1");
    assert!(passed && text.contains("to_dm") && !text.contains("memory map: "), "{text}");
    assert!(text.contains("VISA_REPORT=full") && !text.contains("critical path"), "{text}");
    let (text, passed) = run("VISA_REPORT", "full");
    assert!(passed && text.contains("critical path"), "{text}");
    let name = format!("visa-trace-{}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    let (text, passed) = run("VISA_TRACE", &path.to_string_lossy());
    let trace = std::fs::read_to_string(&path).expect("a trace was written");
    std::fs::remove_file(&path).expect("it is there");
    assert!(passed && trace.contains("to_dm"), "{text}");
    let path = path.with_extension("html");
    let (text, passed) = run("VISA_HTML", &path.to_string_lossy());
    let page = std::fs::read_to_string(&path).expect("a page was written");
    std::fs::remove_file(&path).expect("it is there");
    assert!(passed && page.starts_with("<!doctype html>") && page.contains("to_dm"), "{text}");
    let (text, passed) = run("VISA_JSON", &path.to_string_lossy());
    let report = std::fs::read_to_string(&path).expect("a report was written");
    assert!(passed && report.starts_with('{') && report.contains(r#""operation":"to_dm""#), "{text}");
    // One file cannot be two.
    let name = path.to_string_lossy().into_owned();
    for (first, second, words) in [
        ("VISA_TRACE", "VISA_HTML", "the page would replace the trace"),
        ("VISA_TRACE", "VISA_JSON", "the report would replace the trace"),
        ("VISA_HTML", "VISA_JSON", "the report would replace the page"),
    ] {
        let mut command = Command::new(std::env::current_exe().expect("a test has a file"));
        command.args(["--exact", "environment::child", "--nocapture"]);
        let output = command.envs([(first, &name), (second, &name)]).output().expect("it runs");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let message = format!("{second}={name}: {words}, {first}={name}; help: name two files");
        assert!(!output.status.success() && text.contains(&message), "{text}");
    }
    std::fs::remove_file(&path).expect("it is there");
    for (variable, value, message) in [
        (
            "VISA_ADDRESSES",
            "apart",
            "`apart` is no way to place tensors; help: set it to `as_given` or `separate`",
        ),
        ("VISA_CHIPS", "9", "no system has `9` chips; help: set it to a number from 1 to 8, or `any`"),
        (
            "VISA_PROFILE",
            "fast",
            "`fast` is no model of time; help: set it to `book`, `detailed` or the path of a profile file",
        ),
        (
            "VISA_COMPUTE",
            "all",
            "`all` is nothing that can be computed; help: set it to `values` or `shapes_only`",
        ),
        ("VISA_REPORT", "2", "`2` is neither on nor off; help: set it to `0`, `1` or `full`"),
        ("VISA_MAP", "on", "`on` is neither on nor off; help: set it to `0` or `1`"),
        ("VISA_TRACE", "/nowhere/t.json", "help: name a file that can be written"),
        ("VISA_HTML", "/nowhere/t.html", "help: name a file that can be written"),
        ("VISA_JSON", "/nowhere/r.json", "help: name a file that can be written"),
        ("VISA_PROFILE", "/nowhere/p.json", "no profile is read: "),
    ] {
        let (text, passed) = run(variable, value);
        assert!(
            !passed && text.contains(&format!("{variable}={value}: ")) && text.contains(message),
            "{text}"
        );
    }
}

/// Addresses that are given out: in a kernel, with marks, and until memory is full.
#[device(chip = 1)]
fn allocating(ctx: &mut Context, x: &X, _: &Z) {
    let first = ctx.alloc_dm::<i8, m![B]>();
    let mark = ctx.dm_mark();
    for _ in 0..3 {
        let address = ctx.alloc_dm::<i8, m![B]>();
        assert_eq!((first, address), (0, 64));
        let dm: DmX = x.to_dm(&mut ctx.tdma, address);
        dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
        ctx.free_dm_from(mark);
    }
    for _ in 0..(512 * 1024 - 64) / 64 {
        ctx.alloc_dm::<i8, m![B]>();
    }
    ctx.alloc_dm::<i8, m![1]>();
}

#[test]
fn a_full_memory_is_a_fault() {
    let fault = launched(CheckOptions::NONE, allocating).expect_err("the last byte is taken");
    assert_eq!(fault.kind, furiosa_visa_std::chip::FaultKind::Capacity);
    let text = fault.to_string();
    assert!(
        text.contains("alloc_dm: capacity exceeded: 1 byte does not fit: 524288 of the 524288 bytes of DM"),
        "{text}"
    );
    assert!(text.contains("environment.rs:"), "{text}");
}

/// What the TRF reads as where nobody wrote, by options.
#[test]
fn fresh_memory_reads_as_it_is_told() {
    use furiosa_visa_std::chip::{FreshMemory, SimOptions, System};
    use furiosa_visa_std::scalar::ElementType::{self, Bf16, I8};
    let read = |fresh_memory, seed, element: ElementType| {
        let mut system = System::new(SimOptions { fresh_memory, seed, ..SimOptions::default() });
        let region = crate::commands::hbm(1 << 20, element, 64);
        let transfer = crate::commands::moves(&[(64, 1, 1)]);
        let host = HostTransfer { region, transfer, host_elements: 64 };
        let buffer = system.download(&host, std::panic::Location::caller()).expect("it lies in HBM");
        assert_eq!(buffer.initialised, Some(vec![false; 64]));
        buffer.bytes
    };
    assert_eq!(read(FreshMemory::Poison, 0, I8), [0x80; 64]);
    let nan = read(FreshMemory::Poison, 0, Bf16);
    assert!(
        nan.chunks(2).all(|code| bf16::from_bits(u16::from_le_bytes([code[0], code[1]])).to_f32().is_nan())
    );
    assert_eq!(read(FreshMemory::Zero, 0, I8), [0; 64]);
    let random = read(FreshMemory::Random, 1, I8);
    assert_eq!(random, read(FreshMemory::Random, 1, I8));
    assert_ne!(random, read(FreshMemory::Random, 2, I8));
    assert!(random.iter().collect::<std::collections::HashSet<_>>().len() > 40, "{random:?}");
    // The host sees that nobody wrote it, whatever it reads as.
    let mut ctx = Context::with(SimOptions { fresh_memory: FreshMemory::Random, ..SimOptions::default() });
    #[allow(unsafe_code)] // Nobody wrote it, which is the question.
    let x = unsafe { X::from_addr(0) };
    let x = block_on(x.to_host::<m![A, B]>(&mut ctx.pdma)).to_buf();
    assert_eq!(x, vec![Opt::Uninit; 256]);
}
