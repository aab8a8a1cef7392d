//! Looking at tensors from the host, for tests and for finding mistakes. The chip has no such operation.
//!
//! `x.inspect::<m![…]>(ctx)` exists for tensors and views in every memory, and gives a [`HostTensor`] in the axes of the
//! program: what the memory holds at this point of the program. It is no command, takes no time, and no check stops it but
//! those of a tensor that is not there: bounds, and another tensor over it. Elements that nobody wrote are `Opt::Uninit`.
//! Under [`Placement::Liveness`](crate::runtime::Placement::Liveness), a look in a kernel executes all commands before it, and
//! tensors whose handles live then keep their bytes: later ones may get other places.
//!
//! A stream has `inspect` too, in the middle of a chain: [`StreamTensor::inspect`](crate::engine::stream::StreamTensor::inspect).

use super::dma::AtRest;
use super::layout::StreamLayout;
use super::stream::{StreamTensor, stage};
use crate::command::{
    self, FillId, Footprint, HostBuffer, Inspection, Memory, Operation, Place, Region, Sink, Start, Transfer,
};
use crate::engine::dma::{derive_host_transfer, derive_storage_transfer};
use crate::error::{PlanError, attempt};
use crate::host::HostTensor;
use crate::mapping::{Guard, M, Pool};
use crate::runtime::fault::or_raise;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{Context, Tu};
use crate::scalar::Scalar;
use crate::sequencer::transfer::{DM_CHIP, DM_CLUSTER, DM_SLICE, Level, Placement};
use crate::sequencer::{Config, Entry};
use crate::spec::{CLUSTERS, FLIT_BYTES, SLICES, TRF_BANK_ROWS};
use core::marker::PhantomData;
use core::panic::Location;

const OPERATION: &str = "inspect";

/// Elements of the buffer of a host tensor: live digits only.
pub const fn host_elements<Host: M>() -> usize {
    crate::host::packed_factors(&mut Pool::new(), Host::EXPR).size()
}

/// The content of a place, as a host tensor.
#[track_caller]
pub(crate) fn inspected<D: Scalar, Host: M>(
    context: &Context,
    source: Place,
    transfer: Transfer,
) -> HostTensor<D, Host> {
    // A tile may start in a later unit.
    let start = match &source {
        Place::Region(region) => Start::of(region),
        Place::Trf(_) => Start::FIRST,
    };
    let transfer = transfer.further(start, Start::FIRST);
    let inspection = Inspection { source, transfer, host_elements: const { host_elements::<Host>() } };
    HostTensor::from_host_buffer(looked(context, &inspection, D::BITS))
}

/// The bytes of a look. It has no type parameters, so that all kernels share it.
#[track_caller]
#[inline(never)]
fn looked(context: &Context, inspection: &Inspection, bits: usize) -> HostBuffer {
    let seen = or_raise(context.inspect(inspection, Location::caller()));
    seen.unwrap_or_else(|| HostBuffer::unwritten(bits, inspection.host_elements))
}

/// The loops of a look at a tensor in a memory that is addressed in bytes.
pub struct InspectionPlan<Tensor, Host>(PhantomData<(Tensor, Host)>);

impl<Tensor: AtRest, Host: M> InspectionPlan<Tensor, Host> {
    /// The loops.
    pub const TRANSFER: Transfer = {
        let _ = Tensor::ELEMENTS;
        match Self::transfer() {
            Ok(transfer) => transfer,
            Err(error) => error.refuse(),
        }
    };

    const fn transfer() -> Result<Transfer, PlanError> {
        derive_storage_transfer(OPERATION, Host::EXPR, &Tensor::SHAPE, false)
    }
}

impl<Tensor: AtRest, Host: M> Late<InspectionPlan<Tensor, Host>> {
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> = Self::checked();

    const fn checked() -> Refusable<Transfer> {
        attempt!(by_reference(Tensor::LATE_FOOTPRINT));
        InspectionPlan::<Tensor, Host>::transfer()
    }
}

/// The loops of a look at a tensor in the TRF.
pub struct TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>(
    PhantomData<(D, Host, Chip, Cluster, Slice, Row, Element)>,
);

impl<D: Scalar, Host: M, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>
{
    /// The loops. The unit is `8 * slice + row`.
    pub const TRANSFER: Transfer = match Self::transfer() {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };

    const fn transfer() -> Result<Transfer, PlanError> {
        let dimensions = [
            (Element::EXPR, Level::Element),
            (Row::EXPR, Level::Units(1)),
            (Slice::EXPR, Level::Units(TRF_BANK_ROWS)),
            (Cluster::EXPR, Level::Units(TRF_BANK_ROWS * SLICES)),
            (Chip::EXPR, Level::Units(TRF_BANK_ROWS * SLICES * CLUSTERS)),
        ];
        let tensor = Placement { name: "TrfTensor", dimensions: &dimensions };
        derive_host_transfer(OPERATION, Host::EXPR, &tensor, false)
    }
}

impl<D: Scalar, Host: M, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    Late<TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>>
{
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> =
        TrfInspectionPlan::<D, Host, Chip, Cluster, Slice, Row, Element>::transfer();
}

