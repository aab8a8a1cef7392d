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
    assert!(!passed && text.contains("VISA_MEMORY=dirty: memory is not made of `dirty`"), "{text}");
}

/// What the TRF reads as where nobody wrote, by options.
#[test]
fn fresh_memory_reads_as_it_is_told() {
    use furiosa_visa_std::chip::{FreshMemory, System, SystemOptions};
    use furiosa_visa_std::scalar::ElementType::{self, Bf16, I8};
    let read = |fresh_memory, seed, element: ElementType| {
        let mut system = System::new(SystemOptions { fresh_memory, seed, ..SystemOptions::default() });
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
