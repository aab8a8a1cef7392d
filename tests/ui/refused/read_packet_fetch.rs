//! A packet is contiguous, one repeated element, or a single element.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![A = 4, B = 8];

fn read<'l>(buf: &'l BufTensor<i8, m![A, B]>) -> StreamTensor<'l, i8, m![B], m![A]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
