//! Tests of packets that go from slice to slice: their checks, and equal results for any number of threads.

use super::*;

/// `Transpose { slice1: 2, slice0: 4 }` of `time` packets per slice: slice `s'` receives the packets of slice
/// `from(s')`.
fn transpose(time: usize) -> Switch {
    let mut switch = Switch::blank(SwitchVariant::Transpose, 8, time);
    switch.push_digit(8, 32, 8);
    switch.push_digit(2, 4, 1);
    switch.push_digit(1, 2, 4);
    switch.push_time(time, 0, 1);
    switch
}

fn from(slice: usize) -> usize {
    slice / 8 * 8 + slice % 2 * 4 + slice / 2 % 4
}

/// `Broadcast1 { slice1: 4, slice0: 1 }` of one packet per slice: each slice of a group of 4 receives all packets of
/// the group.
fn broadcast_of_four() -> Switch {
    let mut switch = Switch::blank(SwitchVariant::Broadcast1, 4, 1);
    switch.push_digit(4, 64, 4);
    switch.push_digit(1, 4, 0);
    switch.push_offsets(4, 1);
    switch.push_time(4, 1, 0);
    switch
}

/// Packets of 32 `i8` at `time` steps, moved from one address to another through a switch.
fn copy(switch: Switch, source: u64, destination: u64) -> Command {
    let (time, out) = (switch.in_time, switch.out_time());
    let stream = fetch(region(0, source, I8, 256, 32 * time), I8, &[(time, 32), (32, 1)], time, 32);
    let sink = commit(region(1, destination, I8, 256, 32 * out), &[(out, 32), (32, 1)], 32, Guard::always(5));
    switched(pass(stream, None, None, sink), switch)
}

fn switched(mut command: Command, switch: Switch) -> Command {
    if let Operation::TensorUnit(unit) = &mut command.operation {
        unit.switch = Some(switch);
    }
    command
}

/// A system whose slices hold different bytes from address 0 on.
fn filled(time: usize) -> Chips {
    let mut system = Chips::new(ChipOptions { chips: Some(2), ..ChipOptions::default() });
    for unit in 0..1024 {
        poke(&mut system, unit, 0, I8, &codes(I8, 32 * time, unit));
    }
    system
}

#[test]
fn every_cluster_switches_by_itself() {
    let mut system = filled(3);
    let mut command = copy(transpose(3), 0, 4096);
    if let Operation::TensorUnit(unit) = &mut command.operation {
        unit.regions_mut().for_each(|region| region.footprint.chips = 2);
    }
    system.execute(&command).unwrap_or_else(|fault| panic!("{fault}"));
    for unit in 0..1024 {
        let source = unit / 256 * 256 + from(unit % 256);
        assert_eq!(peek(&system, unit, 4096, I8, 96).0, codes(I8, 96, source), "unit {unit}");
    }
}

