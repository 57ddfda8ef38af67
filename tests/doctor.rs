//! The doctor: what is well, what is wrong, and that looking changes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod cli_support;

use cli_support::{Agent, Machine};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The results of a doctor's document, by check.
fn results(document: &Value) -> BTreeMap<&str, &str> {
    let checks = document["checks"].as_array().unwrap();
    let told = checks.iter().map(|check| {
        let text = |member: &str| check[member].as_str().unwrap();
        assert!(!text("detail").is_empty(), "{check}");
        if !["ok", "skipped"].contains(&text("result")) {
            assert!(check["next"].is_string(), "{check}");
        }
        (text("check"), text("result"))
    });
    told.collect()
}

/// Every check of a machine where all is well.
const ALL: [&str; 17] = [
    "clock",
    "file_system",
    "folder",
    "free_space",
    "hard_links",
    "home",
    "key",
    "key_authority",
    "key_custody",
    "ledger",
    "memory",
    "pins",
    "program",
    "rollback",
    "side_files",
    "view",
    "write_path",
];

fn files_below(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_machine_that_is_well_is_told_so_and_nothing_is_changed() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    root.ok("axis four --class execution_topology -- cat four.txt");
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files_below(&machine.path(""), &mut before);
    let told = root.ok("doctor");
    files_below(&machine.path(""), &mut after);
    assert_eq!(before, after);
    let results = results(&told);
    assert_eq!(results.keys().copied().collect::<Vec<_>>(), ALL);
    for (check, result) in &results {
        let expected = if *check == "key_custody" {
            "warn"
        } else {
            "ok"
        };
        assert_eq!(*result, expected, "{check}: {told}");
    }
    let text = root.run("doctor");
    assert_eq!(text.code, 0);
    assert!(
        text.stdout.contains("every process of user"),
        "{}",
        text.stdout
    );
    let next = text
        .stdout
        .lines()
        .find(|line| line.contains("next: "))
        .unwrap();
    assert!(next.contains("--four-eyes"), "{next}");
}

#[test]
fn without_a_ledger_or_a_key_the_rest_is_looked_at() {
    let machine = Machine::new();
    let home = machine.path("empty-home");
    std::fs::create_dir(&home).unwrap();
    let nobody = Agent {
        home,
        cwd: machine.project(),
        variables: Vec::new(),
        seed: [0; 32],
    };
    let told = nobody.ok("doctor");
    let results = results(&told);
    assert_eq!((results["ledger"], results["key"]), ("skipped", "skipped"));
    assert_eq!(results["write_path"], "ok");
    assert!(!machine.project().join(".handoff").exists());
}

/// One thing wrong at a time: which check tells it, how, and the exit of the whole.
#[test]
fn each_thing_that_is_wrong_is_told_by_its_check() {
    type Harm = fn(&Machine, &Agent);
    let cases: [(&str, &str, i32, Harm); 11] = [
        ("key", "failed", 5, |_, root| {
            chmod(
                &root.home.join(".local/share/handoff/keys/default.pem"),
                0o644,
            );
        }),
        ("key", "failed", 5, |_, root| {
            chmod(&root.home.join(".local/share/handoff/keys"), 0o777)
        }),
        ("pins", "failed", 3, |_, root| {
            std::fs::remove_file(root.home.join(".config/handoff/trust")).unwrap();
        }),
        ("side_files", "warn", 0, |machine, _| {
            std::fs::write(machine.project().join(".handoff/ledger.db-journal"), "").unwrap();
        }),
        ("side_files", "failed", 4, |machine, _| {
            std::fs::write(machine.project().join(".handoff/ledger.db-wal"), "").unwrap();
        }),
        ("hard_links", "failed", 5, |machine, _| {
            std::fs::hard_link(machine.ledger(), machine.path("other.db")).unwrap();
        }),
        ("folder", "warn", 0, |machine, _| {
            chmod(&machine.project().join(".handoff"), 0o777)
        }),
        ("folder", "warn", 0, |machine, _| {
            chmod(&machine.ledger(), 0o666)
        }),
        ("view", "warn", 0, |_, root| {
            std::fs::remove_dir_all(root.home.join(".local/state/handoff")).unwrap();
        }),
        ("ledger", "failed", 4, |machine, _| {
            let file = rusqlite::Connection::open(machine.ledger()).unwrap();
            file.execute_batch(
                "DROP TRIGGER event_no_update; UPDATE event SET record = zeroblob(200) WHERE seq = 1",
            )
            .unwrap();
        }),
        ("rollback", "failed", 4, |machine, root| {
            let older = machine.bytes();
            root.ok(
                "key authorize 5a7f1723bedadc9807f62d28f5893204ac2cc1b0cbe9162eb2f4f40c955a9d98 \
                     --label later",
            );
            std::fs::write(machine.ledger(), older).unwrap();
        }),
    ];
    for (place, (check, result, exit, harm)) in cases.into_iter().enumerate() {
        let machine = Machine::new();
        let root = machine.root("");
        root.open("root");
        harm(&machine, &root);
        let ran = root.run("--json doctor");
        let told = ran.json();
        let results = results(&told);
        assert_eq!(results.get(check), Some(&result), "case {place}: {told}");
        match (check, result) {
            // A check before it may have failed for the same reason, with its own exit.
            ("side_files", "failed") => assert!([3, 4].contains(&ran.code), "{told}"),
            _ => assert_eq!(ran.code, exit, "case {place}: {told}"),
        }
    }
}

