//! `explain()` on gathers and scatters: the loop over rows, and the loops of a row.

use crate::engine::dma::{AtRest, IndexedPlan};

impl<Table: AtRest, Index: AtRest, Side: AtRest> IndexedPlan<Table, Index, Side> {
    /// The rows of the table that a gather moves, and their places, as text: the loop over the index, and the loops of
    /// a row.
    ///
    /// ```
    /// use furiosa_visa_std::engine::dma::IndexedPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![V = 100, H = 64, S = 4];
    /// type Table = HbmTensor<i8, m![1], m![V, H]>;
    /// type Rows = DmTensor<i8, m![1], m![1 # 2], m![S # 256], m![H]>;
    /// let text = IndexedPlan::<Table, HbmTensor<i32, m![1], m![S]>, Rows>::explain_gather();
    /// assert!(text.contains("100 rows, 64 elements apart"));
    /// println!("{text}");
    /// ```
    pub fn explain_gather() -> String {
        let (table, index, side) = (Table::SHAPE.to_text(), Index::SHAPE.to_text(), Side::SHAPE.to_text());
        format!("rows of {table} to {side}, by {index}\n\n{}", Self::GATHER_ROWS)
    }

    /// The rows of the table that a scatter writes, as text.
    pub fn explain_scatter() -> String {
        let (table, index, side) = (Table::SHAPE.to_text(), Index::SHAPE.to_text(), Side::SHAPE.to_text());
        format!("{side} to rows of {table}, by {index}\n\n{}", Self::SCATTER_ROWS)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::dma::IndexedPlan;
    use crate::prelude::*;

    axes![V = 100, H = 64, S = 16];

    type Table = HbmTensor<bf16, m![1], m![V, H # 128]>;
    type Index = HbmTensor<i32, m![1], m![S]>;
    type Side = DmTensor<bf16, m![1], m![1 # 2], m![S / 4 # 256], m![S % 4, H]>;

    #[test]
    fn the_rows_loop_is_explained() {
        let text = IndexedPlan::<Table, Index, Side>::explain_gather();
        let start = "rows of `HbmTensor<m![1], m![V, H # 128]>` to `DmTensor<m![1], m![1 # 2], m![S / 4 # 256], m![S % 4, H]>`, \
                     by `HbmTensor<m![1], m![S]>`\n\ndma_gather_rows: a table of 100 rows, 128 elements apart\n\
                     byte offsets do not name its rows";
        assert!(text.starts_with(start), "{text}");
        let rows = "iterations       source step  destination step\n         \
                    4        4 elements            1 unit\n         4         1 element       64 elements\n";
        assert!(text.contains(rows), "{text}");
        assert!(
            text.ends_with("        64         1 element         1 element\nevery iteration moves"),
            "{text}"
        );
        let text = IndexedPlan::<HbmTensor<bf16, m![1], m![V, H]>, Index, Side>::explain_scatter();
        assert!(text.contains("to rows of `HbmTensor<m![1], m![V, H]>`, by "), "{text}");
        assert!(text.contains("dma_scatter_rows: a table of 100 rows, 64 elements apart\nbyte offsets of rows are multiples of 128\n"), "{text}");
    }
}
