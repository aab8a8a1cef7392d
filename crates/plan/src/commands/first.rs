//! One command of each kind: bounds are computed from them, before all commands of a kernel are derived.

use super::Kernel;
use crate::choice::Choice;
use crate::layout::Layout;
use crate::problem::Problem;
use crate::schedule::Schedule;
use furiosa_visa_rules::command::Operation;
use furiosa_visa_rules::error::PlanError;

/// One command of each kind.
#[derive(Clone, Debug)]
pub struct First {
    /// Brings a tile of the stream.
    pub stream: Operation,
    /// Brings what slices need of the next slice, if they have parts of an axis in windows.
    pub stream_next: Option<Operation>,
    /// Turns it, if it is turned.
    pub turn_stream: Option<Operation>,
    /// Brings a block of weights.
    pub weights: Operation,
    /// Turns it, if it is turned.
    pub turn_weights: Option<Operation>,
    /// Loads it to the register file.
    pub load: Operation,
    /// True if the main context does that, because it fills flits up.
    pub is_filled: bool,
    /// Brings the bias, and loads its parts, if there is one.
    pub bias: Vec<Operation>,
    /// Multiplies.
    pub products: Operation,
    /// Brings the second piece of the stream, and multiplies it, if the stream comes in two.
    pub second: Option<[Operation; 2]>,
    /// The passes behind the products.
    pub finish: Vec<Operation>,
    /// Stores the sums.
    pub store: Operation,
    /// True if all tiles of a tensor in HBM start at the same place of a unit.
    pub is_aligned: bool,
}

/// Derives one command of each kind. Those of later steps have the same mappings.
///
/// # Errors
/// The refusal of the first call that has one.
pub fn first_commands(
    problem: &Problem,
    choice: &Choice,
    layout: &Layout,
    schedule: &Schedule,
) -> Result<First, PlanError> {
    let mut kernel = Kernel::new(problem, choice, layout, schedule)?;
    let pieces = layout.pieces.as_ref();
    let own = match pieces {
        None => kernel.bring_stream(0)?,
        Some([first, _]) => kernel.bring_piece(first, 0)?,
    };
    let own = kernel.turned_stream(own, 0)?;
    let weights = kernel.bring_weights(0)?;
    let weights = kernel.turned_weights(weights, 0)?;
    let loaded = kernel.load(&weights, 0)?;
    kernel.load_bias()?;
    let sums = kernel.multiply(&own, pieces.map(|[first, _]| first), &loaded, 0)?;
    if let Some([_, second]) = pieces {
        let own = kernel.bring_piece(second, 1)?;
        kernel.multiply(&own, Some(second), &loaded, 0)?;
    }
    let sums = match (sums, &layout.finish) {
        (None, Some(finish)) => Some(kernel.finish(finish, 0)?),
        (sums, _) => sums,
    };
    let sums = sums.unwrap_or_else(|| unreachable!("a pass behind the products makes sums"));
    kernel.store(&sums, 0)?;
    let is_aligned = kernel.tiles_are_aligned()?;
    let mut operations = kernel.operations.into_iter();
    let mut next = || operations.next().unwrap_or_else(|| unreachable!("each call gave a command"));
    Ok(First {
        stream: next(),
        stream_next: layout.room.as_ref().map(|_| next()),
        turn_stream: layout.stream.turn.as_ref().map(|_| next()),
        weights: next(),
        turn_weights: layout.weights.turn.as_ref().map(|_| next()),
        load: next(),
        is_filled: layout.weights.is_filled,
        bias: (0..schedule.bias.map_or(0, |bias| 1 + bias.tiles)).map(|_| next()).collect(),
        products: next(),
        second: pieces.map(|_| [next(), next()]),
        finish: layout.finish.iter().map(|_| ()).chain(schedule.whole.map(|_| ())).map(|()| next()).collect(),
        store: next(),
        is_aligned,
    })
}
