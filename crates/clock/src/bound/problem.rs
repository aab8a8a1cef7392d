//! Lower bounds on the cycles of a product of two tensors, for any mapping.
//!
//! Both operands are in HBM at first, and the result is there at the end. So
//!
//! * each operand is read and the result is written at least once. All of these bytes pass HBM, and the networks of DM;
//! * a load starts before the first multiplication, and a store behind the last one: two starts of DMA commands, which
//!   nothing overlaps;
//! * each product of two elements is made once, by the Contraction Engine.
//!
//! # Operands that do not fit
//!
//! If memories on the chips hold `C` bytes, some bytes are read again. Cut a kernel into phases in which `T` bytes pass
//! HBM, `R` of them as reads. In a phase, elements of the operands are those that were held before or are read: at most
//! `C + R` bytes. Sums are those that are held behind it or are written: at most `C + T - R` bytes. `a` and `b` elements
//! of the operands make at most `sqrt(a * b * s)` products for `s` sums (Loomis and Whitney; for a batch the sum over
//! its members is the greatest if one member has all). With element sizes `p`, `q` and `r`, a phase makes at most
//!
//! ```text
//!   most = (C + R) / 2 * sqrt((C + T - R) / (p * q * r))        greatest at R = min(T, (C + 2 T) / 3)
//! ```
//!
//! products. So at least `T * floor(products / most)` bytes pass HBM, whatever `T` is. This is the argument of Hong and
//! Kung, which Orojenesis applies to tensor kernels. `C` counts DM, register files and accumulators, so a bound with DM
//! alone would be greater.

use super::kernel::refreshed;
use super::{Bounds, Limit};
use crate::cost::Profile;
use crate::numbers::{Model, Number};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{
    ACCUMULATOR_CELLS, CLUSTERS, CORE_CYCLE_TICKS, DM_BYTES, DMA_STARTUP_CYCLES, DMN_BYTES_PER_CYCLE,
    DMN_SLICES, HBM_CHANNELS, HBM_UNIT_BYTES, HBM_UNIT_TICKS, MAC_BYTES, SLICES, TRF_BANK_ROWS, TRF_BYTES,
    VRF_BYTES,
};

/// Bytes that the slices of a chip hold: DM, both register files and 32 bits in each cell of the accumulators.
pub const ON_CHIP_BYTES: u64 =
    (CLUSTERS * SLICES * (DM_BYTES + TRF_BYTES + VRF_BYTES + 4 * ACCUMULATOR_CELLS)) as u64;

/// Greatest size in bits of the elements that the Contraction Engine multiplies. Wider ones are cast before.
const MULTIPLIED_BITS: usize = 16;

/// An axis of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductAxis {
    /// Number of its positions.
    pub size: u64,
    /// True if the first operand has it.
    pub in_first: bool,
    /// True if the second operand has it.
    pub in_second: bool,
    /// True if the result has it. If not, it is summed over.
    pub in_result: bool,
}

impl ProductAxis {
    /// An axis of both operands and of the result.
    pub const fn batch(size: u64) -> Self {
        Self { size, in_first: true, in_second: true, in_result: true }
    }

    /// An axis of the first operand and of the result.
    pub const fn of_first(size: u64) -> Self {
        Self { size, in_first: true, in_second: false, in_result: true }
    }

    /// An axis of the second operand and of the result.
    pub const fn of_second(size: u64) -> Self {
        Self { size, in_first: false, in_second: true, in_result: true }
    }

    /// An axis of both operands that is summed over.
    pub const fn summed(size: u64) -> Self {
        Self { size, in_first: true, in_second: true, in_result: false }
    }
}

/// A product of two tensors in HBM, with its result in HBM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// All axes.
    pub axes: Vec<ProductAxis>,
    /// Type of the elements of the first operand in HBM.
    pub first: ElementType,
    /// Type of the elements of the second operand in HBM.
    pub second: ElementType,
    /// Type of the elements of the result in HBM.
    pub result: ElementType,
    /// Number of chips.
    pub chips: usize,
}

impl Product {
    fn positions(&self, has: impl Fn(&ProductAxis) -> bool) -> u128 {
        let sizes = self.axes.iter().filter(|axis| has(axis)).map(|axis| u128::from(axis.size));
        sizes.fold(1, u128::saturating_mul)
    }

    /// Number of products of two elements. An axis of one operand alone that is summed over is summed before.
    pub fn products(&self) -> u128 {
        self.positions(|axis| {
            axis.in_first && axis.in_second || axis.in_result && (axis.in_first || axis.in_second)
        })
    }