/// Each packet goes from its place in the source to its place in the destination: in order, scattered, with gaps, to
/// lower and higher addresses, in packets of 32 bytes and of more. In one case, some slices receive nothing.
#[test]
fn packets_go_to_their_places() {
    // Time steps, bytes of a packet, entries of fetch, entries of commit, number of slices that are written.
    type Entries = &'static [(usize, isize)];
    let cases: [(usize, usize, Entries, Entries, usize); 7] = [
        (4, 32, &[(4, 32), (32, 1)], &[(4, 32), (32, 1)], 256),
        (4, 32, &[(4, 32), (32, 1)], &[(4, 64), (32, 1)], 256),
        (6, 32, &[(3, 32), (2, 96), (32, 1)], &[(2, 96), (3, 32), (32, 1)], 256),
        (6, 32, &[(3, 32), (2, 128), (32, 1)], &[(2, 32), (3, 128), (32, 1)], 5),
        (3, 64, &[(3, 64), (64, 1)], &[(3, 96), (64, 1)], 256),
        (3, 64, &[(3, 64), (64, 1)], &[(6, 40), (32, 1)], 256),
        (4, 32, &[(4, 32), (32, 1)], &[(4, 24), (24, 1)], 256),
    ];
    for (source, destination) in [(8, 4096), (4096, 8)] {
        for (time, packet, from_entries, to_entries, slices) in cases {
            let stream = fetch(region(0, source, I8, 256, 512), I8, from_entries, time, packet);
            let window = to_entries[to_entries.len() - 1].0.min(32);
            let sink = commit(region(1, destination, I8, 256, 512), to_entries, window, below(5, 2, slices));
            let mut command = switched(pass(stream, None, None, sink), transpose(time));
            if let Operation::TensorUnit(unit) = &mut command.operation {
                unit.collect = Some(Collect { flits: packet / 32 });
            }
            let mut system = Chips::new(ChipOptions::default());
            (0..512).for_each(|unit| poke(&mut system, unit, source, I8, &codes(I8, 512, unit)));
            system.execute(&command).unwrap_or_else(|fault| panic!("{to_entries:?}: {fault}"));
            let (read, written) = (
                walked_by_definition(&config(from_entries, 1)),
                walked_by_definition(&config(to_entries, 1)),
            );
            for unit in 0..512 {
                let (mut bytes, mut flags) = ([0; 512], [false; 512]);
                let all = codes(I8, 512, unit / 256 * 256 + from(unit % 256));
                for (k, &place) in written.iter().enumerate().filter(|_| unit % 256 < slices) {
                    // Only the leading bytes of each flit may be committed.
                    let k = k / window * 32 + k % window;
                    (bytes[place as usize], flags[place as usize]) = (all[read[k] as usize], true);
                }
                let found = peek(&system, unit, destination, I8, 512);
                let found: Vec<_> =
                    found.0.iter().zip(found.1).map(|(&byte, flag)| flag.then_some(byte)).collect();
                let expected: Vec<_> =
                    bytes.iter().zip(flags).map(|(&byte, flag)| flag.then_some(byte)).collect();
                assert_eq!(found, expected, "{to_entries:?} in slice {unit}, {source} to {destination}");
            }
        }
    }
}

#[cfg(feature = "parallel")]
#[test]
fn threads_make_no_difference() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        pool.install(|| {
            let mut system = filled(16);
            let mut broadcast = Switch::blank(SwitchVariant::Broadcast1, 256, 16);
            broadcast.push_digit(1, 256, 0);
            broadcast.push_offsets(256, 1);
            broadcast.push_time(16, 0, 1);
            broadcast.push_time(256, 1, 0);
            for command in [copy(transpose(16), 0, 4096), copy(broadcast, 4096, 8192)] {
                system.execute(&command).unwrap_or_else(|fault| panic!("{fault}"));
            }
            (0..512).map(|unit| peek(&system, unit, 8192, I8, 32 * 16 * 256)).collect::<Vec<_>>()
        })
    };
    let one = run(1);
    assert!([2, 3, 7].into_iter().all(|threads| run(threads) == one));
}

