//! `visa`: reads mappings as `m![…]` does and shows what the library derives from them.
//!
//! Exit codes: 0 done, 1 a file could not be written, 2 the input is refused.

mod tool;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let output = tool::run(std::env::args_os().skip(1));
    let mut code = output.code;
    if let Some((path, content)) = &output.file
        && let Err(error) = std::fs::write(path, content)
    {
        // A message that cannot be printed has no reader: nothing is left to do about it.
        let _ = writeln!(std::io::stderr(), "error: `{}` cannot be written: {error}", path.display());
        code = 1;
    }
    // Whoever reads a pipe may close it early, as `head` does; that is no mistake of this program.
    let _ = std::io::stdout().write_all(output.stdout.as_bytes());
    let _ = std::io::stderr().write_all(output.stderr.as_bytes());
    ExitCode::from(code)
}
