//! Storage of a tensor on the host: the axes of its array.
//!
//! The storage axes of a mapping are its digits. Digits that complete each other are one axis, wherever they stand. The
//! axes are sorted, so that mappings which differ only in their order store a tensor alike.
//!
//! ```text
//! m![K / 8, H, K % 8]    stores H, K        (10 x 24)
//! m![K = 9, P # 8]       stores K, P        (9 x 7)
//! m![P # 8 / 4]          stores P / 4 % 2   (2)
//! m![# 2 + P + # 7]      stores P           (7)
//! ```

use crate::command::{Step, Transfer, TransferLoop};
use crate::error::PlanError;
use crate::list::List;
use crate::mapping::{
    Atom, Composite, Expr, FACTORS, Factor, Factors, Guard, GuardBuilder, Pool, Term, compare, factorize,
    least,
};
use crate::sorting;
use crate::text::order;
use core::cmp::Ordering;

/// The digits of an expression in the order of the mapping, without the padding between them: the order in which
/// buffers list elements.
pub const fn packed_factors(pool: &mut Pool, expr: &Expr) -> Factors {
    let factors = factorize(pool, expr);
    digits_of(pool, &factors)
}

/// The digits without the padding between them.
///
/// The list is a placement for deriving moves; it is not a normal form.
pub const fn digits_of(pool: &Pool, factors: &Factors) -> Factors {
    let mut digits = Factors::ONE;
    append_digits(pool, factors.as_slice(), &mut digits);
    if let Some(problem) = factors.problem() {
        digits.fail(problem);
    }
    digits
}

/// Appends digits. A whole composite with a lead is replaced by the digits of its content.
const fn append_digits(pool: &Pool, factors: &[Factor], digits: &mut Factors) {
    each!(k < factors.len(), {
        if let Factor::Term { term, resize } = factors[k]
            && resize > 1
        {
            match opened(pool, &term, resize) {
                Some(composite) => append_digits(pool, pool.content(composite), digits),
                None => digits.append(factors[k]),
            }
        }
    });
}

/// The composite, if the term is all of a composite with padding positions before it.
const fn opened(pool: &Pool, term: &Term, resize: usize) -> Option<Composite> {
    let Atom::Composite(composite) = term.atom else { return None };
    if composite.lead > 0 && term.stride == 1 && resize == pool.atom_size(&term.atom) {
        Some(composite)
    } else {
        None
    }
}

/// The storage axes of a mapping in normal form, sorted; the last one is innermost.
///
/// The list is a placement for deriving moves; it is not a normal form.
pub const fn storage_of(pool: &Pool, factors: &Factors) -> Factors {
    let mut axes = List::<(Term, usize), FACTORS>::new((
        Term {
            atom: Atom::Symbol(crate::mapping::Axis { name: crate::mapping::Ident::new("A"), size: 1 }),
            stride: 1,
            modulo: 1,
        },
        1,
    ));
    let digits = digits_of(pool, factors);
    each!(k < digits.len(), {
        if let Factor::Term { term, resize } = digits.items[k] {
            add_digit(&mut axes, term, resize);
        }
    });
    while join_digits(pool, &mut axes) {}
    sort(pool, &mut axes);
    let mut storage = Factors::ONE;
    each_back!(k < axes.len(), {
        let (term, resize) = axes.at(k);
        storage.append(Factor::Term { term, resize });
    });
    if let Some(problem) = digits.problem() {
        storage.fail(problem);
    }
    storage
}

type Axes = List<(Term, usize), FACTORS>;

/// Adds a digit. A digit that occurs twice is stored once.
const fn add_digit(axes: &mut Axes, term: Term, resize: usize) {
    each!(k < axes.len(), {
        let (other, size) = axes.at(k);
        if other.is(&term) {
            if resize > size {
                axes.set(k, (term, resize));
            }
            return;
        }
    });
    axes.push((term, resize));
}

