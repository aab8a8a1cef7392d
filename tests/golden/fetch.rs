//! Spec page 20 §5: fetch sizes and cycles.

use furiosa_visa_std::engine::fetch::{FetchPlan, FetchRequest, derive_fetch};
use furiosa_visa_std::mapping::M;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType;

#[test]
fn batching() {
    axes![N = 4, C = 3, H = 4, W = 8];
    type Buf = m![N, C, H, W];
    type One = FetchPlan<i8, i8, Buf, m![N, C, H], m![W]>;
    type Two = FetchPlan<i8, i8, Buf, m![N, C, H / 2], m![H % 2, W]>;
    type Three = FetchPlan<i8, i8, Buf, m![N, C], m![H, W]>;
    type Four = FetchPlan<i8, i8, Buf, m![N], m![C, H, W]>;
    let shown = [One::CONFIG, Two::CONFIG, Three::CONFIG, Four::CONFIG]
        .map(|c| (c.cycles, c.fetch_size, c.fetches_per_packet, c.contiguous_bytes));
    assert_eq!(shown, [(48, 8, 1, 384), (24, 16, 1, 384), (12, 32, 1, 384), (12, 32, 3, 384)]);
    assert_eq!(Two::CONFIG.derived.to_string(), "[4 : 96, 3 : 32, 2 : 16, 2 : 8, 8 : 1] : 16");
}

#[test]
fn padded_packets() {
    axes![A = 3, B = 5, C = 2];
    type Buf = m![A, B, C];
    let cycles = [
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![A, B], m![C]>::CONFIG.cycles,
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![A], m![[B, C] # 16]>::CONFIG.cycles,
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![1], m![[A, B, C] # 32]>::CONFIG.cycles,
    ];
    assert_eq!(cycles, [15, 3, 1]);
}

#[test]
fn a_cast_keeps_a_fetch_within_a_flit() {
    axes![A = 512, B = 32];
    let config = FetchPlan::<i8, i32, m![A, B], m![A], m![B]>::CONFIG;
    assert_eq!((config.fetch_size, config.fetches_per_packet, config.cycles), (8, 4, 2048));
    let sub = FetchPlan::<i4, i32, m![A, B], m![A], m![B], { Tu::Sub }>::CONFIG;
    assert_eq!(sub.fetch_size, 4);
    let sub = FetchPlan::<i8, i8, m![A, B], m![A], m![B], { Tu::Sub }>::CONFIG;
    assert_eq!(sub.fetch_size, 8);
}

#[test]
fn the_sub_context_fetches_eight_bytes() {
    axes![A = 8, B = 4, C = 12];
    let request = |element, time, packet| FetchRequest {
        sub_context: true,
        input: ElementType::I8,
        output: ElementType::I8,
        element,
        time,
        packet,
    };
    assert!(derive_fetch(&request(<m![A]>::EXPR, <m![1]>::EXPR, <m![A]>::EXPR)).is_ok());
    let refused = derive_fetch(&request(<m![A, C]>::EXPR, <m![A]>::EXPR, <m![C]>::EXPR));
    assert_eq!(refused.expect_err("12 bytes").rule(), "sub-context fetch size");
}
