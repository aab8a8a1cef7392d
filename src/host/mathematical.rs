//! [`Tensor`]: a mathematical tensor, and the ways to make and to read it.

use super::copy::copy_elements;
use super::storage::Layout;
use crate::command::Transfer;
use crate::mapping::{M, Pool, Term};
use crate::scalar::{Opt, Scalar};
use core::fmt;
use core::marker::PhantomData;
use ndarray::{ArrayD, Dimension, IxDyn};
use num_traits::Zero;
use rand::Rng;
use rand::distr::{Distribution, StandardUniform};

/// A tensor on the host, apart from any memory: a partial function from indices to elements.
///
/// The mapping defines the indices, and the order in which buffers list them. The elements are stored over the *storage
/// axes*, the digits of the mapping in a fixed order (see [`Tensor::from_fn`]), so tensors whose mappings are
/// permutations of each other are stored alike.
///
/// Kernels are checked against it: `reduce`, `contraction` and `transpose` compute the results that the chip should
/// compute.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 2, B = 3];
/// let tensor = Tensor::<i32, m![A, B]>::from_buf((0..6).map(Opt::Init).collect());
/// let transposed: Tensor<i32, m![B, A]> = tensor.transpose(false);
/// assert_eq!(transposed.to_buf(), [0, 3, 1, 4, 2, 5].map(Opt::Init));
/// let sums: Tensor<i32, m![A]> = tensor.reduce_add();
/// assert_eq!(sums.to_buf(), [3, 12].map(Opt::Init));
/// ```
pub struct Tensor<D: Scalar, Mapping: M> {
    pub(super) data: ArrayD<Opt<D>>,
    pub(super) mapping: PhantomData<fn() -> Mapping>,
}

impl<D: Scalar, Mapping: M> Tensor<D, Mapping> {
    /// A tensor from its stored elements. Cells that are no index are cleared to `Uninit`.
    pub(super) fn from_storage(pool: &Pool, layout: &Layout, elements: Vec<Opt<D>>) -> Self {
        let guard = layout.storage_guard("Tensor", pool);
        let mut tensor = Self::from_live_storage(layout, elements);
        if !guard.is_always() {
            for (at, element) in tensor.data.indexed_iter_mut() {
                if !guard.holds(at.slice()) {
                    *element = Opt::Uninit;
                }
            }
        }
        tensor
    }

    /// A tensor from its stored elements, where cells that are no index are `Uninit` already.
    pub(super) fn from_live_storage(layout: &Layout, elements: Vec<Opt<D>>) -> Self {
        let data = ArrayD::from_shape_vec(IxDyn(&layout.shape()), elements)
            .expect("an array has as many elements as its axes have places");
        Self { data, mapping: PhantomData }
    }

