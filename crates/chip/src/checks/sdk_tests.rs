use super::*;
use furiosa_visa_rules::command::{Step, Transfer};

fn copied(loops: &[(usize, (usize, usize), usize)], copies: bool) -> bool {
    let transfer_loop = |&(size, (units, elements), to): &(usize, (usize, usize), usize)| TransferLoop {
        size,
        source: Step { units, elements },
        destination: Step { units: to, elements: 0 },
    };
    copies_to_clusters(&loops.iter().map(transfer_loop).collect::<Vec<_>>(), copies)
}

/// Units are numbered chip by chip, cluster by cluster, slice by slice. A loop may span several of these levels.
#[test]
fn copies_are_found_in_the_loops_over_clusters() {
    let (still, one) = ((0, 0), (0, 64));
    assert!(copied(&[(2, still, 256)], false), "both clusters read the same");
    assert!(
        copied(&[(4, one, 512), (2, still, 256), (256, one, 1)], false),
        "whatever chips and slices read"
    );
    assert!(copied(&[(512, still, 1)], false), "a loop over all slices");
    assert!(
        copied(&[(257, still, 1)], false) && !copied(&[(256, still, 1)], false),
        "to the first of cluster 1"
    );
    assert!(copied(&[(8, still, 64)], false) && !copied(&[(4, still, 64)], false));
    assert!(!copied(&[(2, one, 256)], false), "each cluster reads its own");
    assert!(!copied(&[(512, one, 1)], false) && !copied(&[(1, still, 256)], false) && !copied(&[], false));
    assert!(!copied(&[(2, still, 512)], false), "chips alone");
    // From DM: cluster to cluster, of a tensor that holds copies.
    let same = (256, 0);
    assert!(copied(&[(2, same, 256)], true) && !copied(&[(2, same, 256)], false));
    assert!(!copied(&[(2, (256, 8), 256)], true) && !copied(&[(2, (1, 0), 256)], true));
    assert!(copied(&[(512, (1, 0), 1)], true));
}

/// A tensor holds copies only if all its writes made copies. The tensors that were written last are remembered.
#[test]
fn writes_are_remembered() {
    let here = Location::caller();
    let mut copies = Copies::default();
    copies.write(FillId(1), Some(here));
    copies.write(FillId(2), None);
    copies.write(FillId(3), Some(here));
    copies.write(FillId::ANY, Some(here));
    let known = |copies: &Copies| [0, 1, 2, 3].map(|fill| copies.of(FillId(fill)).is_some());
    assert_eq!(known(&copies), [false, true, false, true]);
    copies.write(FillId(2), Some(here));
    copies.write(FillId(3), None);
    assert_eq!(known(&copies), [false, true, false, false], "a part of each may differ");
    for fill in 4..REMEMBERED as u64 + 1 {
        copies.write(FillId(fill), None);
    }
    assert_eq!(known(&copies), [false, true, false, false]);
    copies.write(FillId(1 << 20), None);
    assert_eq!((known(&copies)[1], copies.0.len()), (false, REMEMBERED));
}

/// A loop of a command that was built by hand may be very long and have no live value.
#[test]
fn long_loops_end() {
    use furiosa_visa_rules::command::Footprint;
    use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
    use furiosa_visa_rules::scalar::ElementType;
    let region = |memory| {
        let guard = Guard::always(4);
        let footprint = Footprint {
            element: ElementType::I8,
            chips: 1,
            clusters: 1,
            slices: 1,
            elements: 1 << 40,
            guard,
        };
        Region::whole(memory, 0, FillId::ANY, footprint)
    };
    let live = |limit, size| {
        let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
        let step = |elements| Step { units: 0, elements };
        transfer.loops.push(TransferLoop { size, source: step(0), destination: step(1) });
        transfer.guard.digits.push(GuardDigit { variable: 0, base: 1, extent: size, weight: 1 });
        transfer.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit });
        let (source, destination) = (region(Memory::Dm), region(Memory::Hbm));
        replicates(&Dma { source, destination, transfer, pcie: false })
    };
    assert!(!live(0, 1 << 40) && !live(1, 1 << 40) && live(2, 1 << 40) && !live(2, 1));
}
