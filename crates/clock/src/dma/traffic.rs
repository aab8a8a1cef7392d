//! Work of the media of a command, counted from its loops.
//!
//! The residues of all packet addresses are counted loop by loop: a loop of `n` iterations visits the residues of its
//! stride in turn, so `n` only matters through the number of rounds.

use super::sequencer::{Medium, PairedSequencer, Side};
use furiosa_visa_rules::mapping::gcd;
use furiosa_visa_rules::spec;

/// Data Memory Networks of a cluster.
pub const CLUSTER_DMNS: usize = spec::SLICES / spec::DMN_SLICES;

/// Work of the medium of one side of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Work of HBM.
    Hbm {
        /// Units of 256 bytes that are accessed: a request that straddles a boundary accesses two.
        transfers: u64,
        /// Writes of a part of a unit: it is read, changed and written. None on the source side.
        partial_writes: u64,
    },
    /// Work of DM.
    Dm {
        /// Cycles of the data path of each Data Memory Network of the cluster.
        dmn_cycles: [u64; CLUSTER_DMNS],
        /// Requests that write a part of a unit of 8 bytes. None on the source side.
        partial_writes: u64,
    },
    /// Work of SPM.
    Spm {
        /// Cycles of its data path.
        cycles: u64,
    },
}

impl Traffic {
    /// Work of the medium of a side of a command.
    pub fn of(command: &PairedSequencer, side: Side) -> Self {
        Self::of_rows(&[command], side)
    }

    /// Work of the medium of a side of several commands. They have the same loops and the same medium, and differ only
    /// in their start.
    ///
    /// # Panics
    ///
    /// If `rows` is empty.
    pub(super) fn of_rows(rows: &[&PairedSequencer], side: Side) -> Self {
        let command = rows[0];
        match command.medium(side) {
            Medium::Hbm { .. } => hbm(rows, side),
            Medium::Dm { .. } => dm(rows, side),
            Medium::Spm { .. } => {
                let whole = command.stride0 / spec::DMA_REQUEST_BYTES * spec::DMA_REQUEST_BYTES;
                let beats = |bytes: usize| bytes.div_ceil(spec::SPM_BYTES_PER_CYCLE) as u64;
                let packets = command.packets() * rows.len() as u64;
                Traffic::Spm { cycles: packets * (beats(whole) + beats(command.stride0 - whole)) }
            }
        }
    }
}

/// How often a nest of loops, each with a limit and a step below `MODULUS`, comes to each residue, from 0 on.
fn spread<const MODULUS: usize>(loops: impl Iterator<Item = (usize, usize)> + Clone) -> [u64; MODULUS] {
    // Only multiples of `unit` are met: `places` residues.
    let unit = loops.clone().fold(MODULUS, |unit, (_, step)| gcd(unit, step));
    let places = MODULUS / unit;
    let mut counts = [0; MODULUS];
    counts[0] = 1;
    for (limit, step) in loops {
        let step = step / unit;
        let rounds = places / gcd(places, step);
        let mut next = [0; MODULUS];
        for (place, count) in counts[..places].iter().enumerate().filter(|(_, count)| **count > 0) {
            for k in 0..rounds.min(limit) {
                let times = limit / rounds + usize::from(k < limit % rounds);
                next[(place + k * step) % places] += count * times as u64;
            }
        }
        counts[..places].copy_from_slice(&next[..places]);
    }
    let mut residues = [0; MODULUS];
    for (place, count) in counts[..places].iter().enumerate() {
        residues[place * unit] = *count;
    }
    residues
}

/// Adds what starts at each residue, `residue` later.
fn add<const MODULUS: usize>(counts: &mut [u64; MODULUS], spread: &[u64; MODULUS], residue: usize) {
    for (k, count) in spread.iter().enumerate() {
        counts[(residue + k) % MODULUS] += count;
    }
}

