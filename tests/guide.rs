//! What the chapters of the guide show beside their programs, which are tests themselves: messages and pictures.

use furiosa_visa_std::guide::CHAPTERS;
use std::path::Path;

/// The widest line of a picture, in characters. Tables of reports, which start with `|`, are as wide as they are.
const WIDTH: usize = 100;

/// The lines of all blocks of text of a chapter, without their indentation in a list.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    for line in text.lines() {
        let inner = line.trim_start();
        open = match (open.take(), inner) {
            (None, "```text") => Some((line.len() - inner.len(), Vec::new())),
            (None, _) => None,
            (Some((_, lines)), "```") => {
                blocks.push(lines);
                None
            }
            (Some((indent, mut lines)), _) => {
                lines.push(line.get(indent..).unwrap_or(""));
                Some((indent, lines))
            }
        };
    }
    assert!(open.is_none(), "a block does not end");
    blocks
}

/// Words with one space between them: messages are cut into lines as it suits the page.
fn words<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The messages of the compiler in a block: a line that starts with `error`, and the lines behind it that are indented by
/// two spaces and hold words.
fn messages(block: &[&str]) -> Vec<String> {
    let continues = |line: &&&str| {
        let inner = line.strip_prefix("  ").unwrap_or("");
        inner.starts_with(|first: char| first.is_alphanumeric() || first == '`')
    };
    let starts = (0..block.len()).filter(|&k| block[k].starts_with("error"));
    starts
        .map(|k| words([block[k]].into_iter().chain(block[k + 1..].iter().take_while(continues).copied())))
        .collect()
}

/// What the compiler says to the programs of `tests/ui/refused`.
fn refusals() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/refused");
    let files =
        folder.read_dir().expect("the folder can be read").map(|entry| entry.expect("it can be read").path());
    let stderr = files.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    let texts: Vec<String> = stderr.map(|path| std::fs::read_to_string(path).expect("it is text")).collect();
    assert!(texts.len() > 100, "{} files", texts.len());
    words(texts.iter().map(String::as_str))
}

#[test]
fn messages_are_those_of_the_compiler() {
    let known = refusals();
    let mut count = 0;
    for chapter in CHAPTERS {
        for message in blocks(chapter.text).iter().flat_map(|block| messages(block)) {
            assert!(known.contains(&message), "{}: the compiler does not say\n{message}", chapter.name);
            count += 1;
        }
    }
    assert!(count > 20, "{count} messages");
}

/// The messages that a list of common mistakes quotes: code at the start of an item. `…` stands for what differs.
fn quotes(text: &str) -> Vec<String> {
    let Some((_, list)) = text.split_once("\n# Common mistakes\n") else { return Vec::new() };
    let list = list.split("\n# ").next().unwrap_or(list);
    let items = list.split("\n* ").skip(1).map(|item| words(item.lines()));
    let quotes = items.filter_map(|item| {
        let inside = item.trim_start_matches('`');
        let fence = &item[..item.len() - inside.len()];
        let (quote, _) = inside.split_once(fence).filter(|_| !fence.is_empty())?;
        // Shorter code is a name.
        (quote.split_whitespace().count() > 2).then(|| quote.trim().to_string())
    });
    quotes.collect()
}

#[test]
fn quoted_mistakes_are_those_of_the_compiler() {
    let known = refusals();
    let mut count = 0;
    for chapter in CHAPTERS {
        for quote in quotes(chapter.text) {
            for part in quote.split('…').map(|part| part.trim_matches([' ', '`'])) {
                assert!(known.contains(part), "{}: the compiler does not say\n{part}", chapter.name);
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count} quotes");
}

#[test]
fn pictures_fit_a_terminal() {
    for chapter in CHAPTERS {
        for line in blocks(chapter.text).concat() {
            let width = if line.starts_with('|') { 0 } else { line.chars().count() };
            assert!(width <= WIDTH, "{}: {width} characters, at most {WIDTH}\n{line}", chapter.name);
        }
    }
}

#[test]
fn blocks_and_messages_are_found() {
    let text = "a\n* b\n  ```text\n  error: one\n    `two` three\n   --> here\n  error: four\n  ```\n```text\n x\n```\n";
    let found = blocks(text);
    assert_eq!(found, [vec!["error: one", "  `two` three", " --> here", "error: four"], vec![" x"]]);
    assert_eq!(messages(&found[0]), ["error: one `two` three", "error: four"]);
    assert!(messages(&found[1]).is_empty());
}

#[test]
fn quotes_are_found() {
    let text = "\n# Common mistakes\n\n* `a: b …\n  c`: d\n* `e f`\n* *g* `h i j`\n* `` k: `l` m ``: n\n\n# Where\n* `o p q`\n";
    assert_eq!(quotes(text), ["a: b … c", "k: `l` m"]);
}

/// The files below a folder that hold text of the library.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in folder.read_dir().expect("the folder can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).expect("it is text")));
        }
    }
}

