//! Stages that a call adds to a fetch.

pub use crate::command::AdapterStage;
use crate::scalar::{ElementType, Scalar};
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// Stages that a call adds to a fetch, as a type: [`Plain`], [`Lookup`] or [`ZeroPoint`].
pub trait Stages: sealed::Sealed {
    /// The element type of the table's entries.
    const TABLE: Option<ElementType>;
    /// True if a zero point is subtracted.
    const ZERO_POINT: bool;
}

/// The stages of `fetch`: only those that follow from the types.
#[derive(Debug)]
pub enum Plain {}

/// The stages of `fetch_with_table`, with entries of type `X`.
#[derive(Debug)]
pub struct Lookup<X>(PhantomData<X>);

/// The stages of `fetch_with_zero_point` and `fetch_with_zero_points`.
#[derive(Debug)]
pub enum ZeroPoint {}

impl sealed::Sealed for Plain {}

impl<X> sealed::Sealed for Lookup<X> {}

impl sealed::Sealed for ZeroPoint {}

impl Stages for Plain {
    const TABLE: Option<ElementType> = None;
    const ZERO_POINT: bool = false;
}

impl<X: Scalar> Stages for Lookup<X> {
    const TABLE: Option<ElementType> = Some(X::ELEMENT_TYPE);
    const ZERO_POINT: bool = false;
}

impl Stages for ZeroPoint {
    const TABLE: Option<ElementType> = None;
    const ZERO_POINT: bool = true;
}
