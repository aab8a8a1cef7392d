//! Switch Engine: redistributes packets over the slices of a cluster.

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
use crate::error::{PlanError, attempt};
use crate::mapping::{Atom, Axis, Expr, Factor, Factors, Pool, Problem, factors_of, mentions};
use crate::text::Text;

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
            (self.request.in_slice, before, self.request.out_slice, after),
        )
    }

    /// Checks that chips, clusters and the packet do not have a new axis.
    const fn check_unused(&self, pool: &Pool, tile: &Factors) -> Result<(), Reason> {
        const NAMES: [&str; 3] = ["Chip", "Cluster", "Packet"];
        each!(k < NAMES.len(), {
            if let Some(axis) = shared_axis(pool, tile, &[&self.others[k]]) {
                broken!(
                    "switch new axes",
                    "declare an axis for the copies",
                    "`OutSlice` broadcast axes must be new axes, but `{}` of {} is in `{}` {} already",
                    (axis.name.as_str(), factors(pool, tile), NAMES[k], self.request.others[k]),
                );
            }
        });
        Ok(())
    }
}

/// True if two mappings are the same, and could be derived.
pub const fn same(a: &Factors, b: &Factors) -> bool {
    a.problem().is_none() && b.problem().is_none() && a.is(b)
}

/// Finds an axis of a mapping, by itself or in a composite, that one of `others` has.
pub const fn shared_axis(pool: &Pool, factors: &Factors, others: &[&Factors]) -> Option<Axis> {
    let list = factors.as_slice();
    each!(k < list.len(), {
        if let Factor::Term { term, .. } = &list[k]
            && let Some(axis) = axis_in(pool, &term.atom, others)
        {
            return Some(axis);
        }
    });
    None
}

const fn axis_in(pool: &Pool, atom: &Atom, others: &[&Factors]) -> Option<Axis> {
    match atom {
        Atom::Symbol(axis) => {
            each!(k < others.len(), {
                let list = others[k].as_slice();
                each!(j < list.len(), {
                    if mentions(pool, &list[j], atom) {
                        return Some(*axis);
                    }
                });
            });
            None
        }
        Atom::Composite(composite) => {
            let content = pool.content(*composite);
            each!(k < content.len(), {
                if let Factor::Term { term, .. } = &content[k]
                    && let Some(axis) = axis_in(pool, &term.atom, others)
                {
                    return Some(axis);
                }
            });
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
        SwitchConfig::Forwarding => derive_forwarding(mappings),
        _ => regular::derive_regular(pool, mappings, config),
    }
}

/// Checks that neither slices nor time change.
const fn derive_forwarding(mappings: &Mappings) -> Result<Switch, Reason> {
    let request = &mappings.request;
    if !same(&mappings.in_slice, &mappings.out_slice) {
        broken!(
            "switch forwarded slices",
            "write `OutSlice` as `InSlice`",
            "slices keep their packets, but `OutSlice` {} is not `InSlice` {}",
            (request.out_slice, request.in_slice),
        );
    }
    if !same(&mappings.in_time, &mappings.out_time) {
        broken!(
            "switch forwarded time",
            "write `OutTime` as `InTime`",
            "packets keep their order, but `OutTime` {} is not `InTime` {}",
            (request.out_time, request.in_time),
        );
    }
    Ok(Switch::forwarding(mappings.in_slice.size(), mappings.in_time.size()))
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
            text!("switch: `{}`: {}; help: {}", (&config.notation(Text::new()), &reason.text, reason.help)),
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
        PlanError::new(error.rule(), text!("{}; `{}` does it", (error.message(), &other)))
    })
}
