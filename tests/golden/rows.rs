//! Cycles of gathers and scatters, from the rule of the guide (clock):
//!
//! ```text
//!   500 + max(ceil(index bytes / 256), read side, write side)      side = max(requests, medium)
//! ```
//!
//! Every row is a packet run of its own, and the addresses of the rows are those that HBM sees.

use furiosa_visa_std::clock::dma::{BookHbm, Bound, DmaOptions, DmaTime, SameMedium, time};
use furiosa_visa_std::clock::indexed::indexed_operation;
use furiosa_visa_std::command::{Duplicates, FillId, IndexedCall, IndexedDma, Region};
use furiosa_visa_std::engine::dma::derive_indexed;
use furiosa_visa_std::mapping::{AxisName, M};
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::scalar::ElementType::{I8, I32};
use furiosa_visa_std::spec::HBM_BYTES;
use furiosa_visa_std::tensor::Shape;

axes![V = 4096, H = 256, W = 8, S = 64, L = 1024, R = 512, T = 2, E = 4168];

fn hbm<Element: M>() -> Shape {
    Shape::hbm(I8, <m![1]>::EXPR, Element::EXPR)
}

fn index<Element: M>() -> Shape {
    Shape::hbm(I32, <m![1]>::EXPR, Element::EXPR)
}

fn dm<Cluster: M, Slice: M, Element: M>() -> Shape {
    Shape::dm(I8, <m![1]>::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR)
}

fn region(shape: Shape, address: u64) -> Region {
    let footprint = shape.footprint().expect("the memory holds it");
    Region::whole(shape.memory, address, FillId(1 + address), footprint)
}

/// The command whose index says this.
fn command(call: IndexedCall, [table, index, side]: [Shape; 3], list: Vec<usize>) -> IndexedDma {
    let loops = derive_indexed(call, &table, &index, &side).unwrap_or_else(|error| panic!("{error}")).loops;
    let [table, index, side] = [region(table, 0), region(index, 1 << 30), region(side, 0)];
    let (source, destination) = if call.gathers() { (table, side) } else { (side, table) };
    IndexedDma {
        call,
        source,
        destination,
        index,
        rows: loops.rows,
        payload: loops.payload,
        count: loops.count,
        stride: loops.stride,
        scale: 1,
        duplicates: Duplicates::Equal,
        list: Some(list.into()),
    }
}