/// Joins two digits that complete each other. False if there are no such digits.
const fn join_digits(pool: &Pool, axes: &mut Axes) -> bool {
    each!(low < axes.len(), {
        let (inner, full) = axes.at(low);
        each!(high < axes.len(), {
            let (outer, resize) = axes.at(high);
            if full == inner.modulo
                && outer.stride == inner.stride * inner.modulo
                && outer.atom.is(&inner.atom)
            {
                let live = pool.live(&inner.atom, inner.stride);
                let modulo = least(inner.modulo * outer.modulo, live);
                let joined = Term { atom: inner.atom, stride: inner.stride, modulo };
                axes.set(low, (joined, least(full * resize, live)));
                axes.remove(high);
                return true;
            }
        });
    });
    false
}

/// Sorts by insertion: there is at most a handful of axes.
const fn sort(pool: &Pool, axes: &mut Axes) {
    each!((k = 1) < axes.len(), {
        let mut place = k;
        while place > 0
            && matches!(compare_terms(pool, &axes.at(place).0, &axes.at(place - 1).0), Ordering::Less)
        {
            let (left, right) = (axes.at(place - 1), axes.at(place));
            axes.set(place - 1, right);
            axes.set(place, left);
            place -= 1;
        }
    });
}

/// The first comparison that is not a tie.
const fn first(comparisons: &[Ordering]) -> Ordering {
    each!(k < comparisons.len(), {
        if !matches!(comparisons[k], Ordering::Equal) {
            return comparisons[k];
        }
    });
    Ordering::Equal
}

/// The order of storage axes. Composites are compared by content, because their place in a pool depends on the other
/// composites there.
const fn compare_terms(pool: &Pool, a: &Term, b: &Term) -> Ordering {
    let atoms = match (&a.atom, &b.atom) {
        (Atom::Symbol(a), Atom::Symbol(b)) => {
            first(&[order(a.name.as_str(), b.name.as_str()), compare(a.size, b.size)])
        }
        (Atom::Symbol(_), Atom::Composite(_)) => Ordering::Less,
        (Atom::Composite(_), Atom::Symbol(_)) => Ordering::Greater,
        (Atom::Composite(a), Atom::Composite(b)) => {
            first(&[compare_contents(pool, pool.content(*a), pool.content(*b)), compare(a.lead, b.lead)])
        }
    };
    first(&[atoms, compare(a.stride, b.stride), compare(a.modulo, b.modulo)])
}

const fn compare_contents(pool: &Pool, a: &[Factor], b: &[Factor]) -> Ordering {
    let mut k = 0;
    while k < a.len() && k < b.len() {
        let order = match (&a[k], &b[k]) {
            (Factor::Term { term: s, resize: m }, Factor::Term { term: t, resize: n }) => {
                first(&[compare_terms(pool, s, t), compare(*m, *n)])
            }
            (Factor::Term { .. }, Factor::Padding { .. }) => Ordering::Less,
            (Factor::Padding { .. }, Factor::Term { .. }) => Ordering::Greater,
            (Factor::Padding { size: m, .. }, Factor::Padding { size: n, .. }) => compare(*m, *n),
        };
        if !matches!(order, Ordering::Equal) {
            return order;
        }
        k += 1;
    }
    compare(a.len(), b.len())
}

/// A mapping and its storage.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The mapping.
    pub expr: &'static Expr,
    /// Its normal form.
    pub factors: Factors,
    /// Its storage axes.
    pub storage: Factors,
    /// The digits in the order of the mapping.
    pub digits: Factors,
}

impl Layout {
    /// The layout of a mapping. Composites go to `pool`.
    #[track_caller]
    pub fn new(operation: &'static str, pool: &mut Pool, expr: &'static Expr) -> Self {
        if let Err(problem) = expr.checked_size() {
            PlanError::new("mapping", text!("{}: {}", (operation, &problem))).refuse();
        }
        let factors = factorize(pool, expr);
        if let Some(problem) = factors.problem() {
            PlanError::mapping(operation, problem).refuse();
        }
        Self { expr, factors, storage: storage_of(pool, &factors), digits: digits_of(pool, &factors) }
    }

    /// The terms of the storage axes, outermost first.
    pub fn terms(&self) -> Vec<Term> {
        axes_of(&self.storage).map(|(term, _)| term).collect()
    }

    /// The sizes of the storage axes, outermost first.
    pub fn shape(&self) -> Vec<usize> {
        axes_of(&self.storage).map(|(_, resize)| resize).collect()
    }

