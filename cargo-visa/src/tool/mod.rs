//! The tool as a function from arguments to output, so that tests run it without a process.

mod arguments;
mod calibrate;
mod diff;
mod explain;
mod help;
mod html;
mod map;
mod plain;
mod plan;
mod port;
mod route;
mod table;
mod traces;

pub(crate) use plan::attend::attend;
pub(crate) use plan::test_of;

use std::ffi::OsString;
use std::path::PathBuf;

/// Output of the tool: printed text and a file.
#[derive(Debug, Default)]
pub struct Output {
    /// Text for the reader.
    pub stdout: String,
    /// Message of a refusal.
    pub stderr: String,
    /// Exit code: 0, 1 if a check fails, 2 if the input is refused, or 130 if a search was stopped.
    pub code: u8,
    /// A folder to make for the files, if it is not there.
    pub folder: Option<PathBuf>,
    /// A file to write.
    pub file: Option<(PathBuf, String)>,
    /// Files that exist, with their new content.
    pub rewritten: Vec<(PathBuf, String)>,
}

/// The message of a refusal, without `error: `.
#[derive(Debug)]
struct Refusal(String);

impl<T: std::fmt::Display> From<T> for Refusal {
    fn from(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Output {
    fn text(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), ..Self::default() }
    }

    /// Marks the printed text as the explanation of a refusal.
    fn refused(mut self, message: &str) -> Self {
        self.stderr = format!("error: {message}\n");
        self.code = 2;
        self
    }
}

const USAGE: &str = "\
visa: what cargo does not know of kernels for furiosa-visa-std

Usage: visa COMMAND, or cargo visa COMMAND
  visa check [OPTIONS]            what is refused, sizes included, at your line and as `m![…]`
  visa new NAME [OPTIONS]         a crate with a kernel, its check on the host, a test, and the editor's settings
  visa explain --axes AXES --buf MAPPING --time MAPPING --packet MAPPING
               [--dtype TYPE] [--to TYPE] [--sub] [--windows WINDOWS]
  visa map MAPPING --axes AXES [--svg FILE] [--columns N]
  visa playground [-o FILE]       a page on which mappings are typed: layouts, loops, addresses, cycles, refusals
  visa html TRACE [-o FILE]       a trace as a page: timeline, lines, memory, layouts
  visa diff BEFORE AFTER          two traces, line by line
  visa calibrate SPANS [-o FILE]  what a chip took beside what is simulated
  visa plan --einsum EINSUM --axes AXES [OPTIONS]
                                  the mapping of a contraction that takes the fewest cycles, as a kernel
  visa route FROM TO --axes AXES [--dtype TYPE] [--top N] [--json]
                                  the ways from one layout to another, with cycles and calls
  visa port FILE… [OPTIONS]       kernels in the later spelling of `furiosa-opt-std`, and back
  visa help [TOPIC]               a command, or a chapter of the guide
  visa --version

MAPPING is what stands between the brackets of `m![…]`, for example 'A / 32, B # 8'.
AXES are names and sizes, for example A=64,B=7.
TRACE, BEFORE and AFTER are files that a program wrote with VISA_TRACE=trace.json.
";

