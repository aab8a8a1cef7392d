use reference::mapping::{Coordinates, Map};
use reference::rows::*;

#[test]
fn rows_go_where_the_index_says() {
    let axes = &[("V", 4), ("H", 2), ("S", 3)];
    let map = |text| Map::parse(text, axes);
    let (one, table, index, slices, row) = (Map::One, map("V, H"), map("S"), map("S # 4"), map("H"));
    let numbers = [2, 0, 2].map(Some);
    let rows = Rows {
        table: &[&one, &table],
        axis: ("V", 4),
        index: &[&one, &index],
        numbers: &numbers,
        scale: 1,
        side: &[&slices, &row],
    };
    let values: Vec<_> = (0..8).map(Some).collect();
    let found = rows.gather(&values).expect("all rows are there");
    assert_eq!(found, [Some(4), Some(5), Some(0), Some(1), Some(4), Some(5), None, None]);
    let given = [10, 11, 20, 21, 30, 31].map(Some).into_iter().chain([None, None]).collect::<Vec<_>>();
    let at = |k: usize| if k == 0 { Coordinates::new() } else { Coordinates::from([("S".to_string(), k)]) };
    assert_eq!(rows.scatter(&given, &values, false), Err(WrongRow::Twice(at(0), at(2))));
    let found = rows.scatter(&given, &values, true).expect("the last one wins");
    assert_eq!(found, [20, 21, 2, 3, 30, 31, 6, 7].map(Some));
    let outside = [2, 0, 4].map(Some);
    assert_eq!(Rows { numbers: &outside, ..rows.clone() }.gather(&values), Err(WrongRow::Outside(at(2))));
    let offsets = [8, 3, -4].map(Some);
    let scaled = Rows { numbers: &offsets, scale: 4, ..rows };
    assert_eq!(scaled.gather(&values), Err(WrongRow::BetweenRows(at(1))));
}
