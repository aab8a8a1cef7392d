//! Kernels whose tensors lie in other slices, or in both clusters.
//!
//! | edit | slices | passes |
//! |---|---|---|
//! | unused slices between the used ones | `m![S % 64 # 256]` to `m![S % 64, 1 # 4]` | take as long |
//! | half of the slices to the other cluster | `m![1 # 2]`, `m![S]` to `m![S / 128]`, `m![S % 128, 1 # 2]` | take as long |
//! | half of the elements to the other cluster | `m![1 # 2]`, elements `m![T, K]` to `m![T / 4]`, `m![T % 4, K]` | take half |
//!
//! An edit is one of all tensors of a kernel: in DM, and in both register files. Every transfer is derived once more; one
//! that a rule refuses, or a pass that depends on the order of slices, and there is no hint.

use super::moved::{Moved, Moves};
use super::rows::Rows;
use super::{Candidate, Change, HintKind, LineKey, Program, beside, pass};
use furiosa_visa_clock::hazards::{Access, OperationNumber};
use furiosa_visa_clock::occasions::{key, order};
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_clock::schedule::{Resource, Resources, Work};
use furiosa_visa_rules::command::{ContextKind, Memory, MemoryKind};
use furiosa_visa_rules::mapping::digits::{
    Digit, Part, Parts, expr_of, innermost, live, parts_of, size_of, units_of, with_axis,
};
use furiosa_visa_rules::mapping::{Axis, Expr};
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{CLUSTERS, FLIT_BYTES, PE_SLICES, SLICES};
use furiosa_visa_rules::tensor::Shape;
use litemap::LiteMap;
use std::collections::HashMap;

/// Maximum number of layouts of a kernel that are looked at.
const LAYOUTS: usize = 16;

/// Number of mappings before those of a unit.
const UNITS: usize = 3;

/// Mappings of a tensor: chip, cluster, slice, and those of a unit.
type Mappings = Vec<&'static Expr>;

/// The edit of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    /// Slices with these digits get other slices, and cluster 1 if there is a mapping of clusters.
    Slices { digits: Parts, slice: &'static Expr, cluster: Option<&'static Expr> },
    /// An axis has more coordinates, which the host fills.
    Axis { from: Axis, to: Axis },
    /// Half of the values of a digit of elements go to cluster 1.
    Elements { digit: Digit, half: Part },
}

/// A tensor under an edit.
struct Edited {
    mappings: Mappings,
    /// True if a slice has half of its elements.
    halved: bool,
}

/// Slices in a row that hold nothing behind each used one.
pub(super) fn apart(digits: &[Part]) -> Option<&'static Expr> {
    if digits.is_empty() {
        return Some(expr_of(&[Part { digit: None, size: SLICES }], SLICES));
    }
    let used = size_of(digits).next_power_of_two();
    let mut parts = digits.to_vec();
    parts[0].size = used / (size_of(digits) / parts[0].size);
    if size_of(&parts) != used {
        return None;
    }
    parts.push(Part { digit: None, size: SLICES / used });
    Some(expr_of(&parts, SLICES))
}

/// The outermost half of a digit of used slices, and the rest.
fn halves_of_slices(slice: &Expr) -> Option<[Parts; 2]> {
    let digits = units_of(slice)?;
    let used = size_of(&digits);
    if slice.size() != SLICES || !used.is_multiple_of(CLUSTERS) {
        return None;
    }
    let [outer, inner] = innermost(&digits, used / CLUSTERS)?;
    let is_digit = size_of(&outer) == CLUSTERS && outer.iter().all(|part| part.digit.is_some());
    is_digit.then_some([outer, inner])
}

impl Edit {
    /// Unused slices between the used ones.
    pub fn spread(slice: &'static Expr) -> Option<Self> {
        let digits =
            units_of(slice).filter(|digits| slice.size() == SLICES && size_of(digits) <= SLICES / 2)?;
        Some(Self::Slices { slice: apart(&digits)?, digits, cluster: None })
    }

