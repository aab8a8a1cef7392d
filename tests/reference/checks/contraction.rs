use reference::contraction::*;
use reference::mapping::Map;
use reference::numbers::{ElementType, Number};
use reference::tensor::{MathTensor, place};

fn contraction(axes: &[(&str, usize)], element: ElementType, maps: [&str; 8], kind: Kind) -> Contraction {
    let [time, packet, row, trf, out_time, out_packet, tree, kept] = maps.map(|text| Map::parse(text, axes));
    Contraction {
        element,
        prefix: vec![],
        stream_time: time,
        stream_packet: packet,
        row,
        trf_element: trf,
        out_time,
        out_packet,
        tree_packet: tree,
        kept_time: kept,
        kind,
    }
}

fn integers(axes: &[(&str, usize)], factor: i32) -> MathTensor<Number> {
    MathTensor::from_fn(axes, |_, k| Number::Integer((k as i32 * factor + 3) % 17 - 8))
}

/// Rows C, columns of B summed in the packet, A in time.
#[test]
fn matrix_product_equals_naive_loops() {
    let axes = &[("A", 5), ("B", 64), ("C", 8)];
    let (data, weights) = (integers(&axes[..2], 7), integers(&axes[1..], 5));
    for kind in [Kind::Interleaved, Kind::Sequential] {
        let maps = ["A, B / 32", "B % 32", "C", "B", "A", "B", "1", "A"];
        let case = contraction(axes, ElementType::I8, maps, kind);
        let stream = place(&data, &[&case.stream_time, &case.stream_packet]);
        let trf = place(&weights, &[&case.row, &case.trf_element]);
        let product = MathTensor::from_fn(&[("A", 5), ("C", 8)], |_, k| {
            let (a, c) = (k / 8, k % 8);
            let term = |b: usize| {
                let (x, w) = ((a * 64 + b) as i32 * 7 + 3, (b * 8 + c) as i32 * 5 + 3);
                (x % 17 - 8) * (w % 17 - 8)
            };
            Number::Integer((0..64).map(term).sum())
        });
        let (time, packet) = case.output();
        assert_eq!(case.run(&stream, &trf), Ok(place(&product, &[&time, &packet])), "{kind:?}");
    }
}

#[test]
fn tree_and_time_add_in_the_documented_order() {
    // One big value, then small ones that only survive when they are added to each other first.
    let axes = &[("K", 64)];
    let maps = ["K / 16", "K % 16", "1", "K", "K / 32", "K % 32", "1", "1"];
    let case = contraction(axes, ElementType::Bf16, maps, Kind::Sequential);
    let data = MathTensor::from_fn(axes, |_, k| Number::Real(if k == 0 { 2f32.powi(24) } else { 1.0 }));
    let ones = MathTensor::from_fn(axes, |_, _| Number::Real(1.0));
    let stream = place(&data, &[&case.stream_time, &case.stream_packet]);
    let weights = place(&ones, &[&case.row, &case.trf_element]);
    let mut expected: Vec<f32> = vec![];
    for step in 0..2 {
        let mut level: Vec<f32> =
            (0..32).map(|p| if step * 32 + p == 0 { 2f32.powi(24) } else { 1.0 }).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        expected.push(level[0]);
    }
    let result = case.run(&stream, &weights).expect("a legal contraction");
    assert_eq!(result[0], Some(Number::Real(expected[0] + expected[1])));
    assert_eq!(result[1..], [None; 7]);
}

