//! Derivation of commands from a move of elements.

use super::operation::{Coverage, DmaOperation, Engine, EngineQueue, EngineSplit};
use super::packet::packet_runs;
use super::parts::{Key, MoveLoop, Part, Reach, hull, parts};
use super::sequencer::{Medium, PairedEntry, PairedSequencer, Side};
use furiosa_visa_rules::command::{Dma, Memory, Region, Start, Step};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::text::Text;
use litemap::LiteMap;

/// Maximum number of commands of an operation. An operation with more is refused.
const COMMANDS: usize = 1 << 14;

/// Choices in the derivation of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaOptions {
    /// The engines.
    pub split: EngineSplit,
    /// The longest packet in bytes: at most, and usually, [`spec::DMA_PACKET_BYTES`].
    pub packet_bytes: usize,
    /// True if the outermost loop of a nest that is too deep becomes several commands. Otherwise the move is refused.
    pub peel: bool,
}

impl Default for DmaOptions {
    fn default() -> Self {
        Self { split: EngineSplit::All, packet_bytes: spec::DMA_PACKET_BYTES, peel: true }
    }
}

/// Derives the commands of a move.
///
/// # Errors
/// The move breaks a rule of the hardware. Moves between tensor types have been checked while compiling: they are refused
/// only if they need more than 16384 commands.
///
/// Not refused: a move from DM to DM in runs that are no multiple of 8 bytes. It takes three times as long in DM.
pub fn derive(dma: &Dma, options: &DmaOptions) -> Result<DmaOperation, PlanError> {
    let element_bits = dma.source.footprint.element.bits() as u64;
    for region in [&dma.source, &dma.destination] {
        if !region.address.is_multiple_of(element_bits.div_ceil(8)) {
            let text = Text::new().str("DMA: a tensor of ").str(region.footprint.element.name());
            let text = text.str(" at address ").number(region.address as usize).str(" of its memory, ");
            let text = text.str("which is no multiple of its size; help: use a multiple of ");
            let text = text.number(element_bits.div_ceil(8) as usize);
            return Err(PlanError::new("unaligned tensor address", text));
        }
    }
    let deriver =
        Deriver { dma, options, sides: [side(&dma.source)?, side(&dma.destination)?], element_bits };
    deriver.operation()
}

/// Tells if a move writes the same elements to several slices of a cluster.
fn copies(dma: &Dma) -> bool {
    let stays = Step { units: 0, elements: 0 };
    let over_slices = |step: Step| !step.units.is_multiple_of(spec::SLICES);
    let mut loops = dma.transfer.loops.iter().filter(|level| level.size > 1);
    dma.destination.memory == Memory::Dm
        && loops.any(|level| level.source == stays && over_slices(level.destination))
}

/// Memory on a side of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Hbm,
    Dm,
}

fn side(region: &Region) -> Result<Kind, PlanError> {
    match region.memory {
        Memory::Hbm => Ok(Kind::Hbm),
        Memory::Dm => Ok(Kind::Dm),
        Memory::Vrf => {
            let text = Text::new().str("DMA: a move from or to the VRF, which DMA does not reach");
            Err(PlanError::new("DMA memory", text.str("; help: load the VRF with `.to_vrf(…)`")))
        }
    }
}

struct Deriver<'a> {
    dma: &'a Dma,
    options: &'a DmaOptions,
    sides: [Kind; 2],
    element_bits: u64,
}

/// A loop with its reach in bits.
type BitLoop = (usize, Reach, Reach);

