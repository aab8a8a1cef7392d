//! Random sums. Most read inside of their registers.

use crate::reference::random::Random;
use crate::reference::shadow::{Kind, Registers, Sums};

/// Sums of a stream of packets of so many elements, each of so many flits, and so many flits in all.
pub fn random_sums(
    random: &mut Random,
    mut weights: Registers,
    (kind, packet, per_packet, total): (Kind, usize, usize, usize),
) -> Sums {
    if weights.rows == 0 {
        weights.rows = 8;
    }
    weights.rows = weights.rows.min(16);
    let flits = if total.is_multiple_of(2) { random.between(1, 2) } else { 1 };
    let tile = random.pick(&[1, 1, 2, 3]);
    let packets = total / flits;
    let steps = packets * tile;
    let size = weights.kind.bytes();
    // Cells of a packet, of either type.
    let cells = flits * 32 / size.max(kind.bytes());
    let whole = weights.row_elements.min(cells).max(1);
    let read = 1 << random.between(0, whole.ilog2() as usize);
    let step = (read * size) as isize;
    let first = random.below((weights.row_elements / read).max(1)) * read * size;
    let (first_read, reads) = match random.below(8) {
        0..3 => (0, vec![(packets, 0), (tile, step)]),
        3 => (0, vec![(packets, step), (tile, 0)]),
        4 => (first, vec![(steps, 0)]),
        5 => (first, vec![(steps, step)]),
        _ => (0, vec![(steps, step)]),
    };
    let reach = steps * read;
    // Most stay inside the tensor.
    let (first_read, reads) = match reach > weights.row_elements && random.chance(85) {
        true => (first, vec![(steps, 0)]),
        false => (first_read, reads),
    };
    let levels = cells.ilog2() as usize;
    // At times into the half of the packet that no flit fills.
    let depth = random.between(0, levels + usize::from(flits == 1));
    let columns = (cells >> depth).clamp(1, 16);
    let columns = if random.chance(30) { (columns / 2).max(1) } else { columns };
    let (slots, slot_count) = match random.below(5) {
        0 => (vec![(steps, 1)], steps),
        1 => (vec![(packets, 1), (tile, 0)], packets),
        2 => (vec![(packets, 0), (tile, 1)], tile),
        _ => (vec![(steps, 0)], 1),
    };
    let slot_count = slot_count + usize::from(random.chance(5));
    let lanes = 32 / kind.bytes();
    let filled = packet.saturating_sub(lanes * (per_packet - 1));
    Sums {
        flits,
        tile,
        steps,
        first_read,
        reads,
        read,
        live_lanes: match random.below(20) {
            0..3 => random.between(1, lanes),
            3 => lanes,
            _ => filled.min(lanes),
        },
        live_flits: if random.chance(10) { random.between(0, total) } else { 1 << 20 },
        computed: if random.chance(10) { random.between(0, steps) } else { 1 << 20 },
        depth,
        columns,
        slots,
        slot_count,
        sequential: random.chance(50),
        weights,
    }
}
