//! Transpose Engine: exchanges a block of time steps with the elements of the packets.
//!
//! ```text
//!   Time = [outer, rows, ppc]      Packet    = the live elements, padded to a flit
//!   OutTime = [outer, ppc, elems]  OutPacket = rows, padded to a flit
//!
//!   one block: A = 3 rows, B = 5 elements of bf16                 m![A] / m![B # 16]  ──▶  m![B] / m![A # 16]
//!
//!   time │ lanes                                        time │ lanes
//!     0  │ a0b0 a0b1 a0b2 a0b3 a0b4 ·  ·  · │ · …         0  │ a0b0 a1b0 a2b0 · │ · …
//!     1  │ a1b0 a1b1 a1b2 a1b3 a1b4 ·  ·  · │ · …   ──▶   1  │ a0b1 a1b1 a2b1 · │ · …
//!     2  │ a2b0 a2b1 a2b2 a2b3 a2b4 ·  ·  · │ · …         2  │ a0b2 a1b2 a2b2 · │ · …
//!          └──────── in_cols = 8 ─────────┘               3  │ a0b3 a1b3 a2b3 · │ · …
//!                                                         4  │ a0b4 a1b4 a2b4 · │ · …
//!                                                              in_rows = 3: 8 bytes at most
//! ```
//!
//! The engine takes 8 elements of each packet, or 16 of 4 bits. If 2 or 4 packets make up a row (`ppc`, at most 2 for 4
//! bits), time steps lie inside the rows; they stay in time. Padding behind the live elements of the packet may be
//! trimmed from `elems`, or kept; nothing else is lost.

use super::collect::whole_bytes;
use crate::command::Transpose;
use crate::engine::stream::{
    AccumulationTensor, CastTensor, CollectTensor, StreamTensor, TransposeTensor, VectorFinalTensor,
};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::factors_of;
use crate::mapping::{Expr, Factors, M, Pool, divide, modulo, pad_to, product, stride, strip};
use crate::runtime::Tu;
use crate::runtime::late::{planned, when_late};
use crate::scalar::{ElementType, Scalar, StreamScalar};
use crate::spec;
use crate::text::{Text, text};
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

/// The input of [`derive_transpose`].
#[derive(Clone, Copy, Debug)]
pub struct TransposeRequest {
    /// The element type in the stream.
    pub element: ElementType,
    /// Time of the incoming stream.
    pub time: &'static Expr,
    /// Packet of the incoming stream.
    pub packet: &'static Expr,
    /// Time of the outgoing stream.
    pub out_time: &'static Expr,
    /// Packet of the outgoing stream.
    pub out_packet: &'static Expr,
}

const OPERATION: &str = "transpose";

/// Checks the mappings of a transpose and derives its matrices.
pub const fn derive_transpose(request: &TransposeRequest) -> Result<Transpose, PlanError> {
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    attempt!(check_flit(request, "input", request.packet, packet.size()));
    attempt!(check_flit(request, "output", request.out_packet, out_packet.size()));
    let rows = strip(&out_packet);
    attempt!(check_rows(&pool, request, &rows));
    let Some(packets) = inside(&mut pool, &time, &rows) else {
        refuse!(
            "transpose rows",
            "transpose: the rows {} of OutPacket {} must be in Time {}, side by side and in this order; \
             help: take time steps that follow each other to the packet, and order others in `.fetch()`",
            factors(&pool, &rows),
            mapping(request.out_packet),
            mapping(request.time),
        )
    };
    let in_cols = attempt!(check_columns(&pool, request, &rows, packets));
    let ppc = modulo(&mut pool, &time, packets);
    let outer = stride(&mut pool, &time, packets * rows.size());
    let out_rows = attempt!(check_out(&mut pool, request, &packet, &out_time, [&outer, &ppc]));
    Ok(Transpose {
        element: request.element,
        in_rows: rows.size(),
        in_cols,
        out_rows,
        iterations: out_time.size() / out_rows,
    })
}

