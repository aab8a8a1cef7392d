//! Traces that `visa diff` and `visa html` read.

use super::Refusal;
use super::arguments::shown;
use furiosa_visa_std::clock::trace::Run;
use std::ffi::OsStr;

/// Reads a trace from a file.
pub fn read(path: &OsStr) -> Result<Run, Refusal> {
    let name = shown(path);
    let text = std::fs::read_to_string(path).map_err(|error| {
        Refusal(format!("`{name}` cannot be read: {error}; help: `VISA_TRACE={name}` has a program write it"))
    })?;
    Run::parse(&text).map_err(|error| {
        Refusal(format!(
            "`{name}` is no trace of this version: {error}; help: run the program with `VISA_TRACE={name}`, to its end"
        ))
    })
}
