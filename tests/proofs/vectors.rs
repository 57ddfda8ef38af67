//! The vectors of proofs: what is expected of a proof, and the proof.
//!
//! The form is that of the other vectors: lines `name: value`, an empty line, and then the data.

use super::made::{COSIGNED, Made, alice, cosigned, root, witness, witness_key};
use handoff_ledger::checkpoint::{Checkpoint, SignedCheckpoint};
use handoff_ledger::note::{from_base64, to_base64};
use handoff_ledger::proof::Proof;
use handoff_ledger::proof_report::{self, Trusted};
use handoff_ledger::types::{Digest, LedgerId};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const DOCUMENT: &str = include_str!("../../ledger-format.md");
/// What stands above the rows of the index.
const INDEX_HEADER: &str = "| proof | expect | what it is about |\n|---|---|---|\n";

/// A vector: its name, and its text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What a proof comes to, and for whom.
#[derive(Default)]
struct Case {
    name: &'static str,
    comment: &'static str,
    expect: &'static str,
    faults: &'static [&'static str],
    trusted: Vec<handoff_ledger::types::PublicKey>,
    witnesses: Vec<u8>,
    old: Option<SignedCheckpoint>,
    proof: String,
}

impl Case {
    fn vector(self) -> Vector {
        let mut text = format!("expect: {}\n", self.expect);
        for fault in self.faults {
            writeln!(text, "fault: {fault}").unwrap();
        }
        for key in self.trusted {
            writeln!(text, "trust: {key}").unwrap();
        }
        for number in self.witnesses {
            writeln!(text, "witness: {}", witness(number)).unwrap();
        }
        if let Some(old) = self.old {
            writeln!(text, "old: {}", to_base64(old.to_string().as_bytes())).unwrap();
        }
        writeln!(
            text,
            "comment: {}\n\n{}",
            self.comment,
            self.proof.trim_end()
        )
        .unwrap();
        let name = self.name.to_owned();
        Vector { name, text }
    }
}

impl Vector {
    fn values(&self, name: &str) -> Vec<&str> {
        let (head, _) = self.text.split_once("\n\n").unwrap();
        let start = format!("{name}: ");
        let values = head.lines().filter_map(|line| line.strip_prefix(&start));
        values.collect()
    }

    /// The result and the faults, as the program finds them.
    fn judge(&self) -> (String, Vec<String>) {
        let (_, proof) = self.text.split_once("\n\n").unwrap();
        let trusted = Trusted {
            keys: self
                .values("trust")
                .iter()
                .map(|key| key.parse().unwrap())
                .collect(),
            witnesses: self
                .values("witness")
                .iter()
                .map(|key| key.parse().unwrap())
                .collect(),
        };
        let Ok(proof) = Proof::parse(proof.as_bytes()) else {
            return ("tampered".to_owned(), vec!["proof".to_owned()]);
        };
        let report = match &proof {
            Proof::Inclusion(proof) => proof_report::of_inclusion(proof, &trusted),
            Proof::Consistency(proof) => {
                let old = from_base64(self.values("old")[0]).unwrap();
                let old = SignedCheckpoint::parse(&old).unwrap();
                proof_report::of_consistency(proof, &old, &trusted)
            }
        };
        let faults = report.faults.iter().map(|fault| fault.kind.to_owned());
        (report.result.as_str().to_owned(), faults.collect())
    }