#[test]
fn padded_cells_contribute_nothing() {
    let axes = &[("K", 12), ("P", 3)];
    let maps = ["P", "K # 16", "1", "K # 16", "P", "K # 32", "1", "P"];
    let case = contraction(axes, ElementType::Bf16, maps, Kind::Interleaved);
    let ones = MathTensor::from_fn(axes, |_, _| Number::Real(1.0));
    let stream = place(&ones, &[&case.stream_time, &case.stream_packet]);
    let mut weights = place(&ones, &[&case.row, &case.trf_element]);
    // Infinity in the padding of the register file meets the padding of the packet only.
    weights[13] = Some(Number::Real(f32::INFINITY));
    let result = case.run(&stream, &weights).expect("a legal contraction");
    assert_eq!([result[0], result[8], result[16]], [Some(Number::Real(12.0)); 3]);
    assert!(result[1].is_none());
    // One uninitialized operand spoils every result that uses it.
    let mut holed = stream.clone();
    holed[16 + 3] = None;
    let result = case.run(&holed, &weights).expect("a legal contraction");
    assert_eq!(
        [result[0], result[8], result[16]],
        [Some(Number::Real(12.0)), None, Some(Number::Real(12.0))]
    );
}

#[test]
fn worked_examples_have_the_printed_outputs() {
    let axes = &[("K", 64), ("M", 4), ("N", 8), ("L", 2), ("O", 2), ("V", 32)];
    let map = |text: &str| Map::parse(text, axes);
    let check = |row: &str, tree: &str, kept: &str, kind, time: &str, packet: &str| {
        let (t, p) = accumulated(&map(row), &map(tree), &map(kept), kind);
        assert!(t.equivalent(&map(time)) && p.equivalent(&map(packet)), "{t} {p}");
    };
    check("N", "K % 16 / 4", "M", Kind::Interleaved, "M, K % 16 / 4", "N");
    check("N", "K % 16 / 4", "M", Kind::Sequential, "M, N", "K % 16 / 4 # 8");
    check("N", "L", "M, O", Kind::Interleaved, "M, O, L", "N");
    check("1", "1", "1", Kind::Interleaved, "1", "1 # 8");
    check("M", "V", "O", Kind::Sequential, "O, M, V / 8", "V % 8");
    assert_eq!(tree_depth(&map("K % 16 # 32"), &map("K % 16 / 4")), Ok(2));
    assert_eq!(tree_depth(&map("V"), &map("V")), Ok(0));
    assert!(tree_depth(&map("K"), &map("K")).is_err());
    assert!(tree_depth(&map("K"), &map("K % 32")).is_err());
    // Trailing padding allows several depths; the smallest adds no zeros.
    assert_eq!(tree_depth(&map("1 # 32"), &map("1")), Ok(0));
}

#[test]
fn rules_of_the_data_side() {
    let axes = &[("K", 64), ("M", 4), ("T", 3)];
    let check = |time: &str, packet: &str, out_time: &str, out_packet: &str| {
        let maps = [time, packet, "1", "1", out_time, out_packet, "1", "1"];
        contraction(axes, ElementType::Bf16, maps, Kind::Interleaved).check_align()
    };
    assert_eq!(check("M, K / 16", "K % 16", "M, K / 32, T", "K % 32"), Ok(()));
    assert_eq!(check("M, K / 16", "K % 16", "M, K / 16, T", "K % 16 # 32"), Ok(()));
    assert!(check("M, K / 16", "K % 16", "M, T, K / 32", "K % 32").is_err());
    assert!(check("M, K / 16", "K % 16", "K / 32, M", "K % 32").is_err());
    assert!(check("K / 16, M", "K % 16", "M, K / 32", "K % 32").is_err());
    assert!(check("M, K / 16", "K % 16", "M, K / 16", "K % 16").is_err());
    assert!(check("M, K / 16", "K % 16", "M", "[K / 32, K % 16]").is_err());
}

#[test]
fn accumulator_limits() {
    let axes = &[("G", 8), ("V", 32)];
    let (row, one, wide) = (Map::parse("G", axes), Map::One, Map::parse("V", axes));
    for (inner, packet, interleaved, sequential) in [
        (40, &one, true, false),
        (4, &one, true, true),
        (1, &wide, true, true),
        (4, &wide, true, false),
        (5, &wide, false, false),
    ] {
        assert_eq!(buffer_fits(inner, &row, packet, Kind::Interleaved), interleaved, "{inner}");
        assert_eq!(buffer_fits(inner, &row, packet, Kind::Sequential), sequential, "{inner}");
    }
}
