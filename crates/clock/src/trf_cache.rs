//! The read cache of the TRF and its bank conflicts: the misses of reads, and the waits of a store that runs at the
//! same time.
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

use core::fmt;
use furiosa_visa_rules::command::{Contraction, TrfRegion};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::sequencer::{Config, Entry};
use furiosa_visa_rules::spec::{
    MAC_BYTES, REGISTER_READ_SIZES, TRF_BYTES, TRF_CACHE_ROWS, TRF_COLUMNS, TRF_LINE_BYTES,
};
use furiosa_visa_rules::text::Text;

/// Lines that the cache holds for each row.
pub const CACHE_LINES: usize = TRF_CACHE_ROWS * TRF_COLUMNS;

/// Line number of an empty entry: no line has it.
const NOTHING: usize = usize::MAX;

/// The cache of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrfCache {
    /// The line that each entry holds. Line `n` is bytes `32 * n ..` of the row: column `n % 2`, row `n / 2`, so the
    /// entry (row mod 4, column) is `n % 8`.
    lines: [usize; CACHE_LINES],
}

impl TrfCache {
    /// An empty cache.
    pub const fn new() -> Self {
        Self { lines: [NOTHING; CACHE_LINES] }
    }

    /// Tells if a read of this line would hit.
    pub const fn holds(&self, line: usize) -> bool {
        self.lines[line % CACHE_LINES] == line
    }

    /// Reads a line. Returns true if it was missing, so that its bank column is busy for this cycle.
    #[inline]
    pub const fn read(&mut self, line: usize) -> bool {
        let missing = !self.holds(line);
        self.lines[line % CACHE_LINES] = line;
        missing
    }
}

impl Default for TrfCache {
    fn default() -> Self {
        Self::new()
    }
}

/// The reads of a TRF sequencer: one per cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrfReads {
    config: Config,
    base: usize,
    read_bytes: usize,
    count: u64,
}

impl TrfReads {
    /// The reads of `read_bytes` bytes (`reg_read_size`) at `base` plus the positions of `config`, whose strides are
    /// in bytes of a row.
    ///
    /// # Errors
    ///
    /// A size that is no `reg_read_size`; a base or a stride that is no multiple of it; addresses outside the TRF; more
    /// reads than can be counted.
    pub const fn new(config: Config, base: usize, read_bytes: usize) -> Result<Self, PlanError> {
        let mut k = 0;
        while k < REGISTER_READ_SIZES.len() && REGISTER_READ_SIZES[k] != read_bytes {
            k += 1;
        }
        if k == REGISTER_READ_SIZES.len() {
            let text = Text::new().str("TRF cache: a read of ").number(read_bytes);
            let text = text.str(" bytes, but `reg_read_size` is 1, 2, 4, 8, 16, 32 or 64");
            return Err(PlanError::new("reg_read_size", text.str("; help: use one of these sizes")));
        }
        if !base.is_multiple_of(read_bytes) {
            return Err(unaligned("address", base, read_bytes));
        }
        let (mut lowest, mut highest, mut count) = (base as i128, base as i128, 1u64);
        let mut k = 0;
        while k < config.entries.len() {
            let entry = config.entries.at(k);
            if !entry.stride.unsigned_abs().is_multiple_of(read_bytes) {
                return Err(unaligned("stride", entry.stride.unsigned_abs(), read_bytes));
            }
            let reach = (entry.size as i128 - 1) * entry.stride as i128;
            if reach < 0 {
                lowest += reach;
            } else {
                highest += reach;
            }
            count = match count.checked_mul(entry.size as u64) {
                Some(count) => count,
                None => {
                    let text =
                        Text::new().str("TRF cache: the sequencer makes more than ").number(usize::MAX);
                    let text = text.str(" reads; help: use fewer iterations");
                    return Err(PlanError::new("TRF reads", text));
                }
            };
            k += 1;
        }
        if count > 0 && (lowest < 0 || highest + read_bytes as i128 > TRF_BYTES as i128) {
            let text = Text::new().str("TRF cache: the sequencer leaves the ").number(TRF_BYTES);
            let text = text.str(" bytes of the TRF; help: use a smaller base or smaller strides");
            return Err(PlanError::new("TRF addresses", text));
        }
        Ok(Self { config, base, read_bytes, count })
    }

