//! `mcp`: a client of the Model Context Protocol at standard input and output.

use crate::cli::args;
use crate::cli::report::{Exit, Failure};
use crate::mcp;
use std::ffi::OsString;

/// Serves until the client leaves. Every call runs with the options that this command was typed
/// with.
pub(super) fn run() -> Result<Exit, Failure> {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let mut options = args::options(&argv)?;
    options.retain(|word| word != "--json");
    let served = mcp::serve(options.into_iter().map(OsString::from).collect());
    served.map(|()| Exit::Yes).map_err(|error| {
        Failure::environment("io", format!("the client cannot be served: {error}"))
            .next("handoff doctor")
    })
}
