//! Random operations. Most are legal; each of their numbers is at times one that is not.

use crate::exchanges::{random_exchange, random_matrices};
use crate::reference::random::Random;
use crate::reference::shadow::order::{BARE, FOREIGN};
use crate::reference::shadow::{
    Copied, Exchange, Indexed, Kind, Loop, Memory, Move, Operation, Pass, Registers, Sink, Sums, Tensor, Tile,
};

const KINDS: [Kind; 5] = [Kind::I8, Kind::I16, Kind::Bf16, Kind::I32, Kind::F32];

/// What a sequence has made so far.
#[derive(Debug, Default)]
pub struct Operations {
    fills: u64,
    tensors: Vec<Tensor>,
    registers: Vec<Registers>,
    /// What comes first, last one first.
    script: Vec<Operation>,
    /// The type that it is about, if it is about registers.
    theme: Option<Kind>,
}

fn capacity(memory: Memory) -> u64 {
    match memory {
        Memory::Hbm => 48 << 30,
        Memory::Dm => 512 << 10,
        Memory::Vrf => 8 << 10,
        Memory::Trf => unreachable!("it has registers"),
    }
}

/// The stream before it is summed.
struct Fetched {
    from: Tensor,
    base: isize,
    loops: Vec<(usize, isize)>,
    time: usize,
    packet: usize,
    output: Kind,
    exchange: Option<Exchange>,
    flits: usize,
}

impl Fetched {
    /// Time steps of a flit each.
    fn total(&self) -> usize {
        self.time * self.flits * self.exchange.as_ref().map_or(1, |own| own.config.copies())
    }

    /// The pass that ends in a sink. Of what the sink gets, lanes and time steps from these on are padding.
    fn to(self, sink: Sink, sub: bool, (lanes, steps): (usize, usize)) -> Pass {
        let Fetched { from, base, loops, time, packet, output, exchange, flits } = self;
        Pass {
            sub,
            from,
            base,
            loops,
            time,
            packet,
            output,
            exchange,
            flits,
            sums: None,
            transpose: None,
            sink,
            lanes,
            steps,
        }
    }
}

/// What the memories hold where most tensors lie: bytes, through handles that know nothing.
pub fn everything(random: &mut Random) -> Vec<Operation> {
    let bytes = 256;
    let tensor = |memory, address, elements| {
        let (clusters, slices) = if memory == Memory::Hbm { (1, 1) } else { (2, 4) };
        let (fill, kind, period, live) = (0, Kind::I8, 1, 1);
        Tensor { memory, address, fill, kind, clusters, slices, elements, period, live, tile: None }
    };
    let at = bytes as u64 * random.below(4) as u64;
    // Slices of both clusters, so many units apart, one after the other.
    let slices = |apart: usize, inside: &[Loop]| {
        let units = [one(2, (256 * apart, 0), (0, 4 * bytes)), one(4, (apart, 0), (0, bytes))];
        Move { loops: [&units, inside].concat(), cut: None }
    };
    let row = |size: usize| one(size, (0, 1), (0, 1));
    let (from, to) = (tensor(Memory::Dm, at, bytes), tensor(Memory::Hbm, 40 << 30, 8 * bytes));
    let flat = Move { loops: vec![row(8 * bytes)], cut: None };
    let mut operations = vec![
        Operation::Launch,
        Operation::Dma { from, to: to.clone(), moved: slices(1, &[row(bytes)]), pcie: false },
        Operation::Download { from: to, moved: flat, elements: 8 * bytes },
        Operation::Inspect {
            from: tensor(Memory::Vrf, at, bytes),
            moved: slices(1, &[row(bytes)]),
            elements: 8 * bytes,
        },
    ];
    for part in 0..2 {
        let (fill, kind, period, live) = (0, Kind::I8, 1, 1);
        let from = Registers { part, fill, kind, rows: 8, row_elements: bytes / 8, period, live };
        let moved = slices(8, &[one(8, (1, 0), (0, bytes / 8)), row(bytes / 8)]);
        operations.push(Operation::InspectTrf { from, moved, elements: 8 * bytes });
    }
    operations
}

fn one(size: usize, from: (usize, usize), to: (usize, usize)) -> Loop {
    Loop { size, from, to }
}

