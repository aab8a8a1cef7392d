//! The operations of a page: columns of numbers, and each description once.
//!
//! Operations come one by one. What is kept of each is a row of numbers. What describes it, and does not change from
//! one to the next, is kept once, member by member: two operations that differ in tensors share the configuration.
//!
//! ```text
//!   rows           #0: start 0, cycles 612, description 0   #1: start 612, cycles 300, description 1   ...
//!   descriptions   0: [0, 1, 2]   1: [0, 1, 3]
//!   members        0: "kernel":"product"   1: "context":"main"   2: "rows":8   3: "rows":4
//! ```

use crate::trace::{Link, RunChannel, RunOperation};
use core::hash::Hash;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// What differs between operations that are described alike.
const OWN: [&str; 7] = ["op", "launch", "cycles", "idle before", "waited for", "waited for op", "slowed by"];

/// A value as JSON that may stand in a script: there, `<` could end it or begin a comment.
pub(super) fn in_script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// Different things, numbered as they come.
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
    fn place<'a>(&mut self, own: &'a T) -> u32
    where
        Arc<T>: From<&'a T>,
    {
        if let Some(place) = self.places.get(own) {
            return *place;
        }
        let place = u32::try_from(self.all.len()).expect("a page shows fewer");
        let own = Arc::<T>::from(own);
        self.all.push(own.clone());
        self.places.insert(own, place);
        place
    }
}

/// An operation without what describes it.
#[derive(Debug)]
struct Row {
    number: u64,
    launch: u64,
    start: u64,
    cycles: u64,
    idle: u64,
    waited_for: Option<u64>,
    /// Its number in `descriptions`.
    description: u32,
    /// Whether the host's context ran it.
    is_host: bool,
    /// What it waited for, as JSON.
    waited: Box<str>,
}

/// Operations, and what channels of HBM did for them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    rows: Vec<Row>,
    /// `"name":value`.
    members: Interned<str>,
    /// The members of each.
    descriptions: Interned<[u32]>,
    /// By operation: what slowed it down, as JSON.
    slowed: Vec<(u64, Box<str>)>,
    channels: Vec<RunChannel>,
}

impl Columns {
    /// How many operations there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds an operation.
    pub(super) fn add(&mut self, own: &RunOperation) {
        let mut members = vec![self.member("name", &own.name.as_str().into())];
        let args = own.args.as_object().into_iter().flatten();
        let shared = args.filter(|(key, _)| !OWN.contains(&key.as_str()));
        members.extend(shared.map(|(key, value)| self.member(key, value)));
        if own.args["slowed by"] != json!([]) {
            self.slowed.push((own.number, in_script(&own.args["slowed by"]).into()));
        }
        self.rows.push(Row {
            number: own.number,
            launch: own.launch,
            start: own.start,
            cycles: own.cycles,
            idle: own.args["idle before"].as_u64().unwrap_or_default(),
            waited_for: own.waited_for,
            description: self.descriptions.place(&members),
            is_host: own.context == "pdma",
            waited: in_script(&own.args["waited for"]).into(),
        });
    }

    fn member(&mut self, key: &str, value: &Value) -> u32 {
        self.members.place(&format!("{}:{}", in_script(&key.into()), in_script(value)))
    }

    /// Adds what a channel did.
    pub(super) fn add_channel(&mut self, own: RunChannel) {
        self.channels.push(own);
    }

    /// Puts operations in the order of their numbers.
    pub(super) fn sort(&mut self) {
        self.rows.sort_unstable_by_key(|own| own.number);
    }

    /// How operations wait for each other.
    pub(super) fn links(&self) -> Vec<Link> {
        let link = |own: &Row| {
            let Row { number, launch, waited_for, is_host, .. } = *own;
            Link { number, launch, end: own.start + own.cycles, waited_for, is_host }
        };
        self.rows.iter().map(link).collect()
    }

    /// Writes them as members of a JSON object.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        type Cell = fn(&Row, &mut dyn Write) -> io::Result<()>;
        let columns: [(&str, Cell); 8] = [
            ("number", |own, out| write!(out, "{}", own.number)),
            ("launch", |own, out| write!(out, "{}", own.launch)),
            ("start", |own, out| write!(out, "{}", own.start)),
            ("cycles", |own, out| write!(out, "{}", own.cycles)),
            ("idle", |own, out| write!(out, "{}", own.idle)),
            ("wait", |own, out| match own.waited_for {
                Some(number) => write!(out, "{number}"),
                None => write!(out, "-1"),
            }),
            ("description", |own, out| write!(out, "{}", own.description)),
            ("waited", |own, out| write!(out, "{}", own.waited)),
        ];
        write!(out, "\"operations\":")?;
        list(out, ['{', '}'], columns, |out, (name, cell)| {
            write!(out, "\"{name}\":")?;
            list(out, ['[', ']'], &self.rows, |out, own| cell(own, out))
        })?;
        write!(out, ",\"descriptions\":")?;
        list(out, ['[', ']'], &self.descriptions.all, |out, members| {
            list(out, ['{', '}'], members.iter(), |out, member| {
                write!(out, "{}", self.members.all[*member as usize])
            })
        })?;
        write!(out, ",\"slowed\":")?;
        list(out, ['{', '}'], &self.slowed, |out, (number, by)| write!(out, "\"{number}\":{by}"))?;
        // A row each: numbers alone.
        write!(out, ",\"channels\":")?;
        list(out, ['[', ']'], &self.channels, |out, own| {
            let RunChannel { operation, chip, channel, start, cycles, busy_ticks, bytes } = own;
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
    for (k, own) in items.into_iter().enumerate() {
        if k > 0 {
            write!(out, ",")?;
        }
        item(out, own)?;
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

    /// A text of 4000 bytes is kept once, and what is written is what came.
    #[test]
    fn what_operations_share_is_kept_once() {
        let mut columns = Columns::default();
        for number in (0..100).rev() {
            columns.add(&operation(number, number % 3));
        }
        columns.sort();
        let kept: usize = columns.members.all.iter().map(|own| own.len()).sum();
        assert!(columns.descriptions.all.len() == 3 && kept < 4200, "{kept} bytes are kept");
        let mut text = b"{".to_vec();
        columns.write(&mut text).expect("memory takes all");
        text.push(b'}');
        assert!(!text.contains(&b'<'));
        let data: Value = serde_json::from_slice(&text).expect("it is JSON");
        let column = |name: &str| &data["operations"][name];
        for number in 0..100 {
            let of = |name: &str| &column(name)[number];
            let own = operation(number as u64, number as u64 % 3);
            assert_eq!([of("number"), of("start"), of("cycles"), of("idle")], [number, 10 * number, 5, 2]);
            assert_eq!(
                (of("wait"), of("waited")),
                (&json!(if number > 0 { 0 } else { -1 }), &json!("#0 holds <"))
            );
            let place = of("description").as_u64().expect("a number") as usize;
            let mut expected = own.args.clone();
            OWN.iter().for_each(|key| drop(expected.as_object_mut().expect("members").remove(*key)));
            expected["name"] = json!("a <b>");
            assert_eq!(data["descriptions"][place], expected);
            assert_eq!(data["slowed"][number.to_string()], own.args["slowed by"]);
        }
    }
}
