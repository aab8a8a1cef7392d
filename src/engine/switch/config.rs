//! The configuration that a kernel writes.

use super::{SwitchRequest, derive_switch};
use crate::mapping::M;
use crate::runtime::fault::accept;
pub use furiosa_visa_rules::engine::switch::config::SwitchConfig;

/// [`SwitchConfig`] in a kernel.
pub trait VerifySwitch {
    /// Refuses mappings that the configuration does not connect. [`derive_switch`] gives the same verdict as a value.
    ///
    /// # Panics
    /// If the mappings break a rule. The message names the rule.
    #[track_caller]
    fn verify<InSlice: M, InTime: M, OutSlice: M, OutTime: M>(&self);
}

impl VerifySwitch for SwitchConfig {
    #[track_caller]
    fn verify<InSlice: M, InTime: M, OutSlice: M, OutTime: M>(&self) {
        let request = SwitchRequest::new(InSlice::EXPR, InTime::EXPR, OutSlice::EXPR, OutTime::EXPR);
        accept(super::OPERATION, derive_switch(&request, self).map(|_| ()));
    }
}

crate::runtime::launch::device_send! { [] SwitchConfig }
