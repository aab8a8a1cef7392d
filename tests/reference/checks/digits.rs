use reference::digits::*;
use reference::mapping::for_each_position;
use reference::mapping::{Coordinates, Map};
use reference::random::Random;
use reference::union::Union;

const AXES: &[(&str, usize)] = &[("A", 3), ("B", 5), ("C", 2), ("G", 6), ("H", 10), ("K", 24), ("P", 7)];

fn map(text: &str) -> Map {
    Map::parse(text, AXES)
}

fn shape(text: &str) -> Vec<(String, usize, usize, usize, usize)> {
    digits(&map(text))
        .into_iter()
        .map(|d| (d.node.to_string(), d.weight, d.modulus, d.valid, d.extent))
        .collect()
}

#[test]
fn digits_of_examples() {
    let row = |node: &str, w, m, v, e| (map(node).to_string(), w, m, v, e);
    assert_eq!(shape("K / 6 % 2"), [row("K", 6, 2, 2, 2)]);
    assert_eq!(shape("P # 20 / 4"), [row("P", 4, 2, 2, 5)]);
    assert_eq!(shape("P # 20 % 4"), [row("P", 1, 4, 4, 4)]);
    assert_eq!(shape("K = 9"), [row("K", 1, 24, 9, 9)]);
    assert_eq!(shape("[K, G] = 12"), [row("K", 1, 24, 2, 2), row("G", 1, 6, 6, 6)]);
    assert_eq!(shape("P # 32 / 16"), [row("P", 16, 1, 1, 2)]);
    assert_eq!(shape("[B, C] # 16"), [row("B", 1, 5, 5, 8), row("C", 1, 2, 2, 2)]);
    assert_eq!(shape("[A, B, C] # 32"), [row("[A, B, C]", 1, 30, 30, 32)]);
    assert_eq!(shape("1 # 4, 1"), [row("1", 1, 1, 1, 4)]);
    assert_eq!(shape("[G, P # 9] / 6"), [row("[G, P # 9]", 6, 9, 9, 9)]);
}

#[test]
fn outer_padding_ends_where_the_content_begins() {
    for (text, size) in [
        ("A # 8, B", 15),
        ("A, B # 8", 24),
        ("1 # 4, G # 10", 6),
        ("P # 20 / 4", 2),
        ("K = 9 # 12", 9),
        ("[A, B, C] # 32", 30),
        ("[K, G # 10] = 10", 6),
        ("1 # 8", 1),
    ] {
        assert_eq!(content(&map(text)), size, "{text}");
    }
    assert!(repad(&map("A # 8, B"), 20).equivalent(&map("A # 4, B")));
}

#[test]
fn projection_drops_foreign_digits() {
    let index = |k: usize, p: usize| {
        let mut coordinates = Coordinates::new();
        for (name, value) in [("K", k), ("P", p)] {
            if value > 0 {
                coordinates.insert(name.to_string(), value);
            }
        }
        coordinates
    };
    let outer = Projection::onto(&[&map("K / 4")]).expect("a digit");
    assert_eq!(outer.apply(&index(23, 3)), index(20, 0));
    let both = Projection::onto(&[&map("K / 4"), &map("P # 8, K % 4")]).expect("digits");
    assert_eq!(both.apply(&index(23, 3)), index(23, 3));
    // A resize keeps the digit, a modulo makes a new one.
    assert_eq!(Projection::onto(&[&map("K = 8")]).expect("a digit").apply(&index(23, 0)), index(23, 0));
    assert_eq!(Projection::onto(&[&map("K % 8")]).expect("a digit").apply(&index(23, 0)), index(7, 0));
    assert!(Projection::onto(&[&map("[P, G] / 14")]).is_err());
    assert!(Projection::onto(&[&map("[P, G] / 14"), &map("[P, G] % 14")]).is_ok());
    // A digit with padding, and what it is cut into.
    let cut = |text: &str| Projection::onto(&[&map(text)]).expect("digits").apply(&index(8, 0));
    assert_eq!(cut("K % 3 # 8"), index(2, 0));
    assert_eq!(cut("K % 3 # 8 / 2, K % 3 # 8 % 2"), index(2, 0));
    assert_eq!([cut("K % 3 # 8 / 2"), cut("K % 3 # 8 % 2")], [index(2, 0), index(0, 0)]);
    // The second half of a group is found inside another group.
    assert!(Projection::onto(&[&map("[B, C] # 16 / 4"), &map("[A, [B, C] # 16 % 4] # 33")]).is_ok());
}

/// By positions: where parts of a list are taken away, an element goes to the position that is the same but for 0 in
/// these parts.
#[test]
fn projection_is_that_of_positions() {
    let (mut moved, mut nested) = (0, 0);
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let axis = Map::axis("K", random.between(2, 16));
        let mut list = vec![axis.pad(axis.size() + random.below(5))];
        for _ in 0..5 {
            let place = random.below(list.len());
            let (own, size) = (list[place].clone(), list[place].size());
            let cuts: Vec<usize> = (2..size).filter(|n| size.is_multiple_of(*n)).collect();
            if !cuts.is_empty() && random.chance(70) {
                let n = random.pick(&cuts);
                list.splice(place..=place, [own.stride(n), own.modulo(n)]);
            } else if size < 16 {
                list[place] = own.pad(size + random.below(4));
            }
        }
        let lacks: Vec<bool> = list.iter().map(|_| random.chance(30)).collect();
        let all: Vec<&Map> = list.iter().collect();
        let kept: Vec<&Map> =
            all.iter().zip(&lacks).filter(|(_, lacks)| !**lacks).map(|(map, _)| *map).collect();
        nested +=
            usize::from(kept.iter().any(|map| digits(map).iter().any(|digit| !digit.within.is_empty())));
        let projection = Projection::onto(&kept).expect("digits of one axis");
        let mut at = Union::new(&all);
        for_each_position(&all, |tuple| {
            let Some(element) = at.at(tuple) else { return };
            let zeros: Vec<usize> =
                tuple.iter().zip(&lacks).map(|(place, lacks)| if *lacks { 0 } else { *place }).collect();
            let expected = at.at(&zeros).expect("an element with less of its coordinate");
            moved += usize::from(expected != element);
            assert_eq!(
                projection.apply(&element),
                expected,
                "seed {seed}: {element:?} of {all:?} onto {kept:?}"
            );
        });
    }
    assert!(moved > 1000 && nested > 200, "{moved} elsewhere, {nested} cuts of padded digits");
}
