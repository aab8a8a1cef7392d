//! `visa playground`: builds the module of the playground, and writes its page.

use crate::check::cargo;
use crate::new::own_folder;
use furiosa_visa_playground::page;
use lexopt::{Arg, Parser};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The target that browsers run.
const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGE: &str = "furiosa-visa-playground";
/// Bytes of the stack: refusals are large values, and a module has 1 MiB by default.
const STACK_BYTES: usize = 8 << 20;
/// The page, if no name is given.
const FILE: &str = "playground.html";

/// Runs the command with its arguments.
pub fn run(mut parser: Parser) -> Result<ExitCode, String> {
    let text = |error: lexopt::Error| error.to_string();
    let mut file = None;
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Arg::Short('o') | Arg::Long("output") if file.is_none() => {
                file = Some(PathBuf::from(parser.value().map_err(text)?));
            }
            Arg::Short('o') | Arg::Long("output") => {
                return Err("`--output` is given twice; give it once".into());
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    let file = file.unwrap_or_else(|| FILE.into());
    if file.as_os_str().is_empty() {
        return Err(format!("`--output`: the name of the file is empty; write for example `{FILE}`"));
    }
    let folder = own_folder().map_err(|error| {
        format!("the page is built from the folder of the library, where this program came from: {error}")
    })?;
    if !has_target() {
        return Err(format!(
            "the compiler has no library for {TARGET}, which browsers run; add it with `rustup target add {TARGET}`"
        ));
    }
    let module = build(Path::new(&folder))?;
    let bytes =
        std::fs::read(&module).map_err(|error| format!("`{}` cannot be read: {error}", module.display()))?;
    std::fs::write(&file, page(&bytes))
        .map_err(|error| format!("`{}` cannot be written: {error}", file.display()))?;
    println!("wrote {}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Tells if the compiler has the library of the target.
fn has_target() -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

/// Builds the module. Returns its path, as cargo tells it.
fn build(library: &Path) -> Result<PathBuf, String> {
    let mut cargo = cargo();
    cargo
        .args(["rustc", "--lib", "--crate-type=cdylib", "--profile=playground", "--package", PACKAGE])
        .args(["--target", TARGET, "--message-format=json-render-diagnostics", "--manifest-path"])
        .arg(library.join("Cargo.toml"))
        .args(["--", &format!("-Clink-arg=-zstack-size={STACK_BYTES}")])
        .stderr(Stdio::inherit());
    let output = cargo.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err("the module is not built".into());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let files =
        messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).flat_map(|message| {
            match &message["filenames"] {
                Value::Array(files) => files.clone(),
                _ => Vec::new(),
            }
        });
    let module = files
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    module.ok_or_else(|| "cargo names no module".into())
}
