//! Engines that a context does not have.

use crate::commands::{commit, dma, fetch, give, hbm, region, system, unit, written};
use crate::{check, fine, flagged};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::command::*;
use furiosa_visa_std::list::List;
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::scalar::ElementType::{Bf16, F32, I8};

/// Runs a command on a system with 256 bytes from DM address 0 on.
#[track_caller]
fn run(checks: CheckOptions, operation: Operation) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, 256);
    give(&mut system, operation)
}

fn stream(sub_context: bool, change: fn(&mut TensorUnit)) -> Operation {
    let stream = fetch(region(0, I8, 256), I8, &[(8, 32), (32, 1)], 8, 32);
    let sink = commit(region(4096, I8, 256), &[(8, 32), (32, 1)], 32, Guard::always(5));
    let mut unit = TensorUnit { sub_context, ..unit(stream, sink) };
    change(&mut unit);
    Operation::TensorUnit(Box::new(unit))
}

fn masked(unit: &mut TensorUnit) {
    let mut counts = List::new(0);
    counts.push(30);
    unit.fetch.mask = Some(MaskConfig {
        last_dim: 0,
        left_pad: 0,
        last_dim_rightmost_valid_count: counts,
        rightmost_valid_count_dim: None,
        pad_value: [0; 2],
    });
}

fn indexed(unit: &mut TensorUnit) {
    let codes = (0..256).collect();
    unit.fetch.table = Some(Table { input: I8, output: I8, codes });
}

fn narrowed(unit: &mut TensorUnit) {
    let narrow = fetch(region(0, F32, 64), F32, &[(8, 8), (8, 1)], 8, 8);
    let sink = commit(region(4096, Bf16, 64), &[(8, 8), (8, 1)], 8, Guard::always(5));
    let cast = Some(Cast { input: F32, output: Bf16 });
    *unit = TensorUnit { fetch: narrow, sink, cast, ..unit.clone() };
}

fn transposed(unit: &mut TensorUnit) {
    let sink = commit(region(4096, I8, 64), &[(8, 8), (8, 1)], 8, Guard::always(5));
    let transpose = Some(Transpose { element: I8, in_rows: 8, in_cols: 8, out_rows: 8, iterations: 1 });
    *unit = TensorUnit { sink, transpose, ..unit.clone() };
}

fn pcie(source: Region, destination: Region) -> Operation {
    let Operation::Dma(mut dma) = dma(source, destination, &[(256, 1, 1)]) else {
        unreachable!("it is a DMA")
    };
    dma.pcie = true;
    Operation::Dma(dma)
}

#[test]
fn controls() {
    let kind = FaultKind::Unsupported;
    check(
        Check::Contexts,
        &[
            flagged(
                "sub masks",
                |checks| run(checks, stream(true, masked)), // masks
                kind,
                &["masks"],
                &["fetch: unsupported: the sub context has no masking"],
            ),
            flagged(
                "sub looks up",
                |checks| run(checks, stream(true, indexed)), // looks up
                kind,
                &["looks up"],
                &["fetch: unsupported: the sub context has no table indexing"],
            ),
            flagged(
                "sub commits after a transpose",
                |checks| run(checks, stream(true, transposed)), // transposes
                kind,
                &["transposes"],
                &[
                    "commit: unsupported: the sub context commits what the Transpose Engine made",
                    "help: commit in the main context",
                ],
            ),
            flagged(
                "PCIe reads DM",
                |checks| run(checks, pcie(region(0, I8, 256), hbm(4096, I8, 256))), // reads DM
                kind,
                &["reads DM"],
                &["DMA: unsupported: the PCIe engine is to access DM address 0, but it reaches HBM only"],
            ),
            flagged(
                "PCIe writes DM",
                |checks| run(checks, pcie(hbm(1 << 30, I8, 256), region(4096, I8, 256))), // writes DM
                kind,
                &["writes DM"],
                &["DM address 4096"],
            ),
            fine("main masks", |checks| run(checks, stream(false, masked))),
            fine("main looks up", |checks| run(checks, stream(false, indexed))),
            fine("sub commits after a cast", |checks| run(checks, stream(true, narrowed))),
            fine("main commits after a cast", |checks| run(checks, stream(false, narrowed))),
            fine("main commits after a transpose", |checks| run(checks, stream(false, transposed))),
            fine("sub commits", |checks| run(checks, stream(true, |_| {}))),
            fine("PCIe moves in HBM", |checks| run(checks, pcie(hbm(1 << 30, I8, 256), hbm(4096, I8, 256)))),
        ],
    );
}
