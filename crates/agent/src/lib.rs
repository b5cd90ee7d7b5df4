//! An agent of our own: [`tools`], the built-in tools; [`turn`], how a request is worked on;
//! [`context`], what the model reads; [`provider`], the models; [`mcp`], the tools of MCP servers;
//! [`workers`], who does an item that the agent delegates; [`session`], all of it together; [`leader`], a
//! session that the program of another agent leads; [`team`], several agents that a person talks to;
//! [`files`], the files that a person can name; [`models`], which models can be used.
//!
//! This is the only crate that opens connections to other machines, and only `provider` and `mcp` do so.
//! Nothing here decides whether a call may run: that is policy's, in `sched`.

#![forbid(unsafe_code)]

pub mod config;
pub mod context;
pub mod files;
pub mod leader;
pub mod mcp;
pub mod models;
pub mod provider;
pub mod session;
pub mod team;
pub mod tools;
pub mod turn;
pub mod workers;
