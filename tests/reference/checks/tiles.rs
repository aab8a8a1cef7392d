use reference::mapping::Map;
use reference::tiles::*;

fn map(text: &str) -> Map {
    Map::parse(text, &[("G", 2), ("K", 24), ("P", 7)])
}

#[test]
fn the_examples_of_the_page() {
    let tiled = Tiled::new(&map("G, K"), &map("K")).expect("it holds K");
    assert!(tiled.is_tile(&map("G, K = 5 # 24"), 5));
    assert!(!tiled.is_tile(&map("G, K = 5"), 5) && !tiled.is_tile(&map("G, K = 4 # 24"), 5));
    assert_eq!((tiled.offset(5, 3), tiled.offset(5, 19), tiled.offset(5, 20)), (Some(3), Some(19), None));
    assert_eq!(tiled.span(5), 29);
    let tiled = Tiled::new(&map("G, K"), &map("K / 4")).expect("it holds a part of K");
    assert!(tiled.is_tile(&map("G, 1 # 6, K % 4"), 1) && tiled.is_tile(&map("G, K / 4 = 2 # 6, K % 4"), 2));
    assert_eq!((tiled.offset(1, 5), tiled.offset(2, 5)), (Some(20), None));
    // An axis that is cut with another one between its parts.
    let tiled = Tiled::new(&map("K / 8, G, K % 8"), &map("K")).expect("it holds K");
    assert!(tiled.is_tile(&map("1 # 3, G, 1 # 8"), 1) && !tiled.is_tile(&map("K / 8, G, K % 8"), 24));
    assert_eq!(tiled.offset(1, 13), Some(21));
    assert!(Tiled::new(&map("G"), &map("K")).is_err());
    // Ragged and padded.
    let tiled = Tiled::new(&map("P # 8"), &map("P # 8 / 4")).expect("it holds a part of P");
    assert!(tiled.is_tile(&map("1 # 2, P # 8 % 4"), 1));
    assert_eq!((tiled.offset(1, 1), tiled.offset(1, 2)), (Some(4), None));
    let tiled = Tiled::new(&map("P # 8"), &map("P # 8")).expect("it holds P");
    assert_eq!((tiled.offset(1, 6), tiled.offset(1, 7)), (Some(6), None));
}

#[test]
fn tiles_are_cut_and_pasted() {
    let values: Vec<Option<usize>> = (0..6).map(Some).collect();
    assert_eq!(cut(&[2, 3], &values, &[1, 1]), [Some(4), Some(5), None, None, None, None]);
    let mut after = values;
    let live = [true, false, false, false, false, false];
    paste(&[2, 3], &mut after, &[1, 1], &[Some(9), None, None, None, None, None], &live);
    assert_eq!(after, [0, 1, 2, 3, 9, 5].map(Some));
}
