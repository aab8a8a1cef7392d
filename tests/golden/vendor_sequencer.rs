//! The vendor's functions on sequencers as printed (guide: sequencers), and what they do compared with the mappings.

use furiosa_visa_std::mapping::Index;
use furiosa_visa_std::mapping::M;
use furiosa_visa_std::prelude::{Opt, Scalar, axes, bf16, i, m};
use furiosa_visa_std::sequencer::{BufTensor, BufferPlan, StreamTensor};

/// Every live stream position holds the element that the mappings say, every other one nothing.
fn check_read<D: Scalar, Buf: M, Time: M, Packet: M>(
    buf: &BufTensor<D, Buf>,
    stream: &StreamTensor<'_, D, Time, Packet>,
    axes_of_buf: impl Fn(&Index) -> Index,
) {
    let places: Vec<(Index, Opt<D>)> =
        (0..Buf::SIZE).filter_map(|p| Some((Buf::map(p)?, buf.as_slice()[p]))).collect();
    let mut live = 0;
    for (t, packet) in stream.packets().enumerate() {
        for (p, element) in packet.iter().enumerate() {
            let index = Time::map(t).zip(Packet::map(p)).map(|(time, packet)| time.union(&packet));
            let expected = index
                .filter(Index::is_valid)
                .and_then(|index| places.iter().find(|(place, _)| *place == axes_of_buf(&index)));
            assert_eq!(
                *element,
                expected.map_or(Opt::Uninit, |(_, element)| *element),
                "time {t}, packet {p}"
            );
            live += usize::from(expected.is_some());
        }
    }
    assert_eq!(stream.packets().len(), Time::SIZE);
    assert!(live > 0);
}

fn numbered<Buf: M>() -> BufTensor<i32, Buf> {
    BufTensor::from_fn(|position| position as i32 + 1)
}

/// Reads, compares, writes to an empty buffer and compares again.
fn there_and_back<Buf: M, Time: M, Packet: M>(axes_of_buf: impl Fn(&Index) -> Index) -> String {
    let buf = numbered::<Buf>();
    let stream: StreamTensor<i32, Time, Packet> = buf.read();
    check_read(&buf, &stream, axes_of_buf);
    let config = BufferPlan::<i32, Buf, Time, Packet>::READ.derived.to_string();
    let mut copy = BufTensor::<i32, Buf>::from_vec(vec![Opt::Uninit; Buf::SIZE]);
    copy.write(stream);
    assert_eq!(copy, buf);
    config
}

mod examples {
    use super::*;
    axes![A = 8, B = 512, N = 4, C = 3, H = 8, W = 8, T = 4, P = 4];

    fn strided_read<'l>(
        buf: &'l BufTensor<bf16, m![A, B]>,
    ) -> StreamTensor<'l, bf16, m![A, B / 32], m![B % 32]> {
        buf.read()
    }

    fn strided_write(
        buf: &mut BufTensor<bf16, m![A, B]>,
        stream: StreamTensor<bf16, m![A, B / 32], m![B % 32]>,
    ) {
        buf.write(stream)
    }

    fn axis_reordering_read<'l>(
        buf: &'l BufTensor<bf16, m![N, C, H, W]>,
    ) -> StreamTensor<'l, bf16, m![W, H, C, N], m![1]> {
        buf.read()
    }

    fn axis_reordering_write(
        buf: &mut BufTensor<bf16, m![N, C, H, W]>,
        stream: StreamTensor<bf16, m![W, H, C, N], m![1]>,
    ) {
        buf.write(stream)
    }

    mod tiling {
        use super::*;
        axes![A = 8, B = 512, C = 3];

        pub fn tiling_read<'l>(
            buf: &'l BufTensor<i8, m![A, B, C # 8]>,
        ) -> StreamTensor<'l, i8, m![A % 2, B % 4, A / 2, B / 4], m![C # 32]> {
            buf.read()
        }

        pub fn tiling_write(
            buf: &mut BufTensor<i8, m![A, B, C # 8]>,
            stream: StreamTensor<i8, m![A % 2, B % 4, A / 2, B / 4], m![C # 32]>,
        ) {
            buf.write(stream)
        }
    }

    fn broadcasting_read<'l>(buf: &'l BufTensor<i8, m![A]>) -> StreamTensor<'l, i8, m![T, A], m![P]> {
        buf.read()
    }

    fn broadcasting_write(buf: &mut BufTensor<i8, m![A]>, stream: StreamTensor<i8, m![T, A], m![P]>) {
        buf.write(stream)
    }

    fn halves(position: usize) -> bf16 {
        bf16::from_f32((position % 250) as f32 / 2.0)
    }

    #[test]
    fn strided() {
        let buf = BufTensor::from_fn(halves);
        let stream = strided_read(&buf);
        for (t, packet) in stream.packets().enumerate() {
            assert_eq!(packet, &buf.as_slice()[t / 16 * 512 + t % 16 * 32..][..32]);
        }
        let mut copy = BufTensor::zeroed();
        strided_write(&mut copy, stream);
        assert_eq!(copy, buf);
    }

    #[test]
    fn axis_reordering() {
        let buf = BufTensor::from_fn(halves);
        let stream = axis_reordering_read(&buf);
        let mut packets = stream.packets();
        for (w, h, c, n) in itertools(8, 8, 3, 4) {
            let element = packets.next().expect("one packet per step")[0];
            assert_eq!(element, buf.as_slice()[w + 8 * h + 64 * c + 192 * n]);
        }
        drop(packets);
        let mut copy = BufTensor::zeroed();
        axis_reordering_write(&mut copy, stream);
        assert_eq!(copy, buf);
    }

    fn itertools(
        w: usize,
        h: usize,
        c: usize,
        n: usize,
    ) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        (0..w * h * c * n).map(move |k| (k / (h * c * n), k / (c * n) % h, k / n % c, k % n))
    }

    #[test]
    fn tiling() {
        let buf = BufTensor::from_fn(|position| position as i8);
        let stream = tiling::tiling_read(&buf);
        assert_eq!(stream.packets().len(), 8 * 512);
        for (t, packet) in stream.packets().enumerate() {
            let (a_low, b_low, a_high, b_high) = (t / 2048, t / 512 % 4, t / 128 % 4, t % 128);
            let row = (a_high * 2 + a_low) * 512 + b_high * 4 + b_low;
            assert_eq!(packet[..3], buf.as_slice()[row * 8..row * 8 + 3]);
            assert!(packet[3..].iter().all(|element| *element == Opt::Uninit));
        }
        let mut copy = BufTensor::from_vec(vec![Opt::Uninit; 8 * 512 * 8]);
        tiling::tiling_write(&mut copy, stream);
        assert_eq!(copy, buf);
    }

    #[test]
    fn broadcasting() {
        let buf = BufTensor::from_fn(|position| position as i8);
        let stream = broadcasting_read(&buf);
        for (t, packet) in stream.packets().enumerate() {
            assert_eq!(packet, [Opt::Init((t % 8) as i8); 4]);
        }
        let mut copy = BufTensor::zeroed();
        broadcasting_write(&mut copy, stream);
        assert_eq!(copy, buf);
    }
}

