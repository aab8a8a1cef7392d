//! Groups, escapes, aliases, chains of operators, `=` larger than its operand, dead positions, underscores in numbers.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];

type Rows = m![A / 2];
type Both = m![{ Rows }, { m![B % 2] } # 4];

trait Shape {
    type Rows: M;
}

struct Small;

impl Shape for Small {
    type Rows = Rows;
}

fn main() {
    assert_eq!(<Both>::EXPR.to_string(), "A / 2, B % 2 # 4");
    assert_eq!(<m![{ <Small as Shape>::Rows } / 2]>::SIZE, 2);
    assert_eq!(<m![(A # 16 / 2) % 4 = 3 # 8, [B, 1]]>::SIZE, 32);
    assert_eq!(<m![A = 9]>::SIZE, 9);
    assert_eq!(<m![A # 1_024]>::SIZE, 1024);
    assert_eq!(<m![# 2 + B + # 4]>::EXPR.to_string(), "# 2 + B + # 4");
    assert_eq!(<m![A, # 2 + { Rows } + # 1_0, B + # 1]>::SIZE, 8 * 16 * 5);
    assert_eq!(<m![[# 2 + B + # 2] / 4, [# 2 + [A, B]] % 17]>::SIZE, 2 * 17);
    // At the limit: neighbours are refused.
    assert_eq!(<m![A # 8]>::SIZE, 8);
    assert_eq!(<m![A / 8, A % 8, A / 1, A % 1]>::SIZE, 64);
    axes![Big = 4294967296, Most = 4294967295];
    assert_eq!(<m![Big, Most]>::SIZE, 0xffff_ffff_0000_0000);
}
