//! Loads that give many slices the same bytes, before a pass that brings these to the register files.
//!
//! ```text
//!   as it is    HBM ──to_dm──▶ the same in 256 slices, one after another ──fetch──▶ register files
//!   as timed    HBM ──to_dm──▶ a part in each of 64 slices ──fetch, switch_to──▶ register files
//! ```
//!
//! Parts are digits that are outermost or innermost in the time of the pass: the Switch Engine brings them back to these
//! places, and nothing behind it changes. The forms that the rules accept are timed; the one with the fewest cycles of load
//! and pass is the hint.
//!
//! Copies need axes that their stream does not have elsewhere. Where an axis of the data is cut into clusters and slices, it
//! becomes two axes: one of the clusters, and one of what is below.

use super::moved::{Moved, Moves};
use super::slices::{self, Edit, Kernel, Other};
use super::{Candidate, Change, HintKind, Line, LineKey, Program, pass};
use furiosa_visa_clock::hazards::{Access, OperationNumber};
use furiosa_visa_clock::numbers::Number;
use furiosa_visa_clock::occasions::{key, order};
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_rules::command::{ContextKind, FillId, MemoryKind, TrfAddress, switch_cycles};
use furiosa_visa_rules::engine::switch::{SwitchRequest, derive_switch_to};
use furiosa_visa_rules::lower::{Stream, Tensor};
use furiosa_visa_rules::mapping::digits::{
    Digit, Part, Parts, expr_of, innermost, live, parts_of, refine, size_of, split_axis, with_axis, without,
};
use furiosa_visa_rules::mapping::{Axis, Expr};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::FLIT_BYTES;
use furiosa_visa_rules::tensor::Shape;
use furiosa_visa_rules::text::grouped;
use litemap::LiteMap;
use std::collections::HashMap;

/// Maximum number of legal forms that are timed, and of loads of a line that are looked at for an edit of the kernel.
const FORMS: usize = 12;

/// A load, and the pass that reads what it has loaded.
struct Shared<'a> {
    load: &'a Record,
    pass: &'a Record,
    /// The load as it is, and in the slices of the edit.
    as_it_is: Moved,
    moved: Moved,
    /// Type of the elements in the stream.
    element_type: ElementType,
    /// The mappings of a unit of the register file that the pass fills. Empty: the pass streams what it reads.
    file: Vec<&'static Expr>,
}

/// The load and the pass in another form.
#[derive(Clone)]
struct Form {
    /// Cycles of the load, of a bitmap of the routers, and of the pass.
    cycles: [u64; 3],
    /// Number of slices of a cluster that get the same, and their bytes.
    copies: usize,
    bytes: usize,
    changes: Vec<Change>,
    /// True if an axis becomes two.
    splits: bool,
}

impl Form {
    /// Cause, edit and changes, for a pass.
    fn texts(&self, pass: &Record) -> (String, String, Vec<Change>) {
        let bytes = grouped(self.bytes as u64);
        let cause =
            format!("{} slices of a cluster get the same {bytes} bytes, one after another", self.copies);
        let split =
            if self.splits { ", with axes of their own for clusters and for what is below" } else { "" };
        let edit = format!(
            "load each byte once per cluster, and let a switch pass it on in {} of {}{split}",
            pass.operation,
            crate::report::place(pass.location)
        );
        (cause, edit, self.changes.clone())
    }
}

