//! The HBM model against one that goes tick by tick, and the addresses against their tables.

use crate::reference::cases::for_cases;
use crate::reference::hbm::{self, Place};
use crate::reference::random::Random;
use furiosa_visa_std::clock::hbm::{Detailed, HbmMap, Request};
use furiosa_visa_std::spec::HBM_BYTES;
use std::cell::Cell;

/// What the places of a case are drawn from: few channels, banks and rows meet, many do not.
struct Pool {
    channels: usize,
    slices: usize,
    groups: usize,
    banks: usize,
    rows: usize,
}

fn unit(random: &mut Random, pool: &Pool, hash_17: bool) -> u64 {
    let place = Place {
        channel: random.below(pool.channels),
        slice: random.below(pool.slices),
        bank_group: random.below(pool.groups),
        bank: random.below(pool.banks),
        row: random.below(pool.rows) * (16_383 / pool.rows),
    };
    // Any of the eight columns; the channel stays what it is.
    let (column, address) = (random.below(8) as u64, hbm::address(place, hash_17));
    address ^ (column << 14) ^ (column << 10)
}

fn random_streams(random: &mut Random, hash_17: bool) -> Vec<Vec<hbm::Request>> {
    let pool = Pool {
        channels: random.pick(&[1, 1, 1, 2, 3, 32]),
        slices: random.pick(&[1, 2, 3, 3]),
        groups: random.pick(&[1, 2, 4, 4]),
        banks: random.pick(&[1, 2, 4]),
        rows: random.pick(&[1, 2, 3, 40, 16_383]),
    };
    let engines = random.pick(&[1, 1, 2, 3, 8]);
    let length = random.pick(&[1, 7, 70, 150, 400]);
    let (runs, partial, crossing) =
        (random.pick(&[1, 1, 4, 20]), random.pick(&[0, 0, 0, 5, 50]), random.pick(&[0, 0, 10]));
    let streams = (0..engines).map(|_| {
        let mut list = Vec::new();
        while list.len() < length {
            let (mut at, write) = (unit(random, &pool, hash_17), random.chance(50));
            for _ in 0..random.between(1, runs) {
                let mut bytes = 256;
                let mut offset = 0;
                if random.chance(partial) {
                    (offset, bytes) = (random.below(256) as u64, random.between(1, 256) as u32);
                } else if random.chance(crossing) {
                    offset = random.between(1, 255) as u64;
                }
                if at + offset + u64::from(bytes) > HBM_BYTES {
                    break;
                }
                list.push((at + offset, bytes, write));
                at += random.pick(&[256, 8192, 8192, 1 << 14]);
                if at >= HBM_BYTES {
                    break;
                }
            }
        }
        list
    });
    streams.collect()
}

#[test]
fn requests_are_done_when_single_ticks_say_so() {
    let [full, partial, switched, too_long] = [(); 4].map(|()| Cell::new(0));
    for_cases(400, |random| {
        let hash_17 = random.chance(80);
        let streams = random_streams(random, hash_17);
        let Some(expected) = hbm::run(&streams, hash_17, 60_000) else {
            too_long.set(too_long.get() + 1);
            return Ok(());
        };
        let requests = |stream: &Vec<hbm::Request>| {
            stream.clone().into_iter().map(|(address, bytes, write)| Request { address, bytes, write })
        };
        let mut model = Detailed::new(HbmMap { hash_bit_17: hash_17 });
        let mut iterators: Vec<_> = streams.iter().map(requests).collect();
        let found = model.run(&mut iterators);
        let total = found.total();
        partial.set(partial.get() + usize::from(total.partial_writes > 3));
        switched.set(switched.get() + usize::from(total.row_switches > 100 && total.row_hits() > 100));
        // Far more than a queue holds.
        full.set(full.get() + usize::from(found.channels.iter().any(|channel| channel.units > 150)));
        for (k, (found, expected)) in found.channels.iter().zip(&expected).enumerate() {
            let seen = hbm::Channel {
                units: found.units,
                busy_ticks: found.busy_ticks,
                openings: found.openings,
                row_switches: found.row_switches,
                partial_writes: found.partial_writes,
                finish_ticks: found.finish_ticks,
            };
            if seen != *expected {
                let requests: usize = streams.iter().map(Vec::len).sum();
                let case = format!("{} engines, {requests} requests, hash {hash_17}", streams.len());
                return Err(format!("{case}\nchannel {k}\nfound    {seen:?}\nexpected {expected:?}"));
            }
        }
        assert_eq!(found.finish_ticks, total.finish_ticks);
        // A second run begins afresh.
        let mut again: Vec<_> = streams.iter().map(requests).collect();
        assert_eq!(model.run(&mut again), found);
        Ok(())
    });
    let counts = [&full, &partial, &switched, &too_long].map(Cell::get);
    let enough = counts[0] > 60 && counts[1] > 100 && counts[2] > 25 && counts[3] < 120;
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{counts:?} full, partial, switched, too long");
}

#[test]
fn addresses_are_those_of_the_table() {
    for_cases(20_000, |random| {
        let (address, hash_17) = (random.bits() % HBM_BYTES, random.chance(50));
        let map = HbmMap { hash_bit_17: hash_17 };
        let (found, expected) = (map.decode(address), hbm::place(address, hash_17));
        let seen = Place {
            channel: found.chip_channel(),
            slice: found.slice.into(),
            bank_group: found.bank_group.into(),
            bank: found.bank.into(),
            row: found.row.into(),
        };
        let column = u64::from(found.column);
        if seen == expected && column == address % 256 + (address >> 14) % 8 * 256 {
            return Ok(());
        }
        Err(format!("{address:#x}, hash {hash_17}\nfound    {found:?}\nexpected {expected:?}"))
    });
}
