//! An axis keeps its name when its import is renamed.

use furiosa_visa_std::prelude::*;

mod axes_of_the_model {
    furiosa_visa_std::prelude::axes![S_dec = 8, H = 2];
}

use axes_of_the_model::{H, S_dec as S};

fn main() {
    assert_eq!(S::NAME.as_str(), "S_dec");
    assert_eq!(<m![S / 2, H]>::EXPR.to_string(), "S_dec / 2, H");
}
