//! Handoffs from session to session, as agents make them.

mod cli_support;

use cli_support::{Agent, Machine, admissible, because, blocked, provisional, verdict};

/// A first session: a claim on a host, one on a version, one derived from both, and a flag.
fn first_session(machine: &Machine, agent: &Agent) -> u64 {
    machine.write("host.txt", "stage-1\n");
    machine.write("version.txt", "python 3.11.9\n");
    machine.write("ready.txt", "no\n");
    let session = agent.open("first");
    agent.ok("axis db.host --class reachability -- cat host.txt");
    agent.ok(
        "axis python --class dependency_version --holds-if 'semver=>=3.11, <3.12' \
         -- cat version.txt",
    );
    agent.ok("claim db-safe 'the database is staging' --needs db.host --expect value~^stage -- cat host.txt");
    agent.ok(
        "claim py-ok 'Python is 3.11' --needs python --expect 'semver=>=3.11' -- cat version.txt",
    );
    agent.ok("claim may-drop 'tables may be dropped' --needs python --from db-safe --expect value~3 -- cat version.txt");
    agent.ok("flag api 'the api is ready' --because 'seen in the docs' --needs python --expect value=yes -- cat ready.txt");
    session
}

#[test]
fn drift_between_two_sessions_blocks_what_needs_the_axis_and_what_derives_from_it() {
    let machine = Machine::new();
    let root = machine.root("");
    let first = first_session(&machine, &root);
    root.seal();
    machine.write("host.txt", "prod-1\n");

    let resumed = root.ok("resume --agent second");
    assert_eq!(resumed["inherits"], serde_json::json!([first]));
    assert_eq!(admissible(&resumed), ["py-ok"]);
    assert_eq!(blocked(&resumed), ["db-safe", "may-drop"]);
    assert_eq!(provisional(&resumed), ["api"]);
    assert_eq!(
        verdict(&resumed, "db.host"),
        ("drifted_load_bearing", "changed")
    );
    assert_eq!(verdict(&resumed, "python"), ("held", ""));
    let why = because(&resumed, "db-safe");
    assert_eq!(
        (&why["axis"], &why["was"], &why["now"]),
        (&"db.host".into(), &"stage-1".into(), &"prod-1".into())
    );
    let derived = because(&resumed, "may-drop");
    assert_eq!(
        (&derived["kind"], &derived["claim"]),
        (&"from".into(), &"db-safe".into())
    );

    let failed = root.no("promote api");
    assert_eq!(failed["error"]["code"], "receipt_failed");
    let again = root.no("reverify");
    assert_eq!(admissible(&again), ["py-ok"]);
    assert_eq!(provisional(&again), ["api"]);
    machine.write("ready.txt", "yes\n");
    let promoted = root.ok("promote api");
    assert_eq!(promoted["state"], "verified_invariant");
    let after = root.no("reverify");
    assert_eq!(admissible(&after), ["api", "py-ok"]);
    assert!(provisional(&after).is_empty());
}

#[test]
fn a_value_that_comes_back_makes_the_claim_admissible_again() {
    let machine = Machine::new();
    let root = machine.root("");
    first_session(&machine, &root);
    root.seal();
    machine.write("host.txt", "prod-1\n");
    root.ok("resume --agent second");
    machine.write("host.txt", "  stage-1\n\n");
    let back = root.ok("reverify");
    assert_eq!(admissible(&back), ["db-safe", "may-drop", "py-ok"]);
}

#[test]
fn a_required_claim_that_is_blocked_makes_resume_say_no_and_why() {
    let machine = Machine::new();
    let root = machine.root("");
    first_session(&machine, &root);
    root.seal();
    machine.write("host.txt", "prod-1\n");
    let resumed = root.no("resume --agent second --require db-safe,py-ok,never-heard-of");
    assert_eq!(
        resumed["required_missing"],
        serde_json::json!(["db-safe", "never-heard-of"])
    );
    assert_eq!(because(&resumed, "never-heard-of")["kind"], "unknown");
    let told = root.run("resume --agent third --require db-safe");
    assert_eq!(told.code, 1);
    assert!(
        told.stdout.contains("REQUIRED db-safe is not admissible"),
        "{told:?}"
    );
    assert!(
        told.stdout
            .contains("db.host was \"stage-1\", now \"prod-1\""),
        "{told:?}"
    );
}

