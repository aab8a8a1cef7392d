//! `i5` and `i9` in the register file.
//!
//! ```text
//!   stream    element in its container       low bits | bits of the sign
//!   TRF       plane 0: as `i4` or `i8`  ◀──  low bits
//!             plane 1: the same layout  ◀──             bits of the sign
//! ```
//!
//! A row of the register file has 320 bits for 32 bytes, and its extra bits lie beside the others. Here they lie at the
//! same places, [`TRF_BYTES`] further on, so that layout and capacity are those of `i4` and `i8`.

use super::Fresh;
use super::row::{Row, nibble, set_nibble};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::TRF_BYTES;

/// Distance from the first plane to the second, in bytes.
pub(crate) const PLANE_BYTES: u64 = TRF_BYTES as u64;

/// Element type of both planes. `None`: the type has no planes.
pub(crate) const fn plane_type(element: ElementType) -> Option<ElementType> {
    match element {
        ElementType::I5 => Some(ElementType::I4),
        ElementType::I9 => Some(ElementType::I8),
        _ => None,
    }
}

/// Splits the elements of a stream into two planes. `None`: the type has no planes.
pub(crate) fn split(row: &Row) -> Option<[Row; 2]> {
    let plane = plane_type(row.element())?;
    let (bytes, len) = (row.bytes(), row.len());
    let planes = [0, 1].map(|number| {
        let mut part = vec![0; (len * plane.bits()).div_ceil(8)];
        match plane {
            ElementType::I4 => {
                (0..len).for_each(|k| set_nibble(&mut part, k, bytes[k] >> (4 * number) & 15));
            }
            _ => part.iter_mut().zip(bytes.as_chunks::<2>().0).for_each(|(to, pair)| *to = pair[number]),
        }
        let mut row_of_plane = Row::new(plane);
        row_of_plane.push(&part, len, row.flags());
        row_of_plane
    });
    Some(planes)
}

/// Joins two planes into elements of type `element`. An element is initialised where its low bits are.
pub(crate) fn join(element: ElementType, [low, high]: &[Row; 2], fresh: Fresh, output: &mut Row) {
    let len = low.len();
    let mut bytes: Vec<u8> = match element {
        ElementType::I5 => (0..len).map(|k| nibble(low.bytes(), k) | nibble(high.bytes(), k) << 4).collect(),
        _ => low.bytes().iter().zip(high.bytes()).flat_map(|(&low, &high)| [low, high]).collect(),
    };
    let size = element.container_bits() / 8;
    for (k, element_bytes) in bytes.chunks_exact_mut(size).enumerate() {
        if low.flags().is_some_and(|flags| !flags[k]) {
            element_bytes.copy_from_slice(&fresh.code(element, k as u64).to_le_bytes()[..size]);
        }
    }
    output.clear(element);
    output.push(&bytes, len, low.flags());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_come_together_again() {
        let values: Vec<i16> = (-256..256).collect();
        let flags: Vec<bool> = (0..values.len()).map(|k| k % 5 != 0).collect();
        for (element, count) in [(ElementType::I5, 31), (ElementType::I9, 512)] {
            let bytes: Vec<u8> = match element {
                ElementType::I5 => (-16..15).map(|value: i8| value as u8).collect(),
                _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            };
            for flags in [None, Some(&flags[..count])] {
                let mut row = Row::new(element);
                row.push(&bytes, count, flags);
                let planes = split(&row).expect("these types have planes");
                assert_eq!(planes[0].element().bits(), element.bits());
                // The first plane holds the low bits as a memory would.
                assert_eq!(planes[0].bytes()[..2], if count == 31 { [0x10, 0x32] } else { [0, 1] });
                let mut back = Row::new(ElementType::F32);
                join(element, &planes, Fresh::POISON, &mut back);
                assert_eq!((back.element(), back.flags()), (element, flags));
                let size = bytes.len() / count;
                for (k, found) in back.bytes().chunks(size).enumerate() {
                    let poison: &[u8] = if size == 1 { &[0xf0] } else { &[0, 0xff] };
                    let written = flags.is_none_or(|flags| flags[k]);
                    assert_eq!(found, if written { &bytes[k * size..][..size] } else { poison });
                }
            }
        }
        assert!(split(&Row::new(ElementType::I8)).is_none());
    }
}
