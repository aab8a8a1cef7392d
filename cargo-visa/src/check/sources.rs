//! Owner of a file that a diagnostic points into: the user, the library, or another crate.

use super::text::Source;
use std::path::Path;

/// The folders that tell the user's files from those of the library and of other crates.
pub struct Sources {
    /// The workspace that is checked. The compiler names its files relative to it.
    root: String,
    /// Folders with sources of the library.
    library: Vec<String>,
    is_there: fn(&Path) -> bool,
    read: fn(&Path) -> Option<String>,
}

impl Sources {
    /// The sources of a workspace.
    pub fn new(root: &str) -> Self {
        Self {
            root: with_slashes(root),
            library: Vec::new(),
            is_there: Path::exists,
            read: |path| std::fs::read_to_string(path).ok(),
        }
    }

    /// The sources of a workspace that is not on this machine.
    #[cfg(test)]
    pub fn recorded(root: &str) -> Self {
        let read = |path: &Path| crate::check::rewrite::tests::program(path.file_stem()?.to_str()?);
        Self { is_there: |_| true, read, ..Self::new(root) }
    }

    /// A file of the user's with its text.
    pub fn text(&self, file: &str) -> Option<Source> {
        let text = self.is_users(file).then(|| (self.read)(Path::new(&self.absolute(file))))??;
        Some(Source::new(file, text))
    }

    /// Adds a folder with sources of the library.
    pub fn add_library(&mut self, folder: &str) {
        let folder = with_slashes(folder);
        if !self.library.contains(&folder) {
            self.library.push(folder);
        }
    }

    /// Adds the folder of a crate's root file, if the crate is the library.
    pub fn add_crate(&mut self, name: &str, root_file: &str) {
        if is_library(name)
            && let Some((folder, _)) = with_slashes(root_file).rsplit_once('/')
        {
            self.add_library(folder);
        }
    }

    /// Tells if a file is the library's.
    pub fn is_librarys(&self, file: &str) -> bool {
        let file = self.absolute(file);
        self.library.iter().any(|folder| is_below(folder, &file))
    }

    /// Tells if a file is the user's: of the workspace, and not of the library.
    pub fn is_users(&self, file: &str) -> bool {
        // `<…>` is text without a file; `/rustc/…` is the standard library.
        if file.is_empty() || file.starts_with('<') || self.is_librarys(file) {
            return false;
        }
        let path = with_slashes(file);
        let is_dependency = ["/rustc/", "/.cargo/registry/", "/.cargo/git/", "/rustlib/"]
            .iter()
            .any(|part| path.contains(part));
        let absolute = self.absolute(&path);
        // A crate that was compiled in another workspace may name its files relative to that one.
        !is_dependency
            && (!is_absolute(&path) || is_below(&self.root, &path))
            && (self.is_there)(Path::new(&absolute))
    }

    fn absolute(&self, file: &str) -> String {
        let path = with_slashes(file);
        if is_absolute(&path) { path } else { format!("{}/{path}", self.root) }
    }
}

/// Tells if a package or crate is the library or a part of it.
pub fn is_library(name: &str) -> bool {
    let name = name.replace('-', "_");
    let parts = ["std", "macros", "grammar", "rules", "chip", "clock", "report"];
    name.strip_prefix("furiosa_visa_").is_some_and(|part| parts.contains(&part))
}

/// The same path on every system: slashes, and no `\\?\` of Windows.
fn with_slashes(path: &str) -> String {
    let path = path.strip_prefix(r"\\?\").unwrap_or(path);
    path.replace('\\', "/").trim_end_matches('/').to_string()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.as_bytes().get(1) == Some(&b':')
}

/// Tells if a path is inside a folder. The letter of a drive has no case.
fn is_below(folder: &str, path: &str) -> bool {
    let same = |a: &str, b: &str| {
        if a.as_bytes().get(1) == Some(&b':') { a.eq_ignore_ascii_case(b) } else { a == b }
    };
    path.get(..folder.len()).is_some_and(|start| same(start, folder))
        && path[folder.len()..].starts_with('/')
        && !folder.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_beside_the_library() {
        let mut sources = Sources::recorded("/home/u/kernels");
        sources.add_crate("furiosa_visa_std", "/home/u/kernels/vendor/visa/src/lib.rs");
        sources.add_crate("other", "/home/u/other/src/lib.rs");
        for file in
            ["src/main.rs", "/home/u/kernels/a/src/lib.rs", "vendor/visa/tests/a.rs", "../b/src/lib.rs"]
        {
            assert!(sources.is_users(file), "{file}");
        }
        for file in [
            "vendor/visa/src/lib.rs",
            "/home/u/kernels/vendor/visa/src/engine/fetch.rs",
            "/home/u/kernels2/src/lib.rs",
            "/home/u/.cargo/registry/src/index/ndarray-0.17.2/src/lib.rs",
            "/rustc/59807616e/library/core/src/panic.rs",
            "<::core::macros::builtin>",
            "",
        ] {
            assert!(!sources.is_users(file), "{file}");
        }
    }

    #[test]
    fn the_workspace_of_the_library_itself() {
        let mut sources = Sources::recorded("/visa");
        sources.add_crate("furiosa-visa-std", "/visa/src/lib.rs");
        assert!(sources.is_users("examples/00_hello.rs") && !sources.is_users("src/engine/fetch.rs"));
        assert!(sources.is_librarys("src/engine/fetch.rs") && !sources.is_librarys("examples/00_hello.rs"));
    }

    #[test]
    fn files_that_are_not_there_are_of_another_workspace() {
        let sources = Sources::new(env!("CARGO_MANIFEST_DIR"));
        assert!(sources.is_users("src/check/sources.rs") && !sources.is_users("src/engine/collect.rs"));
    }

    #[test]
    fn windows() {
        let mut sources = Sources::recorded(r"C:\work\kernels");
        sources.add_crate("furiosa_visa_std", r"\\?\C:\work\visa\src\lib.rs");
        assert!(sources.is_users(r"src\main.rs") && sources.is_users(r"c:\work\kernels\src\main.rs"));
        assert!(!sources.is_users(r"C:\work\visa\src\engine\fetch.rs"));
        assert!(sources.is_librarys(r"c:\work\visa\src\engine\fetch.rs"));
        assert!(!sources.is_users(r"C:\Users\u\.cargo\registry\src\index\half-2\src\lib.rs"));
    }
}