fn cost(own: &IndexedDma) -> DmaTime {
    let operation = indexed_operation(own, &DmaOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    time(&operation, SameMedium::default(), &mut BookHbm::default())
}

fn one_pe() -> [Shape; 3] {
    [hbm::<m![V, H]>(), index::<m![S]>(), dm::<m![1 # 2], m![S # 256], m![H]>()]
}

/// 64 requests of 256 bytes; two Data Memory Networks take 32 each, 2 cycles per request; each of the 32 channels of HBM
/// serves two neighbours in 32/3 cycles.
#[test]
fn neighbours_are_packets_of_their_own() {
    let own = cost(&command(IndexedCall::GatherRows, one_pe(), (0..64).collect()));
    assert_eq!((own.cycles(), own.requests(), own.commands(), own.bytes()), (500 + 64, 64, 1, 64 * 256));
    // All in one slice, one Data Memory Network.
    let [table, index, _] = one_pe();
    let slice = [table, index, dm::<m![1 # 2], m![1 # 256], m![S, H]>()];
    let own = cost(&command(IndexedCall::GatherRows, slice, (0..64).collect()));
    assert_eq!(own.cycles(), 500 + 128);
}

/// One row again and again: one channel of HBM serves all 64, in 16/3 cycles each.
#[test]
fn one_row_is_in_one_channel() {
    let own = cost(&command(IndexedCall::GatherRows, one_pe(), vec![7; 64]));
    assert_eq!(own.cycles(), 500 + (64 * 16u64).div_ceil(3));
}

/// 1024 rows of 8 bytes: a request each. The index has 4096 bytes, 16 requests, beside them.
#[test]
fn short_rows_cost_a_request_each() {
    let shapes = [hbm::<m![V, W]>(), index::<m![L]>(), dm::<m![1 # 2], m![1 # 256], m![L, W]>()];
    let own = cost(&command(IndexedCall::GatherRows, shapes, (0..1024).collect()));
    assert_eq!((own.cycles(), own.requests(), own.bound), (500 + 1024, 1024, Bound::Engine));
}

/// A row of 4168 bytes is 4096 and 72, as a transfer of it would be: two commands, each with a start and a list of both rows.
/// The first one moves 32 requests into one Data Memory Network, in 64 cycles. The second one reads two units of HBM in
/// different stacks, each in 16/3 cycles.
#[test]
fn rows_of_two_commands_start_twice() {
    let shapes = [hbm::<m![V, E # 4352]>(), index::<m![T]>(), dm::<m![1 # 2], m![1 # 256], m![T, E]>()];
    let own = command(IndexedCall::GatherRows, shapes, vec![0, 1]);
    let engines = indexed_operation(&own, &DmaOptions::default()).expect("it has commands").to_string();
    let own = cost(&own);
    assert_eq!((own.commands(), own.requests(), own.bytes()), (2, 2 * 17, 2 * 4168));
    assert_eq!(own.cycles(), 2 * 500 + 64 + 16u64.div_ceil(3));
    let lines: Vec<&str> = engines.lines().collect();
    assert!(
        lines[0].starts_with("engine 0.0.0: [2 : index] of [4096 : 1] : 4096 @ HBM(0) 0x0 -> "),
        "{engines}"
    );
    assert!(
        lines[1].starts_with("engine 0.0.0: [2 : index] of [72 : 1] : 72 @ HBM(0) 0x1000 -> "),
        "{engines}"
    );
    assert_eq!(lines.len(), 2, "{engines}");
    // Rows that are a multiple of 4096 bytes start once.
    let shapes =
        [hbm::<m![V, H, W # 16]>(), index::<m![T]>(), dm::<m![1 # 2], m![1 # 256], m![T, H, W # 16]>()];
    assert_eq!(cost(&command(IndexedCall::GatherRows, shapes, vec![0, 1])).commands(), 1);
}

/// Both clusters and all PEs: eight engines, one start each, whatever they wait for.
#[test]
fn engines_start_once() {
    let shapes = [hbm::<m![V, H]>(), index::<m![R]>(), dm::<m![R / 256], m![R % 256], m![H]>()];
    let own = cost(&command(IndexedCall::GatherRows, shapes, (0..512).collect()));
    assert_eq!((own.engines.len(), own.commands(), own.requests()), (8, 8, 512));
    // 16 requests of each channel.
    assert_eq!(own.cycles(), 500 + (16 * 16u64).div_ceil(3));
}

/// A scatter where the last one wins is the work of one engine.
#[test]
fn one_engine_keeps_the_order() {
    let shapes = [hbm::<m![V, H]>(), index::<m![R]>(), dm::<m![1 # 2], m![R % 256], m![R / 256, H]>()];
    let mut own = command(IndexedCall::ScatterRows, shapes, (0..512).collect());
    let equal = cost(&own);
    assert_eq!((equal.engines.len(), equal.commands()), (4, 4));
    own.duplicates = Duplicates::LastWins;
    let last = cost(&own);
    assert_eq!((last.engines.len(), last.commands(), last.cycles()), (1, 1, 500 + 512));
}

/// What is written to a part of a unit of 256 bytes is read, changed and written: 50 times as long.
#[test]
fn short_rows_are_read_and_written_again() {
    let shapes = [hbm::<m![V, W]>(), index::<m![S]>(), dm::<m![1 # 2], m![S # 256], m![W]>()];
    let own = cost(&command(IndexedCall::ScatterRows, shapes, (0..64).map(|k| k * 32).collect()));
    // 64 rows of 8 bytes, 256 bytes apart: two in each channel.
    assert_eq!(own.cycles(), 500 + (2 * 50 * 16u64).div_ceil(3));
}

/// Before it has been executed, an index is taken to say 0, 1, 2, …
#[test]
fn an_index_that_nobody_read() {
    let listed = command(IndexedCall::GatherRows, one_pe(), (0..64).collect());
    let unknown = IndexedDma { list: None, ..listed.clone() };
    assert_eq!(cost(&listed), cost(&unknown));
}

/// A table may end with HBM. A row behind the end has no commands, although the first rows have some.
#[test]
fn rows_end_with_hbm() {
    let rows_from = |address: u64, list: Vec<usize>| {
        let mut own = command(IndexedCall::GatherRows, one_pe(), list);
        own.source.address = address;
        indexed_operation(&own, &DmaOptions::default()).map(|_| ())
    };
    let start = HBM_BYTES - (V::SIZE * H::SIZE) as u64;
    let all = || (V::SIZE - 64..V::SIZE).collect::<Vec<_>>();
    assert_eq!(rows_from(start, all()), Ok(()));
    let error = rows_from(start + 8, all()).expect_err("its last 8 bytes are outside");
    assert_eq!(error.rule(), "capacity", "{error}");
    assert_eq!(rows_from(start + 8, all().into_iter().map(|row| row - 1).collect()), Ok(()));
}
