//! The memories of the chip byte by byte, and which operations break a rule: every rule is asked of every byte.
//!
//! Written from the specification pages 10 and 30 and from the documentation of the checks. Tensors lie at the first
//! chip, clusters and slices; of every few elements, the leading ones are live.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    /// One per chip.
    Hbm,
    /// One per slice.
    Dm,
    /// Registers of the contraction, one file per slice. Addresses are of this model: see [`Shadow::trf_byte`].
    Trf,
    /// Registers of 32 bits, one file per slice.
    Vrf,
}

impl Memory {
    /// Bytes per unit.
    fn capacity(self) -> u128 {
        match self {
            Memory::Hbm => 48 << 30,
            Memory::Dm => 512 << 10,
            Memory::Vrf => 8 << 10,
            Memory::Trf => 1 << 20,
        }
    }
}

/// An element type, as far as bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 1 byte.
    I8,
    /// 2 bytes.
    I16,
    /// 2 bytes.
    Bf16,
    /// 4 bytes.
    I32,
    /// 4 bytes.
    F32,
}

impl Kind {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Kind::I8 => 1,
            Kind::I16 | Kind::Bf16 => 2,
            Kind::I32 | Kind::F32 => 4,
        }
    }
}

/// Chips, clusters and slices of the simulated system.
pub const UNITS: [usize; 3] = [1, 2, 256];
/// Bytes of a flit.
const FLIT: usize = 32;

/// A tensor in a memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub memory: Memory,
    pub address: u64,
    /// The filling. 0: made from a bare address.
    pub fill: u64,
    pub kind: Kind,
    pub clusters: usize,
    pub slices: usize,
    pub elements: usize,
    /// Of every `period` elements, the first `live` are live.
    pub period: usize,
    pub live: usize,
}

impl Tensor {
    fn bytes(&self) -> u128 {
        (self.elements * self.kind.bytes()) as u128
    }

    fn capacity(&self) -> u128 {
        self.memory.capacity()
    }

    /// The units that it spans, padding included.
    fn units(&self) -> Vec<usize> {
        match self.memory {
            Memory::Hbm => (0..UNITS[0]).collect(),
            _ => (0..self.clusters).flat_map(|c| (0..self.slices).map(move |s| c * 256 + s)).collect(),
        }
    }

    fn is_live(&self, element: usize) -> bool {
        element % self.period < self.live
    }

    /// The bytes of its live elements, in each unit.
    fn live_bytes(&self) -> Vec<u64> {
        let size = self.kind.bytes();
        let live = (0..self.elements).filter(|&element| self.is_live(element));
        live.flat_map(|e| (0..size).map(move |k| self.address + (e * size + k) as u64)).collect()
    }

    fn leaves_memory(&self) -> bool {
        let end = |element: usize| u128::from(self.address) + ((element + 1) * self.kind.bytes()) as u128;
        // An address that 64 bits do not hold is none, whatever lies there.
        u128::from(self.address) + self.bytes() > u128::from(u64::MAX)
            || (0..self.elements).any(|element| self.is_live(element) && end(element) > self.capacity())
            || self.clusters > UNITS[1]
            || self.slices > UNITS[2]
    }
}

/// One loop of a move: iterations, and steps in units and elements on either side.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    pub size: usize,
    pub from: (usize, usize),
    pub to: (usize, usize),
}

/// Loops. Where `cut` is a loop and a limit, only iterations below the limit move something.
#[derive(Clone, Debug, Default)]
pub struct Move {
    pub loops: Vec<Loop>,
    pub cut: Option<(usize, usize)>,
}

/// A unit and an element.
type Spot = (usize, usize);

impl Move {
    /// What moves where, in any order.
    fn pairs(&self) -> Vec<(Spot, Spot)> {
        let mut pairs = vec![((0, 0), (0, 0))];
        for (k, own) in self.loops.iter().enumerate() {
            let limit =
                self.cut.filter(|&(at, _)| at == k).map_or(own.size, |(_, limit)| own.size.min(limit));
            let step = |at: Spot, by: (usize, usize), i: usize| (at.0 + by.0 * i, at.1 + by.1 * i);
            pairs = (pairs.iter())
                .flat_map(|&(a, b)| (0..limit).map(move |i| (step(a, own.from, i), step(b, own.to, i))))
                .collect();
        }
        pairs
    }
}

