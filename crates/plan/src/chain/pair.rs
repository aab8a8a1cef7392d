//! The sum or the product of a result and another tensor of the same axes, element by element: a mask, or a gate.
//!
//! One pass reads a flit of each in turns, as `kernels::add` and `kernels::multiply` do.

use super::boundary::Way;
use super::rows::passes::MADE;
use super::rows::place::clusters;
use crate::layout::Mapping;
use crate::route::Place;
use crate::route::between::{order_of, spread};
use crate::route::digits::{Values, innermost, parts_of, text_of};
use crate::route::steps::distinct;
use core::fmt::Write as _;
use furiosa_visa_rules::command::{
    BinaryArgMode, BinaryOperator, ClipBinaryOpF32, FpBinaryOp, FpMulAlu, Operation, VectorStep,
};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::{Call, Stream, Tensor};
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::mapping::{Axis, Expr};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;

/// The axis that tells both tensors apart.
pub const TURN: &str = "TURN";

/// The operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOp {
    /// A sum.
    Add,
    /// A product.
    Multiply,
}

impl PairOp {
    /// The operator as it is given.
    pub fn name(self) -> &'static str {
        if self == Self::Add { "add" } else { "mul" }
    }
}

/// A result and another tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The operator.
    pub op: PairOp,
    /// The contraction whose result the other tensor is. `None`: it is a tensor in HBM of its own.
    pub source: Option<usize>,
    /// The axes of both, outermost first.
    pub tensor: Vec<String>,
}

impl Pair {
    /// The operator of a word.
    pub fn op(word: &str) -> Option<PairOp> {
        match word {
            "add" => Some(PairOp::Add),
            "mul" => Some(PairOp::Multiply),
            _ => None,
        }
    }

    /// The operator as it is given.
    pub fn name(&self) -> &'static str {
        self.op.name()
    }
}

/// Axes with the one that tells two tensors apart.
pub fn with_turn(axes: &Axes) -> Axes {
    let own = axes.as_slice().iter().map(|axis| format!("{}={}", axis.name, axis.size));
    let all: Vec<String> = own.chain([format!("{TURN}={TENSORS}")]).collect();
    Axes::parse(&all.join(",")).unwrap_or_else(|_| axes.clone())
}

/// Number of tensors.
const TENSORS: usize = 2;

/// The pass in one layout.
#[derive(Clone, Debug)]
pub struct PairStep {
    /// The operator.
    pub op: PairOp,
    /// Way of the other tensor there from HBM.
    pub way: Way,
    turn: &'static Expr,
    axis: Axis,
    element: Mapping,
    /// Time of both, that with padding in the place of the second one, and that of one.
    times: [Mapping; 3],
    packet: Mapping,
    halves: [Mapping; 2],
    cast: Mapping,
}

impl PairStep {
    /// The pass at a place. `None`: a slice has no runs of whole flits there.
    pub fn new(pair: &Pair, place: &Place, way: Way, values: &Values) -> Option<Self> {
        let Place::Dm { element, .. } = *place else { return None };
        let (parts, lanes) = (parts_of(element)?, spec::BEAT_LANES);
        let mapping = |text: String| Some(Mapping { expr: values.of(&text)?, text });
        let [outer, packet] = innermost(&parts, lanes)?.map(|list| text_of(&list));
        let [half_outer, half] = innermost(&parts, lanes / 2)?.map(|list| text_of(&list));
        let with = |last: &str| match outer.as_str() {
            "1" => mapping(last.to_string()),
            outer => mapping(format!("{outer}, {last}")),
        };
        let turn = values.of(TURN)?;
        let Expr::Symbol(axis) = turn else { return None };
        let narrowed = spec::FLIT_BYTES * 8 / MADE.bits();
        let cast = match packet.contains(", ") {
            true => format!("[{packet}] # {narrowed}"),
            false => format!("{packet} # {narrowed}"),
        };
        Some(Self {
            op: pair.op,
            way,
            turn,
            axis: *axis,
            element: mapping(element.to_string())?,
            times: [with(TURN)?, with(&format!("1 # {TENSORS}"))?, mapping(outer.clone())?],
            packet: mapping(packet)?,
            halves: [mapping(half_outer)?, mapping(half)?],
            cast: mapping(cast)?,
        })
    }

