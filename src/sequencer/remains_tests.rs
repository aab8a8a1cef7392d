//! The columns of an explanation, by hand: what each row reads of the buffer, and what is left of it.

use super::*;
use crate::mapping::{M, PaddingKind, factorize};
use crate::prelude::{axes, m};
use crate::sequencer::{Request, Row, Stream, explain_loops};

axes![A = 3, B = 5, G = 6, H = 10, K = 24, P = 7];

/// The rows with time and packet as the user wrote them, or in normal form.
fn rows<Buf: M, Time: M, Packet: M>(written: bool) -> Vec<Row> {
    let mut pool = Pool::new();
    let factors = [Buf::EXPR, Time::EXPR, Packet::EXPR].map(|expr| factorize(&mut pool, expr));
    let [buf, time, packet] = &factors;
    let (time, packet) = match written {
        true => (Stream::Expr(Time::EXPR), Stream::Expr(Packet::EXPR)),
        false => (Stream::Factors(time), Stream::Factors(packet)),
    };
    let names = Request::TIME_AND_PACKET;
    let request = Request { operation: "read", buf, time, packet, partial: true, unread: true, names };
    let explanation = explain_loops(&mut pool, &request).expect("derives");
    let entries: Vec<_> = explanation.rows.iter().map(|row| row.entry).collect();
    assert_eq!(entries, explanation.derived.entries.as_slice());
    let unmerged: Vec<_> = explanation.merged.iter().map(|row| (&row.term, row.entry)).collect();
    assert_eq!(unmerged, explanation.rows.iter().map(|row| (&row.term, row.entry)).collect::<Vec<_>>());
    explanation.rows
}

/// Term, stride source and buffer after, of each row.
#[track_caller]
fn check<Buf: M, Time: M, Packet: M>(expected: &[[&str; 3]]) {
    let rows = rows::<Buf, Time, Packet>(true);
    let found: Vec<_> = rows.iter().map(|row| [&row.term[..], &row.source, &row.after]).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_part_in_the_middle_of_a_digit() {
    check::<m![K], m![K / 4 % 3, K / 12], m![K % 4]>(&[
        ["K / 4 % 3", "m![K % 4]::SIZE", "m![K / 12, 1 # 3, K % 4]"],
        ["K / 12", "m![1 # 3, K % 4]::SIZE", "m![1 # 6, K % 4]"],
        ["K % 4", "contiguous (Packet dimension)", "1 # 24"],
    ]);
    check::<m![B, K, A], m![K / 4 % 3, K % 4], m![1]>(&[
        ["K / 4 % 3", "m![K % 4, A]::SIZE", "m![B, K / 12, 1 # 3, K % 4, A]"],
        ["K % 4", "m![A]::SIZE", "m![B, K / 12, 1 # 12, A]"],
    ]);
    // The buffer holds a part, of which the stream reads a part.
    check::<m![K / 2 % 6], m![K / 4 % 3], m![K / 2 % 2]>(&[
        ["K / 4 % 3", "m![K / 2 % 2]::SIZE", "m![1 # 3, K / 2 % 2]"],
        ["K / 2 % 2", "contiguous (Packet dimension)", "1 # 6"],
    ]);
}

#[test]
fn padding_of_the_buffer() {
    check::<m![G # 8, H # 12], m![H, G], m![1]>(&[
        ["H", "H in m![G # 8, H # 12]", "m![G # 8, 1 # 12]"],
        ["G", "m![1 # 12]::SIZE", "1 # 96"],
    ]);
    check::<m![G # 8, H # 12], m![G, H], m![1]>(&[
        ["G", "m![H # 12]::SIZE", "m![1 # 8, H # 12]"],
        ["H", "H in m![1 # 8, H # 12]", "1 # 96"],
    ]);
    check::<m![H, 1 # 4], m![H], m![1]>(&[["H", "m![1 # 4]::SIZE", "1 # 40"]]);
    // Padding of two axes together.
    check::<m![[G, H] # 64], m![H, G], m![1]>(&[
        ["H", "H in m![[G, H] # 64]", "m![[G, 1 # 10] # 64]"],
        ["G", "m![1 # 10]::SIZE", "1 # 64"],
    ]);
    check::<m![[G, H] # 64], m![G, H], m![1]>(&[
        ["G", "m![H]::SIZE", "m![[1 # 6, H] # 64]"],
        ["H", "H in m![[1 # 6, H] # 64]", "1 # 64"],
    ]);
}

/// What a removed block has left, and padding outside of it.
#[test]
fn two_kinds_of_padding_are_one() {
    let mut pool = Pool::new();
    let mut factors = factorize(&mut pool, <m![P]>::EXPR);
    factors.push_padding(8, PaddingKind::Bottom);
    factors.push_padding(16, PaddingKind::Top);
    assert_eq!(Remains::new(&pool, &factors).notation(&pool), "m![P # 16]");
}

