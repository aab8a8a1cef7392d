//! `visa calibrate`: times of a chip beside those of the simulator, and numbers that would explain the difference.
//!
//! ```text
//!   spans of a chip (FILE.json) ┐
//!                               ├─▶ ratio per class of operations ─▶ a number of the profile for each class ─▶ VISA_PROFILE
//!   report of the same run      ┘
//! ```
//!
//! A number contributes to the time of its class in proportion: `new = old * (part + theirs - ours) / part`, where
//! `part` is the number of cycles that it accounts for. The median over the operations of the class is taken.

use super::arguments::{Once, shown};
use super::{CALIBRATE_HELP, Output, Refusal};
use furiosa_visa_clock::{Number, Numbers};
use furiosa_visa_report::page;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `visa calibrate spans.json -o profile.json`.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut spans, mut file) = (Once::new("file of spans"), Once::new("--output"));
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(CALIBRATE_HELP)),
            Short('o') | Long("output") => file.set(parser.value()?)?,
            Value(value) => spans.set(value)?,
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(spans) = spans.raw() else {
        return Err(
            "the file of spans is missing; write for example visa calibrate spans.json -o profile.json"
                .into(),
        );
    };
    let (mut text, numbers) = compared(Path::new(&spans))?;
    let mut output = Output::default();
    if let Some(path) = file.raw().map(PathBuf::from) {
        if page::is_same_file(Path::new(&spans), &path) {
            return Err(Refusal(format!(
                "--output: the profile would replace the spans `{}`; name another file, for example visa calibrate {} -o \
                 profile.json",
                path.display(),
                shown(&spans)
            )));
        }
        text += &format!("\nVISA_PROFILE={} has a program use these numbers\n", path.display());
        output.file = Some((path, format!("{:#}\n", numbers.to_json())));
    }
    output.stdout = text;
    Ok(output)
}

/// A class of operations, and the number that is fitted to them.
struct Class {
    name: &'static str,
    number: Number,
    /// The part of the time that is proportional to the number.
    part: Part,
}

/// Cycles of an operation that are proportional to a number.
#[derive(Clone, Copy)]
enum Part {
    /// The cycles of a row of the report.
    Row(&'static str),
    /// Cycles that the number adds to every 1000 cycles of a row.
    PerMille(&'static str),
}

const CLASSES: [Class; 8] = [
    Class { name: "passes", number: Number::PassIssue, part: Part::Row("issue") },
    Class { name: "passes through a table", number: Number::TableFlit, part: Part::Row("fetch") },
    Class { name: "settings of a switch", number: Number::SwitchBitmap, part: Part::Row("switch bitmap") },
    Class { name: "meetings of clusters", number: Number::Synchronisation, part: Part::Row("clusters meet") },
    Class { name: "copies for slices", number: Number::Copy, part: Part::Row("copies, slowest cluster") },
    Class { name: "gathers and scatters", number: Number::Index, part: Part::Row("index, slowest engine") },
    Class { name: "DMA bound by HBM", number: Number::HbmRefresh, part: Part::PerMille("HBM, all engines") },
    Class {
        name: "DMA bound by the networks of DM",
        number: Number::DmnAccess,
        part: Part::Row("data, slowest engine"),
    },
];

/// The time of an operation on a chip.
#[derive(Debug, PartialEq)]
struct Span {
    operation: Option<String>,
    line: Option<String>,
    cycles: f64,
}

/// Content of the file of spans that the user gives.
#[derive(Debug, PartialEq)]
struct Given {
    report: PathBuf,
    spans: Vec<Span>,
}

/// A row of the table: a span and the operations that it is compared with.
struct Compared {
    span: Span,
    operations: usize,
    ours: f64,
    class: &'static str,
    /// The number that would explain the difference.
    fitted: Option<(Number, f64)>,
}

/// The table, and the numbers of the report with fitted ones in their place.
///
/// # Errors
/// Returns the problem, with the file and the place.
fn compared(file: &Path) -> Result<(String, Numbers), String> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()));
    let within = |path: &Path| {
        let path = path.display().to_string();
        move |error: String| format!("`{path}`: {error}")
    };
    let given = given(&read(file)?).map_err(within(file))?;
    let report = file.parent().unwrap_or(Path::new("")).join(&given.report);
    let known = parsed(&read(&report)?).map_err(within(&report))?;
    calibrated(given.spans, &known).map_err(within(file))
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))
}

