//! [`HostTensor`]: a tensor in host memory.

use super::mathematical::Tensor;
use super::storage::Layout;
use crate::command::HostBuffer;
use crate::mapping::{Expr, Factor, M, Pool};
use crate::scalar::{ElementType, Opt, Scalar, ScalarBytes};
use core::fmt;
use rand::Rng;
use rand::distr::{Distribution, StandardUniform};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Evaluates `$body` with the codes of the elements, each `$bits` bits wide, in order.
macro_rules! with_codes {
    ($bits:expr, $bytes:expr, |$codes:ident| $body:expr) => {
        match $bits {
            4 => {
                let $codes = $bytes.iter().flat_map(|&byte| [byte & 15, byte >> 4]).map(u32::from);
                $body
            }
            8 => {
                let $codes = codes::<1>($bytes);
                $body
            }
            16 => {
                let $codes = codes::<2>($bytes);
                $body
            }
            _ => {
                let $codes = codes::<4>($bytes);
                $body
            }
        }
    };
}
/// A tensor in host memory, on its way to the chip or back.
///
/// `Element` orders the elements of buffers; the chip's layout is chosen when the tensor is sent. A tensor is made of
/// plain values, or of elements that may have none, and is read as either:
///
/// | all elements have a value | some may have none |
/// |---|---|
/// | [`from_slice`](Self::from_slice) | [`from_buf`](Self::from_buf) |
/// | [`to_vec`](Self::to_vec), [`copy_to_slice`](Self::copy_to_slice) | [`to_buf`](Self::to_buf) |
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 2, B = 3];
/// let tensor = HostTensor::<i32, m![A, B]>::from_slice(&[0, 1, 2, 3, 4, 5]);
/// assert_eq!(tensor.to_buf()[1], Opt::Init(1));
/// assert_eq!(tensor.into_inner().transpose::<m![B, A]>(false).to_buf()[1], Opt::Init(3));
/// ```
///
/// The elements are kept in the form that transfers move, packed in their encoding. So plain values reach the chip,
/// and leave it, without a detour over [`Opt`].
pub struct HostTensor<D: Scalar, Element: M> {
    /// The elements in the form that transfers move, if the entries of a buffer are different elements.
    packed: OnceLock<HostBuffer>,
    /// The elements as a mathematical tensor. At least one of the two forms is there; the other one is made on demand.
    inner: OnceLock<Tensor<D, Element>>,
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// The tensor whose elements `elements` lists, packed: see [`Tensor::from_buf`].
    ///
    /// # Panics
    ///
    /// If there are too few.
    #[track_caller]
    pub fn from_buf(mut elements: Vec<Opt<D>>) -> Self {
        let entries = Entries::of::<Element>("from_buf");
        if !entries.are_elements || elements.len() < entries.count {
            return Tensor::from_buf(elements).into();
        }
        elements.truncate(entries.count);
        Self { packed: packed_of(&elements).into(), inner: OnceLock::new() }
    }

    /// The elements in the order of the mapping, packed: see [`Tensor::to_buf`].
    #[track_caller]
    pub fn to_buf(&self) -> Vec<Opt<D>> {
        match self.packed.get() {
            Some(packed) => listed(packed, Entries::of::<Element>("to_buf").count),
            None => self.as_tensor().to_buf(),
        }
    }

    /// The tensor whose elements `elements` lists, packed as [`from_buf`](Self::from_buf) takes them. All have a value.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![P = 3, Q = 2];
    /// // Padding has no entries.
    /// let tensor = HostTensor::<i8, m![P, Q # 8]>::from_slice(&[1, 2, 3, 4, 5, 6]);
    /// assert_eq!(tensor.to_vec(), [1, 2, 3, 4, 5, 6]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are more or fewer.
    #[track_caller]
    pub fn from_slice(elements: &[D]) -> Self {
        let entries = Entries::of::<Element>("from_slice");
        entries.accept::<Element>("from_slice: got", elements.len(), "pass one for each");
        Self::from_entries(
            entries,
            HostBuffer { bytes: encoded(elements, |&element| element), initialised: None },
        )
    }