/// Stream of a pass: type, then time and packet, and the same behind a switch to these slices.
struct Flow {
    element_type: ElementType,
    fetch: [&'static Expr; 2],
    switch: Option<[&'static Expr; 2]>,
    sub_context: bool,
}

impl Flow {
    /// The cycles of a bitmap and of the pass from a tensor in DM. `None`: a rule refuses it.
    fn cycles(&self, there: Shape, shared: &Shared<'_>, moves: &mut Moves) -> Option<[u64; 2]> {
        let tensor = Tensor::new(there, 0, FillId(1)).ok()?;
        let [time, packet] = self.fetch;
        let stream =
            Stream::begin(&tensor, self.sub_context).ok()?.fetch(self.element_type, time, packet).ok()?;
        let (stream, time) = match self.switch {
            Some([slice, time]) => (stream.switch(None, slice, time).ok()?, time),
            None => (stream, time),
        };
        let stream = stream.collect(time, packet).ok()?;
        let operation = match *shared.file {
            [row, element] => stream.to_trf(row, element, TrfAddress::Full, FillId(2)).ok()?.0,
            [element] => stream.to_vrf(element, 0, FillId(2)).ok()?.0,
            _ => return self.cycles_of_stream(there, shared, moves),
        };
        let time = moves.clock().time(&operation);
        Some([time.bitmap.map_or(0, |bitmap| bitmap.cycles), time.cycles()])
    }

    /// The same of a pass whose other stages stay as they are.
    fn cycles_of_stream(&self, there: Shape, shared: &Shared<'_>, moves: &mut Moves) -> Option<[u64; 2]> {
        let [slice, time] = self.switch?;
        let others = [there.chip, there.cluster, self.fetch[1]];
        let request = SwitchRequest { others, ..SwitchRequest::new(there.slice, self.fetch[0], slice, time) };
        let switch = derive_switch_to(&request).ok()?.switch;
        let cycles = switch_cycles(switch.ring_size as u64, switch.in_time as u64, FLIT_BYTES as u64);
        let parts = time.size() / self.fetch[0].size();
        let bitmap = moves.clock().model().cost(Number::SwitchBitmap, 1).cycles;
        let before = if switch.loads_bitmap() { bitmap } else { 0 };
        Some([before, pass::with_switch(shared.pass, parts as u64, cycles)?])
    }

    fn text(&self) -> String {
        let [time, packet] = self.fetch;
        let fetch = format!("fetch::<{}, m![{time}], m![{packet}]>()", self.element_type);
        match self.switch {
            Some([slice, time]) => format!("{fetch}.switch_to::<m![{slice}], m![{time}]>()"),
            None => fetch,
        }
    }
}

/// Slices of copies, and mappings that name no axis twice.
struct Copies {
    /// Parts of the slices outside and inside of the copies.
    outer: Parts,
    inner: Parts,
    /// Number of slices in the place of copies, and of those that get one.
    count: usize,
    live: usize,
    cluster: &'static Expr,
    slice: &'static Expr,
    /// The axis that becomes two.
    split: Option<(Axis, [Axis; 2])>,
}

impl Copies {
    /// The copies of a load. `None`: there are none, or they are in several places.
    fn of(moved: &Moved) -> Option<Self> {
        let [source, destination] = &moved.ends;
        let held = parts_of(source.shape.element)?;
        let is_copy = |part: &Part| match part.digit {
            Some(digit) => !held.iter().any(|held| held.digit.is_some_and(|held| held.axis == digit.axis)),
            None => true,
        };
        let parts = parts_of(destination.shape.slice)?;
        let has_digit = |part: &Part| is_copy(part) && part.digit.is_some();
        let [first, last] = [parts.iter().position(has_digit)?, parts.iter().rposition(has_digit)?];
        // Slices beside them that hold nothing can have a part of the copies, too.
        let first = parts[..first].iter().rposition(|part| !is_copy(part)).map_or(0, |own| own + 1);
        let last = last + parts[last + 1..].iter().take_while(|part| is_copy(part)).count();
        let (outer, copies, inner) = (&parts[..first], &parts[first..=last], &parts[last + 1..]);
        if !copies.iter().all(is_copy) {
            return None;
        }
        let (mut slices, mut clusters) = (parts.clone(), parts_of(destination.shape.cluster)?);
        let mut split = None;
        for cluster in &mut clusters {
            let Some(digit) = cluster.digit.filter(|digit| copies.iter().any(|copy| has_axis(copy, digit)))
            else {
                continue;
            };
            let axes = split_axis(digit.axis, digit.stride)?;
            cluster.digit = Some(Digit::above(axes[0], 1));
            for slice in slices.iter_mut().filter(|slice| has_axis(slice, &digit)) {
                let own = slice.digit?;
                own.period().filter(|end| *end <= axes[1].size)?;
                slice.digit = Some(own.of_axis(axes[1]));
            }
            split = Some((digit.axis, axes));
        }
        Some(Self {
            outer: outer.to_vec(),
            inner: inner.to_vec(),
            count: size_of(copies),
            live: size_of(&live(copies)),
            cluster: split.map_or(destination.shape.cluster, |_| expr_of(&clusters, 1)),
            slice: split.map_or(destination.shape.slice, |_| expr_of(&slices, 1)),
            split,
        })
    }

    /// Slices in which parts are in the place of copies. Slices without a part are outside or inside of them.
    fn slices(&self, parts: &[Part], is_apart: bool) -> Option<&'static Expr> {
        let unused =
            Part { digit: None, size: self.count.checked_div(size_of(parts)).filter(|size| *size > 0)? };
        let there = if is_apart { [parts, &[unused]].concat() } else { [&[unused], parts].concat() };
        Some(expr_of(&[self.outer.clone(), there, self.inner.clone()].concat(), 1))
    }
}

fn has_axis(part: &Part, digit: &Digit) -> bool {
    part.digit.is_some_and(|own| own.axis == digit.axis)
}

impl<'a> Shared<'a> {
    fn of(load: &'a Record, pass: &'a Record) -> Option<Self> {
        let moved = Moved::of(load)?;
        let written = pass.accesses.iter().find(|access| access.write)?;
        let [_, cluster, slice, ref unit @ ..] = written.tensor.mappings.known()[..] else { return None };
        let used = pass.amount.pass?;
        let is_stream =
            pass.accesses.first().is_some_and(|first| first.tensor.fill == load.accesses[1].tensor.fill);
        let only_loads = used.contraction.is_none() && pass.amount.vector.is_none();
        let file = match written.memory {
            MemoryKind::Trf | MemoryKind::Vrf if only_loads => unit.to_vec(),
            MemoryKind::Dm if used.in_order && is_stream => Vec::new(),
            _ => return None,
        };
        let shape = moved.ends[1].shape;
        let is_same = (cluster, slice) == (shape.cluster, shape.slice);
        let shared = Self { load, pass, as_it_is: moved, moved, element_type: used.element, file };
        (is_same && !used.crosses_slices).then_some(shared)
    }

