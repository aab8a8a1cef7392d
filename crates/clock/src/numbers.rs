//! Numbers of the detailed profile that the documentation does not decide, in one place.
//!
//! Each is a constant of [`spec`], of class reported or assumed. A profile file may set it to a value that was measured
//! on a chip: `VISA_PROFILE=FILE`. Documented numbers cannot be changed. See the `guide::clock`.

use super::cost::{Cost, CostClass, Profile};
use crate::json::object;
use core::fmt;
use furiosa_visa_rules::spec;
use serde_json::Value;

/// Properties of a number.
struct Facts {
    name: &'static str,
    class: CostClass,
    value: u64,
    most: u64,
    rule: &'static str,
    meaning: &'static str,
    source: &'static str,
}

/// Defines [`Number`] and the facts about each: its constant of [`spec`] and the class of it, the greatest value that a
/// profile file may give, its key there, the rule that it is part of, its meaning, and the reports that it follows from.
macro_rules! numbers {
    ($($Number:ident = $constant:ident, $Class:ident, up to $most:expr, $name:literal, $rule:literal:
        $meaning:literal, from $source:literal;)+) => {
        /// A number that a profile may set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Number {
            $(#[doc = concat!("[`spec::", stringify!($constant), "`].")] $Number,)+
        }

        /// Facts in the order of [`Number::ALL`].
        const FACTS: [Facts; Number::ALL.len()] = [$(Facts {
            name: $name,
            class: CostClass::$Class,
            value: spec::$constant,
            most: $most,
            rule: $rule,
            meaning: $meaning,
            source: $source,
        },)+];

        impl Number {
            /// All numbers.
            pub const ALL: [Number; [$($name),+].len()] = [$(Number::$Number),+];
        }
    };
}

numbers! {
    PassIssue = TENSOR_UNIT_ISSUE_CYCLES, Reported, up to 1 << 16, "pass_issue_cycles", "command issue":
        "cycles between a command of the Tensor Unit and its first fetch",
        from "K V158, V306: 7943 and 267 cycles";
    TableFlit = FETCH_TABLE_CYCLES, Reported, up to 1 << 10, "table_flit_cycles", "32 bytes through a table":
        "cycles in which 32 bytes are looked up in a table",
        from "K V31, V227: 5063, 9263 and 18 263 cycles";
    DmRead = DM_READ_LATENCY_CYCLES, Assumed, up to 1 << 10, "dm_read_cycles", "DM read":
        "cycles until a read of DM delivers",
        from "nothing";
    Cast = CAST_LATENCY_CYCLES, Assumed, up to 1 << 10, "cast_cycles", "Cast Engine":
        "cycles that the Cast Engine delays a stream by",
        from "nothing";
    Immediate = IMMEDIATE_LATENCY_CYCLES, Assumed, up to 1 << 10, "immediate_cycles", "first immediate":
        "cycles until the first immediate of a memset is written",
        from "nothing";
    SwitchHop = SWITCH_HOP_CYCLES, Reported, up to 1 << 6, "switch_hop_cycles", "ring - 1 hops":
        "cycles from a router to the next one of its ring",
        from "K V158, V263: 7943 and 1031 cycles";
    SwitchBitmap = SWITCH_BITMAP_CYCLES, Reported, up to 1 << 16, "switch_bitmap_cycles", "sets of the routers":
        "cycles in which the routers are set for a custom switch",
        from "K V201: 719 cycles";
    DmnAccess = DMN_ACCESS_TICKS, Reported, up to 1 << 10, "dmn_access_ticks", "128 bytes through a DMN":
        "ticks of 1/3 cycle in which a Data Memory Network moves 128 bytes for DMA",
        from "K V341, V344: one cluster, half of the slices";
    Copy = DMA_COPY_CYCLES, Reported, up to 1 << 16, "copy_cycles", "copies, slice after slice":
        "cycles from the copy for a slice to the one for the next slice, beside its bytes",
        from "K V331: 8 bytes to 512 slices";
    Index = DMA_INDEX_CYCLES, Reported, up to 1 << 16, "index_cycles", "index before rows":
        "cycles in which a gather or scatter gets its index before it moves rows",
        from "K V48: a row gathered, a row scattered";
    HbmRefresh = HBM_REFRESH_PER_MILLE, Reported, up to 1 << 12, "hbm_refresh_per_mille", "refresh of HBM":
        "ticks of refresh for every 1000 ticks in which HBM is used",
        from "K V197, V208, V211, V286: long loads";
    Synchronisation = SYNCHRONISATION_CYCLES, Reported, up to 1 << 20, "synchronisation_cycles", "clusters meet":
        "cycles in which both clusters meet before they load what was stored to HBM",
        from "K V280: 600 cycles";
}

