//! A pass through the Vector Engine as plain data: the stream that enters, and one step per method of the chain.
//! `vector_final` ends every chain and is no step.
//!
//! A chain is printed as the methods that a kernel would call, in their order.

use super::exact::Function;
use super::operators::{Binary, FpBinary, FpTernary, InterOp, IntraOp, Kind};
use crate::mapping::Map;
use crate::numbers::Number;
use crate::random::Axes;
use std::fmt;

/// Slice, time and packet of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub slice: Map,
    pub time: Map,
    pub packet: Map,
}

impl Shape {
    /// The dimensions of all positions, row-major.
    pub fn dims(&self) -> [&Map; 3] {
        [&self.slice, &self.time, &self.packet]
    }

    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.dims().iter().map(|dim| dim.size()).product()
    }
}

/// A tensor of the vector register file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VrfTensor {
    pub kind: Kind,
    pub slice: Map,
    pub element: Map,
}

/// A chain of stages. Chip and cluster pass through and are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    pub axes: Axes,
    /// Type of the stream that enters.
    pub kind: Kind,
    /// Shape of the stream that enters.
    pub shape: Shape,
    /// The tensors that operands name by their number.
    pub vrf: Vec<VrfTensor>,
    pub steps: Vec<Step>,
}

/// The values that a chain works on, row-major. `None`: padding, or never written.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Over slice, time and packet of [`Chain::shape`].
    pub stream: Vec<Option<Number>>,
    /// Over slice and element of each tensor of [`Chain::vrf`].
    pub vrf: Vec<Vec<Option<Number>>>,
}

/// `0` is the stream, `1` the operand. In a zip, `0` is the first group and `1` the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BinaryMode {
    Mode00,
    Mode01,
    Mode10,
    Mode11,
}

/// `0` is the stream, `1` the first operand, `2` the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TernaryMode {
    Mode012,
    Mode002,
    Mode102,
    Mode112,
    Mode020,
    Mode021,
    Mode120,
}

impl BinaryMode {
    /// All of them.
    pub const ALL: [BinaryMode; 4] =
        [BinaryMode::Mode00, BinaryMode::Mode01, BinaryMode::Mode10, BinaryMode::Mode11];

    /// Which argument is which.
    pub fn arguments(self) -> [usize; 2] {
        match self {
            BinaryMode::Mode00 => [0, 0],
            BinaryMode::Mode01 => [0, 1],
            BinaryMode::Mode10 => [1, 0],
            BinaryMode::Mode11 => [1, 1],
        }
    }
}

impl TernaryMode {
    /// All of them.
    pub const ALL: [TernaryMode; 7] = [
        TernaryMode::Mode012,
        TernaryMode::Mode002,
        TernaryMode::Mode102,
        TernaryMode::Mode112,
        TernaryMode::Mode020,
        TernaryMode::Mode021,
        TernaryMode::Mode120,
    ];

    /// Which argument is which.
    pub fn arguments(self) -> [usize; 3] {
        match self {
            TernaryMode::Mode012 => [0, 1, 2],
            TernaryMode::Mode002 => [0, 0, 2],
            TernaryMode::Mode102 => [1, 0, 2],
            TernaryMode::Mode112 => [1, 1, 2],
            TernaryMode::Mode020 => [0, 2, 0],
            TernaryMode::Mode021 => [0, 2, 1],
            TernaryMode::Mode120 => [1, 2, 0],
        }
    }
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    Constant(Number),
    /// A tensor of [`Chain::vrf`].
    Vrf(usize),
    Stash,
}

/// Which elements an operand is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Every element with an id.
    Always,
    /// Elements whose id has bit 3 equal to this group.
    Group(u8),
    /// Elements whose id has these bits, bit 0 first, where one is given. `negated`: elements whose id has not all of them.
    Tags { bits: [Option<bool>; 4], negated: bool },
}

/// As a kernel writes it behind an operand.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Always => f.write_str("TagGuard::all()"),
            Condition::Group(group) => write!(f, "GroupId::{}", ["Zero", "One"][usize::from(*group)]),
            Condition::Tags { bits, negated } => {
                let bits = bits.map(|bit| bit.map_or("Ignore", |bit| if bit { "One" } else { "Zero" }));
                write!(f, "TagGuard::{}matches([{}])", if *negated { "not_" } else { "" }, bits.join(", "))
            }
        }
    }
}

/// An operand. A ternary operator also takes a second one, which is a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    pub source: Source,
    /// Of ternary operators.
    pub second: Option<f32>,
    pub condition: Condition,
}

impl Operand {
    /// For every element.
    pub fn always(source: Source) -> Operand {
        Operand { source, second: None, condition: Condition::Always }
    }
}

/// The operands of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Operands {
    /// Of a single stream, one operand without a list.
    One(Operand),
    /// Of a single stream: an array, whose always-valid operands are counted.
    Array(Vec<Operand>),
    /// Of a single stream: an `ArrayVec`, which is not counted.
    ArrayVec(Vec<Operand>),
    /// Of two groups. `None` skips the group.
    Groups([Option<Operand>; 2]),
}

