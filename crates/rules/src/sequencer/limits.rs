//! The limits of a sequencer, and the merging of entries that keeps within them.
//!
//! Neighbours `(n1 : s1), (n2 : s2)` are contiguous when `s1 == n2 * s2`; then they are one loop `(n1 * n2 : s2)`. They
//! are merged only if there are more than 8 entries.

use super::config::{Config, Entry};
use crate::error::{PlanError, refuse};
use crate::spec;
use crate::text::Text;

/// Merges contiguous neighbours if there are more entries than the hardware takes, and checks the limits of the
/// hardware.
///
/// `operation` and `unit` ("elements" or "bytes") are for messages.
pub const fn limited(operation: &'static str, config: Config) -> Result<Config, PlanError> {
    let mut config = config;
    while config.entries.len > spec::SEQUENCER_ENTRIES && merge_one(&mut config) {}
    if config.entries.len > spec::SEQUENCER_ENTRIES {
        refuse!(
            "entry limit",
            "{}: the sequencer needs {} entries, {}, and takes {}; help: order the axes as in memory so that neighbours \
             merge, or use several calls",
            (operation, config.entries.len, &config_text(&config), spec::SEQUENCER_ENTRIES),
        );
    }
    each!(k < config.entries.len, {
        let entry = &config.entries.items[k];
        if entry.size > spec::SEQUENCER_ITERATIONS {
            refuse!(
                "iteration limit",
                "{}: a sequencer entry iterates {} times ({} : {}), and the limit is {}; help: split the axis in two",
                (operation, entry.size, entry.size, entry.stride, spec::SEQUENCER_ITERATIONS),
            );
        }
        if entry.stride > i32::MAX as isize || entry.stride < i32::MIN as isize {
            refuse!(
                "stride limit",
                "{}: a sequencer stride is {}, which does not fit a signed 32-bit number",
                (operation, entry.stride),
            );
        }
    });
    Ok(config)
}

/// Merges all contiguous neighbours in one pass from the innermost outwards.
const fn merge_one(config: &mut Config) -> bool {
    let mut merged = false;
    let mut k = config.entries.len;
    while k > 1 {
        k -= 1;
        let (outer, inner) = (config.entries.items[k - 1], config.entries.items[k]);
        if outer.continues(&inner) {
            let is_packet = k == config.entries.len - 1;
            config.entries.set(k - 1, Entry { size: outer.size * inner.size, stride: inner.stride });
            config.entries.remove(k);
            if is_packet && inner.size == config.packet_size {
                config.packet_size *= outer.size;
            }
            merged = true;
        }
    }
    merged
}

const fn config_text(config: &Config) -> Text {
    let mut text = text!("[");
    each!(k < config.entries.len, {
        let entry = config.entries.items[k];
        text = if k > 0 { text.str(", ") } else { text };
        text = text.number(entry.size).str(" : ").signed(entry.stride);
    });
    text.str("] : ").number(config.packet_size)
}

/// Elements that one access may deliver: those of a contiguous run, or one element, repeated by the innermost loops of
/// stride 0.
pub const fn accessed_run(config: &Config) -> usize {
    let entries = &config.entries;
    let (mut run, mut k) = (1, entries.len);
    while k > 0 && entries.items[k - 1].stride == 0 {
        k -= 1;
        run *= entries.items[k].size;
    }
    if k < entries.len { run } else { contiguous_run(config) }
}

