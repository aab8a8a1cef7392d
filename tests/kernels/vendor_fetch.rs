//! The vendor's functions on fetches (guide: fetch) with 2 clusters and 256 slices, executed and compared with
//! plain loops.

use crate::{Cluster, assert_same, block_on, code, init};
use furiosa_visa_std::engine::fetch::FetchPlan;
use furiosa_visa_std::prelude::*;

axes![S = 5];
type Slice = m![S # 256];

/// A fetch that is committed as it comes. The result in the order of the stream is compared with `order`: the position
/// in the stored tensor of each element of the stream.
macro_rules! fetch_test {
    (
        $function:ident[$($axis:ident = $size:literal),*]: $d:ty => $d2:ty,
        stored $element:ty, padded $padded:ty,
        stream $time:ty, $packet:ty,
        flits $flit_time:ty, $flit:ty,
        committed $committed:ty, live $live:ty,
        plan $fetch_size:literal B $cycles:literal cycles,
        from $sample:expr, to $convert:expr, order $order:expr
    ) => {
        #[allow(non_snake_case)]
        mod $function {
            use super::*;
            axes![$($axis = $size),*];

            fn $function<'l, const T: Tu>(
                input: BeginTensor<'l, T, $d, m![1], Cluster, Slice, m![1], $element>,
            ) -> FetchTensor<'l, T, $d2, m![1], Cluster, Slice, $time, $packet> {
                input.fetch()
            }

            #[device(chip = 1)]
            fn kernel(
                ctx: &mut Context,
                x: &HbmTensor<$d, m![1], m![S, { $padded }]>,
            ) -> HbmTensor<$d2, m![1], m![S, { $live }]> {
                let _: DmTensor<$d, m![1], Cluster, Slice, $padded> = x.to_dm(&mut ctx.tdma, 1 << 10);
                // The same bytes without the padding that the transfer needed.
                #[allow(unsafe_code)] // The tensor was written by the line above.
                let x = unsafe { DmTensor::<$d, m![1], Cluster, Slice, $element>::from_addr(1 << 10) };
                let y = $function(ctx.main.begin(x.view()))
                    .collect::<$flit_time, $flit>()
                    .commit::<$committed>(1 << 17);
                y.to_hbm(&mut ctx.tdma, 1 << 30)
            }

            #[test]
            fn executed() {
                let plan = FetchPlan::<$d, $d2, $element, $time, $packet>::CONFIG;
                assert_eq!((plan.fetch_size, plan.cycles), ($fetch_size, $cycles));
                let elements = [$($size),*].iter().product::<usize>();
                let stored: Vec<$d> = (0..5 * elements).map($sample).collect();
                let found = block_on(async {
                    let mut ctx = crate::unordered();
                    let x = HostTensor::<$d, m![S, { $element }]>::from_buf(init(&stored));
                    let x = x.to_hbm::<m![1], m![S, { $padded }]>(&mut ctx.pdma, 64).await;
                    let y = launch(kernel, (&mut ctx, &x)).await;
                    y.to_host::<m![S, { $live }]>(&mut ctx.pdma).await.to_buf()
                });
                let order: Vec<usize> = $order;
                let expected: Vec<$d2> = (0..5)
                    .flat_map(|slice| order.iter().map(move |at| slice * elements + at))
                    .map(|at| $convert(stored[at]))
                    .collect();
                assert_same(&found, &expected);
            }
        }
    };
}

fn byte(k: usize) -> i8 {
    code(1, k) as u8 as i8
}

fn nibble(k: usize) -> i4 {
    i4::from_bits(code(2, k) % 16)
}

fn small_float(k: usize) -> f8e4m3 {
    // 0x7f would be NaN, which has several codes.
    f8e4m3::from_bits((code(3, k) % 127) as u8)
}

fn same<D>(value: D) -> D {
    value
}

fetch_test! {
    fetch_matrix_example[A = 512, B = 32]: i8 => i32,
    stored m![A, B], padded m![A, B],
    stream m![A], m![B],
    flits m![A, B / 8], m![B % 8],
    committed m![A, B], live m![A, B],
    plan 8 B 2048 cycles,
    from byte, to i32::from, order (0..512 * 32).collect()
}

