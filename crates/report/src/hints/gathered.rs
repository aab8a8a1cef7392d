//! Stores of short pieces, gathered in fewer slices by a move before them.
//!
//! ```text
//!   as it is    DM  │ slice 0: 64 bytes │ slice 1: 64 bytes │ …  ──to_hbm──▶ parts of units
//!   as timed    DM  │ slice 0: 64 bytes │ slice 1: 64 bytes │ …  ──to_dm──▶ 256 bytes in one of four ──to_hbm──▶ units
//! ```

use super::moved::{Moved, Moves};
use super::slices::apart;
use super::{Candidate, Change, HintKind, Line, LineKey, by_rule};
use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::command::Memory;
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::digits::{expr_of, innermost, live, parts_of, size_of, units_of};
use furiosa_visa_rules::spec::HBM_UNIT_BYTES;
use furiosa_visa_rules::tensor::Shape;
use std::collections::HashMap;

/// Addresses of a tensor behind that of a store: it lies beside it.
const BESIDE_BYTES: u64 = 64;

/// A store behind a move.
struct Gathered {
    /// Cycles of the store and of the move.
    cycles: [u64; 2],
    /// Bytes of a slice before the move, and of a slice behind it.
    bytes: [usize; 2],
    /// The tensor between both.
    shape: Shape,
}

/// The store of a record behind the move that makes both together as short as it can be. `None`: no move pays.
fn gathered(record: &Record, moves: &mut Moves) -> Option<Gathered> {
    let moved = Moved::of(record).filter(|moved| moved.hbm() == Some(1))?;
    let from = moved.ends[0].shape;
    if from.memory != Memory::Dm {
        return None;
    }
    let (digits, element) = (live(&units_of(from.slice)?), live(&parts_of(from.element)?));
    let bytes = |positions: usize| positions * from.element_type.bits() / 8;
    let own = size_of(&element);
    if bytes(own) >= HBM_UNIT_BYTES {
        return None;
    }
    let mut best: Option<Gathered> = None;
    for times in (1..=size_of(&digits).ilog2()).map(|bits| 1usize << bits) {
        let Some([outer, inner]) = innermost(&digits, times) else { continue };
        let all = bytes(own * times);
        if all > HBM_UNIT_BYTES && !all.is_multiple_of(HBM_UNIT_BYTES) {
            continue;
        }
        let Some(slice) = apart(&outer) else { continue };
        let element = expr_of(&[inner, element.clone()].concat(), 1);
        let shape = Shape { slice, element, ..from };
        let (mut gather, mut store) = (moved, moved);
        gather.ends[1] = gather.ends[0];
        gather.ends[1].shape = shape;
        gather.ends[1].address += BESIDE_BYTES.max(bytes(from.element.size()).next_multiple_of(8) as u64);
        store.ends[0] = gather.ends[1];
        let Some(store) = moves.edited(record, &moved, &store) else { continue };
        let Some(gather) = moves.cycles(&gather) else { continue };
        let least = best.as_ref().map_or(record.timing.cycles(), |best| best.cycles.iter().sum());
        if store + gather < least {
            best = Some(Gathered { cycles: [store, gather], bytes: [bytes(own), all], shape });
        }
    }
    best
}

/// The candidate of a line of stores.
pub(super) fn of_line<'a>(line: (LineKey, &Line<'_>), moves: &mut Moves) -> Option<Candidate<'a>> {
    let mut change = None;
    let mut known: HashMap<([*const Expr; 3], u64), Option<Gathered>> = HashMap::new();
    let found = by_rule(HintKind::ShortRuns, line, |record| {
        let moved = Moved::of(record)?;
        let [from, to] = moved.ends.map(|end| end.shape);
        let mappings = [from.slice, from.element, to.element].map(core::ptr::from_ref);
        let form = known.entry((mappings, record.timing.cycles())).or_insert_with(|| gathered(record, moves));
        let Gathered { cycles: [store, gather], bytes: [own, all], shape } = form.as_ref()?;
        change.get_or_insert_with(|| Change {
            before: "y.to_hbm(…)".to_string(),
            after: format!("y.to_dm::<m![{}], m![{}]>(…).to_hbm(…)", shape.slice, shape.element),
        });
        let cause = format!(
            "each slice has {own} bytes of units of {HBM_UNIT_BYTES}: HBM reads, changes and writes them"
        );
        let edit =
            format!("gather {all} bytes in one slice by a move in DM, of {gather} cycles, before the store");
        Some((store + gather, (cause, edit)))
    })?;
    Some(Candidate { changes: change.into_iter().collect(), ..found })
}
