//! Views of tensors on the host: all of one, or a tile.

use super::copy::copy_elements;
use super::mathematical::{Tensor, reversed};
use super::storage::Layout;
use crate::mapping::{Expr, M, Pool};
use crate::scalar::{Opt, Scalar};
use core::marker::PhantomData;
use ndarray::ArrayD;

/// A tensor on the host, or a tile of one, to read.
///
/// ```
/// use furiosa_visa_std::host::Tensor;
/// use furiosa_visa_std::prelude::*;
/// axes![A = 2, B = 4];
/// let tensor = Tensor::<i32, m![A, B]>::from_buf((0..8).map(Opt::Init).collect());
/// let tile = tensor.view().tile::<m![B], m![A, B = 2 # 4], 2>(1).read();
/// assert_eq!(tile.to_buf(), [1, 2, 5, 6].map(Opt::Init));
/// ```
pub struct TensorView<'l, D: Scalar, Mapping: M> {
    stored: &'l ArrayD<Opt<D>>,
    /// The mapping of the tensor.
    tensor: &'static Expr,
    /// Positions of the tensor before the view.
    before: usize,
    mapping: PhantomData<fn() -> Mapping>,
}

/// A tensor on the host, or a tile of one, to write.
///
/// ```
/// use furiosa_visa_std::host::Tensor;
/// use furiosa_visa_std::prelude::*;
/// axes![A = 2, B = 4];
/// let mut tensor = Tensor::<i32, m![A, B]>::zero();
/// let row = Tensor::<i32, m![B]>::from_buf((1..5).map(Opt::Init).collect());
/// tensor.view_mut().tile::<m![A], m![1 # 2, B], 1>(1).write_transpose(row.view(), false);
/// assert_eq!(tensor.to_buf(), [0, 0, 0, 0, 1, 2, 3, 4].map(Opt::Init));
/// ```
pub struct TensorViewMut<'l, D: Scalar, Mapping: M> {
    stored: &'l mut ArrayD<Opt<D>>,
    /// The mapping of the tensor.
    tensor: &'static Expr,
    /// Positions of the tensor before the view.
    before: usize,
    mapping: PhantomData<fn() -> Mapping>,
}

/// The elements of a tensor by position, padding included.
fn positions<D: Scalar>(
    operation: &'static str,
    stored: &ArrayD<Opt<D>>,
    mapping: &'static Expr,
) -> Vec<Opt<D>> {
    let mut pool = Pool::new();
    let layout = Layout::new(operation, &mut pool, mapping);
    let mut all = vec![Opt::Uninit; layout.factors.size()];
    let elements: Vec<Opt<D>> = stored.iter().copied().collect();
    copy_elements(&layout.buffer_transfer(operation, &pool, false), &elements, &mut all);
    all
}

/// The stored elements of a tensor, from the elements of all positions.
fn stored<D: Scalar>(operation: &'static str, positions: &[Opt<D>], mapping: &'static Expr) -> Vec<Opt<D>> {
    let mut pool = Pool::new();
    let layout = Layout::new(operation, &mut pool, mapping);
    let mut stored = vec![Opt::Uninit; layout.shape().iter().product()];
    copy_elements(&reversed(&layout.buffer_transfer(operation, &pool, false)), positions, &mut stored);
    stored
}

impl<D: Scalar, Mapping: M> Tensor<D, Mapping> {
    /// The whole tensor, to read.
    pub fn view(&self) -> TensorView<'_, D, Mapping> {
        TensorView { stored: &self.data, tensor: Mapping::EXPR, before: 0, mapping: PhantomData }
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> TensorViewMut<'_, D, Mapping> {
        TensorViewMut { stored: &mut self.data, tensor: Mapping::EXPR, before: 0, mapping: PhantomData }
    }
}

impl<'l, D: Scalar, Mapping: M> TensorView<'l, D, Mapping> {
    /// The view `positions` further on, as another mapping.
    pub(crate) fn further<Mapping2: M>(&self, positions: usize) -> TensorView<'l, D, Mapping2> {
        let TensorView { stored, tensor, before, .. } = *self;
        TensorView { stored, tensor, before: before + positions, mapping: PhantomData }
    }

    /// The elements of the view, as a tensor of its own.
    #[track_caller]
    pub fn read(self) -> Tensor<D, Mapping> {
        let all = positions("read", self.stored, self.tensor);
        // The padding of a tile may reach beyond the tensor.
        let elements: Vec<Opt<D>> =
            (0..Mapping::SIZE).map(|k| all.get(self.before + k).copied().unwrap_or(Opt::Uninit)).collect();
        let mut pool = Pool::new();
        let layout = Layout::new("read", &mut pool, Mapping::EXPR);
        Tensor::from_storage(&pool, &layout, stored("read", &elements, Mapping::EXPR))
    }
}

impl<D: Scalar, Mapping: M> TensorViewMut<'_, D, Mapping> {
    /// The view `positions` further on, as another mapping.
    pub(crate) fn further<Mapping2: M>(&mut self, positions: usize) -> TensorViewMut<'_, D, Mapping2> {
        let before = self.before + positions;
        TensorViewMut { stored: &mut *self.stored, tensor: self.tensor, before, mapping: PhantomData }
    }

    /// Writes the elements of another tensor, by their indices: see [`Tensor::transpose`]. All others stay.
    ///
    /// # Panics
    /// As [`Tensor::transpose`].
    #[track_caller]
    pub fn write_transpose<Src: M>(&mut self, source: TensorView<'_, D, Src>, allow_broadcast: bool) {
        let source: Tensor<D, Mapping> = source.read().transpose(allow_broadcast);
        let new = positions("write_transpose", &source.data, Mapping::EXPR);
        let mut all = positions("write_transpose", self.stored, self.tensor);
        let live = (0..Mapping::SIZE).filter(|&k| Mapping::map(k).is_some());
        for k in live.filter(|k| self.before + k < all.len()).collect::<Vec<_>>() {
            all[self.before + k] = new[k];
        }
        let elements = stored("write_transpose", &all, self.tensor);
        self.stored.iter_mut().zip(elements).for_each(|(cell, element)| *cell = element);
    }
}

impl<D: Scalar, Mapping: M> Clone for TensorView<'_, D, Mapping> {
    fn clone(&self) -> Self {
        self.further(0)
    }
}

impl<'l, D: Scalar, Mapping: M> From<TensorViewMut<'l, D, Mapping>> for TensorView<'l, D, Mapping> {
    fn from(view: TensorViewMut<'l, D, Mapping>) -> Self {
        let TensorViewMut { stored, tensor, before, mapping } = view;
        Self { stored, tensor, before, mapping }
    }
}
