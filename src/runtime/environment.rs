//! Options from the environment, for a program that stays as it is.
//!
//! | variable | sets | values |
//! |---|---|---|
//! | `VISA_CHIPS` | [`SimOptions::chips`] | a number from 1 to 8, or `any`: as many as the program uses |
//! | `VISA_CHECKS` | [`SimOptions::checks`] | `all`, `none`, or names of [`CheckOptions`] with commas between them: `bounds,alignment` checks these alone, `-stale_reads` all but this one; `sdk` refuses what users [report](crate::chip::SdkReport) to go wrong with the vendor's SDK, which is noted otherwise, and takes no rule away; `-sdk` does not note it |
//! | `VISA_MEMORY` | [`SimOptions::fresh_memory`] | `poison`, `zero`, `random` |
//! | `VISA_SEED` | [`SimOptions::seed`] | a number below 2^64, decimal or `0x…` |
//! | `VISA_ADDRESSES` | [`SimOptions::addresses`] | `as_given`, `separate` |
//! | `VISA_PLACEMENT` | [`SimOptions::placement`] | `handles`, `liveness` |
//! | `VISA_PADDING` | [`SimOptions::padding`] | `zero_wins`, `strict` |
//! | `VISA_PROFILE` | [`SimOptions::profile`], [`SimOptions::numbers`] | `book`, `detailed`, or the path of a profile file, as `cargo visa calibrate` writes it: `detailed` with [numbers](crate::clock::Numbers) that were measured |
//! | `VISA_CHANNELS` | [`SimOptions::channels`] | `single`, `dual` |
//! | `VISA_COMPUTE` | [`SimOptions::compute`] | `values`, `shapes_only` |
//! | `VISA_PATH` | [`SimOptions::path`]: which instructions of the host compute, with the same results | `avx512`, `avx2vnni`, `avx2`, `neondot`, `neon`, `portable`, of which a machine has some, or `fastest` |
//! | `VISA_STEP` | whether a program on a terminal stops at each command and shows what it changes: see [checking_values](crate::guide::checking_values) | `0`, `1` |
//! | `VISA_REPORT` | whether a context prints its [report](crate::clock::Report) when it ends, to the standard error stream | `0`, `1`: headline and hints, `full`: all tables |
//! | `VISA_MAP` | the same for its [memory map](crate::clock::MemoryMap) | `0`, `1` |
//! | `VISA_JSON` | the file that a [report for tools](crate::clock::Report::to_json) is written to when a context ends, numbered as that of `VISA_TRACE` | a path |
//! | `VISA_TRACE` | the file that a [trace](crate::clock::trace) is written to: `trace.json`, and `trace.2.json` for the second context of a process | a path |
//! | `VISA_HTML` | the file that a [page](crate::clock::page) of the run is written to when a context ends, numbered alike | a path |
//!
//! They are read whenever a context is made, and win over what the program says. An empty variable is none. A name that
//! is close to one of these, as `VISA_CHEKS` is, is refused; any other name that starts with `VISA_` is reported once on
//! the standard error stream, and has no effect.
//!
//! A program that is interrupted, by Ctrl-C for example, prints and writes the same of what has run until then, and ends
//! with code 130. A second Ctrl-C ends it at once, and may cut a trace. Signals are handled from the first launch on, where
//! one of the last four variables is set, unless the program handles or ignores one of them itself.
//!
//! A trace of 1 GiB takes no further operations, and says how many it leaves out.
//!
//! ```sh
//! VISA_CHECKS=-order VISA_MEMORY=random VISA_SEED=7 cargo run --example 01_digits
//! VISA_REPORT=1 VISA_MAP=1 VISA_TRACE=trace.json cargo run --example 04_timeline
//! ```

use super::Placement;
use super::output::{Output, Told, say};
use crate::chip::{
    Addresses, Check, CheckOptions, Compute, ComputePath, FreshMemory, PaddingRule, SdkReports, SimOptions,
};
use crate::clock::{Channels, Numbers, Profile};
use crate::spec::MAX_CHIPS;
use crate::text::distance;
use core::fmt;
use furiosa_visa_rules::sorting;
use std::path::PathBuf;
use std::sync::Once;

