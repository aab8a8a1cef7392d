//! Operations of [`Tensor`]s: element-wise functions, moves, reductions and contractions.

use super::copy::copy_elements;
use super::fold::{FoldPlan, Operand, cut_union, operand, pieces};
use super::mathematical::{Tensor, reversed};
use super::storage::{Layout, axes_of, digits_of};
use crate::command::Transfer;
use crate::error::PlanError;
use crate::mapping::{Atom, Expr, Factors, M, Pool, divide};
use crate::scalar::{Opt, Scalar};
use crate::sequencer::transfer::{Broadcast, Level, Placement, derive_between};
use crate::text::Text;
use num_traits::Zero;

/// A dimension of a move: its expression, its factors, and elements per position.
type Dimension = (&'static Expr, Factors, usize);

/// The loops between two arrays.
fn between(
    operation: &'static str,
    pool: &Pool,
    source: &[Dimension],
    destination: &[Dimension],
    broadcast: bool,
) -> Result<Transfer, PlanError> {
    // An array has only elements: outer dimensions count as units up to this point.
    let expressions = |side: &[Dimension]| -> Vec<(&'static Expr, Level)> {
        let level = |step| {
            if step == 1 { Level::Element } else { Level::Units(step) }
        };
        side.iter().map(|&(expr, _, step)| (expr, level(step))).collect()
    };
    let factors = |side: &[Dimension]| {
        core::array::from_fn(|k| side.get(k).map_or(Factors::ONE, |&(_, factors, _)| factors))
    };
    let (from, to) = (expressions(source), expressions(destination));
    let from = Placement { name: "Tensor", dimensions: &from };
    let to = Placement { name: "Tensor", dimensions: &to };
    let broadcast = if broadcast { Broadcast::Axes } else { Broadcast::Refused };
    let mut transfer =
        derive_between(operation, pool, &from, &factors(source), &to, &factors(destination), broadcast)?;
    for k in 0..transfer.loops.len() {
        let mut transfer_loop = transfer.loops.at(k);
        for step in [&mut transfer_loop.source, &mut transfer_loop.destination] {
            step.elements += core::mem::take(&mut step.units);
        }
        transfer.loops.set(k, transfer_loop);
    }
    for start in [&mut transfer.source_start, &mut transfer.destination_start] {
        start.elements += core::mem::take(&mut start.units);
    }
    Ok(transfer)
}

fn copied<D: Scalar>(transfer: &Transfer, source: &[Opt<D>], len: usize) -> Vec<Opt<D>> {
    let mut destination = vec![Opt::Uninit; len];
    copy_elements(transfer, source, &mut destination);
    destination
}

/// Moves stored elements to another mapping.
fn moved<D: Scalar>(
    operation: &'static str,
    pool: &Pool,
    (from, elements): (&Layout, &[Opt<D>]),
    to: &Layout,
    broadcast: bool,
) -> Result<Vec<Opt<D>>, PlanError> {
    if from.storage.is(&to.storage) {
        return Ok(elements.to_vec());
    }
    let len = to.shape().iter().product();
    let whole = |layout: &Layout, factors: Factors| [(layout.expr, factors, 1)];
    let stored = between(operation, pool, &whole(from, from.storage), &whole(to, to.storage), broadcast);
    let error = match stored {
        Ok(transfer) => return Ok(copied(&transfer, elements, len)),
        Err(error) => error,
    };
    let composite = |(term, _): (crate::mapping::Term, usize)| matches!(term.atom, Atom::Composite(_));
    if !axes_of(&from.factors).any(composite) && !axes_of(&to.factors).any(composite) {
        return Err(error);
    }
    // Storage order fails if only one side was cut across a product. Then the order of the mapping can succeed.
    let transfer = between(operation, pool, &whole(from, from.factors), &whole(to, to.factors), broadcast)?;
    let buffer = copied(&from.buffer_transfer(operation, pool, false), elements, from.factors.size());
    let buffer = copied(&transfer, &buffer, to.factors.size());
    Ok(copied(&reversed(&to.buffer_transfer(operation, pool, false)), &buffer, len))
}

#[track_caller]
fn accepted<T>(result: Result<T, PlanError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => error.refuse(),
    }
}

