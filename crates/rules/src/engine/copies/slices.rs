//! Slice copies: each cluster or chip keeps one position of an axis of the tensor.

use crate::command::{CopyCall, Start, Transfer};
use crate::engine::copies::parallel::check_cells;
use crate::engine::copies::{UnitLevel, check_length};
use crate::engine::dma::{DmaRules, check_dma};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Guard, Pool, factors_of, liveness_of};
use crate::sequencer::transfer::{Placement, derive_transfer};
use crate::tensor::Shape;
use crate::tensor::tile::{TileConfig, digits, locate, no_lead, rest, span_of};
use core::fmt::Write;

/// The input of [`derive_slice_copy`].
#[derive(Clone, Copy, Debug)]
pub struct SliceCopyRequest {
    /// The call.
    pub call: CopyCall,
    /// The units that the parts are chosen for.
    pub level: UnitLevel,
    /// The tensor.
    pub source: Shape,
    /// The axis to slice, `AxisToSlice`: each unit keeps one position of it.
    pub axis: &'static Expr,
    /// `Element` of the tensor with `1 # n` for that axis: `AxisSlicedElement`.
    pub sliced: &'static Expr,
    /// The result.
    pub destination: Shape,
}

/// The derived configuration of a slice copy.
#[derive(Clone, Copy, Debug)]
pub struct SliceCopyConfig {
    /// The call.
    pub call: CopyCall,
    /// The units that the parts are chosen for.
    pub level: UnitLevel,
    /// The number of clusters or chips, padding included.
    pub count: usize,
    /// Distance from one cluster or chip to the next, in units of a command.
    pub step: usize,
    /// Number of parts, padding included: positions of the axis.
    pub parts: usize,
    /// The start of each part.
    pub tile: TileConfig,
    /// The loops of the first part of the first cluster or chip.
    pub transfer: Transfer,
    /// Guard of the live positions. Variables: chip, cluster, slice, part, element of the part.
    guard: Guard,
}

/// The variable of the guard that counts parts.
pub const PART: usize = 3;

/// Derives a slice copy.
pub const fn derive_slice_copy(request: &SliceCopyRequest) -> Result<SliceCopyConfig, PlanError> {
    let SliceCopyRequest { call, level, source, axis, sliced, destination } = request;
    let operation = call.name();
    let [chips, clusters, _, elements] = attempt!(source.sizes());
    let to = attempt!(destination.sizes());
    let (tile, parts) = attempt!(check_axis(operation, source.element, axis, sliced));
    let dimensions = [source.chip, source.cluster, source.slice, *axis, *sliced];
    let Some(guard) = liveness_of(&dimensions) else {
        return Err(PlanError::mapping(operation, crate::mapping::Problem::TooManyFactors));
    };
    if !guard.is_alone(PART) || !guard.is_alone(level.variable()) {
        refuse!(
            "ragged parts",
            "{}: {} and AxisToSlice {} cut an axis so that some parts of Element {} have fewer elements than others; \
             help: choose sizes that fill every part, or pad another dimension",
            (operation, level.dimension(), *axis, source.element),
        );
    }
    let part = Shape { element: sliced, ..*source };
    let (from, levels) = level.others(&part);
    let (there, _) = level.others(destination);
    let transfer = attempt!(derive_transfer(
        operation,
        &Placement { name: source.name(), dimensions: from.split_at(levels).0 },
        &Placement { name: destination.name(), dimensions: there.split_at(levels).0 },
        true,
    ));
    let rules =
        DmaRules { operation, source: (part, elements), destination: (*destination, to[3]), by_index: false };
    attempt!(check_dma(&rules, &transfer));
    attempt!(check_cells(operation, &transfer, &part, destination));
    each!(k < tile.digits.len(), {
        let digit = tile.digits.at(k);
        if digit.size > 1 && !(digit.stride * source.element_type.bits()).is_multiple_of(8) {
            refuse!(
                "whole bytes",
                "{}: parts of Element {} are {} of {} bits apart, but start at whole bytes; \
                 help: keep an even number of elements inside of AxisToSlice",
                (operation, source.element, count(digit.stride, "element"), source.element_type.bits()),
            );
        }
    });
    let count = match level {
        UnitLevel::Cluster => clusters,
        UnitLevel::Chip => chips,
    };
    let (call, level, step) = (*call, *level, level.step(source.memory));
    Ok(SliceCopyConfig { call, level, count, step, parts, tile, transfer, guard })
}

