//! Operands: constants, tensors in the VRF, and what was stashed.
//!
//! ```text
//!   stream      Time m![W], Packet m![L]
//!   VRF         m![L]       one value per lane, the same in every time step
//!               m![W]       one value per time step, the same in every lane
//!               m![W, L]    one value per element; any order
//!               m![1 # 8]   one value per slice
//! ```
//!
//! Axes are matched by name and digit. What the tensor lacks is a broadcast. Every slice reads its own register file, so
//! that chips, clusters and slices must be those of the stream.

use super::array_vec::ArrayVec;
use crate::command::{
    BinaryInput, GroupId, OperandSource, Region, TernaryInput, Transfer, ValidBranchIds, VrfOperand,
};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, M, Pair, Pool, factors_of};
use crate::runtime::fault::accept;
use crate::scalar::{VeScalar, VeScalarKind};
use crate::sequencer::transfer::{Level, Placement, derive_read};
use crate::spec::VECTOR_BRANCHES;
use crate::tensor::VrfTensor;
use core::fmt::Debug;
use core::marker::PhantomData;

const OPERATION: &str = "vector operand";

/// The mapping of a stream: chip, cluster, slice, time and packet.
pub(super) type VeTensorShape<Chip, Cluster, Slice, Time, Packet> =
    Pair<Chip, Pair<Cluster, Pair<Slice, Pair<Time, Packet>>>>;