    /// Bytes of the first operand, of the second one and of the result.
    pub fn bytes(&self) -> [u128; 3] {
        let bytes = |elements: u128, element: ElementType| {
            elements.saturating_mul(element.bits() as u128).div_ceil(8)
        };
        [
            bytes(self.positions(|axis| axis.in_first), self.first),
            bytes(self.positions(|axis| axis.in_second), self.second),
            bytes(self.positions(|axis| axis.in_result), self.result),
        ]
    }

    /// Bytes that pass HBM at least.
    pub fn hbm_bytes(&self) -> u128 {
        let once = self.bytes().into_iter().fold(0, u128::saturating_add);
        let held = u128::from(ON_CHIP_BYTES) * self.chips as u128;
        let again =
            |passed: u128| (self.products() / self.most_products(held, passed)).saturating_mul(passed);
        [held / 4, held / 2, held, 2 * held, 4 * held].into_iter().map(again).fold(once, u128::max)
    }

    /// Maximum number of products of a phase in which `passed` bytes pass HBM, if `held` bytes are on the chips.
    fn most_products(&self, held: u128, passed: u128) -> u128 {
        let read = passed.min((held + 2 * passed) / 3);
        let (operands, sums) = (held + read, held + passed - read);
        let bits = [self.first, self.second, self.result].map(|element| element.bits() as u128);
        // Bytes of three elements are 8^3 times fewer than bits, and each operand has half of the bytes.
        let square = operands * operands * sums * (512 / 4) / bits.into_iter().product::<u128>();
        // Rounded up: one more than the root of a number that was rounded down.
        square.isqrt() + 1
    }
}

/// Cycles in which all channels of a chip move `bytes` between HBM and anything else.
///
/// ```
/// use furiosa_visa_std::clock::{Model, Profile, bound::hbm_cycles};
/// assert_eq!(hbm_cycles(1536 * 1000, Model::new(Profile::Book)), 1000);
/// assert_eq!(hbm_cycles(1536 * 1000, Model::new(Profile::Detailed)), 1071); // with refresh
/// ```
pub fn hbm_cycles(bytes: u128, model: Model) -> u64 {
    let ticks = bytes * u128::from(HBM_UNIT_TICKS) / (HBM_UNIT_BYTES * HBM_CHANNELS) as u128;
    // Each command has its own refresh, rounded down. The start of a command is longer than what that loses, but for
    // one tick: so the ticks are rounded down, too.
    refreshed(u64::try_from(ticks).unwrap_or(u64::MAX), model) / CORE_CYCLE_TICKS
}

/// Lower bounds on the cycles of a product in a model, for [`Limit::Multipliers`], [`Limit::Hbm`] and
/// [`Limit::DmaEngine`].
///
/// ```
/// use furiosa_visa_std::clock::bound::{Limit, Product, ProductAxis, problem};
/// use furiosa_visa_std::clock::{Model, Profile};
/// use furiosa_visa_std::scalar::ElementType::Bf16;
/// let axes = vec![ProductAxis::of_first(1), ProductAxis::of_second(4096), ProductAxis::summed(4096)];
/// let product = Product { axes, first: Bf16, second: Bf16, result: Bf16, chips: 1 };
/// let bounds = problem(&product, Model::new(Profile::Book));
/// // 32 MiB of weights at 1536 bytes per cycle, and 16 KiB of vectors.
/// assert_eq!((bounds.held_by(), bounds.cycles()), (Limit::Hbm, 1000 + (32 * 1024 * 1024 + 16 * 1024) / 1536));
/// ```
pub fn problem(product: &Product, model: Model) -> Bounds {
    let chips = product.chips.max(1) as u128;
    let bytes = product.hbm_bytes();
    let [first, second, result] = product.bytes();
    let loads = u64::from(first + second > 0);
    let starts = (loads + u64::from(result > 0)) * DMA_STARTUP_CYCLES;
    let limit = |cycles: u128| u64::try_from(cycles).unwrap_or(u64::MAX).saturating_add(starts);

    let hbm = hbm_cycles(bytes / chips, model);

    let access_ticks = match model.profile {
        Profile::Book => CORE_CYCLE_TICKS,
        Profile::Detailed => model.numbers.get(Number::DmnAccess),
    };
    let networks = (CLUSTERS * SLICES / DMN_SLICES * DMN_BYTES_PER_CYCLE) as u128 * chips;
    let dm = bytes * u128::from(access_ticks) / networks / u128::from(CORE_CYCLE_TICKS);

    let bits = product.first.bits().max(product.second.bits()).min(MULTIPLIED_BITS);
    let per_cycle = (CLUSTERS * SLICES * TRF_BANK_ROWS * MAC_BYTES * 8 / bits) as u128 * chips;
    Bounds::default()
        .with(Limit::Multipliers, limit(product.products().div_ceil(per_cycle)))
        .with(Limit::Hbm, limit(hbm.into()))
        .with(Limit::DmaEngine, limit(dm))
}
