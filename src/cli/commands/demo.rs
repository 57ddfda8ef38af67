//! `demo`: a whole handoff between two sessions, with real probes, in a folder of its own.
//!
//! Every step is the program's own command line, run as a user would type it; only the folder and
//! the user's folders are the demo's.

use super::super::args::{self, Demo, Place};
use super::super::output::{Format, Output};
use super::super::quote::shell_quoted;
use super::super::report::{Exit, Failure};
use crate::home::folders::Folders;
use crate::home::paths::{LEDGER_FILE, LEDGER_FOLDER};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A step of the demo.
enum Step {
    /// What happens, for the reader.
    Say(&'static str),
    /// A file of the demo's project is written.
    Write {
        file: &'static str,
        text: &'static str,
    },
    /// A command is typed, and ends with this exit.
    Type {
        words: &'static [&'static str],
        exit: Exit,
    },
}

use Step::{Say, Type, Write};

const TOOL: &str = "#!/bin/sh\n\
    case \"$1\" in\n\
    --version) echo 'tool 1.4.2' ;;\n\
    build) echo 'built: 12 targets' ;;\n\
    health) cat api-health ;;\n\
    esac\n";

/// The handoff, from the first command to the last.
const STEPS: &[Step] = &[
    Say("A project: a tool, a database host in a file, and an API that is not up yet."),
    Write {
        file: "tool",
        text: TOOL,
    },
    Write {
        file: "db-host",
        text: "stage-1\n",
    },
    Write {
        file: "api-health",
        text: "starting\n",
    },
    Say("The first session records what it concludes, and the environment that is true in."),
    Type {
        words: &["init"],
        exit: Exit::Yes,
    },
    Type {
        words: &["session", "open", "--agent", "builder"],
        exit: Exit::Yes,
    },
    Type {
        words: &[
            "axis",
            "db.host",
            "--class",
            "reachability",
            "--",
            "cat",
            "db-host",
        ],
        exit: Exit::Yes,
    },
    Type {
        words: &[
            "axis",
            "tool.version",
            "--class",
            "dependency_version",
            "--holds-if",
            "semver=>=1.4, <2",
            "--",
            "./tool",
            "--version",
        ],
        exit: Exit::Yes,
    },
    Type {
        words: &[
            "claim",
            "db-safe",
            "The database may be reset",
            "--needs",
            "db.host",
            "--expect",
            "stdout~^stage-",
            "--",
            "cat",
            "db-host",
        ],
        exit: Exit::Yes,
    },
    Type {
        words: &[
            "claim",
            "builds",
            "The project builds",
            "--needs",
            "tool.version",
            "--expect",
            "stdout~12 targets",
            "--",
            "./tool",
            "build",
        ],
        exit: Exit::Yes,
    },
    Say("One conclusion it cannot verify: it is flagged, with the step that would."),
    Type {
        words: &[
            "flag",
            "api-up",
            "The orders API answers",
            "--because",
            "openapi.yaml names it; it was not up yet",
            "--needs",
            "tool.version",
            "--expect",
            "value=ok",
            "--",
            "./tool",
            "health",
        ],
        exit: Exit::Yes,
    },
    Type {
        words: &["ambient", "--allow", "hostname=every container has its own"],
        exit: Exit::Yes,
    },
    Type {
        words: &["seal"],
        exit: Exit::Yes,
    },
    Say("Between the sessions the environment changes: the file now names production."),
    Write {
        file: "db-host",
        text: "prod-1\n",
    },
    Say("The second session resumes: every inherited axis is probed anew, key by key."),
    Type {
        words: &["resume", "--agent", "successor"],
        exit: Exit::Yes,
    },
    Type {
        words: &["can", "builds"],
        exit: Exit::Yes,
    },
    Type {
        words: &["can", "db-safe"],
        exit: Exit::No,
    },
    Say("It tries to promote what was flagged; the API is still not up, so it stays provisional."),
    Type {
        words: &["promote", "api-up"],
        exit: Exit::No,
    },
    Say("The API comes up."),
    Write {
        file: "api-health",
        text: "ok\n",
    },
    Type {
        words: &["promote", "api-up"],
        exit: Exit::Yes,
    },
    Type {
        words: &["can", "api-up"],
        exit: Exit::Yes,
    },
    Type {
        words: &["ambient", "--none"],
        exit: Exit::Yes,
    },
    Type {
        words: &["seal"],
        exit: Exit::Yes,
    },
    Say("Anyone can verify the whole."),
    Type {
        words: &["verify"],
        exit: Exit::Yes,
    },
];

