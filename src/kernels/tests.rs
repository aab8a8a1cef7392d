//! Refusals of helpers, at each limit and one behind it.

use super::greatest::check_count;
use super::layout::{OneAxis, check_operands, check_packets, check_parts, check_row_operands, check_rows};
use super::linear::check_product;
use super::norm::check_norm;
use super::tiled::check_half;
use crate::error::PlanError;
use crate::mapping::AxisName;
use crate::prelude::{axes, bf16, m};
use crate::scalar::i4;

axes![
    Q = 256,
    B = 8,
    A = 9,
    N = 1024,
    P = 1032,
    K = 32,
    L = 64,
    R = 1025,
    C = 10,
    W = 65536,
    V = 65544,
    S = 512
];

type Cluster = m![1 # 2];

/// The rule that a check names, if it refuses. The message must begin with the helper's name, and contain a help.
#[track_caller]
fn rule(check: Result<(), PlanError>) -> Option<&'static str> {
    let error = check.err()?;
    assert!(error.message().starts_with("own: ") && error.message().contains("; help: "), "{error}");
    Some(error.rule())
}

#[test]
fn rows_are_whole_flits_in_all_slices() {
    assert_eq!(rule(check_rows::<Cluster, m![Q], m![1], m![B]>("own")), None);
    assert_eq!(rule(check_rows::<Cluster, m![Q], m![1], m![A]>("own")), Some("rows in flits"));
    assert_eq!(rule(check_rows::<Cluster, m![Q], m![1], m![A # 16]>("own")), None);
    // One byte for each element: DM holds no more of any type.
    assert_eq!(rule(check_rows::<Cluster, m![Q], m![B], m![W]>("own")), None);
    assert_eq!(rule(check_rows::<Cluster, m![Q], m![B], m![V]>("own")), Some("rows in DM"));
    assert_eq!(rule(check_rows::<m![1], m![Q], m![1], m![B]>("own")), Some("units"));
    assert_eq!(rule(check_rows::<Cluster, m![B], m![1], m![B]>("own")), Some("units"));
    assert_eq!(rule(check_rows::<Cluster, m![S], m![1], m![B]>("own")), Some("units"));
}

#[test]
fn operands_fit_the_register_file() {
    assert_eq!(rule(check_row_operands::<m![N]>("own", "row", 2)), None);
    assert_eq!(rule(check_row_operands::<m![R]>("own", "row", 2)), Some("operands in the register file"));
    assert_eq!(rule(check_row_operands::<m![R]>("own", "row", 1)), None);
    // 8 KiB: 8 roots and a scale of 2040, or two numbers of each of 8 rows and two vectors of 1016.
    type Long = m![N # 2040];
    assert_eq!(rule(check_norm::<Cluster, m![Q], m![B], Long>("own", 1, 1)), None);
    assert_eq!(
        rule(check_norm::<Cluster, m![Q], m![A], Long>("own", 1, 1)),
        Some("operands in the register file")
    );
    assert_eq!(rule(check_norm::<Cluster, m![Q], m![B], m![A # 1016]>("own", 2, 2)), None);
    assert_eq!(
        rule(check_norm::<Cluster, m![Q], m![A], m![A # 1016]>("own", 2, 2)),
        Some("operands in the register file")
    );
}

#[test]
fn rows_and_columns_share_the_register_file() {
    // 8 KiB: two numbers of each of 8 rows, and one of each of 2032 columns.
    assert_eq!(rule(check_operands::<m![B], m![N # 2032]>("own", 2, 1)), None);
    assert_eq!(
        rule(check_operands::<m![A], m![N # 2032]>("own", 2, 1)),
        Some("operands in the register file")
    );
}

#[test]
fn a_row_has_as_many_columns_as_are_asked_for() {
    assert_eq!(rule(check_count::<m![C # 16], 10>("own")), None);
    assert_eq!(rule(check_count::<m![C # 16], 11>("own")), Some("columns to be found"));
    assert_eq!(rule(check_count::<m![C # 16], 1>("own")), None);
    assert_eq!(rule(check_count::<m![C # 16], 0>("own")), Some("columns to be found"));
}

#[test]
fn weights_are_whole_packets_in_the_register_file() {
    assert_eq!(rule(check_packets::<bf16, Cluster, m![Q], m![K]>("own")), None);
    assert_eq!(rule(check_packets::<bf16, Cluster, m![Q], m![K % 16]>("own")), Some("rows in packets"));
    assert_eq!(rule(check_packets::<i8, Cluster, m![Q], m![L]>("own")), None);
    assert_eq!(rule(check_packets::<i8, Cluster, m![Q], m![K]>("own")), Some("rows in packets"));
    assert_eq!(rule(check_packets::<i4, Cluster, m![Q], m![L]>("own")), Some("rows in packets"));
    assert_eq!(rule(check_packets::<i4, Cluster, m![Q], m![L # 128]>("own")), None);
    assert_eq!(rule(check_product::<bf16, Cluster, m![Q], m![A], m![K]>("own")), Some("groups of weights"));
    assert_eq!(rule(check_product::<bf16, Cluster, m![Q], m![N], m![K]>("own")), None);
    assert_eq!(
        rule(check_product::<bf16, Cluster, m![Q], m![P], m![K]>("own")),
        Some("weights in the register file")
    );
    assert!(check_half::<bf16, m![S], m![K]>().is_ok());
    assert_eq!(
        check_half::<bf16, m![S # 520], m![K]>().map_err(|error| error.rule()),
        Err("tiles in halves")
    );
}

#[test]
fn parts_of_rows_are_of_one_axis() {
    assert_eq!(rule(check_parts::<m![W / 64], m![W % 64]>("own")), None);
    assert_eq!(rule(check_parts::<m![W / 64], m![L]>("own")), Some("parts of rows"));
}

#[test]
fn padding_does_not_count() {
    fn live<Columns: OneAxis>(axis: &str) -> usize {
        assert_eq!(<Columns::Axis as AxisName>::NAME.as_str(), axis);
        Columns::LIVE
    }
    assert_eq!(live::<m![C # 16]>("C"), 10);
    assert_eq!(live::<m![C = 6 # 16]>("C"), 6);
    assert_eq!(live::<m![C = 16]>("C"), 10);
    assert_eq!(live::<m![C # 16 = 24]>("C"), 10);
    assert_eq!(live::<m![# 2 + C + # 4]>("C"), 10);
    assert_eq!(live::<m![W % 64 # 72]>("W"), 64);
    assert_eq!(live::<m![W / 64]>("W"), 1024);
}
