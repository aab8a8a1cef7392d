//! Cast Engine: narrows the elements of each flit.

use crate::engine::collect::{flit_elements, whole_bytes};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factors_of, pad_to};
use crate::scalar::ElementType;
use crate::spec;

/// The input of [`derive_cast`].
#[derive(Clone, Copy, Debug)]
pub struct CastRequest {
    /// The element type before the cast.
    pub input: ElementType,
    /// The element type after the cast.
    pub output: ElementType,
    /// Packet of the incoming stream.
    pub packet: &'static Expr,
    /// Packet of the outgoing stream.
    pub out_packet: &'static Expr,
}

/// Checks the mappings of a cast.
pub const fn derive_cast(request: &CastRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "cast";
    let mut pool = Pool::new();
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let bytes = attempt!(whole_bytes(OPERATION, request.input, request.packet, packet.size()));
    if bytes != spec::FLIT_BYTES {
        refuse!(
            "cast input flit",
            "cast: the input packet {} of {} {} holds {} bytes, but must be one flit of {} bytes; \
             help: collect into flits first",
            (request.packet, packet.size(), request.input.name(), bytes, spec::FLIT_BYTES),
        );
    }
    let lanes = flit_elements(request.output);
    let expected = if pad_to_fits(&packet, lanes) { pad_to(&packet, lanes) } else { packet };
    if !expected.is(&out_packet) {
        refuse!(
            "cast packet",
            "cast: the output packet is {}, but {} as a flit of {} {} is {}; help: use that mapping",
            (request.out_packet, request.packet, lanes, request.output.name(), factors(&pool, &expected)),
        );
    }
    Ok(())
}

const fn pad_to_fits(packet: &crate::mapping::Factors, lanes: usize) -> bool {
    crate::mapping::strip(packet).size() <= lanes
}