/// Where a stream ends.
#[derive(Clone, Debug)]
pub enum Sink {
    /// Loops over the elements of the tensor, `window` lanes at a time.
    Commit { to: Tensor, loops: Vec<(usize, isize)>, window: usize },
    /// In order, from the first row on. Halves: 0 and 1; 2 is the whole file.
    Trf { to: Registers },
    /// One loop: from the lane with this number on, so many, each so far from the last.
    Vrf { to: Tensor, moved: Move },
}

/// A tensor in the register file of the contraction.
#[derive(Clone, Debug)]
pub struct Registers {
    pub part: usize,
    pub fill: u64,
    pub kind: Kind,
    pub rows: usize,
    pub row_elements: usize,
}

/// A pass without arithmetic.
#[derive(Clone, Debug)]
pub struct Pass {
    pub sub: bool,
    pub from: Tensor,
    pub base: isize,
    pub loops: Vec<(usize, isize)>,
    pub time: usize,
    pub packet: usize,
    pub output: Kind,
    pub flits: usize,
    pub sink: Sink,
    /// Lanes and time steps from these on are padding.
    pub lanes: usize,
    pub steps: usize,
}

/// An element on the host: its bytes, or nothing.
pub type Element = Option<Vec<u8>>;

/// What the host asks of the chip.
#[derive(Clone, Debug)]
pub enum Operation {
    Upload {
        to: Tensor,
        moved: Move,
        array: Vec<Element>,
    },
    Download {
        from: Tensor,
        moved: Move,
        elements: usize,
    },
    Dma {
        from: Tensor,
        to: Tensor,
        moved: Move,
        pcie: bool,
    },
    Pass(Pass),
    InspectTrf {
        from: Registers,
        moved: Move,
        elements: usize,
    },
    InspectVrf {
        from: Tensor,
        moved: Move,
        elements: usize,
    },
    /// Another launch.
    Launch,
}

/// A rule that an operation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Stale,
    Uninitialised,
    Bounds,
    Capacity,
    Misaligned,
    Overwrite,
    View,
    Twice,
    Unordered,
    Unsupported,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 10] = [
        Rule::Stale,
        Rule::Uninitialised,
        Rule::Bounds,
        Rule::Capacity,
        Rule::Misaligned,
        Rule::Overwrite,
        Rule::View,
        Rule::Twice,
        Rule::Unordered,
        Rule::Unsupported,
    ];
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: Option<u8>,
    /// The filling that wrote it last, and when.
    owner: Option<(u64, usize)>,
}

