//! Files that the tests write, and what is refused of them.

use super::*;
use half::f16;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io::Cursor;

/// A value of a header: its type and its bytes.
#[derive(Clone)]
pub(crate) struct Value(pub u32, pub Vec<u8>);

impl Value {
    pub fn u32(value: u32) -> Self {
        Self(4, value.to_le_bytes().to_vec())
    }

    fn f32(value: f32) -> Self {
        Self(6, value.to_le_bytes().to_vec())
    }

    pub fn text(value: &str) -> Self {
        Self(8, text(value))
    }
}

#[derive(Clone)]
struct Tensor {
    name: String,
    /// Columns first.
    axes: Vec<u64>,
    dtype: u32,
    offset: u64,
}

/// A file with one layer and zeros as data.
#[derive(Clone)]
pub(crate) struct Draft {
    pub keys: Vec<(&'static str, Value)>,
    tensors: Vec<Tensor>,
    /// Bytes of data.
    data: u64,
}

pub(crate) fn text(value: &str) -> Vec<u8> {
    [&(value.len() as u64).to_le_bytes(), value.as_bytes()].concat()
}

impl Draft {
    pub fn new() -> Self {
        let keys = vec![
            ("general.architecture", Value::text("llama")),
            ("llama.block_count", Value::u32(1)),
            ("llama.embedding_length", Value::u32(576)),
            ("llama.feed_forward_length", Value::u32(1536)),
            ("llama.attention.head_count", Value::u32(9)),
            ("llama.attention.head_count_kv", Value::u32(3)),
            ("llama.rope.freq_base", Value::f32(100_000.0)),
            ("llama.attention.layer_norm_rms_epsilon", Value::f32(1e-5)),
            ("llama.vocab_size", Value::u32(49_152)),
            ("llama.rope.dimension_count", Value::u32(64)),
        ];
        let mut draft = Self { keys, tensors: Vec::new(), data: 0 };
        for (name, rows, columns) in [
            ("token_embd", 49_152, 576),
            ("blk.0.attn_norm", 1, 576),
            ("blk.0.ffn_down", 576, 1536),
            ("blk.0.ffn_gate", 1536, 576),
            ("blk.0.ffn_up", 1536, 576),
            ("blk.0.ffn_norm", 1, 576),
            ("blk.0.attn_k", 192, 576),
            ("blk.0.attn_output", 576, 576),
            ("blk.0.attn_q", 576, 576),
            ("blk.0.attn_v", 192, 576),
            ("output_norm", 1, 576),
        ] {
            let (dtype, bytes) = match name {
                "token_embd" => (8, rows * columns / 32 * 34),
                _ if rows == 1 => (0, columns * 4),
                _ => (3, rows * columns / 32 * 20),
            };
            let axes = if rows == 1 { vec![columns] } else { vec![columns, rows] };
            draft.tensors.push(Tensor { name: format!("{name}.weight"), axes, dtype, offset: draft.data });
            draft.data += bytes;
        }
        draft
    }

    fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap()
    }

    pub fn key(&mut self, name: &str) -> &mut Value {
        &mut self.keys.iter_mut().find(|(key, _)| *key == name).unwrap().1
    }

    /// The bytes in front of the data.
    fn header(&self) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.keys.len() as u64).to_le_bytes());
        for (key, Value(kind, value)) in &self.keys {
            bytes.extend(text(key));
            bytes.extend(kind.to_le_bytes());
            bytes.extend(value);
        }
        for tensor in &self.tensors {
            bytes.extend(text(&tensor.name));
            bytes.extend((tensor.axes.len() as u32).to_le_bytes());
            tensor.axes.iter().for_each(|axis| bytes.extend(axis.to_le_bytes()));
            bytes.extend(tensor.dtype.to_le_bytes());
            bytes.extend(tensor.offset.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes
    }

    pub fn open(&self) -> Gguf<Sparse> {
        open(self.file()).unwrap()
    }

    fn file(&self) -> Sparse {
        let header = self.header();
        let bytes = header.len() as u64 + self.data;
        Sparse { start: Cursor::new(header), bytes }
    }
}

/// A file of given bytes and zeros behind them.
#[derive(Debug)]
pub(crate) struct Sparse {
    start: Cursor<Vec<u8>>,
    bytes: u64,
}