/// Checks that a packet is one flit.
const fn check_flit(
    request: &TransposeRequest,
    side: &'static str,
    packet: &'static Expr,
    size: usize,
) -> Result<(), PlanError> {
    let bytes = attempt!(whole_bytes(OPERATION, request.element, packet, size));
    if bytes == spec::FLIT_BYTES {
        return Ok(());
    }
    refuse!(
        "transpose flit",
        "transpose: the {} packet {} of {} holds {}, but must be one flit of {} bytes; help: pad it to {}",
        str(side),
        mapping(packet),
        str(request.element.name()),
        count(bytes, "byte"),
        number(spec::FLIT_BYTES),
        count(8 * spec::FLIT_BYTES / request.element.bits(), "element"),
    )
}

/// Checks that the rows fit into the lanes of the engine.
const fn check_rows(pool: &Pool, request: &TransposeRequest, rows: &Factors) -> Result<(), PlanError> {
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.out_packet, rows.size()));
    if bytes <= spec::TRANSPOSE_ROW_BYTES {
        return Ok(());
    }
    refuse!(
        "transpose row bytes",
        "transpose: the rows {} of OutPacket {} are {} {}, {} bytes, but in_rows must be at most {} bytes; \
         help: take at most {} of time to the packet, and leave the rest in OutTime",
        factors(pool, rows),
        mapping(request.out_packet),
        number(rows.size()),
        str(request.element.name()),
        number(bytes),
        number(spec::TRANSPOSE_ROW_BYTES),
        count(8 * spec::TRANSPOSE_ROW_BYTES / request.element.bits(), "step"),
    )
}

/// Number of columns that the packets of a row make, if the engine has as many.
const fn check_columns(
    pool: &Pool,
    request: &TransposeRequest,
    rows: &Factors,
    packets: usize,
) -> Result<usize, PlanError> {
    let per_packet = Transpose::packet_elements(request.element);
    let mut k = 0;
    while k < spec::TRANSPOSE_COLUMNS.len() {
        let columns = spec::TRANSPOSE_COLUMNS[k];
        if columns.is_multiple_of(per_packet) && columns / per_packet == packets {
            return Ok(columns);
        }
        k += 1;
    }
    let bits = request.element.bits();
    let (columns, steps) = if bits == 4 { ("16 or 32", "1 or 2") } else { ("8, 16 or 32", "1, 2 or 4") };
    refuse!(
        "transpose columns",
        "transpose: Time {} has {} inside of the rows {}, so that in_cols is {}, {} of each packet, but for {} bits \
         in_cols must be {}; help: leave {} time steps inside of the rows",
        mapping(request.time),
        count(packets, "step"),
        factors(pool, rows),
        number(packets.saturating_mul(per_packet)),
        number(per_packet),
        number(bits),
        str(columns),
        str(steps),
    )
}

/// Checks the outgoing time: `[outer, ppc, elems]`, where `elems` is the packet, with more or less padding. Returns the
/// number of packets that leave per matrix.
const fn check_out(
    pool: &mut Pool,
    request: &TransposeRequest,
    packet: &Factors,
    out_time: &Factors,
    [outer, ppc]: [&Factors; 2],
) -> Result<usize, PlanError> {
    let (packets, per_packet) = (ppc.size(), Transpose::packet_elements(request.element));
    let live = strip(packet);
    // The number of positions inside `ppc` if time outside it does not change.
    let expected = match out_time.size().checked_div(outer.size() * packets) {
        Some(elems) if elems * outer.size() * packets == out_time.size() => Some(elems),
        _ => None,
    };
    let elems = match expected {
        Some(elems) if packets == 1 || is_part(pool, out_time, ppc, elems) => elems,
        Some(elems) if is_whole(pool, out_time, [outer, ppc], &live, elems) => elems,
        _ if packets > 1 => match inside(pool, out_time, ppc) {
            Some(elems) => elems,
            None => refuse!(
                "transpose packets",
                "transpose: Time {} has the packets_per_col {} inside of the rows, but OutTime {} does not have them \
                 side by side; help: use OutTime {} with the elements of the packet, {}, innermost",
                mapping(request.time),
                factors(pool, ppc),
                mapping(request.out_time),
                factors(pool, &product(pool, outer, ppc)),
                factors(pool, &live),
            ),
        },
        _ => return Err(changed_outer(pool, request, outer, None)),
    };
    let too_many = live.size() > per_packet;
    if elems > per_packet {
        let help = if too_many {
            fewer_elements(per_packet)
        } else {
            text!("keep at most {} elements of the packet {}", number(per_packet), mapping(request.packet))
        };
        refuse!(
            "transpose out rows",
            "transpose: OutTime {} has out_rows {}, {} of each packet, but out_rows must not exceed in_cols {}, {} of \
             each packet; help: {}",
            mapping(request.out_time),
            number(elems.saturating_mul(packets)),
            number(elems),
            number(packets * per_packet),
            number(per_packet),
            text(&help),
        )
    }
    if is_whole(pool, out_time, [outer, ppc], &live, elems) {
        return Ok(elems * packets);
    }
    let found = modulo(pool, out_time, elems);
    if !strip(&found).is(&live) {
        let help = if too_many {
            fewer_elements(per_packet)
        } else {
            text!("keep these innermost, in their order: out_rows leaves out padding only")
        };
        refuse!(
            "transpose elements",
            "transpose: the innermost {} of OutTime {} are {}, but the elements of the packet {} without padding are {}; \
             help: {}",
            count(elems, "step"),
            mapping(request.out_time),
            factors(pool, &found),
            mapping(request.packet),
            factors(pool, &live),
            text(&help),
        )
    }
    let found = stride(pool, out_time, elems * packets);
    if found.is(outer) {
        return Ok(elems * packets);
    }
    Err(changed_outer(pool, request, outer, Some(&found)))
}

