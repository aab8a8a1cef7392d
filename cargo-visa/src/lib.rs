//! `visa` and `cargo visa`: a companion of cargo for kernels. One program under two names.
//!
//! * `visa check` shows refusals of the library at the user's line, in the user's notation. Editors use it in the place of
//!   `cargo check`, which does not see sizes.
//! * `visa new` makes a crate with a kernel that runs.
//! * `visa playground` writes a page on which mappings are typed.
//! * `visa port` rewrites kernels in the spelling of `furiosa-opt-std`, and back.
//! * `visa plan` finds the mapping of a contraction, and writes it as a kernel.
//! * `visa route` lists the ways from one layout to another, with their cycles and calls.
//! * The other commands read mappings as `m![…]` does, show the configurations that follow from them, compare traces, and
//!   print the guide: [`tool`].
//!
//! Exit codes: 0 done; of `check`, `new` and `playground` 101 refused, as cargo says it; of the others 1 if a file could not be
//! written, or if `port --check` finds a change, 2 if the input is refused, 130 if a search was stopped.

#![deny(clippy::unwrap_used)]

mod check;
// A link to the module of the library: its texts are printed here.
mod guide;
mod new;
mod notation;
mod playground;
mod port;
pub mod tool;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs the command that the arguments of this program name.
pub fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if std::env::var_os(check::wrapper::VARIABLE).is_some() {
        return check::wrapper::run(&arguments);
    }
    // Cargo starts `cargo-visa visa …`.
    if arguments.first().is_some_and(|first| first == "visa") {
        arguments.remove(0);
    }
    let command = arguments.first().and_then(|command| command.to_str());
    let is_asked = arguments.iter().any(|argument| argument == "--help" || argument == "-h");
    if matches!(command, Some("plan" | "new")) {
        tool::attend();
    }
    let done = match command {
        Some("check") if !is_asked => check::run(&arguments[1..]),
        Some("playground") if !is_asked => playground::run(lexopt::Parser::from_args(&arguments[1..])),
        Some("new") if !is_asked => new::run(lexopt::Parser::from_args(&arguments[1..])),
        _ => return printed(tool::run(arguments)),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(101)
    })
}

fn printed(output: tool::Output) -> ExitCode {
    let mut code = output.code;
    for (path, content) in output.file.iter().chain(&output.rewritten) {
        let made = output.folder.as_ref().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = made.and_then(|()| std::fs::write(path, content)) {
            // A message that cannot be printed has no reader, so the error is ignored.
            let _ = writeln!(std::io::stderr(), "error: `{}` cannot be written: {error}", path.display());
            code = 1;
        }
    }
    // The reader of a pipe may close it early, as `head` does, which is no mistake of this program.
    let _ = std::io::stdout().write_all(output.stdout.as_bytes());
    let _ = std::io::stderr().write_all(output.stderr.as_bytes());
    ExitCode::from(code)
}