/// What an operand is derived from.
#[derive(Clone, Copy, Debug)]
pub struct OperandRequest {
    /// Chip, cluster and slice of the tensor.
    pub units: [&'static Expr; 3],
    /// The elements of the tensor.
    pub element: &'static Expr,
    /// The stream, as five mappings: chip, cluster, slice, time and packet.
    pub stream: &'static Expr,
}

/// The five mappings of a stream.
const fn parts(stream: &'static Expr) -> Option<[&'static Expr; 5]> {
    if let Expr::Pair(chip, rest) = stream
        && let Expr::Pair(cluster, rest) = rest
        && let Expr::Pair(slice, rest) = rest
        && let Expr::Pair(time, packet) = rest
    {
        return Some([chip, cluster, slice, time, packet]);
    }
    None
}

/// Units count as elements: positions of a stream are `time * lanes + lane`.
const fn flattened(mut transfer: Transfer, source_lanes: usize, lanes: usize) -> Transfer {
    transfer.source_start.elements += transfer.source_start.units * source_lanes as isize;
    transfer.source_start.units = 0;
    transfer.destination_start.elements += transfer.destination_start.units * lanes as isize;
    transfer.destination_start.units = 0;
    let mut k = 0;
    while k < transfer.loops.len() {
        let mut own = transfer.loops.at(k);
        own.source.elements += own.source.units * source_lanes;
        own.source.units = 0;
        own.destination.elements += own.destination.units * lanes;
        own.destination.units = 0;
        transfer.loops.set(k, own);
        k += 1;
    }
    transfer
}

/// From the elements of a tensor in the VRF to the positions of a stream.
///
/// # Errors
///
/// A tensor in other slices; one with an axis that the stream lacks, or cut at other places.
pub const fn derive_operand(request: &OperandRequest) -> Result<Transfer, PlanError> {
    let Some([chip, cluster, slice, time, packet]) = parts(request.stream) else {
        refuse!(
            "operand stream",
            "{}: {} is no mapping of a stream; help: give the operand to the call itself",
            str(OPERATION),
            mapping(request.stream),
        );
    };
    let mut pool = Pool::new();
    let streams = [chip, cluster, slice];
    let names = ["Chip", "Cluster", "Slice"];
    let mut k = 0;
    while k < names.len() {
        let own = attempt!(factors_of(OPERATION, &mut pool, request.units[k]));
        let stream = attempt!(factors_of(OPERATION, &mut pool, streams[k]));
        if !own.is(&stream) {
            refuse!(
                "operand units",
                "{}: the {} of the tensor in the VRF is {}, but that of the stream is {}: each slice reads its own register \
                 file; help: load the tensor from a tensor in DM with this {}, which `to_dm` broadcasts to",
                str(OPERATION),
                str(names[k]),
                mapping(request.units[k]),
                mapping(streams[k]),
                str(names[k]),
            );
        }
        k += 1;
    }
    let lanes = attempt!(factors_of(OPERATION, &mut pool, packet)).size();
    let element = attempt!(factors_of(OPERATION, &mut pool, request.element)).size();
    let own = [(request.element, Level::Element)];
    let stream = [(packet, Level::Element), (time, Level::Units(1))];
    let source = Placement { name: "VrfTensor", dimensions: &own };
    let destination = Placement { name: "stream", dimensions: &stream };
    match derive_read(OPERATION, &source, &destination) {
        Ok(transfer) => Ok(flattened(transfer, element, lanes)),
        Err(error) if crate::text::same(error.rule(), "not covered") => {
            refuse!(
                "operand axes",
                "{}: Element {} of the tensor in the VRF has an axis, or a part of one, that time {} and packet {} lack: an \
                 operand is broadcast along what it lacks, and has nothing more; help: load a tensor of axes of the stream, \
                 cut at the same places",
                str(OPERATION),
                mapping(request.element),
                mapping(time),
                mapping(packet),
            );
        }
        Err(error) => Err(error),
    }
}

/// From the positions of a stream, as it was stashed, to those that it has now.
///
/// # Errors
///
/// A stash with an axis that the stream lacks by now, or cut at other places.
pub const fn derive_stash(stashed: &'static Expr, stream: &'static Expr) -> Result<Transfer, PlanError> {
    let (Some([.., time, packet]), Some([.., now, lanes])) = (parts(stashed), parts(stream)) else {
        refuse!(
            "stash stream",
            "vector stash: {} is no mapping of a stream; help: let calls say it",
            mapping(stashed)
        );
    };
    let mut pool = Pool::new();
    let stash_lanes = attempt!(factors_of("vector stash", &mut pool, packet)).size();
    let stream_lanes = attempt!(factors_of("vector stash", &mut pool, lanes)).size();
    let own = [(packet, Level::Element), (time, Level::Units(1))];
    let stream = [(lanes, Level::Element), (now, Level::Units(1))];
    let source = Placement { name: "stash", dimensions: &own };
    let destination = Placement { name: "stream", dimensions: &stream };
    match derive_read("vector stash", &source, &destination) {
        Ok(transfer) => Ok(flattened(transfer, stash_lanes, stream_lanes)),
        Err(error) if crate::text::same(error.rule(), "not covered") => {
            refuse!(
                "stash axes",
                "vector stash: what was stashed, time {} and packet {}, has an axis that the stream lacks by now, time {} \
                 and packet {}: a reduce has taken it; help: use the stash before the reduce",
                mapping(time),
                mapping(packet),
                mapping(now),
                mapping(lanes),
            );
        }
        Err(error) => Err(error),
    }
}

/// The plan of an operand in the VRF, as types. `Stream` is the mapping of the stream that it is for.
pub struct OperandPlan<Chip, Cluster, Slice, Element, Stream>(
    PhantomData<(Chip, Cluster, Slice, Element, Stream)>,
);

impl<Chip: M, Cluster: M, Slice: M, Element: M, Stream: M>
    OperandPlan<Chip, Cluster, Slice, Element, Stream>
{
    /// The loops. Using it refuses a tensor that does not fit the stream.
    pub const TRANSFER: Transfer = match derive_operand(&OperandRequest {
        units: [Chip::EXPR, Cluster::EXPR, Slice::EXPR],
        element: Element::EXPR,
        stream: Stream::EXPR,
    }) {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };
}

/// Whether a stream has stashed its elements.
pub trait TensorState<D: VeScalar>: Debug {
    /// The mapping of the stream then.
    #[doc(hidden)]
    const STASHED: Option<&'static Expr>;
}

/// Nothing is stashed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTensor;

impl<D: VeScalar> TensorState<D> for NoTensor {
    const STASHED: Option<&'static Expr> = None;
}

/// The elements of a stream with this mapping are stashed.
#[derive(Clone, Copy, Debug, Default)]
pub struct HasTensor<D, Mapping>(PhantomData<(D, Mapping)>);

impl<D: VeScalar, Mapping: M> TensorState<D> for HasTensor<D, Mapping> {
    const STASHED: Option<&'static Expr> = Some(Mapping::EXPR);
}

/// What a stream has stashed, as seen from its mapping now.
#[derive(Clone, Copy, Debug)]
pub struct StashRead {
    /// The type then, and the loops. `None`: nothing is stashed.
    pub stashed: Option<(VeScalarKind, Result<Transfer, PlanError>)>,
}

impl StashRead {
    /// The stash as an operand of a stream of this type.
    ///
    /// # Errors
    /// Nothing was stashed, or another type, or an axis that the stream lacks by now.
    pub fn operand(&self, requested: VeScalarKind) -> Result<OperandSource, PlanError> {
        let Some((kind, transfer)) = &self.stashed else {
            refuse!(
                "stash missing",
                "vector stash: the stash is an operand, but nothing was stashed; \
                 help: call `vector_stash()` where the elements are those that you want",
            );
        };
        if *kind != requested {
            let name = |kind| match kind {
                VeScalarKind::F32 => "F32",
                VeScalarKind::I32 => "I32",
            };
            refuse!(
                "stash type",
                "vector stash: stash type mismatch: stashed as {}, requested as {}; \
                 help: stash behind the conversion",
                str(name(*kind)),
                str(name(requested)),
            );
        }
        transfer.map(|transfer| OperandSource::Stash(Box::new(transfer)))
    }
}

/// The plan of a read of the stash.
pub(super) struct StashPlan<StashD, Stash, Stream>(PhantomData<(StashD, Stash, Stream)>);

impl<StashD: VeScalar, Stash: TensorState<StashD>, Stream: M> StashPlan<StashD, Stash, Stream> {
    pub(super) const READ: StashRead = StashRead {
        stashed: match Stash::STASHED {
            Some(mapping) => Some((StashD::KIND, derive_stash(mapping, Stream::EXPR))),
            None => None,
        },
    };
}

/// The operand is what was stashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stash;

/// A tensor in the VRF, to be an operand of a stream of this mapping.
#[derive(Clone, Debug)]
pub struct VrfRead<D, TargetMapping> {
    operand: Box<VrfOperand>,
    types: PhantomData<(D, TargetMapping)>,
}

/// An operand of a stream of this mapping.
#[derive(Clone, Debug)]
pub enum VeRhs<D: VeScalar, TargetMapping: M> {
    /// The same for every element.
    Const {
        /// The value.
        v: D,
    },
    /// Elements of the VRF.
    Vrf {
        /// The tensor.
        data: VrfRead<D, TargetMapping>,
    },
    /// What was stashed.
    Stash,
}

impl<D: VeScalar, TargetMapping: M> VeRhs<D, TargetMapping> {
    /// The same for every element.
    pub fn constant(v: D) -> Self {
        VeRhs::Const { v }
    }

