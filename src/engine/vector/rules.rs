//! The packets that the engine takes, and their cuts and joins.

use super::enter::BRANCH;
use crate::error::PlanError;
use crate::mapping::M;
use crate::runtime::late::{Late, Refusable};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::vector::rules::{
    VectorPacketRequest, derive_concat, derive_pad, derive_split, derive_trim, derive_way8,
};

/// Stops the compilation with a refusal. A function of this crate: the compiler names it in its notes.
pub(super) const fn accepted(result: Result<(), PlanError>) {
    match result {
        Ok(()) => (),
        Err(error) => error.refuse(),
    }
}

/// The plan of a change of packets, as types. Evaluating one of its constants refuses other mappings.
pub struct VectorPacketPlan<Time, Packet, OutTime, OutPacket>(
    PhantomData<(Time, Packet, OutTime, OutPacket)>,
);

impl<Time: M, Packet: M, OutTime: M, OutPacket: M> VectorPacketPlan<Time, Packet, OutTime, OutPacket> {
    pub(crate) const REQUEST: VectorPacketRequest = VectorPacketRequest {
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    };
    /// The check of a split.
    pub const SPLIT: () = accepted(Late::<Self>::SPLIT);
    /// The check of a concatenation.
    pub const CONCAT: () = accepted(Late::<Self>::CONCAT);
    /// The check of a trim.
    pub const TRIM: () = accepted(Late::<Self>::TRIM);
    /// The check of a padding.
    pub const PAD: () = accepted(Late::<Self>::PAD);
}

