//! The figures of the last `cargo bench` as ratios to the baselines of the same group.
//!
//! Times differ from machine to machine and from hour to hour; ratios to a baseline of the same run do not, much.
//!
//! ```sh
//! cargo bench -p furiosa-visa-benches --bench simulator && cargo run -p furiosa-visa-benches --bin ratios
//! ```

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Prefix of the names of baselines.
const BASELINE: &str = "baseline: ";

/// The folder in which criterion keeps its figures.
fn figures() -> PathBuf {
    let program = std::env::current_exe().expect("the program has a path");
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    target.expect("cargo marks its folder").join("criterion")
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

/// Group, name and nanoseconds of every figure below a folder.
fn read(folder: &Path, found: &mut BTreeMap<String, Vec<(String, f64)>>) {
    for path in folder.read_dir().into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()) {
        if path.file_name().is_some_and(|name| name == "new") {
            let (Some(name), Some(figure)) =
                (json(&path.join("benchmark.json")), json(&path.join("estimates.json")))
            else {
                continue;
            };
            let group = name["group_id"].as_str().unwrap_or_default().to_string();
            let name = name["function_id"].as_str().unwrap_or_default().to_string();
            if let Some(time) = figure["median"]["point_estimate"].as_f64() {
                found.entry(group).or_default().push((name, time));
            }
        } else if path.is_dir() {
            read(&path, found);
        }
    }
}

fn main() {
    let mut groups = BTreeMap::new();
    read(&figures(), &mut groups);
    for (group, mut figures) in groups {
        figures.sort_by(|one, other| one.0.cmp(&other.0));
        let (baselines, others): (Vec<_>, Vec<_>) =
            figures.into_iter().partition(|(name, _)| name.starts_with(BASELINE));
        if baselines.is_empty() {
            continue;
        }
        println!("{group}");
        for (name, time) in others {
            println!("  {name}: {:.3} ms", time / 1e6);
            for (baseline, least) in &baselines {
                println!("    {:.2} x {}", time / least, &baseline[BASELINE.len()..]);
            }
        }
    }
}
