//! `visa port`: files in the other spelling. The golden pairs in `tests/port` were written by hand, of page 80.

use crate::run;
use std::fs;
use std::path::{Path, PathBuf};

/// The seed-era sides of the golden pairs compile: their names and generics are those of the library.
#[allow(dead_code, reason = "they are compiled, and never run")]
#[path = "../port/seed"]
mod compiled {
    mod contraction;
    mod host;
    mod memory;
    mod vector;
}

/// Golden pairs: seed-era, later.
const PAIRS: [(&str, &str, &str); 4] = [
    (
        "contraction",
        include_str!("../port/seed/contraction.rs"),
        include_str!("../port/later/contraction.rs"),
    ),
    ("host", include_str!("../port/seed/host.rs"), include_str!("../port/later/host.rs")),
    ("memory", include_str!("../port/seed/memory.rs"), include_str!("../port/later/memory.rs")),
    ("vector", include_str!("../port/seed/vector.rs"), include_str!("../port/later/vector.rs")),
];

const SEED: &str = "use furiosa_visa_std::prelude::*;\n";
const LATER: &str = "use furiosa_opt_std::prelude::*;\n";

/// A file of this process in the folder of tests.
fn file(name: &str, text: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("port");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("{}_{name}", std::process::id()));
    fs::write(&path, text).expect("a file");
    path.to_str().expect("is UTF-8").to_string()
}

/// What becomes of a text, and the messages.
#[track_caller]
fn ported(name: &str, text: &str, options: &[&str]) -> (String, String) {
    let path = file(name, text.as_bytes());
    let arguments = [&["port", path.as_str(), "--write"], options].concat();
    let output = run(&arguments);
    assert_eq!(output.code, 0, "{output:?}");
    let messages = output.stderr.replace(&path, "f.rs");
    let new = output.rewritten.into_iter().next().map_or(text.to_string(), |(own, new)| {
        assert_eq!(own, PathBuf::from(&path));
        new
    });
    (new, messages)
}

#[track_caller]
fn assert_same(found: &str, expected: &str) {
    for (k, (left, right)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(left, right, "line {}", k + 1);
    }
    assert_eq!(found, expected);
}

#[test]
fn golden_pairs_in_both_directions() {
    for (name, seed, later) in PAIRS {
        let (found, messages) = ported(&format!("{name}_seed.rs"), seed, &[]);
        assert_same(&found, later);
        // `AUTO` and the whole register file are what the later spelling says, too.
        assert_eq!(messages, "", "{name}");
        let (found, messages) = ported(&format!("{name}_later.rs"), later, &[]);
        assert_same(&found, seed);
        assert!(messages.lines().all(|line| line.starts_with("f.rs: note: ")), "{messages}");
        // A text in the asked spelling stays.
        for (text, to) in [(seed, "seed"), (later, "later")] {
            assert_eq!(ported(&format!("{name}_same.rs"), text, &["--to", to]).0, text);
        }
    }
}

#[test]
fn ends_of_lines_and_marks_stay() {
    for (name, seed, later) in PAIRS {
        let dressed = |text: &str| format!("\u{feff}{}// ü → 日本", text.replace('\n', "\r\n"));
        let (found, _) = ported(&format!("{name}_windows.rs"), &dressed(seed), &[]);
        assert_eq!(found, dressed(later));
        let (found, _) = ported(&format!("{name}_windows.rs"), &dressed(later), &[]);
        assert_eq!(found, dressed(seed));
    }
}

/// Rewrites `body` as the body of a function, and gives it with the messages.
#[track_caller]
fn body(name: &str, declared: &str, body: &str) -> (String, String) {
    let head = format!("{SEED}axes![A = 64, B = 8, N = 8];\n{declared}\nfn f(ctx: &mut Context) {{\n    ");
    let (found, messages) = ported(name, &format!("{head}{body}\n}}\n"), &[]);
    let inner = found.split_once("{\n    ").and_then(|(_, rest)| rest.strip_suffix("\n}\n"));
    (inner.expect("the function stays").to_string(), messages)
}

