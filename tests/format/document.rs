//! `ledger-format.md` against the program: it names all there is, and its example runs.

use handoff_ledger::chain::FaultKind;
use handoff_ledger::event::{
    AxisClass, Comparison, DiscardWhy, GateDecision, KINDS, NotProbedWhy, PromotionRefusedWhy, Role,
};
use handoff_ledger::export;
use handoff_ledger::format::DecodeError;
use handoff_ledger::key::{KeyFault, PAYLOAD_TYPE};
use handoff_ledger::refusal::Rule;
use handoff_ledger::types::{Leaf, Seq};
use handoff_ledger::verdict::{ClaimState, Reason, Verdict, Weak};
use std::process::{Command, Stdio};

const DOCUMENT: &str = include_str!("../../ledger-format.md");

/// What stands above the rows of the index of vectors.
const INDEX_HEADER: &str = "| vector | expect | what it is about |\n|---|---|---|\n";

/// The names of the faults, in the order in which they are checked.
pub(crate) fn faults() -> Vec<&'static str> {
    let (expected, found) = (Leaf::ZERO, Leaf::ZERO);
    let all = [
        FaultKind::Decode(DecodeError::Length { found: 0 }),
        FaultKind::Decode(DecodeError::Malformed {
            detail: String::new(),
        }),
        FaultKind::Decode(DecodeError::NotCanonical { at: 0 }),
        FaultKind::Seq {
            expected: Seq(1),
            found: Seq(0),
        },
        FaultKind::Link { expected, found },
        FaultKind::Genesis {
            found: String::new(),
        },
        FaultKind::Key(KeyFault::Torsion),
        FaultKind::Signature,
        FaultKind::Replaced { expected, found },
        FaultKind::Missing,
    ];
    all.iter().map(FaultKind::name).collect()
}

/// The part of the document under a heading, up to the next of its level.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(heading).expect(heading);
    rest.split("\n## ").next().unwrap()
}

/// What stands between fences of a language, in order.
fn fenced(text: &'static str, language: &str) -> &'static str {
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

fn all_stand_in(text: &str, names: impl IntoIterator<Item = &'static str>) {
    for name in names {
        assert!(text.contains(&format!("`{name}`")), "{name} is not named");
    }
}

#[test]
fn every_kind_and_every_value_of_a_closed_list_is_named() {
    let kinds = section("\n## 6. Kinds\n");
    all_stand_in(kinds, KINDS.iter().copied());
    all_stand_in(kinds, Role::ALL.iter().map(|it| it.as_str()));
    all_stand_in(kinds, AxisClass::ALL.iter().map(|it| it.as_str()));
    all_stand_in(kinds, Comparison::ALL.iter().map(|it| it.as_str()));
    all_stand_in(kinds, DiscardWhy::ALL.iter().map(|it| it.as_str()));
    all_stand_in(kinds, PromotionRefusedWhy::ALL.iter().map(|it| it.as_str()));
    all_stand_in(kinds, NotProbedWhy::ALL.iter().map(|it| it.as_str()));
    all_stand_in(kinds, GateDecision::ALL.iter().map(|it| it.as_str()));
}

#[test]
fn every_rule_is_named_with_the_events_it_refuses() {
    let rules = section("\n## 9. The rules\n");
    all_stand_in(rules, Rule::ALL.iter().map(|rule| rule.as_str()));
}

#[test]
fn every_verdict_reason_and_state_is_named() {
    let verdicts = section("\n## 10. Verdicts\n");
    all_stand_in(verdicts, Verdict::ALL.iter().map(|it| it.as_str()));
    all_stand_in(verdicts, Reason::ALL.iter().map(|it| it.as_str()));
    all_stand_in(verdicts, ClaimState::ALL.iter().map(|it| it.as_str()));
    all_stand_in(verdicts, Weak::ALL.iter().map(|it| it.as_str()));
}

#[test]
fn the_faults_stand_in_the_order_in_which_they_are_checked() {
    let table = section("\n## 7. The chain\n");
    let places: Vec<usize> = faults()
        .iter()
        .map(|fault| table.find(&format!("\n| `{fault}` |")).expect(fault))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    let keys = [
        KeyFault::NotAPoint,
        KeyFault::NotCanonical,
        KeyFault::SmallOrder,
        KeyFault::Torsion,
    ];
    all_stand_in(DOCUMENT, keys.map(KeyFault::code));
}

#[test]
fn the_constants_are_those_of_the_program() {
    all_stand_in(section("\n## 4. Formulas\n"), [PAYLOAD_TYPE]);
    let export = section("\n## 14. Export\n");
    assert!(export.contains(&format!("\"format\":\"{}\"", export::FORMAT)));
    assert_eq!(export::LINE_BYTES_MAX, 87_640);
    assert!(export.contains("87,640 bytes"));
    let schema = include_str!("../../migrations/0001_ledger.sql");
    assert_eq!(fenced(section("\n## 13. The ledger file\n"), "sql"), schema);
}

#[test]
fn every_link_within_the_document_leads_somewhere() {
    let anchors: Vec<String> = DOCUMENT
        .lines()
        .filter_map(|line| line.strip_prefix("## ").or(line.strip_prefix("### ")))
        .map(|title| title.to_lowercase().replace('.', "").replace(' ', "-"))
        .collect();
    for link in DOCUMENT.split("](#").skip(1) {
        let (anchor, _) = link.split_once(')').unwrap();
        assert!(anchors.iter().any(|known| known == anchor), "{anchor}");
    }
}

#[test]
fn the_index_lists_every_vector_as_it_says() {
    let index = section("\n## 18. Vectors\n");
    let (_, rows) = index.split_once(INDEX_HEADER).unwrap();
    let expected: String = crate::committed()
        .iter()
        .map(crate::vector::Vector::row)
        .collect();
    let rows = rows.trim_end().lines();
    for (row, expected) in rows.clone().zip(expected.lines()) {
        assert_eq!(row, expected);
    }
    assert_eq!(rows.count(), expected.lines().count());
}

/// Writes the index anew, into the document.
pub(crate) fn write_index(vectors: &[crate::vector::Vector]) {
    let (before, rest) = DOCUMENT.split_once(INDEX_HEADER).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let rows: String = vectors.iter().map(crate::vector::Vector::row).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/ledger-format.md");
    std::fs::write(path, format!("{before}{INDEX_HEADER}{rows}\n{after}")).unwrap();
}

#[test]
fn the_record_at_the_front_stands_in_a_vector() {
    let record = fenced(DOCUMENT, "json").trim_end();
    let is_there = crate::committed()
        .iter()
        .any(|vector| vector.text.lines().any(|line| line == record));
    assert!(is_there);
}

#[test]
fn the_worked_example_prints_what_it_says() {
    if Command::new("openssl").arg("version").output().is_err() {
        println!("openssl is not there: the worked example was not run");
        return;
    }
    let example = section("\n## 17. A worked example\n");
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", fenced(example, "sh")])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    let complained = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{complained}");
    assert_eq!(printed, fenced(example, "text"), "{complained}");
}
