//! The models of HBM, as the time of a DMA operation asks for them.

use super::time::{HbmStream, HbmTime};
use crate::chip::clock::hbm::{Detailed, Estimate, HbmMap, Request};

/// The closed rules of the `book` profile (spec page 70 §8.1): every request costs its channel something, the slowest channel
/// decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct BookHbm {
    /// How addresses are spread.
    pub map: HbmMap,
}

impl HbmTime for BookHbm {
    fn ticks(&mut self, streams: &[HbmStream<'_>]) -> u64 {
        let mut estimate = Estimate::new(self.map);
        for stream in streams {
            let engine = streams.iter().position(|other| other.engine == stream.engine).unwrap_or(0);
            estimate.add(engine, requests(stream));
        }
        estimate.ticks()
    }
}

/// The `detailed` profile (spec page 70 §8.2).
impl HbmTime for Detailed {
    fn ticks(&mut self, streams: &[HbmStream<'_>]) -> u64 {
        let mut streams: Vec<_> = streams.iter().map(requests).collect();
        self.run(&mut streams).finish_ticks
    }
}

fn requests<'a>(stream: &HbmStream<'a>) -> impl Iterator<Item = Request> + use<'a> {
    let write = stream.writes();
    stream.requests().map(move |(address, bytes)| Request { address, bytes: bytes as u32, write })
}
