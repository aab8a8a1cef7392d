//! Two pieces of the stream: mappings of the calls that read and write a part of the tile.
//!
//! ```text
//!   tile      m![N % 128, K % 256]
//!   pieces    m![N % 128 = 112, K % 256], m![N % 128 = 16, K % 256]
//! ```
//!
//! A piece has the mappings of the tile, with the digit that is cut in so many positions.

use super::digits::Digits;
use super::notation::{Mapping, Notation};
use super::{Finish, Path};
use crate::choice::{Level, Pieces};

/// The mappings of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The digit that is cut.
    pub index: Mapping,
    /// Its first position in the piece.
    pub start: usize,
    /// Its positions in the piece.
    pub len: usize,
    /// Elements of the operand in HBM that are left.
    pub stored: Mapping,
    /// The piece from DM to the collect.
    pub stream: Path,
    /// Time of the products.
    pub time: Mapping,
    /// Time of the sums in a slice.
    pub accumulate: Mapping,
    /// Time of the sums over slices, if there are some.
    pub reduce: Option<Mapping>,
    /// Elements of the sums in DM that are left.
    pub of_sums: Mapping,
}

/// Mappings of a whole tile that its pieces change.
pub(super) struct OfTile<'a> {
    pub stream: &'a Path,
    pub time: &'a Mapping,
    pub accumulate: &'a Mapping,
    pub reduce: Option<&'a Mapping>,
    pub finish: &'a Finish,
}

impl Digits<'_> {
    /// The mappings of the pieces. `None`: a mapping does not have the digit that is cut.
    pub(super) fn pieces(
        &self,
        notation: &Notation,
        pieces: Pieces,
        tile: &OfTile<'_>,
    ) -> Option<[Piece; 2]> {
        let (axis, [first, second]) = (pieces.axis, pieces.sizes);
        let local = self.choice.splits[axis].at(Level::Local);
        let digit = self.digit(axis, 1, local)?;
        let piece = |start: usize, len: usize| {
            let cut = |mapping: &Mapping, text: &str| {
                let items: Vec<&str> = mapping.text.split(", ").collect();
                let place = items.iter().position(|item| *item == digit)?;
                let items = [&items[..place], &[text], &items[place + 1..]].concat();
                notation.list(&items.into_iter().map(str::to_string).collect::<Vec<_>>())
            };
            let (own, left) = (format!("{digit} = {len}"), format!("{digit} = {len} # {local}"));
            let own = |mapping: &Mapping| cut(mapping, &own);
            let optional =
                |mapping: Option<&Mapping>| mapping.map_or(Some(None), |whole| own(whole).map(Some));
            let path = tile.stream;
            let [fetch, packet] = &path.fetch;
            let [flits, flit] = &path.collect;
            Some(Piece {
                index: notation.list(core::slice::from_ref(&digit))?,
                start,
                len,
                stored: self.piece_in_hbm(notation, axis, &left)?,
                stream: Path {
                    element: own(&path.element)?,
                    fetch: [own(fetch)?, packet.clone()],
                    switch_time: optional(path.switch_time.as_ref())?,
                    collect: [own(flits)?, flit.clone()],
                    ..path.clone()
                },
                time: own(tile.time)?,
                accumulate: own(tile.accumulate)?,
                reduce: optional(tile.reduce)?,
                of_sums: cut(&tile.finish.element, &left)?,
            })
        };
        Some([piece(0, first)?, piece(first, second)?])
    }

    /// The stream in HBM with something else in the place of the local digit of an axis. `None`: it has no such digit.
    fn piece_in_hbm(&self, notation: &Notation, axis: usize, left: &str) -> Option<Mapping> {
        let (tensor, split) = (self.choice.stream(), &self.choice.splits[axis]);
        let local = split.at(Level::Local);
        if let Some(given) = &self.problem.hbm[tensor] {
            return given.with_digit(notation, (&self.problem.axes[axis].name, local), left);
        }
        let items = self.problem.tensors[tensor].iter().flat_map(|&own| match own == axis {
            true => {
                self.digit(axis, local, split.padded / local).into_iter().chain([left.to_string()]).collect()
            }
            false => vec![self.problem.axes[own].name.clone()],
        });
        notation.list(&items.collect::<Vec<_>>())
    }
}
