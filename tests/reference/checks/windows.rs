use reference::mapping::{Coordinates, Map};
use reference::windows::*;

fn window(sizes: [usize; 3], stride: usize, dilation: usize) -> Window {
    let [input, output, window] = sizes;
    Window {
        input: Part::whole("H", input),
        output: Part::whole("O", output),
        window: Part::whole("K", window),
        stride,
        dilation,
    }
}

#[test]
fn three_of_six_rows() {
    let axes = &[("H", 6), ("W", 2), ("O", 4), ("K", 3)];
    let [buf, time, packet] = ["H, W", "O, K", "W"].map(|text| Map::parse(text, axes));
    let wanted = wanted_in_windows(&buf, &[window([6, 4, 3], 1, 1)], &time, &packet).expect("inside");
    let rows: Vec<usize> = wanted.chunks(2).map(|row| row[0].expect("live") / 2).collect();
    assert_eq!(rows, [0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]);
}

#[test]
fn the_last_position_is_that_of_the_last_window() {
    assert!(window([6, 4, 3], 1, 1).is_inside() && !window([6, 5, 3], 1, 1).is_inside());
    assert!(window([9, 3, 3], 2, 2).is_inside() && !window([8, 3, 3], 2, 2).is_inside());
    assert!(window([1, 1, 1], 7, 9).is_inside());
}

#[test]
fn digits_of_axes() {
    let digit = |axis: &str, size, weight, modulus| Part { axis: axis.to_string(), size, weight, modulus };
    let own = Window {
        input: digit("H", 24, 4, 6),
        output: digit("O", 8, 1, 4),
        window: Part::whole("K", 3),
        stride: 1,
        dilation: 1,
    };
    assert_eq!([own.input.map(), own.output.map()].map(|map| map.to_string()), ["m![H / 4]", "m![O % 4]"]);
    let index = Coordinates::from([("O".to_string(), 7), ("K".to_string(), 2), ("H".to_string(), 1)]);
    let found = element(&[own], &index);
    assert_eq!(found, Coordinates::from([("O".to_string(), 4), ("H".to_string(), 21)]));
}
