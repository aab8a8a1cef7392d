//! Loading the tensor register file (TRF) from a stream.

use crate::command::TrfAddress;
use crate::engine::collect::whole_bytes;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, Pool, UNKNOWN, modulo, normal, product, stride};
use crate::scalar::ElementType;
use crate::spec;

/// The input of [`derive_trf_load`].
#[derive(Clone, Copy, Debug)]
pub struct TrfLoadRequest {
    /// The element type in the stream.
    pub element: ElementType,
    /// Time of the stream.
    pub time: &'static Expr,
    /// Packet of the stream.
    pub packet: &'static Expr,
    /// Rows of the TRF tensor.
    pub row: &'static Expr,
    /// Elements per row of the TRF tensor.
    pub row_element: &'static Expr,
}

/// The derived configuration of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrfLoadConfig {
    /// Number of rows.
    pub rows: usize,
    /// Elements per row, padding included.
    pub row_elements: usize,
    /// Bytes of all rows together.
    pub bytes: usize,
}

impl TrfLoadConfig {
    /// A tensor of `rows` rows, which lie one behind the other. More bytes than can be counted are as many as can be.
    pub const fn new(element: ElementType, rows: usize, row_elements: usize) -> Self {
        let bits = (rows as u128 * element.bits() as u128).saturating_mul(row_elements as u128);
        let bytes = bits.div_ceil(8);
        Self {
            rows,
            row_elements,
            bytes: if bytes > usize::MAX as u128 { usize::MAX } else { bytes as usize },
        }
    }
}

/// The call, for messages.
pub const OPERATION: &str = "to_trf";

/// Checks that a TRF tensor has 1, 2, 4 or 8 rows.
pub const fn check_rows(operation: &'static str, row: &'static Expr, rows: usize) -> Result<(), PlanError> {
    each!(k < spec::TRF_ROWS.len(), {
        if rows == spec::TRF_ROWS[k] {
            return Ok(());
        }
    });
    refuse!(
        "row count",
        "{}: Row::SIZE must be 1, 2, 4, or 8, got {} from {}; \
         help: pad it with `#`, or split it and leave the rest in `Time`",
        (operation, rows, row),
    )
}

/// Checks the mappings of a load, and that some part of the TRF can hold it.
pub const fn derive_trf_load(request: &TrfLoadRequest) -> Result<TrfLoadConfig, PlanError> {
    trf_load(request, [UNKNOWN; 4])
}

/// As [`derive_trf_load`], with the normal forms of the mappings, in the order of the request.
pub const fn trf_load(request: &TrfLoadRequest, forms: [&Factors; 4]) -> Result<TrfLoadConfig, PlanError> {
    let mut pool = Pool::new();
    let time = normal!(forms[0], OPERATION, &mut pool, request.time);
    let packet = normal!(forms[1], OPERATION, &mut pool, request.packet);
    let row = normal!(forms[2], OPERATION, &mut pool, request.row);
    let element = normal!(forms[3], OPERATION, &mut pool, request.row_element);
    let (rows, row_elements, steps) = (row.size(), element.size(), time.size());
    attempt!(check_rows(OPERATION, request.row, rows));
    let config = TrfLoadConfig::new(request.element, rows, row_elements);
    if config.bytes <= spec::TRF_BYTES {
        attempt!(whole_bytes(OPERATION, request.element, request.row_element, rows * row_elements));
    }
    attempt!(check_capacity(OPERATION, &config, TrfAddress::Full));
    if rows > steps || !steps.is_multiple_of(rows) {
        refuse!(
            "rows in time",
            "to_trf: {} rows {} {} {} time steps {}; help: fetch with the Row axis outermost in `Time`",
            rows,
            request.row,
            if rows > steps { "are more than the" } else { "do not divide the" },
            steps,
            request.time,
        );
    }
    let outer = stride(&mut pool, &time, steps / rows);
    if !outer.is(&row) {
        refuse!(
            "row mapping",
            "to_trf: Row is {}, but the outermost {} steps of {} are {}; \
             help: fetch with the Row axis outermost in `Time`",
            (request.row, rows, request.time, factors(&pool, &outer)),
        );
    }
    let inner = modulo(&mut pool, &time, steps / rows);
    let expected = product(&pool, &inner, &packet);
    if !expected.is(&element) {
        refuse!(
            "element mapping",
            "to_trf: Element is {}, but what follows Row in the stream is {}; \
             help: keep the order and the padding of the stream",
            (request.row_element, factors(&pool, &expected)),
        );
    }
    Ok(config)
}

/// Checks that the part of the TRF holds all rows.
pub const fn check_capacity(
    operation: &'static str,
    config: &TrfLoadConfig,
    address: TrfAddress,
) -> Result<(), PlanError> {
    if config.bytes <= address.capacity() {
        return Ok(());
    }
    let name = match address {
        TrfAddress::Full => "TrfAddress::Full",
        TrfAddress::FirstHalf => "TrfAddress::FirstHalf",
        TrfAddress::SecondHalf => "TrfAddress::SecondHalf",
    };
    let help = match address {
        TrfAddress::Full => "load a smaller tile, or load several times",
        _ => "use `TrfAddress::Full`, load a smaller tile, or load several times",
    };
    refuse!(
        "TRF capacity",
        "{}: {} of {} bytes are {} bytes, but {} holds {}; help: {}",
        operation,
        count(config.rows, "row"),
        config.bytes / config.rows,
        config.bytes,
        name,
        address.capacity(),
        help,
    )
}
