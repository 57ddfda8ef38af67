//! Hooks, driven by the payloads that the clients document, and read as they say they read.
//!
//! The payloads in `tests/hooks/` are those of the clients' references: code.claude.com/docs/en/hooks,
//! openai/codex `codex-rs/hooks/schema`, geminicli.com/docs/hooks/reference, cursor.com/docs/hooks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

mod cli_support;

use cli_support::{Agent, HANG, Machine, Ran, next};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const CLIENTS: [&str; 4] = ["claude", "codex", "gemini", "cursor"];
const GUARD: &str = "[[guard]]\nmatch = '^deploy\\b'\nclaims = ['four']\n";

/// How a client takes a hook's answer before a tool call.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Proceeds,
    Blocked(String),
}

/// A client's reading, as it is documented; of Claude Code, also of its versions that read no
/// standard output with exit 2.
fn taken(client: &str, ran: &Ran) -> Vec<Taken> {
    let stdout: Value = serde_json::from_str(ran.stdout.trim()).unwrap_or_default();
    let said = |pointer: &str| stdout.pointer(pointer).and_then(Value::as_str);
    let specific = |name: &str| said(&format!("/hookSpecificOutput/{name}"));
    let by_stderr = || match ran.stderr.trim() {
        // Codex takes exit 2 without a reason for a failure.
        "" if client == "codex" => Taken::Proceeds,
        reason => Taken::Blocked(reason.to_owned()),
    };
    let by_stdout = || {
        let denied = match client {
            "claude" | "codex" => (specific("permissionDecision") == Some("deny"))
                .then(|| specific("permissionDecisionReason").unwrap_or_default()),
            "gemini" => matches!(said("/decision"), Some("deny" | "block"))
                .then(|| said("/reason").unwrap_or_default()),
            // An answer without a permission is one that is not valid.
            _ => (said("/permission") != Some("allow"))
                .then(|| said("/agent_message").unwrap_or("invalid JSON")),
        };
        denied.map_or(Taken::Proceeds, |reason| Taken::Blocked(reason.to_owned()))
    };
    match (client, ran.code) {
        (_, 0) => vec![by_stdout()],
        ("claude", 2) if !stdout.is_null() => vec![by_stdout(), by_stderr()],
        (_, 2) => vec![by_stderr()],
        _ => vec![Taken::Proceeds],
    }
}

/// The one reason for which every version of a client blocks.
fn blocked(client: &str, ran: &Ran) -> String {
    let mut reasons = taken(client, ran).into_iter().map(|taken| match taken {
        Taken::Blocked(reason) => reason,
        Taken::Proceeds => panic!("{client} proceeds: {ran:?}"),
    });
    let reason = reasons.next().unwrap();
    assert!(!reason.is_empty(), "{client}: {ran:?}");
    reason
}

fn proceeds(client: &str, ran: &Ran) {
    assert_eq!(taken(client, ran), [Taken::Proceeds], "{client}: {ran:?}");
    assert_eq!(ran.code, 0, "{client}: {ran:?}");
    // An answer that says "allow" would skip what the client asks its user.
    let is_cursor = client == "cursor";
    assert_eq!(ran.stdout.contains("allow"), is_cursor, "{client}: {ran:?}");
}

/// A client that hears nothing, in its own way of that.
fn silent(client: &str, ran: &Ran) {
    proceeds(client, ran);
    let nothing = match client {
        "cursor" => "{\"permission\":\"allow\"}\n",
        _ => "",
    };
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        (nothing, ""),
        "{client}"
    );
}

/// A start or a stop of which a hook has nothing to say.
fn quiet(client: &str, ran: &Ran) {
    let nothing = if client == "cursor" { "{}\n" } else { "" };
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, nothing),
        "{client}: {ran:?}"
    );
}

