//! Engines that move elements and compute nothing: packets go to other slices, and time steps become lanes.

use super::Pass;
use crate::switch::Switching;

/// Packets that slices exchange, and the slices in which what arrives is not padding.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub config: Switching,
    pub clusters: usize,
    pub slices: usize,
}

impl Exchange {
    /// The slice and the number of each packet of a sub-ring, in the order of their emission.
    fn emission(&self, time: usize) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        match self.config {
            Switching::Broadcast01 { slice1, slice0, time0 } => {
                for (t1, s1) in pairs(time / time0, slice1) {
                    order.extend(pairs(time0, slice0).map(|(t0, s0)| (s1 * slice0 + s0, t1 * time0 + t0)));
                }
            }
            _ => order.extend(pairs(time, self.config.ring()).map(|(t, s)| (s, t))),
        }
        order
    }

    /// Packets that every slice has sent for certain when a slice gets the packet of a step, of so many that each sends.
    fn sent_by_all(&self, time: usize, step: usize) -> usize {
        let ring = self.config.ring();
        if ring == 1 {
            return step + 1;
        }
        let order = self.emission(time);
        let sent = |slice: usize| {
            let own = self.config.source(slice, step).expect("a regular variant");
            order.iter().take_while(|&&packet| packet != own).filter(|(slice, _)| *slice == ring - 1).count()
        };
        (0..ring).map(sent).min().expect("a ring has slices")
    }
}

fn pairs(outer: usize, inner: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..outer).flat_map(move |a| (0..inner).map(move |b| (a, b)))
}

impl Pass {
    /// Packets that a slice collects.
    pub(super) fn packets(&self) -> usize {
        self.time * self.exchange.as_ref().map_or(1, |own| own.config.copies())
    }

    /// The slices in which the stream ends.
    pub(super) fn ends_in(&self) -> Vec<usize> {
        match &self.exchange {
            None => self.from.units(),
            // Who gets nothing that matters gets nothing.
            Some(_) if self.steps == 0 || self.lanes == 0 => Vec::new(),
            Some(own) => pairs(own.clusters, own.slices).map(|(c, s)| c * 256 + s).collect(),
        }
    }

    /// The slice that fetches a packet which a slice collects, and its number there. `None`: nobody does.
    pub(super) fn fetched_by(&self, unit: usize, packet: usize) -> Option<(usize, usize)> {
        let Some(own) = &self.exchange else { return Some((unit, packet)) };
        let (slice, packet) = own.config.source(unit % 256, packet)?;
        let cluster = unit / 256;
        let is_there = cluster < self.from.clusters && slice < self.from.slices;
        is_there.then_some((cluster * 256 + slice, packet))
    }

    /// The flit and the lane that a lane of what the sink gets was before the Transpose Engine. `None`: no row fills it.
    pub(super) fn before_transpose(&self, time: usize, lane: usize) -> Option<(usize, usize)> {
        match &self.transpose {
            None => Some((time, lane)),
            Some(own) => (lane < own.in_rows).then(|| own.source(time, lane)),
        }
    }

    /// Packets that each slice has fetched for certain when a time step of what the sink gets is there.
    pub(super) fn fetched_before(&self, time: usize) -> usize {
        // A matrix leaves when all of it has entered. Sums need not come in the order of their packets.
        let entered = match &self.transpose {
            Some(own) => (time / own.out_rows * own.in_flits(), own.in_flits()),
            None => (time, 1),
        };
        let flits = entered.0..entered.0 + entered.1;
        let last = |flit| self.sums.as_ref().map_or(flit, |sums| sums.last_flit(flit));
        let flit = flits.map(last).max().unwrap_or(0);
        let packet = flit / self.flits;
        self.exchange.as_ref().map_or(packet + 1, |own| own.sent_by_all(self.time, packet))
    }
}
