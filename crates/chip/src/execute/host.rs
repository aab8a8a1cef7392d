//! Transfers between the host and HBM, and looks at tensors.

use super::dma::StripRuns as _;
use crate::memory::copy::{Elements, copied, receive_runs, send_runs};
use crate::memory::row::{Row, nibble, set_nibble};
use crate::memory::runs::{gather_runs, scatter_runs, set_initialised};
use crate::memory::trf::TrfRows;
use crate::memory::vrf::VrfUnits;
use crate::memory::{Hbm, Space, Unit, forget_elements};
use furiosa_visa_rules::command::moves::{End, Moves, Side};
use furiosa_visa_rules::command::{Address, HostBuffer, HostTransfer, Inspection, Memory, Place, Transfer};
use furiosa_visa_rules::scalar::ElementType;

/// Host positions of the elements of `count` runs.
fn positions(end: End, run: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).flat_map(move |k| (0..run).map(move |e| end.position + k * end.stride + e))
}

/// Writes a host array to HBM. Everything has been checked. `begins`: elements of the tensor that the array leaves out
/// become uninitialised.
pub(crate) fn upload(transfer: &HostTransfer, begins: bool, buffer: &HostBuffer, hbm: &mut Vec<Hbm>) {
    if begins {
        forget_elements(hbm, &transfer.region);
    }
    let HostTransfer { region, transfer, .. } = transfer;
    let element = region.footprint.element;
    let bits = element.bits();
    let moves = Moves::new(transfer);
    let initialised = buffer.initialised.is_none();
    // A destination without gaps is marked as initialised at the end, all at once.
    let marked = initialised && bits >= 8 && moves.fills_destination();
    let elements = Elements { bits, initialised, marked, end: region.end() };
    let mut row = Row::new(element);
    let (mut bytes, mut flags) = (Vec::new(), Vec::new());
    moves.for_each_strip(bits, |strip| {
        let to = strip.to(region.address);
        if initialised && send_runs((&buffer.bytes, strip.from(0)), (hbm, to), elements, &mut row) {
            return;
        }
        let (from, len) = (strip.source, strip.run * strip.count);
        bytes.resize((len * bits).div_ceil(8), 0);
        if bits == 4 {
            for (k, position) in positions(from, strip.run, strip.count).enumerate() {
                set_nibble(&mut bytes, k, nibble(&buffer.bytes, position));
            }
        } else {
            let size = bits / 8;
            let input = &buffer.bytes[from.position * size..];
            gather_runs(input, from.stride * size, strip.run * size, &mut bytes);
        }
        let flags = buffer.initialised.as_ref().map(|all| {
            flags.clear();
            flags.extend(positions(from, strip.run, strip.count).map(|position| all[position]));
            &flags[..]
        });
        row.clear(element);
        row.push(&bytes, len, flags);
        row.write_runs(0, hbm, to, elements.end, false);
    });
    if marked {
        let bytes = moves.hull(Side::Destination) * bits / 8;
        for unit in moves.units(Side::Destination) {
            set_initialised(hbm, unit, region.address, bytes);
        }
    }
}

/// Reads a host array from HBM. Elements that the transfer does not reach are zero and uninitialised.
pub(crate) fn download(transfer: &HostTransfer, hbm: &Vec<Hbm>) -> HostBuffer {
    let region = &transfer.region;
    to_host(&transfer.transfer, hbm, region.address, region.footprint.element, transfer.host_elements)
}

/// Reads a tensor in any memory. `file`: number of the TRF. Elements that the transfer does not reach are zero and
/// uninitialised.
pub(crate) fn inspect(inspection: &Inspection, file: usize, hbm: &Vec<Hbm>, units: &Vec<Unit>) -> HostBuffer {
    let Inspection { source, transfer, host_elements } = inspection;
    let region = match source {
        Place::Region(region) => region,
        Place::Trf(region) => {
            let rows = TrfRows::new(region, units, file);
            return to_host(transfer, &rows, 0, region.element, *host_elements);
        }
    };
    let (address, element) = (region.address, region.footprint.element);
    match region.memory {
        Memory::Hbm => to_host(transfer, hbm, address, element, *host_elements),
        Memory::Dm => to_host(transfer, units, address, element, *host_elements),
        Memory::Vrf => to_host(transfer, &VrfUnits(units), address, element, *host_elements),
    }
}

