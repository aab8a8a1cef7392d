//! The end of a stream: the Commit Engine writes to DM, or a register file is loaded.

use super::packets::Packets;
use crate::memory::row::{Line, Row};
use crate::memory::{Unit, planes, trf};
use core::ops::Range;
use furiosa_visa_rules::command::place::{Coordinates, UnitRuns};
use furiosa_visa_rules::command::{Footprint, Part, Place, Region, Sink, Transfer, TrfRegion};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness, live_runs, split_units};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::walk::Walk;
use std::sync::OnceLock;

/// The part of a sink that is the same in all slices.
#[derive(Debug)]
pub(crate) struct SinkPlan {
    target: Target,
    live: LiveRows,
    /// Lanes per packet.
    lanes: usize,
    /// Number of packets.
    time: usize,
    /// What all slices that write do, if they do the same. The first slice finds it.
    alike: OnceLock<Option<Alike>>,
    /// The tensor, if its unwritten elements become uninitialised.
    beginning: Option<(Place, Option<UnitRuns>)>,
}

#[derive(Debug)]
enum Target {
    /// Commits to DM: writes the leading `window` lanes of each packet, from its start in `starts`. `bytes`: range from
    /// the first to the last byte. `whole`: packets make up the tensor, so that its padding is written.
    Commit {
        region: Region,
        walk: Walk,
        window: usize,
        starts: Option<Vec<i64>>,
        bytes: Range<i64>,
        whole: bool,
    },
    /// Loads the TRF: the register file with this number.
    Trf(TrfRegion, usize),
    /// Loads the VRF, in the order of packets.
    Vrf { region: Region, runs: Vec<VrfRun> },
}

/// Lanes of one packet that go to evenly spaced elements of the VRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VrfRun {
    time: usize,
    lane: usize,
    len: usize,
    position: usize,
    stride: usize,
}

/// Elements of the stream from `first` on that go to evenly spaced elements of the memory, counted from `address`.
#[derive(Clone, Copy, Debug)]
struct SinkRun {
    first: usize,
    address: u64,
    position: i64,
    stride: usize,
    len: usize,
}

impl SinkRun {
    /// Appends a run of neighbours that goes on where this one ends. False: it does not, or one of them has gaps.
    fn append(&mut self, next: &SinkRun) -> bool {
        let is_dense = |run: &SinkRun| run.stride == 1 || run.len == 1;
        let goes_on = self.first + self.len == next.first
            && self.address == next.address
            && self.position + self.len as i64 == next.position;
        let appends = is_dense(self) && is_dense(next) && goes_on;
        if appends {
            (self.stride, self.len) = (1, self.len + next.len);
        }
        appends
    }

    /// Its place in the memory.
    fn line(self) -> Line {
        let Self { address, position, stride, len, .. } = self;
        Line { unit: 0, address, position, stride, len }
    }
}

/// Writes that all slices have in common.
#[derive(Debug)]
struct Alike {
    /// The slices that write.
    units: Guard,
    /// What they write, in the order of the stream.
    runs: Vec<SinkRun>,
}

impl Alike {
    /// The most runs that are stored. Slices find more of them by themselves.
    const RUNS: usize = 1 << 14;

    /// The writes of a sink. `None`: slices differ, there are too many runs, or slices
    /// write all lanes of all packets, which takes no search.
    fn new(sink: &SinkPlan) -> Option<Self> {
        if sink.live.differs_by_unit() {
            return None;
        }
        let (units, rest) = split_units(sink.live.guard());
        if rest.is_always() && sink.width() == sink.lanes {
            return None;
        }
        let (live, mut mask) = (LiveRows::new(&rest, 4, sink.width()), Vec::new());
        let mut runs: Vec<SinkRun> = Vec::new();
        for t in 0..sink.time {
            sink.packet(&live, &mut [0, 0, 0, t, 0], &mut mask, |run| {
                if !runs.last_mut().is_some_and(|last| last.append(&run)) {
                    runs.push(run);
                }
            });
            if runs.len() > Self::RUNS {
                return None;
            }
        }
        Some(Self { units, runs })
    }
}

/// Runs of a transfer from the stream, in the order of the stream.
fn vrf_runs(transfer: &Transfer, time: usize, lanes: usize) -> Vec<VrfRun> {
    let mut moves = Vec::new();
    transfer.for_each_element(|from, to| moves.push((from as usize, to as usize)));
    moves.sort_unstable();
    let mut runs: Vec<VrfRun> = Vec::new();
    for (from, position) in moves.into_iter().filter(|&(from, _)| from < time * lanes) {
        let (step, lane) = (from / lanes, from % lanes);
        if let Some(run) = runs.last_mut()
            && (run.time, run.lane + run.len) == (step, lane)
        {
            let last = run.position + (run.len - 1) * run.stride;
            if position > last && (run.len == 1 || position - last == run.stride) {
                run.stride = position - last;
                run.len += 1;
                continue;
            }
        }
        runs.push(VrfRun { time: step, lane, len: 1, position, stride: 0 });
    }
    runs
}