#[test]
fn digits_that_cross_cuts() {
    check::<m![K % 8, B, K / 8], m![K], m![B]>(&[
        ["K / 8", "K / 8 in m![K % 8, B, K / 8]", "m![K % 8, B, 1 # 3]"],
        ["K % 8", "m![B, 1 # 3]::SIZE", "m![1 # 8, B, 1 # 3]"],
        ["B", "m![1 # 3]::SIZE", "1 # 120"],
    ]);
    check::<m![K % 8, B, K / 8], m![K / 4], m![K % 4]>(&[
        ["K / 8", "K / 8 in m![K % 8, B, K / 8]", "m![K % 8, B, 1 # 3]"],
        ["K / 4 % 2", "m![K % 4, B, 1 # 3]::SIZE", "m![1 # 2, K % 4, B, 1 # 3]"],
        ["K % 4", "m![B, 1 # 3]::SIZE", "m![1 # 8, B, 1 # 3]"],
    ]);
    // Padding of the stream enlarges the outermost loop.
    check::<m![B # 6 % 2, B # 6 / 2], m![B # 6], m![1]>(&[
        ["B # 6 / 2", "B # 6 / 2 in m![B # 6 % 2, B # 6 / 2]", "m![B # 6 % 2, 1 # 3]"],
        ["B # 6 % 2", "m![1 # 3]::SIZE", "1 # 6"],
    ]);
    check::<m![K % 8, K / 8], m![K # 32], m![1]>(&[
        ["K / 8 # 4", "K / 8 # 4 in m![K % 8, K / 8]", "m![K % 8, 1 # 3]"],
        ["K % 8", "m![1 # 3]::SIZE", "1 # 24"],
    ]);
}

#[test]
fn slices_and_broadcasts() {
    check::<m![K = 9], m![K = 9], m![1]>(&[["K = 9", "K = 9 in m![K = 9]", "1 # 9"]]);
    check::<m![K = 9], m![K = 4], m![1]>(&[["K = 4", "K = 4 in m![K = 9] (sliced to 4)", "1 # 9"]]);
    check::<m![K], m![P, K / 8 = 2], m![K % 8]>(&[
        ["P", "not in Buf (broadcast)", "m![K]"],
        ["K / 8 = 2", "m![K % 8]::SIZE (sliced to 2)", "m![1 # 3, K % 8]"],
        ["K % 8", "contiguous (Packet dimension)", "1 # 24"],
    ]);
    check::<m![K], m![P = 2, K], m![1 # 4]>(&[
        ["P = 2", "not in Buf (broadcast) (sliced to 2)", "m![K]"],
        ["K", "K in m![K]", "1 # 24"],
        ["1 # 4", "contiguous (Packet dimension)", "1 # 24"],
    ]);
    check::<m![K], m![1 # 4, K], m![1]>(&[
        ["1 # 4", "padding (reads the same again)", "m![K]"],
        ["K", "K in m![K]", "1 # 24"],
    ]);
    // A part that the buffer does not hold.
    check::<m![K % 8], m![K / 8], m![K % 8]>(&[
        ["K / 8", "not in Buf (broadcast)", "m![K % 8]"],
        ["K % 8", "contiguous (Packet dimension)", "1 # 8"],
    ]);
}

