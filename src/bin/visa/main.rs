//! `visa`: reads mappings as `m![…]` does and shows the results that the library derives from them.
//!
//! Exit codes: 0 for success, 1 if a file could not be written, 2 if the input is refused.

mod tool;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let output = tool::run(std::env::args_os().skip(1));
    let mut code = output.code;
    if let Some((path, content)) = &output.file
        && let Err(error) = std::fs::write(path, content)
    {
        // A message that cannot be printed has no reader, so the error is ignored.
        let _ = writeln!(std::io::stderr(), "error: `{}` cannot be written: {error}", path.display());
        code = 1;
    }
    // The reader of a pipe may close it early, as `head` does, which is no mistake of this program.
    let _ = std::io::stdout().write_all(output.stdout.as_bytes());
    let _ = std::io::stderr().write_all(output.stderr.as_bytes());
    ExitCode::from(code)
}
