//! Limits of align, contract and accumulate on their own: the limit passes, one more is refused with the numbers. Those
//! that a program can break are programs in `tests/ui`.

use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::AccumulationKind::{self, Interleaved, Sequential};
use furiosa_visa_std::engine::contraction::{
    AccumulateConfig, AccumulateRequest, AlignRequest, ContractConfig, ContractRequest, StreamAdapterConfig,
    StreamAdapterPlan, TrfSequencerConfig, TrfSequencerPlan, derive_accumulate, derive_contract,
    derive_stream_adapter, derive_trf_sequencer,
};
use furiosa_visa_std::mapping::M;
use furiosa_visa_std::prelude::{axes, bf16, i4, m};
use furiosa_visa_std::scalar::{ElementType, Scalar};

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, PlanError>, rule: &str, parts: &[&str]) {
    let error = outcome.expect_err("it is refused");
    assert_eq!(error.rule(), rule);
    for part in parts {
        assert!(error.message().contains(part), "`{part}` is not in: {}", error.message());
    }
}

fn contract<Packet: M, OutPacket: M>(element: ElementType) -> Result<ContractConfig, PlanError> {
    derive_contract(&ContractRequest { element, packet: Packet::EXPR, out_packet: OutPacket::EXPR })
}

fn accumulate<Row: M, Time: M, Packet: M, OutTime: M, OutPacket: M>(
    kind: AccumulationKind,
) -> Result<AccumulateConfig, PlanError> {
    derive_accumulate(&AccumulateRequest {
        kind,
        row: Row::EXPR,
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    })
}

fn trf<D: Scalar, Element: M, OutTime: M, OutPacket: M>() -> Result<TrfSequencerConfig, PlanError> {
    let one = <m![1]>::EXPR;
    derive_trf_sequencer(&AlignRequest {
        element: D::ELEMENT_TYPE,
        time: one,
        packet: one,
        row: one,
        trf_element: Element::EXPR,
        out_time: OutTime::EXPR,
        out_packet: OutPacket::EXPR,
    })
}

/// E28: no legal align gives such a packet.
#[test]
fn a_packet_of_the_tree_holds_64_bytes() {
    axes![K = 64];
    assert_eq!(contract::<m![K % 32], m![1]>(ElementType::Bf16), Ok(ContractConfig { depth: 5, columns: 1 }));
    let parts = ["contract: the packet `m![K]` holds 128 bytes", "must hold 64", "help: `.align()`"];
    refused(contract::<m![K], m![1]>(ElementType::Bf16), "contract packet bytes", &parts);
    refused(contract::<m![K % 16], m![1]>(ElementType::Bf16), "contract packet bytes", &["32 bytes", "64"]);
}

/// E31: no legal contract leaves more.
#[test]
fn at_most_32_columns_enter_the_accumulator() {
    axes![V = 32, W = 33, N = 8];
    assert!(accumulate::<m![N], m![1], m![V], m![V], m![N]>(Interleaved).is_ok());
    for kind in [Interleaved, Sequential] {
        let name = format!("accumulate, {kind}: the packet `m![W]` has 33 columns");
        let parts = [name.as_str(), "at most 32", "help: reduce more in `.contract()`"];
        refused(accumulate::<m![N], m![1], m![W], m![W], m![N]>(kind), "accumulate columns", &parts);
    }
}

