//! Tests of the form rules: commands without a meaning, one per rule, and similar commands that have one.

use super::MOST_IN_SLICE;
use crate::{CheckOptions, ChipOptions, Chips};
use core::panic::Location;
use furiosa_visa_rules::command::FaultKind;
use furiosa_visa_rules::command::{
    AccumulationKind, Cast, Collect, Command, CommitNarrowing, Contraction, Dma, Emission, Fetch, FillId,
    Footprint, HostTransfer, Memory, Operation, Region, Sink, SnoopDigit, SnoopLoop, Step, Switch,
    SwitchLoop, SwitchVariant, TensorUnit, TimeGate, Transfer, TransferLoop, Transpose, TrfAddress,
    TrfRegion,
};
use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F32, I4, I5, I8, I32};
use furiosa_visa_rules::sequencer::{Config, Entry};

fn region(memory: Memory, element: ElementType, elements: usize) -> Region {
    let (clusters, slices) = if memory == Memory::Hbm { (1, 1) } else { (2, 256) };
    let guard = Guard::always(4);
    let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard };
    Region::whole(memory, 0, FillId::ANY, footprint)
}

fn config(loops: &[(usize, isize)], packet: usize) -> Config {
    let mut config = Config::new(packet);
    loops.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

fn dma() -> Dma {
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    let step = Step { units: 0, elements: 1 };
    transfer.loops.push(TransferLoop { size: 64, source: step, destination: step });
    let (source, destination) = (region(Memory::Hbm, I8, 64), region(Memory::Dm, I8, 64));
    Dma { source, destination, transfer, pcie: false }
}

/// Two packets of a flit.
fn copy() -> TensorUnit {
    let fetch = Fetch::new(region(Memory::Dm, I8, 64), config(&[(2, 32), (32, 1)], 32), 2, 32, I8);
    let sink = Sink::Commit {
        destination: region(Memory::Dm, I8, 64),
        config: config(&[(2, 32), (32, 1)], 32),
        commit_size: 8,
        guard: Guard::always(5),
    };
    TensorUnit::new(fetch, sink)
}

/// Outcome of a command in a fresh system. It is the same for all check options.
#[track_caller]
fn outcome(operation: Operation) -> Result<(), (FaultKind, String)> {
    let command = Command { operation, location: Location::caller() };
    let [all, none] = [CheckOptions::ALL, CheckOptions::NONE].map(|checks| {
        let mut system = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
        system.execute(&command).map(drop).map_err(|fault| (fault.kind, fault.to_string()))
    });
    assert_eq!(all, none, "no switch is asked");
    all
}

#[track_caller]
fn refused(operation: Operation, kind: FaultKind, part: &str) {
    let (found, text) = outcome(operation).expect_err("it is refused");
    assert!(found == kind && text.contains(part) && text.contains("\nhelp: "), "{text}");
}

#[track_caller]
fn refused_dma(part: &str, change: impl FnOnce(&mut Dma)) {
    let mut dma = dma();
    change(&mut dma);
    refused(Operation::Dma(Box::new(dma)), FaultKind::Refused, part);
}

#[track_caller]
fn refused_copy(part: &str, change: impl FnOnce(&mut TensorUnit)) {
    let mut unit = copy();
    change(&mut unit);
    refused(Operation::TensorUnit(Box::new(unit)), FaultKind::Refused, part);
}

#[test]
fn transfers() {
    assert_eq!(outcome(Operation::Dma(Box::new(dma()))), Ok(()));
    refused_dma("DMA: refused: a tensor of i8 is to be moved to a tensor of f32", |dma| {
        dma.destination.footprint.element = F32;
    });
    refused_dma("a guard over 2 variables is asked about 1", |dma| dma.transfer.guard.variables = 2);
    refused_dma("loops over 64 indices reach", |dma| {
        let mut first = dma.transfer.loops.at(0);
        first.source.elements = usize::MAX;
        dma.transfer.loops.set(0, first);
    });
    refused_dma("before the tensor", |dma| dma.transfer.source_start.elements = -1);
    refused_dma("16777216 elements has no size", |dma| {
        dma.destination.footprint.elements = MOST_IN_SLICE as usize;
    });
    let mut dead = dma();
    // The first element is padding, so nothing lies before the tensor.
    dead.transfer.source_start.elements = -1;
    dead.transfer.guard.digits.push(GuardDigit { variable: 0, base: 1, extent: 64, weight: 1 });
    dead.transfer.guard.sums.push(GuardSum { first: 0, len: 1, start: 1, limit: 63 });
    assert_eq!(outcome(Operation::Dma(Box::new(dead.clone()))), Ok(()));
    dead.transfer.guard.sums.push(GuardSum { first: 1, len: 1, start: 0, limit: 1 });
    let part = "sum 1 of a guard has digits that are not there";
    refused(Operation::Dma(Box::new(dead)), FaultKind::Refused, part);
    let mut narrow = dma();
    (narrow.source.footprint.element, narrow.destination.footprint.element) = (I5, I5);
    let part = "a tensor of i5 is to be moved, but no memory holds this type";
    refused(Operation::Dma(Box::new(narrow)), FaultKind::Unsupported, part);
    let mut far = dma();
    far.source.address = u64::MAX;
    let part = "the tensor at HBM address 18446744073709551615 lies in no memory";
    refused(Operation::Dma(Box::new(far)), FaultKind::OutOfBounds, part);
}

#[test]
fn passes() {
    let mut system = Chips::new(ChipOptions::default());
    let operation = Operation::TensorUnit(Box::new(copy()));
    assert_eq!(system.execute(&Command { operation, location: Location::caller() }).map(drop), Ok(()));
    refused_copy("64 positions for 3 packets of 32", |unit| unit.fetch.time = 3);
    refused_copy("64 positions for 2 packets of 0", |unit| unit.fetch.packet = 0);
    // A packet larger than a slice.
    refused_copy("has loops without a meaning", |unit| {
        unit.fetch.config.packet_size = MOST_IN_SLICE as usize
    });
    refused_copy("has loops without a meaning", |unit| {
        unit.fetch.config.entries.set(0, Entry { size: 0, stride: 1 });
    });
    refused_copy("has loops without a meaning", |unit| unit.fetch.config.packet_size = 1 << 63);
    refused_copy("packets of 32 elements are to be held by 0 flits of 32", |unit| {
        unit.collect = Some(Collect { flits: 0 });
    });
    refused_copy("packets of 64 elements are to be held by 1 flit of 32", |unit| {
        (unit.fetch.time, unit.fetch.packet, unit.collect) = (1, 64, None);
    });
    refused_copy("each access is to be of 0 bytes", |unit| unit.fetch.fetch_size = 0);
    refused_copy("a tensor of i8 is to be committed to a tensor of i4", |unit| {
        if let Sink::Commit { destination, .. } = &mut unit.sink {
            destination.footprint.element = I4;
        }
    });
    refused_copy("64 positions for 64 of 32 lanes in 2 time steps", |unit| {
        if let Sink::Commit { config, .. } = &mut unit.sink {
            config.packet_size = 64;
        }
    });
    refused_copy("a tensor of i8 is to be cast as a stream of i32", |unit| {
        unit.cast = Some(Cast { input: I32, output: I8 });
    });
    let mut wide = copy();
    wide.cast = Some(Cast { input: I8, output: I32 });
    let part = "cast: unsupported: a flit of i8 is to become i32, which takes more than a flit";
    refused(Operation::TensorUnit(Box::new(wide)), FaultKind::Unsupported, part);
}

/// A pass whose Commit Engine narrows two packets of f32.
fn narrow() -> TensorUnit {
    let fetch = Fetch::new(region(Memory::Dm, F32, 16), config(&[(2, 8), (8, 1)], 8), 2, 8, F32);
    let sink = Sink::Commit {
        destination: Region { address: 4096, ..region(Memory::Dm, Bf16, 16) },
        config: config(&[(2, 8), (8, 1)], 8),
        commit_size: 16,
        guard: Guard::always(5),
    };
    TensorUnit { narrowing: Some(CommitNarrowing { relu: false }), ..TensorUnit::new(fetch, sink) }
}

#[test]
fn conversions_of_the_commit_engine() {
    let run = |unit: TensorUnit, checks| {
        let mut system = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
        let operation = Operation::TensorUnit(Box::new(unit));
        let command = Command { operation, location: Location::caller() };
        system.execute(&command).map(drop).map_err(|fault| fault.to_string())
    };
    // It has a meaning. Another rule refuses elements that nobody has written.
    assert_eq!(run(narrow(), CheckOptions::NONE), Ok(()));
    let sub = TensorUnit { sub_context: true, ..narrow() };
    assert_eq!(run(sub.clone(), CheckOptions::NONE), Ok(()));
    let checks = CheckOptions { contexts: true, ..CheckOptions::NONE };
    let refusal = run(sub, checks).expect_err("the sub context has none");
    let part =
        "commit: unsupported: the sub context narrows what it commits, which only the main context does";
    assert!(refusal.contains(part), "{refusal}");
    let refused_narrow = |part: &str, change: &dyn Fn(&mut TensorUnit)| {
        let mut unit = narrow();
        change(&mut unit);
        refused(Operation::TensorUnit(Box::new(unit)), FaultKind::Refused, part);
    };
    refused_narrow("commit_cast: refused: a tensor of i32 is to be narrowed as a stream of f32", &|unit| {
        unit.fetch.source.footprint.element = I32;
        unit.fetch.output = I32;
    });
    refused_narrow("a tensor of bf16 is to be committed to a tensor of f32", &|unit| {
        if let Sink::Commit { destination, .. } = &mut unit.sink {
            destination.footprint.element = F32;
        }
    });
    refused_narrow("commit_cast_relu: refused: a stream is to be narrowed that ends in to_vrf", &|unit| {
        unit.narrowing = Some(CommitNarrowing { relu: true });
        unit.sink = Sink::Vrf {
            destination: region(Memory::Vrf, F32, 16),
            transfer: Transfer { guard: Guard::always(0), ..Transfer::new() },
            guard: Guard::always(5),
        };
    });
}

/// Two packets of a flit, as a matrix of two rows. 32 bytes of it leave.
fn transposed() -> TensorUnit {
    let mut unit = copy();
    unit.transpose = Some(Transpose { element: I8, in_rows: 2, in_cols: 8, out_rows: 4, iterations: 1 });
    unit.sink = Sink::Commit {
        destination: Region { address: 4096, ..region(Memory::Dm, I8, 32) },
        config: config(&[(4, 8), (8, 1)], 8),
        commit_size: 8,
        guard: Guard::always(5),
    };
    unit
}

#[test]
fn transposes() {
    // It has a meaning. Another rule refuses commits of lanes without an element.
    let mut system = Chips::new(ChipOptions { checks: CheckOptions::NONE, ..ChipOptions::default() });
    let operation = Operation::TensorUnit(Box::new(transposed()));
    assert_eq!(system.execute(&Command { operation, location: Location::caller() }).map(drop), Ok(()));
    let refused_transpose = |part: &str, change: &dyn Fn(&mut Transpose)| {
        let mut unit = transposed();
        change(unit.transpose.as_mut().expect("a transpose"));
        refused(Operation::TensorUnit(Box::new(unit)), FaultKind::Refused, part);
    };
    refused_transpose(
        "transpose: refused: a tensor of i8 is to be transposed as a stream of f32",
        &|transpose| {
            transpose.element = F32;
        },
    );
    refused_transpose("matrices of 0 rows of i8, but the rows fill 1 to 8 bytes", &|transpose| {
        transpose.in_rows = 0
    });
    refused_transpose("matrices of 9 rows of i8", &|transpose| transpose.in_rows = 9);
    refused_transpose("matrices of 18446744073709551615 rows", &|transpose| transpose.in_rows = usize::MAX);
    refused_transpose("matrices of 24 columns, taken from packets by 8", &|transpose| transpose.in_cols = 24);
    refused_transpose("8 columns in 1 packets become 0 packets", &|transpose| transpose.out_rows = 0);
    refused_transpose("8 columns in 1 packets become 9 packets", &|transpose| transpose.out_rows = 9);
    refused_transpose("16 columns in 2 packets become 3 packets", &|transpose| {
        (transpose.in_cols, transpose.out_rows) = (16, 3)
    });
    refused_transpose("2 matrices of 2 flits are not the 2 of the stream", &|transpose| {
        transpose.iterations = 2
    });
    refused_transpose("are not the 2 of the stream", &|transpose| transpose.iterations = usize::MAX);
    let mut short = transposed();
    (short.fetch, short.collect) =
        (Fetch::new(region(Memory::Dm, I8, 32), config(&[(2, 16), (16, 1)], 16), 2, 16, I8), None);
    let part = "packets of 16 i8 are to be transposed, but they are no flits";
    refused(Operation::TensorUnit(Box::new(short)), FaultKind::Refused, part);
    let mut narrow = transposed();
    narrow.fetch.source.footprint.element = I4;
    (narrow.fetch, narrow.collect) =
        (Fetch::new(region(Memory::Dm, I4, 128), config(&[(2, 64), (64, 1)], 64), 2, 64, I5), narrow.collect);
    narrow.transpose = Some(Transpose { element: I5, in_rows: 2, in_cols: 16, out_rows: 4, iterations: 1 });
    let part = "a tensor of i5 is to be moved, but no memory holds this type";
    refused(Operation::TensorUnit(Box::new(narrow)), FaultKind::Unsupported, part);
}

/// Changes a valid switch of two packets per slice and expects that it is refused.
#[track_caller]
fn refused_switch(part: &str, change: impl FnOnce(&mut Switch)) {
    let mut switch = switch();
    change(&mut switch);
    refused_copy(part, |unit| unit.switch = Some(switch));
}

/// `Broadcast1 { slice1: 2, slice0: 4 }` of packets at two time steps.
fn switch() -> Switch {
    let mut switch = Switch::blank(SwitchVariant::Broadcast1, 8, 2);
    switch.push_digit(8, 32, 8);
    switch.push_digit(4, 2, 0);
    switch.push_digit(1, 4, 1);
    switch.push_offsets(2, 4);
    switch.push_time(2, 0, 1);
    switch.push_time(2, 4, 0);
    switch
}

#[test]
fn switches() {
    let mut unit = copy();
    unit.switch = Some(switch());
    // Four packets arrive.
    unit.sink = Sink::Commit {
        destination: Region { address: 4096, ..region(Memory::Dm, I8, 128) },
        config: config(&[(4, 32), (32, 1)], 32),
        commit_size: 8,
        guard: Guard::always(5),
    };
    assert_eq!(outcome(Operation::TensorUnit(Box::new(unit.clone()))), Ok(()));
    refused_switch("switch: refused: rings of 12 slices do not cut 256 slices", |switch| {
        switch.ring_size = 12
    });
    refused_switch("rings of 512 slices", |switch| switch.ring_size = 512);
    refused_switch("a stream of 2 packets is switched as one of 3", |switch| switch.in_time = 3);
    // A ring of 8 slices is enough, one of 4 is not.
    refused_switch(
        "slice 0 is to take packets of slices 0 to 4, which a ring of 4 does not reach",
        |switch| {
            switch.ring_size = 4;
        },
    );
    refused_switch("slice 2 is to take packets of slices 4 to 8, which a ring of 8", |switch| {
        switch.snoop.digits.set(2, SnoopDigit { base: 1, count: 4, weight: 2 });
    });
    refused_switch("is not the stream of 4 packets that is to arrive", |switch| {
        switch.time_digits.set(1, SwitchLoop { size: 2, slices: 2, time: 0 });
    });
    refused_switch("time, source slice, is not the stream of 4 packets", |switch| {
        // Slices first, which would need room for packets in a slice.
        let [time, slice] = [switch.time_digits.at(0), switch.time_digits.at(1)];
        switch.time_digits.set(0, slice);
        switch.time_digits.set(1, time);
    });
    refused_switch("is not the stream of 4 packets", |switch| {
        switch.gate = Some(TimeGate { period: 1, size: 2, slices: 4 });
    });
    refused_switch("emit no packets in the order", |switch| {
        switch.gate = Some(TimeGate { period: 3, size: 2, slices: 4 });
    });
    refused_switch("emit no packets in the order", |switch| {
        switch.emission = Emission::Nested { slice0: 4, time0: 1 };
    });
    let meaning = "the switch has digits or loops without a meaning";
    refused_switch(meaning, |switch| switch.time_digits.set(1, SwitchLoop { size: 0, slices: 4, time: 0 }));
    refused_switch(meaning, |switch| {
        switch.time_digits.set(0, SwitchLoop { size: usize::MAX, slices: 0, time: usize::MAX });
    });
    refused_switch(meaning, |switch| switch.snoop.offsets.set(0, SnoopLoop { size: 1 << 40, step: 1 << 40 }));
    refused_switch(meaning, |switch| {
        switch.snoop.digits.set(0, SnoopDigit { base: 0, count: 32, weight: 8 });
    });
    refused_switch(meaning, |switch| switch.gate = Some(TimeGate { period: 1, size: 2, slices: 0 }));
    refused_switch(meaning, |switch| switch.emission = Emission::Nested { slice0: 0, time0: 1 });
}

#[test]
fn arrays_of_the_host() {
    let Dma { source: region, transfer, .. } = dma();
    let here = Location::caller();
    let mut system = Chips::new(ChipOptions::default());
    let mut read = |host_elements| system.download(&HostTransfer { region, transfer, host_elements }, here);
    assert!(read(64).is_ok());
    let fault = read(63).expect_err("one is missing");
    assert_eq!(fault.kind, FaultKind::Refused);
    assert!(fault.message.contains("the loops leave the array of 63 elements of the host"), "{fault}");
}

/// A packet of 32 `i8`, used in two steps: each row of the register file gives one column.
fn product() -> TensorUnit {
    let mut unit = copy();
    let guard = Guard::always(5);
    let address = TrfAddress::Full;
    unit.contraction = Some(Contraction {
        trf: TrfRegion { address, fill: FillId::ANY, element: I8, rows: 8, row_elements: 64, guard },
        stream_guard: guard,
        collect_flits: 1,
        tile: 2,
        trf_config: config(&[(2, 0), (2, 32)], 32),
        steps: 4,
        step_guard: Guard::always(2),
        depth: 5,
        columns: 1,
        slots: config(&[(2, 2), (2, 1)], 1),
        slot_count: 4,
        kind: AccumulationKind::Interleaved,
        output: I32,
    });
    unit.sink = Sink::Commit {
        destination: Region { address: 4096, ..region(Memory::Dm, I32, 32) },
        config: config(&[(4, 8), (8, 1)], 8),
        commit_size: 8,
        guard,
    };
    unit
}

#[track_caller]
fn refused_product(part: &str, change: impl FnOnce(&mut Contraction)) {
    let mut unit = product();
    change(unit.contraction.as_mut().expect("a product"));
    refused(Operation::TensorUnit(Box::new(unit)), FaultKind::Refused, part);
}

#[test]
fn contractions() {
    // It has a meaning. Its operands are unwritten, which another rule refuses.
    let checks = CheckOptions::NONE;
    let mut system = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
    let operation = Operation::TensorUnit(Box::new(product()));
    assert_eq!(system.execute(&Command { operation, location: Location::caller() }).map(drop), Ok(()));

    refused_product("packets of 3 flits are used 2 times for 1 column", |contraction| {
        contraction.collect_flits = 3
    });
    refused_product("packets of 1 flit are used 0 times for 1 column", |contraction| contraction.tile = 0);
    refused_product("2 flits in packets of 1, each used 3 times, are not 4 steps", |contraction| {
        contraction.tile = 3
    });
    refused_product("64 products summed in 5 levels do not give 3 columns", |contraction| {
        contraction.columns = 3
    });
    refused_product("64 products summed in 7 levels do not give 1 column", |contraction| {
        contraction.depth = 7
    });
    refused_product("4 steps go to 4 places in 3 slots", |contraction| contraction.slot_count = 3);
    refused_product("4 steps go to 4 places in 4 slots", |contraction| contraction.slots.base = 1);
    refused_product("4 steps go to 4 places in 4 slots", |contraction| contraction.slots.base = -1);
    refused_product("4 steps read 6 times 32 elements", |contraction| {
        contraction.trf_config = config(&[(3, 0), (2, 32)], 32)
    });
    refused_product("4 steps read 4 times 32 elements", |contraction| contraction.trf_config.base = -32);
    refused_product("128 elements from byte 32 of a row are read", |contraction| {
        contraction.trf_config.packet_size = 128
    });
    refused_product("32 elements from byte 131072 of a row", |contraction| {
        contraction.trf_config.entries.set(1, Entry { size: 2, stride: 1 << 17 });
    });
    // A read has 1, 2, 4, 8, 16, 32 or 64 bytes, but not 7.
    refused_product("7 elements of i8, 56 bits in all, are read at a time", |contraction| {
        contraction.trf_config.packet_size = 7
    });
    refused_product("has loops without a meaning", |contraction| contraction.trf_config.packet_size = 0);
}
