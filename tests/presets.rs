//! `axis --preset`: ready axes of what is here, recorded together, and what becomes of them when it
//! changes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what fails here fails the test"
)]

mod cli_support;

use cli_support::{Agent, Machine, code};
use serde_json::{Value, json};
use std::process::Command;

const DRIFTED: &str = "drifted_load_bearing";

fn names(document: &Value) -> Vec<&str> {
    let axes = document["axes"].as_array().unwrap().iter();
    axes.map(|axis| axis["axis"].as_str().unwrap()).collect()
}

fn git(root: &Agent, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(words)
        .current_dir(&root.cwd)
        .env("HOME", &root.home)
        .status()
        .unwrap();
    assert!(status.success(), "git {words:?}");
}

/// Records the axes of presets and a claim that needs them all, and seals; the axes' seqs.
fn left(root: &Agent, presets: &str) -> Vec<u64> {
    root.open("predecessor");
    let told = root.ok(&format!("axis --preset {presets}"));
    let needs = names(&told).join(",");
    root.ok(&format!(
        "claim it-{} 'It is here' --needs {needs} --expect stdout~. -- cat five.txt",
        told["session"]
    ));
    root.seal();
    let axes = told["axes"].as_array().unwrap().iter();
    axes.map(|axis| axis["seq"].as_u64().unwrap()).collect()
}

/// The verdicts of those axes for a successor that resumes now.
fn resumed(root: &Agent, axes: &[u64]) -> Vec<String> {
    let told = root.ok("resume --agent successor");
    root.ok(&format!(
        "session abandon {} --reason done",
        told["session"]
    ));
    let verdict = |seq: &u64| {
        let all = told["axes"].as_array().unwrap();
        let found = all.iter().find(|axis| axis["seq"] == *seq);
        let found = found.unwrap_or_else(|| panic!("no axis {seq}: {told}"));
        found["verdict"].as_str().unwrap().to_owned()
    };
    axes.iter().map(verdict).collect()
}

#[test]
fn a_bare_folder_is_its_platform_recorded_at_once() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("first");
    let told = root.ok("axis --preset project --max-age 1h");
    assert_eq!(told["schema"], "handoff.axis.v1");
    assert_eq!(told["session"], session);
    assert_eq!(names(&told), ["os", "arch"]);
    assert_eq!(told["refused"], json!([]));
    assert!(told.get("error").is_none());
    let platform = [std::env::consts::OS, std::env::consts::ARCH];
    for (place, (value, seq)) in platform.iter().zip([session + 2, session + 4]).enumerate() {
        let axis = &told["axes"][place];
        assert_eq!(axis["value"], *value);
        assert_eq!(axis["seq"], seq);
        let recorded = root.ok(&format!("show {}", axis["seq"]));
        assert_eq!(recorded["body"]["receipt"], axis["receipt"]);
        assert_eq!(recorded["body"]["max_age_ms"], 3_600_000);
        assert_eq!(recorded["body"]["class"], "execution_topology");
    }
    root.ok("claim four 'It is four' --needs os,arch --expect value=4 -- cat four.txt");
    let text = root.run("axis --preset platform").stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("axis os recorded as "), "{text}");
}

#[test]
fn a_repository_holds_until_a_tracked_file_or_the_commit_changes() {
    let machine = Machine::new();
    let root = machine.root("");
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "four.txt"]);
    git(&root, &["commit", "--quiet", "-m", "one"]);
    let clean = left(&root, "git");
    assert_eq!(
        root.ok(&format!("show {}", clean[1] - 1))["body"]["value"],
        "none"
    );
    machine.write("untracked.txt", "x");
    assert_eq!(resumed(&root, &clean), ["held", "held"]);
    machine.write("four.txt", "4 and more\n");
    assert_eq!(resumed(&root, &clean), ["held", DRIFTED]);

    let dirty = left(&root, "git");
    assert_eq!(resumed(&root, &dirty), ["held", "held"]);
    machine.write("four.txt", "4 and something else\n");
    let again = resumed(&root, &dirty);
    assert_eq!(again, ["held", DRIFTED], "the same file, changed again");
    git(&root, &["commit", "--quiet", "-a", "-m", "two"]);
    assert_eq!(resumed(&root, &dirty), [DRIFTED, DRIFTED]);
    root.open("within");
    let project = root.ok("axis --preset project");
    assert_eq!(names(&project), ["os", "arch", "git.commit", "git.changes"]);
}

