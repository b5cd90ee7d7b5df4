//! The binary. fn main.
fn main() {}
