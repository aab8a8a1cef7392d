//! Tensors in the tensor register file.

use super::handle::{RegisterPlace, views};
use super::units::{Chips, Clusters, Slices};
use crate::chip::{RegisterType, TrfLayout};
use crate::command::{FillId, Place, TrfAddress, TrfRegion};
use crate::engine::inspect::{TrfInspectionPlan, inspected};
use crate::engine::register_file::{TrfLoadConfig, check_capacity};
use crate::error::attempt;
use crate::host::HostTensor;
use crate::mapping::{Guard, M, guard_of};
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::runtime::{Context, Lease};
use crate::scalar::{Scalar, StreamScalar};
use core::fmt;
use core::marker::PhantomData;

/// A tensor in the TRF of every slice: row `r`, element `j` holds the element of the tensor at the union of `Chip::map`,
/// `Cluster::map`, `Slice::map`, `Row::map(r)` and `Element::map(j)`.
pub struct TrfTensor<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M> {
    pub(crate) address: TrfAddress,
    pub(crate) fill: FillId,
    /// The lease of a part that the context chose: it is free again when it is dropped.
    pub(crate) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Cluster, Slice, Row, Element)>,
}

impl<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    Late<TrfTensor<D, Chip, Cluster, Slice, Row, Element>>
{
    #[doc(hidden)]
    pub const GUARD: Refusable<Guard> = Self::guard();
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = Self::check();

    const fn guard() -> Refusable<Guard> {
        attempt!(Late::<Chips<Chip>>::CHECKED);
        attempt!(Late::<Clusters<Cluster>>::CHECKED);
        attempt!(Late::<Slices<Slice>>::CHECKED);
        guard_of("TrfTensor", &[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Row::EXPR, Element::EXPR])
    }

    const fn check() -> Refusable<()> {
        attempt!(Self::GUARD);
        attempt!(crate::engine::register_file::check_rows("TrfTensor", Row::EXPR, Row::SIZE));
        check_capacity(
            "TrfTensor",
            &TrfTensor::<D, Chip, Cluster, Slice, Row, Element>::LOAD,
            TrfAddress::Full,
        )
    }
}

impl<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    TrfTensor<D, Chip, Cluster, Slice, Row, Element>
{
    const GUARD: Guard = {
        let _ = (Chips::<Chip>::CHECKED, Clusters::<Cluster>::CHECKED, Slices::<Slice>::CHECKED);
        match guard_of("TrfTensor", &[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Row::EXPR, Element::EXPR]) {
            Ok(guard) => guard,
            Err(error) => error.refuse(),
        }
    };

    const LOAD: TrfLoadConfig = TrfLoadConfig::new(D::ELEMENT_TYPE, Row::SIZE, Element::SIZE);

    /// Evaluating it refuses tensors that no part of the TRF can hold.
    const CHECK: () = {
        let _ = Self::GUARD;
        if let Err(error) = crate::engine::register_file::check_rows("TrfTensor", Row::EXPR, Row::SIZE) {
            error.refuse()
        }
        if let Err(error) = check_capacity("TrfTensor", &Self::LOAD, TrfAddress::Full) {
            error.refuse()
        }
    };

    #[inline(always)]
    pub(crate) fn filled(address: TrfAddress, fill: FillId) -> Self {
        Self { address, fill, lease: None, types: PhantomData }
    }

    /// The tensor in a part of the TRF that the context chose.
    pub(crate) fn leased(address: TrfAddress, fill: FillId, lease: Option<Lease>) -> Self {
        Self { address, fill, lease, types: PhantomData }
    }

    /// A handle to the tensor in a part of the TRF.
    ///
    /// # Safety
    /// No memory of the host is at risk. The caller vouches that this part of the TRF holds a tensor of this mapping.
    #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub unsafe fn from_addr(address: TrfAddress) -> Self {
        let () = *planned!(const CHECK of Self);
        accept(
            "TrfTensor::from_addr",
            check_capacity("TrfTensor::from_addr", const { &Self::LOAD }, address),
        );
        Self::filled(address, FillId::bare())
    }

    /// The part of the TRF that the tensor lies in.
    ///
    /// With [`Placement::Liveness`](crate::runtime::Placement::Liveness), the part of a tensor of
    /// [`to_trf_auto`](crate::engine::stream::StreamTensor::to_trf_auto) is known when its launch has ended. Before, it is
    /// the first part that can hold the tensor.
    pub fn address(&self) -> TrfAddress {
        self.lease.as_ref().and_then(Lease::part).unwrap_or(self.address)
    }

    /// The place of each element in the banks. `None` for types that the TRF has no documented storage for.
    pub fn layout(&self) -> Option<TrfLayout> {
        TrfLayout::new(self.address(), Row::SIZE, RegisterType::of(D::ELEMENT_TYPE)?)
    }

    /// The whole tensor, to read.
    pub fn view(&self) -> TrfTensorView<'_, D, Chip, Cluster, Slice, Row, Element> {
        TrfTensorView::at(RegisterPlace { address: self.address(), fill: self.fill })
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> TrfTensorViewMut<'_, D, Chip, Cluster, Slice, Row, Element> {
        TrfTensorViewMut::at(RegisterPlace { address: self.address(), fill: self.fill })
    }

    #[inline(always)]
    pub(crate) fn region(&self) -> TrfRegion {
        Self::region_at(self.address, self.fill)
    }

    /// The region of a tensor in this part of the TRF.
    #[inline(always)]
    pub(crate) fn region_at(address: TrfAddress, fill: FillId) -> TrfRegion {
        TrfRegion {
            address,
            fill,
            element: D::ELEMENT_TYPE,
            rows: Row::SIZE,
            row_elements: Element::SIZE,
            guard: planned!(GUARD of Self),
        }
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    TrfTensor<D, Chip, Cluster, Slice, Row, Element>
{
    /// The content of the TRF, in any layout: as [`DmTensor::inspect`](crate::tensor::DmTensor::inspect).
    ///
    /// # Panics
    /// If another tensor was written over this one.
    #[track_caller]
    #[inline(never)]
    pub fn inspect<Host: M>(&self, context: &Context) -> HostTensor<D, Host> {
        let transfer = planned!(TRANSFER of TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>);
        inspected(context, self.view().looked_at(), transfer)
    }
}

views! {
    /// A tensor in the TRF to read from.
    TrfTensorView;
    /// A tensor in the TRF to write to.
    TrfTensorViewMut;
    <D: StreamScalar, Chip, Cluster, Slice, Row, Element> at RegisterPlace<TrfAddress>,
    "The part of the TRF that the tensor lies in.": TrfAddress
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    TrfTensorView<'_, D, Chip, Cluster, Slice, Row, Element>
{
    /// The content of the TRF in the view: see [`TrfTensor::inspect`].
    #[track_caller]
    #[inline(never)]
    pub fn inspect<Host: M>(&self, context: &Context) -> HostTensor<D, Host> {
        let transfer = planned!(TRANSFER of TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>);
        inspected(context, self.looked_at(), transfer)
    }

    fn looked_at(&self) -> Place {
        let tensor =
            TrfTensor::<D, Chip, Cluster, Slice, Row, Element>::filled(self.place.address, self.place.fill);
        Place::Trf(tensor.region())
    }
}

impl<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M> fmt::Debug
    for TrfTensor<D, Chip, Cluster, Slice, Row, Element>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (row, element) = (Row::EXPR, Element::EXPR);
        write!(
            f,
            "TrfTensor<{}, Row m![{row}], Element m![{element}]> at {}",
            D::ELEMENT_TYPE,
            self.address()
        )
    }
}