/// Elements that are converted must be written in their source slice. Elements that no slice takes need not be.
#[test]
fn missing_elements_are_found_where_they_were_fetched() {
    let mut system = Chips::new(ChipOptions::default());
    for unit in 0..512 {
        poke(&mut system, unit, 0, Bf16, &codes(Bf16, 16, unit));
    }
    // All slices lack the last two of their 16 elements.
    let command = |switch| {
        let stream = fetch(region(0, 4, Bf16, 256, 16), F32, &[(2, 8), (8, 1)], 2, 8);
        let sink = commit(region(1, 4096, F32, 256, 16), &[(2, 8), (8, 1)], 8, below(5, 2, 4));
        switched(pass(stream, None, None, sink), switch)
    };
    // Slices 0 to 3 are written. They receive the packets of slices 0, 4, 1 and 5.
    let fault = system.execute(&command(transpose(2))).expect_err("two elements are missing");
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    let text = fault.to_string();
    assert!(text.contains("fetch: uninitialised element: time step 1"), "{text}");
    assert!(text.contains("element 14 of the tensor at DM address 4") && text.contains("slice 0"), "{text}");
    // The elements are now written in slices 0 and 1, but not in 4 and 5, whose packets go to slices 1 and 3.
    for unit in [0, 1, 256, 257] {
        poke(&mut system, unit, 32, Bf16, &codes(Bf16, 2, unit));
    }
    let text = system.execute(&command(transpose(2))).expect_err("they are missing elsewhere").to_string();
    assert!(text.contains("element 14") && text.contains("slice 4"), "{text}");
    for unit in [4, 5, 260, 261] {
        poke(&mut system, unit, 32, Bf16, &codes(Bf16, 2, unit));
    }
    system.execute(&command(transpose(2))).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(peek(&system, 4, 4096, F32, 16).1.iter().all(|&written| !written), "slice 4 is no part of it");
    for slice in 0..4 {
        let (bytes, written) = peek(&system, slice, 4096, F32, 16);
        assert!(written.iter().all(|&written| written));
        let source = peek(&system, from(slice), 4, Bf16, 16).0;
        let first = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        assert_eq!(f64::from(first), value(Bf16, &source, 0), "slice {slice}");
    }
}

/// A packet from a slice that fetches nothing is missing, although all bytes of both slices are written.
#[test]
fn slices_that_fetch_nothing_have_nothing_to_convert() {
    let mut system = filled(1);
    let command = |slices| {
        let stream = fetch(region(0, 0, I8, slices, 8), I32, &[(8, 1)], 1, 8);
        let sink = commit(region(1, 4096, I32, 256, 8), &[(8, 1)], 8, below(5, 2, 2));
        switched(pass(stream, None, None, sink), transpose(1))
    };
    // Slice 1 receives the packet of slice 4.
    let fault = system.execute(&command(4)).expect_err("the tensor does not lie in slice 4");
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    assert!(fault.to_string().contains("slice 4"), "{fault}");
    system.execute(&command(5)).unwrap_or_else(|fault| panic!("{fault}"));
}

/// A slice may commit over packets that all slices have emitted, but not over later ones.
#[test]
fn commits_wait_for_the_last_slice_of_the_ring() {
    let outcome = |switch: Switch, source, destination| {
        let mut system = filled(8);
        let outcome = system.execute(&copy(switch, source, destination)).map(drop);
        outcome.map_err(|fault| fault.kind)
    };
    // Packets before `t` have been emitted at step `t`.
    assert_eq!(outcome(transpose(4), 32, 0), Ok(()));
    assert_eq!(outcome(transpose(4), 24, 0), Err(FaultKind::Overwrite));
    assert_eq!(outcome(transpose(4), 0, 0), Err(FaultKind::Overwrite));
    assert_eq!(outcome(Switch::forwarding(256, 4), 0, 0), Ok(()), "each packet is where it was");
    // `s1` is outside of two time steps, so its last slices keep both packets until their turn.
    let mut nested = Switch::blank(SwitchVariant::Broadcast01, 2, 2);
    nested.push_digit(2, 128, 2);
    nested.push_digit(1, 2, 0);
    nested.push_offsets(2, 1);
    nested.push_time(2, 1, 0);
    nested.push_time(2, 0, 1);
    nested.emission = Emission::Nested { slice0: 1, time0: 2 };
    // Steps 0 to 2 are committed before the last slice has emitted a packet, and step 3 after it has emitted one.
    assert_eq!(outcome(nested, 96, 0), Ok(()));
    assert_eq!(outcome(nested, 88, 0), Err(FaultKind::Overwrite));
}

