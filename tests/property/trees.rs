//! The depth of the adder tree: what the library derives is what the reference finds by trying every
//! depth position by position, for packets that fit and for packets that do not.

use crate::bridge::expr;
use crate::machine::library_type;
use crate::pipelines::TYPES;
use crate::reference::cases::for_cases;
use crate::reference::contraction::tree_depth;
use crate::reference::digits::{content, repad, strip};
use crate::reference::mapping::Map;
use crate::reference::packets::{Names, packet_plan};
use crate::reference::random::Axes;
use furiosa_visa_std::engine::contraction::{ContractRequest, derive_contract};
use std::cell::Cell;

#[test]
fn depths() {
    let seen: [Cell<usize>; 2] = Default::default();
    for_cases(600, |random| {
        let element = random.pick(&TYPES);
        let mut names = Names { axes: Axes::new() };
        let packet = packet_plan(random, &mut names, element).out;
        let depth = random.below(packet.size().ilog2() as usize + 1);
        let kept = packet.stride(1 << depth);
        let columns = strip(&kept);
        let width = content(&kept);
        let out = match random.below(8) {
            0 => kept,
            1 => columns,
            2 => packet.modulo(1 << depth),
            3 => columns.pad(width + 1),
            4 => Map::sequence(&[names.fresh(2), columns]),
            5 => repad(&columns, 2 * width.next_power_of_two()),
            _ => repad(&columns, width.next_power_of_two()),
        };
        let request =
            ContractRequest { element: library_type(element), packet: expr(&packet), out_packet: expr(&out) };
        let text = format!("{element:?} {packet} to {out}");
        match (derive_contract(&request), tree_depth(&packet, &out)) {
            (Ok(found), Ok(depth)) if found.depth == depth && found.columns == content(&out) => {
                seen[0].set(seen[0].get() + 1);
                Ok(())
            }
            (Err(_), Err(_)) => {
                seen[1].set(seen[1].get() + 1);
                Ok(())
            }
            (found, depth) => Err(format!("{text}: {found:?}, but {depth:?}")),
        }
    });
    if std::env::var("VISA_CASES").is_err() {
        assert!(seen.iter().all(|count| count.get() > 150), "{seen:?}");
    }
}