/// Elements that are contiguous in memory: `contiguous_sram_access_size` in elements.
pub const fn contiguous_run(config: &Config) -> usize {
    let entries = &config.entries;
    let mut k = entries.len;
    if k == 0 {
        return 1;
    }
    let inner = &entries.items[k - 1];
    if inner.stride != 1 {
        return 1;
    }
    let mut run = inner.size;
    k -= 1;
    while k > 0 {
        let outer = &entries.items[k - 1];
        if !outer.continues(&entries.items[k]) {
            break;
        }
        run *= outer.size;
        k -= 1;
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(entries: &[(usize, isize)], packet_size: usize) -> Config {
        let mut config = Config::new(packet_size);
        entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        config
    }

    #[test]
    fn eight_entries_stay_as_they_are_and_nine_merge() {
        let eight = config(&[(2, 128), (2, 64), (2, 32), (2, 16), (2, 8), (2, 4), (2, 2), (2, 1)], 2);
        assert_eq!(limited("read", eight), Ok(eight));
        let nine = config(&[(2, 0), (2, 128), (2, 64), (2, 32), (2, 16), (2, 8), (2, 4), (2, 2), (2, 1)], 2);
        assert_eq!(limited("read", nine).expect("merges").to_string(), "[2 : 0, 256 : 1] : 256");
    }

    #[test]
    fn a_refusal_lists_the_entries() {
        let nine = config(&[(2, 0), (3, 7), (2, 0), (3, 7), (2, 0), (3, 7), (2, 0), (3, 7), (2, -1)], 2);
        let error = limited("read", nine).expect_err("nothing merges");
        let list = "needs 9 entries, [2 : 0, 3 : 7, 2 : 0, 3 : 7, 2 : 0, 3 : 7, 2 : 0, 3 : 7, 2 : -1] : 2, and takes 8";
        assert!(error.message().contains(list), "{error}");
        let none = config_text(&config(&[], 1));
        assert_eq!(none.as_str(), "[] : 1");
    }

    #[test]
    fn only_what_merges_into_the_packet_enlarges_it() {
        // Broadcasts keep the other entries apart. `2 : 4` and `4 : 1` are one run: of packets of 4, or of 4 packets.
        let outside = [(2, 0), (3, 100), (2, 0), (3, 50), (2, 0), (3, 25), (2, 0)];
        let nine = [&outside[..], &[(2, 4), (4, 1)]].concat();
        let packets = limited("read", config(&nine, 4)).expect("merges");
        assert_eq!((packets.entries.len(), packets.packet_size), (8, 8));
        let elements = limited("read", config(&nine, 1)).expect("merges");
        assert_eq!((elements.entries.at(7), elements.packet_size), (Entry { size: 8, stride: 1 }, 1));
        // Entries outside the packet, as long as a packet.
        let nine = [&outside[..6], &[(2, 16), (4, 4), (4, 0)]].concat();
        let elements = limited("read", config(&nine, 4)).expect("merges");
        assert_eq!((elements.entries.at(6), elements.packet_size), (Entry { size: 8, stride: 4 }, 4));
    }

    #[test]
    fn strides_fit_32_bits() {
        let at = |stride| limited("read", config(&[(2, stride)], 1));
        assert!(at(i32::MAX as isize).is_ok() && at(i32::MIN as isize).is_ok());
        assert_eq!(at(i32::MAX as isize + 1).expect_err("too far").rule(), "stride limit");
        assert_eq!(at(i32::MIN as isize - 1).expect_err("too far").rule(), "stride limit");
    }

    #[test]
    fn runs() {
        assert_eq!(contiguous_run(&config(&[(3, 8), (8, 1)], 8)), 24);
        assert_eq!(contiguous_run(&config(&[(3, 9), (8, 1)], 8)), 8);
        assert_eq!(contiguous_run(&config(&[(3, 8), (8, 0)], 8)), 1);
        assert_eq!(accessed_run(&config(&[(3, 8), (8, 0)], 8)), 8);
        assert_eq!(accessed_run(&config(&[(3, 8), (2, 0), (4, 0)], 8)), 8);
        assert_eq!(accessed_run(&config(&[(3, 8), (8, 1)], 8)), 24);
        assert_eq!(contiguous_run(&config(&[(4, 2)], 1)), 1);
        assert_eq!(contiguous_run(&config(&[], 1)), 1);
    }
}
