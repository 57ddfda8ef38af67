//! The commands that read, verify and carry a ledger, driven through the real program.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

use handoff_ledger::event::{Body, Event, SessionOpened};
use handoff_ledger::format;
use handoff_ledger::key::SigningKey;
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Read, Record, Store, StoreError};
use handoff_ledger::types::{Ascending, Digest};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A home and a folder of work of their own.
struct World {
    folder: TempDir,
}

/// What the program answered.
struct Answer {
    exit: i32,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn of(output: Output) -> Answer {
        Answer {
            exit: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one document, whose exit is that of the process.
    fn json(&self) -> Value {
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
    fn new() -> World {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        World { folder }
    }

    /// A ledger with one sealed session: an axis, a claim that needs it, and a flag.
    fn sealed() -> World {
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
    fn resumed() -> (World, String) {
        let world = World::sealed();
        let session = world.json(&["resume", "--agent", "second"])["session"].to_string();
        (world, session)
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn ledger(&self) -> PathBuf {
        self.work().join(".handoff/ledger.db")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.work().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
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

    fn run(&self, words: &[&str]) -> Answer {
        Answer::of(self.command(words).output().unwrap())
    }

    fn json(&self, words: &[&str]) -> Value {
        self.run(&[words, &["--json"]].concat()).json()
    }

    fn head(&self) -> String {
        self.run(&["head"]).stdout.trim().to_owned()
    }

    /// Changes the ledger file's bytes wherever they spell `from`.
    fn alter(&self, from: &str, to: &str) {
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
    fn intrude(&self) {
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

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each.as_str().unwrap())
        .collect()
}

#[test]
fn every_command_without_a_ledger_exits_5_and_says_what_to_type() {
    let world = World::new();
    for words in [
        &["head"][..],
        &["can", "x"],
        &["state"],
        &["brief"],
        &["log"],
        &["show", "0"],
        &["export"],
    ] {
        let answer = world.run(words);
        assert_eq!(answer.exit, 5, "{words:?}");
        assert!(
            answer.stderr.ends_with("next: handoff init\n"),
            "{}",
            answer.stderr
        );
    }
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"error".into(), &5.into())
    );
    assert_eq!(told["error"]["next"], "handoff init");
}

#[test]
fn what_drifted_blocks_exactly_what_needs_it_and_the_next_command_is_told() {
    let (world, session) = World::resumed();
    assert_eq!(world.run(&["can", "db-safe"]).exit, 0);
    world.write("host.txt", "prod-1\n");
    assert_eq!(world.run(&["reverify"]).exit, 1);
    let told = world.json(&["can", "db-safe", "orders"]);
    assert_eq!(told["exit"], 1);
    assert_eq!(told["basis"], world.head());
    let claim = &told["claims"][0];
    assert_eq!(claim["claim"], "db-safe");
    assert_eq!(claim["admissible"], false);
    let because = &claim["because"][0];
    assert_eq!(because["kind"], "axis");
    assert_eq!(because["axis"], "db.host");
    assert_eq!(because["verdict"], "drifted_load_bearing");
    assert_eq!(
        (&because["was"], &because["now"]),
        (&"stage-1".into(), &"prod-1".into())
    );
    assert!(because["receipt"].is_u64());
    let next = format!(
        "handoff axis db.host --session {session} --class reachability -- …   then: \
         handoff claim db-safe --session {session} --needs db.host …"
    );
    assert_eq!(claim["next"], next);
    assert_eq!(told["claims"][1]["because"][0]["kind"], "provisional");
    let promote = format!("handoff promote orders --session {session} --needs db.host");
    assert_eq!(told["claims"][1]["next"], promote);
    let text = world.run(&["can", "db-safe"]);
    assert_eq!(text.exit, 1);
    assert!(
        text.stdout
            .contains("db.host was \"stage-1\", now \"prod-1\" (receipt ")
    );
}

#[test]
fn a_claim_that_nobody_spoke_of_is_not_admissible() {
    let (world, _) = World::resumed();
    let told = world.json(&["can", "db-safe", "nope"]);
    assert_eq!(told["exit"], 1);
    assert_eq!(told["claims"][0]["admissible"], true);
    assert_eq!(told["claims"][1]["because"][0]["kind"], "unknown");
}

#[test]
fn without_a_session_can_is_a_usage_error_and_state_shows_everything_blocked() {
    let world = World::sealed();
    let told = world.json(&["can", "db-safe"]);
    assert_eq!(told["exit"], 2);
    assert_eq!(told["error"]["next"], "handoff resume --agent NAME");
    let state = world.json(&["state"]);
    assert_eq!(state["exit"], 0);
    assert_eq!(state["session"], Value::Null);
    let claims = state["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2);
    for claim in claims {
        assert_eq!(claim["admissible"], false);
        assert_eq!(claim["because"][0]["kind"], "no_session");
    }
    assert_eq!(claims[0]["state"], "verified_invariant");
    assert_eq!(claims[1]["state"], "provisional_unverified");
    assert_eq!(claims[1]["directive"]["do_not_act_on"], "orders");
    assert_eq!(claims[1]["step"]["argv"][0], "cat");
}

#[test]
fn the_state_at_an_event_is_as_it_was_then() {
    let (world, _) = World::resumed();
    world.write("host.txt", "prod-1\n");
    world.run(&["reverify"]);
    let now = world.json(&["state"]);
    assert_eq!(now["axes"][0]["verdict"], "drifted_load_bearing");
    assert_eq!(now["axes"][0]["needed_by"][0], "db-safe");
    let sealed = world
        .run(&["log", "--kind", "session.sealed", "--json"])
        .stdout;
    let sealed: Value = serde_json::from_str(sealed.trim()).unwrap();
    let then = world.json(&["state", "--at", &sealed["seq"].to_string()]);
    assert_eq!(then["at"]["hash"], sealed["hash"]);
    assert_eq!(then["session"], sealed["session"]);
    assert_eq!(then["axes"][0]["verdict"], "held");
    assert_eq!(then["claims"][0]["admissible"], true);
    assert_eq!(world.run(&["state", "--at", "9999"]).exit, 1);
    assert_eq!(
        world.run(&["state", "--at", "3", "--session", "77"]).exit,
        2
    );
}

#[test]
fn an_unpinned_root_is_not_judged_by() {
    let (world, _) = World::resumed();
    let key = world.json(&["key", "show"])["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(world.run(&["trust", "remove", &key]).exit, 0);
    for words in [
        &["can", "db-safe"][..],
        &["state"],
        &["brief"],
        &["state", "--at", "3"],
    ] {
        let told = world.json(words);
        assert_eq!(told["exit"], 3, "{words:?}");
        assert_eq!(told["error"]["next"], format!("handoff trust add {key}"));
    }
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"self_consistent".into(), &3.into())
    );
    assert_eq!(told["signer"]["basis"], "unpinned");
    let given = world.json(&["--trust", &key, "verify"]);
    assert_eq!(
        (&given["result"], &given["signer"]["basis"]),
        (&"verified".into(), &"given".into())
    );
    assert_eq!(world.run(&["head"]).exit, 0);
    assert_eq!(world.run(&["trust", "add", &"ab".repeat(32)]).exit, 1);
    assert_eq!(world.run(&["trust", "add", &key]).exit, 0);
    assert_eq!(world.json(&["trust", "list"])["pins"][0]["root"], key);
    assert_eq!(world.json(&["verify"])["result"], "verified");
}

#[test]
fn a_brief_puts_blocked_things_first_and_quotes_what_was_written() {
    let (world, session) = World::resumed();
    world.write("host.txt", "prod-1\n");
    world.run(&["reverify"]);
    let text = world.run(&["brief"]).stdout;
    let place = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words}: {text}"))
    };
    assert!(place("BLOCKED") < place("VERIFY FIRST"));
    assert!(place("VERIFY FIRST") < place("COMMANDS"));
    assert!(
        text.contains("the database is \\u{1b}[31mstaging"),
        "{text}"
    );
    assert!(text.contains("derived from \"openapi line 88\""));
    assert!(text.contains(&format!("handoff can ID --session {session}")));
    let markdown = world.run(&["brief", "--markdown"]).stdout;
    assert!(
        markdown.contains("\n- `` orders: \"`orders` exists\" ``\n"),
        "{markdown}"
    );
    let told = world.json(&["brief"]);
    assert_eq!(told["text"], text);
    assert_eq!(told["claims"][0]["claim"], "db-safe");
}

#[test]
fn a_brief_keeps_to_its_length_and_counts_what_it_leaves_out() {
    let world = World::new();
    world.write("host.txt", "stage-1\n");
    world.run(&["init"]);
    world.run(&["session", "open", "--agent", "first"]);
    let long = "x".repeat(150);
    for number in 0..6 {
        let words = [
            "flag",
            &format!("c{number}"),
            &format!("{number} {long}"),
            "--because",
            &long,
            "--environment-independent",
            "so",
            "--expect",
            "value=yes",
            "--",
            "cat",
            "host.txt",
        ];
        assert_eq!(world.run(&words).exit, 0);
    }
    let whole = world.run(&["brief"]).stdout;
    assert!(!whole.contains("left out"));
    for characters in [500, 900, 1500] {
        let text = world
            .run(&["brief", "--max-chars", &characters.to_string()])
            .stdout;
        assert!(text.chars().count() <= characters, "{characters}: {text}");
        let shown = text.matches("derived from").count();
        assert!(
            text.contains(&format!("and {} more, left out", 6 - shown)),
            "{text}"
        );
        assert!(text.contains("before acting on a claim"), "{text}");
    }
}

#[test]
fn the_log_is_filtered_and_one_value_a_line() {
    let (world, session) = World::resumed();
    let lines = |words: &[&str]| -> Vec<Value> {
        let answer = world.run(&[&["log", "--json"], words].concat());
        assert_eq!(answer.exit, 0, "{}", answer.stderr);
        answer
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all = lines(&[]);
    for (index, event) in all.iter().enumerate() {
        assert_eq!(event["seq"], index);
        for member in ["hash", "kind", "session", "key", "time", "body"] {
            assert!(!event[member].is_null(), "{member}");
        }
    }
    assert_eq!(lines(&["--limit", "2"]), all[all.len() - 2..]);
    assert_eq!(lines(&["--from", "1", "--to", "3"]), all[1..=3]);
    assert_eq!(lines(&["--claim", "orders"]).len(), 1);
    assert_eq!(lines(&["--kind", "probe.receipt", "--limit", "1"]).len(), 1);
    assert!(lines(&["--session", &session]).iter().all(|event| {
        event["session"].to_string() == session || event["seq"].to_string() == session
    }));
    assert_eq!(world.run(&["log", "--from", "3", "--to", "1"]).exit, 2);
    assert_eq!(world.run(&["log", "--from", "999"]).exit, 1);
    assert_eq!(world.run(&["log"]).stdout.lines().count(), all.len());
}

#[test]
fn an_event_is_shown_as_it_was_signed() {
    let world = World::sealed();
    let told = world.json(&["show", "1"]);
    let raw = world.run(&["show", "1", "--raw"]).stdout;
    assert_eq!(told["event"], raw);
    let bytes = raw.as_bytes();
    assert_eq!(format::decode(bytes).unwrap().seq.0, 1);
    let signature: [u8; 64] =
        handoff_ledger::types::parse_hex(told["signature"].as_str().unwrap()).unwrap();
    let leaf = handoff_ledger::hash::leaf(&[&signature[..], bytes].concat());
    assert_eq!(told["hash"], leaf.to_string());
    assert_eq!(world.run(&["show", "999"]).exit, 1);
    assert_eq!(told["void"], false);
    assert_eq!(told["refused"], Value::Null);
}

#[test]
fn a_good_ledger_is_verified_and_what_is_not_proven_is_told() {
    let world = World::sealed();
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"verified".into(), &0.into())
    );
    assert_eq!(told["head"]["line"], world.head());
    assert_eq!(told["signer"]["basis"], "pinned");
    assert_eq!(
        (&told["end"]["proven"], &told["end"]["by"]),
        (&true.into(), &"view".into())
    );
    let not_proven = strings(&told["not_proven"]).join("\n");
    assert!(not_proven.contains("a signer can lie"));
    assert!(!not_proven.contains("commitments"), "{not_proven}");
    let head = world.head();
    let copy = world.work().join("copy.db");
    std::fs::copy(world.ledger(), &copy).unwrap();
    let before = std::fs::read(&copy).unwrap();
    let told = world.json(&["verify", "copy.db"]);
    assert_eq!(
        (&told["result"], &told["end"]["by"]),
        (&"verified".into(), &"none".into())
    );
    assert!(
        strings(&told["not_proven"])
            .join("\n")
            .contains("that it ends here")
    );
    let told = world.json(&["verify", "copy.db", "--expect", &head]);
    assert_eq!(
        (&told["end"]["proven"], &told["end"]["by"]),
        (&true.into(), &"expect".into())
    );
    assert_eq!(std::fs::read(&copy).unwrap(), before);
}

#[test]
fn another_head_than_the_expected_one_is_tampering() {
    let world = World::sealed();
    let head = world.head();
    let (start, leaf) = head.rsplit_once(':').unwrap();
    let other = format!("{start}:{}", leaf.chars().rev().collect::<String>());
    let told = world.json(&["verify", "--expect", &other]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"tampered".into(), &4.into())
    );
    assert_eq!(told["faults"][0]["kind"], "expect");
}

#[test]
fn every_fault_of_an_altered_ledger_is_told_and_the_intact_part_can_be_carried_over() {
    let world = World::sealed();
    let before = world.json(&["verify"])["events"].as_u64().unwrap();
    world.alter("stage-1", "stage-2");
    assert_eq!(world.run(&["state"]).exit, 4);
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"tampered".into(), &4.into())
    );
    assert!(told["faults"].as_array().unwrap().len() > 2, "{told}");
    assert!(told["events"].as_u64().unwrap() < before);
    assert_eq!(told["records"], before);
    let exported = world.run(&["export", "-o", "good.jsonl"]);
    assert_eq!(exported.exit, 4);
    let imported = world.json(&["import", "good.jsonl", "--to", "good.db"]);
    assert_eq!(imported["exit"], 0);
    assert_eq!(imported["head"], told["head"]);
}