    /// Other slices for those of a mapping.
    pub fn slices(before: &'static Expr, slice: &'static Expr) -> Option<Self> {
        Some(Self::Slices { digits: units_of(before)?, slice, cluster: None })
    }

    /// Half of the used slices to the other cluster.
    pub fn half_of_slices(slice: &'static Expr) -> Option<Self> {
        let [outer, inner] = halves_of_slices(slice)?;
        let cluster = Some(expr_of(&outer, CLUSTERS));
        Some(Self::Slices { slice: apart(&inner)?, digits: units_of(slice)?, cluster })
    }

    /// Half of the values of each digit of the elements of a tensor to the other cluster.
    pub fn halves_of_elements(element: &'static Expr) -> Vec<Self> {
        let parts = parts_of(element).unwrap_or_default();
        let half = |part: &Part| {
            let digit = part.digit.filter(|_| part.size.is_multiple_of(CLUSTERS))?;
            let [half, _] = part.cut(part.size / CLUSTERS).filter(|[half, _]| half.digit.is_some())?;
            Some(Self::Elements { digit, half })
        };
        parts.iter().filter_map(half).collect()
    }

    /// The mappings of a tensor of elements of so many bits under the edit. `None`: it is not legal for them.
    fn of(&self, mappings: &[&'static Expr], bits: usize) -> Option<Edited> {
        let [chip, cluster, slice, ref elements @ ..] = *mappings else { return None };
        let as_it_is = || Some(Edited { mappings: mappings.to_vec(), halved: false });
        match self {
            Self::Slices { digits, slice: other, cluster: None } => {
                if units_of(slice).as_ref() != Some(digits) {
                    // Another layout of the kernel stays.
                    return as_it_is();
                }
                Some(Edited { mappings: [&[chip, cluster, *other], elements].concat(), halved: false })
            }
            Self::Slices { cluster: Some(half), .. } => {
                // No move within DM changes the cluster, so all layouts lose this half of a digit.
                let [own, inner] = halves_of_slices(slice).filter(|_| *cluster == *one_cluster())?;
                let is_same = expr_of(&own, CLUSTERS) == *half;
                let units = [chip, *half, apart(&inner)?];
                is_same.then_some(Edited { mappings: [&units, elements].concat(), halved: false })
            }
            Self::Axis { from, to } => {
                let mappings = mappings.iter().map(|mapping| with_axis(mapping, *from, *to)).collect();
                Some(Edited { mappings, halved: false })
            }
            Self::Elements { digit, half } => {
                let is_one = *cluster == *one_cluster();
                let is_elsewhere = units_of(slice)?.iter().any(|part| part.overlaps(digit));
                if !is_one || is_elsewhere {
                    return None;
                }
                let mut halved = false;
                let mut edited = vec![chip, expr_of(&[*half], CLUSTERS), slice];
                for element in elements {
                    let mut parts = parts_of(element)?;
                    for place in 0..parts.len() {
                        let part = parts[place];
                        if !part.overlaps(digit) {
                            continue;
                        }
                        let [outer, inner] = part.cut(part.size / CLUSTERS)?;
                        let inside = inner.size * size_of(&parts[place + 1..]);
                        // Passes take whole flits of what is left.
                        let is_whole = (inside * bits).is_multiple_of(8 * FLIT_BYTES);
                        if part.digit != Some(*digit) || outer != *half || !is_whole {
                            return None;
                        }
                        parts[place] = inner;
                        halved = true;
                    }
                    edited.push(expr_of(&parts, 1));
                }
                Some(Edited { mappings: edited, halved })
            }
        }
    }

    /// The tensor of a transfer under the edit. `None`: it is not legal for it.
    fn of_shape(&self, shape: Shape) -> Option<Shape> {
        let known = [shape.chip, shape.cluster, shape.slice, shape.element];
        let [chip, cluster, slice, element] = self.of(&known, shape.element_type.bits())?.mappings[..] else {
            return None;
        };
        Some(Shape { chip, cluster, slice, element, ..shape })
    }

    /// Cycles of all operations of a kernel that change. `None`: the edit is not legal for all of them.
    pub fn cycles(&self, kernel: &Kernel<'_>, moves: &mut Moves) -> Option<HashMap<OperationNumber, u64>> {
        let mut cycles = HashMap::new();
        for alike in &kernel.alike {
            if let Some(after) = self.cycles_of(alike.first()?, moves)? {
                cycles.extend(alike.iter().map(|record| (record.number, after)));
            }
        }
        Some(cycles)
    }

    /// The same of one operation. `Some(None)`: it takes as long.
    fn cycles_of(&self, record: &Record, moves: &mut Moves) -> Option<Option<u64>> {
        let on_chip = |access: &&Access| access.memory != MemoryKind::Hbm;
        if let Timing::TensorUnit(_) = record.timing {
            let mut halved = [false; 2];
            let mut changes = false;
            for access in record.accesses.iter().filter(on_chip) {
                let known = access.tensor.mappings.known();
                let edited = self.of(&known, access.tensor.element.bits())?;
                changes |= edited.mappings != known;
                if matches!(self, Self::Axis { .. }) && !are_as_long(&known, &edited.mappings)? {
                    // A step for each coordinate of a stream.
                    return None;
                }
                halved[usize::from(access.write)] |= edited.halved;
            }
            if changes && record.amount.pass.is_none_or(|pass| pass.crosses_slices) {
                return None;
            }
            return match halved {
                // A sum over both halves is in two clusters.
                [true, false] => None,
                [_, true] => Some(Some(pass::in_half(record)?)),
                [false, false] => Some(None),
            };
        }
        let Some(moved) = Moved::of(record) else {
            let is_same = |access: &Access| {
                let known = access.tensor.mappings.known();
                self.of(&known, access.tensor.element.bits()).is_some_and(|edited| edited.mappings == known)
            };
            if record.accesses.iter().filter(on_chip).all(is_same) {
                return Some(None);
            }
            // Scatters, copies and fills: how they would be in another layout is not known here.
            let rows = Rows::of(record).filter(|_| matches!(self, Self::Slices { .. }))?;
            let mut places = rows.places;
            for place in places.iter_mut().filter(|place| place.shape.memory == Memory::Dm) {
                place.shape = self.of_shape(place.shape)?;
            }
            return rows.edited(record, places, moves).map(Some);
        };
        let mut edited = moved;
        let is_everywhere = matches!(self, Self::Axis { .. });
        for end in edited.ends.iter_mut().filter(|end| is_everywhere || end.shape.memory == Memory::Dm) {
            end.shape = self.of_shape(end.shape)?;
        }
        moves.edited(record, &moved, &edited).map(Some)
    }

    /// The slices of other layouts of the kernel that change, too: each loses the same half of a digit.
    fn changes_of_others<'b>(&self, slices: impl Iterator<Item = &'b Expr>) -> Vec<Change> {
        let Self::Slices { digits, cluster: Some(_), .. } = self else { return Vec::new() };
        let mut known = vec![digits.clone()];
        let mut changes = Vec::new();
        for slice in slices {
            let (Some(own), Some([_, inner])) = (units_of(slice), halves_of_slices(slice)) else { continue };
            if let Some(after) = apart(&inner).filter(|_| !known.contains(&own)) {
                changes.push(changed("Slice", slice, after));
                known.push(own);
            }
        }
        changes
    }

