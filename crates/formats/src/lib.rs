//! All text formats of a plan: what models, people and programs read and write.
//!
//! Pure: bytes and values in, bytes and values out. Formats of other programs are converted here to
//! operations of the model. No rule of the plan is here.

#![forbid(unsafe_code)]

pub mod api;
pub mod custom_command;
pub mod dialect;
pub mod hook;
pub mod planfile;
pub mod prompt;
pub mod text;
pub mod typed;
pub mod view;

// So that the example in the README can name this crate as others do.
#[cfg(test)]
extern crate self as punchlist_formats;
#[cfg(test)]
#[path = "../examples/tool_call.rs"]
mod tool_call_example;

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs_and_the_readme_shows_it() {
        super::tool_call_example::main();
        let readme = include_str!("../README.md");
        assert!(readme.contains(include_str!("../examples/tool_call.rs")));
    }
}
