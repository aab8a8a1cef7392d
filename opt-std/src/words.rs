//! Refusals in the words of this surface.
//!
//! The rules of `furiosa-visa-std` name the calls and types of its own surface. A refusal is a text; the names in it are
//! exchanged where it is told, while compiling and at run time.

use crate::visa::PlanError;

/// Letters of the longest refusal, after the exchange.
const CAPACITY: usize = 3072;

/// A name of the other surface, and the one of this surface. A `call` is exchanged only where it is written as one: as
/// the first word, in front of `:`, `(` or `::<`, or behind `.` or a backtick.
struct Word {
    from: &'static str,
    to: &'static str,
    call: bool,
}

const fn name(from: &'static str, to: &'static str) -> Word {
    Word { from, to, call: false }
}

const fn call(from: &'static str, to: &'static str) -> Word {
    Word { from, to, call: true }
}

const WORDS: &[Word] = &[
    name("Row", "Lane"),
    name("AccumulationKind", "LaneMode"),
    name("BranchMode", "TagMode"),
    name("Unconditional", "Zero"),
    name("vector_intra_slice_branch", "vector_intra_slice_tag"),
    name("vector_split", "vector_narrow_split"),
    name("vector_trim_way4", "vector_narrow_trim"),
    name("vector_concat", "vector_widen_concat"),
    name("vector_pad_way8", "vector_widen_pad"),
    name("fetch_with_table", "fetch_table_lookup"),
    name("fetch_with_zero_point", "fetch_zero_point_sub"),
    name("dma_gather", "dma_gather_scaled"),
    name("dma_gather_rows", "dma_gather_unscaled"),
    name("dma_scatter_rows", "dma_scatter_unscaled"),
    call("align", "contract_outer"),
    call("contract", "contract_packet"),
    call("accumulate", "contract_lane"),
];

/// Operations in whose refusals a row is one of the TRF.
const OF_LANES: &[&str] = &["to_trf", "align", "contract", "accumulate", "TrfTensor"];

/// A text of bounded length.
struct Buffer {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Buffer {
    const fn push(&mut self, text: &[u8], from: usize, to: usize) {
        let mut k = from;
        while k < to && self.length < CAPACITY {
            self.bytes[self.length] = text[k];
            self.length += 1;
            k += 1;
        }
    }

    const fn push_all(&mut self, text: &str) {
        self.push(text.as_bytes(), 0, text.len());
    }
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// True if `word` stands at `from..to`.
const fn is(text: &[u8], from: usize, to: usize, word: &str) -> bool {
    let word = word.as_bytes();
    if to - from != word.len() {
        return false;
    }
    let mut k = 0;
    while k < word.len() {
        if text[from + k] != word[k] {
            return false;
        }
        k += 1;
    }
    true
}

/// True if the name at `from..to` is written as a call.
const fn is_call(text: &[u8], from: usize, to: usize) -> bool {
    let after = if to < text.len() { text[to] } else { b' ' };
    let before = if from > 0 { text[from - 1] } else { b' ' };
    matches!(after, b':' | b'(') || matches!(before, b'.' | b'`')
}

/// The name in this surface of what stands at `from..to`.
const fn exchanged(text: &[u8], from: usize, to: usize, of_lanes: bool, first: bool) -> Option<&'static str> {
    let mut k = 0;
    while k < WORDS.len() {
        let word = &WORDS[k];
        if is(text, from, to, word.from) && (!word.call || first || is_call(text, from, to)) {
            return Some(word.to);
        }
        k += 1;
    }
    if of_lanes && is(text, from, to, "row") {
        return Some("lane");
    }
    if of_lanes && is(text, from, to, "rows") {
        return Some("lanes");
    }
    None
}

/// The text with the names of this surface.
const fn in_words(text: &[u8]) -> Buffer {
    let mut buffer = Buffer { bytes: [0; CAPACITY], length: 0 };
    let (mut k, mut of_lanes, mut first) = (0, false, true);
    while k < text.len() {
        let start = k;
        while k < text.len() && is_of_name(text[k]) {
            k += 1;
        }
        if k == start {
            buffer.push(text, k, k + 1);
            k += 1;
            continue;
        }
        let is_first = first;
        if first {
            let mut at = 0;
            while at < OF_LANES.len() {
                of_lanes = of_lanes || is(text, start, k, OF_LANES[at]);
                at += 1;
            }
            first = false;
        }
        match exchanged(text, start, k, of_lanes, is_first) {
            Some(word) => buffer.push_all(word),
            None => buffer.push(text, start, k),
        }
    }
    buffer
}

/// Stops const evaluation, or the program, with the refusal in the words of this surface.
#[track_caller]
pub(crate) const fn refuse(error: &PlanError) -> ! {
    let buffer = in_words(error.message().as_bytes());
    let (text, _) = buffer.bytes.split_at(buffer.length);
    match core::str::from_utf8(text) {
        Ok(text) => panic!("{}", text),
        Err(_) => error.refuse(),
    }
}

/// The message of a fault in the words of this surface.
pub(crate) fn of_fault(text: &str) -> String {
    let said = |line: &str| {
        // The operation is the word after `fault: `.
        let (head, rest) = line.strip_prefix("fault: ").map_or(("", line), |rest| ("fault: ", rest));
        let buffer = in_words(rest.as_bytes());
        format!("{head}{}", String::from_utf8_lossy(&buffer.bytes[..buffer.length]))
    };
    text.lines().map(said).collect::<Vec<_>>().join("\n")
}

/// Mentions a constant that is refused where the call is wrong. It stands in the call that users write, so that the
/// compiler names their line.
macro_rules! check {
    ($name:ident of $plan:ty) => {
        let _ = <$plan>::$name;
    };
}

/// The plan of a call whose refusals name calls of the other surface. The tensors that it is `for` are refused first.
macro_rules! planned {
    ($name:ident of $plan:ty $(, for $($tensor:ty),+)?) => {
        const {
            $($(let _ = <$tensor as $crate::visa::engine::dma::AtRest>::ELEMENTS;)+)?
            match &<$crate::visa::surface::Late<$plan>>::$name {
                Ok(plan) => plan,
                Err(error) => $crate::words::refuse(error),
            }
        }
    };
}
pub(crate) use {check, planned};

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(text: &str, expected: &str) {
        assert_eq!(of_fault(text), expected);
    }

    #[test]
    fn names_are_exchanged_where_they_are_names() {
        becomes("to_trf: Row::SIZE must be 1, got 3 rows", "to_trf: Lane::SIZE must be 1, got 3 lanes");
        becomes(
            "align: OutPacket; help: pad it in `.align()`",
            "contract_outer: OutPacket; help: pad it in `.contract_outer()`",
        );
        becomes("fetch: rows that align with a contract", "fetch: rows that align with a contract");
        becomes("fault: accumulate: 2 rows", "fault: contract_lane: 2 lanes");
        becomes("accumulate, Interleaved: rows", "contract_lane, Interleaved: lanes");
        becomes("use `AccumulationKind::Sequential`", "use `LaneMode::Sequential`");
        becomes("vector_split: m![Row_2]", "vector_narrow_split: m![Row_2]");
        becomes("dma_gather: row 7", "dma_gather_scaled: row 7");
        becomes("ärger über `m![Zeile]`", "ärger über `m![Zeile]`");
    }

    /// The last letter that fits is kept, and the next one is left out.
    #[test]
    fn texts_are_bounded() {
        let text = |letters: usize| of_fault(&"x".repeat(letters)).len();
        assert_eq!((text(CAPACITY), text(CAPACITY + 1)), (CAPACITY, CAPACITY));
    }
}
