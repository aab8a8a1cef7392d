//! Switch Engine: redistributes packets over the slices of a cluster.
//!
//! ```text
//!   fetch ──▶ switch ──▶ collect          Slice and Time change; packets stay as they are
//! ```
//!
//! Slices form rings, and each packet goes around its ring once. A slice takes the packets that it needs, in the order
//! in which they pass. So slice digits can become time, innermost and in their order, and slice digits can trade
//! places.
//!
//! The pictures have 8 slices `m![A]` with 2 packets each. `a3` is packet 0 of slice 3, `b3` its packet 1. `X` and `Y` are
//! new axes.
//!
//! [`SwitchConfig::Broadcast1`]` { slice1: 2, slice0: 2 }`: `s1` becomes time. In pairs of pairs, slices get their own packets
//! and those of their counterpart.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, X, A % 2], m![T, A / 2 % 2]
//!
//!   slice     0      1      2      3      4      5      6      7
//!   before    a0 b0  a1 b1  a2 b2  a3 b3  a4 b4  a5 b5  a6 b6  a7 b7
//!   after     a0 a2  a1 a3  a0 a2  a1 a3  a4 a6  a5 a7  a4 a6  a5 a7
//!             b0 b2  b1 b3  b0 b2  b1 b3  b4 b6  b5 b7  b4 b6  b5 b7
//! ```
//!
//! [`SwitchConfig::TransposedBroadcast1`]` { slice1: 2, slice0: 2 }`: `s0` becomes time, and `s1` takes its place.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, X, A / 2 % 2], m![T, A % 2]
//!
//!   after     a0 a1  a2 a3  a0 a1  a2 a3  a4 a5  a6 a7  a4 a5  a6 a7
//!             b0 b1  b2 b3  b0 b1  b2 b3  b4 b5  b6 b7  b4 b5  b6 b7
//! ```
//!
//! [`SwitchConfig::Broadcast01`]` { slice1: 2, slice0: 2, time0: 2 }`: both digits become time. `time0` packets of the
//! slices of one `s1` come before those of the next.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, X, Y], m![A / 2 % 2, T, A % 2]
//!
//!   after     a0 a1 b0 b1 a2 a3 b2 b3   in slices 0 to 3      a4 a5 b4 b5 a6 a7 b6 b7   in slices 4 to 7
//! ```
//!
//! [`SwitchConfig::Transpose`]` { slice1: 2, slice0: 2 }`: both digits stay and trade places.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, A % 2, A / 2 % 2], m![T]
//!
//!   after     a0 b0  a2 b2  a1 b1  a3 b3  a4 b4  a6 b6  a5 b5  a7 b7
//! ```
//!
//! [`SwitchConfig::InterTranspose`]` { slice1: 2, slice0: 2, time0: 1 }`: `s1` becomes time, and a time digit of the same size
//! becomes a slice digit.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, T, A % 2], m![A / 2 % 2]
//!
//!   after     a0 a2  a1 a3  b0 b2  b1 b3  a4 a6  a5 a7  b4 b6  b5 b7
//! ```
//!
//! [`SwitchConfig::CustomBroadcast`]` { ring_size: 8 }`: digits in any order, here reversed.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A % 2, A / 2 % 2, A / 4], m![T]
//!
//!   after     a0 b0  a4 b4  a2 b2  a6 b6  a1 b1  a5 b5  a3 b3  a7 b7
//! ```
//!
//! [`SwitchConfig::Forwarding`]: slices and time stay as they are. The pass is the one without a switch.
//!
//! # Time
//!
//! The cycles are ring size × `|InTime|` × flits of a packet, independent of the number of packets that each slice
//! takes. The number of sub-rings does not matter: they work side by side. [`StreamTensor::switch_to`] derives the
//! configuration with the smallest ring.
//!
//! # Positions that hold data
//!
//! With a new axis `X` all copies hold data. With padding, `1 # n`, only the copy at 0 does; with `X # n` the first
//! `|X|` copies. A digit that `CustomBroadcast` drops, because neither `Slice2` nor `Time2` has it, leaves its
//! coordinate 0. A digit that becomes time may be cut with `= n`.
//!
//! # Limits
//!
//! Clusters exchange nothing: use the DMA engines for that. The ring of `CustomBroadcast` is a power of two from which
//! on all digits keep their places, counted before and after the switch and with copies. The vendor's rule counts only
//! the places before: it gives the same rings, except for padding that lets a digit jump outwards, and for copies on
//! former padding.

mod config;

use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{PositionFetch, PositionSwitch};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::StreamScalar;
pub use config::{SwitchConfig, VerifySwitch};
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::switch::{OPERATION, derive_given, search};
pub use furiosa_visa_rules::engine::switch::{SwitchDerivation, SwitchRequest, derive_switch};
pub use search::derive_switch_to;

/// The plan of a switch, as types.
pub struct SwitchPlan<InSlice, InTime, OutSlice, OutTime, Chip, Cluster, Packet>(
    PhantomData<(InSlice, InTime, OutSlice, OutTime, Chip, Cluster, Packet)>,
);

