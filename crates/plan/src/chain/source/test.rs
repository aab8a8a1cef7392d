//! The test of a kernel for a chain: its values beside those of the host, and its cycles.

use super::{BIAS, ChainKernel, MODULES, OTHER, hbm_name, in_letters, next_name};
use crate::chain::pair::{Pair, PairOp};
use crate::chain::rows::{RowKind, Rows};
use crate::epilogue::Step;
use crate::problem::{Problem, Role};
use crate::source::host;
use crate::source::test::{SIGMOID, needs_sigmoid, next_value};
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
        let has_rows = self.chain.rows.iter().any(Option::is_some);
        writeln!(out, "/// Operands, elements of results that are known, and the products that they took.")?;
        writeln!(out, "struct Host {{")?;
        writeln!(out, "    operands: Vec<Vec<f32>>,")?;
        writeln!(out, "    results: Vec<Vec<Option<f32>>>,")?;
        if has_rows {
            writeln!(out, "    /// Rows in front of each contraction.\n    rows: Vec<Vec<Option<f32>>>,")?;
        }
        if self.is_sized() {
            writeln!(
                out,
                "    /// What the products of the last element add up to, without their signs.\n    size: f64,"
            )?;
        }
        writeln!(out, "    products: u64,\n}}\n")?;
        for number in 0..=self.parts.len() {
            if let Some(pair) = &self.chain.pairs[number] {
                self.pair_on_host(out, number, pair)?;
            }
            if let Some(rows) = &self.chain.rows[number] {
                self.rows_on_host(out, number, rows)?;
            }
            if number < self.parts.len() {
                self.on_host(out, number)?;
            }
        }
        self.compared(out)
    }

    /// Tells if chip and host have the same bits: sums of results are those of whole numbers, but for a power of two.
    fn is_exact(&self) -> bool {
        let chain = &self.chain;
        let last = chain.problems.len() - 1;
        let is_exact = |(number, problem): (usize, &Problem)| {
            problem.epilogue.iter().all(|step| match step {
                Step::Scale(factor) => number == last || factor.to_bits().trailing_zeros() >= 23,
                step => !step.is_rounded(),
            })
        };
        let has_function = (0..=last + 1).any(|number| chain.has_function(number));
        !has_function && chain.problems.iter().enumerate().all(is_exact)
    }

    /// Tells if differences are measured by the size of products: not behind a function of rows.
    fn is_sized(&self) -> bool {
        !self.is_exact() && self.chain.rows[self.parts.len()].is_none()
    }

    /// The function of the host that makes what a contraction takes of the result of another one.
    fn name_of_taken(&self, source: usize) -> String {
        match &self.chain.rows[source + 1] {
            Some(rows) => self.name_of_rows(source + 1, rows),
            None => self.name_before_rows(source),
        }
    }

    /// The same without a function of rows.
    fn name_before_rows(&self, source: usize) -> String {
        match &self.chain.pairs[source + 1] {
            Some(pair) => {
                format!("{}_for_{}_on_host", pair.name(), next_name(self.parts.len(), source + 1))
            }
            None => format!("{}_on_host", MODULES[source]),
        }
    }

    /// The function of an element of a sum or a product on the host.
    fn pair_on_host(&self, out: &mut String, number: usize, pair: &Pair) -> core::fmt::Result {
        let before = number - 1;
        let other = match pair.source {
            Some(source) => format!("{}(host, place)", self.name_of_taken(source)),
            None => {
                let operands = self.operands();
                let own = operands.iter().position(|(part, own, _)| (*part, *own) == (number, OTHER));
                format!("host.operands[{}][place]", own.unwrap_or(0))
            }
        };
        let op = if pair.op == PairOp::Add { "+" } else { "*" };
        writeln!(out, "/// An element of `{}` behind `{}` on the host.", self.result(before), pair.name())?;
        writeln!(out, "fn {}(host: &mut Host, place: usize) -> f32 {{", self.name_before_rows(before))?;
        writeln!(out, "    let (own, other) = ({}_on_host(host, place), {other});", MODULES[before])?;
        writeln!(out, "    bf16::from_f32(own {op} other).to_f32()\n}}\n")
    }

    fn name_of_rows(&self, number: usize, rows: &Rows) -> String {
        format!("{}_for_{}_on_host", rows.name(), next_name(self.parts.len(), number))
    }

    /// The function of an element of rows on the host.
    fn rows_on_host(&self, out: &mut String, number: usize, rows: &Rows) -> core::fmt::Result {
        let (contraction, tensor) = self.chain.before(number);
        let problem = &self.chain.problems[contraction];
        let behind =
            problem.tensors[tensor].iter().rev().take_while(|axis| problem.axes[**axis].name != rows.axis);
        let stride: usize = behind.map(|axis| problem.axes[*axis].size).product();
        let size = rows.size;
        let letters = self.chain.letters(contraction, tensor);
        writeln!(out, "/// An element of `{letters}` behind `{}` on the host.", rows.text())?;
        writeln!(out, "fn {}(host: &mut Host, place: usize) -> f32 {{", self.name_of_rows(number, rows))?;
        writeln!(
            out,
            "    if let Some(known) = host.rows[{number}][place] {{\n        return known;\n    }}"
        )?;
        writeln!(out, "    let first = place / {0} * {0} + place % {stride};", size * stride)?;
        let value = match number.checked_sub(1) {
            None => "host.operands[0][place]".to_string(),
            Some(before) => format!("{}(host, place)", self.name_before_rows(before)),
        };
        writeln!(out, "    let places = (0..{size}).map(|k| first + k * {stride});")?;
        writeln!(out, "    let row: Vec<f32> = places.clone().map(|place| {value}).collect();")?;
        match rows.kind {
            RowKind::Softmax { scale } => {
                writeln!(out, "    let greatest = row.iter().copied().fold(f32::MIN, f32::max);")?;
                let difference = match scale == 1.0 {
                    true => "x - greatest".to_string(),
                    false => format!("(x - greatest) * {scale:?}"),
                };
                writeln!(out, "    let power = |x: &f32| f64::from({difference}).exp() as f32;")?;
                writeln!(out, "    let made: Vec<f32> = row.iter().map(power).collect();")?;
                writeln!(out, "    let divisor: f32 = made.iter().sum();")?;
            }
            RowKind::RmsNorm { epsilon } | RowKind::LayerNorm { epsilon } => {
                let mean = match rows.kind {
                    RowKind::LayerNorm { .. } => format!("row.iter().sum::<f32>() / {size}.0"),
                    _ => "0.0".to_string(),
                };
                writeln!(out, "    let mean = {mean};")?;
                writeln!(out, "    let made: Vec<f32> = row.iter().map(|x| x - mean).collect();")?;
                writeln!(out, "    let square = made.iter().map(|x| x * x).sum::<f32>() / {size}.0;")?;
                writeln!(out, "    let divisor = (square + {epsilon:?}).sqrt();")?;
            }
        }
        writeln!(out, "    for (place, value) in places.zip(made) {{")?;
        writeln!(
            out,
            "        host.rows[{number}][place] = Some(bf16::from_f32(value / divisor).to_f32());"
        )?;
        writeln!(out, "    }}")?;
        writeln!(out, "    host.rows[{number}][place].expect(\"its row is known\")\n}}\n")
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
            if let (Some(rows), (0, 0)) = (&self.chain.rows[0], (number, operand)) {
                return format!("{}(host, {at})", self.name_of_rows(0, rows));
            }
            match self.chain.sources[number][operand] {
                Some(source) => format!("{}(host, {at})", self.name_of_taken(source)),
                None => {
                    let own = operands.iter().position(|(part, own, _)| (*part, *own) == (number, operand));
                    format!("host.operands[{}][{at}]", own.unwrap_or(0))
                }
            }
        };
        let is_sized = self.is_sized() && number + 1 == self.parts.len();
        let mut lines = vec![
            format!("let (a, b) = ({}, {});", factor(0), factor(1)),
            "sum += f64::from(a) * f64::from(b);".to_string(),
        ];
        if is_sized {
            writeln!(out, "    let mut size = 0.0f64;")?;
            lines.push("size += (f64::from(a) * f64::from(b)).abs();".to_string());
        }
        host::over_sum(out, "    ", problem, &lines)?;
        let summed = problem.axes.iter().filter(|axis| axis.role == Role::Summed);
        let products: usize = summed.map(|axis| axis.size).product();
        writeln!(out, "    host.products += {products};")?;
        let mutable = if problem.epilogue.is_empty() { "" } else { "mut " };
        writeln!(out, "    let {mutable}value = sum as f32;")?;
        if problem.epilogue.iter().any(needs_sigmoid) {
            writeln!(out, "    {SIGMOID}")?;
        }
        if problem.bias_axis().is_some() {
            let own = operands.iter().position(|(part, own, _)| (*part, *own) == (number, BIAS));
            writeln!(out, "    let bias = &host.operands[{}];", own.unwrap_or(0))?;
        }
        for step in &problem.epilogue {
            writeln!(out, "    value = {};", next_value(problem, step, false))?;
            match step {
                Step::Scale(factor) if is_sized => writeln!(out, "    size *= {:?};", factor.abs())?,
                Step::Exp if is_sized => writeln!(out, "    size *= f64::from(value);")?,
                _ => {}
            }
        }
        if is_sized {
            writeln!(out, "    host.size = size;")?;
        }
        let output = problem.output;
        match output {
            ElementType::F32 => {}
            ElementType::I32 => writeln!(out, "    let value = value.round();")?,
            ElementType::I16 | ElementType::I8 => {
                let most = (1 << (output.bits() - 1)) - 1;
                writeln!(out, "    let value = value.round().clamp(-{}.0, {most}.0);", most + 1)?;
            }
            _ => writeln!(out, "    let value = {output}::from_f32(value).to_f32();")?,
        }
        writeln!(out, "    host.results[{number}][place] = Some(value);\n    value\n}}\n")
    }

    /// The test.
    fn compared(&self, out: &mut String) -> core::fmt::Result {
        let (chain, last) = (&self.chain, self.parts.len() - 1);
        let operands = self.operands();
        let result = &chain.problems[last];
        let output = chain.output().unwrap_or(result.output);
        writeln!(out, "#[test]\nfn values_and_cycles() {{")?;
        writeln!(out, "    let operands = vec![")?;
        for (seed, (number, operand, _)) in operands.iter().enumerate() {
            let most = NUMBERS[usize::from(*number > 0)];
            let count = match *operand {
                BIAS => chain.problems[*number]
                    .bias_axis()
                    .map_or(0, |axis| chain.problems[*number].axes[axis].size),
                OTHER => chain.problems[*number - 1].elements(2),
                operand => chain.problems[*number].elements(operand),
            };
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
        let commands = self.commands().ok();
        let mut others = commands.iter().flat_map(|commands| &commands.others);
        for (index, (number, operand, name)) in operands.iter().enumerate() {
            if *operand == OTHER {
                let (element, mapping) = (result.element, in_letters(&self.placed[*number - 1]));
                writeln!(
                    out,
                    "        let d{name} = HostTensor::<{element}, {mapping}>::from_slice(&made(&operands[{index}]));"
                )?;
                let address = others.next().map_or(0, |tensor| tensor.region.address);
                writeln!(
                    out,
                    "        let d{name}: HbmTensor<{element}, m![1], {mapping}> = d{name}.to_hbm(&mut ctx.pdma, {address}).await;"
                )?;
                continue;
            }
            let plan = &self.placed[*number];
            if let (BIAS, Some(bias), Some(place)) = (*operand, &plan.layout.bias, plan.schedule.bias) {
                writeln!(
                    out,
                    "        let d{name} = HostTensor::<f32, {}>::from_slice(&operands[{index}]);",
                    bias.stored
                )?;
                writeln!(
                    out,
                    "        let d{name}: {}::HbmBias = d{name}.to_hbm(&mut ctx.pdma, {}).await;",
                    MODULES[*number], place.hbm
                )?;
                continue;
            }
            let (element, mapping) = (plan.problem.element, &plan.layout.stored[*operand].element);
            writeln!(
                out,
                "        let d{name} = HostTensor::<{element}, {mapping}>::from_slice(&made(&operands[{index}]));"
            )?;
            // The first operand of a function of rows is the first tensor in HBM.
            let (made, address) = match self.passage(*number) {
                Some(passage) if (*number, *operand) == (0, 0) => (passage.from.type_text(element), 0),
                _ => (format!("{}::{}", MODULES[*number], hbm_name(*operand)), plan.schedule.hbm[*operand]),
            };
            writeln!(out, "        let d{name}: {made} = d{name}.to_hbm(&mut ctx.pdma, {address}).await;")?;
        }
        let plan = &self.placed[last];
        let mapping = match self.end {
            Some(_) => in_letters(plan),
            None => plan.layout.stored[2].element.to_string(),
        };
        let address = commands.as_ref().map_or(0, |commands| commands.result.region.address);
        writeln!(
            out,
            "        let mut dy: {} = HostTensor::<{output}, {mapping}>::zero().to_hbm(&mut ctx.pdma, {address}).await;",
            self.result_type()
        )?;
        let names: Vec<String> = operands.iter().map(|(_, _, name)| format!("&d{name}")).collect();
        writeln!(out, "        launch(chain, (&mut ctx, {}, &mut dy)).await;", names.join(", "))?;
        writeln!(out, "        let y = dy.to_host::<{mapping}>(&mut ctx.pdma).await;")?;
        writeln!(out, "        (y.to_vec(), ctx.report().kernels[0].makespan())")?;
        writeln!(out, "    }});")?;
        let counts: Vec<String> =
            chain.problems.iter().map(|problem| format!("vec![None; {}]", problem.elements(2))).collect();
        writeln!(out, "    let results = vec![{}];", counts.join(", "))?;
        let mut fields = vec!["operands", "results"];
        if chain.rows.iter().any(Option::is_some) {
            let count = |number: usize| {
                let (contraction, tensor) = chain.before(number);
                chain.rows[number].as_ref().map_or(0, |_| chain.problems[contraction].elements(tensor))
            };
            let counts: Vec<String> =
                (0..chain.rows.len()).map(|number| format!("vec![None; {}]", count(number))).collect();
            writeln!(out, "    let rows = vec![{}];", counts.join(", "))?;
            fields.push("rows");
        }
        if self.is_sized() {
            fields.push("size: 0.0");
        }
        writeln!(out, "    let mut host = Host {{ {}, products: 0 }};", fields.join(", "))?;
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
        let value = match output {
            ElementType::F32 => "y[place]",
            ElementType::I32 | ElementType::I16 | ElementType::I8 => "y[place] as f32",
            _ => "y[place].to_f32()",
        };
        let expected = format!("{}(&mut host, place)", self.name_of_taken(last));
        if self.is_exact() {
            writeln!(out, "        assert_eq!({value}, {expected}, \"element {{place}}\");")?;
        } else {
            // Part of the sum of all sizes by which results differ at most, and the least difference.
            let (part, least) = match output {
                ElementType::F8e4m3 | ElementType::F8e5m2 => ("0.25", "0.002"),
                output if output.is_float() => ("0.02", "1e-4"),
                _ => ("0.02", "1.0"),
            };
            writeln!(
                out,
                "        // Chips round functions in their own ways, and add what is rounded in their own order."
            )?;
            writeln!(out, "        let (found, expected) = (f64::from({value}), f64::from({expected}));")?;
            match chain.rows[last + 1] {
                // Numbers of rows are about one, or parts of one.
                Some(_) => writeln!(out, "        let bound = {part} * (1.0 + expected.abs());")?,
                None => {
                    writeln!(out, "        let bound = {part} * (host.size + expected.abs()) + {least};")?
                }
            }
            // An exponential may be beyond all numbers, and what follows it no number.
            let has_exp = self.chain.problems.iter().any(|problem| problem.epilogue.contains(&Step::Exp));
            let beyond = if has_exp { "!expected.is_finite() || " } else { "" };
            writeln!(out, "        let is_near = {beyond}(found - expected).abs() <= bound;")?;
            writeln!(
                out,
                "        assert!(is_near, \"element {{place}}: {{found}}, but not {{expected}}\");"
            )?;
        }
        writeln!(out, "    }}")?;
        writeln!(out, "    assert_eq!(cycles, {});", self.cycles)?;
        writeln!(out, "}}")
    }
}
