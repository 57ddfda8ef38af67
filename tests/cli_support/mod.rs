//! A scratch machine on which agents, each with a home and a key of its own, drive the real program.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "shared by several test programs, of which none uses all; the lints know tests by \
              their attribute, which helpers do not have"
)]

pub mod forge;
pub mod next;
pub mod tampering;

use handoff_ledger::home::keys;
use handoff_ledger::key::SigningKey;
use handoff_ledger::types::PublicKey;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything here may take before it counts as hung.
pub const HANG: Duration = Duration::from_secs(60);

/// A scratch folder that holds projects and homes.
pub struct Machine {
    folder: TempDir,
}

/// A user of the machine: a home, a key, the folder it works in, and its environment.
#[derive(Clone)]
pub struct Agent {
    pub home: PathBuf,
    pub cwd: PathBuf,
    pub variables: Vec<(String, OsString)>,
    pub seed: [u8; 32],
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The one document on standard output; its `exit` is the exit.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one document: {self:?}");
        let document: Value = serde_json::from_str(&self.stdout).unwrap();
        assert_eq!(document["exit"], self.code, "{self:?}");
        assert!(document["schema"].is_string(), "{self:?}");
        next::check_document(&document);
        document
    }
}

impl Machine {
    pub fn new() -> Machine {
        let folder = TempDir::new().unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("four.txt"), "4\n").unwrap();
        std::fs::write(project.join("five.txt"), "5\n").unwrap();
        Machine { folder }
    }

    /// A path on the machine.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where agents work unless they say otherwise.
    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// The ledger file of the project.
    pub fn ledger(&self) -> PathBuf {
        self.project().join(".handoff/ledger.db")
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.project().join(name), text).unwrap();
    }

    /// Writes a program of the project.
    pub fn program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, text);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.project().join(name), executable).unwrap();
    }

    /// An agent with a home and a key of its own, in the project.
    pub fn agent(&self, name: &str) -> Agent {
        let home = self.path(&format!("home-{name}"));
        let folder = home.join(".local/share/handoff/keys");
        std::fs::create_dir_all(&folder).unwrap();
        let mut seed = [0; 32];
        for (place, byte) in seed.iter_mut().zip(name.bytes().cycle()) {
            *place = byte;
        }
        keys::create(&folder.join("default.pem"), seed).unwrap();
        Agent {
            home,
            cwd: self.project(),
            variables: Vec::new(),
            seed,
        }
    }

    /// An agent that has made the project's ledger, and is its root.
    pub fn root(&self, options: &str) -> Agent {
        let root = self.agent("root");
        root.ok(&format!("init {options}"));
        root
    }

    /// A recorder that trusts `root` and is authorised by it.
    pub fn recorder(&self, root: &Agent, name: &str) -> Agent {
        let mut agent = self.agent(name);
        agent.set("HANDOFF_TRUST", root.public().to_string());
        root.ok(&format!("key authorize {} --label {name}", agent.public()));
        agent
    }

    /// The bytes of the ledger file.
    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.ledger()).unwrap()
    }

    /// Whether a text stands anywhere in the ledger's folder.
    pub fn holds(&self, text: &str) -> bool {
        let folder = self.ledger().parent().unwrap().to_owned();
        let files = std::fs::read_dir(folder).unwrap();
        files.into_iter().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        })
    }
}

impl Agent {
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// The same agent in another folder.
    pub fn within(&self, folder: &Path) -> Agent {
        Agent {
            cwd: folder.to_owned(),
            ..self.clone()
        }
    }

    pub fn key(&self) -> SigningKey {
        SigningKey::from_seed(self.seed)
    }

    pub fn public(&self) -> PublicKey {
        self.key().public()
    }

