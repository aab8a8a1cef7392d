//! What a context tells about itself when it ends: reports, maps and traces of programs that stay as they are. The
//! variables are those of [`environment`](super::environment).

use super::System;
use crate::chip::{SdkNote, SdkReport};
use crate::clock::Allocations;
use crate::clock::page::{PageWriter, is_same_file};
use crate::clock::trace::TraceWriter;
use core::panic::Location;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Systems that write a trace, of this process.
static TRACED: AtomicUsize = AtomicUsize::new(0);

/// Systems that write a report for tools, of this process.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

/// Systems that write a page, of this process.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

/// How much of a report is printed.
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

/// What is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    /// How much of the report is printed.
    pub(super) report: Told,
    /// The memory map is printed.
    pub(super) map: bool,
    /// A report for tools is written to this file.
    pub(super) json: Option<PathBuf>,
    /// A trace is written to this file.
    pub(super) trace: Option<PathBuf>,
    /// A page is written to this file.
    pub(super) html: Option<PathBuf>,
}

/// Prints what is asked for of a system that ends.
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

/// Prints to the standard error stream. Where that is full or closed, nobody reads it: a program that was right stays so.
pub(super) fn say(text: &impl core::fmt::Display) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Lines of this process that were warned of.
static WARNED: Mutex<BTreeSet<(&'static Location<'static>, SdkReport)>> = Mutex::new(BTreeSet::new());

/// Warns of lines that nobody was warned of before.
pub(super) fn warn(notes: &[SdkNote]) {
    for note in notes {
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = warned.insert((note.location, note.report));
        drop(warned);
        if is_new {
            super::progress::above(|| say(&note.warning()));
        }
    }
}

/// Has a new system write its trace, its page and its report for tools.
///
/// # Panics
/// Where a file cannot be made, or two are one.
pub(super) fn attach(system: &mut System, output: &mut Output) {
    let mut taken: Vec<(&str, &str, PathBuf)> = Vec::new();
    // Better now than when the run has ended.
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

/// `trace.json`, and for the second context of a process `trace.2.json`.
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