impl Deriver<'_> {
    fn kind(&self, side: Side) -> Kind {
        self.sides[side as usize]
    }

    fn region(&self, side: Side) -> &Region {
        match side {
            Side::Source => &self.dma.source,
            Side::Destination => &self.dma.destination,
        }
    }

    /// The side that decides about engines and the order of loops: the destination if it is in DM, else the source if
    /// it is in DM.
    fn dm_side(&self) -> Option<Side> {
        [Side::Destination, Side::Source].into_iter().find(|&side| self.kind(side) == Kind::Dm)
    }

    /// Bits that the hardware moves as a whole.
    fn granule_bits(&self) -> u64 {
        if self.sides == [Kind::Hbm, Kind::Dm] { 8 * spec::DMA_HBM_TO_DM_BYTES as u64 } else { 8 }
    }

    fn operation(&self) -> Result<DmaOperation, PlanError> {
        let loops = &self.dma.transfer.loops;
        let mut queues: LiteMap<Engine, Vec<PairedSequencer>> = LiteMap::new();
        let mut coverage = Coverage::Exact;
        if loops.iter().all(|l| l.size > 0) {
            let (cut, granular) = self.parts()?;
            coverage = granular;
            let mut next = 0;
            let mut commands = 0;
            for part in &cut {
                for (engine, command) in self.commands_of(part, &mut next, &mut coverage)? {
                    commands += 1;
                    if commands > COMMANDS {
                        return Err(self.too_many());
                    }
                    queues.entry(engine).or_default().push(command);
                }
            }
        }
        let engines =
            queues.into_iter().map(|(engine, commands)| EngineQueue { engine, commands, lists: Vec::new() });
        Ok(DmaOperation { engines: engines.collect(), coverage, copies: copies(self.dma) })
    }

    fn too_many(&self) -> PlanError {
        let text = Text::new().str("DMA: a move that takes more than ").number(COMMANDS);
        let text = text.str(" commands of ").number(spec::DMA_ENTRIES).str(" entries; help: order the axes ");
        PlanError::new("DMA commands", text.str("alike on both sides so that neighbours merge"))
    }

    /// The parts of the move: loops without conditions.
    fn parts(&self) -> Result<(Vec<Part>, Coverage), PlanError> {
        let guard = &self.dma.transfer.guard;
        let bits = self.element_bits;
        let reach = |step: Step| Reach { units: step.units as u64, bits: step.elements as u64 * bits };
        let mut loops = Vec::new();
        for (variable, l) in self.dma.transfer.loops.iter().enumerate().filter(|(_, l)| l.size > 1) {
            let (source, destination) = (reach(l.source), reach(l.destination));
            loops.push(MoveLoop { size: l.size, source, destination, variable, weight: 1, granule: false });
        }
        let mut coverage = Coverage::Exact;
        let granule = self.granule_bits() / bits;
        let bits_before = |side| (self.start(side).elements.unsigned_abs() * bits as usize) as u64;
        // If the loops start inside a granule, its elements stay separate.
        let granular = [Side::Source, Side::Destination]
            .into_iter()
            .all(|side| bits_before(side).is_multiple_of(self.granule_bits()));
        if !guard.is_always()
            && granule > 1
            && granular
            && mark_granule(&mut loops, guard, bits, granule as usize)
        {
            coverage = Coverage::Rounded;
        }
        let keys = [Side::Destination, Side::Source].map(|side| Key {
            side,
            units: self.key_units(side),
            start: self.start(side).units as i64,
        });
        if let Some(parts) = parts(guard, &loops, keys) {
            return Ok((parts, coverage));
        }
        let hull = hull(guard, &loops, keys);
        let parts = parts(&Guard::always(guard.variables), &hull, keys).ok_or_else(|| self.too_many())?;
        Ok((parts, Coverage::Hull))
    }

    /// Number of units of a side that one command can reach, or that one engine serves.
    fn key_units(&self, side: Side) -> u64 {
        let all = self.options.split == EngineSplit::All;
        (match self.kind(side) {
            Kind::Hbm => 1,
            Kind::Dm if all && self.dm_side() == Some(side) => spec::PE_SLICES,
            Kind::Dm => spec::SLICES,
        }) as u64
    }

    /// Start of the loops on a side.
    fn start(&self, side: Side) -> Start {
        match side {
            Side::Source => self.dma.transfer.source_start,
            Side::Destination => self.dma.transfer.destination_start,
        }
    }

    /// Unit of a place. Live elements lie in the tensor, wherever the loops start.
    fn unit(&self, side: Side, at: Reach) -> usize {
        (at.units as usize).wrapping_add_signed(self.start(side).units)
    }

    /// Medium and address of a place.
    fn place(&self, side: Side, at: Reach) -> (Medium, u64) {
        let bits = at.bits as i64 + self.start(side).elements as i64 * self.element_bits as i64;
        let (unit, inside) =
            (self.unit(side, at), self.region(side).address.wrapping_add_signed(bits.div_euclid(8)));
        match self.kind(side) {
            Kind::Hbm => (Medium::Hbm { chip: unit }, inside),
            Kind::Dm => {
                let (cluster, slice) = (unit / spec::SLICES, unit % spec::SLICES);
                let medium = Medium::Dm { chip: cluster / spec::CLUSTERS, cluster: cluster % spec::CLUSTERS };
                (medium, slice as u64 * spec::DMA_SLICE_STRIDE + inside)
            }
        }
    }

    /// The engine of a part of a move: the requested one, or else that of the side in DM.
    fn engine(&self, part: &Part) -> Option<Engine> {
        let chip = self.place(Side::Destination, part.destination).0.chip();
        if let EngineSplit::Single { cluster, pe } = self.options.split {
            return Some(Engine { chip, cluster, pe });
        }
        let unit = match self.dm_side()? {
            Side::Destination => self.unit(Side::Destination, part.destination),
            Side::Source => self.unit(Side::Source, part.source),
        };
        let (cluster, slice) = (unit / spec::SLICES, unit % spec::SLICES);
        let (chip, cluster) = (cluster / spec::CLUSTERS, cluster % spec::CLUSTERS);
        Some(Engine { chip, cluster, pe: slice / spec::PE_SLICES })
    }

    fn commands_of(
        &self,
        part: &Part,
        next: &mut usize,
        coverage: &mut Coverage,
    ) -> Result<Vec<(Engine, PairedSequencer)>, PlanError> {
        let (loops, run_bits) = take_run(part.loops.clone(), self.element_bits);
        let granule = self.granule_bits();
        let rounded = run_bits.next_multiple_of(granule);
        if rounded > run_bits {
            *coverage = (*coverage).max(Coverage::Rounded);
        }
        self.check_room(&loops, part, rounded)?;
        let (from, to) = (part.source, part.destination);
        let (source, destination) = (self.place(Side::Source, from), self.place(Side::Destination, to));
        let to_dm = self.kind(Side::Destination) == Kind::Dm;
        let repeats: u64 = loops.iter().map(|(size, ..)| *size as u64).product();
        let mut commands = Vec::new();
        for run in packet_runs(rounded / 8, to_dm, self.options.packet_bytes, repeats) {
            let mut entries: Vec<PairedEntry> = loops.iter().map(paired).collect();
            let packet = run.stride0 as u64;
            entries.push(PairedEntry {
                limit: run.count as usize,
                source_stride: packet,
                destination_stride: packet,
            });
            let mut command = PairedSequencer::new(source, destination, run.stride0);
            command.source_base += run.offset;
            command.destination_base += run.offset;
            command.entries = self.ordered(entries);
            command.merge();
            match self.engine(part) {
                Some(engine) => commands.push((engine, command)),
                None => commands.extend(over_engines(command, next)),
            }
        }
        let mut limited = Vec::new();
        for (engine, command) in commands {
            for command in within_limits(command, self.options.peel).ok_or_else(|| self.too_many())? {
                command.check_form()?;
                if self.sides == [Kind::Hbm, Kind::Dm] {
                    command.check()?;
                }
                let tensor = self.region(Side::Destination);
                command.check_destination(tensor.tensor_bytes())?;
                limited.push((engine, command));
            }
        }
        Ok(limited)
    }

    /// Checks that rounded packets lie at whole bytes and do not run into each other.
    fn check_room(&self, loops: &[BitLoop], part: &Part, rounded: u64) -> Result<(), PlanError> {
        let reaches = loops.iter().flat_map(|(_, from, to)| [from.bits, to.bits]);
        if reaches.chain([part.source.bits, part.destination.bits]).any(|bits| !bits.is_multiple_of(8)) {
            let text = Text::new().str("DMA: a move steps by half a byte, but commands move whole bytes");
            let help = "; help: keep an even number of elements together, innermost on both sides";
            return Err(PlanError::new("whole bytes", text.str(help)));
        }
        let writes = loops.iter().map(|(_, _, to)| to).filter(|to| to.units == 0);
        if let Some(step) = writes.map(|to| to.bits).find(|&bits| bits > 0 && bits < rounded) {
            let text = Text::new().str("DMA: packets of ").number(rounded as usize / 8);
            let text = text.str(" bytes are written ").number(step as usize / 8).str(" bytes apart");
            let help = "; help: pad the innermost axis on both sides";
            return Err(PlanError::new("DMA run", text.str(help)));
        }
        Ok(())
    }

    /// The loops in the order in which the engine runs through them, outermost first.
    fn ordered(&self, entries: Vec<PairedEntry>) -> Vec<PairedEntry> {
        let Some(dm) = self.dm_side() else {
            let mut entries = entries;
            sorting::by_key(&mut entries, |entry| core::cmp::Reverse(entry.source_stride));
            return entries;
        };
        let other = match (dm, self.kind(Side::Source)) {
            (Side::Destination, Kind::Dm) => Side::Destination,
            (Side::Destination, Kind::Hbm) => Side::Source,
            (Side::Source, _) => Side::Destination,
        };
        let (slice, dmn) = (spec::DMA_SLICE_STRIDE, spec::DMA_DMN_STRIDE);
        let mut split = Vec::with_capacity(entries.len() + 1);
        for entry in entries {
            // Slices of several Data Memory Networks: the network becomes a separate loop.
            let stride = entry.stride(dm);
            let inside = dmn.checked_div(stride).unwrap_or(0) as usize;
            let whole = stride >= slice && inside > 1 && dmn.is_multiple_of(stride);
            if whole && entry.limit > inside && entry.limit.is_multiple_of(inside) {
                split.push(PairedEntry { limit: inside, ..entry });
                split.push(PairedEntry {
                    limit: entry.limit / inside,
                    source_stride: entry.source_stride * inside as u64,
                    destination_stride: entry.destination_stride * inside as u64,
                });
            } else {
                split.push(entry);
            }
        }
        sorting::by_key(&mut split, |entry| {
            let stride = entry.stride(dm);
            let place = u8::from(stride >= slice) + u8::from(stride >= dmn);
            let stride = if place == 0 { entry.stride(other) } else { stride };
            (place, core::cmp::Reverse(stride))
        });
        split
    }
}

