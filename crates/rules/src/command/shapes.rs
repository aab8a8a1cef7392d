//! Shapes of the stream of a pass after each engine, and the pass in words.

use super::fetch::Fetch;
use super::switch::Switch;
use super::tensor_unit::{Cast, Collect, CommitNarrowing, Contraction, Sink, TensorUnit, Transpose};
use super::vector::Vector;
use crate::scalar::ElementType;
use crate::spec::{BEAT_LANES, FLIT_BYTES};
use core::fmt;

/// Packets of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamShape {
    /// The type of an element.
    pub element: ElementType,
    /// Packets: time steps.
    pub time: usize,
    /// Elements per packet, padding included.
    pub lanes: usize,
}

/// The stream after each engine. An unused engine does not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamShapes {
    /// After the Fetch Engine: packets as fetched.
    pub fetched: StreamShape,
    /// After the Switch Engine: the packets that a slice gets.
    pub switched: StreamShape,
    /// After the Collect Engine: a flit per time step.
    pub collected: StreamShape,
    /// After the accumulator: eight lanes of 32 bits per time step.
    pub contracted: StreamShape,
    /// After the Vector Engine.
    pub vector: StreamShape,
    /// After the Cast Engine: a flit per time step.
    pub cast: StreamShape,
    /// After the Transpose Engine.
    pub transposed: StreamShape,
    /// After the conversion of the Commit Engine, which keeps lanes: what the sink writes.
    pub ended: StreamShape,
}

/// The stream on its way to the Vector Engine: fetched, switched, collected, contracted. Numbers saturate.
pub fn shapes_before_vector(
    fetch: &Fetch,
    switch: Option<&Switch>,
    collect: Option<Collect>,
    contraction: Option<&Contraction>,
) -> [StreamShape; 4] {
    let Fetch { time, packet, output, .. } = fetch;
    let fetched = StreamShape { element: *output, time: *time, lanes: *packet };
    let out_time = switch.map_or(*time, |switch| switch.out_time());
    let switched = StreamShape { time: out_time, ..fetched };
    let collected = collect.map_or(switched, |Collect { flits }| StreamShape {
        element: *output,
        time: out_time.saturating_mul(flits),
        lanes: lanes_per_flit(*output),
    });
    let contracted = contraction.map_or(collected, |contraction| StreamShape {
        element: contraction.output,
        time: contraction.slot_count.saturating_mul(contraction.beats()),
        lanes: BEAT_LANES,
    });
    [fetched, switched, collected, contracted]
}

const fn lanes_per_flit(element: ElementType) -> usize {
    FLIT_BYTES * 8 / element.bits()
}

impl TensorUnit {
    /// The shape of the stream after each engine. Numbers saturate.
    pub fn shapes(&self) -> StreamShapes {
        let Self { fetch, switch, collect, contraction, .. } = self;
        let [fetched, switched, collected, contracted] =
            shapes_before_vector(fetch, switch.as_ref(), *collect, contraction.as_ref());
        let vector = self.vector.as_ref().map_or(contracted, |program| program.shape(contracted));
        let cast = self.cast.map_or(vector, |Cast { output, .. }| StreamShape {
            element: output,
            time: vector.time,
            lanes: lanes_per_flit(output),
        });
        let transposed = self.transpose.map_or(cast, |transpose| StreamShape {
            element: transpose.element,
            time: transpose.out_time(),
            lanes: lanes_per_flit(transpose.element),
        });
        let element = self.narrowing.map_or(transposed.element, |_| CommitNarrowing::OUTPUT);
        let ended = StreamShape { element, ..transposed };
        StreamShapes { fetched, switched, collected, contracted, vector, cast, transposed, ended }
    }
}

impl fmt::Display for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stored, streamed) = (self.source.footprint.element, self.output);
        write!(f, "fetch {} of {stored}", self.config)?;
        if stored != streamed {
            write!(f, " as {streamed}")?;
        }
        write!(f, ", fetch_size {} B", self.fetch_size)?;
        self.mask.as_ref().map_or(Ok(()), |mask| write!(f, ", mask {mask}"))
    }
}

