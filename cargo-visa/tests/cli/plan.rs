//! `visa plan`: the table, the explanation, JSON, and what is refused.

use crate::run;
use serde_json::Value;
use std::path::Path;

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
    for part in [" cycles, ", "\n* `", "| main context | ", "| Slice ", "| packet of products "] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
}

/// An operand that is turned is in DM in two orders.
#[test]
fn an_explanation_has_both_orders_of_what_is_turned() {
    let problem = ["plan", "--einsum", "mk,kn->mn", "--axes", "M=8,N=8,K=64", "--explain", "1"];
    let text = run(&[&problem[..], &["--role", "w=trf"]].concat()).stdout;
    assert!(text.contains("`w` has `N` innermost in HBM"), "{text}");
    assert!(text.contains("weights as brought") && !text.contains("stream as brought"), "{text}");
    // As the stream it stays as it is.
    let text = run(&problem).stdout;
    assert!(text.contains("a packet has 8 positions of `N`") && !text.contains("as brought"), "{text}");
}

/// Layouts in HBM and digits of units are parts of the question: the answer says them, and the kernel has them.
#[test]
fn what_is_fixed_is_in_the_kernel() {
    let fixed = ["--in", "w: K, N; out: N, M # 32", "--slice", "[M / 4] # 256", "--cluster", "1 # 2"];
    let text = plan(&fixed).stdout;
    assert!(text.contains("\nin HBM   w: K, N; out: N, M # 32\n"), "{text}");
    assert!(text.contains("\nfixed    m![1 # 2] in Cluster and m![[M / 4] # 256] in Slice\n"), "{text}");
    let (_, kernel) = plan(&[&fixed[..], &["--emit", "folder"]].concat()).file.expect("a file");
    for part in [
        "type HbmX = HbmTensor<i8, m![1], m![M, K]>;",
        "type HbmW = HbmTensor<i8, m![1], m![K, N]>;",
        "type HbmY = HbmTensor<i32, m![1], m![N, M # 32]>;",
        "type Cluster = m![1 # 2];",
        "type Slice = m![M / 4 # 256];",
        "HostTensor::<i8, m![N, K]>::from_slice(&made(&w)).to_hbm(",
        "dy.to_host::<m![M, N]>(",
    ] {
        assert!(kernel.contains(part), "{part}: {kernel}");
    }
    let explained = plan(&[&fixed[..], &["--explain", "1"]].concat()).stdout;
    assert!(explained.contains("| w in HBM ") && explained.contains("m![N, M # 32]"), "{explained}");
    // Runs of 4 bytes.
    let none = plan(&["--in", "w: K / 4, N, K % 4", "--slice", "M"]);
    assert_eq!(none.code, 2);
    assert!(
        none.stderr.starts_with("error: no mapping of `mk,nk->mn` with m![M] in Slice is left: "),
        "{}",
        none.stderr
    );
    assert!(
        none.stdout.contains("\nDMA run: to_dm: `HbmTensor<m![1], m![K / 4, N, K % 4]>` to "),
        "{}",
        none.stdout
    );
}

/// Each chip has a part of an axis, which is an axis of its own in the kernel.
#[test]
fn several_chips_have_parts() {
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&plan(&[arguments, &["--json", "--top", "1"]].concat()).stdout)
            .expect("it is JSON")
    };
    let four = json(&["--chips", "4"]);
    assert_eq!(four["gap"], 0.0);
    let chip = four["plans"][0]["chip"].as_str().expect("a mapping").to_string();
    let text = plan(&["--chips", "4"]).stdout;
    assert!(text.starts_with("problem  `mk,nk->mn` of i8, to i32; M = 16, K = 64, N = 16\n"), "{text}");
    assert!(text.contains(" cycles for any kernel of a chip's part: products "), "{text}");
    assert!(text.contains(&format!("\nchips    4, plan 1 with {chip} in Chip\n")), "{text}");
    let (_, kernel) = plan(&["--chips", "4", "--emit", "folder"]).file.expect("a file");
    for text in [
        "#[device(chip = 4)]",
        &format!("type Chip = {chip};"),
        "= HbmTensor<i32, Chip, m![M, N]>;",
        "chips: Some(4)",
    ] {
        assert!(kernel.contains(text), "{text}: {kernel}");
    }
    let explained = plan(&["--chips", "4", "--explain", "1"]).stdout;
    assert!(
        explained.contains("\n* 4 chips have a part of `") && explained.contains("| Chip  "),
        "{explained}"
    );
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
    assert_eq!(plans[0]["pieces"], Value::Array(Vec::new()));
    // The same, to the byte, each time.
    assert_eq!(output.stdout, plan(&["--json", "--top", "2"]).stdout);
}

