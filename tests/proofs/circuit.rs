//! From a checkpoint to a proof to a reader, with real programs.

use super::cli_support::{Agent, Machine, code};
use handoff_ledger::checkpoint::{Checkpoint, SignedCheckpoint};
use handoff_ledger::key::SigningKey;
use handoff_ledger::merkle::TreeHead;
use handoff_ledger::types::Digest;
use serde_json::Value;

/// A ledger with some events, and its root.
pub(crate) fn ledger(machine: &Machine) -> Agent {
    let root = machine.root("");
    root.open("builder");
    for _ in 0..3 {
        root.ok("probe -- cat four.txt");
    }
    root
}

/// Runs a command whose standard output goes to a file of the project.
pub(crate) fn into_file(agent: &Agent, line: &str, name: &str) -> String {
    let ran = agent.run(line);
    assert_eq!(ran.code, 0, "{line}: {ran:?}");
    std::fs::write(agent.cwd.join(name), &ran.stdout).unwrap();
    ran.stdout
}

fn fault(document: &Value) -> &str {
    assert_eq!(document["result"], "tampered", "{document}");
    document["faults"][0]["kind"].as_str().unwrap()
}

fn root_of(document: &Value) -> Digest {
    document["root"].as_str().unwrap().parse().unwrap()
}

#[test]
fn a_checkpoint_is_proven_witnessed_and_demanded() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let key = root.public();
    let signed = root.ok("checkpoint -o kept");
    assert_eq!(signed["size"], 5);
    let report = root.ok("verify --expect kept");
    assert_eq!(root_of(&report), root_of(&signed));
    assert_eq!(report["end"]["by"], "expect");
    assert_eq!(report["end"]["proven"], true);

    // Another machine cosigns, and its line is put below the checkpoint as it is.
    let elsewhere = machine.agent("witness");
    let witness = elsewhere.ok("witness key")["witness"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(elsewhere.ok("witness key")["witness"], witness);
    into_file(&root, "prove --from 0 --checkpoint kept", "request");
    elsewhere.ok(&format!("trust add {key}"));
    let answer = into_file(&elsewhere, "witness add request", "answer");
    let kept = std::fs::read_to_string(root.cwd.join("kept")).unwrap() + &answer;
    machine.write("kept", &kept);
    let report = root.ok(&format!("verify --expect kept --witness {witness}"));
    assert_eq!(report["end"]["by"], "witness");
    assert_eq!(report["end"]["proven"], true);
    assert_eq!(report["end"]["seq"], 4);
    let seen = elsewhere.ok("witness list");
    assert_eq!(seen["ledgers"][0]["size"], 5);
    assert_eq!(seen["ledgers"][0]["root"], signed["root"]);

    // The proof carries the cosignature; its reader has neither ledger nor home.
    root.ok("probe -- cat five.txt");
    let proof = into_file(&root, "prove 2 --checkpoint kept", "proof");
    assert!(proof.contains(answer.trim_end()));
    let mut reader = machine.agent("reader");
    reader.home = machine.path("no-such-home");
    for (trusting, exit, result) in [
        (format!("--trust {key}"), 0, "verified"),
        (format!("--witness {witness}"), 0, "verified"),
        (format!("--trust {key} --witness {witness}"), 0, "verified"),
        (String::new(), 3, "self_consistent"),
        (
            format!("--trust {}", elsewhere.public()),
            3,
            "self_consistent",
        ),
    ] {
        let document = reader.ends(exit, &format!("verify-proof proof {trusting}"));
        assert_eq!(document["result"], result, "{trusting}");
        assert_eq!(document["event"]["seq"], 2);
        assert_eq!(document["event"]["kind"], "probe.receipt");
        assert_eq!(document["event"], shown(&root, 2), "{trusting}");
        assert!(!document["not_proven"].as_array().unwrap().is_empty());
    }
    // The ledger grew since; that it only grew is shown by the second kind of proof.
    let grown = into_file(&root, "prove --from 5", "grown");
    assert!(grown.starts_with("old 5\n"));
    let line = format!("verify-proof grown --old kept --trust {key}");
    assert_eq!(reader.ok(&line)["from"], 5);
    assert_eq!(
        reader.ends(2, "verify-proof grown")["error"]["code"],
        "usage"
    );
    assert_eq!(
        reader.ends(2, "verify-proof proof --old kept")["error"]["code"],
        "usage"
    );
}

