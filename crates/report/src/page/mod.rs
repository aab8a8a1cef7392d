//! A run as one page: timeline, sums by line, memories, roofline, and details of each item that is clicked.
//!
//! The page is one file. It loads nothing: its policy forbids it to the browser. Operations are columns of numbers with
//! an entry per different description, and the page draws only what can be seen, so that 100 000 slices move fluently.

mod columns;

use super::hints::Hint;
use super::trace::{Run, RunOperation, Whole, channels_of, critical_paths};
use columns::{Columns, in_script};
use furiosa_visa_clock::ledger::Ledger;
use furiosa_visa_clock::record::{Observer, Record, Timing};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("data.js"),
    include_str!("timeline.js"),
    include_str!("panels.js"),
    include_str!("main.js"),
];

/// Maximum number of operations of a page. Of a longer run it has the first ones, and says so.
pub const SHOWN: u64 = 100_000;

/// Tells if two names mean one existing file, also by a link. A page must not replace the trace of its run. Devices are
/// no files: they take both.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(a), Ok(b)) = (one.metadata(), other.metadata()) else { return false };
    if !a.is_file() || !b.is_file() {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }
    #[cfg(not(unix))]
    {
        // Hard links are not detected.
        matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
    }
}

/// The page of a run. `made`: when it ran, if that is known.
pub fn of_run(run: &Run, title: &str, made: Option<SystemTime>) -> String {
    let mut columns = Columns::default();
    run.operations.iter().take(SHOWN as usize).for_each(|operation| columns.add(operation));
    let last = run.operations.get(SHOWN as usize).map_or(u64::MAX, |operation| operation.number);
    let channels = run.channels.iter().filter(|channel| channel.operation < last);
    channels.for_each(|channel| columns.add_channel(channel.clone()));
    let path: Vec<u64> = run.critical_paths().iter().flatten().map(|operation| operation.number).collect();
    let mut page = Vec::new();
    write(&mut page, (title, made), &columns, &path, &run.summary).expect("memory takes all that is written");
    String::from_utf8(page).expect("it is made of texts")
}

/// Writes a page.
fn write(
    out: &mut dyn Write,
    (title, made): (&str, Option<SystemTime>),
    columns: &Columns,
    path: &[u64],
    summary: &Value,
) -> io::Result<()> {
    let heading = title.replace('&', "&amp;").replace('<', "&lt;");
    let parts: [(&str, &dyn Fn(&mut dyn Write) -> io::Result<()>); 4] = [
        ("@title@", &|out| write!(out, "{heading}")),
        ("@style@", &|out| write!(out, "{STYLE}")),
        ("@script@", &|out| SCRIPTS.iter().try_for_each(|script| write!(out, "{script}"))),
        ("@data@", &|out| {
            let seconds =
                made.and_then(|made| made.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
            let (title, made) = (in_script(&title.into()), Value::from(seconds));
            write!(out, "{{\"title\":{title},\"made\":{made},\"path\":{},", Value::from(path))?;
            columns.write(out)?;
            write!(out, ",\"summary\":{}}}", in_script(summary))
        }),
    ];
    let mut rest = PAGE;
    // In the order of the page, so that no mark is searched in a text that was put in.
    for (mark, part) in parts {
        let (before, after) = rest.split_once(mark).expect("the page has each mark once, in order");
        write!(out, "{before}")?;
        part(out)?;
        rest = after;
    }
    write!(out, "{rest}")
}

/// Writes a page when the run ends.
pub struct PageWriter {
    path: PathBuf,
    columns: Columns,
    whole: Whole,
}

impl PageWriter {
    /// A page at this path.
    pub fn new(path: PathBuf) -> Self {
        Self { path, columns: Columns::default(), whole: Whole::default() }
    }
}

impl Observer for PageWriter {
    fn ended(&mut self, record: &Record) {
        // Operations that no page shows are not kept.
        if self.columns.len() as u64 >= SHOWN {
            return;
        }
        self.columns.add(&RunOperation::of(record));
        self.whole.ended(record);
        if let Timing::Dma(dma) = &record.timing
            && let Some(time) = &dma.time
            && self.whole.takes_channels(record.number, time)
        {
            let used = time.hbm.iter().filter(|(_, served)| served.ticks > 0);
            let channels = used.flat_map(|(chip, served)| channels_of(record, *chip, served));
            channels.for_each(|channel| self.columns.add_channel(channel));
        }
    }

    fn finish(&mut self, ledger: &Ledger, hints: &[Hint]) {
        self.columns.sort();
        let links = self.columns.links();
        let launches = ledger.kernels.iter().map(|kernel| (kernel.call.number, kernel.end));
        let paths = critical_paths(&links, launches);
        let path: Vec<u64> = paths.into_iter().flatten().map(|place| links[place].number).collect();
        let summary = self.whole.summary(ledger, hints);
        let title = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let written = File::create(&self.path).and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out, (&title, Some(SystemTime::now())), &self.columns, &path, &summary)?;
            out.flush()
        });
        if let Err(error) = written {
            // If that stream is full or closed, too, the message is lost.
            let _ = writeln!(io::stderr(), "{} is not written: {error}", self.path.display());
        }
    }
}