/// Number of packets of a side that start at each residue.
fn residues<const MODULUS: usize>(rows: &[&PairedSequencer], side: Side) -> [u64; MODULUS] {
    let residue = |address: u64| (address % MODULUS as u64) as usize;
    let spread = spread(rows[0].entries.iter().map(|entry| (entry.limit, residue(entry.stride(side)))));
    let mut residues = [0; MODULUS];
    for row in rows {
        add(&mut residues, &spread, residue(row.base(side)));
    }
    residues
}

fn hbm(rows: &[&PairedSequencer], side: Side) -> Traffic {
    // A request is as long as a unit.
    const UNIT: usize = spec::HBM_UNIT_BYTES;
    const _: () = assert!(UNIT == spec::DMA_REQUEST_BYTES);
    let (whole, tail) = ((rows[0].stride0 / UNIT) as u64, rows[0].stride0 % UNIT);
    let (mut transfers, mut partial_writes) = (0, 0);
    for (residue, count) in residues::<UNIT>(rows, side).into_iter().enumerate() {
        let straddles = whole * if residue > 0 { 2 } else { 1 };
        let of_tail = if tail == 0 { 0 } else { (residue + tail).div_ceil(UNIT) as u64 };
        transfers += count * (straddles + of_tail);
        // Whole requests write whole units only if they start with one.
        partial_writes += count * (if residue > 0 { straddles } else { 0 } + of_tail);
    }
    if side == Side::Source {
        partial_writes = 0;
    }
    Traffic::Hbm { transfers, partial_writes }
}

fn dm(rows: &[&PairedSequencer], side: Side) -> Traffic {
    const UNIT: u64 = spec::DMA_DM_WRITE_BYTES as u64;
    let residue = rows[0].base(side) % UNIT;
    // Most commands have one residue in all of their packets.
    let is_one = rows.iter().all(|row| row.base(side) % UNIT == residue)
        && rows[0].entries.iter().all(|entry| entry.stride(side).is_multiple_of(UNIT));
    if is_one {
        dm_with::<1>(rows, side, residue as usize)
    } else {
        dm_with::<{ spec::DMA_DM_WRITE_BYTES }>(rows, side, 0)
    }
}

/// Work of DM, from the number of packets with each of `RESIDUES` residues, `residue` and those that follow.
fn dm_with<const RESIDUES: usize>(rows: &[&PairedSequencer], side: Side, residue: usize) -> Traffic {
    const UNIT: usize = spec::DMA_DM_WRITE_BYTES;
    let packet = rows[0].stride0;
    let (whole, tail) = ((packet / spec::DMA_REQUEST_BYTES) as u64, packet % spec::DMA_REQUEST_BYTES);
    let whole_cycles = (spec::DMA_REQUEST_BYTES / spec::DMN_BYTES_PER_CYCLE) as u64;
    let tail_cycles = tail.div_ceil(spec::DMN_BYTES_PER_CYCLE) as u64;
    let part = spec::DMA_DM_PARTIAL_WRITE as u64;
    let writes = side == Side::Destination;
    let (mut dmn_cycles, mut partial_writes) = ([0; CLUSTER_DMNS], 0);
    for (slice, counts) in places::<RESIDUES>(rows, side).iter().enumerate() {
        for (residue, &count) in (residue..).zip(counts) {
            let odd = writes && residue > 0;
            let odd_tail = writes && tail > 0 && (residue > 0 || !tail.is_multiple_of(UNIT));
            let times = |odd: bool| if odd { part } else { 1 };
            let cycles = whole * whole_cycles * times(odd) + tail_cycles * times(odd_tail);
            dmn_cycles[slice / spec::DMN_SLICES] += count * cycles;
            partial_writes += count * (if odd { whole } else { 0 } + u64::from(odd_tail));
        }
    }
    Traffic::Dm { dmn_cycles, partial_writes }
}

