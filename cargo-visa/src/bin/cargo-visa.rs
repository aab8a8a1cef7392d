//! `visa` and `cargo visa`. Everything is in the library of this package, which is compiled once for both names.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_visa::main()
}
