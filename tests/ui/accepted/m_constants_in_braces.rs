//! Braces in the place of a number hold a constant of the module or a const parameter of the function.
#![deny(unused_braces, warnings)]

use furiosa_visa_std::prelude::*;

axes![H = 960, W = 32];

const ROWS: usize = 60;

mod sizes {
    pub const PAIRS: usize = 2;
    pub const fn twice(n: usize) -> usize {
        2 * n
    }
}

trait Shape {
    const WIDTH: usize;
}

struct Small;

impl Shape for Small {
    const WIDTH: usize = 8;
}

/// The rows of a tile, for every height that divides 60.
type Tile<const N: usize> = m![H % 60 % { N }, W];

fn part<const N: usize>() -> (String, usize) {
    type Rest<const N: usize> = m![H % 60 / { N }];
    assert_eq!(<m![H % 60 / { N }]>::EXPR, <Rest<N>>::EXPR);
    // Both braces: a type in the place of an operand, a constant in the place of a number.
    let mapping = <m![{ Tile<N> } / { N }, # { N } + W + # { N }]>::to_value();
    (mapping.to_string(), <Rest<N>>::SIZE)
}

macro_rules! cut {
    ($n:expr, $m:literal) => {
        m![H % { $n } # { $m }]
    };
}

fn main() {
    assert_eq!(<Tile<4>>::EXPR.to_string(), "H % 60 % 4, W");
    assert_eq!(<m![H % { ROWS } = { 7 }]>::EXPR.to_string(), "H % 60 = 7");
    assert_eq!(<m![H / { sizes::PAIRS } % { ROWS * 2 }]>::EXPR.to_string(), "H / 2 % 120");
    assert_eq!(<m![W # { sizes::twice(32) }]>::SIZE, 64);
    assert_eq!(<m![W % { <Small as Shape>::WIDTH }]>::SIZE, 8);
    assert_eq!(<m![W % { <m![W / 4]>::SIZE }]>::SIZE, 8);
    assert_eq!(<cut![ROWS / 2, 31]>::EXPR.to_string(), "H % 30 # 31");
    assert_eq!(i![H / { ROWS }: 3], i![H / 60: 3]);
    assert_eq!(part::<4>(), ("[H % 60 % 4, W] / 4, # 4 + W + # 4".to_string(), 15));
    assert_eq!(part::<12>(), ("[H % 60 % 12, W] / 12, # 12 + W + # 12".to_string(), 5));
}
