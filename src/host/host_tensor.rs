//! [`HostTensor`]: a tensor in host memory.

use super::mathematical::Tensor;
use super::storage::{Layout, packed_factors};
use crate::command::HostBuffer;
use crate::mapping::{Expr, Factor, M, Pool};
use crate::scalar::{ElementType, Opt, Scalar, ScalarBytes};
use core::fmt;
use rand::Rng;
use rand::distr::{Distribution, StandardUniform};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError};

/// A tensor in host memory, on its way to the chip or back.
///
/// `Element` orders the elements of buffers; the chip's layout is chosen when the tensor is sent.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 2, B = 3];
/// let tensor = HostTensor::<i32, m![A, B]>::from_buf((0..6).map(Opt::Init).collect());
/// assert_eq!(tensor.into_inner().transpose::<m![B, A]>(false).to_buf()[1], Opt::Init(3));
/// ```
pub struct HostTensor<D: Scalar, Element: M> {
    inner: Tensor<D, Element>,
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// The tensor whose elements `elements` lists, packed: see [`Tensor::from_buf`].
    ///
    /// # Panics
    ///
    /// When there are too few.
    #[track_caller]
    pub fn from_buf(elements: Vec<Opt<D>>) -> Self {
        Tensor::from_buf(elements).into()
    }

    /// The elements in the order of the mapping, packed: see [`Tensor::to_buf`].
    #[track_caller]
    pub fn to_buf(&self) -> Vec<Opt<D>> {
        self.inner.to_buf()
    }

    /// Zero everywhere.
    #[track_caller]
    pub fn zero() -> Self {
        Tensor::zero().into()
    }

    /// `Uninit` everywhere.
    #[track_caller]
    pub fn uninit() -> Self {
        Tensor::uninit().into()
    }

    /// Random elements: see [`Tensor::rand`].
    #[track_caller]
    pub fn rand(random: &mut impl Rng) -> Self
    where
        StandardUniform: Distribution<D>,
    {
        Tensor::rand(random).into()
    }

    /// The tensor apart from any memory.
    pub fn into_inner(self) -> Tensor<D, Element> {
        self.inner
    }

    /// The tensor apart from any memory, borrowed.
    pub fn as_tensor(&self) -> &Tensor<D, Element> {
        &self.inner
    }

