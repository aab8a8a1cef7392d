//! Calls of one spelling that have no counterpart in the other one, with what to write.

/// Calls that the later spelling has in no way that follows from the text: name, fewest generics, reason, edit.
pub const SEED_ONLY: [(&str, usize, &str, &str); 21] = [
    (
        "fetch_with_table",
        0,
        "tables are chosen by types",
        "write `.fetch::<T, P>().fetch_table_lookup::<D>()` if one of its tables is yours",
    ),
    (
        "fetch_with_zero_points",
        0,
        "one zero point is all that a fetch subtracts",
        "split the tensor, or subtract in the Vector Engine",
    ),
    ("pad_value", 0, "padding has no value of its own", "write the padding into memory"),
    ("on", 1, "there is one kind of chip", "remove `.on::<…>()`"),
    ("windows", 5, "there are no windows", "copy the windows side by side first"),
    (
        "split_tiles_mut",
        2,
        "tiles to write are taken one by one",
        "write `.view_mut().tile::<I, N, E>(start)` in the loop",
    ),
    ("tiles", 3, "tiles are taken one by one", "write `.tile::<I, N, E>(start)` in the loop"),
    (
        "relabel",
        0,
        "axes are renamed by an unsafe call",
        "write `unsafe { x.reshape::<…>() }` if the positions keep their order",
    ),
    ("vector_fp_unary_with_mode", 0, "functions have no mode", "write `.vector_fp_unary(op)`"),
    (
        "to_dm_pcopy",
        0,
        "the copy is returned",
        "write `let y = x.to_dm_pcopy(&mut ctx.sub);` with the type of `y`",
    ),
    (
        "dm_cluster_shuffle",
        0,
        "shuffles are calls of views",
        "write `view.dm_cluster_shuffle(&mut ctx.tdma, &pattern)`",
    ),
    (
        "dm_chip_shuffle",
        0,
        "shuffles are calls of views",
        "write `view.dm_chip_shuffle(&mut ctx.tdma, &pattern)`",
    ),
    (
        "hbm_chip_shuffle",
        0,
        "shuffles are calls of views",
        "write `view.hbm_chip_shuffle(&mut ctx.tdma, &pattern)`",
    ),
    ("hbm_cluster_shuffle", 0, "HBM has no part per cluster", "shuffle the tensor in DM"),
    ("dma_gather_view", 0, "a gather makes a tensor", "write `.dma_gather_scaled(&index)`"),
    ("dma_gather_rows_view", 0, "a gather makes a tensor", "write `.dma_gather_unscaled(&index)`"),
    (
        "dma_scatter_view",
        0,
        "a scatter is a call of a tensor",
        "write `.dma_scatter::<K, _, _>(&index, &mut output)`",
    ),
    (
        "dma_scatter_rows",
        0,
        "a scatter has byte offsets",
        "write `.dma_scatter::<K, _, _>(&offsets, &mut output)`",
    ),
    (
        "dma_scatter_rows_view",
        0,
        "a scatter has byte offsets",
        "write `.dma_scatter::<K, _, _>(&offsets, &mut output)`",
    ),
    ("alloc_dm", 0, "tensors have no address", "write `DmTensor::<D, …>::new()` where the tensor is made"),
    ("alloc_hbm", 0, "tensors have no address", "write `HbmTensor::<D, …>::new()` where the tensor is made"),
];

/// Calls that the seed-era spelling has in no way that follows from the text.
pub const LATER_ONLY: [(&str, &str, &str); 10] = [
    ("bind", "contexts have all chips that a kernel needs", "remove `.bind(…)`"),
    ("fetch_mask", "padding is masked by the mappings of the fetch", "remove it"),
    ("fetch_table_lookup", "tables are values", "write `.fetch_with_table::<D, T, P>(&table)`"),
    ("vector_filter", "there is no filter", "do without"),
    ("commit_valid_count_pack", "elements that are no longer valid are not packed", "do without"),
    ("dm_cluster_shuffle", "shuffles are calls of contexts", "write `ctx.tdma.dm_cluster_shuffle(…)`"),
    ("dm_chip_shuffle", "shuffles are calls of contexts", "write `ctx.tdma.dm_chip_shuffle(…)`"),
    ("hbm_chip_shuffle", "shuffles are calls of contexts", "write `ctx.tdma.hbm_chip_shuffle(…)`"),
    (
        "dma_scatter_unscaled",
        "it has another name and more arguments",
        "write `.dma_scatter_rows(&mut ctx.tdma, …)`",
    ),
    ("to_dm_pcopy", "the copy goes into a tensor that exists", "write `x.to_dm_pcopy(&mut ctx.sub, &mut y)`"),
];
