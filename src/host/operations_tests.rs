//! Tests of moves and folds against their definition, index by index, over random mappings; and of the public methods.

use super::*;
use crate::mapping::{Axis, AxisName, Ident, Identity, Index, Modulo, Padding, Pair, Resize, Stride, Symbol};
use crate::scalar::bf16;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

type Coordinates = Vec<(Ident, usize)>;

const AXES: [(&str, usize); 4] = [("A", 8), ("B", 3), ("C", 5), ("D", 12)];

fn leak(expr: Expr) -> &'static Expr {
    Box::leak(Box::new(expr))
}

fn axis(k: usize) -> &'static Expr {
    leak(Expr::Symbol(Axis { name: Ident::new(AXES[k].0), size: AXES[k].1 }))
}

/// Splits an expression into two, after padding it if need be, or keeps it.
fn split(random: &mut SmallRng, expr: &'static Expr) -> Vec<&'static Expr> {
    let size = expr.checked_size().expect("sound");
    let by = [2, 3, 4, 6][random.random_range(0..4)];
    match random.random_range(0..5) {
        0 => vec![expr],
        1 => vec![leak(Expr::Padding(expr, size + random.random_range(0..4)))],
        _ => {
            let padded = leak(Expr::Padding(expr, size.next_multiple_of(by)));
            vec![leak(Expr::Stride(padded, by)), leak(Expr::Modulo(padded, by))]
        }
    }
}

/// A mapping of these axes that has every digit once.
fn mapping(random: &mut SmallRng, axes: &[&'static Expr]) -> &'static Expr {
    let mut parts: Vec<&'static Expr> = Vec::new();
    let mut left = axes.to_vec();
    while let Some(first) = left.pop() {
        if !left.is_empty() && random.random_range(0..3) == 0 {
            let other = left.remove(random.random_range(0..left.len()));
            parts.extend(split(random, leak(Expr::Pair(first, other))));
        } else {
            parts.extend(split(random, first));
        }
    }
    let mut expr = &Expr::Identity;
    while !parts.is_empty() {
        let part = parts.remove(random.random_range(0..parts.len()));
        expr = leak(Expr::Pair(part, expr));
    }
    expr
}

fn axes(random: &mut SmallRng, least: usize) -> Vec<&'static Expr> {
    let mut chosen: Vec<usize> = (0..AXES.len()).collect();
    while chosen.len() > least && random.random_range(0..2) == 0 {
        chosen.remove(random.random_range(0..chosen.len()));
    }
    let mut whole: Vec<&'static Expr> = chosen.into_iter().map(axis).collect();
    if random.random_range(0..4) == 0 {
        let last = whole.pop().expect("at least one");
        let size = last.checked_size().expect("sound");
        whole.push(leak(Expr::Resize(last, random.random_range(2..=size))));
    }
    whole
}

/// The coordinates of every position.
fn table(expr: &'static Expr) -> Vec<Option<Coordinates>> {
    let size = expr.checked_size().expect("sound");
    (0..size).map(|p| Index::at(expr, p).and_then(|index| index.coordinates())).collect()
}

/// A value that is different for different coordinates.
fn value(coordinates: &Coordinates) -> i32 {
    coordinates
        .iter()
        .fold(7, |sum, (name, k)| sum + (*k as i32) * (1 << (6 * (name.as_str().as_bytes()[0] - b'A'))))
}

fn layout(pool: &mut Pool, expr: &'static Expr) -> Layout {
    Layout::new("test", pool, expr)
}

fn stored(pool: &Pool, layout: &Layout) -> Vec<Opt<i32>> {
    let buffer: Vec<Opt<i32>> = table(layout.expr).iter().map(|at| at.as_ref().map(value).into()).collect();
    let transfer = reversed(&layout.buffer_transfer("test", pool, false));
    copied(&transfer, &buffer, layout.shape().iter().product())
}

fn positions(pool: &Pool, layout: &Layout, elements: &[Opt<i32>]) -> Vec<Opt<i32>> {
    copied(&layout.buffer_transfer("test", pool, false), elements, layout.factors.size())
}

#[test]
fn buffers_hold_the_elements_of_their_positions() {
    let mut random = SmallRng::seed_from_u64(1);
    for _ in 0..150 {
        let chosen = axes(&mut random, 1);
        let expr = mapping(&mut random, &chosen);
        let mut pool = Pool::new();
        let layout = layout(&mut pool, expr);
        let elements = stored(&pool, &layout);
        let expected: Vec<Opt<i32>> = table(expr).iter().map(|at| at.as_ref().map(value).into()).collect();
        assert_eq!(positions(&pool, &layout, &elements), expected, "{expr}");
        let dead = elements.iter().filter(|element| !element.is_init()).count();
        let guard = layout.storage_guard("test", &pool);
        assert!(dead == 0 || !guard.is_always(), "{expr}: a guard for {dead} dead cells");
    }
}

#[test]
fn moves_keep_every_index() {
    let mut random = SmallRng::seed_from_u64(2);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..250 {
        let chosen = axes(&mut random, 1);
        let broadcast = random.random_range(0..3) == 0;
        let wanted =
            if broadcast { AXES.iter().enumerate().map(|(k, _)| axis(k)).collect() } else { chosen.clone() };
        let (from, to) = (mapping(&mut random, &chosen), mapping(&mut random, &wanted));
        let mut pool = Pool::new();
        let (source, destination) = (layout(&mut pool, from), layout(&mut pool, to));
        let elements = stored(&pool, &source);
        let Ok(result) = moved("test", &pool, (&source, &elements), &destination, broadcast) else {
            // Moves may be refused for products that the two sides cut at different places, and for parts of a
            // truncated axis.
            let composite = |layout: &Layout| {
                axes_of(&layout.factors).any(|(term, _)| matches!(term.atom, Atom::Composite(_)))
            };
            let truncated = chosen.iter().any(|expr| matches!(expr, Expr::Resize(..)));
            assert!(truncated || composite(&source) || composite(&destination), "{from} -> {to} refused");
            refused += 1;
            continue;
        };
        done += 1;
        let held: BTreeMap<Coordinates, i32> =
            table(from).into_iter().flatten().map(|at| (at.clone(), value(&at))).collect();
        let names: Vec<Ident> = chosen
            .iter()
            .map(|expr| match expr {
                Expr::Resize(Expr::Symbol(axis), _) | Expr::Symbol(axis) => axis.name,
                other => unreachable!("{other}"),
            })
            .collect();
        let expected: Vec<Opt<i32>> = table(to)
            .into_iter()
            .map(|at| {
                let projected =
                    |at: Coordinates| at.into_iter().filter(|(name, _)| names.contains(name)).collect();
                at.and_then(|at| held.get::<Coordinates>(&projected(at)).copied()).into()
            })
            .collect();
        assert_eq!(positions(&pool, &destination, &result), expected, "{from} -> {to}");
    }
    assert!(done > 2 * refused, "{done} moves, {refused} refused");
}

#[test]
fn folds_add_what_the_result_lacks() {
    let mut random = SmallRng::seed_from_u64(3);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..200 {
        let chosen = axes(&mut random, 2);
        let left: Vec<&'static Expr> =
            chosen.iter().copied().filter(|_| random.random_range(0..2) == 0).collect();
        let (from, mut to) = (mapping(&mut random, &chosen), mapping(&mut random, &left));
        if left.len() < chosen.len() && random.random_range(0..2) == 0 {
            let other = chosen.iter().find(|expr| !left.contains(expr)).expect("fewer");
            if matches!(other, Expr::Symbol(_)) {
                let size = other.checked_size().expect("sound").next_multiple_of(4);
                to = leak(Expr::Pair(leak(Expr::Stride(leak(Expr::Padding(other, size)), 4)), to));
            }
        }
        let mut pool = Pool::new();
        let (source, destination) = (layout(&mut pool, from), layout(&mut pool, to));
        let elements = stored(&pool, &source);
        let steps = |cut: &crate::mapping::Pieces, k: usize| [cut.list.at(k).base, 0];
        let plan = FoldPlan::new("test", &pool, (from, pieces(&source.storage)), &destination, steps, false);
        let Ok(plan) = plan else {
            refused += 1;
            continue;
        };
        done += 1;
        let results = plan.run(|k, _| elements[k], |a, b| a + b, Opt::Init(0));
        let result = copied(&plan.spread, &results, destination.shape().iter().product());
        // The coordinates of the result, with the kept digit of an axis.
        let kept = |at: &Coordinates| -> Coordinates {
            let names = |expr: &'static Expr| -> bool {
                matches!(expr, Expr::Resize(..)) || matches!(expr, Expr::Symbol(_))
            };
            at.iter()
                .filter_map(|&(name, k)| {
                    let whole = left.iter().copied().filter(|expr| names(expr)).any(|expr| match expr {
                        Expr::Resize(Expr::Symbol(axis), _) | Expr::Symbol(axis) => axis.name == name,
                        _ => false,
                    });
                    let partly = matches!(to, Expr::Pair(Expr::Stride(Expr::Padding(Expr::Symbol(axis), _), 4), _)
                        if axis.name == name && !whole);
                    let k = if whole { k } else if partly { k / 4 * 4 } else { 0 };
                    (k > 0).then_some((name, k))
                })
                .collect()
        };
        let mut sums: BTreeMap<Coordinates, i32> = BTreeMap::new();
        for at in table(from).into_iter().flatten() {
            let sum = sums.entry(kept(&at)).or_default();
            *sum = sum.wrapping_add(value(&at));
        }
        let expected: Vec<Opt<i32>> =
            table(to).into_iter().map(|at| at.and_then(|at| sums.get(&at).copied()).into()).collect();
        assert_eq!(positions(&pool, &destination, &result), expected, "{from} -> {to}");
    }
    assert!(done > 5 * refused, "{done} folds, {refused} refused");
}

macro_rules! axis {
    ($($name:ident: $size:literal),*) => { $(
        #[derive(Debug, Clone)]
        struct $name;
        impl AxisName for $name {
            const NAME: Ident = Ident::new(stringify!($name));
            const SIZE: usize = $size;
        }
    )* };
}
axis!(A: 4, B: 3, C: 5, K: 24, P: 7, H: 10);

type Sa = Symbol<A>;
type Sb = Symbol<B>;
type Sc = Symbol<C>;
type Sk = Symbol<K>;
type Sp = Symbol<P>;
type Sh = Symbol<H>;

fn counted<E: M>() -> Tensor<i32, E> {
    Tensor::from_buf((0..E::SIZE as i32).map(Opt::Init).collect())
}

#[test]
fn storage_axes_are_sorted_digits() {
    let shape =
        |tensor: &Tensor<i8, Pair<Stride<Sk, 8>, Pair<Sh, Modulo<Sk, 8>>>>| tensor.data().shape().to_vec();
    assert_eq!(shape(&Tensor::zero()), [10, 24]);
    assert_eq!(Tensor::<i8, Resize<Sk, 9>>::zero().data().shape(), [9]);
    assert_eq!(Tensor::<i8, Pair<Padding<Sp, 8>, Sb>>::zero().data().shape(), [3, 7]);
    assert_eq!(Tensor::<i8, Stride<Padding<Sp, 8>, 4>>::zero().data().shape(), [2]);
    assert_eq!(Tensor::<i8, Identity>::zero().data().shape(), [0usize; 0]);
    assert_eq!(Tensor::<i8, Stride<Padding<Pair<Sb, Sh>, 64>, 8>>::zero().data().shape(), [4]);
}

#[test]
fn buffers_are_packed() {
    let tensor = Tensor::<i32, Pair<Padding<Sp, 8>, Sb>>::from_buf((0..30).map(Opt::Init).collect());
    assert_eq!(tensor.to_buf(), (0..21).map(Opt::Init).collect::<Vec<_>>());
    // A = 5 is cut at 4 and 2, without the digit between: 4 + 1 is no coordinate.
    let holes = counted::<Pair<Stride<Padding<Sc, 8>, 4>, Modulo<Padding<Sc, 8>, 2>>>();
    assert_eq!(holes.to_buf(), [Opt::Init(0), Opt::Init(1), Opt::Init(2), Opt::Uninit]);
    assert_eq!(holes.map(|_| Opt::Init(1)).to_buf()[3], Opt::Uninit);
}

#[test]
#[should_panic(expected = "from_buf: got 20 elements, but `m![P # 8, B]` has 21")]
fn a_short_buffer_is_refused() {
    Tensor::<i32, Pair<Padding<Sp, 8>, Sb>>::from_buf(vec![Opt::Init(0); 20]);
}

#[test]
fn random_tensors_do_not_depend_on_the_order() {
    let one = Tensor::<bf16, Pair<Sa, Sk>>::rand(&mut SmallRng::seed_from_u64(9));
    let two =
        Tensor::<bf16, Pair<Stride<Sk, 6>, Pair<Sa, Modulo<Sk, 6>>>>::rand(&mut SmallRng::seed_from_u64(9));
    assert_eq!(one, two.transpose(false));
    assert!(one.data() == two.data());
}

#[test]
fn folds_go_by_ascending_coordinate_one_axis_after_the_other() {
    let tensor = counted::<Pair<Sb, Sa>>();
    let digits = |a: Opt<i32>, b: Opt<i32>| a.zip_map(b, |a, b| a * 10 + b);
    let by_a: Tensor<i32, Sa> = tensor.reduce(digits, Opt::Init(0));
    assert_eq!(by_a.to_buf(), [48, 159, 270, 381].map(Opt::Init));
    let all: Tensor<i32, Identity> = tensor.reduce(|a, b| a.zip_map(b, i32::max), Opt::Init(i32::MIN));
    assert_eq!(all.to_buf(), [Opt::Init(11)]);
    // A is the first storage axis: it is folded first, and its results along B.
    let both: Tensor<i32, Identity> = tensor.reduce(digits, Opt::Init(0));
    let rows = [0, 4, 8].map(|k| (k * 10 + k + 1) * 100 + (k + 2) * 10 + k + 3);
    assert_eq!(both.to_buf(), [Opt::Init((rows[0] * 10 + rows[1]) * 10 + rows[2])]);
    let digit: Tensor<i32, Stride<Sk, 4>> = counted::<Sk>().reduce_add();
    assert_eq!(digit.to_buf(), [6, 22, 38, 54, 70, 86].map(Opt::Init));
    let mut hole = counted::<Pair<Sb, Sa>>();
    hole.data_mut()[[1, 2]] = Opt::Uninit;
    assert_eq!(hole.reduce_add::<Sb>().to_buf(), [Opt::Init(6), Opt::Init(22), Opt::Uninit]);
}

#[test]
fn floats_are_added_in_the_fixed_order() {
    let values = [1e8f32, 1.0, -1e8, 1.0];
    let tensor = Tensor::<f32, Sa>::from_buf(values.map(Opt::Init).to_vec());
    assert_eq!(tensor.reduce_add::<Identity>().to_buf(), [Opt::Init(1.0)]);
    let one = Tensor::<f32, Sa>::from_buf(vec![Opt::Init(1.0); 4]);
    let dot = Tensor::<f32, Identity>::contraction::<Sa, _, _>(&tensor, &one);
    assert_eq!(dot.to_buf(), [Opt::Init(1.0)]);
}

#[test]
fn a_reduction_can_be_repeated() {
    let tensor = counted::<Pair<Sb, Sa>>();
    let repeated: Tensor<i32, Pair<Sc, Sb>> = tensor.reduce_then_broadcast();
    assert_eq!(repeated.to_buf(), [6, 22, 38].repeat(5).into_iter().map(Opt::Init).collect::<Vec<_>>());
    let least: Tensor<i32, Pair<Sb, Sc>> =
        tensor.reduce_then_broadcast_with(|a, b| a.zip_map(b, i32::min), Opt::Init(i32::MAX));
    assert_eq!(least.to_buf()[4..6], [0, 4].map(Opt::Init));
}

#[test]
fn contractions_are_sums_of_products() {
    type Lhs = Pair<Stride<Sk, 6>, Pair<Sa, Modulo<Sk, 6>>>;
    type Rhs = Pair<Modulo<Sk, 4>, Pair<Sh, Stride<Sk, 4>>>;
    type Union = Pair<Sh, Pair<Sk, Sa>>;
    let (left, right) = (counted::<Lhs>(), counted::<Rhs>());
    let product = Tensor::<i32, Pair<Sa, Padding<Sh, 12>>>::contraction::<Union, _, _>(&left, &right);
    let (left, right) = (left.transpose::<Pair<Sa, Sk>>(false), right.transpose::<Pair<Sh, Sk>>(false));
    let (left, right) = (left.to_buf(), right.to_buf());
    for (a, h) in (0..4).flat_map(|a| (0..10).map(move |h| (a, h))) {
        let sum = (0..24).fold(Opt::Init(0), |sum, k| sum + left[a * 24 + k] * right[h * 24 + k]);
        assert_eq!(product.to_buf()[a * 10 + h], sum, "A {a}, H {h}");
    }
    // A truncated operand leaves the rest of the union without values.
    let short = counted::<Resize<Sa, 2>>();
    let product = Tensor::<i32, Sa>::contraction::<Pair<Sb, Sa>, _, _>(&short, &counted::<Sb>());
    assert_eq!(product.to_buf(), [Opt::Init(0), Opt::Init(3), Opt::Uninit, Opt::Uninit]);
}

#[test]
#[allow(unsafe_code)] // The methods under test are marked.
fn relabelling() {
    let tensor = counted::<Pair<Sa, Sb>>();
    // SAFETY: both mappings list every element once.
    let turned = unsafe { tensor.clone().transmute::<Pair<Sb, Sa>>() };
    assert_eq!(turned.to_buf(), tensor.transpose::<Pair<Sb, Sa>>(false).to_buf());
    // Position k of m![A, B] becomes position k of m![K = 12], C stays.
    let tensor = counted::<Pair<Sa, Pair<Sc, Sb>>>();
    // SAFETY: as above.
    let named = unsafe { tensor.clone().reshape::<Pair<Sa, Sb>, Resize<Sk, 12>, Pair<Sc, Resize<Sk, 12>>>() };
    assert_eq!(named.to_buf(), tensor.transpose::<Pair<Sc, Pair<Sa, Sb>>>(false).to_buf());
    // SAFETY: as above.
    let padded = unsafe { counted::<Sh>().reshape::<Padding<Sh, 14>, Pair<Sp, Padding<Identity, 2>>, Sp>() };
    assert_eq!(padded.to_buf()[..5], [0, 2, 4, 6, 8].map(Opt::Init));
    assert_eq!(padded.to_buf()[5..], [Opt::Uninit; 2]);
}

#[test]
fn an_axis_that_stands_twice_does_not_panic() {
    let twice = counted::<Pair<Sa, Sa>>();
    assert_eq!(twice.to_buf().len(), 16);
    let _ = counted::<Pair<Modulo<Sa, 2>, Sa>>().to_buf();
    let _ = counted::<Pair<Stride<Sk, 2>, Pair<Modulo<Sk, 8>, Modulo<Sk, 4>>>>().to_buf();
    let _: Tensor<i32, Pair<Sa, Sa>> = counted::<Sa>().transpose(true);
}

#[test]
#[should_panic(
    expected = "transpose: the destination `Tensor<m![A]>` has no place for `m![B]` of the source"
)]
fn a_move_keeps_all_axes() {
    let _: Tensor<i32, Sa> = counted::<Pair<Sa, Sb>>().transpose(true);
}

