//! Passes of the Tensor Unit from one layout in DM to another: what is a packet, and in which order packets go.
//!
//! ```text
//!   without the Transpose Engine    a packet is the innermost part of the destination
//!   with it                         a packet is the innermost part of the source, and its rows are the innermost part of
//!                                   the destination
//! ```
//!
//! Digits of the slices that become elements arrive in the place of those that leave to the slices, innermost or outermost in
//! time. The others go in the order of the source or of the destination. All are tried: rules refuse what an engine
//! cannot do.

use super::digits::{
    Part, Parts, Values, has, in_order_of, innermost, padded_text, parts_of, refine, shared, size_of,
    text_of, units_of, without,
};
use furiosa_visa_rules::command::Transpose;
use furiosa_visa_rules::lower::Call;
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;

/// The mappings of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Time and packet as they are read.
    pub fetch: [&'static Expr; 2],
    /// Slice and time behind the Switch Engine, if it moves packets.
    pub switch: Option<[&'static Expr; 2]>,
    /// Time and packet of flits.
    pub collect: [&'static Expr; 2],
    /// Time and packet behind the Transpose Engine, if it is used.
    pub transpose: Option<[&'static Expr; 2]>,
}

impl Pass {
    /// The pass, in words.
    pub fn name(&self) -> &'static str {
        match (self.switch, self.transpose) {
            (None, None) => "pass",
            (Some(_), None) => "pass with switch",
            (None, Some(_)) => "pass with transpose",
            (Some(_), Some(_)) => "pass with switch and transpose",
        }
    }

    /// The calls between `begin` and `commit`.
    pub fn calls(&self, element: ElementType) -> Vec<Call> {
        let [time, packet] = self.fetch;
        let mut calls = vec![Call::Fetch { output: element, time, packet }];
        calls.extend(self.switch.map(|[slice, time]| Call::Switch { config: None, slice, time }));
        let [time, packet] = self.collect;
        calls.push(Call::Collect { time, packet });
        calls.extend(self.transpose.map(|[time, packet]| Call::Transpose { time, packet }));
        calls
    }
}

/// Both sides of a pass as lists of digits.
struct Sides<'a> {
    element: ElementType,
    values: &'a Values,
    from: [Parts; 2],
    to: [Parts; 2],
    /// The slices of the destination, if they are others.
    slice: Option<&'static Expr>,
    found: Vec<Pass>,
}

/// Passes from slice and element of a tensor to those of another one.
pub fn passes(
    element: ElementType,
    from: [&'static Expr; 2],
    to: [&'static Expr; 2],
    values: &Values,
) -> Vec<Pass> {
    let slice = (from[0] != to[0]).then_some(to[0]);
    let (slices, elements) = ([from[0], to[0]].map(units_of), [from[1], to[1]].map(parts_of));
    let ([Some(from_slice), Some(to_slice)], [Some(from_element), Some(to_element)]) = (slices, elements)
    else {
        return without_digits(element, slice, to[1], values);
    };
    let mut sides = Sides {
        element,
        values,
        from: [from_slice, from_element],
        to: [to_slice, to_element],
        slice,
        found: Vec::new(),
    };
    for bytes in spec::COMMIT_SIZES.into_iter().rev() {
        // None: the destination has no such part, or digits are cut in two ways.
        let _ = sides.plain(8 * bytes / element.bits());
    }
    let full = Transpose::packet_elements(element);
    for columns in [full, full / 2] {
        for packets in [1, 2, 4] {
            let _ = sides.transposed(columns, packets);
        }
    }
    sides.found
}

/// Passes to an order that is known as a whole alone.
fn without_digits(
    element: ElementType,
    slice: Option<&'static Expr>,
    to: &'static Expr,
    values: &Values,
) -> Vec<Pass> {
    let of_window = |bytes: usize| {
        let (window, flit) = (8 * bytes / element.bits(), 8 * spec::FLIT_BYTES / element.bits());
        let [time, packet] =
            [values.of(&format!("[{to}] / {window}"))?, values.of(&format!("[{to}] % {window}"))?];
        let flit = values.of(&format!("[[{to}] % {window}] # {flit}"))?;
        let switch = slice.map(|slice| [slice, time]);
        Some(Pass { fetch: [time, packet], switch, collect: [time, flit], transpose: None })
    };
    spec::COMMIT_SIZES.into_iter().rev().filter_map(of_window).collect()
}

impl Sides<'_> {
    fn flit(&self) -> usize {
        8 * spec::FLIT_BYTES / self.element.bits()
    }

    fn add(
        &mut self,
        [before, after]: [&[Part]; 2],
        packet: &[Part],
        transpose: Option<[&'static Expr; 2]>,
    ) -> Option<()> {
        let [before, time] = [self.values.of_parts(before)?, self.values.of_parts(after)?];
        let flit = self.values.of(&padded_text(packet, self.flit()))?;
        let pass = Pass {
            fetch: [before, self.values.of_parts(packet)?],
            switch: self.slice.map(|slice| [slice, time]),
            collect: [time, flit],
            transpose,
        };
        if !self.found.contains(&pass) {
            self.found.push(pass);
        }
        Some(())
    }

    /// Passes that write this many elements of a packet.
    fn plain(&mut self, window: usize) -> Option<()> {
        let [rest, packet] = innermost(&self.to[1], window)?;
        let [from_slice, from] = self.from.clone();
        let mut lists = [from, from_slice, self.to[0].clone(), rest, packet];
        refine(&mut lists)?;
        let [from, from_slice, to_slice, rest, packet] = lists;
        if !shared(&packet, &from_slice).is_empty() {
            return None;
        }
        let (arriving, leaving) = (shared(&rest, &from_slice), shared(&from, &to_slice));
        for after in orders(&rest, &arriving, &from) {
            for before in befores(&after, &arriving, &leaving) {
                self.add([&before, &after], &packet, None)?;
            }
        }
        Some(())
    }

    /// Passes that transpose packets of `columns` elements, `packets` of them to a row.
    fn transposed(&mut self, columns: usize, packets: usize) -> Option<()> {
        let rows = 8 * spec::TRANSPOSE_ROW_BYTES / self.element.bits();
        let [rest, rows] = innermost(&self.to[1], rows)?;
        let [from_slice, from] = self.from.clone();
        let [_, block] = innermost(&from, columns * packets)?;
        let [group, packet] = innermost(&block, columns)?;
        let mut lists = [from, from_slice, self.to[0].clone(), rest, rows, group, packet];
        refine(&mut lists)?;
        let [from, from_slice, to_slice, rest, rows, group, packet] = lists;
        // What the engine takes from time to the packet and back are different digits of the destination.
        let exchanged: Parts = group.iter().chain(&packet).copied().collect();
        if !exchanged.iter().all(|part| has(&rest, part)) {
            return None;
        }
        let [group, lanes] = [&group, &packet].map(|list| in_order_of(&shared(&rest, list), list));
        let others = without(&rest, &exchanged);
        let flit = self.values.of(&padded_text(&rows, self.flit()))?;
        let rows = without_lead(rows);
        let coming = |list: &[Part]| shared(list, &from_slice);
        let leaving = shared(&from, &to_slice);
        let arriving: Parts = coming(&others).into_iter().chain(coming(&rows)).collect();
        for outer in orders(&others, &coming(&others), &from) {
            let after: Parts = outer.iter().chain(&rows).chain(&group).copied().collect();
            let time: Parts = outer.iter().chain(&group).chain(&lanes).copied().collect();
            let transpose = Some([self.values.of_parts(&time)?, flit]);
            for before in befores(&after, &arriving, &leaving) {
                self.add([&before, &after], &packet, transpose)?;
            }
        }
        Some(())
    }
}

/// A list without the padding outside of its first digit.
fn without_lead(parts: Parts) -> Parts {
    let mut rest: Parts = parts.into_iter().skip_while(|part| part.digit.is_none()).collect();
    if let Some(first) = rest.first_mut() {
        first.size = size_of(&super::digits::live(&[*first]));
    }
    rest
}

/// Orders of time behind the switch. `arriving` are those of `parts` that were slices.
fn orders(parts: &[Part], arriving: &[Part], source: &[Part]) -> Vec<Parts> {
    let own = without(parts, arriving);
    let sorted = in_order_of(&own, source);
    let joined = |a: &[Part], b: &[Part]| a.iter().chain(b).copied().collect::<Parts>();
    let mut orders = vec![
        joined(&own, arriving),
        joined(&sorted, arriving),
        joined(arriving, &own),
        joined(arriving, &sorted),
        parts.to_vec(),
    ];
    let mut known = Vec::new();
    orders.retain(|order| {
        let text = text_of(order);
        let is_new = !known.contains(&text);
        known.push(text);
        is_new
    });
    orders
}

/// Orders of time ahead of the switch: what leaves stands in the place of what arrives, or outermost, or innermost.
fn befores(after: &[Part], arriving: &[Part], leaving: &[Part]) -> Vec<Parts> {
    let rest = without(after, arriving);
    if leaving.is_empty() {
        return vec![rest];
    }
    let joined = |a: &[Part], b: &[Part]| a.iter().chain(b).copied().collect::<Parts>();
    let Some(place) = after.iter().position(|part| has(arriving, part)) else {
        return vec![joined(leaving, &rest), joined(&rest, leaving)];
    };
    let [head, tail] = [&after[..place], &after[place..]].map(|list| without(list, arriving));
    vec![joined(&joined(&head, leaving), &tail)]
}
