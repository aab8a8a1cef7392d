//! The forms that the page offers, and those at its limits.

use furiosa_visa_playground::{EXAMPLES, FIELDS, answer};
use furiosa_visa_std::prelude::*;
use serde_json::{Value, json};

fn examples() -> Vec<Value> {
    let examples: Value = serde_json::from_str(EXAMPLES).expect("JSON");
    examples.as_array().expect("a list").clone()
}

fn answered(form: &Value) -> Value {
    serde_json::from_str(&answer(&form.to_string())).expect("JSON")
}

/// The first example with other texts.
fn with(texts: &[(&str, &str)]) -> Value {
    let mut form = examples()[0]["form"].clone();
    texts.iter().for_each(|(field, text)| form[field] = json!(text));
    answered(&form)
}

fn stage<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let stages = answer["stages"].as_array().expect("stages");
    stages.iter().find(|stage| stage["id"] == id).expect("the stage is there")
}

#[track_caller]
fn says(answer: &Value, id: &str, state: &str, message: &str) {
    let stage = stage(answer, id);
    assert_eq!(stage["state"], state, "{stage:#}");
    let said = stage["message"].as_str().unwrap_or_default();
    assert!(said.contains(message), "{said}");
}

#[test]
fn examples_are_derived_but_for_the_refusal() {
    for example in examples() {
        let (name, form) = (&example["name"], example["form"].as_object().expect("texts"));
        for (field, text) in form {
            assert!(FIELDS.contains(&field.as_str()) && text.is_string(), "{name}: {field}");
        }
        let answer = answered(&example["form"]);
        assert_eq!(answer["errors"], json!({}), "{name}");
        assert!(answer["picture"]["svg"].is_string(), "{name}: {}", answer["picture"]);
        let stages = answer["stages"].as_array().expect("stages");
        let refused: Vec<&Value> = stages.iter().filter(|stage| stage["state"] == "refused").collect();
        if name == "a refusal" {
            let words = "fetch: a packet `m![A]` of i8 holds 13 bytes, but packets come in multiples of 8 bytes; help: pad \
                         the innermost axis, to `# 16` elements in all";
            assert_eq!((refused.len(), &refused[0]["message"]), (1, &json!(words)));
            assert!(refused[0]["text"].as_str().is_some_and(|text| text.contains("| A    | 13 : 1 |")));
            says(&answer, "commit", "waits", "waits for fetch");
            continue;
        }
        let done = |stage: &&Value| stage["state"] == "done" || stage["state"] == "absent";
        assert!(stages.iter().all(|stage| done(&stage)), "{name}: {stages:#?}");
        assert!(stage(&answer, "pass")["cycles"]["all"].as_u64() > Some(0), "{name}");
    }
}

axes![R = 256, C = 2048];

