//! Loading the vector register file (VRF) from a stream.

use crate::command::{Start, Step, Transfer};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factors_of};
use crate::scalar::ElementType;
use crate::sequencer::transfer::{Level, Placement, derive_transfer};
use crate::spec;
use core::fmt;

/// The input of [`derive_vrf_load`].
#[derive(Clone, Copy, Debug)]
pub struct VrfLoadRequest {
    /// The element type in the stream.
    pub element: ElementType,
    /// Time of the stream.
    pub time: &'static Expr,
    /// Packet of the stream.
    pub packet: &'static Expr,
    /// The elements of the VRF tensor.
    pub vrf_element: &'static Expr,
}

/// The derived configuration of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VrfLoadConfig {
    /// Elements per slice, padding included.
    pub elements: usize,
    /// Bytes per slice, padding included.
    pub bytes: usize,
    /// The move from positions of the stream, `time * lanes + lane`, to elements.
    pub transfer: Transfer,
}

/// The call, for messages.
pub const OPERATION: &str = "to_vrf";

/// Checks the mappings of a load, and that the VRF can hold it, and derives the place of each element.
///
/// # Errors
///
/// If `Element` has other axes than the stream, is cut at other places, or takes more than 8192 bytes.
pub const fn derive_vrf_load(request: &VrfLoadRequest) -> Result<VrfLoadConfig, PlanError> {
    let mut pool = Pool::new();
    attempt!(factors_of(OPERATION, &mut pool, request.time));
    let lanes = attempt!(factors_of(OPERATION, &mut pool, request.packet)).size();
    let elements = attempt!(factors_of(OPERATION, &mut pool, request.vrf_element)).size();
    let stream = [(request.packet, Level::Element), (request.time, Level::Units(1))];
    let destination = [(request.vrf_element, Level::Element)];
    let mut transfer = attempt!(derive_transfer(
        OPERATION,
        &Placement { name: "stream", dimensions: &stream },
        &Placement { name: "VrfTensor", dimensions: &destination },
        false,
    ));
    let start = transfer.source_start;
    transfer.source_start = Start { units: 0, elements: start.units * lanes as isize + start.elements };
    each!(k < transfer.loops.len(), {
        let mut transfer_loop = transfer.loops.at(k);
        transfer_loop.source =
            Step { units: 0, elements: transfer_loop.source.units * lanes + transfer_loop.source.elements };
        transfer.loops.set(k, transfer_loop);
    });
    let bytes = elements.saturating_mul(request.element.bits()) / 8;
    if bytes > spec::VRF_BYTES {
        refuse!(
            "VRF capacity",
            "to_vrf: Element {} of {} takes {} bytes per slice, but the VRF has {}; \
             help: load it in segments of at most {} elements, or spread it over more slices",
            request.vrf_element,
            request.element.name(),
            bytes,
            spec::VRF_BYTES,
            spec::VRF_BYTES * 8 / request.element.bits(),
        );
    }
    Ok(VrfLoadConfig { elements, bytes, transfer })
}

impl fmt::Display for VrfLoadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements, {} bytes", self.elements, self.bytes)
    }
}