    /// The values of all elements in the order of the mapping, packed as [`to_buf`](Self::to_buf) lists them.
    ///
    /// # Panics
    ///
    /// If an element has no value, because it was never written.
    #[track_caller]
    pub fn to_vec(&self) -> Vec<D> {
        let packed = self.to_host_buffer();
        let count = Entries::of::<Element>("to_vec").count;
        accept_written::<Element>("to_vec", &packed);
        decoded(&packed.bytes, count, |element| element)
    }

    /// Copies the values of all elements to a slice: see [`to_vec`](Self::to_vec).
    ///
    /// # Panics
    ///
    /// If the slice has another number of elements, or an element of the tensor has no value.
    #[track_caller]
    pub fn copy_to_slice(&self, elements: &mut [D]) {
        let entries = Entries::of::<Element>("copy_to_slice");
        entries.accept::<Element>(
            "copy_to_slice: got a slice of",
            elements.len(),
            "pass one with a place for each",
        );
        let packed = self.to_host_buffer();
        accept_written::<Element>("copy_to_slice", &packed);
        with_codes!(D::BITS, &packed.bytes, |codes| {
            elements.iter_mut().zip(codes).for_each(|(element, code)| *element = D::from_bits(code));
        });
    }

    /// A tensor of zeros.
    #[track_caller]
    pub fn zero() -> Self {
        let entries = Entries::of::<Element>("zero");
        if !entries.are_elements {
            return Tensor::zero().into();
        }
        // Zero has no bits in any type, and zeroed pages take no time until they are touched.
        let bytes = vec![0; (entries.count * D::BITS).div_ceil(8)];
        Self::from_entries(entries, HostBuffer { bytes, initialised: None })
    }

    /// A tensor of `Uninit` elements.
    #[track_caller]
    pub fn uninit() -> Self {
        Tensor::uninit().into()
    }

    /// A tensor of random elements: see [`Tensor::rand`].
    #[track_caller]
    pub fn rand(random: &mut impl Rng) -> Self
    where
        StandardUniform: Distribution<D>,
    {
        Tensor::rand(random).into()
    }

    /// The tensor apart from any memory.
    pub fn into_inner(self) -> Tensor<D, Element> {
        self.as_tensor();
        self.inner.into_inner().expect("it was just made")
    }

    /// The tensor apart from any memory, borrowed.
    pub fn as_tensor(&self) -> &Tensor<D, Element> {
        self.inner.get_or_init(|| {
            let packed = self.packed.get().expect("one of the two is there");
            Tensor::from_buf(listed(packed, Entries::of::<Element>("as_tensor").count))
        })
    }

