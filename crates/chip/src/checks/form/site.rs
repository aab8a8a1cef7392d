//! Rules for the parts of any command: regions, guards, sequencers, loops of a transfer.

use super::{MOST, MOST_IN_SLICE};
use core::panic::Location;
use furiosa_visa_rules::command::moves::Moves;
use furiosa_visa_rules::command::{Fault, FaultKind, Memory, Region, Transfer, TrfRegion};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::Config;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// The operation that is checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) operation: &'static str,
    pub(super) location: &'static Location<'static>,
}

impl Form {
    pub(super) fn refused(self, message: String, help: &'static str) -> Fault {
        Fault::new(FaultKind::Refused, self.operation, self.location, message, help)
    }

    pub(super) fn same(self, from: ElementType, to: ElementType, what: &str) -> Result<(), Fault> {
        if from == to {
            return Ok(());
        }
        let message = format!("a tensor of {from} {what} {to}");
        Err(self.refused(message, "use one type, and convert in fetch or cast"))
    }

    /// Refuses a tensor whose size does not fit 64 bits, or with a guard without a meaning.
    pub(super) fn region(self, region: &Region) -> Result<(), Fault> {
        let footprint = &region.footprint;
        let most = if region.memory == Memory::Hbm { MOST } else { MOST_IN_SLICE };
        let small = |size: usize| (size as u64) < most;
        let units = [footprint.chips, footprint.clusters, footprint.slices];
        if units.iter().any(|&units| units >= 1 << 16) || !small(footprint.elements) {
            let [chips, clusters, slices] = units;
            let message = format!(
                "a tensor of {chips} chips, {clusters} clusters, {slices} slices and {} elements has no size",
                footprint.elements
            );
            return Err(self.refused(message, "use smaller mappings"));
        }
        if region.address >= MOST {
            let (memory, address) = (region.memory, region.address);
            let message = format!("the tensor at {memory} address {address} lies in no memory");
            let help = "use a lower address";
            return Err(Fault::new(FaultKind::OutOfBounds, self.operation, self.location, message, help));
        }
        let part = &region.part;
        let bits = |elements: usize| elements as u128 * footprint.element.bits() as u128;
        let end = u128::from(part.offset) * 8 + bits(part.elements.unwrap_or(0));
        let inside = part.offset <= region.address
            && part.units.iter().zip(units).all(|(&before, units)| before < units.max(1))
            && end <= bits(footprint.elements).next_multiple_of(8);
        if !inside {
            let message = format!("a tile at address {} is to be {part:?} of a tensor", region.address);
            return Err(self.refused(message, "let the tile start inside of its tensor"));
        }
        self.guard(&footprint.guard, 4)
    }

    /// Refuses a tile that starts in a later unit: each slice must read or write its part of the tensor.
    pub(super) fn in_its_slice(self, region: &Region) -> Result<(), Fault> {
        self.region(region)?;
        if region.part.starts_in_first_unit() {
            return Ok(());
        }
        let message = format!("a tile{} is to be read or written by each slice", region.units_in_words());
        Err(self.refused(message, "move it to the slices that use it first"))
    }

    /// Refuses a type that no memory holds.
    pub(super) fn stored(self, element: ElementType) -> Result<(), Fault> {
        if element.is_stored() {
            return Ok(());
        }
        let message = format!("a tensor of {element} is to be moved, but no memory holds this type");
        let help = "store i4 or i8, and let fetch widen them";
        Err(Fault::new(FaultKind::Unsupported, self.operation, self.location, message, help))
    }

    pub(super) fn trf(self, region: &TrfRegion) -> Result<(), Fault> {
        if region.row_elements as u64 >= 1 << 32 || region.rows >= 1 << 16 {
            let message =
                format!("a tensor of {} rows of {} elements has no size", region.rows, region.row_elements);
            return Err(self.refused(message, "use smaller mappings"));
        }
        self.guard(&region.guard, 5)
    }

    /// Refuses accesses whose number of bytes is invalid.
    pub(super) fn access_size(self, bytes: usize) -> Result<(), Fault> {
        if (1..=2 * FLIT_BYTES).contains(&bytes) {
            return Ok(());
        }
        let message = format!("each access is to be of {bytes} bytes");
        Err(self.refused(message, "access 1 to 32 bytes at once"))
    }

