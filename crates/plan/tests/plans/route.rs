//! Ways between random layouts: the chip has every element where the layout says, in the cycles that were predicted.

use core::panic::Location;
use furiosa_visa_plan::route::{Outcome, Place, Problem, Way, route};
use furiosa_visa_rules::command::{Command, FillId, HostBuffer};
use furiosa_visa_rules::lower::{Tensor, download, to_dm, to_hbm, upload};
use furiosa_visa_rules::mapping::Expr;
use furiosa_visa_rules::mapping::parse::{Axes, index_at, parse_mapping};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::tensor::Shape;
use furiosa_visa_std::chip::{SimOptions, System};
use furiosa_visa_std::clock::{KernelCall, Profile};
use reference::cases::for_cases;
use reference::random::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;

const ONE: &Expr = &Expr::Identity;

fn mapping(text: &str, axes: &Axes) -> &'static Expr {
    parse_mapping(text, axes).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A digit as text, and its size.
type Digit = (String, usize);

/// Both sides as digits: slices, and elements of a slice.
type Sides = [[Vec<Digit>; 2]; 2];

/// Digits of the axes in a random order, cut at random places.
fn random_digits(random: &mut Random, axes: &[(&str, usize)]) -> [Vec<Digit>; 2] {
    let mut digits: Vec<Digit> = Vec::new();
    for &(name, size) in axes {
        let cut = random.pick(&[1, 2, 4, 8, 16]);
        if cut > 1 && size % cut == 0 && cut < size {
            digits.push((format!("{name} / {cut}"), size / cut));
            digits.push((format!("{name} % {cut}"), cut));
        } else {
            digits.push((name.to_string(), size));
        }
    }
    random.shuffle(&mut digits);
    let (mut count, mut used) = (0, 1);
    while count + 1 < digits.len() && used * digits[count].1 <= 256 {
        used *= digits[count].1;
        count += 1;
    }
    let elements = digits.split_off(count);
    [digits, elements]
}