impl<D: Scalar, Mapping: M> Tensor<D, Mapping> {
    /// Applies `function` to every element, `Uninit` ones too.
    #[track_caller]
    pub fn map<D2: Scalar, F: Fn(&Opt<D>) -> Opt<D2>>(&self, function: F) -> Tensor<D2, Mapping> {
        let mut pool = Pool::new();
        let layout = Layout::new("map", &mut pool, Mapping::EXPR);
        Tensor::from_storage(&pool, &layout, self.elements().iter().map(function).collect())
    }

    /// Applies `function` to the elements of both tensors at every index, `Uninit` ones too.
    #[track_caller]
    pub fn zip_with<D2: Scalar, D3: Scalar, F: Fn(Opt<D>, Opt<D2>) -> Opt<D3>>(
        &self,
        other: &Tensor<D2, Mapping>,
        function: F,
    ) -> Tensor<D3, Mapping> {
        let mut pool = Pool::new();
        let layout = Layout::new("zip_with", &mut pool, Mapping::EXPR);
        let (left, right) = (self.elements(), other.elements());
        let elements = left.iter().zip(right.iter()).map(|(&a, &b)| function(a, b)).collect();
        Tensor::from_storage(&pool, &layout, elements)
    }

    #[track_caller]
    fn moved_to<Dst: M>(&self, operation: &'static str, broadcast: bool) -> Tensor<D, Dst> {
        let mut pool = Pool::new();
        let from = Layout::new(operation, &mut pool, Mapping::EXPR);
        let to = Layout::new(operation, &mut pool, Dst::EXPR);
        let elements = accepted(moved(operation, &pool, (&from, &self.elements()), &to, broadcast));
        Tensor::from_live_storage(&to, elements)
    }

    /// The same elements at the same indices, in another mapping. The tensor is repeated along axes that only `Dst`
    /// has, if `allow_broadcast`.
    ///
    /// # Panics
    ///
    /// If an axis of this tensor has no place in `Dst`, if `Dst` has an axis more and `allow_broadcast` is false, or if
    /// `Dst` has values of an axis that this tensor lacks, while it has others.
    #[track_caller]
    pub fn transpose<Dst: M>(&self, allow_broadcast: bool) -> Tensor<D, Dst> {
        self.moved_to("transpose", allow_broadcast)
    }

    /// The same tensor declared with another mapping: buffers list the elements in the order of `Mapping2`.
    ///
    /// # Safety
    ///
    /// No memory is at stake. The call is marked because the caller vouches that both mappings have the same axes; on
    /// the chip nothing would move.
    ///
    /// # Panics
    ///
    /// If an axis of one mapping is not in the other.
    #[allow(unsafe_code)] // The documented interface marks it; the body is safe.
    #[track_caller]
    pub unsafe fn transmute<Mapping2: M>(self) -> Tensor<D, Mapping2> {
        self.moved_to("transmute", false)
    }

