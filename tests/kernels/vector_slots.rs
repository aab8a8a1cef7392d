//! Slots of operands with guards, functions of some elements, and bits that are read as the other type.

use crate::vector::{L, floats, integers};
use crate::{Cluster, assert_same, block_on, init, panic_message};
use furiosa_visa_std::prelude::*;

axes![S = 256, W = 2];

type Stream<'l, D> = CollectTensor<'l, { Tu::Main }, D, m![1], Cluster, m![S], m![W], m![L]>;
type Result<'l, D> = VectorFinalTensor<'l, { Tu::Main }, D, m![1], Cluster, m![S], m![W], m![L]>;

/// The elements behind a program, and the cycles of its pass. `b` is in the VRF.
fn run<D: VeScalar + FetchCast<D>, D2: VeScalar>(
    values: &[D],
    b: &[D],
    program: impl for<'l> FnOnce(Stream<'l, D>, &VrfTensor<D, m![1], Cluster, m![S], m![L]>) -> Result<'l, D2>,
) -> (Vec<Opt<D2>>, u64) {
    block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<D, m![S, W, L]>::from_buf(init(values));
        let x = host.to_hbm::<m![1], m![S, W, L]>(&mut ctx.pdma, 0).await;
        let x = x.to_dm::<Cluster, m![S], m![W, L]>(&mut ctx.tdma, 0);
        let host = HostTensor::<D, m![S, L]>::from_buf(init(b));
        let b = host.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, 1 << 18).await;
        let b = b.to_dm::<Cluster, m![S], m![L]>(&mut ctx.tdma, 1024);
        let b =
            (ctx.sub.begin(b.view()).fetch::<D, m![1], m![L]>().collect::<m![1], m![L]>()).to_vrf::<m![L]>(0);
        let stream = ctx.main.begin(x.view()).fetch::<D, m![W], m![L]>().collect::<m![W], m![L]>();
        let y = program(stream, &b).commit::<m![W, L]>(4096).to_hbm::<m![S, W, L]>(&mut ctx.tdma, 1 << 20);
        let y = y.to_host::<m![S, W, L]>(&mut ctx.pdma).await.to_buf();
        let report = ctx.report();
        let pass = report.records.iter().rfind(|record| record.operation == "commit").expect("it ran");
        (y, pass.cycles())
    })
}

const LOW: TagGuard = TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Ignore, BitReq::Ignore]);
const HIGH: TagGuard = TagGuard::matches([BitReq::Ignore, BitReq::One, BitReq::Ignore, BitReq::Ignore]);
/// Neither low nor even.
const ODD: TagGuard = TagGuard::matches([BitReq::Zero, BitReq::Ignore, BitReq::Zero, BitReq::Ignore]);

/// The first slot that admits an element counts, whatever slots behind it say; without a slot it stays.
#[test]
fn the_first_slot_counts() {
    let (x, b) = (integers(31, 256 * 16), integers(32, 256 * 8));
    let tag =
        || TagMode::Comparison([Cmp::Less(0), Cmp::Less(1000), Cmp::False, Cmp::GreaterUnsigned(1 << 30)]);
    let one = |x: i32, k: usize, order: usize| {
        let (low, high, top) = (x < 0, x < 1000, x as u32 > 1 << 30);
        let of_register = b[k / 16 * 8 + k % 8];
        match order {
            // Low before high: of elements below 0 both hold.
            0 if low => x.wrapping_add(1),
            0 if high => x.wrapping_add(20),
            0 if !top => x.wrapping_add(300),
            0 => x.wrapping_add(of_register),
            // High before low: low is never taken.
            1 if high => x.wrapping_add(20),
            1 if top => x.wrapping_add(of_register),
            _ => x,
        }
    };
    for order in 0..2 {
        let (found, _) = run(&x, &b, |stream, b| {
            let stream = stream.vector_init().vector_intra_slice_tag(tag());
            let top = TagGuard::group(GroupId::One);
            let rest = TagGuard::not_matches([BitReq::Ignore, BitReq::Ignore, BitReq::Ignore, BitReq::One]);
            let op = FxpBinaryOp::AddFxp;
            let stream = if order == 0 {
                let slots = Branched::imm(LOW, 1).imm(HIGH, 20).imm(rest, 300).rf(TagGuard::all(), b);
                stream.vector_fxp(op, slots)
            } else {
                stream.vector_fxp(op, Branched::imm(HIGH, 20).imm(LOW, 1).rf(top, b))
            };
            stream.vector_final()
        });
        let expected: Vec<i32> = x.iter().enumerate().map(|(k, &x)| one(x, k, order)).collect();
        assert_same(&found, &expected);
    }
}