/// The same loop in bytes of the media.
fn paired(&(limit, source, destination): &BitLoop) -> PairedEntry {
    // No loop goes over chips, which are the units of HBM.
    let bytes = |reach: Reach| reach.units * spec::DMA_SLICE_STRIDE + reach.bits / 8;
    PairedEntry { limit, source_stride: bytes(source), destination_stride: bytes(destination) }
}

/// Takes out the loops that continue contiguously on both sides. Returns the others, and the bits of the run.
fn take_run(mut loops: Vec<BitLoop>, element_bits: u64) -> (Vec<BitLoop>, u64) {
    let mut run = element_bits;
    while let Some(k) = loops.iter().position(|(_, from, to)| {
        let here = Reach { units: 0, bits: run };
        *from == here && *to == here
    }) {
        run *= loops.remove(k).0 as u64;
    }
    (loops, run)
}

/// Marks the loops inside `granule` contiguous elements, and cuts one in two if it is longer. Returns false if the
/// guard does not depend on them: then nothing needs to be kept together.
fn mark_granule(loops: &mut Vec<MoveLoop>, guard: &Guard, bits: u64, granule: usize) -> bool {
    let original = loops.clone();
    let mut product = 1usize;
    let mut guarded = false;
    while !product.is_multiple_of(granule) {
        let here = Reach { units: 0, bits: product as u64 * bits };
        let Some(k) = loops.iter().position(|l| !l.granule && l.source == here && l.destination == here)
        else {
            break;
        };
        guarded |= guard.digits.iter().any(|digit| digit.variable == loops[k].variable && digit.extent > 1);
        let wanted = granule / greatest_common_divisor(granule, product);
        let chosen = loops[k];
        let taken = if chosen.size.is_multiple_of(wanted) { wanted } else { chosen.size };
        loops[k] = MoveLoop { size: taken, granule: true, ..chosen };
        if taken < chosen.size {
            let times = |reach: Reach| Reach { units: reach.units, bits: reach.bits * taken as u64 };
            loops.push(MoveLoop {
                size: chosen.size / taken,
                source: times(chosen.source),
                destination: times(chosen.destination),
                weight: chosen.weight * taken,
                ..chosen
            });
        }
        product *= taken;
    }
    if !guarded {
        *loops = original;
    }
    guarded
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Cuts the outermost loop of a command into up to 8 contiguous parts for the engines of its chip, beginning with
/// number `next`.
fn over_engines(command: PairedSequencer, next: &mut usize) -> Vec<(Engine, PairedSequencer)> {
    const ENGINES: usize = spec::CLUSTERS * spec::CLUSTER_PES;
    let Some(&outer) = command.entries.first() else {
        return vec![(engine_of(&command, next), command)];
    };
    let share = outer.limit.div_ceil(ENGINES);
    let mut parts = Vec::new();
    for first in (0..outer.limit).step_by(share) {
        let mut part = command.clone();
        part.entries[0].limit = share.min(outer.limit - first);
        part.source_base += first as u64 * outer.source_stride;
        part.destination_base += first as u64 * outer.destination_stride;
        part.merge();
        parts.push((engine_of(&part, next), part));
    }
    parts
}

fn engine_of(command: &PairedSequencer, next: &mut usize) -> Engine {
    let number = *next % (spec::CLUSTERS * spec::CLUSTER_PES);
    *next += 1;
    let (cluster, pe) = (number / spec::CLUSTER_PES, number % spec::CLUSTER_PES);
    Engine { chip: command.source_medium.chip(), cluster, pe }
}

/// Cuts a command into commands with limits and a number of entries that the hardware takes: a long loop into two, a
/// nest that is too deep into one command per iteration of the outermost loop. `None` if there are too many commands.
fn within_limits(command: PairedSequencer, peel: bool) -> Option<Vec<PairedSequencer>> {
    const MOST: usize = spec::SEQUENCER_ITERATIONS;
    let mut todo = vec![command];
    let mut done = Vec::new();
    while let Some(command) = todo.pop() {
        if done.len() + todo.len() > COMMANDS {
            return None;
        }
        if let Some(k) = command.entries.iter().position(|entry| entry.limit > MOST) {
            let entry = command.entries[k];
            let shifted = |n: usize| PairedEntry {
                limit: entry.limit / n,
                source_stride: entry.source_stride * n as u64,
                destination_stride: entry.destination_stride * n as u64,
            };
            let divisor =
                (2..=MOST).rev().find(|&d| entry.limit.is_multiple_of(d) && entry.limit / d <= MOST);
            let inner = divisor.unwrap_or(MOST);
            let mut body = command.clone();
            body.entries.splice(k..=k, [shifted(inner), PairedEntry { limit: inner, ..entry }]);
            body.entries.retain(|entry| entry.limit > 1);
            let rest = entry.limit % inner;
            if rest > 0 {
                let mut tail = command;
                let moved = (entry.limit - rest) as u64;
                tail.entries[k].limit = rest;
                tail.source_base += moved * entry.source_stride;
                tail.destination_base += moved * entry.destination_stride;
                tail.entries.retain(|entry| entry.limit > 1);
                todo.push(tail);
            }
            todo.push(body);
        } else if command.entries.len() + 1 > spec::DMA_ENTRIES && peel {
            let outer = command.entries[0];
            if outer.limit > COMMANDS {
                return None;
            }
            for k in (0..outer.limit as u64).rev() {
                let mut one = command.clone();
                one.entries.remove(0);
                one.source_base += k * outer.source_stride;
                one.destination_base += k * outer.destination_stride;
                todo.push(one);
            }
        } else {
            done.push(command);
        }
    }
    Some(done)
}
