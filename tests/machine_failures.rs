//! What fails in the machine is told as that, exit 5, and recorded as nothing: another scope, a
//! program that cannot be run, or a claim that does not hold are statements, and false ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing
)]

mod machine;
mod trace;

use handoff_ledger::store::{Read, Record};
use handoff_ledger::types::Seq;
use machine::{Answer, Machine, OS_AXIS, Person};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use trace::{can_trace, traced};

/// What a program is run by that is there and does its work.
const PROGRAM: &str = "#!/bin/sh\necho 4\n";

struct Project {
    machine: Machine,
    root: Person,
    session: String,
    program: PathBuf,
}

impl Project {
    fn new() -> Project {
        let (machine, root) = Machine::with_ledger();
        let program = machine.project.canonicalize().unwrap().join("program");
        std::fs::write(&program, PROGRAM).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let session = root.opens("agent");
        Project {
            machine,
            root,
            session,
            program,
        }
    }

    fn program(&self) -> &str {
        self.program.to_str().unwrap()
    }

    fn records(&self) -> Vec<Record> {
        let rows = self.machine.store().scan(Seq::ZERO, usize::MAX).unwrap();
        rows.into_iter().map(|(_, record)| record).collect()
    }

    /// Runs a command of the session under strace.
    fn under(&self, options: &[&str], arguments: &[&str]) -> Answer {
        let arguments = [&["--session", &self.session], arguments].concat();
        let options: Vec<String> = options.iter().map(|it| (*it).to_owned()).collect();
        let plain = self.root.command(&arguments);
        let traced = traced(&plain, Path::new("/dev/null"), &options).output();
        Answer::of(traced.unwrap())
    }

    /// Demands that a command fails for the machine, names it, and leaves the ledger as it was.
    fn fails(&self, options: &[&str], arguments: &[&str], code: &str) {
        let before = self.records();
        let answer = self.under(options, arguments);
        assert_eq!(answer.exit, Some(5), "{options:?}: {answer:?}");
        assert_eq!(answer.error(), code, "{options:?}: {answer:?}");
        let next = answer.json["error"]["next"].as_str();
        assert!(next.is_some_and(|it| !it.is_empty()), "{answer:?}");
        assert_eq!(self.records(), before, "{options:?}");
    }

    fn does(&self, arguments: &[&str]) -> serde_json::Value {
        let session = ["--session", &self.session];
        self.root.does(&[&session[..], arguments].concat())
    }

    /// How many records hold all of these texts.
    fn count(&self, texts: &[&str]) -> usize {
        let holds = |record: &&Record| {
            let text = String::from_utf8_lossy(&record.0);
            texts.iter().all(|it| text.contains(it))
        };
        self.records().iter().filter(holds).count()
    }
}

fn inject(calls: &str, what: &str) -> [String; 4] {
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:{what}"));
    ["-e".to_owned(), trace, "-e".to_owned(), inject]
}

/// The options by which calls on one path alone fail so.
fn at<'a>(path: &'a str, injected: &'a [String; 4]) -> Vec<&'a str> {
    let injected = injected.iter().map(String::as_str);
    ["-f", "-P", path].into_iter().chain(injected).collect()
}

#[test]
fn a_part_of_the_scope_that_cannot_be_read_makes_no_other_scope() {
    if !can_trace("a_part_of_the_scope_that_cannot_be_read_makes_no_other_scope") {
        return;
    }
    let project = Project::new();
    let writes = ["ambient", "--allow", "load=it varies"];
    for (path, calls, code) in [
        ("/etc/machine-id", "?open,openat", "scope"),
        ("/proc/sys/kernel/random/boot_id", "?open,openat", "scope"),
        ("/proc/self/ns/net", "?readlink,readlinkat", "scope"),
        ("/proc/self/ns/user", "?readlink,readlinkat", "scope"),
    ] {
        for error in ["EIO", "EMFILE", "ENOMEM", "ESTALE"] {
            let injected = inject(calls, &format!("error={error}"));
            project.fails(&at(path, &injected), &writes, code);
        }
    }
    if Path::new("/etc/machine-id").exists() {
        for (calls, what) in [("read", "error=EIO"), ("read", "retval=0")] {
            let injected = inject(calls, what);
            project.fails(&at("/etc/machine-id", &injected), &writes, "scope");
        }
    }
    // A boot id of no bytes is none that the system gives.
    let injected = inject("read", "retval=0");
    let boot_id = at("/proc/sys/kernel/random/boot_id", &injected);
    project.fails(&boot_id, &writes, "scope");
    project.does(&["ambient", "--allow", "more=it varies"]);
}

