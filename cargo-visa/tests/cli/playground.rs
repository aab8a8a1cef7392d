//! The page of the playground: built by its command, and used in a browser.

use crate::browser::{BROWSERS, rendered};
use furiosa_visa_playground::{EXAMPLES, answer};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The most bytes of the page.
const MOST_BYTES: usize = 3 << 20;

fn visa(arguments: &[&str], compiler: Option<&Path>) -> Output {
    let mut visa = Command::new(env!("CARGO_BIN_EXE_visa"));
    // A module that is not optimised is made in less time. It is twice as large as what a user gets.
    visa.env("CARGO_PROFILE_PLAYGROUND_OPT_LEVEL", "0");
    if let Some(compiler) = compiler {
        visa.env("RUSTC", compiler);
    }
    visa.arg("playground").args(arguments).output().expect("it starts")
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(101), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder of this test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("visa-playground-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("is created");
    folder
}

#[test]
fn what_is_refused() {
    let of = |arguments: &[&str]| refused(&visa(arguments, None));
    assert!(of(&["-o", "a", "-o", "b"]).contains("`--output` is given twice; give it once"));
    assert!(of(&["-o", ""]).contains("the name of the file is empty; write for example `playground.html`"));
    assert!(of(&["page.html"]).contains("unexpected argument \"page.html\""));
    let missing = refused(&visa(&[], Some(Path::new("no-compiler"))));
    assert!(missing.contains("add it with `rustup target add wasm32-unknown-unknown`"), "{missing}");
}

/// A form as the end of a link.
fn link(form: &Value) -> String {
    let mut link = "#".to_string();
    for (name, text) in form.as_object().expect("an object") {
        link += &format!("{}{name}=", if link.len() > 1 { "&" } else { "" });
        for byte in text.as_str().expect("texts").bytes() {
            link += &format!("%{byte:02X}");
        }
    }
    link
}

/// A text as a page shows it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\u{a0}', "&nbsp;")
}

/// Checks that the page shows an answer: that of the rules here, which are compiled for another machine.
#[track_caller]
fn check(shown: &str, form: &Value) {
    let head = shown.lines().find(|line| line.starts_with("<html")).unwrap_or_default();
    assert!(head.contains("data-ready=\"yes\"") && !head.contains("data-error"), "{head}");
    let expected: Value = serde_json::from_str(&answer(&form.to_string())).expect("JSON");
    let has = |text: &str| assert!(shown.contains(&escaped(text)), "`{text}` is not in the page: {form}");
    for stage in expected["stages"].as_array().expect("stages") {
        let text = |name: &str| stage[name].as_str().unwrap_or_default();
        has(text("call"));
        has(text("text").trim_end());
        has(text("message"));
        let state = format!("id=\"stage-{}\" data-state=\"{}\"", text("id"), text("state"));
        assert!(shown.contains(&state), "{state}: {form}");
        for (name, row) in stage["cycles"]["rows"].as_array().into_iter().flatten().map(|row| (&row[0], row))
        {
            let name = name.as_str().expect("a name");
            let count = row[1].as_u64().expect("cycles").to_string();
            let grouped: String = shown.replace('\u{202f}', "");
            let cells = format!("<td class=\"name\">{name}</td><td class=\"number\">{count}</td>");
            assert!(grouped.contains(&cells), "{cells}: {form}");
        }
    }
    for (field, message) in expected["errors"].as_object().into_iter().flatten() {
        assert!(!field.is_empty());
        has(message.as_str().expect("a message"));
    }
    if let Some(svg) = expected["picture"]["svg"].as_str() {
        // The width depends on the window, the cells do not.
        let cells = svg.matches("<rect class=\"cell\"").count();
        assert_eq!(shown.matches("<rect class=\"cell").count(), cells, "{form}");
    }
}

/// Types another element, which is refused, then clicks an address of the fetch.
const TYPES_AND_CLICKS: &str = "
addEventListener('load', () => setTimeout(() => {
  const packet = document.querySelector('input[name=packet]');
  packet.focus();
  packet.value = 'C % 16';
  packet.dispatchEvent(new Event('input', { bubbles: true }));
  setTimeout(() => {
    document.documentElement.dataset.hash = location.hash;
    document.querySelector('input[name=time]').value = 'C / 16';
    packet.dispatchEvent(new Event('input', { bubbles: true }));
    setTimeout(() => document.querySelectorAll('#stage-fetch .places button')[2].click(), 500);
  }, 500);
}, 500));
";

#[test]
fn a_page_in_a_browser() {
    let folder = folder("page");
    let file = folder.join("page.html");
    let output = visa(&["-o", file.to_str().expect("text")], None);
    if !output.status.success() {
        let said = refused(&output);
        assert!(said.contains("`rustup target add wasm32-unknown-unknown`"), "{said}");
        println!("skipped: {said}");
        return;
    }
    let page = std::fs::read_to_string(&file).expect("it is written");
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
    for other in ["http:", "https:", " src=", "import(", "fetch(\""] {
        let found = page.split_once("<script type=\"application/wasm\"").expect("a module").0.contains(other);
        assert!(!found, "the page loads nothing: {other}");
    }
    let examples: Value = serde_json::from_str(EXAMPLES).expect("JSON");
    let forms: Vec<&Value> =
        examples.as_array().expect("examples").iter().map(|example| &example["form"]).collect();
    // Without a link, the page has the first example.
    let Some(shown) = rendered(&page, "") else {
        println!("skipped: none of {BROWSERS:?} can be started here");
        return;
    };
    check(&shown, forms[0]);
    for form in &forms[1..] {
        check(&rendered(&page, &link(form)).expect("it started before"), form);
    }
    // Texts that cannot be read, and markup in them.
    let mut wrong = forms[0].clone();
    for (field, text) in
        [("element", "C, <b>"), ("slice", "Q"), ("to", "i3"), ("context", "main"), ("draw", "slice")]
    {
        wrong[field] = json!(text);
    }
    let shown = rendered(&page, &link(&wrong)).expect("it started before");
    check(&shown, &wrong);
    assert!(shown.contains("cannot be read: element, slice, to</p>"));
    // Typed text is answered, and is in the link; an address is shown in the layout.
    let script = format!("<script>{TYPES_AND_CLICKS}</script></body>");
    let shown = rendered(&page.replace("</body>", &script), "").expect("it started before");
    let mut form = forms[0].clone();
    [form["packet"], form["time"]] = [json!("C % 16"), json!("C / 16")];
    check(&shown, &form);
    assert!(
        shown.contains("packet=C+%25+16&amp;") && shown.contains("data-hash=\"#axes="),
        "{}",
        &shown[..400]
    );
    let read = shown.matches("<rect class=\"cell read\"").count();
    assert_eq!(read, 16, "the third fetch reads 16 elements");
    let _ = std::fs::remove_dir_all(&folder);
}
