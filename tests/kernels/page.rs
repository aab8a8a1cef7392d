//! The page of a run, in a browser.

use crate::browser::{BROWSERS, rendered};
use crate::clock::traced;
use furiosa_visa_std::clock::page;
use furiosa_visa_std::clock::trace::Run;
use std::collections::BTreeSet;

/// Clicks on all names: only that of HBM opens something. The box opens what is open, and closes it.
const OPENS_AND_CLOSES: &str = "
const canvas = document.getElementById('timeline'), box = canvas.getBoundingClientRect();
for (let y = 7; y < box.height; y += 15)
  canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + 8, clientY: box.top + y }));
document.documentElement.dataset.opened = canvas.dataset.rows;
document.getElementById('channels').click();
if (canvas.dataset.rows !== document.documentElement.dataset.opened) throw new Error('the box closes');
document.getElementById('channels').click();
";

#[test]
fn a_page_runs_in_a_browser() {
    let (trace, report) = traced();
    let run = Run::parse(&trace.to_string()).expect("it is whole");
    let (least, limit) = report.headline().least.expect("kernels ran");
    assert_eq!(trace["visa"]["at least"]["cycles"].as_u64(), Some(least));
    assert_eq!(trace["visa"]["at least"]["held_by"].as_str(), Some(limit.name()));
    // The title is a text, whatever is in it.
    let page = page::of_run(&run, "</script> & @data@");
    let Some(text) = rendered(&page, "") else {
        println!("skipped: none of {BROWSERS:?} can be started here");
        return;
    };
    let head = text.lines().find(|line| line.starts_with("<html")).unwrap_or_default();
    assert!(head.contains("data-ready=\"yes\"") && !head.contains("data-error"), "{head}");
    // It has the slices of the trace, but those of the link to the host, which `pdma` shows.
    let events = trace["traceEvents"].as_array().expect("events");
    let shown = events.iter().filter(|event| event["ph"] == "X" && event["pid"] != 1_000_000).count();
    assert!(head.contains(&format!("data-slices=\"{shown}\"")), "{shown} slices: {head}");
    assert!(text.contains("<h1 id=\"title\">&lt;/script&gt; &amp; @data@</h1>"), "{head}");
    // The longest operation of a critical path is selected: its configuration and its layout are shown.
    let paths = run.critical_paths();
    let most = paths.iter().flatten().map(|own| own.cycles).max();
    let longest = paths.iter().flatten().find(|own| Some(own.cycles) == most).expect("kernels ran");
    let selected = format!("#{} {}", longest.number, longest.name);
    for part in
        [&selected, "What the engines are told", "cells are ", "kernel product, 2 launches", "HBM: at most"]
    {
        assert!(text.contains(part), "{part} is not in the page: {head}");
    }
    // One rule for the share of the multipliers: that of the report.
    let own = report.headline().to_string();
    let (_, share) = own.split_once("MACs ").expect("the headline has it");
    let share = format!("<b>{}</b><span>of what all rows", share.split(',').next().expect("a share"));
    assert!(text.contains(&share), "{share}: {head}");
    let least = format!("{:.1} % at least</b>", 100.0 * least as f64 / report.headline().cycles as f64);
    assert!(
        text.contains(&least) && text.contains(&format!(" cycles, by {limit}</span>")),
        "{least}: {head}"
    );
    // Of a run that is longer than the page, the headline still tells all.
    let headline = report.headline();
    let busy = headline.busy.iter().take(3).max().expect("contexts").to_owned() as f64;
    let busy = format!("{:.1} %</b><span>busy while kernels run", 100.0 * busy / headline.cycles as f64);
    let mut cut = run.clone();
    cut.operations.truncate(4);
    let shown = rendered(&page::of_run(&cut, "cut"), "").expect("it started before");
    assert!(shown.contains("<b>4 operations are shown</b>") && !text.contains("operations are shown</b>"));
    assert!(text.contains(&busy) && shown.contains(&busy), "{busy}: {shown}");
    // The hints of the report are there, the largest saving first.
    let hints = report.hints();
    assert!(!hints.is_empty());
    for hint in hints.iter().take(6) {
        let said = format!("{}; {}", hint.cause, hint.edit);
        assert!(text.contains(&said), "{said}: {head}");
    }
    // The channels of HBM are folded into one row, and are there when they are opened: by the box, or by a click on the
    // name.
    let channels: BTreeSet<u64> = run.channels.iter().map(|own| own.channel).collect();
    assert!(!channels.is_empty() && run.channels.iter().all(|own| own.chip == 0));
    let rows = |text: &str| -> usize {
        let (_, rest) = text.split_once("data-rows=\"").expect("the canvas says how many rows it has");
        rest.split_once('"').and_then(|(number, _)| number.parse().ok()).expect("a number")
    };
    let script = format!("<script>{OPENS_AND_CLOSES}</script></body>");
    let closed = rendered(&page.replace("</body>", &script), "").expect("it started before");
    assert!(!closed.contains("data-error="));
    let opened = format!("data-opened=\"{}\"", rows(&text) + channels.len());
    assert!(closed.contains(&opened) && rows(&closed) == rows(&text), "{opened} is not in the page");
    // A script that fails is seen.
    let broken = rendered(&page.replace("start(JSON", "begin(JSON"), "").expect("it started before");
    assert!(broken.contains("data-error=") && !broken.contains("data-ready"));
}
