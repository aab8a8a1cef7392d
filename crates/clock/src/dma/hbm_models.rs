//! Models of HBM for the time of a DMA operation.

use super::sequencer::{PairedSequencer, Side};
use super::time::{HbmStream, HbmTime};
use crate::hbm::{Detailed, Estimate, HbmMap, HbmServed, InTurn, Request, Strided, StridedLoop};
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::spec::SEQUENCER_ENTRIES;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The closed rules of the `book` profile: every request costs its channel some time, and the slowest channel decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct BookHbm {
    /// Map of the addresses.
    pub map: HbmMap,
}

impl HbmTime for BookHbm {
    fn serve(&mut self, streams: &[HbmStream<'_>]) -> HbmServed {
        let mut estimate = Estimate::new(self.map);
        for stream in streams {
            let write = stream.writes();
            let request = |(address, bytes)| Request { address, bytes: bytes as u32, write };
            estimate.add(engine_of(stream, streams), stream.requests().map(request));
        }
        estimate.served()
    }
}

/// Index of the first stream that has the engine of `stream`.
fn engine_of(stream: &HbmStream<'_>, streams: &[HbmStream<'_>]) -> usize {
    streams.iter().position(|other| other.engine == stream.engine).unwrap_or(0)
}

/// The `detailed` profile.
impl HbmTime for Detailed {
    fn serve(&mut self, streams: &[HbmStream<'_>]) -> HbmServed {
        self.run_loops(&mut streams.iter().map(loops).collect::<Vec<_>>()).served()
    }
}

/// The commands of a stream.
fn loops<'a>(stream: &HbmStream<'a>) -> InTurn<impl Iterator<Item = Strided> + use<'a>> {
    let side = stream.side;
    InTurn::new(stream.commands().map(move |command| strided(command, side)))
}

/// One side of a command.
#[inline]
fn strided(command: &PairedSequencer, side: Side) -> Strided {
    // The list has room for one loop too many, which is refused below.
    let mut loops: List<StridedLoop, { SEQUENCER_ENTRIES + 1 }> = List::new(StridedLoop::default());
    for entry in &command.entries {
        loops.push(StridedLoop { size: entry.limit as u64, stride: entry.stride(side) as i64 });
    }
    let stream = Strided::new(command.base(side), loops.as_slice(), command.stride0 as u32);
    let stream = stream.unwrap_or_else(|error| panic!("{error}"));
    if side == Side::Destination { stream.writes() } else { stream }
}

/// A model of HBM whose banks are refreshed.
#[derive(Clone, Debug)]
pub struct Refreshed<M> {
    /// The model.
    pub model: M,
    /// Ticks of refresh for every 1000 ticks in which it is used.
    pub per_mille: u64,
}

