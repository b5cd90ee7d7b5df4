//! Every written form of a plan: what models, people and programs read and write.
//!
//! Pure: bytes and values in, bytes and values out. Foreign shapes stop here and become the model's
//! commands; no rule about plans lives here.

#![forbid(unsafe_code)]

pub mod dialect;
pub mod hook;
pub mod planfile;
pub mod prompt;
pub mod text;
pub mod view;
