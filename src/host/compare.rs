//! Comparing tensors of numbers: what is close, and where the rest lies in the axes of the program.

use super::storage::{Layout, axes_of};
use super::table::{digit, number, shown};
use super::{HostTensor, Tensor};
use crate::mapping::{M, Pool};
use crate::scalar::{ElementType, Opt, Scalar};
use crate::text::grouped;

/// The distance up to which two numbers are close: `|actual - expected| <= absolute + relative * |expected|`.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// // Sums of `bf16` products in another order than the reference adds them.
/// let tolerance = Tolerance { absolute: 1e-6, relative: 1e-4 };
/// # let _ = tolerance;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The part that does not depend on the numbers.
    pub absolute: f64,
    /// The part per size of the expected number.
    pub relative: f64,
}

impl Tolerance {
    /// Equal numbers. Both zeros are equal.
    pub const EXACT: Self = Self { absolute: 0.0, relative: 0.0 };

    /// The distance of two numbers, in tolerances: up to 1 they are close. Two NaNs are close, and equal infinities.
    fn distance(self, actual: f64, expected: f64) -> f64 {
        if actual == expected || actual.is_nan() && expected.is_nan() {
            return 0.0;
        }
        let (off, allowed) = ((actual - expected).abs(), self.absolute + self.relative * expected.abs());
        // An infinite number has no neighbours.
        if off.is_finite() && off <= allowed {
            0.5
        } else if off.is_finite() && allowed > 0.0 {
            (off / allowed).max(1.0 + f64::EPSILON)
        } else {
            f64::INFINITY
        }
    }
}

/// The distance of two elements. One of which only the other has a value is infinitely far.
fn distance<D: Scalar>(tolerance: Tolerance, actual: Opt<D>, expected: Opt<D>) -> f64 {
    let value = |element: D| D::ELEMENT_TYPE.number(element.to_bits());
    match (actual, expected) {
        (Opt::Init(actual), Opt::Init(expected)) => tolerance.distance(value(actual), value(expected)),
        (Opt::Uninit, Opt::Uninit) => 0.0,
        _ => f64::INFINITY,
    }
}

