//! The network in a GGUF file.
//!
//! All that the header says is compared with what the network must have before any tensor is read, so that memory is allocated
//! by known sizes alone. The header is read by a crate that limits what it allocates by what the file holds.

use crate::config::{EPSILON, GATE, HEAD, HEADS, HIDDEN, KEY_VALUE_HEADS, LAYERS, ROTARY_BASE, VOCABULARY};
use crate::matrix::{BlockQ4_1, BlockQ8_0, Matrix, Storage};
use crate::refusal::{Refusal, shown};
use crate::weights::{Layer, Weights};
use gguf_rs_lib::error::GGUFError;
use gguf_rs_lib::format::header::{GGUFHeader, TensorInfo};
use gguf_rs_lib::format::{GGUFTensorType, Metadata, MetadataValue};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// The most bytes of a header, and of what is read from it: some ten times those of this network's.
const MAX_HEADER_BYTES: usize = 64 << 20;

/// Closing words of refusals.
const EDIT: &str = "give the file that `models/fetch.sh` fetches";

/// Names of a layer's matrices in a file, in the order of [`Layer::SHAPES`].
const MATRICES: [&str; 7] = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];

/// Names of a layer's norms.
const NORMS: [&str; 2] = ["attn_norm", "ffn_norm"];

const EMBEDDING: &str = "token_embd.weight";
const OUTPUT_NORM: &str = "output_norm.weight";

/// An open file whose header is that of the network.
#[derive(Debug)]
pub struct Gguf<R> {
    /// Name of the file in messages.
    name: String,
    reader: R,
    metadata: Metadata,
    layers: usize,
    /// First byte and number of bytes of each tensor.
    ranges: BTreeMap<String, (u64, usize)>,
}

/// Type and shape of a tensor, rows first; a vector has one row.
#[derive(Clone, Copy, PartialEq)]
struct Form {
    dtype: GGUFTensorType,
    rows: u64,
    columns: u64,
}

impl Form {
    fn new(dtype: GGUFTensorType, rows: usize, columns: usize) -> Self {
        Self { dtype, rows: rows as u64, columns: columns as u64 }
    }

    fn vector() -> Self {
        Self::new(GGUFTensorType::F32, 1, HIDDEN)
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rows {
            1 => write!(f, "{} elements of {}", self.columns, self.dtype.name()),
            rows => write!(f, "{rows} rows of {} elements of {}", self.columns, self.dtype.name()),
        }
    }
}

impl Gguf<std::io::BufReader<std::fs::File>> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or as [`Gguf::new`].
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let name = path.display().to_string();
        let is_folder = path.is_dir();
        match std::fs::File::open(path) {
            Ok(file) if !is_folder => Self::new(std::io::BufReader::new(file), name),
            Ok(_) => Err(format!("`{name}` is a folder; {EDIT}").into()),
            Err(error) => Err(format!("`{name}` cannot be read: {error}; {EDIT}").into()),
        }
    }
}

impl<R: Read + Seek> Gguf<R> {
    /// Reads the header. `name` is the name of the file in messages.
    ///
    /// # Errors
    ///
    /// If the file is no GGUF file, is cut, or is of another network: with the first tensor or key that is not as it must be.
    pub fn new(mut reader: R, name: String) -> Result<Self, Refusal> {
        let bytes = length(&mut reader).map_err(|error| unreadable(&name, &error))?;
        let broken = |part: &str, error: &GGUFError| -> Refusal {
            let reason = match error {
                GGUFError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    format!("the file ends in it, after {bytes} bytes")
                }
                GGUFError::InvalidMagic { .. } => {
                    return format!("`{name}` is no GGUF file: its first bytes are not `GGUF`; {EDIT}")
                        .into();
                }
                other => other.to_string(),
            };
            format!("`{name}`: {part} cannot be read: {reason}; {EDIT}").into()
        };
        let header = GGUFHeader::read_from(&mut reader).map_err(|error| broken("the header", &error))?;
        header.validate_comprehensive().map_err(|error| broken("the header", &error))?;
        let limit = MAX_HEADER_BYTES;
        let metadata = Metadata::read_from_with_limits(&mut reader, header.metadata_kv_count, limit, limit)
            .map_err(|error| broken("the table of keys", &error))?;
        let alignment = metadata.tensor_alignment().map_err(|error| broken("`general.alignment`", &error))?;
        let layers =
            check_keys(&metadata).map_err(|message| Refusal(format!("`{name}`: {message}; {EDIT}")))?;

