//! `visa html`: a trace as one page for a browser.

use super::arguments::{Once, shown};
use super::{HTML_HELP, Output, Refusal, traces};
use furiosa_visa_report::page;
use std::path::{Path, PathBuf};

/// `visa html trace.json -o run.html`.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut trace, mut file) = (Once::new("trace"), Once::new("--output"));
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(HTML_HELP)),
            Short('o') | Long("output") => file.set(parser.value()?)?,
            Value(value) => trace.set(value)?,
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(trace) = trace.raw() else {
        return Err("the trace is missing; write for example visa html trace.json -o run.html".into());
    };
    let path = file.raw().map_or_else(|| Path::new(&trace).with_extension("html"), PathBuf::from);
    if path.as_os_str().is_empty() {
        return Err("--output: the name of the file is empty".into());
    }
    let title = Path::new(&trace).file_stem().unwrap_or(&trace).to_string_lossy().into_owned();
    let run = traces::read(&trace)?;
    if page::is_same_file(Path::new(&trace), &path) {
        return Err(Refusal(format!(
            "--output: the page would replace the trace `{}`; name another file, for example visa html {} -o page.html",
            path.display(),
            shown(&trace)
        )));
    }
    let made = std::fs::metadata(&trace).and_then(|trace| trace.modified()).ok();
    let page = page::of_run(&run, &title, made);
    let mut output = Output::text(format!("wrote {}\n", path.display()));
    output.file = Some((path, page));
    Ok(output)
}
