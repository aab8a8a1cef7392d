//! `visa explain`: the derivation of a read, in words.

use super::arguments::Once;
use super::{EXPLAIN_HELP, Output, Refusal};
use furiosa_visa_rules::engine::fetch::FetchRequest;
use furiosa_visa_rules::explain::{explain_fetch, explain_read};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::{Window, check_windows};

/// The most elements of a stream: its number of bits must fit a `usize`.
const MAX_STREAM: usize = 1 << if usize::BITS < 64 { 26 } else { 40 };

/// Runs the command. `parser` is placed after its name.
pub fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short};
    let (mut axes, mut buf) = (Once::new("--axes"), Once::new("--buf"));
    let (mut time, mut packet) = (Once::new("--time"), Once::new("--packet"));
    let (mut dtype, mut to) = (Once::new("--dtype"), Once::new("--to"));
    let (mut windows, mut sub_context) = (Once::new("--windows"), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Output::text(EXPLAIN_HELP)),
            Long("axes") => axes.set(parser.value()?)?,
            Long("buf") => buf.set(parser.value()?)?,
            Long("time") => time.set(parser.value()?)?,
            Long("packet") => packet.set(parser.value()?)?,
            Long("dtype") => dtype.set(parser.value()?)?,
            Long("to") => to.set(parser.value()?)?,
            Long("windows") => windows.set(parser.value()?)?,
            Long("sub") => sub_context = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let axes = axes.axes()?;
    let (element, time, packet) = (buf.mapping(&axes)?, time.mapping(&axes)?, packet.mapping(&axes)?);
    let input = dtype.element_type(true)?.unwrap_or(ElementType::I8);
    if !input.is_stored() {
        return Err(
            format!("--dtype: no memory holds {input}; name the stored type, and {input} with --to").into()
        );
    }
    let to = to.element_type(false)?;
    let (casts, output) = (to.is_some(), to.unwrap_or(input));
    if !input.fetch_outputs().contains(&output) {
        let outputs: Vec<&str> = input.fetch_outputs().iter().map(|dtype| dtype.name()).collect();
        let outputs = outputs.join(", ");
        return Err(format!("--to: a fetch does not cast {input} to {output}; it gives {outputs}").into());
    }
    check_stream(time, packet)?;
    let windows = windows.text()?.map_or(Ok(Vec::new()), |text| windows_of(text, &axes))?;
    let windows: &'static [Window] = Box::leak(windows.into_boxed_slice());
    check_windows(element, &[], windows)?;
    let request =
        FetchRequest { sub_context, windows, ..FetchRequest::new(input, output, element, time, packet) };
    // A cast, windows and the sub context need a fetch.
    let explanation = if casts || sub_context || !windows.is_empty() {
        explain_fetch("read", &request)?
    } else {
        explain_read(element, time, packet, input)?
    };
    let output = Output::text(explanation.to_string());
    match explanation.limited.as_ref().err().or(explanation.refusal.as_ref()) {
        None => Ok(output),
        Some(error) => Ok(output.refused(error.message())),
    }
}

/// Windows in the notation of the call, one after another: `H, OH, KH, 1, 1; W, OW, KW, 2, 1`.
fn windows_of(text: &str, axes: &Axes) -> Result<Vec<Window>, Refusal> {
    let mapping =
        |text: &str| parse_mapping(text, axes).map_err(|error| Refusal(format!("--windows: {error}")));
    let step = |text: &str| {
        text.trim()
            .parse()
            .map_err(|_| Refusal(format!("--windows: `{}` is no number of steps", text.trim())))
    };
    let one = |text: &str| match text.split(',').collect::<Vec<_>>()[..] {
        [input, output, window, stride, dilation] => Ok(Window {
            input: mapping(input)?,
            output: mapping(output)?,
            window: mapping(window)?,
            stride: step(stride)?,
            dilation: step(dilation)?,
        }),
        _ => Err(Refusal(format!(
            "--windows: `{}` is not input, output, window, stride and dilation; write for example 'H, OH, KH, 1, 1'",
            text.trim()
        ))),
    };
    text.split(';').map(one).collect()
}

fn check_stream(time: &Expr, packet: &Expr) -> Result<(), Refusal> {
    let (Ok(steps), Ok(elements)) = (time.checked_size(), packet.checked_size()) else {
        return Err("--time, --packet: the sizes are not defined".into());
    };
    match steps.checked_mul(elements) {
        Some(size) if size <= MAX_STREAM => Ok(()),
        _ => Err(format!(
            "--time, --packet: {steps} packets of {elements} elements are too many; a stream has at most \
             {MAX_STREAM} elements"
        )
        .into()),
    }
}
