//! Reduces of many elements to one, in each slice or between slices.

use super::operators::{IntraSliceReduceOpF32, IntraSliceReduceOpI32};
use crate::command::transfer::Step;
use crate::list::List;
use crate::mapping::Guard;
use crate::scalar::ElementType;

/// An operator that reduces many elements to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOperator {
    /// The sum of `i32`, modulo 2^32.
    AddI32,
    /// The sum of `i32`, saturated to `i32` after each addition.
    AddSatI32,
    /// The greatest `i32`.
    MaxI32,
    /// The least `i32`.
    MinI32,
    /// The sum of `f32`.
    AddF32,
    /// The greatest `f32`.
    MaxF32,
    /// The least `f32`.
    MinF32,
    /// The product of `f32`.
    MulF32,
}

impl ReduceOperator {
    /// The type of the elements.
    pub const fn element(&self) -> ElementType {
        match self {
            ReduceOperator::AddI32
            | ReduceOperator::AddSatI32
            | ReduceOperator::MaxI32
            | ReduceOperator::MinI32 => ElementType::I32,
            _ => ElementType::F32,
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        match self {
            ReduceOperator::AddI32 | ReduceOperator::AddF32 => "Add",
            ReduceOperator::AddSatI32 => "AddSat",
            ReduceOperator::MaxI32 | ReduceOperator::MaxF32 => "Max",
            ReduceOperator::MinI32 | ReduceOperator::MinF32 => "Min",
            ReduceOperator::MulF32 => "Mul",
        }
    }
}

display_name!(ReduceOperator);

/// Operators of an inter-slice reduce of `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterSliceReduceOpI32 {
    /// The sum, modulo 2^32.
    Add,
    /// The sum, saturated to `i32` after each addition.
    AddSat,
    /// The greatest element.
    Max,
    /// The least element.
    Min,
}

/// Operators of an inter-slice reduce of `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterSliceReduceOpF32 {
    /// The sum.
    Add,
    /// The greatest element.
    Max,
    /// The least element.
    Min,
    /// The product.
    Mul,
}

/// Converts the operators of an engine.
macro_rules! reduces {
    ($($op:ident { $($variant:ident => $operator:ident),* })*) => { $(
        impl From<$op> for ReduceOperator {
            fn from(op: $op) -> Self {
                match op { $($op::$variant => ReduceOperator::$operator,)* }
            }
        }
    )* };
}

reduces! {
    InterSliceReduceOpI32 { Add => AddI32, AddSat => AddSatI32, Max => MaxI32, Min => MinI32 }
    InterSliceReduceOpF32 { Add => AddF32, Max => MaxF32, Min => MinF32, Mul => MulF32 }
    IntraSliceReduceOpI32 { AddSat => AddSatI32, Max => MaxI32, Min => MinI32 }
    IntraSliceReduceOpF32 { Add => AddF32, Max => MaxF32, Min => MinF32 }
}

/// The most loops on either side of a reduce.
pub const REDUCE_LOOPS: usize = 24;

/// A loop over elements that a reduce keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptLoop {
    /// Iterations.
    pub size: usize,
    /// Positions of the incoming stream per iteration.
    pub input: usize,
    /// Positions of the outgoing stream per iteration.
    pub output: usize,
}

/// A loop over elements that a reduce combines to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducedLoop {
    /// Iterations.
    pub size: usize,
    /// Positions of the incoming stream per iteration.
    pub input: usize,
}

/// The intra-slice reduce: in each slice, all elements along an axis become one.
///
/// Elements are combined in the order of their index along the axis, starting with the first one as it is. Padding is
/// left out; a result of padding only is padding.
#[derive(Clone, Debug, PartialEq)]
pub struct IntraSliceReduce {
    /// The operator.
    pub op: ReduceOperator,
    /// Condition for positions of the incoming stream that hold an element. Variables: chip, cluster, slice, time,
    /// packet.
    pub guard: Guard,
    /// Loops over the kept axes.
    pub kept: List<KeptLoop, REDUCE_LOOPS>,
    /// Loops over the reduced axis, in the order of the index: the loop with the largest distance along the axis comes
    /// first.
    pub reduced: List<ReducedLoop, REDUCE_LOOPS>,
    /// Time steps of the outgoing stream.
    pub time: usize,
    /// Number of places of the accumulator in use at once, of 8.
    pub slots: usize,
}

