//! `visa map`: the coordinates at each position of a mapping.

use super::arguments::Once;
use super::{MAP_HELP, Output, Refusal};
use furiosa_visa_report::layout::Layout;
use std::path::PathBuf;

/// The most cells per row that a user may request.
const MAX_COLUMNS: usize = 1024;
/// Width of a row of cells in pixels, more or less.
const WIDTH: usize = 1920;

/// Runs the command. `parser` is placed after its name.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let (mut mapping, mut axes) = (Once::new("MAPPING"), Once::new("--axes"));
    let (mut file, mut columns) = (Once::new("--svg"), Once::new("--columns"));
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(MAP_HELP)),
            Long("axes") => axes.set(parser.value()?)?,
            Long("svg") => file.set(parser.value()?)?,
            Long("columns") => columns.set(parser.value()?)?,
            Value(value) => mapping.set(value)?,
            other => return Err(other.unexpected().into()),
        }
    }
    let axes = axes.axes()?;
    let layout = Layout::new(mapping.mapping(&axes)?, columns.number(MAX_COLUMNS)?)?;
    let mut output = Output::text(layout.grid());
    if let Some(path) = file.raw() {
        if path.is_empty() {
            return Err("--svg: the name of the file is empty".into());
        }
        let path = PathBuf::from(path);
        let drawing = layout.svg(WIDTH).map_err(|error| format!("--svg: {error}"))?;
        output.stdout.push_str(&format!("\nwrote {}\n", path.display()));
        output.file = Some((path, drawing));
    }
    Ok(output)
}
