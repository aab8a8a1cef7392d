//! Packets of a contiguous run.

use furiosa_visa_rules::spec::{DMA_DM_WRITE_BYTES, DMA_REQUEST_BYTES, DMA_STARTUP_CYCLES};

/// A part of a run: packets that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRun {
    /// Bytes of the run before it.
    pub offset: u64,
    /// Bytes of a packet.
    pub stride0: usize,
    /// Number of packets.
    pub count: u64,
}

impl PacketRun {
    /// Number of requests of at most [`DMA_REQUEST_BYTES`].
    pub const fn requests(&self) -> u64 {
        self.count * self.stride0.div_ceil(DMA_REQUEST_BYTES) as u64
    }
}

/// Packets of a run of `run` bytes. Their size is the divisor of the run, at most `largest`, with the fewest requests;
/// of two equal ones, the larger. Towards DM (`to_dm`) it is a multiple of 8 bytes if the run is.
pub fn whole_run(run: u64, to_dm: bool, largest: usize) -> PacketRun {
    let unit = if to_dm && run.is_multiple_of(DMA_DM_WRITE_BYTES as u64) { DMA_DM_WRITE_BYTES } else { 1 };
    let packets = |stride0: usize| PacketRun { offset: 0, stride0, count: run / stride0 as u64 };
    // From the longest size down: a size with the least possible number of requests ends the search.
    let least = run.div_ceil(DMA_REQUEST_BYTES as u64);
    let mut best: Option<PacketRun> = None;
    for stride0 in (1..=largest.min(run as usize) / unit).rev().map(|units| units * unit) {
        if run.is_multiple_of(stride0 as u64) {
            let candidate = packets(stride0);
            if best.is_none_or(|best| candidate.requests() < best.requests()) {
                best = Some(candidate);
            }
            if candidate.requests() == least {
                break;
            }
        }
    }
    best.unwrap_or(packets(unit))
}

/// Packets of a run that is repeated `repeats` times. If the run has no good divisor, a second command moves the rest
/// behind the largest packets, if that takes less time with its startup.
pub fn packet_runs(run: u64, to_dm: bool, largest: usize, repeats: u64) -> Vec<PacketRun> {
    let whole = whole_run(run, to_dm, largest);
    let rest = run % largest as u64;
    if run <= largest as u64 || rest == 0 {
        return vec![whole];
    }
    let body = PacketRun { offset: 0, stride0: largest, count: run / largest as u64 };
    let tail = PacketRun { offset: run - rest, stride0: rest as usize, count: 1 };
    let cycles = |requests: u64| requests.saturating_mul(repeats);
    if cycles(body.requests() + tail.requests()) + DMA_STARTUP_CYCLES < cycles(whole.requests()) {
        vec![body, tail]
    } else {
        vec![whole]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stride0(run: u64) -> (usize, u64) {
        let whole = whole_run(run, false, 4096);
        (whole.stride0, whole.requests())
    }

    #[test]
    fn the_divisor_with_the_fewest_requests() {
        // Divisors of the run, at most 4096 bytes; the fewest units of 256 bytes.
        assert_eq!(stride0(4095), (4095, 16));
        assert_eq!(stride0(4096), (4096, 16));
        assert_eq!(stride0(4099), (1, 4099));
        assert_eq!(stride0(256), (256, 1));
        assert_eq!(stride0(257), (257, 2));
        assert_eq!(stride0(2800), (2800, 11));
        assert_eq!(stride0(8192), (4096, 32));
        assert_eq!(stride0(4112), (2056, 18));
        assert_eq!(stride0(1), (1, 1));
    }

    #[test]
    fn towards_dm_in_multiples_of_8() {
        assert_eq!(whole_run(8 * 521, true, 4096).stride0, 8);
        assert_eq!(whole_run(8 * 521, false, 4096).stride0, 4 * 521);
        // A run that is no multiple of 8 cannot have such packets.
        assert_eq!(whole_run(12, true, 4096).stride0, 12);
    }

    #[test]
    fn the_best_divisor_by_trying_all() {
        for run in 1..6000u64 {
            let requests = |d: u64| run / d * d.div_ceil(256);
            let least = (1..=4096).filter(|d| run % d == 0).map(requests).min();
            assert_eq!(Some(stride0(run).1), least, "{run}");
        }
    }

    #[test]
    fn a_prime_run_is_split_in_two() {
        let runs = packet_runs(4099, false, 4096, 1);
        let parts: Vec<_> = runs.iter().map(|run| (run.offset, run.stride0, run.count)).collect();
        assert_eq!(parts, [(0, 4096, 1), (4096, 3, 1)]);
        assert_eq!(runs.iter().map(PacketRun::requests).sum::<u64>(), 17);
        // 17 requests and a startup are less than 521 requests, but not less than 18.
        assert_eq!(packet_runs(8 * 521, false, 4096, 1).len(), 1);
        assert_eq!(packet_runs(8 * 521, true, 4096, 1).len(), 2);
        assert_eq!(packet_runs(4112, true, 4096, 1).len(), 1);
        assert_eq!(packet_runs(4112, true, 4096, 501).len(), 2);
        assert_eq!(packet_runs(4112, true, 4096, 500).len(), 1);
    }
}
