//! The functions of a kernel: moves, and passes of the Tensor Unit.

use super::{NAMES, hbm};
use crate::epilogue::Program;
use crate::layout::{Cut, Finish, Parts, Path, Piece, Room, Stored, Tile, Turn};
use crate::search::Plan;
use core::fmt::Write as _;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::Window;

/// Names of the pieces of the stream: their types, and in functions.
pub(super) const PIECES: [[&str; 2]; 2] = [["First", "first"], ["Second", "second"]];

/// The type of an operand as it is brought.
fn brought_type(path: &Path, name: &str) -> String {
    match path.turn {
        Some(_) => format!("Brought{name}"),
        None => name.to_string(),
    }
}

/// The first value of the digit of a tile in HBM, at a step.
fn start(tile: &Tile, per: usize, step: &str) -> String {
    let inner = tile.counter.inner / per;
    let value = if inner <= 1 { step.to_string() } else { format!("{step} / {inner}") };
    match (tile.counter.count, tile.step) {
        (1, _) => "0".to_string(),
        (count, 1) => format!("{value} % {count}"),
        (count, step) => format!("{value} % {count} * {step}"),
    }
}

impl Plan {
    /// `x.view()` and the tiles of it that a step uses.
    pub(super) fn tiles(
        &self,
        out: &mut String,
        name: &str,
        stored: &Stored,
        per: usize,
        step: &str,
    ) -> core::fmt::Result {
        writeln!(out, "    let {name} = {name}.view();")?;
        for tile in &stored.tiles {
            let (Tile { index, len, element, .. }, start) = (tile, start(tile, per, step));
            writeln!(out, "    let {name} = {name}.tile::<{index}, {len}, {element}>({start});")?;
        }
        Ok(())
    }

    /// The address of a buffer, as an expression.
    pub(super) fn address(&self, kind: usize, number: &str) -> String {
        let (first, bytes, buffers) =
            (self.schedule.dm[kind], self.schedule.bytes[kind], self.schedule.buffers[kind]);
        match (buffers, first) {
            (1, _) => first.to_string(),
            (_, 0) => format!("{number} as u64 % {buffers} * {bytes}"),
            _ => format!("{first} + {number} as u64 % {buffers} * {bytes}"),
        }
    }

    pub(crate) fn moves(&self, out: &mut String) -> core::fmt::Result {
        let kept = self.schedule.kept.operand;
        if kept != Some(self.choice.stream()) {
            self.move_of_stream(out)?;
        }
        if kept != Some(self.choice.weights) {
            self.move_of_weights(out)?;
        }
        Ok(())
    }

    /// Brings a piece of the stream.
    fn move_of_piece(&self, out: &mut String, piece: &Piece, number: usize) -> core::fmt::Result {
        let (name, [type_of, function]) = (NAMES[self.choice.stream()], PIECES[number]);
        let Piece { index, start, len, stored, .. } = piece;
        writeln!(out, "/// Brings the {function} piece of `{name}` to DM.")?;
        writeln!(
            out,
            "fn bring_{function}(ctx: &mut Context, {name}: &{}) -> {type_of} {{",
            hbm(self.choice.stream())
        )?;
        writeln!(out, "    let {name} = {name}.view().tile::<{index}, {len}, {stored}>({start});")?;
        writeln!(out, "    {name}.to_dm(&mut ctx.tdma, {})\n}}\n", self.schedule.piece(number))
    }

