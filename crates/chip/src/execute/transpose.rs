//! The Transpose Engine: blocks of time steps become lanes, and lanes become time steps.
//!
//! ```text
//!   out[(o, c, e), r] = in[(o, r, c), e]        o: matrix, r: row, c: packet of a row, e: element of a packet
//! ```

use crate::memory::row::{Row, nibble, set_nibble};
use furiosa_visa_rules::command::Transpose;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// Where the elements of a matrix go. The same for all matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransposePlan {
    own: Transpose,
    /// Lanes of a flit.
    lanes: usize,
}

/// A place in a stream: the packet and the lane.
pub(crate) type Cell = (usize, usize);

impl TransposePlan {
    /// Prepares a transpose of flits.
    pub(crate) fn new(own: &Transpose) -> Self {
        Self { own: *own, lanes: FLIT_BYTES * 8 / own.element.bits() }
    }

    /// Flits that enter per matrix.
    pub(crate) fn in_flits(&self) -> usize {
        self.own.in_flits()
    }

    /// Leading lanes of the packets that leave which hold an element.
    pub(crate) fn rows(&self) -> usize {
        self.own.in_rows
    }

    /// The packet that leaves first of the matrix that a flit begins.
    pub(crate) fn first_packet(&self, flit: usize) -> usize {
        flit / self.own.in_flits() * self.own.out_rows
    }

    /// The flit and the lane that lane `row` of a packet that leaves was.
    pub(crate) fn source(&self, packet: usize, row: usize) -> Cell {
        let Transpose { out_rows, .. } = self.own;
        let (kept, packets) = (self.own.kept_elements(), self.own.packets_per_col());
        let (matrix, column) = (packet / out_rows, packet % out_rows);
        (matrix * self.own.in_flits() + row * packets + column / kept, column % kept)
    }

    /// Visits the elements of one matrix: the place that each has in the packets that leave, and the one that it had.
    /// Flits that enter have `lanes` of them, packets that leave have `out_lanes`.
    #[inline]
    fn for_each(&self, lanes: usize, out_lanes: usize, mut visit: impl FnMut(usize, usize)) {
        let (kept, packets) = (self.own.kept_elements(), self.own.packets_per_col());
        for c in 0..packets {
            for e in 0..kept {
                let out = (c * kept + e) * out_lanes;
                for r in 0..self.own.in_rows {
                    visit(out + r, (r * packets + c) * lanes + e);
                }
            }
        }
    }

    /// Copies the items of all matrices, one per element.
    fn copy<T: Copy>(&self, (input, lanes): (&[T], usize), (output, out_lanes): (&mut [T], usize)) {
        let (size, out_size) = (self.own.in_flits() * lanes, self.own.out_rows * out_lanes);
        for (from, to) in input.chunks_exact(size).zip(output.chunks_exact_mut(out_size)) {
            self.for_each(lanes, out_lanes, |place, source| to[place] = from[source]);
        }
    }

    /// Transposes a stream of flits that holds whole matrices. Lanes that no row fills are zero and uninitialised.
    pub(crate) fn run(&self, stream: &Row, output: &mut Row) {
        let lanes = self.lanes;
        output.clear(self.own.element);
        let matrices = stream.len() / (self.own.in_flits() * lanes);
        let (bytes, flags) = output.push_blank(matrices * self.own.out_rows * lanes, Some(&[]));
        match self.own.element.container_bits() {
            4 => {
                let (size, out_size) = (self.own.in_flits() * FLIT_BYTES, self.own.out_rows * FLIT_BYTES);
                for (from, to) in stream.bytes().chunks_exact(size).zip(bytes.chunks_exact_mut(out_size)) {
                    self.for_each(lanes, lanes, |place, source| set_nibble(to, place, nibble(from, source)));
                }
            }
            8 => self.copy((stream.bytes(), lanes), (bytes, lanes)),
            16 => self.copy_words::<2>(stream.bytes(), bytes),
            _ => self.copy_words::<4>(stream.bytes(), bytes),
        }
        match stream.flags() {
            Some(known) => self.copy((known, lanes), (flags, lanes)),
            None => flags.chunks_exact_mut(lanes).for_each(|packet| packet[..self.own.in_rows].fill(true)),
        }
    }