#[test]
fn a_ledger_shorter_than_this_machine_knows_is_rolled_back() {
    let world = World::sealed();
    let old = std::fs::read(world.ledger()).unwrap();
    assert_eq!(world.run(&["resume", "--agent", "second"]).exit, 0);
    std::fs::write(world.ledger(), old).unwrap();
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"tampered".into(), &4.into())
    );
    assert_eq!(told["faults"][0]["kind"], "rollback");
    assert_eq!(world.run(&["head"]).exit, 4);
}

#[test]
fn a_damaged_view_is_no_tampering() {
    let world = World::sealed();
    let mut folders = vec![world.folder.path().join("home")];
    let mut damaged = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.components().any(|part| part.as_os_str() == "state") {
                std::fs::write(path, b"this is no index at all").unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0);
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"verified".into(), &0.into()),
        "{told}"
    );
    assert!(
        strings(&told["not_proven"])
            .join("\n")
            .contains("rolled back")
    );
    assert_eq!(world.run(&["head"]).exit, 0);
}

#[test]
fn a_refused_event_is_unlawful_until_the_root_acknowledges_it() {
    let world = World::sealed();
    world.intrude();
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"unlawful".into(), &4.into())
    );
    assert_eq!(told["refused"][0]["rule"], "key_not_authorized");
    let seq = told["refused"][0]["seq"].to_string();
    assert_eq!(
        world.json(&["show", &seq])["refused"]["rule"],
        "key_not_authorized"
    );
    let answer = world.run(&["acknowledge", &seq, "--reason", "an intruder"]);
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"verified".into(), &0.into())
    );
    assert_eq!(told["refused"][0]["acknowledged"], true);
}

