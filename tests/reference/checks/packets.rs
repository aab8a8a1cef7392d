use reference::digits::content;
use reference::mapping::Map;
use reference::mapping::is_injective;
use reference::numbers::ElementType;
use reference::packets::*;
use reference::random::{Axes, Random};

#[test]
fn packets_have_one_and_two_flits() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut names = Names { axes: Axes::new() };
        let element = random.pick(&[ElementType::I4, ElementType::I8, ElementType::Bf16]);
        let plan = packet_plan(&mut random, &mut names, element);
        let per_flit = element.per_flit();
        assert_eq!((plan.flit.size(), plan.out.size()), (per_flit, 2 * per_flit), "seed {seed}");
        assert!(plan.out.modulo(per_flit).equivalent(&plan.flit), "seed {seed}");
        let collects = content(&plan.out) > per_flit;
        assert_eq!(plan.stream_only.is_some(), collects, "seed {seed}");
        assert!(plan.block.size().is_power_of_two() && is_injective(&[&plan.out]), "seed {seed}");
    }
}

#[test]
fn padding_makes_whole_flits() {
    let axes = &[("A", 3), ("B", 5), ("C", 8)];
    let map = |text: &str| Map::parse(text, axes);
    let mut factors = vec![map("A"), map("B")];
    assert!(pad_to_flits(&mut factors, &map("C"), 32).equivalent(&map("A, B # 8, C")));
    assert!(pad_to_flits(&mut [], &map("C"), 32).equivalent(&map("C # 32")));
    assert!(pad_to_flits(&mut [map("C"), map("A")], &Map::One, 16).equivalent(&map("C, A # 16")));
}
