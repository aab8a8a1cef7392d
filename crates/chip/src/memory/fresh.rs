//! Values that unwritten elements read as.

use furiosa_visa_rules::scalar::ElementType;

/// Value that an unwritten element reads as. The element is uninitialised, whatever its value is.
///
/// | type | poison |
/// |---|---|
/// | `f8e4m3`, `f8e5m2`, `f16`, `bf16`, `f32` | NaN |
/// | `i4`, `i5`, `i8`, `i9`, `i16`, `i32` | the least number |
/// | `u8` | 255 |
/// | `f4e2m1` | 6 |
///
/// Memory takes no space for the value, because it is made when it is read. Two 4-bit elements share a byte and its
/// mark; the unwritten neighbour of a written 4-bit element reads as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FreshMemory {
    /// NaN or an extreme number, so that results computed from it stand out.
    #[default]
    Poison,
    /// Zero.
    Zero,
    /// Random codes that depend only on the seed of the system, the unit and the address.
    Random,
}

/// Values of the unwritten elements of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fresh {
    kind: FreshMemory,
    seed: u64,
}

impl Fresh {
    /// Values that are poison.
    pub(crate) const POISON: Self = Self { kind: FreshMemory::Poison, seed: 0 };

    /// Values of a system.
    pub(crate) const fn new(kind: FreshMemory, seed: u64) -> Self {
        Self { kind, seed }
    }

    /// Values of part `number` of the system or the unit.
    pub(crate) const fn part(self, number: u64) -> Self {
        Self { kind: self.kind, seed: mixed(self.seed ^ mixed(number)) }
    }

    /// The code of an element in its container. `place`: number of half bytes before it.
    pub(crate) const fn code(self, element: ElementType, place: u64) -> u32 {
        match self.kind {
            FreshMemory::Zero => 0,
            FreshMemory::Poison => poison(element),
            FreshMemory::Random => {
                let code = mixed(self.seed ^ mixed(place)) as u32;
                let unused = 32 - bits(element);
                match element {
                    // A container repeats the sign in all higher bits.
                    ElementType::I5 | ElementType::I9 => {
                        let container = u32::MAX >> (32 - element.container_bits());
                        ((code << unused) as i32 >> unused) as u32 & container
                    }
                    _ => code << unused >> unused,
                }
            }
        }
    }
}

/// Number of bits that distinguish the values of a type.
const fn bits(element: ElementType) -> usize {
    match element {
        ElementType::I5 => 5,
        ElementType::I9 => 9,
        _ => element.bits(),
    }
}

const fn poison(element: ElementType) -> u32 {
    match element {
        ElementType::I4 => 0x8,
        ElementType::I5 => 0xf0,
        ElementType::I8 => 0x80,
        ElementType::I9 => 0xff00,
        ElementType::U8 => 0xff,
        ElementType::I16 => 0x8000,
        ElementType::I32 => 0x8000_0000,
        ElementType::F4e2m1 => 0x7,
        ElementType::F8e4m3 | ElementType::F8e5m2 => 0x7f,
        ElementType::Bf16 => 0x7fc0,
        ElementType::F16 => 0x7e00,
        ElementType::F32 => 0x7fc0_0000,
    }
}

/// A permutation of 64 bits that moves every bit (the output function of SplitMix64).
pub(crate) const fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::scalar::{bf16, f8e4m3, f8e5m2, f16};

    #[test]
    fn poison_is_nan_or_extreme() {
        let code = |element| Fresh::POISON.code(element, 7);
        assert!(f8e4m3::from_bits(code(ElementType::F8e4m3) as u8).to_f32().is_nan());
        assert!(f8e5m2::from_bits(code(ElementType::F8e5m2) as u8).to_f32().is_nan());
        assert!(bf16::from_bits(code(ElementType::Bf16) as u16).to_f32().is_nan());
        assert!(f16::from_bits(code(ElementType::F16) as u16).to_f32().is_nan());
        assert!(f32::from_bits(code(ElementType::F32)).is_nan());
        assert_eq!(code(ElementType::I4), (-8i32 & 15) as u32);
        assert_eq!(code(ElementType::I5) as u8 as i8, -16);
        assert_eq!(code(ElementType::I9) as u16 as i16, -256);
        assert_eq!(code(ElementType::I8) as u8 as i8, i8::MIN);
        assert_eq!(code(ElementType::I16) as u16 as i16, i16::MIN);
        assert_eq!(code(ElementType::I32) as i32, i32::MIN);
        assert_eq!(code(ElementType::U8) as u8, u8::MAX);
    }

    #[test]
    fn random_codes_repeat_and_fill_their_type() {
        for element in ElementType::ALL {
            let all = |seed| -> Vec<u32> {
                let fresh = Fresh::new(FreshMemory::Random, seed).part(3);
                (0..400).map(|place| fresh.code(element, place)).collect()
            };
            assert_eq!(all(1), all(1));
            assert_ne!(all(1), all(2));
            let container = u32::MAX >> (32 - element.container_bits());
            assert!(all(1).iter().all(|&code| code <= container), "{element}");
            for bit in 0..element.container_bits() {
                let set = all(1).iter().filter(|&&code| code >> bit & 1 == 1).count();
                assert!((100..300).contains(&set), "bit {bit} of {element}: {set}");
            }
            assert_eq!(Fresh::new(FreshMemory::Zero, 1).code(element, 9), 0);
        }
        let least = |element: ElementType, sign: u32| {
            let fresh = Fresh::new(FreshMemory::Random, 5);
            (0..400).all(|place| {
                let code = fresh.code(element, place);
                let above = code >> (bits(element) - 1);
                above == 0 || above == sign
            })
        };
        assert!(least(ElementType::I5, 0xf) && least(ElementType::I9, 0xff));
    }
}