impl Read for Sparse {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let at = self.start.position();
        let count = self.bytes.saturating_sub(at).min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..count];
        buffer.fill(0);
        let _ = self.start.read(buffer)?;
        self.start.set_position(at + count as u64);
        Ok(count)
    }
}

impl Seek for Sparse {
    fn seek(&mut self, position: SeekFrom) -> std::io::Result<u64> {
        let position = match position {
            SeekFrom::End(0) => SeekFrom::Start(self.bytes),
            other => other,
        };
        self.start.seek(position)
    }
}

fn open(file: Sparse) -> Result<Gguf<Sparse>, Refusal> {
    Gguf::new(file, "m.gguf".to_string())
}

/// The message about a file that `change` makes wrong, between the file's name and the edit.
fn message(file: Sparse) -> String {
    let message = open(file).unwrap_err().0;
    let inner = message.strip_prefix("`m.gguf`").and_then(|message| message.strip_suffix(EDIT));
    let inner = inner.unwrap_or_else(|| panic!("{message}"));
    inner.trim_start_matches([':', ' ']).trim_end_matches([';', ' ']).to_string()
}

fn refused(change: impl Fn(&mut Draft)) -> String {
    let mut draft = Draft::new();
    change(&mut draft);
    message(draft.file())
}

/// The file of a draft with these weights.
pub(crate) fn with(draft: &Draft, weights: &Weights) -> Vec<u8> {
    let mut bytes = draft.header();
    let layer = &weights.layers[0];
    let vector = |bytes: &mut Vec<u8>, values: &[f32]| {
        values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    };
    let matrix = |bytes: &mut Vec<u8>, matrix: &Matrix| match &matrix.storage {
        Storage::Q4_1(blocks) => blocks.iter().for_each(|block| {
            bytes.extend(block.scale.to_le_bytes());
            bytes.extend(block.minimum.to_le_bytes());
            bytes.extend(block.codes);
        }),
        Storage::Q8_0(blocks) => blocks.iter().for_each(|block| {
            bytes.extend(block.scale.to_le_bytes());
            bytes.extend(block.codes.map(|code| code as u8));
        }),
    };
    matrix(&mut bytes, &weights.embedding);
    vector(&mut bytes, &layer.attn_norm);
    [&layer.down, &layer.gate, &layer.up].into_iter().for_each(|each| matrix(&mut bytes, each));
    vector(&mut bytes, &layer.ffn_norm);
    [&layer.k, &layer.o, &layer.q, &layer.v].into_iter().for_each(|each| matrix(&mut bytes, each));
    vector(&mut bytes, &weights.output_norm);
    bytes
}

#[test]
fn weights_come_back() {
    let mut weights = Weights::synthetic(1, 11);
    let read = |weights: &Weights| {
        let mut file = Gguf::new(Cursor::new(with(&Draft::new(), weights)), "m.gguf".to_string()).unwrap();
        assert_eq!(file.layers(), 1);
        file.weights(1)
    };
    assert!(read(&weights).unwrap() == weights);
    weights.layers[0].ffn_norm[5] = f32::NAN;
    let message = read(&weights).unwrap_err().0;
    assert!(message.contains("`blk.0.ffn_norm.weight`: the factor 5 is infinite or no number"), "{message}");
    let Storage::Q4_1(blocks) = &mut weights.layers[0].v.storage else { panic!("codes have 4 bits") };
    blocks[7].minimum = f16::NEG_INFINITY;
    let message = read(&weights).unwrap_err().0;
    assert!(
        message.contains("`blk.0.attn_v.weight`: the scale or minimum of block 7 is infinite"),
        "{message}"
    );
}

#[test]
fn layers_that_are_not_there_are_refused() {
    let message = open(Draft::new().file()).unwrap().weights(2).unwrap_err().0;
    assert_eq!(message, "`m.gguf` has 1 layers, and 2 are asked for; ask for 1");
}