/// The loops of a look at a stream.
pub struct StreamInspectionPlan<D, L, Host>(PhantomData<(D, L, Host)>);

impl<D: Scalar, L: StreamLayout, Host: M> StreamInspectionPlan<D, L, Host> {
    /// Elements of a flit.
    const LANES: usize = 8 * FLIT_BYTES / D::ELEMENT_TYPE.bits();
    /// Flits that hold a packet.
    const FLITS: usize = L::Packet::SIZE.div_ceil(Self::LANES);

    /// The loops. Packets lie one after the other, each in whole flits. The unit is the slice.
    pub const TRANSFER: Transfer = match Self::transfer() {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };

    const fn transfer() -> Result<Transfer, PlanError> {
        let dimensions = [
            (L::Packet::EXPR, Level::Element),
            (L::Time::EXPR, Level::Elements(Self::FLITS * Self::LANES)),
            (L::Slice::EXPR, DM_SLICE),
            (L::Cluster::EXPR, DM_CLUSTER),
            (L::Chip::EXPR, DM_CHIP),
        ];
        let stream = Placement { name: "stream", dimensions: &dimensions };
        derive_host_transfer(OPERATION, Host::EXPR, &stream, false)
    }

    /// A commit of all packets, padding too, to a tensor that has no place.
    fn sink() -> Sink {
        let steps = L::Time::SIZE * Self::FLITS;
        let footprint = Footprint {
            element: D::ELEMENT_TYPE,
            chips: L::Chip::SIZE,
            clusters: L::Cluster::SIZE,
            slices: L::Slice::SIZE,
            elements: steps * Self::LANES,
            guard: Guard::always(4),
        };
        let mut config = Config::new(Self::LANES);
        config.entries.push(Entry { size: steps, stride: Self::LANES as isize });
        config.entries.push(Entry { size: Self::LANES, stride: 1 });
        let destination = Region::whole(Memory::Dm, 0, FillId::ANY, footprint);
        Sink::Commit { destination, config, guard: Guard::always(5), commit_size: FLIT_BYTES }
    }
}

impl<D: Scalar, L: StreamLayout, Host: M> Late<StreamInspectionPlan<D, L, Host>> {
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> = StreamInspectionPlan::<D, L, Host>::transfer();
}

impl<'l, const T: Tu, P: stage::Trimmable, D: Scalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
    /// Shows the packets of the stream at this place of the chain, in the axes of the program, and goes on: a look for
    /// tests and for finding mistakes. It is no command, and takes no time on the chip.
    ///
    /// `Host` has the axes of the stream, copies in other slices included. What nobody wrote is computed with as fresh
    /// memory reads: NaN for floats, unless the stream is only moved. Under
    /// [`Placement::Liveness`](crate::runtime::Placement::Liveness), a look executes all commands before it, and tensors whose
    /// handles live then keep their bytes: later ones may get other places.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 16];
    /// type X = DmTensor<bf16, m![1], m![1 # 2], m![A], m![B]>;
    /// fn increased(ctx: &mut Context, x: &X) -> DmTensor<f32, m![1], m![1 # 2], m![A], m![B]> {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![B]>())
    ///         .collect::<m![B / 8], m![B % 8]>()
    ///         .inspect::<m![A, B]>(|packets| println!("fetched {packets}"))
    ///         .vector_init()
    ///         .vector_intra_slice_branch(BranchMode::Unconditional)
    ///         .vector_clip(ClipBinaryOpF32::Add, 1.0)
    ///         .vector_final()
    ///         .inspect::<m![A, B]>(|packets| println!("increased {packets}"))
    ///         .commit(AUTO)
    /// }
    /// # let _ = increased as fn(_, _) -> _;
    /// ```
    ///
    /// It exists after fetch, switch, collect, accumulate, the end of the Vector Engine, cast and transpose. Between, end
    /// the stream earlier; behind `.commit_trim()`, look at the tensor.
    ///
    /// Refused while compiling: a host tensor that `has no place for` an axis of the stream.
    ///
    /// # Panics
    /// If another tensor was written over one that the stream reads.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn inspect<Host: M>(self, look: impl FnOnce(&HostTensor<D, Host>)) -> Self {
        let transfer = planned!(TRANSFER of StreamInspectionPlan<D, L, Host>);
        let sink = StreamInspectionPlan::<D, L, Host>::sink();
        let mut pass = self.pass.unit.clone().end(T, sink);
        if let Operation::TensorUnit(unit) = &mut pass {
            // Packets that were not collected yet may be longer than a flit.
            unit.collect.get_or_insert(command::Collect { flits: StreamInspectionPlan::<D, L, Host>::FLITS });
        }
        let (elements, location) = (const { host_elements::<Host>() }, Location::caller());
        let seen = or_raise(self.context.inspect(pass, (&transfer, elements), location));
        let seen = seen.unwrap_or_else(|| HostBuffer::unwritten(D::BITS, elements));
        look(&HostTensor::from_host_buffer(seen));
        self
    }
}
