//! What somebody who read the README alone was misled by: each answer says what is so, and what to
//! do about it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cli_support;

use cli_support::{Agent, Machine, code};
use serde_json::json;

fn message(document: &serde_json::Value) -> &str {
    document["error"]["message"].as_str().unwrap()
}

fn next(document: &serde_json::Value) -> &str {
    document["error"]["next"].as_str().unwrap()
}

/// A ledger with one axis and one claim, and the session that recorded them.
fn claimed() -> (Machine, Agent, u64) {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("first");
    root.ok("axis four --class reachability -- cat four.txt");
    root.ok("claim is-four 'It is four' --needs four --expect value=4 -- cat four.txt");
    (machine, root, session)
}

#[test]
fn an_erasure_says_of_every_value_that_it_stays_and_only_of_those() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    machine.write("name", "Name: Erika Mustermann\n");
    for (options, stays) in [
        ("", true),
        ("--extract regex:(Erika)", true),
        ("--extract sha256", true),
        ("--extract none", false),
        ("--redact", false),
    ] {
        let receipt = root.ok(&format!("probe {options} -- cat name"))["seq"].clone();
        let shown = root.ok(&format!("show {receipt}"));
        assert_eq!(shown["body"]["value"].is_string(), stays, "{options}");
        let commitment = &shown["body"]["outputs"]["stdout"]["kept"]["commitment"];
        let expected = if stays { json!([receipt]) } else { json!([]) };
        let whole = root.run(&format!("erase {receipt} --reason r"));
        // Redacted output is not kept: there is nothing to erase but the value's salt.
        assert_eq!(whole.code, 0, "{options}: {whole:?}");
        assert_eq!(
            whole.stdout.contains("NOT erased: the value"),
            stays,
            "{whole:?}"
        );
        let again = root.ok(&format!("erase {receipt} --reason r"));
        assert_eq!(again["values_stay"], expected, "{options}");
        if options != "--redact" {
            let commitment = commitment.as_str().unwrap();
            let by_it = root.ok(&format!("erase {commitment} --reason r"));
            assert_eq!(by_it["values_stay"], expected, "{options}");
        }
    }
    let help = root.run("help erase").stdout;
    assert!(
        help.contains("--redact") && help.contains("for good"),
        "{help}"
    );
}

