//! The page of a run, in a browser.

use crate::browser::{BROWSERS, rendered};
use crate::clock::traced;
use furiosa_visa_std::clock::page;
use furiosa_visa_std::clock::trace::Run;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// A number with a thin space between thousands.
fn grouped(number: u64) -> String {
    furiosa_visa_std::text::grouped(number).replace(' ', "\u{202f}")
}

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

/// Goes from the first hint to its operation and to its line, and back by both. Then makes the page as narrow as a telephone:
/// cycles of lines are seen, and no layout is wider than its place. No label of the roofline is on a line.
const FOLLOWS_AND_MEASURES: &str = "{
const told = document.documentElement.dataset, details = document.getElementById('details');
const card = document.getElementById('hint0'), own = card.textContent;
card.click();
told.hinted = details.querySelector('h3').textContent;
told.chosen = document.querySelectorAll('tr.chosen').length;
[...details.querySelectorAll('a')].find(link => own.startsWith('hint: ' + link.textContent)).click();
told.back = document.activeElement.id;
card.blur();
document.querySelector('tr.chosen a').click();
told.fromLine = document.activeElement.id;
const drawing = document.querySelector('#roofline svg');
told.lines = drawing.querySelectorAll('polyline').length;
told.onLines = [...drawing.querySelectorAll('text')].filter(text => /rs:|product/.test(text.textContent)).filter(text => {
  const { x, y, width, height } = text.getBBox();
  return [...drawing.querySelectorAll('polyline')].some(line => {
    for (let at = 0; at <= line.getTotalLength(); at++) {
      const point = line.getPointAtLength(at);
      if (point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height) return true;
    }
  });
}).length;
document.body.style.width = '400px';
dispatchEvent(new Event('resize'));
const lines = document.getElementById('lines').getBoundingClientRect();
told.cycles = [...document.querySelectorAll('#lines th')].find(head => head.textContent === 'cycles')
  .getBoundingClientRect().right <= lines.right;
const layouts = [...document.querySelectorAll('.layout')];
told.layouts = layouts.length;
told.wide = layouts.filter(layout => layout.scrollWidth > layout.clientWidth).length;
}";

#[test]
fn a_page_runs_in_a_browser() {
    let (trace, report) = traced();
    let run = Run::parse(&trace.to_string()).expect("it is whole");
    let (least, limit) = report.headline().least.expect("kernels ran");
    assert_eq!(trace["visa"]["at least"]["cycles"].as_u64(), Some(least));
    assert_eq!(trace["visa"]["at least"]["held_by"].as_str(), Some(limit.name()));
    // The title is a text, whatever is in it.
    let day = SystemTime::UNIX_EPOCH + Duration::from_secs(60 * (12 + 60 * 24 * 365));
    let page = page::of_run(&run, "</script> & @data@", Some(day));
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
    assert!(text.contains("<h1 id=\"title\">product: &lt;/script&gt; &amp; @data@</h1>"), "{head}");
    let about =
        concat!("1971-01-01 00:12 UTC · profile detailed · version ", env!("CARGO_PKG_VERSION"), "</p>");
    assert!(text.contains(about), "{about}: {head}");
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
    cut.summary["hints"] = json!([]);
    // Kernels of this run name no part; a run whose kernels do has a table of them, and a trace of an older version has no list.
    assert_eq!(trace["visa"]["parts"], json!([]));
    assert!(text.contains("<section id=\"parts\" hidden=\"\">"), "{head}");
    let row = |name: &str, main: u64| json!({"name": name, "operations": 3, "main": main, "main_busy": 1, "sub_busy": 2, "tdma_busy": 4, "hbm_bytes": 2048});
    cut.summary["parts"] = json!([{"title": "by layer", "rows": [row("layer <0>", 15), row("layer 1", 45)]}]);
    let shown = rendered(&page::of_run(&cut, "cut", None), "").expect("it started before");
    for part in
        ["<section id=\"parts\">", "<th>by layer</th>", "<td>layer &lt;0&gt;</td>", "45 75.0 % ", "2 KiB"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    cut.summary.as_object_mut().expect("an object").remove("parts");
    let older = rendered(&page::of_run(&cut, "cut", None), "").expect("it started before");
    assert!(older.contains("data-ready") && older.contains("<section id=\"parts\" hidden=\"\">"));
    assert!(shown.contains("<b>no hints</b>") && !text.contains("<b>no hints</b>"));
    assert!(shown.contains("class=\"hint\">profile detailed"), "no date is known");
    assert!(shown.contains("<b>4 operations are shown</b>") && !text.contains("operations are shown</b>"));
    assert!(text.contains(&busy) && shown.contains(&busy), "{busy}: {shown}");
    // The hints of the report are there, the largest saving first.
    let hints = report.hints();
    assert!(!hints.is_empty());
    for hint in &hints {
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
    // Cycles are counted from the start of the first kernel, as in tables.
    let origin = run.kernels[0].start;
    let started = grouped(longest.start - origin);
    assert!(origin > 0 && text.contains(&format!(", from {started} to ")), "{started}: {head}");
    // Hints, their operations and their lines lead to each other.
    let script = format!("<script>{FOLLOWS_AND_MEASURES}</script></body>");
    let followed = rendered(&page.replace("</body>", &script), "").expect("it started before");
    let head = followed.lines().find(|line| line.starts_with("<html")).unwrap_or_default();
    let first = run.operations.iter().find(|own| own.number == hints[0].number).expect("it is kept");
    let hinted = format!("data-hinted=\"#{} {}\"", first.number, first.name);
    for part in [
        hinted.as_str(),
        "data-chosen=\"1\"",
        "data-back=\"hint0\"",
        "data-from-line=\"hint0\"",
        "data-lines=\"2\"",
        "data-on-lines=\"0\"",
        "data-cycles=\"true\"",
        "data-layouts=\"2\"",
        "data-wide=\"0\"",
    ] {
        assert!(head.contains(part) && !head.contains("data-error"), "{part}: {head}");
    }
    assert!(followed.contains(">clock.rs:"), "the roofline names a line");
    // Rows of a cluster that does the same as the other one are folded, and open by a click; others are not.
    let with = |clusters: Value, most: usize| {
        let mut run = run.clone();
        let own = run.operations.iter_mut().filter(|own| own.args["clusters"] == json!([[0, 0]]));
        own.take(most).for_each(|own| own.args["clusters"] = clusters.clone());
        let page = page::of_run(&run, "clusters", None);
        let text = rendered(&page, "").expect("it started before");
        assert!(text.contains("data-ready") && !text.contains("data-error="));
        let (_, slices) = text.split_once("data-slices=\"").expect("the page counts them");
        (rows(&text), slices.split('"').next().map(str::to_string))
    };
    let one = with(json!([[0, 0]]), usize::MAX);
    let both = with(json!([[0, 0], [0, 1]]), usize::MAX);
    assert!(both.0 == one.0 && both.1 != one.1, "{both:?}, {one:?}");
    assert!(with(json!([[0, 0], [0, 1]]), 1).0 > one.0);
    assert_eq!(with(json!([[0, 1]]), usize::MAX), one);
    // A script that fails is seen.
    let broken = rendered(&page.replace("start(JSON", "begin(JSON"), "").expect("it started before");
    assert!(broken.contains("data-error=") && !broken.contains("data-ready"));
}
