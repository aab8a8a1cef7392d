//! The packets that the engine takes, and their cuts and joins.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, M, Pool, factors_of, modulo, pad_to, product, stride, strip};
use crate::runtime::late::when_late;
use crate::spec::{BEAT_LANES, VECTOR_NARROW_LANES};
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

/// The input of the checks of a change of packets.
#[derive(Clone, Copy, Debug)]
pub struct VectorPacketRequest {
    /// Time before the change.
    pub time: &'static Expr,
    /// Packet before the change.
    pub packet: &'static Expr,
    /// Time after the change.
    pub out_time: &'static Expr,
    /// Packet after the change.
    pub out_packet: &'static Expr,
}

/// Refuses packets that are no flit.
pub const fn derive_way8(operation: &'static str, packet: &'static Expr) -> Result<(), PlanError> {
    let mut pool = Pool::new();
    let size = attempt!(factors_of(operation, &mut pool, packet)).size();
    if size == BEAT_LANES {
        return Ok(());
    }
    refuse!(
        "vector packet",
        "{}: the packet {} has {}, but the Vector Engine takes flits of {}; help: collect into flits, padded with `# {}`",
        str(operation),
        mapping(packet),
        count(size, "element"),
        number(BEAT_LANES),
        number(BEAT_LANES),
    )
}

/// Refuses packets whose sizes are not those before and after a change.
const fn check_sizes(
    operation: &'static str,
    request: &VectorPacketRequest,
    (packet, out_packet): (usize, usize),
    (lanes, out_lanes): (usize, usize),
) -> Result<(), PlanError> {
    if packet != lanes {
        refuse!(
            "vector packet",
            "{}: the packet {} has {}, but must have {}; help: collect into flits, padded with `#`",
            str(operation),
            mapping(request.packet),
            count(packet, "element"),
            number(lanes),
        );
    }
    if out_packet != out_lanes {
        refuse!(
            "vector output packet",
            "{}: the output packet {} has {}, but must have {}; help: count padding: `# {}`",
            str(operation),
            mapping(request.out_packet),
            count(out_packet, "element"),
            number(out_lanes),
            number(out_lanes),
        );
    }
    Ok(())
}

/// Checks a split: the upper half of each packet becomes a time step of its own, innermost in time.
pub const fn derive_split(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_split";
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (BEAT_LANES, VECTOR_NARROW_LANES)));
    let outer = stride(&mut pool, &packet, VECTOR_NARROW_LANES);
    let inner = modulo(&mut pool, &packet, VECTOR_NARROW_LANES);
    let expected = product(&pool, &time, &outer);
    if !expected.is(&out_time) {
        refuse!(
            "split time",
            "vector_split: the output time is {}, but {} followed by the half of the packet is {}; \
             help: append the half innermost, and nothing else",
            mapping(request.out_time),
            mapping(request.time),
            factors(&pool, &expected),
        );
    }
    if !inner.is(&out_packet) {
        refuse!(
            "split packet",
            "vector_split: the output packet is {}, but half of the packet {} is {}; help: use that mapping",
            mapping(request.out_packet),
            mapping(request.packet),
            factors(&pool, &inner),
        );
    }
    Ok(())
}

/// Checks a concatenation: the two halves of a flit, innermost in time, become one packet.
pub const fn derive_concat(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_concat";
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (VECTOR_NARROW_LANES, BEAT_LANES)));
    if !time.size().is_multiple_of(2) {
        refuse!(
            "concat pairs",
            "vector_concat: {} of time {} are not pairs; help: where the upper four lanes hold nothing, use \
             `vector_pad_way8`",
            count(time.size(), "step"),
            mapping(request.time),
        );
    }
    let rest = stride(&mut pool, &time, 2);
    let half = modulo(&mut pool, &time, 2);
    if !rest.is(&out_time) {
        refuse!(
            "concat time",
            "vector_concat: the output time is {}, but {} without its innermost two steps is {}; help: use that mapping",
            mapping(request.out_time),
            mapping(request.time),
            factors(&pool, &rest),
        );
    }
    let expected = product(&pool, &half, &packet);
    if !expected.is(&out_packet) {
        refuse!(
            "concat packet",
            "vector_concat: the output packet is {}, but the innermost two steps of time {} and the packet {} are {}; \
             help: use that mapping",
            mapping(request.out_packet),
            mapping(request.time),
            mapping(request.packet),
            factors(&pool, &expected),
        );
    }
    Ok(())
}

/// Checks a trim: the upper half of each packet is padding and goes.
pub const fn derive_trim(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_trim_way4";
    let mut pool = Pool::new();
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (BEAT_LANES, VECTOR_NARROW_LANES)));
    let outer = stride(&mut pool, &packet, VECTOR_NARROW_LANES);
    let inner = modulo(&mut pool, &packet, VECTOR_NARROW_LANES);
    if outer.has_terms() {
        refuse!(
            "trim lanes",
            "vector_trim_way4: the back four lanes of the packet {} hold {}, but must be padding; \
             help: use `vector_split`, which keeps them",
            mapping(request.packet),
            factors(&pool, &outer),
        );
    }
    if !inner.is(&out_packet) {
        refuse!(
            "trim packet",
            "vector_trim_way4: the output packet is {}, but the front four lanes of {} are {}; help: use that mapping",
            mapping(request.out_packet),
            mapping(request.packet),
            factors(&pool, &inner),
        );
    }
    Ok(())
}

/// Checks a padding: each packet gets four lanes without an element.
pub const fn derive_pad(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_pad_way8";
    let mut pool = Pool::new();
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (VECTOR_NARROW_LANES, BEAT_LANES)));
    let expected = pad_to(&strip(&packet), BEAT_LANES);
    if !expected.is(&out_packet) {
        refuse!(
            "pad packet",
            "vector_pad_way8: the output packet is {}, but {} padded to {} is {}; help: use that mapping",
            mapping(request.out_packet),
            mapping(request.packet),
            number(BEAT_LANES),
            factors(&pool, &expected),
        );
    }
    Ok(())
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
    pub const SPLIT: () = accepted(derive_split(&Self::REQUEST));
    /// The check of a concatenation.
    pub const CONCAT: () = accepted(derive_concat(&Self::REQUEST));
    /// The check of a trim.
    pub const TRIM: () = accepted(derive_trim(&Self::REQUEST));
    /// The check of a padding.
    pub const PAD: () = accepted(derive_pad(&Self::REQUEST));
}

when_late! {
    impl<Time: M, Packet: M, OutTime: M, OutPacket: M>
        Late<VectorPacketPlan<Time, Packet, OutTime, OutPacket>>
    {
        pub(super) const SPLIT: Refusable<()> =
            derive_split(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
        pub(super) const CONCAT: Refusable<()> =
            derive_concat(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
        pub(super) const TRIM: Refusable<()> =
            derive_trim(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
        pub(super) const PAD: Refusable<()> =
            derive_pad(&VectorPacketPlan::<Time, Packet, OutTime, OutPacket>::REQUEST);
    }
}

/// Stops the compilation with a refusal.
pub(super) const fn accepted(result: Result<(), PlanError>) {
    match result {
        Ok(()) => (),
        Err(error) => error.refuse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
