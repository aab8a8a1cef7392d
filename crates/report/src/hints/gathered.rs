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
use furiosa_visa_rules::mapping::digits::{
    Part, Parts, expr_of, has, in_order_of, live, parts_of, refine, size_of, units_of,
};
use furiosa_visa_rules::spec::HBM_UNIT_BYTES;
use furiosa_visa_rules::tensor::Shape;
use furiosa_visa_rules::text::grouped;
use litemap::LiteMap;

/// Addresses of a tensor behind that of a store: it lies beside it.
const BESIDE_BYTES: u64 = 64;

/// Maximum number of moves before a store that are timed.
const FORMS: usize = 12;

/// A store behind a move.
struct Gathered {
    /// Cycles of the store and of the move.
    cycles: [u64; 2],
    /// Bytes that follow each other in HBM and are in one slice, before the move and behind it.
    bytes: [usize; 2],
    /// True if a slice has more than one such run before the move.
    has_rows: bool,
    /// The tensor between both.
    shape: Shape,
}

impl Gathered {
    /// Cause and edit.
    fn texts(&self) -> (String, String) {
        let ([own, all], [_, gather]) = (self.bytes.map(|bytes| grouped(bytes as u64)), self.cycles);
        let unit = HBM_UNIT_BYTES;
        let what = match (self.has_rows, self.bytes[0] > unit) {
            (true, _) => format!("each slice has runs of {own} bytes, with parts of units of {unit}"),
            (_, true) => format!("each slice has a run of {own} bytes, with parts of units of {unit}"),
            _ => format!("each slice has {own} bytes of units of {unit}"),
        };
        let edit = format!(
            "gather {all} bytes in one slice by a move in DM, of {} cycles, before the store",
            grouped(gather)
        );
        (format!("{what}: HBM reads, changes and writes them"), edit)
    }
}

/// Slices and elements of tensors between: digits of slices that are next to the run in HBM go to the elements, which lie
/// in the order of HBM. The bytes of the run come first. `None`: mappings are not digits, or runs are whole units already.
fn between(from: Shape, stored: &Expr) -> Option<(usize, Vec<(usize, Parts, Parts)>)> {
    let bytes = |positions: usize| positions * from.element_type.bits() / 8;
    let mut lists = [parts_of(stored)?, live(&units_of(from.slice)?), live(&parts_of(from.element)?)];
    refine(&mut lists)?;
    let [stored, mut slices, mut element] = lists;
    let mut run = 1;
    let mut own = None;
    let mut found = Vec::new();
    for (place, part) in stored.iter().enumerate().rev() {
        let Some(digit) = part.digit else { break };
        let values = digit.values();
        if let Some(at) = slices.iter().position(|slice| slice.digit == part.digit) {
            if bytes(run).is_multiple_of(HBM_UNIT_BYTES) {
                break;
            }
            own.get_or_insert(bytes(run));
            let twice = core::iter::successors(Some(2), |times| Some(2 * times));
            for times in twice.take_while(|times| *times < values).chain([values]) {
                let longer = bytes(run * times);
                let is_even = longer < HBM_UNIT_BYTES || longer.is_multiple_of(HBM_UNIT_BYTES);
                let Some([outer, inner]) = part.cut(times).filter(|_| is_even) else { continue };
                let (mut rest, mut order) = (slices.clone(), stored.clone());
                rest.splice(at..=at, [outer].into_iter().filter(|outer| outer.digit.is_some()));
                order.splice(place..=place, [outer, inner]);
                let moved = in_order_of(&[&element[..], &[inner]].concat(), &order);
                found.push((longer, rest, moved));
            }
            let whole = Part { size: values, ..slices.remove(at) };
            element = in_order_of(&[&element[..], &[whole]].concat(), &stored);
        } else if !has(&element, part) {
            break;
        }
        run *= values;
        // Padding is not moved: what is outside of it does not follow.
        if part.size > values {
            break;
        }
    }
    Some((own?, found))
}

/// The store of a record behind the move that makes both together as short as it can be. `None`: no move pays.
fn gathered(record: &Record, moves: &mut Moves) -> Option<Gathered> {
    let moved = Moved::of(record).filter(|moved| moved.hbm() == Some(1))?;
    let from = moved.ends[0].shape;
    if from.memory != Memory::Dm {
        return None;
    }
    let bytes = |positions: usize| positions * from.element_type.bits() / 8;
    let held = bytes(size_of(&live(&parts_of(from.element)?)));
    let (own, forms) = between(from, moved.ends[1].shape.element)?;
    let mut best: Option<Gathered> = None;
    for (all, slices, element) in forms.into_iter().take(FORMS) {
        let Some(slice) = apart(&slices) else { continue };
        let shape = Shape { slice, element: expr_of(&element, 1), ..from };
        let (mut gather, mut store) = (moved, moved);
        gather.ends[1] = gather.ends[0];
        gather.ends[1].shape = shape;
        gather.ends[1].address += BESIDE_BYTES.max(bytes(from.element.size()).next_multiple_of(8) as u64);
        store.ends[0] = gather.ends[1];
        let Some(store) = moves.edited(record, &moved, &store) else { continue };
        let Some(gather) = moves.cycles(&gather) else { continue };
        let least = best.as_ref().map_or(record.timing.cycles(), |best| best.cycles.iter().sum());
        if store + gather < least {
            let has_rows = own < held;
            best = Some(Gathered { cycles: [store, gather], bytes: [own, all], has_rows, shape });
        }
    }
    best
}

/// The call that changes. None makes a tensor in DM of a tile, and a tile of HBM is stored to by a call on a view.
fn edit(record: &Record, Shape { slice, element, .. }: Shape) -> Change {
    let mut is_tile = record.accesses.iter().map(|access| access.bytes != access.of);
    let [before, after] = match (is_tile.next() == Some(true), is_tile.any(|is_tile| is_tile)) {
        (true, _) => [
            "y.to_hbm_view(…)".to_string(),
            format!(
                "let mut z = DmTensor::<_, _, _, m![{slice}], m![{element}]>::new(ctx); y.to_dm_view(…, z.view_mut()); \
                 z.view().to_hbm_view(…)"
            ),
        ],
        (_, true) => [
            "y.view().to_hbm_view(…)".to_string(),
            format!("y.to_dm::<m![{slice}], m![{element}]>(…).view().to_hbm_view(…)"),
        ],
        _ => ["y.to_hbm(…)".to_string(), format!("y.to_dm::<m![{slice}], m![{element}]>(…).to_hbm(…)")],
    };
    Change { before, after }
}

/// The candidate of a line of stores.
pub(super) fn of_line<'a>(line: (LineKey, &Line<'_>), moves: &mut Moves) -> Option<Candidate<'a>> {
    let mut change = None;
    let mut known: LiteMap<([*const Expr; 3], u64), Option<Gathered>> = LiteMap::new();
    let found = by_rule(HintKind::ShortRuns, line, |record| {
        let moved = Moved::of(record)?;
        let [from, to] = moved.ends.map(|end| end.shape);
        let mappings = [from.slice, from.element, to.element].map(core::ptr::from_ref);
        let form = known.entry((mappings, record.timing.cycles())).or_insert_with(|| gathered(record, moves));
        let Gathered { cycles: [store, gather], shape, .. } = form.as_ref()?;
        change.get_or_insert_with(|| edit(record, *shape));
        Some((store + gather, form.as_ref()?.texts()))
    })?;
    Some(Candidate { changes: change.into_iter().collect(), ..found })
}
