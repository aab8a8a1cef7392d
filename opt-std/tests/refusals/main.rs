//! Refusals of the compiler in the words of the later surface: once, at the line of the call.
//!
//! Each program is given to `rustc` with the library that this test was built with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A call in the middle of a kernel, and what the compiler says of it.
struct Case {
    name: &'static str,
    /// Follows `let _ =`, on a line of its own.
    call: &'static str,
    message: &'static str,
}

/// Begins streams of `a`, 16 rows, and of weights.
const BEFORE: &str = "use furiosa_opt_std::prelude::*;
axes![T = 16, N = 8, K = 64, L = 8, I = 2, Z = 262144];
type Unit<D, E> = DmTensor<D, m![1], m![1 # 2], m![1 # 256], E>;
#[device]
fn kernel(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![T, K]>, b: &HbmTensor<bf16, m![1], m![N, K]>, f: &HbmTensor<f32, m![1], m![T, L]>) {
    let a: Unit<bf16, m![T, K]> = a.to_dm(&mut ctx.tdma);
    let b: Unit<bf16, m![N, K]> = b.to_dm(&mut ctx.tdma);
    let f: Unit<f32, m![T, L]> = f.to_dm(&mut ctx.tdma);
    let w = ctx.sub.begin(b.view()).fetch::<m![N], m![K]>().collect::<m![N, K / 16], m![K % 16]>();
    let w: TrfTensor<bf16, m![1], m![1 # 2], m![1 # 256], m![N], m![K]> = w.to_trf();
    let x = ctx.main.begin(a.view()).fetch::<m![T], m![K]>();
    let _ = (&b, &f, &w);
    let _ =
";

const AFTER: &str = ";
}
fn main() {}
";

const CASES: &[Case] = &[
    Case {
        name: "fetch_of_another_axis",
        call: "ctx.main.begin(a.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L # 16]>().commit_trim::<m![L]>().commit::<m![T, L]>()",
        message: "fetch: the buffer `m![T, K]` holds `m![K]`, which the stream `Time` `m![T]`, `Packet` `m![L]` does not read",
    },
    Case {
        name: "collect_of_two_flits",
        call: "x.collect::<m![T], m![K]>()",
        message: "collect: the output packet `m![K]` of bf16 holds 128 bytes, but a flit holds 32",
    },
    Case {
        name: "to_trf_of_three_lanes",
        call: "ctx.sub.begin(b.view()).fetch::<m![N], m![K]>().collect::<m![N, K / 16], m![K % 16]>().to_trf::<m![N # 12], m![K]>()",
        message: "to_trf: Lane::SIZE must be 1, 2, 4, or 8, got 12 from `m![N # 12]`",
    },
    Case {
        name: "contract_outer_of_one_flit",
        call: "x.collect::<m![T, K / 16], m![K % 16]>().contract_outer::<m![T, K / 16], m![K % 16], _, _, _>(&w)",
        message: "contract_outer: OutPacket `m![K % 16]` of bf16 holds 32 bytes, but must hold 64",
    },
    Case {
        name: "contract_packet_of_three_columns",
        call: "x.collect::<m![T, K / 16], m![K % 16]>().contract_outer::<m![T, K / 32], m![K % 32], _, _, _>(&w).contract_packet::<m![K / 8 % 4 = 3]>()",
        message: "contract_packet: OutPacket `m![K / 8 % 4 = 3]` has 3 columns, but must have a power of two, at most 32",
    },
    Case {
        name: "contract_time_that_sums_too_little",
        call: "x.collect::<m![T, K / 16], m![K % 16]>().contract_outer::<m![T, K / 32], m![K % 32], _, _, _>(&w).contract_packet::<m![1]>().contract_time::<m![T, K / 32]>().contract_lane::<m![T], m![N]>(LaneMode::Interleaved)",
        message: "contract_time: OutTime is `m![T, K / 32]`, but contract_lane goes on to OutTime `m![T]`",
    },
    Case {
        name: "contract_lane_of_another_packet",
        call: "x.collect::<m![T, K / 16], m![K % 16]>().contract_outer::<m![T, K / 32], m![K % 32], _, _, _>(&w).contract_packet::<m![1]>().contract_time::<m![T]>().contract_lane::<m![T], m![L]>(LaneMode::Interleaved)",
        message: "contract_lane, Interleaved: OutPacket is `m![L]`",
    },
    Case {
        name: "narrow_split_without_the_half",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().vector_init().vector_intra_slice_tag(TagMode::Zero).vector_narrow_split::<m![T], m![L % 4]>()",
        message: "vector_narrow_split: the output time is `m![T]`, but `m![T]` followed by the half of the packet is `m![T, L / 4]`",
    },
    Case {
        name: "narrow_split_of_pairs_without_the_half",
        call: "ctx.main.begin(f.view()).fetch::<m![T, I], m![L]>().collect::<m![T, I], m![L]>().vector_init().vector_intra_slice_unzip::<I, m![T, 1 # 2], m![T]>().vector_narrow_split::<m![T], m![L % 4]>()",
        message: "vector_narrow_split: the output time is `m![T]`",
    },
    Case {
        name: "stash_that_was_not_written",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().vector_init().vector_intra_slice_tag(TagMode::Zero).vector_clip(ClipBinaryOpF32::Add, Stash)",
        message: "Stash` is no operand here",
    },
    Case {
        name: "stash_of_another_way",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().vector_init().vector_intra_slice_tag(TagMode::Zero).vector_stash().vector_narrow_split::<m![T, L / 4], m![L % 4]>().vector_fp_binary(FpBinaryOp::AddF, Stash)",
        message: "Stash` is no operand here",
    },
    Case {
        name: "commit_trim_of_twelve_bytes",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().commit_trim::<m![L = 3]>()",
        message: "commit_trim: OutPacket `m![L = 3]` of f32 keeps 12 bytes",
    },
    Case {
        name: "commit_of_a_stream_that_was_not_trimmed",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().commit::<m![T, L]>()",
        message: "commit: nothing says what is kept of each packet",
    },
    Case {
        name: "tensor_larger_than_a_slice",
        call: "DmTensor::<f32, m![1], m![1 # 2], m![1 # 256], m![Z]>::new()",
        message: "DmTensor: Element `m![Z]` of f32 takes 1048576 bytes, but DM holds 524288 bytes per slice",
    },
    Case {
        name: "table_that_does_not_follow_from_types",
        call: "x.fetch_table_lookup::<f8e4m3>()",
        message: "f8e4m3` follows from the types",
    },
    Case {
        name: "cast_to_the_same_type",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().cast::<f32, m![L]>()",
        message: "cast: the Cast Engine does not make `f32` of `f32`",
    },
    Case {
        name: "view_in_other_clusters",
        call: "a.view().to_dm_view(&mut ctx.tdma, DmTensor::<bf16, m![1], m![I], m![1 # 256], m![T, K]>::new().view_mut())",
        message: "to_dm_view: Cluster of the source is `m![1 # 2]`, and that of the destination `m![I]`, but the move leaves every element in its Cluster",
    },
    Case {
        name: "copy_in_other_clusters",
        call: "a.view().to_dm_view_pcopy(&mut ctx.sub, DmTensor::<bf16, m![1], m![I], m![1 # 256], m![T, K]>::new().view_mut())",
        message: "to_dm_view_pcopy: Cluster of the source is `m![1 # 2]`, and that of the destination `m![I]`",
    },
    Case {
        name: "view_in_other_chips",
        call: "a.view().to_hbm_view(&mut ctx.tdma, HbmTensor::<bf16, m![I], m![T, K]>::new().view_mut())",
        message: "to_hbm_view: Chip of the source is `m![1]`, and that of the destination `m![I]`",
    },
    Case {
        name: "shuffle_of_three_clusters",
        call: "DmTensor::<i8, m![1], m![I], m![1 # 256], m![K]>::new().view().dm_cluster_shuffle::<3>(&mut ctx.tdma, &[0, 1, 0])",
        message: "dm_cluster_shuffle: the call is for 3 clusters, but Cluster `m![I]` has 2 positions",
    },
    Case {
        name: "copy_for_three_clusters",
        call: "ctx.sub.parallel_copy_cluster_slice::<3, m![N], m![1 # 8, K], m![K], _, _, _, _, _>(DmTensor::<i8, m![1], m![I], m![1 # 256], m![N, K]>::new().view(), &[0, 1, 2])",
        message: "parallel_copy_cluster_slice: the call is for 3 clusters, but Cluster `m![I]` has 2 positions",
    },
    Case {
        name: "scatter_of_another_key",
        call: "DmTensor::<i8, m![1], m![1 # 2], m![N # 256], m![K]>::new().dma_scatter::<m![N], _, _>(&HbmTensor::<i32, m![1], m![N % 2, N / 2]>::new(), &mut HbmTensor::<i8, m![1], m![T, K]>::new())",
        message: "dma_scatter: the scatter key is `m![N]` and the index holds `m![N % 2, N / 2]`",
    },
    Case {
        name: "gather_of_two_axes",
        call: "{ let rows: DmTensor<bf16, m![1], m![1 # 2], m![I # 256], m![1 # 4]> = HbmTensor::<bf16, m![1], m![T, K]>::new().dma_gather_scaled(&HbmTensor::<i32, m![1], m![I]>::new()); rows }",
        message: "dma_gather_scaled: of the table `HbmTensor<m![1], m![T, K]>`, `m![T]` and `m![K]` are in no row",
    },
    Case {
        name: "weights_of_another_type",
        call: "ctx.main.begin(f.view()).fetch::<m![T], m![L]>().collect::<m![T], m![L]>().contract_outer::<m![T], m![L], _, _, _>(&w)",
        message: "bf16` do not meet a stream of `f32`",
    },
    Case {
        name: "memset_of_a_type_without_immediates",
        call: "DmTensor::<f8e5m2, m![1], m![1 # 2], m![1 # 256], m![K]>::new().view_mut().memset(f8e5m2::from_f32(1.0), &mut ctx.sub)",
        message: "f8e5m2` is no immediate of the sub context",
    },
    Case {
        name: "memset_of_f4",
        call: "DmTensor::<f4e2m1, m![1], m![1 # 2], m![1 # 256], m![K]>::new().view_mut().memset(f4e2m1::from_f32(1.0), &mut ctx.sub)",
        message: "f4e2m1` is no immediate of the sub context",
    },
    Case {
        name: "reshape_to_another_size",
        call: "unsafe { a.reshape::<m![1], m![1 # 2], m![1 # 256], m![K]>() }",
        message: "reshape: Element `m![T, K]` has 1024 positions, and `m![K]` has 64 positions",
    },
];

/// The libraries beside this test.
fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("the test has a path");
    program.parent().expect("a program is in a folder").to_path_buf()
}

/// The library of the crate that was built last.
fn library() -> PathBuf {
    let entries =
        folder().read_dir().expect("the folder can be read").map(|entry| entry.expect("an entry").path());
    let is_library = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file.starts_with("libfuriosa_opt_std-") && file.ends_with(".rlib")
    };
    let age = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).expect("it has an age");
    entries.filter(is_library).max_by_key(age).expect("the test depends on the library")
}

