//! The program of the Vector Engine as a table: its stages, their packets and arithmetic units.

use crate::command::{RngdAlu, StreamShape, Vector, VectorStep, vector_cycles};
use crate::sequencer::write_table;
use core::fmt;

/// A stage of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorRow {
    /// The step, in the words of the guide: vector.
    pub step: String,
    /// The arithmetic unit. Empty if there is none.
    pub unit: &'static str,
    /// Outgoing packets of each slice.
    pub packets: usize,
    /// Lanes of a packet.
    pub lanes: usize,
    /// The type of the outgoing elements.
    pub element: String,
}

/// A program as a table: the stream after each stage.
///
/// ```
/// use furiosa_visa_std::command::{StreamShape, Vector, VectorStep};
/// use furiosa_visa_std::explain::explain_vector;
/// use furiosa_visa_std::mapping::Guard;
/// use furiosa_visa_std::prelude::*;
/// use furiosa_visa_std::scalar::ElementType;
/// let mut program = Vector::new(ElementType::F32, Guard::always(5));
/// program.steps = vec![VectorStep::Split, VectorStep::Concat];
/// let stream = StreamShape { element: ElementType::F32, time: 6, lanes: 8 };
/// println!("{}", explain_vector(&program, stream));
/// ```
///
/// ```text
/// vector
///
/// | step   | unit | packets | lanes | element |
/// |--------|------|---------|-------|---------|
/// |        |      | 6       | 8     | f32     |
/// | split  |      | 12      | 4     | f32     |
/// | concat |      | 6       | 8     | f32     |
///
/// units    0 of 19
/// …
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorExplanation {
    /// The incoming stream, and a row per step.
    pub rows: Vec<VectorRow>,
    /// Number of arithmetic units in use.
    pub units: usize,
    /// The most packets of a stage: the cycles of the engine.
    pub cycles: u64,
}

/// Explains a program for a stream.
pub fn explain_vector(vector: &Vector, before: StreamShape) -> VectorExplanation {
    let row = |step: String, unit: &'static str, shape: StreamShape| VectorRow {
        step,
        unit,
        packets: shape.time,
        lanes: shape.lanes,
        element: shape.element.to_string(),
    };
    let mut rows = vec![row(String::new(), "", before)];
    let shapes = vector.shapes(before).skip(1);
    rows.extend(vector.steps.iter().zip(shapes).map(|(step, shape): (&VectorStep, _)| {
        row(step.to_string(), step.alu().map_or("", |alu| alu.name()), shape)
    }));
    VectorExplanation { rows, units: vector.alus().count(), cycles: vector_cycles(vector, before) }
}

impl fmt::Display for VectorExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "vector\n")?;
        let cells = |row: &VectorRow| {
            let VectorRow { step, unit, packets, lanes, element } = row;
            vec![step.clone(), unit.to_string(), packets.to_string(), lanes.to_string(), element.clone()]
        };
        let rows: Vec<_> = self.rows.iter().map(cells).collect();
        write_table(f, &["step", "unit", "packets", "lanes", "element"], &rows)?;
        writeln!(f, "\nunits    {} of {}", self.units, RngdAlu::ALL.len())?;
        writeln!(f, "latency  {} cycles, one per unit", self.units)?;
        writeln!(f, "cycles   {}, one per packet of the stage that has most", self.cycles)
    }
}
