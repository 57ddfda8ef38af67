//! A file that was changed under this machine's view: every answer is the one there was, or says
//! that the file was changed. None is silently another.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;
#[path = "cli_support/tampering.rs"]
mod tampering;

use handoff_ledger::event::{
    AmbientDeclared, Body, ClaimVerified, Event, SessionAbandoned, SessionOpened,
};
use handoff_ledger::format;
use handoff_ledger::key::SigningKey;
use handoff_ledger::store::{Read, Record, Store, StoreError, Transaction};
use handoff_ledger::types::{Ascending, Digest, Leaf, Seq, Time};
use machine::{Answer, Machine, OS_AXIS, Person, head};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::PathBuf;
use tampering::without_triggers;

/// A handoff in the middle: session 1 is sealed with a claim that it retracted, its successor has
/// reverified and not ended yet.
struct Handoff {
    machine: Machine,
    root: Person,
    /// The successor's session.
    session: String,
    /// Where the retraction is.
    retraction: Seq,
    head: Seq,
    file: Vec<u8>,
    /// This machine's view of it, and what it remembers beside.
    views: Vec<(PathBuf, Vec<u8>)>,
}

impl Handoff {
    fn new() -> Handoff {
        let (machine, root) = Machine::with_ledger();
        std::fs::write(machine.project.join("version"), "1.2.3\n").unwrap();
        let first = root.opens("first");
        let says =
            |arguments: &[&str]| root.does(&[&["--session", first.as_str()], arguments].concat());
        says(&OS_AXIS);
        let version = ["--", "cat", "version"];
        let axis = ["axis", "version", "--class", "dependency_version"];
        says(&[axis.as_slice(), &version].concat());
        let sum = ["--expect", "value=4", "--", "cat", "answer"];
        for (claim, needs) in [("good", "os"), ("wrong", "os"), ("built", "version")] {
            let statement = format!("{claim} is so");
            says(
                &[
                    ["claim", claim, &statement, "--needs", needs].as_slice(),
                    &sum,
                ]
                .concat(),
            );
        }
        let retracted = says(&["retract", "wrong", "--reason", "it was wrong"]);
        says(&["ambient", "--none"]);
        says(&["seal"]);
        let resumed = root.does(&["resume", "--agent", "second"]);
        assert_eq!(resumed["admissible"], json!(["built", "good"]));
        let session = resumed["session"].to_string();
        let second = root.does(&["--session", &session, "ambient", "--none"]);
        let file = machine.file();
        let view = root.view(&machine.id());
        let views = [view.with_extension("seen"), view];
        let views = views.map(|path| (path.clone(), std::fs::read(path).unwrap()));
        Handoff {
            session,
            retraction: head(&retracted).0,
            head: head(&second).0,
            file: std::fs::read(file).unwrap(),
            views: views.into(),
            machine,
            root,
        }
    }

    /// Puts file, view and memory back as they were.
    fn restore(&self) {
        std::fs::write(self.machine.file(), &self.file).unwrap();
        let folder = self.views[0].0.parent().unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
        for (path, bytes) in &self.views {
            std::fs::write(path, bytes).unwrap();
        }
    }

    /// The commands whose answers are watched.
    fn commands(&self) -> Vec<Vec<&str>> {
        let session = ["--session", self.session.as_str()];
        let sum = ["--expect", "value=4", "--", "cat", "answer"];
        let claim = [
            "claim",
            "new",
            "it is new",
            "--needs",
            "os",
            "--from",
            "good",
        ];
        let wrong = [
            "claim",
            "newer",
            "it is newer",
            "--needs",
            "os",
            "--from",
            "wrong",
        ];
        vec![
            vec!["resume", "--agent", "third"],
            [session.as_slice(), &["reverify"]].concat(),
            [session.as_slice(), &claim, &sum].concat(),
            [session.as_slice(), &wrong, &sum].concat(),
            [session.as_slice(), &["seal"]].concat(),
            [session.as_slice(), &["can", "good", "wrong", "built"]].concat(),
            [session.as_slice(), &["state"]].concat(),
        ]
    }