    fn move_of_stream(&self, out: &mut String) -> core::fmt::Result {
        let (stream, layout) = (self.choice.stream(), &self.layout);
        if let Some(pieces) = &layout.pieces {
            let mut pieces = pieces.iter().enumerate();
            return pieces.try_for_each(|(number, piece)| self.move_of_piece(out, piece, number));
        }
        let kind = self.schedule.brought(0);
        let is_tiled = layout.stored[stream].tiles.iter().any(|tile| tile.counter.count > 1);
        let has_tiles = is_tiled || layout.room.is_none() && self.schedule.buffers[kind] > 1;
        let number = if has_tiles { "tile" } else { "_tile" };
        writeln!(out, "/// Brings a tile of `{}` to DM.", NAMES[stream])?;
        writeln!(
            out,
            "fn bring_stream(ctx: &mut Context, {}: &{}, {number}: usize) -> {} {{",
            NAMES[stream],
            hbm(stream),
            brought_type(&layout.stream, "Stream")
        )?;
        match &layout.room {
            Some(room) => self.move_to_room(out, room, number)?,
            None => {
                let per = self.schedule.steps_per_tile();
                self.tiles(out, NAMES[stream], &layout.stored[stream], per, number)?;
                let address = self.address(kind, number);
                writeln!(out, "    {}.to_dm(&mut ctx.tdma, {address})\n}}\n", NAMES[stream])?;
            }
        }
        if let Some(turn) = &layout.stream.turn {
            writeln!(out, "/// Turns a tile of `{}`: what products sum over goes inside.", NAMES[stream])?;
            writeln!(out, "fn turn_stream(ctx: &mut Context, brought: &BroughtStream) -> Stream {{")?;
            self.turned(out, turn, 0, "0")?;
        }
        Ok(())
    }

    /// Brings what slices have of a tile, and then what they need of the next slice.
    fn move_to_room(&self, out: &mut String, room: &Room, number: &str) -> core::fmt::Result {
        let stream = self.choice.stream();
        let (name, stored, per) =
            (NAMES[stream], &self.layout.stored[stream], self.schedule.steps_per_tile());
        let Some((last, others)) = stored.tiles.split_last() else { return Ok(()) };
        let others = Stored { tiles: others.to_vec(), ..stored.clone() };
        self.tiles(out, name, &others, per, number)?;
        writeln!(out, "    let mut room = Room::new(ctx);")?;
        let (Tile { index, len, element, .. }, start) = (last, start(last, per, number));
        let cut =
            |Cut { index, len, start, element }: &Cut| format!(".tile::<{index}, {len}, {element}>({start})");
        let mut moved = |source: &str, cuts: &[Cut]| {
            writeln!(out, "    let mut part = room.view_mut();")?;
            for (number, own) in cuts.iter().enumerate() {
                let mutable = if number + 1 < cuts.len() { "mut " } else { "" };
                writeln!(out, "    let {mutable}part = part{};", cut(own))?;
            }
            writeln!(out, "    {source}.to_dm_view(&mut ctx.tdma, part);")
        };
        moved(
            &format!("{name}.tile::<{index}, {len}, {element}>({start})"),
            core::slice::from_ref(&room.own),
        )?;
        let ahead = match start.as_str() {
            "0" => room.ahead.to_string(),
            _ => format!("{start} + {}", room.ahead),
        };
        let reached: String = room.reached.iter().map(cut).collect();
        moved(&format!("{name}.tile::<{index}, {len}, {element}>({ahead}){reached}"), &room.next)?;
        writeln!(out, "    room.relabel()\n}}\n")
    }

    fn move_of_weights(&self, out: &mut String) -> core::fmt::Result {
        let (weights, layout) = (self.choice.weights, &self.layout);
        let kind = self.schedule.brought(1);
        let has_blocks = !layout.stored[weights].tiles.is_empty() || self.schedule.buffers[kind] > 1;
        let number = if has_blocks { "step" } else { "_step" };
        writeln!(out, "/// Brings the block of `{}` of a step to DM.", NAMES[weights])?;
        writeln!(
            out,
            "fn bring_block(ctx: &mut Context, {}: &{}, {number}: usize) -> {} {{",
            NAMES[weights],
            hbm(weights),
            brought_type(&layout.weights, "Block")
        )?;
        self.tiles(out, NAMES[weights], &layout.stored[weights], 1, number)?;
        writeln!(out, "    {}.to_dm(&mut ctx.tdma, {})\n}}\n", NAMES[weights], self.address(kind, number))?;
        if let Some(turn) = &layout.weights.turn {
            let number = if self.schedule.buffers[1] > 1 { "step" } else { "_step" };
            writeln!(out, "/// Turns the block of a step: what products sum over goes inside.")?;
            writeln!(
                out,
                "fn turn_block(ctx: &mut Context, brought: &BroughtBlock, {number}: usize) -> Block {{"
            )?;
            self.turned(out, turn, 1, number)?;
        }
        Ok(())
    }

