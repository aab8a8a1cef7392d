//! Numbers of cycles, each with its certainty.

use crate::named::named;

named! {
    /// Certainty of a cost. Every number in a report has one.
    pub enum CostClass {
        /// Stated by the vendor's public documentation. The `guide::clock` has it.
        Documented = "documented",
        /// Follows by arithmetic from stated numbers.
        Derived = "derived",
        /// Follows from measurements of users on chips. The `guide::clock` has the figures.
        Reported = "reported",
        /// Chosen by this model: no public source states it.
        Assumed = "assumed",
    }
}

impl CostClass {
    /// The less certain of two classes: the class of a sum of both.
    pub const fn and(self, other: CostClass) -> CostClass {
        if (self as u8) < (other as u8) { other } else { self }
    }

    /// One letter, for tables: `D`, `d`, `r` or `a`.
    pub const fn letter(self) -> char {
        match self {
            CostClass::Documented => 'D',
            CostClass::Derived => 'd',
            CostClass::Reported => 'r',
            CostClass::Assumed => 'a',
        }
    }
}

/// A number of core cycles (1 GHz), its certainty and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Core cycles.
    pub cycles: u64,
    /// Certainty of the number.
    pub class: CostClass,
    /// Rule that gives the number.
    pub source: &'static str,
}

impl Cost {
    /// A cost that is documented.
    pub const fn documented(cycles: u64, source: &'static str) -> Self {
        Self { cycles, class: CostClass::Documented, source }
    }

    /// A cost that this model chooses.
    pub const fn assumed(cycles: u64, source: &'static str) -> Self {
        Self { cycles, class: CostClass::Assumed, source }
    }
}

named! {
    /// The model of time that is used.
    #[derive(Default)]
    pub enum Profile {
        /// Documented formulas only. Everything else costs nothing, and operations that run at the same time do not slow
        /// each other down.
        Book = "book",
        /// Banks of DM, paths to them and channels of HBM as they are used. Where nothing is stated,
        /// [`Numbers`](super::Numbers) that users of chips report or that are assumed.
        #[default]
        Detailed = "detailed",
    }
}

named! {
    /// Use of the two switch channels of a slice, one per context. No call of the API selects it.
    #[derive(Default)]
    pub enum Channels {
        /// Each context has its own channel: flits of 32 bytes.
        #[default]
        Single = "single",
        /// A pass of the main context takes both: up to 64 bytes per cycle from DM to the flit buffer, flits of 64 bytes.
        /// The sub context waits for it.
        Dual = "dual",
    }
}

impl Channels {
    /// Number of channels that a pass of the main context has.
    pub const fn of_main(self) -> usize {
        match self {
            Channels::Single => 1,
            Channels::Dual => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_as_uncertain_as_its_parts() {
        use CostClass::{Assumed, Derived, Documented, Reported};
        assert_eq!(Documented.and(Documented), Documented);
        assert_eq!(Documented.and(Derived), Derived);
        assert_eq!(Assumed.and(Derived), Assumed);
        assert_eq!((Reported.and(Derived), Reported.and(Assumed)), (Reported, Assumed));
        assert_eq!([Documented, Derived, Reported, Assumed].map(CostClass::letter), ['D', 'd', 'r', 'a']);
        assert_eq!(
            format!("{Documented:>12}|{}|{}", Profile::Book, Profile::default()),
            "  documented|book|detailed"
        );
    }
}
