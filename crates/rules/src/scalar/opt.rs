//! [`Opt`]: an element that may never have been written.

use super::Scalar;
use num_traits::{One, Zero};
use std::ops::{Add, Div, Mul, Sub};

/// A tensor element that is either initialised or not.
///
/// Memory starts uninitialised, padding positions stay so, and every operation on an uninitialised element gives an
/// uninitialised result. In this way reads of unwritten elements show in a kernel.
///
/// See `guide::memories_and_dma`.
///
/// ```
/// use furiosa_visa_std::scalar::Opt;
///
/// assert_eq!(Opt::Init(100i8) + Opt::Init(100), Opt::Init(-56)); // integers wrap
/// assert_eq!(Opt::Init(1) + Opt::Uninit, Opt::Uninit);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opt<D> {
    /// The element holds this value.
    Init(D),
    /// An element that was never written.
    #[default]
    Uninit,
}

impl<D> Opt<D> {
    /// Applies `function` to the value; `Uninit` stays `Uninit`.
    #[inline]
    pub fn map<D2>(self, function: impl FnOnce(D) -> D2) -> Opt<D2> {
        match self {
            Opt::Init(value) => Opt::Init(function(value)),
            Opt::Uninit => Opt::Uninit,
        }
    }

    /// Applies `function` to both values; the result is `Uninit` if either side is.
    #[inline]
    pub fn zip_map<D2, D3>(self, other: Opt<D2>, function: impl FnOnce(D, D2) -> D3) -> Opt<D3> {
        match (self, other) {
            (Opt::Init(left), Opt::Init(right)) => Opt::Init(function(left, right)),
            _ => Opt::Uninit,
        }
    }

    /// The value.
    ///
    /// # Panics
    ///
    /// Panics if the element is `Uninit`.
    #[inline]
    #[track_caller]
    pub fn unwrap(self) -> D {
        match self {
            Opt::Init(value) => value,
            Opt::Uninit => panic!(
                "unwrap: the element is `Opt::Uninit`, but a value is needed; \
                 write the element first, or skip padding positions"
            ),
        }
    }

    /// True if the element holds a value.
    #[inline]
    pub const fn is_init(&self) -> bool {
        matches!(self, Opt::Init(_))
    }

    /// The value as an [`Option`].
    #[inline]
    pub fn into_option(self) -> Option<D> {
        match self {
            Opt::Init(value) => Some(value),
            Opt::Uninit => None,
        }
    }
}

impl<D> From<Option<D>> for Opt<D> {
    fn from(option: Option<D>) -> Self {
        match option {
            Some(value) => Opt::Init(value),
            None => Opt::Uninit,
        }
    }
}

macro_rules! strict_operator {
    ($($trait:ident, $method:ident, $scalar_method:ident;)*) => { $(
        impl<D: Scalar> $trait for Opt<D> {
            type Output = Self;

            #[inline]
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                self.zip_map(other, D::$scalar_method)
            }
        }
    )* };
}

strict_operator! {
    Add, add, add_wrapping;
    Sub, sub, sub_wrapping;
    Mul, mul, mul_wrapping;
    Div, div, div_wrapping;
}

impl<D: Scalar> Zero for Opt<D> {
    #[inline]
    fn zero() -> Self {
        Opt::Init(D::zero())
    }

    /// `Uninit` is not zero.
    #[inline]
    fn is_zero(&self) -> bool {
        matches!(self, Opt::Init(value) if value.is_zero())
    }
}

impl<D: Scalar> One for Opt<D> {
    #[inline]
    fn one() -> Self {
        Opt::Init(D::one())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{bf16, i4};
    use super::*;

    #[test]
    fn operators_are_strict() {
        let (two, uninit) = (Opt::Init(2i32), Opt::Uninit);
        for result in [two + uninit, uninit - two, uninit * two, two / uninit, uninit + uninit] {
            assert_eq!(result, Opt::Uninit);
        }
        // A factor or a divisor of zero does not change the result.
        assert_eq!(Opt::Init(0) * uninit, Opt::Uninit);
        assert_eq!(uninit / Opt::Init(0), Opt::Uninit);
        assert_eq!(two + two * two - two / two, Opt::Init(5));
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(Opt::Init(i8::MAX) + Opt::one(), Opt::Init(i8::MIN));
        assert_eq!(Opt::Init(i8::MIN) - Opt::one(), Opt::Init(i8::MAX));
        assert_eq!(Opt::Init(i32::MAX) * Opt::Init(2), Opt::Init(-2));
        assert_eq!(Opt::Init(i16::MIN) / Opt::Init(-1), Opt::Init(i16::MIN));
        assert_eq!(Opt::Init(i4::from_i32(7)) + Opt::one(), Opt::Init(i4::from_i32(-8)));
        assert_eq!(Opt::Init(bf16::from_f32(1.5)) + Opt::one(), Opt::Init(bf16::from_f32(2.5)));
    }

    #[test]
    fn maps() {
        assert_eq!(Opt::Init(3i8).map(i32::from), Opt::Init(3i32));
        assert_eq!(Opt::<i8>::Uninit.map(i32::from), Opt::Uninit);
        assert_eq!(Opt::Init(3).zip_map(Opt::Init(9), i32::max), Opt::Init(9));
        assert_eq!(Opt::Init(3).zip_map(Opt::Uninit, i32::max), Opt::Uninit);
        assert_eq!(Opt::Uninit.zip_map(Opt::Init(9), i32::max), Opt::Uninit);
    }

    #[test]
    fn zero_and_one() {
        assert_eq!(Opt::<i8>::zero(), Opt::Init(0));
        assert!(Opt::Init(-0.0f32).is_zero());
        assert!(!Opt::<f32>::Uninit.is_zero());
        assert!(Opt::<f32>::one().is_one());
        assert_eq!(Opt::<i8>::default(), Opt::Uninit);
    }

    #[test]
    fn options() {
        assert_eq!(Opt::Init(1).into_option(), Some(1));
        assert_eq!(Opt::<i32>::Uninit.into_option(), None);
        assert_eq!(Opt::from(Some(1)), Opt::Init(1));
        assert_eq!(Opt::<i32>::from(None), Opt::Uninit);
        assert!(Opt::Init(1).is_init() && !Opt::<i32>::Uninit.is_init());
    }

    #[test]
    fn an_array_of_opt_is_a_linear_algebra_array() {
        fn needs_linalg<T: ndarray::LinalgScalar>(value: T) -> T {
            value
        }
        assert_eq!(needs_linalg(Opt::Init(4i8)).unwrap(), 4);
    }

    #[test]
    #[should_panic(expected = "unwrap: the element is `Opt::Uninit`")]
    fn unwrap_of_uninit_panics() {
        Opt::<i32>::Uninit.unwrap();
    }
}
