//! Digits of slices and of clusters that are fixed.
//!
//! ```text
//!   N / 8 % 32             these 32 slices; other axes may be in the other 8 positions
//!   [N / 8 % 32] # 256     these, and nothing else
//!   1 # 256                no axis
//! ```

use crate::choice::{Level, Split, splits};
use crate::hbm::bare;
use crate::layout::Notation;
use crate::problem::{Problem, ProblemError, Role};
use crate::route::digits::{Digit, units_of};
use furiosa_visa_rules::spec;

/// A digit that is in a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    axis: usize,
    digit: Digit,
    /// Positions, with padding.
    size: usize,
}

/// Digits that are fixed in slices, or in clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unit {
    /// The mapping as it was given.
    text: String,
    digits: Vec<Placed>,
    /// True if axes without a digit have one position here.
    is_whole: bool,
}

/// Digits that choices must have in slices and in clusters, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    slice: Option<Unit>,
    cluster: Option<Unit>,
}

/// A unit: its level, its name as an option and in sentences, and its positions.
type Kind = (Level, &'static str, &'static str, usize);

const SLICE: Kind = (Level::Slice, "slice", "Slice", spec::SLICES);
const CLUSTER: Kind = (Level::Cluster, "cluster", "Cluster", spec::CLUSTERS);

impl Fixed {
    /// Reads what is in slices and in clusters: a list of digits of axes each. An axis that is named has this digit there. A
    /// list that is padded to all slices leaves no room for others. `weights`: the operand in the register file, if it is
    /// fixed.
    ///
    /// # Errors
    /// Refuses text that is no mapping, more positions than there are, and digits that no choice has there.
    pub fn new(
        problem: &Problem,
        slice: Option<&str>,
        cluster: Option<&str>,
        weights: Option<usize>,
    ) -> Result<Self, ProblemError> {
        let notation = Notation::new(problem);
        let read =
            |text: Option<&str>, kind| text.map(|text| unit(problem, &notation, text, kind)).transpose();
        let fixed = Self { slice: read(slice, SLICE)?, cluster: read(cluster, CLUSTER)? };
        fixed.check(problem, weights)?;
        Ok(fixed)
    }

    /// Tells if an axis may be split so.
    pub fn allows(&self, axis: usize, split: &Split) -> bool {
        [(&self.slice, SLICE), (&self.cluster, CLUSTER)]
            .into_iter()
            .all(|(unit, kind)| unit.as_ref().is_none_or(|unit| unit.allows(axis, split, kind)))
    }

    /// The fixed digits in words: `m![N / 8] in Slice`.
    pub fn text(&self) -> String {
        let given = [(&self.cluster, CLUSTER), (&self.slice, SLICE)].into_iter();
        let texts: Vec<String> = given
            .filter_map(|(unit, (.., name, _))| Some(format!("m![{}] in {name}", unit.as_ref()?.text)))
            .collect();
        texts.join(" and ")
    }

    /// Refuses what no choice has.
    fn check(&self, problem: &Problem, weights: Option<usize>) -> Result<(), ProblemError> {
        let mut emptied = None;
        for operand in [1, 0].into_iter().filter(|operand| weights.is_none_or(|only| only == *operand)) {
            let is_empty = |axis: &usize| {
                !splits_of(problem, *axis, operand).iter().any(|split| self.allows(*axis, split))
            };
            match (0..problem.axes.len()).find(is_empty) {
                None => return Ok(()),
                Some(axis) => emptied = emptied.or(Some((operand, axis))),
            }
        }
        let Some((operand, axis)) = emptied else { return Ok(()) };
        let (all, name) = (splits_of(problem, axis, operand), &problem.axes[axis].name);
        for (unit, kind) in [(&self.slice, SLICE), (&self.cluster, CLUSTER)] {
            let is_possible = |unit: &&Unit| all.iter().any(|split| unit.allows(axis, split, kind));
            let Some(unit) = unit.as_ref().filter(|unit| !is_possible(unit)) else { continue };
            let (level, option, place, _) = kind;
            let count = unit.count(axis);
            let mut digits = Vec::new();
            let mut counts = Vec::new();
            for split in &all {
                if split.at(level) == count {
                    digits.extend(digit(problem, axis, split, level));
                }
                if split.at(level) > 1 {
                    counts.push(split.at(level));
                }
            }
            counts.sort_unstable();
            counts.dedup();
            let edit = match (digits.is_empty(), counts.is_empty()) {
                (false, _) => format!("take {}", listed(&digits)),
                (true, false) => {
                    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
                    format!("take a digit of {} positions", listed(&counts))
                }
                (true, true) => "leave it out".to_string(),
            };
            return Err(ProblemError(format!(
                "{option}: with `{}` in the register file, no mapping has in {place} what `{}` says of `{name}`; {edit}",
                ["x", "w"][operand],
                unit.text
            )));
        }
        let text = |unit: &Option<Unit>| unit.as_ref().map_or(String::new(), |unit| unit.text.clone());
        Err(ProblemError(format!(
            "slice: no mapping has both `{}` in Slice and `{}` in Cluster: the digit of `{name}` in Cluster is outside of the \
             other one; leave one of them out",
            text(&self.slice),
            text(&self.cluster)
        )))
    }
}

