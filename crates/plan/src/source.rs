//! A plan as source: a whole test of a crate, with the kernel, a check on the host, and the cycles.

use crate::choice::{Level, Spread, Sums};
use crate::layout::{Finish, Mapping, Parts, Path, Stored};
use crate::problem::Role;
use crate::search::Plan;
use core::fmt::Write as _;
use furiosa_visa_rules::scalar::ElementType;

/// Products up to which the test compares every element of the result.
const CHECKED_PRODUCTS: u64 = 1 << 24;

/// Names of the operands and of the result.
const NAMES: [&str; 3] = ["x", "w", "y"];

/// Name of the type of a tensor in HBM.
fn hbm(tensor: usize) -> String {
    format!("Hbm{}", NAMES[tensor].to_uppercase())
}

impl Plan {
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
        writeln!(
            out,
            "//! `{}` of {} with {}, in {} cycles.",
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
        writeln!(out, "axes![{}];\n", problem.axes_text())
    }

    /// The reasons of the mapping, a sentence each.
    pub fn reasons(&self) -> Vec<String> {
        let (problem, choice, schedule) = (&self.problem, &self.choice, &self.schedule);
        let (stream, weights) = (NAMES[choice.stream()], NAMES[choice.weights]);
        let slices = |role| choice.extent(problem, role, Level::Slice);
        let mut reasons = Vec::new();
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
        let mut reached = |operand: &str, spread: Option<Spread>, sharing: usize| {
            match (spread, sharing) {
            (_, 1) => {}
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
        reasons.push(format!(
            "bound: {} cycles, held by the {}; the kernel takes {:.2} times as long",
            self.work.cycles(),
            self.work.resource(),
            self.cycles as f64 / self.work.cycles().max(1) as f64
        ));
        reasons
    }

    fn types(&self, out: &mut String) -> core::fmt::Result {
        let (problem, choice, layout) = (&self.problem, &self.choice, &self.layout);
        let element = problem.element;
        for tensor in 0..3 {
            let stored = &layout.stored[tensor].element;
            writeln!(
                out,
                "type {} = HbmTensor<{}, m![1], {stored}>;",
                hbm(tensor),
                problem.element_of(tensor)
            )?;
        }
        writeln!(out, "\ntype Cluster = {};", layout.cluster)?;
        writeln!(out, "/// Where products are made.\ntype Slice = {};", layout.slice)?;
        let names = [NAMES[choice.stream()], NAMES[choice.weights]];
        for (name, path, operand) in
            [("Stream", &layout.stream, names[0]), ("Block", &layout.weights, names[1])]
        {
            let what = if name == "Stream" { "A tile" } else { "A block" };
            writeln!(out, "/// {what} of `{operand}` in DM.")?;
            writeln!(
                out,
                "type {name} = DmTensor<{element}, m![1], Cluster, {}, {}>;",
                path.slice, path.element
            )?;
        }
        let [row, file] = &layout.file;
        writeln!(out, "/// A block of `{}` in the register file.", names[1])?;
        writeln!(out, "type Weights = TrfTensor<{element}, m![1], Cluster, Slice, {row}, {file}>;")?;
        let named = |slice: &Mapping| match slice == &layout.slice {
            true => "Slice".to_string(),
            false => slice.to_string(),
        };
        if let Some(finish) = &layout.finish {
            let what = if finish.parts.is_some() { "Parts of sums" } else { "Sums" };
            writeln!(out, "/// {what} in DM, as products leave them.")?;
            writeln!(
                out,
                "type Unfinished = DmTensor<{}, m![1], Cluster, {}, {}>;",
                problem.sum(),
                named(layout.sums_slice()),
                finish.element
            )?;
        }
        writeln!(out, "/// The sums of a step in DM, as they are stored.")?;
        writeln!(
            out,
            "type Sums = DmTensor<{}, m![1], Cluster, {}, {}>;\n",
            problem.output,
            named(layout.result_slice()),
            layout.result
        )
    }

    /// `x.view()` and the tiles of it that a step uses.
    fn tiles(
        &self,
        out: &mut String,
        name: &str,
        stored: &Stored,
        per: usize,
        step: &str,
    ) -> core::fmt::Result {
        writeln!(out, "    let {name} = {name}.view();")?;
        for tile in &stored.tiles {
            let inner = tile.counter.inner / per;
            let value = if inner <= 1 { step.to_string() } else { format!("{step} / {inner}") };
            writeln!(
                out,
                "    let {name} = {name}.tile::<{}, 1, {}>({value} % {});",
                tile.index, tile.element, tile.counter.count
            )?;
        }
        Ok(())
    }

    /// The address of a buffer, as an expression.
    fn address(&self, kind: usize, number: &str) -> String {
        let (first, bytes, buffers) =
            (self.schedule.dm[kind], self.schedule.bytes[kind], self.schedule.buffers[kind]);
        match (buffers, first) {
            (1, _) => first.to_string(),
            (_, 0) => format!("{number} as u64 % {buffers} * {bytes}"),
            _ => format!("{first} + {number} as u64 % {buffers} * {bytes}"),
        }
    }

    fn moves(&self, out: &mut String) -> core::fmt::Result {
        let (choice, layout) = (&self.choice, &self.layout);
        let (stream, weights) = (choice.stream(), choice.weights);
        let has_tiles = !layout.stored[stream].tiles.is_empty() || self.schedule.buffers[0] > 1;
        let number = if has_tiles { "tile" } else { "_tile" };
        writeln!(out, "/// Brings a tile of `{}` to DM.", NAMES[stream])?;
        writeln!(
            out,
            "fn bring_stream(ctx: &mut Context, {}: &{}, {number}: usize) -> Stream {{",
            NAMES[stream],
            hbm(stream)
        )?;
        self.tiles(out, NAMES[stream], &layout.stored[stream], self.schedule.steps_per_tile(), number)?;
        writeln!(out, "    {}.to_dm(&mut ctx.tdma, {})\n}}\n", NAMES[stream], self.address(0, number))?;

        let has_blocks = !layout.stored[weights].tiles.is_empty() || self.schedule.buffers[1] > 1;
        let number = if has_blocks { "step" } else { "_step" };
        writeln!(out, "/// Brings the block of `{}` of a step to DM.", NAMES[weights])?;
        writeln!(
            out,
            "fn bring_block(ctx: &mut Context, {}: &{}, {number}: usize) -> Block {{",
            NAMES[weights],
            hbm(weights)
        )?;
        self.tiles(out, NAMES[weights], &layout.stored[weights], 1, number)?;
        writeln!(out, "    {}.to_dm(&mut ctx.tdma, {})\n}}\n", NAMES[weights], self.address(1, number))
    }

    fn collected(&self, out: &mut String, path: &Path) -> core::fmt::Result {
        let [time, packet] = &path.fetch;
        writeln!(out, "        .fetch::<{}, {time}, {packet}>()", self.problem.element)?;
        if let Some(time) = &path.switch_time {
            writeln!(out, "        .switch_to::<Slice, {time}>()")?;
        }
        let [time, packet] = &path.collect;
        writeln!(out, "        .collect::<{time}, {packet}>()")
    }

    fn passes(&self, out: &mut String) -> core::fmt::Result {
        let (problem, layout, schedule) = (&self.problem, &self.layout, &self.schedule);
        let loads = if schedule.is_resident { schedule.steps_per_tile() } else { schedule.steps() };
        let two_halves = !schedule.is_full && loads > 1;
        let number = if two_halves { "step" } else { "_step" };
        writeln!(
            out,
            "/// Loads a block to {}.",
            if two_halves { "one half of the register file" } else { "the register file" }
        )?;
        writeln!(out, "fn load(ctx: &mut Context, block: &Block, {number}: usize) -> Weights {{")?;
        if two_halves {
            writeln!(
                out,
                "    let half = if step.is_multiple_of(2) {{ TrfAddress::FirstHalf }} else {{ TrfAddress::SecondHalf }};"
            )?;
        }
        writeln!(out, "    (ctx.sub.begin(block.view()))")?;
        self.collected(out, &layout.weights)?;
        let place = match (schedule.is_full, two_halves) {
            (true, _) => "TrfAddress::Full",
            (_, true) => "half",
            _ => "TrfAddress::FirstHalf",
        };
        writeln!(out, "        .to_trf({place})\n}}\n")?;

        let parts = layout.parts().map(|parts| (parts, schedule.parts));
        let is_finished = layout.finish.is_none();
        let number = match is_finished {
            true if schedule.buffers[2] > 1 => ", step: usize",
            true => ", _step: usize",
            false if parts.is_some() => ", step: usize",
            false => "",
        };
        let (kept, made) = if is_finished { ("", " -> Sums") } else { (", sums: &mut Unfinished", "") };
        writeln!(
            out,
            "/// Multiplies a tile with a block{}.",
            if parts.is_some() { ", which has a part of each sum" } else { "" }
        )?;
        writeln!(
            out,
            "fn multiply(ctx: &mut Context, stream: &Stream, weights: &Weights{kept}{number}){made} {{"
        )?;
        match parts {
            None => writeln!(out, "    (ctx.main.begin(stream.view()))")?,
            Some((Parts { index, of_stream, .. }, count)) => {
                writeln!(out, "    let stream = stream.view().tile::<{index}, 1, {of_stream}>(step % {count});")?;
                writeln!(out, "    (ctx.main.begin(stream))")?;
            }
        }
        self.collected(out, &layout.stream)?;
        let ([time, packet], [row, _]) = (&layout.align, &layout.file);
        writeln!(out, "        .align::<{time}, {packet}, _, _>(weights)")?;
        writeln!(out, "        .contract::<m![1]>()")?;
        writeln!(out, "        .accumulate::<{}, {row}>(AccumulationKind::Interleaved)", layout.accumulate)?;
        if let Some(reduce) = &layout.reduce {
            let kind = if problem.sum() == ElementType::I32 { "I32" } else { "F32" };
            writeln!(out, "        .vector_init()")?;
            writeln!(
                out,
                "        .vector_inter_slice_reduce::<{}, {}>(InterSliceReduceOp{kind}::Add)",
                reduce.slice, reduce.time
            )?;
            writeln!(out, "        .vector_final()")?;
        }
        match (parts, is_finished) {
            (_, true) => self.committed(out)?,
            (None, _) => writeln!(out, "        .commit_view(sums.view_mut());\n}}\n")?,
            (Some((Parts { index, of_sums, .. }, count)), _) => writeln!(
                out,
                "        .commit_view(sums.view_mut().tile::<{index}, 1, {of_sums}>(step % {count}));\n}}\n"
            )?,
        }
        if let Some(finish) = &layout.finish {
            self.finish(out, finish)?;
        }

        let number = if layout.stored[2].tiles.is_empty() { "_step" } else { "step" };
        writeln!(out, "/// Stores the sums of a step.")?;
        writeln!(out, "fn store(ctx: &mut Context, sums: &Sums, y: &mut HbmY, {number}: usize) {{")?;
        self.stored_tile(out, &layout.stored[2])?;
        writeln!(out, "}}\n")
    }

    /// The end of a pass that makes sums as they are stored.
    fn committed(&self, out: &mut String) -> core::fmt::Result {
        if let Some(packet) = &self.layout.cast {
            writeln!(out, "        .cast::<{}, {packet}>()", self.problem.output)?;
        }
        let number = match self.schedule.parts {
            1 => "step".to_string(),
            parts => format!("(step / {parts})"),
        };
        writeln!(out, "        .commit({})\n}}\n", self.address(2, &number))
    }

    /// The pass behind the products.
    fn finish(&self, out: &mut String, finish: &Finish) -> core::fmt::Result {
        let (problem, layout) = (&self.problem, &self.layout);
        let (row, fetch) = (&layout.file[0], &finish.fetch);
        let what = match (&finish.parts, &finish.switch) {
            (Some(_), Some(_)) => "Adds the parts of sums, and gathers what neighbouring slices store",
            (Some(_), None) => "Adds the parts of sums",
            (None, _) => "Gathers what neighbouring slices store",
        };
        let number = if self.schedule.buffers[2] > 1 { "step" } else { "_step" };
        writeln!(out, "/// {what}.")?;
        writeln!(out, "fn finish(ctx: &mut Context, sums: &Unfinished, {number}: usize) -> Sums {{")?;
        writeln!(out, "    (ctx.main.begin(sums.view()))")?;
        writeln!(out, "        .fetch::<{}, {fetch}, {row}>()", problem.sum())?;
        let mut time = fetch;
        if let Some([slice, switched]) = &finish.switch {
            writeln!(out, "        .switch_to::<{slice}, {switched}>()")?;
            time = switched;
        }
        writeln!(out, "        .collect::<{time}, {row}>()")?;
        if let Some(Parts { axis, split: [split, half], added, time, .. }) = &finish.parts {
            let op = match problem.sum() {
                ElementType::I32 => "I32::AddSat",
                _ => "F32::Add",
            };
            writeln!(out, "        .vector_init()")?;
            writeln!(out, "        .vector_intra_slice_branch(BranchMode::Unconditional)")?;
            writeln!(out, "        .vector_split::<{split}, {half}>()")?;
            writeln!(
                out,
                "        .vector_intra_slice_reduce::<{}, {added}, {half}>(IntraSliceReduceOp{op})",
                axis.as_str()
            )?;
            writeln!(out, "        .vector_concat::<{time}, {row}>()")?;
            writeln!(out, "        .vector_final()")?;
        }
        self.committed(out)
    }

    /// Stores sums to the tile of a step. Each tile to write borrows the one before.
    fn stored_tile(&self, out: &mut String, stored: &Stored) -> core::fmt::Result {
        let count = stored.tiles.len();
        if count == 0 {
            return writeln!(out, "    sums.view().to_hbm_view(&mut ctx.tdma, y.view_mut());");
        }
        writeln!(out, "    let mut y = y.view_mut();")?;
        for (number, tile) in stored.tiles.iter().enumerate() {
            let mutable = if number + 1 < count { "mut " } else { "" };
            let inner = tile.counter.inner;
            let value = if inner == 1 { "step".to_string() } else { format!("step / {inner}") };
            writeln!(
                out,
                "    let {mutable}y = y.tile::<{}, 1, {}>({value} % {});",
                tile.index, tile.element, tile.counter.count
            )?;
        }
        writeln!(out, "    sums.view().to_hbm_view(&mut ctx.tdma, y);")
    }

    fn signature(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "/// `{}`, a step after another.", self.problem.einsum)?;
        writeln!(out, "#[device(chip = 1)]")?;
        writeln!(out, "fn contraction(ctx: &mut Context, x: &HbmX, w: &HbmW, y: &mut HbmY) {{")?;
        match self.layout.finish {
            Some(_) => writeln!(out, "    let mut unfinished = Unfinished::new(ctx);"),
            None => Ok(()),
        }
    }

    /// The loop over tiles of the stream, around its body.
    fn over_tiles(&self, out: &mut String, body: &str) -> core::fmt::Result {
        let stream = NAMES[self.choice.stream()];
        let (tiles, double) = (self.schedule.tiles, self.schedule.buffers[0] > 1);
        if tiles == 1 {
            return writeln!(out, "    let stream = bring_stream(ctx, {stream}, 0);\n{body}");
        }
        if double {
            writeln!(out, "    let mut next_tile = Some(bring_stream(ctx, {stream}, 0));")?;
            writeln!(out, "    for tile in 0..{tiles} {{")?;
            writeln!(
                out,
                "        let following = (tile + 1 < {tiles}).then(|| bring_stream(ctx, {stream}, tile + 1));"
            )?;
            writeln!(
                out,
                "        let stream = std::mem::replace(&mut next_tile, following).expect(\"one tile for each turn\");"
            )?;
        } else {
            writeln!(out, "    for tile in 0..{tiles} {{")?;
            writeln!(out, "        let stream = bring_stream(ctx, {stream}, tile);")?;
        }
        for line in body.lines() {
            writeln!(out, "    {line}")?;
        }
        writeln!(out, "    }}")
    }

    /// The products of a step, to HBM. `is_last`: whether it has the last part of its sums, if that is known.
    fn steps_of_part(
        &self,
        indent: &str,
        weights: &str,
        step: &str,
        is_last: Option<bool>,
    ) -> Result<String, core::fmt::Error> {
        let (mut out, parts) = (String::new(), self.schedule.parts);
        if self.layout.finish.is_none() {
            writeln!(out, "{indent}let sums = multiply(ctx, &stream, &{weights}, {step});")?;
            writeln!(out, "{indent}store(ctx, &sums, y, {step});")?;
            return Ok(out);
        }
        let number = if parts > 1 { format!(", {step}") } else { String::new() };
        writeln!(out, "{indent}multiply(ctx, &stream, &{weights}, &mut unfinished{number});")?;
        let is_last = if parts == 1 { Some(true) } else { is_last };
        let deeper = if is_last.is_none() { "    " } else { "" };
        if is_last.is_none() {
            writeln!(out, "{indent}if ({step} + 1).is_multiple_of({parts}) {{")?;
        }
        if is_last != Some(false) {
            writeln!(out, "{indent}{deeper}let sums = finish(ctx, &unfinished, {step});")?;
            writeln!(out, "{indent}{deeper}store(ctx, &sums, y, {step});")?;
        }
        if is_last.is_none() {
            writeln!(out, "{indent}}}")?;
        }
        Ok(out)
    }

    /// The number of a step, from its tile and its block.
    fn step(&self) -> &'static str {
        match (self.schedule.tiles, self.schedule.steps_per_tile()) {
            (1, 1) => "0",
            (1, _) => "block",
            (_, 1) => "tile",
            _ => "step",
        }
    }

