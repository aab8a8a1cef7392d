//! The Vector Engine, by positions: which chains of stages are legal, why others are not, and what each computes.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`chain`] | what is a chain, as plain data, and how does a kernel spell it? |
//! | [`run`] | is a chain legal ([`run::judge`]), and what leaves every step of it ([`run::run`])? |
//! | [`rules`] | which rule does a chain break, and what decides it: a bound, mappings, or a value? |
//! | [`operators`] | what does an operator compute, and on which unit? |
//! | [`exact`] | what is the correctly rounded value of a unary function? |
//! | [`elements`] | which id has an element, which operand does it take, and what does `to_vrf` store? |
//! | [`shapes`] | which mappings may split, concat, trim, pad and unzip have? |
//! | [`reduce`] | which outputs may a reduce have, and what are its results? |
//! | [`valid_count`] | can padding of a reduced axis be told to the hardware? |
//! | [`generate`], [`values`] | which random legal chains to try next, on which values? |
//! | [`mutants`] | which illegal chains to try next, and which rule do they break? |
//! | [`families`] | which chains to try around a limit? |
//! | [`big`] | natural numbers of any size, for [`exact`] |
//!
//! # A chain
//!
//! ```text
//!           stream: slice, time, packet           a step for each method
//! Chain ──┬─ kind: I32 or F32, as it enters   ┌─ Branch | Unzip | InterReduce     entries
//!         ├─ vrf: what operands name          ├─ Binary, Unary, Ternary, Zip      operators
//!         └─ steps ───────────────────────────┼─ FxpToFp, FpToFxp                 conversions
//!                                             ├─ Split, TrimWay4, Concat, PadWay8 relabelling
//!                                             └─ IntraReduce, Stash, Filter
//! ```
//!
//! Chip and cluster pass through every step and are left out: an adapter puts `m![1]` and `m![1 # 2]` before them, or
//! any others. Slices are few, so that tests are quick; [`chain::Chain::on_slices`] puts the same chain on 256 of them.
//! `vector_init` and `vector_final` are no steps: they stand around every chain.
//!
//! # How to compare a library with it
//!
//! * Verdict: a chain of [`generate::random_chain`] must be accepted; a chain of [`mutants::mutant`] must be
//!   refused, for one of the rules that come with it. [`rules::Rule::when`] says where a refusal
//!   belongs: `Bound` (the method does not exist; a property test cannot reach it through types), `Types` (the plan), `Values`
//!   (the call), `NotImplemented`. A chain that [`run::judge`] refuses as `Unclear` is not to be compared.
//! * Values: [`run::run`] gives a [`run::Snapshot`] after every step, so that the first step that differs is found.
//!   [`Lane::Is`](reduce::Lane::Is) is compared bit for bit, all NaN are one (`PartialEq` of
//!   [`Number`](crate::numbers::Number) does both). [`Lane::Absent`](reduce::Lane::Absent) is padding or an element
//!   that nobody wrote. [`Lane::Open`](reduce::Lane::Open) is not to be compared, nor the ids where the lane is absent.
//! * Padding of a reduced axis: the chains of [`families::padded_reduce`] have both verdicts. Leave out those of which
//!   [`valid_count::unclear`] gives a reason.
//!
//! # How the reference reads what the specification leaves open
//!
//! What can be switched is in [`operators::Reading`]. The rest, by subject:
//!
//! * **Zeros**: the greater of -0 and +0 is +0, the smaller -0 (`f32::max` leaves it to the host).
//! * **NaN of arithmetic** has no sign until something asks for it; then the result is open: `vector_fp_to_fxp`, logic on bits,
//!   unsigned comparisons. A NaN that only passed through has the sign it came with.
//! * **Several operands that match**: the first is applied.
//! * **An argument that the mode leaves out**: a register file must fit nevertheless, a stash need not exist.
//! * **Unwritten elements** are skipped by reduces like padding, as documented of ∅. Contractions spoil the result
//!   instead; `Reading::skips_unwritten` switches.
//! * **Ids** after a reduce within a slice: of the last element that is present.
//! * **Valid counts** tag the flits where the part within a slice begins: at `vector_init`, or behind a reduce between
//!   slices that comes first. Only the reduced axis counts; positions that are dead because of another axis may be
//!   tagged in any way. A packet count may be a constant below 8, so that trimmed packets have one.
//! * **Reduces between slices** skip padding of a reduced slice factor; no valid count is asked for, since none is
//!   documented.
//! * **Time of a reduce within a slice** is the input's without the digits of the axis, in their order and with
//!   their padding. Another order, or other padding, is unclear.
//! * **Slices of a reduce between slices** begin with what is kept; dummy, new and promoted factors follow in any
//!   order. Only whole axes are reduced.
//! * **`Erf`, `ArithRightShiftRound`** are computed, as recommended; `MaskMulF`, `MaskFmaF`, `vector_filter` and the
//!   branches `ValidCount` and `Vrf` have no meaning.

pub mod big;
pub mod chain;
pub mod elements;
pub mod exact;
pub mod families;
pub mod generate;
pub mod mutants;
pub mod operators;
pub mod reduce;
pub mod rules;
pub mod run;
pub mod shapes;
pub mod valid_count;
pub mod values;
