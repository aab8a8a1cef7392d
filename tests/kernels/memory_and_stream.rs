//! The definition of placement (guide: memories_and_dma): which position of a unit holds which element of a tensor.
//!
//! A tensor is made by the public API. Then a second handle to the same address, whose mapping has one axis per level,
//! shows the raw positions. Position `(i, j)` must hold the element at `Chip::map(i) ∪ Element::map(j)`.

use crate::{Cluster, Number, assert_same, block_on, code, init, numbers};
use furiosa_visa_std::mapping::Index;
use furiosa_visa_std::prelude::*;
use std::collections::{HashMap, HashSet};

/// The elements of a tensor by index. `Math` has no padding inside.
fn elements<D: Scalar, Math: M>(values: &[D]) -> HashMap<String, D> {
    let indices = (0..Math::SIZE).filter_map(Math::map);
    let elements: HashMap<_, _> =
        (indices.map(|index| index.to_string())).zip(values.iter().copied()).collect();
    assert_eq!(elements.len(), values.len());
    elements
}

/// Checks raw positions, outermost level slowest, against the mappings of the levels. `ignored`: a broadcast axis.
#[track_caller]
fn check_positions<D: Scalar>(
    raw: &[Opt<D>],
    levels: &[Vec<Option<Index>>],
    elements: &HashMap<String, D>,
    ignored: Option<&str>,
) {
    assert_eq!(raw.len(), levels.iter().map(Vec::len).product::<usize>());
    let mut seen = HashSet::new();
    let mut open: Vec<(usize, Index)> = vec![(0, Index::new())];
    for level in levels {
        let mut next = Vec::new();
        for (base, index) in &open {
            for (position, part) in level.iter().enumerate() {
                if let Some(part) = part {
                    next.push((base * level.len() + position, index.clone().union(part)));
                }
            }
        }
        open = next;
    }
    for (position, index) in open {
        // Levels that share a padded product may form an index that is no element.
        let Some(mut coordinates) = index.coordinates() else {
            continue;
        };
        coordinates.retain(|(name, _)| Some(name.to_string().as_str()) != ignored);
        let parts: Vec<String> =
            (coordinates.iter()).map(|(name, value)| format!("{name}: {value}")).collect();
        let index = format!("i![{}]", parts.join(", "));
        let expected = elements[&index];
        let Opt::Init(found) = raw[position] else {
            panic!("position {position} is uninitialised, but it is {index}");
        };
        assert_eq!(Scalar::to_bits(found), Scalar::to_bits(expected), "position {position}, {index}");
        seen.insert(index);
    }
    assert_eq!(seen.len(), elements.len(), "some elements have no place");
}

fn level<E: M>() -> Vec<Option<Index>> {
    (0..E::SIZE).map(E::map).collect()
}

fn values<D: Scalar>(count: usize) -> Vec<D> {
    // The float codes stay below the exponents of NaN; no code is 0.
    (0..count).map(|k| D::from_bits((code(17, k) & 0x3f3f_3f3f) | 1)).collect()
}

