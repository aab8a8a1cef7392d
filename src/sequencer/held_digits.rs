//! What a buffer holds, digit by digit: where each one is, and how much of it a stream has read.

use crate::list::List;
use crate::mapping::{Atom, Composite, CutRule, FACTORS, Factor, Factors, LEAD_INSIDE, Pieces, Pool, Term};

/// A digit of the buffer: `resize` of `modulo` values from `stride` on, at `base` positions per value.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) term: Term,
    pub(super) resize: usize,
    pub(super) base: usize,
    /// Values of this digit that the stream walks over, as the product of the loops' moduli.
    pub(super) read: usize,
    /// The block that it is a digit of. 0 for digits of the buffer itself.
    pub(super) block: usize,
}

/// The buffer's digits.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) held: List<Held, { FACTORS + 4 }>,
    /// Blocks with dead positions before them. The first one is none.
    pub(super) blocks: List<Block, BLOCKS>,
    /// Where the loops start.
    pub(super) base: isize,
}

/// A block with dead positions before it.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Positions from where the block around it starts. 0 once the loops start there.
    pub(super) start: isize,
    /// The block around it.
    pub(super) outer: usize,
    /// The digit that stands for all of it, if there is one.
    pub(super) opened: Option<usize>,
}

const NO_BLOCK: Block = Block { start: 0, outer: 0, opened: None };

/// The most blocks with dead positions before them.
const BLOCKS: usize = 8;

impl Buffer {
    pub(super) const fn new(pool: &Pool, buf: &Factors) -> Self {
        let factors = buf.as_slice();
        let blank = Term { atom: Atom::Composite(Composite::NONE), stride: 1, modulo: 1 };
        let mut held = List::new(Held { term: blank, resize: 1, base: 1, read: 1, block: 0 });
        let mut base = 1;
        let mut k = 0;
        while k < factors.len() {
            if let Factor::Term { term, resize } = factors[k] {
                held.push(Held { term, resize, base, read: 1, block: 0 });
            }
            base = factors[k].size_over(base);
            k += 1;
        }
        let mut blocks = List::new(NO_BLOCK);
        blocks.push(NO_BLOCK);
        let mut buffer = Self { held, blocks, base: 0 };
        // What a stream without the dead positions finds.
        let mut k = 0;
        while k < buffer.held.len() && !buffer.held.overflowed() {
            buffer.open(pool, k);
            k += 1;
        }
        buffer
    }

    /// Adds the digits of a whole block with dead positions before it.
    const fn open(&mut self, pool: &Pool, k: usize) {
        let outer = self.held.at(k);
        let Atom::Composite(composite) = outer.term.atom else { return };
        // All of a composite is one digit only where it has dead positions before it.
        if outer.resize < pool.atom_size(&outer.term.atom) {
            return;
        }
        let (lead, inside) = pool.led(composite);
        let start = (lead * outer.base) as isize;
        let Some(block) = self.add(Block { start, outer: outer.block, opened: Some(k) }) else { return };
        let mut base = outer.base;
        let mut j = 0;
        while j < inside.len() {
            match inside[j] {
                Factor::Term { term, resize } => {
                    self.held.push(Held { term, resize, base, read: 1, block });
                    base *= resize;
                }
                Factor::Padding { size, .. } => base = size * outer.base,
                Factor::Lead { .. } => panic!("{}", LEAD_INSIDE),
            }
            j += 1;
        }
    }

    /// Adds a block. `None` where there are too many, which the list of blocks remembers.
    const fn add(&mut self, block: Block) -> Option<usize> {
        let k = self.blocks.len();
        self.blocks.push(block);
        if self.blocks.overflowed() { None } else { Some(k) }
    }

    /// Starts the loops where the one element of a block is that the stream does not walk over. No loop leads there.
    ///
    /// `own`: how many digits are the buffer's own.
    pub(super) const fn start_in_singles(&mut self, pool: &Pool, own: usize) {
        let mut k = 0;
        while k < self.held.len() {
            let held = self.held.at(k);
            if held.read == 1
                && self.is_taken_apart(held.block)
                && !read_through_composite(pool, self, own, &held)
                && let Some(position) = pool.single(&held.term.atom)
            {
                let block = self.opened(k);
                if block == 0 {
                    self.start_in(held.block);
                    self.base += (held.term.digit_of(position) * held.base) as isize;
                } else {
                    self.start_in(block);
                }
            }
            k += 1;
        }
    }

    /// Whether the stream walks over none of the blocks around a digit as one.
    const fn is_taken_apart(&self, block: usize) -> bool {
        let mut block = block;
        while block > 0 {
            let around = self.blocks.get(block);
            if !matches!(around.opened, Some(k) if self.held.get(k).read == 1) {
                return false;
            }
            block = around.outer;
        }
        true
    }

    /// The block that a digit stands for, or 0.
    const fn opened(&self, digit: usize) -> usize {
        let mut block = 1;
        while block < self.blocks.len() {
            if matches!(self.blocks.get(block).opened, Some(k) if k == digit) {
                return block;
            }
            block += 1;
        }
        0
    }

