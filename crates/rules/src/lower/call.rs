//! The calls of a stream as data, and their order.

use super::{Tensor, Weights};
use crate::command::{AccumulationKind, Address, CommitNarrowing, ReduceOperator, TrfAddress, VectorStep};
use crate::engine::switch::SwitchConfig;
use crate::engine::vector::BranchMode;
use crate::mapping::{Expr, Ident};
use crate::scalar::ElementType;

/// The last call of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A tensor is about to be read.
    Begin,
    /// Packets as they were read.
    Fetch,
    /// Packets in the slices that need them.
    Switch,
    /// Packets of one flit.
    Collect,
    /// Data and weights side by side.
    Align,
    /// Columns of all rows.
    Contract,
    /// Sums.
    Accumulate,
    /// Inside the Vector Engine.
    Vector,
    /// Behind the Vector Engine.
    VectorFinal,
    /// Narrowed elements.
    Cast,
    /// Behind the Transpose Engine.
    Transpose,
    /// Packets as they are committed.
    CommitTrim,
    /// Elements as the Commit Engine narrows them.
    CommitCast,
}

impl Position {
    /// The calls that a commit may follow, in their order. Each call before a commit may follow those ahead of it.
    const COMMITTED: [Position; 9] = [
        Position::Fetch,
        Position::Switch,
        Position::Collect,
        Position::Accumulate,
        Position::VectorFinal,
        Position::Cast,
        Position::Transpose,
        Position::CommitTrim,
        Position::CommitCast,
    ];

    /// The calls that `commit_trim` may follow.
    pub(super) fn before_trim() -> &'static [Position] {
        &Self::COMMITTED[..7]
    }

    /// The calls that `commit_cast` and `commit_cast_relu` may follow.
    pub(super) fn before_narrowing() -> &'static [Position] {
        &Self::COMMITTED[..8]
    }

    /// The calls that a commit may follow.
    pub(super) fn before_commit() -> &'static [Position] {
        &Self::COMMITTED
    }

    /// The call, as a kernel writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Position::Begin => "begin",
            Position::Fetch => "fetch",
            Position::Switch => "switch",
            Position::Collect => "collect",
            Position::Align => "align",
            Position::Contract => "contract",
            Position::Accumulate => "accumulate",
            Position::Vector => "vector_init",
            Position::VectorFinal => "vector_final",
            Position::Cast => "cast",
            Position::Transpose => "transpose",
            Position::CommitTrim => "commit_trim",
            Position::CommitCast => "commit_cast",
        }
    }
}

/// A call of a stream, with its mappings. The names are those of the typed calls.
#[derive(Clone, Debug)]
pub enum Call {
    /// Reads the tensor as packets of `output`.
    Fetch {
        /// The element type in the stream.
        output: ElementType,
        /// The order of packets.
        time: &'static Expr,
        /// The content of a packet.
        packet: &'static Expr,
    },
    /// Redistributes packets over the slices, by a configuration or by the cheapest one.
    Switch {
        /// The configuration. `None`: the one that takes the fewest cycles.
        config: Option<SwitchConfig>,
        /// Slice of the result.
        slice: &'static Expr,
        /// Time of the result.
        time: &'static Expr,
    },
    /// Cuts packets into flits.
    Collect {
        /// Time of the result.
        time: &'static Expr,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Brings stream and weights to the same packets.
    Align {
        /// The weights.
        weights: Box<Weights>,
        /// Time of the computation.
        time: &'static Expr,
        /// Packet of the computation.
        packet: &'static Expr,
    },
    /// Multiplies, and adds neighbouring products.
    Contract {
        /// The columns.
        packet: &'static Expr,
    },
    /// Adds the results of several steps, and folds the rows into the stream.
    Accumulate {
        /// The order in which rows and columns leave.
        kind: AccumulationKind,
        /// Time of the result.
        time: &'static Expr,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Enters the Vector Engine.
    VectorInit,
    /// Gives every element its execution id.
    Branch(BranchMode),
    /// A step of the Vector Engine that leaves the mappings as they are: an operator, a conversion, the stash.
    Step {
        /// The call, for messages.
        operation: &'static str,
        /// The step.
        step: VectorStep,
    },
    /// Cuts packets of 8 lanes into two of 4.
    Split {
        /// Time of the result.
        time: &'static Expr,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Joins two packets of 4 lanes.
    Concat {
        /// Time of the result.
        time: &'static Expr,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Removes the upper 4 of 8 lanes.
    Trim {
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Extends packets of 4 lanes by padding.
    Pad {
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Reduces all elements along an axis to one, in each slice.
    IntraSliceReduce {
        /// The axis.
        axis: Ident,
        /// The operator.
        op: ReduceOperator,
        /// Time of the result.
        time: &'static Expr,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Reduces groups of slices to one element.
    InterSliceReduce {
        /// The operator.
        op: ReduceOperator,
        /// Slice of the result.
        slice: &'static Expr,
        /// Time of the result.
        time: &'static Expr,
    },
    /// Leaves the Vector Engine.
    VectorFinal,
    /// Narrows each element.
    Cast {
        /// The element type of the result.
        output: ElementType,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Exchanges time steps with the elements of packets.
    Transpose {
        /// Time of the result.
        time: &'static Expr,
        /// Packet of the result.
        packet: &'static Expr,
    },
    /// Keeps the beginning of each packet for the commit.
    CommitTrim {
        /// The elements that are kept.
        packet: &'static Expr,
    },
    /// Narrows each element on its way to DM.
    CommitCast {
        /// The conversion.
        narrowing: CommitNarrowing,
        /// The element type of the result.
        output: ElementType,
    },
}

/// The call that ends a stream, with the mappings of the result.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Writes a tensor to DM.
    Commit {
        /// Its elements.
        element: &'static Expr,
        /// Its address.
        address: Address,
    },
    /// Loads the tensor register file.
    ToTrf {
        /// Its rows.
        row: &'static Expr,
        /// Its elements of a row.
        element: &'static Expr,
        /// Its part of the register file.
        address: TrfAddress,
    },
    /// Loads the vector register file.
    ToVrf {
        /// Its elements.
        element: &'static Expr,
        /// Its address.
        address: Address,
    },
}

/// A tensor that a stream has made.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// In DM or in the VRF.
    Tensor(Tensor),
    /// In the TRF.
    Weights(Weights),
}