/// Errors of the compiler, of which the first line says what is wrong.
fn errors(source: &Path, release: bool) -> String {
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.args(["--edition=2024", "--crate-type=bin", "-Awarnings", "--emit=obj", "-Cdebuginfo=0"]);
    compiler.arg(if release { "-Copt-level=3" } else { "-Copt-level=0" });
    compiler.arg("--extern").arg(format!("furiosa_opt_std={}", library().display()));
    compiler.arg("-L").arg(format!("dependency={}", folder().display()));
    compiler.arg("--out-dir").arg(source.parent().expect("it is in a folder")).arg(source);
    let output = compiler.output().expect("rustc starts");
    assert!(!output.status.success(), "{} is accepted", source.display());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn written(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("furiosa-opt-std-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    let path = folder.join(format!("{name}.rs"));
    std::fs::write(&path, text).expect("a program is written");
    path
}

#[test]
fn refusals_are_told_once_at_the_line_of_the_call() {
    let line = BEFORE.lines().count() + 1;
    let mut wrong = Vec::new();
    for (case, release) in CASES.iter().flat_map(|case| [(case, false), (case, true)]) {
        let path = written(&format!("{}_{release}", case.name), &format!("{BEFORE}{}{AFTER}", case.call));
        let text = errors(&path, release);
        let told: Vec<&str> = text.lines().filter(|line| line.starts_with("error")).collect();
        let place = format!("{}:{line}:", path.display());
        // The last one counts the others.
        if told.len() != 2 || !told[0].contains(case.message) || !text.contains(&place) {
            wrong
                .push(format!("{} (release: {release}), wanted {place} {}\n{text}", case.name, case.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A program without a mistake is compiled: what the cases have around their calls is right.
#[test]
#[should_panic(expected = "is accepted")]
fn what_is_around_the_calls_is_right() {
    errors(&written("right", &format!("{BEFORE}x.collect::<m![T, K / 16], m![K % 16]>(){AFTER}")), false);
}