    /// Starts the loops where a block is, and the blocks around it.
    pub(super) const fn start_in(&mut self, block: usize) {
        let mut block = block;
        while block > 0 {
            let own = self.blocks.at(block);
            self.base += own.start;
            self.blocks.set(block, Block { start: 0, ..own });
            block = own.outer;
        }
    }

    pub(super) const fn holds(&self, atom: &Atom) -> bool {
        let held = self.held.as_slice();
        let mut k = 0;
        while k < held.len() {
            if held[k].term.atom.is(atom) {
                return true;
            }
            k += 1;
        }
        false
    }

    /// Adds a composite as a digit of its own, if a run of the buffer is its content.
    pub(super) const fn lift(&mut self, pool: &Pool, buf: &Factors, composite: Composite) {
        let whole = Pieces::new(&[buf]);
        let mut pieces = whole;
        // Where not even the buffer's blocks with dead positions before them hold it, nothing is added.
        let (mut piece, mut digit) = (0, 0);
        let (mut outer, mut start) = (0, 0); // the block that was taken apart for it
        while !pieces.lift_one(pool, composite, CutRule::Exact) {
            pieces = whole;
            let mut opened = false;
            while piece < whole.list.len() && !opened {
                opened = pieces.open_one(pool, piece);
                if let Factor::Term { .. } = whole.list.get(piece).factor {
                    outer = if opened { self.opened(digit) } else { 0 };
                    digit += 1;
                }
                piece += 1;
            }
            if !opened {
                return;
            }
            start = pieces.starts[0];
        }
        let mut block = outer;
        if pieces.starts[0] != start {
            let own = Block { start: pieces.starts[0] - start, outer, opened: None };
            let Some(added) = self.add(own) else { return };
            block = added;
        }
        let mut k = 0;
        while k < pieces.list.len() {
            let piece = pieces.list.get(k);
            if let Factor::Term { term, resize } = piece.factor
                && term.atom.is(&Atom::Composite(composite))
            {
                self.held.push(Held { term, resize, base: piece.base, read: 1, block });
            }
            k += 1;
        }
    }

    /// The digit that holds the coordinates from `at` on.
    pub(super) const fn find(&self, atom: &Atom, at: usize) -> Option<usize> {
        let mut k = 0;
        while k < self.held.len() {
            let held = self.held.at(k);
            if held.term.atom.is(atom) && held.term.stride <= at && at < held.term.stride * held.term.modulo {
                return Some(k);
            }
            k += 1;
        }
        None
    }
}

/// Whether the stream reads all of a digit: by itself, in a composite around it, or as the digits of an opened block.
pub(super) const fn is_read(pool: &Pool, buffer: &Buffer, own: usize, k: usize) -> bool {
    let held = buffer.held.get(k);
    let read = held.read >= held.resize || pool.single(&held.term.atom).is_some();
    if read || read_through_composite(pool, buffer, own, held) {
        return true;
    }
    let mut parts = 0;
    let mut j = own;
    while j < buffer.held.len() {
        let block = buffer.held.get(j).block;
        if matches!(buffer.blocks.at(block).opened, Some(opened) if opened == k) {
            if !is_read(pool, buffer, own, j) {
                return false;
            }
            parts += 1;
        }
        j += 1;
    }
    parts > 0
}

/// Whether a composite that was read to its end covers what is unread of a digit.
const fn read_through_composite(pool: &Pool, buffer: &Buffer, own: usize, held: &Held) -> bool {
    let (from, end) = (held.base * held.read, held.base * held.resize);
    let mut k = own;
    while k < buffer.held.len() {
        let lifted = buffer.held.get(k);
        let values = lifted.resize - pool.lead(&lifted.term.atom);
        if lifted.read >= lifted.resize && lifted.base <= from && end <= lifted.base * values {
            return true;
        }
        k += 1;
    }
    false
}

/// Whether the buffer holds an axis of an atom, by itself or in a composite.
pub(super) const fn touches(pool: &Pool, buf: &Factors, atom: &Atom) -> bool {
    if let Atom::Composite(composite) = atom {
        let content = pool.content(*composite);
        let mut k = 0;
        while k < content.len() {
            if let Factor::Term { term, .. } = content[k]
                && touches(pool, buf, &term.atom)
            {
                return true;
            }
            k += 1;
        }
        return false;
    }
    mentions(pool, buf.as_slice(), atom)
}

/// Whether an axis is somewhere in these factors.
const fn mentions(pool: &Pool, factors: &[Factor], axis: &Atom) -> bool {
    let mut k = 0;
    while k < factors.len() {
        if let Factor::Term { term, .. } = &factors[k] {
            if term.atom.is(axis) {
                return true;
            }
            if let Atom::Composite(composite) = term.atom
                && mentions(pool, pool.content(composite), axis)
            {
                return true;
            }
        }
        k += 1;
    }
    false
}