    /// What each command answers on the file as it was.
    fn answers(&self) -> Vec<Value> {
        let answers = self.commands().into_iter().map(|command| {
            self.restore();
            let answer = self.root.run(&command);
            assert!(
                matches!(answer.exit, Some(0 | 1)),
                "{command:?}: {answer:?}"
            );
            meaning(&answer)
        });
        answers.collect()
    }

    /// As [`Handoff::tolerate`], and demands that at least one command fails if there are codes.
    fn watch(&self, truth: &[Value], codes: &[&str], change: impl Fn(&Handoff)) {
        let noticed = self.tolerate(truth, codes, change);
        assert_eq!(
            noticed > 0,
            !codes.is_empty(),
            "{noticed} commands noticed it"
        );
    }

    /// Changes the file, and demands of each command that it answers as it did, or fails with exit
    /// 4 and one of `codes`; how many failed.
    fn tolerate(&self, truth: &[Value], codes: &[&str], change: impl Fn(&Handoff)) -> usize {
        let mut noticed = 0;
        for (command, truth) in self.commands().iter().zip(truth) {
            self.restore();
            change(self);
            let answer = self.root.run(command);
            if answer.exit == Some(4) {
                noticed += 1;
                assert!(codes.contains(&answer.error()), "{command:?}: {answer:?}");
            } else {
                assert_eq!(&meaning(&answer), truth, "{command:?}");
            }
        }
        noticed
    }

    fn record(&self, seq: Seq) -> Record {
        self.machine.store().get(seq).unwrap().unwrap()
    }

    fn delete(&self, condition: &str) {
        without_triggers(&self.machine.file(), |connection| {
            let sql = format!("DELETE FROM event WHERE {condition}");
            assert!(connection.execute(&sql, []).unwrap() > 0);
        });
    }

    fn replace(&self, seq: Seq, record: &Record) {
        without_triggers(&self.machine.file(), |connection| {
            let sql = "UPDATE event SET record = ?2 WHERE seq = ?1";
            assert_eq!(
                connection
                    .execute(sql, (i64::try_from(seq.0).unwrap(), &record.0))
                    .unwrap(),
                1
            );
        });
    }

    /// Appends as a program would that asks nobody.
    fn append(&self, records: &[Record]) {
        let mut store = self.machine.store();
        let done: Result<(), StoreError> =
            store.transact(|tx: &mut dyn Transaction| tx.append(records, &[]));
        done.unwrap();
    }

    /// A record that follows another.
    fn after(&self, last: (Seq, Leaf), key: &SigningKey, session: Seq, body: Body) -> Record {
        let event = Event {
            seq: last.0.next(),
            prev: last.1,
            key: key.public(),
            session,
            time: "2026-01-01T00:00:00.000Z".parse::<Time>().unwrap(),
            body,
        };
        let bytes = format::encode(&event).unwrap();
        Record([key.sign(&bytes).as_slice(), &bytes].concat())
    }

    fn number(&self) -> Seq {
        Seq(self.session.parse().unwrap())
    }

    fn last(&self) -> (Seq, Leaf) {
        (self.head, self.record(self.head).leaf())
    }
}

/// What an answer says of what may be relied on, without positions and hashes.
fn meaning(answer: &Answer) -> Value {
    let of = |list: &str, members: &[&str]| -> Value {
        let items = answer.json[list].as_array().cloned().unwrap_or_default();
        let keep = |item: &Value| -> Value {
            members.iter().map(|member| item[*member].clone()).collect()
        };
        items.iter().map(keep).collect()
    };
    json!({
        "exit": answer.exit,
        "error": answer.error(),
        "state": answer.json["state"],
        "admissible": answer.json["admissible"],
        "blocked": of("blocked", &["claim"]),
        "provisional": of("provisional", &["claim"]),
        "claims": of("claims", &["claim", "state", "admissible", "statement"]),
        "axes": of("axes", &["axis", "value", "verdict", "reason", "now", "needed_by"]),
        "counts": answer.json["counts"],
        "boundary": answer.json["boundary_digest"],
    })
}

