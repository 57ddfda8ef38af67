//! The hooks of agents' command lines: what they ask, what they are answered, which tool calls need
//! which claims, and how their settings come to name this program.
//!
//! ```text
//!  payload.rs  bytes ──▶ Payload{client, event} ──┐
//!  shell.rs    a command line in its parts        ├─▶ cli/commands/hook/ ──▶ answer.rs
//!  guards.rs   which claims a tool call needs ────┘         │              bytes, an exit
//!  found.rs    where the guards lie, and whose they are     ▼
//!  settings.rs this program in a client's settings       fired.rs  what fired last
//! ```
//!
//! What each client documents of its protocol is cited where it is relied on, in `client.rs`.

pub mod answer;
pub mod client;
pub mod fired;
pub mod found;
pub mod guards;
pub mod payload;
pub mod settings;
pub mod shell;
