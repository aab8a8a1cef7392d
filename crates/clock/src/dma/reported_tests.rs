//! Moves by hand, at rates that users of chips report. The sums are written out: the rates are those of the test.

use super::worked_examples::{bytes, derived, fast};
use super::*;
use furiosa_visa_rules::command::Memory::{Dm, Hbm};

const RATES: DmaRates =
    DmaRates { same_medium: SameMedium::Sum, dmn_access_ticks: 4, copy_ticks: Some(30), index_ticks: 1200 };

/// Data ticks of a move, without its start of 500 cycles.
fn data(dma: &furiosa_visa_rules::command::Dma, rates: DmaRates) -> u64 {
    let operation = derived(dma, &DmaOptions::default());
    let time = time(&operation, rates, &mut fast);
    time.ticks - 1500
}

#[test]
fn a_network_takes_its_ticks() {
    // 512 bytes to each of 64 slices: 4 accesses in each of the 32 slices of a network.
    let dma = bytes((Hbm, 1 << 15), (Dm, 512), &[(64, 0, 512, 1, 0), (512, 0, 1, 0, 1)]);
    assert_eq!(data(&dma, SameMedium::Sum.into()), 32 * 4 * 3);
    assert_eq!(data(&dma, RATES), 32 * 4 * 4);
}

/// Slices of a cluster get their copies one after another, whatever engine and network they belong to; clusters do not
/// wait for each other.
#[test]
fn copies_follow_each_other() {
    let copies = |clusters: usize, slices: usize| {
        let loops = [(clusters, 0, 0, 256, 0), (slices, 0, 0, 1, 0), (512, 0, 1, 0, 1)];
        bytes((Hbm, 512), (Dm, 512), &loops)
    };
    for slices in [2, 32, 64, 65, 256] {
        let expected = slices as u64 * (4 * 4 + 30);
        assert_eq!(data(&copies(1, slices), RATES), expected, "{slices}");
        assert_eq!(data(&copies(2, slices), RATES), expected, "{slices}");
    }
    let all = derived(&copies(2, 256), &DmaOptions::default());
    assert_eq!(time(&all, RATES, &mut fast).bound, Bound::Copies);
    // A copy for each cluster is no copy for slices.
    let loops = [(2, 0, 0, 256, 0), (256, 0, 512, 1, 0), (512, 0, 1, 0, 1)];
    let apart = bytes((Hbm, 1 << 17), (Dm, 512), &loops);
    assert!(!derived(&apart, &DmaOptions::default()).copies);
    assert_eq!(data(&apart, RATES), 32 * 4 * 4);
    // Within DM, the source is read once for each copy.
    let inside = bytes((Dm, 512), (Dm, 1024), &[(256, 0, 0, 1, 0), (512, 0, 1, 0, 1)]);
    assert_eq!(data(&inside, RATES), 256 * (2 * 4 * 4 + 30));
    // The documented rates have no copies.
    let operation = derived(&copies(1, 256), &DmaOptions::default());
    let time = time(&operation, SameMedium::Sum, &mut fast);
    assert_eq!((time.ticks, time.copies_ticks()), (1500 + 32 * 4 * 3, 0));
}
