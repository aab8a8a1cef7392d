//! The time of copies between slices, clusters and chips.
//!
//! ```text
//!   shuffle         one operation of all DMA engines: the commands of every part
//!   parallel copy   sub context: max(fetch, commit), each bytes per slice / bytes of an access, at most 8
//! ```
//!
//! An access of a parallel copy moves bytes that lie together on both sides and are aligned in the destination: 8,
//! or 4, 2 or 1 if the layout changes. Not modelled: distance between slices.

use super::banks::{AccessNest, longest_bank_run};
use super::contention::nest;
use super::cost::{Cost, CostClass};
use super::dma::{Coverage, DmaOperation, DmaOptions, EngineQueue, derive};
use super::numbers::{Model, Number};
use super::tensor_unit::{Stage, StageTime, TensorUnitTime};
use furiosa_visa_rules::command::moves::{Moves, Side};
use furiosa_visa_rules::command::{Region, Start, Step, Transfer, UnitCopy};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::mapping::gcd;
use furiosa_visa_rules::sequencer::transfer::contiguous_elements;
use furiosa_visa_rules::sequencer::{Config, DERIVED_ENTRIES, Entry};
use furiosa_visa_rules::spec;
use litemap::LiteMap;

/// The commands of all parts of a shuffle, engine by engine.
///
/// # Errors
/// Those of [`derive()`], for one of the parts.
pub fn shuffle_operation(copy: &UnitCopy, options: &DmaOptions) -> Result<DmaOperation, PlanError> {
    let mut queues = LiteMap::new_vec();
    let (mut coverage, mut copies) = (Coverage::Exact, false);
    for part in copy.parts() {
        let operation = derive(&part, options)?;
        coverage = coverage.max(operation.coverage);
        copies |= operation.copies;
        for EngineQueue { engine, commands, .. } in operation.engines {
            queues.entry(engine).or_insert_with(Vec::new).extend(commands);
        }
    }
    let engines =
        queues.into_iter().map(|(engine, commands)| EngineQueue { engine, commands, lists: Vec::new() });
    Ok(DmaOperation { engines: engines.collect(), coverage, copies })
}

/// Elements that the parts of a copy move on a side, in all units together.
pub(super) fn elements(copy: &UnitCopy, side: Side) -> usize {
    copy.moves.iter().map(|transfer| moved(transfer, side)).sum()
}

/// Elements that a move reads or writes in all units together.
pub(super) fn moved(transfer: &Transfer, side: Side) -> usize {
    let moves = Moves::new(transfer);
    // A loop that repeats elements reads them once: it does not step at the source.
    let counts = |step: &Step| side == Side::Destination || *step != Step { units: 0, elements: 0 };
    moves.steps(side).filter(|(_, step)| counts(step)).map(|(size, _)| size).product()
}

/// The loops of a part inside one unit of a side.
fn loops_inside(transfer: &Transfer, side: Side) -> Vec<(usize, usize)> {
    let moves = Moves::new(transfer);
    let inside = |step: &Step| step.units == 0 && (side == Side::Destination || step.elements > 0);
    moves.steps(side).filter(|(_, step)| inside(step)).map(|(size, step)| (size, step.elements)).collect()
}

fn start(transfer: &Transfer, side: Side) -> Start {
    match side {
        Side::Source => transfer.source_start,
        Side::Destination => transfer.destination_start,
    }
}

/// Bytes of one access: those that lie together on both sides, and are aligned in the destination.
fn access_bytes(copy: &UnitCopy) -> usize {
    let bits = copy.destination.footprint.element.bits();
    let unit = 8 * spec::SUB_FETCH_BYTES;
    let mut common = gcd(unit, copy.destination.address as usize % spec::SUB_FETCH_BYTES * 8);
    for transfer in &copy.moves {
        let run = contiguous_elements(transfer);
        common = gcd(common, run * bits % unit);
        common = gcd(common, transfer.destination_start.elements.unsigned_abs() * bits % unit);
        for level in transfer.loops.iter().filter(|level| level.size > 1 && level.destination.elements >= run)
        {
            common = gcd(common, level.destination.elements % unit * bits % unit);
        }
    }
    // Half bytes are moved by the byte.
    (common / 8).max(1)
}

/// Tells if slices are exchanged, or elements lie differently on the two sides.
fn changes_layout(copy: &UnitCopy) -> bool {
    let moves = copy.moves.iter().flat_map(|transfer| transfer.loops.iter());
    moves.filter(|level| level.size > 1).any(|level| level.source != level.destination)
}