    fn copy_words<const BYTES: usize>(&self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (input.as_chunks::<BYTES>().0, output.as_chunks_mut::<BYTES>().0);
        self.copy((input, self.lanes), (output, self.lanes));
    }

    /// Which elements that leave are initialised, `in_rows` per packet. The stream, whole matrices of flits with `lanes`
    /// elements each, says which of those that enter are.
    pub(crate) fn run_flags(&self, stream: &[bool], lanes: usize, output: &mut Vec<bool>) {
        let matrices = stream.len() / (self.own.in_flits() * lanes);
        output.clear();
        output.resize(matrices * self.own.out_rows * self.own.in_rows, true);
        self.copy((stream, lanes), (output, self.own.in_rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F32, I4, I8};

    /// Element by element, by the formula alone.
    fn check(own: Transpose, missing: bool) {
        let element = own.element;
        let (lanes, plan) = (FLIT_BYTES * 8 / element.bits(), TransposePlan::new(&own));
        let flits = own.iterations * own.in_flits();
        let bytes: Vec<u8> = (0..flits * FLIT_BYTES).map(|k| (k * 37 + k / 251) as u8).collect();
        let known: Vec<bool> = (0..flits * lanes).map(|k| k % 7 != 3).collect();
        let mut stream = Row::new(element);
        stream.push(&bytes, flits * lanes, missing.then_some(&known[..]));
        let mut output = Row::new(ElementType::I32);
        plan.run(&stream, &mut output);
        assert_eq!((output.element(), output.len()), (element, own.out_time() * lanes));
        let code = |bytes: &[u8], k: usize| match element.bits() {
            4 => vec![nibble(bytes, k)],
            bits => bytes[k * bits / 8..(k + 1) * bits / 8].to_vec(),
        };
        let (packets, kept) = (own.packets_per_col(), own.kept_elements());
        let mut flags = Vec::new();
        plan.run_flags(&known, lanes, &mut flags);
        for (o, c, e, lane) in (0..own.iterations).flat_map(|o| {
            let lane = move |c, e| (0..lanes).map(move |lane| (o, c, e, lane));
            (0..packets).flat_map(move |c| (0..kept).flat_map(move |e| lane(c, e)))
        }) {
            let out = (o * packets + c) * kept + e;
            let found = code(output.bytes(), out * lanes + lane);
            let flag = output.flags().map(|flags| flags[out * lanes + lane]);
            if lane >= own.in_rows {
                assert!(found.iter().all(|&byte| byte == 0) && flag == Some(false), "lane {lane} is padding");
                continue;
            }
            let flit = (o * own.in_rows + lane) * packets + c;
            assert_eq!(found, code(&bytes, flit * lanes + e), "{own:?}: matrix {o}, packet {c}, element {e}");
            assert_eq!(flag, Some(!missing || known[flit * lanes + e]));
            assert_eq!(flags[out * own.in_rows + lane], known[flit * lanes + e]);
            assert_eq!(plan.source(out, lane), (flit, e));
        }
    }

    #[test]
    fn rows_become_lanes() {
        let own = |element, in_rows, in_cols, out_rows, iterations| Transpose {
            element,
            in_rows,
            in_cols,
            out_rows,
            iterations,
        };
        for missing in [false, true] {
            for case in [
                own(I8, 8, 8, 8, 8),
                own(I8, 4, 8, 2, 1),
                own(I8, 1, 32, 20, 3),
                own(I8, 8, 32, 32, 2),
                own(Bf16, 4, 16, 12, 3),
                own(I4, 16, 16, 16, 4),
                own(I4, 2, 32, 6, 5),
                own(F32, 2, 8, 8, 4),
                own(F32, 1, 32, 4, 2),
            ] {
                check(case, missing);
            }
        }
    }
}