impl Operands {
    /// All operands, in their order.
    pub fn list(&self) -> Vec<Operand> {
        match self {
            Operands::One(operand) => vec![*operand],
            Operands::Array(list) | Operands::ArrayVec(list) => list.clone(),
            Operands::Groups(groups) => groups.iter().flatten().copied().collect(),
        }
    }

    /// All operands, to change them.
    pub fn list_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Operands::One(operand) => vec![operand],
            Operands::Array(list) | Operands::ArrayVec(list) => list.iter_mut().collect(),
            Operands::Groups(groups) => groups.iter_mut().flatten().collect(),
        }
    }
}

/// The kind of a comparison with a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Equal,
    Less,
    Greater,
    /// Of the bits as an unsigned number.
    LessUnsigned,
    GreaterUnsigned,
    True,
    False,
}

/// `InputCmpI32` or `InputCmpF32`, by the type of its boundary. `True` and `False` have a type as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputCmp {
    pub compare: Compare,
    pub boundary: Number,
}

/// How execution ids are given.
#[derive(Clone, Debug, PartialEq)]
pub enum BranchMode {
    Unconditional,
    /// By the coordinate on an axis.
    AxisToggle(String),
    Comparison([InputCmp; 4]),
    ValidCount,
    Vrf,
}

/// One method of the chain.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `vector_intra_slice_branch`, on the stream that enters or after a reduce between slices.
    Branch(BranchMode),
    /// `vector_intra_slice_unzip`.
    Unzip {
        axis: String,
        tile_time: Map,
        split_time: Map,
    },
    /// `vector_inter_slice_reduce`.
    InterReduce {
        op: InterOp,
        slice: Map,
        time: Map,
    },
    /// `vector_logic`, `vector_fxp`, `vector_fp_binary`, `vector_fp_div`, `vector_clip`.
    Binary {
        op: Binary,
        mode: BinaryMode,
        operands: Operands,
    },
    /// `vector_fp_unary`. `mode1`: with `UnaryArgMode::Mode1`. `groups`: which groups it applies to, on pairs.
    /// `condition`: the elements it is for, on a single stream.
    Unary {
        op: Function,
        mode1: bool,
        condition: Condition,
        groups: Option<[bool; 2]>,
    },
    /// `vector_fp_ternary`.
    Ternary {
        op: FpTernary,
        mode: TernaryMode,
        operands: Operands,
    },
    /// `vector_logic_zip`, `vector_fxp_zip`, `vector_fp_zip`, `vector_clip_zip`.
    Zip {
        op: Binary,
        mode: BinaryMode,
    },
    FxpToFp(u32),
    FpToFxp(u32),
    Split {
        time: Map,
        packet: Map,
    },
    Concat {
        time: Map,
        packet: Map,
    },
    TrimWay4 {
        packet: Map,
    },
    PadWay8 {
        packet: Map,
    },
    /// `vector_intra_slice_reduce`.
    IntraReduce {
        axis: String,
        op: IntraOp,
        time: Map,
        packet: Map,
    },
    Stash,
    /// `vector_reinterpret`: the bits as the other type.
    Reinterpret,
    Filter {
        time: Map,
        condition: Condition,
    },
}

impl Chain {
    /// The same chain on a cluster of more slices: slices that hold nothing follow those that there are.
    pub fn on_slices(&self, slices: usize) -> Chain {
        let wide = |map: &Map| if map.size() < slices { map.pad(slices) } else { map.clone() };
        let mut chain = self.clone();
        chain.shape.slice = wide(&chain.shape.slice);
        chain.vrf.iter_mut().for_each(|tensor| tensor.slice = wide(&tensor.slice));
        for step in &mut chain.steps {
            if let Step::InterReduce { slice, .. } = step {
                *slice = wide(slice);
            }
        }
        chain
    }
}

struct Value(Number);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Number::Integer(value) => write!(f, "{value}"),
            Number::Real(value) if value.is_nan() => write!(f, "f32::from_bits({:#010x})", value.to_bits()),
            Number::Real(value) => write!(f, "{value:?}f32"),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Constant(value) => Value(value).to_string(),
            Source::Vrf(number) => format!("&vrf{number}"),
            Source::Stash => "Stash".to_string(),
        };
        let source = match self.second {
            Some(second) => format!("({source}, {})", Value(Number::Real(second))),
            None => source,
        };
        match self.condition {
            Condition::Always => write!(f, "{source}"),
            condition => write!(f, "({source}, {condition})"),
        }
    }
}

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |list: &[Operand]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Operands::One(operand) => write!(f, "{operand}"),
            Operands::Array(list) => write!(f, "[{}]", join(list)),
            Operands::ArrayVec(list) => write!(f, "ArrayVec::new([{}])", join(list)),
            Operands::Groups(groups) => {
                let [a, b] =
                    groups.map(|group| group.map_or("()".to_string(), |operand| operand.to_string()));
                write!(f, "{a}, {b}")
            }
        }
    }
}

