//! Windows against the reference: which element every position of a stream reads, what is refused, and what a pass over
//! windows leaves in memory.

use crate::bridge::expr;
use crate::machine::{encode, library_type, same};
use crate::program::{Stage, guard};
use crate::reference::adapter::{Access, check_accesses};
use crate::reference::cases::for_cases;
use crate::reference::engines::flits;
use crate::reference::mapping::{Coordinates, Map, joint_table};
use crate::reference::numbers::{ElementType, Number};
use crate::reference::random::{Axes, Random, borrowed};
use crate::reference::sequencer::{dropped_digits, odometer, search};
use crate::reference::tensor::MathTensor;
use crate::reference::windows::{Part, Window, elements, wanted_in_windows};
use furiosa_visa_std::PlanError;
use furiosa_visa_std::command::{Collect, Fetch, Sink, TensorUnit};
use furiosa_visa_std::engine::collect::{CollectRequest, derive_collect};
use furiosa_visa_std::engine::fetch::{FetchRequest, check_packet, derive_fetch};
use furiosa_visa_std::mapping::{Pool, factorize};
use furiosa_visa_std::sequencer::{self, Config, Entry, Request, StreamPart, derive, limited};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Longer streams are cut down.
const LONGEST: usize = 512;
/// Longer ones are not searched for loops that the library has missed.
const SEARCHED: usize = 96;

/// A tensor, its windows, and a stream of the view.
#[derive(Clone)]
struct Case {
    axes: Axes,
    memory: Map,
    /// The tensor with the digits of the windows in place of their inputs.
    view: Map,
    windows: Vec<Window>,
    time: Map,
    packet: Map,
}

impl Case {
    fn text(&self) -> String {
        let windows: Vec<String> = self.windows.iter().map(|own| window(own).to_string()).collect();
        format!(
            "{:?}\nBuf {}, windows {windows:?}, Time {}, Packet {}",
            self.axes, self.memory, self.time, self.packet
        )
    }

    fn positions(&self) -> usize {
        self.time.size() * self.packet.size()
    }

    /// The elements of the stream.
    fn elements(&self) -> Vec<Option<Coordinates>> {
        elements(&self.windows, &self.time, &self.packet)
    }
}

fn window(own: &Window) -> sequencer::Window {
    sequencer::Window {
        input: expr(&own.input.map()),
        output: expr(&own.output.map()),
        window: expr(&own.window.map()),
        stride: own.stride,
        dilation: own.dilation,
    }
}

/// A digit of an axis that has parts outside of it, or inside.
fn part_of(random: &mut Random, axis: &str, modulus: usize) -> Part {
    let (inside, outside) = (random.pick(&[1, 2, 3]), random.pick(&[1, 2]));
    Part { axis: axis.to_string(), size: inside * modulus * outside, weight: inside, modulus }
}

fn random_window(random: &mut Random, k: usize) -> Window {
    let name = |letter: char| format!("{letter}{k}");
    let input = random.between(1, 12);
    let (stride, dilation) = (random.pick(&[1, 1, 1, 2, 3, 4]), random.pick(&[1, 1, 1, 2, 3]));
    let longest = ((input - 1) / dilation + 1).min(5);
    let inside = random.between(1, longest);
    let most = (input - 1 - (inside - 1) * dilation) / stride + 1;
    let output = if random.chance(60) { most } else { random.between(1, most) };
    let part = |random: &mut Random, letter: char, modulus: usize| match random.below(5) {
        0 => part_of(random, &name(letter), modulus),
        _ => Part::whole(&name(letter), modulus),
    };
    let [input, output, window] =
        [('H', input), ('O', output), ('K', inside)].map(|(letter, size)| part(random, letter, size));
    Window { input, output, window, stride, dilation }
}

/// A digit, at times in two parts.
fn parts(random: &mut Random, digit: Map) -> Vec<Map> {
    let size = digit.size();
    let cuts: Vec<usize> = (2..size).filter(|cut| size.is_multiple_of(*cut)).collect();
    if cuts.is_empty() || random.chance(75) {
        return vec![digit];
    }
    let cut = random.pick(&cuts);
    vec![digit.stride(cut), digit.modulo(cut)]
}