    /// The same in other slices.
    fn with_slices(mut self, slice: &'static Expr) -> Self {
        self.moved.ends[1].shape.slice = slice;
        self
    }

    /// The form with the fewest cycles. `None`: none is shorter.
    fn best(&self, moves: &mut Moves) -> Option<Form> {
        let copies = Copies::of(&self.moved).filter(|copies| copies.count > 1)?;
        let shape = self.moved.ends[1].shape;
        let flit = 8 * FLIT_BYTES / self.element_type.bits();
        let streamed = [shape.element];
        let units = if self.file.is_empty() { &streamed[..] } else { &self.file };
        let units: Parts = units.iter().map(|unit| parts_of(unit)).collect::<Option<Vec<_>>>()?.concat();
        let [times, packet] = innermost(&units, flit)?;
        let plain = Flow {
            element_type: self.element_type,
            fetch: [expr_of(&times, 1), expr_of(&packet, 1)],
            switch: None,
            sub_context: self.pass.context == ContextKind::Sub,
        };
        let took = self.load.timing.cycles() + self.pass.timing.cycles();
        let mut best: Option<Form> = None;
        let mut legal = 0;
        for (outermost, innermost) in cuts(copies.count, &times) {
            let Some([first, between, last]) = cut(&times, outermost, innermost) else { continue };
            let parts = [first, last].concat();
            // Fewer parts may leave slices than there are slices.
            let slots = padded(&parts);
            let mut lists = [parts_of(shape.element)?, parts.clone()];
            if refine(&mut lists).is_none() {
                continue;
            }
            let [element, moving] = lists;
            let rest = without(&element, &moving);
            if size_of(&rest) * size_of(&parts) != size_of(&element) {
                continue;
            }
            for is_apart in [true, false] {
                if !is_apart && size_of(&slots) == copies.count {
                    continue;
                }
                let Some(slice) = copies.slices(&slots, is_apart) else { continue };
                let element = expr_of(&rest, 1);
                let flow = Flow {
                    fetch: [expr_of(&between, 1), plain.fetch[1]],
                    switch: Some([copies.slice, plain.fetch[0]]),
                    ..plain
                };
                let there = Shape { cluster: copies.cluster, slice, element, ..shape };
                let Some([bitmap, pass]) = flow.cycles(there, self, moves) else { continue };
                let mut edited = self.moved;
                (edited.ends[1].shape.slice, edited.ends[1].shape.element) = (slice, element);
                let Some(load) = moves.edited(self.load, &self.as_it_is, &edited) else { continue };
                legal += 1;
                if load + bitmap + pass < best.as_ref().map_or(took, |best| best.cycles.iter().sum()) {
                    let bytes = (shape.element.size() * shape.element_type.bits()).div_ceil(8);
                    let changes = self.changes(&copies, there, [&plain, &flow]);
                    let splits = copies.split.is_some();
                    best = Some(Form {
                        cycles: [load, bitmap, pass],
                        copies: copies.live,
                        bytes,
                        changes,
                        splits,
                    });
                }
            }
            if legal >= FORMS {
                break;
            }
        }
        best
    }

