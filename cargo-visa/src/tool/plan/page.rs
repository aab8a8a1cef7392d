//! `--html`: the plans as one page for a browser: a picture of cycles against bytes, the table, and the reasons of the best one.

use super::text;
use core::fmt::Write as _;
use furiosa_visa_plan::{Outcome, Plan, Problem};
use furiosa_visa_rules::text::grouped;

/// Size of a picture in pixels, and its margins: left, right, top, bottom.
const SIZE: [f64; 2] = [560.0, 320.0];
const MARGINS: [f64; 4] = [84.0, 16.0, 30.0, 44.0];

const STYLE: &str = "\
:root { color-scheme: light dark; --back: #ffffff; --text: #1f2933; --faint: #5d6974; --line: #d9dfe5; --best: #3f7ae0;
  --other: #9aa5b1; --bound: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #14181d; --text: #e3e8ed; --faint: #93a0ad; --line: #313a44;
  --best: #5b93f5; --other: #6d7985; --bound: #ff7b72; } }
body { margin: 0 auto; padding: 16px; max-width: 1200px; background: var(--back); color: var(--text);
  font: 14px/1.45 system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; }
h1 { font-size: 20px; } h2 { font-size: 16px; }
.pictures { display: flex; flex-wrap: wrap; gap: 16px; }
figure { margin: 0; flex: 1 1 320px; max-width: 560px; }
figcaption, .faint { color: var(--faint); }
svg { width: 100%; height: auto; }
svg text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: var(--faint); }
svg .number { fill: var(--text); }
.axis { stroke: var(--line); fill: none; } .bound { stroke: var(--bound); stroke-dasharray: 4 3; }
.front { stroke: var(--best); fill: none; } .best { fill: var(--best); } .other { fill: var(--other); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: 3px 8px; text-align: left; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
";

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Plans that no other plan beats in both numbers, the fewest bytes first.
fn front(points: &[(u64, u64)]) -> Vec<usize> {
    let is_beaten = |own: usize| {
        let (bytes, cycles) = points[own];
        points
            .iter()
            .enumerate()
            .any(|(other, &(b, c))| b <= bytes && c <= cycles && (b < bytes || c < cycles || other < own))
    };
    let mut kept: Vec<usize> = (0..points.len()).filter(|&own| !is_beaten(own)).collect();
    kept.sort_unstable_by_key(|&own| points[own]);
    kept
}

/// The least and the greatest number of a scale, a little apart from the numbers that it shows.
fn scale(numbers: impl Iterator<Item = u64> + Clone) -> [f64; 2] {
    let (least, most) = (numbers.clone().min().unwrap_or(0) as f64, numbers.max().unwrap_or(1) as f64);
    let room = ((most - least) / 12.0).max(most / 100.0).max(1.0);
    [(least - room).max(0.0), most + room]
}

/// Cycles of plans against bytes of them. `bound`: the cycles of the problem's bound, shown if they are near.
fn picture(out: &mut String, points: &[(u64, u64)], what: &str, bound: u64) -> core::fmt::Result {
    let [width, height] = SIZE;
    let [left, right, top, bottom] = MARGINS;
    let least = points.iter().map(|(_, cycles)| *cycles).min().unwrap_or(0);
    let is_near = 2 * bound >= least;
    let xs = scale(points.iter().map(|(bytes, _)| *bytes));
    let ys = scale(points.iter().map(|(_, cycles)| *cycles).chain(is_near.then_some(bound)));
    let at = |value: u64, [low, high]: [f64; 2]| (value as f64 - low) / (high - low);
    let x = |bytes: u64| left + at(bytes, xs) * (width - left - right);
    let y = |cycles: u64| height - bottom - at(cycles, ys) * (height - top - bottom);
    let label = |value: f64| grouped(value.round() as u64);
    writeln!(
        out,
        "<figure><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"cycles against {what}\">"
    )?;
    let (floor, wall) = (height - bottom, width - right);
    writeln!(out, "<path class=\"axis\" d=\"M{left} {top}V{floor}H{wall}\"/>")?;
    for (value, place) in [(ys[0], floor), (ys[1], top + 10.0)] {
        writeln!(
            out,
            "<text x=\"{}\" y=\"{place}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            label(value)
        )?;
    }
    writeln!(out, "<text x=\"{left}\" y=\"{}\">{}</text>", floor + 16.0, label(xs[0]))?;
    writeln!(out, "<text x=\"{wall}\" y=\"{}\" text-anchor=\"end\">{}</text>", floor + 16.0, label(xs[1]))?;
    let middle = left + (wall - left) / 2.0;
    writeln!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{what}</text>", floor + 34.0)?;
    writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">cycles</text>", left - 6.0, top - 12.0)?;
    if is_near {
        let y = y(bound);
        writeln!(out, "<path class=\"bound\" d=\"M{left} {y:.1}H{wall}\"/>")?;
        writeln!(out, "<text x=\"{wall}\" y=\"{:.1}\" text-anchor=\"end\">bound</text>", y - 4.0)?;
    }
    let kept = front(points);
    let line: Vec<String> =
        kept.iter().map(|&own| format!("{:.1} {:.1}", x(points[own].0), y(points[own].1))).collect();
    writeln!(out, "<path class=\"front\" d=\"M{}\"/>", line.join("L"))?;
    // Those on the line cover the others.
    let others = (0..points.len()).filter(|own| !kept.contains(own));
    for number in others.chain(kept.iter().copied()) {
        let ((bytes, cycles), is_kept) = (points[number], kept.contains(&number));
        let class = if is_kept { "best" } else { "other" };
        let title = format!("plan {}: {} cycles, {} bytes", number + 1, grouped(cycles), grouped(bytes));
        writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{title}</title></circle>",
            x(bytes),
            y(cycles)
        )?;
        if is_kept {
            let (x, y) = (x(bytes) + 6.0, y(cycles) - 6.0);
            writeln!(out, "<text class=\"number\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", number + 1)?;
        }
    }
    writeln!(
        out,
        "</svg><figcaption>Cycles against {what}: blue plans are beaten by no other in both.</figcaption></figure>"
    )
}

