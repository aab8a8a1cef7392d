//! What the library refuses, with the whole message, and what it accepts.
//!
//! `refused/` has one program per rule: the file is named after the rule, its first line says the rule in words, and the
//! `.stderr` beside it is all that the compiler says. `accepted/` has the neighbours at each limit; these run.
//! Refusals by const evaluation appear only in a build, which trybuild does because the same set has programs that run.
//!
//! Renew the expected messages: `TRYBUILD=overwrite cargo test --test ui`, and read the difference.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Tells the test that it runs inside itself.
const INSIDE: &str = "FURIOSA_VISA_UI_INSIDE";

/// Where the library seems to come from. Trybuild shortens it to `$CARGO/…` and leaves line numbers out.
const REGISTRY: &str = "/registry/src/index.crates.io-0000000000000000/furiosa-visa-std-0.1.0/";

#[test]
fn ui() {
    if std::env::var_os(INSIDE).is_none() {
        return inside();
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/refused/*.rs");
    cases.pass("tests/ui/accepted/*.rs");
}

/// Runs this test again in an environment where the compiler does not find the source of the library. Otherwise the
/// expected messages would quote lines of the library, and change with them.
fn inside() {
    let mut flags = vec!["-Adead_code".to_string(), "--diagnostic-width=140".to_string()];
    for part in ["src", "macros"] {
        let local = Path::new(env!("CARGO_MANIFEST_DIR")).join(part);
        // The second source makes the way back ambiguous: the compiler gives up looking for the file.
        for source in [local.display().to_string(), format!("/nowhere/{part}")] {
            flags.push(format!("--remap-path-prefix={source}={REGISTRY}{part}"));
        }
    }
    let status = Command::new(std::env::current_exe().expect("the test has a path"))
        .args(["ui", "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .status()
        .expect("the test starts again");
    assert!(status.success(), "a program differs from what is expected: see above");
}

/// Every program says its rule, and every refused one has its message.
#[test]
fn every_program_says_its_rule() {
    let mut counts = [0; 2];
    for (count, folder) in counts.iter_mut().zip(["refused", "accepted"]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui").join(folder);
        for entry in folder.read_dir().expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.extension() == Some(OsStr::new("rs")) {
                let program = std::fs::read_to_string(&path).expect("the program can be read");
                assert!(program.starts_with("//! "), "{} does not say its rule", path.display());
                let message = path.with_extension("stderr").exists();
                assert_eq!(message, folder.ends_with("refused"), "{}", path.display());
                *count += 1;
            }
        }
    }
    assert!(counts[0] >= 50 && counts[1] >= 18, "{counts:?}");
}