/// Number of packets of a side that start in each slice, at each residue of their byte.
fn places<const RESIDUES: usize>(rows: &[&PairedSequencer], side: Side) -> [[u64; RESIDUES]; spec::SLICES] {
    let split = |address: u64| {
        ((address / spec::DMA_SLICE_STRIDE) as usize, (address % spec::DMA_SLICE_STRIDE) as usize % RESIDUES)
    };
    let loops = || rows[0].entries.iter().map(|entry| (entry.limit, split(entry.stride(side))));
    // The order of loops does not matter: those inside a slice come first.
    let inside = loops().filter(|(_, (slices, _))| *slices == 0);
    let spread = spread(inside.map(|(limit, (_, step))| (limit, step)));
    let mut counts = [[0; RESIDUES]; spec::SLICES];
    let (mut first, mut last) = (spec::SLICES - 1, 0);
    for row in rows {
        let (slice, residue) = split(row.base(side));
        let slice = slice.min(spec::SLICES - 1);
        add(&mut counts[slice], &spread, residue);
        (first, last) = (first.min(slice), last.max(slice));
    }
    for (limit, (slices, step)) in loops().filter(|(_, (slices, _))| *slices > 0) {
        // From the last slice on, packets go to slices behind it, whose own packets have gone on already. `check` refuses
        // commands that leave the cluster.
        for slice in (first..=last).rev() {
            let own = counts[slice];
            if own == [0; RESIDUES] {
                continue;
            }
            for (k, place) in counts[slice..].iter_mut().step_by(slices).take(limit).enumerate().skip(1) {
                add(place, &own, k * step);
            }
        }
        last = (last + limit.saturating_sub(1).saturating_mul(slices)).min(spec::SLICES - 1);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    const HBM: Medium = Medium::Hbm { chip: 0 };
    const DM: Medium = Medium::Dm { chip: 0, cluster: 0 };
    const SPM: Medium = Medium::Spm { chip: 0, cluster: 0, dmn: 0 };

    /// The same traffic, counted request by request.
    fn slowly(command: &PairedSequencer, side: Side) -> Traffic {
        let writes = side == Side::Destination;
        let requests = command.iter_requests(side);
        match command.medium(side) {
            Medium::Hbm { .. } => {
                let (mut transfers, mut partial_writes) = (0, 0);
                for (address, bytes) in requests {
                    let units = (address + bytes as u64 - 1) / 256 - address / 256 + 1;
                    transfers += units;
                    if writes && (bytes < 256 || units == 2) {
                        partial_writes += units;
                    }
                }
                Traffic::Hbm { transfers, partial_writes }
            }
            Medium::Dm { .. } => {
                let (mut dmn_cycles, mut partial_writes) = ([0; CLUSTER_DMNS], 0);
                for (address, bytes) in requests {
                    let partial = writes && (address % 8 != 0 || bytes % 8 != 0);
                    let cycles = if bytes > 128 { 2 } else { 1 };
                    dmn_cycles[(address >> 27) as usize] += if partial { 3 * cycles } else { cycles };
                    partial_writes += u64::from(partial);
                }
                Traffic::Dm { dmn_cycles, partial_writes }
            }
            Medium::Spm { .. } => {
                Traffic::Spm { cycles: requests.map(|(_, bytes)| if bytes > 128 { 2 } else { 1 }).sum() }
            }
        }
    }

    #[test]
    fn totals_are_those_of_the_requests() {
        for seed in 0..400 {
            let mut random = SmallRng::seed_from_u64(seed);
            println!("seed {seed}");
            // In half of the commands all packets have one residue in DM.
            let unit = [1, 8][seed as usize / 5 % 2];
            let mut address = |medium| match medium {
                Medium::Dm { .. } => {
                    (random.random_range(0..16u64) << 22) | (random.random_range(0..4096) / unit * unit)
                }
                _ => random.random_range(0..1u64 << 30),
            };
            let (from, to) = [(HBM, DM), (DM, HBM), (HBM, HBM), (DM, DM), (SPM, HBM)][seed as usize % 5];
            let starts = [(); 3].map(|_| (address(from), address(to)));
            let stride0 = [1, 8, 100, 128, 256, 300, 511, 512, 4096][random.random_range(0..9)];
            let mut entries = Vec::new();
            for _ in 0..random.random_range(0..4) {
                let mut stride = |medium| match (medium, random.random_range(0..3)) {
                    (Medium::Dm { .. }, 0) => {
                        (random.random_range(1..8u64) << 22) | (random.random_range(0..64) / unit * unit)
                    }
                    (_, 1) => 8 * random.random_range(0..512u64),
                    _ => random.random_range(0..3000u64) / unit * unit,
                };
                let strides = (stride(from), stride(to));
                entries.push((random.random_range(1..13), strides.0, strides.1));
            }
            let rows = starts.map(|(source, destination)| {
                PairedSequencer::new((from, source), (to, destination), stride0).with_entries(&entries)
            });
            for side in [Side::Source, Side::Destination] {
                let each = rows.each_ref().map(|row| slowly(row, side));
                for (row, traffic) in rows.iter().zip(each) {
                    assert_eq!(Traffic::of(row, side), traffic, "{row}");
                }
                let all = each.into_iter().reduce(sum).expect("three rows");
                assert_eq!(Traffic::of_rows(&rows.each_ref(), side), all, "{}", rows[0]);
            }
        }
    }

    /// The work of two commands on one medium.
    fn sum(one: Traffic, two: Traffic) -> Traffic {
        match (one, two) {
            (
                Traffic::Hbm { transfers, partial_writes },
                Traffic::Hbm { transfers: more, partial_writes: partial },
            ) => Traffic::Hbm { transfers: transfers + more, partial_writes: partial_writes + partial },
            (
                Traffic::Dm { dmn_cycles, partial_writes },
                Traffic::Dm { dmn_cycles: more, partial_writes: partial },
            ) => Traffic::Dm {
                dmn_cycles: core::array::from_fn(|dmn| dmn_cycles[dmn] + more[dmn]),
                partial_writes: partial_writes + partial,
            },
            (Traffic::Spm { cycles }, Traffic::Spm { cycles: more }) => {
                Traffic::Spm { cycles: cycles + more }
            }
            _ => panic!("{one:?} and {two:?} are of different media"),
        }
    }

    #[test]
    fn worked_numbers() {
        // 2800 bytes = 10 requests of 256 and one of 240, which is a partial write.
        let command = PairedSequencer::new((HBM, 0), (HBM, 0), 2800);
        assert_eq!(
            Traffic::of(&command, Side::Destination),
            Traffic::Hbm { transfers: 11, partial_writes: 1 }
        );
        // An unaligned read is two transfers.
        let command = PairedSequencer::new((HBM, 8), (DM, 0), 256);
        assert_eq!(Traffic::of(&command, Side::Source), Traffic::Hbm { transfers: 2, partial_writes: 0 });
        // All on one Data Memory Network, 2 cycles per request.
        let command = PairedSequencer::new((HBM, 0), (DM, 0), 256).with_entries(&[(100, 256, 256)]);
        let Traffic::Dm { dmn_cycles, .. } = Traffic::of(&command, Side::Destination) else { panic!("DM") };
        assert_eq!(dmn_cycles, [200, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_thousand_million_packets() {
        let command = PairedSequencer::new((HBM, 0), (HBM, 1), 8)
            .with_entries(&[(65536, 524_288, 524_288), (16384, 32, 32)]);
        assert_eq!(command.packets(), 1 << 30);
        assert_eq!(
            Traffic::of(&command, Side::Source),
            Traffic::Hbm { transfers: 1 << 30, partial_writes: 0 }
        );
        let written = Traffic::Hbm { transfers: 1 << 30, partial_writes: 1 << 30 };
        assert_eq!(Traffic::of(&command, Side::Destination), written);
    }
}
