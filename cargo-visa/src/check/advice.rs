//! Edits for what the compiler says in its own words about the surface of the library: names that are not there,
//! arguments that are missing, types that differ.
//!
//! ```text
//!   cannot find type `O` in this scope               of an axis in `m![…]`: the axes that are declared
//!   no variant or associated item named `Gelu` …     of an enumeration of the library: all of its variants
//!   method takes 4 generic arguments but 2 …         of `align`: the call with `_, _`
//!   expected `VeRhs<_, _>`, found …                  of an operand of a group: `.into()`
//!   expected `&TrfTensor<f32, …>`, found …           of a contraction: a fetch that converts
//!   expected `HbmTensor<f32, …>`, found …            of a result: what its stream lacks
//! ```

use super::text::{Source, statement_of};
use furiosa_visa_rules::command::{
    AccumulationKind, ClipBinaryOpF32, ClipBinaryOpI32, FpBinaryOp, FpDivBinaryOp, FpMulAlu, FpTernaryOp,
    FpUnaryOp, FxpBinaryOp, GroupId, InterSliceReduceOpF32, InterSliceReduceOpI32, IntraSliceReduceOpF32,
    IntraSliceReduceOpI32, LogicBinaryOpF32, LogicBinaryOpI32, TrfAddress,
};
use furiosa_visa_rules::engine::switch::SwitchConfig;
use furiosa_visa_rules::engine::vector::BranchMode;
use furiosa_visa_rules::text::distance;
use serde_json::{Value, json};

/// The enumerations that calls take, with their variants. A match keeps each list complete.
macro_rules! variants {
    ($($name:ident { $($variant:ident $(($($of:tt)*))? $({ $($field:tt)* })?),* })*) => {
        const VARIANTS: &[(&str, &[&str])] = &[$((
            stringify!($name),
            &[$(concat!(stringify!($variant), $("(", stringify!($($of)*), ")")? $(" { ", stringify!($($field)*), " }")?)),*],
        )),*];

        $(const _: fn(&$name) = |value| match value { $($name::$variant { .. } => {})* };)*
    };
}

variants! {
    AccumulationKind { Interleaved, Sequential }
    BranchMode { Unconditional, AxisToggle { axis }, ValidCount, Comparison(..), Vrf }
    ClipBinaryOpF32 { Min, Max, AbsMin, AbsMax, Add }
    ClipBinaryOpI32 { Min, Max, AbsMin, AbsMax, AddFxp, AddFxpSat }
    FpBinaryOp { AddF, SubF, MulF(FpMulAlu), MaskMulF(FpMulAlu), DivF }
    FpDivBinaryOp { DivF }
    FpMulAlu { Mul0, Mul1, Fma }
    FpTernaryOp { FmaF, MaskFmaF }
    FpUnaryOp { Exp, NegExp, Sqrt, Tanh, Sigmoid, Erf, Log, Sin, Cos }
    FxpBinaryOp { AddFxp, AddFxpSat, SubFxp, SubFxpSat, LeftShift, LeftShiftSat, MulFxp, MulInt, LogicRightShift,
                  ArithRightShift, ArithRightShiftRound }
    GroupId { Zero, One }
    InterSliceReduceOpF32 { Add, Max, Min, Mul }
    InterSliceReduceOpI32 { Add, AddSat, Max, Min }
    IntraSliceReduceOpF32 { Add, Max, Min }
    IntraSliceReduceOpI32 { AddSat, Max, Min }
    LogicBinaryOpF32 { BitAnd, BitOr, BitXor }
    LogicBinaryOpI32 { BitAnd, BitOr, BitXor, LeftShift, LogicRightShift, ArithRightShift }
    SwitchConfig { Broadcast01 { slice1, slice0, time0 }, Broadcast1 { slice1, slice0 }, Transpose { slice1, slice0 },
                   InterTranspose { slice1, slice0, time0 }, TransposedBroadcast1 { slice1, slice0 },
                   CustomBroadcast { ring_size }, Forwarding }
    TrfAddress { FirstHalf, SecondHalf, Full }
}

