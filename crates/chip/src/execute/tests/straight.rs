//! Tests of passes that move elements inside of each slice, against loops over single elements.

use super::*;

/// Fetched elements as positions of the tensor, one list per flit. A padding lane of a packet is `None`.
fn flits(read: &[i64], packet: usize, lanes: usize) -> Vec<Vec<Option<i64>>> {
    let padded = |packet: &[i64]| {
        let mut all: Vec<Option<i64>> = packet.iter().copied().map(Some).collect();
        all.resize(packet.len().next_multiple_of(lanes), None);
        all
    };
    read.chunks(packet).flat_map(padded).collect::<Vec<_>>().chunks(lanes).map(<[_]>::to_vec).collect()
}

/// Output of the Transpose Engine, by its formula.
fn transposed(transpose: &Transpose, flits: &[Vec<Option<i64>>], lanes: usize) -> Vec<Vec<Option<i64>>> {
    let (packets, kept) = (transpose.packets_per_col(), transpose.kept_elements());
    let out = |packet: usize| {
        let (matrix, column) = (packet / transpose.out_rows, packet % transpose.out_rows);
        let row = |r: usize| flits[(matrix * transpose.in_rows + r) * packets + column / kept][column % kept];
        (0..lanes).map(|lane| (lane < transpose.in_rows).then(|| row(lane)).flatten()).collect()
    };
    (0..transpose.out_time()).map(out).collect()
}

/// One pass. `fetched` and `committed` are entries in elements.
struct Case {
    element: ElementType,
    time: usize,
    packet: usize,
    fetched: &'static [(usize, isize)],
    committed: &'static [(usize, isize)],
    transpose: Option<(usize, usize, usize)>,
}

const fn case(
    element: ElementType,
    (time, packet): (usize, usize),
    fetched: &'static [(usize, isize)],
    committed: &'static [(usize, isize)],
    transpose: Option<(usize, usize, usize)>,
) -> Case {
    Case { element, time, packet, fetched, committed, transpose }
}

const CASES: [Case; 18] = [
    // Unchanged, in another order, with gaps, with more than a flit, and with only the leading bytes of each packet.
    case(I8, (4, 32), &[(4, 32), (32, 1)], &[(4, 32), (32, 1)], None),
    case(I8, (6, 32), &[(3, 32), (2, 96), (32, 1)], &[(2, 96), (3, 32), (32, 1)], None),
    case(I8, (4, 32), &[(4, 32), (32, 1)], &[(4, 40), (32, 1)], None),
    case(I8, (3, 64), &[(3, 64), (64, 1)], &[(3, 128), (2, 32), (32, 1)], None),
    case(I8, (4, 64), &[(2, 64), (2, 128), (64, 1)], &[(2, 128), (2, 64), (2, 32), (32, 1)], None),
    case(I8, (4, 32), &[(4, 32), (32, 1)], &[(4, 24), (24, 1)], None),
    case(Bf16, (4, 16), &[(2, 16), (2, 48), (16, 1)], &[(4, 16), (16, 1)], None),
    case(I4, (4, 64), &[(2, 64), (2, 192), (64, 1)], &[(4, 64), (64, 1)], None),
    // Flits of pieces.
    case(I8, (4, 32), &[(4, 8), (4, 64), (8, 1)], &[(4, 32), (32, 1)], None),
    case(Bf16, (4, 16), &[(4, 16), (16, 1)], &[(4, 4), (4, 24), (4, 1)], None),
    // Packets that collect pads.
    case(I8, (12, 8), &[(3, 8), (4, 24), (8, 1)], &[(12, 8), (8, 1)], None),
    case(F32, (6, 4), &[(2, 4), (3, 8), (4, 1)], &[(6, 4), (4, 1)], None),
    // Matrices: of whole tiles, of parts of tiles, with rows of several flits, with columns that are not committed.
    case(I8, (16, 8), &[(16, 8), (8, 1)], &[(16, 8), (8, 1)], Some((8, 8, 8))),
    case(I8, (16, 32), &[(16, 32), (32, 1)], &[(2, 160), (8, 16), (8, 1)], Some((8, 8, 8))),
    case(I8, (16, 16), &[(16, 16), (16, 1)], &[(10, 24), (8, 1)], Some((8, 16, 10))),
    case(Bf16, (8, 8), &[(8, 8), (8, 1)], &[(12, 4), (4, 1)], Some((4, 8, 6))),
    case(Bf16, (8, 16), &[(8, 16), (16, 1)], &[(14, 8), (4, 1)], Some((4, 16, 14))),
    case(F32, (8, 8), &[(2, 8), (4, 16), (8, 1)], &[(20, 4), (2, 1)], Some((2, 8, 5))),
];

