//! What may be relied on, and what was recorded.

use crate::world::World;
use handoff_ledger::format;
use serde_json::Value;

#[test]
fn every_command_without_a_ledger_exits_5_and_says_what_to_type() {
    let world = World::new();
    for words in [
        &["head"][..],
        &["can", "x"],
        &["state"],
        &["brief"],
        &["log"],
        &["show", "0"],
        &["export"],
    ] {
        let answer = world.run(words);
        assert_eq!(answer.exit, 5, "{words:?}");
        assert!(
            answer.stderr.ends_with("next: handoff init\n"),
            "{}",
            answer.stderr
        );
    }
    let told = world.json(&["verify"]);
    assert_eq!(
        (&told["result"], &told["exit"]),
        (&"error".into(), &5.into())
    );
    assert_eq!(told["error"]["next"], "handoff init");
}

#[test]
fn what_drifted_blocks_exactly_what_needs_it_and_the_next_command_is_told() {
    let (world, session) = World::resumed();
    assert_eq!(world.run(&["can", "db-safe"]).exit, 0);
    world.write("host.txt", "prod-1\n");
    assert_eq!(world.run(&["reverify"]).exit, 1);
    let told = world.json(&["can", "db-safe", "orders"]);
    assert_eq!(told["exit"], 1);
    assert_eq!(told["basis"], world.head());
    let claim = &told["claims"][0];
    assert_eq!(claim["claim"], "db-safe");
    assert_eq!(claim["admissible"], false);
    let because = &claim["because"][0];
    assert_eq!(because["kind"], "axis");
    assert_eq!(because["axis"], "db.host");
    assert_eq!(because["verdict"], "drifted_load_bearing");
    assert_eq!(
        (&because["was"], &because["now"]),
        (&"stage-1".into(), &"prod-1".into())
    );
    assert!(because["receipt"].is_u64());
    let next = format!(
        "handoff axis db.host --session {session} --class reachability -- cat host.txt && \
         handoff claim db-safe --session {session} --needs db.host --expect 'value~stage' -- \
         cat host.txt"
    );
    assert_eq!(claim["next"], next);
    assert_eq!(told["claims"][1]["because"][0]["kind"], "provisional");
    let promote = format!("handoff promote orders --session {session} --needs db.host");
    assert_eq!(told["claims"][1]["next"], promote);
    let text = world.run(&["can", "db-safe"]);
    assert_eq!(text.exit, 1);
    assert!(
        text.stdout
            .contains("db.host was \"stage-1\", now \"prod-1\" (receipt ")
    );
}

#[test]
fn a_claim_that_nobody_spoke_of_is_not_admissible() {
    let (world, _) = World::resumed();
    let told = world.json(&["can", "db-safe", "nope"]);
    assert_eq!(told["exit"], 1);
    assert_eq!(told["claims"][0]["admissible"], true);
    assert_eq!(told["claims"][1]["because"][0]["kind"], "unknown");
}

#[test]
fn without_a_session_can_is_a_usage_error_and_state_shows_everything_blocked() {
    let world = World::sealed();
    let told = world.json(&["can", "db-safe"]);
    assert_eq!(told["exit"], 2);
    assert_eq!(told["error"]["next"], "handoff resume --agent NAME");
    let state = world.json(&["state"]);
    assert_eq!(state["exit"], 0);
    assert_eq!(state["session"], Value::Null);
    let claims = state["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2);
    for claim in claims {
        assert_eq!(claim["admissible"], false);
        assert_eq!(claim["because"][0]["kind"], "no_session");
    }
    assert_eq!(claims[0]["state"], "verified_invariant");
    assert_eq!(claims[1]["state"], "provisional_unverified");
    assert_eq!(claims[1]["directive"]["do_not_act_on"], "orders");
    assert_eq!(claims[1]["step"]["argv"][0], "cat");
}

#[test]
fn the_state_at_an_event_is_as_it_was_then() {
    let (world, _) = World::resumed();
    world.write("host.txt", "prod-1\n");
    world.run(&["reverify"]);
    let now = world.json(&["state"]);
    assert_eq!(now["axes"][0]["verdict"], "drifted_load_bearing");
    assert_eq!(now["axes"][0]["needed_by"][0], "db-safe");
    let sealed = world
        .run(&["log", "--kind", "session.sealed", "--json"])
        .stdout;
    let sealed: Value = serde_json::from_str(sealed.trim()).unwrap();
    let then = world.json(&["state", "--at", &sealed["seq"].to_string()]);
    assert_eq!(then["at"]["hash"], sealed["hash"]);
    assert_eq!(then["session"], sealed["session"]);
    assert_eq!(then["axes"][0]["verdict"], "held");
    assert_eq!(then["claims"][0]["admissible"], true);
    assert_eq!(world.run(&["state", "--at", "9999"]).exit, 1);
    assert_eq!(
        world.run(&["state", "--at", "3", "--session", "77"]).exit,
        2
    );
}

#[test]
fn a_brief_puts_blocked_things_first_and_quotes_what_was_written() {
    let (world, session) = World::resumed();
    world.write("host.txt", "prod-1\n");
    world.run(&["reverify"]);
    let text = world.run(&["brief"]).stdout;
    let place = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words}: {text}"))
    };
    assert!(place("BLOCKED") < place("VERIFY FIRST"));
    assert!(place("VERIFY FIRST") < place("COMMANDS"));
    assert!(
        text.contains("the database is \\u{1b}[31mstaging"),
        "{text}"
    );
    assert!(text.contains("derived from \"openapi line 88\""));
    assert!(text.contains(&format!("handoff can ID --session {session}")));
    let markdown = world.run(&["brief", "--markdown"]).stdout;
    assert!(
        markdown.contains("\n- `` orders: \"`orders` exists\" ``\n"),
        "{markdown}"
    );
    let told = world.json(&["brief"]);
    assert_eq!(told["text"], text);
    assert_eq!(told["claims"][0]["claim"], "db-safe");
}

