//! A padded group is a contiguous run of the buffer.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![A = 3, B = 5];

fn read<'l>(buf: &'l BufTensor<i8, m![B, A]>) -> StreamTensor<'l, i8, m![1], m![[A, B] # 32]> {
    buf.read()
}

fn main() {
    read(&BufTensor::zeroed());
}
