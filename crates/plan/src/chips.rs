//! Problems over several chips: each one has a part of the axes of the result, and computes it alone.
//!
//! ```text
//!   mk,nk->mn with N = 256 over 4 chips: axes ChipN = 4 and N = 64
//!
//!            chip     in its HBM
//!   x        ChipN    M, K, a copy
//!   w        ChipN    N, K
//!   out      ChipN    M, N
//! ```
//!
//! A part is a problem of its own on one chip: its mappings are those of one chip, and all chips do the same at once. Operands
//! that lack an axis of the chips are in the HBM of each. Sums over chips are none of the space: chips exchange nothing.

use crate::choice::divisors;
use crate::problem::{Problem, ProblemError, Role};
use crate::search::{Outcome, Search, search};
use crate::windows::Window;
use furiosa_visa_rules::spec;
use std::time::Instant;

impl Problem {
    /// The parts of a problem that chips have, for each way to spread axes of the result over `chips` chips.
    ///
    /// # Errors
    /// Refuses more chips than a system has, axes of the result that chips do not divide, and layouts in HBM that are not those
    /// of the letters.
    pub fn over_chips(&self, chips: usize) -> Result<Vec<Self>, ProblemError> {
        let most = spec::MAX_CHIPS;
        if chips == 0 || chips > most {
            return Err(ProblemError(format!("chips: {chips} chips are no system; take 1 to {most}")));
        }
        if chips > 1 && !self.windows.is_empty() {
            return Err(ProblemError(format!(
                "chips: the windows {} are planned on one chip; leave out `chips`, and give each chip a batch of its own",
                self.windows_text()
            )));
        }
        let ways = |chips: usize| {
            let mut ways = vec![(self.clone(), chips)];
            for axis in (0..self.axes.len()).filter(|&axis| self.axes[axis].role != Role::Summed) {
                ways = ways.iter().flat_map(|(problem, left)| problem.spread(axis, *left)).collect();
            }
            ways.into_iter().filter(|(_, left)| *left == 1).map(|(problem, _)| problem).collect::<Vec<_>>()
        };
        let found = ways(chips);
        if chips > 1 && !self.layouts_text().is_empty() {
            return Err(ProblemError(format!(
                "chips: the layouts `{}` are those of one chip; leave them out, or take 1 chip",
                self.layouts_text()
            )));
        }
        if !found.is_empty() {
            return Ok(found);
        }
        let sizes: Vec<String> = (self.axes.iter())
            .filter(|axis| axis.role != Role::Summed)
            .map(|axis| format!("{} = {}", axis.name, axis.size))
            .collect();
        let others: Vec<String> =
            (1..=most).filter(|&chips| !ways(chips).is_empty()).map(|chips| chips.to_string()).collect();
        Err(ProblemError(format!(
            "chips: {chips} chips do not divide the axes of the result, {}, and sums over chips are not planned; pad an axis, \
             or take a number of {}",
            sizes.join(", "),
            others.join(", ")
        )))
    }

    /// The problem with an axis over each number of chips that divides it and `left`, with the chips that are left then.
    fn spread(&self, axis: usize, left: usize) -> Vec<(Self, usize)> {
        let counts = divisors(left).into_iter().filter(|count| self.axes[axis].size.is_multiple_of(*count));
        let with = |count: usize| {
            let mut problem = self.clone();
            problem.axes[axis].size /= count;
            problem.chips[axis] = count;
            (problem, left / count)
        };
        counts.map(with).collect()
    }

    /// Number of chips.
    pub fn number_of_chips(&self) -> usize {
        self.chips.iter().product()
    }

    /// The problem of all chips.
    pub fn whole(&self) -> Self {
        let mut problem = self.clone();
        for (axis, chips) in problem.axes.iter_mut().zip(&mut problem.chips) {
            axis.size *= core::mem::replace(chips, 1);
        }
        problem
    }

