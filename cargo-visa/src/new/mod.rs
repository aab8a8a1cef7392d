//! `cargo visa new`: a crate with a kernel that runs. Nothing is downloaded to make it.

use crate::tool::test_of;
use lexopt::{Arg, Parser, ValueExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const MANIFEST: &str = include_str!("manifest.txt");
const PROGRAM: &str = include_str!("program.txt");
const SETTINGS: &str = include_str!("settings.txt");

/// The names that Windows keeps for devices. Cargo refuses them too.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Words that cannot name a crate: strict and reserved keywords, and crates that the compiler knows.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "build", "const", "continue", "core",
    "crate", "deps", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "furiosa-visa-std",
    "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "pollster",
    "priv", "proc_macro", "pub", "ref", "return", "self", "static", "std", "struct", "super", "test", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Source of the library.
#[derive(Debug, PartialEq, Eq)]
enum Library {
    /// A folder.
    Path(PathBuf),
    /// The registry.
    Version(String),
}

/// Runs the command with its arguments.
pub fn run(mut parser: Parser) -> Result<ExitCode, String> {
    let text = |error: lexopt::Error| error.to_string();
    let (mut name, mut library, mut plan) = (None, None, None);
    while let Some(argument) = parser.next().map_err(text)? {
        let source = match argument {
            Arg::Value(value) if name.is_none() => {
                name = Some(value.string().map_err(text)?);
                continue;
            }
            Arg::Long("plan") if plan.is_none() => {
                plan = Some(parser.value().and_then(|value| value.string()).map_err(text)?);
                continue;
            }
            Arg::Long("plan") => return Err("`--plan` is given twice; give it once".into()),
            Arg::Long("path") => Library::Path(parser.value().map_err(text)?.into()),
            Arg::Long("version") => {
                Library::Version(parser.value().and_then(|value| value.string()).map_err(text)?)
            }
            other => return Err(other.unexpected().to_string()),
        };
        if library.replace(source).is_some() {
            return Err("the library is given twice; give one of `--path` and `--version`, once".into());
        }
    }
    let name =
        name.ok_or("the name of the crate is missing; write for example `cargo visa new my-kernels`")?;
    check_name(&name)?;
    let library = library.unwrap_or_else(own_library);
    let folder = Path::new(&name);
    let manifest = manifest(&name, &library)?;
    check_free(folder)?;
    let test = plan.map(|plan| test_of(&plan)).transpose()?;
    create(folder, &manifest, test.as_deref())?;
    println!("made `{name}`: a kernel in `{name}/src/main.rs`, which `cargo run` checks against the host");
    if test.is_some() {
        println!("and the plan in `{name}/tests/plan.rs`, which `cargo test --release --test plan` runs");
    }
    Ok(ExitCode::SUCCESS)
}

/// The library that this program was built beside or, without one, the version of the program.
fn own_library() -> Library {
    match own_folder() {
        Ok(_) => Library::Path(beside()),
        Err(_) => Library::Version(env!("CARGO_PKG_VERSION").into()),
    }
}

/// The folder that this program was built beside.
fn beside() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The whole path of the folder of the library that this program was built beside.
pub fn own_folder() -> Result<String, String> {
    library_folder(&beside())
}

fn check_name(name: &str) -> Result<(), String> {
    let allowed = "a name is letters, digits, `-` and `_`, and starts with a letter";
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!("`{name}` cannot name a crate: {allowed}"));
    }
    if let Some(wrong) = name.chars().find(|c| !c.is_ascii_alphanumeric() && !['-', '_'].contains(c)) {
        return Err(format!("`{name}` cannot name a crate because of `{wrong}`: {allowed}"));
    }
    let lower = name.to_ascii_lowercase();
    let is_device = DEVICES.contains(&lower.as_str())
        || ["com", "lpt"].iter().any(|port| {
            lower
                .strip_prefix(port)
                .is_some_and(|rest| rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit()))
        });
    if TAKEN.contains(&name) || is_device {
        return Err(format!("`{name}` cannot name a crate: it has another meaning; try `{name}-kernels`"));
    }
    Ok(())
}