#[test]
fn what_is_no_ledger_is_an_error_and_what_lies_beside_makes_it_incomplete() {
    let world = World::sealed();
    world.write("notes.txt", "some notes\n");
    world.write("other.jsonl", "{\"a\":1}\n");
    for file in ["notes.txt", "other.jsonl", "absent.db", "."] {
        let told = world.json(&["verify", file]);
        assert_eq!(
            (&told["result"], &told["exit"]),
            (&"error".into(), &5.into()),
            "{file}"
        );
    }
    std::fs::copy(world.ledger(), world.work().join("copy.db")).unwrap();
    world.write("copy.db-wal", "");
    let told = world.json(&["verify", "copy.db"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"incomplete".into(), &3.into())
    );
}

#[test]
fn an_export_is_verified_imported_and_the_same_ledger() {
    let world = World::sealed();
    let head = world.head();
    assert_eq!(
        world.json(&["export", "-o", "all.jsonl", "--captures"])["head"]["line"],
        head
    );
    assert_eq!(
        world.run(&["export", "--captures"]).stdout,
        world.read("all.jsonl")
    );
    assert_eq!(world.json(&["verify", "all.jsonl"])["result"], "verified");
    let without = world.run(&["export"]).stdout;
    assert!(world.read("all.jsonl").starts_with(&without));
    let told = world.json(&["import", "all.jsonl", "--to", "copy.db"]);
    assert_eq!(
        (&told["exit"], &told["head"]["line"]),
        (&0.into(), &head.clone().into())
    );
    assert_eq!(
        world
            .run(&["--ledger", "copy.db", "export", "--captures"])
            .stdout,
        world.read("all.jsonl")
    );
    assert_eq!(
        world.run(&["import", "all.jsonl", "--to", "copy.db"]).exit,
        5
    );
    assert_eq!(world.run(&["import", "all.jsonl"]).exit, 5);
    assert_eq!(world.head(), head);
}

