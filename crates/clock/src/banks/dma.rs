//! DMA at the banks: a DMA engine, the paths of its two DMNs, and the queues of their slices.
//!
//! ```text
//!   engine ──1 request per cycle, in order──┬─▶ path of DMN 0 ─128 B/cycle─▶ 32 slices, queues of 2 ─▶ 16 banks
//!                                           └─▶ path of DMN 1 ─128 B/cycle─▶ 32 slices, queues of 2 ─▶ 16 banks
//! ```
//!
//! DMA has the lowest priority, so it never changes the work of the Tensor Unit, and slices do not affect each other: a
//! request is followed from its issue to its last beat at once, without stepping the others.

use super::address::{ALL_BANKS, BankMask};
use super::occupancy::Occupancy;
use super::report::{CycleRun, DmaReport, EngineReport, NocTimeout, Starvation};
use super::timeline::{Cursor, Timeline, UNIT_REQUESTERS};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec::{
    DM_BANK_RUN_ACCESSES, DM_BANKS, DMA_ENGINE_DMNS, DMA_REQUEST_BYTES, DMN_BYTES_PER_CYCLE, DMN_SLICES,
    NOC_TIMEOUT_CYCLES, PE_SLICES, SLICE_DMA_QUEUE_REQUESTS,
};
use furiosa_visa_rules::text::Text;

/// Maximum number of beats of a request.
const REQUEST_BEATS: usize = DMA_REQUEST_BYTES.div_ceil(DMN_BYTES_PER_CYCLE);

/// Length of a run of busy cycles of a bank that is too long together with an access of DMA.
const RISKY_RUN_CYCLES: u8 = DM_BANK_RUN_ACCESSES as u8;
const _: () = assert!(RISKY_RUN_CYCLES as u64 == DM_BANK_RUN_ACCESSES);

/// A read or a write of the data memory by a DMA engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaRequest {
    arrival_cycle: u64,
    slice: u16,
    beats: u16,
}

impl DmaRequest {
    /// A request of `bytes` bytes in a slice of the engine, 0 to 63, that the engine has from `arrival_cycle` on.
    ///
    /// # Errors
    ///
    /// A slice that the engine does not serve; no bytes, or more than 256.
    pub const fn new(arrival_cycle: u64, slice: usize, bytes: usize) -> Result<Self, PlanError> {
        if slice >= PE_SLICES {
            let text = Text::new().str("DMA: slice ").number(slice).str(" of an engine, but it serves ");
            let text = text.number(PE_SLICES).str("; help: count slices from the first one of its PE");
            return Err(PlanError::new("DMA slice", text));
        }
        if bytes == 0 || bytes > DMA_REQUEST_BYTES {
            let text =
                Text::new().str("DMA: a request of ").count(bytes, "byte").str(", but requests have 1 to ");
            let text = text.number(DMA_REQUEST_BYTES).str(" bytes; help: split it");
            return Err(PlanError::new("DMA request", text));
        }
        let beats = bytes.div_ceil(DMN_BYTES_PER_CYCLE) as u16;
        Ok(Self { arrival_cycle, slice: slice as u16, beats })
    }
}

/// A request in a slice.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    /// The cycle after its last grant: its place in the queue is free.
    end: u64,
    /// The first cycle of each beat at the banks. Beats that the request does not have never begin.
    begins: [u64; REQUEST_BEATS],
}

/// The last requests of a slice, oldest first. Others left the queue before these.
type Queue = [Served; SLICE_DMA_QUEUE_REQUESTS];

/// Observations of DMA, over all engines.
struct Witness<'a> {
    timeline: &'a Timeline,
    /// The first cycle in which DMA is active.
    active_from: u64,
    /// Banks with runs that may be too long together with an access of DMA.
    risky: BankMask,
    /// The longest run of each bank that ends with an access of DMA.
    longest: [CycleRun; DM_BANKS],
    timeout: Option<NocTimeout>,
}

impl Witness<'_> {
    /// Records that DMA was granted `banks` in `cycle`.
    #[inline]
    fn granted(&mut self, cycle: u64, banks: BankMask) {
        let mut risky = banks & self.risky;
        while risky != 0 {
            let bank = risky.trailing_zeros() as usize;
            risky &= risky - 1;
            let before = self.timeline.run_before(bank, cycle, self.active_from);
            let run = CycleRun { start_cycle: cycle - before, cycles: before + 1 };
            self.longest[bank] = self.longest[bank].or_longer(run);
        }
    }
}

/// A DMA engine and its slices.
struct EngineState {
    report: EngineReport,
    next_issue: u64,
    /// The cycle after the last grant.
    end: u64,
    path_free: [u64; DMA_ENGINE_DMNS],
    queues: Vec<Queue>,
    cursor: Cursor,
}

impl EngineState {
    fn new() -> Self {
        let queues = vec![Queue::default(); PE_SLICES];
        Self {
            report: EngineReport::default(),
            next_issue: 0,
            end: 0,
            path_free: [0; DMA_ENGINE_DMNS],
            queues,
            cursor: Cursor::default(),
        }
    }

