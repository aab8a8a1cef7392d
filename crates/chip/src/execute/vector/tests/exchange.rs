//! Tests of sums between slices: random streams with holes and padding against a fold of single elements.

use super::*;
use furiosa_visa_rules::command::{InterSliceReduce, MovedLoop, RepeatedLoop, SliceLoop};
use furiosa_visa_rules::mapping::GuardSum;
use furiosa_visa_rules::spec::SLICES;

/// Number of neighbouring slices in a group.
const GROUP: usize = 16;
/// Number of groups in a cluster.
const GROUPS: usize = 4;
const TIME: usize = 4;
/// Sizes of the digits of a sum: two of one axis, the greater first, and one of another axis, whose elements are summed
/// first.
const DIGITS: [usize; 3] = [3, 2, 2];

/// Destination of the two time digits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steps {
    /// Both stay.
    Stay,
    /// They swap places.
    Swap,
    /// The outer digit goes to slices.
    Promote,
}

impl Steps {
    /// The part of a group that a time step goes to, and the time step there.
    fn place(self, time: usize) -> (usize, usize) {
        let (inner, outer) = (time % 2, time / 2);
        match self {
            Steps::Stay => (0, time),
            Steps::Swap => (0, 2 * inner + outer),
            Steps::Promote => (outer, inner),
        }
    }
}

fn sum_of(op: ReduceOperator, units: [usize; 3], steps: Steps, copies: usize, guard: Guard) -> Vector {
    let at = |units, elements| Step { units, elements };
    let lane = MovedLoop { size: 8, input: at(0, 1), output: at(0, 1) };
    let mut kept = List::new(lane);
    kept.push(lane);
    kept.push(MovedLoop { size: GROUPS, input: at(GROUP, 0), output: at(GROUP, 0) });
    let [inner, outer] = match steps {
        Steps::Stay => [at(0, 8), at(0, 16)],
        Steps::Swap => [at(0, 16), at(0, 8)],
        Steps::Promote => [at(0, 8), at(4, 0)],
    };
    kept.push(MovedLoop { size: 2, input: at(0, 8), output: inner });
    kept.push(MovedLoop { size: 2, input: at(0, 16), output: outer });
    let mut reduced = List::new(SliceLoop { size: 1, units: 0, axis: 0 });
    for (k, (size, units)) in DIGITS.into_iter().zip(units).enumerate() {
        reduced.push(SliceLoop { size, units, axis: k / 2 });
    }
    let mut repeated = List::new(RepeatedLoop { size: 1, units: 0 });
    repeated.push(RepeatedLoop { size: copies, units: 1 });
    let time = if steps == Steps::Promote { 2 } else { TIME };
    let mut vector = Vector::new(ElementType::F32, Guard::always(5));
    let step = InterSliceReduce { op, guard, kept, reduced, repeated, group: GROUP, time };
    vector.steps.push(VectorStep::InterSliceReduce(Box::new(step)));
    vector
}

