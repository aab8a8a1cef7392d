use reference::digits::Projection;
use reference::random::Random;
use reference::switch::*;
use reference::union::Union;
use std::collections::BTreeMap;

/// Every output position of a legal switch holds what its source held.
fn moves_what_it_should(case: &SwitchCase, source: impl Fn(usize, usize) -> Option<(usize, usize)>) {
    let Mappings { in_slice, in_time, out_slice, out_time } = &case.maps;
    let projection = Projection::onto(&[in_slice, in_time]).expect("no group is cut");
    let (mut out, mut held) = (Union::new(&[out_slice, out_time]), Union::new(&[in_slice, in_time]));
    for slice in 0..out_slice.size() {
        for time in 0..out_time.size() {
            let Some(index) = out.at(&[slice, time]) else { continue };
            let (from, at) = source(slice, time).expect("it has a source");
            let held = held.at(&[from, at]);
            assert_eq!(held, Some(projection.apply(&index)), "slice {slice}, time {time} of {case:?}");
        }
    }
}

#[test]
fn generated_switches_are_legal_and_the_formulas_are_the_mappings() {
    let mut variants = BTreeMap::<String, usize>::new();
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let slices = random.pick(&[8, 16, 32, 256]);
        let case = random_switch(&mut random, slices);
        assert_eq!(case.config.check(&case.maps), Ok(()), "seed {seed}: {case:?}");
        let name = format!("{:?}", case.config);
        *variants.entry(name.split(' ').next().expect("a name").to_string()).or_default() += 1;
        if let Switching::CustomBroadcast { ring_size } = case.config {
            let sets = case.maps.routed(ring_size).expect("it is legal");
            let count = case.maps.out_time.size() / case.maps.in_time.size();
            moves_what_it_should(&case, |slice, time| Some((sets.get(&slice)?[time % count], time / count)));
        } else {
            moves_what_it_should(&case, |slice, time| case.config.source(slice, time));
        }
    }
    assert!(variants.len() == 7 && variants.values().all(|count| *count > 10), "{variants:?}");
}

#[test]
fn the_documented_example() {
    let config = Switching::Broadcast01 { slice1: 4, slice0: 2, time0: 3 };
    assert_eq!(config.source(21, 31), Some((19, 3)));
}

#[test]
fn disturbed_switches_are_legal_and_illegal() {
    let mut counts = [0, 0];
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let case = random_switch(&mut random, 16);
        let case = disturbed(&mut random, &case);
        counts[usize::from(case.config.check(&case.maps).is_ok())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
}
