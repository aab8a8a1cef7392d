//! 48 GiB of HBM, 8 chips; 512 KiB of DM, 2 clusters, 256 slices; 65536 bytes of TRF.

use furiosa_visa_std::prelude::*;

axes![H = 51539607552, C = 8, U = 2, S = 256, D = 524288, R = 8, T = 8192];

fn main() {
    // SAFETY: nothing is read.
    unsafe {
        let _ = HbmTensor::<i8, m![C], m![H]>::from_addr(0);
        let _ = DmTensor::<i8, m![C], m![U], m![S], m![D]>::from_addr(0);
        let _ = TrfTensor::<i8, m![C], m![U], m![S], m![R], m![T]>::from_addr(TrfAddress::Full);
    }
}
