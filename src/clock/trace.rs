//! The trace: a timeline in the JSON that Chrome and Perfetto open.
//!
//! | in the viewer | what |
//! |---|---|
//! | process | a chip, or the host |
//! | thread | `cluster 0 main fetch`: an engine of a context of a cluster; `tdma engine 3`; `PCIe` |
//! | slice | an operation on that engine, while it works; 1 µs in the viewer is one cycle |
//! | counter | bytes of DM per slice that hold a tensor that is still needed |
//!
//! Events are written as operations end: the file grows, memory does not.

use super::hazards::Access;
use super::record::{Observer, Record, Timing};
use crate::command::{ContextKind, MemoryKind};
use crate::spec::CLUSTERS;
use core::ops::Range;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A thread of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    /// Cluster, context, and the engine: 0 is the whole operation, then the stages.
    Engine { cluster: usize, context: ContextKind, engine: usize },
    /// A DMA engine of the chip.
    Dma(usize),
    /// The PCIe link.
    Pcie,
}

/// Engines of a context, and the operation itself.
const ENGINES: [&str; 12] = [
    "operation",
    "fetch",
    "switch",
    "collect",
    "contract",
    "accumulate",
    "vector",
    "cast",
    "transpose",
    "to_trf",
    "to_vrf",
    "commit",
];

impl Track {
    fn thread(self) -> usize {
        match self {
            Track::Engine { cluster, context, engine } => {
                1 + (cluster * 2 + usize::from(context == ContextKind::Sub)) * ENGINES.len() + engine
            }
            Track::Dma(engine) => 1000 + engine,
            Track::Pcie => 2000,
        }
    }

    fn name(self) -> String {
        match self {
            Track::Engine { cluster, context, engine } => {
                format!("cluster {cluster} {context} {}", ENGINES[engine])
            }
            Track::Dma(engine) => format!("tdma engine {engine}"),
            Track::Pcie => "PCIe".to_string(),
        }
    }
}

/// Process number of the host. Chips count from 0.
const HOST: usize = 1_000_000;

/// Changes of a counter that are kept before the oldest are written.
const KEPT_CHANGES: usize = 1 << 14;

/// Bytes of DM that are needed, over time. A tensor is needed from the operation that writes it to the last one that
/// reads it, or to the end as long as it might still be read.
#[derive(Debug, Default)]
struct LiveBytes {
    /// By first byte: end, and the last cycle of the operation that used it last.
    pieces: BTreeMap<u64, (u64, u64)>,
    changes: BTreeMap<u64, i64>,
    level: i64,
}

impl LiveBytes {
    fn change(&mut self, cycle: u64, bytes: i64) {
        *self.changes.entry(cycle).or_default() += bytes;
    }

    /// Bytes are used. Bytes that are written anew were needed up to their last use, and are from `start` on.
    fn touch(&mut self, bytes: core::ops::Range<u64>, write: bool, start: u64, end: u64) {
        let keys: Vec<u64> = self
            .pieces
            .range(..bytes.end)
            .rev()
            .take_while(|(_, (to, _))| *to > bytes.start)
            .map(|(from, _)| *from)
            .collect();
        for from in keys {
            let (to, last) = self.pieces.remove(&from).expect("it is there");
            let (low, high) = (from.max(bytes.start), to.min(bytes.end));
            if from < low {
                self.pieces.insert(from, (low, last));
            }
            if high < to {
                self.pieces.insert(high, (to, last));
            }
            if write {
                self.change(last, -((high - low) as i64));
            } else {
                self.pieces.insert(low, (high, last.max(end)));
            }
        }
        if write && bytes.start < bytes.end {
            self.change(start, (bytes.end - bytes.start) as i64);
            self.pieces.insert(bytes.start, (bytes.end, end));
        }
    }

    /// Takes out the oldest changes, as levels, and leaves `keep`.
    fn levels(&mut self, keep: usize) -> Vec<(u64, i64)> {
        let mut levels = Vec::new();
        while self.changes.len() > keep {
            let (cycle, change) = self.changes.pop_first().expect("there is more than none");
            self.level += change;
            levels.push((cycle, self.level));
        }
        levels
    }

