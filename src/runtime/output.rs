//! Reports and traces of unchanged programs: `VISA_REPORT`, `VISA_TRACE`.

use crate::chip::System;
use crate::chip::clock::trace::TraceWriter;
use std::env;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Systems that write a trace, of this process.
static TRACED: AtomicUsize = AtomicUsize::new(0);

/// Has a new system print its report and write its trace as the environment says.
///
/// # Panics
/// Where a variable has a value that means nothing, or the file cannot be made.
pub(super) fn attach(system: &mut System) {
    match env::var("VISA_REPORT").as_deref() {
        Err(_) | Ok("0" | "") => {}
        Ok("1") => system.report_at_end(),
        Ok(other) => panic!(
            "VISA_REPORT={other}: is 1 to print a report when a context ends, or 0; help: use one of them"
        ),
    }
    if let Some(path) = env::var_os("VISA_TRACE").filter(|path| !path.is_empty()) {
        let path = numbered(Path::new(&path), 1 + TRACED.fetch_add(1, Ordering::Relaxed));
        let file = File::create(&path).unwrap_or_else(|error| {
            panic!("VISA_TRACE={}: {error}; help: name a file that can be written", path.display())
        });
        system.clock().observe(Box::new(TraceWriter::new(BufWriter::new(file))));
    }
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
