//! `cargo visa` as a user starts it: a new crate runs, and what is wrong in it is shown at its line.
//!
//! The crate is compiled with the library that these tests are built with. Cargo would build a dependency of another
//! workspace once more, which takes about a minute; so the manifest loses its dependencies, and the compiler is told
//! where they are.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Message of the library about flits of 16 bytes.
const WORDS: &str = "collect: the output packet `m![K % 8]` of bf16 holds 16 bytes, but a flit holds 32";

/// A folder for a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-visa").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn visa(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-visa"));
    // As cargo starts it.
    command.arg("visa").args(arguments);
    of_a_user(&mut command, folder).output().expect("it starts")
}

/// A command in a folder, without what the tests around it have set.
fn of_a_user<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "CARGO_TERM_COLOR"] {
        command.env_remove(variable);
    }
    command.env("CARGO", env!("CARGO")).env("CARGO_ENCODED_RUSTFLAGS", flags()).current_dir(folder)
}

/// Folder with the library and the executor: that of this test.
fn flags() -> String {
    let test = std::env::current_exe().expect("the test has a path");
    let folder = test.parent().expect("it is in a folder");
    let newest = |name: &str| {
        let start = format!("lib{name}-");
        let entries = folder.read_dir().expect("the folder can be read").filter_map(Result::ok);
        let built = entries.filter(|entry| {
            let file = entry.file_name();
            let file = file.to_string_lossy();
            file.starts_with(&start) && file.ends_with(".rlib")
        });
        let newest = built.max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok());
        newest.unwrap_or_else(|| panic!("no {name} in {}", folder.display())).path()
    };
    let dependency = |name: &str| format!("--extern={name}={}", newest(name).display());
    let folder = format!("-Ldependency={}", folder.display());
    let libraries = ["furiosa_visa_std", "furiosa_opt_std", "pollster"].map(dependency);
    [libraries.as_slice(), &[folder]].concat().join("\x1f")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_new_crate_runs_and_is_checked() {
    let parent = folder("new");
    let made = visa(&parent, &["new", "my-kernels", "--path", LIBRARY]);
    assert!(made.status.success(), "{}", stderr(&made));
    let project = parent.join("my-kernels");
    let read = |file: &str| std::fs::read_to_string(project.join(file)).expect("it is made");

    // The new files.
    let manifest = read("Cargo.toml");
    assert!(manifest.starts_with("[package]\nname = \"my-kernels\"\n"), "{manifest}");
    assert!(
        manifest.contains("\nfuriosa-visa-std = { path = \"") && manifest.contains("\npollster = \"0.4\"\n")
    );
    assert_eq!(read(".gitignore"), "/target\n");
    let settings: Value = serde_json::from_str(&read(".vscode/settings.json")).expect("it is JSON");
    let command = &settings["rust-analyzer.check.overrideCommand"];
    let words = ["cargo", "visa", "check", "--message-format=json", "--all-targets"];
    assert_eq!(*command, Value::from(words.to_vec()));
    let program = read("src/main.rs");
    assert!(program.contains("#[device(chip = 1)]") && program.contains("#[test]"));

    // It runs, with the library of these tests.
    let (package, _) = manifest.split_once("[dependencies]").expect("it has dependencies");
    std::fs::write(project.join("Cargo.toml"), format!("{package}[workspace]\n")).expect("it can be written");
    let mut cargo = Command::new(env!("CARGO"));
    let run = of_a_user(cargo.args(["run", "--offline", "--quiet"]), &project).output().expect("it starts");
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(String::from_utf8_lossy(&run.stdout).starts_with("256 x 8 results, first row ["));
    assert_eq!(stderr(&run), "", "it is compiled without a warning");

    // It is checked, and nothing is refused. No program is linked.
    let arguments = ["check", "--offline", "--message-format=json"];
    let lines = |output: &Output| -> Vec<Value> {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    };
    let checked = visa(&project, &arguments);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    let reasons: Vec<Value> = lines(&checked).iter().map(|line| line["reason"].clone()).collect();
    // The program, and its tests.
    assert_eq!(reasons, ["compiler-artifact", "compiler-artifact", "build-finished"]);
    let checked_program =
        project.join(format!("target/visa/debug/my-kernels{}", std::env::consts::EXE_SUFFIX));
    assert!(checked_program.metadata().expect("cargo looks for it").len() < 100);
    // The program that cargo has built is still one.
    let built = project.join(format!("target/debug/my-kernels{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(built).output().expect("it starts");
    assert!(output.stdout.starts_with(b"256 x 8 results"));
    // The next check has nothing to do.
    assert_eq!(lines(&visa(&project, &arguments))[0]["fresh"], true);

    // A wrong size is shown at the call that is wrong, and an error as long as it is there.
    let (right, call) = ("collect::<m![K / 16], m![K % 16]>()", "collect::<m![K / 8], m![K % 8]>()");
    let unused = "
fn unused(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![K]>) {
    let _: DmTensor<bf16, m![1], Cluster, m![1 # 256], m![K % 5]> = a.to_dm(&mut ctx.tdma, AUTO);
}
";
    let wrong = program.replace(right, call) + unused;
    assert_ne!(wrong, program);
    std::fs::write(project.join("src/main.rs"), &wrong).expect("it can be written");
    for _ in 0..2 {
        let refused = visa(&project, &arguments);
        assert_eq!(refused.status.code(), Some(101));
        let lines = lines(&refused);
        let errors: Vec<&Value> = lines.iter().filter(|line| line["message"]["level"] == "error").collect();
        let message = &errors[0]["message"];
        let text = message["message"].as_str().expect("a text");
        assert_eq!(text, WORDS);
        assert_eq!(message["children"][0]["level"], "help");
        let span = &message["spans"][0];
        assert_eq!(span["file_name"], "src/main.rs");
        let byte = |name: &str| usize::try_from(span[name].as_u64().expect("a number")).expect("small");
        assert_eq!(&wrong[byte("byte_start")..byte("byte_end")], call);
        // Of the function that nothing calls, too.
        let words = errors[errors.len() - 1]["message"]["message"].as_str().expect("a text");
        assert!(words.starts_with("mapping `m![K % 5]`: "), "{words}");
        assert_eq!(lines[lines.len() - 1]["success"], false);
    }
    let shown = visa(&project, &["check", "--offline"]);
    let text = stderr(&shown);
    assert!(text.contains(&format!("error[E0080]: {WORDS}")), "{text}");
    assert!(!text.contains("furiosa_visa_std") && !text.contains('\x1b'), "{text}");
    assert!(shown.stdout.is_empty());

    // A test of its own is looked at, unless targets are named.
    std::fs::write(project.join("src/main.rs"), &program).expect("it can be written");
    std::fs::create_dir(project.join("tests")).expect("it can be made");
    let test = "#[test]\nfn wrong() {\n    let () = 1;\n}\n";
    std::fs::write(project.join("tests/wrong.rs"), test).expect("it can be written");
    assert_eq!(visa(&project, &["check", "--offline"]).status.code(), Some(101));
    assert_eq!(visa(&project, &["check", "--offline", "--bins"]).status.code(), Some(0));
}

/// Crates that were built before are not built again.
#[test]
fn a_check_shares_what_cargo_has_built() {
    let project = folder("shared");
    let write = |file: &str, text: &str| {
        let file = project.join(file);
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("it can be made");
        std::fs::write(file, text).expect("it can be written");
    };
    write("helper/Cargo.toml", "[package]\nname = \"helper\"\nedition = \"2024\"\n[workspace]\n");
    write("helper/src/lib.rs", "pub fn one() -> usize {\n    1\n}\n");
    let dependency = "[dependencies]\nhelper = { path = \"../helper\" }\n[workspace]\n";
    write("kernels/Cargo.toml", &format!("[package]\nname = \"kernels\"\nedition = \"2024\"\n{dependency}"));
    write("kernels/src/main.rs", "fn main() {\n    println!(\"{}\", helper::one());\n}\n");
    let kernels = project.join("kernels");
    let mut cargo = Command::new(env!("CARGO"));
    let built = of_a_user(cargo.args(["build", "--offline"]), &kernels).output().expect("it starts");
    assert!(built.status.success(), "{}", stderr(&built));
    let checked = visa(&kernels, &["check", "--offline"]);
    let text = stderr(&checked);
    assert!(checked.status.success() && text.contains("Compiling kernels"), "{text}");
    assert_eq!(text.contains("Compiling helper"), !cargo_shares(&kernels), "{text}");
}

/// Tells if this cargo names the folder of intermediate artefacts.
fn cargo_shares(folder: &Path) -> bool {
    let mut cargo = Command::new(env!("CARGO"));
    let arguments = ["metadata", "--no-deps", "--format-version=1", "--offline"];
    let output = of_a_user(cargo.args(arguments), folder).output().expect("it starts");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    metadata["build_directory"].is_string()
}

/// Both names have the commands of both.
#[test]
fn one_program_under_two_names() {
    let folder = folder("names");
    let plain = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_visa"));
        command.args(arguments).current_dir(&folder).output().expect("it starts")
    };
    for arguments in
        [&["help", "vector"][..], &["map", "A", "--axes", "A=8"], &["check", "--help"], &["--version"]]
    {
        let (first, second) = (visa(&folder, arguments), plain(arguments));
        assert!(first.status.success(), "{arguments:?}: {}", stderr(&first));
        assert!(!first.stdout.is_empty() && first.stdout == second.stdout, "{arguments:?}");
    }
    let made = plain(&["new", "my-kernels", "--version", "0.1"]);
    assert!(made.status.success() && folder.join("my-kernels/Cargo.toml").exists(), "{}", stderr(&made));
}

/// Files of `visa plan --emit` are tests of a crate: they build without a warning, and their values and cycles are right.
#[test]
fn plans_are_tests_of_a_crate() {
    let project = folder("plans");
    std::fs::create_dir_all(project.join("src")).expect("the folder can be written");
    let manifest = "[package]\nname = \"plans\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(project.join("Cargo.toml"), manifest).expect("the folder can be written");
    std::fs::write(project.join("src/lib.rs"), "").expect("the folder can be written");
    // One block, with sums over slices; both operands spread; batches of heads; narrow results; one row;
    // padded axes and two bits per element; parts of sums with an exchange; operands that the Transpose Engine turns: one, beside
    // tiles, and both; bias and activation behind sums over slices; windows; bias and activation over chips; columns of a stream beside rows
    // that are no whole flits; places in packets; sums of one row that are turned; a stream in two pieces, beside a slice that only
    // loads. Of the later surface: sums over slices, blocks of weights, batches, columns beside a row for each head, pieces, and
    // narrow results. Last, sizes that are no powers of two.
    let problems = [
        "mk,nk->mn M=64,N=64,K=512 --dtype i8",
        "mk,nk->mn M=12,N=2048,K=2048 --dtype i8 --role w=trf",
        "bqhd,bkhd->bhqk B=1,Q=24,H=3,D=64,K=40 --dtype bf16 --out bf16",
        "mk,nk->nm M=1,N=512,K=768 --dtype bf16 --out bf16",
        "mk,nk->mn M=197,N=96,K=128 --dtype i4",
        "mgk,nk->mgn M=8,G=6,N=16,K=64 --dtype f8e4m3 --role w=trf",
        "mk,nk->mn M=64,N=1024,K=4096 --dtype bf16 --role w=trf",
        "mk,nk->mn M=256,N=64,K=256 --dtype bf16 --role w=trf",
        "mk,kn->mn M=256,N=256,K=256 --dtype i8 --role w=trf",
        "km,kn->mn M=128,N=64,K=128 --dtype bf16 --out bf16 --role w=trf",
        "mk,nk->mn M=64,N=64,K=512 --dtype bf16 --out bf16 --epilogue bias,silu",
        "nhwc,fyxc->nhwf N=2,H=8,W=4,C=64,F=16,Y=3,X=3 --dtype i8 --windows H+Y,W+X",
        "mk,nk->mn M=16,N=64,K=128 --dtype bf16 --out bf16 --epilogue bias,silu --chips 4",
        "mk,kn->mn M=16,N=256,K=68 --dtype bf16 --out bf16 --epilogue bias,silu",
        "nhw,fyx->nhwf N=64,H=6,W=6,F=8,Y=3,X=3 --dtype i8 --windows H+Y,W+X",
        "mk,nk->mn M=1,N=2048,K=512 --dtype bf16 --out bf16 --role x=trf",
        "mk,rqk->mrq M=1,R=7,Q=128,K=256 --dtype bf16 --out bf16 --role x=trf --slice [R]#256 --cluster 1#2",
        "bhs,bhsd->bhd B=4,H=3,S=64,D=64 --dtype bf16 --surface opt",
        "mk,rqk->mrq M=1,R=7,Q=128,K=256 --dtype bf16 --role x=trf --slice [R]#256 --cluster 1#2 --surface opt",
        "mk,nk->mn M=64,N=64,K=512 --dtype i8 --surface opt",
        "mk,nk->mn M=128,N=128,K=256 --dtype i8 --role w=trf --slice [M/64]#256 --cluster 1#2 --surface opt",
        "bqhd,bkhd->bhqk B=1,Q=24,H=3,D=64,K=40 --dtype bf16 --out bf16 --surface opt",
        "mk,nk->mn M=64,N=1024,K=4096 --dtype bf16 --role w=trf --surface opt",
        "mk,nk->mn M=24,N=40,K=96 --dtype f8e4m3 --out f8e4m3 --surface opt",
        "mk,nk->mn M=33,N=48,K=100 --dtype f8e5m2",
    ];
    // The first one is a test by itself, as `visa plan` writes it. The others are modules of one, so that the library is not read
    // for each.
    std::fs::create_dir_all(project.join("tests/all")).expect("the folder can be written");
    let mut modules = String::new();
    for (number, problem) in problems.into_iter().enumerate() {
        let words: Vec<&str> = problem.split_whitespace().collect();
        let mut arguments = vec!["plan", "--einsum", words[0], "--axes", words[1]];
        arguments.extend(&words[2..]);
        arguments.extend(["--emit", "tests", "--time", "10s", "--top", "1"]);
        let found = visa(&project, &arguments);
        assert!(found.status.success(), "{problem}: {}", stderr(&found));
        if problem.contains("M=256,N=256,K=256") {
            let source = std::fs::read_to_string(project.join("tests/plan.rs")).expect("it is written");
            assert!(source.contains("for tile in 0..2"), "{source}");
        }
        if problem.contains("M=128,N=128,K=256") {
            let source = std::fs::read_to_string(project.join("tests/plan.rs")).expect("it is written");
            assert!(source.contains("2 blocks of weights for 1 tile"), "{source}");
        }
        if number == 0 {
            std::fs::rename(project.join("tests/plan.rs"), project.join("tests/plan0.rs"))
                .expect("it is written");
            continue;
        }
        modules += &format!("mod plan{number};\n");
        let to = project.join(format!("tests/all/plan{number}.rs"));
        if problem.contains("rqk") {
            let source = std::fs::read_to_string(project.join("tests/plan.rs")).expect("it is written");
            assert!(source.contains("in two pieces, of 96 and of 32 positions of `Q`"), "{source}");
            assert!(source.contains("8 slices, 1 of them for that alone"), "{source}");
        }
        std::fs::rename(project.join("tests/plan.rs"), to).expect("it is written");
    }
    // Chains: a result that stays in DM and is moved there; heads with a mask and a softmax; sums of two axes and three
    // contractions; a norm and a layer with an activation; a residual and a norm behind a product.
    let chains = [
        ("mk,fk->mf; mf,nf->mn", "M=16,K=256,F=512,N=64", "bf16"),
        ("hqd,hkd->hqk; bias, scale=0.125, softmax; hqk,hdk->hqd", "H=3,Q=24,K=48,D=64", "bf16"),
        ("mk,fk->mf; mf,nf->mn; pn,mn->pm", "M=8,K=64,F=128,N=32,P=16", "f32"),
        ("rmsnorm; mk,fk->mf; bias, silu; mf,nf->mn", "M=16,K=64,F=128,N=32", "bf16"),
        ("mk,nk->mn; relu, add, rmsnorm", "M=16,K=64,N=32", "bf16"),
    ];
    for (number, (chain, axes, out)) in chains.into_iter().enumerate() {
        let found =
            visa(&project, &["plan", "--chain", chain, "--axes", axes, "--out", out, "--emit", "tests"]);
        assert!(found.status.success(), "{chain}: {}", stderr(&found));
        modules += &format!("mod chain{number};\n");
        let to = project.join(format!("tests/all/chain{number}.rs"));
        std::fs::rename(project.join("tests/plan.rs"), to).expect("it is written");
    }
    std::fs::write(project.join("tests/all/main.rs"), modules).expect("the folder can be written");
    // The answers that are proven are kept in the project, and are the same when they are used.
    let kept = || project.join("target/visa-plan").read_dir().map_or(0, Iterator::count);
    assert!(kept() > 0);
    let small = ["plan", "--einsum", "mk,nk->mn", "--axes", "M=16,N=16,K=64", "--json"];
    let (before, without) = (kept(), visa(&project, &[&small[..], &["--no-cache"]].concat()));
    assert_eq!(kept(), before);
    let (first, second) = (visa(&project, &small), visa(&project, &small));
    assert_eq!(kept(), before + 1);
    assert!(first.status.success() && first.stdout == second.stdout && first.stdout == without.stdout);
    let mut cargo = Command::new(env!("CARGO"));
    let run = of_a_user(cargo.args(["test", "--offline", "--quiet", "--tests"]), &project);
    let run = run.output().expect("it starts");
    let printed = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{printed}\n{}", stderr(&run));
    let passed =
        |part: &str| part.rsplit(' ').next().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let passed: usize = printed.split(" passed").map(passed).sum();
    assert_eq!(passed, problems.len() + chains.len(), "{printed}");
    // The compiler has no warning; notes of what goes wrong with the vendor's SDK are no warnings of the source.
    let printed = stderr(&run);
    let warned =
        printed.lines().find(|line| line.starts_with("warning") && !line.contains("reported of the SDK"));
    assert_eq!(warned, None, "{printed}");
}

/// A new crate with a plan has it as a test.
#[test]
fn a_new_crate_with_a_plan() {
    let parent = folder("planned");
    let new = |plan: &str| visa(&parent, &["new", "planned", "--version", "0.1", "--plan", plan]);
    for (plan, message) in [
        (
            "mk,nk->mn",
            "error: `--plan`: `mk,nk->mn` is no einsum with sizes and a type; write for example --plan ",
        ),
        ("mk,nk->mn M=16,N=16", "error: `--plan`: axes: the axis `k` of `mk,nk->mn` has no size; add `K=…`"),
        ("mkb,nkb->bmn M=8,N=8,K=64,B=8", "error: `--plan`: no mapping of `mkb,nkb->bmn` is left: "),
    ] {
        let refused = new(plan);
        assert_eq!(refused.status.code(), Some(101));
        assert!(stderr(&refused).starts_with(message), "{}", stderr(&refused));
        assert!(!parent.join("planned").exists(), "{plan}");
    }
    let made = new("mk,nk->mn M=16,N=16,K=64 i8");
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(String::from_utf8_lossy(&made.stdout).contains("`planned/tests/plan.rs`"));
    let project = parent.join("planned");
    let manifest = std::fs::read_to_string(project.join("Cargo.toml")).expect("it is made");
    let (package, _) = manifest.split_once("[dependencies]").expect("it has dependencies");
    std::fs::write(project.join("Cargo.toml"), format!("{package}[workspace]\n")).expect("it can be written");
    let mut cargo = Command::new(env!("CARGO"));
    let run = of_a_user(cargo.args(["test", "--offline", "--quiet", "--test", "plan"]), &project);
    let run = run.output().expect("it starts");
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(String::from_utf8_lossy(&run.stdout).contains("1 passed"));
}

/// Shards that programs print are merged to what one program prints.
#[test]
fn shards_of_programs() {
    let parent = folder("shards");
    let problems = ["M=8,N=8,K=64", "M=16,N=8,K=64", "M=8,N=16,K=64"]
        .map(|axes| format!("{{\"einsum\": \"mk,nk->mn\", \"axes\": \"{axes}\"}}\n"));
    std::fs::write(parent.join("all.jsonl"), problems.concat()).expect("it can be written");
    let shard = |shard: &str| {
        let printed = visa(&parent, &["plan", "--problems", "all.jsonl", "--top", "1", "--shard", shard]);
        assert!(printed.status.success(), "{}", stderr(&printed));
        printed.stdout
    };
    let whole = shard("1/1");
    assert_eq!(whole.split(|byte| *byte == b'\n').count(), 6);
    for name in ["1/2", "2/2"] {
        std::fs::write(parent.join(name.replace('/', "_")), shard(name)).expect("it can be written");
    }
    let merged = visa(&parent, &["plan", "merge", "2_2", "1_2"]);
    assert!(merged.status.success() && merged.stdout == whole, "{}", stderr(&merged));
    let missing = visa(&parent, &["plan", "merge", "2_2"]);
    assert!(missing.status.code() == Some(2) && missing.stdout.is_empty(), "{}", stderr(&missing));
}

/// Ctrl-C ends a search with the best plan so far.
#[cfg(unix)]
#[test]
fn a_search_that_is_stopped_has_an_answer() {
    use std::io::Read as _;
    let parent = folder("stopped");
    let mut command = Command::new(env!("CARGO_BIN_EXE_visa"));
    command.args(["plan", "--einsum", "mk,nk->mn", "--axes", "M=7200,N=7200,K=5760", "--time", "60m"]);
    command.args(["--emit", "tests"]).current_dir(&parent);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut search = command.spawn().expect("it starts");
    // Some choices have been looked at by then.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let signal = Command::new("kill").args(["-INT", &search.id().to_string()]).status().expect("it starts");
    assert!(signal.success());
    let status = search.wait().expect("it ends");
    let (mut printed, mut errors) = (String::new(), String::new());
    search.stdout.take().expect("a pipe").read_to_string(&mut printed).expect("is text");
    search.stderr.take().expect("a pipe").read_to_string(&mut errors).expect("is text");
    assert_eq!((status.code(), errors.as_str()), (Some(130), ""), "{printed}");
    assert!(
        printed.contains("can be spared: it was stopped, and bounds of other choices begin at"),
        "{printed}"
    );
    assert!(parent.join("tests/plan.rs").exists());
}

/// No cargo is started, and nothing is asked of a network.
#[test]
fn a_new_crate_beside_a_version_is_written_alone() {
    let parent = folder("version");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-visa"));
    command.args(["visa", "new", "my-kernels", "--version", "0.1"]).current_dir(&parent);
    command.env_clear().env("CARGO", "nowhere");
    let made = command.output().expect("it starts");
    assert!(made.status.success(), "{}", stderr(&made));
    let read =
        |file: &str| std::fs::read_to_string(parent.join("my-kernels").join(file)).expect("it is made");
    assert!(
        read("Cargo.toml").contains("furiosa-visa-std = { version = \"0.1\" }"),
        "{}",
        read("Cargo.toml")
    );
    assert!(read("src/main.rs").contains("#[device(chip = 1)]"));
    assert!(read(".vscode/settings.json").contains("rust-analyzer.check.overrideCommand"));
    assert!(!parent.join("my-kernels/Cargo.lock").exists(), "no version was looked for");
}

#[test]
fn what_cannot_be_made_or_checked() {
    let parent = folder("refused");
    let refused = |arguments: &[&str]| {
        let output = visa(&parent, arguments);
        assert_eq!(output.status.code(), Some(101), "{arguments:?}");
        stderr(&output)
    };
    std::fs::create_dir(parent.join("taken")).expect("it can be made");
    assert_eq!(
        refused(&["new", "taken"]),
        "error: `taken` exists already; choose another name, or remove it\n"
    );
    assert!(refused(&["new", "2x"]).starts_with("error: `2x` cannot name a crate: "));
    assert!(refused(&["new"]).starts_with("error: the name of the crate is missing"));
    assert!(
        refused(&["new", "x", "--path", "nowhere"])
            .starts_with("error: `--path`: `nowhere` has no `Cargo.toml`")
    );
    assert!(refused(&["new", "x", "--version", "1", "--path", "."]).contains("given twice"));
    let other = visa(&parent, &["build"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).starts_with("error: `build` is not a command; the commands are `check`, "));
    for (arguments, start) in [
        (&["--help"][..], "visa: what cargo does not know"),
        (&["check", "--help"], "visa check: "),
        (&["new", "-h"], "visa new: "),
    ] {
        let help = visa(&parent, arguments);
        assert!(help.status.success() && help.stdout.starts_with(start.as_bytes()), "{arguments:?}");
    }
    let nowhere = refused(&["check", "--manifest-path", "nowhere/Cargo.toml"]);
    assert!(nowhere.starts_with("error: ") && nowhere.contains("nowhere"), "{nowhere}");
    assert_eq!(parent.read_dir().expect("it can be read").count(), 1, "nothing is made");
}