/// A recorded payload, in a project, with a command line.
fn payload(name: &str, project: &Path, command: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hooks/{name}.json"));
    let text = std::fs::read_to_string(path).unwrap();
    let quoted = |text: &str| {
        let quoted = json!(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let text = text.replace("PROJECT", &quoted(project.to_str().unwrap()));
    text.replace("COMMAND", &quoted(command)).into_bytes()
}

fn asked(agent: &Agent, line: &str, bytes: &[u8]) -> Ran {
    let started = Instant::now();
    let mut child = agent.command(line).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_owned();
    let writing = std::thread::spawn(move || {
        // A hook that has read enough need not read all.
        let _ = stdin.write_all(&bytes);
    });
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(started.elapsed() < HANG, "{line} hung");
    let ran = Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(ran.stdout.lines().count() <= 1, "{ran:?}");
    next::check_text(&ran.stderr);
    ran
}

/// What a client asks in the project before it runs a command.
fn before(agent: &Agent, client: &str, command: &str) -> Ran {
    let bytes = payload(&format!("{client}-pre-tool"), &agent.cwd, command);
    asked(agent, &format!("hook pre-tool --client {client}"), &bytes)
}

fn at(agent: &Agent, client: &str, moment: &str) -> Ran {
    let bytes = payload(&format!("{client}-{moment}"), &agent.cwd, "");
    asked(agent, &format!("hook {moment} --client {client}"), &bytes)
}

/// A session that inherits `four`, which needs the content of `four.txt`, and may act on it.
fn successor(machine: &Machine) -> Agent {
    let root = machine.root("");
    root.open("first");
    root.ok("axis a --class reachability -- cat four.txt");
    root.ok("claim four 'it is four' --needs a --expect value=4 -- cat four.txt");
    root.seal();
    root.ok("resume --agent second");
    root
}

fn guards(machine: &Machine, text: &str) {
    let folder = machine.project().join(".handoff");
    if !folder.exists() {
        std::fs::create_dir(&folder).unwrap();
        mode(&folder, 0o700);
    }
    let path = folder.join("guards.toml");
    std::fs::write(&path, text).unwrap();
    mode(&path, 0o600);
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn head(agent: &Agent) -> u64 {
    agent.ok("head")["head"]["seq"].as_u64().unwrap()
}

#[test]
fn a_reader_that_sees_no_refusal_is_not_taken_for_one() {
    let ended = |code, stdout: &str, stderr: &str| Ran {
        code,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    };
    let deny = "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}";
    for client in CLIENTS {
        for open in [
            ended(0, "", "refused"),
            ended(1, "", "refused"),
            ended(125, "", "refused"),
            ended(0, "refused", "refused"),
        ] {
            // With exit 0 and no valid answer Cursor blocks, and no other client.
            if (client, open.code) != ("cursor", 0) {
                let found = taken(client, &open);
                assert_eq!(found, [Taken::Proceeds], "{client}: {open:?}");
            }
        }
    }
    assert_eq!(taken("codex", &ended(2, "", "")), [Taken::Proceeds]);
    assert_eq!(taken("gemini", &ended(0, deny, "")), [Taken::Proceeds]);
    let allow = "{\"permission\":\"allow\"}";
    assert_eq!(taken("cursor", &ended(0, allow, "")), [Taken::Proceeds]);
}

#[test]
fn a_call_goes_on_while_what_it_needs_holds_and_is_refused_when_it_does_not() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    for client in CLIENTS {
        silent(client, &before(&agent, client, "cd x && deploy it"));
    }
    machine.write("four.txt", "5\n");
    for client in CLIENTS {
        let reason = blocked(client, &before(&agent, client, "cd x && deploy it"));
        for part in [
            "\"cd x && deploy it\"",
            "four",
            "^deploy",
            "\"4\"",
            "\"5\"",
            "\nnext: handoff ",
        ] {
            assert!(reason.contains(part), "{client}: {part}: {reason}");
        }
        let next = reason.split("\nnext: ").nth(1).unwrap();
        assert_eq!(next::fault(next), None, "{next}");
        // What would make it hold is not refused by what it makes hold.
        proceeds(client, &before(&agent, client, next));
        proceeds(client, &before(&agent, client, "echo deployed"));
    }
    machine.write("four.txt", "4\n");
    proceeds("claude", &before(&agent, "claude", "deploy it"));
}

#[test]
fn a_call_that_no_guard_matches_opens_no_ledger_and_says_nothing() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    machine.write(".handoff/ledger.db", "no ledger");
    for client in CLIENTS {
        silent(client, &before(&agent, client, "ls -l"));
        // The same place is looked at where one does.
        blocked(client, &before(&agent, client, "deploy"));
    }
}

#[test]
fn without_guards_nothing_is_guarded_and_doctor_says_so() {
    let machine = Machine::new();
    let agent = successor(&machine);
    proceeds("claude", &before(&agent, "claude", "deploy"));
    let told = agent.run("hooks doctor").stdout;
    assert!(told.contains("no tool call is guarded"), "{told}");
}

#[test]
fn a_younger_verdict_than_max_age_is_not_probed_again() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    let start = head(&agent);
    proceeds("claude", &before(&agent, "claude", "deploy"));
    let probed = head(&agent);
    assert!(probed > start);
    guards(&machine, &format!("{GUARD}max_age = '10m'\n"));
    machine.write("four.txt", "5\n");
    proceeds("claude", &before(&agent, "claude", "deploy"));
    assert_eq!(head(&agent), probed);
    guards(&machine, &format!("{GUARD}max_age = '1ms'\n"));
    blocked("claude", &before(&agent, "claude", "deploy"));
}

