//! The test of a kernel: its values beside those of the host, and its cycles.

use super::host;
use crate::epilogue::{GELU_FACTOR, Step};
use crate::problem::{Problem, Role};
use crate::search::Plan;
use core::fmt::Write as _;
use furiosa_visa_rules::scalar::ElementType;

/// Products up to which the test compares every element of the result.
const CHECKED_PRODUCTS: u64 = 1 << 24;

/// The value behind a step of an epilogue, from the `value` before it, in a test with a function `sigmoid`.
pub(crate) fn next_value(problem: &Problem, step: &Step, is_integer: bool) -> String {
    match step {
        Step::Bias(axis) => {
            let own = format!("bias[{}]", host::variable(problem, *axis));
            if is_integer { format!("value.wrapping_add({own})") } else { format!("value + {own} as f32") }
        }
        Step::Relu if is_integer => "value.max(0)".to_string(),
        Step::Relu => "value.max(0.0)".to_string(),
        Step::Scale(factor) => format!("value * {factor:?}"),
        Step::Silu => "value * sigmoid(value)".to_string(),
        Step::Gelu => format!("value * sigmoid({GELU_FACTOR:?} * value)"),
        Step::Sigmoid => "sigmoid(value)".to_string(),
        Step::Tanh => "f64::from(value).tanh() as f32".to_string(),
        Step::Exp => "f64::from(value).exp() as f32".to_string(),
    }
}

/// The function `sigmoid` of a test.
pub(crate) const SIGMOID: &str = "let sigmoid = |x: f32| (1.0 / (1.0 + (-f64::from(x)).exp())) as f32;";

/// Tells if a step needs the function `sigmoid`.
pub(crate) fn needs_sigmoid(step: &Step) -> bool {
    matches!(step, Step::Silu | Step::Gelu | Step::Sigmoid)
}

impl Plan {
    /// Compares an element `y` of the result with what follows from the `sum` of the host.
    fn compared(&self, out: &mut String) -> core::fmt::Result {
        let problem = &self.problem;
        let mut is_integer = problem.sum() == ElementType::I32;
        if problem.epilogue.is_empty() {
            writeln!(out, "        let value = sum{};", if is_integer { "" } else { " as f32" })?;
        } else {
            writeln!(out, "        let mut value = sum{};", if is_integer { "" } else { " as f32" })?;
        }
        if problem.epilogue.iter().any(needs_sigmoid) {
            writeln!(out, "        {SIGMOID}")?;
        }
        for step in &problem.epilogue {
            if is_integer && !step.takes_integers() {
                writeln!(out, "        let mut value = value as f32;")?;
                is_integer = false;
            }
            let next = next_value(problem, step, is_integer);
            writeln!(out, "        value = {next};")?;
        }
        let output = problem.output;
        let as_float = if is_integer { " as f32" } else { "" };
        let rounded = if is_integer { "" } else { ".round()" };
        let expected = match output {
            ElementType::F32 => format!("value{as_float}"),
            ElementType::I32 if is_integer => "value".to_string(),
            ElementType::I32 => "value.round() as i32".to_string(),
            ElementType::I16 | ElementType::I8 => {
                let most = (1 << (output.bits() - 1)) - 1;
                let point = if is_integer { "" } else { ".0" };
                format!("value{rounded}.clamp(-{}{point}, {most}{point}) as {output}", most + 1)
            }
            _ if is_integer => format!("{output}::from_f32(value as f32)"),
            _ => format!("{output}::from_f32(value)"),
        };
        if !problem.is_rounded() {
            return writeln!(out, "        assert_eq!(*y, {expected}, \"element {{place}}\");");
        }
        // Part of a number by which neighbours of the type differ at most, and the least difference.
        let (part, least) = match output {
            ElementType::F32 => ("1e-5", "1e-4"),
            ElementType::Bf16 | ElementType::F16 => ("0.01", "1e-4"),
            ElementType::F8e4m3 | ElementType::F8e5m2 => ("0.25", "0.002"),
            _ => ("1e-5", "1.0"),
        };
        let number = |of: &str| match output {
            ElementType::F32 | ElementType::I32 | ElementType::I16 | ElementType::I8 => {
                format!("f64::from({of})")
            }
            _ => format!("f64::from({of}.to_f32())"),
        };
        writeln!(out, "        // Chips round functions in their own ways.")?;
        writeln!(out, "        let expected = {expected};")?;
        writeln!(
            out,
            "        let (found, expected) = ({}, {});",
            number(if output.bits() == 32 || !output.is_float() { "*y" } else { "y" }),
            number("expected")
        )?;
        writeln!(
            out,
            "        let is_near = (found - expected).abs() <= {part} * expected.abs() + {least};"
        )?;
        writeln!(
            out,
            "        assert!(found == expected || is_near, \"element {{place}}: {{found}}, but not {{expected}}\");"
        )
    }

