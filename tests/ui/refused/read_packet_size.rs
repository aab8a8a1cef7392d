//! A packet is whole bytes.
use furiosa_visa_std::prelude::{axes, i4, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![A = 3];

fn read<'l>(buf: &'l BufTensor<i4, m![A]>) -> StreamTensor<'l, i4, m![1], m![A]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
