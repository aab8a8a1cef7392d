//! A simulated system that tests write and read position by position, padding included, without any derivation.

use crate::bridge::expr;
use crate::reference::mapping::Map;
use crate::reference::numbers::{ElementType as Reference, Number};
use furiosa_visa_std::chip::{Addresses, CheckOptions, ComputePath, SimOptions, System};
use furiosa_visa_std::clock::KernelCall;
use furiosa_visa_std::command::{
    Command, Dma, FillId, Footprint, HostBuffer, HostTransfer, IndexedDma, Memory, Operation, Region, Step,
    TensorUnit, Transfer, TransferLoop, UnitCopy,
};
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::spec::DM_BYTES;
use furiosa_visa_std::tensor::Shape;
use std::panic::Location;
use std::sync::OnceLock;

/// Where arrays wait in HBM on their way to and from data memory.
const STAGING: u64 = 1 << 30;

/// What a position holds: a code, or nothing that anybody wrote.
pub type Cell = Option<u32>;

/// The element type of the library.
pub fn library_type(element: Reference) -> ElementType {
    match element {
        Reference::I4 => ElementType::I4,
        Reference::F4E2M1 => ElementType::F4e2m1,
        Reference::I5 => ElementType::I5,
        Reference::I8 => ElementType::I8,
        Reference::I9 => ElementType::I9,
        Reference::I16 => ElementType::I16,
        Reference::F16 => ElementType::F16,
        Reference::F8E4M3 => ElementType::F8e4m3,
        Reference::F8E5M2 => ElementType::F8e5m2,
        Reference::Bf16 => ElementType::Bf16,
        Reference::I32 => ElementType::I32,
        Reference::F32 => ElementType::F32,
    }
}

/// Numbers as codes.
pub fn encode(element: Reference, numbers: &[Option<Number>]) -> Vec<Cell> {
    numbers.iter().map(|number| number.map(|number| element.encode(number))).collect()
}

/// Whether two codes are the same number. All NaN are one.
pub fn same(element: Reference, a: Cell, b: Cell) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => element.decode(a) == element.decode(b),
        _ => a == b,
    }
}

/// A tensor at rest by its mappings: chip and element in HBM; chip, cluster, slice and element in data memory.
pub fn shape(memory: Memory, element: ElementType, dims: &[&Map]) -> Shape {
    match (memory, dims) {
        (Memory::Hbm, [chip, inside]) => Shape::hbm(element, expr(chip), expr(inside)),
        (Memory::Dm, [chip, cluster, slice, inside]) => {
            Shape::dm(element, expr(chip), expr(cluster), expr(slice), expr(inside))
        }
        (Memory::Vrf, [chip, cluster, slice, inside]) => {
            Shape::vrf(element, expr(chip), expr(cluster), expr(slice), expr(inside))
        }
        _ => panic!("{} dimensions in {memory}", dims.len()),
    }
}

/// A region that holds a shape.
pub fn region(shape: &Shape, address: u64, fill: FillId) -> Region {
    let footprint = shape.footprint().unwrap_or_else(|error| panic!("{error}"));
    Region::whole(shape.memory, address, fill, footprint)
}

/// The same region with all its positions live.
fn raw(region: &Region, fill: FillId) -> Region {
    let footprint = Footprint { guard: Guard::always(4), ..region.footprint };
    Region { footprint, fill, ..*region }
}

fn positions(footprint: &Footprint) -> usize {
    footprint.chips * footprint.clusters * footprint.slices * footprint.elements
}

fn here() -> &'static Location<'static> {
    Location::caller()
}

/// The loops over all positions of a region, with a flat array in unit 0 on the other side.
fn flat(region: &Region, to_region: bool) -> Transfer {
    let there = |array: Step, own: Step| if to_region { (array, own) } else { (own, array) };
    loops(region, there)
}

/// The loops over all positions of a region. `sides` says from a step of a flat array and one of the region what the
/// source and the destination step by.
fn loops(region: &Region, sides: impl Fn(Step, Step) -> (Step, Step)) -> Transfer {
    let Footprint { chips, clusters, slices, elements, .. } = region.footprint;
    let units = match region.memory {
        Memory::Hbm => [1, 0, 0],
        Memory::Dm | Memory::Vrf => [512, 256, 1],
    };
    let mut transfer = Transfer { guard: Guard::always(4), ..Transfer::new() };
    let sizes = [chips, clusters, slices, elements];
    let mut stride: usize = sizes.iter().product();
    for (k, size) in sizes.into_iter().enumerate() {
        stride /= size;
        let own = match units.get(k) {
            Some(units) => Step { units: *units, elements: 0 },
            None => Step { units: 0, elements: 1 },
        };
        let (source, destination) = sides(Step { units: 0, elements: stride }, own);
        transfer.loops.push(TransferLoop { size, source, destination });
    }
    transfer
}

