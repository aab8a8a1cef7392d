//! From the elements of an operand to positions of a stream.

use super::OPERATION;
use crate::command::Transfer;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, M, Pool, factors_of};
use crate::runtime::late::when_late;
use crate::sequencer::transfer::{Level, Placement, derive_read};
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

const STASH: &str = "vector stash";

/// What an operand is derived from.
#[derive(Clone, Copy, Debug)]
pub struct OperandRequest {
    /// Chip, cluster and slice of the tensor.
    pub units: [&'static Expr; 3],
    /// The elements of the tensor.
    pub element: &'static Expr,
    /// The stream, as five mappings: chip, cluster, slice, time and packet.
    pub stream: &'static Expr,
}

/// The five mappings of a stream.
const fn parts(stream: &'static Expr) -> Option<[&'static Expr; 5]> {
    if let Expr::Pair(chip, rest) = stream
        && let Expr::Pair(cluster, rest) = rest
        && let Expr::Pair(slice, rest) = rest
        && let Expr::Pair(time, packet) = rest
    {
        return Some([chip, cluster, slice, time, packet]);
    }
    None
}

/// The dimensions of a stream, innermost first. A position is `time * lanes + lane`.
const fn positions(time: &'static Expr, packet: &'static Expr) -> [(&'static Expr, Level); 2] {
    [(packet, Level::Element), (time, Level::Elements(packet.size()))]
}

/// From the dimensions of an operand to the positions of a stream. `None`: the operand has an axis, or a part of one, that
/// the stream lacks.
const fn broadcast(
    operation: &'static str,
    name: &'static str,
    operand: &[(&'static Expr, Level)],
    stream: &[(&'static Expr, Level)],
) -> Result<Option<Transfer>, PlanError> {
    let source = Placement { name, dimensions: operand };
    let destination = Placement { name: "stream", dimensions: stream };
    match derive_read(operation, &source, &destination) {
        Ok(transfer) => Ok(Some(transfer)),
        Err(error) if crate::text::same(error.rule(), "not covered") => Ok(None),
        Err(error) => Err(error),
    }
}

/// From the elements of a tensor in the VRF to the positions of a stream.
///
/// # Errors
///
/// A tensor in other slices; one with an axis that the stream lacks, or cut at other places.
pub const fn derive_operand(request: &OperandRequest) -> Result<Transfer, PlanError> {
    let Some([chip, cluster, slice, time, packet]) = parts(request.stream) else {
        refuse!(
            "operand stream",
            "{}: {} is no mapping of a stream; help: give the operand to the call itself",
            str(OPERATION),
            mapping(request.stream),
        );
    };
    let mut pool = Pool::new();
    let streams = [chip, cluster, slice];
    let names = ["Chip", "Cluster", "Slice"];
    let mut k = 0;
    while k < names.len() {
        let own = attempt!(factors_of(OPERATION, &mut pool, request.units[k]));
        let stream = attempt!(factors_of(OPERATION, &mut pool, streams[k]));
        if !own.is(&stream) {
            refuse!(
                "operand units",
                "{}: the {} of the tensor in the VRF is {}, but that of the stream is {}: each slice reads its own register \
                 file; help: load the tensor from a tensor in DM with this {}, which `to_dm` broadcasts to",
                str(OPERATION),
                str(names[k]),
                mapping(request.units[k]),
                mapping(streams[k]),
                str(names[k]),
            );
        }
        k += 1;
    }
    let own = [(request.element, Level::Element)];
    if let Some(transfer) = attempt!(broadcast(OPERATION, "VrfTensor", &own, &positions(time, packet))) {
        return Ok(transfer);
    }
    refuse!(
        "operand axes",
        "{}: Element {} of the tensor in the VRF has an axis, or a part of one, that time {} and packet {} lack: an \
         operand is broadcast along what it lacks, and has nothing more; help: load a tensor of axes of the stream, \
         cut at the same places",
        str(OPERATION),
        mapping(request.element),
        mapping(time),
        mapping(packet),
    )
}

/// From the positions of a stream, as it was stashed, to those that it has now.
///
/// # Errors
///
/// A stash with an axis that the stream lacks by now, or cut at other places.
pub const fn derive_stash(stashed: &'static Expr, stream: &'static Expr) -> Result<Transfer, PlanError> {
    let (Some([.., time, packet]), Some([.., now, lanes])) = (parts(stashed), parts(stream)) else {
        refuse!(
            "stash stream",
            "vector stash: {} is no mapping of a stream; help: let calls say it",
            mapping(stashed)
        );
    };
    let found = broadcast(STASH, "stash", &positions(time, packet), &positions(now, lanes));
    if let Some(transfer) = attempt!(found) {
        return Ok(transfer);
    }
    refuse!(
        "stash axes",
        "vector stash: what was stashed, time {} and packet {}, has an axis that the stream lacks by now, time {} \
         and packet {}: a reduce has taken it; help: use the stash before the reduce",
        mapping(time),
        mapping(packet),
        mapping(now),
        mapping(lanes),
    )
}

/// The plan of an operand in the VRF, as types. `Stream` is the mapping of the stream that it is for.
pub struct OperandPlan<Chip, Cluster, Slice, Element, Stream>(
    PhantomData<(Chip, Cluster, Slice, Element, Stream)>,
);

impl<Chip: M, Cluster: M, Slice: M, Element: M, Stream: M>
    OperandPlan<Chip, Cluster, Slice, Element, Stream>
{
    /// The loops. Using it refuses a tensor that does not fit the stream.
    pub const TRANSFER: Transfer = match derive_operand(&Self::REQUEST) {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };

    const REQUEST: OperandRequest = OperandRequest {
        units: [Chip::EXPR, Cluster::EXPR, Slice::EXPR],
        element: Element::EXPR,
        stream: Stream::EXPR,
    };
}

when_late! {
    impl<Chip: M, Cluster: M, Slice: M, Element: M, Stream: M>
        Late<OperandPlan<Chip, Cluster, Slice, Element, Stream>>
    {
        pub(super) const TRANSFER: Refusable<Transfer> =
            derive_operand(&OperandPlan::<Chip, Cluster, Slice, Element, Stream>::REQUEST);
    }
}

#[cfg(test)]
mod tests {
    use super::super::VeTensorShape;
    use super::*;
    use crate::prelude::{axes, m};

    axes![W = 5, L = 8, Q = 256, K = 32, R = 2];

    type One = m![1];
    type Rows<Time, Packet> = VeTensorShape<m![1], m![1 # 2], m![Q], Time, Packet>;

    /// Which element of the VRF each position gets.
    fn places<Element: M, Time: M, Packet: M>() -> Result<Vec<Option<usize>>, &'static str> {
        let request = OperandRequest {
            units: [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![Q]>::EXPR],
            element: Element::EXPR,
            stream: Rows::<Time, Packet>::EXPR,
        };
        let transfer = derive_operand(&request).map_err(|error| error.rule())?;
        Ok(walked(&transfer, Time::SIZE * Packet::SIZE))
    }

    /// Which element each of so many positions gets.
    fn walked(transfer: &Transfer, positions: usize) -> Vec<Option<usize>> {
        let mut all = vec![None; positions];
        let loops = transfer.loops.as_slice();
        let total: usize = loops.iter().map(|own| own.size).product();
        for number in 0..total {
            let (mut rest, mut from, mut to, mut indices) = (number, 0, 0, Vec::new());
            for own in loops.iter().rev() {
                let k = rest % own.size;
                rest /= own.size;
                indices.insert(0, k);
                from += k * own.source.elements;
                to += k * own.destination.elements;
            }
            if transfer.guard.holds(&indices) {
                all[to] = Some(from);
            }
        }
        all
    }

    #[test]
    fn tensors_are_broadcast_along_what_they_lack() {
        let expect = |places: Result<Vec<Option<usize>>, _>, of: fn(usize, usize) -> usize| {
            let expected: Vec<_> = (0..40).map(|k| Some(of(k / 8, k % 8))).collect();
            assert_eq!(places, Ok(expected));
        };
        expect(places::<m![L], m![W], m![L]>(), |_, l| l);
        expect(places::<m![W], m![W], m![L]>(), |w, _| w);
        expect(places::<m![W, L], m![W], m![L]>(), |w, l| 8 * w + l);
        expect(places::<m![L, W], m![W], m![L]>(), |w, l| 5 * l + w);
        expect(places::<m![1 # 8], m![W], m![L]>(), |_, _| 0);
        // After a split the positions are the same.
        expect(places::<m![L, W], m![W, L / 4], m![L % 4]>(), |w, l| 5 * l + w);
        // One value for four neighbours.
        let groups: Vec<_> = (0..32).map(|k| Some(k / 4)).collect();
        assert_eq!(places::<m![K / 4], m![K / 8], m![K % 8]>(), Ok(groups));
        // Padding of the stream gets nothing, padding of the tensor goes nowhere.
        let padded: Vec<_> = (0..24).map(|k| (k % 8 < 5).then_some(k % 8)).collect();
        assert_eq!(
            places::<m![W # 7], m![R # 3], m![W # 8]>().map(|all| all[..16].to_vec()),
            Ok(padded[..16].to_vec())
        );
    }

    #[test]
    fn tensors_that_do_not_fit() {
        assert_eq!(places::<m![K], m![W], m![L]>(), Err("operand axes"));
        assert_eq!(places::<m![W, L, R], m![W], m![L]>(), Err("operand axes"));
        let units = |units: [&'static Expr; 3]| {
            let request =
                OperandRequest { units, element: <m![L]>::EXPR, stream: Rows::<m![W], m![L]>::EXPR };
            derive_operand(&request).map(|_| ()).map_err(|error| {
                assert!(error.message().contains("each slice reads its own"), "{error}");
                error.rule()
            })
        };
        let [one, two, all] = [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![Q]>::EXPR];
        assert_eq!(units([one, two, all]), Ok(()));
        for other in [
            [two, two, all],
            [one, one, all],
            [one, two, <m![1 # 256]>::EXPR],
            [one, two, <m![K # 256]>::EXPR],
        ] {
            assert_eq!(units(other), Err("operand units"));
        }
        for (place, name) in ["Chip", "Cluster", "Slice"].into_iter().enumerate() {
            let mut units = [one, two, all];
            units[place] = <m![K # 300]>::EXPR;
            let request =
                OperandRequest { units, element: <m![L]>::EXPR, stream: Rows::<m![W], m![L]>::EXPR };
            let text = derive_operand(&request).expect_err("it is of other units").to_string();
            let part = format!(
                "vector operand: the {name} of the tensor in the VRF is `m![K # 300]`, but that of the "
            );
            assert!(text.starts_with(&part), "{text}");
        }
        let request = OperandRequest { units: [one, two, all], element: one, stream: One::EXPR };
        let error = derive_operand(&request).expect_err("it is no stream");
        assert_eq!(
            (error.rule(), error.message()),
            (
                "operand stream",
                "vector operand: `m![1]` is no mapping of a stream; help: give the operand to the call itself"
            )
        );
    }

    #[test]
    fn stashes_keep_their_axes() {
        let split = Rows::<m![W, L / 4], m![L % 4]>::EXPR;
        let same = derive_stash(Rows::<m![W], m![L]>::EXPR, split).expect("a split moves nothing");
        assert_eq!(walked(&same, 40), (0..40).map(Some).collect::<Vec<_>>());
        // Trimmed by now: four lanes of eight.
        let trimmed = Rows::<m![W], m![R # 4]>::EXPR;
        let lower = derive_stash(Rows::<m![W], m![R # 8]>::EXPR, trimmed).expect("padding goes");
        let expected: Vec<_> = (0..20).map(|k| (k % 4 < 2).then_some(k / 4 * 8 + k % 4)).collect();
        assert_eq!(walked(&lower, 20), expected);
        let reduced = derive_stash(Rows::<m![W], m![L]>::EXPR, Rows::<m![1], m![L]>::EXPR);
        let error = reduced.expect_err("W is gone");
        assert_eq!(
            (error.rule(), error.message()),
            (
                "stash axes",
                "vector stash: what was stashed, time `m![W]` and packet `m![L]`, has an axis that the stream lacks by now, \
                 time `m![1]` and packet `m![L]`: a reduce has taken it; help: use the stash before the reduce"
            )
        );
        let error = derive_stash(One::EXPR, Rows::<m![W], m![L]>::EXPR).expect_err("it is no stream");
        assert_eq!(
            (error.rule(), error.message()),
            ("stash stream", "vector stash: `m![1]` is no mapping of a stream; help: let calls say it")
        );
        let no_stream = derive_stash(<m![W]>::EXPR, split);
        assert_eq!(no_stream.map_err(|error| error.rule()).err(), Some("stash stream"));
    }
}
