use reference::coordinates::*;
use std::collections::BTreeMap;

#[test]
fn a_list_by_name() {
    let mut at = Coordinates::from([("K", 3), ("A", 1)]);
    assert_eq!(at, Coordinates::from([("A", 1), ("K", 3)]));
    assert_eq!(format!("{at:?}"), r#"{"A": 1, "K": 3}"#);
    assert_eq!((at.get("A"), at.get("B"), at.contains_key("K")), (Some(&1), None, true));
    assert_eq!((at.insert("B", 2), at.insert("A", 5)), (None, Some(1)));
    assert_eq!(at.keys().map(|name| &**name).collect::<Vec<_>>(), ["A", "B", "K"]);
    assert_eq!(at.values().copied().collect::<Vec<_>>(), [5, 2, 3]);
    assert_eq!((at.remove("B"), at.remove("B")), (Some(2), None));
    at.retain(|_, coordinate| *coordinate > 4);
    assert_eq!(at, Coordinates::from([("A", 5)]));
    // As maps are compared: by name, then by coordinate.
    assert!(Coordinates::from([("A", 9)]) < Coordinates::from([("B", 1)]));
    assert!(Coordinates::new() < at);
    let parts = ["K".to_string() + "0", "K0".to_string()];
    assert_eq!(Name::from(&*parts[0]), Name::from(&*parts[1]));
    assert_ne!(Name::from("K"), Name::from("K0"));
}

/// The order of maps from texts to numbers.
#[test]
fn an_order_by_name_and_coordinate() {
    let names = ["A", "AB", "B"];
    let all: Vec<Vec<(&str, usize)>> = (0..27)
        .map(|number| [number / 9, number / 3 % 3, number % 3])
        .map(|digits| names.into_iter().zip(digits).filter(|(_, digit)| *digit > 0).collect())
        .collect();
    for one in &all {
        for other in &all {
            let [a, b] = [one, other].map(|list| list.iter().copied().collect::<Coordinates>());
            let [map, others] = [one, other].map(|list| list.iter().copied().collect::<BTreeMap<_, _>>());
            assert_eq!(a.cmp(&b), map.cmp(&others), "{a:?} {b:?}");
            assert_eq!(a == b, one == other);
        }
    }
}
