//! Every alteration of a proof is rejected, but for those of lines that mean nothing to the reader.
//!
//! The table of alterations is run with a verifier given to it, so that one that forgets a check can
//! be shown to be caught.

use super::cli_support::Machine;
use super::made::{COSIGNED, Made, cosigned, root, witness, witness_key};
use handoff_ledger::checkpoint::Vouched;
use handoff_ledger::proof::{InclusionProof, Proof};
use handoff_ledger::proof_report::{self, Trusted};
use handoff_ledger::verify::Verification;

/// What an accepted proof tells its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Meaning {
    /// The record and its position, or the older size.
    what: (Vec<u8>, u64),
    checkpoint: String,
    vouched: Vouched,
}

impl Meaning {
    fn of(proof: &InclusionProof, vouched: Vouched) -> Meaning {
        Meaning {
            what: (proof.record.clone(), proof.index.0),
            checkpoint: proof.checkpoint.note().text().to_owned(),
            vouched,
        }
    }
}

/// A reader of proofs: what it makes of a text that it accepts.
type Reader<'a> = &'a dyn Fn(&[u8]) -> Option<Meaning>;

/// One text that differs from a proof, and where it begins to.
struct Altered {
    what: String,
    at: usize,
    text: Vec<u8>,
}

fn alterations(proof: &[u8]) -> Vec<Altered> {
    let mut all = Vec::new();
    let mut add = |what: String, at: usize, text: Vec<u8>| all.push(Altered { what, at, text });
    for at in 0..proof.len() {
        // One bit tells most characters of base64 apart, the others take turns.
        for bit in [0, 1 + at % 7] {
            let mut flipped = proof.to_vec();
            flipped[at] ^= 1 << bit;
            add(format!("bit {bit} of byte {at}"), at, flipped);
        }
        let mut without = proof.to_vec();
        without.remove(at);
        add(format!("without byte {at}"), at, without);
        let mut twice = proof.to_vec();
        twice.insert(at, proof[at]);
        add(format!("byte {at} twice"), at, twice);
        add(
            format!("cut off before byte {at}"),
            at,
            proof[..at].to_vec(),
        );
    }
    for surplus in [
        &b"\n"[..],
        b" ",
        b"\0",
        b"x\n",
        "\u{2014} x AAAA\n".as_bytes(),
    ] {
        let more = [proof, surplus].concat();
        add(format!("followed by {surplus:?}"), proof.len(), more);
    }
    let lines: Vec<&[u8]> = proof.split_inclusive(|byte| *byte == b'\n').collect();
    for number in 0..lines.len() {
        let at = lines[..number].concat().len();
        let mut dropped = lines.clone();
        dropped.remove(number);
        add(format!("without line {number}"), at, dropped.concat());
        let mut twice = lines.clone();
        twice.insert(number, lines[number]);
        add(format!("line {number} twice"), at, twice.concat());
        if number + 1 < lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(number, number + 1);
            add(
                format!("lines {number} and {} swapped", number + 1),
                at,
                swapped.concat(),
            );
        }
    }
    all.retain(|altered| altered.text != proof);
    all
}

/// The alterations that a reader accepts although it should not. It may accept one of the lines
/// from `unknown` on, which are of keys that it does not know, and signature lines twice or in
/// another order, if it takes the same from it.
fn wrongly_accepted(proof: &[u8], unknown: usize, reader: Reader<'_>) -> Vec<String> {
    let meaning = reader(proof).expect("the proof itself is accepted");
    let text = std::str::from_utf8(proof).unwrap();
    let signatures = text.find("\u{2014} ").unwrap();
    let mut wrong = Vec::new();
    for altered in alterations(proof) {
        let Some(found) = reader(&altered.text) else {
            continue;
        };
        // Of signatures neither the order nor the number of copies says anything.
        let whole_lines = altered.what.starts_with("line") && altered.at >= signatures;
        let is_lawful = altered.at >= unknown || whole_lines;
        if !is_lawful || found != meaning {
            wrong.push(altered.what);
        }
    }
    wrong
}

fn trusting(witnesses: &[u8]) -> Trusted {
    Trusted {
        keys: vec![root().public()],
        witnesses: witnesses.iter().map(|number| witness(*number)).collect(),
    }
}

fn strict(trusted: Trusted) -> impl Fn(&[u8]) -> Option<Meaning> {
    move |text| match Proof::parse(text).ok()? {
        Proof::Inclusion(proof) => {
            let report = proof_report::of_inclusion(&proof, &trusted);
            (report.result == Verification::Verified).then(|| Meaning::of(&proof, report.vouched))
        }
        Proof::Consistency(_) => None,
    }
}

#[test]
fn every_alteration_of_a_proof_is_rejected() {
    let made = Made::of("verified-handoff");
    for index in [0, made.size() - 1] {
        let proof = made.inclusion(index).to_string();
        let wrong = wrongly_accepted(proof.as_bytes(), proof.len(), &strict(trusting(&[])));
        assert_eq!(wrong, Vec::<String>::new(), "of event {index}");
    }
}

