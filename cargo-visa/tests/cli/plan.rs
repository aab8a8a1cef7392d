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

/// What follows the sums is in the table, in the kernel, and in its test.
#[test]
fn an_epilogue_is_a_part_of_the_kernel() {
    let output = plan(&["--epilogue", "bias, scale=0.5,relu", "--out", "i8", "--emit", "folder"]);
    let told = "problem  `mk,nk->mn` of i8, then `bias:N,scale=0.5,relu`, to i8; M = 16, K = 64, N = 16\n";
    assert!(output.stdout.starts_with(told), "{}", output.stdout);
    let (_, text) = output.file.expect("a file");
    for call in [
        ".vector_fxp(FxpBinaryOp::AddFxp, bias)",
        ".vector_fxp_to_fp(31)",
        ".vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 0.5)",
        ".vector_fp_to_fxp(31)",
        ".vector_clip(ClipBinaryOpI32::Max, 0)",
        ".vector_clip(ClipBinaryOpI32::Min, 127)",
        ".cast::<i8, m![N % 8 # 32]>()",
        "value = value.wrapping_add(bias[n]);",
    ] {
        assert!(text.contains(call), "{call}: {text}");
    }
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
    of(
        &["--out", "i8"],
        "--out: sums of i8 are i32, which are not stored as i8; take i32, or an epilogue, which converts them",
    );
    of(
        &["--epilogue", "softmax"],
        "--epilogue: `softmax` is no step; the steps are bias, bias:N, relu, silu, gelu, sigmoid, tanh, exp and scale=0.125",
    );
    of(
        &["--epilogue", "tanh,sigmoid"],
        "--epilogue: `tanh,sigmoid` to f32 is no pass of the Vector Engine: vector_fp_unary: FpFpu is already in use: each \
         arithmetic unit of the Vector Engine works once per pass; help: use an operator of another unit, or a second pass",
    );
    of(
        &["--role", "w"],
        "--role: `w` is no role; the operands are `x` and `w`: write `w=trf`, `x=trf`, `w=stream` or `x=stream`",
    );
    of(&["--time", "soon"], "--time: `soon` is no time; write for example 60s, 500ms or 2m");
    of(&["--top", "0"], "--top: `0` is not a number from 1 to 100");
}

/// The summed axis is not the innermost one of `w`: no choice is left, and the rules are named.
#[test]
fn an_empty_space_names_the_rules() {
    let output = run(&["plan", "--einsum", "mk,kn->mn", "--axes", "M=8,N=8,K=64"]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.starts_with("error: no mapping of `mk,kn->mn` is left: "), "{}", output.stderr);
    assert!(
        output.stdout.contains("refused  ")
            && output.stdout.contains("\nDMA run: to_dm: `HbmTensor<m![1], m![K, N]>`"),
        "{}",
        output.stdout
    );
}
