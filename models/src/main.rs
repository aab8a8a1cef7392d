//! `furiosa-visa-models`: text of a language model.

fn main() {}
