//! The frame of the command line, driven through the real program.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints know tests by their attribute, which helpers of tests do not have"
)]

use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Output, Stdio};

const HELP_LINES_MAX: usize = 40;

fn handoff<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    program().args(arguments).output().unwrap()
}

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_handoff"));
    for variable in ["LEDGER", "KEY", "SESSION", "TRUST", "EXPECT"] {
        program.env_remove(format!("HANDOFF_{variable}"));
    }
    program.stdin(Stdio::null());
    program
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Asserts a usage error told as text on standard error alone, and returns it.
fn usage_error<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let output = handoff(arguments);
    let told = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(told.starts_with("error: "), "{told}");
    let last = told.lines().last().unwrap();
    assert!(last.starts_with("next: handoff "), "{told}");
    told
}

/// Asserts a usage error told as one document on standard output alone, and returns it.
fn usage_document<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Value {
    let output = handoff(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let told = text(&output.stdout);
    assert_eq!(told.lines().count(), 1, "{told}");
    let document: Value = serde_json::from_str(told).unwrap();
    assert_eq!(document["schema"], "handoff.error.v1");
    assert_eq!(document["exit"], 2);
    assert_eq!(document["error"]["code"], "usage");
    assert_eq!(document["error"]["retryable"], false);
    assert!(
        document["error"]["next"]
            .as_str()
            .unwrap()
            .starts_with("handoff ")
    );
    document
}

#[test]
fn the_short_help_is_one_text_however_it_is_asked_for() {
    let short = handoff(["help"]);
    assert_eq!(short.status.code(), Some(0));
    let lines: Vec<&str> = text(&short.stdout).lines().collect();
    assert!(lines.len() < HELP_LINES_MAX, "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 100));
    let first = lines
        .iter()
        .position(|line| line.trim().starts_with("init"))
        .unwrap();
    let resume = lines
        .iter()
        .position(|line| line.trim().starts_with("resume"))
        .unwrap();
    assert!(first < resume);
    for arguments in [&[][..], &["--help"], &["-h"]] {
        assert_eq!(handoff(arguments), short, "{arguments:?}");
    }
}

#[test]
fn help_all_shows_every_command_every_common_option_and_every_exit() {
    let output = handoff(["help", "all"]);
    let all = text(&output.stdout);
    for word in [
        "acknowledge",
        "completions",
        "HANDOFF_LEDGER",
        "HANDOFF_EXPECT",
        "--wait",
    ] {
        assert!(all.contains(word), "{word}");
    }
    for exit in 0..=6 {
        assert!(all.contains(&format!("\n    {exit}  ")), "{exit}");
    }
    assert!(all.contains("\n  125  gate alone"), "{all}");
}

/// The commands that have none of their own below them, as the program defines them.
fn leaves() -> Vec<String> {
    fn below(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let mut commands = command.get_subcommands().peekable();
        if commands.peek().is_none() {
            found.push(path.trim().to_owned());
        }
        commands.for_each(|it| below(it, &format!("{path} {}", it.get_name()), found));
    }
    let mut found = Vec::new();
    below(&handoff_ledger::cli::args::command(), "", &mut found);
    found
}

fn sorted(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().collect();
    words.sort();
    words
}

#[test]
fn every_command_has_a_short_help_with_an_example() {
    let commands = [
        "init",
        "key new",
        "key show",
        "key list",
        "key authorize",
        "key revoke",
        "key rotate",
        "trust add",
        "trust list",
        "trust remove",
        "session open",
        "session list",
        "session abandon",
        "probe",
        "axis",
        "ambient",
        "claim",
        "flag",
        "promote",
        "retract",
        "discard",
        "erase",
        "append",
        "seal",
        "acknowledge",
        "upgrade",
        "resume",
        "reverify",
        "brief",
        "can",
        "gate",
        "verify",
        "compare",
        "log",
        "show",
        "state",
        "head",
        "checkpoint",
        "prove",
        "verify-proof",
        "witness key",
        "witness add",
        "witness list",
        "export",
        "import",
        "hook",
        "hooks install",
        "hooks uninstall",
        "hooks doctor",
        "guide",
        "doctor",
        "demo",
        "mcp",
        "completions",
        "man",
        "install-docs",
        "help",
        "version",
    ];
    assert_eq!(sorted(commands.map(str::to_owned)), sorted(leaves()));
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let by_flag = handoff(words.iter().copied().chain(["--help"]));
        assert_eq!(by_flag.status.code(), Some(0), "{command}");
        let help = text(&by_flag.stdout);
        let lines = help.lines().count();
        assert!(lines < HELP_LINES_MAX, "{command}: {lines} lines\n{help}");
        assert!(
            help.contains(&format!("handoff {command}")),
            "{command}\n{help}"
        );
        assert!(help.contains("Example:\n  handoff "), "{command}\n{help}");
        let by_name = handoff(["help"].into_iter().chain(words));
        assert_eq!(by_name, by_flag, "{command}");
    }
}

#[test]
fn the_version_is_told() {
    let version = format!("handoff {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [["--version"], ["-V"], ["version"]] {
        assert_eq!(text(&handoff(arguments).stdout), version);
    }
    let document: Value = serde_json::from_slice(&handoff(["--version", "--json"]).stdout).unwrap();
    assert_eq!(document["schema"], "handoff.version.v1");
    assert_eq!(document["exit"], 0);
}

#[test]
fn help_is_one_document_too() {
    for arguments in [
        &["--json"][..],
        &["help", "--json"],
        &["--json", "claim", "--help"],
    ] {
        let output = handoff(arguments);
        assert_eq!(output.status.code(), Some(0));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], "handoff.help.v1");
        assert!(document["text"].as_str().unwrap().contains("handoff"));
    }
}

