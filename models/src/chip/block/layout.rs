//! Axes of a block of tokens, and where its tensors lie.
//!
//! ```text
//!   cluster   half of the tokens: all products of a token are made in its cluster
//!   slice     of the tokens' vectors: 2 tokens in 4 slices, a quarter of the vector in each
//!             of queries, keys and values: 4 groups of 32 tokens, and for each of them 16 heads in 4 slices
//!             of hidden elements: 2 groups of 64 tokens, and for each of them 128 slices with 12 elements; and, where down is
//!             summed over them, 4 groups of 32 tokens, and for each of them 64 slices with 24
//! ```
//!
//! Heads have places: `G`, a group of queries that share keys, and `B`, three heads of queries and one of keys. The last `G` has
//! the three heads of values. So the 16 slices that share the keys of a head are neighbours.

#![allow(missing_docs)] // `axes!` documents no axis; the table of the module does.

use furiosa_visa_std::prelude::*;

axes![
    // Tokens of a block: half of the tokens of a cluster, half of those, and 32 of them.
    V = 2,
    W = 2,
    R = 32,
    // Places of heads.
    G = 4,
    B = 4,
    // The elements of a head while rotary pairs turn: runs of four, both elements of a pair before and behind, and two pairs.
    O = 16,
    T = 2,
    U = 2,
    P = 2,
    // Keys: those of a half of a page, and the two halves.
    S = 128,
    Z = 2,
    // All keys of a page.
    N = 256,
    // Copies for each group of tokens, and for each slice of a token.
    Q = 4,
    Y = 4,
    // Hidden elements, of gate and of up.
    F = 1536,
    I = 2,
    // The scale and the minimum of a run of codes.
    H = 2,
];

pub use crate::chip::layout::{C, D, E, L, X};

/// Half of the tokens.
pub type Cluster = m![C];
/// Slices of the vectors.
pub type XSlice = m![V, W, R / 2, X / 144];
/// The same slices, where vectors are summed over.
pub type ESlice = m![V, W, R / 2, E / 144];
/// The same slices, where they have copies.
pub type YSlice = m![V, W, R / 2, Y];
/// Slices of queries, keys and values as products leave them.
pub type QSlice = m![V, W, G, B, D / 16];
/// The same slices, while rotary pairs turn.
pub type RSlice = m![V, W, G, B, O / 4];
/// Slices of heads that have 8 tokens each.
pub type HeadSlice = m![V, W, G, B, R / 8];
/// The same slices, of queries alone.
pub type ASlice = m![V, W, G = 3 # 4, B = 3 # 4, R / 8];
/// The slices of queries, where the output of the attention is summed over them.
pub type OSlice = m![V, W, G = 3 # 4, B = 3 # 4, D / 16];
/// Slices of keys that rings pass on.
pub type KSlice = m![V, W, G = 3 # 4, S / 16, D / 32];
/// Slices of hidden elements.
pub type FSlice = m![V, F / 12];
/// Slices of hidden elements, where down is summed over them.
pub type DSlice = m![V, W, F / 24];

/// A tensor in DM.
pub type Dm<D, Slice, Element> = DmTensor<D, m![1], Cluster, Slice, Element>;
/// An operand in the vector register file.
pub type Vrf<Slice, Element> = VrfTensor<f32, m![1], Cluster, Slice, Element>;
/// Weights, keys or values in the contraction register file.
pub type Trf<Slice, Row, Element> = TrfTensor<bf16, m![1], Cluster, Slice, Row, Element>;
/// A tensor in HBM.
pub type Hbm<D, Element> = HbmTensor<D, m![1], Element>;

/// The vectors of the tokens.
pub type Vectors = Dm<f32, XSlice, m![R % 2, X % 144]>;
/// The vectors as they are, for products that stream them.
pub type Unnormed = Dm<f32, ESlice, m![R % 2, E % 144]>;
/// The vectors as products stream them.
pub type Stream = Dm<bf16, ESlice, m![R % 2, E % 144]>;
/// The vectors as an operand.
pub type Operand = Vrf<XSlice, m![R % 2, X % 144]>;

/// The vectors in half of their slices, each of which has whole units of 256 bytes.
pub type PairedVectors = Dm<f32, m![V, W, R / 2, X / 288, 1 # 2], m![R % 2, X % 288]>;
/// The vectors between two chips, slice after slice.
pub type BlockMapping = m![C, V, W, R / 2, X / 288, R % 2, X % 288];
/// The vectors in HBM.
pub type VectorsInHbm = Hbm<f32, BlockMapping>;

/// Places of operands in the vector register file, in bytes. What has a place of its own waits for nothing but its own readers.
pub mod place {
    /// Rotary factors.
    pub const FACTORS: u64 = 0;
    /// Scales and minima of weights, where layers load the rotary factors again.
    pub const SCALES: u64 = 0;
    /// Those of the output of the attention.
    pub const OUTPUT: u64 = 1152;
    /// Factors of a norm.
    pub const NORM: u64 = 3456;
    /// Vectors of the tokens.
    pub const VECTORS: u64 = 5760;
    /// The mask of the block's own page: three tables.
    pub const OWN: [u64; 3] = [6912, 7168, 7296];
    /// The mask of pages that are seen as a whole.
    pub const WHOLE: [u64; 3] = [7424, 7680, 7808];
    /// A mean for each token.
    pub const MEANS: u64 = 7936;
    /// A sum for each token.
    pub const SUMS: u64 = 8064;
}
