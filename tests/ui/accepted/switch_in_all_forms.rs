//! Every variant, derived and given, in both contexts, with padding, and in a function that is generic over contexts.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 200, T = 8, P = 32, Q = 40, X = 4, Y = 8, Z = 256, U = 3];

type Cluster = m![1 # 2];
type Stream<'l, const C: Tu, Slice, Time> = SwitchTensor<'l, C, i8, m![1], Cluster, Slice, Time, m![P]>;

/// The smallest ring and the largest one.
fn rings<'l, const C: Tu>(
    stream: FetchTensor<'l, C, i8, m![1], Cluster, m![A], m![T], m![P]>,
) -> Stream<'l, C, m![Z], m![T, A]> {
    stream.switch(SwitchConfig::Broadcast1 { slice1: 256, slice0: 1 })
}

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, T, P]>, y: &HbmTensor<i8, m![1], m![B, Q]>) {
    let dm = x.to_dm::<Cluster, m![A], m![T, P]>(&mut ctx.tdma, 0);
    macro_rules! fetched {
        ($context:expr) => {
            $context.begin(dm.view()).fetch::<i8, m![T], m![P]>()
        };
    }
    // Forwarding is a ring of one slice.
    let _ = fetched!(ctx.main).switch_to::<m![A], m![T]>().collect::<m![T], m![P]>().commit::<m![T, P]>(4096);
    let _ = (fetched!(ctx.sub).switch::<m![A / 2, A % 2], m![T]>(SwitchConfig::Forwarding))
        .collect::<m![T], m![P]>()
        .commit::<m![T, P]>(4096);
    let _ = rings(fetched!(ctx.main)).collect::<m![T, A], m![P]>().commit::<m![T, A, P]>(4096);
    let _ = fetched!(ctx.sub)
        .switch::<m![A / 16, T / 2 % 2, A % 8], m![T / 4, T % 2, A / 8 % 2]>(SwitchConfig::InterTranspose {
            slice1: 2,
            slice0: 8,
            time0: 2,
        })
        .collect::<m![T / 4, T % 2, A / 8 % 2], m![P]>()
        .commit::<m![T / 4, T % 2, A / 8 % 2, P]>(4096);
    // Copies at padding, all of it or some, and a digit that is cut.
    let _ = fetched!(ctx.main)
        .switch_to::<m![A / 4, 1 # 4], m![T, A % 4]>()
        .collect::<m![T, A % 4], m![P]>()
        .commit::<m![T, A % 4, P]>(4096);
    let _ = fetched!(ctx.main)
        .switch_to::<m![A / 4, U # 4], m![T, A % 4]>()
        .collect::<m![T, A % 4], m![P]>()
        .commit::<m![T, A % 4, P]>(4096);
    let _ = fetched!(ctx.main)
        .switch_to::<m![A / 4, X], m![T, A % 4 = 3]>()
        .collect::<m![T, A % 4 = 3], m![P]>()
        .commit::<m![T, A % 4 = 3, P]>(4096);
    // Slices of padding, and packets of two flits.
    let dm = y.to_dm::<Cluster, m![B # 256], m![Q]>(&mut ctx.tdma, 8192);
    let _ = (ctx.main.begin(dm.view()).fetch::<i8, m![1], m![Q]>())
        .switch_to::<m![B # 256 % 8, B # 256 / 8], m![1]>()
        .collect::<m![Q # 64 / 32], m![Q # 64 % 32]>()
        .commit::<m![Q # 64]>(16384);
}

fn main() {
    let mut ctx = Context::acquire();
    let x = HostTensor::<i8, m![A, T, P]>::zero();
    let y = HostTensor::<i8, m![B, Q]>::zero();
    let (x, y) = (pollster::block_on(x.to_hbm(&mut ctx.pdma, 0)), pollster::block_on(y.to_hbm(&mut ctx.pdma, 1 << 20)));
    pollster::block_on(launch(kernel, (&mut *ctx, &x, &y)));
}
