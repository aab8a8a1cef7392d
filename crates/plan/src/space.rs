//! The space of a problem: all choices, in a fixed order.

use crate::choice::{
    Choice, Gather, Level, Pieces, ROWS, ROWS_FILL_FLITS, Split, Spread, Sums, divisors, splits, together,
};
use crate::fixed::Fixed;
use crate::problem::{Problem, Role};
use furiosa_visa_rules::spec;

/// Answer to a set of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Its choices are looked at.
    At,
    /// Its choices are none that is needed.
    Past,
    /// Nothing that comes is needed.
    End,
}

/// Calls `each` with every choice whose weights fit the register file. `only`: the operand in the register file, or either.
pub fn for_each(problem: &Problem, only: Option<usize>, each: &mut impl FnMut(&Choice)) {
    for_each_of(problem, (only, None), &mut |_| Look::At, each);
}

/// Calls `each` with every choice that has what is fixed, and whose extents `look` says to look at. The choices of the same
/// extents differ in their ways to bring operands and in the places of sums.
pub fn for_each_of(
    problem: &Problem,
    (only, fixed): (Option<usize>, Option<&Fixed>),
    look: &mut impl FnMut(&Choice) -> Look,
    each: &mut impl FnMut(&Choice),
) {
    let allowed =
        |operand: &usize| only.is_none_or(|only| only == *operand) && problem.windowed() != Some(*operand);
    for weights in [1, 0].into_iter().filter(allowed) {
        let last = problem.axes.iter().rposition(|axis| axis.role == Role::Of(weights));
        let options: Vec<Vec<Split>> = (problem.axes.iter().enumerate())
            .map(|(number, axis)| {
                let mut own = splits(axis.size, axis.role, weights, Some(number) == last);
                own.retain(|split| {
                    problem.allows(number, split) && fixed.is_none_or(|fixed| fixed.allows(number, split))
                });
                own
            })
            .collect();
        let mut choice = Choice::plain(weights, Vec::new());
        let mut each_extents = |choice: &mut Choice| {
            let answer = if are_parts_needed(problem, choice) { look(choice) } else { Look::Past };
            if answer == Look::At {
                variants(problem, choice, each);
            }
            answer != Look::End
        };
        if !combined(problem, &options, &mut choice, [1, 1, 1], &mut each_extents) {
            return;
        }
    }
}

/// Combines splits of all axes that the chip has clusters, slices and a register file for, as long as `each` says to go on. Returns
/// if it did to the end. `used`: clusters, slices, and elements of a slice's register file.
fn combined(
    problem: &Problem,
    options: &[Vec<Split>],
    choice: &mut Choice,
    used: [usize; 3],
    each: &mut impl FnMut(&mut Choice) -> bool,
) -> bool {
    let number = choice.splits.len();
    let Some(own) = options.get(number) else { return each(choice) };
    let is_in_file = problem.axes[number].role != Role::Of(choice.stream());
    for split in own {
        let elements = if is_in_file { split.at(Level::Local) } else { 1 };
        let used = [used[0] * split.at(Level::Cluster), used[1] * split.at(Level::Slice), used[2] * elements];
        let file_bytes = used[2] * problem.element.bits() / 8;
        if used[0] > spec::CLUSTERS || used[1] > spec::SLICES || file_bytes > spec::TRF_BYTES {
            continue;
        }
        choice.splits.push(*split);
        let goes_on = combined(problem, options, choice, used, each);
        choice.splits.pop();
        if !goes_on {
            return false;
        }
    }
    true
}

/// Ways to bring an operand to slices of a role that share it: a copy for each; or parts for all of them, or for some that
/// are neighbours, along an axis of its own or a summed one.
fn spreads(problem: &Problem, choice: &Choice, own: Role, sharing: Role) -> Vec<Option<Spread>> {
    let mut found = vec![None];
    let slices = choice.extent(problem, sharing, Level::Slice);
    if slices == 1 {
        return found;
    }
    let last = problem
        .axes
        .iter()
        .zip(&choice.splits)
        .rfind(|(axis, split)| axis.role == sharing && split.at(Level::Slice) > 1);
    let innermost = last.map_or(1, |(_, split)| split.at(Level::Slice));
    let parts = divisors(innermost).into_iter().filter(|count| *count > 1 && *count < slices).chain([slices]);
    let along = |count: usize, role: Role| {
        let fits = |axis: &usize| {
            problem.axes[*axis].role == role
                && problem.has_parts(*axis)
                && (choice.splits[*axis].at(Level::Local))
                    .is_multiple_of(count * together(problem, choice.weights, *axis))
        };
        (0..choice.splits.len()).find(fits).map(|axis| Some(Spread { axis, count }))
    };
    let by = |count: usize| [own, Role::Summed].map(|role| along(count, role)).into_iter().flatten();
    found.extend(parts.flat_map(by));
    let is_for_all = found.iter().flatten().any(|spread: &Spread| spread.count == slices);
    // Copies are for an axis that clusters do not have.
    let is_new = last.is_some_and(|(_, split)| split.at(Level::Cluster) == 1) && slices == innermost;
    if !is_for_all && is_new && problem.windows.is_empty() {
        found.extend(padded_slices(slices).into_iter().flat_map(by));
    }
    found
}

