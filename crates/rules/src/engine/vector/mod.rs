//! Vector Engine: the rules of its stages and operands.

pub mod checks;
pub mod enter;
pub mod inter;
pub mod operand;
pub mod pair;
pub mod reduce;
pub mod rules;
pub mod tag;
pub mod time_left;
pub mod valid_count;

pub use checks::{UnaryArgMode, check_alu, check_defined, check_int_width, check_unary_mode};
pub use enter::{BranchMode, check_comparisons, derive_branch, derive_toggle};
pub use operand::check_always;
pub use pair::{UnzipRequest, derive_unzip, ids_in_group, of_group};
pub use reduce::{ReduceConfig, ReduceRequest, derive_reduce, is_of, loops};
pub use rules::{
    VectorPacketRequest, check_sizes, derive_concat, derive_pad, derive_split, derive_trim, derive_way8,
};
pub use tag::{Cmp, TagMode};
pub use time_left::TimeLeft;
pub use valid_count::{Narrowing, derive_valid_count};
