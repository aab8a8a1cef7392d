//! The requests of a fetch to DM: one address per cycle.

use super::FetchConfig;
use crate::sequencer::Config;

/// One fetch: `bytes` bytes from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchAddress {
    /// The tensor: 0, or 1 for the second one of an interleaved fetch.
    pub tensor: usize,
    /// The first byte, counted from the start of the tensor in each slice. Padding may lie outside the tensor.
    pub byte: isize,
    /// Number of bytes that are read.
    pub bytes: usize,
    /// Number of times that the bytes are delivered: more than one if a single element is repeated. `bytes * repeat` is
    /// [`FetchConfig::fetch_size`].
    pub repeat: usize,
}

/// The fetches of a plan, in order: one per cycle.
#[derive(Clone, Debug)]
pub struct FetchAddresses {
    config: Config,
    /// Bits of a stored element.
    bits: usize,
    fetch_size: usize,
    fetches_per_packet: usize,
    repeat: usize,
    interleave_period: Option<usize>,
    next: usize,
    end: usize,
}

impl Iterator for FetchAddresses {
    type Item = FetchAddress;

    fn next(&mut self) -> Option<FetchAddress> {
        if self.next == self.end {
            return None;
        }
        let fetch = self.next;
        self.next += 1;
        let step = fetch / self.fetches_per_packet;
        let element = self.config.position(fetch * self.fetch_size * 8 / self.bits);
        Some(FetchAddress {
            tensor: self.interleave_period.map_or(0, |period| step / period % 2),
            byte: element * self.bits as isize / 8,
            bytes: self.fetch_size / self.repeat,
            repeat: self.repeat,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl ExactSizeIterator for FetchAddresses {}

impl FetchConfig {
    /// The fetches, in order: [`FetchConfig::cycles`] of them.
    pub fn addresses(&self) -> FetchAddresses {
        let bits = self.packet_bytes * 8 / self.packet;
        let repeated =
            self.derived.entries.as_slice().last().is_some_and(|entry| entry.stride == 0 && entry.size > 1);
        FetchAddresses {
            config: self.config,
            bits,
            repeat: if repeated { (self.fetch_size * 8 / bits).max(1) } else { 1 },
            fetch_size: self.fetch_size,
            fetches_per_packet: self.fetches_per_packet,
            interleave_period: self.interleave_period,
            next: 0,
            end: self.cycles,
        }
    }
}
