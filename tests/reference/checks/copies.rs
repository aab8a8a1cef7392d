use reference::copies::*;
use reference::mapping::Map;

#[test]
fn a_rotation_and_a_broadcast() {
    let axes = &[("K", 3), ("A", 2)];
    let maps = [Map::parse("K # 4", axes), Map::parse("A # 3", axes)];
    let dims: Vec<&Map> = maps.iter().collect();
    let values: Vec<Option<usize>> = (0..12).map(Some).collect();
    let rotated = shuffle(&dims, 0, &values, &[1, 2, 0, 3]).expect("it is legal");
    let expected = [3, 4, 99, 6, 7, 99, 0, 1, 99, 99, 99, 99];
    assert_eq!(rotated, expected.map(|k| Some(k).filter(|k| *k < 99)));
    assert!(
        shuffle(&dims, 0, &values, &[0, 0, 0, 0]).is_ok() && shuffle(&dims, 0, &values, &[0, 0]).is_err()
    );
    assert!(shuffle(&dims, 0, &values, &[3, 0, 0, 0]).is_err(), "from padding");
    assert!(is_alike(&dims, 0) && is_alike(&dims, 1));
    let ragged = [Map::parse("K # 4 / 2", axes), Map::parse("K # 4 % 2", axes)];
    assert!(!is_alike(&ragged.iter().collect::<Vec<_>>(), 0));
}

#[test]
fn each_unit_keeps_its_part() {
    let axes = &[("K", 2), ("V", 3), ("B", 2)];
    let maps = ["K", "V # 4, B", "1 # 4, B", "B", "V # 4"].map(|text| Map::parse(text, axes));
    let dims = [&maps[0], &maps[1]];
    let parts = Parts { dims: &dims, level: 0, axis: &maps[4], sliced: &maps[2], destination: &maps[3] };
    let values: Vec<Option<usize>> = (0..16).map(Some).collect();
    assert_eq!(parts.copy(&values, &[2, 0]), Ok([4, 5, 8, 9].map(Some).to_vec()));
    assert!(parts.copy(&values, &[3, 0]).is_err() && parts.copy(&values, &[4, 0]).is_err());
    let maps = ["V, 1 # 2", "V", "B"].map(|text| Map::parse(text, axes));
    let inner = Parts { axis: &maps[2], sliced: &maps[0], destination: &maps[1], ..parts };
    assert_eq!(inner.copy(&values, &[1, 0]), Ok([1, 3, 5, 8, 10, 12].map(Some).to_vec()));
}