#[test]
fn a_call_may_be_let_through_by_its_gate_alone() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, &format!("{GUARD}use_gate = true\n"));
    machine.program("deploy", "#!/bin/sh\necho \"deployed $*\"\n");
    let start = head(&agent);
    let reason = blocked("claude", &before(&agent, "claude", "deploy 'a b' && true"));
    assert_eq!(head(&agent), start, "it is refused without a look");
    let next = reason.split("\nnext: ").nth(1).unwrap();
    assert_eq!(
        next,
        "handoff gate four -- sh -c 'deploy '\\''a b'\\'' && true'"
    );
    proceeds("claude", &before(&agent, "claude", next));
    let bin = Path::new(env!("CARGO_BIN_EXE_handoff")).parent().unwrap();
    let path = format!("{}:.:{}", bin.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh")
        .args(["-c", next])
        .env_clear()
        .env("PATH", path)
        .env("HOME", &agent.home)
        .current_dir(&agent.cwd)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "deployed a b\n");
    for around in [
        "handoff gate five -- deploy",
        "handoff gate four -- true; deploy",
    ] {
        blocked("claude", &before(&agent, "claude", around));
    }
}

#[test]
fn a_call_of_another_tool_is_matched_by_its_name_and_arguments() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(
        &machine,
        "[[guard]]\nmatch = '^mcp__db__.*drop'\nclaims = ['five']\n",
    );
    let call = |event: &str, tool: &str, input: Value| {
        let body = json!({
            "hook_event_name": event, "tool_name": tool, "tool_input": input, "cwd": agent.cwd,
        });
        asked(&agent, "hook pre-tool", body.to_string().as_bytes())
    };
    for (client, event) in [("claude", "PreToolUse"), ("gemini", "BeforeTool")] {
        let sql = json!({ "sql": "drop table x" });
        blocked(client, &call(event, "mcp__db__query", sql.clone()));
        proceeds(client, &call(event, "mcp__other__query", sql));
        proceeds(
            client,
            &call(event, "mcp__db__query", json!({ "sql": "select 1" })),
        );
    }
    let text = json!("{\"sql\":\"drop table x\"}");
    blocked(
        "cursor",
        &call("beforeMCPExecution", "mcp__db__query", text),
    );
}

#[test]
fn a_locked_ledger_fails_as_configured_and_in_time() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let lock = rusqlite::Connection::open(machine.ledger()).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for client in CLIENTS {
        guards(&machine, GUARD);
        let reason = blocked(client, &before(&agent, client, "deploy"));
        assert!(reason.contains("cannot be told"), "{reason}");
        guards(&machine, &format!("on_error = 'open'\n{GUARD}"));
        let ran = before(&agent, client, "deploy");
        proceeds(client, &ran);
        for loud in [&ran.stdout, &ran.stderr] {
            assert!(loud.contains("WARNING: NOT GUARDED"), "{client}: {ran:?}");
        }
        let start = at(&agent, client, "session-start");
        assert_eq!(start.code, 0, "{start:?}");
        assert!(start.stdout.contains("cannot be used"), "{start:?}");
        assert_eq!(at(&agent, client, "stop").code, 0);
    }
    lock.execute_batch("ROLLBACK").unwrap();
    proceeds("claude", &before(&agent, "claude", "deploy"));
}

