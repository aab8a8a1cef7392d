//! Axes of the network, and where each tensor lies.
//!
//! ```text
//!   cluster   C      both clusters have a copy of the token's vector, and make the attention of it; of the hidden
//!                    elements between gate and down, each has half, and of the vocabulary
//!   slice     of a vector of 576: 72 slices have 8 elements each, 9 of the 32 of each Data Memory Network; the slice behind
//!             each of them is free, so that two can share a sum
//!             of queries, keys, values: 240 slices, 16 for each of 15 heads
//!             of hidden elements: 192 slices, 24 of each network
//!             of a page of the cache: 256 slices, a position each
//! ```
//!
//! Spread like this, each network gets as many bytes of the weights as any other, and all of them work.

#![allow(missing_docs)] // `axes!` documents no axis; the table of the module does.

use furiosa_visa_std::prelude::*;

axes![
    // Clusters. Where a tensor does not depend on them, they have copies.
    C = 2,
    // Elements of the vector of a token: as a result, and as what is summed over.
    X = 576,
    E = 576,
    // Elements of the result of the attention as what is summed over: `K, J, D`.
    N = 576,
    // Heads of queries, keys and values; the same as `J, K`: `K` are groups, and of each, `J` are three heads of queries,
    // one of keys and one of values.
    A = 15,
    J = 5,
    K = 3,
    // Elements of a head.
    D = 64,
    // A number in two bf16: what the first one cannot hold is in the second one.
    H = 2,
    // The slices of a head while rotary pairs turn. A rotary pair, both elements of it in the result, and the two pairs that a slice has.
    O = 16,
    T = 2,
    U = 2,
    P = 2,
    // Hidden elements of a cluster, of gate and up.
    F = 768,
    G = 2,
    // All 256 slices, where each gets the same.
    Y = 256,
    // Positions of a page of the cache, a slice each; pages; positions that have rotary factors.
    S = 256,
    W = 8,
    R = 2048,
    // Two tensors that a pass reads in turns.
    I = 2,
    // Two neighbouring slices that have the same.
    Q = 2,
    // Tokens of the vocabulary, of all and of a cluster.
    B = 49152,
    V = 24576,
    // Layers.
    L = 30,
];

/// Both clusters.
pub type Cluster = m![C];
/// Slices of a vector.
pub type XSlice = m![X / 72, X / 8 % 9 # 16, 1 # 2];
/// The same slices and those behind them, with copies.
pub type XPair = m![X / 72, X / 8 % 9 # 16, Q];
/// The same slices, where the vector is summed over.
pub type ESlice = m![E / 72, E / 8 % 9 # 16, 1 # 2];
/// Two slices for each of a vector, with half of the blocks of each head.
pub type OSlice = m![X / 72, X / 8 % 9 # 16, N / 32 % 2];
/// Two slices for each of a vector, with half of the hidden elements of a cluster.
pub type DSlice = m![X / 72, X / 8 % 9 # 16, F / 384];
/// Slices of queries, keys and values.
pub type ASlice = m![A # 16, D / 4];
/// The same slices, with heads by their groups.
pub type QSlice = m![[J, K] # 16, D / 4];
/// The same slices, while rotary pairs turn.
pub type RSlice = m![[J, K] # 16, O];
/// Slices of hidden elements.
pub type FSlice = m![F / 48 % 8, F / 4 % 12 # 16, F / 384];
/// Slices of gate and of up, next to each other: each has hidden elements of two of these slices.
pub type GSlice = m![F / 48 % 8, F / 4 % 12 # 16, G];
/// Slices of logits.
pub type VSlice = m![V / 96];

/// A tensor in DM of both clusters.
pub type Dm<S, Slice, Element> = DmTensor<S, m![1], Cluster, Slice, Element>;
/// An operand in the vector register file.
pub type Vrf<Slice, Element> = VrfTensor<f32, m![1], Cluster, Slice, Element>;
/// A vector in the contraction register file: one row.
pub type Trf<Slice, Element> = TrfTensor<bf16, m![1], Cluster, Slice, m![1], Element>;
/// A tensor in HBM.
pub type Hbm<S, Element> = HbmTensor<S, m![1], Element>;

/// Pages that a launch reads. There are kernels for a few numbers of them; pages beyond the text are masked.
pub trait Reach {
    /// Number of pages.
    const PAGES: usize;
    /// The pages.
    type Held: M;
    /// One of them, as a tile.
    type Page: M;
    /// The first ones of all pages.
    type First: M;

    /// The tile of the first pages.
    fn first<'l>(
        all: &DmTensorView<'l, f32, m![1], Cluster, m![S], m![W, 1 # 2]>,
    ) -> DmTensorView<'l, f32, m![1], Cluster, m![S], m![{ Self::First }, 1 # 2]>;
}

/// `PAGES` pages.
pub struct Pages<const PAGES: usize>;

macro_rules! reach {
    ($($pages:literal),*) => {
        $(
            impl Reach for Pages<$pages> {
                const PAGES: usize = $pages;
                type Held = m![W = $pages];
                type Page = m![1 # $pages];
                type First = m![W = $pages # 8];

                #[track_caller]
                fn first<'l>(
                    all: &DmTensorView<'l, f32, m![1], Cluster, m![S], m![W, 1 # 2]>,
                ) -> DmTensorView<'l, f32, m![1], Cluster, m![S], m![{ Self::First }, 1 # 2]> {
                    all.tile::<m![W], $pages, m![{ Self::First }, 1 # 2]>(0)
                }
            }
        )*
    };
}

reach!(1, 2, 4, 8);
