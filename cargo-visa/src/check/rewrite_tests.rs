//! Messages of the compiler about a few programs, and the text that a user reads.
//!
//! `tests/recorded/NAME.jsonl` is what cargo wrote, without what is not looked at; `NAME.txt` beside it is what a user
//! reads. The programs are those of `tests/ui/refused`, or lie beside the recordings. `TRYBUILD=overwrite` renews the
//! texts: read the difference.

use super::*;
use std::path::{Path, PathBuf};

/// The workspace of the recordings. The library is in `/visa`.
const ROOT: &str = "/kernels";

const RECORDED: [&str; 18] = [
    "kernels_softmax_of_12_columns",
    "launch_swapped",
    "launch_with_another_mapping",
    "launch_without_await",
    "narrow_operand",
    "no_prelude",
    "one_chain",
    "own_constant",
    "read_packet_fetch",
    "results_of_another_type",
    "slices_of_two_tensors",
    "stage_cast_after_cast",
    "to_vrf_of_i8",
    "transpose_three_rows_of_i4",
    "two_instances",
    "unknown_axes",
    "vector_operand_of_i32",
    "words_of_the_compiler",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn recording(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.jsonl"))).expect("it is recorded");
    text.lines().map(|line| serde_json::from_str(line).expect("cargo writes JSON")).collect()
}

fn rewritten(root: &str, lines: Vec<Value>, style: Style) -> Vec<Value> {
    let mut rewriter = Rewriter::new(Sources::recorded(root), style);
    lines.into_iter().flat_map(|line| rewriter.push(line)).collect()
}

fn rendered(lines: &[Value]) -> String {
    lines.iter().filter_map(|line| line["message"]["rendered"].as_str()).collect()
}

/// The first lines of the errors of a recording.
fn error_lines(name: &str, verbose: bool) -> Vec<u64> {
    let lines = rewritten(ROOT, recording(name), Style { verbose, colour: false });
    let errors = lines.iter().filter(|line| line["message"]["level"] == "error");
    errors.map(|line| line["message"]["spans"][0]["line_start"].as_u64().expect("a number")).collect()
}

/// The program of a recording. `None`: another file.
pub fn program(name: &str) -> Option<String> {
    let file = format!("{name}.rs");
    let refused = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui/refused").join(&file);
    std::fs::read_to_string(folder().join(&file)).or_else(|_| std::fs::read_to_string(refused)).ok()
}

#[test]
fn what_a_user_reads() {
    let overwrite = std::env::var_os("TRYBUILD").is_some_and(|value| value == "overwrite");
    for name in RECORDED {
        let text = rendered(&rewritten(ROOT, recording(name), Style::default()));
        let path = folder().join(format!("{name}.txt"));
        if overwrite {
            std::fs::write(&path, &text).expect("the text can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("the text is there");
        assert_eq!(text, expected, "{name}");
    }
}

/// Editors read lines, columns and bytes, and the text that they mark. All of them must be the program's.
#[test]
fn places_are_those_of_the_programs() {
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("small");
    let mut places = 0;
    for name in RECORDED {
        let source = program(name).expect("the program is there");
        let lines: Vec<&str> = source.lines().collect();
        for line in rewritten(ROOT, recording(name), Style::default()) {
            for span in line["message"]["spans"].as_array().into_iter().flatten() {
                assert_eq!(span["file_name"], format!("src/bin/{name}.rs"));
                let of_bytes = &source[number(&span["byte_start"])..number(&span["byte_end"])];
                let (first, last) = (number(&span["line_start"]), number(&span["line_end"]));
                let mut of_lines: Vec<String> =
                    lines[first - 1..last].iter().map(|line| (*line).into()).collect();
                let texts = span["text"].as_array().expect("the text");
                assert!(texts.iter().zip(&of_lines).all(|(text, line)| text["text"] == **line), "{name}");
                assert_eq!(texts.len(), of_lines.len());
                let (start, end) = (&texts[0]["highlight_start"], &texts[texts.len() - 1]["highlight_end"]);
                assert_eq!((start, end), (&span["column_start"], &span["column_end"]), "{name}");
                of_lines[last - first].truncate(number(end) - 1);
                of_lines[0].drain(..number(start) - 1);
                assert_eq!(of_bytes, of_lines.join("\n"), "{name}");
                places += 1;
            }
        }
    }
    assert!(places >= RECORDED.len(), "{places}");
}

/// Members that rust-analyzer and other readers of cargo's messages expect.
#[test]
fn lines_have_all_that_cargo_writes() {
    for name in RECORDED {
        for style in [Style::default(), Style { verbose: true, colour: false }] {
            let lines = rewritten(ROOT, recording(name), style);
            assert_eq!(lines[0]["reason"], "compiler-artifact");
            assert_eq!(lines[lines.len() - 1], json!({ "reason": "build-finished", "success": false }));
            for line in &lines[1..lines.len() - 1] {
                assert_eq!(line["reason"], "compiler-message");
                assert!(line["package_id"].is_string() && line["target"]["src_path"].is_string());
                assert_eq!(line["message"]["$message_type"], "diagnostic");
                has_all_fields(&line["message"]);
                assert!(line["message"]["rendered"].as_str().is_some_and(|text| !text.is_empty()));
            }
        }
    }
}

fn has_all_fields(diagnostic: &Value) {
    for field in ["message", "level"] {
        assert!(diagnostic[field].is_string(), "{field}: {diagnostic}");
    }
    for field in ["code", "rendered"] {
        assert!(diagnostic.get(field).is_some(), "{field}: {diagnostic}");
    }
    for span in diagnostic["spans"].as_array().expect("spans") {
        for field in ["byte_start", "byte_end", "line_start", "line_end", "column_start", "column_end"] {
            assert!(span[field].is_u64(), "{field}: {span}");
        }
        for field in ["label", "expansion", "suggested_replacement", "suggestion_applicability"] {
            assert!(span.get(field).is_some(), "{field}: {span}");
        }
        assert!(span["is_primary"].is_boolean() && span["text"].is_array() && span["file_name"].is_string());
    }
    diagnostic["children"].as_array().expect("children").iter().for_each(has_all_fields);
}

#[test]
fn windows() {
    let mut recording = recording("windows");
    let text = rendered(&rewritten(r"C:\kernels", recording.clone(), Style::default()));
    let same =
        rendered(&rewritten(ROOT, super::tests::recording("transpose_three_rows_of_i4"), Style::default()));
    assert_eq!(text, same.replace("src/bin/", r"src\bin\"));
    // Without the artifact of the library, its files are known by not being the workspace's.
    recording.remove(0);
    assert_eq!(rendered(&rewritten(r"C:\kernels", recording, Style::default())), text);
}

#[test]
fn everything_is_there_when_asked_for() {
    let style = Style { verbose: true, colour: false };
    let text = rendered(&rewritten(ROOT, recording("transpose_three_rows_of_i4"), style));
    for part in [
        "  --> src/bin/transpose_three_rows_of_i4.rs:13:10\n",
        "note: the constant that is refused\n",
        " --> /visa/src/engine/transpose.rs:",
        "evaluation of `TransposePlan::<i4, m![A], m![B # 64], m![B], m![A # 64]>::CONFIG` failed here\n",
        "note: erroneous constant encountered\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    // Errors inside the library, too.
    let errors = |verbose| error_lines("kernels_softmax_of_12_columns", verbose).len();
    assert_eq!((errors(false), errors(true)), (1, 2));
}

/// A call that is refused behind a refused call of its chain is named in a note. Errors of other chains stay.
#[test]
fn one_error_for_a_chain() {
    assert_eq!(error_lines("one_chain", false), [10, 15]);
    assert_eq!(error_lines("one_chain", true), [10, 11, 12, 15]);
}

/// A tensor of a type that no such tensor has is refused where it is made, where it is used, and by itself.
#[test]
fn one_error_for_a_type() {
    assert_eq!(error_lines("narrow_operand", false), [23]);
    assert_eq!(error_lines("narrow_operand", true), [23, 32, 24]);
}

/// A refusal without a line of the user's is not lost.
#[test]
fn without_the_users_line() {
    let mut lines = recording("transpose_three_rows_of_i4");
    lines.retain(|line| !is_note_of_the_call(&line["message"]));
    let text = rendered(&rewritten(ROOT, lines, Style::default()));
    assert!(text.starts_with("error[E0080]: transpose: 3 elements of `m![A # 64]` at a time"), "{text}");
    assert!(text.contains(" --> /visa/src/engine/transpose.rs:"), "{text}");
}

/// A program and its tests have one name, and may be compiled at the same time.
#[test]
fn targets_that_write_at_the_same_time() {
    let one = recording("transpose_three_rows_of_i4");
    let doubled = one.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
    let lines = rewritten(ROOT, doubled, Style::default());
    let errors: Vec<&Value> = lines.iter().filter(|line| line["message"]["level"] == "error").collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["message"]["spans"][0]["line_start"], 13);
    assert_eq!(errors[0]["message"]["spans"][0]["label"], Value::Null);
}

/// Diagnostics that are not about the library stay as they are.
#[test]
fn other_diagnostics_stay() {
    let line = json!({ "reason": "compiler-message", "package_id": "p", "target": { "name": "n" }, "message": {
        "level": "warning", "message": "unused variable: `pair`", "code": null, "rendered": "as it was",
        "spans": [{ "file_name": "src/main.rs", "label": "`Vec<Pair>`" }],
        "children": [{ "level": "note", "message": "the full type name", "spans": [], "children": [] }] } });
    assert_eq!(rewritten(ROOT, vec![line.clone()], Style::default()), [line]);
}
