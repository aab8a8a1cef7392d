//! Kernels of a contraction on each path.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use super::integer::{self, Dots};
use super::job::{FloatJob, IntegerJob};
use super::portable;
use super::shape::{Kernel, Layout, Shape};
use super::single_row::single_row;
use super::tree::Lanes;
use super::weights::{Rows, lay_out_floats};
#[cfg(target_arch = "x86_64")]
use super::x86;
#[cfg(target_arch = "aarch64")]
use crate::execute::path::Neon;
pub(super) use crate::execute::path::Path;
#[cfg(target_arch = "x86_64")]
use crate::execute::path::{Avx2, Avx2Vnni};
use furiosa_visa_rules::scalar::ElementType;

impl Path {
    /// Layout of the weights of integers. `None`: no kernel has columns of this size.
    pub(in crate::execute::contraction) fn layout(self, shape: &Shape) -> Option<Layout> {
        match (self, shape.column_bytes()) {
            (_, 0 | 1) => None,
            (Path::Portable, _) => Some(portable::LAYOUT),
            // Words of two bytes.
            #[cfg(target_arch = "x86_64")]
            (_, 2) | (Path::Avx2(_), _) => Some(Avx2::LAYOUT),
            #[cfg(target_arch = "x86_64")]
            (Path::Avx512(_), _) => Some(x86::vnni::LAYOUT),
            #[cfg(target_arch = "x86_64")]
            (Path::Avx2Vnni(_), _) => Some(Avx2Vnni::LAYOUT),
            #[cfg(target_arch = "aarch64")]
            _ => Some(Neon::LAYOUT),
        }
    }

    /// Number of chains that are summed side by side.
    pub(in crate::execute::contraction) fn side(self, kernel: &Kernel) -> usize {
        match (self, kernel) {
            (Path::Portable, Kernel::Integer(..)) => 1,
            #[cfg(target_arch = "x86_64")]
            (_, Kernel::Integer(_, x86::vnni::LAYOUT)) => x86::vnni::SIDE,
            #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
            (_, Kernel::Integer(..)) => integer::SIDE,
            _ => portable::SIDE,
        }
    }

    /// Widens rows of at least a block of cells, and writes the weights of each cell side by side.
    pub(in crate::execute::contraction) fn lay_out_floats(
        self,
        element: ElementType,
        rows: &Rows<'_>,
        floats: &mut [Lanes],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.avx2().lay_out_floats(element, rows, floats),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().lay_out_floats(element, rows, floats),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.lay_out_floats(element, rows, floats),
            _ => lay_out_floats(element, rows, floats, portable::transpose),
        }
    }

    /// Adds the sums of floats to the results.
    pub(in crate::execute::contraction) fn float(self, job: FloatJob<'_, Lanes>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.float(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().float(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.float(job),
            // Every program for AArch64 may use NEON.
            _ => portable::float(portable::Plain, job),
        }
    }

    /// Adds the sums of floats to the results, for a register file with one row.
    pub(in crate::execute::contraction) fn single_row(self, job: FloatJob<'_, f32>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.single_row(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.avx2().single_row(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.single_row(job),
            // Every program for AArch64 may use NEON.
            _ => single_row(portable::Plain, job),
        }
    }

    /// Adds the sums of integers to the results.
    pub(in crate::execute::contraction) fn integer(self, job: IntegerJob<'_>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512(machine) => machine.integer(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2Vnni(machine) => machine.integer(job),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2(machine) => machine.integer(job),
            #[cfg(target_arch = "aarch64")]
            Path::NeonDot(machine) => machine.integer(job),
            #[cfg(target_arch = "aarch64")]
            Path::Neon(machine) => machine.integer(job),
            Path::Portable => portable::integer(job),
        }
    }
}
