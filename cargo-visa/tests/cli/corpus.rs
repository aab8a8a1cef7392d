//! Inputs that are interesting: each was, or could have been, a mistake of the parser, the algebra or the drawing.
//!
//! `corpus.txt` has one run per line: the expected exit code, then the fields of the command, separated by `|`.

use crate::{check, run};

#[test]
fn corpus() {
    let mut count = 0;
    for (number, line) in include_str!("corpus.txt").lines().enumerate() {
        if line.trim().is_empty() || line.starts_with("//") {
            continue;
        }
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let (code, arguments) = match fields[..] {
            [code, "map", axes, mapping] => (code, vec!["map", mapping, "--axes", axes, "--svg", "x.svg"]),
            [code, "explain", axes, buf, time, packet, dtype] => (
                code,
                vec![
                    "explain", "--axes", axes, "--buf", buf, "--time", time, "--packet", packet, "--dtype",
                    dtype,
                ],
            ),
            _ => panic!("line {}: not a run: {line}", number + 1),
        };
        let arguments: Vec<String> = arguments.into_iter().map(String::from).collect();
        let output = run(&arguments);
        check(&arguments, &output);
        assert_eq!(output.code.to_string(), code, "line {}: {line}\n{}", number + 1, output.stderr);
        count += 1;
    }
    assert!(count > 50, "{count} runs");
}