/// Variants that every call refuses, because nothing says what they do.
const REFUSED: [&str; 4] = ["MaskMulF", "MaskFmaF", "ValidCount", "Vrf"];

/// Names of activations, which are looked for among the operators of the Vector Engine.
const ACTIVATIONS: [&str; 5] = ["gelu", "silu", "swish", "relu", "softmax"];

/// An edit, and what it replaces.
#[derive(Debug, Default, PartialEq)]
pub struct Advice {
    /// The error in other words.
    pub message: Option<String>,
    /// Another place, with the label of the place that the compiler marked.
    pub place: Option<(Value, &'static str)>,
    /// The edit.
    pub help: String,
    /// True if the compiler's own proposals stay.
    pub keeps_proposals: bool,
}

/// The edit for an error, with types in the notation of `m!`. `source` is the text of the file that it is in.
pub fn of(diagnostic: &Value, source: Option<&Source>) -> Option<Advice> {
    let spans = diagnostic["spans"].as_array()?;
    let span = spans.iter().find(|span| span["is_primary"] == true)?;
    let message = diagnostic["message"].as_str()?;
    match diagnostic["code"]["code"].as_str()? {
        "E0412" | "E0425" => unknown_axis(message, span, source),
        "E0599" => unknown_variant(message),
        "E0107" => align_without_weights(message, span),
        "E0283" | "E0284" => bare_collect(message, span),
        "E0308" => types(span, source),
        _ => None,
    }
}

/// The words between the first two backticks.
fn quoted(text: &str) -> Option<&str> {
    text.split('`').nth(1)
}

/// `` `A`, `B` and `C` ``.
fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::new(),
    }
}

fn unknown_axis(message: &str, span: &Value, source: Option<&Source>) -> Option<Advice> {
    if !message.starts_with("cannot find type `") {
        return None;
    }
    let name = quoted(message)?;
    let line = span["text"][0]["text"].as_str()?;
    let column = usize::try_from(span["column_start"].as_u64()?).ok()?.checked_sub(1)?;
    let before: String = line.chars().take(column).collect();
    let opened = before.rfind("m![")?;
    let inside = &before[opened + "m![".len()..];
    if inside.matches('[').count() < inside.matches(']').count() {
        return None;
    }
    let axes = source.map(|source| source.axes()).unwrap_or_default();
    let near = axes.iter().map(|(axis, _)| axis.as_str()).min_by_key(|axis| distance(name, axis));
    let near =
        near.filter(|axis| axis.eq_ignore_ascii_case(name) || name.len() > 2 && distance(name, axis) <= 2);
    let help = match (near, axes.last()) {
        (_, None) => format!("declare it, `axes![{name} = …];`, or import it from the module that does"),
        (near, Some((_, line))) => {
            let declared = list(axes.iter().map(|(axis, _)| axis.as_str()));
            let first = near.map(|axis| format!("write `{axis}`; ")).unwrap_or_default();
            format!(
                "{first}{declared} are declared: add `{name} = …` to `axes![…]` in line {line} for another one"
            )
        }
    };
    Some(Advice { message: Some(format!("`{name}` is no axis of this file")), help, ..Advice::default() })
}

fn unknown_variant(message: &str) -> Option<Advice> {
    let rest = message.strip_prefix("no variant")?;
    let mut words = rest.split('`');
    let (name, of) = (words.nth(1)?, words.nth(1)?);
    let of = of.split('<').next()?.rsplit("::").next()?;
    let (_, variants) = VARIANTS.iter().find(|(known, _)| *known == of)?;
    let activation = ACTIVATIONS.iter().any(|known| name.to_ascii_lowercase().contains(known));
    let help = format!(
        "`{of}` has {}{}",
        list(
            variants
                .iter()
                .copied()
                .filter(|variant| !REFUSED.iter().any(|refused| variant.starts_with(refused)))
        ),
        if activation { "; activations are those of `kernels::linear`: `visa help kernels`" } else { "" },
    );
    Some(Advice { help, keeps_proposals: true, ..Advice::default() })
}