impl Operations {
    /// Half of them start with numbers in all slices and are about register files.
    pub fn new(random: &mut Random) -> Operations {
        let mut own = Operations::default();
        if random.chance(50) {
            let kind = random.pick(&[Kind::I8, Kind::I8, Kind::Bf16, Kind::F32, Kind::F32]);
            let elements = 32 / kind.bytes() * random.between(2, 8);
            let [from, to] = [Memory::Hbm, Memory::Dm].map(|memory| {
                own.fills += 1;
                let (clusters, slices) = if memory == Memory::Hbm { (1, 1) } else { (2, 4) };
                let fill = own.fills;
                let (address, period, live) = (64 * random.below(4) as u64, 1, 1);
                Tensor { memory, address, fill, kind, clusters, slices, elements, period, live, tile: None }
            });
            let array = (0..elements).map(|_| Self::element(random, kind, false)).collect();
            let inside = one(elements, (0, 1), (0, 1));
            let upload = Move { loops: vec![inside], cut: None };
            let spread = vec![one(2, (0, 0), (256, 0)), one(4, (0, 0), (1, 0)), inside];
            let spread = Move { loops: spread, cut: None };
            let load = own.load(random, &to);
            own.script = vec![
                load,
                Operation::Dma { from: from.clone(), to, moved: spread, pcie: false },
                Operation::Upload { to: from, moved: upload, array },
            ];
            own.theme = Some(kind);
        }
        own
    }

    /// Loads a whole tensor into registers.
    fn load(&mut self, random: &mut Random, from: &Tensor) -> Operation {
        let lanes = 32 / from.kind.bytes();
        let time = from.elements / lanes;
        self.fills += 1;
        let (rows, kind, fill) = (random.pick(&[1, 2, 4, 8]), from.kind, self.fills);
        let row_elements = from.elements / rows;
        let (part, period, live) = (random.below(3), 1, 1);
        let fetched = Fetched {
            from: from.clone(),
            base: 0,
            loops: vec![(time, lanes as isize), (lanes, 1)],
            time,
            packet: lanes,
            output: from.kind,
            exchange: None,
            flits: 1,
        };
        let to = Registers { part, fill, kind, rows, row_elements, period, live };
        Operation::Pass(fetched.to(Sink::Trf { to }, random.chance(70), (1 << 20, 1 << 20)))
    }

    fn fill(&mut self, random: &mut Random) -> u64 {
        self.fills += 1;
        match random.below(100) {
            0..10 => 0,
            10..15 => BARE + self.fills,
            15 => FOREIGN + self.fills,
            _ => self.fills,
        }
    }

    fn address(random: &mut Random, memory: Memory, bytes: u64) -> u64 {
        match random.below(40) {
            0 => capacity(memory).saturating_sub(bytes),
            1 => capacity(memory).saturating_sub(bytes) + random.pick(&[1, 2, 4, 8, bytes]),
            2 => u64::MAX - random.below(200) as u64,
            3..6 => 64 * random.below(12) as u64 + random.between(1, 8) as u64,
            _ => 64 * random.below(12) as u64,
        }
    }

    /// A tensor of so many elements, to be written.
    fn made(&mut self, random: &mut Random, memory: Memory, kind: Kind, elements: usize) -> Tensor {
        let known: Vec<&Tensor> = (self.tensors.iter())
            .filter(|own| own.memory == memory && own.kind == kind && own.elements >= elements)
            .collect();
        if random.chance(25) && !known.is_empty() {
            let tensor = random.pick(&known).clone();
            return if random.chance(50) { Self::tile(random, tensor, elements) } else { tensor };
        }
        let memory =
            if random.chance(2) { random.pick(&[Memory::Hbm, Memory::Dm, Memory::Vrf]) } else { memory };
        let elements = if random.chance(4) { elements.saturating_sub(1).max(1) } else { elements };
        let bytes = (elements * kind.bytes()) as u64;
        let (clusters, slices) = match memory {
            Memory::Hbm => (1, 1),
            _ if random.chance(2) => random.pick(&[(3, 1), (1, 257)]),
            _ => (random.between(1, 2), random.pick(&[1, 2, 4, 4, 4])),
        };
        let period = random.pick(&[1, 1, 1, 1, 4, 8]);
        let live = random.between(1, period);
        let address = Self::address(random, memory, bytes);
        let fill = self.fill(random);
        Tensor { memory, address, fill, kind, clusters, slices, elements, period, live, tile: None }
    }

