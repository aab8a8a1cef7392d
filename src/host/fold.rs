//! Sums and other folds over the axes that a result lacks.
//!
//! The axes that disappear are folded one after the other, in storage order: the first of them innermost, each from
//! the identity on in ascending coordinate. Nothing but one row per axis is held in between, so that a contraction
//! never builds the tensor of its products.

use super::storage::Layout;
use crate::command::{Step, Transfer, TransferLoop};
use crate::error::PlanError;
use crate::mapping::{
    Atom, CutRule, Expr, Factor, Factors, Guard, GuardBuilder, Matched, Pieces, Pool, matched, write_term,
};
use crate::scalar::{Opt, Scalar};
use crate::text::Text;

/// The most results that are computed side by side.
const ROW: usize = 256;

/// A digit of the folded tensor.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: usize,
    /// Elements per value in either operand.
    steps: [usize; 2],
    /// Number of the digit, and of its variable in the guard.
    variable: usize,
    /// Elements per value in the result of the fold; 0 if it is folded.
    kept: usize,
}

/// Plan to fold a tensor, or the product of two, and to place the results.
#[derive(Clone, Debug)]
pub(super) struct FoldPlan {
    /// Digits that stay, outermost first.
    keep: Vec<Axis>,
    /// Digits that are folded, outermost first.
    folded: Vec<Axis>,
    guard: Guard,
    /// Moves the results to the stored array of the destination.
    pub(super) spread: Transfer,
}

/// Digits of one side, all unpaired.
pub(super) fn pieces(factors: &Factors) -> Pieces {
    Pieces::new(&[factors])
}

fn unpaired(mut pieces: Pieces) -> Pieces {
    for k in 0..pieces.list.len() {
        let mut piece = pieces.list.at(k);
        piece.matched = false;
        pieces.list.set(k, piece);
    }
    pieces
}

/// Access to a tensor while a larger one is walked.
pub(super) enum Operand {
    /// Elements per value of each digit of the larger tensor, innermost digit first.
    Steps(Vec<usize>),
    /// The digits do not line up: the tensor has to be spread over the larger one first.
    Spread,
}

/// Cuts the digits of `union` at each place where a digit of the destination or of an operand begins or ends.
pub(super) fn cut_union(pool: &Pool, union: &Layout, destination: &Layout, operands: [&Layout; 2]) -> Pieces {
    let mut cut = pieces(&union.storage);
    loop {
        let before = cut.list.len();
        let rules = [CutRule::Whole, CutRule::Ragged];
        cut = unpaired(matched(pool, pieces(&destination.storage), cut, rules).divisor);
        for operand in operands {
            let rules = [CutRule::Ragged; 2];
            cut = unpaired(matched(pool, cut, pieces(&operand.storage), rules).dividend);
        }
        if cut.list.len() == before {
            return cut;
        }
    }
}

/// Finds the digits of `operand` in the union.
pub(super) fn operand(pool: &Pool, union: &Pieces, operand: &Layout) -> Operand {
    let rules = [CutRule::Ragged; 2];
    let cut = matched(pool, *union, pieces(&operand.storage), rules);
    if cut.dividend.list.len() != union.list.len() || cut.divisor.list.iter().any(|piece| !piece.matched) {
        return Operand::Spread;
    }
    if (0..union.list.len())
        .any(|k| !cut.dividend.list.at(k).matched && shares_axis(pool, &cut.divisor, &cut.dividend, k))
    {
        return Operand::Spread;
    }
    let mut steps = vec![0; union.list.len()];
    for &(large, small) in &cut.pairs {
        let (outer, inner) = (cut.dividend.list.at(large), cut.divisor.list.at(small));
        let (Factor::Term { resize: wanted, .. }, Factor::Term { resize: held, term }) =
            (outer.factor, inner.factor)
        else {
            return Operand::Spread;
        };
        let origin = cut.divisor.list.iter().filter(|piece| piece.origin == inner.origin);
        let values: usize = origin
            .map(|piece| match piece.factor {
                Factor::Term { resize, .. } => resize,
                Factor::Padding { .. } => 1,
            })
            .product();
        // Values beyond a whole axis are no index of the union either.
        let reaches_end = inner.total >= pool.live(&term.atom, term.stride / inner.weight);
        if wanted != held || (values > inner.total && !reaches_end) {
            return Operand::Spread;
        }
        steps[large] = inner.base;
    }
    Operand::Steps(steps)
}

/// True if `held` has a digit of an axis of piece `k` of `wanted`.
fn shares_axis(pool: &Pool, held: &Pieces, wanted: &Pieces, k: usize) -> bool {
    let axes = |factor: &Factor| -> Vec<crate::mapping::Axis> {
        let (mut atoms, mut found) = (Vec::new(), Vec::new());
        atoms.extend(atom_of(factor));
        while let Some(atom) = atoms.pop() {
            match atom {
                Atom::Symbol(axis) => found.push(axis),
                Atom::Composite(composite) => {
                    atoms.extend(pool.content(composite).iter().filter_map(atom_of))
                }
            }
        }
        found
    };
    let wanted = axes(&wanted.list.at(k).factor);
    held.list.iter().any(|piece| axes(&piece.factor).iter().any(|axis| wanted.contains(axis)))
}

