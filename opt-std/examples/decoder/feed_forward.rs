// The kernels of `../feed_forward.rs`, which includes them once for each size: axes and numbers are those of the module
// around them.

mod plain {
    use super::*;

    use super::whole::H;

    pub type Gates = m![H];
    pub type Wide = m![H, K];
    pub type WideScales = m![H, K / 16];
    pub type Narrow = m![O, H];
    pub type NarrowScales = m![O, H / 16];
    type Cluster = m![1 # 2];

    matrix!(gate: row H, col K, rows { ROWS }, tile { PLAIN_TILE }, turns { PLAIN_TURNS }, part { PLAIN_PART },
        flits { PLAIN_FLITS }, packets { PLAIN_PACKETS }, ways 2,
        scales [{ Rows }, K / 16 % { PLAIN_BLOCKS }] [{ Rows }, K / 128 % { OCTETS }] [K / 16 % 8]);
    matrix!(down: row O, col H, rows { ROWS }, tile { PLAIN_TILE }, turns { PLAIN_TURNS }, part { PLAIN_PART },
        flits { PLAIN_FLITS }, packets { PLAIN_PACKETS }, ways 8,
        scales [{ Rows }, H / 16 % { PLAIN_BLOCKS }] [{ Rows }, H / 128 % { OCTETS }] [H / 16 % 8]);
    activation!(rows { ROWS }, eights { OCTETS }, quads { QUADS }, bf16, 16);

    /// All rows of a matrix, tile after tile.
    macro_rules! project {
        ($ctx:ident, $matrix:ident, $row:ident, $col:ident, $w:ident, $scales:ident, $x:ident) => {{
            let mut sums: $matrix::Sums = DmTensor::new();
            for turn in 0..PLAIN_TURNS {
                type Turn = m![$row / { PLAIN_TILE } % { PLAIN_TURNS }];
                type Rows = m![$row % { PLAIN_TILE }];
                type Of = m![$row / { ROWS }, 1 # { PLAIN_TURNS }, { Rows }];
                let tile: $matrix::Dm<f4e2m1, m![{ Rows }, $col % { PLAIN_PART }]> =
                    $w.view().tile::<Turn, 1, m![{ Of }, $col]>(turn).to_dm(&mut $ctx.tdma);
                let scales: $matrix::Dm<f8e4m3, m![1 # { PLAIN_TURNS }, { Rows }, $col / 16 % { PLAIN_BLOCKS }]> =
                    $scales.view().tile::<Turn, 1, m![{ Of }, $col / 16]>(turn).to_dm(&mut $ctx.tdma);
                $matrix::multiply($ctx, tile.view(), scales.view(), &$x, &mut sums, turn);
            }
            sums
        }};
    }

    /// Copies of a token for all slices, in `f8`.
    macro_rules! copied {
        ($ctx:ident, $matrix:ident, $col:ident, $x:ident) => {{
            let x: DmTensor<bf16, m![1], Cluster, $matrix::Slice, m![$col % { PLAIN_PART }]> =
                $x.to_dm(&mut $ctx.tdma);
            let x: DmTensor<f8e4m3, m![1], Cluster, $matrix::Slice, m![$col % { PLAIN_PART }]> = $ctx
                .main
                .begin(x.view())
                .fetch::<m![$col / 8 % { PLAIN_EIGHTHS }], m![$col % 8]>()
                .fetch_cast::<f32>()
                .collect::<m![$col / 8 % { PLAIN_EIGHTHS }], m![$col % 8]>()
                .cast::<f8e4m3, m![$col % 8 # 32]>()
                .commit_trim::<m![$col % 8]>()
                .commit();
            let x: $matrix::Token = $ctx
                .sub
                .begin(x.view())
                .fetch::<m![1], m![$col % { PLAIN_PART }]>()
                .collect::<m![$col / 32 % { PLAIN_FLITS }], m![$col % 32]>()
                .to_trf();
            x
        }};
    }

    #[device(chip = 1)]
    pub fn feed_forward(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![K]>,
        gate: &HbmTensor<f4e2m1, m![1], Wide>,
        gate_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
        up: &HbmTensor<f4e2m1, m![1], Wide>,
        up_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
        down: &HbmTensor<f4e2m1, m![1], Narrow>,
        down_scales: &HbmTensor<f8e4m3, m![1], NarrowScales>,
    ) -> HbmTensor<bf16, m![1], m![O]> {
        let x = copied!(ctx, gate, K, x);
        let gate = project!(ctx, gate, H, K, gate, gate_scales, x);
        let gate = packed(ctx, &gate);
        let up = project!(ctx, gate, H, K, up, up_scales, x);
        let up = packed(ctx, &up);
        let h: HbmTensor<bf16, m![1], m![H]> = activation(ctx, &gate, &up).to_hbm(&mut ctx.tdma);
        let h = copied!(ctx, down, H, h);
        let y = project!(ctx, down, O, H, down, down_scales, h);
        let y: DmTensor<bf16, m![1], Cluster, down::First, m![O % { ROWS }]> = ctx
            .main
            .begin(y.view())
            .fetch::<m![O / 8 % { OCTETS }], m![O % 8]>()
            .collect::<m![O / 8 % { OCTETS }], m![O % 8]>()
            .cast::<bf16, m![O % 8 # 16]>()
            .commit_trim::<m![O % 8]>()
            .commit();
        y.to_hbm(&mut ctx.tdma)
    }
}

mod tuned {
    use super::*;

    // The gates of each cluster: copies of the token need an axis in the slices that the clusters do not have.
    use super::halves::{C, H};

    pub type Gates = m![C, H];
    /// All slices read 8 rows side by side: an open row of a bank of HBM serves many of them.
    pub type Wide = m![H / 8 % { OCTETS }, C, H / { ROWS }, K / { PART }, H % 8, K % { PART }];
    /// A slice reads the scales of 4 rows from one unit of HBM.
    pub type WideScales =
        m![H / 4 % { QUADS }, C, H / { ROWS }, K / { PART }, [K / 64 % { PACKETS }, H % 4, K / 16 % 4] # 256];
    pub type Narrow = m![O / 8 % { OCTETS }, C, O / { ROWS }, H / { PART }, O % 8, H % { PART }];
    pub type NarrowScales =
        m![O / 4 % { QUADS }, C, O / { ROWS }, H / { PART }, [H / 64 % { PACKETS }, O % 4, H / 16 % 4] # 256];
    type Cluster = m![C];

    matrix!(gate: row H, col K, rows { ROWS }, tile { TILE }, turns { TURNS }, part { PART },
        flits { FLITS }, packets { PACKETS }, ways 4,
        scales [H / 4 % { FOURS }, K / 64 % { PACKETS }, H % 4, K / 16 % 4]
            [H / 4 % { FOURS }, K / 64 % { PACKETS }, H / 2 % 2] [H % 2, K / 16 % 4]);
    matrix!(down: row O, col H, rows { ROWS }, tile { TILE }, turns { TURNS }, part { PART },
        flits { FLITS }, packets { PACKETS }, ways 8,
        scales [O / 4 % { FOURS }, H / 64 % { PACKETS }, O % 4, H / 16 % 4]
            [O / 4 % { FOURS }, H / 64 % { PACKETS }, O / 2 % 2] [O % 2, H / 16 % 4]);
    activation!(rows { ROWS }, eights { OCTETS }, quads { QUADS }, f8e4m3, 32);

    /// Brings the scales of a matrix.
    macro_rules! load_scales {
        ($ctx:ident, $matrix:ident, $row:ident, $col:ident, $scales:ident) => {{
            type Four = m![$col / 64 % { PACKETS }, $row % 4, $col / 16 % 4];
            let scales: $matrix::Dm<f8e4m3, m![$row / 4 % { QUADS }, { Four }]> =
                $scales.to_dm(&mut $ctx.tdma);
            scales
        }};
    }

    /// The products of a tile of `$w`, which has so many `$tiles`, from `$start` on.
    macro_rules! project {
        (
            $ctx:ident, $matrix:ident, $row:ident, $col:ident,
            $w:ident has $tiles:tt from $start:expr, $scales:ident, $x:ident into $sums:ident
        ) => {
            let tiles = $tiles;
            for own in 0..tiles {
                type Own = m![$row / { TILE } % { TURNS } = $tiles];
                type Four = m![$col / 64 % { PACKETS }, $row % 4, $col / 16 % 4];
                type Scales = m![1 # { TURNS }, $row / 4 % { FOURS }, { Four }];
                let tile = $w.view().tile::<Own, 1, m![1 # $tiles, $row % { TILE }, $col % { PART }]>(own);
                let scales = $scales.view().tile::<m![$row / { TILE } % { TURNS }], 1, Scales>($start + own);
                $matrix::multiply($ctx, tile, scales, &$x, &mut $sums, $start + own);
            }
        };
    }

    /// A matrix of which a slice has all rows, with its scales.
    type Whole = DmTensor<f4e2m1, m![1], Cluster, gate::Slice, m![H % { ROWS }, K % { PART }]>;
    /// Some tiles of `down`.
    macro_rules! load_down {
        ($ctx:ident, $w:ident, $tiles:tt from $start:expr) => {{
            type Turns = m![O / { TILE } % { TURNS } = $tiles];
            type Of = m![{ Turns } # { TURNS }, O / 8 % { EACH }, C, O / { ROWS }, H / { PART }, O % 8, H % { PART }];
            let tiles: down::Dm<f4e2m1, m![{ Turns }, O % { TILE }, H % { PART }]> =
                $w.view().tile::<m![O / { TILE } % { TURNS }], $tiles, Of>($start).to_dm(&mut $ctx.tdma);
            tiles
        }};
    }

    #[device(chip = 1)]
    pub fn feed_forward(
        ctx: &mut Context,
        x: &HbmTensor<bf16, m![1], m![K]>,
        gate: &HbmTensor<f4e2m1, m![1], Wide>,
        gate_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
        up: &HbmTensor<f4e2m1, m![1], Wide>,
        up_scales: &HbmTensor<f8e4m3, m![1], WideScales>,
        down: &HbmTensor<f4e2m1, m![1], Narrow>,
        down_scales: &HbmTensor<f8e4m3, m![1], NarrowScales>,
    ) -> HbmTensor<bf16, m![1], m![O]> {
        type Spread = m![K / 32 % { FLITS } # 64, K / { PART }];
        let x: DmTensor<bf16, m![1], Cluster, Spread, m![K % 32]> = x.to_dm(&mut ctx.tdma);
        // All loads are given first, and none waits for a pass. Those of `down` get short: what follows the last
        // byte is one tile.
        let gate_scales = load_scales!(ctx, gate, H, K, gate_scales);
        let gate_tiles: Whole = gate.to_dm(&mut ctx.tdma);
        let up_scales = load_scales!(ctx, gate, H, K, up_scales);
        let up_tiles: Whole = up.to_dm(&mut ctx.tdma);
        let down_scales = load_scales!(ctx, down, O, H, down_scales);
        let front = load_down!(ctx, down, { FRONT } from 0);
        let middle = load_down!(ctx, down, 1 from FRONT);
        let back = load_down!(ctx, down, 1 from FRONT + 1);
        let x: DmTensor<f8e4m3, m![1], Cluster, Spread, m![K % 32]> = ctx
            .main
            .begin(x.view())
            .fetch::<m![K / 8 % 4], m![K % 8]>()
            .fetch_cast::<f32>()
            .collect::<m![K / 8 % 4], m![K % 8]>()
            .cast::<f8e4m3, m![K % 8 # 32]>()
            .commit_trim::<m![K % 8]>()
            .commit();
        let x: DmTensor<f8e4m3, m![1], Cluster, gate::Slice, m![K / 32 % { FLITS } # 64, K % 32]> = ctx
            .main
            .begin(x.view())
            .fetch::<m![1], m![K % 32]>()
            .switch::<gate::Slice, m![K / 32 % { FLITS } # 64]>(SwitchConfig::Broadcast1 {
                slice1: 64,
                slice0: 4,
            })
            .collect::<m![K / 32 % { FLITS } # 64], m![K % 32]>()
            .commit_trim::<m![K % 32]>()
            .commit();
        let x: gate::Token = ctx
            .sub
            .begin(x.view())
            .fetch::<m![1], m![K % { PART }]>()
            .collect::<m![K / 32 % { FLITS }], m![K % 32]>()
            .to_trf();
        let mut sums: gate::Sums = DmTensor::new();
        project!(ctx, gate, H, K, gate_tiles has { TURNS } from 0, gate_scales, x into sums);
        let gate = packed(ctx, &sums);
        let mut sums: gate::Sums = DmTensor::new();
        project!(ctx, gate, H, K, up_tiles has { TURNS } from 0, up_scales, x into sums);
        let up = packed(ctx, &sums);
        let h = activation(ctx, &gate, &up);
        // Each of the 32 groups of slices that share rows of `down` gets all gates of the cluster.
        // Packets of 24 bytes lie side by side when they are committed.
        type Steps = m![H / { STEP } % { STEPS }, H / { ROWS } % 8, 1 # 4];
        let h: DmTensor<f8e4m3, m![1], Cluster, down::Slice, m![1 # 4, H % { PART }]> = ctx
            .main
            .begin(h.view())
            .fetch::<m![H / { STEP } % { STEPS }], m![H % { STEP }]>()
            .switch::<down::Slice, Steps>(SwitchConfig::TransposedBroadcast1 { slice1: 8, slice0: 32 })
            .collect::<Steps, m![H % { STEP } # 32]>()
            .commit_trim::<m![H % { STEP }]>()
            .commit();
        let h: down::Token = ctx
            .sub
            .begin(h.view())
            .fetch::<m![1], m![H % { PART }]>()
            .collect::<m![H / 32 % { FLITS }], m![H % 32]>()
            .to_trf();
        let mut y: down::Sums = DmTensor::new();
        project!(ctx, down, O, H, front has { FRONT } from 0, down_scales, h into y);
        project!(ctx, down, O, H, middle has 1 from FRONT, down_scales, h into y);
        project!(ctx, down, O, H, back has 1 from FRONT + 1, down_scales, h into y);
        // Each cluster has the sums of its gates.
        type Eights = m![O / 8 % { OCTETS }];
        let y: DmTensor<f32, m![1], Cluster, down::First, m![O % { ROWS }]> = ctx
            .main
            .begin(y.view())
            .fetch::<Eights, m![O % 8]>()
            .collect::<Eights, m![O % 8]>()
            .commit_trim::<m![O % 8]>()
            .commit();
        let others = y.view().dm_cluster_shuffle::<2>(&mut ctx.tdma, &[1, 0]);
        let others: VrfTensor<f32, m![1], Cluster, down::First, m![O % { ROWS }]> =
            ctx.sub.begin(others.view()).fetch::<Eights, m![O % 8]>().collect::<Eights, m![O % 8]>().to_vrf();
        let y: DmTensor<bf16, m![1], Cluster, down::First, m![O % { ROWS }]> = ctx
            .main
            .begin(y.view())
            .fetch::<Eights, m![O % 8]>()
            .collect::<Eights, m![O % 8]>()
            .vector_init()
            .vector_intra_slice_tag(TagMode::Zero)
            .vector_clip(ClipBinaryOpF32::Add, &others)
            .vector_final()
            .cast::<bf16, m![O % 8 # 16]>()
            .commit_trim::<m![O % 8]>()
            .commit();
        let mut out: HbmTensor<bf16, m![1], m![O]> = HbmTensor::new();
        y.view().cluster_tile::<m![C], 1, m![1 # 2]>(0).to_hbm_view(&mut ctx.tdma, out.view_mut());
        out
    }
}

/// Runs both and compares them with the host.
pub fn run() {
    let mut random = Random::seeded(36);
    let (k, h) = (K::SIZE, plain::Gates::SIZE);
    let x = random.numbers(k, 1.0);
    let matrices: Vec<Matrix> = (0..3).map(|_| Matrix::random(&mut random, h * k)).collect();
    let [gate, up, down] = &matrices[..] else { unreachable!() };
    let gates: Vec<f64> = {
        let x: Vec<f64> = exact(&x).into_iter().map(rounded).collect();
        let (gate, up) = (gate.product(&x), up.product(&x));
        let [b, a] = [GELU.0, GELU.1].map(f64::from);
        let gelu = |x: f64| x / (1.0 + (-x * (a + b * x * x)).exp());
        gate.iter().zip(&up).map(|(gate, up)| gelu(*gate) * up).collect()
    };
    // What the kernel does to the gates on their way to `down` is part of the reference.
    let reference =
        |stored: fn(f64) -> f64| down.product(&gates.iter().copied().map(stored).collect::<Vec<f64>>());
    let work = Work { bytes: 3 * h * k * 9 / 16, products: 3 * h * k, per_lane: 64 };
    work.print();
    macro_rules! cycles {
        ($kernel:ident, $stored:expr) => {{
            use $kernel::{Gates, Narrow, NarrowScales, Wide, WideScales};
            let mut ctx = Context::acquire().bind($kernel::feed_forward.device());
            pollster::block_on(async {
                macro_rules! load {
                    ($values:expr, $d:ty, $from:ty, $to:ty) => {
                        HostTensor::<$d, $from>::from_vec($values.iter().copied())
                            .to_hbm::<m![1], $to>(&mut ctx.pdma)
                            .await
                    };
                }
                let x = load!(x, bf16, m![K], m![K]);
                let gate_codes = load!(gate.codes, f4e2m1, m![{ Gates }, K], Wide);
                let gate_scales = load!(gate.scales, f8e4m3, m![{ Gates }, K / 16], WideScales);
                let up_codes = load!(up.codes, f4e2m1, m![{ Gates }, K], Wide);
                let up_scales = load!(up.scales, f8e4m3, m![{ Gates }, K / 16], WideScales);
                let down_codes = load!(down.codes, f4e2m1, m![O, { Gates }], Narrow);
                let down_scales = load!(down.scales, f8e4m3, m![O, { Gates } / 16], NarrowScales);
                let arguments = (
                    &mut *ctx, &x, &gate_codes, &gate_scales, &up_codes, &up_scales, &down_codes, &down_scales,
                );
                let start = Instant::now();
                let y = launch($kernel::feed_forward, arguments).await;
                let cycles = report(stringify!($kernel), &mut ctx, &work, start);
                // A gate beside the middle of two numbers of `f8` may become the other one, and a result is rounded to
                // `bf16`, by half of 2⁻⁸ of it.
                compare(stringify!($kernel), &y.into_vec(), &reference($stored), 0.02);
                cycles
            })
        }};
    }
    let plain = cycles!(plain, |x| rounded(f64::from(bf16::from_f32(x as f32).to_f32())));
    let tuned = cycles!(tuned, rounded);
    twice(plain, tuned);
}