/// A tensor and a stream that names every digit of its view once, in any order and parts, with padding around each.
fn random_case(random: &mut Random) -> Case {
    loop {
        let count = random.pick(&[1, 1, 1, 2, 2, 3]);
        let windows: Vec<Window> = (0..count).map(|k| random_window(random, k)).collect();
        let mut axes: Axes = Vec::new();
        for own in &windows {
            axes.extend([&own.input, &own.output, &own.window].map(|part| (part.axis.clone(), part.size)));
        }
        // What is in memory, and the same as the stream names it.
        let mut held: Vec<[Vec<Map>; 2]> = windows
            .iter()
            .map(|own| [vec![own.input.map()], vec![own.output.map(), own.window.map()]])
            .collect();
        for name in ["C", "D"].into_iter().take(random.below(3)) {
            let size = random.between(1, 6);
            axes.push((name.to_string(), size));
            held.push([vec![Map::axis(name, size)], vec![Map::axis(name, size)]]);
        }
        random.shuffle(&mut held);
        let (mut memory, mut view, mut stream) = (Vec::new(), Vec::new(), Vec::new());
        for [own, named] in held {
            let own = Map::sequence(&own);
            let (size, lead) = (own.size(), random.pick(&[0, 0, 0, 0, 0, 0, 1, 2]));
            memory.push(match random.below(5) {
                0 => own.pad(size + random.below(4)),
                1 if lead > 0 && size > 1 => own.margin(lead, random.below(3)),
                _ => own,
            });
            view.extend(named.clone());
            for digit in named {
                stream.extend(parts(random, digit));
            }
        }
        if random.chance(30) {
            let size = random.between(2, 3);
            axes.push(("X".to_string(), size));
            stream.push(Map::axis("X", size));
        }
        random.shuffle(&mut stream);
        for digit in &mut stream {
            let size = digit.size();
            match random.below(8) {
                0 => *digit = digit.pad(size + random.below(3)),
                1 if size > 1 && !matches!(digit, Map::Stride(..) | Map::Modulo(..)) => {
                    *digit = digit.margin(random.pick(&[0, 1, 2]), random.below(2));
                }
                _ => {}
            }
        }
        let inside = stream.split_off(random.between(0, stream.len()));
        let case = Case {
            axes,
            memory: Map::sequence(&memory),
            view: Map::sequence(&view),
            windows,
            time: Map::sequence(&stream),
            packet: Map::sequence(&inside),
        };
        if case.positions() <= LONGEST && case.memory.size() <= 4 * LONGEST {
            return case;
        }
    }
}

fn derived(case: &Case, as_factors: bool) -> Result<Config, PlanError> {
    let mut pool = Pool::new();
    let [buf, time, packet] = [&case.memory, &case.time, &case.packet].map(expr);
    let [buffer, time_factors, packet_factors] = [buf, time, packet].map(|map| factorize(&mut pool, map));
    let windows: Vec<sequencer::Window> = case.windows.iter().map(window).collect();
    let (time, packet) = match as_factors {
        true => (StreamPart::Factors(&time_factors), StreamPart::Factors(&packet_factors)),
        false => (StreamPart::Expr(time), StreamPart::Expr(packet)),
    };
    let request =
        Request { buf_expr: Some(buf), windows: &windows, ..Request::new("read", &buffer, time, packet) };
    Ok(derive(&mut pool, &request)?.config)
}

/// Every live position of the stream reads its element; dead ones read anything.
fn check_read(case: &Case, config: &Config) -> Result<(), String> {
    let entries: Vec<_> = config.entries.iter().map(|entry| (entry.size, entry.stride)).collect();
    let wanted = wanted_in_windows(&case.memory, &case.windows, &case.time, &case.packet)?;
    let read = odometer(&entries);
    if wanted.len() != read.len() || config.packet_size != case.packet.size() {
        return Err(format!("the stream has {} positions, the entries {}", wanted.len(), read.len()));
    }
    for (position, (wanted, read)) in wanted.into_iter().zip(read).enumerate() {
        if wanted.is_some_and(|wanted| wanted as isize != read + config.base) {
            return Err(format!("position {position} reads {} instead of {wanted:?}", read + config.base));
        }
    }
    Ok(())
}