fn atom_of(factor: &Factor) -> Option<Atom> {
    match factor {
        Factor::Term { term, .. } => Some(term.atom),
        Factor::Padding { .. } => None,
    }
}

impl FoldPlan {
    /// Plans the fold of `source`, whose digits have been cut, to `destination`. `steps` gives the elements of both
    /// operands per value of a digit.
    pub(super) fn new(
        operation: &'static str,
        pool: &Pool,
        (expr, source): (&'static Expr, Pieces),
        destination: &Layout,
        steps: impl Fn(&Pieces, usize) -> [usize; 2],
        broadcast: bool,
    ) -> Result<Self, PlanError> {
        let rules = [CutRule::Whole, CutRule::Ragged];
        let cut = matched(pool, pieces(&destination.storage), source, rules);
        has_all(operation, pool, expr, destination, &cut, broadcast)?;
        let digits = cut.divisor.list.len();
        let mut plan = FoldPlan {
            keep: Vec::new(),
            folded: Vec::new(),
            guard: Guard::always(digits),
            spread: Transfer::new(),
        };
        let mut builder = GuardBuilder::new(digits);
        let mut kept_step = 1;
        let mut kept = vec![0; digits];
        for (k, piece) in cut.divisor.list.iter().enumerate() {
            let Factor::Term { term, resize } = piece.factor else {
                continue;
            };
            builder = builder.digit(k, term.atom, term.stride, resize - 1);
            let mut axis = Axis { size: resize, steps: steps(&cut.divisor, k), variable: k, kept: 0 };
            if piece.matched {
                (axis.kept, kept[k]) = (kept_step, kept_step);
                kept_step *= resize;
                plan.keep.push(axis);
            } else {
                plan.folded.push(axis);
            }
        }
        plan.keep.reverse();
        plan.folded.reverse();
        builder = limits(builder, &cut.divisor);
        plan.guard = builder.build(pool).ok_or_else(|| too_complex(operation, expr))?;
        plan.spread = spread(pool, &cut, &kept).ok_or_else(|| too_complex(operation, destination.expr))?;
        Ok(plan)
    }

    /// Runs the fold. `read` gives the element at a position of each operand.
    pub(super) fn run<D: Scalar>(
        &self,
        read: impl Fn(usize, usize) -> Opt<D>,
        function: impl Fn(Opt<D>, Opt<D>) -> Opt<D>,
        identity: Opt<D>,
    ) -> Vec<Opt<D>> {
        let mut keep = self.keep.clone();
        let mut results = vec![Opt::Uninit; keep.iter().map(|axis| axis.size).product()];
        let near = |axis: &Axis| axis.steps.iter().all(|&step| step <= 1);
        let worth = |axis: &Axis| axis.size.min(ROW) * if near(axis) { 8 } else { 1 };
        let row = match (0..keep.len()).max_by_key(|&k| worth(&keep[k])) {
            Some(best) => keep.remove(best),
            None => Axis { size: 1, steps: [0, 0], variable: usize::MAX, kept: 0 },
        };
        let mut fold = Fold {
            plan: self,
            row,
            read,
            function,
            identity,
            rows: vec![vec![identity; row.size.min(ROW)]; self.folded.len() + 1],
            variables: vec![0; self.guard.variables],
        };
        let total: usize = keep.iter().map(|axis| axis.size).product();
        for k in 0..total {
            let mut rest = k;
            let (mut at, mut to) = ([0, 0], 0);
            for axis in keep.iter().rev() {
                let index = rest % axis.size;
                rest /= axis.size;
                at = advanced(at, axis, index);
                to += axis.kept * index;
                fold.variables[axis.variable] = index;
            }
            for start in (0..row.size).step_by(ROW) {
                let len = (row.size - start).min(ROW);
                fold.level(self.folded.len(), at, (start, len));
                for (j, value) in fold.rows[self.folded.len()][..len].iter().enumerate() {
                    results[to + (start + j) * row.kept] = *value;
                }
            }
        }
        results
    }
}

fn advanced(at: [usize; 2], axis: &Axis, index: usize) -> [usize; 2] {
    [at[0] + axis.steps[0] * index, at[1] + axis.steps[1] * index]
}

/// A fold under way.
struct Fold<'a, D: Scalar, R, F> {
    plan: &'a FoldPlan,
    row: Axis,
    read: R,
    function: F,
    identity: Opt<D>,
    /// One row of results per level. The level is the number of axes that have been folded.
    rows: Vec<Vec<Opt<D>>>,
    variables: Vec<usize>,
}

