//! Reads at the limits: 8 entries, 65 536 iterations, a whole byte, a repeated element.
use furiosa_visa_std::prelude::{axes, i4, m};
use furiosa_visa_std::sequencer::{BufTensor, StreamTensor};

mod eight {
    furiosa_visa_std::prelude::axes![A = 2, B = 2, C = 2, D = 2, E = 2, F = 2, G = 2, P = 4];
}

fn eight_entries() {
    use eight::{A, B, C, D, E, F, G, P};
    let buf = BufTensor::<i8, m![G, F, E, D, C, B, A, P]>::from_fn(|position| (position % 100) as i8);
    let stream: StreamTensor<i8, m![A, B, C, D, E, F, G], m![P]> = buf.read();
    assert_eq!(stream.config().entries.len(), 8);
    assert_eq!(stream.packets().len(), 128);
}

axes![A = 65536, B = 4, T = 3, P = 5];

fn most_iterations() {
    let buf = BufTensor::<i8, m![A]>::zeroed();
    let stream: StreamTensor<i8, m![A], m![1]> = buf.read();
    assert_eq!(stream.config().to_string(), "[65536 : 1] : 1");
}

fn whole_bytes() {
    let buf = BufTensor::<i4, m![B]>::from_fn(|position| i4::from_i32(position as i32));
    let stream: StreamTensor<i4, m![T], m![B]> = buf.read();
    assert!(stream.packets().all(|packet| packet[3].unwrap() == i4::from_i32(3)));
}

fn one_element_repeated() {
    let buf = BufTensor::<i8, m![B]>::from_fn(|position| position as i8);
    let stream: StreamTensor<i8, m![B], m![P]> = buf.read();
    assert!(stream.packets().enumerate().all(|(t, packet)| packet.iter().all(|x| x.unwrap() == t as i8)));
}

fn main() {
    eight_entries();
    most_iterations();
    whole_bytes();
    one_element_repeated();
}