impl Unit {
    /// Tells if an axis may be split so.
    fn allows(&self, axis: usize, split: &Split, (level, ..): Kind) -> bool {
        let Some(own) = self.digits.iter().find(|own| own.axis == axis) else {
            return !self.is_whole || split.at(level) == 1;
        };
        let (stride, end) = (split.stride(level), split.stride(level) * split.at(level));
        let ends = match own.digit.period() {
            None => end >= own.digit.axis.size,
            Some(period) => end == period,
        };
        split.at(level) == own.size && stride == own.digit.stride && ends
    }

    /// Number of positions of an axis.
    fn count(&self, axis: usize) -> usize {
        self.digits.iter().find(|own| own.axis == axis).map_or(1, |own| own.size)
    }
}

/// Reads what is in a unit.
fn unit(
    problem: &Problem,
    notation: &Notation,
    text: &str,
    (_, option, place, positions): Kind,
) -> Result<Unit, ProblemError> {
    let text = bare(text);
    let refuse = |reason: String| Err(ProblemError(format!("{option}: `{text}` {reason}")));
    let expr = notation.read(text).map_err(|error| ProblemError(format!("{option}: {error}")))?;
    if expr.size() > positions {
        let size = expr.size();
        return refuse(format!(
            "has {size} positions, and {place} has {positions}; name digits of fewer positions, or pad to `# {positions}`"
        ));
    }
    let Some(parts) = units_of(expr) else {
        return refuse(
            "has a part that is no digit of one axis; write a list of digits, for example `N / 8 % 32`"
                .to_string(),
        );
    };
    let mut digits: Vec<Placed> = Vec::new();
    for part in parts {
        let Some(digit) = part.digit else { continue };
        let name = digit.axis.name.as_str();
        let Some(axis) = problem.axes.iter().position(|axis| axis.name == name) else {
            // An axis that an operand has in windows, and what slices make of it.
            let outputs: Vec<&str> =
                problem.windows.iter().map(|window| problem.axes[window.output].name.as_str()).collect();
            return refuse(format!(
                "has `{name}`, which the result lacks; positions in windows follow `{}` of the result: write digits of it",
                outputs.join("`, `")
            ));
        };
        if digits.iter().any(|own| own.axis == axis) {
            return refuse(format!(
                "has two digits of `{name}`, and mappings of the space have one of each axis in {place}; write one"
            ));
        }
        digits.push(Placed { axis, digit, size: part.size });
    }
    Ok(Unit { text: text.to_string(), digits, is_whole: expr.size() == positions })
}

/// All splits of an axis.
fn splits_of(problem: &Problem, axis: usize, weights: usize) -> Vec<Split> {
    let last = problem.axes.iter().rposition(|axis| axis.role == Role::Of(weights));
    let own = &problem.axes[axis];
    splits(own.size, own.role, weights, last == Some(axis))
}

/// The digit of a split at a level.
fn digit(problem: &Problem, axis: usize, split: &Split, level: Level) -> Option<String> {
    let own = &problem.axes[axis];
    let (stride, count) = (split.stride(level), split.at(level));
    let mut text = own.name.clone();
    if split.padded > own.size {
        text += &format!(" # {}", split.padded);
    }
    if stride > 1 {
        text += &format!(" / {stride}");
    }
    if stride * count < split.padded {
        text += &format!(" % {count}");
    }
    (count > 1).then(|| format!("`{text}`"))
}

/// `2, 4 or 8`: each once, and the last ones of many left out.
fn listed(texts: &[String]) -> String {
    const MOST: usize = 8;
    let mut own: Vec<&str> = Vec::new();
    for text in texts {
        if !own.contains(&text.as_str()) {
            own.push(text);
        }
    }
    let more = if own.len() > MOST { ", …" } else { "" };
    own.truncate(MOST);
    match own.split_last() {
        Some((last, others)) if !others.is_empty() && more.is_empty() => {
            format!("{} or {last}", others.join(", "))
        }
        _ => own.join(", ") + more,
    }
}