    /// Issues a request and follows it to its end. Returns its issue and the cycle of its last grant.
    #[inline]
    fn issue(&mut self, request: DmaRequest, witness: &mut Witness) -> (u64, u64) {
        let slice = usize::from(request.slice);
        let (path, queue) = (&mut self.path_free[slice / DMN_SLICES], &mut self.queues[slice]);
        let report = &mut self.report;
        let ready = request.arrival_cycle.max(self.next_issue);
        let on_path = ready.max(*path);
        let issue = on_path.max(queue[0].end);
        report.path_stall_cycles += on_path - ready;
        report.queue_stall_cycles += issue - on_path;
        self.next_issue = issue + 1;
        *path = issue + u64::from(request.beats);

        let mut served =
            Served { end: queue[SLICE_DMA_QUEUE_REQUESTS - 1].end, begins: [u64::MAX; REQUEST_BEATS] };
        let (risky, timeline) = (witness.risky != 0, witness.timeline);
        for beat in 0..usize::from(request.beats) {
            let begin = served.end.max(issue + beat as u64);
            served.begins[beat] = begin;
            let last = if risky {
                let granted = |cycle, banks| witness.granted(cycle, banks);
                timeline.serve(begin, &mut self.cursor, &mut report.bank_stall_cycles, granted)
            } else {
                timeline.serve_quickly(begin, &mut self.cursor, &mut report.bank_stall_cycles)
            };
            served.end = last + 1;
        }
        queue.rotate_left(1);
        queue[SLICE_DMA_QUEUE_REQUESTS - 1] = served;
        report.beats += u64::from(request.beats);
        self.end = self.end.max(served.end);
        (issue, served.end - 1)
    }

    /// The lowest bank that a slice asks for in a cycle in which it has a request.
    fn asked_bank(&self, slice: usize, cycle: u64, timeline: &Timeline) -> usize {
        let begins = self.queues[slice].iter().flat_map(|served| served.begins);
        let begin = begins.filter(|&begin| begin <= cycle).max().unwrap_or(cycle);
        let mut lacking = ALL_BANKS;
        let granted = |at, banks: BankMask| {
            if at < cycle {
                lacking &= !banks;
            }
        };
        timeline.serve(begin, &mut Cursor::default(), &mut [0; UNIT_REQUESTERS], granted);
        lacking.trailing_zeros() as usize
    }
}

impl Occupancy {
    /// Serves the requests of DMA engines, each in its order, beside the accesses of the Tensor Unit.
    ///
    /// An engine serves the 64 slices of a PE; all PEs see the same Tensor Unit, so engines with equal requests get
    /// equal results and are served once. A request that is not answered in time and banks that starve DMA are part of
    /// the report.
    pub fn serve_dma<E: AsRef<[DmaRequest]>>(&self, engines: &[E]) -> DmaReport {
        let mut report = DmaReport::default();
        let arrivals = engines.iter().filter_map(|engine| engine.as_ref().first());
        let Some(active_from) = arrivals.map(|request| request.arrival_cycle).min() else {
            report.engines.resize(engines.len(), EngineReport::default());
            return report;
        };
        let mut witness = Witness {
            timeline: &self.timeline,
            active_from,
            risky: self.timeline.banks_with_runs(RISKY_RUN_CYCLES),
            longest: [CycleRun::default(); DM_BANKS],
            timeout: None,
        };
        for (number, requests) in engines.iter().map(E::as_ref).enumerate() {
            let equal = engines[..number].iter().position(|earlier| earlier.as_ref() == requests);
            report.engines.push(match equal {
                Some(equal) => report.engines[equal],
                None => serve_engine(number, requests, &mut witness),
            });
        }
        report.timeout = witness.timeout;
        if witness.risky != 0 {
            let alone = self.timeline.longest_runs(active_from..report.end_cycle());
            let runs =
                witness.longest.into_iter().zip(alone).map(|(with_dma, alone)| with_dma.or_longer(alone));
            let starving = runs.enumerate().filter(|(_, run)| run.cycles > DM_BANK_RUN_ACCESSES);
            report.starvations.extend(starving.map(|(bank, run)| {
                let cycles = run.start_cycle..run.start_cycle + run.cycles;
                Starvation { bank, accesses: run.cycles, cycles }
            }));
        }
        report
    }
}

fn serve_engine(number: usize, requests: &[DmaRequest], witness: &mut Witness) -> EngineReport {
    let mut engine = EngineState::new();
    for (k, &request) in requests.iter().enumerate() {
        let (issue_cycle, last) = engine.issue(request, witness);
        let cycle = issue_cycle + NOC_TIMEOUT_CYCLES + 1;
        if last >= cycle && witness.timeout.is_none_or(|earlier| cycle < earlier.cycle) {
            let slice = usize::from(request.slice);
            let bank = engine.asked_bank(slice, cycle - 1, witness.timeline);
            let request = k as u64;
            witness.timeout = Some(NocTimeout { engine: number, request, slice, bank, issue_cycle, cycle });
        }
    }
    let last_grant_cycle = engine.end.checked_sub(1);
    EngineReport { requests: requests.len() as u64, last_grant_cycle, ..engine.report }
}
