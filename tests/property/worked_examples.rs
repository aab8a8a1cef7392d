//! The sixteen worked examples of the aligner: the derived configuration is the one of
//! the table, and executed over memories full of garbage it gives what the reference computes, bit for bit.

use crate::pipelines::{Values, check_values, describe};
use crate::program::Plan;
use crate::reference::cases::for_cases;
use crate::reference::contraction::{Contraction, Kind};
use crate::reference::mapping::Map;
use crate::reference::numbers::ElementType::{self, Bf16, I8};
use crate::reference::pipelines::Pipeline;
use crate::reference::random::Axes;

/// A row of the table, then what `contract` and `accumulate` make of it.
struct Example {
    number: usize,
    element: ElementType,
    axes: &'static [(&'static str, usize)],
    stream: [&'static str; 2],
    trf: [&'static str; 2],
    out: [&'static str; 2],
    /// `collect_flits`, `reg_read_size`, entries innermost first with strides in bytes.
    config: (usize, usize, &'static [(usize, isize)]),
    tree: &'static str,
    kept: &'static str,
    /// Time and packet of an interleaved accumulation.
    interleaved: [&'static str; 2],
}

#[rustfmt::skip]
const EXAMPLES: [Example; 17] = [
    Example {
        number: 1, element: Bf16, axes: &[("M", 32), ("N", 8), ("K", 16), ("L", 2), ("O", 2)],
        stream: ["M, O, L", "K"], trf: ["N", "O, K"], out: ["M, O", "L, K"],
        config: (2, 32, &[(2, 32), (32, 0)]),
        tree: "L", kept: "M, O", interleaved: ["M, O, L", "N"],
    },
    Example {
        number: 2, element: Bf16, axes: &[("M", 32), ("N", 8), ("K", 16)],
        stream: ["M", "K"], trf: ["N", "K"], out: ["M", "K # 32"],
        config: (1, 32, &[(32, 0)]),
        tree: "1", kept: "M", interleaved: ["M", "N"],
    },
    Example {
        number: 3, element: Bf16, axes: &[("M", 32), ("N", 8), ("K", 16), ("T", 5)],
        stream: ["M", "K"], trf: ["N", "T, K"], out: ["M, T", "K # 32"],
        config: (1, 32, &[(5, 32), (32, 0)]),
        tree: "1", kept: "M, T", interleaved: ["M, T", "N"],
    },
    Example {
        number: 4, element: Bf16, axes: &[("M", 32), ("N", 8), ("K", 32)],
        stream: ["M, K / 16", "K % 16"], trf: ["N", "K"], out: ["M", "K"],
        config: (2, 64, &[(32, 0)]),
        tree: "1", kept: "M", interleaved: ["M", "N"],
    },
    Example {
        number: 5, element: Bf16, axes: &[("M", 32), ("N", 8), ("K", 16), ("L", 2), ("O", 2)],
        stream: ["O, M, L", "K"], trf: ["N", "O, K"], out: ["O, M", "L, K"],
        config: (2, 32, &[(32, 0), (2, 32)]),
        tree: "L", kept: "O, M", interleaved: ["O, M, L", "N"],
    },
    Example {
        number: 6, element: Bf16, axes: &[("M", 32), ("N", 8), ("K", 16), ("L", 2), ("O", 2)],
        stream: ["M, O, L", "K"], trf: ["N", "O, M, K"], out: ["M, O", "L, K"],
        config: (2, 32, &[(2, 1024), (32, 32)]),
        tree: "L", kept: "M, O", interleaved: ["M, O, L", "N"],
    },
    Example {
        number: 7, element: Bf16, axes: &[("A", 32), ("B", 32), ("C", 8)],
        stream: ["A, B / 16", "B % 16"], trf: ["C", "B"], out: ["A", "B"],
        config: (2, 64, &[(32, 0)]),
        tree: "1", kept: "A", interleaved: ["A", "C"],
    },
    Example {
        number: 8, element: Bf16, axes: &[("K", 64), ("M", 4), ("N", 8)],
        stream: ["K / 16, M", "K % 16"], trf: ["N", "K"], out: ["K / 16, M", "K % 16 # 32"],
        config: (1, 32, &[(4, 0), (4, 32)]),
        tree: "K % 16 / 4", kept: "M", interleaved: ["M, K % 16 / 4", "N"],
    },
    Example {
        number: 9, element: Bf16, axes: &[("A", 2048)],
        stream: ["A / 16", "A % 16"], trf: ["1", "A"], out: ["A / 32", "A % 32"],
        config: (2, 64, &[(64, 64)]),
        tree: "1", kept: "1", interleaved: ["1", "1 # 8"],
    },
    // `K = 2048`, as documented, overflows the TRF: fewer and shorter rows, the same shape.
    Example {
        number: 10, element: Bf16, axes: &[("I", 8), ("J", 32), ("K", 256)],
        stream: ["I, J / 8 % 4, K / 16", "K % 16"], trf: ["J % 8", "J / 8 % 4, K"],
        out: ["I, J / 8 % 4, K / 32", "K % 32"],
        config: (2, 64, &[(8, 64), (4, 512), (8, 0)]),
        tree: "1", kept: "I, J / 8 % 4", interleaved: ["I, J / 8 % 4", "J % 8"],
    },
    Example {
        number: 11, element: I8, axes: &[("P", 6), ("Q", 4), ("C", 64), ("G", 8)],
        stream: ["P, Q, C / 32", "C % 32"], trf: ["G", "Q, C"], out: ["P, Q", "C"],
        config: (2, 64, &[(4, 64), (6, 0)]),
        tree: "1", kept: "P, Q", interleaved: ["P, Q", "G"],
    },
    // The same, with `Q` summed as well.
    Example {
        number: 11, element: I8, axes: &[("P", 6), ("Q", 4), ("C", 64), ("G", 8)],
        stream: ["P, Q, C / 32", "C % 32"], trf: ["G", "Q, C"], out: ["P, Q", "C"],
        config: (2, 64, &[(4, 64), (6, 0)]),
        tree: "1", kept: "P", interleaved: ["P", "G"],
    },
    Example {
        number: 12, element: Bf16, axes: &[("P", 6), ("C", 12), ("G", 4), ("S", 3)],
        stream: ["P", "C # 16"], trf: ["G", "S, C # 16"], out: ["P, S", "C # 32"],
        config: (1, 32, &[(3, 32), (6, 0)]),
        tree: "1", kept: "P, S", interleaved: ["P, S", "G # 8"],
    },
    Example {
        number: 13, element: Bf16, axes: &[("K", 16), ("V", 32), ("G", 8)],
        stream: ["K, V / 16", "V % 16"], trf: ["G", "K"], out: ["K", "V"],
        config: (2, 2, &[(16, 2)]),
        tree: "V", kept: "1", interleaved: ["V", "G"],
    },
    Example {
        number: 14, element: I8, axes: &[("P", 5), ("S", 4), ("C", 16), ("Y", 4), ("G", 8)],
        stream: ["P, S / 2", "S % 2, C"], trf: ["G", "Y, C"], out: ["P, Y", "S, C"],
        config: (2, 16, &[(4, 16), (5, 0)]),
        tree: "S", kept: "P, Y", interleaved: ["P, Y, S", "G"],
    },
    Example {
        number: 15, element: Bf16, axes: &[("P", 5), ("C", 12), ("G", 2), ("Y", 6)],
        stream: ["P", "C # 16"], trf: ["G", "Y % 3, Y / 3, C # 16"], out: ["P, Y", "C # 32"],
        config: (1, 32, &[(3, 64), (2, 32), (5, 0)]),
        tree: "1", kept: "P, Y", interleaved: ["P, Y", "G # 8"],
    },
    Example {
        number: 16, element: I8, axes: &[("P", 6), ("C", 256), ("G", 8)],
        stream: ["P, C / 32", "C % 32"], trf: ["G", "C"], out: ["P, C / 64", "C % 64"],
        config: (2, 64, &[(4, 64), (6, 0)]),
        tree: "1", kept: "P", interleaved: ["P", "G"],
    },
];

/// Documented rules that none of these examples needs. The numbers go on.
#[rustfmt::skip]
const MORE: [Example; 8] = [
    // W1: padding of the stream between the digits of a packet, where the weights go on.
    Example {
        number: 17, element: Bf16, axes: &[("T", 3), ("A", 4), ("B", 4), ("N", 8)],
        stream: ["T", "A, B = 3 # 4"], trf: ["N", "A, B"], out: ["T", "[A, B = 3 # 4] # 32"],
        config: (1, 32, &[(3, 0)]),
        tree: "1", kept: "T", interleaved: ["T", "N"],
    },
    // W1: reads of 32 bytes may start anywhere. 48 bytes are no multiple of them.
    Example {
        number: 18, element: Bf16, axes: &[("T", 3), ("G", 2), ("K", 16), ("N", 4)],
        stream: ["T", "K"], trf: ["N", "G, K # 24"], out: ["T, G", "K # 32"],
        config: (1, 32, &[(2, 48), (3, 0)]),
        tree: "1", kept: "T, G", interleaved: ["T, G", "N # 8"],
    },
    // S7: several tiling axes with two flits, in another order than in the TRF.
    Example {
        number: 19, element: I8, axes: &[("T", 3), ("C", 64), ("X", 2), ("Y", 3), ("N", 8)],
        stream: ["T, C / 32", "C % 32"], trf: ["N", "X, Y, C"], out: ["T, Y, X", "C"],
        config: (2, 64, &[(2, 192), (3, 64), (3, 0)]),
        tree: "C / 8", kept: "Y, X", interleaved: ["Y, X, C / 8", "N"],
    },
    // A tile of padding alone needs no counterpart in the TRF.
    Example {
        number: 20, element: Bf16, axes: &[("T", 3), ("K", 16), ("N", 2)],
        stream: ["T", "K"], trf: ["N", "K"], out: ["T, 1 # 2", "K # 32"],
        config: (1, 32, &[(2, 0), (3, 0)]),
        tree: "1", kept: "T, 1 # 2", interleaved: ["T, 1 # 2", "N # 8"],
    },
    // W7: no loop is one iteration.
    Example {
        number: 21, element: Bf16, axes: &[("K", 16), ("N", 8)],
        stream: ["1", "K"], trf: ["N", "K"], out: ["1", "K # 32"],
        config: (1, 32, &[(1, 0)]),
        tree: "1", kept: "1", interleaved: ["1", "N"],
    },
    // Padded tiles: the steps of the padding read on in the TRF, and what they read is not summed.
    Example {
        number: 22, element: Bf16, axes: &[("P", 2), ("T", 3), ("G", 2), ("K", 16), ("N", 8)],
        stream: ["P", "K"], trf: ["N", "G, T, K"], out: ["P, G, T # 4", "K # 32"],
        config: (1, 32, &[(4, 32), (2, 96), (2, 0)]),
        tree: "1", kept: "P, G", interleaved: ["P, G", "N"],
    },
    Example {
        number: 23, element: Bf16, axes: &[("P", 2), ("T", 3), ("K", 16), ("N", 8)],
        stream: ["P", "K"], trf: ["N", "T, K"], out: ["P, 1 # 2, T", "K # 32"],
        config: (1, 32, &[(6, 32), (2, 0)]),
        tree: "1", kept: "P", interleaved: ["P", "N"],
    },
    // A group that is padded as a whole, kept inside a sum.
    Example {
        number: 24, element: Bf16, axes: &[("S", 2), ("A", 3), ("B", 5), ("K", 16), ("N", 8)],
        stream: ["S, [A, B] # 16", "K"], trf: ["N", "K"], out: ["S, [A, B] # 16", "K # 32"],
        config: (1, 32, &[(16, 0), (2, 0)]),
        tree: "1", kept: "[A, B] # 16", interleaved: ["[A, B] # 16", "N"],
    },
];

fn all() -> Vec<&'static Example> {
    EXAMPLES.iter().chain(&MORE).collect()
}

impl Example {
    fn map(&self, text: &str) -> Map {
        Map::parse(text, self.axes)
    }

    fn pipeline(&self, kind: Kind) -> Pipeline {
        let [time, packet, row, trf] =
            [self.stream[0], self.stream[1], self.trf[0], self.trf[1]].map(|t| self.map(t));
        let lanes = self.element.per_flit();
        let (outer, flit) = match trf.size() == lanes {
            true => (Map::One, trf.clone()),
            false => (trf.stride(lanes), trf.modulo(lanes)),
        };
        let (data, weights) =
            (Map::sequence(&[time.clone(), packet.clone()]), Map::sequence(&[row.clone(), trf.clone()]));
        let used = |map: &Map| -> Axes {
            let axes = self.axes.iter().filter(|(name, _)| map.axes().contains_key(*name));
            axes.map(|(name, size)| (name.to_string(), *size)).collect()
        };
        let contraction = Contraction {
            element: self.element,
            prefix: vec![Map::One],
            stream_time: time.clone(),
            stream_packet: packet.clone(),
            row: row.clone(),
            trf_element: trf,
            out_time: self.map(self.out[0]),
            out_packet: self.map(self.out[1]),
            tree_packet: self.map(self.tree),
            kept_time: self.map(self.kept),
            kind,
        };
        let (out_time, out_packet) = contraction.output();
        let sum = if self.element.is_integer() { ElementType::I32 } else { ElementType::F32 };
        let weight_time = Map::sequence(&[row, outer]);
        Pipeline {
            seed: 0,
            axes: used(&Map::sequence(&[data.clone(), weights.clone()])),
            data_axes: used(&data),
            weight_axes: used(&weights),
            slice: Map::One.pad(256),
            data_element: data,
            weight_element: weights,
            data_fetch: [time, packet],
            weight_fetch: [weight_time.clone(), flit.clone()],
            weight_collect: [weight_time, flit],
            contraction,
            sum,
            stored: sum,
            stored_packet: out_packet.clone(),
            transposed: None,
            result_element: Map::sequence(&[out_time, out_packet]),
        }
    }
}

#[test]
fn configurations_are_those_of_the_table() {
    let numbers: std::collections::BTreeSet<usize> = EXAMPLES.iter().map(|example| example.number).collect();
    assert!(numbers.into_iter().eq(1..=16), "every example is there");
    for example in all() {
        let case = example.pipeline(Kind::Interleaved);
        let plan = Plan::derive(&case).unwrap_or_else(|error| panic!("{}: {error}", example.number));
        let (stream, trf) = (plan.align.stream_adapter, plan.align.trf_sequencer);
        let entries: Vec<_> =
            trf.config.entries.iter().rev().map(|entry| (entry.size, entry.stride)).collect();
        let found = (stream.collect_flits, trf.reg_read_size, &entries[..]);
        assert_eq!(found, example.config, "example {}", example.number);
        let derived = trf.derived.entries.len().max(1);
        assert_eq!(derived, trf.config.entries.len(), "nothing is merged in example {}", example.number);
        // The rest follows from the mappings.
        let c = &case.contraction;
        let tile = c.out_time.size() * stream.collect_flits / c.stream_time.size();
        assert_eq!((stream.tile, stream.rows), (tile, c.row.size()));
        assert_eq!(stream.packets * stream.collect_flits, c.stream_time.size());
        assert_eq!((stream.zero_bytes, trf.fill), (64 - 32 * stream.collect_flits, 64 / trf.reg_read_size));
        assert_eq!(plan.align.steps, c.out_time.size());
        let (time, packet) = c.output();
        let [expected_time, expected_packet] = example.interleaved.map(|text| example.map(text));
        assert!(time.equivalent(&expected_time) && packet.equivalent(&expected_packet), "{}", example.number);
    }
}

/// Ordinary numbers interleaved; NaN, infinities and the like, too, where the sequential kind fits.
#[test]
fn executed() {
    let examples = all();
    for_cases(examples.len() as u64, |random| {
        let example = examples[random.seed as usize % examples.len()];
        for (kind, values) in [(Kind::Interleaved, Values::Plain), (Kind::Sequential, Values::Special)] {
            let case = example.pipeline(kind);
            let plan = match Plan::derive(&case) {
                Ok(plan) => plan,
                Err(error) if kind == Kind::Sequential && error.rule() == "accumulate buffer" => continue,
                Err(error) => return Err(format!("example {}: {error}", example.number)),
            };
            let outcome = check_values(random, &case, &plan, values, true);
            outcome.map_err(|text| format!("example {}: {}\n{text}", example.number, describe(&case)))?;
        }
        Ok(())
    });
}