#[test]
fn no_ledger_no_key_and_no_session_fail_as_configured() {
    let machine = Machine::new();
    let agent = machine.agent("root");
    for client in CLIENTS {
        let start = at(&agent, client, "session-start");
        quiet(client, &start);
        let bytes = payload(&format!("{client}-session-start"), &agent.cwd, "");
        let said = asked(&agent, "hook session-start --say-missing", &bytes);
        assert!(said.stdout.contains("handoff init"), "{said:?}");
        let stop = at(&agent, client, "stop");
        quiet(client, &stop);
        guards(&machine, GUARD);
        blocked(client, &before(&agent, client, "deploy"));
        guards(&machine, &format!("{GUARD}on_error = 'open'\n"));
        proceeds(client, &before(&agent, client, "deploy"));
    }
    agent.ok("init");
    // Without a session nothing may be acted on, and that is no error.
    let reason = blocked("claude", &before(&agent, "claude", "deploy"));
    assert!(reason.contains("\nnext: handoff resume"), "{reason}");
    let key = agent.home.join(".local/share/handoff/keys/default.pem");
    std::fs::remove_file(key).unwrap();
    proceeds("claude", &before(&agent, "claude", "deploy"));
    guards(&machine, GUARD);
    blocked("claude", &before(&agent, "claude", "deploy"));
    assert_eq!(at(&agent, "claude", "session-start").code, 0);
    assert_eq!(at(&agent, "claude", "stop").code, 0);
}

#[test]
fn a_ledger_that_is_not_the_one_that_was_signed_lets_nothing_through_even_where_errors_do() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, &format!("on_error = 'open'\n{GUARD}"));
    let file = rusqlite::Connection::open(machine.ledger()).unwrap();
    let drop = "DROP TRIGGER event_append_only_update; UPDATE event SET record = zeroblob(99);";
    let triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'";
    let names: Vec<String> = file
        .prepare(triggers)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for name in names {
        file.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let update = drop.split("; ").nth(1).unwrap();
    file.execute_batch(update).unwrap();
    drop_connection(file);
    for client in CLIENTS {
        blocked(client, &before(&agent, client, "deploy"));
    }
}

fn drop_connection(file: rusqlite::Connection) {
    file.close().unwrap();
}

/// Payloads that no client sends.
fn malformed() -> Vec<(&'static str, Vec<u8>)> {
    let event = |name: &str| format!("{{\"hook_event_name\":\"{name}\"}}").into_bytes();
    let mut large = b"{\"hook_event_name\":\"PreToolUse\",\"x\":\"".to_vec();
    large.resize(2 << 20, b'x');
    vec![
        ("empty", Vec::new()),
        ("no JSON", b"deploy".to_vec()),
        ("an array", b"[1]".to_vec()),
        ("null", b"null".to_vec()),
        ("cut", b"{\"hook_event_name\":\"PreToolUse\",\"tool_na".to_vec()),
        ("deep", "[".repeat(100_000).into_bytes()),
        ("no UTF-8", b"{\"hook_event_name\":\"\xff\"}".to_vec()),
        ("no event", b"{}".to_vec()),
        ("an event of another type", b"{\"hook_event_name\":7}".to_vec()),
        ("an unknown event", event("PostToolUse")),
        ("no tool", event("PreToolUse")),
        (
            "no command",
            b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}".to_vec(),
        ),
        (
            "a command that is no text",
            b"{\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":[\"deploy\"]}}"
                .to_vec(),
        ),
        ("too large", large),
    ]
}

#[test]
fn a_payload_that_is_not_understood_fails_as_configured_and_keeps_up_no_start_and_no_stop() {
    let machine = Machine::new();
    let agent = successor(&machine);
    for (what, bytes) in malformed() {
        let line = "hook pre-tool --client codex";
        std::fs::remove_file(machine.project().join(".handoff/guards.toml")).ok();
        proceeds("codex", &asked(&agent, line, &bytes));
        guards(&machine, GUARD);
        let reason = blocked("codex", &asked(&agent, line, &bytes));
        assert!(reason.contains("not understood"), "{what}: {reason}");
        guards(&machine, &format!("on_error = 'open'\n{GUARD}"));
        let ran = asked(&agent, line, &bytes);
        proceeds("codex", &ran);
        assert!(ran.stderr.contains("NOT GUARDED"), "{what}: {ran:?}");
        for moment in ["session-start", "stop"] {
            let ran = asked(&agent, &format!("hook {moment} --client codex"), &bytes);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{what}: {ran:?}");
        }
    }
}