impl Number {
    const fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// Its key in a profile file.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Certainty of the number.
    pub const fn class(self) -> CostClass {
        self.facts().class
    }

    /// Its value without a profile file.
    pub const fn default_value(self) -> u64 {
        self.facts().value
    }

    /// The greatest value that a profile file may give.
    pub const fn most(self) -> u64 {
        self.facts().most
    }

    /// Name of the rule that it is part of, as reports print it.
    pub const fn rule(self) -> &'static str {
        self.facts().rule
    }

    /// The reports that it follows from, by the names that their teams gave them. `tests/golden/chip.json` has the
    /// figures.
    pub const fn source(self) -> &'static str {
        self.facts().source
    }

    /// Its meaning, with its unit.
    pub const fn meaning(self) -> &'static str {
        self.facts().meaning
    }
}

/// A value for each [`Number`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Numbers([u64; Number::ALL.len()]);

impl Default for Numbers {
    fn default() -> Self {
        Self(Number::ALL.map(Number::default_value))
    }
}

/// Numbers that differ from their default.
impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.changed().map(|number| (number.name(), self.get(number)))).finish()
    }
}

impl Numbers {
    /// The value of a number.
    pub const fn get(&self, number: Number) -> u64 {
        self.0[number as usize]
    }

    /// The same numbers, with another value of `number`.
    #[must_use]
    pub const fn with(mut self, number: Number, value: u64) -> Self {
        self.0[number as usize] = value;
        self
    }

    /// Numbers that a profile file has set to another value.
    pub fn changed(&self) -> impl Iterator<Item = Number> + '_ {
        Number::ALL.into_iter().filter(|&number| self.get(number) != number.default_value())
    }

    /// Numbers of the text of a profile file: an object of names and values. Numbers that it leaves out keep their
    /// value.
    ///
    /// ```
    /// use furiosa_visa_std::clock::{Number, Numbers};
    /// let numbers = Numbers::from_json(r#"{"pass_issue_cycles": 300}"#).unwrap();
    /// assert_eq!(numbers.get(Number::PassIssue), 300);
    /// assert_eq!(numbers.get(Number::Copy), Number::Copy.default_value());
    /// let error = Numbers::from_json(r#"{"dma_startup_cycles": 300}"#).unwrap_err();
    /// assert!(error.starts_with("`dma_startup_cycles` is no number that a profile sets: what is documented stays"));
    /// ```
    ///
    /// # Errors
    /// Text with the error and its place: no JSON, another key, a value that is not a whole number or is too large.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let refused = |why: &dyn fmt::Display| format!("it is no object of names and numbers: {why}");
        let object = match text.parse() {
            Ok(Value::Object(object)) => object,
            Ok(other) => return Err(refused(&format_args!("it is `{other}`"))),
            Err(error) => return Err(refused(&error)),
        };
        let mut numbers = Self::default();
        for (key, value) in &object {
            let number = Number::ALL.into_iter().find(|number| number.name() == key);
            let Some(number) = number else {
                let names = Number::ALL.map(|number| format!("`{}`", number.name())).join(", ");
                return Err(format!(
                    "`{key}` is no number that a profile sets: what is documented stays; help: those that it sets are {names}"
                ));
            };
            let Some(given) = value.as_u64().filter(|&given| given <= number.most()) else {
                return Err(format!(
                    "`{key}` is {value}, but it is a whole number from 0 to {}: {}",
                    number.most(),
                    number.meaning()
                ));
            };
            numbers = numbers.with(number, given);
        }
        Ok(numbers)
    }

    /// Profile file that gives these numbers: those that are not the default.
    pub fn to_json(&self) -> Value {
        object(self.changed().map(|number| (number.name().to_string(), self.get(number).into())).collect())
    }
}

