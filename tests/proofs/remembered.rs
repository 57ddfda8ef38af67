//! Whose word a witness takes, and that what it saw cannot be made to go away.

use super::circuit::ledger;
use super::cli_support::{Agent, Machine, code};
use super::witness::{Offered, folder, kept, request, witness_of};
use handoff_ledger::checkpoint::{Checkpoint, SignedCheckpoint};
use handoff_ledger::key::SigningKey;
use handoff_ledger::merkle::TreeHead;
use handoff_ledger::types::{Digest, LedgerId};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A request for what an agent's key signed, be it true or not.
fn forged(agent: &Agent, ledger: LedgerId, size: u64, root: u8) -> String {
    let root = Digest([root; 32]);
    let tree = TreeHead { size, root };
    let key = SigningKey::from_seed(agent.seed);
    let signed = SignedCheckpoint::sign(Checkpoint { ledger, tree }, &key).unwrap();
    format!("old 0\n\n{signed}")
}

fn id(root: &Agent) -> LedgerId {
    let signed = root.ok("checkpoint");
    signed["ledger"].as_str().unwrap().parse().unwrap()
}

fn next(document: &Value) -> &str {
    document["error"]["next"].as_str().unwrap()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_key_pinned_for_every_ledger_of_its_root_speaks_for_none_at_a_witness() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let mut witness = machine.agent("witness");
    witness.cwd = machine.path("elsewhere");
    fs::create_dir(&witness.cwd).unwrap();
    let pinned = witness.ok(&format!("trust add {}", root.public()));
    assert_eq!(pinned["pin"]["ledger"], "*");

    // The id is of a ledger that is not the key's at all.
    let (other, true_request) = (LedgerId([7; 32]), request(&root, 0));
    let false_request = witness.cwd.join("forged");
    fs::write(&false_request, forged(&root, other, 5, 9)).unwrap();
    for path in [&false_request, &true_request] {
        let document = witness.ends(3, &format!("witness add {}", path.display()));
        assert_eq!(code(&document), "unknown_origin");
        assert!(next(&document).contains(" --id "), "{document}");
    }
    // Pinned for one ledger it speaks for that one alone.
    let one = witness.ok(&format!("trust add {} --id {}", root.public(), id(&root)));
    assert_eq!(one["pin"]["ledger"], id(&root).to_string());
    witness.ok(&format!("witness add {}", true_request.display()));
    let document = witness.ends(3, &format!("witness add {}", false_request.display()));
    assert_eq!(code(&document), "unknown_origin");
    assert_eq!(kept(&witness).len(), 1);
    // Whoever is told so on the command line is asked no more.
    witness.ok(&format!(
        "witness add {} --trust {}",
        false_request.display(),
        root.public()
    ));
}

#[test]
fn what_a_witness_saw_lies_with_its_key_and_is_missed() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let mut witness = witness_of(&machine, &root);
    let first = request(&root, 0);
    let add = |path: &Path| format!("witness add {}", path.display());
    witness.ok(&add(&first));
    root.ok("probe -- cat five.txt");
    witness.ok(&add(&request(&root, 5)));

    // Another place for what can be made anew is not another memory.
    let state = machine.path("other-state").display().to_string();
    witness
        .variables
        .push(("XDG_STATE_HOME".to_owned(), state.into()));
    assert_eq!(code(&witness.no(&add(&first))), "conflict");
    witness.variables.pop();
    fs::remove_dir_all(witness.home.join(".local/state")).ok();
    assert_eq!(code(&witness.no(&add(&first))), "conflict");

    let seen = folder(&witness);
    let [(name, _)] = kept(&witness).try_into().unwrap();
    let refuses = |harm: &str| {
        for line in [add(&first), "witness list".to_owned()] {
            let document = witness.ends(5, &line);
            assert_eq!(code(&document), "witness", "{harm}");
            assert!(!next(&document).contains("XDG_"), "{document}");
        }
    };
    for (path, mode, good) in [
        (seen.clone(), 0o777, 0o700),
        (seen.join(name), 0o666, 0o600),
    ] {
        chmod(&path, mode);
        refuses("others can write");
        chmod(&path, good);
    }
    assert_eq!(code(&witness.no(&add(&first))), "conflict");
    let moved = machine.path("moved");
    fs::rename(&seen, &moved).unwrap();
    refuses("the folder is gone");
    assert!(!seen.exists());
    fs::rename(&moved, &seen).unwrap();
    assert_eq!(code(&witness.no(&add(&first))), "conflict");
}

#[test]
fn a_checkpoint_of_one_event_whose_root_is_not_the_id_is_no_checkpoint() {
    let machine = Machine::new();
    let root = ledger(&machine);
    let witness = witness_of(&machine, &root);
    let path = root.cwd.join("one");
    fs::write(&path, forged(&root, id(&root), 1, 9)).unwrap();
    let add = format!("witness add {}", path.display());
    assert_eq!(code(&witness.no(&add)), "bad_request");
    assert_eq!(kept(&witness), Vec::new());
    // The control: of two events it may be any root.
    fs::write(&path, forged(&root, id(&root), 2, 9)).unwrap();
    witness.ok(&add);
}

#[test]
fn from_its_own_size_on_there_is_nothing_to_show() {
    let (
        _machine,
        Offered {
            witness, path, add, ..
        },
    ) = Offered::new();
    witness.ok(&add);
    let text = fs::read_to_string(&path).unwrap();
    let (_, checkpoint) = text.split_once("\n\n").unwrap();
    let hash = "A".repeat(43) + "=\n";
    fs::write(&path, format!("old 5\n{hash}\n{checkpoint}")).unwrap();
    let document = witness.no(&add);
    assert_eq!(code(&document), "bad_proof");
    assert_eq!(document["error"]["details"]["status"], 422);
    for repeated in ["old 5\n", "old 0\n"] {
        fs::write(&path, format!("{repeated}\n{checkpoint}")).unwrap();
        witness.ok(&add);
    }
}

#[test]
fn forks_do_not_fill_the_disk_and_a_repeat_replaces_nothing() {
    let (
        _machine,
        Offered {
            root,
            witness,
            path,
            add,
            ..
        },
    ) = Offered::new();
    witness.ok(&add);
    let before = kept(&witness);
    // The very tree, with a line more that nobody here knows.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}\u{2014} nobody AAAAAAAA\n")).unwrap();
    witness.ok(&add);
    assert_eq!(kept(&witness), before);

    for fork in 0..18 {
        fs::write(&path, forged(&root, id(&root), 5, fork)).unwrap();
        let document = witness.ends(4, &add);
        assert_eq!(code(&document), "fork");
        assert_eq!(
            document["error"]["details"]["evidence"].is_string(),
            fork < 16
        );
    }
    assert_eq!(kept(&witness).len(), 1 + 16);
    let listed = witness.ok("witness list");
    let evidence = listed["ledgers"][0]["evidence"].as_array().unwrap();
    assert_eq!(evidence.len(), 16);
    assert!(witness.run("witness list").stdout.contains("forked: "));
}
