//! HBM tick by tick: the documented figures, and what the model says it adds.
//!
//! Every tick of 1/3 ns looks at every queue. Nothing is skipped, nothing is kept in order by cleverness.

/// Where a byte lies: channel of the chip, slice, bank group, bank, row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub channel: usize,
    pub slice: usize,
    pub bank_group: usize,
    pub bank: usize,
    pub row: usize,
}

fn number(address: u64, bits: &[u32]) -> usize {
    bits.iter().enumerate().map(|(k, &bit)| ((address >> bit & 1) as usize) << k).sum()
}

/// The place of a byte. `hash_17`: whether bit 17 is a part of the hash.
pub fn place(address: u64, hash_17: bool) -> Place {
    let parity = |bits: &[u32]| bits.iter().filter(|&&bit| address >> bit & 1 == 1).count() % 2;
    let zeroth: &[u32] = if hash_17 { &[9, 13, 17, 21, 25] } else { &[9, 13, 21, 25] };
    let channel = parity(zeroth)
        + 2 * parity(&[10, 14, 18, 22, 26])
        + 4 * parity(&[11, 15, 19, 23, 27])
        + 8 * parity(&[12, 16, 20, 24, 28])
        + 16 * parity(&[8]);
    let low_row = number(address, &(21..34).collect::<Vec<_>>());
    let (slice, row_13) = match number(address, &[34]) {
        1 => (2, number(address, &[20])),
        _ => (number(address, &[20]), number(address, &[35])),
    };
    let (bank_group, bank) = (number(address, &[13, 19]), number(address, &[17, 18]));
    Place { channel, slice, bank_group, bank, row: low_row + 8192 * row_13 }
}

/// The address of the unit of a place with column 0, found by trying all channels.
pub fn address(wanted: Place, hash_17: bool) -> u64 {
    let at = |value: usize, bit: u32| (value as u64) << bit;
    let (group, row_13) = (wanted.bank_group, wanted.row / 8192);
    let fold = match wanted.slice {
        2 => at(1, 34) + at(row_13, 20),
        slice => at(slice, 20) + at(row_13, 35),
    };
    let others =
        fold + at(group % 2, 13) + at(group / 2, 19) + at(wanted.bank, 17) + at(wanted.row % 8192, 21);
    (0..32u64)
        .map(|channel| others + channel * 256)
        .find(|&address| place(address, hash_17) == wanted)
        .expect("every place has an address")
}

/// A request: address, bytes, whether it writes.
pub type Request = (u64, u32, bool);

/// What a channel did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    pub units: u64,
    pub busy_ticks: u64,
    pub openings: u64,
    pub row_switches: u64,
    pub partial_writes: u64,
    pub finish_ticks: u64,
}

struct Waiting {
    place: Place,
    partial_write: bool,
    commands: usize,
}

#[derive(Clone)]
struct Bank {
    row: Option<usize>,
    ready: u64,
    served: bool,
}

fn index(place: Place) -> usize {
    place.slice * 16 + place.bank_group * 4 + place.bank
}

/// Rows are switched where nothing wants the open one: after every arrival, and after every command.
fn switch_rows(queue: &[Waiting], banks: &mut [Bank], found: &mut Channel, tick: u64) {
    for unit in queue {
        let bank = &mut banks[index(unit.place)];
        let same_bank = |other: &&Waiting| index(other.place) == index(unit.place);
        if queue.iter().filter(same_bank).any(|other| Some(other.place.row) == bank.row) {
            continue;
        }
        let time = if bank.row.is_some() { 44 * 3 } else { 20 * 3 };
        found.row_switches += u64::from(bank.row.is_some());
        found.openings += u64::from(bank.row.is_none());
        *bank = Bank { row: Some(unit.place.row), ready: tick + time, served: false };
    }
}

/// The requests cut at boundaries of 256 bytes.
fn transfers(requests: &[Request]) -> Vec<(u64, bool)> {
    let mut list = Vec::new();
    for &(address, bytes, write) in requests {
        let (mut at, end) = (address, address + u64::from(bytes));
        while at < end {
            let next = end.min((at / 256 + 1) * 256);
            list.push((at, write && next - at < 256));
            at = next;
        }
    }
    list
}

/// Serves one stream per engine. `None` if it takes longer than `limit` ticks.
pub fn run(streams: &[Vec<Request>], hash_17: bool, limit: u64) -> Option<Vec<Channel>> {
    let mut heads: Vec<_> = streams.iter().map(|stream| transfers(stream).into_iter().peekable()).collect();
    let mut queues: Vec<Vec<Waiting>> = (0..32).map(|_| Vec::new()).collect();
    let closed = Bank { row: None, ready: 0, served: false };
    let mut banks = vec![vec![closed; 48]; 32];
    let mut last: Vec<Option<(u64, Place)>> = vec![None; 32];
    let mut found = vec![Channel::default(); 32];
    for tick in 0..limit {
        if tick % 3 == 0 {
            for k in 0..heads.len() {
                let engine = ((tick / 3) as usize + k) % heads.len();
                let Some(&(at, partial_write)) = heads[engine].peek() else { continue };
                let place = place(at, hash_17);
                if queues[place.channel].len() < 64 {
                    let c = place.channel;
                    queues[c].push(Waiting { place, partial_write, commands: 4 });
                    switch_rows(&queues[c], &mut banks[c], &mut found[c], tick);
                    heads[engine].next();
                }
            }
        }
        for channel in 0..32 {
            let (queue, banks, found) = (&mut queues[channel], &mut banks[channel], &mut found[channel]);
            if tick % 2 == 1 {
                continue;
            }
            // A partial write between its first and its last command.
            let held = queue.iter().position(|unit| unit.partial_write && unit.commands == 1);
            let mut chosen = None;
            if let Some(held) = held {
                let start = last[channel].expect("its first command").0;
                chosen = (tick == start + 50 * 16 - 4).then_some(held);
            } else {
                let mut fresh = 0;
                for (k, unit) in queue.iter().enumerate() {
                    let bank = &banks[index(unit.place)];
                    if bank.row != Some(unit.place.row) || bank.ready > tick {
                        continue;
                    }
                    fresh += usize::from(!bank.served);
                    if !bank.served && fresh > 1 {
                        continue;
                    }
                    let apart = last[channel].map_or(0, |(_, before)| {
                        match (before.slice == unit.place.slice, before.bank_group == unit.place.bank_group) {
                            (true, true) => 8,
                            (true, false) => 4,
                            (false, _) => 6,
                        }
                    });
                    if last[channel].is_none_or(|(before, _)| tick >= before + apart) {
                        chosen = Some(k);
                        break;
                    }
                }
            }
            let Some(chosen) = chosen else { continue };
            let unit = &mut queue[chosen];
            banks[index(unit.place)].served = true;
            last[channel] = Some((tick, unit.place));
            found.finish_ticks = tick + 4;
            if unit.partial_write && unit.commands == 4 {
                unit.commands = 1;
                continue;
            }
            unit.commands -= 1;
            if unit.commands == 0 {
                found.units += 1;
                found.partial_writes += u64::from(unit.partial_write);
                found.busy_ticks += if unit.partial_write { 800 } else { 16 };
                queue.remove(chosen);
                switch_rows(queue, banks, found, tick);
            }
        }
        if queues.iter().all(Vec::is_empty) && heads.iter_mut().all(|head| head.peek().is_none()) {
            return Some(found);
        }
    }
    None
}
