//! Why a chain is refused: the rules of the specification, each with a name.

use super::operators::{Alu, Cluster};
use std::fmt;

/// A stage of the part within a slice, in the order of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Branch,
    Logic,
    Fxp,
    FxpToFp,
    Narrow,
    Fp,
    IntraSliceReduce,
    FpDiv,
    Widen,
    FpToFxp,
    Clip,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Stage; 11] = [
        Stage::Branch,
        Stage::Logic,
        Stage::Fxp,
        Stage::FxpToFp,
        Stage::Narrow,
        Stage::Fp,
        Stage::IntraSliceReduce,
        Stage::FpDiv,
        Stage::Widen,
        Stage::FpToFxp,
        Stage::Clip,
    ];

    /// The stage of a cluster.
    pub fn of(cluster: Cluster) -> Stage {
        match cluster {
            Cluster::Logic => Stage::Logic,
            Cluster::Fxp => Stage::Fxp,
            Cluster::Fp => Stage::Fp,
            Cluster::FpDiv => Stage::FpDiv,
            Cluster::Clip => Stage::Clip,
        }
    }

    /// Whether `next` may follow: stages come in order, and clusters of several units repeat.
    pub fn leads_to(self, next: Stage) -> bool {
        let repeats = matches!(self, Stage::Logic | Stage::Fxp | Stage::Fp | Stage::Clip);
        self < next || (self == next && repeats)
    }

    /// Whether a reduce between slices may follow.
    pub fn leads_to_inter(self) -> bool {
        use Stage::{Branch, Clip, FpToFxp, Fxp, FxpToFp, Logic, Widen};
        matches!(self, Branch | Logic | Fxp | FxpToFp | Widen | FpToFxp | Clip)
    }

    /// Whether the stream may be stashed.
    pub fn is_stashable(self) -> bool {
        use Stage::{Branch, Clip, Fp, FpDiv, Fxp, Logic, Narrow};
        matches!(self, Branch | Logic | Fxp | Narrow | Fp | FpDiv | Clip)
    }
}

/// What a refusal is decided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// The method does not exist on the type, by a trait bound.
    Bound,
    /// The mappings, while the call is compiled.
    Types,
    /// The values of arguments, when the call is made.
    Values,
    /// The specification names the thing and gives it no meaning.
    NotImplemented,
    /// The specification does not say whether this is legal, or the reference cannot: no verdict.
    Unclear,
}

/// A rule that a chain breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The stage cannot follow the one before it, or there is no such method at the start or at the end.
    Stage,
    /// The step wants packets of the other width.
    Way,
    /// The step wants the other type of numbers.
    Scalar,
    /// The step is for one stream, for two groups, or not for a stream that was zipped.
    Context,
    /// A third part: a slice part follows another one, or a reduce between slices does.
    VeOrder,
    /// `vector_stash` with something stashed.
    SecondStash,
    /// `vector_stash` after a stage that has none.
    NotStashable,
    /// A packet that enters is no flit of 8 elements.
    EntryPacket,
    /// The axis of an unzip is not a factor of size 2 of time alone.
    UnzipAxis,
    /// The tile time of an unzip is not time with the axis replaced by `1 # 2`.
    UnzipTile,
    /// The split time of an unzip is not its tile time without that `1 # 2`.
    UnzipSplit,
    /// Packets of a split do not have 8 and 4 elements.
    SplitSize,
    /// Time of a split is not time and the outer two of the packet.
    SplitTime,
    /// The packet of a split is not its inner four.
    SplitPacket,
    /// Packets of a concat do not have 4 and 8 elements.
    ConcatSize,
    /// Time of a concat is not time without its innermost two.
    ConcatTime,
    /// The packet of a concat is not the innermost two of time and the packet.
    ConcatPacket,
    /// Packets of a trim do not have 8 and 4 elements.
    TrimSize,
    /// A trim would drop elements.
    TrimBack,
    /// The packet of a trim is not the front half.
    TrimPacket,
    /// Packets of a pad do not have 4 and 8 elements.
    PadSize,
    /// The packet of a pad is not the packet with padding behind it.
    PadPacket,
    /// An arithmetic unit is used again.
    AluUsed(Alu),
    /// More than one operand of an array is for all elements.
    ManyAlways,
    /// More than five operands.
    OperandCount,
    /// The operand `Stash` with nothing stashed.
    StashMissing,
    /// The stash holds the other type of numbers.
    StashScalar,
    /// An operand holds an element that the stream lacks.
    OperandAxes,
    /// A comparison of the other type of numbers.
    BranchScalar,
    /// A toggle by an axis that the stream lacks.
    BranchAxis,
    /// More than 31 integer bits.
    IntWidth,
    /// A unary operator with an operand as its argument: there is none.
    UnaryMode,
    /// The output of a reduce holds something that its input lacks.
    ReduceDivide,
    /// A reduce would drop another axis.
    ReduceOtherAxis,
    /// The output of a reduce still holds the axis.
    ReduceNotFull,
    /// The packet of a reduce is neither as it was nor `1 # 4`.
    ReducePacket,
    /// More than 8 accumulators.
    ReduceSlots,
    /// Padding of the reduced axis that no valid count describes.
    ValidCount(Count),
    /// The slices of a reduce between slices are not as many as before.
    InterSize,
    /// A slice factor that is neither kept, nor promoted from time, nor new, nor padding.
    InterFactor,
    /// The reduced slice factors are not the innermost ones.
    InterNotInnermost,
    /// The kept slice factors change their order or their place.
    InterOrder,
    /// Time is not what is left of it without the promoted factors.
    InterTime,
    /// More than 8 KiB per slice in the vector register file.
    VrfCapacity,
    /// The register file would lack an element of the stream, or hold one that the stream lacks.
    VrfAxes,
    /// Names without a meaning: `Filter`, `ValidCount`, `Vrf`, `MaskMulF`, `MaskFmaF`.
    NotImplemented,
    /// The reduced axis is nowhere in time and packet; or the kept factors come in another order or with other padding.
    ReduceUnclear,
    /// A reduce between slices of a part of an axis, or of nothing.
    InterUnclear,
    /// A mapping that digits of single axes do not describe.
    NoDigits,
}

/// Why no valid count describes a padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// The valid lanes of a flit are no prefix.
    Prefix,
    /// Neither one packet count for all slices, nor one threshold of slices and time.
    Pattern,
    /// The slice part is not made of powers of two.
    Powers,
}

impl Rule {
    /// What decides it.
    pub fn when(self) -> When {
        use Rule::*;
        match self {
            Stage | Way | Scalar | Context | VeOrder | SecondStash | NotStashable => When::Bound,
            AluUsed(_) | ManyAlways | OperandCount | StashMissing | StashScalar => When::Values,
            BranchScalar | BranchAxis | IntWidth | UnaryMode => When::Values,
            NotImplemented => When::NotImplemented,
            ReduceUnclear | InterUnclear | NoDigits => When::Unclear,
            _ => When::Types,
        }
    }
}

/// A refusal: the first step that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Number of the step; the number of steps stands for `vector_final`.
    pub step: usize,
    pub rule: Rule,
    /// What was found, in numbers and mappings.
    pub found: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {:?}: {}", self.step, self.rule, self.found)
    }
}

/// A rule that is broken, and what was found. The machine adds the step.
pub type Broken = (Rule, String);

/// The refusal of a rule, unless the condition holds.
pub fn demand(condition: bool, rule: Rule, found: impl FnOnce() -> String) -> Result<(), Broken> {
    if condition { Ok(()) } else { Err((rule, found())) }
}