    /// The mappings of the kernel that change, in the words of its source.
    pub fn changes(&self, slice: &Expr, element: &Expr) -> Vec<Change> {
        let one = one_cluster();
        match self {
            Self::Slices { slice: other, cluster: None, .. } => vec![changed("Slice", slice, other)],
            Self::Slices { slice: other, cluster: Some(cluster), .. } => {
                vec![changed("Cluster", one, cluster), changed("Slice", slice, other)]
            }
            Self::Axis { from, to } => vec![Change {
                before: format!("axes![{} = {}]", from.name, from.size),
                after: format!("axes![{} = {}]", to.name, to.size),
            }],
            Self::Elements { half, .. } => {
                let chip = &Expr::Identity;
                let element: &'static Expr = expr_of(&parts_of(element).unwrap_or_default(), 1);
                let after = self.of(&[chip, one_cluster(), chip, element], 8 * FLIT_BYTES);
                let after = after.and_then(|edited| edited.mappings.last().copied()).unwrap_or(element);
                vec![changed("Cluster", one, expr_of(&[*half], CLUSTERS)), changed("Element", element, after)]
            }
        }
    }
}

/// True if the mappings of a unit have as many coordinates as others, padding apart.
fn are_as_long(some: &[&Expr], others: &[&Expr]) -> Option<bool> {
    let coordinates = |mapping: &&Expr| Some(size_of(&live(&parts_of(mapping)?)));
    let of = |mappings: &[&Expr]| mappings.iter().skip(UNITS).map(coordinates).collect::<Option<Vec<_>>>();
    Some(of(some)? == of(others)?)
}

