//! `#[device(chip = N)]`: the tensors of a kernel span `N` chips.

use crate::chip::{Fault, FaultKind};
use crate::error::{PlanError, refuse};
use crate::mapping::Expr;
use core::panic::Location;

/// The mappings over chips of the tensors in the arguments or the result of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct TensorChips {
    fewest: Option<&'static Expr>,
    most: Option<&'static Expr>,
}

impl TensorChips {
    /// The value for arguments that hold no tensor.
    pub const NONE: Self = Self { fewest: None, most: None };

    /// The value for a tensor with this mapping over chips.
    pub const fn of(chip: &'static Expr) -> Self {
        Self { fewest: Some(chip), most: Some(chip) }
    }

    /// Joins both values.
    pub const fn and(self, other: Self) -> Self {
        let fewest = match (self.fewest, other.fewest) {
            (Some(a), Some(b)) if positions(b) < positions(a) => Some(b),
            (None, b) => b,
            (a, _) => a,
        };
        let most = match (self.most, other.most) {
            (Some(a), Some(b)) if positions(b) > positions(a) => Some(b),
            (None, b) => b,
            (a, _) => a,
        };
        Self { fewest, most }
    }
}

/// Number of chips. 0 for a mapping without a size, which is refused where a tensor has it.
const fn positions(chip: &Expr) -> usize {
    match chip.checked_size() {
        Ok(size) => size,
        Err(_) => 0,
    }
}

/// Refuses a kernel for `chips` chips with a tensor of another number of chips.
pub(super) const fn check(kernel: &str, chips: usize, tensors: TensorChips) -> Result<(), PlanError> {
    let sides = [tensors.fewest, tensors.most];
    let mut k = 0;
    while k < sides.len() {
        if let Some(chip) = sides[k]
            && positions(chip) != chips
        {
            refuse!(
                "kernel chips",
                "device: the kernel `{}` is for {}, but Chip {} of a tensor in its signature has {}; \
                 help: write `#[device(chip = {})]`, or a Chip of {} in all tensors, padded with `#`",
                kernel,
                count(chips, "chip"),
                chip,
                count(positions(chip), "position"),
                positions(chip),
                count(chips, "position"),
            );
        }
        k += 1;
    }
    Ok(())
}

/// Refuses to launch a kernel for more chips than the system has. `system` is `None` if it grows as needed.
pub(super) fn check_system(
    kernel: &'static str,
    chips: usize,
    system: Option<usize>,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    match system {
        Some(system) if system < chips => {
            let message = format!(
                "the kernel `{kernel}` is for {chips} chips, but the system of the context has {system}"
            );
            let help = format!(
                "make the context with `Context::with(SimOptions {{ chips: Some({chips}), .. }})`, or without `chips`"
            );
            Err(Fault::new(FaultKind::Refused, "launch", location, message, help))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::M;
    use crate::prelude::{axes, m};

    axes![G = 4];

    fn tensors<First: M, Second: M>() -> TensorChips {
        TensorChips::NONE.and(TensorChips::of(First::EXPR)).and(TensorChips::of(Second::EXPR))
    }

    #[test]
    fn every_tensor_counts() {
        assert!(check("k", 1, TensorChips::NONE).is_ok());
        assert!(check("k", 4, tensors::<m![G], m![1 # 4]>()).is_ok());
        let cases = [
            (2, tensors::<m![G], m![1 # 4]>(), "Chip `m![G]` of a tensor in its signature has 4 positions"),
            (4, tensors::<m![G], m![1]>(), "Chip `m![1]` of a tensor in its signature has 1 position;"),
            (1, tensors::<m![1], m![G]>(), "Chip `m![G]` of a tensor in its signature has 4 positions"),
        ];
        for (chips, tensors, part) in cases {
            let error = check("k", chips, tensors).expect_err(part);
            assert!(error.message().contains(part), "{error}");
        }
    }
}
