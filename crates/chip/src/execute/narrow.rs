//! The conversion of the Commit Engine.

use crate::memory::row::Row;
use furiosa_visa_rules::command::CommitNarrowing;
use furiosa_visa_rules::scalar::commit_cast_bits;

/// Narrows a stream of f32. Elements keep their lanes, and their marks.
pub(crate) fn run(narrowing: CommitNarrowing, stream: &Row, output: &mut Row) {
    output.clear(CommitNarrowing::OUTPUT);
    let (bytes, _) = output.push_blank(stream.len(), stream.flags());
    let (values, _) = stream.bytes().as_chunks::<4>();
    for (code, &value) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(values) {
        *code = commit_cast_bits(f32::from_le_bytes(value), narrowing.relu).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::scalar::ElementType;

    #[test]
    fn elements_keep_lanes_and_marks() {
        let values = [1.0f32, -2.0, f32::NAN, -0.0, 257.0, 0.5, f32::MIN_POSITIVE / 2.0, 3.0];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut stream = Row::new(ElementType::F32);
        let written = [true, true, true, true, true, false, true, true];
        stream.push(&bytes, 8, Some(&written));
        let mut output = Row::new(ElementType::I8);
        let mut codes = |relu| {
            run(CommitNarrowing { relu }, &stream, &mut output);
            assert_eq!((output.element(), output.len()), (ElementType::Bf16, 8));
            assert_eq!(output.flags(), Some(&written[..]));
            let (codes, _) = output.bytes().as_chunks::<2>();
            codes.iter().map(|&code| u16::from_le_bytes(code)).collect::<Vec<_>>()
        };
        assert_eq!(codes(false), [0x3f80, 0xc000, 0x7fc0, 0x8000, 0x4380, 0x3f00, 0, 0x4040]);
        assert_eq!(codes(true), [0x3f80, 0, 0x7fc0, 0, 0x4380, 0x3f00, 0, 0x4040]);
    }
}
