//! What a command costs on a long ledger against a short one: `cargo bench --bench cost`.
//!
//! The real program is run, as a person would, on ledgers of 1,000 and 100,000 events with the same
//! lineage and the same live claims; turns alternate between the two, so that a busy machine slows
//! both. What makes a ledger long is other sessions of other keys, or receipts of the same session.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::float_arithmetic,
    clippy::indexing_slicing
)]

#[path = "../tests/machine/mod.rs"]
mod machine;

use handoff_ledger::append::{LedgerError, Pen};
use handoff_ledger::command;
use handoff_ledger::event::{
    AmbientDeclared, AxisClass, AxisRecorded, ClaimVerified, KeyAuthorized, ProbeReceipt, Role,
    SessionOpened,
};
use handoff_ledger::hash;
use handoff_ledger::home::clock;
use handoff_ledger::key::SigningKey;
use handoff_ledger::probe_spec::{
    self, Committed, Comparator, Definition, Judgement, Outcome, OutputCommitment, Outputs, Probe,
};
use handoff_ledger::slice::Question;
use handoff_ledger::types::{Ascending, Digest, Seq};
use machine::{Machine, OS_AXIS, Person};
use std::time::{Duration, Instant};

/// Events of the short and of the long ledger.
const SIZES: [u64; 2] = [1_000, 100_000];
/// How often each command is run on each ledger.
const TURNS: usize = 15;
/// At most this many times what it costs on the short ledger.
const GOAL: f64 = 1.5;
/// How many events the filler of one transaction has, about.
const BATCH: u64 = 2_000;
/// How many other keys write.
const KEYS: u8 = 8;

/// What makes the ledger long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filler {
    /// Sealed sessions of other keys, each inheriting the one before.
    Sessions,
    /// Receipts of the session that asks.
    Receipts,
}

/// A ledger of some size, with a session that has inherited and verified.
struct Sample {
    machine: Machine,
    root: Person,
    session: String,
}

impl Sample {
    fn new(filler: Filler, size: u64) -> Sample {
        let (machine, root) = Machine::with_ledger();
        let first = root.opens("first");
        work(&root, &first, "first");
        root.does(&["--session", &first, "ambient", "--none"]);
        root.does(&["--session", &first, "seal"]);
        let resumed = root.does(&["resume", "--agent", "second"]);
        let session = resumed["session"].to_string();
        work(&root, &session, "second");
        let sample = Sample {
            machine,
            root,
            session,
        };
        match filler {
            Filler::Sessions => sample.fill_with_sessions(size),
            Filler::Receipts => sample.fill_with_receipts(size),
        }
        sample
    }

    fn number(&self) -> Seq {
        Seq(self.session.parse().unwrap())
    }

    fn fill_with_sessions(&self, size: u64) {
        let mut ledger = self.root.ledger(&self.machine.file());
        let keys: Vec<SigningKey> = (1..=KEYS).map(|n| SigningKey::from_seed([n; 32])).collect();
        let root = self.root.key();
        append(&mut ledger, &root, &Question::default(), |pen| {
            for (key, number) in keys.iter().zip(1..) {
                let authorized = KeyAuthorized {
                    key: key.public(),
                    label: format!("key-{number}").parse().unwrap(),
                    roles: Ascending::from_unordered([Role::Recorder]),
                };
                pen.write(Seq::ZERO, authorized)?;
            }
            Ok(())
        });
        let mut previous = None;
        for key in keys.iter().cycle() {
            let left = size.saturating_sub(ledger.head().unwrap().seq.0 + 1);
            if left == 0 {
                break;
            }
            let question = Question {
                cited: previous.into_iter().collect(),
                ..Question::default()
            };
            let batch = left.min(BATCH);
            append(&mut ledger, key, &question, |pen| {
                let end = pen.next().0 + batch;
                while pen.next().0 < end {
                    previous = Some(other_session(pen, previous)?);
                }
                Ok(())
            });
        }
    }

    fn fill_with_receipts(&self, size: u64) {
        let mut ledger = self.root.ledger(&self.machine.file());
        let (root, session) = (self.root.key(), self.number());
        let question = Question {
            session: Some(session),
            ..Question::default()
        };
        let scope = ledger.ask(&question).unwrap().sessions()[&session]
            .opened
            .body
            .scope;
        loop {
            let left = size.saturating_sub(ledger.head().unwrap().seq.0 + 1);
            if left == 0 {
                break;
            }
            append(&mut ledger, &root, &question, |pen| {
                for _ in 0..left.min(BATCH) {
                    // One probe again and again, and ever new ones.
                    let number = pen.next().0;
                    let of = if number % 2 == 0 { 0 } else { number };
                    pen.write(session, receipt(&probe(of), scope))?;
                }
                Ok(())
            });
        }
    }

