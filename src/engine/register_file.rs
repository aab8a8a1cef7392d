//! Loading the tensor register file (TRF) from a stream.
//!
//! ```text
//!   Time = [Row, t]   Packet       ──▶   Row 0: t, Packet     Row 1: t, Packet     …
//! ```
//!
//! `Row` is the outermost part of time, `Element` keeps the order of the stream.

use super::collect::CollectPlan;
use crate::command::{ContiguousLoad, Sink, TrfAddress, TrfRegion};
use crate::engine::fetch::FetchPlan;
use crate::engine::layout::StreamLayout;
use crate::engine::stream::stage::PositionCollect;
use crate::engine::stream::{Pass, StreamTensor};
use crate::mapping::{Guard, M};
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::runtime::{MakesTensors as _, Tu, TuContext, TuValues};
use crate::scalar::{Scalar, StreamScalar};
use crate::tensor::TrfTensor;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::register_file::{OPERATION, check_rows, trf_load};
pub use furiosa_visa_rules::engine::register_file::{
    TrfLoadConfig, TrfLoadRequest, check_capacity, derive_trf_load,
};

impl<D: StreamScalar, Time: M, Packet: M, Row: M, Element: M>
    Late<TrfLoadPlan<D, Time, Packet, Row, Element>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<TrfLoadConfig> = Self::config();

    const fn config() -> Refusable<TrfLoadConfig> {
        // A reference to a constant would be a constant of its own.
        let request = TrfLoadPlan::<D, Time, Packet, Row, Element>::REQUEST;
        trf_load(&request, [Time::FORM, Packet::FORM, Row::FORM, Element::FORM])
    }
}

/// The plan of a load of the TRF, as types.
pub struct TrfLoadPlan<D, Time, Packet, Row, Element>(PhantomData<(D, Time, Packet, Row, Element)>);

