//! Copies of a part per cluster or chip.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::context::TuContext;
use crate::memory::{DmTensor, DmTensorView};
use crate::visa::engine::copies::SliceCopyPlan;
use crate::visa::mapping::M;
use crate::visa::runtime::{Tu, TuValues as _};
use crate::visa::scalar::Scalar;
use crate::visa::surface::CountPlan;
use crate::visa::tensor;
use crate::words::check;

/// Declares a copy of parts.
macro_rules! copies {
    ($($(#[$doc:meta])* $call:ident, $plan:ident, $count:ident;)*) => {
        impl TuContext<{ Tu::Sub }> { $(
            $(#[$doc])*
            #[track_caller]
            #[inline(never)]
            pub fn $call<
                const N: usize,
                AxisToSlice: M,
                AxisSlicedElement: M,
                Element2: M,
                D: Scalar,
                Chip: M,
                Cluster: M,
                Slice: M,
                Element: M,
            >(
                &mut self,
                tensor: DmTensorView<'_, D, Chip, Cluster, Slice, Element>,
                index: &[usize; N],
            ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
                check!($count of CountPlan<tensor::DmTensor<D, Chip, Cluster, Slice, Element>, N>);
                check!($plan of SliceCopyPlan<
                    D, Chip, Cluster, Slice, Element, AxisToSlice, AxisSlicedElement, Element2,
                >);
                DmTensor(self.0.$call::<N, AxisToSlice, AxisSlicedElement, Element2, D, Chip, Cluster, Slice, Element>(
                    tensor.0, index,
                ))
            }
        )* }
    };
}

copies! {
    /// Each cluster keeps one position of an axis: see
    /// [`crate::visa::runtime::TuContext::parallel_copy_cluster_slice`].
    parallel_copy_cluster_slice, CLUSTERS, CLUSTERS_OF_COPY;
    /// Each chip keeps one position of an axis: see [`crate::visa::runtime::TuContext::parallel_copy_chip_slice`].
    parallel_copy_chip_slice, CHIPS, CHIPS_OF_COPY;
}
