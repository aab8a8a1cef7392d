//! Traces that `visa diff` and `visa html` read.

use super::Refusal;
use super::arguments::shown;
use super::table::printable;
use furiosa_visa_report::trace::{MOST_BYTES, Run};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

/// Maximum number of bytes that are read of a file: those of the operations of a trace, and as many for the rest.
const MOST_READ: u64 = 2 * MOST_BYTES;

/// Reads a trace from a file.
pub fn read(path: &OsStr) -> Result<Run, Refusal> {
    let name = shown(path);
    let text = File::open(path).and_then(|file| text_of(file, MOST_READ)).map_err(|error| {
        Refusal(format!("`{name}` cannot be read: {error}; help: `VISA_TRACE={name}` has a program write it"))
    })?;
    Run::parse(&text).map_err(|error| {
        Refusal(format!(
            "`{name}` is no trace of this version: {}; help: run the program with `VISA_TRACE={name}`, to its end",
            printable(&error)
        ))
    })
}

/// The whole text, if it is not too long. A file that is no trace, such as a device of zeros, is not read to its end.
fn text_of(mut file: impl Read, most: u64) -> io::Result<String> {
    let mut text = String::new();
    file.by_ref().take(most).read_to_string(&mut text)?;
    if file.read(&mut [0])? > 0 {
        return Err(io::Error::other(format!("it has more than {most} bytes, and no trace has")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_not_read() {
        assert_eq!(text_of(&b"1234"[..], 4).expect("it fits"), "1234");
        let error = text_of(&b"12345"[..], 4).expect_err("one byte too many");
        assert_eq!(error.to_string(), "it has more than 4 bytes, and no trace has");
        let error = text_of(io::repeat(b' '), 100).expect_err("it has no end");
        assert_eq!(error.to_string(), "it has more than 100 bytes, and no trace has");
    }
}
