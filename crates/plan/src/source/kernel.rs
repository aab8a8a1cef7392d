//! The `#[device]` function: steps, one after another.

use super::NAMES;
use crate::search::Plan;
use core::fmt::Write as _;

impl Plan {
    fn signature(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "/// `{}`, a step after another.", self.problem.einsum)?;
        writeln!(out, "#[device(chip = {})]", self.problem.number_of_chips())?;
        let [x, w, y] = [0, 1, 2].map(|tensor| self.parameter(tensor));
        let bias = if self.layout.bias.is_some() { "b: &HbmBias, " } else { "" };
        writeln!(out, "fn contraction(ctx: &mut Context, {x}, {w}, {bias}{y}) {{")?;
        match self.layout.finish {
            Some(_) => writeln!(out, "    let mut unfinished = Unfinished::new(ctx);"),
            None => Ok(()),
        }
    }

    /// The loop over tiles of the stream, around its body. The first line brings the first tile, or takes what is there.
    fn over_tiles(&self, out: &mut String, body: &str) -> core::fmt::Result {
        let stream = NAMES[self.choice.stream()];
        let (tiles, is_ahead) = (self.schedule.tiles, self.schedule.is_ahead());
        let is_turned = self.layout.stream.turn.is_some();
        if self.schedule.kept.operand == Some(self.choice.stream()) {
            return writeln!(out, "    let stream = {stream};\n{body}");
        }
        if tiles == 1 {
            let (name, turn) = match is_turned {
                true => ("brought", "    let stream = turn_stream(ctx, &brought);\n"),
                false => ("stream", ""),
            };
            return writeln!(out, "    let {name} = bring_stream(ctx, {stream}, 0);\n{turn}{body}");
        }
        if is_turned {
            writeln!(out, "    let mut next_tile = Some(bring_stream(ctx, {stream}, 0));")?;
            writeln!(out, "    for tile in 0..{tiles} {{")?;
            writeln!(out, "        let brought = next_tile.take().expect(\"one tile for each turn\");")?;
            writeln!(out, "        let stream = turn_stream(ctx, &brought);")?;
            writeln!(
                out,
                "        next_tile = (tile + 1 < {tiles}).then(|| bring_stream(ctx, {stream}, tile + 1));"
            )?;
        } else if is_ahead {
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
            writeln!(out, "    let mut first_tile = Some(bring_stream(ctx, {stream}, 0));")?;
            writeln!(out, "    for tile in 0..{tiles} {{")?;
            writeln!(
                out,
                "        let stream = first_tile.take().unwrap_or_else(|| bring_stream(ctx, {stream}, tile));"
            )?;
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
        let is_kept = self.schedule.kept.result;
        let bias = self.bias_of_step(step);
        if self.layout.finish.is_none() && is_kept {
            writeln!(out, "{indent}multiply(ctx, &stream, &{weights}, {bias}y, {step});")?;
            return Ok(out);
        }
        if self.layout.finish.is_none() {
            writeln!(out, "{indent}let sums = multiply(ctx, &stream, &{weights}, {bias}{step});")?;
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
            out += &self.finished(&format!("{indent}{deeper}"), step)?;
        }
        if is_last.is_none() {
            writeln!(out, "{indent}}}")?;
        }
        Ok(out)
    }

    /// The pass behind the products of a step, and the store.
    fn finished(&self, indent: &str, step: &str) -> Result<String, core::fmt::Error> {
        let (mut out, bias) = (String::new(), self.bias_of_step(step));
        if self.schedule.kept.result {
            writeln!(out, "{indent}finish(ctx, &unfinished, {bias}y, {step});")?;
            return Ok(out);
        }
        match self.schedule.whole {
            None => writeln!(out, "{indent}let sums = finish(ctx, &unfinished, {bias}{step});")?,
            Some(_) => {
                writeln!(out, "{indent}let sums = finish(ctx, &unfinished);")?;
                writeln!(out, "{indent}let sums = follow(ctx, &sums, {bias}{step});")?;
            }
        }
        writeln!(out, "{indent}store(ctx, &sums, y, {step});")?;
        Ok(out)
    }

    /// The only step, with a stream in two pieces.
    fn in_pieces(&self, out: &mut String) -> core::fmt::Result {
        let stream = NAMES[self.choice.stream()];
        writeln!(out, "    // The products of the first piece run while the second one comes.")?;
        writeln!(out, "    let first = bring_first(ctx, {stream});")?;
        writeln!(out, "    let second = bring_second(ctx, {stream});")?;
        self.bias_loaded(out)?;
        writeln!(out, "    multiply_first(ctx, &first, &weights0, &mut unfinished);")?;
        writeln!(out, "    multiply_second(ctx, &second, &weights0, &mut unfinished);")?;
        out.push_str(&self.finished("    ", "0")?);
        writeln!(out, "}}\n")
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

    pub(crate) fn resident(&self, out: &mut String) -> core::fmt::Result {
        let weights = NAMES[self.choice.weights];
        let (tiles, blocks) = (self.schedule.tiles, self.schedule.steps_per_tile());
        self.signature(out)?;
        writeln!(out, "    // Weights stay in the register file.")?;
        for block in 0..blocks {
            match self.schedule.kept.operand == Some(self.choice.weights) {
                true => writeln!(out, "    let block{block} = {weights};")?,
                false => writeln!(out, "    let block{block} = bring_block(ctx, {weights}, {block});")?,
            }
            if self.layout.weights.turn.is_some() {
                writeln!(out, "    let block{block} = turn_block(ctx, &block{block}, {block});")?;
            }
            writeln!(out, "    let weights{block} = load(ctx, &block{block}, {block});")?;
        }
        if self.layout.pieces.is_some() {
            return self.in_pieces(out);
        }
        self.bias_loaded(out)?;
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

    pub(crate) fn streamed(&self, out: &mut String) -> core::fmt::Result {
        let weights = NAMES[self.choice.weights];
        let (blocks, steps) = (self.schedule.steps_per_tile(), self.schedule.steps());
        self.signature(out)?;
        writeln!(out, "    let first = bring_block(ctx, {weights}, 0);")?;
        let is_turned = self.layout.weights.turn.is_some();
        if is_turned {
            writeln!(out, "    let first = turn_block(ctx, &first, 0);")?;
        }
        writeln!(out, "    let mut loaded = Some(load(ctx, &first, 0));")?;
        self.bias_loaded(out)?;
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
            writeln!(
                body,
                "{indent}// The next block takes the whole register file: its load waits for the products."
            )?;
            let turn = match is_turned {
                true => format!(".map(|brought| turn_block(ctx, &brought, {step} + 1))"),
                false => String::new(),
            };
            writeln!(body, "{indent}let brought = waiting.take(){turn};")?;
        } else {
            writeln!(
                body,
                "{indent}// Loads come before the product that runs meanwhile, and before the store that waits for it."
            )?;
            if is_turned {
                writeln!(body, "{indent}let following = waiting.take().map(|brought| {{")?;
                writeln!(body, "{indent}    let turned = turn_block(ctx, &brought, {step} + 1);")?;
                writeln!(body, "{indent}    load(ctx, &turned, {step} + 1)")?;
                writeln!(body, "{indent}}});")?;
            } else {
                writeln!(
                    body,
                    "{indent}let following = waiting.take().map(|brought| load(ctx, &brought, {step} + 1));"
                )?;
            }
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
        let (first, rest) = turns.split_once('\n').unwrap_or((&turns, ""));
        writeln!(out, "{first}")?;
        writeln!(out, "    let mut waiting = Some(bring_block(ctx, {weights}, 1));")?;
        out.push_str(rest);
        writeln!(out, "}}\n")
    }
}