    /// A tensor to be read: one that was made, part of it, what lies where it is, or anything.
    fn read(&mut self, random: &mut Random, memory: Memory) -> Tensor {
        let known: Vec<&Tensor> = self.tensors.iter().filter(|own| own.memory == memory).collect();
        if known.is_empty() || random.chance(6) {
            let (kind, elements) = (random.pick(&KINDS), random.between(1, 64));
            return self.made(random, memory, kind, elements);
        }
        let mut tensor = random.pick(&known).clone();
        if random.chance(25) {
            tensor = Self::tile(random, tensor, 1);
        } else if random.chance(20) && tensor.tile.is_none() {
            let first = random.below(tensor.elements) / tensor.period * tensor.period;
            tensor.address += (first * tensor.kind.bytes()) as u64;
            tensor.elements = random.between(1, tensor.elements - first);
        }
        if random.chance(20) {
            tensor.fill = random.pick(&[0, 0, 0, BARE + 1, BARE + 1, FOREIGN + 1]);
        }
        if random.chance(4) {
            (tensor.kind, tensor.tile) = (random.pick(&KINDS), None);
            tensor.elements = tensor.elements.div_ceil(tensor.kind.bytes());
        }
        tensor
    }

    /// A part of a tensor, or of a part, with at least so many elements.
    fn tile(random: &mut Random, tensor: Tensor, least: usize) -> Tensor {
        let held = tensor.held();
        if least > held || tensor.address >= 49 << 30 {
            return tensor;
        }
        let first = random.below(held - least + 1) / tensor.period * tensor.period;
        let kept = random.between(least, held - first);
        let before = tensor.tile.map_or(0, |tile| tile.before) + first;
        let address = tensor.address + (first * tensor.kind.bytes()) as u64;
        Tensor { address, tile: Some(Tile { before, kept }), ..tensor }
    }

    fn element(random: &mut Random, kind: Kind, holes: bool) -> Option<Vec<u8>> {
        let mut bytes: Vec<u8> = (0..kind.bytes()).map(|_| random.bits() as u8).collect();
        if matches!(kind, Kind::Bf16 | Kind::F32) && random.chance(90) {
            // Of a size that sums do not lose.
            let exponent = random.between(122, 132) as u16;
            let code = (random.bits() as u16 & 0x807f | exponent << 7).to_le_bytes();
            let high = bytes.len() - 2;
            bytes[high..].copy_from_slice(&code);
        }
        (!holes || random.chance(80)).then_some(bytes)
    }

    /// The next operation.
    pub fn next(&mut self, random: &mut Random) -> Operation {
        let operation = match (self.script.pop(), self.theme.is_some(), random.below(100)) {
            (Some(operation), ..) => operation,
            (None, true, 0..65) | (None, false, 64..88) => self.pass(random),
            (None, true, 65..72) | (None, false, 88..91) => self.inspect_trf(random),
            (None, true, 72..82) | (None, false, 91..96) => {
                let memory = random.pick(&[Memory::Vrf, Memory::Vrf, Memory::Dm, Memory::Hbm]);
                self.inspect(random, memory)
            }
            (None, true, 82..86) | (None, false, 36..46) => self.copy(random),
            (None, true, 94..96) | (None, false, 30..36) => self.indexed(random),
            (None, true, 86..90) | (None, false, 46..64) => self.dma(random),
            (None, true, 90..94) | (None, false, 22..30) => self.download(random),
            (None, true, 96..98) | (None, false, 0..20) => self.upload(random),
            (None, true, 98..99) | (None, false, 20..22) => self.set(random),
            _ => Operation::Launch,
        };
        match &operation {
            Operation::Upload { to, .. }
            | Operation::Dma { to, .. }
            | Operation::Copy { to, .. }
            | Operation::Set { to, .. } => self.remember(to),
            Operation::Indexed(own) => self.remember(if own.gathers { &own.side } else { &own.table }),
            Operation::Pass(Pass { sink: Sink::Commit { to, .. } | Sink::Vrf { to, .. }, .. }) => {
                self.remember(to)
            }
            Operation::Pass(Pass { sink: Sink::Trf { to }, .. }) => self.registers.push(to.clone()),
            _ => {}
        }
        if let Operation::Pass(Pass { sink: Sink::Vrf { .. }, .. }) = &operation
            && random.chance(40)
        {
            // What is left of this one, or of one before it.
            let look = self.inspect(random, Memory::Vrf);
            self.script.push(look);
        }
        if let Operation::Pass(Pass { from, sums: Some(sums), .. }) = &operation
            && (sums.weights.fill == 0 || sums.weights.fill >= BARE)
            && from.elements.is_multiple_of(32 / from.kind.bytes())
            && random.chance(60)
        {
            // Registers that are read through a bare handle are loaded again, often by the other context.
            let mut load = self.load(random, from);
            if let Operation::Pass(Pass { sink: Sink::Trf { to }, .. }) = &mut load {
                to.part = sums.weights.part;
            }
            self.script.push(load);
        }
        operation
    }

