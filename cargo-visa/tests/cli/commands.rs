//! Output of the tool.

use crate::{explain, run};
use std::process::Command;

/// The arguments of the README's calls of the tool, as a shell splits them.
fn calls_of_the_readme() -> Vec<Vec<String>> {
    // Lines of a shell, and what is between backticks: every other part of a line.
    let parts = include_str!("../../../README.md").lines().flat_map(|line| line.split('`'));
    let calls = parts.filter_map(|part| part.strip_prefix("visa "));
    // Commands that are only named have no arguments.
    let calls = calls.filter(|call| !call.starts_with("check") && call.split_whitespace().count() > 1);
    // The traces that the call before them writes are recorded.
    let recorded = |word: &str| match word {
        "trace.json" => "tests/cli/before.json".to_string(),
        "trace.2.json" => "tests/cli/after.json".to_string(),
        _ => word.to_string(),
    };
    let split = |arguments: &str| {
        // Every other part is in quotes.
        let parts = arguments.split('\'').enumerate().flat_map(|(k, part)| match k % 2 {
            0 => part.split_whitespace().map(recorded).collect(),
            _ => vec![part.to_string()],
        });
        parts.collect()
    };
    calls.map(split).collect()
}

#[test]
fn the_calls_of_the_readme() {
    let calls = calls_of_the_readme();
    let outputs: Vec<_> = calls.iter().map(|call| (call[0].as_str(), run(call))).collect();
    for (_, output) in &outputs {
        assert_eq!(output.code, 0, "{output:?}");
    }
    let of = |command: &str| -> Vec<_> {
        outputs.iter().filter(|(name, _)| *name == command).map(|(_, output)| output).collect()
    };
    let [[explained], [drawn], [page], [compared]] =
        ["explain", "map", "html", "diff"].map(|name| <[_; 1]>::try_from(of(name)).expect("one call"));
    let (path, text) = page.file.as_ref().expect("a page");
    assert!(path.ends_with("run.html") && text.contains("same_half"), "{page:?}");
    assert!(compared.stdout.contains("same_half → two_halves"), "{compared:?}");
    assert!(
        explained.stdout.contains("final config        [8 : 32, 8 : 256, 16 : 1] : 16\n"),
        "{explained:?}"
    );
    let (path, picture) = drawn.file.as_ref().expect("it draws");
    assert!(path.ends_with("layout.svg") && picture.starts_with("<svg"), "{drawn:?}");
    let chapter = of("help");
    assert!(chapter.iter().any(|chapter| chapter.stdout.contains("#[device(chip = 1)]")), "{chapter:?}");
}

#[test]
fn a_table_of_entries() {
    let output = Command::new(env!("CARGO_BIN_EXE_visa"))
        .args(explain("N=4,C=3,H=8,W=8", "N, C, H, W", "W, H, C, N", "1", &["--dtype", "bf16"]))
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0));
    let expected = "\
read m![N, C, H, W]: Time m![W, H, C, N], Packet m![1]