    fn changes(&self, copies: &Copies, there: Shape, [plain, flow]: [&Flow; 2]) -> Vec<Change> {
        let to_dm = |shape: Shape| {
            format!("to_dm::<m![{}], m![{}], m![{}]>", shape.cluster, shape.slice, shape.element)
        };
        let axes = copies.split.map(|(axis, [clusters, below])| Change {
            before: format!("axes![{} = {}]", axis.name, axis.size),
            after: format!("axes![{} = {}, {} = {}]", clusters.name, clusters.size, below.name, below.size),
        });
        let load = Change { before: to_dm(self.as_it_is.ends[1].shape), after: to_dm(there) };
        let pass = Change { before: plain.text(), after: flow.text() };
        axes.into_iter().chain([load, pass]).collect()
    }
}

/// A list with as many positions as a power of two, if its outermost digit can be padded so.
fn padded(parts: &[Part]) -> Parts {
    let (mut padded, all) = (parts.to_vec(), size_of(parts).next_power_of_two());
    if let Some(first) = padded.first_mut()
        && all.is_multiple_of(size_of(parts) / first.size)
    {
        first.size = all / (size_of(parts) / first.size);
    }
    padded
}

/// Numbers of values that are taken from the outermost and from the innermost end of time: many slices first.
fn cuts(copies: usize, times: &[Part]) -> Vec<(usize, usize)> {
    let steps = size_of(times);
    let powers = |most: usize| (0..).map(|bits| 1usize << bits).take_while(move |size| *size <= most);
    let mut cuts: Vec<(usize, usize)> = powers(copies)
        .flat_map(|outermost| powers(copies / outermost).map(move |innermost| (outermost, innermost)))
        .filter(|(outermost, innermost)| steps.is_multiple_of(outermost * innermost))
        .collect();
    // Whole digits, of which some slices have none.
    cuts.extend((0..times.len()).map(|first| (1, size_of(&times[first..]))));
    cuts.retain(|(outermost, innermost)| {
        let all = (outermost * innermost).next_power_of_two();
        all > 1 && all <= copies && copies.is_multiple_of(all)
    });
    sorting::by_key(&mut cuts, |(outermost, innermost)| {
        core::cmp::Reverse((outermost * innermost, *innermost))
    });
    cuts.dedup();
    cuts
}

/// The outermost and the innermost values of a list, and what is between them.
fn cut(parts: &[Part], outermost: usize, last: usize) -> Option<[Parts; 3]> {
    let [rest, last] = innermost(parts, last)?;
    let [first, between] = innermost(&rest, size_of(&rest) / outermost)?;
    Some([first, between, last])
}

/// The passes that read each load of a kernel, by the fill of its tensor. `None`: something else reads it, too.
type Readers<'a> = HashMap<FillId, Option<Vec<&'a Record>>>;

fn readers<'a>(records: &[&'a Record]) -> Readers<'a> {
    let mut readers: Readers<'a> = HashMap::new();
    for record in records {
        let in_dm = |access: &&Access| access.memory == MemoryKind::Dm && !access.write;
        for access in record.accesses.iter().filter(in_dm) {
            let known = readers.entry(access.tensor.fill).or_insert_with(|| Some(Vec::new()));
            match (&record.timing, &mut *known) {
                (Timing::TensorUnit(_), Some(passes)) => passes.push(record),
                _ => *known = None,
            }
        }
    }
    readers
}

/// The candidates of all lines that load copies.
pub(super) fn of_kernels<'a>(program: &Program<'_>, moves: &mut Moves) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    for (_, kernel) in Kernel::all(program) {
        let readers = readers(&kernel.records);
        let mut lines: Vec<LineKey> = kernel.records.iter().map(|record| key(record)).collect();
        sorting::ascending(&mut lines);
        lines.dedup();
        for line in lines {
            let own = (line, &program.lines[&line]);
            let plain = of_line(own, &readers, None, moves);
            let mut edits = vec![copies_innermost as fn(&Record) -> Option<Around>];
            if plain.is_none() {
                edits.push(whole_axis);
            }
            found.extend(plain);
            for edit in edits {
                if let Some(around) = own.1.records.iter().take(FORMS).find_map(|load| edit(load))
                    && let Some(cycles) = around.edit.cycles(&kernel, moves)
                {
                    found.extend(of_line(own, &readers, Some((around, cycles)), moves));
                }
            }
        }
    }
    found
}

