//! Table, cast and zero point of the fetch adapter.
//!
//! Stored types of 4 and 8 bits have so few codes that one table covers all stages together.

use crate::memory::row::{Row, nibble, set_nibble};
use core::ops::Range;
use furiosa_visa_rules::command::{Fetch, Turns};
use furiosa_visa_rules::scalar::{ElementType, convert_block};

/// Change of elements between memory and packet.
#[derive(Debug)]
pub(super) enum Adapter {
    /// No change.
    Same,
    /// A cast.
    Convert(ElementType),
    /// The element of the stream for each code of the stored type, per tensor.
    Codes(ElementType, [Box<[u32]>; 2]),
    /// A cast to `i32`, minus a number per tensor.
    Subtract([i32; 2]),
}

impl Adapter {
    /// Prepares the stages of a fetch.
    pub(super) fn new(fetch: &Fetch) -> Self {
        let (stored, output) = (fetch.source.footprint.element, fetch.output);
        match (&fetch.table, fetch.zero_points) {
            (None, None) if stored == output => Adapter::Same,
            (None, None) => Adapter::Convert(output),
            (None, Some(zero_points)) if stored.bits() > 8 => Adapter::Subtract(zero_points),
            _ => Adapter::Codes(output, [0, 1].map(|tensor| codes(fetch, tensor))),
        }
    }

    /// Tells if elements leave as they are stored.
    pub(super) fn changes_nothing(&self) -> bool {
        matches!(self, Adapter::Same)
    }

    /// Adapts packets of `packet` elements. `from` holds the stored elements of the time steps `time`.
    pub(super) fn run(
        &self,
        from: &Row,
        time: Range<usize>,
        (turns, packet): (Turns, usize),
        output: &mut Row,
    ) {
        let elements =
            |steps: Range<usize>| (steps.start - time.start) * packet..(steps.end - time.start) * packet;
        match self {
            Adapter::Same => convert(from, from.element(), output),
            Adapter::Convert(element) => convert(from, *element, output),
            Adapter::Codes(element, codes) => {
                output.clear(*element);
                let (bytes, _) = output.push_blank(from.len(), from.flags());
                turns.for_each(time.clone(), |tensor, steps| {
                    look_up(from, elements(steps), &codes[tensor], element.container_bits(), bytes);
                });
            }
            Adapter::Subtract(zero_points) => {
                output.clear(ElementType::I32);
                let (bytes, _) = output.push_blank(from.len(), from.flags());
                convert_block(from.element(), ElementType::I32, from.bytes(), bytes);
                let words = bytes.as_chunks_mut::<4>().0;
                turns.for_each(time.clone(), |tensor, steps| {
                    for word in &mut words[elements(steps)] {
                        let value = i32::from_le_bytes(*word).wrapping_sub(zero_points[tensor]);
                        *word = value.to_le_bytes();
                    }
                });
            }
        }
    }
}

/// The element of the stream for each code that a tensor can hold.
fn codes(fetch: &Fetch, tensor: usize) -> Box<[u32]> {
    let stored = fetch.source.footprint.element;
    let inputs = 0..1u32 << stored.bits().min(8);
    let (element, codes): (_, Vec<u32>) = match &fetch.table {
        Some(table) => {
            (table.output, inputs.map(|code| table.codes.get(code as usize).copied().unwrap_or(0)).collect())
        }
        None => (stored, inputs.collect()),
    };
    let mut bytes = vec![0; codes.len() * element.bits() / 8];
    codes.iter().enumerate().for_each(|(k, &code)| set_code(&mut bytes, element.bits(), k, code));
    let bits = fetch.output.container_bits();
    let mut converted = vec![0; codes.len() * bits / 8];
    convert_block(element, fetch.output, &bytes, &mut converted);
    let zero_point = fetch.zero_points.map_or(0, |zero_points| zero_points[tensor]);
    // Zero points belong to integers, and differences of integers are differences of their codes.
    let difference = |code: u32| code.wrapping_sub(zero_point as u32);
    (0..codes.len()).map(|k| difference(code(&converted, bits, k))).collect()
}

fn code(bytes: &[u8], bits: usize, k: usize) -> u32 {
    match bits {
        4 => u32::from(nibble(bytes, k)),
        bits => {
            let size = bits / 8;
            bytes[k * size..(k + 1) * size].iter().rev().fold(0, |code, &byte| code << 8 | u32::from(byte))
        }
    }
}