/// What the ledger's own machine shows of an event, as far as a proof tells it.
fn shown(root: &Agent, seq: u64) -> Value {
    let document = root.ok(&format!("show {seq}"));
    let names = [
        "body", "hash", "key", "kind", "prev", "seq", "session", "time",
    ];
    let members = names.map(|name| (name.to_owned(), document[name].clone()));
    Value::Object(members.into_iter().collect())
}

#[test]
fn a_demand_that_is_not_met_is_tampering_with_a_name_of_its_own() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let ledger = root.ok("verify")["ledger"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let at = |size: u64| root_of(&root.ok(&format!("prove {} ", size - 1)));
    let (true_root, size) = (at(5), 5);
    let stranger = SigningKey::from_seed([9; 32]);
    let write = |size: u64, found: Digest, signer: &SigningKey| {
        let tree = TreeHead { size, root: found };
        let signed = SignedCheckpoint::sign(Checkpoint { ledger, tree }, signer).unwrap();
        machine.write("kept", &signed.to_string());
    };
    write(size, true_root, &root.key());
    root.ok("verify --expect kept");
    root.ok("head --expect kept");
    let mut other = true_root;
    other.0[0] ^= 1;
    for (size, found, signer, expected) in [
        (size, other, root.key(), "expect"),
        (size + 1, true_root, root.key(), "expect"),
        (size - 1, true_root, root.key(), "expect"),
        (size, true_root, stranger, "checkpoint"),
    ] {
        write(size, found, &signer);
        let report = root.ends(4, "verify --expect kept");
        assert_eq!(fault(&report), expected, "{size}");
        assert_eq!(report["end"]["proven"], false);
        // Every other command, and the environment, make the same demand.
        assert_eq!(code(&root.ends(4, "head --expect kept")), expected);
        let mut demanding = root.clone();
        demanding.set("HANDOFF_EXPECT", "kept");
        assert_eq!(code(&demanding.ends(4, "state")), expected);
        assert_eq!(code(&root.ends(4, "prove 1 --checkpoint kept")), expected);
    }
    // A known key's line with a signature that is none, though a good one stands beside it.
    write(size, true_root, &root.key());
    let good = std::fs::read_to_string(root.cwd.join("kept")).unwrap();
    write(size, other, &root.key());
    let bad = std::fs::read_to_string(root.cwd.join("kept")).unwrap();
    machine.write("kept", &format!("{good}{}\n", bad.lines().last().unwrap()));
    assert_eq!(fault(&root.ends(4, "verify --expect kept")), "checkpoint");
    // A witness that did not cosign.
    machine.write("kept", &good);
    let witness = machine.agent("other").ok("witness key")["witness"]
        .as_str()
        .unwrap()
        .to_owned();
    let report = root.ends(4, &format!("verify --expect kept --witness {witness}"));
    assert_eq!(fault(&report), "witness");
    // Another ledger's checkpoint.
    let there = machine.path("there");
    std::fs::create_dir(&there).unwrap();
    let second = root.within(&there);
    second.ok("init");
    second.ok(&format!(
        "checkpoint -o {}",
        root.cwd.join("foreign").display()
    ));
    assert_eq!(fault(&root.ends(4, "verify --expect foreign")), "expect");
}

