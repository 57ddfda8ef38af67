//! No one signer can wedge the ledger, launder a claim, or evict another's: what the program
//! answers to those who try.

mod cli_support;

use cli_support::{Agent, Machine, admissible, because, blocked, code, provisional, verdict};

/// A ledger whose root left a sealed session with an axis `os` and an open flag `f`.
fn flagged(options: &str) -> (Machine, Agent) {
    let machine = Machine::new();
    machine.write("ready.txt", "no\n");
    let root = machine.root(options);
    root.open("first");
    root.ok("axis os --class execution_topology --check os");
    root.ok("flag f 'the api is ready' --because 'the docs' --needs os --expect value=yes -- cat ready.txt");
    root.seal();
    (machine, root)
}

#[test]
fn a_flag_is_not_bypassed_by_a_claim_under_its_id_or_another() {
    let (machine, root) = flagged("");
    root.ok("resume --agent second");
    assert_eq!(
        root.refused("claim f --needs os --expect value=4 -- cat four.txt"),
        "open_flag"
    );
    let under_another = "claim g 'the api is ready' --needs os --expect value=4 -- cat four.txt";
    assert_eq!(root.refused(under_another), "open_flag");
    let easier =
        "flag f 'the api is ready' --because 'x' --needs os --expect value=4 -- cat four.txt";
    assert_eq!(root.refused(easier), "open_flag");
    let same =
        "flag g 'the api is ready' --because 'x' --needs os --expect value=4 -- cat four.txt";
    assert_eq!(root.refused(same), "open_flag");
    assert_eq!(provisional(&root.ok("reverify")), ["f"]);
    machine.write("ready.txt", "yes\n");
    root.ok("promote f");
}

#[test]
fn a_retraction_frees_no_flag_for_an_easier_one() {
    let (machine, root) = flagged("");
    root.ok("resume --agent second");
    machine.write("ready.txt", "yes\n");
    root.ok("promote f");
    root.ok("retract f --reason 'it was a mistake'");
    let easier = "claim f --needs os --expect value=4 -- cat four.txt";
    assert_eq!(root.refused(easier), "open_flag");
    machine.write("ready.txt", "no\n");
    assert_eq!(root.refused("promote f"), "receipt_failed");
    machine.write("ready.txt", "yes\n");
    root.ok("promote f");
}

#[test]
fn a_receipt_from_before_a_retraction_supports_nothing_any_more() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    root.ok("axis os --class execution_topology --check os");
    let receipt = root.ok("probe --expect value=4 -- cat four.txt")["receipt"].clone();
    root.ok("claim c 'four' --needs os --expect value=4 -- cat four.txt");
    let old = format!("claim d 'also four' --needs os --receipt {receipt}");
    assert_eq!(root.refused(&old), "receipt_not_latest");
    let latest = root.ok("probe --expect value=4 -- cat four.txt")["receipt"].clone();
    root.ok("retract c --reason 'doubt'");
    assert_eq!(
        root.refused(&format!("claim c --needs os --receipt {latest}")),
        "receipt_before_retraction"
    );
    root.ok("claim c --needs os --expect value=4 -- cat four.txt");
}

#[test]
fn a_proof_that_failed_later_stands_against_the_claim() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    root.ok("axis os --class execution_topology --check os");
    root.ok("claim c 'four' --needs os --expect value=4 -- cat four.txt");
    machine.write("four.txt", "5\n");
    root.no("probe --expect value=4 -- cat four.txt");
    let can = root.no("can c");
    assert_eq!(can["claims"][0]["because"][0]["kind"], "counter_evidence");
}

#[test]
fn the_environment_that_changed_between_axis_and_proof_is_not_vouched_for() {
    let machine = Machine::new();
    let root = machine.root("");
    machine.write("version.txt", "3.11.1\n");
    root.open("first");
    root.ok("axis tool --class dependency_version -- cat version.txt");
    machine.write("version.txt", "3.12.0\n");
    assert_eq!(
        root.refused("claim c 'four' --needs tool --expect value=4 -- cat four.txt"),
        "not_bracketed"
    );
    machine.program(
        "upgrade.sh",
        "#!/bin/sh\necho 3.13.0 > version.txt\necho 4\n",
    );
    root.ok("axis tool --class dependency_version -- cat version.txt");
    let proof = "claim c 'four' --needs tool --expect value=4 -- ./upgrade.sh";
    assert_eq!(
        root.refused(proof),
        "not_bracketed",
        "upgraded while the proof ran"
    );
}

