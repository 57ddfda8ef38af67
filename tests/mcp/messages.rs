//! What is no message, no request that is known, or no argument of a tool: every line is answered,
//! and the server goes on.

use crate::cli_support::Machine;
use crate::client::Client;
use serde_json::{Value, json};

/// The server still answers.
fn is_alive(client: &mut Client) {
    let listed = client.ask("tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

#[test]
fn what_is_no_message_is_told_and_passed_over() {
    let machine = Machine::new();
    let mut client = Client::of(&machine.root(""), "");
    for (line, code) in [
        (&b"{"[..], -32700),
        (b"nonsense", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"[[[[", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":null,\"method\":\"ping\"}",
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            -32600,
        ),
    ] {
        client.write(&[line, b"\n"].concat());
        let told = client.stray();
        assert_eq!(told["error"]["code"], code, "{line:?}: {told}");
    }
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    client.write(&deep);
    assert_eq!(client.stray()["error"]["code"], -32700);
    // Nothing to answer: blank lines, what nobody knows of, a cancellation of nothing.
    client.write(b"\n  \r\n\xef\xbb\xbf\n");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/unknown", "params": 7 }));
    client.cancel(&json!(4711));
    client.cancel(&json!("no such"));
    client.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    is_alive(&mut client);
    client.leave_in_peace();
}

#[test]
fn a_line_that_is_too_long_is_told_and_not_kept() {
    let machine = Machine::new();
    let root = machine.root("");
    let mut client = Client::of(&root, "");
    let longest = 1024 * 1024;
    let resident = |client: &Client| {
        let status = format!("/proc/{}/status", client.server.id());
        let status = std::fs::read_to_string(status).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let before = resident(&client);
    let reason = "x".repeat(64 * longest);
    let long = json!({ "name": "retract", "arguments": { "claims": ["a"], "reason": reason } });
    client.request("tools/call", long);
    assert_eq!(client.stray()["error"]["code"], -32600);
    if let (Some(before), Some(after)) = (before, resident(&client)) {
        let grown = after.saturating_sub(before);
        assert!(grown < 16 * 1024, "{grown} KiB kept of a line of 64 MiB");
    }
    // What follows it on the next line is read.
    is_alive(&mut client);
    // Of one byte more than the longest it is so, and of the longest it is not.
    let ping = |length: usize| {
        let mut line = json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" }).to_string();
        line.push_str(&" ".repeat(length - line.len() - 1));
        line.push('\n');
        line
    };
    client.write(ping(longest + 1).as_bytes());
    assert_eq!(client.stray()["error"]["code"], -32600);
    client.write(ping(longest).as_bytes());
    assert!(client.answer("ping")["result"].is_object());
    client.leave_in_peace();
}

#[test]
fn unknown_methods_tools_and_resources_are_errors_of_the_protocol() {
    let machine = Machine::new();
    let mut client = Client::of(&machine.root(""), "");
    for (method, params) in [
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "x" })),
        ("no/such", json!({})),
    ] {
        assert_eq!(
            client.ask(method, params)["error"]["code"],
            -32601,
            "{method}"
        );
    }
    for name in ["init", "gate", "key", "--help", "", "brief\n"] {
        let told = client.ask("tools/call", json!({ "name": name, "arguments": {} }));
        assert_eq!(told["error"]["code"], -32602, "{told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("there are: resume, brief, can"), "{told}");
    }
    let told = client.ask("resources/read", json!({ "uri": "file:///etc/passwd" }));
    assert_eq!(told["error"]["code"], -32002, "{told}");
    is_alive(&mut client);
    client.leave_in_peace();
}

#[test]
fn arguments_of_the_wrong_type_are_told_to_the_model_and_nothing_is_run() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let before = machine.bytes();
    let mut client = Client::of(&root, &format!("--session {session}"));
    let touch = ["touch", "ran"];
    for (tool, arguments, named) in [
        ("can", json!({}), "claims"),
        ("can", json!({ "claims": [] }), "claims"),
        ("can", json!({ "claims": "a" }), "claims"),
        ("can", json!({ "claims": [7] }), "claims"),
        ("can", json!({ "claims": ["A"] }), "claims"),
        ("can", json!({ "claims": ["a"], "session": "1" }), "session"),
        ("can", json!({ "claims": ["a"], "session": 0 }), "session"),
        ("can", json!({ "claims": ["a"], "session": -1 }), "session"),
        ("can", json!({ "claims": ["a"], "session": 1.5 }), "session"),
        (
            "can",
            json!({ "claims": ["a"], "ledger": "/tmp/x" }),
            "ledger",
        ),
        ("brief", json!({ "max_chars": 12_001 }), "max_chars"),
        ("brief", json!({ "max_chars": true }), "max_chars"),
        ("probe", json!({ "argv": touch, "shell": "yes" }), "shell"),
        ("probe", json!({ "argv": { "0": "touch" } }), "argv"),
        ("probe", json!({ "argv": ["touch", "a\u{0}b"] }), "argv"),
        (
            "axis",
            json!({ "name": "a", "class": "weather", "argv": touch }),
            "class",
        ),
        (
            "axis",
            json!({ "class": "reachability", "argv": touch }),
            "name",
        ),
        ("ambient", json!({ "allow": [{ "name": "a" }] }), "allow"),
        (
            "ambient",
            json!({ "allow": [{ "name": "a", "reason": "r", "x": 1 }] }),
            "allow",
        ),
        ("retract", json!({ "claims": ["a"], "reason": 7 }), "reason"),
    ] {
        let told = client.call(tool, arguments.clone());
        assert_eq!(
            (told.exit(), told.code()),
            (2, "usage"),
            "{tool} {arguments}"
        );
        let message = told.document["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{tool} {arguments}: {message}");
    }
    let long = "x".repeat(70_000);
    assert_eq!(
        client.call("probe", json!({ "argv": [long] })).code(),
        "usage"
    );
    let many = vec!["a"; 300];
    assert_eq!(
        client.call("can", json!({ "claims": many })).code(),
        "usage"
    );
    // A tool is called with an object, or with nothing.
    for arguments in [json!("text"), json!([1]), json!(7)] {
        let told = client.ask(
            "tools/call",
            json!({ "name": "brief", "arguments": arguments }),
        );
        assert!(told["error"]["code"].is_i64(), "{told}");
    }
    assert!(!machine.project().join("ran").exists());
    assert_eq!(machine.bytes(), before, "nothing was recorded");
    client.leave_in_peace();
}

