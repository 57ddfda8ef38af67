//! The program `handoff`.

use std::process::ExitCode;

fn main() -> ExitCode {
    handoff_ledger::cli::main()
}