/// The edit for packets with more elements than the engine takes.
const fn fewer_elements(per_packet: usize) -> Text {
    text!("fetch packets of at most {} elements: the engine takes no more of each", number(per_packet))
}

/// The refusal of time that changes outside the rows. `found` is the outer part of OutTime, if it is known.
const fn changed_outer(
    pool: &Pool,
    request: &TransposeRequest,
    outer: &Factors,
    found: Option<&Factors>,
) -> PlanError {
    let found = match found {
        Some(found) => text!("has {}", factors(pool, found)),
        None => text!(
            "has {}, no multiple of its {} steps,",
            number(request.out_time.size()),
            number(outer.size())
        ),
    };
    let text = text!(
        "transpose: Time {} has {} outside of the rows, which must stay as it is with its padding, but OutTime {} {} in its \
         place; help: keep it outermost",
        mapping(request.time),
        factors(pool, outer),
        mapping(request.out_time),
        text(&found),
    );
    PlanError::new("transpose time", text)
}

/// Number of positions inside a part of a mapping. `None` if the part is not contiguous. A part of one position is
/// innermost.
const fn inside(pool: &mut Pool, whole: &Factors, part: &Factors) -> Option<usize> {
    if part.size() == 1 {
        return Some(1);
    }
    let division = divide(pool, whole, part);
    if !division.is_exact() || division.terms.is_empty() {
        return None;
    }
    let innermost = division.terms.at(division.terms.len() - 1);
    let inside = innermost.dividend_stride / innermost.divisor_stride;
    if is_part(pool, whole, part, inside) { Some(inside) } else { None }
}

/// True if a mapping has this part, with `inside` positions inside it.
const fn is_part(pool: &mut Pool, whole: &Factors, part: &Factors, inside: usize) -> bool {
    let size = part.size();
    match inside.checked_mul(size) {
        Some(block) if block > 0 && whole.size().is_multiple_of(block) => {
            let outside = stride(pool, whole, inside);
            modulo(pool, &outside, size).is(part)
        }
        _ => false,
    }
}

/// True if time is `[outer, ppc, live # elems]`. The parts may be halves of one product, which time has only as a
/// whole.
const fn is_whole(
    pool: &Pool,
    out_time: &Factors,
    [outer, ppc]: [&Factors; 2],
    live: &Factors,
    elems: usize,
) -> bool {
    live.size() <= elems && {
        let inner = product(pool, ppc, &pad_to(live, elems));
        product(pool, outer, &inner).is(out_time)
    }
}

/// The plan of a transpose, as types.
pub struct TransposePlan<D, Time, Packet, OutTime, OutPacket>(
    PhantomData<(D, Time, Packet, OutTime, OutPacket)>,
);

