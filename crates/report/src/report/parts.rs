//! Tables over the parts that kernels name.

use super::{Report, percent};
use core::fmt;
use furiosa_visa_clock::parts::PartSum;
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_rules::sequencer::write_table;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A table: sums of parts with the same name, in the order of their first operations.
pub(crate) struct PartTable {
    /// Meaning of the names.
    pub(crate) title: &'static str,
    /// The sums.
    pub(crate) rows: Vec<PartSum>,
}

/// The tables over the parts that kernels name, without the rest of a report: see [`Report::by_part`].
#[derive(Clone, Copy, Debug)]
pub struct ByPart<'a>(&'a Report);

impl Report {
    /// The tables over the parts that kernels name: what the full report has of them. Nothing is printed if none is named.
    pub fn by_part(&self) -> ByPart<'_> {
        ByPart(self)
    }
}

impl fmt::Display for ByPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in PartTable::of(&self.0.parts) {
            writeln!(f, "\n{}", table.title)?;
            write_table(f, &HEADS, &table.texts())?;
        }
        Ok(())
    }
}

/// The columns of a table.
const HEADS: [&str; 8] = ["part", "ops", "main: cycles", "share", "busy", "sub: busy", "DMA: busy", "HBM B"];

impl PartTable {
    /// The tables for these parts. Names with a `/` have two: for what stands before it, and for what stands behind it.
    pub(crate) fn of(parts: &[PartSum]) -> Vec<Self> {
        if parts.is_empty() {
            return Vec::new();
        }
        if !parts.iter().any(|part| part.name.contains('/')) {
            return vec![Self::by("cycles by part", parts, |name| name)];
        }
        fn split(name: &str) -> (&str, &str) {
            name.split_once('/').unwrap_or((name, name))
        }
        vec![
            Self::by("cycles by part, up to the `/` of its name", parts, |name| split(name).0),
            Self::by("cycles by part, behind the `/` of its name", parts, |name| split(name).1),
        ]
    }

    fn by(title: &'static str, parts: &[PartSum], key: impl Fn(&str) -> &str) -> Self {
        let (mut rows, mut places) = (Vec::<PartSum>::new(), HashMap::new());
        for part in parts {
            let name = key(&part.name);
            let place = *places.entry(name).or_insert(rows.len());
            if place == rows.len() {
                rows.push(PartSum { name: name.into(), ..PartSum::default() });
            }
            rows[place].extend(part);
        }
        Self { title, rows }
    }

    /// The rows as text.
    fn texts(&self) -> Vec<Vec<String>> {
        let whole = self.rows.iter().map(PartSum::main_cycles).sum();
        let row = |part: &PartSum| {
            let busy = |context: ContextKind| part.busy[context as usize].to_string();
            vec![
                name(part).to_string(),
                part.operations.to_string(),
                part.main_cycles().to_string(),
                percent(part.main_cycles(), whole),
                busy(ContextKind::Main),
                busy(ContextKind::Sub),
                busy(ContextKind::TensorDma),
                part.hbm_bytes.to_string(),
            ]
        };
        self.rows.iter().map(row).collect()
    }

    /// The table for tools and for the page of a run.
    pub(crate) fn json(&self) -> Value {
        let row = |part: &PartSum| {
            json!({
                "name": name(part), "operations": part.operations, "main": part.main_cycles(),
                "main_busy": part.busy[ContextKind::Main as usize], "sub_busy": part.busy[ContextKind::Sub as usize],
                "tdma_busy": part.busy[ContextKind::TensorDma as usize], "hbm_bytes": part.hbm_bytes,
            })
        };
        json!({"title": self.title, "rows": self.rows.iter().map(row).collect::<Value>()})
    }
}

fn name(part: &PartSum) -> &str {
    if part.name.is_empty() { "no part" } else { &part.name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, main: u64, idle: u64) -> PartSum {
        let mut busy = [0; 4];
        busy[ContextKind::Main as usize] = main;
        PartSum { name: name.into(), operations: 1, busy, main_idle: idle, hbm_bytes: 8 }
    }

    #[test]
    fn names_have_a_table_for_each_half() {
        let parts =
            [part("", 1, 0), part("a/x", 10, 2), part("a/y/z", 20, 3), part("b/x", 40, 4), part("c", 5, 0)];
        let tables = PartTable::of(&parts);
        let of = |table: &PartTable| -> Vec<(String, u64, u64)> {
            let row = |row: &PartSum| (name(row).to_string(), row.main_cycles(), row.operations);
            table.rows.iter().map(row).collect()
        };
        let row = |name: &str, cycles, operations| (name.to_string(), cycles, operations);
        assert_eq!(of(&tables[0]), [row("no part", 1, 1), row("a", 35, 2), row("b", 44, 1), row("c", 5, 1)]);
        assert_eq!(
            of(&tables[1]),
            [row("no part", 1, 1), row("x", 56, 2), row("y/z", 23, 1), row("c", 5, 1)]
        );
        assert_eq!(tables[0].texts()[1], ["a", "2", "35", "41.2 %", "30", "0", "0", "16"]);
        // Without a `/` there is one table, and without a name none.
        assert_eq!(PartTable::of(&[part("", 1, 0), part("a", 2, 0)]).len(), 1);
        assert_eq!(PartTable::of(&[]).len(), 0);
    }
}
