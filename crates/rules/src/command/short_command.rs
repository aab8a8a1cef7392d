//! Passes that short commands of the chip can perform: loads of a register file from contiguous bytes.

use super::fetch::Fetch;
use super::tensor_unit::{Collect, Sink, TensorUnit};
use crate::scalar::ElementType;
use crate::sequencer::Config;

/// The data that decide if a load delivers the bytes of DM in their order.
#[derive(Clone, Copy, Debug)]
pub struct ContiguousLoad<'a> {
    /// The type in DM.
    pub stored: ElementType,
    /// The type in the stream.
    pub streamed: ElementType,
    /// The sequencer of the fetch. Strides in elements.
    pub config: &'a Config,
    /// Elements of the tensor in each slice's DM.
    pub source_elements: usize,
    /// Elements per fetched packet.
    pub packet: usize,
    /// Elements per packet after the Collect Engine has padded it to whole flits.
    pub collected: usize,
}

impl ContiguousLoad<'_> {
    /// True if the bytes that each slice delivers are consecutive bytes of its DM: no gap, no reordering, no broadcast,
    /// no padding by the Collect Engine, no conversion, nothing past the end of the tensor.
    ///
    /// See `guide::contraction`, "The register file".
    pub const fn holds(&self) -> bool {
        if self.packet != self.collected || self.stored as usize != self.streamed as usize {
            return false;
        }
        let entries = &self.config.entries;
        let mut run = 1;
        each_back!(k < entries.len, {
            let entry = &entries.items[k];
            if entry.size != 1 && entry.stride != run as isize {
                return false;
            }
            run *= entry.size;
        });
        run <= self.source_elements
    }
}

impl TensorUnit {
    /// True if the chip can perform this pass by its short command StoTRF, which loads the TRF from DM without the
    /// pipeline of the Tensor Unit. Values are the same. The command belongs to the sub context; this function tests
    /// only the data. See [`ContiguousLoad::holds`].
    pub const fn is_sto_trf(&self) -> bool {
        let Self {
            sub_context: _,
            fetch,
            switch,
            collect,
            contraction,
            vector,
            cast,
            transpose,
            narrowing: _,
            sink,
        } = self;
        // A mask replaces padding only, which has no meaning in the register file either.
        let Fetch {
            source,
            interleave,
            config,
            time: _,
            packet,
            fetch_size: _,
            mask: _,
            table,
            zero_points,
            output,
        } = fetch;
        let computes = contraction.is_some() || vector.is_some() || cast.is_some();
        if !matches!(sink, Sink::Trf { .. }) || switch.is_some() || computes || transpose.is_some() {
            return false;
        }
        if interleave.is_some() || table.is_some() || zero_points.is_some() {
            return false;
        }
        let collected = match collect {
            Some(Collect { flits }) => *flits * 8 * crate::spec::FLIT_BYTES / output.bits(),
            None => return false,
        };
        let load = ContiguousLoad {
            stored: source.footprint.element,
            streamed: *output,
            config,
            source_elements: source.footprint.elements,
            packet: *packet,
            collected,
        };
        load.holds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequencer::Entry;

    fn config(entries: &[(usize, isize)]) -> Config {
        let mut config = Config::new(1);
        entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        config
    }

    #[track_caller]
    fn holds(entries: &[(usize, isize)]) -> bool {
        let config = config(entries);
        let i8 = ElementType::I8;
        ContiguousLoad {
            stored: i8,
            streamed: i8,
            config: &config,
            source_elements: 256,
            packet: 32,
            collected: 32,
        }
        .holds()
    }

    #[test]
    fn sequencers_on_both_sides() {
        for entries in [&[][..], &[(32, 1)], &[(8, 32), (32, 1)], &[(2, 128), (4, 32), (32, 1)], &[(256, 1)]]
        {
            assert!(holds(entries), "{entries:?}");
        }
        // A loop of one iteration may have any stride.
        assert!(holds(&[(8, 32), (1, 7), (32, 1)]));
        let refused: [(&str, &[(usize, isize)]); 6] = [
            ("a gap", &[(4, 64), (32, 1)]),
            ("another order", &[(4, 32), (2, 128), (32, 1)]),
            ("a broadcast", &[(4, 0), (32, 1)]),
            ("a stride inside packets", &[(8, 32), (16, 2)]),
            ("backwards", &[(8, -32), (32, 1)]),
            ("behind the tensor", &[(9, 32), (32, 1)]),
        ];
        for (name, entries) in refused {
            assert!(!holds(entries), "{name}");
        }
    }

    #[test]
    fn packets_and_types() {
        let config = config(&[(8, 24), (24, 1)]);
        let load = ContiguousLoad {
            stored: ElementType::I8,
            streamed: ElementType::I8,
            config: &config,
            source_elements: 192,
            packet: 24,
            collected: 24,
        };
        assert!(load.holds());
        assert!(!ContiguousLoad { collected: 32, ..load }.holds(), "padded by the Collect Engine");
        assert!(!ContiguousLoad { streamed: ElementType::I32, ..load }.holds(), "converted");
        assert!(!ContiguousLoad { stored: ElementType::U8, ..load }.holds(), "converted");
        assert!(!ContiguousLoad { source_elements: 191, ..load }.holds(), "past the end");
    }
}
