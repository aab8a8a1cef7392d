//! Runs of programs again, and transfers in other runs.

use super::transfer::{Alike, Spread, TIMED_ADDRESSES};
use furiosa_visa_clock::cost::Profile;
use furiosa_visa_clock::dma::Engine;
use furiosa_visa_clock::dma_timing::DmaClock;
use furiosa_visa_clock::numbers::Model;

fn spread(to_hbm: bool) -> Spread {
    let engines = (0..4).map(|pe| Engine { chip: 0, cluster: 0, pe }).collect();
    let (request, contiguous) = (64, 1 << 20);
    Spread {
        to_hbm,
        engines,
        slices: 64,
        networks: 2,
        bytes: 4096,
        copies: 1,
        copied_inside: false,
        request,
        run: request,
        contiguous,
        pitch: contiguous,
        bases: (1 << 30, 8192),
    }
}

/// Longer runs are never slower, up to units of HBM; a write of whole units takes as long as a read.
#[test]
fn longer_runs_are_faster() {
    for profile in [Profile::Book, Profile::Detailed] {
        let mut clock = DmaClock::new(Model::new(profile));
        let mut cycles = |spread: &Spread, run| spread.cycles(run, &mut clock).expect("it has an even form");
        let [read, write] = [false, true].map(spread);
        let reads = [64, 128, 256].map(|run| cycles(&read, run));
        let writes = [64, 128, 256].map(|run| cycles(&write, run));
        assert!(
            reads.is_sorted_by(|a, b| a > b) && writes.is_sorted_by(|a, b| a >= b),
            "{reads:?} {writes:?}"
        );
        assert_eq!(reads[2], writes[2], "{profile}");
        assert!(writes[0] > 20 * writes[2], "parts of units are read, changed and written");
    }
}

#[test]
fn what_has_no_even_form_is_not_timed() {
    let mut clock = DmaClock::new(Model::new(Profile::Detailed));
    let load = spread(false);
    assert_eq!(load.cycles(0, &mut clock), None);
    // 3 of 64 slices with separate bytes: no loop of slices repeats them.
    assert_eq!(Spread { copies: 256 / 3, ..load.clone() }.cycles(256, &mut clock), None);
    let end = furiosa_visa_rules::spec::HBM_BYTES - 4096;
    assert_eq!(Spread { bases: (end, 0), ..load.clone() }.cycles(256, &mut clock), None);
    // All slices share the same bytes, or those of an engine do.
    for copies in [256, 64, 4] {
        let shared = Spread { copies, ..load.clone() };
        assert!(shared.cycles(256, &mut clock).is_some(), "{copies}");
    }
}

/// A few of the transfers at many addresses are timed. Transfers that start elsewhere in a unit are others.
#[test]
fn a_few_addresses_stand_for_many() {
    let (mut alike, store) = (Alike::default(), spread(true));
    let mut at = |hbm: u64, dm: u64| {
        let bases = (store.bases.0 + hbm, store.bases.1 + dm);
        alike.of(Spread { bases, ..store.clone() }).bases.0 - store.bases.0
    };
    let expected = |k: usize| if k < TIMED_ADDRESSES { 4096 * k as u64 } else { 0 };
    // Twice: a transfer that is timed still stands for itself.
    for k in (0..100).chain(0..100) {
        assert_eq!(at(4096 * k as u64, 8 * k as u64), expected(k), "{k}");
    }
    assert_eq!((at(4096 * 99 + 128, 0), at(4096 * 99, 4)), (4096 * 99 + 128, 4096 * 99));
    let other = Spread { request: 32, bases: (0, 0), ..store };
    assert_eq!(alike.of(other.clone()), other);
}
