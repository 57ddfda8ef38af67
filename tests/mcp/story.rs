//! Two sessions, one after the other, through nothing but tools.

use crate::cli_support::Machine;
use crate::client::Client;
use serde_json::{Value, json};

#[test]
fn a_successor_acts_only_on_what_still_holds_and_promotes_what_it_can() {
    let machine = Machine::new();
    let root = machine.root("");
    let mut first = Client::of(&root, "");
    let session = first.yes("resume", json!({ "agent": "builder" }))["session"].clone();
    let axis = json!({
        "name": "db.host", "class": "reachability", "session": session, "argv": ["cat", "four.txt"],
    });
    first.yes("axis", axis);
    let os = json!({
        "name": "os", "class": "execution_topology", "session": session, "check": "os",
    });
    first.yes("axis", os);
    first.yes(
        "claim",
        json!({
            "id": "db-safe", "statement": "the database is the one of the stage",
            "needs": ["db.host"], "session": session,
            "expect": ["value=4"], "argv": ["cat", "four.txt"],
        }),
    );
    first.yes(
        "claim",
        json!({
            "id": "five-holds", "statement": "the other file says five", "needs": ["os"],
            "session": session, "expect": ["value=5"], "argv": ["cat", "five.txt"],
        }),
    );
    first.yes(
        "flag",
        json!({
            "id": "built", "statement": "the build is there", "because": "the makefile says so",
            "needs": ["os"], "session": session,
            "expect": ["value=done"], "argv": ["cat", "build.txt"],
        }),
    );
    let early = first.call(
        "promote",
        json!({ "id": "built", "needs": ["os"], "session": session }),
    );
    assert_eq!(early.exit(), 1, "{early:?}");
    first.yes("ambient", json!({ "none": true, "session": session }));
    first.yes("seal", json!({ "session": session }));
    first.leave_in_peace();

    machine.write("four.txt", "40\n");
    machine.write("build.txt", "done\n");
    let mut second = Client::of(&root, "");
    let resumed = second.call(
        "resume",
        json!({ "agent": "deployer", "require": ["db-safe"] }),
    );
    assert_eq!(
        (resumed.exit(), resumed.is_error),
        (1, false),
        "{resumed:?}"
    );
    assert_eq!(resumed.document["required_missing"], json!(["db-safe"]));
    assert_eq!(resumed.document["admissible"], json!(["five-holds"]));
    let session = resumed.document["session"].clone();
    // The text alone is enough to go on with.
    assert!(
        resumed.text.contains(&format!("\"session\":{session}")),
        "{}",
        resumed.text
    );
    assert!(resumed.text.contains("BLOCKED"), "{}", resumed.text);

    let may = second.call(
        "can",
        json!({ "claims": ["db-safe", "five-holds"], "session": session }),
    );
    assert_eq!((may.exit(), may.is_error), (1, false), "{may:?}");
    let claims = may.document["claims"].as_array().unwrap();
    let told: Vec<(&str, bool)> = claims
        .iter()
        .map(|it| {
            (
                it["claim"].as_str().unwrap(),
                it["admissible"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("db-safe", false), ("five-holds", true)]);
    assert_eq!(claims[0]["because"][0]["verdict"], "drifted_load_bearing");
    second.yes(
        "can",
        json!({ "claims": ["five-holds"], "session": session }),
    );

    second.yes(
        "promote",
        json!({ "id": "built", "needs": ["os"], "session": session }),
    );
    let brief = second.call("brief", json!({ "session": session, "max_chars": 3000 }));
    assert!(brief.text.contains("built"), "{}", brief.text);
    machine.write("four.txt", "4\n");
    second.yes("reverify", json!({ "session": session }));
    second.yes("can", json!({ "claims": ["db-safe"], "session": session }));
    second.yes(
        "retract",
        json!({ "claims": ["five-holds"], "reason": "it says six", "session": session }),
    );
    let verified = second.yes("verify", json!({}));
    assert_eq!(verified["result"], "verified");

    let state = second.ask("resources/read", json!({ "uri": "handoff://state" }));
    let contents = &state["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let state: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(state["session"], session);
    second.leave_in_peace();
}

#[test]
fn a_tool_says_what_the_command_line_says() {
    let machine = Machine::new();
    let root = machine.root("");
    let session = root.open("builder");
    root.ok("axis os --class execution_topology --check os");
    let mut client = Client::of(&root, &format!("--session {session}"));
    for (tool, arguments, line) in [
        ("brief", json!({}), "brief".to_owned()),
        ("can", json!({ "claims": ["x"] }), "can x".to_owned()),
        ("verify", json!({}), "verify".to_owned()),
        (
            "discard",
            json!({ "id": "x", "reason": "r" }),
            "discard x --reason r".to_owned(),
        ),
    ] {
        let mut typed: Value = serde_json::from_str(
            &root
                .run(&format!("--json --session {session} {line}"))
                .stdout,
        )
        .unwrap();
        let mut called = client.call(tool, arguments).document;
        for document in [&mut typed, &mut called] {
            document.as_object_mut().unwrap().remove("ms");
        }
        assert_eq!(called, typed, "{tool}");
    }
    client.leave_in_peace();
}

#[test]
fn the_options_of_the_server_hold_for_every_call_and_a_call_may_name_another_session() {
    let machine = Machine::new();
    let root = machine.root("");
    let (one, other) = (root.open("one"), root.open("other"));
    let elsewhere = machine.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let options = format!("--ledger {} --session={one}", machine.ledger().display());
    let mut client = Client::of(&root.within(&elsewhere), &options);
    let told = client.call("can", json!({ "claims": ["x"] }));
    assert_eq!(told.document["session"], one, "{told:?}");
    let told = client.call("can", json!({ "claims": ["x"], "session": other }));
    assert_eq!(told.document["session"], other, "{told:?}");
    // What is to be typed next is of that ledger too.
    let ledger = machine.ledger().display().to_string();
    let next = told.document["claims"][0]["next"].as_str().unwrap();
    assert!(next.contains(&ledger), "{next}");
    client.leave_in_peace();
}

#[test]
fn a_missing_ledger_is_an_error_of_a_call_and_not_of_the_server() {
    let machine = Machine::new();
    let agent = machine.agent("lost");
    let mut client = Client::of(&agent, "");
    let told = client.call("brief", json!({}));
    assert!(told.is_error, "{told:?}");
    assert!(told.exit() >= 2, "{told:?}");
    assert!(told.document["error"]["next"].is_string(), "{told:?}");
    let read = client.ask("resources/read", json!({ "uri": "handoff://state" }));
    assert!(read["error"]["data"]["error"]["next"].is_string(), "{read}");
    agent.ok("init");
    client.yes("resume", json!({ "agent": "found" }));
    client.leave_in_peace();
}
