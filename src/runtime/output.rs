//! Output of a context when it ends: reports, maps and traces, without a change to the program. The variables are those
//! of [`environment`](super::environment).

use super::System;
use crate::chip::{SdkNote, SdkReport};
use crate::clock::Allocations;
use crate::clock::page::{PageWriter, is_same_file};
use crate::clock::trace::TraceWriter;
use core::panic::Location;
use litemap::LiteMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of systems of this process that write a trace.
static TRACED: AtomicUsize = AtomicUsize::new(0);

/// Number of systems of this process that write a report for tools.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

/// Number of systems of this process that write a page.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

/// The part of a report that is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing.
    #[default]
    Nothing,
    /// Headline and hints.
    Short,
    /// All tables.
    Full,
}

/// Output that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    /// The part of the report that is printed.
    pub(super) report: Told,
    /// True if the memory map is printed.
    pub(super) map: bool,
    /// File for the report for tools.
    pub(super) json: Option<PathBuf>,
    /// File for the trace.
    pub(super) trace: Option<PathBuf>,
    /// File for the page.
    pub(super) html: Option<PathBuf>,
    /// True if the program stops at each command.
    pub(super) step: bool,
}

impl Output {
    /// True if there is output when a context ends.
    pub(super) fn tells(&self) -> bool {
        *self != Self { step: self.step, ..Self::default() }
    }
}

/// Prints the output of a system that ends.
pub(super) fn tell(system: &mut System, output: &Output, allocations: [Allocations<'_>; 3]) {
    match output.report {
        Told::Nothing => {}
        Told::Short => say(&system.report()),
        Told::Full => say(&system.report().full()),
    }
    if output.map {
        say(&system.memory_map_with(allocations));
    }
    if let Some(path) = &output.json
        && let Err(error) = std::fs::write(path, system.report().to_json())
    {
        say(&format!("VISA_JSON={}: {error}", path.display()));
    }
}

/// Prints to the standard error stream. Errors are ignored: a full or closed stream must not fail a correct program.
pub(super) fn say(text: &impl core::fmt::Display) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Lines of this process that have been warned about.
static WARNED: Mutex<LiteMap<(&'static Location<'static>, SdkReport), ()>> = Mutex::new(LiteMap::new_vec());

/// Warns about lines that have not been warned about yet.
pub(super) fn warn(notes: &[SdkNote]) {
    for note in notes {
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = warned.insert((note.location, note.report), ()).is_none();
        drop(warned);
        if is_new {
            super::progress::above(|| say(&note.warning()));
        }
    }
}

/// Makes a new system write its trace, its page and its report for tools.
///
/// # Panics
/// If a file cannot be made, or two are the same one.
pub(super) fn attach(system: &mut System, output: &mut Output) {
    let mut taken: Vec<(&str, &str, PathBuf)> = Vec::new();
    // Fail now rather than when the run has ended.
    let mut take = |variable: &'static str, what: &'static str, path: &Path, count: &AtomicUsize| {
        let path = numbered(path, 1 + count.fetch_add(1, Ordering::Relaxed));
        let file = made(variable, &path);
        if let Some((other, that, there)) = taken.iter().find(|(.., there)| is_same_file(there, &path)) {
            panic!(
                "{variable}={}: {what} would replace {that}, {other}={}; help: name two files",
                path.display(),
                there.display()
            );
        }
        taken.push((variable, what, path.clone()));
        (file, path)
    };
    if let Some(path) = &output.trace {
        let (file, _) = take("VISA_TRACE", "the trace", path, &TRACED);
        system.clock().observe(Box::new(TraceWriter::new(BufWriter::new(file))));
    }
    if let Some(path) = &output.html {
        let (_, path) = take("VISA_HTML", "the page", path, &SHOWN);
        system.clock().observe(Box::new(PageWriter::new(path)));
    }
    if let Some(path) = &mut output.json {
        (_, *path) = take("VISA_JSON", "the report", path, &WRITTEN);
    }
}

fn made(variable: &str, path: &Path) -> File {
    File::create(path).unwrap_or_else(|error| {
        panic!("{variable}={}: {error}; help: name a file that can be written", path.display())
    })
}

/// The path with a number before its extension: `trace.json`, and `trace.2.json` for the second context of a process.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_path_buf();
    }
    match path.extension() {
        Some(extension) => path.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        None => path.with_extension(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_context_has_a_file_of_its_own() {
        let of = |path: &str, number| numbered(Path::new(path), number).display().to_string();
        assert_eq!(of("out/trace.json", 1), "out/trace.json");
        assert_eq!(of("out/trace.json", 2), "out/trace.2.json");
        assert_eq!(of("trace", 12), "trace.12");
    }
}