impl IntraSliceReduce {
    /// The position of each element in the incoming stream, and of its sum in the outgoing one: sum by sum, in the
    /// order in which elements are added.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let kept = self.kept.iter().map(|kept_loop| (kept_loop.size, kept_loop.input, kept_loop.output));
        nest(kept).into_iter().flat_map(|(from, to)| {
            let reduced =
                nest(self.reduced.iter().map(|reduced_loop| (reduced_loop.size, reduced_loop.input, 0)));
            reduced.into_iter().map(move |(offset, _)| (from + offset, to))
        })
    }
}

/// A loop over elements that an inter-slice reduce keeps apart. Elements of a step are positions,
/// `time * lanes + lane`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedLoop {
    /// Iterations.
    pub size: usize,
    /// Slices or positions of the incoming stream, per iteration.
    pub input: Step,
    /// Slices or positions of the outgoing stream, per iteration.
    pub output: Step,
}

/// A loop over the slices of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceLoop {
    /// Iterations.
    pub size: usize,
    /// Slices per iteration.
    pub units: usize,
    /// The axis, counted from 0: the fold over the last one is the innermost. Loops of an axis are neighbours.
    pub axis: usize,
}

/// A loop over the slices that get the same sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedLoop {
    /// Iterations.
    pub size: usize,
    /// Slices per iteration.
    pub units: usize,
}

/// The inter-slice reduce: in each cluster, the elements of a group of slices become one.
#[derive(Clone, Debug, PartialEq)]
pub struct InterSliceReduce {
    /// The operator.
    pub op: ReduceOperator,
    /// Condition for positions of the incoming stream that hold an element. Variables: chip, cluster, slice, time,
    /// packet.
    pub guard: Guard,
    /// Loops over the kept axes: slices, positions, and time steps that go to slices.
    pub kept: List<MovedLoop, REDUCE_LOOPS>,
    /// Loops over the reduced axes, in the order of the index: the loop with the largest distance along its axis comes
    /// first.
    pub reduced: List<SliceLoop, REDUCE_LOOPS>,
    /// Loops over the slices that get the same sum.
    pub repeated: List<RepeatedLoop, REDUCE_LOOPS>,
    /// Number of neighbouring slices in a group.
    pub group: usize,
    /// Time steps of the outgoing stream.
    pub time: usize,
}

/// Two positions for every iteration of a nest of loops, in order.
pub fn nest(loops: impl Iterator<Item = (usize, usize, usize)>) -> Vec<(usize, usize)> {
    let mut all = vec![(0, 0)];
    for (size, input, output) in loops {
        let turns = |(from, to)| (0..size).map(move |k| (from + k * input, to + k * output));
        all = all.into_iter().flat_map(turns).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operator of a reduce has the name and the type of the operator in the call.
    #[test]
    fn operators_keep_their_names_and_types() {
        macro_rules! same {
            ($($name:ident { $($variant:ident)* } of $element:ident;)*) => { $($({
                let op = ReduceOperator::from($name::$variant);
                assert_eq!(format!("{op:?}"), concat!(stringify!($variant), stringify!($element)));
                assert_eq!((op.name(), op.to_string().as_str()), (stringify!($variant), stringify!($variant)));
                assert_eq!(op.element(), ElementType::$element);
            })*)* };
        }
        same! {
            InterSliceReduceOpI32 { Add AddSat Max Min } of I32;
            InterSliceReduceOpF32 { Add Max Min Mul } of F32;
            IntraSliceReduceOpI32 { AddSat Max Min } of I32;
            IntraSliceReduceOpF32 { Add Max Min } of F32;
        }
    }

    #[test]
    fn sums_and_their_elements_have_places() {
        let mut kept = List::new(KeptLoop { size: 1, input: 0, output: 0 });
        kept.push(KeptLoop { size: 2, input: 10, output: 3 });
        let mut reduced = List::new(ReducedLoop { size: 1, input: 0 });
        reduced.push(ReducedLoop { size: 2, input: 4 });
        reduced.push(ReducedLoop { size: 2, input: 1 });
        let guard = Guard::always(5);
        let reduce = IntraSliceReduce { op: ReduceOperator::MaxF32, guard, kept, reduced, time: 1, slots: 1 };
        let expected = [(0, 0), (1, 0), (4, 0), (5, 0), (10, 3), (11, 3), (14, 3), (15, 3)];
        assert!(reduce.places().eq(expected));
    }
}
