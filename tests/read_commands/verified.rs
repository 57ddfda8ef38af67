//! What a ledger is found to be.

use crate::world::{World, strings};

#[test]
fn a_good_ledger_is_verified_and_what_is_not_proven_is_told() {
    let world = World::sealed();
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"verified".into(), &0.into())
    );
    assert_eq!(told["head"]["line"], world.head());
    assert_eq!(told["signer"]["basis"], "pinned");
    assert_eq!(
        (&told["end"]["proven"], &told["end"]["by"]),
        (&true.into(), &"view".into())
    );
    let not_proven = strings(&told["not_proven"]).join("\n");
    assert!(not_proven.contains("a signer can lie"));
    assert!(!not_proven.contains("commitments"), "{not_proven}");
    let head = world.head();
    let copy = world.work().join("copy.db");
    std::fs::copy(world.ledger(), &copy).unwrap();
    let before = std::fs::read(&copy).unwrap();
    let told = world.json(&["verify", "copy.db"]);
    assert_eq!(
        (&told["result"], &told["end"]["by"]),
        (&"verified".into(), &"view".into())
    );
    std::fs::remove_dir_all(world.views()).unwrap();
    let told = world.json(&["verify", "copy.db"]);
    assert_eq!(
        (&told["result"], &told["end"]["by"]),
        (&"verified".into(), &"none".into())
    );
    assert!(
        strings(&told["not_proven"])
            .join("\n")
            .contains("that it ends here")
    );
    let told = world.json(&["verify", "copy.db", "--expect", &head]);
    assert_eq!(
        (&told["end"]["proven"], &told["end"]["by"]),
        (&true.into(), &"expect".into())
    );
    assert_eq!(std::fs::read(&copy).unwrap(), before);
}

#[test]
fn another_head_than_the_expected_one_is_tampering() {
    let world = World::sealed();
    let head = world.head();
    let (start, leaf) = head.rsplit_once(':').unwrap();
    let other = format!("{start}:{}", leaf.chars().rev().collect::<String>());
    let told = world.json(&["verify", "--expect", &other]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"tampered".into(), &4.into())
    );
    assert_eq!(told["faults"][0]["kind"], "expect");
}

#[test]
fn every_fault_of_an_altered_ledger_is_told_and_the_intact_part_can_be_carried_over() {
    let world = World::sealed();
    let before = world.json(&["verify"])["events"].as_u64().unwrap();
    world.alter("stage-1", "stage-2");
    assert_eq!(world.run(&["state"]).exit, 4);
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"tampered".into(), &4.into())
    );
    assert!(told["faults"].as_array().unwrap().len() > 2, "{told}");
    assert!(told["events"].as_u64().unwrap() < before);
    assert_eq!(told["records"], before);
    let exported = world.run(&["export", "-o", "good.jsonl"]);
    assert_eq!(exported.exit, 4);
    let imported = world.json(&["import", "good.jsonl", "--to", "good.db"]);
    assert_eq!(imported["exit"], 0);
    assert_eq!(imported["head"], told["head"]);
}

#[test]
fn a_ledger_shorter_than_this_machine_knows_is_rolled_back() {
    let world = World::sealed();
    let old = std::fs::read(world.ledger()).unwrap();
    assert_eq!(world.run(&["resume", "--agent", "second"]).exit, 0);
    std::fs::write(world.ledger(), old).unwrap();
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"tampered".into(), &4.into())
    );
    assert_eq!(told["faults"][0]["kind"], "rollback");
    assert_eq!(world.run(&["head"]).exit, 4);
}

#[test]
fn a_damaged_view_is_no_tampering() {
    let world = World::sealed();
    let mut folders = vec![world.folder.path().join("home")];
    let mut damaged = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.components().any(|part| part.as_os_str() == "state") {
                std::fs::write(path, b"this is no index at all").unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0);
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"verified".into(), &0.into()),
        "{told}"
    );
    assert!(
        strings(&told["not_proven"])
            .join("\n")
            .contains("rolled back")
    );
    assert_eq!(world.run(&["head"]).exit, 5, "what is remembered went too");
}

#[test]
fn a_refused_event_is_unlawful_until_the_root_acknowledges_it() {
    let world = World::sealed();
    world.intrude();
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"unlawful".into(), &4.into())
    );
    assert_eq!(told["refused"][0]["rule"], "key_not_authorized");
    let seq = told["refused"][0]["seq"].to_string();
    assert_eq!(
        world.json(&["show", &seq])["refused"]["rule"],
        "key_not_authorized"
    );
    let answer = world.run(&["acknowledge", &seq, "--reason", "an intruder"]);
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"verified".into(), &0.into())
    );
    assert_eq!(told["refused"][0]["acknowledged"], true);
}

#[test]
fn what_is_no_ledger_is_an_error_and_what_lies_beside_makes_it_incomplete() {
    let world = World::sealed();
    world.write("notes.txt", "some notes\n");
    world.write("other.jsonl", "{\"a\":1}\n");
    for file in ["notes.txt", "other.jsonl", "absent.db", "."] {
        let told = world.json(&["verify", file]);
        assert_eq!(
            (&told["result"], &told["exit"]),
            (&"error".into(), &5.into()),
            "{file}"
        );
    }
    std::fs::copy(world.ledger(), world.work().join("copy.db")).unwrap();
    world.write("copy.db-wal", "");
    let told = world.json(&["verify", "copy.db"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"incomplete".into(), &3.into())
    );
}
