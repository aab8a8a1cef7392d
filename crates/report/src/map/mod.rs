//! The memory map: the bytes of each tensor, from the operation that makes it to the one that ends it.
//!
//! It is made of the operations that ran. A tensor lives from the operation that made it until another tensor is
//! written over one of its bytes: the tensors that live at one time share no byte. Bytes are needed up to the last use.
//!
//! ```text
//!          made             last use     overwritten
//!            ├────────────────┤
//!            │  needed        │  there     │
//! ```

mod picture;

use super::report::place;
use core::fmt;
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_clock::hazards::{Access, OperationNumber};
use furiosa_visa_clock::ledger::{Ledger, Touches};
use furiosa_visa_rules::command::{Addresses, FillId, MemoryKind};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::write_table;
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{DM_BYTES, HBM_BYTES, TRF_BYTES, VRF_BYTES};
use litemap::LiteMap;
use std::collections::HashMap;

/// Maximum number of tensors of a memory that are listed one by one. Sums are over all tensors.
pub const LISTED: usize = 4096;

/// Maximum number of tensors, and of ranges, that a printed map lists per memory.
const PRINTED: usize = 64;

/// All memories over time. Printed, it is a text with a table and a picture per memory.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 256, B = 64];
/// let mut ctx = Context::acquire();
/// let host = HostTensor::<i8, m![A, B]>::zero();
/// let x: HbmTensor<i8, m![1], m![A, B]> = pollster::block_on(host.to_hbm(&mut ctx.pdma, 0));
/// let first = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
/// let second = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
/// let map = ctx.memory_map();
/// let dm = &map.memories[1];
/// assert_eq!((dm.count, dm.peak_bytes), (2, 64));
/// assert!(map.to_string().contains("overwritten by #2"));
/// # let _ = (first, second);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryMap {
    /// HBM, DM, TRF, VRF.
    pub memories: [MemoryUse; 4],
    /// Number of operations that ran.
    pub operations: u64,
    /// Number of operations at the end that are not in the map: of a very long run only the first ones are kept.
    pub left_out: u64,
    /// The last cycle.
    pub cycles: u64,
    /// Rule for the place of bytes. The map always shows the given addresses.
    pub addresses: Addresses,
}

/// Bytes that a program asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The bytes, in every chip or slice.
    pub bytes: Range<u64>,
    /// The call.
    pub location: &'static Location<'static>,
    /// True if they were given back.
    pub freed: bool,
}

/// Bytes that a program asked for in a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocations<'a> {
    /// The first allocations.
    pub given: &'a [Allocation],
    /// Number of all allocations.
    pub count: u64,
}

/// One memory over time. Bytes are those of one chip (HBM) or one slice; tensors need not be in all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryUse {
    /// The memory. The halves of the TRF are shown one after the other.
    pub memory: MemoryKind,
    /// Its bytes.
    pub capacity: u64,
    /// The first tensors that lived there, in the order of the program.
    pub tensors: Vec<TensorLife>,
    /// Number of all tensors.
    pub count: u64,
    /// The most bytes that were needed at one time.
    pub peak_bytes: u64,
    /// An operation at which the peak was reached. `None` if nothing lived there.
    pub peak_at: Option<OperationNumber>,
    /// Bytes that hold no tensor at the end, in order.
    pub free: Vec<Range<u64>>,
    /// Bytes that the program asked for without an address, the first ones. The flag is true if a tensor was written
    /// there.
    pub allocations: Vec<(Allocation, bool)>,
    /// Number of all allocations.
    pub allocated: u64,
}

/// A tensor from its first to its last byte.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorLife {
    /// The bytes, in every chip or slice that it is in.
    pub bytes: Range<u64>,
    /// The fill id.
    pub fill: FillId,
    /// The type of an element.
    pub element: ElementType,
    /// Mapping of the elements in each slice, as `m![…]`. `None` for a command that was built by hand.
    pub mapping: Option<String>,
    /// The operation that made it.
    pub made: Touch,
    /// The last one that read it, or wrote part of it.
    pub last: Touch,
    /// Number of operations that read it.
    pub reads: u64,
    /// End of its life.
    pub end: End,
}

/// End of the life of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It is still there.
    Remains,
    /// Another tensor was written over at least one of its bytes.
    Overwritten(Touch),
}

/// An operation that reads or writes a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    /// Its number.
    pub number: OperationNumber,
    /// The call, for example `commit`.
    pub operation: &'static str,
    /// Location of the call.
    pub location: &'static Location<'static>,
    /// File and line.
    pub place: String,
    /// Its first cycle.
    pub start: u64,
    /// The first cycle after it.
    pub end: u64,
}

impl Touch {
    fn of(touches: &Touches) -> Self {
        let Touches { number, operation, location, start, end, .. } = *touches;
        Self { number, operation, location, place: place(location), start, end }
    }
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} {}", self.number, self.operation, self.place)
    }
}