    /// Also of a command that is refused: a handle to nothing.
    fn remember(&mut self, tensor: &Tensor) {
        if tensor.address < 49 << 30 {
            self.tensors.push(tensor.clone());
        }
    }

    fn upload(&mut self, random: &mut Random) -> Operation {
        let (kind, elements) = (random.pick(&KINDS), random.between(8, 64));
        let to = self.made(random, Memory::Hbm, kind, elements);
        let mut moved = Move { loops: vec![one(elements, (0, 1), (0, 1))], cut: None };
        let mut array = elements;
        match random.below(16) {
            0 => moved.loops[0].to.1 = random.below(3),
            1 => moved.loops[0].size = 0,
            2 => {
                // Rows of four become columns.
                let rows = elements / 4;
                moved.loops = vec![one(rows, (0, 4), (0, 1)), one(4, (0, 1), (0, rows))];
                array = rows * 4;
            }
            3 => moved.cut = Some((0, random.below(elements))),
            _ => {}
        }
        let holes = random.chance(25);
        let array = (0..array).map(|_| Self::element(random, kind, holes)).collect();
        Operation::Upload { to, moved, array }
    }

    fn download(&mut self, random: &mut Random) -> Operation {
        let from = self.read(random, Memory::Hbm);
        let elements = if random.chance(10) { from.held() + random.below(9) } else { from.held() };
        let mut moved = Move { loops: vec![one(elements, (0, 1), (0, 1))], cut: None };
        match random.below(12) {
            0 => moved.loops[0].from.1 = random.below(3),
            1 => moved.loops[0].size = 0,
            2 => moved.cut = Some((0, random.below(elements))),
            _ => {}
        }
        Operation::Download { from, moved, elements }
    }

    fn dma(&mut self, random: &mut Random) -> Operation {
        let pcie = random.chance(15);
        let mut sides = [(); 2].map(|()| if pcie || random.chance(35) { Memory::Hbm } else { Memory::Dm });
        if random.chance(2) {
            sides[random.below(2)] = Memory::Vrf;
        }
        if pcie && random.chance(10) {
            sides[random.below(2)] = Memory::Dm;
        }
        let from = self.read(random, sides[0]);
        let rows = random.pick(&[1, 1, 2, 4]);
        let units = random.pick(&[1, 2, 4]);
        // Per unit on the side that has units, so many elements; on the other one as many for all.
        let spread = sides[0] != sides[1];
        let held = if sides[0] == Memory::Hbm && spread { from.held() / units } else { from.held() };
        let row = (held / rows).max(1);
        let count = rows * row;
        let all = if sides[1] == Memory::Hbm && spread { count * units } else { count };
        let mut to = self.made(random, sides[1], from.kind, all);
        if from.memory == to.memory && random.chance(25) {
            // Over its own source, or beside it.
            let any = 8 * random.below(40) as u64;
            to.tile = None;
            to.address = from.address.saturating_add(random.pick(&[0, 0, 0, 8, 64, any]));
        }
        let step = |memory: Memory| match memory {
            Memory::Hbm if spread => (0, count),
            Memory::Hbm => (0, 0),
            _ => (1, 0),
        };
        let units = if sides == [Memory::Hbm; 2] { 1 } else { units };
        let mut loops = vec![
            one(units, step(sides[0]), step(sides[1])),
            one(rows, (0, row), (0, row)),
            one(row, (0, 1), (0, 1)),
        ];
        if random.chance(15) {
            // Another order of the rows in the destination.
            loops[1].to.1 = 1;
            loops[2].to.1 = rows;
        }
        let mut moved = Move { loops, cut: None };
        let at = random.below(3);
        match random.below(24) {
            0 => moved.loops[at].size = 0,
            1 => moved.loops[at].size += 1,
            2 => moved.loops[at].to.1 = random.below(5),
            3 => moved.loops[at].to.0 = random.below(300),
            4 => moved.loops[at].from.1 = random.below(9),
            5 => moved.loops[at].from.0 = random.below(300),
            6 => moved.cut = Some((at, random.below(moved.loops[at].size + 1))),
            _ => {}
        }
        Operation::Dma { from, to, moved, pcie }
    }

