//! The vendor's functions, as printed. They are generic and never instantiated: here they must compile.
//!
//! Their clusters and slices are `m![1]`, which no stream may have when it runs. `vendor_fetch` and `vendor_contraction`
//! execute them with 2 clusters and 256 slices.

#![allow(dead_code, non_snake_case)]

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod fetch_matrix {
    use furiosa_visa_std::prelude::*;

    axes![A = 512, B = 32];
    fn fetch_matrix_example<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A, B]>,
    ) -> FetchTensor<'l, T, i32, m![1], m![1], m![1], m![A], m![B]> {
        input.fetch()
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod contiguity {
    use furiosa_visa_std::prelude::*;

    axes![N = 4, C = 3, H = 4, W = 8];
    fn fully_contiguous<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i8, m![1], m![1], m![1], m![N, C, H], m![W]> {
        input.fetch()
    }
    fn three_axes_non_contiguous<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i8, m![1], m![1], m![1], m![C], m![N, H, W]> {
        input.fetch()
    }
    fn four_axes_non_contiguous<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![N, H, C, W]> {
        input.fetch()
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod packets {
    use furiosa_visa_std::prelude::*;

    axes![A = 3, B = 5, C = 2];
    fn fetch_packet_C<'l, const T: Tu>(
        input: BeginTensor<'l, T, f8e4m3, m![1], m![1], m![1], m![1], m![A, B, C]>,
    ) -> FetchTensor<'l, T, f8e4m3, m![1], m![1], m![1], m![A, B], m![C]> {
        input.fetch()
    }
    fn fetch_packet_BC<'l, const T: Tu>(
        input: BeginTensor<'l, T, f8e4m3, m![1], m![1], m![1], m![1], m![A, B, C]>,
    ) -> FetchTensor<'l, T, f8e4m3, m![1], m![1], m![1], m![A], m![[B, C] # 16]> {
        input.fetch()
    }
    fn fetch_packet_ABC<'l, const T: Tu>(
        input: BeginTensor<'l, T, f8e4m3, m![1], m![1], m![1], m![1], m![A, B, C]>,
    ) -> FetchTensor<'l, T, f8e4m3, m![1], m![1], m![1], m![1], m![[A, B, C] # 32]> {
        input.fetch()
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod masking {
    use furiosa_visa_std::prelude::*;

    axes![A = 63];
    fn fetch_with_masking<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A]>,
    ) -> FetchTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A # 64]> {
        input.fetch()
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod type_cast {
    use furiosa_visa_std::prelude::*;

    axes![A = 8];
    fn fetch_with_type_cast<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A]>,
    ) -> FetchTensor<'l, T, i32, m![1], m![1], m![1], m![1], m![A]> {
        input.fetch()
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod interleaved {
    use furiosa_visa_std::prelude::*;

    axes![A = 512, B = 32, I = 2];
    fn fetch_interleaved<'l>(
        ctx: &'l mut Context,
        lhs: &'l DmTensor<i8, m![1], m![1], m![1], m![A, B]>,
        rhs: &'l DmTensor<i8, m![1], m![1], m![1], m![A, B]>,
    ) -> FetchTensor<'l, { Tu::Main }, i8, m![1], m![1], m![1], m![A, I], m![B]> {
        ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view()).fetch()
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod table {
    use furiosa_visa_std::prelude::*;

    axes![A = 8];
    fn fetch_with_table<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A]>,
        table: &LookupTable<i8, i8>,
    ) -> FetchTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A]> {
        input.fetch_with_table(table)
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod zero_point {
    use furiosa_visa_std::prelude::*;

    axes![A = 8];
    fn fetch_with_zero_point<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A]>,
        zero_point: i8,
    ) -> FetchTensor<'l, T, i32, m![1], m![1], m![1], m![1], m![A]> {
        input.fetch_with_zero_point(zero_point)
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch). Printed with a parameter `const I: Ident`, which no stable Rust has; the
/// axis is a type.
mod zero_points {
    use furiosa_visa_std::prelude::*;

    axes![A = 8, I = 2];
    fn fetch_interleaved_with_zero_points<'l, const T: Tu>(
        input: BeginTensor<'l, T, i8, m![1], m![1], m![1], m![I], m![A]>,
        zero_points: [i8; 2],
    ) -> FetchTensor<'l, T, i32, m![1], m![1], m![1], m![I], m![A]> {
        input.fetch_with_zero_points(zero_points)
    }
}

/// Of [fetch](furiosa_visa_std::guide::fetch).
mod batching {
    use furiosa_visa_std::prelude::*;

