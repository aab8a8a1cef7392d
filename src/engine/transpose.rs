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

use crate::command::Transpose;
use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{PositionTranspose, Transposable};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::{Scalar, StreamScalar};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::transpose::{TransposeRequest, derive_transpose};

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
    pub const CONFIG: Transpose = match Late::<Self>::CONFIG {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<D: Scalar, Time: M, Packet: M, OutTime: M, OutPacket: M>
    Late<TransposePlan<D, Time, Packet, OutTime, OutPacket>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<Transpose> =
        derive_transpose(&TransposePlan::<D, Time, Packet, OutTime, OutPacket>::REQUEST);
}

impl<'l, const T: Tu, P: Transposable, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
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
    ) -> StreamTensor<'l, T, PositionTranspose, D, L::With<OutTime, OutPacket>>
    where
        D: Scalar,
    {
        let plan = planned!(const CONFIG of TransposePlan<D, L::Time, L::Packet, OutTime, OutPacket>);
        let mut pass = self.pass;
        pass.unit.transpose(*plan);
        StreamTensor::new(self.context, pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{axes, m};
    use crate::scalar::ElementType;
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
