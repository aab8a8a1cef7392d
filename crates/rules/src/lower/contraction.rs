//! The Contraction Engine as calls with mappings as values.

use super::pass::Aligned;
use super::stream::Meeting;
use super::{Position, Stream, Weights};
use crate::command::AccumulationKind;
use crate::engine::contraction::{
    AccumulateRequest, AlignRequest, ContractRequest, derive_accumulate, derive_align, derive_contract,
};
use crate::error::{PlanError, refuse};
use crate::mapping::{Expr, Problem, liveness_of};

impl Stream {
    /// Brings stream and weights to the same packets.
    ///
    /// # Errors
    /// The refusals of `align`, and one of weights of another type or in other units.
    pub fn align(
        self,
        weights: &Weights,
        time: &'static Expr,
        packet: &'static Expr,
    ) -> Result<Self, PlanError> {
        const OPERATION: &str = "align";
        self.check_order(OPERATION, &[Position::Collect])?;
        if weights.region.element != self.element {
            refuse!(
                "element type",
                "align: the stream has elements of {}, but the weights are {}; help: fetch both as one type",
                (self.element.name(), weights.region.element.name()),
            );
        }
        for (of_stream, of_weights) in self.units.into_iter().zip(weights.units) {
            if of_stream != of_weights {
                refuse!(
                    "weight units",
                    "align: the stream lies in {}, but the weights in {}; help: load the weights where the stream is",
                    (of_stream, of_weights),
                );
            }
        }
        let align = derive_align(&AlignRequest {
            element: self.element,
            time: self.time,
            packet: self.packet,
            row: weights.row,
            trf_element: weights.element,
            out_time: time,
            out_packet: packet,
        })?;
        let Some(step_guard) = liveness_of(&[time, packet]) else {
            return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
        };
        let meeting = Meeting { weights: *weights, stream_guard: self.guard()?, step_guard, align };
        Ok(Self { aligned: Some(Box::new(meeting)), ..self }.at(Position::Align, [time, packet]))
    }

    /// Multiplies, and adds neighbouring products.
    ///
    /// # Errors
    /// The refusals of `contract`.
    pub fn contract(self, packet: &'static Expr) -> Result<Self, PlanError> {
        self.check_order("contract", &[Position::Align])?;
        let Some(output) = self.element.contraction_output() else {
            refuse!(
                "element type",
                "contract: the engine does not multiply elements of {}; help: fetch as i4, i8, f8e4m3, f8e5m2 or bf16",
                self.element.name(),
            )
        };
        let request = ContractRequest { element: self.element, packet: self.packet, out_packet: packet };
        let contract = Some(Box::new(derive_contract(&request)?));
        let time = self.time;
        Ok(Self { contract, element: output, ..self }.at(Position::Contract, [time, packet]))
    }

    /// Adds the results of several steps, and folds the rows into the stream.
    ///
    /// # Errors
    /// The refusals of `accumulate`.
    pub fn accumulate(
        mut self,
        kind: AccumulationKind,
        time: &'static Expr,
        packet: &'static Expr,
    ) -> Result<Self, PlanError> {
        self.check_order("accumulate", &[Position::Contract])?;
        let (meeting, contract) = (self.aligned.take(), self.contract.take());
        let (meeting, contract) = meeting.zip(contract).expect("the stream was aligned and contracted");
        let Meeting { weights, stream_guard, step_guard, align } = &*meeting;
        let accumulate = derive_accumulate(&AccumulateRequest {
            kind,
            row: weights.row,
            time: self.time,
            packet: self.packet,
            out_time: time,
            out_packet: packet,
        })?;
        let aligned = Aligned { weights: weights.region, stream_guard, step_guard, align };
        self.pass.contract(aligned, &contract, &accumulate, kind, self.element);
        Ok(self.at(Position::Accumulate, [time, packet]))
    }
}