        let mut tensors = BTreeMap::new();
        for _ in 0..header.tensor_count {
            let start = reader.stream_position().map_err(|error| unreadable(&name, &error))?;
            let tensor = TensorInfo::read_from(&mut reader).map_err(|error| {
                let tensor = name_at(&mut reader, start);
                broken(&tensor.map_or("the table of tensors".into(), |name| format!("`{name}`")), &error)
            })?;
            if let Some(twice) = tensors.insert(tensor.name.clone(), tensor) {
                return Err(format!("`{name}`: `{}` is there twice; {EDIT}", twice.name).into());
            }
        }
        let end = reader.stream_position().map_err(|error| unreadable(&name, &error))?;
        let data = end.checked_next_multiple_of(alignment as u64).unwrap_or(u64::MAX);
        let ranges = check_tensors(&tensors, layers, data, bytes)
            .map_err(|message| Refusal(format!("`{name}`: {message}; {EDIT}")))?;
        Ok(Self { name, reader, metadata, layers, ranges })
    }

    /// Number of layers in the file.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// A value of the header.
    pub(crate) fn value(&self, key: &str) -> Option<&MetadataValue> {
        self.metadata.get(key)
    }

    /// Reads the embedding, the last norm, and the first `layers` layers.
    ///
    /// # Errors
    ///
    /// If there are fewer layers, if the file cannot be read, or if a scale or a factor is not finite.
    pub fn weights(&mut self, layers: usize) -> Result<Weights, Refusal> {
        if layers > self.layers {
            let (name, has) = (&self.name, self.layers);
            return Err(
                format!("`{name}` has {has} layers, and {layers} are asked for; ask for {has}").into()
            );
        }
        let embedding = self.matrix(EMBEDDING, VOCABULARY, HIDDEN)?;
        let layers = (0..layers).map(|layer| self.layer(layer)).collect::<Result<_, _>>()?;
        let output_norm = self.vector(OUTPUT_NORM)?;
        Ok(Weights { embedding, layers, output_norm })
    }

    fn layer(&mut self, layer: usize) -> Result<Layer, Refusal> {
        let mut matrix = |at: usize| {
            let (rows, columns) = Layer::SHAPES[at];
            self.matrix(&part(layer, MATRICES[at]), rows, columns)
        };
        let (q, k, v, o) = (matrix(0)?, matrix(1)?, matrix(2)?, matrix(3)?);
        let (gate, up, down) = (matrix(4)?, matrix(5)?, matrix(6)?);
        let [attn_norm, ffn_norm] = NORMS.map(|norm| self.vector(&part(layer, norm)));
        Ok(Layer { attn_norm: attn_norm?, q, k, v, o, ffn_norm: ffn_norm?, gate, up, down })
    }

    /// The bytes of a tensor, whose range is within the file.
    fn bytes(&mut self, tensor: &str) -> Result<Vec<u8>, Refusal> {
        let (start, bytes) = self.ranges[tensor];
        let mut data = vec![0; bytes];
        let read = self.reader.seek(SeekFrom::Start(start)).and_then(|_| self.reader.read_exact(&mut data));
        match read {
            Ok(()) => Ok(data),
            Err(error) => Err(format!("`{}`: `{tensor}` cannot be read: {error}; {EDIT}", self.name).into()),
        }
    }

    fn vector(&mut self, tensor: &str) -> Result<Vec<f32>, Refusal> {
        let bytes = self.bytes(tensor)?;
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        self.check_finite(tensor, "factor", values.iter().position(|value| !value.is_finite()))?;
        Ok(values)
    }

    fn matrix(&mut self, tensor: &str, rows: usize, columns: usize) -> Result<Matrix, Refusal> {
        let bytes = self.bytes(tensor)?;
        let (storage, wrong) = if tensor == EMBEDDING {
            let blocks: Vec<BlockQ8_0> = bytes.as_chunks().0.iter().map(BlockQ8_0::from_bytes).collect();
            let wrong = blocks.iter().position(|block| !block.scale.is_finite());
            (Storage::Q8_0(blocks), wrong)
        } else {
            let blocks: Vec<BlockQ4_1> = bytes.as_chunks().0.iter().map(BlockQ4_1::from_bytes).collect();
            let wrong =
                blocks.iter().position(|block| !(block.scale.is_finite() && block.minimum.is_finite()));
            (Storage::Q4_1(blocks), wrong)
        };
        self.check_finite(tensor, "scale or minimum of block", wrong)?;
        Ok(Matrix { rows, columns, storage })
    }

    fn check_finite(&self, tensor: &str, what: &str, wrong: Option<usize>) -> Result<(), Refusal> {
        let Some(at) = wrong else { return Ok(()) };
        let name = &self.name;
        Err(format!("`{name}`: `{tensor}`: the {what} {at} is infinite or no number; {EDIT}").into())
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Refusal {
    format!("`{name}` cannot be read: {error}; {EDIT}").into()
}

/// Bytes of a file, which is then at its start.
fn length(reader: &mut impl Seek) -> std::io::Result<u64> {
    let bytes = reader.seek(SeekFrom::End(0))?;
    reader.rewind()?;
    Ok(bytes)
}

/// The name of a tensor whose entry is broken behind it.
fn name_at(reader: &mut (impl Read + Seek), start: u64) -> Option<String> {
    reader.seek(SeekFrom::Start(start)).ok()?;
    let mut length = [0; 8];
    reader.read_exact(&mut length).ok()?;
    let length =
        usize::try_from(u64::from_le_bytes(length)).ok().filter(|length| (1..=64).contains(length))?;
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|name| !name.contains(char::is_control))
}