    /// The axes as `axes!` has them: `M = 256, ChipN = 4, N = 16, K = 128`. Chips have an axis of their own; so has an operand that
    /// is read in windows, and the slices of `in_units`, a window whose axis is in several slices.
    pub fn declared(&self, in_units: Option<&Window>) -> String {
        let mut axes: Vec<String> = (0..self.axes.len())
            .map(|axis| {
                let (own, chips) = (&self.axes[axis], self.chips[axis]);
                let of_chip =
                    if chips > 1 { format!("{} = {chips}, ", self.chip_axis(axis)) } else { String::new() };
                format!("{of_chip}{} = {}", own.name, own.size)
            })
            .collect();
        for window in &self.windows {
            let size = window.positions(self.axes[window.output].size, &self.axes);
            axes.push(format!("{} = {size}", window.input));
            if in_units == Some(window) {
                axes.extend([
                    format!("{} = {size}", window.room_name(&self.axes)),
                    format!("{} = 2", window.side_name(&self.axes)),
                ]);
            }
        }
        axes.join(", ")
    }

    /// All positions of an axis of a tensor: `N`, or `ChipN, N` if chips share it.
    pub(crate) fn over_all_chips(&self, tensor: usize, axis: usize) -> String {
        let (name, _) = self.positions(tensor, axis);
        if self.chips[axis] > 1 { format!("{}, {name}", self.chip_axis(axis)) } else { name.to_string() }
    }

    /// The axes of the chips.
    pub(crate) fn chip_axes(&self) -> Vec<String> {
        (0..self.axes.len()).filter(|&axis| self.chips[axis] > 1).map(|axis| self.chip_axis(axis)).collect()
    }

    fn chip_axis(&self, axis: usize) -> String {
        format!("Chip{}", self.axes[axis].name)
    }
}

/// The best plans of all ways to spread a problem over `chips` chips. The bound of a way is that of its part.
///
/// # Errors
/// As [`Problem::over_chips`]; refuses digits that are fixed, if there are several chips.
pub fn search_over_chips(
    problem: &Problem,
    chips: usize,
    options: &Search<'_>,
) -> Result<Outcome, ProblemError> {
    let parts = problem.over_chips(chips)?;
    if let (2.., Some(fixed)) = (chips, options.fixed) {
        return Err(ProblemError(format!(
            "chips: {} is fixed on one chip; leave it out, or take 1 chip",
            fixed.text()
        )));
    }
    Ok(best_of(parts, options, search))
}

/// The best plans of several problems, each of them searched with its share of the time that is left, the smallest bound
/// first. A problem whose bound is no better than what was found is not searched.
///
/// # Panics
/// If there is no problem.
pub fn best_of(
    mut problems: Vec<Problem>,
    options: &Search<'_>,
    mut search: impl FnMut(&Problem, &Search<'_>) -> Outcome,
) -> Outcome {
    problems.sort_by_cached_key(|problem| problem.bounds(options.profile).cycles());
    let (start, count) = (Instant::now(), problems.len() as u32);
    let mut found: Option<Outcome> = None;
    for (problem, left) in problems.iter().zip((1..=count).rev()) {
        let bound = problem.bounds(options.profile).cycles();
        let is_slower = |known: &Outcome| {
            known.plans.len() >= options.top && known.plans.last().is_some_and(|plan| bound >= plan.cycles)
        };
        if let Some(known) = &mut found
            && known.is_stopped
        {
            (known.bound, known.is_whole) = (known.bound.min(bound), false);
            continue;
        }
        if found.as_ref().is_some_and(is_slower) {
            continue;
        }
        let limit = options.limit.map(|limit| limit.saturating_sub(start.elapsed()) / left);
        let own = search(problem, &Search { limit, ..*options });
        found = Some(match found {
            Some(known) => known.with(own, options.top),
            None => own,
        });
    }
    found.unwrap_or_else(|| unreachable!("there is a problem"))
}

impl Outcome {
    /// The best plans of both searches.
    fn with(mut self, other: Self, top: usize) -> Self {
        self.plans.extend(other.plans);
        self.plans.sort_by_key(|plan| plan.cycles);
        self.plans.truncate(top.max(1));
        self.bound = self.bound.min(other.bound);
        if other.of_problem.cycles() < self.of_problem.cycles() {
            self.of_problem = other.of_problem;
        }
        let (own, more) = (&mut self.space, other.space);
        own.extents += more.extents;
        own.skipped += more.skipped;
        own.choices += more.choices;
        own.fitting += more.fitting;
        own.bounded += more.bounded;
        own.derived += more.derived;
        own.priced += more.priced;
        for (rule, (count, message)) in more.refused {
            own.refused.entry(rule).or_insert((0, message)).0 += count;
        }
        self.is_stopped |= other.is_stopped;
        self.is_whole &= other.is_whole;
        self
    }
}
