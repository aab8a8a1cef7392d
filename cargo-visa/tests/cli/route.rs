//! `visa route`: the table, the calls, JSON, and what is refused.

use crate::run;
use serde_json::Value;

const ROWS: &str = "dm: m![1 # 2], m![M / 2], m![M % 2, K]";
const COLUMNS: &str = "dm: m![1 # 2], m![M / 2], m![K, M % 2]";

fn route(from: &str, to: &str, more: &[&str]) -> cargo_visa::tool::Output {
    run(&[&["route", from, to, "--axes", "M=512,K=64", "--dtype", "bf16"], more].concat())
}

/// The cycles of each row of the table.
fn cycles(text: &str) -> Vec<u64> {
    let rows = text.lines().filter(|line| line.starts_with("|   "));
    let cell = |line: &str| line.split('|').nth(2).map(|cell| cell.replace(' ', ""));
    rows.map(|line| cell(line).and_then(|cell| cell.parse().ok()).expect("a number of cycles")).collect()
}

#[test]
fn the_table_has_the_cheapest_way_first() {
    let to = "dm: m![1 # 2], m![K / 4], m![K % 4, M]";
    let given = ["route", ROWS, to, "--axes", "M=512,K=1024", "--dtype", "bf16"];
    let output = run(&given);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let text = output.stdout;
    let head = "x        DmTensor<bf16, m![1], m![1 # 2], m![M / 2], m![M % 2, K]>\n\
                y        DmTensor<bf16, m![1], m![1 # 2], m![K / 4], m![K % 4, M]>\n\n| way | cycles ";
    assert!(text.starts_with(head), "{text}");
    let all = cycles(&text);
    assert!(all.len() > 6 && all.is_sorted(), "{all:?}: {text}");
    for part in [
        "\n1. ",
        "\n2. ",
        "\n3. ",
        "| DMA, then DMA, through HBM ",
        "| hbm: m![K, M] ",
        "| dm: m![1 # 2], m![K / 4], m![M, K % 4] |",
        "\n        .transpose::<m![M / 4, K % 4], m![M % 4 # 16]>()\n        .commit(AUTO);\n",
        "\nrefused  parallel copy by `parallel copy cells`\n    to_dm_pcopy: ",
        "\nrefused in ways of two steps: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("\n4. "), "three ways have calls: {text}");
    let one = run(&[&given[..], &["--top", "1"]].concat()).stdout;
    assert!(one.contains("\n1. ") && !one.contains("\n2. "), "{one}");
    assert_eq!(cycles(&one), all);
}

/// One load of 64 KiB: all that a kernel writes is one call.
#[test]
fn a_load_is_one_call() {
    let output =
        run(&["route", "hbm: m![M, K]", "dm: m![M / 256], m![M % 256], m![K]", "--axes", "M=512,K=128"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let call =
        "\n    let y: DmTensor<i8, m![1], m![M / 256], m![M % 256], m![K]> = x.to_dm(&mut ctx.tdma, AUTO);\n";
    assert!(output.stdout.contains(call), "{}", output.stdout);
    assert!(output.stdout.contains("| way | cycles | steps "), "{}", output.stdout);
}

#[test]
fn json_is_one_object() {
    let output = route(ROWS, COLUMNS, &["--json"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let json: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let ways = json["ways"].as_array().expect("a list");
    let numbers: Vec<u64> = ways.iter().map(|way| way["cycles"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, cycles(&route(ROWS, COLUMNS, &[]).stdout));
    for way in ways {
        let (name, calls) = (way["name"].as_str().expect("text"), way["calls"].as_str().expect("text"));
        assert_eq!(name.contains("then"), way["between"].is_string(), "{way:#}");
        assert_eq!(name.contains("transpose"), calls.contains(".transpose::<"), "{way:#}");
        assert_eq!(name.contains("DMA"), calls.contains("&mut ctx.tdma"), "{way:#}");
        assert_eq!(name.contains("parallel copy"), calls.contains("&mut ctx.sub"), "{way:#}");
        assert!(calls.ends_with(";\n") && calls.contains("y"), "{way:#}");
    }
    let refused = json["refused"].as_array().expect("a list");
    assert!(refused.iter().all(|refused| refused["count"].as_u64() > Some(0)), "{json:#}");
    // The same, to the byte, each time.
    assert_eq!(output.stdout, route(ROWS, COLUMNS, &["--json"]).stdout);
}

/// An axis that only the destination has is a copy, also through HBM.
#[test]
fn copies_of_a_new_axis() {
    let given = ["route", "hbm: m![K]", "dm: m![1 # 2], m![S], m![K]", "--axes", "S=256,K=64"];
    let output = run(&given);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(output.stdout.contains("m![S], m![K]> = x.to_dm(&mut ctx.tdma, AUTO);"), "{}", output.stdout);
}

#[test]
fn wrong_input_is_refused_with_the_edit() {
    let refused = |arguments: &[&str], message: &str| {
        let output = run(&[&["route"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
        assert!(output.stderr.starts_with("error: ") && output.stderr.contains(message), "{}", output.stderr);
    };
    let axes = ["--axes", "M=512,K=64"];
    let with = |from: &'static str, to: &'static str, message: &str| {
        refused(&[&[from, to], &axes[..]].concat(), message);
    };
    refused(&[], "the layout FROM is missing; write 'hbm: m![M, K]', or 'dm: ");
    refused(&["hbm: m![M]", "--axes", "M=4"], "the layout TO is missing; write ");
    refused(&["a", "b", "c"], "`c` is a third layout; give two: FROM and TO");
    with("m![M, K]", ROWS, "FROM: `m![M, K]` names no memory; write 'hbm: m![M, K]'");
    with("vrf: m![M, K]", ROWS, "FROM: `vrf` is no memory; the memories are `hbm` and `dm`: write ");
    with("hbm: M, K", ROWS, "FROM: `hbm: M, K` is no list of mappings; write ");
    with("hbm: m![M, [K]", ROWS, "FROM: `hbm: m![M, [K]` is no list of mappings; write ");
    with("hbm: m![M], m![K]", ROWS, "FROM: `hbm: m![M], m![K]` has 2 mappings; write ");
    with("hbm: m![M, K]", "dm: m![K]", "TO: `dm: m![K]` has 1 mapping; write ");
    with("hbm: m![M, Q]", ROWS, "FROM: no axis is called `Q`; the axes are `M`, `K`");
    with(
        "hbm: m![M, K]",
        "hbm: m![M / 3]",
        "TO: mapping `m![M / 3]`: Stride size must divide the original size, but 3",
    );
    // Other elements on both sides.
    with("hbm: m![M, K]", "hbm: m![M]", "has no place for");
    with("hbm: m![M / 2, K]", "hbm: m![M, K]", "insufficient input");
    with("hbm: m![M, K]", "hbm: m![M, K, K]", "route: ");
    // Too large for a slice, for slices, and for clusters.
    let large = ["hbm: m![M, K, L]", "dm: m![1 # 2], m![1 # 256], m![M, K, L]", "--axes", "M=512,K=64,L=64"];
    refused(
        &large,
        "takes 2097152 bytes, but DM holds 524288 bytes per slice; help: spread the tensor over more units",
    );
    with("hbm: m![M, K]", "dm: m![1 # 2], m![M], m![K]", "Slice");
    with("hbm: m![M, K]", "dm: m![M / 128], m![M % 128 # 256], m![K]", "Cluster");
    refused(
        &["hbm: m![M]", "hbm: m![M]", "--dtype", "i9", "--axes", "M=8"],
        "--dtype: no memory holds i9; name the stored type",
    );
    refused(
        &["hbm: m![M]", "hbm: m![M]", "--top", "0", "--axes", "M=8"],
        "--top: `0` is not a number from 1 to 100",
    );
    refused(&["hbm: m![M]", "hbm: m![M]", "--fast"], "invalid option '--fast'");
}

/// Single elements of half a byte change places: no engine moves them, and each step says why.
#[test]
fn no_way_names_the_rules() {
    let given = ["route", "hbm: m![M, K]", "hbm: m![K, M]", "--axes", "M=3,K=5", "--dtype", "i4"];
    let output = run(&given);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.starts_with("error: no way is left; the rules that refuse each step are listed"),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("\nrefused  DMA by `whole bytes`\n    to_hbm: `HbmTensor<"),
        "{}",
        output.stdout
    );
    let json = run(&[&given[..], &["--json"]].concat());
    let object: Value = serde_json::from_str(&json.stdout).expect("it is JSON");
    assert_eq!((json.code, object["ways"].as_array().map(Vec::len)), (2, Some(0)));
    assert_eq!(object["refused"][0]["rule"], "whole bytes");
}