    axes![N = 4, C = 3, H = 4, W = 8];
    fn fetch_batch_1<'l, const T: Tu>(
        input: BeginTensor<'l, T, i4, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i4, m![1], m![1], m![1], m![N, C, H], m![W]> {
        input.fetch()
    }
    fn fetch_batch_2<'l, const T: Tu>(
        input: BeginTensor<'l, T, i4, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i4, m![1], m![1], m![1], m![N, C, H / 2], m![H % 2, W]> {
        input.fetch()
    }
    fn fetch_batch_3<'l, const T: Tu>(
        input: BeginTensor<'l, T, i4, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i4, m![1], m![1], m![1], m![N, C], m![H, W]> {
        input.fetch()
    }
    fn fetch_batch_4<'l, const T: Tu>(
        input: BeginTensor<'l, T, i4, m![1], m![1], m![1], m![1], m![N, C, H, W]>,
    ) -> FetchTensor<'l, T, i4, m![1], m![1], m![1], m![N], m![C, H, W]> {
        input.fetch()
    }
}

/// Of [contraction](furiosa_visa_std::guide::contraction).
mod matmul {
    use furiosa_visa_std::prelude::*;

    axes![M = 32, N = 8, K = 32];

    fn store_weights<'l, const T: Tu>(
        weights: CollectTensor<'l, T, bf16, m![1], m![1], m![1], m![N, K / 16], m![K % 16]>,
    ) -> TrfTensor<bf16, m![1], m![1], m![1], m![N], m![K]> {
        weights.to_trf(TrfAddress::Full)
    }

    fn matmul<'l, const T: Tu>(
        input: CollectTensor<'l, T, bf16, m![1], m![1], m![1], m![M, K / 16], m![K % 16]>,
        trf: &TrfTensor<bf16, m![1], m![1], m![1], m![N], m![K]>,
    ) -> AccumulationTensor<'l, T, f32, m![1], m![1], m![1], m![M], m![N]> {
        input
            .align::<m![M], m![K], _, _>(trf)
            .contract::<m![1]>()
            .accumulate::<m![M], m![N]>(AccumulationKind::Interleaved)
    }
}

/// Of [contraction](furiosa_visa_std::guide::contraction).
mod small_reg_read_size {
    use furiosa_visa_std::prelude::*;

    axes![M = 32, N = 8, K = 16, L = 2, O = 2];

    fn store_weights<'l, const T: Tu>(
        weights: CollectTensor<'l, T, bf16, m![1], m![1], m![1], m![N, O], m![K]>,
    ) -> TrfTensor<bf16, m![1], m![1], m![1], m![N], m![O, K]> {
        weights.to_trf(TrfAddress::FirstHalf)
    }

    fn matmul<'l, const T: Tu>(
        input: CollectTensor<'l, T, bf16, m![1], m![1], m![1], m![O, M, L], m![K]>,
        trf: &TrfTensor<bf16, m![1], m![1], m![1], m![N], m![O, K]>,
    ) -> AccumulationTensor<'l, T, f32, m![1], m![1], m![1], m![O, M, L], m![N]> {
        input
            .align::<m![O, M], m![L, K], _, _>(trf)
            .contract::<m![L]>()
            .accumulate::<m![O, M, L], m![N]>(AccumulationKind::Interleaved)
    }
}

/// Of [contraction](furiosa_visa_std::guide::contraction).
mod two_flits {
    use furiosa_visa_std::prelude::*;

    axes![M = 32, N = 8, K = 16, L = 2, O = 2];
    fn align<'l, const T: Tu>(
        input: CollectTensor<'l, { T }, bf16, m![1], m![1], m![1], m![M, O, L], m![K]>,
        trf: &TrfTensor<bf16, m![1], m![1], m![1], m![N], m![O, K]>,
    ) -> AlignedPair<'l, { T }, bf16, m![1], m![1], m![1], m![N], m![M, O], m![L, K]> {
        input.align::<m![M, O], m![L, K], _, _>(trf)
    }
}

/// Of [contraction](furiosa_visa_std::guide::contraction).
mod one_flit {
    use furiosa_visa_std::prelude::*;

    axes![M = 32, N = 8, K = 16];
    fn align<'l, const T: Tu>(
        input: CollectTensor<'l, { T }, bf16, m![1], m![1], m![1], m![M], m![K]>,
        trf: &TrfTensor<bf16, m![1], m![1], m![1], m![N], m![K]>,
    ) -> AlignedPair<'l, { T }, bf16, m![1], m![1], m![1], m![N], m![M], m![K # 32]> {
        input.align::<m![M], m![K # 32], _, _>(trf)
    }
}

/// Of [contraction](furiosa_visa_std::guide::contraction).
mod time_broadcast {
    use furiosa_visa_std::prelude::*;

    axes![M = 32, N = 8, K = 16, T = 5];
    fn align<'l, const T: Tu>(
        input: CollectTensor<'l, { T }, bf16, m![1], m![1], m![1], m![M], m![K]>,
        trf: &TrfTensor<bf16, m![1], m![1], m![1], m![N], m![T, K]>,
    ) -> AlignedPair<'l, { T }, bf16, m![1], m![1], m![1], m![N], m![M, T], m![K # 32]> {
        input.align::<m![M, T], m![K # 32], _, _>(trf)
    }
}
