//! Every refusal of the tool: message and exit code 2.

use crate::{check, explain, run};
use std::process::Command;

#[track_caller]
fn refused<S: AsRef<str>>(arguments: &[S], message: &str) {
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.as_ref().to_string()).collect();
    let output = run(&arguments);
    check(&arguments, &output);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains(message), "expected: {message}\ngot: {}", output.stderr);
}

#[test]
fn a_refusal_of_the_program_itself() {
    let output = Command::new(env!("CARGO_BIN_EXE_visa"))
        .args(explain("N=4,Chan=3", "N, Chan", "N", "Cahn", &[]))
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let expected = "error: --packet: no axis is called `Cahn`; did you mean `Chan`?\n\n  Cahn\n  ^^^^\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}

#[test]
fn mappings() {
    let map = |mapping: &str, message: &str| refused(&["map", mapping, "--axes", "A=8,B=3"], message);
    map("C", "no axis is called `C`; the axes are `A`, `B`\n\n  C\n  ^\n");
    map("A, b", "did you mean `B`?\n\n  A, b\n     ^\n");
    map("A / 0", "`/ 0` would take every 0th position");
    map("A % 0", "`% 0` would keep no position");
    map("A = 0", "`= 0` would leave no position");
    map("A # 0", "`# 0` is smaller than any mapping");
    map("A / 3", "3 does not divide 8");
    map("A # 7", "7 is less than the 8 positions that are there");
    map(
        "A # 18446744073709551616",
        "`18446744073709551616` is too large; a size is at most 18446744073709551615",
    );
    map(
        "A # 18446744073709551615",
        "18446744073709551615 positions are too many; a mapping has at most 2147483648",
    );
    map("A # 2147483648, B", "6442450944 positions are too many");
    map("", "the mapping is empty");
    map("m![A, B]", "the mapping: drop `m![` and `]`, and write what is between them: 'A, B'");
    map("m![A], m![B]", "the mapping: drop `m![` and `]`, and write what is between them: 'A, B'");
    map("m![[A, B] / 2], B % 2", "write what is between them: '[A, B] / 2, B % 2'");
    map("A, Z", "the mapping: ");
    map("A * 2", "`*` is not a mapping operator");
    map("(A", "`(` is never closed");
    map("{ A }", "a type in braces exists only while compiling");
    map("4", "Broadcast not supported");
    map("r#A", "the right side of `#` must be a plain number, found `A`");
    map(&vec!["A"; 10_000].join(", "), "more than 64 operands");
    map(&vec!["A"; 10_001].join(", "), "more than 10000 operands");
    map(&vec!["B # 4"; 16].join(", "), "4294967296 positions are too many");
    map(&vec!["A % 2 # 3"; 13].join(", "), "more than 24 digits");
    map(&format!("{}A{}", "[".repeat(129), "]".repeat(129)), "more than 128 levels deep");
    map(&format!("{}A{}", "(".repeat(100_000), ")".repeat(100_000)), "more than 128 levels deep");
    map(&format!("A{}", " # 8".repeat(129)), "more than 128 levels deep");
    map(&"A".repeat(100_000), "no axis is called `AAAA");
    map(&"A".repeat((1 << 20) + 1), "the mapping has more than 1048576 bytes");
    map("Ä / 2", "no axis is called `Ä`");
    map("A \u{0} 2", "`\u{fffd}` is not a mapping operator");
    map(&format!("\"{}", "x".repeat(100_000)), "cannot start a mapping");
    map(&format!("A / {}", "9".repeat(100_000)), "is too large");
}

#[test]
fn deep_nesting_within_the_limit() {
    for mapping in [
        format!("{}A{}", "[".repeat(127), "]".repeat(127)),
        format!("A{}", " / 1".repeat(128)),
        format!("{}A{}", "[".repeat(60), ", 1]".repeat(60)),
        vec!["1"; 64].join(", "),
    ] {
        let output = run(&["map", &mapping, "--axes", "A=8"]);
        assert_eq!(output.code, 0, "{output:?}");
    }
}

#[test]
fn windows() {
    let check = |windows: &str, message: &str| {
        let arguments = explain("H=8,W=16,OH=6,KH=3", "H, W", "OH, KH", "W", &["--windows", windows]);
        refused(&arguments, message);
    };
    check(
        "H, OH, KH, 1",
        "`H, OH, KH, 1` is not input, output, window, stride and dilation; write for example",
    );
    check("H, OH, KH, 1, 1;", "`` is not input, output, window");
    check("H, OH, KH, one, 1", "--windows: `one` is no number of steps");
    check("H, OH, K, 1, 1", "--windows: no axis is called `K`");
    check("H, OH, KH, 0, 1", "windows: STRIDE is 0");
    check("H, OH, KH, 18446744073709551615, 1", "= more than 18446744073709551615 positions do not fit");
    check("H, OH, KH, 1, 2", "(6 - 1) * 1 + (3 - 1) * 2 + 1 = 10 positions do not fit into the 8");
    check("W, OH, KH, 1, 1", "read: the stream names `m![W]`");
}

#[test]
fn axes() {
    for (axes, message) in [
        ("A", "--axes: an axis is a name and a size; write for example `A=8`\n\n  A\n  ^\n"),
        ("A=8,", "--axes: an axis is missing"),
        ("A=0", "--axes: the size of `A` is 0; an axis has at least one position\n\n  A=0\n    ^\n"),
        ("A=x", "--axes: the size of `A` must be a plain number"),
        ("a=8", "--axes: an axis name starts with an upper-case letter"),
        ("A=8,A=9", "--axes: the axis `A` has two sizes"),
        ("A=18446744073709551616", "--axes: the size of `A` is too large"),
        ("A=2147483649", "an axis has at most 2147483648 positions"),
        ("", "no axis is called `A`; there are no axes, declare it: `--axes A=4`"),
    ] {
        refused(&["map", "A", "--axes", axes], message);
    }
    let many: Vec<String> = (0..10_000).map(|k| format!("A{k}=2")).collect();
    refused(&["map", "A1", "--axes", &many.join(",")], "there are more than 64 axes");
}

#[test]
fn arguments() {
    refused(
        &["plot"],
        "`plot` is not a command; the commands are `check`, `new`, `explain`, `map`, `playground`, `html`, `diff`, `calibrate`, `plan`, `route`, `port` and `help`",
    );
    refused(&["--plot"], "invalid option '--plot'");
    refused(&["help", "plot"], "there is no help on `plot`; the nearest topics are ");
    refused(&["help", "fetsh"], "the nearest topics are `fetch`, ");
    refused(&["help", "transpose"], "the nearest topics are `cast_transpose_commit`, ");
    refused(&["help", "fetch", "switch"], "unexpected argument \"switch\"");
    refused(&["help", ""], "there is no help on ``; the nearest topics are ");
    refused(&["help", "-x"], "invalid option '-x'");
    refused(&["map"], "the mapping is missing; write for example visa map 'A / 32, B # 8'");
    refused(&["map", "A", "B", "--axes", "A=2"], "the mapping is given twice");
    refused(&["map", "A", "--axes"], "missing argument for option '--axes'");
    refused(&["map", "A", "--axes", "A=2", "--axes", "A=2"], "`--axes` is given twice");
    refused(
        &["map", "A", "--axes", "A=2", "--columns", "0"],
        "--columns: `0` is not a number from 1 to 1024",
    );
    refused(&["map", "A", "--axes", "A=2", "--columns", "many"], "--columns: `many` is not a number");
    refused(&["map", "A", "--axes", "A=2", "--svg", ""], "--svg: the name of the file is empty");
    refused(
        &["map", "A", "--axes", "A=16385", "--svg", "x.svg"],
        "--svg: 16385 positions are too many to draw",
    );
    refused(&["map", "A", "--tim", "A"], "invalid option '--tim'");
    refused(&["explain", "A"], "unexpected argument");
    refused(&["explain", "--axes", "A=8", "--time", "A", "--packet", "1"], "`--buf` is missing");
    refused(
        &explain("A=8", "A", "A", "1", &["--dtype", "f64"]),
        "--dtype: `f64` is not an element type; the types are",
    );
    refused(
        &explain("A=8", "A", "A", "1", &["--dtype", "i5"]),
        "--dtype: no memory holds i5; name the stored type, and i5 with --to",
    );
    let cast = "--to: a fetch does not cast i8 to f32; it gives i8, i9, i32";
    refused(&explain("A=8", "A", "A", "1", &["--to", "f32"]), cast);
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text() {
    use std::os::unix::ffi::OsStringExt;
    let odd = || std::ffi::OsString::from_vec(vec![b'A', 0xff]);
    let text = |word: &str| std::ffi::OsString::from(word);
    for arguments in [
        vec![odd()],
        vec![text("map"), odd()],
        vec![text("help"), odd()],
        vec![text("map"), text("A"), text("--axes"), odd()],
        vec![std::ffi::OsString::from_vec(vec![b'-', b'-', 0xff])],
    ] {
        assert_eq!(crate::tool::run(arguments).code, 2);
    }
}

#[test]
fn derivations() {
    let read = |axes: &str, buf: &str, time: &str, packet: &str, message: &str| {
        refused(&explain(axes, buf, time, packet, &[]), message);
    };
    read(
        "N=2048",
        "N % 512",
        "N / 512",
        "N % 512",
        "read: insufficient input: the stream iterates over `m![N / 512]`",
    );
    read("A=15", "A % 5, A / 5", "1", "A % 3, A / 3", "read: incompatible shapes");
    read("A=4,B=8", "A, B", "1", "B", "an axis cannot be dropped");
    read("A=4,B=8", "A, B", "A, A", "B", "the stream produces `m![A]` twice");
    read("A=3,B=5,C=2", "B, A, C", "1", "[A, B, C] # 32", "not factorizable");
    read("A=4", "A", "A # 2147483648", "1 # 2147483648", "a stream has at most 1099511627776 elements");
}

#[test]
fn limits_come_with_the_table() {
    let axes = "C=2,D=3,E=2,F=3,G=2,H=3,I=2,J=3,K=2";
    let arguments = explain(axes, "C, E, G, I, K", "D, C, F, E, H, G, J, I", "K # 4", &[]);
    refused(&arguments, "error: read: the sequencer needs 9 entries");
    let output = run(&arguments);
    assert!(
        output.stdout.contains("merges           none, no neighbours are contiguous: 9 of 8 entries"),
        "{}",
        output.stdout
    );
    refused(&explain("A=65537", "A", "A", "1", &[]), "a sequencer entry iterates 65537 times");
    let output = run(&explain("A=3", "A", "1", "A", &["--dtype", "i4"]));
    assert_eq!(output.code, 2);
    assert!(output.stdout.contains("whole bytes"), "{}", output.stdout);
    // The sequencer is within its limits; the fetch is refused.
    refused(
        &explain("A=6", "A", "1", "A", &["--to", "i32", "--sub"]),
        "packets and contiguous runs have only 6 bytes in common",
    );
    refused(&explain("A=13", "A", "1", "A", &["--sub"]), "in common");
    refused(&explain("A=7", "A", "1", "A", &["--to", "i32"]), "packets come in multiples of 8 bytes");
    refused(
        &explain("A=13", "A", "1", "A", &["--to", "i8"]),
        "holds 13 bytes, but packets come in multiples of 8",
    );
    // A buffer is read in packets of any size.
    let output = run(&explain("A=13", "A", "1", "A", &[]));
    assert_eq!(output.code, 0);
    assert!(
        output.stdout.contains("note: fetch: a packet `m![A]` of i8 holds 13 bytes"),
        "{}",
        output.stdout
    );
}