#[test]
fn a_root_that_cannot_be_told_is_no_other_root() {
    if !can_trace("a_root_that_cannot_be_told_is_no_other_root") {
        return;
    }
    let project = Project::new();
    let top = project.machine.project.canonicalize().unwrap().join("top");
    std::fs::create_dir_all(top.join(".git")).unwrap();
    std::fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let inside = Person::at(&project.root.home, &top);
    let session = inside.opens("inside");
    let arguments = ["--session", &session, "ambient", "--none"];
    let head = top.join(".git/HEAD");
    let injected = inject("statx", "error=EIO");
    let options = at(head.to_str().unwrap(), &injected);
    let options: Vec<String> = options.iter().map(|it| (*it).to_owned()).collect();
    let before = project.records();
    let plain = inside.command(&arguments);
    let output = traced(&plain, Path::new("/dev/null"), &options).output();
    let answer = Answer::of(output.unwrap());
    assert_eq!(answer.exit, Some(5), "{answer:?}");
    assert_eq!(answer.json["error"]["next"], "the same command again");
    assert_eq!(project.records(), before);
    inside.does(&arguments);
}

#[test]
fn a_part_that_the_system_does_not_have_is_left_out() {
    if !can_trace("a_part_that_the_system_does_not_have_is_left_out") {
        return;
    }
    let project = Project::new();
    for (path, calls) in [
        ("/etc/machine-id", "?open,openat"),
        ("/proc/sys/kernel/random/boot_id", "?open,openat"),
        ("/proc/self/ns/net", "?readlink,readlinkat"),
    ] {
        for error in ["ENOENT", "EACCES", "EPERM", "ENOTDIR", "ENOSYS", "EINVAL"] {
            let injected = inject(calls, &format!("error={error}"));
            let opening = ["session", "open", "--agent", "elsewhere"];
            let answer = project.under(&at(path, &injected), &opening);
            assert_eq!(answer.exit, Some(0), "{path} {error}: {answer:?}");
        }
    }
}

#[test]
fn a_start_that_fails_for_the_machine_says_nothing_of_the_program() {
    if !can_trace("a_start_that_fails_for_the_machine_says_nothing_of_the_program") {
        return;
    }
    let project = Project::new();
    let probe = ["probe", "--", project.program()];
    for (calls, error) in [
        ("execve", "EIO"),
        ("execve", "ENOMEM"),
        ("execve", "EAGAIN"),
        ("execve", "EMFILE"),
        ("execve", "ETXTBSY"),
        ("execve", "E2BIG"),
        ("execve", "EPERM"),
        ("execve", "ESTALE"),
        // Where it is looked for, and where its format is looked at.
        ("statx", "EIO"),
        ("openat", "EIO"),
        ("read", "EIO"),
    ] {
        let injected = inject(calls, &format!("error={error}"));
        let options = at(project.program(), &injected);
        project.fails(&options, &probe, "not_started");
    }
    let before = project.records().len();
    for (error, end) in [
        ("ENOENT", "not_executable"),
        ("EACCES", "not_executable"),
        ("ENOTDIR", "not_executable"),
        ("ELOOP", "not_executable"),
        ("EISDIR", "not_executable"),
        ("ELIBBAD", "not_executable"),
    ] {
        let injected = inject("execve", &format!("error={error}"));
        let answer = project.under(&at(project.program(), &injected), &probe);
        assert_eq!(answer.exit, Some(1), "{error}: {answer:?}");
        assert_eq!(answer.json["outcome"]["end"], end, "{error}: {answer:?}");
    }
    assert_eq!(project.records().len(), before + 6);
    assert_eq!(project.does(&probe)["successful"], true);
}

