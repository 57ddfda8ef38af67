//! What the environment does: probes that hang, drift that is allowed, age, places and secrets.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

mod cli_support;

use cli_support::{Agent, HANG, Machine, admissible, because, blocked, code, verdict};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

/// A sealed session with one axis, recorded by `probe`, and a claim `c` that needs it.
fn sealed_with(machine: &Machine, options: &str, probe: &str) -> Agent {
    let root = machine.root("");
    root.open("first");
    root.ok(&format!("axis a --class reachability {options} {probe}"));
    root.ok("claim c 'a claim' --needs a --expect value=4 -- cat four.txt");
    root.seal();
    root
}

#[test]
fn an_axis_that_its_session_lets_drift_blocks_nothing() {
    let machine = Machine::new();
    let root = machine.root("");
    machine.write("name.txt", "runner-1\n");
    root.open("first");
    root.ok("axis host --class execution_topology -- cat name.txt");
    root.ok("axis os --class execution_topology --check os");
    root.ok("claim c 'a claim' --needs os --check os");
    root.ok("ambient --allow host='runners are ephemeral' --observed runner-0 --observed runner-1");
    root.ok("seal");
    machine.write("name.txt", "runner-2\n");
    let resumed = root.ok("resume --agent second");
    assert_eq!(verdict(&resumed, "host"), ("drifted_ambient", "changed"));
    assert_eq!(admissible(&resumed), ["c"]);
}

#[test]
fn a_name_is_either_ambient_or_needed_and_never_both() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    root.ok("axis os --class execution_topology --check os");
    root.ok("axis arch --class execution_topology --check arch");
    root.ok("claim c 'a claim' --needs os --check os");
    assert_eq!(
        root.refused("ambient --allow os='changes'"),
        "ambient_load_bearing"
    );
    root.ok("ambient --allow arch='changes'");
    assert_eq!(
        root.refused("claim d 'another' --needs arch --check arch"),
        "axis_ambient"
    );
}

#[test]
fn an_inherited_probe_that_hangs_is_unverifiable_after_its_timeout() {
    let machine = Machine::new();
    machine.program(
        "probe.sh",
        "#!/bin/sh\ntest -e slow && sleep 60\necho fine\n",
    );
    let root = sealed_with(&machine, "--timeout 300ms", "-- ./probe.sh");
    machine.write("slow", "");
    let resumed = root.ok("resume --agent second");
    assert_eq!(verdict(&resumed, "a"), ("unverifiable", "timed_out"));
    assert_eq!(blocked(&resumed), ["c"]);
}

#[test]
fn an_inherited_probe_that_prints_without_end_is_unverifiable_after_its_timeout() {
    let machine = Machine::new();
    machine.program(
        "probe.sh",
        "#!/bin/sh\ntest -e loud && exec yes\necho fine\n",
    );
    let root = sealed_with(&machine, "--timeout 500ms", "-- ./probe.sh");
    machine.write("loud", "");
    let resumed = root.ok("resume --agent second");
    assert_eq!(verdict(&resumed, "a"), ("unverifiable", "timed_out"));
    let length = machine.bytes().len();
    assert!(length < 4 << 20, "what is kept is bounded: {length} bytes");
}

#[test]
fn an_inherited_probe_that_is_gone_or_fails_is_unverifiable_and_not_drift() {
    let machine = Machine::new();
    machine.program("probe.sh", "#!/bin/sh\necho fine\n");
    let root = sealed_with(&machine, "", "-- ./probe.sh");
    machine.program("probe.sh", "#!/bin/sh\necho fine\nexit 3\n");
    let resumed = root.ok("resume --agent second");
    assert_eq!(verdict(&resumed, "a"), ("unverifiable", "unexpected_exit"));
    std::fs::remove_file(machine.project().join("probe.sh")).unwrap();
    let again = root.no("reverify");
    assert_eq!(verdict(&again, "a"), ("unverifiable", "not_found"));
    machine.write("probe.sh", "no program\n");
    let again = root.no("reverify");
    assert_eq!(verdict(&again, "a"), ("unverifiable", "not_executable"));
    machine.program("probe.sh", "#!/bin/sh\nkill -9 $$\n");
    assert_eq!(
        verdict(&root.no("reverify"), "a"),
        ("unverifiable", "signaled")
    );
    machine.program("probe.sh", "#!/bin/sh\necho fine\n");
    assert_eq!(admissible(&root.ok("reverify")), ["c"]);
}

