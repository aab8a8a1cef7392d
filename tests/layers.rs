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
    &["guide", "kernels"],
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

/// The lines of a text that are code of the library, with their numbers. Comments do not count, nor do modules of tests;
/// of anything else that is for tests alone, the line below the attribute does not.
fn code(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    while let Some((number, line)) = lines.next() {
        let rest = line.trim_start();
        if rest == "#[cfg(test)]" {
            let is_attribute = |line: &str| line.trim_start().starts_with("#[");
            let item = lines.find(|(_, line)| !is_attribute(line)).map_or("", |(_, item)| item);
            if item.split(' ').any(|word| word == "mod") && item.ends_with('{') {
                let end = format!("{}}}", &line[..line.len() - rest.len()]);
                lines.find(|(_, line)| *line == end);
            }
        } else if !rest.starts_with("//") {
            kept.push((number, line));
        }
    }
    kept
}

/// The modules that a text imports with `crate::…`, and the lines. Several in braces have the name `{`.
fn imports(text: &str) -> Vec<(usize, &str)> {
    let modules = |(number, line)| {
        str::split(line, "crate::").skip(1).map(move |rest: &str| {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
            (number, if rest.starts_with('{') { &rest[..1] } else { &rest[..end] })
        })
    };
    code(text).into_iter().flat_map(modules).collect()
}

/// What a file imports from a higher layer than that of `module`, or from modules that braces hide.
fn higher<'a>(module: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    let own = layer(module).unwrap_or_else(|| panic!("give the module `{module}` a layer"));
    let is_wrong = |other: &str| other == "{" || layer(other).is_some_and(|other| other > own);
    imports(text).into_iter().filter(|(_, other)| is_wrong(other)).collect()
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
    let text = "use crate::chip::System;
// crate::engine
fn f() { crate::tensor::g() }
#[cfg(test)]
use crate::engine;
#[cfg(test)]
#[path = \"f_tests.rs\"]
mod other_tests;
#[cfg(test)]
pub(super) mod tests {
    use crate::engine::begin;
    fn g() {
    }
}
use crate::explain;
use crate::{chip, spec};
";
    assert_eq!(higher("command", text), [(1, "chip"), (3, "tensor"), (15, "explain"), (16, "{")]);
    assert_eq!(higher("chip", text), [(3, "tensor"), (15, "explain"), (16, "{")]);
    assert_eq!(higher("engine", text), [(16, "{")]);
}