/// An edit of a whole kernel that comes before that of a load.
struct Around {
    edit: Edit,
    /// Slices as they are, and with the edit.
    slices: [&'static Expr; 2],
    /// Words behind those of the edit of the load.
    words: String,
}

/// Copies that are as many as their axis, which no switch pads.
fn whole_axis(load: &Record) -> Option<Around> {
    let moved = Moved::of(load)?;
    let shape = moved.ends[1].shape;
    let is_ragged = |part: &Part| {
        let digit = part.digit?;
        (digit.period().is_none() && size_of(&live(&[*part])) < part.size).then_some((digit, part.size))
    };
    let (digit, size) = parts_of(shape.slice)?.iter().find_map(is_ragged)?;
    let is_elsewhere = parts_of(shape.cluster)?.iter().any(|part| has_axis(part, &digit));
    if is_elsewhere || parts_of(moved.ends[0].shape.element)?.iter().any(|part| has_axis(part, &digit)) {
        return None;
    }
    let (from, to) = (digit.axis, Axis { size: digit.stride * size, ..digit.axis });
    let slices = [shape.slice, with_axis(shape.slice, from, to)];
    let words = format!(
        "; `{}` has {} coordinates then, and the host fills those of {}..{}",
        to.name, to.size, from.size, to.size
    );
    Some(Around { edit: Edit::Axis { from, to }, slices, words })
}

/// Slices with copies next to each other.
fn copies_innermost(load: &Record) -> Option<Around> {
    let moved = Moved::of(load)?;
    let copies = Copies::of(&moved).filter(|copies| !copies.inner.is_empty())?;
    let before = moved.ends[1].shape.slice;
    let parts = parts_of(before)?;
    let there = &parts[copies.outer.len()..parts.len() - copies.inner.len()];
    let slice = expr_of(&[&copies.outer, &copies.inner, there].concat(), 1);
    Some(Around { edit: Edit::slices(before, slice)?, slices: [before, slice], words: String::new() })
}

/// The candidate of a line of loads, in a kernel that is as it is, or has an edit.
fn of_line<'a>(
    (line_key, line): (LineKey, &Line<'_>),
    readers: &Readers<'_>,
    around: Option<(Around, HashMap<OperationNumber, u64>)>,
    moves: &mut Moves,
) -> Option<Candidate<'a>> {
    let mut known: LiteMap<([*const Expr; 2], u64), Option<Form>> = LiteMap::new();
    let mut texts: Option<(String, String, Vec<Change>)> = None;
    let (around, cycles) = around.map_or((None, HashMap::new()), |(around, cycles)| (Some(around), cycles));
    let mut other = Other { cycles, ..Other::default() };
    for load in &line.records {
        let Some((_, made)) = order::load(load) else { continue };
        let Some(Some(passes)) = readers.get(&made.tensor.fill) else { continue };
        let [pass] = passes[..] else { continue };
        let Some(mut shared) = Shared::of(load, pass) else { continue };
        if let Some(around) = &around {
            shared = shared.with_slices(around.slices[1]);
        }
        let ends = shared.moved.ends.each_ref().map(|end| core::ptr::from_ref(end.shape.element));
        let form = known
            .entry((ends, load.timing.cycles() + pass.timing.cycles()))
            .or_insert_with(|| shared.best(moves));
        let Some(form) = form else { continue };
        let [load_cycles, bitmap, pass_cycles] = form.cycles;
        other.cycles.extend([(load.number, load_cycles), (pass.number, pass_cycles)]);
        if bitmap > 0 {
            other.bitmaps.insert(pass.number, bitmap);
        }
        texts.get_or_insert_with(|| form.texts(pass));
    }
    let (cause, mut edit, mut changes) = texts?;
    if let Some(Around { edit: of_kernel, slices: [before, _], words }) = around {
        changes.splice(0..0, of_kernel.changes(before, &Expr::Identity));
        edit.push_str(&words);
    }
    let kind = (HintKind::BroadcastLoad, line_key, line.operations);
    Some(slices::candidate(kind, (cause, edit), changes, other))
}
