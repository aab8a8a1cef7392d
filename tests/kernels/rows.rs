//! Gathers and scatters as a kernel writes them: values, views, faults with the index's own coordinates, order and time.

use crate::replay::{in_other_orders, kept};
use crate::{block_on, init};
use furiosa_visa_std::chip::{Addresses, Fault, FaultKind};
use furiosa_visa_std::clock::Profile;
use furiosa_visa_std::prelude::*;

axes![V = 40, H = 16, S = 8, P = 20, G = 4];

type One = m![1];
type Table = HbmTensor<i32, One, m![V, H]>;
type Index = HbmTensor<i32, One, m![S]>;
type Rows = HbmTensor<i32, One, m![S, H]>;

fn table() -> Vec<i32> {
    (0..V::SIZE * H::SIZE).map(|k| k as i32 * 3 - 500).collect()
}

fn picked(rows: &[i32]) -> Vec<i32> {
    rows.iter().flat_map(|&row| table()[row as usize * 16..][..16].to_vec()).collect()
}

#[device(chip = 1)]
fn by_offset(ctx: &mut Context, table: &Table, offsets: &Index) -> Rows {
    let rows = table.dma_gather::<m![1 # 2], m![S # 256], m![H], _>(offsets, 0);
    rows.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[device(chip = 1)]
fn by_number(ctx: &mut Context, table: &Table, ids: &Index) -> Rows {
    let rows = table.dma_gather_rows::<m![1 # 2], m![S # 256], m![H], _>(&mut ctx.tdma, ids, 0);
    rows.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// The index lies in DM, in one slice; the rows in elements.
#[device(chip = 1)]
fn by_index_in_dm(ctx: &mut Context, table: &Table, ids: &Index) -> Rows {
    let ids = ids.to_dm::<m![1 # 2], m![1 # 256], m![S]>(&mut ctx.tdma, 4096);
    let rows =
        table.view().dma_gather_rows::<m![1 # 2], m![1 # 256], m![S, H], _>(&mut ctx.tdma, &ids.view(), 0);
    rows.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Into a tensor that exists, and by an index that two slices hold.
#[device(chip = 1)]
fn into_a_view(ctx: &mut Context, table: &Table, ids: &Index) -> Rows {
    let ids = ids.to_dm::<m![1 # 2], m![S / 4 # 256], m![S % 4]>(&mut ctx.tdma, 4096);
    let mut rows =
        table.dma_gather_rows::<m![1 # 2], m![S % 4 # 256], m![S / 4, H], _>(&mut ctx.tdma, &ids, 0);
    table.view().dma_gather_rows_view::<_, _, _, _>(&mut ctx.tdma, &ids, rows.view_mut());
    rows.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Rows, and the fault of a launch.
fn gathered(kernel: u32, options: SimOptions, numbers: &[Opt<i32>]) -> Result<Vec<Opt<i32>>, Fault> {
    block_on(async {
        let mut ctx = Context::with(options);
        let table: Table =
            HostTensor::<i32, m![V, H]>::from_buf(init(&table())).to_hbm(&mut ctx.pdma, 0).await;
        let index: Index =
            HostTensor::<i32, m![S]>::from_buf(numbers.to_vec()).to_hbm(&mut ctx.pdma, 1 << 16).await;
        let (rows, commands) = kept(&mut ctx, |ctx| match kernel {
            0 => block_on(try_launch(by_offset, (ctx, &table, &index))),
            1 => block_on(try_launch(by_number, (ctx, &table, &index))),
            2 => block_on(try_launch(by_index_in_dm, (ctx, &table, &index))),
            _ => block_on(try_launch(into_a_view, (ctx, &table, &index))),
        });
        let rows = rows?;
        let found = rows.to_host::<m![S, H]>(&mut ctx.pdma).await.to_buf();
        in_other_orders(&mut ctx, &commands, |ctx, order| {
            let again = block_on(rows.to_host::<m![S, H]>(&mut ctx.pdma)).to_buf();
            assert_eq!(again, found, "{order:?}");
        });
        Ok(found)
    })
}

#[test]
fn an_embedding_is_looked_up() {
    let ids = [7, 39, 0, 7, 12, 12, 1, 38];
    let apart = SimOptions { addresses: Addresses::Separate, ..SimOptions::default() };
    for options in [SimOptions::default(), apart] {
        for kernel in 0..4 {
            let scale = if kernel == 0 { 64 } else { 1 };
            let numbers = init(&ids.map(|id| id * scale));
            let found = gathered(kernel, options, &numbers).expect("all rows are there");
            crate::assert_same(&found, &picked(&ids));
        }
    }
}

#[test]
fn an_index_that_names_no_row_is_a_fault_with_its_coordinate() {
    let fault = |kernel: u32, change: &dyn Fn(&mut [Opt<i32>])| {
        let mut numbers = init(&[0; 8]);
        change(&mut numbers);
        gathered(kernel, SimOptions::default(), &numbers).expect_err("it is a fault")
    };
    for (row, kernel, kind, parts) in [
        (
            40,
            1,
            FaultKind::OutOfBounds,
            ["says row 40 at i![S: 5], position 5 of m![S]", "has 40 rows", "use row numbers from 0 to 39"],
        ),
        (
            -1,
            2,
            FaultKind::OutOfBounds,
            ["says row -1 at i![S: 5]", "has 40 rows", "row numbers from 0 to 39"],
        ),
        (
            40 * 64,
            0,
            FaultKind::OutOfBounds,
            [
                "says byte 2560 at i![S: 5]",
                "has 40 rows of 64 bytes",
                "byte offsets of rows: 0, 64, … to 2496",
            ],
        ),
        (
            -64,
            0,
            FaultKind::OutOfBounds,
            ["says byte -64", "has 40 rows of 64 bytes", "byte offsets of rows"],
        ),
        (
            65,
            0,
            FaultKind::Misaligned,
            ["says byte 65", "no multiple of the 64 bytes of a row", "calls with `_rows` take row numbers"],
        ),
    ] {
        let found = fault(kernel, &|numbers| numbers[5] = Opt::Init(row));
        let text = found.to_string();
        assert_eq!(found.kind, kind, "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.contains("   = element: i![S: 5]"), "{text}");
        assert!(found.location.file().ends_with("rows.rs"), "{text}");
    }
    for kernel in [0, 1, 3] {
        let found = fault(kernel, &|numbers| numbers[6] = Opt::Uninit);
        let text = found.to_string();
        assert_eq!(found.kind, FaultKind::Uninitialised, "{text}");
        assert!(text.contains("is asked for i![S: 6]"), "{text}");
    }
    // The neighbours.
    for (kernel, last) in [(1, 39), (2, 39), (0, 39 * 64)] {
        let numbers = init(&[0, 0, 0, 0, 0, last, 0, 0]);
        assert!(gathered(kernel, SimOptions::default(), &numbers).is_ok());
    }
}

type Cache = HbmTensor<i32, One, m![P, H]>;

#[device(chip = 1)]
fn store(ctx: &mut Context, x: &Rows, slots: &Index, cache: &mut Cache) {
    let x = x.to_dm::<m![1 # 2], m![S / 2 # 256], m![S % 2, H]>(&mut ctx.tdma, 0);
    x.dma_scatter::<m![S], _, _>(slots, cache, false);
}

#[device(chip = 1)]
fn store_by_offset(ctx: &mut Context, x: &Rows, slots: &Index, cache: &mut Cache) {
    let x = x.to_dm::<m![1 # 2], m![S # 256], m![H]>(&mut ctx.tdma, 0);
    x.view().dma_scatter_view::<m![S], _, _>(&mut ctx.tdma, slots, cache.view_mut(), true);
}

#[device(chip = 1)]
fn store_last(ctx: &mut Context, x: &Rows, slots: &Index, cache: &mut Cache) {
    let x = x.to_dm::<m![1 # 2], m![S # 256], m![H]>(&mut ctx.tdma, 0);
    let slots = slots.to_dm::<m![1 # 2], m![1 # 256], m![S]>(&mut ctx.tdma, 4096);
    x.dma_scatter_rows(&mut ctx.tdma, &slots, cache, Duplicates::LastWins);
}

fn scattered(kernel: u32, x: &[i32], slots: &[i32]) -> Result<Vec<Opt<i32>>, Fault> {
    block_on(async {
        let mut ctx = Context::acquire();
        let x: Rows = HostTensor::<i32, m![S, H]>::from_buf(init(x)).to_hbm(&mut ctx.pdma, 0).await;
        let slots: Index =
            HostTensor::<i32, m![S]>::from_buf(init(slots)).to_hbm(&mut ctx.pdma, 1 << 16).await;
        let old = init(&[-1; P::SIZE * H::SIZE]);
        let mut cache: Cache =
            HostTensor::<i32, m![P, H]>::from_buf(old).to_hbm(&mut ctx.pdma, 1 << 20).await;
        match kernel {
            0 => try_launch(store, (&mut *ctx, &x, &slots, &mut cache)).await,
            1 => try_launch(store_by_offset, (&mut *ctx, &x, &slots, &mut cache)).await,
            _ => try_launch(store_last, (&mut *ctx, &x, &slots, &mut cache)).await,
        }?;
        Ok(cache.to_host::<m![P, H]>(&mut ctx.pdma).await.to_buf())
    })
}

#[test]
fn a_cache_takes_rows_at_its_slots() {
    let x: Vec<i32> = (0..128).collect();
    let expected = |slots: &[i32]| {
        let mut cache = vec![-1; P::SIZE * H::SIZE];
        for (k, &slot) in slots.iter().enumerate() {
            cache[slot as usize * 16..][..16].copy_from_slice(&x[k * 16..][..16]);
        }
        cache
    };
    let slots = [19, 0, 3, 4, 5, 17, 16, 1];
    crate::assert_same(&scattered(0, &x, &slots).expect("no slot twice"), &expected(&slots));
    let offsets = slots.map(|slot| slot * 64);
    crate::assert_same(&scattered(1, &x, &offsets).expect("no slot twice"), &expected(&slots));
    // A slot twice: with another content only where it is said which one wins.
    let twice = [19, 0, 3, 0, 5, 17, 16, 1];
    let fault = scattered(0, &x, &twice).expect_err("rows differ");
    let text = fault.to_string();
    assert_eq!(fault.kind, FaultKind::OverlappingWrites, "{text}");
    for part in
        ["row 0 of the table", "at i![S: 1], position 1 of m![S] and at i![S: 3]", "Duplicates::LastWins"]
    {
        assert!(text.contains(part), "{text}");
    }
    crate::assert_same(&scattered(2, &x, &twice).expect("the last one wins"), &expected(&twice));
    let mut same = x.clone();
    same.copy_within(16..32, 48);
    let found = scattered(0, &same, &twice).expect("the rows are equal");
    assert_eq!(found[..16], init(&same[16..32])[..]);
    let fault = scattered(1, &x, &[0, 64, 128, 192, 256, 320, 384, 20 * 64]).expect_err("there are 20 slots");
    assert!(fault.to_string().contains("says byte 1280 at i![S: 7]"), "{fault}");
}

/// Rows that were named in a launch are read in the next one, by pages: `P / 4` is indexed.
#[device(chip = 1)]
fn read_pages(
    ctx: &mut Context,
    cache: &Cache,
    pages: &HbmTensor<i32, One, m![G]>,
) -> HbmTensor<i32, One, m![G, P % 4, H]> {
    let own = cache.dma_gather_rows::<m![1 # 2], m![G # 256], m![P % 4, H], _>(&mut ctx.tdma, pages, 0);
    own.to_hbm(&mut ctx.tdma, 1 << 21)
}

#[test]
fn pages_of_a_cache() {
    let (cycles, found) = block_on(async {
        let mut ctx = Context::acquire();
        let values: Vec<i32> = (0..P::SIZE as i32 * 16).collect();
        let cache: Cache =
            HostTensor::<i32, m![P, H]>::from_buf(init(&values)).to_hbm(&mut ctx.pdma, 0).await;
        let index =
            HostTensor::<i32, m![G]>::from_buf(init(&[4, 0, 4, 2])).to_hbm(&mut ctx.pdma, 1 << 16).await;
        let found = launch(read_pages, (&mut *ctx, &cache, &index)).await;
        let found = found.to_host::<m![G, P % 4, H]>(&mut ctx.pdma).await.to_buf();
        let report = ctx.report();
        let record =
            report.records.iter().find(|record| record.operation == "dma_gather_rows").expect("it ran");
        assert!(record.configuration.contains("rows in all: [4 : index] of"), "{}", record.configuration);
        assert_eq!(record.amount.written_bytes, 4 * 256);
        (record.end - record.start, found)
    });
    let expected: Vec<i32> = [4, 0, 4, 2].iter().flat_map(|page| page * 64..(page + 1) * 64).collect();
    crate::assert_same(&found, &expected);
    // The start, the index, and the rows.
    assert!((900..1000).contains(&cycles), "{cycles}");
}

/// Rows of 256 bytes: a unit of HBM each.
#[device(chip = 1)]
fn units(ctx: &mut Context, table: &HbmTensor<i32, One, m![V, G, H]>, ids: &Index) {
    let _ = table.dma_gather_rows::<m![1 # 2], m![S # 256], m![G, H], _>(&mut ctx.tdma, ids, 0);
}

/// The clock sees where the rows are: one row again and again is in one channel of HBM.
#[test]
fn one_row_takes_longer_than_neighbours() {
    let cycles = |profile, ids: [i32; 8]| {
        block_on(async {
            let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
            let values = vec![Opt::Init(1); V::SIZE * G::SIZE * H::SIZE];
            let table = HostTensor::<i32, m![V, G, H]>::from_buf(values).to_hbm(&mut ctx.pdma, 0).await;
            let index: Index =
                HostTensor::<i32, m![S]>::from_buf(init(&ids)).to_hbm(&mut ctx.pdma, 1 << 30).await;
            launch(units, (&mut *ctx, &table, &index)).await;
            let report = ctx.report();
            let record =
                report.records.iter().find(|record| record.operation == "dma_gather_rows").expect("it ran");
            record.end - record.start
        })
    };
    let (same, neighbours) = ([3; 8], [0, 1, 2, 3, 4, 5, 6, 7]);
    // One Data Memory Network takes 8 rows in 16 cycles; a channel serves 8 units in 8 * 16/3.
    assert_eq!(cycles(Profile::Book, neighbours), 500 + 16);
    assert_eq!(cycles(Profile::Book, same), 500 + 43);
    assert!(cycles(Profile::Detailed, same) > cycles(Profile::Detailed, neighbours));
}

/// Calls that name no context are made in kernels.
#[test]
fn a_gather_needs_a_kernel() {
    axes![V = 8, S = 4, H = 64];
    let text = block_on(async {
        let mut ctx = Context::acquire();
        let table: HbmTensor<i8, m![1], m![V, H]> =
            HostTensor::<i8, m![V, H]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        let ids: HbmTensor<i32, m![1], m![S]> =
            HostTensor::<i32, m![S]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        let outside = || table.dma_gather::<m![1 # 2], m![S # 256], m![H], _>(&ids, AUTO);
        let payload =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(outside)).expect_err("no kernel runs");
        payload.downcast_ref::<String>().cloned().unwrap_or_default()
    });
    let part = "fault: dma_gather: refused: the call names no context: it runs on the one that its kernel was launched with";
    assert!(text.starts_with(part) && text.contains("rows.rs:"), "{text}");
}

/// Tiles of the table, of the index, and of the tensor in DM.
mod in_tiles {
    use super::*;

    axes![B = 12, W = 16];

    type Wide<A> = HbmTensor<i8, One, m![{ A }, W]>;
    type Gapped<A> = HbmTensor<i8, One, m![{ A }, B # 16]>;
    type Half = m![1 # 256];

    /// Rows are counted from the start of the tile; the index is a tile, too.
    #[device(chip = 1)]
    fn of_a_tile(
        ctx: &mut Context,
        table: &Wide<m![V]>,
        ids: &Index,
        from: usize,
        first: usize,
    ) -> Wide<m![S]> {
        let mut rows = table.dma_gather_rows::<m![1 # 2], Half, m![S, W], _>(&mut ctx.tdma, ids, 0);
        let ids = ids.view().tile::<m![S], 4, m![S = 4 # 8]>(0);
        let tile = rows.view_mut().tile::<m![S], 4, m![S = 4 # 8, W]>(first);
        let table = table.view().tile::<m![V], 10, m![V = 10 # 40, W]>(from);
        table.dma_gather_rows_view(&mut ctx.tdma, &ids, tile);
        rows.to_hbm(&mut ctx.tdma, 1 << 20)
    }

    /// 12 of 16 bytes, which end in a unit of 8 bytes: the other ones are padding of the row.
    #[device(chip = 1)]
    fn padded(ctx: &mut Context, table: &Gapped<m![V]>, ids: &Index, first: usize) -> Gapped<m![S]> {
        let mut rows = table.dma_gather_rows::<m![1 # 2], Half, m![S, B # 16], _>(&mut ctx.tdma, ids, 0);
        let ids = ids.view().tile::<m![S], 4, m![S = 4 # 8]>(0);
        let tile = rows.view_mut().tile::<m![S], 4, m![S = 4 # 8, B # 16]>(first);
        table.view().dma_gather_rows_view(&mut ctx.tdma, &ids, tile);
        rows.to_hbm(&mut ctx.tdma, 1 << 20)
    }

    /// 8 of 16 bytes, and 12 of 16: these are written together with 4 bytes of another tile.
    #[device(chip = 1)]
    fn narrow(ctx: &mut Context, table: &Wide<m![V]>, ids: &Index, bytes: usize) {
        let mut rows = table.dma_gather_rows::<m![1 # 2], Half, m![S, W], _>(&mut ctx.tdma, ids, 0);
        if bytes == 8 {
            let table = table.view().tile::<m![W], 8, m![V, W = 8 # 16]>(0);
            let tile = rows.view_mut().tile::<m![W], 8, m![S, W = 8 # 16]>(8);
            table.dma_gather_rows_view(&mut ctx.tdma, ids, tile);
        } else {
            let table = table.view().tile::<m![W], 12, m![V, W = 12 # 16]>(0);
            let tile = rows.view_mut().tile::<m![W], 12, m![S, W = 12 # 16]>(0);
            table.dma_gather_rows_view(&mut ctx.tdma, ids, tile);
        }
    }

    /// Half of the slices.
    #[device(chip = 1)]
    fn of_slices(ctx: &mut Context, table: &Wide<m![V]>, ids: &Index, cache: &mut Wide<m![P]>, first: usize) {
        let rows = table.dma_gather_rows::<m![1 # 2], m![S # 256], m![W], _>(&mut ctx.tdma, ids, 0);
        let ids = ids.view().tile::<m![S], 4, m![S = 4 # 8]>(0);
        let tile = rows.view().slice_tile::<m![S], 4, m![S = 4 # 256]>(first);
        tile.dma_scatter_rows_view(&mut ctx.tdma, &ids, cache.view_mut(), Duplicates::Equal);
    }

    const IDS: [i32; 8] = [9, 0, 5, 3, 12, 38, 7, 39];

    async fn index(ctx: &mut Context) -> Index {
        HostTensor::<i32, m![S]>::from_buf(init(&IDS)).to_hbm(&mut ctx.pdma, 1 << 16).await
    }

    /// A table of rows that hold their number.
    async fn numbered<Row: M, Stored: M>(ctx: &mut Context) -> HbmTensor<i8, One, m![V, { Stored }]> {
        let rows: Vec<i8> = (0..V::SIZE * Row::SIZE).map(|k| (k / Row::SIZE) as i8).collect();
        HostTensor::<i8, m![V, { Row }]>::from_buf(init(&rows)).to_hbm(&mut ctx.pdma, 0).await
    }

    /// The numbers of the rows, of which four were overwritten from `first` on.
    fn expected(first: usize, from: i32, row: usize) -> Vec<i8> {
        let mut rows = IDS;
        (0..4).for_each(|k| rows[first + k] = IDS[k] + from);
        rows.iter().flat_map(|&id| vec![id as i8; row]).collect()
    }

    #[test]
    fn rows_are_counted_from_the_start_of_a_tile() {
        block_on(async {
            for (from, first) in [(0, 0), (7, 4), (30, 4)] {
                let mut ctx = Context::acquire();
                let (table, ids) = (numbered::<m![W], m![W]>(&mut ctx).await, index(&mut ctx).await);
                let rows = launch(of_a_tile, (&mut *ctx, &table, &ids, from, first)).await;
                let found = rows.to_host::<m![S, W]>(&mut ctx.pdma).await.to_buf();
                crate::assert_same(&found, &expected(first, from as i32, 16));
            }
        });
    }

    #[test]
    fn a_tile_ends_with_its_units_of_eight_bytes() {
        let fault = |bytes: usize| {
            block_on(async {
                let mut ctx = Context::acquire();
                let (table, ids) = (numbered::<m![W], m![W]>(&mut ctx).await, index(&mut ctx).await);
                try_launch(narrow, (&mut *ctx, &table, &ids, bytes)).await
            })
        };
        assert!(fault(8).is_ok());
        let text = fault(12).expect_err("four bytes are those of another tile").to_string();
        for part in [
            "dma_gather_rows: refused: a transfer from HBM writes multiples of 8 bytes",
            "there is i![S: 0, W: 12]",
        ] {
            assert!(text.contains(part), "{text}");
        }
        block_on(async {
            for first in [0, 4] {
                let mut ctx = Context::acquire();
                let (table, ids) = (numbered::<m![B], m![B # 16]>(&mut ctx).await, index(&mut ctx).await);
                let rows = launch(padded, (&mut *ctx, &table, &ids, first)).await;
                let found = rows.to_host::<m![S, B]>(&mut ctx.pdma).await.to_buf();
                crate::assert_same(&found, &expected(first, 0, 12));
            }
        });
    }

    #[test]
    fn rows_start_in_the_first_slice() {
        let ran = |first: usize| {
            block_on(async {
                let mut ctx = Context::acquire();
                let (table, ids) = (numbered::<m![W], m![W]>(&mut ctx).await, index(&mut ctx).await);
                let zero = HostTensor::<i8, m![P, W]>::zero();
                let mut cache: Wide<m![P]> = zero.to_hbm(&mut ctx.pdma, 1 << 20).await;
                try_launch(of_slices, (&mut *ctx, &table, &ids, &mut cache, first)).await
            })
        };
        assert!(ran(0).is_ok());
        let text = ran(4).expect_err("slices from 4 on").to_string();
        let part = "dma_scatter_rows: refused: the tile lies from slice 4 on of its tensor, but rows are moved from the first";
        assert!(text.contains(part) && text.contains("help: start the tile at 0"), "{text}");
    }
}
