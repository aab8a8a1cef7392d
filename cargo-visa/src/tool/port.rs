//! `visa port`: files in the other spelling.

use super::arguments::{Once, shown};
use super::table::printable;
use super::{Output, PORT_HELP, Refusal};
use crate::port::{Ported, Spelling, ported};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

/// The most bytes of a file: far more than a source has, but few enough to read at once.
const MOST_BYTES: u64 = 1 << 24;

/// `visa port FILE… [--to later|seed] [--write | --check]`.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut files, mut to): (Vec<OsString>, _) = (Vec::new(), Once::new("--to"));
    let (mut writes, mut checks) = (false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(PORT_HELP)),
            Long("to") => to.set(parser.value()?)?,
            Long("write") => writes = true,
            Long("check") => checks = true,
            Value(file) => files.push(file),
            other => return Err(other.unexpected().into()),
        }
    }
    let to = match to.text()? {
        None => None,
        Some("later") => Some(Spelling::Later),
        Some("seed") => Some(Spelling::Seed),
        Some(other) => {
            let other = shown(OsStr::new(other));
            return Err(
                format!("--to: `{other}` is no spelling; the spellings are `later` and `seed`").into()
            );
        }
    };
    if writes && checks {
        return Err("`--write` and `--check` exclude each other; give one of them".into());
    }
    if files.is_empty() {
        return Err("the file is missing; write for example visa port src/main.rs".into());
    }
    // All files are read before one is written.
    let mut output = Output::default();
    for file in &files {
        let (old, ported) = read(file, to)?;
        let name = printable(&file.to_string_lossy());
        output.stderr += &ported.report(&name, &old);
        if ported.edits() == 0 {
            continue;
        }
        match (writes, checks) {
            (false, false) => output.stdout += &ported.difference(&name, &old),
            (false, true) => {
                output.stdout += &format!("{name} would change\n");
                output.code = 1;
            }
            (true, _) => {
                let (edits, places) = (counted(ported.edits(), "edit"), counted(ported.places(), "place"));
                output.stdout += &format!("{name}: {edits}, {places} left to you\n");
                output.rewritten.push((PathBuf::from(file), ported.text(&old)));
            }
        }
    }
    Ok(output)
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The text of a file, and what becomes of it.
fn read(file: &OsStr, to: Option<Spelling>) -> Result<(String, Ported), Refusal> {
    let name = shown(file);
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| Refusal(format!("`{name}` cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Refusal(format!("`{name}` has more than {MOST_BYTES} bytes, and no source has")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Refusal(format!("`{name}` is no UTF-8 text: the byte {place} is the first that is none"))
    })?;
    let ported = ported(&text, to).map_err(|error| Refusal(format!("`{name}`: {}", printable(&error))))?;
    Ok((text, ported))
}
