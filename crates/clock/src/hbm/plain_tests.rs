//! A second, plain implementation of the same rules: every tick, every unit, every bank, no state that could be
//! computed. The model is compared with it on random streams, with and without the knowledge of loops.
//!
//! `VISA_CASES=N` compares N cases, `VISA_SEED=S` begins with case S.

use super::address::Place;
use super::{ChannelReport, Detailed, HbmMap, HbmReport, InTurn, Request, Strided, StridedLoop};
use furiosa_visa_rules::spec::{
    CORE_CYCLE_TICKS, HBM_ACTIVATION_TICKS, HBM_BANK_GROUPS, HBM_BANKS, HBM_CHANNELS,
    HBM_COMMAND_CYCLE_TICKS, HBM_CONTROLLER_CYCLE_TICKS, HBM_PARTIAL_WRITE_TICKS, HBM_QUEUE_UNITS,
    HBM_ROW_SWITCH_TICKS, HBM_TCCD_OTHER_GROUP_TICKS, HBM_TCCD_OTHER_SLICE_TICKS, HBM_TCCD_SAME_GROUP_TICKS,
    HBM_UNIT_COMMANDS, HBM_UNIT_TICKS,
};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::collections::{BTreeMap, VecDeque};

struct Unit {
    place: Place,
    partial_write: bool,
    commands: usize,
}

struct Row {
    row: u16,
    open_tick: u64,
    used: bool,
}

#[derive(Default)]
struct Channel {
    /// Units in the order of arrival.
    queue: Vec<Unit>,
    /// The rows of the banks that are not closed.
    rows: BTreeMap<u8, Row>,
    last_command: Option<(u64, u8)>,
    /// The tick of the last command of a partial write.
    held: Option<u64>,
    report: ChannelReport,
}

impl Channel {
    /// Opens the row of the oldest unit of a bank, if there is one and no unit waits for the open row.
    fn open(&mut self, bank: u8, tick: u64) {
        let mut waiting = self.queue.iter().filter(|unit| unit.place.bank == bank).map(|unit| unit.place.row);
        let Some(row) = waiting.clone().next() else { return };
        let ticks = match self.rows.get(&bank) {
            Some(open) if waiting.any(|row| row == open.row) => return,
            Some(_) => {
                self.report.row_switches += 1;
                HBM_ROW_SWITCH_TICKS
            }
            None => {
                self.report.openings += 1;
                HBM_ACTIVATION_TICKS
            }
        };
        self.rows.insert(bank, Row { row, open_tick: tick + ticks, used: false });
    }

    /// Units that may go, apart from tCCD.
    fn ready(&self, tick: u64) -> Vec<usize> {
        let row = |unit: &Unit| {
            self.rows.get(&unit.place.bank).filter(|row| row.row == unit.place.row && row.open_tick <= tick)
        };
        let with = |used: bool| {
            let queue = self.queue.iter().enumerate();
            queue.filter(move |(_, unit)| row(unit).is_some_and(|row| row.used == used)).map(|(at, _)| at)
        };
        with(true).chain(with(false).next()).collect()
    }

    fn tccd(&self, tick: u64, bank: u8) -> bool {
        let Some((last_tick, last)) = self.last_command else { return true };
        let group = |bank: u8| usize::from(bank) / HBM_BANKS;
        let slice = |bank: u8| group(bank) / HBM_BANK_GROUPS;
        let gap = match (group(bank) == group(last), slice(bank) == slice(last)) {
            (true, _) => HBM_TCCD_SAME_GROUP_TICKS,
            (false, true) => HBM_TCCD_OTHER_GROUP_TICKS,
            (false, false) => HBM_TCCD_OTHER_SLICE_TICKS,
        };
        tick >= last_tick + gap
    }

