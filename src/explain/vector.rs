//! `explain()` on the program of the Vector Engine: its stages, their packets and arithmetic units.

use crate::engine::stream::VectorFinalTensor;
use crate::engine::vector::{
    InterSlicePlan, ReducePlan, UnzipPlan, UnzipRequest, VectorPacketPlan, VectorPacketRequest,
    derive_inter_slice, derive_reduce, derive_unzip,
};
use crate::explain::{MappingChange, StageExplanation, VectorExplanation, explain_vector};
use crate::mapping::{AxisName, M};
use crate::runtime::Tu;
use crate::scalar::VeScalar;
use crate::spec::{BEAT_LANES, VECTOR_REDUCE_SLOTS};

impl<const T: Tu, D: VeScalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
    VectorFinalTensor<'_, T, D, Chip, Cluster, Slice, Time, Packet>
{
    /// The work of the Vector Engine on the stream so far, as a table.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![S = 256, K = 16];
    /// let mut ctx = Context::acquire();
    /// let x = HostTensor::<f32, m![S, K]>::zero();
    /// let x = pollster::block_on(x.to_hbm::<m![1], m![S, K]>(&mut ctx.pdma, 0));
    /// let x = x.to_dm::<m![1 # 2], m![S], m![K]>(&mut ctx.tdma, 0);
    /// let y = (ctx.main.begin(x.view()).fetch::<f32, m![K / 8], m![K % 8]>().collect::<m![K / 8], m![K % 8]>())
    ///     .vector_init()
    ///     .vector_intra_slice_branch(BranchMode::Unconditional)
    ///     .vector_clip(ClipBinaryOpF32::Max, 0.0)
    ///     .vector_final();
    /// println!("{}", y.explain());
    /// assert_eq!(y.explain().rows[2].unit, "ClipMax");
    /// let y = y.commit::<m![K]>(4096);
    /// ```
    pub fn explain(&self) -> VectorExplanation {
        let unit = &self.pass.unit;
        let (Some(vector), Some(before)) = (unit.vector(), unit.shape_before_vector()) else {
            unreachable!("a stream that left the engine was fetched and entered it")
        };
        explain_vector(vector, before)
    }
}

impl<Time: M, Packet: M, OutTime: M, OutPacket: M> VectorPacketPlan<Time, Packet, OutTime, OutPacket> {
    fn explained(operation: &'static str, rule: String) -> StageExplanation {
        let VectorPacketRequest { time, packet, out_time, out_packet } = Self::REQUEST;
        let mappings = vec![
            MappingChange::new("Time", time, out_time),
            MappingChange::new("Packet", packet, out_packet),
        ];
        let mut explanation = StageExplanation::new(operation, mappings, rule);
        explanation.fact(
            "packets",
            format!("{} of {}, then {} of {}", Time::SIZE, Packet::SIZE, OutTime::SIZE, OutPacket::SIZE),
        );
        explanation
    }

    /// Explains the derivation of a split from the mappings.
    pub fn explain_split() -> StageExplanation {
        let () = Self::SPLIT;
        let rule = format!("the half of m![{}] becomes the innermost step of time", Packet::EXPR);
        Self::explained("vector_split", rule)
    }

    /// Explains the derivation of a concatenation from the mappings.
    pub fn explain_concat() -> StageExplanation {
        let () = Self::CONCAT;
        let rule = format!("the innermost two steps of m![{}] become one packet", Time::EXPR);
        Self::explained("vector_concat", rule)
    }

    /// Explains the derivation of a packet of 4 lanes from one of 8 whose upper half is padding.
    pub fn explain_trim() -> StageExplanation {
        let () = Self::TRIM;
        let rule = format!("the upper half of m![{}] is padding, and goes", Packet::EXPR);
        Self::explained("vector_trim_way4", rule)
    }

    /// Explains the derivation of a packet of 8 lanes from one of 4.
    pub fn explain_pad() -> StageExplanation {
        let () = Self::PAD;
        let rule = format!("m![{}] gets an upper half of padding", Packet::EXPR);
        Self::explained("vector_pad_way8", rule)
    }
}

impl<Axis: AxisName, Time: M, TileTime: M, SplitTime: M, Packet: M>
    UnzipPlan<Axis, Time, TileTime, SplitTime, Packet>
{
    /// Explains the derivation of two groups from the mappings.
    pub fn explain() -> StageExplanation {
        let positions = derive_unzip(&Self::REQUEST).unwrap_or_else(|error| error.refuse());
        let UnzipRequest { axis, time, tile_time, split_time, .. } = Self::REQUEST;
        let mappings = vec![
            MappingChange::new("Time", time, tile_time),
            MappingChange::new("Group", tile_time, split_time),
        ];
        let rule = format!("group 0 is where {axis} is 0, group 1 where it is 1");
        let mut explanation = StageExplanation::new("vector_intra_slice_unzip", mappings, rule);
        explanation.fact("packets", format!("{}, then {} of each group", Time::SIZE, SplitTime::SIZE));
        explanation.fact("packets between the two of a pair", positions / BEAT_LANES);
        explanation
    }
}

