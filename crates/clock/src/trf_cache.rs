//! The read cache of the TRF and its bank conflicts: waits of a store that runs at the same time as reads.
//!
//! ```text
//!   TRF sequencer ──a(t)──▶ cache, per row 4 rows x 2 columns x 32 bytes ──hit──▶ multipliers
//!                               │ miss
//!                               ▼
//!              bank column 0    bank column 1   ◀── StoTRF, one line of 32 bytes at a time
//! ```
//!
//! Known facts (see `guide::contraction`, "The register file"):
//!
//! | fact | class |
//! |---|---|
//! | direct-mapped, 4 rows x 2 columns of 32 bytes for each of 8 rows, 2048 bytes | documented |
//! | a read of at most 32 bytes uses one column, one of 64 bytes both | documented |
//! | read and write on one column in one cycle: the read wins, the write waits | documented |
//! | one read per cycle, which never waits; a hit leaves the bank free | documented |
//! | entry = (row mod 4, column), the rest is the tag | assumed |
//! | the cache is empty at first, and a store to other lines leaves it alone | assumed |
//! | a line that waits holds back the lines behind it | assumed |
//!
//! All rows read the same addresses at the same time, so one row stands for all.

use furiosa_visa_rules::command::{Contraction, TrfRegion};
use furiosa_visa_rules::sequencer::{Config, Entry};
use furiosa_visa_rules::spec::{
    MAC_BYTES, REGISTER_READ_SIZES, TRF_BYTES, TRF_CACHE_ROWS, TRF_COLUMNS, TRF_LINE_BYTES,
};

/// Lines that the cache holds for each row.
const CACHE_LINES: usize = TRF_CACHE_ROWS * TRF_COLUMNS;

/// The reads of a TRF sequencer: one per cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrfReads {
    config: Config,
    base: usize,
    read_bytes: usize,
}

impl TrfReads {
    /// The reads of `read_bytes` bytes (`reg_read_size`) at `base` plus the positions of `config`, whose strides are
    /// in bytes of a row. `None` if the TRF cannot do them: a size that is no `reg_read_size`, a base or a stride that
    /// is no multiple of it, addresses outside the TRF, more reads than can be counted.
    pub fn new(config: Config, base: usize, read_bytes: usize) -> Option<Self> {
        let (mut lowest, mut highest, mut count) = (base as i128, base as i128, 1u64);
        let mut aligned = REGISTER_READ_SIZES.contains(&read_bytes) && base.is_multiple_of(read_bytes);
        for entry in &config.entries {
            aligned &= entry.stride.unsigned_abs().is_multiple_of(read_bytes);
            let reach = (entry.size as i128 - 1) * entry.stride as i128;
            lowest += reach.min(0);
            highest += reach.max(0);
            count = count.checked_mul(entry.size as u64)?;
        }
        let inside = count == 0 || lowest >= 0 && highest + read_bytes as i128 <= TRF_BYTES as i128;
        (aligned && inside).then_some(Self { config, base, read_bytes })
    }

    /// The reads of a contraction. A derived contraction has them.
    pub fn of(contraction: &Contraction) -> Option<Self> {
        let read_bytes = contraction.trf_config.packet_size * contraction.trf.element.bits() / 8;
        Self::new(contraction.trf_config, 0, read_bytes)
    }
}

/// A store into the TRF that runs while the sequencer reads: lines of 32 bytes, in order, row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrfStore {
    /// Rows that are written.
    pub rows: usize,
    /// Lines per row.
    pub lines_per_row: usize,
    /// The least number of cycles between two lines: 1 for a flit per cycle, 4 for 8 bytes per cycle.
    pub period: usize,
}

impl TrfStore {
    /// The store that fills a tensor.
    pub const fn of(region: &TrfRegion, period: usize) -> Self {
        let row_bytes = (region.row_elements * region.element.bits()).div_ceil(8);
        Self { rows: region.rows, lines_per_row: row_bytes.div_ceil(TRF_LINE_BYTES), period }
    }
}

