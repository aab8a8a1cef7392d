//! Operations of the model as commands of the library, as they are or broken in a way that leaves them no meaning.

use crate::orders::{Order, reordered};
use crate::reference::random::Random;
use crate::reference::shadow::{
    self, Copied, Element, Kind, Move, Operation, Registers, Sink, Sums, Tensor, Tile,
};
use crate::reference::switch::Switching;
use crate::reference::transpose::Matrices;
use furiosa_visa_std::chip::{CheckOptions, Fault, SimOptions, System};
use furiosa_visa_std::clock::trace::TraceWriter;
use furiosa_visa_std::clock::{KernelCall, Report};
use furiosa_visa_std::command::{
    self, AccumulationKind, Cast, Collect, Command, ContextKind, Contraction, CopyCall, Dma, Duplicates,
    Emission, Fetch, FillId, Footprint, HostBuffer, HostTransfer, IndexedCall, IndexedDma, Inspection,
    Memory, Memset, Part, Place, Region, SnoopDigit, SnoopLoop, Start, Step, Switch, SwitchLoop,
    SwitchVariant, TensorUnit, TimeGate, Transfer, TransferLoop, Transpose, TrfAddress, TrfRegion, UnitCopy,
};
use furiosa_visa_std::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::{Config, Entry};
use std::panic::Location;

/// How a command is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    GuardVariables,
    GuardDigit,
    GuardBase,
    GuardRange,
    HugeStride,
    HugeLoop,
    NegativeStart,
    HugeTensor,
    OtherType,
    NoPacket,
    MoreTime,
    EmptyLoop,
    NoFlits,
    HugeFlits,
    HugeFetchStride,
    WideWindow,
    WrongCast,
    ShortArray,
    MoreSteps,
    FewSlots,
    DeepTree,
    FarRead,
    OddRead,
    NoTile,
}

impl Broken {
    /// Those of any operation.
    pub const ALL: [Broken; 18] = [
        Broken::GuardVariables,
        Broken::GuardDigit,
        Broken::GuardBase,
        Broken::GuardRange,
        Broken::HugeStride,
        Broken::HugeLoop,
        Broken::NegativeStart,
        Broken::HugeTensor,
        Broken::OtherType,
        Broken::NoPacket,
        Broken::MoreTime,
        Broken::EmptyLoop,
        Broken::NoFlits,
        Broken::HugeFlits,
        Broken::HugeFetchStride,
        Broken::WideWindow,
        Broken::WrongCast,
        Broken::ShortArray,
    ];

    /// Those of sums.
    pub const OF_SUMS: [Broken; 6] = [
        Broken::MoreSteps,
        Broken::FewSlots,
        Broken::DeepTree,
        Broken::FarRead,
        Broken::OddRead,
        Broken::NoTile,
    ];
}

fn element(kind: Kind) -> ElementType {
    match kind {
        Kind::I8 => ElementType::I8,
        Kind::I16 => ElementType::I16,
        Kind::Bf16 => ElementType::Bf16,
        Kind::I32 => ElementType::I32,
        Kind::F32 => ElementType::F32,
    }
}

/// The values of a variable below a limit, counted from 0 again after each `period`.
fn below(guard: &mut Guard, variable: usize, period: usize, limit: usize) {
    let first = guard.digits.len();
    guard.digits.push(GuardDigit { variable, base: 1, extent: period, weight: 1 });
    guard.sums.push(GuardSum { first, len: 1, start: 0, limit });
}

