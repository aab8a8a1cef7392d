//! Switch Engine: redistributes packets over the slices of a cluster.
//!
//! ```text
//!   fetch ──▶ switch ──▶ collect          Slice and Time change; packets stay as they are
//! ```
//!
//! Slices form rings, and each packet goes around its ring once. A slice takes the packets that it needs, in the order
//! in which they pass. So slice digits can become time, innermost and in their order, and slice digits can trade
//! places.
//!
//! The pictures have 8 slices `m![A]` with 2 packets each. `a3` is packet 0 of slice 3, `b3` its packet 1. `X` and `Y` are
//! new axes.
//!
//! [`SwitchConfig::Broadcast1`]` { slice1: 2, slice0: 2 }`: `s1` becomes time. In pairs of pairs, slices get their own packets
//! and those of their counterpart.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, X, A % 2], m![T, A / 2 % 2]
//!
//!   slice     0      1      2      3      4      5      6      7
//!   before    a0 b0  a1 b1  a2 b2  a3 b3  a4 b4  a5 b5  a6 b6  a7 b7
//!   after     a0 a2  a1 a3  a0 a2  a1 a3  a4 a6  a5 a7  a4 a6  a5 a7
//!             b0 b2  b1 b3  b0 b2  b1 b3  b4 b6  b5 b7  b4 b6  b5 b7
//! ```
//!
//! [`SwitchConfig::TransposedBroadcast1`]` { slice1: 2, slice0: 2 }`: `s0` becomes time, and `s1` takes its place.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, X, A / 2 % 2], m![T, A % 2]
//!
//!   after     a0 a1  a2 a3  a0 a1  a2 a3  a4 a5  a6 a7  a4 a5  a6 a7
//!             b0 b1  b2 b3  b0 b1  b2 b3  b4 b5  b6 b7  b4 b5  b6 b7
//! ```
//!
//! [`SwitchConfig::Broadcast01`]` { slice1: 2, slice0: 2, time0: 2 }`: both digits become time. `time0` packets of the
//! slices of one `s1` come before those of the next.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, X, Y], m![A / 2 % 2, T, A % 2]
//!
//!   after     a0 a1 b0 b1 a2 a3 b2 b3   in slices 0 to 3      a4 a5 b4 b5 a6 a7 b6 b7   in slices 4 to 7
//! ```
//!
//! [`SwitchConfig::Transpose`]` { slice1: 2, slice0: 2 }`: both digits stay and trade places.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, A % 2, A / 2 % 2], m![T]
//!
//!   after     a0 b0  a2 b2  a1 b1  a3 b3  a4 b4  a6 b6  a5 b5  a7 b7
//! ```
//!
//! [`SwitchConfig::InterTranspose`]` { slice1: 2, slice0: 2, time0: 1 }`: `s1` becomes time, and a time digit of the same size
//! becomes a slice digit.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A / 4, T, A % 2], m![A / 2 % 2]
//!
//!   after     a0 a2  a1 a3  b0 b2  b1 b3  a4 a6  a5 a7  b4 b6  b5 b7
//! ```
//!
//! [`SwitchConfig::CustomBroadcast`]` { ring_size: 8 }`: digits in any order, here reversed.
//!
//! ```text
//!   m![A / 4, A / 2 % 2, A % 2], m![T]     ──▶     m![A % 2, A / 2 % 2, A / 4], m![T]
//!
//!   after     a0 b0  a4 b4  a2 b2  a6 b6  a1 b1  a5 b5  a3 b3  a7 b7
//! ```
//!
//! # Time
//!
//! The cycles are ring size × `|InTime|` × flits of a packet, independent of the number of packets that each slice
//! takes. The number of sub-rings does not matter: they work side by side. [`FetchTensor::switch_to`] derives the
//! configuration with the smallest ring.
//!
//! # Positions that hold data
//!
//! With a new axis `X` all copies hold data. With padding, `1 # n`, only the copy at 0 does; with `X # n` the first
//! `|X|` copies. A digit that `CustomBroadcast` drops, because neither `Slice2` nor `Time2` has it, leaves its
//! coordinate 0. A digit that becomes time may be cut with `= n`.
//!
//! # Limits
//!
//! Clusters exchange nothing: use the DMA engines for that. The ring of `CustomBroadcast` is a power of two from which
//! on all digits keep their places, counted before and after the switch and with copies. The vendor's rule counts only
//! the places before: it gives the same rings, except for padding that lets a digit jump outwards, and for copies on
//! former padding.