    /// An index is uploaded, and moved to DM at times; then rows are gathered or scattered by it.
    fn indexed(&mut self, random: &mut Random) -> Operation {
        let gathers = random.chance(50);
        let mut read = self.read(random, if gathers { Memory::Hbm } else { Memory::Dm });
        if random.chance(2) {
            read.memory = random.pick(&[Memory::Hbm, Memory::Dm]);
        }
        let (keys, apart) = (random.between(1, 4), random.chance(50));
        // Rows in slices of their own, or one after the other in elements.
        let mut count = random.between(1, 6);
        let length = if gathers {
            (read.elements / count).max(1)
        } else {
            (if apart { read.elements } else { read.elements / keys }).max(1)
        };
        let stride = length + if random.chance(20) { random.below(3) } else { 0 };
        if gathers {
            count = (read.elements / stride).max(1);
        }
        let other = if gathers { if apart { length } else { length * keys } } else { count * stride };
        let written = self.made(random, if gathers { Memory::Dm } else { Memory::Hbm }, read.kind, other);
        let (table, side) = if gathers { (read, written) } else { (written, read) };
        let scale = if random.chance(30) { (stride * table.kind.bytes()).max(2) } else { 1 };
        let wrong = random.chance(25);
        let number = |random: &mut Random| {
            let row = random.below(count) * scale;
            let row = if wrong && random.chance(30) {
                random.pick(&[-1, (count * scale) as i32, row as i32 + 1, i32::MIN])
            } else {
                row as i32
            };
            (!wrong || random.chance(80)).then(|| row.to_le_bytes().to_vec())
        };
        let array: Vec<_> = (0..keys).map(|_| number(random)).collect();
        let in_hbm = self.made(random, Memory::Hbm, Kind::I32, keys);
        let flat = Move { loops: vec![one(keys, (0, 1), (0, 1))], cut: None };
        let upload = Operation::Upload { to: in_hbm.clone(), moved: flat.clone(), array };
        let mut index = in_hbm.clone();
        let mut dma = None;
        if random.chance(40) {
            index = self.made(random, Memory::Dm, Kind::I32, keys);
            dma = Some(Operation::Dma { from: in_hbm, to: index.clone(), moved: flat, pcie: false });
        }
        if random.chance(8) {
            // Over what is written, or beside it.
            let to = if gathers { &side } else { &table };
            index.address = to.address.saturating_add(random.pick(&[0, 4, 64]));
        }
        if random.chance(8) {
            index.fill = random.pick(&[0, BARE + 1, FOREIGN + 1]);
        }
        let to = if apart { (1, 0) } else { (0, length) };
        let mut rows = Move { loops: vec![one(keys, (0, 1), to)], cut: None };
        let mut payload = Move { loops: vec![one(length, (0, 1), (0, 1))], cut: None };
        match random.below(24) {
            0 => rows.loops[0].size = 0,
            1 => rows.loops[0].size += 1,
            2 => rows.loops[0].to = (0, random.below(length + 2)),
            3 => rows.cut = Some((0, random.below(keys + 1))),
            4 => payload.cut = Some((0, random.below(length + 1))),
            5 => payload.loops[0].size += 1,
            6 => payload.loops[0].from.1 = random.below(3),
            7 => payload.loops[0].to.1 = random.below(3),
            _ => {}
        }
        let last_wins = random.chance(40);
        let own = Indexed { gathers, table, index, side, rows, payload, count, stride, scale, last_wins };
        let (index, side) = (own.index.clone(), own.side.clone());
        self.script.push(Operation::Indexed(own));
        let inside = |size| Move { loops: vec![one(size, (0, 1), (0, 1))], cut: None };
        if random.chance(6) {
            // Another tensor over the index.
            let to = Tensor { fill: self.fill(random), elements: 1, tile: None, ..index };
            let array = vec![Self::element(random, Kind::I32, false)];
            self.script.push(Operation::Upload { to, moved: inside(1), array });
        } else if random.chance(10) {
            // The sub context writes the other side through a handle that knows nothing.
            let bare = Tensor { fill: 0, ..side };
            let moves = vec![((0, 0), (0, 0), inside(bare.elements))];
            let (call, from, to) = (Copied::Parallel, bare.clone(), bare);
            self.script.push(Operation::Copy { call, from, to, moves });
        }
        self.script.extend(dma);
        upload
    }

    /// A value to all slices and elements of a tensor, seldom to others.
    fn set(&mut self, random: &mut Random) -> Operation {
        let memory = if random.chance(2) { Memory::Hbm } else { Memory::Dm };
        let (kind, elements) = (random.pick(&KINDS), random.between(1, 64));
        let to = self.made(random, memory, kind, elements);
        let (slices, held) = (to.slices.min(4), to.held());
        let both = |size, step| one(size, step, step);
        let mut loops = vec![both(to.clusters.min(2), (256, 0)), both(slices, (1, 0)), both(held, (0, 1))];
        let at = random.below(loops.len());
        let mut cut = None;
        let moved = &mut loops[at];
        match random.below(28) {
            0 => moved.size = 0,
            1 => moved.size += 1,
            2 => moved.to.1 = random.pick(&[0, 1, 2, 3]),
            3 => moved.to.0 = random.below(300),
            4 => cut = Some((at, random.below(moved.size + 1))),
            _ => {}
        }
        moved.from = moved.to;
        let value = Self::element(random, to.kind, false).expect("it has no holes");
        Operation::Set { to, value, moved: Move { loops, cut } }
    }

