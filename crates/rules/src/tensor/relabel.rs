//! Other names for the bytes of a tensor: nothing moves.

use crate::command::Part;
use crate::error::{PlanError, attempt, refuse};
use crate::list::List;
use crate::mapping::{
    Atom, Expr, FACTORS, Factor, Factors, Ident, Pool, Term, factors_of, liveness_of, mentions_axis,
};
use crate::tensor::Shape;
use crate::tensor::tile::Dimension;

/// A dimension, with its mappings before and after.
#[derive(Clone, Copy, Debug)]
pub struct RelabelDimension {
    /// The dimension.
    pub dimension: Dimension,
    /// The mapping before.
    pub from: &'static Expr,
    /// The new mapping.
    pub to: &'static Expr,
}

/// The call, for messages.
pub const OPERATION: &str = "relabel";

/// Checks that dimensions keep their sizes, and have no more elements than before: the only rules of `reshape`.
pub const fn check_reshape(
    operation: &'static str,
    dimensions: &[RelabelDimension],
) -> Result<(), PlanError> {
    attempt!(check_sizes(operation, dimensions));
    let mut pool = Pool::new();
    each!(k < dimensions.len(), {
        let RelabelDimension { dimension, from, to } = dimensions[k];
        let before = elements(&attempt!(factors_of(operation, &mut pool, from)));
        let after = elements(&attempt!(factors_of(operation, &mut pool, to)));
        if let (Some(before), Some(after)) = (before, after)
            && before < after
        {
            refuse!(
                "reshape padding",
                "{}: {} {} has {}, and {} has {}: what was padding holds none, whatever lies there; help: leave it padding, \
                 with `#`, or fill a tensor of the new mapping through its views: `DmTensor::new`, `HbmTensor::new`",
                (operation, dimension.name(), from, count(before, "element"), to, count(after, "element")),
            );
        }
    });
    Ok(())
}

/// Number of positions of a mapping that hold an element. `None` for a composite: its positions would have to be
/// checked one by one.
pub const fn elements(factors: &Factors) -> Option<usize> {
    let (mut elements, mut k) = (1, 0);
    while k < factors.len() {
        if let Factor::Term { term, resize } = factors.item(k) {
            if let Atom::Composite(_) = term.atom {
                return None;
            }
            elements *= *resize;
        }
        k += 1;
    }
    Some(elements)
}

/// Checks that dimensions keep their sizes.
pub const fn check_sizes(operation: &'static str, dimensions: &[RelabelDimension]) -> Result<(), PlanError> {
    each!(k < dimensions.len(), {
        let RelabelDimension { dimension, from, to } = dimensions[k];
        let (before, after) = (attempt!(super::shape::size(from)), attempt!(super::shape::size(to)));
        if before != after {
            refuse!(
                "reshape size",
                "{}: {} {} has {}, and {} has {}, but position k becomes position k; help: give both the same size, with `#` \
                 where it is padding",
                (operation, dimension.name(), from, count(before, "position"), to, count(after, "position")),
            );
        }
    });
    Ok(())
}

/// Number of positions of a dimension up to the last one that can hold an element, in the mappings before and after.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    dimension: RelabelDimension,
    before: usize,
    after: usize,
}

impl Reach {
    /// The reach of a dimension.
    pub const fn of(dimension: RelabelDimension) -> Self {
        let (before, after) = (Shape::span(dimension.from), Shape::span(dimension.to));
        Self { dimension, before, after }
    }
}

/// The part of a tensor that a view with other axes covers. The last dimension is that of the elements of a unit. It
/// has no type parameters, so that all kernels share it.
pub fn part_with(part: Part, reaches: &[Reach]) -> Result<Part, PlanError> {
    if part == Part::WHOLE {
        return Ok(part);
    }
    let mut elements = part.elements;
    for &Reach { dimension, before, after } in reaches {
        let RelabelDimension { dimension, from, to } = dimension;
        if after > before {
            refuse!(
                "reshape of a tile",
                "reshape: the view is a tile, whose {} {} ends with position {}, but {} has elements up to position {}, which \
                 lie behind it; help: leave as much padding outermost, or reshape the tensor before `.{}()`",
                (dimension.name(), from, before - 1, to, after - 1, dimension.call()),
            );
        }
        elements = elements.map(|_| after);
    }
    Ok(Part { elements, ..part })
}

/// Checks that new names are right: sizes, places of axes that both sides name, and padding.
pub const fn check_relabel(dimensions: &[RelabelDimension; 4]) -> Result<(), PlanError> {
    attempt!(check_sizes(OPERATION, dimensions));
    let mut pool = Pool::new();
    let blank = [Factors::ONE, Factors::ONE];
    let mut all = [blank; 4];
    each!(k < dimensions.len(), {
        let before = attempt!(factors_of(OPERATION, &mut pool, dimensions[k].from));
        let after = attempt!(factors_of(OPERATION, &mut pool, dimensions[k].to));
        all[k] = [before, after];
    });
    each!(k < dimensions.len(), {
        each!(side < 2, {
            if let Some((term, size)) = moved(&pool, &all, k, side) {
                let RelabelDimension { dimension, from, to } = dimensions[k];
                refuse!(
                    "relabel moves",
                    "relabel: {} of {} {} stands elsewhere in {}, and elements do not move; help: keep it at the same \
                     positions, give it another name, or move the tensor: `.to_dm()`, `.to_hbm()`",
                    term(&pool, &term, size),
                    dimension.name(),
                    if side == 0 { from } else { to },
                    if side == 0 { to } else { from },
                );
            }
        });
    });
    if ragged(&pool, &all) {
        // Padding depends on all dimensions together.
        let before = [dimensions[0].from, dimensions[1].from, dimensions[2].from, dimensions[3].from];
        let after = [dimensions[0].to, dimensions[1].to, dimensions[2].to, dimensions[3].to];
        let mut same = true;
        each!(k < all.len(), {
            same = same && all[k][0].is(&all[k][1]);
        });
        if same || same_guards(&before, &after) {
            return Ok(());
        }
        let mut k = 0;
        while k + 1 < all.len() && all[k][0].is(&all[k][1]) {
            k += 1;
        }
        return Err(padding(&dimensions[k]));
    }
    each!(k < dimensions.len(), {
        if !paddings(&all[k][0]).is(&paddings(&all[k][1])) {
            return Err(padding(&dimensions[k]));
        }
    });
    Ok(())
}

