//! Dead positions before a block, `m![# 2 + B + # 4]`: what the loops over it read.

use crate::bridge::expr;
use crate::reference::cases::for_cases;
use crate::reference::mapping::Map;
use crate::reference::random::{Margins, Random, random_axes, random_move, with_unit};
use crate::reference::sequencer::{exists_configuration, odometer, wanted};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::mapping::{Pool, factorize};
use furiosa_visa_std::sequencer::{Config, Request, StreamPart, derive, limited};
use std::cell::Cell;

fn derived([buf, time, packet]: [&Map; 3], as_factors: bool) -> Result<Config, PlanError> {
    let mut pool = Pool::new();
    let [buffer, time_factors, packet_factors] =
        [buf, time, packet].map(|map| factorize(&mut pool, expr(map)));
    let (time, packet) = match as_factors {
        true => (StreamPart::Factors(&time_factors), StreamPart::Factors(&packet_factors)),
        false => (StreamPart::Expr(expr(time)), StreamPart::Expr(expr(packet))),
    };
    let request = Request::new("read", &buffer, time, packet);
    Ok(derive(&mut pool, &request)?.config)
}

/// Every live position of the stream reads its element; dead ones read anything.
fn check_read([buf, time, packet]: [&Map; 3], config: &Config) -> Result<(), String> {
    let entries: Vec<_> = config.entries.iter().map(|entry| (entry.size, entry.stride)).collect();
    let (wanted, read) = (wanted(buf, time, packet)?, odometer(&entries));
    if wanted.len() != read.len() {
        return Err(format!("the stream has {} positions, the entries {}", wanted.len(), read.len()));
    }
    let wrong = wanted
        .iter()
        .zip(&read)
        .position(|(wanted, read)| wanted.is_some_and(|wanted| wanted as isize != read + config.base));
    match wrong {
        Some(at) => {
            Err(format!("position {at} reads {} instead of {:?}", read[at] + config.base, wanted[at]))
        }
        None => Ok(()),
    }
}

/// Whether the stream could be read but for the dead positions: their place says nothing about others.
fn exists([buf, time, packet]: [&Map; 3]) -> bool {
    time.size() * packet.size() <= 96 && exists_configuration(buf, time, packet)
}

/// How many reads were accepted, how many of them do not start at position 0, and how many were refused.
#[derive(Default)]
struct Counts {
    accepted: Cell<usize>,
    moved: Cell<usize>,
    refused: Cell<usize>,
}

impl Counts {
    fn check(&self, random: &mut Random, maps: [&Map; 3], groups: bool) -> Result<(), String> {
        if maps[0].size() > 1024 || maps[1].size() * maps[2].size() > 1024 {
            return Ok(());
        }
        let with = |text: String| format!("Buf {}, Time {}, Packet {}\n{text}", maps[0], maps[1], maps[2]);
        let as_factors = random.chance(20);
        match derived(maps, as_factors) {
            Ok(config) => {
                self.accepted.set(self.accepted.get() + 1);
                self.moved.set(self.moved.get() + usize::from(config.base != 0));
                check_read(maps, &config).map_err(|text| with(format!("{text}, {config}")))?;
                match limited("read", config) {
                    Ok(merged) => check_read(maps, &merged).map_err(|text| with(format!("{text}, {merged}"))),
                    Err(error) if error.rule() == "entry limit" => Ok(()),
                    Err(error) => Err(with(error.to_string())),
                }
            }
            // A buffer that holds a block in two places is read with its own dead positions only.
            // Cut elsewhere, few live positions may happen to lie on a line.
            Err(error)
                if ["not factorizable", "incompatible shapes"].contains(&error.rule()) || !exists(maps) =>
            {
                self.refused.set(self.refused.get() + 1);
                Ok(())
            }
            Err(_) if groups => Ok(()),
            Err(error) => Err(with(error.to_string())),
        }
    }