/// The text that a span marks in its first line, and the text behind it.
fn marked(span: &Value) -> Option<(String, String)> {
    let text = &span["text"][0];
    let number = |field: &str| usize::try_from(text[field].as_u64()?).ok()?.checked_sub(1);
    let (start, end) = (number("highlight_start")?, number("highlight_end")?);
    let line: Vec<char> = text["text"].as_str()?.chars().collect();
    Some((line.get(start..end)?.iter().collect(), line[end..].iter().collect()))
}

fn bare_collect(message: &str, span: &Value) -> Option<Advice> {
    let (method, behind) = marked(span)?;
    if !message.starts_with("type annotations needed") || method != "collect" || !behind.starts_with("()") {
        return None;
    }
    Some(Advice {
        message: Some("collect: the mappings of the flits are type parameters".into()),
        help: "write `.collect_flits()`, which has the mappings that follow from the packet, or \
               `.collect::<Time, Packet>()`"
            .into(),
        ..Advice::default()
    })
}

fn align_without_weights(message: &str, span: &Value) -> Option<Advice> {
    let (method, behind) = marked(span)?;
    if !message.contains("takes 4 generic arguments but 2") || method != "align" {
        return None;
    }
    let given = behind.strip_prefix("::<").and_then(|behind| Some(&behind[..closing(behind)?]));
    let given = given.unwrap_or("OutTime, OutPacket").trim_end().trim_end_matches(',');
    Some(Advice {
        message: Some("align: the rows and the elements of the weights are type parameters, too".into()),
        help: format!("write `.align::<{given}, _, _>(…)`: both follow from the weights"),
        ..Advice::default()
    })
}

/// The place of the `>` that closes a list of parameters.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '<' | '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            '>' if depth == 0 => return Some(at),
            '>' => depth -= 1,
            _ => {}
        }
        None
    })
}

/// A type that was expected, and the one that was found.
fn types(span: &Value, source: Option<&Source>) -> Option<Advice> {
    let label = span["label"].as_str()?.strip_prefix("expected ")?;
    let (expected, found) = label.split_once(", found ")?;
    let (expected, found) = (quoted(expected)?, found.trim_matches('`'));
    if expected == "Ident" {
        return Some(Advice { help: "name the axis: `M::NAME` of the axis `M`".into(), ..Advice::default() });
    }
    if expected.starts_with("VeRhs<") {
        return operand(found, span, source);
    }
    let given = |text: &str| {
        let (name, parameters) = text.trim_start_matches('&').split_once('<')?;
        let (element, rest) = parameters.split_once(',')?;
        Some((name.to_string(), element.to_string(), rest.to_string()))
    };
    let ((name, wanted, _), (other, element, _)) = (given(expected)?, given(found)?);
    if name != other || wanted == element || [&wanted, &element].iter().any(|element| *element == "_") {
        return None;
    }
    match name.as_str() {
        "TrfTensor" => Some(Advice {
            message: Some(format!("align: the stream is of `{wanted}`, but the weights are of `{element}`")),
            help: "fetch both as one type that is multiplied, i4, i8, f8e4m3, f8e5m2 or bf16: `.fetch::<bf16, …>()` \
                   converts a tensor of f32"
                .into(),
            ..Advice::default()
        }),
        "HbmTensor" | "DmTensor" => result(&wanted, &element, span, source?),
        _ => None,
    }
}