/// All that variables set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// The system.
    pub(super) options: SimOptions,
    /// Reports and files about it.
    pub(super) output: Output,
}

/// A variable of the environment.
struct Variable {
    name: &'static str,
    /// The values that it may have, for messages.
    allowed: fn() -> String,
    /// Sets an option, or says what is wrong with the value.
    set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// All variables, in the order of the table above.
const VARIABLES: &[Variable] = &[
    Variable { name: "VISA_CHIPS", allowed: allowed_chips, set: set_chips },
    Variable { name: "VISA_CHECKS", allowed: allowed_checks, set: set_checks },
    Variable { name: "VISA_MEMORY", allowed: || either(&MEMORY), set: set_memory },
    Variable { name: "VISA_SEED", allowed: allowed_seed, set: set_seed },
    Variable { name: "VISA_ADDRESSES", allowed: || either(&ADDRESSES), set: set_addresses },
    Variable { name: "VISA_PLACEMENT", allowed: || either(&PLACEMENTS), set: set_placement },
    Variable { name: "VISA_PADDING", allowed: || either(&PADDING), set: set_padding },
    Variable { name: "VISA_PROFILE", allowed: allowed_profiles, set: set_profile },
    Variable { name: "VISA_CHANNELS", allowed: || either(&CHANNELS), set: set_channels },
    Variable { name: "VISA_COMPUTE", allowed: || either(&COMPUTES), set: set_compute },
    Variable { name: "VISA_PATH", allowed: allowed_paths, set: set_path },
    Variable { name: "VISA_STEP", allowed: || either(&SWITCH), set: set_step },
    Variable { name: "VISA_REPORT", allowed: || either(&REPORTS), set: set_report },
    Variable { name: "VISA_MAP", allowed: || either(&SWITCH), set: set_map },
    Variable { name: "VISA_JSON", allowed: || "the path of a file".to_string(), set: set_json },
    Variable { name: "VISA_TRACE", allowed: || "the path of a file".to_string(), set: set_trace },
    Variable { name: "VISA_HTML", allowed: || "the path of a file".to_string(), set: set_html },
];

/// A variable with a value that it cannot have, or with a name that is close to one that has a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError(String);

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for EnvironmentError {}

impl SimOptions {
    /// The options with what the environment says: see [`environment`](crate::runtime::environment).
    ///
    /// # Errors
    /// If a variable has a value that it cannot have, or a name close to one of the table. The message names those that
    /// it can have.
    pub fn with_environment(self) -> Result<Self, EnvironmentError> {
        Ok(Settings::of(self)?.options)
    }
}

/// The names of all variables.
fn names() -> Vec<String> {
    // WebAssembly without a system has no variables, and its standard library panics when it lists them.
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return Vec::new();
    }
    std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
}

impl Settings {
    /// The options of a program with what the environment says.
    pub(super) fn of(options: SimOptions) -> Result<Self, EnvironmentError> {
        let unknown = unknown_names(names().into_iter())?;
        if !unknown.is_empty() {
            static REPORTED: Once = Once::new();
            REPORTED.call_once(|| say(&report_of(&unknown)));
        }
        let value = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self { options, output: Output::default() }.with_variables(value)
    }

    fn with_variables(mut self, value: impl Fn(&str) -> Option<String>) -> Result<Self, EnvironmentError> {
        for variable in VARIABLES {
            let Some(value) = value(variable.name).filter(|value| !value.is_empty()) else { continue };
            if let Err(problem) = (variable.set)(&mut self, value.trim()) {
                let (name, allowed) = (variable.name, (variable.allowed)());
                return Err(EnvironmentError(format!(
                    "{name}={value}: {problem}; help: set it to {allowed}, or unset it"
                )));
            }
        }
        Ok(self)
    }
}

