//! Reads by hand: the entries of padded products, of digits that cross cuts, of truncated buffers and of composites, with
//! refused neighbours of each case.

use super::*;
use crate::mapping::{Axis, FACTORS, Ident, M, factorize};
use crate::prelude::{axes, m};
use crate::sequencer::StreamPart;

axes![A = 16, B = 5, C = 2, G = 6, H = 10, P = 7, W = 20];

fn request<'a>(buf: &'a Factors, time: StreamPart<'a>, packet: StreamPart<'a>) -> Request<'a> {
    Request::new("read", buf, time, packet)
}

fn derived<Buf: M, Time: M, Packet: M>() -> Result<Derived, PlanError> {
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, Buf::EXPR);
    derive(&mut pool, &request(&buf, StreamPart::Expr(Time::EXPR), StreamPart::Expr(Packet::EXPR)))
}

#[track_caller]
fn read<Buf: M, Time: M, Packet: M>() -> String {
    match derived::<Buf, Time, Packet>() {
        Ok(derived) => derived.config.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn refused<Buf: M, Time: M, Packet: M>() -> PlanError {
    match derived::<Buf, Time, Packet>() {
        Ok(derived) => panic!("accepted: {}", derived.config),
        Err(error) => error,
    }
}

#[track_caller]
fn rule<Buf: M, Time: M, Packet: M>() -> &'static str {
    refused::<Buf, Time, Packet>().rule()
}

/// The same with time and packet in normal form, as other engines pass them.
#[track_caller]
fn read_factors<Buf: M, Time: M, Packet: M>() -> String {
    let mut pool = Pool::new();
    let factors = [Buf::EXPR, Time::EXPR, Packet::EXPR].map(|expr| factorize(&mut pool, expr));
    let [buf, time, packet] = &factors;
    match derive(&mut pool, &request(buf, StreamPart::Factors(time), StreamPart::Factors(packet))) {
        Ok(derived) => derived.config.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_padded_group_of_time_is_a_loop_per_axis_or_one_run() {
    // 20 is 4 times 5: the outer axis becomes longer.
    assert_eq!(read::<m![G = 3, B], m![[G = 3, B] # 20], m![1]>(), "[4 : 5, 5 : 1] : 1");
    assert_eq!(read::<m![B, G = 3], m![[G = 3, B] # 20], m![1]>(), "[4 : 1, 5 : 3] : 1");
    // 32 is not a multiple of 5: it is read only if the product is contiguous.
    assert_eq!(read::<m![G = 3, B], m![[G = 3, B] # 32], m![1]>(), "[32 : 1] : 1");
    assert_eq!(rule::<m![B, G = 3], m![[G = 3, B] # 32], m![1]>(), "not factorizable");
}

#[test]
fn a_padded_group_of_a_packet_is_a_run_where_it_can_be() {
    assert_eq!(read::<m![G = 3, B], m![1], m![[G = 3, B] # 20]>(), "[20 : 1] : 20");
    assert_eq!(read::<m![G = 3, B, C], m![C], m![[G = 3, B] # 20]>(), "[2 : 1, 20 : 2] : 20");
    // Otherwise the outermost loop becomes longer: 40 is 4 times 5 x 2.
    assert_eq!(read::<m![B, G = 3, C], m![1], m![[G = 3, B, C] # 40]>(), "[4 : 2, 5 : 6, 2 : 1] : 40");
    assert_eq!(rule::<m![B, G = 3, C], m![1], m![[G = 3, B, C] # 36]>(), "not factorizable");
    // The outermost loop may be a part of an axis: 2 x 5 positions are inside it.
    assert_eq!(read::<m![A % 2, B, A / 2], m![1], m![[A, B] # 90]>(), "[9 : 1, 2 : 40, 5 : 8] : 90");
    assert_eq!(rule::<m![A % 2, B, A / 2], m![1], m![[A, B] # 85]>(), "not factorizable");
}

#[test]
fn padding_alone_is_read_again_in_time_and_read_on_in_a_packet() {
    assert_eq!(read::<m![A], m![1 # 4], m![A]>(), "[4 : 0, 16 : 1] : 16");
    assert_eq!(read::<m![A], m![A], m![1 # 4]>(), "[16 : 1, 4 : 1] : 4");
    assert_eq!(read::<m![A], m![A, 1 # 4], m![1]>(), "[16 : 1, 4 : 0] : 1");
    // Two kinds of padding are one loop.
    let mut pool = Pool::new();
    let (one, mut time) = (Factors::ONE, Factors::ONE);
    time.push_padding(4);
    time.push_padding(8);
    let read = derive(&mut pool, &request(&one, StreamPart::Factors(&time), StreamPart::Factors(&one)));
    assert_eq!(read.expect("derives").config.to_string(), "[8 : 0] : 1");
    // Padding between digits makes the loop outside it longer, and adds no loop.
    assert_eq!(read_factors::<m![G, B], m![G, B # 8, 1 # 4], m![1]>(), "[6 : 5, 8 : 1, 4 : 0] : 1");
    assert_eq!(read_factors::<m![G, B], m![1], m![G # 8, B # 6]>(), "[8 : 5, 6 : 1] : 48");
}

#[test]
fn digits_that_cross_cuts_of_the_buffer() {
    assert_eq!(read::<m![A % 8, A / 8], m![A / 2], m![A % 2]>(), "[2 : 1, 4 : 4, 2 : 2] : 2");
    assert_eq!(read::<m![A % 8, A / 8], m![A % 2], m![A / 2]>(), "[2 : 2, 2 : 1, 4 : 4] : 8");
    assert_eq!(read::<m![A % 2, A / 4, C, A / 2 % 2], m![A], m![C]>(), "[4 : 4, 2 : 1, 2 : 16, 2 : 2] : 2");
    // The last turn of the outer loop is padding.
    assert_eq!(read::<m![B # 6 % 2, B # 6 / 2], m![1], m![B # 6]>(), "[3 : 1, 2 : 3] : 6");
    assert_eq!(rule::<m![B # 6 % 2, B # 6 / 2], m![1], m![B]>(), "incompatible shapes");
    assert_eq!(rule::<m![A % 4, A / 4], m![1], m![A = 6]>(), "incompatible shapes");
    // Three steps of 3 are more than a part of 8, and do not fit across parts.
    assert_eq!(rule::<m![A % 8], m![A # 18 / 3 % 3], m![A # 18 % 3]>(), "insufficient input");
    assert_eq!(rule::<m![A % 8, A / 8], m![A # 18 / 3], m![A # 18 % 3]>(), "incompatible shapes");
    assert_eq!(rule::<m![A / 2], m![A], m![1]>(), "insufficient input");
    assert_eq!(rule::<m![A % 8], m![A / 4], m![A % 4]>(), "insufficient input");
    // 16 steps for 15 coordinates: the buffer ends where the axis ends.
    axes![L = 15];
    assert_eq!(read::<m![L], m![L # 16 / 4], m![L # 16 % 4]>(), "[4 : 4, 4 : 1] : 4");
}

#[test]
fn a_truncated_buffer_is_read_as_far_as_it_goes() {
    assert_eq!(read::<m![A = 9], m![A = 9], m![1]>(), "[9 : 1] : 1");
    assert_eq!(read::<m![A = 9], m![A / 4 = 2], m![A % 4]>(), "[2 : 4, 4 : 1] : 4");
    assert_eq!(rule::<m![A = 9], m![A], m![1]>(), "insufficient input");
    assert_eq!(rule::<m![A = 9], m![A / 4 = 3], m![A % 4]>(), "insufficient input");
    assert_eq!(rule::<m![A % 8 = 6, A / 8], m![A], m![1]>(), "insufficient input");
    assert_eq!(read::<m![A % 8 = 6, A / 8], m![A / 8], m![A % 8 = 6]>(), "[2 : 1, 6 : 2] : 6");
}

#[test]
fn what_is_not_read_is_named() {
    let unread = |error: PlanError| {
        let (_, text) = error.message().split_once(" holds `").expect("names it");
        text.split_once('`').expect("ends").0.to_string()
    };
    assert_eq!(unread(refused::<m![A, B], m![1], m![B]>()), "m![A]");
    assert_eq!(unread(refused::<m![A, B], m![A % 2], m![B]>()), "m![A / 2]");
    assert_eq!(unread(refused::<m![A, B], m![A % 4 / 2, A % 2], m![B]>()), "m![A / 4]");
    assert_eq!(rule::<m![A, B], m![A / 2], m![B]>(), "axis dropped");
}

#[test]
fn a_group_that_the_buffer_lacks_is_a_broadcast_and_half_of_one_is_refused() {
    type Group = m![[G, H] # 64 / 8];
    assert_eq!(read::<m![A], m![{ Group }], m![A]>(), "[8 : 0, 16 : 1] : 16");
    assert_eq!(rule::<m![A, G], m![{ Group }], m![A]>(), "not factorizable");
    assert_eq!(rule::<m![A, H], m![{ Group }], m![A]>(), "not factorizable");
    assert_eq!(rule::<m![H, G], m![{ Group }], m![[G, H] # 64 % 8]>(), "not factorizable");
    // A composite of a composite.
    type Outer = m![[[G, H] # 64 / 8, P] # 60 / 10];
    assert_eq!(read::<m![A], m![{ Outer }], m![A]>(), "[6 : 0, 16 : 1] : 16");
    assert_eq!(rule::<m![A, G], m![{ Outer }], m![A]>(), "not factorizable");
    assert_eq!(rule::<m![A, P], m![{ Outer }], m![A]>(), "not factorizable");
}

#[test]
fn groups_are_read_to_their_end() {
    type Blocks = m![[G, H] # 64 / 8];
    type Inside = m![[G, H] # 64 % 8];
    assert_eq!(read::<m![G, H], m![{ Blocks }], m![{ Inside }]>(), "[8 : 8, 4 : 2, 2 : 1] : 8");
    // Two composites; each covers its digits.
    assert_eq!(
        read::<m![B, W, G, H], m![[B, W] # 104 / 8, [B, W] # 104 % 8, { Blocks }], m![{ Inside }]>(),
        "[104 : 60, 8 : 8, 4 : 2, 2 : 1] : 8"
    );
    assert_eq!(
        read::<m![G, H, B, W], m![[B, W] # 104 / 8, [B, W] # 104 % 8, { Blocks }], m![{ Inside }]>(),
        "[104 : 1, 8 : 800, 4 : 200, 2 : 100] : 8"
    );
    // The stream leaves out a digit outside, a digit inside, a half of the blocks, or the innermost digit.
    assert_eq!(rule::<m![A, G, H], m![{ Blocks }], m![{ Inside }]>(), "axis dropped");
    assert_eq!(rule::<m![G, H, A], m![{ Blocks }], m![{ Inside }]>(), "axis dropped");
    assert_eq!(rule::<m![G, H], m![{ Blocks } % 4], m![{ Inside }]>(), "axis dropped");
    assert_eq!(rule::<m![G, H], m![{ Blocks }], m![{ Inside } / 2]>(), "axis dropped");
}

#[test]
fn a_part_that_is_not_held_is_repeated_if_asked_for() {
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, <m![A % 4]>::EXPR);
    let (time, packet) = (StreamPart::Expr(<m![A / 4]>::EXPR), StreamPart::Expr(<m![A % 4]>::EXPR));
    let strict = request(&buf, time, packet);
    assert_eq!(derive(&mut pool, &strict).expect_err("refused").rule(), "insufficient input");
    let partial = Request { partial: true, ..strict };
    let read = derive(&mut pool, &partial).expect("repeats");
    assert_eq!((read.config.to_string().as_str(), read.time_entries), ("[4 : 0, 4 : 1] : 4", 1));
    // The same for a part that begins in the middle of a digit of the stream.
    let whole =
        Request { time: StreamPart::Expr(<m![A]>::EXPR), packet: StreamPart::Expr(<m![1]>::EXPR), ..partial };
    assert_eq!(derive(&mut pool, &whole).expect("repeats").config.to_string(), "[4 : 0, 4 : 1] : 1");
}

#[test]
fn mappings_that_have_no_normal_form_are_refused() {
    const A: &Expr = &Expr::Symbol(Axis { name: Ident::new("A"), size: 16 });
    let broken = Expr::Stride(A, 5);
    for place in 0..3 {
        let mut pool = Pool::new();
        let exprs: [&Expr; 3] = [0, 1, 2].map(|k| if k == place { &broken } else { &Expr::Identity });
        let buf = factorize(&mut pool, exprs[0]);
        let result =
            derive(&mut pool, &request(&buf, StreamPart::Expr(exprs[1]), StreamPart::Expr(exprs[2])));
        assert_eq!(result.expect_err("is refused").rule(), "not divisible");
    }
}

/// A list of `count` axes of two values.
fn many(prefix: char, count: usize) -> &'static Expr {
    let axis = |k: usize| {
        let name = Box::leak(format!("{prefix}{k}").into_boxed_str());
        Expr::Symbol(Axis { name: Ident::new(name), size: 2 })
    };
    let first = axis(0);
    Box::leak(Box::new(
        (1..count).fold(first, |list, k| Expr::Pair(Box::leak(Box::new(list)), Box::leak(Box::new(axis(k))))),
    ))
}

#[test]
fn lists_hold_the_longest_mapping_and_report_more() {
    let mut pool = Pool::new();
    let all = many('A', FACTORS);
    let buf = factorize(&mut pool, all);
    let read = derive(&mut pool, &request(&buf, StreamPart::Expr(all), StreamPart::Expr(&Expr::Identity)));
    assert_eq!(read.expect("fits").config.entries.len(), FACTORS);
    let repeats = many('B', FACTORS);
    let read = derive(&mut pool, &request(&buf, StreamPart::Expr(repeats), StreamPart::Expr(all)));
    assert_eq!(read.expect_err("needs too many entries").rule(), "too many factors");
    // The same if the entries overflow before a product whose loops are checked.
    let group = factorize(&mut pool, <m![G, B]>::EXPR);
    let packet = StreamPart::Expr(<m![[G, B] # 40]>::EXPR);
    let read = derive(&mut pool, &request(&group, StreamPart::Expr(repeats), packet));
    assert_eq!(read.expect_err("needs too many entries").rule(), "too many factors");
}

/// A composite of the buffer is read if the stream holds it in order.
#[test]
fn products_that_the_buffer_cuts() {
    axes![A = 2, B = 5, C = 8, D = 3, E = 7];
    // 10 values: the lowest bit is 5 apart, pairs are 1 apart.
    type Bits = m![[A, B] % 2, [A, B] / 2];
    assert_eq!(read::<Bits, m![1], m![A, B]>(), "[5 : 1, 2 : 5] : 10");
    assert_eq!(read::<Bits, m![1], m![[A, B] # 12]>(), "[6 : 1, 2 : 5] : 12");
    assert_eq!(read::<Bits, m![E], m![A, B]>(), "[7 : 0, 5 : 1, 2 : 5] : 10");
    // B first: 0, 5, 1, 6, 2 and then 7, ….
    assert_eq!(rule::<Bits, m![1], m![B, A]>(), "not factorizable");
    assert_eq!(rule::<Bits, m![1], m![[A, B] # 11]>(), "not factorizable");
    // Parts of a product that the buffer cuts elsewhere are no digits of its composite.
    type Quarters = m![[C, D] % 4, [C, D] / 4];
    assert_eq!(read::<Quarters, m![1], m![C, D]>(), "[6 : 1, 4 : 6] : 24");
    assert_eq!(rule::<Quarters, m![C / 4], m![C % 4, D]>(), "not factorizable");
    assert_eq!(rule::<Quarters, m![1], m![D, C % 4]>(), "not factorizable");
    // The first 14 of 21 positions.
    assert_eq!(read::<m![[E, D] = 14], m![1], m![[E, D] = 13]>(), "[13 : 1] : 13");
    assert_eq!(rule::<m![[E, D] = 14], m![1], m![[E, D] = 16]>(), "insufficient input");
    assert_eq!(rule::<m![[E, D] = 14], m![E = 4], m![D]>(), "not factorizable");
}

/// A part of an axis is no part of a composite if only the first values of the axis are held.
#[test]
fn parts_of_the_first_values_are_no_products() {
    axes![A = 16, B = 8, C = 4];
    assert_eq!(read::<m![A, B], m![A % 8, B], m![A / 8]>(), "[8 : 8, 8 : 1, 2 : 64] : 2");
    assert_eq!(read::<m![A, B], m![[A % 8, B] = 54], m![A / 8]>(), "[54 : 1, 2 : 64] : 2");
    // A = 14 would be read in step 48: it is 8 + 6.
    assert_eq!(rule::<m![[A, B] = 112], m![[A % 8, B] = 54], m![A / 8]>(), "not factorizable");
    // A = 3 would be read in step 2.
    assert_eq!(rule::<m![C = 3, B], m![[C % 2, B / 4] = 3], m![C / 2, B % 4]>(), "not factorizable");
}

/// An axis inside a composite of the buffer is present in the buffer.
#[test]
fn parts_of_products_are_not_repeated() {
    axes![A = 2, B = 5];
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, <m![[A, B] % 2, [A, B] / 2]>::EXPR);
    let (time, packet) = (StreamPart::Expr(<m![B]>::EXPR), StreamPart::Expr(<m![1]>::EXPR));
    let asked = Request { unread: true, ..request(&buf, time, packet) };
    assert_eq!(derive(&mut pool, &asked).expect_err("refused").rule(), "not factorizable");
}

/// Loops that make one run may be cut anywhere.
#[test]
fn products_of_the_stream_over_runs() {
    axes![A = 3, B = 2, C = 4, D = 16];
    // 16 positions padded to 18: the two outer loops are one run, 9 of 2.
    assert_eq!(read::<m![A # 4 % 2, B, A # 4 / 2], m![1], m![[B # 4, A # 4] # 18]>(), "[9 : 1, 2 : 4] : 18");
    // The first 18 of 32 positions of a run.
    assert_eq!(read::<m![C % 2, D], m![1], m![[C % 2, D] = 18]>(), "[18 : 1] : 18");
    assert_eq!(rule::<m![D, C % 2], m![1], m![[C % 2, D] = 18]>(), "not factorizable");
    // The first positions of a composite with an axis that the buffer lacks.
    assert_eq!(rule::<m![C], m![1], m![[D, C] # 68 = 7 # 8]>(), "not factorizable");
}

/// The outermost digit of a padded product is read to the end of its last turn.
#[test]
fn ragged_digits_of_padded_products() {
    axes![A = 5, B = 2, C = 3];
    type Cut = m![A # 6 % 2, A # 6 / 2, B];
    assert_eq!(read::<Cut, m![1], m![[A # 6, B] # 20]>(), "[5 : 2, 2 : 6, 2 : 1] : 20");
    assert_eq!(read::<Cut, m![1], m![[A, B] # 12]>(), "[3 : 2, 2 : 6, 2 : 1] : 12");
    assert_eq!(rule::<Cut, m![1], m![[A, B] # 14]>(), "not factorizable");
    assert_eq!(read::<m![A # 6 % 2, C, A # 6 / 2], m![1], m![[A, C] # 24]>(), "[4 : 1, 2 : 9, 3 : 3] : 24");
}

/// The last value that a stream reaches counts, not the end of the last step.
#[test]
fn steps_over_a_truncated_axis() {
    axes![A = 6, B = 16];
    assert_eq!(read::<m![A = 5], m![A / 3], m![A % 3 = 2]>(), "[2 : 3, 2 : 1] : 2");
    assert_eq!(rule::<m![A = 4], m![A / 3], m![A % 3 = 2]>(), "insufficient input");
    assert_eq!(read::<m![B = 14], m![B / 8], m![B % 8 = 6]>(), "[2 : 8, 6 : 1] : 6");
    assert_eq!(rule::<m![B = 13], m![B / 8], m![B % 8 = 6]>(), "insufficient input");
    // The parts of the stream do not end where the digits of the buffer do.
    assert_eq!(rule::<m![A % 3, A / 3 # 3], m![A / 2 = 2], m![A % 2]>(), "incompatible shapes");
}

axes![D = 90, E = 32];

#[test]
fn dead_positions_before_a_block_are_read_too() {
    // The cases of padding on both sides (guide: fetch).
    type Unit = m![# 2 + D + # 4];
    assert_eq!(
        read::<m![E, D # 96], m![E, { Unit } / 32], m![{ Unit } % 32]>(),
        "[32 : 96, 3 : 32, 32 : 1] : 32 @ base -2"
    );
    assert_eq!(
        read::<m![E, D # 96], m![{ Unit } / 32, E], m![{ Unit } % 32]>(),
        "[3 : 32, 32 : 96, 32 : 1] : 32 @ base -2"
    );
    assert_eq!(read::<m![E, D # 96], m![E], m![# 2 + D + # 4]>(), "[32 : 96, 96 : 1] : 96 @ base -2");
    // The stride of the composite counts.
    assert_eq!(read::<m![D, E], m![E], m![# 2 + D + # 4]>(), "[32 : 1, 96 : 32] : 96 @ base -64");
    assert_eq!(read::<m![E, D], m![1], m![# 6 + [E, D]]>(), "[2886 : 1] : 2886 @ base -6");
    assert_eq!(read_factors::<m![E, D], m![1], m![# 6 + [E, D]]>(), "[2886 : 1] : 2886 @ base -6");
    // Several composites.
    assert_eq!(read::<m![E, D # 96], m![# 1 + E], m![# 2 + D + # 4]>(), "[33 : 96, 96 : 1] : 96 @ base -98");
}

#[test]
fn buffers_hold_dead_positions_before_a_block() {
    // The whole composite, its digits, or its parts.
    assert_eq!(read::<m![E, # 2 + D + # 4], m![E], m![# 2 + D + # 4]>(), "[32 : 96, 96 : 1] : 96");
    assert_eq!(read::<m![E, # 2 + D + # 4], m![E], m![D]>(), "[32 : 96, 90 : 1] : 90 @ base 2");
    assert_eq!(
        read::<m![E, # 2 + D + # 4], m![E, D / 10], m![D % 10]>(),
        "[32 : 96, 9 : 10, 10 : 1] : 10 @ base 2"
    );
    assert_eq!(read::<m![# 2 + D + # 4, E], m![E], m![D]>(), "[32 : 1, 90 : 32] : 90 @ base 64");
    // Another margin around the same digits.
    assert_eq!(read::<m![E, # 2 + D + # 4], m![E], m![# 3 + D + # 3]>(), "[32 : 96, 96 : 1] : 96 @ base -1");
    assert_eq!(
        read::<m![# 3 + D], m![[# 2 + D] % 4], m![[# 2 + D + # 4] / 4]>(),
        "[4 : 1, 24 : 4] : 24 @ base 1"
    );
    // A composite inside another one.
    assert_eq!(read::<m![# 1 + [G, # 2 + P]], m![P], m![G]>(), "[7 : 1, 6 : 9] : 6 @ base 3");
    assert_eq!(read::<m![# 1 + [G, # 2 + P]], m![G], m![# 2 + P]>(), "[6 : 9, 9 : 1] : 9 @ base 1");
    // Two composites; one of them is read with its lead.
    assert_eq!(read::<m![# 1 + G, # 2 + P], m![# 1 + G], m![# 3 + P]>(), "[7 : 9, 10 : 1] : 10 @ base -1");
    // An axis that the buffer lacks.
    assert_eq!(read::<m![P], m![# 2 + G], m![P]>(), "[8 : 0, 7 : 1] : 7");
}

#[test]
fn margins_that_no_loops_read() {
    // The content is no run, or only a part of it is present.
    assert_eq!(rule::<m![D, E], m![1], m![# 2 + [E, D]]>(), "not factorizable");
    assert_eq!(rule::<m![D / 2], m![# 2 + D], m![1]>(), "not factorizable");
    assert_eq!(rule::<m![[# 2 + D + # 4] / 4, E, [# 2 + D + # 4] % 4], m![E], m![D]>(), "not factorizable");
    // An axis that occurs twice, once in a composite.
    assert_eq!(rule::<m![D], m![# 1 + D % 9], m![D]>(), "axis repeated");
    assert_eq!(read::<m![D], m![D % 9], m![# 1 + D / 9]>(), "[9 : 1, 11 : 9] : 11 @ base -9");
    assert_eq!(rule::<m![D], m![D % 9], m![# 1 + D / 3]>(), "axis repeated");
    // The other digits of an opened composite are dropped.
    assert_eq!(rule::<m![# 2 + [E, D]], m![1], m![D]>(), "axis dropped");
    assert_eq!(rule::<m![# 2 + D, E], m![1], m![E]>(), "axis dropped");
    let text = refused::<m![D, E], m![1], m![# 2 + [E, D]]>();
    assert!(
        text.message().contains("`m![# 2 + [E, D]]` is no nest of loops over the buffer `m![D, E]`"),
        "{text}"
    );
}

/// Composites of one element: equal ones are distinguished by their axes, and loops start at the element of unread
/// ones.
#[test]
fn blocks_of_one_element() {
    axes![U = 1, V = 1];
    type Both = m![A, # 2 + U + # 1, # 2 + V + # 1];
    assert_eq!(read::<Both, m![# 2 + V + # 1, A], m![# 2 + U + # 1]>(), "[4 : 1, 16 : 16, 4 : 4] : 4");
    assert_eq!(read::<Both, m![A], m![# 2 + V + # 1]>(), "[16 : 16, 4 : 1] : 4 @ base 8");
    assert_eq!(read::<Both, m![A], m![1]>(), "[16 : 16] : 1 @ base 10");
    // In a composite, by itself, unread, and with other padding positions.
    type Inside = m![# 1 + [A, # 2 + U + # 1] + # 1];
    assert_eq!(read::<Inside, m![A], m![# 2 + U + # 1]>(), "[16 : 4, 4 : 1] : 4 @ base 1");
    assert_eq!(read::<Inside, m![A], m![1]>(), "[16 : 4] : 1 @ base 3");
    assert_eq!(read::<Inside, m![A], m![# 1 + U + # 2]>(), "[16 : 4, 4 : 0] : 4 @ base 3");
    // Cut in the buffer: its parts are digits like others.
    type Cut = m![[# 3 + U] / 2, A, [# 3 + U] % 2];
    assert_eq!(read::<Cut, m![A], m![# 3 + U]>(), "[16 : 2, 2 : 32, 2 : 1] : 4");
    assert_eq!(rule::<Cut, m![A], m![1]>(), "axis dropped");
}

/// The product and the other digits of an opened composite start at the same element.
#[test]
fn a_product_in_an_opened_block_next_to_a_digit() {
    // Position 1 + 2 (10 g + h) + c is at 2 + 10 g + h of the product.
    assert_eq!(
        read::<m![# 1 + [G, H, C] + # 1], m![C, [# 2 + [G, H] + # 2] / 4], m![[# 2 + [G, H] + # 2] % 4]>(),
        "[2 : 1, 16 : 8, 4 : 2] : 4 @ base -3"
    );
    assert_eq!(
        read::<m![# 1 + [G, H, C] + # 1], m![[# 2 + [G, H] + # 2] / 4, C], m![[# 2 + [G, H] + # 2] % 4]>(),
        "[16 : 8, 2 : 1, 4 : 2] : 4 @ base -3"
    );
    // The second of two composites is opened for the product.
    assert_eq!(
        read::<m![# 1 + [G, H, C], # 3 + P], m![C, # 2 + [G, H]], m![P]>(),
        "[2 : 10, 62 : 20, 7 : 1] : 7 @ base -27"
    );
    assert_eq!(
        read::<m![# 3 + P, # 1 + [G, H, C]], m![C, # 2 + [G, H]], m![P]>(),
        "[2 : 1, 62 : 2, 7 : 121] : 7 @ base 360"
    );
}

/// A composite with a lead is read digit by digit, and so are its neighbours.
#[test]
fn groups_and_parts_next_to_a_block() {
    type Buf = m![B, G = 3, C, # 1 + P];
    // 8 positions of the composite, 2 of C, 3 of G: 40 is 4 times 10.
    assert_eq!(read::<Buf, m![# 1 + P], m![[G = 3, B, C] # 40]>(), "[8 : 1, 4 : 16, 5 : 48, 2 : 8] : 40");
    assert_eq!(read::<Buf, m![[G = 3, B, C] # 40], m![# 1 + P]>(), "[4 : 16, 5 : 48, 2 : 8, 8 : 1] : 8");
    assert_eq!(rule::<Buf, m![# 1 + P], m![[G = 3, B, C] # 36]>(), "not factorizable");
    // The content is one run.
    assert_eq!(read::<m![G = 3, B, # 1 + P], m![[G = 3, B] # 32], m![# 1 + P]>(), "[32 : 8, 8 : 1] : 8");
    assert_eq!(rule::<m![B, G = 3, # 1 + P], m![[G = 3, B] # 32], m![# 1 + P]>(), "not factorizable");
    // Parts of an axis that the buffer cuts elsewhere.
    assert_eq!(
        read::<m![A % 8, A / 8, # 1 + P], m![A % 2, # 1 + P], m![A / 2]>(),
        "[2 : 16, 8 : 1, 2 : 8, 4 : 32] : 8"
    );
    assert_eq!(
        read::<m![A / 2, C, A % 2, # 1 + P], m![A / 4, C], m![A % 4, # 1 + P]>(),
        "[4 : 64, 2 : 16, 2 : 32, 2 : 8, 8 : 1] : 32"
    );
    // 16 steps for 15 coordinates.
    axes![L = 15];
    assert_eq!(
        read::<m![L, # 1 + P], m![L # 16 / 4, # 1 + P], m![L # 16 % 4]>(),
        "[4 : 32, 8 : 1, 4 : 8] : 4"
    );
    // Padding inside a composite counts in positions inside it.
    assert_eq!(read::<m![# 1 + [G, B # 8], C], m![G, B], m![C]>(), "[6 : 16, 5 : 2, 2 : 1] : 2 @ base 2");
    // The message names the rest of the digit.
    let text = refused::<m![A, # 1 + P], m![A % 2], m![# 1 + P]>();
    assert!(text.message().contains(" holds `m![A / 2]`, which the stream "), "{text}");
}

/// Parts of a composite alone and of the same one inside another share nothing. 8 values of the inner one are 4
/// pairs.
#[test]
fn composites_in_composites_are_compared_as_composites() {
    type Inside = m![[G, H] # 64 % 8];
    type Outer = m![[[G, H] # 64 / 8, P] # 60 / 10];
    assert_eq!(read::<m![A], m![{ Outer }, { Inside }], m![A]>(), "[6 : 0, 4 : 0, 2 : 0, 16 : 1] : 16");
    assert_eq!(read::<m![A], m![{ Inside }, { Outer }], m![A]>(), "[4 : 0, 2 : 0, 6 : 0, 16 : 1] : 16");
    assert_eq!(rule::<m![A], m![{ Outer }, [G, H] # 64 / 8], m![A]>(), "axis repeated");
    assert_eq!(rule::<m![A], m![[G, H] # 64 / 8, { Outer }], m![A]>(), "axis repeated");
    assert_eq!(rule::<m![A], m![{ Outer }, G], m![A]>(), "axis repeated");
}

fn leaked(expr: Expr) -> &'static Expr {
    Box::leak(Box::new(expr))
}

/// An axis whose name is a letter and a number.
fn numbered(prefix: char, k: usize, size: usize) -> &'static Expr {
    let name = Box::leak(format!("{prefix}{k}").into_boxed_str());
    leaked(Expr::Symbol(Axis { name: Ident::new(name), size }))
}

/// A list, outermost first.
fn listed(parts: Vec<&'static Expr>) -> &'static Expr {
    parts.into_iter().reduce(|list, part| leaked(Expr::Pair(list, part))).expect("has a part")
}

/// The loops of a stream that may leave out axes of the buffer.
fn read_some(buf: &'static Expr, time: &'static Expr, packet: &'static Expr) -> Result<String, &'static str> {
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, buf);
    let asked = Request { unread: true, ..request(&buf, StreamPart::Expr(time), StreamPart::Expr(packet)) };
    derive(&mut pool, &asked).map(|read| read.config.to_string()).map_err(|error| error.rule())
}

/// The buffer may have as many composites as a mapping has factors.
#[test]
fn as_many_blocks_as_there_is_room_for() {
    let blocks =
        |count| listed((0..count).map(|k| leaked(Expr::Margin(numbered('X', k, 2), 1, 0))).collect());
    let digits = |count| listed((0..count).map(|k| numbered('X', k, 2)).collect());
    // Composites of three positions: the element whose coordinates are all 0 is at 1 + 3 + 9 + ….
    let entries: Vec<String> = (0..24).rev().map(|k| format!("2 : {}", 3usize.pow(k))).collect();
    let expected = format!("[{}] : 1 @ base {}", entries.join(", "), (3usize.pow(24) - 1) / 2);
    assert_eq!(read_some(blocks(24), digits(24), &Expr::Identity), Ok(expected));
    assert_eq!(read_some(blocks(25), digits(24), &Expr::Identity), Err("too many factors"));
    // The same for the stream.
    assert!(read_some(digits(24), blocks(24), &Expr::Identity).is_ok());
    assert_eq!(read_some(digits(24), blocks(25), &Expr::Identity), Err("too many factors"));
}

/// A digit is not repeated next to a part of it that the loops read.
#[test]
fn parts_that_cannot_be_repeated() {
    axes![A = 3, B = 2];
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, <m![[A, B] # 8 % 4]>::EXPR);
    let asked = request(&buf, StreamPart::Expr(<m![A]>::EXPR), StreamPart::Expr(<m![B]>::EXPR));
    let error = derive(&mut pool, &Request { partial: true, ..asked }).expect_err("refused");
    assert_eq!(error.rule(), "incompatible shapes");
    assert!(error.message().starts_with("read: incompatible shapes: "), "{error}");
}

/// Padding positions before a part of a digit are no values of it.
#[test]
fn parts_with_dead_positions_before_them() {
    assert_eq!(rule::<m![A], m![# 15 + A % 2], m![1]>(), "axis dropped");
    let text = refused::<m![A], m![# 15 + A % 2], m![1]>();
    assert!(text.message().starts_with("read: the buffer "), "{text}");
}

/// Equivalent mappings are the same to a sequencer in every notation.
#[test]
fn spellings_do_not_count() {
    axes![P = 16];
    assert_eq!(read::<m![B], m![B], m![P]>(), "[5 : 1, 16 : 0] : 16");
    assert_eq!(read::<m![B], m![B], m![P / 4, P % 4]>(), "[5 : 1, 16 : 0] : 16");
    assert_eq!(read::<m![A], m![A / 4, A % 4], m![1]>(), "[16 : 1] : 1");
    // More members than entries: the members are merged.
    type Bits = m![A / 8, A / 4 % 2, A / 2 % 2, A % 2];
    assert_eq!(
        read::<m![A, B, C, G, P], m![{ Bits }, B, C], m![G, P / 4, P % 4]>(),
        "[2 : 7680, 2 : 3840, 2 : 1920, 2 : 960, 5 : 192, 2 : 96, 6 : 16, 4 : 4, 4 : 1] : 96"
    );
}

/// The rest of a cut-off digit is not left out, even if one value is left.
#[test]
fn what_is_cut_off_is_read() {
    assert_eq!(read::<m![A, B], m![A / 4, A % 4 = 1], m![B]>(), "[4 : 20, 5 : 1] : 5");
    assert_eq!(read::<m![A, B], m![A = 1], m![B]>(), "[5 : 1] : 5");
    assert_eq!(rule::<m![A, B], m![A / 4], m![B]>(), "axis dropped");
    assert_eq!(rule::<m![A, B], m![1], m![B]>(), "axis dropped");
}

/// An axis with one value in the buffer is no axis that the buffer lacks.
#[test]
fn one_value_is_not_repeated() {
    let rule = |buf: &'static Expr| {
        let mut pool = Pool::new();
        let factors = factorize(&mut pool, buf);
        let asked = request(&factors, StreamPart::Expr(<m![A]>::EXPR), StreamPart::Expr(<m![B]>::EXPR));
        derive(&mut pool, &Request { buf_expr: Some(buf), ..asked }).map_err(|error| error.rule())
    };
    assert_eq!(rule(<m![A = 1, B]>::EXPR), Err("insufficient input"));
    assert_eq!(rule(<m![A = 2, B]>::EXPR), Err("insufficient input"));
    assert_eq!(
        rule(<m![B]>::EXPR).map(|read| read.config.to_string()),
        Ok("[16 : 0, 5 : 1] : 5".to_string())
    );
}

/// An element that the buffer does not hold is missed in every notation of its parts.
#[test]
fn the_first_values_of_an_axis_in_parts() {
    axes![F = 4];
    type Parts = m![F = 3 # 4 % 2, F = 3 # 4 / 2];
    assert_ne!(rule::<Parts, m![F], m![1]>(), "axis dropped");
    assert_eq!(rule::<m![F = 3], m![F / 2], m![F % 2]>(), "insufficient input");
    assert_eq!(rule::<m![F = 3], m![F % 2], m![F / 2]>(), "insufficient input");
    assert_eq!(rule::<m![F = 3 # 4], m![F], m![1]>(), "insufficient input");
}
