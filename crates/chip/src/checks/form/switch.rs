//! The form of a switch: emission order, sets and gate must give the stream that is to arrive.
//!
//! Every switch is checked, whoever made it. The check is exact, and its time does not depend on the number of packets:
//! the emission order without the packets that a slice leaves out is again a nest of loops. Two nests give the same
//! packets if they are the same after evenly continuing neighbours are joined.

use super::{Form, MOST};
use furiosa_visa_rules::command::{Emission, Fault, SnoopLoop, Switch, SwitchLoop, TimeGate};
use furiosa_visa_rules::spec::SLICES;

/// Joins neighbouring loops where the outer one continues the inner one evenly, and leaves out loops of one iteration.
fn joined(loops: impl IntoIterator<Item = SwitchLoop>) -> Vec<SwitchLoop> {
    let mut nest: Vec<SwitchLoop> = Vec::new();
    for inner in loops.into_iter().filter(|inner| inner.size > 1) {
        match nest.last_mut() {
            Some(outer)
                if outer.slices == inner.size * inner.slices && outer.time == inner.size * inner.time =>
            {
                *outer = SwitchLoop { size: outer.size * inner.size, ..inner };
            }
            _ => nest.push(inner),
        }
    }
    nest
}

impl Form {
    /// Refuses a switch without a meaning for a stream of `time` packets per slice.
    pub(super) fn switch(self, switch: &Switch, time: usize) -> Result<(), Fault> {
        let Switch { ring_size, in_time, .. } = *switch;
        let refused = |message: String| Err(self.refused(message, "let the switch follow from the mappings"));
        if !ring_size.is_power_of_two() || ring_size > SLICES {
            return refused(format!("rings of {ring_size} slices do not cut {SLICES} slices"));
        }
        if in_time != time || time == 0 {
            return refused(format!("a stream of {time} packets is switched as one of {in_time}"));
        }
        self.numbers(switch)?;
        let reach: usize = switch.snoop.offsets.iter().map(|offset| (offset.size - 1) * offset.step).sum();
        for slice in 0..SLICES {
            let Some(first) = switch.snoop.first_source(slice) else { continue };
            let last = first.saturating_add(reach);
            if first / ring_size != slice / ring_size || last / ring_size != slice / ring_size {
                return refused(format!(
                    "slice {slice} is to take packets of slices {first} to {last}, which a ring of {ring_size} does not reach"
                ));
            }
        }
        let Some(emitted) = emitted(switch) else {
            return refused("the routers emit no packets in the order of the command".to_string());
        };
        if emitted != joined(switch.time_digits.iter().copied()) {
            return refused(format!(
                "what slices take of the emission order, {}, is not the stream of {} packets that is to arrive",
                switch.emission_order(),
                switch.out_time()
            ));
        }
        Ok(())
    }

    /// Refuses numbers so large that a product of two may not fit 64 bits.
    fn numbers(self, switch: &Switch) -> Result<(), Fault> {
        let small = |number: usize| number <= SLICES;
        let (mut packets, mut reach) = (1u64, 0u64);
        let mut whole = true;
        for digit in &switch.time_digits {
            whole &= digit.size > 0 && small(digit.slices);
            packets = packets.saturating_mul(digit.size as u64);
            reach = reach.saturating_add((digit.size as u64).saturating_mul(digit.time as u64));
        }
        for SnoopLoop { size, step } in &switch.snoop.offsets {
            whole &= *size > 0 && small(*size) && small(*step);
        }
        for digit in &switch.snoop.digits {
            whole &= digit.base > 0 && digit.count > 0;
            whole &= small(digit.base) && small(digit.count) && small(digit.weight);
        }
        if let Some(TimeGate { period, size, slices }) = switch.gate {
            whole &= period > 0 && size > 0 && slices > 0 && small(size) && small(slices);
            reach = reach.saturating_add((size as u64).saturating_mul(period as u64));
        }
        if let Emission::Nested { slice0, time0 } = switch.emission {
            whole &= slice0 > 0 && time0 > 0 && small(slice0);
        }
        if whole && packets < MOST && reach < MOST && (switch.in_time as u64) < MOST {
            return Ok(());
        }
        let message = "the switch has digits or loops without a meaning".to_string();
        Err(self
            .refused(message, "use digits of up to 256 slices, and loops over the packets that there are"))
    }
}

/// The emission order without the packets that a slice leaves out. `None`: there is no such order.
fn emitted(switch: &Switch) -> Option<Vec<SwitchLoop>> {
    let Switch { ring_size, in_time, snoop, gate, .. } = switch;
    let over_time = |size, time| SwitchLoop { size, slices: 0, time };
    let sources =
        || snoop.offsets.iter().map(|&SnoopLoop { size, step }| SwitchLoop { size, slices: step, time: 0 });
    match (switch.emission, gate) {
        (Emission::SliceInTime, gate) => {
            // Sources ascend: each step is longer than the reach of all loops inside of it.
            let mut inside = 0;
            for offset in snoop.offsets.iter().rev() {
                if offset.size > 1 && offset.step <= inside {
                    return None;
                }
                inside += (offset.size - 1) * offset.step;
            }
            let steps = match *gate {
                None => vec![over_time(*in_time, 1)],
                Some(TimeGate { period, size, .. }) => {
                    let turn = period.checked_mul(size).filter(|turn| in_time.is_multiple_of(*turn))?;
                    vec![over_time(in_time / turn, turn), over_time(period, 1)]
                }
            };
            Some(joined(steps.into_iter().chain(sources())))
        }
        (Emission::Nested { slice0, time0 }, None) => {
            // All slices of the sub-ring must be taken.
            let whole = joined(sources()) == joined([SwitchLoop { size: *ring_size, slices: 1, time: 0 }]);
            if !whole || !ring_size.is_multiple_of(slice0) || !in_time.is_multiple_of(time0) {
                return None;
            }
            Some(joined([
                over_time(in_time / time0, time0),
                SwitchLoop { size: ring_size / slice0, slices: slice0, time: 0 },
                over_time(time0, 1),
                SwitchLoop { size: slice0, slices: 1, time: 0 },
            ]))
        }
        (Emission::Nested { .. }, Some(_)) => None,
    }
}