fn transferred(source: Region, destination: Region, transfer: Transfer) -> Operation {
    Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }))
}

/// The system under test.
pub struct Machine {
    /// The system.
    pub system: System,
    /// Looks so far: each is a launch of its own, after everything before.
    looks: u64,
    /// Every tensor has bytes of its own: they are read through its own filling.
    pub apart: bool,
    /// The next free byte for arrays in HBM.
    staged: u64,
    /// Transfers of arrays that wait there. They are given together, as other operations are: an upload would have all
    /// operations before it done.
    waiting: Vec<Operation>,
}

/// The instructions that `VISA_PATH` asks for.
pub fn asked_path() -> Option<ComputePath> {
    static ASKED: OnceLock<Option<ComputePath>> = OnceLock::new();
    let options = || SimOptions::default().with_environment().unwrap_or_else(|error| panic!("{error}"));
    *ASKED.get_or_init(|| options().path)
}

impl Machine {
    /// A fresh system. `strict`: a contraction refuses elements that nobody wrote.
    pub fn new(strict: bool) -> Machine {
        Machine::with(strict, Addresses::AsGiven, None)
    }

    /// A system whose tensors lie as it is told, and which computes with the given instructions, or with those that are asked
    /// for.
    pub fn with(strict: bool, addresses: Addresses, path: Option<ComputePath>) -> Machine {
        let checks = CheckOptions { uninitialised: strict, ..CheckOptions::default() };
        let path = path.or_else(asked_path);
        let system = System::new(SimOptions { checks, addresses, path, ..SimOptions::default() });
        let apart = addresses == Addresses::Separate;
        Machine { system, looks: 0, apart, staged: STAGING, waiting: Vec::new() }
    }

    /// A place for an array in HBM.
    fn array(&mut self, element: ElementType, elements: usize) -> Region {
        let (address, fill) = (self.staged, self.system.next_fill());
        self.staged += ((elements * element.bits()).div_ceil(8) as u64).next_multiple_of(256);
        let footprint =
            Footprint { element, chips: 1, clusters: 1, slices: 1, elements, guard: Guard::always(4) };
        Region::whole(Memory::Hbm, address, fill, footprint)
    }

    /// Writes every position of a region, row-major over chip, cluster, slice and element, as the filling `fill`.
    pub fn write(&mut self, to: &Region, fill: FillId, cells: &[Cell]) {
        let (element, total) = (to.footprint.element, positions(&to.footprint));
        assert_eq!(cells.len(), total, "one cell per position");
        let buffer = HostBuffer {
            bytes: pack(element, cells),
            initialised: Some(cells.iter().map(Option::is_some).collect()),
        };
        let to = raw(to, fill);
        if to.memory == Memory::Hbm {
            let transfer = HostTransfer { region: to, transfer: flat(&to, true), host_elements: total };
            self.system.upload(&transfer, &buffer, here()).unwrap_or_else(|fault| panic!("{fault}"));
            return;
        }
        let staging = self.array(element, total);
        let transfer = HostTransfer { region: staging, transfer: flat(&staging, true), host_elements: total };
        self.system.upload(&transfer, &buffer, here()).unwrap_or_else(|fault| panic!("{fault}"));
        // Only from DM does a transfer reach every byte of DM.
        if to.address.is_multiple_of(8) {
            self.waiting.push(transferred(staging, to, flat(&to, true)));
            return;
        }
        // By way of the end of DM, or of its start where that is in use.
        let bytes = to.footprint.bytes() as u64;
        let end = (DM_BYTES as u64 - bytes) / 8 * 8;
        let address = if to.address + bytes > end { 0 } else { end };
        let aligned = Region { address, fill: self.system.next_fill(), ..to };
        self.waiting.push(transferred(staging, aligned, flat(&to, true)));
        self.waiting.push(transferred(aligned, to, loops(&to, |_, own| (own, own))));
    }