fn region(tensor: &Tensor) -> Region {
    let mut guard = Guard::always(4);
    if tensor.live < tensor.period {
        below(&mut guard, 3, tensor.period, tensor.live);
    }
    let memory = match tensor.memory {
        shadow::Memory::Hbm => Memory::Hbm,
        shadow::Memory::Dm => Memory::Dm,
        shadow::Memory::Vrf => Memory::Vrf,
        shadow::Memory::Trf => panic!("it has registers"),
    };
    let footprint = Footprint {
        element: element(tensor.kind),
        chips: 1,
        clusters: tensor.clusters,
        slices: tensor.slices,
        elements: tensor.elements,
        guard,
    };
    let whole = Region::whole(memory, tensor.address, FillId(tensor.fill), footprint);
    match tensor.tile {
        None => whole,
        Some(Tile { before, kept }) => {
            let part =
                Part { offset: (before * tensor.kind.bytes()) as u64, units: [0; 3], elements: Some(kept) };
            let mut region = Region { part, ..whole };
            below(&mut region.footprint.guard, 3, 1 << 20, kept);
            region
        }
    }
}

fn registers(own: &Registers) -> TrfRegion {
    let mut guard = Guard::always(5);
    if own.live < own.period {
        below(&mut guard, 4, own.period, own.live);
    }
    TrfRegion {
        address: [TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full][own.part],
        fill: FillId(own.fill),
        element: element(own.kind),
        rows: own.rows,
        row_elements: own.row_elements,
        guard,
    }
}

fn transfer(moved: &Move) -> Transfer {
    let mut transfer = Transfer { guard: Guard::always(moved.loops.len()), ..Transfer::new() };
    for own in &moved.loops {
        let step = |(units, elements)| Step { units, elements };
        let (source, destination) = (step(own.from), step(own.to));
        transfer.loops.push(TransferLoop { size: own.size, source, destination });
    }
    if let Some((at, limit)) = moved.cut {
        below(&mut transfer.guard, at, 1 << 20, limit);
    }
    transfer
}

