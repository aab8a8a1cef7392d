//! A write obeys the rules of a read.
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

axes![N = 2048];

fn write(buf: &mut BufTensor<i8, m![N % 512]>, stream: StreamTensor<i8, m![N / 512], m![N % 512]>) {
    buf.write(stream)
}

fn main() {
    let stream = BufTensor::<i8, m![N]>::zeroed();
    write(&mut BufTensor::zeroed(), stream.read());
}