#[test]
fn no_value_is_read_as_an_option_and_none_by_a_shell() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let mut client = Client::of(&root, &format!("--session {session}"));
    // Ids and names begin with no dash, so that such a value is refused as what it is.
    for (tool, arguments) in [
        ("can", json!({ "claims": ["--help"] })),
        ("discard", json!({ "id": "--json", "reason": "r" })),
        (
            "axis",
            json!({ "name": "-h", "class": "reachability", "check": "os" }),
        ),
        ("resume", json!({ "agent": "--no-exec" })),
        ("promote", json!({ "id": "a", "needs": ["--redact"] })),
    ] {
        assert_eq!(client.call(tool, arguments).code(), "usage", "{tool}");
    }
    client.yes(
        "axis",
        json!({ "name": "os", "class": "execution_topology", "check": "os" }),
    );
    let text = "--help; touch ran $(touch ran) `touch ran` 'x' --json -- --session=1";
    let printed = client.yes(
        "probe",
        json!({
            "argv": ["echo", "--json", "--", text], "expect": [format!("value=--json -- {text}")],
        }),
    );
    assert_eq!(printed["schema"], "handoff.probe.v1", "{printed}");
    client.yes(
        "claim",
        json!({
            "id": "dashed", "statement": text, "needs": ["os"],
            "expect": ["value=4"], "argv": ["cat", "four.txt"],
        }),
    );
    client.yes(
        "flag",
        json!({
            "id": "dashed-too", "statement": "-v", "because": "--because", "needs": ["os"],
            "expect": ["value=-5"], "argv": ["cat", "--", "-x"],
        }),
    );
    client.yes(
        "ambient",
        json!({
            "allow": [{ "name": "zone", "reason": "--none", "observed": ["--allow=x=y", "-1"] }],
        }),
    );
    client.yes(
        "retract",
        json!({ "claims": ["dashed"], "reason": "--reason" }),
    );
    // What is refused is the value, under its own name.
    for (tool, arguments, named) in [
        (
            "probe",
            json!({ "argv": ["true"], "timeout": "--json" }),
            "--timeout",
        ),
        (
            "probe",
            json!({ "argv": ["true"], "extract": "--help" }),
            "--help",
        ),
        ("probe", json!({ "check": "--help" }), "--help"),
        ("verify", json!({ "expect": "--help" }), "--expect"),
        ("verify", json!({ "file": "--help" }), "--help"),
    ] {
        let told = client.call(tool, arguments.clone());
        let message = told.document["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{tool} {arguments}: {message}");
    }
    let state = client.ask("resources/read", json!({ "uri": "handoff://state" }));
    let state = state["result"]["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let state: Value = serde_json::from_str(&state).unwrap();
    let claims = state["claims"].as_array().unwrap();
    let statement = |id: &str| {
        let claim = claims.iter().find(|claim| claim["claim"] == id).unwrap();
        claim["statement"].as_str().unwrap()
    };
    assert_eq!((statement("dashed"), statement("dashed-too")), (text, "-v"));
    assert!(!machine.project().join("ran").exists());
    client.leave_in_peace();
}

#[test]
fn an_id_in_use_is_refused_and_its_first_request_answered() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    let mut client = Client::of(&root, &format!("--session {session}"));
    let slow = json!({ "name": "probe", "arguments": {
        "argv": ["sh", "-c", "sleep 1; echo 4"], "expect": ["value=4"],
    }});
    let write = json!({ "name": "retract", "arguments": { "claims": ["a"], "reason": "r" } });
    for params in [slow, write] {
        client.send(&json!({
            "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params,
        }));
    }
    assert_eq!(client.stray()["error"]["code"], -32600);
    let answer = client.answer("same");
    assert_eq!(answer["result"]["structuredContent"]["exit"], 0, "{answer}");
    // Once it is answered, the id is free.
    client.send(&json!({ "jsonrpc": "2.0", "id": "same", "method": "ping" }));
    assert!(client.answer("same")["result"].is_object());
    let kinds = root.run("--json log").stdout;
    assert!(
        !kinds.contains("claim.retracted"),
        "the refused request was run"
    );
    client.leave_in_peace();
}

#[test]
fn before_hello_there_is_nothing_to_notify_of_and_calls_are_refused() {
    let machine = Machine::new();
    let mut client = Client::silent(&machine.root(""), "");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.cancel(&json!(1));
    let refused = client.ask("tools/call", json!({ "name": "brief", "arguments": {} }));
    assert!(refused["error"]["code"].is_i64(), "{refused}");
    let hello = json!({
        "protocolVersion": "1999-01-01", "capabilities": {},
        "clientInfo": { "name": "old", "version": "0" },
    });
    let hello = client.ask("initialize", hello);
    assert!(hello["result"]["protocolVersion"].is_string(), "{hello}");
    is_alive(&mut client);
    client.leave_in_peace();
    Client::silent(&machine.agent("nobody"), "").leave_in_peace();
}