impl fmt::Display for Contraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trf, collect_flits, tile, trf_config, steps, depth, slot_count, kind, .. } = self;
        write!(f, "align {collect_flits} flits, each packet {tile} times, TRF {trf_config} (bytes) in ")?;
        write!(f, "{} rows; contract {steps} packets, tree depth {depth}; ", trf.rows)?;
        write!(f, "accumulate {slot_count} slots, {kind}")
    }
}

impl fmt::Display for Transpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, in_rows, in_cols, out_rows, iterations } = self;
        write!(f, "transpose {element}, in_rows {in_rows}, in_cols {in_cols}, out_rows {out_rows}, ")?;
        write!(f, "{iterations} times")
    }
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sink::Commit { config, commit_size, .. } => {
                write!(f, "commit {config}, commit_size {commit_size} B")
            }
            Sink::Trf { destination, .. } => write!(f, "to_trf {}", destination.address),
            Sink::Vrf { destination, .. } => write!(f, "to_vrf at {}", destination.address),
        }
    }
}

/// The settings of the engines of the pass, in the words of the guide.
impl fmt::Display for TensorUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sub_context: _,
            fetch,
            switch,
            collect,
            contraction,
            vector,
            cast,
            transpose,
            narrowing,
            sink,
        } = self;
        write!(f, "{fetch}")?;
        if let Some(switch) = switch {
            write!(f, "; {switch}")?;
        }
        if let Some(collect) = collect {
            write!(f, "; collect {} flits per packet", collect.flits)?;
        }
        if let Some(contraction) = contraction {
            write!(f, "; {contraction}")?;
        }
        if let Some(vector) = vector {
            write!(f, "; {vector}")?;
        }
        if let Some(cast) = cast {
            write!(f, "; cast {} to {}", cast.input, cast.output)?;
        }
        if let Some(transpose) = transpose {
            write!(f, "; {transpose}")?;
        }
        if let Some(narrowing) = narrowing {
            write!(f, "; {} {} to {}", narrowing.name(), CommitNarrowing::INPUT, CommitNarrowing::OUTPUT)?;
        }
        write!(f, "; {sink}")
    }
}

