//! The Switch Engine: packets go around rings of slices.
//!
//! ```text
//!   sub-ring of 4 slices      each packet travels to the root and is passed on to all: one emission order
//!
//!   slice        0   1   2   3         emission of time step t:  0  1  2  3
//!   snoop       {0} {2} {1} {3}        slice 1 takes the packet of slice 2, slice 2 that of slice 1
//! ```

use crate::list::List;
use crate::spec;
use core::fmt;

/// The most digits of a slice number, and the most loops of a switch: 256 slices have 8 digits of 2 values.
pub const SWITCH_LOOPS: usize = 10;

/// The chip's generators of router settings. See `SwitchConfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SwitchVariant {
    /// Two slice digits become time, and all slices of a sub-ring get everything.
    Broadcast01,
    /// The outer one of two slice digits becomes time.
    Broadcast1,
    /// Two slice digits trade places.
    Transpose,
    /// A slice digit and a time digit trade places.
    InterTranspose,
    /// Any slice digits become time or stay, in any place: the sets are written as a bitmap.
    CustomBroadcast,
    /// The inner one of two slice digits becomes time, and the other one moves inwards.
    TransposedBroadcast1,
    /// All slices keep their packets.
    Forwarding,
}

impl SwitchVariant {
    /// All variants.
    pub const ALL: [SwitchVariant; 7] = [
        SwitchVariant::Broadcast01,
        SwitchVariant::Broadcast1,
        SwitchVariant::Transpose,
        SwitchVariant::InterTranspose,
        SwitchVariant::CustomBroadcast,
        SwitchVariant::TransposedBroadcast1,
        SwitchVariant::Forwarding,
    ];

    /// The name in `SwitchConfig`.
    pub const fn name(self) -> &'static str {
        match self {
            SwitchVariant::Broadcast01 => "Broadcast01",
            SwitchVariant::Broadcast1 => "Broadcast1",
            SwitchVariant::Transpose => "Transpose",
            SwitchVariant::InterTranspose => "InterTranspose",
            SwitchVariant::CustomBroadcast => "CustomBroadcast",
            SwitchVariant::TransposedBroadcast1 => "TransposedBroadcast1",
            SwitchVariant::Forwarding => "Forwarding",
        }
    }
}

display_name!(SwitchVariant);

/// A digit of the number of the receiving slice. Digits are read from the outermost one on: each takes its value from
/// the number and leaves the rest to the digits inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnoopDigit {
    /// Slices per value.
    pub base: usize,
    /// Number of values. A slice with a larger value, or with a rest after all digits, receives nothing.
    pub count: usize,
    /// Slices between the first sources of neighbouring values. 0: all values receive the same packets.
    pub weight: usize,
}

/// Evenly spaced sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnoopLoop {
    /// Number of sources.
    pub size: usize,
    /// Slices between two of them.
    pub step: usize,
}

/// The sets of sources of all slices, `snoop[s']`: a first source per receiving slice, given by its digits, plus
/// offsets that are the same for all slices.
///
/// ```text
///   snoop[s'] = first(s') + { Σ index * step }        index < size, for each loop
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snoop {
    /// The digits of the receiving slice, outermost first.
    pub digits: List<SnoopDigit, SWITCH_LOOPS>,
    /// The offsets, outermost loop first, so that they ascend.
    pub offsets: List<SnoopLoop, SWITCH_LOOPS>,
}

impl Snoop {
    /// A snoop in which every slice takes only its own packets.
    pub const fn new() -> Self {
        Self {
            digits: List::new(SnoopDigit { base: 1, count: 1, weight: 0 }),
            offsets: List::new(SnoopLoop { size: 1, step: 0 }),
        }
    }

    /// The first source of a slice. `None` if the slice receives nothing.
    pub fn first_source(&self, slice: usize) -> Option<usize> {
        let (mut rest, mut source) = (slice, 0usize);
        for digit in &self.digits {
            let value = rest / digit.base.max(1);
            if value >= digit.count {
                return None;
            }
            rest %= digit.base.max(1);
            source = source.saturating_add(value.saturating_mul(digit.weight));
        }
        (rest == 0).then_some(source)
    }

    /// The sources of a slice, in the order of their emission.
    pub fn sources(&self, slice: usize) -> Vec<usize> {
        let first = self.first_source(slice);
        let all = |sources: Vec<usize>, offset: &SnoopLoop| -> Vec<usize> {
            let steps = |source: usize| (0..offset.size).map(move |k| source + k * offset.step);
            sources.into_iter().flat_map(steps).collect()
        };
        self.offsets.iter().fold(first.into_iter().collect(), all)
    }

    /// Number of sources of a slice that receives something.
    pub fn count(&self) -> usize {
        self.offsets.iter().fold(1, |count, offset| count.saturating_mul(offset.size))
    }
}

impl Default for Snoop {
    fn default() -> Self {
        Self::new()
    }
}

