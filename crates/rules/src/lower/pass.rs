//! A pass of the Tensor Unit under construction: each stage adds its configuration.

use crate::command::{
    AccumulationKind, Cast, Collect, CommitNarrowing, Contraction, Fetch, Interleave, MaskConfig, Operation,
    Region, Sink, StreamShape, Switch, SwitchVariant, Table, TensorUnit, Transpose, TrfRegion, Vector,
    VectorStep, shapes_before_vector,
};
use crate::engine::collect::CollectConfig;
use crate::engine::contraction::{AccumulateConfig, AlignConfig, ContractConfig};
use crate::engine::fetch::FetchConfig;
use crate::engine::vector::check_alu;
use crate::error::{PlanError, refuse};
use crate::mapping::Guard;
use crate::scalar::ElementType;

/// A pass that has begun. [`Pass::end`] gives its command.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The tensor that is read.
    pub source: Region,
    /// The second tensor of an interleaved stream.
    pub second: Option<Region>,
    /// Value of masked elements, as a code of the stored type, if the kernel sets it.
    pub pad_value: Option<u32>,
    fetch: Option<Fetch>,
    switch: Option<Switch>,
    collect: Option<Collect>,
    contraction: Option<Contraction>,
    vector: Option<Vector>,
    cast: Option<Cast>,
    transpose: Option<Transpose>,
    narrowing: Option<CommitNarrowing>,
}

/// Weights that meet a stream in the Contraction Engine.
#[derive(Clone, Copy, Debug)]
pub struct Aligned<'a> {
    /// The weights.
    pub weights: TrfRegion,
    /// Guard of the positions of the collected stream that hold an element.
    pub stream_guard: &'a Guard,
    /// Guard of the positions of the computation that are no padding.
    pub step_guard: &'a Guard,
    /// The configuration of stream adapter and TRF sequencer.
    pub align: &'a AlignConfig,
}

impl Pass {
    /// A pass that is about to read a tensor.
    pub fn begin(source: Region) -> Self {
        Self {
            source,
            second: None,
            pad_value: None,
            fetch: None,
            switch: None,
            collect: None,
            contraction: None,
            vector: None,
            cast: None,
            transpose: None,
            narrowing: None,
        }
    }

    /// Adds the fetch. The stored type is that of [`Pass::source`].
    ///
    /// # Errors
    /// A refusal if a pad value is set, but the hardware does not mask the padding of the stream.
    pub fn fetch(
        &mut self,
        plan: &FetchConfig,
        table: Option<Table>,
        zero_points: Option<[i32; 2]>,
        output: ElementType,
    ) -> Result<(), PlanError> {
        check_pad_value(self.pad_value, plan)?;
        let stored = self.source.footprint.element;
        let mask = plan.mask.map(|mask| {
            // Masked padding must leave the adapter as 0, and zero points are subtracted after the mask.
            let neutral = zero_points.unwrap_or([0; 2]).map(|zero_point| low_bits(zero_point, stored));
            MaskConfig { pad_value: self.pad_value.map_or(neutral, |value| [value; 2]), ..mask }
        });
        let interleave = self.second.zip(plan.interleave_period);
        self.fetch = Some(Fetch {
            fetch_size: plan.fetch_size,
            interleave: interleave.map(|(source, period)| Interleave { source, period }),
            mask,
            table,
            zero_points,
            ..Fetch::new(self.source, plan.config, plan.time, plan.packet, output)
        });
        Ok(())
    }

    /// Adds a redistribution over the slices. The routers forward by themselves.
    pub fn switch(&mut self, switch: Switch) {
        self.switch = match switch.variant {
            SwitchVariant::Forwarding => None,
            _ => Some(switch),
        };
    }

    /// Adds the cut into flits.
    pub fn collect(&mut self, plan: &CollectConfig) {
        self.collect = Some(Collect { flits: plan.flits });
    }

