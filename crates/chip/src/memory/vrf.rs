//! The vector register files: 8 KiB per slice, addressed in bytes.

use super::{Fresh, Piece, Space, Unit};

/// The vector register files of all slices, for reading. The unit is the slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VrfUnits<'a>(pub(crate) &'a [Unit]);

impl Space for VrfUnits<'_> {
    #[inline]
    fn piece(&self, unit: usize, address: u64) -> Option<Piece<'_>> {
        self.0.get(unit)?.vrf.piece(address)
    }

    fn fresh(&self, unit: usize) -> Fresh {
        self.0.get(unit).map_or(Fresh::default(), |unit| unit.vrf.fresh())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::row::{Line, Row};
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::spec::VRF_BYTES;

    #[test]
    fn a_register_file_ends_at_8_kib() {
        let mut units = vec![Unit::default(), Unit::default()];
        let mut row = Row::new(ElementType::I32);
        row.push(&[7; 4], 1, None);
        let last = Line { unit: 0, address: VRF_BYTES as u64 - 4, position: 0, stride: 1, len: 1 };
        row.write(0, &mut units[1].vrf, last, 0);
        let mut back = Row::new(ElementType::I32);
        back.read(&VrfUnits(&units), Line { unit: 1, len: 2, ..last });
        assert_eq!(
            (back.bytes(), back.flags()),
            (&[7, 7, 7, 7, 0, 0, 0, 0x80][..], Some(&[true, false][..]))
        );
        assert!(
            VrfUnits(&units).piece(1, VRF_BYTES as u64).is_none() && VrfUnits(&units).piece(2, 0).is_none()
        );
    }
}