#[test]
fn a_run_of_the_buffer_is_read_as_one_axis() {
    type Blocks = m![[G, H] # 64 / 8];
    type Inside = m![[G, H] # 64 % 8];
    const PART: &str = "[G, H / 2] # 32 % 4";
    let last_two = |rest: &str| [format!("m![1 # 32, H % 2{rest}]"), format!("m![1 # 64{rest}]")];
    let [first, second] = last_two("");
    let second = second.replace("m![", "").replace(']', "");
    check::<m![[G, H] # 64], m![{ Blocks }], m![{ Inside }]>(&[
        ["[G, H] # 64 / 8", &format!("m![{PART}, H % 2]::SIZE"), &format!("m![1 # 8, {PART}, H % 2]")],
        [PART, "m![H % 2]::SIZE", &first],
        ["H % 2", "contiguous (Packet dimension)", &second],
    ]);
    // The same with an axis on either side of the run.
    check::<m![A, [G, H] # 64, B], m![{ Blocks }, A], m![{ Inside }]>(&[
        [
            "[G, H] # 64 / 8",
            &format!("m![{PART}, H % 2, B]::SIZE"),
            &format!("m![A, 1 # 8, {PART}, H % 2, B]"),
        ],
        ["A", &format!("m![1 # 8, {PART}, H % 2, B]::SIZE"), &format!("m![1 # 24, {PART}, H % 2, B]")],
        [PART, "m![H % 2, B]::SIZE", "m![1 # 96, H % 2, B]"],
        ["H % 2", "m![B]::SIZE", "m![1 # 192, B]"],
    ]);
    // A buffer of a part of the group, as it is.
    check::<m![{ Blocks }, B], m![{ Blocks }], m![B]>(&[
        ["[G, H] # 64 / 8", "m![B]::SIZE", "m![1 # 8, B]"],
        ["B", "contiguous (Packet dimension)", "1 # 40"],
    ]);
    // A run that begins and ends in the middle of a digit.
    check::<m![K % 12, H], m![[K % 2, H] / 4, K / 2 % 6], m![[K % 2, H] % 4]>(&[
        [
            "[K % 2, H] / 4",
            "m![[K % 2, H / 2] % 2, H % 2]::SIZE",
            "m![K / 2 % 6, 1 # 5, [K % 2, H / 2] % 2, H % 2]",
        ],
        ["K / 2 % 6", "m![1 # 5, [K % 2, H / 2] % 2, H % 2]::SIZE", "m![1 # 30, [K % 2, H / 2] % 2, H % 2]"],
        ["[K % 2, H / 2] % 2", "m![H % 2]::SIZE", "m![1 # 60, H % 2]"],
        ["H % 2", "contiguous (Packet dimension)", "1 # 120"],
    ]);
    // Far inside of a digit: 8 of 24 values, 5 positions each.
    check::<m![G, K, B], m![[G, K] / 16], m![[G, K] % 16]>(&[
        ["[G, K] / 16", "m![[G, K / 8] % 2, K % 8, B]::SIZE", "m![1 # 9, [G, K / 8] % 2, K % 8, B]"],
        ["[G, K / 8] % 2", "m![K % 8, B]::SIZE", "m![1 # 18, K % 8, B]"],
        ["K % 8", "m![B]::SIZE", "m![1 # 144, B]"],
    ]);
    // A composite with padding inside, all of whose 54 positions are cut into 9 x 6.
    type Rows = m![[G, P # 9] / 6];
    type Columns = m![[G, P # 9] % 6];
    check::<m![A, G, P # 9, B], m![{ Columns }, { Rows }], m![B]>(&[
        ["[G, P # 9] % 6", "m![B]::SIZE", "m![A, [G, P # 9] / 6, 1 # 6, B]"],
        ["[G, P # 9] / 6", "m![1 # 6, B]::SIZE", "m![A, 1 # 54, B]"],
        ["B", "contiguous (Packet dimension)", "m![A, 1 # 270]"],
    ]);
}

#[test]
fn streams_in_normal_form() {
    let rows = rows::<m![K, B], m![K / 2], m![K % 2, B]>(false);
    let found: Vec<_> = rows.iter().map(|row| [&row.term[..], &row.source, &row.after]).collect();
    assert_eq!(
        found,
        [
            ["K / 2", "m![K % 2, B]::SIZE", "m![1 # 12, K % 2, B]"],
            ["K % 2", "m![B]::SIZE", "m![1 # 24, B]"],
            ["B", "contiguous (Packet dimension)", "1 # 120"],
        ]
    );
}

#[test]
fn dead_positions_before_a_block() {
    axes![D = 90, E = 32];
    type Unit = m![# 2 + D + # 4];
    // The stream has them.
    check::<m![E, D # 96], m![E, { Unit } / 32], m![{ Unit } % 32]>(&[
        ["E", "m![D # 96]::SIZE", "m![1 # 32, D # 96]"],
        ["[# 2 + D + # 4] / 32", "m![[# 2 + D] # 96 % 32]::SIZE", "m![1 # 96, [# 2 + D] # 96 % 32]"],
        ["[# 2 + D + # 4] % 32", "contiguous (Packet dimension)", "1 # 3072"],
    ]);
    // The buffer has them.
    check::<m![E, { Unit }], m![E, D / 10], m![D % 10]>(&[
        ["E", "m![# 2 + D + # 4]::SIZE", "m![1 # 32, # 2 + D + # 4]"],
        ["D / 10", "m![D % 10]::SIZE", "m![1 # 32, [1 # 9, D % 10] # 96]"],
        ["D % 10", "contiguous (Packet dimension)", "1 # 3072"],
    ]);
    // Both have them.
    check::<m![E, { Unit }], m![E], m![# 2 + D + # 4]>(&[
        ["E", "m![# 2 + D + # 4]::SIZE", "m![1 # 32, # 2 + D + # 4]"],
        ["# 2 + D + # 4", "contiguous (Packet dimension)", "1 # 3072"],
    ]);
}