fn given(text: &str) -> Result<Given, String> {
    let value = parsed(text)?;
    let object = value.as_object().ok_or("it is no object with `report` and `spans`")?;
    let known = ["report", "ticks_per_cycle", "spans"];
    if let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{key}` is not known; help: it has {}", listed(&known)));
    }
    let report = object.get("report").and_then(Value::as_str);
    let report =
        report.ok_or("`report` is missing: the file that `VISA_JSON` names when the program is simulated")?;
    let rate = match object.get("ticks_per_cycle") {
        None => 1.0,
        Some(rate) => {
            positive(rate).ok_or(format!("`ticks_per_cycle` is {rate}, but it is a number above 0"))?
        }
    };
    let spans = object.get("spans").and_then(Value::as_array).filter(|spans| !spans.is_empty());
    let spans = spans.ok_or("`spans` is missing or empty: a list of what the chip took")?;
    let spans = spans.iter().enumerate().map(|(k, item)| {
        span(item, rate, object.contains_key("ticks_per_cycle")).map_err(|error| format!("span {k}: {error}"))
    });
    Ok(Given { report: report.into(), spans: spans.collect::<Result<_, _>>()? })
}

fn positive(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| *value > 0.0 && value.is_finite())
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn span(value: &Value, rate: f64, has_rate: bool) -> Result<Span, String> {
    let object = value.as_object().ok_or(format!("{value} is no object"))?;
    let known = ["operation", "line", "cycles", "ticks"];
    if let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{key}` is not known; help: it has {}", listed(&known)));
    }
    let text = |key: &str| match object.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("`{key}` is {other}, but it is a text")),
    };
    let (operation, line) = (text("operation")?, text("line")?);
    if operation.is_none() && line.is_none() {
        return Err(
            "it names neither an `operation`, as \"to_dm\", nor a `line`, as \"kernel.rs:17\"".to_string()
        );
    }
    let number = |key: &str| match object.get(key) {
        None => Ok(None),
        Some(value) => {
            positive(value).map(Some).ok_or(format!("`{key}` is {value}, but it is a number above 0"))
        }
    };
    let cycles = match (number("cycles")?, number("ticks")?) {
        (Some(cycles), None) => cycles,
        (None, Some(ticks)) if has_rate => ticks / rate,
        (None, Some(_)) => {
            return Err(
                "it counts `ticks`, but nothing says how many of them a cycle of 1 GHz has; help: set \
                        `ticks_per_cycle`"
                    .to_string(),
            );
        }
        _ => return Err("it has either `cycles` or `ticks`".to_string()),
    };
    Ok(Span { operation, line, cycles })
}

/// Tells if a span means an operation of the report.
fn is_meant(span: &Span, operation: &Value) -> bool {
    let location = operation["location"].as_str().unwrap_or("");
    // `kernel.rs:17` means `src/kernel.rs:17:9`.
    let at_line = |line: &str| {
        let (before, _) = location.rsplit_once(':').unwrap_or((location, ""));
        before == line || before.ends_with(&format!("/{line}"))
    };
    span.operation.as_deref().is_none_or(|name| operation["operation"] == name)
        && span.line.as_deref().is_none_or(at_line)
}

fn rows(operation: &Value) -> BTreeMap<&str, f64> {
    let parts = operation["time"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|row| Some((row["name"].as_str()?, row["cycles"].as_f64()?))).collect()
}

/// The class of an operation.
fn class_of(operation: &Value) -> Option<&'static Class> {
    let (rows, parts) = (rows(operation), operation["time"]["parts"].as_array()?);
    let row = |name: &str| rows.get(name).copied().unwrap_or(0.0);
    let has = |name: &str| row(name) > 0.0;
    let looks_up = |part: &Value| part["name"] == "fetch" && part["source"] == Number::TableFlit.rule();
    let all = operation["time"]["cycles"].as_f64()?;
    let number = match operation["time"]["bound_by"].as_str()? {
        "fetch" if parts.iter().any(looks_up) => Number::TableFlit,
        // In a pass that works for a longer time, the stages dominate, and they are documented.
        _ if has("issue") && 2.0 * row("issue") < all => return None,
        _ if has("issue") => Number::PassIssue,
        _ if has("switch bitmap") => Number::SwitchBitmap,
        _ if has("clusters meet") => Number::Synchronisation,
        "copies" => Number::Copy,
        _ if has("index, slowest engine") => Number::Index,
        // Writes may be of parts of a unit; their time is documented.
        "HBM" if operation["to"] != "HBM" => Number::HbmRefresh,
        "DMN" => Number::DmnAccess,
        _ => return None,
    };
    CLASSES.iter().find(|class| class.number == number)
}

