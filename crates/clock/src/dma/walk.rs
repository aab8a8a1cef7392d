//! The packets and requests of a command, one after another.

use super::sequencer::{PairedSequencer, Side};
use furiosa_visa_rules::spec::{DMA_ENTRIES, DMA_REQUEST_BYTES};

/// The starts of packets: source and destination address.
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    command: &'a PairedSequencer,
    indices: [usize; DMA_ENTRIES],
    next: Option<(u64, u64)>,
}

impl<'a> Packets<'a> {
    /// # Panics
    /// The command has more entries than the hardware takes.
    pub(super) fn new(command: &'a PairedSequencer) -> Self {
        assert!(command.entries.len() < DMA_ENTRIES, "the command passes `check`");
        let empty = command.entries.iter().any(|entry| entry.limit == 0);
        let next = (!empty).then_some((command.source_base, command.destination_base));
        Self { command, indices: [0; DMA_ENTRIES], next }
    }
}

impl Iterator for Packets<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let here = self.next?;
        let (mut source, mut destination) = here;
        self.next = None;
        for (entry, index) in self.command.entries.iter().zip(&mut self.indices).rev() {
            if *index + 1 < entry.limit {
                *index += 1;
                self.next = Some((source + entry.source_stride, destination + entry.destination_stride));
                break;
            }
            source -= *index as u64 * entry.source_stride;
            destination -= *index as u64 * entry.destination_stride;
            *index = 0;
        }
        Some(here)
    }
}

/// The requests of one side: address and bytes.
#[derive(Clone, Debug)]
pub struct Requests<'a> {
    packets: Packets<'a>,
    side: Side,
    /// Address of the next request, and the bytes that are left of its packet.
    address: u64,
    left: usize,
}

impl<'a> Requests<'a> {
    pub(super) fn new(command: &'a PairedSequencer, side: Side) -> Self {
        Self { packets: Packets::new(command), side, address: 0, left: 0 }
    }
}

impl Iterator for Requests<'_> {
    type Item = (u64, usize);

    #[inline]
    fn next(&mut self) -> Option<(u64, usize)> {
        if self.left == 0 {
            let (source, destination) = self.packets.next()?;
            self.address = match self.side {
                Side::Source => source,
                Side::Destination => destination,
            };
            self.left = self.packets.command.stride0;
        }
        let request = (self.address, self.left.min(DMA_REQUEST_BYTES));
        self.address += request.1 as u64;
        self.left -= request.1;
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequencer::Medium;
    use super::*;

    const HBM: Medium = Medium::Hbm { chip: 0 };

    #[test]
    fn packets_come_with_the_innermost_loop_first() {
        let command =
            PairedSequencer::new((HBM, 100), (HBM, 7), 8).with_entries(&[(2, 10, 1000), (3, 1, 50)]);
        let packets: Vec<_> = command.iter_packets().collect();
        assert_eq!(packets, [(100, 7), (101, 57), (102, 107), (110, 1007), (111, 1057), (112, 1107)]);
        assert_eq!(command.packets(), 6);
        assert_eq!(command.clone().with_entries(&[(2, 10, 1), (0, 1, 1)]).iter_packets().count(), 0);
        assert_eq!(command.with_entries(&[]).iter_packets().collect::<Vec<_>>(), [(100, 7)]);
    }

    #[test]
    fn requests_cut_packets_from_their_start() {
        // 2800 bytes: ten requests of 256 and one of 240.
        let command = PairedSequencer::new((HBM, 40), (HBM, 5), 2800).with_entries(&[(2, 4096, 2800)]);
        let requests: Vec<_> = command.iter_requests(Side::Source).collect();
        assert_eq!(requests.len() as u64, command.requests());
        assert_eq!(requests[..2], [(40, 256), (296, 256)]);
        assert_eq!(requests[10..12], [(40 + 2560, 240), (4136, 256)]);
        let last = command.iter_requests(Side::Destination).last();
        assert_eq!(last, Some((5 + 2800 + 2560, 240)));
    }
}
