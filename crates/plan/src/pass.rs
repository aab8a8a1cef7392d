//! Work of a search on several threads, with the same results for any number of them; and what a search tells meanwhile.

use crate::bound::{Rates, of_choice};
use crate::choice::Choice;
use crate::problem::Problem;
use crate::schedule::Schedule;
use crate::search::Search;
use crate::space::{Look, for_each_of};
use core::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Sets of extents between two looks at the time and at the watch.
const UNWATCHED: u64 = 64;

/// Progress of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Choices that this pass over the space has looked at.
    pub choices: u64,
    /// Choices that were derived.
    pub derived: u64,
    /// Choices that the clock ran.
    pub priced: u64,
    /// Cycles of the best plan so far.
    pub best: Option<u64>,
}

/// Looks at the progress of a search, often, on any thread that the search uses. `false` ends the search: the answer is the
/// best plan so far, with its gap.
#[derive(Clone, Copy)]
pub struct Watch<'a>(pub &'a (dyn Fn(&Progress) -> bool + Sync));

impl core::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Watch")
    }
}

/// The watch of a search that runs, and what it has said.
#[derive(Debug)]
pub struct Watched<'a> {
    watch: Option<Watch<'a>>,
    is_stopped: AtomicBool,
}

impl<'a> Watched<'a> {
    /// A search that nobody has stopped.
    pub fn new(watch: Option<Watch<'a>>) -> Self {
        Self { watch, is_stopped: AtomicBool::new(false) }
    }

    /// Tells the watch how far the search is.
    pub fn tell(&self, progress: &Progress) {
        if self.watch.is_some_and(|watch| !watch.0(progress)) {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Tells if the watch has ended the search.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// Does a part of some work on each of several threads. The results are in the order of the threads.
pub fn in_threads<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut all = vec![work(0)];
        for other in others {
            match other.join() {
                Ok(part) => all.push(part),
                Err(panic) => resume_unwind(panic),
            }
        }
        all
    })
}

/// Does some work for each of `items` on as many threads as there are `tools`, each thread with a tool of its own. The results
/// are in the order of the items.
pub fn each_in_threads<Tool: Send, Item: Sync, T: Send>(
    tools: &[Mutex<Tool>],
    items: &[Item],
    work: impl Fn(&mut Tool, &Item) -> T + Sync,
) -> Vec<T> {
    let threads = tools.len().min(items.len()).max(1);
    let parts = in_threads(threads, |thread| {
        let mut tool = tools[thread].lock().unwrap_or_else(PoisonError::into_inner);
        items.iter().skip(thread).step_by(threads).map(|item| work(&mut tool, item)).collect::<Vec<_>>()
    });
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    (0..items.len()).filter_map(|number| parts[number % threads].next()).collect()
}

/// Findings of a pass over all choices.
#[derive(Debug)]
pub struct Pass<T> {
    /// Things that each thread keeps.
    pub parts: Vec<T>,
    /// Number of sets of extents.
    pub extents: u64,
    /// Number of those whose choices were not looked at.
    pub skipped: u64,
    /// Number of choices of the others.
    pub choices: u64,
    /// Number of those whose buffers fit.
    pub fitting: u64,
    /// True if it went over all of them, and was not ended before.
    pub is_whole: bool,
}

/// Part of the space that a pass goes over.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// One set of extents of so many is looked at.
    pub every: u64,
    /// Time at which the pass ends, wherever it is.
    pub end: Option<Instant>,
}

/// Gives every choice that fits, with its bound, to what one of the threads keeps: `new` makes it, `keep` tells if it needs
/// the choices of some extents, and `take` adds a choice. Which thread gets a choice depends on the number of threads. It
/// ends early when the watch says so.
pub fn pass<T: Send>(
    problem: &Problem,
    search: &Search<'_>,
    (rates, watched, reach): (&Rates, &Watched<'_>, Reach),
    new: impl Fn() -> T + Sync,
    keep: impl Fn(&T, &Choice) -> bool + Sync,
    take: impl Fn(&mut T, u64, &Choice) + Sync,
) -> Pass<T> {
    let threads = search.threads.max(1);
    // All threads see a search that was stopped before.
    watched.tell(&Progress::default());
    let gone = AtomicU64::new(0);
    // Each thread makes all extents, which takes far less time than the choices that they have.
    let parts = in_threads(threads, |thread| {
        let own = RefCell::new(Pass {
            parts: vec![new()],
            extents: 0,
            skipped: 0,
            choices: 0,
            fitting: 0,
            is_whole: true,
        });
        let mut told = 0;
        let mut look = |choice: &Choice| {
            let own = &mut *own.borrow_mut();
            let extents = own.extents;
            own.extents += 1;
            let number = extents / reach.every;
            if !extents.is_multiple_of(reach.every) || number % threads as u64 != thread as u64 {
                return Look::Past;
            }
            if (number / threads as u64).is_multiple_of(UNWATCHED) {
                let choices = gone.fetch_add(own.choices - told, Ordering::Relaxed) + own.choices - told;
                told = own.choices;
                if thread == 0 {
                    watched.tell(&Progress { choices, ..Progress::default() });
                }
                own.is_whole = !watched.is_stopped() && reach.end.is_none_or(|end| Instant::now() < end);
                if !own.is_whole {
                    return Look::End;
                }
            }
            let is_kept = keep(&own.parts[0], choice);
            own.skipped += u64::from(!is_kept);
            if is_kept { Look::At } else { Look::Past }
        };
        for_each_of(problem, (search.weights, search.fixed), &mut look, &mut |choice| {
            let own = &mut *own.borrow_mut();
            own.choices += 1;
            let Some(schedule) = Schedule::new(problem, choice) else { return };
            own.fitting += 1;
            take(&mut own.parts[0], of_choice(problem, choice, &schedule, rates).cycles(), choice);
        });
        own.into_inner()
    });
    let mut all = Pass { parts: Vec::new(), extents: 0, skipped: 0, choices: 0, fitting: 0, is_whole: true };
    for own in parts {
        all.parts.extend(own.parts);
        all.extents = own.extents;
        all.skipped += own.skipped;
        all.choices += own.choices;
        all.fitting += own.fitting;
        all.is_whole &= own.is_whole;
    }
    all
}
