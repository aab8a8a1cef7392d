//! Memset: the Commit Engine writes a value to all elements of a tensor in DM, without a stream, for the sub context.
//!
//! The engine has an immediate of 32 bits and the addresses of a loop: see [`Memset`]. Padding stays as it is.

use crate::command::{Memory, Memset, Operation, Region, Start, Transfer};
use crate::error::{PlanError, attempt, refuse};
use crate::scalar::{ElementType, Scalar, bf16, f8e4m3, i4};
use crate::sequencer::transfer::{Placement, derive_transfer};
use crate::tensor::Shape;
use crate::text::Text;

/// Element types that memset writes: `i4`, `i8`, `i16`, `i32`, `f8e4m3`, `bf16` and `f32`.
///
/// See `guide::cast_transpose_commit`.
#[diagnostic::on_unimplemented(
    message = "memset: a value of `{Self}` is no immediate of the sub context",
    label = "tensors of `{Self}` are not set",
    note = "supported: i4, i8, i16, i32, f8e4m3, bf16, f32",
    note = "help: commit a stream of the value, or let the host upload it"
)]
pub trait MemsetScalar: Scalar {}

/// Lists the types, for the compiler and as values.
macro_rules! memset_scalars {
    ($($scalar:ident),*) => {
        $(impl MemsetScalar for $scalar {})*

        /// The types as values.
        pub const MEMSET_ELEMENTS: &[ElementType] = &[$(<$scalar as crate::scalar::StreamScalar>::ELEMENT_TYPE),*];
    };
}

memset_scalars!(i4, i8, i16, i32, f8e4m3, bf16, f32);

/// Checks that there are immediates of a type.
pub const fn check_element(element: ElementType) -> Result<(), PlanError> {
    each!(k < MEMSET_ELEMENTS.len(), {
        if MEMSET_ELEMENTS[k] as usize == element as usize {
            return Ok(());
        }
    });
    refuse!(
        "memset type",
        "{}: a value of {} is no immediate of the sub context, which has those of i4, i8, i16, i32, f8e4m3, bf16 and f32; \
         help: commit a stream of the value, or let the host upload it",
        (Memset::CALL, element.name()),
    )
}

/// Derives the loops over all elements of a tensor in DM.
pub const fn derive_memset(tensor: &Shape) -> Result<Transfer, PlanError> {
    attempt!(check_element(tensor.element_type));
    if !matches!(tensor.memory, Memory::Dm) {
        refuse!(
            "memset memory",
            "{}: {} is not in DM, which the sub context writes; help: set a tensor in DM, and move it",
            Memset::CALL,
            &tensor.notation(Text::new()),
        );
    }
    attempt!(tensor.sizes());
    let dimensions: [_; 4] = tensor.dimensions();
    let placement = Placement { name: tensor.name(), dimensions: &dimensions };
    derive_transfer(Memset::CALL, &placement, &placement, false)
}

/// The command of a memset. `code`: the value in its encoding. The function has no type parameters, so that all kernels
/// share it.
#[inline(never)]
pub fn memset_operation(destination: Region, code: u32, moves: &Transfer) -> Operation {
    let start = Start::of(&destination);
    let immediate = Memset::immediate(code, destination.footprint.element.bits());
    Operation::Memset(Box::new(Memset { destination, immediate, moves: moves.further(start, start) }))
}