/// Cycles of the Vector Engine: every stage takes one packet per cycle, of 8 or of 4 lanes. A split makes twice as many
/// packets.
pub fn vector_cycles(vector: &Vector, before: StreamShape) -> u64 {
    vector.packets(before).max().unwrap_or(before.time) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{
        AccumulationKind, FillId, Footprint, Memory, MemoryKind, Place, Region, Switch, TrfAddress,
        TrfRegion, Use,
    };
    use crate::mapping::Guard;
    use crate::sequencer::{Config, Entry};
    use ElementType::{Bf16, F32};

    fn config(entries: &[(usize, isize)], packet: usize) -> Config {
        let mut config = Config::new(packet);
        entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        config
    }

    fn region(address: u64, element: ElementType) -> Region {
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 384, guard };
        Region::whole(Memory::Dm, address, FillId(1 + address), footprint)
    }

    /// Six rows of 20 elements times 2 rows of 20 weights, as bf16.
    fn product() -> TensorUnit {
        let guard = Guard::always(5);
        let trf = TrfRegion {
            address: TrfAddress::FirstHalf,
            fill: FillId(7),
            element: Bf16,
            rows: 2,
            row_elements: 32,
            guard,
        };
        let fetch = Fetch::new(region(0, Bf16), config(&[(6, 20), (20, 1)], 20), 6, 20, Bf16);
        let sink = Sink::Commit {
            destination: region(4096, Bf16),
            config: config(&[(6, 8), (8, 1)], 8),
            commit_size: 16,
            guard,
        };
        let contraction = Contraction {
            trf,
            stream_guard: guard,
            collect_flits: 2,
            tile: 1,
            trf_config: config(&[(6, 0)], 32),
            steps: 6,
            step_guard: Guard::always(2),
            depth: 5,
            columns: 1,
            slots: config(&[(6, 1)], 1),
            slot_count: 6,
            kind: AccumulationKind::Interleaved,
            output: F32,
        };
        let cast = Some(Cast { input: F32, output: Bf16 });
        TensorUnit { contraction: Some(contraction), cast, ..TensorUnit::new(fetch, sink) }
    }

    #[test]
    fn a_pass_knows_its_stream_and_its_tensors() {
        let mut unit = product();
        let shape = |element, time, lanes| StreamShape { element, time, lanes };
        let shapes = unit.shapes();
        assert_eq!(shapes.fetched, shape(Bf16, 6, 20));
        assert_eq!(shapes.switched, shapes.fetched);
        assert_eq!(shapes.collected, shape(Bf16, 12, 16), "packets of 40 bytes are two flits");
        assert_eq!(shapes.contracted, shape(F32, 6, 8));
        assert_eq!(shapes.cast, shape(Bf16, 6, 16));
        let touched = |used: Use| (used.place.memory(), used.place.fill().0, used.operation);
        let read: Vec<_> = unit.reads().map(touched).collect();
        assert_eq!(read, [(MemoryKind::Dm, 1, "fetch"), (MemoryKind::Trf, 7, "contraction")]);
        assert_eq!(touched(unit.writes()), (MemoryKind::Dm, 4097, "commit"));
        assert_eq!(
            unit.to_string(),
            "fetch [6 : 20, 20 : 1] : 20 of bf16, fetch_size 8 B; collect 2 flits per packet; align 2 flits, each packet \
             1 times, TRF [6 : 0] : 32 (bytes) in 2 rows; contract 6 packets, tree depth 5; accumulate 6 slots, \
             Interleaved; cast f32 to bf16; commit [6 : 8, 8 : 1] : 8, commit_size 16 B"
        );
        assert_eq!(shapes.transposed, shapes.cast);
        // Six steps of five sums become ten of three; the rest of a flit is padding.
        let transpose = Transpose { element: Bf16, in_rows: 3, in_cols: 8, out_rows: 5, iterations: 2 };
        assert_eq!((transpose.packets_per_col(), transpose.kept_elements(), transpose.in_flits()), (1, 5, 3));
        unit.transpose = Some(transpose);
        assert_eq!(unit.shapes().transposed, shape(Bf16, 10, 16));
        let text = unit.to_string();
        let part =
            "; cast f32 to bf16; transpose bf16, in_rows 3, in_cols 8, out_rows 5, 2 times; commit [6 : 8";
        assert!(text.contains(part), "{text}");
        let huge = Transpose { iterations: usize::MAX, in_cols: 7, ..transpose };
        assert_eq!((huge.out_time(), huge.packets_per_col(), huge.kept_elements()), (usize::MAX, 0, 0));
        // The conversion of a commit keeps lanes.
        let narrow = TensorUnit { cast: None, narrowing: Some(CommitNarrowing { relu: true }), ..product() };
        assert_eq!(narrow.shapes().transposed, shape(F32, 6, 8));
        assert_eq!(narrow.shapes().ended, shape(Bf16, 6, 8));
        let part = "Interleaved; commit_cast_relu f32 to bf16; commit [6 : 8";
        assert!(narrow.to_string().contains(part), "{narrow}");
        // The same without these engines.
        (unit.contraction, unit.cast, unit.transpose) = (None, None, None);
        assert_eq!(unit.shapes().transposed, shape(Bf16, 12, 16));
        unit.collect = None;
        assert_eq!(unit.shapes().transposed, shape(Bf16, 6, 20));
        let mut switch = Switch::forwarding(256, 6);
        switch.push_time(4, 1, 0);
        unit.switch = Some(switch);
        assert_eq!(unit.shapes().transposed, shape(Bf16, 24, 20), "time grows in the switch");
        assert!(
            unit.to_string().contains("; switch Forwarding, ring 1, snoop[s'] = s', emission "),
            "{unit}"
        );
        let Place::Region(destination) = unit.writes().place else { panic!("a commit writes a region") };
        assert_eq!(destination.address, 4096);
    }
}
