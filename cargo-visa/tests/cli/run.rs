//! Runs the tool `visa` in this process.

pub use cargo_visa::tool;
use std::ffi::OsString;

/// Runs the tool in this process.
pub fn run<S: AsRef<str>>(arguments: &[S]) -> tool::Output {
    tool::run(arguments.iter().map(|argument| OsString::from(argument.as_ref())))
}

/// The arguments of `visa explain`.
pub fn explain(axes: &str, buf: &str, time: &str, packet: &str, more: &[&str]) -> Vec<String> {
    let given = ["explain", "--axes", axes, "--buf", buf, "--time", time, "--packet", packet];
    given.iter().chain(more).map(ToString::to_string).collect()
}

/// Checks what holds for every run: a code that is known, and a message exactly where something is refused.
#[track_caller]
pub fn check(arguments: &[String], output: &tool::Output) {
    match output.code {
        0 => assert!(output.stderr.is_empty() && !output.stdout.is_empty(), "{arguments:?}: {output:?}"),
        2 => {
            assert!(output.stderr.starts_with("error: "), "{arguments:?}: {output:?}");
            assert!(output.stderr.len() < 4096, "{arguments:?}: {output:?}");
            assert!(output.file.is_none(), "{arguments:?}: {output:?}");
        }
        code => panic!("{arguments:?}: code {code}"),
    }
}
