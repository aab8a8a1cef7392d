//! Loading the vector register file (VRF) from a stream.
//!
//! ```text
//!   Time   Packet   ──▶   Element: the same axes in any order, padding added or dropped      8192 bytes per slice
//! ```
//!
//! Elements are `i32` or `f32`: the type to which the fetch widens.

use crate::command::{Address, Footprint, Memory, Sink};
use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::VrfLoadable;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::runtime::{MakesTensors as _, Tu};
use crate::scalar::{Scalar, VeScalar};
use crate::tensor::VrfTensor;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::vector_register_file::OPERATION;
pub use furiosa_visa_rules::engine::vector_register_file::{VrfLoadConfig, VrfLoadRequest, derive_vrf_load};

/// The plan of a load of the VRF, as types.
pub struct VrfLoadPlan<D, Time, Packet, Element>(PhantomData<(D, Time, Packet, Element)>);

impl<D: VeScalar, Time: M, Packet: M, Element: M> VrfLoadPlan<D, Time, Packet, Element> {
    pub(crate) const REQUEST: VrfLoadRequest = VrfLoadRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        vrf_element: Element::EXPR,
    };

    /// The derived configuration. Evaluating it refuses loads that the VRF cannot hold.
    pub const CONFIG: VrfLoadConfig = match Late::<Self>::CONFIG {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<D: VeScalar, Time: M, Packet: M, Element: M> Late<VrfLoadPlan<D, Time, Packet, Element>> {
    #[doc(hidden)]
    pub const CONFIG: Refusable<VrfLoadConfig> =
        derive_vrf_load(&VrfLoadPlan::<D, Time, Packet, Element>::REQUEST);
}

/// A tensor that a load leaves in the VRF.
pub struct LoadedTensor<D, L, Element>(PhantomData<(D, L, Element)>);

impl<D: VeScalar, L: StreamLayout, Element: M> LoadedTensor<D, L, Element> {
    /// The footprint of the tensor. A tensor that the load refuses is not refused a second time.
    /// The footprint.
    #[doc(hidden)]
    pub const FOOTPRINT: &'static Footprint = {
        let _ = VrfLoadPlan::<D, L::Time, L::Packet, Element>::CONFIG;
        VrfTensor::<D, L::Chip, L::Cluster, L::Slice, Element>::FOOTPRINT
    };
}

impl<D: VeScalar, L: StreamLayout, Element: M> Late<LoadedTensor<D, L, Element>> {
    #[doc(hidden)]
    pub const FOOTPRINT: Refusable<&'static Footprint> =
        Late::<VrfTensor<D, L::Chip, L::Cluster, L::Slice, Element>>::FOOTPRINT;
}

