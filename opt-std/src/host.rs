//! Tensors in host memory.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::context::DmaContext;
use crate::memory::HbmTensor;
use crate::visa::engine::dma::HostPlan;
use crate::visa::host;
use crate::visa::host::Tensor;
use crate::visa::mapping::M;
use crate::visa::runtime::{AUTO, Dma, DmaValues as _};
use crate::visa::scalar::{Scalar, ScalarBytes};
use crate::words::check;
use core::fmt;
use rand::Rng;
use rand::distr::{Distribution, StandardUniform};
use safetensors::SafeTensorError;
use safetensors::tensor::TensorView;

/// A tensor in host memory: see [`crate::visa::host::HostTensor`].
pub struct HostTensor<D: Scalar, Element: M>(pub(crate) host::HostTensor<D, Element>);

/// True for each position of a mapping that holds an element. `None`: all do.
fn live<Element: M>(elements: usize) -> Option<Vec<bool>> {
    (elements != Element::SIZE)
        .then(|| (0..Element::SIZE).map(|position| Element::map(position).is_some()).collect())
}

/// The elements of a tensor at the positions of its mapping: padding is 0.
#[track_caller]
pub(crate) fn positions_of<D: Scalar, Element: M>(tensor: &host::HostTensor<D, Element>) -> Vec<D> {
    let elements = tensor.to_vec();
    let Some(live) = live::<Element>(elements.len()) else { return elements };
    let mut elements = elements.into_iter();
    live.into_iter().map(|live| if live { elements.next().unwrap_or(D::zero()) } else { D::zero() }).collect()
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// A tensor with these values, one for each position of the mapping. Values at padding are dropped.
    ///
    /// # Panics
    /// If there are more or fewer values than positions.
    #[track_caller]
    pub fn from_vec(values: impl IntoIterator<Item = D>) -> Self {
        let mut values: Vec<D> = values.into_iter().collect();
        assert!(
            values.len() == Element::SIZE,
            "from_vec: got {} values, but `m![{}]` has {} positions (padding counted); help: pass one for each",
            values.len(),
            Element::EXPR,
            Element::SIZE,
        );
        let elements = host::HostTensor::<D, Element>::elements();
        if let Some(live) = live::<Element>(elements) {
            let mut position = live.into_iter();
            values.retain(|_| position.next().is_some_and(|live| live));
        }
        Self(host::HostTensor::from_slice(&values))
    }

    /// A tensor from its packed bytes as they lie in HBM: little-endian, of 4-bit elements two in a byte, the first one in
    /// the low half.
    ///
    /// # Panics
    /// If there are more or fewer bytes than the positions of the mapping take.
    #[track_caller]
    pub fn from_buf(bytes: Vec<u8>) -> Self {
        let wanted = (Element::SIZE * D::BITS).div_ceil(8);
        assert!(
            bytes.len() == wanted,
            "from_buf: got {} bytes, but `m![{}]` of `{}` takes {wanted} (padding counted); help: pass all of them",
            bytes.len(),
            Element::EXPR,
            D::ELEMENT_TYPE,
        );
        Self::from_vec(host::HostTensor::<D, Element>::unpacked(&bytes, Element::SIZE))
    }

    /// The packed bytes of the positions of the mapping: see [`Self::from_buf`].
    #[track_caller]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        host::HostTensor::<D, Element>::packed(&positions_of(&self.0))
    }

    /// The values at the positions of the mapping: padding is 0.
    ///
    /// # Panics
    /// If an element has no value, because nobody wrote it.
    #[track_caller]
    pub fn into_vec(self) -> Vec<D> {
        positions_of(&self.0)
    }

    /// The tensor as an array with a dimension per axis.
    pub fn into_inner(self) -> Tensor<D, Element> {
        self.0.into_inner()
    }

    /// A tensor of zeros.
    pub fn zero() -> Self {
        Self(host::HostTensor::zero())
    }

    /// A tensor of random values.
    pub fn rand(random: &mut impl Rng) -> Self
    where
        StandardUniform: Distribution<D>,
    {
        Self(host::HostTensor::rand(random))
    }

    /// A tensor of a file.
    ///
    /// # Errors
    /// If type or shape of the file's tensor are others.
    pub fn from_safetensors(view: &TensorView<'_>) -> Result<Self, SafeTensorError>
    where
        D: ScalarBytes,
    {
        host::HostTensor::from_safetensors(view).map(Self)
    }

    /// Copies the tensor to HBM over PCIe: see [`crate::visa::host::HostTensor::to_hbm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<Chip: M, Element2: M>(
        &self,
        pdma: &mut DmaContext<{ Dma::Pcie }>,
    ) -> impl Future<Output = HbmTensor<D, Chip, Element2>> {
        check!(UPLOAD of HostPlan<D, Element, Chip, Element2>);
        let moved = self.0.to_hbm(&mut pdma.0, AUTO);
        async move { HbmTensor(moved.await) }
    }
}

impl<D: Scalar, Element: M> From<Tensor<D, Element>> for HostTensor<D, Element> {
    fn from(tensor: Tensor<D, Element>) -> Self {
        Self(tensor.into())
    }
}

impl<D: Scalar, Element: M> fmt::Debug for HostTensor<D, Element> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<D: Scalar, Element: M> Clone for HostTensor<D, Element> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Scalar, Element: M> PartialEq for HostTensor<D, Element> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
