//! A ledger of the test's own, with a home, and the program that works on it.

use handoff_ledger::event::{Body, Event, SessionOpened};
use handoff_ledger::format;
use handoff_ledger::key::SigningKey;
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Read, Record, Store, StoreError};
use handoff_ledger::types::{Ascending, Digest};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A home and a folder of work of their own.
pub struct World {
    pub folder: TempDir,
}

/// What the program answered.
pub struct Answer {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn of(output: Output) -> Answer {
        Answer {
            exit: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one document, whose exit is that of the process.
    pub fn json(&self) -> Value {
        assert_eq!(
            self.stdout.lines().count(),
            1,
            "{}{}",
            self.stdout,
            self.stderr
        );
        let document: Value = serde_json::from_str(&self.stdout).unwrap();
        assert_eq!(document["exit"], self.exit, "{}", self.stdout);
        document
    }
}

impl World {
    pub fn new() -> World {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        World { folder }
    }

    /// A ledger with one sealed session: an axis, a claim that needs it, and a flag.
    pub fn sealed() -> World {
        let world = World::new();
        world.write("host.txt", "stage-1\n");
        for words in [
            &["init", "--name", "demo"][..],
            &["session", "open", "--agent", "first"],
            &[
                "axis",
                "db.host",
                "--class",
                "reachability",
                "--",
                "cat",
                "host.txt",
            ],
            &[
                "claim",
                "db-safe",
                "the database is \u{1b}[31mstaging",
                "--needs",
                "db.host",
                "--expect",
                "value~stage",
                "--",
                "cat",
                "host.txt",
            ],
            &[
                "flag",
                "orders",
                "`orders` exists",
                "--because",
                "openapi line 88",
                "--needs",
                "db.host",
                "--expect",
                "value=yes",
                "--",
                "cat",
                "orders.txt",
            ],
            &["ambient", "--none"],
            &["seal"],
        ] {
            let answer = world.run(words);
            assert_eq!(
                answer.exit, 0,
                "{words:?}: {}{}",
                answer.stdout, answer.stderr
            );
        }
        world
    }

    /// The same, inherited and reverified by a second session, whose number is told.
    pub fn resumed() -> (World, String) {
        let world = World::sealed();
        let session = world.json(&["resume", "--agent", "second"])["session"].to_string();
        (world, session)
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn ledger(&self) -> PathBuf {
        self.work().join(".handoff/ledger.db")
    }

    /// The folder of this machine's views.
    pub fn views(&self) -> PathBuf {
        self.folder.path().join("home/.local/state/handoff/views")
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.work().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_handoff"));
        for variable in ["LEDGER", "KEY", "SESSION", "TRUST", "EXPECT"] {
            program.env_remove(format!("HANDOFF_{variable}"));
        }
        for variable in ["DATA", "STATE", "CONFIG"] {
            program.env_remove(format!("XDG_{variable}_HOME"));
        }
        program
            .env("HOME", self.folder.path().join("home"))
            .current_dir(self.work())
            .stdin(Stdio::null())
            .args(words);
        program
    }

    pub fn run(&self, words: &[&str]) -> Answer {
        Answer::of(self.command(words).output().unwrap())
    }

    pub fn json(&self, words: &[&str]) -> Value {
        self.run(&[words, &["--json"]].concat()).json()
    }

    pub fn head(&self) -> String {
        self.run(&["head"]).stdout.trim().to_owned()
    }

    /// Changes the ledger file's bytes wherever they spell `from`.
    pub fn alter(&self, from: &str, to: &str) {
        assert_eq!(from.len(), to.len());
        let mut bytes = std::fs::read(self.ledger()).unwrap();
        let places: Vec<usize> = (0..bytes.len() - from.len())
            .filter(|at| bytes[*at..].starts_with(from.as_bytes()))
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        std::fs::write(self.ledger(), bytes).unwrap();
    }

    /// Appends a session opened by a key that the ledger does not know.
    pub fn intrude(&self) {
        let mut ledger = SqliteLedger::open(&self.ledger(), WAIT).unwrap();
        let (seq, newest) = ledger.head().unwrap().unwrap();
        let stranger = SigningKey::from_seed([9; 32]);
        let event = Event {
            seq: seq.next(),
            prev: newest.leaf(),
            key: stranger.public(),
            session: handoff_ledger::types::Seq::ZERO,
            time: "2026-01-01T00:00:00.000Z".parse().unwrap(),
            body: Body::SessionOpened(SessionOpened {
                agent: "stranger".parse().unwrap(),
                inherits: Ascending::default(),
                purpose: None,
                scope: Digest([1; 32]),
            }),
        };
        let bytes = format::encode(&event).unwrap();
        let record = [&stranger.sign(&bytes)[..], &bytes].concat();
        ledger
            .transact(|tx| -> Result<(), StoreError> { tx.append(&[Record(record)], &[]) })
            .unwrap();
    }
}

/// The texts of a list.
pub fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each.as_str().unwrap())
        .collect()
}