    /// The command, from both tensors to `made`.
    ///
    /// # Errors
    /// The refusal of the first call that has one.
    pub fn operation(&self, both: [&Tensor; 2], made: &Tensor) -> Result<Operation, PlanError> {
        let [time, tile, split] = [&self.times[0], &self.times[1], &self.times[2]].map(|own| own.expr);
        let packet = self.packet.expr;
        let stream = Stream::begin_interleaved(self.turn, both)?
            .fetch(ElementType::F32, time, packet)?
            .collect(time, packet)?
            .vector_init()?
            .unzip(self.axis, [tile, split])?;
        let zip =
            |stream: Stream, call, op| stream.step(call, VectorStep::Zip { op, mode: BinaryArgMode::Mode01 });
        let stream = match self.op {
            PairOp::Add => zip(stream, "vector_clip_zip", BinaryOperator::ClipF32(ClipBinaryOpF32::Add))?,
            PairOp::Multiply => {
                let [time, half] = [&self.halves[0], &self.halves[1]].map(|own| own.expr);
                let stream = stream.call(&Call::Split { time, packet: half })?;
                let product = BinaryOperator::Fp(FpBinaryOp::MulF(FpMulAlu::Mul0));
                zip(stream, "vector_fp_zip", product)?.call(&Call::Concat { time: split, packet })?
            }
        };
        let stream = stream.vector_final()?.cast(MADE, self.cast.expr)?;
        Ok(stream.commit(self.element.expr, made.region.address, made.region.fill)?.0)
    }

    /// The call, from the tensors `from` and `other` to a tensor `name` of the type `made`.
    pub fn text(&self, [from, other, name, made]: [&str; 4]) -> String {
        let ([time, tile, split], packet) = (&self.times, &self.packet);
        let mut text = format!(
            "let {name}: {made} = (ctx.main.begin_interleaved::<{TURN}, _, _, _, _, _>({from}.view(), {other}.view()))\n"
        );
        let mut calls = vec![
            format!("fetch::<f32, {time}, {packet}>()"),
            format!("collect::<{time}, {packet}>()"),
            "vector_init()".to_string(),
            format!("vector_intra_slice_unzip::<{TURN}, {tile}, {split}>()"),
        ];
        match self.op {
            PairOp::Add => calls.push("vector_clip_zip(ClipBinaryOpF32::Add)".to_string()),
            PairOp::Multiply => calls.extend([
                format!("vector_split::<{}, {}>()", self.halves[0], self.halves[1]),
                "vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul0))".to_string(),
                format!("vector_concat::<{split}, {packet}>()"),
            ]),
        }
        calls.extend(["vector_final()".to_string(), format!("cast::<{MADE}, {}>()", self.cast)]);
        for call in calls {
            // Writing to a string does not fail.
            let _ = writeln!(text, "    .{call}");
        }
        text + "    .commit(AUTO);\n"
    }
}

/// The places between two sides in which the pass may read both tensors: those of both sides, and an even spread over slices.
pub fn places(pair: &Pair, sides: [&Place; 2], values: &Values) -> Vec<Place> {
    let is_dm = |place: &&&Place| matches!(place, Place::Dm { .. });
    let mut found: Vec<Place> = sides.iter().filter(is_dm).map(|place| **place).collect();
    for side in sides {
        let Some(order) = order_of(side) else { continue };
        let others: Vec<&String> = pair.tensor.iter().collect();
        let spreads = clusters(sides, &others, values).into_iter();
        found.extend(spreads.filter_map(|cluster| spread(&order, cluster, values)));
    }
    distinct(found)
}