    /// The stored elements, outermost storage axis slowest.
    pub(super) fn elements(&self) -> std::borrow::Cow<'_, [Opt<D>]> {
        match self.data.as_slice() {
            Some(elements) => elements.into(),
            None => self.data.iter().copied().collect::<Vec<_>>().into(),
        }
    }

    /// The tensor whose elements `elements` lists in the order of the mapping, outermost digit slowest.
    ///
    /// The list is *packed*: it has no entries for padding. `m![P # 8, Q]` with `P = 7` and `Q = 12` takes 84 entries,
    /// not 96. Entries beyond that are ignored. An entry whose digits are no index (they exceed their axis together)
    /// is dropped.
    ///
    /// # Panics
    ///
    /// If there are fewer entries than that.
    #[track_caller]
    pub fn from_buf(elements: Vec<Opt<D>>) -> Self {
        let mut pool = Pool::new();
        let layout = Layout::new("from_buf", &mut pool, Mapping::EXPR);
        let wanted = layout.packed_len();
        assert!(
            elements.len() >= wanted,
            "from_buf: got {} elements, but `m![{}]` has {wanted} (padding not counted); help: pass all of them, \
             `Opt::Uninit` where there is no value",
            elements.len(),
            Mapping::EXPR,
        );
        let transfer = reversed(&layout.buffer_transfer("from_buf", &pool, true));
        let mut stored = vec![Opt::Uninit; layout.shape().iter().product()];
        copy_elements(&transfer, &elements, &mut stored);
        Self::from_live_storage(&layout, stored)
    }

    /// The elements in the order of the mapping, packed as [`Tensor::from_buf`] takes them. An entry whose digits are
    /// no index reads `Uninit`.
    #[track_caller]
    pub fn to_buf(&self) -> Vec<Opt<D>> {
        let mut pool = Pool::new();
        let layout = Layout::new("to_buf", &mut pool, Mapping::EXPR);
        let transfer = layout.buffer_transfer("to_buf", &pool, true);
        let mut buffer = vec![Opt::Uninit; layout.packed_len()];
        copy_elements(&transfer, &self.elements(), &mut buffer);
        buffer
    }

    /// A tensor whose elements are `function` of the storage axes and of the coordinates on them.
    ///
    /// The storage axes are the digits of the mapping; digits that complete each other are one axis. They are sorted
    /// by name, size, stride and modulo, digits of products last. `function` is called once per index, last axis
    /// fastest.
    #[track_caller]
    pub fn from_fn<F: FnMut(&Vec<Term>, &IxDyn) -> Opt<D>>(mut function: F) -> Self {
        let mut pool = Pool::new();
        let layout = Layout::new("from_fn", &mut pool, Mapping::EXPR);
        let guard = layout.storage_guard("from_fn", &pool);
        let terms = layout.terms();
        let element = |at: IxDyn| {
            let live = guard.is_always() || guard.holds(at.slice());
            if live { function(&terms, &at) } else { Opt::Uninit }
        };
        let data = ArrayD::from_shape_fn(IxDyn(&layout.shape()), element);
        Self { data, mapping: PhantomData }
    }

    /// The same element at every index.
    #[track_caller]
    fn filled(operation: &'static str, element: Opt<D>) -> Self {
        let mut pool = Pool::new();
        let layout = Layout::new(operation, &mut pool, Mapping::EXPR);
        Self::from_storage(&pool, &layout, vec![element; layout.shape().iter().product()])
    }

    /// A tensor of zeros.
    #[track_caller]
    pub fn zero() -> Self {
        Self::filled("zero", Opt::zero())
    }

    /// A tensor of `Uninit` elements.
    #[track_caller]
    pub fn uninit() -> Self {
        Self::filled("uninit", Opt::Uninit)
    }

    /// A tensor of random elements. One seed gives one tensor, in any order of the mapping. Integers come from their
    /// whole range, `f32` from 0 to 1 without 1. Narrower floats are `random_range(-1.0f32..1.0)`, rounded, so that 1
    /// is one of them.
    #[track_caller]
    pub fn rand(random: &mut impl Rng) -> Self
    where
        StandardUniform: Distribution<D>,
    {
        Self::from_fn(|_, _| Opt::Init(random.random()))
    }

    /// The stored elements over the storage axes (see [`Tensor::from_fn`]).
    pub fn data(&self) -> &ArrayD<Opt<D>> {
        &self.data
    }

    /// The stored elements over the storage axes (see [`Tensor::from_fn`]), for writing. Their shape must not change.
    pub fn data_mut(&mut self) -> &mut ArrayD<Opt<D>> {
        &mut self.data
    }
}

/// The move in the other direction.
pub(super) fn reversed(transfer: &Transfer) -> Transfer {
    let mut reversed = *transfer;
    (reversed.source_start, reversed.destination_start) = (transfer.destination_start, transfer.source_start);
    for k in 0..reversed.loops.len() {
        let mut transfer_loop = reversed.loops.at(k);
        (transfer_loop.source, transfer_loop.destination) = (transfer_loop.destination, transfer_loop.source);
        reversed.loops.set(k, transfer_loop);
    }
    reversed
}

impl<D: Scalar, Mapping: M> Clone for Tensor<D, Mapping> {
    fn clone(&self) -> Self {
        Self { data: self.data.clone(), mapping: PhantomData }
    }
}

impl<D: Scalar, Mapping: M> PartialEq for Tensor<D, Mapping> {
    /// True if all elements are equal. `Uninit` equals only itself.
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl<D: Scalar, Mapping: M> fmt::Debug for Tensor<D, Mapping> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mapping = format_args!("m![{}]", Mapping::EXPR);
        f.debug_struct("Tensor").field("mapping", &mapping).field("data", &self.data).finish()
    }
}
