//! The bytes of a whole ledger, with every kind of event: the same for ever.
//!
//! `HANDOFF_WRITE_GOLDEN=1` writes the file anew, for a format that was changed on purpose.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use handoff_ledger::append::{Ledger, LedgerError, genesis};
use handoff_ledger::command;
use handoff_ledger::event::{
    ActionFinished, ActionGated, AmbientDeclared, AmbientEntry, AxisClass, AxisRecorded, Body,
    BoundaryReverified, CaptureErased, ClaimDiscarded, ClaimFlagged, ClaimPromoted,
    ClaimPromotionRefused, ClaimRetracted, ClaimVerified, Compared, Comparison, Directive,
    DiscardWhy, Event, EventAcknowledged, FlagNeed, GateDecision, KINDS, KeyAuthorized, KeyRevoked,
    LedgerOpened, LedgerUpgraded, NotProbedWhy, Policy, ProbeBegun, ProbeReceipt,
    PromotionRefusedWhy, Redacted, ReverifiedEntry, Role, SessionAbandoned, SessionOpened,
};
use handoff_ledger::export::{self, ExportedCapture};
use handoff_ledger::hash;
use handoff_ledger::key::SigningKey;
use handoff_ledger::probe_spec::{
    self, Committed, Comparator, Definition, FileDigest, Judgement, Outcome, OutputCommitment,
    Outputs, Probe,
};
use handoff_ledger::slice::Question;
use handoff_ledger::store::index::IndexFile;
use handoff_ledger::store::memory::MemoryLedger;
use handoff_ledger::store::{Read, Record, Store, StoreError, Transaction};
use handoff_ledger::types::{Ascending, Digest, Leaf, Seq, Text, Time, Value};
use std::collections::BTreeSet;
use std::path::Path;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/ledger.jsonl");
const SCOPE: Digest = Digest([0x5c; 32]);
const SALT: [u8; 16] = [0x5a; 16];

fn text(text: &str) -> Text {
    text.parse().unwrap()
}

fn value(text: &str) -> Value {
    text.parse().unwrap()
}

fn ids<T: Ord + std::str::FromStr<Err: std::fmt::Debug>>(ids: &[&str]) -> Ascending<T> {
    Ascending::from_unordered(ids.iter().map(|id| id.parse().unwrap()))
}

fn seqs(seqs: &[Seq]) -> Ascending<Seq> {
    Ascending::from_unordered(seqs.iter().copied())
}

/// A ledger in memory that is written with a fixed clock: one second from event to event.
struct Writer {
    ledger: Ledger<MemoryLedger, IndexFile>,
    captures: Vec<ExportedCapture>,
    _folder: tempfile::TempDir,
}

fn time_of(seq: Seq) -> Time {
    let start: Time = "2026-01-02T03:04:05.678Z".parse().unwrap();
    Time::from_ms(start.ms() + i64::try_from(seq.0).unwrap() * 1000)
}

impl Writer {
    fn new(root: &SigningKey) -> Writer {
        let opened = LedgerOpened {
            name: "golden".parse().unwrap(),
            nonce: Digest([7; 32]),
            policy: Policy {
                asserted_values: false,
                four_eyes: false,
            },
            rules: 1,
        };
        let (record, _) = genesis(root, time_of(Seq::ZERO), opened.into()).unwrap();
        let mut store = MemoryLedger::new();
        let begun: Result<(), StoreError> =
            store.transact(|tx: &mut dyn Transaction| tx.append(&[record], &[]));
        begun.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let index = IndexFile::open(&folder.path().join("index.db")).unwrap();
        Writer {
            ledger: Ledger::open(store, index).unwrap(),
            captures: Vec::new(),
            _folder: folder,
        }
    }

    fn next(&self) -> Seq {
        self.ledger.head().unwrap().seq.next()
    }

