//! Tests of the rules of DMA transfers, each with a neighbour that is accepted.

use super::*;
use crate::command::IndexedCall;
use crate::mapping::{Expr, M};
use crate::prelude::{axes, m};
use crate::scalar::ElementType::{self, I4, I8, I32};

axes![A = 2, B = 8, C = 3, K = 12, S = 4, V = 10, E = 15, F = 16, Single = 1];

fn hbm<Element: M>(element: ElementType) -> Shape {
    Shape::hbm(element, <m![1]>::EXPR, Element::EXPR)
}

fn dm<Slice: M, Element: M>(element: ElementType) -> Shape {
    Shape::dm(element, <m![1]>::EXPR, <m![1 # 2]>::EXPR, Slice::EXPR, Element::EXPR)
}

/// The rule and the message, or `None` if the transfer is accepted.
fn refused(source: &Shape, destination: &Shape) -> Option<(&'static str, String)> {
    derive_dma(source, destination).err().map(|error| (error.rule(), error.message().to_string()))
}

#[track_caller]
fn check(source: &Shape, destination: &Shape, rule: &str, parts: &[&str]) {
    let (found, message) = refused(source, destination).expect("is refused");
    assert_eq!(found, rule, "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

type One = m![1 # 256];

#[test]
fn no_transfer_reaches_the_vrf() {
    let vrf = Shape::vrf(I8, <m![1]>::EXPR, <m![1 # 2]>::EXPR, One::EXPR, <m![B]>::EXPR);
    let other = dm::<One, m![B]>(I8);
    check(
        &vrf,
        &other,
        "DMA memory",
        &["to_dm: a transfer from or to the VRF", "help: load the VRF with `.to_vrf(…)`"],
    );
    check(&other, &vrf, "DMA memory", &["help: load the VRF with `.to_vrf(…)`"]);
    assert_eq!(refused(&other, &dm::<One, m![B]>(I8)), None);
}

#[test]
fn starts_are_aligned_as_steps_are() {
    let parts = ["starts 4 elements of 8 bits from the source", "starts at multiples of 8 bytes"];
    check(&hbm::<m![# 4 + B + # 4]>(I8), &dm::<One, m![B]>(I8), "DMA start", &parts);
    assert_eq!(refused(&hbm::<m![# 8 + B]>(I8), &dm::<One, m![B]>(I8)), None);
    // In HBM, a start must be at a whole byte.
    let parts = ["starts 1 element of 4 bits from the destination", "starts at multiples of 1 byte;"];
    check(&hbm::<m![B]>(I4), &hbm::<m![# 1 + B + # 1]>(I4), "DMA start", &parts);
    assert_eq!(refused(&hbm::<m![B]>(I4), &hbm::<m![# 2 + B]>(I4)), None);
}

#[test]
fn the_shortest_odd_step_says_how_far_to_pad() {
    // The steps are 12 and 36 bytes.
    let source = hbm::<m![A, C, B # 12]>(I8);
    check(
        &source,
        &dm::<One, m![A, C, B # 16]>(I8),
        "DMA stride",
        &["pad the innermost axis to `# 16` on both sides"],
    );
    assert_eq!(refused(&hbm::<m![A, C, B # 16]>(I8), &dm::<One, m![A, C, B # 16]>(I8)), None);
}

/// The end of a run is read to the end of its 8 bytes. The extra bytes land in padding of the destination, which must
/// exist. If another run begins there, on either side, there is no room.
#[test]
fn the_last_bytes_of_a_run_are_its_own() {
    let accepted = |source: &Shape, destination: &Shape| assert_eq!(refused(source, destination), None);
    // One element of 4 bytes goes to two, to eight, and to each slice; the source has one, two or three.
    for source in [hbm::<m![1]>(I32), hbm::<m![1 # 2]>(I32), hbm::<m![1 # 3]>(I32)] {
        for destination in
            [dm::<One, m![1 # 2]>(I32), dm::<One, m![1 # 8]>(I32), dm::<m![F # 256], m![1 # 8]>(I32)]
        {
            accepted(&source, &destination);
        }
        let text = [
            "has 4 contiguous bytes on both sides",
            "help: pad the innermost axis of the destination to `# 2`",
        ];
        check(&source, &dm::<One, m![1]>(I32), "DMA run", &text);
    }
    // Three bytes; eleven bytes end in the second unit.
    accepted(&hbm::<m![C]>(I8), &dm::<One, m![C # 8]>(I8));
    check(&hbm::<m![C]>(I8), &dm::<One, m![C # 7]>(I8), "DMA run", &["destination to `# 8`"]);
    accepted(&hbm::<m![K]>(I8), &dm::<One, m![K # 16]>(I8));
    check(&hbm::<m![K]>(I8), &dm::<One, m![K # 15]>(I8), "DMA run", &["destination to `# 16`"]);
    accepted(&hbm::<m![S]>(I4), &dm::<One, m![S # 16]>(I4));
    check(
        &hbm::<m![S]>(I4),
        &dm::<One, m![S # 8]>(I4),
        "DMA run",
        &["has 2 contiguous bytes", "destination to `# 16`"],
    );
    // Several runs are 8 bytes apart on both sides, or each has a slice of its own.
    accepted(&hbm::<m![A, S # 8]>(I8), &dm::<One, m![A, S # 8]>(I8));
    accepted(&hbm::<m![A, S # 8]>(I8), &dm::<m![A # 256], m![S # 8]>(I8));
    let text = ["has 4 contiguous bytes on both sides", "pad it on both sides to `# 8`"];
    check(&hbm::<m![A, S]>(I8), &dm::<m![A # 256], m![S # 8]>(I8), "DMA run", &text);
    check(&hbm::<m![A, S # 8]>(I8), &dm::<One, m![A, S]>(I8), "DMA run", &["destination to `# 8`"]);
    // The first run must be at the start of its unit.
    check(&hbm::<m![# 4 + S]>(I8), &dm::<One, m![S # 8]>(I8), "DMA start", &["from the source"]);
    // Moves that are not from HBM to DM may move single bytes.
    accepted(&hbm::<m![1]>(I8), &hbm::<m![1]>(I8));
    accepted(&dm::<One, m![1]>(I8), &dm::<One, m![1]>(I8));
}

/// The message names the order of the destination if it makes the runs long enough.
#[test]
fn another_order_is_advised_where_it_helps() {
    let advice = "move it with `.to_hbm()` first";
    let message = |source: &Shape, destination: &Shape| refused(source, destination).expect("is refused").1;
    let transposed = message(&hbm::<m![B, S]>(I8), &dm::<One, m![S, B]>(I8));
    assert!(transposed.contains(advice), "{transposed}");
    // 12 bytes in a row are no multiple of 8 in any order, and a slice gets only 4 bytes.
    for [source, destination] in [
        [hbm::<m![S, K]>(I8), dm::<m![S # 256], m![K]>(I8)],
        [hbm::<m![B, S]>(I8), dm::<m![B # 256], m![S]>(I8)],
    ] {
        let message = message(&source, &destination);
        assert!(message.contains("help: make the innermost axis the same"), "{message}");
    }
}

/// A gather by row numbers: the rule and the message, or `None` if it is accepted.
fn gather(table: &Shape, index: &'static Expr, side: &Shape) -> Option<(&'static str, String)> {
    let index = Shape::hbm(I32, table.chip, index);
    let refused = derive_indexed(IndexedCall::GatherRows, table, &index, side).err();
    refused.map(|error| (error.rule(), error.message().to_string()))
}

#[track_caller]
fn refused_rows(found: Option<(&'static str, String)>, rule: &str, parts: &[&str]) {
    let (found, message) = found.expect("is refused");
    assert_eq!(found, rule, "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

/// The axis of the rows is found by its positions: an axis of one position is not found.
#[test]
fn a_table_of_one_row_has_no_row_axis() {
    let side = dm::<m![S # 256], m![B]>(I8);
    let found = gather(&hbm::<m![Single, B]>(I8), <m![S]>::EXPR, &side);
    let parts = ["all that has more than one position is in", "by an axis", "of two or more positions"];
    refused_rows(found, "row axis", &parts);
    assert_eq!(gather(&hbm::<m![A, B]>(I8), <m![S]>::EXPR, &side), None);
}

/// `E = 15` is in parts of 4, one digit in the index and one in a row: the last row lacks an element.
#[test]
fn all_rows_hold_the_same_elements() {
    let side = dm::<m![E # 16 / 4 # 256], m![E # 16 % 4, B]>(I8);
    let found = gather(&hbm::<m![V, E # 16 % 4, B]>(I8), <m![E # 16 / 4]>::EXPR, &side);
    refused_rows(found, "ragged rows", &["share padding", "pad the axes of the index"]);
    let side = dm::<m![F / 4 # 256], m![F % 4, B]>(I8);
    assert_eq!(gather(&hbm::<m![V, F % 4, B]>(I8), <m![F / 4]>::EXPR, &side), None);
}

/// Parts of a product in the chips of a table.
#[test]
fn chips_hold_whole_axes() {
    type Group = m![[A, C] # 8];
    let table = |chip, element| Shape::hbm(I8, chip, element);
    let side = |chip, element| Shape::dm(I8, chip, <m![1 # 2]>::EXPR, <m![S # 256]>::EXPR, element);
    let [chip, inside] = [<m![{ Group } / 4]>::EXPR, <m![{ Group } % 4, B]>::EXPR];
    let found = gather(&table(chip, <m![V, { Group } % 4, B]>::EXPR), <m![S]>::EXPR, &side(chip, inside));
    refused_rows(found, "row chips", &["hold parts of a product", "spread an axis over the chips"]);
    let [chip, inside] = [<m![A]>::EXPR, <m![C, B]>::EXPR];
    assert_eq!(gather(&table(chip, <m![V, C, B]>::EXPR), <m![S]>::EXPR, &side(chip, inside)), None);
}

/// Byte offsets name a row if it has as many elements as there are from one row to the next.
#[test]
fn rows_of_byte_offsets() {
    let index = hbm::<m![S]>(I32);
    let gather = |table: &Shape, side: &Shape| derive_indexed(IndexedCall::Gather, table, &index, side);
    type Slices = m![S # 256];
    // Rows have 16 elements, and are 16 apart although `V` is not outermost.
    let side = dm::<Slices, m![A, B]>(I8);
    let config = gather(&hbm::<m![A, V, B # 16]>(I8), &side).expect("it is accepted");
    assert_eq!(config.row_bytes(), Ok(16));
    for table in [hbm::<m![A, V, B]>(I8), hbm::<m![V, A, B # 16]>(I8)] {
        let error = gather(&table, &side).expect_err("it is refused");
        assert_eq!(error.rule(), "row bytes", "{error}");
        assert!(error.message().contains("byte offsets do not say which row is meant"), "{error}");
    }
}