    fn row(&self) -> String {
        let expect = [self.values("expect"), self.values("fault")]
            .concat()
            .join(" ");
        format!(
            "| `{}` | {expect} | {} |\n",
            self.name,
            self.values("comment")[0]
        )
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/proof_vectors")
}

fn verified() -> Vec<Case> {
    let (made, one) = (Made::of("verified-handoff"), Made::of("verified-one-event"));
    let (size, trusted) = (made.size(), vec![root().public()]);
    let case = |name, comment, proof: String| Case {
        name,
        comment,
        proof,
        expect: "verified",
        trusted: trusted.clone(),
        ..Case::default()
    };
    let by_alice = SignedCheckpoint::sign(made.statement(size), &alice()).unwrap();
    let unknown = cosigned(made.checkpoint(size), &[3]);
    vec![
        case(
            "verified-inclusion-one",
            "of the one event there is",
            one.inclusion(0).to_string(),
        ),
        case(
            "verified-inclusion-first",
            "of the first event",
            made.inclusion(0).to_string(),
        ),
        case(
            "verified-inclusion-middle",
            "of an event",
            made.inclusion(5).to_string(),
        ),
        case(
            "verified-inclusion-last",
            "of the last event",
            made.inclusion(size - 1).to_string(),
        ),
        case(
            "verified-inclusion-earlier",
            "as of a checkpoint before the end",
            made.inclusion_at(1, 7, made.checkpoint(7)).to_string(),
        ),
        case(
            "verified-inclusion-unknown-line",
            "a line of a key that is not known is passed over",
            made.inclusion_at(5, size, unknown).to_string(),
        ),
        Case {
            witnesses: vec![1, 2],
            trusted: vec![],
            ..case(
                "verified-inclusion-witnesses",
                "nobody is trusted but two witnesses, who both cosigned",
                made.inclusion_at(5, size, cosigned(made.checkpoint(size), &[1, 2]))
                    .to_string(),
            )
        },
        Case {
            trusted: vec![alice().public()],
            ..case(
                "verified-inclusion-recorder",
                "the checkpoint is signed by a recorder who is trusted",
                made.inclusion_at(5, size, by_alice).to_string(),
            )
        },
        Case {
            old: Some(made.checkpoint(6)),
            ..case(
                "verified-consistency",
                "a ledger grew from 6 events, which is no power of two",
                made.consistency(6, made.checkpoint(size)).to_string(),
            )
        },
        Case {
            old: Some(made.checkpoint(8)),
            ..case(
                "verified-consistency-power",
                "a ledger grew from 8 events",
                made.consistency(8, made.checkpoint(size)).to_string(),
            )
        },
        Case {
            old: Some(made.checkpoint(size)),
            witnesses: vec![1],
            ..case(
                "verified-consistency-same",
                "a ledger is as it was, and a witness says so",
                made.consistency(size, cosigned(made.checkpoint(size), &[1]))
                    .to_string(),
            )
        },
        Case {
            trusted: vec![],
            expect: "self_consistent",
            ..case(
                "self_consistent-inclusion",
                "nobody is trusted",
                made.inclusion(5).to_string(),
            )
        },
    ]
}

fn tampered() -> Vec<Case> {
    let made = Made::of("verified-handoff");
    let (size, trusted) = (made.size(), vec![root().public()]);
    let case = |name, comment, faults, proof: String| Case {
        name,
        comment,
        proof,
        faults,
        expect: "tampered",
        trusted: trusted.clone(),
        ..Case::default()
    };
    let good = made.inclusion(5);
    let altered = |change: &dyn Fn(&mut handoff_ledger::proof::InclusionProof)| {
        let mut proof = good.clone();
        change(&mut proof);
        proof.to_string()
    };
    let spelled = |from: &str, to: &str| {
        let text = good.to_string();
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    // Signed for another size: a signature of a known key that is none over this text.
    let other = made.checkpoint(size - 1).to_string();
    let other_line = other.lines().last().unwrap();
    let own_line = good
        .checkpoint
        .to_string()
        .lines()
        .last()
        .unwrap()
        .to_owned();
    let mut late = made.checkpoint(size);
    let cosigned_then = witness_key(1).cosign(COSIGNED, &late.checkpoint().text());
    late.add(witness(1).line(Some(COSIGNED + 1), &cosigned_then));
    // Two histories that part after the first four events.
    let mut forked = Made::of("verified-handoff");
    forked.leaves[4].0[0] ^= 1;
    // The trees are those events' but for one leaf, or one id, that the event names otherwise.
    let other_ledger = Checkpoint {
        ledger: LedgerId([7; 32]),
        ..made.statement(size)
    };
    let other_ledger = SignedCheckpoint::sign(other_ledger, &root()).unwrap();
    let dangling = format!("{size}\n");
    vec![
        case(
            "tampered-inclusion-hash",
            "a hash is another",
            &["inclusion"],
            altered(&|it| {
                it.path[1].0[0] ^= 1;
            }),
        ),
        case(
            "tampered-inclusion-missing",
            "a hash is missing",
            &["inclusion"],
            altered(&|it| {
                it.path.pop();
            }),
        ),
        case(
            "tampered-inclusion-surplus",
            "a hash too many",
            &["inclusion"],
            altered(&|it| {
                it.path.push(Digest([7; 32]));
            }),
        ),
        case(
            "tampered-inclusion-record",
            "the record is another event's",
            &["seq", "link", "inclusion"],
            altered(&|it| it.record.clone_from(&made.records[6])),
        ),
        case(
            "tampered-inclusion-link",
            "the event before is another than the event names",
            &["link"],
            forked.inclusion(5).to_string(),
        ),
        case(
            "tampered-inclusion-ledger",
            "the second event names another first one than the checkpoint",
            &["link"],
            made.inclusion_at(1, size, other_ledger).to_string(),
        ),
        case(
            "tampered-inclusion-signature",
            "the event's signature is another",
            &["signature", "inclusion"],
            altered(&|it| it.record[3] ^= 1),
        ),
        case(
            "tampered-inclusion-index",
            "another position than the event's",
            &["seq", "inclusion"],
            spelled("\nindex 5\n", "\nindex 4\n"),
        ),
        case(
            "tampered-checkpoint-signature",
            "a trusted key's signature over another checkpoint",
            &["checkpoint"],
            spelled(&own_line, other_line),
        ),
        Case {
            witnesses: vec![1],
            ..case(
                "tampered-witness-missing",
                "a witness that was demanded did not cosign",
                &["witness"],
                good.to_string(),
            )
        },
        Case {
            witnesses: vec![1],
            ..case(
                "tampered-witness-time",
                "a cosignature under another time",
                &["checkpoint", "witness"],
                made.inclusion_at(5, size, late).to_string(),
            )
        },
        Case {
            old: Some(forked.checkpoint(6)),
            ..case(
                "tampered-consistency-fork",
                "the older checkpoint is of another history",
                &["consistency"],
                made.consistency(6, made.checkpoint(size)).to_string(),
            )
        },
        Case {
            old: Some(made.checkpoint(7)),
            ..case(
                "tampered-consistency-size",
                "the proof is from another size",
                &["consistency"],
                made.consistency(6, made.checkpoint(size)).to_string(),
            )
        },
        case(
            "tampered-proof-header",
            "another first line",
            &["proof"],
            spelled("tlog-proof@v1", "tlog-proof@v2"),
        ),
        case(
            "tampered-proof-extra",
            "no record",
            &["proof"],
            good.to_string()
                .lines()
                .filter(|it| !it.starts_with("extra "))
                .fold(String::new(), |text, line| text + line + "\n"),
        ),
        case(
            "tampered-proof-zero",
            "a position with a leading zero",
            &["proof"],
            spelled("\nindex 5\n", "\nindex 05\n"),
        ),
        case(
            "tampered-proof-space",
            "a space in the empty line",
            &["proof"],
            spelled("=\n\nhandoff-ledger/", "=\n \nhandoff-ledger/"),
        ),
        case(
            "tampered-proof-signature",
            "a line of a key that is not known, with no signature behind its key id",
            &["proof"],
            format!("{good}\u{2014} later.example/key AAAAAA==\n"),
        ),
        Case {
            old: Some(made.checkpoint(1)),
            ..case(
                "tampered-proof-first",
                "a checkpoint of one event whose root is not the ledger id",
                &["proof"],
                format!("old 1\n\n{}", made.false_first()),
            )
        },
        case(
            "tampered-proof-extension",
            "a checkpoint with a fourth line",
            &["proof"],
            spelled(&dangling, &format!("{size}\nextension\n")),
        ),
    ]
}

fn generated() -> Vec<Vector> {
    let mut all: Vec<Vector> = verified().into_iter().map(Case::vector).collect();
    all.extend(tampered().into_iter().map(Case::vector));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

pub(crate) fn committed() -> Vec<Vector> {
    let mut all: Vec<Vector> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            Vector { name, text }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[test]
fn the_committed_vectors_are_the_generated_ones() {
    let generated = generated();
    if std::env::var_os("HANDOFF_WRITE_VECTORS").is_some() {
        for vector in &generated {
            std::fs::write(folder().join(format!("{}.txt", vector.name)), &vector.text).unwrap();
        }
        let (before, rest) = DOCUMENT.split_once(INDEX_HEADER).unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        let rows: String = generated.iter().map(Vector::row).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/ledger-format.md");
        std::fs::write(path, format!("{before}{INDEX_HEADER}{rows}\n{after}")).unwrap();
        return;
    }
    assert_eq!(committed(), generated);
    let rows: String = generated.iter().map(Vector::row).collect();
    assert!(
        DOCUMENT.contains(&format!("{INDEX_HEADER}{rows}")),
        "the index of the document"
    );
}

#[test]
fn each_vector_is_judged_as_it_says() {
    let all = committed();
    assert!(all.len() > 20);
    for vector in all {
        let (result, faults) = vector.judge();
        assert_eq!(
            vec![result.as_str()],
            vector.values("expect"),
            "{}",
            vector.name
        );
        assert_eq!(faults, vector.values("fault"), "{}", vector.name);
    }
}

#[test]
fn what_is_read_is_printed_byte_for_byte() {
    for vector in committed() {
        let (_, text) = vector.text.split_once("\n\n").unwrap();
        if let Ok(proof) = Proof::parse(text.as_bytes()) {
            assert_eq!(proof.to_string(), text, "{}", vector.name);
        }
    }
}

#[test]
fn the_checkpoint_and_the_proof_of_the_document_stand_in_vectors() {
    let section = |start: &str| {
        let (_, rest) = DOCUMENT.split_once(start).unwrap();
        let (_, rest) = rest.split_once("```text\n").unwrap();
        rest.split_once("```").unwrap().0
    };
    for heading in ["\n## 19. Checkpoints\n", "\n### 20.1 ", "\n### 20.2 "] {
        let shown = section(heading);
        let stands = committed().iter().any(|vector| vector.text.contains(shown));
        assert!(stands, "{heading}");
    }
}

#[test]
fn the_example_of_a_checkpoint_verifies_with_another_program() {
    if Command::new("openssl").arg("version").output().is_err() {
        println!("openssl is not there: the example was not run");
        return;
    }
    let (_, section) = DOCUMENT.split_once("\n**With two shell tools.**").unwrap();
    let fenced = |language: &str| {
        let (_, rest) = section.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let run = |script: &str| {
        let folder = tempfile::tempdir().unwrap();
        let ran = Command::new("bash")
            .args(["-eu", "-o", "pipefail", "-c", script])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
    };
    assert_eq!(run(fenced("sh")), (true, fenced("text").to_owned()));
    let other = fenced("sh").replacen("time 1767657600", "time 1767657601", 1);
    assert!(!run(&other).0, "another time");
}
