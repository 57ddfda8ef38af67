//! Many processes write to one ledger at once: none loses an event, none forks it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod machine;

use handoff_ledger::types::{LedgerId, Seq};
use machine::{Answer, Machine, Person, head};
use std::collections::BTreeMap;
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
    run(&[
        "axis",
        "os",
        "--class",
        "execution_topology",
        "--check",
        "os",
    ]);
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
