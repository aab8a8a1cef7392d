//! Memsets: derived from random mappings, executed by the simulated chips over memory full of values that mean nothing,
//! against the definition: live positions hold the value, and all others what they held.

use crate::copies::{borrowed, random_tensor, text};
use crate::machine::{Machine, region, shape};
use crate::moves::{TYPES, compare, garbage};
use crate::reference::cases::for_cases;
use crate::reference::mapping::{Map, joint_table};
use crate::reference::random::Random;
use furiosa_visa_std::command::{FillId, Memory, Memset, Operation};
use furiosa_visa_std::engine::memset::{MEMSET_ELEMENTS, derive_memset};
use furiosa_visa_std::lower::{Tensor, memset};
use furiosa_visa_std::scalar::ElementType;
use std::cell::Cell as Counter;

/// Sets a tensor at `address` that holds garbage.
fn run(
    random: &mut Random,
    element: ElementType,
    dims: &[Map],
    address: u64,
    change: impl Fn(&mut Memset),
) -> Result<(), String> {
    let shape = shape(Memory::Dm, element, &borrowed(dims));
    let region = region(&shape, address, FillId(2));
    let code = (random.below(1 << 16) as u32 * 0x1_0001) & (((1u64 << element.bits()) - 1) as u32);
    let command = memset(&Tensor { shape, region }, code).map_err(|error| error.to_string())?;
    let Operation::Memset(mut command) = command else { panic!("it is a memset") };
    change(&mut command);
    let total = dims.iter().map(Map::size).product();
    let old = garbage(random, element, total);
    let mut machine = Machine::new(true);
    // As the filling that is set: the rest stays.
    machine.write(&region, FillId(2), &old);
    machine.give(Operation::Memset(command))?;
    compare(&borrowed(dims), &machine.read(&region), &vec![Some(code); total], &old)
}

/// Whether the words of the loop hold all live positions of each slice.
fn words_hold_all(element: ElementType, dims: &[Map], address: u64) -> Result<(), String> {
    let shape = shape(Memory::Dm, element, &borrowed(dims));
    let command = memset(&Tensor { shape, region: region(&shape, address, FillId(2)) }, 0);
    let Ok(Operation::Memset(command)) = command else { return Err(format!("{command:?}")) };
    let words = command.words();
    let mut starts = vec![words.base];
    for entry in words.entries.iter() {
        let turns = |start: &isize| {
            let start = *start;
            (0..entry.size as isize).map(move |k| start + k * entry.stride)
        };
        starts = starts.iter().flat_map(turns).collect();
    }
    let bits = element.bits() as isize;
    let aligned = (address as isize * 8 + words.base * bits).rem_euclid(32) == 0;
    let elements = dims[3].size();
    let mut held = vec![false; elements];
    for start in &starts {
        for position in *start..*start + words.packet_size as isize {
            if let Some(held) = usize::try_from(position).ok().and_then(|position| held.get_mut(position)) {
                *held = true;
            }
        }
    }
    let live = joint_table(&borrowed(dims));
    let lost = (0..live.len()).find(|&k| live[k].is_some() && !held[k % elements]);
    match (aligned, lost) {
        (true, None) => Ok(()),
        _ => Err(format!("the loop {words} of words, aligned: {aligned}, leaves out {lost:?}")),
    }
}

#[test]
fn every_live_position_and_no_other() {
    let (sets, refused) = (Counter::new(0), Counter::new(0));
    let count = |counter: &Counter<usize>| counter.set(counter.get() + 1);
    for_cases(400, |random| {
        let element = random.pick(&[&TYPES[..], MEMSET_ELEMENTS].concat());
        let (dims, _) = random_tensor(random);
        let shown = |error: String| Err(format!("{element} {}\n{error}", text(&dims)));
        let address = (random.below(64) * element.bits().div_ceil(8)) as u64;
        match derive_memset(&shape(Memory::Dm, element, &borrowed(&dims))) {
            Ok(_) => count(&sets),
            Err(error) if error.rule() == "memset type" && !MEMSET_ELEMENTS.contains(&element) => {
                count(&refused);
                return Ok(());
            }
            Err(error) => return shown(error.to_string()),
        }
        words_hold_all(element, &dims, address).or_else(shown)?;
        run(random, element, &dims, address, |_| {}).or_else(shown)
    });
    let counts = [sets.get(), refused.get()];
    assert!(counts[0] > 200 && counts[1] > 5 || std::env::var("VISA_CASES").is_ok(), "{counts:?}");
}

/// The comparison finds another value, and loops that end early or write padding.
#[test]
fn wrong_memsets_are_found() {
    let dims: Vec<Map> =
        ["1", "1", "S", "A # 8"].iter().map(|text| Map::parse(text, &[("A", 5), ("S", 4)])).collect();
    let mut random = Random::new(7);
    let mut outcome = |change: &dyn Fn(&mut Memset)| run(&mut random, ElementType::I8, &dims, 64, change);
    assert_eq!(outcome(&|_| {}), Ok(()));
    assert!(outcome(&|own| own.immediate ^= 0x1010_1010).is_err());
    let resized = |size: usize| {
        move |own: &mut Memset| {
            own.moves.loops.as_mut_slice().last_mut().expect("a loop").size = size;
        }
    };
    assert!(outcome(&resized(4)).is_err() && outcome(&resized(6)).is_err());
}
