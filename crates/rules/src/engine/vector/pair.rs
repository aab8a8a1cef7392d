//! Two groups: the two halves of a stream along an axis of 2, side by side, until a zip makes one stream of them.

use crate::command::{GROUP_BIT, GroupId, ValidBranchIds};
use crate::engine::vector::rules::derive_way8;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{
    Atom, Expr, Factor, Factors, Ident, Pool, factors_of, modulo, product, size_of_factors, stride,
};
use crate::spec::BEAT_LANES;

/// The call, for messages.
pub const OPERATION: &str = "vector_intra_slice_unzip";

/// The input of [`derive_unzip`].
#[derive(Clone, Copy, Debug)]
pub struct UnzipRequest {
    /// The axis of 2.
    pub axis: Ident,
    /// The size of the axis.
    pub size: usize,
    /// Time before the unzip.
    pub time: &'static Expr,
    /// Time with `1 # 2` in the place of the axis.
    pub tile_time: &'static Expr,
    /// Time of one group.
    pub split_time: &'static Expr,
    /// The packet.
    pub packet: &'static Expr,
}

/// Derives the number of positions between the two elements of a pair.
///
/// # Errors
///
/// If the size of the axis is not 2, if time does not have the axis, or if the groups have other mappings.
pub const fn derive_unzip(request: &UnzipRequest) -> Result<usize, PlanError> {
    attempt!(derive_way8(OPERATION, request.packet));
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let tile_time = attempt!(factors_of(OPERATION, &mut pool, request.tile_time));
    let split_time = attempt!(factors_of(OPERATION, &mut pool, request.split_time));
    if request.size != 2 {
        refuse!(
            "unzip size",
            "vector_intra_slice_unzip: the axis {} has {}, but there are two groups; help: use an axis of size 2",
            (request.axis.as_str(), count(request.size, "value")),
        );
    }
    let all = time.as_slice();
    let mut found = None;
    each!(k < all.len(), {
        if let Factor::Term { term, resize: 2 } = all[k]
            && let Atom::Symbol(symbol) = term.atom
            && symbol.name.is(&request.axis)
        {
            found = Some(size_of_factors(all.split_at(k).0));
        }
    });
    let Some(base) = found else {
        refuse!(
            "unzip axis",
            "vector_intra_slice_unzip: time {} does not have the axis {}; help: begin the stream with `begin_interleaved`, \
             or name the axis of 2 in time",
            (request.time, request.axis.as_str()),
        );
    };
    if !time.size().is_multiple_of(2 * base) {
        refuse!(
            "unzip padding",
            "vector_intra_slice_unzip: time {} has {}, which are no whole pairs along the axis {}; \
             help: pad what is outside of {}, not the axis itself",
            (request.time, count(time.size(), "step"), request.axis.as_str(), request.axis.as_str()),
        );
    }
    let inner = modulo(&mut pool, &time, base);
    let outer = stride(&mut pool, &time, 2 * base);
    let mut halves = inner;
    halves.push_padding(2 * base);
    attempt!(check_time(
        &pool,
        request,
        "TileTime",
        request.tile_time,
        &tile_time,
        &product(&pool, &outer, &halves)
    ));
    attempt!(check_time(
        &pool,
        request,
        "SplitTime",
        request.split_time,
        &split_time,
        &product(&pool, &outer, &inner)
    ));
    Ok(base * BEAT_LANES)
}

const fn check_time(
    pool: &Pool,
    request: &UnzipRequest,
    name: &str,
    given: &Expr,
    given_factors: &Factors,
    expected: &Factors,
) -> Result<(), PlanError> {
    if expected.is(given_factors) {
        return Ok(());
    }
    refuse!(
        "unzip time",
        "vector_intra_slice_unzip: {} is {}, but time {} without the axis {} is {}; help: use that mapping",
        (name, given, request.time, request.axis.as_str(), factors(pool, expected)),
    )
}

/// The elements of a group that an operand is for. `None` if it is for the other group: then it does nothing, but takes
/// its unit.
pub fn ids_in_group(group: usize, ids: ValidBranchIds) -> Option<ValidBranchIds> {
    let id = if group == 0 { 0 } else { GROUP_BIT };
    ids.holds(id).then_some(of_group(group))
}

/// The ids of the elements of a group.
pub const fn of_group(group: usize) -> ValidBranchIds {
    ValidBranchIds::ValidGroup { id: if group == 0 { GroupId::Zero } else { GroupId::One } }
}
