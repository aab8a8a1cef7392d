//! Streams through the Tensor Unit, with mappings as values.

use super::{Call, End, Made, Pass, Position, Tensor, Weights};
use crate::command::{
    Address, CommitNarrowing, FillId, Memory, Operation, Part, Sink, TrfAddress, VectorStep,
};
use crate::engine::cast::{CastRequest, derive_cast};
use crate::engine::collect::{CollectRequest, derive_collect};
use crate::engine::commit::{
    CommitRequest, Written, check_commit_address, check_commit_start, commit_sink, derive_commit,
    derive_commit_view, no_sub_commit,
};
use crate::engine::commit_stages::{
    CommitCastRequest, CommitStages, CommitTrimRequest, derive_commit_cast, derive_commit_trim,
};
use crate::engine::contraction::{AlignConfig, ContractConfig};
use crate::engine::fetch::{FetchRequest, check_interleave, check_packet, check_units, derive_fetch};
use crate::engine::register_file::{TrfLoadRequest, derive_trf_load};
use crate::engine::switch::{SwitchConfig, SwitchRequest, derive_switch, derive_switch_to};
use crate::engine::transpose::{TransposeRequest, derive_transpose};
use crate::engine::vector::{derive_concat, derive_pad, derive_split, derive_trim};
use crate::engine::vector_register_file::{VrfLoadRequest, derive_vrf_load};
use crate::error::{PlanError, refuse};
use crate::mapping::{Expr, Guard, Problem, liveness_of};
use crate::scalar::{ElementType, VeScalarKind};
use crate::sequencer::{Window, check_windows};
use crate::tensor::{Shape, check_vrf_end};