impl<D: Scalar, Mapping: M> Tensor<D, Mapping> {
    /// Compares with a reference, element by element: see [`Tolerance`]. Elements that nobody wrote must be those of the
    /// reference.
    ///
    /// The message of a difference names the worst element by its place in the axes, its distance in units in the last
    /// place (ULP) of the type, the share of elements that are not close, and for each axis where they are.
    ///
    /// ```should_panic
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 4, B = 8];
    /// let expected = HostTensor::<f32, m![A, B]>::from_slice(&[1.0; 32]);
    /// let mut wrong = [1.0; 32];
    /// wrong[8 + 5] = 1.5;
    /// let actual = HostTensor::<f32, m![A, B]>::from_slice(&wrong);
    /// // … the worst is i![A: 1, B: 5]: 1.5, but 1 is expected; off by 0.5, 4 194 304 ULP of f32 …
    /// actual.assert_close(&expected, Tolerance { absolute: 1e-6, relative: 1e-5 });
    /// ```
    ///
    /// # Panics
    /// If an element is not close.
    #[track_caller]
    pub fn assert_close(&self, expected: impl AsRef<Tensor<D, Mapping>>, tolerance: Tolerance) {
        if let Some(text) = self.difference(expected.as_ref(), tolerance) {
            panic!("assert_close: {text}");
        }
    }

    /// The message of a difference. `None`: all elements are close.
    fn difference(&self, expected: &Self, tolerance: Tolerance) -> Option<String> {
        let both = || self.data().iter().zip(expected.data());
        let is_far = |(&a, &b): (&Opt<D>, &Opt<D>)| distance(tolerance, a, b) > 1.0;
        if !both().any(is_far) {
            return None;
        }
        let mut pool = Pool::new();
        let layout = Layout::new("assert_close", &mut pool, Mapping::EXPR);
        let axes: Vec<(String, usize)> =
            axes_of(&layout.storage).map(|(term, size)| (digit(&pool, &term), size)).collect();
        // For each axis and coordinate: elements that are far, and all.
        let mut counts: Vec<Vec<[u64; 2]>> = axes.iter().map(|(_, size)| vec![[0; 2]; *size]).collect();
        let (mut far, mut all, mut worst) = (0u64, 0u64, (0.0, Vec::new(), [Opt::Uninit; 2]));
        for (at, (&actual, &wanted)) in ndarray::indices(layout.shape()).into_iter().zip(both()) {
            let place = ndarray::Dimension::slice(&at);
            if actual == Opt::Uninit && wanted == Opt::Uninit {
                continue;
            }
            let distance = distance(tolerance, actual, wanted);
            let is_far = distance > 1.0;
            (far, all) = (far + u64::from(is_far), all + 1);
            for (counts, &coordinate) in counts.iter_mut().zip(place) {
                counts[coordinate][0] += u64::from(is_far);
                counts[coordinate][1] += 1;
            }
            if distance > worst.0 {
                worst = (distance, place.to_vec(), [actual, wanted]);
            }
        }
        let (_, place, [actual, wanted]) = worst;
        let place: Vec<String> =
            axes.iter().zip(place).map(|((axis, _), at)| format!("{axis}: {at}")).collect();
        let mut text = format!(
            "{} of {} elements ({}) of `m![{}]` are far from the reference\n  allowed is {} + {} * |expected|\n  the worst is \
             i![{}]: {}",
            grouped(far),
            grouped(all),
            share(far, all),
            Mapping::EXPR,
            tolerance.absolute,
            tolerance.relative,
            place.join(", "),
            off(D::ELEMENT_TYPE, [code(actual), code(wanted)], [shown(actual), shown(wanted)]),
        );
        for ((axis, size), counts) in axes.iter().zip(&counts).filter(|((_, size), _)| *size > 1) {
            let coordinates: Vec<usize> = (0..*size).filter(|&at| counts[at][0] > 0).collect();
            let [far, all] = [0, 1].map(|k| coordinates.iter().map(|&at| counts[at][k]).sum::<u64>());
            text.push_str(&format!(
                "\n  {axis} in {}: {} of {}",
                in_words(&coordinates),
                grouped(far),
                grouped(all)
            ));
        }
        Some(text)
    }
}

/// The code of an element that has a value.
fn code<D: Scalar>(element: Opt<D>) -> Option<u32> {
    match element {
        Opt::Init(value) => Some(value.to_bits()),
        Opt::Uninit => None,
    }
}

/// A share in percent, which is 0 and 100 for none and all alone.
fn share(part: u64, all: u64) -> String {
    let percent = part as f64 * 100.0 / all as f64;
    match part {
        _ if part == all => "100 %".to_string(),
        _ if percent < 0.1 => "less than 0.1 %".to_string(),
        _ => format!("{:.1} %", percent.min(99.9)),
    }
}

/// Two elements and their distance.
fn off(element: ElementType, codes: [Option<u32>; 2], [shown, expected]: [String; 2]) -> String {
    let [Some(actual), Some(wanted)] = codes else {
        return match codes[0] {
            Some(_) => format!("{shown}, but the reference has no value there"),
            None => format!("it has no value, because nobody wrote it, but {expected} is expected"),
        };
    };
    let values = [element.number(actual), element.number(wanted)];
    if values.iter().any(|value| !value.is_finite()) {
        return format!("{shown}, but {expected} is expected");
    }
    let units = grouped(element.rank(actual).abs_diff(element.rank(wanted)));
    let distance = distance_text(element, (values[0] - values[1]).abs());
    format!("{shown}, but {expected} is expected; off by {distance}, {units} ULP of {element}")
}

/// The distance of two finite numbers: of integers exactly, of floats as the nearest `f32`, if there is one.
fn distance_text(element: ElementType, distance: f64) -> String {
    match distance as f32 {
        _ if !element.is_float() => format!("{distance}"),
        narrow if narrow.is_finite() => number(ElementType::F32, narrow.to_bits()),
        _ => format!("{distance:e}"),
    }
}

