//! `visa plan`: the table, the explanation, JSON, and what is refused.

use crate::run;
use serde_json::Value;

/// A small problem, with more arguments.
fn plan(more: &[&str]) -> cargo_visa::tool::Output {
    let problem = ["plan", "--einsum", "mk,nk->mn", "--axes", "M=16,N=16,K=64", "--dtype", "i8"];
    run(&[&problem, more].concat())
}

#[test]
fn the_table_has_the_best_plans_and_the_proof() {
    let output = plan(&["--top", "3"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let text = output.stdout;
    assert!(text.starts_with("problem  `mk,nk->mn` of i8, to i32; M = 16, K = 64, N = 16\n"), "{text}");
    // Two starts of 500 cycles. Products: 16 * 16 * 64 of 512 * 8 * 64 per cycle; HBM: 1024 bytes of each operand and of the
    // result, 1536 per cycle.
    assert!(text.contains("bound    1 002 cycles for any kernel: products 1 001, HBM 1 002\n"), "{text}");
    assert!(text.contains("proven: no other choice of the space takes fewer"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("|    ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(text.contains("\nspace    "), "{text}");
}

#[test]
fn an_explanation_has_reasons_and_mappings() {
    let output = plan(&["--explain", "1"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    for part in [" cycles, ", "\n* `", "| main context | ", "| Slice ", "| packet of products | m![K"] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
}

/// An operand that is turned is in DM in two orders.
#[test]
fn an_explanation_has_both_orders_of_what_is_turned() {
    let problem = ["plan", "--einsum", "mk,kn->mn", "--axes", "M=8,N=8,K=64", "--explain", "1"];
    let text = run(&problem).stdout;
    assert!(text.contains("`w` has `N` innermost in HBM"), "{text}");
    assert!(text.contains("weights as brought") && !text.contains("stream as brought"), "{text}");
}

#[test]
fn json_is_one_object() {
    let output = plan(&["--json", "--top", "2"]);
    let json: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let plans = json["plans"].as_array().expect("a list");
    assert_eq!(plans.len(), 2);
    assert!(plans[0]["cycles"].as_u64() <= plans[1]["cycles"].as_u64());
    for key in ["cycles", "bound", "dm_bytes", "hbm_bytes"] {
        assert!(plans[0][key].as_u64().is_some_and(|number| number > 0), "{key}: {json:#}");
    }
    assert!(plans[0]["share"].as_f64().is_some_and(|share| share > 0.0 && share <= 1.0));
    assert_eq!(json["gap"], 0.0);
    assert!(json["space"]["choices"].as_u64() >= json["space"]["fitting"].as_u64());
    // The same, to the byte, each time.
    assert_eq!(output.stdout, plan(&["--json", "--top", "2"]).stdout);
}

#[test]
fn a_kernel_is_a_file() {
    let output = plan(&["--emit", "folder/tests"]);
    let (path, text) = output.file.expect("a file");
    assert_eq!(path, std::path::Path::new("folder/tests/plan.rs"));
    assert!(text.contains("#[device(chip = 1)]") && text.contains("#[test]"), "{text}");
}

#[test]
fn wrong_input_is_refused_with_the_edit() {
    let refused = |arguments: &[&str], message: &str| {
        let output = run(&[&["plan"], arguments].concat());
        assert_eq!((output.code, output.stderr.as_str()), (2, format!("error: {message}\n").as_str()));
    };
    refused(&[], "`--einsum` is missing; write for example --einsum 'mk,nk->mn'");
    refused(&["--einsum", "mk,nk->mn"], "`--axes` is missing; write for example --axes M=256,N=64,K=128");
    let problem = ["--einsum", "mk,nk->mn", "--axes", "M=16,N=16,K=64"];
    let of = |more: &[&'static str], message: &str| refused(&[&problem[..], more].concat(), message);
    of(
        &["--dtype", "i16"],
        "--dtype: the engines do not multiply i16 from memory; take i4, i8, f8e4m3, f8e5m2 or bf16",
    );
    of(&["--acc", "f32"], "--acc: sums of i8 are i32, not f32; leave it out");
    of(&["--out", "i8"], "--out: sums of i8 are i32, which are not stored as i8; take i32");
    of(
        &["--role", "w"],
        "--role: `w` is no role; the operands are `x` and `w`: write `w=trf`, `x=trf`, `w=stream` or `x=stream`",
    );
    of(&["--time", "soon"], "--time: `soon` is no time; write for example 60s, 500ms or 2m");
    of(&["--top", "0"], "--top: `0` is not a number from 1 to 100");
}

/// The innermost axis of both operands is one of a batch, of which slices hold one position: no choice is left, and the rules
/// are named.
#[test]
fn an_empty_space_names_the_rules() {
    let output = run(&["plan", "--einsum", "mkb,nkb->bmn", "--axes", "B=8,M=8,N=8,K=64"]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.starts_with("error: no mapping of `mkb,nkb->bmn` is left: "), "{}", output.stderr);
    assert!(
        output.stdout.contains("refused  ")
            && output.stdout.contains("\nDMA run: to_dm: `HbmTensor<m![1], m![N, K, B]>`"),
        "{}",
        output.stdout
    );
}