/// The time of a parallel copy that nothing else disturbs.
pub fn parallel_copy_time(copy: &UnitCopy, model: Model) -> TensorUnitTime {
    let bits = copy.source.footprint.element.bits() as u64;
    let access = access_bytes(copy);
    let cycles = |side: Side| {
        let inside = |transfer: &Transfer| {
            loops_inside(transfer, side).iter().map(|&(size, _)| size as u64).fold(1, u64::saturating_mul)
        };
        let most = copy.moves.iter().map(inside).max().unwrap_or(0);
        most.saturating_mul(bits).div_ceil(8 * access as u64)
    };
    // The widths of fetch and commit are documented; the cost of another order of the bytes is a choice.
    let (class, source) = if access == spec::SUB_FETCH_BYTES && !changes_layout(copy) {
        (CostClass::Derived, "bytes per slice / 8")
    } else {
        (CostClass::Assumed, "bytes per slice / bytes that stay together")
    };
    let occupancy = |side| Cost { cycles: cycles(side), class, source };
    let read = model.cost(Number::DmRead, 1);
    let none = Cost::documented(0, "passes through");
    let fetch = StageTime { stage: Stage::Fetch, occupancy: occupancy(Side::Source), latency: read };
    let commit = StageTime { stage: Stage::Commit, occupancy: occupancy(Side::Destination), latency: none };
    let mut stages = List::new(fetch);
    stages.push(fetch);
    stages.push(commit);
    TensorUnitTime { stages, issue: model.cost(Number::PassIssue, 1) }
}

/// Accesses of a slice to its DM: the reads and the writes of a parallel copy. `None` if it leaves the slice, nothing
/// moves, or it has too many loops.
pub(super) fn nests(copy: &UnitCopy) -> Option<[AccessNest; 2]> {
    // Slices, clusters and chips are alike: the first part stands for all.
    let transfer = copy.moves.first()?;
    let access = access_bytes(copy);
    let side = |region: &Region, side: Side| {
        let loops = loops_inside(transfer, side);
        let mut config = Config::new(1);
        if loops.len() + 1 > DERIVED_ENTRIES {
            return None;
        }
        for (size, stride) in loops {
            config.entries.push(Entry { size, stride: stride as isize });
        }
        config.base = start(transfer, side).elements;
        nest(region, &config, access, true).ok()
    };
    Some([side(&copy.source, Side::Source)?, side(&copy.destination, Side::Destination)?])
}

