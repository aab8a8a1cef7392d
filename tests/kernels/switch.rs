//! The Switch Engine in kernels: every variant, from HBM to HBM, by the positions that its page gives.

use crate::{Cluster, block_on, init, numbers};
use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 32, X = 4, Y = 8, Z = 32];

type Source = HbmTensor<i8, m![1], m![A, T, P]>;

/// One kernel: slices and time before, after, and how.
macro_rules! switched {
    ($name:ident, $slice:ty, $time:ty, |$stream:ident| $switch:expr) => {
        mod $name {
            use super::*;
            type Result = HbmTensor<i8, m![1], m![{ $slice }, { $time }, P]>;

            #[device(chip = 1)]
            fn kernel(ctx: &mut Context, x: &Source) -> Result {
                let x = x.to_dm::<Cluster, m![A], m![T, P]>(&mut ctx.tdma, 0);
                let $stream = ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>();
                let stream: SwitchTensor<_, i8, m![1], Cluster, $slice, $time, m![P]> = $switch;
                let y = stream.collect::<$time, m![P]>().commit::<m![{ $time }, P]>(64 << 10);
                y.to_hbm(&mut ctx.tdma, 1 << 20)
            }

            /// What lies in each slice at each time: slice and time of its packet before.
            pub fn run() -> Vec<Vec<(usize, usize)>> {
                let mut ctx = Context::acquire();
                let values = init(&numbers::<i8>(7, 256 * 8 * 32));
                let host = HostTensor::<i8, m![A, T, P]>::from_buf(values.clone());
                let source: Source = block_on(host.to_hbm(&mut ctx.pdma, 0));
                let result = block_on(launch(kernel, (&mut *ctx, &source)));
                let back: HostTensor<i8, m![{ $slice }, { $time }, P]> =
                    block_on(result.to_host(&mut ctx.pdma));
                // Packets are told by their bytes.
                let places: std::collections::HashMap<_, _> = (values.chunks(32).enumerate())
                    .map(|(k, packet)| (format!("{packet:?}"), (k / 8, k % 8)))
                    .collect();
                assert_eq!(places.len(), 256 * 8, "all packets differ");
                let found = back.to_buf();
                let steps = found.len() / 256 / 32;
                let packets: Vec<_> = found.chunks(32).map(|packet| places[&format!("{packet:?}")]).collect();
                packets.chunks(steps).map(<[_]>::to_vec).collect()
            }
        }
    };
}

switched!(broadcast01, m![A / 8, Y], m![T / 2, A / 2 % 4, T % 2, A % 2], |stream| {
    stream.switch(SwitchConfig::Broadcast01 { slice1: 4, slice0: 2, time0: 2 })
});
switched!(broadcast1, m![A / 32, X, A % 8], m![T, A / 8 % 4], |stream| {
    stream.switch(SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 })
});
switched!(transpose, m![A / 64, A % 2, A / 2 % 32], m![T], |stream| {
    stream.switch(SwitchConfig::Transpose { slice1: 32, slice0: 2 })
});
switched!(inter_transpose, m![A / 16, T / 2 % 2, A % 8], m![T / 4, T % 2, A / 8 % 2], |stream| {
    stream.switch(SwitchConfig::InterTranspose { slice1: 2, slice0: 8, time0: 2 })
});
switched!(transposed_broadcast1, m![A / 64, Y, A / 8 % 8], m![T, A % 8], |stream| {
    stream.switch(SwitchConfig::TransposedBroadcast1 { slice1: 8, slice0: 8 })
});
switched!(custom, m![A / 32, X, A / 4 % 2, A / 8 % 4], m![T, A % 4], |stream| {
    stream.switch(SwitchConfig::CustomBroadcast { ring_size: 32 })
});
switched!(derived, m![A / 32, X, A % 8], m![T, A / 8 % 4], |stream| stream.switch_to());

/// The position formulas of the page, variant by variant.
#[test]
fn every_variant_moves_packets_to_its_positions() {
    let check = |found: Vec<Vec<(usize, usize)>>, expected: &dyn Fn(usize, usize) -> (usize, usize)| {
        for (slice, packets) in found.iter().enumerate() {
            for (time, packet) in packets.iter().enumerate() {
                assert_eq!(*packet, expected(slice, time), "slice {slice}, time {time}");
            }
        }
    };
    check(broadcast01::run(), &|s, t| {
        let (s0, t0, s1, t1) = (t % 2, t / 2 % 2, t / 4 % 4, t / 16);
        (s / 8 * 8 + s1 * 2 + s0, t1 * 2 + t0)
    });
    check(broadcast1::run(), &|s, t| (s / 32 * 32 + t % 4 * 8 + s % 8, t / 4));
    check(derived::run(), &|s, t| (s / 32 * 32 + t % 4 * 8 + s % 8, t / 4));
    check(transpose::run(), &|s, t| (s / 64 * 64 + s % 32 * 2 + s / 32 % 2, t));
    check(inter_transpose::run(), &|s, t| {
        let (s1, t0, t2, t1) = (t % 2, t / 2 % 2, t / 4, s / 8 % 2);
        (s / 16 * 16 + s1 * 8 + s % 8, t2 * 4 + t1 * 2 + t0)
    });
    check(transposed_broadcast1::run(), &|s, t| (s / 64 * 64 + s % 8 * 8 + t % 8, t / 8));
    check(custom::run(), &|s, t| (s / 32 * 32 + s % 4 * 8 + s / 4 % 2 * 4 + t % 4, t / 4));
}
