//! Gather and scatter: their rules and their plans.

use crate::command::{IndexedCall, Region};
use crate::engine::dma::{DmaRules, check_dma};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::Expr;
use crate::scalar::ElementType;
use crate::sequencer::rows::{RowLoops, RowPlacements, derive_rows};
use crate::sequencer::transfer::{Level, Placement, derive_transfer};
use crate::tensor::Shape;

/// The derived configuration of a gather or a scatter.
#[derive(Clone, Copy, Debug)]
pub struct IndexedConfig {
    /// The call.
    pub call: IndexedCall,
    /// The loops over rows, and those inside a row.
    pub loops: RowLoops,
    /// The bits of an element.
    bits: usize,
    table: Shape,
}

/// Derives a gather or a scatter. `table` is in HBM, `side` in DM; `index` holds `i32` in HBM or DM.
pub const fn derive_indexed(
    call: IndexedCall,
    table: &Shape,
    index: &Shape,
    side: &Shape,
) -> Result<IndexedConfig, PlanError> {
    let operation = call.name();
    let gathers = call.gathers();
    let (of_table, of_side) = (attempt!(table.sizes()), attempt!(side.sizes()));
    attempt!(index.sizes());
    if !matches!(index.element_type, ElementType::I32) {
        refuse!(
            "index type",
            "{}: an index of {}, but rows are named by i32; help: make the index a tensor of i32",
            (operation, index.element_type.name()),
        );
    }
    let (a, b, c) = (table.dimensions(), index.dimensions(), side.dimensions());
    let loops = attempt!(derive_rows(&RowPlacements {
        operation,
        gathers,
        table: Placement { name: table.name(), dimensions: a.split_at(table.levels()).0 },
        index: Placement { name: index.name(), dimensions: b.split_at(index.levels()).0 },
        side: Placement { name: side.name(), dimensions: c.split_at(side.levels()).0 },
    }));
    let (source, destination) = ((*table, of_table[3]), (*side, of_side[3]));
    let (source, destination) = if gathers { (source, destination) } else { (destination, source) };
    attempt!(check_dma(&DmaRules { operation, source, destination, by_index: true }, &loops.all));
    let config = IndexedConfig { call, loops, bits: table.element_type.bits(), table: *table };
    if matches!(call, IndexedCall::Gather) {
        attempt!(config.row_bytes());
    }
    Ok(config)
}

impl IndexedConfig {
    /// The bytes of a row of the table: byte offsets are multiples of it. Refused if rows do not lie one after another
    /// without padding: then the bytes of a row differ from the distance of two rows.
    pub const fn row_bytes(&self) -> Result<usize, PlanError> {
        let RowLoops { stride, elements, .. } = self.loops;
        if stride != elements {
            refuse!(
                "row bytes",
                "{}: rows of {} hold {} and start {} apart, so that byte offsets do not say which row is meant; help: use row \
                 numbers, with `{}`, or a table whose outermost axis is that of its rows, without padding in them",
                self.call.name(),
                &self.table.notation(crate::text::Text::new()),
                count(elements, "element"),
                count(stride, "element"),
                if self.call.gathers() { "dma_gather_rows" } else { "dma_scatter(…, false)" },
            );
        }
        Ok(stride * self.bits / 8)
    }
}

/// Checks that an index has one element for each position of a scatter key, in the same order.
pub const fn check_key(
    operation: &'static str,
    key: &'static Expr,
    index: &'static Expr,
) -> Result<(), PlanError> {
    let (a, b) = ([(key, Level::Element)], [(index, Level::Element)]);
    let (one, other) =
        (Placement { name: "Key", dimensions: &a }, Placement { name: "index", dimensions: &b });
    let there = derive_transfer(operation, &one, &other, false);
    let back = derive_transfer(operation, &other, &one, false);
    if let (Ok(loops), Ok(_)) = (there, back) {
        let mut same = loops.source_start.is_first() && loops.destination_start.is_first();
        each!(k < loops.loops.len(), {
            let key_loop = loops.loops.at(k);
            same = same && (key_loop.size == 1 || key_loop.source.elements == key_loop.destination.elements);
        });
        if same {
            return Ok(());
        }
    }
    refuse!(
        "scatter index",
        "{}: the scatter key is {} and the index holds {}, but an index has one element for each position of the key, in its \
         order; help: let the index hold {}",
        (operation, key, index, key),
    )
}

/// Refuses tiles that start in another unit than the first: rows are moved from the first slice on.
pub fn check_tiles(name: &'static str, regions: [&Region; 3]) -> Result<(), PlanError> {
    for region in regions {
        if !region.part.starts_in_first_unit() {
            refuse!(
                "rows of other slices",
                "{}: the tile lies{} of its tensor, but rows are moved from the first slice on; \
                 help: start the tile at 0, or move it with `.to_dm_view(…)`",
                (name, region.units_in_words().as_str()),
            );
        }
    }
    Ok(())
}