#[test]
fn a_third_generation_inherits_what_the_first_proved_and_the_second_left_alone() {
    let machine = Machine::new();
    let root = machine.root("");
    let first = first_session(&machine, &root);
    root.seal();
    root.ok("resume --agent second");
    root.ok("claim own 'a fact of the second' --environment-independent 'it is arithmetic' --expect value=4 -- cat four.txt");
    let second = root.seal();
    let third = root.ok("resume --agent third");
    assert_eq!(third["inherits"], serde_json::json!([second]));
    assert_eq!(admissible(&third), ["db-safe", "may-drop", "own", "py-ok"]);
    assert_eq!(provisional(&third), ["api"]);
    assert!(first < second);
}

#[test]
fn a_session_may_inherit_two_that_ran_side_by_side() {
    let machine = Machine::new();
    let root = machine.root("");
    let (left, right) = (
        machine.recorder(&root, "left"),
        machine.recorder(&root, "right"),
    );
    let sides = [(&left, "a"), (&right, "b")];
    for (agent, name) in sides {
        agent.open(name);
        agent.ok(&format!(
            "axis os.{name} --class execution_topology --check os"
        ));
        agent.ok(&format!(
            "claim {name} 'claim {name}' --needs os.{name} --check os"
        ));
    }
    let seals = sides.map(|(agent, _)| agent.seal());
    let resumed = root.ok("resume --agent both");
    assert_eq!(resumed["inherits"], serde_json::json!(seals));
    assert_eq!(admissible(&resumed), ["a", "b"]);
    let only = left.ok(&format!("resume --agent one --inherit {}", seals[0]));
    assert_eq!(admissible(&only), ["a"]);
}

#[test]
fn what_a_crashed_session_claimed_is_shown_blocked_and_its_flags_can_be_promoted() {
    let machine = Machine::new();
    let root = machine.root("");
    first_session(&machine, &root);
    let crashed = machine.recorder(&root, "crashed");
    crashed.open("crashed");
    crashed.ok("axis os --class execution_topology --check os");
    crashed.ok("claim half 'half a conclusion' --needs os --check os");

    let successor = machine.recorder(&root, "successor");
    let resumed = successor.ok("resume --agent successor");
    assert!(admissible(&resumed).is_empty());
    assert_eq!(
        blocked(&resumed),
        ["api", "db-safe", "half", "may-drop", "py-ok"]
    );
    assert_eq!(because(&resumed, "half")["kind"], "unsealed");
    let entry = &resumed["blocked"][0];
    assert_eq!(entry["state"], "unsealed");
    assert!(
        entry["next"]
            .as_str()
            .unwrap()
            .starts_with("handoff promote api"),
        "{entry}"
    );
    machine.write("ready.txt", "yes\n");
    let code = successor.refused("promote api");
    assert_eq!(code, "axis_unknown", "its own axis is needed first");
    successor.ok("axis python --class dependency_version --holds-if 'semver=>=3.11, <3.12' -- cat version.txt");
    successor.ok("promote api");
    assert_eq!(admissible(&successor.ok("reverify")), ["api"]);
    let told = successor.run("resume --agent again");
    assert!(
        told.stdout.contains("handoff claim half"),
        "the command that would verify it: {told:?}"
    );
}

#[test]
fn nothing_is_lost_by_a_successor_that_crashes_before_its_seal() {
    let machine = Machine::new();
    let root = machine.root("");
    let first = first_session(&machine, &root);
    root.seal();
    root.ok("resume --agent crashed");
    let third = machine.recorder(&root, "third");
    let resumed = third.ok("resume --agent third");
    assert_eq!(resumed["inherits"], serde_json::json!([first]));
    assert_eq!(admissible(&resumed), ["db-safe", "may-drop", "py-ok"]);
}

#[test]
fn an_abandoned_session_leaves_nothing_to_inherit() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = first_session(&machine, &root);
    root.ok(&format!("session abandon {session} --reason 'went astray'"));
    let resumed = root.ok("resume --agent second");
    assert_eq!(resumed["inherits"], serde_json::json!([]));
    assert!(admissible(&resumed).is_empty());
    assert_eq!(
        root.refused(&format!("--session {session} seal")),
        "session_ended"
    );
}