/// The names that start with `VISA_` and that nothing reads, in order.
///
/// # Errors
/// The refusal of a name that is one or two letters away from that of a variable.
fn unknown_names(names: impl Iterator<Item = String>) -> Result<Vec<String>, EnvironmentError> {
    let is_unknown =
        |name: &String| name.starts_with("VISA_") && VARIABLES.iter().all(|known| known.name != name);
    let mut unknown: Vec<String> = names.filter(is_unknown).collect();
    sorting::ascending(&mut unknown);
    for name in &unknown {
        // Short names are near to many words.
        let is_near = |known: &&Variable| {
            let most = if known.name.len() > "VISA_1234".len() { 2 } else { 1 };
            distance(name, known.name) <= most
        };
        let near = VARIABLES.iter().filter(is_near);
        if let Some(meant) = near.min_by_key(|known| distance(name, known.name)) {
            let meant = meant.name;
            return Err(EnvironmentError(format!(
                "{name}: no variable has this name; did you mean `{meant}`? help: rename it, or unset it"
            )));
        }
    }
    Ok(unknown)
}

fn report_of(unknown: &[String]) -> String {
    let known: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    format!(
        "warning: {} {} no effect; the variables are {}",
        unknown.join(", "),
        if unknown.len() == 1 { "has" } else { "have" },
        known.join(", ")
    )
}

fn allowed_checks() -> String {
    let names: Vec<_> = Check::ALL.iter().map(|check| format!("`{check}`")).collect();
    format!("`all`, `none`, or a list of {}, `sdk` (with `-` in front: without it)", names.join(", "))
}

/// Name of [`CheckOptions::sdk`] in `VISA_CHECKS`.
const SDK: &str = "sdk";

fn set_checks(settings: &mut Settings, value: &str) -> Result<(), String> {
    let words = || value.split(',').map(|word| (word.trim(), word.trim().strip_prefix('-')));
    // Reports are no rules: to name them turns no rule off.
    let first_rule = words().find(|&(word, without)| without.unwrap_or(word) != SDK);
    let all = first_rule.is_none_or(|(_, without)| without.is_some());
    let mut checks = if all { CheckOptions::ALL } else { CheckOptions::NONE };
    let mut sdk = None;
    for (word, without) in words() {
        let (name, on) = without.map_or((word, true), |name| (name, false));
        if name == SDK {
            sdk = Some(if on { SdkReports::Fault } else { SdkReports::Off });
            continue;
        }
        checks = match (name, Check::ALL.iter().find(|check| check.name() == name)) {
            ("all", _) if on => CheckOptions::ALL,
            ("none", _) if on => CheckOptions::NONE,
            (_, Some(&check)) => checks.with(check, on),
            _ => return Err(format!("`{word}` is no check")),
        };
    }
    settings.options.checks = CheckOptions { sdk: sdk.unwrap_or(checks.sdk), ..checks };
    Ok(())
}

fn allowed_seed() -> String {
    format!("a number from 0 to {}, or from 0x0 to {:#x}", u64::MAX, u64::MAX)
}

fn set_seed(settings: &mut Settings, value: &str) -> Result<(), String> {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    settings.options.seed = parsed.map_err(|error| format!("`{value}` is no seed: {error}"))?;
    Ok(())
}

fn allowed_chips() -> String {
    format!("a number from 1 to {MAX_CHIPS}, or `any`")
}

fn set_chips(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.chips = match value {
        "any" => None,
        _ => match value.parse() {
            Ok(chips) if (1..=MAX_CHIPS).contains(&chips) => Some(chips),
            _ => return Err(format!("no system has `{value}` chips")),
        },
    };
    Ok(())
}

fn allowed_paths() -> String {
    format!("{} or `fastest`", ComputePath::available_names())
}

fn set_path(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.path = match ComputePath::ALL.iter().find(|path| path.name() == value) {
        Some(&path) if ComputePath::available().any(|own| own == path) => Some(path),
        Some(_) => return Err(format!("this machine does not have the instructions of `{value}`")),
        None if value == "fastest" => None,
        None => return Err(format!("`{value}` is no path")),
    };
    Ok(())
}

