//! What a program is given: arguments, environment, streams, folder; and what is noted of it.

use super::*;
use handoff_ledger::hash;
use handoff_ledger::probe_spec::EnvName;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn standard_input_is_empty_and_there_is_no_terminal() {
    assert_eq!(stdout(&script("cat; echo end")), b"end\n");
    let seen = script("if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi");
    assert_eq!(seen.value.as_deref(), Some("none"));
}

#[test]
#[cfg(target_os = "linux")]
fn it_leads_a_session_and_a_group_of_its_own() {
    let seen = script(
        "read -r pid name state parent group session rest < /proc/$$/stat; echo $$ $group $session",
    );
    let text = seen.value.unwrap();
    let mut numbers = text.split(' ');
    let pid = numbers.next().unwrap();
    assert!(numbers.all(|number| number == pid), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn it_sees_its_three_streams_and_nothing_that_this_process_opened() {
    let open = fs::File::open("/dev/null").unwrap();
    let seen = observe(here(), argv(&["sh", "-c", "ls /proc/$$/fd; true"]));
    // What whoever started this process let pass to all of its descendants is not ours to close.
    let passes_on = |name: &str| {
        let state = fs::read_to_string(format!("/proc/self/fdinfo/{name}")).unwrap_or_default();
        let flags = state.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.is_some_and(|flags| u32::from_str_radix(flags.trim(), 8).unwrap() & 0o2_000_000 == 0)
    };
    let text = seen.value.unwrap();
    let files: Vec<&str> = text.lines().filter(|name| !passes_on(name)).collect();
    assert!(files.is_empty(), "{files:?}");
    assert!(text.lines().count() >= 3);
    assert!(!passes_on(&open.as_raw_fd().to_string()));
}

#[test]
fn it_is_given_the_named_variables_and_the_fixed_ones_only() {
    // Cargo sets this one, and many more, for a test.
    let named: EnvName = "CARGO_PKG_NAME".parse().unwrap();
    let seen = observe(here(), argv(&["env"]).passing([named]));
    let text = seen.value.unwrap();
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    names.sort_unstable();
    names.retain(|name| *name != "HOME");
    assert_eq!(
        names,
        ["CARGO_PKG_NAME", "LC_ALL", "NO_COLOR", "PATH", "TERM", "TZ"]
    );
    for fixed in ["LC_ALL=C.UTF-8", "TZ=UTC", "NO_COLOR=1", "TERM=dumb"] {
        assert!(text.lines().any(|line| line == fixed), "{fixed}");
    }
}

#[test]
fn arguments_arrive_as_they_were_given() {
    let given = [
        "a b",
        "",
        "'\"",
        "$(id)",
        "`id`",
        "new\nline",
        "-n",
        "*",
        "é",
    ];
    let mut words = vec!["printf", "[%s]"];
    words.extend(given);
    let expected: String = given.iter().map(|word| format!("[{word}]")).collect();
    assert_eq!(stdout(&observe(here(), argv(&words))), expected.as_bytes());
}

#[test]
fn only_a_script_is_given_to_the_shell() {
    let seen = observe(here(), argv(&["echo", "$((1+1))"]));
    assert_eq!(seen.value.as_deref(), Some("$((1+1))"));
    let seen = script("echo $((1+1))");
    assert_eq!(seen.value.as_deref(), Some("2"));
    let shell = fs::canonicalize("/bin/sh").unwrap();
    assert_eq!(seen.executable.unwrap().path, shell.to_str().unwrap());
}

#[test]
fn it_runs_under_the_sessions_root_unless_the_folder_is_absolute() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    let seen_in = |cwd: &str| {
        let definition = Definition {
            cwd: cwd.into(),
            ..argv(&["pwd", "-P"])
        };
        observe(&root, definition).value.unwrap()
    };
    assert_eq!(seen_in("."), root.to_str().unwrap());
    assert_eq!(seen_in("a/b"), root.join("a/b").to_str().unwrap());
    assert_eq!(seen_in("/"), "/");
}

#[test]
fn the_program_and_its_argument_files_are_digested() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    fs::create_dir(root.join("sub")).unwrap();
    fs::write(root.join("sub/tool"), "#!/bin/sh\necho tool\n").unwrap();
    fs::set_permissions(root.join("sub/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("tool", root.join("sub/link")).unwrap();
    fs::write(root.join("sub/data"), "data").unwrap();
    let words = ["./link", "data", "absent", ".", "data"];
    let seen = observe(
        &root,
        Definition {
            cwd: "sub".into(),
            ..argv(&words)
        },
    );
    let executable = seen.executable.unwrap();
    assert_eq!(executable.path, root.join("sub/tool").to_str().unwrap());
    assert_eq!(executable.digest, hash::bytes(b"#!/bin/sh\necho tool\n"));
    let files: Vec<_> = seen
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.digest))
        .collect();
    assert_eq!(files, [("data", hash::bytes(b"data")); 2]);
    assert_eq!(seen.value.as_deref(), Some("tool"));
}