#[derive(Clone, Debug)]
struct Used {
    memory: Memory,
    fill: u64,
    writes: bool,
    /// Bytes in each unit, padding included.
    spans: Vec<Range<u64>>,
    bytes: BTreeSet<u64>,
    units: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
struct Done {
    context: usize,
    uses: Vec<Used>,
    /// What certainly has happened before.
    before: BTreeSet<usize>,
}

/// The memories.
#[derive(Debug, Default)]
pub struct Shadow {
    cells: BTreeMap<(Memory, usize, u64), Cell>,
    first: BTreeMap<u64, usize>,
    writes: usize,
    done: Vec<Done>,
}

/// What came back: elements, for the operations that read; or the rules that are broken.
pub type Outcome = Result<Vec<Element>, BTreeSet<Rule>>;

fn position(base: isize, loops: &[(usize, isize)], number: usize) -> isize {
    let mut rest = number;
    let mut at = base;
    for &(size, stride) in loops.iter().rev() {
        at += (rest % size) as isize * stride;
        rest /= size;
    }
    at
}

impl Shadow {
    /// Does an operation, or says which rules it breaks. `waits`: a pass that is refused for its values has been accepted
    /// before, and noted.
    pub fn give(&mut self, operation: &Operation, waits: bool) -> Outcome {
        let mut broken = BTreeSet::new();
        match operation {
            Operation::Upload { to, moved, array } => {
                self.host(to, &mut broken);
                self.writes_well(to, moved, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                self.done.clear();
                for (from, spot) in moved.pairs() {
                    self.put(to, spot, array[from.1].as_deref());
                }
                self.note(to);
                Ok(Vec::new())
            }
            Operation::Download { from, moved, elements } => {
                self.host(from, &mut broken);
                self.reads_well(from, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                self.done.clear();
                Ok(self.array(from, moved, *elements))
            }
            Operation::Dma { from, to, moved, pcie } => {
                for tensor in [from, to] {
                    if !matches!(tensor.memory, Memory::Hbm | Memory::Dm) {
                        broken.insert(Rule::Unsupported);
                    }
                    if *pcie && tensor.memory == Memory::Dm {
                        broken.insert(Rule::Unsupported);
                    }
                    if tensor.leaves_memory() {
                        broken.insert(Rule::Bounds);
                    }
                    let eight = (from.memory, to.memory) == (Memory::Hbm, Memory::Dm);
                    let unit = if eight { 8 } else { tensor.kind.bytes() as u64 };
                    if !tensor.address.is_multiple_of(unit)
                        || !tensor.address.is_multiple_of(tensor.kind.bytes() as u64)
                    {
                        broken.insert(Rule::Misaligned);
                    }
                }
                self.reads_well(from, &mut broken);
                self.writes_well(to, moved, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                let uses = vec![used(from, false), used(to, true)];
                self.in_order(if *pcie { 3 } else { 2 }, uses)?;
                let values: Vec<_> = moved
                    .pairs()
                    .into_iter()
                    .map(|(a, b)| (b, self.element(from, a.0, a.1 as isize)))
                    .collect();
                for (spot, value) in values {
                    self.put(to, spot, value.as_deref());
                }
                self.note(to);
                Ok(Vec::new())
            }
            Operation::Pass(pass) => self.pass(pass, waits),
            Operation::InspectTrf { from, moved, elements } => {
                let tensor = self.registers(from, &mut broken);
                let Some((tensor, bytes)) = tensor else { return Err(broken) };
                self.stale(tensor.fill, Memory::Trf, &bytes, &tensor.units(), &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                let mut array = vec![None; *elements];
                for ((unit, element), (_, at)) in moved.pairs() {
                    let flat = unit % 8 * from.row_elements + element;
                    let size = from.kind.bytes();
                    let read = (unit % 8 < from.rows && element < from.row_elements)
                        .then(|| self.load(Memory::Trf, unit / 8, &bytes[flat * size..(flat + 1) * size]));
                    array[at] = read.flatten();
                }
                Ok(array)
            }
            Operation::InspectVrf { from, moved, elements } => {
                if from.memory != Memory::Vrf {
                    broken.insert(Rule::Unsupported);
                }
                if from.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                self.reads_well(from, &mut broken);
                if !broken.is_empty() {
                    return Err(broken);
                }
                Ok(self.array(from, moved, *elements))
            }
            Operation::Launch => {
                self.done.clear();
                Ok(Vec::new())
            }
        }
    }

    fn host(&self, tensor: &Tensor, broken: &mut BTreeSet<Rule>) {
        if tensor.memory != Memory::Hbm {
            broken.insert(Rule::Unsupported);
        }
        if tensor.leaves_memory() {
            broken.insert(Rule::Bounds);
        }
        if !tensor.address.is_multiple_of(tensor.kind.bytes() as u64) {
            broken.insert(Rule::Misaligned);
        }
    }

    /// The bytes of an element, or of what lies where it would be.
    fn element(&self, tensor: &Tensor, unit: usize, element: isize) -> Element {
        let size = tensor.kind.bytes();
        let first = tensor.address as i128 + element as i128 * size as i128;
        let bytes: Vec<u64> =
            (0..size).map(|k| u64::try_from(first + k as i128).unwrap_or(u64::MAX)).collect();
        self.load(tensor.memory, unit, &bytes)
    }

    fn load(&self, memory: Memory, unit: usize, bytes: &[u64]) -> Element {
        bytes.iter().map(|&byte| self.cells.get(&(memory, unit, byte)).and_then(|cell| cell.value)).collect()
    }

    fn put(&mut self, tensor: &Tensor, (unit, element): Spot, value: Option<&[u8]>) {
        let size = tensor.kind.bytes();
        let first = tensor.address + (element * size) as u64;
        let bytes: Vec<u64> = (0..size as u64).map(|k| first + k).collect();
        self.store(tensor.memory, unit, &bytes, value);
    }

    fn store(&mut self, memory: Memory, unit: usize, bytes: &[u64], value: Option<&[u8]>) {
        // Padding may stick out of a memory. There is nothing.
        let there = |byte: u64| memory == Memory::Trf || u128::from(byte) < memory.capacity();
        for (k, &byte) in bytes.iter().enumerate().filter(|(_, byte)| there(**byte)) {
            self.cells.entry((memory, unit, byte)).or_default().value = value.map(|value| value[k]);
        }
    }

    fn array(&self, from: &Tensor, moved: &Move, elements: usize) -> Vec<Element> {
        let mut array = vec![None; elements];
        for ((unit, element), (_, at)) in moved.pairs() {
            array[at] = self.element(from, unit, element as isize);
        }
        array
    }

    /// A tensor was made, or written again.
    fn note(&mut self, tensor: &Tensor) {
        self.note_bytes(tensor.fill, tensor.memory, &tensor.live_bytes(), &tensor.units());
    }

    fn note_bytes(&mut self, fill: u64, memory: Memory, bytes: &[u64], units: &[usize]) {
        self.writes += 1;
        if fill != 0 {
            self.first.entry(fill).or_insert(self.writes);
        }
        for &unit in units {
            for &byte in bytes {
                self.cells.entry((memory, unit, byte)).or_default().owner = Some((fill, self.writes));
            }
        }
    }

    fn reads_well(&self, tensor: &Tensor, broken: &mut BTreeSet<Rule>) {
        if !tensor.leaves_memory() {
            self.stale(tensor.fill, tensor.memory, &tensor.live_bytes(), &tensor.units(), broken);
        }
    }

    fn stale(&self, fill: u64, memory: Memory, bytes: &[u64], units: &[usize], broken: &mut BTreeSet<Rule>) {
        let Some(&first) = self.first.get(&fill) else { return };
        let lost = |unit: usize, byte: u64| {
            let owner = self.cells.get(&(memory, unit, byte)).and_then(|cell| cell.owner);
            owner.is_some_and(|(owner, when)| owner != fill && when > first)
        };
        if units.iter().any(|&unit| bytes.iter().any(|&byte| lost(unit, byte))) {
            broken.insert(Rule::Stale);
        }
    }

    fn writes_well(&self, to: &Tensor, moved: &Move, broken: &mut BTreeSet<Rule>) {
        let units = to.units();
        let mut seen = BTreeSet::new();
        for (_, spot) in moved.pairs() {
            if !units.contains(&spot.0) || spot.1 >= to.elements {
                broken.insert(Rule::View);
            }
            if !seen.insert(spot) {
                broken.insert(Rule::Twice);
            }
        }
    }

    /// The bytes of a register file tensor: row by row. The second half of a bank row follows the first one.
    pub fn trf_byte(part: usize, row: usize, offset: usize) -> u64 {
        (row * 8192 + if part == 1 { 4096 } else { 0 } + offset) as u64
    }

    /// The tensor, without its memory's rules, and its bytes in order.
    fn registers(&self, own: &Registers, broken: &mut BTreeSet<Rule>) -> Option<(Tensor, Vec<u64>)> {
        let size = own.kind.bytes();
        let row = own.row_elements * size;
        let capacity = if own.part == 2 { 65536 } else { 32768 };
        if ![1, 2, 4, 8].contains(&own.rows) || own.rows * row > capacity {
            broken.insert(Rule::Capacity);
            return None;
        }
        assert_eq!(own.rows, 8, "each row has a bank of its own");
        let tensor = Tensor {
            memory: Memory::Trf,
            address: 0,
            fill: own.fill,
            kind: own.kind,
            // It spans all slices, so one tells who owns the bytes of each.
            clusters: 1,
            slices: 1,
            elements: own.rows * own.row_elements,
            period: 1,
            live: 1,
        };
        let bytes = (0..own.rows).flat_map(|r| (0..row).map(move |k| Self::trf_byte(own.part, r, k)));
        Some((tensor, bytes.collect()))
    }

    /// Whether everything that shares bytes with it has happened before.
    fn in_order(&mut self, context: usize, uses: Vec<Used>) -> Result<(), BTreeSet<Rule>> {
        let mut before = BTreeSet::new();
        let conflict = |a: &Used, b: &Used| {
            let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
            (a.writes || b.writes)
                && a.memory == b.memory
                && a.spans.iter().any(|a| b.spans.iter().any(|b| meet(a, b)))
        };
        for (k, old) in self.done.iter().enumerate() {
            let related = |a: &Used, b: &Used| conflict(a, b) && a.fill != 0 && b.fill != 0;
            if old.context == context || uses.iter().any(|new| old.uses.iter().any(|old| related(new, old))) {
                before.insert(k);
                before.extend(&old.before);
            }
        }
        for (_, old) in self.done.iter().enumerate().filter(|(k, _)| !before.contains(k)) {
            let shares = |a: &Used, b: &Used| {
                conflict(a, b) && !a.bytes.is_disjoint(&b.bytes) && !a.units.is_disjoint(&b.units)
            };
            if uses.iter().any(|new| old.uses.iter().any(|old| shares(new, old))) {
                return Err(BTreeSet::from([Rule::Unordered]));
            }
        }
        self.done.push(Done { context, uses, before });
        Ok(())
    }

    fn pass(&mut self, pass: &Pass, waits: bool) -> Outcome {
        let Pass { from, time, packet, output, flits, .. } = pass;
        let mut broken = BTreeSet::new();
        let stored = from.kind;
        let converts = stored != *output;
        if converts && (stored, *output) != (Kind::I8, Kind::I32) || from.memory != Memory::Dm {
            broken.insert(Rule::Unsupported);
        }
        if !from.address.is_multiple_of(stored.bytes() as u64) {
            broken.insert(Rule::Misaligned);
        }
        let least = pass.base
            + pass.loops.iter().map(|&(size, stride)| (size as isize - 1) * stride.min(0)).sum::<isize>();
        if from.leaves_memory() || from.address as i128 + least as i128 * (stored.bytes() as i128) < 0 {
            broken.insert(Rule::Bounds);
        }
        self.reads_well(from, &mut broken);
        let fetched = |number: usize| position(pass.base, &pass.loops, number);
        let lanes = FLIT / output.bytes();
        let total = time * flits;
        let is_live = |t: usize, lane: usize| t < pass.steps && lane < pass.lanes;
        let filled = |t: usize, lane: usize| t % flits * lanes + lane < *packet;
        // What is written: time step, lane, bytes.
        let mut written: Vec<(usize, usize, Vec<u64>)> = Vec::new();
        let (target, live, width) = match &pass.sink {
            Sink::Commit { to, loops, window } => {
                if to.memory != Memory::Dm {
                    broken.insert(Rule::Unsupported);
                }
                if to.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                let size = output.bytes() as i128;
                let at = |number: usize| to.address as i128 + position(0, loops, number) as i128 * size;
                if !to.address.is_multiple_of(8) || (0..total).any(|t| at(t * window) % 8 != 0) {
                    broken.insert(Rule::Misaligned);
                }
                let mut seen = BTreeSet::new();
                for (t, lane) in (0..total).flat_map(|t| (0..*window).map(move |lane| (t, lane))) {
                    if is_live(t, lane) {
                        let element = position(0, loops, t * window + lane);
                        if element < 0 || element as usize >= to.elements {
                            broken.insert(Rule::View);
                            continue;
                        }
                        if !seen.insert(element) {
                            broken.insert(Rule::Twice);
                        }
                        if !filled(t, lane) {
                            broken.insert(Rule::Uninitialised);
                        }
                        let first = to.address.saturating_add((element as usize * output.bytes()) as u64);
                        written.push((t, lane, (0..size as u64).map(|k| first.saturating_add(k)).collect()));
                    }
                }
                let some = (0..total).any(|t| (0..*window).any(|lane| is_live(t, lane)));
                let covers = to.clusters >= from.clusters && to.slices >= from.slices;
                if some && !covers {
                    broken.insert(Rule::View);
                }
                // A byte of the source, written before the last packet that needs it.
                let own = from.address as i128..from.address as i128 + from.bytes() as i128;
                let mut last: BTreeMap<i128, usize> = BTreeMap::new();
                for number in 0..time * packet {
                    let first = from.address as i128 + fetched(number) as i128 * stored.bytes() as i128;
                    for byte in (first..first + stored.bytes() as i128).filter(|byte| own.contains(byte)) {
                        last.insert(byte, number / packet);
                    }
                }
                let late =
                    |t: usize, byte: u64| last.get(&(byte as i128)).is_some_and(|&fetch| fetch > t / flits);
                let is_over =
                    |(t, _, bytes): &(usize, usize, Vec<u64>)| bytes.iter().any(|&byte| late(*t, byte));
                if from.memory == Memory::Dm && to.memory == Memory::Dm && written.iter().any(is_over) {
                    broken.insert(Rule::Overwrite);
                }
                (to.clone(), None, *window)
            }
            Sink::Trf { to } => {
                let Some((tensor, bytes)) = self.registers(to, &mut broken) else { return Err(broken) };
                let size = output.bytes();
                for (t, lane) in (0..total).flat_map(|t| (0..lanes).map(move |lane| (t, lane))) {
                    let element = t * lanes + lane;
                    if is_live(t, lane) {
                        match bytes.get(element * size..(element + 1) * size) {
                            Some(bytes) => written.push((t, lane, bytes.to_vec())),
                            None => _ = broken.insert(Rule::View),
                        }
                    }
                }
                (tensor, Some(bytes), lanes)
            }
            Sink::Vrf { to, moved } => {
                if to.memory != Memory::Vrf || output.bytes() != 4 {
                    broken.insert(Rule::Unsupported);
                }
                if to.leaves_memory() {
                    broken.insert(Rule::Bounds);
                }
                if !to.address.is_multiple_of(to.kind.bytes() as u64) {
                    broken.insert(Rule::Misaligned);
                }
                self.writes_well(to, moved, &mut broken);
                if (to.clusters < from.clusters || to.slices < from.slices)
                    && pass.steps > 0
                    && pass.lanes > 0
                {
                    broken.insert(Rule::View);
                }
                for ((_, number), (_, element)) in moved.pairs() {
                    let (t, lane) = (number / lanes, number % lanes);
                    if t < total && is_live(t, lane) {
                        let first = to.address.saturating_add(4 * element as u64);
                        written.push((t, lane, (0..4).map(|k| first.saturating_add(k)).collect()));
                    }
                }
                (to.clone(), None, lanes)
            }
        };
        if !broken.is_empty() && broken != BTreeSet::from([Rule::Uninitialised]) {
            return Err(broken);
        }
        // The stream of each slice.
        let mut stores = Vec::new();
        for unit in from.units() {
            let value = |t: usize, lane: usize| -> Element {
                let within = t % flits * lanes + lane;
                let number = t / flits * packet + within;
                let bytes =
                    (within < *packet).then(|| self.element(from, unit, fetched(number))).flatten()?;
                Some(if converts { i32::from(bytes[0] as i8).to_le_bytes().to_vec() } else { bytes })
            };
            let missing = |(t, lane)| is_live(t, lane) && value(t, lane).is_none();
            if converts && (0..total).flat_map(|t| (0..width).map(move |lane| (t, lane))).any(missing) {
                broken.insert(Rule::Uninitialised);
            }
            stores.extend(written.iter().map(|(t, lane, bytes)| (unit, bytes.clone(), value(*t, *lane))));
        }
        let mut to = used(&target, true);
        if let Some(bytes) = &live {
            to.bytes = bytes.iter().copied().collect();
            to.spans = bytes.iter().map(|&byte| byte..byte + 1).collect();
        }
        let refused = !broken.is_empty();
        if refused && !waits {
            // Also out of order: either may be said.
            let done = self.done.clone();
            if let Err(more) = self.in_order(usize::from(pass.sub), vec![used(from, false), to]) {
                broken.extend(more);
            }
            self.done = done;
            return Err(broken);
        }
        self.in_order(usize::from(pass.sub), vec![used(from, false), to])?;
        let bytes = live.unwrap_or_else(|| target.live_bytes());
        self.note_bytes(target.fill, target.memory, &bytes, &target.units());
        if refused {
            return Err(broken);
        }
        for (unit, bytes, value) in stores {
            self.store(target.memory, unit, &bytes, value.as_deref());
        }
        Ok(Vec::new())
    }
}

fn used(tensor: &Tensor, writes: bool) -> Used {
    let end = tensor.address + tensor.bytes() as u64;
    Used {
        memory: tensor.memory,
        fill: tensor.fill,
        writes,
        spans: core::iter::once(tensor.address..end).collect(),
        bytes: tensor.live_bytes().into_iter().collect(),
        units: tensor.units().into_iter().collect(),
    }
}
