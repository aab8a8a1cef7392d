//! The bias of a kernel: its types, its way to the vector register file, and the part that a step adds.

use crate::epilogue::Program;
use crate::layout::{Bias, BiasTile};
use crate::search::Plan;
use core::fmt::Write as _;

impl Plan {
    pub(super) fn types_of_bias(&self, out: &mut String, slice: &str) -> core::fmt::Result {
        let (Some(bias), Some(element)) = (&self.layout.bias, self.problem.bias_element()) else {
            return Ok(());
        };
        let chip = self.chip();
        writeln!(out, "/// The bias in DM.")?;
        writeln!(out, "type WholeBias = DmTensor<{element}, {chip}, Cluster, {slice}, {}>;", bias.element)?;
        let what = if bias.tile.is_some() { "A part of the bias" } else { "The bias" };
        writeln!(out, "/// {what} in the vector register file.")?;
        writeln!(out, "type Bias = VrfTensor<{element}, {chip}, Cluster, {slice}, {}>;", bias.part)
    }

    /// The functions that bring and load it.
    pub(crate) fn bias(&self, out: &mut String) -> core::fmt::Result {
        let (Some(bias), Some(element), Some(place)) =
            (&self.layout.bias, self.problem.bias_element(), self.schedule.bias)
        else {
            return Ok(());
        };
        writeln!(out, "/// Brings the bias to the slices that add it.")?;
        writeln!(out, "fn bring_bias(ctx: &mut Context, b: &HbmBias) -> WholeBias {{")?;
        writeln!(out, "    b.to_dm(&mut ctx.tdma, {})\n}}\n", place.dm)?;
        let Bias { tile, load: [time, packet], .. } = bias;
        match tile {
            None => {
                writeln!(out, "/// Loads the bias to the vector register file.")?;
                writeln!(out, "fn load_bias(ctx: &mut Context, bias: &WholeBias) -> Bias {{")?;
                writeln!(out, "    (ctx.sub.begin(bias.view()))")?;
            }
            Some(BiasTile { index, element, .. }) => {
                writeln!(out, "/// Loads a part of the bias to the vector register file.")?;
                writeln!(out, "fn load_bias(ctx: &mut Context, bias: &WholeBias, part: usize) -> Bias {{")?;
                writeln!(out, "    (ctx.sub.begin(bias.view().tile::<{index}, 1, {element}>(part)))")?;
            }
        }
        writeln!(out, "        .fetch::<{element}, {time}, {packet}>()")?;
        writeln!(out, "        .collect::<{time}, {packet}>()")?;
        let address = match tile {
            None => place.file(0).to_string(),
            Some(_) => format!("part as u64 * {}", place.part_bytes),
        };
        writeln!(out, "        .to_vrf({address})\n}}\n")
    }

    /// The lines of a kernel that load it.
    pub(super) fn bias_loaded(&self, out: &mut String) -> core::fmt::Result {
        let (Some(bias), Some(place)) = (&self.layout.bias, self.schedule.bias) else { return Ok(()) };
        writeln!(out, "    let bias = bring_bias(ctx, b);")?;
        match bias.tile {
            None => writeln!(out, "    let bias = load_bias(ctx, &bias);"),
            Some(_) => writeln!(
                out,
                "    let bias: [Bias; {}] = std::array::from_fn(|part| load_bias(ctx, &bias, part));",
                place.tiles
            ),
        }
    }

    /// The argument of the pass that adds it, at a step, with the comma behind it.
    pub(super) fn bias_of_step(&self, step: &str) -> String {
        let (Some(bias), Some(place)) = (&self.layout.bias, self.schedule.bias) else { return String::new() };
        let Some(BiasTile { inner, .. }) = bias.tile else { return "&bias, ".to_string() };
        if let Ok(step) = step.parse::<usize>() {
            return format!("&bias[{}], ", step / inner % place.tiles);
        }
        let step = if step.contains(' ') { format!("({step})") } else { step.to_string() };
        let turn = if inner == 1 { step } else { format!("{step} / {inner}") };
        format!("&bias[{turn} % {}], ", place.tiles)
    }

    /// The parameter of the pass that adds it, with the comma behind it.
    pub(super) fn bias_parameter(&self) -> &'static str {
        if self.layout.bias.is_some() { "bias: &Bias, " } else { "" }
    }

    /// The calls of what follows the sums. Empty: there is nothing.
    pub(super) fn epilogue(&self) -> String {
        let is_behind_parts = self.layout.parts().is_some() && self.schedule.whole.is_none();
        self.calls(&Program::new(&self.problem, is_behind_parts).unwrap_or_default())
    }

    /// The calls of a program where the sums leave the last pass.
    pub(super) fn calls(&self, program: &Program) -> String {
        self.layout.ends.as_ref().map_or(String::new(), |ends| program.text(ends, "bias"))
    }
}
