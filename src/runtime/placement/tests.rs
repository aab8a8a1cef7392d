//! Placements beside the best one.

use super::*;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

fn room(capacity: u64, taken: &[Taken]) -> Room<'_> {
    Room { capacity, behind: 0, taken }
}

fn tensor(bytes: u64, first: usize, last: usize) -> Unplaced {
    Unplaced { bytes, align: 1, first, last }
}

fn placed(capacity: u64, tensors: &[Unplaced]) -> Result<Vec<Address>, NoRoom> {
    room(capacity, &[]).place(tensors, &LastUsed::new(), 1)
}

/// No byte belongs to two tensors at one command, and all lie in the memory.
fn check(room: &Room<'_>, tensors: &[Unplaced], places: &[Address]) {
    let bytes = |k: usize| places[k]..places[k] + tensors[k].bytes;
    for k in 0..places.len() {
        assert!(
            bytes(k).end <= room.capacity && places[k].is_multiple_of(tensors[k].align),
            "{k}: {places:?}"
        );
        let others = (0..k).filter(|&other| tensors[other].meets(&tensors[k])).map(bytes);
        let taken =
            room.taken.iter().filter(|taken| taken.meets(&tensors[k])).map(|taken| taken.bytes.clone());
        for other in others.chain(taken) {
            let apart = other.end <= bytes(k).start || bytes(k).end <= other.start;
            assert!(apart, "{k} over {other:?}: {tensors:?} {places:?}");
        }
    }
}

/// The least memory that holds all tensors. In a lowest placement each tensor lies on another one or at 0: one order of
/// placing each as low as it goes gives it.
fn least_memory(tensors: &[Unplaced]) -> u64 {
    fn go(tensors: &[Unplaced], placed: &mut Vec<(usize, u64)>, height: u64, best: &mut u64) {
        if height >= *best {
            return;
        }
        if placed.len() == tensors.len() {
            *best = height;
            return;
        }
        for k in 0..tensors.len() {
            if placed.iter().any(|&(other, _)| other == k) {
                continue;
            }
            let mut busy: Vec<(u64, u64)> = (placed.iter())
                .filter(|&&(other, _)| tensors[other].meets(&tensors[k]))
                .map(|&(other, at)| (at, at + tensors[other].bytes))
                .collect();
            busy.sort_unstable();
            let free = |low: u64, &(start, end): &(u64, u64)| {
                if low + tensors[k].bytes <= start { low } else { low.max(end) }
            };
            let mut low = 0;
            for piece in &busy {
                let next = free(low, piece);
                if next == low && low + tensors[k].bytes <= piece.0 {
                    break;
                }
                low = next;
            }
            placed.push((k, low));
            go(tensors, placed, height.max(low + tensors[k].bytes), best);
            placed.pop();
        }
    }
    let mut best = u64::MAX;
    go(tensors, &mut Vec::new(), 0, &mut best);
    best
}

/// With a quarter more than the least memory all tensors have places. Without it, most have.
#[test]
fn small_groups_fit_where_the_best_order_does() {
    let mut tight = 0;
    for seed in 0..300 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut tensors: Vec<Unplaced> = (0..random.random_range(2..7))
            .map(|_| {
                let first = random.random_range(0..6);
                tensor(random.random_range(1..9), first, first + random.random_range(0..4))
            })
            .collect();
        tensors.sort_by_key(|tensor| tensor.first);
        let least = least_memory(&tensors);
        let capacity = (least * 5).div_ceil(4);
        let places =
            placed(capacity, &tensors).unwrap_or_else(|_| panic!("seed {seed}: {tensors:?} in {capacity}"));
        check(&room(capacity, &[]), &tensors, &places);
        tight += usize::from(placed(least, &tensors).is_ok());
        let refused = placed(least - 1, &tensors).expect_err("there is not as much");
        check(&room(least - 1, &[]), &tensors, &refused.before);
        assert_eq!(refused.before.len(), refused.tensor);
    }
    assert!(tight > 270, "{tight} of 300 fit into the least memory");
}

/// A memory that is cut into tensors of all sizes and lives is the least one for them.
#[test]
fn a_quarter_to_spare_is_enough() {
    const LIVES: usize = 400;
    for seed in 0..60 {
        let mut random = SmallRng::seed_from_u64(seed);
        let units = random.random_range(100..4000u64);
        let mut pieces = vec![(0..units, 0..LIVES)];
        for _ in 0..random.random_range(10..300) {
            let k = random.random_range(0..pieces.len());
            let (bytes, life) = pieces.swap_remove(k);
            if random.random_bool(0.5) && life.len() > 1 {
                let cut = random.random_range(life.start + 1..life.end);
                pieces.extend([(bytes.clone(), life.start..cut), (bytes, cut..life.end)]);
            } else if bytes.end - bytes.start > 1 {
                let cut = random.random_range(bytes.start + 1..bytes.end);
                pieces.extend([(bytes.start..cut, life.clone()), (cut..bytes.end, life)]);
            } else {
                pieces.push((bytes, life));
            }
        }
        let mut tensors: Vec<Unplaced> = (pieces.iter())
            .map(|(bytes, life)| Unplaced {
                bytes: (bytes.end - bytes.start) * 8,
                align: 8,
                first: life.start,
                last: life.end - 1,
            })
            .collect();
        tensors.sort_by_key(|tensor| tensor.first);
        let capacity = units * 8 * 5 / 4;
        let places =
            placed(capacity, &tensors).unwrap_or_else(|_| panic!("seed {seed}: {} tensors", tensors.len()));
        check(&room(capacity, &[]), &tensors, &places);
        assert_eq!(places.len(), tensors.len());
        assert!(placed(units * 8 - 1, &tensors).is_err(), "all bytes are used at all times");
    }
}