/// Counts the cycles in which a line of a store is ready and its column is busy with a read that misses the cache. The
/// store starts in the cycle of the first read.
///
/// ```
/// use furiosa_visa_std::clock::trf_cache::{TrfReads, TrfStore, store_stalls};
/// use furiosa_visa_std::sequencer::{Config, Entry};
/// // Sweeps over 16 lines of 32 bytes, more than the cache holds: every read misses, on columns 0 and 1 in turn.
/// let mut config = Config::new(32);
/// config.entries.push(Entry { size: 100, stride: 0 });
/// config.entries.push(Entry { size: 16, stride: 32 });
/// let reads = TrfReads::new(config, 0, 32).expect("inside of the TRF");
/// let store = TrfStore { rows: 8, lines_per_row: 16, period: 1 };
/// // The first line meets the first read on column 0; from then on they alternate.
/// assert_eq!(store_stalls(&reads, store), 1);
/// ```
pub fn store_stalls(reads: &TrfReads, store: TrfStore) -> u64 {
    let state = State { cache: [None; CACHE_LINES], lines_left: store.rows * store.lines_per_row, wait: 0 };
    let mut sweep = Sweep { reads, store, state, stalls: 0 };
    let loops = reads.config.entries.as_slice();
    if loops.iter().all(|entry| entry.size > 0) {
        sweep.run(loops, reads.base as isize);
    }
    sweep.stalls
}

/// State before a cycle, which decides all later cycles.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    /// The line that each entry of the cache holds. Line `n` is bytes `32 * n ..` of the row: column `n % 2`, row
    /// `n / 2`, so the entry (row mod 4, column) is `n % 8`.
    cache: [Option<usize>; CACHE_LINES],
    /// Lines that are not stored yet.
    lines_left: usize,
    /// Cycles until the next of them is ready.
    wait: usize,
}

struct Sweep<'a> {
    reads: &'a TrfReads,
    store: TrfStore,
    state: State,
    stalls: u64,
}

