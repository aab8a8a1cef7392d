//! Shuffles: clusters or chips exchange their elements.

use crate::command::{CopyCall, Start, Transfer};
use crate::engine::copies::{UnitLevel, check_alike, check_length};
use crate::engine::dma::{DmaRules, check_dma};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::Guard;
use crate::sequencer::transfer::{Placement, derive_transfer};
use crate::tensor::Shape;
use core::fmt::Write;

/// The derived configuration of a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleConfig {
    /// The call.
    pub call: CopyCall,
    /// The units that are exchanged.
    pub level: UnitLevel,
    /// The number of clusters or chips, padding included.
    pub count: usize,
    /// Distance from one cluster or chip to the next, in units of a command.
    pub step: usize,
    /// The loops inside one cluster or chip.
    pub transfer: Transfer,
    /// The live positions of the tensor.
    guard: Guard,
}

/// Derives a shuffle of a tensor.
pub const fn derive_shuffle(
    call: CopyCall,
    level: UnitLevel,
    shape: &Shape,
) -> Result<ShuffleConfig, PlanError> {
    let operation = call.name();
    let [chips, clusters, _, elements] = attempt!(shape.sizes());
    let guard = attempt!(shape.footprint()).guard;
    attempt!(check_alike(operation, level, shape, &guard));
    let (dimensions, levels) = level.others(shape);
    let inside = Placement { name: shape.name(), dimensions: dimensions.split_at(levels).0 };
    let transfer = attempt!(derive_transfer(operation, &inside, &inside, false));
    let rules =
        DmaRules { operation, source: (*shape, elements), destination: (*shape, elements), by_index: false };
    attempt!(check_dma(&rules, &transfer));
    let count = match level {
        UnitLevel::Cluster => clusters,
        UnitLevel::Chip => chips,
    };
    Ok(ShuffleConfig { call, level, count, step: level.step(shape.memory), transfer, guard })
}

impl ShuffleConfig {
    /// Tells if a cluster or chip holds elements.
    fn holds(&self, unit: usize) -> bool {
        self.guard.holds_alone(self.level.variable(), unit)
    }

    /// The loops for each destination that holds elements.
    ///
    /// # Errors
    /// If the pattern has another length, or names a unit that does not exist or holds no element.
    pub fn moves(&self, pattern: &[usize]) -> Result<Vec<Transfer>, PlanError> {
        let (operation, count, noun) = (self.call.name(), self.count, self.level.noun());
        check_length(operation, self.level, "pattern", count, pattern.len())?;
        let mut moves = Vec::new();
        for (unit, &from) in pattern.iter().enumerate() {
            if from >= count {
                refuse!(
                    "pattern bounds",
                    "{}: the pattern gives {} {} what {} {} has, but the tensor has {}; help: use 0 to {}",
                    (operation, noun, unit, noun, from, count(count, noun), count - 1),
                );
            }
            if !self.holds(unit) {
                continue;
            }
            if !self.holds(from) {
                refuse!(
                    "pattern of padding",
                    "{}: the pattern gives {} {} what {} {} has, but that one holds no element: it is padding of {}; \
                     help: take from one that holds elements, for example {}",
                    (operation, noun, unit, noun, from, self.level.dimension(), unit),
                );
            }
            let start = |unit: usize| Start { units: (unit * self.step) as isize, elements: 0 };
            moves.push(self.transfer.further(start(from), start(unit)));
        }
        Ok(moves)
    }
}

impl ShuffleConfig {
    /// The source of each cluster or chip, and the loops of each, as text.
    ///
    /// # Errors
    /// Returns the errors of [`Self::moves`].
    ///
    /// ```
    /// use furiosa_visa_std::engine::copies::ShufflePlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![C = 2, A = 64];
    /// type Tensor = DmTensor<i8, m![1], m![C], m![1 # 256], m![A]>;
    /// let text = ShufflePlan::<Tensor>::CLUSTERS.explain(&[1, 0]).expect("both clusters hold elements");
    /// assert!(text.contains("cluster 0 gets cluster 1\ncluster 1 gets cluster 0\n"));
    /// ```
    pub fn explain(&self, pattern: &[usize]) -> Result<String, PlanError> {
        let noun = self.level.noun();
        let mut text = format!("{}\n\n", self.call);
        for transfer in self.moves(pattern)? {
            let number = |units: isize| units as usize / self.step;
            let (from, to) = (number(transfer.source_start.units), number(transfer.destination_start.units));
            let _ = writeln!(text, "{noun} {to} gets {noun} {from}");
        }
        Ok(format!("{text}\neach\n{}", self.transfer))
    }
}
