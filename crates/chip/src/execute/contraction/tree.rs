//! The multipliers and the adder tree: eight rows side by side.
//!
//! Order of additions: neighbouring products first, then neighbouring sums, and so on. The loops are over arrays of
//! eight lanes, so that the compiler uses the vectors of the target. There are no closures in them: a closure may stay a function
//! of its own, which has not the caller's vectors.

/// One value per row.
pub(crate) type Lanes = [f32; 8];

#[inline(always)]
pub(super) fn multiply(x: f32, w: &Lanes) -> Lanes {
    let mut product = *w;
    for lane in &mut product {
        *lane *= x;
    }
    product
}

#[inline(always)]
pub(crate) fn add(mut a: Lanes, b: Lanes) -> Lanes {
    for (a, b) in a.iter_mut().zip(b) {
        *a += b;
    }
    a
}

#[inline(always)]
fn tree2(x: &[f32], w: &[Lanes]) -> Lanes {
    add(multiply(x[0], &w[0]), multiply(x[1], &w[1]))
}

#[inline(always)]
fn tree4(x: &[f32], w: &[Lanes]) -> Lanes {
    add(tree2(&x[..2], &w[..2]), tree2(&x[2..4], &w[2..4]))
}

#[inline(always)]
fn tree8(x: &[f32], w: &[Lanes]) -> Lanes {
    let (x, w): (&[f32; 8], &[Lanes; 8]) = (first(x), first(w));
    add(tree4(&x[..4], &w[..4]), tree4(&x[4..], &w[4..]))
}

#[inline(always)]
fn first<T, const N: usize>(slice: &[T]) -> &[T; N] {
    slice.first_chunk().expect("callers cut slices to size")
}

#[inline]
fn tree16(x: &[f32], w: &[Lanes]) -> Lanes {
    let (x, w): (&[f32; 16], &[Lanes; 16]) = (first(x), first(w));
    add(tree8(&x[..8], &w[..8]), tree8(&x[8..], &w[8..]))
}

fn tree32(x: &[f32], w: &[Lanes]) -> Lanes {
    let (x, w): (&[f32; 32], &[Lanes; 32]) = (first(x), first(w));
    add(tree16(&x[..16], &w[..16]), tree16(&x[16..], &w[16..]))
}

/// Sum of the products of `x` and `w` in the order of the tree. Their number is a power of two up to 128.
#[inline]
pub(crate) fn tree(x: &[f32], w: &[Lanes]) -> Lanes {
    match x.len() {
        1 => multiply(x[0], &w[0]),
        2 => tree2(x, w),
        4 => tree4(x, w),
        8 => tree8(x, w),
        16 => tree16(x, w),
        32 => tree32(x, w),
        len => {
            let (left, right) = x.split_at(len / 2);
            add(tree(left, &w[..len / 2]), tree(right, &w[len / 2..]))
        }
    }
}

/// Sum of eight products in the order of the tree.
#[inline(always)]
fn sum_of_eight([a, b, c, d, e, f, g, h]: [Lanes; 8]) -> Lanes {
    add(add(add(a, b), add(c, d)), add(add(e, f), add(g, h)))
}

/// Sum of eight products of a masked tree, in pairs. Fewer than eight are handled one level at a time.
#[inline(always)]
fn masked_tree8(x: &[f32; 8], x_mask: &[u32; 8], w: &[Lanes; 8], w_mask: &[[u32; 8]; 8]) -> Lanes {
    let mut products = [[0.0; 8]; 8];
    for k in 0..8 {
        products[k] = masked_product(x[k], x_mask[k], &w[k], &w_mask[k]);
    }
    sum_of_eight(products)
}

#[inline(always)]
fn masked_product(x: f32, x_mask: u32, w: &Lanes, w_mask: &[u32; 8]) -> Lanes {
    let mut product = multiply(x, w);
    for (lane, mask) in product.iter_mut().zip(w_mask) {
        *lane = f32::from_bits(lane.to_bits() & mask & x_mask);
    }
    product
}

/// Mask per row: all ones if some cell is live on both sides, else zero.
pub(crate) fn live_rows(x_mask: &[u32], w_mask: &[[u32; 8]]) -> [u32; 8] {
    let mut rows = [0; 8];
    for (x, w) in x_mask.iter().zip(w_mask) {
        rows.iter_mut().zip(w).for_each(|(row, w)| *row |= x & w);
    }
    rows
}

/// [`tree`] with masks of all ones or all zeros: a product with a zero mask is +0.
pub(crate) fn masked_tree(x: &[f32], x_mask: &[u32], w: &[Lanes], w_mask: &[[u32; 8]]) -> Lanes {
    match x.len() {
        1 => masked_product(x[0], x_mask[0], &w[0], &w_mask[0]),
        8 => masked_tree8(first(x), first(x_mask), first(w), first(w_mask)),
        len => {
            let half = len / 2;
            let left = masked_tree(&x[..half], &x_mask[..half], &w[..half], &w_mask[..half]);
            add(left, masked_tree(&x[half..], &x_mask[half..], &w[half..], &w_mask[half..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level by level, for one row.
    fn naive(mut products: Vec<f32>) -> f32 {
        while products.len() > 1 {
            products = products.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        products[0]
    }

    #[test]
    fn trees_add_neighbours_first() {
        let value = |k: usize| ((k * 7919 % 1013) as f32 - 500.0) * 1.37e-2f32.powi((k % 5) as i32);
        let x: Vec<f32> = (0..128).map(value).collect();
        let w: Vec<Lanes> = (0..128).map(|k| core::array::from_fn(|row| value(k * 8 + row + 3))).collect();
        for depth in 0..=7 {
            let n = 1 << depth;
            let sums = tree(&x[..n], &w[..n]);
            let x_mask: Vec<u32> = (0..n).map(|k| if k % 3 == 1 { 0 } else { u32::MAX }).collect();
            let w_mask: Vec<[u32; 8]> =
                (0..n).map(|k| core::array::from_fn(|row| if k + row == 5 { 0 } else { u32::MAX })).collect();
            let masked = masked_tree(&x[..n], &x_mask, &w[..n], &w_mask);
            for row in 0..8 {
                assert_eq!(sums[row].to_bits(), naive((0..n).map(|k| x[k] * w[k][row]).collect()).to_bits());
                let live = |k: usize| x_mask[k] != 0 && w_mask[k][row] != 0;
                let expected = naive((0..n).map(|k| if live(k) { x[k] * w[k][row] } else { 0.0 }).collect());
                assert_eq!(masked[row].to_bits(), expected.to_bits());
            }
        }
    }
}