/// The library, its macros, its grammar and its tests. The table of where the vendor's pages went is left out, which alone
/// names them, and this file, which has them as text.
fn library() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let folders = ["src", "crates", "macros", "grammar", "tests", "benches"];
    folders.iter().for_each(|folder| sources(&root.join(folder), &mut found));
    found.retain(|(path, _)| !path.ends_with(file!()));
    for (path, text) in &mut found {
        if path.ends_with("spec.rs") {
            text.replace_range(text.find(PAGES).expect("the table")..text.find("/// ").expect("an item"), "");
        }
    }
    assert!(found.len() > 400, "only {} files were found", found.len());
    found
}

/// The title of the table of pages in `spec.rs`.
const PAGES: &str = "# Where the vendor's pages went";

const SPEC: &str = include_str!("../crates/rules/src/spec.rs");

/// The pages that the table of `spec.rs` names, in the form in which they would be cited: `*Fetch Engine*`.
fn pages() -> Vec<&'static str> {
    let (_, table) = SPEC.split_once(PAGES).expect("the table");
    let rows = table.lines().take_while(|line| !line.starts_with("/// "));
    rows.filter_map(|row| row.strip_prefix("//! | *")?.split_once("* |").map(|(page, _)| page)).collect()
}

/// Text with one space between words, without the marks of comments: a citation may go over the end of a line.
fn prose(text: &str) -> String {
    let inside = |line| str::trim_start(line).trim_start_matches(['/', '!']);
    words(text.lines().map(inside))
}

/// Citations of what is not part of the library.
fn citations_of_pages(text: &str) -> Vec<String> {
    let prose = prose(text);
    let forms = pages().into_iter().map(|page| format!("*{page}*"));
    let phrases = ["vendor's page", "Source: page", "no page says", "public page", "the manual", "spec page"];
    let found = forms.chain(phrases.map(str::to_string)).filter(|form| prose.contains(form));
    found.collect()
}

