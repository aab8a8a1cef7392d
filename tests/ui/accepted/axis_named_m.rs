//! An axis may have the name of the trait `M`; generic code elsewhere names the trait.

use furiosa_visa_std::prelude::*;

mod sizes {
    use furiosa_visa_std::prelude::*;

    /// Twice the positions of a mapping.
    pub fn twice<T: M>() -> usize {
        <m![{ T }, 1 # 2]>::SIZE
    }
}

axes![M = 8, N = 4];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, M]>) -> HbmTensor<i8, m![1], m![N, M]> {
    x.to_dm::<m![1 # 2], m![N # 256], m![M]>(&mut ctx.tdma, 0).to_hbm(&mut ctx.tdma, 4096)
}

fn main() {
    assert_eq!(sizes::twice::<m![N, M]>(), 64);
    // The items of the trait stay in scope.
    assert_eq!(<m![M / 2]>::SIZE, 4);
    let x = HostTensor::<i8, m![N, M]>::from_buf((0..32).map(Opt::Init).collect());
    let y = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = x.to_hbm::<m![1], m![N, M]>(&mut ctx.pdma, 0).await;
        let y = launch(kernel, (&mut ctx, &x)).await;
        y.to_host::<m![N, M]>(&mut ctx.pdma).await
    });
    assert_eq!(x.to_buf(), y.to_buf());
}