/// Coordinates as ranges, or as a progression: `448..500`, `3, 5..8`, `every 8th of 3..500`.
fn in_words(coordinates: &[usize]) -> String {
    let ranges: Vec<&[usize]> = coordinates.chunk_by(|a, b| a + 1 == *b).collect();
    let (first, last) = (coordinates.first().copied().unwrap_or(0), coordinates.last().copied().unwrap_or(0));
    if let [a, b, _, ..] = *coordinates
        && ranges.len() == coordinates.len()
        && coordinates.windows(2).all(|pair| pair[1] - pair[0] == b - a)
    {
        return format!("every {} of {first}..{}", ordinal(b - a), last + 1);
    }
    let range = |range: &&[usize]| match range {
        [one] => one.to_string(),
        _ => format!("{}..{}", range[0], range[range.len() - 1] + 1),
    };
    let mut words: Vec<String> = ranges.iter().take(4).map(range).collect();
    if ranges.len() > words.len() {
        words.push(format!("… up to {last}"));
    }
    words.join(", ")
}

/// `2nd`, `3rd`, `4th`, …
fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// Compares with a reference: see [`Tensor::assert_close`].
    ///
    /// # Panics
    /// If an element is not close.
    #[track_caller]
    pub fn assert_close(&self, expected: impl AsRef<Tensor<D, Element>>, tolerance: Tolerance) {
        self.as_tensor().assert_close(expected, tolerance);
    }
}

impl<D: Scalar, Mapping: M> AsRef<Tensor<D, Mapping>> for Tensor<D, Mapping> {
    fn as_ref(&self) -> &Tensor<D, Mapping> {
        self
    }
}