#[test]
fn files_of_another_kind_are_refused() {
    let bytes =
        |bytes: &[u8]| message(Sparse { start: Cursor::new(bytes.to_vec()), bytes: bytes.len() as u64 });
    assert_eq!(bytes(b""), "the header cannot be read: the file ends in it, after 0 bytes");
    assert_eq!(
        bytes(b"PK\x03\x04 and more than a header of text"),
        "is no GGUF file: its first bytes are not `GGUF`"
    );
    assert_eq!(bytes(b"GGUF\x03\0\0\0"), "the header cannot be read: the file ends in it, after 8 bytes");
    let old = bytes(&[b"GGUF\x02\0\0\0".as_slice(), &[0; 16]].concat());
    assert!(old.starts_with("the header cannot be read: ") && old.ends_with('2'), "{old}");
    let message = Gguf::open(Path::new("/no/such/file.gguf")).unwrap_err().0;
    assert!(
        message.starts_with("`/no/such/file.gguf` cannot be read: ") && message.ends_with(EDIT),
        "{message}"
    );
    let message = Gguf::open(&std::env::temp_dir()).unwrap_err().0;
    assert!(message.ends_with(&format!("is a folder; {EDIT}")), "{message}");
}

#[test]
fn networks_of_other_sizes_are_refused() {
    for (key, value, expected) in [
        ("general.architecture", Value::text("qwen2"), "is `qwen2`; it must be `llama`"),
        ("llama.embedding_length", Value::u32(960), "is 960; it must be 576"),
        ("llama.attention.head_count", Value::u32(15), "is 15; it must be 9"),
        ("llama.attention.head_count_kv", Value::text("3"), "is `3`; it must be 3"),
        ("llama.rope.dimension_count", Value::u32(32), "is 32; it must be 64"),
        ("llama.feed_forward_length", Value::u32(2560), "is 2560; it must be 1536"),
        ("llama.vocab_size", Value::u32(32_000), "is 32000; it must be 49152"),
        ("llama.rope.freq_base", Value::f32(10_000.0), "is 10000; it must be 100000 as f32"),
        (
            "llama.attention.layer_norm_rms_epsilon",
            Value::f32(1e-6),
            "is 0.000001; it must be 0.00001 as f32",
        ),
        ("llama.block_count", Value::u32(0), "is 0; it must be a number from 1 to 30"),
        ("llama.block_count", Value::u32(31), "is 31; it must be a number from 1 to 30"),
    ] {
        assert_eq!(refused(|draft| *draft.key(key) = value.clone()), format!("`{key}` {expected}"));
        let missing = refused(|draft| draft.keys.retain(|(name, _)| *name != key));
        assert!(missing.starts_with(&format!("`{key}` is missing; it must be ")), "{missing}");
    }
}

#[test]
fn tensors_that_differ_are_refused_by_name() {
    let q = "blk.0.attn_q.weight";
    let must = "it must have 576 rows of 576 elements of Q4_1";
    for (message, expected) in [
        (
            refused(|draft| draft.tensors.retain(|tensor| tensor.name != q)),
            format!("`{q}` is missing; {must}"),
        ),
        (
            refused(|draft| draft.tensor(q).axes = vec![576, 512]),
            format!("`{q}` has 512 rows of 576 elements of Q4_1; {must}"),
        ),
        (
            refused(|draft| draft.tensor(q).axes = vec![331_776]),
            format!("`{q}` has 331776 elements of Q4_1; {must}"),
        ),
        (refused(|draft| draft.tensor(q).axes = vec![576, 576, 1]), format!("`{q}` has 3 axes; {must}")),
        (
            refused(|draft| draft.tensor(q).dtype = 1),
            format!("`{q}` has 576 rows of 576 elements of F16; {must}"),
        ),
        (
            refused(|draft| draft.tensor("output_norm.weight").dtype = 1),
            "`output_norm.weight` has 576 elements of F16; it must have 576 elements of F32".into(),
        ),
        (
            refused(|draft| *draft.key("llama.block_count") = Value::u32(2)),
            "`blk.1.attn_norm.weight` is missing; it must have 576 elements of F32".into(),
        ),
        (refused(|draft| draft.tensor(q).name = "output.weight".into()), format!("`{q}` is missing; {must}")),
        (
            refused(|draft| {
                let more = Tensor { name: "output.weight".into(), ..draft.tensor(q).clone() };
                draft.tensors.push(more);
            }),
            "`output.weight` is no tensor of SmolLM2-135M with 1 layers".into(),
        ),
        (
            refused(|draft| {
                let more = draft.tensor(q).clone();
                draft.tensors.push(more);
            }),
            format!("`{q}` is there twice"),
        ),
    ] {
        assert_eq!(message, expected);
    }
    for broken in [
        refused(|draft| draft.tensor(q).dtype = 99),
        refused(|draft| draft.tensor(q).axes = vec![u64::MAX, 32]),
        refused(|draft| draft.tensor(q).axes = vec![577, 576]),
        refused(|draft| draft.tensor(q).axes = vec![32; 5]),
    ] {
        assert!(broken.starts_with(&format!("`{q}` cannot be read: ")), "{broken}");
    }
}

