//! `explain()` on shuffles and copies by the sub context: source and destination of each part, and its loops.

use crate::engine::copies::ParallelCopyPlan;
use crate::engine::dma::AtRest;

impl<Source: AtRest, Destination: AtRest> ParallelCopyPlan<Source, Destination> {
    /// The loops of the copy, as text.
    pub fn explain() -> String {
        let (from, to) = (Source::SHAPE.to_text(), Destination::SHAPE.to_text());
        format!("{from} to {to}, in each cluster\n{}", Self::TRANSFER)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::copies::{ParallelCopyPlan, ShufflePlan, SliceCopyPlan};
    use crate::prelude::*;

    axes![C = 2, A = 256, B = 16, V = 5];

    type Tensor = DmTensor<i8, m![1], m![C], m![A], m![V, B]>;

    #[test]
    fn who_gets_what_is_explained() {
        let text = ShufflePlan::<Tensor>::CLUSTERS.explain(&[1, 1]).expect("it is legal");
        let start = "dm_cluster_shuffle\n\ncluster 0 gets cluster 1\ncluster 1 gets cluster 1\n\neach\n";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("       256            1 unit            1 unit"), "{text}");
        assert!(ShufflePlan::<Tensor>::CLUSTERS.explain(&[2, 0]).is_err());
        type Parts = SliceCopyPlan<i8, m![1], m![C], m![A], m![V, B], m![V], m![1 # 5, B], m![B]>;
        let text = Parts::CLUSTERS.explain(&[4, 0]).expect("it is legal");
        let start = "parallel_copy_cluster_slice\n\ncluster 0 keeps part 4 of 5, from element 64 on\n\
                     cluster 1 keeps part 0 of 5, from element 0 on\n";
        assert!(text.starts_with(start), "{text}");
        // Parts of an inner axis: 5 pieces of 8 elements, 16 elements apart.
        type Inner =
            SliceCopyPlan<i8, m![1], m![C], m![A], m![V, B], m![B / 8], m![V, 1 # 2, B % 8], m![V, B % 8]>;
        let text = Inner::CLUSTERS.explain(&[1, 0]).expect("it is legal");
        assert!(text.contains("\ncluster 0 keeps part 1 of 2, from element 8 on\n"), "{text}");
        assert!(text.contains("         5       16 elements        8 elements"), "{text}");
        let text =
            ParallelCopyPlan::<Tensor, DmTensor<i8, m![1], m![C], m![A], m![B / 8, V, B % 8]>>::explain();
        let layouts = "m![V, B]>` to `DmTensor<m![1], m![C], m![A], m![B / 8, V, B % 8]>`, in each cluster\n";
        assert!(text.contains(layouts), "{text}");
        assert!(text.contains("         5       16 elements        8 elements"), "{text}");
    }
}