    /// A tensor in the VRF.
    ///
    /// Refused while compiling: one of other slices than the stream, or with an axis that the stream lacks.
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn vrf<Chip: M, Cluster: M, Slice: M, Element: M>(
        vrf: &VrfTensor<D, Chip, Cluster, Slice, Element>,
    ) -> Self {
        let transfer = const { OperandPlan::<Chip, Cluster, Slice, Element, TargetMapping>::TRANSFER };
        let footprint = const { VrfTensor::<D, Chip, Cluster, Slice, Element>::FOOTPRINT };
        let source = Region::whole(crate::command::Memory::Vrf, vrf.address, vrf.fill, footprint);
        VeRhs::Vrf {
            data: VrfRead { operand: Box::new(VrfOperand { source, transfer }), types: PhantomData },
        }
    }

    /// The operand as a command has it.
    fn source(self, stash: &StashRead) -> Result<OperandSource, PlanError> {
        match self {
            VeRhs::Const { v } => Ok(OperandSource::Constant(v.to_lane())),
            VeRhs::Vrf { data } => Ok(OperandSource::Vrf(data.operand)),
            VeRhs::Stash => stash.operand(D::KIND),
        }
    }
}

/// An operand, and the elements that it is for.
#[derive(Clone, Debug)]
pub struct VeBranchOperand<D: VeScalar, TargetMapping: M> {
    /// The operand.
    pub operand: VeRhs<D, TargetMapping>,
    /// The elements.
    pub valid_branch_ids: ValidBranchIds,
}

impl<D: VeScalar, TargetMapping: M> VeBranchOperand<D, TargetMapping> {
    /// For all elements.
    pub fn always(operand: VeRhs<D, TargetMapping>) -> Self {
        Self { operand, valid_branch_ids: ValidBranchIds::ValidAlways }
    }

