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
