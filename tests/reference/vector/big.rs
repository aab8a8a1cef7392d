//! Natural numbers of any size, with the few operations that the exact functions need. Slow on purpose: every
//! operation is the one that is taught in school.

use std::cmp::Ordering;

/// A natural number. Limbs of 32 bits, the lowest first, without zeros at the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Big(Vec<u32>);

impl Big {
    /// Zero.
    pub fn zero() -> Big {
        Big(Vec::new())
    }

    /// A small number.
    pub fn from(value: u64) -> Big {
        Big(vec![value as u32, (value >> 32) as u32]).trimmed()
    }

    /// `2^exponent`.
    pub fn power_of_two(exponent: usize) -> Big {
        Big::from(1).shl(exponent)
    }

    fn trimmed(mut self) -> Big {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of bits up to the highest one.
    pub fn bits(&self) -> usize {
        self.0.last().map_or(0, |top| 32 * self.0.len() - top.leading_zeros() as usize)
    }

    /// The bit of weight `2^place`.
    pub fn bit(&self, place: usize) -> bool {
        self.0.get(place / 32).is_some_and(|limb| limb >> (place % 32) & 1 == 1)
    }

    pub fn compare(&self, other: &Big) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    pub fn add(&self, other: &Big) -> Big {
        let mut carry = 0u64;
        let mut sum = Vec::new();
        for k in 0..self.0.len().max(other.0.len()) {
            let limb = |number: &Big| u64::from(number.0.get(k).copied().unwrap_or(0));
            carry += limb(self) + limb(other);
            sum.push(carry as u32);
            carry >>= 32;
        }
        sum.push(carry as u32);
        Big(sum).trimmed()
    }

    /// `self - other`, which must not be negative.
    ///
    /// # Panics
    /// When it is.
    pub fn sub(&self, other: &Big) -> Big {
        assert!(self.compare(other) != Ordering::Less, "a natural number is not negative");
        let mut borrow = 0i64;
        let mut difference = Vec::new();
        for (k, limb) in self.0.iter().enumerate() {
            let mut value = i64::from(*limb) - i64::from(other.0.get(k).copied().unwrap_or(0)) - borrow;
            borrow = i64::from(value < 0);
            value += borrow << 32;
            difference.push(value as u32);
        }
        Big(difference).trimmed()
    }

    pub fn mul(&self, other: &Big) -> Big {
        let mut product = vec![0u32; self.0.len() + other.0.len()];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (j, b) in other.0.iter().enumerate() {
                carry += u64::from(product[i + j]) + u64::from(*a) * u64::from(*b);
                product[i + j] = carry as u32;
                carry >>= 32;
            }
            product[i + other.0.len()] = carry as u32;
        }
        Big(product).trimmed()
    }

    pub fn shl(&self, places: usize) -> Big {
        let mut limbs = vec![0; places / 32];
        let mut carry = 0u64;
        for limb in &self.0 {
            carry |= u64::from(*limb) << (places % 32);
            limbs.push(carry as u32);
            carry >>= 32;
        }
        limbs.push(carry as u32);
        Big(limbs).trimmed()
    }

    /// Bits below the shift are lost.
    pub fn shr(&self, places: usize) -> Big {
        let mut limbs = Vec::new();
        for k in places / 32..self.0.len() {
            let high = u64::from(self.0.get(k + 1).copied().unwrap_or(0));
            limbs.push(((high << 32 | u64::from(self.0[k])) >> (places % 32)) as u32);
        }
        Big(limbs).trimmed()
    }

    /// The quotient by a small number, rounded down.
    pub fn div_small(&self, divisor: u32) -> Big {
        let mut rest = 0u64;
        let mut quotient = vec![0; self.0.len()];
        for (k, limb) in self.0.iter().enumerate().rev() {
            rest = rest << 32 | u64::from(*limb);
            quotient[k] = (rest / u64::from(divisor)) as u32;
            rest %= u64::from(divisor);
        }
        Big(quotient).trimmed()
    }

    /// The quotient, rounded down, and the rest: bit by bit.
    pub fn div_rem(&self, divisor: &Big) -> (Big, Big) {
        let mut quotient = vec![0u32; self.0.len()];
        let mut rest = Big::zero();
        for place in (0..self.bits()).rev() {
            rest = rest.shl(1);
            if self.bit(place) {
                rest = rest.add(&Big::from(1));
            }
            if rest.compare(divisor) != Ordering::Less {
                rest = rest.sub(divisor);
                quotient[place / 32] |= 1 << (place % 32);
            }
        }
        (Big(quotient).trimmed(), rest)
    }

    /// The square root, rounded down: bit by bit.
    pub fn sqrt(&self) -> Big {
        let mut root = Big::zero();
        for place in (0..=self.bits() / 2).rev() {
            let next = root.add(&Big::power_of_two(place));
            if next.mul(&next).compare(self) != Ordering::Greater {
                root = next;
            }
        }
        root
    }

    /// The lowest 64 bits.
    pub fn low(&self) -> u64 {
        let limb = |k: usize| u64::from(self.0.get(k).copied().unwrap_or(0));
        limb(0) | limb(1) << 32
    }

    /// `self * 2^exponent` as the nearest `f32`, ties to even.
    pub fn to_f32(&self, exponent: i32) -> f32 {
        if self.is_zero() {
            return 0.0;
        }
        let top = self.bits() as i32 - 1 + exponent;
        if top > 128 {
            return f32::INFINITY;
        }
        // The weight of the last bit of the result.
        let last = (top - 23).max(-149);
        let places = last - exponent;
        let mut count = if places <= 0 { self.shl(-places as usize) } else { self.shr(places as usize) };
        if places > 0 {
            let rest = self.sub(&count.shl(places as usize));
            let half = Big::power_of_two(places as usize - 1);
            let up = match rest.compare(&half) {
                Ordering::Less => false,
                Ordering::Equal => count.bit(0),
                Ordering::Greater => true,
            };
            if up {
                count = count.add(&Big::from(1));
            }
        }
        // At most 2^24 counts of a power of two: exact in f64, and in f32 unless it overflows.
        (count.low() as f64 * 2f64.powi(last)) as f32
    }
}