/// The packets of its sources that a slice takes: those with `t / period % size == s' / slices % size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeGate {
    /// Time steps per value.
    pub period: usize,
    /// Number of values.
    pub size: usize,
    /// Receiving slices per value.
    pub slices: usize,
}

impl TimeGate {
    /// The first time step that a slice takes.
    pub const fn first_step(&self, slice: usize) -> usize {
        slice / self.slices % self.size * self.period
    }
}

/// The order in which the root of a sub-ring emits the packets of its slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emission {
    /// All slices, ascending, for each time step: `t, s`.
    SliceInTime,
    /// `Broadcast01`: `t1, s1, t0, s0`, with `slice0` values of `s0` and `time0` values of `t0`.
    Nested {
        /// Slices that take turns.
        slice0: usize,
        /// Time steps of the turns.
        time0: usize,
    },
}

/// A loop over the time of the outgoing stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchLoop {
    /// Iterations.
    pub size: usize,
    /// Slices between the sources of neighbouring iterations.
    pub slices: usize,
    /// Time steps between the sources of neighbouring iterations.
    pub time: usize,
}

/// The Switch Engine: redistributes the packets of a cluster over its slices.
///
/// `time_digits` give the result: at time `t'`, slice `s'` gets the packet of slice
/// `first_source(s') + Σ index * slices` and time `first_step(s') + Σ index * time`. Emission order, sets and gate give
/// the work of the routers. The chip refuses a command in which the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The generator.
    pub variant: SwitchVariant,
    /// Slices of a sub-ring: a power of two.
    pub ring_size: usize,
    /// Packets that each slice sends: `|InTime|`.
    pub in_time: usize,
    /// The outgoing stream, outermost loop first.
    pub time_digits: List<SwitchLoop, SWITCH_LOOPS>,
    /// The slices whose packets each slice takes.
    pub snoop: Snoop,
    /// The gate of these packets. `None`: all are taken.
    pub gate: Option<TimeGate>,
    /// The order of all packets of a sub-ring.
    pub emission: Emission,
}

impl Switch {
    /// Forwarding: every slice keeps its packets. A command without a switch does the same.
    pub const fn forwarding(slices: usize, in_time: usize) -> Self {
        let mut switch = Self::blank(SwitchVariant::Forwarding, 1, in_time);
        switch.push_digit(1, slices, 1);
        switch.push_time(in_time, 0, 1);
        switch
    }

    /// A switch without digits and loops.
    pub const fn blank(variant: SwitchVariant, ring_size: usize, in_time: usize) -> Self {
        let time_digits = List::new(SwitchLoop { size: 1, slices: 0, time: 0 });
        let (snoop, emission) = (Snoop::new(), Emission::SliceInTime);
        Self { variant, ring_size, in_time, time_digits, snoop, gate: None, emission }
    }

    /// Adds a digit of the receiving slice inside the present ones.
    pub const fn push_digit(&mut self, base: usize, count: usize, weight: usize) {
        if count == 1 {
            return;
        }
        let digits = &mut self.snoop.digits;
        if let Some(outer) = digits.last()
            && outer.base == base * count
            && outer.weight == weight * count
        {
            digits.set(digits.len() - 1, SnoopDigit { base, count: outer.count * count, weight });
            return;
        }
        digits.push(SnoopDigit { base, count, weight });
    }

    /// Adds a loop over the outgoing stream inside the present ones.
    pub const fn push_time(&mut self, size: usize, slices: usize, time: usize) {
        if size > 1 {
            self.time_digits.push(SwitchLoop { size, slices, time });
        }
    }

    /// Adds sources inside the present ones.
    pub const fn push_offsets(&mut self, size: usize, step: usize) {
        if size > 1 {
            self.snoop.offsets.push(SnoopLoop { size, step });
        }
    }

    /// Packets that each slice receives: `|OutTime|`. The number saturates.
    pub fn out_time(&self) -> usize {
        self.time_digits.iter().fold(1, |time, digit| time.saturating_mul(digit.size))
    }

    /// The first source of a slice: slice and time step. `None` if the slice receives nothing.
    pub fn first_source(&self, slice: usize) -> Option<(usize, usize)> {
        let step = self.gate.map_or(0, |gate| gate.first_step(slice));
        Some((self.snoop.first_source(slice)?, step))
    }

    /// Source of the packet that a slice receives at a time step: slice and time step.
    pub fn source(&self, slice: usize, step: usize) -> Option<(usize, usize)> {
        let (mut source, mut time) = self.first_source(slice)?;
        let mut rest = step;
        for digit in self.time_digits.iter().rev() {
            let index = rest % digit.size;
            rest /= digit.size;
            source += index * digit.slices;
            time += index * digit.time;
        }
        (rest == 0).then_some((source, time))
    }

    /// Share of the emitted packets that a slice takes: numerator and denominator, in lowest terms.
    pub fn delivered(&self) -> (usize, usize) {
        let (taken, sent) = (self.out_time(), self.ring_size.saturating_mul(self.in_time));
        let common = crate::mapping::gcd(taken, sent).max(1);
        (taken / common, sent / common)
    }