#[test]
fn outside_of_a_repository_its_axes_are_refused_and_nothing_of_it_is_guessed() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let told = root.no("axis --preset git");
    assert_eq!(names(&told), Vec::<&str>::new());
    assert_eq!(told["refused"].as_array().unwrap().len(), 2);
    for refused in told["refused"].as_array().unwrap() {
        assert_eq!(refused["code"], "receipt_failed");
        assert_eq!(
            root.ok(&format!("show {}", refused["receipt"]))["kind"],
            "probe.receipt"
        );
    }
}

#[test]
fn a_tool_that_is_missing_is_told_and_the_others_are_recorded() {
    let machine = Machine::new();
    let mut root = machine.root("");
    let bin = machine.path("bin");
    std::fs::create_dir(&bin).unwrap();
    machine.program(
        "../bin/rustc",
        "#!/bin/sh\necho 'rustc 1.99.0 (abc 2026-01-01)'\n",
    );
    machine.write("Cargo.toml", "");
    machine.write("package.json", "{}");
    machine.write("Cargo.lock", "a\n");
    root.set("PATH", bin);
    root.open("first");
    let told = root.no("axis --preset platform,toolchain,lockfiles");
    assert_eq!(names(&told), ["os", "arch", "rustc", "lock.cargo"]);
    assert_eq!(told["axes"][2]["value"], "1.99.0");
    let refused = &told["refused"][0];
    assert_eq!(refused["axis"], "node");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("not found"), "{message}");
    assert_eq!(code(&told), "receipt_failed");
    let ran = root.run("axis --preset toolchain");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.starts_with("axis rustc recorded as "), "{ran:?}");
    assert!(
        ran.stderr.starts_with("error: axis node is not recorded: "),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .lines()
            .last()
            .unwrap()
            .starts_with("next: handoff show ")
    );
}

#[test]
fn a_tool_of_another_version_and_a_lock_file_of_other_bytes_are_drift() {
    let machine = Machine::new();
    let mut root = machine.root("");
    let bin = machine.path("bin");
    std::fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    root.set("PATH", format!("{}:{path}", bin.display()));
    machine.program(
        "../bin/rustc",
        "#!/bin/sh\necho 'rustc 1.99.0 (abc 2026-01-01)'\n",
    );
    machine.write("Cargo.toml", "");
    machine.write("Cargo.lock", "a\n");
    let axes = left(&root, "project");
    assert_eq!(resumed(&root, &axes), ["held"; 4]);
    machine.write("Cargo.lock", "b\n");
    assert_eq!(resumed(&root, &axes), ["held", "held", "held", DRIFTED]);
    machine.program(
        "../bin/rustc",
        "#!/bin/sh\necho 'rustc 1.98.0 (abc 2026-01-01)'\n",
    );
    assert_eq!(resumed(&root, &axes), ["held", "held", DRIFTED, DRIFTED]);
}

#[test]
fn a_preset_of_which_nothing_is_here_is_a_no() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    let head = root.ok("head")["head"]["seq"].clone();
    assert_eq!(root.refused("axis --preset lockfiles"), "nothing_here");
    assert_eq!(root.ok("head")["head"]["seq"], head);
    let told = root.no("axis --preset toolchain,platform");
    assert_eq!(names(&told), ["os", "arch"]);
    assert_eq!(told["refused"][0]["preset"], "toolchain");
}

#[test]
fn of_a_variable_it_is_recorded_whether_it_is_set_and_never_what_it_is() {
    let machine = Machine::new();
    let mut root = machine.root("");
    root.set("DATABASE_URL", "secret-of-mine");
    root.open("first");
    let told = root.ok("axis --preset env=DATABASE_URL,env=CI,identity,container");
    let expected = [
        "env.database_url",
        "env.ci",
        "user",
        "privileges",
        "mount-root",
        "netns",
    ];
    assert_eq!(names(&told), expected);
    assert_eq!(told["axes"][0]["value"], "set");
    assert_eq!(told["axes"][1]["value"], "unset");
    assert!(!machine.holds("secret-of-mine"));
    let document = root.ends(2, "axis --preset env=CI,env=ci");
    assert_eq!(code(&document), "usage");
}

#[test]
fn a_preset_says_itself_what_it_records() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    for (line, said) in [
        ("axis a --preset git", "--preset"),
        ("axis --preset git --class reachability", "--preset"),
        ("axis --preset git --holds-if present", "--preset"),
        ("axis --preset git -- true", "--preset"),
        ("axis --preset git --check os", "--preset"),
        ("axis --preset git --receipt 3", "--preset"),
        ("axis --preset git --shell", "--preset"),
        (
            "axis --preset hostname",
            "expected a preset: project, platform",
        ),
        ("axis --preset", "--preset <P> takes a value"),
        ("axis a", "--class <C>"),
        ("axis --class reachability -- true", "<NAME>"),
    ] {
        let document = root.ends(2, line);
        let message = document["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{line}: {message}");
    }
}
