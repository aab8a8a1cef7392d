//! The trace: a timeline in the JSON that Chrome and Perfetto open, and that `visa html` and `visa diff` read.
//!
//! | in the viewer | content |
//! |---|---|
//! | process `program` | threads `main`, `sub`, `tdma`, `pdma`: a slice per operation; `kernels`: a slice per launch |
//! | process `chip 0` | threads `cluster 0 main fetch`: a stage of a context; `tdma engine 3`; `HBM`; `HBM channel 0.5` |
//! | process `host` | thread `PCIe`: the link while it carries bytes |
//! | arrow | from the operation that was waited for to the one that waited |
//! | counter | bytes of DM per slice that hold a tensor that is still needed |
//!
//! Viewers count in microseconds: 1 µs of the file is 1 cycle of 1 GHz, that is 1 ns on the chip. Whole numbers are
//! exact in every viewer. The file says so under `otherData` and in the names of processes.
//!
//! * The slices of a context are its operations from start to end: their sum is its busy time in the report.
//! * A stage's slice lasts from the first element that comes in to the last one that goes out; `busy cycles` are the
//!   cycles in which it worked. The stages of a pass overlap, and the last one ends with the pass.
//! * Engines and HBM are shown for as long as they take for their part. The operation ends with the slowest part. `HBM`
//!   stands for the channels of a chip together, and lasts as long as the slowest one.
//! * A channel of HBM, stack and number, has a slice per transfer, from its first busy cycle to its last one. `bytes`
//!   and `busy ticks`, of 1/3 cycle, add up to the numbers of the channel in the report. There are at most
//!   [`CHANNEL_SPANS`] of them; transfers without them stand under `left out`. Transfers of the host have none: their
//!   requests are not modelled.
//!
//! Events are written as operations end: the file grows, memory does not. At [`MOST_BYTES`] it ends: operations that
//! follow are only counted, and the count stands under `left out`. Behind the events, under the key `visa`, are
//! kernels, sums, the memory map and the layouts of tensors: see [`Run`].

mod channels;
mod layout;
mod live;
mod operation;
mod run;
mod whole;

pub use channels::CHANNEL_SPANS;
pub(super) use channels::channels_of;
pub(super) use run::{Link, critical_paths};
pub use run::{Run, RunChannel, RunKernel, RunOperation};
pub(super) use whole::Whole;

use super::hints::Hint;
use furiosa_visa_clock::hazards::OperationNumber;
use furiosa_visa_clock::hbm::core_cycles;
use furiosa_visa_clock::ledger::Ledger;
use furiosa_visa_clock::record::{Observer, Record, Timing};
use furiosa_visa_rules::command::{CONTEXTS, ContextKind, MemoryKind};
use furiosa_visa_rules::spec::{CLUSTERS, DMA_ENGINES};
use litemap::LiteMap;
use live::LiveBytes;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

/// A process of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Process {
    Program,
    Chip(usize),
    Host,
}

impl Process {
    /// Number of the process. Viewers keep process 0 for the idle one.
    fn number(self) -> usize {
        match self {
            Process::Program => 1,
            Process::Chip(chip) => 2 + chip,
            Process::Host => 1_000_000,
        }
    }

    fn name(self) -> String {
        match self {
            Process::Program => "program (1 µs shown = 1 cycle of 1 GHz)".to_string(),
            Process::Chip(chip) => format!("chip {chip}"),
            Process::Host => "host".to_string(),
        }
    }
}

/// A thread of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    /// Launches.
    Kernels,
    /// The operations of a context.
    Context(ContextKind),
    /// Cluster, context, and the stage of its passes.
    Stage { cluster: usize, context: ContextKind, stage: usize },
    /// A DMA engine of the chip.
    Dma(usize),
    /// All channels of HBM of the chip.
    Hbm,
    /// One channel of HBM.
    HbmChannel(usize),
    /// The PCIe link.
    Pcie,
}