    /// Reads every position of a region, whatever it was filled with.
    pub fn read(&mut self, from: &Region) -> Vec<Cell> {
        let (element, total) = (from.footprint.element, positions(&from.footprint));
        let mut from = raw(from, if self.apart { from.fill } else { FillId::ANY });
        self.catch_up();
        self.looks += 1;
        self.system.enter_kernel(KernelCall { number: self.looks, name: "look" });
        if from.memory == Memory::Dm {
            let staging = self.array(element, total);
            self.dma(from, staging, flat(&from, false));
            from = staging;
        }
        let transfer = HostTransfer { region: from, transfer: flat(&from, false), host_elements: total };
        let buffer = self.system.download(&transfer, here()).unwrap_or_else(|fault| panic!("{fault}"));
        unpack(element, &buffer, total)
    }

    /// Executes a DMA command.
    pub fn dma(&mut self, source: Region, destination: Region, transfer: Transfer) {
        self.catch_up();
        self.execute(transferred(source, destination, transfer)).unwrap_or_else(|text| panic!("{text}"));
    }

    /// Executes a copy between units.
    pub fn copy(&mut self, copy: UnitCopy) -> Result<(), String> {
        self.catch_up();
        self.execute(Operation::UnitCopy(Box::new(copy)))
    }

    /// Executes a gather or a scatter.
    pub fn indexed(&mut self, own: IndexedDma) -> Result<(), String> {
        self.catch_up();
        self.execute(Operation::Indexed(Box::new(own)))
    }

    /// Executes a pass through the Tensor Unit.
    pub fn pass(&mut self, unit: TensorUnit) -> Result<(), String> {
        self.give(Operation::TensorUnit(Box::new(unit)))
    }

    /// Executes an operation.
    pub fn give(&mut self, operation: Operation) -> Result<(), String> {
        self.catch_up();
        self.execute(operation)
    }

    /// Gives the transfers that wait.
    fn catch_up(&mut self) {
        for operation in std::mem::take(&mut self.waiting) {
            self.execute(operation).unwrap_or_else(|text| panic!("{text}"));
        }
    }

    fn execute(&mut self, operation: Operation) -> Result<(), String> {
        let command = Command { operation, location: here() };
        self.system.execute(&command).map_err(|fault| fault.to_string())
    }
}

/// Codes as bytes, 4-bit codes two per byte, low nibble first. A cell without a code becomes zero.
pub fn pack(element: ElementType, cells: &[Cell]) -> Vec<u8> {
    let codes = cells.iter().map(|cell| cell.unwrap_or(0));
    match element.bits() {
        4 => {
            let codes: Vec<u32> = codes.collect();
            let byte = |pair: &[u32]| (pair[0] & 15 | (pair.get(1).unwrap_or(&0) & 15) << 4) as u8;
            codes.chunks(2).map(byte).collect()
        }
        bits => codes.flat_map(|code| code.to_le_bytes().into_iter().take(bits / 8)).collect(),
    }
}

/// Bytes as codes.
pub fn unpack(element: ElementType, buffer: &HostBuffer, elements: usize) -> Vec<Cell> {
    let bytes = &buffer.bytes;
    let code = |k: usize| match element.bits() {
        4 => u32::from(bytes[k / 2] >> (k % 2 * 4) & 15),
        bits => {
            let size = bits / 8;
            let own = &bytes[k * size..(k + 1) * size];
            own.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte))
        }
    };
    let written = |k: usize| buffer.initialised.as_ref().is_none_or(|flags| flags[k]);
    (0..elements).map(|k| written(k).then(|| code(k))).collect()
}

#[test]
fn what_is_written_is_read() {
    let axes = &[("A", 3), ("B", 5)];
    let maps = ["1 # 2", "1 # 2", "A", "B # 7"].map(|text| Map::parse(text, axes));
    let dims: Vec<&Map> = maps.iter().collect();
    let types = [ElementType::I4, ElementType::I8, ElementType::Bf16, ElementType::F32];
    for element in types {
        let mut machine = Machine::new(true);
        let mask = u32::MAX >> (32 - element.bits());
        for memory in [Memory::Hbm, Memory::Dm] {
            let dims = if memory == Memory::Hbm { &dims[2..] } else { &dims[..] };
            let shape = shape(memory, element, dims);
            let region = region(&shape, 1000, FillId(1));
            let total = positions(&region.footprint);
            // Neighbours of 4 bits share the byte, and whether it was written.
            let written = |k: usize| element.bits() == 4 || !k.is_multiple_of(5);
            let code = |k: usize| (k as u32).wrapping_mul(0x9e37_79b9) & mask;
            let cells: Vec<Cell> = (0..total).map(|k| written(k).then(|| code(k))).collect();
            machine.write(&region, FillId(1), &cells);
            assert_eq!(machine.read(&region), cells, "{element} in {memory}");
        }
    }
}