fn check(case: &Case, (source, destination): (u64, u64), whole: bool) {
    let Case { element, time, packet, fetched, committed, transpose } = *case;
    let lanes = 256 / element.bits();
    let elements = 4096 / element.bits();
    let read = walked_by_definition(&config(fetched, 1));
    let mut stream = flits(&read, packet, lanes);
    let (flits, mut engine) = (stream.len() / time, None);
    if let Some((in_rows, in_cols, out_rows)) = transpose {
        let mut plan = Transpose { element, in_rows, in_cols, out_rows, iterations: 1 };
        plan.iterations = stream.len() / plan.in_flits();
        stream = transposed(&plan, &stream, lanes);
        engine = Some(plan);
    }
    let places = walked_by_definition(&config(committed, 1));
    // Number of leading lanes of each packet that are committed.
    let window = places.len() / stream.len();
    let from = fetch(region(0, source, element, 256, elements), element, fetched, time, packet);
    let sink = commit(region(1, destination, element, 256, elements), committed, window, below(5, 2, 3));
    let mut command = pass(from, None, None, sink);
    if let Operation::TensorUnit(unit) = &mut command.operation {
        unit.collect = Some(Collect { flits });
        unit.transpose = engine;
    }
    let checks = CheckOptions { uninitialised: false, ..CheckOptions::default() };
    let mut system = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
    // Elements are missing in one slice.
    for slice in 0..3 {
        let bytes = if whole || slice != 1 { 512 } else { 40 };
        poke(&mut system, slice, source, element, &codes(element, bytes * 8 / element.bits(), slice));
    }
    system.execute(&command).unwrap_or_else(|fault| panic!("{committed:?}: {fault}"));
    for slice in 0..4 {
        let (before, known) = peek(&system, slice, source, element, elements);
        let (after, written) = peek(&system, slice, destination, element, elements);
        let code = |bytes: &[u8], k: usize| match element.bits() {
            4 => vec![bytes[k / 2] >> (4 * (k % 2)) & 15],
            bits => bytes[k * bits / 8..(k + 1) * bits / 8].to_vec(),
        };
        let mut expected = vec![None; elements];
        for (k, &place) in places.iter().enumerate().filter(|_| slice < 3) {
            let from = stream[k / window][k % window].expect("padding is not committed") as usize;
            expected[place as usize] = known[from].then(|| code(&before, from));
        }
        let found: Vec<_> = (0..elements).map(|k| written[k].then(|| code(&after, k))).collect();
        assert_eq!(found, expected, "{element:?} {fetched:?} to {committed:?}, {transpose:?}, slice {slice}");
    }
}

#[test]
fn elements_go_to_their_places() {
    for case in &CASES {
        for whole in [true, false] {
            check(case, (8, 4096), whole);
            check(case, (4096, 8), whole);
        }
    }
}

/// Bytes of a pass that are written over its source go through the stream.
#[test]
fn a_pass_over_its_own_source_is_no_different() {
    let mut system = Chips::new(ChipOptions::default());
    (0..4).for_each(|slice| poke(&mut system, slice, 0, I8, &codes(I8, 256, slice)));
    let stream = fetch(region(0, 64, I8, 4, 128), I8, &[(4, 32), (32, 1)], 4, 32);
    let sink = commit(region(1, 0, I8, 4, 128), &[(4, 32), (32, 1)], 32, Guard::always(5));
    let mut command = pass(stream, None, None, sink);
    if let Operation::TensorUnit(unit) = &mut command.operation {
        unit.collect = Some(Collect { flits: 1 });
    }
    system.execute(&command).unwrap_or_else(|fault| panic!("{fault}"));
    for slice in 0..4 {
        assert_eq!(peek(&system, slice, 0, I8, 128).0, codes(I8, 256, slice)[64..192], "slice {slice}");
    }
}
