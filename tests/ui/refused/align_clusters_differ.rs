//! Stream and TRF tensor lie on the clusters in the same way.

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 32, U = 2];

type Data<'l> = CollectTensor<'l, { Tu::Main }, i8, m![1], m![1 # 2], m![1 # 256], m![T, K / 32], m![K % 32]>;
type Weights = TrfTensor<i8, m![1], m![U], m![1 # 256], m![N], m![K # 64]>;

fn contract(data: Data<'_>, weights: &Weights) {
    let _ = data.align::<m![T], m![K # 64], _, _>(weights);
}

fn main() {}