fn unlawful_claim(receipt: Seq, axis: Seq) -> Body {
    ClaimVerified {
        claim: "wrong".parse().unwrap(),
        from: Ascending::default(),
        independent: None,
        needs: Ascending::from_unordered([axis]),
        receipts: Ascending::from_unordered([receipt]),
        statement: "wrong is so".parse().unwrap(),
    }
    .into()
}

fn nothing_ambient() -> Body {
    AmbientDeclared {
        entries: Vec::new(),
    }
    .into()
}

#[test]
fn no_change_of_the_file_changes_an_answer_unnoticed() {
    let handoff = Handoff::new();
    let truth = handoff.answers();
    assert_eq!(
        truth,
        handoff.answers(),
        "the answers are the same each time"
    );

    // The retraction is deleted, so that what it withdrew might stand again.
    let gone = format!("seq = {}", handoff.retraction);
    handoff.watch(&truth, &["missing"], |it| it.delete(&gone));

    // One byte of any record is changed: in its text, or in every other one in its signature.
    for seq in 0..=handoff.head.0 {
        let mut changed = handoff.record(Seq(seq));
        let at = if seq % 2 == 0 {
            changed.0.len() - 80
        } else {
            7
        };
        changed.0[at] ^= 1;
        let codes: &[&str] = match seq {
            // It is another ledger's first event.
            0 => &["other_ledger"],
            seq if seq == handoff.head.0 => &["fork"],
            _ => &["replaced"],
        };
        handoff.tolerate(&truth, codes, |it| it.replace(Seq(seq), &changed));
    }

    // The tail is cut off.
    for keep in [handoff.head.0 - 1, handoff.retraction.0 - 1, 0] {
        let tail = format!("seq > {keep}");
        handoff.watch(&truth, &["rollback"], |it| it.delete(&tail));
    }
}

#[test]
fn what_is_appended_without_right_changes_no_answer() {
    let handoff = Handoff::new();
    let truth = handoff.answers();
    let root = handoff.root.key();
    let stranger = SigningKey::from_seed([77; 32]);
    let (session, last) = (handoff.number(), handoff.last());

    // By a key that nobody authorised.
    let opened = SessionOpened {
        agent: "stranger".parse().unwrap(),
        inherits: Ascending::default(),
        purpose: None,
        scope: Digest([0; 32]),
    };
    let record = handoff.after(last, &stranger, Seq::ZERO, opened.into());
    handoff.watch(&truth, &[], |it| it.append(std::slice::from_ref(&record)));
    let record = handoff.after(last, &stranger, session, nothing_ambient());
    handoff.watch(&truth, &[], |it| it.append(std::slice::from_ref(&record)));

    // By the right key, against the rules: a claim on a receipt of another session.
    let unlawful = unlawful_claim(Seq(2), Seq(3));
    let record = handoff.after(last, &root, session, unlawful.clone());
    handoff.watch(&truth, &[], |it| it.append(std::slice::from_ref(&record)));

    // In a session that is sealed.
    let record = handoff.after(last, &root, Seq(1), unlawful);
    handoff.watch(&truth, &[], |it| it.append(std::slice::from_ref(&record)));
    let abandoned = SessionAbandoned {
        reason: "away with it".parse().unwrap(),
        session: Seq(1),
    };
    let record = handoff.after(last, &root, Seq::ZERO, abandoned.into());
    handoff.watch(&truth, &[], |it| it.append(std::slice::from_ref(&record)));

    // What is no event, is not signed, or is not linked ends the chain: nothing more is judged.
    let garbage = Record(b"garbage".repeat(30));
    handoff.watch(&truth, &["malformed", "length"], |it| {
        it.append(std::slice::from_ref(&garbage))
    });
    let mut forged = handoff.after(last, &root, session, nothing_ambient());
    forged.0[3] ^= 1;
    handoff.watch(&truth, &["signature"], |it| {
        it.append(std::slice::from_ref(&forged))
    });
    let unlinked = handoff.after((last.0, Leaf([9; 32])), &root, session, nothing_ambient());
    handoff.watch(&truth, &["link"], |it| {
        it.append(std::slice::from_ref(&unlinked))
    });
}