/// An operand that is no `VeRhs`.
fn operand(found: &str, span: &Value, source: Option<&Source>) -> Option<Advice> {
    let [start, end] = ["byte_start", "byte_end"].map(|field| usize::try_from(span[field].as_u64()?).ok());
    let text = source.and_then(|source| source.text().get(start?..end?));
    let help = if found.starts_with('&') || text.is_some_and(|text| text.starts_with('&')) {
        let given = text.unwrap_or("tensor");
        let given = if given.starts_with('&') { format!("({given})") } else { given.into() };
        format!("write `{given}.into()`: a tensor in the VRF becomes an operand")
    } else if found.contains("number") || found.contains("integer") || ["f32", "i32"].contains(&found) {
        format!("write `VeRhs::constant({})`", text.unwrap_or("…"))
    } else {
        return None;
    };
    Some(Advice { help, ..Advice::default() })
}

/// A tensor whose elements are of another type than those of the result: what its stream lacks.
fn result(wanted: &str, element: &str, span: &Value, source: &Source) -> Option<Advice> {
    let at = usize::try_from(span["byte_start"].as_u64()?).ok()?;
    let text = source.text().get(at..)?;
    let name: &str = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    let statement = statement_of(source.text().get(..at)?, name)?;
    let chain = &source.text()[statement.clone()];
    let commit = chain.rfind(".commit")? + 1;
    let has = |call: &str| chain.contains(&format!(".{call}"));
    let is_fetched = chain.contains(&format!(".fetch::<{element},"));
    let place = source.span(statement.start + commit..statement.start + commit + "commit".len());
    if is_fetched && !["contract", "vector_", "cast"].iter().any(|call| has(call)) {
        return Some(Advice {
            message: Some(format!(
                "commit: the stream of `{name}` goes from `.fetch()` to `.commit()`, so that it holds `{element}` as it \
                 was read, but the result is of `{wanted}`"
            )),
            place: Some((place, "this is to be the result")),
            help: format!(
                "a product of {element} comes from `.collect()`, `.align()`, `.contract()` and `.accumulate()` before this \
                 call; numbers as they are from `.fetch::<{wanted}, …>()`"
            ),
            keeps_proposals: false,
        });
    }
    let is_computed = ["contract", "vector_"].iter().any(|call| has(call));
    if is_computed && !has("cast") && ["f32", "i32"].contains(&element) {
        return Some(Advice {
            message: Some(format!(
                "commit: `{name}` holds `{element}` as computed, but the result is of `{wanted}`"
            )),
            place: Some((place, "this is to be the result")),
            help: format!(
                "`.cast::<{wanted}, OutPacket>()` comes before this call, or the result is of `{element}`"
            ),
            keeps_proposals: false,
        });
    }
    None
}

/// Puts an edit into its diagnostic. With `verbose` what the compiler says stays beside it.
pub fn put(advice: Advice, diagnostic: &mut Value, verbose: bool) {
    if let Some(message) = advice.message {
        diagnostic["message"] = message.into();
        if let Some(spans) = diagnostic["spans"].as_array_mut() {
            spans.retain(|span| span["is_primary"] == true || verbose || advice.place.is_some());
            for span in spans.iter_mut().filter(|span| span["is_primary"] == true && !verbose) {
                span["label"] = Value::Null;
            }
        }
    }
    if let Some((place, label)) = advice.place {
        for span in diagnostic["spans"].as_array_mut().into_iter().flatten() {
            if span["is_primary"] == true {
                span["label"] = label.into();
            }
            span["is_primary"] = false.into();
        }
        if let Some(spans) = diagnostic["spans"].as_array_mut() {
            spans.insert(0, place);
        }
    }
    let help = json!({ "level": "help", "message": advice.help, "code": null, "spans": [], "children": [],
                       "rendered": null });
    if let Some(children) = diagnostic["children"].as_array_mut() {
        if !verbose {
            children.retain(|child| {
                advice.keeps_proposals && child["spans"].as_array().is_some_and(|s| !s.is_empty())
            });
        }
        children.push(help);
    }
}
