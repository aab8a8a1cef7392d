//! Windows by hand: the reads, the limits, and the words of each refusal.

use super::*;
use crate::mapping::M;
use crate::prelude::{axes, m};
use crate::sequencer::{Request, StreamPart, derive, explain_loops};

axes![N = 4, H = 8, W = 10, OH = 6, OW = 8, KH = 3, KW = 3, ON = 3, O = 7, K = 4, Y = 30];

const fn window<Input: M, Output: M, Inside: M>(stride: usize, dilation: usize) -> Window {
    Window { input: Input::EXPR, output: Output::EXPR, window: Inside::EXPR, stride, dilation }
}

const ROWS: Window = window::<m![H], m![OH], m![KH]>(1, 1);
const COLUMNS: Window = window::<m![W], m![OW], m![KW]>(1, 1);

fn read<Buf: M, Time: M, Packet: M>(windows: &[Window]) -> Result<String, PlanError> {
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, Buf::EXPR);
    let stream = [Time::EXPR, Packet::EXPR].map(StreamPart::Expr);
    let request =
        Request { buf_expr: Some(Buf::EXPR), windows, ..Request::new("read", &buf, stream[0], stream[1]) };
    Ok(derive(&mut pool, &request)?.config.to_string())
}

#[track_caller]
fn refused<Buf: M, Time: M, Packet: M>(windows: &[Window], rule: &str, text: &str) {
    let error = read::<Buf, Time, Packet>(windows).expect_err("refused");
    assert_eq!((error.rule(), error.message()), (rule, text));
}