impl<D: Scalar, R: Fn(usize, usize) -> Opt<D>, F: Fn(Opt<D>, Opt<D>) -> Opt<D>> Fold<'_, D, R, F> {
    /// Computes the part `(start, len)` of a row, folded over the first `level` axes, into `rows[level]`.
    fn level(&mut self, level: usize, at: [usize; 2], (start, len): (usize, usize)) {
        if level == 0 {
            for j in 0..len {
                let here = advanced(at, &self.row, start + j);
                let live = self.is_live(start + j);
                self.rows[0][j] = if live { (self.read)(here[0], here[1]) } else { Opt::Uninit };
            }
            return;
        }
        self.rows[level][..len].fill(self.identity);
        let axis = self.plan.folded[level - 1];
        for index in 0..axis.size {
            if axis.variable < self.variables.len() {
                self.variables[axis.variable] = index;
            }
            let at = advanced(at, &axis, index);
            if level > 1 {
                self.level(level - 1, at, (start, len));
                let (inner, outer) = self.rows.split_at_mut(level);
                for (sum, &value) in outer[0][..len].iter_mut().zip(&inner[level - 1]) {
                    *sum = (self.function)(*sum, value);
                }
            } else if self.plan.guard.is_always() {
                let [mut left, mut right] = advanced(at, &self.row, start);
                for sum in &mut self.rows[1][..len] {
                    *sum = (self.function)(*sum, (self.read)(left, right));
                    left += self.row.steps[0];
                    right += self.row.steps[1];
                }
            } else {
                for j in 0..len {
                    if self.is_live(start + j) {
                        let here = advanced(at, &self.row, start + j);
                        self.rows[1][j] = (self.function)(self.rows[1][j], (self.read)(here[0], here[1]));
                    }
                }
            }
        }
    }

    /// Tells if there is an element at this place of the row.
    fn is_live(&mut self, place: usize) -> bool {
        if self.row.variable < self.variables.len() {
            self.variables[self.row.variable] = place;
        }
        self.plan.guard.is_always() || self.plan.guard.holds(&self.variables)
    }
}

/// The move from the dense results of a fold to the stored array of the destination. `kept` has the step of each source
/// digit.
fn spread(pool: &Pool, cut: &Matched, kept: &[usize]) -> Option<Transfer> {
    let mut transfer = Transfer::new();
    let mut builder = GuardBuilder::new(cut.dividend.list.len());
    for k in (0..cut.dividend.list.len()).rev() {
        let piece = cut.dividend.list.at(k);
        let Factor::Term { term, resize } = piece.factor else {
            continue;
        };
        let pair = cut.pairs.iter().find(|(wanted, _)| *wanted == k);
        let (size, source) = match pair.map(|&(_, held)| (cut.divisor.list.at(held).factor, kept[held])) {
            Some((Factor::Term { resize, .. }, step)) => (resize, step),
            _ => (resize, 0),
        };
        builder = builder.digit(transfer.loops.len(), term.atom, term.stride, size - 1);
        transfer.loops.push(TransferLoop {
            size,
            source: Step { units: 0, elements: source },
            destination: Step { units: 0, elements: piece.base },
        });
    }
    transfer.guard = builder.build(pool)?;
    (!transfer.loops.overflowed()).then_some(transfer)
}

/// Limits digits that were cut unevenly to the size of the digit before the cut.
fn limits(mut builder: GuardBuilder, cut: &Pieces) -> GuardBuilder {
    let mut k = 0;
    while k < cut.list.len() {
        let origin = cut.list.at(k);
        let mut parts = Vec::new();
        while k < cut.list.len() && cut.list.at(k).origin == origin.origin {
            if let Factor::Term { resize, .. } = cut.list.at(k).factor {
                parts.push((k, resize, cut.list.at(k).weight));
            }
            k += 1;
        }
        let values: usize = parts.iter().map(|(_, size, _)| size).product();
        if parts.len() > 1 && values > origin.total {
            builder = builder.limit(&parts, origin.total);
        }
    }
    builder
}

fn has_all(
    operation: &'static str,
    pool: &Pool,
    expr: &'static Expr,
    destination: &Layout,
    cut: &Matched,
    broadcast: bool,
) -> Result<(), PlanError> {
    for k in 0..cut.dividend.list.len() {
        let piece = cut.dividend.list.at(k);
        let Factor::Term { term, resize } = piece.factor else {
            continue;
        };
        let partly = shares_axis(pool, &cut.divisor, &cut.dividend, k);
        if piece.matched || (broadcast && !partly) {
            continue;
        }
        let text =
            Text::new().str(operation).str(": the result ").mapping(destination.expr).str(" wants `m![");
        let text = write_term(text, pool, &term, resize).str("]`, ");
        let text = text.str(if partly { "of which there are other values in " } else { "which is not in " });
        let text = text.mapping(expr).str("; help: ");
        let text = text.str(if broadcast || partly {
            "keep the same values of the axis on both sides"
        } else {
            "remove it from the result, or use `reduce_then_broadcast`"
        });
        return Err(PlanError::new("insufficient input", text));
    }
    Ok(())
}

fn too_complex(operation: &'static str, expr: &Expr) -> PlanError {
    let text = Text::new().str(operation).str(": telling padding from elements in ").mapping(expr);
    PlanError::new("too complex", text.str(" takes too many tests; help: cut fewer padded products"))
}