fetch_test! {
    fully_contiguous[N = 4, C = 3, H = 4, W = 8]: i8 => i8,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![N, C, H], m![W],
    flits m![N, C, H], m![W # 32],
    committed m![N, C, H, W], live m![N, C, H, W],
    plan 8 B 48 cycles,
    from byte, to same, order (0..384).collect()
}

fetch_test! {
    three_axes_non_contiguous[N = 4, C = 3, H = 4, W = 8]: i8 => i8,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![C], m![N, H, W],
    flits m![C, [N, H, W] / 32], m![[N, H, W] % 32],
    committed m![C, N, H, W], live m![C, N, H, W],
    plan 32 B 12 cycles,
    from byte, to same, order {
        let mut order = Vec::new();
        for c in 0..3 {
            for n in 0..4 {
                for h in 0..4 {
                    for w in 0..8 {
                        order.push(n * 96 + c * 32 + h * 8 + w);
                    }
                }
            }
        }
        order
    }
}

fetch_test! {
    four_axes_non_contiguous[N = 4, C = 3, H = 4, W = 8]: i8 => i8,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![1], m![N, H, C, W],
    flits m![[N, H, C, W] / 32], m![[N, H, C, W] % 32],
    committed m![N, H, C, W], live m![N, H, C, W],
    plan 8 B 48 cycles,
    from byte, to same, order {
        let mut order = Vec::new();
        for n in 0..4 {
            for h in 0..4 {
                for c in 0..3 {
                    for w in 0..8 {
                        order.push(n * 96 + c * 32 + h * 8 + w);
                    }
                }
            }
        }
        order
    }
}

// The packet of 2 bytes, as printed, is against the rule of 8: it is padded here.
fetch_test! {
    fetch_packet_C[A = 3, B = 5, C = 2]: f8e4m3 => f8e4m3,
    stored m![A, B, C], padded m![[A, B, C] # 32],
    stream m![A, B], m![C # 8],
    flits m![A, B], m![C # 32],
    committed m![A, B, C # 8], live m![A, B, C],
    plan 8 B 15 cycles,
    from small_float, to same, order (0..30).collect()
}

fetch_test! {
    fetch_packet_BC[A = 3, B = 5, C = 2]: f8e4m3 => f8e4m3,
    stored m![A, B, C], padded m![[A, B, C] # 32],
    stream m![A], m![[B, C] # 16],
    flits m![A], m![[B, C] # 32],
    committed m![A, [B, C] # 16], live m![A, B, C],
    plan 16 B 3 cycles,
    from small_float, to same, order (0..30).collect()
}

fetch_test! {
    fetch_packet_ABC[A = 3, B = 5, C = 2]: f8e4m3 => f8e4m3,
    stored m![A, B, C], padded m![[A, B, C] # 32],
    stream m![1], m![[A, B, C] # 32],
    flits m![1], m![[A, B, C] # 32],
    committed m![[A, B, C] # 32], live m![A, B, C],
    plan 32 B 1 cycles,
    from small_float, to same, order (0..30).collect()
}

fetch_test! {
    fetch_with_masking[A = 63]: i8 => i8,
    stored m![A], padded m![A # 64],
    stream m![1], m![A # 64],
    flits m![A # 64 / 32], m![A # 64 % 32],
    committed m![A # 64], live m![A],
    plan 32 B 2 cycles,
    from byte, to same, order (0..63).collect()
}

fetch_test! {
    fetch_with_type_cast[A = 8]: i8 => i32,
    stored m![A], padded m![A],
    stream m![1], m![A],
    flits m![1], m![A],
    committed m![A], live m![A],
    plan 8 B 1 cycles,
    from byte, to i32::from, order (0..8).collect()
}

// A packet of 8 i4 is 4 bytes, against the rule of 8: this one is padded.
fetch_test! {
    fetch_batch_1[N = 4, C = 3, H = 4, W = 8]: i4 => i4,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![N, C, H], m![W # 16],
    flits m![N, C, H], m![W # 64],
    committed m![N, C, H, W # 16], live m![N, C, H, W],
    plan 8 B 48 cycles,
    from nibble, to same, order (0..384).collect()
}

fetch_test! {
    fetch_batch_2[N = 4, C = 3, H = 4, W = 8]: i4 => i4,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![N, C, H / 2], m![H % 2, W],
    flits m![N, C, H / 2], m![[H % 2, W] # 64],
    committed m![N, C, H, W], live m![N, C, H, W],
    plan 8 B 24 cycles,
    from nibble, to same, order (0..384).collect()
}

fetch_test! {
    fetch_batch_3[N = 4, C = 3, H = 4, W = 8]: i4 => i4,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![N, C], m![H, W],
    flits m![N, C], m![[H, W] # 64],
    committed m![N, C, H, W], live m![N, C, H, W],
    plan 16 B 12 cycles,
    from nibble, to same, order (0..384).collect()
}

fetch_test! {
    fetch_batch_4[N = 4, C = 3, H = 4, W = 8]: i4 => i4,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![N], m![C, H, W],
    flits m![N, [C, H, W] # 128 / 64], m![[C, H, W] # 128 % 64],
    committed m![N, [C, H, W] # 128], live m![N, C, H, W],
    plan 16 B 12 cycles,
    from nibble, to same, order (0..384).collect()
}

fetch_test! {
    fetch_batch_4_of_bytes[N = 4, C = 3, H = 4, W = 8]: i8 => i8,
    stored m![N, C, H, W], padded m![N, C, H, W],
    stream m![N], m![C, H, W],
    flits m![N, C], m![H, W],
    committed m![N, C, H, W], live m![N, C, H, W],
    plan 32 B 12 cycles,
    from byte, to same, order (0..384).collect()
}