#[test]
fn a_claim_supported_in_two_environments_is_admissible_in_either() {
    let machine = Machine::new();
    let root = machine.root("");
    let axis = "axis zone --class execution_topology -- cat zone.txt";
    let claim = "claim answer 'the answer is 42' --needs zone --expect value=42 -- cat answer.txt";
    machine.write("answer.txt", "42\n");
    machine.write("zone.txt", "east\n");
    root.open("east");
    root.ok(axis);
    root.ok(claim);
    root.seal();
    machine.write("zone.txt", "west\n");
    assert_eq!(blocked(&root.ok("resume --agent west")), ["answer"]);
    root.ok(axis);
    root.ok(claim);
    root.seal();
    let third = root.ok("resume --agent third");
    assert_eq!(admissible(&third), ["answer"], "by the second support");
    machine.write("zone.txt", "east\n");
    assert_eq!(admissible(&root.ok("reverify")), ["answer"], "by the first");
    machine.write("zone.txt", "north\n");
    assert_eq!(blocked(&root.no("reverify")), ["answer"], "by neither");
}

#[test]
fn a_retracted_claim_is_withdrawn_everywhere_until_it_is_verified_anew() {
    let machine = Machine::new();
    let root = machine.root("");
    first_session(&machine, &root);
    root.seal();
    let other = machine.recorder(&root, "other");
    other.ok("resume --agent other");
    root.ok("resume --agent second");
    root.ok("retract db-safe --reason 'the host file was a copy'");
    let seen = other.no("reverify");
    assert_eq!(admissible(&seen), ["py-ok"]);
    assert_eq!(because(&seen, "may-drop")["kind"], "from");
    assert_eq!(because(&seen, "db-safe")["kind"], "retracted");
    assert_eq!(
        other.no("reverify --only db-safe")["admissible"],
        seen["admissible"]
    );
    other.ok("claim db-safe --needs db.host --expect value~^stage -- cat host.txt");
    assert_eq!(
        admissible(&other.ok("reverify")),
        ["db-safe", "may-drop", "py-ok"]
    );
}

#[test]
fn a_probe_runs_in_the_folder_it_was_recorded_in_wherever_the_successor_is() {
    let machine = Machine::new();
    let root = machine.root("");
    let folder = machine.project().join("service");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("port.txt"), "5432\n").unwrap();
    let inside = root.within(&folder);
    inside.open("first");
    inside.ok("axis port --class reachability -- cat port.txt");
    inside.ok("axis file --class dependency_version --check file-sha256=port.txt");
    inside.ok("claim c 'a claim' --needs port,file --expect value=5432 -- cat port.txt");
    inside.seal();
    let resumed = root.ok("resume --agent second");
    assert_eq!(admissible(&resumed), ["c"]);
    std::fs::write(folder.join("port.txt"), "5433\n").unwrap();
    assert_eq!(blocked(&root.no("reverify")), ["c"]);
}

#[test]
fn an_axis_probe_may_be_the_proof_and_a_receipt_may_be_cited() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    root.ok("axis four --class reachability --expect value=4 -- cat four.txt");
    root.ok("claim own 'it is four' --needs four --expect value=4 -- cat four.txt");
    let receipt = root.ok("probe --expect value=5 -- cat five.txt")["receipt"].clone();
    root.ok(&format!(
        "claim cited 'it is five' --needs four --receipt {receipt}"
    ));
    root.ok(&format!(
        "axis five --class reachability --receipt {receipt}"
    ));
    root.ok("can own cited");
}

#[test]
fn the_flagging_session_may_replace_or_withdraw_its_flag_and_an_admin_any() {
    let machine = Machine::new();
    let root = machine.root("");
    let ann = machine.recorder(&root, "ann");
    ann.open("ann");
    ann.ok("flag f 'a guess' --because 'a hunch' --expect value=5 -- cat four.txt");
    ann.ok("flag f 'a guess' --because 'a better hunch' --expect value=4 -- cat four.txt");
    ann.ok("discard f --reason 'no longer of interest'");
    ann.ok("axis os --class execution_topology --check os");
    ann.ok("claim f --needs os --expect value=4 -- cat four.txt");
    ann.ok("flag g 'another guess' --because 'a hunch' --expect value=5 -- cat four.txt");
    ann.seal();
    let bob = machine.recorder(&root, "bob");
    assert_eq!(provisional(&bob.ok("resume --agent bob")), ["g"]);
    assert_eq!(bob.refused("discard g --reason 'not mine'"), "role");
    root.ok("discard g --reason 'the step is nonsense'");
    assert!(provisional(&bob.ok("reverify")).is_empty());
}
