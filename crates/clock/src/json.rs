//! Objects of JSON.

use serde_json::{Map, Value};

/// An object of these members. Not generic, so that maps are compiled once.
pub fn object(members: Vec<(String, Value)>) -> Value {
    let mut object = Map::new();
    for (name, value) in members {
        object.insert(name, value);
    }
    Value::Object(object)
}
