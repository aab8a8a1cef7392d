//! The test of a kernel for a chain: its values beside those of the host, and its cycles.

use super::{ChainKernel, MODULES};
use crate::problem::Role;
use crate::source::host;
use core::fmt::Write as _;
use furiosa_visa_rules::scalar::ElementType;

/// Products up to which the test compares elements of the result.
const CHECKED_PRODUCTS: u64 = 1 << 25;

/// Whole numbers of the operands of the first contraction, which make sums that are rounded, and of the others. Sums of
/// floats are exact in any order.
const NUMBERS: [i32; 2] = [4, 2];

impl ChainKernel {
    pub(super) fn test(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "/// Numbers from -`most` to `most`, which look random.")?;
        let value = "((state >> 33) as i32 % (2 * most + 1) - most) as f32";
        host::numbers(out, "numbers(count: usize, seed: u64, most: i32)", "f32", value)?;
        writeln!(out, "/// Operands, elements of results that are known, and the products that they took.")?;
        writeln!(out, "struct Host {{")?;
        writeln!(out, "    operands: Vec<Vec<f32>>,")?;
        writeln!(out, "    results: Vec<Vec<Option<f32>>>,")?;
        writeln!(out, "    products: u64,\n}}\n")?;
        for number in 0..self.parts.len() {
            self.on_host(out, number)?;
        }
        self.compared(out)
    }

    /// The function of an element of a contraction on the host.
    fn on_host(&self, out: &mut String, number: usize) -> core::fmt::Result {
        let problem = &self.chain.problems[number];
        writeln!(out, "/// An element of `{}` on the host.", self.result(number))?;
        writeln!(out, "fn {}_on_host(host: &mut Host, place: usize) -> f32 {{", MODULES[number])?;
        writeln!(
            out,
            "    if let Some(known) = host.results[{number}][place] {{\n        return known;\n    }}"
        )?;
        host::coordinates(out, "    ", problem)?;
        writeln!(out, "    let mut sum = 0.0f64;")?;
        let operands = self.operands();
        let factor = |operand: usize| {
            let at = host::place(problem, operand);
            match self.chain.sources[number][operand] {
                Some(source) => format!("{}_on_host(host, {at})", MODULES[source]),
                None => {
                    let own = operands.iter().position(|(part, own, _)| (*part, *own) == (number, operand));
                    format!("host.operands[{}][{at}]", own.unwrap_or(0))
                }
            }
        };
        let lines = [
            format!("let (a, b) = ({}, {});", factor(0), factor(1)),
            "sum += f64::from(a) * f64::from(b);".to_string(),
        ];
        host::over_sum(out, "    ", problem, &lines)?;
        let summed = problem.axes.iter().filter(|axis| axis.role == Role::Summed);
        let products: usize = summed.map(|axis| axis.size).product();
        writeln!(out, "    host.products += {products};")?;
        let value = match problem.output {
            ElementType::Bf16 => "bf16::from_f32(sum as f32).to_f32()",
            _ => "sum as f32",
        };
        writeln!(out, "    let value = {value};")?;
        writeln!(out, "    host.results[{number}][place] = Some(value);\n    value\n}}\n")
    }

    /// The test.
    fn compared(&self, out: &mut String) -> core::fmt::Result {
        let (chain, last) = (&self.chain, self.parts.len() - 1);
        let operands = self.operands();
        let result = &chain.problems[last];
        writeln!(out, "#[test]\nfn values_and_cycles() {{")?;
        writeln!(out, "    let operands = vec![")?;
        for (seed, (number, operand, _)) in operands.iter().enumerate() {
            let (count, most) =
                (chain.problems[*number].elements(*operand), NUMBERS[usize::from(*number > 0)]);
            writeln!(out, "        numbers({count}, {}, {most}),", seed + 1)?;
        }
        writeln!(out, "    ];")?;
        writeln!(
            out,
            "    let made = |values: &[f32]| -> Vec<{0}> {{ values.iter().map(|&value| {0}::from_f32(value)).collect() }};",
            result.element
        )?;
        writeln!(out, "    let (y, cycles) = pollster::block_on(async {{")?;
        writeln!(
            out,
            "        let mut ctx = Context::with(SimOptions {{ chips: Some(1), ..SimOptions::default() }});"
        )?;
        for (index, (number, operand, name)) in operands.iter().enumerate() {
            let plan = &self.placed[*number];
            let (element, mapping) = (plan.problem.element, &plan.layout.stored[*operand].element);
            writeln!(
                out,
                "        let d{name} = HostTensor::<{element}, {mapping}>::from_slice(&made(&operands[{index}]));"
            )?;
            writeln!(
                out,
                "        let d{name}: {}::Hbm{} = d{name}.to_hbm(&mut ctx.pdma, {}).await;",
                MODULES[*number],
                if *operand == 0 { "X" } else { "W" },
                plan.schedule.hbm[*operand]
            )?;
        }
        let plan = &self.placed[last];
        let (mapping, address) = (&plan.layout.stored[2].element, plan.schedule.hbm[2]);
        writeln!(
            out,
            "        let mut dy: {}::HbmY = HostTensor::<{}, {mapping}>::zero().to_hbm(&mut ctx.pdma, {address}).await;",
            MODULES[last], result.output
        )?;
        let names: Vec<String> = operands.iter().map(|(_, _, name)| format!("&d{name}")).collect();
        writeln!(out, "        launch(chain, (&mut ctx, {}, &mut dy)).await;", names.join(", "))?;
        writeln!(out, "        let y = dy.to_host::<{mapping}>(&mut ctx.pdma).await;")?;
        writeln!(out, "        (y.to_vec(), ctx.report().kernels[0].makespan())")?;
        writeln!(out, "    }});")?;
        let counts: Vec<String> =
            chain.problems.iter().map(|problem| format!("vec![None; {}]", problem.elements(2))).collect();
        writeln!(out, "    let results = vec![{}];", counts.join(", "))?;
        writeln!(out, "    let mut host = Host {{ operands, results, products: 0 }};")?;
        writeln!(
            out,
            "    // As many elements as so many products tell: all of them may take long on the host."
        )?;
        // A step that shares no factor with most sizes goes through all coordinates of each axis.
        let elements = result.elements(2);
        let stride =
            [7919, 7907, 7901].into_iter().find(|prime| !elements.is_multiple_of(*prime)).unwrap_or(1);
        writeln!(out, "    for step in 0..{elements} {{")?;
        writeln!(out, "        if host.products > {CHECKED_PRODUCTS} {{\n            break;\n        }}")?;
        writeln!(out, "        let place = step * {stride} % {elements};")?;
        let value = if result.output == ElementType::Bf16 { "y[place].to_f32()" } else { "y[place]" };
        writeln!(
            out,
            "        assert_eq!({value}, {}_on_host(&mut host, place), \"element {{place}}\");",
            MODULES[last]
        )?;
        writeln!(out, "    }}")?;
        writeln!(out, "    assert_eq!(cycles, {});", self.cycles)?;
        writeln!(out, "}}")
    }
}