    /// A tensor from a file. The shape of `view` must list the sizes of the comma-separated parts of the mapping:
    /// `m![P, Q / 4]` with `P = 7` and `Q = 12` takes `[7, 3]`, and `m![1]` takes `[1]`.
    ///
    /// # Errors
    ///
    /// [`SafeTensorError::TensorInvalidInfo`] when shape, element type or number of bytes differ, or when the mapping
    /// has padding, which a file cannot say.
    pub fn from_safetensors(view: &TensorView<'_>) -> Result<Self, SafeTensorError>
    where
        D: ScalarBytes,
    {
        let mut pool = Pool::new();
        let layout = Layout::new("from_safetensors", &mut pool, Element::EXPR);
        let padded = layout.packed_len() != Element::SIZE
            || layout.factors.as_slice().iter().any(|factor| matches!(factor, Factor::Padding { .. }));
        let fits = view.shape() == part_sizes(Element::EXPR)
            && Some(view.dtype()) == dtype(D::ELEMENT_TYPE)
            && view.data().len() * 8 == Element::SIZE * D::BITS;
        if padded || !fits {
            return Err(SafeTensorError::TensorInvalidInfo);
        }
        let elements = view.data().chunks_exact(D::BITS / 8).map(|bytes| Opt::Init(D::from_le_bytes(bytes)));
        Ok(Self::from_buf(elements.collect()))
    }

    /// The elements in their own encoding, in the order of [`Self::to_buf`].
    pub(crate) fn to_host_buffer(&self) -> HostBuffer {
        let elements = self.to_buf();
        let code = |element: &Opt<D>| element.map(D::to_bits).into_option().unwrap_or(0);
        let mut bytes = Vec::with_capacity((elements.len() * D::BITS).div_ceil(8));
        match D::BITS {
            4 => bytes.extend(elements.chunks(2).map(|pair| {
                let high = pair.get(1).map_or(0, code);
                (code(&pair[0]) & 15 | high << 4) as u8
            })),
            8 => bytes.extend(elements.iter().map(|element| code(element) as u8)),
            16 => elements.iter().for_each(|element| bytes.extend((code(element) as u16).to_le_bytes())),
            _ => elements.iter().for_each(|element| bytes.extend(code(element).to_le_bytes())),
        }
        let complete = elements.iter().all(Opt::is_init);
        let initialised = (!complete).then(|| elements.iter().map(Opt::is_init).collect());
        HostBuffer { bytes, initialised }
    }

    /// The tensor whose elements `buffer` holds in the order of [`Self::to_buf`].
    ///
    /// # Panics
    ///
    /// When the buffer is for another number of elements.
    #[track_caller]
    pub(crate) fn from_host_buffer(buffer: HostBuffer) -> Self {
        let count = packed_factors(&mut Pool::new(), Element::EXPR).size();
        let wanted = (count * D::BITS).div_ceil(8);
        let bytes = &buffer.bytes;
        assert!(
            bytes.len() == wanted,
            "to_host: got {} bytes, but `m![{}]` of `{}` is stored in {wanted}",
            bytes.len(),
            Element::EXPR,
            D::ELEMENT_TYPE,
        );
        let decoded = |code: u32| Opt::Init(D::from_bits(code));
        let mut elements: Vec<Opt<D>> = match D::BITS {
            4 => (0..count).map(|k| decoded(u32::from(bytes[k / 2] >> (k % 2 * 4) & 15))).collect(),
            8 => bytes.iter().map(|&byte| decoded(u32::from(byte))).collect(),
            16 => bytes
                .chunks_exact(2)
                .map(|code| decoded(u32::from(code[0]) | u32::from(code[1]) << 8))
                .collect(),
            _ => {
                let code =
                    |bytes: &[u8]| bytes.iter().rev().fold(0, |code, &byte| code << 8 | u32::from(byte));
                bytes.chunks_exact(4).map(|bytes| decoded(code(bytes))).collect()
            }
        };
        if let Some(initialised) = &buffer.initialised {
            for (element, &written) in elements.iter_mut().zip(initialised) {
                if !written {
                    *element = Opt::Uninit;
                }
            }
        }
        Self::from_buf(elements)
    }
}

/// Sizes of the comma-separated parts.
fn part_sizes(expr: &Expr) -> Vec<usize> {
    match expr {
        Expr::Pair(left, right) => [part_sizes(left), part_sizes(right)].concat(),
        part => vec![part.checked_size().unwrap_or(0)],
    }
}

/// What files call an element type.
fn dtype(element: ElementType) -> Option<Dtype> {
    match element {
        ElementType::I4 | ElementType::I5 | ElementType::I9 => None,
        ElementType::I8 => Some(Dtype::I8),
        ElementType::U8 => Some(Dtype::U8),
        ElementType::I16 => Some(Dtype::I16),
        ElementType::I32 => Some(Dtype::I32),
        ElementType::F8e4m3 => Some(Dtype::F8_E4M3),
        ElementType::F8e5m2 => Some(Dtype::F8_E5M2),
        ElementType::Bf16 => Some(Dtype::BF16),
        ElementType::F16 => Some(Dtype::F16),
        ElementType::F32 => Some(Dtype::F32),
    }
}

impl<D: Scalar, Element: M> From<Tensor<D, Element>> for HostTensor<D, Element> {
    fn from(inner: Tensor<D, Element>) -> Self {
        Self { inner }
    }
}

impl<D: Scalar, Element: M> Clone for HostTensor<D, Element> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<D: Scalar, Element: M> PartialEq for HostTensor<D, Element> {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl<D: Scalar, Element: M> fmt::Debug for HostTensor<D, Element> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTensor").field("inner", &self.inner).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{AxisName, Ident, Identity, Modulo, Padding, Pair, Stride, Symbol};
    use crate::scalar::{bf16, f8e4m3, i4};
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    #[derive(Debug, Clone)]
    struct P;
    impl AxisName for P {
        const NAME: Ident = Ident::new("P");
        const SIZE: usize = 7;
    }
    #[derive(Debug, Clone)]
    struct C;
    impl AxisName for C {
        const NAME: Ident = Ident::new("C");
        const SIZE: usize = 3;
    }
    type Padded = Pair<Symbol<P>, Padding<Symbol<C>, 4>>;
    type Plain = Pair<Symbol<P>, Symbol<C>>;