    /// Renames a part of the index: position k of `Src` becomes position k of `Dst`, and everything else stays.
    /// `Mapping2` holds `Dst` and the rest. An element whose new position is padding is lost; a new position that was
    /// padding is `Uninit`.
    ///
    /// # Safety
    ///
    /// No memory is at stake. The call is marked because the caller vouches that both mappings put position k at the
    /// same place; on the chip nothing would move.
    ///
    /// # Panics
    ///
    /// If `Src` and `Dst` differ in size, if `Src` is not a part of the mapping, or if `Mapping2` is not made of `Dst`
    /// and the rest.
    #[allow(unsafe_code)] // The documented interface marks it; the body is safe.
    #[track_caller]
    pub unsafe fn reshape<Src: M, Dst: M, Mapping2: M>(self) -> Tensor<D, Mapping2> {
        let mut pool = Pool::new();
        let layout = |pool: &mut Pool, expr| Layout::new("reshape", pool, expr);
        let from = layout(&mut pool, Mapping::EXPR);
        let to = layout(&mut pool, Mapping2::EXPR);
        let (source, destination) = (layout(&mut pool, Src::EXPR), layout(&mut pool, Dst::EXPR));
        let size = source.factors.size();
        if size != destination.factors.size() {
            let text = Text::new().str("reshape: ").mapping(Src::EXPR).str(" has ").number(size);
            let text = text
                .str(" positions and ")
                .mapping(Dst::EXPR)
                .str(" has ")
                .number(destination.factors.size());
            let text = text.str(", but position k becomes position k; help: pad the smaller one with `#`");
            PlanError::new("reshape size", text).refuse();
        }
        let division = divide(&pool, &from.factors, &source.factors);
        if !division.is_exact() {
            let text = Text::new().str("reshape: ").mapping(Src::EXPR).str(" is not a part of ");
            let text = text.mapping(Mapping::EXPR).str("; help: name digits that the mapping has");
            PlanError::new("reshape source", text).refuse()
        }
        let rest = digits_of(&pool, &division.dividend_residue);
        // Read one buffer with the names of `Src`, and then with those of `Dst`.
        let outer = (Mapping::EXPR, rest, size);
        let named = [(Src::EXPR, source.factors, 1), outer];
        let renamed = [(Dst::EXPR, destination.factors, 1), outer];
        let stored = [(from.expr, from.storage, 1)];
        let result = [(to.expr, to.storage, 1)];
        let collect = accepted(between("reshape", &pool, &stored, &named, false));
        let distribute = accepted(between("reshape", &pool, &renamed, &result, false));
        let buffer = copied(&collect, &self.elements(), size * rest.size());
        let elements = copied(&distribute, &buffer, to.shape().iter().product());
        Tensor::from_live_storage(&to, elements)
    }

    #[track_caller]
    fn folded<Dst: M>(
        &self,
        operation: &'static str,
        function: impl Fn(Opt<D>, Opt<D>) -> Opt<D>,
        identity: Opt<D>,
        broadcast: bool,
    ) -> Tensor<D, Dst> {
        let mut pool = Pool::new();
        let from = Layout::new(operation, &mut pool, Mapping::EXPR);
        let to = Layout::new(operation, &mut pool, Dst::EXPR);
        let source = (from.expr, pieces(&from.storage));
        let steps = |cut: &crate::mapping::Pieces, k: usize| [cut.list.at(k).base, 0];
        let plan = accepted(FoldPlan::new(operation, &pool, source, &to, steps, broadcast));
        let elements = self.elements();
        let results = plan.run(|k, _| elements[k], function, identity);
        Tensor::from_live_storage(&to, copied(&plan.spread, &results, to.shape().iter().product()))
    }

    /// The sums over the axes, or digits of axes, that `Dst` lacks. A sum with an `Uninit` element is `Uninit`.
    ///
    /// The order of additions is that of [`Tensor::reduce`], from zero on.
    ///
    /// # Panics
    ///
    /// If `Dst` has an axis, or values of an axis, that this tensor lacks.
    #[track_caller]
    pub fn reduce_add<Dst: M>(&self) -> Tensor<D, Dst> {
        self.folded("reduce_add", |a, b| a + b, Opt::zero(), false)
    }

    /// The folds over the axes, or digits of axes, that `Dst` lacks: `function(…function(identity, x0)…, xn)`, by
    /// ascending coordinate. If there are several axes, the first in storage order is folded first, and its results are
    /// folded along the next one.
    ///
    /// # Panics
    ///
    /// As [`Tensor::reduce_add`].
    #[track_caller]
    pub fn reduce<Dst: M>(
        &self,
        function: impl Fn(Opt<D>, Opt<D>) -> Opt<D>,
        identity: Opt<D>,
    ) -> Tensor<D, Dst> {
        self.folded("reduce", function, identity, false)
    }

