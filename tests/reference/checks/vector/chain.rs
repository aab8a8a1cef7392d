use reference::mapping::Map;
use reference::numbers::Number;
use reference::random::Axes;
use reference::vector::chain::*;
use reference::vector::operators::{Binary, FpBinary, Kind};
use reference::vector::operators::{ClipI32, Fxp, Multiplier};

#[test]
fn a_chain_is_printed_as_its_methods() {
    let axes: Axes = vec![("W".to_string(), 3), ("L".to_string(), 8)];
    let map = |text: &str| Map::parse(text, &[("W", 3), ("L", 8)]);
    let integer = |value| Source::Constant(Number::Integer(value));
    let group = |group| Operand { condition: Condition::Group(group), ..Operand::always(integer(7)) };
    let chain = Chain {
        axes,
        kind: Kind::I32,
        shape: Shape { slice: Map::One, time: map("W"), packet: map("L") },
        vrf: vec![VrfTensor { kind: Kind::I32, slice: Map::One, element: map("L") }],
        steps: vec![
            Step::Branch(BranchMode::AxisToggle("W".to_string())),
            Step::Binary {
                op: Binary::Fxp(Fxp::SubFxp),
                mode: BinaryMode::Mode10,
                operands: Operands::One(Operand::always(Source::Vrf(0))),
            },
            Step::Binary {
                op: Binary::ClipI32(ClipI32::Max),
                mode: BinaryMode::Mode01,
                operands: Operands::Array(vec![group(0), group(1)]),
            },
            Step::Zip { op: Binary::Fp(FpBinary::MulF(Multiplier::Mul1)), mode: BinaryMode::Mode01 },
        ],
    };
    assert_eq!(
        chain.to_string(),
        "axes![W = 3, L = 8]; I32 in slice m![1], time m![W], packet m![L]
vrf0: I32 in slice m![1], element m![L]
x.vector_init()
    .vector_intra_slice_branch(AxisToggle(W))
    .vector_fxp_with_mode(FxpBinaryOp::SubFxp, Mode10, &vrf0)
    .vector_clip(ClipBinaryOpI32::Max, [(7, GroupId::Zero), (7, GroupId::One)])
    .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul1))
    .vector_final()"
    );
    assert_eq!(chain.on_slices(4).vrf[0].slice.to_string(), "m![1 # 4]");
}
