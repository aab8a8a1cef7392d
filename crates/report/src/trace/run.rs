//! A trace that is read back: `visa diff` compares it, and a page shows it.

use super::operation;
use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::sorting;
use serde_json::Value;
use std::collections::HashMap;

/// An operation of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOperation {
    /// Its number, from 0.
    pub number: u64,
    /// The call and the tensor that it writes, as the timeline shows it.
    pub name: String,
    /// The call, for example `commit`.
    pub operation: String,
    /// File and line.
    pub line: String,
    /// The kernel.
    pub kernel: String,
    /// Number of its launch in the run. 0 if no kernel gave it.
    pub launch: u64,
    /// Context that ran it: `main`, `sub`, `tdma` or `pdma`.
    pub context: String,
    /// Part that sets the pace.
    pub bound: String,
    /// Its first cycle.
    pub start: u64,
    /// Cycles from start to end.
    pub cycles: u64,
    /// The operation that it waited for last.
    pub waited_for: Option<u64>,
    /// All facts of the trace about it.
    pub args: Value,
}

impl RunOperation {
    /// Operation of a trace, from the record of one that has ended.
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            number: record.number,
            name: operation::name(record),
            operation: record.operation.to_string(),
            line: operation::line(record),
            kernel: operation::kernel_name(record.kernel).to_string(),
            launch: record.kernel.number,
            context: record.context.to_string(),
            bound: record.timing.bottleneck().to_string(),
            start: record.start,
            cycles: record.cycles(),
            waited_for: record.wait.map(|wait| wait.on()),
            args: operation::args(record),
        }
    }

    /// The first cycle after it.
    pub fn end(&self) -> u64 {
        self.start + self.cycles
    }
}

/// A launch of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKernel {
    /// The name.
    pub name: String,
    /// Number of the launch in the run.
    pub launch: u64,
    /// The first cycle of its first operation.
    pub start: u64,
    /// The end of its last operation.
    pub end: u64,
}

impl RunKernel {
    /// Cycles from the start of its first operation to the end of its last one.
    pub fn makespan(&self) -> u64 {
        self.end - self.start
    }
}

/// Work of a channel of HBM for an operation of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChannel {
    /// The operation.
    pub operation: u64,
    /// The chip.
    pub chip: u64,
    /// The channel of the chip: 0 to 31. Stack 0 comes first.
    pub channel: u64,
    /// Its first busy cycle.
    pub start: u64,
    /// Cycles from there to the end of its last busy cycle.
    pub cycles: u64,
    /// Ticks of 1/3 cycle for which it was busy.
    pub busy_ticks: u64,
    /// Bytes that were requested from it.
    pub bytes: u64,
}

/// A trace that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Operations by number.
    pub operations: Vec<RunOperation>,
    /// Channels of HBM, in the order of the trace.
    pub channels: Vec<RunChannel>,
    /// Launches in order.
    pub kernels: Vec<RunKernel>,
    /// The last cycle.
    pub cycles: u64,
    /// All facts of the trace about the whole run.
    pub summary: Value,
}