#[test]
fn what_proves_nothing_is_no_proof() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    root.ok("axis os --class execution_topology --check os");
    for (probe, rule) in [
        ("-- true", "vacuous"),
        ("--expect value=yes -- echo yes", "vacuous"),
        ("-- cat four.txt", "no_expectation"),
        ("--expect 'stdout~.*' -- cat four.txt", "no_expectation"),
        ("--expect value=5 -- cat four.txt", "receipt_failed"),
        ("--expect value=4 -- cat missing.txt", "receipt_failed"),
    ] {
        assert_eq!(
            root.refused(&format!("claim c 'a claim' --needs os {probe}")),
            rule,
            "{probe}"
        );
    }
    root.ok("claim weak 'a weak claim' --needs os --exit-only -- cat four.txt");
    assert_eq!(root.ok("can weak")["claims"][0]["weak"], true);
    for (flag, why) in [
        (
            "flag g 'a guess' --because '' --expect value=4 -- cat four.txt",
            "no_derivation",
        ),
        ("flag g 'a guess' --because 'a hunch'", "no_step"),
        (
            "flag g 'a guess' --because 'a hunch' -- true",
            "vacuous_step",
        ),
        (
            "flag g 'a weak claim' --because 'a hunch' --expect value=4 -- cat four.txt",
            "redundant",
        ),
    ] {
        let discarded = root.no(flag);
        assert_eq!(
            (&discarded["why"], &discarded["state"]),
            (&why.into(), &"discarded".into())
        );
    }
    root.ok("flag g 'a guess' --because 'a hunch' --expect value=4 -- cat four.txt");
}

#[test]
fn one_key_cannot_write_in_the_session_of_another_nor_end_it() {
    let (machine, root) = flagged("");
    let (ann, bob) = (
        machine.recorder(&root, "ann"),
        machine.recorder(&root, "bob"),
    );
    let session = ann.open("ann");
    ann.ok("axis os --class execution_topology --check os");
    let of_ann = bob.of(session);
    for line in [
        "axis os --class execution_topology --check os",
        "claim x 'y' --needs os --check os",
        "flag x 'y' --because 'z' --check os",
        "ambient --none",
        "seal",
        "retract f --reason 'mine'",
    ] {
        assert_eq!(of_ann.refused(line), "session_key", "{line}");
    }
    let abandon = format!("session abandon {session} --reason 'mine'");
    assert!(["role", "session_key"].contains(&bob.refused(&abandon).as_str()));
    bob.open("bob");
    assert_eq!(bob.refused("discard f --reason 'mine'"), "role");
    assert_eq!(
        bob.refused(&format!("key authorize {} --label x", bob.public())),
        "role"
    );
    assert_eq!(
        bob.refused(&format!("key revoke {} --reason 'mine'", root.public())),
        "role"
    );
    root.ok(&abandon);
}

#[test]
fn under_four_eyes_another_key_than_the_flags_promotes() {
    let (machine, root) = flagged("--four-eyes");
    machine.write("ready.txt", "yes\n");
    root.ok("resume --agent same");
    assert_eq!(root.refused("promote f --needs os"), "four_eyes");
    let other = machine.recorder(&root, "other");
    other.ok("resume --agent other");
    other.ok("promote f --needs os");
}