    /// Clusters in another order, slices in another order, or a part for each cluster.
    fn copy(&mut self, random: &mut Random) -> Operation {
        let call = random.pick(&[Copied::Shuffle, Copied::Parallel, Copied::Parts]);
        let memory = if random.chance(2) { Memory::Hbm } else { Memory::Dm };
        let from = self.read(random, memory);
        let parts = if call == Copied::Parts { random.pick(&[1, 2, 4]) } else { 1 };
        let held = (from.held() / parts).max(1);
        let mut to = self.made(random, memory, from.kind, held);
        if random.chance(60) {
            (to.clusters, to.slices) = (from.clusters, from.slices);
        }
        if random.chance(20) {
            // Over its own source, or beside it.
            let any = 8 * random.below(40) as u64;
            to.tile = None;
            to.address = from.address.saturating_add(random.pick(&[0, 0, 8, 64, any]));
        }
        let (clusters, slices) = (from.clusters.min(to.clusters).min(2), from.slices.min(to.slices).min(4));
        let mut moves = Vec::new();
        for cluster in 0..clusters {
            let mut source = if call == Copied::Shuffle { random.below(clusters) } else { cluster };
            if random.chance(2) {
                source = random.below(2);
            }
            let mut loops = vec![one(slices, (1, 0), (1, 0)), one(held, (0, 1), (0, 1))];
            if call == Copied::Parallel && slices == 4 && random.chance(50) {
                // Slices in another order.
                loops.splice(0..1, [one(2, (2, 0), (1, 0)), one(2, (1, 0), (2, 0))]);
            }
            let at = random.below(loops.len());
            let mut cut = None;
            match random.below(28) {
                0 => loops[at].size = 0,
                1 => loops[at].size += 1,
                2 | 6 | 7 => loops[at].to.1 = random.pick(&[0, 0, 1, 2, 3, 4]),
                3 => loops[at].to.0 = random.below(300),
                4 => loops[at].from.1 = random.below(9),
                5 => cut = Some((at, random.below(loops[at].size + 1))),
                _ => {}
            }
            let first = held * random.below(parts);
            let target = if random.chance(2) { random.below(2) } else { cluster };
            moves.push(((256 * source, first), (256 * target, 0), Move { loops, cut }));
        }
        Operation::Copy { call, from, to, moves }
    }

    fn pass(&mut self, random: &mut Random) -> Operation {
        let memory = if random.chance(2) { Memory::Hbm } else { Memory::Dm };
        let whole = self.tensors.iter().find(|own| own.memory == memory && self.theme == Some(own.kind));
        let from = match whole {
            Some(whole) if random.chance(60) => whole.clone(),
            _ => self.read(random, memory),
        };
        let output = match (from.kind, random.below(8)) {
            (Kind::I8, 0..4) => Kind::I32,
            (Kind::F32 | Kind::I32, 0) => Kind::I8,
            (Kind::Bf16, 0) => Kind::I32,
            (kind, _) => kind,
        };
        let lanes = 32 / output.bytes();
        let flits = random.pick(&[1, 1, 1, 2]);
        let packet = match random.below(8) {
            0 => random.between(1, lanes * flits),
            1 => lanes * flits / 2,
            _ => lanes * flits,
        };
        let time = (from.held() / packet).clamp(1, 6);
        let mut loops = vec![(time, packet as isize), (packet, 1)];
        let mut base = 0;
        match random.below(16) {
            0 => loops[0].1 = random.between(0, 8) as isize - 4,
            1 => loops[1].1 = random.below(3) as isize,
            2 => base = random.between(0, 16) as isize - 8,
            3 => {
                // Backwards.
                loops[0].1 = -(packet as isize);
                base = ((time - 1) * packet) as isize;
            }
            4 | 5 if time.is_multiple_of(2) => {
                // Windows: two loops over the same elements.
                let (stride, dilation) = (random.between(1, packet), random.between(1, 4));
                loops.splice(0..1, [(time / 2, stride as isize), (2, dilation as isize)]);
            }
            _ => {}
        }
        let exchange = random.chance(20).then(|| random_exchange(random, &from, time));
        let fetched = Fetched { from, base, loops, time, packet, output, exchange, flits };
        let chance = if self.theme.is_some() { 50 } else { 12 };
        let summable = self.registers.iter().any(|own| own.kind == output);
        if random.chance(chance) && (summable || random.chance(8)) {
            return self.summed(random, fetched);
        }
        if random.chance(15) {
            return self.transposed(random, fetched);
        }
        let total = fetched.total();
        let steps = if random.chance(15) { random.between(0, total) } else { 1 << 20 };
        let mut limit = match random.below(8) {
            0 => random.between(0, lanes),
            1 => packet.min(lanes),
            _ => 1 << 20,
        };
        if packet < lanes * flits && (output != fetched.from.kind || random.chance(70)) {
            // What collect adds is padding.
            limit = limit.min(packet.saturating_sub(lanes * (flits - 1)));
        }
        let registers = if self.theme.is_some() { 6 } else { 2 };
        let sink = match random.below(10) {
            0..2 if output.bytes() == 4 || random.chance(10) => self.vrf(random, output, total * lanes),
            k if (2..2 + registers).contains(&k) => self.trf(random, output, total * lanes),
            _ => self.commit(random, &fetched.from, output, total, lanes),
        };
        let loads = matches!(sink, Sink::Trf { .. } | Sink::Vrf { .. });
        let sub = random.chance(if loads { 60 } else { 35 });
        Operation::Pass(fetched.to(sink, sub, (limit, steps)))
    }