    /// A tensor from a file. The shape of `view` must list the sizes of the comma-separated parts of the mapping:
    /// `m![P, Q / 4]` with `P = 7` and `Q = 12` takes `[7, 3]`, and `m![1]` takes `[1]`.
    ///
    /// # Errors
    ///
    /// [`SafeTensorError::TensorInvalidInfo`] if shape, element type or number of bytes differ, or if the mapping has
    /// padding, which a file cannot express.
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
        let packed = HostBuffer { bytes: view.data().to_vec(), initialised: None };
        Ok(Self::from_entries(Entries::of::<Element>("from_safetensors"), packed))
    }

    /// Elements from their packed bytes, as a memory of the chip holds them.
    #[doc(hidden)]
    pub fn unpacked(bytes: &[u8], count: usize) -> Vec<D> {
        decoded(bytes, count, |element| element)
    }

    /// The packed bytes of elements, as a memory of the chip holds them.
    #[doc(hidden)]
    pub fn packed(elements: &[D]) -> Vec<u8> {
        encoded(elements, |&element| element)
    }

    /// The number of elements of the host's buffer: padding is left out.
    #[doc(hidden)]
    #[track_caller]
    pub fn elements() -> usize {
        Entries::of::<Element>("from_vec").count
    }

    /// The elements in their encoding, in the order of [`Self::to_buf`].
    pub(crate) fn to_host_buffer(&self) -> Cow<'_, HostBuffer> {
        if Entries::of::<Element>("to_hbm").are_elements {
            return Cow::Borrowed(self.packed.get_or_init(|| packed_of(&self.as_tensor().to_buf())));
        }
        Cow::Owned(packed_of(&self.as_tensor().to_buf()))
    }

    /// The tensor whose elements `buffer` holds in the order of [`Self::to_buf`].
    ///
    /// # Panics
    ///
    /// If the buffer is for another number of elements.
    #[track_caller]
    pub(crate) fn from_host_buffer(buffer: HostBuffer) -> Self {
        let entries = Entries::of::<Element>("to_host");
        let wanted = (entries.count * D::BITS).div_ceil(8);
        assert!(
            buffer.bytes.len() == wanted,
            "to_host: got {} bytes, but `m![{}]` of `{}` is stored in {wanted}",
            buffer.bytes.len(),
            Element::EXPR,
            D::ELEMENT_TYPE,
        );
        Self::from_entries(entries, buffer)
    }

    /// The tensor with these entries.
    #[track_caller]
    fn from_entries(entries: Entries, packed: HostBuffer) -> Self {
        match entries.are_elements {
            true => Self { packed: packed.into(), inner: OnceLock::new() },
            false => Tensor::from_buf(listed(&packed, entries.count)).into(),
        }
    }
}

/// The entries of packed buffers.
#[derive(Clone, Copy, Debug)]
struct Entries {
    count: usize,
    /// True if each entry is an element, and no two are the same element.
    are_elements: bool,
}

impl Entries {
    /// The entries of a mapping.
    #[track_caller]
    fn of<Element: M>(operation: &'static str) -> Self {
        let mut pool = Pool::new();
        let layout = Layout::new(operation, &mut pool, Element::EXPR);
        let count = layout.packed_len();
        let stored: usize = layout.shape().iter().product();
        let is_always = || layout.buffer_transfer(operation, &pool, true).guard.is_always();
        Self { count, are_elements: stored == count && is_always() }
    }

    /// Refuses another number of elements. `given` is the text before the number, `edit` the text of the help.
    #[track_caller]
    fn accept<Element: M>(self, given: &str, elements: usize, edit: &str) {
        assert!(
            elements == self.count,
            "{given} {elements} elements, but `m![{}]` has {} (padding not counted); help: {edit}",
            Element::EXPR,
            self.count,
        );
    }
}

/// Refuses elements that were never written.
#[track_caller]
fn accept_written<Element: M>(operation: &str, packed: &HostBuffer) {
    let missing = packed.initialised.as_ref().and_then(|all| all.iter().position(|&written| !written));
    if let Some(first) = missing {
        panic!(
            "{operation}: element {first} of `m![{}]` has no value, because nobody wrote it; help: `to_buf` lists it as \
             `Opt::Uninit`",
            Element::EXPR,
        );
    }
}

/// Codes of `BYTES` bytes each.
fn codes<const BYTES: usize>(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<BYTES>().0.iter().map(|code| {
        let mut all = [0; 4];
        // A loop over numbers: `copy_from_slice` is a call where a crate is compiled in parts.
        for (k, &byte) in code.iter().enumerate() {
            all[k] = byte;
        }
        u32::from_le_bytes(all)
    })
}

/// The first `count` elements, decoded by `make`.
fn decoded<D: Scalar, T>(bytes: &[u8], count: usize, make: impl Fn(D) -> T) -> Vec<T> {
    with_codes!(D::BITS, bytes, |codes| codes.take(count).map(|code| make(D::from_bits(code))).collect())
}

/// Encodes elements. `value` gives the value of an entry.
fn encoded<T, D: Scalar>(elements: &[T], value: impl Fn(&T) -> D) -> Vec<u8> {
    let codes = elements.iter().map(|element| value(element).to_bits());
    match D::BITS {
        4 => {
            let code = |element: &T| value(element).to_bits() as u8 & 15;
            elements.chunks(2).map(|pair| code(&pair[0]) | pair.get(1).map_or(0, code) << 4).collect()
        }
        8 => codes.map(|code| code as u8).collect(),
        16 => codes.map(|code| (code as u16).to_le_bytes()).collect::<Vec<_>>().into_flattened(),
        _ => codes.map(u32::to_le_bytes).collect::<Vec<_>>().into_flattened(),
    }
}