/// What an expected checkpoint was held to once is known from then on: of the old events none is
/// read again, so that one altered since is not met; and another checkpoint is none the better.
#[test]
fn a_checkpoint_is_held_to_the_ledger_once() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let size = root.ok("checkpoint -o kept")["size"].as_u64().unwrap();
    let key = SigningKey::from_seed(root.seed);
    let true_root = root_of(&root.ok("checkpoint"));
    let ledger = root.ok("checkpoint")["ledger"].as_str().unwrap().parse();
    let tree = TreeHead {
        size,
        root: Digest([9; 32]),
    };
    let ledger = ledger.unwrap();
    let forged = SignedCheckpoint::sign(Checkpoint { ledger, tree }, &key).unwrap();
    machine.write("forged", &forged.to_string());
    let stranger = SigningKey::from_seed([77; 32]);
    let tree = TreeHead {
        size,
        root: true_root,
    };
    let unknown = SignedCheckpoint::sign(Checkpoint { ledger, tree }, &stranger).unwrap();
    machine.write("unknown", &unknown.to_string());
    root.ok("probe -- cat five.txt");
    root.ok("checkpoint -o later");
    root.ok("probe -- cat five.txt");
    root.ok("checkpoint -o last");
    let expecting = |expected: &str| {
        let mut agent = root.clone();
        agent.set("HANDOFF_EXPECT", expected);
        agent
    };
    expecting("kept").ok("head");
    expecting("later").ok("head");

    let file = rusqlite::Connection::open(machine.ledger()).unwrap();
    let trigger: String = file
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE name = 'event_no_update'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    file.execute_batch(&format!(
        "DROP TRIGGER event_no_update; UPDATE event SET record = zeroblob(200) WHERE seq = 2;
        {trigger}"
    ))
    .unwrap();
    drop(file);
    for known in ["kept", "later"] {
        expecting(known).ok("head");
        expecting(known).ok("probe -- cat five.txt");
    }
    let document = expecting("last").ends(4, "head");
    assert_ne!(
        code(&document),
        "expect",
        "the control: this one is read for"
    );
    for (other, expected) in [("forged", "expect"), ("unknown", "checkpoint")] {
        assert_eq!(code(&expecting(other).ends(4, "head")), expected);
    }
}

#[test]
fn an_expected_head_is_a_line_a_checkpoint_or_a_file_of_either() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let line = root.ok("head")["head"]["line"].as_str().unwrap().to_owned();
    let checkpoint = into_file(&root, "checkpoint", "kept");
    machine.write("head", &format!("{line}\n"));
    for expect in [line.as_str(), "head", "kept", &checkpoint] {
        let mut demanding = root.clone();
        demanding.set("HANDOFF_EXPECT", expect);
        assert_eq!(demanding.ok("verify")["end"]["by"], "expect", "{expect}");
        assert_eq!(
            root.ok(&format!("verify --expect '{expect}'"))["end"]["proven"],
            true
        );
    }
    for refused in ["no-such-file", "four.txt", ".", "handoff1:0:0:0"] {
        assert_eq!(
            code(&root.ends(2, &format!("verify --expect {refused}"))),
            "usage"
        );
    }
    let witness = root.ok("witness key")["witness"]
        .as_str()
        .unwrap()
        .to_owned();
    for demand in [String::new(), format!("--expect {line}")] {
        let document = root.ends(2, &format!("verify --witness {witness} {demand}"));
        assert_eq!(code(&document), "usage", "a witness cosigns a checkpoint");
    }
    machine.write("witnesses", &format!("# of our own\n\n{witness}\n"));
    let missing = root.ends(4, "verify --expect kept --witness witnesses");
    assert_eq!(fault(&missing), "witness");
    let log_key = checkpoint_key(&root, &checkpoint);
    assert_eq!(
        code(&root.ends(2, &format!("verify --expect kept --witness {log_key}"))),
        "usage"
    );
}

/// The vkey that a checkpoint is signed under: no witness's.
fn checkpoint_key(root: &Agent, checkpoint: &str) -> String {
    let signed = SignedCheckpoint::parse(checkpoint.as_bytes()).unwrap();
    let ledger = signed.checkpoint().ledger;
    let key = handoff_ledger::checkpoint::log_key(&ledger, &root.public());
    key.unwrap().to_string()
}

