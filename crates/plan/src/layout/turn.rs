//! The pass that turns an operand: it lies in DM as in HBM, and leaves with the innermost summed axis innermost.
//!
//! ```text
//!   brought  [.., K, N]   a packet is up to 8 elements of N
//!   turned   [.., N, K]   the Transpose Engine takes packets of 8 bytes of K, and gives one packet for each of N
//! ```

use super::digits::Digits;
use super::notation::{Mapping, Notation};
use crate::choice::{Level, Spread, Turned};
use crate::problem::Role;
use core::slice::from_ref;
use furiosa_visa_rules::spec;

/// Mappings of the pass that turns an operand in DM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Elements in DM as they are brought.
    pub brought: Mapping,
    /// Time and packet of the fetch.
    pub fetch: [Mapping; 2],
    /// Packet of the collect.
    pub flit: Mapping,
    /// Time and packet behind the Transpose Engine.
    pub turned: [Mapping; 2],
}

/// An operand before it is turned.
pub(super) struct Brought<'a> {
    pub digits: &'a Digits<'a>,
    pub notation: &'a Notation,
    /// The role of the operand's own axes.
    pub own: Role,
    /// The part of the operand that a slice loads.
    pub spread: Option<Spread>,
    /// The digit that counts the parts of a sum, if the operand has all of them.
    pub parts: &'a [String],
    /// The innermost summed axis.
    pub last: usize,
}

impl Brought<'_> {
    /// The mappings of the pass.
    pub(super) fn turn(&self, Turned { axis, columns }: Turned) -> Option<Turn> {
        let Self { digits, notation, own, spread, parts, last } = *self;
        let bits = digits.problem.element.bits();
        let flit = spec::FLIT_BYTES * 8 / bits;
        let rows = spec::TRANSPOSE_ROW_BYTES * 8 / bits;
        let parted = spread.filter(|spread| spread.axis == axis).map_or(1, |spread| spread.count);
        let local = digits.choice.splits[axis].at(Level::Local) / parted;
        // All digits but those of the axis that goes inside, and from `low` positions of the summed axis on.
        let others = |role: Role, low: usize| digits.local(role, spread, &[(axis, local), (last, low)], true);
        let outer = [others(own, 1), parts.to_vec()].concat();
        let inner: Vec<String> = digits.digit(axis, 1, local).into_iter().collect();
        let brought = [outer.clone(), others(Role::Summed, 1), inner].concat();
        let groups: Vec<String> = digits.digit(axis, columns, local / columns).into_iter().collect();
        let outer = [outer, groups, others(Role::Summed, rows)].concat();
        let [row, column] = [digits.digit(last, 1, rows)?, digits.digit(axis, 1, columns)?];
        let with = |digit: &String| notation.list(&[&outer, from_ref(digit)].concat());
        let padded = |digit: &String| notation.list(&[format!("{digit} # {flit}")]);
        Some(Turn {
            brought: notation.list(&brought)?,
            fetch: [with(&row)?, notation.list(from_ref(&column))?],
            flit: padded(&column)?,
            turned: [with(&column)?, padded(&row)?],
        })
    }
}
