//! A step of a way: as a command, and as the call that a kernel has.

use super::digits::Values;
use super::passes::{Pass, passes};
use furiosa_visa_rules::command::{ContextKind, FillId, Memory, Operation};
use furiosa_visa_rules::engine::copies::copy_operation;
use furiosa_visa_rules::engine::copies::parallel::{CALL, derive_parallel_copy};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::{Call, Stream, Tensor, to_dm, to_hbm};
use furiosa_visa_rules::mapping::{Expr, Pool, factorize};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
use furiosa_visa_rules::tensor::Shape;
use furiosa_visa_rules::text::text;

/// Alignment of tensors in HBM, in bytes.
const HBM_ALIGN_BYTES: u64 = 1 << 20;
/// Alignment of tensors in DM, in bytes.
const DM_ALIGN_BYTES: u64 = 256;

const ONE: &Expr = &Expr::Identity;

/// A memory, and where elements are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In HBM.
    Hbm {
        /// The elements.
        element: &'static Expr,
    },
    /// In DM.
    Dm {
        /// The clusters.
        cluster: &'static Expr,
        /// The slices of a cluster.
        slice: &'static Expr,
        /// The elements of a slice.
        element: &'static Expr,
    },
}

impl Place {
    /// A tensor there.
    pub fn shape(&self, element_type: ElementType) -> Shape {
        match *self {
            Place::Hbm { element } => Shape::hbm(element_type, ONE, element),
            Place::Dm { cluster, slice, element } => Shape::dm(element_type, ONE, cluster, slice, element),
        }
    }

    /// The type of a tensor there, as a kernel has it.
    pub fn type_text(&self, element_type: ElementType) -> String {
        match self {
            Place::Hbm { element } => format!("HbmTensor<{element_type}, m![1], m![{element}]>"),
            Place::Dm { cluster, slice, element } => {
                format!("DmTensor<{element_type}, m![1], m![{cluster}], m![{slice}], m![{element}]>")
            }
        }
    }

    /// The place, in words: `DM, m![1 # 2], m![M / 2], m![M % 2, K]`.
    pub fn text(&self) -> String {
        match self {
            Place::Hbm { element } => format!("hbm: m![{element}]"),
            Place::Dm { cluster, slice, element } => {
                format!("dm: m![{cluster}], m![{slice}], m![{element}]")
            }
        }
    }

    /// The elements of a unit.
    pub fn element(&self) -> &'static Expr {
        match self {
            Place::Hbm { element } | Place::Dm { element, .. } => element,
        }
    }

    /// Tells if another place has each element at the same position.
    pub fn is_same(&self, other: &Place) -> bool {
        let alike = |a: &Expr, b: &Expr| {
            let mut pool = Pool::new();
            let [a, b] = [factorize(&mut pool, a), factorize(&mut pool, b)];
            a.is(&b)
        };
        match (self, other) {
            (Place::Hbm { element: a }, Place::Hbm { element: b }) => alike(a, b),
            (
                Place::Dm { cluster, slice, element },
                Place::Dm { cluster: other_cluster, slice: other_slice, element: other_element },
            ) => alike(cluster, other_cluster) && alike(slice, other_slice) && alike(element, other_element),
            _ => false,
        }
    }
}

/// Places without those that are the same as one before.
pub(crate) fn distinct(places: impl IntoIterator<Item = Place>) -> Vec<Place> {
    let mut known: Vec<Place> = Vec::new();
    for place in places {
        if !known.iter().any(|other| other.is_same(&place)) {
            known.push(place);
        }
    }
    known
}

/// A move from one place to another.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A transfer of the DMA engines.
    Dma,
    /// A copy by the sub context.
    Copy,
    /// A pass of the Tensor Unit.
    Pass(Pass),
}

impl Step {
    /// The step, in words.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Dma => "DMA",
            Step::Copy => "parallel copy",
            Step::Pass(pass) => pass.name(),
        }
    }
}

/// The steps that may lead from one place to another.
pub fn candidates(element: ElementType, [from, to]: [&Place; 2], values: &Values) -> Vec<Step> {
    let mut steps = vec![Step::Dma];
    let (Place::Dm { slice: a, element: b, .. }, Place::Dm { slice: c, element: d, .. }) = (from, to) else {
        return steps;
    };
    steps.push(Step::Copy);
    steps.extend(passes(element, [a, b], [c, d], values).into_iter().map(Step::Pass));
    steps
}

/// Bytes of a unit that a tensor takes, from its memory's first byte on.
fn end(tensor: &Tensor) -> u64 {
    tensor.region.address + tensor.region.footprint.bytes() as u64
}