#[test]
fn two_loops_take_the_place_of_one() {
    type Image = m![N, H, W];
    let both = &[ROWS, COLUMNS];
    let entries = read::<Image, m![N, OH, KH, KW], m![OW]>(both).expect("derives");
    assert_eq!(entries, "[4 : 80, 6 : 10, 3 : 10, 3 : 1, 8 : 1] : 8");
    let entries = read::<Image, m![KW, OW, N], m![KH, OH]>(both).expect("derives");
    assert_eq!(entries, "[3 : 1, 8 : 1, 4 : 80, 3 : 10, 6 : 10] : 18");
    // 6 of every second row: outputs 0 to 2 and windows of 3 rows, or of 2 rows with one between them.
    let halves = &[window::<m![H], m![ON], m![KH]>(2, 1)];
    assert_eq!(
        read::<m![H, W], m![ON, KH], m![W]>(halves).expect("derives"),
        "[3 : 20, 3 : 10, 10 : 1] : 10"
    );
    let gaps = &[window::<m![H], m![ON], m![KH]>(1, 2)];
    assert_eq!(read::<m![H, W], m![ON, KH], m![W]>(gaps).expect("derives"), "[3 : 10, 3 : 20, 10 : 1] : 10");
    // After padding positions, cut, sliced, and padded with others.
    let lead = read::<m![N, # 3 + H, W], m![OH / 2, KH], m![N, OH % 2, W # 16]>(&[ROWS]).expect("derives");
    assert_eq!(lead, "[3 : 20, 3 : 10, 4 : 110, 2 : 10, 16 : 1] : 128 @ base 30");
    let group = read::<m![H, W], m![KH], m![[OH, W] # 64]>(&[ROWS]).expect("derives");
    assert_eq!(group, "[3 : 10, 64 : 1] : 64");
    assert_eq!(
        read::<m![H, W], m![OH = 2, KH = 1], m![W]>(&[ROWS]).expect("derives"),
        "[2 : 10, 10 : 1] : 10"
    );
}

#[test]
fn a_window_of_one_position_is_the_digit() {
    axes![One = 1, All = 8];
    let same = &[window::<m![H], m![All], m![One]>(1, 1)];
    assert_eq!(read::<m![H, W], m![W], m![All, One]>(same).expect("derives"), "[10 : 1, 8 : 10] : 8");
    let window = &[window::<m![H], m![One], m![All]>(5, 1)];
    assert_eq!(read::<m![H, W], m![W], m![All]>(window).expect("derives"), "[10 : 1, 8 : 10] : 8");
}

#[test]
fn the_last_position_is_the_limit() {
    let words = |outputs: usize, inside: usize, steps: [usize; 2], taken: usize, help: &str| {
        format!(
            "windows: ({outputs} - 1) * {} + ({inside} - 1) * {} + 1 = {taken} positions do not fit into the 8 of the input \
             axis `m![H]`; help: {help}",
            steps[0], steps[1]
        )
    };
    assert!(read::<m![H], m![OH], m![KH]>(&[ROWS]).is_ok());
    let text = words(7, 3, [1, 1], 9, "an output axis of 6 fits, or a window axis of 2");
    refused::<m![H], m![O], m![KH]>(&[window::<m![H], m![O], m![KH]>(1, 1)], "window size", &text);
    let text = words(6, 4, [1, 1], 9, "an output axis of 5 fits, or a window axis of 3");
    refused::<m![H], m![OH], m![K]>(&[window::<m![H], m![OH], m![K]>(1, 1)], "window size", &text);
    let text = words(3, 3, [2, 2], 9, "an output axis of 2 fits, or a window axis of 2");
    refused::<m![H], m![ON], m![KH]>(&[window::<m![H], m![ON], m![KH]>(2, 2)], "window size", &text);
    let text = words(7, 3, [1, 4], 15, "a window axis of 1 fits");
    refused::<m![H], m![O], m![KH]>(&[window::<m![H], m![O], m![KH]>(1, 4)], "window size", &text);
    let text = words(6, 3, [2, 1], 13, "an output axis of 3 fits");
    refused::<m![H], m![OH], m![KH]>(&[window::<m![H], m![OH], m![KH]>(2, 1)], "window size", &text);
    let most = usize::MAX;
    let text = "windows: (6 - 1) * 18446744073709551615 + (3 - 1) * 1 + 1 = more than 18446744073709551615 positions do not \
                fit into the 8 of the input axis `m![H]`; help: an output axis of 1 fits";
    refused::<m![H], m![OH], m![KH]>(&[window::<m![H], m![OH], m![KH]>(most, 1)], "window size", text);
}

#[test]
fn windows_that_a_tensor_does_not_have() {
    let place = |input: &str, held: &str| {
        format!(
            "windows: the input axis `m![{input}]` must be one whole digit of the tensor in a slice, in one place, but it \
             holds `m![{held}]`; help: name a digit as it stands there, or move the tensor first, to where the axis is in \
             one place"
        )
    };
    refused::<m![N, W], m![OH], m![KH]>(&[ROWS], "window axis", &place("H", "N, W"));
    refused::<m![H / 4, W, H % 4], m![OH], m![KH]>(&[ROWS], "window axis", &place("H", "H / 4, W, H % 4"));
    refused::<m![H = 7, W], m![OH], m![KH]>(&[ROWS], "window axis", &place("H", "H = 7, W"));
    let parts = &[window::<m![H % 4], m![ON], m![KH = 2]>(1, 1)];
    refused::<m![H, W], m![ON], m![W]>(parts, "window axis", &place("H % 4", "H, W"));
    assert!(read::<m![H % 4, W, H / 4], m![ON, KH = 2], m![W, H / 4]>(parts).is_ok());
    let padded = "windows: the input axis `m![H # 10]` has padding, but windows reach elements alone; help: name the axis \
                  without it; for zeros around a tensor, copy it into an axis that is longer by the border, whose border was \
                  written";
    let windows = &[window::<m![H # 10], m![OH], m![KH]>(1, 1)];
    refused::<m![H # 10], m![OH], m![KH]>(windows, "window axis", padded);
    let windows = &[window::<m![H], m![# 1 + OH], m![KH]>(1, 1)];
    let text = padded.replace("input axis `m![H # 10]`", "output axis `m![# 1 + OH]`");
    refused::<m![H], m![OH], m![KH]>(windows, "window axis", &text);
    let list = "windows: the window axis `m![KH, KW]` is not one digit of an axis; help: call `.windows::<…>()` once for each \
                axis";
    refused::<m![H], m![OH], m![KH]>(&[window::<m![H], m![OH], m![KH, KW]>(1, 1)], "window axis", list);
    let ragged = "windows: not all positions of the input axis `m![Y / 4 % 2]` are elements: the 30 coordinates of its axis end \
                  inside of it; help: name the whole axis, or cut it where all parts are whole";
    let windows = &[window::<m![Y # 32 / 4 % 2], m![KH = 1], m![KW = 2]>(1, 1)];
    refused::<m![Y # 32 / 4 % 2], m![KH], m![KW]>(windows, "window axis", &ragged.replace("Y /", "Y # 32 /"));
}

#[test]
fn steps_count_from_one() {
    let text = "windows: STRIDE is 0, so that all positions of `m![OH]` would read the same; help: give 1 or more, or leave the \
                axis out: what the tensor does not have is a broadcast";
    refused::<m![H], m![OH], m![KH]>(&[window::<m![H], m![OH], m![KH]>(0, 1)], "window step", text);
    let text = text.replace("STRIDE", "DILATION").replace("OH", "KH");
    refused::<m![H], m![OH], m![KH]>(&[window::<m![H], m![OH], m![KH]>(1, 0)], "window step", &text);
}

#[test]
fn each_name_is_for_one_thing() {
    let text = "windows: `m![KH]` of the output axis `m![KH]` and the window axis `m![KH]` is in the view already; help: declare \
                an axis of its own for each";
    refused::<m![H], m![KH], m![1]>(&[window::<m![H], m![KH], m![KH]>(1, 1)], "window axis", text);
    let text = text.replace("output axis `m![KH]`", "output axis `m![OW]`");
    let twice = &[ROWS, window::<m![W], m![OW], m![KH]>(1, 1)];
    refused::<m![H, W], m![OH, OW], m![KH]>(twice, "window axis", &text);
    let held = &[window::<m![H], m![N], m![KH]>(1, 1)];
    let text = text.replace("`m![KH]` of", "`m![N]` of").replace("OW", "N");
    refused::<m![N, H], m![N], m![KH]>(held, "window axis", &text);
}

#[test]
fn an_axis_is_read_in_one_way() {
    let text = "windows: the input axis `m![H]` is read in windows already, of `m![OH]` and `m![KH]`; help: call \
                `.windows::<…>()` once for each axis";
    let other = window::<m![H], m![ON], m![KW]>(1, 1);
    refused::<m![H, W], m![OH, ON, KH, KW], m![W]>(&[ROWS, other], "window axis", text);
}

#[test]
fn a_stream_names_what_the_view_has() {
    refused::<m![H, W], m![OH, H], m![W]>(
        &[ROWS],
        "windowed axis",
        "read: the stream names `m![H]`, in `Time` `m![OH, H]`, `Packet` `m![W]`, which is read in windows; help: name \
         `m![OH]` and `m![KH]`",
    );
    refused::<m![H, W], m![OH], m![W]>(
        &[ROWS],
        "axis dropped",
        "read: the buffer `m![H, W]` with windows `m![H]` = `m![OH]` * 1 + `m![KH]` * 1 holds `m![KH]`, which the stream `Time` \
         `m![OH]`, `Packet` `m![W]` does not read: an axis cannot be dropped; help: add it to `Time` or `Packet`",
    );
    refused::<m![Y % 10, W], m![Y / 10, ON, K], m![W]>(
        &[window::<m![Y % 10], m![ON], m![K]>(1, 1)],
        "insufficient input",
        "read: insufficient input: the stream iterates over `m![Y / 10]`, but the buffer `m![Y % 10, W]` with windows \
         `m![Y % 10]` = `m![ON]` * 1 + `m![K]` * 1 holds no such part of the axis; help: iterate only over what the buffer \
         holds",
    );
}

#[test]
fn four_windows_and_no_more() {
    axes![A = 3, B = 3, C = 3, D = 3, E = 3];
    axes![P = 2, Q = 2, R = 2, S = 2, T = 2, F = 2, G = 2, I = 2, J = 2, L = 2];
    let all = [
        window::<m![A], m![P], m![F]>(1, 1),
        window::<m![B], m![Q], m![G]>(1, 1),
        window::<m![C], m![R], m![I]>(1, 1),
        window::<m![D], m![S], m![J]>(1, 1),
        window::<m![E], m![T], m![L]>(1, 1),
    ];
    let entries = read::<m![A, B, C, D], m![P, Q, R, S, F, G], m![I, J]>(&all[..4]).expect("derives");
    assert_eq!(entries, "[2 : 27, 2 : 9, 2 : 3, 2 : 1, 2 : 27, 2 : 9, 2 : 3, 2 : 1] : 4");
    refused::<m![A, B, C, D, E], m![P, Q, R, S, T, F, G], m![I, J, L]>(
        &all,
        "windows",
        "windows: a view has at most 4 windows, because each takes two of the 8 entries of a sequencer; help: commit the \
         stream of some of them, and begin another one with the result",
    );
}

#[test]
fn slices_read_their_own_memory() {
    let units = |slice: &'static Expr| [("Cluster", <m![1 # 2]>::EXPR), ("Slice", slice)];
    let check = |slice, element, window| check_windows(element, &units(slice), &[window]);
    assert!(check(<m![N # 256]>::EXPR, <m![H, W]>::EXPR, ROWS).is_ok());
    let error = check(<m![H / 4 # 256]>::EXPR, <m![H % 4, W]>::EXPR, ROWS).expect_err("refused");
    assert_eq!(
        error.message(),
        "windows: the input axis `m![H]` is spread over `Slice` `m![H / 4 # 256]`, but a slice reads its own memory alone; \
         help: copy the tensor so that each slice has its part and the neighbours' values that its windows reach, as one \
         axis: a tile of the tensor per slice; then name that axis"
    );
    let outputs = window::<m![H], m![OH % 2], m![KH]>(1, 1);
    assert!(
        check(<m![OH / 2 # 256]>::EXPR, <m![H, W]>::EXPR, outputs).is_ok(),
        "the outputs may be in slices"
    );
    let error = check(<m![OH / 2 # 256]>::EXPR, <m![H, W]>::EXPR, ROWS).expect_err("refused");
    assert_eq!(
        error.message(),
        "windows: `m![OH]` of the output axis `m![OH]` and the window axis `m![KH]` is in the view already; help: declare an \
         axis of its own for each"
    );
}

#[test]
fn explanations_show_the_windows() {
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, <m![N, H, W]>::EXPR);
    let windows = [ROWS, window::<m![W], m![K], m![KW]>(2, 1)];
    let (time, packet) = (StreamPart::Expr(<m![N, OH, KH, KW]>::EXPR), StreamPart::Expr(<m![K]>::EXPR));
    let request = Request { windows: &windows, ..Request::new("read", &buf, time, packet) };
    let explanation = explain_loops(&mut pool, &request).expect("derives");
    let rows: Vec<[&str; 3]> = explanation
        .rows
        .iter()
        .map(|row| [row.term.as_str(), row.source.as_str(), row.after.as_str()])
        .collect();
    assert_eq!(
        rows,
        [
            ["N", "m![H, W]::SIZE", "m![1 # 4, H, W]"],
            ["OH", "m![W]::SIZE * 1 (windows of m![H])", "m![1 # 4, H, W]"],
            ["KH", "m![W]::SIZE * 1 (windows of m![H])", "m![1 # 32, W]"],
            ["KW", "1 * 1 (windows of m![W])", "m![1 # 32, W]"],
            ["K", "1 * 2 (windows of m![W])", "1 # 320"],
        ]
    );
    assert_eq!(windows[1].to_string(), "m![W] = m![K] * 2 + m![KW]");
}