/// Before and after merging.
fn check_accepted(case: &Case, config: &Config) -> Result<(), String> {
    check_read(case, config).map_err(|text| format!("{text}, {config}"))?;
    match limited("read", *config) {
        Ok(merged) => check_read(case, &merged).map_err(|text| format!("{text}, merged {merged}")),
        Err(error) if error.rule() == "entry limit" => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Every stream of whole digits and their parts is read, at the right places.
#[test]
fn windows_are_read_where_the_formula_says() {
    let overlapping = Cell::new(0);
    for_cases(5_000, |random| {
        let case = random_case(random);
        let with = |text: String| format!("{}\n{text}", case.text());
        let config = derived(&case, random.chance(20)).map_err(|error| with(error.to_string()))?;
        if let Some(digit) = dropped_digits(&case.view, &case.time, &case.packet).first() {
            return Err(with(format!("{digit:?} is not read")));
        }
        let live: Vec<Coordinates> = case.elements().into_iter().flatten().collect();
        let distinct: std::collections::BTreeSet<_> = live.iter().cloned().collect();
        overlapping.set(overlapping.get() + usize::from(distinct.len() < live.len()));
        check_accepted(&case, &config).map_err(with)
    });
    assert!(overlapping.get() > 1500 || std::env::var("VISA_CASES").is_ok(), "{}", overlapping.get());
}

/// Cuts, pads or groups what the stream names.
fn disturb(random: &mut Random, map: &Map) -> Map {
    if let Map::Pair(left, right) = map {
        return match random.below(5) {
            0 => map.pad(map.size() + random.below(5)),
            1 | 2 => Map::Pair(Box::new(disturb(random, left)), right.clone()),
            _ => Map::Pair(left.clone(), Box::new(disturb(random, right))),
        };
    }
    let size = map.size();
    match random.below(4) {
        0 => map.resize(random.between(1, size)),
        1 => {
            let cut = random.between(1, size);
            let whole = map.pad(size.next_multiple_of(cut));
            Map::sequence(&[whole.stride(cut), whole.modulo(cut)])
        }
        2 => {
            let cut = random.between(1, size);
            let whole = map.pad(size.next_multiple_of(cut));
            Map::sequence(&[whole.modulo(cut), whole.stride(cut)])
        }
        _ => map.pad(size + random.below(4)),
    }
}

/// Streams that are cut anywhere, truncated, or padded in groups: what is accepted reads the right elements, and of what is
/// refused no loops exist, or the rules ask for an error.
#[test]
fn disturbed_streams_of_windows() {
    let (accepted, refused) = (Cell::new(0), RefCell::new(BTreeMap::<&str, usize>::new()));
    for_cases(6000, |random| {
        let mut case = random_case(random);
        for _ in 0..random.between(1, 2) {
            if random.chance(50) {
                case.time = disturb(random, &case.time);
            } else {
                case.packet = disturb(random, &case.packet);
            }
        }
        let maps = [&case.time, &case.packet];
        if maps.iter().any(|map| map.validity().is_err()) || case.positions() > LONGEST {
            return Ok(());
        }
        let with = |text: String| format!("{}\n{text}", case.text());
        match derived(&case, false) {
            Ok(config) => {
                accepted.set(accepted.get() + 1);
                check_accepted(&case, &config).map_err(with)
            }
            Err(error) => {
                *refused.borrow_mut().entry(error.rule()).or_default() += 1;
                // "Boundaries do not divide", "a group is one contiguous run": few live values may lie on a line.
                if ["not factorizable", "incompatible shapes", "no element"].contains(&error.rule()) {
                    return Ok(());
                }
                let wanted = wanted_in_windows(&case.memory, &case.windows, &case.time, &case.packet);
                let exists = case.positions() <= SEARCHED
                    && wanted.is_ok_and(|wanted| search([case.time.size(), case.packet.size()], &wanted));
                if exists { Err(with(error.to_string())) } else { Ok(()) }
            }
        }
    });
    println!("accepted {}, refused {:?}", accepted.get(), refused.borrow());
    assert!(accepted.get() > 3000 || std::env::var("VISA_CASES").is_ok(), "{}", accepted.get());
}

/// Breaks one rule and names it.
fn broken(random: &mut Random, mut case: Case) -> Option<(Case, &'static str)> {
    let k = random.below(case.windows.len());
    let own = &mut case.windows[k];
    let without = |digit: &Map, map: &Map| -> Map {
        let mut members = Vec::new();
        fn list(map: &Map, members: &mut Vec<Map>) {
            match map {
                Map::Pair(left, right) => [left, right].into_iter().for_each(|part| list(part, members)),
                other => members.push(other.clone()),
            }
        }
        list(map, &mut members);
        let axes = digit.axes();
        members.retain(|member| member.axes() != axes);
        Map::sequence(&members)
    };
    let rule = match random.below(9) {
        // One position too many, at either axis.
        0 | 1 => {
            let part = if random.chance(50) { &mut own.output } else { &mut own.window };
            let (before, step) = (part.modulus, Part::whole(&part.axis, 1));
            *part = Part::whole(&step.axis, before);
            while case.windows[k].is_inside() {
                let own = &mut case.windows[k];
                let part = if own.output.axis == step.axis { &mut own.output } else { &mut own.window };
                (part.size, part.modulus) = (part.size + 1, part.modulus + 1);
            }
            "window size"
        }
        2 => {
            if random.chance(50) {
                own.stride = 0
            } else {
                own.dilation = 0
            }
            "window step"
        }
        3 if own.input.modulus > 1 => {
            case.time = Map::sequence(&[own.input.map(), case.time.clone()]);
            "windowed axis"
        }
        4 => {
            let digit = if random.chance(50) { own.output.map() } else { own.window.map() };
            if digit.size() == 1 {
                return None;
            }
            (case.time, case.packet) = (without(&digit, &case.time), without(&digit, &case.packet));
            "axis dropped"
        }
        5 => {
            let digit = if random.chance(50) { own.output.map() } else { own.window.map() };
            if digit.size() == 1 {
                return None;
            }
            case.time = Map::sequence(&[digit, case.time.clone()]);
            "axis repeated"
        }
        6 if own.input.modulus > 1 => {
            // The tensor holds the axis in another size, or not at all.
            own.input.axis = "Z".to_string();
            "window axis"
        }
        7 if own.output.modulus > 1 && own.window.modulus > 1 => {
            own.window = own.output.clone();
            (own.stride, own.dilation) = (1, 1);
            own.input = Part::whole(&own.input.axis, own.input.size);
            if !own.is_inside() || own.input.map() != case.memory {
                return None;
            }
            "window axis"
        }
        8 if own.input.modulus > 1 => {
            // The same digit once more, in other windows.
            let again = Window {
                input: own.input.clone(),
                output: Part::whole("Q", random.between(1, 2)),
                window: Part::whole("R", 1),
                stride: 1,
                dilation: 1,
            };
            case.windows.push(again);
            "window axis"
        }
        _ => return None,
    };
    Some((case, rule))
}

#[test]
fn each_broken_rule_is_named() {
    let seen = RefCell::new(BTreeMap::<&str, usize>::new());
    for_cases(3000, |random| {
        let case = random_case(random);
        let Some((case, rule)) = broken(random, case) else { return Ok(()) };
        *seen.borrow_mut().entry(rule).or_default() += 1;
        match derived(&case, random.chance(20)) {
            Err(error) if error.rule() == rule => Ok(()),
            outcome => Err(format!("{}\nnot refused by `{rule}`: {outcome:?}", case.text())),
        }
    });
    println!("{:?}", seen.borrow());
    assert!(seen.borrow().values().all(|count| *count > 150) || std::env::var("VISA_CASES").is_ok());
}

/// A wrong stride is found.
#[test]
fn the_comparison_finds_another_window() {
    let found = Cell::new(0);
    for_cases(200, |random| {
        let case = random_case(random);
        let mut other = case.clone();
        let own = &mut other.windows[0];
        if own.output.modulus > 1 {
            own.stride += 1
        } else {
            own.dilation += 1
        }
        if let Ok(config) = derived(&case, false) {
            found.set(found.get() + usize::from(check_read(&other, &config).is_err()));
        }
        Ok(())
    });
    assert!(found.get() > 80 || std::env::var("VISA_CASES").is_ok(), "{}", found.get());
}

/// Rules that a stream may break by its granularity.
const ALLOWED: [&str; 5] =
    ["whole bytes", "sub-context fetch size", "entry limit", "packet bytes", "iteration limit"];

/// Executes a pass over windows on the chip with all checks on, and compares every element.
fn execute(case: &Case, random: &mut Random, stored: ElementType) -> Result<bool, String> {
    let streamed = library_type(stored);
    let windows: Vec<sequencer::Window> = case.windows.iter().map(window).collect();
    let sub_context = random.chance(20);
    let request = FetchRequest {
        sub_context,
        windows: Box::leak(windows.into_boxed_slice()),
        ..FetchRequest::new(streamed, streamed, expr(&case.memory), expr(&case.time), expr(&case.packet))
    };
    let plan = match check_packet(&request).and_then(|()| derive_fetch(&request)) {
        Ok(plan) => plan,
        Err(error) if ALLOWED.contains(&error.rule()) => return Ok(false),
        Err(error) => return Err(error.to_string()),
    };
    let accesses: Vec<Access> = plan
        .addresses()
        .map(|fetch| Access {
            tensor: fetch.tensor,
            byte: fetch.byte,
            bytes: fetch.bytes,
            repeat: fetch.repeat,
        })
        .collect();
    check_accesses(&case.memory, &case.elements(), plan.packet, stored.bits(), None, &accesses)?;
    let (outer, flit) = flits(stored, &case.packet)?;
    let out_time = Map::sequence(&[case.time.clone(), outer]);
    let collect = derive_collect(&CollectRequest {
        element: streamed,
        time: expr(&case.time),
        packet: expr(&case.packet),
        out_time: expr(&out_time),
        out_packet: expr(&flit),
    });
    let collect = collect.map_err(|error| error.to_string())?;
    // Every flit has a place of its own.
    let destination = Map::axis("Z", out_time.size() * flit.size());
    let mut write = Config::new(flit.size());
    for (size, stride) in [(out_time.size(), flit.size() as isize), (flit.size(), 1)] {
        write.entries.push(Entry { size, stride });
    }
    let held = case.memory.axes();
    let own: Axes = case.axes.iter().filter(|(name, _)| held.contains_key(name.as_str())).cloned().collect();
    let mut stage = Stage::new(true, &Map::One);
    let bits = u32::MAX >> (32 - stored.bits());
    let tensor = MathTensor::from_fn(&borrowed(&own), |_, _| (random.bits() >> 32) as u32 & bits);
    // Loops over dead positions may start before the tensor.
    let source = stage.put(random, stored, &case.memory, 64 * 1024, &tensor);
    let target = stage.target(stored, &destination, 256 * 1024);
    let fetch =
        Fetch { mask: plan.mask, ..Fetch::new(source, plan.config, plan.time, plan.packet, streamed) };
    let guard = guard(&stage.dims(&[&out_time, &flit]));
    let sink = Sink::Commit { destination: target, config: write, commit_size: 8, guard };
    let collect = Some(Collect { flits: collect.flits });
    stage.machine.pass(TensorUnit { sub_context, collect, ..TensorUnit::new(fetch, sink) })?;
    let found = stage.result(stored, &target)?;
    let lanes = found.len() / case.time.size();
    for (k, index) in case.elements().iter().enumerate() {
        let Some(index) = index else { continue };
        let index: Coordinates =
            index.iter().filter(|(name, _)| held.contains_key(*name)).map(|(a, b)| (a.clone(), *b)).collect();
        let number: Option<Number> = tensor.get(&index).map(|code| stored.decode(code));
        let expected = encode(stored, &[number])[0];
        let at = k / plan.packet * lanes + k % plan.packet;
        if expected.is_none() || !same(stored, found[at], expected) {
            return Err(format!("element {k}, {index:?}: {:x?} instead of {expected:x?}", found[at]));
        }
    }
    Ok(true)
}

/// The innermost digit with padding, to a multiple of so many elements.
fn last_padded(map: &Map, unit: usize) -> Map {
    match map {
        Map::Pair(outer, inner) => Map::Pair(outer.clone(), Box::new(last_padded(inner, unit))),
        digit => digit.pad(digit.size().next_multiple_of(unit)),
    }
}

#[test]
fn passes_over_windows_hold_the_elements() {
    let ran = Cell::new(0);
    for_cases(1500, |random| {
        let mut case = random_case(random);
        let stored = random.pick(&[ElementType::I4, ElementType::I8, ElementType::Bf16, ElementType::F32]);
        let unit = 64 / stored.bits();
        case.packet = last_padded(&case.packet, unit);
        if case.positions() > 4 * LONGEST || joint_table(&[&case.time, &case.packet]).is_empty() {
            return Ok(());
        }
        let done =
            execute(&case, random, stored).map_err(|text| format!("{stored:?}, {}\n{text}", case.text()))?;
        ran.set(ran.get() + usize::from(done));
        Ok(())
    });
    println!("{} passes ran", ran.get());
    assert!(ran.get() > 700 || std::env::var("VISA_CASES").is_ok(), "{}", ran.get());
}
