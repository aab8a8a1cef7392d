//! A load from HBM and a pass of the Tensor Unit, stage by stage: each is derived, or refused in the words of the compiler.

mod cycles;

use crate::form::Form;
use cycles::{dma_cycles, pass_cycles};
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::dma::{self, DmaOptions};
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::command::{FillId, Operation};
use furiosa_visa_rules::engine::collect::CollectRequest;
use furiosa_visa_rules::engine::commit::{CommitRequest, derive_commit};
use furiosa_visa_rules::engine::commit_stages::CommitStages;
use furiosa_visa_rules::engine::fetch::{FetchRequest, derive_fetch};
use furiosa_visa_rules::engine::switch::SwitchRequest;
use furiosa_visa_rules::engine::transpose::TransposeRequest;
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::explain::{
    explain_collect, explain_commit, explain_fetch, explain_switch, explain_transpose,
};
use furiosa_visa_rules::lower::{Stream, Tensor, to_dm};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::tensor::Shape;
use furiosa_visa_rules::text::grouped;
use serde_json::{Value, json};

/// One chip.
const CHIP: &Expr = &Expr::Identity;
/// Names of the tensors in HBM and in DM, and of the result.
const FILLS: [FillId; 3] = [FillId(1), FillId(2), FillId(3)];
/// Alignment of the result in DM, in bytes.
const ALIGN_BYTES: u64 = 256;
/// The most elements of a stream: its bits are counted in 32 bits.
const MAX_STREAM: usize = 1 << 26;
/// The most accesses whose addresses are listed.
const LISTED: usize = 64;

/// Reason for a stage without a result.
enum Unfinished {
    /// Its fields are empty, and it is left out.
    Absent,
    /// It waits for a field or for a stage before it.
    Waits(String),
    /// A rule refuses it. What was derived until then is told.
    Refused(String, String),
}

impl From<PlanError> for Unfinished {
    fn from(error: PlanError) -> Self {
        Self::Refused(error.message().to_string(), String::new())
    }
}

/// A stage on the page.
#[derive(Default)]
struct Stage {
    /// The call, as a kernel has it.
    call: String,
    /// The derivation in words.
    text: String,
    /// First byte, bytes and repetitions of each access to DM, and the number of all.
    addresses: Value,
    /// Cycles and their composition.
    cycles: Value,
}

/// The stages of a form, in order.
struct Stages<'f> {
    form: &'f Form,
    shown: Vec<Value>,
    clock: CommandClock,
}

/// Derives all stages of a form.
pub fn derive(form: &Form) -> Vec<Value> {
    let clock = CommandClock::new(Model::new(Profile::Detailed));
    let mut stages = Stages { form, shown: Vec::new(), clock };
    let tensor = stages.add("tensor", tensor(form));
    let load = load(form, &mut stages.clock);
    stages.add("load", load);
    let begun = tensor.ok_or("the tensor in DM").and_then(|tensor| {
        Stream::begin(&tensor, form.sub_context)
            .map(|stream| (stream, tensor))
            .map_err(|_| "the tensor in DM")
    });
    let stream = begun.map(|(stream, _)| stream);
    let stream = stages.step("fetch", stream, fetch);
    let stream = stages.step("switch", stream, switch);
    let stream = stages.step("collect", stream, collect);
    let stream = stages.step("transpose", stream, transpose);
    let address = tensor.map_or(0, |tensor| tensor.region.footprint.bytes() as u64);
    let done = stream.map_err(waits).and_then(|stream| commit(form, stream, address));
    let operation = stages.add("commit", done);
    let pass = operation.ok_or_else(|| waits("commit")).map(|operation| {
        let cycles = pass_cycles(&stages.clock.time(&operation));
        ((), Stage { cycles, ..Stage::default() })
    });
    stages.add("pass", pass);
    stages.shown
}

fn waits(name: &str) -> Unfinished {
    Unfinished::Waits(format!("waits for {name}"))
}

