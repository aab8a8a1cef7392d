//! Aligner configurations. TRF entries are in bytes; the documentation lists them innermost first.

use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::AccumulationKind;
use furiosa_visa_std::engine::contraction::{
    AccumulateRequest, AlignConfig, AlignPlan, AlignRequest, ContractPlan, derive_accumulate, derive_align,
};
use furiosa_visa_std::mapping::M;
use furiosa_visa_std::prelude::{axes, bf16, m};
use furiosa_visa_std::scalar::Scalar;

/// `cf` flits, `rrs` bytes, entries innermost first.
fn shown(config: &AlignConfig) -> String {
    let trf = &config.trf_sequencer;
    let entries: Vec<String> =
        trf.derived.entries.iter().rev().map(|entry| format!("({},{})", entry.size, entry.stride)).collect();
    let flits = config.stream_adapter.collect_flits;
    format!("cf {flits} rrs {} {}", trf.reg_read_size, entries.join(" "))
}

fn align<D: Scalar, Time: M, Packet: M, Row: M, Element: M, OutTime: M, OutPacket: M>() -> String {
    shown(&derived::<D, Time, Packet, Row, Element, OutTime, OutPacket>().expect("derives"))
}

fn derived<D: Scalar, Time: M, Packet: M, Row: M, Element: M, OutTime: M, OutPacket: M>()
-> Result<AlignConfig, PlanError> {
    derive_align(&AlignRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        row: Row::EXPR,
        trf_element: Element::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    })
}

