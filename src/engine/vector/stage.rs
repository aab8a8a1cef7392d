//! The places of a stream in the engine.
//!
//! ```text
//!  8 lanes   Branch ─▶ Logic ─▶ Fxp ─▶ FxpToFp ─┬──────────────────────────────────────────▶ FpToFxp ─▶ Clip ─▶ Filter
//!                                               │                                        ▲
//!  4 lanes                                      └▶ Narrow ─▶ Fp ─▶ IntraSliceReduce ─▶ FpDiv ─▶ Widen
//! ```
//!
//! Every stage may be left out. Logic, Fxp, Fp and Clip hold several operators, in any order.

use core::fmt::Debug;

mod sealed {
    pub trait Sealed {}
}

/// The part that comes first, the intra-slice part or the inter-slice reduce: `{ VeOrder::IntraFirst }`.
///
/// The values come from [`VeOrderValues`]. It is an alias of a primitive type, because stable Rust has no other const
/// parameters.
pub type VeOrder = i8;

/// The values of [`VeOrder`].
#[allow(non_upper_case_globals)] // They read as variants.
pub trait VeOrderValues: sealed::Sealed {
    /// The intra-slice part comes first.
    const IntraFirst: VeOrder = 0;
    /// The inter-slice reduce comes first.
    const InterFirst: VeOrder = 1;
}

impl sealed::Sealed for VeOrder {}
impl VeOrderValues for VeOrder {}

/// Number of lanes of a packet: `{ PacketMode::Way8 }` or `{ Way8 }`. The values come from [`PacketModeValues`].
pub type PacketMode = u16;

/// The values of [`PacketMode`].
#[allow(non_upper_case_globals)] // They read as variants.
pub trait PacketModeValues: sealed::Sealed {
    /// Packets of 8 lanes.
    const Way8: PacketMode = Way8;
    /// Packets of 4 lanes.
    const Way4: PacketMode = Way4;
}

impl sealed::Sealed for PacketMode {}
impl PacketModeValues for PacketMode {}

/// Packets of 8 lanes.
#[allow(non_upper_case_globals)] // It reads as a variant.
pub const Way8: PacketMode = 8;
/// Packets of 4 lanes.
#[allow(non_upper_case_globals)] // It reads as a variant.
pub const Way4: PacketMode = 4;

/// The implementations of the engine's calls name these values by number: 8 and 4 lanes, order 0 and 1. The compiler
/// prints a number as it is, but a constant as its place in the library.
const _: () = assert!(Way8 == 8 && Way4 == 4 && VeOrder::IntraFirst == 0 && VeOrder::InterFirst == 1);

/// A stage of the engine.
pub trait Stage: sealed::Sealed + Debug + Copy {}

/// A stage of the intra-slice part.
pub trait IntraSliceStage: Stage {}

/// A stage of the inter-slice reduce.
pub trait InterSliceStage: Stage {}

/// A stage whose elements can be stashed.
#[diagnostic::on_unimplemented(
    message = "vector_stash: elements of the stage `{Self}` cannot be stashed",
    note = "stashed are those of Branch, Logic, Fxp, Narrow, Fp, FpDiv and Clip",
    note = "help: stash before this stage, or behind the next operator"
)]
pub trait Stashable: Stage {}

/// A stage that may come after this one.
#[diagnostic::on_unimplemented(
    message = "vector: the stage `{Target}` does not come after `{Self}`",
    label = "`{Self}` is the last stage so far",
    note = "the stages are Branch, Logic, Fxp, FxpToFp, Narrow, Fp, IntraSliceReduce, FpDiv, Widen, FpToFxp, Clip, Filter, in \
            this order; several operators of Logic, Fxp, Fp and Clip may follow each other",
    note = "help: put the call before this one, or use another pass"
)]
pub trait CanTransitionTo<Target: Stage>: Stage {}

macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident,)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Stage for $name {}
    )* };
}

stages! {
    /// Elements have their execution ids.
    Branch,
    /// Logic operators.
    Logic,
    /// Operators of integers and fixed point.
    Fxp,
    /// Fixed point became float.
    FxpToFp,
    /// Packets have 4 lanes.
    Narrow,
    /// Float operators.
    Fp,
    /// One element for all elements along an axis.
    IntraSliceReduce,
    /// The division behind the reduce.
    FpDiv,
    /// Packets have 8 lanes again.
    Widen,
    /// Float became fixed point.
    FpToFxp,
    /// Limits of values.
    Clip,
    /// Elements were left out.
    Filter,
    /// One element for all slices of a group.
    InterSliceReduce,
    /// The end.
    Output,
}

impl Logic {
    /// The most operators of a pass, each of another unit.
    pub const MAX_OPS: usize = 5;
}

impl Fxp {
    /// The most operators of a pass, each of another unit.
    pub const MAX_OPS: usize = 4;
}

impl Fp {
    /// The most operators of a pass, each of another unit.
    pub const MAX_OPS: usize = 5;
}

impl Clip {
    /// The most operators of a pass, each of another unit.
    pub const MAX_OPS: usize = 3;
}

macro_rules! transitions {
    ($($from:ident => $($to:ident)*;)*) => { $($(impl CanTransitionTo<$to> for $from {})*)* };
}

transitions! {
    Branch => Logic Fxp FxpToFp Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip Filter InterSliceReduce Output;
    Logic => Logic Fxp FxpToFp Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip Filter InterSliceReduce Output;
    Fxp => Fxp FxpToFp Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip Filter InterSliceReduce Output;
    FxpToFp => Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip Filter InterSliceReduce Output;
    Narrow => Fp IntraSliceReduce FpDiv Widen FpToFxp Clip Filter Output;
    Fp => Fp IntraSliceReduce FpDiv Widen FpToFxp Clip Filter Output;
    IntraSliceReduce => FpDiv Widen FpToFxp Clip Filter Output;
    FpDiv => Widen FpToFxp Clip Filter Output;
    Widen => FpToFxp Clip Filter InterSliceReduce Output;
    FpToFxp => Clip Filter InterSliceReduce Output;
    Clip => Clip Filter InterSliceReduce Output;
    Filter => Output;
    InterSliceReduce => Branch Filter Output;
    Output => Output;
}

macro_rules! marked {
    ($($mark:ident: $($name:ident)*;)*) => { $($(impl $mark for $name {})*)* };
}

marked! {
    IntraSliceStage: Branch Logic Fxp FxpToFp Narrow Fp IntraSliceReduce FpDiv Widen FpToFxp Clip;
    InterSliceStage: InterSliceReduce;
    Stashable: Branch Logic Fxp Narrow Fp FpDiv Clip;
}

/// The state of a stream with respect to groups: without groups, one of two groups, or zipped.
pub trait VeTensorContext: sealed::Sealed {}

/// A stream that may leave the engine.
#[diagnostic::on_unimplemented(
    message = "vector: one of two groups does not leave the engine by itself",
    note = "help: `.vector_clip_zip(op)`, or another zip, makes one stream of both"
)]
pub trait Commitable: VeTensorContext {}

/// A stream without groups.
#[derive(Clone, Copy, Debug)]
pub struct Standalone;
/// One of two groups.
#[derive(Clone, Copy, Debug)]
pub struct Group;
/// A stream that was made of two groups. It can neither be stashed nor filtered.
#[derive(Clone, Copy, Debug)]
pub struct Zipped;

impl sealed::Sealed for Standalone {}
impl sealed::Sealed for Group {}
impl sealed::Sealed for Zipped {}

marked! {
    VeTensorContext: Standalone Group Zipped;
    Commitable: Standalone Zipped;
}