fn number(value: &Value, key: &str) -> Result<u64, String> {
    value[key].as_u64().ok_or_else(|| format!("`{key}` is not a number in {}", short(value)))
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    value[key].as_str().map(str::to_string).ok_or_else(|| format!("`{key}` is not text in {}", short(value)))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], String> {
    value[key].as_array().map(Vec::as_slice).ok_or_else(|| format!("there is no list `{key}`"))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Run {
    /// Reads a trace that [`TraceWriter`](super::TraceWriter) has written to its end.
    ///
    /// # Errors
    /// Text that names the missing part.
    pub fn parse(json: &str) -> Result<Self, String> {
        let mut trace: Value =
            json.parse().map_err(|error: serde_json::Error| match error.is_eof() {
                true => "it is cut: the program that wrote it was stopped before the end, by a second Ctrl-C or a full \
                         disk for example"
                    .to_string(),
                false => format!("it is not JSON: {error}"),
            })?;
        // A list has no members that could be taken out.
        let summary = trace.get_mut("visa").map(Value::take).unwrap_or_default();
        if summary["format"] != 1 {
            return Err("it has no `visa` with `\"format\": 1`, which this version writes".to_string());
        }
        let Some(Value::Array(events)) = trace.get_mut("traceEvents").map(Value::take) else {
            return Err("there is no list `traceEvents`".to_string());
        };
        let operation = |mut event: Value| -> Result<RunOperation, String> {
            let args = event.get_mut("args").map(Value::take).unwrap_or_default();
            let (start, cycles) = (number(&event, "ts")?, number(&event, "dur")?);
            if start.checked_add(cycles).is_none() {
                return Err(format!("`dur` is too long in {}", short(&event)));
            }
            Ok(RunOperation {
                number: number(&args, "op")?,
                name: text(&event, "name")?,
                operation: text(&args, "operation")?,
                line: text(&args, "line")?,
                kernel: text(&args, "kernel")?,
                launch: number(&args, "launch")?,
                context: text(&args, "context")?,
                bound: text(&args, "bound by")?,
                start,
                cycles,
                waited_for: args["waited for op"].as_u64(),
                args,
            })
        };
        let channel = |event: &Value| -> Result<RunChannel, String> {
            let args = &event["args"];
            Ok(RunChannel {
                operation: number(args, "op")?,
                chip: number(args, "chip")?,
                channel: number(args, "channel")?,
                start: number(event, "ts")?,
                cycles: number(event, "dur")?,
                busy_ticks: number(args, "busy ticks")?,
                bytes: number(args, "bytes")?,
            })
        };
        let slices =
            |category: &'static str| move |event: &&Value| event["ph"] == "X" && event["cat"] == category;
        let channels = events.iter().filter(slices("HBM channel")).map(channel).collect::<Result<_, _>>()?;
        let events = events.into_iter().filter(|event| slices("operation")(&event));
        let mut operations = events.map(operation).collect::<Result<Vec<_>, _>>()?;
        sorting::by_key(&mut operations, |operation| operation.number);
        let kernel = |value: &Value| -> Result<RunKernel, String> {
            let (start, end) = (number(value, "start")?, number(value, "end")?);
            if end < start {
                return Err(format!("a kernel ends before it starts in {}", short(value)));
            }
            Ok(RunKernel { name: text(value, "name")?, launch: number(value, "launch")?, start, end })
        };
        let kernels = list(&summary, "kernels")?.iter().map(kernel).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { operations, channels, kernels, cycles: number(&summary, "cycles")?, summary })
    }

    /// The operations that decide the end of each kernel, first to last, as
    /// [`Report::critical_path`](crate::Report::critical_path) finds them.
    pub fn critical_paths(&self) -> Vec<Vec<&RunOperation>> {
        let link = |operation: &RunOperation| {
            let RunOperation { number, launch, waited_for, .. } = *operation;
            Link { number, launch, end: operation.end(), waited_for, is_host: operation.context == "pdma" }
        };
        let links: Vec<Link> = self.operations.iter().map(link).collect();
        let paths = critical_paths(&links, self.kernels.iter().map(|kernel| (kernel.launch, kernel.end)));
        paths.iter().map(|path| path.iter().map(|place| &self.operations[*place]).collect()).collect()
    }
}

/// Facts about an operation that a critical path needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Its number.
    pub number: u64,
    /// Its launch.
    pub launch: u64,
    /// The first cycle after it.
    pub end: u64,
    /// The operation that it waited for last.
    pub waited_for: Option<u64>,
    /// True if the host's context ran it.
    pub is_host: bool,
}

/// The operations that decide the end of each launch, first to last, as indices of the operations. A launch is given by
/// its number and its end.
pub(crate) fn critical_paths(
    operations: &[Link],
    launches: impl Iterator<Item = (u64, u64)>,
) -> Vec<Vec<usize>> {
    let by_number: HashMap<u64, usize> =
        operations.iter().enumerate().map(|(place, link)| (link.number, place)).collect();
    // Kernels follow each other, so each has the operations that end with it.
    let mut last_of: HashMap<(u64, u64), usize> = HashMap::new();
    for (place, link) in operations.iter().enumerate().filter(|(_, link)| !link.is_host) {
        last_of.insert((link.launch, link.end), place);
    }
    let path = |(launch, end)| {
        let mut path: Vec<usize> = last_of.get(&(launch, end)).copied().into_iter().collect();
        while let Some(&last) = path.last()
            && let Some(before) = operations[last].waited_for.and_then(|before| by_number.get(&before))
        {
            let link = &operations[*before];
            // An operation waits for an earlier one.
            if link.launch != launch || link.is_host || link.number >= operations[last].number {
                break;
            }
            path.push(*before);
        }
        path.reverse();
        path
    };
    launches.map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trace_is_refused() {
        let refused = |text: &str| Run::parse(text).expect_err("no trace");
        assert!(refused("}").starts_with("it is not JSON: "));
        for text in ["", "{", r#"{"traceEvents":[{"ph":"X","na"#, r#"{"traceEvents":[]"#] {
            assert!(refused(text).starts_with("it is cut: "), "{text}: {}", refused(text));
        }
        for text in ["[]", "{}", r#"{"traceEvents":[],"visa":{"format":2}}"#] {
            assert!(refused(text).contains("no `visa`"), "{text}: {}", refused(text));
        }
        assert!(refused(r#"{"visa":{"format":1}}"#).contains("traceEvents"));
        assert!(refused(r#"{"traceEvents":[],"visa":{"format":1}}"#).contains("`kernels`"));
        let event = r#"{"traceEvents":[{"ph":"X","cat":"operation","ts":0,"dur":1,"name":"a","args":{"op":1}}],
            "visa":{"format":1,"cycles":1,"kernels":[]}}"#;
        assert!(refused(event).starts_with("`operation` is not text in "), "{}", refused(event));
        let empty = r#"{"traceEvents":[],"visa":{"format":1,"cycles":0,"kernels":[]}}"#;
        assert_eq!(Run::parse(empty).map(|run| run.operations.len()), Ok(0));
    }
}