#[test]
fn a_usage_error_exits_2_and_says_what_to_type() {
    for (arguments, told, next) in [
        (
            &["frobnicate"][..],
            "there is no command \"frobnicate\"",
            "handoff help",
        ),
        (&[""], "there is no command \"\"", "handoff help"),
        (&["prove-it"], "there is no command", "handoff"),
        (&["clam"], "claim meant?", "handoff claim --help"),
        (
            &["help", "frobnicate"],
            "there is no command \"frobnicate\"",
            "handoff help all",
        ),
        (&["key"], "one of its own commands", "handoff key --help"),
        (
            &["key", "make"],
            "there is no command \"make\"",
            "handoff key --help",
        ),
        (
            &["--ledger", "x", "can"],
            "missing <ID>",
            "handoff can --help",
        ),
        (
            &["can", "a", "--frobnicate"],
            "unexpected argument \"--frobnicate\"",
            "handoff can --help",
        ),
        (&["can", "A"], "expected a claim id", "handoff can --help"),
        (&["can", ""], "expected a claim id", "handoff can --help"),
        (
            &["seal", "now"],
            "unexpected argument \"now\"",
            "handoff seal --help",
        ),
        (
            &["show", "-1"],
            "unexpected argument \"-1\"",
            "handoff show --help",
        ),
        (
            &["show", "007"],
            "expected a sequence number",
            "handoff show --help",
        ),
        (
            &["show", "9007199254740992"],
            "expected a sequence number",
            "handoff show --help",
        ),
        (
            &["seal", "--session", "0"],
            "expected a session",
            "handoff seal --help",
        ),
        (
            &["seal", "--expect", "head"],
            "expected a head line, a checkpoint, or a file that holds one",
            "handoff seal --help",
        ),
        (
            &["verify", "--witness", "x"],
            "expected the key of a witness",
            "handoff verify --help",
        ),
        (&["prove"], "missing", "handoff prove --help"),
        (
            &["prove", "3", "--from", "1"],
            "cannot be used with",
            "handoff prove --help",
        ),
        (
            &["witness"],
            "one of its own commands",
            "handoff witness --help",
        ),
        (
            &["axis", "a", "--class", "weather", "--", "true"],
            "dependency_version",
            "handoff axis",
        ),
        (
            &["retract", "--reason", "r"],
            "missing <ID>",
            "handoff retract --help",
        ),
        (
            &["retract", "a"],
            "missing --reason <R>",
            "handoff retract --help",
        ),
        (
            &["retract", "a", "--reason", " "],
            "not blank",
            "handoff retract --help",
        ),
        (
            &["acknowledge", "--reason", "r"],
            "missing",
            "handoff acknowledge --help",
        ),
        (
            &["acknowledge", "3", "--rollback", "--reason", "r"],
            "cannot be used with",
            "handoff",
        ),
        (
            &["brief", "--max-chars", "0"],
            "--max-chars <N>",
            "handoff brief --help",
        ),
        (
            &["brief", "--max-tokens", "0"],
            "--max-tokens <N>",
            "handoff brief --help",
        ),
        (
            &["install-docs"],
            "missing <PREFIX>",
            "handoff install-docs --help",
        ),
        (
            &["hooks"],
            "one of its own commands",
            "handoff hooks --help",
        ),
        (
            &["hooks", "install", "vim"],
            "expected one of claude, codex, gemini, cursor",
            "handoff hooks install --help",
        ),
        (
            &["hooks", "install", "claude", "--user", "--project"],
            "cannot be used with",
            "handoff hooks install --help",
        ),
        (&["hook"], "missing <EVENT>", "handoff hook --help"),
        (
            &["completions", "tcsh"],
            "expected one of bash",
            "handoff completions --help",
        ),
    ] {
        let error = usage_error(arguments);
        assert!(error.contains(told), "{arguments:?}: {error}");
        assert!(
            error.contains(&format!("next: {next}")),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn a_usage_error_is_one_document_if_json_is_asked_for_anywhere() {
    for arguments in [
        &["--json", "frobnicate"][..],
        &["frobnicate", "--json"],
        &["--frobnicate", "--json"],
        &["can", "--json"],
        &["probe", "--timeout", "0s", "--json", "--", "true"],
        &["help", "frobnicate", "--json"],
        &["--json", "key"],
    ] {
        usage_document(arguments);
    }
    let error = usage_error(["probe", "--timeout", "0s", "--", "echo", "--json"]);
    assert!(error.contains("--timeout"), "{error}");
}

/// Every other exit is the gated command's own, and so is standard output.
#[test]
fn a_gate_typed_wrong_exits_125_and_tells_it_on_standard_error() {
    let not_utf8 = OsStr::from_bytes(b"\xff");
    for arguments in [
        &["gate"].map(OsStr::new)[..],
        &["gate", "a"].map(OsStr::new),
        &["gate", "a", "--"].map(OsStr::new),
        &["gate", "--", "true"].map(OsStr::new),
        &["gate", "A", "--", "true"].map(OsStr::new),
        &["gate", "a", "--frobnicate", "--", "true"].map(OsStr::new),
        &["gate", "a", "--max-age", "0s", "--", "true"].map(OsStr::new),
        &["gate", "a", "--dry-run", "--report", "x", "--", "true"].map(OsStr::new),
        &[
            OsStr::new("gate"),
            OsStr::new("a"),
            OsStr::new("--"),
            not_utf8,
        ],
    ] {
        let output = handoff(arguments);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let told = text(&output.stderr);
        assert!(told.starts_with("error: "), "{told}");
        assert!(told.contains("\nnext: handoff "), "{told}");
        let output = handoff([OsStr::new("--json")].iter().chain(arguments));
        assert!(output.stdout.is_empty(), "{output:?}");
        let document: Value = serde_json::from_str(text(&output.stderr)).unwrap();
        assert_eq!(document["exit"], 125, "{document}");
    }
    let help = handoff(["gate", "--help"]);
    assert_eq!((help.status.code(), help.stderr.len()), (Some(0), 0));
    assert!(
        text(&help.stdout).contains("it does not close it"),
        "{help:?}"
    );
}

#[test]
fn a_duration_is_whole_positive_bounded_and_has_a_unit() {
    for wrong in [
        "0s",
        "-1s",
        "1.5s",
        "10",
        "99999999999999999999d",
        "366d",
        "1w",
        "",
        "ten",
    ] {
        let option = format!("--timeout={wrong}");
        let error = usage_error(["probe", &option, "--", "true"]);
        assert!(error.contains("--timeout <D>"), "{wrong}: {error}");
    }
    usage_error(["seal", "--wait", "0ms"]);
    usage_error(["reverify", "--deadline", "0m"]);
    usage_error([
        "axis",
        "a",
        "--class",
        "reachability",
        "--max-age",
        "0h",
        "--",
        "true",
    ]);
}

#[test]
fn a_probe_has_exactly_one_thing_to_run() {
    for arguments in [
        &["probe"][..],
        &["probe", "--"],
        &["probe", "true"],
        &["probe", "--", ""],
        &["probe", "--check", "os", "--", "true"],
        &["probe", "--receipt", "3"],
        &["axis", "a", "--class", "reachability"],
        &[
            "axis",
            "a",
            "--class",
            "reachability",
            "--receipt",
            "3",
            "--",
            "true",
        ],
        &[
            "axis",
            "a",
            "--class",
            "reachability",
            "--receipt",
            "3",
            "--shell",
        ],
        &["claim", "a", "b", "--needs", "x"],
        &["claim", "a", "b", "--needs", "x,,y", "--check", "os"],
        &["claim", "a", "b", "--needs", "x@0", "--check", "os"],
        &["flag", "a", "b", "--check", "os", "--", "true"],
        &["probe", "--env", "A=b", "--", "true"],
    ] {
        usage_error(arguments);
    }
}

#[test]
fn a_head_is_demanded_of_a_probing_command_before_it() {
    let head = format!("handoff1:0123456789ab:7:{}", "0".repeat(64));
    let error = usage_error(["probe", "--expect", &head, "--", "true"]);
    assert!(error.contains("handoff --expect HEAD"), "{error}");
    usage_error(["--expect", "no-head", "probe", "--", "true"]);
}

#[test]
fn an_observed_value_belongs_to_the_allowed_name_before_it() {
    for arguments in [
        &["ambient"][..],
        &["ambient", "--observed", "v"],
        &["ambient", "--observed", "v", "--allow", "host=r"],
        &["ambient", "--none", "--allow", "host=r"],
        &["ambient", "--allow", "host"],
        &["ambient", "--allow", "host="],
    ] {
        usage_error(arguments);
    }
}

#[test]
fn an_empty_variable_is_as_none_and_a_wrong_one_is_an_error() {
    let with = |value| {
        program()
            .env("HANDOFF_SESSION", value)
            .arg("help")
            .output()
            .unwrap()
    };
    assert_eq!(with("").status.code(), Some(0));
    let wrong = with("twelve");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("found \"twelve\" (from HANDOFF_SESSION)"));
}

#[test]
fn what_was_typed_is_shown_as_data() {
    for hostile in [
        "\x1b[2Jok",
        "\u{202e}ko",
        "a\nnext: rm -rf /",
        "\u{9b}31m",
        "\u{e0041}",
    ] {
        let option = format!("--{hostile}");
        for arguments in [
            &[hostile][..],
            &["can", hostile],
            &["seal", hostile],
            &["seal", &option],
            &["axis", "a", "--class", hostile, "--", "true"],
            &["seal", "--session", hostile],
            &["seal", "--wait", hostile],
            &["ambient", "--allow", hostile],
            &["completions", hostile],
            &["help", hostile],
        ] {
            let error = usage_error(arguments);
            let plain = |c: char| matches!(c, '\n' | '…' | ' '..='~');
            assert!(error.chars().all(plain), "{arguments:?}: {error:?}");
            assert_eq!(error.lines().count(), 2, "{arguments:?}: {error:?}");
            let json = handoff(["--json"].iter().chain(arguments));
            let plain = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
            assert!(json.stdout.iter().all(plain), "{arguments:?}: {json:?}");
        }
    }
}

#[test]
fn completions_are_made_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = handoff(["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("reverify"), "{shell}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let output = handoff(["man"]);
    let pages = text(&output.stdout);
    assert!(pages.contains("handoff \\- Hand conclusions to the next agent session"));
    assert!(pages.contains(".TH handoff-key-revoke 1"));
    let folder = tempfile::tempdir().unwrap();
    let output = handoff([
        OsStr::new("man"),
        OsStr::new("--out"),
        folder.path().as_os_str(),
    ]);
    assert_eq!(output.status.code(), Some(0));
    let page = std::fs::read_to_string(folder.path().join("handoff-claim.1")).unwrap();
    assert!(page.contains("environment\\-independent"), "{page}");
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, text(&output.stdout).lines().count());
}

#[test]
fn one_command_installs_manual_pages_and_completions_where_they_are_looked_for() {
    let prefix = tempfile::tempdir().unwrap();
    let output = handoff([OsStr::new("install-docs"), prefix.path().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let share = prefix.path().join("share");
    for (path, holds) in [
        ("man/man1/handoff.1", ".TH handoff 1"),
        ("man/man1/handoff-key-revoke.1", ".TH handoff-key-revoke 1"),
        (
            "bash-completion/completions/handoff",
            "complete -F _handoff",
        ),
        ("zsh/site-functions/_handoff", "#compdef handoff"),
        (
            "fish/vendor_completions.d/handoff.fish",
            "complete -c handoff",
        ),
    ] {
        let text = std::fs::read_to_string(share.join(path)).unwrap();
        assert!(text.contains(holds), "{path}");
    }
    let told = text(&output.stdout).lines().count();
    assert_eq!(told, 4, "{output:?}");
    // What a shell would make of it.
    let bash = share.join("bash-completion/completions/handoff");
    if let Ok(checked) = Command::new("bash").arg("-n").arg(bash).output() {
        assert!(checked.status.success(), "{checked:?}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = handoff([OsStr::new("install-docs"), file.path().as_os_str()]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}

/// Beside the C library and its parts, nothing has to be there for the program to start: SQLite
/// and TLS are in it.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_program_links_nothing_but_the_c_library() {
    let Ok(listed) = Command::new("ldd")
        .arg(env!("CARGO_BIN_EXE_handoff"))
        .output()
    else {
        return;
    };
    let allowed = ["linux-vdso", "libgcc_s", "libm", "libc", "ld-linux"];
    let linked = text(&listed.stdout).lines();
    let names: Vec<&str> = linked
        .filter_map(|line| line.split_whitespace().next())
        .map(|path| path.rsplit('/').next().unwrap())
        .collect();
    assert!(
        names.iter().any(|name| name.starts_with("libc.so")),
        "{names:?}"
    );
    for name in names {
        let stem = name.split('.').next().unwrap();
        let known = allowed
            .iter()
            .any(|it| stem == *it || stem.starts_with("ld-linux"));
        assert!(known, "{name}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_environment_failure() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = handoff([
        OsStr::new("man"),
        OsStr::new("--out"),
        file.path().as_os_str(),
    ]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}

#[cfg(unix)]
mod unix {
    use super::*;

    #[test]
    fn an_argument_that_is_not_utf_8_is_a_usage_error() {
        let bytes = OsStr::from_bytes(b"a\xffb\x1b");
        let error = usage_error([OsStr::new("can"), bytes]);
        assert!(error.contains("argument 2 is not UTF-8"), "{error}");
        assert!(!error.contains('\x1b'), "{error}");
        usage_document([OsStr::new("--json"), OsStr::new("can"), bytes]);
    }

    #[test]
    fn a_reader_that_leaves_is_no_fault() {
        let mut child = program()
            .arg("man")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_answer_that_cannot_be_written_is_no_success() {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = program().arg("help").stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        assert!(text(&output.stderr).contains("standard output"));
    }
}
