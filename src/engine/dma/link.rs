//! The DMA context that moves tensors from and to DM, with an explanation for calls that name the other one.

use crate::runtime::{Dma, DmaContext, DmaValues as _};

mod sealed {
    use super::*;
    pub trait Sealed {}
    impl Sealed for DmaContext<{ Dma::Tensor }> {}
}

/// The context that moves tensors between HBM and DM: `ctx.tdma`.
#[diagnostic::on_unimplemented(
    message = "moves from and to DM are made by the DMA engines of the chip, `ctx.tdma`",
    label = "write `&mut ctx.tdma`",
    note = "`ctx.pdma` is the link to the host: it serves `to_host`, and `to_hbm` of tensors on the host and in HBM"
)]
pub trait OnChip: sealed::Sealed {
    /// The context.
    #[doc(hidden)]
    fn engines(&mut self) -> &mut DmaContext<{ Dma::Tensor }>;
}

impl OnChip for DmaContext<{ Dma::Tensor }> {
    fn engines(&mut self) -> &mut DmaContext<{ Dma::Tensor }> {
        self
    }
}