/// A random source, and a destination: any, or one that an engine reaches by itself.
fn random_sides(random: &mut Random) -> (Vec<(&'static str, usize)>, Sides) {
    let digit = |text: &str, size| (text.to_string(), size);
    let axes = vec![
        ("M", random.pick(&[32, 64, 96, 256])),
        ("K", random.pick(&[16, 32, 64])),
        ("B", random.pick(&[2, 3, 4])),
    ];
    if random.chance(40) {
        let sides = [random_digits(random, &axes), random_digits(random, &axes)];
        return (axes, sides);
    }
    // All slices, of which digits move.
    let axes = vec![("M", 256), ("K", 64), ("B", random.pick(&[2, 8]))];
    let size = axes[2].1;
    let slices = vec![digit("M / 16", 16), digit("M / 8 % 2", 2), digit("M % 8", 8)];
    let elements = vec![digit("B", size), digit("K / 8", 8), digit("K % 8", 8)];
    let (mut there, mut inside) = (slices.clone(), elements.clone());
    match random.below(4) {
        // Rows and columns in a slice.
        0 => random.shuffle(&mut inside),
        // Slices in another order.
        1 => random.shuffle(&mut there),
        // A digit of the slices and one of the elements.
        2 => core::mem::swap(&mut there[2], &mut inside[1]),
        _ => {
            core::mem::swap(&mut there[2], &mut inside[1]);
            random.shuffle(&mut inside);
        }
    }
    (axes, [[slices, elements], [there, inside]])
}

/// A place in either memory with these digits. Some are padded.
fn random_place(random: &mut Random, [slices, elements]: &[Vec<Digit>; 2], table: &Axes) -> Place {
    let joined = |digits: &[&[Digit]]| {
        let texts: Vec<&str> = digits.iter().copied().flatten().map(|(text, _)| text.as_str()).collect();
        if texts.is_empty() { "1".to_string() } else { texts.join(", ") }
    };
    if random.chance(20) {
        return Place::Hbm { element: mapping(&joined(&[slices, elements]), table) };
    }
    let size = |digits: &[Digit]| digits.iter().map(|(_, size)| size).product::<usize>();
    let slice =
        if size(slices) == 256 { joined(&[slices]) } else { format!("[{}] # 256", joined(&[slices])) };
    let mut element = joined(&[elements]);
    if random.chance(25) {
        let positions = size(elements).next_multiple_of(32) + random.pick(&[0, 32]);
        element = format!("[{element}] # {positions}");
    }
    Place::Dm {
        cluster: mapping("1 # 2", table),
        slice: mapping(&slice, table),
        element: mapping(&element, table),
    }
}

/// The position of each element in `layout`, by its coordinates.
fn positions(layout: &'static Expr) -> BTreeMap<Vec<(String, usize)>, usize> {
    let coordinates = |position| {
        let found = index_at(layout, position)?.coordinates()?;
        let mut named: Vec<(String, usize)> =
            found.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        named.retain(|(_, value)| *value > 0);
        named.sort();
        Some(named)
    };
    (0..layout.size()).filter_map(|position| Some((coordinates(position)?, position))).collect()
}

/// Bytes of a host array in order `to`, from those of one in order `from`: element by element.
fn relaid(bytes: &[u8], size: usize, [from, to]: [&'static Expr; 2]) -> Vec<u8> {
    let (there, mut result) = (positions(to), vec![0; to.size() * size]);
    for (coordinates, position) in positions(from) {
        let place = there[&coordinates];
        result[place * size..][..size].copy_from_slice(&bytes[position * size..][..size]);
    }
    result
}

/// All elements of a place as one list: slices, then elements, without padding.
fn flat(place: &Place, table: &Axes) -> &'static Expr {
    match place {
        Place::Hbm { element } => element,
        Place::Dm { slice, element, .. } => mapping(&format!("{slice}, {element}"), table),
    }
}

/// Runs a way on the chip: what is in its result, in the order of the destination, and the cycles of its steps.
fn run(problem: &Problem, way: &Way, bytes: Vec<u8>) -> Result<(Vec<u8>, u64), String> {
    let (mut system, location) = (System::new(SimOptions::default()), Location::caller());
    let table = &problem.axes;
    let execute = |system: &mut System, operation| {
        let command = Command { operation, location };
        system.execute(&command).map_err(|fault| format!("{}: {fault}", way.name))
    };
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", way.name);
    let [source, result] = way.ends;
    // The host's array has no padding: it is the same as in the order of digits.
    let order = flat(&problem.from, table);
    let host =
        |shape: Shape, address, fill| Tensor::new(shape, address, FillId(fill)).map_err(|error| told(&error));
    let far = 1 << 30;
    let staged = host(Shape::hbm(problem.element, ONE, order), far, 1000)?;
    let first = if let Place::Hbm { .. } = problem.from { source } else { staged };
    let transfer = upload(order, &first).map_err(|error| told(&error))?;
    let packed = HostBuffer { bytes, initialised: None };
    system.upload(&transfer, &packed, location).map_err(|fault| told(&fault))?;
    if let Place::Dm { cluster, slice, element } = problem.from {
        let (load, _) =
            to_dm(&staged, [ONE, cluster, slice, element], source.region.address, source.region.fill)
                .map_err(|error| told(&error))?;
        execute(&mut system, load)?;
    }
    system.enter_kernel(KernelCall { number: 1, name: "way" });
    for operation in &way.operations {
        execute(&mut system, operation.clone())?;
    }
    system.enter_kernel(KernelCall::default());
    let order = flat(&problem.to, table);
    let last = if let Place::Hbm { .. } = problem.to {
        result
    } else {
        let (store, made) =
            to_hbm(&result, [ONE, order], 2 * far, FillId(1001)).map_err(|error| told(&error))?;
        execute(&mut system, store)?;
        made
    };
    let found = system.download(&download(order, &last).map_err(|error| told(&error))?, location);
    let found = found.map_err(|fault| told(&fault))?;
    if found.initialised.is_some_and(|written| !written.iter().all(|byte| *byte)) {
        return Err(format!("{}: elements that were not written", way.name));
    }
    let report = system.report();
    let kernel = report.kernels.iter().find(|kernel| kernel.call.number == 1);
    Ok((found.bytes, kernel.map_or(0, |kernel| kernel.makespan())))
}

/// The digits of a mapping without its padding: the order of the host's array.
fn packed(bytes: &[u8], size: usize, layout: &'static Expr) -> Vec<u8> {
    let mut places: Vec<usize> = positions(layout).into_values().collect();
    places.sort_unstable();
    places.iter().flat_map(|place| bytes[place * size..][..size].to_vec()).collect()
}

#[test]
fn random_ways_move_every_element_in_the_predicted_cycles() {
    let names: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let with_a_way = RefCell::new(0u64);
    let count = for_cases(4, |random| {
        let (axes, sides) = random_sides(random);
        let text: Vec<String> = axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
        let table = Axes::parse(&text.join(",")).map_err(|error| error.to_string())?;
        let element = random.pick(&[ElementType::I8, ElementType::Bf16, ElementType::F32]);
        let [from, to] = [0, 1].map(|side: usize| random_place(random, &sides[side], &table));
        let told = || format!("{element} {}: {} to {}", text.join(","), from.text(), to.text());
        let problem =
            Problem::new(table.clone(), element, from, to).map_err(|error| format!("{}: {error}", told()))?;
        let Outcome { ways, refused, .. } = route(&problem, Profile::default());
        if ways.is_empty() && refused.is_empty() {
            return Err(format!("{}: neither ways nor reasons", told()));
        }
        *with_a_way.borrow_mut() += u64::from(!ways.is_empty());
        let size = element.bits() / 8;
        let [order, wanted] = [&from, &to].map(|place| flat(place, &table));
        let whole: Vec<u8> = (0..order.size() * size).map(|_| random.below(120) as u8).collect();
        let expected = packed(&relaid(&whole, size, [order, wanted]), size, wanted);
        let mut last = 0;
        for way in &ways {
            *names.borrow_mut().entry(way.name.clone()).or_insert(0) += 1;
            let (bytes, cycles) = run(&problem, way, packed(&whole, size, order))
                .map_err(|error| format!("{}: {error}\n{}", told(), way.calls))?;
            if bytes != expected {
                return Err(format!("{}: {}: other values\n{}", told(), way.name, way.calls));
            }
            if cycles != way.cycles {
                return Err(format!(
                    "{}: {}: {cycles} cycles, but {} were predicted",
                    told(),
                    way.name,
                    way.cycles
                ));
            }
            if way.cycles < last {
                return Err(format!("{}: {} is cheaper than the way before it", told(), way.name));
            }
            last = way.cycles;
        }
        Ok(())
    });
    println!("{count} cases, {} with a way: {:#?}", with_a_way.borrow(), names.borrow());
    assert!(2 * *with_a_way.borrow() > count, "{} of {count} have a way", with_a_way.borrow());
}
