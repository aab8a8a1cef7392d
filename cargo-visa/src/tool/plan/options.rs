//! Requests of a search: by options of the command line, or by a line of a file of problems.

use super::super::Refusal;
use super::super::arguments::{Once, shown};
use super::super::table::printable;
use super::OPERANDS;
use core::time::Duration;
use furiosa_visa_plan::chain::Chain;
use furiosa_visa_plan::{Fixed, Problem, ProblemError};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::MAX_CHIPS;
use std::ffi::OsStr;

/// A contraction to plan.
#[derive(Debug)]
pub struct Task {
    pub problem: Problem,
    /// The operand in the register file, if it is fixed.
    pub weights: Option<usize>,
    /// Fixed digits of slices and clusters.
    pub fixed: Option<Fixed>,
    /// Number of chips.
    pub chips: usize,
    /// The parts that chips may have, one for each way to spread the problem.
    pub parts: Vec<Problem>,
}

/// The options that say what to plan.
#[derive(Debug)]
pub struct Asked {
    /// Text before a name in messages: `--`, or nothing in a file.
    prefix: &'static str,
    einsum: Once,
    axes: Once,
    dtype: Once,
    acc: Once,
    out: Once,
    role: Once,
    epilogue: Once,
    windows: Once,
    layouts: Once,
    slice: Once,
    cluster: Once,
    chips: Once,
}

impl Asked {
    /// Names of all options.
    pub const NAMES: [&str; 12] = [
        "einsum", "axes", "dtype", "acc", "out", "role", "epilogue", "windows", "in", "slice", "cluster",
        "chips",
    ];

    /// Options of the command line.
    pub fn by_arguments() -> Self {
        let names = [
            "--einsum",
            "--axes",
            "--dtype",
            "--acc",
            "--out",
            "--role",
            "--epilogue",
            "--windows",
            "--in",
            "--slice",
            "--cluster",
            "--chips",
        ];
        Self::of("--", names)
    }

    /// Keys of an object.
    pub fn by_keys() -> Self {
        Self::of("", Self::NAMES)
    }