/// A mapping of a kernel that changes.
fn changed(what: &str, before: &Expr, after: &Expr) -> Change {
    Change { before: format!("{what} m![{before}]"), after: format!("{what} m![{after}]") }
}

/// A cluster that holds all.
fn one_cluster() -> &'static Expr {
    expr_of(&[Part { digit: None, size: CLUSTERS }], CLUSTERS)
}

/// A layout of a kernel in DM: the mappings of slices and of the elements of a tensor, and its first record.
struct Layout<'a> {
    slice: &'static Expr,
    element: &'static Expr,
    first: &'a Record,
}

fn layouts<'a>(records: &[&'a Record]) -> Vec<Layout<'a>> {
    let mut found: Vec<Layout<'a>> = Vec::new();
    for record in records {
        for access in record.accesses.iter().filter(|access| access.memory == MemoryKind::Dm) {
            let [_, _, slice, element] = access.tensor.mappings.known()[..] else { continue };
            let is_known = |known: &Layout<'_>| *known.slice == *slice && *known.element == *element;
            if found.len() < LAYOUTS && !found.iter().any(is_known) {
                found.push(Layout { slice, element, first: record });
            }
        }
    }
    found
}

/// The records of a kernel.
#[derive(Default)]
pub(super) struct Kernel<'a> {
    /// All of them, in order.
    pub records: Vec<&'a Record>,
    /// Those of a line with the same mappings and cycles, each in order.
    alike: Vec<Vec<&'a Record>>,
}

