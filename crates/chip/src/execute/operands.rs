//! Checks before a pass runs: its operands must be written, and sums must not take in padding.

use super::commit::find_missing;
use super::contraction::Missing;
use super::vector::{LaneRow, MissingOperand, VectorPlan};
use super::{Buffers, OriginOf, Pass};
use crate::memory::Unit;
use core::ops::{ControlFlow, Range};
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{Fault, FaultKind, MemoryKind, Region, Sink};
use furiosa_visa_rules::mapping::gcd;
use furiosa_visa_rules::spec::BEAT_LANES;

use super::threads::{LEAST_SLICES, first};

impl Pass<'_> {
    /// Refuses a pass that computes with unwritten live elements, or commits lanes that hold nothing, before anything
    /// is written.
    pub(crate) fn check_initialised(&self, units: &[Unit], origin: &OriginOf<'_>) -> Result<(), Fault> {
        self.check_lanes()?;
        if !self.computes() {
            return Ok(());
        }
        let padding = self.may_take_padding();
        let read = self.places_read();
        let is_open = |number: usize| {
            padding || !read.as_ref().is_some_and(|read| self.is_initialised(&units[number], read))
        };
        // Slices whose stream must be inspected to decide.
        let open: Vec<bool> = if let Some(switch) = &self.switch {
            let takes_part = |number: &usize| self.senders[*number] || self.receivers[*number];
            let mut receivers = (0..units.len()).filter(|&number| self.receivers[number]);
            let open = (0..units.len()).filter(takes_part).any(is_open)
                || !receivers.all(|number| switch.gets_from(Coordinates::of_slice(number), &self.senders));
            self.receivers.iter().map(|receives| *receives && open).collect()
        } else {
            (0..units.len()).map(|number| self.receivers[number] && is_open(number)).collect()
        };
        let mut rows = Vec::new();
        let sent = if open.contains(&true) { self.sent(units, &mut rows) } else { None };
        let operands = self.vector.as_ref().filter(|vector| vector.has_tensors());
        if operands.is_none() && !open.contains(&true) {
            return Ok(());
        }
        let unwritten = |vector: &VectorPlan, number: usize, unit: &Unit| {
            vector.find_missing_operand(unit, Coordinates::of_slice(number), self.receivers[number])
        };
        // Operands for one group only matter if one of its elements meets them.
        let asks = |vector: &VectorPlan| {
            let all = units.iter().enumerate();
            all.filter_map(|(number, unit)| unwritten(vector, number, unit))
                .any(|missing| missing.is_for_some)
        };
        let taken = operands.filter(|vector| asks(vector)).map(|vector| self.missing_taken(vector, units));
        let find = |buffers: &mut Buffers, number: usize, unit: &Unit| {
            let at = Coordinates::of_slice(number);
            let operand = match &taken {
                Some(taken) => taken[number],
                None => operands.and_then(|vector| unwritten(vector, number, unit)),
            };
            if let Some(missing) = operand {
                return Some(self.missing_operand(number, missing, origin));
            }
            if !open[number] {
                return None;
            }
            if let Some(contraction) = &self.contraction {
                contraction.load(unit.trf(self.placed.files.read), at, &mut buffers.contraction);
            }
            for block in self.blocks(false) {
                let flit = block.start * self.flits;
                self.load(at, unit, sent.as_ref(), block, (&mut buffers.fetch, &mut buffers.stream));
                let found = match &self.contraction {
                    Some(contraction) => {
                        contraction.find_missing(&buffers.stream, flit, at, &mut buffers.contraction)
                    }
                    None => self.find_missing_in_stream(flit, at, buffers),
                };
                if let Some(missing) = found {
                    return Some(self.missing(number, missing, origin));
                }
            }
            None
        };
        first(units, LEAST_SLICES, find).map_or(Ok(()), Err)
    }

    /// The first unwritten operand per slice that an element of the stream meets. The pass runs without its end to find
    /// out.
    fn missing_taken(&self, plan: &VectorPlan, units: &[Unit]) -> Vec<Option<MissingOperand>> {
        let (mut rows, mut buffers) = (Vec::new(), Buffers::default());
        let sent = self.sent(units, &mut rows);
        let mut found = vec![None; units.len()];
        let mut streams: Vec<Option<LaneRow>> = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            streams.push(self.receivers[number].then(|| {
                let at = Coordinates::of_slice(number);
                self.begin(at, unit, &mut buffers);
                self.fetch_and_compute(at, unit, sent.as_ref(), &mut buffers);
                let Buffers { contraction: sums, vector, whole: [whole, _], .. } = &mut buffers;
                let input = self.vector_input(unit, sums, whole);
                let (stream, missing) = plan.watch_before(input, (unit, at), vector);
                found[number] = missing;
                stream
            }));
        }
        for (number, stream) in plan.exchange(&streams).into_iter().enumerate() {
            let Some(stream) = stream.filter(|_| found[number].is_none()) else { continue };
            let at = (&units[number], Coordinates::of_slice(number));
            found[number] = plan.watch_behind(stream, at, &mut buffers.vector);
        }
        found
    }

    /// The first unwritten element that the Vector Engine or the sink takes, in a block of flits from `first` on.
    fn find_missing_in_stream(
        &self,
        first: usize,
        at: Coordinates,
        buffers: &mut Buffers,
    ) -> Option<Missing> {
        let Buffers { stream, transposed_flags, mask, .. } = buffers;
        let per_flit = self.fetch.padded() / self.flits.max(1);
        let flags = stream.flags()?;
        let (live, width, flits) = (self.sink.live(), self.sink.width(), (flags, first, per_flit));
        let (flit, lane) = match (&self.vector, &self.transpose) {
            (Some(vector), _) => find_missing(vector.live(), per_flit, flits, at, mask)?,
            (None, None) => find_missing(live, width, flits, at, mask)?,
            (None, Some(transpose)) => {
                transpose.run_flags(flags, per_flit, transposed_flags);
                let packets = (&transposed_flags[..], transpose.first_packet(first), transpose.rows());
                let (packet, row) = find_missing(live, width, packets, at, mask)?;
                transpose.source(packet, row)
            }
        };
        Some(Missing::Stream { flit, lane })
    }

    /// Refuses a pass that sums padding together with elements if its product is not zero, before anything is written.
    pub(crate) fn check_padding(&self, units: &[Unit]) -> Result<(), Fault> {
        let Some(contraction) = self.contraction.as_ref().filter(|contraction| contraction.may_sum_padding())
        else {
            return Ok(());
        };
        let mut rows = Vec::new();
        let sent = self.sent(units, &mut rows);
        let find = |buffers: &mut Buffers, number: usize, unit: &Unit| {
            if !self.receivers[number] {
                return None;
            }
            let at = Coordinates::of_slice(number);
            let Buffers { fetch, contraction: sums, stream, .. } = buffers;
            contraction.load(unit.trf(self.placed.files.read), at, sums);
            let mut found = None;
            for block in self.blocks(false) {
                let (flit, flits) = (block.start * self.flits, block.len() * self.flits);
                if !contraction.sums_padding(flit, flits, sums) {
                    continue;
                }
                self.load(at, unit, sent.as_ref(), block, (fetch, stream));
                contraction.for_each_summed(stream, flit, at, sums, |cell| {
                    found = Some(cell);
                    ControlFlow::Break(())
                });
                if let Some(cell) = found {
                    let sum = contraction.first_live(&cell, at, sums);
                    return Some(self.summed(at, &cell, sum));
                }
            }
            None
        };
        first(units, LEAST_SLICES, find).map_or(Ok(()), Err)
    }

    /// Number of leading lanes of a flit that were fetched. Collect adds the rest.
    pub(super) fn fetched_lanes(&self, flit: usize) -> usize {
        let per_flit = self.fetch.padded() / self.flits.max(1);
        let before = flit % self.flits.max(1) * per_flit;
        self.command.fetch.packet.saturating_sub(before).min(per_flit)
    }

    /// Tells if the pass may compute with lanes that collect adds. Then written sources are not enough.
    fn may_take_padding(&self) -> bool {
        let padded = self.fetch.padded() != self.command.fetch.packet;
        padded
            && match &self.contraction {
                Some(contraction) => {
                    let flits = self.steps() * self.flits;
                    contraction.may_take_padding(flits, |flit| self.fetched_lanes(flit))
                }
                None => match &self.vector {
                    Some(vector) => {
                        let (flits, lanes) =
                            (self.steps() * self.flits, self.fetch.padded() / self.flits.max(1));
                        vector.live().may_exceed(flits, lanes, |flit| self.fetched_lanes(flit))
                    }
                    None => self.sink.may_take_padding(|time| self.filled_lanes(time)),
                },
            }
    }

    /// Number of leading lanes of a packet that hold an element of the stream. Collect, cast and transpose add the
    /// rest.
    fn filled_lanes(&self, time: usize) -> usize {
        let before = |flit: usize| match &self.command.contraction {
            // The Vector Engine tracks its filled lanes itself.
            _ if self.vector.is_some() => BEAT_LANES,
            None => self.fetched_lanes(flit),
            // Rows and columns that a contraction does not use are empty sums, so all lanes are filled.
            Some(_) => BEAT_LANES,
        };
        match &self.transpose {
            None => before(time),
            Some(transpose) => {
                let is_filled = |&row: &usize| {
                    let (flit, lane) = transpose.source(time, row);
                    lane < before(flit)
                };
                (0..transpose.rows()).take_while(is_filled).count()
            }
        }
    }

    /// Refuses a commit of lanes as elements, if they hold no element of the stream.
    fn check_lanes(&self) -> Result<(), Fault> {
        let Sink::Commit { destination, .. } = &self.command.sink else { return Ok(()) };
        // Packets of flits are alike, and so are matrices that begin with the same flit of a packet.
        let different = match &self.command.transpose {
            None => self.flits,
            Some(transpose) => {
                let matrices = self.flits / gcd(transpose.in_flits(), self.flits).max(1);
                self.sink.time().min(matrices * transpose.out_rows)
            }
        };
        if (0..different).all(|time| self.filled_lanes(time) >= self.sink.width()) {
            return Ok(());
        }
        let units = (0..self.receivers.len()).filter(|&unit| self.receivers[unit]);
        let units = units.map(Coordinates::of_slice);
        let Some((at, time, lane)) = self.sink.first_live_lane(units, |time| self.filled_lanes(time)) else {
            return Ok(());
        };
        let message = format!(
            "lane {lane} of time step {time} is committed as an element of the tensor in DM from {} on, but the stream \
             has only {} elements there",
            destination.address,
            self.filled_lanes(time)
        );
        let help = "make the lanes padding in the mapping of the packet (`# n`), or fetch larger packets";
        let fault = Fault::new(FaultKind::Uninitialised, "commit", self.location, message, help);
        let byte = destination.address;
        Err(fault.at(MemoryKind::Dm, at.slice_number(), byte..byte + destination.footprint.bytes() as u64))
    }

    /// Bytes that the sequencers read in every slice, including padding and bytes behind a tensor in DM. `None`: they
    /// start before their memory.
    fn places_read(&self) -> Option<PlacesRead> {
        let mut weights = Vec::new();
        if let Some(contraction) = &self.command.contraction {
            let region = &contraction.trf;
            usize::try_from(contraction.trf_config.first()).ok()?;
            for read in self.contraction.iter().flat_map(|plan| plan.read()) {
                let [start, end] = [read.start, read.end].map(|element| element * region.element.bits());
                // Bytes behind a row are padding.
                let end = end.div_ceil(8).min(region.row_bytes());
                let bytes = (start / 8).min(end)..end;
                weights.extend((0..region.rows).flat_map(|row| region.pieces(row, bytes.clone())));
            }
        }
        let config = &self.command.fetch.config;
        let first = usize::try_from(config.first()).ok()?;
        let end = config.last() as usize + 1;
        let piece = |source: &Region| {
            let (start, bits) = (source.address as usize, source.footprint.element.bits());
            start + first * bits / 8..start + (end * bits).div_ceil(8)
        };
        Some(PlacesRead { weights, dm: self.placed.unit.fetch.sources().map(piece).collect() })
    }

    /// Tells if all bytes that the sequencers read are written in a slice.
    fn is_initialised(&self, unit: &Unit, read: &PlacesRead) -> bool {
        let file = self.placed.files.read;
        read.weights.iter().all(|piece| unit.trf(file).all_initialised(piece.clone()))
            && read.dm.iter().all(|piece| unit.dm.all_initialised(piece.clone()))
    }
}

/// Bytes that the sequencers read, the same in all slices.
struct PlacesRead {
    /// Bytes in the register file of the weights.
    weights: Vec<Range<usize>>,
    dm: Vec<Range<usize>>,
}