impl Track {
    fn thread(self) -> usize {
        match self {
            Track::Kernels => 1,
            Track::Context(context) => 2 + context as usize,
            Track::Stage { cluster, context, stage } => {
                1 + (cluster * CONTEXTS + context as usize) * operation::STAGES.len() + stage
            }
            Track::Dma(engine) => 1000 + engine,
            Track::Hbm => 2000,
            Track::Pcie => 2001,
            Track::HbmChannel(channel) => 2002 + channel,
        }
    }

    fn name(self) -> String {
        match self {
            Track::Kernels => "kernels".to_string(),
            Track::Context(context) => context.to_string(),
            Track::Stage { cluster, context, stage } => {
                format!("cluster {cluster} {context} {}", operation::STAGES[stage])
            }
            Track::Dma(engine) => format!("tdma engine {engine}"),
            Track::Hbm => "HBM".to_string(),
            Track::HbmChannel(channel) => channels::channel_name(channel),
            Track::Pcie => "PCIe".to_string(),
        }
    }
}

/// A slice of the viewer.
struct Slice<'a> {
    process: Process,
    track: Track,
    name: &'a str,
    start: u64,
    cycles: u64,
    category: &'a str,
}

/// Number of changes of a counter that are kept before the oldest are written.
const KEPT_CHANGES: usize = 1 << 14;

/// Bytes after which a trace takes no more operations, some 400 000 of them: more than viewers show with ease.
pub const MOST_BYTES: u64 = 1 << 30;

/// Maximum number of ended operations that can be the start of an arrow. An arrow from an older one is left out.
const KEPT_ENDS: usize = 1 << 14;

/// Writes a trace as operations end.
pub struct TraceWriter<W: Write + Send> {
    out: W,
    named: LiteMap<(Process, Option<Track>), ()>,
    live: LiveBytes,
    whole: Whole,
    /// The context and the last cycle of operations that ended not long ago.
    ends: HashMap<OperationNumber, (ContextKind, u64)>,
    recent: VecDeque<OperationNumber>,
    first: bool,
    written: u64,
    most_bytes: u64,
    left_out: u64,
    error: Option<io::Error>,
}

