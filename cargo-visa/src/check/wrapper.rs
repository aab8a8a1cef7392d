//! The compiler without the work that a check does not need.
//!
//! Constants of generic code are evaluated where the code is instantiated, which `--emit=metadata` (`cargo check`)
//! never does. `--emit=mir` does it, and stops before machine code and linking. Cargo is told to start this program in
//! the place of `rustc` for the crates of the workspace.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Variable that is set while this program stands in for the compiler.
pub const VARIABLE: &str = "CARGO_VISA_COMPILER";

/// Compiles. The arguments are the compiler and its arguments.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let Some((compiler, arguments)) = arguments.split_first() else {
        return ExitCode::FAILURE;
    };
    let (arguments, program) = checking(arguments);
    let status = match Command::new(compiler).args(arguments).status() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("error: `{}` cannot be started: {error}", compiler.display());
            return ExitCode::FAILURE;
        }
    };
    // Cargo looks for the program, and would compile again without one.
    if let Some(program) = program.filter(|_| status.success())
        && let Err(error) = std::fs::write(&program, "Checked by `cargo visa check`. This is no program.\n")
    {
        eprintln!("warning: `{}` cannot be written: {error}", program.display());
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(101))
}

/// In characters. The compiler leaves out parts of types that need more than about half of it, and types are much
/// longer before they are written as `m![…]`.
const WIDTH: &str = "--diagnostic-width=2000";

/// Functions that nothing calls yet are checked too, unless they are generic.
const UNUSED_CODE: &str = "-Clink-dead-code";

/// The arguments of a check, and the program that is not built. Libraries are built: other crates need them.
fn checking(arguments: &[OsString]) -> (Vec<OsString>, Option<PathBuf>) {
    if !arguments.iter().any(|argument| argument.to_str().is_some_and(|text| text.starts_with("--emit="))) {
        return (arguments.to_vec(), None);
    }
    let is_width =
        |argument: &&OsString| argument.to_str().is_some_and(|text| text.starts_with("--diagnostic-width="));
    let arguments: Vec<OsString> = arguments.iter().filter(|argument| !is_width(argument)).cloned().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)
    };
    let is_program = value("--crate-type").is_some_and(|kind| kind == "bin")
        || arguments.iter().any(|argument| argument == "--test");
    let emits = "--emit=dep-info,link";
    if !is_program || !arguments.iter().any(|argument| argument == emits) {
        return ([arguments, vec![WIDTH.into()]].concat(), None);
    }
    let checking = arguments.iter().map(|argument| match argument {
        argument if argument == emits => OsString::from("--emit=dep-info,mir"),
        argument => argument.clone(),
    });
    let checking = checking.chain([WIDTH, UNUSED_CODE].map(OsString::from));
    let program = value("--out-dir").zip(value("--crate-name")).map(|(folder, name)| {
        let extra = arguments.iter().find_map(|argument| argument.to_str()?.strip_prefix("extra-filename="));
        let mut file = name.clone();
        file.push(extra.unwrap_or_default());
        file.push(std::env::consts::EXE_SUFFIX);
        PathBuf::from(folder).join(file)
    });
    (checking.collect(), program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn programs_and_tests_are_not_linked() {
        let program = "--crate-name a_b src/main.rs --crate-type bin --emit=dep-info,link \
                       -C extra-filename=-0f --out-dir t/deps";
        let (checking, file) = super::checking(&arguments(program));
        let expected = program.replace("dep-info,link", "dep-info,mir");
        assert_eq!(checking, arguments(&format!("{expected} {WIDTH} {UNUSED_CODE}")));
        let file = file.expect("cargo looks for it");
        assert_eq!(file.file_stem().and_then(|stem| stem.to_str()), Some("a_b-0f"));
        assert_eq!(file.parent(), Some(std::path::Path::new("t/deps")));
        let test = arguments("--crate-name a --test --emit=dep-info,link --out-dir t");
        assert!(super::checking(&test).1.is_some());
    }

    #[test]
    fn libraries_are_built() {
        let library = "--crate-name a src/lib.rs --crate-type lib --emit=dep-info,metadata,link --out-dir t";
        let given = arguments(&format!("--diagnostic-width=80 {library}"));
        assert_eq!(super::checking(&given), (arguments(&format!("{library} {WIDTH}")), None));
    }

    #[test]
    fn questions_stay() {
        for text in ["-vV", "- --crate-name ___ --print=file-names --crate-type bin"] {
            assert_eq!(super::checking(&arguments(text)), (arguments(text), None));
        }
    }
}