/// The refusal of padding that elements would move into.
pub const fn padding(RelabelDimension { dimension, from, to }: &RelabelDimension) -> PlanError {
    PlanError::new(
        "relabel padding",
        text!(
            "relabel: some positions of {} are padding in one of {} and {}, and elements in the other one; help: pad both \
             alike, take a part with `.tile()`, or vouch for the elements: `unsafe` and `.reshape()`",
            (dimension.name(), *from, *to),
        ),
    )
}

/// A digit on one side of a dimension, if the other side of the tensor names its axis, but at other positions.
pub const fn moved(pool: &Pool, all: &[[Factors; 2]; 4], k: usize, side: usize) -> Option<(Term, usize)> {
    let (digits, other) = (&all[k][side], &all[k][1 - side]);
    let mut base = 1;
    each!(j < digits.len(), {
        let factor = digits.item(j);
        if let Factor::Term { term, resize } = factor
            && is_shared(pool, all, 1 - side, factor)
            && !stands_at(other, term, *resize, base)
        {
            return Some((*term, *resize));
        }
        base = factor.size_over(base);
    });
    None
}

/// Tells if `side` of the tensor names an axis of a digit.
const fn is_shared(pool: &Pool, all: &[[Factors; 2]; 4], side: usize, factor: &Factor) -> bool {
    let Factor::Term { term, .. } = factor else { return false };
    match term.atom {
        Atom::Symbol(axis) => names(pool, all, side, &axis.name),
        Atom::Composite(composite) => {
            let content = pool.content(composite);
            each!(k < content.len(), {
                if is_shared(pool, all, side, &content[k]) {
                    return true;
                }
            });
            false
        }
    }
}

/// True if a dimension of one side names an axis.
pub const fn names(pool: &Pool, all: &[[Factors; 2]; 4], side: usize, axis: &Ident) -> bool {
    each!(k < all.len(), {
        each!(j < all[k][side].len(), {
            if mentions_axis(pool, all[k][side].item(j), axis) {
                return true;
            }
        });
    });
    false
}

const fn stands_at(factors: &Factors, term: &Term, resize: usize, base: usize) -> bool {
    let mut inside = 1;
    each!(k < factors.len(), {
        let factor = factors.item(k);
        if let Factor::Term { term: other, resize: values } = factor
            && inside == base
            && *values == resize
            && other.is(term)
        {
            return true;
        }
        inside = factor.size_over(inside);
    });
    false
}

/// True if some digit ends behind its axis, or belongs to a composite. Then padding cannot be judged digit by
/// digit.
pub const fn ragged(pool: &Pool, all: &[[Factors; 2]; 4]) -> bool {
    each!(k < 8, {
        let factors = &all[k / 2][k % 2];
        each!(j < factors.len(), {
            if let Factor::Term { term, .. } = factors.item(j) {
                let ends = match term.atom {
                    Atom::Symbol(_) => term.stride * term.modulo <= pool.atom_size(&term.atom),
                    Atom::Composite(_) => false,
                };
                if !ends {
                    return true;
                }
            }
        });
    });
    false
}

const fn same_guards(before: &[&'static Expr; 4], after: &[&'static Expr; 4]) -> bool {
    match (liveness_of(before), liveness_of(after)) {
        (Some(before), Some(after)) => before.is(&after),
        _ => false,
    }
}

/// Pattern of padding in a dimension: for each padding, the positions before it, and those up to its end.
#[derive(Clone, Copy)]
struct Paddings(List<(usize, usize), FACTORS>);

const fn paddings(factors: &Factors) -> Paddings {
    let mut paddings = List::new((1, 1));
    let mut inside = 1;
    each!(k < factors.len(), {
        let size = factors.item(k).size_over(inside);
        if let Factor::Padding { .. } = factors.item(k) {
            paddings.push((inside, size));
        }
        inside = size;
    });
    Paddings(paddings)
}

impl Paddings {
    const fn is(&self, other: &Paddings) -> bool {
        let mut k = 0;
        while k < self.0.len() && k < other.0.len() {
            let ((a, b), (c, d)) = (self.0.at(k), other.0.at(k));
            if a != c || b != d {
                return false;
            }
            k += 1;
        }
        self.0.len() == other.0.len()
    }
}

/// Fills up the dimensions to four, with dimensions of one position.
pub const fn four(given: &[RelabelDimension]) -> [RelabelDimension; 4] {
    let one = RelabelDimension { dimension: Dimension::Cluster, from: &Expr::Identity, to: &Expr::Identity };
    let mut all = [one; 4];
    each!(k < given.len(), {
        all[k] = given[k];
    });
    all
}