impl<W: Write + Send> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(out: W) -> Self {
        let mut writer = Self {
            out,
            named: LiteMap::new(),
            live: LiveBytes::default(),
            whole: Whole::default(),
            ends: HashMap::new(),
            recent: VecDeque::new(),
            first: true,
            written: 0,
            most_bytes: MOST_BYTES,
            left_out: 0,
            error: None,
        };
        let unit =
            json!({"unit of ts and dur": "1 µs in this file is 1 cycle of the chip at 1 GHz, that is 1 ns"});
        writer.raw(&format!("{{\"otherData\":{unit},\"traceEvents\":[\n"));
        writer
    }

    /// Error of the output, if there was one.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Output of the trace.
    pub fn output(&self) -> &W {
        &self.out
    }

    fn raw(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = self.out.write_all(text.as_bytes()).err();
            self.written += text.len() as u64;
        }
    }

    fn event(&mut self, event: &Value) {
        let separator = if core::mem::take(&mut self.first) { "" } else { ",\n" };
        self.raw(separator);
        self.raw(&event.to_string());
    }

    fn name(&mut self, process: Process, track: Track) {
        if self.named.insert((process, Some(track)), ()).is_some() {
            return;
        }
        let pid = process.number();
        if self.named.insert((process, None), ()).is_none() {
            let name = process.name();
            self.event(&json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}));
            self.event(
                &json!({"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}),
            );
        }
        let (tid, name) = (track.thread(), track.name());
        let sort = json!({"sort_index": tid});
        self.event(
            &json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}),
        );
        self.event(&json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": sort}));
    }

    fn slice(&mut self, slice: &Slice<'_>, args: Value) {
        let Slice { process, track, name, start, cycles, category } = *slice;
        self.name(process, track);
        let (pid, tid) = (process.number(), track.thread());
        self.event(&json!({"ph": "X", "cat": category, "pid": pid, "tid": tid, "ts": start, "dur": cycles,
            "name": name, "args": args}));
    }

    /// Writes the stages of a pass, in every cluster that takes part.
    fn stages(&mut self, record: &Record, name: &str) {
        let spans = operation::stage_spans(record);
        for chip in 0..record.amount.slices.chips() {
            for cluster in 0..CLUSTERS {
                if record.amount.slices.in_cluster(chip, cluster) == 0 {
                    continue;
                }
                for span in &spans {
                    let track = Track::Stage { cluster, context: record.context, stage: span.stage };
                    let process = Process::Chip(chip);
                    let (start, cycles) = (span.start, span.end - span.start);
                    let slice = Slice { process, track, name, start, cycles, category: "stage" };
                    self.slice(&slice, span.args(record.number));
                }
            }
        }
    }

    /// Writes engines, HBM with its channels, and links of a DMA operation: each for as long as it takes for its part.
    fn dma(&mut self, record: &Record, name: &str) {
        let Timing::Dma(time) = &record.timing else { return };
        let (start, most) = (record.start, record.cycles());
        for (chip, engine, cycles) in time.by_engine() {
            let (process, track) = (Process::Chip(chip), Track::Dma(engine % DMA_ENGINES));
            let slice = Slice { process, track, name, start, cycles: cycles.min(most), category: "engine" };
            self.slice(&slice, json!({"op": record.number}));
        }
        let Some(time) = &time.time else { return };
        let op = record.number;
        let (start, end) = channels::answers(record);
        let with_channels = self.whole.takes_channels(op, time);
        for (chip, served) in time.hbm.iter().filter(|(_, served)| served.ticks > 0) {
            let (process, track, cycles) = (Process::Chip(*chip), Track::Hbm, core_cycles(served.ticks));
            let (bytes, busy) = served.total();
            let args = json!({"op": op, "cycles": cycles, "bytes": bytes, "busy ticks": busy});
            let cycles = cycles.min(end - start);
            self.slice(&Slice { process, track, name, start, cycles, category: "HBM" }, args);
            for used in channels_of(record, *chip, served).filter(|_| with_channels) {
                let RunChannel { channel, start, cycles, busy_ticks, bytes, .. } = used;
                let track = Track::HbmChannel(channel as usize);
                let args = json!({"op": op, "chip": chip, "channel": channel, "bytes": bytes,
                    "busy ticks": busy_ticks});
                self.slice(&Slice { process, track, name, start, cycles, category: "HBM channel" }, args);
            }
        }
        if time.pcie_ticks > 0 {
            let (process, track, cycles) = (Process::Host, Track::Pcie, core_cycles(time.pcie_ticks));
            let args = json!({"op": op, "cycles": cycles});
            let cycles = cycles.min(end - start);
            self.slice(&Slice { process, track, name, start, cycles, category: "PCIe" }, args);
        }
    }

    /// Writes an arrow from the last cycle of the operation that was waited for.
    fn arrow(&mut self, record: &Record) {
        let Some(wait) = record.wait else { return };
        let Some(&(context, last)) = self.ends.get(&wait.on()) else { return };
        let (pid, id) = (Process::Program.number(), record.number);
        let (from, to) = (Track::Context(context).thread(), Track::Context(record.context).thread());
        self.event(
            &json!({"ph": "s", "cat": "wait", "name": "wait", "id": id, "pid": pid, "tid": from, "ts": last}),
        );
        self.event(
            &json!({"ph": "f", "bp": "e", "cat": "wait", "name": "wait", "id": id, "pid": pid, "tid": to,
            "ts": record.start}),
        );
    }

    fn counters(&mut self, keep: usize) {
        let pid = Process::Program.number();
        for (cycle, level) in self.live.levels(keep) {
            self.event(&json!({"ph": "C", "pid": pid, "ts": cycle, "name": "live DM bytes per slice",
                "args": {"bytes": level}}));
        }
    }

    fn kernels(&mut self, ledger: &Ledger) {
        for kernel in &ledger.kernels {
            let (process, track) = (Process::Program, Track::Kernels);
            let (start, cycles) = (kernel.start, kernel.makespan());
            let name = operation::kernel_name(kernel.call);
            let slice = Slice { process, track, name, start, cycles, category: "kernel" };
            self.slice(&slice, json!({"launch": kernel.call.number, "operations": kernel.operations}));
        }
    }
}

