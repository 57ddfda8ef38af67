//! A machine for tests: a folder that holds a ledger, and people with homes of their own.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use handoff_ledger::append::Ledger;
use handoff_ledger::home::folders::Folders;
use handoff_ledger::home::keys;
use handoff_ledger::home::view::{self, OwnLedger};
use handoff_ledger::key::SigningKey;
use handoff_ledger::store::Read;
use handoff_ledger::store::index::IndexFile;
use handoff_ledger::store::sqlite::SqliteLedger;
use handoff_ledger::types::{Leaf, LedgerId, Seq};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How long a command of a test may wait for a lock: the machine that runs the tests may be busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Records an axis that is held wherever the tests run.
pub const OS_AXIS: [&str; 6] = [
    "axis",
    "os",
    "--class",
    "execution_topology",
    "--check",
    "os",
];

/// A scratch folder with a project in it, and a first person who may own its ledger.
pub struct Machine {
    scratch: tempfile::TempDir,
    /// The folder that commands run in.
    pub project: PathBuf,
}

/// A person: a home folder, in which keys, pins and views are.
#[derive(Clone)]
pub struct Person {
    pub home: PathBuf,
    project: PathBuf,
}

/// A copy of a ledger in somebody else's hands.
pub struct Handed {
    pub auditor: Person,
    /// Where the copy is.
    pub folder: PathBuf,
    pub file: PathBuf,
    /// The key that the ledger's owner would give.
    pub root: String,
}

/// What a command answered.
#[derive(Debug)]
pub struct Answer {
    pub exit: Option<i32>,
    pub json: Value,
    pub stderr: String,
}

impl Machine {
    pub fn new() -> Machine {
        let scratch = tempfile::tempdir().unwrap();
        let project = scratch.path().join("project");
        std::fs::create_dir(&project).unwrap();
        // What claims are shown by: `cat answer` is not constant, as a file may change.
        std::fs::write(project.join("answer"), "4\n").unwrap();
        Machine { scratch, project }
    }

    /// A machine with a ledger, and the person who made it.
    pub fn with_ledger() -> (Machine, Person) {
        let machine = Machine::new();
        let root = machine.person("root");
        root.does(&["init"]);
        (machine, root)
    }

    pub fn person(&self, name: &str) -> Person {
        let home = self.scratch.path().join(name);
        std::fs::create_dir_all(&home).unwrap();
        Person {
            home,
            project: self.project.clone(),
        }
    }

    /// Copies the ledger of `owner` to a folder elsewhere, for an auditor who knows nothing of it.
    pub fn hands_over(&self, owner: &Person) -> Handed {
        let folder = self.scratch.path().join("handed");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("copy.db");
        std::fs::copy(self.file(), &file).unwrap();
        Handed {
            auditor: self.person("auditor"),
            folder,
            file,
            root: owner.key().public().to_string(),
        }
    }

    pub fn file(&self) -> PathBuf {
        self.project.join(".handoff/ledger.db")
    }

    pub fn journal(&self) -> PathBuf {
        self.project.join(".handoff/ledger.db-journal")
    }

    pub fn store(&self) -> SqliteLedger {
        SqliteLedger::open(&self.file(), PATIENCE).unwrap()
    }

    pub fn id(&self) -> LedgerId {
        LedgerId(self.store().get(Seq::ZERO).unwrap().unwrap().leaf().0)
    }

    /// Verifies the whole chain from nothing, and returns each event's leaf by its seq, which are
    /// dense.
    pub fn walk(&self) -> Vec<Leaf> {
        let fresh = self.scratch.path().join("fresh-index.db");
        IndexFile::discard(&fresh).unwrap();
        let index = IndexFile::open(&fresh).unwrap();
        let ledger = Ledger::open(self.store(), index).unwrap();
        let head = ledger.head().unwrap();
        let mut leaves = Vec::new();
        ledger
            .replay(head.seq, |event, refusal, record| {
                assert_eq!(refusal, None);
                assert_eq!(event.leaf(), record.leaf());
                leaves.push(event.leaf());
            })
            .unwrap();
        assert_eq!(u64::try_from(leaves.len()).unwrap(), head.seq.0 + 1);
        leaves
    }
}

impl Person {
    pub fn at(home: &Path, project: &Path) -> Person {
        Person {
            home: home.to_owned(),
            project: project.to_owned(),
        }
    }

    pub fn folders(&self) -> Folders {
        Folders::of_variables(|name| (name == "HOME").then(|| self.home.clone().into_os_string()))
    }

    /// The view of a ledger.
    pub fn view(&self, id: &LedgerId) -> PathBuf {
        self.folders().view(id).unwrap()
    }

    /// The ledger, through this person's view.
    pub fn ledger(&self, file: &Path) -> OwnLedger {
        view::open(file, &self.folders(), PATIENCE).unwrap()
    }

    pub fn key(&self) -> SigningKey {
        let path = keys::default_path(&self.folders().keys().unwrap());
        keys::read(&path).unwrap()
    }

    /// Makes this person's key, of a seed.
    pub fn make_key(&self, seed: u8) -> SigningKey {
        let path = keys::default_path(&self.folders().keys().unwrap());
        keys::create(&path, [seed; 32]).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handoff"));
        command
            .args(["--json", "--wait", "120s"])
            .args(arguments)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub fn does(&self, arguments: &[&str]) -> Value {
        let answer = self.run(arguments);
        assert_eq!(answer.exit, Some(0), "{arguments:?}: {answer:?}");
        answer.json
    }

    /// Opens a session that inherits nothing in particular, and returns its number.
    pub fn opens(&self, agent: &str) -> String {
        self.does(&["session", "open", "--agent", agent])["session"].to_string()
    }

    /// Records the claim `good`, which needs the axis `os`.
    pub fn concludes_good(&self) {
        self.does(&OS_AXIS);
        self.does(&[
            "claim",
            "good",
            "it is good",
            "--needs",
            "os",
            "--expect",
            "value=4",
            "--",
            "cat",
            "answer",
        ]);
    }
}

impl Answer {
    pub fn of(output: Output) -> Answer {
        let text = String::from_utf8(output.stdout).unwrap();
        Answer {
            exit: output.status.code(),
            json: serde_json::from_str(&text).unwrap_or(Value::Null),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The code of the error, if it is one.
    pub fn error(&self) -> &str {
        self.json["error"]["code"].as_str().unwrap_or_default()
    }
}

/// The head that a document names: its seq and leaf.
pub fn head(document: &Value) -> (Seq, String) {
    let head = &document["head"];
    let seq = Seq(head["seq"].as_u64().unwrap());
    (seq, head["hash"].as_str().unwrap().to_owned())
}