/// Moves elements from a memory to a host array.
fn to_host(
    transfer: &Transfer,
    space: &impl Space,
    address: Address,
    element: ElementType,
    host_elements: usize,
) -> HostBuffer {
    let bits = element.bits();
    let moves = Moves::new(transfer);
    let reaches_all = moves.fills_destination() && moves.hull(Side::Destination) == host_elements;
    let whole = (host_elements * bits).is_multiple_of(8).then_some(host_elements * bits / 8);
    if reaches_all
        && moves.is_single_run()
        && let Some(bytes) = whole.and_then(|len| copied(space, 0, address, len))
    {
        return HostBuffer { bytes, initialised: None };
    }
    let mut bytes = vec![0; (host_elements * bits).div_ceil(8)];
    // A flag per element: true if it is initialised. `None`: all are so far.
    let mut initialised = (!reaches_all).then(|| vec![false; host_elements]);
    let mut row = Row::new(element);
    moves.for_each_strip(bits, |strip| {
        let to = strip.destination;
        if receive_runs((space, strip.from(address)), (&mut bytes, strip.to(0)), bits) {
            if let Some(all) = &mut initialised {
                (0..strip.count).for_each(|k| all[to.position + k * to.stride..][..strip.run].fill(true));
            }
            return;
        }
        row.clear(element);
        row.read_runs(space, strip.from(address), false);
        if row.flags().is_some() || initialised.is_some() {
            let all = initialised.get_or_insert_with(|| vec![true; host_elements]);
            for (k, position) in positions(to, strip.run, strip.count).enumerate() {
                all[position] = row.flags().is_none_or(|flags| flags[k]);
            }
        }
        if bits == 4 {
            for (k, position) in positions(to, strip.run, strip.count).enumerate() {
                set_nibble(&mut bytes, position, nibble(row.bytes(), k));
            }
        } else {
            let size = bits / 8;
            let output = &mut bytes[to.position * size..];
            scatter_runs(row.bytes(), to.stride * size, strip.run * size, output);
        }
    });
    let initialised = initialised.filter(|all| all.contains(&false));
    HostBuffer { bytes, initialised }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::{FillId, Footprint, Memory, Region};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::testing::transfer;

    fn host(
        element: ElementType,
        elements: usize,
        loops: &[(usize, usize, usize, usize, usize)],
    ) -> HostTransfer {
        let footprint =
            Footprint { element, chips: 1, clusters: 1, slices: 1, elements: 4096, guard: Guard::always(4) };
        let region = Region::whole(Memory::Hbm, (1 << 20) - 21, FillId(1), footprint);
        HostTransfer { region, transfer: transfer(loops), host_elements: elements }
    }

    #[test]
    fn arrays_come_back() {
        for (element, size) in [(ElementType::I4, 12), (ElementType::I8, 24), (ElementType::F32, 96)] {
            let mut hbm = vec![Hbm::default()];
            let bytes: Vec<u8> = (0..size).map(|k| (k * 29 + 1) as u8).collect();
            let buffer = HostBuffer { bytes, initialised: None };
            // Rows of 6 become columns with a gap.
            upload(&host(element, 24, &[(6, 0, 1, 0, 5), (4, 0, 6, 0, 1)]), false, &buffer, &mut hbm);
            let back = download(&host(element, 24, &[(4, 0, 1, 0, 6), (6, 0, 5, 0, 1)]), &hbm);
            assert_eq!(back, buffer);
            let partly = download(&host(element, 30, &[(6, 0, 5, 0, 5), (4, 0, 1, 0, 1)]), &hbm);
            let flags = partly.initialised.expect("every fifth element is padding");
            assert!((0..30).all(|k| flags[k] == (k % 5 != 4)));
        }
    }

    /// A command may have an empty loop. Its array has one element, because the loops have a first place.
    #[test]
    fn nothing_moves_by_an_empty_loop() {
        let of = |size| host(ElementType::I8, 1, &[(size, 0, 1, 0, 1)]);
        let (nothing, one) = (of(0), of(1));
        let buffer = HostBuffer { bytes: vec![7], initialised: None };
        let mut hbm = vec![Hbm::default()];
        upload(&nothing, false, &buffer, &mut hbm);
        assert_eq!(download(&one, &hbm).initialised, Some(vec![false]));
        upload(&one, false, &buffer, &mut hbm);
        assert_eq!(download(&one, &hbm), buffer);
        assert_eq!(download(&nothing, &hbm).initialised, Some(vec![false]));
    }

    #[test]
    fn uninitialised_elements_stay_so() {
        let mut hbm = vec![Hbm::default()];
        let flags = vec![true, false, true, true];
        let buffer = HostBuffer { bytes: vec![1, 0x80, 3, 4], initialised: Some(flags) };
        let there = host(ElementType::I8, 4, &[(4, 0, 1, 0, 1)]);
        upload(&there, false, &buffer, &mut hbm);
        assert_eq!(download(&there, &hbm), buffer);
    }
}
