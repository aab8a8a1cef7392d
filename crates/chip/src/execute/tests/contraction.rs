//! Tests of contractions against loops over single products.

use super::*;

/// A contraction: stream `[M, K]`, weights `[R, T, K]`, result `[M, T]` summed over K.
struct Shape {
    element: ElementType,
    m: usize,
    tile: usize,
    /// Flits of K.
    flits: usize,
    rows: usize,
    live_k: usize,
    kind: AccumulationKind,
    /// Levels of the tree that are used.
    depth: usize,
}

const FILES: [TrfAddress; 3] = [TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full];

fn check_contraction(shape: &Shape, file: TrfAddress) {
    let &Shape { element, m, tile, flits, rows, live_k, kind, depth } = shape;
    let per_flit = 256 / element.bits();
    let k = flits * per_flit;
    let collect_flits = if flits.is_multiple_of(2) { 2 } else { 1 };
    let packets = flits / collect_flits;
    let cells = collect_flits * per_flit;
    let output = if element == Bf16 { F32 } else { I32 };
    let mut system = Chips::new(ChipOptions::default());
    // The padding of the stream holds zeros.
    let data = |seed| {
        let mut bytes = codes(element, m * k, seed);
        if live_k < k {
            let bits = live_k * element.bits();
            bytes[bits.div_ceil(8)..].fill(0);
            if bits % 8 == 4 {
                bytes[bits / 8] &= 15;
            }
        }
        bytes
    };
    let (x, w) = (data(1), codes(element, rows * tile * k, 2));
    let w_address = 128 * 1024;
    let slices = 64;
    // Three slices are compared. The others hold other data.
    for number in (0..system.units.len()).filter(|number| number % 256 < slices) {
        let compared = matches!(number, 0 | 1 | 300);
        let seeds = if compared { (1, 2) } else { (0, 0) };
        poke(&mut system, number, 0, element, &data(seeds.0));
        poke(&mut system, number, w_address, element, &codes(element, rows * tile * k, seeds.1));
    }
    let row_elements = tile * k;
    // Weights into the register file.
    let trf =
        TrfRegion { address: file, fill: FillId(2), element, rows, row_elements, guard: Guard::always(5) };
    let source = region(0, w_address, element, slices, rows * row_elements);
    let weights = fetch(source, element, &[(rows * tile * k, 1)], rows * tile * flits, per_flit);
    system
        .execute(&pass(weights, None, None, Sink::Trf { destination: trf, guard: Guard::always(5) }))
        .expect("the weights fit");
    // Steps [M, packet of K, tile]; slots [M, tile].
    let columns = cells >> depth.min(cells.trailing_zeros() as usize);
    let bytes = |elements: usize| (elements * element.bits() / 8) as isize;
    let stream_guard = if live_k == k {
        Guard::always(5)
    } else {
        let mut guard = Guard::always(5);
        guard.digits.push(GuardDigit { variable: 3, base: 1, extent: flits, weight: per_flit });
        guard.digits.push(GuardDigit { variable: 4, base: 1, extent: per_flit, weight: 1 });
        guard.sums.push(GuardSum { first: 0, len: 2, start: 0, limit: live_k });
        guard
    };
    let contraction = Contraction {
        trf,
        stream_guard,
        collect_flits,
        tile,
        trf_config: config(&[(m, 0), (packets, bytes(cells)), (tile, bytes(k))], cells),
        steps: m * packets * tile,
        depth,
        columns,
        step_guard: Guard::always(2),
        slots: config(&[(m, tile as isize), (packets, 0), (tile, 1)], 1),
        slot_count: m * tile,
        kind,
        output,
    };
    let beats = match kind {
        AccumulationKind::Interleaved => columns,
        AccumulationKind::Sequential => rows * columns.div_ceil(8),
    };
    let results = m * tile * beats * 8;
    let to = region(3, 256 * 1024, output, slices, results);
    let source = region(0, 0, element, slices, m * k);
    let stream = fetch(source, element, &[(m * k, 1)], m * flits, per_flit);
    let sink = commit(to, &[(m * tile * beats, 8), (8, 1)], 8, Guard::always(5));
    system.execute(&pass(stream, Some(contraction), None, sink)).unwrap_or_else(|fault| panic!("{fault}"));
    for unit in [0, 1, 300] {
        let (bytes, flags) = peek(&system, unit, 256 * 1024, output, results);
        assert!(flags.iter().all(|&flag| flag));
        for (i, j, row, column) in (0..m).flat_map(|i| {
            (0..tile).flat_map(move |j| (0..rows).flat_map(move |r| (0..columns).map(move |c| (i, j, r, c))))
        }) {
            let mut expected = 0.0;
            let mut sum = None;
            for packet in 0..packets {
                // The tree, level by level, with absent cells as zeros.
                let mut level: Vec<f32> = (0..512 / element.bits())
                    .map(|cell| {
                        let kk = packet * cells + cell;
                        if cell >= cells || (i * k + kk) >= live_k && live_k < k {
                            return 0.0;
                        }
                        let product =
                            value(element, &x, i * k + kk) * value(element, &w, (row * tile + j) * k + kk);
                        if cell >> depth == column {
                            expected += product;
                        }
                        product as f32
                    })
                    .collect();
                (0..depth).for_each(|_| level = level.chunks(2).map(|pair| pair[0] + pair[1]).collect());
                if packet * cells < live_k || live_k == k {
                    sum = Some(sum.map_or(level[column], |sum: f32| sum + level[column]));
                }
            }
            let slot = i * tile + j;
            let place = match kind {
                AccumulationKind::Interleaved => (slot * columns + column) * 8 + row,
                AccumulationKind::Sequential => {
                    ((slot * rows + row) * columns.div_ceil(8) + column / 8) * 8 + column % 8
                }
            };
            let code: [u8; 4] = bytes[place * 4..place * 4 + 4].try_into().expect("four bytes");
            if output == I32 {
                assert_eq!(
                    f64::from(i32::from_le_bytes(code)),
                    expected,
                    "{i} {j} row {row} column {column}"
                );
            } else {
                let found = f32::from_le_bytes(code);
                assert_eq!(
                    found.to_bits(),
                    sum.unwrap_or(0.0).to_bits(),
                    "{i} {j} row {row} column {column}"
                );
                assert!((f64::from(found) - expected).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn contractions_agree_with_the_definition() {
    use AccumulationKind::{Interleaved, Sequential};
    let full = |element: ElementType| (512 / element.bits()).trailing_zeros() as usize;
    for (element, rows, flits, tile) in
        [(Bf16, 8, 4, 3), (I8, 4, 2, 1), (I4, 2, 2, 2), (Bf16, 1, 1, 2), (I8, 8, 3, 4), (I4, 8, 1, 1)]
    {
        for kind in [Interleaved, Sequential] {
            let k = flits * 256 / element.bits();
            for depth in [full(element), full(element) - 2] {
                let live_k = k;
                let m = 5;
                let shape = Shape { element, m, tile, flits, rows, live_k, kind, depth };
                check_contraction(&shape, FILES[rows % 3]);
            }
            // One row of M. Only its first K elements are live.
            let live_k = k * 2 / 3 + 1;
            let depth = full(element);
            check_contraction(
                &Shape { element, m: 1, tile, flits, rows, live_k, kind, depth },
                FILES[flits % 3],
            );
        }
    }
}

#[test]
fn a_repeated_weight_multiplies_every_cell() {
    let mut system = Chips::new(ChipOptions::default());
    let (x, w) = (codes(Bf16, 64, 1), codes(Bf16, 16, 2));
    poke(&mut system, 0, 0, Bf16, &x);
    poke(&mut system, 0, 1024, Bf16, &w);
    let one = |mut region: Region| {
        region.footprint.clusters = 1;
        region
    };
    let guard = Guard::always(5);
    let trf = TrfRegion {
        address: TrfAddress::Full,
        fill: FillId(2),
        element: Bf16,
        rows: 1,
        row_elements: 16,
        guard,
    };
    let weights = fetch(one(region(0, 1024, Bf16, 1, 16)), Bf16, &[(16, 1)], 1, 16);
    system.execute(&pass(weights, None, None, Sink::Trf { destination: trf, guard })).expect("fits");
    // Two packets of 32. Step k multiplies packet k by the weights of a read of 2 elements, and sums the whole packet.
    let contraction = Contraction {
        trf,
        stream_guard: guard,
        collect_flits: 2,
        tile: 1,
        trf_config: config(&[(2, 4)], 2),
        steps: 2,
        depth: 5,
        columns: 1,
        step_guard: Guard::always(2),
        slots: config(&[(2, 1)], 1),
        slot_count: 2,
        kind: AccumulationKind::Interleaved,
        output: F32,
    };
    let stream = fetch(one(region(0, 0, Bf16, 1, 64)), Bf16, &[(64, 1)], 4, 16);
    let sink = commit(one(region(3, 2048, F32, 1, 16)), &[(2, 8), (8, 1)], 8, guard);
    system.execute(&pass(stream, Some(contraction), None, sink)).unwrap_or_else(|fault| panic!("{fault}"));
    let (bytes, _) = peek(&system, 0, 2048, F32, 16);
    for step in 0..2 {
        let expected: f64 =
            (0..32).map(|k| value(Bf16, &x, step * 32 + k) * value(Bf16, &w, step * 2 + k % 2)).sum();
        let found = f32::from_le_bytes(bytes[step * 32..step * 32 + 4].try_into().expect("four bytes"));
        assert!((f64::from(found) - expected).abs() < 1e-3, "{found} {expected}");
    }
}

#[test]
fn integer_sums_wrap() {
    let mut system = Chips::new(ChipOptions::default());
    poke(&mut system, 0, 0, I8, &[0x80; 64]);
    let one = |mut region: Region| {
        region.footprint.clusters = 1;
        region
    };
    let guard = Guard::always(5);
    let trf = TrfRegion {
        address: TrfAddress::Full,
        fill: FillId(2),
        element: I8,
        rows: 1,
        row_elements: 64,
        guard,
    };
    let weights = fetch(one(region(0, 0, I8, 1, 64)), I8, &[(64, 1)], 2, 32);
    system.execute(&pass(weights, None, None, Sink::Trf { destination: trf, guard })).expect("fits");
    let steps = 2049;
    let contraction = Contraction {
        trf,
        stream_guard: guard,
        collect_flits: 2,
        tile: 1,
        trf_config: config(&[(steps, 0)], 64),
        steps,
        depth: 6,
        columns: 1,
        step_guard: Guard::always(2),
        slots: config(&[(steps, 0)], 1),
        slot_count: 1,
        kind: AccumulationKind::Interleaved,
        output: I32,
    };
    let stream = fetch(one(region(0, 0, I8, 1, 64)), I8, &[(steps, 0), (64, 1)], 2 * steps, 32);
    let sink = commit(one(region(3, 2048, I32, 1, 8)), &[(8, 1)], 8, guard);
    system.execute(&pass(stream, Some(contraction), None, sink)).unwrap_or_else(|fault| panic!("{fault}"));
    let expected = (1i32 << 20).wrapping_mul(steps as i32).to_le_bytes();
    assert_eq!(peek(&system, 0, 2048, I32, 1).0, expected);
}