    /// Serves a slot of the command clock.
    fn slot(&mut self, tick: u64) {
        let at = match self.held {
            Some(last) if tick < last => return,
            Some(_) => {
                let of_partial = |unit: &Unit| unit.partial_write && unit.commands == 1;
                self.queue.iter().position(of_partial)
            }
            None => {
                self.ready(tick).into_iter().filter(|&at| self.tccd(tick, self.queue[at].place.bank)).min()
            }
        };
        let Some(at) = at else { return };
        let Unit { place, partial_write, commands } = &mut self.queue[at];
        let bank = place.bank;
        *commands -= 1;
        let done = *commands == 0;
        self.held = None;
        if *partial_write && !done {
            self.held = Some(tick + HBM_PARTIAL_WRITE_TICKS - HBM_CONTROLLER_CYCLE_TICKS);
            self.report.partial_writes += 1;
        }
        if self.last_command.is_none() {
            self.report.start_ticks = tick;
        }
        if let Some(row) = self.rows.get_mut(&bank) {
            row.used = true;
        }
        self.last_command = Some((tick, bank));
        if done {
            let unit = self.queue.remove(at);
            self.report.units += 1;
            self.report.busy_ticks +=
                if unit.partial_write { HBM_PARTIAL_WRITE_TICKS } else { HBM_UNIT_TICKS };
            self.report.finish_ticks = tick + HBM_CONTROLLER_CYCLE_TICKS;
            self.open(bank, tick);
        }
    }
}

fn plain(map: HbmMap, streams: &[Vec<Request>]) -> HbmReport {
    let mut channels: Vec<Channel> = (0..HBM_CHANNELS).map(|_| Channel::default()).collect();
    let transfers = |stream: &Vec<Request>| -> VecDeque<_> {
        let both = stream.iter().map(|request| request.transfers());
        both.flat_map(|(first, second)| [Some(first), second]).flatten().collect()
    };
    let mut engines: Vec<_> = streams.iter().map(transfers).collect();
    let mut tick = 0;
    while engines.iter().any(|left| !left.is_empty())
        || channels.iter().any(|channel| !channel.queue.is_empty())
    {
        let cycle = (tick / CORE_CYCLE_TICKS) as usize;
        for turn in 0..if tick % CORE_CYCLE_TICKS == 0 { engines.len() } else { 0 } {
            let engine = &mut engines[(cycle + turn) % streams.len()];
            let Some(transfer) = engine.front() else { continue };
            let place = map.place(transfer.address);
            let channel = &mut channels[usize::from(place.channel)];
            if channel.queue.len() < HBM_QUEUE_UNITS {
                let partial_write = transfer.partial_write;
                let commands = if partial_write { 2 } else { HBM_UNIT_COMMANDS };
                channel.queue.push(Unit { place, partial_write, commands });
                channel.report.bytes += u64::from(transfer.bytes);
                channel.open(place.bank, tick);
                engine.pop_front();
            }
        }
        if tick % HBM_COMMAND_CYCLE_TICKS == 0 {
            channels.iter_mut().filter(|channel| !channel.queue.is_empty()).for_each(|each| each.slot(tick));
        }
        tick += 1;
    }
    let channels = core::array::from_fn(|k| channels[k].report);
    let mut report = HbmReport { finish_ticks: 0, channels };
    report.finish_ticks = report.total().finish_ticks;
    report
}

/// Commands of each engine.
type Load = Vec<Vec<Strided>>;

/// A stream of about `most` packets at most.
fn random_stream(rng: &mut SmallRng, near: u64, most: u64) -> Strided {
    let bytes = match rng.random_range(0..8) {
        0 => rng.random_range(1..600),
        1 => 64,
        2 => 8 * rng.random_range(1..200),
        _ => 256 << rng.random_range(0..4),
    };
    // Some lead to neighbouring units, rows and banks, and to the same bytes again.
    let stride = |rng: &mut SmallRng| match rng.random_range(0..6) {
        0..3 => 0,
        3 => i64::from(bytes),
        4 => 256 << rng.random_range(0..16),
        _ => rng.random_range(0..1 << 16),
    };
    let mut packets = 1;
    let mut loops = Vec::new();
    while packets < most && loops.len() < 5 {
        let size = rng.random_range(1..=most.div_ceil(packets));
        packets *= size;
        loops.push(StridedLoop { size, stride: stride(rng) });
    }
    let fine = if rng.random_bool(0.2) { rng.random_range(0..256) } else { 0 };
    let base = near + fine + (rng.random_range(0..64) << rng.random_range(8..20));
    let stream = Strided::new(base, &loops, bytes as u32).expect("inside of HBM");
    if rng.random_bool(0.3) { stream.writes() } else { stream }
}

