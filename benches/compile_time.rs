//! Cost of an engine call while compiling, in turns of an empty const loop of the same run.
//!
//! `cargo bench -p furiosa-visa-benches --bench compile_time` takes the library as in a release build, and with
//! `--profile dev` as in a debug build. The program writes a crate of 200 kernels with sizes of their own, so that no two
//! share a derivation, and gives it to `rustc`; a crate without kernels is subtracted. A turn of the loop measures the
//! machine: the ratio is the same on a fast and on a slow one. `VISA_LIBRARY=path.rlib` measures another build.

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Kernels of the crate.
const KERNELS: usize = 200;
/// Calls of each kernel that derive something: two `to_dm`, `to_trf`, two `fetch`, two `collect`, `align`, `contract`,
/// `accumulate`, `commit`, `to_hbm`.
const CALLS: usize = 12;
/// Turns of the loop.
const TURNS: usize = 2_000_000;
/// Maximum number of turns that a call may cost. Measured for it on a machine with 2 cores, built for debugging and as a
/// release: 4 280 and 4 390. Beside many other programs, whose cache misses the loop does not have, it is up to 5 060.
const LIMIT: f64 = 4_500.0;
/// Number of times that each crate is compiled. The shortest time counts.
const ROUNDS: usize = 6;

/// A crate of `count` kernels.
fn kernels(count: usize) -> String {
    let mut text = String::from("#![allow(dead_code)]\n");
    for k in 0..count {
        let (rows, columns, depth) = (8 + k, 8, 32 * (1 + k % 8));
        let _ = write!(
            text,
            "pub mod kernel_{k} {{
    use furiosa_visa_std::prelude::*;
    axes![T = {rows}, N = {columns}, K = {depth}];
    #[device(chip = 1)]
    pub fn product(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![T, K]>, b: &HbmTensor<bf16, m![1], m![N, K]>)
        -> HbmTensor<f32, m![1], m![T, N]> {{
        let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 1 << 18);
        let weights = (ctx.sub.begin(b.view())).fetch::<bf16, m![N], m![K]>()
            .collect::<m![N, K / 16], m![K % 16]>()
            .to_trf::<m![N], m![K]>(TrfAddress::Full);
        let c = (ctx.main.begin(a.view())).fetch::<bf16, m![T], m![K]>()
            .collect::<m![T, K / 16], m![K % 16]>()
            .align::<m![T, K / 32], m![K % 32], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![T, N]>(3 << 17);
        c.to_hbm(&mut ctx.tdma, 1 << 20)
    }}
}}
"
        );
    }
    text
}

/// A crate with an empty loop.
fn empty_loop(turns: usize) -> String {
    format!(
        "#![allow(long_running_const_eval)]
pub const TURNS: usize = {{
    let mut turn = 0;
    while turn < {turns} {{
        turn += 1;
    }}
    turn
}};
"
    )
}

/// The library that this program was built with, as cargo names it: others lie beside it. `VISA_LIBRARY` names another.
fn library() -> PathBuf {
    if let Some(path) = std::env::var_os("VISA_LIBRARY") {
        return path.into();
    }
    let program = std::env::current_exe().expect("the program has a path");
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target.expect("cargo marks its folder"));
    cargo.args(["bench", "--no-run", "--package=furiosa-visa-benches", "--bench=compile_time"]);
    cargo.args(["--profile", if cfg!(debug_assertions) { "dev" } else { "bench" }]);
    let output = cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output();
    let output = output.expect("cargo starts");
    assert!(output.status.success(), "the library cannot be built: {cargo:?}");
    let lines = String::from_utf8(output.stdout).expect("cargo writes text");
    let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("cargo writes JSON"));
    let of_library = messages.filter(|message| message["target"]["name"] == "furiosa_visa_std");
    let files: Vec<Value> =
        of_library.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default()).collect();
    let mut metadata = files.iter().filter_map(Value::as_str).filter(|file| file.ends_with(".rmeta"));
    // Beside it, under the same name, lies the library itself.
    Path::new(metadata.next().expect("cargo names the metadata of the library")).with_extension("rlib")
}

/// Processor time of the programs that this one has waited for, where the system tells: other work on the machine then
/// does not count.
fn work_of_children() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name of the program, which may have blanks: user and system time of children are the 14th and 15th.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks()? + ticks()?)))
}

/// Compiles a crate. Returns the time.
fn compile(library: &Path, name: &str, text: &str) -> Duration {
    let folder = std::env::temp_dir().join(format!("visa-compile-time-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let source = folder.join(format!("{name}.rs"));
    std::fs::write(&source, text).expect("the source can be written");
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.args(["--edition=2024", "--crate-type=lib", "--emit=obj", "-Cdebuginfo=0"]);
    compiler.arg("--extern").arg(format!("furiosa_visa_std={}", library.display()));
    compiler.arg("-L").arg(format!("dependency={}", library.parent().expect("it is in a folder").display()));
    compiler.arg("-o").arg(folder.join(format!("{name}.o"))).arg(&source);
    let (start, start_of_work) = (Instant::now(), work_of_children());
    let output = compiler.output().expect("rustc starts");
    let time = match (start_of_work, work_of_children()) {
        (Some(start), Some(end)) => end - start,
        _ => start.elapsed(),
    };
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let _ = std::fs::remove_dir_all(&folder);
    time
}

fn main() -> ExitCode {
    let library = library();
    let crates = [
        ("kernels", kernels(KERNELS)),
        ("no_kernels", kernels(0)),
        ("turns", empty_loop(TURNS)),
        ("no_turns", empty_loop(0)),
    ];
    let mut least = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        for (least, (name, text)) in least.iter_mut().zip(&crates) {
            *least = (*least).min(compile(&library, name, text));
        }
    }
    let [kernels, no_kernels, turns, no_turns] = least.map(|time| time.as_secs_f64());
    let call = (kernels - no_kernels) / (KERNELS * CALLS) as f64;
    let turn = (turns - no_turns) / TURNS as f64;
    println!("{KERNELS} kernels of {CALLS} calls: {:.2} ms per call", call * 1e3);
    println!("empty const loop: {:.3} µs per turn", turn * 1e6);
    println!("{:.0} turns per engine call (limit {LIMIT:.0})", call / turn);
    if call / turn <= LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