#[test]
fn a_key_that_nobody_authorised_or_that_is_revoked_writes_nothing() {
    let (machine, root) = flagged("");
    let mut stranger = machine.agent("stranger");
    stranger.set("HANDOFF_TRUST", root.public().to_string());
    let ann = machine.recorder(&root, "ann");
    let session = ann.open("ann");
    ann.ok("axis arch --class execution_topology --check arch");
    ann.ok("claim a 'of ann' --needs arch --check arch");
    root.ok(&format!("key revoke {} --reason 'left'", ann.public()));
    let before = machine.bytes();
    assert_eq!(
        stranger.refused("resume --agent stranger"),
        "key_not_authorized"
    );
    assert_eq!(ann.refused("resume --agent again"), "key_revoked");
    assert_eq!(
        ann.of(session)
            .refused("claim b 'more' --needs arch --check arch"),
        "key_revoked"
    );
    let can = ann.no("can a");
    assert_eq!(can["claims"][0]["because"][0]["kind"], "key_revoked");
    assert_eq!(machine.bytes(), before);
}

#[test]
fn a_compromised_key_voids_what_it_wrote_and_nothing_else() {
    let (machine, root) = flagged("");
    let ann = machine.recorder(&root, "ann");
    let bob = machine.recorder(&root, "bob");
    let since = ann.open("ann");
    bob.open("bob");
    for (agent, name) in [(&ann, "a"), (&bob, "b")] {
        agent.ok(&format!(
            "axis arch.{name} --class execution_topology --check arch"
        ));
        agent.ok(&format!(
            "claim {name} 'of {name}' --needs arch.{name} --check arch"
        ));
        agent.seal();
    }
    assert_eq!(admissible(&root.ok("resume --agent before")), ["a", "b"]);
    root.seal();
    root.ok(&format!(
        "key revoke {} --reason 'stolen' --compromised-since {since}",
        ann.public()
    ));
    let after = root.ok("resume --agent after");
    assert_eq!(admissible(&after), ["b"]);
    assert_eq!(because(&after, "a")["kind"], "void");
    let verified = root.ok("verify");
    assert!(!verified["voided"].as_array().unwrap().is_empty());
}

#[test]
fn a_session_left_open_acts_nowhere_else() {
    let (machine, root) = flagged("");
    let session = root.open("second");
    root.ok("axis arch --class execution_topology --check arch");
    root.ok("claim c 'a claim' --needs arch --check arch");
    let elsewhere = machine.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut there = root.within(&elsewhere).of(session);
    there.set("HANDOFF_LEDGER", machine.ledger());
    let asked = there.no("can c");
    assert_eq!(asked["claims"][0]["because"][0]["kind"], "elsewhere");
    assert_eq!(
        there.refused("axis os2 --class execution_topology --check os"),
        "scope"
    );
    root.seal();
    let ended = root.of(session).no("can c");
    assert_eq!(ended["claims"][0]["because"][0]["kind"], "ended");
    assert_eq!(root.of(session).refused("ambient --none"), "session_ended");
}

#[test]
fn another_open_session_is_not_taken_for_mine() {
    let (_machine, root) = flagged("");
    let (first, second) = (root.open("one"), root.open("two"));
    let several = root.ends(2, "seal");
    let next = several["error"]["next"].as_str().unwrap();
    assert!(
        next.contains(&first.to_string()) && next.contains(&second.to_string()),
        "{next}"
    );
    let missing = root.of(second).no("seal");
    assert_eq!(code(&missing), "ambient_undeclared");
    assert_eq!(
        missing["error"]["next"],
        format!("handoff ambient --session {second} --none")
    );
}

#[test]
fn a_claim_that_only_a_void_session_reverified_is_still_there_for_the_next() {
    let (machine, root) = flagged("");
    let ann = machine.recorder(&root, "ann");
    root.ok("resume --agent second");
    root.ok("claim c 'a claim' --needs os --expect value=4 -- cat four.txt");
    root.seal();
    let since = ann.ok("resume --agent ann")["session"].clone();
    ann.seal();
    root.ok(&format!(
        "key revoke {} --reason 'stolen' --compromised-since {since}",
        ann.public()
    ));
    let resumed = root.ok("resume --agent third");
    assert_eq!(admissible(&resumed), ["c"], "{:?}", blocked(&resumed));
    assert_eq!(verdict(&resumed, "os"), ("held", ""));
}