impl<Axis: AxisName, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    ReducePlan<Axis, Chip, Cluster, Slice, Time, Packet, OutTime, OutPacket>
{
    /// Explains the derivation of an intra-slice reduce from the mappings: the kept axes, and the sums that are open at
    /// once.
    pub fn explain() -> StageExplanation {
        let config = derive_reduce(&Self::REQUEST).unwrap_or_else(|error| error.refuse());
        let request = Self::REQUEST;
        let mappings = vec![
            MappingChange::new("Time", request.time, request.out_time),
            MappingChange::new("Packet", request.packet, request.out_packet),
        ];
        let rule = format!("the axis {} goes; what stays keeps its order", request.axis);
        let mut explanation = StageExplanation::new("vector_intra_slice_reduce", mappings, rule);
        let elements: usize = config.reduced.iter().map(|reduced_loop| reduced_loop.size).product();
        explanation.fact("elements of a sum", elements);
        explanation.fact("slots", format!("{} of {VECTOR_REDUCE_SLOTS}", config.slots));
        explanation.fact("packets", format!("{}, then {}", Time::SIZE, config.time));
        explanation
    }
}

impl<Chip: M, Cluster: M, Slice: M, Time: M, Packet: M, OutSlice: M, OutTime: M>
    InterSlicePlan<Chip, Cluster, Slice, Time, Packet, OutSlice, OutTime>
{
    /// Explains the derivation of an inter-slice reduce from the mappings: the groups of slices, and the receivers of
    /// the sums.
    pub fn explain() -> StageExplanation {
        let config = derive_inter_slice(&Self::REQUEST).unwrap_or_else(|error| error.refuse());
        let request = Self::REQUEST;
        let mappings = vec![
            MappingChange::new("Slice", request.slice, request.out_slice),
            MappingChange::new("Time", request.time, request.out_time),
        ];
        let rule = "the innermost axes of slices go; something else takes their place".to_string();
        let mut explanation = StageExplanation::new("vector_inter_slice_reduce", mappings, rule);
        let elements: usize = config.reduced.iter().map(|slice_loop| slice_loop.size).product();
        explanation.fact("slices of a group", config.group);
        explanation.fact("elements of a sum", elements);
        explanation.fact("ring", format!("{} cycles behind the stream", config.group));
        explanation.fact("flits", format!("{} of {BEAT_LANES} lanes, then {}", Time::SIZE, config.time));
        explanation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{FpUnaryOp, ValidBranchIds};
    use crate::command::{StreamShape, Vector, VectorStep};
    use crate::mapping::Guard;
    use crate::prelude::{axes, m};
    use crate::scalar::ElementType;

    axes![W = 5, L = 8, G = 32, J = 8, V = 3, I = 2];

    #[test]
    fn a_program_is_a_table() {
        let mut program = Vector::new(ElementType::F32, Guard::always(5));
        let exp = VectorStep::Unary { op: FpUnaryOp::Exp, ids: ValidBranchIds::ValidAlways };
        program.steps = vec![VectorStep::Split, exp, VectorStep::Concat];
        let stream = StreamShape { element: ElementType::F32, time: 6, lanes: 8 };
        let text = explain_vector(&program, stream).to_string();
        for part in [
            "| split          |       | 12      | 4     | f32     |",
            "| FpUnaryOp::Exp | FpExp | 12      | 4     | f32     |",
            "units    1 of 19",
            "cycles   12,",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn plans_are_explained() {
        let split = VectorPacketPlan::<m![W], m![L], m![W, L / 4], m![L % 4]>::explain_split();
        assert_eq!(split.value("packets"), Some("5 of 8, then 10 of 4"));
        let trim = VectorPacketPlan::<m![W], m![V # 8], m![W], m![V # 4]>::explain_trim();
        assert_eq!(trim.value("packets"), Some("5 of 8, then 5 of 4"));
        let pad = VectorPacketPlan::<m![W], m![V # 4], m![W], m![V # 8]>::explain_pad();
        assert_eq!(pad.value("packets"), Some("5 of 4, then 5 of 8"));
        type Pairs = UnzipPlan<I, m![I, W], m![1 # 2, W], m![W], m![L]>;
        assert_eq!(Pairs::explain().value("packets"), Some("10, then 5 of each group"));
        assert_eq!(Pairs::explain().value("packets between the two of a pair"), Some("5"));
        type Sum = ReducePlan<W, m![1], m![1 # 2], m![G, J], m![W, L / 4], m![L % 4], m![L / 4], m![L % 4]>;
        assert_eq!(Sum::explain().value("slots"), Some("2 of 8"));
        assert_eq!(Sum::explain().value("elements of a sum"), Some("5"));
        type Ring = InterSlicePlan<m![1], m![1 # 2], m![G, J], m![W], m![L], m![G, 1 # 8], m![W]>;
        assert_eq!(Ring::explain().value("slices of a group"), Some("8"));
    }
}
