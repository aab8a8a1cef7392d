//! Lower bounds on the cycles of a kernel, from its commands.
//!
//! ```text
//!   head      sum of the commands on a resource         tail
//!   ├─ load ─┤├─ pass ─┤├─ pass ─┤├─ pass ─┤├── pass ─┤├─ store ─┤
//!
//!   bound = least head + sum + least tail
//! ```
//!
//! Commands on a resource run one after another, so their cycles add up. The first of them starts after the commands
//! that it takes bytes from, directly or not: its head. The commands that take bytes from the last one run behind it:
//! its tail. Which command is the first and which the last is open, so the least head and the least tail count.
//!
//! Only reads of bytes that were written are dependences. Waits for a buffer that is used again and the order of a
//! context are left out, because an edit may remove them. Thus the bound says how much better a schedule of the same
//! commands could be.
//!
//! Cycles of a command are those of the clock when nothing else runs: none runs in fewer. Transfers of the host are no
//! part of a kernel. Waits for them count if they are between two commands of the kernel.

use super::{Bounds, Limit};
use crate::hazards::Access;
use crate::ledger::KernelCall;
use crate::numbers::{Model, Number};
use crate::record::{Record, Timing};
use crate::schedule::{Resource, Resources};
use furiosa_visa_rules::byte_ranges::ByteRanges;
use furiosa_visa_rules::command::{ContextKind, MemoryKind};
use furiosa_visa_rules::spec::{
    CLUSTERS, CORE_CYCLE_TICKS, HBM_CHANNELS, HBM_PARTIAL_WRITE_TICKS, HBM_UNIT_TICKS, MAC_BYTES, SLICES,
    TRF_BANK_ROWS,
};

/// Maximum number of commands, and of dependences per command on average, for which tails are known. The tails of a
/// longer kernel count as 0.
const KEPT: usize = 1 << 16;

/// Maximum number of pieces of memory whose writer is known. Beyond it, all writers are forgotten: later reads depend on
/// nothing, which makes heads shorter.
const PIECES: usize = 1 << 12;

const RESOURCES: usize = Resource::ALL.len();

/// Last command that wrote some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Writer {
    /// Its number in the kernel, counted from 1. 0: no command of the kernel.
    number: u32,
    /// Least number of cycles from the start of the kernel to its end.
    end: u64,
}

/// A command, as tails need it.
#[derive(Clone, Copy, Debug)]
struct Node {
    cycles: u64,
    resources: Resources,
    is_host: bool,
}

/// Lower bounds on the cycles of a kernel, gathered command by command in the order of the program.
#[derive(Clone, Debug, Default)]
pub struct KernelBounds {
    call: KernelCall,
    /// Cycles of all commands on each of [`Resource::ALL`].
    sums: [u64; RESOURCES],
    /// The least head of a command on each of them.
    heads: [Option<u64>; RESOURCES],
    /// The longest chain of dependences, in cycles.
    chain: u64,
    /// Bytes of one operand of all multiplications.
    multiplied_bytes: u128,
    /// Number of chips that multiply.
    chips: usize,
    /// Ticks of HBM, if its channels share all units.
    hbm_ticks: u64,
    /// Ticks of each engine.
    engine_ticks: Vec<u64>,
    /// Last writers in each of [`MemoryKind::ALL`].
    writers: [ByteRanges<Writer>; MemoryKind::ALL.len()],
    nodes: Vec<Node>,
    /// Pairs of a command and one that reads what it wrote, in the order of the second ones. Counted from 1.
    edges: Vec<(u32, u32)>,
    /// True if commands are no longer kept.
    is_long: bool,
}

impl KernelBounds {
    /// Bounds of a kernel without commands.
    pub fn new(call: KernelCall) -> Self {
        Self { call, ..Self::default() }
    }

    /// The kernel.
    pub fn call(&self) -> KernelCall {
        self.call
    }

    /// Adds the next command. `cycles`: those that it takes when nothing else runs.
    pub fn add(&mut self, command: &Record, cycles: u64, model: Model) {
        let is_host = command.context == ContextKind::PcieDma;
        let head = self.depend(&command.accesses);
        // A transfer of the host that no command of the kernel precedes may have begun before the kernel.
        let end = if is_host && head == 0 { 0 } else { head.saturating_add(cycles) };
        self.keep(Node { cycles, resources: command.resources, is_host });
        self.write(&command.accesses, end);
        if is_host {
            return;
        }
        self.chain = self.chain.max(end);
        for (k, resource) in Resource::ALL.into_iter().enumerate() {
            if command.resources.has(resource) {
                self.sums[k] = self.sums[k].saturating_add(cycles);
                self.heads[k] = Some(self.heads[k].map_or(head, |least| least.min(head)));
            }
        }
        if let Some(products) = command.amount.products {
            self.multiplied_bytes += u128::from(products.count) * products.element.bits() as u128 / 8;
            self.chips = self.chips.max(command.amount.slices.chips());
        }
        if let Timing::Dma(timing) = &command.timing
            && let Some(time) = &timing.time
        {
            let sides = time.engines.iter().flat_map(|engine| [engine.read, engine.write]);
            let of_hbm = sides.filter(|side| side.hbm_transfers > 0);
            let ticks: u64 = of_hbm
                .map(|side| {
                    let partial = side.partial_writes.min(side.hbm_transfers);
                    (side.hbm_transfers - partial) * HBM_UNIT_TICKS + partial * HBM_PARTIAL_WRITE_TICKS
                })
                .sum();
            let shared = ticks.div_ceil((HBM_CHANNELS * time.hbm.len().max(1)) as u64);
            self.hbm_ticks = self.hbm_ticks.saturating_add(refreshed(shared, model));
            for engine in &time.engines {
                let number = engine.engine.number();
                if self.engine_ticks.len() <= number {
                    self.engine_ticks.resize(number + 1, 0);
                }
                self.engine_ticks[number] = self.engine_ticks[number].saturating_add(engine.ticks());
            }
        }
    }

