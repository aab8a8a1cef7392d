//! Rules for programs of the Vector Engine: they must have a meaning.

use super::site::Form;
use super::{MOST, MOST_IN_SLICE};
use furiosa_visa_rules::command::{
    BinaryInput, BinaryOperator, Branch, Fault, FpTernaryOp, InputCmp, InterSliceReduce, IntraSliceReduce,
    Memory, MovedLoop, OperandSource, REDUCE_LOOPS, RepeatedLoop, RngdAlu, SliceLoop, StreamShape,
    TernaryInput, Transfer, Vector, VectorStep,
};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{
    BEAT_LANES, SLICES, VECTOR_BRANCHES, VECTOR_NARROW_LANES, VECTOR_REDUCE_SLOTS,
};

const HELP: &str = "let the program follow from calls";

/// State of a program after its first steps.
#[derive(Default)]
struct Progress {
    used: Vec<RngdAlu>,
    stashed: bool,
    branched: bool,
    /// True if there are two groups.
    paired: bool,
    /// True if there was an exchange between slices.
    crossed: bool,
}

/// Refuses a program without a meaning for a stream of this shape.
pub(super) fn program(vector: &Vector, stream: StreamShape, form: Form) -> Result<(), Fault> {
    form.guard(&vector.guard, 5)?;
    form.same(stream.element, vector.input, "enters the Vector Engine as")?;
    if !matches!(vector.input, ElementType::I32 | ElementType::F32) || stream.lanes != BEAT_LANES {
        let message =
            format!("packets of {} {} are no flits of {BEAT_LANES} i32 or f32", stream.lanes, vector.input);
        return Err(form.refused(message, "let fetch widen the elements, and collect them into flits"));
    }
    if stream.time as u64 >= MOST / BEAT_LANES as u64 {
        let message = format!("{} flits are a stream without an end", stream.time);
        return Err(form.refused(message, "use fewer time steps"));
    }
    let mut progress = Progress::default();
    let mut shape = stream;
    for step in &vector.steps {
        check(step, shape, &mut progress, form)?;
        shape = step.shape(shape);
    }
    if progress.paired {
        return Err(form.refused("two groups leave the Vector Engine".to_string(), "end the pair with a zip"));
    }
    if shape.lanes != BEAT_LANES {
        let message = format!("packets of {} lanes leave the Vector Engine", shape.lanes);
        return Err(form.refused(message, "end the program with concat or pad_way8"));
    }
    Ok(())
}