/// The bytes behind all tensors of the same memory.
fn address_behind(memory: Memory, others: &[&Tensor]) -> u64 {
    let align = if memory == Memory::Hbm { HBM_ALIGN_BYTES } else { DM_ALIGN_BYTES };
    let ends = others.iter().filter(|tensor| tensor.shape.memory == memory).map(|tensor| end(tensor));
    ends.max().unwrap_or(0).next_multiple_of(align)
}

/// Derives the command of a step, to bytes behind those of other tensors.
///
/// # Errors
/// The refusal of the call, also one that the types of a kernel would make, and one of tensors that do not fit the memory
/// together.
pub fn derive(
    step: &Step,
    source: &Tensor,
    to: &Place,
    others: &[&Tensor],
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    let shape = to.shape(source.shape.element_type);
    let is_on_chip = [source.shape.memory, shape.memory] == [Memory::Dm; 2];
    if is_on_chip && source.shape.cluster != shape.cluster {
        return Err(PlanError::new(
            "same clusters",
            text!(
                "to_dm: `Cluster` {} would become {}, but moves from DM to DM stay in their cluster; help: go through HBM",
                (source.shape.cluster, shape.cluster),
            ),
        ));
    }
    let address = address_behind(shape.memory, others);
    let (name, capacity) = match shape.memory {
        Memory::Hbm => ("HBM", spec::HBM_BYTES),
        _ => ("DM", spec::DM_BYTES as u64),
    };
    let bytes = shape.footprint()?.bytes() as u64;
    if address + bytes > capacity {
        return Err(PlanError::new(
            "memory",
            text!(
                "route: {} bytes are behind {} bytes of the tensors before it, but {} has {}; help: move the tensor in parts",
                (bytes as usize, address as usize, name, capacity as usize),
            ),
        ));
    }
    derive_at(step, source, to, address, fill)
}

/// Derives the command of a step, to an address.
///
/// # Errors
/// The refusal of the call.
pub fn derive_at(
    step: &Step,
    source: &Tensor,
    to: &Place,
    address: u64,
    fill: FillId,
) -> Result<(Operation, Tensor), PlanError> {
    match (step, *to) {
        (Step::Dma, Place::Hbm { element }) => to_hbm(source, [ONE, element], address, fill),
        (Step::Dma, Place::Dm { cluster, slice, element }) => {
            to_dm(source, [ONE, cluster, slice, element], address, fill)
        }
        (Step::Copy, _) => {
            let shape = to.shape(source.shape.element_type);
            let made = Tensor::new(shape, address, fill)?;
            let transfer = derive_parallel_copy(&source.shape, &shape)?;
            let regions = [source.region, made.region];
            Ok((copy_operation(CALL, ContextKind::Sub, regions, vec![transfer]), made))
        }
        (Step::Pass(pass), _) => Stream::begin(source, false)?
            .calls(&pass.calls(source.shape.element_type))?
            .commit(to.element(), address, fill),
    }
}

/// The call of a step, with its tensors: `let y: … = x.…;`.
pub fn calls(step: &Step, element: ElementType, to: &Place, [from, name]: [&str; 2]) -> String {
    let made = to.type_text(element);
    match step {
        Step::Dma => {
            let call = if matches!(to, Place::Hbm { .. }) { "to_hbm" } else { "to_dm" };
            format!("let {name}: {made} = {from}.{call}(&mut ctx.tdma, AUTO);\n")
        }
        Step::Copy => format!(
            "let mut {name} = {}::new(ctx);\n{from}.to_dm_pcopy(&mut ctx.sub, &mut {name});\n",
            made.replacen('<', "::<", 1)
        ),
        Step::Pass(pass) => {
            let mut text = format!("let {name}: {made} = (ctx.main.begin({from}.view()))\n");
            for call in pass.calls(element) {
                text += &match call {
                    Call::Fetch { output, time, packet } => {
                        format!("    .fetch::<{output}, m![{time}], m![{packet}]>()\n")
                    }
                    Call::Switch { slice, time, .. } => {
                        format!("    .switch_to::<m![{slice}], m![{time}]>()\n")
                    }
                    Call::Collect { time, packet } => {
                        format!("    .collect::<m![{time}], m![{packet}]>()\n")
                    }
                    Call::Transpose { time, packet } => {
                        format!("    .transpose::<m![{time}], m![{packet}]>()\n")
                    }
                    other => unreachable!("a pass of a way has no {other:?}"),
                };
            }
            text + "    .commit(AUTO);\n"
        }
    }
}
