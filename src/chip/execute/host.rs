//! Transfers between the host and HBM.

use super::dma::end_of;
use super::moves::for_each_row;
use crate::chip::memory::Hbm;
use crate::chip::memory::row::{Row, nibble, set_nibble};
use crate::command::{HostBuffer, HostTransfer};
use crate::scalar::ElementType;

/// Writes a host array to HBM. Everything has been checked.
pub(crate) fn upload(transfer: &HostTransfer, buffer: &HostBuffer, hbm: &mut Vec<Hbm>) {
    let element = transfer.region.footprint.element;
    let mut row = Row::new(element);
    let (mut bytes, mut flags) = (Vec::new(), Vec::new());
    let end = end_of(&transfer.region);
    for_each_row(&transfer.transfer, |from, to, len| {
        bytes.clear();
        copy_elements(element, &buffer.bytes, (from.position, from.stride), len, &mut bytes);
        let flags = buffer.initialised.as_ref().map(|all| {
            flags.clear();
            flags.extend((0..len).map(|k| all[from.position + k * from.stride]));
            &flags[..]
        });
        row.clear(element);
        row.push(&bytes, len, flags);
        row.write(0, hbm, to.line(transfer.region.address, len), end);
    });
}

/// Appends every `stride`-th element from `position` on.
fn copy_elements(
    element: ElementType,
    bytes: &[u8],
    (position, stride): (usize, usize),
    len: usize,
    to: &mut Vec<u8>,
) {
    match element.bits() {
        4 => {
            to.resize(len.div_ceil(2), 0);
            (0..len).for_each(|k| set_nibble(to, k, nibble(bytes, position + k * stride)));
        }
        bits => {
            let size = bits / 8;
            if stride == 1 {
                to.extend_from_slice(&bytes[position * size..(position + len) * size]);
            } else {
                for k in 0..len {
                    let start = (position + k * stride) * size;
                    to.extend_from_slice(&bytes[start..start + size]);
                }
            }
        }
    }
}

/// Reads a host array from HBM. Elements that the transfer does not reach are zero and uninitialised.
pub(crate) fn download(transfer: &HostTransfer, hbm: &Vec<Hbm>) -> HostBuffer {
    let element = transfer.region.footprint.element;
    let bits = element.bits();
    let mut bytes = vec![0; (transfer.host_elements * bits).div_ceil(8)];
    let mut initialised = vec![false; transfer.host_elements];
    let mut row = Row::new(element);
    for_each_row(&transfer.transfer, |from, to, len| {
        row.clear(element);
        row.read(hbm, from.line(transfer.region.address, len));
        match row.flags() {
            None if to.stride == 1 => initialised[to.position..to.position + len].fill(true),
            flags => {
                for k in 0..len {
                    initialised[to.position + k * to.stride] = flags.is_none_or(|flags| flags[k]);
                }
            }
        }
        if bits == 4 {
            (0..len)
                .for_each(|k| set_nibble(&mut bytes, to.position + k * to.stride, nibble(row.bytes(), k)));
        } else if to.stride == 1 {
            let size = bits / 8;
            bytes[to.position * size..(to.position + len) * size].copy_from_slice(row.bytes());
        } else {
            let size = bits / 8;
            for (k, code) in row.bytes().chunks_exact(size).enumerate() {
                let start = (to.position + k * to.stride) * size;
                bytes[start..start + size].copy_from_slice(code);
            }
        }
    });
    let initialised = initialised.contains(&false).then_some(initialised);
    HostBuffer { bytes, initialised }
}

#[cfg(test)]
mod tests {
    use super::super::moves::tests::transfer;
    use super::*;
    use crate::command::{FillId, Footprint, Guard, Memory, Region};

    fn host(
        element: ElementType,
        elements: usize,
        loops: &[(usize, usize, usize, usize, usize)],
    ) -> HostTransfer {
        let footprint =
            Footprint { element, chips: 1, clusters: 1, slices: 1, elements: 4096, guard: Guard::always(4) };
        let region = Region { memory: Memory::Hbm, address: (1 << 20) - 21, fill: FillId(1), footprint };
        HostTransfer { region, transfer: transfer(loops), host_elements: elements }
    }

    #[test]
    fn arrays_come_back() {
        for (element, size) in [(ElementType::I4, 12), (ElementType::I8, 24), (ElementType::F32, 96)] {
            let mut hbm = vec![Hbm::default()];
            let bytes: Vec<u8> = (0..size).map(|k| (k * 29 + 1) as u8).collect();
            let buffer = HostBuffer { bytes, initialised: None };
            // Rows of 6 become columns with a gap.
            upload(&host(element, 24, &[(6, 0, 1, 0, 5), (4, 0, 6, 0, 1)]), &buffer, &mut hbm);
            let back = download(&host(element, 24, &[(4, 0, 1, 0, 6), (6, 0, 5, 0, 1)]), &hbm);
            assert_eq!(back, buffer);
            let partly = download(&host(element, 30, &[(6, 0, 5, 0, 5), (4, 0, 1, 0, 1)]), &hbm);
            let flags = partly.initialised.expect("every fifth element is padding");
            assert!((0..30).all(|k| flags[k] == (k % 5 != 4)));
        }
    }

    #[test]
    fn uninitialised_elements_stay_so() {
        let mut hbm = vec![Hbm::default()];
        let flags = vec![true, false, true, true];
        let buffer = HostBuffer { bytes: vec![1, 0, 3, 4], initialised: Some(flags) };
        let there = host(ElementType::I8, 4, &[(4, 0, 1, 0, 1)]);
        upload(&there, &buffer, &mut hbm);
        assert_eq!(download(&there, &hbm), buffer);
    }
}
