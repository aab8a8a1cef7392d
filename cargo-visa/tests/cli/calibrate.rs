//! `visa calibrate`, on a report that a run of this test writes.

use crate::run;
use furiosa_visa_std::clock::{Number, Numbers};
use furiosa_visa_std::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

axes![A = 256, B = 512];

/// A folder that ends with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("visa-calibrate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("is made");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("is written");
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A load and a pass. The report, and the cycles of both.
fn report(numbers: Numbers) -> (String, [u64; 2]) {
    let mut ctx = Context::with(SimOptions { numbers, ..SimOptions::default() });
    let x = HostTensor::<i8, m![A, B]>::zero();
    let x: HbmTensor<i8, m![1], m![A, B]> = pollster::block_on(x.to_hbm(&mut ctx.pdma, 0));
    let x = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(x.view()).fetch::<i8, m![B / 32], m![B % 32]>();
    drop(stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>(4096));
    let report = ctx.report();
    let cycles = ["to_dm", "commit"]
        .map(|name| report.records.iter().find(|record| record.operation == name).expect("it ran").cycles());
    (report.to_json(), cycles)
}

/// A chip whose passes take 50 cycles more than here: the profile that is written makes them as long.
#[test]
fn a_profile_makes_passes_as_long_as_those_of_the_chip() {
    let folder = Folder::new("passes");
    let (text, [load, pass]) = report(Numbers::default());
    folder.write("run.json", &text);
    let spans = json!({"report": "run.json", "ticks_per_cycle": 2, "spans": [
        {"operation": "commit", "ticks": 2 * (pass + 50)}, {"operation": "to_dm", "cycles": load}]});
    let spans = folder.write("spans.json", &spans.to_string());
    let profile = folder.0.join("profile.json").to_string_lossy().into_owned();
    let output = run(&["calibrate", &spans, "-o", &profile]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    assert!(output.stdout.contains("pass_issue_cycles 308 instead of 258"), "{}", output.stdout);
    assert!(output.stdout.ends_with(&format!("VISA_PROFILE={profile} has a program use these numbers\n")));
    let (path, text) = output.file.expect("a profile is written");
    assert_eq!(path.to_string_lossy(), profile);
    let numbers = Numbers::from_json(&text).expect("the library reads it");
    assert_eq!(numbers.get(Number::PassIssue), 308);
    assert_eq!(report(numbers).1, [load, pass + 50]);
    // Without a file to write, it is the table alone.
    let output = run(&["calibrate", &spans]);
    assert!(output.file.is_none() && !output.stdout.contains("VISA_PROFILE"), "{output:?}");
}

#[test]
fn refusals() {
    let folder = Folder::new("refusals");
    let refused = |arguments: &[&str], part: &str| {
        let output = run(&[&["calibrate"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
        assert!(output.stderr.contains(part), "{}", output.stderr);
    };
    refused(&[], "the file of spans is missing; write for example visa calibrate spans.json -o profile.json");
    refused(&["/nowhere/spans.json"], "`/nowhere/spans.json`: ");
    refused(&["a.json", "b.json"], "is given twice");
    refused(&["--report"], "--report");
    let spans = |text: &str| folder.write("spans.json", text);
    let span = r#"[{"operation": "to_dm", "cycles": 9}]"#;
    refused(&[&spans("{")], "spans.json`: it is no JSON: EOF while parsing an object at line 1 column 1");
    refused(&[&spans(&format!(r#"{{"report": "none.json", "spans": {span}}}"#))], "none.json`: ");
    let given = format!(r#"{{"report": "run.json", "spans": {span}}}"#);
    folder.write("run.json", "{}");
    refused(&[&spans(&given)], "its `report` has no numbers; help: write it with `VISA_JSON=FILE`");
    let (text, _) = report(Numbers::default());
    folder.write("run.json", &text);
    refused(&[&spans(&given), "-o", &spans(&given)], "--output: the profile would replace the spans `");
    refused(&[&spans(&given.replace("to_dm", "to_vrf"))], "span 0: no operation of the report is that");
    let value: Value = serde_json::from_str(&text).expect("a report is JSON");
    assert_eq!(value["numbers"].as_array().map(Vec::len), Some(Number::ALL.len()));
    assert!(run(&["calibrate", "--help"]).stdout.contains("ticks_per_cycle"));
    assert_eq!(run(&["help", "calibrate"]).stdout, run(&["calibrate", "--help"]).stdout);
}
