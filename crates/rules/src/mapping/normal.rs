//! The normal form: from an expression to its factors, and the operators on factors.
//!
//! Two expressions are equivalent when their factors are the same. Every operator takes and returns factors in normal
//! form: no digit of one value, no neighbours that make one digit, no padding that adds nothing.

use super::expr::Expr;
use super::factor::{Factor, Factors, Problem, size_of_factors};
use super::term::{Atom, Axis, Pool, Term};
use crate::error::PlanError;
use crate::text::order;
use core::cmp::Ordering;

/// The greatest common divisor.
pub const fn gcd(a: usize, b: usize) -> usize {
    let mut a = a;
    let mut b = b;
    while b != 0 {
        let rest = a % b;
        a = b;
        b = rest;
    }
    a
}

/// The lesser of two numbers, in const code.
pub const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// Compares two numbers, in const code.
pub const fn compare(a: usize, b: usize) -> Ordering {
    if a < b {
        Ordering::Less
    } else if a > b {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// The greater of two numbers, in const code.
pub const fn greatest(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// The factors of an expression.
pub const fn factorize(pool: &mut Pool, expr: &Expr) -> Factors {
    let mut factors = match expr {
        Expr::Identity => return Factors::ONE,
        Expr::Symbol(axis) => {
            let mut factors = Factors::ONE;
            if axis.size != 1 {
                let term = Term { atom: Atom::Symbol(*axis), stride: 1, modulo: axis.size };
                factors.push_term(pool, term, axis.size);
            }
            return factors;
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
            let first = first_element_of(pool, &inner);
            if inner.problem().is_none() && *n > 0 && *n <= first {
                return Factors::failed(Problem::NoElement { kept: *n, first });
            }
            resize(pool, &inner, *n)
        }
        Expr::Padding(inner, n) => {
            let mut factors = factorize(pool, inner);
            factors.push_padding(*n);
            factors
        }
        Expr::Margin(inner, before, after) => {
            let axis = single_axis(inner);
            let inner = factorize(pool, inner);
            let mut factors = lead(pool, &inner, *before, axis);
            factors.push_padding(factors.size() + *after);
            factors
        }
        Expr::Pair(left, right) => {
            let right = factorize(pool, right);
            let left = factorize(pool, left);
            product(pool, &left, &right)
        }
    };
    if pool.factors.overflowed {
        factors.fail(Problem::TooManyFactors);
    }
    factors
}

/// The factors of an expression in which `=` cuts nothing off: all digits that it names, also digits with one value
/// left.
pub const fn factorize_uncut(pool: &mut Pool, expr: &Expr) -> Factors {
    match expr {
        Expr::Resize(inner, n) => {
            let mut factors = factorize_uncut(pool, inner);
            factors.push_padding(greatest(*n, factors.size()));
            factors
        }
        Expr::Padding(inner, n) => {
            let mut factors = factorize_uncut(pool, inner);
            factors.push_padding(greatest(*n, factors.size()));
            factors
        }
        Expr::Stride(inner, n) => {
            let inner = factorize_uncut(pool, inner);
            if inner.size().is_multiple_of(*n) { stride(pool, &inner, *n) } else { factorize(pool, expr) }
        }
        Expr::Modulo(inner, n) => {
            let inner = factorize_uncut(pool, inner);
            if inner.size().is_multiple_of(*n) { modulo(pool, &inner, *n) } else { factorize(pool, expr) }
        }
        Expr::Pair(left, right) => {
            let right = factorize_uncut(pool, right);
            let left = factorize_uncut(pool, left);
            product(pool, &left, &right)
        }
        Expr::Identity | Expr::Symbol(_) | Expr::Margin(..) => factorize(pool, expr),
    }
}

/// Factors of an expression, or the refusal of the mapping.
pub const fn factors_of(
    operation: &'static str,
    pool: &mut Pool,
    expr: &'static Expr,
) -> Result<Factors, PlanError> {
    if let Err(text) = expr.checked_size() {
        return Err(PlanError::new("mapping", text));
    }
    let factors = factorize(pool, expr);
    match factors.problem() {
        Some(problem) => Err(PlanError::mapping(operation, problem)),
        None => Ok(factors),
    }
}

/// The padding positions of a mapping before its first element: none without composites.
const fn first_element_of(pool: &Pool, factors: &Factors) -> usize {
    if pool.factors.len == 0 { 0 } else { first_element(pool, factors.as_slice()) }
}

/// The padding positions that whole composites have before the first element.
const fn first_element(pool: &Pool, factors: &[Factor]) -> usize {
    let (mut position, mut base) = (0, 1);
    each!(k < factors.len(), {
        if let Factor::Term { term: Term { atom, .. }, resize } = &factors[k]
            && let Atom::Composite(composite) = atom
            && *resize == pool.atom_size(atom)
        {
            position += (composite.lead + first_element(pool, pool.content(*composite))) * base;
        }
        base = factors[k].size_over(base);
    });
    position
}

/// The axis of one coordinate that an expression holds. Of several axes, the one whose name comes first.
const fn single_axis(expr: &Expr) -> Option<Axis> {
    match expr {
        Expr::Identity => None,
        Expr::Symbol(axis) => {
            if axis.size == 1 {
                Some(*axis)
            } else {
                None
            }
        }
        Expr::Stride(inner, _)
        | Expr::Modulo(inner, _)
        | Expr::Resize(inner, _)
        | Expr::Padding(inner, _)
        | Expr::Margin(inner, ..) => single_axis(inner),
        Expr::Pair(left, right) => match (single_axis(left), single_axis(right)) {
            (Some(a), Some(b)) => Some(if order(a.name.as_str(), b.name.as_str()).is_gt() { b } else { a }),
            (Some(axis), None) | (None, Some(axis)) => Some(axis),
            (None, None) => None,
        },
    }
}

/// `# positions + factors`: a composite with a lead. `axis`: an axis of one coordinate in it, which names the composite
/// if no digit does.
const fn lead(pool: &mut Pool, factors: &Factors, positions: usize, axis: Option<Axis>) -> Factors {
    if factors.problem().is_some() || positions == 0 {
        return *factors;
    }
    let size = factors.size() + positions;
    let mut content = strip(factors);
    let mut positions = positions;
    // Leads add up.
    if content.len() == 1
        && let Factor::Term { term, resize } = *content.item(0)
        && let Atom::Composite(composite) = term.atom
        && resize == pool.atom_size(&term.atom)
    {
        // A composite is one whole digit only if it has a lead.
        content = Factors::ONE;
        content.append_list(pool.content(composite));
        positions += composite.lead;
    }
    if content.is_empty() {
        let Some(axis) = axis else { return Factors::failed(Problem::NoAxis { lead: positions }) };
        content.append(Factor::Term {
            term: Term { atom: Atom::Symbol(axis), stride: 1, modulo: 1 },
            resize: 1,
        });
    }
    let mut list = Factors::ONE;
    let atom = Atom::Composite(pool.intern(content.as_slice(), positions));
    let modulo = content.size() + positions;
    list.append(Factor::Term { term: Term { atom, stride: 1, modulo }, resize: modulo });
    list.push_padding(size);
    list
}

/// `outer, inner`.
pub const fn product(pool: &Pool, outer: &Factors, inner: &Factors) -> Factors {
    if outer.len == 0 && outer.problem.is_none() {
        return *inner;
    }
    if inner.len == 0 && inner.problem.is_none() {
        return *outer;
    }
    let mut factors = *inner;
    factors.push_part(pool, outer, (0, outer.len), (1, inner.size));
    if let Some(problem) = outer.problem {
        factors.fail(problem);
    }
    factors
}

/// A clean inner part: `size` positions that a cut by a multiple of `size` splits off first.
#[derive(Clone, Copy)]
struct Cut {
    size: usize,
    /// The number of factors in the part. `None`: it is a part of the first factor.
    whole: Option<usize>,
}

impl Cut {
    /// The factors inside the cut.
    const fn inner(&self, pool: &Pool, factors: &Factors) -> Factors {
        let Cut { size, whole } = *self;
        if let Some(count) = whole {
            let mut inner = *factors;
            inner.len = count;
            inner.size = size;
            return inner;
        }
        let mut inner = Factors::ONE;
        match &factors.items[0] {
            Factor::Term { term, resize } => {
                let modulo = if size == *resize { term.modulo } else { size };
                inner.push_term(pool, Term { atom: term.atom, stride: term.stride, modulo }, size);
            }
            Factor::Padding { .. } => inner.push_padding(size),
        }
        inner
    }

    /// The factors outside the cut.
    const fn outer(&self, pool: &Pool, factors: &Factors) -> Factors {
        let Cut { size, whole } = *self;
        let mut outer = Factors::ONE;
        let mut first = 0;
        if let Some(count) = whole {
            first = count;
        } else if let Factor::Term { term, resize } = &factors.items[0] {
            let stride = term.stride * size;
            let modulo = term.modulo.div_ceil(size);
            outer.push_term(pool, Term { atom: term.atom, stride, modulo }, *resize / size);
            first = 1;
        }
        outer.push_part(pool, factors, (first, factors.len), (size, 1));
        outer
    }
}

/// The greatest common divisor of `n` and every padding from factor `first` on.
const fn gcd_with_paddings(factors: &Factors, first: usize, n: usize) -> usize {
    let mut divisor = n;
    each!((k = first) < factors.len, {
        if let Factor::Padding { size, .. } = &factors.items[k] {
            divisor = gcd(divisor, *size);
        }
    });
    divisor
}

const fn cut(pool: &Pool, factors: &Factors, s: usize) -> Option<Cut> {
    if factors.len == 0 {
        return None;
    }
    let mut size = 1;
    let mut i = 0;
    while i < factors.len && size < s {
        size = match &factors.items[i] {
            Factor::Term { resize, .. } => size * *resize,
            Factor::Padding { size } => *size,
        };
        i += 1;
        if s.is_multiple_of(size)
            && (i == factors.len || !matches!(&factors.items[i], Factor::Padding { .. }))
            && gcd_with_paddings(factors, i, size) == size
        {
            return Some(Cut { size, whole: Some(i) });
        }
    }
    let size = match &factors.items[0] {
        Factor::Term { term, resize } => {
            let common = gcd_with_paddings(factors, 1, gcd(*resize, s));
            // The period of a digit that goes to the end of its axis has no effect.
            if *resize == term.modulo || term.modulo == pool.live(&term.atom, term.stride) {
                common
            } else {
                gcd(common, term.modulo)
            }
        }
        Factor::Padding { size, .. } => gcd_with_paddings(factors, 1, gcd(*size, s)),
    };
    if size > 1 { Some(Cut { size, whole: None }) } else { None }
}

/// The least number of innermost factors that contain a cut by `s` cleanly.
const fn enclosing(factors: &Factors, s: usize) -> usize {
    let mut j = 1;
    // All factors together are enough: `s` divides their size.
    while !factors.size_of_first(j).is_multiple_of(s) || gcd_with_paddings(factors, j, s) != s {
        j += 1;
    }
    j
}

/// The factors without the outermost padding.
const fn without_padding(factors: &[Factor]) -> &[Factor] {
    let mut content = factors;
    while let Some((Factor::Padding { .. }, rest)) = content.split_last() {
        content = rest;
    }
    content
}

/// The term for factors: their digit, if they are one whole digit, or a composite.
const fn as_atom(pool: &mut Pool, factors: &[Factor]) -> Term {
    let content = without_padding(factors);
    if content.len() == 1
        && let Factor::Term { term, resize } = content[0]
        && resize == term.modulo
        && resize == pool.live(&term.atom, term.stride)
    {
        return term;
    }
    let size = size_of_factors(content);
    Term { atom: Atom::Composite(pool.intern(content, 0)), stride: 1, modulo: size }
}

/// `factors / s`: every s-th position.
pub const fn stride(pool: &mut Pool, factors: &Factors, s: usize) -> Factors {
    let size = factors.size;
    if s == 1 || factors.problem.is_some() {
        return *factors;
    }
    if !size.is_multiple_of(s) {
        return Factors::failed(Problem::NotDivisible { size, by: s });
    }
    if s == size {
        return Factors::ONE;
    }
    if let Some(cut) = cut(pool, factors, s) {
        let outer = cut.outer(pool, factors);
        return if cut.size == s { outer } else { stride(pool, &outer, s / cut.size) };
    }
    let enclosing = enclosing(factors, s);
    let innermost = factors.items.split_at(enclosing).0;
    let mut head = Factors::ONE;
    match innermost[innermost.len() - 1] {
        Factor::Term { .. } => {
            let k = size_of_factors(innermost) / s;
            let atom = composite_of(pool, innermost);
            head.push_term(pool, Term { atom, stride: s, modulo: k }, k);
        }
        Factor::Padding { size } => {
            let content = innermost.split_at(innermost.len() - 1).0;
            let k = size_of_factors(content).div_ceil(s);
            if k > 1 {
                let whole = as_atom(pool, content);
                let term = Term { atom: whole.atom, stride: whole.stride * s, modulo: k };
                head.push_term(pool, term, k);
            }
            head.push_padding(size / s);
        }
    }
    head.push_part(pool, factors, (enclosing, factors.len), (s, 1));
    head
}

const fn composite_of(pool: &mut Pool, factors: &[Factor]) -> Atom {
    Atom::Composite(pool.intern(without_padding(factors), 0))
}

/// `factors % m`: the first m positions of a period.
pub const fn modulo(pool: &mut Pool, factors: &Factors, m: usize) -> Factors {
    let size = factors.size;
    if m == size || factors.problem.is_some() {
        return *factors;
    }
    if !size.is_multiple_of(m) {
        return Factors::failed(Problem::NotDivisible { size, by: m });
    }
    if m == 1 {
        return Factors::ONE;
    }
    if let Some(cut) = cut(pool, factors, m) {
        let inner = cut.inner(pool, factors);
        if cut.size == m {
            return inner;
        }
        let outer = cut.outer(pool, factors);
        let outer = modulo(pool, &outer, m / cut.size);
        return product(pool, &outer, &inner);
    }
    let innermost = factors.as_slice().split_at(enclosing(factors, m)).0;
    let mut head = Factors::ONE;
    match innermost[innermost.len() - 1] {
        Factor::Term { .. } => {
            let atom = composite_of(pool, innermost);
            head.push_term(pool, Term { atom, stride: 1, modulo: m }, m);
        }
        Factor::Padding { .. } => {
            let content = innermost.split_at(innermost.len() - 1).0;
            if size_of_factors(content) <= m {
                head.push_all(pool, content);
                head.push_padding(m);
            } else {
                let whole = as_atom(pool, content);
                head.push_term(pool, Term { atom: whole.atom, stride: whole.stride, modulo: m }, m);
            }
        }
    }
    head
}

/// `factors = n`: the first n positions, or more with padding.
pub const fn resize(pool: &mut Pool, factors: &Factors, n: usize) -> Factors {
    let size = factors.size;
    if n == size || factors.problem.is_some() {
        return *factors;
    }
    let mut list = *factors;
    if n == 0 {
        return Factors::failed(Problem::NotDivisible { size, by: n });
    }
    if n > size {
        list.push_padding(n);
        return list;
    }
    match list.pop() {
        None => list,
        Some(Factor::Padding { .. }) => {
            if n <= list.size() {
                resize(pool, &list, n)
            } else {
                list.push_padding(n);
                list
            }
        }
        Some(Factor::Term { term, .. }) => {
            let base = list.size();
            if n.is_multiple_of(base) {
                if n > base {
                    list.append(Factor::Term { term, resize: n / base });
                }
                list
            } else if n < base {
                resize(pool, &list, n)
            } else {
                let atom = composite_of(pool, factors.as_slice());
                let mut cut = Factors::ONE;
                cut.push_term(pool, Term { atom, stride: 1, modulo: size }, n);
                cut
            }
        }
    }
}

/// The mapping without its outermost padding. Padding between digits stays.
pub const fn strip(factors: &Factors) -> Factors {
    let mut list = *factors;
    while list.len > 0
        && let Factor::Padding { .. } = &list.items[list.len - 1]
    {
        list.pop();
    }
    list
}

/// The positions of a mapping without its outermost padding.
pub const fn stripped_size(factors: &Factors) -> usize {
    let mut len = factors.len;
    while len > 0
        && let Factor::Padding { .. } = &factors.items[len - 1]
    {
        len -= 1;
    }
    if len == factors.len { factors.size } else { factors.size_of_first(len) }
}

/// The mapping with its outermost padding replaced: `size` positions in all.
pub const fn pad_to(factors: &Factors, size: usize) -> Factors {
    if factors.size == size {
        return *factors;
    }
    let mut list = strip(factors);
    list.push_padding(size);
    list
}

#[cfg(test)]
#[path = "normal_tests.rs"]
mod tests;