impl Stages<'_> {
    /// Shows a stage, and gives its result.
    fn add<T>(&mut self, id: &'static str, done: Result<(T, Stage), Unfinished>) -> Option<T> {
        let (shown, result) = match done {
            Ok((result, Stage { call, text, addresses, cycles })) => {
                let shown = json!({
                    "id": id, "state": "done", "call": call, "text": text, "addresses": addresses, "cycles": cycles,
                });
                (shown, Some(result))
            }
            Err(Unfinished::Absent) => (json!({ "id": id, "state": "absent" }), None),
            Err(Unfinished::Waits(message)) => {
                (json!({ "id": id, "state": "waits", "message": message }), None)
            }
            Err(Unfinished::Refused(message, text)) => {
                (json!({ "id": id, "state": "refused", "message": message, "text": text }), None)
            }
        };
        self.shown.push(shown);
        result
    }

    /// Derives a stage of the stream. A stage that is left out gives the stream on; behind one that has no result, the name of
    /// that stage is given on.
    fn step(
        &mut self,
        id: &'static str,
        stream: Result<Stream, &'static str>,
        stage: impl Fn(&Form, Stream) -> Result<(Stream, Stage), Unfinished>,
    ) -> Result<Stream, &'static str> {
        let before = stream.clone();
        let done = stream.map_err(waits).and_then(|stream| stage(self.form, stream));
        let is_absent = matches!(done, Err(Unfinished::Absent));
        match self.add(id, done) {
            Some(stream) => Ok(stream),
            None if is_absent => before,
            None => Err(before.err().unwrap_or(id)),
        }
    }
}