/// The chapters that a text names: links of the documentation, `(guide: fetch)` of messages, `visa help fetch`.
fn named_chapters(text: &str) -> Vec<String> {
    let prose = prose(text);
    let names =
        ["(crate::guide::", "`guide::", "furiosa_visa_std::guide::", "(guide: ", "; guide: ", "visa help "]
            .into_iter()
            .flat_map(|before| {
                let name = |rest: &str| {
                    rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or("").to_string()
                };
                prose.split(before).skip(1).map(name).collect::<Vec<_>>()
            });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn citations_name_chapters() {
    assert!(pages().contains(&"Fetch Engine") && pages().contains(&"TRF Sequencer"), "{:?}", pages());
    let mut count = 0;
    for (path, text) in library() {
        let wrong = citations_of_pages(&text);
        assert!(wrong.is_empty(), "{path} cites what is not shipped, not a chapter of the guide: {wrong:?}");
        for name in named_chapters(&text) {
            // Topics of the tool itself, and what a test of it misspells on purpose, are in its folders.
            let is_chapter = CHAPTERS.iter().any(|chapter| chapter.name == name);
            let is_tool = ["/src/bin/", "/tests/cli/"].iter().any(|folder| path.contains(folder));
            assert!(is_chapter || is_tool, "{path}: `{name}` is no chapter of the guide");
            count += 1;
        }
    }
    assert!(count > 300, "{count} names of chapters");
}

#[test]
fn citations_are_found() {
    let text = "//! a (the *Fetch\n    //! Engine*, constraints)\n/// of the vendor's\n/// page";
    assert_eq!(citations_of_pages(text), ["*Fetch Engine*", "vendor's page"]);
    assert!(citations_of_pages("the Fetch Engine, a sequencer, pages of HBM").is_empty());
    let text =
        "see [a](crate::guide::fetch), \"b (guide:\n/// vector)\", `visa help clock`, `visa help TOPIC`";
    assert_eq!(named_chapters(text), ["fetch", "vector", "clock"]);
}

/// Numbers of `spec` as a table has them.
macro_rules! numbers {
    ($($name:ident)*) => { &[$((stringify!($name), furiosa_visa_std::spec::$name.text())),*] };
}

trait Number {
    fn text(&self) -> String;
}

impl<T: std::fmt::Debug> Number for T {
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// Each number has a class and a chapter, which lists it with its value.
#[test]
fn every_number_is_in_its_chapter() {
    let values: &[(&str, String)] = numbers! {
        CLUSTERS SLICES MAX_CHIPS DM_BYTES HBM_BYTES TRF_BYTES TRF_BANK_ROWS TRF_BANK_ROW_BYTES
        TRF_COLUMNS TRF_BANK_DEPTH TRF_LINE_BYTES TRF_LINE_SLOTS TRF_CACHE_ROWS VRF_BYTES TRF_ROWS
        MAC_BYTES FLIT_BYTES SEQUENCER_ENTRIES SEQUENCER_ITERATIONS FETCH_ALIGN_BYTES FETCH_SIZES
        COMMIT_SIZES COMMIT_ALIGN_BYTES COMMIT_CAST_BYTES DMA_HBM_TO_DM_BYTES TRANSPOSE_ROW_BYTES
        TRANSPOSE_PACKET_ELEMENTS TRANSPOSE_PACKET_ELEMENTS_4_BIT TRANSPOSE_COLUMNS
        TRANSPOSE_BUFFER_COLUMNS ACCUMULATOR_COLUMNS ACCUMULATOR_CELLS ACCUMULATOR_INTERLEAVED
        ACCUMULATOR_SEQUENTIAL BEAT_LANES VECTOR_NARROW_LANES VECTOR_REDUCE_SLOTS VECTOR_BRANCHES
        VECTOR_ALU_LATENCY_CYCLES SUB_FETCH_BYTES SUB_FETCH_BYTES_I4_I32 FETCH_CAST_LATENCY
        FETCH_TABLE_LATENCY FETCH_MASK_NIBBLES REGISTER_READ_SIZES SUB_COMMIT_BYTES IMMEDIATE_BYTES
        DM_READ_LATENCY_CYCLES CAST_LATENCY_CYCLES IMMEDIATE_LATENCY_CYCLES SWITCH_HOP_CYCLES SWITCH_BITMAP_CYCLES
        TENSOR_UNIT_ISSUE_CYCLES FETCH_TABLE_CYCLES SYNCHRONISATION_CYCLES DMN_ACCESS_TICKS
        DMA_COPY_CYCLES DMA_INDEX_CYCLES HBM_REFRESH_PER_MILLE DMA_ENGINES CORE_CYCLE_TICKS HBM_COMMAND_CYCLE_TICKS
        HBM_CONTROLLER_CYCLE_TICKS HBM_STACKS HBM_STACK_CHANNELS HBM_CHANNELS HBM_SLICES
        HBM_BANK_GROUPS HBM_BANKS HBM_ROWS HBM_ROW_BYTES HBM_UNIT_BYTES HBM_COMMAND_BYTES
        HBM_UNIT_COMMANDS HBM_UNIT_TICKS HBM_QUEUE_UNITS HBM_TCCD_OTHER_GROUP_TICKS
        HBM_TCCD_OTHER_SLICE_TICKS HBM_TCCD_SAME_GROUP_TICKS HBM_ACTIVATION_TICKS
        HBM_ROW_SWITCH_TICKS HBM_ESTIMATE_ROW_SWITCH_TICKS HBM_PARTIAL_WRITE_UNITS
        HBM_PARTIAL_WRITE_TICKS DMN_SLICES PE_SLICES CLUSTER_PES DMA_SLICE_STRIDE DMA_DMN_STRIDE
        DMA_ENTRIES DMA_PACKET_BYTES DMA_REQUEST_BYTES DMA_DM_WRITE_BYTES DMA_DM_PARTIAL_WRITE
        DMA_STARTUP_CYCLES DMN_BYTES_PER_CYCLE SPM_BYTES_PER_CYCLE SPM_BYTES PCIE_BYTES_PER_CYCLE
        PCIE_STARTUP_CYCLES DM_BANKS DM_BANK_WORD_BYTES DM_BANK_ROWS DM_ROW_BYTES
        DUAL_CHANNEL_ACCESS_BYTES DMA_ENGINE_DMNS DMA_REQUESTS_PER_CYCLE SLICE_DMA_QUEUE_REQUESTS
        NOC_TIMEOUT_CYCLES DM_BANK_RUN_ACCESSES
    };
    let mut count = 0;
    let mut docs = String::new();
    for line in SPEC.lines() {
        if let Some(line) = line.strip_prefix("/// ") {
            docs.push_str(line);
            docs.push(' ');
            continue;
        }
        let docs = std::mem::take(&mut docs);
        let Some((name, _)) = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        let chapters = named_chapters(&docs);
        let [chapter] = &chapters[..] else { panic!("{name}: one chapter, not {chapters:?}") };
        let chapter = CHAPTERS.iter().find(|own| own.name == chapter).expect("it is a chapter");
        let class = ["Documented", "Derived", "Reported", "Assumed"]
            .into_iter()
            .find(|class| docs.contains(&format!(". {class}")));
        let class = class.unwrap_or_else(|| panic!("{name}: no class")).to_lowercase();
        let (_, value) = values
            .iter()
            .find(|(own, _)| *own == name)
            .unwrap_or_else(|| panic!("{name} is not listed here"));
        let row = format!("| `{name}` | {value} | {class} |");
        assert!(chapter.text.contains(&row), "the chapter {} lacks the row\n{row}", chapter.name);
        count += 1;
    }
    assert_eq!(count, values.len());
    // Nothing else calls itself a number of the hardware.
    let rows = |text: &str| {
        text.split_once("\n# Numbers\n").map_or(0, |(_, rest)| {
            rest.lines()
                .skip_while(|line| !line.starts_with("| `"))
                .take_while(|line| line.starts_with("| `"))
                .count()
        })
    };
    assert_eq!(CHAPTERS.iter().map(|chapter| rows(chapter.text)).sum::<usize>(), count);
}

/// The rules behind the numbers of a report are explained in the chapter that it names.
#[test]
fn rules_of_reports_are_in_the_chapter() {
    let report = include_str!("golden/timeline.txt");
    let mut rules = Vec::new();
    let mut lines = report.lines();
    while lines.any(|line| line.starts_with("where the numbers come from")) {
        let own = lines.by_ref().take_while(|line| line.starts_with("  "));
        // A reported number says behind its rule what it follows from.
        let rule = |rule: &'static str| rule.split_once(" (K V").map_or(rule, |(rule, _)| rule);
        rules.extend(own.filter_map(|line| line.split_once(": ").map(|(_, own)| rule(own))));
    }
    let clock = CHAPTERS.iter().find(|chapter| chapter.name == "clock").expect("a chapter");
    for rule in &rules {
        assert!(clock.text.contains(&format!("`{rule}`")), "the chapter has no `{rule}`");
    }
    assert!(rules.len() > 20, "{rules:?}");
}

/// The calls of kernels, by their names or how these begin.
const CALLS: &[&str] = &[
    "begin",
    "fetch",
    "pad_value",
    "switch",
    "collect",
    "to_trf",
    "to_vrf",
    "align",
    "contract",
    "accumulate",
    "cast",
    "transpose",
    "commit",
    "memset",
    "vector_",
    "to_hbm",
    "to_dm",
    "to_host",
    "dma_gather",
    "dma_scatter",
    "parallel_copy_",
    "dm_cluster_shuffle",
    "dm_chip_shuffle",
    "hbm_chip_shuffle",
];

/// The public calls in a text, with their documentation. `$name` is a call whose name a macro has.
fn calls(text: &str) -> Vec<(&str, String)> {
    let (mut found, mut docs) = (Vec::new(), String::new());
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("///") || line.starts_with("#[doc") {
            docs.push_str(line);
            docs.push('\n');
        // `cast` is the method of a trait.
        } else if let Some(rest) = line
            .strip_prefix("pub fn ")
            .or_else(|| line.strip_prefix("fn ").filter(|rest| rest.starts_with("cast<")))
        {
            let name = rest.split(['<', '(']).next().unwrap_or(rest);
            let is_call = name.starts_with('$') || CALLS.iter().any(|call| name.starts_with(call));
            let docs = std::mem::take(&mut docs);
            // A copy of a call that is never met, or a part of one, has none.
            found.extend((is_call && !docs.is_empty()).then_some((name, docs)));
        } else if !line.starts_with('#') {
            docs.clear();
        }
    }
    found
}

/// Whether there is an example, or words that lead to one. Calls that stand for an error of the user have none.
fn leads_to_an_example(docs: &str) -> bool {
    let words =
        ["```", "$example", "$doc", "has an example", "see [`", "as [`", "as in", "The same", "doc(hidden)"];
    words.iter().any(|words| docs.contains(words))
}

#[test]
fn every_call_leads_to_an_example() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine"), &mut files);
    let (mut names, mut without) = (std::collections::BTreeSet::new(), Vec::new());
    for (path, text) in &files {
        for (name, docs) in calls(text) {
            if !leads_to_an_example(&docs) {
                without.push(format!("{path}: `{name}`\n{docs}"));
            }
            names.insert(name);
        }
    }
    assert!(without.is_empty(), "no example, and no words that lead to one:\n{}", without.join("\n"));
    assert!(names.len() > 50, "{names:?}");
    let missing: Vec<_> =
        CALLS.iter().filter(|call| !names.iter().any(|name| name.starts_with(*call))).collect();
    assert!(missing.is_empty(), "no call is named {missing:?}");
    assert!(!leads_to_an_example("/// Reads the tensor as a stream."));
}