/// The first unwritten lane that is live in a slice, among the leading `width` lanes of packets: packet and lane.
/// `flags` are those of the stream. It has packets of `per_flit` elements, and its first packet is number `first`.
pub(crate) fn find_missing(
    live: &LiveRows,
    width: usize,
    (flags, first, per_flit): (&[bool], usize, usize),
    at: Coordinates,
    mask: &mut Vec<bool>,
) -> Option<(usize, usize)> {
    for (time, flags) in (first..).zip(flags.chunks(per_flit.max(1))) {
        if flags.iter().all(|&flag| flag) {
            continue;
        }
        let liveness = live.row(&mut [at.chip, at.cluster, at.slice, time, 0], mask);
        let mut found = None;
        live_runs(liveness, mask, width.min(flags.len()), |start, len| {
            let missing = flags[start..start + len].iter().position(|&flag| !flag);
            found = found.or(missing.map(|lane| start + lane));
        });
        if let Some(lane) = found {
            return Some((time, lane));
        }
    }
    None
}

impl SinkPlan {
    /// Prepares the end of a stream of `time` packets of `lanes` elements. `file`: number of the register file, for
    /// loads of one.
    pub(crate) fn new(sink: &Sink, file: usize, time: usize, lanes: usize) -> Self {
        let (guard, width, target) = match sink {
            Sink::Commit { destination, config, guard, commit_size: _ } => {
                let walk = Walk::new(config);
                let window = (config.positions() / time.max(1)).min(lanes);
                let positions = config.positions();
                // A packet is contiguous if one run holds it. Then its start is enough.
                let mut contiguous = true;
                walk.for_each(0..window, |run| {
                    contiguous &= run.len == window && (run.stride == 1 || window == 1)
                });
                let whole = window == lanes && guard.is_always();
                let starts = (contiguous && !whole).then(|| walk.positions(0..positions, window.max(1)));
                let bits = destination.footprint.element.bits() as i64;
                let byte =
                    |position: isize| destination.address as i64 + (position as i64 * bits).div_euclid(8);
                let bytes = byte(config.first())..byte(config.last()) + (bits + 7) / 8;
                let is_all = destination.part == Part::WHOLE && positions == destination.footprint.elements;
                let target =
                    Target::Commit { region: *destination, walk, window, starts, bytes, whole: is_all };
                (guard, window, target)
            }
            Sink::Trf { destination, guard } => (guard, lanes, Target::Trf(*destination, file)),
            Sink::Vrf { destination, transfer, guard } => {
                let runs = vrf_runs(transfer, time, lanes);
                (guard, lanes, Target::Vrf { region: *destination, runs })
            }
        };
        let live = LiveRows::new(guard, 4, width);
        Self { target, live, lanes, time, alike: OnceLock::new(), beginning: None }
    }

    /// The sink of a tensor that begins with it: unwritten elements become uninitialised.
    pub(super) fn begins(mut self) -> Self {
        let place = match &self.target {
            Target::Commit { region, .. } | Target::Vrf { region, .. } => Place::Region(*region),
            Target::Trf(region, _) => Place::Trf(*region),
        };
        let runs = place.unit_runs();
        self.beginning = Some((place, runs));
        self
    }

    /// Tells if unwritten elements become uninitialised.
    pub(super) fn is_beginning(&self) -> bool {
        self.beginning.is_some()
    }

    /// Tells if the tensor can have an element in a slice.
    pub(super) fn holds(&self, at: Coordinates) -> bool {
        let units = [at.chip, at.cluster, at.slice];
        match &self.target {
            Target::Commit { region, .. } | Target::Vrf { region, .. } => {
                let Footprint { chips, clusters, slices, guard, .. } = &region.footprint;
                at.chip < *chips && at.cluster < *clusters && at.slice < *slices && guard.may_hold(&units)
            }
            Target::Trf(region, _) => region.guard.may_hold(&units),
        }
    }

    /// Makes a tensor that begins with this sink uninitialised in a slice.
    pub(super) fn begin(&self, at: Coordinates, unit: &mut Unit) {
        let Some((place, runs)) = &self.beginning else { return };
        if !self.holds(at) {
            return;
        }
        let mut forget = |bytes: &Range<u64>| {
            let bytes = bytes.start as usize..bytes.end as usize;
            match &self.target {
                Target::Commit { .. } => unit.dm.forget(bytes),
                Target::Vrf { .. } => unit.vrf.forget(bytes),
                Target::Trf(_, file) => {
                    let second = planes::PLANE_BYTES as usize;
                    unit.trf_mut(*file).forget(bytes.start + second..bytes.end + second);
                    unit.trf_mut(*file).forget(bytes);
                }
            }
        };
        match runs {
            Some(runs) => runs.of(at).iter().for_each(forget),
            None => {
                for span in place.spans() {
                    place.live_bytes(at, &span, |bytes| forget(&bytes));
                }
            }
        }
    }

