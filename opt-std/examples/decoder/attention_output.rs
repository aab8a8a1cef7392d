// The kernels of `../attention_output.rs`, which includes them once for each size: axes and numbers are those of the module
// around them.

/// The token.
pub(crate) type X = HbmTensor<bf16, m![1], m![I]>;

/// Weights go to the register file, and the token is the stream.
mod plain {
    use super::*;

    pub type Outputs = m![O];
    type W = HbmTensor<bf16, m![1], Weights>;
    pub type Weights = m![O, I];
    type Y = HbmTensor<bf16, m![1], m![O]>;
    type Cluster = m![1 # 2];
    type Slice = m![O / { OWN }, I / { PART }];
    /// One of 16 slices has the sums.
    type Sums = m![O / { OWN }, 1 # 16];
    type Group = m![O / 8 % { GROUPS }];

    #[device(chip = 1)]
    pub fn attention_output(ctx: &mut Context, w: &W, x: &X, residual: &Y) -> Y {
        let x: DmTensor<bf16, m![1], Cluster, Slice, m![I % { PART }]> = x.to_dm(&mut ctx.tdma);
        let residual: DmTensor<bf16, m![1], Cluster, Sums, m![O % { OWN }]> = residual.to_dm(&mut ctx.tdma);
        let mut y: DmTensor<bf16, m![1], Cluster, Sums, m![O % { OWN }]> = DmTensor::new();
        for turn in 0..TURNS {
            let w = w
                .view()
                .tile::<m![O / { TILE } % { TURNS }], 1, m![O / { OWN }, 1 # { TURNS }, O % { TILE }, I]>(
                    turn,
                );
            let w: DmTensor<bf16, m![1], Cluster, Slice, m![O % { TILE }, I % { PART }]> =
                w.to_dm(&mut ctx.tdma);
            let w: TrfTensor<bf16, m![1], Cluster, Slice, m![O % 8], m![{ Group }, I % { PART }]> = ctx
                .sub
                .begin(w.view())
                .fetch::<m![O % 8, { Group }], m![I % { PART }]>()
                .collect::<m![O % 8, { Group }, I / 16 % { FLITS }], m![I % 16]>()
                .to_trf();
            let residual = residual
                .view()
                .tile::<m![O / { TILE } % { TURNS }], 1, m![1 # { TURNS }, O % { TILE }]>(turn);
            let residual: VrfTensor<f32, m![1], Cluster, Sums, m![O % { TILE }]> = ctx
                .sub
                .begin(residual)
                .fetch::<Group, m![O % 8]>()
                .fetch_cast::<f32>()
                .collect::<Group, m![O % 8]>()
                .to_vrf();
            let y = y
                .view_mut()
                .tile::<m![O / { TILE } % { TURNS }], 1, m![1 #{!} { TURNS }, O % { TILE }]>(turn);
            ctx.main
                .begin(x.view())
                .fetch::<m![1], m![I % { PART }]>()
                .collect::<m![I / 16 % { FLITS }], m![I % 16]>()
                .contract_outer::<m![I / 32 % { PAIRS }, { Group }], m![I % 32], _, _, _>(&w)
                .contract_packet::<m![1]>()
                .contract_time::<Group>()
                .contract_lane::<Group, m![O % 8]>(LaneMode::Interleaved)
                .vector_init()
                .vector_inter_slice_reduce::<Sums, Group>(InterSliceReduceOpF32::Add)
                .vector_intra_slice_tag(TagMode::Zero)
                .vector_clip(ClipBinaryOpF32::Add, &residual)
                .vector_final()
                .cast::<bf16, m![O % 8 # 16]>()
                .commit_trim::<m![O % 8]>()
                .commit_view(y);
        }
        y.to_hbm(&mut ctx.tdma)
    }
}

pub(crate) mod tuned {
    use super::*;

    // Outputs in clusters, groups of 16 slices, and rows. 15 groups have whole units of 256 bytes to store. Copies of
    // the token for groups need an axis that nothing else has.
    pub type Outputs = m![C, R, Q];
    type W = HbmTensor<bf16, m![1], Weights>;
    /// All slices read rows side by side: an open row of a bank of HBM serves many of them.
    pub type Weights = m![Q, C, R, I];
    type Y = HbmTensor<bf16, m![1], Outputs>;
    type Cluster = m![C];
    type Slice = m![R # 16, I / { PART }];
    /// One of 16 slices has the sums.
    type Sums = m![R # 16, 1 # 16];
    type Eights = m![Q / 8];
    type Token = TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![I % { PART }]>;

    /// A sum in every 8 bytes.
    type Packets = DmTensor<f32, m![1], Cluster, Sums, m![Q, 1 # 2]>;
    /// `COUNT` rows of the weights.
    type Tile<const COUNT: usize> = DmTensor<bf16, m![1], Cluster, Slice, m![Q = { COUNT }, I % { PART }]>;

    /// Brings rows of the weights, from `start` on.
    fn load<const COUNT: usize>(ctx: &mut Context, w: &W, start: usize) -> Tile<COUNT> {
        w.view().tile::<m![Q], COUNT, m![Q = { COUNT } # { ROWS }, C, R, I]>(start).to_dm(&mut ctx.tdma)
    }

    /// Multiplies them, and adds the parts of 16 slices.
    fn multiply<const COUNT: usize>(
        ctx: &mut Context,
        w: &Tile<COUNT>,
        x: &Token,
        sums: &mut Packets,
        start: usize,
    ) {
        let sums = sums.view_mut().tile::<m![Q], COUNT, m![Q = { COUNT } #{!} { ROWS }, 1 # 2]>(start);
        ctx.main
            .begin(w.view())
            .fetch::<m![Q = { COUNT }], m![I % { PART }]>()
            .collect::<m![Q = { COUNT }, I / 16 % { FLITS }], m![I % 16]>()
            .contract_outer::<m![Q = { COUNT }, I / 32 % { PAIRS }], m![I % 32], _, _, _>(x)
            .contract_packet::<m![1]>()
            .contract_time::<m![Q = { COUNT }]>()
            .contract_lane::<m![Q = { COUNT }], m![1 # 8]>(LaneMode::Interleaved)
            .vector_init()
            .vector_inter_slice_reduce::<Sums, m![Q = { COUNT }]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit_trim::<m![1 # 2]>()
            .commit_view(sums);
    }

    #[device(chip = 1)]
    pub fn attention_output(ctx: &mut Context, w: &W, x: &X, residual: &Y) -> Y {
        let x: DmTensor<bf16, m![1], Cluster, m![I / 16 % { FLITS } # 16, I / { PART }], m![I % 16]> =
            x.to_dm(&mut ctx.tdma);
        // The second tile is short: its products are all that follows the last byte.
        let first = load::<FIRST>(ctx, w, 0);
        let last = load::<LAST>(ctx, w, FIRST);
        let residual: DmTensor<bf16, m![1], Cluster, Sums, m![Q]> = residual.to_dm(&mut ctx.tdma);
        let x: DmTensor<bf16, m![1], Cluster, Slice, m![I / 16 % { FLITS } # 16, I % 16]> = ctx
            .main
            .begin(x.view())
            .fetch::<m![1], m![I % 16]>()
            .switch::<Slice, m![I / 16 % { FLITS } # 16]>(SwitchConfig::Broadcast1 { slice1: 16, slice0: 16 })
            .collect::<m![I / 16 % { FLITS } # 16], m![I % 16]>()
            .commit_trim::<m![I % 16]>()
            .commit();
        let x: Token = ctx
            .sub
            .begin(x.view())
            .fetch::<m![1], m![I % { PART }]>()
            .collect::<m![I / 16 % { FLITS }], m![I % 16]>()
            .to_trf();
        let residual: VrfTensor<f32, m![1], Cluster, Sums, m![Q]> = ctx
            .sub
            .begin(residual.view())
            .fetch::<Eights, m![Q % 8]>()
            .fetch_cast::<f32>()
            .collect::<Eights, m![Q % 8]>()
            .to_vrf();
        let mut sums: Packets = DmTensor::new();
        multiply(ctx, &first, &x, &mut sums, 0);
        multiply(ctx, &last, &x, &mut sums, FIRST);
        let y: DmTensor<bf16, m![1], Cluster, Sums, m![Q]> = ctx
            .main
            .begin(sums.view())
            .fetch::<Eights, m![Q % 8]>()
            .collect::<Eights, m![Q % 8]>()
            .vector_init()
            .vector_intra_slice_tag(TagMode::Zero)
            .vector_clip(ClipBinaryOpF32::Add, &residual)
            .vector_final()
            .cast::<bf16, m![Q % 8 # 16]>()
            .commit_trim::<m![Q % 8]>()
            .commit();
        y.to_hbm(&mut ctx.tdma)
    }
}

/// Runs both and compares them with the host.
pub fn run() {
    let mut random = Random::seeded(36);
    let (o, i) = (O::SIZE, I::SIZE);
    let (w, x, residual) = (random.numbers(o * i, 0.05), random.numbers(i, 1.0), random.numbers(o, 1.0));
    let reference: Vec<f64> =
        product(&w, &exact(&x)).iter().zip(exact(&residual)).map(|(y, before)| y + before).collect();
    let work = Work { bytes: 2 * o * i, products: o * i, per_lane: 32 };
    work.print();
    macro_rules! cycles {
        ($kernel:ident) => {{
            use $kernel::{Outputs, Weights};
            let mut ctx = Context::acquire().bind($kernel::attention_output.device());
            pollster::block_on(async {
                let hbm = HostTensor::<bf16, m![{ Outputs }, I]>::from_vec(w.iter().copied());
                let hbm = hbm.to_hbm::<m![1], Weights>(&mut ctx.pdma).await;
                let token = HostTensor::<bf16, m![I]>::from_vec(x.iter().copied());
                let token: X = token.to_hbm(&mut ctx.pdma).await;
                let before = HostTensor::<bf16, Outputs>::from_vec(residual.iter().copied());
                let before = before.to_hbm(&mut ctx.pdma).await;
                let start = Instant::now();
                let y = launch($kernel::attention_output, (&mut *ctx, &hbm, &token, &before)).await;
                let cycles = report(stringify!($kernel), &mut ctx, &work, start);
                // A result is rounded to `bf16`, by half of 2⁻⁸ of it, and the largest is less than 5 times the root
                // mean square. Sums in `f32` add little.
                compare(stringify!($kernel), &y.into_vec(), &reference, 0.02);
                cycles
            })
        }};
    }
    twice(cycles!(plain), cycles!(tuned));
}
