//! The Cast Engine: one flit in, one flit out.

use super::adapter::convert;
use super::fetch::repack;
use crate::memory::row::Row;
use furiosa_visa_rules::command::Cast;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// Converts a stream of flits. `converted` is scratch. Lanes that a narrower type adds are zero and uninitialised.
pub(crate) fn run(cast: &Cast, stream: &Row, converted: &mut Row, output: &mut Row) {
    let lanes = FLIT_BYTES * 8 / cast.input.bits();
    let out_lanes = FLIT_BYTES * 8 / cast.output.bits();
    if lanes == out_lanes {
        convert(stream, cast.output, output);
        return;
    }
    convert(stream, cast.output, converted);
    let bytes = lanes * cast.output.bits() / 8;
    repack(converted, (lanes, bytes), (out_lanes, FLIT_BYTES), stream.len() / lanes, output);
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::scalar::ElementType;

    #[test]
    fn a_narrow_flit_is_filled_up() {
        let mut stream = Row::new(ElementType::I32);
        let values: Vec<u8> = (0..16i32).flat_map(|k| (k * 100).to_le_bytes()).collect();
        stream.push(&values, 16, None);
        let (mut scratch, mut output) = (Row::new(ElementType::I8), Row::new(ElementType::I8));
        run(&Cast { input: ElementType::I32, output: ElementType::I8 }, &stream, &mut scratch, &mut output);
        assert_eq!(output.len(), 64);
        for (k, &byte) in output.bytes().iter().enumerate() {
            let expected = if k % 32 < 8 { ((k / 32 * 8 + k % 32) * 100) as u8 } else { 0 };
            assert_eq!(byte, expected);
            assert_eq!(output.flags().map(|flags| flags[k]), Some(k % 32 < 8));
        }
    }
}