/// A tensor in motion: `StreamTensor` of typed kernels, with mappings as values.
///
/// ```
/// use furiosa_visa_std::command::{Command, FillId, HostBuffer};
/// use furiosa_visa_std::chip::{SimOptions, System};
/// use furiosa_visa_std::lower::{Call, End, Stream, Tensor, download, to_dm, to_hbm, upload};
/// use furiosa_visa_std::mapping::M;
/// use furiosa_visa_std::prelude::{axes, m};
/// use furiosa_visa_std::scalar::ElementType::{I8, I32};
/// use furiosa_visa_std::tensor::Shape;
/// # use core::panic::Location;
/// axes![S = 256, B = 32];
/// let [one, two, s, b] = [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![S]>::EXPR, <m![B]>::EXPR];
/// let (all, here) = (<m![S, B]>::EXPR, Location::caller());
/// let mut system = System::new(SimOptions::default());
///
/// // What a typed kernel writes as `x.to_dm(…)`, `begin(…).fetch(…).collect(…).commit(…)`, `y.to_hbm(…)`.
/// let x = Tensor::new(Shape::hbm(I8, one, all), 0, system.next_fill())?;
/// let (load, x_dm) = to_dm(&x, [one, two, s, b], 0, system.next_fill())?;
/// let calls = [
///     Call::Fetch { output: I32, time: <m![B / 8]>::EXPR, packet: <m![B % 8]>::EXPR },
///     Call::Collect { time: <m![B / 8]>::EXPR, packet: <m![B % 8]>::EXPR },
/// ];
/// let stream = Stream::begin(&x_dm, false)?.calls(&calls)?;
/// let (widen, y) = stream.commit(b, 4096, system.next_fill())?;
/// let (store, y) = to_hbm(&y, [one, all], 1 << 20, system.next_fill())?;
///
/// let bytes: Vec<u8> = (0..8192).map(|k| k as u8).collect();
/// system.upload(&upload(all, &x)?, &HostBuffer { bytes, initialised: None }, here)?;
/// for operation in [load, widen, store] {
///     system.execute(&Command { operation, location: here })?;
/// }
/// let found = system.download(&download(all, &y)?, here)?;
/// assert_eq!(found.bytes[..8], [0, 0, 0, 0, 1, 0, 0, 0]);
///
/// // The refusals are those of the compiler.
/// let wrong = Stream::begin(&x_dm, false)?.fetch(I32, one, <m![B % 4]>::EXPR).err().expect("it is refused");
/// assert!(wrong.message().starts_with("fetch: "), "{wrong}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    pub(super) position: Position,
    pub(super) sub_context: bool,
    pub(super) element: ElementType,
    /// Chip, cluster and slice.
    pub(super) units: [&'static Expr; 3],
    pub(super) time: &'static Expr,
    pub(super) packet: &'static Expr,
    /// Windows in which the tensor is read.
    pub(super) windows: &'static [Window],
    /// On the heap, as all that is large: each call moves the stream.
    pub(super) pass: Box<Pass>,
    pub(super) aligned: Option<Box<Meeting>>,
    /// Type, time and packet at the stash.
    pub(super) stashed: Option<(VeScalarKind, [&'static Expr; 2])>,
    pub(super) contract: Option<Box<ContractConfig>>,
    /// The stages of the Commit Engine.
    pub(super) stages: CommitStages,
}

/// A stream and the weights that it meets.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub(super) weights: Weights,
    pub(super) stream_guard: Guard,
    pub(super) step_guard: Guard,
    pub(super) align: AlignConfig,
}

impl Stream {
    /// Begins a stream at a tensor in DM, in the main context or in the sub context.
    ///
    /// # Errors
    /// A refusal of a tensor in another memory.
    pub fn begin(tensor: &Tensor, sub_context: bool) -> Result<Self, PlanError> {
        tensor.check_memory("begin", Memory::Dm)?;
        Ok(Self {
            position: Position::Begin,
            sub_context,
            element: tensor.shape.element_type,
            units: tensor.units(),
            time: &Expr::Identity,
            packet: tensor.shape.element,
            windows: &[],
            pass: Box::new(Pass::begin(tensor.region)),
            aligned: None,
            stashed: None,
            contract: None,
            stages: CommitStages::NONE,
        })
    }

    /// Begins a stream of two tensors in the main context: `first` where the axis is 0, `second` where it is 1. The fetch puts the
    /// axis into its time.
    ///
    /// # Errors
    /// The refusals of `begin_interleaved`, and one of tensors in another memory, or of other types or mappings.
    pub fn begin_interleaved(axis: &'static Expr, [first, second]: [&Tensor; 2]) -> Result<Self, PlanError> {
        const OPERATION: &str = "begin_interleaved";
        second.check_memory(OPERATION, Memory::Dm)?;
        let of = |tensor: &Tensor| (tensor.shape.element_type, tensor.units(), tensor.shape.element);
        if of(first) != of(second) {
            refuse!(
                "interleaved tensors",
                "begin_interleaved: one tensor has elements {} of {} in slice {}, but the other one {} of {} in slice {}; help: \
                 bring both to the same type and mapping",
                (
                    first.shape.element,
                    first.shape.element_type.name(),
                    first.shape.slice,
                    second.shape.element,
                    second.shape.element_type.name(),
                    second.shape.slice
                ),
            );
        }
        if let Expr::Symbol(axis) = axis {
            let [chip, cluster, slice] = first.units();
            check_interleave(*axis, &[chip, cluster, slice, first.shape.element])?;
        }
        let mut stream = Self::begin(first, false)?;
        stream.time = axis;
        stream.pass.second = Some(second.region);
        Ok(stream)
    }

    /// The last call.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The element type.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Chip, cluster, slice, time and packet.
    pub fn mappings(&self) -> [&'static Expr; 5] {
        let [chip, cluster, slice] = self.units;
        [chip, cluster, slice, self.time, self.packet]
    }

    /// Guard of the positions that hold an element.
    pub(super) fn guard(&self) -> Result<Guard, PlanError> {
        liveness_of(&self.mappings()).ok_or(PlanError::mapping(self.position.name(), Problem::TooManyFactors))
    }

    /// Checks the order of calls.
    pub(super) fn check_order(&self, operation: &'static str, allowed: &[Position]) -> Result<(), PlanError> {
        if allowed.contains(&self.position) {
            return Ok(());
        }
        let names: Vec<String> = allowed.iter().map(|position| format!("`{}`", position.name())).collect();
        let after = match &names[..] {
            [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            names => names.concat(),
        };
        refuse!(
            "call order",
            "{}: the call before it is `{}`, but it follows {}; help: give the calls in the order of the engines",
            (operation, self.position.name(), &*after),
        )
    }

    /// Checks an element type.
    fn check_type(
        &self,
        operation: &'static str,
        given: ElementType,
        allowed: &[ElementType],
    ) -> Result<(), PlanError> {
        if allowed.contains(&given) {
            return Ok(());
        }
        let types: Vec<_> = allowed.iter().map(|element| element.name()).collect();
        let types = if types.is_empty() { "no type".to_string() } else { types.join(", ") };
        refuse!(
            "element type",
            "{}: elements of {} cannot become {}, but {}; help: ask for one of them",
            (operation, self.element.name(), given.name(), &*types),
        )
    }

    /// The element type as the Vector Engine and the Cast Engine have it.
    pub(super) fn kind(&self, operation: &'static str) -> Result<VeScalarKind, PlanError> {
        let Some(kind) = self.element.vector_kind() else {
            refuse!(
                "element type",
                "{}: the call takes elements of i32 and f32, but the stream has {}; help: fetch as one of them",
                (operation, self.element.name()),
            )
        };
        Ok(kind)
    }

    pub(super) fn at(self, position: Position, [time, packet]: [&'static Expr; 2]) -> Self {
        Self { position, time, packet, ..self }
    }

    /// Reads digits of the tensor at overlapping positions: the windows of a view, in the order of their calls.
    ///
    /// # Errors
    /// The refusals of `windows`.
    pub fn windows(self, windows: &'static [Window]) -> Result<Self, PlanError> {
        self.check_order("windows", &[Position::Begin])?;
        let [chip, cluster, slice] = self.units;
        let units = [("Chip", chip), ("Cluster", cluster), ("Slice", slice)];
        for count in 1..=windows.len() {
            check_windows(self.packet, &units, &windows[..count])?;
        }
        Ok(Self { windows, ..self })
    }

    /// Reads the tensor as packets of `output`.
    ///
    /// # Errors
    /// The refusals of `fetch`.
    pub fn fetch(
        mut self,
        output: ElementType,
        time: &'static Expr,
        packet: &'static Expr,
    ) -> Result<Self, PlanError> {
        self.check_order("fetch", &[Position::Begin])?;
        self.check_type("fetch", output, self.element.fetch_outputs())?;
        let [_, cluster, slice] = self.units;
        check_units(cluster, slice)?;
        let request = FetchRequest {
            sub_context: self.sub_context,
            windows: self.windows,
            begin: self.time,
            ..FetchRequest::new(self.element, output, self.packet, time, packet)
        };
        check_packet(&request)?;
        self.pass.fetch(&derive_fetch(&request)?, None, None, output)?;
        Ok(Self { element: output, ..self }.at(Position::Fetch, [time, packet]))
    }

    /// Redistributes packets over the slices, by a configuration or by the cheapest one.
    ///
    /// # Errors
    /// The refusals of `switch` and of `switch_to`.
    pub fn switch(
        mut self,
        config: Option<SwitchConfig>,
        slice: &'static Expr,
        time: &'static Expr,
    ) -> Result<Self, PlanError> {
        self.check_order("switch", &[Position::Fetch])?;
        let [chip, cluster, from] = self.units;
        let request = SwitchRequest {
            others: [chip, cluster, self.packet],
            ..SwitchRequest::new(from, self.time, slice, time)
        };
        let found = match config {
            Some(config) => derive_switch(&request, &config)?,
            None => derive_switch_to(&request)?,
        };
        self.pass.switch(found.switch);
        let packet = self.packet;
        Ok(Self { units: [chip, cluster, slice], ..self }.at(Position::Switch, [time, packet]))
    }

    /// Cuts packets into flits.
    ///
    /// # Errors
    /// The refusals of `collect`.
    pub fn collect(mut self, time: &'static Expr, packet: &'static Expr) -> Result<Self, PlanError> {
        self.check_order("collect", &[Position::Fetch, Position::Switch])?;
        let plan = derive_collect(&CollectRequest {
            element: self.element,
            time: self.time,
            packet: self.packet,
            out_time: time,
            out_packet: packet,
        })?;
        self.pass.collect(&plan);
        Ok(self.at(Position::Collect, [time, packet]))
    }

    /// Narrows each element.
    ///
    /// # Errors
    /// The refusals of `cast`.
    pub fn cast(mut self, output: ElementType, packet: &'static Expr) -> Result<Self, PlanError> {
        self.check_order("cast", &[Position::Collect, Position::Accumulate, Position::VectorFinal])?;
        self.kind("cast")?;
        self.check_type("cast", output, self.element.cast_outputs())?;
        let (input, lanes) = (self.element, self.packet);
        derive_cast(&CastRequest { input, output, packet: lanes, out_packet: packet })?;
        self.pass.cast(input, output);
        let time = self.time;
        Ok(Self { element: output, ..self }.at(Position::Cast, [time, packet]))
    }

    /// Exchanges time steps with the elements of packets.
    ///
    /// # Errors
    /// The refusals of `transpose`.
    pub fn transpose(mut self, time: &'static Expr, packet: &'static Expr) -> Result<Self, PlanError> {
        let before = [Position::Collect, Position::Accumulate, Position::VectorFinal, Position::Cast];
        self.check_order("transpose", &before)?;
        let transpose = derive_transpose(&TransposeRequest {
            element: self.element,
            time: self.time,
            packet: self.packet,
            out_time: time,
            out_packet: packet,
        })?;
        self.pass.transpose(transpose);
        Ok(self.at(Position::Transpose, [time, packet]))
    }

    /// Keeps the beginning of each packet for the commit.
    ///
    /// # Errors
    /// The refusals of `commit_trim`.
    pub fn commit_trim(mut self, packet: &'static Expr) -> Result<Self, PlanError> {
        self.check_order("commit_trim", Position::before_trim())?;
        self.check_sub_commit()?;
        let (element, lanes) = (self.element, self.packet);
        derive_commit_trim(&CommitTrimRequest { element, packet: lanes, out_packet: packet })?;
        self.stages.trimmed = true;
        let time = self.time;
        Ok(self.at(Position::CommitTrim, [time, packet]))
    }

    /// Narrows each element on its way to DM.
    ///
    /// # Errors
    /// The refusals of `commit_cast` and `commit_cast_relu`.
    pub fn commit_cast(mut self, narrowing: CommitNarrowing, output: ElementType) -> Result<Self, PlanError> {
        self.check_order(narrowing.name(), Position::before_narrowing())?;
        derive_commit_cast(&CommitCastRequest {
            narrowing,
            sub_context: self.sub_context,
            input: self.element,
            output,
            packet: self.packet,
            trimmed: self.stages.trimmed,
        })?;
        self.pass.narrow(narrowing);
        self.stages.narrowed = true;
        let mappings = [self.time, self.packet];
        Ok(Self { element: output, ..self }.at(Position::CommitCast, mappings))
    }

    /// Checks that the stream may be committed in its context.
    fn check_sub_commit(&self) -> Result<(), PlanError> {
        if self.sub_context && self.position == Position::Transpose {
            return Err(PlanError::new("sub commit", no_sub_commit(self.position.name())));
        }
        Ok(())
    }

    /// Adds a call.
    ///
    /// # Errors
    /// The refusals of the call.
    pub fn call(self, call: &Call) -> Result<Self, PlanError> {
        match call {
            Call::Fetch { output, time, packet } => self.fetch(*output, time, packet),
            Call::Switch { config, slice, time } => self.switch(*config, slice, time),
            Call::Collect { time, packet } => self.collect(time, packet),
            Call::Align { weights, time, packet } => self.align(weights, time, packet),
            Call::Contract { packet } => self.contract(packet),
            Call::Accumulate { kind, time, packet } => self.accumulate(*kind, time, packet),
            Call::VectorInit => self.vector_init(),
            Call::Branch(mode) => self.branch(*mode),
            Call::Step { operation, step } => self.step(operation, step.clone()),
            Call::Split { time, packet } => {
                self.resized("vector_split", VectorStep::Split, [time, packet], derive_split)
            }
            Call::Concat { time, packet } => {
                self.resized("vector_concat", VectorStep::Concat, [time, packet], derive_concat)
            }
            Call::Trim { packet } => {
                let time = self.time;
                self.resized("vector_trim_way4", VectorStep::Trim, [time, packet], derive_trim)
            }
            Call::Pad { packet } => {
                let time = self.time;
                self.resized("vector_pad_way8", VectorStep::Pad, [time, packet], derive_pad)
            }
            Call::IntraSliceReduce { axis, op, time, packet } => {
                self.intra_slice_reduce(*axis, *op, time, packet)
            }
            Call::InterSliceReduce { op, slice, time } => self.inter_slice_reduce(*op, slice, time),
            Call::VectorFinal => self.vector_final(),
            Call::Cast { output, packet } => self.cast(*output, packet),
            Call::Transpose { time, packet } => self.transpose(time, packet),
            Call::CommitTrim { packet } => self.commit_trim(packet),
            Call::CommitCast { narrowing, output } => self.commit_cast(*narrowing, *output),
        }
    }

    /// Adds calls, one after the other.
    ///
    /// # Errors
    /// The refusal of the first call that has one.
    pub fn calls(self, calls: &[Call]) -> Result<Self, PlanError> {
        calls.iter().try_fold(self, |stream, call| stream.call(call))
    }

    /// Ends the stream. `fill` names the result.
    ///
    /// # Errors
    /// The refusals of `commit`, `to_trf` and `to_vrf`.
    pub fn end(self, end: End, fill: FillId) -> Result<(Operation, Made), PlanError> {
        match end {
            End::Commit { element, address } => self
                .commit(element, address, fill)
                .map(|(operation, tensor)| (operation, Made::Tensor(tensor))),
            End::ToTrf { row, element, address } => (self.to_trf(row, element, address, fill))
                .map(|(operation, weights)| (operation, Made::Weights(weights))),
            End::ToVrf { element, address } => self
                .to_vrf(element, address, fill)
                .map(|(operation, tensor)| (operation, Made::Tensor(tensor))),
        }
    }

    /// Writes the stream to DM.
    ///
    /// # Errors
    /// The refusals of `commit`.
    pub fn commit(
        self,
        element: &'static Expr,
        address: Address,
        fill: FillId,
    ) -> Result<(Operation, Tensor), PlanError> {
        self.check_commit()?;
        check_commit_address(address)?;
        let [chip, cluster, slice] = self.units;
        let shape = Shape::dm(self.element, chip, cluster, slice, element);
        let tensor = Tensor::new(shape, address, fill)?;
        let plan = derive_commit(&self.commit_request(element))?;
        let sink = commit_sink(tensor.region, &plan, &self.guard()?);
        Ok((self.pass.end(self.sub_context, sink), tensor))
    }

    /// Writes the stream to a view of the tensor `whole` in DM: to all of it, or to a [tile](Tensor::tile).
    ///
    /// # Errors
    /// The refusals of `commit_view`, and one of a tensor of another type, in another memory or in other slices.
    pub fn commit_view(self, whole: &Tensor, view: &Tensor) -> Result<Operation, PlanError> {
        const OPERATION: &str = "commit_view";
        self.check_commit()?;
        view.check_memory(OPERATION, Memory::Dm)?;
        let (there, shape) = (view.units(), view.shape);
        if (shape.element_type, there) != (self.element, self.units) {
            refuse!(
                "destination",
                "commit_view: a tensor of {} in cluster {} and slice {} gets a stream of {} of cluster {} and slice {}; \
                 help: give both the same type and units",
                (
                    shape.element_type.name(),
                    there[1],
                    there[2],
                    self.element.name(),
                    self.units[1],
                    self.units[2]
                ),
            );
        }
        let (region, guard) = (view.region, self.guard()?);
        let plan = derive_commit_view(&self.commit_request(shape.element))?;
        check_commit_start(&region)?;
        if region.part != Part::WHOLE {
            Written { plan: &plan, guard: &guard }.stays_in(&region, &whole.region.footprint)?;
        }
        Ok(self.pass.end(self.sub_context, commit_sink(region, &plan, &guard)))
    }

    /// Checks that a stream may end in DM.
    fn check_commit(&self) -> Result<(), PlanError> {
        self.check_order("commit", Position::before_commit())?;
        self.check_sub_commit()?;
        if !self.element.is_stored() {
            refuse!(
                "element type",
                "commit: no memory holds elements of {}; help: fetch as i32, and cast before the commit",
                self.element.name(),
            );
        }
        Ok(())
    }

    fn commit_request(&self, destination: &'static Expr) -> CommitRequest {
        CommitRequest {
            sub_context: self.sub_context,
            element: if self.stages.narrowed { CommitNarrowing::INPUT } else { self.element },
            time: self.time,
            packet: self.packet,
            destination,
            stages: self.stages,
        }
    }

    /// Loads the tensor register file.
    ///
    /// # Errors
    /// The refusals of `to_trf`.
    pub fn to_trf(
        self,
        row: &'static Expr,
        element: &'static Expr,
        address: TrfAddress,
        fill: FillId,
    ) -> Result<(Operation, Weights), PlanError> {
        self.check_order("to_trf", &[Position::Collect])?;
        derive_trf_load(&TrfLoadRequest {
            element: self.element,
            time: self.time,
            packet: self.packet,
            row,
            row_element: element,
        })?;
        let weights = Weights::new(self.element, self.units, [row, element], address, fill)?;
        let sink = Sink::Trf { destination: weights.region, guard: self.guard()? };
        Ok((self.pass.end(self.sub_context, sink), weights))
    }

    /// Loads the vector register file.
    ///
    /// # Errors
    /// The refusals of `to_vrf`.
    pub fn to_vrf(
        self,
        element: &'static Expr,
        address: Address,
        fill: FillId,
    ) -> Result<(Operation, Tensor), PlanError> {
        const OPERATION: &str = "to_vrf";
        let before = [Position::Collect, Position::Accumulate, Position::VectorFinal];
        self.check_order(OPERATION, &before)?;
        self.kind(OPERATION)?;
        let plan = derive_vrf_load(&VrfLoadRequest {
            element: self.element,
            time: self.time,
            packet: self.packet,
            vrf_element: element,
        })?;
        let [chip, cluster, slice] = self.units;
        let tensor = Tensor::new(Shape::vrf(self.element, chip, cluster, slice, element), address, fill)?;
        check_vrf_end(OPERATION, plan.bytes, address)?;
        let sink = Sink::Vrf { destination: tensor.region, transfer: plan.transfer, guard: self.guard()? };
        Ok((self.pass.end(self.sub_context, sink), tensor))
    }
}