#[test]
fn a_brief_keeps_to_its_length_and_counts_what_it_leaves_out() {
    let world = World::new();
    world.write("host.txt", "stage-1\n");
    world.run(&["init"]);
    world.run(&["session", "open", "--agent", "first"]);
    let long = "x".repeat(150);
    for number in 0..6 {
        let words = [
            "flag",
            &format!("c{number}"),
            &format!("{number} {long}"),
            "--because",
            &long,
            "--environment-independent",
            "so",
            "--expect",
            "value=yes",
            "--",
            "cat",
            "host.txt",
        ];
        assert_eq!(world.run(&words).exit, 0);
    }
    let whole = world.run(&["brief"]).stdout;
    assert!(!whole.contains("left out"));
    for characters in [500, 900, 1500] {
        let text = world
            .run(&["brief", "--max-chars", &characters.to_string()])
            .stdout;
        assert!(text.chars().count() <= characters, "{characters}: {text}");
        let shown = text.matches("derived from").count();
        assert!(
            text.contains(&format!("and {} more, left out", 6 - shown)),
            "{text}"
        );
        assert!(text.contains("before acting on a claim"), "{text}");
    }
}

#[test]
fn the_log_is_filtered_and_one_value_a_line() {
    let (world, session) = World::resumed();
    let lines = |words: &[&str]| -> Vec<Value> {
        let answer = world.run(&[&["log", "--json"], words].concat());
        assert_eq!(answer.exit, 0, "{}", answer.stderr);
        answer
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all = lines(&[]);
    for (index, event) in all.iter().enumerate() {
        assert_eq!(event["seq"], index);
        for member in ["hash", "kind", "session", "key", "time", "body"] {
            assert!(!event[member].is_null(), "{member}");
        }
    }
    assert_eq!(lines(&["--limit", "2"]), all[all.len() - 2..]);
    assert_eq!(lines(&["--from", "1", "--to", "3"]), all[1..=3]);
    assert_eq!(lines(&["--claim", "orders"]).len(), 1);
    assert_eq!(lines(&["--kind", "probe.receipt", "--limit", "1"]).len(), 1);
    let number: u64 = session.parse().unwrap();
    assert!(
        lines(&["--session", &session])
            .iter()
            .all(|event| { event["session"] == number || event["seq"] == number })
    );
    assert_eq!(world.run(&["log", "--from", "3", "--to", "1"]).exit, 2);
    assert_eq!(world.run(&["log", "--from", "999"]).exit, 1);
    assert_eq!(world.run(&["log"]).stdout.lines().count(), all.len());
}

#[test]
fn an_event_is_shown_as_it_was_signed() {
    let world = World::sealed();
    let told = world.json(&["show", "1"]);
    let raw = world.run(&["show", "1", "--raw"]).stdout;
    assert_eq!(told["event"], raw);
    let bytes = raw.as_bytes();
    assert_eq!(format::decode(bytes).unwrap().seq.0, 1);
    let signature: [u8; 64] =
        handoff_ledger::types::parse_hex(told["signature"].as_str().unwrap()).unwrap();
    let leaf = handoff_ledger::hash::leaf(&[&signature[..], bytes].concat());
    assert_eq!(told["hash"], leaf.to_string());
    assert_eq!(world.run(&["show", "999"]).exit, 1);
    assert_eq!(told["void"], false);
    assert_eq!(told["refused"], Value::Null);
}

#[test]
fn nothing_that_reads_changes_the_ledger() {
    let (world, _) = World::resumed();
    let before = std::fs::read(world.ledger()).unwrap();
    for words in [
        &["can", "db-safe", "nope"][..],
        &["state"],
        &["state", "--at", "5"],
        &["brief"],
        &["log"],
        &["show", "4"],
        &["head"],
        &["verify"],
        &["export"],
        &["key", "list"],
        &["show", "999"],
        &["state", "--at", "999"],
    ] {
        world.run(words);
        assert_eq!(std::fs::read(world.ledger()).unwrap(), before, "{words:?}");
    }
}
