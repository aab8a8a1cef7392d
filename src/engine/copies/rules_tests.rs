//! Tests of the rules of shuffles and parallel copies, each with a neighbour that is accepted.

use super::*;
use crate::command::{CopyCall, Start, Transfer};
use crate::error::PlanError;
use crate::mapping::{Expr, M};
use crate::prelude::{axes, m};
use crate::scalar::ElementType;
use crate::scalar::ElementType::{F32, I4, I8};
use crate::tensor::Shape;

axes![C = 2, A = 40, B = 8, R = 3, V = 7, W = 4];

/// A tensor in DM of one chip.
fn dm<Cluster: M, Slice: M, Element: M>(element: ElementType) -> Shape {
    Shape::dm(element, <m![1]>::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR)
}

fn hbm<Chip: M, Element: M>(element: ElementType) -> Shape {
    Shape::hbm(element, Chip::EXPR, Element::EXPR)
}

#[track_caller]
fn refused<T: core::fmt::Debug>(result: Result<T, PlanError>, rule: &str, parts: &[&str]) {
    let error = result.expect_err("it is refused");
    let message = error.message();
    assert_eq!(error.rule(), rule, "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    assert!(message.contains("; help: "), "{message}");
}

fn clusters(shape: &Shape) -> Result<ShuffleConfig, PlanError> {
    derive_shuffle(CopyCall::DmClusterShuffle, UnitLevel::Cluster, shape)
}

fn chips(shape: &Shape) -> Result<ShuffleConfig, PlanError> {
    derive_shuffle(CopyCall::HbmChipShuffle, UnitLevel::Chip, shape)
}

#[test]
fn the_constant_of_a_call_is_the_number_of_units() {
    let shape = dm::<m![C], m![1 # 256], m![B]>(I8);
    let check = |given| check_count("dm_cluster_shuffle", UnitLevel::Cluster, given, &shape);
    assert_eq!(check(2), Ok(()));
    let parts = [
        "dm_cluster_shuffle: the call is for 4 clusters, but Cluster `m![C]` has 2 positions",
        "help: write 2 as the constant of the call",
    ];
    refused(check(4), "unit count", &parts);
    refused(check(1), "unit count", &["the call is for 1 cluster, but"]);
}

#[test]
fn clusters_hold_as_much_as_each_other() {
    assert!(clusters(&dm::<m![A / 20], m![A % 20 # 256], m![B]>(I8)).is_ok());
    let ragged = dm::<m![A # 48 / 24], m![A # 48 % 24 # 256], m![B]>(I8);
    let parts = [
        "dm_cluster_shuffle: Cluster `m![A # 48 / 24]` of `DmTensor<…>` is a part of an axis whose padding it \
         shares with another part, so that one cluster may hold fewer elements than another",
        "help: choose sizes that fill every cluster, or pad the axis outermost in `Cluster` alone",
    ];
    refused(clusters(&ragged), "ragged units", &parts);
    // Tensors that are ragged in another dimension or padded, and one with an empty cluster.
    assert!(clusters(&dm::<m![C], m![A # 48 / 16 # 256], m![A # 48 % 16]>(I8)).is_ok());
    assert!(clusters(&dm::<m![1 # 2], m![A # 256], m![B # 16]>(I8)).is_ok());
    let ragged = hbm::<m![R # 4 / 2], m![R # 4 % 2, B]>(I8);
    refused(chips(&ragged), "ragged units", &["Chip `m![R # 4 / 2]` of `HbmTensor<…>`", "every chip"]);
    assert!(chips(&hbm::<m![R # 4], m![B]>(I8)).is_ok());
}

#[test]
fn patterns_name_what_holds_elements() {
    let config = clusters(&dm::<m![C], m![1 # 256], m![B]>(I8)).expect("it is legal");
    for pattern in [[0, 1], [1, 0], [0, 0], [1, 1]] {
        let moves = config.moves(&pattern).expect("both hold elements");
        let starts: Vec<_> = moves
            .iter()
            .map(|transfer| [transfer.source_start.units, transfer.destination_start.units])
            .collect();
        assert_eq!(starts, [[256 * pattern[0] as isize, 0], [256 * pattern[1] as isize, 256]]);
    }
    let part = "dm_cluster_shuffle: the pattern has 3 numbers, but the tensor has 2 clusters; \
                help: give one number for each cluster, in order";
    refused(config.moves(&[0, 1, 0]), "pattern length", &[part]);
    refused(config.moves(&[0]), "pattern length", &["the pattern has 1 number, but"]);
    let part =
        "the pattern gives cluster 1 what cluster 2 has, but the tensor has 2 clusters; help: use 0 to 1";
    refused(config.moves(&[0, 2]), "pattern bounds", &[part]);
    // Cluster 1 holds no element: it gets and gives nothing, whatever its entry is.
    let config = clusters(&dm::<m![1 # 2], m![1 # 256], m![B]>(I8)).expect("it is legal");
    assert_eq!(
        [config.moves(&[0, 0]), config.moves(&[0, 1])].map(|moves| moves.map(|moves| moves.len())),
        [Ok(1), Ok(1)]
    );
    let part = "the pattern gives cluster 0 what cluster 1 has, but that one holds no element: it is padding of Cluster; \
                help: take from one that holds elements, for example 0";
    refused(config.moves(&[1, 0]), "pattern of padding", &[part]);
    refused(config.moves(&[0, 2]), "pattern bounds", &["what cluster 2 has"]);
    let config = chips(&hbm::<m![R # 4], m![B]>(F32)).expect("it is legal");
    let starts: Vec<_> = config
        .moves(&[2, 0, 1, 3])
        .expect("it is legal")
        .iter()
        .map(|transfer| transfer.source_start)
        .collect();
    assert_eq!(starts, [2, 0, 1].map(|units| Start { units, elements: 0 }));
}

#[test]
fn shuffles_move_whole_bytes() {
    let odd = dm::<m![C], m![1 # 256], m![B / 2, B % 2 # 3]>(I4);
    refused(clusters(&odd), "whole bytes", &["dm_cluster_shuffle", "of 4 bits at a time"]);
    assert!(clusters(&dm::<m![C], m![1 # 256], m![B / 2, B % 2 # 4]>(I4)).is_ok());
}

/// Derives a copy with `Slice` and `Element` before and after.
fn copy<Cluster: M, Slice: M, Element: M, Slice2: M, Element2: M>() -> Result<Transfer, PlanError> {
    derive_parallel_copy(&dm::<Cluster, Slice, Element>(I8), &dm::<Cluster, Slice2, Element2>(I8))
}

#[test]
fn parallel_copies_stay_in_their_cluster() {
    assert!(copy::<m![C], m![B # 256], m![A, V # 8], m![A # 256], m![B, V # 8]>().is_ok());
    assert!(copy::<m![1 # 2], m![A # 256], m![B], m![A # 256], m![R, B]>().is_ok(), "a broadcast");
    let dropped = copy::<m![C], m![B # 256], m![A], m![B # 256], m![1]>();
    refused(dropped, "not covered", &["to_dm_pcopy: ", "has no place for"]);
    // The axis of the clusters may be wanted inside each cluster: it is repeated there, from the same cluster.
    for transfer in [
        copy::<m![C], m![B # 256], m![A], m![C, B # 128], m![A]>(),
        copy::<m![C], m![B # 256], m![A], m![B # 256], m![C, A]>(),
        copy::<m![C], m![B # 256], m![A], m![B # 256], m![A / 8, C, A % 8]>(),
    ] {
        let transfer = transfer.expect("it is a broadcast");
        let clusters: Vec<_> = (transfer.loops.iter())
            .map(|axis| [axis.source.units, axis.destination.units])
            .filter(|units| units.iter().any(|&units| units >= crate::spec::SLICES))
            .collect();
        assert_eq!(clusters, [[256, 256]], "{transfer}");
    }
}

/// The sub context writes 8 bytes at a time.
#[test]
fn parallel_copies_write_whole_cells() {
    assert!(copy::<m![C], m![1 # 256], m![A, B], m![1 # 256], m![A / 2, A % 2, B]>().is_ok());
    assert!(
        copy::<m![C], m![1 # 256], m![V, B], m![1 # 256], m![B / 4, V, B % 4 # 8]>().is_ok(),
        "4 of 8 bytes"
    );
    assert!(copy::<m![C], m![1 # 256], m![V], m![1 # 256], m![V]>().is_ok(), "the last bytes of a tensor");
    assert!(copy::<m![C], m![1 # 256], m![A, V # 8], m![1 # 256], m![A, V # 8]>().is_ok());
    let text = [
        "to_dm_pcopy: `DmTensor<m![1], m![C], m![1 # 256], m![A, B]>` to `DmTensor<m![1], m![C], m![1 # 256], m![B, A]>`",
        "moves 1 byte at a time, to places 1 byte apart, but the sub context writes 8 bytes at a time, whose neighbours",
        "help: keep 8 bytes together, innermost on both sides, or pad the innermost axis of the destination to them",
    ];
    refused(copy::<m![C], m![1 # 256], m![A, B], m![1 # 256], m![B, A]>(), "parallel copy cells", &text);
    let four = copy::<m![C], m![1 # 256], m![A, W # 8], m![1 # 256], m![A, W]>();
    refused(four, "parallel copy cells", &["moves 4 bytes at a time, to places 4 bytes apart"]);
    // The step is a number of whole bytes, but no multiple of 8.
    let twelve = copy::<m![C], m![1 # 256], m![A, W # 12], m![1 # 256], m![A, W # 12]>();
    refused(twelve, "parallel copy cells", &["moves 4 bytes at a time, to places 12 bytes apart"]);
    let late = copy::<m![C], m![1 # 256], m![A, B], m![1 # 256], m![# 3 + A, B % 8]>();
    assert!(late.is_ok(), "three rows of 8 bytes come first");
    let late = copy::<m![C], m![1 # 256], m![V], m![1 # 256], m![# 3 + V]>();
    refused(
        late,
        "parallel copy cells",
        &["starts 3 elements of 8 bits from the destination", "a multiple of 8 dead"],
    );
    let broadcast = copy::<m![1 # 2], m![A # 256], m![B], m![A # 256], m![B, R]>();
    refused(broadcast, "parallel copy cells", &["moves 1 byte at a time", "3 bytes apart"]);
}

/// Derives a copy of a part of `Element` for each cluster.
fn parts<Cluster: M, Element: M, Axis: M, Sliced: M, Element2: M>() -> Result<SliceCopyConfig, PlanError> {
    derive_slice_copy(&SliceCopyRequest {
        call: CopyCall::ClusterSliceCopy,
        level: UnitLevel::Cluster,
        source: dm::<Cluster, m![1 # 256], Element>(I8),
        axis: Axis::EXPR,
        sliced: Sliced::EXPR,
        destination: dm::<Cluster, m![1 # 256], Element2>(I8),
    })
}

#[test]
fn an_axis_is_sliced() {
    let starts = |config: &SliceCopyConfig, index: [usize; 2]| {
        let moves = config.moves(&index).expect("both hold elements");
        moves.iter().map(|transfer| transfer.source_start.elements).collect::<Vec<_>>()
    };
    let config = parts::<m![C], m![V, B], m![V], m![1 # 7, B], m![B]>().expect("it is legal");
    assert_eq!((config.parts, config.count, starts(&config, [6, 1])), (7, 2, vec![48, 8]));
    // The part is the outer part of the axis, also padded; then a broadcast of the part.
    assert!(parts::<m![C], m![A, B], m![A / 8], m![1 # 5, A % 8, B], m![B, A % 8, 1 # 8]>().is_ok());
    assert!(parts::<m![C], m![V # 8, B], m![V # 8], m![1 # 8, B], m![B]>().is_ok());
    assert!(parts::<m![C], m![V, B], m![V], m![1 # 7, B], m![R, B]>().is_ok());
    // The part is an inner axis, then the middle of an axis, its inner part, two parts that are apart, and a part
    // without its padding.
    let config = parts::<m![C], m![V, B], m![B], m![V, 1 # 8], m![V, 1 # 8]>().expect("it is legal");
    assert_eq!((config.parts, starts(&config, [7, 0])), (8, vec![7, 0]));
    let config =
        parts::<m![C], m![V, B], m![B / 2 % 2], m![V, B / 4, 1 # 2, B % 2], m![V, B / 4, B % 2 # 8]>();
    let config = config.expect("it is legal");
    assert_eq!((config.parts, starts(&config, [1, 0])), (2, vec![2, 0]));
    let config =
        parts::<m![C], m![B / 4, V, B % 4], m![B], m![1 # 2, V, 1 # 4], m![V, 1 # 8]>().expect("it is legal");
    assert_eq!((config.parts, starts(&config, [6, 3])), (8, vec![28 + 2, 3]));
    let config = parts::<m![C], m![V # 8, B], m![V], m![1 # 8, B], m![B]>().expect("it is legal");
    assert_eq!((config.parts, starts(&config, [6, 0])), (7, vec![48, 0]));
    let bytes = parts::<m![C], m![V, B], m![B], m![V, 1 # 8], m![V]>();
    refused(bytes, "parallel copy cells", &["parallel_copy_cluster_slice: ", "moves 1 byte at a time"]);
    let text = [
        "parallel_copy_cluster_slice: AxisToSlice `m![W]` is not a part of Element `m![V, B]`; help: name an axis, or a part \
         of one, that Element holds",
    ];
    refused(parts::<m![C], m![V, B], m![W], m![V, B], m![V, B]>(), "slice axis", &text);
    refused(parts::<m![C], m![V, B % 4], m![B], m![V, 1 # 4], m![V]>(), "slice axis", &["`m![B]`"]);
    refused(parts::<m![C], m![V # 8, B], m![V], m![1 # 7, B], m![B]>(), "sliced element", &["`m![B # 64]`"]);
    let lead = parts::<m![C], m![# 2 + V, B], m![# 2 + V], m![1 # 9, B], m![B]>();
    refused(lead, "tile of dead positions", &["2 dead positions before its first element"]);
    let text = [
        "AxisSlicedElement `m![B]` is not Element `m![V, B]` with `1 # 7` for AxisToSlice `m![V]`",
        "help: write `m![B # 56]`",
    ];
    refused(parts::<m![C], m![V, B], m![V], m![B], m![B]>(), "sliced element", &text);
    let lost = parts::<m![C], m![V, B], m![V], m![1 # 7, B], m![1]>();
    refused(lost, "not covered", &["parallel_copy_cluster_slice", "has no place for"]);
}

#[test]
fn parts_hold_as_much_as_each_other() {
    let ragged = parts::<m![C], m![V # 8, B], m![V # 8 / 4], m![1 # 2, V # 8 % 4, B], m![V # 8 % 4, B]>();
    let text = [
        "Cluster and AxisToSlice `m![V # 8 / 4]` cut an axis so that some parts of Element `m![V # 8, B]` have fewer",
        "help: choose sizes that fill every part, or pad another dimension",
    ];
    refused(ragged, "ragged parts", &text);
    // The axis is cut between clusters and parts.
    let ragged = parts::<m![V # 8 / 4], m![V # 8 % 4, B], m![V # 8 % 4], m![1 # 4, B], m![B]>();
    refused(ragged, "ragged parts", &["Cluster and AxisToSlice `m![V # 8 % 4]`"]);
    assert!(parts::<m![B / 4], m![B % 4, W], m![B % 4], m![1 # 4, W], m![W]>().is_ok());
    let odd = |element| {
        derive_slice_copy(&SliceCopyRequest {
            call: CopyCall::ChipSliceCopy,
            level: UnitLevel::Chip,
            source: dm::<m![C], m![1 # 256], m![W, R]>(element),
            axis: <m![W]>::EXPR,
            sliced: <m![1 # 4, R]>::EXPR,
            destination: dm::<m![C], m![1 # 256], m![R]>(element),
        })
    };
    assert!(odd(I8).is_ok());
    refused(odd(I4), "whole bytes", &["parallel_copy_chip_slice"]);
}

/// Clusters share their padding with slices: the parts are alike, the clusters are not.
#[test]
fn parts_of_ragged_clusters() {
    let cut = |cluster: &'static Expr, slice: &'static Expr| {
        let shape = |element| Shape::dm(I8, <m![1]>::EXPR, cluster, slice, element);
        derive_slice_copy(&SliceCopyRequest {
            call: CopyCall::ClusterSliceCopy,
            level: UnitLevel::Cluster,
            source: shape(<m![W, B]>::EXPR),
            axis: <m![W]>::EXPR,
            sliced: <m![1 # 4, B]>::EXPR,
            destination: shape(<m![B]>::EXPR),
        })
    };
    let ragged = cut(<m![V # 8 / 4]>::EXPR, <m![V # 8 % 4 # 256]>::EXPR);
    refused(ragged, "ragged parts", &["Cluster and AxisToSlice `m![W]` cut an axis"]);
    assert!(cut(<m![C]>::EXPR, <m![1 # 256]>::EXPR).is_ok());
}

/// The elements lie together by whole bytes, but every second part would start at half a byte.
#[test]
fn parts_start_at_whole_bytes() {
    let parts = |element: &'static Expr, sliced: &'static Expr| {
        let shape = |element| Shape::dm(I4, <m![1]>::EXPR, <m![C]>::EXPR, <m![1 # 256]>::EXPR, element);
        derive_slice_copy(&SliceCopyRequest {
            call: CopyCall::ClusterSliceCopy,
            level: UnitLevel::Cluster,
            source: shape(element),
            axis: <m![W]>::EXPR,
            sliced,
            destination: shape(<m![B = 2 # 4]>::EXPR),
        })
    };
    assert!(parts(<m![W, B = 2 # 4]>::EXPR, <m![1 # 4, B = 2 # 4]>::EXPR).is_ok());
    let text = "parallel_copy_cluster_slice: parts of Element `m![W, B = 2 # 3]` are 3 elements of 4 bits apart, but start \
                at whole bytes; help: keep an even number of elements inside of AxisToSlice";
    refused(parts(<m![W, B = 2 # 3]>::EXPR, <m![1 # 4, B = 2 # 3]>::EXPR), "whole bytes", &[text]);
}

#[test]
fn indices_name_parts_that_hold_elements() {
    let config = parts::<m![C], m![V # 8, B], m![V # 8], m![1 # 8, B], m![B]>().expect("it is legal");
    let starts: Vec<_> = (config.moves(&[6, 0]).expect("both hold elements").iter())
        .map(|transfer| {
            (transfer.source_start.units, transfer.source_start.elements, transfer.destination_start.units)
        })
        .collect();
    assert_eq!(starts, [(0, 48, 0), (256, 0, 256)]);
    let part = "parallel_copy_cluster_slice: cluster 1 is to keep part 8, but AxisToSlice has 8 positions; help: use 0 to 7";
    refused(config.moves(&[0, 8]), "slice bounds", &[part]);
    let part = "cluster 0 is to keep part 7, which is padding of AxisToSlice and holds no element";
    refused(config.moves(&[7, 0]), "slice of padding", &[part]);
    refused(config.moves(&[0]), "pattern length", &["the index has 1 number, but the tensor has 2 clusters"]);
    let config = parts::<m![1 # 2], m![V # 8, B], m![V # 8], m![1 # 8, B], m![B]>().expect("it is legal");
    assert_eq!(
        config.moves(&[6, 7]).map(|moves| moves.len()),
        Ok(1),
        "cluster 1 holds nothing and keeps nothing"
    );
}
