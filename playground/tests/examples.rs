//! Forms of the page, and what is derived from them.

use furiosa_visa_playground::{EXAMPLES, answer};
use serde_json::Value;
#[test]
fn probe() {
    let examples: Value = serde_json::from_str(EXAMPLES).expect("JSON");
    for e in examples.as_array().unwrap() {
        println!("=== {}", e["name"]);
        let a: Value = serde_json::from_str(&answer(&e["form"].to_string())).unwrap();
        println!("{:#}", a["errors"]);
        for s in a["stages"].as_array().unwrap() {
            println!("--- {} {} {}\n{}\n{}\n{} {}", s["id"], s["state"], s["call"], s["message"].as_str().unwrap_or(""), s["text"].as_str().unwrap_or(""), s["cycles"], s["addresses"].to_string().chars().take(200).collect::<String>());
        }
        println!("svg {} {}", a["picture"]["svg"].as_str().map_or(0, str::len), a["picture"]["error"]);
    }
}
