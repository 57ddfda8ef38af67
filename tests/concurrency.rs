//! Many processes write to one ledger at once: none loses an event, none forks it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;

use handoff_ledger::types::{LedgerId, Seq};
use machine::{Answer, Machine, OS_AXIS, PATIENCE, Person, head};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// How many processes run at a time.
const WRITERS: u8 = 20;
/// How many keys they sign with, one home each.
const PEOPLE: u8 = 4;

/// A person other than the root, with an authorised key and the root pinned.
fn recorder(machine: &Machine, root: &Person, number: u8) -> Person {
    let name = format!("person-{number}");
    let person = machine.person(&name);
    let public = person.make_key(number).public().to_string();
    root.does(&["key", "authorize", &public, "--label", &name]);
    let trust = person.folders().pins().unwrap();
    std::fs::create_dir_all(trust.parent().unwrap()).unwrap();
    std::fs::copy(root.folders().pins().unwrap(), trust).unwrap();
    person
}

/// What one writer does, in a session of its own, one process after the other.
fn work(person: &Person, writer: u8) -> Vec<Answer> {
    let agent = format!("agent-{writer}");
    let opened = person.run(&["session", "open", "--agent", &agent]);
    let session = opened.json["session"].to_string();
    let mut answers = vec![opened];
    let mut run = |arguments: &[&str]| {
        let with_session = [&["--session", &session], arguments].concat();
        answers.push(person.run(&with_session));
    };
    run(&["probe", "--expect", "value=4", "--", "cat", "answer"]);
    run(&OS_AXIS);
    run(&[
        "claim",
        &agent,
        "two and two are four",
        "--needs",
        "os",
        "--expect",
        "value=4",
        "--",
        "cat",
        "answer",
    ]);
    run(&["ambient", "--none"]);
    run(&["seal"]);
    answers
}

#[test]
fn of_twenty_processes_none_loses_an_event_or_forks_the_ledger() {
    let (machine, root) = Machine::with_ledger();
    let mut people: Vec<Person> = (1..PEOPLE)
        .map(|number| recorder(&machine, &root, number))
        .collect();
    people.push(root);
    let before = machine.walk().len();
    let answers: Vec<Answer> = thread::scope(|scope| {
        let turns = (0..WRITERS).zip(people.iter().cycle());
        let writers: Vec<_> = turns
            .map(|(writer, person)| scope.spawn(move || work(person, writer)))
            .collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });

    let mut acknowledged: BTreeMap<Seq, String> = BTreeMap::new();
    for answer in &answers {
        assert_eq!(answer.exit, Some(0), "{answer:?}");
        let (seq, leaf) = head(&answer.json);
        assert_eq!(acknowledged.insert(seq, leaf), None, "{seq} twice");
    }
    assert_eq!(acknowledged.len(), usize::from(WRITERS) * 6);
    let leaves = machine.walk();
    for (seq, leaf) in &acknowledged {
        let there = leaves.get(usize::try_from(seq.0).unwrap());
        assert_eq!(there.map(ToString::to_string).as_ref(), Some(leaf), "{seq}");
    }
    // One opening, receipt, ambient list and seal; receipt and record of an axis; and of a claim
    // its receipt, the one of the axis after it, and itself.
    assert_eq!(leaves.len() - before, usize::from(WRITERS) * 9);

    let file = machine.file();
    let states = people.iter().map(|person| {
        let ledger = person.ledger(&file);
        let head = ledger.head().unwrap();
        assert_eq!(Some(&head.leaf), leaves.last());
        ledger.fold(head.seq).unwrap()
    });
    for state in states {
        assert_eq!(state.sessions().len(), usize::from(WRITERS));
        assert!(state.sessions().values().all(|session| session.is_sealed()));
        assert_eq!(state.claims().len(), usize::from(WRITERS));
    }
}

