//! What is asked of a search: by options of the command line, or by a line of a file of problems.

use super::super::Refusal;
use super::super::arguments::{Once, shown};
use super::super::table::printable;
use super::OPERANDS;
use core::time::Duration;
use furiosa_visa_plan::Problem;
use furiosa_visa_plan::chain::Chain;
use furiosa_visa_rules::scalar::ElementType;
use std::ffi::OsStr;

/// A contraction to plan.
#[derive(Debug)]
pub struct Task {
    pub problem: Problem,
    /// The operand in the register file, if it is fixed.
    pub weights: Option<usize>,
}

/// The options that say what to plan.
#[derive(Debug)]
pub struct Asked {
    /// What stands before a name in messages: `--`, or nothing in a file.
    prefix: &'static str,
    einsum: Once,
    axes: Once,
    dtype: Once,
    acc: Once,
    out: Once,
    role: Once,
    epilogue: Once,
    windows: Once,
}

impl Asked {
    /// Names of all options.
    pub const NAMES: [&str; 8] = ["einsum", "axes", "dtype", "acc", "out", "role", "epilogue", "windows"];

    /// Options of the command line.
    pub fn by_arguments() -> Self {
        let [einsum, axes, dtype, acc, out, role, epilogue, windows] =
            ["--einsum", "--axes", "--dtype", "--acc", "--out", "--role", "--epilogue", "--windows"]
                .map(Once::new);
        Self { prefix: "--", einsum, axes, dtype, acc, out, role, epilogue, windows }
    }

    /// Keys of an object.
    pub fn by_keys() -> Self {
        let [einsum, axes, dtype, acc, out, role, epilogue, windows] = Self::NAMES.map(Once::new);
        Self { prefix: "", einsum, axes, dtype, acc, out, role, epilogue, windows }
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
        let (out, windows) = (self.out.element_type(true)?, self.windows.text()?.unwrap_or_default());
        let problem = Problem::with_windows(einsum, windows, sizes, element, out, steps)
            .map_err(|error| Refusal(format!("{prefix}{}", printable(&error.to_string()))))?;
        if let Some(acc) = self.acc.element_type(true)?
            && acc != problem.sum()
        {
            let sum = problem.sum();
            return Err(format!("{prefix}acc: sums of {element} are {sum}, not {acc}; leave it out").into());
        }
        let weights = self.weights()?;
        if let Some(operand) = weights
            && problem.windowed() == Some(operand)
        {
            let name = OPERANDS[operand];
            return Err(Refusal(format!(
                "{prefix}role: `{name}` is read in windows, so that it is streamed; write `{name}=stream`, or leave it out"
            )));
        }
        Ok(Task { weights, problem })
    }

    /// The chain of contractions `text`.
    pub fn chain(&self, text: &str) -> Result<Chain, Refusal> {
        let others = [
            ("einsum", &self.einsum),
            ("acc", &self.acc),
            ("role", &self.role),
            ("epilogue", &self.epilogue),
            ("windows", &self.windows),
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