impl TensorLife {
    /// The last operation at which the bytes are needed and all there.
    fn needed_to(&self) -> OperationNumber {
        match &self.end {
            End::Remains => self.last.number,
            End::Overwritten(by) => self.last.number.min(by.number.saturating_sub(1)).max(self.made.number),
        }
    }
}

/// The tensors of one memory while the operations go by.
#[derive(Debug, Default)]
struct Lives {
    tensors: Vec<TensorLife>,
    /// Tensors that are there, by their first byte. They share no byte.
    there: LiteMap<u64, usize>,
    /// The last tensor of each filling.
    of_fill: HashMap<FillId, usize>,
}

impl Lives {
    /// Tensors that are there and share a byte with a range.
    fn meeting(&self, bytes: &Range<u64>) -> Vec<usize> {
        let (Ok(below) | Err(below)) = self.there.find_index(&bytes.end);
        (0..below)
            .rev()
            .filter_map(|place| Some(*self.there.get_indexed(place)?.1))
            .take_while(|&index| self.tensors[index].bytes.end > bytes.start)
            .collect()
    }

    fn read(&mut self, access: &Access, by: &Touch) {
        // A handle that was made from a bare address reads whatever is there.
        let fill = access.tensor.fill;
        let known = self.of_fill.get(&fill).copied().filter(|_| !fill.is_bare());
        let met = known.map_or_else(|| self.meeting(&access.bytes), |index| vec![index]);
        for index in met {
            self.tensors[index].reads += 1;
            self.tensors[index].last = by.clone();
        }
    }

    fn write(&mut self, access: &Access, by: &Touch) {
        let Access { bytes, of, tensor, .. } = access;
        if bytes.is_empty() {
            return;
        }
        let met = self.meeting(bytes);
        if let Some(&index) = self.of_fill.get(&tensor.fill).filter(|index| met.contains(index)) {
            let life = &self.tensors[index];
            // Part of a tensor that is there is written, or all of it again.
            if life.bytes.start <= bytes.start && bytes.end <= life.bytes.end {
                self.tensors[index].last = by.clone();
                return;
            }
        }
        // A tile makes its tensor. If the tensor was overwritten, only a tile that is written again is there.
        let bytes = if self.of_fill.contains_key(&tensor.fill) { bytes } else { of };
        for index in self.meeting(bytes) {
            self.there.remove(&self.tensors[index].bytes.start);
            self.tensors[index].end = End::Overwritten(by.clone());
        }
        let index = self.tensors.len();
        // Chip, cluster and slice come first, in HBM too.
        let mapping = tensor.mappings.text(3);
        self.tensors.push(TensorLife {
            bytes: bytes.clone(),
            fill: tensor.fill,
            element: tensor.element,
            mapping,
            made: by.clone(),
            last: by.clone(),
            reads: 0,
            end: End::Remains,
        });
        self.there.insert(bytes.start, index);
        if tensor.fill != FillId::ANY {
            self.of_fill.insert(tensor.fill, index);
        }
    }

    fn finish(self, memory: MemoryKind, allocations: Allocations<'_>) -> MemoryUse {
        let capacity = match memory {
            MemoryKind::Hbm => HBM_BYTES,
            MemoryKind::Dm => DM_BYTES as u64,
            MemoryKind::Trf => TRF_BYTES as u64,
            MemoryKind::Vrf => VRF_BYTES as u64,
        };
        let (peak_bytes, peak_at) = peak(&self.tensors);
        let mut free = Vec::new();
        let mut end = 0;
        for life in self.there.values().map(|&index| &self.tensors[index]) {
            if life.bytes.start > end {
                free.push(end..life.bytes.start);
            }
            end = life.bytes.end;
        }
        if end < capacity {
            free.push(end..capacity);
        }
        let Allocations { given, count: allocated } = allocations;
        let meets = |bytes: &Range<u64>| {
            self.tensors.iter().any(|life| life.bytes.start < bytes.end && bytes.start < life.bytes.end)
        };
        let allocations =
            given.iter().map(|allocation| (allocation.clone(), meets(&allocation.bytes))).collect();
        let count = self.tensors.len() as u64;
        let mut tensors = self.tensors;
        tensors.truncate(LISTED);
        MemoryUse { memory, capacity, tensors, count, peak_bytes, peak_at, free, allocations, allocated }
    }
}

/// The most bytes that tensors need at one operation, and the number of that operation.
fn peak(tensors: &[TensorLife]) -> (u64, Option<OperationNumber>) {
    let changes = |life: &TensorLife| {
        let bytes = (life.bytes.end - life.bytes.start) as i64;
        [(life.made.number, bytes), (life.needed_to() + 1, -bytes)]
    };
    let mut changes: Vec<_> = tensors.iter().flat_map(changes).collect();
    sorting::by_key(&mut changes, |(number, _)| *number);
    let (mut level, mut most) = (0, (0, None));
    for alike in changes.chunk_by(|a, b| a.0 == b.0) {
        level += alike.iter().map(|(_, bytes)| bytes).sum::<i64>();
        if level > most.0 {
            most = (level, Some(alike[0].0));
        }
    }
    (most.0 as u64, most.1)
}