/// Runs the demo, and leaves its folder to look at. Exit 1 if a step ended otherwise than it
/// should.
pub(super) fn demo(arguments: &Demo, output: &mut Output) -> Result<Exit, Failure> {
    let folder = folder(arguments)?;
    let project = folder.join("project");
    let home = folder.join("home");
    for made in [&project, &home] {
        std::fs::create_dir(made).map_err(|error| cannot("make", made, &error))?;
    }
    let folders = Folders::of_variables(|name| (name == "HOME").then(|| home.clone().into()));
    let place = Place {
        cwd: project.clone(),
        folders,
    };
    let mut typed = Vec::new();
    for step in STEPS {
        match step {
            Say(text) => {
                output.line("");
                output.line(&format!("# {text}"));
            }

            Write { file, text } => write(&project.join(file), text)?,
            Type { words, exit } => {
                let found = type_in(words, &place, output);
                typed.push(json!({ "argv": words, "exit": found.code() }));
                if found != *exit {
                    let line = shell_quoted(words);
                    let message = format!(
                        "handoff {line} ended with {}, not {}",
                        found.code(),
                        exit.code()
                    );
                    return Err(Failure::no("demo", message)
                        .details(json!({ "folder": folder, "steps": typed })));
                }
            }
        }
    }
    Ok(farewell(
        &folder,
        &project.join(LEDGER_FOLDER).join(LEDGER_FILE),
        typed,
        output,
    ))
}

fn farewell(folder: &Path, ledger: &Path, typed: Vec<Value>, output: &mut Output) -> Exit {
    let home = folder.join("home");
    let words = [
        "env",
        &format!("HOME={}", home.display()),
        "handoff",
        "--ledger",
    ];
    let words = words
        .map(str::to_owned)
        .into_iter()
        .chain([ledger.display().to_string()]);
    let look: Vec<String> = words.chain(["log".to_owned()]).collect();
    let next = shell_quoted(&look);
    output.line("");
    output.line(&format!("The ledger stays at {}", ledger.display()));
    output.line(&format!("next: {next}"));
    let body = json!({ "folder": folder, "ledger": ledger, "steps": typed, "next": next });
    output.document("handoff.demo.v1", Exit::Yes, body);
    Exit::Yes
}

/// The folder that was asked for, new or empty; else a new one among the temporary files.
fn folder(arguments: &Demo) -> Result<PathBuf, Failure> {
    let Some(folder) = &arguments.keep else {
        let made = tempfile::Builder::new().prefix("handoff-demo-").tempdir();
        let made = made.map_err(|error| cannot("make", &std::env::temp_dir(), &error))?;
        return Ok(made.keep());
    };
    match std::fs::create_dir(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let mut entries =
                std::fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
            if entries.next().is_some() {
                let message = format!("{} is not empty", folder.display());
                return Err(Failure::usage(message).next("handoff demo --keep ANOTHER"));
            }
        }
        Err(error) => return Err(cannot("make", folder, &error)),
    }
    folder
        .canonicalize()
        .map_err(|error| cannot("find", folder, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment("io", format!("cannot {what} {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| cannot("write", path, &error);
    std::fs::write(path, text).map_err(failed)?;
    let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)
}

/// Runs one command in the demo's place. In JSON the demo is one document, so its commands are
/// mute.
fn type_in(words: &[&str], place: &Place, output: &mut Output) -> Exit {
    output.line(&format!("$ handoff {}", shell_quoted(words)));
    let argv: Vec<OsString> = ["handoff"]
        .iter()
        .chain(words)
        .map(OsString::from)
        .collect();
    let mut mute = Output::mute();
    let said = match output.format() {
        Format::Text => &mut *output,
        Format::Json => &mut mute,
    };
    let ended = args::parse(&argv).and_then(|mut request| {
        request.common.here(place.clone());
        super::run(&request, said)
    });
    match ended {
        Ok(exit) => exit,
        Err(failure) => {
            failure.lines().iter().for_each(|line| said.line(line));
            failure.exit
        }
    }
}