    /// For the elements of a group.
    pub fn group(operand: VeRhs<D, TargetMapping>, id: GroupId) -> Self {
        Self { operand, valid_branch_ids: ValidBranchIds::ValidGroup { id } }
    }

    /// What was stashed, for all elements.
    pub fn stash_always() -> Self {
        Self::always(VeRhs::Stash)
    }

    /// What was stashed, for the elements of a group.
    pub fn stash_group(id: GroupId) -> Self {
        Self::group(VeRhs::Stash, id)
    }

    /// Whether the operand is the stash.
    pub fn is_stash(&self) -> bool {
        matches!(self.operand, VeRhs::Stash)
    }

    /// The elements that it is for.
    pub fn valid_branch_ids(&self) -> &ValidBranchIds {
        &self.valid_branch_ids
    }
}

/// Two operands of a ternary operator, and the elements that they are for.
#[derive(Clone, Debug)]
pub struct TernaryOperand<Mapping: M> {
    /// The first operand.
    pub operand0: VeRhs<f32, Mapping>,
    /// The second operand: always a constant.
    pub operand1: f32,
    /// The elements.
    pub valid_branch_ids: ValidBranchIds,
}

impl<Mapping: M> TernaryOperand<Mapping> {
    /// For all elements.
    pub fn always(operand0: VeRhs<f32, Mapping>, operand1: f32) -> Self {
        Self { operand0, operand1, valid_branch_ids: ValidBranchIds::ValidAlways }
    }

    /// For the elements of a group.
    pub fn group(operand0: VeRhs<f32, Mapping>, operand1: f32, id: GroupId) -> Self {
        Self { operand0, operand1, valid_branch_ids: ValidBranchIds::ValidGroup { id } }
    }
}

/// A list of operands.
pub(super) type Operands<D, TargetMapping> = ArrayVec<VeBranchOperand<D, TargetMapping>, VECTOR_BRANCHES>;

/// A list of pairs of operands.
pub(super) type TernaryOperands<Mapping> = ArrayVec<TernaryOperand<Mapping>, VECTOR_BRANCHES>;

/// One operand without a condition: a number, [`Stash`], `&VrfTensor` or a [`VeRhs`].
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand of a stream of `{D}`",
    note = "operands are numbers of type `{D}`, `Stash`, `&VrfTensor`, and `VeRhs`; float literals of `f32` are written `1.0`"
)]
pub trait IntoRhs<D: VeScalar, TargetMapping: M> {
    /// Using it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operand.
    fn into_rhs(self) -> VeRhs<D, TargetMapping>;
}

/// Operands of a binary operator: one, with or without a condition, or a list of at most five.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand of a stream of `{D}`",
    note = "operands are numbers of type `{D}`, `Stash`, `&VrfTensor`, `VeRhs`, `VeBranchOperand`, `(operand, GroupId)`, and \
            arrays of up to five `VeBranchOperand`"
)]
pub trait IntoOperands<D: VeScalar, TargetMapping: M> {
    /// Using it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operands in order.
    fn into_operands(self) -> ArrayVec<VeBranchOperand<D, TargetMapping>, 5>;
}