#[test]
fn documented_configurations() {
    axes![M = 32, N = 8, K = 16, L = 2, O = 2, T = 5];
    assert_eq!(
        align::<bf16, m![M, O, L], m![K], m![N], m![O, K], m![M, O], m![L, K]>(),
        "cf 2 rrs 32 (2,32) (32,0)"
    );
    assert_eq!(align::<bf16, m![M], m![K], m![N], m![K], m![M], m![K # 32]>(), "cf 1 rrs 32 (32,0)");
    assert_eq!(
        align::<bf16, m![M], m![K], m![N], m![T, K], m![M, T], m![K # 32]>(),
        "cf 1 rrs 32 (5,32) (32,0)"
    );
    assert_eq!(
        align::<bf16, m![O, M, L], m![K], m![N], m![O, K], m![O, M], m![L, K]>(),
        "cf 2 rrs 32 (32,0) (2,32)"
    );
    assert_eq!(
        align::<bf16, m![M, O, L], m![K], m![N], m![O, M, K], m![M, O], m![L, K]>(),
        "cf 2 rrs 32 (2,1024) (32,32)"
    );
}

#[test]
fn whole_packets() {
    axes![M = 32, N = 8, K = 32];
    assert_eq!(align::<bf16, m![M, K / 16], m![K % 16], m![N], m![K], m![M], m![K]>(), "cf 2 rrs 64 (32,0)");
}

#[test]
fn partial_sums_and_dot_product() {
    axes![M = 4, N = 8, K = 64, A = 2048];
    assert_eq!(
        align::<bf16, m![K / 16, M], m![K % 16], m![N], m![K], m![K / 16, M], m![K % 16 # 32]>(),
        "cf 1 rrs 32 (4,0) (4,32)"
    );
    assert_eq!(
        align::<bf16, m![A / 16], m![A % 16], m![1], m![A], m![A / 32], m![A % 32]>(),
        "cf 2 rrs 64 (64,64)"
    );
}

#[test]
fn tutorial_product() {
    axes![I = 512, J = 512, K = 2048];
    assert_eq!(
        align::<
            bf16,
            m![I % 32, J / 8 % 4, K / 16],
            m![K % 16],
            m![J % 8],
            m![J / 8 % 4, K],
            m![I % 32, J / 8 % 4, K / 32],
            m![K % 32],
        >(),
        "cf 2 rrs 64 (64,64) (4,4096) (32,0)"
    );
}

#[test]
fn eight_bit_examples() {
    axes![P = 6, Q = 4, C = 64, G = 8];
    assert_eq!(
        align::<i8, m![P, Q, C / 32], m![C % 32], m![G], m![Q, C], m![P, Q], m![C]>(),
        "cf 2 rrs 64 (4,64) (6,0)"
    );
}

#[test]
fn padded_and_tiled() {
    axes![P = 6, C = 12, G = 4, S = 3];
    assert_eq!(
        align::<bf16, m![P], m![C # 16], m![G], m![S, C # 16], m![P, S], m![C # 32]>(),
        "cf 1 rrs 32 (3,32) (6,0)"
    );
}

#[test]
fn scalar_weight() {
    axes![K = 16, V = 32, G = 8];
    assert_eq!(align::<bf16, m![K, V / 16], m![V % 16], m![G], m![K], m![K], m![V]>(), "cf 2 rrs 2 (16,2)");
}

#[test]
fn two_flits_with_tiling() {
    axes![P = 5, S = 4, C = 16, Y = 4, G = 8];
    assert_eq!(
        align::<i8, m![P, S / 2], m![S % 2, C], m![G], m![Y, C], m![P, Y], m![S, C]>(),
        "cf 2 rrs 16 (4,16) (5,0)"
    );
}

#[test]
fn tile_digits_and_digit_split() {
    axes![P = 5, C = 12, G = 2, Y = 6];
    assert_eq!(
        align::<bf16, m![P], m![C # 16], m![G], m![Y % 3, Y / 3, C # 16], m![P, Y], m![C # 32]>(),
        "cf 1 rrs 32 (3,64) (2,32) (5,0)"
    );
    mod wide {
        furiosa_visa_std::prelude::axes![P = 6, C = 256, G = 8];
    }
    use wide::{C as D, G as H, P as R};
    assert_eq!(
        align::<i8, m![R, D / 32], m![D % 32], m![H], m![D], m![R, D / 64], m![D % 64]>(),
        "cf 2 rrs 64 (4,64) (6,0)"
    );
}

#[test]
fn tree_depths() {
    axes![A = 3, N = 8, K = 32, V = 32];
    let depth =
        |config: furiosa_visa_std::engine::contraction::ContractConfig| (config.depth, config.columns);
    assert_eq!(depth(ContractPlan::<bf16, m![K], m![1]>::CONFIG), (5, 1));
    assert_eq!(depth(ContractPlan::<bf16, m![V], m![V]>::CONFIG), (0, 32));
    assert_eq!(depth(ContractPlan::<i8, m![A # 8, N], m![A # 4]>::CONFIG), (3, 3));
    assert_eq!(depth(ContractPlan::<i8, m![A # 8, N], m![A # 8]>::CONFIG), (3, 3));
    assert_eq!(depth(ContractPlan::<i8, m![V # 64], m![V]>::CONFIG), (0, 32));
}

fn buffer<Row: M, Time: M, Packet: M, OutTime: M, OutPacket: M>(
    kind: AccumulationKind,
) -> Result<usize, &'static str> {
    let request = AccumulateRequest {
        kind,
        row: Row::EXPR,
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    };
    derive_accumulate(&request).map(|config| config.buffer).map_err(|error| error.rule())
}

/// The table of lanes: rows G8, one column, Time = [P6, Q10, S4].
#[test]
fn accumulator_buffer() {
    use AccumulationKind::{Interleaved, Sequential};
    axes![P = 6, Q = 10, S = 4, G = 8, V = 32];
    type Time = m![P, Q, S];
    assert_eq!(buffer::<m![G], Time, m![1], m![Q, S], m![G]>(Interleaved), Ok(40));
    assert_eq!(buffer::<m![G], Time, m![1], m![Q, S, G], m![1 # 8]>(Sequential), Err("accumulate buffer"));
    assert_eq!(buffer::<m![G], Time, m![1], m![P, S], m![G]>(Interleaved), Ok(4));
    assert_eq!(buffer::<m![G], Time, m![1], m![P, S, G], m![1 # 8]>(Sequential), Ok(32));
    assert_eq!(buffer::<m![G], Time, m![1], m![P, Q], m![G]>(Interleaved), Ok(1));
    assert_eq!(buffer::<m![G], Time, m![1], m![P, Q, G], m![1 # 8]>(Sequential), Ok(8));
    assert_eq!(buffer::<m![G], Time, m![1], m![Q], m![G]>(Interleaved), Ok(10));
    assert_eq!(buffer::<m![G], Time, m![1], m![Q, G], m![1 # 8]>(Sequential), Err("accumulate buffer"));
    assert_eq!(buffer::<m![G], Time, m![1], m![P, Q, S], m![G]>(Interleaved), Ok(1));
    assert_eq!(buffer::<m![G], Time, m![1], m![P, Q, S, G], m![1 # 8]>(Sequential), Ok(8));
    // 32 columns: summing S costs 32 of either kind, summing Q 128.
    assert_eq!(buffer::<m![G], Time, m![V], m![P, Q, V], m![G]>(Interleaved), Ok(32));
    assert_eq!(buffer::<m![G], Time, m![V], m![P, Q, G, V / 8], m![V % 8]>(Sequential), Ok(32));
    assert_eq!(buffer::<m![G], Time, m![V], m![P, S, V], m![G]>(Interleaved), Ok(128));
    assert_eq!(
        buffer::<m![G], Time, m![V], m![P, S, G, V / 8], m![V % 8]>(Sequential),
        Err("accumulate buffer")
    );
}

#[test]
fn documented_outputs() {
    use AccumulationKind::{Interleaved, Sequential};
    axes![M = 4, N = 8, K = 64];
    type Time = m![K / 16, M];
    type Columns = m![K % 16 / 4];
    assert!(buffer::<m![N], Time, Columns, m![M, K % 16 / 4], m![N]>(Interleaved).is_ok());
    assert!(buffer::<m![N], Time, Columns, m![M, N], m![K % 16 / 4 # 8]>(Sequential).is_ok());
    assert_eq!(
        AlignPlan::<bf16, Time, m![K % 16], m![N], m![K], Time, m![K % 16 # 32]>::CONFIG.stream_adapter.tile,
        1
    );
}

/// Steps of padding alone repeat the same packet: they are not summed.
#[test]
fn padding_is_no_axis_to_sum() {
    use AccumulationKind::Interleaved;
    axes![M = 4, N = 8, S = 3];
    assert_eq!(buffer::<m![N], m![M, 1 # 2], m![1], m![M], m![N]>(Interleaved), Err("accumulate padding"));
    assert_eq!(buffer::<m![N], m![1 # 2], m![1], m![1], m![N]>(Interleaved), Err("accumulate padding"));
    assert_eq!(buffer::<m![N], m![M, 1 # 2], m![1], m![M, 1 # 2], m![N]>(Interleaved), Ok(1));
    assert_eq!(buffer::<m![N], m![M, S # 4], m![1], m![M], m![N]>(Interleaved), Ok(1));
}