#[test]
#[should_panic(expected = "a broadcast is not allowed here")]
fn a_broadcast_must_be_allowed() {
    let _: Tensor<i32, Pair<Sa, Sb>> = counted::<Sa>().transpose(false);
}

#[test]
#[should_panic(expected = "reduce_add: the result `m![A, B]` wants `m![B]`, which is not in `m![A]`")]
fn a_reduction_adds_no_axis() {
    let _: Tensor<i32, Pair<Sa, Sb>> = counted::<Sa>().reduce_add();
}

#[test]
#[should_panic(expected = "of which there are other values in `m![K % 4]`")]
fn a_reduction_invents_no_values() {
    let _: Tensor<i32, Sk> = counted::<Modulo<Sk, 4>>().reduce_then_broadcast();
}

#[test]
#[should_panic(expected = "contraction: the destination `Tensor<m![A]>` has no place for `m![B]`")]
fn the_union_has_all_axes() {
    Tensor::<i32, Sa>::contraction::<Sa, _, _>(&counted::<Sa>(), &counted::<Sb>());
}

#[test]
fn a_contraction_of_matrices_is_quick() {
    #[derive(Debug, Clone)]
    struct L;
    impl AxisName for L {
        const NAME: Ident = Ident::new("L");
        const SIZE: usize = 512;
    }
    #[derive(Debug, Clone)]
    struct N;
    impl AxisName for N {
        const NAME: Ident = Ident::new("N");
        const SIZE: usize = 64;
    }
    #[derive(Debug, Clone)]
    struct Q;
    impl AxisName for Q {
        const NAME: Ident = Ident::new("Q");
        const SIZE: usize = 64;
    }
    type Union = Pair<Symbol<Q>, Pair<Symbol<L>, Symbol<N>>>;
    let mut random = SmallRng::seed_from_u64(4);
    let left = Tensor::<f32, Pair<Symbol<Q>, Symbol<L>>>::rand(&mut random);
    let right = Tensor::<f32, Pair<Symbol<L>, Symbol<N>>>::rand(&mut random);
    let product =
        Tensor::<f32, Pair<Symbol<Q>, Symbol<N>>>::contraction::<Union, _, _>(&left, &right).to_buf();
    let (left, right) = (left.to_buf(), right.to_buf());
    let last = (0..512).fold(Opt::Init(0.0), |sum, k| sum + left[63 * 512 + k] * right[k * 64 + 63]);
    assert_eq!(product[4095], last);
}
