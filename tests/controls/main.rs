//! Control programs: for each check, programs that it must flag and close neighbours that it must not.
//!
//! A control that stops firing fails here, and so does a check that flags a program beside it. A flagged program is run
//! three times more: with its check alone, which must flag it the same way; without its check, which must not; and
//! without any, which must do nothing but run.

#![allow(clippy::type_complexity)] // A mapping is a nested type, however short it is written.

mod accesses;
mod commands;
mod contexts;
mod copies;
mod environment;
mod fresh;
mod memset;
mod order;
mod orders;
mod padding;
mod rows;
mod sdk;
mod separate;
mod stale;
mod streams;
mod tutorial;
mod uninitialised;
mod windows;
mod writes;

#[path = "../replay/mod.rs"]
mod replay;

use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use std::panic::Location;

axes![A = 4, B = 64];

/// One cluster of two works.
pub type Cluster = m![1 # 2];
/// Four slices hold something.
pub type Slice = m![A # 256];
/// What every kernel is given, at HBM address 0.
pub type X = HbmTensor<i8, m![1], m![A, B]>;
/// A row of it in each slice.
pub type DmX = DmTensor<i8, m![1], Cluster, Slice, m![B]>;
/// Wider numbers, at HBM address 4096.
pub type Z = HbmTensor<i32, m![1], m![A, B]>;

/// A program, run with the given checks.
pub type Program = fn(CheckOptions) -> Result<(), Fault>;

/// A program and what becomes of it.
pub struct Control {
    name: &'static str,
    program: Program,
    flagged: Option<Flagged>,
}

/// What a fault must say.
struct Flagged {
    kind: FaultKind,
    /// The comments at the ends of the lines that it names, the refused call first.
    lines: &'static [&'static str],
    /// Parts of the message.
    text: &'static [&'static str],
}

/// A program that is flagged.
pub fn flagged(
    name: &'static str,
    program: Program,
    kind: FaultKind,
    lines: &'static [&'static str],
    text: &'static [&'static str],
) -> Control {
    Control { name, program, flagged: Some(Flagged { kind, lines, text }) }
}

/// A close neighbour that is not flagged.
pub fn fine(name: &'static str, program: Program) -> Control {
    Control { name, program, flagged: None }
}

/// Runs the controls of a check.
#[track_caller]
pub fn check(check: Check, controls: &[Control]) {
    let (bad, good): (Vec<_>, Vec<_>) = controls.iter().partition(|control| control.flagged.is_some());
    assert!(bad.len() >= 3 && good.len() >= 3, "{check}: {} flagged, {} not", bad.len(), good.len());
    for control in good {
        if let Err(fault) = (control.program)(CheckOptions::ALL) {
            panic!("{check}: `{}` must not be flagged, but:\n{fault}", control.name);
        }
    }
    for control in bad {
        let Control { name, program, flagged: Some(expected) } = control else { continue };
        for checks in [CheckOptions::ALL, CheckOptions::NONE.with(check, true)] {
            match program(checks) {
                Err(fault) => compare(name, &fault, expected),
                Ok(()) => panic!("{check}: `{name}` must be flagged with {checks:?}"),
            }
        }
        let without = program(CheckOptions::ALL.with(check, false));
        let other = without.as_ref().err().is_none_or(|fault| fault.kind != expected.kind);
        assert!(other, "{check}: `{name}` is flagged although the check is off:\n{}", without.unwrap_err());
        if let Err(fault) = program(CheckOptions::NONE) {
            panic!("{check}: `{name}` is flagged although all checks are off:\n{fault}");
        }
    }
}

fn compare(name: &str, fault: &Fault, expected: &Flagged) {
    let text = fault.to_string();
    assert_eq!(fault.kind, expected.kind, "`{name}`: {text}");
    let found = core::iter::once(fault.location).chain(fault.places.iter().map(|place| place.location));
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), expected.lines.len(), "`{name}`: {text}");
    for (location, mark) in found.iter().zip(expected.lines) {
        let line = line_of(location);
        assert!(line.ends_with(&format!("// {mark}")), "`{name}` names `{line}`, not `{mark}`: {text}");
        assert!(text.contains(&format!("  --> {location}\n")), "`{name}`: {location} is not in: {text}");
    }
    for part in expected.text {
        assert!(text.contains(part), "`{name}`: `{part}` is not in: {text}");
    }
    assert!(text.starts_with("fault: ") && text.contains("\nhelp: "), "`{name}`: {text}");
}

/// The text of the line that a fault names.
fn line_of(location: &Location<'_>) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(location.file());
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    source.lines().nth(location.line() as usize - 1).expect("the line exists").trim().to_string()
}

/// A context with these checks.
pub fn context(checks: CheckOptions) -> furiosa_visa_std::runtime::ContextGuard {
    Context::with(SimOptions { checks, ..SimOptions::default() })
}

/// Runs a host program.
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}

/// Launches a kernel over tensors of which the elements with these numbers were never written.
pub fn launched_with<K>(checks: CheckOptions, kernel: K, holes: &[usize]) -> Result<(), Fault>
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a Z), Output = ()>,
{
    let value = |k: usize| if holes.contains(&k) { Opt::Uninit } else { Opt::Init((k % 251) as u8 as i8) };
    let wide = |k: usize| if holes.contains(&k) { Opt::Uninit } else { Opt::Init(k as i32 * 1001) };
    block_on(async {
        let mut ctx = context(checks);
        let x = HostTensor::<i8, m![A, B]>::from_buf((0..256).map(value).collect());
        let z = HostTensor::<i32, m![A, B]>::from_buf((0..256).map(wide).collect());
        let (x, z) = (x.to_hbm(&mut ctx.pdma, 0).await, z.to_hbm(&mut ctx.pdma, 4096).await);
        try_launch(kernel, (&mut *ctx, &x, &z)).await
    })
}

/// Launches a kernel over complete tensors.
pub fn launched<K>(checks: CheckOptions, kernel: K) -> Result<(), Fault>
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a Z), Output = ()>,
{
    launched_with(checks, kernel, &[])
}