    fn check<D: Scalar, E: M>(elements: Vec<Opt<D>>) {
        let tensor = HostTensor::<D, E>::from_buf(elements);
        let buffer = tensor.to_host_buffer();
        assert_eq!(HostTensor::<D, E>::from_host_buffer(buffer), tensor);
    }

    #[test]
    fn host_buffers_come_back() {
        check::<i4, Padded>((0..21).map(|k| Opt::Init(i4::from_i32(k))).collect());
        check::<i8, Padded>((0..21).map(Opt::Init).collect());
        check::<bf16, Padded>((0..21).map(|k| Opt::Init(bf16::from_f32(k as f32))).collect());
        check::<f32, Padded>(
            (0..21).map(|k| if k % 3 == 0 { Opt::Uninit } else { Opt::Init(k as f32) }).collect(),
        );
        check::<i32, Identity>(vec![Opt::Init(-5)]);
        check::<f8e4m3, Pair<Stride<Padding<Symbol<P>, 8>, 4>, Modulo<Padding<Symbol<P>, 8>, 2>>>(
            (0..4).map(|k| Opt::Init(f8e4m3::from_f32(k as f32))).collect(),
        );
    }

    #[test]
    fn host_buffers_are_in_the_order_of_the_mapping() {
        let tensor = HostTensor::<i4, Plain>::from_buf((0..21).map(|k| Opt::Init(i4::from_i32(k))).collect());
        // Of 21 elements the last byte has half.
        let buffer = tensor.to_host_buffer();
        assert_eq!(buffer.bytes[..2], [0x10, 0x32]);
        assert_eq!((buffer.bytes.len(), buffer.initialised), (11, None));
        let mut elements = vec![Opt::Init(1i16); 21];
        elements[3] = Opt::Uninit;
        let buffer = HostTensor::<i16, Plain>::from_buf(elements).to_host_buffer();
        let flags = buffer.initialised.expect("one element is missing");
        assert!((0..21).all(|k| flags[k] == (k != 3)));
    }

    fn view(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<HostTensor<i16, Plain>, SafeTensorError> {
        let view = TensorView::new(dtype, shape.to_vec(), bytes).expect("a sound view");
        HostTensor::from_safetensors(&view)
    }

    #[test]
    fn files_must_have_the_shape_and_the_type() {
        let bytes: Vec<u8> = (0..42).collect();
        let tensor = view(Dtype::I16, &[7, 3], &bytes).expect("fits");
        assert_eq!(tensor.to_buf()[1], Opt::Init(0x0302));
        for (dtype, shape) in [(Dtype::I16, [3, 7]), (Dtype::I16, [21, 1]), (Dtype::BF16, [7, 3])] {
            assert!(matches!(view(dtype, &shape, &bytes), Err(SafeTensorError::TensorInvalidInfo)));
        }
        let padded = TensorView::new(Dtype::I16, vec![7, 4], &[0; 56]).expect("a sound view");
        assert!(HostTensor::<i16, Padded>::from_safetensors(&padded).is_err());
        let one = TensorView::new(Dtype::F32, vec![1], &[0, 0, 128, 63]).expect("a sound view");
        let one = HostTensor::<f32, Identity>::from_safetensors(&one).expect("fits");
        assert_eq!(one.to_buf(), [Opt::Init(1.0)]);
    }

    #[test]
    fn wrappers() {
        let tensor = HostTensor::<i32, Plain>::rand(&mut SmallRng::seed_from_u64(1));
        assert_eq!(HostTensor::from(tensor.as_tensor().clone()), tensor);
        assert_ne!(HostTensor::<i32, Plain>::zero(), HostTensor::uninit());
        assert!(format!("{tensor:?}").contains("m![P, C]"));
    }
}
