//! Trust, keys, and ledgers that are carried elsewhere.

use crate::world::World;
use serde_json::Value;
use std::path::Path;

#[test]
fn an_unpinned_root_is_not_judged_by() {
    let (world, _) = World::resumed();
    let key = world.json(&["key", "show"])["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(world.run(&["trust", "remove", &key]).exit, 0);
    for words in [
        &["can", "db-safe"][..],
        &["state"],
        &["brief"],
        &["state", "--at", "3"],
    ] {
        let told = world.json(words);
        assert_eq!(told["exit"], 3, "{words:?}");
        let next = told["error"]["next"].as_str().unwrap();
        assert!(next.starts_with("handoff trust add KEY"), "{next}");
        assert!(!next.contains(&key), "a ledger does not say whom to trust");
    }
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"self_consistent".into(), &3.into())
    );
    assert_eq!(told["signer"]["basis"], "unpinned");
    let given = world.json(&["--trust", &key, "verify"]);
    assert_eq!(
        (&given["result"], &given["signer"]["basis"]),
        (&"verified".into(), &"given".into())
    );
    assert_eq!(world.run(&["head"]).exit, 0);
    assert_eq!(world.run(&["trust", "add", &"ab".repeat(32)]).exit, 1);
    assert_eq!(world.run(&["trust", "add", &key]).exit, 0);
    assert_eq!(world.json(&["trust", "list"])["pins"][0]["root"], key);
    assert_eq!(world.json(&["verify"])["result"], "verified");
}

#[test]
fn an_export_is_verified_imported_and_the_same_ledger() {
    let world = World::sealed();
    let head = world.head();
    assert_eq!(
        world.json(&["export", "-o", "all.jsonl", "--captures"])["head"]["line"],
        head
    );
    assert_eq!(
        world.run(&["export", "--captures"]).stdout,
        world.read("all.jsonl")
    );
    assert_eq!(world.json(&["verify", "all.jsonl"])["result"], "verified");
    let without = world.run(&["export"]).stdout;
    assert!(world.read("all.jsonl").starts_with(&without));
    let told = world.json(&["import", "all.jsonl", "--to", "copy.db"]);
    assert_eq!(
        (&told["exit"], &told["head"]["line"]),
        (&0.into(), &head.clone().into())
    );
    assert_eq!(
        world
            .run(&["--ledger", "copy.db", "export", "--captures"])
            .stdout,
        world.read("all.jsonl")
    );
    assert_eq!(
        world.run(&["import", "all.jsonl", "--to", "copy.db"]).exit,
        5
    );
    assert_eq!(world.run(&["import", "all.jsonl"]).exit, 5);
    assert_eq!(world.head(), head);
}

#[test]
fn an_export_overwrites_nothing_and_follows_no_link() {
    let world = World::sealed();
    world.write("there.jsonl", "mine");
    std::os::unix::fs::symlink("elsewhere", world.work().join("link.jsonl")).unwrap();
    for file in ["there.jsonl", "link.jsonl"] {
        assert_eq!(
            world.json(&["export", "-o", file])["error"]["code"],
            "already_exists"
        );
    }
    assert_eq!(world.read("there.jsonl"), "mine");
    assert!(!Path::new(&world.work().join("elsewhere")).exists());
    assert_eq!(world.run(&["export", "--json"]).exit, 2);
}

#[test]
fn a_cut_or_altered_export_is_not_imported() {
    let world = World::sealed();
    let whole = world.run(&["export"]).stdout;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    world.write("cut.jsonl", &lines[..4].concat());
    world.write("torn.jsonl", &whole[..whole.len() - 30]);
    world.write("altered.jsonl", &whole.replace("stage-1", "stage-2"));
    world.write("swapped.jsonl", &[lines[0], lines[2], lines[1]].concat());
    for (file, result, exit) in [
        ("cut.jsonl", "incomplete", 3),
        ("torn.jsonl", "incomplete", 3),
        ("altered.jsonl", "tampered", 4),
        ("swapped.jsonl", "tampered", 4),
    ] {
        let told = world.json(&["verify", file]);
        assert_eq!(
            (&told["result"], &told["exit"]),
            (&result.into(), &exit.into()),
            "{file}"
        );
        assert_eq!(
            world.run(&["import", file, "--to", "made.db"]).exit,
            exit,
            "{file}"
        );
        assert!(!world.work().join("made.db").exists());
    }
}

#[test]
fn keys_are_made_once_shown_and_listed() {
    let world = World::new();
    let made = world.json(&["key", "new"]);
    assert_eq!(made["exit"], 0);
    assert_eq!(world.run(&["key", "new"]).exit, 5);
    assert_eq!(world.json(&["key", "show"])["key"], made["key"]);
    let listed = world.json(&["key", "list"]);
    assert_eq!(
        (&listed["keys"], &listed["own"][0]["key"]),
        (&Value::Null, &made["key"])
    );
    assert_eq!(world.run(&["init"]).exit, 0);
    let listed = world.json(&["key", "list"]);
    assert_eq!(listed["keys"][0]["root"], true);
    assert_eq!(listed["keys"][0]["key"], made["key"]);
}