#[test]
fn an_export_overwrites_nothing_and_follows_no_link() {
    let world = World::sealed();
    world.write("there.jsonl", "mine");
    std::os::unix::fs::symlink("elsewhere", world.work().join("link.jsonl")).unwrap();
    for file in ["there.jsonl", "link.jsonl"] {
        assert_eq!(
            world.json(&["export", "-o", file])["error"]["code"],
            "already_exists"
        );
    }
    assert_eq!(world.read("there.jsonl"), "mine");
    assert!(!Path::new(&world.work().join("elsewhere")).exists());
    assert_eq!(world.run(&["export", "--json"]).exit, 2);
}

#[test]
fn a_cut_or_altered_export_is_not_imported() {
    let world = World::sealed();
    let whole = world.run(&["export"]).stdout;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    world.write("cut.jsonl", &lines[..4].concat());
    world.write("torn.jsonl", &whole[..whole.len() - 30]);
    world.write("altered.jsonl", &whole.replace("stage-1", "stage-2"));
    world.write("swapped.jsonl", &[lines[0], lines[2], lines[1]].concat());
    for (file, result, exit) in [
        ("cut.jsonl", "incomplete", 3),
        ("torn.jsonl", "incomplete", 3),
        ("altered.jsonl", "tampered", 4),
        ("swapped.jsonl", "tampered", 4),
    ] {
        let told = world.json(&["verify", file]);
        assert_eq!(
            (&told["result"], &told["exit"]),
            (&result.into(), &exit.into()),
            "{file}"
        );
        assert_eq!(
            world.run(&["import", file, "--to", "made.db"]).exit,
            exit,
            "{file}"
        );
        assert!(!world.work().join("made.db").exists());
    }
}

