//! `doctor`: whether this machine can keep a ledger, and what to do about what is wrong.
//!
//! Nothing is changed: neither the ledger nor what is remembered of it. This machine's own ledger
//! is opened as every command opens it, which undoes what an interrupted writer left; any other
//! file is evidence, and looked at by a copy. What is tried out is tried beside an own ledger, in a
//! scratch folder that is removed.

mod custody;
mod ledger;
mod place;
mod write_path;

use crate::cli::args::Common;
use crate::cli::context::{self, Whose};
use crate::cli::failures::NO_LEDGER;
use crate::cli::output::Output;
use crate::cli::report::{Exit, Failure};
use crate::store::sqlite;
use serde_json::json;

const SCHEMA: &str = "handoff.doctor.v1";

/// What is looked at; the names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Program,
    Home,
    Key,
    KeyCustody,
    KeyAuthority,
    Ledger,
    Memory,
    View,
    Rollback,
    Pins,
    Clock,
    Folder,
    HardLinks,
    SideFiles,
    FileSystem,
    FreeSpace,
    WritePath,
}

impl Name {
    fn as_str(self) -> &'static str {
        match self {
            Name::Program => "program",
            Name::Home => "home",
            Name::Key => "key",
            Name::KeyCustody => "key_custody",
            Name::KeyAuthority => "key_authority",
            Name::Ledger => "ledger",
            Name::Memory => "memory",
            Name::View => "view",
            Name::Rollback => "rollback",
            Name::Pins => "pins",
            Name::Clock => "clock",
            Name::Folder => "folder",
            Name::HardLinks => "hard_links",
            Name::SideFiles => "side_files",
            Name::FileSystem => "file_system",
            Name::FreeSpace => "free_space",
            Name::WritePath => "write_path",
        }
    }
}

/// How it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// As it should be.
    Ok,
    /// It works, and should be known of.
    Warn,
    /// Commands will end with this exit.
    Failed(Exit),
    /// There is nothing to look at.
    Skipped,
}

impl Found {
    fn as_str(self) -> &'static str {
        match self {
            Found::Ok => "ok",
            Found::Warn => "warn",
            Found::Failed(_) => "failed",
            Found::Skipped => "skipped",
        }
    }
}

/// One thing that was looked at.
struct Check {
    name: Name,
    found: Found,
    detail: String,
    next: Option<String>,
}

impl Check {
    fn new(name: Name, found: Found, detail: impl Into<String>) -> Check {
        Check {
            name,
            found,
            detail: detail.into(),
            next: None,
        }
    }

    fn ok(name: Name, detail: impl Into<String>) -> Check {
        Check::new(name, Found::Ok, detail)
    }

    fn warn(name: Name, detail: impl Into<String>, next: impl Into<String>) -> Check {
        Check::new(name, Found::Warn, detail).next(next)
    }

    fn skipped(name: Name, detail: impl Into<String>) -> Check {
        Check::new(name, Found::Skipped, detail)
    }

    /// What a command that meets it would fail with.
    fn failed(name: Name, failure: Failure) -> Check {
        Check {
            name,
            found: Found::Failed(failure.exit),
            detail: failure.message,
            next: failure.next,
        }
    }

    fn next(self, next: impl Into<String>) -> Check {
        Check {
            next: Some(next.into()),
            ..self
        }
    }
}

/// Looks at everything. Exit 0 if nothing failed, else that of the first that did: what the
/// commands that need it end with.
pub(super) fn run(common: &Common, output: &mut Output) -> Result<Exit, Failure> {
    let folders = context::folders(common);
    let cwd = context::current_folder(common)?;
    let mut checks = vec![program()];
    checks.push(custody::home(&folders));
    let (key_checks, signer) = custody::key(common, &folders);
    checks.extend(key_checks);
    match context::find(common, &cwd) {
        Ok(path) => {
            // What lies beside the file may be gone once it was opened.
            let place = place::of_ledger(&path);
            let (found, whose) = ledger::checks(common, &folders, &path, signer.as_ref());
            checks.extend(found);
            checks.extend(place);
            checks.push(match whose {
                Whose::Own => write_path::check(path.parent().unwrap_or(&cwd)),
                Whose::Unknown => {
                    let detail = "it is not this machine's own ledger: nothing is written there";
                    Check::skipped(Name::WritePath, detail)
                }
            });
        }
        Err(failure) => {
            let none = failure.code == NO_LEDGER;
            checks.push(match none {
                true => Check::skipped(Name::Ledger, failure.message).next("handoff init"),
                false => Check::failed(Name::Ledger, failure),
            });
            checks.push(ledger::clock_alone());
            checks.extend(place::of_folder(&cwd));
            checks.push(write_path::check(&cwd));
        }
    }
    print(&checks, output)
}

fn program() -> Check {
    let detail = format!(
        "handoff {}, SQLite {}",
        env!("CARGO_PKG_VERSION"),
        sqlite::version()
    );
    Check::ok(Name::Program, detail)
}

fn print(checks: &[Check], output: &mut Output) -> Result<Exit, Failure> {
    let count = |wanted: &str| {
        let found = checks.iter().filter(|check| check.found.as_str() == wanted);
        found.count()
    };
    for check in checks {
        let found = format!("{:<7}", check.found.as_str());
        output.verdict(
            &found,
            &format!("{}: {}", check.name.as_str(), check.detail),
        );
        if let (Some(next), true) = (&check.next, check.found != Found::Ok) {
            output.line(&format!("        next: {next}"));
        }
    }
    let (warned, failed) = (count("warn"), count("failed"));
    output.line(&format!(
        "{} looked at, {warned} to be known of, {failed} failed",
        checks.len()
    ));
    let exit = checks.iter().find_map(|check| match check.found {
        Found::Failed(exit) => Some(exit),
        Found::Ok | Found::Warn | Found::Skipped => None,
    });
    let exit = exit.unwrap_or(Exit::Yes);
    let told: Vec<_> = (checks.iter())
        .map(|check| {
            json!({
                "check": check.name.as_str(),
                "result": check.found.as_str(),
                "detail": check.detail,
                "next": check.next,
            })
        })
        .collect();
    let body = json!({ "checks": told, "warned": warned, "failed": failed });
    output.document(SCHEMA, exit, body);
    Ok(exit)
}
