//! The reports of `examples/04_timeline.rs`, as they are kept in `timeline.txt`.
//!
//! The file is looked at by people: a change of the model shows there. To renew it, run
//! `cargo run --release --example 04_timeline`, and read the difference.

#[path = "../../examples/04_timeline.rs"]
#[allow(clippy::duplicate_mod, unreachable_pub)]
mod example;

#[test]
fn the_reports_are_those_of_the_file() {
    let (before, after, same) = example::timelines();
    assert!(same, "the order of loads changes results");
    let found = format!("{}\n\n{}\n", before.full(), after.full());
    let expected = include_str!("timeline.txt");
    if let Some((k, (found, expected))) =
        found.lines().zip(expected.lines()).enumerate().find(|(_, (found, expected))| found != expected)
    {
        panic!("line {}:\n{found}\nbut the file says\n{expected}", k + 1);
    }
    assert!(expected.starts_with(found.trim_end()), "the reports end where the file goes on, or before");
    for report in [&before, &after] {
        assert!(report.to_string().lines().all(|line| line.chars().count() <= 100), "{report}");
    }
    assert!(after.kernels[0].makespan() < before.kernels[0].makespan());
}