#[test]
fn a_shortage_records_nothing_and_a_retry_records_once() {
    if !can_trace("a_shortage_records_nothing_and_a_retry_records_once") {
        return;
    }
    let project = Project::new();
    let independent = ["--environment-independent", "arithmetic"];
    let step = ["--expect", "value=4", "--", project.program()];
    let flag = ["flag", "flagged", "it is 4", "--because", "it was"];
    project.does(&[&flag[..], &independent, &step].concat());
    let axis = OS_AXIS;
    let claim = ["claim", "claimed", "it is four"];
    let claim = [&claim[..], &independent, &step].concat();
    let probe = [&["probe"], &step[..]].concat();
    // A program has a process and two threads that read its output, a check has a thread.
    let no_process = inject("clone,?fork,?vfork", "error=EAGAIN");
    let no_thread = inject("clone3", "error=EAGAIN");
    let no_descriptor = inject("pipe2", "error=EMFILE");
    let no_memory = inject("clone,?fork,?vfork,clone3", "error=ENOMEM");
    let options = |injected: &[String; 4]| {
        let mut options = vec!["-f".to_owned()];
        options.extend_from_slice(injected);
        options
    };
    for injected in [&no_process, &no_thread, &no_descriptor, &no_memory] {
        let options = options(injected);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        project.fails(&options, &probe, "not_started");
        project.fails(&options, &claim, "not_started");
        if injected == &no_thread || injected == &no_memory {
            project.fails(&options, &axis, "not_started");
        }
        // A promotion is announced before its probe runs, and that stands: it tells of a run that
        // never came back.
        let promote = [&["promote", "flagged"][..], &independent].concat();
        let before = project.records().len();
        let answer = project.under(&options, &promote);
        assert_eq!(answer.exit, Some(5), "{answer:?}");
        assert_eq!(answer.error(), "not_started", "{answer:?}");
        assert_eq!(project.records().len(), before + 1);
    }
    assert_eq!(project.count(&["\"probe.receipt\""]), 0);
    assert_eq!(project.count(&["\"probe.begun\""]), 4);

    project.does(&axis);
    project.does(&claim);
    project.does(&[&["promote", "flagged"][..], &independent].concat());
    for once in [
        "\"axis.recorded\"",
        "\"claim.verified\"",
        "\"claim.promoted\"",
    ] {
        assert_eq!(project.count(&[once]), 1, "{once}");
    }
    project.machine.walk();
}

#[test]
fn what_a_shortage_keeps_from_running_was_not_run() {
    if !can_trace("what_a_shortage_keeps_from_running_was_not_run") {
        return;
    }
    let mut project = Project::new();
    let class = ["--class", "execution_topology"];
    let probe = ["--", project.program()];
    project.does(&[&["axis", "four"][..], &class, &probe].concat());
    let claim = ["claim", "claimed", "it is four", "--needs", "four"];
    project.does(&[&claim[..], &["--expect", "value=4"], &probe].concat());
    project.does(&["ambient", "--none"]);
    project.does(&["seal"]);
    project.session = project.root.does(&[
        "session",
        "open",
        "--agent",
        "next",
        "--inherit",
        &project.session,
    ])["session"]
        .to_string();
    let receipts = project.count(&["\"probe.receipt\""]);
    for calls in ["clone,?fork,?vfork", "clone3", "clone,?fork,?vfork,clone3"] {
        let injected = inject(calls, "error=EAGAIN");
        let options = [&["-f"], injected.each_ref().map(String::as_str).as_slice()].concat();
        let answer = project.under(&options, &["reverify"]);
        assert_eq!(answer.exit, Some(1), "{calls}: {answer:?}");
        assert_eq!(
            answer.json["axes"][0]["verdict"], "unverifiable",
            "{answer:?}"
        );
        assert_eq!(answer.json["axes"][0]["reason"], "not_run", "{answer:?}");
    }
    assert_eq!(project.count(&["\"probe.receipt\""]), receipts);
    assert_eq!(project.does(&["reverify"])["axes"][0]["verdict"], "held");
}
