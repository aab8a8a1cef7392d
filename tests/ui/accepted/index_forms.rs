//! Indices of axes, parts, pairs and none; positions are any expression.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];

fn main() {
    let two = 2;
    let index = i![A / 4: 1, A % 4: two + 1, B: (3),];
    assert_eq!(index, <m![A, B]>::map(7 * 4 + 3).unwrap());
    assert_eq!(i![A, B: 5], <m![A, B]>::map(5).unwrap());
    assert_eq!(i![], <m![1]>::map(0).unwrap());
}
