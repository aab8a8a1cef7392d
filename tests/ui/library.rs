//! The library as `rustc` needs it, built as for a debug and as for a release build of a user.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How a user builds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// `cargo build`
    Dev,
    /// `cargo build --release`: functions of the library are inlined before constants are evaluated.
    Release,
    /// `cargo build` with the feature `late-refusals`.
    Late,
}

/// The built library.
pub struct Library {
    /// How it was built.
    pub profile: Profile,
    /// Where programs are built.
    pub output: PathBuf,
    rlibs: Vec<(&'static str, PathBuf)>,
}

/// Held while libraries are built and looked for: one that was just built is noted before another one is looked for.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `rustc --version` says.
pub fn compiler_version() -> String {
    let output = compiler().arg("--version").output().expect("rustc starts");
    String::from_utf8(output.stdout).expect("rustc writes text")
}

fn compiler() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

impl Library {
    /// The library for debug builds, and the one for release builds. The first is the one that the tests have built, or
    /// one that cargo builds now.
    pub fn both() -> [Self; 2] {
        let _one = one_at_a_time();
        // Built first, so that it is known when the other one is looked for.
        let release = build(Profile::Release);
        let dev = built_for_the_tests().unwrap_or_else(|| build(Profile::Dev));
        let bytes = |path: &PathBuf| std::fs::read(path).expect("the library can be read");
        assert!(bytes(&dev) != bytes(&release), "{dev:?} and {release:?} are one library");
        [Self::new(Profile::Dev, dev, "dev"), Self::new(Profile::Release, release, "release")]
    }

    /// The library for debug builds alone, for programs in a folder of their own: other tests run at the same time.
    pub fn dev(folder: &str) -> Self {
        let _one = one_at_a_time();
        Self::new(Profile::Dev, built_for_the_tests().unwrap_or_else(|| build(Profile::Dev)), folder)
    }

    /// The library with the feature `late-refusals`.
    pub fn late() -> Self {
        let _one = one_at_a_time();
        Self::new(Profile::Late, build(Profile::Late), "late")
    }

    fn new(profile: Profile, library: PathBuf, folder: &str) -> Self {
        let executor = newest("pollster").expect("the tests depend on pollster");
        let output = target_folder().join("ui").join(folder);
        let _ = std::fs::remove_dir_all(&output);
        std::fs::create_dir_all(&output).expect("the target folder can be written");
        Self { profile, output, rlibs: vec![("furiosa_visa_std", library), ("pollster", executor)] }
    }