const OPERATORS: &str = include_str!("../crates/rules/src/command/vector/operators.rs");
const REDUCES: &str = include_str!("../crates/rules/src/command/vector/reduce.rs");

/// The variants of an enumeration of operators in the source of the rules, each with its documentation.
fn variants(source: &'static str, name: &str) -> Vec<(&'static str, &'static str)> {
    let start = [format!("\n    {name} {{\n"), format!("\npub enum {name} {{\n")];
    let body = start.iter().find_map(|start| source.split_once(start.as_str())).expect("the enumeration").1;
    let (mut found, mut docs) = (Vec::new(), "");
    for line in body.lines().map(str::trim).take_while(|line| *line != "}") {
        match line.strip_prefix("/// ") {
            Some(text) => docs = text.trim_end_matches('.'),
            None => found.push((line.split([' ', '(', ',']).next().expect("a word"), docs)),
        }
    }
    found
}

/// The rows of the table of operators: call, operator, what it gives, type, lanes, unit, modes.
fn operator_rows() -> Vec<String> {
    use furiosa_visa_std::command::*;
    use furiosa_visa_std::spec::{BEAT_LANES, VECTOR_NARROW_LANES};
    let mut rows = Vec::new();
    let mut row = |call: &str, name: &str, docs: &str, of: (&str, usize, &str), modes: &str| {
        let (element, lanes, unit) = of;
        // Operators without a documented result are refused.
        if !docs.ends_with("refused") {
            // As a program writes the name, and as a table writes a bar.
            let name = name.replace("F(", "F(FpMulAlu::");
            let docs = docs.replace('|', r"\|");
            rows.push(format!("| `{call}` | `{name}` | {docs} | `{element}` | {lanes} | {unit} | {modes} |"));
        }
    };
    let digits = |name: &str| name.rsplit("Mode").next().expect("a name").to_string();
    let binary = BinaryArgMode::ALL.map(|mode| digits(mode.name())).join(" ");
    let ternary = TernaryArgMode::ALL.map(|mode| digits(mode.name())).join(" ");
    let docs_of = |name: &str| {
        let (name, variant) = name.split_once("::").expect("an enumeration and a variant");
        let variant = variant.split('(').next().expect("a word");
        variants(OPERATORS, name).into_iter().find(|(own, _)| *own == variant).expect("it has a variant").1
    };
    macro_rules! binaries {
        ($($call:literal: $name:ident as $of:ident;)*) => { $(
            for &op in $name::ALL {
                let any = BinaryOperator::$of(op);
                let unit = format!("`{}`", any.alu());
                row($call, any.name(), docs_of(any.name()), (any.element().name(), any.lanes(), &unit), &binary);
            }
        )* };
    }
    binaries! {
        "vector_logic": LogicBinaryOpI32 as LogicI32;
        "vector_logic": LogicBinaryOpF32 as LogicF32;
        "vector_fxp": FxpBinaryOp as Fxp;
        "vector_fp_binary": FpBinaryOp as Fp;
    }
    for op in FpUnaryOp::ALL {
        row(
            "vector_fp_unary",
            op.name(),
            docs_of(op.name()),
            ("f32", VECTOR_NARROW_LANES, &format!("`{}`", op.alu())),
            "0",
        );
    }
    for op in FpTernaryOp::ALL {
        row(
            "vector_fp_ternary",
            op.name(),
            docs_of(op.name()),
            ("f32", VECTOR_NARROW_LANES, &format!("`{}`", op.alu())),
            &ternary,
        );
    }
    macro_rules! reduces {
        ($($name:ident, $element:literal;)*) => { $(
            for op in $name::ALL {
                let of = ($element, VECTOR_NARROW_LANES, &*format!("`{}`", op.alu()));
                row("vector_intra_slice_reduce", op.name(), docs_of(op.name()), of, "-");
            }
        )* };
    }
    reduces! {
        IntraSliceReduceOpI32, "i32";
        IntraSliceReduceOpF32, "f32";
    }
    binaries! {
        "vector_fp_div": FpDivBinaryOp as FpDiv;
        "vector_clip": ClipBinaryOpI32 as ClipI32;
        "vector_clip": ClipBinaryOpF32 as ClipF32;
    }
    for (name, element) in [("InterSliceReduceOpI32", "i32"), ("InterSliceReduceOpF32", "f32")] {
        for (variant, docs) in variants(REDUCES, name) {
            row(
                "vector_inter_slice_reduce",
                &format!("{name}::{variant}"),
                docs,
                (element, BEAT_LANES, "-"),
                "-",
            );
        }
    }
    rows
}

/// The chapter lists all operators that the rules have, as they have them, in the order of the stages.
#[test]
fn all_operators_are_in_the_chapter() {
    let vector = CHAPTERS.iter().find(|chapter| chapter.name == "vector").expect("a chapter");
    let (_, table) = vector.text.split_once("\n# All operators\n").expect("the section");
    let listed: Vec<&str> = table
        .lines()
        .skip_while(|line| !line.starts_with("| `"))
        .take_while(|line| line.starts_with("| `"))
        .collect();
    let rows = operator_rows();
    assert!(rows.len() > 50, "{rows:?}");
    assert_eq!(listed.join("\n"), rows.join("\n"), "the table should be\n{}", rows.join("\n"));
}

#[test]
fn variants_are_found() {
    let unary = variants(OPERATORS, "FpUnaryOp");
    assert_eq!((unary.len(), unary[1]), (9, ("NegExp", "`e^-x`")));
    let binary = variants(OPERATORS, "FpBinaryOp");
    assert_eq!(binary.last(), Some(&("DivF", "`a / b`")));
    assert_eq!(variants(REDUCES, "InterSliceReduceOpF32").len(), 4);
}
