//! Rows of 8 bytes, and of one step; 8, 16 and 32 columns; padding trimmed and kept; rows of several axes and of parts of
//! axes; rows of what was cast. Each tensor comes back as it was, read in the order of the transpose.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8, C = 4, D = 2, T = 3, E = 16, P = 5];

type Hbm<X, Element> = HbmTensor<X, m![1], Element>;
type Dm<X, Element> = DmTensor<X, m![1], m![1 # 2], m![1 # 256], Element>;

/// Reads, transposes and writes. The mappings: stream, flit, stream and flit after the transpose, result.
fn pass<X: Scalar, In: M, Time: M, Packet: M, Flit: M, Time2: M, Packet2: M, Out: M>(
    ctx: &mut Context,
    x: &Dm<X, In>,
) -> Dm<X, Out>
where
    X: furiosa_visa_std::scalar::FetchCast<X>,
{
    let flits = ctx.main.begin(x.view()).fetch::<X, Time, Packet>().collect::<Time, Flit>();
    flits.transpose::<Time2, Packet2>().commit::<Out>(65536)
}

macro_rules! kernels {
    ($($name:ident: $type:ty, $host:ty, $in:ty, $time:ty, $packet:ty, $flit:ty => $time2:ty, $packet2:ty, $out:ty;)*) => {
        $(
            #[device(chip = 1)]
            fn $name(ctx: &mut Context, x: &Hbm<$type, $host>) -> Hbm<$type, $out> {
                let x = x.to_dm::<m![1 # 2], m![1 # 256], $in>(&mut ctx.tdma, 0);
                let y = pass::<$type, $in, $time, $packet, $flit, $time2, $packet2, $out>(ctx, &x);
                y.to_hbm(&mut ctx.tdma, 1 << 20)
            }
        )*

        async fn all(ctx: &mut Context) {
            $({
                // Small codes: every float is a number.
                let code = |k: usize| <$type as Scalar>::from_bits((k as u32 % 1000 + 1) & 0x7f);
                let size = HostTensor::<$type, $host>::zero().to_buf().len();
                let values: Vec<_> = (0..size).map(|k| Opt::Init(code(k))).collect();
                let x = HostTensor::<$type, $host>::from_buf(values.clone());
                let x = x.to_hbm::<m![1], $host>(&mut ctx.pdma, 0).await;
                let y = launch($name, (&mut *ctx, &x)).await;
                assert_eq!(y.to_host::<$host>(&mut ctx.pdma).await.to_buf(), values, stringify!($name));
            })*
        }
    };
}

kernels! {
    eight_columns: i8, m![T, A, B], m![T, A, B],
        m![T, A], m![B], m![B # 32] => m![T, B], m![A # 32], m![T, B, A];
    thirty_two_columns: i8, m![T, A, C, B], m![T, A, C, B],
        m![T, A, C], m![B], m![B # 32] => m![T, C, B], m![A # 32], m![T, C, B, A];
    padding_trimmed: bf16, m![C, D, P # 8], m![C, D, P # 8],
        m![C, D], m![P # 8], m![P # 16] => m![D, P], m![C # 16], m![D, P, C];
    padding_kept: bf16, m![C, D, P # 8], m![C, D, P # 8],
        m![C, D], m![P # 8], m![P # 16] => m![D, P # 8], m![C # 16], m![D, P # 8, C];
    words: f32, m![T, D, B], m![T, D, B],
        m![T, D], m![B], m![B] => m![T, B], m![D # 8], m![B, T, D];
    nibbles: i4, m![E, A, D], m![E, A, D],
        m![E], m![A, D], m![[A, D] # 64] => m![A, D], m![E # 64], m![A, D, E];
    one_row: i8, m![T, B], m![T, B],
        m![T], m![B], m![B # 32] => m![T, B], m![1 # 32], m![T, B, 1 # 8];
    rows_of_two_axes: i8, m![T, C, D, B], m![T, C, D, B],
        m![T, C, D], m![B], m![B # 32] => m![T, B], m![[C, D] # 32], m![T, B, C, D];
    rows_of_a_part: i8, m![E, B], m![E, B],
        m![E], m![B], m![B # 32] => m![E / 8, B], m![E % 8 # 32], m![E / 8, B, E % 8];
    packets_of_a_part: i8, m![E, B], m![E, B],
        m![E], m![B], m![B # 32] => m![E % 4, B], m![E / 4 # 32], m![E % 4, B, E / 4 # 8];
}

/// As `i32` two rows are a flit, as `i8` eight.
#[device(chip = 1)]
fn cast(ctx: &mut Context, x: &Hbm<i8, m![T, A, B]>) -> Hbm<i8, m![T, B, A]> {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![T, A, B]>(&mut ctx.tdma, 0);
    let flits = ctx.main.begin(x.view()).fetch::<i32, m![T, A], m![B]>().collect::<m![T, A], m![B]>();
    let y = flits.cast::<i8, m![B # 32]>().transpose::<m![T, B], m![A # 32]>().commit::<m![T, B, A]>(65536);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        all(&mut ctx).await;
        let values: Vec<_> = (0..192).map(|k| Opt::Init((k % 251) as u8 as i8)).collect();
        let x = HostTensor::<i8, m![T, A, B]>::from_buf(values.clone());
        let x = x.to_hbm::<m![1], m![T, A, B]>(&mut ctx.pdma, 0).await;
        let y = launch(cast, (&mut *ctx, &x)).await;
        assert_eq!(y.to_host::<m![T, A, B]>(&mut ctx.pdma).await.to_buf(), values);
    });
}
