//! The direction of the code: types → commands → chip. A module imports from its own layer or from a lower one.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the library, lowest layer first.
const LAYERS: &[&[&str]] = &[
    &["spec"],
    &["error", "list", "mapping", "scalar", "text"],
    &["command", "sequencer"],
    &["chip", "clock"],
    &["host", "runtime"],
    &["engine", "explain", "tensor"],
];

/// Modules that name everything and are named by nothing: the crate's root and its prelude.
const ROOTS: &[&str] = &["lib", "prelude", "bin"];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a text imports with `crate::…`, and the lines. Comments and tests do not count.
fn imports(text: &str) -> Vec<(usize, &str)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|(number, line)| {
            line.split("crate::").skip(1).map(move |rest| {
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
                (number + 1, &rest[..end])
            })
        })
        .collect()
}

/// What a file imports from a higher layer than that of `module`.
fn higher<'a>(module: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    let own = layer(module).unwrap_or_else(|| panic!("give the module `{module}` a layer"));
    imports(text).into_iter().filter(|(_, other)| layer(other).is_some_and(|other| other > own)).collect()
}

#[test]
fn no_module_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&root, &mut files);
    let mut wrong = Vec::new();
    let mut judged = 0;
    for file in files {
        let path = file.strip_prefix(&root).expect("it is inside");
        let first = path.iter().next().and_then(|part| part.to_str()).expect("a name");
        let module = first.trim_end_matches(".rs");
        let tests = path.iter().any(|part| part == "tests") || path.to_string_lossy().contains("tests.rs");
        if ROOTS.contains(&module) || tests {
            continue;
        }
        judged += 1;
        let text = fs::read_to_string(&file).expect("the file can be read");
        for (line, other) in higher(module, &text) {
            wrong.push(format!("src/{}:{line} imports `{other}`", path.display()));
        }
    }
    assert!(wrong.is_empty(), "imports from a higher layer:\n{}", wrong.join("\n"));
    assert!(judged > 150, "only {judged} files were found");
}

/// The control: the test above finds what it should.
#[test]
fn wrong_imports_are_found() {
    let text = "use crate::chip::System;\n// crate::engine\nfn f() { crate::tensor::g() }\n#[cfg(test)]\nuse crate::engine;\n";
    assert_eq!(higher("command", text), [(1, "chip"), (3, "tensor")]);
    assert_eq!(higher("chip", text), [(3, "tensor")]);
    assert_eq!(higher("engine", text), []);
}
