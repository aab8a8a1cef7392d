//! The functions of the WebAssembly module.
//!
//! Texts go in and out byte by byte, so that no address is passed: `push` the bytes of the form, call `answer`, which gives the
//! number of bytes of the answer, and read each by `byte`. A module answers once; the page makes a new one for each form.
//! If a rule panics, the module stops, and `length` is the number of bytes of the message.

// A module has no other way to name a function for its host. None of them takes or gives an address.
#![expect(unsafe_code, reason = "the attribute that exports a name")]

use std::cell::RefCell;

thread_local! {
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Adds a byte to the form.
#[unsafe(no_mangle)]
extern "C" fn push(byte: u8) {
    BYTES.with_borrow_mut(|bytes| bytes.push(byte));
}

/// Answers the form. Returns the number of bytes of the answer.
#[unsafe(no_mangle)]
extern "C" fn answer() -> usize {
    std::panic::set_hook(Box::new(|panic| BYTES.set(panic.to_string().into_bytes())));
    let form = String::from_utf8_lossy(&BYTES.take()).into_owned();
    BYTES.set(crate::answer(&form).into_bytes());
    length()
}

/// The number of bytes of the answer, or of the message of a panic.
#[unsafe(no_mangle)]
extern "C" fn length() -> usize {
    BYTES.with_borrow(Vec::len)
}

/// A byte of the answer. 0 behind its end.
#[unsafe(no_mangle)]
extern "C" fn byte(place: usize) -> u8 {
    BYTES.with_borrow(|bytes| bytes.get(place).copied().unwrap_or(0))
}