#[test]
fn columns_are_a_power_of_two_up_to_32() {
    axes![K = 64, A = 3, N = 8];
    assert_eq!(contract::<m![K], m![K / 2]>(ElementType::I8), Ok(ContractConfig { depth: 1, columns: 32 }));
    refused(contract::<m![K], m![K]>(ElementType::I8), "contract columns", &["64 columns", "at most 32"]);
    // Padding at the outer end may stay, or be dropped as far as a power of two remains.
    let three = ContractConfig { depth: 3, columns: 3 };
    assert_eq!(contract::<m![A # 8, N], m![A # 4]>(ElementType::I8), Ok(three));
    assert_eq!(contract::<m![A # 8, N], m![A # 8]>(ElementType::I8), Ok(three));
    refused(contract::<m![A # 8, N], m![A]>(ElementType::I8), "contract columns", &["3 columns", "`# 4`"]);
    // Only the innermost part can be summed.
    refused(contract::<m![K], m![K % 4]>(ElementType::I8), "contract quotient", &["m![K % 4]", "m![K]"]);
    assert_eq!(contract::<m![K # 128], m![1]>(ElementType::I4), Ok(ContractConfig { depth: 6, columns: 1 }));
}

#[test]
fn loops_of_the_trf_sequencer() {
    axes![K = 32, T = 3, A = 2, B = 2, C = 2, D = 2, E = 2, F = 2, G = 2, H = 2];
    // 65536 turns of a loop.
    assert!(trf::<bf16, m![K], m![1 # 65536], m![K]>().is_ok());
    refused(trf::<bf16, m![K], m![1 # 65537], m![K]>(), "iteration limit", &["65537 : 0", "65536"]);
    // Eight loops; nine that merge.
    type Reversed = m![G, F, E, D, C, B, A];
    let eight = trf::<bf16, m![A, B, C, D, E, F, G, K], m![T, { Reversed }], m![K]>().expect("eight loops");
    assert_eq!(eight.config.entries.len(), 8);
    assert_eq!(eight.config, eight.derived);
    let merged = trf::<bf16, m![A, B, C, D, E, F, G, H, K], m![T, A, B, C, D, E, F, G, H], m![K]>();
    let merged = merged.expect("neighbours merge");
    assert_eq!(
        (merged.derived.entries.len(), merged.config.to_string()),
        (9, "[3 : 0, 256 : 64] : 32".into())
    );
    refused(
        trf::<bf16, m![A, B, C, D, E, F, G, H, K], m![T, H, { Reversed }], m![K]>(),
        "entry limit",
        &["9 entries", "takes 8", "help: order the axes"],
    );
}

#[test]
fn reads_of_64_bytes_are_aligned() {
    axes![K = 32, G = 2, T = 3];
    let aligned = trf::<bf16, m![G, K # 64], m![T, G], m![K]>().expect("aligned");
    assert_eq!((aligned.reg_read_size, aligned.config.to_string()), (64, "[3 : 0, 2 : 128] : 32".into()));
    let parts = ["64 bytes", "96 bytes", "multiples of 64", "help: pad Element"];
    refused(trf::<bf16, m![G, K # 48], m![T, G], m![K]>(), "TRF alignment", &parts);
    // Shorter reads start anywhere.
    let half = trf::<bf16, m![G, K % 16 # 24], m![T, G], m![K % 16 # 32]>().expect("any byte");
    assert_eq!((half.reg_read_size, half.config.to_string()), (32, "[3 : 0, 2 : 48] : 16".into()));
}

#[test]
fn reads_of_whole_bytes() {
    axes![K = 128, G = 2, T = 3];
    let single = trf::<bf16, m![K, G], m![T, K, G], m![1 # 32]>().expect("one element");
    assert_eq!((single.reg_read_size, single.fill), (2, 32));
    refused(
        trf::<i4, m![K], m![K], m![1 # 128]>(),
        "TRF single element",
        &["m![K]", "2 innermost", "help: "],
    );
    // An axis that only the TRF has is not read with the packet, even where the packet is padding.
    refused(trf::<bf16, m![G, K % 16], m![T], m![K % 16 # 32]>(), "axis dropped", &["m![G]", "OutTime"]);
    refused(trf::<bf16, m![K % 16], m![T], m![1 # 32]>(), "axis dropped", &["m![K % 16]"]);
}

/// The three groups of one digit that the padded packet has: what is read where the stream is padding does not matter.
#[test]
fn padding_of_the_stream_agrees_with_anything() {
    axes![A = 4, B = 4, C = 3, T = 3];
    let read = |config: Result<TrfSequencerConfig, PlanError>| config.expect("derives").reg_read_size;
    assert_eq!(read(trf::<bf16, m![A, B], m![T], m![[A, B = 3 # 4] # 32]>()), 32);
    // Padding of the weights under an element of the stream does not agree:
    refused(trf::<bf16, m![A, B = 3 # 4], m![T], m![[A, B] # 32]>(), "TRF gather", &["m![A, B = 3 # 4]"]);
    // An axis of the weights alone, in the padding of the packet, has a loop of its own.
    let own = trf::<bf16, m![T, A % 2, B], m![T], m![[A = 2 # 4, B] # 32]>();
    refused(own, "TRF gather", &["m![T, A % 2, B]"]);
    let own = trf::<bf16, m![A, C # 4], m![A], m![C # 32]>().expect("a loop over A");
    assert_eq!((own.reg_read_size, own.config.to_string()), (8, "[4 : 8] : 4".into()));
}

#[test]
fn plans_are_constants() {
    axes![M = 32, N = 8, K = 16, L = 2, O = 2];
    type Stream = StreamAdapterPlan<bf16, m![M, O, L], m![K], m![N], m![O, K], m![M, O], m![L, K]>;
    const STREAM: StreamAdapterConfig = Stream::CONFIG;
    let expected = StreamAdapterConfig { collect_flits: 2, zero_bytes: 0, packets: 64, tile: 1, rows: 8 };
    assert_eq!(STREAM, expected);
    const TRF: TrfSequencerConfig = TrfSequencerPlan::<bf16, m![O, K], m![M, O], m![L, K]>::CONFIG;
    assert_eq!(
        (TRF.reg_read_size, TRF.fill, TRF.config.to_string()),
        (32, 2, "[32 : 0, 2 : 32] : 16".into())
    );
    let request = AlignRequest {
        element: ElementType::Bf16,
        time: <m![M]>::EXPR,
        packet: <m![K]>::EXPR,
        row: <m![N, L, O]>::EXPR,
        trf_element: <m![K]>::EXPR,
        out_time: <m![M]>::EXPR,
        out_packet: <m![K # 32]>::EXPR,
    };
    refused(derive_stream_adapter(&request), "row count", &["align", "got 32"]);
}

/// Padding of time goes where what it pads goes.
#[test]
fn padding_of_time() {
    axes![S = 2, A = 3, B = 5, N = 8];
    type Group = m![[A, B] # 16];
    let slots = |config: Result<AccumulateConfig, PlanError>| config.expect("fits").slots.to_string();
    assert_eq!(
        slots(accumulate::<m![N], m![S, { Group }], m![1], Group, m![N]>(Interleaved)),
        "[2 : 0, 16 : 1] : 1"
    );
    assert_eq!(
        slots(accumulate::<m![N], m![{ Group }, S], m![1], Group, m![N]>(Interleaved)),
        "[16 : 1, 2 : 0] : 1"
    );
    assert_eq!(
        slots(accumulate::<m![N], m![{ Group }, S], m![1], m![S], m![N]>(Interleaved)),
        "[16 : 0, 2 : 1] : 1"
    );
    assert_eq!(
        slots(accumulate::<m![N], m![S, A # 4, B], m![1], m![A # 4, B], m![N]>(Interleaved)),
        "[2 : 0, 20 : 1] : 1"
    );
    assert_eq!(
        slots(accumulate::<m![N], m![A # 4, S, B], m![1], m![A # 4, B], m![N]>(Interleaved)),
        "[4 : 5, 2 : 0, 5 : 1] : 1"
    );
    assert_eq!(
        slots(accumulate::<m![N], m![S, A # 4, B], m![1], m![S, B], m![N]>(Interleaved)),
        "[2 : 5, 4 : 0, 5 : 1] : 1"
    );
    assert_eq!(
        slots(accumulate::<m![N], m![S, A, 1 # 2], m![1], m![S, 1 # 2], m![N]>(Interleaved)),
        "[2 : 2, 3 : 0, 2 : 1] : 1"
    );
    let half = accumulate::<m![N], Group, m![1], m![A], m![N]>(Interleaved);
    refused(half, "accumulate padding", &["m![[A, B] # 16]"]);
    // A5: undivided time of which a digit is kept.
    axes![D = 8];
    assert_eq!(slots(accumulate::<m![N], m![D], m![1], m![D % 4], m![N]>(Interleaved)), "[2 : 0, 4 : 1] : 1");
    assert_eq!(slots(accumulate::<m![N], m![D], m![1], m![D / 4], m![N]>(Interleaved)), "[2 : 1, 4 : 0] : 1");
}