    /// Refuses a guard unless it is made of sums of digits, each of a variable or of an earlier sum.
    pub(super) fn guard(self, guard: &Guard, variables: usize) -> Result<(), Fault> {
        let refused = |message: String| Err(self.refused(message, "use the guard that the mappings give"));
        if guard.variables != variables {
            let given = guard.variables;
            return refused(format!("a guard over {given} variables is asked about {variables}"));
        }
        for (k, sum) in guard.sums.iter().enumerate() {
            let digits =
                sum.first.checked_add(sum.len).and_then(|end| guard.digits.as_slice().get(sum.first..end));
            let Some(digits) = digits else {
                return refused(format!("sum {k} of a guard has digits that are not there"));
            };
            let mut most = 0u64;
            for digit in digits {
                // A digit without a period reaches as far as its variable.
                let extent = match digit.extent {
                    usize::MAX => MOST_IN_SLICE / digit.base.max(1) as u64 + 1,
                    extent => extent as u64,
                };
                let reach = extent.checked_mul(digit.weight as u64);
                most = reach.map_or(MOST, |reach| most.saturating_add(reach));
                if digit.variable >= variables + k || digit.base == 0 || digit.extent == 0 || most >= MOST {
                    return refused(format!("sum {k} of a guard has a digit without a meaning: {digit:?}"));
                }
            }
        }
        Ok(())
    }

    /// Number of positions of a sequencer. Refuses loops without a meaning.
    pub(super) fn config(self, config: &Config) -> Result<usize, Fault> {
        let (mut positions, mut reach) = (1u64, config.base.unsigned_abs() as u64);
        for entry in config.entries.iter() {
            positions = positions.saturating_mul(entry.size as u64);
            let steps = (entry.size as u64).saturating_mul(entry.stride.unsigned_abs() as u64);
            reach = reach.saturating_add(steps);
        }
        let packet = config.packet_size as u64;
        if positions == 0 || positions >= MOST || reach >= MOST || packet == 0 || packet >= MOST_IN_SLICE {
            let message = format!("the sequencer {config} has loops without a meaning");
            return Err(
                self.refused(message, "use loops of 1 to 65536 iterations with strides inside the memory")
            );
        }
        Ok(positions as usize)
    }

    /// Refuses loops whose live iterations are at impossible places.
    pub(super) fn transfer(self, transfer: &Transfer) -> Result<(), Fault> {
        let refused = |message: String| Err(self.refused(message, "use the loops that the mappings give"));
        self.guard(&transfer.guard, transfer.loops.len())?;
        let (mut positions, mut reach) = (1u64, 0u64);
        for transfer_loop in transfer.loops.iter() {
            positions = positions.saturating_mul(transfer_loop.size as u64);
            for step in [transfer_loop.source, transfer_loop.destination] {
                let steps = (step.units as u64).saturating_add(step.elements as u64);
                reach = reach.saturating_add((transfer_loop.size as u64).saturating_mul(steps));
            }
        }
        let starts = [transfer.source_start, transfer.destination_start];
        for start in starts {
            let offset =
                (start.units.unsigned_abs() as u64).saturating_add(start.elements.unsigned_abs() as u64);
            reach = reach.saturating_add(offset);
        }
        if positions >= MOST || reach >= MOST {
            return refused(format!("loops over {positions} indices reach {reach} units and elements"));
        }
        if starts.iter().any(|start| start.units < 0 || start.elements < 0) {
            let mut before = false;
            Moves::new(transfer).for_each_strip(8, |strip| {
                for end in [strip.source, strip.destination] {
                    before |= end.unit as u64 >= MOST || end.position as u64 >= MOST;
                }
            });
            if before {
                return refused("the loops move an element from or to a place before the tensor".to_string());
            }
        }
        Ok(())
    }

    /// Refuses loops that leave the host's flat array, which lies in unit 0.
    pub(super) fn host_array(self, transfer: &Transfer, elements: usize, upload: bool) -> Result<(), Fault> {
        let (mut last, mut units, mut empty) = (0, false, false);
        for transfer_loop in transfer.loops.iter() {
            let step = if upload { transfer_loop.source } else { transfer_loop.destination };
            last += transfer_loop.size.saturating_sub(1) * step.elements;
            units |= step.units > 0 && transfer_loop.size > 1;
            empty |= transfer_loop.size == 0;
        }
        let start = if upload { transfer.source_start } else { transfer.destination_start };
        let mut outside = start.units != 0 || units;
        if !empty && !outside && last.saturating_add_signed(start.elements) >= elements {
            // The loops do not decide it: only live positions count.
            Moves::new(transfer).for_each_strip(8, |strip| {
                let end = if upload { strip.source } else { strip.destination };
                outside |= end.position + (strip.count - 1) * end.stride + strip.run > elements;
            });
        }
        if outside || elements as u64 >= MOST {
            let message = format!("the loops leave the array of {elements} elements of the host");
            return Err(self.refused(message, "let the loops end with the array"));
        }
        Ok(())
    }
}