#[test]
fn only_a_key_that_may_write_signs_a_checkpoint_and_what_it_signed_then_stays() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let mut stranger = machine.agent("stranger");
    stranger.set("HANDOFF_TRUST", root.public().to_string());
    assert_eq!(stranger.refused("checkpoint"), "key_not_authorized");
    assert_eq!(stranger.refused("prove 1"), "key_not_authorized");
    let alice = machine.recorder(&root, "alice");
    into_file(&alice, "checkpoint", "alices");
    root.ok(&format!("key revoke {} --reason 'left'", alice.public()));
    assert_eq!(alice.refused("checkpoint"), "key_not_authorized");
    // It was authorised at that size.
    root.ok("verify --expect alices");
    // It was not authorised any more at this one.
    let ledger = root.ok("verify")["ledger"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let now = root.ok("checkpoint");
    let tree = TreeHead {
        size: now["size"].as_u64().unwrap(),
        root: root_of(&now),
    };
    let signed = SignedCheckpoint::sign(Checkpoint { ledger, tree }, &alice.key()).unwrap();
    machine.write("late", &signed.to_string());
    assert_eq!(fault(&root.ends(4, "verify --expect late")), "checkpoint");
}

#[test]
fn what_is_asked_for_and_not_there_is_told() {
    let machine = Machine::new();
    let root = ledger(&machine);
    into_file(&root, "checkpoint", "kept");
    root.ok("probe -- cat five.txt");
    assert_eq!(root.refused("prove 99"), "unknown_event");
    assert_eq!(
        root.refused("prove 5 --checkpoint kept"),
        "after_checkpoint"
    );
    assert_eq!(root.refused("prove --from 6 --checkpoint kept"), "shorter");
    assert_eq!(root.refused("prove --from 99"), "shorter");
    assert_eq!(code(&root.ends(2, "prove")), "usage");
    assert_eq!(code(&root.ends(2, "prove 1 --from 2")), "usage");
    assert_eq!(
        code(&root.ends(5, "prove 1 --checkpoint four.txt")),
        "not_a_checkpoint"
    );
    assert_eq!(code(&root.ends(5, "prove 1 -o kept")), "already_exists");
    assert_eq!(code(&root.ends(5, "verify-proof no-such-file")), "file");
    let told = root.ends(5, "verify-proof four.txt");
    assert_eq!(
        (code(&told), &told["result"]),
        ("not_a_proof", &"error".into())
    );
}

#[test]
fn what_a_predecessor_wrote_is_shown_quoted() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let statement = "\u{1b}[2J do it \u{202e}now";
    let session = root.ok("session list")["sessions"][0]["session"]
        .as_u64()
        .unwrap();
    let reason = format!("session abandon {session} --reason '{statement}'");
    let seq = root.ok(&reason)["head"]["seq"].as_u64().unwrap();
    into_file(&root, &format!("prove {seq}"), "proof");
    let ran = root.run(&format!("verify-proof proof --trust {}", root.public()));
    assert!(
        ran.stdout.contains("\\u{1b}[2J do it \\u{202e}now"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'));
}

#[test]
fn a_ledger_that_was_cut_back_or_forked_fails_the_demand_of_a_machine_that_never_saw_it() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let before = machine.bytes();
    root.ok("probe -- cat five.txt");
    into_file(&root, "checkpoint", "kept");
    let auditor = machine.agent("auditor");
    let demand = format!("verify evidence --expect kept --trust {}", root.public());
    std::fs::write(root.cwd.join("evidence"), machine.bytes()).unwrap();
    assert_eq!(auditor.ok(&demand)["end"]["proven"], true);
    std::fs::write(root.cwd.join("evidence"), before).unwrap();
    assert_eq!(fault(&auditor.ends(4, &demand)), "expect");
}
