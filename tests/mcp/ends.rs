//! How the server ends: its client leaves, it is told to end, or it is killed. What was
//! acknowledged stays, and what was under way leaves no half of it.

use crate::calls::{begun, is_gone, sleeper};
use crate::cli_support::{HANG, Machine};
use crate::client::Client;
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn a_client_that_leaves_ends_its_calls_and_their_probes() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let before = machine.bytes();
    let mut client = Client::of(&root, &format!("--session {session}"));
    for number in 0..10 {
        client.begin("probe", sleeper(&format!("pid-{number}")));
    }
    let pid = begun(&machine.project().join("pid-0"));
    let left = client.leave();
    assert_eq!((left.code, left.stderr.as_str()), (Some(0), ""));
    assert!(is_gone(&pid), "the probe lives on");
    for answer in left.untaken {
        let error = &answer["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "interrupted", "{answer}");
    }
    assert_eq!(machine.bytes(), before, "nothing was recorded");
}

#[test]
fn a_server_that_is_told_to_end_does_so_in_order() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    for signal in ["TERM", "INT", "HUP"] {
        let before = machine.bytes();
        let mut client = Client::of(&root, &format!("--session {session}"));
        client.begin("probe", sleeper(signal));
        let pid = begun(&machine.project().join(signal));
        let server = client.server.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &server]).status();
        assert!(sent.unwrap().success());
        let start = Instant::now();
        let status = loop {
            if let Some(status) = client.server.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < HANG, "it does not end at {signal}");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(is_gone(&pid), "the probe lives on after {signal}");
        assert_eq!(machine.bytes(), before, "nothing was recorded at {signal}");
    }
}

#[test]
fn a_server_that_is_killed_loses_nothing_that_was_acknowledged() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    root.ok("axis os --class execution_topology --check os");
    let mut acknowledged = Vec::new();
    for round in 0..5u64 {
        let mut client = Client::of(&root, &format!("--session {session}"));
        let begun: Vec<(String, u64)> = (0..6)
            .map(|number| {
                let id = format!("claim-{round}-{number}");
                let call = client.begin(
                    "claim",
                    json!({
                        "id": id, "statement": format!("it is {round} {number}"), "needs": ["os"],
                        "expect": ["value=4"], "argv": ["cat", "four.txt"],
                    }),
                );
                (id, call)
            })
            .collect();
        // Killed with as many answered as there were rounds: the others are under way.
        for (id, call) in begun.into_iter().take(usize::try_from(round).unwrap()) {
            assert_eq!(client.result(call).exit(), 0);
            acknowledged.push(id);
        }
        client.server.kill().unwrap();
        client.server.wait().unwrap();
    }
    assert!(!acknowledged.is_empty());
    // What the killed servers had begun may still be at work: then a lock is waited for.
    assert_eq!(root.ok("verify")["result"], "verified");
    let asked = acknowledged.join(" ");
    root.ok(&format!("can --session {session} {asked}"));
}

#[test]
fn a_reader_that_leaves_ends_the_server() {
    let machine = Machine::new();
    let root = machine.root("");
    let mut child = root
        .command("mcp")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let start = Instant::now();
    let status = loop {
        use std::io::Write as _;
        // Standard input stays open: it is the answer that nobody reads which ends it.
        let _ = stdin.write_all(b"not json\n");
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < HANG, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}
