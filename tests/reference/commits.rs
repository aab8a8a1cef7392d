//! The stages of the Commit Engine before it writes: what a trim keeps, and what f32 becomes.

use super::mapping::Map;
use super::numbers::ElementType;

/// The bf16 code that the engine writes for an f32 code. `relu`: values with a sign become +0.0 first.
pub fn narrowed(code: u32, relu: bool) -> u32 {
    let (sign, exponent, mantissa) = (code >> 31, code >> 23 & 0xff, code & 0x7f_ffff);
    match (sign, exponent, mantissa) {
        (_, 0xff, 1..) => 0x7fc0,
        (1, ..) if relu => 0,
        (sign, 0, _) => sign << 15,
        _ => ElementType::Bf16.encode(ElementType::F32.decode(code)),
    }
}

/// Whether `kept` is the beginning of a flit `packet` that a commit can write: position by position the same elements.
pub fn keeps_the_beginning(element: ElementType, packet: &Map, kept: &Map) -> bool {
    let bits = kept.size() * element.bits();
    let is_width = [64, 128, 192, 256].contains(&bits);
    packet.size() == element.per_flit() && is_width && packet.table().starts_with(&kept.table())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes() {
        let codes = |code| [false, true].map(|relu| narrowed(code, relu));
        assert_eq!(codes(0x3f80_0000), [0x3f80; 2]);
        assert_eq!(codes(0xbf80_8000), [0xbf80, 0], "a tie, to even");
        assert_eq!(codes(0x8000_0001), [0x8000, 0]);
        assert_eq!(codes(0x007f_ffff), [0; 2], "below the smallest normal number");
        assert_eq!(codes(0xffff_ffff), [0x7fc0; 2]);
        assert_eq!(codes(0x7f7f_ffff), [0x7f80; 2]);
    }

    #[test]
    fn known_trims() {
        let axes = [("W", 12), ("V", 3)];
        let keeps = |packet: &str, kept: &str| {
            keeps_the_beginning(ElementType::I8, &Map::parse(packet, &axes), &Map::parse(kept, &axes))
        };
        assert!(keeps("W # 32", "W # 16") && keeps("W # 32", "W = 8") && keeps("W # 32", "W # 32"));
        assert!(!keeps("W # 32", "W"), "12 bytes");
        assert!(!keeps("W # 16", "W = 8"), "no flit");
        assert!(!keeps("W # 32", "W % 4 # 8"), "padding in place of elements");
        assert!(!keeps("W # 32", "V # 8"));
    }
}
