//! Requests to HBM, in their order.

use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::spec::{HBM_BYTES, HBM_UNIT_BYTES, SEQUENCER_ENTRIES};
use furiosa_visa_rules::text::Text;

/// A request of an engine: at most 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The first byte.
    pub address: u64,
    /// Number of bytes, 1 to 256.
    pub bytes: u32,
    /// True if the bytes are written.
    pub write: bool,
}

/// A part of a request that lies in one unit of 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub address: u64,
    pub bytes: u32,
    /// A write of a part of the unit: the unit is read, changed and written.
    pub partial_write: bool,
}

impl Request {
    /// Reads `bytes` bytes.
    pub const fn read(address: u64, bytes: u32) -> Self {
        Self { address, bytes, write: false }
    }

    /// Writes `bytes` bytes.
    pub const fn write(address: u64, bytes: u32) -> Self {
        Self { address, bytes, write: true }
    }

    /// The transfer of the first unit, and of the second if the bytes cross a boundary of 256 bytes.
    ///
    /// # Panics
    ///
    /// If the request has no bytes or more than 256.
    #[inline]
    #[track_caller]
    pub(super) const fn transfers(self) -> (Transfer, Option<Transfer>) {
        let unit = HBM_UNIT_BYTES as u64;
        if self.bytes == 0 || self.bytes as u64 > unit {
            wrong_size(self.bytes);
        }
        let partial_write = self.write && self.bytes as u64 != unit;
        let end = self.address % unit + self.bytes as u64;
        if end <= unit {
            return (Transfer { address: self.address, bytes: self.bytes, partial_write }, None);
        }
        // Both parts are smaller than a unit.
        let next = self.address - self.address % unit + unit;
        let (bytes, partial_write) = ((next - self.address) as u32, self.write);
        let second = Transfer { address: next, bytes: self.bytes - bytes, partial_write };
        (Transfer { address: self.address, bytes, partial_write }, Some(second))
    }
}

#[cold]
#[track_caller]
const fn wrong_size(bytes: u32) -> ! {
    let text =
        Text::new().str("HBM: a request of ").number(bytes as usize).str(" bytes, but requests have 1 to ");
    panic!("{}", text.number(HBM_UNIT_BYTES).str(" bytes; help: cut it into several").as_str())
}

/// A loop around the packets of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StridedLoop {
    /// Number of iterations.
    pub size: u64,
    /// Bytes from the packet of one iteration to that of the next.
    pub stride: i64,
}

/// Puts a loop inside others. Loops that continue evenly become one.
const fn merge<const N: usize>(loops: &mut List<StridedLoop, N>, inner: StridedLoop) {
    if inner.size == 1 {
        return;
    }
    if let Some(k) = loops.len().checked_sub(1) {
        let outer = *loops.get(k);
        if outer.stride as i128 == inner.size as i128 * inner.stride as i128
            && let Some(size) = outer.size.checked_mul(inner.size)
        {
            return loops.set(k, StridedLoop { size, ..inner });
        }
    }
    loops.push(inner);
}

/// Requests of nested loops around a packet: one side of a DMA sequencer. The iterator is plain data.
///
/// Packets are cut into requests of 256 bytes from their own start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    loops: List<StridedLoop, SEQUENCER_ENTRIES>,
    /// Number of iterations of each loop that are done.
    done: [u64; SEQUENCER_ENTRIES],
    /// The address of the current packet.
    packet: i64,
    packet_bytes: u32,
    /// Bytes of the current packet that were requested.
    offset: u32,
    write: bool,
    finished: bool,
    /// Turns left of the loop without a stride that has just begun a turn, this turn included. 0 if none has.
    turns: u64,
}

impl Strided {
    /// Reads packets of `packet_bytes` bytes at `base` plus the positions of the loops, outermost first.
    ///
    /// # Errors
    ///
    /// Packets without bytes, more than 8 loops, addresses outside HBM.
    #[inline]
    pub const fn new(base: u64, loops: &[StridedLoop], packet_bytes: u32) -> Result<Self, PlanError> {
        if packet_bytes == 0 {
            let text = Text::new().str("HBM stream: a packet holds 0 bytes, but at least 1 is needed");
            return Err(PlanError::new("HBM packet", text.str("; help: leave the stream out")));
        }
        if loops.len() > SEQUENCER_ENTRIES {
            let text =
                Text::new().str("HBM stream: ").number(loops.len()).str(" loops, but a sequencer has ");
            let text =
                text.number(SEQUENCER_ENTRIES).str("; help: merge neighbouring loops or use several streams");
            return Err(PlanError::new("HBM loops", text));
        }
        let mut list = List::new(StridedLoop { size: 0, stride: 0 });
        let (mut lowest, mut highest, mut finished) = (base as i128, base as i128, false);
        let mut k = 0;
        while k < loops.len() {
            let each = loops[k];
            merge(&mut list, each);
            finished |= each.size == 0;
            let reach = (each.size as i128 - 1) * each.stride as i128;
            if reach < 0 {
                lowest += reach;
            } else {
                highest += reach;
            }
            k += 1;
        }
        if !finished && (lowest < 0 || highest + packet_bytes as i128 > HBM_BYTES as i128) {
            let text = Text::new().str("HBM stream: the loops leave the ").number(HBM_BYTES as usize);
            let text = text.str(" bytes of a chip; help: use a smaller base or smaller strides");
            return Err(PlanError::new("HBM addresses", text));
        }
        let (done, packet) = ([0; SEQUENCER_ENTRIES], base as i64);
        Ok(Self { loops: list, done, packet, packet_bytes, offset: 0, write: false, finished, turns: 0 })
    }

