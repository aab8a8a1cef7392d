//! `furiosa-visa-models`: text of a language model that the simulated chip computes.

use furiosa_visa_models::chip::network::ChipModel;
use furiosa_visa_models::command::{Streams, run};
use std::io::{stderr, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Other threads write to the standard error too: of the outputs none is locked.
    let (mut input, mut output, mut errors) = (stdin().lock(), stdout(), stderr());
    let mut streams = Streams { input: &mut input, output: &mut output, errors: &mut errors };
    let arguments = std::env::args_os().skip(1);
    ExitCode::from(run(arguments, &mut streams, ChipModel::open))
}