impl<D: Scalar, Element: M> AsRef<Tensor<D, Element>> for HostTensor<D, Element> {
    fn as_ref(&self) -> &Tensor<D, Element> {
        self.as_tensor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::bf16;
    use furiosa_visa_macros::{axes, m};

    axes![A = 4, B = 24, C = 2];

    /// A tensor of ones with some other elements.
    fn ones(others: &[(usize, f32)]) -> HostTensor<f32, m![A, B]> {
        let mut all = vec![1.0; 96];
        others.iter().for_each(|&(at, value)| all[at] = value);
        HostTensor::from_slice(&all)
    }

    fn text(actual: &HostTensor<f32, m![A, B]>, tolerance: Tolerance) -> Option<String> {
        actual.as_tensor().difference(ones(&[]).as_tensor(), tolerance)
    }

    const LOOSE: Tolerance = Tolerance { absolute: 0.25, relative: 0.25 };

    /// The limit itself is close, the next number is not.
    #[test]
    fn the_limit_is_close() {
        ones(&[(3, 1.5), (4, 0.5)]).assert_close(ones(&[]), LOOSE);
        for beyond in [1.5f32.next_up(), 0.5f32.next_down(), f32::INFINITY, f32::NAN] {
            assert!(text(&ones(&[(3, beyond)]), LOOSE).is_some(), "{beyond}");
        }
        assert!(text(&ones(&[(3, 1.0f32.next_up())]), Tolerance::EXACT).is_some());
        let special = |a: f32, b: f32| LOOSE.distance(a.into(), b.into()) <= 1.0;
        assert!(special(f32::NAN, f32::NAN) && special(f32::INFINITY, f32::INFINITY) && special(0.0, -0.0));
        assert!(
            !special(f32::INFINITY, f32::NEG_INFINITY)
                && !special(1.0, f32::INFINITY)
                && !special(f32::NAN, 0.0)
        );
    }

    #[test]
    fn the_worst_element_and_the_axes_are_named() {
        let others = [(24 + 5, 1.75), (48 + 13, -3.0), (48 + 21, 2.0)];
        let expected = "\
3 of 96 elements (3.1 %) of `m![A, B]` are far from the reference
  allowed is 0.25 + 0.25 * |expected|
  the worst is i![A: 2, B: 13]: -3, but 1 is expected; off by 4, 2 143 289 344 ULP of f32
  A in 1..3: 3 of 48
  B in every 8th of 5..22: 3 of 12";
        assert_eq!(text(&ones(&others), LOOSE).as_deref(), Some(expected));
        // 1 is 127 << 23, and -3 is 128 << 23 | 1 << 22 below 0.
        assert_eq!((127u64 << 23) + (128 << 23) + (1 << 22), 2_143_289_344);
    }

    #[test]
    fn what_has_no_value_is_the_worst() {
        let mut some: Vec<Opt<f32>> = vec![Opt::Init(1.0); 96];
        some[3] = Opt::Uninit;
        some[4] = Opt::Init(100.0);
        let some = HostTensor::<f32, m![A, B]>::from_buf(some);
        let of = |actual: &HostTensor<f32, m![A, B]>, expected: &HostTensor<f32, m![A, B]>| {
            actual.as_tensor().difference(expected.as_tensor(), Tolerance::EXACT).expect("they differ")
        };
        let missing =
            "i![A: 0, B: 3]: it has no value, because nobody wrote it, but 1 is expected\n  A in 0: 2 of 24";
        assert!(of(&some, &ones(&[])).contains(missing), "{}", of(&some, &ones(&[])));
        assert!(of(&ones(&[]), &some).contains("i![A: 0, B: 3]: 1, but the reference has no value there"));
        some.assert_close(some.clone(), Tolerance::EXACT);
    }

    /// ULP are those of the type; integers count steps; axes of one value are not named.
    #[test]
    fn narrow_types_have_ulp_of_their_own() {
        let [a, b] = [1.0, 1.0078125]
            .map(|value| Tensor::<bf16, m![C]>::from_buf(vec![Opt::Init(bf16::from_f32(value)); 2]));
        let text = b.difference(&a, Tolerance::EXACT).expect("they differ");
        assert!(
            text.ends_with(
                "i![C: 0]: 1.0078125, but 1 is expected; off by 0.0078125, 1 ULP of bf16\n  C in 0..2: 2 of 2"
            ),
            "{text}"
        );
        let [a, b] = [-5, 7].map(|value| Tensor::<i32, m![1]>::from_buf(vec![Opt::Init(value)]));
        let text = b.difference(&a, Tolerance { absolute: 11.0, relative: 0.0 }).expect("they differ");
        assert!(
            text.starts_with("1 of 1 elements (100 %)")
                && text.ends_with("i![]: 7, but -5 is expected; off by 12, 12 ULP of i32"),
            "{text}"
        );
        b.assert_close(&a, Tolerance { absolute: 12.0, relative: 0.0 });
    }

    /// Distances that no `f32` has: integers of more than 24 bits, and more than the greatest `f32`.
    #[test]
    fn distances_beyond_f32_are_exact() {
        fn ends<D: Scalar>([a, b]: [D; 2], expected: &str) {
            let [a, b] = [a, b].map(|value| Tensor::<D, m![1]>::from_buf(vec![Opt::Init(value)]));
            let text = a.difference(&b, Tolerance::EXACT).expect("they differ");
            assert!(text.ends_with(expected), "{text}");
        }
        ends([1 << 24, -1], "off by 16777217, 16 777 217 ULP of i32");
        ends([i32::MAX, i32::MIN], "off by 4294967295, 4 294 967 295 ULP of i32");
        // Twice the greatest one, and twice its code.
        ends([f32::MAX, -f32::MAX], "off by 6.805646932770577e38, 4 278 190 078 ULP of f32");
        assert_eq!(
            (2.0 * f64::from(f32::MAX), 2 * u64::from(f32::MAX.to_bits())),
            (6.805646932770577e38, 4_278_190_078)
        );
        ends([f32::MAX, 0.0], "off by 3.4028235e38, 2 139 095 039 ULP of f32");
    }

    #[test]
    fn coordinates_in_words() {
        let of = |coordinates: &[usize]| in_words(coordinates);
        assert_eq!([of(&[7]), of(&[3, 4, 5]), of(&[0, 2])], ["7", "3..6", "0, 2"]);
        assert_eq!(of(&[0, 2, 4]), "every 2nd of 0..5");
        assert_eq!(of(&[1, 2, 5, 8, 10, 12, 13]), "1..3, 5, 8, 10, … up to 13");
        assert_eq!(
            [2, 3, 11, 12, 21, 22, 113].map(ordinal),
            ["2nd", "3rd", "11th", "12th", "21st", "22nd", "113th"]
        );
        assert_eq!([share(1, 2000), share(1999, 2000), share(5, 5)], ["less than 0.1 %", "99.9 %", "100 %"]);
    }
}
