//! Outermost padding in all its spellings, and none.

use furiosa_visa_std::prelude::*;

axes![A = 6, B = 8];

fn dm(x: DmTensorView<'_, i8, m![1], m![1 # 2], m![1 # 256], m![A, B]>) -> u64 {
    let x = x.pad::<m![A, B]>().pad::<m![[A, B] # 49]>().pad::<m![A # 8, B]>().pad::<m![A # 16 / 4, A # 16 % 4, B]>();
    x.unpad::<m![A # 8, B]>().unpad::<m![A, B]>().address()
}

fn hbm(x: HbmTensorView<'_, i8, m![1], m![A, B]>) -> u64 {
    x.pad::<m![A # 7, B]>().pad::<m![A # 1024, B]>().address()
}

fn main() {
    std::hint::black_box((dm as fn(_) -> _, hbm as fn(_) -> _));
}
