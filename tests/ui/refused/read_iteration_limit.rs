//! A loop has at most 65 536 iterations.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![A = 65537];

fn read<'l>(buf: &'l BufTensor<i8, m![A]>) -> StreamTensor<'l, i8, m![A], m![1]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
