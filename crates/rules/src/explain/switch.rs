//! A switch in words: its sets, digits and cycles.

use super::stage::{MappingChange, StageExplanation, count};
use crate::command::{Switch, TimeGate, switch_cycles};
use crate::engine::switch::{SwitchConfig, SwitchDerivation, SwitchRequest, derive_switch, derive_switch_to};
use crate::error::PlanError;
use crate::spec::{FLIT_BYTES, SLICES};

/// The sets of the first slices and of the last one; neighbours with equal sets are combined.
fn sets(switch: &Switch) -> String {
    const SHOWN: usize = 4;
    let set = |slice: usize| {
        let sources = switch.snoop.sources(slice);
        match sources[..] {
            [] => "{}".to_string(),
            [first, .., last] if sources.len() > 8 => format!("{{{first}, {}, .., {last}}}", sources[1]),
            _ => format!("{{{}}}", sources.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        }
    };
    let mut runs: Vec<(usize, usize, String)> = Vec::new();
    let mut slice = 0;
    while slice < SLICES && runs.len() < SHOWN {
        let sources = set(slice);
        let mut end = slice + 1;
        while end < SLICES && set(end) == sources {
            end += 1;
        }
        runs.push((slice, end - 1, sources));
        slice = end;
    }
    let shown = runs.iter().map(|(first, last, set)| match last - first {
        0 => format!("{first}: {set}"),
        _ => format!("{first} to {last}: {set}"),
    });
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if slice < SLICES {
        text += &format!("; ..; {}: {}", SLICES - 1, set(SLICES - 1));
    }
    text
}

/// The digits of the slice and time numbers in which the variant is described.
fn digits(config: &SwitchConfig, slices: usize, in_time: usize) -> String {
    let outer = |ring: usize| slices / ring;
    match *config {
        SwitchConfig::Broadcast01 { slice1, slice0, time0 } => format!(
            "slice2 {}, slice1 {slice1}, slice0 {slice0}; time1 {}, time0 {time0}",
            outer(slice1 * slice0),
            in_time / time0
        ),
        SwitchConfig::InterTranspose { slice1, slice0, time0 } => format!(
            "slice2 {}, slice1 {slice1}, slice0 {slice0}; time2 {}, time1 {slice1}, time0 {time0}",
            outer(slice1 * slice0),
            in_time / (slice1 * time0)
        ),
        SwitchConfig::Broadcast1 { slice1, slice0 }
        | SwitchConfig::Transpose { slice1, slice0 }
        | SwitchConfig::TransposedBroadcast1 { slice1, slice0 } => {
            format!("slice2 {}, slice1 {slice1}, slice0 {slice0}; time0 {in_time}", outer(slice1 * slice0))
        }
        SwitchConfig::CustomBroadcast { .. } => format!("as the mappings have them; time0 {in_time}"),
        SwitchConfig::Forwarding => format!("slice2 {slices}; time0 {in_time}"),
    }
}

/// Explains a switch. `None` for `config` selects the cheapest one.
///
/// # Errors
///
/// Returns the errors of [`derive_switch`] and [`derive_switch_to`].
pub fn explain_switch(
    request: &SwitchRequest,
    config: Option<&SwitchConfig>,
    packet_bytes: usize,
) -> Result<StageExplanation, PlanError> {
    let SwitchDerivation { config, switch } = match config {
        Some(config) => derive_switch(request, config)?,
        None => derive_switch_to(request)?,
    };
    let Switch { ring_size, in_time, .. } = switch;
    let mappings = vec![
        MappingChange::new("Slice", request.in_slice, request.out_slice),
        MappingChange::new("Time", request.in_time, request.out_time),
    ];
    let rule = format!(
        "packets go around sub-rings of {ring_size} slices; slice s' takes those of the slices {}, in the order of their emission",
        switch.snoop
    );
    let mut explanation = StageExplanation::new("switch", mappings, rule);
    let slices = request.in_slice.checked_size().unwrap_or(SLICES);
    explanation.fact("configuration", config);
    explanation.fact("digits", digits(&config, slices, in_time));
    explanation.fact("ring", format!("{ring_size} slices, {} sub-rings", (slices / ring_size).max(1)));
    explanation.fact("snoop sets", sets(&switch));
    if let Some(TimeGate { period, size, slices }) = switch.gate {
        explanation.fact("time gate", format!("t / {period} % {size} = s' / {slices} % {size}"));
    }
    explanation.fact("emission order", switch.emission_order());
    let flits = packet_bytes.div_ceil(FLIT_BYTES);
    let cycles = switch_cycles(ring_size as u64, in_time as u64, packet_bytes as u64);
    let flits = count(flits, "flit");
    explanation.fact("cycles", format!("{cycles}: ring {ring_size} * time {in_time} * {flits}"));
    let (taken, sent) = switch.delivered();
    explanation.fact("delivered", format!("{taken}/{sent} of what goes around, to each slice"));
    if switch.loads_bitmap() {
        explanation.fact("before it", "the sets are written as a bitmap: DMA engines and sub context wait");
    }
    Ok(explanation)
}
