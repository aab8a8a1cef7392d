//! The normal form: from an expression to its factors, and the operators on factors.
//!
//! Two expressions are equivalent when their factors are the same. Every operator takes factors in normal form and
//! gives factors in normal form: no digit of one value, no neighbours that make one digit, no padding that adds
//! nothing (spec page 10 §3.2 and §3.3).

use super::expr::Expr;
use super::factor::{Atom, Factor, Factors, PaddingKind, Pool, Problem, Term, size_of_factors};

/// The greatest common divisor.
pub const fn gcd(a: usize, b: usize) -> usize {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The factors of an expression.
pub const fn factorize(pool: &mut Pool, expr: &Expr) -> Factors {
    match expr {
        Expr::Identity => Factors::one(),
        Expr::Symbol(axis) => {
            let mut factors = Factors::one();
            let term = Term {
                atom: Atom::Symbol(*axis),
                stride: 1,
                modulo: axis.size,
            };
            factors.push_term(pool, term, axis.size);
            factors
        }
        Expr::Stride(inner, n) => {
            let inner = factorize(pool, inner);
            stride(pool, &inner, *n)
        }
        Expr::Modulo(inner, n) => {
            let inner = factorize(pool, inner);
            modulo(pool, &inner, *n)
        }
        Expr::Resize(inner, n) => {
            let inner = factorize(pool, inner);
            resize(pool, &inner, *n)
        }
        Expr::Padding(inner, n) => {
            let mut factors = factorize(pool, inner);
            factors.push_padding(*n, PaddingKind::Top);
            factors
        }
        Expr::Pair(left, right) => {
            let right = factorize(pool, right);
            let left = factorize(pool, left);
            product(pool, &left, &right)
        }
    }
}

/// `outer, inner`.
pub const fn product(pool: &Pool, outer: &Factors, inner: &Factors) -> Factors {
    let mut factors = *inner;
    factors.push_all(pool, outer.as_slice());
    if let Some(problem) = outer.problem() {
        factors.fail(problem);
    }
    factors
}

/// A clean inner block: `size` positions that a cut by a multiple of `size` takes off first.
struct Cut {
    size: usize,
    inner: Factors,
    outer: Factors,
}

/// Whether every padding in `factors` is a multiple of `n`.
const fn paddings_divisible(factors: &[Factor], n: usize) -> bool {
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Padding { size, .. } = factors[k]
            && !size.is_multiple_of(n)
        {
            return false;
        }
        k += 1;
    }
    true
}

/// The greatest common divisor of `n` and every padding in `factors`.
const fn gcd_with_paddings(factors: &[Factor], n: usize) -> usize {
    let mut divisor = n;
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Padding { size, .. } = factors[k] {
            divisor = gcd(divisor, size);
        }
        k += 1;
    }
    divisor
}

const fn rebuilt(pool: &Pool, factors: &[Factor], by: usize) -> Factors {
    let mut list = Factors::one();
    list.append_divided(pool, factors, by);
    list
}

const fn cut(pool: &Pool, factors: &Factors, s: usize) -> Option<Cut> {
    let all = factors.as_slice();
    let mut i = 1;
    while i <= all.len() {
        let (inner, outer) = all.split_at(i);
        if outer.is_empty() || !matches!(outer[0], Factor::Padding { .. }) {
            let size = size_of_factors(inner);
            if size > 1 && s.is_multiple_of(size) && paddings_divisible(outer, size) {
                return Some(Cut {
                    size,
                    inner: rebuilt(pool, inner, 1),
                    outer: rebuilt(pool, outer, size),
                });
            }
        }
        i += 1;
    }
    if all.is_empty() {
        return None;
    }
    let (first, rest) = all.split_at(1);
    match first[0] {
        Factor::Term { term, resize } => {
            let mut size = gcd_with_paddings(rest, gcd(resize, s));
            if resize != term.modulo {
                size = gcd(size, term.modulo);
            }
            if size <= 1 {
                return None;
            }
            let mut inner = Factors::one();
            let inner_modulo = if size == resize { term.modulo } else { size };
            inner.push_term(
                pool,
                Term {
                    atom: term.atom,
                    stride: term.stride,
                    modulo: inner_modulo,
                },
                size,
            );
            let mut outer = Factors::one();
            let high = Term {
                atom: term.atom,
                stride: term.stride * size,
                modulo: term.modulo.div_ceil(size),
            };
            outer.push_term(pool, high, resize / size);
            outer.append_divided(pool, rest, size);
            Some(Cut { size, inner, outer })
        }
        Factor::Padding { size: padding, kind } => {
            let size = gcd_with_paddings(rest, gcd(padding, s));
            if size <= 1 {
                return None;
            }
            let mut inner = Factors::one();
            inner.push_padding(size, kind);
            Some(Cut {
                size,
                inner,
                outer: rebuilt(pool, all, size),
            })
        }
    }
}

/// The least number of innermost factors that a cut by `s` lies in cleanly.
const fn enclosing(factors: &Factors, s: usize) -> usize {
    let all = factors.as_slice();
    let mut j = 1;
    while j < all.len() {
        let (inner, outer) = all.split_at(j);
        if size_of_factors(inner).is_multiple_of(s) && paddings_divisible(outer, s) {
            return j;
        }
        j += 1;
    }
    all.len()
}

