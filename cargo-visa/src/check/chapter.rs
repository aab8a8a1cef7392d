//! Chapters of the guide for calls.

/// Chapters, and the beginnings of the calls and words that they explain. The first one that fits is taken.
const CHAPTERS: [(&str, &[&str]); 9] = [
    ("mappings", &["mapping "]),
    ("sequencers", &["read", "write"]),
    ("switch", &["switch"]),
    ("fetch", &["fetch", "begin", "windows", "lookup table"]),
    ("contraction", &["collect", "align", "contract", "accumulate", "to_trf", "TrfTensor", "Contraction"]),
    ("vector", &["vector", "to_vrf", "VrfTensor", "ArrayVec"]),
    ("cast_transpose_commit", &["cast", "transpose", "commit"]),
    (
        "kernels",
        &[
            "linear",
            "product",
            "tiled_product",
            "softmax",
            "rms_norm",
            "layer_norm",
            "root_mean_square",
            "mean",
            "add",
            "multiply",
            "sum_over_slices",
            "load_weights",
            "load_operand",
            "argmax",
            "top_k",
            "kernels",
        ],
    ),
    (
        "memories_and_dma",
        &[
            "to_dm",
            "to_hbm",
            "to_host",
            "dma_",
            "dm_",
            "hbm_",
            "parallel_copy",
            "copy_to_slice",
            "tile",
            "pad",
            "unpad",
            "reshape",
            "relabel",
            "memset",
            "DmTensor",
            "HbmTensor",
            "split_tiles",
        ],
    ),
];

/// The chapter that explains a refusal, by its first word, or a call, by its name.
pub fn chapter_of(words: &str) -> Option<&'static str> {
    let operation = words.split([':', ',', '`']).next()?;
    let begins = |start: &&str| {
        operation
            .strip_prefix(*start)
            .is_some_and(|rest| start.ends_with(['_', ' ']) || !rest.starts_with(char::is_alphanumeric))
    };
    CHAPTERS.iter().find(|(_, starts)| starts.iter().any(begins)).map(|(chapter, _)| *chapter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide;

    #[test]
    fn calls_have_their_chapters() {
        for (words, chapter) in [
            ("fetch: a packet `m![B]` of i8 holds 5 bytes", "fetch"),
            ("fetch_with_table: the table", "fetch"),
            ("accumulate, Interleaved: OutTime is", "contraction"),
            ("align, TRF sequencer: the buffer", "contraction"),
            ("contract_outer: the packet", "contraction"),
            ("vector_intra_slice_reduce: OutTime", "vector"),
            ("vector operand: it", "vector"),
            ("commit_cast: the packet", "cast_transpose_commit"),
            ("to_dm: the destination", "memories_and_dma"),
            ("tile: the", "memories_and_dma"),
            ("tiled_product: a row", "kernels"),
            ("mapping `m![A / 3]`: 8", "mappings"),
            ("top_k: 9", "kernels"),
        ] {
            assert_eq!(chapter_of(words), Some(chapter), "{words}");
        }
        for words in ["", "mismatched types", "reader: a", "to_dmx: a", "address: 3"] {
            assert_eq!(chapter_of(words), None, "{words}");
        }
    }

    #[test]
    fn chapters_are_in_the_guide() {
        for (chapter, _) in CHAPTERS {
            assert!(guide::CHAPTERS.iter().any(|known| known.name == chapter), "{chapter}");
        }
    }
}
