//! Reducer, spatial part: multiplies, and adds neighbouring products in a tree.
//!
//! ```text
//!   64-byte packet    p0 p1 p2 p3 p4 p5 p6 p7 …
//!   depth 1            p0+p1 p2+p3 p4+p5 p6+p7
//!   depth 2               └──+──┘     └──+──┘           2^depth innermost positions become one column
//! ```

use crate::engine::collect::whole_bytes;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, Pool, UNKNOWN, normal, stride, strip, stripped_size};
use crate::scalar::ElementType;
use crate::spec;

/// The input of [`derive_contract`].
#[derive(Clone, Copy, Debug)]
pub struct ContractRequest {
    /// The element type of data and weights.
    pub element: ElementType,
    /// The packet of the computation.
    pub packet: &'static Expr,
    /// The columns that leave the tree.
    pub out_packet: &'static Expr,
}

/// The derived configuration of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractConfig {
    /// Number of levels of the tree.
    pub depth: usize,
    /// Columns per row, outermost padding removed.
    pub columns: usize,
}

const OPERATION: &str = "contract";

/// Derives the depth of the tree.
pub const fn derive_contract(request: &ContractRequest) -> Result<ContractConfig, PlanError> {
    contract(request, [UNKNOWN; 2])
}

/// As [`derive_contract`], with the normal forms of the mappings, in the order of the request.
pub const fn contract(request: &ContractRequest, forms: [&Factors; 2]) -> Result<ContractConfig, PlanError> {
    let mut pool = Pool::new();
    let packet = normal!(forms[0], OPERATION, &mut pool, request.packet);
    let out_packet = normal!(forms[1], OPERATION, &mut pool, request.out_packet);
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.packet, packet.size));
    if bytes != spec::MAC_BYTES {
        refuse!(
            "contract packet bytes",
            "contract: the packet {} holds {} bytes, but must hold {}; help: `.align()` to packets of 64 bytes",
            (request.packet, bytes, spec::MAC_BYTES),
        );
    }
    let size = out_packet.size;
    if size > spec::ACCUMULATOR_COLUMNS || !size.is_power_of_two() {
        let help = if size > spec::ACCUMULATOR_COLUMNS {
            text!("reduce more of the packet")
        } else {
            text!("pad its outer end with `# {}`", size.next_power_of_two())
        };
        refuse!(
            "contract columns",
            "contract: OutPacket {} has {} columns, but must have a power of two, at most {}; help: {}",
            (request.out_packet, size, spec::ACCUMULATOR_COLUMNS, &help),
        );
    }
    let want = strip(&out_packet);
    let live = stripped_size(&packet);
    let mut depth = 0;
    while packet.size.is_multiple_of(1 << depth) && (1 << depth) <= packet.size {
        if live.div_ceil(1 << depth) == want.size && strip(&stride(&mut pool, &packet, 1 << depth)).is(&want)
        {
            return Ok(ContractConfig { depth, columns: want.size });
        }
        depth += 1;
    }
    refuse!(
        "contract quotient",
        "contract: OutPacket {} is not {} without its innermost 1, 2, 4, … positions: the tree adds neighbours, so only the \
         innermost part of the packet can be summed; help: reorder the packet so that what is summed is innermost",
        (request.out_packet, request.packet),
    )
}
