use reference::contraction::Kind;
use reference::digits::Projection;
use reference::digits::content;
use reference::mapping::Coordinates;
use reference::numbers::{ElementType, Number};
use reference::pipelines::*;
use reference::random::Random;
use reference::random::random_tensor;
use reference::sequencer::exists_configuration;
use reference::tensor::MathTensor;
use reference::tensor::collect_from;
use std::collections::BTreeMap;

const TYPES: [ElementType; 4] = [ElementType::I4, ElementType::I8, ElementType::F8E4M3, ElementType::Bf16];

/// Sums all products over the digits that the result lacks, without any other mapping of the pipeline.
fn naive(
    data: &MathTensor<Number>,
    weights: &MathTensor<Number>,
    result: &Projection,
) -> BTreeMap<Coordinates, f64> {
    let shared = |index: &Coordinates, axes: &BTreeMap<reference::mapping::Name, usize>| -> Coordinates {
        index.iter().filter(|(name, _)| axes.contains_key(*name)).map(|(n, v)| (n.clone(), *v)).collect()
    };
    let mut groups: BTreeMap<Coordinates, Vec<(&Coordinates, f64)>> = BTreeMap::new();
    for (index, weight) in &weights.cells {
        groups.entry(shared(index, &data.axes)).or_default().push((index, plain(weight)));
    }
    let mut sums = BTreeMap::new();
    for (index, value) in &data.cells {
        for (other, weight) in groups.get(&shared(index, &weights.axes)).into_iter().flatten() {
            let mut all: Coordinates = index.clone();
            all.extend((*other).clone());
            *sums.entry(result.apply(&all)).or_insert(0.0) += plain(value) * weight;
        }
    }
    sums
}

fn plain(number: &Number) -> f64 {
    match number {
        Number::Integer(value) => f64::from(*value),
        Number::Real(value) => f64::from(*value),
    }
}

#[test]
fn generated_pipelines_are_legal_and_sum_what_they_should() {
    for seed in 0..48 {
        let mut random = Random::new(seed);
        let element = TYPES[seed as usize % 4];
        let case = random_contraction(&mut random, element);
        let data = random_tensor(&mut random, element, &case.data_axes);
        let weights = random_tensor(&mut random, element, &case.weight_axes);
        let stages = case.run(&data, &weights).unwrap_or_else(|error| panic!("{error}\n{case:#?}"));
        let (time, packet) = case.contraction.output();
        let dims = [&case.contraction.prefix[0], &time, &packet];
        let result = collect_from(&dims, &stages.accumulated).expect("no element twice");
        let projection = Projection::onto(&dims).expect("no group is cut");
        let expected = naive(&data, &weights, &projection);
        assert!(!expected.is_empty() && expected.len() == result.cells.len(), "seed {seed}: {case:#?}");
        let limit = if element.is_integer() { 0.0 } else { 0.05 };
        for (index, number) in &result.cells {
            let (value, expected) = (plain(number), expected[index]);
            assert!(
                (value - expected).abs() <= limit,
                "seed {seed} at {index:?}: {value} {expected}\n{case:#?}"
            );
        }
        let live = |list: &[Option<Number>]| list.iter().flatten().count();
        assert!(live(&stages.committed) <= live(&stages.accumulated), "seed {seed}");
        assert!(live(&stages.committed) > 0, "seed {seed}");
    }
}

#[test]
fn weights_of_generated_pipelines_can_be_sequenced() {
    let mut searched = 0;
    for seed in 0..120 {
        let case = random_contraction(&mut Random::new(seed), TYPES[seed as usize % 4]).contraction;
        if case.out_time.size() * case.out_packet.size() <= 1024 {
            searched += 1;
            assert!(
                exists_configuration(&case.trf_element, &case.out_time, &case.out_packet),
                "seed {seed}: {case:#?}"
            );
        }
    }
    assert!(searched > 40, "{searched}");
}

#[test]
fn generated_pipelines_vary() {
    let cases: Vec<Pipeline> =
        (0..200).map(|seed| random_contraction(&mut Random::new(seed), TYPES[seed as usize % 4])).collect();
    let share = |test: &dyn Fn(&Pipeline) -> bool| cases.iter().filter(|case| test(case)).count();
    assert!(share(&|case| case.contraction.kind == Kind::Sequential) > 40);
    assert!(share(&|case| case.contraction.kind == Kind::Interleaved) > 40);
    assert!(share(&|case| case.contraction.kept_time.size() < case.contraction.out_time.size()) > 40);
    assert!(share(&|case| case.stored != case.sum) > 40);
    assert!(
        share(&|case| content(&case.contraction.out_packet) * 2 > case.contraction.out_packet.size()) > 40
    );
    assert!(share(&|case| case.contraction.stream_time.size() < case.contraction.out_time.size()) > 40);
    assert!(share(&|case| case.contraction.prefix[0].size() > 1) > 20);
}