    /// Number of leading lanes of each packet that are written.
    pub(crate) fn width(&self) -> usize {
        match &self.target {
            Target::Commit { window, .. } => *window,
            Target::Trf(..) | Target::Vrf { .. } => self.lanes,
        }
    }

    /// Pieces of `bytes` bytes of a stream of type `element` in DM, if each piece is written there unchanged.
    pub(super) fn packets(&self, element: ElementType, bytes: usize) -> Option<Packets> {
        let Target::Commit { region, walk, window, .. } = &self.target else { return None };
        let is_whole = *window == self.lanes || *window * element.bits() == bytes * 8;
        if !is_whole || region.footprint.element != element {
            return None;
        }
        let starts = walk.addresses(self.time * window, bytes, region.address, element.bits())?;
        Packets::of(starts, bytes)
    }

    /// The tensor and the number of the register file that is loaded. `None`: none is.
    pub(super) fn register_file(&self) -> Option<(&TrfRegion, usize)> {
        match &self.target {
            Target::Trf(region, file) => Some((region, *file)),
            Target::Commit { .. } | Target::Vrf { .. } => None,
        }
    }

    /// Smallest number of contiguous bytes where the stream is written to DM, and the number of leading bytes of each
    /// packet that are written.
    pub(super) fn run_bytes(&self) -> Option<(usize, usize)> {
        let Target::Commit { region, walk, window, .. } = &self.target else { return None };
        let bits = region.footprint.element.bits();
        let is_whole = *window > 0 && (window * bits).is_multiple_of(8);
        is_whole.then_some((walk.neighbours() * bits / 8, window * bits / 8))
    }

    /// End of the tensor that is written to DM. 0: there is none.
    pub(super) fn end(&self) -> usize {
        match &self.target {
            Target::Commit { region, .. } => region.end() as usize,
            Target::Trf(..) | Target::Vrf { .. } => 0,
        }
    }

    /// True if all leading lanes of all packets are written in a slice, false if none are. `None`: some are.
    pub(super) fn takes(&self, at: Coordinates) -> Option<bool> {
        match self.live.of_rows(&mut [at.chip, at.cluster, at.slice, 0, 0])? {
            Liveness::All => Some(true),
            Liveness::Nothing => Some(false),
            Liveness::Some => None,
        }
    }

    /// Tells if a byte of a range of DM may be written.
    pub(crate) fn writes(&self, range: &Range<usize>) -> bool {
        let Target::Commit { bytes, .. } = &self.target else { return false };
        bytes.start < range.end as i64 && (range.start as i64) < bytes.end
    }

    /// The lanes that hold an element.
    pub(crate) fn live(&self) -> &LiveRows {
        &self.live
    }

    /// Number of packets of the stream.
    pub(crate) fn time(&self) -> usize {
        self.time
    }

    /// Tells if some slice may write lanes of a packet past the leading ones.
    pub(crate) fn may_take_padding(&self, leading: impl Fn(usize) -> usize) -> bool {
        self.live.may_exceed(self.time, self.width(), leading)
    }

    /// The first live lane of a packet that lies past its filled lanes.
    pub(crate) fn first_live_lane(
        &self,
        units: impl Iterator<Item = Coordinates>,
        filled: impl Fn(usize) -> usize,
    ) -> Option<(Coordinates, usize, usize)> {
        let width = self.width();
        let short: Vec<usize> = (0..self.time).filter(|&time| filled(time) < width).collect();
        let mut mask = Vec::new();
        for at in units {
            let mut variables = [at.chip, at.cluster, at.slice, 0, 0];
            if self.live.of_unit(&mut variables) == Some(Liveness::Nothing) {
                continue;
            }
            for &time in &short {
                variables[3] = time;
                let liveness = self.live.row(&mut variables, &mut mask);
                let (filled, mut found) = (filled(time), None);
                live_runs(liveness, &mask, width, |start, len| {
                    let lane = start.max(filled);
                    found = found.or((lane < start + len).then_some(lane));
                });
                if let Some(lane) = found {
                    return Some((at, time, lane));
                }
            }
            if !self.live.differs_by_unit() {
                return None;
            }
        }
        None
    }

