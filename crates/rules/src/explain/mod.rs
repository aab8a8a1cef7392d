//! Requests and configurations in words: the origin of what the rules derive.
//!
//! Stages with a sequencer (fetch, align, commit) show the tables of [`sequencer`](crate::sequencer) and the numbers
//! derived from them. Stages that only change the mapping (switch, collect, loads of the register files, contract,
//! accumulate, cast, transpose) show it before and after, the rule, and their numbers: a [`StageExplanation`].

mod cast;
mod collect;
mod commit;
mod contraction;
mod fetch;
mod register_files;
mod stage;
mod switch;
mod transpose;
mod vector;

pub use cast::explain_cast;
pub use collect::explain_collect;
pub use commit::{explain_commit, explain_commit_trim, explain_commit_view};
pub use contraction::{explain_accumulate, explain_align, explain_contract};
pub use fetch::{explain_fetch, explain_read};
pub use register_files::{explain_trf_load, explain_vrf_load};
pub use stage::{MappingChange, StageExplanation};
pub use switch::explain_switch;
pub use transpose::explain_transpose;
pub use vector::{VectorExplanation, VectorRow, explain_vector};