impl<D: Scalar, Time: M, Packet: M, OutTime: M, OutPacket: M>
    TransposePlan<D, Time, Packet, OutTime, OutPacket>
{
    pub(crate) const REQUEST: TransposeRequest = TransposeRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    };

    /// The derived configuration. Evaluating it refuses mappings that the engine cannot exchange.
    pub const CONFIG: Transpose = match derive_transpose(&Self::REQUEST) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

when_late! {
    impl<D: Scalar, Time: M, Packet: M, OutTime: M, OutPacket: M>
        Late<TransposePlan<D, Time, Packet, OutTime, OutPacket>>
    {
        const CONFIG: Refusable<Transpose> =
            derive_transpose(&TransposePlan::<D, Time, Packet, OutTime, OutPacket>::REQUEST);
    }
}

/// Declares the call on streams of flits that reach the engine.
macro_rules! stream_transpose {
    ($stream:ident) => {
        impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
            $stream<'l, T, D, Chip, Cluster, Slice, Time, Packet>
        {
            /// Exchanges time steps with the elements of the packet: `[outer, rows, ppc]` and `elems` become
            /// `[outer, ppc, elems]` and `rows`.
            ///
            /// `OutPacket` names the rows: up to 8 bytes of consecutive time steps, padded to a flit. `ppc` is the part
            /// of `Time` inside them: 1, 2 or 4 steps (1 or 2 for `i4`). The packet has up to 8 live elements (16 of
            /// `i4`), which go innermost into `OutTime`, with all of their padding, some of it or none. See
            /// [cast_transpose_commit](crate::guide::cast_transpose_commit).
            ///
            /// ```
            /// use furiosa_visa_std::engine::transpose::TransposePlan;
            /// use furiosa_visa_std::prelude::*;
            /// axes![U = 3, R = 4, G = 2, K = 6];
            /// type Plan = TransposePlan<bf16, m![U, R, G], m![K # 16], m![U, G, K], m![R # 16]>;
            /// assert_eq!((Plan::CONFIG.in_rows, Plan::CONFIG.in_cols, Plan::CONFIG.out_rows), (4, 16, 12));
            /// println!("{}", Plan::explain());
            /// ```
            ///
            /// Refused while compiling: anything else.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn transpose<OutTime: M, OutPacket: M>(
                self,
            ) -> TransposeTensor<'l, T, D, Chip, Cluster, Slice, OutTime, OutPacket>
            where
                D: Scalar,
            {
                let plan = planned!(const CONFIG of TransposePlan<D, Time, Packet, OutTime, OutPacket>);
                let mut pass = self.pass;
                pass.transpose = Some(*plan);
                StreamTensor::new(self.context, pass)
            }
        }
    };
}