impl<W: Write + Send> Observer for TraceWriter<W> {
    fn ended(&mut self, record: &Record) {
        if self.written >= self.most_bytes {
            self.left_out += 1;
            return;
        }
        self.whole.ended(record);
        let name = operation::name(record);
        let (process, track) = (Process::Program, Track::Context(record.context));
        let (start, cycles) = (record.start, record.cycles());
        let slice = Slice { process, track, name: &name, start, cycles, category: "operation" };
        self.slice(&slice, operation::args(record));
        self.arrow(record);
        match &record.timing {
            Timing::TensorUnit(_) | Timing::Bitmap(_) => self.stages(record, &name),
            Timing::Dma(_) => self.dma(record, &name),
            Timing::Meeting(_) => {}
            Timing::Host(_) => {
                let (process, track) = (Process::Host, Track::Pcie);
                let slice = Slice { process, track, name: &name, start, cycles, category: "PCIe" };
                self.slice(&slice, json!({"op": record.number, "cycles": cycles}));
            }
        }
        let last = record.end.saturating_sub(1).max(record.start);
        self.ends.insert(record.number, (record.context, last));
        self.recent.push_back(record.number);
        if self.recent.len() > KEPT_ENDS
            && let Some(oldest) = self.recent.pop_front()
        {
            self.ends.remove(&oldest);
        }
        for access in record.accesses.iter().filter(|access| access.memory == MemoryKind::Dm) {
            self.live.touch(access.bytes.clone(), access.write, record.start, record.end);
        }
        if self.live.changes.len() > 2 * KEPT_CHANGES {
            self.counters(KEPT_CHANGES);
        }
    }

