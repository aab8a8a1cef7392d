//! The tables of a derivation, row by row (guide: sequencers).

use crate::explain::explain_read;
use crate::mapping::{Expr, M, Pool, factorize};
use crate::prelude::{axes, m};
use crate::scalar::ElementType;
use crate::sequencer::*;

fn explained<Buf: M, Time: M, Packet: M>(dtype: ElementType) -> Explanation {
    explain_read(Buf::EXPR, Time::EXPR, Packet::EXPR, dtype).expect("derives")
}

/// The rows as they are printed.
#[track_caller]
fn check_rows(explanation: &Explanation, expected: &[[&str; 4]]) {
    let rows: Vec<[String; 4]> = explanation
        .rows
        .iter()
        .map(|row| {
            let after = row.after.clone();
            [row.term.clone(), entry_text(&row.entry), row.source.clone(), after]
        })
        .collect();
    let rows: Vec<[&str; 4]> = rows.iter().map(|row| row.each_ref().map(String::as_str)).collect();
    assert_eq!(rows, expected);
    let entries: Vec<Entry> = explanation.rows.iter().map(|row| row.entry).collect();
    assert_eq!(entries, explanation.derived.entries.as_slice());
}

#[track_caller]
fn fact<'a>(explanation: &'a Explanation, name: &str) -> &'a str {
    &explanation.facts.iter().find(|fact| fact.0 == name).expect("is a fact").1
}