/// The operand of one of two groups, or `()` where the group is left as it is.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` is no operand of a group of `{D}`",
    note = "operands are `()`, which leaves the group as it is, numbers of type `{D}`, `&VrfTensor`, `VeRhs`, and \
            `VeBranchOperand`; a group takes one operand"
)]
pub trait IntoGroupOperand<D: VeScalar, TargetMapping: M> {
    /// Using it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operand, if the group has one.
    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>>;
}

/// Operands of a ternary operator: a pair, with or without a condition, or a list of at most five.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` are no operands of a ternary operator",
    note = "operands are `(operand, f32)`, `((operand, f32), GroupId)`, `TernaryOperand`, and arrays of up to five of them"
)]
pub trait IntoTernaryOperands<TargetMapping: M> {
    /// Using it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operands in order.
    fn into_ternary_operands(self) -> ArrayVec<TernaryOperand<TargetMapping>, 5>;
}

/// The operands of one of two groups, or `()` where the group is left as it is.
#[diagnostic::on_unimplemented(
    message = "vector: `{Self}` are no operands of a group of a ternary operator",
    note = "operands are `()`, which leaves the group as it is, `(operand, f32)`, and `TernaryOperand`"
)]
pub trait IntoGroupTernaryOperand<TargetMapping: M> {
    /// Using it refuses a tensor that does not fit the stream.
    #[doc(hidden)]
    const CHECK: ();

    /// The operands, if the group has them.
    fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>>;
}

/// [`IntoGroupOperand`] by another name.
pub use IntoGroupOperand as GroupOperand;
/// [`IntoGroupTernaryOperand`] by another name.
pub use IntoGroupTernaryOperand as GroupTernaryOperand;

/// One operand in every place that takes one. No blanket: literals get their type from the one implementation that fits.
macro_rules! rhs {
    ($([$($generics:tt)*] $own:ty, $d:ty, $value:ident => $rhs:expr, $check:expr;)*) => { $(
        impl<TargetMapping: M, $($generics)*> IntoRhs<$d, TargetMapping> for $own {
            const CHECK: () = $check;

            #[inline]
            fn into_rhs(self) -> VeRhs<$d, TargetMapping> {
                let $value = self;
                $rhs
            }
        }

        impl<TargetMapping: M, $($generics)*> From<$own> for VeBranchOperand<$d, TargetMapping> {
            fn from(own: $own) -> Self {
                Self::always(own.into_rhs())
            }
        }

        impl<TargetMapping: M, $($generics)*> IntoOperands<$d, TargetMapping> for $own {
            const CHECK: () = $check;

            fn into_operands(self) -> Operands<$d, TargetMapping> {
                ArrayVec::new([VeBranchOperand::always(self.into_rhs())])
            }
        }

        impl<TargetMapping: M, $($generics)*> IntoGroupOperand<$d, TargetMapping> for $own {
            const CHECK: () = $check;

            fn into_group_operand(self) -> Option<VeBranchOperand<$d, TargetMapping>> {
                Some(VeBranchOperand::always(self.into_rhs()))
            }
        }
    )* };
}

rhs! {
    [] i32, i32, v => VeRhs::Const { v }, ();
    [] f32, f32, v => VeRhs::Const { v }, ();
    [D: VeScalar] Stash, D, _own => VeRhs::Stash, ();
    [D: VeScalar] VeRhs<D, TargetMapping>, D, own => own, ();
    [D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M] &VrfTensor<D, Chip, Cluster, Slice, Element>, D,
        own => VeRhs::vrf(own),
        { let _ = OperandPlan::<Chip, Cluster, Slice, Element, TargetMapping>::TRANSFER; };
}

impl<TargetMapping: M> From<i32> for VeRhs<i32, TargetMapping> {
    fn from(v: i32) -> Self {
        VeRhs::Const { v }
    }
}

impl<TargetMapping: M> From<f32> for VeRhs<f32, TargetMapping> {
    fn from(v: f32) -> Self {
        VeRhs::Const { v }
    }
}

impl<D: VeScalar, TargetMapping: M> From<Stash> for VeRhs<D, TargetMapping> {
    fn from(_: Stash) -> Self {
        VeRhs::Stash
    }
}