    /// Adds the contraction. It has no mapping parameters, so that all kernels share it.
    #[inline(never)]
    pub fn contract(
        &mut self,
        Aligned { weights, stream_guard, step_guard, align }: Aligned<'_>,
        contract: &ContractConfig,
        accumulate: &AccumulateConfig,
        kind: AccumulationKind,
        output: ElementType,
    ) {
        self.contraction = Some(Contraction {
            trf: weights,
            stream_guard: *stream_guard,
            collect_flits: align.stream_adapter.collect_flits,
            tile: align.stream_adapter.tile,
            trf_config: align.trf_sequencer.config,
            steps: align.steps,
            step_guard: *step_guard,
            depth: contract.depth,
            columns: accumulate.columns,
            slots: accumulate.slots,
            slot_count: accumulate.slot_count,
            kind,
            output,
        });
    }

    /// Lets the stream enter the Vector Engine. `guard`: positions that hold an element.
    pub fn enter_vector(&mut self, element: ElementType, guard: &Guard) {
        self.vector = Some(Vector::new(element, *guard));
    }

    /// The program of the Vector Engine so far.
    pub fn vector(&self) -> Option<&Vector> {
        self.vector.as_ref()
    }

    /// Shape of the stream that enters the Vector Engine. `None` before the fetch.
    pub fn shape_before_vector(&self) -> Option<StreamShape> {
        let Self { fetch, switch, collect, contraction, .. } = self;
        let [.., before] =
            shapes_before_vector(fetch.as_ref()?, switch.as_ref(), *collect, contraction.as_ref());
        Some(before)
    }

    /// Adds a step to the program of the Vector Engine.
    ///
    /// # Errors
    /// A refusal if the arithmetic unit of the step is in use.
    ///
    /// # Panics
    /// If the stream has not entered the engine.
    pub fn step(&mut self, operation: &'static str, step: VectorStep) -> Result<(), PlanError> {
        let vector = self.vector.as_mut().expect("the stream has entered the engine");
        if let Some(alu) = step.alu() {
            check_alu(operation, alu, vector.used().any(|used| used == alu))?;
        }
        vector.steps.push(step);
        Ok(())
    }

    /// Adds a conversion to a narrower type.
    pub fn cast(&mut self, input: ElementType, output: ElementType) {
        self.cast = Some(Cast { input, output });
    }

    /// Adds a transpose.
    pub fn transpose(&mut self, transpose: Transpose) {
        self.transpose = Some(transpose);
    }

    /// Adds the conversion of the Commit Engine. The stream ends in a commit.
    pub fn narrow(&mut self, narrowing: CommitNarrowing) {
        self.narrowing = Some(narrowing);
    }

    /// The command of the pass.
    ///
    /// # Panics
    /// If nothing was fetched.
    pub fn end(self, sub_context: bool, sink: Sink) -> Operation {
        let Self { fetch, switch, collect, contraction, vector, cast, transpose, narrowing, .. } = self;
        let fetch = fetch.expect("a stream that ends was fetched");
        Operation::TensorUnit(Box::new(TensorUnit {
            sub_context,
            switch,
            collect,
            contraction,
            vector,
            cast,
            transpose,
            narrowing,
            ..TensorUnit::new(fetch, sink)
        }))
    }
}

/// The code of an integer in a narrower type.
fn low_bits(value: i32, element: ElementType) -> u32 {
    value as u32 & (u32::MAX >> (32 - element.bits()))
}

/// Checks that a pad value has padding that the hardware masks, or that there is no padding.
fn check_pad_value(pad_value: Option<u32>, plan: &FetchConfig) -> Result<(), PlanError> {
    if pad_value.is_none() || plan.mask.is_some() || !plan.unmasked_padding {
        return Ok(());
    }
    refuse!(
        "mask",
        "pad_value: the padding of this stream is not masked, so no value would take its place; \
         help: pad the innermost axis alone, in the main context, so that packets differ along one axis",
    )
}
