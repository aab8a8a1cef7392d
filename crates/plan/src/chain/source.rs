//! A chain as source: a whole test of a crate, with a module for each contraction, the kernel, a check on the host, and the
//! cycles.

mod test;

use super::boundary::{Move, Passage};
use super::kernel::ChainKernel;
use super::pair::{Pair, TURN};
use super::rows::Rows;
use super::rows::passes::MADE;
use crate::problem::Problem;
use crate::route::steps::calls;
use crate::search::Plan;
use crate::source::NAMES;
use core::fmt::Write as _;

/// Names of the contractions, and of their modules.
const MODULES: [&str; super::MOST] =
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];

/// Names of the tensors of a way, with one step and with two.
const STEPS: [&str; 3] = ["x", "between", "y"];

/// The number of a bias among the operands of a contraction.
pub(super) const BIAS: usize = 2;

/// The number of the other tensor of a sum or a product in front of a contraction.
pub(super) const OTHER: usize = 3;

/// The mapping of the result of a plan in HBM.
pub(super) fn in_letters(plan: &Plan) -> String {
    let names: Vec<&str> =
        plan.problem.tensors[2].iter().map(|&axis| plan.problem.axes[axis].name.as_str()).collect();
    if names.is_empty() { "m![1]".to_string() } else { format!("m![{}]", names.join(", ")) }
}

/// The type of a tensor of a contraction in HBM.
fn hbm_name(operand: usize) -> String {
    match operand {
        BIAS => "HbmBias".to_string(),
        operand => format!("Hbm{}", NAMES[operand].to_uppercase()),
    }
}