impl<D: StreamScalar, Time: M, Packet: M, Row: M, Element: M> TrfLoadPlan<D, Time, Packet, Row, Element> {
    /// The derived configuration. Evaluating it refuses loads that no part of the TRF can hold.
    pub const CONFIG: TrfLoadConfig = match Late::<Self>::config() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };

    pub(crate) const REQUEST: TrfLoadRequest = TrfLoadRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        row: Row::EXPR,
        row_element: Element::EXPR,
    };

    /// Tells if the short command StoTRF can load a tensor that lies in DM as `DmElement` of `Stored`, and is fetched
    /// as `FetchTime` and `FetchPacket`: see [`ContiguousLoad::holds`].
    ///
    /// ```
    /// use furiosa_visa_std::engine::register_file::TrfLoadPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![N = 8, K = 64];
    /// type Load = TrfLoadPlan<i8, m![N, K / 32], m![K % 32], m![N], m![K]>;
    /// const SHORT: bool = Load::sto_trf::<i8, m![N, K], m![N], m![K]>();
    /// // The tensor lies there the other way round.
    /// const REORDERED: bool = Load::sto_trf::<i8, m![K / 32, N, K % 32], m![N], m![K]>();
    /// assert!(SHORT && !REORDERED);
    /// ```
    pub const fn sto_trf<Stored: Scalar, DmElement: M, FetchTime: M, FetchPacket: M>() -> bool {
        let _ = Self::CONFIG;
        let collect = CollectPlan::<D, FetchTime, FetchPacket, Time, Packet>::CONFIG;
        let fetch =
            FetchPlan::<Stored, D, DmElement, FetchTime, FetchPacket, { <Tu as TuValues>::Main }>::CONFIG;
        let load = ContiguousLoad {
            stored: Stored::ELEMENT_TYPE,
            streamed: D::ELEMENT_TYPE,
            config: &fetch.config,
            source_elements: DmElement::SIZE,
            packet: fetch.packet,
            collected: collect.flits * Packet::SIZE,
        };
        load.holds()
    }
}

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, PositionCollect, D, L> {
    /// Ends the stream in the tensor register file. `Row` is the outermost part of `Time`. `Element` is the rest of the
    /// stream, in order and with its padding.
    ///
    /// `address` is all or a half of the file of 64 KiB per slice. The rows share it evenly. See
    /// [contraction](crate::guide::contraction).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, N = 8, K = 64];
    /// type W = DmTensor<bf16, m![1], m![1 # 2], m![S], m![N, K]>;
    /// type Weights = TrfTensor<bf16, m![1], m![1 # 2], m![S], m![N], m![K]>;
    /// /// Eight rows of 64 weights.
    /// fn load(ctx: &mut Context, w: &W) -> Weights {
    ///     (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>())
    ///         .collect::<m![N, K / 16], m![K % 16]>()
    ///         .to_trf::<m![N], m![K]>(TrfAddress::FirstHalf)
    /// }
    /// # let _ = load as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: rows other than 1, 2, 4 or 8 (`Row::SIZE must be 1, 2, 4, or 8`); rows that are not the
    /// outermost part of `Time`; elements in another order or without the padding of the stream; more than 65 536 bytes
    /// (`TrfAddress::Full holds 65536`).
    ///
    /// # Panics
    /// If the part of the TRF at `address` is too small.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn to_trf<Row: M, Element: M>(
        self,
        address: TrfAddress,
    ) -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row, Element> {
        self.load_trf(&planned!(CONFIG of TrfLoadPlan<D, L::Time, L::Packet, Row, Element>), address)
    }

    /// Ends the stream in the tensor register file, as a plan says.
    #[doc(hidden)]
    #[track_caller]
    #[inline(always)]
    pub fn load_trf<Row: M, Element: M>(
        self,
        plan: &TrfLoadConfig,
        address: TrfAddress,
    ) -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row, Element> {
        accept_capacity(plan, address);
        let fill = self.context.next_fill();
        let region = TrfTensor::<D, L::Chip, L::Cluster, L::Slice, Row, Element>::region_at(address, fill);
        self.pass.load(self.context, region, planned!(GUARD of Self));
        TrfTensor::filled(address, fill)
    }

    /// Ends the stream in a part of the tensor register file that the context chooses. Otherwise it is as
    /// [`Self::to_trf`].
    ///
    /// A tensor of more than 32 768 bytes gets all of the file. Another one gets the half that nobody needs any more and
    /// whose last use was earlier, `FirstHalf` before `SecondHalf`. A loop that loads one small tensor per turn takes both
    /// in turns: the next load need not wait for the product before it.
    ///
    /// A handle holds its part until it ends; with [`Placement::Liveness`](crate::runtime::Placement::Liveness) its last
    /// use does. Parts that the program names itself are unknown to handles.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, T = 4, N = 8, K = 64];
    /// type X = DmTensor<bf16, m![1], m![1 # 2], m![S], m![K]>;
    /// type W = DmTensor<bf16, m![1], m![1 # 2], m![S], m![T, N, K]>;
    /// type Y = DmTensor<f32, m![1], m![1 # 2], m![S], m![T, N]>;
    /// /// Loads a block of weights while the block before is multiplied.
    /// fn products(ctx: &mut Context, x: &X, w: &W) -> Y {
    ///     let mut y = Y::new(ctx);
    ///     for t in 0..4 {
    ///         let block = w.view().tile::<m![T], 1, m![1 # 4, N, K]>(t);
    ///         let weights = (ctx.sub.begin(block).fetch::<bf16, m![N], m![K]>())
    ///             .collect::<m![N, K / 16], m![K % 16]>()
    ///             .to_trf_auto::<m![N], m![K]>();
    ///         (ctx.main.begin(x.view()).fetch::<bf16, m![1], m![K]>())
    ///             .collect::<m![K / 16], m![K % 16]>()
    ///             .align::<m![K / 32], m![K % 32], _, _>(&weights)
    ///             .contract::<m![1]>()
    ///             .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
    ///             .commit_view(y.view_mut().tile::<m![T], 1, m![1 # 4, N]>(t));
    ///     }
    ///     y
    /// }
    /// # let _ = products as fn(_, _, _) -> _;
    /// ```
    ///
    /// Refused while compiling: what `to_trf` refuses.
    ///
    /// # Panics
    /// If no part of the TRF is free, with a [`Fault`](crate::chip::Fault) that names the tensors in it.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn to_trf_auto<Row: M, Element: M>(
        self,
    ) -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row, Element> {
        self.load_trf_auto(&planned!(CONFIG of TrfLoadPlan<D, L::Time, L::Packet, Row, Element>))
    }

    /// Ends the stream in a part of the tensor register file that is free, as a plan says.
    #[doc(hidden)]
    #[track_caller]
    pub fn load_trf_auto<Row: M, Element: M>(
        self,
        plan: &TrfLoadConfig,
    ) -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Row, Element> {
        let fill = self.context.next_fill();
        let (address, lease) = self.context.system().place_in_trf(fill, plan.bytes, OPERATION);
        let tensor = TrfTensor::leased(address, fill, lease);
        self.pass.load(self.context, tensor.region(), planned!(GUARD of Self));
        tensor
    }
}