#[test]
fn configuration_examples() {
    mod rearranging {
        furiosa_visa_std::prelude::axes![A = 8, B = 8, C = 8];
    }
    {
        use rearranging::{A, B, C};
        let config = there_and_back::<m![A, B, C # 32], m![B, A], m![C # 16]>(Index::clone);
        assert_eq!(config, "[8 : 32, 8 : 256, 16 : 1] : 16");
    }
    axes![A = 8, B = 8, C = 4];
    let config = there_and_back::<m![A, B, C # 8], m![A % 2, B % 4, A / 2, B / 4], m![C # 32]>(Index::clone);
    assert_eq!(config, "[2 : 64, 4 : 8, 4 : 128, 2 : 32, 32 : 1] : 32");
}

#[test]
fn slicing() {
    axes![A = 16, B = 8, C = 8];
    let buf = numbered::<m![A, B, C]>();
    let stream: StreamTensor<i32, m![A / 4, A % 4 = 3, B / 4, B % 4 = 2], m![C]> = buf.read();
    assert_eq!(stream.config().to_string(), "[4 : 256, 3 : 64, 2 : 32, 2 : 8, 8 : 1] : 8");
    check_read(&buf, &stream, Index::clone);
}

#[test]
fn broadcasting_and_merging() {
    {
        axes![A = 16, T = 4, P = 4];
        let buf = numbered::<m![A]>();
        let stream: StreamTensor<i32, m![T, A], m![P]> = buf.read();
        assert_eq!(stream.config().to_string(), "[4 : 0, 16 : 1, 4 : 0] : 4");
        // The buffer has the axis A only.
        check_read(&buf, &stream, |index| i![A: index.coordinate::<A>().expect("live")]);
    }
    axes![N = 8, C = 8, H = 2, W = 32];
    let buf = numbered::<m![N, C, H, W]>();
    let stream: StreamTensor<
        i32,
        m![W / 16, H, C / 4, C / 2 % 2, C % 2, N / 4, N / 2 % 2, N % 2, W / 8 % 2],
        m![W % 8],
    > = buf.read();
    assert_eq!(stream.config().to_string(), "[2 : 16, 2 : 32, 8 : 64, 8 : 512, 16 : 1] : 16");
    let (first, last) =
        (stream.packets().next().expect("a packet")[0], stream.packets().last().expect("a packet")[7]);
    assert_eq!((first, last), (Opt::Init(1), Opt::Init(8 * 8 * 2 * 32)));
}

#[test]
fn indirect_reads_and_writes() {
    axes![V = 10, E = 4, K = 3, H = 2];
    let table = numbered::<m![H, V, E]>();
    let offsets = [8, 0, 36];
    let stream = table.read_indirect::<m![K], m![K, H], m![E]>(&offsets);
    for (t, packet) in stream.packets().enumerate() {
        let start = offsets[t / 2] + t % 2 * 40;
        assert_eq!(packet, &table.as_slice()[start..start + 4]);
    }
    let mut other = BufTensor::<i32, m![H, V, E]>::zeroed();
    other.write_indirect::<m![K], m![K, H], m![E]>(stream.clone(), &[4, 8, 4]);
    // Of equal offsets the last one wins; rows without an offset stay.
    assert_eq!(other.as_slice()[4..8], table.as_slice()[36..40]);
    assert_eq!(other.as_slice()[48..52], table.as_slice()[40..44]);
    assert_eq!(other.as_slice()[0], Opt::Init(0));

    let error = |offsets: &[usize]| {
        table.try_read_indirect::<m![K], m![K, H], m![E]>(offsets).expect_err("is refused").to_string()
    };
    assert!(error(&[0, 0]).contains("3 iterations, but there are 2 offsets"), "{}", error(&[0, 0]));
    let outside = error(&[0, 37, 0]);
    assert!(outside.contains("offset 37 at position 1 of the list leaves the buffer of 80"), "{outside}");
    assert!(table.try_read_indirect::<m![K], m![K, H], m![E]>(&[0, 36, 0]).is_ok());
    let before = other.clone();
    assert!(other.try_write_indirect::<m![K], m![K, H], m![E]>(stream, &[0, 37, 0]).is_err());
    assert_eq!(other, before, "a refused write writes nothing");
}
