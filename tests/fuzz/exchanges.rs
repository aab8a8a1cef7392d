//! Random exchanges between slices, and random matrices of time steps and lanes.

use crate::reference::random::Random;
use crate::reference::shadow::{Exchange, Kind, Tensor};
use crate::reference::switch::Switching;
use crate::reference::transpose::Matrices;

/// An exchange of so many packets. Most go from slices of the tensor to slices of the tensor.
pub fn random_exchange(random: &mut Random, from: &Tensor, time: usize) -> Exchange {
    let (slice1, slice0) =
        random.pick(&[(1, 1), (2, 1), (2, 1), (1, 2), (2, 2), (2, 2), (4, 1), (1, 4), (2, 4)]);
    let time0 = random.pick(&[1, 1, 2, 3]);
    let config = match random.below(5) {
        0 if time.is_multiple_of(time0) => Switching::Broadcast01 { slice1, slice0, time0 },
        1 if time.is_multiple_of(slice1 * time0) => Switching::InterTranspose { slice1, slice0, time0 },
        2 => Switching::TransposedBroadcast1 { slice1, slice0 },
        3 => Switching::Transpose { slice1, slice0 },
        _ => Switching::Broadcast1 { slice1, slice0 },
    };
    let (clusters, slices) = match random.chance(85) {
        true => (from.clusters, from.slices),
        false => (random.between(1, 2), random.pick(&[1, 2, 4, 8])),
    };
    Exchange { config, clusters, slices }
}

/// Matrices of a stream of so many flits. Most take elements of which a flit has `lanes`.
pub fn random_matrices(random: &mut Random, kind: Kind, flits: usize, lanes: usize) -> Matrices {
    let fits = |rows: &usize| rows * kind.bytes() <= 8 && flits.is_multiple_of(*rows);
    let in_rows = random.pick(&(1..=8).filter(fits).collect::<Vec<_>>());
    let fits = |packets: &usize| (flits / in_rows).is_multiple_of(*packets);
    let packets_per_col = random.pick(&[1, 2, 4].into_iter().filter(fits).collect::<Vec<_>>());
    let most = if random.chance(85) { lanes.clamp(1, 8) } else { 8 };
    let (in_cols, out_rows) = (8 * packets_per_col, packets_per_col * random.between(1, most));
    let iterations = flits / in_rows / packets_per_col;
    Matrices { in_rows, packets_per_col, in_cols, out_rows, iterations }
}