impl MemoryMap {
    /// The map of a ledger, with the allocations of the program in HBM, DM and VRF. It follows the operations that are
    /// kept, in the order of the program.
    pub fn new(ledger: &Ledger, [hbm, dm, vrf]: [Allocations<'_>; 3], addresses: Addresses) -> Self {
        let mut all: Vec<&Touches> = ledger.touches.iter().collect();
        sorting::by_key(&mut all, |touches| touches.number);
        let mut lives: [Lives; 4] = core::array::from_fn(|_| Lives::default());
        for touches in &all {
            let by = Touch::of(touches);
            for access in touches.accesses.iter().filter(|access| !access.write) {
                lives[access.memory as usize].read(access, &by);
            }
            for access in touches.accesses.iter().filter(|access| access.write) {
                lives[access.memory as usize].write(access, &by);
            }
        }
        let memories = [MemoryKind::Hbm, MemoryKind::Dm, MemoryKind::Trf, MemoryKind::Vrf];
        let allocations = [hbm, dm, Allocations::default(), vrf];
        let mut parts = lives.into_iter().zip(memories).zip(allocations);
        let memories = core::array::from_fn(|_| {
            let ((lives, memory), allocations) = parts.next().expect("four memories");
            lives.finish(memory, allocations)
        });
        let operations = ledger.totals.operations;
        let left_out = operations - all.len() as u64;
        Self { memories, operations, left_out, cycles: ledger.totals.end, addresses }
    }
}

/// Writes ranges with commas between them; of many only the first ones.
fn ranges(f: &mut fmt::Formatter<'_>, ranges: &[Range<u64>]) -> fmt::Result {
    for (k, range) in ranges.iter().take(PRINTED).enumerate() {
        write!(f, "{}{}..{}", if k == 0 { "" } else { ", " }, range.start, range.end)?;
    }
    if ranges.len() > PRINTED {
        write!(f, ", and {} more", ranges.len() - PRINTED)?;
    }
    Ok(())
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.memory == MemoryKind::Hbm { "chip" } else { "slice" };
        write!(f, "{}, {} bytes per {unit}: ", self.memory, self.capacity)?;
        let Some(peak_at) = self.peak_at else {
            writeln!(f, "no tensor")?;
            return self.write_allocations(f);
        };
        let tensors = if self.count == 1 { "tensor" } else { "tensors" };
        writeln!(
            f,
            "{} {tensors}, at most {} bytes needed at a time, at #{peak_at}",
            self.count, self.peak_bytes
        )?;
        let rows: Vec<Vec<String>> = self
            .tensors
            .iter()
            .take(PRINTED)
            .enumerate()
            .map(|(k, life)| {
                let mapping = life.mapping.as_deref().unwrap_or("");
                let last = if life.last.number == life.made.number {
                    "–".to_string()
                } else {
                    life.last.to_string()
                };
                vec![
                    picture::letter(k).map_or(String::new(), String::from),
                    format!("{}..{}", life.bytes.start, life.bytes.end),
                    format!("{} {mapping}", life.element).trim_end().to_string(),
                    life.made.to_string(),
                    last,
                    format!("{}..{}", life.made.start, life.last.end),
                    match &life.end {
                        End::Remains => "still there".to_string(),
                        End::Overwritten(by) => format!("overwritten by #{}", by.number),
                    },
                ]
            })
            .collect();
        write_table(f, &["", "bytes", "tensor", "made by", "last use", "cycles", "end"], &rows)?;
        if self.count as usize > rows.len() {
            writeln!(f, "and {} more tensors", self.count as usize - rows.len())?;
        }
        write!(f, "free at the end: ")?;
        match self.free.is_empty() {
            true => writeln!(f, "nothing")?,
            false => {
                ranges(f, &self.free)?;
                writeln!(f)?;
            }
        }
        self.write_allocations(f)?;
        picture::write(f, &self.tensors, self.count)
    }
}

impl MemoryUse {
    fn write_allocations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (allocation, used) in self.allocations.iter().take(PRINTED) {
            let file = allocation.location.file();
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            let state = match (allocation.freed, used) {
                (false, true) => "in use",
                (false, false) => "never written",
                (true, true) => "given back",
                (true, false) => "given back, never written",
            };
            let Range { start, end } = allocation.bytes;
            writeln!(f, "allocated: {start}..{end} at {name}:{}, {state}", allocation.location.line())?;
        }
        if self.allocated > PRINTED as u64 {
            writeln!(f, "and {} more allocations", self.allocated - PRINTED as u64)?;
        }
        Ok(())
    }
}

impl fmt::Display for MemoryMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "memory map: {} operations, {} cycles", self.operations, self.cycles)?;
        if self.left_out > 0 {
            writeln!(f, "the last {} operations are not in it", self.left_out)?;
        }
        if self.addresses == Addresses::Separate {
            writeln!(f, "the addresses are those that the program gives; every tensor had bytes of its own")?;
        }
        for memory in &self.memories {
            write!(f, "\n{memory}")?;
        }
        Ok(())
    }
}