/// Packs entries in the form that transfers move. An entry without a value is encoded as zero.
fn packed_of<D: Scalar>(elements: &[Opt<D>]) -> HostBuffer {
    let bytes = encoded(elements, |element| element.into_option().unwrap_or(D::zero()));
    let complete = elements.iter().all(Opt::is_init);
    let initialised = (!complete).then(|| elements.iter().map(Opt::is_init).collect());
    HostBuffer { bytes, initialised }
}

/// The first `count` entries of a buffer.
fn listed<D: Scalar>(packed: &HostBuffer, count: usize) -> Vec<Opt<D>> {
    let mut elements = decoded(&packed.bytes, count, Opt::Init);
    for (element, &written) in elements.iter_mut().zip(packed.initialised.iter().flatten()) {
        if !written {
            *element = Opt::Uninit;
        }
    }
    elements
}

/// Sizes of the comma-separated parts.
fn part_sizes(expr: &Expr) -> Vec<usize> {
    match expr {
        Expr::Pair(left, right) => [part_sizes(left), part_sizes(right)].concat(),
        part => vec![part.checked_size().unwrap_or(0)],
    }
}

/// The type name that files have for an element type.
fn dtype(element: ElementType) -> Option<Dtype> {
    match element {
        ElementType::I4 | ElementType::I5 | ElementType::I9 | ElementType::F4e2m1 => None,
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
        Self { packed: OnceLock::new(), inner: inner.into() }
    }
}

impl<D: Scalar, Element: M> Clone for HostTensor<D, Element> {
    fn clone(&self) -> Self {
        Self { packed: self.packed.clone(), inner: self.inner.clone() }
    }
}

impl<D: Scalar, Element: M> PartialEq for HostTensor<D, Element> {
    fn eq(&self, other: &Self) -> bool {
        self.as_tensor() == other.as_tensor()
    }
}