    /// The reads of a contraction.
    ///
    /// # Errors
    ///
    /// Those of [`TrfReads::new`]. A derived contraction has none.
    pub const fn of(contraction: &Contraction) -> Result<Self, PlanError> {
        let read_bytes = contraction.trf_config.packet_size * contraction.trf.element.bits() / 8;
        Self::new(contraction.trf_config, 0, read_bytes)
    }

    /// The number of reads.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Tells if a read is of both columns.
    const fn is_wide(&self) -> bool {
        self.read_bytes == MAC_BYTES
    }
}

const fn unaligned(what: &'static str, bytes: usize, read_bytes: usize) -> PlanError {
    let text = Text::new().str("TRF cache: ").str(what).str(" ").number(bytes);
    let text = text.str(" is no multiple of the ").number(read_bytes).str(" bytes of a read; help: ");
    PlanError::new("TRF alignment", text.str("align base and strides to the size of a read"))
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

/// Counts of reads, and of a store at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrfTraffic {
    /// Reads, one per cycle.
    pub reads: u64,
    /// Lines that were in the cache. A read of 64 bytes looks for two.
    pub hits: u64,
    /// Lines that were not in the cache.
    pub misses: u64,
    /// Reads that missed one or both of their lines.
    pub missing_reads: u64,
    /// Cycles in which each bank column was busy with a read.
    pub busy: [u64; 2],
    /// Lines that were stored.
    pub stores: u64,
    /// Cycles in which a line was ready and its column was busy.
    pub store_stalls: u64,
    /// The cycle after the one in which the last line was stored. 0 without a store.
    pub store_cycles: u64,
    /// Cycles until reads and store are done.
    pub cycles: u64,
}

impl TrfTraffic {
    /// Share of the reads that missed.
    pub fn miss_rate(&self) -> f64 {
        if self.reads == 0 { 0.0 } else { self.missing_reads as f64 / self.reads as f64 }
    }
}

impl fmt::Display for TrfTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, hits, misses, stores, store_stalls, cycles, .. } = self;
        write!(
            f,
            "{reads} reads, {hits} hits, {misses} misses; {stores} lines stored, {store_stalls} stalls; "
        )?;
        write!(f, "{cycles} cycles")
    }
}

/// State of a store.
#[derive(Debug)]
struct Storing {
    store: TrfStore,
    /// Lines of the row that are left, and rows after it.
    left: (usize, usize),
    /// The cycle from which the next line is ready.
    ready: u64,
    stored: u64,
    stalls: u64,
    end: u64,
}

impl Storing {
    fn new(store: TrfStore) -> Self {
        let rows = if store.lines_per_row == 0 { 0 } else { store.rows };
        let left = if rows == 0 { (0, 0) } else { (store.lines_per_row, rows - 1) };
        Self { store, left, ready: 0, stored: 0, stalls: 0, end: 0 }
    }

    /// The column of the next line. `None` after the last one.
    #[inline]
    fn column(&self) -> Option<usize> {
        (self.left.0 > 0).then(|| (self.store.lines_per_row - self.left.0) % TRF_COLUMNS)
    }

    /// Goes through a cycle in which the columns of `busy` are busy.
    #[inline]
    fn step(&mut self, cycle: u64, busy: [bool; 2]) {
        if self.ready > cycle {
            return;
        }
        if let Some(column) = self.column() {
            if busy[column] {
                self.stalls += 1;
            } else {
                self.put(cycle);
            }
        }
    }

