//! Histories that are lawful and made to be slow: verified all the same, or told as not judged;
//! never a hang.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cli_support;

use cli_support::forge::{Forger, signed};
use cli_support::{Agent, Machine};
use handoff_ledger::event::{Body, Event};
use handoff_ledger::store::Record;
use handoff_ledger::types::{Ascending, Seq};
use std::path::PathBuf;

/// How many events are added.
const MANY: usize = 1_500;

/// A session with an axis, a claim and a flag, and the bodies of each, to be signed again.
struct Scene {
    machine: Machine,
    root: Agent,
    session: Seq,
    file: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let machine = Machine::new();
        let root = machine.root("");
        let session = Seq(root.open("hostile"));
        root.ok("axis os --class execution_topology --check os");
        root.ok("claim good 'it is good' --needs os --expect value=4 -- cat four.txt");
        root.ok(
            "flag maybe 'it may be' --because guessed --needs os --expect value=4 -- cat five.txt",
        );
        let file = machine.project().join("hostile.db");
        std::fs::copy(machine.ledger(), &file).unwrap();
        Scene {
            machine,
            root,
            session,
            file,
        }
    }

    /// Adds events, each made of its number and its seq, in one transaction.
    fn add(&self, mut body: impl FnMut(usize, Seq) -> Body) {
        let forger = Forger::of(&self.file);
        let key = self.root.key();
        forger.together(|| {
            let mut last: Event = forger.draft(&key, self.session, body(0, Seq::ZERO));
            for number in 0..MANY {
                let event = Event {
                    body: body(number, last.seq),
                    ..last.clone()
                };
                let record = signed(&key, &event);
                forger.insert(event.seq, &record);
                last = Event {
                    seq: event.seq.next(),
                    prev: Record(record).leaf(),
                    ..event
                };
            }
        });
    }

    fn newest(&self, kind: &str) -> Event {
        Forger::of(&self.file).newest(kind)
    }

    /// What the file is found to be; the harness says when it hangs.
    fn result(&self) -> String {
        let words = format!(
            "--json verify {} --trust {}",
            self.file.display(),
            self.root.public()
        );
        // Of somebody who knows nothing of the ledger's own history.
        let ran = self.machine.agent("auditor").run(&words);
        let told = ran.json();
        let (result, refused) = (&told["result"], &told["refused_total"]);
        format!("{} {refused}", result.as_str().unwrap())
    }
}

#[test]
fn many_supports_of_one_claim_each_derived_from_it() {
    let scene = Scene::new();
    let Body::ClaimVerified(claim) = scene.newest("claim.verified").body else {
        panic!("no claim");
    };
    scene.add(|_, _| {
        let mut again = claim.clone();
        again.from = Ascending::from_unordered(["good".parse().unwrap()]);
        again.into()
    });
    assert_eq!(scene.result(), "verified 0");
}

#[test]
fn many_flags_of_one_statement_each_discarded() {
    let scene = Scene::new();
    let Body::ClaimFlagged(flag) = scene.newest("claim.flagged").body else {
        panic!("no flag");
    };
    let forger = Forger::of(&scene.file);
    let first = forger.newest("claim.flagged").seq;
    drop(forger);
    scene.root.ok("discard maybe --reason over");
    let Body::ClaimDiscarded(discard) = Forger::of(&scene.machine.ledger())
        .newest("claim.discarded")
        .body
    else {
        panic!("no discard");
    };
    let mut open = first;
    scene.add(|number, seq| {
        if number % 2 == 0 {
            let mut again = discard.clone();
            again.flag = Some(open);
            again.into()
        } else {
            open = seq;
            flag.clone().into()
        }
    });
    assert_eq!(scene.result(), "verified 0");
}

#[test]
fn many_ids_of_one_statement() {
    let scene = Scene::new();
    let Body::ClaimVerified(claim) = scene.newest("claim.verified").body else {
        panic!("no claim");
    };
    scene.add(|number, _| {
        let mut another = claim.clone();
        another.claim = format!("id-{number}").parse().unwrap();
        another.into()
    });
    assert_eq!(scene.result(), "verified 0");
}

#[test]
fn many_claims_each_derived_from_the_one_before() {
    let scene = Scene::new();
    let Body::ClaimVerified(claim) = scene.newest("claim.verified").body else {
        panic!("no claim");
    };
    scene.add(|number, _| {
        let mut next = claim.clone();
        next.claim = format!("id-{number}").parse().unwrap();
        next.statement = format!("statement {number}").parse().unwrap();
        let before = match number {
            0 => "good".to_owned(),
            number => format!("id-{}", number - 1),
        };
        next.from = Ascending::from_unordered([before.parse().unwrap()]);
        next.into()
    });
    let result = scene.result();
    // Each is judged by all before it: that is not judged to its end, and says so.
    assert!(
        result == "verified 0" || result.starts_with("undetermined"),
        "{result}"
    );
}
