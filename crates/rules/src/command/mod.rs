//! Commands to the chip: plain data, without generics.
//!
//! The types of a kernel end here. A command can be printed, compared, built by hand in a test and executed. It
//! contains neither the types that made it nor the chip that runs it.

mod addresses;
pub mod covers;
mod fault;
mod fetch;
mod indexed;
mod memset;
pub mod moves;
mod names;
pub mod place;
mod region;
mod rename;
mod reported;
mod shapes;
mod short_command;
mod switch;
mod table;
mod tensor_unit;
mod transfer;
mod trf_layout;
mod unit_copy;
mod uses;
mod vector;

pub use addresses::Addresses;
pub use fault::{Check, CheckOptions, Fault, FaultExtent, FaultKind, FaultPlace};
pub use fetch::{AdapterStage, Fetch, Interleave, MASK_COUNTS, MaskConfig, Turns};
pub use indexed::{Duplicates, IndexedCall, IndexedDma, RowKey};
pub use memset::Memset;
pub use names::{CONTEXTS, ContextKind, MemoryKind};
pub use region::{AUTO, Address, FillId, Footprint, Memory, Part, Region, TrfAddress, TrfRegion};
pub use rename::PlaceMut;
pub use reported::{SdkNote, SdkReport, SdkReports};
pub use shapes::{StreamShape, StreamShapes, shapes_before_vector, vector_cycles};
pub use short_command::ContiguousLoad;
pub use switch::{
    Emission, SWITCH_LOOPS, Snoop, SnoopDigit, SnoopLoop, Switch, SwitchLoop, SwitchVariant, TimeGate,
    switch_cycles,
};
pub use table::Table;
pub use tensor_unit::{
    AccumulationKind, Cast, Collect, CommitNarrowing, Contraction, Sink, TensorUnit, Transpose,
    transpose_cycles,
};
pub use transfer::{
    Dma, HostBuffer, HostTransfer, Inspection, Start, Step, TRANSFER_LOOPS, Transfer, TransferLoop,
};
pub use trf_layout::{RegisterType, TrfCell, TrfLayout, bank_part};
pub use unit_copy::{CopyCall, UnitCopy};
pub use uses::{Place, Use};
pub use vector::{
    BinaryArgMode, BinaryInput, BinaryOperator, BitReq, Branch, ClipBinaryOpF32, ClipBinaryOpI32,
    ExecutionId, FpBinaryOp, FpDivBinaryOp, FpDivOp, FpMulAlu, FpTernaryOp, FpUnaryOp, FxpBinaryOp,
    GROUP_BIT, GroupId, InputCmp, InputCmpF32, InputCmpI32, InterSliceReduce, InterSliceReduceOpF32,
    InterSliceReduceOpI32, IntraSliceReduce, IntraSliceReduceOpF32, IntraSliceReduceOpI32, KeptLoop,
    LogicBinaryOpF32, LogicBinaryOpI32, MovedLoop, OperandSource, REDUCE_LOOPS, ReduceOperator, ReducedLoop,
    RepeatedLoop, RngdAlu, SliceLoop, TOGGLE_DIGITS, TagGuard, TernaryArgMode, TernaryInput, ValidBranchIds,
    Vector, VectorStep, VrfOperand, nest,
};

/// A command with its place in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The operation.
    pub operation: Operation,
    /// The call in the kernel.
    pub location: &'static core::panic::Location<'static>,
}

/// The operation of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A DMA transfer.
    Dma(Box<Dma>),
    /// A pass through the Tensor Unit.
    TensorUnit(Box<TensorUnit>),
    /// A copy between slices, clusters or chips.
    UnitCopy(Box<UnitCopy>),
    /// A gather or a scatter.
    Indexed(Box<IndexedDma>),
    /// A value in all elements of a tensor.
    Memset(Box<Memset>),
}

impl Operation {
    /// The tensors that it reads, if any, then the one that it writes.
    pub fn uses(&self) -> Vec<Use> {
        match self {
            Operation::Dma(dma) => vec![dma.reads(), dma.writes()],
            Operation::TensorUnit(unit) => unit.reads().chain([unit.writes()]).collect(),
            Operation::UnitCopy(copy) => vec![copy.reads(), copy.writes()],
            Operation::Indexed(indexed) => [&indexed.reads()[..], &[indexed.writes()]].concat(),
            Operation::Memset(memset) => vec![memset.writes()],
        }
    }

    /// The context that does it.
    pub fn context(&self) -> ContextKind {
        match self {
            Operation::Dma(dma) => dma.context(),
            Operation::TensorUnit(unit) => unit.context(),
            Operation::UnitCopy(copy) => copy.context,
            Operation::Indexed(indexed) => indexed.context(),
            Operation::Memset(_) => ContextKind::Sub,
        }
    }

    /// Name of the call that gives it: `DMA`, `commit`, `to_trf`, `to_vrf`, `memset`, or the name of a [`CopyCall`] or
    /// [`IndexedCall`].
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Dma(_) => "DMA",
            Operation::TensorUnit(unit) => unit.sink.operation(),
            Operation::UnitCopy(copy) => copy.call.name(),
            Operation::Indexed(indexed) => indexed.call.name(),
            Operation::Memset(_) => Memset::CALL,
        }
    }
}