    /// The same addresses, written.
    pub const fn writes(self) -> Self {
        Self { write: true, ..self }
    }

    /// Goes to the next packet.
    #[inline]
    fn advance(&mut self) {
        for k in (0..self.loops.len()).rev() {
            let StridedLoop { size, stride } = *self.loops.get(k);
            self.done[k] += 1;
            if self.done[k] < size {
                self.packet += stride;
                if stride == 0 {
                    self.turns = size - self.done[k];
                }
                return;
            }
            self.done[k] = 0;
            self.packet -= (size as i64 - 1) * stride;
        }
        self.finished = true;
    }

    /// Number of times that the requests since the earlier position `from` certainly follow again: the turns left of a loop
    /// without a stride, if no other loop has moved.
    fn repeats(&self, from: &Position) -> u64 {
        if (self.offset, self.finished) != (from.offset, false) {
            return 0;
        }
        let mut moved = (0..self.loops.len()).filter(|&k| self.done[k] != from.done[k]);
        match (moved.next(), moved.next()) {
            (None, _) => u64::MAX,
            (Some(k), None) if self.loops.get(k).stride == 0 && self.done[k] > from.done[k] => {
                (self.loops.get(k).size - 1 - self.done[k]) / (self.done[k] - from.done[k])
            }
            _ => 0,
        }
    }

    /// Passes the requests since `from` another `times` times.
    fn pass(&mut self, from: &Position, times: u64) {
        for (done, before) in self.done.iter_mut().zip(from.done) {
            *done += (*done - before) * times;
        }
    }
}

/// A stream that knows its repetitions.
pub(super) trait Repeating: Iterator<Item = Request> {
    /// A position in the stream.
    type Position;

    /// Current position.
    fn here(&self) -> Self::Position;

    /// Turns left of a loop that repeats its requests, this turn included, if a turn has begun since the last call. 0
    /// otherwise.
    fn begun(&mut self) -> u64;

    /// Number of times that the requests since the earlier position `from` certainly follow again.
    fn repeats(&self, from: &Self::Position) -> u64;

    /// Passes the requests since `from` another `times` times.
    fn pass(&mut self, from: &Self::Position, times: u64);
}

/// Requests without known repetitions.
pub(super) struct Unknown<'a, S>(pub &'a mut S);

impl<S: Iterator<Item = Request>> Iterator for Unknown<'_, S> {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.0.next()
    }
}

impl<S: Iterator<Item = Request>> Repeating for Unknown<'_, S> {
    type Position = ();

    fn here(&self) {}

    #[inline]
    fn begun(&mut self) -> u64 {
        0
    }

    fn repeats(&self, (): &()) -> u64 {
        0
    }

    fn pass(&mut self, (): &(), _: u64) {}
}

/// Nested loops, one after another: the commands of an engine.
#[derive(Clone, Debug)]
pub struct InTurn<I> {
    rest: I,
    current: Option<Strided>,
    /// Number of streams that have been finished.
    finished: u64,
}

impl<I: Iterator<Item = Strided>> InTurn<I> {
    /// The requests of each of `streams`, one after another.
    pub fn new(streams: impl IntoIterator<IntoIter = I>) -> Self {
        let mut rest = streams.into_iter();
        Self { current: rest.next(), rest, finished: 0 }
    }
}

impl<I: Iterator<Item = Strided>> Iterator for InTurn<I> {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        loop {
            if let Some(request) = self.current.as_mut()?.next() {
                return Some(request);
            }
            self.current = self.rest.next();
            self.finished += 1;
        }
    }
}

/// A position in nested loops that come one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    finished: u64,
    done: [u64; SEQUENCER_ENTRIES],
    offset: u32,
}

impl<I: Iterator<Item = Strided>> Repeating for InTurn<I> {
    type Position = Position;

    fn here(&self) -> Position {
        let (done, offset) = self.current.map_or(([0; _], 0), |current| (current.done, current.offset));
        Position { finished: self.finished, done, offset }
    }