/// The term that stands for a block: the one whole digit it consists of, or a composite.
const fn as_atom(pool: &mut Pool, block: &[Factor]) -> Term {
    let mut content = block;
    while let Some((Factor::Padding { .. }, rest)) = content.split_last() {
        content = rest;
    }
    if content.len() == 1
        && let Factor::Term { term, resize } = content[0]
        && resize == term.modulo
        && resize == pool.live(&term.atom, term.stride)
    {
        return term;
    }
    let size = size_of_factors(content);
    Term {
        atom: Atom::Composite(pool.intern(content)),
        stride: 1,
        modulo: size,
    }
}

/// `factors / s`: every s-th position.
pub const fn stride(pool: &mut Pool, factors: &Factors, s: usize) -> Factors {
    let size = factors.size();
    if factors.problem().is_some() || s == 1 {
        return *factors;
    }
    if s == 0 || !size.is_multiple_of(s) {
        return Factors::failed(Problem::NotDivisible { size, by: s });
    }
    if s == size {
        return Factors::one();
    }
    if let Some(cut) = cut(pool, factors, s) {
        return stride(pool, &cut.outer, s / cut.size);
    }
    let (block, rest) = factors.as_slice().split_at(enclosing(factors, s));
    let mut head = Factors::one();
    match block[block.len() - 1] {
        Factor::Term { .. } => {
            let k = size_of_factors(block) / s;
            let atom = composite_of(pool, block);
            head.push_term(
                pool,
                Term {
                    atom,
                    stride: s,
                    modulo: k,
                },
                k,
            );
        }
        Factor::Padding { size, kind } => {
            let content = block.split_at(block.len() - 1).0;
            let k = size_of_factors(content).div_ceil(s);
            if k > 1 {
                let whole = as_atom(pool, content);
                let term = Term {
                    atom: whole.atom,
                    stride: whole.stride * s,
                    modulo: k,
                };
                head.push_term(pool, term, k);
            }
            head.push_padding(size / s, kind);
        }
    }
    head.append_divided(pool, rest, s);
    head
}

const fn composite_of(pool: &mut Pool, block: &[Factor]) -> Atom {
    let mut content = block;
    while let Some((Factor::Padding { .. }, rest)) = content.split_last() {
        content = rest;
    }
    Atom::Composite(pool.intern(content))
}

/// `factors % m`: the first m positions of a period.
pub const fn modulo(pool: &mut Pool, factors: &Factors, m: usize) -> Factors {
    let size = factors.size();
    if factors.problem().is_some() || m == size {
        return *factors;
    }
    if m == 0 || !size.is_multiple_of(m) {
        return Factors::failed(Problem::NotDivisible { size, by: m });
    }
    if m == 1 {
        return Factors::one();
    }
    if let Some(cut) = cut(pool, factors, m) {
        let outer = modulo(pool, &cut.outer, m / cut.size);
        return product(pool, &outer, &cut.inner);
    }
    let block = factors.as_slice().split_at(enclosing(factors, m)).0;
    let mut head = Factors::one();
    match block[block.len() - 1] {
        Factor::Term { .. } => {
            let atom = composite_of(pool, block);
            head.push_term(
                pool,
                Term {
                    atom,
                    stride: 1,
                    modulo: m,
                },
                m,
            );
        }
        Factor::Padding { kind, .. } => {
            let content = block.split_at(block.len() - 1).0;
            if size_of_factors(content) <= m {
                head.push_all(pool, content);
                head.push_padding(m, kind);
            } else {
                let whole = as_atom(pool, content);
                head.push_term(
                    pool,
                    Term {
                        atom: whole.atom,
                        stride: whole.stride,
                        modulo: m,
                    },
                    m,
                );
            }
        }
    }
    head
}

/// `factors = n`: the first n positions, or more with padding.
pub const fn resize(pool: &mut Pool, factors: &Factors, n: usize) -> Factors {
    let size = factors.size();
    if factors.problem().is_some() || n == size {
        return *factors;
    }
    let mut list = *factors;
    if n == 0 {
        return Factors::failed(Problem::NotDivisible { size, by: n });
    }
    if n > size {
        list.push_padding(n, PaddingKind::Top);
        return list;
    }
    match list.list.pop() {
        None => list,
        Some(Factor::Padding { kind, .. }) => {
            if n <= list.size() {
                resize(pool, &list, n)
            } else {
                list.push_padding(n, kind);
                list
            }
        }
        Some(Factor::Term { term, .. }) => {
            let base = list.size();
            if n.is_multiple_of(base) {
                if n > base {
                    list.list.push(Factor::Term {
                        term,
                        resize: n / base,
                    });
                }
                list
            } else if n < base {
                resize(pool, &list, n)
            } else {
                let atom = composite_of(pool, factors.as_slice());
                let mut cut = Factors::one();
                cut.push_term(
                    pool,
                    Term {
                        atom,
                        stride: 1,
                        modulo: size,
                    },
                    n,
                );
                cut
            }
        }
    }
}

/// The mapping without its outermost padding. Padding between digits stays.
pub const fn strip(factors: &Factors) -> Factors {
    let mut list = *factors;
    while let Some(Factor::Padding { .. }) = list.list.last() {
        list.list.pop();
    }
    list
}

/// The mapping with its outermost padding replaced: `size` positions in all.
pub const fn pad_to(factors: &Factors, size: usize) -> Factors {
    let mut list = strip(factors);
    list.push_padding(size, PaddingKind::Top);
    list
}

#[cfg(test)]
#[path = "normal_tests.rs"]
mod tests;
