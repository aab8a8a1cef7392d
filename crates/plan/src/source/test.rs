//! The test of a kernel: its values beside those of the host, and its cycles.

use crate::problem::Role;
use crate::search::Plan;
use core::fmt::Write as _;
use furiosa_visa_rules::scalar::ElementType;

/// Products up to which the test compares every element of the result.
const CHECKED_PRODUCTS: u64 = 1 << 24;

impl Plan {
    pub(super) fn test(&self, out: &mut String) -> core::fmt::Result {
        let problem = &self.problem;
        let [x, w, y] = [0, 1, 2].map(|tensor| &self.layout.stored[tensor].element);
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
        let expected = match problem.output {
            ElementType::I32 => "sum",
            ElementType::Bf16 => "bf16::from_f32(sum as f32)",
            _ => "sum as f32",
        };
        let sum = if is_integer { "sum.wrapping_add(a.wrapping_mul(b))" } else { "sum + a * b" };
        writeln!(out, "/// Numbers from {low} to {high}, which look random.")?;
        writeln!(out, "fn numbers(count: usize, seed: u64) -> Vec<i32> {{")?;
        writeln!(out, "    let mut state = seed;")?;
        writeln!(out, "    let next = |_| {{")?;
        writeln!(
            out,
            "        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);"
        )?;
        writeln!(out, "        (state >> 33) as i32 % {} - {}", high - low + 1, -low)?;
        writeln!(out, "    }};")?;
        writeln!(out, "    (0..count).map(next).collect()\n}}\n")?;
        writeln!(out, "#[test]\nfn values_and_cycles() {{")?;
        writeln!(
            out,
            "    let (x, w) = (numbers({}, 1), numbers({}, 2));",
            problem.elements(0),
            problem.elements(1)
        )?;
        writeln!(
            out,
            "    let made = |values: &[i32]| -> Vec<{element}> {{ values.iter().map(|&value| {made}).collect() }};"
        )?;
        writeln!(out, "    let (y, cycles) = pollster::block_on(async {{")?;
        writeln!(
            out,
            "        let mut ctx = Context::with(SimOptions {{ chips: Some(1), ..SimOptions::default() }});"
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
        writeln!(out, "        launch(contraction, (&mut ctx, &dx, &dw, &mut dy)).await;")?;
        writeln!(out, "        let y = dy.to_host::<{y}>(&mut ctx.pdma).await;")?;
        writeln!(out, "        (y.to_vec(), ctx.report().kernels[0].makespan())")?;
        writeln!(out, "    }});")?;

        // Coordinates of an element of the result, and the places of the factors.
        let free: Vec<usize> = problem.tensors[2].clone();
        let summed: Vec<usize> =
            (0..problem.axes.len()).filter(|&axis| problem.axes[axis].role == Role::Summed).collect();
        let lower = |axis: usize| problem.axes[axis].name.to_lowercase();
        let place = |tensor: usize| {
            let mut text = String::new();
            for &axis in &problem.tensors[tensor] {
                text = match text.is_empty() {
                    true => lower(axis),
                    false if text.contains(' ') => {
                        format!("({text}) * {} + {}", problem.axes[axis].size, lower(axis))
                    }
                    false => format!("{text} * {} + {}", problem.axes[axis].size, lower(axis)),
                };
            }
            if text.is_empty() { "0".to_string() } else { text }
        };
        let per_element: u64 = summed.iter().map(|&axis| problem.axes[axis].size as u64).product();
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
        let mut inner = 1;
        for &axis in free.iter().rev() {
            let size = problem.axes[axis].size;
            let value = if inner == 1 { "place".to_string() } else { format!("place / {inner}") };
            writeln!(out, "        let {} = {value} % {size};", lower(axis))?;
            inner *= size;
        }
        let (zero, one) = if is_integer { ("0i32", "i32") } else { ("0.0f64", "f64") };
        writeln!(out, "        let mut sum = {zero};")?;
        let mut indent = "        ".to_string();
        for &axis in &summed {
            writeln!(out, "{indent}for {} in 0..{} {{", lower(axis), problem.axes[axis].size)?;
            indent.push_str("    ");
        }
        let cast = |text: String| if is_integer { text } else { format!("{one}::from({text})") };
        writeln!(
            out,
            "{indent}let (a, b) = ({}, {});",
            cast(format!("x[{}]", place(0))),
            cast(format!("w[{}]", place(1)))
        )?;
        writeln!(out, "{indent}sum = {sum};")?;
        for _ in &summed {
            indent.truncate(indent.len() - 4);
            writeln!(out, "{indent}}}")?;
        }
        writeln!(out, "        assert_eq!(*y, {expected}, \"element {{place}}\");")?;
        writeln!(out, "    }}")?;
        writeln!(out, "    assert_eq!(cycles, {});", self.cycles)?;
        writeln!(out, "}}")
    }
}