#[test]
fn an_imported_file_does_not_vouch_for_itself() {
    let (machine, root, _) = claimed();
    root.ok("export -o all.jsonl");
    let other = machine.agent("other");
    let folder = machine.path("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let other = other.within(&folder);
    let file = machine.project().join("all.jsonl");
    let told = other.run(&format!("import {}", file.display()));
    let last = told.stdout.lines().last().unwrap();
    assert_eq!(last, "next: handoff trust add KEY", "{told:?}");
    assert!(told.stdout.contains("only if its owner gives you the same"));
    let told = other.ok(&format!("import {} --to 'a b.db'", file.display()));
    assert_eq!(told["next"], "handoff --ledger 'a b.db' trust add KEY");
}

#[test]
fn a_yes_says_how_old_what_it_rests_on_is_and_how_to_look_again() {
    let (machine, root, session) = claimed();
    root.ok("claim derived 'It is even' --environment-independent arithmetic --from is-four --expect value=4 -- cat four.txt");
    root.ok("claim free 'Two and two' --environment-independent arithmetic --expect value=4 -- cat four.txt");
    machine.write("four.txt", "5\n");
    for claim in ["is-four", "derived"] {
        let told = root.ok(&format!("can {claim}"));
        let observed = &told["claims"][0]["observed"];
        let receipt = root.ok(&format!("show {}", observed["receipt"]));
        assert_eq!(receipt["kind"], "probe.receipt");
        assert_eq!(receipt["time"], observed["time"]);
        assert_eq!(receipt["session"], session);
        let text = root.run(&format!("can {claim}")).stdout;
        let again = format!("s ago; to look again: handoff reverify --session {session} --only");
        assert!(text.contains(&again), "{text}");
    }
    assert!(root.ok("can free")["claims"][0]["observed"].is_null());
    assert!(root.run("help can").stdout.contains("runs no probe"));
}

#[test]
fn a_file_that_claims_to_be_no_proof_is_called_tampered_by_nobody() {
    let (machine, root, _) = claimed();
    root.ok("checkpoint -o cp");
    root.ok("export -o all.jsonl");
    root.ok("prove 2 --checkpoint cp -o proof");
    machine.write("empty", "");
    for (file, what) in [
        ("cp", "a checkpoint"),
        ("all.jsonl", "an export"),
        (".handoff/ledger.db", "a ledger"),
        ("four.txt", "another file"),
        ("empty", "another file"),
    ] {
        let told = root.ends(5, &format!("verify-proof {file}"));
        assert_eq!(
            (&told["result"], code(&told)),
            (&"error".into(), "not_a_proof")
        );
        assert!(message(&told).contains(what), "{told}");
    }
    // A proof whose beginning was altered is one that was tampered with.
    let proof = std::fs::read_to_string(machine.project().join("proof")).unwrap();
    machine.write("altered", &proof.replacen("c2sp", "c3sp", 1));
    assert_eq!(root.ends(4, "verify-proof altered")["result"], "tampered");
}

#[test]
fn a_ledger_that_is_gone_is_named_and_not_replaced_by_the_way() {
    let (machine, root, _) = claimed();
    let head = root.ok("head")["head"]["seq"].clone();
    let (ledger, away) = (machine.ledger(), machine.path("away.db"));
    std::fs::rename(&ledger, &away).unwrap();
    let below = machine.project().join("below");
    std::fs::create_dir(&below).unwrap();
    let by_name = format!("--ledger {} state", ledger.display());
    for (agent, line) in [
        (root.clone(), "state"),
        (root.within(&below), "state"),
        (root.clone(), "init"),
        (root.clone(), "session open --agent a"),
        (root.clone(), by_name.as_str()),
    ] {
        let told = agent.ends(5, line);
        assert_eq!(code(&told), "ledger_gone", "{line}");
        assert!(
            message(&told).contains(&format!("up to event {head}")),
            "{told}"
        );
        assert!(next(&told).contains("init --anew"), "{told}");
    }
    let checks = root.ends(5, "doctor");
    let failed = checks["checks"].as_array().unwrap().iter();
    let failed: Vec<_> = failed.filter(|it| it["result"] == "failed").collect();
    assert_eq!(failed[0]["check"], "ledger", "{checks}");
    // Restored it goes on; given up it is another.
    std::fs::rename(&away, &ledger).unwrap();
    root.ok("can is-four");
    std::fs::remove_dir_all(ledger.parent().unwrap()).unwrap();
    assert_eq!(code(&root.ends(5, "init")), "ledger_gone");
    root.ok("init --anew");
    root.ok("verify");
    // What this machine never kept is not missed.
    let stranger = machine.agent("stranger").within(&machine.path("home-root"));
    assert_eq!(code(&stranger.ends(5, "state")), "no_ledger");
}

#[test]
fn an_admin_that_cannot_record_is_told_so_when_it_is_made_and_when_it_tries() {
    let machine = Machine::new();
    let root = machine.root("");
    root.ok("key new --label adm");
    let made = root.run("key authorize adm --label adm --admin");
    assert!(made.stdout.contains("cannot record"), "{made:?}");
    let refused = root.no("--key adm session open --agent adm");
    assert!(message(&refused).contains("once, for good"), "{refused}");
    let refused = root.no("key authorize adm --label other --recorder");
    assert_eq!(next(&refused), "handoff key new --label NAME");
    root.ok("key new --label both");
    let both = root.run("key authorize both --label both --admin --recorder");
    assert!(!both.stdout.contains("cannot record"), "{both:?}");
    root.ok("--key both session open --agent both");
}

#[test]
fn a_root_key_that_is_not_the_one_given_is_told_as_somebody_elses() {
    let (machine, root, _) = claimed();
    let other = machine.agent("other");
    let mut stranger = machine.agent("third");
    stranger.cwd = machine.path("home-third");
    let file = machine.ledger();
    let line = format!("verify {} --trust {}", file.display(), other.public());
    let told = stranger.ends(3, &line);
    let not_proven = told["not_proven"].to_string();
    assert!(not_proven.contains("somebody else's ledger"), "{told}");
    let text = stranger.run(&line).stdout;
    assert!(text.contains("(not the key that --trust gives)"), "{text}");
    assert!(!text.contains("next: "), "{text}");
    let given = format!("verify {} --trust {}", file.display(), root.public());
    assert!(
        !stranger.ok(&given)["not_proven"]
            .to_string()
            .contains("somebody")
    );
}

#[test]
fn a_garbled_key_is_a_usage_error_wherever_a_key_is_wanted() {
    let (machine, root, _) = claimed();
    root.ok("checkpoint -o cp");
    root.ok("prove 2 --checkpoint cp -o proof");
    let key = root.public().to_string();
    machine.write("no-key", "nothing of a key\n");
    for given in [
        &key[..16],
        "KEY",
        &key.to_uppercase(),
        "no-such.pub",
        "no-key",
    ] {
        for line in [
            format!("verify --trust {given}"),
            format!("can is-four --trust {given}"),
            format!("verify-proof proof --trust {given}"),
            format!("trust add {given}"),
            format!("trust remove {given}"),
            format!("key authorize {given} --label x"),
            format!("key revoke {given} --reason r"),
            format!("key rotate {given} {given} --label x"),
        ] {
            // The root vouches already where nobody asks who else does.
            let ran = root.run(&format!("--json {line}"));
            assert_eq!(ran.code, 2, "{line}: {ran:?}");
            if given != "no-key" {
                assert!(message(&ran.json()).contains("64"), "{line}: {ran:?}");
            }
        }
    }
}

#[test]
fn a_label_is_taken_where_a_key_is_wanted() {
    let machine = Machine::new();
    let root = machine.root("");
    // As `help key authorize` and `help key rotate` type it.
    root.ok("key new --label ci");
    let old = root.ok("key authorize ci --label runner")["key"].clone();
    assert_eq!(old, root.ok("--key ci key show")["key"]);
    root.ok("key new --label ci-2");
    // A file of that name means nothing beside the ledger's own label.
    machine.write("runner", &machine.agent("thief").public().to_string());
    let rotated = root.ok("key rotate runner ci-2 --label runner-2");
    assert_eq!(rotated["revoked"], old);
    let ended = root.ok("key revoke runner-2 --reason 'it was stolen'");
    assert_eq!(ended["key"], root.ok("--key ci-2 key show")["key"]);
    assert_eq!(root.run("key revoke nobody --reason r").code, 2);
}

#[test]
fn evidence_is_asked_as_a_session_of_its_own_without_a_key() {
    let (machine, root, session) = claimed();
    root.seal();
    std::fs::copy(machine.ledger(), machine.path("copy.db")).unwrap();
    let mut auditor = machine.agent("auditor");
    auditor.cwd = machine.path("home-auditor");
    std::fs::remove_dir_all(auditor.home.join(".local")).unwrap();
    let copy = machine.path("copy.db");
    let ask = format!(
        "--ledger {} can is-four --trust {}",
        copy.display(),
        root.public()
    );
    let told = auditor.ends(2, &ask);
    assert!(message(&told).contains("name the one"), "{told}");
    assert!(next(&told).ends_with("session list"), "{told}");
    let told = auditor.no(&format!("{ask} --session {session}"));
    assert_eq!(told["claims"][0]["because"][0]["kind"], "ended");
}

#[test]
fn a_session_of_another_folder_is_resumed() {
    let (machine, root, session) = claimed();
    let moved = machine.path("moved");
    std::fs::rename(machine.project(), &moved).unwrap();
    let root = root.within(&moved);
    let told = root.no(&format!(
        "--session {session} axis again --class reachability -- cat four.txt"
    ));
    assert_eq!(code(&told), "scope");
    assert!(message(&told).contains("folder"), "{told}");
    assert_eq!(next(&told), "handoff resume --agent NAME");
}

#[test]
fn words_that_are_no_options_are_explained() {
    let (_machine, root, _) = claimed();
    for line in [
        "probe cat four.txt",
        "axis four --class reachability cat four.txt",
        "claim x The suite passes --needs four -- cat four.txt",
        "flag x The suite passes --because so -- cat four.txt",
    ] {
        let told = root.ends(2, line);
        assert!(message(&told).contains("after --"), "{line}: {told}");
    }
    let told = root.run("probe -- 'cat four.txt'");
    assert!(told.stdout.contains("words of their own"), "{told:?}");
    let told = root.run("probe --check env=CUSTOMER");
    assert!(told.stdout.contains("is CUSTOMER set here?"), "{told:?}");
}

#[test]
fn nothing_is_acknowledged_where_nothing_is_to_be() {
    let (machine, root, _) = claimed();
    let before = machine.bytes();
    assert_eq!(root.refused("acknowledge 3 --reason r"), "nothing_refused");
    let rolled_back = root.refused("acknowledge --rollback --reason r");
    assert_eq!(rolled_back, "nothing_rolled_back");
    assert_eq!(machine.bytes(), before);
    root.ok("key new --label ci");
    root.ok("key authorize ci --label ci");
    root.ok("key revoke ci --reason 'it was lost'");
    let older = machine.bytes();
    root.ok("probe -- cat four.txt");
    std::fs::write(machine.ledger(), older).unwrap();
    root.ends(4, "state");
    let by_revoked = root.refused("--key ci acknowledge --rollback --reason r");
    assert_eq!(by_revoked, "key_revoked");
    root.ok("acknowledge --rollback --reason 'put back'");
    root.ok("state");
}

#[test]
fn what_may_drift_adds_up_and_is_told_whole() {
    let (_machine, root, _) = claimed();
    root.ok("ambient --allow host=ephemeral");
    let told = root.ok("ambient --allow zone=any");
    assert_eq!(told["may_drift"], json!(["host", "zone"]));
    let told = root.run("ambient --none");
    assert!(told.stdout.contains("host, zone may drift"), "{told:?}");
}

#[test]
fn another_open_session_is_told_of_and_a_name_that_nobody_spoke_of_opens_none() {
    let (_machine, root, session) = claimed();
    let sessions = |agent: &Agent| {
        let listed = agent.ok("session list");
        listed["sessions"].as_array().unwrap().len()
    };
    let told = root.no("resume --agent second --only is-fuor");
    assert_eq!(code(&told), "claim_unknown");
    assert_eq!(sessions(&root), 1);
    let told = root.run("resume --agent second --require is-fuor");
    assert_eq!(told.code, 1);
    assert!(told.stdout.contains("nobody spoke of it"), "{told:?}");
    assert!(
        told.stderr
            .contains(&format!("session {session} of your key is open here"))
    );
}

#[test]
fn a_flag_that_is_not_taken_says_what_it_lacks_and_a_weak_promotion_that_it_is() {
    let (machine, root, _) = claimed();
    for (line, lacks) in [
        (
            "flag x 'It is' --expect value=1 -- cat four.txt",
            "--because",
        ),
        ("flag x 'It is' --because so", "step"),
        ("flag x 'It is' --because so -- true", "--expect"),
    ] {
        let told = root.no(line);
        assert!(told["next"].as_str().unwrap().contains(lacks), "{told}");
    }
    root.ok("flag y 'It is five' --because so --needs four --expect value=6 -- cat five.txt");
    machine.write("five.txt", "6\n");
    let told = root.run("promote y");
    assert!(
        told.stdout.contains("weak: its step's program, or a file"),
        "{told:?}"
    );
}

#[test]
fn under_four_eyes_the_flagging_key_runs_no_step() {
    let machine = Machine::new();
    let root = machine.root("--four-eyes");
    root.open("first");
    root.ok("axis four --class reachability -- cat four.txt");
    root.ok("flag y 'It is' --because so --needs four --expect value=4 -- cat four.txt");
    let before = machine.bytes();
    let told = root.no("promote y");
    assert_eq!(code(&told), "four_eyes");
    assert!(
        next(&told).starts_with("handoff --key ANOTHER promote"),
        "{told}"
    );
    assert_eq!(machine.bytes(), before, "no step was begun");
}

#[test]
fn a_trust_file_that_cannot_be_read_is_told_as_such() {
    let (_machine, root, _) = claimed();
    let pins = root.home.join(".config/handoff/trust");
    let mut text = std::fs::read_to_string(&pins).unwrap();
    text.push_str("garbage\n");
    std::fs::write(&pins, text).unwrap();
    let told = root.ends(5, "doctor");
    let checks = told["checks"].as_array().unwrap().iter();
    let check = checks.clone().find(|it| it["check"] == "pins").unwrap();
    assert_eq!(check["result"], "failed");
    assert!(
        check["detail"].as_str().unwrap().contains("line 2"),
        "{check}"
    );
}

#[test]
fn the_log_says_what_was_run_and_what_is_void() {
    let (_machine, root, _) = claimed();
    root.ok("key new --label ci");
    root.ok("key authorize ci --label ci");
    let ci = "--key ci";
    let session = root.ok(&format!("{ci} session open --agent ci"))["session"].clone();
    let by = format!("{ci} --session {session}");
    let receipt = root.ok(&format!("{by} probe -- cat four.txt"))["seq"].clone();
    let lines = |line: &str| root.run(line).stdout;
    assert!(lines("log").contains("\"-- cat four.txt\": exit 0, value \"4\""));
    assert!(lines("log").contains("by ci, inheriting nothing"));
    assert!(!lines("log").contains("VOID"));
    root.ok(&format!(
        "key revoke ci --reason 'it was lost' --compromised-since {session}"
    ));
    for line in ["log", "log --limit 3"] {
        let void = lines(line);
        let void: Vec<&str> = void.lines().filter(|it| it.contains(" VOID ")).collect();
        assert!(
            void.iter().any(|it| it.starts_with(&format!("{receipt} "))),
            "{void:?}"
        );
    }
    for event in lines("log --json").lines() {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        let shown = root.ok(&format!("show {}", event["seq"]));
        assert_eq!(event["void"], shown["void"], "{event}");
    }
    let keys = root.run("key list").stdout;
    assert!(keys.contains(&format!("void from {session} on")), "{keys}");
}