#[test]
fn what_is_lost_is_noted() {
    let text = "let x = x.to_dm::<C, S, E>(&mut ctx.tdma, 0x40 + 64 * k as u64);
    let w = s.collect::<m![N], m![B # 32]>().to_trf::<m![N], m![B]>(TrfAddress::FirstHalf);
    let mark = ctx.dm_mark(); // before
    let y: DmTensor<i8, C, K, S, E> = unsafe { DmTensor::from_addr(ctx.alloc_dm::<i8, E>()) };
    drop(y);
    drop(number);
    ctx.free_dm_from(mark);
    w";
    let expected = "let x = x.to_dm::<C, S, E>(&mut ctx.tdma);
    let w = s.collect::<m![N], m![B # 32]>().to_trf::<m![N], m![B]>();
     // before
    let _y: DmTensor<i8, C, K, S, E> = DmTensor::new();
    drop(number);
    w";
    let (found, messages) = body("lost.rs", "", text);
    assert_same(&found, expected);
    assert_eq!(
        messages,
        "f.rs: note: addresses are dropped: a tensor takes bytes at its first use, and gives them back after its last one (line 5)\n\
         f.rs: note: halves of the tensor register file are dropped: each load takes the half that is free (line 6)\n\
         f.rs: note: `drop` is dropped: bytes are free after the last use (line 9)\n\
         f.rs: note: marks are dropped: bytes are free after the last use (lines 7, 11)\n"
    );
}

/// What only dropped addresses have used goes with them, or gets an underscore; the configuration of a switch is derived;
/// views to write give their tiles away.
#[test]
fn what_is_left_has_no_warning() {
    let declared = "axes![A = 512, B = 64, C = 16, K = 4];
type Slices = m![A / 2];
type Block = DmTensor<i8, m![1], m![1 # 2], m![A / 32, B / 4], m![A % 32, B % 4]>;
fn load(ctx: &mut Context, block: &Block, step: usize, kept: usize) -> Weights {
    // Every other step.
    let half = if step.is_multiple_of(2) { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf };
    let offset = step as u64 * 8;
    let made = bytes(step);
    let fresh = Block::new(ctx);
    println!(\"{kept}\");
    (ctx.sub.begin(block.view()))
        .fetch::<i8, m![A % 32], m![B % 4 # 8]>()
        .switch_to::<m![A / 32, C], m![A % 32, B / 4]>()
        .collect::<m![A % 32, B / 4], m![B % 4 # 32]>()
        .to_trf::<m![A % 8], m![A / 8 % 4]>(half)
}
fn store(ctx: &mut Context, y: &mut HbmY, x: &Block, step: usize, kept: usize, other: usize) {
    let mut y = y.view_mut();
    let mut y = y.tile::<m![K], 1, m![1 # 4, B]>(step);
    let y = y.tile::<m![B / 8], 1, m![1 # 4, 1 # 8, B % 8]>(other);
    x.view().to_hbm_view(&mut ctx.tdma, y);
    let _x = x.to_dm::<m![1 # 2], Slices, m![A % 2]>(&mut ctx.tdma, kept as u64);
    let _z = x.to_dm::<m![1 # 2], Slices, m![A % 2]>(&mut ctx.tdma, kept as u64);
}
";
    let (found, messages) = ported("unused.rs", &format!("{SEED}{declared}"), &[]);
    assert!(messages.lines().all(|line| line.starts_with("f.rs: note: ")), "{messages}");
    let expected = declared
        .replace(
            "    let half = if step.is_multiple_of(2) { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf };\n",
            "",
        )
        .replace("fetch::<i8, ", "fetch::<")
        .replace("switch_to::<m![A / 32, C], m![A % 32, B / 4]>()", "switch::<m![A / 32, C], m![A % 32, B / 4]>(SwitchConfig::Broadcast1 { slice1: 16, slice0: 1 })")
        .replace("(half)", "()")
        .replace("Block::new(ctx)", "Block::new()")
        .replace("let mut y", "let y")
        .replace("step: usize, kept: usize, other", "step: usize, _kept: usize, other")
        .replace(", kept as u64", "")
        .replace("[1 # 4", "[1 #{!} 4")
        .replace("1 # 8, B", "1 #{!} 8, B");
    assert_same(&found, &format!("{LATER}{expected}"));
    // Views borrow their tiles again on the way back.
    let (back, _) = ported("borrowed.rs", &found, &[]);
    assert!(
        back.contains("let mut y = y.view_mut();") && back.contains("let mut y = y.tile::<m![K]"),
        "{back}"
    );
    assert!(back.contains("let y = y.tile::<m![B / 8]"), "{back}");
    assert!(back.contains("let fresh = Block::new(ctx);"), "{back}");
}

/// A chain that is not understood. The report is about the place that is given, with these words.
#[track_caller]
fn stays(name: &str, chain: &str, place: &str, words: &str) {
    let (found, messages) = body(name, "type Table = LookupTable<i8, i8>;", chain);
    assert_same(&found, chain);
    // The body is the fifth line, behind four spaces.
    let column = 5 + chain.find(place).expect("is there");
    let start = format!("f.rs:5:{column}: `{}", place.trim_start_matches('.'));
    let own = messages.lines().find(|line| line.starts_with(&start));
    let own = own.unwrap_or_else(|| panic!("{start} is not in {messages}"));
    assert!(own.contains(words) && own.contains("`: ") && own.contains("; help: "), "{messages}");
}

#[test]
fn chains_that_are_not_understood_stay() {
    let begin = "ctx.main.begin(x.view()).fetch::<i8, m![1], m![A]>().collect::<m![1], m![A]>()";
    let interleaved = ".align::<m![A], m![B], _, _>(&w).contract::<m![B # 32]>()\
                       .accumulate::<m![B], m![N]>(AccumulationKind::Interleaved);";
    for (k, (end, place, words)) in [
        (".own_call().commit::<m![A]>(AUTO);", "own_call", "no call of a stream that is known here"),
        (".commit(AUTO);", "commit(", "the Element of the destination is not spelled"),
        (".commit::<m![B]>(AUTO);", "commit::<m![B]>", "it is not known how much of `m![A]`"),
        (".commit::<m![A]>(next());", "next", "an address is dropped, but this one is computed by calls"),
        (".vector_intra_slice_branch(mode);", "mode", "the mode is not spelled in the call"),
        (".vector_intra_slice_branch(BranchMode::Vrf);", "BranchMode", "tags come from comparisons"),
        (
            ".vector_intra_slice_branch(BranchMode::Comparison(all));",
            "(all",
            "the comparisons are not spelled",
        ),
        (".vector_clip(op, [VeBranchOperand::always(x)]);", "[Ve", "the first slot that admits it"),
        (".vector_clip(op, (&x, guard_of(GroupId::One)));", "(&x", "the first slot that admits it"),
        (".vector_fp_div(op, &x);", "op", "the division is not spelled in the call"),
        (".contract::<m![1]>().accumulate::<m![A], m![N]>(kind);", "accumulate", "its kind is not spelled"),
        (interleaved, "accumulate", "is not known to be what is left of `m![A]`"),
    ]
    .into_iter()
    .enumerate()
    {
        stays(&format!("stays_{k}.rs"), &format!("{begin}{end}"), place, words);
    }
    for (k, (chain, place, words)) in [
        (
            "ctx.main.begin(own(x.to_dm(&mut ctx.tdma, 0))).fetch_with_table::<i8, T, P>(&t).commit::<m![A]>(0);",
            "fetch_with_table",
            "tables are chosen by types",
        ),
        ("x.dma_gather_rows::<C, S, E, _>(&mut ctx.tdma, &index, 0);", "dma_gather_rows", "is in DM"),
        ("x.dma_scatter::<m![N], _, _>(&index, &mut y, false);", "dma_scatter", "a scatter has byte offsets"),
        ("let x: T = unsafe { DmTensor::from_addr(mark) };", "DmTensor", "tensors have no address"),
        ("let x: T = unsafe { DmTensor::from_addr(own(ctx.alloc_dm::<D, E>())) };", "alloc_dm", "tensors have no address"),
        ("let x = x.to_dm(&mut ctx.tdma, /* why */ 64);", ", /* why */", "a comment stands in what is to be removed"),
        ("let x = HostTensor::<i8, m![A # 128]>::from_slice(&v);", "HostTensor", "this mapping has some"),
        ("let x = HostTensor::from_slice(&v);", "HostTensor", "does not tell the mapping"),
        ("let x = HostTensor::<i8, m![A]>::from_buf(values());", "values", "values have no `Opt`"),
        ("let x = y.to_host::<m![A # 128]>(&mut ctx.pdma).await.to_vec();", "to_vec", "this mapping has some"),
        ("let x = y.to_host::<m![A]>(&mut ctx.pdma).await.to_buf();", "to_buf", "plain values"),
    ]
    .into_iter()
    .enumerate()
    {
        stays(&format!("stays_too_{k}.rs"), chain, place, words);
    }
}

#[test]
fn halves_that_are_not_named_stay_so() {
    let text = "let w = s.collect::<m![N], m![B # 32]>().to_trf_auto::<m![N], m![B]>();
    w";
    let (found, messages) = body("halves.rs", "", text);
    assert_same(&found, &text.replace("to_trf_auto", "to_trf"));
    assert_eq!(messages, "");
}

#[test]
fn values_of_the_host() {
    let text =
        "let x: HostTensor<i8, m![A]> = HostTensor::from_buf(codes.map(|x| Opt::Init(x as i8)).collect());
    let y = HostTensor::<i8, m![B]>::from_buf(vec![Opt::Init(1), Opt::Init(f(2))]);
    let z = HostTensor::<i8, m![B]>::from_slice(&own[3..][..8]);
    let a = z.to_host::<m![A]>(&mut ctx.pdma).await.to_buf().iter().map(|x| x.unwrap()).sum();
    let b = y.to_vec();
    let c = x.to_vec();
    x";
    let expected = "let x: HostTensor<i8, m![A]> = HostTensor::from_vec(codes.map(|x| x as i8));
    let y = HostTensor::<i8, m![B]>::from_vec(vec![1, f(2)]);
    let z = HostTensor::<i8, m![B]>::from_vec(own[3..][..8].iter().copied());
    let a = z.to_host::<m![A]>(&mut ctx.pdma).await.into_vec().into_iter().sum();
    let b = y.into_vec();
    let c = x.to_vec();
    x";
    let (found, messages) = body("values.rs", "", text);
    assert_same(&found, expected);
    let line = "f.rs:10:15: `to_vec()`: `into_vec` takes the tensor, which is named again; help: ";
    assert!(messages.starts_with(line) && messages.lines().count() == 1, "{messages}");
}

#[test]
fn holes_of_tiles_to_write() {
    let text = "let a = y.view_mut().tile::<m![T], 1, m![1 # 4, B # 8]>(0);
    let b = y.view_mut().tile::<m![T], 2, m![B # 8, T = 2 # 4]>(0);
    let c = y.view_mut().tile::<m![T], 4, m![T, B # 8]>(0).tile::<m![B], 1, m![T, 1 # 8]>(k);
    let d = y.view().tile::<m![T], 1, m![1 # 4, B # 8]>(0);
    let e = y.view_mut().tile::<m![T], 1, Hole>(0);
    let f = y.view_mut().tile::<m![T], 1, m![1 # 4, 1 # 4]>(0);
    let g = y.view_mut().tile::<m![T], 4, m![T, B]>(0);
    let h = y.view_mut().tile::<m![T], 1, m![1 # 4, B # 8]>(0).tile::<m![B], 2, m![1 # 4, B = 2 # 8]>(0);";
    let expected = text
        .replace("m![1 # 4, B # 8]>(0);\n    let b", "m![1 #{!} 4, B # 8]>(0);\n    let b")
        .replace("T = 2 # 4", "T = 2 #{!} 4")
        .replace("m![1 # 4, B # 8]>(0).tile", "m![1 #{!} 4, B # 8]>(0).tile")
        .replace("m![1 # 4, B = 2 # 8]", "m![1 #{!} 4, B = 2 #{!} 8]")
        .replace("T, 1 # 8", "T, 1 #{!} 8");
    let (found, messages) = body("holes.rs", "", text);
    assert_same(&found, &expected);
    let lines: Vec<&str> = messages.lines().map(|line| line.split_once("`: ").expect("a report").0).collect();
    let place = "the hole of a tile to write is marked";
    assert!(messages.lines().all(|line| line.contains(place)), "{messages}");
    assert_eq!(lines, ["f.rs:7:43: `m![T, B # 8]", "f.rs:9:43: `Hole", "f.rs:10:43: `m![1 # 4, 1 # 4]"]);
}

#[test]
fn only_calls_of_the_library_are_edited() {
    let text = "transaction.commit(a);
    pairs.windows(2).map(|x| x.align(3)).collect::<Vec<_>>();
    rows.tiles(2).on(0).contract(1);
    names.to_vec().fetch::<A, B>();
    let x = Some(1).map_or(0, |x| x.commit(0));
    format!(\"{}\", \"x.to_dm(&mut ctx.tdma, 0)\"); // x.to_dm(&mut ctx.tdma, 0)";
    let (found, messages) = body("others.rs", "", text);
    assert_same(&found, text);
    assert_eq!(messages, "");
}

#[test]
fn bodies_of_macros_are_edited_where_it_is_certain() {
    let text = format!(
        "{SEED}macro_rules! kernels {{
    ($name:ident: $d:ty, $flit:literal, $kind:ident, $($more:ident),*) => {{
        fn $name(ctx: &mut Context, x: &DmTensor<$d, m![1], C, S, m![N, K]>, $own: &X<$d>) {{
            let y = (ctx.main.begin(x.view()).fetch::<$d, m![N], m![K]>())
                .collect::<m![N, K / $flit], m![K % $flit]>()
                .align::<m![N], m![K # $flit], _, _>(&$own)
                .contract::<m![1]>()
                .accumulate::<m![N], m![R]>(AccumulationKind::Interleaved)
                .commit::<m![N, R]>(0);
            let z = (ctx.main.begin(x.view()).fetch::<bf16, m![N], m![K]>())
                $(.$more())*
                .align::<m![N], m![K # $flit], _, _>(&$own)
                .contract::<m![1]>()
                .accumulate::<m![N], m![R]>(AccumulationKind::$kind)
                .commit::<m![N, R]>(0);
        }}
    }};
}}
kernels!(a: bf16, 16, Interleaved, first, second);
"
    );
    let (found, messages) = ported("macro.rs", &text, &[]);
    let expected = text
        .replace(SEED, LATER)
        .replace("fetch::<$d, m![N], m![K]>", "fetch::<m![N], m![K]>")
        .replace(
            ".align::<m![N], m![K # $flit], _, _>(&$own)
                .contract::<m![1]>()
                .accumulate::<m![N], m![R]>(AccumulationKind::Interleaved)
                .commit::<m![N, R]>(0)",
            ".contract_outer::<m![N], m![K # $flit], _, _, _>(&$own)
                .contract_packet::<m![1]>()
                .contract_time::<m![N]>()
                .contract_lane::<m![N], m![R]>(LaneMode::Interleaved)
                .commit_trim::<m![R]>()
                .commit::<m![N, R]>()",
        )
        // A chain with a repetition has two parts. The first is certain.
        .replace("fetch::<bf16, m![N], m![K]>()", "fetch::<m![N], m![K]>().fetch_cast::<bf16>()");
    assert_same(&found, &expected);
    assert!(
        messages.contains(
            "f.rs:15:18: `accumulate::<m![N], m![R]>(AccumulationKind::$kind)`: its kind is not spelled"
        ),
        "{messages}"
    );
}

#[test]
fn fetches_cast_unless_the_type_is_evident() {
    let declared = "type Own<T> = DmTensor<T, m![1], C, S, m![A]>;";
    let text = "let a: DmTensor<bf16, C, K, S, E> = a;
    let b: Own<f32> = b;
    let c = a.to_dm::<S, E>(&mut ctx.tdma, AUTO);
    let d = ctx.sub.begin(c.view()).fetch::<bf16, T, P>();
    let e = ctx.sub.begin(b.view()).fetch::<bf16, T, P>();
    let f = ctx.sub.begin(b.view()).fetch::<f32, T, P>();
    let g = ctx.sub.begin(unknown.view()).fetch::<f32, T, P>();
    for c in other {
        ctx.sub.begin(c.view()).fetch::<bf16, T, P>();
    }";
    let (found, _) = body("casts.rs", declared, text);
    let casts: Vec<&str> = found
        .lines()
        .filter(|line| line.contains("fetch::<T, P>()"))
        .map(|line| line.split_once("P>()").expect("is there").1)
        .collect();
    assert_eq!(
        casts,
        [";", ".fetch_cast::<bf16>();", ";", ".fetch_cast::<f32>();", ".fetch_cast::<bf16>();"]
    );
}

#[test]
fn later_surface_that_has_no_counterpart() {
    let text = format!(
        "#![register_tool(furiosa_opt)]\n{LATER}use furiosa_opt_std::OnceCell;\n#[device]\nfn a() {{}}\n#[device(pe = 8, chip = 2)]\nfn b(ctx: &mut Context) {{
    let x = m![A #{{0}} 8, B #{{*}} 8];
    let y = TrfTensor::new();
    ctx.main.begin(x).fetch::<T, P>().fetch_table_lookup::<f8e4m3>().collect::<T, P>();
    ctx.main.begin(unknown).fetch::<T, P>().collect::<T, P>();
    s.commit_trim::<P>().commit_cast::<bf16>().commit::<m![A]>();
    s.commit_trim::<P>().commit_valid_count_pack();
    DmTensor::new()
}}\n"
    );
    let (found, messages) = ported("counterpart.rs", &text, &[]);
    let expected = text
        .replace(LATER, SEED)
        .replace("#[device]", "#[device(chip = 1)]")
        .replace("(pe = 8, chip = 2)", "(chip = 2)")
        .replace("#{*} 8", "# 8")
        .replace("commit::<m![A]>()", "commit::<m![A]>(AUTO)")
        .replace("DmTensor::new()", "DmTensor::new(ctx)");
    assert_same(&found, &expected);
    for line in [
        "f.rs:1:1: `#![register_tool(furiosa_opt)]`: stable Rust has no such attribute; help: remove it",
        "f.rs:3:5: `furiosa_opt_std::OnceCell`: `furiosa_visa_std` has a prelude, and not this; help: do without",
        "f.rs:8:19: `{0}`: padding has one kind; help: write `# n`, and write zeros there",
        "f.rs:9:13: `TrfTensor::new()`: a register file holds what is loaded; help: load it with `.to_trf(…)` or `.to_vrf(…)`",
        "f.rs:10:39: `fetch_table_lookup::<f8e4m3>()`: tables are values; help: write `.fetch_with_table::<D, T, P>(&table)`",
        "f.rs:13:26: `commit_valid_count_pack()`: elements that are no longer valid are not packed; help: do without",
        "f.rs:11:29: `fetch::<T, P>()`: this text does not tell the type of the tensor that is fetched; help: write `.fetch::<T, P>().fetch_cast::<D>()`, or annotate the tensor",
    ] {
        assert!(messages.contains(line), "{line}\nis not in\n{messages}");
    }
}

#[test]
fn names_that_are_left_are_reported_once() {
    let text = format!(
        "use furiosa_visa_std::clock::Report;\n{SEED}fn f(a: Address, b: Address) {{ g(AUTO) }}\nfn h(x: &Opt<i8>) {{}}\n"
    );
    let (found, messages) = ported("names.rs", &text, &[]);
    assert_same(&found, &text.replace(SEED, LATER));
    assert_eq!(
        messages,
        "f.rs:1:5: `furiosa_visa_std::clock`: `furiosa_opt_std` has a prelude, and not this; help: keep `furiosa_visa_std` as a dependency beside `furiosa_opt_std`, or do without\n\
         f.rs:1:30: `Report`: the later prelude has no such name; help: write `furiosa_visa_std::clock::Report`\n\
         f.rs:3:9: `Address`: the later prelude has no such name (and 1 more); help: leave the parameter and its arguments out\n\
         f.rs:3:34: `AUTO`: the later prelude has no such name; help: leave the address out\n\
         f.rs:4:10: `Opt`: the later prelude has no such name; help: write plain values\n"
    );
}

#[test]
fn options_and_exit_codes() {
    let (name, seed, later) = PAIRS[0];
    let path = file(&format!("options_{name}.rs"), seed.as_bytes());
    let printed = run(&["port", &path]);
    assert_eq!((printed.code, printed.rewritten.len()), (0, 0), "{printed:?}");
    let head = format!("--- {path}\n+++ {path}\n@@ -1,6 +1,6 @@\n //! A product");
    assert!(printed.stdout.starts_with(&head), "{}", printed.stdout);
    assert!(
        printed.stdout.contains("\n-use furiosa_visa_std::prelude::*;\n+use furiosa_opt_std::prelude::*;\n")
    );
    let checked = run(&["port", "--check", &path]);
    assert_eq!((checked.code, checked.stdout), (1, format!("{path} would change\n")));
    let done = run(&["port", "--check", "--to", "seed", &path]);
    assert_eq!((done.code, done.stdout, done.stderr), (0, String::new(), String::new()));
    let written = run(&["port", "--write", &path]);
    assert_eq!((written.code, written.stdout), (0, format!("{path}: 22 edits, 0 places left to you\n")));
    assert_eq!(written.rewritten, [(PathBuf::from(&path), later.to_string())]);
    // No kernel: nothing changes, and nothing is said.
    let plain = file("plain.rs", b"use std::fmt;\nfn commit(x: u8) -> u8 { x.to_dm(1, 2) }\n");
    for option in ["--check", "--write"] {
        let output = run(&["port", option, &plain]);
        assert_eq!((output.code, output.stdout, output.stderr), (0, String::new(), String::new()));
    }
    // The direction of two preludes is to be said.
    let both = file("both.rs", format!("{SEED}{LATER}").as_bytes());
    refused(&["port", &both], "say `--to later` or `--to seed`");
    assert_eq!(run(&["port", &both, "--to", "later", "--check"]).code, 1);
}

#[track_caller]
fn refused(arguments: &[&str], words: &str) {
    let output = run(arguments);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.starts_with("error: ") && output.stderr.contains(words), "{output:?}");
    assert!(output.stdout.is_empty() && output.rewritten.is_empty(), "{output:?}");
}

#[test]
fn refusals() {
    let seed = file("refused.rs", PAIRS[0].1.as_bytes());
    refused(&["port"], "the file is missing; write for example visa port src/main.rs");
    refused(
        &["port", &seed, "--to", "newer"],
        "--to: `newer` is no spelling; the spellings are `later` and `seed`",
    );
    refused(&["port", &seed, "--to", "later", "--to", "seed"], "`--to` is given twice");
    refused(&["port", &seed, "--write", "--check"], "`--write` and `--check` exclude each other");
    refused(&["port", &seed, "--wriet"], "wriet");
    // A file that is refused keeps the others from being written.
    let broken = file("broken.rs", b"fn f() {\n    x.to_dm(\n}\n");
    refused(&["port", &seed, &broken, "--write"], "it is no Rust that can be read");
    let bytes = file("bytes.rs", b"fn f() {}\xff");
    refused(&["port", &bytes], "is no UTF-8 text: the byte 9 is the first that is none");
    refused(&["port", &format!("{seed}.none")], "cannot be read: ");
    refused(&["port", env!("CARGO_TARGET_TMPDIR")], "cannot be read: ");
    let long = file("long.rs", &vec![b' '; (1 << 24) + 1]);
    refused(&["port", &long], "has more than 16777216 bytes");
    let longest = file("long.rs", &vec![b' '; 1 << 24]);
    assert_eq!(run(&["port", &longest]).code, 0);
    fs::remove_file(longest).expect("is removed");
}

#[test]
fn a_file_is_written() {
    let path = file("written.rs", PAIRS[3].1.as_bytes());
    let done =
        std::process::Command::new(env!("CARGO_BIN_EXE_visa")).args(["port", "--write", &path]).output();
    let done = done.expect("runs");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_same(&fs::read_to_string(&path).expect("is there"), PAIRS[3].2);
}

/// The examples of the library.
fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut all: Vec<_> = fs::read_dir(folder)
        .expect("there are examples")
        .map(|entry| entry.expect("is read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("is UTF-8").to_string();
            (name, fs::read_to_string(&path).expect("is a text"))
        })
        .collect();
    all.sort();
    assert!(all.len() > 10);
    all
}

/// The text without what a way to the later spelling and back loses: addresses and what they are computed from, halves,
/// whether a switch has its configuration spelled, how values of the host are named, and the second name of a context.
fn without_losses(text: &str) -> String {
    const CALLS: [(&str, &str); 7] = [
        (".to_dm", "AUTO"),
        (".to_hbm", "AUTO"),
        (".commit", "AUTO"),
        (".to_vrf", "AUTO"),
        (".to_trf", "HALF"),
        (".dma_gather", "AUTO"),
        (".switch", "CONFIGURATION"),
    ];
    let text = text.replace(".to_trf_auto", ".to_trf").replace(".switch_to", ".switch");
    let (mut result, mut rest) = (String::new(), text.as_str());
    while let Some(next) = rest.chars().next() {
        let call = CALLS
            .iter()
            .find(|(name, _)| rest.strip_prefix(name).is_some_and(|behind| behind.starts_with(['(', ':'])));
        let Some((name, place)) = call else {
            result.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        // The arguments start at the first parenthesis outside of generics, and end at its mate.
        let open = {
            let mut depth = 0;
            rest.char_indices().find(|&(_, c)| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                c == '(' && depth == 0
            })
        };
        let open = open.expect("a call has arguments").0;
        let (mut depth, mut last, mut close) = (0, open + 1, open);
        for (at, c) in rest[open..].char_indices() {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            if c == ',' && depth == 1 {
                last = open + at;
            }
            if depth == 0 {
                close = open + at;
                break;
            }
        }
        result.push_str(&rest[..last]);
        result.push_str(place);
        rest = &rest[close..];
        assert!(!name.is_empty());
    }
    let is_host = |line: &&str| {
        let lost = ["from_buf(", "from_slice(", "Opt", "to_buf()", "to_vec()", "let buffer = W_ADDRESS"];
        !lost.iter().any(|word| line.contains(word))
    };
    let lines: Vec<&str> = result.lines().filter(is_host).collect();
    lines.join("\n").replace("&mut *ctx", "&mut ctx").replace("_block: usize", "block: usize")
}

#[test]
fn the_examples_there_and_back() {
    for (name, seed) in examples() {
        let (later, _) = ported(&format!("there_{name}"), &seed, &[]);
        assert!(later != seed && later.contains("use furiosa_opt_std::prelude::*;"), "{name}");
        let (back, _) = ported(&format!("back_{name}"), &later, &[]);
        assert_same(&without_losses(&back), &without_losses(&seed));
        // What is lost is lost once.
        let (again, _) = ported(&format!("again_{name}"), &back, &[]);
        let (last, _) = ported(&format!("last_{name}"), &again, &[]);
        assert_same(&last, &back);
    }
}

/// Writes the examples in the later spelling to the folder that `VISA_PORTED` names, with the messages beside them: for
/// builds with `furiosa-opt-std`.
#[test]
fn the_examples_for_a_build() {
    let folder = std::env::var_os("VISA_PORTED").map(PathBuf::from);
    let mut calls = 0;
    for (name, seed) in
        examples().into_iter().chain(PAIRS.map(|(name, seed, _)| (format!("{name}.rs"), seed.to_string())))
    {
        let (later, messages) = ported(&format!("build_{name}"), &seed, &[]);
        calls += later.matches("commit_trim").count();
        if let Some(folder) = &folder {
            fs::create_dir_all(folder).expect("the folder is made");
            fs::write(folder.join(&name), &later).expect("is written");
            fs::write(folder.join(&name).with_extension("txt"), &messages).expect("is written");
        }
    }
    assert!(calls > 25, "{calls}");
}
