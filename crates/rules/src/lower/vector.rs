//! The Vector Engine as calls with mappings as values.

use super::{Position, Stream, Tensor};
use crate::command::{Memory, OperandSource, ReduceOperator, StreamShape, VectorStep, VrfOperand};
use crate::engine::vector::inter::{InterSliceRequest, derive_inter_slice};
use crate::engine::vector::operand::{StashRead, derive_operand_of, derive_stash_of};
use crate::engine::vector::pair::{self, UnzipRequest, derive_unzip};
use crate::engine::vector::valid_count::{Narrowing, derive_valid_count};
use crate::engine::vector::{
    BranchMode, ReduceRequest, VectorPacketRequest, derive_branch, derive_reduce, derive_way8, inter, reduce,
};
use crate::error::{PlanError, refuse};
use crate::mapping::{Axis, Expr, Ident};
use crate::scalar::VeScalarKind;

impl Stream {
    /// Enters the Vector Engine.
    ///
    /// # Errors
    /// A refusal of elements other than `i32` and `f32`.
    pub fn vector_init(mut self) -> Result<Self, PlanError> {
        const OPERATION: &str = "vector_init";
        self.check_order(OPERATION, &[Position::Collect, Position::Accumulate])?;
        self.kind(OPERATION)?;
        let guard = self.guard()?;
        self.pass.enter_vector(self.element, &guard);
        self.position = Position::Vector;
        Ok(self)
    }

    /// Gives every element its execution id.
    ///
    /// # Errors
    /// The refusals of `vector_intra_slice_branch`.
    pub fn branch(self, mode: BranchMode) -> Result<Self, PlanError> {
        const OPERATION: &str = "vector_intra_slice_branch";
        self.check_order(OPERATION, &[Position::Vector])?;
        derive_way8(OPERATION, self.packet)?;
        let branch = derive_branch(mode, self.kind(OPERATION)?, self.mappings())?;
        self.add(OPERATION, VectorStep::Branch(branch))
    }