#[test]
fn tensors_outside_of_the_file_are_refused_by_name() {
    let header = Draft::new().header().len() as u64;
    let end = header + Draft::new().data;
    assert_eq!(
        refused(|draft| draft.data -= 1),
        format!("`output_norm.weight` ends at byte {end}, but the file has {}: it is cut", end - 1)
    );
    let message = refused(|draft| draft.data /= 2);
    assert!(message.starts_with("`token_embd.weight` ends at byte "), "{message}");
    let message = refused(|draft| draft.tensor("blk.0.ffn_up.weight").offset = u64::MAX - 31);
    assert_eq!(
        message,
        format!("`blk.0.ffn_up.weight` begins at byte {}, but the file has {end}", u64::MAX - 31)
    );
    let message = refused(|draft| draft.tensor("blk.0.attn_norm.weight").offset -= 32);
    let expected = "`token_embd.weight` ends at byte ";
    assert!(
        message.starts_with(expected) && message.contains("but `blk.0.attn_norm.weight` begins at"),
        "{message}"
    );
}

#[test]
fn sizes_in_a_header_that_no_file_has_are_refused() {
    let at = |at: usize, bytes: &[u8]| {
        let mut file = Draft::new().file();
        file.start.get_mut()[at..][..bytes.len()].copy_from_slice(bytes);
        message(file)
    };
    let huge = u64::MAX.to_le_bytes();
    for message in [at(8, &huge), at(16, &huge)] {
        assert!(message.starts_with("the header cannot be read: "), "{message}");
    }
    // The length of the first key, and of its value.
    for message in [at(24, &huge), at(24 + 8 + 20 + 4, &huge)] {
        assert!(message.starts_with("the table of keys cannot be read: "), "{message}");
    }
    let array = |kind: u32, count: u64| [kind.to_le_bytes().as_slice(), &count.to_le_bytes()].concat();
    for bytes in [array(8, u64::MAX), array(0, 1 << 40), array(0, 3 << 20), array(9, 1).repeat(200)] {
        let message = refused(|draft| draft.keys.push(("array", Value(9, bytes.clone()))));
        assert!(message.starts_with("the table of keys cannot be read: "), "{message}");
    }
    for alignment in [0, 3, u32::MAX] {
        let message = refused(|draft| draft.keys.push(("general.alignment", Value::u32(alignment))));
        assert!(message.contains("lignment") || message.contains("ends at byte"), "{message}");
    }
}

#[test]
fn headers_that_are_cut_are_refused() {
    let header = Draft::new().header();
    for bytes in 0..header.len() {
        let message = message(Sparse { start: Cursor::new(header[..bytes].to_vec()), bytes: bytes as u64 });
        assert!(
            message.contains("cannot be read") || message.contains("but the file has"),
            "{bytes}: {message}"
        );
    }
}

#[test]
fn headers_with_flipped_bits_are_refused_or_read() {
    let variable = |name: &str| std::env::var(name).ok().map(|value| value.parse().unwrap());
    let (seed, cases) = (variable("VISA_SEED").unwrap_or(39), variable("VISA_CASES").unwrap_or(4000));
    let mut random = SmallRng::seed_from_u64(seed);
    let draft = Draft::new();
    let (header, mut read) = (draft.header(), 0);
    for case in 0..cases {
        let mut file = draft.file();
        for _ in 0..random.random_range(1..4) {
            file.start.get_mut()[random.random_range(0..header.len())] ^= 1 << random.random_range(0..8);
        }
        match open(file) {
            Ok(_) => read += 1,
            Err(Refusal(message)) => {
                assert!(message.contains("m.gguf"), "seed {seed}, case {case}: {message}")
            }
        }
    }
    // Bits of the padding, for example, have no effect.
    assert!(read < cases / 10, "seed {seed}: {read} of {cases} were read");
}