    fn put(&mut self, cycle: u64) {
        self.stored += 1;
        self.end = cycle + 1;
        self.ready = cycle + self.store.period.max(1) as u64;
        self.left.0 -= 1;
        if self.left.0 == 0 && self.left.1 > 0 {
            self.left = (self.store.lines_per_row, self.left.1 - 1);
        }
    }

    /// Goes through cycles in which no column is busy.
    fn free(&mut self, cycles: core::ops::Range<u64>) {
        while self.left.0 > 0 && self.ready.max(cycles.start) < cycles.end {
            self.put(self.ready.max(cycles.start));
        }
    }
}

/// Counts the hits and misses of a sequencer's reads, and the stalls of a store that starts in the same cycle.
///
/// ```
/// use furiosa_visa_std::clock::trf_cache::{TrfReads, trf_traffic};
/// use furiosa_visa_std::sequencer::{Config, Entry};
/// // 100 sweeps over 12 lines of 32 bytes: more than the 8 that the cache holds.
/// let mut config = Config::new(32);
/// config.entries.push(Entry { size: 100, stride: 0 });
/// config.entries.push(Entry { size: 12, stride: 32 });
/// let traffic = trf_traffic(&TrfReads::new(config, 0, 32)?, None);
/// assert_eq!((traffic.reads, traffic.misses), (1200, 12 + 99 * 2 * (12 - 8)));
/// # Ok::<(), furiosa_visa_std::PlanError>(())
/// ```
pub fn trf_traffic(reads: &TrfReads, store: Option<TrfStore>) -> TrfTraffic {
    let mut sweep = Sweep::new(store);
    if reads.is_wide() {
        sweep.run::<true>(reads);
    } else {
        sweep.run::<false>(reads);
    }
    sweep.end(reads)
}

/// State of the reads.
#[derive(Debug)]
struct Sweep {
    cache: TrfCache,
    traffic: TrfTraffic,
    storing: Storing,
    cycle: u64,
}

impl Sweep {
    fn new(store: Option<TrfStore>) -> Self {
        let storing = Storing::new(store.unwrap_or(TrfStore { rows: 0, lines_per_row: 0, period: 1 }));
        Self { cache: TrfCache::new(), traffic: TrfTraffic::default(), storing, cycle: 0 }
    }

    /// The counts after all reads.
    fn end(self, reads: &TrfReads) -> TrfTraffic {
        let Self { mut traffic, mut storing, .. } = self;
        storing.free(reads.count..u64::MAX);
        traffic.reads = reads.count;
        traffic.misses = traffic.busy[0] + traffic.busy[1];
        traffic.hits = if reads.is_wide() { 2 } else { 1 } * reads.count - traffic.misses;
        traffic.stores = storing.stored;
        traffic.store_stalls = storing.stalls;
        traffic.store_cycles = storing.end;
        traffic.cycles = reads.count.max(storing.end);
        traffic
    }

    /// Makes one read. `WIDE`: of both columns.
    #[inline]
    fn read<const WIDE: bool>(&mut self, address: isize) {
        // The addresses have been checked to be inside the TRF.
        let line = address as usize / TRF_LINE_BYTES;
        let mut busy = [false; 2];
        if WIDE {
            busy = [self.cache.read(line), self.cache.read(line + 1)];
        } else {
            busy[line % TRF_COLUMNS] = self.cache.read(line);
        }
        self.traffic.busy[0] += u64::from(busy[0]);
        self.traffic.busy[1] += u64::from(busy[1]);
        self.traffic.missing_reads += u64::from(busy[0] | busy[1]);
        self.storing.step(self.cycle, busy);
        self.cycle += 1;
    }

    /// Makes all reads, in order.
    fn run<const WIDE: bool>(&mut self, reads: &TrfReads) {
        if reads.count > 0 {
            self.sweep::<WIDE>(reads.config.entries.as_slice(), reads.base as isize);
        }
    }