    /// Visits where neighbouring elements of the stream go: live lanes of one packet, or of several if a packet is
    /// written as a whole.
    fn runs(&self, elements: Range<usize>, mut visit: impl FnMut(SinkRun)) {
        if elements.is_empty() {
            return;
        }
        let mut first = elements.start;
        match &self.target {
            Target::Commit { region, walk, window, starts, .. } => {
                let address = region.address;
                let (t, lane) = (first / self.lanes, first % self.lanes);
                if let Some(starts) = starts
                    && lane + elements.len() <= *window
                {
                    let position = starts[t] + lane as i64;
                    return visit(SinkRun { first, address, position, stride: 1, len: elements.len() });
                }
                let number = t * window + lane;
                walk.for_each(number..number + elements.len(), |run| {
                    let (position, stride, len) = (run.position, run.stride, run.len);
                    visit(SinkRun { first, address, position, stride, len });
                    first += len;
                });
            }
            Target::Trf(region, _) => {
                let end = elements.end.min(region.rows * region.row_elements);
                while first < end {
                    let (row, element) = (first / region.row_elements, first % region.row_elements);
                    let last = (element + end - first).min(region.row_elements);
                    for run in trf::runs(region, row, element..last) {
                        let (address, position, len) = (run.address, run.position as i64, run.len);
                        visit(SinkRun { first, address, position, stride: 1, len });
                        first += len;
                    }
                }
            }
            Target::Vrf { region, runs } => {
                let place = |run: &VrfRun| run.time * self.lanes + run.lane;
                let skipped = runs.partition_point(|run| place(run) + run.len <= elements.start);
                for run in runs[skipped..].iter().take_while(|run| place(run) < elements.end) {
                    let (from, to) =
                        (place(run).max(elements.start), (place(run) + run.len).min(elements.end));
                    visit(SinkRun {
                        first: from,
                        address: region.address,
                        position: (run.position + (from - place(run)) * run.stride) as i64,
                        stride: run.stride.max(1),
                        len: to - from,
                    });
                }
            }
        }
    }

    /// Visits where the live lanes of a packet go: of the packet, and in the slice, of the variables.
    fn packet(
        &self,
        live: &LiveRows,
        variables: &mut [usize; 5],
        mask: &mut Vec<bool>,
        mut visit: impl FnMut(SinkRun),
    ) {
        let start = variables[3] * self.lanes;
        let liveness = live.row(variables, mask);
        live_runs(liveness, mask, self.width(), |lane, len| {
            self.runs(start + lane..start + lane + len, &mut visit);
        });
    }

    /// Writes the stream of a slice.
    pub(crate) fn run(&self, stream: &Row, at: Coordinates, unit: &mut Unit, mask: &mut Vec<bool>) {
        self.begin(at, unit);
        let time = self.time.min(stream.len() / self.lanes.max(1));
        let mut variables = [at.chip, at.cluster, at.slice, 0, 0];
        let all = match self.live.of_unit(&mut variables) {
            Some(Liveness::Nothing) => return,
            all => all == Some(Liveness::All),
        };
        match &self.target {
            Target::Commit { region, whole, .. } => {
                let (address, end) = (region.address, region.end());
                if *whole && !all {
                    // Packets are written with their padding, whose values are undefined.
                    unit.dm.forget(address as usize..end as usize);
                }
                self.each(time, all, variables, mask, |run| {
                    stream.write(run.first, &mut unit.dm, run.line(), end)
                });
            }
            Target::Trf(_, file) => {
                // Types that memories do not hold have a second plane.
                let planes = planes::split(stream);
                let planes = planes.as_ref().map_or(core::slice::from_ref(stream), |planes| &planes[..]);
                self.each(time, all, variables, mask, |mut run| {
                    for plane in planes {
                        plane.write(run.first, unit.trf_mut(*file), run.line(), 0);
                        run.address += planes::PLANE_BYTES;
                    }
                });
            }
            Target::Vrf { region, .. } => {
                let end = region.end();
                self.each(time, all, variables, mask, |run| {
                    stream.write(run.first, &mut unit.vrf, run.line(), end)
                });
            }
        }
    }

    /// Visits the runs that a slice writes of `time` packets. `all`: every lane is live.
    fn each(
        &self,
        time: usize,
        all: bool,
        mut variables: [usize; 5],
        mask: &mut Vec<bool>,
        mut visit: impl FnMut(SinkRun),
    ) {
        if let Some(Alike { units, runs }) = self.alike.get_or_init(|| Alike::new(self))
            && time == self.time
        {
            if units.holds(&variables) {
                runs.iter().for_each(|&run| visit(run));
            }
        } else if all && self.width() == self.lanes {
            self.runs(0..time * self.lanes, visit);
        } else {
            for t in 0..time {
                variables[3] = t;
                self.packet(&self.live, &mut variables, mask, &mut visit);
            }
        }
    }
}

#[cfg(test)]
mod tests;