/// The manifest of the new crate.
fn manifest(name: &str, library: &Library) -> Result<String, String> {
    let source = match library {
        Library::Path(path) => {
            let folder = library_folder(path).map_err(|error| format!("`--path`: {error}"))?;
            format!("path = {}", quoted(&folder))
        }
        Library::Version(version) => {
            let is_version = version.starts_with(|c: char| c.is_ascii_digit() || "=^~*<>".contains(c))
                && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+=^~*<>, ".contains(c));
            if !is_version {
                return Err(format!("`--version`: `{version}` is no version; write for example `0.1`"));
            }
            format!("version = {}", quoted(version))
        }
    };
    Ok(MANIFEST.replace("NAME", name).replace("SOURCE", &source))
}

/// The whole path of the library's folder, which is looked into.
fn library_folder(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let manifest = std::fs::read_to_string(path.join("Cargo.toml"))
        .map_err(|error| format!("`{shown}` has no `Cargo.toml` that can be read: {error}"))?;
    if !manifest.lines().any(|line| line.trim() == "name = \"furiosa-visa-std\"") {
        return Err(format!("`{shown}` is not the folder of furiosa-visa-std"));
    }
    let whole = path.canonicalize().map_err(|error| format!("`{shown}` cannot be resolved: {error}"))?;
    let whole = whole.to_str().ok_or_else(|| format!("`{shown}` is not UTF-8 text"))?;
    Ok(whole.strip_prefix(r"\\?\").unwrap_or(whole).to_string())
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Refuses a folder that exists.
fn check_free(folder: &Path) -> Result<(), String> {
    match folder.exists() {
        true => Err(format!("`{}` exists already; choose another name, or remove it", folder.display())),
        false => Ok(()),
    }
}

/// Writes the files of the crate into a new folder, with a test if there is one.
fn create(folder: &Path, manifest: &str, test: Option<&str>) -> Result<(), String> {
    let files = [
        ("Cargo.toml", manifest),
        ("src/main.rs", PROGRAM),
        (".vscode/settings.json", SETTINGS),
        (".gitignore", "/target\n"),
    ];
    for (file, content) in files.into_iter().chain(test.map(|test| ("tests/plan.rs", test))) {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, content))
            .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["a", "my-kernels", "k2_x", "command", "com", "Matmul"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for (name, words) in [
            ("", "starts with a letter"),
            ("2x", "starts with a letter"),
            ("-x", "starts with a letter"),
            ("a/b", "because of `/`"),
            ("a b", "because of ` `"),
            ("größe", "because of `ö`"),
            ("fn", "another meaning; try `fn-kernels`"),
            ("while", "another meaning"),
            ("furiosa-visa-std", "another meaning"),
            ("NUL", "another meaning"),
            ("com1", "another meaning"),
        ] {
            let error = check_name(name).expect_err(name);
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn manifests() {
        let library = Library::Version("0.1".into());
        let text = manifest("my-kernels", &library).expect("is accepted");
        for part in [
            "name = \"my-kernels\"\n",
            "furiosa-visa-std = { version = \"0.1\" }\n",
            "pollster = \"0.4\"\n",
            "[profile.dev.package.furiosa-visa-chip]\nopt-level = 3\n",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let wrong = manifest("a", &Library::Version("new".into())).expect_err("is refused");
        assert_eq!(wrong, "`--version`: `new` is no version; write for example `0.1`");
        assert_eq!(quoted(r#"C:\a "b""#), r#""C:\\a \"b\"""#);
    }

    #[test]
    fn the_library_is_looked_for() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found = manifest("a", &Library::Path(here.join(".."))).expect("it is there");
        assert!(found.contains("furiosa-visa-std = { path = \"") && !found.contains(".."), "{found}");
        assert_eq!(own_library(), Library::Path(here.join("..")));
        let wrong = manifest("a", &Library::Path(here.into())).expect_err("is refused");
        assert!(wrong.contains("is not the folder of furiosa-visa-std"), "{wrong}");
        let none = manifest("a", &Library::Path(here.join("src"))).expect_err("is refused");
        assert!(none.contains("has no `Cargo.toml`"), "{none}");
    }
}