/// The slices that load parts for so many that share an operand, if they are no power of two: the next one, if that adds less than a
/// quarter.
fn padded_slices(slices: usize) -> Option<usize> {
    let padded = slices.next_power_of_two();
    (padded > slices && 4 * padded <= 5 * slices).then_some(padded)
}

/// Tells if `team` slices can keep parts of an axis each: whole parts, also of what is spread along it.
fn is_shared(problem: &Problem, choice: &Choice, axis: usize, team: usize) -> bool {
    let spread = [choice.stream_spread, choice.weights_spread]
        .into_iter()
        .flatten()
        .find(|spread| spread.axis == axis);
    let parts = spread.map_or(1, |spread| spread.count) * together(problem, choice.weights, axis) * team;
    matches!(problem.axes[axis].role, Role::Of(_))
        && choice.splits[axis].at(Level::Local).is_multiple_of(parts)
}

/// Tells if the parts of a sum are as few as the register file, or one half of it, has room for, or as few as are whole units of
/// HBM then; and if adding them is exact: sums of integers in DM are added with saturation.
fn are_parts_needed(problem: &Problem, choice: &Choice) -> bool {
    let Some(axis) = choice.axis_of_parts(problem) else { return true };
    let split = &choice.splits[axis];
    let parts = split.at(Level::Blocks);
    let (bytes, positions) = (choice.file_bytes(problem), parts * split.at(Level::Local));
    // Weights that have another axis inside come in runs of that one.
    let is_inside = problem.run(choice.weights).is_some_and(|(inside, _)| inside == axis);
    let are_units = |parts: usize| {
        !is_inside || (positions / parts * problem.element.bits() / 8).is_multiple_of(spec::HBM_UNIT_BYTES)
    };
    let is_as_good =
        |fewer: usize| positions.is_multiple_of(fewer) && (are_units(fewer) || !are_units(parts));
    let is_needed = |room: usize| bytes <= room && !((bytes * parts).div_ceil(room)..parts).any(is_as_good);
    ROWS_FILL_FLITS
        && parts == choice.parts(problem)
        && problem.sums_fit()
        && [spec::TRF_BYTES, spec::TRF_BYTES / 2].into_iter().any(is_needed)
}

/// Calls `each` with the choices that have these splits.
fn variants(problem: &Problem, choice: &mut Choice, each: &mut impl FnMut(&Choice)) {
    in_columns(problem, choice, each);
    if !problem.has_packets_of_sums(choice) {
        return;
    }
    let team = choice.extent(problem, Role::Summed, Level::Slice);
    exchanges(problem, choice, &mut |choice| {
        choice.sums = if team == 1 { Sums::Whole } else { Sums::First };
        gathered(problem, choice, each);
        for axis in 0..choice.splits.len() {
            if team > 1 && is_shared(problem, choice, axis, team) {
                choice.sums = Sums::Shared(axis);
                gathered(problem, choice, each);
            }
        }
    });
}

/// Calls `each` with the ways to spread the operands over slices, and with the orders of slices where that matters.
fn exchanges(problem: &Problem, choice: &mut Choice, each: &mut impl FnMut(&mut Choice)) {
    let (of_stream, of_weights) = (Role::Of(choice.stream()), Role::Of(choice.weights));
    let [stream, weights] = [of_stream, of_weights].map(|role| choice.extent(problem, role, Level::Slice));
    let orders: &[bool] = if stream > 1 && weights > 1 { &[false, true] } else { &[false] };
    for stream_spread in spreads(problem, choice, of_stream, of_weights) {
        for weights_spread in spreads(problem, choice, of_weights, of_stream) {
            (choice.stream_spread, choice.weights_spread) = (stream_spread, weights_spread);
            if choice.used_slices(problem) > spec::SLICES {
                continue;
            }
            // Without an exchange, the order of slices changes nothing.
            let exchanged = stream_spread.is_some() || weights_spread.is_some();
            for &weights_inside in if exchanged { orders } else { &orders[..1] } {
                choice.weights_inside = weights_inside;
                each(choice);
            }
        }
    }
}

/// Calls `each` with the choices that have these splits, and packets of the stream's innermost axis.
fn in_columns(problem: &Problem, choice: &mut Choice, each: &mut impl FnMut(&Choice)) {
    choice.in_columns = true;
    let is_possible = choice.parts(problem) == 1 && problem.in_units(choice).is_none();
    if is_possible && choice.columns(problem).is_some_and(|columns| columns.count > 1) {
        let team = choice.extent(problem, Role::Summed, Level::Slice);
        choice.sums = if team == 1 { Sums::Whole } else { Sums::First };
        exchanges(problem, choice, &mut |choice| each(choice));
    }
    (choice.in_columns, choice.stream_spread, choice.weights_spread) = (false, None, None);
}