impl<Time: M, Packet: M, OutTime: M, OutPacket: M> Late<VectorPacketPlan<Time, Packet, OutTime, OutPacket>> {
    #[doc(hidden)]
    pub const WAY8: Refusable<()> = derive_way8(BRANCH, Packet::EXPR);
    #[doc(hidden)]
    pub const SPLIT: Refusable<()> =
        derive_split(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
    #[doc(hidden)]
    pub const CONCAT: Refusable<()> =
        derive_concat(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
    #[doc(hidden)]
    pub const TRIM: Refusable<()> =
        derive_trim(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
    #[doc(hidden)]
    pub const PAD: Refusable<()> = derive_pad(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PlanError;
    use crate::prelude::{axes, m};

    axes![L = 8, W = 5, V = 3, A = 4];

    type Rule = fn(&VectorPacketRequest) -> Result<(), PlanError>;

    #[track_caller]
    fn outcome<Time: M, Packet: M, OutTime: M, OutPacket: M>(rule: Rule) -> Result<(), &'static str> {
        rule(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST).map_err(|error| {
            assert!(
                error.message().contains("; help: ") && error.message().starts_with("vector_"),
                "{error}"
            );
            error.rule()
        })
    }

    #[test]
    fn packets_are_split_and_joined() {
        type Halves = m![W, L / 4];
        type Half = m![L % 4];
        assert_eq!(outcome::<m![W], m![L], Halves, Half>(derive_split), Ok(()));
        assert_eq!(outcome::<Halves, Half, m![W], m![L]>(derive_concat), Ok(()));
        // The upper half is padding.
        type Low = m![L % 2 # 4];
        assert_eq!(outcome::<m![W], m![L % 2 # 8], m![W, 1 # 2], Low>(derive_split), Ok(()));
        assert_eq!(outcome::<m![W, 1 # 2], Low, m![W], m![L % 2 # 8]>(derive_concat), Ok(()));
        // An axis goes on in time.
        assert_eq!(
            outcome::<m![W # 8 / 4], m![W # 8 % 4, 1 # 2], m![1 # 4], m![1 # 4]>(derive_split),
            Err("split time")
        );
        assert_eq!(outcome::<m![1], m![W # 8], m![W # 8 / 4], m![W # 8 % 4]>(derive_split), Ok(()));
        assert_eq!(outcome::<m![1], m![V # 8], m![1 # 2], m![V # 4]>(derive_split), Ok(()));

        assert_eq!(outcome::<m![W], m![L], m![L / 4, W], Half>(derive_split), Err("split time"));
        assert_eq!(outcome::<m![W], m![L], m![W], Half>(derive_split), Err("split time"));
        assert_eq!(outcome::<m![W], m![L], Halves, m![L / 2]>(derive_split), Err("split packet"));
        assert_eq!(outcome::<m![W], m![A], Halves, Half>(derive_split), Err("vector packet"));
        assert_eq!(outcome::<m![W], m![L], m![W], m![L]>(derive_split), Err("vector output packet"));
        assert_eq!(outcome::<Halves, Half, m![W, L / 4], m![L]>(derive_concat), Err("concat time"));
        assert_eq!(outcome::<Halves, Half, m![W], m![L % 4 # 8]>(derive_concat), Err("concat packet"));
        assert_eq!(outcome::<m![W], Half, m![W], m![L]>(derive_concat), Err("concat pairs"));
        assert_eq!(outcome::<Halves, m![L], m![W], m![L]>(derive_concat), Err("vector packet"));
        assert_eq!(outcome::<Halves, Half, m![W], Half>(derive_concat), Err("vector output packet"));
    }

    #[test]
    fn packets_are_trimmed_and_padded() {
        assert_eq!(outcome::<m![W], m![L % 2 # 8], m![W], m![L % 2 # 4]>(derive_trim), Ok(()));
        assert_eq!(outcome::<m![W], m![1 # 8], m![W], m![1 # 4]>(derive_trim), Ok(()));
        assert_eq!(outcome::<m![W], m![V # 8], m![W], m![V # 4]>(derive_trim), Ok(()));
        assert_eq!(outcome::<m![W], m![A # 8], m![W], m![A]>(derive_trim), Ok(()));
        assert_eq!(outcome::<m![W], m![V # 8], m![W], m![V]>(derive_trim), Err("vector output packet"));
        assert_eq!(outcome::<m![W], m![L], m![W], m![L % 4]>(derive_trim), Err("trim lanes"));
        assert_eq!(outcome::<m![1], m![W # 8], m![1], m![W # 8 % 4]>(derive_trim), Err("trim lanes"));
        assert_eq!(outcome::<m![W], m![V # 8], m![W], m![1 # 4]>(derive_trim), Err("trim packet"));
        assert_eq!(outcome::<m![W], m![V], m![W], m![V # 4]>(derive_trim), Err("vector packet"));

        assert_eq!(outcome::<m![W], m![L % 4], m![W], m![L % 4 # 8]>(derive_pad), Ok(()));
        assert_eq!(outcome::<m![W], m![V # 4], m![W], m![V # 8]>(derive_pad), Ok(()));
        assert_eq!(outcome::<m![W], m![1 # 4], m![W], m![1 # 8]>(derive_pad), Ok(()));
        assert_eq!(outcome::<m![W], m![L % 4], m![W], m![L]>(derive_pad), Err("pad packet"));
        assert_eq!(outcome::<m![W], m![L], m![W], m![L]>(derive_pad), Err("vector packet"));
        assert_eq!(outcome::<m![W], m![L % 4], m![W], m![L % 4]>(derive_pad), Err("vector output packet"));
    }

    /// Tests the messages of the rules that no program of `tests/ui` breaks.
    #[test]
    fn words_of_refusals() {
        let error = derive_trim(&VectorPacketPlan::<m![W], m![V # 8], m![W], m![1 # 4]>::REQUEST);
        assert_eq!(
            error.expect_err("it is refused").message(),
            "vector_trim_way4: the output packet is `m![1 # 4]`, but the front four lanes of `m![V # 8]` are `m![V # 4]`; \
             help: use that mapping"
        );
        let error = derive_split(&VectorPacketPlan::<m![W], m![A], m![W, L / 4], m![L % 4]>::REQUEST);
        assert_eq!(
            error.expect_err("it is refused").message(),
            "vector_split: the packet `m![A]` has 4 elements, but must have 8; help: collect into flits, padded with `#`"
        );
    }

    #[test]
    fn flits_have_eight_lanes() {
        assert!(derive_way8("vector_intra_slice_branch", <m![L]>::EXPR).is_ok());
        assert!(derive_way8("vector_intra_slice_branch", <m![V # 8]>::EXPR).is_ok());
        for packet in [<m![V]>::EXPR, <m![L # 16]>::EXPR, <m![L % 4]>::EXPR] {
            let error = derive_way8("vector_intra_slice_branch", packet).expect_err("it is no flit");
            assert!(error.message().contains("takes flits of 8"), "{error}");
        }
    }
}
