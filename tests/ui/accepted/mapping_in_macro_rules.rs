//! Mappings take identifiers, literals and blocks from `macro_rules!`.

use furiosa_visa_std::prelude::*;

axes![A = 32, B = 4];

macro_rules! tile {
    ($axis:ident, $size:literal) => {
        m![$axis / $size, $axis % $size]
    };
}

macro_rules! kernel {
    ($name:ident, $axis:ident, $body:block) => {
        #[device(chip = 1)]
        fn $name(_ctx: &mut Context, _x: &HbmTensor<i8, m![1], m![$axis]>) $body
    };
}

macro_rules! declare {
    ($name:ident = $size:literal) => {
        axes![$name = $size];
    };
}

declare!(C = 6);
kernel!(empty, A, {});

fn main() {
    assert_eq!(<tile!(A, 8)>::EXPR.to_string(), "A / 8, A % 8");
    assert_eq!(<tile!(B, 2)>::SIZE, 4);
    assert_eq!(C::SIZE, 6);
    let _ = empty;
}
