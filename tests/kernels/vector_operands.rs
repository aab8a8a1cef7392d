//! Operands of the Vector Engine and sums between slices: behind an exchange, and where nobody wrote. Groups, and counts of
//! elements.

use crate::vector::{L, floats, integers};
use crate::{Cluster, assert_same, block_on, init, panic_message};
use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;

/// Behind an exchange between slices a program starts there: ids are 0, and operands are those of the own slice.
#[test]
fn a_program_starts_behind_an_exchange() {
    axes![G = 32, J = 8, X = 8];
    block_on(async {
        let mut ctx = Context::acquire();
        let (x, b) = (floats(20, 2048), floats(21, 2048));
        macro_rules! dm {
            ($values:expr, $axes:ty, $address:literal) => {{
                let host = HostTensor::<f32, $axes>::from_buf(init(&$values));
                host.to_hbm::<m![1], $axes>(&mut ctx.pdma, $address).await
            }};
        }
        let x_dm = dm!(x, m![G, J, L], 0).to_dm::<Cluster, m![G, J], m![L]>(&mut ctx.tdma, 0);
        // The slices have another name behind the exchange.
        let b_dm = dm!(b, m![G, X, L], 65536).to_dm::<Cluster, m![G, X], m![L]>(&mut ctx.tdma, 1024);
        let b_vrf = (ctx.sub.begin(b_dm.view()).fetch::<f32, m![1], m![L]>())
            .collect::<m![1], m![L]>()
            .to_vrf::<m![L]>(0);
        let y = (ctx.main.begin(x_dm.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
            .vector_init()
            .vector_inter_slice_reduce::<m![G, X], m![1]>(InterSliceReduceOpF32::Max)
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, (&b_vrf, GroupId::Zero))
            .vector_final()
            .commit::<m![L]>(4096);
        let y = y.to_hbm::<m![G, X, L]>(&mut ctx.tdma, 1 << 20).to_host::<m![G, X, L]>(&mut ctx.pdma).await;
        let greatest = |g: usize, l: usize| (0..8).fold(f32::MIN, |max, j| max.max(x[(g * 8 + j) * 8 + l]));
        let expected: Vec<f32> = (0..2048).map(|k| greatest(k / 64, k % 8) + b[k]).collect();
        assert_same(&y.to_buf(), &expected);
    });
}

/// Each slice reads its own register file, whatever its slices are called: the tensor has more of them than the stream, and
/// behind a sum over slices the stream no longer names the axis that it sums.
#[test]
fn a_slice_reads_its_own_register_file() {
    axes![G = 16, J = 16, X = 256];
    block_on(async {
        let mut ctx = Context::acquire();
        let (x, b) = (floats(23, 2048), floats(24, 2048));
        macro_rules! operand {
            ($slice:ty, $address:literal) => {{
                let host = HostTensor::<f32, m![{ $slice }, L]>::from_buf(init(&b));
                let hbm = host.to_hbm::<m![1], m![{ $slice }, L]>(&mut ctx.pdma, 65536).await;
                let dm = hbm.to_dm::<Cluster, $slice, m![L]>(&mut ctx.tdma, 1024);
                let flits = ctx.sub.begin(dm.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>();
                flits.to_vrf::<m![L]>($address)
            }};
        }
        let other = operand!(m![X], 0);
        let host = HostTensor::<f32, m![G, J, L]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![G, J, L]>(&mut ctx.pdma, 0).await;
        // 16 slices of 256, with the operands of the first 16.
        let rows = hbm.to_dm::<Cluster, m![G # 256], m![J, L]>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(rows.view()).fetch::<f32, m![J], m![L]>().collect::<m![J], m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, &other)
            .vector_final()
            .commit::<m![J, L]>(4096);
        let y = y.to_hbm::<m![G, J, L]>(&mut ctx.tdma, 1 << 20).to_host::<m![G, J, L]>(&mut ctx.pdma).await;
        let expected: Vec<f32> = (0..2048).map(|k| x[k] + b[k / 128 * 8 + k % 8]).collect();
        assert_same(&y.to_buf(), &expected);
        // The first slice of each group of 16 has the sum, and operand `J: 0`.
        let grouped = operand!(m![G, J], 1024);
        let rows = hbm.to_dm::<Cluster, m![G, J], m![L]>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(rows.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
            .vector_init()
            .vector_inter_slice_reduce::<m![G, 1 # 16], m![1]>(InterSliceReduceOpF32::Max)
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_clip(ClipBinaryOpF32::Add, &grouped)
            .vector_final()
            .commit::<m![L]>(8192);
        let y = y.to_hbm::<m![G, L]>(&mut ctx.tdma, 1 << 21).to_host::<m![G, L]>(&mut ctx.pdma).await;
        let greatest = |g: usize, l: usize| (0..16).fold(f32::MIN, |max, j| max.max(x[(g * 16 + j) * 8 + l]));
        let expected: Vec<f32> = (0..128).map(|k| greatest(k / 8, k % 8) + b[k / 8 * 128 + k % 8]).collect();
        assert_same(&y.to_buf(), &expected);
    });
}

/// Elements that nobody wrote do not keep others from their sum, wherever they are.
#[test]
fn sums_between_slices_leave_out_what_nobody_wrote() {
    axes![G = 32, J = 8];
    let values = floats(22, 2048);
    for holes in [&[][..], &[5], &[7 * 8 + 5], &[5, 8 + 5], &[3 * 8 + 5, 7 * 8 + 5, 1000]] {
        let mut all = init(&values);
        holes.iter().for_each(|&hole: &usize| all[hole] = Opt::Uninit);
        block_on(async {
            let checks = CheckOptions { uninitialised: false, ..CheckOptions::ALL };
            let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
            let host = HostTensor::<f32, m![G, J, L]>::from_buf(all);
            let hbm = host.to_hbm::<m![1], m![G, J, L]>(&mut ctx.pdma, 0).await;
            let x = hbm.to_dm::<Cluster, m![G, J], m![L]>(&mut ctx.tdma, 0);
            let y = (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
                .vector_init()
                .vector_inter_slice_reduce::<m![G, 1 # 8], m![1]>(InterSliceReduceOpF32::Max)
                .vector_final()
                .commit::<m![L]>(4096);
            let y = y.to_hbm::<m![G, L]>(&mut ctx.tdma, 1 << 24);
            let greatest = |k: usize| {
                let own = (0..8).map(|j| (k / 8 * 8 + j) * 8 + k % 8).filter(|place| !holes.contains(place));
                own.map(|place| values[place]).fold(f32::MIN, f32::max)
            };
            let expected: Vec<f32> = (0..256).map(greatest).collect();
            assert_same(&y.to_host::<m![G, L]>(&mut ctx.pdma).await.to_buf(), &expected);
        });
    }
}

/// Operands of ternary operators, and those behind an exchange between slices, are checked like others. Without a hole the
/// same programs run.
#[test]
fn operands_that_nobody_wrote() {
    axes![G = 32, J = 8, X = 8];
    let (x, b) = (floats(23, 2048), floats(24, 2048));
    let greatest = |g: usize, l: usize| (0..8).fold(f32::MIN, |max, j| max.max(x[(g * 8 + j) * 8 + l]));
    for is_ternary in [true, false] {
        let run = |b: Vec<Opt<f32>>| {
            block_on(async {
                let mut ctx = Context::acquire();
                macro_rules! dm {
                    ($values:expr, $slice:ty, $axes:ty, $address:literal) => {{
                        let host = HostTensor::<f32, $axes>::from_buf($values);
                        let hbm = host.to_hbm::<m![1], $axes>(&mut ctx.pdma, $address << 8).await;
                        hbm.to_dm::<Cluster, $slice, m![L]>(&mut ctx.tdma, $address)
                    }};
                }
                macro_rules! load {
                    ($dm:ident) => {
                        (ctx.sub.begin($dm.view()).fetch::<f32, m![1], m![L]>())
                            .collect::<m![1], m![L]>()
                            .to_vrf::<m![L]>(0)
                    };
                }
                let x = dm!(init(&x), m![G, J], m![G, J, L], 0);
                if is_ternary {
                    let b = dm!(b, m![G, J], m![G, J, L], 1024);
                    let b = load!(b);
                    let y = (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>())
                        .collect::<m![1], m![L]>()
                        .vector_init()
                        .vector_intra_slice_branch(BranchMode::Unconditional)
                        .vector_split::<m![L / 4], m![L % 4]>()
                        .vector_fp_ternary(FpTernaryOp::FmaF, (&b, 0.5))
                        .vector_concat::<m![1], m![L]>()
                        .vector_final()
                        .commit::<m![L]>(4096);
                    y.to_hbm::<m![G, J, L]>(&mut ctx.tdma, 1 << 24)
                        .to_host::<m![G, J, L]>(&mut ctx.pdma)
                        .await
                        .to_buf()
                } else {
                    let b = dm!(b, m![G, X], m![G, X, L], 1024);
                    let b = load!(b);
                    let y = (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>())
                        .collect::<m![1], m![L]>()
                        .vector_init()
                        .vector_inter_slice_reduce::<m![G, X], m![1]>(InterSliceReduceOpF32::Max)
                        .vector_intra_slice_branch(BranchMode::Unconditional)
                        .vector_clip(ClipBinaryOpF32::Add, &b)
                        .vector_final()
                        .commit::<m![L]>(4096);
                    y.to_hbm::<m![G, X, L]>(&mut ctx.tdma, 1 << 24)
                        .to_host::<m![G, X, L]>(&mut ctx.pdma)
                        .await
                        .to_buf()
                }
            })
        };
        let expected = |k: usize| {
            if is_ternary { x[k].mul_add(b[k], 0.5) } else { greatest(k / 64, k % 8) + b[k] }
        };
        assert_same(&run(init(&b)), &(0..2048).map(expected).collect::<Vec<_>>());
        for hole in [5, 7 * 8 + 5] {
            let mut all = init(&b);
            all[hole] = Opt::Uninit;
            let text = panic_message(|| run(all));
            assert!(text.contains("the operand, element 5 of the tensor at VRF address 0"), "{text}");
        }
    }
}

/// An operand of a group is taken by the elements of the group alone: by those of an axis, by those that a comparison finds,
/// behind a switch, and behind an exchange between slices. A fault names the first one that is taken.
#[test]
fn operands_of_a_group_that_nobody_wrote() {
    axes![G = 32, J = 8, X = 8];
    let (x, b) = (floats(32, 2048), floats(33, 2048));
    let negative = InputCmp::F32(InputCmpF32::Less { boundary: 0.0 });
    let never = InputCmp::F32(InputCmpF32::False);
    let by_sign = BranchMode::Comparison([never, never, never, negative]);
    let by_lane = BranchMode::AxisToggle { axis: L::NAME };
    let greatest = |k: usize| (0..8).map(|j| x[k / 64 * 64 + j * 8 + k % 8]).fold(f32::MIN, f32::max);
    for way in ["lanes", "signs", "a switch", "an exchange"] {
        let run = |b: Vec<Opt<f32>>| {
            block_on(async {
                let mut ctx = Context::acquire();
                macro_rules! dm {
                    ($values:expr, $axes:ty, $slice:ty, $address:literal) => {{
                        let host = HostTensor::<f32, $axes>::from_buf($values);
                        let hbm = host.to_hbm::<m![1], $axes>(&mut ctx.pdma, $address << 8).await;
                        hbm.to_dm::<Cluster, $slice, m![L]>(&mut ctx.tdma, $address)
                    }};
                }
                macro_rules! vrf {
                    ($slice:ty) => {{
                        let b = dm!(b, m![{ $slice }, L], $slice, 1024);
                        (ctx.sub.begin(b.view()).fetch::<f32, m![1], m![L]>())
                            .collect::<m![1], m![L]>()
                            .to_vrf::<m![L]>(0)
                    }};
                }
                macro_rules! added {
                    ($stream:expr, $mode:expr, $b:expr, $slice:ty) => {
                        $stream
                            .vector_intra_slice_branch($mode)
                            .vector_clip(ClipBinaryOpF32::Add, (&$b, GroupId::One))
                            .vector_final()
                            .commit::<m![L]>(4096)
                            .to_hbm::<m![{ $slice }, L]>(&mut ctx.tdma, 1 << 24)
                            .to_host::<m![{ $slice }, L]>(&mut ctx.pdma)
                            .await
                            .to_buf()
                    };
                }
                let x = dm!(init(&x), m![G, J, L], m![G, J], 0);
                macro_rules! fetched {
                    () => {
                        ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>()
                    };
                }
                match way {
                    "a switch" => {
                        let b = vrf!(m![J, G]);
                        let stream = fetched!()
                            .switch::<m![J, G], m![1]>(SwitchConfig::Transpose { slice1: 32, slice0: 8 })
                            .collect::<m![1], m![L]>()
                            .vector_init();
                        added!(stream, by_sign, b, m![J, G])
                    }
                    "an exchange" => {
                        let b = vrf!(m![G, X]);
                        let stream = (fetched!().collect::<m![1], m![L]>().vector_init())
                            .vector_inter_slice_reduce::<m![G, X], m![1]>(InterSliceReduceOpF32::Max);
                        added!(stream, by_sign, b, m![G, X])
                    }
                    _ => {
                        let b = vrf!(m![G, J]);
                        let mode = if way == "signs" { by_sign } else { by_lane };
                        added!(fetched!().collect::<m![1], m![L]>().vector_init(), mode, b, m![G, J])
                    }
                }
            })
        };
        let at = |k: usize| match way {
            // m![J, G, L] of m![G, J, L].
            "a switch" => x[k / 8 % 32 * 64 + k / 256 * 8 + k % 8],
            "an exchange" => greatest(k),
            _ => x[k],
        };
        let is_one = |k: usize| if way == "lanes" { k % 2 == 1 } else { at(k) < 0.0 };
        let expected: Vec<f32> = (0..2048).map(|k| at(k) + if is_one(k) { b[k] } else { 0.0 }).collect();
        let (ones, zeros): (Vec<usize>, Vec<usize>) = (0..2048).partition(|&k| is_one(k));
        assert!(ones.len() > 8 && zeros.len() > 8, "{way}: {} and {}", ones.len(), zeros.len());
        let with_holes = |holes: &[usize]| {
            let mut all = init(&b);
            holes.iter().for_each(|&hole| all[hole] = Opt::Uninit);
            all
        };
        assert_same(&run(init(&b)), &expected);
        assert_same(&run(with_holes(&zeros)), &expected);
        for &hole in [ones[0], ones[ones.len() / 2], ones[ones.len() - 1]].iter() {
            let holes: Vec<usize> = zeros.iter().copied().chain([hole]).collect();
            let text = panic_message(|| run(with_holes(&holes)));
            let message =
                format!("the operand, element {} of the tensor at VRF address 0, is taken", hole % 8);
            let slice = format!("cluster 0, slice {}", hole / 8);
            assert!(text.contains(&message) && text.contains(&slice), "{way}, {hole}: {text}");
        }
    }
}

/// Padding of an operand is no operand: slice 6 has two steps of three.
#[test]
fn padding_of_an_operand_is_not_taken() {
    use crate::vector::twenty::{self, P, Steps};
    block_on(async {
        let mut ctx = Context::acquire();
        let x = integers(25, 160);
        let dm = twenty::load(&mut ctx, &x).await;
        let b = (ctx.sub.begin(dm.view()).fetch::<i32, Steps, m![L]>().collect::<Steps, m![L]>())
            .to_vrf::<m![P # 24 % 3, L]>(0);
        let y = (ctx.main.begin(dm.view()).fetch::<i32, Steps, m![L]>().collect::<Steps, m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_fxp(FxpBinaryOp::AddFxp, &b)
            .vector_final()
            .commit::<m![P # 24 % 3, L]>(4096);
        let y = y.to_hbm::<m![P, L]>(&mut ctx.tdma, 1 << 20);
        let y = y.to_host::<m![P, L]>(&mut ctx.pdma).await.to_buf();
        assert_same(&y, &x.iter().map(|x| x.wrapping_add(*x)).collect::<Vec<_>>());
    });
}

/// Calls of two groups with a mode, on floats and on integers.
#[test]
fn groups_with_modes() {
    axes![S = 256, I = 2];
    block_on(async {
        let mut ctx = Context::acquire();
        macro_rules! dm {
            ($d:ty, $values:expr, $address:literal) => {{
                let host = HostTensor::<$d, m![S, L]>::from_buf(init(&$values));
                let hbm = host.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, $address << 8).await;
                hbm.to_dm::<Cluster, m![S], m![L]>(&mut ctx.tdma, $address)
            }};
        }
        macro_rules! enter {
            ($d:ty, $first:ident, $second:ident) => {
                ctx.main
                    .begin_interleaved::<I, _, _, _, _, _>($first.view(), $second.view())
                    .fetch::<$d, m![I], m![L]>()
                    .collect::<m![I], m![L]>()
                    .vector_init()
                    .vector_intra_slice_unzip::<I, m![1 # 2], m![1]>()
            };
        }
        macro_rules! values {
            ($y:expr) => {
                $y.to_hbm::<m![S, L]>(&mut ctx.tdma, 1 << 24)
                    .to_host::<m![S, L]>(&mut ctx.pdma)
                    .await
                    .to_buf()
            };
        }
        let (a, b) = (floats(26, 2048), floats(27, 2048));
        let (first, second) = (dm!(f32, a, 0), dm!(f32, b, 1024));
        let groups = enter!(f32, first, second);
        assert_eq!(format!("{groups:?}"), "two groups of f32, Time m![1], Packet m![L]");
        let y = groups
            .vector_split::<m![L / 4], m![L % 4]>()
            .vector_fp_unary_with_mode(FpUnaryOp::NegExp, UnaryArgMode::Mode0, true, false)
            .vector_fp_ternary_with_mode(FpTernaryOp::FmaF, TernaryArgMode::Mode021, (), (2.0, 3.0))
            .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul0))
            .vector_concat::<m![1], m![L]>()
            .vector_final()
            .commit::<m![L]>(4096);
        let exp = furiosa_visa_std::scalar::vector::exponential;
        let expected: Vec<f32> = a.iter().zip(&b).map(|(&a, &b)| exp(-a) * b.mul_add(3.0, 2.0)).collect();
        assert_same(&values!(y), &expected);

        let [a, b] = [28, 29].map(|seed| integers(seed, 2048).iter().map(|x| x % 4000).collect::<Vec<_>>());
        let (first, second) = (dm!(i32, a, 2048), dm!(i32, b, 3072));
        let y = enter!(i32, first, second)
            .vector_fxp_with_mode(FxpBinaryOp::SubFxp, BinaryArgMode::Mode10, 100, ())
            .vector_clip(ClipBinaryOpI32::Max, -1000, 1000)
            .vector_clip_zip(ClipBinaryOpI32::Min)
            .vector_final()
            .commit::<m![L]>(4096);
        let expected: Vec<i32> =
            a.iter().zip(&b).map(|(&a, &b)| (100 - a).max(-1000).min(b.max(1000))).collect();
        assert_same(&values!(y), &expected);
    });
}

/// A number is for the elements of both groups. What was stashed is an operand of a ternary operator.
#[test]
fn numbers_and_the_stash() {
    axes![S = 256];
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(30, 2048);
        let host = HostTensor::<f32, m![S, L]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![S, L]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<Cluster, m![S], m![L]>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(dm.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::AxisToggle { axis: L::NAME })
            .vector_stash()
            .vector_split::<m![L / 4], m![L % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 2.0)
            .vector_fp_ternary(FpTernaryOp::FmaF, (Stash, 0.5))
            .vector_concat::<m![1], m![L]>()
            .vector_clip(ClipBinaryOpF32::Add, (10.0, GroupId::One))
            .vector_final()
            .commit::<m![L]>(4096);
        let y = y.to_hbm::<m![S, L]>(&mut ctx.tdma, 1 << 20).to_host::<m![S, L]>(&mut ctx.pdma).await;
        let of = |(k, &x): (usize, &f32)| (2.0 * x).mul_add(x, 0.5) + if k % 2 == 1 { 10.0 } else { 0.0 };
        assert_same(&y.to_buf(), &x.iter().enumerate().map(of).collect::<Vec<_>>());
    });
}

/// Groups by the index along an axis, wherever it is, before and behind an exchange between slices.
#[test]
fn axes_of_all_mappings_make_groups() {
    axes![C = 2, G = 16, J = 8, A = 2];
    block_on(async {
        let mut ctx = Context::acquire();
        let x = floats(20, 2 * 128 * 16);
        let host = HostTensor::<f32, m![C, G, J, A, L]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![C, G, J, A, L]>(&mut ctx.pdma, 0).await;
        let dm = hbm.to_dm::<m![C], m![G, J # 16], m![A, L]>(&mut ctx.tdma, 0);
        macro_rules! enter {
            () => {
                ctx.main.begin(dm.view()).fetch::<f32, m![A], m![L]>().collect::<m![A], m![L]>().vector_init()
            };
        }
        // The elements inside of each axis, and how many it has.
        for (axis, inside, size) in
            [(C::NAME, 2048, 2), (G::NAME, 128, 16), (J::NAME, 16, 8), (A::NAME, 8, 2), (L::NAME, 1, 8)]
        {
            let more = |k: usize, inside| if k / inside % size % 2 == 1 { 100.0 } else { 0.0 };
            let y = enter!()
                .vector_intra_slice_branch(BranchMode::AxisToggle { axis })
                .vector_clip(ClipBinaryOpF32::Add, (100.0, GroupId::One))
                .vector_final()
                .commit::<m![A, L]>(4096);
            let y = y.to_hbm::<m![C, G, J, A, L]>(&mut ctx.tdma, 1 << 20);
            let y = y.to_host::<m![C, G, J, A, L]>(&mut ctx.pdma).await.to_buf();
            assert_same(&y, &(0..4096).map(|k| x[k] + more(k, inside)).collect::<Vec<_>>());
            if axis == J::NAME {
                continue;
            }
            let y = enter!()
                .vector_inter_slice_reduce::<m![G, 1 # 16], m![A]>(InterSliceReduceOpF32::Max)
                .vector_intra_slice_branch(BranchMode::AxisToggle { axis })
                .vector_clip(ClipBinaryOpF32::Add, (100.0, GroupId::One))
                .vector_final()
                .commit::<m![A, L]>(4096);
            let y = y.to_hbm::<m![C, G, A, L]>(&mut ctx.tdma, 1 << 20);
            let y = y.to_host::<m![C, G, A, L]>(&mut ctx.pdma).await.to_buf();
            let greatest =
                |k: usize| (0..8).map(|j| x[k / 16 * 128 + j * 16 + k % 16]).fold(f32::MIN, f32::max);
            let inside = if inside > 8 { inside / 8 } else { inside };
            assert_same(&y, &(0..512).map(|k| greatest(k) + more(k, inside)).collect::<Vec<_>>());
        }
    });
}

/// Valid counts are of flits: those that hold half a flit each, and are trimmed, are five full ones of 20 elements; cut in
/// halves, flits of 8 are two full ones and a part.
#[test]
fn counts_are_of_flits_as_they_came() {
    axes![R = 20];
    type Slice = m![R # 32 / 8 # 256];
    type Steps = m![R # 32 / 4 % 2];
    type Half = m![R # 32 % 4];
    block_on(async {
        let mut ctx = Context::acquire();
        let x = integers(31, 20);
        let host = HostTensor::<i32, m![R]>::from_buf(init(&x));
        let hbm = host.to_hbm::<m![1], m![R]>(&mut ctx.pdma, 0).await;
        let halves = hbm.to_dm::<Cluster, Slice, m![R # 32 / 4 % 2, R # 32 % 4 # 8]>(&mut ctx.tdma, 0);
        let flits = halves.view();
        let flits = ctx.main.begin(flits).fetch::<i32, Steps, m![R # 32 % 4 # 8]>();
        let y = flits
            .collect::<Steps, m![R # 32 % 4 # 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<Half>()
            .vector_intra_slice_reduce::<R, m![1], m![1 # 4]>(IntraSliceReduceOpI32::Max)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .commit::<m![1 # 2]>(4096);
        let y = y.to_hbm::<m![R # 32 / 8]>(&mut ctx.tdma, 1 << 20);
        let y = y.to_host::<m![R # 32 / 8]>(&mut ctx.pdma).await.to_buf();
        let greatest: Vec<i32> = x.chunks(8).filter_map(|own| own.iter().copied().max()).collect();
        assert_same(&y[..3], &greatest);

        let whole = hbm.to_dm::<Cluster, Slice, m![R # 32 % 8]>(&mut ctx.tdma, 1024);
        let text = panic_message(|| {
            let flits = ctx.main.begin(whole.view()).fetch::<i32, m![1], m![R # 32 % 8]>();
            let _ = flits
                .collect::<m![1], m![R # 32 % 8]>()
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_split::<Steps, Half>()
                .vector_intra_slice_reduce::<R, m![1], m![1 # 4]>(IntraSliceReduceOpI32::Max);
        });
        assert!(text.contains("a packet of a slice would end where that of another goes on"), "{text}");
    });
}