/// A stream in two pieces, and 8 slices that load parts for 7: the table, the explanation and JSON have both.
#[test]
fn pieces_are_told() {
    let problem = ["plan", "--einsum", "mk,rqk->mrq", "--axes", "M=1,R=7,Q=128,K=256", "--dtype", "bf16"];
    let fixed = ["--out", "bf16", "--role", "x=trf", "--slice", "[R] # 256", "--cluster", "1 # 2"];
    let told = |more: &[&str]| run(&[&problem, &fixed[..], more].concat()).stdout;
    let text = told(&[]);
    assert!(text.contains("| switch, 8 ") && text.contains("| (96 + 32) x 1 x 1 "), "{text}");
    let text = told(&["--explain", "1"]);
    for part in [
        "`w` comes in two pieces, of 96 and of 32 positions of `Q`",
        "7 slices share `x`: 8 slices, 1 of them for that alone, load a part each along `K`",
        "m![R # 8 # 256]",
        "| first piece ",
        "m![Q = 32, K]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value = serde_json::from_str(&told(&["--json"])).expect("it is JSON");
    assert_eq!(json["plans"][0]["pieces"], serde_json::json!([96, 32]));
}

#[test]
fn a_kernel_is_a_file() {
    let output = plan(&["--emit", "folder/tests"]);
    let (path, text) = output.file.expect("a file");
    assert_eq!(path, std::path::Path::new("folder/tests/plan.rs"));
    assert!(text.contains("#[device(chip = 1)]") && text.contains("#[test]"), "{text}");
}

/// The later surface is that of `visa port`, as a whole.
#[test]
fn a_kernel_of_the_later_surface() {
    let (_, seed) = plan(&["--emit", "folder"]).file.expect("a file");
    let output = plan(&["--emit", "folder", "--surface", "opt"]);
    let (_, text) = output.file.expect("a file");
    assert!(text.contains("use furiosa_opt_std::prelude::*;") && text.contains(".commit_trim::<"), "{text}");
    assert!(!text.contains("furiosa_visa_std") && !text.contains("TrfAddress"), "{text}");
    // The cycles are those of the plan, but not exactly.
    let (_, exact) = seed.split_once("assert_eq!(cycles, ").expect("the cycles");
    let cycles = &exact[..exact.find(')').expect("it ends")];
    assert!(!text.contains("assert_eq!(cycles"));
    let near = format!("assert!(cycles.abs_diff({cycles}) <= {cycles} / 8, ");
    assert!(text.contains(&near), "{text}");
}

#[test]
fn threads_give_the_same_answer() {
    let one = plan(&["--threads", "1"]);
    assert_eq!((one.code, one.stderr.as_str()), (0, ""));
    for threads in ["2", "5"] {
        assert_eq!(plan(&["--threads", threads]).stdout, one.stdout);
    }
}

/// Problems of all kinds, and lines that are none.
const PROBLEMS: &str = r#"{"einsum": "mk,nk->mn", "axes": "M=16,N=16,K=64", "name": "first"}
{"einsum": "mk,nk->mn", "axes": "M=16,N=8,K=64", "dtype": "bf16", "acc": "f32", "out": "bf16", "role": "w=trf"}

{"einsum": "mkb,nkb->bmn", "axes": "B=8,M=8,N=8,K=64"}
nonsense
{"einsum": "mk,nk->mn", "axes": "M=16,N=16"}
{"einsum": "mk,nk->mn", "size": "M=16,N=16"}
{"einsum": "mk,nk->mn", "axes": "M=16,N=16,K=64", "dtype": 8}
"#;

/// A file in a folder of its own.
fn written(name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plans");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("{}_{name}", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("is UTF-8").to_string()
}

fn shard(problems: &str, shard: &str) -> String {
    let output = run(&["plan", "--problems", problems, "--top", "1", "--shard", shard]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    output.stdout
}

#[test]
fn problems_are_answered_line_by_line() {
    let problems = written("all.jsonl", PROBLEMS);
    let text = shard(&problems, "1/1");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert_eq!((&lines[0]["format"], &lines[0]["total"]), (&Value::from(1), &Value::from(7)));
    assert_eq!((&lines[0]["shard"], &lines[0]["count"]), (&Value::from("1/1"), &Value::from(7)));
    assert_eq!(lines[8]["count"], 7);
    // As a single search answers.
    let alone = plan(&["--top", "1", "--json"]).stdout;
    let alone: Value = serde_json::from_str(&alone).expect("it is JSON");
    for key in ["plans", "gap", "space"] {
        assert_eq!(lines[1][key], alone[key]);
    }
    assert_eq!(lines[1]["problem"]["name"], "first");
    assert_eq!(lines[2]["plans"][0]["trf"], "w");
    for (number, line) in lines[1..8].iter().enumerate() {
        assert_eq!(line["index"], number);
    }
    let errors: Vec<&str> = lines[3..8].iter().map(|line| line["error"].as_str().expect("a text")).collect();
    assert!(errors[0].starts_with("no mapping of `mkb,nkb->bmn` is left: "), "{errors:?}");
    assert_eq!(
        errors[1..],
        [
            "the line is no object of JSON; write for example {\"einsum\": \"mk,nk->mn\", \"axes\": \"M=256,N=64,K=128\"}",
            "axes: the axis `k` of `mk,nk->mn` has no size; add `K=…`",
            "`size` is no key of a problem; the keys are einsum, axes, dtype, acc, out, role, epilogue, windows, in, slice, cluster, chips and name",
            "dtype: `8` is no text; write it in quotation marks",
        ]
    );
}

#[test]
fn shards_are_merged_to_one_run() {
    let problems = written("shards.jsonl", PROBLEMS);
    let whole = shard(&problems, "1/1");
    // More shards than problems, too.
    for of in [1, 3, 9] {
        let mut files: Vec<String> = (1..=of)
            .map(|number| written(&format!("{number}_{of}"), &shard(&problems, &format!("{number}/{of}"))))
            .collect();
        files.reverse();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let merged = run(&[&["plan", "merge"], files.as_slice()].concat());
        assert_eq!((merged.code, merged.stderr.as_str()), (0, ""));
        assert_eq!(merged.stdout, whole, "{of} shards");
    }
}

#[test]
fn shards_that_are_none_of_a_run_are_refused() {
    let problems = written("run.jsonl", PROBLEMS);
    let (first, second) = (shard(&problems, "1/2"), shard(&problems, "2/2"));
    let paths = [written("first", &first), written("second", &second)];
    let [one, two] = [paths[0].as_str(), paths[1].as_str()];
    let refused = |files: &[&str], words: &[&str]| {
        let output = run(&[&["plan", "merge"], files].concat());
        assert_eq!((output.code, output.stdout.as_str()), (2, ""));
        for word in words {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    };
    refused(&[], &["the files are missing"]);
    refused(&[one], &["1 of 2 shards are missing: 2/2; run `visa plan --problems … --shard K/2` for each"]);
    refused(&[one, two, one], &["the shard 1/2 is given twice"]);
    refused(&[one, &problems], &["has no header in its first line"]);

    // Cut at every end of a line, and in the middle of one.
    let ends: Vec<usize> = second.match_indices('\n').map(|(at, _)| at + 1).collect();
    for end in ends[..ends.len() - 1].iter().copied().chain([second.len() - 1, second.len() - 20]) {
        refused(&[one, &written("cut", &second[..end])], &["is cut", "run its shard again"]);
    }
    // A line is missing, or changed.
    let lines: Vec<&str> = second.lines().collect();
    let without = [&lines[..1], &lines[2..]].concat().join("\n") + "\n";
    refused(&[one, &written("short", &without)], &["is cut: its trailer counts 3 problems, and 2 are there"]);
    let changed = second.replacen("\"index\":1", "\"index\":5", 1);
    assert_ne!(changed, second);
    refused(&[one, &written("changed", &changed)], &["is damaged", "another digest"]);

    // Of other problems, with other options, in another number of shards, of another library.
    let others = written("others.jsonl", &PROBLEMS.replace("M=8", "M=16"));
    refused(&[one, &written("foreign", &shard(&others, "2/2"))], &["is of another run", "`problems`"]);
    let more = run(&["plan", "--problems", &problems, "--top", "2", "--shard", "2/2"]).stdout;
    refused(&[one, &written("more", &more)], &["is of another run", "its `top` is 2, and not 1"]);
    let third = written("third", &shard(&problems, "2/3"));
    refused(&[one, &third], &["is of another run", "its number of shards is 3, and not 2"]);
    let format = second.replacen("\"format\":1", "\"format\":2", 1);
    refused(&[one, &written("format", &format)], &["has the format 2, and this program reads 1"]);
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
    refused(
        &["--einsum", "hc,fyc->hf", "--windows", "H+Y", "--axes", "H=8,Y=3,F=8,C=32", "--role", "x=trf"],
        "--role: `x` is read in windows, so that it is streamed; write `x=stream`, or leave it out",
    );
    of(&["--in", "w: N, Q"], "--in: w: no axis is called `Q`; the axes are `M`, `K`, `N`\n\n  N, Q\n     ^");
    of(
        &["--slice", "N / 3 # 256"],
        "--slice: mapping `m![N / 3]`: Stride size must divide the original size, but 3 does not divide 16; help: pad the \
         operand with `#` first\n\n  N / 3 # 256\n    ^^^",
    );
    of(
        &["--cluster", "K / 32"],
        "--cluster: with `w` in the register file, no mapping has in Cluster what `K / 32` says of `K`; leave it out",
    );
    of(&["--chips", "9"], "--chips: `9` is not a number from 1 to 8");
    of(
        &["--chips", "3"],
        "--chips: 3 chips do not divide the axes of the result, M = 16, N = 16, and sums over chips are not planned; pad an \
         axis, or take a number of 1, 2, 4, 8",
    );
    of(
        &["--chips", "2", "--slice", "M"],
        "`--chips` and `--slice` exclude each other: layouts are not fixed over several chips; give one of them",
    );
    of(&["--time", "soon"], "--time: `soon` is no time; write for example 60s, 500ms or 2m");
    of(&["--top", "0"], "--top: `0` is not a number from 1 to 100");
    of(&["--threads", "0"], "--threads: `0` is not a number from 1 to 1024");
    of(&["--surface", "opt"], "--surface: no kernel is written; write `--emit FOLDER`, too");
    of(
        &["--surface", "later", "--emit", "tests"],
        "--surface: `later` is no surface; the surfaces are `seed`, furiosa-visa-std, and `opt`, furiosa-opt-std",
    );
    of(&["--shard", "1/2"], "--shard: there is no file of problems; write `--problems FILE.jsonl`, too");
    of(&["--problems", "x.jsonl"], "`--problems` and `--einsum` exclude each other; give one of them");
    refused(
        &["--problems", "x.jsonl", "--shard", "3/2"],
        "--shard: `3/2` is no shard; write K/N with K from 1 to N, for example 1/8",
    );
    refused(
        &["--problems", "x.jsonl", "--emit", "tests"],
        "`--problems` and `--emit` exclude each other; give one of them",
    );
}

/// A small chain, with more arguments.
fn chain(more: &[&str]) -> cargo_visa::tool::Output {
    let chain = ["plan", "--chain", "mk,fk->mf; mf,nf->mn", "--axes", "M=8,K=32,F=32,N=16", "--out", "bf16"];
    run(&[&chain, more].concat())
}

#[test]
fn a_chain_is_one_kernel() {
    let output = chain(&["--top", "3", "--emit", "folder/tests"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let text = output.stdout;
    assert!(
        text.starts_with("chain    `mk,fk->mf; mf,nf->mn` of bf16, to bf16; M = 8, K = 32, F = 32, N = 16\n"),
        "{text}"
    );
    for part in [
        "\nbound    ",
        "\napart    ",
        "\nHBM      ",
        "\nfound    ",
        " cycles | of bound | `mf` ",
        "| `mf,nf->mn` |",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("|      ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    // The result stays in DM: no tensor between the contractions is in HBM.
    assert!(rows[0].contains("stays in DM") || rows[0].contains("in DM, "), "{text}");
    let (path, text) = output.file.expect("a file");
    assert_eq!(path, Path::new("folder/tests/plan.rs"));
    assert_eq!(text.matches("#[device(chip = 1)]").count(), 1, "{text}");
    for part in ["mod first {", "mod second {", "first::Kept::new(ctx)", "second_on_host(", "#[test]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_chain_as_json() {
    let output = chain(&["--json", "--top", "2"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let json: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let kernels = json["kernels"].as_array().expect("a list");
    assert_eq!(kernels.len(), 2);
    let cycles = |value: &Value| value.as_u64().expect("a number");
    assert!(cycles(&kernels[0]["cycles"]) <= cycles(&kernels[1]["cycles"]));
    assert!(cycles(&kernels[0]["cycles"]) < cycles(&json["apart"]));
    assert!(cycles(&kernels[0]["cycles"]) < cycles(&json["through_hbm"]));
    assert!(cycles(&kernels[0]["bound"]) < cycles(&kernels[0]["cycles"]));
    let parts = kernels[0]["parts"].as_array().expect("a list");
    assert_eq!(parts.len(), 2);
    assert_eq!((&parts[0]["einsum"], &parts[0]["result"]), (&"mk,fk->mf".into(), &"dm".into()));
    assert!(parts[0]["way"].is_string() && parts[0]["way_cycles"].is_u64(), "{json:#}");
    assert_eq!((&parts[1]["result"], &parts[1]["way"]), (&"hbm".into(), &Value::Null));
    assert!(json["gap"].as_f64().is_some_and(|gap| gap > 0.0 && gap < 1.0));
    assert_eq!(json["search_gaps"], serde_json::json!([0.0, 0.0]));
    // The same, to the byte, with other threads.
    assert_eq!(output.stdout, chain(&["--json", "--top", "2", "--threads", "3"]).stdout);
}

/// Functions of rows and steps are in the tables, in the kernel, in its test, and in the object.
#[test]
fn a_chain_with_softmax_and_norms() {
    let chain = "rmsnorm; mk,fk->mf; bias, scale=0.5, softmax; mf,nf->mn; silu";
    let arguments = ["plan", "--chain", chain, "--axes", "M=8,K=32,F=32,N=16", "--top", "2"];
    let output = run(&[&arguments[..], &["--emit", "folder"]].concat());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let text = output.stdout;
    let told = "chain    `rmsnorm:k; mk,fk->mf; bias:F, scale=0.5, softmax:f; mf,nf->mn; silu` of bf16, to f32; M = 8";
    assert!(text.starts_with(told), "{text}");
    assert!(
        text.contains(
            " cycles: the best kernels of all contractions and of what is between, one after another;"
        ),
        "{text}"
    );
    assert!(text.contains(" | of bound | `mk` ") && text.contains(" | `mf` "), "{text}");
    assert!(text.contains("HBM to ") && text.contains("rmsnorm") && text.contains("softmax"), "{text}");
    let (_, text) = output.file.expect("a file");
    for part in [
        "fn rmsnorm_to_first(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![M, K]>)",
        "fn first_softmax_second(",
        "b1: &first::HbmBias",
        "let x1 = rmsnorm_to_first(ctx, x1);",
        ".vector_fp_unary(FpUnaryOp::Sqrt)",
        "softmax_for_second_on_host(",
        "IntraSliceReduceOpF32::Max",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value =
        serde_json::from_str(&run(&[&arguments[..], &["--json"]].concat()).stdout).expect("it is JSON");
    let parts = &json["kernels"][0]["parts"];
    assert_eq!(
        (&parts[0]["function"], &parts[1]["function"]),
        (&"rmsnorm:k".into(), &"scale=0.5, softmax:f".into())
    );
    assert_eq!((&parts[0]["epilogue"], &parts[1]["epilogue"]), (&"bias:F".into(), &"silu".into()));
    assert!(parts[1]["function_cycles"].as_u64().is_some_and(|cycles| cycles > 0), "{json:#}");
    assert_eq!(json["kernels"][0]["end"], Value::Null);
}

/// What is behind the last contraction is a column of its own, and makes the result.
#[test]
fn a_chain_may_end_with_a_residual_and_a_norm() {
    let arguments =
        ["plan", "--chain", "mk,nk->mn; relu, add, rmsnorm", "--axes", "M=16,K=64,N=32", "--dtype", "bf16"];
    let text = run(&arguments).stdout;
    let expected = "chain    `mk,nk->mn; relu, add, rmsnorm:n` of bf16, to bf16; M = 16, K = 64, N = 32\n";
    assert!(text.starts_with(expected) && text.contains("| `mn` "), "{text}");
    let (_, kernel) = run(&[&arguments[..], &["--emit", "folder"]].concat()).file.expect("a file");
    for part in
        ["fn first_add_rmsnorm_result(", "r1: &HbmTensor<bf16, m![1], m![M, N]>, y: &mut HbmTensor<bf16"]
    {
        assert!(kernel.contains(part), "{part}: {kernel}");
    }
    let json: Value =
        serde_json::from_str(&run(&[&arguments[..], &["--json"]].concat()).stdout).expect("it is JSON");
    assert_eq!(json["kernels"][0]["end"]["function"], "add, rmsnorm:n");
    assert!(
        json["kernels"][0]["end"]["function_cycles"].as_u64().is_some_and(|cycles| cycles > 0),
        "{json:#}"
    );
}

#[test]
fn a_chain_that_is_none_is_refused_with_the_edit() {
    let refused = |arguments: &[&str], message: &str| {
        let output = run(&[&["plan"], arguments].concat());
        assert_eq!((output.code, output.stderr.as_str()), (2, format!("error: {message}\n").as_str()));
    };
    let text = "mk,fk->mf; mf,nf->mn";
    refused(&["--chain", text], "`--axes` is missing; write for example --axes M=128,K=1024,F=4096,N=1024");
    let axes = "M=16,K=64,F=64,N=32";
    refused(
        &["--chain", "mk,fk->mf; relu(mf); mf,nf->mn", "--axes", axes],
        "--chain: `relu(mf)` is no part; parts are contractions of two operands, as `mk,fk->mf`, steps behind them (bias, \
         relu, silu, gelu, sigmoid, tanh, exp, scale=0.125), add and mul of two tensors, and softmax, rmsnorm and \
         layernorm in front of one",
    );
    refused(
        &["--chain", text, "--axes", axes, "--dtype", "f8e4m3"],
        "--dtype: sums of f8e4m3 are f32, which are not stored as f8e4m3, so that `mk,fk->mf` makes no operand of what \
         follows; take bf16",
    );
    for (option, value) in [
        ("--einsum", "mk,nk->mn"),
        ("--role", "w=trf"),
        ("--epilogue", "relu"),
        ("--in", "w: N, K"),
        ("--slice", "M"),
        ("--cluster", "M"),
        ("--chips", "2"),
        ("--html", "a.html"),
        ("--explain", "1"),
    ] {
        refused(
            &["--chain", text, "--axes", axes, option, value],
            &format!("`--chain` and `{option}` exclude each other; give one of them"),
        );
    }
    // A contraction without a plan names its rules.
    let (text, axes) = ("mkb,fkb->bmf; bmf,nf->bmn", "B=8,M=8,K=16,F=16,N=8");
    let output = run(&["plan", "--chain", text, "--axes", axes]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.starts_with("error: no mapping of `mkb,fkb->bmf` is left: "), "{}", output.stderr);
    assert!(output.stdout.contains("refused  "), "{}", output.stdout);
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
            && output.stdout.contains("\nDMA run: to_dm: `HbmTensor<m![1], m!["),
        "{}",
        output.stdout
    );
}

/// The page has a point for each plan, both pictures, and the reasons of the best plan.
#[test]
fn a_page_shows_the_plans() {
    let output = plan(&["--top", "7", "--html", "plans.html"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let (path, page) = output.file.expect("a file");
    assert_eq!(path, Path::new("plans.html"));
    assert_eq!(page.matches("<circle ").count(), 2 * 7, "{page}");
    assert!(page.contains("mk,nk-&gt;mn of i8") && page.contains("<h2>Why plan 1</h2>"), "{page}");
    let json: Value = serde_json::from_str(&plan(&["--top", "7", "--json"]).stdout).expect("it is JSON");
    let best = json["plans"][0]["cycles"].as_u64().expect("a number");
    let bytes = json["plans"][0]["dm_bytes"].as_u64().expect("a number");
    let digits = |number: u64| {
        // Spaces between groups of three, as the table has them.
        let all: Vec<char> = number.to_string().chars().collect();
        all.rchunks(3).rev().map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
    };
    let title = format!("<title>plan 1: {} cycles, {} bytes</title>", digits(best), digits(bytes));
    assert!(page.contains(&title), "{title}: {page}");
    let refused = plan(&["--html", "a.html", "--emit", "folder"]);
    assert_eq!(refused.code, 2);
    assert_eq!(refused.stderr, "error: `--html` and `--emit` write one file each; give one of them\n");
    assert_eq!(plan(&["--html", ""]).stderr, "error: --html: the name of the file is empty\n");
}

/// `--emit` writes the plan that `--explain` explains.
#[test]
fn the_plan_that_is_explained_is_written() {
    let json: Value = serde_json::from_str(&plan(&["--top", "5", "--json"]).stdout).expect("it is JSON");
    let cycles = |number: usize| json["plans"][number - 1]["cycles"].as_u64().expect("a number");
    for number in [1, 5] {
        let (_, text) = plan(&["--explain", &number.to_string(), "--emit", "folder"]).file.expect("a file");
        assert!(text.contains(&format!("assert_eq!(cycles, {});", cycles(number))), "{number}: {text}");
    }
    assert!(cycles(1) < cycles(5));
}