impl<'l, const T: Tu, P: VrfLoadable, D: Scalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
    /// Ends the stream in the vector register file of every slice. `Element` has exactly the axes of `Time` and
    /// `Packet`, in any order; padding may be added or dropped.
    ///
    /// `address` counts bytes, a multiple of 4, or is [`AUTO`](crate::runtime::AUTO). See
    /// [vector](crate::guide::vector), whose first program loads a bias by
    /// `.collect::<m![C / 8], m![C % 8]>().to_vrf::<m![C]>(0)`.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, C = 64];
    /// type Bias = DmTensor<f32, m![1], m![1 # 2], m![S], m![C]>;
    /// type Operand = VrfTensor<f32, m![1], m![1 # 2], m![S], m![C]>;
    /// fn load(ctx: &mut Context, bias: &Bias) -> Operand {
    ///     (ctx.sub.begin(bias.view()).fetch::<f32, m![C / 8], m![C % 8]>())
    ///         .collect::<m![C / 8], m![C % 8]>()
    ///         .to_vrf(0)
    /// }
    /// # let _ = load as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: types other than `i32` and `f32` (`is not a 32-bit type`); an `Element` that `has no
    /// place for` an axis of the stream, or has one that the stream lacks (`a broadcast is not allowed here`); more
    /// than 8192 bytes.
    ///
    /// # Panics
    /// If `address` is no multiple of 4, or the tensor at `address` exceeds the VRF of 8192 bytes.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn to_vrf<Element: M>(self, address: Address) -> VrfTensor<D, L::Chip, L::Cluster, L::Slice, Element>
    where
        D: VeScalar,
    {
        let plan = planned!(const CONFIG of VrfLoadPlan<D, L::Time, L::Packet, Element>);
        let footprint = planned!(FOOTPRINT of LoadedTensor<D, L, Element>);
        let (place, destination) =
            crate::tensor::place(self.context.system(), Memory::Vrf, footprint, OPERATION, address);
        accept(OPERATION, crate::tensor::check_vrf_end(OPERATION, plan.bytes, place.address));
        let tensor = VrfTensor::filled(place, destination.fill);
        let sink = Sink::Vrf { destination, transfer: plan.transfer, guard: *planned!(GUARD of Self) };
        self.pass.end(self.context, sink);
        tensor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PlanError;
    use crate::prelude::*;

    axes![A = 4, B = 8, V = 256, W = 257, Z = 1152921504606846976];

    fn load<D: VeScalar, Time: M, Packet: M, Element: M>() -> Result<VrfLoadConfig, PlanError> {
        derive_vrf_load(&VrfLoadRequest {
            element: D::ELEMENT_TYPE,
            time: Time::EXPR,
            packet: Packet::EXPR,
            vrf_element: Element::EXPR,
        })
    }

    #[track_caller]
    fn refused(result: Result<VrfLoadConfig, PlanError>, rule: &str, parts: &[&str]) {
        let error = result.expect_err("it should be refused");
        assert_eq!(error.rule(), rule, "{error}");
        assert!(error.message().starts_with("to_vrf: ") && error.message().contains("; help: "), "{error}");
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    }

    #[test]
    fn axes_come_once_each() {
        let both = ["`VrfTensor<m![B]>`", "`stream<m![A], m![B]>`", "`m![A]`"];
        refused(load::<f32, m![A], m![B], m![B]>(), "not covered", &both);
        let both = ["`VrfTensor<m![V, A, B]>`", "`stream<m![A], m![B]>`", "`m![V]`"];
        refused(load::<f32, m![A], m![B], m![V, A, B]>(), "broadcast not allowed", &both);
        refused(load::<f32, m![A], m![B], m![A, B, A]>(), "axis repeated", &["m![A, B, A]", "twice"]);
        refused(load::<f32, m![A / 2], m![B], m![A, B]>(), "broadcast not allowed", &["`m![A % 2]`"]);
        for result in [
            load::<i32, m![A], m![B], m![A, B]>(),
            load::<i32, m![A], m![B], m![B % 2, A, B / 2]>(),
            load::<f32, m![A # 9], m![B # 16 % 8], m![A, B]>(),
        ] {
            assert_eq!(result.map(|config| (config.elements, config.bytes)), Ok((32, 128)));
        }
        assert_eq!(load::<f32, m![A], m![B], m![A # 6, B # 10]>().map(|config| config.bytes), Ok(240));
        assert_eq!(load::<f32, m![1], m![1 # 8], m![1]>().map(|config| config.elements), Ok(1));
    }

    /// The limit is 8192 bytes, padding included. The rule about axes is reported before it.
    #[test]
    fn bytes_count_with_padding() {
        assert_eq!(load::<f32, m![V], m![B], m![V, B]>().map(|config| config.bytes), Ok(8192));
        let parts = ["`m![W, B]` of f32 takes 8224 bytes", "VRF has 8192", "at most 2048 elements"];
        refused(load::<f32, m![W], m![B], m![W, B]>(), "VRF capacity", &parts);
        refused(load::<i32, m![A], m![B], m![[A, B] # 2049]>(), "VRF capacity", &["takes 8196 bytes"]);
        refused(load::<i32, m![Z], m![B], m![Z, B]>(), "VRF capacity", &["`m![Z, B]`"]);
        refused(load::<i32, m![W], m![B], m![W]>(), "not covered", &["`m![B]`"]);
        let check = |bytes, address| crate::tensor::check_vrf_end("to_vrf", bytes, address);
        assert!(check(8192, 0).is_ok() && check(4, 8188).is_ok());
        for (bytes, address) in [(8192, 4), (4, 8192), (4, 1 << 40), (4, u64::MAX - 3)] {
            let error = check(bytes, address).expect_err("it leaves the VRF");
            assert!(
                error.message().contains(&format!("{bytes} bytes at address {address} leaves")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_configuration_prints() {
        assert_eq!(VrfLoadPlan::<f32, m![A], m![B], m![B, A]>::CONFIG.to_string(), "32 elements, 128 bytes");
    }
}
