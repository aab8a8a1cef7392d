use reference::engines::*;
use reference::mapping::Map;
use reference::numbers::{ElementType, Number};
use reference::tensor::{MathTensor, place};

const AXES: &[(&str, usize)] = &[("A", 6), ("B", 4), ("T", 2), ("M", 4), ("K", 2), ("W", 8), ("Q", 48)];

fn map(text: &str) -> Map {
    Map::parse(text, AXES)
}

fn tensor(axes: &[&str]) -> MathTensor<usize> {
    let axes: Vec<_> = AXES.iter().filter(|(name, _)| axes.contains(name)).copied().collect();
    MathTensor::from_fn(&axes, |_, k| k)
}

#[test]
fn a_move_is_the_identity_on_the_tensor() {
    let (tensor, source) = (tensor(&["A", "B"]), map("A, B"));
    let values = place(&tensor, &[&source]);
    let destination = [map("1 # 2"), map("B / 2, A % 3"), map("T, A / 3 # 4, B % 2")];
    let destination: Vec<&Map> = destination.iter().collect();
    assert_eq!(dma(&[&source], &values, &destination), Ok(place(&tensor, &destination)));
    assert!(move_between(&[&source], &values, &destination, Broadcast::Refused).is_err());
    assert!(dma(&[&source], &values, &[&map("A")]).is_err());
    assert!(dma(&[&source], &values, &[&map("A = 4, B")]).is_err());
    assert!(dma(&[&source], &values, &[&map("A / 2, B")]).is_err());
}

#[test]
fn a_digit_is_repeated_over_the_digits_it_lacks() {
    let values = [Some(10), Some(11), Some(12)];
    let moved = dma(&[&map("A / 2")], &values, &[&map("A")]).expect("a broadcast");
    assert_eq!(moved, [10, 10, 11, 11, 12, 12].map(Some));
    // A resize is no digit of its own: what lies beyond it was never there.
    let moved = dma(&[&map("A = 3")], &values, &[&map("A")]).expect("a move");
    assert_eq!(moved, [Some(10), Some(11), Some(12), None, None, None]);
}

#[test]
fn fetch_reads_each_slice_alone() {
    let tensor = tensor(&["A", "B"]);
    let (slice, element) = (map("A # 8"), map("B # 8"));
    let values = place(&tensor, &[&slice, &element]);
    let (time, packet) = (map("B / 2"), map("T, B % 2"));
    let stream = fetch(&[&slice], &element, &values, &time, &packet, |value| value * 10).expect("a fetch");
    let expected: Vec<_> =
        place(&tensor, &[&slice, &time, &packet]).into_iter().map(|v| v.map(|v| v * 10)).collect();
    assert_eq!(stream, expected);
    let refused = |time: &str, packet: &str| {
        fetch(&[&slice], &element, &values, &map(time), &map(packet), |value| value).unwrap_err()
    };
    assert!(refused("1", "T").contains("dropped"));
    let half = fetch(&[&slice], &map("B % 2"), &values[..16], &map("B / 2"), &map("B % 2"), |v| v);
    assert!(half.unwrap_err().contains("insufficient"));
}

#[test]
fn collect_pads_to_flits() {
    let tensor = tensor(&["T", "Q"]);
    let old = [map("T"), map("Q")];
    let values = place(&tensor, &[&old[0], &old[1]]);
    let run = |time: &str, packet: &str| {
        collect(ElementType::I8, &[], [&old[0], &old[1]], [&map(time), &map(packet)], &values)
    };
    let expected = place(&tensor, &[&map("T, Q # 64 / 32"), &map("Q # 64 % 32")]);
    assert_eq!(run("T, Q # 64 / 32", "Q # 64 % 32"), Ok(expected));
    assert!(run("Q # 64 / 32, T", "Q # 64 % 32").is_err());
    assert!(run("T", "Q # 64").is_err());
}

#[test]
fn rows_are_the_outermost_time() {
    let tensor = tensor(&["B", "A", "W"]);
    let stream = [map("B, A"), map("W # 32")];
    let values = place(&tensor, &[&stream[0], &stream[1]]);
    let run = |row: &str, element: &str| {
        let target = [&map(row), &map(element)];
        to_trf(ElementType::I8, &[], [&stream[0], &stream[1]], target, 32_768, &values)
    };
    assert_eq!(run("B", "A, W # 32"), Ok(values.clone()));
    assert_eq!(run("B / 2", "B % 2, A, W # 32"), Ok(values.clone()));
    assert!(run("B", "A, W").is_err());
    assert!(run("A", "B, W # 32").is_err());
}

#[test]
fn cast_keeps_lanes_and_commit_truncates() {
    let numbers: Vec<_> = (0..16).map(|k| Some(Number::Integer(k * 100))).collect();
    let (time, packet, wide) = (map("T"), map("W"), map("W # 32"));
    let types = [ElementType::I32, ElementType::I8];
    let out = cast(types, &[], &time, [&packet, &wide], &numbers).expect("a cast");
    assert_eq!(out[7], Some(Number::Integer(700 - 768)));
    assert_eq!((out[8], out[32]), (None, Some(Number::Integer(800 - 768))));
    assert!(cast(types, &[], &time, [&packet, &packet], &numbers).is_err());
    let stored = commit(ElementType::I8, &[], [&time, &wide], &map("T, W"), &out).expect("a commit");
    assert_eq!(stored.len(), 16);
    assert_eq!(stored[8], out[32]);
    assert!(commit(ElementType::I8, &[], [&time, &wide], &map("W, T"), &out).is_err());
    assert!(commit(ElementType::I8, &[], [&time, &wide], &map("T, W = 4"), &out).is_err());
}

#[test]
fn commit_permutes_time() {
    let tensor = tensor(&["M", "K", "W"]);
    let (time, packet, target) = (map("M, K"), map("W"), map("K, M, W = 4"));
    let values = place(&tensor, &[&time, &packet]);
    let stored = commit(ElementType::I32, &[], [&time, &packet], &target, &values);
    assert_eq!(stored, Ok(place(&tensor, &[&target])));
    assert!(commit(ElementType::I32, &[], [&time, &packet], &map("M, W"), &values).is_err());
}