impl Sweep<'_> {
    /// Makes the reads of some loops, outermost first, until the store is done. If an iteration of a loop without a
    /// stride leaves the state as it found it, the iterations after it are equal: their stalls are counted at once.
    fn run(&mut self, loops: &[Entry], start: isize) {
        let Some((outer, inner)) = loops.split_first() else { return self.read(start as usize) };
        for k in 0..outer.size {
            let before = (outer.stride == 0).then_some((self.state, self.stalls));
            self.run(inner, start + k as isize * outer.stride);
            if self.state.lines_left == 0 {
                return;
            }
            if let Some((_, stalls)) = before.filter(|(state, _)| *state == self.state) {
                self.stalls += (outer.size - 1 - k) as u64 * (self.stalls - stalls);
                return;
            }
        }
    }

    /// Goes through a cycle, with its read. The address has been checked to be inside the TRF.
    fn read(&mut self, address: usize) {
        let Self { reads, store, state, .. } = self;
        let mut busy = [false; TRF_COLUMNS];
        let first = address / TRF_LINE_BYTES;
        for line in first..first + if reads.read_bytes == MAC_BYTES { TRF_COLUMNS } else { 1 } {
            busy[line % TRF_COLUMNS] = state.cache[line % CACHE_LINES].replace(line) != Some(line);
        }
        if state.wait > 0 || state.lines_left == 0 {
            state.wait = state.wait.saturating_sub(1);
            return;
        }
        let line_in_row = (store.rows * store.lines_per_row - state.lines_left) % store.lines_per_row;
        if busy[line_in_row % TRF_COLUMNS] {
            self.stalls += 1;
        } else {
            state.lines_left -= 1;
            state.wait = store.period.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(entries: &[(usize, isize)]) -> Config {
        let mut config = Config::new(1);
        entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        config
    }

    const STORE: TrfStore = TrfStore { rows: 8, lines_per_row: 16, period: 1 };

    #[track_caller]
    fn stalls(entries: &[(usize, isize)], read_bytes: usize, store: TrfStore) -> u64 {
        store_stalls(&TrfReads::new(config(entries), 0, read_bytes).expect("inside of the TRF"), store)
    }

    /// Loops that stay in place repeat their stalls, however long they are.
    #[test]
    fn long_sweeps_are_counted() {
        for lines in [1, 5, 8, 12, 40] {
            let of = |sweeps: usize| stalls(&[(sweeps, 0), (lines, 32)], 32, TrfStore { period: 4, ..STORE });
            assert_eq!(of(1 << 40), of(8000), "{lines}");
        }
        // Reads of 64 bytes that always miss hold the store back in every cycle, to the end.
        assert_eq!(stalls(&[(1 << 40, 0), (64, 64)], 64, STORE), 64 << 40);
    }

    /// A store waits for reads that miss. They do so in the first sweep only if the lines fit into the cache.
    #[test]
    fn cyclic_sweeps() {
        // Both columns are busy in each cycle with a miss.
        for (lines, misses) in
            [(2, 2), (8, 8), (10, 10 + 4 * 4), (14, 14 + 4 * 12), (16, 5 * 16), (40, 5 * 40)]
        {
            let wide = stalls(&[(5, 0), (lines / 2, 64)], 64, TrfStore { lines_per_row: 256, ..STORE });
            assert_eq!(wide, misses / 2, "{lines} lines");
        }
        // A broadcast inside the loops that advance costs nothing; outside it repeats the misses.
        assert_eq!(stalls(&[(64, 64), (1000, 0)], 64, TrfStore { rows: 1 << 20, ..STORE }), 64);
        assert_eq!(stalls(&[(1000, 0), (64, 64)], 64, STORE), 64_000);
        assert_eq!(stalls(&[(1000, 0), (4, 64)], 64, STORE), 4);
    }

    /// Reads of one column at a time leave the other one to the store, as long as they alternate.
    #[test]
    fn alternating_columns_interleave() {
        for stride in [32, 96, 160] {
            // The first line meets the first read on column 0; from then on they alternate.
            assert_eq!(stalls(&[(4, 0), (256, stride)], 32, STORE), 1, "stride {stride}");
        }
        // On column 0 all the time: the lines of column 0 wait until the reads are done.
        assert_eq!(stalls(&[(4, 0), (256, 64)], 32, STORE), 1024);
    }

    /// Reads of 64 bytes block both columns while they miss: the store gets the cycles of the hits.
    #[test]
    fn wide_misses_block_the_store() {
        assert_eq!(stalls(&[(1, 0), (4, 64), (64, 0)], 64, STORE), 3);
        assert_eq!(stalls(&[(16, 0), (64, 64)], 64, STORE), 1024);
        // Every second read hits.
        assert_eq!(stalls(&[(512, 64), (2, 0)], 64, STORE), 128);
        let short = TrfStore { rows: 1, lines_per_row: 2, period: 1 };
        assert_eq!(stalls(&[(2, 0), (4, 64)], 64, short), 4);
    }

    /// 8 bytes per cycle make a line every fourth cycle.
    #[test]
    fn slow_stores_wait_for_their_data() {
        assert_eq!(stalls(&[], 32, TrfStore { period: 4, ..STORE }), 1);
        let odd = TrfStore { rows: 3, lines_per_row: 3, period: 1 };
        // Columns 0 1 0, 0 1 0, 0 1 0 beside reads of column 1, 0, 1, 0, …
        let reads = TrfReads::new(config(&[(256, 32)]), 32, 32).expect("inside of the TRF");
        assert_eq!(store_stalls(&reads, odd), 2);
    }

    #[test]
    fn empty_streams() {
        assert_eq!(stalls(&[(0, 32)], 32, TrfStore { lines_per_row: 0, ..STORE }), 0);
        assert_eq!(stalls(&[(4, 32)], 32, TrfStore { lines_per_row: 0, ..STORE }), 0);
        assert_eq!(stalls(&[(0, 32)], 32, STORE), 0);
    }

    #[test]
    fn reads_stay_aligned_and_inside() {
        let new = |entries: &[(usize, isize)], base, bytes| TrfReads::new(config(entries), base, bytes);
        assert!(new(&[(1024, 64)], 0, 64).is_some());
        assert!(new(&[(1024, -64)], 65_536 - 64, 64).is_some());
        let impossible = [
            ("a read of 48 bytes", new(&[(4, 64)], 0, 48)),
            ("an address that is no multiple of the read", new(&[(4, 64)], 32, 64)),
            ("a stride that is none", new(&[(4, 96)], 0, 64)),
            ("beyond the end", new(&[(1025, 64)], 0, 64)),
            ("before the start", new(&[(2, -64)], 0, 64)),
            ("too many reads", new(&[(1 << 40, 0), (1 << 40, 0)], 0, 64)),
        ];
        for (words, reads) in impossible {
            assert_eq!(reads, None, "{words}");
        }
    }
}