#[test]
fn a_promotion_may_need_an_inherited_axis_which_is_probed_around_its_step() {
    let machine = Machine::new();
    let root = machine.root("");
    machine.write("zone.txt", "east\n");
    root.open("first");
    root.ok("axis zone --class execution_topology -- cat zone.txt");
    root.ok("flag f 'a guess' --because 'a hunch' --needs zone --expect value=4 -- cat four.txt");
    root.seal();
    root.ok("resume --agent second");
    machine.write("zone.txt", "west\n");
    assert_eq!(root.refused("promote f --needs zone"), "not_bracketed");
    machine.write("zone.txt", "east\n");
    assert_eq!(
        root.refused("promote f --environment-independent 'it is arithmetic'"),
        "independence_not_flagged"
    );
    root.ok("promote f --needs zone");
    assert_eq!(admissible(&root.ok("reverify")), ["f"]);
    machine.write("zone.txt", "west\n");
    assert_eq!(because(&root.ok("reverify"), "f")["axis"], "zone");
}

#[test]
fn an_axis_past_its_maximum_age_is_stale_until_it_is_probed_again() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    root.ok("axis os --class execution_topology --max-age 1s --check os");
    root.ok("claim c 'a claim' --needs os --expect value=4 -- cat four.txt");
    std::thread::sleep(Duration::from_millis(1200));
    root.ok("claim d 'another' --needs os --expect value=5 -- cat five.txt");
    root.seal();
    let resumed = root.ok("resume --agent second");
    assert_eq!(admissible(&resumed), ["c", "d"]);
    std::thread::sleep(Duration::from_millis(1200));
    let stale = root.run("--json reverify --no-exec").json();
    assert_eq!(verdict(&stale, "os"), ("unverifiable", "stale"));
    assert_eq!(admissible(&root.ok("reverify")), ["c", "d"]);
}

