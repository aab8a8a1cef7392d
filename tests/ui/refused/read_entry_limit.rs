//! A sequencer has at most 8 entries.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![A = 2, B = 2, C = 2, D = 2, E = 2, F = 2, G = 2, H = 2, P = 4];

fn read<'l>(buf: &'l BufTensor<i8, m![H, G, F, E, D, C, B, A, P]>) -> StreamTensor<'l, i8, m![A, B, C, D, E, F, G, H], m![P]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