fn check(step: &VectorStep, shape: StreamShape, progress: &mut Progress, form: Form) -> Result<(), Fault> {
    let refused = |message: String| Err(form.refused(message, HELP));
    let needs = |element: Option<ElementType>, lanes: usize| {
        let fits = element.is_none_or(|element| element == shape.element) && lanes == shape.lanes;
        if fits {
            return Ok(());
        }
        let StreamShape { element: given, lanes: there, .. } = shape;
        Err(form.refused(format!("`{step}` is to work on packets of {there} {given}"), HELP))
    };
    if let Some(alu) = step.alu() {
        if progress.used.contains(&alu) {
            return refused(format!("{alu} is used twice"));
        }
        progress.used.push(alu);
    }
    use ElementType::{F32, I32};
    match step {
        VectorStep::Branch(branch) => {
            if progress.branched {
                return refused("elements get their execution ids twice".to_string());
            }
            progress.branched = true;
            needs(None, BEAT_LANES)?;
            branched(branch, shape.element, form)
        }
        VectorStep::Unzip { step } => {
            needs(None, BEAT_LANES)?;
            let positions = shape.time * shape.lanes;
            let fits = *step > 0 && step.is_multiple_of(BEAT_LANES) && *step <= positions / 2;
            if progress.branched || progress.stashed || !fits || !positions.is_multiple_of(2 * step) {
                return refused(format!("{positions} positions are to become pairs, {step} positions apart"));
            }
            (progress.branched, progress.paired) = (true, true);
            Ok(())
        }
        VectorStep::Zip { op, mode: _ } => {
            needs(Some(op.element()), op.lanes())?;
            if !op.is_defined() || !progress.paired || matches!(op, BinaryOperator::FpDiv(_)) {
                return refused(format!("`{step}` is to make one of two groups"));
            }
            progress.paired = false;
            Ok(())
        }
        _ if progress.paired && matches!(step, VectorStep::Stash | VectorStep::Trim | VectorStep::Pad) => {
            refused(format!("`{step}` is to work on two groups"))
        }
        VectorStep::IntraSliceReduce(_) | VectorStep::InterSliceReduce(_) if progress.paired => {
            refused(format!("`{step}` is to work on two groups"))
        }
        VectorStep::Stash => {
            if progress.stashed {
                return refused("elements are stashed twice".to_string());
            }
            progress.stashed = true;
            Ok(())
        }
        VectorStep::Binary { op, mode: _, operands } => {
            needs(Some(op.element()), op.lanes())?;
            if !op.is_defined() || operands.len() > VECTOR_BRANCHES {
                return refused(format!("`{step}` has {} operands, or no meaning", operands.len()));
            }
            operands
                .iter()
                .try_for_each(|BinaryInput { ids: _, source }| operand(source, shape, progress, form))
        }
        VectorStep::Unary { .. } => needs(Some(F32), VECTOR_NARROW_LANES),
        VectorStep::Ternary { op, mode: _, operands } => {
            needs(Some(F32), VECTOR_NARROW_LANES)?;
            if *op != FpTernaryOp::FmaF || operands.len() > VECTOR_BRANCHES {
                return refused(format!("`{step}` has {} operands, or no meaning", operands.len()));
            }
            let source = |TernaryInput { ids: _, source, constant: _ }: &TernaryInput| {
                operand(source, shape, progress, form)
            };
            operands.iter().try_for_each(source)
        }
        VectorStep::FxpToFp { int_width } | VectorStep::FpToFxp { int_width } => {
            let from = if matches!(step, VectorStep::FxpToFp { .. }) { I32 } else { F32 };
            needs(Some(from), BEAT_LANES)?;
            if *int_width >= 32 {
                return refused(format!("an i32 has no binary point behind {int_width} bits"));
            }
            Ok(())
        }
        VectorStep::Reinterpret => Ok(()),
        VectorStep::Split | VectorStep::Trim => needs(None, BEAT_LANES),
        VectorStep::Pad => needs(None, VECTOR_NARROW_LANES),
        VectorStep::Concat => {
            needs(None, VECTOR_NARROW_LANES)?;
            if !shape.time.is_multiple_of(2) {
                return refused(format!("{} halves of flits are no pairs", shape.time));
            }
            Ok(())
        }
        VectorStep::InterSliceReduce(reduce) => {
            needs(Some(reduce.op.element()), BEAT_LANES)?;
            if progress.crossed {
                return refused("slices are reduced twice".to_string());
            }
            *progress = Progress { crossed: true, ..Progress::default() };
            across(reduce, shape, form)
        }
        VectorStep::IntraSliceReduce(reduce) => {
            needs(Some(reduce.op.element()), VECTOR_NARROW_LANES)?;
            reduced(reduce, shape, form)
        }
    }
}

fn branched(branch: &Branch, element: ElementType, form: Form) -> Result<(), Fault> {
    match branch {
        Branch::Unconditional => Ok(()),
        Branch::AxisToggle { digits } => {
            let wrong = digits.iter().find(|digit| {
                let reach = (digit.extent as u64).checked_mul(digit.weight as u64);
                let far = digit.extent != usize::MAX && reach.is_none_or(|reach| reach >= MOST);
                digit.variable >= 5
                    || digit.base == 0
                    || digit.extent == 0
                    || far
                    || digit.weight as u64 >= MOST_IN_SLICE
            });
            match wrong {
                None => Ok(()),
                Some(digit) => {
                    Err(form.refused(format!("an axis has a digit without a meaning: {digit:?}"), HELP))
                }
            }
        }
        Branch::Comparison(all) => {
            let of = |comparison: &InputCmp| match comparison {
                InputCmp::I32(_) => ElementType::I32,
                InputCmp::F32(_) => ElementType::F32,
            };
            all.iter().try_for_each(|comparison| form.same(element, of(comparison), "is to be compared with"))
        }
    }
}

fn operand(source: &OperandSource, shape: StreamShape, progress: &Progress, form: Form) -> Result<(), Fault> {
    let inside = |transfer: &Transfer| {
        form.transfer(transfer)?;
        let ends = [transfer.source_start, transfer.destination_start];
        let crosses = transfer
            .loops
            .iter()
            .any(|transfer_loop| transfer_loop.source.units > 0 || transfer_loop.destination.units > 0);
        if crosses || ends.iter().any(|end| end.units != 0) {
            return Err(form.refused("the loops of an operand go to another slice".to_string(), HELP));
        }
        Ok(())
    };
    match source {
        OperandSource::Constant(_) => Ok(()),
        OperandSource::Vrf(operand) => {
            form.in_its_slice(&operand.source)?;
            form.same(shape.element, operand.source.footprint.element, "meets an operand of")?;
            if operand.source.memory != Memory::Vrf {
                let message = format!("an operand lies in {}", operand.source.memory);
                return Err(form.refused(message, "load it into the VRF"));
            }
            inside(&operand.transfer)
        }
        OperandSource::Stash(transfer) if progress.stashed => inside(transfer),
        OperandSource::Stash(_) => {
            Err(form.refused("the stash is an operand, but nothing was stashed".to_string(), HELP))
        }
    }
}

