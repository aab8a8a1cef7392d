//! Loading the tensor register file (TRF) from a stream.
//!
//! ```text
//!   Time = [Row, t]   Packet       ──▶   Row 0: t, Packet     Row 1: t, Packet     …
//! ```
//!
//! `Row` is the outermost part of time, `Element` keeps the order of the stream (spec page 40 §2.1).

use super::collect::{factors_of, whole_bytes};
use crate::chip::spec;
use crate::command::{Operation, Sink, TensorUnit, TrfAddress};
use crate::engine::stream::CollectTensor;
use crate::error::{PlanError, attempt};
use crate::mapping::{Expr, M, Pool, modulo, product, stride};
use crate::runtime::Tu;
use crate::runtime::fault::accept;
use crate::scalar::{ElementType, StreamScalar};
use crate::tensor::TrfTensor;
use crate::text::Text;
use core::marker::PhantomData;

/// What a load of the TRF is derived from.
#[derive(Clone, Copy, Debug)]
pub struct TrfLoadRequest {
    /// The type in the stream.
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
    /// Rows.
    pub rows: usize,
    /// Elements per row, padding included.
    pub row_elements: usize,
    /// Bytes of all rows together.
    pub bytes: usize,
}

const OPERATION: &str = "to_trf";

/// A TRF has 1, 2, 4 or 8 rows.
pub(crate) const fn check_rows(
    operation: &'static str,
    row: &'static Expr,
    rows: usize,
) -> Result<(), PlanError> {
    let mut k = 0;
    while k < spec::TRF_ROWS.len() {
        if rows == spec::TRF_ROWS[k] {
            return Ok(());
        }
        k += 1;
    }
    let text =
        Text::new().str(operation).str(": Row::SIZE must be 1, 2, 4, or 8, got ").number(rows).str(" from ");
    let text = text.mapping(row).str("; help: pad it with `#`, or split it and leave the rest in `Time`");
    Err(PlanError::new("row count", text))
}

/// Checks the mappings of a load, and that some part of the TRF could hold it.
pub const fn derive_trf_load(request: &TrfLoadRequest) -> Result<TrfLoadConfig, PlanError> {
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let row = attempt!(factors_of(OPERATION, &mut pool, request.row));
    let element = attempt!(factors_of(OPERATION, &mut pool, request.row_element));
    let (rows, row_elements, steps) = (row.size(), element.size(), time.size());
    attempt!(check_rows(OPERATION, request.row, rows));
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.row_element, rows * row_elements));
    let config = TrfLoadConfig { rows, row_elements, bytes };
    attempt!(check_capacity(OPERATION, &config, TrfAddress::Full));
    if rows > steps || !steps.is_multiple_of(rows) {
        let text = Text::new().str("to_trf: ").number(rows).str(" rows ").mapping(request.row);
        let text = if rows > steps {
            text.str(" are more than the ").number(steps)
        } else {
            text.str(" do not divide the ").number(steps)
        };
        let text = text.str(" time steps ").mapping(request.time);
        return Err(PlanError::new(
            "rows in time",
            text.str("; help: fetch with the Row axis outermost in `Time`"),
        ));
    }
    let outer = stride(&mut pool, &time, steps / rows);
    if !outer.is(&row) {
        let text = Text::new().str("to_trf: Row is ").mapping(request.row).str(", but the outermost ");
        let text =
            text.number(rows).str(" steps of ").mapping(request.time).str(" are ").factors(&pool, &outer);
        return Err(PlanError::new(
            "row mapping",
            text.str("; help: fetch with the Row axis outermost in `Time`"),
        ));
    }
    let inner = modulo(&mut pool, &time, steps / rows);
    let expected = product(&pool, &inner, &packet);
    if !expected.is(&element) {
        let text = Text::new().str("to_trf: Element is ").mapping(request.row_element);
        let text = text.str(", but what follows Row in the stream is ").factors(&pool, &expected);
        return Err(PlanError::new(
            "element mapping",
            text.str("; help: keep the order and the padding of the stream"),
        ));
    }
    Ok(config)
}

/// Whether the part of the TRF holds all rows.
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
    let text = Text::new()
        .str(operation)
        .str(": ")
        .count(config.rows, "row")
        .str(" of ")
        .number(config.bytes / config.rows);
    let text = text.str(" bytes are ").number(config.bytes).str(" bytes, but ").str(name).str(" holds ");
    let text = text.number(address.capacity()).str("; help: ");
    let text = match address {
        TrfAddress::Full => text.str("load a smaller tile, or load several times"),
        _ => text.str("use `TrfAddress::Full`, load a smaller tile, or load several times"),
    };
    Err(PlanError::new("TRF capacity", text))
}

/// The plan of a load of the TRF, as types.
pub struct TrfLoadPlan<D, Time, Packet, Row, Element>(PhantomData<(D, Time, Packet, Row, Element)>);

impl<D: StreamScalar, Time: M, Packet: M, Row: M, Element: M> TrfLoadPlan<D, Time, Packet, Row, Element> {
    /// The derived configuration. Using it refuses what no part of the TRF could hold.
    pub const CONFIG: TrfLoadConfig = match derive_trf_load(&TrfLoadRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        row: Row::EXPR,
        row_element: Element::EXPR,
    }) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
    CollectTensor<'l, T, D, Chip, Cluster, Slice, Time, Packet>
{
    /// Ends the stream in the tensor register file. `Row` is the outermost part of `Time`, `Element` the rest of the
    /// stream, in order and with its padding.
    ///
    /// Refused while compiling: rows other than 1, 2, 4 or 8, other mappings, more than 65 536 bytes.
    ///
    /// # Panics
    /// Where the part of the TRF at `address` is too small.
    #[track_caller]
    pub fn to_trf<Row: M, Element: M>(
        self,
        address: TrfAddress,
    ) -> TrfTensor<D, Chip, Cluster, Slice, Row, Element> {
        let plan = const { &TrfLoadPlan::<D, Time, Packet, Row, Element>::CONFIG };
        accept(OPERATION, check_capacity(OPERATION, plan, address));
        let tensor = TrfTensor::filled(address, self.context.next_fill());
        let sink = Sink::Trf { destination: tensor.region(), guard: const { Self::GUARD } };
        let pass = *self.pass;
        let fetch = pass.fetch.expect("a collected stream was fetched");
        let unit =
            TensorUnit { sub_context: T, fetch, collect: pass.collect, contraction: None, cast: None, sink };
        self.context.execute(Operation::TensorUnit(Box::new(unit)));
        tensor
    }
}