    fn write(&mut self, key: &SigningKey, session: Seq, body: impl Into<Body>) -> Seq {
        let body = body.into();
        let event = Event {
            seq: Seq::ZERO,
            prev: Leaf::ZERO,
            key: key.public(),
            session,
            time: time_of(Seq::ZERO),
            body: body.clone(),
        };
        let (time, kind) = (time_of(self.next()), body.kind().to_owned());
        let question = Question::of(&event);
        let appended = self
            .ledger
            .append(key, || time, &question, |pen| pen.write(session, body));
        let outcome: Result<_, LedgerError> = appended;
        outcome
            .unwrap_or_else(|error| panic!("{kind}: {error}"))
            .outcome
    }

    /// Seals as the program does: with counts and digest of the boundary record.
    fn seal(&mut self, key: &SigningKey, session: Seq) -> Seq {
        let question = Question {
            session: Some(session),
            boundary: true,
            ..Question::default()
        };
        let time = time_of(self.next());
        let sealed: Result<_, LedgerError> =
            self.ledger
                .append(key, || time, &question, |pen| command::seal(pen, session));
        sealed.unwrap().outcome.0
    }

    /// Output that is kept, or of a redacted value its salt alone.
    fn keep(&mut self, bytes: &[u8], redacted: bool) -> Digest {
        let commitment = hash::commitment(&SALT, bytes);
        self.captures.push(ExportedCapture {
            commitment,
            bytes: (!redacted).then(|| bytes.to_vec()),
            salt: SALT,
        });
        commitment
    }
}

fn command_probe(argv: &[&str], expect: &[&str]) -> Probe {
    Probe::new(Definition {
        expect: expect.iter().map(|each| each.parse().unwrap()).collect(),
        ..Definition::command(argv.iter().map(|word| (*word).to_owned()))
    })
    .unwrap()
}

fn native(check: &str) -> Probe {
    Probe::new(Definition::check(check.parse().unwrap())).unwrap()
}

fn redacting(argv: &[&str]) -> Probe {
    let definition = command_probe(argv, &[]).definition().clone();
    Probe::new(Definition {
        redact: true,
        ..definition
    })
    .unwrap()
}

fn outputs(stdout: &[u8]) -> Outputs {
    let stream = |bytes: &[u8]| {
        let committed = Committed {
            commitment: hash::commitment(&SALT, bytes),
            length: u64::try_from(bytes.len()).unwrap(),
        };
        OutputCommitment {
            kept: committed,
            whole: committed,
        }
    };
    Outputs {
        stderr: stream(b""),
        stdout: stream(stdout),
    }
}

fn executable() -> FileDigest {
    FileDigest {
        digest: Digest([0xee; 32]),
        path: "/usr/bin/check".to_owned(),
    }
}

/// What was seen when a probe ran and printed `found`.
fn receipt(probe: &Probe, outcome: Outcome, found: &str) -> ProbeReceipt {
    let shown = (!probe.redact()).then_some(found);
    let judge = |expectation| Judgement {
        met: probe_spec::recomputable(probe, expectation, shown, &outcome).unwrap_or(true),
        met_by_empty: probe_spec::met_by_empty(probe.extract(), expectation).unwrap_or(false),
    };
    ProbeReceipt {
        begun: None,
        compared: Vec::new(),
        duration_ms: 12,
        executable: probe.check().is_none().then(executable),
        expectations: probe.expect().iter().map(judge).collect(),
        extracted: true,
        files: Vec::new(),
        outcome,
        outputs: probe.check().is_none().then(|| outputs(found.as_bytes())),
        pipe_held: false,
        probe: probe.clone(),
        probe_digest: probe.digest(),
        redacted: probe.redact().then(|| Redacted {
            commitment: hash::commitment(&SALT, found.as_bytes()),
            salt_digest: hash::salt(&SALT),
        }),
        scope: SCOPE,
        value: shown.map(value),
    }
}

fn axis(name: &str, comparator: Comparator, receipt: Seq) -> AxisRecorded {
    AxisRecorded {
        axis: name.parse().unwrap(),
        class: AxisClass::ExecutionTopology,
        comparator,
        max_age_ms: None,
        receipt,
    }
}

