//! Sequencers: nested loops that turn a memory into a stream of packets and back.
//!
//! Every engine that touches a memory has one. Its only parameters are loop sizes and strides, which follow from the
//! mapping of the buffer and of the stream:
//!
//! ```text
//! Buf = m![A, B, C # 8]         Time = m![A % 2, B % 4, A / 2, B / 4], Packet = m![C # 32]      (A = B = 8, C = 4)
//!
//!   member     entry      stride: the part of Buf that a step passes
//!   A % 2      2 : 64     B, C # 8
//!   B % 4      4 : 8      C # 8
//!   A / 2      4 : 128    A % 2, B, C # 8
//!   B / 4      2 : 32     B % 4, C # 8
//!   C # 32     32 : 1     contiguous; reads on into the next row, as padding
//!
//!   [2 : 64, 4 : 8, 4 : 128, 2 : 32, 32 : 1] : 32       entries outermost first, then the packet
//! ```
//!
//! * An axis that the buffer lacks is a *broadcast*: stride 0.
//! * A member may be cut where the buffer is cut, at the same digits; `m![A]` over `m![A % 4, A / 4]` is two entries.
//! * Padding positions before a member are read as well: the loops start before the buffer, `@ base -2`, or inside it
//!   if only the buffer has them.
//! * A digit of the buffer may be read in [windows](Window): two digits of the stream, whose loops overlap in memory.
//! * Neighbours merge if there are more than 8 entries.
//! * A product that is padded or cut across its digits is read if it lies in the buffer as one run. A product that the
//!   buffer cuts is read if it is one run of the stream: `m![[A, B] # 12]` over `m![[A, B] % 2, [A, B] / 2]`.
//!
//! Refusals at compile time:
//!
//! | rule | example |
//! |---|---|
//! | insufficient input | `Time = m![N / 512]` over `m![N % 512]` |
//! | incompatible shapes | `m![A % 3, A / 3]` over `m![A % 5, A / 5]` |
//! | axis dropped | `m![B]` over `m![A, B]` |
//! | axis repeated | `Time = m![A, A]` |
//! | window size | windows of 3 at 7 places over 8 positions |
//! | window axis | windows of `m![H]` over `m![H / 4, W, H % 4]`; an output axis that the buffer has |
//! | window step | a stride or dilation of 0 |
//! | windowed axis | `Time = m![H]` where `H` is read in windows of other axes |
//! | not factorizable | `m![[A, B] # 32]` over a buffer that does not hold `A, B` as one run, or the other way round |
//! | entry limit | more than 8 entries after merging |
//! | iteration limit | a loop of more than 65 536 |
//! | packet fetch | a packet that is no contiguous run (`BufTensor` only: the Fetch Engine batches fetches) |
//!
//! `BufTensor` and `StreamTensor` read a plain buffer on the host with the same loops: see
//! `guide::sequencers`.

mod buffer;
mod config;
mod derive;
mod explain;
mod limits;
mod loops;
mod refusals;
mod request;
pub mod rows;
pub mod transfer;
pub mod walk;
mod window;

pub use buffer::{BufferConfig, BufferRequest, derive_buffer};
pub use config::{Config, DERIVED_ENTRIES, Entry};
pub use derive::{Derived, derive, derive_members};
pub use explain::{Explanation, MergedRow, Row, entry_text, explain_loops, write_table};
pub use limits::{accessed_run, contiguous_run, limited};
pub use request::{Request, StreamPart};
pub use window::{WINDOWS, Window, check_windows};
