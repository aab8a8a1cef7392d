// The kernels of `../qkv_projection.rs`, which includes them once for each size: axes and numbers are those of the module
// around them.

mod plain {
    use super::*;

    axes![C = 2, G = 16, F = 2, S = 8, E = 16];
    type Cluster = m![1 # 2];
    type Slice = m![C, G, S];
    pub type Weights = m![C, G, F, S, E, K];
    parts!();

    #[device(chip = 1)]
    pub fn qkv(ctx: &mut Context, w: &HbmTensor<bf16, m![1], Weights>, x: &X, gamma: &X, table: &Table) -> Y {
        let x = normed(ctx, x, gamma);
        let x: X = x.to_hbm(&mut ctx.tdma);
        let x: DmTensor<bf16, m![1], Cluster, Slice, m![K]> = x.to_dm(&mut ctx.tdma);
        let x: Token =
            ctx.sub.begin(x.view()).fetch::<m![1], m![K]>().collect::<m![K / 16], m![K % 16]>().to_trf();
        let w: DmTensor<bf16, m![1], Cluster, Slice, m![F, E, K]> = w.to_dm(&mut ctx.tdma);
        let mut sums: Sums = DmTensor::new();
        multiply!(ctx, w, x, sums.view_mut(), m![E]);
        rotated(ctx, &sums, table).to_hbm(&mut ctx.tdma)
    }
}

mod tuned {
    use super::*;

    axes![C = 2, G = 16, F = 2, S = 16, E = 8];
    type Cluster = m![C];
    type Slice = m![G, S];
    /// All slices read rows side by side: an open row of a bank of HBM serves many of them.
    pub type Weights = m![F, E, C, G, S, K];
    parts!();

    #[device(chip = 1)]
    pub fn qkv(ctx: &mut Context, w: &HbmTensor<bf16, m![1], Weights>, x: &X, gamma: &X, table: &Table) -> Y {
        let x = normed(ctx, x, gamma);
        // The second tile is short: its products are all that follows the last byte.
        let first: DmTensor<bf16, m![1], Cluster, Slice, m![F, E = 7, K]> =
            w.view().tile::<m![E], 7, m![F, E = 7 # 8, C, G, S, K]>(0).to_dm(&mut ctx.tdma);
        let last: DmTensor<bf16, m![1], Cluster, Slice, m![F, E = 1, K]> =
            w.view().tile::<m![E], 1, m![F, E = 1 # 8, C, G, S, K]>(7).to_dm(&mut ctx.tdma);
        let x: DmTensor<bf16, m![1], Cluster, Slice, m![K / 16 # 256, K % 16]> = ctx
            .main
            .begin(x.view())
            .fetch::<m![1], m![K % 16]>()
            .switch::<Slice, m![K / 16 # 256]>(SwitchConfig::Broadcast1 { slice1: 256, slice0: 1 })
            .collect::<m![K / 16 # 256], m![K % 16]>()
            .commit_trim::<m![K % 16]>()
            .commit();
        let x: Token =
            ctx.sub.begin(x.view()).fetch::<m![1], m![K]>().collect::<m![K / 16], m![K % 16]>().to_trf();
        let mut sums: Sums = DmTensor::new();
        multiply!(ctx, first, x, sums.view_mut().tile::<m![E], 7, m![F, E = 7 #{!} 8, 1 # 2]>(0), m![E = 7]);
        multiply!(ctx, last, x, sums.view_mut().tile::<m![E], 1, m![F, E = 1 #{!} 8, 1 # 2]>(7), m![E = 1]);
        let y = rotated(ctx, &sums, table);
        // A head in one slice: 512 bytes side by side.
        let y: DmTensor<bf16, m![1], Cluster, m![G, 1 # 16], m![F, S, E]> = ctx
            .main
            .begin(y.view())
            .fetch::<m![F], m![E]>()
            .switch::<m![G, 1 # 16], m![F, S]>(SwitchConfig::TransposedBroadcast1 { slice1: 1, slice0: 16 })
            .collect::<m![F, S], m![E # 16]>()
            .commit_trim::<m![E]>()
            .commit();
        y.to_hbm(&mut ctx.tdma)
    }
}

/// Runs both and compares them with the host.
pub fn run() {
    let mut random = Random::seeded(36);
    let k = K::SIZE;
    let w = random.numbers(8192 * k, 0.05);
    let x = random.numbers(k, 3.0);
    let gamma: Vec<bf16> = (0..k).map(|_| bf16::from_f32(1.0 + random.within(0.2) as f32)).collect();
    // The angles of the token at place 1000. Values are turned by none.
    let angle = |head: usize, place: usize| match head {
        ..24 => 1000.0 * 10_000f64.powf(-(place as f64) / 128.0),
        _ => 0.0,
    };
    let reference = {
        let (x, gamma) = (exact(&x), exact(&gamma));
        let mean = x.iter().map(|x| x * x).sum::<f64>() / k as f64;
        let root = (mean + f64::from(EPSILON)).sqrt();
        let normed: Vec<f64> = x.iter().zip(gamma).map(|(x, gamma)| x * gamma / root).collect();
        let mut y = product(&w, &normed);
        for (head, y) in y.chunks_exact_mut(256).enumerate() {
            let (low, high) = y.split_at_mut(128);
            for (place, (low, high)) in low.iter_mut().zip(high).enumerate() {
                let (sin, cos) = angle(head, place).sin_cos();
                (*low, *high) = (*low * cos - *high * sin, *low * sin + *high * cos);
            }
        }
        y
    };
    let work = Work { bytes: 2 * 8192 * k, products: 8192 * k, per_lane: 32 };
    work.print();
    macro_rules! cycles {
        ($kernel:ident) => {{
            use $kernel::{Angles, E, Heads, S, Weights};
            let mut table = Vec::with_capacity(2 * 32 * 128);
            for block in 0..32 * S::SIZE {
                for function in [f64::cos, f64::sin] {
                    let place = |e: usize| block % S::SIZE * E::SIZE + e;
                    table.extend((0..E::SIZE).map(|e| function(angle(block / S::SIZE, place(e))) as f32));
                }
            }
            let mut ctx = Context::acquire().bind($kernel::qkv.device());
            pollster::block_on(async {
                let w = HostTensor::<bf16, m![{ Heads }, K]>::from_vec(w.iter().copied());
                let w = w.to_hbm::<m![1], Weights>(&mut ctx.pdma).await;
                let token = HostTensor::<bf16, m![K]>::from_vec(x.iter().copied());
                let token = token.to_hbm::<m![1], m![K]>(&mut ctx.pdma).await;
                let scale = HostTensor::<bf16, m![K]>::from_vec(gamma.iter().copied());
                let scale = scale.to_hbm::<m![1], m![K]>(&mut ctx.pdma).await;
                let table = HostTensor::<f32, Angles>::from_vec(table);
                let table = table.to_hbm::<m![1], Angles>(&mut ctx.pdma).await;
                let start = Instant::now();
                let y = launch($kernel::qkv, (&mut *ctx, &w, &token, &scale, &table)).await;
                let cycles = report(stringify!($kernel), &mut ctx, &work, start);
                // The normed token and the results are rounded to `bf16`, by half of 2⁻⁸ of them; the largest result
                // is less than 5 times the root mean square.
                compare(stringify!($kernel), &y.into_vec(), &reference, 0.03);
                cycles
            })
        }};
    }
    twice(cycles!(plain), cycles!(tuned));
}