stream_transpose!(CollectTensor);
stream_transpose!(AccumulationTensor);
stream_transpose!(VectorFinalTensor);
stream_transpose!(CastTensor);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{axes, m};
    use ElementType::{Bf16, F32, I4, I8};

    fn derived<Time: M, Packet: M, OutTime: M, OutPacket: M>(element: ElementType) -> Result<String, String> {
        derive_transpose(&TransposeRequest {
            element,
            time: Time::EXPR,
            packet: Packet::EXPR,
            out_time: OutTime::EXPR,
            out_packet: OutPacket::EXPR,
        })
        .map(|matrix| {
            format!(
                "{} x {}, {} rows, {} times",
                matrix.in_rows, matrix.in_cols, matrix.out_rows, matrix.iterations
            )
        })
        .map_err(|error| format!("{}: {error}", error.rule()))
    }

    #[track_caller]
    fn refused(found: Result<String, String>, parts: &[&str]) {
        let text = found.expect_err("it is refused");
        for part in parts {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }

    /// Tests matrices of each number of columns.
    #[test]
    fn matrices() {
        let ok = |text: &str| Ok(text.to_string());
        {
            axes![C = 8, D = 8, E = 8];
            let found = derived::<m![C, D], m![E # 32], m![C, E], m![D # 32]>(I8);
            assert_eq!(found, ok("8 x 8, 8 rows, 8 times"));
        }
        {
            axes![A = 4, B = 2];
            let trimmed = derived::<m![A], m![B # 32], m![B], m![A # 32]>(I8);
            assert_eq!(trimmed, ok("4 x 8, 2 rows, 1 times"));
            let kept = derived::<m![A], m![B # 32], m![B # 8], m![A # 32]>(I8);
            assert_eq!(kept, ok("4 x 8, 8 rows, 1 times"));
            // There is one row: no part of time goes to the packet.
            let one = derived::<m![A], m![B # 32], m![A, B # 3], m![1 # 32]>(I8);
            assert_eq!(one, ok("1 x 8, 3 rows, 4 times"));
        }
        {
            axes![B = 2, C = 8, D = 4, E = 8];
            let wide = derived::<m![B, C, D], m![E # 32], m![B, D, E], m![C # 32]>(I8);
            assert_eq!(wide, ok("8 x 32, 32 rows, 2 times"));
        }
        axes![U = 3, R = 4, G = 2, K = 6];
        let matrix = derived::<m![U, R, G], m![K # 16], m![U, G, K], m![R # 16]>(Bf16);
        assert_eq!(matrix, ok("4 x 16, 12 rows, 3 times"));
        // Rows are made of several axes, and of parts of axes.
        let several = derived::<
            m![U, R / 2, G],
            m![[R % 2, K = 3] # 16],
            m![U, [R % 2, K = 3] # 8],
            m![[R / 2, G] # 16],
        >(Bf16);
        assert_eq!(several, ok("4 x 8, 8 rows, 3 times"));
    }

    /// A product is cut between time and packet, and the new time has it as a whole.
    #[test]
    fn parts_of_one_product() {
        axes![A = 16, C = 15, R = 4];
        let ok = Ok("4 x 8, 8 rows, 30 times".to_string());
        type Packet = m![[A % 8, C] % 8 # 16];
        type Time = m![A / 8, [A % 8, C] / 8, R];
        assert_eq!(derived::<Time, Packet, m![A, C], m![R # 16]>(Bf16), ok);
        assert_eq!(derived::<Time, Packet, m![A / 8, [A % 8, C]], m![R # 16]>(Bf16), ok);
    }

    /// Tests one message per rule, each with an accepted neighbour.
    #[test]
    fn refusals() {
        axes![A = 8, B = 8, C = 4, E = 8, T = 3];
        let same = |case: Result<String, String>| assert!(case.is_ok(), "{case:?}");
        refused(
            derived::<m![A], m![E], m![E], m![A # 32]>(I8),
            &[
                "transpose flit: ",
                "the input packet `m![E]` of i8 holds 8 bytes",
                "32 bytes; help: pad it to 32",
            ],
        );
        refused(
            derived::<m![A], m![E # 32], m![E], m![A # 16]>(I8),
            &["transpose flit: ", "the output packet `m![A # 16]` of i8 holds 16 bytes"],
        );
        same(derived::<m![A], m![E # 32], m![E], m![A # 32]>(I8));

        refused(
            derived::<m![A, B / 4], m![E # 32], m![E], m![[A, B / 4] # 32]>(I8),
            &[
                "transpose row bytes: ",
                "`m![A, B / 4]`",
                "16 i8, 16 bytes",
                "at most 8 bytes",
                "at most 8 steps",
            ],
        );
        refused(
            derived::<m![A], m![E # 16], m![E], m![A # 16]>(Bf16),
            &["transpose row bytes: ", "8 bf16, 16 bytes", "help: take at most 4 steps of time"],
        );
        same(derived::<m![C], m![E # 16], m![E], m![C # 16]>(Bf16));
        refused(
            derived::<m![A], m![E], m![E], m![C # 8]>(F32),
            &["transpose row bytes: ", "4 f32, 16 bytes"],
        );
        refused(
            derived::<m![A], m![E # 64], m![E], m![T # 64]>(I4),
            &["whole bytes: ", "3 elements of `m![T # 64]`", "i4 of 4 bits", "make their number even"],
        );
        refused(derived::<m![A], m![E # 64], m![A, E], m![1 # 64]>(I4), &["whole bytes: ", "1 element of"]);

        refused(
            derived::<m![A], m![E # 32], m![E], m![B # 32]>(I8),
            &["transpose rows: ", "the rows `m![B]` of OutPacket `m![B # 32]` must be in Time `m![A]`"],
        );
        // The rows are in another order, apart, padded, or a part that time lacks.
        let rules = [
            derived::<m![A / 4, C], m![E # 32], m![E], m![[C, A / 4] # 32]>(I8),
            derived::<m![A / 4, T, C], m![E # 32], m![T, E], m![[A / 4, C] # 32]>(I8),
            derived::<m![A # 12], m![E # 32], m![E], m![A # 32]>(I8),
            derived::<m![A / 2], m![E # 32], m![E], m![A % 4 # 32]>(I8),
        ];
        rules.into_iter().for_each(|case| refused(case, &["transpose rows: ", "in `.fetch()`"]));
        same(derived::<m![A / 4, C], m![E # 32], m![E], m![[A / 4, C] # 32]>(I8));
        // Padding between blocks is time outside the rows.
        same(derived::<m![A # 16], m![E # 32], m![1 # 2, E], m![A # 32]>(I8));

        refused(
            derived::<m![A, T], m![E # 32], m![T, E], m![A # 32]>(I8),
            &[
                "transpose columns: ",
                "3 steps inside of the rows `m![A]`",
                "in_cols is 24",
                "8 bits",
                "8, 16 or 32",
            ],
        );
        refused(
            derived::<m![A, C], m![E # 64], m![C, E], m![A # 64]>(I4),
            &["transpose columns: ", "in_cols is 64, 16 of each packet", "4 bits", "16 or 32", "1 or 2 time"],
        );
        same(derived::<m![A, C], m![E # 32], m![C, E], m![A # 32]>(I8));
        same(derived::<m![A, C / 2], m![E # 64], m![C / 2, E], m![A # 64]>(I4));

        refused(
            derived::<m![A, C], m![E # 32], m![T, E], m![A # 32]>(I8),
            &[
                "transpose packets: ",
                "packets_per_col `m![C]`",
                "OutTime `m![T, E]`",
                "use OutTime `m![C]`",
                "`m![E]`",
            ],
        );
        refused(
            derived::<m![A, C], m![E # 32], m![C / 2, E, C % 2], m![A # 32]>(I8),
            &["transpose packets: "],
        );
        refused(
            derived::<m![A], m![E # 32], m![E # 16], m![A # 32]>(I8),
            &[
                "transpose out rows: ",
                "out_rows 16, 16 of each packet",
                "in_cols 8, 8 of each",
                "keep at most 8",
            ],
        );
        refused(
            derived::<m![A, C], m![E # 32], m![C, E # 9], m![A # 32]>(I8),
            &["out_rows 36", "in_cols 32"],
        );

        refused(
            derived::<m![A], m![E # 32], m![E = 4], m![A # 32]>(I8),
            &[
                "transpose elements: ",
                "innermost 4 steps of OutTime `m![E = 4]`",
                "without padding are `m![E]`",
            ],
        );
        refused(derived::<m![A, C], m![E # 32], m![E, C], m![A # 32]>(I8), &["transpose elements: "]);
        // More than 8 elements are live: the engine takes 8.
        refused(
            derived::<m![A], m![C, E], m![E], m![A # 32]>(I8),
            &[
                "transpose elements: ",
                "`m![C, E]` without padding are `m![C, E]`",
                "fetch packets of at most 8 elements",
            ],
        );
        refused(
            derived::<m![T, A], m![E # 32], m![C = 3, E], m![A # 32]>(I8),
            &[
                "transpose time: ",
                "has `m![T]` outside of the rows",
                "OutTime `m![C = 3, E]` has `m![C = 3]` in its",
            ],
        );
        refused(
            derived::<m![T, A], m![E # 32], m![E], m![A # 32]>(I8),
            &["transpose time: ", "has 8, no multiple of its 3 steps, in its place; help: keep it outermost"],
        );
        refused(derived::<m![T # 4, A], m![E # 32], m![T, E # 8], m![A # 32]>(I8), &["transpose "]);
        same(derived::<m![T # 4, A], m![E # 32], m![T # 4, E], m![A # 32]>(I8));
    }
}