impl<D: VeScalar, TargetMapping: M, Chip: M, Cluster: M, Slice: M, Element: M>
    From<&VrfTensor<D, Chip, Cluster, Slice, Element>> for VeRhs<D, TargetMapping>
{
    fn from(vrf: &VrfTensor<D, Chip, Cluster, Slice, Element>) -> Self {
        VeRhs::vrf(vrf)
    }
}

impl<D: VeScalar, TargetMapping: M, R: IntoRhs<D, TargetMapping>, B: Into<ValidBranchIds>> From<(R, B)>
    for VeBranchOperand<D, TargetMapping>
{
    fn from((rhs, ids): (R, B)) -> Self {
        Self { operand: rhs.into_rhs(), valid_branch_ids: ids.into() }
    }
}

impl<D: VeScalar, TargetMapping: M, R: IntoRhs<D, TargetMapping>, B: Into<ValidBranchIds>>
    IntoOperands<D, TargetMapping> for (R, B)
{
    const CHECK: () = R::CHECK;

    fn into_operands(self) -> Operands<D, TargetMapping> {
        ArrayVec::new([self.into()])
    }
}

impl<D: VeScalar, TargetMapping: M> IntoOperands<D, TargetMapping> for VeBranchOperand<D, TargetMapping> {
    const CHECK: () = ();

    fn into_operands(self) -> Operands<D, TargetMapping> {
        ArrayVec::new([self])
    }
}

impl<D: VeScalar, TargetMapping: M> IntoOperands<D, TargetMapping> for Operands<D, TargetMapping> {
    const CHECK: () = ();

    fn into_operands(self) -> Operands<D, TargetMapping> {
        self
    }
}

impl<D: VeScalar, TargetMapping: M, const N: usize> IntoOperands<D, TargetMapping>
    for [VeBranchOperand<D, TargetMapping>; N]
{
    const CHECK: () = assert!(N <= VECTOR_BRANCHES, "{}", TOO_MANY);

    #[track_caller]
    fn into_operands(self) -> Operands<D, TargetMapping> {
        accept(OPERATION, check_always(self.iter().map(|own| own.valid_branch_ids)));
        ArrayVec::of(self.into())
    }
}

const TOO_MANY: &str = "vector operand: an operator takes at most five operands; help: use an operator of another unit for the rest";

/// Refuses lists of which more than one operand is for all elements.
///
/// # Errors
/// Such a list.
pub fn check_always(ids: impl Iterator<Item = ValidBranchIds>) -> Result<(), PlanError> {
    let found = ids.filter(|ids| *ids == ValidBranchIds::ValidAlways).count();
    if found <= 1 {
        return Ok(());
    }
    refuse!(
        "operands always",
        "vector operand: Multiple ValidAlways operands are not allowed (found {}); \
         help: give each but one a group: `VeBranchOperand::group(operand, GroupId::One)`",
        number(found),
    )
}

impl<D: VeScalar, TargetMapping: M> IntoGroupOperand<D, TargetMapping> for () {
    const CHECK: () = ();

    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>> {
        None
    }
}

impl<D: VeScalar, TargetMapping: M> IntoGroupOperand<D, TargetMapping> for VeBranchOperand<D, TargetMapping> {
    const CHECK: () = ();

    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>> {
        Some(self)
    }
}

impl<D: VeScalar, TargetMapping: M> IntoGroupOperand<D, TargetMapping>
    for Option<VeBranchOperand<D, TargetMapping>>
{
    const CHECK: () = ();

    fn into_group_operand(self) -> Option<VeBranchOperand<D, TargetMapping>> {
        self
    }
}

impl<TargetMapping: M, R: IntoRhs<f32, TargetMapping>> From<(R, f32)> for TernaryOperand<TargetMapping> {
    fn from((rhs, constant): (R, f32)) -> Self {
        Self::always(rhs.into_rhs(), constant)
    }
}

