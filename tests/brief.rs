//! A brief is one text of stable wording and bounded length, however much there is to say and
//! whoever wrote it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what fails here fails the test"
)]

mod support;

use handoff_ledger::cli::args::Common;
use handoff_ledger::cli::briefing::{Briefing, Markup};
use handoff_ledger::store::sqlite::{SqliteLedger, WAIT};
use handoff_ledger::store::{Record, Store as _, StoreError};
use handoff_ledger::types::Seq;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::{History, Who, make};

const HEADINGS: [&str; 4] = ["BLOCKED", "VERIFY FIRST", "MAY BE RELIED ON", "COMMANDS"];
const SIZES: [usize; 3] = [5, 100, 5000];

/// A session that left so many claims, and one that inherits them. Of each five one is flagged, two
/// need an axis that held and two one that drifted.
fn handed_over(claims: usize) -> (History, Seq) {
    let mut h = History::new();
    let first = h.open(Who::Alice);
    let held = h.axis(first, "db.host", "stage-1");
    let drifted = h.axis(first, "tool.version", "1.4");
    let verified: Vec<(String, Seq)> = (0..claims)
        .filter(|place| place % 5 != 4)
        .map(|place| {
            let needs = if place % 5 < 2 { held } else { drifted };
            (format!("claim-{place:04}"), needs)
        })
        .collect();
    // The observations around all the proofs are around each of them.
    let observe = |h: &mut History| {
        h.observe(first, "db.host", "stage-1");
        h.observe(first, "tool.version", "1.4");
    };
    observe(&mut h);
    let proofs: Vec<Seq> = (verified.iter())
        .map(|(claim, _)| h.run(first, &make::proof_probe(claim), "ok"))
        .collect();
    observe(&mut h);
    for ((claim, needs), proof) in verified.iter().zip(proofs) {
        h.say(first, make::verified(claim, &[proof], &[*needs], &[]));
    }
    for place in (4..claims).step_by(5) {
        h.flag(first, &format!("flag-{place:04}"));
    }
    h.seal(first);
    let second = h.open_on(Who::Bob, &[first]);
    h.reverify(second, &[(held, "stage-1"), (drifted, "1.5")]);
    (h, second)
}

fn briefing(h: &History, session: Seq) -> Briefing {
    let title = format!("Handoff brief for session {session}");
    Briefing::of(&h.state, &h.judge(session), &Common::default(), title)
}

/// How many claims each section shows and counts, together.
fn told_of(text: &str) -> Vec<usize> {
    let mut counts = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches("## ");
        if HEADINGS.iter().any(|heading| line.starts_with(heading)) {
            counts.push(0);
        } else if let (Some(item), Some(count)) = (line.strip_prefix("- "), counts.last_mut()) {
            let left = item
                .strip_prefix("and ")
                .and_then(|it| it.split_once(" more"));
            *count += left.map_or(1, |(left, _)| left.parse().unwrap());
        }
    }
    counts
}

#[test]
fn the_wording_and_the_order_are_stable() {
    let (h, session) = handed_over(5);
    let golden = "\
Handoff brief for session 26

BLOCKED: do not act on these
- claim-0002: \"claim-0002 is so\"
  - tool.version was \"1.4\", now \"1.5\" (receipt 28)
  - next: handoff axis tool.version --session 26 --class dependency_version -- observe tool.version && handoff claim claim-0002 --session 26 --needs tool.version --expect value=ok -- prove claim-0002
- claim-0003: \"claim-0003 is so\"
  - tool.version was \"1.4\", now \"1.5\" (receipt 28)
  - next: handoff axis tool.version --session 26 --class dependency_version -- observe tool.version && handoff claim claim-0003 --session 26 --needs tool.version --expect value=ok -- prove claim-0003

VERIFY FIRST: do not act on these until their step succeeds
- flag-0004: \"flag-0004 is so\"
  - derived from \"the code reads so\"
  - step: --expect value=ok -- step flag-0004
  - next: handoff promote flag-0004 --session 26 --needs AXIS

MAY BE RELIED ON
- claim-0000: \"claim-0000 is so\"
  - while these hold: db.host
- claim-0001: \"claim-0001 is so\"
  - while these hold: db.host

COMMANDS
- before acting on a claim: handoff can ID --session 26
- all of it: handoff state --session 26
";
    assert_eq!(briefing(&h, session).text(Markup::Plain, 6000), golden);
}