/// Another valid history, of the right key, without the retraction: as long as the one before, or
/// longer by one.
fn fork(handoff: &Handoff, longer: u64) {
    let from = handoff.retraction;
    let key = handoff.root.key();
    let mut last = (Seq(from.0 - 1), handoff.record(Seq(from.0 - 1)).leaf());
    let mut records = Vec::new();
    while last.0.0 < handoff.head.0 + longer {
        let record = handoff.after(last, &key, Seq(1), nothing_ambient());
        last = (last.0.next(), record.leaf());
        records.push(record);
    }
    handoff.delete(&format!("seq >= {from}"));
    handoff.append(&records);
}

#[test]
fn another_valid_history_is_told_as_a_fork() {
    let handoff = Handoff::new();
    let truth = handoff.answers();
    for longer in [0, 1, 40] {
        handoff.watch(&truth, &["fork"], |it| fork(it, longer));
    }
}

#[test]
fn a_first_event_of_another_ledger_does_not_open_this_one() {
    let handoff = Handoff::new();
    let truth = handoff.answers();
    let other = Machine::new();
    let path = handoff.root.folders().keys().unwrap();
    let same_key = other.person("same-key");
    let keys = same_key.folders().keys().unwrap();
    std::fs::create_dir_all(keys.parent().unwrap()).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(path)
        .arg(keys)
        .status();
    assert!(copied.unwrap().success());
    same_key.does(&["init"]);
    let first = other.store().get(Seq::ZERO).unwrap().unwrap();
    handoff.watch(&truth, &["other_ledger"], |it| {
        it.replace(Seq::ZERO, &first)
    });
}

#[test]
fn an_altered_schema_is_refused() {
    let handoff = Handoff::new();
    let truth = handoff.answers();
    for sql in [
        "CREATE TABLE more (x)",
        "CREATE TRIGGER more AFTER INSERT ON event BEGIN DELETE FROM capture; END",
        "CREATE VIEW more AS SELECT * FROM event",
        "CREATE INDEX more ON event (record)",
        "DROP TRIGGER event_no_delete",
    ] {
        handoff.watch(&truth, &["schema"], |it| {
            Connection::open(it.machine.file())
                .unwrap()
                .execute_batch(sql)
                .unwrap();
        });
    }
}

#[test]
fn a_rollback_or_a_fork_that_is_acknowledged_is_accepted() {
    let handoff = Handoff::new();
    let before = format!("seq > {}", handoff.retraction.0 - 1);
    let accept = [
        "acknowledge",
        "--rollback",
        "--reason",
        "restored from a copy",
    ];
    let reverify = ["resume", "--agent", "third"];

    handoff.delete(&before);
    assert_eq!(handoff.root.run(&reverify).error(), "rollback");
    let accepted = handoff.root.does(&accept);
    assert_eq!(head(&accepted).0, Seq(handoff.retraction.0 - 1));
    handoff.root.does(&reverify);

    handoff.restore();
    fork(&handoff, 1);
    assert_eq!(handoff.root.run(&reverify).error(), "fork");
    let accepted = handoff.root.does(&accept);
    assert_eq!(head(&accepted).0, handoff.head.next());
    handoff.root.does(&reverify);

    // What is not a chain is never accepted.
    handoff.restore();
    handoff.delete(&format!("seq = {}", handoff.retraction));
    let refused = handoff.root.run(&accept);
    assert_eq!(refused.exit, Some(4), "{refused:?}");
    assert_eq!(handoff.root.run(&reverify).exit, Some(4));
}
