//! A fetch in words: the tables of its loops, its runs, its size and its cycles.

use super::stage::count;
use crate::command::AdapterStage;
use crate::engine::fetch::{FetchConfig, FetchRequest, check_packet, derive_fetch};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factorize};
use crate::scalar::ElementType;
use crate::sequencer::{Explanation, Request, StreamPart, explain_loops};

/// Explains the read of a buffer as a stream by the Fetch Engine's main context: the tables, the contiguous run, the
/// fetch size and the cycles.
///
/// ```
/// use furiosa_visa_std::mapping::M;
/// use furiosa_visa_std::prelude::*;
/// use furiosa_visa_std::scalar::ElementType;
/// use furiosa_visa_std::explain::explain_read;
/// axes![A = 8, B = 8, C = 8];
/// let explanation =
///     explain_read(<m![A, B, C # 32]>::EXPR, <m![B, A]>::EXPR, <m![C # 16]>::EXPR, ElementType::I8)?;
/// assert_eq!(explanation.rows[0].source, "m![C # 32]::SIZE");
/// assert_eq!(explanation.rows[0].after, "m![A, 1 # 8, C # 32]");
/// println!("{explanation}");
/// # Ok::<(), furiosa_visa_std::PlanError>(())
/// ```
///
/// # Errors
///
/// Returns errors for mappings whose size is not defined, and those of [`derive`](crate::sequencer::derive()).
pub fn explain_read(
    buf: &'static Expr,
    time: &'static Expr,
    packet: &'static Expr,
    dtype: ElementType,
) -> Result<Explanation, PlanError> {
    let request = FetchRequest::new(dtype, dtype, buf, time, packet);
    explain_request("read", &request, false)
}

/// Explains a fetch: the tables, the contiguous run, the fetch size and the cycles. Packets whose size is not a
/// multiple of 8 bytes are refused.
///
/// `operation` names the call in the heading and in refusals.
///
/// # Errors
///
/// Returns errors for mappings whose size is not defined, and those of [`derive`](crate::sequencer::derive()).
pub fn explain_fetch(operation: &'static str, request: &FetchRequest) -> Result<Explanation, PlanError> {
    explain_request(operation, request, true)
}

/// Explains a request. `is_fetch`: true if the packets leave the Fetch Engine. Packets of a plain read have any size.
fn explain_request(
    operation: &'static str,
    request: &FetchRequest,
    is_fetch: bool,
) -> Result<Explanation, PlanError> {
    for expr in [request.element, request.time, request.packet] {
        if let Err(problem) = expr.checked_size() {
            refuse!("mapping", "{}: {}", (operation, &problem));
        }
    }
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, request.element);
    let loops = Request {
        buf_expr: Some(request.element),
        windows: request.windows,
        ..Request::new(operation, &buf, StreamPart::Expr(request.time), StreamPart::Expr(request.packet))
    };
    let mut explanation = attempt!(explain_loops(&mut pool, &loops));
    let windows = request.windows.iter().map(|window| format!(", in windows {window}")).collect::<String>();
    explanation.buf = format!("m![{}]{windows}", request.element);
    let (run, bits) = (explanation.contiguous_run, request.input.bits());
    let bytes = match run.checked_mul(bits) {
        Some(run_bits) if run_bits.is_multiple_of(8) => format!(", {}", count(run_bits / 8, "byte")),
        _ => format!(", {run} × {bits} bits"),
    };
    explanation.fact("contiguous run", format!("{} of {}{bytes}", count(run, "element"), request.input));
    if explanation.limited.is_ok() {
        match derive_fetch(request) {
            Ok(fetch) => {
                explanation.fact("fetch_size", count(fetch.fetch_size, "byte"));
                explanation.fact("fetches_per_packet", fetch.fetches_per_packet);
                let product = format!("{} × {}", count(fetch.time, "packet"), fetch.fetches_per_packet);
                explanation.fact("cycles", format!("{} ({product})", fetch.cycles));
                explain_stages(request, &fetch, &mut explanation);
            }
            Err(error) => explanation.refusal = Some(error),
        }
        if let (None, Err(error)) = (&explanation.refusal, check_packet(request)) {
            if is_fetch {
                explanation.refusal = Some(error);
            } else {
                explanation.notes.push(error.message().to_string());
            }
        }
    }
    Ok(explanation)
}

/// Adds the stages of the adapter that elements pass, in order.
fn explain_stages(request: &FetchRequest, fetch: &FetchConfig, explanation: &mut Explanation) {
    if let Some(period) = fetch.interleave_period {
        let turns = format!("two tensors take turns, {} each", count(period, "packet"));
        explanation.fact("interleaving", turns);
    }
    for stage in AdapterStage::ALL {
        let (input, output) = (request.input, request.output);
        let before_cast = request.table.unwrap_or(input);
        let told = match stage {
            AdapterStage::Masking => fetch.mask.map(|mask| format!("{mask}; sequencer {}", fetch.config)),
            AdapterStage::Table => {
                request.table.map(|entry| format!("{input} to {entry}, {} entries", 1u64 << input.bits()))
            }
            AdapterStage::Cast => (before_cast != output).then(|| format!("{before_cast} to {output}")),
            AdapterStage::ZeroPoint => request.zero_point.then(|| format!("in {output}")),
            AdapterStage::Batching => {
                let fetches = fetch.fetches_per_packet;
                (fetches > 1).then(|| format!("{fetches} fetches make a packet"))
            }
        };
        if let Some(told) = told {
            explanation.fact(stage.name(), told);
        }
    }
    if fetch.latency > 0 {
        explanation.fact("latency", count(fetch.latency, "cycle"));
    }
    if fetch.unmasked_padding {
        let note = "the stream has padding that no mask replaces: its values mean nothing";
        explanation.notes.push(note.to_string());
    }
}