| Term | Entry   | Stride source       | Buf after          |
|------|---------|---------------------|--------------------|
| W    | 8 : 1   | W in m![N, C, H, W] | m![N, C, H, 1 # 8] |
| H    | 8 : 8   | m![1 # 8]::SIZE     | m![N, C, 1 # 64]   |
| C    | 3 : 64  | m![1 # 64]::SIZE    | m![N, 1 # 192]     |
| N    | 4 : 192 | m![1 # 192]::SIZE   | 1 # 768            |

initial entries     [8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1
merges              none, not needed: 4 of 8 entries
final config        [8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1
contiguous run      1 element of bf16, 2 bytes
fetch_size          2 bytes
fetches_per_packet  1
cycles              768 (768 packets × 1)

note: fetch: a packet";
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn windows_and_their_loops() {
    let axes = "H=8,W=16,OH=3,KH=3,OW=8,KW=9";
    let windows = ["--windows", "H, OH, KH, 2, 1; W, OW, KW, 1, 1"];
    let output = run(&explain(axes, "H, W", "OH, KH, KW", "OW", &windows));
    assert_eq!(output.code, 0, "{output:?}");
    for line in [
        "read m![H, W], in windows m![H] = m![OH] * 2 + m![KH], in windows m![W] = m![OW] + m![KW]: Time m![OH, KH, KW], Packet \
         m![OW]\n",
        "| OH   | 3 : 32 | m![W]::SIZE * 2 (windows of m![H])",
        "| KH   | 3 : 16 | m![W]::SIZE * 1 (windows of m![H])",
        "final config        [3 : 32, 3 : 16, 9 : 1, 8 : 1] : 8",
        "cycles              81 (81 packets × 1)",
    ] {
        assert!(output.stdout.contains(line), "`{line}` is not in\n{}", output.stdout);
    }
}

#[test]
fn a_read_that_merges() {
    let time = "W/16, H%2, H/2, C/2, C%2, N/2, N%2, W/8%2";
    let output = run(&explain("N=8,C=8,H=8,W=32", "N, C, H, W", time, "W % 8", &[]));
    assert_eq!(output.code, 0, "{output:?}");
    for line in [
        "| C / 2     | 4 : 512  | m![C % 2, 1 # 16, W % 16]::SIZE  | m![N, 1 # 4, C % 2, 1 # 16, W % 16] |",
        "9 entries are more than the sequencer's 8; contiguous neighbours merge:",
        "| W % 16 | 16 : 1   | W / 8 % 2 (2 : 8), W % 8 (8 : 1)   |",
        "final config        [2 : 16, 2 : 32, 4 : 64, 8 : 256, 8 : 2048, 16 : 1] : 16",
        "contiguous run      16 elements of i8, 16 bytes",
        "fetch_size          8 bytes",
    ] {
        assert!(output.stdout.contains(line), "{line}\n{}", output.stdout);
    }
}

#[test]
fn dead_positions_before_an_axis() {
    let output = run(&["map", "# 2 + B + # 4", "--axes", "B=90"].map(String::from));
    assert_eq!(output.code, 0, "{output:?}");
    for line in
        ["m![# 2 + B + # 4]: 96 positions, cells hold B; · is padding", "       0 |   ·   ·   0   1   2"]
    {
        assert!(output.stdout.contains(line), "{line}\n{}", output.stdout);
    }
    let (time, packet) = ("A, [# 2 + B + # 4] / 32", "[# 2 + B + # 4] % 32");
    let output = run(&explain("A=32,B=90", "A, B # 96", time, packet, &["--dtype", "i8"]));
    assert_eq!(output.code, 0, "{output:?}");
    for line in [
        "| [# 2 + B + # 4] % 32 | 32 : 1  | contiguous (Packet dimension) | 1 # 3072 ",
        "final config        [32 : 96, 3 : 32, 32 : 1] : 32 @ base -2",
        "masking             last_dim 1, left_pad 2, last_dim_rightmost_valid_count [28], pad_value 0x0",
    ] {
        assert!(output.stdout.contains(line), "{line}\n{}", output.stdout);
    }
}

#[test]
fn a_cast_narrows_the_fetch() {
    let output = run(&explain("A=512,B=32", "A, B", "A", "B", &["--dtype", "i8", "--to", "i32"]));
    assert!(output.stdout.contains("fetch_size          8 bytes"), "{}", output.stdout);
    assert!(output.stdout.contains("cycles              2048 (512 packets × 4)"), "{}", output.stdout);
    let output = run(&explain("A=512,B=32", "A, B", "A", "B", &["--sub"]));
    assert!(output.stdout.contains("fetch_size          8 bytes"), "{}", output.stdout);
}

/// A colour of the legend is that of a cell: the last third of the digit is padding here.
#[test]
fn a_legend_names_colours_that_are_there() {
    let output = run(&["map", "[A, B] # 8", "--axes", "A=2,B=2", "--svg", "x.svg"]);
    let (_, drawing) = output.file.expect("a drawing");
    let (cells, legend) = drawing.split_once("colour: ").expect("a legend");
    let fills = |text: &str| -> std::collections::BTreeSet<String> {
        let after = text.split("rx=\"3\" fill=\"").skip(1);
        after.filter_map(|rest| rest.split('"').next()).map(str::to_string).collect()
    };
    assert_eq!(fills(legend), fills(cells));
    assert_eq!(fills(legend).len(), 3, "two colours and padding");
}

#[test]
fn a_small_grid() {
    let output = run(&["map", "A # 16 / 4, A # 16 % 4", "--axes", "A=15"]);
    let expected = "\
m![A # 16 / 4, A # 16 % 4]: 16 positions, cells hold A; · is padding

position | +0 +1 +2 +3
---------+------------
       0 |  0  1  2  3
       4 |  4  5  6  7
       8 |  8  9 10 11
      12 | 12 13 14  ·
";
    assert_eq!(output.stdout, expected);
}

#[test]
fn a_narrow_member_takes_in_its_neighbour() {
    let output = run(&["map", "B / 64, B % 32, B / 32 % 2", "--axes", "B=512"]);
    let line = "      64 |  64  96   65  97   66  98   67  99   68 100   69 101   70 102   71 103\n";
    assert!(output.stdout.contains(line), "{}", output.stdout);
    assert_eq!(output.stdout.lines().count(), 4 + 32);
    let output = run(&["map", "B / 64, B % 32, B / 32 % 2", "--axes", "B=512", "--columns", "2"]);
    assert_eq!(output.stdout.lines().count(), 4 + 256);
}

#[test]
fn a_large_layout_is_cut() {
    let output = run(&["map", "A, B", "--axes", "A=32768,B=65536"]);
    assert_eq!(output.code, 0);
    assert!(
        output.stdout.contains("… and 2147479552 more positions: at most 4096 are printed"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_mapping_without_axes() {
    let output = run(&["map", "1 # 4"]);
    assert!(output.stdout.ends_with("       0 |  x  ·  ·  ·\n"), "{}", output.stdout);
    let output = run(&["map", "1"]);
    assert!(output.stdout.starts_with("m![1]: 1 position, x is an element\n"), "{}", output.stdout);
}

#[test]
fn a_drawing() {
    let folder = std::env::temp_dir().join(format!("visa-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("is created");
    let file = folder.join("layout.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_visa"))
        .args(["map", "A, [B, C # 3] # 16", "--axes", "A=4,B=4,C=2", "--svg"])
        .arg(&file)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let drawing = std::fs::read_to_string(&file).expect("was written");
    std::fs::remove_dir_all(&folder).expect("is removed");
    assert!(drawing.starts_with("<svg xmlns=") && drawing.ends_with("</svg>\n"));
    // 64 cells, 4 colours of the legend and padding, the background, 2 in the pattern.
    assert_eq!(drawing.matches("<rect ").count(), 64 + 5 + 1 + 2);
    assert_eq!(drawing.matches(">·<").count(), 64 - 32);
    for text in [">m![A, [B, C # 3] # 16]<", ">colour: A<", ">axes: A = 4, B = 4, C = 2<", ">3,3,1<"] {
        assert_eq!(drawing.matches(text).count(), 1, "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_written() {
    let output = Command::new(env!("CARGO_BIN_EXE_visa"))
        .args(["map", "A", "--axes", "A=4", "--svg", "no/such/folder/layout.svg"])
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"), "{output:?}");
}

#[test]
fn help_and_version() {
    for arguments in [&["help"][..], &["--help"], &["-h"], &["help", "map"], &["map", "-h"]] {
        let output = run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}");
        assert!(output.stdout.contains("visa map"), "{arguments:?}: {}", output.stdout);
    }
    assert_eq!(run(&["--version"]).stdout, concat!("visa ", env!("CARGO_PKG_VERSION"), "\n"));
    let none: [&str; 0] = [];
    assert_eq!(run(&none).code, 2);
}