fn reduced(reduce: &IntraSliceReduce, shape: StreamShape, form: Form) -> Result<(), Fault> {
    form.guard(&reduce.guard, 5)?;
    let refused = |message: String| Err(form.refused(message, "let the loops follow from the mappings"));
    let [positions, outputs] =
        [shape.time, reduce.time].map(|time| (time as u64).saturating_mul(shape.lanes as u64));
    let (mut count, mut input, mut output) = (1u64, 0u64, 0u64);
    let kept = reduce.kept.iter().map(|entry| (entry.size, entry.input, entry.output));
    let reduced = reduce.reduced.iter().map(|entry| (entry.size, entry.input, 0));
    for (size, before, behind) in kept.chain(reduced) {
        count = count.saturating_mul(size as u64);
        input = input.saturating_add((size as u64).saturating_sub(1).saturating_mul(before as u64));
        output = output.saturating_add((size as u64).saturating_sub(1).saturating_mul(behind as u64));
    }
    if reduce.time as u64 >= MOST / BEAT_LANES as u64 || count == 0 || count > positions {
        return refused(format!("a reduce of {positions} positions to {outputs} takes {count}"));
    }
    if input >= positions || output >= outputs {
        return refused(format!(
            "a reduce of {positions} positions to {outputs} takes position {input} and makes position {output}"
        ));
    }
    if reduce.slots > VECTOR_REDUCE_SLOTS {
        return refused(format!(
            "a reduce keeps {} sums at once, but there are {VECTOR_REDUCE_SLOTS}",
            reduce.slots
        ));
    }
    Ok(())
}

fn across(reduce: &InterSliceReduce, shape: StreamShape, form: Form) -> Result<(), Fault> {
    form.guard(&reduce.guard, 5)?;
    let refused = |message: String| Err(form.refused(message, "let the loops follow from the mappings"));
    let [positions, outputs] =
        [shape.time, reduce.time].map(|time| (time as u64).saturating_mul(shape.lanes as u64));
    let last = |size: usize, step: usize| (size as u64).saturating_sub(1).saturating_mul(step as u64);
    let (mut count, mut slices, mut made) = (1u64, 1u64, 1u64);
    let (mut before, mut behind) = ([0u64; 2], [0u64; 2]);
    for MovedLoop { size, input, output } in &reduce.kept {
        let promoted = input.units == 0 && output.units > 0;
        let moves_up = input.units > 0 && (output.units == 0 || output.elements > 0 || input.elements > 0);
        if moves_up || promoted && output.elements > 0 {
            return refused("a loop of a reduce goes from slices to time".to_string());
        }
        let of = if input.units > 0 { &mut slices } else { &mut count };
        *of = of.saturating_mul(*size as u64);
        made = if promoted { made.saturating_mul(*size as u64) } else { made };
        for (side, step) in [(&mut before, input), (&mut behind, output)] {
            side[0] = side[0].saturating_add(last(*size, step.units));
            side[1] = side[1].saturating_add(last(*size, step.elements));
        }
    }
    for SliceLoop { size, units, axis } in &reduce.reduced {
        slices = slices.saturating_mul(*size as u64);
        before[0] = before[0].saturating_add(last(*size, *units));
        if *axis >= REDUCE_LOOPS {
            return refused(format!("a reduce over axis {axis}"));
        }
    }
    for RepeatedLoop { size, units } in &reduce.repeated {
        made = made.saturating_mul(*size as u64);
        behind[0] = behind[0].saturating_add(last(*size, *units));
    }
    let whole = SLICES as u64;
    if [count, slices, made].contains(&0) || count > positions || slices > whole || made > whole {
        return refused(format!("a reduce of {slices} slices takes {count} of {positions} positions"));
    }
    let time = reduce.time as u64 >= MOST / BEAT_LANES as u64;
    if time || before[0] >= whole || behind[0] >= whole || before[1] >= positions || behind[1] >= outputs {
        return refused(format!(
            "a reduce takes position {} of {positions} of slice {}, and makes position {} of {outputs} of slice {}",
            before[1], before[0], behind[1], behind[0]
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "vector_tests.rs"]
mod tests;