#[test]
fn it_keeps_to_any_length_and_counts_what_it_leaves_out() {
    for claims in SIZES {
        let (h, session) = handed_over(claims);
        let briefing = briefing(&h, session);
        let mut longest = 0;
        for markup in [Markup::Plain, Markup::Markdown] {
            for characters_max in [600, 2000, 6000, 60_000] {
                let text = briefing.text(markup, characters_max);
                let length = text.chars().count();
                assert!(
                    length <= characters_max,
                    "{claims}: {length} > {characters_max}"
                );
                let fifth = claims / 5;
                assert_eq!(told_of(&text), [2 * fifth, fifth, 2 * fifth, 2], "{text}");
                let last = format!("- all of it: handoff state --session {session}\n");
                assert!(text.ends_with(&last), "{text}");
                longest = longest.max(length);
            }
        }
        // The bound is one that is reached, where there is that much to say.
        assert!(claims < 5000 || longest > 59_000, "{longest}");
    }
}

#[test]
fn what_a_predecessor_wrote_takes_no_more_room_than_its_part() {
    let mut h = History::new();
    let first = h.open(Who::Alice);
    let axes: Vec<Seq> = (0..40)
        .map(|place| {
            h.axis(
                first,
                &format!("axis.{place}.{}", "x".repeat(50)),
                &"v".repeat(4000),
            )
        })
        .collect();
    let argv: Vec<String> = (0..10).map(|_| "\u{202e}a'b".repeat(500)).collect();
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let probe = make::command(&argv, &["value=ok"]);
    let proof = h.prove(first, &probe, &axes);
    let mut claim = make::verified("held", &[proof], &axes, &[]);
    claim.statement = make::text(&"\u{202e}s".repeat(1000));
    h.say(first, claim);
    let proof = h.prove(first, &make::proof_probe("drifted"), &axes);
    let mut claim = make::verified("drifted", &[proof], &axes, &[]);
    claim.statement = make::text(&"\u{1b}t".repeat(2000));
    h.say(first, claim);
    let mut flag = make::flagged_step("flagged", probe);
    flag.derivation = make::value(&"\u{200b}d".repeat(1000));
    h.say(first, flag);
    h.seal(first);
    for value in ["v".repeat(4000), "w".repeat(4000)] {
        let second = h.open_on(Who::Bob, &[first]);
        let observed: Vec<(Seq, &str)> = axes.iter().map(|axis| (*axis, value.as_str())).collect();
        h.reverify(second, &observed);
        let text = briefing(&h, second).text(Markup::Plain, 6000);
        assert!(text.chars().count() <= 6000);
        assert!(!text.contains("left out here"), "each has room: {text}");
        assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{1b}']));
        for line in text.lines().filter(|line| line.contains("next: ")) {
            assert!(!line.contains('…'), "a part of a command: {line}");
        }
    }
}

/// What the program says of a ledger file that it was handed.
fn told(ledger: &Path, session: Seq, words: &[&str]) -> String {
    let home = ledger.parent().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_handoff"))
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .arg("--ledger")
        .arg(ledger)
        .args(["--trust", &Who::Root.key().to_string()])
        .args(["--session", &session.to_string(), "brief"])
        .args(words)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_program_keeps_to_both_bounds_and_its_document_holds_every_claim() {
    let default = (&[][..], 6000);
    let tokens = (&["--max-tokens", "300"][..], 900);
    let more = (&["--max-tokens", "4000"][..], 12_000);
    let both = (
        &["--max-tokens", "4000", "--max-chars", "700", "--markdown"][..],
        700,
    );
    for (claims, asked) in [
        (5, &[default, tokens][..]),
        (100, &[default, tokens, more, both]),
        (5000, &[more]),
    ] {
        let (h, session) = handed_over(claims);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let records: Vec<Record> = h.records.iter().cloned().map(Record).collect();
        SqliteLedger::create(&path, WAIT, |ledger| {
            ledger.transact(|it| -> Result<(), StoreError> { it.append(&records, &[]) })
        })
        .unwrap();
        for (options, characters_max) in asked {
            let text = told(&path, session, options);
            let length = text.chars().count();
            assert!(length <= *characters_max, "{options:?}: {length}");
            let enough = claims < 5000 || length > characters_max - 400;
            assert!(enough, "{options:?}: {length} of {characters_max}");
        }
        let (options, characters_max) = asked[0];
        let document = told(&path, session, &[options, &["--json"]].concat());
        let document: Value = serde_json::from_str(&document).unwrap();
        let length = document["text"].as_str().unwrap().chars().count();
        assert!(length <= characters_max, "{options:?}: {length}");
        assert_eq!(document["claims"].as_array().unwrap().len(), claims);
    }
}