    /// Makes the reads of some loops, outermost first. If an iteration of a loop without a stride leaves cache and
    /// store as it found them, the iterations after it are equal: they are counted, not run.
    fn sweep<const WIDE: bool>(&mut self, loops: &[Entry], start: isize) {
        match loops {
            [] => self.read::<WIDE>(start),
            [inner] if inner.stride == 0 => {
                // After the first read the others hit, and both columns are free.
                self.read::<WIDE>(start);
                let end = self.cycle + inner.size as u64 - 1;
                self.storing.free(self.cycle..end);
                self.cycle = end;
            }
            [outer, inner @ ..] if outer.stride != 0 => {
                (0..outer.size as isize).for_each(|k| self.sweep::<WIDE>(inner, start + k * outer.stride));
            }
            [outer, inner @ ..] => {
                for k in 0..outer.size {
                    let before = (self.cache.clone(), self.storing.left, self.storing.ready, self.cycle);
                    let (traffic, stalls) = (self.traffic, self.storing.stalls);
                    self.sweep::<WIDE>(inner, start);
                    let waits = self.storing.left.0 == 0 || before.2 <= before.3;
                    let same = (&before.0, before.1) == (&self.cache, self.storing.left);
                    if same && waits {
                        let times = (outer.size - 1 - k) as u64;
                        let busy = [0, 1].map(|column| self.traffic.busy[column] - traffic.busy[column]);
                        self.traffic.busy[0] += times * busy[0];
                        self.traffic.busy[1] += times * busy[1];
                        self.traffic.missing_reads +=
                            times * (self.traffic.missing_reads - traffic.missing_reads);
                        self.storing.stalls += times * (self.storing.stalls - stalls);
                        self.cycle += times * (self.cycle - before.3);
                        break;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::sequencer::walk::Walk;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    fn config(entries: &[(usize, isize)]) -> Config {
        let mut config = Config::new(1);
        entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        config
    }

    #[track_caller]
    fn traffic(entries: &[(usize, isize)], read_bytes: usize, store: Option<TrfStore>) -> TrfTraffic {
        trf_traffic(&TrfReads::new(config(entries), 0, read_bytes).expect("inside of the TRF"), store)
    }

    /// Loops that stay in place repeat their counts, with and without a store beside them, however long they are.
    #[test]
    fn long_sweeps_are_counted() {
        for lines in [1, 5, 8, 12, 40] {
            for store in [None, Some(TrfStore { rows: 8, lines_per_row: 16, period: 4 })] {
                let of = |sweeps: usize| traffic(&[(sweeps, 0), (lines, 32)], 32, store);
                let (some, more) = (of(4000), of(8000));
                let long = of(1 << 40);
                let times = ((1u64 << 40) - 8000) / 4000;
                let grown = |from: u64, to: u64| to + (to - from) * times;
                let rest = ((1u64 << 40) - 8000) % 4000;
                let per_sweep = (more.misses - some.misses) / 4000;
                assert_eq!(
                    long.misses,
                    grown(some.misses, more.misses) + rest * per_sweep,
                    "{lines} {store:?}"
                );
                assert_eq!((long.reads, long.stores), ((1 << 40) * lines as u64, more.stores));
                assert_eq!(long.store_stalls, more.store_stalls, "{lines} {store:?}");
            }
        }
    }

    /// Makes every read by itself, in order.
    fn read_by_read(reads: &TrfReads, store: Option<TrfStore>) -> TrfTraffic {
        let mut sweep = Sweep::new(store);
        for address in Walk::new(&reads.config).positions(0..reads.count as usize, 1) {
            let address = address as isize + reads.base as isize;
            if reads.is_wide() {
                sweep.read::<true>(address);
            } else {
                sweep.read::<false>(address);
            }
        }
        sweep.end(reads)
    }

    /// The counts of loops that stay in place are those of single reads, in every number.
    #[test]
    fn counted_sweeps_are_those_of_single_reads() {
        let mut random = SmallRng::seed_from_u64(21);
        let (mut stored, mut long, mut mixed) = (0, 0, 0);
        while stored < 400 || long < 400 || mixed < 200 {
            let read_bytes = [8, 32, 64][random.random_range(0..3)];
            let entries: Vec<_> = (0..random.random_range(1..5))
                .map(|_| match random.random_range(0..3) {
                    0 => (random.random_range(1..200), 0),
                    _ => (
                        random.random_range(1..12),
                        [1, 2, 3, 8][random.random_range(0..4)] * read_bytes as isize,
                    ),
                })
                .collect();
            let Ok(reads) = TrfReads::new(config(&entries), 0, read_bytes) else { continue };
            if reads.count > 100_000 {
                continue;
            }
            let store = (random.random_range(0..3) > 0).then(|| TrfStore {
                rows: random.random_range(1..9),
                lines_per_row: random.random_range(1..60),
                period: random.random_range(1..6),
            });
            let found = trf_traffic(&reads, store);
            assert_eq!(found, read_by_read(&reads, store), "{entries:?} of {read_bytes} bytes, {store:?}");
            stored += usize::from(store.is_some());
            let stays = |&(size, stride): &(usize, isize)| stride == 0 && size > 2;
            long += usize::from(entries.split_last().is_some_and(|(_, outer)| outer.iter().any(stays)));
            mixed += usize::from(found.hits > 0 && found.misses > 20 && found.store_stalls > 0);
        }
    }

    /// The first sweep misses `n` lines, later ones 0, `2 (n - 8)` or `n`.
    #[test]
    fn cyclic_sweeps() {
        for lines in 1..=40u64 {
            for sweeps in [1u64, 2, 5] {
                let entries = [(sweeps as usize, 0), (lines as usize, 32)];
                let later = match lines {
                    0..=8 => 0,
                    9..=15 => 2 * (lines - 8),
                    _ => lines,
                };
                let found = traffic(&entries, 32, None);
                let misses = lines + (sweeps - 1) * later;
                assert_eq!((found.reads, found.misses), (sweeps * lines, misses), "{lines} lines");
                assert_eq!((found.hits, found.missing_reads), (sweeps * lines - misses, misses));
                assert_eq!(found.cycles, found.reads, "reads never wait");
                // Reads of 8 bytes find a line four times in a row.
                let narrow = traffic(&[(sweeps as usize, 0), (lines as usize * 4, 8)], 8, None);
                assert_eq!((narrow.reads, narrow.misses), (4 * sweeps * lines, misses));
                if lines.is_multiple_of(2) {
                    let wide = traffic(&[(sweeps as usize, 0), (lines as usize / 2, 64)], 64, None);
                    assert_eq!((wide.misses, wide.missing_reads), (misses, misses / 2), "{lines} lines");
                    assert_eq!(wide.busy, [misses / 2; 2]);
                }
            }
        }
    }

    /// Broadcasts inside the loops that advance cost nothing; outside they repeat the misses.
    #[test]
    fn broadcasts_belong_inside() {
        assert_eq!(traffic(&[(64, 32), (1000, 0)], 32, None).misses, 64);
        assert_eq!(traffic(&[(1000, 0), (64, 32)], 32, None).misses, 64_000);
        assert_eq!(traffic(&[(1000, 0), (8, 32)], 32, None).misses, 8);
    }

    const STORE: TrfStore = TrfStore { rows: 8, lines_per_row: 16, period: 1 };

    /// Reads of one column at a time leave the other one to the store, as long as they alternate.
    #[test]
    fn alternating_columns_interleave() {
        let busy = |stride: isize| traffic(&[(4, 0), (256, stride)], 32, Some(STORE));
        for stride in [32, 96, 160] {
            let found = busy(stride);
            assert_eq!((found.misses, found.reads), (1024, 1024), "every read misses");
            // The first line meets the first read on column 0; from then on they alternate.
            assert_eq!((found.store_stalls, found.store_cycles), (1, 129), "stride {stride}");
            assert_eq!(found.busy, [512, 512]);
        }
        // On column 0 all the time: the lines of column 0 wait until the reads are done.
        let found = busy(64);
        assert_eq!((found.busy, found.store_stalls), ([1024, 0], 1024));
        assert_eq!((found.store_cycles, found.cycles), (1024 + 128, 1024 + 128));
    }

    /// Reads of 64 bytes block both columns while they miss: the store gets the cycles of the hits.
    #[test]
    fn wide_misses_block_the_store() {
        let never = traffic(&[(1, 0), (4, 64), (64, 0)], 64, Some(STORE));
        assert_eq!((never.missing_reads, never.store_stalls, never.store_cycles), (4, 3, 131));
        let always = traffic(&[(16, 0), (64, 64)], 64, Some(STORE));
        assert_eq!((always.missing_reads, always.store_stalls), (1024, 1024));
        assert_eq!(always.store_cycles, 1024 + 128);
        // Every second read hits.
        let half = traffic(&[(512, 64), (2, 0)], 64, Some(STORE));
        assert_eq!((half.miss_rate(), half.store_stalls, half.store_cycles), (0.5, 128, 256));
    }

    /// 8 bytes per cycle make a line every fourth cycle.
    #[test]
    fn slow_stores_wait_for_their_data() {
        let slow = TrfStore { period: 4, ..STORE };
        let idle = traffic(&[], 32, Some(slow));
        assert_eq!((idle.reads, idle.stores, idle.store_stalls), (1, 128, 1));
        assert_eq!(idle.store_cycles, 1 + 127 * 4 + 1);
        let odd = TrfStore { rows: 3, lines_per_row: 3, period: 1 };
        // Columns 0 1 0, 0 1 0, 0 1 0 beside reads of column 1, 0, 1, 0, …
        let reads = TrfReads::new(config(&[(256, 32)]), 32, 32).expect("inside of the TRF");
        let found = trf_traffic(&reads, Some(odd));
        assert_eq!((found.stores, found.store_stalls, found.store_cycles), (9, 2, 11));
    }

    #[test]
    fn empty_streams() {
        assert_eq!(traffic(&[], 64, None).misses, 2);
        let nothing = traffic(&[(0, 32)], 32, Some(TrfStore { lines_per_row: 0, ..STORE }));
        assert_eq!(nothing, TrfTraffic::default());
        assert_eq!(traffic(&[(0, 32)], 32, Some(STORE)).cycles, 128);
        assert_eq!(nothing.miss_rate(), 0.0);
    }

    #[test]
    fn reads_stay_aligned_and_inside() {
        let new = |entries: &[(usize, isize)], base, bytes| TrfReads::new(config(entries), base, bytes);
        assert!(new(&[(1024, 64)], 0, 64).is_ok());
        assert!(new(&[(1024, -64)], 65_536 - 64, 64).is_ok());
        let refused = [
            (new(&[(4, 64)], 0, 48), "a read of 48 bytes"),
            (new(&[(4, 64)], 32, 64), "address 32 is no multiple of the 64 bytes"),
            (new(&[(4, 96)], 0, 64), "stride 96 is no multiple of the 64 bytes"),
            (new(&[(1025, 64)], 0, 64), "leaves the 65536 bytes"),
            (new(&[(2, -64)], 0, 64), "leaves the 65536 bytes"),
            (new(&[(1 << 40, 0), (1 << 40, 0)], 0, 64), "more than 18446744073709551615 reads"),
        ];
        for (result, part) in refused {
            let error = result.expect_err(part);
            assert!(error.message().contains(part) && error.message().contains("; help: "), "{error}");
        }
    }

    #[test]
    fn a_report_line() {
        let found = traffic(&[(2, 0), (4, 64)], 64, Some(TrfStore { rows: 1, lines_per_row: 2, period: 1 }));
        assert_eq!(found.to_string(), "8 reads, 8 hits, 8 misses; 2 lines stored, 4 stalls; 8 cycles");
    }
}
