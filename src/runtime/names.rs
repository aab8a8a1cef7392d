//! Names of tensors that have no address yet.
//!
//! ```text
//!   0xa0… + 0 MiB     + 1 MiB           + 2 MiB
//!   ├─ tensor 1 ─┤    ├─ tensor 2 ─┤    …                a tile at byte 64 of tensor 2: name + 64
//! ```
//!
//! A name stands where an address stands: in handles, views and commands. It is above all addresses, and a tensor with
//! its tiles has all of the MiB. Names are replaced by addresses before the command is executed.

use crate::clock::KernelCall;
use crate::command::{Address, FillId, Memory, Operation, PlaceMut, Region};
use core::ops::Range;
use core::panic::Location;
use litemap::LiteMap;
use std::collections::HashMap;

/// The first name.
const FIRST: Address = 0xa0 << 56;

/// The address behind the last name.
const END: Address = 0xa1 << 56;

/// Addresses from one name to the next: more than DM and the VRF have.
const STRIDE: u64 = 1 << 20;

/// True if an address is the name of a tensor, or of a byte in it.
pub(crate) const fn is_name(address: Address) -> bool {
    address >= FIRST && address < END
}

/// The name of the tensor that a byte belongs to.
const fn tensor_of(address: Address) -> Address {
    address / STRIDE * STRIDE
}

/// A call that makes a tensor, to be named in a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maker {
    pub(super) operation: &'static str,
    pub(super) location: &'static Location<'static>,
}

/// A tensor that was made without an element: its bytes are forgotten before the first command that names it.
#[derive(Debug)]
pub(super) struct Begin {
    pub(super) region: Region,
    pub(super) maker: Maker,
    pub(super) kernel: KernelCall,
}

/// A tensor with a name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) bytes: u64,
    pub(super) maker: Maker,
    /// True as long as one of its handles lives.
    pub(super) alive: bool,
    /// Its address, as soon as it has one.
    pub(super) at: Option<Address>,
    pub(super) begin: Option<Box<Begin>>,
}

/// The tensors of a memory that have names.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) tensors: LiteMap<Address, Named>,
    /// Names that were given.
    count: u64,
}

impl Names {
    /// Names a tensor.
    pub(super) fn name(&mut self, bytes: u64, maker: Maker) -> Address {
        let name = FIRST + self.count % ((END - FIRST) / STRIDE) * STRIDE;
        self.count += 1;
        self.tensors.insert(name, Named { bytes: bytes.max(1), maker, alive: true, at: None, begin: None });
        name
    }

    /// The address that a name stands for.
    pub(super) fn address(&self, name: Address) -> Option<Address> {
        let tensor = tensor_of(name);
        Some(self.tensors.get(&tensor)?.at? + (name - tensor))
    }

    /// The tensor of a region.
    pub(super) fn of(&mut self, region: &Region) -> Option<&mut Named> {
        self.tensors.get_mut(&tensor_of(region.address))
    }
}

/// The first and the last command that name a tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The tensors that commands name, in one memory: by name, and by address.
#[derive(Debug, Default)]
pub(super) struct Lives {
    pub(super) named: LiteMap<Address, Life>,
    pub(super) given: HashMap<Range<Address>, Life>,
}

/// The tensors in the TRF that commands name.
#[derive(Debug, Default)]
pub(super) struct TrfLives(pub(super) LiteMap<FillId, (Life, crate::command::TrfAddress)>);

/// The tensors that commands name.
#[derive(Debug, Default)]
pub(super) struct AllLives {
    pub(super) dm: Lives,
    pub(super) vrf: Lives,
    pub(super) trf: TrfLives,
}

impl AllLives {
    /// Notes the tensors of a command. Commands come in order.
    pub(super) fn note(&mut self, command: usize, operation: &mut Operation) {
        let new = Life { first: command, last: command };
        operation.for_each_place(|place| match place {
            PlaceMut::Trf(region) => {
                self.trf.0.entry(region.fill).or_insert((new, region.address)).0.last = command;
            }
            PlaceMut::Region(region) => {
                let lives = match region.memory {
                    Memory::Hbm => return,
                    Memory::Dm => &mut self.dm,
                    Memory::Vrf => &mut self.vrf,
                };
                let life = match is_name(region.address) {
                    true => lives.named.entry(tensor_of(region.address)).or_insert(new),
                    false => lives.given.entry(region.tensor_bytes()).or_insert(new),
                };
                life.last = command;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::AUTO;
    use crate::spec::{DM_BYTES, HBM_BYTES, VRF_BYTES};

    /// A name is no address, and no byte of a tensor has the name of another one.
    #[test]
    fn names_are_apart() {
        const { assert!(HBM_BYTES < FIRST && STRIDE > DM_BYTES as u64 && STRIDE > VRF_BYTES as u64) }
        assert!(!is_name(AUTO) && !is_name(HBM_BYTES) && !is_name(0));
        let mut names = Names::default();
        let maker = Maker { operation: "to_dm", location: Location::caller() };
        let [a, b] = [64, DM_BYTES as u64].map(|bytes| names.name(bytes, maker));
        assert!(
            is_name(a) && is_name(b + DM_BYTES as u64) && tensor_of(b + DM_BYTES as u64 - 1) == b && a < b
        );
        assert_eq!((names.address(a), names.address(b)), (None, None));
        names.tensors.get_mut(&b).expect("it has a name").at = Some(128);
        assert_eq!(
            (names.address(b + 7), names.address(a), names.address(b + STRIDE)),
            (Some(135), None, None)
        );
    }
}
