//! A commit over its own source: refused where a packet is written before it was fetched, allowed where it follows.

use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use pollster::block_on;

axes![A = 256, T = 4, P = 32];
type Slice = m![A];
type X = HbmTensor<i8, m![1], m![A, T, P]>;

macro_rules! kernel {
    ($name:ident, $from:literal, $to:literal, $element:ty) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X) -> HbmTensor<i8, m![1], m![A, T, P]> {
            let x = x.to_dm::<m![1 # 2], Slice, m![T, P]>(&mut ctx.tdma, $from);
            let y = (ctx.main.begin(x.view()))
                .fetch::<i8, m![T], m![P]>()
                .collect::<m![T], m![P]>()
                .commit::<$element>($to);
            y.to_hbm(&mut ctx.tdma, 1 << 20)
        }
    };
}

/// Slices trade packets, 16 by 16.
macro_rules! trade {
    ($name:ident, $to:literal) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X) -> HbmTensor<i8, m![1], m![A, T, P]> {
            let x = x.to_dm::<m![1 # 2], Slice, m![T, P]>(&mut ctx.tdma, 128);
            let y = (ctx.main.begin(x.view()))
                .fetch::<i8, m![T], m![P]>()
                .switch::<m![A % 16, A / 16], m![T]>(SwitchConfig::Transpose { slice1: 16, slice0: 16 })
                .collect::<m![T], m![P]>()
                .commit::<m![T, P]>($to);
            y.to_hbm(&mut ctx.tdma, 1 << 20)
        }
    };
}

trade!(traded_in_place, 128);
trade!(traded_beside, 256);
kernel!(in_place, 128, 128, m![T, P]);
kernel!(downwards, 128, 96, m![T, P]);
kernel!(upwards, 128, 160, m![T, P]);
kernel!(beside, 128, 256, m![T, P]);
kernel!(reordered_in_place, 128, 128, m![T % 2, T / 2, P]);

fn run<K>(kernel: K) -> Result<Vec<Opt<i8>>, Fault>
where
    K: for<'a, 'b> DeviceFn<(&'a mut Context, &'b X), Output = X>,
{
    block_on(async {
        let mut ctx = Context::acquire();
        let values: Vec<_> = (0..256 * 128).map(|k| Opt::Init((k % 127) as i8)).collect();
        let x = HostTensor::<i8, m![A, T, P]>::from_buf(values.clone());
        let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
        let y = try_launch(kernel, (&mut *ctx, &x)).await?;
        let y = y.to_host::<m![A, T, P]>(&mut ctx.pdma).await.to_buf();
        assert_eq!(y, values);
        Ok(y)
    })
}

#[test]
fn packets_that_were_fetched_may_be_overwritten() {
    run(in_place).expect("each packet is written where it was fetched");
    run(downwards).expect("each packet is written before its place");
    run(beside).expect("the destination begins where the source ends");
}

#[test]
fn packets_still_to_be_fetched_may_not() {
    let fault = run(upwards).expect_err("packet 1 is overwritten by step 0");
    assert_eq!(fault.kind, FaultKind::Overwrite);
    let text = fault.to_string();
    assert!(
        text.contains("time step 0 writes byte 160 of each slice, which packet 1 of the same stream"),
        "{text}"
    );
    assert!(text.contains("overwrite.rs"), "{text}");
    // Step 1 goes to the place of packet 2.
    let text = run(reordered_in_place).expect_err("packet 2 is overwritten").to_string();
    assert!(text.contains("time step 1 writes byte 192"), "{text}");
}

/// Of a slice that gets packets of others, the message does not read as if its own were meant.
#[test]
fn packets_that_were_not_sent_may_not_be_overwritten() {
    run(traded_beside).expect("nothing is overwritten");
    let fault = run(traded_in_place).expect_err("a slice may get a packet before it has sent its own");
    assert_eq!(fault.kind, FaultKind::Overwrite);
    let text = fault.to_string();
    let message = "time step 0 writes byte 128 of each slice, which is of its own packet 0, and a slice may get the packet \
                   of another one before it has sent its own, as a router holds one packet: the source takes 128..256";
    assert!(text.contains(message) && !text.contains("still has to fetch"), "{text}");
}