impl ChainKernel {
    /// The file: a kernel in the surface of `furiosa-visa-std`, and a test of its values and cycles. It needs `pollster`.
    pub fn source(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> core::fmt::Result {
        self.head(out)?;
        for number in 0..self.parts.len() {
            self.module(out, number)?;
        }
        for number in 0..=self.parts.len() {
            match self.passage(number) {
                Some(passage) if !passage.steps.is_empty() => self.way(out, number, passage)?,
                _ => {}
            }
        }
        self.device(out)?;
        self.test(out)
    }

    /// The letters of the result of a contraction.
    pub(super) fn result(&self, number: usize) -> String {
        self.chain.letters(number, 2)
    }

    fn head(&self, out: &mut String) -> core::fmt::Result {
        let chain = &self.chain;
        let element = chain.problems.first().map_or("", |problem: &Problem| problem.element.name());
        writeln!(
            out,
            "//! `{}` of {element} with {}, in {} cycles.",
            chain.text(),
            chain.axes_text(),
            self.cycles
        )?;
        writeln!(out, "//!")?;
        writeln!(out, "//! Made by `visa plan --chain`. Results between contractions:")?;
        writeln!(out, "//!")?;
        for line in self.boundaries() {
            writeln!(out, "//! * {line}")?;
        }
        writeln!(out)?;
        writeln!(out, "use furiosa_visa_std::prelude::*;\n")?;
        let turn =
            if chain.pairs.iter().any(Option::is_some) { format!(", {TURN} = 2") } else { String::new() };
        writeln!(out, "axes![{}{turn}];\n", chain.axes_text())
    }

    /// Ways of each result but the last one, a sentence each, of an operand that a function of rows takes, and of the last result, if
    /// something is behind it.
    pub fn boundaries(&self) -> Vec<String> {
        let count = self.parts.len() + usize::from(self.end.is_some());
        (0..count).filter_map(|number| self.boundary(number)).collect()
    }

    /// Passage in front of a contraction. `None`: its operands are in HBM from the start.
    fn boundary(&self, number: usize) -> Option<String> {
        let (passage, has_function) = (self.passage(number), self.chain.has_function(number));
        if number == 0 && !has_function {
            return None;
        }
        let (contraction, tensor) = self.chain.before(number);
        let result = self.chain.letters(contraction, tensor);
        let place = |in_dm: bool| if in_dm { "DM" } else { "HBM" };
        Some(match passage {
            None => format!("`{result}` goes through HBM"),
            Some(passage) if passage.steps.is_empty() => {
                format!("`{result}` stays in DM, in the layout in which the next contraction reads it")
            }
            Some(passage) if has_function => format!(
                "`{result}` goes from {} to {} by {}: {} cycles as a kernel of its own",
                place(passage.starts_in_dm()),
                place(passage.arrives_in_dm()),
                passage.name,
                passage.cycles
            ),
            Some(Passage { name, cycles, .. }) => format!(
                "`{result}` stays in DM, and comes to the layout of the next contraction by {name}: {cycles} cycles as a kernel \
                 of its own"
            ),
        })
    }

    /// The module of a contraction: its types, and its functions.
    fn module(&self, out: &mut String, number: usize) -> core::fmt::Result {
        let plan: &Plan = &self.placed[number];
        let mut text = String::new();
        plan.types(&mut text)?;
        plan.moves(&mut text)?;
        plan.bias(&mut text)?;
        plan.passes(&mut text)?;
        if plan.schedule.is_resident {
            plan.resident(&mut text)?
        } else {
            plan.streamed(&mut text)?
        }
        let text = text.replace("#[device(chip = 1)]\nfn contraction(", "pub fn contraction(");
        let stays = self.parts[number].passage.as_ref().is_some_and(|passage| passage.steps.is_empty());
        let is_stream = plan.schedule.kept.operand == Some(plan.choice.stream());
        let kept = if is_stream { "type Stream = " } else { "type Block = " };
        writeln!(
            out,
            "/// `{}`, from {} to {}.",
            plan.problem.einsum,
            self.ends(number)[0],
            self.ends(number)[1]
        )?;
        writeln!(out, "mod {} {{\n    use super::*;\n", MODULES[number])?;
        for line in text.trim_end().lines() {
            match line {
                "" => writeln!(out)?,
                _ if stays && line.starts_with(kept) => {
                    writeln!(out, "    pub {kept}super::{}::Kept;", MODULES[number - 1])?;
                }
                _ if line.starts_with("type ") => writeln!(out, "    pub {line}")?,
                _ => writeln!(out, "    {line}")?,
            }
        }
        writeln!(out, "}}\n")
    }

    /// Where the operand that is a result comes from, and where the result of a contraction goes.
    fn ends(&self, number: usize) -> [&'static str; 2] {
        let kept = self.placed[number].schedule.kept;
        let name = |in_dm: bool| if in_dm { "DM" } else { "HBM" };
        [name(kept.operand.is_some()), name(kept.result)]
    }

    /// The type of the operand that arrives in DM.
    fn arriving_type(&self, number: usize) -> String {
        let plan = &self.placed[number];
        let is_stream = plan.schedule.kept.operand == Some(plan.choice.stream());
        format!("{}::{}", MODULES[number], if is_stream { "Stream" } else { "Block" })
    }

    /// The name of the function of a passage.
    fn way_name(&self, number: usize) -> String {
        let to = next_name(self.parts.len(), number);
        let own = [
            self.chain.pairs[number].as_ref().map(Pair::name),
            self.chain.rows[number].as_ref().map(Rows::name),
        ];
        let functions: Vec<&str> = own.into_iter().flatten().collect();
        match (functions.is_empty(), number.checked_sub(1)) {
            (true, before) => format!("{}_to_{to}", MODULES[before.unwrap_or(0)]),
            (false, None) => format!("{}_to_{to}", functions.join("_")),
            (false, Some(before)) => format!("{}_{}_{to}", MODULES[before], functions.join("_")),
        }
    }

    /// The types of a passage: of what it takes and of what it makes.
    fn way_types(&self, number: usize, passage: &Passage) -> [String; 2] {
        let (contraction, tensor) = self.chain.before(number);
        let of_hbm = |element| passage.from.type_text(element);
        let from = match number.checked_sub(1) {
            None => format!("&{}", of_hbm(self.chain.problems[contraction].element_of(tensor))),
            Some(before) if passage.starts_in_dm() => format!("{}::Kept", MODULES[before]),
            Some(before) => format!("{}::HbmY", MODULES[before]),
        };
        let to = match passage.arrives_in_dm() && number < self.parts.len() {
            true => self.arriving_type(number),
            false => passage.to.type_text(MADE),
        };
        [from, to]
    }

    /// The type of the other tensor of a sum or a product.
    fn other_type(&self, number: usize) -> String {
        let plan = &self.placed[number - 1];
        format!("HbmTensor<{MADE}, m![1], {}>", in_letters(plan))
    }

    /// The function that brings a result to the layout of an operand.
    fn way(&self, out: &mut String, number: usize, passage: &Passage) -> core::fmt::Result {
        let (contraction, tensor) = self.chain.before(number);
        let mut element = self.chain.problems[contraction].element_of(tensor);
        let [from, to] = self.way_types(number, passage);
        let is_end = number == self.parts.len();
        let result = self.chain.letters(contraction, tensor);
        match self.chain.has_function(number) {
            true => {
                let goal = match is_end {
                    true => "behind the last contraction".to_string(),
                    false => format!("for the {} contraction", MODULES[number]),
                };
                let function = self.chain.function(number);
                writeln!(out, "/// `{function}` of `{result}`, {goal}: {}.", passage.name)?;
            }
            false => writeln!(
                out,
                "/// Brings `{result}` to the layout in which the {} contraction reads it: {}.",
                MODULES[number], passage.name
            )?,
        }
        let other = match &self.chain.pairs[number] {
            Some(_) => format!(", other: &{}", self.other_type(number)),
            None => String::new(),
        };
        let name = self.way_name(number);
        match is_end {
            true => writeln!(out, "fn {name}(ctx: &mut Context, x: {from}{other}, y: &mut {to}) {{")?,
            false => writeln!(out, "fn {name}(ctx: &mut Context, x: {from}{other}) -> {to} {{")?,
        }
        let mut source_type = from;
        let last = passage.steps.len() - 1;
        let mut source = STEPS[0];
        for (step, (own, place)) in passage.steps.iter().enumerate() {
            let is_rows =
                |step: usize| matches!(passage.steps.get(step), Some((Move::Rows(_) | Move::Pair(_), _)));
            let name = match step {
                _ if step == last => STEPS[2],
                _ if is_rows(step) => "made",
                _ if is_rows(step + 1) => "rows",
                _ => STEPS[1],
            };
            if is_end && step == last {
                writeln!(out, "    {source}.view().to_hbm_view(&mut ctx.tdma, y.view_mut());\n}}\n")?;
                return Ok(());
            }
            let mut text = match own {
                Move::Step(own) => calls(own, element, place, [source, name]),
                Move::Rows(own) => {
                    element = MADE;
                    own.text([source, name, &place.type_text(MADE)])
                }
                Move::Pair(own) => {
                    let mut text = String::new();
                    for (number, (step, place)) in own.way.iter().enumerate() {
                        let Move::Step(step) = step else { continue };
                        let brought = calls(step, MADE, place, ["other", "other"]);
                        // Both have the same type, as the kernel names it.
                        let (long, own_type) = (place.type_text(MADE), source_type.as_str());
                        let turbofish = [&long, own_type].map(|name| name.replacen('<', "::<", 1));
                        text += &match number + 1 == own.way.len() {
                            true => brought.replace(&turbofish[0], &turbofish[1]).replace(&long, own_type),
                            false => brought,
                        };
                    }
                    element = MADE;
                    text + &own.text([source, "other", name, &place.type_text(MADE)])
                }
            };
            if step == last && passage.arrives_in_dm() {
                let long = place.type_text(element);
                text = text.replace(&long.replacen('<', "::<", 1), &to).replace(&long, &to);
            }
            for line in text.lines() {
                writeln!(out, "    {line}")?;
            }
            source = name;
            source_type = place.type_text(element);
        }
        writeln!(out, "    y\n}}\n")
    }

    /// The operands, biases and other tensors of sums and products that are in HBM before the kernel: the contraction, the operand,
    /// [`BIAS`] or [`OTHER`], and its name.
    pub(super) fn operands(&self) -> Vec<(usize, usize, String)> {
        let mut found = Vec::new();
        let has_other =
            |number: usize| self.chain.pairs[number].as_ref().is_some_and(|pair| pair.source.is_none());
        for (number, sources) in self.chain.sources.iter().enumerate() {
            if has_other(number) {
                found.push((number, OTHER, format!("r{number}")));
            }
            for operand in (0..2).filter(|&operand| sources[operand].is_none()) {
                found.push((number, operand, format!("{}{}", NAMES[operand], number + 1)));
            }
            if self.placed[number].layout.bias.is_some() {
                found.push((number, BIAS, format!("b{}", number + 1)));
            }
        }
        let last = self.parts.len();
        if has_other(last) {
            found.push((last, OTHER, format!("r{last}")));
        }
        found
    }

    fn device(&self, out: &mut String) -> core::fmt::Result {
        let last = self.parts.len() - 1;
        let parameters: Vec<String> = (self.operands().iter())
            .map(|(number, operand, name)| match (self.passage(*number), number, operand) {
                (_, _, &OTHER) => format!("{name}: &{}", self.other_type(*number)),
                (Some(passage), 0, 0) => format!("{name}: {}", self.way_types(0, passage)[0]),
                _ => format!("{name}: &{}::{}", MODULES[*number], hbm_name(*operand)),
            })
            .collect();
        writeln!(out, "/// `{}`.", self.chain.text())?;
        writeln!(out, "#[device(chip = 1)]")?;
        writeln!(
            out,
            "fn chain(ctx: &mut Context, {}, y: &mut {}) {{",
            parameters.join(", "),
            self.result_type()
        )?;
        for (number, (part, plan)) in self.parts.iter().zip(&self.placed).enumerate() {
            let module = MODULES[number];
            if part.passage.as_ref().is_some_and(|passage| !passage.steps.is_empty()) {
                let name = if number == 0 { "x1".to_string() } else { format!("y{number}") };
                let other = self.other_argument(number);
                writeln!(out, "    let {name} = {}(ctx, {name}{other});", self.way_name(number))?;
            }
            if number < last || self.end.is_some() {
                let kind = if plan.schedule.kept.result { "Kept" } else { "HbmY" };
                writeln!(out, "    let mut y{} = {module}::{kind}::new(ctx);", number + 1)?;
            }
            let argument = |operand: usize| match self.chain.sources[number][operand] {
                None if (number, operand) == (0, 0) && part.passage.is_some() => {
                    format!("{}x1", if part.arrives_in_dm() { "" } else { "&" })
                }
                None => format!("{}{}", NAMES[operand], number + 1),
                Some(source) if plan.schedule.kept.operand == Some(operand) => format!("y{}", source + 1),
                Some(source) => format!("&y{}", source + 1),
            };
            let is_result = number == last && self.end.is_none();
            let result = if is_result { "y".to_string() } else { format!("&mut y{}", number + 1) };
            let bias = if plan.layout.bias.is_some() { format!("b{}, ", number + 1) } else { String::new() };
            writeln!(
                out,
                "    {module}::contraction(ctx, {}, {}, {bias}{result});",
                argument(0),
                argument(1)
            )?;
        }
        if self.end.is_some() {
            let (name, other) = (self.way_name(last + 1), self.other_argument(last + 1));
            writeln!(out, "    {name}(ctx, y{}{other}, y);", last + 1)?;
        }
        writeln!(out, "}}\n")
    }

    /// The other tensor of a sum or a product, as an argument.
    fn other_argument(&self, number: usize) -> String {
        match self.chain.pairs[number].as_ref().map(|pair| pair.source) {
            Some(Some(source)) => format!(", &y{}", source + 1),
            Some(None) => format!(", r{number}"),
            None => String::new(),
        }
    }

    /// The type of the last result.
    pub(super) fn result_type(&self) -> String {
        match &self.end {
            Some(passage) => passage.to.type_text(MADE),
            None => format!("{}::HbmY", MODULES[self.parts.len() - 1]),
        }
    }
}

/// The name of the contraction with a number, or of what is behind the last one.
pub(super) fn next_name(count: usize, number: usize) -> &'static str {
    if number == count { "result" } else { MODULES[number] }
}
