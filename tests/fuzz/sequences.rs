//! Random operations. Most are legal; each of their numbers is at times one that is not.

use crate::reference::random::Random;
use crate::reference::shadow::{Kind, Loop, Memory, Move, Operation, Pass, Registers, Sink, Tensor};

const KINDS: [Kind; 5] = [Kind::I8, Kind::I16, Kind::Bf16, Kind::I32, Kind::F32];

/// What a sequence has made so far.
#[derive(Debug, Default)]
pub struct Sequence {
    fills: u64,
    tensors: Vec<Tensor>,
    registers: Vec<Registers>,
}

fn capacity(memory: Memory) -> u64 {
    match memory {
        Memory::Hbm => 48 << 30,
        Memory::Dm => 512 << 10,
        Memory::Vrf => 8 << 10,
        Memory::Trf => unreachable!("it has registers"),
    }
}

fn one(size: usize, from: (usize, usize), to: (usize, usize)) -> Loop {
    Loop { size, from, to }
}

impl Sequence {
    fn fill(&mut self, random: &mut Random) -> u64 {
        if random.chance(15) {
            return 0;
        }
        self.fills += 1;
        self.fills
    }

    fn address(random: &mut Random, memory: Memory, bytes: u64) -> u64 {
        match random.below(40) {
            0 => capacity(memory) - bytes,
            1 => capacity(memory) - bytes + random.pick(&[1, 2, 4, 8, bytes]),
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
        if random.chance(20) && !known.is_empty() {
            return random.pick(&known).clone();
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
        Tensor { memory, address, fill, kind, clusters, slices, elements, period, live }
    }

    /// A tensor to be read: one that was made, part of it, what lies where it is, or anything.
    fn read(&mut self, random: &mut Random, memory: Memory) -> Tensor {
        let known: Vec<&Tensor> = self.tensors.iter().filter(|own| own.memory == memory).collect();
        if known.is_empty() || random.chance(6) {
            let (kind, elements) = (random.pick(&KINDS), random.between(1, 64));
            return self.made(random, memory, kind, elements);
        }
        let mut tensor = random.pick(&known).clone();
        if random.chance(20) {
            let first = random.below(tensor.elements) / tensor.period * tensor.period;
            tensor.address += (first * tensor.kind.bytes()) as u64;
            tensor.elements = random.between(1, tensor.elements - first);
        }
        if random.chance(20) {
            tensor.fill = 0;
        }
        if random.chance(4) {
            tensor.kind = random.pick(&KINDS);
            tensor.elements = tensor.elements.div_ceil(tensor.kind.bytes());
        }
        tensor
    }

    fn element(random: &mut Random, kind: Kind, holes: bool) -> Option<Vec<u8>> {
        let bytes = (0..kind.bytes()).map(|_| random.bits() as u8).collect();
        (!holes || random.chance(80)).then_some(bytes)
    }

    /// The next operation.
    pub fn next(&mut self, random: &mut Random) -> Operation {
        let operation = match random.below(100) {
            0..22 => self.upload(random),
            22..36 => self.download(random),
            36..64 => self.dma(random),
            64..90 => self.pass(random),
            90..93 => self.inspect_trf(random),
            93..96 => self.inspect_vrf(random),
            _ => Operation::Launch,
        };
        match &operation {
            Operation::Upload { to, .. } | Operation::Dma { to, .. } => self.remember(to),
            Operation::Pass(Pass { sink: Sink::Commit { to, .. } | Sink::Vrf { to, .. }, .. }) => {
                self.remember(to)
            }
            Operation::Pass(Pass { sink: Sink::Trf { to }, .. }) => self.registers.push(to.clone()),
            _ => {}
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
        let elements = if random.chance(10) { from.elements + random.below(9) } else { from.elements };
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
        let held = if sides[0] == Memory::Hbm && spread { from.elements / units } else { from.elements };
        let row = (held / rows).max(1);
        let count = rows * row;
        let all = if sides[1] == Memory::Hbm && spread { count * units } else { count };
        let to = self.made(random, sides[1], from.kind, all);
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

    fn pass(&mut self, random: &mut Random) -> Operation {
        let memory = if random.chance(2) { Memory::Hbm } else { Memory::Dm };
        let from = self.read(random, memory);
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
        let time = (from.elements / packet).clamp(1, 6);
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
            _ => {}
        }
        let total = time * flits;
        let steps = if random.chance(15) { random.between(0, total) } else { 1 << 20 };
        let mut limit = match random.below(8) {
            0 => random.between(0, lanes),
            1 => packet.min(lanes),
            _ => 1 << 20,
        };
        if packet < lanes * flits && (output != from.kind || random.chance(70)) {
            // What collect adds is padding.
            limit = limit.min(packet.saturating_sub(lanes * (flits - 1)));
        }
        let sink = match random.below(10) {
            0..2 => self.trf(random, output, total * lanes),
            2..4 => self.vrf(random, output, total * lanes),
            _ => self.commit(random, &from, output, total, lanes),
        };
        let sub = random.chance(35);
        Operation::Pass(Pass {
            sub,
            from,
            base,
            loops,
            time,
            packet,
            output,
            flits,
            sink,
            lanes: limit,
            steps,
        })
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
        let (mut rows, mut row_elements) = (8, elements.div_ceil(8));
        match random.below(12) {
            0 => rows = random.pick(&[0, 3, 16, 1000]),
            1 => row_elements = 8192 + random.below(2),
            2 => row_elements = (row_elements - 1).max(1),
            _ => {}
        }
        let part = random.below(3);
        if rows == 8 && row_elements > 1000 {
            // At the limit of the part, and one byte past it.
            let most = if part == 2 { 8192 } else { 4096 } / kind.bytes();
            row_elements = most + random.below(2);
        }
        let fill = self.fill(random);
        Sink::Trf { to: Registers { part, fill, kind, rows, row_elements } }
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

    fn inspect_trf(&mut self, random: &mut Random) -> Operation {
        let mut from = match self.registers.is_empty() {
            true => Registers { part: random.below(3), fill: 0, kind: Kind::I8, rows: 8, row_elements: 8 },
            false => random.pick(&self.registers),
        };
        if from.rows != 8 && random.chance(70) {
            from.rows = 8;
        }
        let (rows, row) = (from.rows.min(8), from.row_elements.min(40));
        let slices = random.between(1, 4);
        let loops =
            vec![one(slices, (8, 0), (0, rows * row)), one(rows, (1, 0), (0, row)), one(row, (0, 1), (0, 1))];
        Operation::InspectTrf { from, moved: Move { loops, cut: None }, elements: slices * rows * row }
    }

    fn inspect_vrf(&mut self, random: &mut Random) -> Operation {
        let memory = if random.chance(95) { Memory::Vrf } else { Memory::Hbm };
        let from = self.read(random, memory);
        let slices = random.between(1, 4);
        let loops = vec![one(slices, (1, 0), (0, from.elements)), one(from.elements, (0, 1), (0, 1))];
        let elements = slices * from.elements;
        Operation::InspectVrf { from, moved: Move { loops, cut: None }, elements }
    }
}