    fn finish(&mut self, ledger: &Ledger, hints: &[Hint]) {
        self.live.finish();
        self.counters(0);
        self.kernels(ledger);
        let mut visa = self.whole.summary(ledger, hints);
        let words = format!(
            "{} of {} operations: a trace ends at {} bytes",
            self.left_out, ledger.totals.operations, self.most_bytes
        );
        if self.left_out > 0 {
            if let Some(list) = visa["left out"].as_array_mut() {
                list.push(words.as_str().into());
            }
            let _ = writeln!(io::stderr(), "the trace leaves out {words}");
        }
        self.raw(&format!("\n],\"visa\":{visa}"));
        self.raw("}\n");
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
        if let Some(error) = &self.error {
            // If that stream is full or closed, too, the message is lost.
            let _ = writeln!(io::stderr(), "the trace is not complete: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;
    use furiosa_visa_clock::ledger::{KEPT, Ledger};
    use furiosa_visa_clock::schedule::WINDOW;
    use furiosa_visa_clock::{Clock, KernelCall, Profile};
    use furiosa_visa_rules::command::{
        Command, Fetch, FillId, Footprint, Memory, Operation, Region, Sink, TensorUnit,
    };
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::sequencer::{Config, Entry};
    use std::sync::{Arc, Mutex};

    /// A copy of 1 KiB per slice, in either context.
    fn copy(from: u64, to: u64, sub_context: bool) -> Command {
        let region = |address| {
            let guard = Guard::always(4);
            let element = ElementType::I8;
            let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 1024, guard };
            Region::whole(Memory::Dm, address, FillId(1), footprint)
        };
        let mut config = Config::new(32);
        config.entries.push(Entry { size: 32, stride: 32 });
        config.entries.push(Entry { size: 32, stride: 1 });
        let size = if sub_context { 8 } else { 32 };
        let fetch = Fetch { fetch_size: size, ..Fetch::new(region(from), config, 32, 32, ElementType::I8) };
        let sink =
            Sink::Commit { destination: region(to), config, commit_size: size, guard: Guard::always(5) };
        let unit = TensorUnit { sub_context, ..TensorUnit::new(fetch, sink) };
        Command { operation: Operation::TensorUnit(Box::new(unit)), location: Location::caller() }
    }

    /// Counts events, and keeps the first and the last bytes.
    #[derive(Default)]
    struct Counter {
        bytes: u64,
        events: u64,
        begin: Vec<u8>,
        end: Vec<u8>,
    }

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Counter>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut counter = self.0.lock().expect("nobody panics");
            counter.bytes += bytes.len() as u64;
            counter.events +=
                u64::from(bytes.starts_with(b"{\"") && bytes.windows(4).any(|part| part == b"\"ph\""));
            if counter.begin.len() < 64 {
                counter.begin.extend_from_slice(bytes);
            }
            counter.end = bytes.to_vec();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Runs for longer with `VISA_TRACE_EVENTS=10000000`.
    #[test]
    fn a_long_trace_takes_no_memory() {
        let events: u64 =
            std::env::var("VISA_TRACE_EVENTS").map_or(100_000, |text| text.parse().expect("a number"));
        let out = Shared::default();
        let mut clock = Clock::new(Profile::Book);
        clock.observe(Box::new(TraceWriter::new(out.clone())));
        let commands: Vec<_> = (0..64).map(|k| copy(k % 7 * 1024, (7 + k % 5) * 1024, k % 3 == 0)).collect();
        let kernel = KernelCall { number: 1, name: "copies" };
        let mut given = 0;
        while out.0.lock().expect("nobody panics").events < events {
            for command in &commands {
                clock.command(kernel, command);
            }
            given += commands.len() as u64;
            let (waiting, pieces) = clock.waiting();
            assert!(waiting <= WINDOW + 1024 && pieces <= 32, "{waiting} operations wait, {pieces} pieces");
        }
        clock.finish(1, &[], &[]);
        assert!(clock.ledger().records.len() <= KEPT);
        assert_eq!(clock.ledger().totals.operations, given);
        let counter = out.0.lock().expect("nobody panics");
        assert!(counter.begin.starts_with(b"{\"otherData\""));
        assert_eq!(counter.end, b"}\n");
        println!("{} events, {} bytes, {given} operations", counter.events, counter.bytes);
    }

    /// Operations that end behind the limit of a trace are counted, and the trace is complete.
    #[test]
    fn a_trace_ends_at_its_limit() {
        #[derive(Clone, Default)]
        struct Text(Arc<Mutex<Vec<u8>>>);
        impl Write for Text {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().expect("nobody panics").write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let written = |most_bytes| {
            let out = Text::default();
            let mut clock = Clock::new(Profile::Book);
            clock.observe(Box::new(TraceWriter { most_bytes, ..TraceWriter::new(out.clone()) }));
            let kernel = KernelCall { number: 1, name: "copies" };
            (0..16).for_each(|_| clock.command(kernel, &copy(0, 1024, false)));
            clock.finish(1, &[], &[]);
            let text = out.0.lock().expect("nobody panics").clone();
            let text = String::from_utf8(text).expect("it is text");
            (text.len() as u64, Run::parse(&text).expect("it is whole"))
        };
        let (bytes, all) = written(MOST_BYTES);
        assert_eq!((all.operations.len(), &all.summary["left out"]), (16, &json!([])));
        let (less, part) = written(bytes / 2);
        let kept = part.operations.len();
        assert!(less < bytes && (1..16).contains(&kept), "{kept} operations in {less} of {bytes} bytes");
        assert_eq!(part.operations, all.operations[..kept]);
        let words = format!("{} of 16 operations: a trace ends at {} bytes", 16 - kept, bytes / 2);
        assert_eq!((&part.summary["left out"], part.cycles), (&json!([words]), all.cycles));
    }

    #[test]
    fn an_output_that_fails_is_reported() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("no space left"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = TraceWriter::new(Full);
        writer.finish(&Ledger::default(), &[]);
        assert_eq!(writer.error().map(ToString::to_string).as_deref(), Some("no space left"));
    }
}
