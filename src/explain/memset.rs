//! `explain()` on memsets: the words of a slice, and their number.

use crate::command::{FillId, Memory, Region};
use crate::engine::dma::AtRest;
use crate::engine::memset::{MemsetPlan, MemsetScalar};
use crate::lower::{Tensor, memset};
use crate::mapping::M;
use crate::tensor::DmTensor;

impl<D: MemsetScalar, Chip: M, Cluster: M, Slice: M, Element: M>
    MemsetPlan<D, Chip, Cluster, Slice, Element>
{
    /// The loop over the words of a tensor at a multiple of 4 bytes, as text.
    pub fn explain() -> String {
        let shape = DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE;
        let footprint = *DmTensor::<D, Chip, Cluster, Slice, Element>::FOOTPRINT;
        let region = Region::whole(Memory::Dm, 0, FillId::ANY, footprint);
        let command = memset(&Tensor { shape, region }, 0).unwrap_or_else(|error| error.refuse());
        let crate::command::Operation::Memset(command) = command else { unreachable!("it is a memset") };
        let words = command.words();
        format!("{}\nin each slice {} words of 4 bytes: {words}", shape.to_text(), words.positions())
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    axes![A = 2, B = 5, S = 256];

    #[test]
    fn the_words_of_a_slice_are_explained() {
        let text = MemsetPlan::<i8, m![1], m![1 # 2], m![S], m![A, B # 8]>::explain();
        let expected = "`DmTensor<m![1], m![1 # 2], m![S], m![A, B # 8]>`\nin each slice 4 words of 4 bytes: \
                        [2 : 8, 2 : 4] : 4";
        assert_eq!(text, expected);
        // 10 bytes without a gap, and one of the two rows.
        let text = MemsetPlan::<i8, m![1], m![1 # 2], m![S], m![A, B]>::explain();
        assert!(text.ends_with("3 words of 4 bytes: [3 : 4] : 4"), "{text}");
        let text = MemsetPlan::<f32, m![1], m![1 # 2], m![S], m![1 # 2, B]>::explain();
        assert!(text.ends_with("5 words of 4 bytes: [5 : 1] : 1"), "{text}");
    }
}