    fn are_enough(&self) {
        let counts = [self.accepted.get(), self.moved.get(), self.refused.get()];
        println!("accepted, not from 0, refused: {counts:?}");
        let enough = counts[0] > 1500 && counts[1] > 500 && counts[2] * 4 < counts[0];
        assert!(enough || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
    }
}

#[test]
fn streams_and_buffers_with_margins() {
    let counts = Counts::default();
    for_cases(3000, |random| {
        let groups = random.chance(20);
        let case = random_move(random, [1, 2], true, groups, Margins::Any);
        counts.check(random, [&case.source[0], &case.destination[0], &case.destination[1]], groups)
    });
    counts.are_enough();
}

/// Blocks that are equal but for their axes, most of which have one coordinate.
#[test]
fn equal_blocks() {
    let counts = Counts::default();
    for_cases(3000, |random| {
        let groups = random.chance(30);
        let case = random_move(random, [1, 2], true, groups, Margins::Equal);
        let buf = with_unit(random, case.source[0].clone());
        let buf = with_unit(random, buf);
        let [time, packet] = [0, 1].map(|k| with_unit(random, case.destination[k].clone()));
        counts.check(random, [&buf, &time, &packet], groups)
    });
    counts.are_enough();
}

/// Whole blocks are never refused: whatever margins the buffer and the stream have.
#[test]
fn whole_blocks_are_always_read() {
    for_cases(1000, |random| {
        let count = random.between(1, 3);
        let axes = random_axes(random, count);
        let mut members = || -> Vec<Map> {
            let mut list: Vec<Map> = axes
                .iter()
                .map(|(name, size)| {
                    Map::axis(name, *size).margin(random.pick(&[0, 0, 1, 2, 5]), random.below(3))
                })
                .collect();
            random.shuffle(&mut list);
            list
        };
        let buf = Map::sequence(&members());
        let mut stream = members();
        let packet = stream.pop().unwrap_or(Map::One);
        let time = Map::sequence(&stream);
        let maps = [&buf, &time, &packet];
        let with = |text: String| format!("Buf {buf}, Time {time}, Packet {packet}\n{text}");
        let config = derived(maps, false).map_err(|error| with(error.to_string()))?;
        check_read(maps, &config).map_err(|text| with(format!("{text}, {config}")))
    });
}

#[test]
fn the_comparison_finds_another_start() {
    let maps = ["A, B # 8", "# 1 + A", "# 2 + B + # 1"].map(|text| Map::parse(text, &[("A", 3), ("B", 5)]));
    let maps = maps.each_ref();
    let mut config = derived(maps, false).expect("is read");
    assert_eq!(
        (config.to_string().as_str(), check_read(maps, &config)),
        ("[4 : 8, 8 : 1] : 8 @ base -10", Ok(()))
    );
    config.base += 1;
    assert!(check_read(maps, &config).is_err());
}

/// Blocks with dead positions before them next to other digits, in cases that random reads meet seldom: what is read, and what not.
#[test]
fn blocks_next_to_other_digits() {
    type Case = (&'static [(&'static str, usize)], [&'static str; 3], bool);
    const CASES: &[Case] = &[
        (
            &[("A", 6), ("B", 2), ("C", 8)],
            ["A / 2, [# 3 + B + # 1] / 3, A % 2, [# 3 + B + # 1] % 3", "C, B + # 1", "A % 2, A / 2"],
            false,
        ),
        (
            &[("A", 12), ("B", 2), ("C", 2)],
            ["A % 6, [# 3 + B], A / 6", "A % 6, [# 3 + B + # 3] / 2, A / 6", "[# 3 + B + # 3] % 2, C"],
            true,
        ),
        (&[("A", 4), ("B", 3)], ["# 5 + A + # 1", "1", "[[A], B] # 18"], true),
        (&[("A", 4)], ["[# 1 + A + # 3] % 4, [# 1 + A + # 3] / 4", "1", "[# 1 + A + # 2] # 8"], true),
        (
            &[("A", 4), ("B", 8), ("C", 4)],
            ["# 1 + [A, B] + # 1", "[# 2 + [A, B] + # 6] % 4", "[# 2 + [A, B] + # 6] / 4, C"],
            true,
        ),
    ];
    for (axes, maps, is_read) in CASES {
        let maps = maps.map(|text| Map::parse(text, axes));
        let maps = maps.each_ref();
        let outcome = derived(maps, false).map(|config| check_read(maps, &config));
        let refused = outcome.is_err() && !is_read;
        assert!(refused || outcome == Ok(Ok(())), "{maps:?}: {outcome:?}");
    }
}