#[test]
fn of_eight_that_init_one_folder_one_makes_the_ledger() {
    let machine = Machine::new();
    let people: Vec<Person> = (0..8)
        .map(|number| machine.person(&format!("person-{number}")))
        .collect();
    let answers: Vec<Answer> = thread::scope(|scope| {
        let running: Vec<_> = people
            .iter()
            .map(|person| scope.spawn(|| person.run(&["init"])))
            .collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (made, others): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.exit == Some(0));
    assert_eq!(made.len(), 1, "{answers:?}");
    for other in others {
        assert_eq!(other.exit, Some(5), "{other:?}");
        assert_eq!(other.error(), "already_exists", "{other:?}");
    }
    assert_eq!(machine.walk().len(), 1);
    let id: LedgerId = machine.id();
    assert_eq!(
        made[0].json["ledger"].as_str(),
        Some(id.to_string().as_str())
    );
    let beside = std::fs::read_dir(machine.file().parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1, "nothing is left of those that lost");
}

#[test]
fn of_eight_of_one_home_that_init_one_folder_one_makes_the_ledger() {
    let machine = Machine::new();
    let person = machine.person("somebody");
    let answers: Vec<Answer> = thread::scope(|scope| {
        let running: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| person.run(&["init"])))
            .collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let made = answers.iter().filter(|answer| answer.exit == Some(0));
    assert_eq!(made.count(), 1, "{answers:?}");
    assert_eq!(machine.walk().len(), 1);
    person.opens("agent");
}

/// Writers, the appends of each, and verifiers beside them: in the short form, and in the long one.
const CROWD: [usize; 3] = [12, 4, 2];
const LONG_CROWD: [usize; 3] = [50, 20, 5];

fn crowd() -> [usize; 3] {
    match std::env::var("HANDOFF_WRITERS").is_ok_and(|form| form == "long") {
        true => LONG_CROWD,
        false => CROWD,
    }
}

/// Verifies again and again, and once more when the writers are done: the counts.
fn verify_beside(person: &Person, done: &AtomicBool) -> Vec<u64> {
    let mut counts = Vec::new();
    loop {
        let last = done.load(Ordering::Relaxed);
        let verified = person.does(&["verify"]);
        assert_eq!(verified["result"], "verified", "{verified}");
        let events = verified["events"].as_u64().unwrap();
        assert_eq!(verified["head"]["seq"], events - 1);
        counts.push(events);
        if last {
            return counts;
        }
    }
}

#[test]
fn of_a_crowd_of_writers_every_append_is_there_and_verifiers_see_it_grow() {
    let [writers, each, verifiers] = crowd();
    let (machine, root) = Machine::with_ledger();
    let sessions: Vec<String> = (0..writers).map(|_| root.opens("agent")).collect();
    let before = machine.walk().len();
    let done = AtomicBool::new(false);
    let (answers, counts) = thread::scope(|scope| {
        let watch = || verify_beside(&root, &done);
        let watching: Vec<_> = (0..verifiers).map(|_| scope.spawn(watch)).collect();
        let write = |session: &String| {
            let write = ["--session", session, "ambient", "--none"];
            let answers = (0..each).map(|_| root.run(&write));
            answers.collect::<Vec<_>>()
        };
        let writing: Vec<_> = (sessions.iter())
            .map(|session| scope.spawn(move || write(session)))
            .collect();
        let answers: Vec<Answer> = (writing.into_iter())
            .flat_map(|it| it.join().unwrap())
            .collect();
        done.store(true, Ordering::Relaxed);
        let counts: Vec<Vec<u64>> = watching.into_iter().map(|it| it.join().unwrap()).collect();
        (answers, counts)
    });
    let leaves = machine.walk();
    let mut seqs = BTreeSet::new();
    for answer in &answers {
        assert_eq!(answer.exit, Some(0), "{answer:?}");
        let (seq, leaf) = head(&answer.json);
        assert_eq!(leaves[usize::try_from(seq.0).unwrap()].to_string(), leaf);
        assert!(seqs.insert(seq), "{seq} twice");
    }
    let verified: usize = counts.iter().map(Vec::len).sum();
    eprintln!(
        "{writers} writers x {each} appends, {verifiers} verifiers: {} of {} there, {verified} \
         verifications, each of a valid prefix",
        seqs.len(),
        writers * each
    );
    assert_eq!(seqs.len(), writers * each);
    assert_eq!(leaves.len(), before + writers * each);
    for counts in counts {
        assert!(counts.is_sorted(), "{counts:?}");
        assert_eq!(counts.last().copied(), u64::try_from(leaves.len()).ok());
    }
}

/// What became of writers in a plain database, each with a transaction of this kind.
struct Raced {
    refused: usize,
    acknowledged: usize,
    there: usize,
}

/// Plain writers that read the head and insert the next row, as the product does, but with
/// transactions of this kind.
fn race(behavior: TransactionBehavior) -> Raced {
    const EACH: i64 = 10;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.db");
    let table = "CREATE TABLE event (seq INTEGER PRIMARY KEY, record TEXT)";
    Connection::open(&file)
        .unwrap()
        .execute_batch(table)
        .unwrap();
    let append = |plain: &mut Connection| -> Result<(), rusqlite::Error> {
        let transaction = plain.transaction_with_behavior(behavior)?;
        let sql = "SELECT coalesce(max(seq), -1) + 1 FROM event";
        let next: i64 = transaction.query_row(sql, [], |row| row.get(0))?;
        thread::sleep(std::time::Duration::from_millis(1));
        transaction.execute("INSERT INTO event VALUES (?1, 'text')", [next])?;
        transaction.commit()
    };
    let write = |file: &Path| {
        let mut plain = Connection::open(file).unwrap();
        plain.busy_timeout(PATIENCE).unwrap();
        let results: Vec<_> = (0..EACH).map(|_| append(&mut plain)).collect();
        results
    };
    let results: Vec<Result<(), rusqlite::Error>> = thread::scope(|scope| {
        let writing: Vec<_> = (0..8).map(|_| scope.spawn(|| write(&file))).collect();
        writing
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
    let busy = |result: &&Result<(), rusqlite::Error>| {
        let code = result
            .as_ref()
            .err()
            .and_then(rusqlite::Error::sqlite_error_code);
        code == Some(ErrorCode::DatabaseBusy)
    };
    let plain = Connection::open(&file).unwrap();
    let there: i64 = plain
        .query_row("SELECT count(*) FROM event", [], |row| row.get(0))
        .unwrap();
    Raced {
        refused: results.iter().filter(busy).count(),
        acknowledged: results.iter().filter(|result| result.is_ok()).count(),
        there: usize::try_from(there).unwrap(),
    }
}

#[test]
fn writers_that_do_not_lock_before_they_read_are_turned_away_however_long_they_would_wait() {
    let deferred = race(TransactionBehavior::Deferred);
    let immediate = race(TransactionBehavior::Immediate);
    eprintln!(
        "control: of 80 appends with deferred transactions {} were refused as busy; with immediate \
         ones {}",
        deferred.refused, immediate.refused
    );
    assert!(deferred.refused > 0, "the race was not met");
    assert_eq!(
        (immediate.refused, immediate.acknowledged, immediate.there),
        (0, 80, 80)
    );
}

#[test]
fn of_two_that_promote_one_claim_at_once_both_are_told_the_truth() {
    let (machine, root) = Machine::with_ledger();
    let session = root.opens("agent");
    let independent = ["--environment-independent", "arithmetic"];
    let in_session = ["--session", session.as_str()];
    for round in 0..4 {
        let id = format!("sum-{round}");
        let flag = [
            "flag",
            &id,
            &format!("sum {round} is four"),
            "--because",
            "counted",
        ];
        let proof = ["--expect", "value=4", "--", "cat", "answer"];
        root.does(&[&in_session[..], &flag, &independent, &proof].concat());
        let promote = [&in_session[..], &["promote", &id], &independent].concat();
        let answers = thread::scope(|scope| {
            let racing: Vec<_> = (0..2).map(|_| scope.spawn(|| root.run(&promote))).collect();
            racing
                .into_iter()
                .map(|it| it.join().unwrap())
                .collect::<Vec<_>>()
        });
        let recorded = answers
            .iter()
            .filter(|answer| answer.exit == Some(0))
            .count();
        let refused = answers
            .iter()
            .filter(|answer| answer.exit == Some(1))
            .count();
        assert_eq!(recorded + refused, 2, "{answers:?}");
        assert!(recorded >= 1, "{answers:?}");
    }
    machine.walk();
    root.does(&["verify"]);
}

#[test]
fn of_an_append_and_the_seal_of_its_session_the_order_decides() {
    let (machine, root) = Machine::with_ledger();
    for _ in 0..6 {
        let session = root.opens("agent");
        let in_session = ["--session", session.as_str()];
        let axis = OS_AXIS;
        root.does(&[&in_session[..], &axis].concat());
        root.does(&[&in_session[..], &["ambient", "--none"]].concat());
        let seal = [&in_session[..], &["seal"]].concat();
        let append = [&in_session[..], &["ambient", "--allow", "load=varies"]].concat();
        let [sealed, appended] = thread::scope(|scope| {
            let racing = [&seal, &append].map(|it| scope.spawn(|| root.run(it)));
            racing.map(|it| it.join().unwrap())
        });
        assert_eq!(sealed.exit, Some(0), "{sealed:?}");
        match appended.exit {
            Some(0) => assert!(head(&appended.json).0 < head(&sealed.json).0),
            _ => assert_eq!(
                (appended.exit, appended.error()),
                (Some(1), "session_ended")
            ),
        }
    }
    machine.walk();
}

#[test]
fn of_a_signature_and_the_revocation_of_its_key_the_order_decides() {
    let (machine, root) = Machine::with_ledger();
    for number in 1..5 {
        let person = recorder(&machine, &root, number);
        let public = person.key().public().to_string();
        let session = person.opens("agent");
        let write = ["--session", &session, "ambient", "--none"];
        let [revoked, written] = thread::scope(|scope| {
            let revoking =
                scope.spawn(|| root.run(&["key", "revoke", &public, "--reason", "left"]));
            let writing = scope.spawn(|| person.run(&write));
            [revoking.join().unwrap(), writing.join().unwrap()]
        });
        assert_eq!(revoked.exit, Some(0), "{revoked:?}");
        match written.exit {
            Some(0) => assert!(head(&written.json).0 < head(&revoked.json).0),
            _ => assert_eq!((written.exit, written.error()), (Some(1), "key_revoked")),
        }
    }
    machine.walk();
}
