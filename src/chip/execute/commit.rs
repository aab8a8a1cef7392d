//! The end of a stream: the Commit Engine writes to DM, or the rows of a register file are filled.

use super::walk::Walk;
use crate::chip::execute::dma::end_of;
use crate::chip::live::{LiveRows, live_runs};
use crate::chip::memory::place::Coordinates;
use crate::chip::memory::row::{Line, Row};
use crate::chip::memory::{Unit, planes, trf};
use crate::command::{Region, Sink, TrfRegion};

/// What does not differ between slices.
#[derive(Debug)]
pub(crate) struct SinkPlan {
    target: Target,
    live: LiveRows,
    /// Lanes per packet.
    lanes: usize,
    /// Packets.
    time: usize,
}

#[derive(Debug)]
enum Target {
    /// To DM: the leading `window` lanes of each packet, from the starts on.
    Commit { region: Region, walk: Walk, window: usize, starts: Option<Vec<i64>> },
    /// To a register file.
    Trf(TrfRegion),
}

impl SinkPlan {
    /// Prepares the end of a stream of `time` packets of `lanes` elements.
    pub(crate) fn new(sink: &Sink, time: usize, lanes: usize) -> Self {
        match sink {
            Sink::Commit { destination, config, guard } => {
                let walk = Walk::new(config);
                let window = (config.positions() / time.max(1)).min(lanes);
                let positions = config.positions();
                let live = LiveRows::new(guard, 4, window);
                // A packet is contiguous; its start says everything.
                let mut contiguous = true;
                walk.for_each(0..window, |run| {
                    contiguous &= run.len == window && (run.stride == 1 || window == 1)
                });
                let whole = window == lanes && live.is_always();
                let starts = (contiguous && !whole).then(|| walk.positions(0..positions, window.max(1)));
                let target = Target::Commit { region: *destination, walk, window, starts };
                Self { target, live, lanes, time }
            }
            Sink::Trf { destination, guard } => {
                let live = LiveRows::new(guard, 4, lanes);
                Self { target: Target::Trf(*destination), live, lanes, time }
            }
        }
    }

    /// Writes the stream of a slice.
    pub(crate) fn run(&self, stream: &Row, at: Coordinates, unit: &mut Unit, mask: &mut Vec<bool>) {
        let time = self.time.min(stream.len() / self.lanes.max(1));
        let mut variables = [at.chip, at.cluster, at.slice, 0, 0];
        match &self.target {
            Target::Commit { region, walk, window, starts } => {
                let (address, end) = (region.address, end_of(region));
                let mut write = |first: usize, position: i64, stride: usize, len: usize| {
                    stream.write(first, &mut unit.dm, Line { unit: 0, address, position, stride, len }, end);
                };
                if self.live.is_always() && *window == self.lanes {
                    let mut first = 0;
                    walk.for_each(0..time * window, |run| {
                        write(first, run.position, run.stride, run.len);
                        first += run.len;
                    });
                    return;
                }
                for t in 0..time {
                    variables[3] = t;
                    let liveness = self.live.row(&mut variables, mask);
                    live_runs(liveness, mask, *window, |start, len| {
                        let mut first = t * self.lanes + start;
                        if let Some(starts) = starts {
                            write(first, starts[t] + start as i64, 1, len);
                        } else {
                            walk.for_each(t * window + start..t * window + start + len, |run| {
                                write(first, run.position, run.stride, run.len);
                                first += run.len;
                            });
                        }
                    });
                }
            }
            Target::Trf(region) => {
                // Types that memories do not hold have a second plane.
                let planes = planes::split(stream);
                let planes = planes.as_ref().map_or(core::slice::from_ref(stream), |planes| &planes[..]);
                let mut write = |first: usize, len: usize| {
                    let (mut first, end) = (first, (first + len).min(region.rows * region.row_elements));
                    while first < end {
                        let (row, element) = (first / region.row_elements, first % region.row_elements);
                        let last = (element + end - first).min(region.row_elements);
                        for run in trf::runs(region, row, element..last) {
                            let position = run.position as i64;
                            let mut address = run.address;
                            for plane in planes {
                                let line = Line { unit: 0, address, position, stride: 1, len: run.len };
                                plane.write(first, &mut unit.trf, line, 0);
                                address += planes::PLANE_BYTES;
                            }
                            first += run.len;
                        }
                    }
                };
                if self.live.is_always() {
                    write(0, time * self.lanes);
                    return;
                }
                for t in 0..time {
                    variables[3] = t;
                    let liveness = self.live.row(&mut variables, mask);
                    live_runs(liveness, mask, self.lanes, |start, len| write(t * self.lanes + start, len));
                }
            }
        }
    }
}
