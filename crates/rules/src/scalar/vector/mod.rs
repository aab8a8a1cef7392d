//! The results of the operators of the Vector Engine, element by element.
//!
//! Every function gives the same bits on every host: no function calls the host's mathematics, and the NaN that
//! arithmetic returns is always the same one, [`CANONICAL_NAN`].

mod convert;
mod fixed;
mod float;
mod functions;

pub use convert::{fixed_to_float, float_to_fixed};
pub use fixed::{
    abs_max, abs_min, add_saturating, arithmetic_shift_right, arithmetic_shift_right_rounding,
    logic_shift_right, multiply_fixed, shift_left, shift_left_saturating, subtract_saturating,
};
pub use float::{
    CANONICAL_NAN, abs_max_float, abs_min_float, add_float, canonical, divide_float, max_float, min_float,
    multiply_add_float, multiply_float, square_root, subtract_float,
};
pub use functions::{
    cosine, error_function, exponential, logarithm, negative_exponential, sigmoid, sine, tangent_h,
};
