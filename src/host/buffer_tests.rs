//! Packets that no sequencer fetches, and reads whose padding lies across time and packet.

use super::*;
use crate::prelude::{axes, m};
use crate::scalar::ElementType;

axes![A = 15, B = 4, P = 2];

fn derived<Buf: M, Time: M, Packet: M>(element: ElementType) -> Result<BufferConfig, PlanError> {
    let (buf, time, packet) = (Buf::EXPR, Time::EXPR, Packet::EXPR);
    derive_buffer(&BufferRequest { operation: "read", element, buf, time, packet, indirect: false })
}

#[track_caller]
fn rule<Buf: M, Time: M, Packet: M>(element: ElementType) -> &'static str {
    derived::<Buf, Time, Packet>(element).expect_err("is refused").rule()
}

#[test]
fn a_packet_is_a_run_or_one_repeated_element() {
    let i8 = ElementType::I8;
    assert!(derived::<m![A, B], m![A], m![B]>(i8).is_ok());
    assert!(derived::<m![A, B], m![B, A], m![1]>(i8).is_ok(), "a single element");
    assert!(derived::<m![A], m![A], m![P]>(i8).is_ok(), "one element, repeated");
    assert_eq!(rule::<m![A, B], m![B], m![A]>(i8), "packet fetch");
    assert_eq!(rule::<m![A, B], m![A], m![P, B]>(i8), "packet fetch");
    assert_eq!(rule::<m![A, B], m![A], m![B, P]>(i8), "packet fetch");
    assert_eq!(rule::<m![A, B], m![A, B / 2], m![B % 2, P]>(i8), "packet fetch");
}

#[test]
fn a_packet_is_whole_bytes() {
    assert_eq!(rule::<m![A, B], m![B], m![A]>(ElementType::I4), "packet size");
    assert_eq!(rule::<m![A, B], m![A, B], m![1]>(ElementType::I4), "packet size");
    let packets = derived::<m![A, B], m![A, B / 2], m![B % 2]>(ElementType::I4);
    assert_eq!(packets.expect("is a byte").config.to_string(), "[15 : 4, 2 : 2, 2 : 1] : 2");
}

#[test]
fn padding_across_time_and_packet_holds_nothing() {
    let buffer = BufTensor::<i32, m![A]>::from_fn(|position| position as i32);
    let stream: StreamTensor<i32, m![A # 16 / 4], m![A # 16 % 4]> = buffer.read();
    let elements: Vec<Opt<i32>> = stream.packets().flatten().copied().collect();
    let expected = (0..16).map(|k| if k < 15 { Opt::Init(k) } else { Opt::Uninit });
    assert_eq!(elements, expected.collect::<Vec<_>>());
}

#[test]
fn tensors_are_equal_when_their_elements_are() {
    let one = BufTensor::<i32, m![B]>::from_fn(|position| position as i32);
    let other = BufTensor::<i32, m![B]>::zeroed();
    assert!(one == one.clone() && one != other);
    let a: StreamTensor<'_, i32, m![B / 2], m![B % 2]> = one.read();
    let b: StreamTensor<'_, i32, m![B / 2], m![B % 2]> = other.read();
    assert!(a == a.clone() && a != b);
    assert!(a.indirect().is_none());
    assert_eq!(format!("{a:?}"), "StreamTensor<i32, m![B / 2], m![B % 2]> [2 : 2, 2 : 1] : 2");
    let text = format!("{one:?}");
    assert!(text.starts_with("BufTensor<i32, m![B]> [") && text.contains('3'), "{text}");
}

#[test]
fn a_loop_over_offsets_replaces_an_entry_of_its_own() {
    axes![V = 10, E = 4, K = 3, H = 2];
    let table = BufTensor::<i32, m![H, V, E]>::from_fn(|position| position as i32);
    let stream = table.read_indirect::<m![K], m![H, K], m![E]>(&[8, 0, 36]);
    assert_eq!(stream.indirect(), Some(&IndirectLoop { entry: 1, offsets: vec![8, 0, 36] }));
    let refused = |error: PlanError| error.rule();
    // `H` is an axis of the buffer, so its loop has a stride.
    assert_eq!(
        refused(table.try_read_indirect::<m![H], m![H, K], m![E]>(&[0, 0]).expect_err("moves")),
        "indirect loop"
    );
    assert_eq!(
        refused(table.try_read_indirect::<m![P], m![H, K], m![E]>(&[0, 0]).expect_err("no member")),
        "indirect loop"
    );
}
