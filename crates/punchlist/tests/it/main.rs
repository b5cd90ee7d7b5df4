//! The program as its users meet it: the real binary, in a world of its own.

mod archive;
mod bad_input;
mod help;
mod init;
mod machine;
mod many;
mod places;
mod stories;
mod tool;
mod world;