/// A cell of the table.
fn cell(text: &str) -> String {
    let is_number = text.starts_with(|letter: char| letter.is_ascii_digit());
    format!("<td{}>{}</td>", if is_number { " class=\"n\"" } else { "" }, escaped(text))
}

/// The page of an answer.
pub fn page(problem: &Problem, outcome: &Outcome) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, problem, outcome);
    out
}

fn write(out: &mut String, problem: &Problem, outcome: &Outcome) -> core::fmt::Result {
    let title = format!("{} of {}, {}", problem.einsum, problem.element, problem.axes_text());
    let title = escaped(&title);
    writeln!(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(out, "<style>\n{STYLE}</style></head><body>\n<h1>{title}</h1>")?;
    for line in text::head(problem, outcome).lines().skip(1) {
        writeln!(out, "<p>{}</p>", escaped(line))?;
    }
    let bound = outcome.of_problem.cycles();
    let points = |bytes: &dyn Fn(&Plan) -> u64| -> Vec<(u64, u64)> {
        outcome.plans.iter().map(|plan| (bytes(plan), plan.cycles)).collect()
    };
    writeln!(out, "<div class=\"pictures\">")?;
    picture(out, &points(&|plan| plan.schedule.dm_bytes()), "bytes of DM in a slice", bound)?;
    picture(out, &points(&Plan::hbm_bytes), "bytes through HBM", bound)?;
    writeln!(out, "</div>\n<h2>Plans</h2>\n<div class=\"scroll\"><table><tr>")?;
    let (heads, rows) = text::plans(problem, outcome);
    for head in heads {
        write!(out, "<th>{head}</th>")?;
    }
    writeln!(out, "</tr>")?;
    for row in rows {
        writeln!(out, "<tr>{}</tr>", row.iter().map(|text| cell(text)).collect::<String>())?;
    }
    writeln!(out, "</table></div>")?;
    if let Some(best) = outcome.plans.first() {
        writeln!(out, "<h2>Why plan 1</h2>\n<ul>")?;
        for reason in best.reasons() {
            writeln!(out, "<li>{}</li>", escaped(&reason))?;
        }
        writeln!(out, "</ul>\n<h2>Where everything is</h2>\n<div class=\"scroll\"><table>")?;
        for (name, mapping) in text::mappings(best) {
            writeln!(out, "<tr><td>{name}</td><td><code>{}</code></td></tr>", escaped(&mapping))?;
        }
        writeln!(out, "</table></div>")?;
    }
    writeln!(
        out,
        "<p class=\"faint\">{}</p>\n</body></html>",
        escaped(text::space(outcome).trim()).replace('\n', "<br>")
    )
}

#[cfg(test)]
mod tests {
    use super::front;

    #[test]
    fn the_front_has_no_plan_that_another_beats() {
        // Bytes and cycles: the third is beaten by the first, the fourth is the first again.
        assert_eq!(front(&[(10, 100), (5, 120), (12, 100), (10, 100), (4, 300)]), [4, 1, 0]);
        assert!(front(&[]).is_empty());
    }
}
