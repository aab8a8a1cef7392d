//! The read cache of the TRF against a model that goes cycle by cycle.

use crate::reference::cases::for_cases;
use crate::reference::random::Random;
use furiosa_visa_std::clock::trf_cache::{TrfReads, TrfStore, store_stalls};
use furiosa_visa_std::sequencer::{Config, Entry};
use std::cell::Cell;
use std::collections::BTreeMap;

/// All addresses, one per cycle.
fn addresses(entries: &[(usize, isize)], base: usize) -> Vec<usize> {
    let mut list = vec![base as isize];
    for &(size, stride) in entries {
        list = list.iter().flat_map(|at| (0..size as isize).map(move |k| at + k * stride)).collect();
    }
    list.into_iter().map(|at| usize::try_from(at).expect("inside of the TRF")).collect()
}

/// Every cycle by itself: stalls of the store, hits and misses of the reads.
fn naive(addresses: &[usize], read_bytes: usize, store: TrfStore) -> [u64; 3] {
    // Row in each pair of (row mod 4, column).
    let mut cache: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut columns = (0..store.rows).flat_map(|_| (0..store.lines_per_row).map(|line| line % 2)).peekable();
    let ([mut stalls, mut hits, mut misses], mut ready) = ([0; 3], 0);
    for (cycle, address) in addresses.iter().enumerate() {
        let mut busy = [false; 2];
        let (row, column) = (address / 64, address / 32 % 2);
        let touched = if read_bytes == 64 { vec![0, 1] } else { vec![column] };
        for column in touched {
            busy[column] = cache.insert((row % 4, column), row) != Some(row);
            hits += u64::from(!busy[column]);
            misses += u64::from(busy[column]);
        }
        if cycle >= ready
            && let Some(&column) = columns.peek()
        {
            if busy[column] {
                stalls += 1;
            } else {
                columns.next();
                ready = cycle + store.period;
            }
        }
    }
    [stalls, hits, misses]
}

/// Loops whose addresses are inside of the TRF.
fn random_reads(random: &mut Random) -> (Vec<(usize, isize)>, usize, usize) {
    let read_bytes = random.pick(&[1, 2, 4, 8, 16, 32, 32, 64, 64]);
    loop {
        let count = random.below(5);
        let entry = |random: &mut Random| {
            let size = random.pick(&[1, 2, 3, 4, 5, 7, 8, 9, 16, 30]);
            let step = random.pick(&[0, 0, 1, 1, 1, 2, 3, 4, 8, 16, -1, -2]);
            let unit = random.pick(&[read_bytes, read_bytes, 32.max(read_bytes), 64, 256]) as isize;
            (size, step * unit)
        };
        let entries: Vec<_> = (0..count).map(|_| entry(random)).collect();
        let reach = |sign: isize| -> isize {
            entries.iter().map(|&(size, stride)| ((size as isize - 1) * stride * sign).max(0)).sum()
        };
        let reads: usize = entries.iter().map(|entry| entry.0).product();
        let below = (reach(-1) as usize).next_multiple_of(read_bytes);
        let room = 65_536usize.checked_sub(below + reach(1) as usize + read_bytes);
        if let Some(room) = room.filter(|_| reads <= 20_000) {
            let base = below + random.between(0, room / read_bytes) * read_bytes;
            return (entries, base, read_bytes);
        }
    }
}

#[test]
fn stalls_are_those_of_single_cycles() {
    let (stalled, mixed) = (Cell::new(0), Cell::new(0));
    for_cases(600, |random| {
        let (entries, base, read_bytes) = random_reads(random);
        let store = TrfStore {
            rows: random.pick(&[1, 2, 4, 8]),
            lines_per_row: random.pick(&[0, 1, 2, 3, 8, 33, 256]),
            period: random.pick(&[1, 1, 2, 4, 5]),
        };
        let mut config = Config::new(1);
        entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        let reads = TrfReads::new(config, base, read_bytes).expect("inside of the TRF");
        let found = store_stalls(&reads, store);
        let [expected, hits, misses] = naive(&addresses(&entries, base), read_bytes, store);
        stalled.set(stalled.get() + usize::from(found > 0));
        mixed.set(mixed.get() + usize::from(hits > 0 && misses > (hits + misses) / 8));
        if found == expected {
            return Ok(());
        }
        let case = format!("{entries:?} from {base}, {read_bytes} bytes, {store:?}");
        Err(format!("{case}\nfound    {found:?}\nexpected {expected:?}"))
    });
    let enough = stalled.get() > 100 && mixed.get() > 100;
    assert!(enough || std::env::var("VISA_CASES").is_ok(), "{stalled:?} stalled, {mixed:?} mixed");
}