    /// The program with these words; a command line is split at spaces outside of single quotes.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handoff"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .envs(self.variables.iter().cloned())
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .args(words(line));
        command
    }

    pub fn start(&self, line: &str) -> Child {
        self.command(line).spawn().unwrap()
    }

    pub fn run(&self, line: &str) -> Ran {
        let started = Instant::now();
        let output = self.command(line).output().unwrap();
        assert!(started.elapsed() < HANG, "{line} hung");
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        next::check_text(&ran.stdout);
        next::check_text(&ran.stderr);
        ran
    }

    /// The document of a command that must end with `code`.
    pub fn ends(&self, code: i32, line: &str) -> Value {
        let ran = self.run(&format!("--json {line}"));
        assert_eq!(ran.code, code, "{line}: {ran:?}");
        ran.json()
    }

    /// The document of a command that must succeed.
    pub fn ok(&self, line: &str) -> Value {
        self.ends(0, line)
    }

    /// The document of a command that must say no.
    pub fn no(&self, line: &str) -> Value {
        self.ends(1, line)
    }

    /// The code of the failure of a command that must say no.
    pub fn refused(&self, line: &str) -> String {
        let document = self.no(line);
        let code = document["error"]["code"].as_str();
        code.unwrap_or_else(|| panic!("no error: {document}"))
            .to_owned()
    }

    /// The bodies of the events of a kind.
    pub fn bodies(&self, kind: &str) -> Vec<Value> {
        let log = self.run(&format!("log --json --kind {kind}"));
        let lines = log.stdout.lines();
        let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.map(|event| event["body"].clone()).collect()
    }

    /// Opens a session and returns its number.
    pub fn open(&self, agent: &str) -> u64 {
        self.ok(&format!("session open --agent {agent}"))["session"]
            .as_u64()
            .unwrap()
    }

    /// Declares that nothing may drift, and seals; returns the session.
    pub fn seal(&self) -> u64 {
        self.ok("ambient --none");
        self.ok("seal")["session"].as_u64().unwrap()
    }

    /// The same agent, speaking for one session.
    pub fn of(&self, session: u64) -> Agent {
        let mut agent = self.clone();
        agent.set("HANDOFF_SESSION", session.to_string());
        agent
    }
}

/// Waits until a file is there.
pub fn wait_for(path: &Path) {
    let until = Instant::now() + HANG;
    while !path.exists() {
        assert!(Instant::now() < until, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a process alone.
pub fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The words of a command line: split at spaces, but not within single quotes.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut begun) = (false, false);
    for character in line.chars() {
        match character {
            '\'' => {
                quoted = !quoted;
                begun = true;
            }
            ' ' if !quoted => {
                if begun {
                    words.push(String::new());
                }
                begun = false;
            }
            other => {
                words.last_mut().unwrap().push(other);
                begun = true;
            }
        }
    }
    if !begun {
        words.pop();
    }
    words
}

/// The admissible claims of a document, ascending.
pub fn admissible(document: &Value) -> Vec<&str> {
    let ids = document["admissible"].as_array().unwrap();
    ids.iter().map(|id| id.as_str().unwrap()).collect()
}

/// The blocked claims of a document, ascending.
pub fn blocked(document: &Value) -> Vec<&str> {
    let blocked = document["blocked"].as_array().unwrap();
    let ids = blocked.iter().map(|entry| entry["claim"].as_str().unwrap());
    ids.collect()
}

/// The provisional claims of a document.
pub fn provisional(document: &Value) -> Vec<&str> {
    let entries = document["provisional"].as_array().unwrap();
    let ids = entries.iter().map(|entry| entry["claim"].as_str().unwrap());
    ids.collect()
}

/// Why a claim of a document is blocked: the first reason.
pub fn because<'a>(document: &'a Value, claim: &str) -> &'a Value {
    let blocked = document["blocked"].as_array().unwrap();
    let entry = blocked.iter().find(|entry| entry["claim"] == claim);
    &entry.unwrap_or_else(|| panic!("{claim} is not blocked: {document}"))["because"][0]
}

/// The verdict and the reason of an axis of a document.
pub fn verdict<'a>(document: &'a Value, axis: &str) -> (&'a str, &'a str) {
    let axes = document["axes"].as_array().unwrap();
    let found = axes.iter().find(|entry| entry["axis"] == axis);
    let found = found.unwrap_or_else(|| panic!("no axis {axis}: {document}"));
    let reason = found["reason"].as_str().unwrap_or("");
    (found["verdict"].as_str().unwrap(), reason)
}

/// The error code of a document.
pub fn code(document: &Value) -> &str {
    document["error"]["code"].as_str().unwrap()
}