    /// [`Tensor::reduce_add`] to the common axes, repeated along the axes that only `Dst` has.
    ///
    /// # Panics
    ///
    /// If `Dst` has values of an axis that this tensor lacks, while it has others.
    #[track_caller]
    pub fn reduce_then_broadcast<Dst: M>(&self) -> Tensor<D, Dst> {
        self.folded("reduce_then_broadcast", |a, b| a + b, Opt::zero(), true)
    }

    /// [`Tensor::reduce`] to the common axes, repeated along the axes that only `Dst` has.
    ///
    /// # Panics
    ///
    /// If `Dst` has values of an axis that this tensor lacks, while it has others.
    #[track_caller]
    pub fn reduce_then_broadcast_with<Dst: M>(
        &self,
        function: impl Fn(Opt<D>, Opt<D>) -> Opt<D>,
        identity: Opt<D>,
    ) -> Tensor<D, Dst> {
        self.folded("reduce_then_broadcast_with", function, identity, true)
    }

    /// Repeats both tensors over `Union`, multiplies them in `D`, and adds over the axes that the result lacks, in the
    /// order of [`Tensor::reduce_add`].
    ///
    /// # Panics
    ///
    /// If an axis of an operand has no place in `Union`, or the result has an axis that `Union` lacks.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 2, B = 3, C = 2];
    /// let left = Tensor::<i32, m![A, B]>::from_buf((0..6).map(Opt::Init).collect());
    /// let right = Tensor::<i32, m![B, C]>::from_buf((0..6).map(Opt::Init).collect());
    /// let product = Tensor::<i32, m![A, C]>::contraction::<m![A, B, C], _, _>(&left, &right);
    /// assert_eq!(product.to_buf(), [10, 13, 28, 40].map(Opt::Init));
    /// ```
    #[track_caller]
    pub fn contraction<Union: M, Lhs: M, Rhs: M>(lhs: &Tensor<D, Lhs>, rhs: &Tensor<D, Rhs>) -> Self {
        let operation = "contraction";
        let mut pool = Pool::new();
        let union = Layout::new(operation, &mut pool, Union::EXPR);
        let to = Layout::new(operation, &mut pool, Mapping::EXPR);
        let left = Layout::new(operation, &mut pool, Lhs::EXPR);
        let right = Layout::new(operation, &mut pool, Rhs::EXPR);
        let cut = cut_union(&pool, &union, &to, [&left, &right]);
        let (left_elements, right_elements) = (lhs.elements(), rhs.elements());
        let ready = |layout: &Layout, elements: &[Opt<D>]| match operand(&pool, &cut, layout) {
            Operand::Steps(steps) => (steps, None),
            Operand::Spread => {
                let spread = accepted(moved(operation, &pool, (layout, elements), &union, true));
                (cut.list.iter().map(|piece| piece.base).collect(), Some(spread))
            }
        };
        let (left_steps, left_spread) = ready(&left, &left_elements);
        let (right_steps, right_spread) = ready(&right, &right_elements);
        let steps = |_: &crate::mapping::Pieces, k: usize| [left_steps[k], right_steps[k]];
        let plan = accepted(FoldPlan::new(operation, &pool, (union.expr, cut), &to, steps, false));
        let left_elements = left_spread.as_deref().unwrap_or(&left_elements);
        let right_elements = right_spread.as_deref().unwrap_or(&right_elements);
        let product = |a: usize, b: usize| left_elements[a] * right_elements[b];
        let results = plan.run(product, |a, b| a + b, Opt::zero());
        Tensor::from_live_storage(&to, copied(&plan.spread, &results, to.shape().iter().product()))
    }
}

#[cfg(test)]
#[path = "operations_tests.rs"]
mod tests;
