//! `cargo visa`: what cargo does not know of kernels.
//!
//! * `cargo visa check` shows at the user's line, and in the user's notation, what the library refuses. Editors use it
//!   in the place of `cargo check`, which does not see sizes.
//! * `cargo visa new` makes a crate with a kernel that runs.
//!
//! Exit codes are those of cargo: 0 done, 101 refused.

#![deny(clippy::unwrap_used)]

mod check;
mod new;
mod notation;

use lexopt::{Arg, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

const USAGE: &str = "\
What cargo does not know of kernels for furiosa-visa-std

Usage: cargo visa check [--verbose] [--message-format FORMAT] [arguments of cargo build]
       cargo visa new NAME [--path LIBRARY | --version VERSION]

check   shows what is refused, sizes included, at your line and as `m![…]`. Builds into `target/visa`.
        --verbose         what is inside of the library too
        --message-format  `human`, or `json` as cargo writes it, for editors. In rust-analyzer, set
                          \"rust-analyzer.check.overrideCommand\":
                              [\"cargo\", \"visa\", \"check\", \"--message-format=json\", \"--all-targets\"]
new     makes the folder NAME with a kernel, its check on the host, a test, and the settings of the editor.
        --path            the folder of the library; by default the one that this program was installed from
        --version         the version of the library in the registry
";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if std::env::var_os(check::wrapper::VARIABLE).is_some() {
        return check::wrapper::run(&arguments);
    }
    run(arguments).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(101)
    })
}

fn run(mut arguments: Vec<OsString>) -> Result<ExitCode, String> {
    // Cargo starts `cargo-visa visa …`.
    if arguments.first().is_some_and(|first| first == "visa") {
        arguments.remove(0);
    }
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut parser = Parser::from_args(arguments);
    let text = |error: lexopt::Error| error.to_string();
    let command = match parser.next().map_err(text)? {
        Some(Arg::Value(command)) => command,
        Some(Arg::Long("version") | Arg::Short('V')) => {
            println!("cargo-visa {}", env!("CARGO_PKG_VERSION"));
            return Ok(ExitCode::SUCCESS);
        }
        Some(other) => return Err(format!("{}\n\n{USAGE}", other.unexpected())),
        None => return Err(format!("a command is missing\n\n{USAGE}")),
    };
    match command.to_str() {
        Some("check") => {
            let rest: Vec<OsString> = parser.raw_args().map_err(text)?.collect();
            check::run(&rest)
        }
        Some("new") => new::run(parser),
        _ => Err(format!("`{}` is no command of `cargo visa`\n\n{USAGE}", command.display())),
    }
}
