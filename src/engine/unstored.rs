//! Why a stream of `i5` or `i9` does not end in a memory, in words.
//!
//! `commit` asks for elements that memories hold. For these two types there is a method of the same name that can never
//! be called: the compiler then says why, instead of naming an unmet bound.

use crate::command::Address;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::Position;
use crate::mapping::M;
use crate::runtime::Tu;
use crate::scalar::{i5, i9};
use core::convert::Infallible;

/// Mappings of tensors in DM that hold elements of `D`. There are none for the types that only streams carry.
#[diagnostic::on_unimplemented(
    message = "commit: no memory holds elements of `{D}`",
    label = "a stream of `{D}` ends here",
    note = "`i5` and `i9` exist only in streams and register files",
    note = "help: end the stream in `.to_trf()` or `.align()`, or fetch as `i32` and `.cast()` before the commit"
)]
pub trait Stores<D> {}

macro_rules! unstored {
    ($($type:ident),*) => { $(
        impl<'l, const T: Tu, P: Position, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
            StreamTensor<'l, T, P, $type, Chip, Cluster, Slice, Time, Packet>
        {
            /// Never possible: no memory holds this type.
            #[doc(hidden)]
            pub fn commit<Element: Stores<$type>>(self, _: Address) -> Infallible {
                unreachable!("no mapping stores this type")
            }
        }
    )* };
}

unstored!(i5, i9);