#[test]
fn without_running_probes_an_inherited_axis_is_unverifiable() {
    let machine = Machine::new();
    machine.program("probe.sh", "#!/bin/sh\necho ran >> ran\necho fine\n");
    let root = sealed_with(&machine, "", "-- ./probe.sh");
    let runs = || std::fs::read_to_string(machine.project().join("ran")).unwrap();
    let before = (runs(), machine.bytes());
    let dry = root.ok("resume --agent second --dry-run");
    assert_eq!(dry["dry_run"], true);
    assert_eq!(dry["probes"][0]["probe"]["argv"], json!(["./probe.sh"]));
    assert_eq!(
        (runs(), machine.bytes()),
        before,
        "a dry run runs and writes nothing"
    );
    let resumed = root.ok("resume --agent second --no-exec");
    assert_eq!(verdict(&resumed, "a"), ("unverifiable", "no_exec"));
    assert_eq!(runs(), before.0);
    let bytes = machine.bytes();
    assert_eq!(
        root.ok("reverify --dry-run")["probes"][0]["axes"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!((runs(), machine.bytes()), (before.0, bytes));
}

#[test]
fn axes_with_one_probe_cost_one_run() {
    let machine = Machine::new();
    machine.program("probe.sh", "#!/bin/sh\necho ran >> ran\necho 3.11.4\n");
    let root = sealed_with(&machine, "", "-- ./probe.sh");
    root.ok("resume --agent second");
    root.ok("axis b --class dependency_version --holds-if 'semver=>=3' -- ./probe.sh");
    root.ok("claim d 'another' --needs b --expect value=5 -- cat five.txt");
    root.seal();
    std::fs::remove_file(machine.project().join("ran")).unwrap();
    assert_eq!(admissible(&root.ok("resume --agent third")), ["c", "d"]);
    let runs = std::fs::read_to_string(machine.project().join("ran")).unwrap();
    assert_eq!(runs.lines().count(), 1);
}

#[test]
fn asserted_values_count_only_where_the_ledger_says_so_and_never_over_a_receipt() {
    for (policy, expected) in [
        ("", ("unverifiable", "asserted_only")),
        ("--allow-asserted", ("held", "")),
    ] {
        let machine = Machine::new();
        machine.write("zone.txt", "east\n");
        machine.write("values.json", "{\"zone\": \"east\"}");
        let root = machine.root(policy);
        root.open("first");
        root.ok("axis zone --class execution_topology -- cat zone.txt");
        root.ok("claim c 'a claim' --needs zone --expect value=4 -- cat four.txt");
        root.seal();
        machine.write("zone.txt", "west\n");
        let resumed = root.ok("resume --agent second --values values.json");
        assert_eq!(verdict(&resumed, "zone"), expected, "{policy}");
        root.no("reverify");
        let said = root.no("reverify --values values.json");
        assert_eq!(
            verdict(&said, "zone"),
            ("drifted_load_bearing", "changed"),
            "{policy}"
        );
    }
}

#[test]
fn an_asserted_value_of_no_axis_is_a_mistake_and_is_told() {
    let machine = Machine::new();
    let root = sealed_with(&machine, "", "--check os");
    root.ok("resume --agent second");
    machine.write("values.json", "{\"zonne\": \"east\"}");
    let before = machine.bytes();
    let failed = root.ends(2, "reverify --values values.json");
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("zonne"),
        "{failed}"
    );
    assert_eq!(
        root.ends(2, "resume --agent third --values values.json")["error"]["code"],
        "usage"
    );
    assert_eq!(machine.bytes(), before);
}

#[test]
fn a_redacted_value_is_never_in_the_file_and_still_tells_same_from_different() {
    let machine = Machine::new();
    let root = machine.root("");
    machine.write("token.txt", "hunter2-of-the-first-session\n");
    root.open("first");
    root.ok("axis token --class reachability --redact -- cat token.txt");
    root.ok("claim c 'a claim' --needs token --expect value=4 -- cat four.txt");
    root.seal();
    let resumed = root.ok("resume --agent second");
    assert_eq!(verdict(&resumed, "token"), ("held", ""));
    machine.write("token.txt", "hunter3-of-the-second-session\n");
    let drifted = root.no("reverify");
    assert_eq!(
        verdict(&drifted, "token"),
        ("drifted_load_bearing", "changed")
    );
    assert_eq!(because(&drifted, "c")["was"], "(redacted)");
    let digest = "40a985f1e7b0b12acf57e89f390ce47f5605928d642cb8165709f00598e1ccb2";
    for secret in ["hunter2", "hunter3", digest] {
        assert!(!machine.holds(secret), "{secret} is in the ledger");
        assert!(!drifted.to_string().contains(secret));
    }
    assert_eq!(
        root.refused("axis t2 --class reachability --redact --holds-if present -- cat token.txt"),
        "redacted_comparator"
    );
}

#[test]
fn a_value_that_looks_like_a_credential_is_refused_unless_redacted() {
    let machine = Machine::new();
    let root = machine.root("");
    let token = format!(
        "ghp_{}",
        "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap()
    );
    machine.write("token.txt", &token);
    root.open("first");
    let before = machine.bytes();
    assert_eq!(
        root.refused("axis token --class reachability -- cat token.txt"),
        "credential"
    );
    assert_eq!(machine.bytes(), before);
    root.ok("axis token --class reachability --redact -- cat token.txt");
    assert!(!machine.holds(&token));
}

#[test]
fn a_name_that_two_inherited_sessions_recorded_differently_is_named_with_its_session() {
    let machine = Machine::new();
    let root = machine.root("");
    let sides = [
        machine.recorder(&root, "left"),
        machine.recorder(&root, "right"),
    ];
    for side in &sides {
        side.open("side");
    }
    let mut sealed = Vec::new();
    for (side, check) in sides.iter().zip(["os", "arch"]) {
        side.ok(&format!(
            "axis thing --class execution_topology --check {check}"
        ));
        side.ok(&format!(
            "claim {check} 'claim {check}' --needs thing --check {check}"
        ));
        sealed.push(side.seal());
    }
    root.ok("resume --agent both");
    let ambiguous = root.no("claim c 'a claim' --needs thing --expect value=4 -- cat four.txt");
    assert_eq!(code(&ambiguous), "ambiguous_axis");
    let next = ambiguous["error"]["next"].as_str().unwrap();
    assert!(next.contains(&format!("thing@{}", sealed[0])), "{next}");
    root.ok(&format!(
        "claim c 'a claim' --needs thing@{} --expect value=4 -- cat four.txt",
        sealed[1]
    ));
    assert_eq!(
        root.refused("claim d 'another' --needs thing@999 --expect value=4 -- cat four.txt"),
        "axis_unknown"
    );
    root.ok("axis thing --class execution_topology --check user");
    root.ok("claim e 'a third' --needs thing --expect value=4 -- cat four.txt");
}

#[test]
fn a_tcp_check_tells_a_listener_from_a_closed_port() {
    let machine = Machine::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let root = sealed_with(&machine, "", &format!("--check tcp=127.0.0.1:{port}"));
    assert_eq!(admissible(&root.ok("resume --agent second")), ["c"]);
    drop(listener);
    let gone = root.no("reverify");
    assert_eq!(verdict(&gone, "a"), ("drifted_load_bearing", "unreachable"));
    assert_eq!(because(&gone, "c")["now"], "refused");
    assert_eq!(
        root.refused(&format!(
            "claim up 'it is up' --needs a --check tcp=127.0.0.1:{port}"
        )),
        "receipt_failed"
    );
}

#[test]
fn a_schema_check_follows_the_document_and_env_checks_the_variable() {
    let machine = Machine::new();
    machine.write("schema.json", r#"{"type": "object", "required": ["port"]}"#);
    machine.write("config.json", r#"{"port": 5432}"#);
    let mut root = machine.root("");
    root.open("first");
    root.ok("axis config --class dependency_version --check schema=config.json,schema.json");
    root.set("STORY_MODE", "strict");
    root.ok("axis var --class execution_topology --check env-set=STORY_MODE");
    root.ok("axis mode --class execution_topology --check env=STORY_MODE");
    root.ok("axis file --class dependency_version --check file-sha256=schema.json");
    root.ok(
        "claim c 'a claim' --needs config,var,mode,file --check schema=config.json,schema.json",
    );
    root.seal();
    assert_eq!(admissible(&root.ok("resume --agent second")), ["c"]);
    machine.write("config.json", "{}");
    root.set("STORY_MODE", "lax");
    let drifted = root.no("reverify");
    assert_eq!(verdict(&drifted, "var"), ("held", ""));
    let unset = Agent {
        variables: Vec::new(),
        ..root.clone()
    }
    .no("reverify");
    assert_eq!(verdict(&unset, "var").0, "drifted_load_bearing");
    assert_eq!(verdict(&drifted, "mode").0, "drifted_load_bearing");
    assert_eq!(verdict(&drifted, "file"), ("held", ""));
    assert_eq!(verdict(&drifted, "config").0, "drifted_load_bearing");
}

fn git(folder: &std::path::Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

#[test]
fn worktrees_share_a_ledger_and_each_is_a_place_of_its_own() {
    let machine = Machine::new();
    let project = machine.project();
    git(&project, &["init", "-q"]);
    machine.write("version.txt", "1\n");
    git(&project, &["add", "version.txt"]);
    git(&project, &["commit", "-q", "-m", "first"]);
    let root = machine.root("");
    let first = root.open("first");
    root.ok("axis version --class dependency_version -- cat version.txt");
    root.ok("claim c 'a claim' --needs version --expect value=1 -- cat version.txt");
    let tree = machine.path("tree");
    git(&project, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    let there = root.within(&tree);
    let none = there.ends(2, "seal");
    assert_eq!(
        code(&none),
        "no_session",
        "a session is of the place it was opened in"
    );
    assert_eq!(
        there
            .of(first)
            .refused("claim d 'another' --needs version --expect value=1 -- cat version.txt"),
        "scope"
    );
    root.seal();
    std::fs::write(tree.join("version.txt"), "2\n").unwrap();
    let resumed = there.ok("resume --agent second");
    assert_eq!(
        verdict(&resumed, "version"),
        ("drifted_load_bearing", "changed")
    );
    assert_eq!(
        admissible(&root.ok("resume --agent third")),
        ["c"],
        "unchanged in the first tree"
    );
    let elsewhere = root
        .of(resumed["session"].as_u64().unwrap())
        .no("reverify --no-exec");
    assert!(admissible(&elsewhere).is_empty(), "{elsewhere}");
}

#[test]
fn a_checkout_elsewhere_may_name_the_ledger_and_trust_its_root_for_one_command() {
    let machine = Machine::new();
    let root = sealed_with(&machine, "", "--check os");
    let head = root.ok("resume --agent own")["head"]["line"]
        .as_str()
        .unwrap()
        .to_owned();
    let checkout = machine.path("checkout");
    std::fs::create_dir(&checkout).unwrap();
    let mut other = machine.agent("other").within(&checkout);
    assert_eq!(other.run("session list").code, 5, "no ledger here");
    other.set("HANDOFF_LEDGER", machine.ledger());
    assert_eq!(
        code(&other.ends(3, "resume --agent other")),
        "unpinned_root"
    );
    other.set("HANDOFF_TRUST", root.public().to_string());
    assert_eq!(other.refused("resume --agent other"), "key_not_authorized");
    root.ok(&format!("key authorize {} --label other", other.public()));
    other.set("HANDOFF_EXPECT", head.clone());
    let resumed = other.ok("resume --agent other");
    assert_eq!(admissible(&resumed), ["c"]);
    let last = if head.ends_with('0') { "1" } else { "0" };
    other.set(
        "HANDOFF_EXPECT",
        format!("{}{last}", &head[..head.len() - 1]),
    );
    assert_eq!(other.run("reverify").code, 4);
}

#[test]
fn an_interrupted_probe_leaves_no_event_and_no_process() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    machine.program("probe.sh", "#!/bin/sh\necho $$ > pid\nsleep 600 & wait\n");
    let before = machine.bytes();
    let mut child = root.start("--json axis a --class reachability --timeout 5m -- ./probe.sh");
    let pid = wait_for(|| {
        let text = std::fs::read_to_string(machine.project().join("pid")).ok()?;
        text.trim().parse::<i32>().ok()
    });
    signal(child.id(), "INT");
    let status = wait_for(|| child.try_wait().unwrap());
    assert_eq!(status.code(), Some(5));
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(code(&document), "interrupted");
    assert_eq!(machine.bytes(), before);
    let of_group = |name: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| {
            let words: Vec<&str> = rest.split(' ').collect();
            words[2] == pid.to_string() && words[0] != "Z"
        })
    };
    let left = std::fs::read_dir("/proc").unwrap();
    let left =
        left.filter(|entry| of_group(&entry.as_ref().unwrap().file_name().to_string_lossy()));
    assert_eq!(left.count(), 0, "a process of group {pid} is left");
}

#[test]
fn an_interrupted_promotion_says_what_was_recorded() {
    let machine = Machine::new();
    let root = machine.root("");
    root.open("first");
    machine.program("step.sh", "#!/bin/sh\necho $$ > pid\nsleep 600\n");
    root.ok(
        "flag f 'a guess' --because 'a hunch' --environment-independent 'it is' --expect \
     value=1 -- ./step.sh",
    );
    let mut child = root.start("--json promote f");
    wait_for(|| machine.project().join("pid").exists().then_some(()));
    signal(child.id(), "TERM");
    wait_for(|| child.try_wait().unwrap());
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (code(&document), document["exit"].as_i64()),
        ("interrupted", Some(5))
    );
    let message = document["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("no receipt"),
        "it was begun, and that stands: {message}"
    );
}

#[test]
fn the_slow_probes_of_one_key_keep_nobody_elses_from_being_run() {
    let machine = Machine::new();
    let root = machine.root("");
    let (many, few) = (
        machine.recorder(&root, "many"),
        machine.recorder(&root, "few"),
    );
    machine.program("fast.sh", "#!/bin/sh\necho fine\n");
    machine.program(
        "slow.sh",
        "#!/bin/sh\ntest -e slow && sleep 30\necho fine\n",
    );
    for (agent, name, program) in [(&few, "few", "fast"), (&many, "many", "slow")] {
        agent.open(name);
        let axes: Vec<String> = (0..12).map(|number| format!("{name}{number}")).collect();
        for axis in &axes {
            agent.ok(&format!(
                "axis {axis} --class reachability -- ./{program}.sh {axis}"
            ));
        }
        let needs = axes.join(",");
        agent.ok(&format!(
            "claim {name} 'claim {name}' --needs {needs} --expect value=4 -- cat four.txt"
        ));
        agent.seal();
    }
    machine.write("slow", "");
    let started = Instant::now();
    let resumed = root.ok("resume --agent third --deadline 3s");
    assert!(started.elapsed() < HANG);
    assert_eq!(admissible(&resumed), ["few"]);
    assert_eq!(verdict(&resumed, "many0"), ("unverifiable", "not_run"));
    assert_eq!(verdict(&resumed, "few0"), ("held", ""));
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(started.elapsed() < HANG, "waited in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}