impl fmt::Display for BranchMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BranchMode::AxisToggle(axis) => write!(f, "AxisToggle({axis})"),
            BranchMode::Comparison(list) => {
                let list = list.map(|one| format!("{:?}({})", one.compare, Value(one.boundary)));
                write!(f, "Comparison([{}])", list.join(", "))
            }
            mode => write!(f, "{mode:?}"),
        }
    }
}

/// Name of the method of an operator, and the operator as a kernel spells it.
fn spelled(op: Binary) -> (&'static str, String) {
    match op {
        Binary::LogicI32(op) => ("logic", format!("LogicBinaryOpI32::{op:?}")),
        Binary::LogicF32(op) => ("logic", format!("LogicBinaryOpF32::{op:?}")),
        Binary::Fxp(op) => ("fxp", format!("FxpBinaryOp::{op:?}")),
        Binary::Fp(FpBinary::MulF(alu)) => ("fp", format!("FpBinaryOp::MulF(FpMulAlu::{alu:?})")),
        Binary::Fp(FpBinary::MaskMulF(alu)) => ("fp", format!("FpBinaryOp::MaskMulF(FpMulAlu::{alu:?})")),
        Binary::Fp(op) => ("fp", format!("FpBinaryOp::{op:?}")),
        Binary::FpDiv => ("fp_div", "FpDivBinaryOp::DivF".to_string()),
        Binary::ClipI32(op) => ("clip", format!("ClipBinaryOpI32::{op:?}")),
        Binary::ClipF32(op) => ("clip", format!("ClipBinaryOpF32::{op:?}")),
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Branch(mode) => write!(f, ".vector_intra_slice_branch({mode})"),
            Step::Unzip { axis, tile_time, split_time } => {
                write!(f, ".vector_intra_slice_unzip::<{axis}, {tile_time}, {split_time}>()")
            }
            Step::InterReduce { op, slice, time } => {
                write!(f, ".vector_inter_slice_reduce::<{slice}, {time}>({op:?})")
            }
            Step::Binary { op, mode, operands } => {
                let (method, op) = spelled(*op);
                let method = if method == "fp" { "fp_binary" } else { method };
                match mode {
                    BinaryMode::Mode01 => write!(f, ".vector_{method}({op}, {operands})"),
                    _ => write!(f, ".vector_{method}_with_mode({op}, {mode:?}, {operands})"),
                }
            }
            Step::Unary { op, mode1: false, condition, groups: None } if *condition != Condition::Always => {
                write!(f, ".vector_fp_unary_for({condition}, FpUnaryOp::{op:?})")
            }
            Step::Unary { op, mode1, condition: _, groups } => {
                let (suffix, mode) = if *mode1 { ("_with_mode", ", Mode1") } else { ("", "") };
                let groups = groups.map_or(String::new(), |[a, b]| format!(", {a}, {b}"));
                write!(f, ".vector_fp_unary{suffix}(FpUnaryOp::{op:?}{mode}{groups})")
            }
            Step::Ternary { op, mode, operands } => match mode {
                TernaryMode::Mode012 => write!(f, ".vector_fp_ternary(FpTernaryOp::{op:?}, {operands})"),
                _ => write!(f, ".vector_fp_ternary_with_mode(FpTernaryOp::{op:?}, {mode:?}, {operands})"),
            },
            Step::Zip { op, mode } => {
                let (method, op) = spelled(*op);
                match mode {
                    BinaryMode::Mode01 => write!(f, ".vector_{method}_zip({op})"),
                    _ => write!(f, ".vector_{method}_zip_with_mode({op}, {mode:?})"),
                }
            }
            Step::Reinterpret => f.write_str(".vector_reinterpret()"),
            Step::FxpToFp(width) => write!(f, ".vector_fxp_to_fp({width})"),
            Step::FpToFxp(width) => write!(f, ".vector_fp_to_fxp({width})"),
            Step::Split { time, packet } => write!(f, ".vector_split::<{time}, {packet}>()"),
            Step::Concat { time, packet } => write!(f, ".vector_concat::<{time}, {packet}>()"),
            Step::TrimWay4 { packet } => write!(f, ".vector_trim_way4::<{packet}>()"),
            Step::PadWay8 { packet } => write!(f, ".vector_pad_way8::<{packet}>()"),
            Step::IntraReduce { axis, op, time, packet } => {
                write!(f, ".vector_intra_slice_reduce::<{axis}, {time}, {packet}>({op:?})")
            }
            Step::Stash => write!(f, ".vector_stash()"),
            Step::Filter { time, condition } => write!(f, ".vector_filter::<{time}>({condition:?})"),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slice {}, time {}, packet {}", self.slice, self.time, self.packet)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(|(name, size)| format!("{name} = {size}")).collect();
        writeln!(f, "axes![{}]; {:?} in {}", axes.join(", "), self.kind, self.shape)?;
        for (number, tensor) in self.vrf.iter().enumerate() {
            writeln!(
                f,
                "vrf{number}: {:?} in slice {}, element {}",
                tensor.kind, tensor.slice, tensor.element
            )?;
        }
        writeln!(f, "x.vector_init()")?;
        for step in &self.steps {
            writeln!(f, "    {step}")?;
        }
        write!(f, "    .vector_final()")
    }
}
