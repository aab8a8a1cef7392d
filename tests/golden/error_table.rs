//! The errors of register files and contraction, E1 to E38: the program or test that meets each, and what its message
//! must contain.
//!
//! A program of `tests/ui/refused` is refused by the compiler, with the message beside it; its first line names the
//! error. The other tests are functions, whose documentation names the error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Error, program in `tests/ui/refused`, parts of its message: numbers, what is allowed, the remedy.
const REFUSED: &[(usize, &str, &[&str])] = &[
    (1, "collect_packet_not_a_flit", &["collect", "8 bytes", "32", "help: pad", "`/ 32`", "`% 32`"]),
    (2, "collect_packet_of_another_axis", &["collect", "m![1 # 32]", "m![B # 32]", "help: use that"]),
    (3, "collect_flit_index_missing", &["collect", "m![A]", "m![A, B / 32]", "help: append the flit index"]),
    (3, "collect_flit_index_outside", &["collect", "m![B / 32, A]", "m![A, B / 32]", "innermost"]),
    (4, "collect_half_bytes", &["collect", "i4 of 4 bits", "63 elements", "help: make their number even"]),
    (5, "to_trf_three_rows", &["to_trf", "1, 2, 4, or 8", "got 3", "help: pad"]),
    (5, "to_trf_sixteen_rows", &["to_trf", "1, 2, 4, or 8", "got 16", "split"]),
    (6, "to_trf_more_than_64_kib", &["to_trf", "8 rows of", "Full", "65536", "help: load a smaller tile"]),
    (7, "to_trf_more_rows_than_time", &["to_trf", "8 rows", "help: fetch with the Row axis"]),
    (8, "to_trf_rows_do_not_divide_time", &["to_trf", "do not divide", "help: "]),
    (9, "to_trf_rows_not_outermost", &["to_trf", "outermost", "help: fetch with the Row axis outermost"]),
    (
        10,
        "to_trf_elements_in_another_order",
        &["to_trf", "Element is", "help: keep the order and the padding"],
    ),
    (11, "to_vrf_of_i8", &["`i8` is not a 32-bit type", "`i32` and `f32`"]),
    (12, "to_vrf_axis_missing", &["to_vrf", "m![B]", "m![A]", "help: add it"]),
    (12, "to_vrf_new_axis", &["to_vrf", "m![C, A, B]", "m![C]", "help: remove it"]),
    (13, "to_vrf_more_than_8_kib", &["to_vrf", "8224 bytes", "8192", "help: load it in segments"]),
    (14, "align_types_differ", &["mismatched types", "f8e4m3"]),
    (14, "align_slices_differ", &["mismatched types", "Symbol<S>"]),
    (
        15,
        "align_packet_not_64_bytes",
        &["align", "32 bytes", "64", "help: with one flit", "`# 32`", "with two"],
    ),
    (16, "align_flits_swapped", &["align", "m![K % 16]", "help: put the collected factor outside"]),
    (
        17,
        "align_time_axis_missing",
        &["align", "m![T, K / 16]", "m![1]", "m![T]", "help: keep every stream axis"],
    ),
    (
        17,
        "align_upper_half_not_innermost",
        &["align", "m![K / 16, T]", "m![T, K / 16]", "upper half", "help: "],
    ),
    (
        18,
        "align_time_reordered",
        &["align", "m![S, T, K / 16]", "m![T, S]", "help: reorder in `.fetch()`", "swap"],
    ),
    (
        19,
        "align_tiling_not_innermost",
        &["align", "m![G]", "not innermost", "help: move it innermost", "fetch"],
    ),
    (20, "align_tiling_not_in_trf", &["align", "m![G]", "Element `m![K]`", "help: add it to the TRF"]),
    (21, "align_trf_axis_missing", &["align", "m![G]", "help: add it to `OutTime` or `OutPacket`"]),
    (22, "align_row_axis_in_stream", &["align", "m![N]", "help: leave them out of `.fetch()`"]),
    (
        23,
        "align_trf_gather",
        &[
            "align",
            "m![K, G]",
            "OutPacket `m![K]`",
            "end in `m![1]`",
            "reg_read_size is 2 bytes",
            "help: make",
        ],
    ),
    (
        23,
        "align_single_i4",
        &["align", "m![K, G]", "m![K]", "2 innermost", "help: make the packet axis innermost"],
    ),
    (24, "align_nine_trf_entries", &["align", "10 entries, [4 : 0, 2 : 64", "takes 8", "help: order"]),
    (25, "align_65537_trf_iterations", &["align", "65537 : 0", "65536", "help: split the axis"]),
    (26, "align_trf_packets_not_at_64_bytes", &["align", "64 bytes", "96 bytes", "help: pad Element"]),
    (27, "contract_i32", &["i32", "supported: i4, i8, f8e4m3, f8e5m2, bf16", "help: a fetch converts"]),
    (29, "contract_to_64_columns", &["contract", "64 columns", "32", "help: reduce more"]),
    (
        29,
        "contract_to_three_columns",
        &["contract", "3 columns", "power of two", "help: pad its outer end with `# 4`"],
    ),
    (30, "contract_outer_part", &["contract", "m![K % 16]", "m![K]", "innermost", "help: reorder"]),
    (31, "accumulate_four_lanes", &["accumulate, Interleaved", "4 lanes", "8", "help: write `m![N # 8]`"]),
    (32, "accumulate_lanes_of_another_axis", &["accumulate, Interleaved", "m![X]", "m![N]", "help: use it"]),
    (
        33,
        "accumulate_columns_missing",
        &["accumulate, Interleaved", "m![T]", "m![K / 16]", "help: append it"],
    ),
    (
        34,
        "accumulate_new_axis",
        &["accumulate", "m![X]", "Time `m![T]`", "does not have", "m![X, T]", "help: remove it"],
    ),
    (35, "accumulate_reordered", &["accumulate", "m![T, S]", "m![S, T]", "help: keep the order"]),
    (
        36,
        "accumulate_padding_dropped",
        &["accumulate", "m![T]", "m![T # 6]", "help: copy the padding of Time"],
    ),
    (
        37,
        "accumulate_129_columns",
        &[
            "Interleaved",
            "129 columns",
            "128",
            "m![S]",
            "outermost axis that is summed",
            "other kind",
            "reduce",
        ],
    ),
    (
        37,
        "accumulate_sequential_40_rows",
        &["Sequential", "40 rows", "32", "m![S]", "fewer rows", "help: move"],
    ),
];