/// Returns early with a reason: the rule, the edit, and the text as in `text!`.
macro_rules! broken {
    ($rule:expr, $help:expr, $($text:tt)+) => {
        return Err($crate::engine::switch::Reason {
            rule: $rule,
            help: $help,
            text: $crate::text::text!($($text)+),
        })
    };
}

pub mod config;
pub mod custom;
pub mod regular;
pub mod search;

pub use config::SwitchConfig;
pub use custom::derive_custom;
pub use regular::derive_regular;
pub use search::derive_switch_to;

use crate::command::Switch;
use crate::error::PlanError;
use crate::error::attempt;
use crate::mapping::Atom;
use crate::mapping::Axis;
use crate::mapping::Expr;
use crate::mapping::Factor;
use crate::mapping::Factors;
use crate::mapping::Pool;
use crate::mapping::Problem;
use crate::mapping::factors_of;
use crate::mapping::mentions;
use crate::text::Text;
use crate::text::text;

/// The call, for messages.
pub const OPERATION: &str = "switch";

const ONE: &Expr = &Expr::Identity;

/// The mappings that a switch connects.
#[derive(Clone, Copy, Debug)]
pub struct SwitchRequest {
    /// Slices of the incoming stream.
    pub in_slice: &'static Expr,
    /// Time of the incoming stream.
    pub in_time: &'static Expr,
    /// Slices of the outgoing stream.
    pub out_slice: &'static Expr,
    /// Time of the outgoing stream.
    pub out_time: &'static Expr,
    /// Mappings that the switch does not change: chips, clusters, and the packet. They contain no new axis.
    pub others: [&'static Expr; 3],
}

impl SwitchRequest {
    /// A switch of a stream with unknown chips, clusters and packet.
    pub const fn new(
        in_slice: &'static Expr,
        in_time: &'static Expr,
        out_slice: &'static Expr,
        out_time: &'static Expr,
    ) -> Self {
        Self { in_slice, in_time, out_slice, out_time, others: [ONE; 3] }
    }
}

/// A configuration, and the router settings that follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchDerivation {
    /// The configuration.
    pub config: SwitchConfig,
    /// The settings of the routers.
    pub switch: Switch,
}

/// The reason for refusing a configuration. The code that reports it adds the configuration and the operation.
#[derive(Clone, Copy)]
pub struct Reason {
    rule: &'static str,
    text: Text,
    help: &'static str,
}

/// The mappings of a request in normal form.
pub struct Mappings {
    request: SwitchRequest,
    in_slice: Factors,
    in_time: Factors,
    out_slice: Factors,
    out_time: Factors,
    others: [Factors; 3],
}

impl Mappings {
    const fn of(pool: &mut Pool, request: &SwitchRequest) -> Result<Self, PlanError> {
        Ok(Self {
            request: *request,
            in_slice: attempt!(factors_of(OPERATION, pool, request.in_slice)),
            in_time: attempt!(factors_of(OPERATION, pool, request.in_time)),
            out_slice: attempt!(factors_of(OPERATION, pool, request.out_slice)),
            out_time: attempt!(factors_of(OPERATION, pool, request.out_time)),
            others: [
                attempt!(factors_of(OPERATION, pool, request.others[0])),
                attempt!(factors_of(OPERATION, pool, request.others[1])),
                attempt!(factors_of(OPERATION, pool, request.others[2])),
            ],
        })
    }

    /// Checks the condition of all variants: the number of slices stays the same.
    const fn check_slices(&self) -> Result<(), Reason> {
        let (before, after) = (self.in_slice.size(), self.out_slice.size());
        if before == after {
            return Ok(());
        }
        broken!(
            "switch slice size",
            "pad the smaller one with `#`, or give copies an axis of their own",
            "input and output have equal numbers of slices, but `InSlice` {} has {} and `OutSlice` {} has {}",
            mapping(self.request.in_slice),
            number(before),
            mapping(self.request.out_slice),
            number(after),
        )
    }

    /// Checks that chips, clusters and the packet do not have a new axis.
    const fn check_unused(&self, pool: &Pool, tile: &Factors) -> Result<(), Reason> {
        const NAMES: [&str; 3] = ["Chip", "Cluster", "Packet"];
        let mut k = 0;
        while k < NAMES.len() {
            if let Some(axis) = shared_axis(pool, tile, &[&self.others[k]]) {
                broken!(
                    "switch new axes",
                    "declare an axis for the copies",
                    "`OutSlice` broadcast axes must be new axes, but `{}` of {} is in `{}` {} already",
                    str(axis.name.as_str()),
                    factors(pool, tile),
                    str(NAMES[k]),
                    mapping(self.request.others[k]),
                );
            }
            k += 1;
        }
        Ok(())
    }
}