impl<TargetMapping: M, R: IntoRhs<f32, TargetMapping>, B: Into<ValidBranchIds>> From<((R, f32), B)>
    for TernaryOperand<TargetMapping>
{
    fn from(((rhs, operand1), ids): ((R, f32), B)) -> Self {
        Self { operand0: rhs.into_rhs(), operand1, valid_branch_ids: ids.into() }
    }
}

macro_rules! ternary {
    ($([$($generics:tt)*] $own:ty, $check:expr;)*) => { $(
        impl<TargetMapping: M, $($generics)*> IntoTernaryOperands<TargetMapping> for $own {
            const CHECK: () = $check;

            fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
                ArrayVec::new([self.into()])
            }
        }

        impl<TargetMapping: M, $($generics)*> IntoGroupTernaryOperand<TargetMapping> for $own {
            const CHECK: () = $check;

            fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>> {
                Some(self.into())
            }
        }
    )* };
}

ternary! {
    [R: IntoRhs<f32, TargetMapping>] (R, f32), R::CHECK;
    [R: IntoRhs<f32, TargetMapping>, B: Into<ValidBranchIds>] ((R, f32), B), R::CHECK;
    [] TernaryOperand<TargetMapping>, ();
}

impl<TargetMapping: M> IntoTernaryOperands<TargetMapping> for TernaryOperands<TargetMapping> {
    const CHECK: () = ();

    fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
        self
    }
}

impl<TargetMapping: M, const N: usize> IntoTernaryOperands<TargetMapping>
    for [TernaryOperand<TargetMapping>; N]
{
    const CHECK: () = assert!(N <= VECTOR_BRANCHES, "{}", TOO_MANY);

    #[track_caller]
    fn into_ternary_operands(self) -> TernaryOperands<TargetMapping> {
        accept(OPERATION, check_always(self.iter().map(|own| own.valid_branch_ids)));
        ArrayVec::of(self.into())
    }
}

impl<TargetMapping: M> IntoGroupTernaryOperand<TargetMapping> for () {
    const CHECK: () = ();

    fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>> {
        None
    }
}

impl<TargetMapping: M> IntoGroupTernaryOperand<TargetMapping> for Option<TernaryOperand<TargetMapping>> {
    const CHECK: () = ();

    fn into_group_ternary_operand(self) -> Option<TernaryOperand<TargetMapping>> {
        self
    }
}

/// Operands as a command has them.
pub(super) fn binary_inputs<D: VeScalar, TargetMapping: M>(
    operands: impl IntoIterator<Item = VeBranchOperand<D, TargetMapping>>,
    stash: &StashRead,
) -> Result<Vec<BinaryInput>, PlanError> {
    let input = |own: VeBranchOperand<D, TargetMapping>| {
        Ok(BinaryInput { ids: own.valid_branch_ids, source: own.operand.source(stash)? })
    };
    operands.into_iter().map(input).collect()
}