    /// Least number of cycles before a command with these accesses: the longest chain behind which it reads.
    fn depend(&mut self, accesses: &[Access]) -> u64 {
        let (mut head, own) = (0, self.nodes.len() as u32 + 1);
        for access in accesses.iter().filter(|access| !access.write) {
            let mut last = 0;
            for (_, writer) in self.writers[access.memory as usize].within(access.bytes.clone()) {
                head = head.max(writer.end);
                if writer.number > 0 && writer.number != last && !self.is_long {
                    self.edges.push((writer.number, own));
                    last = writer.number;
                }
            }
        }
        head
    }

    fn keep(&mut self, node: Node) {
        if self.is_long {
            return;
        }
        self.nodes.push(node);
        if self.nodes.len() > KEPT || self.edges.len() > 16 * KEPT {
            self.is_long = true;
            (self.nodes, self.edges) = (Vec::new(), Vec::new());
        }
    }

    fn write(&mut self, accesses: &[Access], end: u64) {
        let number = self.nodes.len() as u32;
        for access in accesses.iter().filter(|access| access.write) {
            let written = |_, writer: &mut Writer| *writer = Writer { number, end };
            self.writers[access.memory as usize].update(access.bytes.clone(), written);
        }
        if self.writers.iter().map(ByteRanges::len).sum::<usize>() > PIECES {
            self.writers = Default::default();
        }
    }

    /// Least tail of the commands on each resource.
    fn tails(&self) -> [u64; RESOURCES] {
        let mut behind = vec![0; self.nodes.len()];
        // Edges come in the order of their second commands, so the tail of each is known before it is used.
        for &(writer, reader) in self.edges.iter().rev() {
            let (node, tail) = (&self.nodes[reader as usize - 1], behind[reader as usize - 1]);
            // A transfer of the host behind which no command of the kernel runs may end after the kernel.
            let through = if node.is_host && tail == 0 { 0 } else { node.cycles.saturating_add(tail) };
            let tail = &mut behind[writer as usize - 1];
            *tail = through.max(*tail);
        }
        let least = |resource: Resource| {
            let nodes = self.nodes.iter().zip(&behind);
            let on = nodes.filter(|(node, _)| !node.is_host && node.resources.has(resource));
            on.map(|(_, tail)| *tail).min().unwrap_or(0)
        };
        Resource::ALL.map(least)
    }

    /// Bounds of the commands so far.
    pub fn bounds(&self) -> Bounds {
        let tails = self.tails();
        // Work inside of commands on a resource lies between the least head and the least tail of them.
        let on = |resource: Resource, work: u64| {
            let k = Resource::ALL.into_iter().position(|own| own == resource).unwrap_or(0);
            match self.heads[k] {
                Some(head) if work > 0 => head.saturating_add(work).saturating_add(tails[k]),
                _ => 0,
            }
        };
        let whole = |resource: Resource| {
            let k = Resource::ALL.into_iter().position(|own| own == resource).unwrap_or(0);
            on(resource, self.sums[k])
        };
        let context = Resource::Context;
        let per_cycle = (self.chips.max(1) * CLUSTERS * SLICES * TRF_BANK_ROWS * MAC_BYTES) as u128;
        let multiplied = u64::try_from(self.multiplied_bytes.div_ceil(per_cycle)).unwrap_or(u64::MAX);
        let queue = context(ContextKind::TensorDma);
        let busiest = self.engine_ticks.iter().copied().max().unwrap_or(0);
        Bounds::default()
            .with(Limit::Multipliers, on(Resource::Compute, multiplied))
            .with(Limit::Hbm, on(queue, self.hbm_ticks.div_ceil(CORE_CYCLE_TICKS)))
            .with(Limit::DmaEngine, on(queue, busiest.div_ceil(CORE_CYCLE_TICKS)))
            .with(Limit::DmaQueue, whole(queue))
            .with(Limit::Main, whole(context(ContextKind::Main)))
            .with(Limit::Sub, whole(context(ContextKind::Sub)))
            .with(Limit::Compute, whole(Resource::Compute))
            .with(Limit::Dependences, self.chain)
    }
}

/// Ticks of HBM with its refresh, which the detailed profile adds.
pub(super) fn refreshed(ticks: u64, model: Model) -> u64 {
    let per_mille = if model.is_detailed() { model.numbers.get(Number::HbmRefresh) } else { 0 };
    ticks.saturating_add(ticks.saturating_mul(per_mille) / 1000)
}