/// True if two mappings are the same, and could be derived.
pub const fn same(a: &Factors, b: &Factors) -> bool {
    a.problem().is_none() && b.problem().is_none() && a.is(b)
}

/// Finds an axis of a mapping, by itself or in a product, that one of `others` has.
pub const fn shared_axis(pool: &Pool, factors: &Factors, others: &[&Factors]) -> Option<Axis> {
    let list = factors.as_slice();
    let mut k = 0;
    while k < list.len() {
        if let Factor::Term { term, .. } = &list[k]
            && let Some(axis) = axis_in(pool, &term.atom, others)
        {
            return Some(axis);
        }
        k += 1;
    }
    None
}

const fn axis_in(pool: &Pool, atom: &Atom, others: &[&Factors]) -> Option<Axis> {
    match atom {
        Atom::Symbol(axis) => {
            let mut k = 0;
            while k < others.len() {
                let list = others[k].as_slice();
                let mut j = 0;
                while j < list.len() {
                    if mentions(pool, &list[j], atom) {
                        return Some(*axis);
                    }
                    j += 1;
                }
                k += 1;
            }
            None
        }
        Atom::Composite(composite) => {
            let content = pool.content(*composite);
            let mut k = 0;
            while k < content.len() {
                if let Factor::Term { term, .. } = &content[k]
                    && let Some(axis) = axis_in(pool, &term.atom, others)
                {
                    return Some(axis);
                }
                k += 1;
            }
            None
        }
    }
}

/// Checks all rules of a configuration, in order, and derives the router settings.
pub const fn derive(pool: &mut Pool, mappings: &Mappings, config: &SwitchConfig) -> Result<Switch, Reason> {
    attempt!(mappings.check_slices());
    match config {
        SwitchConfig::CustomBroadcast { ring_size } => {
            custom::derive_custom(pool, mappings, Some(*ring_size))
        }
        _ => regular::derive_regular(pool, mappings, config),
    }
}

/// Checks the mappings of a switch against a configuration, and derives the settings of the routers.
///
/// ```
/// use furiosa_visa_std::engine::switch::{SwitchConfig, SwitchRequest, derive_switch};
/// use furiosa_visa_std::prelude::*;
/// axes![A = 256, X = 4, T = 6];
/// let request = SwitchRequest::new(
///     <m![A]>::EXPR,
///     <m![T]>::EXPR,
///     <m![A / 32, X, A % 8]>::EXPR,
///     <m![T, A / 8 % 4]>::EXPR,
/// );
/// let found = derive_switch(&request, &SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 }).unwrap();
/// assert_eq!(found.switch.source(45, 4 * 5 + 3), Some((61, 5)));
/// assert!(derive_switch(&request, &SwitchConfig::Broadcast1 { slice1: 8, slice0: 4 }).is_err());
/// ```
///
/// # Errors
/// The first rule that the configuration breaks.
pub const fn derive_switch(
    request: &SwitchRequest,
    config: &SwitchConfig,
) -> Result<SwitchDerivation, PlanError> {
    let mut pool = Pool::new();
    let mappings = attempt!(Mappings::of(&mut pool, request));
    let derived = derive(&mut pool, &mappings, config);
    if pool.factors.overflowed() {
        return Err(PlanError::mapping(OPERATION, Problem::TooManyFactors));
    }
    match derived {
        Ok(switch) => Ok(SwitchDerivation { config: *config, switch }),
        Err(reason) => Err(PlanError::new(
            reason.rule,
            text!(
                "switch: `{}`: {}; help: {}",
                text(&config.notation(Text::new())),
                text(&reason.text),
                str(reason.help),
            ),
        )),
    }
}

/// Derives the configuration of the call. The error names the configuration that the call should have.
pub fn derive_given(
    request: &SwitchRequest,
    config: &SwitchConfig,
    cheapest: &SwitchDerivation,
) -> Result<SwitchDerivation, PlanError> {
    derive_switch(request, config).map_err(|error| {
        let other = cheapest.config.notation(Text::new());
        let text = Text::new().str(error.message()).str("; `").str(other.as_str()).str("` does it");
        PlanError::new(error.rule(), text)
    })
}