/// Pairs of operands as a command has them.
pub(super) fn ternary_inputs<TargetMapping: M>(
    operands: impl IntoIterator<Item = TernaryOperand<TargetMapping>>,
    stash: &StashRead,
) -> Result<Vec<TernaryInput>, PlanError> {
    let input = |own: TernaryOperand<TargetMapping>| {
        let source = own.operand0.source(stash)?;
        Ok(TernaryInput { ids: own.valid_branch_ids, source, constant: own.operand1 })
    };
    operands.into_iter().map(input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{axes, m};

    axes![W = 5, L = 8, Q = 256, K = 32, R = 2];

    type One = m![1];
    type Rows<Time, Packet> = VeTensorShape<m![1], m![1 # 2], m![Q], Time, Packet>;

    /// Which element of the VRF each position gets.
    fn places<Element: M, Time: M, Packet: M>() -> Result<Vec<Option<usize>>, &'static str> {
        let request = OperandRequest {
            units: [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![Q]>::EXPR],
            element: Element::EXPR,
            stream: Rows::<Time, Packet>::EXPR,
        };
        let transfer = derive_operand(&request).map_err(|error| error.rule())?;
        let mut all = vec![None; Time::SIZE * Packet::SIZE];
        let loops = transfer.loops.as_slice();
        let total: usize = loops.iter().map(|own| own.size).product();
        for number in 0..total {
            let (mut rest, mut from, mut to, mut indices) = (number, 0, 0, Vec::new());
            for own in loops.iter().rev() {
                let k = rest % own.size;
                rest /= own.size;
                indices.insert(0, k);
                from += k * own.source.elements;
                to += k * own.destination.elements;
            }
            if transfer.guard.holds(&indices) {
                all[to] = Some(from);
            }
        }
        Ok(all)
    }

    #[test]
    fn tensors_are_broadcast_along_what_they_lack() {
        let expect = |places: Result<Vec<Option<usize>>, _>, of: fn(usize, usize) -> usize| {
            let expected: Vec<_> = (0..40).map(|k| Some(of(k / 8, k % 8))).collect();
            assert_eq!(places, Ok(expected));
        };
        expect(places::<m![L], m![W], m![L]>(), |_, l| l);
        expect(places::<m![W], m![W], m![L]>(), |w, _| w);
        expect(places::<m![W, L], m![W], m![L]>(), |w, l| 8 * w + l);
        expect(places::<m![L, W], m![W], m![L]>(), |w, l| 5 * l + w);
        expect(places::<m![1 # 8], m![W], m![L]>(), |_, _| 0);
        // After a split the positions are the same.
        expect(places::<m![L, W], m![W, L / 4], m![L % 4]>(), |w, l| 5 * l + w);
        // One value for four neighbours.
        let groups: Vec<_> = (0..32).map(|k| Some(k / 4)).collect();
        assert_eq!(places::<m![K / 4], m![K / 8], m![K % 8]>(), Ok(groups));
        // Padding of the stream gets nothing, padding of the tensor goes nowhere.
        let padded: Vec<_> = (0..24).map(|k| (k % 8 < 5).then_some(k % 8)).collect();
        assert_eq!(
            places::<m![W # 7], m![R # 3], m![W # 8]>().map(|all| all[..16].to_vec()),
            Ok(padded[..16].to_vec())
        );
    }

    #[test]
    fn tensors_that_do_not_fit() {
        assert_eq!(places::<m![K], m![W], m![L]>(), Err("operand axes"));
        assert_eq!(places::<m![W, L, R], m![W], m![L]>(), Err("operand axes"));
        let units = |units: [&'static Expr; 3]| {
            let request =
                OperandRequest { units, element: <m![L]>::EXPR, stream: Rows::<m![W], m![L]>::EXPR };
            derive_operand(&request).map(|_| ()).map_err(|error| {
                assert!(error.message().contains("each slice reads its own"), "{error}");
                error.rule()
            })
        };
        let [one, two, all] = [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![Q]>::EXPR];
        assert_eq!(units([one, two, all]), Ok(()));
        for other in [
            [two, two, all],
            [one, one, all],
            [one, two, <m![1 # 256]>::EXPR],
            [one, two, <m![K # 256]>::EXPR],
        ] {
            assert_eq!(units(other), Err("operand units"));
        }
        let request = OperandRequest { units: [one, two, all], element: one, stream: One::EXPR };
        assert_eq!(derive_operand(&request).map_err(|error| error.rule()).err(), Some("operand stream"));
    }

    #[test]
    fn stashes_keep_their_axes() {
        let same = derive_stash(Rows::<m![W], m![L]>::EXPR, Rows::<m![W, L / 4], m![L % 4]>::EXPR);
        assert!(same.is_ok());
        let reduced = derive_stash(Rows::<m![W], m![L]>::EXPR, Rows::<m![1], m![L]>::EXPR);
        assert_eq!(reduced.map_err(|error| error.rule()).err(), Some("stash axes"));
    }

    #[test]
    fn one_operand_is_for_all() {
        use ValidBranchIds::ValidAlways;
        let zero = ValidBranchIds::from(GroupId::Zero);
        assert!(check_always([zero, ValidAlways, zero].into_iter()).is_ok());
        let error = check_always([ValidAlways, zero, ValidAlways].into_iter()).expect_err("two are for all");
        assert!(error.message().contains("(found 2)"), "{error}");
    }
}