    fn resident(&self, out: &mut String) -> core::fmt::Result {
        let weights = NAMES[self.choice.weights];
        let (tiles, blocks) = (self.schedule.tiles, self.schedule.steps_per_tile());
        self.signature(out)?;
        writeln!(out, "    // Weights stay in the register file.")?;
        for block in 0..blocks {
            writeln!(out, "    let block{block} = bring_block(ctx, {weights}, {block});")?;
            writeln!(out, "    let weights{block} = load(ctx, &block{block}, {block});")?;
        }
        let mut body = String::new();
        for block in 0..blocks {
            let step = match (tiles, blocks) {
                (1, _) => block.to_string(),
                (_, 1) => "tile".to_string(),
                _ => format!("{blocks} * tile + {block}"),
            };
            // The last part of a sum is known without the number of the tile.
            let is_last = (block + 1).is_multiple_of(self.schedule.parts);
            body += &self.steps_of_part("    ", &format!("weights{block}"), &step, Some(is_last))?;
        }
        self.over_tiles(out, body.trim_end())?;
        writeln!(out, "}}\n")
    }

    fn streamed(&self, out: &mut String) -> core::fmt::Result {
        let weights = NAMES[self.choice.weights];
        let (tiles, blocks, steps) =
            (self.schedule.tiles, self.schedule.steps_per_tile(), self.schedule.steps());
        self.signature(out)?;
        writeln!(out, "    let first = bring_block(ctx, {weights}, 0);")?;
        writeln!(out, "    let mut loaded = Some(load(ctx, &first, 0));")?;
        let mut body = String::new();
        let indent = if blocks == 1 { "    " } else { "        " };
        if blocks > 1 {
            writeln!(body, "    for block in 0..{blocks} {{")?;
        }
        if self.step() == "step" {
            writeln!(body, "{indent}let step = {blocks} * tile + block;")?;
        }
        let step = self.step();
        let is_full = self.schedule.is_full;
        if is_full {
            writeln!(body, "{indent}// The next block takes the whole register file: its load waits for the products.")?;
            writeln!(body, "{indent}let brought = waiting.take();")?;
        } else {
            writeln!(
                body,
                "{indent}// Loads come before the product that runs meanwhile, and before the store that waits for it."
            )?;
            writeln!(
                body,
                "{indent}let following = waiting.take().map(|brought| load(ctx, &brought, {step} + 1));"
            )?;
        }
        writeln!(
            body,
            "{indent}waiting = ({step} + 2 < {steps}).then(|| bring_block(ctx, {weights}, {step} + 2));"
        )?;
        let taken = if is_full { "loaded.take()" } else { "std::mem::replace(&mut loaded, following)" };
        writeln!(body, "{indent}let weights = {taken}.expect(\"one load for each step\");")?;
        body += &self.steps_of_part(indent, "weights", step, None)?;
        if is_full {
            writeln!(body, "{indent}loaded = brought.map(|brought| load(ctx, &brought, {step} + 1));")?;
        }
        if blocks > 1 {
            writeln!(body, "    }}")?;
        }
        // The first tile comes before the second block.
        let mut turns = String::new();
        self.over_tiles(&mut turns, body.trim_end())?;
        let (head, rest) = match (tiles, self.schedule.buffers[0]) {
            (1, _) | (_, 2) => turns.split_once('\n').unwrap_or((&turns, "")),
            _ => ("", turns.as_str()),
        };
        if !head.is_empty() {
            writeln!(out, "{head}")?;
        }
        writeln!(out, "    let mut waiting = Some(bring_block(ctx, {weights}, 1));")?;
        out.push_str(rest);
        writeln!(out, "}}\n")
    }

    fn test(&self, out: &mut String) -> core::fmt::Result {
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