fn random_load(rng: &mut SmallRng) -> Load {
    let engines = rng.random_range(1..=8);
    let near = if rng.random_bool(0.5) { 0 } else { rng.random_range(0..11 << 22) << 10 };
    let most = 1 << rng.random_range(0..8);
    let alike = rng.random_bool(0.5).then(|| random_stream(rng, near, most));
    let engine = |rng: &mut SmallRng| {
        let streams = 0..rng.random_range(1..=2);
        streams.map(|_| alike.unwrap_or_else(|| random_stream(rng, near, most))).collect()
    };
    (0..engines).map(|_| engine(rng)).collect()
}

/// Engines that read a few packets again and again, and then the next.
fn random_broadcast(rng: &mut SmallRng) -> Load {
    let (packets, bytes) = (rng.random_range(1..=4), 256 << rng.random_range(0..5));
    let (blocks, requests) = (rng.random_range(1..=3), packets * bytes / 256);
    let loops = [
        StridedLoop { size: blocks, stride: 4096 },
        StridedLoop { size: 4 + 400 / (blocks * requests), stride: 0 },
        StridedLoop { size: packets, stride: 256 << rng.random_range(0..14) },
    ];
    let (base, distance) = (rng.random_range(0..64) << 8, rng.random_range(0..8) << rng.random_range(8..20));
    let fine = if rng.random_bool(0.1) { 8 } else { 0 };
    let stream = |engine: u64| Strided::new(base + fine + engine * distance, &loops, bytes as u32);
    (0..rng.random_range(1..=6)).map(|engine| vec![stream(engine).expect("inside of HBM")]).collect()
}

/// Engines that ask for units anywhere, in a few channels or in many, in few rows or in many.
fn random_units(rng: &mut SmallRng) -> Load {
    let bits = rng.random::<u64>() & rng.random::<u64>() & HbmMap::RENAMING_BITS;
    let writes = rng.random_bool(0.3);
    let unit = |rng: &mut SmallRng| {
        let bytes = if rng.random_bool(0.02) { 64 } else { 256 };
        let unit = Strided::new(rng.random::<u64>() & bits, &[], bytes).expect("inside of HBM");
        if writes && rng.random_bool(0.5) { unit.writes() } else { unit }
    };
    let units = rng.random_range(1..80);
    (0..rng.random_range(1..=8)).map(|_| (0..units).map(|_| unit(rng)).collect()).collect()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn the_model_is_the_plain_model() {
    let (first, cases) = (number("VISA_SEED", 0), number("VISA_CASES", 24));
    for seed in first..first + cases {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let map = HbmMap { hash_bit_17: rng.random_bool(0.8) };
        let load = match seed % 3 {
            0 => random_load(rng),
            1 => random_broadcast(rng),
            _ => random_units(rng),
        };
        let requests = |streams: &Vec<Strided>| InTurn::new(streams.clone()).collect::<Vec<_>>();
        let lists: Vec<_> = load.iter().map(requests).collect();
        let mut model = Detailed::new(map);
        let expected = plain(map, &lists);
        let listed = model.run(&mut lists.into_iter().map(Vec::into_iter).collect::<Vec<_>>());
        assert_eq!(listed, expected, "VISA_SEED={seed} VISA_CASES=1: {load:?}");
        let looped = model.run_loops(&mut load.iter().cloned().map(InTurn::new).collect::<Vec<_>>());
        assert_eq!(looped, expected, "VISA_SEED={seed} VISA_CASES=1, as loops: {load:?}");
    }
}