/// The first example, as a kernel.
#[device(chip = 1)]
fn columns(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![R, C]>) -> HbmTensor<i8, m![1], m![C, R]> {
    let x = x.to_dm::<m![1 # 2], m![R], m![C]>(&mut ctx.tdma, 0);
    let y: DmTensor<i8, m![1], m![1 # 2], m![C / 8], m![C % 8, R]> = (ctx.main.begin(x.view()))
        .fetch::<i8, m![C / 8], m![C % 8]>()
        .switch_to::<m![C / 8], m![R]>()
        .collect::<m![R], m![C % 8 # 32]>()
        .transpose::<m![R / 8, C % 8], m![R % 8 # 32]>()
        .commit(2048);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn a_kernel_takes_the_same_cycles() {
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![R, C]>::zero();
    let x = pollster::block_on(host.to_hbm::<m![1], m![R, C]>(&mut ctx.pdma, 0));
    let _ = pollster::block_on(launch(columns, (&mut *ctx, &x)));
    let report = ctx.report();
    let took = |name: &str| {
        let mut found = report.records.iter().filter(|record| record.operation == name);
        let record = found.next().expect("it ran");
        assert!(found.next().is_none());
        record.end - record.start
    };
    let answer = answered(&examples()[0]["form"]);
    assert_eq!(stage(&answer, "load")["cycles"]["all"], took("to_dm"));
    assert_eq!(stage(&answer, "pass")["cycles"]["all"], took("commit"));
}

#[test]
fn addresses_are_those_of_nested_loops() {
    let answer = answered(&examples()[1]["form"]);
    // m![B / 16, A] of m![A = 8, B = 64]: runs of 16 bytes.
    let expected: Vec<Value> =
        (0..4).flat_map(|outer| (0..8).map(move |a| json!([64 * a + 16 * outer, 16, 1]))).collect();
    assert_eq!(stage(&answer, "fetch")["addresses"]["rows"], json!(expected));
    // m![B / 16, A, B % 16], behind the 512 bytes of the source.
    let expected: Vec<Value> = (0..32).map(|write| json!([512 + 16 * write, 16, 1])).collect();
    assert_eq!(stage(&answer, "commit")["addresses"]["rows"], json!(expected));
    // 64 of more are listed.
    let answer = with(&[]);
    let addresses = &stage(&answer, "fetch")["addresses"];
    assert_eq!((addresses["rows"].as_array().map(Vec::len), &addresses["all"]), (Some(64), &json!(256)));
}

#[test]
fn fields_that_cannot_be_read() {
    let message = |field: &str, text: &str| {
        let answer = with(&[(field, text)]);
        answer["errors"][field].as_str().unwrap_or_default().to_string()
    };
    assert!(message("axes", "R=256, C").contains("write for example `A=8`"));
    assert!(message("time", "C / 3").ends_with("\n\n  C / 3\n    ^^^"));
    assert!(message("packet", "Q").starts_with("no axis is called `Q`; the axes are `R`, `C`"));
    assert!(message("type", "i5").starts_with("`i5` is not an element type; the types are i4, i8"));
    assert!(message("to", "i3").starts_with("`i3` is not an element type; the types are i4, i5"));
    assert_eq!(message("context", "both"), "`both` is no context; the contexts are main and sub");
    assert!(answered(&json!([]))["errors"]["axes"].is_string());
    // The notation of a kernel is taken, too.
    assert_eq!(with(&[("time", "m![C / 8]")]), with(&[]));
    // 2^26 positions, and twice as many.
    let sizes = |size: &str| with(&[("axes", &format!("R=256, C={size}"))])["errors"]["element"].clone();
    assert_eq!(sizes("67108864"), Value::Null);
    assert!(sizes("67108865").as_str().is_some_and(|said| said.contains("it takes at most 67108864")));
    // 2^26 elements of a stream, and twice as many.
    let stream = |time: &str| with(&[("axes", "R=256, C=2048, T=8388608, U=2"), ("time", time)]);
    says(&stream("T"), "fetch", "refused", "fetch: ");
    says(&stream("T, U"), "fetch", "waits", "16777216 packets of 8 elements are too many for this page");
}

#[test]
fn stages_wait_for_what_is_missing() {
    let answer = with(&[("switch_slice", "")]);
    says(&answer, "switch", "waits", "waits for the slice of the switch");
    says(&answer, "collect", "waits", "waits for switch");
    says(&answer, "pass", "waits", "waits for commit");
    let answer = with(&[("element", ""), ("hbm", "")]);
    says(&answer, "tensor", "waits", "waits for the element");
    says(&answer, "load", "absent", "");
    says(&answer, "fetch", "waits", "waits for the tensor in DM");
    assert_eq!(answer["picture"], Value::Null);
    // A tensor that DM does not hold, and a transfer that no engine does: the stream is derived without the latter.
    let answer = with(&[("axes", "R=256, C=1048576")]);
    says(&answer, "tensor", "refused", "524288");
    let answer = with(&[("hbm", "R")]);
    says(&answer, "load", "refused", "to_dm: ");
    says(&answer, "pass", "done", "");
    let answer = with(&[("commit", "")]);
    says(&answer, "commit", "waits", "waits for the element of the commit");
    // The sub context commits 8 bytes at a time, and nothing behind a transpose.
    says(&with(&[("context", "sub")]), "commit", "refused", "commit: ");
    // Another type in the stream.
    let answer = with(&[("to", "i32"), ("collect_packet", "C % 8")]);
    says(&answer, "collect", "done", "");
}

/// The example says that padded rows are loaded faster.
#[test]
fn rows_of_1000() {
    let mut form = examples()[3]["form"].clone();
    let load = |form: &Value| stage(&answered(form), "load")["cycles"]["all"].as_u64().expect("cycles");
    let ragged = load(&form);
    form["hbm"] = json!("M, K # 1024");
    assert!(load(&form) < ragged, "{} and {ragged}", load(&form));
}

/// A picture has the width that is asked for, and an end.
#[test]
fn pictures() {
    let width = |pixels: &str| {
        let answer = with(&[("draw", "slice"), ("width", pixels)]);
        let svg = answer["picture"]["svg"].as_str().expect("a drawing").to_string();
        let (_, rest) = svg.split_once("width=\"").expect("a width");
        rest.split('"').next().and_then(|number| number.parse::<usize>().ok()).expect("a number")
    };
    assert!(width("1000") > width("300"));
    let error = |size: &str| with(&[("axes", &format!("R=256, C={size}"))])["picture"]["error"].clone();
    assert_eq!(error("16384"), Value::Null);
    assert!(
        error("16392").as_str().is_some_and(|said| said.starts_with("16392 positions are too many to draw"))
    );
}