fn flag(claim: &str, step: &Probe, os: &Probe) -> ClaimFlagged {
    ClaimFlagged {
        claim: claim.parse().unwrap(),
        derivation: value("read in the manual, \u{201c}§ 4\u{201d}"),
        directive: Directive {
            do_not_act_on: claim.parse().unwrap(),
            until_probe: step.digest(),
        },
        executable: Some(executable()),
        files: Vec::new(),
        independent: None,
        met_by_empty: vec![false],
        needs: vec![FlagNeed {
            axis: "os".parse().unwrap(),
            comparator: Some(Comparator::Exact),
            probe_digest: Some(os.digest()),
        }],
        statement: text(&format!("{claim} is likely so")),
        step: step.clone(),
        step_digest: step.digest(),
    }
}

fn verified(claim: &str, receipt: Seq, needs: &[Seq], from: &[&str]) -> ClaimVerified {
    ClaimVerified {
        claim: claim.parse().unwrap(),
        from: ids(from),
        independent: needs.is_empty().then(|| text("it is arithmetic")),
        needs: seqs(needs),
        receipts: seqs(&[receipt]),
        statement: text(&format!("{claim} is so")),
    }
}

/// The probes of the story.
struct Probes {
    os: Probe,
    token: Probe,
    sum: Probe,
    step: Probe,
}

fn probes() -> Probes {
    Probes {
        os: native("os"),
        token: redacting(&["print-token"]),
        sum: command_probe(&["cat", "answer"], &["value=4"]),
        step: command_probe(&["check", "migrations"], &["value=ok"]),
    }
}

/// What the first session leaves: its axes and its flag.
struct Left {
    session: Seq,
    os: Seq,
    token: Seq,
    flag: Seq,
}

fn first_session(writer: &mut Writer, root: &SigningKey, probes: &Probes) -> Left {
    let done = Outcome::Exited(0);
    let opened = SessionOpened {
        agent: "first".parse().unwrap(),
        inherits: Ascending::default(),
        purpose: Some(text("to find out")),
        scope: SCOPE,
    };
    let session = writer.write(root, Seq::ZERO, opened);
    let os = receipt(&probes.os, Outcome::Checked, "linux");
    let seen = writer.write(root, session, os.clone());
    let os_axis = writer.write(root, session, axis("os", Comparator::Exact, seen));
    let seen = writer.write(root, session, receipt(&probes.token, done, "secret"));
    let token = writer.write(root, session, axis("token", Comparator::Exact, seen));
    let proof = writer.write(root, session, receipt(&probes.sum, done, "4"));
    writer.write(root, session, os);
    writer.write(root, session, verified("sum", proof, &[os_axis], &[]));
    writer.write(root, session, verified("wrong", proof, &[], &["sum"]));
    let retracted = ClaimRetracted {
        claims: ids(&["wrong"]),
        reason: text("it was wrong"),
        receipt: Some(proof),
    };
    writer.write(root, session, retracted);
    let flagged = writer.write(root, session, flag("migrated", &probes.step, &probes.os));
    let other = writer.write(root, session, flag("doubtful", &probes.step, &probes.os));
    let withdrawn = ClaimDiscarded {
        claim: "doubtful".parse().unwrap(),
        flag: Some(other),
        reason: Some(text("not worth it")),
        statement: text("doubtful is likely so"),
        why: DiscardWhy::Withdrawn,
    };
    writer.write(root, session, withdrawn);
    let vacuous = ClaimDiscarded {
        claim: "idle".parse().unwrap(),
        flag: None,
        reason: None,
        statement: text("it will be fine"),
        why: DiscardWhy::NoDerivation,
    };
    writer.write(root, session, vacuous);
    let entry = |name: &str, observed: &[&str]| AmbientEntry {
        name: name.parse().unwrap(),
        observed: observed.iter().map(|seen| value(seen)).collect(),
        reason: text("it varies and means nothing"),
    };
    let entries = vec![entry("hostname", &["a", "b"]), entry("load", &[])];
    writer.write(root, session, AmbientDeclared { entries });
    writer.seal(root, session);
    Left {
        session,
        os: os_axis,
        token,
        flag: flagged,
    }
}

