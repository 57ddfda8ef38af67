//! Calls at the same time, and calls that are cancelled.

use crate::cli_support::{HANG, Machine};
use crate::client::Client;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How many calls are made at once.
const CALLS: usize = 20;

/// Waits until a probe has written its process id there, and returns it.
pub fn begun(file: &Path) -> String {
    let start = Instant::now();
    loop {
        if let Ok(pid) = std::fs::read_to_string(file)
            && pid.ends_with('\n')
        {
            return pid.trim().to_owned();
        }
        assert!(start.elapsed() < HANG, "the probe never began");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a process is no more.
pub fn is_gone(pid: &str) -> bool {
    let start = Instant::now();
    while Path::new("/proc").join(pid).exists() {
        if start.elapsed() > HANG {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A probe that writes its process id and sleeps.
pub fn sleeper(pid: &str) -> Value {
    json!({ "argv": ["sh", "-c", format!("echo $$ > {pid}; exec sleep 600")], "timeout": "5m" })
}

#[test]
fn calls_at_the_same_time_are_each_recorded_once() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    root.ok("axis os --class execution_topology --check os");
    let mut client = Client::of(&root, &format!("--session {session}"));
    let claims: Vec<u64> = (0..CALLS)
        .map(|number| {
            client.begin(
                "claim",
                json!({
                    "id": format!("claim-{number}"), "statement": format!("it is {number}"),
                    "needs": ["os"], "expect": ["value=4"], "argv": ["cat", "four.txt"],
                }),
            )
        })
        .collect();
    let probes: Vec<u64> = (0..CALLS)
        .map(|number| {
            let expect = [format!("value={number}")];
            client.begin(
                "probe",
                json!({ "argv": ["echo", number.to_string()], "expect": expect }),
            )
        })
        .collect();
    let mut seqs: Vec<u64> = Vec::new();
    for id in claims.into_iter().chain(probes) {
        let called = client.result(id);
        assert_eq!(called.exit(), 0, "{called:?}");
        seqs.push(called.document["seq"].as_u64().unwrap());
    }
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(
        seqs.len(),
        2 * CALLS,
        "every call was recorded, each at its own place"
    );
    let ids: Vec<String> = (0..CALLS).map(|number| format!("claim-{number}")).collect();
    client.yes("can", json!({ "claims": ids }));
    assert_eq!(client.yes("verify", json!({}))["result"], "verified");
    client.leave_in_peace();
}

#[test]
fn a_question_waits_for_no_probe() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let mut client = Client::of(&root, &format!("--session {session}"));
    // As many as run at once, and more.
    let slow: Vec<u64> = (0..CALLS)
        .map(|number| client.begin("probe", sleeper(&format!("pid-{number}"))))
        .collect();
    begun(&machine.project().join("pid-0"));
    assert_eq!(client.call("can", json!({ "claims": ["x"] })).exit(), 1);
    client.yes("brief", json!({}));
    for id in &slow {
        client.cancel(&json!(id));
    }
    // Those that waited never began, and a place is free again.
    client.yes(
        "probe",
        json!({ "argv": ["echo", "4"], "expect": ["value=4"] }),
    );
    let pids = std::fs::read_dir(machine.project()).unwrap();
    let pids = pids.filter(|it| {
        let name = it.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("pid-")
    });
    assert!(pids.count() < CALLS, "all ran at once");
    client.leave_in_peace();
}

#[test]
fn a_cancelled_call_ends_its_probe_and_records_nothing() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let before = machine.bytes();
    let mut client = Client::of(&root, &format!("--session {session}"));
    let call = client.begin("probe", sleeper("pid"));
    let pid = begun(&machine.project().join("pid"));
    assert!(Path::new("/proc").join(&pid).exists());
    client.cancel(&json!(call));
    assert!(is_gone(&pid), "the probe lives on");
    assert!(
        client.is_unanswered(call),
        "what was cancelled is not answered"
    );
    assert_eq!(machine.bytes(), before, "nothing was recorded");
    client.yes("brief", json!({}));
    client.leave_in_peace();
}

/// The negative control: a probe that nobody cancels is found to live on.
#[test]
fn a_call_that_nobody_cancels_goes_on() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let mut client = Client::of(&root, &format!("--session {session}"));
    let call = client.begin("probe", sleeper("pid"));
    let pid = begun(&machine.project().join("pid"));
    client.cancel(&json!(call + 1));
    assert!(client.is_unanswered(call));
    assert!(
        Path::new("/proc").join(&pid).exists(),
        "another call's cancellation ended it"
    );
    client.cancel(&json!(call));
    assert!(is_gone(&pid));
    client.leave_in_peace();
}