/// The mappings in fields that a stage needs.
fn needed<const N: usize>(form: &Form, fields: [&'static str; N]) -> Result<[&'static Expr; N], Unfinished> {
    let missing: Vec<&str> = fields.into_iter().filter(|field| form.mapping(field).is_none()).collect();
    if missing.is_empty() {
        return Ok(fields.map(|field| form.mapping(field).unwrap_or(CHIP)));
    }
    let names: Vec<String> = missing.iter().map(|field| label(field)).collect();
    Err(Unfinished::Waits(format!("waits for {}", names.join(" and "))))
}

/// As [`needed`]. A stage whose fields are all empty is left out.
fn optional<const N: usize>(
    form: &Form,
    fields: [&'static str; N],
) -> Result<[&'static Expr; N], Unfinished> {
    let is_empty = |field: &&str| form.mapping(field).is_none() && !form.errors.contains_key(*field);
    if fields.iter().all(is_empty) { Err(Unfinished::Absent) } else { needed(form, fields) }
}

/// A field in words: `switch_time` is the Time of the switch.
fn label(field: &str) -> String {
    match field.split_once('_') {
        Some((stage, mapping)) => format!("the {mapping} of the {stage}"),
        None if field == "hbm" => "the mapping in HBM".to_string(),
        None if field == "commit" => "the element of the commit".to_string(),
        None => format!("the {field}"),
    }
}

fn stored(form: &Form) -> Result<ElementType, Unfinished> {
    form.stored.ok_or_else(|| waits("the type in memory"))
}

/// The tensor in DM that the stream reads.
fn tensor(form: &Form) -> Result<(Tensor, Stage), Unfinished> {
    let element_type = stored(form)?;
    let [cluster, slice, element] = needed(form, ["cluster", "slice", "element"])?;
    let tensor = Tensor::new(Shape::dm(element_type, CHIP, cluster, slice, element), 0, FILLS[1])?;
    let bytes = grouped(tensor.region.footprint.bytes() as u64);
    let stage = Stage {
        call: format!("DmTensor<{element_type}, m![1], m![{cluster}], m![{slice}], m![{element}]>"),
        text: format!("{bytes} bytes of each slice, from address 0 on\n"),
        ..Stage::default()
    };
    Ok((tensor, stage))
}

/// The transfer from HBM.
fn load(form: &Form, clock: &mut CommandClock) -> Result<((), Stage), Unfinished> {
    let [hbm] = optional(form, ["hbm"])?;
    let element_type = stored(form)?;
    let [cluster, slice, element] = needed(form, ["cluster", "slice", "element"])?;
    let source = Tensor::new(Shape::hbm(element_type, CHIP, hbm), 0, FILLS[0])?;
    let (operation, _) = to_dm(&source, [CHIP, cluster, slice, element], 0, FILLS[1])?;
    let text = match &operation {
        Operation::Dma(moved) => match dma::derive(moved, &DmaOptions::default()) {
            Ok(commands) => format!("{commands}\n"),
            Err(error) => format!("no commands: {error}\n"),
        },
        _ => String::new(),
    };
    let stage = Stage {
        call: format!("x.to_dm::<m![{cluster}], m![{slice}], m![{element}]>(&mut ctx.tdma, 0)"),
        text,
        cycles: dma_cycles(&clock.time(&operation)),
        ..Stage::default()
    };
    Ok(((), stage))
}

fn fetch(form: &Form, stream: Stream) -> Result<(Stream, Stage), Unfinished> {
    let output = form.streamed.ok_or_else(|| waits("the type in the stream"))?;
    let [time, packet] = needed(form, ["time", "packet"])?;
    let (packets, elements) = (time.size(), packet.size());
    if packets.checked_mul(elements).is_none_or(|all| all > MAX_STREAM) {
        return Err(Unfinished::Waits(format!(
            "{packets} packets of {elements} elements are too many for this page; it takes at most {MAX_STREAM} elements"
        )));
    }
    let (input, [.., element]) = (stream.element(), stream.mappings());
    let request = FetchRequest {
        sub_context: form.sub_context,
        ..FetchRequest::new(input, output, element, time, packet)
    };
    // The loops tell where a refusal comes from.
    let told = explain_fetch("fetch", &request).map_or(String::new(), |explanation| explanation.to_string());
    let stream = stream
        .fetch(output, time, packet)
        .map_err(|error| Unfinished::Refused(error.message().to_string(), told.clone()))?;
    let config = derive_fetch(&request)?;
    let rows: Vec<Value> =
        config.addresses().take(LISTED).map(|own| json!([own.byte, own.bytes, own.repeat])).collect();
    let stage = Stage {
        call: format!(".fetch::<{output}, m![{time}], m![{packet}]>()"),
        text: told,
        addresses: addresses("fetch", "element", rows, config.cycles, input),
        ..Stage::default()
    };
    Ok((stream, stage))
}

/// Accesses to DM. `field`: the mapping of what they read or write.
fn addresses(verb: &str, field: &str, rows: Vec<Value>, all: usize, element: ElementType) -> Value {
    json!({ "verb": verb, "field": field, "rows": rows, "all": all, "bits": element.bits() })
}

fn switch(form: &Form, stream: Stream) -> Result<(Stream, Stage), Unfinished> {
    let [slice, time] = optional(form, ["switch_slice", "switch_time"])?;
    let [chip, cluster, from, in_time, packet] = stream.mappings();
    let request =
        SwitchRequest { others: [chip, cluster, packet], ..SwitchRequest::new(from, in_time, slice, time) };
    let packet_bytes = packet.size() * stream.element().bits() / 8;
    let text = explain_switch(&request, None, packet_bytes)?.to_string();
    let stage = Stage { call: format!(".switch_to::<m![{slice}], m![{time}]>()"), text, ..Stage::default() };
    Ok((stream.switch(None, slice, time)?, stage))
}

fn collect(form: &Form, stream: Stream) -> Result<(Stream, Stage), Unfinished> {
    let [out_time, out_packet] = needed(form, ["collect_time", "collect_packet"])?;
    let (element, [.., time, packet]) = (stream.element(), stream.mappings());
    let text = explain_collect(&CollectRequest { element, time, packet, out_time, out_packet })?.to_string();
    let call = format!(".collect::<m![{out_time}], m![{out_packet}]>()");
    Ok((stream.collect(out_time, out_packet)?, Stage { call, text, ..Stage::default() }))
}

fn transpose(form: &Form, stream: Stream) -> Result<(Stream, Stage), Unfinished> {
    let [out_time, out_packet] = optional(form, ["transpose_time", "transpose_packet"])?;
    let (element, [.., time, packet]) = (stream.element(), stream.mappings());
    let request = TransposeRequest { element, time, packet, out_time, out_packet };
    let text = explain_transpose(&request)?.to_string();
    let call = format!(".transpose::<m![{out_time}], m![{out_packet}]>()");
    Ok((stream.transpose(out_time, out_packet)?, Stage { call, text, ..Stage::default() }))
}

/// The end of the stream. `end`: the first byte of a slice behind the tensor that is read.
fn commit(form: &Form, stream: Stream, end: u64) -> Result<(Operation, Stage), Unfinished> {
    let [destination] = needed(form, ["commit"])?;
    let (element, [.., time, packet]) = (stream.element(), stream.mappings());
    let address = end.next_multiple_of(ALIGN_BYTES);
    let (operation, _) = stream.commit(destination, address, FILLS[2])?;
    let request = CommitRequest {
        sub_context: form.sub_context,
        element,
        time,
        packet,
        destination,
        stages: CommitStages::NONE,
    };
    let config = derive_commit(&request)?;
    let bits = element.bits();
    let byte = |write: usize| {
        config.config.position(write * config.commit_size * 8 / bits) * bits as isize / 8 + address as isize
    };
    let writes = (0..config.cycles.min(LISTED)).map(|write| json!([byte(write), config.commit_size, 1]));
    let mut written = addresses("commit", "commit", writes.collect(), config.cycles, element);
    written["start"] = json!(address);
    let stage = Stage {
        call: format!(".commit::<m![{destination}]>({address})"),
        text: explain_commit(&request, &config)?.to_string(),
        addresses: written,
        ..Stage::default()
    };
    Ok((operation, stage))
}