/// Slices that are written later still have the packets that others receive from them.
#[test]
fn a_commit_over_its_source_waits_for_all_slices() {
    let mut halves = Switch::blank(SwitchVariant::Transpose, 256, 4);
    halves.push_digit(2, 128, 1);
    halves.push_digit(1, 2, 128);
    halves.push_time(4, 0, 1);
    // The destination is the same bytes, one packet earlier, or other bytes.
    for destination in [0, 4096] {
        let mut system = filled(8);
        let sent: Vec<_> = (0..256).map(|unit| peek(&system, unit, 32, I8, 128).0).collect();
        system.execute(&copy(halves, 32, destination)).unwrap_or_else(|fault| panic!("{fault}"));
        for unit in 0..256 {
            let source = unit % 2 * 128 + unit / 2;
            assert_eq!(peek(&system, unit, destination, I8, 128).0, sent[source], "slice {unit}");
        }
    }
}

/// Slices without a source tensor receive packets of others.
#[test]
fn slices_without_a_tensor_get_packets_too() {
    let mut system = filled(1);
    // The tensor lies in slices 0 and 1.
    let stream = fetch(region(0, 0, I8, 2, 32), I8, &[(32, 1)], 1, 32);
    let command = |slices| {
        let guard = below(5, 2, 4);
        let sink = commit(region(1, 4096, I8, slices, 128), &[(4, 32), (32, 1)], 32, guard);
        switched(pass(stream.clone(), None, None, sink), broadcast_of_four())
    };
    let fault = system.execute(&command(2)).expect_err("slice 2 is written, too");
    assert_eq!(fault.kind, FaultKind::OutsideView, "{fault}");
    system.execute(&command(4)).unwrap_or_else(|fault| panic!("{fault}"));
    for slice in 0..4 {
        let (bytes, written) = peek(&system, slice, 4096, I8, 128);
        assert_eq!(bytes[..64], [codes(I8, 32, 0), codes(I8, 32, 1)].concat(), "slice {slice}");
        assert!(
            written[..64].iter().all(|&written| written) && written[64..].iter().all(|&written| !written)
        );
    }
    assert!(peek(&system, 4, 4096, I8, 32).1.iter().all(|&written| !written));
}

/// Slices that send nothing have no packets, even if they sent some in the previous switch.
#[test]
fn packets_of_the_last_switch_are_gone() {
    let mut system = filled(1);
    // The packets of all slices are converted, so that they are fetched to rows.
    let stream = fetch(region(0, 0, I8, 256, 8), I32, &[(8, 1)], 1, 8);
    let sink = commit(region(1, 4096, I32, 256, 8), &[(8, 1)], 8, Guard::always(5));
    let first = switched(pass(stream, None, None, sink), transpose(1));
    system.execute(&first).unwrap_or_else(|fault| panic!("{fault}"));
    // Only slices 0 and 1 send. One byte of slice 0 is missing, so that these packets are fetched to rows, too.
    poke(&mut system, 0, 16384, I8, &codes(I8, 31, 100));
    poke(&mut system, 1, 16384, I8, &codes(I8, 32, 101));
    let stream = fetch(region(0, 16384, I8, 2, 32), I8, &[(32, 1)], 1, 32);
    let sink = commit(region(2, 8192, I8, 4, 128), &[(4, 32), (32, 1)], 32, below(5, 2, 4));
    let second = switched(pass(stream, None, None, sink), broadcast_of_four());
    system.execute(&second).unwrap_or_else(|fault| panic!("{fault}"));
    for slice in 0..4 {
        let (bytes, written) = peek(&system, slice, 8192, I8, 128);
        assert_eq!((&bytes[..31], &bytes[32..64]), (&codes(I8, 31, 100)[..], &codes(I8, 32, 101)[..]));
        let there = (0..128).map(|k| k < 64 && k != 31).collect::<Vec<_>>();
        assert_eq!(written, there, "slice {slice}");
    }
}
