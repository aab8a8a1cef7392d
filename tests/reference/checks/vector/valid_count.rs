use reference::cases::for_cases;
use reference::digits::Digit;
use reference::mapping::Map;
use reference::vector::chain::Shape;
use reference::vector::families::padded_reduce;
use reference::vector::rules::{Count, Rule};
use reference::vector::valid_count::*;

fn verdict(size: usize, [slice, time, packet]: [&str; 3], trimmed: bool) -> Result<(), Rule> {
    let axes = &[("R", size), ("A", 2), ("B", 3), ("L", 8)];
    let map = |text: &str| Map::parse(text, axes);
    let shape = Shape { slice: map(slice), time: map(time), packet: map(packet) };
    check(&shape, "R", size, trimmed).map_err(|(rule, _)| rule)
}

const PATTERN: Result<(), Rule> = Err(Rule::ValidCount(Count::Pattern));
const PREFIX: Result<(), Rule> = Err(Rule::ValidCount(Count::Prefix));

#[test]
fn worked_numbers() {
    // n = 20, S = 8, T = 3, standard.
    assert_eq!(verdict(20, ["R # 24 / 3", "R # 24 % 3", "L"], false), Ok(()));
    // n = 11, S = 4 inner, T = 3, transposed; with T = 4 it is refused.
    assert_eq!(verdict(11, ["R # 12 % 4", "R # 12 / 4", "L"], false), Ok(()));
    assert_eq!(verdict(11, ["R # 16 % 4", "R # 16 / 4", "L"], false), PATTERN);
    // n = 21, three flits of 8: 8, 8, 5.
    assert_eq!(verdict(21, ["1", "R # 24 / 8", "R # 24 % 8"], false), Ok(()));
}

#[test]
fn documented_placements() {
    assert_eq!(verdict(5, ["1", "1", "R # 8"], false), Ok(()));
    assert_eq!(verdict(5, ["1", "R # 8, A", "L"], false), Ok(()));
    assert_eq!(verdict(5, ["R # 8", "A", "L"], false), Ok(()));
    assert_eq!(verdict(5, ["A, R # 8", "B", "L"], false), Ok(()));
    // Foreign axes between digits of time, in any order.
    assert_eq!(verdict(21, ["A", "R # 24 / 8 , B", "R # 24 % 8"], false), Ok(()));
    assert_eq!(verdict(11, ["1", "R # 12 % 4, A, R # 12 / 4", "L"], false), Ok(()));
    // T may be over-allocated where slices are outside.
    assert_eq!(verdict(20, ["R # 32 / 4", "R # 32 % 4", "L"], false), Ok(()));
    // Slices and packet: only if every packet is full, or one packet holds all.
    assert_eq!(verdict(20, ["R # 32 / 8", "1", "R # 32 % 8"], false), PATTERN);
    assert_eq!(verdict(16, ["R # 32 / 8", "1", "R # 32 % 8"], false), Ok(()));
    assert_eq!(verdict(6, ["R # 32 / 8", "1", "R # 32 % 8"], false), Ok(()));
    assert_eq!(verdict(24, ["R # 64 / 16", "R # 64 / 8 % 2", "R # 64 % 8"], false), Ok(()));
    assert_eq!(verdict(23, ["R # 64 / 16", "R # 64 / 8 % 2", "R # 64 % 8"], false), PATTERN);
    // Slice digits between time digits in value order.
    assert_eq!(verdict(11, ["R # 16 / 2 % 4", "R # 16 / 8, R # 16 % 2", "L"], false), PATTERN);
    // In the packet: alone, in front, and the lowest digit.
    assert_eq!(verdict(3, ["1", "1", "A, R # 4"], false), PREFIX);
    assert_eq!(verdict(6, ["1", "R # 8 % 2", "R # 8 / 2 # 8"], false), Ok(()));
    assert_eq!(verdict(5, ["1", "R # 8 % 2", "R # 8 / 2 # 8"], false), PATTERN);
    // Padding of another axis does not matter.
    assert_eq!(verdict(5, ["1", "B # 4, R # 8", "A # 8"], false), Ok(()));
    assert_eq!(verdict(16, ["1", "R", "B # 8"], false), Ok(()));
    // Slices in steps of 3.
    assert_eq!(verdict(5, ["R # 8, B", "1", "L"], false), Err(Rule::ValidCount(Count::Powers)));
}

#[test]
fn trimmed_counts_are_at_most_four() {
    assert_eq!(verdict(3, ["1", "1", "R # 8"], true), Ok(()));
    assert_eq!(verdict(5, ["1", "R # 8", "A # 8"], true), Ok(()));
    assert_eq!(verdict(5, ["1", "1", "R # 8"], true), PATTERN);
}

/// The documented table of placements, for those that [`unclear`] leaves.
fn by_table(shape: &Shape, axis: &str, size: usize) -> bool {
    let of = |map: &Map| -> Vec<Digit> {
        let spelled = Spelled::of(map).expect("digits of single axes");
        spelled.digits.into_iter().filter(|digit| is_of(digit, axis)).collect()
    };
    let [slice, time, packet] = shape.dims().map(of);
    let positions: usize = [&slice, &time, &packet].into_iter().flatten().map(|digit| digit.extent).product();
    let Some(slice) = slice.first() else { return true };
    if positions == size {
        return true;
    }
    if let Some(packet) = packet.first() {
        return size.is_multiple_of(packet.valid);
    }
    let inside = time.iter().any(|digit| digit.weight < slice.weight);
    let outside: usize =
        time.iter().filter(|digit| digit.weight > slice.weight).map(|digit| digit.extent).product();
    outside == 1 || (!inside && outside == size.div_ceil(slice.extent))
}

/// Of random placements, the formulas allow those that the table allows.
#[test]
fn formulas_agree_with_the_table() {
    let mut counts = [0; 3];
    for_cases(800, |random| {
        let chain = padded_reduce(random);
        let (name, size) = &chain.axes[0];
        if unclear(&chain.shape, name, *size).is_some() {
            counts[2] += 1;
            return Ok(());
        }
        let (found, expected) =
            (check(&chain.shape, name, *size, false), by_table(&chain.shape, name, *size));
        counts[usize::from(expected)] += 1;
        if found.is_ok() == expected {
            Ok(())
        } else {
            Err(format!("{chain}\n{found:?}, by table {expected}"))
        }
    });
    assert!(counts.iter().all(|count| *count > 40) || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}
