//! Which instructions the kernels use.

use super::job::{FloatJob, IntegerJob};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};

/// The instructions of a contraction. All give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// Cell by cell: what padding needs, and what the other paths are compared with.
    General,
    /// Blocks of lanes, for any machine.
    Portable,
    /// Blocks of lanes with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-512 with VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Path {
    /// The paths that this machine has, the fastest first.
    pub(super) fn available() -> impl Iterator<Item = Path> {
        #[cfg(target_arch = "x86_64")]
        let own = Avx512::detect().map(Path::Avx512).into_iter().chain(Avx2::detect().map(Path::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        let own = core::iter::empty();
        own.chain([Path::Portable, Path::General])
    }

    /// The fastest path of this machine.
    pub(super) fn best() -> Path {
        Path::available().next().unwrap_or(Path::Portable)
    }

    /// Whether integers are multiplied byte by byte, and weights are laid out as vectors.
    pub(super) fn multiplies_bytes(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(_) => true,
            _ => false,
        }
    }

    /// The least strands that are worth doing side by side. `None`: they cannot be.
    pub(super) fn strands(self) -> Option<usize> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(_) => Some(6),
            _ => None,
        }
    }

    /// Adds the sums of floats to the results.
    pub(super) fn float(self, job: FloatJob<'_>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.float(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.float(job),
            Path::Portable | Path::General => portable::float(job),
        }
    }

    /// Adds the sums of integers to the results.
    pub(super) fn integer(self, job: IntegerJob<'_>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.integer(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.integer(job),
            Path::Portable | Path::General => portable::integer(job),
        }
    }
}
