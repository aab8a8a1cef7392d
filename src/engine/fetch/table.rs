//! Table indexing: the entry of a table for each stored element.

use super::CheckedFetch;
use super::stages::Lookup;
use crate::command::Table;
use crate::engine::layout::StreamLayout;
use crate::engine::lookup_table::{LookupTable, TableIndex};
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{PositionBegin, PositionFetch};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::late::planned;
use crate::scalar::{ChipType, FetchCast, Scalar, StreamScalar};
use crate::tensor::WindowList;

mod sealed {
    pub trait Sealed {}
}

/// A table whose indices are elements of `D`: a [`LookupTable`] with entries of any type.
pub trait IndexedTable<D>: sealed::Sealed {
    /// The type of the entries.
    type Entry: Scalar;
    /// The table in the form that the chip takes.
    fn data(&self) -> Table;
}

impl<D, X> sealed::Sealed for LookupTable<D, X> {}

impl<D: TableIndex, X: Scalar> IndexedTable<D> for LookupTable<D, X> {
    type Entry = X;

    fn data(&self) -> Table {
        LookupTable::data(self)
    }
}

impl<'l, const T: Tu, D: Scalar, L: StreamLayout, Kind: ChipType, Windows: WindowList>
    StreamTensor<'l, T, PositionBegin<Kind, Windows>, D, L>
{
    /// Reads the tensor as a stream of table entries: each stored element is an index, and the entry, converted to `D2`,
    /// takes its place.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 8];
    /// /// Elements of four bits, decoded to f8e4m3 and widened to f32.
    /// fn decode<'l, const T: Tu>(
    ///     input: BeginTensor<'l, T, f4e2m1, m![1], m![1 # 2], m![1 # 256], m![1], m![A]>,
    /// ) -> FetchTensor<'l, T, f32, m![1], m![1 # 2], m![1 # 256], m![1], m![A]> {
    ///     input.fetch_with_table(&LookupTable::<f4e2m1, f8e4m3>::of_types())
    /// }
    /// ```
    ///
    /// Refused while compiling: the sub context, which has no tables, and everything that [`fetch`](Self::fetch)
    /// refuses. The elements of one fetch make at most 32 bytes, both as entries and as elements of `D2`. See
    /// [fetch](crate::guide::fetch), "Tables".
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn fetch_with_table<D2: StreamScalar, Time2: M, Packet2: M>(
        self,
        table: &impl IndexedTable<D, Entry: FetchCast<D2, Kind>>,
    ) -> StreamTensor<'l, T, PositionFetch, D2, L::With<Time2, Packet2>> {
        self.look_up(table)
    }

    #[track_caller]
    fn look_up<Entries, D2: StreamScalar, Time2: M, Packet2: M>(
        self,
        table: &Entries,
    ) -> StreamTensor<'l, T, PositionFetch, D2, L::With<Time2, Packet2>>
    where
        Entries: IndexedTable<D, Entry: FetchCast<D2, Kind>>,
    {
        let plan = *planned!(const CONFIG of CheckedFetch<D, D2, L, Time2, Packet2, T, Lookup<Entries::Entry>, Windows>);
        self.fetch_as(plan, Some(table.data()), None)
    }
}