    /// Nothing is used any more.
    fn finish(&mut self) {
        for (from, (to, last)) in core::mem::take(&mut self.pieces) {
            self.change(last, -((to - from) as i64));
        }
    }
}

/// Writes a trace as operations end.
pub struct TraceWriter<W: Write + Send> {
    out: W,
    named: BTreeMap<(usize, Track), ()>,
    live: LiveBytes,
    first: bool,
    error: Option<io::Error>,
}

impl<W: Write + Send> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(out: W) -> Self {
        let mut writer =
            Self { out, named: BTreeMap::new(), live: LiveBytes::default(), first: true, error: None };
        writer.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit of ts and dur\":\"cycles of 1 GHz\"},\"traceEvents\":[\n");
        writer
    }

    /// What went wrong with the output, if anything did.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    fn raw(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = self.out.write_all(text.as_bytes()).err();
        }
    }

    fn event(&mut self, event: &Value) {
        let separator = if core::mem::take(&mut self.first) { "" } else { ",\n" };
        self.raw(separator);
        self.raw(&event.to_string());
    }

    fn slice(&mut self, chip: usize, track: Track, name: &str, start: u64, cycles: u64, args: Value) {
        if self.named.insert((chip, track), ()).is_none() {
            let known = self.named.keys().filter(|(own, _)| *own == chip).count();
            if known == 1 {
                let name = if chip == HOST { "host".to_string() } else { format!("chip {chip}") };
                self.event(&json!({"ph": "M", "pid": chip, "name": "process_name", "args": {"name": name}}));
            }
            let thread = track.thread();
            let name = track.name();
            self.event(&json!({"ph": "M", "pid": chip, "tid": thread, "name": "thread_name", "args": {"name": name}}));
            self.event(&json!({"ph": "M", "pid": chip, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}));
        }
        let thread = track.thread();
        self.event(&json!({"ph": "X", "pid": chip, "tid": thread, "ts": start, "dur": cycles, "name": name, "args": args}));
    }

    fn tensor_unit(&mut self, record: &Record, args: &Value) {
        let Timing::TensorUnit(time) = &record.timing else { return };
        for chip in 0..record.amount.slices.chips() {
            for cluster in 0..CLUSTERS {
                if record.amount.slices.in_cluster(chip, cluster) == 0 {
                    continue;
                }
                let track = |engine| Track::Engine { cluster, context: record.context, engine };
                self.slice(chip, track(0), record.operation, record.start, record.cycles(), args.clone());
                let mut begin = record.start + time.issue.cycles;
                for stage in &time.stages {
                    let name = stage.stage.name();
                    let engine =
                        ENGINES.iter().position(|own| *own == name).expect("every stage has a track");
                    begin += stage.latency.cycles;
                    let cycles = stage.occupancy.cycles.min(record.end.saturating_sub(begin));
                    let args = json!({"op": record.number, "cycles": cycles, "rule": stage.occupancy.source,
                        "class": stage.occupancy.class.to_string(), "guide": "clock"});
                    self.slice(chip, track(engine), record.operation, begin, cycles, args);
                }
            }
        }
    }

    fn counters(&mut self, keep: usize) {
        for (cycle, level) in self.live.levels(keep) {
            self.event(&json!({"ph": "C", "pid": 0, "ts": cycle, "name": "live DM bytes per slice", "args": {"bytes": level}}));
        }
    }
}

/// What is touched, where, and how it lies there: `reads DM bytes 0..128: i8 m![1], m![1 # 2], m![M / 2 # 256], m![M % 2, K]`.
fn tensor(access: &Access) -> String {
    let Access { memory, bytes, of: _, write, tensor } = access;
    let verb = if *write { "writes" } else { "reads" };
    let Range { start, end } = bytes;
    let mappings = tensor.mappings.text(0).unwrap_or_default();
    format!("{verb} {memory} bytes {start}..{end}: {} {mappings}", tensor.element)
}

