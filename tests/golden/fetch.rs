//! Fetch sizes, cycles, masks, addresses.

use furiosa_visa_std::engine::fetch::stages::{AdapterStage, Lookup, ZeroPoint};
use furiosa_visa_std::engine::fetch::{FetchConfig, FetchPlan, FetchRequest, check_packet, derive_fetch};
use furiosa_visa_std::mapping::M;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType;

/// The documented numbers: cycles, fetch size, fetches per packet, contiguous bytes.
fn numbers(config: &FetchConfig) -> [usize; 4] {
    [config.cycles, config.fetch_size, config.fetches_per_packet, config.contiguous_sram_access_size]
}

fn mask(config: &FetchConfig) -> String {
    config.mask.expect("the padding is masked").to_string()
}

#[test]
fn contiguous_access() {
    axes![N = 4, C = 3, H = 4, W = 8];
    type Buf = m![N, C, H, W];
    let all = FetchPlan::<i8, i8, Buf, m![N, C, H], m![W]>::CONFIG;
    assert_eq!(all.config.to_string(), "[4 : 96, 3 : 32, 4 : 8, 8 : 1] : 8");
    assert_eq!(numbers(&all), [48, 8, 1, 384]);
    // The documented packet: `N, H, W` under time `C`.
    let rows = FetchPlan::<i8, i8, Buf, m![C], m![N, H, W]>::CONFIG;
    assert_eq!(rows.config.to_string(), "[3 : 32, 4 : 96, 4 : 8, 8 : 1] : 128");
    assert_eq!(numbers(&rows), [12, 32, 4, 32]);
    let columns = FetchPlan::<i8, i8, Buf, m![1], m![N, H, C, W]>::CONFIG;
    assert_eq!(columns.config.to_string(), "[4 : 96, 4 : 8, 3 : 32, 8 : 1] : 384");
    assert_eq!(numbers(&columns), [48, 8, 48, 8]);
}

/// G8: cycles 48, 24, 12, 12.
#[test]
fn batching() {
    axes![N = 4, C = 3, H = 4, W = 8];
    type Buf = m![N, C, H, W];
    type One = FetchPlan<i8, i8, Buf, m![N, C, H], m![W]>;
    type Two = FetchPlan<i8, i8, Buf, m![N, C, H / 2], m![H % 2, W]>;
    type Three = FetchPlan<i8, i8, Buf, m![N, C], m![H, W]>;
    type Four = FetchPlan<i8, i8, Buf, m![N], m![C, H, W]>;
    let shown = [One::CONFIG, Two::CONFIG, Three::CONFIG, Four::CONFIG].map(|c| numbers(&c));
    assert_eq!(shown, [[48, 8, 1, 384], [24, 16, 1, 384], [12, 32, 1, 384], [12, 32, 3, 384]]);
    assert_eq!(Two::CONFIG.derived.to_string(), "[4 : 96, 3 : 32, 2 : 16, 2 : 8, 8 : 1] : 16");
    for plan in [One::CONFIG, Three::CONFIG, Four::CONFIG] {
        assert!(plan.derived.to_string().starts_with("[4 : 96, 3 : 32, 4 : 8, 8 : 1] : "), "{plan}");
    }
    // Real i4 (E16): half the bytes, the same cycles. The first packet has 4 bytes, which the call refuses.
    type Half1 = FetchPlan<i4, i4, Buf, m![N, C, H], m![W]>;
    type Half2 = FetchPlan<i4, i4, Buf, m![N, C, H / 2], m![H % 2, W]>;
    type Half3 = FetchPlan<i4, i4, Buf, m![N, C], m![H, W]>;
    type Half4 = FetchPlan<i4, i4, Buf, m![N], m![C, H, W]>;
    let shown = [Half1::CONFIG, Half2::CONFIG, Half3::CONFIG, Half4::CONFIG].map(|c| numbers(&c));
    assert_eq!(shown, [[48, 4, 1, 192], [24, 8, 1, 192], [12, 16, 1, 192], [12, 16, 3, 192]]);
    let of = |element, packet| FetchRequest::new(element, element, Buf::EXPR, <m![1]>::EXPR, packet);
    let refused = check_packet(&of(ElementType::I4, <m![W]>::EXPR)).expect_err("4 bytes");
    assert_eq!(refused.rule(), "packet bytes");
    // Five fetches of 8 bytes make a packet of 40 (G13).
    axes![P = 5, Q = 16];
    let five = FetchPlan::<i8, i8, m![P, Q], m![Q / 8], m![P, Q % 8]>::CONFIG;
    assert_eq!(numbers(&five), [10, 8, 5, 8]);
    assert_eq!(five.packet_bytes, 40);
}