/// Checks that an axis is a part of `Element`, and checks the rest of `Element`. Returns the starts of the parts, and
/// their number.
const fn check_axis(
    operation: &'static str,
    element: &'static Expr,
    axis: &'static Expr,
    sliced: &'static Expr,
) -> Result<(TileConfig, usize), PlanError> {
    let mut pool = Pool::new();
    let whole = attempt!(factors_of(operation, &mut pool, element));
    let axis_factors = attempt!(factors_of(operation, &mut pool, axis));
    let left = attempt!(factors_of(operation, &mut pool, sliced));
    let Some(found) = attempt!(locate(operation, &pool, &whole, &axis_factors)) else {
        refuse!(
            "slice axis",
            "{}: AxisToSlice {} is not a part of Element {}; help: name an axis, or a part of one, that Element holds",
            (operation, axis, element),
        )
    };
    attempt!(no_lead(operation, axis, &found));
    let parts = axis_factors.size();
    let expected = rest(&pool, &found, 1);
    if !expected.is(&left) {
        refuse!(
            "sliced element",
            "{}: AxisSlicedElement {} is not Element {} with `1 # {}` for AxisToSlice {}; help: write {}",
            (operation, sliced, element, parts, axis, factors(&pool, &expected)),
        );
    }
    let tile = TileConfig { operation, index: axis, len: 1, digits: digits(&found), span: span_of(&left) };
    Ok((tile, parts))
}

impl SliceCopyConfig {
    /// The loops for each cluster or chip that holds elements.
    ///
    /// # Errors
    /// If the number of indices is wrong, or one is no part that holds elements.
    pub fn moves(&self, index: &[usize]) -> Result<Vec<Transfer>, PlanError> {
        let (operation, noun) = (self.call.name(), self.level.noun());
        check_length(operation, self.level, "index", self.count, index.len())?;
        let mut moves = Vec::new();
        for (unit, &part) in index.iter().enumerate() {
            if part >= self.parts {
                refuse!(
                    "slice bounds",
                    "{}: {} {} is to keep part {}, but AxisToSlice has {}; help: use 0 to {}",
                    (operation, noun, unit, part, count(self.parts, "position"), self.parts - 1),
                );
            }
            if !self.guard.holds_alone(self.level.variable(), unit) {
                continue;
            }
            if !self.guard.holds_alone(PART, part) {
                refuse!(
                    "slice of padding",
                    "{}: {} {} is to keep part {}, which is padding of AxisToSlice and holds no element; \
                     help: choose a part that holds elements",
                    (operation, noun, unit, part),
                );
            }
            let units = (unit * self.step) as isize;
            let from = Start { units, elements: self.tile.offset(part)? as isize };
            moves.push(self.transfer.further(from, Start { units, elements: 0 }));
        }
        Ok(moves)
    }
}

impl SliceCopyConfig {
    /// The part that each cluster or chip keeps, and the loops of each, as text.
    ///
    /// # Errors
    /// Returns the errors of [`Self::moves`].
    pub fn explain(&self, index: &[usize]) -> Result<String, PlanError> {
        let noun = self.level.noun();
        let mut text = format!("{}\n\n", self.call);
        for transfer in self.moves(index)? {
            let unit = transfer.destination_start.units as usize / self.step;
            let part = index[unit];
            let first = self.tile.offset(part)?;
            let _ =
                writeln!(text, "{noun} {unit} keeps part {part} of {}, from element {first} on", self.parts);
        }
        Ok(format!("{text}\neach\n{}", self.transfer))
    }
}