#[test]
fn slices_agree_with_elements() {
    let mut random = SmallRng::seed_from_u64(619);
    let (mut buffers, mut output) = (VectorBuffers::default(), Row::new(ElementType::I8));
    let unit = Unit::default();
    let of = |number: usize| Coordinates { chip: 0, cluster: number / SLICES, slice: number % SLICES };
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let (mut some, mut without) = (0, 0);
    for case in 0..600 {
        let op = pick(&mut random, if case % 2 == 0 { &FLOAT_REDUCES } else { &FIXED_REDUCES });
        let steps = pick(&mut random, &[Steps::Stay, Steps::Swap, Steps::Promote]);
        let copies = pick(&mut random, &[1, 2]);
        // The digits are nested in any order.
        let (mut units, mut inside) = ([0; 3], 1);
        for digit in pick(&mut random, &orders) {
            units[digit] = inside;
            inside *= DIGITS[digit];
        }
        // Padding: none, whole slices of a group, slices with some of their time steps, or some time steps of all
        // slices.
        let mut guard = Guard::always(5);
        if let Some((variables, limit)) =
            pick(&mut random, &[None, Some((&[2][..], 7)), Some((&[2, 3], 9)), Some((&[3], 3))])
        {
            guard.sums.push(GuardSum { first: 0, len: variables.len(), start: 0, limit });
            for &variable in variables {
                guard.digits.push(GuardDigit { variable, base: 1, extent: GROUP, weight: 1 });
            }
        }
        let vector = sum_of(op, units, steps, copies, guard);
        let plan = VectorPlan::new(
            &vector,
            StreamShape { element: ElementType::F32, time: TIME, lanes: 8 },
            Path::best(),
        );
        assert!(plan.crosses_slices());
        // Some slices have no stream, and some streams have holes.
        let (absent, holes) = (pick(&mut random, &[0, 30, 85]), pick(&mut random, &[0, 40]));
        let mut streams = Vec::new();
        for number in 0..2 * SLICES {
            let is_there = number % SLICES < GROUP * GROUPS && random.random_range(0..100) >= absent;
            let holes = if random.random_range(0..3) > 0 { holes } else { 0 };
            // The order of summation decides which of two different NaN is left.
            let mut draw = || {
                let there = random.random_range(0..100) >= holes;
                let bits = if random.random_range(0..5) == 0 {
                    0x7fc0_0000 | random.random_range(0..16)
                } else {
                    value(&mut random)
                };
                there.then_some(bits)
            };
            streams.push(is_there.then(|| (0..8 * TIME).map(|_| draw()).collect::<Vec<_>>()));
        }
        let before: Vec<Option<LaneRow>> = streams
            .iter()
            .enumerate()
            .map(|(number, values)| {
                let mut input = row(values.as_ref()?);
                Some(plan.run_before(Input::Row(&mut input), (&unit, of(number)), &mut buffers))
            })
            .collect();
        let mut results = plan.exchange(&before);
        assert_eq!(results.len(), 2 * SLICES);
        for first in (0..2).flat_map(|cluster| (0..GROUPS).map(move |k| cluster * SLICES + k * GROUP)) {
            let element = |number: usize, time: usize, lane: usize| {
                let Coordinates { chip, cluster, slice } = of(number);
                streams[number].as_ref()?[time * 8 + lane]
                    .filter(|_| guard.holds(&[chip, cluster, slice, time, lane]))
            };
            let combine = |a, b| lanes::combined(op, a, b);
            let sum = |time: usize, lane: usize| {
                let inner = |k: usize| {
                    let number = first + k / 2 * units[0] + k % 2 * units[1];
                    (0..2).filter_map(|j| element(number + j * units[2], time, lane)).reduce(combine)
                };
                (0..6).filter_map(inner).reduce(combine)
            };
            let parts = if steps == Steps::Promote { 2 } else { 1 };
            let goes = (0..parts).flat_map(|part| (0..copies).map(move |copy| (part, copy)));
            let is_any = (0..12).any(|k| streams[first + k].is_some());
            without += usize::from(!is_any);
            for (part, copy) in goes {
                let result = results[first + 4 * part + copy].take();
                assert_eq!(result.is_some(), is_any, "case {case}: {vector}");
                let Some(result) = result else { continue };
                plan.run_behind(result, (&unit, of(first)), &mut buffers, &mut output);
                let mut expected = vec![None; output.len()];
                for (time, lane) in (0..TIME).flat_map(|time| (0..8).map(move |lane| (time, lane))) {
                    let (part_of_time, step) = steps.place(time);
                    if part_of_time == part {
                        expected[step * 8 + lane] = sum(time, lane);
                    }
                }
                let found: Vec<_> = (output.bytes().as_chunks::<4>().0.iter().enumerate())
                    .map(|(k, lane)| {
                        let written = output.flags().is_none_or(|flags| flags[k]);
                        written.then(|| u32::from_le_bytes(*lane))
                    })
                    .collect();
                assert_eq!(found, expected, "case {case}, slice {first}, part {part}: {vector}");
                some += usize::from(expected.contains(&None) && expected.iter().any(Option::is_some));
            }
        }
        assert!(results.iter().all(Option::is_none), "case {case}: other slices get nothing: {vector}");
    }
    assert!(some > 500 && without > 50, "{some} sums with holes, {without} groups without a stream");
}