    fn of(prefix: &'static str, names: [&'static str; 12]) -> Self {
        let [einsum, axes, dtype, acc, out, role, epilogue, windows, layouts, slice, cluster, chips] =
            names.map(Once::new);
        Self {
            prefix,
            einsum,
            axes,
            dtype,
            acc,
            out,
            role,
            epilogue,
            windows,
            layouts,
            slice,
            cluster,
            chips,
        }
    }

    /// The option of a name, without `--`.
    pub fn option(&mut self, name: &str) -> Option<&mut Once> {
        let all = [
            &mut self.einsum,
            &mut self.axes,
            &mut self.dtype,
            &mut self.acc,
            &mut self.out,
            &mut self.role,
            &mut self.epilogue,
            &mut self.windows,
            &mut self.layouts,
            &mut self.slice,
            &mut self.cluster,
            &mut self.chips,
        ];
        Self::NAMES.iter().zip(all).find_map(|(own, option)| (*own == name).then_some(option))
    }

    /// The first option that was given.
    pub fn given(&mut self) -> Option<&'static str> {
        Self::NAMES.into_iter().find(|name| self.option(name).is_some_and(|option| option.is_given()))
    }

    /// The contraction.
    pub fn task(&self) -> Result<Task, Refusal> {
        let prefix = self.prefix;
        let missing = |name: &str, example: &str| {
            let example = match prefix {
                "" => format!("\"{name}\": \"{example}\""),
                _ if example.contains('>') => format!("{prefix}{name} '{example}'"),
                _ => format!("{prefix}{name} {example}"),
            };
            Refusal(format!("`{prefix}{name}` is missing; write for example {example}"))
        };
        let einsum = self.einsum.text()?.ok_or_else(|| missing("einsum", "mk,nk->mn"))?;
        let sizes = self.axes.text()?.ok_or_else(|| missing("axes", "M=256,N=64,K=128"))?;
        let element = self.dtype.element_type(true)?.unwrap_or(ElementType::I8);
        let steps = self.epilogue.text()?.unwrap_or_default();
        let refused = |error: ProblemError| {
            // A mapping is shown with carets under the line.
            let lines: Vec<String> = error.to_string().lines().map(printable).collect();
            Refusal(format!("{prefix}{}", lines.join("\n")))
        };
        let (out, windows) = (self.out.element_type(true)?, self.windows.text()?.unwrap_or_default());
        let mut problem =
            Problem::with_windows(einsum, windows, sizes, element, out, steps).map_err(refused)?;
        if let Some(layouts) = self.layouts.text()? {
            problem = problem.with_layouts(layouts).map_err(refused)?;
        }
        if let Some(acc) = self.acc.element_type(true)?
            && acc != problem.sum()
        {
            let sum = problem.sum();
            return Err(format!("{prefix}acc: sums of {element} are {sum}, not {acc}; leave it out").into());
        }
        let (weights, slice, cluster) = (self.weights()?, self.slice.text()?, self.cluster.text()?);
        if let Some(operand) = weights
            && problem.windowed() == Some(operand)
        {
            let name = OPERANDS[operand];
            return Err(Refusal(format!(
                "{prefix}role: `{name}` is read in windows, so that it is streamed; write `{name}=stream`, or leave it out"
            )));
        }
        let fixed = match (slice, cluster) {
            (None, None) => None,
            _ => Some(Fixed::new(&problem, slice, cluster, weights).map_err(refused)?),
        };
        let chips = self.chips.number(MAX_CHIPS)?.unwrap_or(1);
        let others = [("in", &self.layouts), ("slice", &self.slice), ("cluster", &self.cluster)];
        if let Some((name, _)) = others.iter().find(|(_, option)| chips > 1 && option.is_given()) {
            return Err(format!(
                "`{prefix}chips` and `{prefix}{name}` exclude each other: layouts are not fixed over several chips; give one of \
                 them"
            )
            .into());
        }
        let parts = problem.over_chips(chips).map_err(refused)?;
        Ok(Task { problem, weights, fixed, chips, parts })
    }

    /// The chain of contractions `text`.
    pub fn chain(&self, text: &str) -> Result<Chain, Refusal> {
        let others = [
            ("einsum", &self.einsum),
            ("acc", &self.acc),
            ("role", &self.role),
            ("epilogue", &self.epilogue),
            ("windows", &self.windows),
            ("in", &self.layouts),
            ("slice", &self.slice),
            ("cluster", &self.cluster),
            ("chips", &self.chips),
        ];
        for (name, option) in others {
            if option.is_given() {
                return Err(format!("`--chain` and `--{name}` exclude each other; give one of them").into());
            }
        }
        let sizes = self.axes.text()?.ok_or_else(|| {
            Refusal("`--axes` is missing; write for example --axes M=128,K=1024,F=4096,N=1024".to_string())
        })?;
        let element = self.dtype.element_type(true)?.unwrap_or(ElementType::Bf16);
        Chain::new(text, sizes, element, self.out.element_type(true)?)
            .map_err(|error| Refusal(format!("--{}", printable(&error.to_string()))))
    }

    /// The operand in the register file: `w=trf`, or `x=stream`, which means the same.
    fn weights(&self) -> Result<Option<usize>, Refusal> {
        let Some(text) = self.role.text()? else { return Ok(None) };
        let found = match text.split_once('=') {
            Some(("x", "trf") | ("w", "stream")) => Some(0),
            Some(("w", "trf") | ("x", "stream")) => Some(1),
            _ => None,
        };
        let (prefix, given) = (self.prefix, shown(OsStr::new(text)));
        found.map(Some).ok_or_else(|| {
            Refusal(format!(
                "{prefix}role: `{given}` is no role; the operands are `x` and `w`: write `w=trf`, `x=trf`, `w=stream` or \
                 `x=stream`"
            ))
        })
    }
}

/// A time: `60s`, `500ms` or `2m`.
pub fn duration(time: &Once) -> Result<Option<Duration>, Refusal> {
    let Some(text) = time.text()? else { return Ok(None) };
    let units = [("ms", 1), ("s", 1000), ("m", 60_000)];
    let found = units.iter().find_map(|(unit, millis)| {
        let number: u64 = text.trim().strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*millis).map(Duration::from_millis)
    });
    let given = shown(OsStr::new(text));
    found
        .map(Some)
        .ok_or_else(|| Refusal(format!("--time: `{given}` is no time; write for example 60s, 500ms or 2m")))
}