    /// Elements of a packed buffer: the product of all digits.
    pub fn packed_len(&self) -> usize {
        axes_of(&self.digits).map(|(_, resize)| resize).product()
    }

    /// A guard for the tuples of storage coordinates (outermost first) that are an index of the tensor.
    #[track_caller]
    pub fn storage_guard(&self, operation: &'static str, pool: &Pool) -> Guard {
        let mut builder = GuardBuilder::new(self.storage.len());
        for (k, (term, resize)) in axes_of(&self.storage).enumerate() {
            builder = builder.digit(k, term.atom, term.stride, resize - 1);
        }
        builder.build(pool).unwrap_or_else(|| self.too_complex(operation))
    }

    /// The move from the stored array to a buffer in the order of the mapping, without its padding (`packed`) or with it.
    #[track_caller]
    pub fn buffer_transfer(&self, operation: &'static str, pool: &Pool, packed: bool) -> Transfer {
        let mut transfer = Transfer::new();
        let mut builder = GuardBuilder::new(self.digits.len());
        let mut seen: Vec<Term> = Vec::new();
        let (digits, start) = self.buffer_digits(pool, packed);
        transfer.destination_start.elements = start;
        for (term, resize, step) in digits {
            let source = if seen.contains(&term) { 0 } else { self.storage_step(&term) };
            if !seen.contains(&term) {
                builder = builder.digit(transfer.loops.len(), term.atom, term.stride, resize - 1);
                seen.push(term);
            }
            transfer.loops.push(TransferLoop {
                size: resize,
                source: Step { units: 0, elements: source },
                destination: Step { units: 0, elements: step },
            });
        }
        transfer.guard = builder.build(pool).unwrap_or_else(|| self.too_complex(operation));
        transfer
    }

    /// Digit, size and step in a buffer, outermost first, and the position of the first element.
    fn buffer_digits(&self, pool: &Pool, packed: bool) -> (Vec<(Term, usize, usize)>, isize) {
        let factors = if packed { &self.digits } else { &self.factors };
        let (mut digits, mut start) = (Vec::new(), 0);
        let mut rest = vec![(factors.as_slice(), 1)];
        while let Some((factors, inside)) = rest.pop() {
            let mut step = inside;
            for factor in factors {
                if let Factor::Term { term, resize } = *factor {
                    match opened(pool, &term, resize) {
                        Some(composite) => {
                            start += composite.lead * step;
                            rest.push((pool.content(composite), step));
                        }
                        // An axis of one coordinate is no digit.
                        None if resize == 1 => {}
                        None => digits.push((term, resize, step)),
                    }
                }
                step = inside * factor.size_over(step / inside);
            }
        }
        // The digits of a composite come last: sort all by their step in the buffer.
        sorting::by_key(&mut digits, |&(_, _, step)| core::cmp::Reverse(step));
        (digits, start as isize)
    }

    /// Elements of the stored array per value of a digit.
    fn storage_step(&self, digit: &Term) -> usize {
        let mut elements = 1;
        let mut found = (0, 0);
        for factor in self.storage.as_slice() {
            let Factor::Term { term, resize } = *factor else {
                continue;
            };
            let inside = term.atom == digit.atom
                && term.stride <= digit.stride
                && digit.stride.is_multiple_of(term.stride)
                && digit.stride < term.stride * term.modulo;
            // Digits overlap in no sound mapping. If they do, the nearest one is taken.
            if inside && term.stride > found.0 {
                found = (term.stride, elements * (digit.stride / term.stride));
            }
            elements *= resize;
        }
        found.1
    }

    #[track_caller]
    fn too_complex(&self, operation: &'static str) -> ! {
        let text = text!(
            "{}: the padding of {} takes more than {} tests to tell from elements; help: cut fewer padded products",
            (operation, self.expr, crate::mapping::GUARD_SUMS),
        );
        PlanError::new("too complex", text).refuse()
    }
}

/// Terms and their sizes, outermost first.
pub fn axes_of(factors: &Factors) -> impl Iterator<Item = (Term, usize)> {
    factors.as_slice().iter().rev().filter_map(|factor| match *factor {
        Factor::Term { term, resize } => Some((term, resize)),
        Factor::Padding { .. } => None,
    })
}