/// G9: cycles 15, 3, 1.
#[test]
fn padded_packets() {
    axes![A = 3, B = 5, C = 2];
    type Buf = m![A, B, C];
    let plans = [
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![A, B], m![C]>::CONFIG,
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![A, B], m![C # 8]>::CONFIG,
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![A], m![[B, C] # 16]>::CONFIG,
        FetchPlan::<f8e4m3, f8e4m3, Buf, m![1], m![[A, B, C] # 32]>::CONFIG,
    ];
    assert_eq!(plans.map(|plan| plan.cycles), [15, 15, 3, 1]);
    assert_eq!(plans.map(|plan| plan.mask.is_some()), [false, true, true, true]);
    assert_eq!(mask(&plans[2]), "last_dim 1, left_pad 0, last_dim_rightmost_valid_count [10], pad_value 0x0");
    assert_eq!(plans[2].config.to_string(), "[3 : 10, 1 : 0, 16 : 1] : 16");
    assert_eq!(mask(&plans[3]), "last_dim 0, left_pad 0, last_dim_rightmost_valid_count [30], pad_value 0x0");
    assert!(plans.iter().all(|plan| !plan.unmasked_padding));
}

#[test]
fn a_cast_keeps_a_fetch_within_a_flit() {
    axes![A = 512, B = 32];
    let config = FetchPlan::<i8, i32, m![A, B], m![A], m![B]>::CONFIG;
    assert_eq!((config.fetch_size, config.fetches_per_packet, config.cycles), (8, 4, 2048));
    assert_eq!(config.time, 512);
    let sub = FetchPlan::<i4, i32, m![A, B], m![A], m![B], { Tu::Sub }>::CONFIG;
    assert_eq!(sub.fetch_size, 4);
    let sub = FetchPlan::<i8, i8, m![A, B], m![A], m![B], { Tu::Sub }>::CONFIG;
    assert_eq!(sub.fetch_size, 8);
    // G15: 4 bytes of i4 are a flit of i32; 8 would be two.
    let four = FetchPlan::<i4, i32, m![A, B], m![A], m![B]>::CONFIG;
    assert_eq!((four.fetch_size, four.cycles), (4, 2048));
    // G17
    let wide = FetchPlan::<bf16, bf16, m![A, B], m![A / 64, A % 64 / 4], m![A % 4, B]>::CONFIG;
    assert_eq!((wide.time, wide.packet_bytes), (128, 256));
    axes![C = 8, D = 512];
    let halves = FetchPlan::<bf16, bf16, m![C, D], m![C, D / 32], m![D % 32]>::CONFIG;
    assert_eq!((halves.time, halves.cycles), (128, 256));
}

#[test]
fn the_sub_context_fetches_eight_bytes() {
    axes![A = 8, B = 4, C = 12];
    let request = |element, time, packet| FetchRequest {
        sub_context: true,
        ..FetchRequest::new(ElementType::I8, ElementType::I8, element, time, packet)
    };
    assert!(derive_fetch(&request(<m![A]>::EXPR, <m![1]>::EXPR, <m![A]>::EXPR)).is_ok());
    let refused = derive_fetch(&request(<m![A, C]>::EXPR, <m![A]>::EXPR, <m![C]>::EXPR));
    assert_eq!(refused.expect_err("12 bytes").rule(), "sub-context fetch size");
}

/// "Masking Configuration", cases 1 and 2 without the left padding.
#[test]
fn padding_of_the_last_packet() {
    axes![A = 32, B = 90];
    type Buf = m![A, B # 96];
    let one = FetchPlan::<i8, i8, Buf, m![A, B # 96 / 32], m![B # 96 % 32]>::CONFIG;
    assert_eq!(one.config.to_string(), "[32 : 96, 3 : 32, 32 : 1] : 32");
    assert_eq!(mask(&one), "last_dim 1, left_pad 0, last_dim_rightmost_valid_count [26], pad_value 0x0");
    let two = FetchPlan::<i8, i8, Buf, m![B # 96 / 32, A], m![B # 96 % 32]>::CONFIG;
    assert_eq!(two.config.to_string(), "[3 : 32, 32 : 96, 32 : 1] : 32");
    assert_eq!(mask(&two), "last_dim 0, left_pad 0, last_dim_rightmost_valid_count [26], pad_value 0x0");
    assert_eq!([one.cycles, two.cycles], [96, 96]);
}

/// Cases 1 and 2 of padding (G10, G11; guide: fetch). The register counts the 28 live elements, not the 4 masked ones
/// (E18).
#[test]
fn dead_positions_on_both_sides() {
    axes![A = 32, B = 90];
    type Buf = m![A, B # 96];
    type Padded = m![# 2 + B + # 4];
    let one = FetchPlan::<i8, i8, Buf, m![A, { Padded } / 32], m![{ Padded } % 32]>::CONFIG;
    assert_eq!(one.config.to_string(), "[32 : 96, 3 : 32, 32 : 1] : 32 @ base -2");
    assert_eq!(mask(&one), "last_dim 1, left_pad 2, last_dim_rightmost_valid_count [28], pad_value 0x0");
    let two = FetchPlan::<i8, i8, Buf, m![{ Padded } / 32, A], m![{ Padded } % 32]>::CONFIG;
    assert_eq!(two.config.to_string(), "[3 : 32, 32 : 96, 32 : 1] : 32 @ base -2");
    assert_eq!(mask(&two), "last_dim 0, left_pad 2, last_dim_rightmost_valid_count [28], pad_value 0x0");
    for plan in [one, two] {
        assert_eq!((plan.time, plan.fetch_size, plan.cycles, plan.unmasked_padding), (96, 32, 96, false));
    }
    let bytes: Vec<isize> = one.addresses().map(|fetch| fetch.byte).take(4).collect();
    assert_eq!(bytes, [-2, 30, 62, 94]);
    // A tensor that holds the dead positions itself.
    let held = FetchPlan::<i8, i8, m![A, { Padded }], m![A, { Padded } / 32], m![{ Padded } % 32]>::CONFIG;
    assert_eq!((held.config.base, held.mask), (0, one.mask));
    // All of it in one packet.
    let whole = FetchPlan::<i8, i8, Buf, m![A], Padded>::CONFIG;
    assert_eq!(whole.config.to_string(), "[32 : 96, 1 : 0, 96 : 1] : 96 @ base -2");
    assert_eq!(mask(&whole), "last_dim 1, left_pad 2, last_dim_rightmost_valid_count [92], pad_value 0x0");
}

/// What the register for the left side holds, and the first case past each limit.
#[test]
fn limits_of_the_left_side() {
    axes![A = 90, B = 96, C = 60, D = 3, E = 249, F = 248];
    macro_rules! masked {
        ($d:ty, $element:ty, $time:ty, $packet:ty) => {{
            let config = FetchPlan::<$d, $d, $element, $time, $packet>::CONFIG;
            assert!(config.mask.is_some() || config.unmasked_padding);
            config.mask.map(|mask| (mask.left_pad, mask.last_dim_rightmost_valid_count.as_slice().to_vec()))
        }};
    }
    // Nothing behind the axis; a whole packet before it, and one more.
    assert_eq!(masked!(i8, m![A], m![[# 6 + A] / 32], m![[# 6 + A] % 32]), Some((6, vec![32])));
    assert_eq!(masked!(i8, m![B], m![[# 32 + B] / 32], m![[# 32 + B] % 32]), Some((32, vec![32])));
    assert_eq!(masked!(i8, m![A], m![[# 38 + A] / 32], m![[# 38 + A] % 32]), None);
    // Several packets that are cut on the right: each would be the first one, too.
    assert_eq!(masked!(i8, m![C], m![[C + # 68] / 32], m![[C + # 68] % 32]), Some((0, vec![32, 28, 0, 0])));
    assert_eq!(masked!(i8, m![C], m![[# 2 + C + # 66] / 32], m![[# 2 + C + # 66] % 32]), None);
    // 255 units of 4 bits.
    assert_eq!(masked!(i4, m![E], m![1], m![# 6 + E + # 1]), Some((6, vec![255])));
    assert_eq!(masked!(i4, m![E # 250], m![1], m![# 8 + E + # 255]), None);
    assert_eq!(
        masked!(i4, m![F], m![[# 254 + F + # 10] / 256], m![[# 254 + F + # 10] % 256]),
        Some((254, vec![246]))
    );
    axes![G = 2];
    assert_eq!(masked!(f32, m![G], m![1], m![# 29 + G + # 1]), Some((29, vec![31])));
    assert_eq!(masked!(f32, m![G], m![1], m![# 30 + G]), None);
    // A group is one run; before the outer axis of a packet, the dead positions are rows.
    assert_eq!(masked!(i8, m![D, G], m![1], m![# 1 + [D, G] + # 1]), Some((1, vec![7])));
    assert_eq!(masked!(i8, m![D, G], m![1], m![[# 1 + D] # 4, G]), None);
    // Two axes: one mask.
    let both = FetchPlan::<i8, i8, m![D, C], m![# 1 + D], m![# 2 + C + # 2]>::CONFIG;
    assert_eq!((both.config.base, both.unmasked_padding), (-62, true));
    assert_eq!(mask(&both), "last_dim 1, left_pad 2, last_dim_rightmost_valid_count [62], pad_value 0x0");
    // The sub context has no mask. Half bytes have no address.
    let sub = FetchPlan::<i8, i8, m![C], m![1], m![# 2 + C + # 2], { Tu::Sub }>::CONFIG;
    assert!(sub.mask.is_none() && sub.unmasked_padding);
    let odd = FetchRequest::new(
        ElementType::I4,
        ElementType::I4,
        <m![C]>::EXPR,
        <m![1]>::EXPR,
        <m![# 3 + C + # 1]>::EXPR,
    );
    let error = derive_fetch(&odd).expect_err("starts at half a byte");
    assert_eq!(error.rule(), "whole bytes");
    let text = error.message();
    assert!(
        text.contains("would start at half bytes: -3 elements of 4 bits from the tensor; help:"),
        "{text}"
    );
    let even = FetchPlan::<i4, i4, m![C], m![1], m![# 2 + C + # 2]>::CONFIG;
    assert_eq!(even.addresses().next().map(|fetch| fetch.byte), Some(-1));
}

/// Case 3 (G12, E18): an f32 packet of 16 has 64 bytes, two fetches.
#[test]
fn padding_of_several_packets() {
    axes![A = 32, B = 97];
    let plan = FetchPlan::<f32, f32, m![A, B # 128], m![A, B # 128 / 16, 1], m![B # 128 % 16]>::CONFIG;
    assert_eq!(plan.config.to_string(), "[32 : 128, 8 : 16, 1 : 0, 16 : 1] : 16");
    assert_eq!(
        mask(&plan),
        "last_dim 2, left_pad 0, last_dim_rightmost_valid_count [16, 16, 16, 16, 16, 16, 1, 0], \
         rightmost_valid_count_dim 1, pad_value 0x0"
    );
    assert_eq!((plan.time, plan.fetches_per_packet, plan.cycles), (256, 2, 512));
}

/// What the hardware masks, and the first case past each limit.
#[test]
fn limits_of_the_mask() {
    axes![A = 63, B = 7, C = 8, D = 9];
    macro_rules! masked {
        ($d:ty, $element:ty, $time:ty, $packet:ty) => {{
            let config = FetchPlan::<$d, $d, $element, $time, $packet>::CONFIG;
            assert!(config.mask.is_some() || config.unmasked_padding);
            config.mask.map(|mask| mask.last_dim_rightmost_valid_count.as_slice().to_vec())
        }};
    }
    // The valid count: 255 times 4 bit, 127 bytes, 31 words.
    axes![E = 255, F = 256, G = 127, H = 128, J = 31, K = 32];
    assert_eq!(masked!(i4, m![E # 512], m![1], m![E # 512]), Some(vec![255]));
    assert_eq!(masked!(i4, m![F # 512], m![1], m![F # 512]), None);
    assert_eq!(masked!(i8, m![G # 256], m![1], m![G # 256]), Some(vec![127]));
    assert_eq!(masked!(i8, m![H # 256], m![1], m![H # 256]), None);
    assert_eq!(masked!(f32, m![J # 64], m![1], m![J # 64]), Some(vec![31]));
    assert_eq!(masked!(f32, m![K # 64], m![1], m![K # 64]), None);
    // Eight counts, not nine; where only the last one differs, any number.
    axes![L = 97, N = 113, O = 143];
    assert_eq!(
        masked!(i8, m![L # 128], m![L # 128 / 16], m![L # 128 % 16]),
        Some(vec![16, 16, 16, 16, 16, 16, 1, 0])
    );
    assert_eq!(masked!(i8, m![N # 144], m![N # 144 / 16], m![N # 144 % 16]), None);
    assert_eq!(masked!(i8, m![O # 144], m![O # 144 / 16], m![O # 144 % 16]), Some(vec![15]));
    // 308 times 4 bit are too many for one entry; in the parts of the packet only the last one differs.
    axes![X = 308];
    assert_eq!(masked!(i4, m![X # 336], m![1], m![X # 336]), None);
    assert_eq!(masked!(i4, m![X # 336], m![1], m![X # 336 / 48, X # 336 % 48]), Some(vec![20]));
    // Whole packets of the same axis; an outer axis is no innermost one.
    axes![P = 96];
    let whole = masked!(i8, m![P # 128], m![P # 128 / 16], m![P # 128 % 16]);
    assert_eq!(whole, Some(vec![16, 16, 16, 16, 16, 16, 0, 0]));
    assert_eq!(masked!(i8, m![B # 8, C], m![B # 8], m![C]), None);
    // In one entry it is: 7 times 8 positions are valid.
    assert_eq!(masked!(i8, m![B # 8, C], m![1], m![B # 8, C]), Some(vec![56]));
    // Two axes: the innermost one is masked, the other stays without meaning.
    let both = FetchPlan::<i8, i8, m![B # 8, D # 16], m![B # 8], m![D # 16]>::CONFIG;
    assert!(both.mask.is_some() && both.unmasked_padding);
    // An axis in three parts that make two; apart, two indices would decide.
    assert_eq!(masked!(i8, m![A # 64], m![A # 64 / 32, A # 64 / 8 % 4], m![A # 64 % 8]), Some(vec![7]));
    assert_eq!(masked!(i8, m![A # 64], m![A # 64 / 8 % 4, A # 64 / 32], m![A # 64 % 8]), None);
    // The entry `1 : 0` takes the place of one: 7 others fit, 8 do not.
    axes![Q = 2, R = 2, S = 2, T = 2, U = 2, V = 2, W = 2];
    assert_eq!(masked!(i8, m![R, S, T, U, V, W, B # 8], m![W, V, U, T, S, R], m![B # 8]), Some(vec![7]));
    assert_eq!(masked!(i8, m![Q, R, S, T, U, V, W, B # 8], m![W, V, U, T, S, R, Q], m![B # 8]), None);
    // The sub context has no mask.
    let sub = FetchPlan::<i8, i8, m![B # 8], m![1], m![B # 8], { Tu::Sub }>::CONFIG;
    assert!(sub.mask.is_none() && sub.unmasked_padding);
    let full = FetchPlan::<i8, i8, m![C], m![1], m![C], { Tu::Sub }>::CONFIG;
    assert!(full.mask.is_none() && !full.unmasked_padding);
}

#[test]
fn masks_of_other_orders() {
    axes![A = 13, B = 5, C = 3, D = 2];
    // Elements of a packet lie four apart: the first packet has one more.
    let apart = FetchPlan::<i8, i8, m![A # 16], m![A # 16 % 4], m![A # 16 / 4 # 8]>::CONFIG;
    assert_eq!(
        apart.mask.map(|mask| mask.last_dim_rightmost_valid_count.as_slice().to_vec()),
        Some(vec![4, 3, 3, 3])
    );
    // A group is one run of memory.
    let group = FetchPlan::<i8, i8, m![[B, C] # 16], m![[B, C] # 16 / 8], m![[B, C] # 16 % 8]>::CONFIG;
    assert_eq!(mask(&group), "last_dim 0, left_pad 0, last_dim_rightmost_valid_count [7], pad_value 0x0");
    // Here the padded axis is `B`, which is not the innermost one.
    type Pairs = FetchPlan<i8, i8, m![[B, D] # 16], m![[B, D] # 16 / 8], m![[B, D] # 16 % 8]>;
    assert!(Pairs::CONFIG.mask.is_none() && Pairs::CONFIG.unmasked_padding);
    // Nothing but padding inside.
    let one = FetchPlan::<i8, i8, m![A], m![A], m![1 # 8]>::CONFIG;
    assert_eq!(mask(&one), "last_dim 1, left_pad 0, last_dim_rightmost_valid_count [1], pad_value 0x0");
}

#[test]
fn stages_delay_and_narrow_a_fetch() {
    axes![A = 64];
    type Plan<D, D2, Adapter> = FetchPlan<D, D2, m![A], m![1], m![A], { Tu::Main }, m![1], Adapter>;
    let plain = FetchPlan::<i8, i8, m![A], m![1], m![A]>::CONFIG;
    let cast = FetchPlan::<i8, i32, m![A], m![1], m![A]>::CONFIG;
    let table = Plan::<i8, i8, Lookup<i8>>::CONFIG;
    let both = Plan::<i8, f32, Lookup<bf16>>::CONFIG;
    let wide = Plan::<i8, bf16, Lookup<f32>>::CONFIG;
    let zero = Plan::<i8, i32, ZeroPoint>::CONFIG;
    // A cast 1, a table 1, and one fetch per cycle all the same.
    let shown = [plain, cast, table, both, wide, zero].map(|c| (c.fetch_size, c.cycles, c.latency));
    assert_eq!(shown, [(32, 2, 0), (8, 8, 1), (32, 2, 1), (8, 8, 2), (8, 8, 2), (8, 8, 1)]);
    let sub: Vec<_> = AdapterStage::ALL.into_iter().filter(|stage| stage.in_sub_context()).collect();
    assert_eq!(sub, [AdapterStage::Cast, AdapterStage::ZeroPoint, AdapterStage::Batching]);
}

#[test]
fn interleaved_streams_alternate() {
    axes![A = 512, B = 32, I = 2];
    type Plan<Time> = FetchPlan<i8, i8, m![A, B], Time, m![B], { Tu::Main }, m![I]>;
    let every = Plan::<m![A, I]>::CONFIG;
    assert_eq!(every.config.to_string(), "[512 : 32, 2 : 0, 32 : 1] : 32");
    // Time contains the factor 2.
    assert_eq!((every.cycles, every.interleave_period), (1024, Some(1)));
    let blocks = Plan::<m![A / 4, I, A % 4]>::CONFIG;
    assert_eq!((blocks.cycles, blocks.interleave_period), (1024, Some(4)));
    assert_eq!(Plan::<m![I, A]>::CONFIG.interleave_period, Some(512));
    let mut order = Plan::<m![A, I]>::addresses().map(|fetch| (fetch.tensor, fetch.byte, fetch.bytes));
    let expected = [(0, 0, 32), (1, 0, 32), (0, 32, 32), (1, 32, 32), (0, 64, 32)];
    assert!(expected.into_iter().all(|fetch| order.next() == Some(fetch)));
    assert_eq!(order.len(), 1024 - 5);
    assert_eq!(order.last(), Some((1, 511 * 32, 32)));
}

#[test]
fn interleave_axes_that_do_not_alternate_are_refused() {
    axes![A = 3, B = 8, I = 2, J = 3];
    let rule = |begin, time, packet| {
        let request = FetchRequest {
            begin,
            ..FetchRequest::new(ElementType::I8, ElementType::I8, <m![A, B]>::EXPR, time, packet)
        };
        derive_fetch(&request).map(|plan| plan.interleave_period).map_err(|error| error.to_string())
    };
    let i = <m![I]>::EXPR;
    assert_eq!(rule(i, <m![I, A]>::EXPR, <m![B]>::EXPR), Ok(Some(3)));
    // Padding outside, and padding that fills up a turn.
    assert_eq!(rule(i, <m![[I, A] # 9]>::EXPR, <m![B]>::EXPR), Ok(Some(3)));
    assert_eq!(rule(i, <m![A, I # 4]>::EXPR, <m![B]>::EXPR), Ok(Some(1)));
    let message = rule(i, <m![A, I # 3]>::EXPR, <m![B]>::EXPR).expect_err("turns of 3");
    assert!(message.contains("`Time` `m![A, I # 3]` cuts, resizes or pads `I`"), "{message}");
    let message = rule(i, <m![A, I = 1]>::EXPR, <m![B]>::EXPR).expect_err("rhs is never read");
    assert!(message.contains("cuts, resizes or pads"), "{message}");
    let message = rule(i, <m![A]>::EXPR, <m![B]>::EXPR).expect_err("no axis");
    assert!(message.contains("`Time` `m![A]` lacks `I`"), "{message}");
    let message = rule(i, <m![A]>::EXPR, <m![I, B]>::EXPR).expect_err("two tensors in a packet");
    assert!(message.contains("the packet `m![I, B]` holds `I`"), "{message}");
    let message = rule(<m![J]>::EXPR, <m![A, J]>::EXPR, <m![B]>::EXPR).expect_err("three tensors");
    assert!(message.contains("the axis `J` has size 3, but exactly 2 tensors"), "{message}");
    let message = rule(<m![A # 4]>::EXPR, <m![A]>::EXPR, <m![B]>::EXPR).expect_err("no axis of tensors");
    assert!(message.contains("not with `m![A # 4]`"), "{message}");
}