    /// How long a command takes, in milliseconds.
    fn time(&self, arguments: &[&str], exit: i32) -> f64 {
        let started = Instant::now();
        let answer = self.root.run(arguments);
        let taken = started.elapsed();
        assert_eq!(answer.exit, Some(exit), "{arguments:?}: {answer:?}");
        milliseconds(taken)
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Two axes and four claims.
fn work(person: &Person, session: &str, name: &str) {
    let says = |arguments: &[&str]| {
        person.does(&[&["--session", session], arguments].concat());
    };
    says(&OS_AXIS);
    says(&[
        "axis",
        "arch",
        "--class",
        "execution_topology",
        "--check",
        "arch",
    ]);
    for number in 1..=4 {
        let (claim, statement) = (format!("{name}-{number}"), format!("{name} {number} is so"));
        says(&[
            "claim", &claim, &statement, "--needs", "os,arch", "--expect", "value=4", "--", "cat",
            "answer",
        ]);
    }
}

fn append(
    ledger: &mut handoff_ledger::home::view::OwnLedger,
    key: &SigningKey,
    question: &Question,
    work: impl FnOnce(&mut Pen<'_>) -> Result<(), LedgerError>,
) {
    let appended: Result<_, LedgerError> = ledger.append(key, clock::now, question, work);
    appended.unwrap();
}

fn probe(number: u64) -> Probe {
    let argv = ["look-at", &number.to_string()].map(str::to_owned);
    Probe::new(Definition {
        expect: vec!["value=ok".parse().unwrap()],
        ..Definition::command(argv)
    })
    .unwrap()
}

fn receipt(probe: &Probe, scope: Digest) -> ProbeReceipt {
    let committed = Committed {
        commitment: hash::commitment(&[1; 16], b"ok"),
        length: 2,
    };
    let stream = OutputCommitment {
        kept: committed,
        whole: committed,
    };
    let judge = |expectation| Judgement {
        met: true,
        met_by_empty: probe_spec::met_by_empty(probe.extract(), expectation).unwrap(),
    };
    ProbeReceipt {
        begun: None,
        compared: Vec::new(),
        duration_ms: 5,
        executable: None,
        expectations: probe.expect().iter().map(judge).collect(),
        extracted: true,
        files: Vec::new(),
        outcome: Outcome::Exited(0),
        outputs: Some(Outputs {
            stderr: stream,
            stdout: stream,
        }),
        pipe_held: false,
        probe: probe.clone(),
        probe_digest: probe.digest(),
        redacted: None,
        scope,
        value: Some("ok".parse().unwrap()),
    }
}

/// A sealed session with some receipts, an axis and a claim.
fn other_session(pen: &mut Pen<'_>, previous: Option<Seq>) -> Result<Seq, LedgerError> {
    let scope = Digest([3; 32]);
    let opened = SessionOpened {
        agent: "other".parse().unwrap(),
        inherits: Ascending::from_unordered(previous),
        purpose: None,
        scope,
    };
    let session = pen.write(Seq::ZERO, opened)?;
    let of_axis = probe(session.0);
    let seen = pen.write(session, receipt(&of_axis, scope))?;
    let recorded = AxisRecorded {
        axis: "os".parse().unwrap(),
        class: AxisClass::ExecutionTopology,
        comparator: Comparator::Exact,
        max_age_ms: None,
        receipt: seen,
    };
    let axis = pen.write(session, recorded)?;
    for number in 0..14 {
        pen.write(session, receipt(&probe(session.0 + number + 1), scope))?;
    }
    let proof = pen.write(session, receipt(&probe(0), scope))?;
    pen.write(session, receipt(&of_axis, scope))?;
    let verified = ClaimVerified {
        claim: format!("other-{session}").parse().unwrap(),
        from: Ascending::default(),
        independent: None,
        needs: Ascending::from_unordered([axis]),
        receipts: Ascending::from_unordered([proof]),
        statement: format!("session {session} found it so").parse().unwrap(),
    };
    pen.write(session, verified)?;
    pen.write(
        session,
        AmbientDeclared {
            entries: Vec::new(),
        },
    )?;
    command::seal(pen, session)?;
    Ok(session)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(filler: Filler) {
    println!("\nfiller: {filler:?}");
    let samples = SIZES.map(|size| {
        let started = Instant::now();
        let sample = Sample::new(filler, size);
        let events = sample
            .root
            .ledger(&sample.machine.file())
            .head()
            .unwrap()
            .seq
            .0
            + 1;
        println!(
            "  {events} events written in {:.1} s",
            started.elapsed().as_secs_f64()
        );
        sample
    });
    println!(
        "  {:24} {:>10} {:>10} {:>7}",
        "median of turns", "short", "long", "ratio"
    );
    let claims = ["first-1", "first-2", "second-1", "second-2"];
    let mut missed = Vec::new();
    for name in [
        "head",
        "can",
        "can (session found)",
        "axis",
        "claim",
        "seal refused",
    ] {
        let mut times = SIZES.map(|_| Vec::new());
        for turn in 0..TURNS {
            for (sample, times) in samples.iter().zip(&mut times) {
                let session = ["--session", sample.session.as_str()];
                let claim = format!("turn-{turn}");
                let statement = format!("turn {turn} went well");
                let axis = OS_AXIS;
                let new = [
                    "claim", &claim, &statement, "--needs", "os,arch", "--from", "first-1",
                    "--expect", "value=4", "--", "cat", "answer",
                ];
                let (arguments, exit): (Vec<&str>, i32) = match name {
                    "head" => (vec!["head"], 0),
                    "can" => ([&session[..], &["can"], &claims].concat(), 0),
                    "can (session found)" => ([&["can"][..], &claims].concat(), 0),
                    "axis" => ([&session[..], &axis].concat(), 0),
                    "claim" => ([&session[..], &new].concat(), 0),
                    _ => ([&session[..], &["seal"]].concat(), 1),
                };
                times.push(sample.time(&arguments, exit));
            }
        }
        let [short, long] = times.map(median);
        println!(
            "  {name:24} {short:7.1} ms {long:7.1} ms {:6.2}x",
            long / short
        );
        if long / short > GOAL && name != "seal refused" {
            missed.push(name);
        }
    }
    let view = samples[1].root.view(&samples[1].machine.id());
    std::fs::remove_file(view).unwrap();
    println!(
        "  first view of the long ledger: {:.1} s",
        samples[1].time(&["head"], 0) / 1000.0
    );
    println!("  goal {GOAL}x missed by: {missed:?}");
}

fn main() {
    for filler in [Filler::Sessions, Filler::Receipts] {
        measure(filler);
    }
}