const CHECK_HELP: &str = "\
visa check: what the compiler and the library refuse, sizes included, at your line and as `m![…]`

  visa check [--verbose] [--message-format FORMAT] [arguments of cargo build]

  --verbose         what is inside of the library too
  --message-format  `human`, or `json` as cargo writes it, for editors. In rust-analyzer, set
                    \"rust-analyzer.check.overrideCommand\":
                        [\"cargo\", \"visa\", \"check\", \"--message-format=json\", \"--all-targets\"]

Checks all targets: programs, tests, examples, benches; name some, as `--lib` or `--test NAME`, to check no others. Shares
what is built of other crates with `cargo build`, and leaves programs alone: its own are in `target/visa`.
Exit codes are those of cargo: 0 accepted, 101 refused.
";

const NEW_HELP: &str = "\
visa new: a crate with a kernel that runs

  visa new NAME [--path LIBRARY | --version VERSION] [--plan 'EINSUM AXES TYPE']

  --path LIBRARY     the folder of the library; by default the one that this program was installed from
  --version VERSION  the version of the library in the registry
  --plan CONTRACTION a test with the best plan of a contraction, as `visa plan` finds it: einsum, sizes and type (default i8),
                     for example 'mk,nk->mn M=256,N=64,K=128 i8'

Makes the folder NAME with a kernel, its check on the host, a test, and the settings of the editor. Nothing is downloaded.
Exit codes: 0 made, 101 refused.
";

const EXPLAIN_HELP: &str = "\
visa explain: the sequencer that reads a buffer as a stream

  visa explain --axes N=4,C=3,H=8,W=8 --buf 'N, C, H, W' --time 'W, H, C, N' --packet '1' --dtype bf16

  --axes AXES       names and sizes, for example N=4,C=3
  --buf MAPPING     where elements lie in the buffer
  --time MAPPING    the order of packets
  --packet MAPPING  the content of a packet
  --dtype TYPE      the stored type (default i8): i4 i8 u8 i16 i32 f4e2m1 f8e4m3 f8e5m2 bf16 f16 f32
  --to TYPE         the type in the stream, where the fetch also casts (default: the stored type)
  --sub             the sub context fetches
  --windows WINDOWS what the fetch reads at overlapping positions: input, output, window, stride and dilation,
                    as in the call; several with `;` between them: 'H, OH, KH, 1, 1; W, OW, KW, 1, 1'

Prints a row per term with what is then left of the buffer, the entries before and after merging, the contiguous
run, fetch_size and cycles. It explains the fetch alone: what a commit does is told by `CommitPlan::explain()` in a program.
Refused input: a message and exit code 2. Packets of no multiple of 8 bytes, which a buffer
is read in and no fetch streams, are a note, but refused with --to, --sub and --windows.
";

const MAP_HELP: &str = "\
visa map: the coordinates at each position of a mapping

  visa map 'B / 64, B % 32, B / 32 % 2' --axes B=512 --svg layout.svg

  --axes AXES   names and sizes, for example B=512
  --svg FILE    also draws the layout; colours are the outermost digit
  --columns N   cells per row (default: the innermost member, within the width of a page)

Cells hold the coordinates of the axes, in the order of their first use; `·` is padding.
Refused input: a message and exit code 2.
";

const PLAYGROUND_HELP: &str = "\
visa playground: one page on which axes and mappings are typed, for a browser, without a network

  rustup target add wasm32-unknown-unknown     once
  visa playground -o playground.html

  -o, --output FILE   the page (default: playground.html)

The page shows the layout of a mapping, and of a load, a fetch, a switch, a collect, a transpose and a commit the derived
loops, addresses and cycles, or the refusal of the compiler. Its link carries what is typed. It is built from the folder of
the library that this program was installed from: the rules and the clock as WebAssembly.
Exit codes: 0 written, 101 refused.
";

const HTML_HELP: &str = "\
visa html: a trace as one page that a browser opens without a network

  VISA_TRACE=trace.json cargo run --release     writes the trace of a program
  visa html trace.json -o run.html

  -o, --output FILE   the page (default: the name of the trace, with `.html`)

The page has the headline of the run, a timeline, sums by source line, the memories over time, a roofline, and of what
is clicked the configuration and the layout of its tensors. VISA_HTML=run.html writes the same page when a context ends.
";

const DIFF_HELP: &str = "\
visa diff: what changed between two runs of a program

  visa diff before.json after.json

Prints the cycles of each kernel, then those of the operations of each source line, the greatest change first, then both
critical paths. Lines are told apart by kernel, engine, call, and order, so that an edit may move them.
";

const CALIBRATE_HELP: &str = "\
visa calibrate: what a chip took beside what is simulated, and the numbers that would explain the difference

  VISA_JSON=run.json cargo run --release     writes the report of a program for tools
  visa calibrate spans.json -o profile.json
  VISA_PROFILE=profile.json VISA_REPORT=1 cargo run --release

  -o, --output FILE   the numbers, as a profile that VISA_PROFILE loads

The file of spans names the report, and says what the chip took for operations by their name, their line, or both:

  {\"report\": \"run.json\", \"ticks_per_cycle\": 2, \"spans\": [
    {\"operation\": \"to_dm\", \"line\": \"kernel.rs:17\", \"ticks\": 25430},
    {\"operation\": \"to_vrf\", \"cycles\": 267}]}

A cycle is one of 1 GHz. `ticks_per_cycle` is the rate of the counter in GHz. Of several operations that a span means, the
mean is compared. No profile changes a number that is documented: `visa help clock` has those that it can change.
";

const PLAN_HELP: &str = "\
visa plan: the mapping of a contraction that takes the fewest cycles, with the proof, and as a kernel

  visa plan --einsum 'mk,nk->mn' --axes M=4096,N=4096,K=4096 --dtype i8 --emit tests

  --einsum EINSUM  two operands and a result; a small letter is an axis. Tensors lie in HBM as their letters say,
                   outermost first; the first operand is `x`, the second one `w`
  --axes AXES      sizes, for example M=256,N=64,K=128
  --dtype TYPE     of both operands (default i8): i4 i8 f8e4m3 f8e5m2 bf16
  --acc TYPE       of the sums: i32 of integers, f32 of floats
  --out TYPE       of the result (default: that of the sums); sums of f32 may be stored as bf16, f16, f8e4m3 or f8e5m2;
                   with an epilogue: f32 bf16 f16 f8e4m3 f8e5m2 i32 i16 i8. Integers are rounded and limited to their range
  --epilogue STEPS what follows the sums, in this order, in one pass of the Vector Engine: bias,silu for example.
                   bias (a vector in HBM over the last axis of the result, of the type of the sums; bias:N names another
                   axis), relu, silu, gelu (as x * sigmoid(1.702 * x)), sigmoid, tanh, exp, scale=0.125
  --windows LIST   axes that an operand has in windows, for convolutions: 'H+Y, W*2+X' reads x at h + y and 2 w + x. That
                   operand lies in HBM with its border of zeros, and has a summed axis innermost: nhwc,fyxc->nhwf
  --in LAYOUTS     where tensors lie in HBM, if not as their letters say: 'w: N / 256, K, N % 256; x: M, K # 512; out: N, M'.
                   Not with --windows
  --role ROLE      the operand in the register file: `w=trf` or `x=trf` (default: both are tried)
  --slice DIGITS   digits that are in Slice: 'N / 8 % 32'. An axis that is named has this digit there, whatever its place;
                   other axes may have what is left of the 256 slices, and nothing if it is padded: '[N / 8 % 32] # 256'
  --cluster DIGITS the same of the 2 clusters: 'M / 64', or '1 # 2' for one cluster
  --chips N        chips, each with a part of the axes of the result in its HBM, and copies of operands that lack the axis
                   (default 1, up to 8). Not with --windows, --in, --slice or --cluster
  --top N          plans in the table (default 5)
  --time TIME      when the best plan so far is the answer: 60s (default), 500ms, 2m
  --threads N      threads of the search (default: those of the machine). The answer is the same for any number of them, unless
                   the time is over
  --explain N      the reasons and the mappings of plan N, in the place of the table
  --emit FOLDER    writes FOLDER/plan.rs: the best plan, or that of --explain, as a kernel, with a test of its values and cycles.
                   It is a whole test of any crate that depends on the library and on `pollster`
  --surface NAME   of the kernel: `seed` (default, furiosa-visa-std) or `opt` (furiosa-opt-std), which chooses addresses, so
                   that its test asserts the cycles to a part in 8
  --html FILE      writes a page: cycles against bytes of DM and of HBM for the plans of --top, their table, and reasons
  --json           one object: `plans` (best first), `gap`, `space`
  --no-cache       proven answers are kept in target/visa-plan of a project, and priced again when they are used: not now

  visa plan --chain 'mk,fk->mf; mf,nf->mn' --axes M=128,K=1024,F=4096,N=1024 --dtype bf16 --out bf16 [--top N] [--time TIME]
            [--threads N] [--emit FOLDER] [--json]

  --chain CHAIN    contractions one after another as one kernel. An operand with the letters of an earlier result is that
                   result. Each result goes through HBM, or stays in DM and is brought to the layout of the next contraction.
                   Between contractions, and behind the last one: steps, as of --epilogue. Behind them, in front of a
                   contraction: softmax, rmsnorm or layernorm, along the last axis or a named one, as softmax:k; rmsnorm=1e-6
                   has another epsilon than 1e-5. In front of all, it is of the first operand:
                   'rmsnorm; mk,nk->mn' or 'hqd,hkd->hqk; scale=0.125, softmax; hqk,hkd->hqd'. In front of that, add or mul of the
                   last earlier result with the same letters, or else of a tensor in HBM:
                   'mk,fk->mf; silu; mk,fk->mf; mul; mf,nf->mn'.
                   --dtype is that of all operands and of the results between (default, and the only type: bf16), --out that
                   of the last result. Plans of each contraction are joined: the table has the best kernels, and the best one
                   part by part. --json: one object: `kernels` (best first), `gap`, `apart`, `through_hbm`, `search_gaps`

  visa plan --problems FILE.jsonl [--shard K/N] [--top N] [--time TIME] [--threads N] > shard-K.jsonl
  visa plan merge FILE…

  --problems FILE  plans all problems of a file, an object a line: `einsum`, `axes`, and the options above from
                   `dtype` to `chips`, and `name`. Prints lines as they come: a header, one for each problem (`index`, `problem`, and
                   `plans`, `gap`, `space` as --json has them, or `error`), and a trailer with their count and digest
  --shard K/N      only the problems K, K + N, K + 2 N, …
  merge            prints the lines of all shards as one run does, and refuses shards that are missing, given twice, cut,
                   damaged, or of another run

Ctrl-C answers with the best plan so far and its gap, with exit code 130; the second one ends the program.
The space: which operand is in the register file; the extents of each axis over tiles of HBM, clusters, slices, blocks and
positions of a slice, with padding; sums in a slice or between slices; operands that slices share, by copies of the DMA engines
or handed round by the Switch Engine. An operand with another axis inside than the summed one, as `w` of `mk,kn->mn`, is turned
in DM by the Transpose Engine. Choices go by lower bounds, the best one first, and the clock runs those that may be the
best, until the bound of the next one is no better than what was found. Sums over chips and over clusters are not planned, nor what
follows the last contraction of a chain but steps.
Exit codes: 0 found, 1 the file cannot be written, 2 refused, or no mapping is left: then the rules are listed; 130 stopped.
";

const ROUTE_HELP: &str = "\
visa route: the ways to bring a tensor from one layout to another, with their cycles and calls, the cheapest one first

  visa route 'hbm: m![M, K]' 'dm: m![1 # 2], m![M / 2], m![K, M % 2]' --axes M=512,K=64 --dtype bf16

  FROM, TO      a layout: 'hbm: ELEMENT', or 'dm: CLUSTER, SLICE, ELEMENT', each mapping as `m![…]`.
                Axes that only TO has are copies
  --axes AXES   names and sizes, for example M=512,K=64
  --dtype TYPE  of an element (default i8): i4 i8 u8 i16 i32 f4e2m1 f8e4m3 f8e5m2 bf16 f16 f32
  --top N       ways whose calls are printed (default 3)
  --json        one object: `ways` (the cheapest one first), `refused`, `refused_of_two`

Ways have one step or two: transfers by DMA, parallel copies of the sub context, and passes of the Tensor Unit with or without
the Switch Engine and the Transpose Engine. Between two steps, a tensor is in HBM in the order of a side, or in DM with the slices
of one side and the order of the other one, or spread over the slices. Of each kind of way the cheapest candidate is listed.
It is no search: there may be a better way. Cycles are those of the calls as a kernel of their own.
Not tried: several chips, moves between clusters but through HBM, views and tiles, three steps.
Exit codes: 0 found, 2 refused, or no way is left: then the rules are listed.
";

const PORT_HELP: &str = "\
visa port: kernels in the later spelling of `furiosa-opt-std`, and back

  visa port FILE… [--to later|seed] [--write | --check]

  --to SPELLING  `later` or `seed` (this library); default: the one whose prelude a file does not name
  --write        changes the files; by default the changes are printed as a difference
  --check        names the files that would change, with exit code 1

Edits names, generics, arguments and stages; all else stays byte for byte. A chain of calls is rewritten as a whole, or stays
with a message: place, text, reason, edit. What follows from the text of the file alone is known: annotate a handle, or
spell a mapping, and more is rewritten. Texts of documentation and calls of macros stay. Addresses are dropped, with a note.
Files without a prelude stay. Messages are on the standard error.
Exit codes: 0 done, 1 a file would change (with --check) or cannot be written, 2 a file is no Rust or cannot be read: then
none is written.
";

/// Help of each command.
const HELP: [(&str, &str); 11] = [
    ("check", CHECK_HELP),
    ("new", NEW_HELP),
    ("explain", EXPLAIN_HELP),
    ("map", MAP_HELP),
    ("playground", PLAYGROUND_HELP),
    ("html", HTML_HELP),
    ("diff", DIFF_HELP),
    ("calibrate", CALIBRATE_HELP),
    ("plan", PLAN_HELP),
    ("route", ROUTE_HELP),
    ("port", PORT_HELP),
];

/// Runs a command that answers with text. `arguments` are the arguments after the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Output {
    match command(lexopt::Parser::from_args(arguments)) {
        Ok(output) => output,
        Err(Refusal(message)) => Output::default().refused(&message),
    }
}

fn command(mut parser: lexopt::Parser) -> Result<Output, Refusal> {
    use lexopt::Arg::{Long, Short, Value};
    let Some(first) = parser.next()? else {
        return Ok(Output { stderr: USAGE.to_string(), code: 2, ..Output::default() });
    };
    match first {
        Short('h') | Long("help") => Ok(Output::text(USAGE)),
        Short('V') | Long("version") => Ok(Output::text(concat!("visa ", env!("CARGO_PKG_VERSION"), "\n"))),
        Value(name) => match name.to_str() {
            Some("calibrate") => calibrate::command(parser),
            Some("diff") => diff::command(parser),
            Some("explain") => explain::command(parser),
            Some("html") => html::command(parser),
            Some("map") => map::command(parser),
            Some("plan") => plan::command(parser),
            Some("port") => port::command(parser),
            Some("route") => route::command(parser),
            Some("help") => help::command(parser),
            // These commands are run by `main`; here is their help alone.
            Some("check") => Ok(Output::text(CHECK_HELP)),
            Some("new") => Ok(Output::text(NEW_HELP)),
            Some("playground") => Ok(Output::text(PLAYGROUND_HELP)),
            _ => {
                let name = arguments::shown(&name);
                let all = "`check`, `new`, `explain`, `map`, `playground`, `html`, `diff`, `calibrate`, `plan`, `route`, `port` and `help`";
                Err(format!("`{name}` is not a command; the commands are {all}").into())
            }
        },
        other => Err(other.unexpected().into()),
    }
}
