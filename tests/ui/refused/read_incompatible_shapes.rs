//! Buffer and stream are cut at the same places.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![A = 15];

fn read<'l>(buf: &'l BufTensor<i8, m![A % 5, A / 5]>) -> StreamTensor<'l, i8, m![1], m![A % 3, A / 3]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