/// Operators of three arguments, the stash as the last slot, and a function of some elements.
#[test]
fn slots_of_three_arguments() {
    let (x, b) = (floats(33, 256 * 16), floats(34, 256 * 8));
    let tag = || TagMode::Comparison([Cmp::Less(0.0), Cmp::Greater(4.0), Cmp::False, Cmp::False]);
    for with_stash in [true, false] {
        let (found, _) = run(&x, &b, |stream, b| {
            let stream = stream.vector_init().vector_intra_slice_tag(tag()).vector_stash();
            let stream =
                stream.vector_split::<m![W, L / 4], m![L % 4]>().vector_fp_unary_for(LOW, FpUnaryOp::Exp);
            let slots = Branched::imm(HIGH, (2.0, 0.5));
            let stream = if with_stash {
                stream.vector_fp_ternary(FpTernaryOp::FmaF, slots.rf(ODD, (Stash, 1.0)))
            } else {
                stream.vector_fp_ternary(FpTernaryOp::FmaF, slots.rf(LOW, (b, 1.0)))
            };
            stream.vector_concat::<m![W], m![L]>().vector_final()
        });
        for (k, (&x, found)) in x.iter().zip(found).enumerate() {
            let (low, high) = (x < 0.0, x > 4.0);
            let changed = if low { x.exp() } else { x };
            let expected = match with_stash {
                _ if high => changed * 2.0 + 0.5,
                true if !low => changed * x + 1.0,
                false if low => changed * b[k / 16 * 8 + k % 8] + 1.0,
                _ => changed,
            };
            let Opt::Init(found) = found else { panic!("element {k} is not written") };
            let near = (found - expected).abs() <= expected.abs() * 1e-5 + 1e-6;
            assert!(near, "element {k}: {found} of {x}, not {expected}");
        }
    }
}

/// Slots take one unit and no more time than one operand.
#[test]
fn slots_take_the_time_of_one_operand() {
    let (x, b) = (floats(35, 256 * 16), floats(36, 256 * 8));
    let cycles = |with_slots: bool| {
        let (_, cycles) = run(&x, &b, |stream, b| {
            let stream = stream.vector_init().vector_intra_slice_tag(TagMode::Zero);
            let op = ClipBinaryOpF32::Add;
            let stream = if with_slots {
                stream.vector_clip(
                    op,
                    Branched::imm(LOW, 1.0).imm(HIGH, 2.0).imm(ODD, 3.0).rf(TagGuard::all(), b),
                )
            } else {
                stream.vector_clip(op, b)
            };
            stream.vector_final()
        });
        cycles
    };
    assert_eq!(cycles(true), cycles(false));
}

#[test]
fn slots_that_are_never_taken_are_refused() {
    let (x, b) = (vec![1.0f32; 256 * 16], vec![1.0f32; 256 * 8]);
    let nothing = TagGuard::not_matches([BitReq::Ignore; 4]);
    macro_rules! message {
        (|$stream:ident| $program:expr) => {
            panic_message(|| {
                run(&x, &b, |stream, _| {
                    let $stream = stream.vector_init().vector_intra_slice_tag(TagMode::Zero);
                    $program.vector_final()
                })
            })
        };
    }
    let add = ClipBinaryOpF32::Add;
    let text = message!(|stream| stream.vector_clip(add, Branched::imm(LOW, 1.0).imm(nothing, 2.0)));
    let part = "slot 2 of `Branched`, `TagGuard::not_matches([Ignore, Ignore, Ignore, Ignore])`, admits no execution id";
    assert!(text.contains(part) && text.contains("help: demand a bit, or leave the slot out"), "{text}");
    assert!(text.contains("vector_slots.rs"), "{text}");
    let slots = || Branched::imm(TagGuard::all(), 1.0).rf(LOW, Stash);
    let text = message!(|stream| stream.vector_stash().vector_clip(add, slots()));
    let part = "slot 2 of `Branched`, `TagGuard::matches([One, Ignore, Ignore, Ignore])`, comes after slot 1, which takes all elements";
    assert!(
        text.contains(part) && text.contains("help: move slot 1 to the end, or give it a guard"),
        "{text}"
    );
    let text = message!(|stream| stream.vector_clip(add, (1.0, nothing)));
    assert!(text.contains("admits no execution id, so it is for no element"), "{text}");
    let text = message!(|stream| {
        let stream =
            stream.vector_split::<m![W, L / 4], m![L % 4]>().vector_fp_unary_for(nothing, FpUnaryOp::Exp);
        stream.vector_concat::<m![W], m![L]>()
    });
    assert!(text.contains("vector_fp_unary: ") && text.contains("admits no execution id"), "{text}");
    let text = message!(|stream| {
        let stream = stream.vector_split::<m![W, L / 4], m![L % 4]>();
        let stream = stream.vector_fp_ternary(FpTernaryOp::FmaF, Branched::imm(nothing, (1.0, 2.0)));
        stream.vector_concat::<m![W], m![L]>()
    });
    assert!(text.contains("slot 1 of `Branched`"), "{text}");
}