    /// The pass that turns an operand.
    fn turned(&self, out: &mut String, turn: &Turn, kind: usize, number: &str) -> core::fmt::Result {
        let Turn { fetch: [time, packet], flit, turned: [turned, row], .. } = turn;
        writeln!(out, "    (ctx.main.begin(brought.view()))")?;
        writeln!(out, "        .fetch::<{}, {time}, {packet}>()", self.problem.element)?;
        writeln!(out, "        .collect::<{time}, {flit}>()")?;
        writeln!(out, "        .transpose::<{turned}, {row}>()")?;
        writeln!(out, "        .commit({})\n}}\n", self.address(kind, number))
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

    pub(crate) fn passes(&self, out: &mut String) -> core::fmt::Result {
        let (layout, schedule) = (&self.layout, &self.schedule);
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
        let context = if layout.weights.is_filled { "main" } else { "sub" };
        writeln!(out, "    (ctx.{context}.begin(block.view()))")?;
        self.collected(out, &layout.weights)?;
        let place = match (schedule.is_full, two_halves) {
            (true, _) => "TrfAddress::Full",
            (_, true) => "half",
            _ => "TrfAddress::FirstHalf",
        };
        writeln!(out, "        .to_trf({place})\n}}\n")?;

        match &layout.pieces {
            None => self.products(out, None)?,
            Some(pieces) => {
                let mut pieces = pieces.iter().enumerate();
                pieces.try_for_each(|piece| self.products(out, Some(piece)))?;
            }
        }
        if let Some(finish) = &layout.finish {
            self.finish(out, finish)?;
        }

        if schedule.kept.result {
            return Ok(());
        }
        let has_tiles = !layout.stored[2].tiles.is_empty();
        let number = if has_tiles { "step" } else { "_step" };
        writeln!(out, "/// Stores the sums of a step.")?;
        writeln!(out, "fn store(ctx: &mut Context, sums: &Sums, y: &mut HbmY, {number}: usize) {{")?;
        self.stored_tile(out, &layout.stored[2])?;
        writeln!(out, "}}\n")
    }

    /// The products of a step with the stream, or with a piece of it.
    fn products(&self, out: &mut String, piece: Option<(usize, &Piece)>) -> core::fmt::Result {
        let (problem, layout, schedule) = (&self.problem, &self.layout, &self.schedule);
        let parts = layout.parts().map(|parts| (parts, schedule.parts));
        let is_finished = layout.finish.is_none();
        let is_kept = schedule.kept.result;
        let has_tiles = !layout.stored[2].tiles.is_empty();
        let number = match is_finished {
            true if is_kept && has_tiles => ", step: usize",
            true if schedule.buffers[2] > 1 => ", step: usize",
            true => ", _step: usize",
            false if parts.is_some() => ", step: usize",
            false => "",
        };
        let bias = if is_finished { self.bias_parameter() } else { "" };
        let (kept, made) = match is_finished {
            true if is_kept => (format!(", {bias}y: &mut Kept"), ""),
            true => (format!(", {bias}").trim_end_matches(", ").to_string(), " -> Sums"),
            false => (", sums: &mut Unfinished".to_string(), ""),
        };
        let (what, function, stream) = match piece {
            None => ("a tile".to_string(), "multiply".to_string(), "Stream"),
            Some((number, _)) => {
                let [stream, name] = PIECES[number];
                (format!("the {name} piece"), format!("multiply_{name}"), stream)
            }
        };
        writeln!(
            out,
            "/// Multiplies {what} with a block{}.",
            if parts.is_some() { ", which has a part of each sum" } else { "" }
        )?;
        writeln!(
            out,
            "fn {function}(ctx: &mut Context, stream: &{stream}, weights: &Weights{kept}{number}){made} {{"
        )?;
        if is_finished && is_kept {
            self.tile_of_result(out)?;
        }
        match parts {
            None if layout.stream.windows.is_empty() => writeln!(out, "    (ctx.main.begin(stream.view()))")?,
            None => writeln!(out, "    let stream = stream.view();")?,
            Some((Parts { index, of_stream, .. }, count)) => writeln!(
                out,
                "    let stream = stream.view().tile::<{index}, 1, {of_stream}>(step % {count});"
            )?,
        }
        for Window { input, output, window, stride, dilation } in layout.stream.windows {
            let axes = format!("m![{input}], m![{output}], m![{window}]");
            writeln!(out, "    let stream = stream.windows::<{axes}, {stride}, {dilation}>();")?;
        }
        if parts.is_some() || !layout.stream.windows.is_empty() {
            writeln!(out, "    (ctx.main.begin(stream))")?;
        }
        let piece = piece.map(|(_, piece)| piece);
        self.collected(out, piece.map_or(&layout.stream, |piece| &piece.stream))?;
        let [time, packet] = &layout.align;
        let (time, accumulate) =
            piece.map_or((time, &layout.accumulate), |piece| (&piece.time, &piece.accumulate));
        writeln!(out, "        .align::<{time}, {packet}, _, _>(weights)")?;
        writeln!(out, "        .contract::<{}>()", layout.columns)?;
        writeln!(
            out,
            "        .accumulate::<{accumulate}, {}>(AccumulationKind::{:?})",
            layout.packet, layout.kind
        )?;
        let epilogue = if is_finished { self.epilogue() } else { String::new() };
        if layout.reduce.is_some() || !epilogue.is_empty() {
            writeln!(out, "        .vector_init()")?;
            if let Some(reduce) = &layout.reduce {
                let kind = if problem.sum() == ElementType::I32 { "I32" } else { "F32" };
                let time = piece.and_then(|piece| piece.reduce.as_ref()).unwrap_or(&reduce.time);
                writeln!(
                    out,
                    "        .vector_inter_slice_reduce::<{}, {time}>(InterSliceReduceOp{kind}::Add)",
                    reduce.slice
                )?;
            }
            if !epilogue.is_empty() {
                writeln!(out, "        .vector_intra_slice_branch(BranchMode::Unconditional)")?;
                out.push_str(&epilogue);
            }
            writeln!(out, "        .vector_final()")?;
        }
        match (parts, piece, is_finished) {
            (_, _, true) => self.committed(out),
            (None, None, _) => writeln!(out, "        .commit_view(sums.view_mut());\n}}\n"),
            (None, Some(Piece { index, start, len, of_sums, .. }), _) => writeln!(
                out,
                "        .commit_view(sums.view_mut().tile::<{index}, {len}, {of_sums}>({start}));\n}}\n"
            ),
            (Some((Parts { index, of_sums, .. }, count)), ..) => writeln!(
                out,
                "        .commit_view(sums.view_mut().tile::<{index}, 1, {of_sums}>(step % {count}));\n}}\n"
            ),
        }
    }

    /// The end of a pass that makes sums as they are stored.
    fn committed(&self, out: &mut String) -> core::fmt::Result {
        if let Some(packet) = &self.layout.cast {
            writeln!(out, "        .cast::<{}, {packet}>()", self.problem.output)?;
        }
        if self.schedule.kept.result {
            return writeln!(out, "        .commit_view(y);\n}}\n");
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
        let (row, fetch) = (&finish.packet, &finish.fetch);
        let is_turned = self.choice.turns_sums;
        let what = match (&finish.parts, &finish.switch) {
            (Some(_), Some(_)) => "Adds the parts of sums, and gathers what neighbouring slices store",
            (Some(_), None) => "Adds the parts of sums",
            (None, None) if is_turned => "Turns sums: neighbours of the result go inside",
            (None, _) => "Gathers what neighbouring slices store",
        };
        let is_kept = self.schedule.kept.result;
        let is_used = if is_kept { !layout.stored[2].tiles.is_empty() } else { self.schedule.buffers[2] > 1 };
        let number = if is_used { "step" } else { "_step" };
        writeln!(out, "/// {what}.")?;
        let bias = self.bias_parameter();
        let kept = if is_kept { "y: &mut Kept, " } else { "" };
        let made = if is_kept { "" } else { " -> Sums" };
        match self.schedule.whole {
            None => writeln!(
                out,
                "fn finish(ctx: &mut Context, sums: &Unfinished, {bias}{kept}{number}: usize){made} {{"
            )?,
            Some(_) => writeln!(out, "fn finish(ctx: &mut Context, sums: &Unfinished) -> Whole {{")?,
        }
        if is_kept {
            self.tile_of_result(out)?;
        }
        writeln!(out, "    (ctx.main.begin(sums.view()))")?;
        writeln!(out, "        .fetch::<{}, {fetch}, {row}>()", problem.sum())?;
        let mut time = fetch;
        if let Some([slice, switched]) = &finish.switch {
            writeln!(out, "        .switch_to::<{slice}, {switched}>()")?;
            time = switched;
        }
        writeln!(out, "        .collect::<{time}, {row}>()")?;
        let epilogue = match self.schedule.whole {
            None => self.epilogue(),
            Some(_) => self.calls(&Program::of_parts()),
        };
        if !epilogue.is_empty() {
            writeln!(out, "        .vector_init()")?;
            writeln!(out, "        .vector_intra_slice_branch(BranchMode::Unconditional)")?;
        }
        if let Some(Parts { axis, split: [split, half], added, .. }) = &finish.parts {
            let op = match problem.sum() {
                ElementType::I32 => "I32::AddSat",
                _ => "F32::Add",
            };
            writeln!(out, "        .vector_split::<{split}, {half}>()")?;
            writeln!(
                out,
                "        .vector_intra_slice_reduce::<{}, {added}, {half}>(IntraSliceReduceOp{op})",
                axis.as_str()
            )?;
        }
        if !epilogue.is_empty() {
            out.push_str(&epilogue);
            writeln!(out, "        .vector_final()")?;
        }
        if let (Some([address, _]), Some(ends)) = (self.schedule.whole, &layout.ends) {
            let [time, packet] = &ends.flits;
            writeln!(out, "        .commit({address})\n}}\n")?;
            writeln!(out, "/// Steps behind the sums.")?;
            writeln!(out, "fn follow(ctx: &mut Context, sums: &Whole, {bias}{number}: usize) -> Sums {{")?;
            writeln!(out, "    (ctx.main.begin(sums.view()))")?;
            writeln!(out, "        .fetch::<{}, {time}, {packet}>()", problem.sum())?;
            writeln!(out, "        .collect::<{time}, {packet}>()")?;
            writeln!(out, "        .vector_init()")?;
            writeln!(out, "        .vector_intra_slice_branch(BranchMode::Unconditional)")?;
            out.push_str(&self.epilogue());
            writeln!(out, "        .vector_final()")?;
        }
        self.committed(out)
    }

    /// Stores sums to the tile of a step. Each tile to write borrows the one before.
    fn stored_tile(&self, out: &mut String, stored: &Stored) -> core::fmt::Result {
        if stored.tiles.is_empty() {
            return writeln!(out, "    sums.view().to_hbm_view(&mut ctx.tdma, y.view_mut());");
        }
        self.tile_of_result(out)?;
        writeln!(out, "    sums.view().to_hbm_view(&mut ctx.tdma, y);")
    }

    /// The tile of the result that a step writes, as `y`.
    fn tile_of_result(&self, out: &mut String) -> core::fmt::Result {
        let stored = &self.layout.stored[2];
        let count = stored.tiles.len();
        if count == 0 {
            return writeln!(out, "    let y = y.view_mut();");
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
        Ok(())
    }
}
