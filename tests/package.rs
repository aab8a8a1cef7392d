//! What `cargo package` puts into the packages of the crates: what a user needs, and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The files of a package, as cargo lists them.
fn files(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{package}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("paths are text").lines().map(String::from).collect()
}

/// Checks the files of a package that lies in `folder`: all sources, the licences, `more`, and nothing else.
fn check(package: &str, folder: &str, more: &[&str]) {
    let found = files(package);
    let in_src = |file: &str| file.starts_with("src/");
    let needed = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
    for file in needed.iter().chain(more) {
        assert!(found.contains(*file), "{package} has no {file}");
    }
    // What cargo adds.
    let added = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];
    let known = |file: &str| [&needed[..], more, &added].concat().contains(&file);
    let other: Vec<_> = found.iter().filter(|file| !in_src(file) && !known(file)).collect();
    assert!(other.is_empty(), "{package} has {other:?}");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("src");
    // The chapters of the guide are texts; so are the parts of pages, and the files of a new crate.
    let kinds = [
        ("furiosa-visa-std", "src/guide/", &[".md", ".svg"][..]),
        ("furiosa-visa-report", "src/page/", &[".html", ".css", ".js"]),
        ("furiosa-visa-playground", "src/page/", &[".html", ".css", ".js", ".json"]),
        ("cargo-visa", "src/new/", &[".txt"]),
        ("cargo-visa", "src/guide/", &[".md", ".svg"]),
    ];
    let is_text = |file: &str| {
        kinds.iter().any(|(own, folder, ends)| {
            *own == package && file.starts_with(folder) && ends.iter().any(|end| file.ends_with(end))
        })
    };
    let stranger = found.iter().find(|file| in_src(file) && !file.ends_with(".rs") && !is_text(file));
    assert_eq!(stranger, None, "{package}");
    let packed: BTreeSet<&String> = found.iter().filter(|file| in_src(file)).collect();
    let mut sources = BTreeSet::new();
    source_files(&source, "src", &mut sources);
    assert!(sources.len() > 1, "{package}");
    assert_eq!(packed, sources.iter().collect(), "{package}: packed, and there");
}

/// Adds the files below a folder whose path in the package is `name`.
fn source_files(folder: &Path, name: &str, found: &mut BTreeSet<String>) {
    for entry in folder.read_dir().expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        let file = path.file_name().and_then(OsStr::to_str).expect("names are text");
        let name = format!("{name}/{file}");
        if path.is_dir() {
            source_files(&path, &name, found);
        } else {
            found.insert(name);
        }
    }
}

#[test]
fn the_library() {
    let more = [
        "src/lib.rs",
        "CHANGELOG.md",
        "data/README.md",
        "data/digits.safetensors",
        "data/mlp.safetensors",
        "data/transformer.safetensors",
        "data/transformer_int8.safetensors",
        "examples/00_hello.rs",
        "examples/01_digits.rs",
        "examples/02_quantized_fetch.rs",
        "examples/03_matmul_tiled.rs",
        "examples/04_timeline.rs",
        "examples/05_sum_over_slices.rs",
        "examples/05_transpose.rs",
        "examples/06_mlp.rs",
        "examples/06_tiles.rs",
        "examples/07_softmax.rs",
        "examples/08_convolution.rs",
        "examples/09_gather.rs",
        "examples/10_attention.rs",
        "examples/08_convolution/planned.rs",
        "examples/10_attention/planned.rs",
        "examples/11_norms.rs",
        "examples/12_transformer.rs",
        "examples/13_quantized.rs",
        "examples/14_matmul_large.rs",
    ];
    check("furiosa-visa-std", ".", &more);
}

#[test]
fn the_macros() {
    check("furiosa-visa-macros", "macros", &["src/lib.rs"]);
}

#[test]
fn the_grammar() {
    check("furiosa-visa-grammar", "grammar", &["src/lib.rs"]);
}

#[test]
fn the_command() {
    check("cargo-visa", "cargo-visa", &["src/lib.rs"]);
}

#[test]
fn the_playground() {
    check("furiosa-visa-playground", "playground", &["src/lib.rs"]);
}

#[test]
fn the_later_surface() {
    check("furiosa-opt-std", "opt-std", &["src/lib.rs"]);
}

#[test]
fn the_layers() {
    for layer in ["rules", "chip", "clock", "plan", "report"] {
        check(&format!("furiosa-visa-{layer}"), &format!("crates/{layer}"), &["src/lib.rs"]);
    }
}