/// The file of a machine's view of the one ledger that it knows.
fn view_of(agent: &Agent) -> PathBuf {
    let views = agent.home.join(".local/state/handoff/views");
    let mut files = std::fs::read_dir(views)
        .unwrap()
        .map(|it| it.unwrap().path());
    files
        .find(|path| path.extension().is_some_and(|it| it == "db"))
        .unwrap()
}

/// A view that is empty, of another version or damaged is one that is built anew, and not one that
/// saw another ledger; and looking at it leaves it as it is.
#[test]
fn a_view_that_is_built_anew_when_used_is_no_rollback() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    let view = view_of(&root);
    let whole = std::fs::read(&view).unwrap();
    let emptied = |sql: &str| {
        std::fs::write(&view, &whole).unwrap();
        let file = rusqlite::Connection::open(&view).unwrap();
        file.execute_batch(sql).unwrap();
        drop(file);
        std::fs::read(&view).unwrap()
    };
    let harmed = [
        Vec::new(),
        emptied("DELETE FROM event"),
        emptied("PRAGMA user_version = 7"),
        b"no database at all".to_vec(),
    ];
    for (case, bytes) in harmed.into_iter().enumerate() {
        std::fs::write(&view, &bytes).unwrap();
        let told = root.ok("doctor");
        assert_eq!(results(&told)["view"], "warn", "case {case}: {told}");
        assert_eq!(std::fs::read(&view).unwrap(), bytes, "case {case}");
    }
    std::fs::write(&view, &whole).unwrap();
    assert_eq!(results(&root.ok("doctor"))["view"], "ok");
}

/// The view's head is held against the ledger's own event of that position, before its end too.
#[test]
fn a_view_whose_head_is_another_event_is_told() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("root");
    root.ok("probe -- cat four.txt");
    let view = view_of(&root);
    let whole = std::fs::read(&view).unwrap();
    let other = "UPDATE event SET leaf = zeroblob(32) WHERE seq = (SELECT max(seq) FROM event)";
    let beyond = "INSERT INTO event SELECT max(seq) + 1, zeroblob(32), NULL FROM event";
    let behind = "DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)";
    let both = format!("{behind}; {other}");
    for (sql, expected) in [
        (behind, "ok"),
        (other, "failed"),
        (both.as_str(), "failed"),
        (beyond, "failed"),
    ] {
        std::fs::write(&view, &whole).unwrap();
        let file = rusqlite::Connection::open(&view).unwrap();
        file.execute_batch(sql).unwrap();
        drop(file);
        let told = root.run("--json doctor").json();
        assert_eq!(results(&told)["view"], expected, "{sql}: {told}");
    }
}

#[test]
fn a_key_that_may_not_write_is_told() {
    let machine = Machine::new();
    let root = machine.root("");
    let mut stranger = machine.agent("stranger");
    stranger.set("HANDOFF_TRUST", root.public().to_string());
    stranger.ok("head");
    assert_eq!(results(&stranger.ok("doctor"))["key_authority"], "warn");
    root.ok(&format!("key authorize {} --label s", stranger.public()));
    stranger.ok("head");
    assert_eq!(results(&stranger.ok("doctor"))["key_authority"], "ok");
    root.ok(&format!("key revoke {} --reason R", stranger.public()));
    stranger.ok("head");
    assert_eq!(results(&stranger.no("doctor"))["key_authority"], "failed");
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written_fails_the_write_path() {
    let machine = Machine::new();
    let root = machine.root("");
    // Nobody makes files here, be it root.
    let told = root.within(Path::new("/proc/self")).ends(5, "doctor");
    let results = results(&told);
    assert_eq!(
        (results["write_path"], results["ledger"]),
        ("failed", "skipped"),
        "{told}"
    );
}