/// Bytes that are taken for some time are free before and after it.
#[test]
fn taken_bytes_are_avoided_while_they_are_taken() {
    for seed in 0..200 {
        let mut random = SmallRng::seed_from_u64(seed);
        let taken: Vec<Taken> = (0..random.random_range(0..4))
            .map(|k| {
                let (start, first) = (k * 30 + random.random_range(0..20), random.random_range(0..30));
                Taken {
                    bytes: start..start + random.random_range(1..10),
                    first,
                    last: first + random.random_range(0..30),
                }
            })
            .collect();
        let mut tensors: Vec<Unplaced> = (0..20)
            .map(|_| {
                let first = random.random_range(0..50);
                let align = [1, 4, 8][random.random_range(0..3)];
                let bytes = random.random_range(1..20);
                Unplaced { bytes, align, first, last: first + random.random_range(0..10) }
            })
            .collect();
        tensors.sort_by_key(|tensor| tensor.first);
        let room = Room { capacity: 160, behind: 20, taken: &taken };
        match room.place(&tensors, &LastUsed::new(), 1) {
            Ok(places) => check(&room, &tensors, &places),
            Err(refused) => check(&room, &tensors, &refused.before),
        }
    }
    let all = [Taken { bytes: 0..64, first: 3, last: 5 }];
    let room = room(64, &all);
    let place = |tensor| room.place(&[tensor], &LastUsed::new(), 1).is_ok();
    assert!(place(tensor(64, 0, 2)) && place(tensor(64, 6, 9)));
    assert!(!place(tensor(1, 0, 3)) && !place(tensor(1, 5, 9)) && !place(tensor(1, 4, 4)));
}

/// Bytes come back late: those that nobody has used first, and then those that have been free for longest.
#[test]
fn bytes_rest_before_they_are_used_again() {
    let one = |k: usize| tensor(16, k, k);
    let tensors: Vec<Unplaced> = (0..8).map(one).collect();
    let places = placed(64, &tensors).expect("there is room");
    assert_eq!(places, [48, 32, 16, 0, 48, 32, 16, 0]);
    // Stamps of earlier commands count.
    let mut used = LastUsed::new();
    used.note([(5, 32..64), (2, 0..32)].into_iter(), 1);
    assert_eq!(room(64, &[]).place(&[one(0)], &used, 10).expect("there is room"), [16]);
}

/// The last bytes of a memory are given last.
#[test]
fn the_end_is_given_last() {
    let room = Room { capacity: 64, behind: 16, taken: &[] };
    let place = |tensors: &[Unplaced]| room.place(tensors, &LastUsed::new(), 1).expect("there is room");
    assert_eq!(place(&[tensor(48, 0, 0)]), [0]);
    check(&room, &[tensor(48, 0, 0), tensor(16, 0, 0)], &place(&[tensor(48, 0, 0), tensor(16, 0, 0)]));
    assert_eq!(place(&[tensor(64, 0, 0)]), [0]);
}

/// The tensor that is named is the first one for which there are not enough bytes.
#[test]
fn the_first_tensor_without_room_is_named() {
    let tensors =
        [tensor(40, 0, 9), tensor(20, 1, 2), tensor(20, 2, 3), tensor(20, 3, 9), tensor(60, 11, 12)];
    let refused = placed(64, &tensors).expect_err("60 and 20 are more than 64");
    assert_eq!(refused.tensor, 2);
    let room = room(64, &[]);
    assert_eq!(room.largest(&tensors[..2], &refused.before, &tensors[2]), 4);
}

/// Thousands of tensors are placed at once, and a group that has no room is refused soon.
#[test]
fn long_programs() {
    let many: Vec<Unplaced> = (0..8192).map(|k| tensor(1 + (k as u64 * 37) % 100, k, k + 10)).collect();
    let places = placed(4096, &many).expect("there is room");
    for (k, two) in places.windows(2).enumerate() {
        assert!(two[0] + many[k].bytes <= two[1] || two[1] + many[k + 1].bytes <= two[0]);
    }
    assert!(placed(400, &many).is_err());
}
