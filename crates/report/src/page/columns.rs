//! The operations of a page: columns of numbers, and each description once.
//!
//! Operations come one by one. Each is kept as a row of numbers. Its description, which does not change from one
//! operation to the next, is kept once, member by member: two operations that differ in tensors share the
//! configuration.
//!
//! ```text
//!   rows           #0: start 0, cycles 612, description 0   #1: start 612, cycles 300, description 1   ...
//!   descriptions   0: [0, 1, 2]   1: [0, 1, 3]
//!   members        0: "kernel":"product"   1: "context":"main"   2: "rows":8   3: "rows":4
//! ```

use crate::trace::{Link, RunChannel, RunOperation};
use core::hash::Hash;
use furiosa_visa_rules::sorting;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Members that differ between operations with the same description.
const OWN: [&str; 7] = ["op", "launch", "cycles", "idle before", "waited for", "waited for op", "slowed by"];

/// A value as JSON that may stand in a script: there, `<` could end it or begin a comment.
pub(super) fn in_script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// Different values, numbered as they come.
#[derive(Debug)]
struct Interned<T: ?Sized> {
    all: Vec<Arc<T>>,
    places: HashMap<Arc<T>, u32>,
}

impl<T: ?Sized> Default for Interned<T> {
    fn default() -> Self {
        Self { all: Vec::new(), places: HashMap::new() }
    }
}

impl<T: ?Sized + Eq + Hash> Interned<T> {
    fn place<'a>(&mut self, value: &'a T) -> u32
    where
        Arc<T>: From<&'a T>,
    {
        if let Some(place) = self.places.get(value) {
            return *place;
        }
        let place = u32::try_from(self.all.len()).expect("a page shows fewer");
        let value = Arc::<T>::from(value);
        self.all.push(value.clone());
        self.places.insert(value, place);
        place
    }
}

/// Numbers of an operation, with the index of its description.
#[derive(Debug)]
struct Row {
    number: u64,
    launch: u64,
    start: u64,
    cycles: u64,
    idle: u64,
    waited_for: Option<u64>,
    /// Index of its description in `descriptions`.
    description: u32,
    /// True if the host's context ran it.
    is_host: bool,
    /// Reason for its wait, as JSON.
    waited: Box<str>,
}

/// Operations, and the work of channels of HBM for them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    rows: Vec<Row>,
    /// Texts of the form `"name":value`.
    members: Interned<str>,
    /// Indices of the members of each description.
    descriptions: Interned<[u32]>,
    /// Delays by other operations, as JSON, by operation.
    slowed: Vec<(u64, Box<str>)>,
    channels: Vec<RunChannel>,
}

impl Columns {
    /// Number of operations.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds an operation.
    pub(super) fn add(&mut self, operation: &RunOperation) {
        let mut members = vec![self.member("name", &operation.name.as_str().into())];
        let args = operation.args.as_object().into_iter().flatten();
        let shared = args.filter(|(key, _)| !OWN.contains(&key.as_str()));
        members.extend(shared.map(|(key, value)| self.member(key, value)));
        if operation.args["slowed by"] != json!([]) {
            self.slowed.push((operation.number, in_script(&operation.args["slowed by"]).into()));
        }
        self.rows.push(Row {
            number: operation.number,
            launch: operation.launch,
            start: operation.start,
            cycles: operation.cycles,
            idle: operation.args["idle before"].as_u64().unwrap_or_default(),
            waited_for: operation.waited_for,
            description: self.descriptions.place(&members),
            is_host: operation.context == "pdma",
            waited: in_script(&operation.args["waited for"]).into(),
        });
    }

    fn member(&mut self, key: &str, value: &Value) -> u32 {
        self.members.place(&format!("{}:{}", in_script(&key.into()), in_script(value)))
    }

    /// Adds the work of a channel.
    pub(super) fn add_channel(&mut self, channel: RunChannel) {
        self.channels.push(channel);
    }

    /// Puts operations in the order of their numbers.
    pub(super) fn sort(&mut self) {
        sorting::by_key(&mut self.rows, |row| row.number);
    }

    /// Waits of operations for each other.
    pub(super) fn links(&self) -> Vec<Link> {
        let link = |row: &Row| {
            let Row { number, launch, waited_for, is_host, .. } = *row;
            Link { number, launch, end: row.start + row.cycles, waited_for, is_host }
        };
        self.rows.iter().map(link).collect()
    }