/// Bits as the other type, at every place of a program; the stash keeps its type, and there is no cycle more.
#[test]
fn bits_are_read_as_the_other_type() {
    let x = floats(37, 256 * 16);
    let b = vec![0.0; 256 * 8];
    let (found, cycles) = run(&x, &b, |stream, _| {
        let stream = stream.vector_init().vector_reinterpret::<i32>();
        stream.vector_intra_slice_branch(BranchMode::Unconditional).vector_final()
    });
    assert_same(&found, &x.iter().map(|x| x.to_bits() as i32).collect::<Vec<_>>());
    let (found, plain) = run(&x, &b, |stream, _| {
        stream.vector_init().vector_intra_slice_branch(BranchMode::Unconditional).vector_final()
    });
    assert_same(&found, &x);
    assert_eq!(cycles, plain);
    // Half of a number by its exponent, between operators of both types and in both ways; ids are those of the float.
    let (found, _) = run(&x, &b, |stream, _| {
        stream
            .vector_init()
            .vector_intra_slice_tag(TagMode::Comparison([Cmp::Less(0.0), Cmp::False, Cmp::False, Cmp::False]))
            .vector_reinterpret::<f32>()
            .vector_stash()
            .vector_reinterpret::<i32>()
            .vector_logic(LogicBinaryOpI32::BitAnd, (0x7fff_ffff, LOW))
            .vector_reinterpret::<f32>()
            .vector_split::<m![W, L / 4], m![L % 4]>()
            .vector_reinterpret::<i32>()
            .vector_reinterpret::<f32>()
            .vector_fp_binary(FpBinaryOp::AddF, Stash)
            .vector_concat::<m![W], m![L]>()
            .vector_final()
    });
    let expected: Vec<f32> = x.iter().map(|x| if *x < 0.0 { -x + x } else { x + x }).collect();
    assert_same(&found, &expected);
}

/// Two groups, and a sum between slices before the ids.
#[test]
fn groups_and_sums_are_read_as_the_other_type() {
    axes![I = 2, G = 256];
    block_on(async {
        let mut ctx = Context::acquire();
        let (a, b) = (floats(38, 2048), floats(39, 2048));
        macro_rules! dm {
            ($values:expr, $address:literal) => {{
                let host = HostTensor::<f32, m![S, L]>::from_buf(init(&$values));
                let hbm = host.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, $address).await;
                hbm.to_dm::<Cluster, m![S], m![L]>(&mut ctx.tdma, $address)
            }};
        }
        let (a_dm, b_dm) = (dm!(a, 0), dm!(b, 65536));
        let y = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(a_dm.view(), b_dm.view()))
            .fetch::<f32, m![I], m![L]>()
            .collect::<m![I], m![L]>()
            .vector_init()
            .vector_intra_slice_unzip::<I, m![1 # 2], m![1]>()
            .vector_reinterpret::<i32>()
            .vector_logic(LogicBinaryOpI32::BitXor, (), i32::MIN)
            .vector_reinterpret::<f32>()
            .vector_clip_zip(ClipBinaryOpF32::Add)
            .vector_final()
            .commit::<m![L]>(8192);
        let y = y.to_hbm::<m![S, L]>(&mut ctx.tdma, 1 << 20).to_host::<m![S, L]>(&mut ctx.pdma).await;
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        assert_same(&y.to_buf(), &expected);
        let y = (ctx.main.begin(a_dm.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
            .vector_init()
            .vector_inter_slice_reduce::<m![G], m![1]>(InterSliceReduceOpF32::Max)
            .vector_reinterpret::<i32>()
            .vector_intra_slice_tag(TagMode::Zero)
            .vector_fxp(FxpBinaryOp::AddFxp, 1)
            .vector_final()
            .commit::<m![L]>(8192);
        let y = y.to_hbm::<m![G, L]>(&mut ctx.tdma, 1 << 20).to_host::<m![G, L]>(&mut ctx.pdma).await;
        let greatest = |l: usize| (0..256).fold(f32::MIN, |max, s| max.max(a[s * 8 + l]));
        let expected: Vec<i32> = (0..2048).map(|k| greatest(k % 8).to_bits() as i32 + 1).collect();
        assert_same(&y.to_buf(), &expected);
    });
}