fn args(record: &Record) -> Value {
    let place = format!("{}:{}", record.location.file(), record.location.line());
    json!({
        "op": record.number,
        "call": place,
        "kernel": record.kernel.name,
        "bound by": record.timing.bottleneck(),
        "class": record.timing.class().to_string(),
        "configuration": &*record.configuration,
        "tensors": record.accesses.iter().map(tensor).collect::<Vec<_>>(),
        "read bytes": record.amount.read_bytes,
        "written bytes": record.amount.written_bytes,
        "waited for": record.wait.map(|wait| wait.to_string()).unwrap_or_default(),
    })
}

impl<W: Write + Send> Observer for TraceWriter<W> {
    fn ended(&mut self, record: &Record) {
        let args = args(record);
        match &record.timing {
            Timing::TensorUnit(_) => self.tensor_unit(record, &args),
            Timing::Bitmap(_) => {
                for chip in 0..record.amount.slices.chips() {
                    for cluster in 0..CLUSTERS {
                        let track = Track::Engine { cluster, context: record.context, engine: 0 };
                        self.slice(
                            chip,
                            track,
                            record.operation,
                            record.start,
                            record.cycles(),
                            args.clone(),
                        );
                    }
                }
            }
            Timing::Dma(time) => {
                for (chip, engine, cycles) in time.by_engine() {
                    let cycles = cycles.min(record.cycles());
                    self.slice(
                        chip,
                        Track::Dma(engine),
                        record.operation,
                        record.start,
                        cycles,
                        args.clone(),
                    );
                }
            }
            Timing::Host(_) => {
                self.slice(HOST, Track::Pcie, record.operation, record.start, record.cycles(), args);
            }
        }
        for access in record.accesses.iter().filter(|access| access.memory == MemoryKind::Dm) {
            self.live.touch(access.bytes.clone(), access.write, record.start, record.end);
        }
        if self.live.changes.len() > 2 * KEPT_CHANGES {
            self.counters(KEPT_CHANGES);
        }
    }

    fn finish(&mut self) {
        self.live.finish();
        self.counters(0);
        self.raw("\n]}\n");
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
        if let Some(error) = &self.error {
            // Where that stream is full or closed, too, nobody reads it.
            let _ = writeln!(io::stderr(), "the trace is not complete: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ledger::KEPT;
    use crate::clock::schedule::WINDOW;
    use crate::clock::{Clock, KernelCall, Profile};
    use crate::command::{Command, Fetch, FillId, Footprint, Memory, Operation, Region, Sink, TensorUnit};
    use crate::mapping::Guard;
    use crate::scalar::ElementType;
    use crate::sequencer::{Config, Entry};
    use core::panic::Location;
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

    #[test]
    fn bytes_are_live_from_their_write_to_their_last_use() {
        let mut live = LiveBytes::default();
        live.touch(0..100, true, 10, 20);
        live.touch(0..40, false, 20, 30);
        live.touch(50..150, true, 40, 45);
        live.finish();
        // 100 from 10; the upper half is needed up to 20, when it is written anew at 40; the rest up to 20 or 30.
        let expected = [(10, 100), (20, 40), (30, 0), (40, 100), (45, 0)];
        assert_eq!(live.levels(0), expected);
    }

    /// Counts, and looks at the first and the last events.
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

    /// `VISA_TRACE_EVENTS=10000000` for a long run.
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
        clock.finish();
        assert!(clock.ledger().records.len() <= KEPT);
        assert_eq!(clock.ledger().totals.operations, given);
        let counter = out.0.lock().expect("nobody panics");
        assert!(counter.begin.starts_with(b"{\"displayTimeUnit\""));
        assert_eq!(counter.end, b"\n]}\n");
        println!("{} events, {} bytes, {given} operations", counter.events, counter.bytes);
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
        writer.finish();
        assert_eq!(writer.error().map(ToString::to_string).as_deref(), Some("no space left"));
    }
}
