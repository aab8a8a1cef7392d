//! Sizes of SmolLM2-135M. Shapes of kernels are types, so that they are constants; the number of layers alone is a value.

/// Layers of the whole network.
pub const LAYERS: usize = 30;
/// Elements of the vector of a token.
pub const HIDDEN: usize = 576;
/// Heads of the queries.
pub const HEADS: usize = 9;
/// Heads of the keys and of the values. Query head `h` uses head `h / 3`.
pub const KEY_VALUE_HEADS: usize = 3;
/// Elements of a head.
pub const HEAD: usize = 64;
/// Elements of the keys, or of the values, of a token.
pub const KEY_VALUE: usize = KEY_VALUE_HEADS * HEAD;
/// Elements between the gate and the down projection.
pub const GATE: usize = 1536;
/// Tokens of the vocabulary.
pub const VOCABULARY: usize = 49_152;
/// Tokens that the network was trained to look back on.
pub const CONTEXT: usize = 8192;
/// Addend to the mean square of a norm.
pub const EPSILON: f32 = 1e-5;
/// Pair `i` of a head turns by `position / ROTARY_BASE^(2 i / HEAD)`. Its elements are `2 i` and `2 i + 1`.
pub const ROTARY_BASE: f32 = 100_000.0;

const _: () = assert!(HEADS * HEAD == HIDDEN && HEADS.is_multiple_of(KEY_VALUE_HEADS));