/// A tensor in HBM and in DM, looked at through raw handles.
macro_rules! at_rest {
    (
        $name:ident, $d:ty, [$($axis:ident = $size:literal),*], math $math:ty $(, broadcast $broadcast:literal)?;
        hbm $chip:ty, $element:ty [$x:literal, $y:literal];
        dm $cluster:ty, $slice:ty, $dm_element:ty [$z:literal]
    ) => {
        mod $name {
            use super::*;
            axes![$($axis = $size),*];

            // The raw positions.
            mod raw {
                use super::*;
                axes![X = $x, Y = $y, Clusters = 2, Slices = 256, Z = $z];
                pub type Hbm = HbmTensor<$d, m![X], m![Y]>;
                pub type HbmOrder = m![X, Y];
                pub type Dm = DmTensor<$d, m![X], m![Clusters], m![Slices], m![Z]>;
                pub type Copy = HbmTensor<$d, m![X], m![Clusters, Slices, Z]>;
                pub type DmOrder = m![X, Clusters, Slices, Z];
            }

            #[device(chip = $x)]
            fn to_dm_and_back(ctx: &mut Context, x: &HbmTensor<$d, $chip, $element>) -> raw::Copy {
                x.to_dm::<$cluster, $slice, $dm_element>(&mut ctx.tdma, 4096);
                #[allow(unsafe_code)] // The line above made it.
                let raw = unsafe { raw::Dm::from_addr(4096) };
                raw.to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[test]
            fn positions() {
                assert_eq!((<$chip>::SIZE, <$element>::SIZE, <$dm_element>::SIZE), ($x, $y, $z));
                let values = values::<$d>((0..<$math>::SIZE).filter_map(<$math>::map).count());
                let elements = elements::<$d, $math>(&values);
                let ignored: &[&str] = &[$($broadcast)?];
                let (hbm, dm) = block_on(async {
                    let mut ctx = Context::acquire();
                    let host = HostTensor::<$d, $math>::from_buf(init(&values));
                    let x = host.to_hbm::<$chip, $element>(&mut ctx.pdma, 512).await;
                    #[allow(unsafe_code)] // The line above made it.
                    let raw = unsafe { raw::Hbm::from_addr(512) };
                    let hbm = raw.to_host::<raw::HbmOrder>(&mut ctx.pdma).await.to_buf();
                    let copy = launch(to_dm_and_back, (&mut ctx, &x)).await;
                    let dm = copy.to_host::<raw::DmOrder>(&mut ctx.pdma).await.to_buf();
                    (hbm, dm)
                });
                let ignored = ignored.first().copied();
                check_positions(&hbm, &[level::<$chip>(), level::<$element>()], &elements, ignored);
                let levels = [level::<$chip>(), level::<$cluster>(), level::<$slice>(), level::<$dm_element>()];
                check_positions(&dm, &levels, &elements, ignored);
            }
        }
    };
}

at_rest! {
    one_chip_i8, i8, [A = 8, B = 16], math m![A, B];
    hbm m![1], m![A, B] [1, 128];
    dm Cluster, m![A # 256], m![B] [16]
}

at_rest! {
    two_chips_f32, f32, [A = 8, B = 6, C = 10], math m![A, B, C];
    hbm m![A / 4], m![B, A % 4, C] [2, 240];
    dm m![A / 2 % 2], m![[B, A % 2] # 256], m![C] [10]
}

at_rest! {
    four_chips_bf16, bf16, [A = 8, B = 12, C = 20], math m![A, B, C];
    hbm m![A % 4], m![A / 4, C # 24, B] [4, 576];
    dm m![A / 4], m![C / 5, 1 # 64], m![C % 5, B] [60]
}

at_rest! {
    eight_chips_i4, i4, [A = 8, B = 32, C = 24], math m![A, B, C];
    hbm m![A], m![B, C # 32] [8, 1024];
    dm m![B % 2], m![B / 2 # 256], m![C # 32] [32]
}

at_rest! {
    the_page_bf16, bf16, [A = 8, B = 512], math m![A, B];
    hbm m![A], m![B] [8, 512];
    dm m![1 # 2], m![B / 4 # 256], m![B % 4] [4]
}

at_rest! {
    padded_chips_i32, i32, [A = 3, B = 10, C = 7], math m![A, B, C];
    hbm m![A # 8], m![C, B] [8, 70];
    dm Cluster, m![C # 256], m![B] [10]
}

at_rest! {
    padded_chips_f8, f8e4m3, [A = 5, B = 9, C = 16], math m![A, B, C];
    hbm m![A # 8], m![B # 10, C] [8, 160];
    dm m![B # 10 / 5], m![B # 10 % 5 # 8, 1 # 32], m![C] [16]
}

at_rest! {
    padding_at_all_levels, f8e4m3, [A = 7, B = 3, C = 30], math m![A, B, C];
    hbm m![A # 8 / 4], m![B # 4, A # 8 % 4, C # 32] [2, 512];
    dm m![A # 8 / 2 % 2], m![A # 8 % 2, B # 128], m![C # 32] [32]
}

at_rest! {
    a_product_over_slices_and_elements, i32, [A = 7, B = 9], math m![A, B];
    hbm m![1], m![[A, B] # 64] [1, 64];
    dm Cluster, m![[A, B] # 64 / 4 # 256], m![[A, B] # 64 % 4] [4]
}

at_rest! {
    broadcast_over_slices, bf16, [A = 4, B = 16, R = 6], math m![A, B], broadcast "R";
    hbm m![A], m![B] [4, 16];
    dm m![R / 3], m![R % 3 # 256], m![B] [16]
}

/// A stream, committed in the order `[Time, Packet]`, so that position `(t, p)` of DM shows lane `p` at time `t`.
macro_rules! stream {
    (
        $name:ident, $d:ty => $d2:ty, [$($axis:ident = $size:literal),*];
        hbm $chip:ty, $hbm:ty [$chips:literal]; slice $slice:ty, element $element:ty;
        stream $time:ty, $packet:ty [$lanes:literal]; flits $flit_time:ty, $flit:ty [$time_steps:literal];
        widened $convert:expr
    ) => {
        mod $name {
            use super::*;
            axes![$($axis = $size),*];

            type Math = m![$($axis),*];

            mod raw {
                use super::*;
                axes![X = $chips, Clusters = 2, Slices = 256, Steps = $time_steps, Lanes = $lanes];
                pub type Dm = DmTensor<$d2, m![X], m![Clusters], m![Slices], m![Steps, Lanes]>;
                pub type Copy = HbmTensor<$d2, m![X], m![Clusters, Slices, Steps, Lanes]>;
                pub type Order = m![X, Clusters, Slices, Steps, Lanes];
            }

            #[device(chip = $chips)]
            fn kernel(ctx: &mut Context, x: &HbmTensor<$d, $chip, $hbm>) -> raw::Copy {
                let x = x.to_dm::<Cluster, $slice, $element>(&mut ctx.tdma, 0);
                let _: DmTensor<$d2, $chip, Cluster, $slice, m![{ $flit_time }, { $flit }]> =
                    (ctx.main.begin(x.view()).fetch::<$d2, $time, $packet>())
                        .collect::<$flit_time, $flit>()
                        .commit(1 << 16);
                #[allow(unsafe_code)] // The line above made it.
                let raw = unsafe { raw::Dm::from_addr(1 << 16) };
                raw.to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[test]
            fn positions() {
                assert_eq!((<$flit_time>::SIZE, <$flit>::SIZE), ($time_steps, $lanes));
                let values = values::<$d>(Math::SIZE);
                let wide: Vec<$d2> = values.iter().map(|value| $convert(*value)).collect();
                let found = block_on(async {
                    let mut ctx = crate::unordered();
                    let host = HostTensor::<$d, Math>::from_buf(init(&values));
                    let x = host.to_hbm::<$chip, $hbm>(&mut ctx.pdma, 512).await;
                    let copy = launch(kernel, (&mut ctx, &x)).await;
                    copy.to_host::<raw::Order>(&mut ctx.pdma).await.to_buf()
                });
                let levels = [
                    level::<$chip>(),
                    level::<Cluster>(),
                    level::<$slice>(),
                    level::<$flit_time>(),
                    level::<$flit>(),
                ];
                check_positions(&found, &levels, &elements::<$d2, Math>(&wide), None);
            }
        }
    };
}

stream! {
    gathered_bytes, i8 => i8, [C = 4, H = 16, W = 24];
    hbm m![1], m![C, H, W] [1]; slice m![C # 256], element m![H, W];
    stream m![W / 4, H % 4], m![W % 4, H / 4 # 8] [32]; flits m![W / 4, H % 4], m![W % 4, H / 4 # 8] [24];
    widened |value| value
}

stream! {
    cut_packets, i4 => i32, [G = 4, C = 3, H = 10, W = 48];
    hbm m![G], m![H, C, W] [4]; slice m![C # 4, 1 # 64], element m![H, W];
    stream m![H / 5, W / 24], m![H % 5, W % 24] [8];
    flits m![H / 5, W / 24, H % 5, W % 24 / 8], m![W % 24 % 8] [60];
    widened i4::to_i32
}

stream! {
    widened_floats, f8e4m3 => f32, [G = 2, C = 6, H = 12, W = 16];
    hbm m![G], m![W, C, H # 16] [2]; slice m![C # 256], element m![W, H # 16];
    stream m![H, W / 8], m![W % 8] [8]; flits m![H, W / 8], m![W % 8] [24];
    widened f8e4m3::to_f32
}

stream! {
    narrowed_floats, f32 => bf16, [C = 6, H = 12, W = 16];
    hbm m![1], m![C, H, W] [1]; slice m![C # 256], element m![H, W];
    stream m![H], m![W] [16]; flits m![H], m![W] [12];
    widened bf16::from_f32
}

/// Weights in the TRF, read by data with a single 1 in every packet: the result is the weights.
macro_rules! weights {
    (
        $name:ident, $d:ty => $wide:ty, one $one:expr, chip $chip:ty [$chips:literal], cluster $cluster:ty, slice $slice:ty, hbm $hbm:ty, [$($axis:ident = $size:literal),*],
        N = $n:literal, K = $k:literal, flit $flit:literal,
        row $row:ty, group $group:ty, address $address:expr, lanes $lanes:ty
    ) => {
        mod $name {
            use super::*;
            axes![$($axis = $size,)* N = $n, K = $k, P = $k];
            type Units = m![$($axis,)* 1];

            #[device(chip = $chips)]
            fn kernel(
                ctx: &mut Context,
                x: &HbmTensor<$d, $chip, m![P, K]>,
                w: &HbmTensor<$d, $chip, m![{ $hbm }, N, K]>,
            ) -> HbmTensor<$wide, $chip, m![{ $hbm }, P, { $group }, { $lanes }]> {
                let x = x.to_dm::<$cluster, $slice, m![P, K]>(&mut ctx.tdma, 0);
                let w = w.to_dm::<$cluster, $slice, m![{ $row }, { $group }, K]>(&mut ctx.tdma, 1 << 15);
                let w = (ctx.sub.begin(w.view()).fetch::<$d, m![{ $row }, { $group }], m![K]>())
                    .collect::<m![{ $row }, { $group }, K / $flit], m![K % $flit]>()
                    .to_trf::<$row, m![{ $group }, K]>($address);
                let y = (ctx.main.begin(x.view()).fetch::<$d, m![P], m![K]>())
                    .collect::<m![P, K / $flit], m![K % $flit]>()
                    .align::<m![P, { $group }], m![K], _, _>(&w)
                    .contract::<m![1]>()
                    .accumulate::<m![P, { $group }], $lanes>(AccumulationKind::Interleaved)
                    .commit::<m![P, { $group }, { $lanes }]>(1 << 17);
                y.to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[test]
            fn positions() {
                let units = Units::SIZE;
                let w = numbers::<$d>(23, units * $n * $k);
                let zero = <$d>::from_bits(0);
                let x: Vec<$d> = (0..$k * $k)
                    .map(|at| if at % $k == at / $k { $one } else { zero })
                    .collect();
                let found = block_on(async {
                    let mut ctx = Context::acquire();
                    let x = HostTensor::<$d, m![P, K]>::from_buf(init(&x));
                    let w = HostTensor::<$d, m![{ Units }, N, K]>::from_buf(init(&w));
                    let x = x.to_hbm::<$chip, m![P, K]>(&mut ctx.pdma, 0).await;
                    let w = w.to_hbm::<$chip, m![{ $hbm }, N, K]>(&mut ctx.pdma, 1 << 20).await;
                    let y = launch(kernel, (&mut ctx, &x, &w)).await;
                    y.to_host::<m![{ Units }, P, N]>(&mut ctx.pdma).await.to_buf()
                });
                let mut expected = Vec::new();
                for unit in w.chunks($n * $k) {
                    for p in 0..$k {
                        for n in 0..$n {
                            expected.push(unit[n * $k + p].wide());
                        }
                    }
                }
                assert_same(&found, &expected);
            }
        }
    };
}

weights! {
    rows_of_bf16, bf16 => f32, one bf16::from_f32(1.0), chip m![1] [1], cluster Cluster, slice m![S # 256], hbm m![S], [S = 3],
    N = 8, K = 32, flit 16,
    row m![N], group m![1], address TrfAddress::Full, lanes m![N]
}

weights! {
    groups_of_rows_of_i8, i8 => i32, one 1, chip m![1] [1], cluster Cluster, slice m![S # 256], hbm m![S], [S = 5],
    N = 24, K = 64, flit 32,
    row m![N % 8], group m![N / 8], address TrfAddress::SecondHalf, lanes m![N % 8]
}

weights! {
    padded_rows_of_f8, f8e4m3 => f32, one f8e4m3::from_f32(1.0), chip m![1] [1], cluster Cluster, slice m![S # 256], hbm m![S], [S = 5],
    N = 5, K = 64, flit 32,
    row m![N # 8], group m![1], address TrfAddress::FirstHalf, lanes m![N # 8]
}

weights! {
    four_rows_of_i4, i4 => i32, one i4::from_i32(1), chip m![1] [1], cluster Cluster, slice m![S # 256], hbm m![S], [S = 2],
    N = 12, K = 128, flit 64,
    row m![N / 3], group m![N % 3], address TrfAddress::FirstHalf, lanes m![N / 3 # 8]
}

weights! {
    eight_chips_and_two_clusters, bf16 => f32, one bf16::from_f32(1.0),
    chip m![G] [8], cluster m![S / 3], slice m![S % 3 # 256], hbm m![S], [G = 8, S = 6],
    N = 16, K = 32, flit 16,
    row m![N / 2], group m![N % 2], address TrfAddress::FirstHalf, lanes m![N / 2]
}

weights! {
    padded_chips, i8 => i32, one 1,
    chip m![G # 4] [4], cluster m![S % 2], slice m![1 # 128, S / 2], hbm m![S], [G = 3, S = 4],
    N = 3, K = 64, flit 32,
    row m![N # 4], group m![1], address TrfAddress::SecondHalf, lanes m![N # 8]
}

/// Padding of an axis that is summed: whatever lies there does not count.
mod padding_is_masked {
    use super::*;
    axes![S = 3, N = 8, K = 63, Whole = 64];
    type Slice = m![S # 256];

    #[device(chip = 1)]
    #[allow(unsafe_code)] // The same bytes, the last element of which is padding here.
    fn kernel(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![S, Whole]>,
        w: &HbmTensor<i8, m![1], m![N, Whole]>,
    ) -> HbmTensor<i32, m![1], m![S, N]> {
        x.to_dm::<Cluster, Slice, m![Whole]>(&mut ctx.tdma, 0);
        w.to_dm::<Cluster, Slice, m![N, Whole]>(&mut ctx.tdma, 1024);
        let x = unsafe { DmTensor::<i8, m![1], Cluster, Slice, m![K # 64]>::from_addr(0) };
        let w = unsafe { DmTensor::<i8, m![1], Cluster, Slice, m![N, K # 64]>::from_addr(1024) };
        let w = (ctx.sub.begin(w.view()).fetch::<i8, m![N], m![K # 64]>())
            .collect::<m![N, K # 64 / 32], m![K # 64 % 32]>()
            .to_trf::<m![N], m![K # 64]>(TrfAddress::Full);
        (ctx.main.begin(x.view()).fetch::<i8, m![1], m![K # 64]>())
            .collect::<m![K # 64 / 32], m![K # 64 % 32]>()
            .align::<m![1], m![K # 64], _, _>(&w)
            .contract::<m![1]>()
            .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![N]>(4096)
            .to_hbm(&mut ctx.tdma, 1 << 30)
    }

    #[test]
    fn executed() {
        let (x, w) = (numbers::<i8>(51, 3 * 64), numbers::<i8>(52, 8 * 64));
        let found = block_on(async {
            let mut ctx = crate::unordered();
            let x = HostTensor::<i8, m![S, Whole]>::from_buf(init(&x));
            let w = HostTensor::<i8, m![N, Whole]>::from_buf(init(&w));
            let x = x.to_hbm(&mut ctx.pdma, 0).await;
            let w = w.to_hbm(&mut ctx.pdma, 4096).await;
            let y = launch(kernel, (&mut ctx, &x, &w)).await;
            y.to_host::<m![S, N]>(&mut ctx.pdma).await.to_buf()
        });
        let mut expected = Vec::new();
        for x in x.chunks(64) {
            for w in w.chunks(64) {
                assert!(x[63] != 0 && w[63] != 0);
                expected.push((0..63).map(|k| i32::from(x[k]) * i32::from(w[k])).sum::<i32>());
            }
        }
        assert_same(&found, &expected);
    }
}

/// A single number, at the end of what a slice of 8 bytes holds, becomes an operand of every slice.
mod scalars {
    use super::*;

    axes![S = 256, L = 8, N = 3];

    type Scale = HbmTensor<f32, m![1], m![1]>;
    type X = HbmTensor<f32, m![1], m![S, L]>;

    #[device(chip = 1)]
    fn scaled(ctx: &mut Context, x: &X, scale: &Scale) -> X {
        let x = x.to_dm::<Cluster, m![S], m![L]>(&mut ctx.tdma, 0);
        let scale = scale.to_dm::<Cluster, m![S], m![1 # 8]>(&mut ctx.tdma, 1024);
        let scale = (ctx.sub.begin(scale.view()).fetch::<f32, m![1], m![1 # 8]>())
            .collect::<m![1], m![1 # 8]>()
            .to_vrf::<m![1 # 8]>(0);
        let y = (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>())
            .collect::<m![1], m![L]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![L / 4], m![L % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scale)
            .vector_concat::<m![1], m![L]>()
            .vector_final()
            .commit::<m![L]>(2048);
        y.to_hbm(&mut ctx.tdma, 1 << 20)
    }

    #[test]
    fn a_number_goes_to_every_slice() {
        let x: Vec<f32> = (0..2048).map(|k| 1.0 + k as f32 / 64.0).collect();
        let found = block_on(async {
            let mut ctx = Context::acquire();
            let host = HostTensor::<f32, m![S, L]>::from_buf(init(&x));
            let there: X = host.to_hbm(&mut ctx.pdma, 0).await;
            // Behind the number lies what nobody wrote.
            let scale: Scale =
                HostTensor::<f32, m![1]>::from_buf(init(&[3.0])).to_hbm(&mut ctx.pdma, 1 << 20).await;
            let y = launch(scaled, (&mut *ctx, &there, &scale)).await;
            y.to_host::<m![S, L]>(&mut ctx.pdma).await.to_buf()
        });
        assert_same(&found, &x.iter().map(|x| 3.0 * x).collect::<Vec<_>>());
    }

    /// Three bytes per chip unit of 8; what lies behind stays as it was, and uninitialised where it was.
    #[test]
    fn padding_is_not_written() {
        let mut ctx = Context::acquire();
        let three = HostTensor::<i8, m![N]>::from_buf(init(&[5, 6, 7]));
        let three: HbmTensor<i8, m![1], m![N]> = block_on(three.to_hbm(&mut ctx.pdma, 8));
        let there = three.to_dm::<Cluster, m![1 # 256], m![N # 8]>(&mut ctx.tdma, 0);
        assert_eq!(there.address(), 0);
        #[allow(unsafe_code)] // The raw positions.
        let raw: DmTensor<i8, m![1], Cluster, m![1 # 256], m![L]> = unsafe { DmTensor::from_addr(0) };
        let raw = raw.to_hbm::<m![L]>(&mut ctx.tdma, 1 << 20);
        let found = block_on(raw.to_host::<m![L]>(&mut ctx.pdma)).to_buf();
        let expected = [Opt::Init(5), Opt::Init(6), Opt::Init(7)].into_iter().chain([Opt::Uninit; 5]);
        assert_eq!(found, expected.collect::<Vec<_>>());
        // At an address inside of a unit it is refused.
        let refused = crate::panic_message(|| {
            let other = HostTensor::<i8, m![N]>::from_buf(init(&[5, 6, 7]));
            let other: HbmTensor<i8, m![1], m![N]> = block_on(other.to_hbm(&mut ctx.pdma, 4));
            other.to_dm::<Cluster, m![1 # 256], m![N # 8]>(&mut ctx.tdma, 0);
        });
        assert!(refused.contains("HBM source address 4 is no multiple of 8 bytes"), "{refused}");
    }
}