#[test]
fn a_hook_whose_own_command_line_is_wrong_lets_no_call_through_and_keeps_up_nothing_else() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    let call = payload("claude-pre-tool", &agent.cwd, "ls");
    for line in [
        "hook pre-tol --client claude",
        "hook pre-tool --frobnicate",
        "hook",
    ] {
        blocked("claude", &asked(&agent, line, &call));
    }
    let stop = payload("claude-stop", &agent.cwd, "");
    for line in [
        "hook stop --frobnicate",
        "hook session-start --frobnicate x",
    ] {
        assert_eq!(asked(&agent, line, &stop).code, 1, "{line}");
    }
    // Asked at one moment, told of another.
    blocked("claude", &asked(&agent, "hook pre-tool", &stop));
    assert_eq!(asked(&agent, "hook stop", &call).stdout, "");
    // Whoever speaks is answered in its own words, whatever the settings say.
    machine.write("four.txt", "5\n");
    let cursor = payload("cursor-pre-tool", &agent.cwd, "deploy");
    blocked(
        "cursor",
        &asked(&agent, "hook pre-tool --client claude", &cursor),
    );
}

#[test]
fn a_question_without_an_end_is_not_waited_for() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    let mut child = agent
        .command("hook pre-tool --client claude")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"hook_event_name\":").unwrap();
    let started = Instant::now();
    let ended = child.wait().unwrap();
    assert!(started.elapsed() < HANG);
    assert_eq!(ended.code(), Some(2));
    drop(stdin);
}

#[test]
fn guards_that_others_could_have_written_or_that_are_not_understood_refuse_every_call() {
    let machine = Machine::new();
    let agent = successor(&machine);
    let folder = machine.project().join(".handoff");
    guards(&machine, GUARD);
    mode(&folder.join("guards.toml"), 0o664);
    assert!(blocked("claude", &before(&agent, "claude", "ls")).contains("0664"));
    mode(&folder.join("guards.toml"), 0o600);
    proceeds("claude", &before(&agent, "claude", "ls"));
    let before_mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    mode(&folder, 0o777);
    blocked("claude", &before(&agent, "claude", "ls"));
    mode(&folder, before_mode & 0o777);
    guards(&machine, "[[guard]]\nmatch = '('\nclaims = ['four']\n");
    let reason = blocked("claude", &before(&agent, "claude", "ls"));
    assert!(reason.contains("guard 1: match"), "{reason}");
    assert_eq!(agent.run("hooks doctor").code, 1);
}

#[test]
fn no_nearer_file_and_no_other_folder_evades_the_projects_guards() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    machine.write("four.txt", "5\n");
    let nearer = machine.project().join("sub/.handoff");
    std::fs::create_dir_all(&nearer).unwrap();
    mode(&nearer, 0o700);
    std::fs::write(nearer.join("guards.toml"), "").unwrap();
    mode(&nearer.join("guards.toml"), 0o600);
    let sub = agent.within(&machine.project().join("sub"));
    blocked("claude", &before(&sub, "claude", "deploy"));
    let away = agent.within(&machine.path(""));
    proceeds("claude", &before(&away, "claude", "deploy"));
    let project = machine.project();
    let line = format!(
        "hook pre-tool --client claude --project {}",
        project.display()
    );
    let bytes = payload("claude-pre-tool", &away.cwd, "deploy");
    blocked("claude", &asked(&away, &line, &bytes));
    let mut told = away.clone();
    told.set("CLAUDE_PROJECT_DIR", project);
    blocked("claude", &before(&told, "claude", "deploy"));
}

