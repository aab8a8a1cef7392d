//! The Transpose Engine: blocks of time steps become lanes, and lanes become time steps.
//!
//! ```text
//!   out[(o, c, e), r] = in[(o, r, c), e]        o: matrix, r: row, c: packet of a row, e: element of a packet
//! ```

use crate::memory::row::{Row, nibble, set_nibble};
use furiosa_visa_rules::command::Transpose;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// Moves of the elements of a matrix, the same for all matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransposePlan {
    transpose: Transpose,
    /// Lanes of a flit.
    lanes: usize,
}

/// A place in a stream: the packet and the lane.
pub(crate) type Cell = (usize, usize);

impl TransposePlan {
    /// Prepares a transpose of flits.
    pub(crate) fn new(transpose: &Transpose) -> Self {
        Self { transpose: *transpose, lanes: FLIT_BYTES * 8 / transpose.element.bits() }
    }

    /// Flits that enter per matrix.
    pub(crate) fn in_flits(&self) -> usize {
        self.transpose.in_flits()
    }

    /// Number of leading lanes of an output packet that hold an element.
    pub(crate) fn rows(&self) -> usize {
        self.transpose.in_rows
    }

    /// First output packet of the matrix that begins with a flit.
    pub(crate) fn first_packet(&self, flit: usize) -> usize {
        flit / self.transpose.in_flits() * self.transpose.out_rows
    }

    /// Source of lane `row` of an output packet: flit and lane.
    pub(crate) fn source(&self, packet: usize, row: usize) -> Cell {
        let Transpose { out_rows, .. } = self.transpose;
        let (kept, packets) = (self.transpose.kept_elements(), self.transpose.packets_per_col());
        let (matrix, column) = (packet / out_rows, packet % out_rows);
        (matrix * self.transpose.in_flits() + row * packets + column / kept, column % kept)
    }

    /// Visits the elements of one matrix: the place in the output packets, and the place in the input flits. Input
    /// flits have `lanes` lanes, output packets have `out_lanes`.
    #[inline]
    fn for_each(&self, lanes: usize, out_lanes: usize, mut visit: impl FnMut(usize, usize)) {
        let (kept, packets) = (self.transpose.kept_elements(), self.transpose.packets_per_col());
        for c in 0..packets {
            for e in 0..kept {
                let out = (c * kept + e) * out_lanes;
                for r in 0..self.transpose.in_rows {
                    visit(out + r, (r * packets + c) * lanes + e);
                }
            }
        }
    }

    /// Copies the items of all matrices, one per element.
    fn copy<T: Copy>(&self, (input, lanes): (&[T], usize), (output, out_lanes): (&mut [T], usize)) {
        let (size, out_size) = (self.transpose.in_flits() * lanes, self.transpose.out_rows * out_lanes);
        for (from, to) in input.chunks_exact(size).zip(output.chunks_exact_mut(out_size)) {
            self.for_each(lanes, out_lanes, |place, source| to[place] = from[source]);
        }
    }

    /// Transposes a stream of flits that holds whole matrices. Lanes that no row fills are zero and uninitialised.
    pub(crate) fn run(&self, stream: &Row, output: &mut Row) {
        let lanes = self.lanes;
        output.clear(self.transpose.element);
        let matrices = stream.len() / (self.transpose.in_flits() * lanes);
        let (bytes, flags) = output.push_blank(matrices * self.transpose.out_rows * lanes, Some(&[]));
        match self.transpose.element.container_bits() {
            4 => {
                let (size, out_size) =
                    (self.transpose.in_flits() * FLIT_BYTES, self.transpose.out_rows * FLIT_BYTES);
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
            None => {
                flags.chunks_exact_mut(lanes).for_each(|packet| packet[..self.transpose.in_rows].fill(true))
            }
        }
    }

    fn copy_words<const BYTES: usize>(&self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (input.as_chunks::<BYTES>().0, output.as_chunks_mut::<BYTES>().0);
        self.copy((input, self.lanes), (output, self.lanes));
    }

    /// Flags of the output elements, `in_rows` per packet. `stream`: flags of the input, which holds whole matrices of
    /// flits with `lanes` elements each.
    pub(crate) fn run_flags(&self, stream: &[bool], lanes: usize, output: &mut Vec<bool>) {
        let matrices = stream.len() / (self.transpose.in_flits() * lanes);
        output.clear();
        output.resize(matrices * self.transpose.out_rows * self.transpose.in_rows, true);
        self.copy((stream, lanes), (output, self.transpose.in_rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F32, I4, I8};

    /// Checks a transpose element by element, by the formula alone.
    fn check(transpose: Transpose, missing: bool) {
        let element = transpose.element;
        let (lanes, plan) = (FLIT_BYTES * 8 / element.bits(), TransposePlan::new(&transpose));
        let flits = transpose.iterations * transpose.in_flits();
        let bytes: Vec<u8> = (0..flits * FLIT_BYTES).map(|k| (k * 37 + k / 251) as u8).collect();
        let known: Vec<bool> = (0..flits * lanes).map(|k| k % 7 != 3).collect();
        let mut stream = Row::new(element);
        stream.push(&bytes, flits * lanes, missing.then_some(&known[..]));
        let mut output = Row::new(ElementType::I32);
        plan.run(&stream, &mut output);
        assert_eq!((output.element(), output.len()), (element, transpose.out_time() * lanes));
        let code = |bytes: &[u8], k: usize| match element.bits() {
            4 => vec![nibble(bytes, k)],
            bits => bytes[k * bits / 8..(k + 1) * bits / 8].to_vec(),
        };
        let (packets, kept) = (transpose.packets_per_col(), transpose.kept_elements());
        let mut flags = Vec::new();
        plan.run_flags(&known, lanes, &mut flags);
        for (o, c, e, lane) in (0..transpose.iterations).flat_map(|o| {
            let lane = move |c, e| (0..lanes).map(move |lane| (o, c, e, lane));
            (0..packets).flat_map(move |c| (0..kept).flat_map(move |e| lane(c, e)))
        }) {
            let out = (o * packets + c) * kept + e;
            let found = code(output.bytes(), out * lanes + lane);
            let flag = output.flags().map(|flags| flags[out * lanes + lane]);
            if lane >= transpose.in_rows {
                assert!(found.iter().all(|&byte| byte == 0) && flag == Some(false), "lane {lane} is padding");
                continue;
            }
            let flit = (o * transpose.in_rows + lane) * packets + c;
            assert_eq!(
                found,
                code(&bytes, flit * lanes + e),
                "{transpose:?}: matrix {o}, packet {c}, element {e}"
            );
            assert_eq!(flag, Some(!missing || known[flit * lanes + e]));
            assert_eq!(flags[out * transpose.in_rows + lane], known[flit * lanes + e]);
            assert_eq!(plan.source(out, lane), (flit, e));
        }
    }

    #[test]
    fn rows_become_lanes() {
        let matrix = |element, in_rows, in_cols, out_rows, iterations| Transpose {
            element,
            in_rows,
            in_cols,
            out_rows,
            iterations,
        };
        for missing in [false, true] {
            for case in [
                matrix(I8, 8, 8, 8, 8),
                matrix(I8, 4, 8, 2, 1),
                matrix(I8, 1, 32, 20, 3),
                matrix(I8, 8, 32, 32, 2),
                matrix(Bf16, 4, 16, 12, 3),
                matrix(I4, 16, 16, 16, 4),
                matrix(I4, 2, 32, 6, 5),
                matrix(F32, 2, 8, 8, 4),
                matrix(F32, 1, 32, 4, 2),
            ] {
                check(case, missing);
            }
        }
    }
}