/// Stops a load that does not fit into its part of the TRF.
#[track_caller]
#[inline(never)]
fn accept_capacity(plan: &TrfLoadConfig, address: TrfAddress) {
    accept(OPERATION, check_capacity(OPERATION, plan, address));
}

impl Pass {
    /// Gives the command of a stream that is loaded. It has no mapping parameters, so that all kernels share it.
    #[track_caller]
    #[inline(never)]
    fn load<const T: Tu>(self: Box<Self>, context: &mut TuContext<T>, destination: TrfRegion, guard: &Guard) {
        self.end(context, Sink::Trf { destination, guard: *guard });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PlanError;
    use crate::prelude::*;

    axes![G = 4, S = 3, C = 40, N = 8, T = 6, K = 64, L = 8192, Z = 1152921504606846976];

    fn load<D: Scalar, Time: M, Packet: M, Row: M, Element: M>() -> Result<TrfLoadConfig, PlanError> {
        derive_trf_load(&TrfLoadRequest {
            element: D::ELEMENT_TYPE,
            time: Time::EXPR,
            packet: Packet::EXPR,
            row: Row::EXPR,
            row_element: Element::EXPR,
        })
    }

    #[track_caller]
    fn refused(result: Result<TrfLoadConfig, PlanError>, rule: &str, parts: &[&str]) {
        let error = result.expect_err("it should be refused");
        assert_eq!(error.rule(), rule, "{error}");
        assert!(error.message().starts_with("to_trf: ") && error.message().contains("; help: "), "{error}");
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    }

    /// The example of `to_trf`.
    #[test]
    fn rows_are_the_outermost_part_of_time() {
        type Time = m![G, S, C # 64 / 32];
        type Packet = m![C # 64 % 32];
        let config = load::<i8, Time, Packet, m![G], m![S, C # 64]>();
        assert_eq!(config, Ok(TrfLoadConfig { rows: 4, row_elements: 192, bytes: 768 }));
        let outer = load::<i8, Time, Packet, m![G / 2], m![G % 2, S, C # 64]>();
        assert_eq!(outer, Ok(TrfLoadConfig { rows: 2, row_elements: 384, bytes: 768 }));
        let one = load::<i8, Time, Packet, m![1], m![G, S, C # 64]>();
        assert_eq!(one, Ok(TrfLoadConfig { rows: 1, row_elements: 768, bytes: 768 }));
        let parts = ["Element is `m![S, C]`", "`m![S, C # 64]`"];
        refused(load::<i8, Time, Packet, m![G], m![S, C]>(), "element mapping", &parts);
        refused(load::<i8, Time, Packet, m![S], m![G, C # 64]>(), "row count", &["got 3", "1, 2, 4, or 8"]);
        refused(load::<i8, Time, Packet, m![G % 2], m![G / 2, S, C # 64]>(), "row mapping", &["`m![G % 2]`"]);
    }

    /// A load that breaks several rules is refused by the first one, in the order of the documentation.
    #[test]
    fn the_first_broken_rule_is_reported() {
        // At first rows, capacity and all mappings are wrong. Then they are corrected one after the other.
        refused(load::<i8, m![T], m![K % 32], m![S], m![L, L]>(), "row count", &["got 3 from `m![S]`"]);
        let parts = ["8 rows of 67108864 bytes are 536870912 bytes", "TrfAddress::Full holds 65536"];
        refused(load::<i8, m![T], m![K % 32], m![N], m![L, L]>(), "TRF capacity", &parts);
        refused(
            load::<i8, m![T], m![K % 32], m![N], m![K]>(),
            "rows in time",
            &["8 rows", "more than the 6"],
        );
        refused(
            load::<i8, m![T], m![K % 32], m![G], m![K]>(),
            "rows in time",
            &["4 rows", "do not divide the 6"],
        );
        refused(load::<i8, m![S, N], m![K % 32], m![G], m![K]>(), "row mapping", &["Row is `m![G]`"]);
        refused(load::<i8, m![G, T], m![K % 32], m![G], m![K]>(), "element mapping", &["Element is `m![K]`"]);
        assert!(load::<i8, m![G, T], m![K % 32], m![G], m![T, K % 32]>().is_ok());
    }

    /// Padding counts at its place.
    #[test]
    fn padding_of_rows_and_time() {
        assert!(load::<i8, m![S # 4, T], m![K % 32], m![S # 4], m![T, K % 32]>().is_ok());
        refused(load::<i8, m![S # 4, T], m![K % 32], m![S], m![T, K % 32]>(), "row count", &["got 3"]);
        refused(
            load::<i8, m![G, T], m![K % 32], m![S # 4], m![T, K % 32]>(),
            "row mapping",
            &["`m![S # 4]`"],
        );
        refused(
            load::<i8, m![G, T], m![K % 32], m![G], m![T # 7, K % 32]>(),
            "element mapping",
            &["m![T # 7"],
        );
    }

    /// 4-bit elements count half a byte, and huge sizes are counted, too.
    #[test]
    fn bytes_of_all_rows_count() {
        let full = load::<i4, m![N, L / 32], m![K], m![N], m![L / 32, K]>();
        assert_eq!(full.map(|config| config.bytes), Ok(65_536));
        let parts = ["8 rows of 8224 bytes are 65792 bytes", "help: load a smaller tile"];
        refused(load::<i4, m![N, L / 32 # 257], m![K], m![N], m![L / 32 # 257, K]>(), "TRF capacity", &parts);
        refused(load::<f32, m![N, Z], m![N], m![N], m![Z, N]>(), "TRF capacity", &["TrfAddress::Full"]);
        let config = TrfLoadConfig { rows: 2, row_elements: 16385, bytes: 32_770 };
        assert!(check_capacity("to_trf", &config, TrfAddress::Full).is_ok());
        for address in [TrfAddress::FirstHalf, TrfAddress::SecondHalf] {
            assert_eq!((address.capacity(), TrfAddress::Full.capacity()), (32_768, 65_536));
            let error = check_capacity("to_trf", &config, address).expect_err("2 bytes too many");
            let text = format!("2 rows of 16385 bytes are 32770 bytes, but {address} holds 32768");
            assert!(
                error.message().contains(&text) && error.message().contains("`TrfAddress::Full`"),
                "{error}"
            );
            let config = TrfLoadConfig { bytes: 32_768, ..config };
            assert!(check_capacity("to_trf", &config, address).is_ok());
        }
    }

    /// Tests both sides of each condition of the short command.
    #[test]
    fn short_commands_need_contiguous_bytes() {
        type Load<D, Time, Packet, Row, Element> = TrfLoadPlan<D, Time, Packet, Row, Element>;
        type Plain = Load<i8, m![N, K / 32], m![K % 32], m![N], m![K]>;
        // The tensor is loaded as it lies; in another order; with a gap; from a part of a larger tensor.
        assert!(Plain::sto_trf::<i8, m![N, K], m![N], m![K]>());
        assert!(Plain::sto_trf::<i8, m![N, K], m![N, K / 32], m![K % 32]>());
        assert!(!Plain::sto_trf::<i8, m![K / 32, N, K % 32], m![N, K / 32], m![K % 32]>());
        assert!(!Plain::sto_trf::<i8, m![N, K # 96], m![N], m![K]>());
        assert!(Plain::sto_trf::<i8, m![[N, K] # 1024], m![N], m![K]>());
        // Padding is fetched as it lies, or inserted by the Collect Engine.
        type Padded = Load<i8, m![N, C # 64 / 32], m![C # 64 % 32], m![N], m![C # 64]>;
        assert!(Padded::sto_trf::<i8, m![N, C # 64], m![N], m![C # 64]>());
        assert!(!Padded::sto_trf::<i8, m![N, C # 64], m![N], m![C]>());
        assert!(!Padded::sto_trf::<i8, m![N, C], m![N], m![C]>());
        // The load has a broadcast.
        type Repeated = Load<i8, m![N], m![K % 32], m![N], m![K % 32]>;
        assert!(Repeated::sto_trf::<i8, m![N, K % 32], m![N], m![K % 32]>());
        assert!(!Repeated::sto_trf::<i8, m![K % 32], m![N], m![K % 32]>());
        // The load has a conversion.
        type Wide = Load<f32, m![N, K / 8], m![K % 8], m![N], m![K]>;
        assert!(Wide::sto_trf::<f32, m![N, K], m![N, K / 8], m![K % 8]>());
        assert!(!Wide::sto_trf::<bf16, m![N, K], m![N, K / 8], m![K % 8]>());
    }
}