/// Error, file below `tests`, function. These depend on values, or cannot be met through the calls.
const FUNCTIONS: &[(usize, &str, &str)] = &[
    (6, "kernels/limits.rs", "halves_of_the_trf_hold_32_kib"),
    (28, "golden/contraction_limits.rs", "a_packet_of_the_tree_holds_64_bytes"),
    (31, "golden/contraction_limits.rs", "at_most_32_columns_enter_the_accumulator"),
    (32, "kernels/accumulation_kinds.rs", "lanes_of_the_other_kind"),
    (33, "kernels/accumulation_kinds.rs", "time_of_the_other_kind"),
    (37, "kernels/accumulation_kinds.rs", "a_buffer_that_only_the_other_kind_has"),
    (38, "kernels/limits.rs", "all_of_the_trf_holds_64_kib"),
];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The errors that a line names.
fn named(line: &str) -> Vec<usize> {
    let parts = line.split("E").skip(1);
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    parts.filter_map(number).collect()
}

#[test]
fn every_error_is_met() {
    let mut met: BTreeMap<usize, usize> = BTreeMap::new();
    let numbers = REFUSED.iter().map(|row| row.0).chain(FUNCTIONS.iter().map(|row| row.0));
    numbers.for_each(|number| *met.entry(number).or_default() += 1);
    let expected = 1..=38;
    assert!(expected.eq(met.keys().copied()), "{met:?}");
}

#[test]
fn programs_have_the_messages_of_the_table() {
    let folder = tests().join("ui/refused");
    for (number, name, parts) in REFUSED {
        let program = read(&folder.join(format!("{name}.rs")));
        let first = program.lines().next().expect("a program has a first line");
        assert_eq!(named(first), [*number], "{name}: {first}");
        let message = read(&folder.join(format!("{name}.stderr")));
        for part in *parts {
            assert!(message.contains(part), "{name} does not say `{part}`:\n{message}");
        }
    }
}

/// A program that names an error is in the table.
#[test]
fn the_table_is_complete() {
    let mut programs = 0;
    for entry in tests().join("ui/refused").read_dir().expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let program = read(&path);
            let first = program.lines().next().expect("a program has a first line");
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            let listed = |error: &usize| REFUSED.iter().any(|row| (row.0, row.1) == (*error, name));
            let errors = first.rsplit_once(" (").map_or(vec![], |(_, last)| named(last));
            assert!(errors.iter().all(listed), "{name} is not in the table");
            programs += errors.len();
        }
    }
    assert_eq!(programs, REFUSED.len());
}

#[test]
fn functions_say_which_error_they_meet() {
    for (number, file, function) in FUNCTIONS {
        let text = read(&tests().join(file));
        let place =
            text.find(&format!("fn {function}(")).unwrap_or_else(|| panic!("{file} has no {function}"));
        let before: Vec<&str> = text[..place].lines().rev().take_while(|line| !line.is_empty()).collect();
        let found =
            before.iter().any(|line| line.trim_start().starts_with("///") && named(line).contains(number));
        assert!(found, "{file}: {function} does not name E{number}");
    }
}