    /// A pass that multiplies what it fetches with registers.
    fn summed(&mut self, random: &mut Random, fetched: Fetched) -> Operation {
        let (output, total) = (fetched.output, fetched.total());
        let weights = self.loaded(random, Some(output));
        let sums = crate::sums::random_sums(random, weights, (output, fetched.packet, fetched.flits, total));
        let (kind, time_steps) = (Sums::output(output), sums.time());
        let steps = if random.chance(15) { random.between(0, time_steps) } else { 1 << 20 };
        let lanes = if sums.sequential { sums.columns } else { sums.weights.rows }.min(8);
        let sink = match random.below(10) {
            0..2 => self.trf(random, kind, time_steps * 8),
            2..4 => self.vrf(random, kind, time_steps * 8),
            4 => return self.sums_transposed(random, fetched, (sums, lanes, steps)),
            _ => self.commit(random, &fetched.from, kind, time_steps, 8),
        };
        let sub = random.chance(20);
        Operation::Pass(Pass { sums: Some(sums), ..fetched.to(sink, sub, (lanes, steps)) })
    }

    /// The same, with lanes made of the time steps of the sums. Lanes behind the results are none.
    fn sums_transposed(
        &mut self,
        random: &mut Random,
        fetched: Fetched,
        (sums, lanes, steps): (Sums, usize, usize),
    ) -> Operation {
        let kind = Sums::output(fetched.output);
        let own = loop {
            let own = random_matrices(random, kind, sums.time(), lanes);
            if own.out_rows <= lanes * own.packets_per_col {
                break own;
            }
        };
        let total = own.iterations * own.out_rows;
        let rows = if random.chance(90) { own.in_rows } else { random.between(0, 8) };
        let sink = self.commit(random, &fetched.from, kind, total, 8);
        let pass = fetched.to(sink, random.chance(8), (rows, steps.min(total)));
        Operation::Pass(Pass { sums: Some(sums), transpose: Some(own), ..pass })
    }

    /// A pass that makes lanes of time steps. It ends with a commit.
    fn transposed(&mut self, random: &mut Random, fetched: Fetched) -> Operation {
        let (kind, packet) = (fetched.output, fetched.packet);
        let lanes = 32 / kind.bytes();
        let last = packet.saturating_sub(lanes * (fetched.flits - 1));
        let own = random_matrices(random, kind, fetched.total(), last);
        let total = own.iterations * own.out_rows;
        let rows = if random.chance(90) { own.in_rows } else { random.between(0, lanes) };
        let steps = if random.chance(15) { random.between(0, total) } else { 1 << 20 };
        let sink = self.commit(random, &fetched.from, kind, total, lanes);
        let sub = random.chance(8);
        Operation::Pass(Pass { transpose: Some(own), ..fetched.to(sink, sub, (rows, steps)) })
    }