    /// Makes two groups of the stream: its halves along an axis of 2 in time. `tile_time` is its time with `1 # 2` in the place of
    /// the axis, `split_time` that without the axis. A step with [`VectorStep::Zip`] joins them.
    ///
    /// # Errors
    /// The refusals of `vector_intra_slice_unzip`.
    pub fn unzip(self, axis: Axis, [tile_time, split_time]: [&'static Expr; 2]) -> Result<Self, PlanError> {
        self.check_order(pair::OPERATION, &[Position::Vector])?;
        let (time, packet) = (self.time, self.packet);
        let step = derive_unzip(&UnzipRequest {
            axis: axis.name,
            size: axis.size,
            time,
            tile_time,
            split_time,
            packet,
        })?;
        Ok(self.add(pair::OPERATION, VectorStep::Unzip { step })?.at(Position::Vector, [split_time, packet]))
    }

    /// A tensor in the VRF as an operand of the stream.
    ///
    /// # Errors
    /// The refusals of operands, and one of a tensor of another type or in another memory.
    pub fn operand(&self, tensor: &Tensor) -> Result<OperandSource, PlanError> {
        const OPERATION: &str = "vector operand";
        self.check_order(OPERATION, &[Position::Vector])?;
        tensor.check_memory(OPERATION, Memory::Vrf)?;
        if tensor.shape.element_type != self.element {
            refuse!(
                "element type",
                "vector operand: the stream has elements of {}, but the tensor in the VRF {}; help: load it as the same type",
                (self.element.name(), tensor.shape.element_type.name()),
            );
        }
        let transfer = derive_operand_of(tensor.units(), tensor.shape.element, self.mappings())?;
        Ok(OperandSource::Vrf(Box::new(VrfOperand { source: tensor.region, transfer })))
    }

    /// The stash as an operand of the stream.
    ///
    /// # Errors
    /// The refusals of the stash.
    pub fn stash(&self) -> Result<OperandSource, PlanError> {
        const OPERATION: &str = "vector stash";
        self.check_order(OPERATION, &[Position::Vector])?;
        let read = |(kind, then): (VeScalarKind, [&'static Expr; 2])| {
            (kind, derive_stash_of(then, [self.time, self.packet]))
        };
        StashRead { stashed: self.stashed.map(read) }.operand(self.kind(OPERATION)?)
    }

    /// Adds a step of the Vector Engine that leaves the mappings as they are: an operator, a conversion, the stash, a
    /// reinterpretation, a zip of two groups.
    /// `operation` is the call, for messages.
    ///
    /// # Errors
    /// A refusal outside of the engine, of a step that changes the mappings, and of an arithmetic unit that is in use. The
    /// chip refuses what the engine cannot do with the types, and in this order, when the command is executed.
    pub fn step(self, operation: &'static str, step: VectorStep) -> Result<Self, PlanError> {
        let keeps_mappings = matches!(
            step,
            VectorStep::Stash
                | VectorStep::Binary { .. }
                | VectorStep::Unary { .. }
                | VectorStep::Ternary { .. }
                | VectorStep::FxpToFp { .. }
                | VectorStep::FpToFxp { .. }
                | VectorStep::Reinterpret
                | VectorStep::Zip { .. }
        );
        if !keeps_mappings {
            refuse!(
                "step mappings",
                "{}: the step changes the mappings of the stream, or its ids or groups; help: give the call that derives it",
                operation,
            );
        }
        self.add(operation, step)
    }

    /// Adds a step that was derived. A conversion changes the element type.
    fn add(mut self, operation: &'static str, step: VectorStep) -> Result<Self, PlanError> {
        self.check_order(operation, &[Position::Vector])?;
        if matches!(step, VectorStep::Stash) {
            self.stashed = Some((self.kind(operation)?, [self.time, self.packet]));
        }
        let before = StreamShape { element: self.element, time: self.time.size(), lanes: self.packet.size() };
        self.element = step.shape(before).element;
        self.pass.step(operation, step)?;
        Ok(self)
    }

    pub(super) fn resized(
        self,
        operation: &'static str,
        step: VectorStep,
        [time, packet]: [&'static Expr; 2],
        derive: fn(&VectorPacketRequest) -> Result<(), PlanError>,
    ) -> Result<Self, PlanError> {
        self.check_order(operation, &[Position::Vector])?;
        let (before, lanes) = (self.time, self.packet);
        derive(&VectorPacketRequest { time: before, packet: lanes, out_time: time, out_packet: packet })?;
        Ok(self.add(operation, step)?.at(Position::Vector, [time, packet]))
    }

    /// Reduces all elements along an axis to one, in each slice.
    ///
    /// # Errors
    /// The refusals of `vector_intra_slice_reduce`.
    pub fn intra_slice_reduce(
        self,
        axis: Ident,
        op: ReduceOperator,
        time: &'static Expr,
        packet: &'static Expr,
    ) -> Result<Self, PlanError> {
        self.check_order(reduce::OPERATION, &[Position::Vector])?;
        let (before, lanes, units) = (self.time, self.packet, self.units);
        let request =
            ReduceRequest { axis, units, time: before, packet: lanes, out_time: time, out_packet: packet };
        let config = derive_reduce(&request)?;
        let trimmed = self.pass.vector().is_some_and(|vector| vector.steps.contains(&VectorStep::Trim));
        derive_valid_count(&request, if trimmed { Narrowing::Trim } else { Narrowing::Split })?;
        let step = reduce::step(op, &config);
        Ok(self.add(reduce::OPERATION, step)?.at(Position::Vector, [time, packet]))
    }

    /// Reduces groups of slices to one element.
    ///
    /// # Errors
    /// The refusals of `vector_inter_slice_reduce`.
    pub fn inter_slice_reduce(
        self,
        op: ReduceOperator,
        slice: &'static Expr,
        time: &'static Expr,
    ) -> Result<Self, PlanError> {
        self.check_order(inter::OPERATION, &[Position::Vector])?;
        let [chip, cluster, from] = self.units;
        let config = derive_inter_slice(&InterSliceRequest {
            units: [chip, cluster],
            slice: from,
            time: self.time,
            packet: self.packet,
            out_slice: slice,
            out_time: time,
        })?;
        let packet = self.packet;
        let stream = self.add(inter::OPERATION, inter::step(op, &config))?;
        Ok(Self { units: [chip, cluster, slice], stashed: None, ..stream }
            .at(Position::Vector, [time, packet]))
    }

    /// Leaves the Vector Engine.
    ///
    /// # Errors
    /// A refusal outside of the engine, and one of packets that are no flit.
    pub fn vector_final(mut self) -> Result<Self, PlanError> {
        self.check_order("vector_final", &[Position::Vector])?;
        derive_way8("vector_final", self.packet)?;
        self.position = Position::VectorFinal;
        Ok(self)
    }
}