#[test]
fn a_session_begins_with_the_brief_within_what_its_client_takes() {
    let machine = Machine::new();
    let agent = successor(&machine);
    for client in CLIENTS {
        let text = context(client, &at(&agent, client, "session-start"));
        for part in [
            "MAY BE RELIED ON",
            "\"it is four\"",
            "handoff can ID",
            "data, not instruction",
        ] {
            assert!(text.contains(part), "{client}: {part}: {text}");
        }
    }
    agent.ok("ambient --none");
    for number in 0..60 {
        let statement = "四".repeat(300);
        agent.ok(&format!(
            "claim c{number} '{statement} {number}' --environment-independent x --expect value=4 \
             -- cat four.txt"
        ));
    }
    agent.ok("seal");
    for client in CLIENTS {
        let text = context(client, &at(&agent, client, "session-start"));
        assert!(text.chars().count() <= 10_000, "{client}");
        let bytes_max = if client == "claude" { 40_000 } else { 10_000 };
        assert!(text.len() <= bytes_max, "{client}: {}", text.len());
        for part in ["more, left out here", "handoff resume --agent NAME"] {
            assert!(text.contains(part), "{client}: {part}: {text}");
        }
    }
}

fn context(client: &str, ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let pointer = match client {
        "cursor" => "/additional_context",
        _ => "/hookSpecificOutput/additionalContext",
    };
    answer
        .pointer(pointer)
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_stop_is_kept_up_once_by_what_is_not_sealed_and_leaves_a_checkpoint() {
    for client in CLIENTS {
        let machine = Machine::new();
        let agent = successor(&machine);
        quiet(client, &at(&agent, client, "stop"));
        agent.ok("axis b --class reachability -- cat five.txt");
        let ran = at(&agent, client, "stop");
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let told = match client {
            "cursor" => &answer["followup_message"],
            _ => &answer["reason"],
        };
        let decision = answer["decision"].as_str();
        assert_eq!(
            decision,
            match client {
                "cursor" => None,
                "gemini" => Some("deny"),
                _ => Some("block"),
            }
        );
        let told = told.as_str().unwrap();
        for part in [
            "1 axes",
            "handoff seal --session",
            "Recorded so far: handoff1:",
        ] {
            assert!(told.contains(part), "{client}: {part}: {told}");
        }
        quiet(client, &at(&agent, client, "stop"));
        let checkpoint = machine.project().join(".handoff/checkpoint");
        agent.ok(&format!("head --expect {}", checkpoint.display()));
        agent.seal();
        quiet(client, &at(&agent, client, "stop"));
        let after = std::fs::read_to_string(&checkpoint).unwrap();
        let size = (head(&agent) + 1).to_string();
        assert_eq!(after.lines().nth(1), Some(size.as_str()));
    }
}

#[test]
fn a_stop_that_a_hook_has_kept_up_is_never_kept_up_again() {
    let machine = Machine::new();
    let agent = successor(&machine);
    agent.ok("axis b --class reachability -- cat five.txt");
    for (client, from, to) in [
        (
            "claude",
            "\"stop_hook_active\": false",
            "\"stop_hook_active\": true",
        ),
        (
            "codex",
            "\"stop_hook_active\": false",
            "\"stop_hook_active\": true",
        ),
        (
            "gemini",
            "\"stop_hook_active\": false",
            "\"stop_hook_active\": true",
        ),
        ("cursor", "\"loop_count\": 0", "\"loop_count\": 1"),
        ("cursor", "\"completed\"", "\"aborted\""),
    ] {
        let bytes = payload(&format!("{client}-stop"), &agent.cwd, "");
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(from), "{client}");
        let again = text.replace(from, to);
        let ran = asked(
            &agent,
            &format!("hook stop --client {client}"),
            again.as_bytes(),
        );
        quiet(client, &ran);
        let first = asked(&agent, "hook stop", text.as_bytes());
        assert!(first.stdout.contains("not sealed"), "{client}: {first:?}");
        std::fs::remove_dir_all(agent.home.join(".local/state/handoff/hooks")).unwrap();
    }
}

#[test]
fn what_fired_last_is_remembered_and_decides_nothing() {
    let machine = Machine::new();
    let agent = successor(&machine);
    guards(&machine, GUARD);
    machine.write("four.txt", "5\n");
    blocked("codex", &before(&agent, "codex", "deploy"));
    let fired = agent.ok("hooks doctor")["fired"].clone();
    assert_eq!(fired.as_array().unwrap().len(), 1, "{fired}");
    assert_eq!(fired[0]["client"], "codex");
    assert_eq!(fired[0]["moment"], "pre-tool");
    assert_eq!(fired[0]["answer"], "refused");
    let hooks = agent.home.join(".local/state/handoff/hooks");
    std::fs::write(hooks.join("codex-pre-tool.json"), "{").unwrap();
    assert_eq!(agent.ok("hooks doctor")["fired"], json!([]));
    std::fs::remove_dir_all(&hooks).unwrap();
    std::fs::write(&hooks, "in the way").unwrap();
    let ran = before(&agent, "codex", "deploy");
    blocked("codex", &ran);
    assert!(!ran.stderr.contains("in the way"), "{ran:?}");
    proceeds("codex", &before(&agent, "codex", "ls"));
}

