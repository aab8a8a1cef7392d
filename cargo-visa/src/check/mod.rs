//! `cargo visa check`: builds as far as sizes are checked, and shows refusals at the user's lines.

mod advice;
mod arguments;
mod chapter;
mod follow;
mod launch;
mod place;
mod render;
mod rewrite;
mod sources;
mod text;
pub mod wrapper;

use arguments::{Format, Options};
use rewrite::{Rewriter, Style};
use serde_json::Value;
use sources::Sources;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// Exit code of cargo if something could not be compiled.
const FAILED: u8 = 101;

/// Runs the command with its arguments.
pub fn run(arguments: &[OsString]) -> Result<ExitCode, String> {
    let options = Options::parse(arguments)?;
    let project = Project::find(&options)?;
    let is_terminal = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let wish = options.colour.clone().or_else(|| std::env::var("CARGO_TERM_COLOR").ok());
    let colour = match (options.format, wish.as_deref()) {
        (Format::Json, _) => false,
        (Format::ColouredJson, _) | (_, Some("always")) => true,
        (Format::Human, Some("never")) => false,
        (Format::Human, _) => is_terminal,
    };
    let mut cargo = cargo_build(&options, &project, colour);
    let start = |error| format!("cargo cannot be started: {error}");
    let mut build = cargo.stdout(Stdio::piped()).spawn().map_err(start)?;
    let lines = BufReader::new(build.stdout.take().expect("it is piped"));
    let style = Style { verbose: options.verbose, colour };
    let mut output = Output::new(options.format);
    let mut rewriter = Rewriter::new(project.sources, style);
    for line in lines.lines() {
        let line = line.map_err(|error| format!("cargo's messages cannot be read: {error}"))?;
        match serde_json::from_str::<Value>(&line) {
            Ok(value) if value.is_object() => rewriter.push(value).iter().for_each(|line| output.say(line)),
            // For example, the output of a procedural macro that prints.
            _ => output.pass(&line),
        }
    }
    let status = build.wait().map_err(|error| format!("cargo cannot be waited for: {error}"))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)))
}

/// Facts about the workspace, from cargo.
struct Project {
    sources: Sources,
    target: PathBuf,
    /// The folder of intermediate artefacts. `None`: this cargo has none that could be shared.
    build: Option<PathBuf>,
}

impl Project {
    fn find(options: &Options) -> Result<Self, String> {
        let mut cargo = cargo();
        cargo.args(["metadata", "--no-deps", "--format-version=1"]).args(&options.of_metadata);
        let output = cargo.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(text.trim_end().trim_start_matches("error: ").to_string());
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("what `cargo metadata` writes cannot be read: {error}"))?;
        let mut sources = Sources::new(metadata["workspace_root"].as_str().unwrap_or_default());
        // The library may be of the workspace itself.
        for package in metadata["packages"].as_array().into_iter().flatten() {
            for target in package["targets"].as_array().into_iter().flatten() {
                if target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib")) {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
                    sources.add_crate(&text(&package["name"]), &text(&target["src_path"]));
                }
            }
        }
        let target = metadata["target_directory"].as_str().unwrap_or("target");
        let build = metadata["build_directory"].as_str().map(PathBuf::from);
        Ok(Self { sources, target: PathBuf::from(target), build })
    }
}

/// The cargo that has started this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn cargo_build(options: &Options, project: &Project, colour: bool) -> Command {
    let mut cargo = cargo();
    cargo.arg("build");
    cargo.arg(format!("--message-format={}", if colour { "json-diagnostic-rendered-ansi" } else { "json" }));
    // Programs are not built: the files that stand in for them go to another folder than those of `cargo build`. All other
    // artefacts are shared with it. Crates of the workspace have other names there, because another program compiles them.
    if !options.has_target_folder {
        cargo.arg("--target-dir").arg(project.target.join("visa"));
        if let Some(build) = &project.build {
            cargo.env("CARGO_BUILD_BUILD_DIR", build);
        }
    }
    cargo.args(&options.of_build);
    if !options.has_targets {
        cargo.arg("--all-targets");
    }
    if std::env::var_os("RUSTC_WORKSPACE_WRAPPER").is_none()
        && let Ok(program) = std::env::current_exe()
    {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", program).env(wrapper::VARIABLE, "1");
    }
    cargo
}

/// Output of lines.
struct Output {
    format: Format,
    /// Texts that were written: a program and its tests have the same errors.
    said: BTreeSet<String>,
}

impl Output {
    fn new(format: Format) -> Self {
        Self { format, said: BTreeSet::new() }
    }

    // The reader of a pipe may close it early, which is no mistake of this program.
    fn pass(&self, line: &str) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }

    fn say(&mut self, line: &Value) {
        if self.format != Format::Human {
            return self.pass(&line.to_string());
        }
        let is_hint = line["message"]["level"] == "failure-note";
        let text = line["message"]["rendered"].as_str().filter(|_| !is_hint);
        if let Some(text) = text.filter(|text| self.said.insert(text.to_string())) {
            let _ = write!(std::io::stderr(), "{text}");
        }
    }
}
