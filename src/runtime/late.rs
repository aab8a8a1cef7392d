//! Constants of plans as results, for calls that tell a refusal themselves: calls of another surface, and, with the feature
//! `late-refusals`, all calls, whose refusals are faults.
//!
//! ```text
//!               a plan's constant                            the call
//!   default     <Plan>::CONFIG: stops the compiler           planned!(CONFIG of Plan)  ──▶  <Plan>::CONFIG
//!   late        Late<Plan>::CONFIG: the same, as a result    planned!(CONFIG of Plan)  ──▶  its value, or a fault
//! ```
//!
//! A constant that is mentioned is evaluated, whether the code runs or not. So with the feature no call mentions one that
//! may be refused, and takes the constant of the same name of `Late` instead.

/// A constant of a plan in a call: `planned!(CONFIG of CommitPlan<…>)`, or `planned!(const CONFIG of …)` for a reference to
/// it. One that is refused stops the compiler, or, with `late-refusals`, the call.
#[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
macro_rules! planned {
    (const $name:ident of $plan:ty) => {
        const { $crate::list::kept!(<$plan>::$name) }
    };
    ($name:ident of $plan:ty) => {
        <$plan>::$name
    };
}

#[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
macro_rules! planned {
    (const $name:ident of $plan:ty) => {
        $crate::runtime::fault::accept_late(const { &$crate::runtime::late::Late::<$plan>::$name })
    };
    ($name:ident of $plan:ty) => {
        *planned!(const $name of $plan)
    };
}

/// A check in a call, as a constant result: the compiler refuses it, or, with `late-refusals`, the call.
#[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
macro_rules! planned_check {
    ($result:expr) => {
        const {
            if let Err(error) = $result {
                error.refuse()
            }
        }
    };
}

#[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
macro_rules! planned_check {
    ($result:expr) => {
        *$crate::runtime::fault::accept_late(const { &$result })
    };
}

/// The checks of operands that a call takes: those of the compiler. With `late-refusals`, making an operand refuses it.
#[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
macro_rules! planned_operands {
    ($check:expr) => {
        const { $check }
    };
}

#[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
macro_rules! planned_operands {
    ($check:expr) => {};
}

/// Items that are there with `late-refusals` alone.
#[cfg(not(all(feature = "late-refusals", not(feature = "early-refusals"))))]
macro_rules! when_late {
    ($($items:tt)*) => {};
}

#[cfg(all(feature = "late-refusals", not(feature = "early-refusals")))]
macro_rules! when_late {
    ($($items:tt)*) => { $($items)* };
}

use crate::error::PlanError;
use core::marker::PhantomData;
pub(crate) use {planned, planned_check, planned_operands, when_late};

/// The constants of a plan as results.
pub struct Late<Plan: ?Sized>(PhantomData<Plan>);

/// Type of a constant of [`Late`].
pub type Refusable<T> = Result<T, PlanError>;

/// A constant result by reference. A reference takes no copy in each constant that passes it on.
pub(crate) const fn by_reference<T>(result: &'static Refusable<T>) -> Refusable<&'static T> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => Err(*error),
    }
}