impl<InSlice: M, InTime: M, OutSlice: M, OutTime: M, Chip: M, Cluster: M, Packet: M>
    SwitchPlan<InSlice, InTime, OutSlice, OutTime, Chip, Cluster, Packet>
{
    pub(crate) const REQUEST: SwitchRequest = SwitchRequest {
        others: [Chip::EXPR, Cluster::EXPR, Packet::EXPR],
        ..SwitchRequest::new(InSlice::EXPR, InTime::EXPR, OutSlice::EXPR, OutTime::EXPR)
    };

    /// The legal configuration with the smallest ring. Evaluating it refuses mappings for which there is none.
    pub const CHEAPEST: SwitchDerivation = match Late::<Self>::CHEAPEST {
        Ok(derivation) => derivation,
        Err(error) => error.refuse(),
    };
}

impl<InSlice: M, InTime: M, OutSlice: M, OutTime: M, Chip: M, Cluster: M, Packet: M>
    Late<SwitchPlan<InSlice, InTime, OutSlice, OutTime, Chip, Cluster, Packet>>
{
    #[doc(hidden)]
    pub const CHEAPEST: Refusable<SwitchDerivation> =
        derive_switch_to(&SwitchPlan::<InSlice, InTime, OutSlice, OutTime, Chip, Cluster, Packet>::REQUEST);
}

/// The plan of a switch of a stream in the layout `L`.
type PlanOf<L, Slice, Time> = SwitchPlan<
    <L as StreamLayout>::Slice,
    <L as StreamLayout>::Time,
    Slice,
    Time,
    <L as StreamLayout>::Chip,
    <L as StreamLayout>::Cluster,
    <L as StreamLayout>::Packet,
>;

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, PositionFetch, D, L> {
    /// Redistributes packets over the slices by a configuration. `Slice2` and `Time2` are the mappings of the result.
    /// See [switch](crate::guide::switch).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 256, X = 2, P = 32];
    /// type In = DmTensor<i8, m![1], m![1 # 2], m![A], m![P]>;
    /// type Out = DmTensor<i8, m![1], m![1 # 2], m![A / 2, X], m![A % 2, P]>;
    /// /// Neighbours get each other's packets.
    /// fn share(ctx: &mut Context, x: &In) -> Out {
    ///     (ctx.main.begin(x.view()).fetch::<i8, m![1], m![P]>())
    ///         .switch::<m![A / 2, X], m![A % 2]>(SwitchConfig::Broadcast1 { slice1: 2, slice0: 1 })
    ///         .collect::<m![A % 2], m![P]>()
    ///         .commit(AUTO)
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let x = HostTensor::<i8, m![A, P]>::from_slice(&(0..8192).map(|k| (k / 32 % 100) as i8).collect::<Vec<_>>());
    /// # let x = pollster::block_on(x.to_hbm::<m![1], m![A, P]>(&mut ctx.pdma, AUTO));
    /// # let x = x.to_dm(&mut ctx.tdma, AUTO);
    /// # let y = share(&mut ctx, &x).to_hbm::<m![A / 2, X, A % 2, P]>(&mut ctx.tdma, AUTO);
    /// # let y = pollster::block_on(y.to_host::<m![A / 2, X, A % 2, P]>(&mut ctx.pdma)).to_vec();
    /// // Slices 0 and 1, each with the packets of both:
    /// assert_eq!([0, 32, 64, 96].map(|k| y[k]), [0, 1, 0, 1]);
    /// ```
    ///
    /// Refused while compiling: mappings for which there is no configuration.
    ///
    /// # Panics
    /// If `config` does not connect the mappings. The message names a configuration that does.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn switch<Slice2: M, Time2: M>(
        self,
        config: SwitchConfig,
    ) -> StreamTensor<'l, T, PositionSwitch, D, L::Over<Slice2, Time2>> {
        let cheapest = planned!(const CHEAPEST of PlanOf<L, Slice2, Time2>);
        let request = const { &PlanOf::<L, Slice2, Time2>::REQUEST };
        let found = accept(OPERATION, derive_given(request, &config, cheapest));
        let mut pass = self.pass;
        pass.unit.switch(found.switch);
        StreamTensor::new(self.context, pass)
    }

    /// Redistributes packets over the slices with the configuration that takes the fewest cycles. See
    /// [switch](crate::guide::switch).
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, X = 4, N = 8, P = 32];
    /// /// Slices get the packets of four of them.
    /// fn share<'l, const T: Tu>(
    ///     input: FetchTensor<'l, T, i8, m![1], m![1 # 2], m![A], m![N], m![P]>,
    /// ) -> SwitchTensor<'l, T, i8, m![1], m![1 # 2], m![A / 32, X, A % 8], m![N, A / 8 % 4], m![P]> {
    ///     input.switch_to()
    /// }
    /// ```
    ///
    /// Refused while compiling: mappings for which there is no configuration. The message gives the reason for each
    /// variant.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn switch_to<Slice2: M, Time2: M>(
        self,
    ) -> StreamTensor<'l, T, PositionSwitch, D, L::Over<Slice2, Time2>> {
        let cheapest = planned!(const CHEAPEST of PlanOf<L, Slice2, Time2>);
        let mut pass = self.pass;
        pass.unit.switch(cheapest.switch);
        StreamTensor::new(self.context, pass)
    }
}