    fn commit(
        &mut self,
        random: &mut Random,
        from: &Tensor,
        output: Kind,
        total: usize,
        lanes: usize,
    ) -> Sink {
        let window =
            if random.chance(25) { random.pick(&[lanes / 2, lanes / 4, lanes]).max(1) } else { lanes };
        let mut to = self.made(random, Memory::Dm, output, total * window);
        if random.chance(85) {
            (to.clusters, to.slices) = (from.clusters, from.slices);
        }
        if random.chance(12) {
            // Over its own source, or beside it.
            let down = 8 * random.below(8) as u64;
            to.tile = None;
            to.address = from.address.saturating_add(8 * random.below(8) as u64).saturating_sub(down);
        }
        let mut loops = vec![(total, window as isize), (window, 1)];
        match random.below(14) {
            0 => loops[0].1 = random.below(2 * window) as isize,
            1 => loops[0].1 = -(window as isize),
            2 => loops[0].1 += 8,
            3 if total.is_multiple_of(2) => {
                // Two halves take turns.
                let half = (total / 2 * window) as isize;
                loops = vec![(total / 2, window as isize), (2, half), (window, 1)];
            }
            _ => {}
        }
        Sink::Commit { to, loops, window }
    }

    fn trf(&mut self, random: &mut Random, kind: Kind, elements: usize) -> Sink {
        let mut rows = random.pick(&[8, 8, 4, 2, 1]);
        let mut row_elements = elements.div_ceil(rows);
        match random.below(24) {
            0 => rows = random.pick(&[0, 3, 16, 1000]),
            1 => row_elements = 8192 * 8 / rows + random.below(2),
            2 => row_elements = (row_elements - 1).max(1),
            _ => {}
        }
        let part = random.below(3);
        if row_elements > 1000 {
            // At the limit of the part, and one element past it.
            let most = if part == 2 { 65536 } else { 32768 } / kind.bytes() / rows.max(1);
            row_elements = most + random.below(2);
        }
        let period = random.pick(&[1, 1, 1, 1, 1, 4]);
        let (live, fill) = (random.between(1, period), self.fill(random));
        Sink::Trf { to: Registers { part, fill, kind, rows, row_elements, period, live } }
    }

    fn vrf(&mut self, random: &mut Random, kind: Kind, elements: usize) -> Sink {
        let memory = if random.chance(95) { Memory::Vrf } else { Memory::Dm };
        let mut to = self.made(random, memory, kind, elements);
        if random.chance(90) {
            (to.clusters, to.slices) = (2, 4);
        }
        let mut own = one(elements, (0, 1), (0, 1));
        match random.below(10) {
            0 => own.to.1 = random.below(4),
            1 => own.size += random.below(3),
            2 => own.from.1 = random.below(3),
            _ => {}
        }
        Sink::Vrf { to, moved: Move { loops: vec![own], cut: None } }
    }

    /// Registers to be read: a tensor that was loaded, or whatever is there.
    fn loaded(&self, random: &mut Random, kind: Option<Kind>) -> Registers {
        let mut known = self.registers.clone();
        known.retain(|own| random.chance(8) || kind.is_none_or(|kind| own.kind == kind));
        let Some(last) = known.len().checked_sub(1) else {
            let kind = kind.unwrap_or(Kind::I8);
            let part = random.below(3);
            return Registers { part, fill: 0, kind, rows: 8, row_elements: 8, period: 1, live: 1 };
        };
        let mut own = known[last.saturating_sub(random.below(3))].clone();
        if random.chance(25) {
            own.fill = random.pick(&[0, 0, BARE + 1]);
        }
        if random.chance(10) {
            own.part = random.below(3);
        }
        if random.chance(4) {
            own.row_elements += 1;
        }
        own
    }

    fn inspect_trf(&mut self, random: &mut Random) -> Operation {
        let mut from = self.loaded(random, None);
        if ![1, 2, 4, 8].contains(&from.rows) && random.chance(70) {
            from.rows = 8;
        }
        let (rows, row) = (from.rows.min(8), from.row_elements.min(40));
        let slices = random.between(1, 4);
        let loops =
            vec![one(slices, (8, 0), (0, rows * row)), one(rows, (1, 0), (0, row)), one(row, (0, 1), (0, 1))];
        Operation::InspectTrf { from, moved: Move { loops, cut: None }, elements: slices * rows * row }
    }

    fn inspect(&mut self, random: &mut Random, memory: Memory) -> Operation {
        let from = self.read(random, memory);
        let slices = random.between(1, 4);
        let loops = vec![one(slices, (1, 0), (0, from.elements)), one(from.elements, (0, 1), (0, 1))];
        let elements = slices * from.elements;
        Operation::Inspect { from, moved: Move { loops, cut: None }, elements }
    }
}