    /// The emission order, outermost loop first.
    pub fn emission_order(&self) -> &'static str {
        match self.emission {
            Emission::SliceInTime => "time, source slice",
            Emission::Nested { .. } => "time1, slice1, time0, slice0",
        }
    }

    /// True if a bitmap has to be written to the routers first.
    pub const fn loads_bitmap(&self) -> bool {
        matches!(self.variant, SwitchVariant::CustomBroadcast)
    }
}

/// The digits and offsets, for example `s' / 32 * 32 + s' % 8 + {0, 8, 16, 24}`.
impl fmt::Display for Snoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut inside = None;
        for SnoopDigit { base, count, weight } in &self.digits {
            let outer = inside.replace(*base);
            if *weight == 0 || *count == 1 {
                continue;
            }
            write!(f, "{}s'", if first { "" } else { " + " })?;
            if let Some(outer) = outer {
                write!(f, " % {outer}")?;
            }
            if *base > 1 {
                write!(f, " / {base}")?;
            }
            if *weight > 1 {
                write!(f, " * {weight}")?;
            }
            first = false;
        }
        for SnoopLoop { size, step } in &self.offsets {
            let last = size.saturating_sub(1).saturating_mul(*step);
            write!(f, "{}", if first { "" } else { " + " })?;
            match size {
                2..=4 => {
                    let all: Vec<String> = (0..*size).map(|k| (k * step).to_string()).collect();
                    write!(f, "{{{}}}", all.join(", "))?;
                }
                _ => write!(f, "{{0, {step}, .., {last}}}")?,
            }
            first = false;
        }
        if first { write!(f, "0") } else { Ok(()) }
    }
}

/// The settings of the routers.
impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variant, ring_size, snoop, gate, .. } = self;
        write!(f, "switch {variant}, ring {ring_size}, snoop[s'] = {snoop}")?;
        if let Some(TimeGate { period, size, slices }) = gate {
            let every = |steps: &usize| if *steps > 1 { format!(" / {steps}") } else { String::new() };
            write!(f, " where t{} % {size} = s'{} % {size}", every(period), every(slices))?;
        }
        let (taken, sent) = self.delivered();
        write!(f, ", emission {}, delivered {taken}/{sent}", self.emission_order())
    }
}

/// Cycles of the Switch Engine: a ring passes each flit once per member. Forwarding is a ring of one.
pub const fn switch_cycles(ring_size: u64, time: u64, packet_bytes: u64) -> u64 {
    ring_size * time * packet_bytes.div_ceil(spec::FLIT_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Broadcast1 { slice1: 4, slice0: 8 }` of 256 slices and 6 time steps.
    fn broadcast1() -> Switch {
        let mut switch = Switch::blank(SwitchVariant::Broadcast1, 32, 6);
        switch.push_digit(32, 8, 32);
        switch.push_digit(8, 4, 0);
        switch.push_digit(1, 8, 1);
        switch.push_offsets(4, 8);
        switch.push_time(6, 0, 1);
        switch.push_time(4, 8, 0);
        switch
    }

    #[test]
    fn a_switch_knows_where_its_packets_come_from() {
        let switch = broadcast1();
        assert_eq!((switch.out_time(), switch.delivered(), switch.snoop.count()), (24, (1, 8), 4));
        assert_eq!(switch.snoop.sources(45), [37, 45, 53, 61]);
        assert_eq!(switch.source(45, 4 * 5 + 3), Some((61, 5)));
        assert_eq!(switch.source(45, 24), None, "the stream is over");
        assert_eq!(
            switch.to_string(),
            "switch Broadcast1, ring 32, snoop[s'] = s' / 32 * 32 + s' % 8 + {0, 8, 16, 24}, \
             emission time, source slice, delivered 1/8"
        );
        let switch = Switch::forwarding(256, 6);
        assert_eq!(
            (switch.source(200, 5), switch.out_time(), switch.delivered()),
            (Some((200, 5)), 6, (1, 1))
        );
        assert!(switch.to_string().contains("snoop[s'] = s', "), "{switch}");
    }

    #[test]
    fn slices_of_padding_receive_nothing() {
        let mut switch = Switch::blank(SwitchVariant::CustomBroadcast, 256, 1);
        // m![A # 16, 1 # 16] with A = 5 from m![1 # 16, A # 16].
        switch.push_digit(16, 5, 1);
        assert_eq!(switch.snoop.first_source(64), Some(4));
        assert_eq!(switch.snoop.first_source(80), None);
        assert_eq!(switch.snoop.first_source(65), None);
        assert_eq!(switch.snoop.to_string(), "s' / 16");
        assert!(switch.loads_bitmap() && !broadcast1().loads_bitmap());
        assert_eq!(SwitchVariant::ALL.map(SwitchVariant::name)[3], "InterTranspose");
    }
}