#[test]
fn rearranging_axes() {
    axes![A = 8, B = 8, C = 8];
    let explanation = explained::<m![A, B, C # 32], m![B, A], m![C # 16]>(ElementType::I8);
    check_rows(
        &explanation,
        &[
            ["B", "8 : 32", "m![C # 32]::SIZE", "m![A, 1 # 8, C # 32]"],
            ["A", "8 : 256", "m![1 # 8, C # 32]::SIZE", "m![1 # 64, C # 32]"],
            ["C # 16", "16 : 1", "contiguous (Packet dimension)", "1 # 2048"],
        ],
    );
    assert_eq!(fact(&explanation, "fetch_size"), "16 bytes");
}

#[test]
fn splitting_axes() {
    axes![A = 8, B = 8, C = 4];
    let explanation =
        explained::<m![A, B, C # 8], m![A % 2, B % 4, A / 2, B / 4], m![C # 32]>(ElementType::I8);
    check_rows(
        &explanation,
        &[
            ["A % 2", "2 : 64", "m![B, C # 8]::SIZE", "m![A / 2, 1 # 2, B, C # 8]"],
            ["B % 4", "4 : 8", "m![C # 8]::SIZE", "m![A / 2, 1 # 2, B / 4, 1 # 4, C # 8]"],
            ["A / 2", "4 : 128", "m![1 # 2, B / 4, 1 # 4, C # 8]::SIZE", "m![1 # 8, B / 4, 1 # 4, C # 8]"],
            ["B / 4", "2 : 32", "m![1 # 4, C # 8]::SIZE", "m![1 # 64, C # 8]"],
            ["C # 32", "32 : 1", "contiguous (Packet dimension)", "1 # 512"],
        ],
    );
    assert_eq!(fact(&explanation, "fetch_size"), "32 bytes");
}

#[test]
fn slicing_axes() {
    axes![A = 16, B = 8, C = 8];
    let explanation =
        explained::<m![A, B, C], m![A / 4, A % 4 = 3, B / 4, B % 4 = 2], m![C]>(ElementType::I8);
    check_rows(
        &explanation,
        &[
            ["A / 4", "4 : 256", "m![A % 4, B, C]::SIZE", "m![1 # 4, A % 4, B, C]"],
            ["A % 4 = 3", "3 : 64", "m![B, C]::SIZE (sliced to 3)", "m![1 # 16, B, C]"],
            ["B / 4", "2 : 32", "m![B % 4, C]::SIZE", "m![1 # 32, B % 4, C]"],
            ["B % 4 = 2", "2 : 8", "m![C]::SIZE (sliced to 2)", "m![1 # 128, C]"],
            ["C", "8 : 1", "contiguous (Packet dimension)", "1 # 1024"],
        ],
    );
    assert_eq!(fact(&explanation, "fetch_size"), "8 bytes");
}

#[test]
fn broadcasting_axes() {
    axes![A = 16, T = 4, P = 4];
    let explanation = explained::<m![A], m![T, A], m![P]>(ElementType::I8);
    check_rows(
        &explanation,
        &[
            ["T", "4 : 0", "not in Buf (broadcast)", "m![A]"],
            ["A", "16 : 1", "A in m![A]", "1 # 16"],
            ["P", "4 : 0", "not in Buf (broadcast)", "1 # 16"],
        ],
    );
}

/// The vendor's table has `m![H % 2, W]::SIZE` as the stride of `H / 2`, with an untouched buffer. The rule of the
/// other four tables gives the rest after the earlier rows here: the sizes are the same.
#[test]
fn merging_entries() {
    axes![N = 8, C = 8, H = 8, W = 32];
    let explanation = explained::<
        m![N, C, H, W],
        m![W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2],
        m![W % 8],
    >(ElementType::I8);
    check_rows(
        &explanation,
        &[
            ["W / 16", "2 : 16", "m![W % 16]::SIZE", "m![N, C, H, 1 # 2, W % 16]"],
            ["H % 2", "2 : 32", "m![1 # 2, W % 16]::SIZE", "m![N, C, H / 2, 1 # 4, W % 16]"],
            ["H / 2", "4 : 64", "m![1 # 4, W % 16]::SIZE", "m![N, C, 1 # 16, W % 16]"],
            ["C / 2", "4 : 512", "m![C % 2, 1 # 16, W % 16]::SIZE", "m![N, 1 # 4, C % 2, 1 # 16, W % 16]"],
            ["C % 2", "2 : 256", "m![1 # 16, W % 16]::SIZE", "m![N, 1 # 128, W % 16]"],
            ["N / 2", "4 : 4096", "m![N % 2, 1 # 128, W % 16]::SIZE", "m![1 # 4, N % 2, 1 # 128, W % 16]"],
            ["N % 2", "2 : 2048", "m![1 # 128, W % 16]::SIZE", "m![1 # 1024, W % 16]"],
            ["W / 8 % 2", "2 : 8", "m![W % 8]::SIZE", "m![1 # 2048, W % 8]"],
            ["W % 8", "8 : 1", "contiguous (Packet dimension)", "1 # 16384"],
        ],
    );
    let text = explanation.to_string();
    let (_, table) = text.split_once("neighbours merge:\n\n").expect("has a second table");
    let lines: Vec<&str> = table.lines().skip(2).take(6).collect();
    assert_eq!(
        lines,
        [
            "| W / 16 | 2 : 16   |                                    |",
            "| H % 2  | 2 : 32   |                                    |",
            "| H / 2  | 4 : 64   |                                    |",
            "| C      | 8 : 256  | C / 2 (4 : 512), C % 2 (2 : 256)   |",
            "| N      | 8 : 2048 | N / 2 (4 : 4096), N % 2 (2 : 2048) |",
            "| W % 16 | 16 : 1   | W / 8 % 2 (2 : 8), W % 8 (8 : 1)   |",
        ]
    );
    let merged: Vec<Entry> = explanation.merged.iter().map(|row| row.entry).collect();
    assert_eq!(merged, explanation.limited.expect("is within the limits").entries.as_slice());
    assert!(text.contains("final config        [2 : 16, 2 : 32, 4 : 64, 8 : 256, 8 : 2048, 16 : 1] : 16"));
}

#[test]
fn groups_cross_cuts_and_members_that_only_line_up_together() {
    axes![A = 3, B = 5, C = 2, D = 16, E = 12];
    check_rows(
        &explained::<m![A, B, C], m![A], m![[B, C] # 16]>(ElementType::I8),
        &[
            ["A", "3 : 10", "m![B, C]::SIZE", "m![1 # 3, B, C]"],
            ["[B, C] # 16", "16 : 1", "contiguous (Packet dimension)", "1 # 30"],
        ],
    );
    check_rows(
        &explained::<m![D % 4, D / 4], m![1], m![D]>(ElementType::I8),
        &[
            ["D / 4", "4 : 1", "D / 4 in m![D % 4, D / 4]", "m![D % 4, 1 # 4]"],
            ["D % 4", "4 : 4", "m![1 # 4]::SIZE", "1 # 16"],
        ],
    );
    check_rows(
        &explained::<m![E % 3, E / 3], m![E / 4, E % 4], m![1]>(ElementType::I8),
        &[
            ["E / 3", "4 : 1", "E / 3 in m![E % 3, E / 3]", "m![E % 3, 1 # 4]"],
            ["E % 3", "3 : 4", "m![1 # 4]::SIZE", "1 # 12"],
        ],
    );
}

#[test]
fn composites_over_a_run() {
    axes![H = 5, W = 20];
    check_rows(
        &explained::<m![[H, W] # 104], m![[H, W] # 104 / 8], m![[H, W] # 104 % 8]>(ElementType::I8),
        &[
            [
                "[H, W] # 104 / 8",
                "13 : 8",
                "m![[H, W / 4] # 26 % 2, W % 4]::SIZE",
                "m![1 # 13, [H, W / 4] # 26 % 2, W % 4]",
            ],
            ["[H, W / 4] # 26 % 2", "2 : 4", "m![W % 4]::SIZE", "m![1 # 26, W % 4]"],
            ["W % 4", "4 : 1", "contiguous (Packet dimension)", "1 # 104"],
        ],
    );
}

#[test]
fn what_is_left_of_a_block_that_no_digit_divides() {
    axes![A = 4, B = 8, C = 5, D = 6];
    check_rows(
        &explained::<m![A, # 3 + B, C # 8, D], m![D, B / 4, A, C # 8], m![B % 4]>(ElementType::I8),
        &[
            ["D", "6 : 1", "D in m![A, B # 11, C # 8, D]", "m![A, B # 11, C # 8, 1 # 6]"],
            ["B / 4", "2 : 192", "m![B % 4, C # 8, 1 # 6]::SIZE", "m![A, B % 4 # 11, C # 8, 1 # 6]"],
            ["A", "4 : 528", "m![B % 4 # 11, C # 8, 1 # 6]::SIZE", "m![1 # 4, B % 4 # 11, C # 8, 1 # 6]"],
            ["C # 8", "8 : 6", "m![1 # 6]::SIZE", "m![1 # 4, B % 4 # 11, 1 # 48]"],
            ["B % 4", "4 : 48", "m![1 # 48]::SIZE", "1 # 2112"],
        ],
    );
}

/// Digits of an axis stay apart if padding lies between them.
#[test]
fn padding_between_digits_stays() {
    axes![A = 16, B = 3];
    check_rows(
        &explained::<m![A / 4, A % 4 # 6, B], m![B, A / 4], m![A % 4]>(ElementType::I8),
        &[
            ["B", "3 : 1", "B in m![A / 4, A % 4 # 6, B]", "m![A / 4, A % 4 # 6, 1 # 3]"],
            ["A / 4", "4 : 18", "m![A % 4 # 6, 1 # 3]::SIZE", "m![1 # 4, A % 4 # 6, 1 # 3]"],
            ["A % 4", "4 : 3", "m![1 # 3]::SIZE", "1 # 72"],
        ],
    );
}

#[test]
fn whole_text() {
    axes![N = 4, C = 3, H = 8, W = 8];
    let explanation = explained::<m![N, C, H, W], m![W, H, C, N], m![1]>(ElementType::Bf16);
    let expected = "\
read m![N, C, H, W]: Time m![W, H, C, N], Packet m![1]

| Term | Entry   | Stride source       | Buf after          |
|------|---------|---------------------|--------------------|
| W    | 8 : 1   | W in m![N, C, H, W] | m![N, C, H, 1 # 8] |
| H    | 8 : 8   | m![1 # 8]::SIZE     | m![N, C, 1 # 64]   |
| C    | 3 : 64  | m![1 # 64]::SIZE    | m![N, 1 # 192]     |
| N    | 4 : 192 | m![1 # 192]::SIZE   | 1 # 768            |

initial entries     [8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1
merges              none, not needed: 4 of 8 entries
final config        [8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1
contiguous run      1 element of bf16, 2 bytes
fetch_size          2 bytes
fetches_per_packet  1
cycles              768 (768 packets × 1)

note: fetch: a packet";
    let text = explanation.to_string();
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn limits_are_explained() {
    axes![B = 65_537];
    let explanation = explained::<m![B], m![B], m![1]>(ElementType::I8);
    assert_eq!(explanation.limited.expect_err("is too long").rule(), "iteration limit");
    assert!(explanation.to_string().contains("final config     refused: read: a sequencer entry iterates"));
}

/// The stages of the adapter, in the order in which elements pass them.
#[test]
fn stages_of_a_fetch() {
    use crate::engine::fetch::FetchPlan;
    use crate::engine::fetch::stages::{Lookup, ZeroPoint};
    use crate::scalar::bf16;
    axes![A = 4, B = 90, I = 2];
    let facts = |explanation: Explanation| -> Vec<String> {
        let shown = explanation.facts.iter().map(|(name, value)| format!("{name}: {value}"));
        shown.skip_while(|fact| !fact.starts_with("cycles")).skip(1).collect()
    };
    type Plan<Time, Packet, D2, Adapter> =
        FetchPlan<i8, D2, m![A, B # 96], Time, Packet, false, m![I], Adapter>;
    let table = Plan::<m![A, I], m![B # 96], f32, Lookup<bf16>>::explain();
    assert_eq!(
        facts(table),
        [
            "interleaving: two tensors take turns, 1 packet each",
            "masking: last_dim 2, left_pad 0, last_dim_rightmost_valid_count [90], pad_value 0x0; \
             sequencer [4 : 96, 2 : 0, 1 : 0, 96 : 1] : 96",
            "table indexing: i8 to bf16, 256 entries",
            "type casting: bf16 to f32",
            "batching: 12 fetches make a packet",
            "latency: 2 cycles",
        ]
    );
    let zero_point = Plan::<m![I, A # 5, B # 96 / 8], m![B # 96 % 8], i32, ZeroPoint>::explain();
    assert!(zero_point.notes[0].starts_with("the stream has padding that no mask replaces"));
    assert_eq!(
        facts(zero_point),
        [
            "interleaving: two tensors take turns, 60 packets each",
            "masking: last_dim 2, left_pad 0, last_dim_rightmost_valid_count [2], pad_value 0x0; \
             sequencer [2 : 0, 5 : 96, 12 : 8, 8 : 1] : 8",
            "type casting: i8 to i32",
            "zero-point subtraction: in i32",
            "latency: 1 cycle",
        ]
    );
}

#[test]
fn members_count_where_they_are_more_than_the_entries() {
    axes![A = 256];
    type Time = m![A / 128, A / 64 % 2, A / 32 % 2, A / 16 % 2, A / 8 % 2, A / 4 % 2, A / 2 % 2];
    let eight = explained::<m![A], Time, m![A % 2]>(ElementType::I8);
    assert_eq!((eight.rows.len(), eight.merged.len()), (2, 2));
    assert!(eight.to_string().contains("none, not needed: 2 of 8 entries"), "{eight}");
    let nine = explained::<m![A], m![{ Time }, 1 # 2], m![A % 2]>(ElementType::I8);
    assert_eq!((nine.rows.len(), nine.merged.len()), (9, 3));
    assert_eq!(nine.limited.expect("merges").to_string(), "[128 : 2, 2 : 0, 2 : 1] : 2");
}

#[test]
fn nine_entries_that_do_not_merge_are_explained() {
    axes![C = 2, D = 3, E = 2, F = 3, G = 2, H = 3, I = 2, J = 3, K = 2];
    let nine = explained::<m![C, E, G, I, K], m![D, C, F, E, H, G, J, I], m![K # 4]>(ElementType::I8);
    assert_eq!((nine.rows.len(), nine.merged.len()), (9, 9));
    let text = nine.to_string();
    assert!(text.contains("none, no neighbours are contiguous: 9 of 8 entries"), "{text}");
    assert!(text.contains("refused: read: the sequencer needs 9 entries"), "{text}");
}

#[test]
fn parts_of_bytes_are_bits() {
    axes![A = 4, B = 6];
    let run = |explanation: Explanation| fact(&explanation, "contiguous run").to_string();
    assert_eq!(run(explained::<m![B, A], m![B], m![A]>(ElementType::I4)), "24 elements of i4, 12 bytes");
    assert_eq!(run(explained::<m![A, B], m![B, A], m![1]>(ElementType::I4)), "1 element of i4, 1 × 4 bits");
}

#[test]
fn computed_mappings_are_written_in_brackets() {
    axes![A = 4, B = 6];
    let mut pool = Pool::new();
    let factors = [<m![A, B]>::EXPR, <m![B]>::EXPR, <m![A # 8]>::EXPR].map(|expr| factorize(&mut pool, expr));
    let [buf, time, packet] = &factors;
    let (time, packet) = (StreamPart::Factors(time), StreamPart::Factors(packet));
    let request = Request::new("read", buf, time, packet);
    let explanation = explain_loops(&mut pool, &request).expect("derives");
    let Explanation { buf, time, packet, .. } = explanation;
    assert_eq!([buf, time, packet], ["m![A, B]", "m![B]", "m![A # 8]"]);
}

/// Padding inside all digits is a loop, also if the members of a list are not known.
#[test]
fn padding_inside_of_computed_mappings_has_a_row() {
    axes![A = 4, B = 6];
    let explained = |time: &'static Expr, packet: &'static Expr| {
        let mut pool = Pool::new();
        let factors = [<m![A, B]>::EXPR, time, packet].map(|expr| factorize(&mut pool, expr));
        let [buf, time, packet] = &factors;
        let (time, packet) = (StreamPart::Factors(time), StreamPart::Factors(packet));
        let request = Request::new("read", buf, time, packet);
        explain_loops(&mut pool, &request).expect("derives")
    };
    let outside = "m![A, 1 # 6]";
    check_rows(
        &explained(<m![1]>::EXPR, <m![B, A # 5, 1 # 2]>::EXPR),
        &[
            ["B", "6 : 1", "B in m![A, B]", outside],
            ["A # 5", "5 : 6", "m![1 # 6]::SIZE", "1 # 24"],
            ["1 # 2", "2 : 1", "contiguous (Packet dimension)", "1 # 24"],
        ],
    );
    check_rows(
        &explained(<m![B, 1 # 3]>::EXPR, <m![A]>::EXPR),
        &[
            ["B", "6 : 1", "B in m![A, B]", outside],
            ["1 # 3", "3 : 0", "padding (reads the same again)", outside],
            ["A", "4 : 6", "m![1 # 6]::SIZE", "1 # 24"],
        ],
    );
}

/// The parts of a product that the buffer cuts across its digits have a row each.
#[test]
fn products_that_the_buffer_cuts() {
    axes![A = 2, B = 5];
    check_rows(
        &explained::<m![[A, B] % 2, [A, B] / 2], m![1], m![[A, B] # 12]>(ElementType::I8),
        &[
            [
                "[A, B] / 2 # 6",
                "6 : 1",
                "[A, B] / 2 # 6 in m![[A, B] % 2, [A, B] / 2]",
                "m![[A, B] % 2, 1 # 5]",
            ],
            ["[A, B] % 2", "2 : 5", "m![1 # 5]::SIZE", "1 # 10"],
        ],
    );
}

/// Ragged digits of a padded product, and steps over a truncated axis, have a row each.
#[test]
fn ragged_digits_and_truncated_steps() {
    axes![A = 5, B = 2, C = 6];
    check_rows(
        &explained::<m![C = 5], m![C / 3], m![C % 3 = 2]>(ElementType::I8),
        &[
            ["C / 3", "2 : 3", "m![C % 3]::SIZE", "m![1 # 2, C % 3]"],
            ["C % 3 = 2", "2 : 1", "contiguous (Packet dimension) (sliced to 2)", "1 # 6"],
        ],
    );
    let ragged = explained::<m![A # 6 % 2, A # 6 / 2, B], m![1], m![[A # 6, B] # 20]>(ElementType::I8);
    let terms: Vec<&str> = ragged.rows.iter().map(|row| row.term.as_str()).collect();
    assert_eq!(terms, ["A # 6 / 2 # 5", "A # 6 % 2", "B"]);
    assert_eq!(ragged.rows[2].after, "1 # 12");
}
