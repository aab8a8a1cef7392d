//! What a contraction does on each path.

use super::job::{FloatJob, IntegerJob};
use super::portable;
pub(super) use crate::chip::execute::path::Path;

impl Path {
    /// Whether integers are multiplied byte by byte, and weights are laid out as vectors.
    pub(in crate::chip::execute::contraction) fn multiplies_bytes(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(_) => true,
            _ => false,
        }
    }

    /// The least strands that are worth doing side by side. `None`: they cannot be.
    pub(in crate::chip::execute::contraction) fn strands(self) -> Option<usize> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(_) => Some(6),
            _ => None,
        }
    }

    /// Adds the sums of floats to the results.
    pub(in crate::chip::execute::contraction) fn float(self, job: FloatJob<'_>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.float(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().float(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.float(job),
            _ => portable::float(job),
        }
    }

    /// Adds the sums of integers to the results.
    pub(in crate::chip::execute::contraction) fn integer(self, job: IntegerJob<'_>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.integer(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().integer(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.integer(job),
            _ => portable::integer(job),
        }
    }
}