/// Calls `each` with a choice as it is, with one that gathers what is stored, if that makes whole units of HBM, and with one that
/// turns the sums.
fn gathered(problem: &Problem, choice: &mut Choice, each: &mut impl FnMut(&Choice)) {
    choice.gather = None;
    each(choice);
    choice.gather = gather(problem, choice);
    if choice.gather.is_some() {
        in_pieces(problem, choice, each);
        choice.gather = None;
    }
    choice.turns_sums = may_turn_sums(problem, choice);
    if choice.turns_sums {
        in_pieces(problem, choice, each);
        choice.turns_sums = false;
    }
}

/// The halvings of a tile that its second piece is, at most.
const HALVINGS: usize = 4;

/// Calls `each` with a choice whose pass behind the products takes all sums, and with those in which the stream comes in two
/// pieces: the second one is a half, a quarter, … of it. A short first piece, with which products start early, was never the best
/// of the layers that were measured, and the search took up to 30 % longer.
fn in_pieces(problem: &Problem, choice: &mut Choice, each: &mut impl FnMut(&Choice)) {
    each(choice);
    let Some(axis) = axis_of_pieces(problem, choice) else { return };
    let local = choice.splits[axis].at(Level::Local);
    let mut before = local;
    for second in (1..=HALVINGS).map(|halvings| local.div_ceil(1 << halvings)) {
        // A tile of one position has no name of its own in its mapping.
        if second < 2 || second == before || local - second < 2 {
            break;
        }
        before = second;
        choice.pieces = Some(Pieces { axis, sizes: [local - second, second] });
        each(choice);
    }
    choice.pieces = None;
}

/// The streamed axis that may come in pieces: the first one with several positions in a slice that stays whole otherwise. The stream
/// comes in one tile, meets one block, and is not turned. `None`: there is none.
fn axis_of_pieces(problem: &Problem, choice: &Choice) -> Option<usize> {
    let is_one = choice.steps(problem) == 1
        && problem.windows.is_empty()
        && choice.turned(problem, choice.stream()).is_none();
    let is_whole = |axis: &usize| {
        let split = &choice.splits[*axis];
        problem.axes[*axis].role == Role::Of(choice.stream())
            && split.at(Level::Local) > 1
            && split.padded == problem.axes[*axis].size
            && choice.stream_spread.is_none_or(|spread| spread.axis != *axis)
            && choice.gather.is_none_or(|gather| gather.axis != *axis)
            && choice.sums != Sums::Shared(*axis)
    };
    (0..choice.splits.len()).find(is_whole).filter(|_| is_one)
}

/// The most rows of weights, in all slices, of which sums are turned. With more, no layer that was measured gains, and the search
/// takes half as long again.
const TURNED_ROWS: usize = 16 * ROWS;

/// Tells if a pass may put the stream's axis inside: weights have no more rows than the register file, so that few sums are read.
fn may_turn_sums(problem: &Problem, choice: &Choice) -> bool {
    let Some((axis, _)) = problem.run(2) else { return false };
    let of_stream = Role::Of(choice.stream());
    let of_weights = problem.axes.iter().filter(|axis| axis.role == Role::Of(choice.weights));
    problem.axes[axis].role == of_stream
        && of_weights.map(|axis| axis.size).product::<usize>() <= TURNED_ROWS
        && choice.extent(problem, Role::Of(choice.weights), Level::Local) == ROWS
        && choice.parts(problem) == 1
        && !matches!(choice.sums, Sums::Shared(_))
        && choice.splits[axis].at(Level::Local).is_multiple_of(spec::BEAT_LANES)
}

/// The fewest slices that gather whole units of HBM, along the first streamed axis that they can share.
fn gather(problem: &Problem, choice: &Choice) -> Option<Gather> {
    let (rows, positions) = problem.run(2)?;
    if problem.axes[rows].role != Role::Of(choice.weights)
        || problem.axes.iter().rposition(|axis| axis.role == Role::Of(choice.weights)) != Some(rows)
        || choice.sums == Sums::Shared(rows)
        || choice.padded_slices(problem, Role::Of(choice.weights)).is_some()
    {
        return None;
    }
    let split = &choice.splits[rows];
    let bytes = split.at(Level::Local) * problem.output.bits() / 8;
    if !ROWS_FILL_FLITS
        || split.padded != problem.axes[rows].size
        || bytes.is_multiple_of(spec::HBM_UNIT_BYTES)
    {
        return None;
    }
    let whole = |count: &usize| {
        split.at(Level::Slice).is_multiple_of(*count)
            && positions >= split.at(Level::Local) * count
            && (bytes * count).is_multiple_of(spec::HBM_UNIT_BYTES)
    };
    let count = (2..=split.at(Level::Slice)).find(whole)?;
    let team = |axis| match choice.sums == Sums::Shared(axis) {
        true => choice.extent(problem, Role::Summed, Level::Slice),
        false => 1,
    };
    let can_share = |axis: &usize| {
        problem.axes[*axis].role == Role::Of(choice.stream())
            && choice.splits[*axis].at(Level::Local).is_multiple_of(count * team(*axis))
    };
    let axis = (0..choice.splits.len()).find(can_share)?;
    Some(Gather { axis, count })
}
