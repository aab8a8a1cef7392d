//! Random axes, mappings, placements and moves from a small deterministic generator.

use super::mapping::{Map, is_injective};
use super::numbers::{ElementType, Number};
use super::tensor::MathTensor;

/// A generator of pseudo-random numbers. Tests print the seed when they fail.
#[derive(Clone, Debug)]
pub struct Random {
    /// The number it was made from.
    pub seed: u64,
    state: u64,
}

impl Random {
    /// The generator of a seed; equal seeds give equal numbers on every machine.
    pub fn new(seed: u64) -> Random {
        // Neighbouring seeds should not give similar first numbers.
        Random { seed, state: (seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 up to, but without, `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.bits() >> 33) % limit as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// Brings the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Axis names and sizes, owned.
pub type Axes = Vec<(String, usize)>;

/// The form that [`Map::parse`] and [`MathTensor::from_fn`] take.
pub fn borrowed(axes: &Axes) -> Vec<(&str, usize)> {
    axes.iter().map(|(name, size)| (name.as_str(), *size)).collect()
}

/// `count` axes, mostly of 1 to 9 coordinates, at times of 12, 15 or 16.
pub fn random_axes(random: &mut Random, count: usize) -> Axes {
    let sizes = [1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 15, 16];
    "ABCDEFGHIJ".chars().take(count).map(|name| (name.to_string(), random.pick(&sizes))).collect()
}

/// The divisors of a number.
pub fn divisors(n: usize) -> Vec<usize> {
    (1..=n).filter(|divisor| n.is_multiple_of(*divisor)).collect()
}

/// A valid expression of all constructors but margins in which each axis occurs at most once, so that it is injective.
pub fn random_map(random: &mut Random, axes: &Axes, depth: usize) -> Map {
    random_tree(random, axes, depth, false)
}

/// As [`random_map`], with margins. What holds one is cut into all of its parts, as they are dead together.
pub fn random_map_with_margins(random: &mut Random, axes: &Axes, depth: usize) -> Map {
    random_tree(random, axes, depth, true)
}

/// A random expression over axes, of at most this depth, with padding in front of operands if there may be margins.
pub fn random_tree(random: &mut Random, axes: &Axes, depth: usize, margins: bool) -> Map {
    if axes.len() > 1 && (depth == 0 || random.chance(50)) {
        let mut order = axes.clone();
        random.shuffle(&mut order);
        let cut = random.between(1, order.len() - 1);
        let right = order.split_off(cut);
        let depth = depth.saturating_sub(1);
        return Map::Pair(
            Box::new(random_tree(random, &order, depth, margins)),
            Box::new(random_tree(random, &right, depth, margins)),
        );
    }
    if depth == 0 {
        return axes.first().map_or(Map::One, |(name, size)| Map::axis(name, *size));
    }
    let inner = random_tree(random, axes, depth - 1, margins);
    let size = inner.size();
    if margins && random.chance(25) && size <= 256 {
        // A composite of one element has the name of an axis.
        let named = inner.elements() > 1 || inner.axes().values().any(|size| *size == 1);
        return inner.margin(if named { random.below(4) } else { 0 }, random.below(4));
    }
    if inner.has_lead() {
        return match random.below(5) {
            0 | 1 => {
                let n = random.pick(&divisors(size));
                let mut parts = vec![inner.stride(n), inner.modulo(n)];
                if random.chance(30) {
                    parts.push(Map::One.pad(random.between(1, 2)));
                }
                random.shuffle(&mut parts);
                Map::sequence(&parts)
            }
            2 if size <= 256 => inner.resize(size + random.below(2)),
            3 if size <= 256 => inner.pad(size.next_multiple_of(random.pick(&[2, 4, 8, 16]))),
            _ => inner,
        };
    }
    match random.below(6) {
        0 => inner.stride(random.pick(&divisors(size))),
        1 => inner.modulo(random.pick(&divisors(size))),
        2 => inner.resize(random.between(1, size + 1)),
        3 if size <= 256 => inner.pad(size + random.between(0, 4)),
        4 if size <= 256 => inner.pad(size.next_multiple_of(random.pick(&[2, 4, 8, 16]))),
        _ => inner,
    }
}

/// Cuts of one axis, or of a group of axes that is padded and cut as a whole.
#[derive(Clone)]
struct Cuts {
    node: Map,
    /// Each divides the next.
    positions: Vec<usize>,
    /// The size is no multiple of the last cut. Then both ends of a move must cut alike.
    ragged: bool,
    /// Dead positions before the node where it is cut. Then it is cut in one way only, or not at all.
    lead: usize,
}

/// Which dead positions before blocks there are. Where both ends of a move cut an axis with dead positions before it,
/// these are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margins {
    /// None.
    None,
    /// Before some axes, which are whole, or cut with these.
    Any,
    /// Few different ones, so that blocks are equal but for their axes.
    Equal,
}

impl Margins {
    /// All kinds, most of them without margins.
    pub const MIXED: [Margins; 6] =
        [Margins::None, Margins::None, Margins::None, Margins::None, Margins::Any, Margins::Equal];

    /// `count` axes: [`random_axes`], or of 1 to 3 coordinates, most of them of 1, where blocks are to be equal.
    pub fn axes(self, random: &mut Random, count: usize) -> Axes {
        let mut axes = random_axes(random, count);
        if self == Margins::Equal {
            axes.iter_mut().for_each(|(_, size)| *size = random.pick(&[1, 1, 2, 2, 3]));
        }
        axes
    }
}

fn random_cuts(random: &mut Random, axes: &Axes, groups: bool, margins: Margins) -> Vec<Cuts> {
    let mut order = axes.clone();
    random.shuffle(&mut order);
    let mut list = Vec::new();
    while let Some((name, size)) = order.pop() {
        let equal = margins == Margins::Equal;
        let member = |random: &mut Random, name: &str, size: usize| {
            let node = Map::axis(name, size);
            if equal && groups { node.margin(random.below(3), random.below(2)) } else { node }
        };
        let mut node = member(random, &name, size);
        let mut chance = usize::from(groups) * if equal { 50 } else { 15 };
        while chance > 0
            && random.chance(chance)
            && let Some((name, size)) = order.pop()
        {
            node = Map::sequence(&[node, member(random, &name, size)]);
            chance = if margins == Margins::None { 0 } else { 30 };
        }
        let chance = match margins {
            Margins::None => 0,
            Margins::Any => 40 * usize::from(node.size() > 1),
            Margins::Equal => 80,
        };
        if chance > 0 && random.chance(chance) {
            let position = random.pick(if equal { &[2, 4] } else { &[2, 3, 4, 8] });
            let lead = random.between(1, if equal { 2 } else { 5 });
            list.push(Cuts { node, positions: vec![position], ragged: true, lead });
            continue;
        }
        let group = matches!(node, Map::Pair(..));
        if (group || random.chance(25)) && node.size() > 1 {
            let position = random.pick(&[2, 3, 4, 8]);
            list.push(Cuts { node, positions: vec![position], ragged: true, lead: 0 });
            continue;
        }
        let mut positions = Vec::new();
        let mut rest = node.size();
        for _ in 0..2 {
            let factor = random.pick(&divisors(rest));
            rest /= factor;
            positions.push(node.size() / rest);
        }
        list.push(Cuts { node, positions, ragged: false, lead: 0 });
    }
    list
}

/// The parts of all nodes, cut at some of the positions, in a random order.
fn random_pieces(random: &mut Random, list: &[Cuts]) -> Vec<Map> {
    let mut pieces = Vec::new();
    for Cuts { node, positions, ragged, lead } in list {
        if *lead > 0 {
            let cut = positions[0];
            // A block of one element is not cut.
            if node.elements() > 1 && random.chance(40) {
                let content = lead + node.size();
                let unit =
                    node.margin(*lead, content.next_multiple_of(cut) + cut * random.below(2) - content);
                pieces.extend([unit.stride(cut), unit.modulo(cut)]);
            } else {
                let (before, after) = (random.pick(&[0, *lead, random.seed as usize % 4]), random.below(3));
                pieces.push(node.margin(before, after));
            }
            continue;
        }
        let mut positions: Vec<usize> =
            positions.iter().copied().filter(|_| *ragged || random.chance(60)).collect();
        positions.dedup();
        positions.retain(|position| *position > 1 && (*ragged || *position < node.size()));
        let mut node = node.clone();
        if let (true, Some(last)) = (*ragged, positions.last()) {
            let padded = node.size().next_multiple_of(*last) + last * random.pick(&[0, 0, 0, 1]);
            if padded > node.size() {
                node = node.pad(padded);
            }
        }
        let mut outer = positions.last().map_or(node.clone(), |last| node.stride(*last));
        if random.chance(15) {
            outer = outer.pad(outer.size() + random.between(1, 2));
        }
        pieces.push(outer);
        for (k, position) in positions.iter().enumerate() {
            let inner = node.modulo(*position);
            pieces.push(if k == 0 { inner } else { inner.stride(positions[k - 1]) });
        }
    }
    random.shuffle(&mut pieces);
    pieces
}

fn random_dims(random: &mut Random, pieces: Vec<Map>, count: usize, groups: bool) -> Vec<Map> {
    let mut members = vec![Vec::new(); count];
    for piece in pieces {
        members[random.below(count)].push(piece);
    }
    let mut dims = Vec::new();
    for parts in members {
        let dim = Map::sequence(&parts);
        let more = random.between(1, 2);
        dims.push(match parts.first() {
            _ if random.chance(85) => dim,
            Some(outermost) if !groups => dim.pad(dim.size() / outermost.size() * (outermost.size() + more)),
            _ => dim.pad(dim.size() + more),
        });
    }
    dims
}

/// `count` mappings that hold every element over `axes` exactly once: the axes are cut, padded and reordered. With
/// `groups`, several axes may be padded and cut as a whole, so that no digits of single axes describe them.
pub fn random_partition(
    random: &mut Random,
    axes: &Axes,
    count: usize,
    groups: bool,
    margins: Margins,
) -> Vec<Map> {
    let cuts = random_cuts(random, axes, groups, margins);
    let pieces = random_pieces(random, &cuts);
    random_dims(random, pieces, count, groups)
}

/// The mapping with dead positions around a single one before or after it, at times.
pub fn with_unit(random: &mut Random, map: Map) -> Map {
    let axis = format!("U{}", random.below(1 << 30));
    let unit = Map::axis(&axis, 1).margin(random.between(0, 2), random.below(2));
    match random.below(6) {
        0 => Map::sequence(&[unit, map]),
        1 => Map::sequence(&[map, unit]),
        _ => map,
    }
}

/// A move of a tensor.
#[derive(Clone, Debug)]
pub struct Move {
    /// Axes of the tensor, and after them those that only the destination has.
    pub axes: Axes,
    /// Number of axes that the tensor has.
    pub tensor_axes: usize,
    /// Placement before.
    pub source: Vec<Map>,
    /// Placement after.
    pub destination: Vec<Map>,
}

/// A legal move of a small tensor between placements of `source` and `destination` dimensions. Both ends cut an
/// axis at divisors of one chain; ragged cuts are the same on both ends. With `groups` see [`random_partition`];
/// such a move is right as a move, but an algebra may refuse what it cannot divide.
pub fn random_move(
    random: &mut Random,
    [source, destination]: [usize; 2],
    broadcast: bool,
    groups: bool,
    margins: Margins,
) -> Move {
    loop {
        let (count, extra) = (random.between(1, 3), usize::from(broadcast && random.chance(60)));
        let axes = margins.axes(random, count + extra);
        let own: Axes = axes[..count].to_vec();
        let cuts = random_cuts(random, &own, groups, margins);
        let pieces = random_pieces(random, &cuts);
        let before = random_dims(random, pieces, source, groups);
        let mut pieces = random_pieces(random, &cuts);
        for (name, size) in &axes[count..] {
            pieces.push(Map::axis(name, *size));
        }
        random.shuffle(&mut pieces);
        let after = random_dims(random, pieces, destination, groups);
        let size = |dims: &[Map]| dims.iter().map(Map::size).product::<usize>();
        if size(&before) <= 2048 && size(&after) <= 4096 {
            return Move { axes, tensor_axes: count, source: before, destination: after };
        }
    }
}

/// A buffer and a stream over it: `[buffer, time, packet]`. Legal or not, but without an axis part twice.
pub fn random_read(random: &mut Random, count: usize) -> (Axes, [Map; 3]) {
    loop {
        let axes = random_axes(random, count);
        let buffer = if random.chance(50) {
            Map::sequence(&random_partition(random, &axes, 1, true, Margins::None))
        } else {
            random_map(random, &axes, 3)
        };
        let mut stream = random_partition(random, &axes, 2, true, Margins::None);
        if random.chance(30) {
            let cut = stream[0].size();
            stream[0] = stream[0].resize(random.between(1, cut));
        }
        let [time, packet] = [stream[0].clone(), stream[1].clone()];
        if buffer.size() <= 512 && time.size() * packet.size() <= 512 && is_injective(&[&time, &packet]) {
            return (axes, [buffer, time, packet]);
        }
    }
}

/// A tensor of finite random numbers. Integers use all codes; reals stay near 1 so that sums are not dominated by
/// one of them, with some zeros of both signs.
pub fn random_tensor(random: &mut Random, element: ElementType, axes: &Axes) -> MathTensor<Number> {
    MathTensor::from_fn(&borrowed(axes), |_, _| {
        if element.is_integer() {
            return element.decode((random.bits() >> 32) as u32);
        }
        if random.chance(5) {
            return Number::Real(if random.chance(50) { -0.0 } else { 0.0 });
        }
        let magnitude = (1.0 + random.below(1024) as f32 / 1024.0) * 2f32.powi(random.below(8) as i32 - 4);
        element.round(Number::Real(if random.chance(50) { -magnitude } else { magnitude }))
    })
}
