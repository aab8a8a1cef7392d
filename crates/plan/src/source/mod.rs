//! A plan as source: a whole test of a crate, with the kernel, a check on the host, and the cycles.

mod bias;
pub(crate) mod host;
mod kernel;
mod passes;
pub(crate) mod test;

use crate::choice::{Level, Pieces, Spread, Sums};
use crate::layout::{Mapping, Room};
use crate::problem::Role;
use crate::search::Plan;
use core::fmt::Write as _;
use passes::PIECES;

/// Names of the operands and of the result.
pub(crate) const NAMES: [&str; 3] = ["x", "w", "y"];

/// Name of the type of a tensor in HBM.
fn hbm(tensor: usize) -> String {
    format!("Hbm{}", NAMES[tensor].to_uppercase())
}

impl Plan {
    /// The name of the chips' mapping in types.
    fn chip(&self) -> &'static str {
        if self.problem.number_of_chips() > 1 { "Chip" } else { "m![1]" }
    }

    /// The parameter of a tensor: in HBM, or kept in DM.
    fn parameter(&self, tensor: usize) -> String {
        let (name, kept) = (NAMES[tensor], self.schedule.kept);
        match tensor {
            2 if kept.result => format!("{name}: &mut Kept"),
            2 => format!("{name}: &mut {}", hbm(tensor)),
            _ if kept.operand != Some(tensor) => format!("{name}: &{}", hbm(tensor)),
            _ if tensor == self.choice.weights => format!("{name}: Block"),
            _ => format!("{name}: Stream"),
        }
    }

    /// The file: a kernel in the surface of `furiosa-visa-std`, and a test of its values and cycles. It needs `pollster`.
    pub fn source(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> core::fmt::Result {
        self.head(out)?;
        self.types(out)?;
        self.moves(out)?;
        self.bias(out)?;
        self.passes(out)?;
        if self.schedule.is_resident {
            self.resident(out)?
        } else {
            self.streamed(out)?
        }
        self.test(out)
    }

    fn head(&self, out: &mut String) -> core::fmt::Result {
        let (problem, choice) = (&self.problem, &self.choice);
        let (stream, weights) = (NAMES[choice.stream()], NAMES[choice.weights]);
        let followed = match problem.epilogue.is_empty() {
            true => String::new(),
            false => format!(", then `{}`", problem.epilogue_text()),
        };
        let windows = match problem.windows.is_empty() {
            true => String::new(),
            false => format!(" in windows `{}`", problem.windows_text()),
        };
        writeln!(
            out,
            "//! `{}`{windows} of {} with {}{followed}, in {} cycles.",
            problem.einsum,
            problem.element,
            problem.axes_text(),
            self.cycles
        )?;
        writeln!(out, "//!")?;
        writeln!(out, "//! Made by `visa plan`. Why this mapping:")?;
        writeln!(out, "//!")?;
        for reason in self.reasons() {
            writeln!(out, "//! * {reason}")?;
        }
        writeln!(out, "//!")?;
        writeln!(
            out,
            "//! In each step, `{stream}` streams past one block of `{weights}` in the register file."
        )?;
        writeln!(out)?;
        writeln!(out, "use furiosa_visa_std::prelude::*;\n")?;
        writeln!(out, "axes![{}];\n", problem.declared(problem.in_units(choice)))
    }

    /// The reasons of the mapping, a sentence each.
    pub fn reasons(&self) -> Vec<String> {
        let (problem, choice, schedule) = (&self.problem, &self.choice, &self.schedule);
        let (stream, weights) = (NAMES[choice.stream()], NAMES[choice.weights]);
        let slices = |role| choice.extent(problem, role, Level::Slice);
        let mut reasons = Vec::new();
        if problem.number_of_chips() > 1 {
            let axes = (0..problem.axes.len()).filter(|&axis| problem.chips[axis] > 1);
            let names: Vec<String> = axes.map(|axis| format!("`{}`", problem.axes[axis].name)).collect();
            reasons.push(format!(
                "{} chips have a part of {} each, with all else that it needs in their HBM, and compute it at once: what follows \
                 is said of one chip",
                problem.number_of_chips(),
                names.join(" and ")
            ));
        }
        let bytes = |operand: usize| problem.bytes(operand);
        reasons.push(format!(
            "`{weights}` ({} bytes) is in the register file, and `{stream}` ({} bytes) is streamed: {} {} of weights for {} {} \
             of the stream",
            bytes(choice.weights),
            bytes(choice.stream()),
            schedule.blocks,
            if schedule.blocks == 1 { "block" } else { "blocks" },
            schedule.tiles,
            if schedule.tiles == 1 { "tile" } else { "tiles" },
        ));
        let team = slices(Role::Summed);
        let sums = match choice.sums {
            Sums::Whole => "each slice has all of the sum, so nothing is added between slices".to_string(),
            Sums::First => format!("{team} slices have parts of each sum, and one of them keeps it"),
            Sums::Shared(axis) => {
                format!(
                    "{team} slices have parts of each sum, and keep a part of `{}` each",
                    problem.axes[axis].name
                )
            }
        };
        reasons.push(sums);
        if let Some(axis) = choice.axis_of_parts(problem) {
            reasons.push(format!(
                "`{}` comes in {} parts, because the register file of a slice has room for one: each leaves a part of the \
                 sums in DM, and a pass adds them",
                problem.axes[axis].name, schedule.parts
            ));
        }
        if schedule.is_full && !schedule.is_resident {
            reasons.push(
                "a block takes the whole register file, so that a packet of the stream meets twice as many weights; its load \
                 waits for the products"
                    .to_string(),
            );
        }
        if let (Some(gather), Some((rows, _))) = (choice.gather, problem.run(2)) {
            let bytes = choice.splits[rows].at(Level::Local) * problem.output.bits() / 8;
            reasons.push(format!(
                "{} neighbouring slices exchange sums before they are stored: a run in HBM has {} bytes then, and not {bytes}, \
                 and parts of units take long to write",
                gather.count,
                bytes * gather.count
            ));
        }
        if let Some(axis) = choice.turned_sums(problem) {
            reasons.push(format!(
                "weights have few rows, and `{}` of the stream is innermost in the result: a pass behind the products puts it inside",
                problem.axes[axis].name
            ));
        }
        if let Some(Pieces { axis, sizes: [first, second] }) = choice.pieces {
            reasons.push(format!(
                "`{stream}` comes in two pieces, of {first} and of {second} positions of `{}`: few products are left \
                 behind the last byte, and sums of both are stored together",
                problem.axes[axis].name
            ));
        }
        let mut reached = |operand: &str, spread: Option<Spread>, sharing: usize| {
            match (spread, sharing) {
            (_, 1) => {}
            (Some(spread), _) if spread.count > sharing => reasons.push(format!(
                "{sharing} slices share `{operand}`: {} slices, {} of them for that alone, load a part each along `{}`, \
                 and the Switch Engine hands the parts round, because copies by DMA go to one slice after another",
                spread.count, spread.count - sharing, problem.axes[spread.axis].name
            )),
            (Some(spread), _) => reasons.push(format!(
                "{sharing} slices share `{operand}`: {} neighbours load a part each along `{}`, and the Switch Engine hands \
                 the parts round, because copies by DMA go to one slice after another",
                spread.count, problem.axes[spread.axis].name
            )),
            (None, _) => reasons.push(format!("{sharing} slices share `{operand}`: DMA writes a copy to each, which takes less than an exchange")),
        }
        };
        reached(stream, choice.stream_spread, slices(Role::Of(choice.weights)));
        reached(weights, choice.weights_spread, slices(Role::Of(choice.stream())));
        if let Some(window) = problem.in_units(choice) {
            reasons.push(format!(
                "slices have parts of `{}`: each gets {} positions of the next one, too, by a move of their own",
                problem.axes[window.output].name,
                problem.axes[window.tap].size - window.stride
            ));
        }
        if let Some(columns) = choice.columns(problem) {
            reasons.push(format!(
                "a packet has {} positions of `{}`, which is innermost in `{stream}`: they stay columns, and the sum is over time",
                columns.count, problem.axes[columns.axis].name
            ));
        }
        if let Some(axis) = choice.filled_axis(problem) {
            reasons.push(format!(
                "`{}` is no whole flits: the fetch fills the last one up with zeros, which the main context does, for weights, too",
                problem.axes[axis].name
            ));
        }
        for operand in [choice.stream(), choice.weights] {
            if let Some(turned) = choice.turned(problem, operand) {
                reasons.push(format!(
                    "`{}` has `{}` innermost in HBM: a pass with the Transpose Engine turns what a slice has of it",
                    NAMES[operand], problem.axes[turned.axis].name
                ));
            }
        }
        reasons.push(format!(
            "bound: {} cycles, held by the {}; the kernel takes {:.2} times as long",
            self.work.cycles(),
            self.work.resource(),
            self.cycles as f64 / self.work.cycles().max(1) as f64
        ));
        reasons
    }

    pub(crate) fn types(&self, out: &mut String) -> core::fmt::Result {
        let (problem, choice, layout) = (&self.problem, &self.choice, &self.layout);
        let element_type = problem.element;
        let chip = self.chip();
        if problem.number_of_chips() > 1 {
            writeln!(out, "/// The part of a chip.\ntype {chip} = {};", layout.chip)?;
        }
        let kept = self.schedule.kept;
        let in_hbm = |tensor: &usize| kept.operand != Some(*tensor) && !(kept.result && *tensor == 2);
        for tensor in (0..3).filter(in_hbm) {
            let stored = &layout.stored[tensor].element;
            writeln!(
                out,
                "type {} = HbmTensor<{}, {chip}, {stored}>;",
                hbm(tensor),
                problem.element_of(tensor)
            )?;
        }
        if let (Some(bias), Some(element)) = (&layout.bias, problem.bias_element()) {
            writeln!(out, "type HbmBias = HbmTensor<{element}, {chip}, {}>;", bias.stored)?;
        }
        writeln!(out, "\ntype Cluster = {};", layout.cluster)?;
        writeln!(out, "/// Where products are made.\ntype Slice = {};", layout.slice)?;
        let names = [NAMES[choice.stream()], NAMES[choice.weights]];
        if let Some(Room { cluster, slice, element, .. }) = &layout.room {
            writeln!(out, "/// A tile of `{}` in DM, with room for positions of the next slice.", names[0])?;
            writeln!(out, "type Room = DmTensor<{element_type}, m![1], {cluster}, {slice}, {element}>;")?;
        }
        let mut brought = vec![("Block", "A block", &layout.weights, names[1])];
        match &layout.pieces {
            None => brought.insert(0, ("Stream", "A tile", &layout.stream, names[0])),
            Some([first, second]) => {
                brought.insert(0, (PIECES[0][0], "The first piece", &first.stream, names[0]));
                brought.insert(1, (PIECES[1][0], "The second piece", &second.stream, names[0]));
            }
        }
        for (name, what, path, operand) in brought {
            let mut tensor = |name: String, order: &str, element: &Mapping| {
                writeln!(out, "/// {what} of `{operand}` in DM{order}.")?;
                let slice = &path.slice;
                writeln!(out, "type {name} = DmTensor<{element_type}, {chip}, Cluster, {slice}, {element}>;")
            };
            let order = match &path.turn {
                Some(turn) => {
                    tensor(format!("Brought{name}"), ", in the order of HBM", &turn.brought)?;
                    ", as products read it"
                }
                None => "",
            };
            tensor(name.to_string(), order, &path.element)?;
        }
        let [row, file] = &layout.file;
        writeln!(out, "/// A block of `{}` in the register file.", names[1])?;
        writeln!(out, "type Weights = TrfTensor<{element_type}, {chip}, Cluster, Slice, {row}, {file}>;")?;
        let named = |slice: &Mapping| match slice == &layout.slice {
            true => "Slice".to_string(),
            false => slice.to_string(),
        };
        if let Some(finish) = &layout.finish {
            let what = if finish.parts.is_some() { "Parts of sums" } else { "Sums" };
            writeln!(out, "/// {what} in DM, as products leave them.")?;
            writeln!(
                out,
                "type Unfinished = DmTensor<{}, {chip}, Cluster, {}, {}>;",
                problem.sum(),
                named(layout.sums_slice()),
                finish.element
            )?;
        }
        if self.schedule.whole.is_some() {
            writeln!(out, "/// Sums in DM, before what follows them.")?;
            writeln!(
                out,
                "type Whole = DmTensor<{}, {chip}, Cluster, {}, {}>;",
                problem.sum(),
                named(layout.result_slice()),
                layout.result
            )?;
        }
        self.types_of_bias(out, &named(layout.result_slice()))?;
        if kept.result {
            writeln!(out, "/// All sums in DM, where they stay.")?;
            return writeln!(
                out,
                "type Kept = DmTensor<{}, {chip}, Cluster, {}, {}>;\n",
                problem.output,
                named(layout.result_slice()),
                layout.stored[2].element
            );
        }
        writeln!(out, "/// The sums of a step in DM, as they are stored.")?;
        writeln!(
            out,
            "type Sums = DmTensor<{}, {chip}, Cluster, {}, {}>;\n",
            problem.output,
            named(layout.result_slice()),
            layout.result
        )
    }
}
