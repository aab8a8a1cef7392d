//! Rule against tensors of another context: their addresses belong to its memories, and other bytes lie here.

use super::bounds::Call;
use crate::systems::known;
use furiosa_visa_rules::command::{Fault, FaultKind, Place};

/// Refuses a tensor of another system than number `system`.
pub(crate) fn check(place: &Place, system: u64, call: Call) -> Result<(), Fault> {
    let owner = place.fill().system();
    if owner == 0 || owner == system {
        return Ok(());
    }
    let (ended, help) = if known(owner).lives {
        ("", "use the tensor with its own context; `to_host` and `to_hbm` take its elements to another one")
    } else {
        let help = "make the tensor on the context of the call, with `to_hbm` from the host; what the other context held \
                    ended with it, unless `to_host` was called before";
        (", which has ended", help)
    };
    let message = format!(
        "the tensor in {} belongs to context {owner}{ended}, but the call is on context {system}, where other bytes lie at \
         these addresses",
        place.describe()
    );
    let fault = call.fault(FaultKind::OtherContext, message, help);
    let fault = with_origin(fault, "the context of the tensor was made here", owner);
    Err(with_origin(fault, "the context of the call was made here", system))
}

/// A fault with the place at which a system was made, if it is known.
pub fn with_origin(fault: Fault, label: &'static str, system: u64) -> Fault {
    match known(system).made {
        Some(location) => fault.after(label, location),
        None => fault,
    }
}