fn second_session(writer: &mut Writer, key: &SigningKey, probes: &Probes, left: &Left) {
    let done = Outcome::Exited(0);
    let opened = SessionOpened {
        agent: "second".parse().unwrap(),
        inherits: seqs(&[left.session]),
        purpose: None,
        scope: SCOPE,
    };
    let session = writer.write(key, Seq::ZERO, opened);
    let os = receipt(&probes.os, Outcome::Checked, "linux");
    let seen = writer.write(key, session, os.clone());
    let secret = ProbeReceipt {
        compared: vec![Compared {
            axis: left.token,
            result: Comparison::Same,
        }],
        ..receipt(&probes.token, done, "secret")
    };
    writer.write(key, session, secret);
    let entry = |axis, receipt, unverifiable| ReverifiedEntry {
        asserted: None,
        axis,
        receipt,
        unverifiable,
    };
    let entries = vec![
        entry(left.os, Some(seen), None),
        entry(left.token, None, Some(NotProbedWhy::NotRun)),
    ];
    writer.write(key, session, BoundaryReverified { entries });
    let begun = ProbeBegun {
        claim: "migrated".parse().unwrap(),
        flag: left.flag,
        probe_digest: probes.step.digest(),
    };
    let first = writer.write(key, session, begun.clone());
    let failed = ProbeReceipt {
        begun: Some(first),
        ..receipt(&probes.step, Outcome::Exited(1), "not ok")
    };
    let failed = writer.write(key, session, failed);
    let refused = ClaimPromotionRefused {
        claim: "migrated".parse().unwrap(),
        flag: left.flag,
        receipt: failed,
        why: PromotionRefusedWhy::ProbeFailed,
    };
    writer.write(key, session, refused);
    let again = writer.write(key, session, begun);
    let shown = ProbeReceipt {
        begun: Some(again),
        ..receipt(&probes.step, done, "ok")
    };
    let shown = writer.write(key, session, shown);
    writer.write(key, session, os);
    let promoted = ClaimPromoted {
        claim: "migrated".parse().unwrap(),
        flag: left.flag,
        from: ids(&["sum"]),
        independent: None,
        needs: seqs(&[left.os]),
        receipt: shown,
    };
    writer.write(key, session, promoted);
    let gated = ActionGated {
        argv: vec![value("deploy"), value("--now")],
        claims: ids(&["migrated", "sum"]),
        decision: GateDecision::Allowed,
    };
    let gate = writer.write(key, session, gated);
    let finished = ActionFinished {
        gate,
        outcome: Outcome::Signaled(9),
    };
    writer.write(key, session, finished);
    writer.write(
        key,
        session,
        AmbientDeclared {
            entries: Vec::new(),
        },
    );
    writer.seal(key, session);
}

fn ending(writer: &mut Writer, root: &SigningKey, other: &SigningKey, commitment: Digest) {
    let opened = SessionOpened {
        agent: "third".parse().unwrap(),
        inherits: Ascending::default(),
        purpose: None,
        scope: SCOPE,
    };
    let session = writer.write(other, Seq::ZERO, opened);
    let abandoned = SessionAbandoned {
        reason: text("it hung"),
        session,
    };
    writer.write(root, Seq::ZERO, abandoned);
    let erased = CaptureErased {
        commitments: Ascending::from_unordered([commitment]),
        reason: text("it held a name"),
    };
    writer.write(root, Seq::ZERO, erased);
    let revoked = KeyRevoked {
        compromised_since: Some(session),
        key: other.public(),
        reason: text("the laptop was lost"),
    };
    writer.write(root, Seq::ZERO, revoked);
    let acknowledged = EventAcknowledged {
        reason: text("nothing is refused"),
        up_to: session,
    };
    writer.write(root, Seq::ZERO, acknowledged);
    writer.write(root, Seq::ZERO, LedgerUpgraded { rules: 2, v: 2 });
}