fn set_code(bytes: &mut [u8], bits: usize, k: usize, code: u32) {
    match bits {
        4 => set_nibble(bytes, k, code as u8 & 15),
        bits => {
            let size = bits / 8;
            bytes[k * size..(k + 1) * size].copy_from_slice(&code.to_le_bytes()[..size]);
        }
    }
}

/// Writes the entry for each element of a range.
fn look_up(from: &Row, range: Range<usize>, codes: &[u32], bits: usize, output: &mut [u8]) {
    let input = from.bytes();
    match (from.element().bits(), codes.first_chunk::<16>()) {
        (4, Some(codes)) => {
            // Whole bytes first, two elements at a time.
            let bytes = range.start.div_ceil(2)..(range.end / 2).max(range.start.div_ceil(2));
            look_up_pairs(&input[bytes.clone()], codes, bits, output, 2 * bytes.start);
            for rest in
                [range.start..range.end.min(2 * bytes.start), range.start.max(2 * bytes.end)..range.end]
            {
                rest.for_each(|k| set_code(output, bits, k, codes[usize::from(nibble(input, k))]));
            }
        }
        _ => look_up_bytes(input, range, codes, bits, output),
    }
}

/// Writes the entries of both elements of each byte, from element `first` on.
fn look_up_pairs(input: &[u8], codes: &[u32; 16], bits: usize, output: &mut [u8], first: usize) {
    let entries = |byte: u8| (codes[usize::from(byte & 15)], codes[usize::from(byte >> 4)]);
    let start = first * bits / 8;
    let output = &mut output[start..][..input.len() * bits / 4];
    // Loops over numbers, because `zip` is not inlined where a crate is compiled in parts.
    match bits {
        4 => {
            for k in 0..input.len() {
                let (low, high) = entries(input[k]);
                output[k] = low as u8 & 15 | (high as u8) << 4;
            }
        }
        8 => {
            let places = &mut output.as_chunks_mut::<2>().0[..input.len()];
            for k in 0..input.len() {
                let (low, high) = entries(input[k]);
                places[k] = [low as u8, high as u8];
            }
        }
        16 => {
            let places = &mut output.as_chunks_mut::<4>().0[..input.len()];
            for k in 0..input.len() {
                let (low, high) = entries(input[k]);
                places[k] = (low & 0xffff | high << 16).to_le_bytes();
            }
        }
        _ => {
            let places = &mut output.as_chunks_mut::<8>().0[..input.len()];
            for k in 0..input.len() {
                let (low, high) = entries(input[k]);
                places[k] = (u64::from(low) | u64::from(high) << 32).to_le_bytes();
            }
        }
    }
}

/// Writes the entry of each byte.
fn look_up_bytes(input: &[u8], range: Range<usize>, codes: &[u32], bits: usize, output: &mut [u8]) {
    let entry = |k: usize| codes[usize::from(input[k])];
    match bits {
        4 => range.for_each(|k| set_nibble(output, k, entry(k) as u8 & 15)),
        8 => {
            for k in range {
                output[k] = entry(k) as u8;
            }
        }
        16 => {
            let places = output.as_chunks_mut::<2>().0;
            for k in range {
                places[k] = (entry(k) as u16).to_le_bytes();
            }
        }
        _ => {
            let places = output.as_chunks_mut::<4>().0;
            for k in range {
                places[k] = entry(k).to_le_bytes();
            }
        }
    }
}

