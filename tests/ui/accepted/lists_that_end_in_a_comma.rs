//! A list may end in a comma, in all three macros.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4,];
type Mapping = m![A, [B, 1,] # 8,];

fn main() {
    assert_eq!(<Mapping>::EXPR.to_string(), "A, [B, 1] # 8");
    assert_eq!(<m![A,]>::EXPR.to_string(), "A");
    assert_eq!(i![A,: 3, B: 1,], i![A: 3, B: 1]);
}