/// The number that would make an operation as long as its span.
fn fitted(class: &Class, operation: &Value, more: f64, known: &Numbers) -> Option<f64> {
    let (rows, old) = (rows(operation), known.get(class.number) as f64);
    let row = |name: &str| rows.get(name).copied().unwrap_or(0.0);
    let new = match class.part {
        Part::Row(name) => old * (row(name) + more) / row(name),
        Part::PerMille(name) => {
            let alone = row(name) / (1.0 + old / 1000.0);
            old + 1000.0 * more / alone
        }
    };
    // A difference that no value of the number explains is left unexplained.
    (0.0..=class.number.most() as f64).contains(&new).then_some(new)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

fn calibrated(spans: Vec<Span>, report: &Value) -> Result<(String, Numbers), String> {
    let operations = report["operations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let numbers = report["numbers"].as_array().ok_or(
        "its `report` has no numbers; help: write it with `VISA_JSON=FILE` and this version of the library",
    )?;
    if report["profile"] != "detailed" {
        return Err("its `report` is one of the profile `book`, which has no number to fit; help: unset `VISA_PROFILE`"
            .to_string());
    }
    let value =
        |number: Number| numbers.iter().find(|entry| entry["name"] == number.name())?["value"].as_u64();
    let known = Number::ALL.into_iter().fold(Numbers::default(), |known, number| {
        value(number).map_or(known, |value| known.with(number, value))
    });
    let mut all = Vec::new();
    for (k, span) in spans.into_iter().enumerate() {
        let meant: Vec<&Value> = operations.iter().filter(|operation| is_meant(&span, operation)).collect();
        let cycles = |operation: &Value| operation["time"]["cycles"].as_f64().unwrap_or(0.0);
        let Some(first) = meant.first() else {
            let mut names: Vec<&str> =
                operations.iter().filter_map(|operation| operation["location"].as_str()).collect();
            names.dedup();
            names.truncate(5);
            return Err(format!(
                "span {k}: no operation of the report is that; help: its first lines are {}",
                listed(&names)
            ));
        };
        let ours = meant.iter().map(|operation| cycles(operation)).sum::<f64>() / meant.len() as f64;
        let name = |operation: &Value| class_of(operation).map_or("other operations", |class| class.name);
        if let Some(other) = meant.iter().find(|operation| name(operation) != name(first)) {
            return Err(format!(
                "span {k}: it means operations of several classes, {} and {}; help: name `operation` and `line`, one \
                 span for each",
                name(first),
                name(other)
            ));
        }
        let fitted = class_of(first).and_then(|class| {
            let all = meant
                .iter()
                .filter_map(|operation| fitted(class, operation, span.cycles - cycles(operation), &known));
            Some((class.number, median(all.collect())?))
        });
        let class = name(first);
        all.push(Compared { span, operations: meant.len(), ours, class, fitted });
    }
    Ok(table(&all, &known))
}

fn table(all: &[Compared], known: &Numbers) -> (String, Numbers) {
    let mut text =
        format!("{:<40} {:>6} {:>12} {:>12} {:>10}\n", "span", "found", "chip", "simulated", "ratio");
    for Compared { span, operations, ours, .. } in all {
        let names = [span.operation.as_deref(), span.line.as_deref()];
        let name = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let (chip, ratio) = (span.cycles, ours / span.cycles);
        text += &format!("{name:<40} {operations:>6} {chip:>12.0} {ours:>12.0} {ratio:>10.2}\n");
    }
    text += &format!("\n{:<32} {:>6} {:>10}   number that would explain it\n", "class", "spans", "median");
    let mut profile = *known;
    let names = CLASSES.iter().map(|class| class.name).chain(["other operations"]);
    for name in names {
        let members: Vec<&Compared> = all.iter().filter(|compared| compared.class == name).collect();
        let Some(ratio) =
            median(members.iter().map(|compared| compared.ours / compared.span.cycles).collect())
        else {
            continue;
        };
        let number = members.iter().find_map(|compared| compared.fitted).map(|(number, _)| number);
        let new =
            median(members.iter().filter_map(|compared| Some(compared.fitted?.1)).collect()).map(f64::round);
        let explained = match (number, new) {
            (Some(number), Some(new)) => {
                profile = profile.with(number, new as u64);
                format!("{} {new} instead of {}", number.name(), known.get(number))
            }
            _ => "none of a profile".to_string(),
        };
        text += &format!("{name:<32} {:>6} {ratio:>10.2}   {explained}\n", members.len());
    }
    (text, profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SPANS: &str = r#"{"report": "run.json", "ticks_per_cycle": 2, "spans": [
        {"operation": "to_vrf", "ticks": 634}, {"line": "kernel.rs:9", "cycles": 2143}]}"#;

    fn report() -> Value {
        json!({
            "profile": "detailed",
            "numbers": [
                {"name": "pass_issue_cycles", "value": 258, "most": 65536},
                {"name": "hbm_refresh_per_mille", "value": 71, "most": 4096},
            ],
            "operations": [
                {"operation": "to_vrf", "location": "src/kernel.rs:7:5", "time": {
                    "cycles": 267, "bound_by": "fetch",
                    "parts": [{"name": "fetch", "cycles": 4, "source": "time"}, {"name": "issue", "cycles": 258}]}},
                {"operation": "to_dm", "location": "src/kernel.rs:9:5", "time": {
                    "cycles": 1571, "bound_by": "HBM", "parts": [{"name": "HBM, all engines", "cycles": 1071}]}},
            ],
        })
    }

    #[test]
    fn numbers_explain_what_a_chip_took() {
        let given = given(SPANS).expect("it is right");
        assert_eq!(given.report, Path::new("run.json"));
        let (text, profile) = calibrated(given.spans, &report()).expect("it is right");
        // 317 cycles instead of 267; 572 cycles more in 1000 of HBM.
        let expected = Numbers::default().with(Number::PassIssue, 308).with(Number::HbmRefresh, 643);
        assert_eq!(profile, expected);
        let line =
            |start: &str| text.lines().find(|line| line.starts_with(start)).expect("it is there").to_string();
        let words = |start: &str| line(start).split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(words("to_vrf"), ["to_vrf", "1", "317", "267", "0.84"]);
        assert!(line("passes").ends_with("0.84   pass_issue_cycles 308 instead of 258"), "{text}");
        assert!(
            line("DMA bound by HBM").ends_with("0.73   hbm_refresh_per_mille 643 instead of 71"),
            "{text}"
        );
    }

    /// Numbers are not fitted to a pass that takes longer than its issue, to a store, and to differences without an
    /// explanation.
    #[test]
    fn what_is_documented_is_not_fitted() {
        let unexplained = |change: fn(&mut Value), span: Span| {
            let mut report = report();
            change(&mut report["operations"]);
            let (text, profile) = calibrated(vec![span], &report).expect("it is right");
            assert_eq!(profile, Numbers::default(), "{text}");
            assert!(text.ends_with("none of a profile\n"), "{text}");
            text
        };
        let span = |name: &str, cycles| Span { operation: Some(name.to_string()), line: None, cycles };
        let long = |operations: &mut Value| operations[0]["time"]["cycles"] = json!(517);
        assert!(unexplained(long, span("to_vrf", 600.0)).contains("other operations"));
        let store = |operations: &mut Value| operations[1]["to"] = json!("HBM");
        assert!(unexplained(store, span("to_dm", 2000.0)).contains("other operations"));
        // The fitted number would be negative.
        assert!(unexplained(|_| (), span("to_vrf", 8.0)).contains("\npasses "));
        assert!(unexplained(|_| (), span("to_vrf", 70_000.0)).contains("\npasses "));
    }

    #[test]
    fn wrong_files_are_refused_with_the_place() {
        for (text, part) in [
            ("{", "it is no JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "it is no object with `report` and `spans`"),
            (r#"{"spans": []}"#, "`report` is missing"),
            (r#"{"report": "r"}"#, "`spans` is missing or empty"),
            (
                r#"{"report": "r", "spans": [], "rate": 1}"#,
                "`rate` is not known; help: it has `report`, `ticks",
            ),
            (r#"{"report": "r", "ticks_per_cycle": 0, "spans": [1]}"#, "`ticks_per_cycle` is 0, but"),
            (r#"{"report": "r", "spans": [{"operation": "a", "cycles": 1}, 3]}"#, "span 1: 3 is no object"),
            (r#"{"report": "r", "spans": [{"cycles": 1}]}"#, "span 0: it names neither"),
            (
                r#"{"report": "r", "spans": [{"line": 3, "cycles": 1}]}"#,
                "span 0: `line` is 3, but it is a text",
            ),
            (r#"{"report": "r", "spans": [{"line": "a", "cycles": -1}]}"#, "span 0: `cycles` is -1, but"),
            (r#"{"report": "r", "spans": [{"line": "a", "ticks": 1}]}"#, "help: set `ticks_per_cycle`"),
            (r#"{"report": "r", "spans": [{"line": "a"}]}"#, "span 0: it has either `cycles` or `ticks`"),
            (r#"{"report": "r", "spans": [{"line": "a", "times": 1}]}"#, "span 0: `times` is not known"),
        ] {
            let error = given(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let span = |line: &str| Span { operation: None, line: Some(line.to_string()), cycles: 1.0 };
        let refused =
            |line: &str, report: &Value| calibrated(vec![span(line)], report).expect_err("it is wrong");
        let error = refused("nel.rs:9", &report());
        assert!(error.contains(
            "span 0: no operation of the report is that; help: its first lines are `src/kernel.rs:7"
        ));
        let mut two = report();
        two["operations"][0]["location"] = json!("src/kernel.rs:9:1");
        let words = "span 0: it means operations of several classes, passes and DMA bound by HBM; help: name";
        let error = refused("kernel.rs:9", &two);
        assert!(error.contains(words), "{error}");
        assert!(refused("kernel.rs:9", &json!({})).contains("has no numbers"));
        let book = json!({"profile": "book", "numbers": []});
        assert!(refused("kernel.rs:9", &book).contains("one of the profile `book`"));
    }
}
