use reference::mapping::Map;
use reference::numbers::ElementType;
use reference::tensor::{MathTensor, place};
use reference::transpose::*;

const AXES: &[(&str, usize)] =
    &[("U", 3), ("R", 4), ("G", 2), ("K", 6), ("A", 4), ("B", 2), ("C", 8), ("D", 8), ("E", 8)];

fn run(element: ElementType, texts: [&str; 4]) -> Result<Matrices, Vec<Rule>> {
    let [time, packet, out_time, out_packet] = texts.map(|text| Map::parse(text, AXES));
    let legal = matrices(element, [&time, &packet], [&out_time, &out_packet])?;
    let [own] = legal[..] else { panic!("{texts:?}: {legal:?}") };
    // The formula is the identity on the tensor.
    let axes: Vec<(&str, usize)> = time
        .axes()
        .keys()
        .chain(packet.axes().keys())
        .map(|name| *AXES.iter().find(|(own, _)| **own == **name).expect("an axis of the test"))
        .collect();
    let tensor = MathTensor::from_fn(&axes, |_, k| k);
    let values = place(&tensor, &[&time, &packet]);
    assert_eq!(transpose(element, &own, &values), place(&tensor, &[&out_time, &out_packet]), "{texts:?}");
    Ok(own)
}

/// The documented cases, with their cycles.
#[test]
fn the_documented_cases() {
    use ElementType::{Bf16, F32, I4, I8};
    let cases = [
        (I8, ["C, D", "E # 32", "C, E", "D # 32"], 72),
        (I8, ["A", "B # 32", "B", "A # 32"], 6),
        (I8, ["B, C, R", "E # 32", "B, R, E", "C # 32"], 128),
        (Bf16, ["C, A", "E # 16", "C, E", "A # 16"], 68),
        (I8, ["B, C, G", "E # 32", "B, G, E", "C # 32"], 48),
        (I4, ["R, C, B", "[D, G] # 64", "R, D, G", "[C, B] # 64"], 80),
        (F32, ["R, G", "E", "R, E", "G # 8"], 34),
        (Bf16, ["U, R, G", "K # 16", "U, G, K", "R # 16"], 44),
    ];
    for (element, texts, expected) in cases {
        let own = run(element, texts).unwrap_or_else(|rules| panic!("{texts:?}: {rules:?}"));
        assert_eq!(cycles(element, &own), expected, "{texts:?}");
    }
    let own = run(Bf16, ["U, R, G", "K # 16", "U, G, K", "R # 16"]).expect("the documented example");
    // Output step 20 = (u = 1, g = 1, k = 2), lane 3 is source step 15, lane 2.
    let steps: Vec<Option<(usize, usize)>> = (0..24 * 16).map(|k| Some((k / 16, k % 16))).collect();
    assert_eq!(transpose(Bf16, &own, &steps)[20 * 16 + 3], Some((15, 2)));
}

#[test]
fn every_rule_is_met() {
    use ElementType::{Bf16, I4, I8};
    let cases = [
        (I4, ["C", "E # 63", "E", "C # 64"], Rule::WholeBytes),
        (I4, ["U", "E # 64", "E", "U # 64"], Rule::WholeBytes),
        (I8, ["C", "E", "E", "C # 32"], Rule::Flit),
        (I8, ["C", "E # 32", "E", "C"], Rule::Flit),
        (Bf16, ["C", "E # 16", "E", "C # 16"], Rule::RowBytes),
        (I8, ["C", "E # 32", "E", "D # 32"], Rule::Rows),
        (I8, ["R, U, G", "E # 32", "U, E", "[R, G] # 32"], Rule::Rows),
        (I8, ["C, U", "E # 32", "U, E", "C # 32"], Rule::Columns),
        (I4, ["C, R", "E # 64", "R, E", "C # 64"], Rule::Columns),
        (I8, ["C, R", "E # 32", "A, E", "C # 32"], Rule::Packets),
        (I8, ["C", "E # 32", "E # 9", "C # 32"], Rule::OutRows),
        (I8, ["C", "E # 32", "E = 7", "C # 32"], Rule::Elements),
        (I8, ["C", "[R, U] # 32", "R", "C # 32"], Rule::Elements),
        (I8, ["U, C", "E # 32", "A = 3, E", "C # 32"], Rule::Time),
        (I8, ["U, C", "E # 32", "E", "C # 32"], Rule::Time),
    ];
    for (element, texts, rule) in cases {
        assert_eq!(run(element, texts), Err(vec![rule]), "{texts:?}");
    }
}
