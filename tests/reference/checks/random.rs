use reference::engines::dma;
use reference::mapping::joint_table;
use reference::mapping::{Map, is_injective};
use reference::random::*;
use reference::sequencer::{exists_configuration, wanted};
use reference::tensor::MathTensor;
use reference::tensor::{collect_from, place};

#[test]
fn equal_seeds_give_equal_numbers() {
    let (mut a, mut b) = (Random::new(7), Random::new(7));
    assert!((0..100).all(|_| a.bits() == b.bits()));
    assert_ne!(Random::new(8).bits(), Random::new(9).bits());
}

#[test]
fn random_maps_are_valid_injective_and_read_back() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let axes = random_axes(&mut random, 3);
        let margins = seed % 2 == 1;
        let map = random_tree(&mut random, &axes, 4, margins);
        assert_eq!(map.validity(), Ok(()), "seed {seed}: {map}");
        assert!(is_injective(&[&map]), "seed {seed}: {map}");
        let back = Map::parse(&map.to_string(), &borrowed(&axes));
        assert!(back.equivalent(&map), "seed {seed}: {map}");
        for n in divisors(map.size()) {
            let split = Map::sequence(&[map.stride(n), map.modulo(n)]);
            assert!(split.equivalent(&map), "seed {seed}: {map} at {n}");
        }
    }
}

#[test]
fn partitions_hold_every_element_once() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let margins = [Margins::None, Margins::Any, Margins::Equal][seed as usize % 3];
        let axes = margins.axes(&mut random, 3);
        let dims = random_partition(&mut random, &axes, 3, seed % 2 == 0, margins);
        let dims: Vec<&Map> = dims.iter().collect();
        let live = joint_table(&dims).into_iter().flatten().count();
        let elements: usize = axes.iter().map(|(_, size)| size).product();
        assert!(is_injective(&dims) && live == elements, "seed {seed}: {dims:?}");
    }
}

#[test]
fn moves_keep_the_tensor() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let margins = [Margins::None, Margins::Any, Margins::Equal][seed as usize % 3];
        let case = random_move(&mut random, [3, 4], true, seed % 2 == 0, margins);
        let tensor = MathTensor::from_fn(&borrowed(&case.axes)[..case.tensor_axes], |_, k| k);
        let (source, destination): (Vec<&Map>, Vec<&Map>) =
            (case.source.iter().collect(), case.destination.iter().collect());
        let values = place(&tensor, &source);
        assert_eq!(collect_from(&source, &values).as_ref(), Ok(&tensor), "seed {seed}");
        let moved = dma(&source, &values, &destination);
        assert_eq!(moved, Ok(place(&tensor, &destination)), "seed {seed}: {case:?}");
    }
}

#[test]
fn reads_are_of_both_kinds() {
    let (mut readable, mut refused) = (0, 0);
    for seed in 0..300 {
        let (_, [buffer, time, packet]) = random_read(&mut Random::new(seed), 2);
        if exists_configuration(&buffer, &time, &packet) {
            assert!(wanted(&buffer, &time, &packet).is_ok(), "seed {seed}");
            readable += 1;
        } else {
            refused += 1;
        }
    }
    assert!(readable > 50 && refused > 50, "{readable} and {refused}");
}
