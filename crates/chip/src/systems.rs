//! The systems of the process: their numbers and the places that made them, for messages about two systems.

use core::panic::Location;
use furiosa_visa_rules::command::FillId;
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// All systems so far.
#[derive(Debug, Default)]
struct Systems {
    count: u64,
    /// Places that made systems: each made the systems from its number on, up to the number of the next entry.
    places: Vec<(u64, &'static Location<'static>)>,
    /// Numbers of the systems that have not ended.
    living: HashSet<u64>,
}

static SYSTEMS: LazyLock<Mutex<Systems>> = LazyLock::new(Mutex::default);

fn lock() -> MutexGuard<'static, Systems> {
    SYSTEMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a system of the process. The system counts as living until this value is dropped.
#[derive(Debug)]
pub(crate) struct SystemNumber(u64);

impl SystemNumber {
    /// A number that no other system of the process has: 1, 2, …
    pub(crate) fn new(location: &'static Location<'static>) -> Self {
        let mut systems = lock();
        systems.count += 1;
        let number = systems.count;
        assert!(number <= FillId::SYSTEMS, "a process makes at most {} systems", FillId::SYSTEMS);
        if systems.places.last().is_none_or(|&(_, last)| last != location) {
            systems.places.push((number, location));
        }
        systems.living.insert(number);
        Self(number)
    }

    pub(crate) fn get(&self) -> u64 {
        self.0
    }
}

impl Drop for SystemNumber {
    fn drop(&mut self) {
        lock().living.remove(&self.0);
    }
}

/// Facts about a system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Place that made it. `None`: there was no such system.
    pub(crate) made: Option<&'static Location<'static>>,
    /// True if it has not ended.
    pub(crate) lives: bool,
}

/// Facts about the system with this number.
pub(crate) fn known(number: u64) -> Known {
    let systems = lock();
    let after = systems.places.partition_point(|&(first, _)| first <= number);
    let made = after.checked_sub(1).map(|at| systems.places[at].1).filter(|_| number <= systems.count);
    Known { made, lives: systems.living.contains(&number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_known_by_number_also_when_they_have_ended() {
        let (first, here) = (SystemNumber::new(Location::caller()), Location::caller());
        let (there, second) = (Location::caller(), SystemNumber::new(Location::caller()));
        let (a, b) = (first.get(), second.get());
        assert_ne!(a, b);
        let line = |number| known(number).made.map(Location::line);
        assert_eq!((line(a), line(b)), (Some(here.line()), Some(there.line())));
        drop(first);
        assert_eq!((known(a).lives, known(b).lives), (false, true));
        assert_eq!(line(a), Some(here.line()));
        assert!(known(FillId::SYSTEMS).made.is_none());
    }
}