    #[inline]
    fn begun(&mut self) -> u64 {
        self.current.as_mut().map_or(0, |current| core::mem::take(&mut current.turns))
    }

    fn repeats(&self, from: &Position) -> u64 {
        match &self.current {
            _ if self.finished != from.finished => 0,
            // Without requests, nothing changes.
            None => u64::MAX,
            Some(current) => current.repeats(from),
        }
    }

    fn pass(&mut self, from: &Position, times: u64) {
        if let Some(current) = &mut self.current {
            current.pass(from, times);
        }
    }
}

impl Iterator for Strided {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.finished {
            return None;
        }
        let bytes = (self.packet_bytes - self.offset).min(HBM_UNIT_BYTES as u32);
        let address = self.packet as u64 + u64::from(self.offset);
        self.offset += bytes;
        if self.offset == self.packet_bytes {
            self.offset = 0;
            self.advance();
        }
        Some(Request { address, bytes, write: self.write })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looped(size: u64, stride: i64) -> StridedLoop {
        StridedLoop { size, stride }
    }

    #[test]
    fn loops_go_round_innermost_last() {
        let loops = [looped(2, 4096), looped(3, -256)];
        let stream = Strided::new(1024, &loops, 300).expect("inside").writes();
        let found: Vec<_> = stream.map(|request| (request.address, request.bytes)).collect();
        let packets = [1024, 768, 512, 5120, 4864, 4608];
        let expected: Vec<_> = packets.iter().flat_map(|&at| [(at, 256), (at + 256, 44)]).collect();
        assert_eq!(found, expected);
        assert!(stream.into_iter().all(|request| request.write));
        assert_eq!(Strided::new(0, &[], 1).expect("inside").count(), 1);
        assert_eq!(Strided::new(0, &[looped(0, 1 << 40)], 1).expect("nothing is outside").count(), 0);
    }

    /// A packet of 2800 bytes is ten requests of 256 bytes and one of 240, which is a partial write.
    #[test]
    fn g74_a_packet_of_2800_bytes() {
        let stream = Strided::new(0, &[], 2800).expect("inside").writes();
        let requests: Vec<_> = stream.collect();
        let bytes: Vec<_> = requests.iter().map(|request| request.bytes).collect();
        assert_eq!(bytes, [256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 240]);
        let partial: Vec<_> = requests.iter().map(|request| request.transfers().0.partial_write).collect();
        assert_eq!(partial.iter().position(|&partial| partial), Some(10));
    }

    #[test]
    fn a_request_across_a_boundary_is_two_transfers() {
        let transfer = |address, bytes, partial_write| Transfer { address, bytes, partial_write };
        assert_eq!(Request::read(0, 256).transfers(), (transfer(0, 256, false), None));
        assert_eq!(Request::write(0, 256).transfers(), (transfer(0, 256, false), None));
        assert_eq!(Request::read(1, 255).transfers(), (transfer(1, 255, false), None));
        assert_eq!(Request::write(1, 255).transfers(), (transfer(1, 255, true), None));
        assert_eq!(
            Request::read(1, 256).transfers(),
            (transfer(1, 255, false), Some(transfer(256, 1, false)))
        );
        assert_eq!(
            Request::write(767, 2).transfers(),
            (transfer(767, 1, true), Some(transfer(768, 1, true)))
        );
    }

    #[test]
    fn limits() {
        let refused = |base, loops: &[StridedLoop], bytes| match Strided::new(base, loops, bytes) {
            Ok(_) => panic!("refused"),
            Err(error) => error.to_string(),
        };
        let eight = [looped(1, 0); 8];
        assert!(Strided::new(HBM_BYTES - 256, &eight, 256).is_ok());
        assert!(Strided::new(256, &[looped(2, -256)], 256).is_ok());
        assert_eq!(
            refused(HBM_BYTES - 256, &eight, 257),
            "HBM stream: the loops leave the 51539607552 bytes of a chip; help: use a smaller base or smaller strides"
        );
        assert!(refused(255, &[looped(2, -256)], 256).starts_with("HBM stream: the loops leave"));
        assert_eq!(
            refused(0, &[looped(1, 0); 9], 256),
            "HBM stream: 9 loops, but a sequencer has 8; help: merge neighbouring loops or use several streams"
        );
        assert_eq!(
            refused(0, &[], 0),
            "HBM stream: a packet holds 0 bytes, but at least 1 is needed; help: leave the stream out"
        );
    }

    #[test]
    #[should_panic(
        expected = "HBM: a request of 257 bytes, but requests have 1 to 256 bytes; help: cut it into several"
    )]
    fn a_request_of_257_bytes() {
        Request::read(0, 257).transfers();
    }
}
