//! Pieces of tests that compute on the host.

use super::NAMES;
use crate::problem::{Problem, Role};
use core::fmt::Write as _;

/// An axis as a variable, which has another name than the tensors.
pub(crate) fn variable(problem: &Problem, axis: usize) -> String {
    let name = problem.axes[axis].name.to_lowercase();
    if NAMES.contains(&name.as_str()) { format!("at_{name}") } else { name }
}

/// The place of an element in a tensor, from the variables of its axes.
pub(crate) fn place(problem: &Problem, tensor: usize) -> String {
    let mut text = String::new();
    for &axis in &problem.tensors[tensor] {
        let size = problem.positions(tensor, axis).1;
        let name = match problem.window(tensor, axis) {
            Some(window) => {
                let [output, tap] = [axis, window.tap].map(|axis| variable(problem, axis));
                let times = if window.stride == 1 { String::new() } else { format!(" * {}", window.stride) };
                // The outermost axis needs no brackets.
                if text.is_empty() {
                    format!("{output}{times} + {tap}")
                } else {
                    format!("({output}{times} + {tap})")
                }
            }
            None => variable(problem, axis),
        };
        text = match text.is_empty() {
            true => name,
            false if text.contains(' ') => format!("({text}) * {size} + {name}"),
            false => format!("{text} * {size} + {name}"),
        };
    }
    if text.is_empty() { "0".to_string() } else { text }
}

/// The variables of the axes of the result, from the `place` of an element.
pub(crate) fn coordinates(out: &mut String, indent: &str, problem: &Problem) -> core::fmt::Result {
    let mut inner = 1;
    for &axis in problem.tensors[2].iter().rev() {
        let size = problem.axes[axis].size;
        let value = if inner == 1 { "place".to_string() } else { format!("place / {inner}") };
        writeln!(out, "{indent}let {} = {value} % {size};", variable(problem, axis))?;
        inner *= size;
    }
    Ok(())
}

/// Loops over all summed axes around some lines.
pub(crate) fn over_sum(
    out: &mut String,
    indent: &str,
    problem: &Problem,
    lines: &[String],
) -> core::fmt::Result {
    let summed = (0..problem.axes.len()).filter(|&axis| problem.axes[axis].role == Role::Summed);
    let mut indents = vec![indent.to_string()];
    for axis in summed {
        let own = &indents[indents.len() - 1];
        writeln!(out, "{own}for {} in 0..{} {{", variable(problem, axis), problem.axes[axis].size)?;
        indents.push(format!("{own}    "));
    }
    let inside = indents.pop().unwrap_or_default();
    for line in lines {
        writeln!(out, "{inside}{line}")?;
    }
    for own in indents.iter().rev() {
        writeln!(out, "{own}}}")?;
    }
    Ok(())
}

/// The function that makes numbers of a type: `signature` has its name and arguments, `value` is a number from the bits of
/// `state`.
pub(crate) fn numbers(out: &mut String, signature: &str, made: &str, value: &str) -> core::fmt::Result {
    writeln!(out, "fn {signature} -> Vec<{made}> {{")?;
    writeln!(out, "    let mut state = seed;")?;
    writeln!(out, "    let next = |_| {{")?;
    writeln!(
        out,
        "        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);"
    )?;
    writeln!(out, "        {value}")?;
    writeln!(out, "    }};")?;
    writeln!(out, "    (0..count).map(next).collect()\n}}\n")
}