    /// Writes the columns as members of a JSON object.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        type Cell = fn(&Row, &mut dyn Write) -> io::Result<()>;
        let columns: [(&str, Cell); 8] = [
            ("number", |row, out| write!(out, "{}", row.number)),
            ("launch", |row, out| write!(out, "{}", row.launch)),
            ("start", |row, out| write!(out, "{}", row.start)),
            ("cycles", |row, out| write!(out, "{}", row.cycles)),
            ("idle", |row, out| write!(out, "{}", row.idle)),
            ("wait", |row, out| match row.waited_for {
                Some(number) => write!(out, "{number}"),
                None => write!(out, "-1"),
            }),
            ("description", |row, out| write!(out, "{}", row.description)),
            ("waited", |row, out| write!(out, "{}", row.waited)),
        ];
        write!(out, "\"operations\":")?;
        list(out, ['{', '}'], columns, |out, (name, cell)| {
            write!(out, "\"{name}\":")?;
            list(out, ['[', ']'], &self.rows, |out, row| cell(row, out))
        })?;
        write!(out, ",\"descriptions\":")?;
        list(out, ['[', ']'], &self.descriptions.all, |out, members| {
            list(out, ['{', '}'], members.iter(), |out, member| {
                write!(out, "{}", self.members.all[*member as usize])
            })
        })?;
        write!(out, ",\"slowed\":")?;
        list(out, ['{', '}'], &self.slowed, |out, (number, by)| write!(out, "\"{number}\":{by}"))?;
        // Each channel is a row of numbers.
        write!(out, ",\"channels\":")?;
        list(out, ['[', ']'], &self.channels, |out, used| {
            let RunChannel { operation, chip, channel, start, cycles, busy_ticks, bytes } = used;
            write!(out, "[{operation},{chip},{channel},{start},{cycles},{busy_ticks},{bytes}]")
        })
    }
}

/// Writes items between brackets, with commas.
fn list<T>(
    out: &mut dyn Write,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut item: impl FnMut(&mut dyn Write, T) -> io::Result<()>,
) -> io::Result<()> {
    write!(out, "{open}")?;
    for (k, value) in items.into_iter().enumerate() {
        if k > 0 {
            write!(out, ",")?;
        }
        item(out, value)?;
    }
    write!(out, "{close}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(number: u64, rows: u64) -> RunOperation {
        let args = json!({"op": number, "launch": 1, "cycles": 5, "idle before": 2, "waited for": "#0 holds <",
            "waited for op": 0, "slowed by": [[0, number]], "configuration": "x".repeat(4000), "rows": rows});
        let text = |text: &str| text.to_string();
        RunOperation {
            number,
            name: text("a <b>"),
            operation: text("a"),
            line: text("a.rs:1"),
            kernel: text("k"),
            launch: 1,
            context: text("main"),
            bound: text("fetch"),
            start: 10 * number,
            cycles: 5,
            waited_for: (number > 0).then_some(0),
            args,
        }
    }

    /// A text of 4000 bytes is kept once, and the written data is that of the operations.
    #[test]
    fn what_operations_share_is_kept_once() {
        let mut columns = Columns::default();
        for number in (0..100).rev() {
            columns.add(&operation(number, number % 3));
        }
        columns.sort();
        let kept: usize = columns.members.all.iter().map(|member| member.len()).sum();
        assert!(columns.descriptions.all.len() == 3 && kept < 4200, "{kept} bytes are kept");
        let mut text = b"{".to_vec();
        columns.write(&mut text).expect("memory takes all");
        text.push(b'}');
        assert!(!text.contains(&b'<'));
        let data: Value = serde_json::from_slice(&text).expect("it is JSON");
        let column = |name: &str| &data["operations"][name];
        for number in 0..100 {
            let of = |name: &str| &column(name)[number];
            let added = operation(number as u64, number as u64 % 3);
            assert_eq!([of("number"), of("start"), of("cycles"), of("idle")], [number, 10 * number, 5, 2]);
            assert_eq!(
                (of("wait"), of("waited")),
                (&json!(if number > 0 { 0 } else { -1 }), &json!("#0 holds <"))
            );
            let place = of("description").as_u64().expect("a number") as usize;
            let mut expected = added.args.clone();
            OWN.iter().for_each(|key| drop(expected.as_object_mut().expect("members").remove(*key)));
            expected["name"] = json!("a <b>");
            assert_eq!(data["descriptions"][place], expected);
            assert_eq!(data["slowed"][number.to_string()], added.args["slowed by"]);
        }
    }
}
