//! Moves from the elements of an operand to the positions of a stream.

use crate::command::Transfer;
use crate::mapping::M;
use crate::runtime::late::{Late, Refusable};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::vector::operand::derive::{OperandRequest, derive_operand, derive_stash};

/// The plan of an operand in the VRF, as types. `Stream` is the mapping of the stream that it is for.
pub struct OperandPlan<Chip, Cluster, Slice, Element, Stream>(
    PhantomData<(Chip, Cluster, Slice, Element, Stream)>,
);

impl<Chip: M, Cluster: M, Slice: M, Element: M, Stream: M>
    OperandPlan<Chip, Cluster, Slice, Element, Stream>
{
    /// The loops. Evaluating it refuses a tensor that does not fit the stream.
    pub const TRANSFER: Transfer = match Late::<Self>::TRANSFER {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };

    const REQUEST: OperandRequest = OperandRequest {
        units: [Chip::EXPR, Cluster::EXPR, Slice::EXPR],
        element: Element::EXPR,
        stream: Stream::EXPR,
    };
}

impl<Chip: M, Cluster: M, Slice: M, Element: M, Stream: M>
    Late<OperandPlan<Chip, Cluster, Slice, Element, Stream>>
{
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> =
        derive_operand(&OperandPlan::<Chip, Cluster, Slice, Element, Stream>::REQUEST);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::layout::{Layout, StreamLayout};
    use crate::mapping::Expr;
    use crate::prelude::{axes, m};

    axes![W = 5, L = 8, Q = 256, K = 32, R = 2, Z = 256];

    type One = m![1];
    type Rows<Time, Packet> = <Layout<m![1], m![1 # 2], m![Q], Time, Packet> as StreamLayout>::Mapping;

    /// The element of the VRF that each position gets.
    fn places<Element: M, Time: M, Packet: M>() -> Result<Vec<Option<usize>>, &'static str> {
        let request = OperandRequest {
            units: [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![Q]>::EXPR],
            element: Element::EXPR,
            stream: Rows::<Time, Packet>::EXPR,
        };
        let transfer = derive_operand(&request).map_err(|error| error.rule())?;
        Ok(walked(&transfer, Time::SIZE * Packet::SIZE))
    }

    /// The element that each of the `positions` gets.
    fn walked(transfer: &Transfer, positions: usize) -> Vec<Option<usize>> {
        let mut all = vec![None; positions];
        let loops = transfer.loops.as_slice();
        let total: usize = loops.iter().map(|axis| axis.size).product();
        for number in 0..total {
            let (mut rest, mut from, mut to, mut indices) = (number, 0, 0, Vec::new());
            for axis in loops.iter().rev() {
                let k = rest % axis.size;
                rest /= axis.size;
                indices.insert(0, k);
                from += k * axis.source.elements;
                to += k * axis.destination.elements;
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
        // There is one value for four neighbours.
        let groups: Vec<_> = (0..32).map(|k| Some(k / 4)).collect();
        assert_eq!(places::<m![K / 4], m![K / 8], m![K % 8]>(), Ok(groups));
        // Padding of the stream gets no element, and padding of the tensor is not read.
        let padded: Vec<_> = (0..24).map(|k| (k % 8 < 5).then_some(k % 8)).collect();
        assert_eq!(
            places::<m![W # 7], m![R # 3], m![W # 8]>().map(|all| all[..16].to_vec()),
            Ok(padded[..16].to_vec())
        );
    }

    /// A fetch refuses such a buffer, too: it has no element for some positions of the stream.
    #[test]
    fn tensors_of_the_first_values() {
        let refused = Err("insufficient input");
        assert_eq!(places::<m![W = 4], m![W], m![L]>(), refused);
        assert_eq!(places::<m![W, L = 7], m![W], m![L]>(), refused);
        assert_eq!(places::<m![W, L = 6 # 8], m![W], m![L]>(), refused);
        assert_eq!(places::<m![W = 1, L], m![W], m![L]>(), refused);
        assert_eq!(places::<m![K = 30], m![K / 8], m![K % 8]>(), refused);
        assert_eq!(places::<m![K / 4 = 7], m![K / 8], m![K % 8]>(), refused);
        assert_eq!(places::<m![K % 4 = 3], m![K / 8], m![K % 8]>(), refused);
        assert_eq!(places::<m![K % 1], m![K / 8], m![K % 8]>(), refused);
        // One value for all of an axis does not count as its first value.
        assert_eq!(places::<m![K / 32], m![K / 8], m![K % 8]>().map(|all| all[31]), Ok(Some(0)));
        // The tensor has as many values as the stream.
        let first: Vec<_> = (0..32).map(Some).collect();
        assert_eq!(places::<m![W = 4, L], m![W = 4], m![L]>(), Ok(first));
        assert_eq!(
            places::<m![K = 30], m![K = 30 # 32 / 8], m![K = 30 # 32 % 8]>().map(|all| all[29]),
            Ok(Some(29))
        );
        assert!(places::<m![K / 4 = 7], m![K / 4 = 7], m![K % 4 # 8]>().is_ok());
        assert!(places::<m![L = 6 # 8], m![W], m![L = 6 # 8]>().is_ok());
        let text = |element| {
            let units = [<m![1]>::EXPR, <m![1 # 2]>::EXPR, <m![Q]>::EXPR];
            let request = OperandRequest { units, element, stream: Rows::<m![W], m![L]>::EXPR };
            derive_operand(&request).expect_err("it is refused").message().to_string()
        };
        assert_eq!(
            text(<m![W = 4, L]>::EXPR),
            "vector operand: insufficient input: the stream iterates over `m![W]`, but `VrfTensor<m![W = 4, L]>` holds only \
             the first values of it; help: load all values of it, or let the stream end with them"
        );
        assert_eq!(
            text(<m![W = 1, L]>::EXPR),
            "vector operand: insufficient input: the stream iterates over `m![W]`, but Element `m![W = 1, L]` of the tensor \
             in the VRF holds only the first value of it; help: load all values of it, or leave `m![W = 1]` out of \
             Element: a tensor is broadcast along what it does not name"
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
        // In every slice of the stream, the tensor has elements.
        for other in [[two, two, all], [one, one, all], [one, two, <m![Z]>::EXPR]] {
            assert_eq!(units(other), Ok(()));
        }
        for other in [[one, two, <m![1 # 256]>::EXPR], [one, two, <m![K # 256]>::EXPR]] {
            assert_eq!(units(other), Err("operand units"));
        }
        for (place, name) in ["Chip", "Cluster", "Slice"].into_iter().enumerate() {
            let mut units = [one, two, all];
            units[place] = <m![W # 300]>::EXPR;
            let request =
                OperandRequest { units, element: <m![L]>::EXPR, stream: Rows::<m![W], m![L]>::EXPR };
            let text = derive_operand(&request).expect_err("it is of other units").to_string();
            let part = format!(
                "vector operand: the {name} of the tensor in the VRF is `m![W # 300]`, but that of the "
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
        // The stream is trimmed by now: four lanes of eight.
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