    pub(super) fn test(&self, out: &mut String) -> core::fmt::Result {
        let problem = &self.problem.whole();
        let [x, w, y] = [0, 1, 2].map(|tensor| format!("m![{}]", self.problem.letters(tensor)));
        let element = problem.element;
        let is_integer = problem.sum() == ElementType::I32;
        // Small whole numbers: sums of floats are exact in any order.
        let (low, high) = match element {
            ElementType::I8 => (-128, 127),
            ElementType::I4 => (-8, 7),
            _ => (-2, 2),
        };
        let made = match element {
            ElementType::I8 => "value as i8".to_string(),
            ElementType::I4 => "i4::from_i32(value)".to_string(),
            _ => format!("{element}::from_f32(value as f32)"),
        };
        let sum = if is_integer { "sum.wrapping_add(a.wrapping_mul(b))" } else { "sum + a * b" };
        writeln!(out, "/// Numbers from {low} to {high}, which look random.")?;
        let value = format!("(state >> 33) as i32 % {} - {}", high - low + 1, -low);
        host::numbers(out, "numbers(count: usize, seed: u64)", "i32", &value)?;
        writeln!(out, "#[test]\nfn values_and_cycles() {{")?;
        writeln!(
            out,
            "    let (x, w) = (numbers({}, 1), numbers({}, 2));",
            problem.elements(0),
            problem.elements(1)
        )?;
        if let Some(axis) = problem.bias_axis() {
            writeln!(out, "    let bias = numbers({}, 3);", problem.axes[axis].size)?;
        }
        writeln!(
            out,
            "    let made = |values: &[i32]| -> Vec<{element}> {{ values.iter().map(|&value| {made}).collect() }};"
        )?;
        writeln!(out, "    let (y, cycles) = pollster::block_on(async {{")?;
        writeln!(
            out,
            "        let mut ctx = Context::with(SimOptions {{ chips: Some({}), ..SimOptions::default() }});",
            self.problem.number_of_chips()
        )?;
        let [at_x, at_w, at_y] = self.schedule.hbm;
        writeln!(
            out,
            "        let dx: HbmX = HostTensor::<{element}, {x}>::from_slice(&made(&x)).to_hbm(&mut ctx.pdma, {at_x}).await;"
        )?;
        writeln!(
            out,
            "        let dw: HbmW = HostTensor::<{element}, {w}>::from_slice(&made(&w)).to_hbm(&mut ctx.pdma, {at_w}).await;"
        )?;
        writeln!(
            out,
            "        let mut dy: HbmY = HostTensor::<{}, {y}>::zero().to_hbm(&mut ctx.pdma, {at_y}).await;",
            problem.output
        )?;
        let bias = match (problem.bias_axis(), problem.bias_element(), self.schedule.bias) {
            (Some(axis), Some(element), Some(place)) => {
                let as_float = if element == ElementType::F32 { " as f32" } else { "" };
                writeln!(
                    out,
                    "        let values: Vec<{element}> = bias.iter().map(|&value| value{as_float}).collect();"
                )?;
                writeln!(
                    out,
                    "        let db: HbmBias = HostTensor::<{element}, m![{}]>::from_slice(&values).to_hbm(&mut ctx.pdma, {}).await;",
                    self.problem.over_all_chips(2, axis),
                    place.hbm
                )?;
                "&db, "
            }
            _ => "",
        };
        writeln!(out, "        launch(contraction, (&mut ctx, &dx, &dw, {bias}&mut dy)).await;")?;
        writeln!(out, "        let y = dy.to_host::<{y}>(&mut ctx.pdma).await;")?;
        writeln!(out, "        (y.to_vec(), ctx.report().kernels[0].makespan())")?;
        writeln!(out, "    }});")?;

        let summed = problem.axes.iter().filter(|axis| axis.role == Role::Summed);
        let per_element: u64 = summed.map(|axis| axis.size as u64).product();
        let elements = problem.elements(2) as u64;
        let checked = (CHECKED_PRODUCTS / per_element.max(1)).max(1);
        if elements <= checked {
            writeln!(out, "    for (place, y) in y.iter().enumerate() {{")?;
        } else {
            // A step that shares no factor with the sizes goes through all coordinates of each axis.
            let stride = (elements / checked).max(1) | 1;
            writeln!(out, "    // Every {stride}th element: all of them take long on the host.")?;
            writeln!(out, "    for (place, y) in y.iter().enumerate().step_by({stride}) {{")?;
        }
        host::coordinates(out, "        ", problem)?;
        let (zero, one) = if is_integer { ("0i32", "i32") } else { ("0.0f64", "f64") };
        writeln!(out, "        let mut sum = {zero};")?;
        let factor = |name: &str, operand: usize| {
            let own = format!("{name}[{}]", host::place(problem, operand));
            if is_integer { own } else { format!("{one}::from({own})") }
        };
        let lines =
            [format!("let (a, b) = ({}, {});", factor("x", 0), factor("w", 1)), format!("sum = {sum};")];
        host::over_sum(out, "        ", problem, &lines)?;
        self.compared(out)?;
        writeln!(out, "    }}")?;
        writeln!(out, "    assert_eq!(cycles, {});", self.cycles)?;
        writeln!(out, "}}")
    }
}