/// Converts every element.
pub(crate) fn convert(from: &Row, to: ElementType, output: &mut Row) {
    output.clear(to);
    let (bytes, _) = output.push_blank(from.len(), from.flags());
    convert_block(from.element(), to, from.bytes(), bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{Bf16, I4, I5, I8, I9, I16, I32};
    use furiosa_visa_rules::command::{FillId, Footprint, Memory, Region, Table};
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::sequencer::Config;

    fn fetch(stored: ElementType, output: ElementType) -> Fetch {
        let guard = Guard::always(4);
        let footprint = Footprint { element: stored, chips: 1, clusters: 1, slices: 1, elements: 64, guard };
        let source = Region::whole(Memory::Dm, 0, FillId::ANY, footprint);
        Fetch::new(source, Config::new(8), 8, 8, output)
    }

    /// Signed numbers in the layout of a stream.
    fn packed(element: ElementType, values: &[i32]) -> Vec<u8> {
        let bits = element.container_bits();
        let mut bytes = vec![0; (values.len() * bits).div_ceil(8)];
        values.iter().enumerate().for_each(|(k, &value)| set_code(&mut bytes, bits, k, value as u32));
        bytes
    }

    /// Elements minus a zero point, for the ends of both ranges.
    #[test]
    fn differences_fit_their_types() {
        for (stored, output) in [(I4, I5), (I4, I32), (I4, I9), (I8, I9), (I8, I32), (I16, I32)] {
            let half = 1 << (stored.bits() - 1);
            let values: Vec<i32> = (0..64)
                .map(|k| [-half, half - 1, k % (2 * half) - half, -1 - k % half][k as usize % 4])
                .collect();
            for zero_points in [[-half, half - 1], [half - 1, -half], [0, 3]] {
                let mut fetch = fetch(stored, output);
                fetch.zero_points = Some(zero_points);
                let mut row = Row::new(stored);
                row.push(&packed(stored, &values), 64, None);
                let mut found = Row::new(I8);
                // Packets of 8, three per turn.
                let turns = Turns::every(3);
                Adapter::new(&fetch).run(&row, 0..8, (turns, 8), &mut found);
                let expected: Vec<i32> = (0..64).map(|k| values[k] - zero_points[k / 8 / 3 % 2]).collect();
                assert_eq!(found.bytes(), packed(output, &expected), "{stored} to {output}, {zero_points:?}");
                assert_eq!((found.element(), found.len()), (output, 64));
            }
        }
    }

    /// Two elements of 4 bits lie in a byte: ranges begin and end inside of one.
    #[test]
    fn ranges_of_half_bytes() {
        let mut row = Row::new(I4);
        row.push(&[0x21, 0x43, 0x65, 0x87, 0xa9], 10, None);
        let codes: Vec<u32> = (0..16).map(|code| 0x8765_4320 + code).collect();
        for bits in [4, 8, 16, 32] {
            for (start, end) in (0..=10).flat_map(|start| (start..=10).map(move |end| (start, end))) {
                let mut found = vec![0xff; 10 * bits / 8];
                look_up(&row, start..end, &codes, bits, &mut found);
                let kept = u32::MAX >> (32 - bits);
                let expected = |k: usize| if (start..end).contains(&k) { codes[k + 1] & kept } else { kept };
                let found: Vec<u32> = (0..10).map(|k| code(&found, bits, k)).collect();
                assert_eq!(found, (0..10).map(expected).collect::<Vec<_>>(), "{bits} bits, {start}..{end}");
            }
        }
    }

    /// A table of random entries and then a cast, for every width of both.
    #[test]
    fn entries_are_cast_like_elements() {
        for (stored, entry, output) in
            [(I4, I4, I32), (I4, I8, I9), (I8, I4, I4), (I8, I8, I8), (I8, I16, I32)]
        {
            let half = 1 << (entry.bits() - 1);
            let codes = 1i32 << stored.bits();
            let entries: Vec<i32> = (0..codes).map(|code| (code * 37 + 11) % (2 * half) - half).collect();
            let mut fetch = fetch(stored, output);
            let table = entries.iter().map(|&value| value as u32 & (u32::MAX >> (32 - entry.bits())));
            fetch.table = Some(Table { input: stored, output: entry, codes: table.collect() });
            let values: Vec<i32> = (0..64).map(|k| k * 29 % codes).collect();
            let mut row = Row::new(stored);
            row.push(&packed(stored, &values), 64, Some(&[true; 64]));
            let mut found = Row::new(I8);
            Adapter::new(&fetch).run(&row, 0..8, (Turns::every(1), 8), &mut found);
            let expected: Vec<i32> = values.iter().map(|&code| entries[code as usize]).collect();
            assert_eq!(found.bytes(), packed(output, &expected), "{stored} to {entry} to {output}");
            assert_eq!(found.flags(), Some(&[true; 64][..]));
        }
    }

    #[test]
    fn nothing_is_done_where_nothing_changes() {
        assert!(Adapter::new(&fetch(Bf16, Bf16)).changes_nothing());
        assert!(!Adapter::new(&fetch(Bf16, ElementType::F32)).changes_nothing());
        let mut shifted = fetch(I8, I32);
        shifted.zero_points = Some([0, 0]);
        assert!(!Adapter::new(&shifted).changes_nothing());
    }
}