fn config(base: isize, loops: &[(usize, isize)], packet: usize) -> Config {
    let mut config = Config { base, ..Config::new(packet) };
    loops.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

/// Time steps and lanes below limits.
fn stream_guard(steps: usize, lanes: usize) -> Guard {
    let mut guard = Guard::always(5);
    below(&mut guard, 3, 1 << 20, steps);
    below(&mut guard, 4, 1 << 20, lanes);
    guard
}

fn contraction(sums: &Sums, stream: Kind) -> Contraction {
    let mut step_guard = Guard::always(2);
    below(&mut step_guard, 0, 1 << 20, sums.computed);
    Contraction {
        trf: registers(&sums.weights),
        stream_guard: stream_guard(sums.live_flits, sums.live_lanes),
        collect_flits: sums.flits,
        tile: sums.tile,
        trf_config: config(sums.first_read as isize, &sums.reads, sums.read),
        steps: sums.steps,
        step_guard,
        depth: sums.depth,
        columns: sums.columns,
        slots: config(0, &sums.slots, 1),
        slot_count: sums.slot_count,
        kind: if sums.sequential { AccumulationKind::Sequential } else { AccumulationKind::Interleaved },
        output: element(Sums::output(stream)),
    }
}

/// What the routers of 256 slices are told, for a stream of so many packets per slice.
pub fn switch(config: Switching, time: usize) -> Switch {
    let mut switch = Switch::forwarding(256, time);
    let ring = config.ring();
    switch.ring_size = ring;
    // What a slice gets: slices and packets from the first one that it gets on.
    let over = |size, slices, time| SwitchLoop { size, slices, time };
    let (digits, offsets, loops) = match config {
        Switching::Broadcast01 { slice1, slice0, time0 } => {
            switch.variant = SwitchVariant::Broadcast01;
            switch.emission = Emission::Nested { slice0, time0 };
            let turns = [over(time / time0, 0, time0), over(slice1, slice0, 0)];
            let loops = [turns, [over(time0, 0, 1), over(slice0, 1, 0)]].concat();
            ([(ring, 0), (1, 0)], (ring, 1), loops)
        }
        Switching::Broadcast1 { slice1, slice0 } => {
            switch.variant = SwitchVariant::Broadcast1;
            ([(slice1, 0), (slice0, 1)], (slice1, slice0), vec![over(time, 0, 1), over(slice1, slice0, 0)])
        }
        Switching::TransposedBroadcast1 { slice1, slice0 } => {
            switch.variant = SwitchVariant::TransposedBroadcast1;
            ([(slice0, 0), (slice1, slice0)], (slice0, 1), vec![over(time, 0, 1), over(slice0, 1, 0)])
        }
        Switching::Transpose { slice1, slice0 } => {
            switch.variant = SwitchVariant::Transpose;
            ([(slice0, 1), (slice1, slice0)], (1, 0), vec![over(time, 0, 1)])
        }
        Switching::InterTranspose { slice1, slice0, time0 } => {
            switch.variant = SwitchVariant::InterTranspose;
            switch.gate = Some(TimeGate { period: time0, size: slice1, slices: slice0 });
            let turn = slice1 * time0;
            let loops = vec![over(time / turn, 0, turn), over(time0, 0, 1), over(slice1, slice0, 0)];
            ([(slice1, 0), (slice0, 1)], (slice1, slice0), loops)
        }
        Switching::Forwarding => ([(1, 0), (1, 0)], (1, 0), vec![over(time, 0, 1)]),
        Switching::CustomBroadcast { .. } => unreachable!("the mappings decide"),
    };
    let [outer, inner] = digits;
    switch.snoop.digits.truncate(0);
    for (base, (count, weight)) in [(ring, (256 / ring, ring)), (inner.0, outer), (1, inner)] {
        switch.snoop.digits.push(SnoopDigit { base, count, weight });
    }
    switch.snoop.offsets.push(SnoopLoop { size: offsets.0, step: offsets.1 });
    switch.time_digits.truncate(0);
    loops.into_iter().for_each(|own| switch.time_digits.push(own));
    switch
}

fn transpose(own: &Matrices, kind: Kind) -> Transpose {
    let Matrices { in_rows, in_cols, out_rows, iterations, .. } = *own;
    Transpose { element: element(kind), in_rows, in_cols, out_rows, iterations }
}

fn unit(pass: &shadow::Pass) -> TensorUnit {
    let fetch = Fetch::new(
        region(&pass.from),
        config(pass.base, &pass.loops, pass.packet),
        pass.time,
        pass.packet,
        element(pass.output),
    );
    let mut guard = stream_guard(pass.steps, pass.lanes);
    if let Some(own) = &pass.exchange {
        below(&mut guard, 1, 1 << 20, own.clusters);
        below(&mut guard, 2, 1 << 20, own.slices);
    }
    let sink = match &pass.sink {
        Sink::Commit { to, loops, window } => command::Sink::Commit {
            destination: region(to),
            config: config(0, loops, *window),
            commit_size: 8,
            guard,
        },
        Sink::Trf { to } => command::Sink::Trf { destination: registers(to), guard },
        Sink::Vrf { to, moved } => {
            command::Sink::Vrf { destination: region(to), transfer: transfer(moved), guard }
        }
    };
    let collect = Some(Collect { flits: pass.flits });
    let contraction = pass.sums.as_ref().map(|sums| contraction(sums, pass.output));
    let switch = pass.exchange.as_ref().map(|own| switch(own.config, pass.time));
    let entered = if pass.sums.is_some() { Sums::output(pass.output) } else { pass.output };
    let transpose = pass.transpose.as_ref().map(|own| transpose(own, entered));
    TensorUnit {
        sub_context: pass.sub,
        switch,
        collect,
        contraction,
        transpose,
        ..TensorUnit::new(fetch, sink)
    }
}

/// An array as the library takes it.
fn pack(kind: Kind, array: &[Element]) -> HostBuffer {
    let zero = vec![0; kind.bytes()];
    let bytes = array.iter().flat_map(|e| e.as_ref().unwrap_or(&zero).clone()).collect();
    let flags: Vec<bool> = array.iter().map(Option::is_some).collect();
    HostBuffer { bytes, initialised: flags.contains(&false).then_some(flags) }
}

fn unpack(kind: Kind, buffer: &HostBuffer) -> Vec<Element> {
    let written = |k: usize| buffer.initialised.as_ref().is_none_or(|flags| flags[k]);
    let bytes = buffer.bytes.chunks(kind.bytes()).enumerate();
    bytes.map(|(k, bytes)| written(k).then(|| bytes.to_vec())).collect()
}

fn indexed(own: &shadow::Indexed) -> IndexedDma {
    let [table, index, side] = [&own.table, &own.index, &own.side].map(region);
    let mut payload = transfer(&own.payload);
    let (source, destination, call) = if own.gathers {
        (table, side, if own.scale == 1 { IndexedCall::GatherRows } else { IndexedCall::Gather })
    } else {
        for own in payload.loops.as_mut_slice() {
            (own.source, own.destination) = (own.destination, own.source);
        }
        (side, table, if own.scale == 1 { IndexedCall::ScatterRows } else { IndexedCall::Scatter })
    };
    IndexedDma {
        call,
        source,
        destination,
        index,
        rows: transfer(&own.rows),
        payload,
        count: own.count,
        stride: own.stride,
        scale: own.scale,
        duplicates: if own.last_wins { Duplicates::LastWins } else { Duplicates::Equal },
        list: None,
    }
}

/// The library's command, which may have been broken.
enum Given {
    Upload(HostTransfer, HostBuffer),
    Download(HostTransfer, Kind),
    Command(Box<command::Operation>),
    Inspect(Inspection, Kind),
    Launch,
}

fn given(operation: &Operation) -> Given {
    let host = |tensor: &Tensor, moved: &Move, host_elements| HostTransfer {
        region: region(tensor),
        transfer: transfer(moved),
        host_elements,
    };
    match operation {
        Operation::Upload { to, moved, array } => {
            Given::Upload(host(to, moved, array.len()), pack(to.kind, array))
        }
        Operation::Download { from, moved, elements } => {
            Given::Download(host(from, moved, *elements), from.kind)
        }
        Operation::Dma { from, to, moved, pcie } => {
            let (source, destination) = (region(from), region(to));
            let dma = Dma { source, destination, transfer: transfer(moved), pcie: *pcie };
            Given::Command(Box::new(command::Operation::Dma(Box::new(dma))))
        }
        Operation::Copy { call, from, to, moves } => {
            let (source, destination) = (region(from), region(to));
            let start = |spot: &(usize, usize)| Start { units: spot.0 as isize, elements: spot.1 as isize };
            let part = |(a, b, moved): &((usize, usize), (usize, usize), Move)| Transfer {
                source_start: start(a),
                destination_start: start(b),
                ..transfer(moved)
            };
            let (call, context) = match call {
                Copied::Shuffle => (CopyCall::DmClusterShuffle, ContextKind::TensorDma),
                Copied::Parallel => (CopyCall::ParallelCopy, ContextKind::Sub),
                Copied::Parts => (CopyCall::ClusterSliceCopy, ContextKind::Sub),
            };
            let moves = moves.iter().map(part).collect();
            let copy = UnitCopy { call, context, source, destination, moves };
            Given::Command(Box::new(command::Operation::UnitCopy(Box::new(copy))))
        }
        Operation::Set { to, value, moved } => {
            let destination = region(to);
            let code = value.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
            let immediate = Memset::immediate(code, destination.footprint.element.bits());
            let memset = Memset { destination, immediate, moves: transfer(moved) };
            Given::Command(Box::new(command::Operation::Memset(Box::new(memset))))
        }
        Operation::Indexed(own) => {
            Given::Command(Box::new(command::Operation::Indexed(Box::new(indexed(own)))))
        }
        Operation::Pass(pass) => {
            Given::Command(Box::new(command::Operation::TensorUnit(Box::new(unit(pass)))))
        }
        Operation::InspectTrf { from, moved, elements } => {
            let source = Place::Trf(registers(from));
            Given::Inspect(
                Inspection { source, transfer: transfer(moved), host_elements: *elements },
                from.kind,
            )
        }
        Operation::Inspect { from, moved, elements } => {
            let source = Place::Region(region(from));
            Given::Inspect(
                Inspection { source, transfer: transfer(moved), host_elements: *elements },
                from.kind,
            )
        }
        Operation::Launch => Given::Launch,
    }
}

/// A second system, which does what the first one has accepted in another order that the chip may take.
struct Twin {
    system: System,
    order: Order,
    waiting: Vec<command::Operation>,
}

impl Twin {
    fn new(order: Order) -> Twin {
        // The first system has checked everything, and knows of each tensor which command wrote it first.
        let checks = CheckOptions::NONE;
        let system = System::new(SimOptions { chips: Some(1), checks, ..SimOptions::default() });
        Twin { system, order, waiting: Vec::new() }
    }

    /// Does everything that waits.
    fn settle(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let order = reordered(&waiting.iter().collect::<Vec<_>>(), self.order);
        for at in order {
            let command = Command { operation: waiting[at].clone(), location: Location::caller() };
            self.system.execute(&command).unwrap_or_else(|fault| panic!("{:?}: {fault}", self.order));
        }
    }
}

/// Refuses elements that differ from those in the order of the program. Elements that nobody wrote may be anything.
fn same_in_any_order(order: Order, elements: &[Element], others: &[Element]) {
    assert_eq!(elements.len(), others.len());
    for (k, (element, other)) in elements.iter().zip(others).enumerate() {
        assert!(
            element.is_none() || element == other,
            "element {k} in the order {order:?}: {other:?}, not {element:?}"
        );
    }
}

/// The command of an operation, if it is one.
pub fn command_of(operation: &Operation) -> Option<command::Operation> {
    match given(operation) {
        Given::Command(command) => Some(*command),
        _ => None,
    }
}

/// The system under test.
pub struct Machine {
    system: System,
    twin: Twin,
    launches: u64,
}

impl Machine {
    /// `order`: that of a second system, which must have the same values.
    pub fn new(order: Order) -> Machine {
        Machine::with(order, SimOptions { chips: Some(1), ..SimOptions::default() })
    }

    /// The same, with options of the system under test.
    pub fn with(order: Order, options: SimOptions) -> Machine {
        Machine { system: System::new(options), twin: Twin::new(order), launches: 0 }
    }

    /// Writes a trace of everything that follows.
    pub fn trace(&mut self, out: impl std::io::Write + Send + 'static) {
        self.system.clock().observe(Box::new(TraceWriter::new(out)));
    }

    /// What has run. A trace is complete then.
    pub fn finish(mut self) -> Report {
        self.system.report()
    }

    /// Does an operation.
    pub fn give(&mut self, operation: &Operation) -> Result<Vec<Element>, Fault> {
        self.execute(given(operation))
    }

    /// Has the second system do what it was given.
    pub fn settle(&mut self) {
        self.twin.settle();
    }

    fn execute(&mut self, given: Given) -> Result<Vec<Element>, Fault> {
        let (here, twin) = (Location::caller(), &mut self.twin);
        match given {
            Given::Upload(host, buffer) => {
                self.system.upload(&host, &buffer, here)?;
                twin.settle();
                twin.system.upload(&host, &buffer, here)?;
                Ok(Vec::new())
            }
            Given::Download(host, kind) => {
                let elements = unpack(kind, &self.system.download(&host, here)?);
                twin.settle();
                let others = unpack(kind, &twin.system.download(&host, here)?);
                same_in_any_order(twin.order, &elements, &others);
                Ok(elements)
            }
            Given::Command(operation) => {
                let command = Command { operation: *operation, location: here };
                self.system.execute(&command)?;
                twin.waiting.push(command.operation);
                Ok(Vec::new())
            }
            Given::Inspect(inspection, kind) => {
                let elements = unpack(kind, &self.system.inspect(&inspection, here)?);
                twin.settle();
                let others = unpack(kind, &twin.system.inspect(&inspection, here)?);
                same_in_any_order(twin.order, &elements, &others);
                Ok(elements)
            }
            Given::Launch => {
                self.launches += 1;
                let kernel = KernelCall { number: self.launches, name: "next" };
                self.system.enter_kernel(kernel);
                twin.settle();
                twin.system.enter_kernel(kernel);
                Ok(Vec::new())
            }
        }
    }

    /// Does a broken operation. `None` where it cannot be broken in this way.
    pub fn give_broken(
        &mut self,
        operation: &Operation,
        broken: Broken,
        random: &mut Random,
    ) -> Option<Result<Vec<Element>, Fault>> {
        let mut given = given(operation);
        spoil(&mut given, broken, random)?;
        Some(self.execute(given))
    }
}

fn spoil(given: &mut Given, broken: Broken, random: &mut Random) -> Option<()> {
    let upload = matches!(given, Given::Upload(..));
    let mut none = 0;
    let (mut region, mut transfer, mut unit, mut other): (
        _,
        _,
        Option<&mut TensorUnit>,
        Option<&mut Region>,
    ) = (None, None, None, None);
    let mut elements = &mut none;
    match given {
        Given::Upload(host, _) | Given::Download(host, _) => {
            (region, transfer) = (Some(&mut host.region), Some(&mut host.transfer));
            elements = &mut host.host_elements;
        }
        Given::Command(operation) => match &mut **operation {
            command::Operation::Dma(dma) => {
                (region, transfer) = (Some(&mut dma.source), Some(&mut dma.transfer));
                other = Some(&mut dma.destination);
            }
            command::Operation::UnitCopy(copy) => {
                (region, transfer) = (Some(&mut copy.source), copy.moves.first_mut());
                other = Some(&mut copy.destination);
            }
            command::Operation::Memset(memset) => {
                (region, transfer) = (Some(&mut memset.destination), Some(&mut memset.moves));
            }
            command::Operation::Indexed(own) => {
                (region, transfer) = (Some(&mut own.source), Some(&mut own.payload));
                other = Some(&mut own.destination);
            }
            command::Operation::TensorUnit(own) => unit = Some(own),
        },
        Given::Inspect(inspection, _) => {
            transfer = Some(&mut inspection.transfer);
            elements = &mut inspection.host_elements;
            if let Place::Region(own) = &mut inspection.source {
                region = Some(own);
            }
        }
        Given::Launch => return None,
    }
    let guard = match (&mut region, &mut transfer, &mut unit) {
        (Some(region), _, _) if random.chance(50) => &mut region.footprint.guard,
        (_, Some(transfer), _) => &mut transfer.guard,
        (_, _, Some(unit)) if random.chance(50) => &mut unit.fetch.source.footprint.guard,
        (_, _, Some(unit)) => match &mut unit.sink {
            command::Sink::Commit { guard, .. }
            | command::Sink::Trf { guard, .. }
            | command::Sink::Vrf { guard, .. } => guard,
        },
        _ => return None,
    };
    let digit = GuardDigit { variable: 0, base: 1, extent: 4, weight: 1 };
    let mut push = |digit: GuardDigit| {
        let first = guard.digits.len();
        guard.digits.push(digit);
        guard.sums.push(GuardSum { first, len: 1, start: 0, limit: 4 });
    };
    match broken {
        Broken::GuardVariables => guard.variables += random.between(1, 3),
        Broken::GuardDigit => push(GuardDigit { variable: 40, ..digit }),
        Broken::GuardBase => push(match random.below(3) {
            0 => GuardDigit { base: 0, ..digit },
            1 => GuardDigit { extent: 0, ..digit },
            _ => GuardDigit { weight: usize::MAX / 2, extent: 1 << 40, ..digit },
        }),
        Broken::GuardRange => {
            guard.sums.push(GuardSum { first: usize::MAX - random.below(2), len: 2, start: 0, limit: 1 });
        }
        Broken::HugeStride | Broken::HugeLoop | Broken::NegativeStart => {
            let transfer = transfer?;
            if transfer.loops.is_empty() || transfer.loops.iter().any(|own| own.size == 0) {
                return None;
            }
            let at = random.below(transfer.loops.len());
            let mut own = transfer.loops.at(at);
            let huge = 1usize << random.between(46, 63);
            match broken {
                Broken::HugeLoop => own.size = huge,
                Broken::HugeStride if random.chance(50) => own.source.elements = huge,
                Broken::HugeStride => own.destination.units = huge,
                _ => {
                    let start = if upload || random.chance(50) {
                        &mut transfer.destination_start
                    } else {
                        &mut transfer.source_start
                    };
                    // Every index is before the tensor, and at least one moves something.
                    start.elements = -(1 << 20);
                    if !transfer.guard.is_always() {
                        return None;
                    }
                }
            }
            transfer.loops.set(at, own);
        }
        Broken::HugeTensor => match (region, unit) {
            (Some(region), _) => region.footprint.elements = usize::MAX >> random.below(8),
            (None, Some(unit)) => unit.fetch.source.footprint.slices = usize::MAX >> random.below(8),
            _ => return None,
        },
        Broken::OtherType => match (other, unit) {
            (Some(other), _) => {
                let own = region?.footprint.element;
                other.footprint.element =
                    if own == ElementType::I4 { ElementType::I8 } else { ElementType::I4 };
            }
            (None, Some(unit)) => match &mut unit.sink {
                command::Sink::Commit { destination, .. } | command::Sink::Vrf { destination, .. } => {
                    destination.footprint.element = ElementType::F8e4m3;
                }
                command::Sink::Trf { destination, .. } => destination.element = ElementType::F8e4m3,
            },
            _ => return None,
        },
        Broken::NoPacket => unit?.fetch.packet = 0,
        Broken::MoreTime => unit?.fetch.time += 1,
        Broken::EmptyLoop => unit?.fetch.config.entries.push(Entry { size: 0, stride: 1 }),
        Broken::NoFlits => unit?.collect = Some(Collect { flits: 0 }),
        Broken::HugeFlits => unit?.collect = Some(Collect { flits: usize::MAX >> random.below(16) }),
        Broken::HugeFetchStride => {
            let unit = unit?;
            let stride = if random.chance(50) { isize::MAX } else { isize::MIN };
            unit.fetch.config.entries.insert(0, Entry { size: 1, stride });
        }
        Broken::WideWindow => match &mut unit?.sink {
            command::Sink::Commit { config, .. } => config.packet_size *= 2,
            _ => return None,
        },
        Broken::WrongCast => {
            let unit = unit?;
            let stream = unit.contraction.as_ref().map_or(unit.fetch.output, |own| own.output);
            let input = if stream == ElementType::F32 { ElementType::I32 } else { ElementType::F32 };
            unit.cast = Some(Cast { input, output: ElementType::I8 });
        }
        Broken::ShortArray => {
            if *elements < 2
                || transfer
                    .is_none_or(|own| own.loops.iter().any(|own| own.size == 0) || !own.guard.is_always())
            {
                return None;
            }
            *elements -= 1;
        }
        Broken::MoreSteps => unit?.contraction.as_mut()?.steps += 1,
        Broken::FewSlots => unit?.contraction.as_mut()?.slot_count = 0,
        Broken::DeepTree => unit?.contraction.as_mut()?.depth = random.between(8, 200),
        Broken::FarRead => unit?.contraction.as_mut()?.trf_config.base = 1 << random.between(20, 50),
        Broken::OddRead => unit?.contraction.as_mut()?.trf_config.packet_size = 3,
        Broken::NoTile => unit?.contraction.as_mut()?.tile = 0,
    }
    Some(())
}