impl<M: HbmTime> HbmTime for Refreshed<M> {
    fn serve(&mut self, streams: &[HbmStream<'_>]) -> HbmServed {
        let mut served = self.model.serve(streams);
        served.ticks += served.ticks * self.per_mille / 1000;
        served
    }
}

/// Maximum number of words that are remembered, 8 bytes each: of loads, and of the work of channels for them.
const WORDS: usize = 1 << 22;

/// Results by load, with the channels of the load at bases whose flips are 0.
#[derive(Debug, Default)]
struct Known {
    times: HashMap<Vec<u64>, HbmServed>,
    words: usize,
}

/// A model that looks up loads that it, or one of its clones, has served before. Engines that do the same at other addresses,
/// and transfers of other tensors of the same shape, often have the same load.
#[derive(Clone, Debug)]
pub struct Remembered<M> {
    model: M,
    map: HbmMap,
    known: Arc<Mutex<Known>>,
}

impl<M> Remembered<M> {
    /// Remembers the times of a model. They must depend on nothing but the load, and stay the same if
    /// [`HbmMap::RENAMING_BITS`] are flipped in all addresses, but for the names of channels, which are those of `map`.
    pub fn new(model: M, map: HbmMap) -> Self {
        Self { model, map, known: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: HbmTime> HbmTime for Remembered<M> {
    fn serve(&mut self, streams: &[HbmStream<'_>]) -> HbmServed {
        let (load, flips) = load(streams);
        // The hash is an XOR of bits: flips of address bits are flips of bits of the channel.
        let flips = self.map.decode(flips).chip_channel();
        if let Some(served) = self.known().times.get(&load) {
            return served.clone().renamed(flips);
        }
        // Others may look up loads meanwhile.
        let served = self.model.serve(streams);
        let words = load.len() + HbmServed::WORDS;
        let mut known = self.known();
        known.words += words;
        if known.words > WORDS {
            known.times.clear();
            known.words = words;
        }
        known.times.insert(load, served.clone().renamed(flips));
        served
    }
}

/// Words with everything that a model sees of some streams. Loads that differ in flips of [`HbmMap::RENAMING_BITS`]
/// mostly have the same words.
///
/// If a command stays inside an aligned block of `2^k` bytes, then flips of higher bits of its base are flips in all of
/// its addresses. So the bits above the largest block can be flipped in all bases: here, those of the first base become
/// 0. The flips are returned with the words.
fn load(streams: &[HbmStream<'_>]) -> (Vec<u64>, u64) {
    let mut words = Vec::new();
    let (mut inside, mut bases) = (0, Vec::new());
    for stream in streams {
        words.extend([
            engine_of(stream, streams) as u64,
            stream.side as u64,
            stream.commands().count() as u64,
        ]);
        for command in stream.commands() {
            let base = command.base(stream.side);
            let differing = base ^ (base + command.extent(stream.side) - 1);
            inside |= u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0);
            bases.push(words.len());
            words.extend([base, command.stride0 as u64, command.entries.len() as u64]);
            let entries = command.entries.iter();
            words.extend(entries.flat_map(|entry| [entry.limit as u64, entry.stride(stream.side)]));
        }
    }
    let flips = bases.first().map_or(0, |&first| words[first]) & HbmMap::RENAMING_BITS & !inside;
    for base in bases {
        words[base] ^= flips;
    }
    (words, flips)
}

#[cfg(test)]
mod tests {
    use super::super::operation::Engine;
    use super::super::sequencer::Medium;
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    const HBM: Medium = Medium::Hbm { chip: 0 };
    const DM: Medium = Medium::Dm { chip: 0, cluster: 0 };

    /// Commands of up to 4 engines, which read or write HBM.
    fn random_engines(rng: &mut SmallRng) -> Vec<(Side, Vec<PairedSequencer>)> {
        let command = |rng: &mut SmallRng, side: Side| {
            let base = rng.random_range(0..16) << rng.random_range(8..20);
            let base = base + if rng.random_bool(0.2) { rng.random_range(0..256) } else { 0 };
            let stride0 = [64, 256, 1000, 4096][rng.random_range(0..4)];
            let ends = [(HBM, base), (DM, 0)];
            let (from, to) = if side == Side::Source { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
            let stride = |rng: &mut SmallRng| rng.random_range(0..4) << rng.random_range(6..16);
            let entries: Vec<_> = (0..rng.random_range(0..4))
                .map(|_| (rng.random_range(1..5), stride(rng), 0))
                .map(|(n, hbm, dm)| if side == Side::Source { (n, hbm, dm) } else { (n, dm, hbm) })
                .collect();
            PairedSequencer::new(from, to, stride0).with_entries(&entries)
        };
        let engine = |rng: &mut SmallRng| {
            let side = if rng.random_bool(0.7) { Side::Source } else { Side::Destination };
            (side, (0..rng.random_range(1..3)).map(|_| command(rng, side)).collect())
        };
        (0..rng.random_range(1..5)).map(|_| engine(rng)).collect()
    }

    fn streams(engines: &[(Side, Vec<PairedSequencer>)]) -> Vec<HbmStream<'_>> {
        let engine = |pe| Engine { chip: 0, cluster: 0, pe };
        let engines = engines.iter().enumerate();
        engines
            .map(|(pe, (side, commands))| HbmStream { chip: 0, engine: engine(pe), side: *side, commands })
            .collect()
    }

    /// A load at other addresses that is looked up takes the same time in both models. `VISA_CASES` sets the number of
    /// cases, `VISA_SEED` the first.
    #[test]
    fn loads_at_other_addresses_take_the_same_time() {
        let number = |variable: &str, otherwise: u64| {
            std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        };
        let (first, cases) = (number("VISA_SEED", 0), number("VISA_CASES", 200));
        let (mut found, mut renamed) = (0, 0);
        for seed in first..first + cases {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let engines = random_engines(rng);
            let mut moved = engines.clone();
            // Moves by whole blocks of 64 KiB to 16 MiB. Often enough, the commands stay in such a block.
            let flips = rng.random::<u64>() & HbmMap::RENAMING_BITS & (!0 << rng.random_range(16..24));
            for (side, command) in
                moved.iter_mut().flat_map(|(side, all)| all.iter_mut().map(|one| (*side, one)))
            {
                match side {
                    Side::Source => command.source_base ^= flips,
                    Side::Destination => command.destination_base ^= flips,
                }
            }
            let (streams, moved) = (streams(&engines), streams(&moved));
            if load(&streams).0 != load(&moved).0 {
                continue;
            }
            found += 1;
            // Remembered loads have the same times, and the channels of the addresses that are asked for.
            let context = format!("VISA_SEED={seed} VISA_CASES=1: {engines:?}, flips {flips:#x}");
            let mut check = |model: &mut dyn HbmTime, remembered: &mut dyn HbmTime| {
                let (one, other) = (model.serve(&streams), model.serve(&moved));
                assert_eq!(one.ticks, other.ticks, "{context}");
                assert_eq!(one.total(), other.total(), "{context}");
                renamed += usize::from(one != other);
                assert_eq!(remembered.serve(&streams), one, "{context}");
                assert_eq!(remembered.serve(&moved), other, "{context}");
            };
            let map = HbmMap::default();
            let book = BookHbm::default();
            check(&mut { book }, &mut Remembered::new(book, map));
            check(&mut Detailed::new(map), &mut Remembered::new(Detailed::new(map), map));
        }
        assert!(found > cases / 4 || cases < 50, "{found} of {cases}");
        assert!(renamed > 0 || cases < 50, "the channels are always the same");
    }

    /// Loads are distinguished by everything but their addresses in whole blocks.
    #[test]
    fn what_is_remembered() {
        let asked = core::cell::Cell::new(0);
        let count = |streams: &[HbmStream<'_>]| {
            asked.set(asked.get() + 1);
            streams.len() as u64
        };
        let mut model = Remembered::new(count, HbmMap::default());
        let command = |base, stride| {
            vec![PairedSequencer::new((HBM, base), (DM, 0), 256).with_entries(&[(16, stride, 0)])]
        };
        let mut clone = model.clone();
        let mut ask = |engines: &[(Side, Vec<PairedSequencer>)]| {
            let before = asked.get();
            assert_eq!(model.ticks(&streams(engines)), engines.len() as u64);
            let is_asked = asked.get() > before;
            // What one knows, its clones know.
            assert_eq!(clone.ticks(&streams(engines)), engines.len() as u64);
            assert_eq!(asked.get(), before + u64::from(is_asked));
            is_asked
        };
        let read = |base, stride| (Side::Source, command(base, stride));
        assert!(ask(&[read(0, 256)]));
        assert!(!ask(&[read(4096, 256)]), "another block of 4 KiB");
        assert!(ask(&[read(2048, 256)]), "two blocks");
        assert!(ask(&[read(0, 512)]));
        assert!(ask(&[read(0, 256), read(4096, 256)]));
        assert!(!ask(&[read(1 << 32, 256), read(1 << 32 | 4096, 256)]));
        assert!(!ask(&[read(4096, 256), read(0, 256)]), "the same distance");
        assert!(ask(&[read(0, 256), read(8192, 256)]));
        assert!(ask(&[read(1 << 34, 256)]), "the slices are others");
    }
}
