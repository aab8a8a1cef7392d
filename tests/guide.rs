//! What the chapters of the guide show beside their programs, which are tests themselves: messages and pictures.

use furiosa_visa_std::guide::CHAPTERS;
use std::path::Path;

/// The widest line of a picture, in characters. Tables of reports, which start with `|`, are as wide as they are.
const WIDTH: usize = 100;

/// The lines of all blocks of text of a chapter, without their indentation in a list.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    for line in text.lines() {
        let inner = line.trim_start();
        open = match (open.take(), inner) {
            (None, "```text") => Some((line.len() - inner.len(), Vec::new())),
            (None, _) => None,
            (Some((_, lines)), "```") => {
                blocks.push(lines);
                None
            }
            (Some((indent, mut lines)), _) => {
                lines.push(line.get(indent..).unwrap_or(""));
                Some((indent, lines))
            }
        };
    }
    assert!(open.is_none(), "a block does not end");
    blocks
}

/// Words with one space between them: messages are cut into lines as it suits the page.
fn words<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The messages of the compiler in a block: a line that starts with `error`, and the lines behind it that are indented by
/// two spaces and hold words.
fn messages(block: &[&str]) -> Vec<String> {
    let continues = |line: &&&str| {
        let inner = line.strip_prefix("  ").unwrap_or("");
        inner.starts_with(|first: char| first.is_alphanumeric() || first == '`')
    };
    let starts = (0..block.len()).filter(|&k| block[k].starts_with("error"));
    starts
        .map(|k| words([block[k]].into_iter().chain(block[k + 1..].iter().take_while(continues).copied())))
        .collect()
}

/// What the compiler says to the programs of `tests/ui/refused`.
fn refusals() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/refused");
    let files =
        folder.read_dir().expect("the folder can be read").map(|entry| entry.expect("it can be read").path());
    let stderr = files.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    let texts: Vec<String> = stderr.map(|path| std::fs::read_to_string(path).expect("it is text")).collect();
    assert!(texts.len() > 100, "{} files", texts.len());
    words(texts.iter().map(String::as_str))
}

#[test]
fn messages_are_those_of_the_compiler() {
    let known = refusals();
    let mut count = 0;
    for chapter in CHAPTERS {
        for message in blocks(chapter.text).iter().flat_map(|block| messages(block)) {
            assert!(known.contains(&message), "{}: the compiler does not say\n{message}", chapter.name);
            count += 1;
        }
    }
    assert!(count > 20, "{count} messages");
}

/// The messages that a list of common mistakes quotes: code at the start of an item. `…` stands for what differs.
fn quotes(text: &str) -> Vec<String> {
    let Some((_, list)) = text.split_once("\n# Common mistakes\n") else { return Vec::new() };
    let list = list.split("\n# ").next().unwrap_or(list);
    let items = list.split("\n* ").skip(1).map(|item| words(item.lines()));
    let quotes = items.filter_map(|item| {
        let inside = item.trim_start_matches('`');
        let fence = &item[..item.len() - inside.len()];
        let (quote, _) = inside.split_once(fence).filter(|_| !fence.is_empty())?;
        // Shorter code is a name.
        (quote.split_whitespace().count() > 2).then(|| quote.trim().to_string())
    });
    quotes.collect()
}

#[test]
fn quoted_mistakes_are_those_of_the_compiler() {
    let known = refusals();
    let mut count = 0;
    for chapter in CHAPTERS {
        for quote in quotes(chapter.text) {
            for part in quote.split('…').map(|part| part.trim_matches([' ', '`'])) {
                assert!(known.contains(part), "{}: the compiler does not say\n{part}", chapter.name);
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count} quotes");
}

#[test]
fn pictures_fit_a_terminal() {
    for chapter in CHAPTERS {
        for line in blocks(chapter.text).concat() {
            let width = if line.starts_with('|') { 0 } else { line.chars().count() };
            assert!(width <= WIDTH, "{}: {width} characters, at most {WIDTH}\n{line}", chapter.name);
        }
    }
}

#[test]
fn blocks_and_messages_are_found() {
    let text = "a\n* b\n  ```text\n  error: one\n    `two` three\n   --> here\n  error: four\n  ```\n```text\n x\n```\n";
    let found = blocks(text);
    assert_eq!(found, [vec!["error: one", "  `two` three", " --> here", "error: four"], vec![" x"]]);
    assert_eq!(messages(&found[0]), ["error: one `two` three", "error: four"]);
    assert!(messages(&found[1]).is_empty());
}

#[test]
fn quotes_are_found() {
    let text = "\n# Common mistakes\n\n* `a: b …\n  c`: d\n* `e f`\n* *g* `h i j`\n* `` k: `l` m ``: n\n\n# Where\n* `o p q`\n";
    assert_eq!(quotes(text), ["a: b … c", "k: `l` m"]);
}