impl<D: Scalar, Element: M> fmt::Debug for HostTensor<D, Element> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTensor").field("inner", self.as_tensor()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{AxisName, Ident, Identity, Modulo, Padding, Pair, Stride, Symbol};
    use crate::scalar::{bf16, f4e2m1, f8e4m3, f8e5m2, i4};
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
        let buffer = tensor.to_host_buffer().into_owned();
        assert_eq!(HostTensor::<D, E>::from_host_buffer(buffer), tensor);
    }

    #[test]
    fn host_buffers_come_back() {
        check::<i4, Padded>((0..21).map(|k| Opt::Init(i4::from_i32(k))).collect());
        check::<f4e2m1, Padded>((0..21).map(|k| Opt::Init(f4e2m1::from_bits(k))).collect());
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
        // 21 elements end in the middle of the last byte.
        let buffer = tensor.to_host_buffer();
        assert_eq!(buffer.bytes[..2], [0x10, 0x32]);
        assert_eq!((buffer.bytes.len(), &buffer.initialised), (11, &None));
        let mut elements = vec![Opt::Init(1i16); 21];
        elements[3] = Opt::Uninit;
        let tensor = HostTensor::<i16, Plain>::from_buf(elements);
        let flags = tensor.to_host_buffer().into_owned().initialised.expect("one element is missing");
        assert!((0..21).all(|k| flags[k] == (k != 3)));
    }

    fn check_values<D: Scalar, E: M>(values: &[D]) {
        let tensor = HostTensor::<D, E>::from_slice(values);
        let listed: Vec<Opt<D>> = values.iter().copied().map(Opt::Init).collect();
        assert_eq!(tensor.to_buf(), listed);
        assert_eq!(tensor.to_vec(), values);
        let mut copy = vec![D::one(); values.len()];
        tensor.copy_to_slice(&mut copy);
        assert_eq!(copy, values);
        // The tensor is the same however it is made, kept and read.
        let same = HostTensor::<D, E>::from_buf(listed.clone());
        assert_eq!(same, tensor);
        assert_eq!(HostTensor::from(tensor.as_tensor().clone()).to_vec(), values);
        assert_eq!(same.into_inner().to_buf(), listed);
    }

    #[test]
    fn plain_values_come_back() {
        check_values::<i4, Plain>(&(0..21).map(|k| i4::from_i32(k - 9)).collect::<Vec<_>>());
        check_values::<f4e2m1, Plain>(&(0..21).map(f4e2m1::from_bits).collect::<Vec<_>>());
        check_values::<i8, Padded>(&(-10..11).collect::<Vec<_>>());
        check_values::<bf16, Plain>(&(0..21).map(|k| bf16::from_f32(k as f32 - 2.5)).collect::<Vec<_>>());
        check_values::<f32, Padded>(&(0..21).map(|k| k as f32 * 0.3).collect::<Vec<_>>());
        check_values::<i32, Identity>(&[i32::MIN]);
    }

    #[test]
    fn zero_has_no_bits() {
        fn check<D: Scalar, E: M>() {
            let zero = HostTensor::<D, E>::zero();
            let expected = HostTensor::<D, E>::from(Tensor::zero());
            assert_eq!((zero.to_buf(), &zero), (expected.to_buf(), &expected), "{}", D::ELEMENT_TYPE);
            assert_eq!(*zero.to_host_buffer(), *expected.to_host_buffer(), "{}", D::ELEMENT_TYPE);
        }
        check::<i4, Plain>();
        check::<i8, Padded>();
        check::<i16, Plain>();
        check::<i32, Identity>();
        check::<f8e4m3, Padded>();
        check::<f8e5m2, Plain>();
        check::<bf16, Plain>();
        check::<f32, Padded>();
    }

    fn message<T>(work: impl FnOnce() -> T) -> String {
        let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) else {
            panic!("it should panic")
        };
        *payload.downcast::<String>().expect("a text")
    }

    #[test]
    fn slices_hold_all_elements_and_no_more() {
        for (count, given) in [(20, "20"), (22, "22")] {
            let text = message(|| HostTensor::<i16, Padded>::from_slice(&vec![1; count]));
            let expected = format!(
                "from_slice: got {given} elements, but `m![P, C # 4]` has 21 (padding not counted); help: pass one for \
                 each"
            );
            assert_eq!(text, expected);
            let text = message(|| HostTensor::<i16, Padded>::zero().copy_to_slice(&mut vec![1; count]));
            assert!(text.contains(&format!("copy_to_slice: got a slice of {given} elements")), "{text}");
        }
    }

    #[test]
    fn what_nobody_wrote_is_no_value() {
        let mut elements = vec![Opt::Init(1i16); 21];
        elements[3] = Opt::Uninit;
        let tensor = HostTensor::<i16, Plain>::from_buf(elements);
        let expected = "element 3 of `m![P, C]` has no value, because nobody wrote it; help: `to_buf` lists it as \
                        `Opt::Uninit`";
        assert_eq!(message(|| tensor.to_vec()), format!("to_vec: {expected}"));
        assert_eq!(message(|| tensor.copy_to_slice(&mut [0; 21])), format!("copy_to_slice: {expected}"));
        // `m![P # 8 / 4, C, P # 8 % 4]` has entries that are no elements: those with 1 and 3 of `P`.
        type Cut = Pair<Pair<Stride<Padding<Symbol<P>, 8>, 4>, Symbol<C>>, Modulo<Padding<Symbol<P>, 8>, 4>>;
        let cut = HostTensor::<i16, Cut>::from_slice(&[1; 24]);
        let buffer = cut.to_buf();
        let missing: Vec<usize> = (0..24).filter(|&k| buffer[k] == Opt::Uninit).collect();
        assert_eq!(missing, [15, 19, 23]);
        assert!(message(|| cut.to_vec()).contains("element 15 of"));
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