fn part(layer: usize, name: &str) -> String {
    format!("blk.{layer}.{name}.weight")
}

/// Compares the sizes of the network with those of a file, and returns its number of layers.
fn check_keys(metadata: &Metadata) -> Result<usize, String> {
    let shown = |key: &str| match metadata.get(key) {
        None => "missing".to_string(),
        Some(MetadataValue::Array(array)) => format!("an array of {} values", array.len()),
        Some(MetadataValue::String(text)) => format!("`{}`", shown(text)),
        Some(value) => value.to_string_representation(),
    };
    let text = |key: &str| metadata.get(key).and_then(MetadataValue::as_str);
    let number = |key: &str| metadata.get(key).and_then(MetadataValue::as_u64);
    let key = "general.architecture";
    if text(key) != Some("llama") {
        return Err(format!("`{key}` is {}; it must be `llama`", shown(key)));
    }
    for (key, must) in [
        ("llama.embedding_length", HIDDEN),
        ("llama.attention.head_count", HEADS),
        ("llama.attention.head_count_kv", KEY_VALUE_HEADS),
        ("llama.rope.dimension_count", HEAD),
        ("llama.feed_forward_length", GATE),
        ("llama.vocab_size", VOCABULARY),
    ] {
        if number(key) != Some(must as u64) {
            return Err(format!("`{key}` is {}; it must be {must}", shown(key)));
        }
    }
    for (key, must) in
        [("llama.rope.freq_base", ROTARY_BASE), ("llama.attention.layer_norm_rms_epsilon", EPSILON)]
    {
        if metadata.get(key) != Some(&MetadataValue::F32(must)) {
            return Err(format!("`{key}` is {}; it must be {must} as f32", shown(key)));
        }
    }
    let key = "llama.block_count";
    match number(key).and_then(|layers| usize::try_from(layers).ok()) {
        Some(layers) if (1..=LAYERS).contains(&layers) => Ok(layers),
        _ => Err(format!("`{key}` is {}; it must be a number from 1 to {LAYERS}", shown(key))),
    }
}

/// Compares tensors with those that the network must have. `data` is the first byte of data in a file of `bytes` bytes.
fn check_tensors(
    tensors: &BTreeMap<String, TensorInfo>,
    layers: usize,
    data: u64,
    bytes: u64,
) -> Result<BTreeMap<String, (u64, usize)>, String> {
    let mut musts = vec![
        (EMBEDDING.to_string(), Form::new(GGUFTensorType::Q8_0, VOCABULARY, HIDDEN)),
        (OUTPUT_NORM.to_string(), Form::vector()),
    ];
    for layer in 0..layers {
        musts.extend(NORMS.map(|name| (part(layer, name), Form::vector())));
        musts.extend(MATRICES.into_iter().zip(Layer::SHAPES).map(|(name, (rows, columns))| {
            (part(layer, name), Form::new(GGUFTensorType::Q4_1, rows, columns))
        }));
    }
    let mut ranges = BTreeMap::new();
    for (name, must) in musts {
        let Some(tensor) = tensors.get(&name) else {
            return Err(format!("`{name}` is missing; it must have {must}"));
        };
        let given =
            GGUFTensorType::from_u32(tensor.tensor_type).map_err(|error| format!("`{name}`: {error}"))?;
        let found = match *tensor.dimensions {
            [columns] => Form { dtype: given, rows: 1, columns },
            [columns, rows] => Form { dtype: given, rows, columns },
            _ => {
                let axes = tensor.dimensions.len();
                return Err(format!("`{name}` has {axes} axes; it must have {must}"));
            }
        };
        if found != must {
            return Err(format!("`{name}` has {found}; it must have {must}"));
        }
        let size = given.checked_calculate_size(must.rows * must.columns);
        let size = size.expect("the types of the network have a size");
        let start = data.checked_add(tensor.offset);
        match start.and_then(|start| start.checked_add(size)) {
            Some(end) if end <= bytes => ranges.insert(name, (end - size, size as usize)),
            Some(end) => {
                return Err(format!("`{name}` ends at byte {end}, but the file has {bytes}: it is cut"));
            }
            None => {
                let offset = tensor.offset;
                return Err(format!("`{name}` begins at byte {offset}, but the file has {bytes}"));
            }
        };
    }
    if let Some(name) = tensors.keys().find(|name| !ranges.contains_key(*name)) {
        return Err(format!("`{name}` is no tensor of SmolLM2-135M with {layers} layers"));
    }
    check_overlaps(&ranges)?;
    Ok(ranges)
}

fn check_overlaps(ranges: &BTreeMap<String, (u64, usize)>) -> Result<(), String> {
    let mut sorted: Vec<_> = ranges.iter().map(|(name, &(start, size))| (start, size as u64, name)).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        let ((start, size, name), (next, _, other)) = (pair[0], pair[1]);
        if start + size > next {
            let end = start + size;
            return Err(format!("`{name}` ends at byte {end}, but `{other}` begins at byte {next}"));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