/// A profile with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The profile.
    pub profile: Profile,
    /// Its numbers that are not documented. The book profile uses none of them.
    pub numbers: Numbers,
}

impl Model {
    /// A profile with the default numbers.
    pub fn new(profile: Profile) -> Self {
        Self { profile, numbers: Numbers::default() }
    }

    #[cfg(test)]
    pub(super) fn with(self, number: Number, value: u64) -> Self {
        Self { numbers: self.numbers.with(number, value), ..self }
    }

    pub(super) fn is_detailed(&self) -> bool {
        self.profile == Profile::Detailed
    }

    /// Cost of `times` times a number. 0 in the book profile, which uses none of the numbers.
    pub fn cost(&self, number: Number, times: u64) -> Cost {
        match self.profile {
            Profile::Book => Cost::documented(0, number.rule()),
            Profile::Detailed => {
                let cycles = self.numbers.get(number).saturating_mul(times);
                Cost { cycles, class: number.class(), source: number.rule() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_those_of_their_numbers() {
        for (k, number) in Number::ALL.into_iter().enumerate() {
            assert_eq!(number as usize, k);
            assert!(number.default_value() <= number.most(), "{}", number.name());
            assert_eq!(
                number.class() == CostClass::Assumed,
                number.source() == "nothing",
                "{}",
                number.name()
            );
            assert!(matches!(number.class(), CostClass::Assumed | CostClass::Reported));
            let set = Numbers::from_json(&format!("{{\"{}\": {}}}", number.name(), number.most()));
            let set = set.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((set.get(number), set.changed().count()), (number.most(), 1));
            assert_eq!(Numbers::from_json(&set.to_json().to_string()), Ok(set));
            let beyond = format!("{{\"{}\": {}}}", number.name(), number.most() + 1);
            let error = Numbers::from_json(&beyond).expect_err("one too many");
            assert!(error.contains(&format!("a whole number from 0 to {}", number.most())), "{error}");
        }
    }

    #[test]
    fn wrong_files_are_refused_with_the_place() {
        for (text, part) in [
            ("", "it is no object of names and numbers: EOF while parsing a value at line 1 column 0"),
            ("[1]", "it is no object of names and numbers: it is `[1]`"),
            ("{\n  \"copy_cycles\": 3,\n}", "at line 3 column 1"),
            ("{\"copy_cycles\": 1.5}", "`copy_cycles` is 1.5, but it is a whole number from 0 to 65536"),
            ("{\"copy_cycles\": -1}", "`copy_cycles` is -1, but"),
            ("{\"copy_cycles\": \"3\"}", "`copy_cycles` is \"3\", but"),
            (
                "{\"copies\": 3}",
                "`copies` is no number that a profile sets: what is documented stays; help: those",
            ),
            ("{\"dma_startup_cycles\": 3}", "`dma_startup_cycles` is no number that a profile sets"),
        ] {
            let error = Numbers::from_json(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(Numbers::from_json("{}"), Ok(Numbers::default()));
    }

    #[test]
    fn the_book_knows_none_of_them() {
        for number in Number::ALL {
            assert_eq!(Model::new(Profile::Book).cost(number, 7).cycles, 0);
            let cost = Model::new(Profile::Detailed).cost(number, 7);
            assert_eq!((cost.cycles, cost.class), (7 * number.default_value(), number.class()));
        }
    }
}