/// Words and what they stand for.
type Words<T, const N: usize> = [(&'static str, T); N];

const MEMORY: Words<FreshMemory, 3> =
    [("poison", FreshMemory::Poison), ("zero", FreshMemory::Zero), ("random", FreshMemory::Random)];
const ADDRESSES: Words<Addresses, 2> = [("as_given", Addresses::AsGiven), ("separate", Addresses::Separate)];
const PLACEMENTS: Words<Placement, 2> = [("handles", Placement::Handles), ("liveness", Placement::Liveness)];
const PADDING: Words<PaddingRule, 2> =
    [("zero_wins", PaddingRule::ZeroWins), ("strict", PaddingRule::Strict)];
const PROFILES: Words<Profile, 2> = [("book", Profile::Book), ("detailed", Profile::Detailed)];
const CHANNELS: Words<Channels, 2> = [("single", Channels::Single), ("dual", Channels::Dual)];
const COMPUTES: Words<Compute, 2> = [("values", Compute::Values), ("shapes_only", Compute::ShapesOnly)];
const REPORTS: Words<Told, 3> = [("0", Told::Nothing), ("1", Told::Short), ("full", Told::Full)];
const SWITCH: Words<bool, 2> = [("0", false), ("1", true)];

fn either<T>(words: &[(&str, T)]) -> String {
    let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

fn chosen<T: Copy>(words: &[(&str, T)], value: &str, what: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| format!("`{value}` is {what}"))
}

fn set_memory(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.fresh_memory = chosen(&MEMORY, value, "nothing that memory is made of")?;
    Ok(())
}

fn set_addresses(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.addresses = chosen(&ADDRESSES, value, "no way to place tensors")?;
    Ok(())
}

fn set_placement(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.placement = chosen(&PLACEMENTS, value, "no way to find free bytes")?;
    Ok(())
}

fn set_padding(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.padding = chosen(&PADDING, value, "no rule of padding")?;
    Ok(())
}

fn set_profile(settings: &mut Settings, value: &str) -> Result<(), String> {
    let chosen = chosen(&PROFILES, value, "no model of time");
    let file = std::path::Path::new(value);
    if chosen.is_err() && (file.extension().is_some() || file.is_file()) {
        let text = std::fs::read_to_string(file).map_err(|error| format!("no profile is read: {error}"))?;
        settings.options.numbers = Numbers::from_json(&text)?;
        settings.options.profile = Profile::Detailed;
        return Ok(());
    }
    settings.options.profile = chosen?;
    Ok(())
}

fn allowed_profiles() -> String {
    "`book`, `detailed` or the path of a profile file".to_string()
}

fn set_channels(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.channels = chosen(&CHANNELS, value, "no use of the switch channels")?;
    Ok(())
}

fn set_compute(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.options.compute = chosen(&COMPUTES, value, "nothing that can be computed")?;
    Ok(())
}

fn set_report(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.output.report = chosen(&REPORTS, value, "neither on nor off")?;
    Ok(())
}

fn set_map(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.output.map = chosen(&SWITCH, value, "neither on nor off")?;
    Ok(())
}

fn set_step(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.output.step = chosen(&SWITCH, value, "neither on nor off")?;
    Ok(())
}

fn set_html(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.output.html = Some(PathBuf::from(value));
    Ok(())
}

fn set_json(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.output.json = Some(PathBuf::from(value));
    Ok(())
}

fn set_trace(settings: &mut Settings, value: &str) -> Result<(), String> {
    settings.output.trace = Some(PathBuf::from(value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(name: &str, value: &str) -> Result<Settings, String> {
        let value = |asked: &str| (asked == name).then(|| value.to_string());
        Settings::default().with_variables(value).map_err(|error| error.to_string())
    }

    fn set(name: &str, value: &str) -> Result<SimOptions, String> {
        all(name, value).map(|settings| settings.options)
    }

    /// Each word sets what it names and nothing else; another one is refused with the words that there are.
    #[test]
    fn words() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings
        };
        let cases = [
            ("VISA_ADDRESSES", "as_given", with(|_| {})),
            ("VISA_ADDRESSES", "separate", with(|all| all.options.addresses = Addresses::Separate)),
            ("VISA_PROFILE", "detailed", with(|_| {})),
            ("VISA_PLACEMENT", "handles", with(|_| {})),
            ("VISA_PLACEMENT", "liveness", with(|all| all.options.placement = Placement::Liveness)),
            ("VISA_PADDING", "zero_wins", with(|_| {})),
            ("VISA_PADDING", "strict", with(|all| all.options.padding = PaddingRule::Strict)),
            ("VISA_PROFILE", "book", with(|all| all.options.profile = Profile::Book)),
            ("VISA_CHANNELS", "single", with(|_| {})),
            ("VISA_CHANNELS", "dual", with(|all| all.options.channels = Channels::Dual)),
            ("VISA_COMPUTE", "values", with(|_| {})),
            ("VISA_COMPUTE", "shapes_only", with(|all| all.options.compute = Compute::ShapesOnly)),
            ("VISA_CHIPS", "1", with(|all| all.options.chips = Some(1))),
            ("VISA_CHIPS", "8", with(|all| all.options.chips = Some(8))),
            ("VISA_CHIPS", "any", with(|_| {})),
            ("VISA_REPORT", "0", with(|_| {})),
            ("VISA_REPORT", "1", with(|all| all.output.report = Told::Short)),
            ("VISA_REPORT", "full", with(|all| all.output.report = Told::Full)),
            ("VISA_MAP", "0", with(|_| {})),
            ("VISA_MAP", "1", with(|all| all.output.map = true)),
            ("VISA_JSON", "a/b.json", with(|all| all.output.json = Some(PathBuf::from("a/b.json")))),
            ("VISA_HTML", "a/b.html", with(|all| all.output.html = Some(PathBuf::from("a/b.html")))),
            ("VISA_TRACE", "a/b.json", with(|all| all.output.trace = Some(PathBuf::from("a/b.json")))),
        ];
        for (name, value, expected) in cases {
            assert_eq!(all(name, value), Ok(expected), "{name}={value}");
            assert_eq!(all(name, ""), Ok(Settings::default()), "{name}=");
        }
        for (name, value, rest) in [
            (
                "VISA_ADDRESSES",
                "apart",
                "`apart` is no way to place tensors; help: set it to `as_given` or `separate`",
            ),
            (
                "VISA_PLACEMENT",
                "scopes",
                "`scopes` is no way to find free bytes; help: set it to `handles` or `liveness`",
            ),
            ("VISA_PADDING", "zero", "`zero` is no rule of padding; help: set it to `zero_wins` or `strict`"),
            (
                "VISA_PROFILE",
                "Book",
                "`Book` is no model of time; help: set it to `book`, `detailed` or the path of a profile file",
            ),
            (
                "VISA_CHANNELS",
                "2",
                "`2` is no use of the switch channels; help: set it to `single` or `dual`",
            ),
            (
                "VISA_COMPUTE",
                "time",
                "`time` is nothing that can be computed; help: set it to `values` or `shapes_only`",
            ),
            ("VISA_CHIPS", "0", "no system has `0` chips; help: set it to a number from 1 to 8, or `any`"),
            ("VISA_CHIPS", "9", "no system has `9` chips; help: set it to a number from 1 to 8, or `any`"),
            ("VISA_REPORT", "2", "`2` is neither on nor off; help: set it to `0`, `1` or `full`"),
            ("VISA_MAP", "yes", "`yes` is neither on nor off; help: set it to `0` or `1`"),
        ] {
            assert_eq!(all(name, value), Err(format!("{name}={value}: {rest}, or unset it")));
        }
        let given = SimOptions { chips: Some(4), ..SimOptions::default() };
        let settings = Settings { options: given, output: Output::default() };
        let any = settings.with_variables(|name| (name == "VISA_CHIPS").then(|| "any".to_string()));
        assert_eq!(any.map(|settings| settings.options.chips), Ok(None), "the environment wins");
    }

    /// A profile file sets numbers of the detailed profile; a wrong one is refused with the place.
    #[test]
    fn profile_files() {
        let file = std::env::temp_dir().join(format!("visa-profile-{}.json", std::process::id()));
        let name = file.display().to_string();
        let given = |text: &str| {
            std::fs::write(&file, text).expect("it can be written");
            set("VISA_PROFILE", &name)
        };
        let numbers = Numbers::default().with(crate::clock::Number::Copy, 7);
        let options = SimOptions { numbers, ..SimOptions::default() };
        assert_eq!(given("{\"copy_cycles\": 7}"), Ok(options));
        for (text, part) in [
            (
                "{\"copy_cycles\": 7",
                "it is no object of names and numbers: EOF while parsing an object at line 1",
            ),
            (
                "{\"copy\": 7}",
                "`copy` is no number that a profile sets: what is documented stays; help: those",
            ),
        ] {
            let error = given(text).expect_err(text);
            assert!(error.starts_with(&format!("VISA_PROFILE={name}: {part}")), "{error}");
        }
        std::fs::remove_file(&file).expect("it is there");
        let error = set("VISA_PROFILE", &name).expect_err("it is gone");
        assert!(error.starts_with(&format!("VISA_PROFILE={name}: no profile is read: ")), "{error}");
    }

    /// Every path of this machine can be set; others are refused with those that it has.
    #[test]
    fn paths() {
        let path = |value| set("VISA_PATH", value).map(|options| options.path);
        assert_eq!(path("fastest"), Ok(None));
        assert_eq!(path("portable"), Ok(Some(ComputePath::Portable)));
        let help = format!("help: set it to {} or `fastest`, or unset it", ComputePath::available_names());
        for &own in ComputePath::ALL {
            let refused =
                format!("VISA_PATH={own}: this machine does not have the instructions of `{own}`; {help}");
            let is_there = ComputePath::available().any(|path| path == own);
            assert_eq!(path(own.name()), if is_there { Ok(Some(own)) } else { Err(refused) });
            assert_eq!(help.contains(&format!("`{own}`")), is_there);
        }
        assert_eq!(path("sse"), Err(format!("VISA_PATH=sse: `sse` is no path; {help}")));
        assert_eq!(path("AVX2"), Err(format!("VISA_PATH=AVX2: `AVX2` is no path; {help}")));
        let given = SimOptions { path: Some(ComputePath::Portable), ..SimOptions::default() };
        let settings = Settings { options: given, output: Output::default() };
        let fastest = settings.with_variables(|name| (name == "VISA_PATH").then(|| "fastest".to_string()));
        assert_eq!(fastest.map(|settings| settings.options.path), Ok(None), "the environment wins");
    }

    #[test]
    fn checks() {
        let checks = |value| set("VISA_CHECKS", value).map(|options| options.checks);
        assert_eq!(checks(""), Ok(CheckOptions::ALL));
        assert_eq!(checks("all"), Ok(CheckOptions::ALL));
        assert_eq!(checks("none"), Ok(CheckOptions::NONE));
        let two = CheckOptions { bounds: true, order: true, ..CheckOptions::NONE };
        assert_eq!(checks("bounds, order"), Ok(two));
        let without = CheckOptions { stale_reads: false, views: false, ..CheckOptions::ALL };
        assert_eq!(checks("-stale_reads,-views"), Ok(without));
        assert_eq!(checks("all,-stale_reads,-views"), Ok(without));
        for &check in Check::ALL {
            assert_eq!(checks(check.name()), Ok(CheckOptions::NONE.with(check, true)));
        }
        // Reports: named alone or first they take no rule away, and no rule changes what becomes of them.
        let fault = |rules| CheckOptions { sdk: SdkReports::Fault, ..rules };
        for value in ["sdk", "all,sdk", "sdk, all"] {
            assert_eq!(checks(value), Ok(fault(CheckOptions::ALL)), "{value}");
        }
        for value in ["-stale_reads,-views,sdk", "sdk,-stale_reads,-views"] {
            assert_eq!(checks(value), Ok(fault(without)), "{value}");
        }
        for value in ["bounds,order,sdk", "sdk,bounds,order"] {
            assert_eq!(checks(value), Ok(fault(two)), "{value}");
        }
        assert_eq!(checks("none,sdk"), Ok(fault(CheckOptions::NONE)));
        let quiet = CheckOptions { sdk: SdkReports::Off, ..CheckOptions::ALL };
        assert_eq!((checks("-sdk"), checks("all,-sdk")), (Ok(quiet), Ok(quiet)));
        assert_eq!(checks("-sdk,bounds,order"), Ok(two));
        for bad in ["stale", "-all", "-none", "bounds,", "bounds;order", "ALL"] {
            let message = checks(bad).expect_err(bad);
            assert!(message.starts_with(&format!("VISA_CHECKS={bad}: `")), "{message}");
            assert!(
                message
                    .contains("is no check; help: set it to `all`, `none`, or a list of `uninitialised`, ")
            );
            assert!(Check::ALL.iter().all(|check| message.contains(check.name())), "{message}");
        }
    }

    #[test]
    fn memory_and_seed() {
        let memory = |value| set("VISA_MEMORY", value).map(|options| options.fresh_memory);
        assert_eq!(memory("poison"), Ok(FreshMemory::Poison));
        assert_eq!(memory("zero"), Ok(FreshMemory::Zero));
        assert_eq!(memory("random"), Ok(FreshMemory::Random));
        let message = memory("zeros").expect_err("one s too many");
        let expected = "VISA_MEMORY=zeros: `zeros` is nothing that memory is made of; help: set it to `poison`, `zero` or `random`, \
                        or unset it";
        assert_eq!(message, expected);
        let seed = |value| set("VISA_SEED", value).map(|options| options.seed);
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(seed("0xff"), Ok(255));
        for bad in ["18446744073709551616", "-1", "0x", "seven"] {
            let message = seed(bad).expect_err(bad);
            assert!(message.contains(&format!("`{bad}` is no seed: ")), "{message}");
            assert!(message.contains("a number from 0 to 18446744073709551615"), "{message}");
        }
        assert_eq!(set("VISA_OTHER", "1"), Ok(SimOptions::default()));
    }

    #[test]
    fn unknown_names_are_reported() {
        let of = |names: &[&str]| {
            unknown_names(names.iter().map(|name| name.to_string())).map_err(|error| error.to_string())
        };
        let all: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
        assert_eq!(of(&all), Ok(Vec::new()));
        assert_eq!(of(&["PATH", "VISA", "AVISA_CHECK", "visa_check"]), Ok(Vec::new()));
        assert_eq!(of(&["VISA_CASES", "VISA_API"]), Ok(vec!["VISA_API".into(), "VISA_CASES".into()]));
        for (name, meant) in [
            ("VISA_CHEKS", "VISA_CHECKS"),
            ("VISA_CHIP", "VISA_CHIPS"),
            ("VISA_ADRESSES", "VISA_ADDRESSES"),
            ("VISA_CHANELLS", "VISA_CHANNELS"),
            ("VISA_MAPS", "VISA_MAP"),
        ] {
            let expected = format!(
                "{name}: no variable has this name; did you mean `{meant}`? help: rename it, or unset it"
            );
            assert_eq!(of(&["VISA_OTHER", name]), Err(expected));
        }
        let text = report_of(&["VISA_A".into(), "VISA_B".into()]);
        let rest = "have no effect; the variables are VISA_CHIPS, VISA_CHECKS, VISA_MEMORY, ";
        assert!(text.starts_with(&format!("warning: VISA_A, VISA_B {rest}")), "{text}");
    }

    /// The table at the top has a row for each variable, in order.
    #[test]
    fn the_table_is_complete() {
        let rows = include_str!("environment.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
        let names: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(names, VARIABLES.iter().map(|variable| variable.name).collect::<Vec<_>>());
    }
}