/// The ledger of the story, record by record, and as an export.
fn story() -> (Vec<Record>, String) {
    let (root, other) = (
        SigningKey::from_seed([1; 32]),
        SigningKey::from_seed([2; 32]),
    );
    let mut writer = Writer::new(&root);
    let authorized = KeyAuthorized {
        key: other.public(),
        label: "builder".parse().unwrap(),
        roles: Ascending::from_unordered([Role::Recorder]),
    };
    writer.write(&root, Seq::ZERO, authorized);
    let probes = probes();
    let left = first_session(&mut writer, &root, &probes);
    second_session(&mut writer, &other, &probes, &left);
    let erased = writer.keep(b"4", false);
    writer.keep(b"secret", true);
    ending(&mut writer, &root, &other, erased);

    let head = writer.ledger.head().unwrap();
    let rows = writer.ledger.store().scan(Seq::ZERO, usize::MAX).unwrap();
    let records: Vec<Record> = rows.into_iter().map(|(_, record)| record).collect();
    let mut text = export::header(&head);
    for record in &records {
        text.push_str(&export::event_line(&record.0).unwrap());
    }
    for capture in &writer.captures {
        text.push_str(&export::capture_line(capture));
    }
    (records, text)
}

#[test]
fn a_whole_ledger_has_the_bytes_it_always_had() {
    let (records, export) = story();
    let kinds: BTreeSet<String> = records
        .iter()
        .map(|record| {
            let json: serde_json::Value =
                serde_json::from_slice(record.event_bytes().unwrap()).unwrap();
            json["kind"].as_str().unwrap().to_owned()
        })
        .collect();
    let all: BTreeSet<String> = KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(kinds, all, "the story holds every kind");
    if std::env::var_os("HANDOFF_WRITE_GOLDEN").is_some() {
        std::fs::write(Path::new(GOLDEN), &export).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    for (line, (expected, found)) in golden.lines().zip(export.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", line + 1);
    }
    assert_eq!(export, golden);
}

/// The text of a few events, written out: no library's option may change a byte of them.
#[test]
fn the_text_of_an_event_is_this() {
    let (records, _) = story();
    for (seq, expected) in [
        (
            0,
            concat!(
                r#"{"body":{"name":"golden","nonce":"07070707070707070707070707070707"#,
                r#"07070707070707070707070707070707","policy":{"asserted_values":false,"#,
                r#""four_eyes":false},"rules":1},"key":"8a88e3dd7409f195fd52db2d3cba5d72"#,
                r#"ca6709bf1d94121bf3748801b40f6f5c","kind":"ledger.opened","prev":"#,
                r#""0000000000000000000000000000000000000000000000000000000000000000","#,
                r#""seq":0,"session":0,"time":"2026-01-02T03:04:05.678Z","v":1}"#,
            ),
        ),
        (
            1,
            concat!(
                r#"{"body":{"key":"8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b"#,
                r#"8fc9b394","label":"builder","roles":["recorder"]},"key":"8a88e3dd7409f195"#,
                r#"fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c","kind":"key.authorized","#,
                r#""prev":"7a0c0408e486d9dbe4ce940c73fa6908895dc86ce518c94b69d45402afbc669a","#,
                r#""seq":1,"session":0,"time":"2026-01-02T03:04:06.678Z","v":1}"#,
            ),
        ),
        (
            4,
            concat!(
                r#"{"body":{"axis":"os","class":"execution_topology","comparator":"exact","#,
                r#""receipt":3},"key":"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf374"#,
                r#"8801b40f6f5c","kind":"axis.recorded","prev":"794cd71a0a48f1279e257448295d"#,
                r#"24fb282acb3350a79efffca3d739229afe99","seq":4,"session":2,"#,
                r#""time":"2026-01-02T03:04:09.678Z","v":1}"#,
            ),
        ),
        (
            9,
            concat!(
                r#"{"body":{"claim":"sum","from":[],"needs":[4],"receipts":[7],"statement":"#,
                r#""sum is so"},"key":"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf374"#,
                r#"8801b40f6f5c","kind":"claim.verified","prev":"5817756ef0dd1289e4a734413d93"#,
                r#"e105ff8f611dd1e70a11f0c36c83d3ac9165","seq":9,"session":2,"#,
                r#""time":"2026-01-02T03:04:14.678Z","v":1}"#,
            ),
        ),
    ] {
        let text = std::str::from_utf8(records[seq].event_bytes().unwrap()).unwrap();
        assert_eq!(text, expected);
    }
}