impl<'a> Kernel<'a> {
    /// The records of each kernel.
    pub fn all(program: &Program<'a>) -> LiteMap<&'static str, Self> {
        let mut kernels: LiteMap<&'static str, Self> = LiteMap::new();
        for (line, own) in &program.lines {
            let kernel = kernels.entry(line.0).or_default();
            kernel.records.extend(&own.records);
            let mut alike: HashMap<_, Vec<&'a Record>> = HashMap::new();
            for record in &own.records {
                let mappings = record.accesses.iter().flat_map(|access| access.tensor.mappings.known());
                let mappings: Vec<*const Expr> = mappings.map(core::ptr::from_ref).collect();
                alike.entry((mappings, record.timing.cycles())).or_default().push(record);
            }
            kernel.alike.extend(alike.into_values());
        }
        for (_, kernel) in kernels.iter_mut() {
            sorting::by_key(&mut kernel.records, |record| record.number);
            sorting::by_key(&mut kernel.alike, |alike| alike[0].number);
        }
        kernels
    }
}

/// Cause and edit for used slices that are next to each other.
fn spread_texts(used: usize) -> (String, String) {
    let (sharing, engines) = (used.next_power_of_two().div_ceil(PE_SLICES), SLICES / PE_SLICES);
    let cause =
        format!("the {used} used slices of {SLICES} share {sharing} of {engines} DMA engines of a cluster");
    (cause, "leave the unused slices between the used ones".to_string())
}

/// The candidates of all kernels.
pub(super) fn of_kernels<'a>(program: &Program<'_>, moves: &mut Moves) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    for (_, kernel) in Kernel::all(program) {
        let records: Vec<&Record> = kernel.alike.iter().filter_map(|alike| alike.first().copied()).collect();
        let is_pass = |record: &&&Record| matches!(record.timing, Timing::TensorUnit(_));
        let in_cluster = |record: &&Record| record.amount.slices.has_cluster(CLUSTERS - 1);
        let is_idle =
            records.iter().any(|record| is_pass(&record)) && !records.iter().filter(is_pass).any(in_cluster);
        let mut edits: Vec<(Edit, HintKind, (String, String), Layout<'_>)> = Vec::new();
        let layouts = layouts(&records);
        for &Layout { slice, element, first } in &layouts {
            let mut add = |edit: Edit, kind, texts| {
                if !edits.iter().any(|(known, ..)| *known == edit) {
                    edits.push((edit, kind, texts, Layout { slice, element, first }));
                }
            };
            if let (Some(edit), Some(used)) = (Edit::spread(slice), units_of(slice)) {
                add(edit, HintKind::UnusedSlices, spread_texts(size_of(&used)));
            }
            let halves = |what: &str| {
                let idle = format!("no pass uses cluster 1 of {CLUSTERS}");
                (idle, format!("give half of the {what} to the other cluster"))
            };
            if let Some(edit) = Edit::half_of_slices(slice).filter(|_| is_idle) {
                let (cause, edit_text) = halves("slices");
                add(edit, HintKind::IdleCluster, (cause, edit_text + ", with unused ones between them"));
            }
            for edit in Edit::halves_of_elements(element).into_iter().filter(|_| is_idle) {
                add(edit, HintKind::IdleCluster, halves("elements of each slice"));
            }
        }
        for (edit, kind, texts, layout) in edits {
            let Some(cycles) = edit.cycles(&kernel, moves) else { continue };
            let line = key(layout.first);
            let mut changes = edit.changes(layout.slice, layout.element);
            changes.extend(edit.changes_of_others(layouts.iter().map(|layout| layout.slice)));
            found.push(candidate(
                (kind, line, program.lines[&line].operations),
                texts,
                changes,
                Other { cycles, ..Other::default() },
            ));
        }
    }
    found
}

/// Cycles of operations that change, and of bitmaps of routers that are written before some of them.
#[derive(Default)]
pub(super) struct Other {
    pub cycles: HashMap<OperationNumber, u64>,
    pub bitmaps: HashMap<OperationNumber, u64>,
}

/// A candidate whose operations take other cycles, some of them more.
pub(super) fn candidate<'a>(
    (kind, line, all): (HintKind, LineKey, u64),
    (cause, edit): (String, String),
    changes: Vec<Change>,
    other: Other,
) -> Candidate<'a> {
    let apply = move |segment: &[&Record], places: &[usize], works: Vec<Work>| {
        let mut edited = Vec::with_capacity(works.len());
        for (mut work, record) in works.into_iter().zip(segment) {
            if let Some(alone) = other.cycles.get(&record.number) {
                work.cycles = beside(record, *alone);
            }
            if let Some(cycles) = other.bitmaps.get(&record.number) {
                edited.push(bitmap(&work, *cycles));
            }
            edited.push(work);
        }
        Some((edited, places.len() as u64))
    };
    Candidate {
        kind,
        line,
        cause,
        edit,
        changes,
        most: u64::MAX,
        all,
        at_banks: false,
        apply: Box::new(apply),
    }
}

/// The bitmap of the routers before a pass, which the DMA engines write through the sub context.
fn bitmap(pass: &Work, cycles: u64) -> Work {
    let resources = Resources::of(pass.context)
        .with(Resource::Context(ContextKind::Sub))
        .with(Resource::Context(ContextKind::TensorDma));
    Work { resources, cycles, ..order::nothing(pass) }
}