#[test]
fn keys_are_made_once_shown_and_listed() {
    let world = World::new();
    let made = world.json(&["key", "new"]);
    assert_eq!(made["exit"], 0);
    assert_eq!(world.run(&["key", "new"]).exit, 5);
    assert_eq!(world.json(&["key", "show"])["key"], made["key"]);
    let listed = world.json(&["key", "list"]);
    assert_eq!(
        (&listed["keys"], &listed["own"][0]["key"]),
        (&Value::Null, &made["key"])
    );
    assert_eq!(world.run(&["init"]).exit, 0);
    let listed = world.json(&["key", "list"]);
    assert_eq!(listed["keys"][0]["root"], true);
    assert_eq!(listed["keys"][0]["key"], made["key"]);
}

#[test]
fn nothing_that_reads_changes_the_ledger() {
    let (world, _) = World::resumed();
    let before = std::fs::read(world.ledger()).unwrap();
    for words in [
        &["can", "db-safe", "nope"][..],
        &["state"],
        &["state", "--at", "5"],
        &["brief"],
        &["log"],
        &["show", "4"],
        &["head"],
        &["verify"],
        &["export"],
        &["key", "list"],
        &["show", "999"],
        &["state", "--at", "999"],
    ] {
        world.run(words);
        assert_eq!(std::fs::read(world.ledger()).unwrap(), before, "{words:?}");
    }
}