fn settings_of(machine: &Machine, client: &str) -> std::path::PathBuf {
    machine.project().join(match client {
        "claude" => ".claude/settings.local.json",
        "codex" => ".codex/hooks.json",
        "gemini" => ".gemini/settings.json",
        _ => ".cursor/hooks.json",
    })
}

fn with_settings(machine: &Machine, client: &str) -> String {
    let fixture = format!("tests/hooks/settings-{client}.json");
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture)).unwrap();
    let path = settings_of(machine, client);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, &text).unwrap();
    text
}

/// Whether `after` is `before` with text put in, and nothing taken out.
fn only_adds(before: &str, after: &str) -> bool {
    let mut rest = after.chars();
    before
        .chars()
        .all(|wanted| rest.any(|found| found == wanted))
}

#[test]
fn settings_gain_the_hooks_and_lose_nothing() {
    for client in CLIENTS {
        let machine = Machine::new();
        let agent = successor(&machine);
        guards(&machine, GUARD);
        let before_text = with_settings(&machine, client);
        let path = settings_of(&machine, client);
        mode(&path, 0o640);
        let shown = agent.run(&format!("hooks install {client}"));
        assert_eq!(shown.code, 0, "{shown:?}");
        assert!(shown.stdout.contains("\n+"), "{shown:?}");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            before_text,
            "a look changes nothing"
        );
        let told = agent.ok(&format!("hooks install {client} --write"));
        assert_eq!(told["written"], true);
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(only_adds(&before_text, &after), "{client}: {after}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        let backup = told["backup"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(backup).unwrap(), before_text);
        let again = agent.ok(&format!("hooks install {client} --write"));
        assert_eq!(again["changes"], false, "{again}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        runs_as_written(&machine, &agent, client);
        agent.ok(&format!("hooks uninstall {client} --write"));
        let removed = std::fs::read_to_string(&path).unwrap();
        assert!(!removed.contains("hook pre-tool"), "{removed}");
        assert_eq!(
            without_space(&removed),
            without_space(&before_text),
            "{client}"
        );
    }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The hooks stand where the client looks for them, and a shell runs them as they stand.
fn runs_as_written(machine: &Machine, agent: &Agent, client: &str) {
    let doctor = agent.ok("hooks doctor");
    let hooks = doctor["settings"][0]["hooks"].as_array().unwrap().clone();
    assert_eq!(doctor["settings"][0]["client"], client, "{doctor}");
    let events = match client {
        "gemini" => vec!["SessionStart", "BeforeTool", "AfterAgent"],
        "cursor" => vec![
            "sessionStart",
            "beforeShellExecution",
            "stop",
            "beforeMCPExecution",
        ],
        _ => vec!["SessionStart", "PreToolUse", "Stop"],
    };
    for event in &events {
        assert!(
            hooks.iter().any(|hook| hook["event"] == *event),
            "{event}: {hooks:?}"
        );
    }
    assert_eq!(hooks.len(), events.len());
    machine.write("four.txt", "5\n");
    let pre_tool = hooks.iter().map(|hook| hook["command"].as_str().unwrap());
    let pre_tool = pre_tool
        .into_iter()
        .find(|it| it.contains("hook pre-tool"))
        .unwrap();
    let mut child = Command::new("sh")
        .args(["-c", pre_tool])
        .env_clear()
        .env("HOME", &agent.home)
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // From elsewhere: the agent has changed its folder.
    let bytes = payload(&format!("{client}-pre-tool"), Path::new("/"), "deploy");
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    blocked(client, &ran);
    machine.write("four.txt", "4\n");
}

#[test]
fn settings_that_are_not_there_are_made_and_a_moved_program_is_put_right() {
    for client in CLIENTS {
        let machine = Machine::new();
        let agent = machine.root("");
        let made = agent.ok(&format!("hooks install {client} --write --user"));
        assert!(made["backup"].is_null(), "{made}");
        let path = std::path::PathBuf::from(made["path"].as_str().unwrap());
        assert!(path.starts_with(&agent.home), "{made}");
        let text = std::fs::read_to_string(&path).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        assert!(whole["hooks"].is_object(), "{text}");
        let program = env!("CARGO_BIN_EXE_handoff");
        assert!(text.contains(program), "{text}");
        std::fs::write(&path, text.replace(program, "/gone/handoff")).unwrap();
        let wrong = agent.no("hooks doctor");
        assert!(
            wrong["wrong"][0].as_str().unwrap().contains("no program"),
            "{wrong}"
        );
        agent.ok(&format!("hooks install {client} --write --user"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        agent.ok("hooks doctor");
        agent.ok(&format!("hooks uninstall {client} --write --user"));
        let left: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert!(left.get("hooks").is_none(), "{left}");
    }
}

#[test]
fn a_link_to_settings_stays_one() {
    let machine = Machine::new();
    let agent = machine.root("");
    with_settings(&machine, "claude");
    let (link, kept) = (
        settings_of(&machine, "claude"),
        machine.path("dotfiles.json"),
    );
    std::fs::rename(&link, &kept).unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    agent.ok("hooks install claude --write");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(
        std::fs::read_to_string(&kept)
            .unwrap()
            .contains("hook pre-tool")
    );
}

#[test]
fn settings_that_are_not_understood_are_left_alone_and_it_is_told_what_to_paste() {
    let machine = Machine::new();
    let agent = machine.root("");
    let path = settings_of(&machine, "claude");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for text in [
        "{",
        "[]",
        "{\"hooks\": []}",
        "{\"hooks\": {\"PreToolUse\": {}}}",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{\"a\": 'single'}",
        "{\"a\": 1} {\"b\": 2}",
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = agent.run("hooks install claude --write");
        assert_eq!(refused.code, 5, "{text}: {refused:?}");
        assert!(
            refused.stderr.contains("hook pre-tool"),
            "{text}: {refused:?}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(
            path.parent().unwrap().read_dir().unwrap().count(),
            1,
            "{text}"
        );
    }
}

#[test]
fn a_pipe_in_the_place_of_settings_or_guards_is_not_waited_for() {
    let machine = Machine::new();
    let agent = machine.root("");
    let path = settings_of(&machine, "claude");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let pipe = |path: &Path| {
        let made = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    pipe(&path);
    assert_eq!(agent.run("hooks install claude --write").code, 5);
    pipe(&machine.project().join(".handoff/guards.toml"));
    blocked("claude", &before(&agent, "claude", "ls"));
}

#[test]
fn the_guide_is_short_and_every_command_in_it_can_be_typed() {
    let machine = Machine::new();
    let ran = machine.agent("root").run("guide");
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.lines().count() < 40,
        "{}",
        ran.stdout.lines().count()
    );
    let mut commands = 0;
    for (place, part) in ran.stdout.split('`').enumerate() {
        let is_code = place % 2 == 1;
        if is_code && part.starts_with("handoff ") {
            commands += 1;
            assert_eq!(next::fault(&part.replace("\\\n", "")), None, "{part}");
        }
    }
    assert!(commands > 12, "{commands}");
}

/// The guards that the help shows are ones.
#[test]
fn the_guards_of_the_help_are_read_as_they_stand() {
    let machine = Machine::new();
    let root = machine.root("");
    let help = root.run("hook --help");
    let (_, shown) = help.stdout.split_once("guards.toml:\n").unwrap();
    let (shown, _) = shown.split_once("\nAlso ").unwrap();
    std::fs::write(machine.project().join(".handoff/guards.toml"), shown).unwrap();
    let doctor = root.ok("hooks doctor");
    assert_eq!(doctor["guards"][0]["guards"], 1, "{doctor}");
    std::fs::write(
        machine.project().join(".handoff/guards.toml"),
        shown.replace("claims", "needs"),
    )
    .unwrap();
    let doctor = root.run("--json hooks doctor").json();
    assert_ne!(doctor["guards"][0]["guards"], 1, "the control: {doctor}");
}
