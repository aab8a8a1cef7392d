use reference::mapping::*;

const AXES: &[(&str, usize)] = &[("A", 4), ("B", 3), ("G", 6), ("H", 10), ("K", 24), ("P", 7), ("Q", 12)];

fn map(text: &str) -> Map {
    Map::parse(text, AXES)
}

fn same(left: &str, right: &str) {
    assert!(map(left).equivalent(&map(right)), "{left} and {right}");
}

#[test]
fn text_is_read_back() {
    for text in ["m![1]", "m![K / 4 % 3 = 2 # 8, [A, B] # 16 / 4, G]", "m![[A, [B, G] # 20], 1 # 2]"] {
        assert_eq!(map(text).to_string(), text);
    }
    assert!(Map::try_parse("A / 3", AXES).is_err());
    assert!(Map::try_parse("A,", AXES).is_err());
    assert!(Map::try_parse("A # 3", AXES).is_err());
    assert!(Map::try_parse("Z", AXES).is_err());
    assert!(Map::try_parse("A = 9", AXES).is_ok());
}

#[test]
fn parts_of_a_group_lead_over_its_padding_together() {
    let axes = &[("G", 2), ("K", 16)];
    let [outer, inner] = ["[G, K # 24] / 16", "[G, K # 24] % 16"].map(|text| Map::parse(text, axes));
    assert_eq!(joint_table(&[&outer, &inner]), Map::parse("G, K # 24", axes).table());
}

#[test]
fn worked_examples_of_the_normal_form() {
    same("K / 4, K % 4", "K");
    assert!(!map("K % 4, K / 4").equivalent(&map("K")));
    same("K = 6 / 3", "K / 3 = 2");
    same("K = 1, G", "G");
    same("[K, G] = 12", "K = 2, G");
    same("P # 20 % 4", "P = 4");
    same("P # 20 / 4, P # 20 % 4", "P # 20");
    same("P # 32 / 16", "1 # 2");
    same("[G, H] # 64 / 8, [G, H] # 64 % 8", "[G, H] # 64");
    same("[G, H] # 64 % 8", "H = 8");
    same("1 # 4, 1 # 3, G", "G # 72");
    same("[G, P # 9] / 6, [G, P # 9] % 6", "G, P # 9");
    same("[P, G] / 14, [P, G] % 14", "P, G");
}

#[test]
fn padding_and_truncation() {
    let live = |text: &str| map(text).table().iter().filter(|cell| cell.is_some()).count();
    assert_eq!(live("P # 20 / 4"), 2);
    assert_eq!(live("P # 20 / 4, P # 20 % 4"), 7);
    assert_eq!(live("K = 30"), 24);
    assert_eq!(live("A, B # 5"), 12);
    assert_eq!(map("P # 20 / 4").eval(1), Some(Coordinates::from([("P", 4)])));
}

#[test]
fn laws_of_equivalence() {
    for e in ["K", "P # 20", "[A, B]", "[G, P # 9] # 60", "K / 2 % 6", "[A, B] = 10"] {
        let size = map(e).size();
        same(&format!("1, {{{e}}}"), e);
        same(&format!("{{{e}}}, 1"), e);
        same(&format!("{{{e}}} / 1"), e);
        same(&format!("{{{e}}} % 1"), "1");
        same(&format!("{{{e}}} # {size}"), e);
        same(&format!("{{{e}}} = {size}"), e);
        same(&format!("{{{e}}} # {} # {}", size + 1, size + 3), &format!("{{{e}}} # {}", size + 3));
        for n in (1..=size).filter(|n| size.is_multiple_of(*n)) {
            same(&format!("{{{e}}} / {n}, {{{e}}} % {n}"), e);
        }
    }
    same("[K, G] / 6", "K");
    same("[K, G] % 6", "G");
    same("A # 6, B", "[A, B] # 18");
    same("K / 2 / 3", "K / 6");
    same("K / 2 % 3", "K % 6 / 2");
    same("[A, B], G", "A, [B, G]");
}

#[test]
fn a_cut_through_an_inner_axis_is_no_loss() {
    let (outer, inner) = (map("[A, B] / 2"), map("[A, B] % 2"));
    let joint = joint_table(&[&outer, &inner]);
    assert_eq!(joint, map("A, B").table());
    // Position 3 is A = 1, not B = 2 + 1.
    assert_eq!(joint[3], Some(Coordinates::from([("A", 1)])));
}

#[test]
fn digits_are_valid_only_together() {
    let axes = &[("A", 15)];
    let (outer, inner) = (Map::parse("A # 16 / 4", axes), Map::parse("A # 16 % 4", axes));
    assert!(outer.eval(3).is_some() && inner.eval(3).is_some());
    assert_eq!(union(&[(&outer, 3), (&inner, 3)]), None);
    assert!(is_injective(&[&outer, &inner]));
    assert!(!is_injective(&[&outer, &outer]));
}

#[test]
fn margins() {
    let live = |text: &str| -> Vec<usize> {
        let table = map(text).table().into_iter().enumerate();
        table.filter_map(|(position, cell)| cell.map(|_| position)).collect()
    };
    assert_eq!(live("# 2 + B + # 4"), [2, 3, 4]);
    assert_eq!(map("# 2 + B + # 4").size(), 9);
    assert_eq!(map("# 2 + B + # 4").eval(3), Some(Coordinates::from([("B", 1)])));
    assert_eq!(live("# 1 + 1 + # 2"), [1]);
    assert_eq!(live("B + # 2, # 1 + 1"), [1, 3, 5]);
    same("# 1 + [# 2 + B]", "# 3 + B");
    same("# 2 + B + # 4", "[# 2 + B] # 9");
    same("[# 2 + B + # 7] / 4, [# 2 + B + # 7] % 4", "# 2 + B + # 7");
    same("[# 2 + B], A", "# 8 + [B, A]");
    let (outer, inner) = (map("[# 2 + B + # 7] / 4"), map("[# 2 + B + # 7] % 4"));
    assert_eq!(joint_table(&[&outer, &inner]), map("# 2 + B + # 7").table());
    for wrong in ["# 2", "# 2 B", "# + B", "B + 4", "# 2 + B + # 4 + # 3", "# 2 + B + # 4 / 3"] {
        assert!(Map::try_parse(wrong, AXES).is_err(), "{wrong}");
    }
}

#[test]
fn dimensions_that_look_alike_stay_apart() {
    let hole = map("1 # 2");
    assert_eq!(joint_table(&[&hole, &hole]), vec![Some(Coordinates::new()), None, None, None]);
}