    /// A compiler that knows the library.
    pub fn compiler(&self) -> Command {
        let mut compiler = compiler();
        compiler.current_dir(super::here()).args(["--edition=2024", "--crate-type=bin", "-Adead_code"]);
        compiler.args(["--error-format=json", "--diagnostic-width=140", "-Cdebuginfo=0"]);
        compiler.arg("--out-dir").arg(&self.output);
        match self.profile {
            Profile::Dev | Profile::Late => compiler.args(["-Copt-level=0", "-Cdebug-assertions=on"]),
            // Without LLVM's passes, which no message depends on.
            Profile::Release => compiler.args(["-Copt-level=3", "-Cno-prepopulate-passes"]),
        };
        for (name, path) in &self.rlibs {
            compiler.arg("--extern").arg(format!("{name}={}", path.display()));
            let folder = path.parent().expect("a library is in a folder");
            compiler.arg("-L").arg(format!("dependency={}", folder.display()));
        }
        compiler
    }
}

/// The library that this test was built with, unless a source is newer. Cargo does not tell a test where its
/// dependencies are, and would build them once more if it were asked for the library alone. Tests that are optimised
/// have no library for debug builds.
fn built_for_the_tests() -> Option<PathBuf> {
    if cfg!(not(debug_assertions)) {
        return None;
    }
    let library = newest("furiosa_visa_std")?;
    let built = modified(&library)?;
    let root = super::here().join("../..");
    let sources = ["src", "crates", "macros/src", "grammar/src"].map(|folder| root.join(folder));
    sources
        .iter()
        .all(|folder| newest_below(folder).is_some_and(|changed| changed < built))
        .then_some(library)
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

fn newest_below(folder: &Path) -> Option<SystemTime> {
    let entries = folder.read_dir().ok()?.filter_map(Result::ok);
    let times = entries.filter_map(|entry| match entry.path() {
        folder if folder.is_dir() => newest_below(&folder),
        file => modified(&file),
    });
    times.max()
}

/// The library of a crate that was built last, beside this test. Those that were built for another purpose do not count.
fn newest(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().expect("the test has a path");
    let entries = program.parent()?.read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let is_library = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    };
    let release = std::fs::read_to_string(release_note()).unwrap_or_default();
    let is_release =
        |path: &PathBuf| release.lines().any(|noted| Path::new(noted).file_name() == path.file_name());
    let libraries = entries.filter(|path| is_library(path) && !is_release(path));
    libraries.max_by_key(|path| modified(path))
}

/// Where the paths of libraries for release builds, and of those with other features, are written down, one per line: an
/// earlier compiler had another one.
fn release_note() -> PathBuf {
    target_folder().join("ui").join("release-library.txt")
}

fn note_release(library: &Path) {
    let path = release_note();
    let mut note = std::fs::read_to_string(&path).unwrap_or_default();
    let line = library.display().to_string();
    if note.lines().all(|noted| noted != line) {
        // A note of an older version of these tests ends without a line break.
        if !note.is_empty() && !note.ends_with('\n') {
            note.push('\n');
        }
        note.push_str(&line);
        note.push('\n');
        std::fs::create_dir_all(path.parent().expect("it has a folder"))
            .expect("the target folder can be written");
        std::fs::write(path, note).expect("the target folder can be written");
    }
}

/// Lets cargo build the library, for a small test of it.
fn build(profile: Profile) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(super::here().join("../..")).env("CARGO_TARGET_DIR", target_folder());
    // A test, of all packages: dependencies then have the features that `cargo test --workspace` has built them with,
    // and are not built once more.
    cargo.args(["build", "--workspace", "--test=package"]);
    match profile {
        Profile::Dev | Profile::Release => cargo.arg("--all-features"),
        Profile::Late => cargo.arg("--features=furiosa-visa-std/parse,furiosa-visa-std/late-refusals"),
    };
    cargo.arg("--message-format=json-render-diagnostics");
    if profile == Profile::Release {
        // A release build, as far as the compiler goes before LLVM: with the dependencies of the debug build. What the
        // compiler does to functions before LLVM is the same from level 1 on, and it is done to the rules in debug builds, too:
        // they differ in checks of assertions and overflows. With `VISA_CASES` the rules are built without them, and with them
        // all that depends on them. An incremental build would not inline.
        cargo.env("CARGO_INCREMENTAL", "0");
        let packages: &[&str] =
            if std::env::var_os("VISA_CASES").is_some() { &["std", "rules"] } else { &["std"] };
        for setting in ["opt-level=1", "debug=0", "debug-assertions=false", "overflow-checks=false"] {
            for package in packages {
                cargo.arg(format!("--config=profile.dev.package.furiosa-visa-{package}.{setting}"));
            }
        }
    }
    let output = cargo.stderr(Stdio::inherit()).output().expect("cargo starts");
    assert!(output.status.success(), "the library cannot be built: {cargo:?}");
    let lines = String::from_utf8(output.stdout).expect("cargo writes text");
    let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("cargo writes JSON"));
    let artifacts = messages.filter(|message| message["target"]["name"] == "furiosa_visa_std");
    let files = artifacts.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let files: Vec<String> = files.filter_map(|file| file.as_str().map(String::from)).collect();
    let library = library_of_artifacts(&files);
    if profile != Profile::Dev {
        note_release(&library);
    }
    library
}

/// The library among the files that cargo names. Cargo names the copy that the next build replaces, and the metadata of
/// the library itself, which has a name of its own and lies beside it.
fn library_of_artifacts<T: AsRef<Path>>(files: &[T]) -> PathBuf {
    let mut files = files.iter().map(AsRef::as_ref);
    let is_metadata = |file: &&Path| file.extension().is_some_and(|extension| extension == "rmeta");
    files.find(is_metadata).expect("cargo names the metadata of the library").with_extension("rlib")
}

#[test]
fn the_library_is_not_its_copy() {
    let files = ["/t/debug/libfuriosa_visa_std.rlib", "/t/debug/deps/libfuriosa_visa_std-0f.rmeta"];
    assert_eq!(library_of_artifacts(&files), Path::new("/t/debug/deps/libfuriosa_visa_std-0f.rlib"));
}

/// The folder that cargo builds into: this program lies in it, and cargo marks it.
fn target_folder() -> PathBuf {
    let program = std::env::current_exe().expect("the test has a path");
    let marked = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    marked.map_or_else(|| super::here().join("../../target"), Path::to_path_buf)
}
