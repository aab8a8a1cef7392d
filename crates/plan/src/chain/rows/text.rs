//! The passes of a function of rows as calls of a kernel.

use super::passes::{Action, By, MADE, RowPass, RowStep, Sink, Source};
use crate::epilogue::{method, operator};
use core::fmt::Write as _;
use furiosa_visa_rules::command::ReduceOperator;

impl RowStep {
    /// The passes, from the tensor `from` to a tensor `name` of the type `made`.
    pub fn text(&self, [from, name, made]: [&str; 3]) -> String {
        let (mut text, mut registers, mut before) = (String::new(), Vec::new(), from);
        for pass in &self.rows.passes() {
            let source = if pass.source == Source::Rows { from } else { before };
            // Writing to a string does not fail.
            let _ = self.pass(&mut text, pass, &registers, [source, name, made]);
            before = pass.name;
            if let Sink::Register(_) = pass.sink {
                registers.push(pass.name);
            }
        }
        text
    }

    fn pass(
        &self,
        out: &mut String,
        pass: &RowPass,
        registers: &[&str],
        [source, name, made]: [&str; 3],
    ) -> core::fmt::Result {
        let layout = &self.layout;
        let [time, fetched, packet] = match pass.source {
            Source::Rows => &layout.flits,
            Source::Numbers => &layout.numbers,
        };
        match pass.sink {
            Sink::Rows => writeln!(out, "let {name}: {made} = (ctx.main.begin({source}.view()))")?,
            _ => writeln!(out, "let {} = (ctx.main.begin({source}.view()))", pass.name)?,
        }
        writeln!(out, "    .fetch::<f32, {time}, {fetched}>()")?;
        writeln!(out, "    .collect::<{time}, {packet}>()")?;
        writeln!(out, "    .vector_init()")?;
        writeln!(out, "    .vector_intra_slice_branch(BranchMode::Unconditional)")?;
        match pass.source {
            Source::Rows => {
                writeln!(out, "    .vector_split::<{}, {}>()", layout.halves[0], layout.halves[1])?
            }
            Source::Numbers => writeln!(out, "    .vector_trim_way4::<{}>()", layout.number)?,
        }
        for action in &pass.actions {
            match action {
                Action::Unary(op) => writeln!(out, "    .vector_fp_unary({op})")?,
                Action::Reduce(op) => {
                    let op = if *op == ReduceOperator::MaxF32 { "Max" } else { "Add" };
                    writeln!(
                        out,
                        "    .vector_intra_slice_reduce::<{}, {}, {}>(IntraSliceReduceOpF32::{op})",
                        layout.axis.as_str(),
                        layout.rows,
                        layout.number
                    )?;
                }
                Action::Binary(op, By::Itself) => writeln!(
                    out,
                    "    .{}_with_mode({}, BinaryArgMode::Mode00, 0.0)",
                    method(*op),
                    operator(*op)
                )?,
                Action::Binary(op, by) => {
                    let by = match by {
                        By::Number(number) => format!("{number:?}"),
                        By::Row(number) => format!("&{}", registers[*number]),
                        By::Itself => unreachable!("it has a line of its own"),
                    };
                    writeln!(out, "    .{}({}, {by})", method(*op), operator(*op))?;
                }
            }
        }
        match pass.reduces() {
            true => writeln!(out, "    .vector_pad_way8::<{}>()", layout.numbers[2])?,
            false => writeln!(out, "    .vector_concat::<{}, {}>()", layout.flits[0], layout.flits[2])?,
        }
        writeln!(out, "    .vector_final()")?;
        if pass.sink == Sink::Rows {
            writeln!(out, "    .cast::<{MADE}, {}>()", layout.cast)?;
            return writeln!(out, "    .commit(AUTO);");
        }
        writeln!(out, "    .commit::<{}>(AUTO);", layout.stored)?;
        if let Sink::Register(number) = pass.sink {
            let [time, fetched, packet] = &layout.numbers;
            writeln!(
                out,
                "let {0} = (ctx.sub.begin({0}.view()).fetch::<f32, {time}, {fetched}>())",
                pass.name
            )?;
            writeln!(out, "    .collect::<{time}, {packet}>()")?;
            writeln!(out, "    .to_vrf::<{}>({});", layout.rows, self.register(number))?;
        }
        Ok(())
    }
}
