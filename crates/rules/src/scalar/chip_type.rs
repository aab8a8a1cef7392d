//! The kinds of chip as types, for conversions that exist on one kind only.

use crate::spec::ChipKind;

mod sealed {
    pub trait Sealed {}
}

/// A kind of chip, as a type: [`Rngd`] or [`RngdS`].
///
/// A stream is of kind [`Rngd`] unless it calls `on::<RngdS>()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind of chip",
    label = "the kinds are `Rngd` and `RngdS`"
)]
pub trait ChipType: sealed::Sealed + 'static {
    /// The kind as a value.
    const KIND: ChipKind;
}

/// RNGD, the default chip of programs.
#[derive(Debug)]
pub enum Rngd {}

/// RNGD-S, another chip, with more conversions in its fetch unit (see `guide::fetch`, "Types").
///
/// ```
/// use furiosa_visa_std::prelude::*;
///
/// let system = SimOptions { chip_kind: ChipKind::RngdS, ..SimOptions::default() };
/// let ctx = Context::with(system);
/// assert_eq!(ctx.chip_kind(), ChipKind::RngdS);
/// ```
#[derive(Debug)]
pub enum RngdS {}

impl sealed::Sealed for Rngd {}
impl sealed::Sealed for RngdS {}

impl ChipType for Rngd {
    const KIND: ChipKind = ChipKind::Rngd;
}

impl ChipType for RngdS {
    const KIND: ChipKind = ChipKind::RngdS;
}
