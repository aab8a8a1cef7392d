//! Tensors in the tensor register file.

use crate::command::{FillId, Guard, TrfAddress, TrfRegion};
use crate::engine::register_file::{TrfLoadConfig, check_capacity};
use crate::error::PlanError;
use crate::mapping::{M, Problem, liveness_of};
use crate::runtime::fault::accept;
use crate::scalar::StreamScalar;
use core::fmt;
use core::marker::PhantomData;

/// A tensor in the TRF of every slice: row `r`, element `j` holds the element of the tensor at the union of `Chip::map`,
/// `Cluster::map`, `Slice::map`, `Row::map(r)` and `Element::map(j)`.
pub struct TrfTensor<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M> {
    pub(crate) address: TrfAddress,
    pub(crate) fill: FillId,
    types: PhantomData<(D, Chip, Cluster, Slice, Row, Element)>,
}

impl<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    TrfTensor<D, Chip, Cluster, Slice, Row, Element>
{
    const GUARD: Guard =
        match liveness_of(&[Chip::EXPR, Cluster::EXPR, Slice::EXPR, Row::EXPR, Element::EXPR]) {
            Some(guard) => guard,
            None => PlanError::mapping("TrfTensor", Problem::TooManyFactors).refuse(),
        };

    const LOAD: TrfLoadConfig = TrfLoadConfig {
        rows: Row::SIZE,
        row_elements: Element::SIZE,
        bytes: (Row::SIZE * Element::SIZE * D::ELEMENT_TYPE.bits()).div_ceil(8),
    };

    const CHECK: () = {
        if let Err(error) = crate::engine::register_file::check_rows("TrfTensor", Row::EXPR, Row::SIZE) {
            error.refuse()
        }
        if let Err(error) = check_capacity("TrfTensor", &Self::LOAD, TrfAddress::Full) {
            error.refuse()
        }
    };

    pub(crate) fn filled(address: TrfAddress, fill: FillId) -> Self {
        Self { address, fill, types: PhantomData }
    }

    /// A handle to what is in a part of the TRF.
    ///
    /// # Safety
    /// No memory of the host is at risk. The caller vouches that this part of the TRF holds a tensor of this mapping.
    #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
    #[track_caller]
    pub unsafe fn from_addr(address: TrfAddress) -> Self {
        const { Self::CHECK };
        accept(
            "TrfTensor::from_addr",
            check_capacity("TrfTensor::from_addr", const { &Self::LOAD }, address),
        );
        Self::filled(address, FillId::ANY)
    }

    /// The part of the TRF that the tensor lies in.
    pub fn address(&self) -> TrfAddress {
        self.address
    }

    pub(crate) fn region(&self) -> TrfRegion {
        TrfRegion {
            address: self.address,
            fill: self.fill,
            element: D::ELEMENT_TYPE,
            rows: Row::SIZE,
            row_elements: Element::SIZE,
            guard: const { Self::GUARD },
        }
    }
}

impl<D: StreamScalar, Chip: M, Cluster: M, Slice: M, Row: M, Element: M> fmt::Debug
    for TrfTensor<D, Chip, Cluster, Slice, Row, Element>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (row, element) = (Row::EXPR, Element::EXPR);
        write!(f, "TrfTensor<{}, Row m![{row}], Element m![{element}]> at {}", D::ELEMENT_TYPE, self.address)
    }
}
