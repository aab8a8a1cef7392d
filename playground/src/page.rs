//! The page: one file with the module in it. It loads nothing: its policy forbids it to the browser.

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The forms that the page offers, as JSON: `name`, `text`, and `form`, an object of texts.
pub const EXAMPLES: &str = include_str!("page/examples.json");

/// The page around a WebAssembly module.
pub fn page(module: &[u8]) -> String {
    let module = base64(module);
    let parts = [("@style@", STYLE), ("@examples@", EXAMPLES), ("@module@", &module), ("@script@", SCRIPT)];
    let (mut page, mut rest) = (String::new(), PAGE);
    // In the order of the page, so that no mark is searched in a text that was put in.
    for (mark, part) in parts {
        let (before, after) = rest.split_once(mark).expect("the page has each mark once, in order");
        page += before;
        page += part;
        rest = after;
    }
    page + rest
}

/// Bytes as text: 6 bits a letter, `=` in the place of the last ones if bytes are missing.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, k| bits << 8 | u32::from(group.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * k) & 63) as usize]);
            text.push(if k <= group.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648, section 10.
    #[test]
    fn base64_of_all_lengths() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text, "{bytes}");
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }

    #[test]
    fn the_page_has_all_of_its_parts() {
        let page = page(b"@script@");
        assert!(page.contains("QHNjcmlwdEA="));
        for mark in ["@style@", "@examples@", "@module@", "@script@"] {
            assert!(!page.contains(mark), "{mark}");
        }
    }
}