#[test]
fn every_alteration_of_a_proof_that_a_ledger_grew_is_rejected() {
    let made = Made::of("verified-handoff");
    for old_size in [5, 8, made.size()] {
        let old = made.checkpoint(old_size);
        let proof = made
            .consistency(old_size, made.checkpoint(made.size()))
            .to_string();
        let trusted = trusting(&[]);
        let reader = |text: &[u8]| match Proof::parse(text).ok()? {
            Proof::Consistency(proof) => {
                let report = proof_report::of_consistency(&proof, &old, &trusted);
                (report.result == Verification::Verified).then(|| Meaning {
                    what: (Vec::new(), proof.old),
                    checkpoint: proof.checkpoint.note().text().to_owned(),
                    vouched: report.vouched,
                })
            }
            Proof::Inclusion(_) => None,
        };
        let wrong = wrongly_accepted(proof.as_bytes(), proof.len(), &reader);
        assert_eq!(wrong, Vec::<String>::new(), "from {old_size}");
    }
}

#[test]
fn a_line_of_a_witness_counts_for_who_knows_it_and_means_nothing_to_others() {
    let made = Made::of("verified-handoff");
    let plain = made.inclusion(1).to_string();
    let checkpoint = cosigned(made.checkpoint(made.size()), &[1]);
    let proof = made.inclusion_at(1, made.size(), checkpoint).to_string();
    let stranger = strict(trusting(&[]));
    let wrong = wrongly_accepted(proof.as_bytes(), plain.len(), &stranger);
    assert_eq!(wrong, Vec::<String>::new());
    let knowing = strict(trusting(&[1]));
    let wrong = wrongly_accepted(proof.as_bytes(), proof.len(), &knowing);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(knowing(plain.as_bytes()), None, "the witness is demanded");
}

/// The negative control: readers that forget one check each are caught by the same table.
#[test]
fn a_reader_that_forgets_a_check_is_caught() {
    let made = Made::of("verified-handoff");
    let text = made.inclusion(5).to_string();
    let caught = |reader: Reader<'_>| wrongly_accepted(text.as_bytes(), text.len(), reader);
    let parsed = |text: &[u8]| match Proof::parse(text).ok()? {
        Proof::Inclusion(proof) => Some(proof),
        Proof::Consistency(_) => None,
    };
    let signed = |proof: &InclusionProof| {
        let vouched = proof.checkpoint.vouched([root().public()], &[]).ok()?;
        (!vouched.keys.is_empty()).then_some(vouched)
    };
    let without_root = |text: &[u8]| {
        let proof = parsed(text)?;
        proof.event().ok()?;
        Some(Meaning::of(&proof, signed(&proof)?))
    };
    let wrong = caught(&without_root);
    assert!(
        wrong.iter().any(|what| what.starts_with("without line")),
        "a hash less: {wrong:?}"
    );
    assert!(wrong.len() > 100, "{} of its hashes' bits", wrong.len());
    let without_signature = |text: &[u8]| {
        let proof = parsed(text)?;
        proof.event().ok()?;
        proof.included().ok()?;
        Some(Meaning::of(&proof, Vouched::default()))
    };
    assert!(caught(&without_signature).len() > 100);
    let without_event = |text: &[u8]| {
        let proof = parsed(text)?;
        proof.included().ok()?;
        Some(Meaning::of(&proof, signed(&proof)?))
    };
    // The leaf covers the record, so the event's own check adds nothing to flips of one proof; what
    // it adds is that the record is an event at all.
    assert_eq!(caught(&without_event), Vec::<String>::new());
    let mut forged = Made::of("verified-handoff");
    forged.records[5] = [&[7; 64][..], b"no event"].concat();
    forged.leaves[5] = handoff_ledger::hash::leaf(&forged.records[5]);
    let forged = forged.inclusion(5).to_string();
    assert!(without_event(forged.as_bytes()).is_some());
    assert_eq!(strict(trusting(&[]))(forged.as_bytes()), None);
}

#[test]
fn a_cosignature_under_another_time_is_rejected_with_the_whole_note() {
    let made = Made::of("verified-handoff");
    let mut checkpoint = made.checkpoint(made.size());
    let signature = witness_key(1).cosign(COSIGNED, &checkpoint.checkpoint().text());
    checkpoint.add(witness(1).line(Some(COSIGNED + 1), &signature));
    let proof = made.inclusion_at(1, made.size(), checkpoint).to_string();
    assert!(strict(trusting(&[]))(proof.as_bytes()).is_some());
    assert_eq!(strict(trusting(&[1]))(proof.as_bytes()), None);
}

/// The program itself, on a part of the table.
#[test]
fn the_program_verifies_no_alteration() {
    let machine = Machine::new();
    let mut reader = machine.agent("reader");
    reader.home = machine.path("no-such-home");
    let proof = Made::of("verified-handoff").inclusion(5).to_string();
    let file = machine.project().join("proof");
    let check = |text: &[u8]| {
        std::fs::write(&file, text).unwrap();
        reader.run(&format!(
            "--json verify-proof proof --trust {}",
            root().public()
        ))
    };
    let good = check(proof.as_bytes());
    assert_eq!(good.code, 0, "{good:?}");
    let all = alterations(proof.as_bytes());
    let step = all.len() / 60;
    for altered in all.iter().step_by(step) {
        let ran = check(&altered.text);
        let document = ran.json();
        match ran.code {
            4 => {
                assert_eq!(document["result"], "tampered", "{}", altered.what);
                assert!(!document["faults"].as_array().unwrap().is_empty());
            }
            // Under another origin, name or id the signature is one of a key that nobody knows.
            3 => {
                assert_eq!(document["result"], "self_consistent", "{}", altered.what);
                assert_eq!(document["checkpoint"]["keys"], serde_json::json!([]));
            }
            _ => panic!("{}: {ran:?}", altered.what),
        }
    }
}
