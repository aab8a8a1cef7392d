//! A stream iterates only over what the buffer holds.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![N = 2048];

fn read<'l>(buf: &'l BufTensor<i8, m![N % 512]>) -> StreamTensor<'l, i8, m![N / 512], m![N % 512]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