/// Tells if 64 accesses in a row of a parallel copy meet in one bank, so that DMA has to wait.
pub(super) fn holds_dma(nests: &[AccessNest; 2]) -> bool {
    nests.iter().any(|nest| longest_bank_run(nest).holds_dma())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::contention::{BankLoad, meet};
    use furiosa_visa_rules::command::{ContextKind, CopyCall, FillId, Footprint, Memory};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType::{self, Bf16, I4, I8};
    use furiosa_visa_rules::testing::transfer;

    fn region(address: u64, element: ElementType) -> Region {
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 4096, guard };
        Region::whole(Memory::Dm, address, FillId(1 + address), footprint)
    }

    /// A parallel copy of loops of `(size, source units, source elements, destination units, destination elements)`.
    fn copy(element: ElementType, address: u64, loops: &[(usize, usize, usize, usize, usize)]) -> UnitCopy {
        let (call, context) = (CopyCall::ParallelCopy, ContextKind::Sub);
        let (source, destination) = (region(0, element), region(address, element));
        UnitCopy { call, context, source, destination, moves: vec![transfer(loops)] }
    }

    /// Cycles of fetch and commit, and the class of the first.
    fn cycles(copy: &UnitCopy) -> (u64, u64, CostClass) {
        let time = parallel_copy_time(copy, Model::new(Profile::Book));
        assert_eq!(time.latency(), 0);
        let of = |stage| time.stage(stage).expect("it is there").occupancy;
        (of(Stage::Fetch).cycles, of(Stage::Commit).cycles, of(Stage::Fetch).class)
    }

    #[test]
    fn accesses_are_as_wide_as_the_layout_allows() {
        use CostClass::{Assumed, Derived};
        let rows = |stride: usize| [(256, 1, 0, 1, 0), (16, 0, 64, 0, stride), (64, 0, 1, 0, 1)];
        // 1024 bytes per slice, 8 at a time; rows that start at multiples of 4, 2 and 1.
        assert_eq!(cycles(&copy(I8, 8192, &rows(64))), (128, 128, Derived));
        assert_eq!(cycles(&copy(I8, 8192, &rows(72))), (128, 128, Assumed));
        assert_eq!(cycles(&copy(I8, 8192, &rows(68))), (256, 256, Assumed));
        assert_eq!(cycles(&copy(I8, 8192, &rows(66))), (512, 512, Assumed));
        assert_eq!(cycles(&copy(I8, 8192, &rows(65))), (1024, 1024, Assumed));
        // The rows of 2-byte elements start at multiples of twice as many bytes.
        assert_eq!(cycles(&copy(Bf16, 8192, &rows(65))), (1024, 1024, Assumed));
        assert_eq!(cycles(&copy(I4, 8192, &rows(64))), (64, 64, Derived));
        // A destination that is not aligned to 8 bytes, as hand-built commands have it with the checks turned off.
        assert_eq!(cycles(&copy(I8, 8196, &rows(64))), (256, 256, Assumed));
        // A transpose of bytes, and one of pairs.
        let turned = |run: usize| {
            [(256, 1, 0, 1, 0), (16, 0, 64, 0, run), (4, 0, run, 0, 16 * run), (run, 0, 1, 0, 1)]
        };
        assert_eq!(cycles(&copy(I8, 8192, &turned(1))), (64, 64, Assumed));
        assert_eq!(cycles(&copy(I8, 8192, &turned(8))), (64, 64, Assumed));
    }

    #[test]
    fn broadcasts_are_read_once_and_slices_gathered() {
        use CostClass::Assumed;
        // One row to each of 16 places.
        let repeated = [(256, 1, 0, 1, 0), (16, 0, 0, 0, 64), (64, 0, 1, 0, 1)];
        assert_eq!(cycles(&copy(I8, 8192, &repeated)), (8, 128, Assumed));
        // The rows of 16 slices to one slice: each slice reads its own row.
        let gathered = [(16, 1, 0, 0, 64), (64, 0, 1, 0, 1)];
        assert_eq!(cycles(&copy(I8, 8192, &gathered)), (8, 128, Assumed));
        assert_eq!(elements(&copy(I8, 8192, &repeated), Side::Source), 256 * 64);
        assert_eq!(elements(&copy(I8, 8192, &repeated), Side::Destination), 256 * 16 * 64);
        // Parts side by side take as long as the longest.
        let mut parts = copy(I8, 8192, &[(64, 0, 1, 0, 1)]);
        parts.moves.push(transfer(&[(32, 0, 1, 0, 1)]));
        assert_eq!((cycles(&parts).1, elements(&parts, Side::Destination)), (8, 96));
    }

    /// Beside a pass of the main context that is always at the same banks, the copy waits; at other banks it does not.
    #[test]
    fn the_main_context_goes_first_at_the_banks() {
        // Runs of 8 bytes, all in bank 0.
        let column = copy(I8, 1 << 16, &[(32, 0, 128, 0, 128), (8, 0, 1, 0, 1)]);
        let load = BankLoad::of_copy(nests(&column).expect("it stays in the slice"), 0);
        let main = |base: usize| {
            let entries = [Entry { size: 64, stride: 0 }];
            let nest = AccessNest::main(&entries, base, 8).expect("inside of the slice");
            let load = crate::banks::ContextLoad::fetch(nest);
            BankLoad::Pass { load: Box::new(load), begin: 0, alone: 64, trf: None }
        };
        assert!(meet((&load, 0), (&main(0), 0)).delay >= 32, "{:?}", meet((&load, 0), (&main(0), 0)));
        assert_eq!(meet((&load, 0), (&main(64), 0)).delay, 0);
    }

    /// 63 accesses in a row to one bank leave DMA alone; 64 hold it.
    #[test]
    fn copies_at_one_bank_hold_dma() {
        for (rows, held) in [(63, false), (64, true)] {
            // Each side stays in one bank; the two banks differ.
            let column = copy(I8, (1 << 16) + 8, &[(rows, 0, 128, 0, 128), (8, 0, 1, 0, 1)]);
            assert_eq!(holds_dma(&nests(&column).expect("it stays in the slice")), held, "{rows} rows");
        }
        let far = copy(I8, (512 << 10) - 8, &[(2, 0, 128, 0, 128), (8, 0, 1, 0, 1)]);
        assert!(nests(&far).is_none(), "behind the slice");
    }
}
